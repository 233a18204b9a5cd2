// The classes of tokenizers: which files they read, their special tokens, and how those are found in a text.
#include "text/folder.h"

#include <string.h>

#define BERT_TOKENS                                                                                          \
    { NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]" }
#define ROBERTA_TOKENS                                                                                       \
    { "<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>" }
#define END_OF_TEXT "<|endoftext|>"

// The first of a kind stands for classes that are not listed.
static const struct folder_class classes[] = {
    {.name = "Bert", .model_type = "bert", .special = BERT_TOKENS},
    {.name = "DistilBert", .model_type = "distilbert", .special = BERT_TOKENS},
    {.name = "Electra", .model_type = "electra", .special = BERT_TOKENS},
    {.name = "MPNet",
     .model_type = "mpnet",
     .special = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"},
     .flagged = true,
     .mask_lstrip = true,
     .pair_doubled = true},
    {.name = "Roberta",
     .model_type = "roberta",
     .kind = FOLDER_MERGES,
     .special = ROBERTA_TOKENS,
     .flagged = true,
     .normalized = true,
     .mask_lstrip = true},
    {.name = "GPT2",
     .model_type = "gpt2",
     .kind = FOLDER_MERGES,
     .special = {END_OF_TEXT, END_OF_TEXT, END_OF_TEXT, NULL, NULL, NULL, NULL},
     .flagged = true,
     .normalized = true},
    {.name = "XLMRoberta",
     .model_type = "xlm-roberta",
     .kind = FOLDER_PIECES,
     .special = ROBERTA_TOKENS,
     .mask_lstrip = true},
    {.name = "Camembert",
     .model_type = "camembert",
     .kind = FOLDER_PIECES,
     .special = ROBERTA_TOKENS,
     .mask_lstrip = true},
    {.name = "Albert",
     .model_type = "albert",
     .kind = FOLDER_PIECES,
     .special = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"},
     .mask_lstrip = true},
};

static bool ends_with(const char *text, const char *tail) {
    const size_t n = strlen(text), k = strlen(tail);
    return n >= k && strcmp(text + n - k, tail) == 0;
}

enum folder_kind folder_kind_of(const char *vocab_name) {
    return ends_with(vocab_name, ".model")  ? FOLDER_PIECES
           : ends_with(vocab_name, ".json") ? FOLDER_MERGES
                                            : FOLDER_LINES;
}

static bool names_class(struct json_text text, const char *name) {
    const size_t n = strlen(name);
    if (text.size < n || memcmp(text.data, name, n) != 0) return false;
    const struct json_text tail = {text.data + n, text.size - n};
    return json_text_is(tail, "Tokenizer") || json_text_is(tail, "TokenizerFast");
}

const struct folder_class *folder_class_find(struct json_text class, struct json_text model_type,
                                             const char *vocab_name) {
    const enum folder_kind kind = folder_kind_of(vocab_name);
    const struct folder_class *first = NULL, *typed = NULL;
    for (size_t i = 0; i < COUNT(classes); i++) {
        const struct folder_class *c = &classes[i];
        if (c->kind != kind) continue;
        if (names_class(class, c->name)) return c;
        if (json_text_is(model_type, c->model_type)) typed = c;
        if (!first || (ends_with(vocab_name, "spiece.model") && strcmp(c->name, "Albert") == 0)) first = c;
    }
    return typed ? typed : first;
}

struct json_text folder_special_text(const struct folder_config *c, enum folder_special s) {
    const char *usual = c->class->special[s];
    if (c->special[s].text.data) return c->special[s].text;
    return (struct json_text){usual ? usual : "", usual ? strlen(usual) : 0};
}

// ---------------------------------------------------------------------------------------------- added tokens

static struct added_token *find_added(const struct added *a, struct json_text text) {
    for (size_t i = 0; i < a->count; i++)
        if (a->tokens[i].size == text.size && memcmp(a->tokens[i].text, text.data, text.size) == 0)
            return &a->tokens[i];
    return NULL;
}

// Tokens of the vocabulary keep their ids, others count on from its size. `again`: what an earlier token of this text
// says is replaced.
static bool add_token(struct sabok_tokenizer *tok, const struct folder_token *t, bool again, uint32_t *next) {
    struct added *a = &tok->added;
    struct added_token *place = find_added(a, t->text);
    if (place && !again) return true;
    struct added_token made = {.size = t->text.size,
                               .single_word = t->single_word,
                               .lstrip = t->lstrip,
                               .rstrip = t->rstrip,
                               .normalized = t->normalized,
                               .special = t->special};
    if (place) {
        made.text = place->text;
        made.id = place->id;
        *place = made;
        return true;
    }
    const uint32_t piece = vocab_find(&tok->model.vocab, t->text.data, t->text.size);
    made.id = piece != NO_PIECE ? tok->model.vocab.pieces[piece].id : (*next)++;
    made.text = arena_copy(&tok->arena, t->text.data, t->text.size);
    if (!made.text ||
        (a->count == a->cap && !mem_grow((void **)&a->tokens, &a->cap, a->count + 1, sizeof *a->tokens)))
        return false;
    a->tokens[a->count++] = made;
    return true;
}

