// sabok_pull against a hub on this machine: what is fetched, where it is put, what is asked, and every way to fail.
#include "file/hub.h"

#include "base/check.h"
#include "base/folder.h"
#include "file/hub_server.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define OTHER_COMMIT "89abcdef0123456789abcdef0123456789abcdef"
#define ID "org/tiny"
#define WEIGHTS 300000
#define STORAGE "hub/models--org--tiny"

static const struct hub_pace pace = {.wait_ms = 1, .stall_s = 10};
static struct hub_server server;
static struct folder home;
static uint8_t weights[WEIGHTS];

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st, (void)kind, (void)where;
    return remove(path);
}

static const char *place(const char *name) {
    static char path[8][FOLDER_PATH];
    static unsigned next;
    return folder_join(&home, name, path[next++ % 8]);
}

static int start(void **state) {
    (void)state;
    static const char *const unset[] = {
        "HF_TOKEN",      "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH",
        "HF_HUB_CACHE",  "HUGGINGFACE_HUB_CACHE",  "HF_HUB_OFFLINE",
        "SABOK_LIBCURL", "TRANSFORMERS_OFFLINE",   "HF_HUB_DISABLE_IMPLICIT_TOKEN"};
    for (size_t i = 0; i < COUNT(unset); i++)
        unsetenv(unset[i]);
    setenv("no_proxy", "*", 1);
    folder_make(&home);
    setenv("HF_HOME", home.path, 1);
    for (size_t i = 0; i < WEIGHTS; i++)
        weights[i] = (uint8_t)(i * 7 + i / 256);
    server_start(&server, ID, COMMIT);
    server_put(&server, "README.md", "hello", 5, false);
    server_put(&server, "config.json", "{}", 2, false);
    server_put(&server, "modules.json", "[]", 2, false);
    server_put(&server, "1_Pooling/config.json", "{\"a\": 1}", 8, false);
    server_put(&server, "model.safetensors", weights, WEIGHTS, true);
    server_put(&server, "pytorch_model.bin", weights, 1000, true);
    server_put(&server, "onnx/model.onnx", weights, 500, true);
    server_put(&server, "vocab.txt", "", 0, false);
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%u/", server.ports[0]);
    setenv("HF_ENDPOINT", endpoint, 1);
    return 0;
}

