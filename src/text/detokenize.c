// sabok_detokenize: from ids to text, whole or as the ids come.
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#define ADDED_BIT 0x80000000u // of an entry's index: an added token
#define STREAM_IDS_MAX 4096   // ids held back while they end in no whole character

// ---------------------------------------------------------------------------------------------- ids

struct id_entry {
    uint32_t id, index;
};
struct id_table { // by id; made when first needed
    size_t count;
    struct id_entry entries[];
};

static int compare_entries(const void *a, const void *b) {
    const struct id_entry *x = a, *y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return (x->index < y->index) - (x->index > y->index); // an added token hides a piece
}

static struct id_table *make_table(const struct sabok_tokenizer *tok) {
    const size_t pieces = tok->model.vocab.count, all = pieces + tok->added.count;
    size_t bytes;
    if (!mul_ok(all, sizeof(struct id_entry), &bytes) || !add_ok(bytes, sizeof(struct id_table), &bytes))
        return NULL;
    struct id_table *t = mem_alloc(bytes);
    if (!t) return NULL;
    for (size_t i = 0; i < pieces; i++)
        t->entries[i] = (struct id_entry){tok->model.vocab.pieces[i].id, (uint32_t)i};
    for (size_t i = pieces; i < all; i++)
        t->entries[i] =
            (struct id_entry){tok->added.tokens[i - pieces].id, (uint32_t)(i - pieces) | ADDED_BIT};
    if (all) qsort(t->entries, all, sizeof *t->entries, compare_entries);
    t->count = 0;
    for (size_t i = 0; i < all; i++)
        if (i == 0 || t->entries[i].id != t->entries[t->count - 1].id) t->entries[t->count++] = t->entries[i];
    return t;
}

static const struct id_table *id_table_of(const struct sabok_tokenizer *tok) {
    // The table is no part of what the tokenizer says: a shared one may get it.
    _Atomic(struct id_table *) *place = &((struct sabok_tokenizer *)(uintptr_t)tok)->by_id;
    struct id_table *t = atomic_load_explicit(place, memory_order_acquire), *first = NULL;
    if (t || !(t = make_table(tok))) return t;
    if (atomic_compare_exchange_strong(place, &first, t)) return t;
    mem_free(t); // another thread was sooner
    return first;
}

