// Decoders: from the pieces' spelling to text, one step after another, each over a list of strings.
#include "text/regex.h"

#include <string.h>

#define STEPS_MAX 64
#define GROWTH_MAX 64 // times that one step's replacement may be longer than what it replaces

struct decode { // one step at work
    const struct decoder_step *step;
    const struct strings *in;
    struct strings *out;
    bool *stuck;
};
struct decoder_kind {
    const char *name;
    bool (*read)(struct json *j, struct decoder_step *step, struct arena *arena); // at the object's begin
    bool (*run)(struct decode *d); // false when out of memory or stuck
};

bool strings_end(struct strings *s) {
    if (s->bytes.failed) return false;
    if (s->count == s->cap && !mem_grow((void **)&s->ends, &s->cap, s->count + 1, sizeof *s->ends))
        return false;
    s->ends[s->count++] = s->bytes.size;
    return true;
}

void strings_free(struct strings *s) {
    buf_free(&s->bytes);
    mem_free(s->ends);
    *s = (struct strings){0};
}

static void put(struct strings *s, struct json_text t) {
    if (t.size) buf_put(&s->bytes, t.data, t.size);
}

// ---------------------------------------------------------------------------------------------- strings

static bool is_at(struct json_text t, size_t at, struct json_text what) {
    return t.size - at >= what.size && memcmp(t.data + at, what.data, what.size) == 0;
}

// t with every `what` replaced, from the left; an empty `what` is found nowhere.
static void put_replaced(struct buf *out, struct json_text t, struct json_text what, struct json_text by) {
    size_t done = 0;
    while (what.size) {
        const char *found = memmem(t.data + done, t.size - done, what.data, what.size);
        if (!found) break;
        buf_put(out, t.data + done, (size_t)(found - t.data) - done);
        buf_put(out, by.data, by.size);
        done = (size_t)(found - t.data) + what.size;
    }
    if (t.size > done) buf_put(out, t.data + done, t.size - done);
}

// Spaces before punctuation and in English contractions, one replacement after another.
static bool put_clean(struct buf *out, struct json_text t) {
    static const char *const pairs[][2] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    struct buf now = {0}, next = {0};
    if (t.size) buf_put(&now, t.data, t.size);
    for (size_t i = 0; i < COUNT(pairs) && now.size; i++) {
        next.size = 0;
        put_replaced(&next, (struct json_text){now.data, now.size},
                     (struct json_text){pairs[i][0], strlen(pairs[i][0])},
                     (struct json_text){pairs[i][1], strlen(pairs[i][1])});
        const struct buf made = next;
        next = now;
        now = made;
    }
    if (now.size) buf_put(out, now.data, now.size);
    const bool ok = !now.failed && !next.failed && !out->failed;
    buf_free(&now);
    buf_free(&next);
    return ok;
}

// ---------------------------------------------------------------------------------------------- reading

struct field { // of a decoder's object: where its value goes
    const char *name;
    struct json_text *text;
    bool *flag;
    size_t *number;
    bool needed;
};

static bool read_size(struct json *j, size_t *out) {
    uint64_t x;
    if (!json_u64(j, &x)) return false;
    *out = (size_t)x;
    return true;
}

static bool keep(struct json *j, struct json_text *t, struct arena *arena) {
    t->data = arena_copy(arena, t->data, t->size);
    return t->data || read_memory(j);
}

static bool read_fields(struct json *j, struct field *fields, size_t n, struct arena *arena) {
    struct json_text key;
    json_peek(j);
    const size_t begin = j->at;
    unsigned found = 0;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        size_t i = 0;
        while (i < n && !json_text_is(key, fields[i].name))
            i++;
        const struct field *f = &fields[i];
        const bool ok = i == n    ? json_skip(j)
                        : f->text ? json_string(j, f->text) && keep(j, f->text, arena)
                        : f->flag ? json_bool(j, f->flag)
                                  : read_size(j, f->number);
        if (!ok) return false;
        found |= i < n ? 1u << i : 0;
    }
    if (j->failed) return false;
    for (size_t i = 0; i < n; i++)
        if (fields[i].needed && !(found >> i & 1)) {
            j->at = begin;
            return json_fail(j, "the decoder lacks \"%s\", expected one", fields[i].name);
        }
    return true;
}

