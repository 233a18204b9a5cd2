// The models a tokenizer.json may name.
#include "text/tokenizer.h"

#include <string.h>

static const struct model_kind *const model_kinds[] = {&model_wordpiece, &model_bpe, &model_unigram,
                                                       &model_wordlevel};

void pieces_free(struct pieces *p) {
    mem_free(p->items);
    mem_free(p->hashes);
    mem_free(p->space);
    *p = (struct pieces){0};
}

bool pieces_push(struct pieces *p, uint32_t piece, size_t begin, size_t end) {
    if (p->size == p->cap && !mem_grow((void **)&p->items, &p->cap, p->size + 1, sizeof *p->items))
        return false;
    p->items[p->size++] = (struct piece){piece, false, begin, end};
    return true;
}

void *pieces_space(struct pieces *p, size_t n, size_t size) {
    size_t bytes;
    if (!mul_ok(size_max(n, 1), size, &bytes)) return NULL;
    if (bytes > p->space_cap && !mem_grow((void **)&p->space, &p->space_cap, bytes, 1)) return NULL;
    return p->space;
}

bool pieces_hash(struct pieces *p, const char *word, size_t size) {
    if (size + 1 > p->hash_cap && !mem_grow((void **)&p->hashes, &p->hash_cap, size + 1, sizeof *p->hashes))
        return false;
    vocab_hash(word, size, p->hashes);
    return true;
}

bool model_read_vocab(struct json *j, struct model *m) {
    struct vocab *v = &m->vocab;
    struct json_text key;
    if (v->count) return json_fail(j, "a second \"vocab\"");
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        uint64_t id;
        json_peek(j);
        const size_t at = j->at;
        if (!json_u64(j, &id)) return false;
        if (id > INT32_MAX) {
            j->at = at;
            return json_fail(j, "\"vocab\": id %llu of \"%.*s\", expected at most %d", (unsigned long long)id,
                             text_shown(key), key.data, INT32_MAX);
        }
        if (!vocab_add(v, key, (uint32_t)id, at)) return read_memory(j);
    }
    return !j->failed;
}

sabok_status model_build_vocab(struct model *m, const char *where, sabok_error *err) {
    struct vocab *v = &m->vocab;
    uint32_t twice, same_id;
    if (!vocab_build(v, &twice, &same_id)) return error_memory(err, where);
    if (twice != NO_PIECE)
        return error_at(err, SABOK_EFORMAT, where, v->pieces[twice].at,
                        "\"%.100s\" is in the vocabulary a second time, expected once", vocab_text(v, twice));
    if (same_id != NO_PIECE)
        return error_at(err, SABOK_EFORMAT, where, v->pieces[same_id].at,
                        "\"%.100s\" has id %u, as an earlier piece has, expected an id of its own",
                        vocab_text(v, same_id), v->pieces[same_id].id);
    return SABOK_OK;
}

void model_find_bytes(const struct vocab *v, uint32_t bytes[256]) {
    for (unsigned b = 0; b < 256; b++) {
        char text[8];
        const int n = snprintf(text, sizeof text, "<0x%02X>", b);
        bytes[b] = vocab_find(v, text, (size_t)n);
    }
}

// Files of before the type was written: a model is known by its fields.
static struct json_text guess_type(struct json ahead) {
    struct json_text key;
    const char *type = "WordLevel";
    for (bool ok = json_object_begin(&ahead); ok && json_key(&ahead, &key); ok = json_skip(&ahead)) {
        if (json_text_is(key, "merges")) type = "BPE";
        if (json_text_is(key, "max_input_chars_per_word")) type = "WordPiece";
        if (json_text_is(key, "vocab") && json_peek(&ahead) == JSON_ARRAY) type = "Unigram";
    }
    return (struct json_text){type, strlen(type)};
}

bool model_read(struct json *j, struct model *m, struct arena *arena) {
    struct json_text type;
    size_t at;
    if (!object_type(j, &type, &at)) return false;
    if (type.size == 0) type = guess_type(*j);
    for (size_t i = 0; i < COUNT(model_kinds); i++)
        if (json_text_is(type, model_kinds[i]->name)) {
            m->kind = model_kinds[i];
            return m->kind->read(j, m, arena);
        }
    j->at = at;
    return json_fail(j, "model \"%.*s\" is not supported, expected WordPiece, BPE, Unigram or WordLevel",
                     text_shown(type), type.data);
}

void model_free(struct model *m) {
    if (m->kind) m->kind->free(m);
    vocab_free(&m->vocab);
}
