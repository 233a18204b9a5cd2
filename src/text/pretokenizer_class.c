// Pre-tokenizers that split at classes of characters.
#include "text/tokenizer.h"

static bool plain_read(struct json *j, struct pretokenizer_step *step) {
    (void)step;
    return json_skip(j);
}

static bool is_space(const struct pretokenizer_step *step, uint32_t c) {
    (void)step;
    return (char_flags(c) & CHAR_SPACE) != 0;
}
static bool is_punct(const struct pretokenizer_step *step, uint32_t c) {
    (void)step;
    return (char_flags(c) & CHAR_PUNCT) != 0;
}
static bool is_numeric(const struct pretokenizer_step *step, uint32_t c) {
    (void)step;
    return (char_flags(c) & CHAR_NUMERIC) != 0;
}
static bool is_delimiter(const struct pretokenizer_step *step, uint32_t c) {
    return c == step->delimiter;
}

// BertPreTokenizer: spaces removed, punctuation alone.
static bool bert_run(const struct pretokenizer_step *step, struct pretext *t) {
    return pretext_split(step, t, is_space, SPLIT_REMOVED) &&
           pretext_split(step, t, is_punct, SPLIT_ISOLATED);
}
static enum char_role bert_role(const struct pretokenizer_step *step, uint32_t c) {
    (void)step;
    const unsigned flags = char_flags(c);
    return flags & CHAR_SPACE ? ROLE_REMOVED : flags & CHAR_PUNCT ? ROLE_ALONE : ROLE_INSIDE;
}
const struct pretokenizer_kind pretokenizer_bert = {"BertPreTokenizer", plain_read, bert_run, bert_role};

static bool whitespace_split_run(const struct pretokenizer_step *step, struct pretext *t) {
    return pretext_split(step, t, is_space, SPLIT_REMOVED);
}
static enum char_role whitespace_split_role(const struct pretokenizer_step *step, uint32_t c) {
    return is_space(step, c) ? ROLE_REMOVED : ROLE_INSIDE;
}
const struct pretokenizer_kind pretokenizer_whitespace_split = {"WhitespaceSplit", plain_read,
                                                                whitespace_split_run, whitespace_split_role};

// Whitespace: the pattern \w+|[^\w\s]+, runs of word characters and runs of others, spaces removed.
static bool whitespace_run(const struct pretokenizer_step *step, struct pretext *t) {
    if (!pretext_split(step, t, is_space, SPLIT_REMOVED)) return false;
    t->next.size = 0;
    for (size_t i = 0; i < t->parts.size; i++) {
        const struct span part = t->parts.items[i];
        size_t begin = part.begin;
        while (part.added == NO_PIECE && begin < part.end) {
            const struct unit *u = t->text->items;
            const unsigned word = char_flags(u[begin].c) & CHAR_WORD;
            size_t end = begin + 1;
            while (end < part.end && (char_flags(u[end].c) & CHAR_WORD) == word)
                end++;
            if (!spans_push(&t->next, begin, end, NO_PIECE)) return false;
            begin = end;
        }
        if (part.added != NO_PIECE && !spans_push(&t->next, part.begin, part.end, part.added)) return false;
    }
    const struct spans made = t->next;
    t->next = t->parts;
    t->parts = made;
    return true;
}
const struct pretokenizer_kind pretokenizer_whitespace = {"Whitespace", plain_read, whitespace_run, NULL};

bool pretokenizer_read_behavior(struct json *j, struct pretokenizer_step *step) {
    static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                        "Contiguous"};
    struct json_text text;
    json_peek(j);
    const size_t at = j->at;
    if (!json_string(j, &text)) return false;
    for (unsigned i = 0; i < COUNT(names); i++)
        if (json_text_is(text, names[i])) {
            step->behavior = (enum split_behavior)i;
            return true;
        }
    j->at = at;
    return json_fail(j,
                     "behavior \"%.*s\" is not supported, expected Removed, Isolated, MergedWithPrevious, "
                     "MergedWithNext or Contiguous",
                     text_shown(text), text.data);
}

static bool punctuation_read(struct json *j, struct pretokenizer_step *step) {
    struct json_text key;
    step->behavior = SPLIT_ISOLATED;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key))
        if (!(json_text_is(key, "behavior") ? pretokenizer_read_behavior(j, step) : json_skip(j)))
            return false;
    return !j->failed;
}
static bool punctuation_run(const struct pretokenizer_step *step, struct pretext *t) {
    return pretext_split(step, t, is_punct, step->behavior);
}
const struct pretokenizer_kind pretokenizer_punctuation = {"Punctuation", punctuation_read, punctuation_run,
                                                           NULL};

static bool digits_read(struct json *j, struct pretokenizer_step *step) {
    struct json_text key;
    bool each = false;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key))
        if (!(json_text_is(key, "individual_digits") ? json_bool(j, &each) : json_skip(j))) return false;
    step->behavior = each ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS;
    return !j->failed;
}
static bool digits_run(const struct pretokenizer_step *step, struct pretext *t) {
    return pretext_split(step, t, is_numeric, step->behavior);
}
const struct pretokenizer_kind pretokenizer_digits = {"Digits", digits_read, digits_run, NULL};

static bool delimiter_read(struct json *j, struct pretokenizer_step *step) {
    struct json_text key, text = {0};
    json_peek(j);
    const size_t begin = j->at;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key))
        if (!(json_text_is(key, "delimiter") ? json_string(j, &text) : json_skip(j))) return false;
    if (j->failed) return false;
    if (text.size == 0 || utf8_read((const uint8_t *)text.data, text.size, &step->delimiter) != text.size) {
        j->at = begin;
        return json_fail(j, "CharDelimiterSplit without a delimiter of one character");
    }
    return true;
}
static bool delimiter_run(const struct pretokenizer_step *step, struct pretext *t) {
    return pretext_split(step, t, is_delimiter, SPLIT_REMOVED);
}
const struct pretokenizer_kind pretokenizer_delimiter = {"CharDelimiterSplit", delimiter_read, delimiter_run,
                                                         NULL};