static bool plain_read(struct json *j, struct decoder_step *step, struct arena *arena) {
    (void)step;
    (void)arena;
    return json_skip(j);
}

static bool read_character(struct json *j, struct decoder_step *step, struct json_text text) {
    if (text.size && utf8_read((const uint8_t *)text.data, text.size, &step->character) == text.size)
        return true;
    return json_fail(j, "the decoder's character is \"%.*s\", expected one character", text_shown(text),
                     text.data);
}

// ---------------------------------------------------------------------------------------------- WordPiece, BPE

static bool wordpiece_read(struct json *j, struct decoder_step *step, struct arena *arena) {
    step->text = (struct json_text){"##", 2};
    struct field fields[] = {{.name = "prefix", .text = &step->text},
                             {.name = "cleanup", .flag = &step->flag}};
    return read_fields(j, fields, COUNT(fields), arena);
}

static bool wordpiece_run(struct decode *d) {
    const struct json_text prefix = d->step->text;
    struct buf word = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < d->in->count; i++) {
        const struct json_text t = strings_get(d->in, i);
        const bool inside = i > 0 && is_at(t, 0, prefix);
        word.size = 0;
        if (i > 0 && !inside) buf_put(&word, " ", 1);
        const size_t skip = inside ? prefix.size : 0;
        if (t.size > skip) buf_put(&word, t.data + skip, t.size - skip);
        ok = !word.failed;
        const struct json_text whole = {word.data, word.size};
        if (ok && d->step->flag)
            ok = put_clean(&d->out->bytes, whole);
        else
            put(d->out, whole);
        ok = ok && strings_end(d->out);
    }
    buf_free(&word);
    return ok;
}
static const struct decoder_kind kind_wordpiece = {"WordPiece", wordpiece_read, wordpiece_run};

static bool bpe_read(struct json *j, struct decoder_step *step, struct arena *arena) {
    struct field fields[] = {{.name = "suffix", .text = &step->text, .needed = true}};
    return read_fields(j, fields, COUNT(fields), arena);
}

static bool bpe_run(struct decode *d) {
    for (size_t i = 0; i < d->in->count; i++) {
        const struct json_text by = {" ", i + 1 < d->in->count};
        put_replaced(&d->out->bytes, strings_get(d->in, i), d->step->text, by);
        if (!strings_end(d->out)) return false;
    }
    return true;
}
static const struct decoder_kind kind_bpe = {"BPEDecoder", bpe_read, bpe_run};

// ---------------------------------------------------------------------------------------------- bytes

// UTF-8 with each bad sequence as U+FFFD.
static void put_lossy(struct strings *s, const char *text, size_t size) {
    for (size_t at = 0; at < size;) {
        uint32_t c;
        char bytes[4];
        at += utf8_read((const uint8_t *)text + at, size - at, &c);
        buf_put(&s->bytes, bytes, utf8_write(c, bytes));
    }
}

// A piece with a character that stands for no byte is taken as it is.
static void put_piece_bytes(struct buf *out, struct json_text t) {
    const size_t first = out->size;
    for (size_t at = 0; at < t.size;) {
        uint32_t c;
        at += utf8_read((const uint8_t *)t.data + at, t.size - at, &c);
        const int byte = char_byte(c);
        if (byte < 0) {
            out->size = first;
            buf_put(out, t.data, t.size);
            return;
        }
        const char b = (char)byte;
        buf_put(out, &b, 1);
    }
}

