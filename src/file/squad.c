// Questions of a file in SQuAD's form: {"data": [{"paragraphs": [{"context", "qas": [{"id", "question", "answers"}]}]}]}.
#include "file/file.h"

#include <string.h>

struct sabok_squad {
    struct arena arena; // texts, answers
    sabok_squad_question *questions;
    size_t n, cap;
    struct answers { // of the question at hand
        const char **items;
        size_t n, cap;
    } answers;
};

static bool no_memory(struct json *j) {
    error_memory(j->err, j->where);
    j->failed = true;
    return false;
}

static bool text_read(struct sabok_squad *s, struct json *j, const char *key, const char **out) {
    struct json_text text;
    if (json_peek(j) != JSON_STRING)
        return json_fail(j, "%s: found %s, expected a string", key, json_kind_name(json_peek(j)));
    if (!json_string(j, &text)) return false;
    if (memchr(text.data, '\0', text.size)) return json_fail(j, "%s: found a NUL, expected none", key);
    *out = arena_copy(&s->arena, text.data, text.size);
    return *out || no_memory(j);
}

static bool answer_read(struct sabok_squad *s, struct json *j) {
    struct json_text key;
    const char *text = NULL;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key))
        if (!(json_text_is(key, "text") ? text_read(s, j, "text", &text) : json_skip(j))) return false;
    if (j->failed) return false;
    if (!text) return json_fail(j, "found an answer without \"text\"");
    struct answers *a = &s->answers;
    if (!mem_grow((void **)&a->items, &a->cap, a->n + 1, sizeof *a->items)) return no_memory(j);
    a->items[a->n++] = text;
    return true;
}

static bool question_read(struct sabok_squad *s, struct json *j) {
    struct json_text key;
    sabok_squad_question q = {0};
    s->answers.n = 0;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool ok = true;
        if (json_text_is(key, "id")) {
            ok = text_read(s, j, "id", &q.id);
        } else if (json_text_is(key, "question")) {
            ok = text_read(s, j, "question", &q.question);
        } else if (json_text_is(key, "is_impossible")) {
            ok = json_bool(j, &q.impossible);
        } else if (json_text_is(key, "answers")) {
            ok = json_array_begin(j);
            while (ok && json_item(j))
                ok = answer_read(s, j);
        } else {
            ok = json_skip(j);
        }
        if (!ok || j->failed) return false;
    }
    if (j->failed) return false;
    if (!q.id || !q.question) return json_fail(j, "found a question without \"id\" and \"question\"");
    const char **answers = arena_alloc(&s->arena, (s->answers.n + 1) * sizeof *answers);
    if (!answers) return no_memory(j);
    for (size_t i = 0; i < s->answers.n; i++)
        answers[i] = s->answers.items[i];
    q.answers = answers;
    q.answer_count = s->answers.n;
    if (!mem_grow((void **)&s->questions, &s->cap, s->n + 1, sizeof *s->questions)) return no_memory(j);
    s->questions[s->n++] = q;
    return true;
}

// The context may follow its questions.
static bool paragraph_read(struct sabok_squad *s, struct json *j) {
    struct json_text key;
    const size_t first = s->n;
    const char *context = NULL;
    if (!json_object_begin(j)) return false;
    while (json_key(j, &key)) {
        bool ok = true;
        if (json_text_is(key, "context")) {
            ok = text_read(s, j, "context", &context);
        } else if (json_text_is(key, "qas")) {
            ok = json_array_begin(j);
            while (ok && json_item(j))
                ok = question_read(s, j);
        } else {
            ok = json_skip(j);
        }
        if (!ok || j->failed) return false;
    }
    if (j->failed) return false;
    if (!context) return json_fail(j, "found a paragraph without \"context\"");
    for (size_t i = first; i < s->n; i++)
        s->questions[i].context = context;
    return true;
}

typedef bool item_read(struct sabok_squad *s, struct json *j);

// An object whose `name` is an array of items, other keys passed over.
static bool list_read(struct sabok_squad *s, struct json *j, const char *name, item_read *item) {
    struct json_text key;
    bool ok = json_object_begin(j), found = false;
    while (ok && json_key(j, &key)) {
        if (!json_text_is(key, name)) {
            ok = json_skip(j);
            continue;
        }
        found = true;
        ok = json_array_begin(j);
        while (ok && json_item(j))
            ok = item(s, j);
        ok = ok && !j->failed;
    }
    return ok && !j->failed && (found || json_fail(j, "found no key \"%s\"", name));
}

static bool article_read(struct sabok_squad *s, struct json *j) {
    return list_read(s, j, "paragraphs", paragraph_read);
}

sabok_squad *sabok_squad_open(const char *path, sabok_error *err) {
    sabok_error ignored = {0};
    if (!err) err = &ignored;
    struct sabok_squad *s = mem_zalloc(sizeof *s);
    if (!s) {
        error_memory(err, path);
        return NULL;
    }
    arena_init(&s->arena, 0);
    struct file_map map;
    bool ok = map_open(&map, path, true, err) == SABOK_OK;
    if (ok) {
        struct json j;
        json_init(&j, (const char *)map.data, map.size, path, &s->arena, err);
        ok = list_read(s, &j, "data", article_read) && json_end(&j);
        map_close(&map);
    }
    if (ok) return s;
    sabok_squad_close(s);
    return NULL;
}

void sabok_squad_close(sabok_squad *s) {
    if (!s) return;
    arena_free(&s->arena);
    mem_free(s->questions);
    mem_free(s->answers.items);
    mem_free(s);
}

size_t sabok_squad_count(const sabok_squad *s) {
    return s->n;
}

const sabok_squad_question *sabok_squad_get(const sabok_squad *s, size_t i) {
    return i < s->n ? &s->questions[i] : NULL;
}
