// Names and file endings of the data formats.
#include "file/file.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    sabok_format format;
} format_names[] = {
    {"auto", SABOK_FORMAT_AUTO},    {"lines", SABOK_FORMAT_LINES}, {"text", SABOK_FORMAT_LINES},
    {"txt", SABOK_FORMAT_LINES},    {"jsonl", SABOK_FORMAT_JSONL}, {"json", SABOK_FORMAT_JSONL},
    {"ndjson", SABOK_FORMAT_JSONL}, {"csv", SABOK_FORMAT_CSV},     {"tsv", SABOK_FORMAT_TSV},
    {"tab", SABOK_FORMAT_TSV},      {"npy", SABOK_FORMAT_NPY},     {"safetensors", SABOK_FORMAT_SAFETENSORS},
};

bool sabok_format_parse(const char *name, sabok_format *out) {
    for (size_t i = 0; name && i < COUNT(format_names); i++)
        if (strcasecmp(name, format_names[i].name) == 0) {
            *out = format_names[i].format;
            return true;
        }
    return false;
}

sabok_format format_of_path(const char *path, sabok_format otherwise) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    sabok_format format = SABOK_FORMAT_AUTO;
    if (!dot || !sabok_format_parse(dot + 1, &format) || format == SABOK_FORMAT_AUTO) return otherwise;
    return format;
}
