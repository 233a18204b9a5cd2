// Writer of safetensors files: the narrow form of docs/formats.md, byte for byte what the reference writes.
#include "file/file.h"

#include <math.h>
#include <string.h>

// The reference orders tensors by falling rank of their type; the rank never falls when the size rises.
static int type_rank(enum dtype t) {
    static const enum dtype rising[] = {DT_BOOL, DT_U8,  DT_I8,  DT_I16, DT_U16, DT_F16, DT_BF16,
                                        DT_I32,  DT_U32, DT_F32, DT_F64, DT_I64, DT_U64};
    for (size_t i = 0; i < COUNT(rising); i++)
        if (rising[i] == t) return (int)i;
    return -1;
}

static int compare_tensors(const void *ctx, uint32_t a, uint32_t b) {
    const struct tensor_out *x = (const struct tensor_out *)ctx + a, *y = (const struct tensor_out *)ctx + b;
    int rank_x = type_rank(x->dtype), rank_y = type_rank(y->dtype);
    return rank_x != rank_y ? rank_y - rank_x : strcmp(x->name, y->name);
}

bool tensor_out_bytes(const struct tensor_out *t, size_t *bytes) {
    *bytes = 1;
    for (size_t i = 0; i < t->rank; i++)
        if (!mul_ok(*bytes, (size_t)t->dims[i], bytes)) return false;
    return mul_ok(*bytes, dtype_bytes(t->dtype), bytes);
}

static void put_metadata(struct json_out *o, const char *const (*metadata)[2], size_t n) {
    json_out_key(o, "__metadata__");
    json_out_begin(o, '{');
    for (size_t i = 0; i < n; i++) {
        json_out_key(o, metadata[i][0]);
        json_out_string(o, metadata[i][1], strlen(metadata[i][1]));
    }
    json_out_end(o, '}');
}

static void put_tensor(struct json_out *o, const struct tensor_out *t, size_t begin, size_t end) {
    json_out_key(o, t->name);
    json_out_begin(o, '{');
    json_out_key(o, "dtype");
    json_out_string(o, dtype_name(t->dtype), strlen(dtype_name(t->dtype)));
    json_out_key(o, "shape");
    json_out_begin(o, '[');
    for (size_t i = 0; i < t->rank; i++)
        json_out_u64(o, t->dims[i]);
    json_out_end(o, ']');
    json_out_key(o, "data_offsets");
    json_out_begin(o, '[');
    json_out_u64(o, begin);
    json_out_u64(o, end);
    json_out_end(o, ']');
    json_out_end(o, '}');
}

struct writing {
    const struct safetensors_out *out;
    const uint32_t *order;
};

// Length, JSON and padding into `header`; checked by the reader's own rules.
static sabok_status header_build(const struct writing *w, struct buf *header, sabok_error *err) {
    struct json_out o = {0};
    size_t data = 0;
    json_out_begin(&o, '{');
    if (w->out->metadata_count) put_metadata(&o, w->out->metadata, w->out->metadata_count);
    for (size_t i = 0; i < w->out->n; i++) {
        const struct tensor_out *t = &w->out->tensors[w->order[i]];
        size_t bytes, begin = data;
        if (!tensor_out_bytes(t, &bytes) || !add_ok(data, bytes, &data)) {
            json_out_free(&o);
            return error_set(err, SABOK_EINVAL, w->out->path, "tensor '%s': its size overflows", t->name);
        }
        put_tensor(&o, t, begin, data);
    }
    json_out_end(&o, '}');
    size_t length = round_up(o.size, 8), total;
    if (!o.failed) {
        for (size_t i = 0; i < 8; i++)
            buf_put(header, &(char){(char)(length >> (8 * i) & 0xFF)}, 1);
        buf_put(header, o.data, o.size);
        buf_put(header, "        ", length - o.size);
    }
    bool failed = o.failed || header->failed;
    json_out_free(&o);
    if (failed) return error_memory(err, w->out->path);
    if (!add_ok(header->size, data, &total))
        return error_set(err, SABOK_EINVAL, w->out->path, "the size of the file overflows");
    return safetensors_check((const uint8_t *)header->data, total, w->out->path, err);
}

#define PIECE ((size_t)1 << 18) // elements converted at a time

