// Sentences of any bytes, and their entities by every scheme. The first byte chooses the columns and the scheme.
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

// The words are taken as tags, too.
static void check_entities(sabok_scheme scheme, const sabok_tagged *s) {
    sabok_error err = {0};
    const char *const *names;
    const sabok_counts *counts;
    sabok_entity_counter *counter = sabok_entity_counter_new(scheme, &err);
    const sabok_status status = sabok_entity_counter_add(counter, s->tags, s->words, s->length, &err);
    REQUIRE(status == SABOK_OK || (scheme != SABOK_SCHEME_DEFAULT && err.message[0]));
    const size_t n = sabok_entity_counter_types(counter, &names, &counts);
    for (size_t i = 0; i < n; i++) {
        REQUIRE(counts[i].correct <= counts[i].found && counts[i].correct <= counts[i].expected);
        REQUIRE(counts[i].found + counts[i].expected > 0 && counts[i].expected <= s->length);
        REQUIRE(i == 0 || strcmp(names[i - 1], names[i]) < 0);
    }
    const sabok_scores f = sabok_entity_scores(counts, n, SABOK_AVERAGE_MICRO, 0);
    REQUIRE(f.f1 >= 0 && f.f1 <= 1);
    sabok_entity_counter_free(counter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int fd = -1;
    static char path[40];
    if (fd < 0) {
        fd = memfd_create("conll", MFD_CLOEXEC);
        REQUIRE(fd >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (size == 0) return 0;
    const unsigned choice = *data++;
    size--;
    REQUIRE(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
    const sabok_conll_opts opts = {.word_column = choice & 3, .tag_column = choice >> 2 & 3};
    const sabok_scheme scheme = (sabok_scheme)((choice >> 4) % 7);
    const int64_t live = mem_live();
    sabok_error err = {0};
    sabok_conll *conll = sabok_conll_open(path, &opts, &err);
    sabok_tagged s;
    uint64_t line = 0;
    int got = -1;
    while (conll && (got = sabok_conll_next(conll, &s, &err)) == 1) {
        REQUIRE(s.length > 0 && s.line > line && sabok_conll_progress(conll) <= 1);
        line = s.line;
        for (size_t i = 0; i < s.length; i++)
            REQUIRE(s.words[i][0] && s.tags[i][0] && !strpbrk(s.words[i], "\n\t") &&
                    !strpbrk(s.tags[i], "\n\t"));
        check_entities(scheme, &s);
    }
    if (got < 0) REQUIRE(err.code != SABOK_OK && err.message[0] && !strchr(err.message, '\n'));
    sabok_conll_close(conll);
    REQUIRE(mem_live() == live);
    return 0;
}