static int finish(void **state) {
    (void)state;
    server_stop(&server);
    assert_int_equal(nftw(home.path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

// ---- asking and looking

static char *pull_with(const sabok_pull_opts *opts, sabok_error *err) {
    return pull_model(ID, opts, &pace, err);
}

static void pull_ok(void) {
    sabok_error err = {0};
    char *folder = pull_with(&(sabok_pull_opts){0}, &err);
    if (!folder) fail_msg("%s", err.message);
    assert_string_equal(folder, place(STORAGE "/snapshots/" COMMIT));
    sabok_text_free(folder);
}

static void pull_fails(sabok_status code, const char *text) {
    sabok_error err = {0};
    char *folder = pull_with(&(sabok_pull_opts){0}, &err);
    assert_null(folder);
    if (!strstr(err.message, text)) fail_msg("found \"%s\", expected \"%s\" in it", err.message, text);
    assert_int_equal(err.code, code);
}

static void fault(const struct fault *f) {
    for (size_t i = 0; i < FAULT_MAX; i++)
        if (!server.faults[i].on) {
            server.faults[i] = *f;
            return;
        }
    fail_msg("too many faults");
}

// How many requests held the text, and the last of them.
static size_t asked(const char *text, struct seen *last) {
    size_t n = 0;
    pthread_mutex_lock(&server.lock);
    for (size_t i = 0; i < server.seen_count; i++)
        if (strstr(server.seen[i].line, text)) {
            n++;
            if (last) *last = server.seen[i];
        }
    pthread_mutex_unlock(&server.lock);
    return n;
}

static void forget(void) {
    pthread_mutex_lock(&server.lock);
    server.seen_count = 0;
    pthread_mutex_unlock(&server.lock);
}

static void holds(const char *path, const void *data, size_t n) {
    char *text;
    size_t size;
    sabok_error err = {0};
    if (file_read(path, 1 << 20, &text, &size, &err) != SABOK_OK) fail_msg("%s", err.message);
    assert_int_equal(size, n);
    assert_memory_equal(text, data, n);
    mem_free(text);
}

static void leads_to(const char *path, const char *target) {
    char text[FOLDER_PATH];
    const ssize_t n = readlink(path, text, sizeof text - 1);
    if (n < 0) fail_msg("%s: no link", path);
    text[n] = '\0';
    assert_string_equal(text, target);
}

static const struct served *served(const char *path) {
    return server_find(&server, path, strlen(path));
}

static const char *blob(const char *path, const char *end) {
    char name[256];
    snprintf(name, sizeof name, STORAGE "/blobs/%s%s", served(path)->etag, end);
    return place(name);
}

static void write_file(const char *path, const void *data, size_t n) {
    sabok_error err = {0};
    assert_int_equal(pull_make_parents(path, &err), SABOK_OK);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

// ---- what is fetched, and where to

static void fetches_what_is_read(void **state) {
    (void)state;
    pull_ok();
    holds(place(STORAGE "/snapshots/" COMMIT "/config.json"), "{}", 2);
    holds(place(STORAGE "/snapshots/" COMMIT "/vocab.txt"), "", 0);
    holds(place(STORAGE "/snapshots/" COMMIT "/1_Pooling/config.json"), "{\"a\": 1}", 8);
    holds(place(STORAGE "/snapshots/" COMMIT "/model.safetensors"), weights, WEIGHTS);
    holds(place(STORAGE "/refs/main"), COMMIT, 40);
    char target[256];
    snprintf(target, sizeof target, "../../blobs/%s", served("model.safetensors")->sha256);
    leads_to(place(STORAGE "/snapshots/" COMMIT "/model.safetensors"), target);
    snprintf(target, sizeof target, "../../../blobs/%s", served("1_Pooling/config.json")->etag);
    leads_to(place(STORAGE "/snapshots/" COMMIT "/1_Pooling/config.json"), target);
    static const char *const absent[] = {"README.md", "pytorch_model.bin", "onnx"};
    for (size_t i = 0; i < COUNT(absent); i++) {
        char name[256];
        snprintf(name, sizeof name, STORAGE "/snapshots/" COMMIT "/%s", absent[i]);
        assert_false(file_exists(place(name)));
    }
    assert_false(file_exists(blob("model.safetensors", ".incomplete")));
    // The second time only the list is asked for.
    forget();
    pull_ok();
    assert_int_equal(server.seen_count, 1);
    assert_int_equal(asked("GET /api/models/org/tiny/revision/main?blobs=true", NULL), 1);
}

static void a_blob_is_fetched_once(void **state) {
    (void)state;
    pull_ok();
    forget();
    snprintf(server.commit, sizeof server.commit, OTHER_COMMIT);
    sabok_error err = {0};
    char *folder = pull_with(&(sabok_pull_opts){.revision = "v1"}, &err);
    assert_non_null(folder);
    sabok_text_free(folder);
    assert_int_equal(asked("GET /store", NULL), 0);
    assert_int_equal(asked("HEAD ", NULL), 5);
    holds(place(STORAGE "/snapshots/" OTHER_COMMIT "/model.safetensors"), weights, WEIGHTS);
    holds(place(STORAGE "/refs/v1"), OTHER_COMMIT, 40);
    holds(place(STORAGE "/refs/main"), COMMIT, 40);
}

static void revisions(void **state) {
    (void)state;
    static const struct {
        const char *id, *revision, *asked, *ref;
    } cases[] = {
        {ID "@v1", NULL, "/revision/v1?", STORAGE "/refs/v1"},
        {ID "@v2", "v1", "/revision/v1?", STORAGE "/refs/v1"},
        {ID "@refs/pr/1", NULL, "/revision/refs%2Fpr%2F1?", STORAGE "/refs/refs/pr/1"},
        {ID "@" COMMIT, NULL, "/revision/" COMMIT "?", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        sabok_error err = {0};
        forget();
        char *folder =
            pull_model(cases[i].id, &(sabok_pull_opts){.revision = cases[i].revision}, &pace, &err);
        if (!folder) fail_msg("%s", err.message);
        sabok_text_free(folder);
        assert_int_equal(asked(cases[i].asked, NULL), 1);
        if (cases[i].ref) holds(place(cases[i].ref), COMMIT, 40);
    }
    assert_false(file_exists(place(STORAGE "/refs/" COMMIT)));
    static const char *const wrong[] = {"", "../x", "a//b", "/a", "a/../b", ".a", "a b", "a\\b", "a/"};
    for (size_t i = 0; i < COUNT(wrong); i++) {
        sabok_error err = {0};
        assert_null(pull_with(&(sabok_pull_opts){.revision = wrong[i]}, &err));
        assert_int_equal(err.code, SABOK_EINVAL);
    }
}

static void names(void **state) {
    (void)state;
    struct hub_name name;
    static const char *const right[] = {
        "a", "bert-base-uncased", "org/name", "Org_1/a.b-c_d", "org/name@v1.0", "org/name@refs/pr/1"};
    static const char *const wrong[] = {"",       "/a",  "a/",     "a/b/c", "./a",        "../a",      "a--b",
                                        "a..b",   "-a",  "a-",     ".a",    "a b",        "org/na%me", "a@",
                                        "a@../b", "@v1", "a/b@/c", "a\\b",  "caf\xC3\xA9"};
    for (size_t i = 0; i < COUNT(right); i++)
        if (!hub_name_parse(right[i], &name)) fail_msg("refused: %s", right[i]);
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (hub_name_parse(wrong[i], &name)) fail_msg("taken: %s", wrong[i]);
    char longest[HUB_ID + 8];
    memset(longest, 'a', sizeof longest);
    longest[96] = '\0';
    assert_true(hub_name_parse(longest, &name));
    longest[96] = 'a', longest[97] = '\0';
    assert_false(hub_name_parse(longest, &name));
    assert_true(hub_name_parse("org/name@v1", &name));
    assert_string_equal(name.id, "org/name");
    assert_string_equal(name.revision, "v1");
    assert_true(hub_name_parse("name", &name));
    assert_string_equal(name.revision, "main");
}

static void choices(void **state) {
    (void)state;
    static const struct {
        const char *files, *include, *exclude, *chosen;
    } cases[] = {
        {"config.json README.md model.safetensors pytorch_model.bin tf_model.h5", NULL, NULL,
         "config.json model.safetensors"},
        {"config.json pytorch_model.bin", NULL, NULL, "config.json pytorch_model.bin"},
        {"model.safetensors.index.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors "
         "pytorch_model-00001-of-00001.bin pytorch_model.bin.index.json",
         NULL, NULL,
         "model.safetensors.index.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors"},
        {"2_Dense/config.json 2_Dense/pytorch_model.bin model.safetensors x/config.json 1_A/b/config.json",
         NULL, NULL, "2_Dense/config.json 2_Dense/pytorch_model.bin model.safetensors"},
        {"sentence_bert_config.json spiece.model sentencepiece.bpe.model merges.txt vocab.json my_model.bin",
         NULL, NULL, "sentence_bert_config.json spiece.model sentencepiece.bpe.model merges.txt vocab.json"},
        {"onnx/a.json onnx/b.onnx config.json", "onnx/*.json", NULL, "onnx/a.json"},
        {"onnx/x/a.json onnx/b.onnx config.json", "onnx/", NULL, "onnx/x/a.json onnx/b.onnx"},
        {"a.json b.json c.txt", "*", "b*", "a.json c.txt"},
        {"config.json vocab.txt", NULL, "vocab.*", "config.json"},
        {"README.md", NULL, NULL, NULL},
        {"config.json", "x", NULL, NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[512], chosen[512] = "";
        snprintf(text, sizeof text, "%s", cases[i].files);
        struct hub_file files[8] = {0};
        struct hub_listing listing = {.files = files};
        for (char *save, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
            files[listing.count++].path = word;
        const sabok_pull_opts opts = {.include = &cases[i].include,
                                      .include_count = cases[i].include != NULL,
                                      .exclude = &cases[i].exclude,
                                      .exclude_count = cases[i].exclude != NULL};
        sabok_error err = {0};
        const sabok_status status = pull_choose(&listing, &opts, ID, &err);
        assert_int_equal(status, cases[i].chosen ? SABOK_OK : SABOK_ENOTFOUND);
        for (size_t f = 0; f < listing.count; f++)
            if (files[f].wanted) {
                if (*chosen) strcat(chosen, " ");
                strcat(chosen, files[f].path);
            }
        assert_string_equal(chosen, cases[i].chosen ? cases[i].chosen : "");
    }
}

// ---- downloads that are cut

static void goes_on_within_a_call(void **state) {
    (void)state;
    fault(&(struct fault){.on = "GET /store/model", .times = 1, .cuts = true, .cut = 100000});
    fault(&(struct fault){.on = "GET /store/model", .times = 1, .cuts = true, .cut = 50000});
    pull_ok();
    struct seen last;
    assert_int_equal(asked("GET /store/model", &last), 3);
    assert_string_equal(last.range, "bytes=150000-");
    holds(blob("model.safetensors", ""), weights, WEIGHTS);
}

static void goes_on_in_the_next_call(void **state) {
    (void)state;
    fault(&(struct fault){.on = "GET /store/model", .times = 1, .cuts = true, .cut = 100000});
    fault(&(struct fault){.on = "GET /store/model", .times = 1, .status = 403});
    pull_fails(SABOK_EIO, "status 403");
    holds(blob("model.safetensors", ".incomplete"), weights, 100000);
    assert_false(file_exists(place(STORAGE "/refs/main")));
    forget();
    pull_ok();
    struct seen last;
    assert_int_equal(asked("GET /store/model", &last), 1);
    assert_string_equal(last.range, "bytes=100000-");
}

// However often the connection ends, as long as each brings something.
static void many_cuts(void **state) {
    (void)state;
    fault(&(struct fault){.on = "GET /store/model", .times = 20, .cuts = true, .cut = 10000});
    pull_ok();
    assert_int_equal(asked("GET /store/model", NULL), 21);
}

static void a_connection_that_brings_nothing(void **state) {
    (void)state;
    fault(&(struct fault){.on = "GET /store/model", .times = 100, .cuts = true, .cut = 0});
    pull_fails(SABOK_EIO, "/model.safetensors");
    assert_int_equal(asked("GET /store/model", NULL), 5);
    // Nor one that always gives the same bytes.
    server.faults[0] =
        (struct fault){.on = "GET /store/model", .times = 100, .cuts = true, .cut = 9, .whole = true};
    forget();
    pull_fails(SABOK_EIO, "/model.safetensors");
    assert_int_equal(asked("GET /store/model", NULL), 6);
}

static void a_server_without_ranges(void **state) {
    (void)state;
    write_file(blob("model.safetensors", ".incomplete"), "xxxxx", 5);
    fault(&(struct fault){.on = "GET /store/model", .times = 1, .whole = true});
    pull_ok();
    struct seen last;
    assert_int_equal(asked("GET /store/model", &last), 1);
    assert_string_equal(last.range, "bytes=5-");
    holds(blob("model.safetensors", ""), weights, WEIGHTS);
}

static void another_range_than_asked(void **state) {
    (void)state;
    write_file(blob("model.safetensors", ".incomplete"), weights, 5);
    fault(&(struct fault){.on = "GET /store/model", .times = 1, .shifted = true});
    pull_fails(SABOK_EFORMAT, "another part");
    pull_ok();
}

static void held_already(void **state) {
    (void)state;
    static const struct {
        size_t held;
        bool right;
        size_t asked;
    } cases[] = {{WEIGHTS, true, 0}, {WEIGHTS + 1, true, 1}, {0, true, 1}, {WEIGHTS, false, 0}};
    uint8_t *bytes = malloc(WEIGHTS + 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        memcpy(bytes, weights, WEIGHTS);
        bytes[WEIGHTS] = 0;
        if (!cases[i].right) bytes[WEIGHTS / 2] ^= 1;
        write_file(blob("model.safetensors", ".incomplete"), bytes, cases[i].held);
        forget();
        if (cases[i].right)
            pull_ok();
        else
            pull_fails(SABOK_EFORMAT, "sha256");
        assert_int_equal(asked("GET /store/model", NULL), cases[i].asked);
        assert_false(file_exists(blob("model.safetensors", ".incomplete")));
        if (cases[i].right) holds(blob("model.safetensors", ""), weights, WEIGHTS);
        unlink(blob("model.safetensors", ""));
        unlink(place(STORAGE "/snapshots/" COMMIT "/model.safetensors"));
    }
    free(bytes);
}

static void a_stalled_connection(void **state) {
    (void)state;
    fault(&(struct fault){.on = "GET /store/model", .times = 1, .delay_ms = 3000});
    sabok_error err = {0};
    char *folder =
        pull_model(ID, &(sabok_pull_opts){0}, &(struct hub_pace){.wait_ms = 1, .stall_s = 1}, &err);
    if (!folder) fail_msg("%s", err.message);
    sabok_text_free(folder);
    assert_int_equal(asked("GET /store/model", NULL), 2);
}

// ---- bytes and words that are wrong

static void wrong_bytes(void **state) {
    (void)state;
    fault(&(struct fault){.on = "GET /store/model", .times = 1, .wrong = true});
    pull_fails(SABOK_EFORMAT, "model.safetensors: received bytes of sha256");
    assert_false(file_exists(blob("model.safetensors", "")));
    assert_false(file_exists(blob("model.safetensors", ".incomplete")));
    assert_false(file_exists(place(STORAGE "/snapshots/" COMMIT "/model.safetensors")));
    assert_false(file_exists(place(STORAGE "/refs/main")));
    pull_ok();
}

static void a_damaged_cache_is_mended(void **state) {
    (void)state;
    pull_ok();
    assert_int_equal(truncate(blob("model.safetensors", ""), 10), 0);
    assert_int_equal(unlink(place(STORAGE "/snapshots/" COMMIT "/config.json")), 0);
    assert_int_equal(symlink("nowhere", place(STORAGE "/snapshots/" COMMIT "/config.json")), 0);
    pull_ok();
    holds(place(STORAGE "/snapshots/" COMMIT "/model.safetensors"), weights, WEIGHTS);
    holds(place(STORAGE "/snapshots/" COMMIT "/config.json"), "{}", 2);
}

static void lists_that_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *files, *text;
    } cases[] = {
        {"{\"rfilename\": \"../evil\"}", "'../evil'"},
        {"{\"rfilename\": \"/tmp/evil\"}", "'/tmp/evil'"},
        {"{\"rfilename\": \"a/../../evil\"}", "'a/../../evil'"},
        {"{\"rfilename\": \"a\\\\evil\"}", "'a\\evil'"},
        {"{\"rfilename\": \"a/./evil\"}", "'a/./evil'"},
        {"{\"rfilename\": \"a//evil\"}", "'a//evil'"},
        {"{\"rfilename\": \"evil/\"}", "'evil/'"},
        {"{\"rfilename\": \"..\"}", "'..'"},
        {"{\"rfilename\": \"\"}", "''"},
        {"{\"rfilename\": \"a\\u0000b\"}", "expected a path"},
        {"{\"rfilename\": \"a\\nb\"}", "expected a path"},
        {"{\"rfilename\": 1}", "byte"},
        {"{\"size\": 1}", "expected 'rfilename'"},
        {"{\"rfilename\": \"config.json\", \"size\": -1}", "byte"},
        {"{\"rfilename\": \"config.json\", \"lfs\": {\"sha256\": \"../../x\"}}", "sha256"},
        {"1", "byte"},
        {"{\"rfilename\": \"config.json\", \"size\": 18446744073709551615}, "
         "{\"rfilename\": \"vocab.txt\", \"size\": 2}",
         "sizes"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[1024];
        snprintf(text, sizeof text, "{\"sha\": \"" COMMIT "\", \"siblings\": [%s]}", cases[i].files);
        server.listing = text;
        pull_fails(SABOK_EFORMAT, cases[i].text);
        assert_int_equal(folder_count(&home), 0);
    }
    static const char *const whole[] = {"",
                                        "{",
                                        "[]",
                                        "{}",
                                        "{\"sha\": \"main\"}",
                                        "{\"sha\": \"../../../../etc\"}",
                                        "{\"sha\": \"" COMMIT "\"} x",
                                        "<html>"};
    for (size_t i = 0; i < COUNT(whole); i++) {
        server.listing = whole[i];
        pull_fails(SABOK_EFORMAT, "/api/models/org/tiny/revision/main");
    }
    server.listing = "{\"sha\": \"" COMMIT "\", \"siblings\": []}";
    pull_fails(SABOK_ENOTFOUND, "none of its 0 files");
}

static void etags_that_are_refused(void **state) {
    (void)state;
    static const char *const etags[] = {"", "../../../evil", "a/b", ".", "..", "a b", "a.incomplete"};
    for (size_t i = 0; i < COUNT(etags); i++) {
        server.etag = etags[i];
        pull_fails(SABOK_EFORMAT, "etag");
    }
    server.etag = NULL;
    // Not the commit that the list was of: not a hub, or one that changes under us.
    server.listing = "{\"sha\": \"" OTHER_COMMIT "\", \"siblings\": [{\"rfilename\": \"config.json\"}]}";
    pull_fails(SABOK_EFORMAT, "X-Repo-Commit is '" COMMIT "'");
    // Another sha256 in the list than that of the bytes.
    char text[512];
    snprintf(text, sizeof text,
             "{\"sha\": \"" COMMIT
             "\", \"siblings\": [{\"rfilename\": \"model.safetensors\", \"lfs\": {\"sha256\": "
             "\"%s\"}}]}",
             served("pytorch_model.bin")->sha256);
    server.listing = text;
    pull_fails(SABOK_EFORMAT, "expected ");
}

// ---- refusals

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *on;
        unsigned status;
        const char *headers, *text;
        sabok_status code;
    } cases[] = {
        {"GET /api", 404, "X-Error-Code: RepoNotFound\r\n", "status 404, not found", SABOK_ENOTFOUND},
        {"GET /api", 404, "X-Error-Code: RevisionNotFound\r\n", "no revision 'main'", SABOK_ENOTFOUND},
        {"GET /api", 401, "X-Error-Code: RepoNotFound\r\n", "no token was sent (HF_TOKEN)", SABOK_EIO},
        {"GET /api", 403, "X-Error-Code: GatedRepo\r\n", "access is gated", SABOK_EIO},
        {"HEAD /org/tiny/resolve", 401, "X-Error-Code: GatedRepo\r\n", "/org/tiny, then set HF_TOKEN",
         SABOK_EIO},
        {"HEAD /org/tiny/resolve", 404, "X-Error-Message: gone\r\n", "status 404, not found: gone",
         SABOK_ENOTFOUND},
        {"GET /store", 410, "", "status 410", SABOK_EIO},
        {"GET /api", 302, "", "without saying where to", SABOK_EFORMAT},
        {"GET /api", 302, "Location: ftp://127.0.0.1/x\r\n", "ftp", SABOK_EIO},
        {"GET /api", 302, "Location: /api/models/org/tiny/revision/main\r\n", "more than 10 redirections",
         SABOK_EIO},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        server.faults[0] = (struct fault){
            .on = cases[i].on, .times = 100, .status = cases[i].status, .headers = cases[i].headers};
        forget();
        pull_fails(cases[i].code, cases[i].text);
        assert_int_equal(asked(cases[i].on, NULL), strstr(cases[i].text, "redirections") ? 11 : 1);
    }
}

static void tries_again(void **state) {
    (void)state;
    static const unsigned statuses[] = {408, 429, 500, 502, 503, 504};
    for (size_t i = 0; i < COUNT(statuses); i++) {
        server.faults[0] = (struct fault){.on = "GET /api", .times = 2, .status = statuses[i]};
        forget();
        pull_ok();
        assert_int_equal(asked("GET /api", NULL), 3);
        server.faults[0].times = 100;
        forget();
        pull_fails(SABOK_EIO, "status ");
        assert_int_equal(asked("GET /api", NULL), 5);
    }
    // A hub that is not there at all is said at once.
    setenv("HF_ENDPOINT", "http://127.0.0.1:1", 1);
    const double begin = clock_seconds();
    sabok_error err = {0};
    assert_null(sabok_pull(ID, NULL, &err));
    assert_non_null(strstr(err.message, "127.0.0.1"));
    assert_true(clock_seconds() - begin < 0.9);
}

// ---- tokens

static void the_token_goes_to_the_hub_alone(void **state) {
    (void)state;
    server.token = "hf_secret";
    pull_fails(SABOK_EIO, "no token was sent");
    setenv("HF_TOKEN", "hf_other", 1);
    pull_fails(SABOK_EIO, "the token sent does not open it");
    setenv("HF_TOKEN", " hf_secret\n", 1);
    forget();
    pull_ok();
    size_t store = 0;
    for (size_t i = 0; i < server.seen_count; i++) {
        assert_string_equal(server.seen[i].token, server.seen[i].store ? "" : "Bearer hf_secret");
        store += server.seen[i].store;
    }
    assert_int_equal(store, 1);
}

static void tokens_of_files(void **state) {
    (void)state;
    server.token = "hf_secret";
    write_file(place("token"), "hf_secret\n", 10);
    pull_ok();
    setenv("HF_TOKEN_PATH", place("other"), 1);
    pull_fails(SABOK_EIO, "no token was sent");
    write_file(place("other"), "hf_secret", 9);
    pull_ok();
    setenv("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1", 1);
    pull_fails(SABOK_EIO, "no token was sent");
    unsetenv("HF_HUB_DISABLE_IMPLICIT_TOKEN");
    setenv("HF_TOKEN", "a\r\nX-Evil: 1", 1);
    forget();
    pull_fails(SABOK_EFORMAT, "HF_TOKEN");
    assert_int_equal(server.seen_count, 0);
}

// ---- without a network

static void offline(void **state) {
    (void)state;
    setenv("HF_HUB_OFFLINE", "1", 1);
    pull_fails(SABOK_ENOTFOUND, "HF_HUB_OFFLINE is set");
    unsetenv("HF_HUB_OFFLINE");
    pull_ok();
    setenv("HF_HUB_OFFLINE", "yes", 1);
    forget();
    pull_ok();
    sabok_error err = {0};
    assert_null(pull_with(&(sabok_pull_opts){.local_dir = place("out")}, &err));
    assert_int_equal(server.seen_count, 0);
}

static void wrong_settings(void **state) {
    (void)state;
    setenv("SABOK_LIBCURL", "/nowhere/libcurl.so", 1);
    pull_fails(SABOK_ENOTFOUND, "/nowhere/libcurl.so");
    setenv("SABOK_LIBCURL", "libm.so.6", 1);
    pull_fails(SABOK_EUNSUPPORTED, "curl_global_init");
    unsetenv("SABOK_LIBCURL");
    setenv("HF_ENDPOINT", "file:///etc", 1);
    pull_fails(SABOK_EINVAL, "file:///etc");
    sabok_error err = {0};
    static const char *const ids[] = {NULL, "", "a/b/c", "../x", "a b"};
    for (size_t i = 0; i < COUNT(ids); i++) {
        assert_null(sabok_pull(ids[i], NULL, &err));
        assert_int_equal(err.code, SABOK_EINVAL);
    }
}

// ---- a folder of the caller's

static void into_a_folder(void **state) {
    (void)state;
    const sabok_pull_opts opts = {.local_dir = place("out/deep")};
    sabok_error err = {0};
    for (int i = 0; i < 2; i++) {
        char *folder = pull_with(&opts, &err);
        if (!folder) fail_msg("%s", err.message);
        assert_string_equal(folder, opts.local_dir);
        sabok_text_free(folder);
        if (i == 0) forget();
    }
    assert_int_equal(server.seen_count, 1);
    struct stat st;
    assert_int_equal(lstat(place("out/deep/model.safetensors"), &st), 0);
    assert_true(S_ISREG(st.st_mode));
    holds(place("out/deep/model.safetensors"), weights, WEIGHTS);
    holds(place("out/deep/1_Pooling/config.json"), "{\"a\": 1}", 8);
    assert_false(file_exists(place("hub")));
    char *note, wanted[128];
    size_t n;
    assert_int_equal(
        file_read(place("out/deep/.cache/huggingface/download/config.json.metadata"), 1000, &note, &n, &err),
        SABOK_OK);
    snprintf(wanted, sizeof wanted, COMMIT "\n%s\n", served("config.json")->etag);
    assert_memory_equal(note, wanted, strlen(wanted));
    mem_free(note);
    // Another commit with the same files: the etags say so.
    snprintf(server.commit, sizeof server.commit, OTHER_COMMIT);
    forget();
    sabok_text_free(pull_with(&opts, &err));
    assert_int_equal(asked("GET /store", NULL) + asked("GET /org", NULL), 0);
    // A file that was changed, later than its note says, is fetched again.
    write_file(place("out/deep/config.json"), "[1]", 3);
    const struct timespec later[2] = {{.tv_sec = time(NULL) + 60}, {.tv_sec = time(NULL) + 60}};
    assert_int_equal(utimensat(AT_FDCWD, place("out/deep/config.json"), later, 0), 0);
    sabok_text_free(pull_with(&opts, &err));
    holds(place("out/deep/config.json"), "{}", 2);
}

// ---- several at once, and stopping

static void *pull_beside(void *ctx) {
    sabok_error *err = ctx;
    char *folder = pull_with(&(sabok_pull_opts){0}, err);
    const bool pulled = folder != NULL;
    sabok_text_free(folder);
    return pulled ? ctx : NULL;
}

static void several_at_once(void **state) {
    (void)state;
    pthread_t threads[4];
    sabok_error errs[4] = {0};
    fault(&(struct fault){.on = "GET /store/model", .times = 100, .delay_ms = 10});
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pull_beside, &errs[i]), 0);
    for (size_t i = 0; i < COUNT(threads); i++) {
        void *pulled;
        pthread_join(threads[i], &pulled);
        if (!pulled) fail_msg("%s", errs[i].message);
    }
    assert_int_equal(asked("GET /store/model", NULL), 1);
    holds(place(STORAGE "/snapshots/" COMMIT "/model.safetensors"), weights, WEIGHTS);
}

struct told {
    uint64_t most, total;
    uint64_t stop_at;
};

static int told(void *ctx, const char *file, uint64_t done, uint64_t total) {
    struct told *t = ctx;
    (void)file;
    if (done > t->most) t->most = done;
    t->total = total;
    return t->stop_at && done >= t->stop_at;
}

static void stopping_and_progress(void **state) {
    (void)state;
    struct told t = {.stop_at = 100000};
    sabok_error err = {0};
    fault(&(struct fault){.on = "GET /store/model", .times = 1, .delay_ms = 20});
    assert_null(pull_with(&(sabok_pull_opts){.progress = told, .ctx = &t}, &err));
    assert_int_equal(err.code, SABOK_ECANCELED);
    struct stat st;
    assert_int_equal(stat(blob("model.safetensors", ".incomplete"), &st), 0);
    assert_true(st.st_size > 0 && st.st_size < WEIGHTS);
    t = (struct told){0};
    forget();
    char *folder = pull_with(&(sabok_pull_opts){.progress = told, .ctx = &t}, &err);
    assert_non_null(folder);
    sabok_text_free(folder);
    assert_int_equal(t.total, 2 + 2 + 8 + WEIGHTS);
    assert_int_equal(t.most, t.total);
    struct seen last;
    assert_int_equal(asked("GET /store/model", &last), 1);
    assert_true(last.range[0]);
}

// ---- names instead of folders

static void finds(const char *path, const char *expected) {
    char *folder = NULL;
    sabok_error err = {0};
    if (hub_find(path, &folder, &err) != SABOK_OK) fail_msg("%s", err.message);
    assert_string_equal(folder, expected);
    mem_free(folder);
}

static void not_found(const char *path, sabok_status code, const char *text) {
    char *folder = NULL;
    sabok_error err = {0};
    assert_int_equal(hub_find(path, &folder, &err), code);
    if (!strstr(err.message, text)) fail_msg("found \"%s\", expected \"%s\" in it", err.message, text);
}

static void names_in_the_cache(void **state) {
    (void)state;
    not_found(ID, SABOK_ENOTFOUND, "`sabok pull org/tiny` fetches it");
    not_found(ID "@v1", SABOK_ENOTFOUND, "`sabok pull org/tiny@v1` fetches it");
    pull_ok();
    forget();
    char snapshot[FOLDER_PATH];
    folder_join(&home, STORAGE "/snapshots/" COMMIT, snapshot);
    finds(ID, snapshot);
    finds(ID "@main", snapshot);
    finds(ID "@" COMMIT, snapshot);
    not_found(ID "@v1", SABOK_ENOTFOUND, "no revision 'v1'");
    not_found(ID "@" OTHER_COMMIT, SABOK_ENOTFOUND, OTHER_COMMIT);
    finds("/nowhere/at/all", "/nowhere/at/all");
    finds("./" ID, "./" ID);
    write_file(place(STORAGE "/refs/v1"), COMMIT "\n", 41);
    finds(ID "@v1", snapshot);
    write_file(place(STORAGE "/refs/v1"), "../../../../etc", 15);
    not_found(ID "@v1", SABOK_EFORMAT, "expected a commit");
    // A folder of that name comes first.
    char before[FOLDER_PATH];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(home.path), 0);
    write_file(place(ID "/x"), "", 0);
    finds(ID, ID);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(server.seen_count, 0);
}

static void places_of_the_cache(void **state) {
    (void)state;
    static const struct {
        const char *hub, *old, *home, *xdg, *expected;
    } cases[] = {
        {"/a", "/b", "/c", "/d", "/a"},
        {NULL, "/b", "/c", "/d", "/b"},
        {NULL, NULL, "/c", "/d", "/c/hub"},
        {"", "", "", "/d", "/d/huggingface/hub"},
        {NULL, NULL, NULL, NULL, "/home/me/.cache/huggingface/hub"},
        {"~/x", NULL, NULL, NULL, "/home/me/x"},
        {"$HOME/${SABOK_NONE}x$", NULL, NULL, NULL, "/home/me/${SABOK_NONE}x$"},
        {NULL, NULL, "${HOME}y", NULL, "/home/mey/hub"},
    };
    char *home_before = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    setenv("HOME", "/home/me", 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *const values[][2] = {{"HF_HUB_CACHE", cases[i].hub},
                                         {"HUGGINGFACE_HUB_CACHE", cases[i].old},
                                         {"HF_HOME", cases[i].home},
                                         {"XDG_CACHE_HOME", cases[i].xdg}};
        for (size_t v = 0; v < COUNT(values); v++)
            values[v][1] ? setenv(values[v][0], values[v][1], 1) : unsetenv(values[v][0]);
        char *cache = hub_cache();
        assert_string_equal(cache, cases[i].expected);
        mem_free(cache);
    }
    home_before ? setenv("HOME", home_before, 1) : unsetenv("HOME");
    free(home_before);
    char *storage = hub_storage("/c", "org/name");
    assert_string_equal(storage, "/c/models--org--name");
    mem_free(storage);
}

// ---- short memory

// With the k-th allocation failing (0: none), into an empty cache.
static bool pull_short(uint64_t k) {
    const char *const include[] = {"config.json", "onnx/*"};
    const sabok_pull_opts opts = {.include = include, .include_count = 2};
    sabok_error err = {0};
    assert_int_equal(nftw(home.path, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
    assert_int_equal(mkdir(home.path, 0777), 0);
    mem_fail_at(k, false);
    char *folder = pull_with(&opts, &err);
    mem_fail_at(0, false);
    if (!folder) assert_int_not_equal(err.code, SABOK_OK);
    const bool pulled = folder != NULL;
    sabok_text_free(folder);
    return pulled;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const int64_t live = mem_live();
    const uint64_t before = mem_count();
    assert_true(pull_short(0));
    const uint64_t count = mem_count() - before;
    assert_true(count > 40);
    for (uint64_t k = 1; k <= count; k++) {
        if (pull_short(k))
            fail_msg("allocation %llu of %llu failed, and nobody noticed", (unsigned long long)k,
                     (unsigned long long)count);
        assert_int_equal(mem_live(), live);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fetches_what_is_read, start, finish),
        cmocka_unit_test_setup_teardown(a_blob_is_fetched_once, start, finish),
        cmocka_unit_test_setup_teardown(revisions, start, finish),
        cmocka_unit_test(names),
        cmocka_unit_test(choices),
        cmocka_unit_test_setup_teardown(goes_on_within_a_call, start, finish),
        cmocka_unit_test_setup_teardown(goes_on_in_the_next_call, start, finish),
        cmocka_unit_test_setup_teardown(many_cuts, start, finish),
        cmocka_unit_test_setup_teardown(a_connection_that_brings_nothing, start, finish),
        cmocka_unit_test_setup_teardown(a_server_without_ranges, start, finish),
        cmocka_unit_test_setup_teardown(another_range_than_asked, start, finish),
        cmocka_unit_test_setup_teardown(held_already, start, finish),
        cmocka_unit_test_setup_teardown(a_stalled_connection, start, finish),
        cmocka_unit_test_setup_teardown(wrong_bytes, start, finish),
        cmocka_unit_test_setup_teardown(a_damaged_cache_is_mended, start, finish),
        cmocka_unit_test_setup_teardown(lists_that_are_refused, start, finish),
        cmocka_unit_test_setup_teardown(etags_that_are_refused, start, finish),
        cmocka_unit_test_setup_teardown(refusals, start, finish),
        cmocka_unit_test_setup_teardown(tries_again, start, finish),
        cmocka_unit_test_setup_teardown(the_token_goes_to_the_hub_alone, start, finish),
        cmocka_unit_test_setup_teardown(tokens_of_files, start, finish),
        cmocka_unit_test_setup_teardown(offline, start, finish),
        cmocka_unit_test_setup_teardown(wrong_settings, start, finish),
        cmocka_unit_test_setup_teardown(into_a_folder, start, finish),
        cmocka_unit_test_setup_teardown(several_at_once, start, finish),
        cmocka_unit_test_setup_teardown(stopping_and_progress, start, finish),
        cmocka_unit_test_setup_teardown(names_in_the_cache, start, finish),
        cmocka_unit_test_setup_teardown(places_of_the_cache, start, finish),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, start, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
