// tokenize: texts to tokens, in the form of an Encoding of the tokenizers library.
#include "cli.h"

#include <string.h>

// In the order of enum sabok_truncation.
static const char *const truncation_choices[] = {"default",    "do_not_truncate", "longest_first",
                                                 "only_first", "only_second",     NULL};

static const struct option options[] = {
    OPTION("truncation", OPTION_CHOICE, truncation, "NAME",
           "How a long text is cut; default: as tokenizer.json says.", .choices = truncation_choices),
    OPTION("no_truncation", OPTION_FLAG, no_truncation, NULL, "Cut nothing."),
    OPTION("max_length", OPTION_COUNT, max_length, "N", "Most tokens of a window, special ones included."),
    OPTION("stride", OPTION_COUNT, stride, "N", "Tokens that two neighbouring windows share."),
    OPTION("overflow", OPTION_FLAG, overflow, NULL, "Print what was cut, as further windows.",
           .alias = "return_overflowing_tokens"),
    OPTION("no_special", OPTION_FLAG, no_special, NULL, "Add no special tokens."),
    OPTION("plain", OPTION_FLAG, plain, NULL, "Print the tokens with blanks between, a text a line."),
};
static const struct option_group group = {"Tokens", options, COUNT(options)};

// ---- one encoding

static bool number_list(const char *key, const uint32_t *items, size_t n) {
    bool ok = sink_format("\"%s\": [", key);
    for (size_t i = 0; ok && i < n; i++)
        ok = sink_format(i ? ", %u" : "%u", items[i]);
    return ok && sink_text("], ", 3);
}

static bool encoding_body(const sabok_encoding *e) {
    bool ok = sink_text("{", 1) && number_list("ids", e->ids, e->length) &&
              number_list("type_ids", e->type_ids, e->length) && sink_format("\"tokens\": [");
    for (size_t i = 0; ok && i < e->length; i++)
        ok = (i == 0 || sink_text(", ", 2)) && sink_string(e->tokens[i], strlen(e->tokens[i]));
    ok = ok && sink_format("], \"offsets\": [");
    for (size_t i = 0; ok && i < e->length; i++)
        ok = sink_format(i ? ", [%zu, %zu]" : "[%zu, %zu]", e->offsets[i].begin, e->offsets[i].end);
    ok = ok && sink_format("], \"special_tokens_mask\": [");
    for (size_t i = 0; ok && i < e->length; i++)
        ok = sink_format(i ? ", %u" : "%u", e->special_mask[i]);
    ok = ok && sink_format("], \"attention_mask\": [");
    for (size_t i = 0; ok && i < e->length; i++)
        ok = sink_format(i ? ", 1" : "1");
    return ok && sink_text("]", 1);
}

static bool encoding_plain(const sabok_encoding *e) {
    bool ok = true;
    for (size_t i = 0; ok && i < e->length; i++)
        ok = (i == 0 || sink_text(" ", 1)) && sink_text(e->tokens[i], strlen(e->tokens[i]));
    return ok && sink_text("\n", 1);
}

// Windows [first, end) of one text: the first, and the others as its "overflowing".
static bool windows_json(const sabok_encodings *encodings, size_t first, size_t end, bool overflow) {
    bool ok = encoding_body(sabok_encodings_get(encodings, first));
    if (ok && overflow) ok = sink_format(", \"overflowing\": [");
    for (size_t i = first + 1; ok && i < end; i++)
        ok = (i == first + 1 || sink_text(", ", 2)) && encoding_body(sabok_encodings_get(encodings, i)) &&
             sink_text("}", 1);
    return ok && (!overflow || sink_text("]", 1)) && sink_text("}\n", 2);
}

