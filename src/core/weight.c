// What a weight owns.
#include "core/core.h"

void weight_free(struct weight *w) {
    if (w->f32 == w->owned) w->f32 = NULL;
    mem_unmap(w->owned, w->owned_bytes);
    mem_unmap(w->packed, w->packed_bytes);
    w->owned = NULL;
    w->owned_bytes = 0;
    w->packed = NULL;
    w->packed_bytes = 0;
}
