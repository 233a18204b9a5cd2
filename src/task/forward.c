// forward: the encoder over token ids, without a tokenizer.
#include "task/task.h"

static sabok_status forward_check(const sabok_model *m, const uint32_t *ids, const uint32_t *types,
                                  const size_t *offsets, size_t B, sabok_error *err) {
    const struct encoder_config *c = &m->config;
    const uint64_t positions = c->positions - c->position_first;
    if (offsets[0] != 0)
        return error_set(err, SABOK_EINVAL, m->name, "offsets start at %zu, expected 0", offsets[0]);
    for (size_t b = 0; b < B; b++)
        if (offsets[b + 1] < offsets[b] || offsets[b + 1] - offsets[b] > positions)
            return error_set(err, SABOK_EINVAL, m->name,
                             "sequence %zu runs from %zu to %zu, expected 0 to %llu tokens", b, offsets[b],
                             offsets[b + 1], (unsigned long long)positions);
    for (size_t t = 0; t < offsets[B]; t++) {
        if (ids[t] >= c->V)
            return error_set(err, SABOK_EINVAL, m->name, "token %zu has id %u, expected less than %llu", t,
                             ids[t], (unsigned long long)c->V);
        if (types && c->types > 1 && types[t] >= c->types)
            return error_set(err, SABOK_EINVAL, m->name, "token %zu has segment %u, expected less than %llu",
                             t, types[t], (unsigned long long)c->types);
    }
    return SABOK_OK;
}

sabok_status sabok_forward(const sabok_model *m, const uint32_t *ids, const uint32_t *type_ids,
                           const size_t *offsets, size_t B, float *hidden, sabok_error *err) {
    TRY(forward_check(m, ids, type_ids, offsets, B, err));
    struct sequences s = {0};
    sabok_status status = sequences_reserve(&s, B) ? SABOK_OK : error_memory(err, m->name);
    for (size_t b = 0; status == SABOK_OK && b < B; b++) {
        s.ids[b] = ids + offsets[b];
        s.types[b] = type_ids ? type_ids + offsets[b] : NULL;
        s.length[b] = (uint32_t)(offsets[b + 1] - offsets[b]);
    }
    const struct sequences_run run = {.kind = PROGRAM_HIDDEN, .end = B, .out = hidden};
    if (status == SABOK_OK) status = sequences_compute(&s, m, &run, err);
    sequences_free(&s);
    return status;
}
