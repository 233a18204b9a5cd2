// Rows from lines, JSON lines, CSV and TSV.
#include "file/crafted.h"

#include <fcntl.h>
#include <sys/wait.h>

// Opens `text` as a file called `name` and reads all rows into one string: fields joined by '|', rows ended
// by
// '\n'; an error's message ends it.
static char *rows_of(const char *name, const void *text, size_t size, const sabok_rows_opts *opts) {
    const char *folder = crafted_folder(), *path = crafted_path(folder, name);
    crafted_write(folder, name, text, size);
    int64_t live = mem_live();
    struct buf out = {0};
    sabok_error err = {0};
    sabok_rows *r = sabok_rows_open(path, opts, &err);
    const char *fields[8];
    size_t lengths[8];
    int got = r ? 1 : -1;
    uint64_t line = 0;
    while (r && (got = sabok_rows_next(r, fields, lengths, &err)) == 1) {
        for (size_t i = 0; i < sabok_rows_columns(r); i++) {
            if (i) buf_put(&out, "|", 1);
            buf_put(&out, fields[i], lengths[i]);
            assert_int_equal(fields[i][lengths[i]], 0);
        }
        buf_put(&out, "\n", 1);
        assert_true(sabok_rows_line(r) > line);
        line = sabok_rows_line(r);
        assert_true(sabok_rows_progress(r) > 0 && sabok_rows_progress(r) <= 1);
    }
    if (got < 0) {
        assert_int_not_equal(err.code, SABOK_OK);
        buf_put(&out, "ERROR ", 6);
        const char *at = strstr(err.message, name); // without the folder, whose name changes
        buf_put(&out, at ? at : err.message, strlen(at ? at : err.message));
        sabok_error again = {0};
        if (r) assert_int_equal(sabok_rows_next(r, fields, lengths, &again), -1); // it stays
        if (r) assert_string_equal(again.message, err.message);
    } else {
        assert_int_equal(sabok_rows_next(r, fields, lengths, &err), 0);
    }
    sabok_rows_close(r);
    buf_put(&out, "", 1);
    assert_int_equal(mem_live(), live + 1);
    crafted_remove(folder);
    return out.data;
}

static void expect(const char *name, const char *text, const sabok_rows_opts *opts, const char *expected) {
    char *found = rows_of(name, text, strlen(text), opts);
    if (strstr(expected, "ERROR"))
        assert_contains(found, expected);
    else
        assert_string_equal(found, expected);
    mem_free(found);
}

static const sabok_rows_opts two = {.columns = (const char *const[]){"b", "a"}, .column_count = 2};
static const sabok_rows_opts only_b = {.columns = (const char *const[]){"b"}, .column_count = 1};
static const sabok_rows_opts no_header = {
    .columns = (const char *const[]){"1"}, .column_count = 1, .no_header = true};

static const sabok_rows_opts lists = {
    .columns = (const char *const[]){"b", "a"}, .column_count = 2, .lists = true};

static void test_lines(void **state) {
    (void)state;
    expect("x.txt", "", NULL, "");
    expect("x.txt", "a\nb\n", NULL, "a\nb\n");
    expect("x.txt", "a\r\nb\r\n\r\nc", NULL,
           "a\nb\n\nc\n"); // CRLF; an empty line is a row; no final line end
    expect("x", "\n\n", NULL, "\n\n");
    expect("x",
           "\xEF\xBB\xBF"
           "a\n\xEF\xBB\xBF",
           NULL, "a\n\xEF\xBB\xBF\n"); // only a first mark is a mark
    expect("x.txt", "a\tb,c\"d\n", NULL, "a\tb,c\"d\n");
    expect("x.txt", "a\rb\n", NULL, "a\rb\n");
    expect("x.txt", "a\n", &only_b, "ERROR x.txt: lines of text have no columns");
    char *found = rows_of("x.txt", "a\0b\n\0", 5, NULL);
    assert_memory_equal(found, "a\0b\n\0\n", 7);
    mem_free(found);
}

