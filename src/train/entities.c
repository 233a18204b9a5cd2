// Entities of tagged words, counted by type: seqeval's, by conlleval's rules or strictly by a scheme.
#include "train/train.h"

#include <math.h>
#include <string.h>

// A tag: a letter, a dash, a type. The type is part of the caller's text.
struct tag {
    char letter;
    const char *type;
    size_t length;
};

struct entity {
    struct tag tag;
    size_t begin, end; // words [begin, end)
};

struct entities {
    struct entity *items;
    size_t n, cap;
};

struct sabok_entity_counter {
    sabok_scheme scheme;
    const char **types; // [n], rising
    sabok_counts *counts;
    size_t n, types_cap, counts_cap;
    struct side {
        struct entities entities; // of the sentence at hand
        size_t begin;             // of the last entity begun, which tags of no kind may take up much later
    } expected, found;
    size_t words; // before the sentence at hand, one more for each sentence
};

static const struct tag outside = {'O', "_", 1};

static bool type_equal(const struct tag *a, const struct tag *b) {
    return a->length == b->length && memcmp(a->type, b->type, a->length) == 0;
}

static bool entity_add(struct entities *e, const struct tag *tag, size_t begin, size_t end) {
    if (!mem_grow((void **)&e->items, &e->cap, e->n + 1, sizeof *e->items)) return false;
    e->items[e->n++] = (struct entity){*tag, begin, end};
    return true;
}

// ---- conlleval's rules: no tag is wrong

static bool letter_in(char letter, const char *set) {
    return letter && strchr(set, letter) != NULL;
}

// The type is what follows the first dash, or the first letter where there is no dash.
static struct tag tag_read(const char *text) {
    if (!text[0]) return outside;
    const char *rest = text + 1;
    while (((unsigned char)*rest & 0xC0) == 0x80) // a letter that no rule knows
        rest++;
    const char *dash = strchr(rest, '-'), *type = dash ? dash + 1 : rest;
    return *type ? (struct tag){text[0], type, strlen(type)} : (struct tag){text[0], "_", 1};
}

static bool entity_ends(const struct tag *prev, const struct tag *tag) {
    if (letter_in(prev->letter, "ES")) return true;
    if (letter_in(prev->letter, "BI") && letter_in(tag->letter, "BSO")) return true;
    return !letter_in(prev->letter, "O.") && !type_equal(prev, tag);
}

static bool entity_starts(const struct tag *prev, const struct tag *tag) {
    if (letter_in(tag->letter, "BS")) return true;
    if (letter_in(prev->letter, "ESO") && letter_in(tag->letter, "EI")) return true;
    return !letter_in(tag->letter, "O.") && !type_equal(prev, tag);
}

// Words are numbered through all sentences, an outside one between two.
static bool side_read(struct side *s, size_t words, const char *const *tags, size_t n) {
    struct tag prev = words ? outside : (struct tag){'O', "", 0};
    for (size_t i = 0; i <= n; i++) {
        const struct tag tag = i < n ? tag_read(tags[i]) : outside;
        if (entity_ends(&prev, &tag) && !entity_add(&s->entities, &prev, s->begin, words + i)) return false;
        if (entity_starts(&prev, &tag)) s->begin = words + i;
        prev = tag;
    }
    return true;
}

// ---- schemes: what a letter may follow

enum { ANY, SAME, DIFFERENT }; // the types of the two

struct rule {
    const char *prev, *letter;
    int types;
};