static bool bytes_run(struct decode *d) {
    struct buf bytes = {0};
    for (size_t i = 0; i < d->in->count; i++)
        put_piece_bytes(&bytes, strings_get(d->in, i));
    put_lossy(d->out, bytes.data, bytes.size);
    const bool ok = !bytes.failed && strings_end(d->out);
    buf_free(&bytes);
    return ok;
}
static const struct decoder_kind kind_bytes = {"ByteLevel", plain_read, bytes_run};
const struct decoder_kind *const decoder_bytes = &kind_bytes;

static int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The byte that "<0x41>" names, or -1. The reference's number may have a sign: "<0x+A>".
static int named_byte(struct json_text t) {
    if (t.size != 6 || memcmp(t.data, "<0x", 3) != 0 || t.data[5] != '>') return -1;
    const int high = t.data[3] == '+' ? 0 : hexadecimal(t.data[3]), low = hexadecimal(t.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

static bool is_utf8(const char *text, size_t size) {
    for (size_t at = 0; at < size;) {
        uint32_t c;
        const size_t n = utf8_read((const uint8_t *)text + at, size - at, &c);
        if (c == CHAR_REPLACEMENT && (n != 3 || (uint8_t)text[at] != 0xef)) return false;
        at += n;
    }
    return true;
}

// Bytes that stand together: their text, or a U+FFFD for each.
static bool end_bytes(struct strings *out, struct buf *bytes) {
    const bool whole = is_utf8(bytes->data, bytes->size);
    for (size_t i = 0; !whole && i < bytes->size; i++) {
        buf_put(&out->bytes, "\xef\xbf\xbd", 3);
        if (!strings_end(out)) return false;
    }
    if (whole && bytes->size) {
        buf_put(&out->bytes, bytes->data, bytes->size);
        if (!strings_end(out)) return false;
    }
    bytes->size = 0;
    return true;
}

static bool fallback_run(struct decode *d) {
    struct buf bytes = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < d->in->count; i++) {
        const struct json_text t = strings_get(d->in, i);
        const int byte = named_byte(t);
        const char b = (char)byte;
        if (byte >= 0) {
            buf_put(&bytes, &b, 1);
            continue;
        }
        ok = end_bytes(d->out, &bytes);
        put(d->out, t);
        ok = ok && strings_end(d->out);
    }
    ok = ok && !bytes.failed && end_bytes(d->out, &bytes);
    buf_free(&bytes);
    return ok;
}
static const struct decoder_kind kind_fallback = {"ByteFallback", plain_read, fallback_run};

// ---------------------------------------------------------------------------------------------- Metaspace

static bool metaspace_read(struct json *j, struct decoder_step *step, struct arena *arena) {
    struct json_text mark = {0}, scheme = {0};
    bool prefix = true;
    struct field fields[] = {{.name = "replacement", .text = &mark, .needed = true},
                             {.name = "prepend_scheme", .text = &scheme},
                             {.name = "add_prefix_space", .flag = &prefix}};
    if (!read_fields(j, fields, COUNT(fields), arena)) return false;
    step->flag = scheme.data ? !json_text_is(scheme, "never") : prefix;
    return read_character(j, step, mark);
}

// The mark that a text begins with is not the text's own, but the first only (bugs.md 36: the reference removes all marks
// of the first piece).
static bool metaspace_run(struct decode *d) {
    for (size_t i = 0; i < d->in->count; i++) {
        const struct json_text t = strings_get(d->in, i);
        for (size_t at = 0; at < t.size;) {
            uint32_t c;
            const size_t n = utf8_read((const uint8_t *)t.data + at, t.size - at, &c);
            if (c != d->step->character)
                buf_put(&d->out->bytes, t.data + at, n);
            else if (i > 0 || at > 0 || !d->step->flag)
                buf_put(&d->out->bytes, " ", 1);
            at += n;
        }
        if (!strings_end(d->out)) return false;
    }
    return true;
}
static const struct decoder_kind kind_metaspace = {"Metaspace", metaspace_read, metaspace_run};
const struct decoder_kind *const decoder_metaspace = &kind_metaspace;

// ---------------------------------------------------------------------------------------------- Fuse, Strip, Replace

static bool fuse_run(struct decode *d) {
    if (d->in->bytes.size) buf_put(&d->out->bytes, d->in->bytes.data, d->in->bytes.size);
    return strings_end(d->out);
}
static const struct decoder_kind kind_fuse = {"Fuse", plain_read, fuse_run};

static bool strip_read(struct json *j, struct decoder_step *step, struct arena *arena) {
    struct json_text character = {0};
    struct field fields[] = {{.name = "content", .text = &character, .needed = true},
                             {.name = "start", .number = &step->left, .needed = true},
                             {.name = "stop", .number = &step->right, .needed = true}};
    return read_fields(j, fields, COUNT(fields), arena) && read_character(j, step, character);
}

static bool strip_run(struct decode *d) {
    char mark[4];
    const struct json_text what = {mark, utf8_write(d->step->character, mark)};
    for (size_t i = 0; i < d->in->count; i++) {
        const struct json_text t = strings_get(d->in, i);
        size_t begin = 0, end = t.size;
        for (size_t k = 0; k < d->step->left && begin < t.size && is_at(t, begin, what); k++)
            begin += what.size;
        for (size_t k = 0; k < d->step->right && end >= begin + what.size; k++) {
            if (memcmp(t.data + end - what.size, what.data, what.size) != 0) break;
            end -= what.size;
        }
        put(d->out, (struct json_text){t.data + begin, end - begin});
        if (!strings_end(d->out)) return false;
    }
    return true;
}
static const struct decoder_kind kind_strip = {"Strip", strip_read, strip_run};

static bool replace_read(struct json *j, struct decoder_step *step, struct arena *arena) {
    struct json_text key;
    bool found = false;
    json_peek(j);
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        const bool is_pattern = json_text_is(key, "pattern"), is_content = json_text_is(key, "content");
        if (is_pattern && step->regex) return json_fail(j, "a second \"pattern\"");
        const bool ok = is_pattern   ? (step->regex = regex_read(j)) != NULL
                        : is_content ? json_string(j, &step->text) && keep(j, &step->text, arena)
                                     : json_skip(j);
        if (!ok) return false;
        found = found || is_content;
    }
    if (j->failed) return false;
    if (found && step->regex && step->text.size <= GROWTH_MAX) return true;
    j->at = begin;
    return json_fail(j, "Replace, expected a pattern and a content of at most %d bytes", GROWTH_MAX);
}

