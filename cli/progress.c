// A bar on stderr: share, count, rate, time left.
#include "cli.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define BAR 24
#define REDRAW_S 0.1
#define PATIENCE_S 0.5 // shorter runs show nothing

void progress_start(struct progress *p, const struct args *args, const char *unit) {
    *p = (struct progress){
        .shown = !args->quiet && isatty(STDERR_FILENO), .start = now_seconds(), .unit = unit};
    p->last = p->start + PATIENCE_S - REDRAW_S;
}

static void progress_draw(const struct progress *p, double now, double share) {
    const double elapsed = now - p->start, rate = elapsed > 0 ? (double)p->done / elapsed : 0;
    char bar[BAR + 1] = "";
    fputs("\r\033[K", stderr);
    if (share >= 0) {
        memset(bar, '.', BAR);
        memset(bar, '#', (size_t)(share * BAR));
        fprintf(stderr, "%3.0f%% [%s] ", 100 * share, bar);
    }
    fprintf(stderr, "%" PRIu64 " %s, %.0f/s", p->done, p->unit, rate);
    if (share > 0) {
        const double left = elapsed * (1 - share) / share;
        fprintf(stderr, ", %d:%02d left", (int)left / 60, (int)left % 60);
    }
    fflush(stderr);
}

void progress_add(struct progress *p, uint64_t n, double share) {
    p->done += n;
    if (!p->shown) return;
    const double now = now_seconds();
    if (now - p->last < REDRAW_S) return;
    p->last = now;
    p->drawn = true;
    progress_draw(p, now, share > 1 ? 1 : share);
}

// The bar makes room for what follows.
void progress_end(struct progress *p) {
    if (p->drawn) fputs("\r\033[K", stderr);
    p->drawn = false;
}
