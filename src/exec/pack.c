// pack: the weights of linear records, in the panels that the bound kernel reads. Parts that the fuse pass
// joined are packed as one matrix.
#include "exec/exec.h"

#include <pthread.h>
#include <string.h>

#define PACK_CHUNK 4 // panels a thread takes at a time

struct pack_entry {
    const struct weight *weight[LINEAR_PARTS], *bias[LINEAR_PARTS];
    uint32_t parts;
    const struct kernel *kernel;
    struct packed_linear packed;
    void *panels; // inside a block, as are the two below
    float *scale, *joined_bias;
    size_t first_chunk, chunks;
    _Atomic size_t left;
    struct pack_entry *next;
};

struct pack_block {
    void *data;
    size_t bytes;
    struct pack_block *next;
};

struct pack_set {
    pthread_mutex_t lock;
    struct pack_entry *entries;
    struct pack_block *blocks;
};

struct pack_set *pack_new(void) {
    struct pack_set *set = mem_zalloc(sizeof *set);
    if (set) pthread_mutex_init(&set->lock, NULL);
    return set;
}

static void pack_entries_free(struct pack_entry *e) {
    while (e) {
        struct pack_entry *next = e->next;
        mem_free(e);
        e = next;
    }
}

void pack_free(struct pack_set *set) {
    if (!set) return;
    pack_entries_free(set->entries);
    while (set->blocks) {
        struct pack_block *next = set->blocks->next;
        mem_unmap(set->blocks->data, set->blocks->bytes);
        mem_free(set->blocks);
        set->blocks = next;
    }
    pthread_mutex_destroy(&set->lock);
    mem_free(set);
}

static bool pack_matches(const struct pack_entry *e, const prog *p, const struct record *r) {
    const struct linear_params *params = (const void *)r->params;
    if (e->parts != params->parts || e->kernel != kernel_best(linear_family(p, r))) return false;
    for (uint32_t i = 0; i < e->parts; i++)
        if (e->weight[i] != p->values[r->in[2 + 2 * i]].weight ||
            e->bias[i] != p->values[r->in[3 + 2 * i]].weight)
            return false;
    return true;
}

static struct pack_entry *pack_lookup(struct pack_entry *list, const prog *p, const struct record *r) {
    for (struct pack_entry *e = list; e; e = e->next)
        if (pack_matches(e, p, r)) return e;
    return NULL;
}

const struct packed_linear *pack_find(struct pack_set *set, const prog *p, const struct record *r) {
    pthread_mutex_lock(&set->lock);
    const struct pack_entry *e = pack_lookup(set->entries, p, r);
    pthread_mutex_unlock(&set->lock);
    return e ? &e->packed : NULL;
}

// How the family packs its weights; false for f32.
static bool pack_low(enum family family, enum matmul_low *low) {
    switch (family) {
    case FAMILY_MATMUL_BF16:
    case FAMILY_MATMUL_BF16W:
        *low = MATMUL_LOW_BF16;
        return true;
    case FAMILY_MATMUL_F16W:
        *low = MATMUL_LOW_F16;
        return true;
    case FAMILY_MATMUL_I8:
        *low = MATMUL_LOW_I8;
        return true;
    default:
        return false;
    }
}

// Columns of y in a panel.
static size_t pack_columns(const struct pack_entry *e) {
    return e->kernel->family == FAMILY_MATMUL ? e->kernel->nr : MATMUL_LOW_COLUMNS;
}

size_t pack_bytes(const struct packed_linear *packed, const struct kernel *kernel) {
    enum matmul_low low;
    if (!pack_low(kernel->family, &low))
        return matmul_packed_floats(packed->N, packed->K, kernel->nr) * sizeof(float);
    return matmul_low_bytes(low, packed->N, packed->K) +
           (low == MATMUL_LOW_I8 ? packed->N * sizeof(float) : 0);
}

