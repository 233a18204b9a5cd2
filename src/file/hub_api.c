// hub_api: what a hub says: the commit and the files of a revision; and why it refuses.
//     GET ENDPOINT/api/models/ID/revision/REVISION?blobs=true
//     GET ENDPOINT/ID/resolve/COMMIT/FILE
#include "file/hub.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define LISTING_MAX ((size_t)64 << 20) // bytes
#define PATH_LONGEST 1024
#define TRIES 5
#define WAIT_STEP_MS 50
#define WAIT_MAX_MS 60000

// ---- opening

sabok_status hub_open(struct hub *hub, const struct hub_pace *pace, sabok_error *err) {
    hub->endpoint = hub_endpoint();
    hub->pace = *pace;
    if (!hub->endpoint) return error_memory(err, hub->name.id);
    if (strncmp(hub->endpoint, "http://", 7) != 0 && strncmp(hub->endpoint, "https://", 8) != 0)
        return error_set(err, SABOK_EINVAL, "HF_ENDPOINT", "found '%s', expected http://... or https://...",
                         hub->endpoint);
    TRY(hub_token(&hub->token, err));
    const struct http_opts opts = {.endpoint = hub->endpoint,
                                   .token = hub->token,
                                   .stall_s = pace->stall_s,
                                   .stop = hub_stop,
                                   .ctx = hub};
    hub->http = http_open(&opts, err);
    return hub->http ? SABOK_OK : err->code;
}

void hub_close(struct hub *hub) {
    http_close(hub->http);
    mem_free(hub->endpoint);
    mem_free(hub->token);
}

bool hub_stop(void *ctx) {
    struct hub *hub = ctx;
    if (!hub->stopped && hub->progress)
        hub->stopped = hub->progress(hub->ctx, hub->file, hub->done, hub->total) != 0;
    return hub->stopped;
}

// ---- addresses

static void url_quote(struct buf *b, const char *text, const char *kept) {
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < 0x80 && (isalnum(c) || strchr(kept, c)))
            buf_put(b, text, 1);
        else
            buf_printf(b, "%%%02X", c);
    }
}

static char *url_text(struct buf *b) {
    if (!b->failed) return b->data;
    buf_free(b);
    return NULL;
}

char *hub_file_url(const struct hub *hub, const char *commit, const char *path) {
    struct buf b = {0};
    buf_printf(&b, "%s/%s/resolve/%s/", hub->endpoint, hub->name.id, commit);
    url_quote(&b, path, "-_.~/");
    return url_text(&b);
}

static char *listing_url(const struct hub *hub) {
    struct buf b = {0};
    buf_printf(&b, "%s/api/models/%s/revision/", hub->endpoint, hub->name.id);
    url_quote(&b, hub->name.revision, "-_.~");
    buf_printf(&b, "?blobs=true");
    return url_text(&b);
}

// ---- asking

static bool status_again(long status) {
    return status == 408 || status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

static sabok_status hub_refused(const struct hub *hub, const char *url, const struct http_reply *r,
                                sabok_error *err) {
    const char *code = r->error_code;
    char said[QUOTE_TEXT];
    if (strcmp(code, "GatedRepo") == 0)
        return error_set(err, SABOK_EIO, hub->name.id, "status %ld: access is gated; ask for it at %s/%s%s",
                         r->status, hub->endpoint, hub->name.id,
                         hub->token ? " with the account of the token" : ", then set HF_TOKEN");
    if (strcmp(code, "RevisionNotFound") == 0)
        return error_set(err, SABOK_ENOTFOUND, hub->name.id, "the hub has no revision '%s' of it",
                         hub->name.revision);
    if (r->status == 401 || r->status == 403)
        return error_set(err, SABOK_EIO, hub->name.id,
                         "status %ld from %s: no such model, or a private one; %s", r->status, hub->endpoint,
                         hub->token ? "the token sent does not open it" : "no token was sent (HF_TOKEN)");
    quote_text(r->error_text, strlen(r->error_text), said);
    return error_set(err, r->status == 404 ? SABOK_ENOTFOUND : SABOK_EIO, url, "status %ld%s%s%s", r->status,
                     r->status == 404 ? ", not found" : "", *said ? ": " : "", said);
}

// Waits before the next try; false when the caller stops.
static bool hub_wait(struct hub *hub, unsigned tried, const char *why) {
    const unsigned ms = hub->pace.wait_ms << (tried - 1);
    log_message(SABOK_LOG_WARNING, "%s; trying again in %g s", why, ms / 1000.0);
    for (unsigned waited = 0; waited < ms && waited < WAIT_MAX_MS; waited += WAIT_STEP_MS) {
        const unsigned step = ms - waited < WAIT_STEP_MS ? ms - waited : WAIT_STEP_MS;
        nanosleep(&(struct timespec){.tv_nsec = step * 1000000L}, NULL);
        if (hub_stop(hub)) return false;
    }
    return true;
}

sabok_status hub_ask(struct hub *hub, struct http_request *q, hub_prepare_fn *prepare, long allowed,
                     struct http_reply *reply, sabok_error *err) {
    uint64_t furthest = 0;
    for (unsigned tried = 1;; tried++) {
        if (prepare) TRY(prepare(q, err));
        // A try that brought the transfer on has not been in vain.
        if (q->from > furthest) tried = 1;
        furthest = q->from > furthest ? q->from : furthest;
        sabok_status status = http_ask(hub->http, q, reply, err);
        const bool answered = status == SABOK_OK;
        const bool success =
            reply->status == 200 || reply->status == 206 || (q->head && reply->status / 100 == 3);
        if (answered && (success || reply->status == allowed)) return SABOK_OK;
        if (answered) status = hub_refused(hub, q->url, reply, err);
        if (answered ? !status_again(reply->status) : !reply->again) return status;
        if (tried == TRIES) return status;
        if (!hub_wait(hub, tried, err->message)) return error_set(err, SABOK_ECANCELED, q->url, "stopped");
    }
}

// ---- the list of files

// Relative, inside the folder, and the same name on every system.
static bool path_ok(struct json_text path) {
    if (path.size == 0 || path.size > PATH_LONGEST) return false;
    size_t begin = 0;
    for (size_t i = 0; i <= path.size; i++) {
        const unsigned char c = i < path.size ? (unsigned char)path.data[i] : '/';
        if (c < 0x20 || c == 0x7F || c == '\\') return false;
        if (c != '/') continue;
        const size_t n = i - begin;
        const bool dots =
            (n == 1 && path.data[begin] == '.') || (n == 2 && memcmp(path.data + begin, "..", 2) == 0);
        if (n == 0 || n > 255 || dots) return false;
        begin = i + 1;
    }
    return true;
}

static bool read_lfs(struct json *j, struct hub_listing *out, struct hub_file *file) {
    struct json_text key, text;
    if (json_peek(j) != JSON_OBJECT) return json_skip(j);
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        if (json_text_is(key, "sha256") && json_peek(j) == JSON_STRING) {
            if (!json_string(j, &text)) return false;
            file->sha256 = arena_copy(&out->arena, text.data, text.size);
            if (!file->sha256 || !hub_hex_ok(file->sha256, 64))
                return json_fail(j, "expected a sha256 of 64 hexadecimal digits");
        } else if (json_text_is(key, "size") && json_peek(j) == JSON_NUMBER) {
            if (!json_u64(j, &file->size)) return false;
            file->sized = true;
        } else if (!json_skip(j)) {
            return false;
        }
    }
    return !j->failed;
}

