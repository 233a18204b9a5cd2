// session: a plan of the model and the batch it runs. The model keeps idle ones for reuse, so that a stream
// of calls allocates nothing after the first few.
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

// A session serves any batch up to its capacity; one of more than this many times the need is left for bigger
// ones.
#define SESSION_WASTE 4

static size_t session_round(size_t n) {
    size_t size = 64;
    while (size < n)
        size += size / 2 / 64 * 64 + 64;
    return size;
}

static void session_free(struct session *s) {
    if (!s) return;
    plan_free(s->plan);
    mem_free(s->ids);
    mem_free(s->types);
    mem_free(s->positions);
    mem_free(s->offsets);
    mem_free(s->skip);
    mem_free(s);
}

static struct session *session_new(const struct sabok_model *m, enum program_kind kind, size_t T, size_t B,
                                   sabok_error *err) {
    if (T > UINT32_MAX / 2 || B > UINT32_MAX / 2) {
        error_set(err, SABOK_EINVAL, m->name, "%zu tokens in %zu sequences are too many for one batch", T, B);
        return NULL;
    }
    T = session_round(T);
    B = session_round(B);
    struct session *s = mem_zalloc(sizeof *s);
    if (!s) {
        error_memory(err, m->name);
        return NULL;
    }
    s->kind = kind;
    s->ids = mem_array(T, sizeof *s->ids);
    s->types = mem_array(T, sizeof *s->types);
    s->positions = mem_array(T, sizeof *s->positions);
    s->offsets = mem_array(B + 1, sizeof *s->offsets);
    s->skip = mem_array(B, sizeof *s->skip);
    if (s->ids && s->types && s->positions && s->offsets && s->skip) {
        s->offsets[0] = 0;
        const prog *p = model_prog(m, kind, err);
        if (p) s->plan = plan_new(p, m->packs, T, B, team_size(m->team), err);
    } else {
        error_memory(err, m->name);
    }
    if (!s->plan) {
        session_free(s);
        return NULL;
    }
    return s;
}

static bool session_fits(const struct session *s, enum program_kind kind, size_t T, size_t B) {
    return s->kind == kind && plan_tokens(s->plan) >= T && plan_sequences(s->plan) >= B &&
           plan_tokens(s->plan) <= SESSION_WASTE * session_round(T);
}

struct session *session_take(const struct sabok_model *m, enum program_kind kind, size_t T, size_t B,
                             sabok_error *err) {
    struct sabok_model *shared =
        (struct sabok_model *)(uintptr_t)m; // the pool is the one mutable part of a model
    struct session *found = NULL;
    pthread_mutex_lock(&shared->session_lock);
    for (struct session **at = &shared->idle; *at && !found; at = &(*at)->next) {
        if (!session_fits(*at, kind, T, B)) continue;
        found = *at;
        *at = found->next;
        shared->idle_count--;
        break;
    }
    pthread_mutex_unlock(&shared->session_lock);
    return found ? found : session_new(m, kind, T, B, err);
}

void session_give(const struct sabok_model *m, struct session *s) {
    if (!s) return;
    struct sabok_model *shared = (struct sabok_model *)(uintptr_t)m;
    s->T = s->B = 0;
    struct session *old = NULL;
    pthread_mutex_lock(&shared->session_lock);
    s->next = shared->idle;
    shared->idle = s;
    if (++shared->idle_count > 2 * team_size(m->team) + 2) {
        struct session **at = &shared->idle;
        while ((*at)->next)
            at = &(*at)->next;
        old = *at;
        *at = NULL;
        shared->idle_count--;
    }
    pthread_mutex_unlock(&shared->session_lock);
    session_free(old);
}

void session_pool_free(struct sabok_model *m) {
    while (m->idle) {
        struct session *next = m->idle->next;
        session_free(m->idle);
        m->idle = next;
    }
}

static void session_add_ids(const struct sabok_model *m, struct session *s, const struct sequence *sequence) {
    const size_t length = sequence->length;
    memcpy(s->ids + s->T, sequence->ids, length * sizeof *s->ids);
    if (sequence->types && m->config.types > 1) // a table of one row serves every segment
        memcpy(s->types + s->T, sequence->types, length * sizeof *s->types);
    else
        memset(s->types + s->T, 0, length * sizeof *s->types);
    uint32_t position = (uint32_t)m->config.position_first;
    for (size_t i = 0; i < length; i++) {
        const bool pad = m->config.positions_skip_pad && sequence->ids[i] == m->config.pad_id;
        s->positions[s->T + i] = pad ? (uint32_t)m->config.position_first - 1 : position++;
    }
}

void session_add(const struct sabok_model *m, struct session *s, const struct sequence *sequence) {
    const size_t length = sequence->length;
    ASSERT(s->T + length <= plan_tokens(s->plan) && s->B < plan_sequences(s->plan));
    if (sequence->ids) session_add_ids(m, s, sequence);
    s->T += length;
    s->skip[s->B] = sequence->skip;
    s->offsets[++s->B] = (uint32_t)s->T;
}

static sabok_status session_run_eager(const struct sabok_model *m, const struct session *s,
                                      const struct batch *batch, float *out, sabok_error *err) {
    prog p;
    prog_init(&p);
    float *outputs[OUTPUT_MAX] = {out};
    struct eager *e = eager_attach(&p, batch, err);
    sabok_status status = SABOK_ENOMEM;
    if (e) {
        model_program(&p, m, s->kind);
        status = eager_finish(e, &p, outputs, err);
    }
    prog_free(&p);
    return status;
}

sabok_status session_run(const struct sabok_model *m, struct session *s, struct team *team, float *out,
                         sabok_error *err) {
    const struct batch batch = {.T = s->T,
                                .B = s->B,
                                .ids = s->ids,
                                .types = s->types,
                                .positions = s->positions,
                                .offsets = s->offsets,
                                .skip = s->skip,
                                .rows = s->rows};
    float *outputs[OUTPUT_MAX] = {out};
    const char *eager = getenv("SABOK_EAGER");
    const sabok_status status = eager && *eager && strcmp(eager, "0") != 0
                                    ? session_run_eager(m, s, &batch, out, err)
                                    : plan_run(s->plan, &batch, outputs, team, err);
    s->T = s->B = 0;
    if (status == SABOK_ENUMERIC && err) { // a record is named; the model, too
        const sabok_error record = *err;
        error_set(err, SABOK_ENUMERIC, m->name, "%s", record.message);
    }
    return status;
}
