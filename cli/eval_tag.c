// eval token-classification: the entities that a model finds in sentences of tagged words, by seqeval's rules.
#include "cli.h"

#include <stdlib.h>
#include <string.h>

#define GROUP_SENTENCES 512

// In the order of enum sabok_scheme.
static const char *const scheme_choices[] = {"default", "IOB1",  "IOB2",  "IOE1",
                                             "IOE2",    "IOBES", "BILOU", NULL};

static const struct option tagged_options[] = {
    OPTION("scheme", OPTION_CHOICE, scheme, "NAME",
           "Count entities strictly, by this scheme; default: by conlleval's rules.",
           .choices = scheme_choices),
    OPTION("tag_column", OPTION_TEXT, label_column, "NAME",
           "Column of the tags: a number in CoNLL files, default the last; a key of JSON lines, default "
           "ner_tags, else tags, else labels. --column is that of the words: default the first; tokens, else "
           "words.",
           .alias = "label_column_name"),
};
const struct option_group group_tagged = {"Tags", tagged_options, COUNT(tagged_options)};

struct sentence {
    char *text; // the words with spaces between, NUL-ended
    size_t size, cap;
    size_t first, words;
    uint64_t line;
};

struct word {
    char *tag;
    size_t begin, end; // in characters of the text
};

struct tagged {
    const struct args *args;
    const char *path;
    sabok_conll *conll; // or rows, of JSON lines
    sabok_rows *rows;
    sabok_model_info info;
    sabok_entity_counter *counter;
    struct sentence *sentences; // of the group at hand
    struct word *words;         // of all of them
    const char **expected, **found;
    size_t n, word_count, sentences_cap, words_cap, expected_cap, found_cap;
    uint64_t sentence_total, word_total, right, left_out;
};

// ---- input

static bool is_jsonl(const struct args *args, const char *path) {
    static const char *const endings[] = {".jsonl", ".ndjson", ".json"};
    bool named = args->input_format == 2 || args->input_format == 5; // of --format
    const size_t n = strlen(path);
    for (size_t i = 0; i < COUNT(endings) && !args->input_format; i++) {
        const size_t m = strlen(endings[i]);
        named |= n > m && strcmp(path + n - m, endings[i]) == 0;
    }
    return named;
}

static size_t column_number(const char *option, const char *text) {
    char *end;
    if (!text) return 0;
    const unsigned long n = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || n == 0 || n > 1000)
        usage_fail("%s: found \"%s\", expected the number of a column of a CoNLL file, from 1", option, text);
    return n;
}

static const char *key_find(const struct args *args, const char *path, const char *const *names, size_t n) {
    // Standard input cannot be read twice.
    for (size_t i = 0; i < n && strcmp(path, "-") != 0; i++)
        if (texts_have_column(args, path, names[i])) return names[i];
    return names[0];
}

static bool input_open(struct tagged *t) {
    static const char *const words[] = {"tokens", "words"}, *const tags[] = {"ner_tags", "tags", "labels"};
    const struct args *args = t->args;
    const char *word = args->columns.count ? args->columns.items[0] : NULL, *tag = args->label_column;
    sabok_error err = {0};
    if (is_jsonl(args, t->path)) {
        const char *columns[] = {word ? word : key_find(args, t->path, words, COUNT(words)),
                                 tag ? tag : key_find(args, t->path, tags, COUNT(tags))};
        const sabok_rows_opts opts = {
            .format = SABOK_FORMAT_JSONL, .columns = columns, .column_count = 2, .lists = true};
        t->rows = sabok_rows_open(t->path, &opts, &err);
    } else {
        const sabok_conll_opts opts = {.word_column = column_number("--column", word),
                                       .tag_column = column_number("--tag_column", tag)};
        t->conll = sabok_conll_open(t->path, &opts, &err);
    }
    return t->rows || t->conll || fail_error(&err) == EXIT_DONE;
}

static void word_add(struct tagged *t, const char *word, size_t n, const char *tag, size_t tag_length) {
    struct sentence *s = &t->sentences[t->n];
    const size_t begin = s->words ? t->words[t->word_count - 1].end + 1 : 0;
    size_t chars = 0;
    heap_grow(&s->text, &s->cap, s->size + n + 2, 1);
    if (s->words) s->text[s->size++] = ' ';
    memcpy(s->text + s->size, word, n);
    for (size_t i = 0; i < n; i++)
        chars += ((unsigned char)word[i] & 0xC0) != 0x80;
    s->size += n;
    s->text[s->size] = '\0';
    heap_grow(&t->words, &t->words_cap, t->word_count + 1, sizeof *t->words);
    t->words[t->word_count++] =
        (struct word){heap_format("%.*s", (int)tag_length, tag), begin, begin + chars};
    s->words++;
}