static bool replace_run(struct decode *d) {
    struct spans matches = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < d->in->count; i++) {
        const struct json_text t = strings_get(d->in, i);
        size_t done = 0;
        matches.size = 0;
        ok = regex_find(d->step->regex, t.data, t.size, &matches, d->stuck);
        for (size_t k = 0; ok && k < matches.size; k++) {
            put(d->out, (struct json_text){t.data + done, matches.items[k].begin - done});
            put(d->out, d->step->text);
            done = matches.items[k].end;
        }
        if (ok) put(d->out, (struct json_text){t.data + done, t.size - done});
        ok = ok && strings_end(d->out);
    }
    spans_free(&matches);
    return ok;
}
static const struct decoder_kind kind_replace = {"Replace", replace_read, replace_run};

// ---------------------------------------------------------------------------------------------- CTC

static bool ctc_read(struct json *j, struct decoder_step *step, struct arena *arena) {
    step->text = (struct json_text){"<pad>", 5};
    step->other = (struct json_text){"|", 1};
    step->flag = true;
    struct field fields[] = {{.name = "pad_token", .text = &step->text, .needed = true},
                             {.name = "word_delimiter_token", .text = &step->other, .needed = true},
                             {.name = "cleanup", .flag = &step->flag, .needed = true}};
    return read_fields(j, fields, COUNT(fields), arena);
}

