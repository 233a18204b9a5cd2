// pull: a model from a hub into the cache.
#include "cli.h"

#include <string.h>

static const struct option options[] = {
    OPTION("revision", OPTION_TEXT, revision, "NAME",
           "A branch, a tag or a commit; the same as @NAME behind the model. Default: main."),
    OPTION("include", OPTION_TEXTS, include, "PATTERN",
           "Fetch the files that match, for instance \"onnx/*\"; may be given again. Default: what sabok "
           "reads."),
    OPTION("exclude", OPTION_TEXTS, exclude, "PATTERN", "Leave out files that match; may be given again."),
    OPTION("local_dir", OPTION_TEXT, local_dir, "FOLDER", "Put the files here instead of the cache.",
           .files = true),
};
static const struct option_group group = {"Downloads", options, COUNT(options)};

struct pulling {
    struct progress progress;
    uint64_t kilobytes;
};

static int pull_told(void *ctx, const char *file, uint64_t done, uint64_t total) {
    struct pulling *p = ctx;
    (void)file;
    const uint64_t now = done / 1000;
    // A file that had to begin anew takes its bytes back.
    if (now < p->kilobytes) p->progress.done -= p->kilobytes - now, p->kilobytes = now;
    progress_add(&p->progress, now - p->kilobytes, total ? (double)done / (double)total : -1);
    p->kilobytes = now;
    return 0;
}

static int pull_run(struct args *args) {
    if (!args->positionals.count) usage_fail("expected the name of a model: sabok pull ID[@REVISION]");
    struct pulling p = {0};
    const sabok_pull_opts opts = {
        .revision = args->revision,
        .local_dir = args->local_dir,
        .include = args->include.items,
        .include_count = args->include.count,
        .exclude = args->exclude.items,
        .exclude_count = args->exclude.count,
        .progress = pull_told,
        .ctx = &p,
    };
    progress_start(&p.progress, args, "kB");
    sabok_error err = {0};
    char *folder = sabok_pull(args->positionals.items[0], &opts, &err);
    progress_end(&p.progress);
    if (!folder) return fail_error(&err);
    puts(folder);
    sabok_text_free(folder);
    return EXIT_DONE;
}

const struct verb verb_pull = {
    .name = "pull",
    .usage = "ID[@REVISION] [--local_dir FOLDER]",
    .summary = "Fetch a model from a hub into the cache that huggingface_hub uses too.",
    .about =
        "Fetches the files of a model that sabok reads, prints the folder that holds them, and from then "
        "on the name stands for the folder in every verb. What is there already is not fetched again, "
        "and a download that was cut goes on where it ended.",
    .groups = {&group},
    .positional_max = 1,
    .run = pull_run,
};