static sabok_status piece_write(const struct writing *w, struct out_file *f, const void *data, size_t bytes,
                                sabok_error *err) {
    TRY(out_write(f, data, bytes, err));
    if (!w->out->wrote || w->out->wrote(w->out->ctx, bytes)) return SABOK_OK;
    return error_set(err, SABOK_ECANCELED, w->out->path, "stopped");
}

// n elements by way of float32, as torch does it; there is room for n in both. Gives how many were finite and are no more.
static size_t piece_cast(const struct tensor_out *t, const uint8_t *in, size_t n, float *floats,
                         uint16_t *narrow) {
    size_t lost = 0;
    dtype_to_f32(floats, in, t->stored, n);
    for (size_t i = 0; i < n && t->dtype != DT_F32; i++) {
        narrow[i] = t->dtype == DT_F16 ? f32_to_f16(floats[i]) : f32_to_bf16(floats[i]);
        const uint16_t infinite = t->dtype == DT_F16 ? 0x7c00 : 0x7f80;
        lost += (narrow[i] & 0x7fff) == infinite && !isinf(floats[i]);
    }
    return lost;
}

static sabok_status tensor_cast(const struct writing *w, const struct tensor_out *t, size_t bytes,
                                struct out_file *f, sabok_error *err) {
    const size_t items = bytes / dtype_bytes(t->dtype);
    float *floats = mem_array(size_min(items, PIECE), sizeof *floats);
    uint16_t *narrow = mem_array(size_min(items, PIECE), sizeof *narrow);
    sabok_status status = floats && narrow ? SABOK_OK : error_memory(err, w->out->path);
    size_t lost = 0;
    for (size_t at = 0; at < items && status == SABOK_OK; at += PIECE) {
        const size_t n = size_min(items - at, PIECE);
        lost += piece_cast(t, (const uint8_t *)t->data + at * dtype_bytes(t->stored), n, floats, narrow);
        const void *data = t->dtype == DT_F32 ? (const void *)floats : narrow;
        status = piece_write(w, f, data, n * dtype_bytes(t->dtype), err);
    }
    if (lost)
        log_message(SABOK_LOG_WARNING,
                    "%s: tensor '%s': %zu values are beyond the range of %s and become infinite",
                    w->out->path, t->name, lost, dtype_name(t->dtype));
    mem_free(floats);
    mem_free(narrow);
    return status;
}

static sabok_status tensor_write(const struct writing *w, const struct tensor_out *t, struct out_file *f,
                                 sabok_error *err) {
    size_t bytes = 0;
    tensor_out_bytes(t, &bytes);
    if (t->cast && t->stored != t->dtype) return tensor_cast(w, t, bytes, f, err);
    const size_t piece = PIECE * sizeof(float);
    for (size_t at = 0; at < bytes; at += piece)
        TRY(piece_write(w, f, (const uint8_t *)t->data + at, size_min(bytes - at, piece), err));
    return SABOK_OK;
}

static sabok_status file_write(const struct writing *w, sabok_error *err) {
    struct buf header = {0};
    sabok_status status = header_build(w, &header, err);
    struct out_file *f = status == SABOK_OK ? out_open(w->out->path, err) : NULL;
    if (status == SABOK_OK && !f) status = err && err->code ? err->code : SABOK_EIO;
    if (f) {
        status = out_write(f, header.data, header.size, err);
        for (size_t i = 0; i < w->out->n && status == SABOK_OK; i++)
            status = tensor_write(w, &w->out->tensors[w->order[i]], f, err);
        if (status == SABOK_OK)
            status = out_close(f, true, err);
        else
            out_close(f, false, NULL);
    }
    buf_free(&header);
    return status;
}

sabok_status safetensors_save(const struct safetensors_out *out, sabok_error *err) {
    sabok_error local = {0};
    uint32_t *order = order_new(out->n, compare_tensors, out->tensors);
    if (!order) return error_memory(err, out->path);
    struct writing w = {.out = out, .order = order};
    sabok_status status = file_write(&w, &local);
    if (status != SABOK_OK && err) *err = local;
    mem_free(order);
    return status;
}

sabok_status safetensors_write(const char *path, const struct tensor_out *tensors, size_t n,
                               const char *const (*metadata)[2], size_t metadata_count, sabok_error *err) {
    const struct safetensors_out out = {
        .path = path, .tensors = tensors, .n = n, .metadata = metadata, .metadata_count = metadata_count};
    return safetensors_save(&out, err);
}
