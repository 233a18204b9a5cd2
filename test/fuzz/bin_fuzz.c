// The reader of torch.save's files over any bytes: those of a file, or, behind a 0, of the pickle in an archive with two
// storages. What is read lies inside the bytes or a copy, and says nothing that the bytes do not hold.
#include "file/archive.h"
#include "file/file.h"

#include <stdlib.h>

#define REQUIRE(x)                                                                                           \
    do {                                                                                                     \
        if (!(x)) abort();                                                                                   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_file(const uint8_t *data, size_t size) {
    int64_t live = mem_live();
    sabok_error err = {0};
    struct torch_file *f = torch_parse(data, size, "fuzz", &err);
    if (!f) {
        REQUIRE(err.code != SABOK_OK && strncmp(err.message, "fuzz: ", 6) == 0);
        REQUIRE(!strchr(err.message, '\n') && mem_live() == live);
        return;
    }
    volatile uint8_t sink = 0;
    uint64_t copied = 0;
    for (size_t i = 0; i < torch_count(f); i++) {
        const struct tensor_entry *e = torch_get(f, i);
        uint64_t items = 1;
        for (size_t d = 0; d < e->rank; d++)
            items *= e->dims[d];
        REQUIRE(items * dtype_bytes(e->dtype) == e->bytes && e->begin <= size);
        if (e->data == data + e->begin)
            REQUIRE(e->bytes <= size - e->begin);
        else
            copied += e->bytes;
        for (uint64_t b = 0; b < e->bytes; b++)
            sink ^= e->data[b];
        REQUIRE(torch_find(f, e->name) == e);
        torch_drop(f, e);
    }
    REQUIRE(copied <= 4 * (size + (1 << 20)));
    (void)sink;
    torch_close(f);
    REQUIRE(mem_live() == live);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || data[0] != 0) {
        check_file(data, size);
        return 0;
    }
    static const uint8_t storage[64] = {1, 2, 3};
    const struct archive_record records[] = {
        {"m/data.pkl", data + 1, size - 1}, {"m/data/0", storage, 64}, {"m/data/1", storage, 16}};
    struct buf b = {0};
    archive_write(&b, records, COUNT(records), size % 2);
    uint8_t *exact = malloc(b.size); // so that a sanitizer sees every read past its end
    REQUIRE(exact && !b.failed);
    memcpy(exact, b.data, b.size);
    const size_t n = b.size;
    buf_free(&b);
    check_file(exact, n);
    free(exact);
    return 0;
}
