// cli: the `sabok` command. It sees only sabok.h.
//
//   main.c        picks the verb          option.c     reads the arguments by the verb's tables
//   verb.c        the list of verbs       help.c, manual.c, completion.c  print those tables
//   groups.c      options that verbs share
//   run.c eval.c inspect.c tokenize.c bench.c pull.c convert.c help.c   one file per verb; embed.c, ... one per task of `run`
//   sts.c eval_*.c  one per task of `eval`
//   texts.c       input, row by row       sink.c       output, whole or not at all
//   stream.c      what the tasks over texts have in common
#ifndef SABOK_CLI_H
#define SABOK_CLI_H

#include "sabok.h"

#include <stddef.h>
#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

// ---- heap (heap.c): ends the program with status 1 when memory is short
void *heap_array(size_t n, size_t size);
void heap_grow(void *items, size_t *cap, size_t need, size_t size); // items: the address of a pointer
char *heap_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- messages (message.c): one line on stderr, "sabok: ..."
int fail(const char *format, ...) __attribute__((format(printf, 1, 2))); // returns EXIT_FAILED
int fail_error(const sabok_error *err);                                  // the same with the library's line
_Noreturn void usage_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_listen(bool quiet); // shows the library's warnings
// The name of the list nearest to `word`, as "; did you mean X?", or "" when none is near. Static storage.
const char *nearest_hint(const char *word, const char *prefix, const char *const *names, size_t n);

// ---- signals (interrupt.c): a signal throws half-written output away and ends the program
void interrupt_start(void);
// From now on the first signal only notes its number, for a verb that has to clear up itself; the second ends the program.
void interrupt_defer(void);
int interrupt_asked(void);                  // 0: no signal yet
void interrupt_describe(const char *model); // what is read, for the message when it is cut short meanwhile
double now_seconds(void);

// ---- options
struct strings {
    const char **items;
    size_t count, cap;
};

void strings_add(struct strings *s, const char *item); // item is kept, not copied (option.c)

struct sizes {
    size_t *items;
    size_t count, cap;
};

struct shapes {
    size_t (*items)[3]; // M, N, K
    size_t count, cap;
};

// The values of all options of all verbs; a verb's tables say which of them it has.
struct args {
    struct strings positionals;
    const char *task, *model, *config, *output, *isa, *prompt, *prompt_name, *column_subset, *kernel;
    const char *revision, *local_dir, *max_shard_size;
    struct strings include, exclude, ignore_labels;
    struct strings inputs, texts, text_pairs, columns, pairs, queries;
    struct strings candidate_labels, query_files;
    const char *hypothesis_template;
    bool multi_label;
    struct sizes batch_sizes, sequence_lengths;
    const char *label_column, *positive, *query_column; // of eval
    unsigned average, zero_division, scheme;
    bool confusion, lists; // lists: no option; the task reads lists in JSON lines
    struct shapes shapes;
    bool windows; // --stride is given
    struct strings questions, contexts;
    size_t max_answer_len, max_seq_len, doc_stride, max_question_len;
    unsigned align_to_words; // index of a choice
    bool handle_impossible_answer;
    struct strings targets;
    size_t threads, seed, truncate_dim, max_seq_length, max_length, stride, batch_tokens, top_k;
    double seconds;
    unsigned dtype, device, input_format, output_format, truncation, similarity, function,
        aggregation; // indices of choices
    bool pin, no_mmap, quiet, normalize, no_header, json, program, weights, cpu, help, timing, plain;
    bool overwrite;
    bool no_truncation, no_special, overflow, peak, cold, truncate, all_scores;
    bool tokenizer;
};

enum option_kind {
    OPTION_FLAG,   // bool
    OPTION_TEXT,   // const char *
    OPTION_COUNT,  // size_t
    OPTION_REAL,   // double, positive
    OPTION_CHOICE, // unsigned: index into choices; the first is the default
    OPTION_TEXTS,  // struct strings, may be given again
    OPTION_NAMES,  // struct strings, may be given again, commas between names
    OPTION_COUNTS, // struct sizes, commas between numbers
    OPTION_SHAPES, // struct shapes, commas between MxNxK
};

struct option {
    const char *name; // spelt with '_'; '-' is the same
    enum option_kind kind;
    size_t place;      // of its value in struct args
    const char *value; // what stands for the value in help; NULL for a flag
    const char *help;
    const char *const *choices; // NULL-ended
    const char *alias;          // another spelling, not shown
    bool files;                 // the value is a file name, for completion
    size_t given;               // place of a bool that tells a value of 0 from none; 0: no such
};

