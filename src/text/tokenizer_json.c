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
        return decoder_read(j, &tok->decoder, &tok->arena);
    case MODEL:
        return model_read(j, &tok->model, &tok->arena);
    default:
        return json_skip(j);
    }
}

static sabok_status read_sections(struct sabok_tokenizer *tok, const char *text, size_t size, bool whole,
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
    if (ok && whole && !j.failed && !(found >> MODEL & 1))
        json_fail(&j, "no \"model\" in the file, expected one");
    if (ok && !j.failed) json_end(&j);
    return ok && !j.failed ? SABOK_OK : err->code;
}

sabok_status tokenizer_read_json(struct sabok_tokenizer *tok, const char *text, size_t size,
                                 sabok_error *err) {
    return read_sections(tok, text, size, true, err);
}

sabok_status tokenizer_read_steps(struct sabok_tokenizer *tok, const char *text, size_t size,
                                  sabok_error *err) {
    return read_sections(tok, text, size, false, err);
}
