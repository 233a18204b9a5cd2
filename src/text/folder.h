// folder: model folders without a tokenizer.json. A vocabulary, and what the files beside it say: the class of the
// tokenizer, its switches and its special tokens. The reference is transformers' conversion of a slow tokenizer.
#ifndef SABOK_FOLDER_H
#define SABOK_FOLDER_H

#include "text/tokenizer.h"

#define FOLDER_TOKENS_MAX 10000 // added tokens, which are looked through for each new one

struct folder_file {
    const char *text; // NULL: there is none
    size_t size;
    const char *path;
};
struct folder_files {
    struct folder_file vocab;  // vocab.txt, vocab.json or a sentencepiece file
    struct folder_file merges; // merges.txt beside a vocab.json
    struct folder_file config, specials, added,
        model; // tokenizer_config, special_tokens_map, added_tokens, config
};

enum folder_special {
    SPECIAL_BOS,
    SPECIAL_EOS,
    SPECIAL_UNK,
    SPECIAL_SEP,
    SPECIAL_PAD,
    SPECIAL_CLS,
    SPECIAL_MASK,
    SPECIAL_COUNT
};
enum folder_kind { FOLDER_LINES, FOLDER_MERGES, FOLDER_PIECES };
struct folder_class { // what a class of tokenizers says where its folder says nothing
    const char *name, *model_type;
    enum folder_kind kind;
    const char *special[SPECIAL_COUNT];
    bool flagged;      // a special token named by its text has the class's flags, which win over added tokens
    bool normalized;   // those flags, but for the mask's
    bool mask_lstrip;  // the mask's: it takes the spaces before it
    bool pair_doubled; // two separators stand between the texts of a pair
};

struct folder_token {
    struct json_text text; // NULL: none
    uint64_t index;        // by which added tokens are sorted
    bool object;           // given with its flags
    bool single_word, lstrip, rstrip, normalized, special;
};
struct folder_tokens {
    struct folder_token *items;
    size_t count, cap;
};
struct folder_config {
    const struct folder_class *class;
    struct folder_token special[SPECIAL_COUNT];
    struct folder_tokens more, added; // additional special tokens; added tokens
    bool more_given, flags_given;     // the added tokens come with flags
    bool general; // the class is the one that any tokenizer.json can have, with no tokens of its own
    bool lower_case, ideographs, strip_accents, accents_given, keep_accents, prefix_space, trim, add_bos;
    bool clean_up;
};
// Texts live in the files and in the arena. `vocab_name` is the vocabulary's file name.
sabok_status folder_config_read(const struct folder_files *f, const char *vocab_name, struct folder_config *c,
                                struct arena *arena, sabok_error *err);
void folder_config_free(struct folder_config *c);
const struct folder_class *folder_class_find(struct json_text class, struct json_text model_type,
                                             const char *vocab_name);
enum folder_kind folder_kind_of(const char *vocab_name);
// The text of a special token: as the folder names it, else the class; empty where neither does.
struct json_text folder_special_text(const struct folder_config *c, enum folder_special s);
// (folder_class.c) The symbols of a sentencepiece file as added tokens, before the others.
sabok_status folder_add_symbols(struct sabok_tokenizer *tok, const struct folder_tokens *symbols,
                                sabok_error *err);
// The added tokens of a tokenizer whose vocabulary is built.
sabok_status folder_add_tokens(struct sabok_tokenizer *tok, const struct folder_config *c, sabok_error *err);
// The added token or piece of a template; an error that names `what` when there is none.
sabok_status folder_find_token(const struct sabok_tokenizer *tok, struct json_text text, const char *what,
                               struct template_piece *out, sabok_error *err);
// cls A sep, and cls A sep B sep, with the second text's type 1 or 0, the separator between doubled or not.
struct folder_template {
    struct template_piece cls, sep;
    uint32_t second;
    bool doubled;
};
bool folder_template_add(struct sabok_tokenizer *tok, struct folder_template t); // false when out of memory

// A tokenizer of files in memory. `vocab_name` tells the vocabulary's kind.
struct sabok_tokenizer *folder_parse(const struct folder_files *f, const char *vocab_name, sabok_error *err);
// From a vocabulary's path and the files beside it.
struct sabok_tokenizer *folder_open(const char *vocab_path, sabok_error *err);

// The file of this name in the folder of `path`; its text is NULL where it is neither needed nor there.
sabok_status folder_read_beside(const char *path, const char *name, bool needed, struct folder_file *out,
                                sabok_error *err);
void folder_file_free(struct folder_file *f);

// The vocabulary and the steps of a kind: vocab_file.c, vocab_merges.c, sentencepiece.c.
typedef sabok_status folder_read_fn(struct sabok_tokenizer *tok, const struct folder_files *f,
                                    const struct folder_config *c, sabok_error *err);
folder_read_fn folder_read_lines, folder_read_merges, folder_read_pieces;

#endif
