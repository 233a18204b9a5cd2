// What each character does to the ids, worked out by running the tokenizer's own steps on it alone, block by
// block when first met. It holds where every step looks at each character alone; marks that canonical
// ordering could move are left to the long way.
#include "text/tokenizer.h"

#include <string.h>

bool actions_possible(const struct sabok_tokenizer *tok) {
    static const char replacement[] = "\xef\xbf\xbd";
    if (tok->model.kind != &model_wordpiece) return false;
    for (size_t i = 0; i < tok->normalizer.count; i++)
        if (!tok->normalizer.steps[i].kind->each_char) return false;
    for (size_t i = 0; i < tok->pretokenizer.count; i++)
        if (!tok->pretokenizer.steps[i].kind->role) return false;
    // U+FFFD stands for bad bytes, which a search of the text's own bytes would miss.
    for (size_t i = 0; i < tok->added.raw.count; i++)
        if (strstr(tok->added.raw.patterns[i].text, replacement)) return false;
    return tok->added.normalized.count == 0;
}

static bool orders_marks(const struct normalizer *n) {
    for (size_t i = 0; i < n->count; i++) {
        const struct normalizer_step *s = &n->steps[i];
        if (s->kind == &normalizer_bert ? s->bert.strip_accents
                                        : s->kind == &normalizer_nfd || s->kind == &normalizer_nfkd)
            return true;
    }
    return false;
}

static enum char_role role_of(const struct pretokenizer *p, uint32_t c) {
    enum char_role role = ROLE_INSIDE;
    for (size_t i = 0; i < p->count; i++) {
        const enum char_role r = p->steps[i].kind->role(&p->steps[i], c);
        if (r == ROLE_REMOVED) return r;
        if (r == ROLE_ALONE) role = r;
    }
    return role;
}

struct work {
    struct units text, spare;
    struct buf bytes;
    struct pieces pieces;
};

// The action of a character whose units, spaces at both ends taken off, are [begin, end).
static bool classify(const struct sabok_tokenizer *tok, struct work *w, size_t begin, size_t end,
                     struct action *a) {
    const size_t size = w->text.size;
    const bool apart = begin > 0 && end < size, whole = begin == 0 && end == size;
    bool inside = true, moves = false;
    for (size_t i = begin; i < end; i++) {
        inside = inside && role_of(&tok->pretokenizer, w->text.items[i].c) == ROLE_INSIDE;
        moves = moves || char_combining(w->text.items[i].c) != 0;
    }
    a->kind = ACTION_SLOW;
    if (moves && orders_marks(&tok->normalizer)) return true;
    if (!units_write(w->text.items, begin, end, &w->bytes)) return false;
    const bool alone = end - begin == 1 && role_of(&tok->pretokenizer, w->text.items[begin].c) == ROLE_ALONE;
    if (alone || (apart && inside)) {
        w->pieces.size = 0;
        if (!tok->model.kind->run(&tok->model, w->bytes.data, w->bytes.size, end - begin, &w->pieces))
            return false;
        if (w->pieces.size != 1) return true;
        a->kind = ACTION_ALONE;
        a->id = tok->model.vocab.pieces[w->pieces.items[0].piece].id;
    } else if (whole && inside && w->bytes.size <= ACTION_BYTES) {
        a->kind = ACTION_INSIDE;
        a->size = (uint8_t)w->bytes.size;
        a->chars = (uint8_t)size;
        memcpy(a->bytes, w->bytes.data, w->bytes.size);
    }
    return true;
}

static bool work_out(const struct sabok_tokenizer *tok, struct work *w, uint32_t c, struct action *a) {
    w->text.size = 0;
    if (!units_push(&w->text, c, 0, 1) || !normalizer_run(&tok->normalizer, &w->text, &w->spare))
        return false;
    size_t begin = 0, end = w->text.size;
    if (end == 0) {
        a->kind = ACTION_DROP;
        return true;
    }
    while (begin < end && role_of(&tok->pretokenizer, w->text.items[begin].c) == ROLE_REMOVED)
        begin++;
    while (end > begin && role_of(&tok->pretokenizer, w->text.items[end - 1].c) == ROLE_REMOVED)
        end--;
    if (begin < end) return classify(tok, w, begin, end, a);
    a->kind = ACTION_SPACE;
    return true;
}

static struct action *make_block(const struct sabok_tokenizer *tok, uint32_t first) {
    struct work w = {0};
    struct action *block = mem_zalloc(ACTION_BLOCK * sizeof *block);
    bool ok = block != NULL;
    for (uint32_t i = 0; ok && i < ACTION_BLOCK; i++) {
        const uint32_t c = first + i;
        if (c >= 0xd800 && c < 0xe000)
            block[i].kind = ACTION_SLOW; // never met
        else
            ok = work_out(tok, &w, c, &block[i]);
    }
    units_free(&w.text);
    units_free(&w.spare);
    buf_free(&w.bytes);
    pieces_free(&w.pieces);
    if (ok) return block;
    mem_free(block);
    return NULL;
}

const struct action *actions_block(const struct sabok_tokenizer *tok, struct actions *a, uint32_t c) {
    _Atomic(struct action *) *place = &a->blocks[c / ACTION_BLOCK];
    struct action *block = atomic_load_explicit(place, memory_order_acquire);
    if (block) return block;
    block = make_block(tok, c / ACTION_BLOCK * ACTION_BLOCK);
    if (!block) return NULL;
    struct action *first = NULL;
    if (atomic_compare_exchange_strong(place, &first, block)) return block;
    mem_free(block); // another thread was sooner
    return first;
}

static void note_ascii(struct actions *a, const struct action *block) {
    a->lower = block['A'].kind == ACTION_INSIDE && block['A'].bytes[0] == 'a';
    a->plain_ascii = block[' '].kind == ACTION_SPACE;
    for (uint32_t c = '0'; c <= 'z'; c++) {
        const bool capital = c >= 'A' && c <= 'Z';
        if (!capital && !(c <= '9' || c >= 'a')) continue;
        const char expected = (char)(capital && a->lower ? c + 32 : c);
        if (block[c].kind != ACTION_INSIDE || block[c].size != 1 || block[c].bytes[0] != expected)
            a->plain_ascii = false;
    }
}

struct actions *actions_new(const struct sabok_tokenizer *tok) {
    struct actions *a = mem_zalloc(sizeof *a);
    if (!a) return NULL;
    const struct action *block = actions_block(tok, a, 0);
    if (!block) {
        actions_free(a);
        return NULL;
    }
    note_ascii(a, block);
    return a;
}

void actions_free(struct actions *a) {
    if (!a) return;
    for (size_t i = 0; i < COUNT(a->blocks); i++)
        mem_free(atomic_load_explicit(&a->blocks[i], memory_order_relaxed));
    mem_free(a);
}
