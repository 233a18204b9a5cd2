// The library, opened and called with the command's options.
#include "cli.h"

sabok_model *model_open(const struct args *args) {
    const sabok_open_opts opts = {
        .dtype = (sabok_dtype)args->dtype,
        .threads = args->threads < UINT32_MAX ? (unsigned)args->threads : UINT32_MAX,
        .pin = args->pin,
        .no_mmap = args->no_mmap,
        .config = args->model ? NULL : args->config,
        .seed = args->seed,
    };
    sabok_error err = {0};
    interrupt_describe(args->model ? args->model : args->config);
    sabok_model *model = sabok_open(args->model, &opts, &err);
    if (!model) fail_error(&err);
    return model;
}

void embed_options(const struct args *args, sabok_embed_opts *out) {
    *out = (sabok_embed_opts){
        .prompt = args->prompt,
        .prompt_name = args->prompt_name,
        .truncate_dim = args->truncate_dim,
        .max_seq_length = args->max_seq_length,
        .normalize = args->normalize,
        .batch_tokens = args->batch_tokens,
    };
}

size_t embed_width(const struct args *args, const sabok_model *model) {
    const size_t width = sabok_embed_width(model);
    return args->truncate_dim && args->truncate_dim < width ? args->truncate_dim : width;
}
