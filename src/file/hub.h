// hub: models of a hub, kept in a cache that huggingface_hub shares. Every byte of a reply is data of unknown origin.
#ifndef SABOK_FILE_HUB_H
#define SABOK_FILE_HUB_H

#include "file/file.h"

// ---- hub.c: names, the environment, the cache
#define HUB_ID 196
#define HUB_REVISION 256
#define HUB_COMMIT 41 // 40 hexadecimal digits

struct hub_name {
    char id[HUB_ID];             // "org/name" or "name"
    char revision[HUB_REVISION]; // a branch, a tag or a commit; "main" when none is given
};
// Reads ID or ID@REVISION; false when the text can be neither.
bool hub_name_parse(const char *text, struct hub_name *out);
bool hub_revision_ok(const char *text);
bool hub_commit_ok(const char *text);
bool hub_hex_ok(const char *text, size_t digits);
bool hub_offline(void); // HF_HUB_OFFLINE
// All in memory of their own; NULL when out of memory. The folder of a model in the cache; the cache itself.
char *hub_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *hub_cache(void);
char *hub_storage(const char *cache, const char *id);
char *hub_endpoint(void);
// The token to send, *out NULL when there is none.
sabok_status hub_token(char **out, sabok_error *err);
// The folder in the cache that holds the revision, in memory of its own.
sabok_status hub_find_snapshot(const struct hub_name *name, char **folder, sabok_error *err);

// ---- http.c: requests through libcurl, which is loaded when the first is made
#define HTTP_ETAG 256
#define HTTP_TEXT 256

struct http_reply {
    long status;          // 0: none came
    bool again;           // a failure that another try may not meet
    uint64_t received;    // bytes of the body
    bool sized;           // the length of the whole file is known: size
    uint64_t size, first; // first: the first byte sent, of a part (206)
    char etag[HTTP_ETAG]; // without quotes; "" when none was sent
    char commit[HTTP_ETAG], error_code[HTTP_TEXT], error_text[HTTP_TEXT];
};
typedef sabok_status http_body_fn(void *ctx, const struct http_reply *reply, const void *data, size_t n,
                                  sabok_error *err);
struct http_request {
    const char *url;
    bool head;     // no body; a redirection to another host is not followed
    uint64_t from; // the first byte wanted
    http_body_fn *body;
    void *ctx;
};
struct http_opts {
    const char *endpoint;    // borrowed; the only origin that is sent the token
    const char *token;       // borrowed; NULL: none
    unsigned stall_s;        // without a byte for so long, a transfer has failed
    bool (*stop)(void *ctx); // asked now and then; may be NULL
    void *ctx;
};
struct http;
struct http *http_open(const struct http_opts *opts, sabok_error *err);
void http_close(struct http *http);
// One request and its redirections. SABOK_OK when a reply came whole, whatever its status; the body of a failure is not
// given out.
sabok_status http_ask(struct http *http, const struct http_request *q, struct http_reply *reply,
                      sabok_error *err);

// ---- hub_api.c: what the hub says
struct hub_file {
    const char *path; // relative, checked
    uint64_t size;
    bool sized, wanted;
    const char *sha256; // NULL: not said
};
struct hub_listing {
    char commit[HUB_COMMIT];
    struct hub_file *files;
    size_t count, cap;
    struct arena arena;
};
struct hub_pace {
    unsigned wait_ms; // before the second try; each next wait is twice as long
    unsigned stall_s;
};
struct hub {
    struct hub_name name;
    char *endpoint, *token;
    struct hub_pace pace;
    struct http *http;
    sabok_pull_fn *progress;
    void *ctx;
    const char *file; // being fetched
    uint64_t done, total;
    bool stopped;
};
sabok_status hub_open(struct hub *hub, const struct hub_pace *pace, sabok_error *err);
void hub_close(struct hub *hub);
bool hub_stop(void *ctx); // tells the progress; true when the caller wants to stop
// Prepares the next try of a request, for instance where it goes on; may be NULL.
typedef sabok_status hub_prepare_fn(struct http_request *q, sabok_error *err);
// http_ask, again and again while that may help. SABOK_OK when the status is a success or one of `allowed`.
sabok_status hub_ask(struct hub *hub, struct http_request *q, hub_prepare_fn *prepare, long allowed,
                     struct http_reply *reply, sabok_error *err);
sabok_status hub_list(struct hub *hub, struct hub_listing *out, sabok_error *err);
void hub_listing_free(struct hub_listing *listing);
// The address of a file, in memory of its own.
char *hub_file_url(const struct hub *hub, const char *commit, const char *path);

// ---- pull_choose.c: which files are wanted
sabok_status pull_choose(struct hub_listing *listing, const sabok_pull_opts *opts, const char *where,
                         sabok_error *err);

// ---- pull_file.c: one file to its place
struct pull {
    struct hub hub;
    struct hub_listing listing;
    char *cache, *storage; // of the cache
    const char *local_dir; // NULL: the cache
};
sabok_status pull_file(struct pull *p, const struct hub_file *file, sabok_error *err);
// Makes the folders above a path.
sabok_status pull_make_parents(const char *path, sabok_error *err);

// ---- pull.c: sabok_pull at another pace
char *pull_model(const char *id, const sabok_pull_opts *opts, const struct hub_pace *pace, sabok_error *err);

#endif
