// Shapes of at most SHAPE_RANK dimensions, two of which may be known only with the batch.
#include "core/core.h"

#include <inttypes.h>

struct shape shape_of(int rank, const int64_t *dim) {
    ASSERT(rank >= 0 && rank <= SHAPE_RANK);
    struct shape s = {.rank = rank};
    for (int i = 0; i < rank; i++)
        s.dim[i] = dim[i];
    return s;
}

bool shape_equal(const struct shape *a, const struct shape *b) {
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i]) return false;
    return true;
}

const char *shape_text(const struct shape *s, char out[SHAPE_TEXT]) {
    size_t at = 0;
    out[at++] = '[';
    for (int i = 0; i < s->rank; i++) {
        const char *comma = i ? ", " : "";
        int n;
        if (s->dim[i] == DIM_T || s->dim[i] == DIM_B)
            n = snprintf(out + at, SHAPE_TEXT - at, "%s%c", comma, s->dim[i] == DIM_T ? 'T' : 'B');
        else
            n = snprintf(out + at, SHAPE_TEXT - at, "%s%" PRId64, comma, s->dim[i]);
        at += (size_t)n; // four dimensions of 20 digits, and what stands between them, fit
    }
    out[at++] = ']';
    out[at] = '\0';
    return out;
}

bool shape_count(const struct shape *s, size_t T, size_t B, size_t *out) {
    size_t count = 1;
    bool empty = false, fits = true;
    for (int i = 0; i < s->rank; i++) {
        int64_t d = s->dim[i];
        if (d < 0 && d != DIM_T && d != DIM_B) return false;
        size_t n = d == DIM_T ? T : d == DIM_B ? B : (size_t)d;
        // A zero makes the product 0 wherever it stands, so it must not hide behind an overflow.
        if (n == 0)
            empty = true;
        else if (fits)
            fits = mul_ok(count, n, &count);
    }
    *out = empty ? 0 : count;
    return empty || fits;
}
