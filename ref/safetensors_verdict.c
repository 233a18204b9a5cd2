// Says of each file on standard input (8 bytes of length, little-endian, then the bytes) whether sabok reads it:
// one line each, "ok", or the status and the message. Built and driven by compare_safetensors.py.
#include "file/file.h"

#include <stdlib.h>

int main(void) {
    uint64_t size;
    while (fread(&size, sizeof size, 1, stdin) == 1) {
        uint8_t *data = malloc(size ? size : 1);
        if (!data || fread(data, 1, size, stdin) != size) return 1;
        sabok_error err = {0};
        struct safetensors *s = safetensors_parse(data, size, "file", &err);
        if (s)
            puts("ok");
        else
            printf("%s %s\n", sabok_status_name(err.code), err.message);
        safetensors_close(s);
        free(data);
    }
    return 0;
}
