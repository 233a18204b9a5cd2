// A small hub on two ports of this machine: the hub itself, and the store that it sends its big files from. It keeps what it
// was asked, and fails as a test wants it to.
#ifndef TEST_FILE_HUB_SERVER_H
#define TEST_FILE_HUB_SERVER_H

#include "base/base.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SERVED_MAX 32
#define FAULT_MAX 8
#define SEEN_MAX 512
#define SERVER_CHUNK ((size_t)16 << 10)

struct served {
    char path[256];
    uint8_t *data;
    size_t size;
    bool linked; // sent from the store, named by its sha256
    char sha256[65], etag[65];
};

// What happens to the next `times` requests whose line holds `on` ("GET /store/"); the first fault that fits counts.
struct fault {
    const char *on;
    unsigned times;
    unsigned status;     // answered instead; 0: none
    const char *headers; // further ones, each with its line end
    bool cuts;           // the body ends after `cut` bytes
    size_t cut;
    bool whole;        // a range is not looked at
    bool shifted;      // a range begins a byte late
    bool wrong;        // the first byte sent is another
    unsigned delay_ms; // before each chunk
};

struct seen {
    char line[512], range[64], token[128];
    bool store;
};

struct hub_server {
    int sockets[2]; // the hub, the store
    unsigned ports[2];
    char id[128], commit[41];
    const char *token;   // asked for, NULL: none
    const char *listing; // sent instead of the list of files
    const char *etag;    // sent instead of every file's own
    struct served files[SERVED_MAX];
    size_t count;
    struct fault faults[FAULT_MAX];
    struct seen seen[SEEN_MAX];
    size_t seen_count;
    pthread_mutex_t lock;
    pthread_t thread;
    atomic_bool ending;
    atomic_uint open;
};

struct server_call {
    struct hub_server *server;
    int socket;
    bool store;
    struct seen seen;
    struct fault fault;
};

static inline void server_die(const char *what) {
    perror(what);
    exit(1);
}

static inline void server_put(struct hub_server *s, const char *path, const void *data, size_t n,
                              bool linked) {
    struct served *f = &s->files[s->count++];
    uint8_t digest[32];
    if (s->count > SERVED_MAX || strlen(path) >= sizeof f->path) server_die("too many files");
    *f = (struct served){.data = malloc(n + 1), .size = n, .linked = linked};
    if (!f->data) server_die("malloc");
    strcpy(f->path, path);
    memcpy(f->data, data, n);
    sha256(data, n, digest);
    for (size_t i = 0; i < 32; i++)
        sprintf(f->sha256 + 2 * i, "%02x", digest[i]);
    memcpy(f->etag, f->sha256, linked ? 64 : 40);
}