// A number of a label stands for its name.
static const char *tag_name(const struct tagged *t, const char *tag, size_t *n) {
    size_t id = 0;
    for (size_t i = 0; i < *n; i++) {
        if (tag[i] < '0' || tag[i] > '9' || id > SIZE_MAX / 16) return tag;
        id = 10 * id + (size_t)(tag[i] - '0');
    }
    if (*n == 0 || id >= t->info.num_labels) return tag;
    *n = strlen(t->info.labels[id]);
    return t->info.labels[id];
}

static bool row_add(struct tagged *t, const char *const *fields, const size_t *lengths) {
    const char *word = fields[0], *tag = fields[1];
    const char *const word_end = word + lengths[0], *const tag_end = tag + lengths[1];
    while (word < word_end && tag < tag_end) {
        const char *a = memchr(word, '\n', (size_t)(word_end - word)),
                   *b = memchr(tag, '\n', (size_t)(tag_end - tag));
        if (!a || !b) break;
        size_t n = (size_t)(b - tag);
        const char *name = tag_name(t, tag, &n);
        word_add(t, word, (size_t)(a - word), name, n);
        word = a + 1;
        tag = b + 1;
    }
    if (word == word_end && tag == tag_end) return true;
    return fail("%s: line %llu: found lists of words and tags that differ in length, expected a tag for each "
                "word",
                t->path, (unsigned long long)t->sentences[t->n].line) == EXIT_DONE;
}

// The next sentence into the group: 1, 0 at the end, -1 on error.
static int sentence_read(struct tagged *t) {
    sabok_error err = {0};
    sabok_tagged s;
    const char *fields[2];
    size_t lengths[2];
    const int got =
        t->rows ? sabok_rows_next(t->rows, fields, lengths, &err) : sabok_conll_next(t->conll, &s, &err);
    if (got < 0) fail_error(&err);
    if (got <= 0) return got;
    heap_grow(&t->sentences, &t->sentences_cap, t->n + 1, sizeof *t->sentences);
    t->sentences[t->n] = (struct sentence){.first = t->word_count};
    t->sentences[t->n].line = t->rows ? sabok_rows_line(t->rows) : s.line;
    for (size_t i = 0; !t->rows && i < s.length; i++)
        word_add(t, s.words[i], strlen(s.words[i]), s.tags[i], strlen(s.tags[i]));
    const bool ok = !t->rows || row_add(t, fields, lengths);
    t->n += t->sentences[t->n].words > 0; // an empty list is no sentence
    return ok ? 1 : -1;
}

static void group_clear(struct tagged *t) {
    for (size_t i = 0; i < t->n; i++)
        free(t->sentences[i].text);
    for (size_t i = 0; i < t->word_count; i++)
        free(t->words[i].tag);
    t->n = t->word_count = 0;
}

// ---- counting

// A word has the tag of its first token. One without a token, as where a text was cut, does not count.
static int sentence_count(void *ctx, size_t text, const sabok_entity *entities, size_t count) {
    struct tagged *t = ctx;
    const struct sentence *s = &t->sentences[text];
    size_t n = 0, e = 0;
    heap_grow(&t->expected, &t->expected_cap, s->words, sizeof *t->expected);
    heap_grow(&t->found, &t->found_cap, s->words, sizeof *t->found);
    for (size_t i = 0; i < s->words; i++) {
        const struct word *w = &t->words[s->first + i];
        while (e < count && entities[e].span.end <= w->begin)
            e++;
        if (e == count || entities[e].span.begin >= w->end) continue;
        t->expected[n] = w->tag;
        t->found[n] = entities[e].label;
        t->right += strcmp(t->expected[n], t->found[n]) == 0;
        n++;
    }
    sabok_error err = {0};
    t->sentence_total++;
    t->word_total += n;
    t->left_out += s->words - n;
    if (sabok_entity_counter_add(t->counter, t->expected, t->found, n, &err) == SABOK_OK) return 0;
    fail("%s: line %llu: %s", t->path, (unsigned long long)s->line, err.message);
    return 1;
}

static bool group_count(struct tagged *t, const sabok_model *model) {
    static const char *const none[] = {""};
    const char **texts = heap_array(t->n + 1, sizeof *texts);
    size_t *lengths = heap_array(t->n + 1, sizeof *lengths);
    size_t fault = SIZE_MAX;
    sabok_error err = {0};
    const sabok_tag_opts opts = {.input = {.text_lengths = lengths,
                                           .truncate = t->args->truncate,
                                           .max_length = t->args->max_length,
                                           .batch_tokens = t->args->batch_tokens,
                                           .text_at_fault = &fault},
                                 .ignore_labels = none};
    for (size_t i = 0; i < t->n; i++) {
        texts[i] = t->sentences[i].text;
        lengths[i] = t->sentences[i].size;
    }
    const sabok_status status = sabok_tag(model, texts, t->n, &opts, sentence_count, t, &err);
    if (status != SABOK_OK && status != SABOK_ECANCELED) {
        if (fault < t->n)
            fail("%s: line %llu: %s", t->path, (unsigned long long)t->sentences[fault].line, err.message);
        else
            fail_error(&err);
    }
    free(texts);
    free(lengths);
    return status == SABOK_OK;
}

