// Reading tokenizer.json.
#include "text/tokenizer.h"

enum section {
    VERSION,
    TRUNCATION,
    PADDING,
    ADDED,
    NORMALIZER,
    PRETOKENIZER,
    POSTPROCESSOR,
    DECODER,
    MODEL,
    OTHER
};
static const char *const section_names[] = {"version",        "truncation", "padding",
                                            "added_tokens",   "normalizer", "pre_tokenizer",
                                            "post_processor", "decoder",    "model"};

static bool read_version(struct json *j) {
    struct json_text text;
    json_peek(j);
    const size_t at = j->at;
    if (!json_string(j, &text)) return false;
    if (json_text_is(text, "1.0")) return true;
    j->at = at;
    return json_fail(j, "version \"%.*s\", expected \"1.0\"", text_shown(text), text.data);
}

// Kept for decoding; nothing here depends on it yet.
static bool read_decoder(struct json *j, struct decoder *d, struct arena *arena) {
    if (json_peek(j) == JSON_NULL) return json_null(j);
    struct json_text type, key, prefix = {"##", 2};
    size_t at;
    if (!object_type(j, &type, &at)) return false;
    if (!json_text_is(type, "WordPiece")) {
        j->at = at;
        return json_fail(j, "decoder \"%.*s\" is not supported, expected WordPiece", text_shown(type),
                         type.data ? type.data : "");
    }
    d->given = true;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool ok = json_text_is(key, "prefix")    ? json_string(j, &prefix)
                        : json_text_is(key, "cleanup") ? json_bool(j, &d->cleanup)
                                                       : json_skip(j);
        if (!ok) return false;
    }
    d->prefix = j->failed ? NULL : arena_copy(arena, prefix.data, prefix.size);
    return j->failed ? false : d->prefix || read_memory(j);
}

static bool read_section(struct json *j, struct sabok_tokenizer *tok, enum section s) {
    switch (s) {
    case VERSION:
        return read_version(j);
    case TRUNCATION:
        return truncation_read(j, &tok->truncation);
    case PADDING:
        return padding_read(j, &tok->padding, &tok->arena);
    case ADDED:
        return added_read(j, &tok->added, &tok->arena);
    case NORMALIZER:
        return normalizer_read(j, &tok->normalizer, &tok->arena);
    case PRETOKENIZER:
        return pretokenizer_read(j, &tok->pretokenizer);
    case POSTPROCESSOR:
        return postprocessor_read(j, &tok->post, &tok->arena);
    case DECODER:
        return read_decoder(j, &tok->decoder, &tok->arena);
    case MODEL:
        return model_read(j, &tok->model, &tok->arena);
    default:
        return json_skip(j);
    }
}

sabok_status tokenizer_read_json(struct sabok_tokenizer *tok, const char *text, size_t size,
                                 sabok_error *err) {
    sabok_error local = {0};
    if (!err) err = &local;
    struct json j;
    struct json_text key;
    unsigned found = 0;
    json_init(&j, text, size, tok->path, &tok->arena, err);
    bool ok = json_object_begin(&j);
    while (ok && json_key(&j, &key)) {
        enum section s = 0;
        while (s < OTHER && !json_text_is(key, section_names[s]))
            s++;
        if (s < OTHER && (found >> s & 1)) ok = json_fail(&j, "a second \"%s\"", section_names[s]);
        found |= 1u << s;
        ok = ok && read_section(&j, tok, s);
    }
    if (ok && !j.failed && !(found >> MODEL & 1)) json_fail(&j, "no \"model\" in the file, expected one");
    if (ok && !j.failed) json_end(&j);
    return ok && !j.failed ? SABOK_OK : err->code;
}