static bool encodings_write(const struct args *args, const sabok_encodings *encodings) {
    const size_t n = sabok_encodings_count(encodings);
    bool ok = true;
    for (size_t i = 0, end; ok && i < n; i = end) {
        const size_t text = sabok_encodings_get(encodings, i)->text;
        for (end = i + 1; end < n && sabok_encodings_get(encodings, end)->text == text;)
            end++;
        if (!args->plain) {
            ok = windows_json(encodings, i, end, args->overflow);
            continue;
        }
        for (size_t j = i; ok && j < end; j++)
            ok = encoding_plain(sabok_encodings_get(encodings, j));
    }
    return ok && sink_flush();
}

// ---- groups of texts

static sabok_truncation truncation_of(const struct args *args) {
    if (args->no_truncation) return SABOK_TRUNCATE_NONE;
    // A length alone asks for cutting, too.
    if (args->truncation == 0 && args->max_length) return SABOK_TRUNCATE_LONGEST_FIRST;
    return (sabok_truncation)args->truncation;
}

static bool group_write(const struct args *args, const sabok_tokenizer *tokenizer, const char *const *texts,
                        const char *const *pairs, sabok_tokenize_opts *opts, size_t n) {
    sabok_error err = {0};
    opts->no_special = args->no_special;
    opts->truncation = truncation_of(args);
    opts->max_length = args->max_length;
    opts->stride = args->stride;
    opts->overflow = args->overflow;
    sabok_encodings *encodings = sabok_tokenize(tokenizer, texts, pairs, n, opts, &err);
    if (!encodings) {
        fail_error(&err);
        return false;
    }
    const bool ok = encodings_write(args, encodings);
    sabok_encodings_free(encodings);
    return ok;
}

// Rows hold one text, or a text and its pair: then they are parted into two lists.
static bool rows_write(const struct args *args, const sabok_tokenizer *tokenizer, const struct rows *rows) {
    sabok_tokenize_opts opts = {.text_lengths = rows->lengths};
    if (rows->width == 1) return group_write(args, tokenizer, rows->fields, NULL, &opts, rows->n);
    struct parted parted = {0};
    columns_part(rows, &parted);
    opts.text_lengths = parted.lengths;
    opts.pair_lengths = parted.lengths + rows->n;
    const bool ok = group_write(args, tokenizer, parted.fields, parted.fields + rows->n, &opts, rows->n);
    parted_free(&parted);
    return ok;
}

static bool groups_write(const struct args *args, const sabok_tokenizer *tokenizer, struct texts *texts) {
    struct rows rows = {0};
    struct progress progress;
    bool ok = true;
    progress_start(&progress, args, "texts");
    while (ok && texts_next(texts, &rows)) {
        ok = rows_write(args, tokenizer, &rows);
        progress_add(&progress, rows.n, texts_progress(texts));
    }
    progress_end(&progress);
    rows_free(&rows);
    return ok && !texts->failed;
}

static int tokenize_run(struct args *args) {
    args_take_model(&verb_tokenize, args);
    pairs_join(args);
    struct texts texts;
    sabok_error err = {0};
    if (!texts_open(&texts, args, &args->columns)) return EXIT_FAILED;
    sabok_tokenizer *tokenizer = sabok_tokenizer_open(args->model, &err);
    if (!tokenizer) fail_error(&err);
    bool ok = tokenizer && sink_open(args) && groups_write(args, tokenizer, &texts);
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    texts_close(&texts);
    sabok_tokenizer_close(tokenizer);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

const struct verb verb_tokenize = {
    .name = "tokenize",
    .usage = "MODEL [FILE...] [--text TEXT]...",
    .summary = "Print the tokens of texts.",
    .about =
        "Prints for each text a JSON object of ids, type_ids, tokens, offsets (in characters of the text), "
        "special_tokens_mask and attention_mask. MODEL is a folder with tokenizer.json, vocab.txt, "
        "vocab.json and merges.txt, or a sentencepiece file, or such a file.",
    .groups = {&group_model, &group_input, &group_pair, &group, &group_output},
    .positional_max = SIZE_MAX,
    .run = tokenize_run,
};
