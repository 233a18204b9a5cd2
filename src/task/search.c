// search: the texts of a corpus of any size that are nearest to queries. The corpus comes in parts; of each only the best
// are kept, in a heap for each query with the worst of them on top.
#include "task/task.h"

#include <stdlib.h>
#include <string.h>

#define SEARCH_TEXTS 2048  // of the corpus, whose vectors are held at a time
#define SEARCH_QUERIES 256 // whose scores are held at a time
#define TOP_DEFAULT 10

struct best {
    sabok_hit *hits; // a heap: the worst first
    size_t count, cap;
};

struct sabok_search {
    const sabok_model *m;
    sabok_embed_opts embed; // of the corpus
    sabok_similarity_fn similarity;
    size_t width, top, n;
    size_t taken;      // texts of the corpus so far
    float *queries;    // [n, width]
    float *vectors;    // [SEARCH_TEXTS, width]
    float *scores;     // [SEARCH_QUERIES, SEARCH_TEXTS]
    struct best *best; // [n]
};

// ---- the best

// A total order: of equal scores the earlier text is better, and a NaN is worst.
static bool hit_worse(const sabok_hit *a, const sabok_hit *b) {
    const bool x = a->score != a->score, y = b->score != b->score;
    if (x != y) return x;
    if (!x && a->score != b->score) return a->score < b->score;
    return a->corpus_id > b->corpus_id;
}

static void hit_swap(sabok_hit *a, sabok_hit *b) {
    const sabok_hit c = *a;
    *a = *b;
    *b = c;
}

static void heap_sink(sabok_hit *hits, size_t count) {
    for (size_t at = 0;;) {
        size_t worst = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (hit_worse(&hits[child], &hits[worst])) worst = child;
        if (worst == at) return;
        hit_swap(&hits[at], &hits[worst]);
        at = worst;
    }
}

static bool best_add(struct best *b, size_t top, sabok_hit hit) {
    if (b->count == top) {
        if (!hit_worse(&b->hits[0], &hit)) return true;
        b->hits[0] = hit;
        heap_sink(b->hits, b->count);
        return true;
    }
    if (b->count == b->cap && !mem_grow((void **)&b->hits, &b->cap, b->count + 1, sizeof hit)) return false;
    size_t at = b->count++;
    b->hits[at] = hit;
    for (; at > 0 && hit_worse(&b->hits[at], &b->hits[(at - 1) / 2]); at = (at - 1) / 2)
        hit_swap(&b->hits[at], &b->hits[(at - 1) / 2]);
    return true;
}

static int compare_hits(const void *a, const void *b) {
    return hit_worse(a, b) - hit_worse(b, a);
}

size_t sabok_search_hits(const sabok_search *s, size_t query, sabok_hit *out) {
    const struct best *b = &s->best[query];
    if (b->count == 0) return 0;
    memcpy(out, b->hits, b->count * sizeof *out);
    qsort(out, b->count, sizeof *out, compare_hits);
    return b->count;
}

// ---- the corpus

// Scores of n texts, numbered from s->taken on, with every query.
static sabok_status search_score(sabok_search *s, size_t n, sabok_error *err) {
    for (size_t begin = 0; begin < s->n; begin += SEARCH_QUERIES) {
        const size_t count = size_min(SEARCH_QUERIES, s->n - begin);
        sabok_similarity(s->queries + begin * s->width, count, s->vectors, n, s->width, s->similarity,
                         s->scores);
        for (size_t q = 0; q < count; q++)
            for (size_t i = 0; i < n; i++)
                if (!best_add(&s->best[begin + q], s->top, (sabok_hit){s->taken + i, s->scores[q * n + i]}))
                    return error_memory(err, s->m->name);
    }
    return SABOK_OK;
}

sabok_status sabok_search_add(sabok_search *s, const char *const *texts, const size_t *lengths, size_t n,
                              sabok_error *err) {
    if (n > 0 && !texts) return error_set(err, SABOK_EINVAL, s->m->name, "texts is NULL");
    for (size_t begin = 0; begin < n; begin += SEARCH_TEXTS) {
        const size_t count = size_min(SEARCH_TEXTS, n - begin);
        s->embed.text_lengths = lengths ? lengths + begin : NULL;
        TRY(sabok_embed(s->m, texts + begin, count, &s->embed, s->vectors, err));
        TRY(search_score(s, count, err));
        s->taken += count;
    }
    return SABOK_OK;
}

// ---- opening

// The model's own prompt of this name, else none: not the default one, as in sentence-transformers' encode_query and
// encode_document.
static void search_prompt(const sabok_model *m, const char *name, sabok_embed_opts *opts) {
    if (opts->prompt || opts->prompt_name) return;
    opts->prompt = "";
    for (size_t i = 0; i < m->sentence.prompt_count; i++)
        if (strcmp(m->sentence.prompt_names[i], name) == 0) opts->prompt = m->sentence.prompts[i];
}

static sabok_status search_start(sabok_search *s, const char *const *queries, const sabok_search_opts *opts,
                                 sabok_error *err) {
    sabok_embed_opts embed = opts->embed;
    s->width = embed.truncate_dim ? embed.truncate_dim : s->m->embed_width;
    search_prompt(s->m, "document", &s->embed);
    search_prompt(s->m, "query", &embed);
    s->best = mem_zalloc((s->n ? s->n : 1) * sizeof *s->best);
    size_t n, bytes;
    if (!mul_ok(s->n ? s->n : 1, s->width, &n) || !mul_ok(s->width, sizeof(float), &bytes))
        return error_memory(err, s->m->name);
    s->queries = mem_array(n, sizeof *s->queries);
    s->vectors = mem_array(SEARCH_TEXTS, bytes);
    s->scores = mem_array(size_min(s->n, SEARCH_QUERIES), SEARCH_TEXTS * sizeof *s->scores);
    if (!s->best || !s->queries || !s->vectors || !s->scores) return error_memory(err, s->m->name);
    return sabok_embed(s->m, queries, s->n, &embed, s->queries, err);
}

sabok_search *sabok_search_new(const sabok_model *m, const char *const *queries, size_t n,
                               const sabok_search_opts *opts, sabok_error *err) {
    static const sabok_search_opts defaults;
    if (!opts) opts = &defaults;
    sabok_search *s = mem_zalloc(sizeof *s);
    if (!s) {
        error_memory(err, m->name);
        return NULL;
    }
    *s = (sabok_search){.m = m, .embed = opts->embed, .similarity = opts->similarity, .n = n};
    s->top = opts->top_k ? opts->top_k : TOP_DEFAULT;
    if (search_start(s, queries, opts, err) == SABOK_OK) return s;
    sabok_search_free(s);
    return NULL;
}

void sabok_search_free(sabok_search *s) {
    if (!s) return;
    for (size_t q = 0; s->best && q < s->n; q++)
        mem_free(s->best[q].hits);
    mem_free(s->best);
    mem_free(s->queries);
    mem_free(s->vectors);
    mem_free(s->scores);
    mem_free(s);
}
