// http: requests through libcurl. It is loaded when the first request is made: linked, it would cost every start 8 ms.
#include "file/hub.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#define HTTP_HOPS 10
#define HTTP_CONNECT_S 10L
#define HTTP_REFUSAL_MAX (1 << 20) // bytes of the body of a failure

// The functions used, by their names without "curl_".
#define HTTP_CALLS(X)                                                                                        \
    X(global_init)                                                                                           \
    X(easy_init)                                                                                             \
    X(easy_reset)                                                                                            \
    X(easy_setopt)                                                                                           \
    X(easy_perform)                                                                                          \
    X(easy_getinfo)                                                                                          \
    X(easy_cleanup)                                                                                          \
    X(easy_strerror)                                                                                         \
    X(slist_append)                                                                                          \
    X(slist_free_all)

struct http_calls {
#define HTTP_FIELD(name) __typeof__(&curl_##name) name;
    HTTP_CALLS(HTTP_FIELD)
};

struct http {
    struct http_calls curl;
    struct http_opts opts;
    CURL *easy;
    bool reached; // the hub has answered before
};

// ---- loading

static void *library_open(sabok_error *err) {
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
    const char *given = getenv("SABOK_LIBCURL");
    if (given && *given) {
        void *library = dlopen(given, RTLD_NOW | RTLD_LOCAL);
        if (!library) error_set(err, SABOK_ENOTFOUND, "SABOK_LIBCURL", "cannot load: %s", dlerror());
        return library;
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    error_set(err, SABOK_ENOTFOUND, "libcurl.so.4",
              "not found, and downloads need it: install libcurl (Debian's package libcurl4)");
    return NULL;
}

// The library stays loaded: what it registered for the end of the process must still be there then.
static sabok_status calls_load(struct http_calls *curl, sabok_error *err) {
    void *library = library_open(err);
    if (!library) return err->code;
#define HTTP_LOAD(name)                                                                                      \
    {                                                                                                        \
        void *symbol = dlsym(library, "curl_" #name);                                                        \
        if (!symbol)                                                                                         \
            return error_set(err, SABOK_EUNSUPPORTED, "libcurl", "no function curl_" #name " in it");        \
        memcpy(&curl->name, &symbol, sizeof symbol);                                                         \
    }
    HTTP_CALLS(HTTP_LOAD)
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const CURLcode code = curl->global_init(CURL_GLOBAL_DEFAULT);
    pthread_mutex_unlock(&lock);
    return code == CURLE_OK ? SABOK_OK : error_set(err, SABOK_EIO, "libcurl", "cannot start");
}

struct http *http_open(const struct http_opts *opts, sabok_error *err) {
    struct http *http = mem_zalloc(sizeof *http);
    if (!http) {
        error_memory(err, opts->endpoint);
        return NULL;
    }
    http->opts = *opts;
    if (calls_load(&http->curl, err) == SABOK_OK) {
        http->easy = http->curl.easy_init();
        if (http->easy) return http;
        error_memory(err, "libcurl");
    }
    mem_free(http);
    return NULL;
}

void http_close(struct http *http) {
    if (!http) return;
    http->curl.easy_cleanup(http->easy);
    mem_free(http);
}

// ---- one exchange: a request and its reply, a redirection not followed

struct exchange {
    struct http *http;
    const struct http_request *q;
    struct http_reply *reply;
    bool linked;     // the etag is the linked file's
    bool moved;      // the status is a redirection
    sabok_error err; // of the body's receiver
};

// The value of a header line, blanks stripped, when its name is this one.
static bool header_is(const char *line, size_t n, const char *name, char *out, size_t size) {
    const size_t length = strlen(name);
    if (n <= length || line[length] != ':' || strncasecmp(line, name, length) != 0) return false;
    size_t begin = length + 1, end = n;
    while (begin < end && isspace((unsigned char)line[begin]))
        begin++;
    while (end > begin && isspace((unsigned char)line[end - 1]))
        end--;
    // A value that is too long is none, rather than another one.
    if (end - begin >= size) end = begin;
    memcpy(out, line + begin, end - begin);
    out[end - begin] = '\0';
    return true;
}

static bool read_number(const char *text, const char *ends, uint64_t *out) {
    char *end;
    if (!isdigit((unsigned char)*text)) return false;
    const unsigned long long n = strtoull(text, &end, 10);
    if (n > INT64_MAX || !strchr(ends, *end)) return false;
    *out = n;
    return true;
}

// The three digits after the first blank; 0 when there are none.
static long status_read(const char *line, size_t n) {
    size_t at = 0;
    while (at < n && line[at] != ' ')
        at++;
    long status = 0;
    for (size_t i = 1; i <= 3; i++) {
        if (at + i >= n || !isdigit((unsigned char)line[at + i])) return 0;
        status = 10 * status + (line[at + i] - '0');
    }
    return status;
}

// W/"x" and "x" to x.
static void etag_take(struct http_reply *reply, const char *value) {
    if (strncmp(value, "W/", 2) == 0) value += 2;
    size_t n = strlen(value);
    if (n >= 2 && value[0] == '"' && value[n - 1] == '"') value++, n -= 2;
    memcpy(reply->etag, value, n);
    reply->etag[n] = '\0';
}

// bytes FIRST-LAST/SIZE
static void range_take(struct http_reply *reply, const char *value) {
    if (strncasecmp(value, "bytes ", 6) != 0) return;
    const char *slash = strchr(value, '/');
    uint64_t first;
    if (read_number(value + 6, "-", &first)) reply->first = first;
    reply->sized = slash && read_number(slash + 1, "", &reply->size);
}

static size_t header_take(char *line, size_t size, size_t count, void *ctx) {
    struct exchange *x = ctx;
    struct http_reply *r = x->reply;
    const size_t n = size * count;
    char value[HTTP_ETAG];
    uint64_t length;
    if (n > 5 && memcmp(line, "HTTP/", 5) == 0) {
        *r = (struct http_reply){.status = status_read(line, n), .first = UINT64_MAX};
        x->moved = r->status >= 300 && r->status < 400;
        x->linked = false;
    } else if (header_is(line, n, "X-Linked-Etag", value, sizeof value)) {
        etag_take(r, value);
        x->linked = true;
    } else if (header_is(line, n, "ETag", value, sizeof value)) {
        if (!x->linked) etag_take(r, value);
    } else if (header_is(line, n, "X-Linked-Size", value, sizeof value)) {
        if (read_number(value, "", &r->size)) r->sized = true;
    } else if (header_is(line, n, "Content-Range", value, sizeof value)) {
        range_take(r, value);
    } else if (header_is(line, n, "Content-Length", value, sizeof value)) {
        if (r->status == 200 && !r->sized && read_number(value, "", &length)) {
            r->size = length;
            r->sized = true;
        }
    } else if (header_is(line, n, "X-Repo-Commit", value, sizeof value)) {
        memcpy(r->commit, value, sizeof value);
    } else if (header_is(line, n, "X-Error-Code", value, sizeof value)) {
        memcpy(r->error_code, value, sizeof value);
    } else if (header_is(line, n, "X-Error-Message", value, sizeof value)) {
        memcpy(r->error_text, value, sizeof value);
    }
    return n;
}

static size_t body_take(char *data, size_t size, size_t count, void *ctx) {
    struct exchange *x = ctx;
    const size_t n = size * count;
    x->reply->received += n;
    if (x->reply->status != 200 && x->reply->status != 206) {
        if (x->reply->received <= HTTP_REFUSAL_MAX) return n;
        error_set(&x->err, SABOK_EFORMAT, x->q->url, "status %ld with more than %d bytes of explanation",
                  x->reply->status, HTTP_REFUSAL_MAX);
        return 0;
    }
    return x->q->body(x->q->ctx, x->reply, data, n, &x->err) == SABOK_OK ? n : 0;
}

static int progress_take(void *ctx, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up) {
    (void)total, (void)now, (void)up_total, (void)up;
    const struct exchange *x = ctx;
    return x->http->opts.stop && x->http->opts.stop(x->http->opts.ctx);
}

// Length of "scheme://authority".
static size_t origin_length(const char *url) {
    const char *authority = strstr(url, "://");
    if (!authority) return 0;
    authority += 3;
    return (size_t)(authority - url) + strcspn(authority, "/?#\\");
}

static bool origin_equal(const char *a, const char *b) {
    const size_t n = origin_length(a);
    return n > 0 && n == origin_length(b) && strncasecmp(a, b, n) == 0;
}

static bool headers_add(const struct http *http, struct curl_slist **list, const char *line) {
    struct curl_slist *longer = http->curl.slist_append(*list, line);
    if (longer) *list = longer;
    return longer != NULL;
}

// The token goes to the hub itself and to nobody else.
static bool headers_make(const struct http *http, bool trusted, struct curl_slist **list) {
    // Compressed, a file's bytes could not be counted, nor the rest of them asked for.
    if (!headers_add(http, list, "Accept-Encoding: identity")) return false;
    if (!trusted || !http->opts.token) return true;
    struct buf line = {0};
    buf_printf(&line, "Authorization: Bearer %s", http->opts.token);
    const bool ok = !line.failed && headers_add(http, list, line.data);
    buf_free(&line);
    return ok;
}

static void exchange_options(struct exchange *x, const char *url, struct curl_slist *headers) {
    const struct http *http = x->http;
    const struct http_calls *curl = &http->curl;
    curl->easy_reset(http->easy);
    curl->easy_setopt(http->easy, CURLOPT_URL, url);
    curl->easy_setopt(http->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(http->easy, CURLOPT_HTTPHEADER, headers);
    curl->easy_setopt(http->easy, CURLOPT_USERAGENT, "sabok");
    curl->easy_setopt(http->easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(http->easy, CURLOPT_NOBODY, x->q->head ? 1L : 0L);
    curl->easy_setopt(http->easy, CURLOPT_HEADERFUNCTION, header_take);
    curl->easy_setopt(http->easy, CURLOPT_HEADERDATA, x);
    curl->easy_setopt(http->easy, CURLOPT_WRITEFUNCTION, body_take);
    curl->easy_setopt(http->easy, CURLOPT_WRITEDATA, x);
    curl->easy_setopt(http->easy, CURLOPT_NOPROGRESS, 0L);
    curl->easy_setopt(http->easy, CURLOPT_XFERINFOFUNCTION, progress_take);
    curl->easy_setopt(http->easy, CURLOPT_XFERINFODATA, x);
    curl->easy_setopt(http->easy, CURLOPT_CONNECTTIMEOUT, HTTP_CONNECT_S);
    curl->easy_setopt(http->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl->easy_setopt(http->easy, CURLOPT_LOW_SPEED_TIME, (long)http->opts.stall_s);
    // Not CURLOPT_RESUME_FROM: with it a server that sends the whole file would be an error.
    char range[32];
    snprintf(range, sizeof range, "%llu-", (unsigned long long)x->q->from);
    if (x->q->from) curl->easy_setopt(http->easy, CURLOPT_RANGE, range);
}

static bool code_again(const struct http *http, CURLcode code) {
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
        // A hub that was never reached is a wrong address or no network: waiting would only hide that.
        return http->reached;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return true;
    default:
        return false;
    }
}

static sabok_status exchange_failed(struct exchange *x, CURLcode code, const char *detail, sabok_error *err) {
    if (x->err.code != SABOK_OK) {
        *err = x->err;
        return err->code;
    }
    if (code == CURLE_ABORTED_BY_CALLBACK) return error_set(err, SABOK_ECANCELED, x->q->url, "stopped");
    x->reply->again = code_again(x->http, code);
    return error_set(err, SABOK_EIO, x->q->url, "%s", *detail ? detail : x->http->curl.easy_strerror(code));
}

static sabok_status exchange_run(struct exchange *x, const char *url, bool trusted, sabok_error *err) {
    struct curl_slist *headers = NULL;
    char detail[CURL_ERROR_SIZE] = "";
    if (!headers_make(x->http, trusted, &headers)) {
        x->http->curl.slist_free_all(headers);
        return error_memory(err, x->q->url);
    }
    *x->reply = (struct http_reply){0};
    exchange_options(x, url, headers);
    x->http->curl.easy_setopt(x->http->easy, CURLOPT_ERRORBUFFER, detail);
    const CURLcode code = x->http->curl.easy_perform(x->http->easy);
    x->http->curl.easy_setopt(x->http->easy, CURLOPT_ERRORBUFFER, NULL);
    x->http->curl.slist_free_all(headers);
    if (x->reply->status) x->http->reached = true;
    return code == CURLE_OK ? SABOK_OK : exchange_failed(x, code, detail, err);
}

// ---- redirections

static sabok_status redirect_check(const char *from, const char *to, const char *where, sabok_error *err) {
    if (!to || !origin_length(to))
        return error_set(err, SABOK_EFORMAT, where, "the server redirects without saying where to");
    if (strncasecmp(from, "https:", 6) == 0 && strncasecmp(to, "https:", 6) != 0)
        return error_set(err, SABOK_EIO, where,
                         "the server redirects from https to another protocol: not followed");
    return SABOK_OK;
}

sabok_status http_ask(struct http *http, const struct http_request *q, struct http_reply *reply,
                      sabok_error *err) {
    struct exchange x = {.http = http, .q = q, .reply = reply};
    *reply = (struct http_reply){0};
    char *url = mem_copy_string(q->url);
    if (!url) return error_memory(err, q->url);
    sabok_status status = SABOK_OK;
    bool trusted = origin_equal(url, http->opts.endpoint);
    for (unsigned hop = 0;; hop++) {
        status = exchange_run(&x, url, trusted, err);
        if (status != SABOK_OK || !x.moved) break;
        const char *to = NULL;
        http->curl.easy_getinfo(http->easy, CURLINFO_REDIRECT_URL, &to);
        status = redirect_check(url, to, q->url, err);
        if (status != SABOK_OK) break;
        const bool same = origin_equal(url, to);
        if (!same && q->head) break;
        if (hop == HTTP_HOPS) {
            status = error_set(err, SABOK_EIO, q->url, "more than %d redirections", HTTP_HOPS);
            break;
        }
        trusted = trusted && same;
        char *next = mem_copy_string(to);
        mem_free(url);
        url = next;
        if (!url) return error_memory(err, q->url);
    }
    mem_free(url);
    return status;
}