static uint32_t next_id(const struct sabok_tokenizer *tok) {
    uint32_t next = (uint32_t)tok->model.vocab.count;
    for (size_t i = 0; i < tok->added.count; i++)
        next +=
            vocab_find(&tok->model.vocab, tok->added.tokens[i].text, tok->added.tokens[i].size) == NO_PIECE;
    return next;
}

sabok_status folder_add_symbols(struct sabok_tokenizer *tok, const struct folder_tokens *symbols,
                                sabok_error *err) {
    uint32_t next = next_id(tok);
    for (size_t i = 0; i < symbols->count; i++)
        if (!add_token(tok, &symbols->items[i], false, &next)) return error_memory(err, tok->path);
    return SABOK_OK;
}

// Special token s, with its flags where the folder gives only its text or nothing. A token that no file names and the
// vocabulary lacks is none: ids beyond the vocabulary have no row in a model.
static struct folder_token special_token(const struct sabok_tokenizer *tok, const struct folder_config *c,
                                         size_t s) {
    const struct folder_class *class = c->class;
    struct folder_token t = c->special[s];
    if (t.object) return t;
    if (!t.text.data && class->special[s]) {
        const struct json_text usual = {class->special[s], strlen(class->special[s])};
        if (find_added(&tok->added, usual) ||
            vocab_find(&tok->model.vocab, usual.data, usual.size) != NO_PIECE)
            t.text = usual;
    }
    t.special = true;
    const bool mask = s == SPECIAL_MASK && class->mask_lstrip;
    t.object = mask || class->flagged;
    t.lstrip = mask;
    t.normalized = class->normalized && !mask;
    return t;
}

static bool is_special(const struct folder_config *c, const struct folder_token *named,
                       struct json_text text) {
    const struct folder_tokens *more = &c->more;
    for (size_t i = 0; i < SPECIAL_COUNT + more->count; i++) {
        const struct json_text t = i < SPECIAL_COUNT ? named[i].text : more->items[i - SPECIAL_COUNT].text;
        if (t.data && t.size == text.size && memcmp(t.data, text.data, t.size) == 0) return true;
    }
    return false;
}

sabok_status folder_add_tokens(struct sabok_tokenizer *tok, const struct folder_config *c, sabok_error *err) {
    static const char *const unused[] = {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"};
    struct folder_token named[SPECIAL_COUNT];
    uint32_t next = next_id(tok);
    bool ok = true;
    for (size_t s = 0; s < SPECIAL_COUNT; s++)
        named[s] = special_token(tok, c, s);
    for (size_t i = 0; ok && i < c->added.count; i++) {
        struct folder_token t = c->added.items[i];
        t.special = t.special || is_special(c, named, t.text);
        ok = add_token(tok, &t, true, &next);
    }
    for (size_t s = 0; ok && s < SPECIAL_COUNT; s++) {
        bool earlier = false; // the first name of a token says how it is found
        for (size_t k = 0; k < s && named[s].text.data; k++)
            earlier = earlier || (named[k].text.data && named[k].text.size == named[s].text.size &&
                                  memcmp(named[k].text.data, named[s].text.data, named[s].text.size) == 0);
        if (named[s].text.data && !earlier) ok = add_token(tok, &named[s], named[s].object, &next);
    }
    for (size_t i = 0; ok && i < c->more.count; i++)
        ok = add_token(tok, &c->more.items[i], c->more.items[i].object, &next);
    if (!c->more_given && strcmp(c->class->name, "Camembert") == 0)
        for (size_t i = 0; ok && i < COUNT(unused); i++) {
            const struct folder_token t = {.text = {unused[i], strlen(unused[i])}, .special = true};
            ok = add_token(tok, &t, false, &next);
        }
    return ok ? SABOK_OK : error_memory(err, tok->path);
}

sabok_status folder_find_token(const struct sabok_tokenizer *tok, struct json_text text, const char *what,
                               struct template_piece *out, sabok_error *err) {
    const struct added_token *a = find_added(&tok->added, text);
    const uint32_t piece = a ? NO_PIECE : vocab_find(&tok->model.vocab, text.data, text.size);
    if (!a && piece == NO_PIECE)
        return error_set(err, SABOK_EFORMAT, tok->path,
                         "%s \"%.*s\" is not in the vocabulary, expected a piece of it", what,
                         text_shown(text), text.data);
    *out = (struct template_piece){.id = a ? a->id : tok->model.vocab.pieces[piece].id,
                                   .text = a ? a->text : vocab_text(&tok->model.vocab, piece)};
    return SABOK_OK;
}

bool folder_template_add(struct sabok_tokenizer *tok, struct folder_template t) {
    const struct template_piece first = {TEMPLATE_FIRST, 0, 0, NULL};
    const struct template_piece second = {TEMPLATE_SECOND, t.second, 0, NULL};
    struct template *single = &tok->post.single, *pair = &tok->post.pair;
    struct template_piece end = t.sep;
    end.type_id = t.second;
    tok->post.given = true;
    return template_add(single, t.cls) && template_add(single, first) && template_add(single, t.sep) &&
           template_add(pair, t.cls) && template_add(pair, first) && template_add(pair, t.sep) &&
           (!t.doubled || template_add(pair, t.sep)) && template_add(pair, second) && template_add(pair, end);
}
