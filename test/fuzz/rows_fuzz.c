// Rows of any bytes. The first byte chooses the format, the header and the columns.
#include "file/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(x)                                                                                           \
    do {                                                                                                     \
        if (!(x)) abort();                                                                                   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Lines are the file cut at line ends: put together again they are as long as it was.
static void check_lines(size_t total, uint64_t rows, const uint8_t *data, size_t size) {
    size_t ends = 0, returns = 0;
    for (size_t i = 0; i < size; i++) {
        ends += data[i] == '\n';
        returns += data[i] == '\r' && (i + 1 == size || data[i + 1] == '\n');
    }
    size_t mark = size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    REQUIRE(total + ends + returns + mark == size);
    REQUIRE(rows == ends + (size > mark && data[size - 1] != '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const sabok_format formats[] = {SABOK_FORMAT_LINES, SABOK_FORMAT_JSONL, SABOK_FORMAT_CSV,
                                           SABOK_FORMAT_TSV};
    static const char *const names[] = {"a", "b"}, *const numbers[] = {"1", "0"};
    static int fd = -1;
    static char path[40];
    if (fd < 0) {
        fd = memfd_create("rows", MFD_CLOEXEC);
        REQUIRE(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (size == 0) return 0;
    unsigned choice = *data++;
    size--;
    REQUIRE(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    sabok_rows_opts opts = {.format = formats[choice & 3], .no_header = choice & 4, .lists = choice & 32};
    opts.columns = choice & 8 ? (opts.no_header ? numbers : names) : NULL;
    opts.column_count = choice & 8 ? 1 + (choice >> 4 & 1) : 0;
    int64_t live = mem_live();
    sabok_error err = {0};
    sabok_rows *r = sabok_rows_open(path, &opts, &err);
    const char *fields[2];
    size_t lengths[2], total = 0;
    int got = -1;
    uint64_t rows = 0, line = 0;
    while (r && (got = sabok_rows_next(r, fields, lengths, &err)) == 1) {
        for (size_t i = 0; i < sabok_rows_columns(r); i++) {
            REQUIRE(fields[i][lengths[i]] == '\0');
            total += lengths[i];
        }
        REQUIRE(sabok_rows_line(r) > line && sabok_rows_progress(r) <= 1);
        line = sabok_rows_line(r);
        rows++;
    }
    if (got < 0) REQUIRE(err.code != SABOK_OK && err.message[0] && !strchr(err.message, '\n'));
    if (r && opts.format == SABOK_FORMAT_LINES) check_lines(total, rows, data, size);
    REQUIRE(total <= 3 * size);
    sabok_rows_close(r);
    REQUIRE(mem_live() == live);
    return 0;
}