static struct pack_entry *pack_entry_new(const prog *p, const struct record *r) {
    struct pack_entry *e = mem_zalloc(sizeof *e);
    if (!e) return NULL;
    e->parts = ((const struct linear_params *)(const void *)r->params)->parts;
    e->kernel = kernel_best(linear_family(p, r));
    for (uint32_t i = 0; i < e->parts; i++) {
        e->weight[i] = p->values[r->in[2 + 2 * i]].weight;
        e->bias[i] = p->values[r->in[3 + 2 * i]].weight;
        e->packed.N += (size_t)e->weight[i]->shape.dim[0];
    }
    e->packed.K = (size_t)e->weight[0]->shape.dim[1];
    const size_t panels = (e->packed.N + pack_columns(e) - 1) / pack_columns(e);
    e->chunks = (panels + PACK_CHUNK - 1) / PACK_CHUNK;
    atomic_init(&e->left, e->chunks);
    return e;
}

// Rows [row, row + n) of the joined matrix, as f32: the stored bytes themselves when they will do, else in
// `scratch`.
static const float *pack_rows(const struct pack_entry *e, size_t row, size_t n, float *scratch) {
    const size_t K = e->packed.K;
    size_t done = 0;
    for (uint32_t i = 0; i < e->parts; i++) {
        const struct weight *w = e->weight[i];
        const size_t rows = (size_t)w->shape.dim[0];
        if (row >= rows) {
            row -= rows;
            continue;
        }
        const size_t take = size_min(n - done, rows - row);
        if (w->f32 && take == n) return w->f32 + row * K;
        if (w->f32)
            memcpy(scratch + done * K, w->f32 + row * K, take * K * sizeof(float));
        else
            dtype_to_f32(scratch + done * K, (const uint8_t *)w->data + row * K * dtype_bytes(w->stored),
                         w->stored, take * K);
        done += take;
        row = 0;
        if (done == n) break;
    }
    return scratch;
}

struct pack_job {
    struct pack_entry *entries;
    size_t chunks;
    _Atomic size_t next;
    float *scratch; // [threads, scratch_floats]
    size_t scratch_floats;
    pack_done_fn *done;
    void *ctx;
};

// Panel `panel` of the entry, from its rows of W.
static void pack_panel(const struct pack_entry *e, size_t panel, float *scratch) {
    const size_t columns = pack_columns(e), K = e->packed.K;
    const size_t first = panel * columns, n = size_min(columns, e->packed.N - first);
    const float *rows = pack_rows(e, first, n, scratch);
    enum matmul_low low;
    if (!pack_low(e->kernel->family, &low)) {
        matmul_pack((float *)e->panels + first * K, rows, n, K, columns, 0, 1);
        return;
    }
    uint8_t *to = (uint8_t *)e->panels + panel * matmul_low_bytes(low, columns, K);
    matmul_pack_low(low, to, e->scale ? e->scale + first : NULL, rows, n, K, 0, 1);
}

static void pack_chunk(struct pack_job *job, struct pack_entry *e, size_t chunk, float *scratch) {
    const size_t panels = (e->packed.N + pack_columns(e) - 1) / pack_columns(e);
    const size_t last = size_min((chunk + 1) * PACK_CHUNK, panels);
    for (size_t panel = chunk * PACK_CHUNK; panel < last; panel++)
        pack_panel(e, panel, scratch);
    if (atomic_fetch_sub(&e->left, 1) == 1 && job->done)
        for (uint32_t i = 0; i < e->parts; i++)
            job->done(job->ctx, e->weight[i]);
}

static void pack_work(void *ctx, unsigned thread, unsigned threads) {
    (void)threads;
    struct pack_job *job = ctx;
    float *scratch = job->scratch + thread * job->scratch_floats;
    for (size_t chunk; (chunk = atomic_fetch_add(&job->next, 1)) < job->chunks;) {
        struct pack_entry *e = job->entries;
        while (chunk >= e->first_chunk + e->chunks)
            e = e->next;
        pack_chunk(job, e, chunk - e->first_chunk, scratch);
    }
}

static void pack_biases(struct pack_entry *e) {
    size_t at = 0;
    for (uint32_t i = 0; i < e->parts; i++) {
        const size_t n = (size_t)e->weight[i]->shape.dim[0];
        if (e->bias[i]) {
            memcpy(e->joined_bias + at, e->bias[i]->f32, n * sizeof(float));
            e->packed.bias = e->joined_bias;
        }
        at += n;
    }
    e->packed.panels = e->panels;
    e->packed.scale = e->scale;
}

