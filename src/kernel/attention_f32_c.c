// attention, the definition, one query row at a time. For each key block of ATTENTION_KEYS:
//   s_j = fma(q_k scale, k_jk, ...) for k = 0, 1, ..., from 0;  s_j += bias
//   m' = max(m, s_j), NaN left out;  c = e^(m - m'), or with 0 for m' when m' is -infinity
//   p_j = e^(s_j - m');  l' = ((l c + p_0) + p_1) + ...;  o' = fma(p_j, v_j, ...) for j = 0, 1, ..., from o c
// and at the end y = o (1 / l), or zeros when l is 0.
#include "kernel/kernel_list.h"
#include "kernel/vec_c.h"

// A query row of one head.
struct row {
    const struct attention_args *a;
    const float *q;
    float *y; // holds o
    size_t query, head;
    float top, sum; // m and l
};

static void block_scores(struct row *r, size_t key, size_t keys, float *s) {
    const struct attention_args *a = r->a;
    size_t bias = r->head * a->bias_span + (a->bias_zero + key - r->query);
    for (size_t j = 0; j < keys; j++) {
        const float *k = a->k + (key + j) * a->ldk + r->head * a->d;
        s[j] = 0;
        for (size_t i = 0; i < a->d; i++)
            s[j] = fmaf(r->q[i] * a->scale, k[i], s[j]);
        if (a->bias) s[j] += a->bias[bias + j];
    }
}

static void block_add(struct row *r, size_t key, size_t keys) {
    const struct attention_args *a = r->a;
    float s[ATTENTION_KEYS];
    block_scores(r, key, keys, s);

    float top = r->top;
    for (size_t j = 0; j < keys; j++)
        top = s[j] > top ? s[j] : top;
    float shift = top == -INFINITY ? 0 : top, correction = exp_c(r->top - shift);
    r->top = top;
    r->sum *= correction;
    for (size_t j = 0; j < keys; j++) {
        s[j] = exp_c(s[j] - shift);
        r->sum += s[j];
    }
    for (size_t i = 0; i < a->d; i++) {
        const float *v = a->v + key * a->ldv + r->head * a->d + i;
        float o = r->y[i] * correction;
        for (size_t j = 0; j < keys; j++)
            o = fmaf(s[j], v[j * a->ldv], o);
        r->y[i] = o;
    }
}

void attention_f32_c(const struct attention_args *a, size_t begin, size_t end) {
    for (size_t unit = begin; unit < end; unit++) {
        const struct attention_block *b = &a->blocks[unit / a->H];
        size_t head = unit % a->H, key_end = (size_t)b->key_first + b->keys;
        for (size_t query = b->first; query < (size_t)b->first + b->rows; query++) {
            struct row r = {.a = a,
                            .q = a->q + query * a->ldq + head * a->d,
                            .y = a->y + query * a->ldy + head * a->d,
                            .query = query,
                            .head = head,
                            .top = -INFINITY};
            memset(r.y, 0, a->d * sizeof *r.y);
            for (size_t key = b->key_first; key < key_end; key += ATTENTION_KEYS)
                block_add(&r, key, size_min(ATTENTION_KEYS, key_end - key));
            float inverse = r.sum == 0 ? 0 : 1 / r.sum;
            for (size_t i = 0; i < a->d; i++)
                r.y[i] *= inverse;
        }
    }
}
