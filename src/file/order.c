// Sorting of indices by bottom-up merging: n log n whatever the input, linear when it is already in order,
// and stable, so that equal items keep their order.
#include "file/file.h"

// Merges the runs from[begin, middle) and from[middle, end) into `to`.
static void order_merge(const uint32_t *from, uint32_t *to, const size_t bounds[3], order_compare *compare,
                        const void *ctx) {
    size_t i = bounds[0], j = bounds[1], at = bounds[0];
    while (i < bounds[1] && j < bounds[2])
        to[at++] = compare(ctx, from[j], from[i]) < 0 ? from[j++] : from[i++];
    while (i < bounds[1])
        to[at++] = from[i++];
    while (j < bounds[2])
        to[at++] = from[j++];
}

uint32_t *order_new(size_t n, order_compare *compare, const void *ctx) {
    if (n > UINT32_MAX) return NULL;
    uint32_t *index = mem_array(n, sizeof *index);
    if (!index) return NULL;
    bool sorted = true;
    for (size_t i = 0; i < n; i++) {
        index[i] = (uint32_t)i;
        if (i && compare(ctx, (uint32_t)(i - 1), (uint32_t)i) > 0) sorted = false;
    }
    if (sorted) return index;
    uint32_t *other = mem_array(n, sizeof *other);
    if (!other) {
        mem_free(index);
        return NULL;
    }
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t begin = 0; begin < n; begin += 2 * width) {
            size_t middle = size_min(begin + width, n), end = size_min(middle + width, n);
            order_merge(index, other, (size_t[]){begin, middle, end}, compare, ctx);
        }
        uint32_t *swap = index;
        index = other;
        other = swap;
    }
    mem_free(other);
    return index;
}