static inline bool server_send(int socket, const void *data, size_t n) {
    const char *at = data;
    while (n > 0) {
        const ssize_t sent = send(socket, at, n, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

// ---- replies

// `headers` are whole lines; the body is that of `file` from byte `from` on, or `text`.
static inline void server_reply(struct server_call *c, unsigned status, const char *headers,
                                const char *text) {
    char head[2048];
    const int n =
        snprintf(head, sizeof head, "HTTP/1.1 %u Said\r\nConnection: close\r\n%sContent-Length: %zu\r\n\r\n",
                 status, headers, strlen(text));
    if (server_send(c->socket, head, (size_t)n) && strncmp(c->seen.line, "HEAD", 4) != 0)
        (void)server_send(c->socket, text, strlen(text));
}

static inline void server_body(struct server_call *c, const uint8_t *data, size_t n) {
    if (c->fault.cuts && c->fault.cut < n) n = c->fault.cut;
    for (size_t at = 0; at < n; at += SERVER_CHUNK) {
        const size_t chunk = n - at < SERVER_CHUNK ? n - at : SERVER_CHUNK;
        const uint8_t other = (uint8_t)~data[at];
        if (c->fault.delay_ms)
            nanosleep(&(struct timespec){c->fault.delay_ms / 1000, c->fault.delay_ms % 1000 * 1000000L},
                      NULL);
        const bool wrong = c->fault.wrong && at == 0;
        if (wrong && !server_send(c->socket, &other, 1)) return;
        if (!server_send(c->socket, data + at + wrong, chunk - wrong)) return;
    }
}

static inline void server_file(struct server_call *c, const struct served *f, const char *headers) {
    char head[2048];
    size_t from = 0;
    const bool part = c->seen.range[0] && !c->fault.whole;
    if (part) from = strtoull(strchr(c->seen.range, '=') + 1, NULL, 10);
    if (part && from >= f->size) {
        server_reply(c, 416, "", "");
        return;
    }
    if (c->fault.shifted && part) from++;
    int n = snprintf(head, sizeof head, "HTTP/1.1 %u Said\r\nConnection: close\r\n%sContent-Length: %zu\r\n",
                     part ? 206 : 200, headers, f->size - from);
    if (part)
        n += snprintf(head + n, sizeof head - (size_t)n, "Content-Range: bytes %zu-%zu/%zu\r\n", from,
                      f->size - 1, f->size);
    n += snprintf(head + n, sizeof head - (size_t)n, "\r\n");
    if (server_send(c->socket, head, (size_t)n) && strncmp(c->seen.line, "HEAD", 4) != 0)
        server_body(c, f->data + from, f->size - from);
}

// A reply written piece by piece, in memory that tests of short memory do not count.
struct server_text {
    char *data;
    size_t size;
    FILE *out;
};

static inline void server_text_open(struct server_text *t) {
    *t = (struct server_text){0};
    t->out = open_memstream(&t->data, &t->size);
    if (!t->out) server_die("open_memstream");
}

static inline void server_text_send(struct server_text *t, struct server_call *c, const char *instead) {
    if (fclose(t->out) != 0) server_die("fclose");
    server_reply(c, 200, "Content-Type: application/json\r\n", instead ? instead : t->data);
    free(t->data);
}

static inline void server_listing(struct server_call *c) {
    struct hub_server *s = c->server;
    struct server_text t;
    server_text_open(&t);
    fprintf(t.out, "{\"id\": \"%s\", \"private\": false, \"sha\": \"%s\", \"siblings\": [", s->id, s->commit);
    for (size_t i = 0; i < s->count; i++) {
        const struct served *f = &s->files[i];
        fprintf(t.out, "%s{\"rfilename\": \"%s\", \"size\": %zu, \"blobId\": \"%.40s\"", i ? ", " : "",
                f->path, f->size, f->etag);
        if (f->linked)
            fprintf(t.out, ", \"lfs\": {\"sha256\": \"%s\", \"size\": %zu, \"pointerSize\": 134}", f->sha256,
                    f->size);
        fputs("}", t.out);
    }
    fputs("]}", t.out);
    server_text_send(&t, c, s->listing);
}

// The list as huggingface_hub asks for it.
static inline void server_tree(struct server_call *c) {
    struct hub_server *s = c->server;
    struct server_text t;
    server_text_open(&t);
    fputs("[", t.out);
    for (size_t i = 0; i < s->count; i++) {
        const struct served *f = &s->files[i];
        fprintf(t.out, "%s{\"type\": \"file\", \"path\": \"%s\", \"size\": %zu, \"oid\": \"%.40s\"",
                i ? ", " : "", f->path, f->size, f->etag);
        if (f->linked)
            fprintf(t.out, ", \"lfs\": {\"oid\": \"%s\", \"size\": %zu, \"pointerSize\": 134}", f->sha256,
                    f->size);
        fputs("}", t.out);
    }
    fputs("]", t.out);
    server_text_send(&t, c, NULL);
}

static inline const struct served *server_find(const struct hub_server *s, const char *path, size_t n) {
    for (size_t i = 0; i < s->count; i++)
        if (strlen(s->files[i].path) == n && memcmp(s->files[i].path, path, n) == 0) return &s->files[i];
    return NULL;
}

// A file of the hub: small ones are sent, big ones lie in the store.
static inline void server_resolve(struct server_call *c, const char *path, size_t n) {
    struct hub_server *s = c->server;
    const struct served *f = server_find(s, path, n);
    char headers[1024];
    if (!f) {
        snprintf(headers, sizeof headers, "X-Repo-Commit: %s\r\nX-Error-Code: EntryNotFound\r\n", s->commit);
        server_reply(c, 404, headers, "no such file");
        return;
    }
    const char *etag = s->etag ? s->etag : f->etag;
    int h = snprintf(headers, sizeof headers, "X-Repo-Commit: %s\r\n", s->commit);
    if (!f->linked) {
        snprintf(headers + h, sizeof headers - (size_t)h, "ETag: \"%s\"\r\n", etag);
        server_file(c, f, headers);
        return;
    }
    snprintf(headers + h, sizeof headers - (size_t)h,
             "ETag: \"of the pointer\"\r\nX-Linked-Etag: \"%s\"\r\nX-Linked-Size: %zu\r\n"
             "Location: http://127.0.0.1:%u/store/%s\r\n",
             etag, f->size, s->ports[1], f->path);
    server_reply(c, 302, headers, "");
}

static inline void server_refuse(struct server_call *c, unsigned status, const char *code) {
    char headers[256];
    snprintf(headers, sizeof headers, "X-Error-Code: %s\r\nX-Error-Message: said by the server\r\n", code);
    server_reply(c, status, headers, "refused");
}

static inline void server_answer(struct server_call *c) {
    struct hub_server *s = c->server;
    const char *path = strchr(c->seen.line, ' ') + 1, *end = path + strcspn(path, " ?");
    char api[256], resolve[256], token[160];
    const int a = snprintf(api, sizeof api, "/api/models/%s", s->id);
    const int r = snprintf(resolve, sizeof resolve, "/%s/resolve/", s->id);
    snprintf(token, sizeof token, "Bearer %s", s->token ? s->token : "");
    if (c->fault.status) {
        server_reply(c, c->fault.status, c->fault.headers ? c->fault.headers : "", "a fault");
    } else if (c->store) {
        const struct served *f =
            strncmp(path, "/store/", 7) == 0 ? server_find(s, path + 7, (size_t)(end - path - 7)) : NULL;
        f ? server_file(c, f, "ETag: \"of the store\"\r\n") : server_reply(c, 404, "", "");
    } else if (s->token && strcmp(c->seen.token, token) != 0) {
        server_refuse(c, 401, "RepoNotFound");
    } else if (strncmp(path, api, (size_t)a) == 0) {
        const char *rest = path + a;
        if (strncmp(rest, "/tree/", 6) == 0) {
            server_tree(c);
        } else if (strncmp(rest, "/revision/", 10) == 0 && strncmp(rest + 10, "main", 4) != 0 &&
                   strncmp(rest + 10, s->commit, 40) != 0 && strncmp(rest + 10, "v1", 2) != 0 &&
                   strncmp(rest + 10, "refs%2Fpr%2F1", 13) != 0) {
            server_refuse(c, 404, "RevisionNotFound");
        } else {
            server_listing(c);
        }
    } else if (strncmp(path, resolve, (size_t)r) == 0) {
        const char *file = strchr(path + r, '/');
        server_resolve(c, file + 1, (size_t)(end - file - 1));
    } else {
        server_refuse(c, 404, "RepoNotFound");
    }
}

// ---- connections

static inline void server_header(struct server_call *c, const char *line) {
    if (strncasecmp(line, "Range: ", 7) == 0) snprintf(c->seen.range, sizeof c->seen.range, "%s", line + 7);
    if (strncasecmp(line, "Authorization: ", 15) == 0)
        snprintf(c->seen.token, sizeof c->seen.token, "%s", line + 15);
}

static inline bool server_read(struct server_call *c) {
    char text[8192];
    size_t n = 0;
    while (n < sizeof text - 1) {
        const ssize_t got = recv(c->socket, text + n, sizeof text - 1 - n, 0);
        if (got <= 0) return false;
        n += (size_t)got;
        text[n] = '\0';
        if (strstr(text, "\r\n\r\n")) break;
    }
    char *save = NULL, *line = strtok_r(text, "\r\n", &save);
    if (!line || !strchr(line, ' ')) return false;
    snprintf(c->seen.line, sizeof c->seen.line, "%s", line);
    while ((line = strtok_r(NULL, "\r\n", &save)))
        server_header(c, line);
    return true;
}

static inline void *server_serve(void *ctx) {
    struct server_call *c = ctx;
    struct hub_server *s = c->server;
    if (server_read(c)) {
        pthread_mutex_lock(&s->lock);
        c->seen.store = c->store;
        if (s->seen_count < SEEN_MAX) s->seen[s->seen_count++] = c->seen;
        for (size_t i = 0; i < FAULT_MAX; i++) {
            struct fault *f = &s->faults[i];
            if (!f->times || !strstr(c->seen.line, f->on)) continue;
            f->times--;
            c->fault = *f;
            break;
        }
        pthread_mutex_unlock(&s->lock);
        server_answer(c);
    }
    // What is unread would make closing an abort.
    shutdown(c->socket, SHUT_WR);
    close(c->socket);
    free(c);
    atomic_fetch_sub(&s->open, 1);
    return NULL;
}

static inline void server_accept(struct hub_server *s, size_t which) {
    struct server_call *c = calloc(1, sizeof *c);
    pthread_t thread;
    if (!c) server_die("calloc");
    *c = (struct server_call){
        .server = s, .store = which == 1, .socket = accept(s->sockets[which], NULL, NULL)};
    if (c->socket < 0) server_die("accept");
    atomic_fetch_add(&s->open, 1);
    if (pthread_create(&thread, NULL, server_serve, c) != 0) server_die("pthread_create");
    pthread_detach(thread);
}

static inline void *server_run(void *ctx) {
    struct hub_server *s = ctx;
    while (!atomic_load(&s->ending)) {
        struct pollfd polls[2] = {{.fd = s->sockets[0], .events = POLLIN},
                                  {.fd = s->sockets[1], .events = POLLIN}};
        if (poll(polls, 2, 20) <= 0) continue;
        for (size_t i = 0; i < 2; i++)
            if (polls[i].revents) server_accept(s, i);
    }
    return NULL;
}

static inline void server_start(struct hub_server *s, const char *id, const char *commit) {
    *s = (struct hub_server){0};
    snprintf(s->id, sizeof s->id, "%s", id);
    snprintf(s->commit, sizeof s->commit, "%s", commit);
    pthread_mutex_init(&s->lock, NULL);
    for (size_t i = 0; i < 2; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t n = sizeof address;
        s->sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (s->sockets[i] < 0 || bind(s->sockets[i], (struct sockaddr *)&address, n) != 0 ||
            listen(s->sockets[i], 64) != 0 ||
            getsockname(s->sockets[i], (struct sockaddr *)&address, &n) != 0)
            server_die("socket");
        s->ports[i] = ntohs(address.sin_port);
    }
    if (pthread_create(&s->thread, NULL, server_run, s) != 0) server_die("pthread_create");
}

static inline void server_stop(struct hub_server *s) {
    atomic_store(&s->ending, true);
    pthread_join(s->thread, NULL);
    while (atomic_load(&s->open))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (size_t i = 0; i < 2; i++)
        close(s->sockets[i]);
    for (size_t i = 0; i < s->count; i++)
        free(s->files[i].data);
    pthread_mutex_destroy(&s->lock);
}

#endif