#define ALL "IOBESUL"
#define RULES 7
static const struct scheme {
    const char *letters;
    struct rule start[RULES], inside[RULES], end[RULES];
} schemes[] = {
    [SABOK_IOB1] = {"IOB",
                    {{"OB", "I", ANY}, {"I", "I", DIFFERENT}, {"IB", "B", SAME}},
                    {{"BI", "I", SAME}},
                    {{"I", "OB", ANY}, {"IB", "I", DIFFERENT}, {"B", "O", ANY}, {"B", "B", SAME}}},
    [SABOK_IOB2] = {"IOB",
                    {{ALL, "B", ANY}},
                    {{"BI", "I", SAME}},
                    {{"IB", "OB", ANY}, {"IB", "I", DIFFERENT}}},
    [SABOK_IOE1] = {"IOE",
                    {{"OE", "I", ANY}, {"I", "I", DIFFERENT}, {"E", "E", SAME}},
                    {{"I", "IE", SAME}},
                    {{"I", "IE", DIFFERENT}, {"I", "O", ANY}, {"E", "IE", SAME}}},
    [SABOK_IOE2] = {"IOE",
                    {{"OE", "IE", ANY}, {"I", "IE", DIFFERENT}},
                    {{"I", "IE", SAME}},
                    {{"E", ALL, ANY}}},
    [SABOK_IOBES] = {"IOBES", {{ALL, "BS", ANY}}, {{"BI", "IE", SAME}}, {{"SE", ALL, ANY}}},
    [SABOK_BILOU] = {"BILOU", {{ALL, "BU", ANY}}, {{"BI", "IL", SAME}}, {{"UL", ALL, ANY}}},
};

static bool rules_match(const struct rule *rules, const struct tag *prev, const struct tag *tag) {
    for (; rules->prev; rules++)
        if (letter_in(prev->letter, rules->prev) && letter_in(tag->letter, rules->letter) &&
            (rules->types == ANY || type_equal(prev, tag) == (rules->types == SAME)))
            return true;
    return false;
}

// The type is what follows the letter, without dashes around it.
static struct tag tag_read_strictly(const char *text) {
    const char *type = text + 1;
    size_t n = strlen(type);
    for (; n && *type == '-'; n--)
        type++;
    while (n && type[n - 1] == '-')
        n--;
    return n ? (struct tag){text[0], type, n} : (struct tag){text[0], "_", 1};
}

static struct tag tag_at(const char *const *tags, size_t n, size_t i) {
    return i < n ? tag_read_strictly(tags[i]) : outside;
}

static sabok_status side_read_strictly(const struct scheme *scheme, struct side *s, const char *const *tags,
                                       size_t n, sabok_error *err) {
    struct tag prev = outside;
    for (size_t i = 0; i < n; i++)
        if (!letter_in(tags[i][0], scheme->letters)) {
            char shown[QUOTE_TEXT];
            return error_set(err, SABOK_EINVAL, NULL,
                             "found the tag \"%s\", expected one that begins with a letter of %s",
                             quote_text(tags[i], strlen(tags[i]), shown), scheme->letters);
        }
    for (size_t i = 0; i <= n;) {
        const struct tag tag = tag_at(tags, n, i);
        if (!rules_match(scheme->start, &prev, &tag)) {
            prev = tag;
            i++;
            continue;
        }
        const size_t begin = i++;
        for (prev = tag; i <= n; i++) {
            const struct tag next = tag_at(tags, n, i);
            if (!rules_match(scheme->inside, &prev, &next)) break;
            prev = next;
        }
        const struct tag next = tag_at(tags, n, i);
        if (rules_match(scheme->end, &prev, &next) && !entity_add(&s->entities, &tag, begin, i))
            return error_memory(err, "entities");
    }
    return SABOK_OK;
}

// ---- counting

static int type_compare(const char *name, const struct tag *tag) {
    const int order = strncmp(name, tag->type, tag->length);
    return order ? order : name[tag->length] != '\0';
}

