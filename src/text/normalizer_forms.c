// Unicode normal forms and letter case, with the reference's alignment: a code point that replaces another
// takes the place of the next one not yet replaced, in order of position; one that is added takes the place
// of the last.
#include "text/tokenizer.h"

static bool plain_read(struct json *j, struct normalizer_step *step, struct arena *arena) {
    (void)step;
    (void)arena;
    return json_skip(j);
}

static bool is_ascii(const struct units *text) {
    for (size_t i = 0; i < text->size; i++)
        if (text->items[i].c >= 0x80) return false;
    return true;
}

// While a form is being made, `begin` holds the change (0: replaces, n > 0: added, n < 0: replaces and
// removes -n after it) and `end` the combining class.
static inline int change_of(const struct unit *u) {
    return (int)u->begin;
}

// Sorts a run of marks by class, keeping the order of equal ones; linear for long runs.
static bool sort_marks(struct unit *run, size_t n) {
    if (n < 32) {
        for (size_t i = 1; i < n; i++) {
            const struct unit u = run[i];
            size_t k = i;
            for (; k > 0 && run[k - 1].end > u.end; k--)
                run[k] = run[k - 1];
            run[k] = u;
        }
        return true;
    }
    size_t place[257] = {0};
    struct unit *sorted = mem_array(n, sizeof *sorted);
    if (!sorted) return false;
    for (size_t i = 0; i < n; i++)
        place[run[i].end + 1]++;
    for (size_t i = 0; i < 256; i++)
        place[i + 1] += place[i];
    for (size_t i = 0; i < n; i++)
        sorted[place[run[i].end]++] = run[i];
    for (size_t i = 0; i < n; i++)
        run[i] = sorted[i];
    mem_free(sorted);
    return true;
}

// The decomposed and ordered code points of text into out, as changes and classes.
static bool decompose(const struct units *text, struct units *out, bool compat) {
    out->size = 0;
    if (!units_reserve(out, text->size)) return false;
    size_t run = 0; // where the current run of marks begins
    for (size_t i = 0; i < text->size; i++) {
        uint32_t parts[CHAR_DECOMPOSED_MAX];
        const size_t n = char_decompose(text->items[i].c, compat, parts);
        for (size_t k = 0; k < n; k++) {
            const uint32_t class = char_combining(parts[k]);
            if (class == 0) {
                if (out->size - run > 1 && !sort_marks(out->items + run, out->size - run)) return false;
                run = out->size + 1;
            }
            if (!units_push(out, parts[k], k > 0, class)) return false;
        }
    }
    return out->size <= run || sort_marks(out->items + run, out->size - run);
}

bool units_decompose(struct units *text, struct units *spare, bool compat) {
    if (is_ascii(text)) return true;
    if (!decompose(text, spare, compat)) return false;
    units_align(text, spare);
    units_exchange(text, spare);
    return true;
}

// Composes in place: each mark not blocked from the last starter joins it if the pair has a composite.
static void compose(struct units *text) {
    struct unit *const u = text->items;
    size_t n = 0, starter = 0;
    bool has_starter = false;
    int last = -1; // class of the mark before this one since the starter; -1: none
    for (size_t i = 0; i < text->size; i++) {
        const struct unit c = u[i];
        const int class = (int)c.end;
        if (has_starter && last < class) {
            const uint32_t whole = char_compose(u[starter].c, c.c);
            if (whole) {
                u[starter].c = whole;
                u[starter].begin = (uint32_t)(change_of(&u[starter]) + change_of(&c) - 1);
                continue;
            }
        }
        if (class == 0) {
            starter = n;
            has_starter = true;
            last = -1;
        } else {
            last = class;
        }
        u[n++] = c;
    }
    text->size = n;
}

static bool recompose(struct units *text, struct units *spare, bool compat) {
    if (is_ascii(text)) return true;
    if (!decompose(text, spare, compat)) return false;
    compose(spare);
    units_align(text, spare);
    units_exchange(text, spare);
    return true;
}

bool units_lower(struct units *text, struct units *spare) {
    size_t longer = 0;
    for (size_t i = 0; i < text->size; i++) {
        uint32_t out[CHAR_LOWER_MAX];
        if (char_lower(text->items[i].c, out) > 1)
            longer++;
        else
            text->items[i].c = out[0];
    }
    if (!longer) return true;
    spare->size = 0;
    for (size_t i = 0; i < text->size; i++) {
        const struct unit u = text->items[i];
        uint32_t out[CHAR_LOWER_MAX];
        const size_t n = char_lower(u.c, out);
        for (size_t k = 0; k < n; k++)
            if (!units_push(spare, out[k], u.begin, u.end)) return false;
    }
    units_exchange(text, spare);
    return true;
}

static bool nfd_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    (void)step;
    return units_decompose(text, spare, false);
}
static bool nfkd_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    (void)step;
    return units_decompose(text, spare, true);
}
static bool nfc_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    (void)step;
    return recompose(text, spare, false);
}
static bool nfkc_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    (void)step;
    return recompose(text, spare, true);
}
static bool lowercase_run(const struct normalizer_step *step, struct units *text, struct units *spare) {
    (void)step;
    return units_lower(text, spare);
}

const struct normalizer_kind normalizer_nfd = {"NFD", plain_read, nfd_run, true, NULL};
const struct normalizer_kind normalizer_nfkd = {"NFKD", plain_read, nfkd_run, true, NULL};
const struct normalizer_kind normalizer_nfc = {"NFC", plain_read, nfc_run, false, NULL};
const struct normalizer_kind normalizer_nfkc = {"NFKC", plain_read, nfkc_run, false, NULL};
const struct normalizer_kind normalizer_lowercase = {"Lowercase", plain_read, lowercase_run, true, NULL};