// A row of a table; after the help come the fields that are not always there, `.alias = "x"`.
#define OPTION(name_, kind_, field_, value_, help_, ...)                                                     \
    {                                                                                                        \
        .name = name_, .kind = kind_, .place = offsetof(struct args, field_), .value = value_,               \
        .help = help_, __VA_ARGS__                                                                           \
    }

struct option_group {
    const char *title;
    const struct option *options;
    size_t count;
};

extern const struct option_group group_general, group_task, group_model, group_input, group_output,
    group_embed, group_length, group_pair;

const char *dtype_name(const struct args *args); // as it was asked for

#define GROUPS_OWN 6 // of a verb or task, at most; what is not used is NULL

// What `run` and `eval` do: one row a task.
struct task {
    const char *name;
    const char *aliases[6];
    const char *summary;
    const struct option_group *groups[GROUPS_OWN];
    int (*run)(const struct args *args);
};

struct verb {
    const char *name;
    const char *usage; // what follows the name
    const char *summary;
    const char *about; // a paragraph for help and manual
    const struct option_group *groups[GROUPS_OWN];
    const struct task *tasks; // NULL: none
    size_t task_count;
    size_t positional_max;
    int (*run)(struct args *args);
};

extern const struct verb *const verbs[];
extern const size_t verb_count;
const struct verb *verb_find(const char *name); // NULL: none
// NULL: none; '-' and '_' alike.
const struct task *task_find(const struct verb *verb, const char *name);

bool name_equal(const char *a, const char *b); // '-' and '_' alike
// The groups of a verb, and of one of its tasks or of all when `task` is NULL; at most GROUP_MAX.
#define GROUP_MAX 32
size_t verb_groups(const struct verb *verb, const struct task *task,
                   const struct option_group *out[GROUP_MAX]);

// Reads argv[0, n) into *args; ends the program with EXIT_USAGE on an error.
void options_read(const struct verb *verb, const struct task *task, char **argv, size_t n, struct args *args);
// Moves task, model and input files from the positionals to their places.
const struct task *args_take_task(const struct verb *verb, struct args *args);
void args_take_model(const struct verb *verb, struct args *args);

void help_print(FILE *out, const struct verb *verb); // NULL: of the whole command
void manual_print(FILE *out);
bool completion_print(FILE *out, const char *shell); // false: no such shell

extern const struct verb verb_run, verb_eval, verb_inspect, verb_tokenize, verb_bench, verb_pull, verb_help;
extern const struct verb verb_convert;
// The tasks, one file each; run.c and eval.c list them.
int answer_run(const struct args *args);
extern const struct option_group group_answer;
int embed_run(const struct args *args);
int features_run(const struct args *args);
int fill_mask_run(const struct args *args);
extern const struct option_group group_fill_mask;
int similarity_run(const struct args *args);
int sts_run(const struct args *args);
int classify_run(const struct args *args);
int tag_run(const struct args *args);
int rerank_run(const struct args *args);
int zero_shot_run(const struct args *args);
int search_run(const struct args *args);
extern const struct option_group group_zero_shot, group_search;
extern const char *const similarity_choices[]; // in the order of enum sabok_similarity_fn
extern const struct option_group group_similarity, group_sts, group_classify, group_tag, group_rerank;

// ---- the library, with the command's options
sabok_model *model_open(const struct args *args); // prints the error; NULL
void embed_options(const struct args *args, sabok_embed_opts *out);
// Of the vectors that sabok_embed gives by these options, when it accepts them.
size_t embed_width(const struct args *args, const sabok_model *model);

// ---- tasks of eval
int eval_classify_run(const struct args *args);
int eval_tag_run(const struct args *args);
int eval_rank_run(const struct args *args);
int eval_answer_run(const struct args *args);
extern const struct option_group group_labelled, group_tagged, group_ranked;
bool scores_json(const char *prefix, const char *suffix, sabok_scores s); // keys and values, without braces
bool scores_row(const char *name, sabok_scores s, uint64_t support);      // of a table

// ---- input (texts.c): --text values, then files
struct texts {
    const struct args *args;
    const struct strings *columns; // of files; count 0: the one text column
    size_t width;                  // fields a row
    size_t next_text, next_file;
    sabok_rows *rows;
    uint64_t taken;
    bool failed; // said on stderr already
};

// Where a row was read. path NULL: of --text, of which it is number `line`.
struct place {
    const char *path;
    uint64_t line;
};

// A group of rows, reused: field j of row i is fields[i * width + j].
struct rows {
    const char **fields;
    size_t *lengths;
    struct place *places; // [n]
    size_t n, width;
    char *bytes;
    size_t *begins;
    size_t fields_cap, lengths_cap, begins_cap, bytes_cap, places_cap;
};