// The counts of a type, which is added when it is new; NULL when out of memory.
static sabok_counts *type_counts(struct sabok_entity_counter *c, const struct tag *tag) {
    size_t low = 0, high = c->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = type_compare(c->types[middle], tag);
        if (order == 0) return &c->counts[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    char *name = mem_copy_bytes(tag->type, tag->length);
    if (!name || !mem_grow((void **)&c->types, &c->types_cap, c->n + 1, sizeof *c->types) ||
        !mem_grow((void **)&c->counts, &c->counts_cap, c->n + 1, sizeof *c->counts)) {
        mem_free(name);
        return NULL;
    }
    memmove(c->types + low + 1, c->types + low, (c->n - low) * sizeof *c->types);
    memmove(c->counts + low + 1, c->counts + low, (c->n - low) * sizeof *c->counts);
    c->types[low] = name;
    c->counts[low] = (sabok_counts){0};
    c->n++;
    return &c->counts[low];
}

// The entities of both sides rise by their ends, no two of which are the same.
static sabok_status sides_count(struct sabok_entity_counter *c, sabok_error *err) {
    const struct entities *expected = &c->expected.entities, *found = &c->found.entities;
    for (size_t i = 0, j = 0; i < expected->n || j < found->n;) {
        const struct entity *a = i < expected->n ? &expected->items[i] : NULL,
                            *b = j < found->n ? &found->items[j] : NULL;
        const bool first = a && (!b || a->end <= b->end), second = b && (!a || b->end <= a->end);
        sabok_counts *counts = NULL;
        if (first && !(counts = type_counts(c, &a->tag))) return error_memory(err, "entities");
        if (first) counts->expected++;
        if (first && second && a->begin == b->begin && type_equal(&a->tag, &b->tag)) counts->correct++;
        if (second && !(counts = type_counts(c, &b->tag))) return error_memory(err, "entities");
        if (second) counts->found++;
        i += first;
        j += second;
    }
    return SABOK_OK;
}

sabok_entity_counter *sabok_entity_counter_new(sabok_scheme scheme, sabok_error *err) {
    struct sabok_entity_counter *c = mem_zalloc(sizeof *c);
    if (!c) error_memory(err, "entities");
    if (c) c->scheme = scheme;
    return c;
}

sabok_status sabok_entity_counter_add(sabok_entity_counter *c, const char *const *expected,
                                      const char *const *found, size_t n, sabok_error *err) {
    c->expected.entities.n = c->found.entities.n = 0;
    if (c->scheme != SABOK_SCHEME_DEFAULT) {
        const struct scheme *scheme = &schemes[c->scheme];
        TRY(side_read_strictly(scheme, &c->expected, expected, n, err));
        TRY(side_read_strictly(scheme, &c->found, found, n, err));
    } else if (!side_read(&c->expected, c->words, expected, n) || !side_read(&c->found, c->words, found, n)) {
        return error_memory(err, "entities");
    }
    c->words += n + 1;
    return sides_count(c, err);
}

size_t sabok_entity_counter_types(const sabok_entity_counter *c, const char *const **names,
                                  const sabok_counts **counts) {
    *names = c->types;
    *counts = c->counts;
    return c->n;
}

void sabok_entity_counter_free(sabok_entity_counter *c) {
    if (!c) return;
    for (size_t i = 0; i < c->n; i++)
        mem_free((void *)c->types[i]);
    mem_free(c->types);
    mem_free(c->counts);
    mem_free(c->expected.entities.items);
    mem_free(c->found.entities.items);
    mem_free(c);
}

// ---- scores

static sabok_scores type_scores(const sabok_counts *c, double undefined) {
    const double correct = (double)c->correct, p = c->found ? correct / (double)c->found : undefined,
                 r = c->expected ? correct / (double)c->expected : undefined;
    return (sabok_scores){p, r, 2 * p * r / (p + r == 0 ? 1 : p + r)};
}

struct averaging {
    const sabok_counts *types;
    double undefined;
    size_t part; // of sabok_scores
    bool weighted;
};

static double averaging_term(const void *ctx, size_t i) {
    const struct averaging *a = ctx;
    const sabok_scores s = type_scores(&a->types[i], a->undefined);
    const double x = a->part == 0 ? s.precision : a->part == 1 ? s.recall : s.f1;
    return a->weighted ? x * (double)a->types[i].expected : x;
}

sabok_scores sabok_entity_scores(const sabok_counts *types, size_t n, sabok_average average,
                                 double undefined) {
    sabok_counts sum = {0};
    for (size_t i = 0; i < n; i++) {
        sum.correct += types[i].correct;
        sum.found += types[i].found;
        sum.expected += types[i].expected;
    }
    if (average == SABOK_AVERAGE_MICRO) return type_scores(&sum, undefined);
    if (average == SABOK_AVERAGE_WEIGHTED && sum.expected == 0)
        return (sabok_scores){sum.found ? 0 : undefined, undefined, sum.found ? 0 : undefined};
    struct averaging a = {types, undefined, 0, average == SABOK_AVERAGE_WEIGHTED};
    const double weight = a.weighted ? (double)sum.expected : (double)n;
    double out[3];
    for (; a.part < 3; a.part++)
        out[a.part] = n ? sum_pairwise(averaging_term, &a, 0, n) / weight : (double)NAN;
    return (sabok_scores){out[0], out[1], out[2]};
}
