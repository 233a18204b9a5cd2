// The models a tokenizer.json may name.
#include "text/tokenizer.h"

static const struct model_kind *const model_kinds[] = {&model_wordpiece};

void pieces_free(struct pieces *p) {
    mem_free(p->items);
    mem_free(p->hashes);
    *p = (struct pieces){0};
}

bool pieces_push(struct pieces *p, uint32_t piece, size_t begin, size_t end) {
    if (p->size == p->cap && !mem_grow((void **)&p->items, &p->cap, p->size + 1, sizeof *p->items))
        return false;
    p->items[p->size++] = (struct piece){piece, begin, end};
    return true;
}

bool model_read(struct json *j, struct model *m, struct arena *arena) {
    struct json_text type;
    size_t at;
    if (!object_type(j, &type, &at)) return false;
    // Files of before the type was written hold WordPiece when they have its fields.
    if (type.size == 0) type = (struct json_text){"WordPiece", 9};
    for (size_t i = 0; i < COUNT(model_kinds); i++)
        if (json_text_is(type, model_kinds[i]->name)) {
            m->kind = model_kinds[i];
            return m->kind->read(j, m, arena);
        }
    j->at = at;
    return json_fail(j, "model \"%.*s\" is not supported, expected WordPiece", text_shown(type), type.data);
}

void model_free(struct model *m) {
    if (m->kind) m->kind->free(m);
    vocab_free(&m->vocab);
}
