// sentencepiece files, which are protobuf messages (wire format of proto2): pieces and their scores, the kind of model,
// the charsmap. What XLM-RoBERTa, CamemBERT and ALBERT make of them is what transformers' converters do: other settings of
// the file (dummy prefix, extra blanks, byte fallback) mean nothing to those.
#include "text/folder.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#define PIECE_BYTES_MAX 1024

enum piece_type { PIECE_NORMAL = 1, PIECE_CONTROL = 3, PIECE_USER = 4, PIECE_LAST = 6 };
enum model_type { MODEL_UNIGRAM = 1, MODEL_BPE = 2, MODEL_LAST = 4 };
struct piece_entry {
    struct json_text text;
    float score;
    unsigned type; // piece_type
    size_t at;
};
struct piece_file {
    struct piece_entry *pieces;
    size_t count, cap;
    unsigned model; // model_type
    uint32_t unk;
    struct json_text unk_piece, charsmap;
    size_t charsmap_at;
};

// ---------------------------------------------------------------------------------------------- protobuf

// A message: bytes [at, end) of the file.
struct message {
    const char *text, *where;
    size_t at, end;
    sabok_error *err;
};
enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
struct wire_field {
    uint64_t number, value; // of a varint
    unsigned wire;
    size_t at;             // of its tag
    struct json_text body; // of bytes, and of fixed sizes
};

static sabok_status message_fail(const struct message *m, size_t at, const char *found,
                                 const char *expected) {
    return error_at(m->err, SABOK_EFORMAT, m->where, at, "%s, expected %s", found, expected);
}

static sabok_status read_varint(struct message *m, uint64_t *out) {
    const size_t begin = m->at;
    *out = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (m->at == m->end)
            return message_fail(m, begin, "a number that the message ends in", "all of its bytes");
        const uint8_t byte = (uint8_t)m->text[m->at++];
        if (shift < 64) *out |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return SABOK_OK;
    }
    return message_fail(m, begin, "a number of more than ten bytes", "at most ten");
}

// The next field; field->number is 0 at the end.
static sabok_status read_field(struct message *m, struct wire_field *field) {
    uint64_t tag, size = 0;
    *field = (struct wire_field){.at = m->at};
    if (m->at == m->end) return SABOK_OK;
    TRY(read_varint(m, &tag));
    field->wire = (unsigned)(tag & 7);
    field->number = tag >> 3;
    if (field->number == 0 || field->number > 0x1fffffff)
        return message_fail(m, field->at, "a field without a number", "a sentencepiece file");
    switch (field->wire) {
    case WIRE_VARINT:
        return read_varint(m, &field->value);
    case WIRE_64:
        size = 8;
        break;
    case WIRE_32:
        size = 4;
        break;
    case WIRE_BYTES:
        TRY(read_varint(m, &size));
        break;
    default:
        return message_fail(m, field->at, "a field of an unknown kind", "a sentencepiece file");
    }
    if (size > m->end - m->at)
        return message_fail(m, field->at, "a field that is longer than its message", "all of its bytes");
    field->body = (struct json_text){m->text + m->at, (size_t)size};
    m->at += (size_t)size;
    return SABOK_OK;
}

static sabok_status check_wire(const struct message *m, const struct wire_field *f, unsigned wire) {
    if (f->wire == wire) return SABOK_OK;
    return error_at(m->err, SABOK_EFORMAT, m->where, f->at, "field %llu of wire type %u, expected %u",
                    (unsigned long long)f->number, f->wire, wire);
}

static struct message inner(const struct message *m, const struct wire_field *f) {
    const size_t begin = (size_t)(f->body.data - m->text);
    return (struct message){m->text, m->where, begin, begin + f->body.size, m->err};
}

// ---------------------------------------------------------------------------------------------- the file

static sabok_status read_text(const struct message *m, const struct wire_field *f, struct json_text *out) {
    TRY(check_wire(m, f, WIRE_BYTES));
    const size_t bad = utf8_check(f->body.data, f->body.size);
    if (bad < f->body.size)
        return message_fail(m, (size_t)(f->body.data - m->text) + bad, "a byte that is not UTF-8", "text");
    *out = f->body;
    return SABOK_OK;
}

