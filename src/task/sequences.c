// sequences: texts to ids on all threads, then ids to rows. Sequences are cut into groups. With enough groups
// each thread computes groups alone: no barrier, and a layer's activations stay in its own cache. With few,
// all threads share each group. The bits are the same either way, as rows never depend on their neighbours.
#include "task/task.h"

#include <string.h>

// Tokens of a group: enough rows for the matrix kernels, few enough for a core's second-level cache.
#define GROUP_TOKENS 256
// Lanes are used when the fullest one has at most this share more than its part of the work.
#define LANE_IMBALANCE 1.12
#define TOKENIZE_GRAIN 16

// ---- storage
void sequences_free(struct sequences *s) {
    for (unsigned i = 0; i < s->threads; i++) {
        if (s->scratch) token_scratch_free(s->scratch[i]);
        if (!s->lists) continue;
        mem_free(s->lists[i].ids);
        mem_free(s->lists[i].types);
    }
    mem_free(s->scratch);
    mem_free(s->lists);
    mem_free(s->ids);
    mem_free(s->types);
    mem_free(s->length);
    *s = (struct sequences){0};
}

bool sequences_reserve(struct sequences *s, size_t n) {
    size_t cap = s->cap;
    if (!mem_grow((void **)&s->ids, &cap, n, sizeof *s->ids)) return false;
    cap = s->cap;
    if (!mem_grow((void **)&s->types, &cap, n, sizeof *s->types)) return false;
    cap = s->cap;
    if (!mem_grow((void **)&s->length, &cap, n, sizeof *s->length)) return false;
    s->cap = cap;
    s->n = n;
    return true;
}

// ---- tokenizing
struct tokenize_job {
    struct sequences *s;
    const sabok_model *m;
    const struct text_source *source;
    uint32_t *owner; // [n]: the list that holds text i
    size_t *begin;   // [n]: where in it
    _Atomic size_t next;
    _Atomic bool failed;
};

// The text as the tokenizer shall see it, behind its prompt.
static bool tokenize_text(const struct tokenize_job *job, size_t i, struct buf *joined, const char **text,
                          size_t *length) {
    const struct text_source *source = job->source;
    *text = source->texts[i];
    *length = source->lengths ? source->lengths[i] : strlen(*text);
    if (!source->prompt) return true;
    joined->size = 0;
    buf_put(joined, source->prompt, strlen(source->prompt));
    buf_put(joined, *text, *length);
    *text = joined->data;
    *length = joined->size;
    return !joined->failed;
}

static bool tokenize_one(struct tokenize_job *job, unsigned thread, size_t i, struct buf *joined) {
    const struct text_source *source = job->source;
    struct text_pair t = {{NULL, source->pairs ? source->pairs[i] : NULL}, {0, 0}};
    if (!tokenize_text(job, i, joined, &t.text[0], &t.length[0])) return false;
    if (t.text[1]) t.length[1] = source->pair_lengths ? source->pair_lengths[i] : strlen(t.text[1]);
    if (source->pair_optional && t.length[1] == 0) t.text[1] = NULL;
    struct token_ids *list = &job->s->lists[thread];
    struct token_scratch *scratch = job->s->scratch[thread];
    job->owner[i] = thread;
    job->begin[i] = list->size;
    job->s->length[i] = 0;
    const sabok_truncation truncation =
        source->truncation == SABOK_TRUNCATE_DEFAULT ? SABOK_TRUNCATE_LONGEST_FIRST : source->truncation;
    const size_t most = truncation == SABOK_TRUNCATE_NONE ? 0 : source->max_length;
    const bool done =
        t.text[1] ? tokenizer_encode_pair_ids(job->m->tokenizer, scratch, &t, truncation, most, list)
                  : tokenizer_encode_ids(job->m->tokenizer, scratch, t.text[0], t.length[0], most, list);
    if (!done) return false;
    job->s->length[i] = (uint32_t)(list->size - job->begin[i]);
    return true;
}

static void tokenize_work(void *ctx, unsigned thread, unsigned threads) {
    (void)threads;
    struct tokenize_job *job = ctx;
    struct buf joined = {0};
    bool ok = true; // a failure is the thread's last step, and its scratch knows why
    for (size_t begin; ok && (begin = atomic_fetch_add(&job->next, TOKENIZE_GRAIN)) < job->s->n;)
        for (size_t i = begin; ok && i < size_min(begin + TOKENIZE_GRAIN, job->s->n); i++)
            ok = tokenize_one(job, thread, i, &joined);
    if (!ok) atomic_store(&job->failed, true);
    buf_free(&joined);
}