static void test_jsonl(void **state) {
    (void)state;
    expect("x.jsonl", "{\"a\":\"1\",\"text\":\"t\\u00e9\\n\"}\n\n  \n{\"text\":\"u\"}", NULL,
           "t\xc3\xa9\n\nu\n");
    expect("x.jsonl", "\"bare\"\r\n\"two\"\n", NULL, "bare\ntwo\n");
    expect("x.jsonl", "{\"sentence1\":\"s\",\"sentence\":\"t\"}\n", NULL, "t\n");
    expect("x.jsonl", "{\"q\":\"first\",\"r\":\"s\"}\n{\"r\":\"s\",\"q\":\"kept\"}\n", NULL, "first\nkept\n");
    expect("x.ndjson", "{\"a\":1.50,\"b\":true}\n{\"b\":\"\",\"a\":-2e3}", &two, "true|1.50\n|-2e3\n");
    expect("x.json", "{\"b\":[{\"z\":1}],\"a\":\"x\"}\n", NULL,
           "ERROR x.json:1: byte 5: column 'b': found an array");
    expect("x.jsonl", "{\"a\":\"1\",\"bb\":\"2\"}\n", &only_b,
           "ERROR x.jsonl:1: found no column 'b', expected one of: a, bb (nearest: a)");
    expect("x.jsonl", "{\"b\":\"1\"}\n{\"b\":null}\n", &only_b,
           "1\nERROR x.jsonl:2: byte 5: column 'b': found null");
    expect("x.jsonl", "{\"b\":\"1\",\"b\":\"2\"}\n", &only_b,
           "ERROR x.jsonl:1: byte 13: found the column 'b' twice");
    expect("x.jsonl", "{\"b\":\"1\"}\n{\"b\":}\n", &only_b,
           "1\nERROR x.jsonl:2: byte 5: found '}', expected a value");
    expect("x.jsonl", "{\"b\":\"1\"} x\n", &only_b, "ERROR x.jsonl:1: byte 10");
    expect("x.jsonl", "{\"b\":\"1", &only_b, "ERROR x.jsonl:1: byte 7");
    expect("x.jsonl", "[1]\n", NULL,
           "ERROR x.jsonl:1: byte 0: found an array, expected an object or a string");
    expect("x.jsonl", "\"a\"\n", &only_b, "ERROR x.jsonl:1: byte 0: found a string, expected an object");
    expect("x.jsonl", "{}\n", NULL, "ERROR x.jsonl:1: found no column");
    expect("x.jsonl", "{\"b\":\"\xff\"}\n", &only_b, "ERROR x.jsonl:1: byte 6");
    expect("x.jsonl", "", NULL, "");
    char *found = rows_of("x.jsonl", "\"a\\u0000b\"\n", 11, NULL);
    assert_memory_equal(found, "a\0b\n", 5);
    mem_free(found);
}

static void test_lists(void **state) {
    (void)state;
    expect("x.jsonl", "{\"a\":\"1\",\"b\":[\"x\", 2, true]}\n{\"b\":[],\"a\":[\"\"]}\n", &lists,
           "x\n2\ntrue\n|1\n|\n\n");
    expect("x.jsonl", "{\"a\":[\"p\"],\"b\":[\"\\u00e9\"]}\n", &lists, "\xc3\xa9\n|p\n\n");
    expect("x.jsonl", "{\"a\":\"1\",\"b\":[\"x\\ny\"]}\n", &lists,
           "ERROR x.jsonl:1: byte 20: column 'b': found a line end in an item of a list");
    expect("x.jsonl", "{\"a\":\"1\",\"b\":[[1]]}\n", &lists,
           "ERROR x.jsonl:1: byte 14: column 'b': found a list of more than strings");
    expect("x.jsonl", "{\"a\":\"1\",\"b\":{}}\n", &lists,
           "ERROR x.jsonl:1: byte 13: column 'b': found an object");
    expect("x.jsonl", "{\"a\":\"1\",\"b\":[1,}\n", &lists, "ERROR x.jsonl:1: byte 16");
}

