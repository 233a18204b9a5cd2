#include "text/tokenizer.h"

bool units_reserve(struct units *u, size_t need) {
    return need <= u->cap || mem_grow((void **)&u->items, &u->cap, need, sizeof *u->items);
}

bool units_push(struct units *u, uint32_t c, uint32_t begin, uint32_t end) {
    if (u->size == u->cap && !units_reserve(u, u->size + 1)) return false;
    u->items[u->size++] = (struct unit){c, begin, end};
    return true;
}

void units_free(struct units *u) {
    mem_free(u->items);
    *u = (struct units){0};
}

bool units_write(const struct unit *u, size_t begin, size_t end, struct buf *b) {
    b->size = 0;
    size_t need;
    if (!mul_ok(end - begin, 4, &need)) return false;
    if (need > b->cap && !mem_grow((void **)&b->data, &b->cap, need, 1)) return false;
    char *out = b->data;
    for (size_t i = begin; i < end; i++)
        out += utf8_write(u[i].c, out);
    b->size = (size_t)(out - b->data);
    return true;
}

bool spans_push(struct spans *s, size_t begin, size_t end, uint32_t added) {
    if (s->size == s->cap && !mem_grow((void **)&s->items, &s->cap, s->size + 1, sizeof *s->items))
        return false;
    s->items[s->size++] = (struct span){begin, end, added};
    return true;
}

void spans_free(struct spans *s) {
    mem_free(s->items);
    *s = (struct spans){0};
}

void units_exchange(struct units *a, struct units *b) {
    const struct units t = *a;
    const bool stuck[2] = {a->stuck, b->stuck};
    *a = *b;
    *b = t;
    a->stuck = stuck[0];
    b->stuck = stuck[1];
}

void units_align(const struct units *from, struct units *to) {
    size_t at = 0;
    for (size_t i = 0; i < to->size; i++) {
        struct unit *u = &to->items[i];
        const int change = (int)u->begin;
        const size_t source = change > 0 ? at - 1 : at;
        const bool inside = (change <= 0 || at > 0) && source < from->size;
        if (change <= 0) at += 1 + (size_t)-change;
        u->begin = inside ? from->items[source].begin : from->items[0].begin;
        u->end = inside ? from->items[source].end : u->begin;
    }
}
