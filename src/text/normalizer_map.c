// Nmt and ByteLevel: characters removed or exchanged one by one, bytes as letters.
#include "text/tokenizer.h"

static bool plain_read(struct json *j, struct normalizer_step *step, struct arena *arena) {
    (void)step;
    (void)arena;
    return json_skip(j);
}

// ---------------------------------------------------------------------------------------------- Nmt

static bool is_control(uint32_t c) {
    return (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f;
}

static bool is_blank(uint32_t c) {
    return c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 || (c >= 0x200b && c <= 0x200f) ||
           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
}

static bool nmt_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    (void)step;
    (void)spare;
    size_t n = 0;
    for (size_t i = 0; i < text->size; i++) {
        struct unit u = text->items[i];
        if (is_control(u.c)) continue;
        if (is_blank(u.c)) u.c = ' ';
        text->items[n++] = u;
    }
    text->size = n;
    return true;
}

const struct normalizer_kind normalizer_nmt = {"Nmt", plain_read, nmt_run, true, NULL};

// ---------------------------------------------------------------------------------------------- ByteLevel

// Printable bytes stand for themselves, the others, in order, for the code points from 256 on.
static inline bool is_printable(uint32_t b) {
    return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
}

uint32_t byte_char(uint8_t byte) {
    if (is_printable(byte)) return byte;
    return byte <= 0x20 ? 256u + byte : byte <= 0xa0 ? 256u + 33 + (byte - 0x7fu) : 323;
}

int char_byte(uint32_t c) {
    if (c < 256) return is_printable(c) ? (int)c : -1;
    if (c < 256 + 33) return (int)c - 256;
    return c < 323 ? (int)c - 289 + 0x7f : c == 323 ? 0xad : -1;
}

static bool bytes_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    (void)step;
    spare->size = 0;
    if (!units_reserve(spare, text->size)) return false;
    for (size_t i = 0; i < text->size; i++) {
        char bytes[4];
        const struct unit u = text->items[i];
        const size_t n = utf8_write(u.c, bytes);
        for (size_t k = 0; k < n; k++)
            if (!units_push(spare, byte_char((uint8_t)bytes[k]), u.begin, u.end)) return false;
    }
    units_exchange(text, spare);
    return true;
}

static size_t bytes_growth(const struct normalizer_step *step) {
    (void)step;
    return 4;
}

const struct normalizer_kind normalizer_bytes = {"ByteLevel", plain_read, bytes_run, false, bytes_growth};