static const struct id_entry *find_entry(const struct id_table *t, uint32_t id) {
    if (id < t->count && t->entries[id].id == id) return &t->entries[id]; // ids without holes
    size_t low = 0, high = t->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (t->entries[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->count && t->entries[low].id == id ? &t->entries[low] : NULL;
}

// ---------------------------------------------------------------------------------------------- decoding

struct decoding { // what one decoding needs
    const struct sabok_tokenizer *tok;
    const struct id_table *table;
    bool keep_special, stuck;
    struct strings text, spare; // the text is all of text.bytes
};

static sabok_status decoding_init(struct decoding *d, const sabok_tokenizer *tok,
                                  const sabok_detokenize_opts *opts, sabok_error *err) {
    if (!tok) return error_set(err, SABOK_EINVAL, NULL, "the tokenizer is NULL, expected an open one");
    *d = (struct decoding){.tok = tok, .table = id_table_of(tok), .keep_special = opts && opts->keep_special};
    return d->table ? SABOK_OK : error_memory(err, tok->path);
}

static void decoding_free(struct decoding *d) {
    strings_free(&d->text);
    strings_free(&d->spare);
}

// Ids that stand for nothing are left out, as in the reference.
static bool put_id(struct decoding *d, uint32_t id) {
    const struct id_entry *e = find_entry(d->table, id);
    if (!e) return true;
    struct json_text t;
    if (e->index & ADDED_BIT) {
        const struct added_token *a = &d->tok->added.tokens[e->index & ~ADDED_BIT];
        if (a->special && !d->keep_special) return true;
        t = (struct json_text){a->text, a->size};
    } else {
        t = (struct json_text){vocab_text(&d->tok->model.vocab, e->index),
                               d->tok->model.vocab.pieces[e->index].size};
    }
    if (!d->tok->decoder.given && d->text.count) buf_put(&d->text.bytes, " ", 1);
    buf_put(&d->text.bytes, t.data, t.size);
    return strings_end(&d->text);
}

static sabok_status decode_ids(struct decoding *d, const uint32_t *ids, size_t n, sabok_error *err) {
    d->text.count = d->text.bytes.size = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        ok = put_id(d, ids[i]);
    if (ok && decoder_run(&d->tok->decoder, &d->text, &d->spare, &d->stuck)) return SABOK_OK;
    if (d->stuck)
        return error_set(err, SABOK_EUNSUPPORTED, d->tok->path,
                         "a pattern of the decoder takes too many steps on a text, expected fewer");
    return error_memory(err, d->tok->path);
}

char *sabok_detokenize(const sabok_tokenizer *tok, const uint32_t *ids, size_t n,
                       const sabok_detokenize_opts *opts, size_t *length, sabok_error *err) {
    struct decoding d;
    if (decoding_init(&d, tok, opts, err) != SABOK_OK) return NULL;
    char *text = NULL;
    if (decode_ids(&d, ids, n, err) == SABOK_OK) {
        text = mem_copy_bytes(d.text.bytes.size ? d.text.bytes.data : "", d.text.bytes.size);
        if (!text) error_memory(err, tok->path);
        if (length) *length = d.text.bytes.size;
    }
    decoding_free(&d);
    return text;
}

char *tokenizer_join(const sabok_tokenizer *tok, const char *const *tokens, size_t n, sabok_error *err) {
    struct strings text = {0}, spare = {0};
    bool stuck = false, ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        if (!tok->decoder.given && i) buf_put(&text.bytes, " ", 1);
        buf_put(&text.bytes, tokens[i], strlen(tokens[i]));
        ok = strings_end(&text);
    }
    ok = ok && decoder_run(&tok->decoder, &text, &spare, &stuck);
    char *joined = ok ? mem_copy_bytes(text.bytes.size ? text.bytes.data : "", text.bytes.size) : NULL;
    if (stuck)
        error_set(err, SABOK_EUNSUPPORTED, tok->path,
                  "a pattern of the decoder takes too many steps on a text, expected fewer");
    else if (!joined)
        error_memory(err, tok->path);
    strings_free(&text);
    strings_free(&spare);
    return joined;
}

bool tokenizer_has_prefix(const sabok_tokenizer *tok) {
    const struct model *m = &tok->model;
    if (m->kind == &model_wordpiece) return m->wordpiece.prefix_size > 0;
    return m->kind == &model_bpe && m->bpe.prefix.size > 0;
}

void sabok_text_free(char *text) {
    mem_free(text);
}

// ---------------------------------------------------------------------------------------------- streaming

// Text is given out when the ids so far end in a whole character. The ids of the last piece of text stay, so that what
// comes next is decoded with what stands before it.
struct sabok_text_stream {
    struct decoding d;
    uint32_t *ids;
    size_t count, cap;
    size_t given; // ids whose text has been given out
    struct buf before, text;
};

sabok_text_stream *sabok_text_stream_new(const sabok_tokenizer *tok, const sabok_detokenize_opts *opts,
                                         sabok_error *err) {
    struct decoding d;
    if (decoding_init(&d, tok, opts, err) != SABOK_OK) return NULL;
    sabok_text_stream *s = mem_zalloc(sizeof *s);
    if (!s) {
        error_memory(err, tok->path);
        return NULL;
    }
    s->d = d;
    return s;
}

void sabok_text_stream_free(sabok_text_stream *s) {
    if (!s) return;
    decoding_free(&s->d);
    mem_free(s->ids);
    buf_free(&s->before);
    buf_free(&s->text);
    mem_free(s);
}

static bool set_buf(struct buf *b, const char *text, size_t size) {
    b->size = 0;
    if (size) buf_put(b, text, size);
    buf_put(b, "", 1);
    b->size--;
    return !b->failed;
}

static bool ends_whole(const struct buf *b) {
    return b->size < 3 || memcmp(b->data + b->size - 3, "\xef\xbf\xbd", 3) != 0;
}

// The text of all ids that is new. Where later ids have changed what was given out already, the new text begins at the
// first byte that differs.
static sabok_status stream_take(sabok_text_stream *s, bool last, sabok_error *err) {
    const char *where = s->d.tok->path;
    if (!set_buf(&s->text, "", 0)) return error_memory(err, where);
    TRY(decode_ids(&s->d, s->ids, s->count, err));
    const struct buf *whole = &s->d.text.bytes;
    const size_t known = size_min(s->before.size, whole->size);
    size_t same = 0;
    while (same < known && s->before.data[same] == whole->data[same])
        same++;
    while (same > 0 && same < whole->size && ((uint8_t)whole->data[same] & 0xc0) == 0x80)
        same--;
    const bool ready =
        whole->size > s->before.size && (ends_whole(whole) || s->count - s->given > STREAM_IDS_MAX);
    if (!last && !ready) return SABOK_OK;
    if (!set_buf(&s->text, whole->size ? whole->data + same : "", whole->size - same))
        return error_memory(err, where);
    if (s->given) memmove(s->ids, s->ids + s->given, (s->count - s->given) * sizeof *s->ids);
    s->count -= s->given;
    s->given = s->count;
    TRY(decode_ids(&s->d, s->ids, s->count, err));
    return set_buf(&s->before, whole->size ? whole->data : "", whole->size) ? SABOK_OK
                                                                            : error_memory(err, where);
}

const char *sabok_text_stream_push(sabok_text_stream *s, uint32_t id, size_t *length, sabok_error *err) {
    if (s->count == s->cap && !mem_grow((void **)&s->ids, &s->cap, s->count + 1, sizeof *s->ids)) {
        error_memory(err, s->d.tok->path);
        return NULL;
    }
    s->ids[s->count++] = id;
    if (stream_take(s, false, err) != SABOK_OK) return NULL;
    if (length) *length = s->text.size;
    return s->text.data;
}

const char *sabok_text_stream_end(sabok_text_stream *s, size_t *length, sabok_error *err) {
    if (stream_take(s, true, err) != SABOK_OK) return NULL;
    s->count = s->given = s->before.size = 0;
    if (length) *length = s->text.size;
    return s->text.data;
}