static bool read_file(struct json *j, struct hub_listing *out) {
    struct json_text key, text;
    struct hub_file file = {0};
    char shown[QUOTE_TEXT];
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        if (json_text_is(key, "rfilename")) {
            if (!json_string(j, &text)) return false;
            if (!path_ok(text))
                return json_fail(j, "found the file name '%s', expected a path inside the model's folder",
                                 quote_text(text.data, text.size, shown));
            file.path = arena_copy(&out->arena, text.data, text.size);
            if (!file.path) return json_fail(j, "out of memory");
        } else if (json_text_is(key, "size") && json_peek(j) == JSON_NUMBER) {
            if (!json_u64(j, &file.size)) return false;
            file.sized = true;
        } else if (json_text_is(key, "lfs")) {
            if (!read_lfs(j, out, &file)) return false;
        } else if (!json_skip(j)) {
            return false;
        }
    }
    if (j->failed) return false;
    if (!file.path) return json_fail(j, "found a file without a name, expected 'rfilename'");
    if (!mem_grow((void **)&out->files, &out->cap, out->count + 1, sizeof file))
        return json_fail(j, "out of memory");
    out->files[out->count++] = file;
    return true;
}

static bool read_listing(struct json *j, struct hub_listing *out) {
    struct json_text key, text;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        if (json_text_is(key, "sha")) {
            if (!json_string(j, &text)) return false;
            snprintf(out->commit, sizeof out->commit, "%.*s", (int)size_min(text.size, HUB_COMMIT),
                     text.data);
            if (text.size != HUB_COMMIT - 1 || !hub_commit_ok(out->commit))
                return json_fail(j, "found another 'sha' than a commit of 40 hexadecimal digits");
        } else if (json_text_is(key, "siblings")) {
            if (!json_array_begin(j)) return false;
            while (json_item(j))
                if (!read_file(j, out)) return false;
            if (j->failed) return false;
        } else if (!json_skip(j)) {
            return false;
        }
    }
    if (j->failed || !json_end(j)) return false;
    return out->commit[0] || json_fail(j, "found no 'sha', expected the commit of the revision");
}

static sabok_status listing_parse(struct hub_listing *out, const struct buf *text, const char *url,
                                  sabok_error *err) {
    struct json j;
    arena_init(&out->arena, 0);
    json_init(&j, text->data ? text->data : "", text->size, url, &out->arena, err);
    return read_listing(&j, out) ? SABOK_OK : err->code;
}

static sabok_status listing_prepare(struct http_request *q, sabok_error *err) {
    struct buf *b = q->ctx;
    (void)err;
    b->size = 0;
    return SABOK_OK;
}

static sabok_status listing_take(void *ctx, const struct http_reply *reply, const void *data, size_t n,
                                 sabok_error *err) {
    struct buf *b = ctx;
    (void)reply;
    if (n > LISTING_MAX - b->size)
        return error_set(err, SABOK_EFORMAT, "list of files", "longer than %zu bytes", LISTING_MAX);
    buf_put(b, data, n);
    return b->failed ? error_memory(err, "list of files") : SABOK_OK;
}

sabok_status hub_list(struct hub *hub, struct hub_listing *out, sabok_error *err) {
    struct buf text = {0};
    struct http_reply reply;
    char *url = listing_url(hub);
    struct http_request q = {.url = url, .body = listing_take, .ctx = &text};
    sabok_status status =
        url ? hub_ask(hub, &q, listing_prepare, 0, &reply, err) : error_memory(err, hub->name.id);
    if (status == SABOK_OK) status = listing_parse(out, &text, url, err);
    buf_free(&text);
    mem_free(url);
    return status;
}

void hub_listing_free(struct hub_listing *listing) {
    arena_free(&listing->arena);
    mem_free(listing->files);
}
