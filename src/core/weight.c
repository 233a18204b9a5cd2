// What a weight owns.
#include "core/core.h"

void weight_free(struct weight *w) {
    if (w->f32 == w->owned) w->f32 = NULL;
    mem_unmap(w->owned, w->owned_bytes);
    w->owned = NULL;
    w->owned_bytes = 0;
}