static bool same(struct json_text a, struct json_text b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool ctc_run(struct decode *d) {
    struct buf word = {0}, clean = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < d->in->count; i++) {
        const struct json_text t = strings_get(d->in, i);
        if (i > 0 && same(t, strings_get(d->in, i - 1))) continue;
        word.size = clean.size = 0;
        put_replaced(&word, t, d->step->text, (struct json_text){"", 0});
        const size_t before = d->out->bytes.size;
        if (d->step->flag) {
            ok = put_clean(&clean, (struct json_text){word.data, word.size});
            put_replaced(&d->out->bytes, (struct json_text){clean.data, clean.size}, d->step->other,
                         (struct json_text){" ", 1});
        } else {
            put(d->out, (struct json_text){word.data, word.size});
        }
        ok = ok && !word.failed;
        if (d->out->bytes.size > before) ok = ok && strings_end(d->out);
    }
    buf_free(&word);
    buf_free(&clean);
    return ok;
}
static const struct decoder_kind kind_ctc = {"CTC", ctc_read, ctc_run};

// ---------------------------------------------------------------------------------------------- the list

static const struct decoder_kind *const decoder_kinds[] = {&kind_wordpiece, &kind_bpe,       &kind_bytes,
                                                           &kind_fallback,  &kind_metaspace, &kind_fuse,
                                                           &kind_strip,     &kind_replace,   &kind_ctc};

bool decoder_add(struct decoder *d, const struct decoder_step *step) {
    if (d->count == d->cap && !mem_grow((void **)&d->steps, &d->cap, d->count + 1, sizeof *d->steps))
        return false;
    d->steps[d->count++] = *step;
    d->given = true;
    return true;
}

static bool read_sequence(struct json *j, struct decoder *d, struct arena *arena) {
    struct json_text key;
    if (!json_object_begin(j)) return false;
    d->given = true;
    while (json_key(j, &key)) {
        if (!json_text_is(key, "decoders")) {
            if (!json_skip(j)) return false;
            continue;
        }
        if (!json_array_begin(j)) return false;
        while (json_item(j))
            if (!decoder_read(j, d, arena)) return false;
    }
    return !j->failed;
}

bool decoder_read(struct json *j, struct decoder *d, struct arena *arena) {
    if (json_peek(j) == JSON_NULL) return json_null(j);
    struct json_text type;
    size_t at;
    if (!object_type(j, &type, &at)) return false;
    if (json_text_is(type, "Sequence")) return read_sequence(j, d, arena);
    for (size_t i = 0; i < COUNT(decoder_kinds); i++) {
        if (!json_text_is(type, decoder_kinds[i]->name)) continue;
        struct decoder_step step = {.kind = decoder_kinds[i]};
        bool ok = step.kind->read(j, &step, arena);
        if (ok && d->count == STEPS_MAX) ok = json_fail(j, "more than %d decoders", STEPS_MAX);
        ok = ok && (decoder_add(d, &step) || read_memory(j));
        if (!ok) regex_free(step.regex);
        return ok;
    }
    j->at = at;
    return json_fail(j, "decoder \"%.*s\" is not supported, expected one of docs/formats.md",
                     text_shown(type), type.data ? type.data : "");
}

void decoder_free(struct decoder *d) {
    for (size_t i = 0; i < d->count; i++)
        regex_free(d->steps[i].regex);
    mem_free(d->steps);
    *d = (struct decoder){0};
}

bool decoder_run(const struct decoder *d, struct strings *in, struct strings *out, bool *stuck) {
    for (size_t i = 0; i < d->count; i++) {
        out->count = out->bytes.size = 0;
        struct decode work = {&d->steps[i], in, out, stuck};
        if (!work.step->kind->run(&work) || out->bytes.failed) return false;
        const struct strings made = *out;
        *out = *in;
        *in = made;
    }
    return true;
}