static void test_csv(void **state) {
    (void)state;
    expect("x.csv", "a,b\n1,2\n3,4\n", &two, "2|1\n4|3\n");
    expect("x.csv", "\xEF\xBB\xBF\"a\",b\r\n1,2\r\n\r\n3,4", &two, "2|1\n4|3\n");
    expect("x.csv", "a,b\n\"x,y\",\"line1\nline2\"\n\"q\"\"q\",\"\"\n", &two, "line1\nline2|x,y\n|q\"q\n");
    expect("x.csv", "a,b\n,\n \"x\",y\"z\n", &two,
           "|\ny\"z| \"x\"\n"); // quotes count at the front of a field
    expect("x.csv", "a,b\n\"\r\n\",2\r\n", &two, "2|\r\n\n");
    expect("x.csv", "text\n\"\"\n\nx\n", NULL, "\nx\n"); // a quoted empty field is a row, a blank line is not
    expect("x.csv", "q,sentence1\n1,2\n", NULL, "2\n");
    expect("x.csv", "q,r\n1,2\n", NULL, "1\n");
    expect("x.csv", "0,1\n2,3\n", &no_header, "1\n3\n");
    expect("x.csv", "a,b\n", &two, "");
    expect("x.csv", "", &two, "ERROR x.csv: found an empty file, expected a header row");
    expect("x.csv", "", &no_header, "");
    expect("x.csv", "a,b\n1,2,3\n", &two, "ERROR x.csv:2: found 3 fields, expected 2");
    expect("x.csv", "a,b\n1,2\n\"x\n\n\",2\n1\n", &two,
           "2|1\n2|x\n\n\nERROR x.csv:6: found 1 fields, expected 2");
    expect("x.csv", "a,b\n1,\"x\n\n", &two, "ERROR x.csv:2: found the end of the file inside a quoted field");
    expect("x.csv", "a,b\n\"x\"y,2\n", &two,
           "ERROR x.csv:2: byte 3: found 'y,2' after the closing quote of field 1");
    expect("x.csv", "a,c\n1,2\n", &only_b,
           "ERROR x.csv: found no column 'b', expected one of: a, c (nearest: a)");
    expect("x.csv", "b,b\n1,2\n", &only_b, "ERROR x.csv: found 2 columns named 'b'");
    expect("x.csv", "sentance,label\n1,2\n",
           &(sabok_rows_opts){.columns = (const char *const[]){"sentence"}, .column_count = 1},
           "ERROR x.csv: found no column 'sentence', expected one of: sentance, label (nearest: sentance)");
    char *found = rows_of("x.csv", "a\n\0x\n", 6, NULL);
    assert_memory_equal(found, "\0x\n", 4);
    mem_free(found);
}

static void test_tsv(void **state) {
    (void)state;
    expect("x.tsv", "a\tb\n1\t2\n", &two, "2|1\n");
    // Quotes are letters like any other: what a plain TSV file of sentences needs.
    expect("x.tsv", "a\tb\n\"He said\t\"x\"\r\n\"\t\"\"\n", &two, "\"x\"|\"He said\n\"\"|\"\n");
    expect("x.tsv", "a\tb\n\t\n", &two, "|\n");
    expect("x.tab", "a\tb\n1,2\t3", &two, "3|1,2\n");
    expect("x.tsv", "a\tb\n1\n", &two, "ERROR x.tsv:2: found 1 fields, expected 2");
    expect("x.tsv", "", &two, "ERROR x.tsv: found an empty file");
    expect("x.tsv", "a\tb\n1\t2\n", &(sabok_rows_opts){.no_header = true}, "a\n1\n");
}

