// describe: sabok_model_print, for people and as JSON.
#include "model/model.h"

#include <string.h>

struct describe_visitor {
    struct visitor v;
    struct buf out;
    bool json;
    const struct sabok_model *m;
};

static sabok_status describe_weight(struct visitor *v, struct weight *w, const struct weight_spec *spec) {
    struct describe_visitor *d = (struct describe_visitor *)(void *)v;
    static const char *const role[] = {"linear", "bias", "gain", "table"};
    char text[SHAPE_TEXT];
    size_t items = 0;
    shape_count(&spec->shape, 0, 0, &items);
    if (d->json)
        buf_printf(
            &d->out,
            "{\"name\": \"%s\", \"role\": \"%s\", \"shape\": %s, \"stored\": \"%s\", \"bytes\": %llu}\n",
            spec->name, role[spec->role], shape_text(&spec->shape, text), dtype_name(w->stored),
            (unsigned long long)w->stored_bytes);
    else
        buf_printf(&d->out, "%-56s %-7s %-16s %-4s %12llu\n", spec->name, role[spec->role],
                   shape_text(&spec->shape, text), dtype_name(w->stored),
                   (unsigned long long)w->stored_bytes);
    return SABOK_OK;
}

static sabok_status describe_send(struct buf *b, sabok_write_fn *write, void *ctx, sabok_error *err) {
    sabok_status status = SABOK_OK;
    if (b->failed)
        status = error_memory(err, "print");
    else if (write(ctx, b->data, b->size) != 0)
        status = error_set(err, SABOK_ECANCELED, NULL, "stopped by the caller");
    buf_free(b);
    return status;
}

static void describe_summary_json(struct buf *b, const sabok_model_info *info, const char *dtype) {
    struct json_out o = {.spaced = true, .first = true};
    json_out_begin(&o, '{');
    json_out_key(&o, "name");
    json_out_string(&o, info->name, strlen(info->name));
    json_out_key(&o, "model_type");
    json_out_string(&o, info->model_type, strlen(info->model_type));
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"hidden_size", info->hidden_size},       {"num_hidden_layers", info->num_layers},
        {"num_attention_heads", info->num_heads}, {"vocab_size", info->vocab_size},
        {"max_seq_length", info->max_seq_length}, {"embedding_width", info->embed_width},
        {"parameters", info->parameters},         {"threads", info->threads},
    };
    for (size_t i = 0; i < COUNT(numbers); i++) {
        json_out_key(&o, numbers[i].key);
        json_out_u64(&o, numbers[i].value);
    }
    json_out_key(&o, "dtype");
    json_out_string(&o, dtype, strlen(dtype));
    json_out_key(&o, "isa");
    json_out_string(&o, info->isa, strlen(info->isa));
    json_out_end(&o, '}');
    buf_put(b, o.data, o.size);
    buf_put(b, "\n", 1);
    if (o.failed) b->failed = true;
    json_out_free(&o);
}

static void describe_summary(struct buf *b, const struct sabok_model *m, bool json) {
    sabok_model_info info;
    sabok_model_get_info(m, &info);
    const char *dtype = format_name(m->precision.format);
    if (json) {
        describe_summary_json(b, &info, dtype);
        return;
    }
    buf_printf(b, "%s: %s, %llu parameters\n", info.name, info.model_type,
               (unsigned long long)info.parameters);
    buf_printf(b, "  layers %zu, width %zu, heads %zu, feed-forward %llu, vocabulary %zu\n", info.num_layers,
               info.hidden_size, info.num_heads, (unsigned long long)m->config.F, info.vocab_size);
    buf_printf(b, "  texts up to %zu tokens, vectors of %zu\n", info.max_seq_length, info.embed_width);
    buf_printf(b, "  modules:");
    static const char *const names[] = {"Transformer", "Pooling", "Dense", "Normalize"};
    for (size_t i = 0; i < m->sentence.count; i++)
        buf_printf(b, " %s", names[m->sentence.modules[i].kind]);
    buf_printf(b, "\n  %s weights, on %u thread%s, %s\n", dtype, info.threads, info.threads == 1 ? "" : "s",
               info.isa);
}

static sabok_status describe_program(const sabok_model *m, const sabok_print_opts *opts,
                                     sabok_write_fn *write, void *ctx, sabok_error *err) {
    const size_t T = opts->tokens ? opts->tokens : m->max_seq_length,
                 B = opts->sequences ? opts->sequences : 1;
    if (T > UINT32_MAX / 2 || B > UINT32_MAX / 2)
        return error_set(err, SABOK_EINVAL, m->name,
                         "a program of %zu tokens in %zu sequences, expected fewer", T, B);
    sabok_error local = {0};
    const prog *p = model_prog(m, model_main_program(m), &local);
    struct plan *plan = p ? plan_new(p, m->packs, T, B, team_size(m->team), &local) : NULL;
    const struct print_target to = {.json = opts->json, .write = write, .ctx = ctx};
    if (plan) (void)plan_print(plan, &to, &local);
    plan_free(plan);
    if (local.code != SABOK_OK && err) *err = local;
    return local.code;
}

sabok_status sabok_model_print(const sabok_model *m, sabok_print what, const sabok_print_opts *opts,
                               sabok_write_fn *write, void *ctx, sabok_error *err) {
    static const sabok_print_opts defaults;
    if (!opts) opts = &defaults;
    if (what == SABOK_PRINT_PROGRAM) return describe_program(m, opts, write, ctx, err);
    struct describe_visitor d = {.v = {.visit = describe_weight}, .json = opts->json, .m = m};
    if (what == SABOK_PRINT_WEIGHTS)
        // The visitor reads only; families take their weights by non-const pointer for the loader's sake.
        model_weights((struct sabok_model *)(uintptr_t)m, &d.v);
    else
        describe_summary(&d.out, m, opts->json);
    return describe_send(&d.out, write, ctx, err);
}