bool texts_open(struct texts *t, const struct args *args, const struct strings *columns);
// Reads the next group; false at the end and on an error (t->failed).
bool texts_next(struct texts *t, struct rows *out);
// All that is left.
bool texts_rest(struct texts *t, struct rows *out);
const char *texts_name(const char *path); // as shown in messages
// True when the file can be read again and its first row has this column.
bool texts_have_column(const struct args *args, const char *path, const char *name);
double texts_progress(const struct texts *t); // 0..1, negative: unknown
void texts_close(struct texts *t);
void rows_free(struct rows *r);

// ---- tasks over streams of texts (stream.c)
// The fields of rows column by column: field i of column j is fields[j * rows->n + i].
struct parted {
    const char **fields;
    size_t *lengths;
    size_t fields_cap, lengths_cap;
};
void columns_part(const struct rows *rows, struct parted *out);
void parted_free(struct parted *p);
// With --pair or --text_pair, a row is a text and its pair: the columns become two, and the texts are interleaved.
void pairs_join(struct args *args);
// Reads a file that has the columns text and text_pair as pairs, when no column is asked for.
void pairs_find(struct args *args);

struct stream {
    const char *unit; // of the progress bar
    // Does the task over a group of rows and writes its results; says what failed. Called first with no rows, to see
    // whether the model fits.
    bool (*group)(void *ctx, const sabok_model *model, const struct rows *rows);
    bool (*end)(void *ctx, const sabok_model *model); // after the last group; or NULL
    void *ctx;
};
// Input by args->columns, model, output; the exit status.
int stream_run(const struct args *args, const struct stream *stream);
// The options of a group: parted receives its fields, the texts first, then their pairs where rows have two columns.
void text_options(const struct args *args, const struct rows *rows, struct parted *parted,
                  sabok_text_opts *out);
// Prints an error about a row (SIZE_MAX: about none) with the place where it was read. Always false.
bool row_fail(const struct rows *rows, size_t row, const sabok_error *err);
bool label_write(const sabok_label *label); // as JSON

// ---- time of a run, for --timing (timing.c)
struct timing {
    bool wanted;
    double open_s, embed_s, texts, tokens;
};
// sabok_embed of all fields of the rows into out.
sabok_status timed_embed(const sabok_model *model, const struct rows *rows, const sabok_embed_opts *base,
                         struct timing *timing, float *out, sabok_error *err);
// Adds what embedding all fields of the rows took.
void timing_add(struct timing *timing, const sabok_model *model, const struct rows *rows, size_t max_length,
                double seconds);
void timing_print(const struct timing *t);

// ---- output (sink.c): one a run. Functions return false after a failure, which they print once.
bool sink_open(const struct args *args);                       // text
bool sink_open_vectors(const struct args *args, size_t width); // JSON lines, .csv, .npy, .safetensors
bool sink_text(const char *text, size_t n);
bool sink_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool sink_float(float x);
bool sink_double(double x);
bool sink_string(const char *text, size_t n); // as JSON
bool sink_flush(void);
bool sink_vectors(const float *rows, size_t n);
bool sink_commit(void); // the file appears under its name
void sink_abandon(
    void); // the file is gone; safe to call at any time, from the signal thread too, and never waits
           // for a reader of standard output
int sink_write(void *ctx, const char *text, size_t n); // a sabok_write_fn

// ---- progress (progress.c): a bar on stderr, only when that is a terminal
struct progress {
    bool shown, drawn;
    double start, last;
    uint64_t done;
    const char *unit;
};
void progress_start(struct progress *p, const struct args *args, const char *unit);
void progress_add(struct progress *p, uint64_t n, double share); // share < 0: unknown
void progress_end(struct progress *p);

// ---- measuring (bench.c, bench_text.c, bench_tokens.c, bench_kernel.c)
struct bench_times {
    double *seconds;
    size_t count, cap;
    double total;
};
void times_add(struct bench_times *t, double seconds);
void times_sort(struct bench_times *t);
double times_at(const struct bench_times *t, double share); // sorted: 0 least, 0.5 median
bool times_enough(const struct args *args, const struct bench_times *t);
struct bench_row {
    size_t batch_size, sequence_length; // 0: of a text file
    double tokens, sequences, flops;
    bool later; // not the first of a table
};
bool bench_print(const struct args *args, const sabok_model_info *info, const struct bench_row *row,
                 struct bench_times *times, double peak_flops);
double flops_of(const sabok_model_info *info, double length); // of one sequence
bool bench_text(const struct args *args, const sabok_model *model, double peak_flops);
bool bench_kernels(const struct args *args);
bool bench_tokens(const struct args *args);

#endif