static void test_format_choice(void **state) {
    (void)state;
    sabok_rows_opts csv = {.format = SABOK_FORMAT_CSV}, npy = {.format = SABOK_FORMAT_NPY};
    expect("x.txt", "text,b\n1,2\n", &csv, "1\n");
    expect("x.CSV", "text,b\n1,2\n", NULL, "1\n");
    expect("x.csv", "text,b\n", &npy, "ERROR x.csv: npy and safetensors are for output");
    static const struct {
        const char *name;
        sabok_format format;
    } names[] = {{"jsonl", SABOK_FORMAT_JSONL}, {"lines", SABOK_FORMAT_LINES},
                 {"csv", SABOK_FORMAT_CSV},     {"tsv", SABOK_FORMAT_TSV},
                 {"npy", SABOK_FORMAT_NPY},     {"safetensors", SABOK_FORMAT_SAFETENSORS},
                 {"auto", SABOK_FORMAT_AUTO},   {"text", SABOK_FORMAT_LINES},
                 {"JSON", SABOK_FORMAT_JSONL}};
    for (size_t i = 0; i < COUNT(names); i++) {
        sabok_format f = SABOK_FORMAT_AUTO;
        assert_true(sabok_format_parse(names[i].name, &f));
        assert_int_equal(f, names[i].format);
    }
    sabok_format f = SABOK_FORMAT_CSV;
    assert_false(sabok_format_parse("xml", &f));
    assert_false(sabok_format_parse("", &f));
    assert_false(sabok_format_parse(NULL, &f));
    assert_int_equal(f, SABOK_FORMAT_CSV);
}

static void test_open_errors(void **state) {
    (void)state;
    sabok_error err = {0};
    assert_null(sabok_rows_open("/nonexistent/x.csv", NULL, &err));
    assert_int_equal(err.code, SABOK_ENOTFOUND);
    assert_null(sabok_rows_open("/", NULL, &err));
    assert_contains(err.message, "is a folder, expected a file");
    assert_null(sabok_rows_open(NULL, NULL, &err));
    assert_int_equal(err.code, SABOK_EINVAL);
    sabok_rows_close(NULL);
}

// Records of every length around the sizes of the buffer, and one far longer than it.
static void test_long_records(void **state) {
    (void)state;
    static const size_t sizes[] = {131071, 131072, 131073, 262143, 262144, 262145, 524287, 524288, 3000000};
    const char *folder = crafted_folder();
    for (int csv = 0; csv < 2; csv++) {
        const char *name = csv ? "x.csv" : "x.txt", *path = crafted_path(folder, name);
        FILE *f = fopen(path, "wb");
        assert_non_null(f);
        if (csv) fputs("text\n", f);
        for (size_t i = 0; i < COUNT(sizes); i++) {
            if (csv) fputc('"', f);
            for (size_t k = 0; k < sizes[i]; k++)
                fputc(csv && k % 100 == 99 ? '\n' : 'a' + (int)(k % 23), f);
            fputs(csv ? "\"\n" : "\n", f);
        }
        fclose(f);
        sabok_rows *r = sabok_rows_open(path, NULL, NULL);
        const char *field;
        size_t length;
        for (size_t i = 0; i < COUNT(sizes); i++) {
            assert_int_equal(sabok_rows_next(r, &field, &length, NULL), 1);
            assert_int_equal(length, sizes[i]);
            for (size_t k = 0; k < length; k++)
                if (field[k] != (csv && k % 100 == 99 ? '\n' : 'a' + (int)(k % 23)))
                    fail_msg("byte %zu differs", k);
        }
        assert_int_equal(sabok_rows_next(r, &field, &length, NULL), 0);
        sabok_rows_close(r);
    }
    crafted_remove(folder);
}