// One block for all new entries.
static struct pack_block *pack_block_new(struct pack_entry *entries) {
    size_t bytes = 0;
    for (struct pack_entry *e = entries; e; e = e->next)
        bytes +=
            round_up(pack_bytes(&e->packed, e->kernel), 64) + 2 * round_up(e->packed.N * sizeof(float), 64);
    struct pack_block *block = mem_alloc(sizeof *block);
    void *data = mem_map(bytes);
    if (!block || !data) {
        mem_free(block);
        if (data) mem_unmap(data, bytes);
        return NULL;
    }
    *block = (struct pack_block){.data = data, .bytes = bytes};
    uint8_t *at = data;
    for (struct pack_entry *e = entries; e; e = e->next) {
        e->panels = at;
        at += round_up(pack_bytes(&e->packed, e->kernel), 64);
        e->joined_bias = (float *)(void *)at;
        at += round_up(e->packed.N * sizeof(float), 64);
        if (e->kernel->family == FAMILY_MATMUL_I8) e->scale = (float *)(void *)at;
        at += round_up(e->packed.N * sizeof(float), 64);
    }
    return block;
}

static sabok_status pack_collect(struct pack_set *set, const prog *p, struct pack_job *job,
                                 sabok_error *err) {
    struct pack_entry **tail = &job->entries;
    for (size_t i = 0; i < p->record_count; i++) {
        const struct record *r = &p->records[i];
        if (r->op != OP_LINEAR || pack_lookup(set->entries, p, r) || pack_lookup(job->entries, p, r))
            continue;
        struct pack_entry *e = pack_entry_new(p, r);
        if (!e) return error_memory(err, "packed weights");
        e->first_chunk = job->chunks;
        job->chunks += e->chunks;
        job->scratch_floats = size_max(job->scratch_floats, pack_columns(e) * e->packed.K);
        *tail = e;
        tail = &e->next;
    }
    return SABOK_OK;
}

// Packs job->entries into a block of their own, outside of the set and its lock: a thread that waits for the team here
// must hold no lock that a thread of the team may want.
static sabok_status pack_entries(struct pack_job *job, struct team *team, struct pack_block **block,
                                 sabok_error *err) {
    const unsigned threads = team ? team_size(team) : 1;
    job->scratch = mem_array(threads * size_max(job->scratch_floats, 1), sizeof(float));
    *block = job->scratch ? pack_block_new(job->entries) : NULL;
    if (!*block) return error_memory(err, "packed weights");
    if (team)
        team_run(team, threads, pack_work, job);
    else
        pack_work(job, 0, 1);
    for (struct pack_entry *e = job->entries; e; e = e->next)
        pack_biases(e);
    return SABOK_OK;
}

static void pack_insert(struct pack_set *set, struct pack_job *job, struct pack_block *block) {
    struct pack_entry *last = job->entries;
    while (last->next)
        last = last->next;
    pthread_mutex_lock(&set->lock);
    block->next = set->blocks;
    set->blocks = block;
    last->next = set->entries;
    set->entries = job->entries;
    pthread_mutex_unlock(&set->lock);
    job->entries = NULL;
}

sabok_status pack_program(struct pack_set *set, const prog *p, struct team *team, pack_done_fn *done,
                          void *ctx, sabok_error *err) {
    if (p->error.code != SABOK_OK) return SABOK_OK; // plan_new reports it
    struct pack_job job = {.done = done, .ctx = ctx};
    pthread_mutex_lock(&set->lock);
    sabok_status status = pack_collect(set, p, &job, err);
    pthread_mutex_unlock(&set->lock);
    if (status == SABOK_OK && job.entries) {
        struct pack_block *block;
        status = pack_entries(&job, team, &block, err);
        if (status == SABOK_OK) pack_insert(set, &job, block);
    }
    mem_free(job.scratch);
    pack_entries_free(job.entries);
    return status;
}
