// run embed: texts to vectors, streamed.
#include "cli.h"

#include <stdlib.h>

static bool embed_groups(const struct args *args, const sabok_model *model, struct texts *texts, size_t width,
                         struct timing *timing) {
    struct rows rows = {0};
    struct progress progress;
    sabok_embed_opts opts;
    sabok_error err = {0};
    float *vectors = NULL;
    size_t cap = 0;
    bool ok = true;
    embed_options(args, &opts);
    progress_start(&progress, args, "texts");
    while (ok && texts_next(texts, &rows)) {
        heap_grow(&vectors, &cap, rows.n * width, sizeof *vectors);
        if (timed_embed(model, &rows, &opts, timing, vectors, &err) != SABOK_OK) {
            progress_end(&progress);
            fail_error(&err);
            ok = false;
        }
        ok = ok && sink_vectors(vectors, rows.n);
        progress_add(&progress, rows.n, texts_progress(texts));
    }
    progress_end(&progress);
    free(vectors);
    rows_free(&rows);
    return ok && !texts->failed;
}

int embed_run(const struct args *args) {
    struct texts texts;
    struct timing timing = {.wanted = args->timing};
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    if (!texts_open(&texts, args, &args->columns)) return EXIT_FAILED;
    const double start = now_seconds();
    sabok_model *model = model_open(args);
    timing.open_s = now_seconds() - start;
    bool ok = false;
    if (model) {
        const size_t width = embed_width(args, model);
        ok = sink_open_vectors(args, width) && embed_groups(args, model, &texts, width, &timing);
        if (ok)
            ok = sink_commit();
        else
            sink_abandon();
    }
    if (ok) timing_print(&timing);
    texts_close(&texts);
    sabok_close(model);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