static bool sentences_count(struct tagged *t, const sabok_model *model) {
    struct progress progress;
    int got = 1;
    bool ok = true;
    progress_start(&progress, t->args, "sentences");
    while (ok && got == 1) {
        while (t->n < GROUP_SENTENCES && (got = sentence_read(t)) == 1)
            continue;
        ok = got >= 0 && (t->n == 0 || group_count(t, model));
        progress_add(&progress, t->n,
                     t->rows ? sabok_rows_progress(t->rows) : sabok_conll_progress(t->conll));
        group_clear(t);
    }
    progress_end(&progress);
    if (ok && t->word_total == 0) return fail("%s: found no tagged words", texts_name(t->path)) == EXIT_DONE;
    return ok;
}

// ---- report

static const char *const average_names[] = {"macro", "micro", "weighted"}; // enum sabok_average

static bool json_report(const struct tagged *t) {
    const char *const *names;
    const sabok_counts *counts;
    const size_t n = sabok_entity_counter_types(t->counter, &names, &counts);
    bool ok = sink_text("{", 1) &&
              scores_json("eval_", "", sabok_entity_scores(counts, n, SABOK_AVERAGE_MICRO, 0)) &&
              sink_format(", \"eval_accuracy\": ") && sink_double((double)t->right / (double)t->word_total);
    for (unsigned a = 0; ok && a < COUNT(average_names); a++) {
        char suffix[16];
        snprintf(suffix, sizeof suffix, "_%s", average_names[a]);
        ok = sink_text(", ", 2) &&
             scores_json("eval_", suffix, sabok_entity_scores(counts, n, (sabok_average)a, 0));
    }
    ok = ok &&
         sink_format(", \"eval_samples\": %llu, \"words\": %llu, \"words_left_out\": %llu, \"entities\": {",
                     (unsigned long long)t->sentence_total, (unsigned long long)t->word_total,
                     (unsigned long long)t->left_out);
    for (size_t i = 0; ok && i < n; i++)
        ok = (i == 0 || sink_text(", ", 2)) && sink_string(names[i], strlen(names[i])) &&
             sink_text(": {", 3) &&
             scores_json("", "", sabok_entity_scores(&counts[i], 1, SABOK_AVERAGE_MACRO, 0)) &&
             sink_format(", \"number\": %llu}", (unsigned long long)counts[i].expected);
    return ok && sink_text("}}\n", 3);
}

static bool table_report(const struct tagged *t) {
    const char *const *names;
    const sabok_counts *counts;
    const size_t n = sabok_entity_counter_types(t->counter, &names, &counts);
    uint64_t number = 0;
    bool ok = sink_format("%-24s %10s %10s %10s %10s\n", "entity", "precision", "recall", "F1", "number");
    for (size_t i = 0; ok && i < n; i++) {
        ok = scores_row(names[i], sabok_entity_scores(&counts[i], 1, SABOK_AVERAGE_MACRO, 0),
                        counts[i].expected);
        number += counts[i].expected;
    }
    for (unsigned a = 0; ok && a < COUNT(average_names); a++)
        ok = scores_row(average_names[a], sabok_entity_scores(counts, n, (sabok_average)a, 0), number);
    ok = ok &&
         sink_format("\naccuracy %.4f, %llu sentences, %llu words", (double)t->right / (double)t->word_total,
                     (unsigned long long)t->sentence_total, (unsigned long long)t->word_total);
    if (t->left_out) ok = ok && sink_format(", %llu without a token", (unsigned long long)t->left_out);
    return ok && sink_text("\n", 1);
}

static bool tagged_run(struct tagged *t, const sabok_model *model) {
    sabok_error err = {0};
    // A model that cannot do the task is reported before any sentence is read.
    if (!group_count(t, model)) return false;
    sabok_model_get_info(model, &t->info);
    t->counter = sabok_entity_counter_new((sabok_scheme)t->args->scheme, &err);
    if (!t->counter) return fail_error(&err) == EXIT_DONE;
    return sink_open(t->args) && sentences_count(t, model) &&
           (t->args->json ? json_report(t) : table_report(t));
}

int eval_tag_run(const struct args *args) {
    struct tagged t = {.args = args};
    if (args->texts.count || args->inputs.count != 1)
        usage_fail("expected one file of tagged words: sabok eval %s", verb_eval.usage);
    if (args->columns.count > 1) usage_fail("--column: expected one column, found %zu", args->columns.count);
    t.path = args->inputs.items[0];
    if (!input_open(&t)) return EXIT_FAILED;
    sabok_model *model = model_open(args);
    bool ok = model && tagged_run(&t, model);
    if (ok)
        ok = sink_commit();
    else
        sink_abandon();
    group_clear(&t);
    sabok_entity_counter_free(t.counter);
    sabok_conll_close(t.conll);
    sabok_rows_close(t.rows);
    sabok_close(model);
    free(t.sentences);
    free(t.words);
    free(t.expected);
    free(t.found);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