static sabok_status read_piece(struct message m, struct piece_entry *p) {
    struct wire_field f;
    *p = (struct piece_entry){.type = PIECE_NORMAL, .at = m.at};
    for (;;) {
        TRY(read_field(&m, &f));
        if (f.number == 0) break;
        if (f.number == 1) {
            TRY(read_text(&m, &f, &p->text));
        } else if (f.number == 2) {
            TRY(check_wire(&m, &f, WIRE_32));
            const uint8_t *b = (const uint8_t *)f.body.data;
            const uint32_t bits =
                (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
            memcpy(&p->score, &bits, sizeof bits);
        } else if (f.number == 3) {
            TRY(check_wire(&m, &f, WIRE_VARINT));
            if (f.value >= PIECE_NORMAL && f.value <= PIECE_LAST) p->type = (unsigned)f.value;
        }
    }
    if (p->text.size == 0 || p->text.size > PIECE_BYTES_MAX)
        return error_at(m.err, SABOK_EFORMAT, m.where, p->at, "a piece of %zu bytes, expected 1 to %d",
                        p->text.size, PIECE_BYTES_MAX);
    if (!(p->score - p->score == 0))
        return message_fail(&m, p->at, "a score that is no finite number", "one");
    return SABOK_OK;
}

static sabok_status read_trainer(struct message m, struct piece_file *out) {
    struct wire_field f;
    for (;;) {
        TRY(read_field(&m, &f));
        if (f.number == 0) return SABOK_OK;
        if (f.number == 3) {
            TRY(check_wire(&m, &f, WIRE_VARINT));
            if (f.value >= MODEL_UNIGRAM && f.value <= MODEL_LAST) out->model = (unsigned)f.value;
        } else if (f.number == 40) {
            TRY(check_wire(&m, &f, WIRE_VARINT));
            out->unk = (uint32_t)f.value;
        } else if (f.number == 45) {
            TRY(read_text(&m, &f, &out->unk_piece));
        }
    }
}

static sabok_status read_normalizer(struct message m, struct piece_file *out) {
    struct wire_field f;
    for (;;) {
        TRY(read_field(&m, &f));
        if (f.number == 0) return SABOK_OK;
        if (f.number != 2) continue;
        TRY(check_wire(&m, &f, WIRE_BYTES));
        out->charsmap = f.body;
        out->charsmap_at = f.at;
    }
}

static sabok_status read_file(struct message m, struct piece_file *out) {
    struct wire_field f;
    *out = (struct piece_file){.model = MODEL_UNIGRAM, .unk_piece = {"<unk>", 5}};
    for (;;) {
        TRY(read_field(&m, &f));
        if (f.number == 0) return SABOK_OK;
        if (f.number > 3) continue;
        TRY(check_wire(&m, &f, WIRE_BYTES));
        if (f.number == 2) TRY(read_trainer(inner(&m, &f), out));
        if (f.number == 3) TRY(read_normalizer(inner(&m, &f), out));
        if (f.number != 1) continue;
        if (out->count == INT32_MAX) return message_fail(&m, f.at, "too many pieces", "fewer");
        if (out->count == out->cap &&
            !mem_grow((void **)&out->pieces, &out->cap, out->count + 1, sizeof *out->pieces))
            return error_memory(m.err, m.where);
        TRY(read_piece(inner(&m, &f), &out->pieces[out->count++]));
    }
}

// ---------------------------------------------------------------------------------------------- the vocabulary

// The pieces as a class has them: XLM-RoBERTa and CamemBERT put tokens of fairseq before and <mask> after.
struct fairseq {
    const char *head[5];
    double scores[5];
    size_t heads, skip;
};
static const struct fairseq xlm_roberta = {{"<s>", "<pad>", "</s>", "<unk>"}, {0}, 4, 3};
static const struct fairseq camembert = {
    {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"}, {0, 0, 0, 0, -100}, 5, 1};

struct scored { // a piece of the tokenizer
    struct json_text text;
    double score;
    size_t at;
};
struct scored_list {
    struct scored *items;
    size_t count;
};

// Digits by Unicode's Numeric_Type, which is what the reference's language asks: decimal digits and these.
static bool is_digit(uint32_t c) {
    static const uint32_t ranges[][2] = {
        {0xb2, 0xb3},     {0xb9, 0xb9},       {0x1369, 0x1371},   {0x19da, 0x19da},   {0x2070, 0x2070},
        {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247c},   {0x2488, 0x2490},
        {0x24ea, 0x24ea}, {0x24f5, 0x24fd},   {0x24ff, 0x24ff},   {0x2776, 0x277e},   {0x2780, 0x2788},
        {0x278a, 0x2792}, {0x10a40, 0x10a43}, {0x10e60, 0x10e68}, {0x11052, 0x1105a}, {0x1f100, 0x1f10a}};
    for (size_t i = 0; i < COUNT(ranges); i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_ND;
}

// A digit and a comma at the end: ALBERT all but forbids such pieces.
static bool ends_number(struct json_text t) {
    if (t.size < 2 || t.data[t.size - 1] != ',') return false;
    size_t begin = t.size - 2;
    while (begin > 0 && ((uint8_t)t.data[begin] & 0xc0) == 0x80)
        begin--;
    uint32_t c;
    utf8_read((const uint8_t *)t.data + begin, t.size - 1 - begin, &c);
    return is_digit(c);
}

static bool list_pieces(const struct piece_file *f, const struct fairseq *around, struct scored_list *out) {
    out->items = mem_array(f->count + 6, sizeof *out->items);
    if (!out->items) return false;
    for (size_t i = 0; around && i < around->heads; i++)
        out->items[out->count++] =
            (struct scored){{around->head[i], strlen(around->head[i])}, around->scores[i], 0};
    for (size_t i = around ? around->skip : 0; i < f->count; i++) {
        const struct piece_entry *p = &f->pieces[i];
        const double less = !around && ends_number(p->text) ? 100 : 0;
        out->items[out->count++] = (struct scored){p->text, (double)p->score - less, p->at};
    }
    if (around) out->items[out->count++] = (struct scored){{"<mask>", 6}, 0, 0};
    return true;
}

// ---------------------------------------------------------------------------------------------- merges

// A way to put a piece together from two: the best score first, then the longest left part, the longest right part.
struct joint {
    double score;
    struct bpe_pair pair;
    uint32_t left_chars, right_chars, piece, left, right; // the last two: numbers in the file
};
struct joints {
    struct joint *items;
    size_t count, cap;
};

static int compare_joints(const void *a, const void *b) {
    const struct joint *x = a, *y = b;
    if (x->score > y->score || x->score < y->score) return x->score > y->score ? -1 : 1;
    if (x->left_chars != y->left_chars) return x->left_chars > y->left_chars ? -1 : 1;
    if (x->right_chars != y->right_chars) return x->right_chars > y->right_chars ? -1 : 1;
    if (x->piece != y->piece) return x->piece < y->piece ? -1 : 1;
    if (x->left != y->left) return x->left < y->left ? -1 : 1;
    return (x->right > y->right) - (x->right < y->right);
}

static uint32_t count_chars(const char *text, size_t size) {
    uint32_t n = 0;
    for (size_t i = 0; i < size; i++)
        n += ((uint8_t)text[i] & 0xc0) != 0x80;
    return n;
}

// The two parts of a piece that are pieces of the file, for each place where it may be cut.
static bool cut_piece(const struct vocab *file, const struct scored *piece, uint32_t number, uint64_t *hashes,
                      struct joints *out) {
    const struct json_text t = piece->text;
    vocab_hash(t.data, t.size, hashes);
    const uint32_t chars = count_chars(t.data, t.size);
    uint32_t left_chars = 0;
    for (size_t cut = 1; cut < t.size; cut++) {
        if (((uint8_t)t.data[cut] & 0xc0) == 0x80) continue;
        left_chars++;
        const size_t rest = t.size - cut;
        if (cut > file->longest || rest > file->longest) continue;
        const uint64_t tail = hashes[t.size] - hashes[cut] * file->powers[rest];
        if (!vocab_may_have(file, hashes[cut]) || !vocab_may_have(file, tail)) continue;
        const uint32_t left = vocab_find_hashed(file, hashes[cut], "", 0, t.data, cut);
        const uint32_t right = vocab_find_hashed(file, tail, "", 0, t.data + cut, rest);
        if (left == NO_PIECE || right == NO_PIECE) continue;
        if (out->count == out->cap &&
            !mem_grow((void **)&out->items, &out->cap, out->count + 1, sizeof *out->items))
            return false;
        out->items[out->count++] =
            (struct joint){piece->score, {{t.data, cut}, {t.data + cut, rest}, piece->at},
                           left_chars,   chars - left_chars,
                           number,       left,
                           right};
    }
    return true;
}

static bool find_joints(const struct vocab *file, const struct scored_list *list, struct joints *out) {
    uint64_t *hashes = mem_array(PIECE_BYTES_MAX + 1, sizeof *hashes);
    bool ok = hashes != NULL;
    for (size_t i = 0; ok && i < list->count; i++)
        ok = cut_piece(file, &list->items[i], (uint32_t)i, hashes, out);
    mem_free(hashes);
    if (ok && out->count) qsort(out->items, out->count, sizeof *out->items, compare_joints);
    return ok;
}

static sabok_status build_merges(struct sabok_tokenizer *tok, const struct vocab *file,
                                 const struct scored_list *list, sabok_error *err) {
    struct joints joints = {0};
    struct bpe_pair *pairs = NULL;
    sabok_status status = SABOK_OK;
    if (!find_joints(file, list, &joints) || !(pairs = mem_array(joints.count, sizeof *pairs)))
        status = error_memory(err, tok->path);
    for (size_t i = 0; i < joints.count && status == SABOK_OK; i++)
        pairs[i] = joints.items[i].pair;
    if (status == SABOK_OK) status = bpe_build(&tok->model, pairs, joints.count, tok->path, err);
    mem_free(pairs);
    mem_free(joints.items);
    return status;
}

static sabok_status build_bpe(struct sabok_tokenizer *tok, const struct piece_file *f,
                              const struct scored_list *list, sabok_error *err) {
    struct model *m = &tok->model, file = {0};
    m->kind = &model_bpe;
    m->bpe.fuse_unk = true;
    for (size_t i = 0; i < list->count; i++)
        if (!vocab_add(&m->vocab, list->items[i].text, (uint32_t)i, list->items[i].at))
            return error_memory(err, tok->path);
    TRY(model_build_vocab(m, tok->path, err));
    m->bpe.unk = vocab_find(&m->vocab, f->unk_piece.data, f->unk_piece.size);
    bool ok = true;
    for (size_t i = 0; ok && i < f->count; i++)
        ok = vocab_add(&file.vocab, f->pieces[i].text, (uint32_t)i, f->pieces[i].at);
    sabok_status status = ok ? model_build_vocab(&file, tok->path, err) : error_memory(err, tok->path);
    if (status == SABOK_OK) status = build_merges(tok, &file.vocab, list, err);
    vocab_free(&file.vocab);
    return status;
}

static sabok_status build_unigram(struct sabok_tokenizer *tok, const struct scored_list *list, uint32_t unk,
                                  sabok_error *err) {
    tok->model.kind = &model_unigram;
    for (size_t i = 0; i < list->count; i++)
        if (!unigram_add(&tok->model, list->items[i].text, list->items[i].score, list->items[i].at))
            return error_memory(err, tok->path);
    return unigram_build(&tok->model, unk, tok->path, err);
}

// Control symbols are special, symbols of the user are not.
static sabok_status add_symbols(struct sabok_tokenizer *tok, const struct piece_file *f, sabok_error *err) {
    struct folder_tokens symbols = {0};
    sabok_status status = SABOK_OK;
    for (size_t i = 0; i < f->count && status == SABOK_OK; i++) {
        const struct piece_entry *p = &f->pieces[i];
        if (p->type != PIECE_CONTROL && p->type != PIECE_USER) continue;
        if (symbols.count == symbols.cap &&
            !mem_grow((void **)&symbols.items, &symbols.cap, symbols.count + 1, sizeof *symbols.items))
            status = error_memory(err, tok->path);
        else if (symbols.count == FOLDER_TOKENS_MAX)
            status =
                error_at(err, SABOK_EFORMAT, tok->path, p->at, "more than %d symbols", FOLDER_TOKENS_MAX);
        else if (p->text.size > ADDED_BYTES_MAX)
            status = error_at(err, SABOK_EFORMAT, tok->path, p->at,
                              "a symbol of %zu bytes, expected at most %d", p->text.size, ADDED_BYTES_MAX);
        else
            symbols.items[symbols.count++] =
                (struct folder_token){.text = p->text, .special = p->type == PIECE_CONTROL};
    }
    if (status == SABOK_OK) status = folder_add_symbols(tok, &symbols, err);
    mem_free(symbols.items);
    return status;
}

// ---------------------------------------------------------------------------------------------- the steps

static sabok_status add_charsmap(struct sabok_tokenizer *tok, const struct piece_file *f, sabok_error *err) {
    const char *problem = NULL;
    if (f->charsmap.size == 0) return SABOK_OK;
    const struct charsmap *map =
        charsmap_make((const uint8_t *)f->charsmap.data, f->charsmap.size, &tok->arena, &problem);
    if (map && normalizer_add_charsmap(&tok->normalizer, map)) return SABOK_OK;
    if (!problem || map) return error_memory(err, tok->path);
    return error_at(err, SABOK_EFORMAT, tok->path, f->charsmap_at,
                    "%s, expected the map of a sentencepiece file", problem);
}

static sabok_status read_steps(struct sabok_tokenizer *tok, const char *text, sabok_error *err) {
    return tokenizer_read_steps(tok, text, strlen(text), err);
}

#define METASPACE "\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\",\"prepend_scheme\":\"always\""
#define REPLACE(pattern, content) "{\"type\":\"Replace\",\"pattern\":" pattern ",\"content\":\"" content "\"}"
#define SPACES "{\"Regex\":\" {2,}\"}"
#define NORMALIZERS(list) "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" list "]}}"

static sabok_status add_steps(struct sabok_tokenizer *tok, const struct piece_file *f,
                              const struct folder_config *c, bool albert, sabok_error *err) {
    if (albert) {
        TRY(read_steps(
            tok,
            NORMALIZERS(REPLACE("{\"String\":\"``\"}", "\\\"") "," REPLACE("{\"String\":\"''\"}", "\\\"")),
            err));
        if (!c->keep_accents)
            TRY(read_steps(tok, NORMALIZERS("{\"type\":\"NFKD\"},{\"type\":\"StripAccents\"}"), err));
        if (c->lower_case) TRY(read_steps(tok, NORMALIZERS("{\"type\":\"Lowercase\"}"), err));
    }
    TRY(add_charsmap(tok, f, err));
    TRY(read_steps(
        tok,
        albert ? NORMALIZERS(REPLACE(SPACES, " "))
               : NORMALIZERS("{\"type\":\"Strip\",\"strip_left\":false,\"strip_right\":true}," REPLACE(
                     SPACES, "\xe2\x96\x81")),
        err));
    return read_steps(tok, "{\"pre_tokenizer\":{" METASPACE "},\"decoder\":{" METASPACE "}}", err);
}

static sabok_status build(struct sabok_tokenizer *tok, const struct piece_file *f,
                          const struct folder_config *c, sabok_error *err) {
    const bool albert = strcmp(c->class->name, "Albert") == 0;
    const struct fairseq *around = albert                                     ? NULL
                                   : strcmp(c->class->name, "Camembert") == 0 ? &camembert
                                                                              : &xlm_roberta;
    struct scored_list list = {0};
    if (f->model != MODEL_UNIGRAM && f->model != MODEL_BPE)
        return error_set(err, SABOK_EUNSUPPORTED, tok->path, "model_type %u, expected unigram or bpe",
                         f->model);
    if (!list_pieces(f, around, &list)) return error_memory(err, tok->path);
    const sabok_status status = f->model == MODEL_BPE ? build_bpe(tok, f, &list, err)
                                                      : build_unigram(tok, &list, albert ? f->unk : 3, err);
    mem_free(list.items);
    if (status != SABOK_OK) return status;
    TRY(add_symbols(tok, f, err));
    TRY(add_steps(tok, f, c, albert, err));
    TRY(folder_add_tokens(tok, c, err));
    struct folder_template t = {.second = albert, .doubled = !albert};
    const struct json_text cls = albert ? (struct json_text){"[CLS]", 5} : (struct json_text){"<s>", 3};
    const struct json_text sep = albert ? (struct json_text){"[SEP]", 5} : (struct json_text){"</s>", 4};
    TRY(folder_find_token(tok, cls, "cls_token", &t.cls, err));
    TRY(folder_find_token(tok, sep, "sep_token", &t.sep, err));
    return folder_template_add(tok, t) ? SABOK_OK : error_memory(err, tok->path);
}

sabok_status folder_read_pieces(struct sabok_tokenizer *tok, const struct folder_files *f,
                                const struct folder_config *c, sabok_error *err) {
    struct piece_file file;
    sabok_status status =
        read_file((struct message){f->vocab.text, f->vocab.path, 0, f->vocab.size, err}, &file);
    if (status == SABOK_OK) status = build(tok, &file, c, err);
    mem_free(file.pieces);
    return status;
}
