// The ids of two texts together, for the tasks that compare them.
#include "text/tokenizer.h"

#include <string.h>

static bool put_part(struct token_ids *out, const struct token_ids *part, const struct truncation *cut,
                     size_t kept) {
    size_t begin, end;
    truncation_window(cut, part->size, kept, 0, &begin, &end);
    if (!token_ids_reserve(out, out->size + (end - begin))) return false;
    if (end > begin) memcpy(out->ids + out->size, part->ids + begin, (end - begin) * sizeof *out->ids);
    out->size += end - begin;
    return true;
}

bool tokenizer_encode_pair_ids(const sabok_tokenizer *tok, struct token_scratch *scratch,
                               const struct text_pair *pair, sabok_truncation truncation, size_t max_length,
                               struct token_ids *out) {
    const struct template *t = &tok->post.pair;
    struct token_ids *parts = scratch->pair;
    for (size_t i = 0; i < 2; i++) {
        parts[i].size = 0;
        const struct json_text text = {pair->text[i], pair->length[i]};
        if (!encode_ids(tok, scratch, text, SIZE_MAX, &parts[i])) return false;
    }
    const struct truncation cut = {
        .strategy = truncation, .max_length = max_length, .left = tok->truncation.left};
    struct kept kept = {parts[0].size, parts[1].size};
    const size_t room = max_length > t->specials ? max_length - t->specials : 0;
    if (truncation_share(&cut, parts[0].size, parts[1].size, true, room, &kept, NULL) != SABOK_OK)
        kept = (struct kept){parts[0].size, parts[1].size};
    for (size_t i = 0; i < t->count; i++) {
        const struct template_piece *p = &t->pieces[i];
        const size_t begin = out->size;
        if (p->item == TEMPLATE_SPECIAL) {
            if (!token_ids_reserve(out, out->size + 1)) return false;
            out->ids[out->size++] = p->id;
        } else {
            const bool first = p->item == TEMPLATE_FIRST;
            if (!put_part(out, &parts[!first], &cut, first ? kept.a : kept.b)) return false;
        }
        for (size_t k = begin; k < out->size; k++)
            out->types[k] = p->type_id;
    }
    return true;
}