// Standard input through a pipe, a few bytes at a time: rows do not depend on how reads cut them.
static void test_standard_input(void **state) {
    (void)state;
    static const char text[] = "\xEF\xBB\xBF"
                               "a,text\n1,\"x\"\"\n\"\r\n2,yy\n";
    int fds[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (size_t i = 0; i + 1 < sizeof text; i++)
            if (write(fds[1], text + i, 1) != 1) _exit(1);
        _exit(0);
    }
    close(fds[1]);
    assert_true(dup2(fds[0], STDIN_FILENO) >= 0);
    sabok_error err = {0};
    sabok_rows *r = sabok_rows_open("-", &(sabok_rows_opts){.format = SABOK_FORMAT_CSV}, &err);
    if (!r) fail_msg("%s", err.message);
    const char *field;
    size_t length;
    assert_int_equal(sabok_rows_next(r, &field, &length, &err), 1);
    assert_string_equal(field, "x\"\n");
    assert_int_equal(sabok_rows_next(r, &field, &length, &err), 1);
    assert_string_equal(field, "yy");
    assert_int_equal(sabok_rows_line(r), 4);
    assert_true(sabok_rows_progress(r) < 0);
    assert_int_equal(sabok_rows_next(r, &field, &length, &err), 0);
    sabok_rows_close(r);
    assert_true(dup2(saved, STDIN_FILENO) >= 0);
    close(saved);
    close(fds[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void test_memory_failures(void **state) {
    (void)state;
    static const struct {
        const char *name, *text;
    } cases[] = {{"x.txt", "a\nb\n"},
                 {"x.csv", "a,b\n\"x\",y\n"},
                 {"x.tsv", "a\tb\nx\ty\n"},
                 {"x.jsonl", "{\"a\":\"\\n\",\"b\":1}\n{\"a\":\"2\"}\n"},
                 {"y.jsonl", "{\"a\":[\"x\",2]}\n"}};
    const sabok_rows_opts opts = {.lists = true};
    const char *folder = crafted_folder();
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *path = crafted_path(folder, cases[i].name);
        crafted_text(folder, cases[i].name, cases[i].text);
        for (uint64_t k = 1;; k++) {
            int64_t live = mem_live();
            sabok_error err = {0};
            const char *field;
            size_t length;
            mem_fail_at(k, true);
            sabok_rows *r = sabok_rows_open(path, &opts, &err);
            int got = r ? 1 : -1;
            while (r && (got = sabok_rows_next(r, &field, &length, &err)) == 1)
                continue;
            mem_fail_at(0, false);
            sabok_rows_close(r);
            assert_int_equal(mem_live(), live);
            if (got == 0) break;
            assert_int_equal(err.code, SABOK_ENOMEM);
            assert_true(k < 500);
        }
    }
    crafted_remove(folder);
}

// The sets of this project's data, when they are at hand: every row comes out, tab by tab.
static void test_data_sets(void **state) {
    (void)state;
    static const struct {
        const char *path;
        size_t rows;
    } sets[] = {{"mrpc/train.tsv", 3576}, {"mrpc/test.tsv", 1725},    {"sts15/test.tsv", 3000},
                {"sst2/train.tsv", 6920}, {"agnews/train.tsv", 4000}, {"trec/train.tsv", 5452}};
    const char *base = getenv("SABOK_DATA");
    if (!base) base = SABOK_TEST_DIR "/../../shared/data";
    for (size_t i = 0; i < COUNT(sets); i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", base, sets[i].path);
        if (access(path, R_OK) != 0) {
            print_message("skipped: %s is not here\n", path);
            skip();
        }
        sabok_error err = {0};
        sabok_rows *r = sabok_rows_open(path, NULL, &err);
        if (!r) fail_msg("%s", err.message);
        size_t rows = 0, length;
        const char *field;
        int got;
        while ((got = sabok_rows_next(r, &field, &length, &err)) == 1)
            rows++;
        if (got) fail_msg("%s", err.message);
        assert_int_equal(rows, sets[i].rows);
        sabok_rows_close(r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_tsv),
        cmocka_unit_test(test_format_choice),
        cmocka_unit_test(test_open_errors),
        cmocka_unit_test(test_long_records),
        cmocka_unit_test(test_standard_input),
        cmocka_unit_test(test_memory_failures),
        cmocka_unit_test(test_data_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