static bool tokenize_prepare(struct sequences *s, const sabok_model *m) {
    if (s->lists) {
        for (unsigned i = 0; i < s->threads; i++)
            s->lists[i].size = 0;
        return true;
    }
    s->threads = team_size(m->team);
    s->lists = mem_zalloc(s->threads * sizeof *s->lists);
    s->scratch = mem_zalloc(s->threads * sizeof *s->scratch);
    if (!s->lists || !s->scratch) return false;
    for (unsigned i = 0; i < s->threads; i++)
        if (!(s->scratch[i] = token_scratch_new(m->tokenizer))) return false;
    return true;
}

static sabok_status tokenize_failed(const struct sequences *s, const sabok_model *m, sabok_error *err) {
    sabok_status status = error_memory(err, m->name);
    for (unsigned i = 0; i < s->threads && s->scratch && status == SABOK_ENOMEM; i++)
        status = token_scratch_error(s->scratch[i], m->tokenizer, err);
    return status;
}

sabok_status sequences_tokenize(struct sequences *s, const sabok_model *m, const struct text_source *source,
                                sabok_error *err) {
    if (!m->tokenizer) return error_set(err, SABOK_EINVAL, m->name, "the model has no tokenizer");
    struct tokenize_job job = {
        .s = s,
        .m = m,
        .source = source,
        .owner = mem_array(source->n, sizeof *job.owner),
        .begin = mem_array(source->n, sizeof *job.begin),
    };
    bool ok = job.owner && job.begin && tokenize_prepare(s, m) && sequences_reserve(s, source->n);
    if (ok) {
        if (source->n > TOKENIZE_GRAIN && s->threads > 1)
            team_run(m->team, s->threads, tokenize_work, &job);
        else
            tokenize_work(&job, 0, 1);
        ok = !job.failed;
    }
    for (size_t i = 0; ok && i < s->n; i++) {
        s->ids[i] = s->lists[job.owner[i]].ids + job.begin[i];
        s->types[i] = m->segments ? s->lists[job.owner[i]].types + job.begin[i] : NULL;
    }
    mem_free(job.owner);
    mem_free(job.begin);
    return ok ? SABOK_OK : tokenize_failed(s, m, err);
}

// ---- computing
struct group {
    size_t first, count, tokens;
    size_t row; // of its first sequence, in tokens
};

struct compute_job {
    const struct sequences *s;
    const sabok_model *m;
    const struct sequences_run *run;
    struct group *groups;
    size_t count;
    size_t most_tokens, most_count; // of a group
    _Atomic size_t next;
    _Atomic bool failed;
    pthread_mutex_t lock;
    sabok_error err;
    sabok_status status;
};

// Tokens of a group for lanes: equal shares, in as many rounds as keep a group within GROUP_TOKENS. For a team, whose
// threads share each group: GROUP_TOKENS for each of them.
static size_t group_target(const struct compute_job *job, size_t total, bool lanes) {
    if (job->run->batch_tokens) return job->run->batch_tokens;
    const size_t threads = team_size(job->m->team);
    if (!lanes) return threads * GROUP_TOKENS;
    const size_t rounds = (total + threads * GROUP_TOKENS - 1) / (threads * GROUP_TOKENS);
    return rounds ? (total + rounds * threads - 1) / (rounds * threads) : 1;
}

static void groups_make(struct compute_job *job, bool lanes) {
    job->count = job->most_tokens = job->most_count = 0;
    const struct sequences_run *run = job->run;
    size_t total = 0, row = 0;
    for (size_t i = run->begin; i < run->end; i++)
        total += job->s->length[i];
    const size_t target = group_target(job, total, lanes);
    for (size_t i = run->begin; i < run->end; i++) {
        const size_t length = job->s->length[i];
        struct group *g = job->count ? &job->groups[job->count - 1] : NULL;
        // A group may end a little over its target rather than leave a small one behind.
        if (!g || g->tokens + length / 2 >= target) {
            g = &job->groups[job->count++];
            *g = (struct group){.first = i, .row = row};
        }
        g->count++;
        g->tokens += length;
        row += length;
        job->most_tokens = size_max(job->most_tokens, g->tokens);
        job->most_count = size_max(job->most_count, g->count);
    }
}

static sabok_status group_run(struct compute_job *job, const struct group *g, struct team *team,
                              sabok_error *err) {
    const sabok_model *m = job->m;
    struct session *s = session_take(m, job->run->kind, job->most_tokens, job->most_count, err);
    if (!s) return SABOK_ENOMEM;
    for (size_t i = g->first; i < g->first + g->count; i++)
        session_add(m, s,
                    &(struct sequence){job->s->ids[i], job->s->types[i], job->s->length[i], job->s->skip});
    if (job->run->rows) s->rows = job->run->rows + g->row * m->config.D;
    const size_t row = program_by_sequence(job->run->kind) ? g->first - job->run->begin : g->row;
    float *out = job->run->out + row * model_width(m, job->run->kind);
    const sabok_status status = session_run(m, s, team, out, err);
    session_give(m, s);
    return status;
}

static void compute_lane(void *ctx, unsigned thread, unsigned threads) {
    (void)thread, (void)threads;
    struct compute_job *job = ctx;
    for (size_t i; (i = atomic_fetch_add(&job->next, 1)) < job->count && !atomic_load(&job->failed);) {
        sabok_error err = {0};
        const sabok_status status = group_run(job, &job->groups[i], NULL, &err);
        if (status == SABOK_OK) continue;
        pthread_mutex_lock(&job->lock);
        if (!atomic_exchange(&job->failed, true)) {
            job->err = err;
            job->status = status;
        }
        pthread_mutex_unlock(&job->lock);
    }
}

// Whether groups, taken in turn by the least busy thread, fill the threads evenly.
static bool lanes_balanced(const struct compute_job *job, unsigned threads) {
    if (threads < 2 || job->count < threads) return false;
    if (job->count >= 16 * (size_t)threads) return true;
    size_t load[64] = {0}, total = 0, most = 0;
    if (threads > COUNT(load)) return false;
    for (size_t i = 0; i < job->count; i++) {
        size_t least = 0;
        for (size_t t = 1; t < threads; t++)
            if (load[t] < load[least]) least = t;
        load[least] += job->groups[i].tokens;
        total += job->groups[i].tokens;
        most = size_max(most, load[least]);
    }
    return (double)most * threads <= LANE_IMBALANCE * (double)total;
}

static sabok_status compute_groups(struct compute_job *job, sabok_error *err) {
    struct team *team = job->m->team;
    const unsigned threads = team_size(team);
    groups_make(job, true);
    if (lanes_balanced(job, threads)) {
        team_run(team, threads, compute_lane, job);
        if (err && job->status != SABOK_OK) *err = job->err;
        return job->status;
    }
    groups_make(job, false);
    for (size_t i = 0; i < job->count; i++)
        TRY(group_run(job, &job->groups[i], threads > 1 ? team : NULL, err));
    return SABOK_OK;
}

sabok_status sequences_take(struct sequences *s, const sabok_model *m, const sabok_encodings *encodings,
                            sabok_error *err) {
    const size_t n = sabok_encodings_count(encodings);
    if (!sequences_reserve(s, n)) return error_memory(err, m->name);
    for (size_t i = 0; i < n; i++) {
        const sabok_encoding *e = sabok_encodings_get(encodings, i);
        s->ids[i] = e->ids;
        s->types[i] = m->segments ? e->type_ids : NULL;
        s->length[i] = (uint32_t)e->length;
    }
    return SABOK_OK;
}

sabok_status sequences_compute(const struct sequences *s, const sabok_model *m,
                               const struct sequences_run *run, sabok_error *err) {
    if (run->begin == run->end) return SABOK_OK;
    sabok_error ignored = {0};
    if (!err) err = &ignored;
    if (!model_prog(m, run->kind, err)) return err->code; // made before any region, see model_prog
    struct compute_job job = {
        .s = s, .m = m, .run = run, .groups = mem_array(run->end - run->begin, sizeof *job.groups)};
    if (!job.groups) return error_memory(err, m->name);
    pthread_mutex_init(&job.lock, NULL);
    const sabok_status status = compute_groups(&job, err);
    pthread_mutex_destroy(&job.lock);
    mem_free(job.groups);
    return status;
}
