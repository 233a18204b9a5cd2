// base: what C lacks. One header; the .c files beside it are named by noun.
// Everything above may include this; this includes only sabok.h and the C library.
#ifndef SABOK_BASE_H
#define SABOK_BASE_H

#include "sabok.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

// Programmer errors inside the library. Always on: prints the condition and aborts. Never reached by input.
#define ASSERT(x) ((x) ? (void)0 : assert_fail(#x, __FILE__, __LINE__))
_Noreturn void assert_fail(const char *condition, const char *file, int line);

// Forwards an error to the caller: TRY(step(err)) returns its status when it is not SABOK_OK.
#define TRY(x)                                                                                               \
    do {                                                                                                     \
        sabok_status try_status = (x);                                                                       \
        if (try_status != SABOK_OK) return try_status;                                                       \
    } while (0)

#define COUNT(a) (sizeof(a) / sizeof *(a))

// ---- checked arithmetic
// On sizes read from files. False when the result does not fit; *out is then unspecified.
static inline bool mul_ok(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool add_ok(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}
static inline size_t size_min(size_t a, size_t b) {
    return a < b ? a : b;
}
static inline size_t size_max(size_t a, size_t b) {
    return a > b ? a : b;
}
// Smallest multiple of `to` that is >= n; `to` > 0 and the result must fit.
static inline size_t round_up(size_t n, size_t to) {
    return (n + to - 1) / to * to;
}

// ---- memory (mem.c)
// All heap use. NULL when out of memory (never aborts). n = 0 gives a valid pointer.
void *mem_alloc(size_t n);
void *mem_zalloc(size_t n);
void *mem_array(size_t n, size_t size); // n * size checked, not cleared
void *mem_realloc(void *p, size_t n);   // p stays valid on failure
void mem_free(void *p);
char *mem_copy_string(const char *s);
char *mem_copy_bytes(const char *s, size_t n); // adds a NUL

// Big blocks (weights, plan arenas): 64-byte aligned, zeroed, in huge pages where the system gives them.
// Free with the same size.
void *mem_map(size_t n);
void mem_unmap(void *p, size_t n);

// For tests: the k-th allocation from now (k >= 1) fails; with `sticky` all later ones too. 0 turns it off.
void mem_fail_at(uint64_t k, bool sticky);
uint64_t mem_count(void); // allocations so far (all threads), for "nothing allocates while a plan runs"
int64_t mem_live(void);   // blocks not yet freed

// Grows *items (elements of `size` bytes, capacity *cap) to hold at least `need`; false when out of memory.
bool mem_grow(void **items, size_t *cap, size_t need, size_t size);

// ---- arena (arena.c)
// Bump allocation, freed at once. 16-byte aligned.
struct arena {
    struct arena_block *head;
    size_t block_bytes; // of the next block; 0: a default
};
void arena_init(struct arena *a, size_t block_bytes);
void *arena_alloc(struct arena *a, size_t n);               // zeroed; NULL when out of memory
char *arena_copy(struct arena *a, const char *s, size_t n); // adds a NUL
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_reset(struct arena *a); // keeps one block for reuse
void arena_free(struct arena *a);

// ---- errors (error.c)
// Fills *err (may be NULL) with "where: message" and returns code. `where` may be NULL.
sabok_status error_set(sabok_error *err, sabok_status code, const char *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// The same with a byte offset: "where: byte N: message".
sabok_status error_at(sabok_error *err, sabok_status code, const char *where, uint64_t offset,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
// "out of memory" for `where`.
sabok_status error_memory(sabok_error *err, const char *where);
// From errno: "where: what: strerror".
sabok_status error_errno(sabok_error *err, const char *where, const char *what);

// To the function of sabok_log_set (log.c).
void log_message(sabok_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

// ---- cpu (cpu.c, quota.c)
enum cpu_isa { ISA_C, ISA_AVX2, ISA_AVXVNNI, ISA_AVX512, ISA_VNNI, ISA_BF16, ISA_AMX, ISA_COUNT };
// ISA_AVX2 means avx2 + fma + f16c; AVX512 means f, bw, dq, vl, cd; VNNI adds avx512_vnni; BF16 adds
// avx512_bf16; AMX adds amx tile, bf16, int8 with the kernel's permission. AVXVNNI stands beside AVX512,
// above AVX2.
const char *cpu_isa_name(enum cpu_isa isa); // "c", "avx2", "avxvnni", "avx512", "vnni", "bf16", "amx"
bool cpu_has(enum cpu_isa isa);             // found and not masked by SABOK_ISA
bool cpu_found(enum cpu_isa isa);           // found on the machine, mask ignored
const char *cpu_brand(void);
// What SABOK_ISA asks for that the machine lacks or that is no ISA name: NULL when all is well.
const char *cpu_isa_problem(void);
unsigned cpu_count(void); // CPUs this process may use: affinity mask and cgroup quota
// The quota alone, rounded up to whole CPUs, from a file like /proc/self/cgroup and a tree like
// /sys/fs/cgroup; 0: none.
unsigned cpu_quota(const char *cgroup, const char *root);
size_t cpu_cache_bytes(int level); // 1 (data), 2, 3; a sane default when unknown

// ---- threads (team.c)
// A team of n threads, the caller being thread 0. One region runs at a time; callers from other threads
// queue. With `pin` the workers are bound to one CPU each; the caller's own thread is left alone. NULL on error.
struct team;
typedef void team_fn(void *ctx, unsigned thread, unsigned threads);
struct team *team_new(unsigned threads, bool pin, sabok_error *err); // threads >= 1
void team_free(struct team *team);
unsigned team_size(const struct team *team);
// Runs fn on threads 0 .. threads - 1 and returns when all are done. The caller's thread is thread 0. All run
// in the default floating point environment, whatever mode the caller has set.
void team_run(struct team *team, unsigned threads, team_fn *fn, void *ctx); // threads <= team_size
// Inside a region: waits for all threads of the region. Spins, then sleeps on a futex.
void team_barrier(struct team *team);

// ---- files (map.c)
struct file_map {
    const uint8_t *data;
    size_t size;
    bool mapped; // else read into memory
};
// Regular files only (a folder, a device or a pipe is an error that says so).
sabok_status map_open(struct file_map *map, const char *path, bool read, sabok_error *err);
void map_close(struct file_map *map);
// Bytes [begin, end) are no longer needed in memory: their whole pages may leave it.
void map_drop(const struct file_map *map, size_t begin, size_t end);
// Whole small file, NUL-ended, at most `limit` bytes. Free with mem_free.
sabok_status file_read(const char *path, size_t limit, char **out, size_t *size, sabok_error *err);
bool file_exists(const char *path); // a link that leads nowhere does: opening it then says so
// Writes to a temporary name in the same folder; commit: fsync, rename, fsync of the folder. (outfile.c)
// A link is followed; a path that is there and is no regular file is refused. NULL on error. After a failure
// every call reports the first one and the file is not committed.
struct out_file;
struct out_file *out_open(const char *path, sabok_error *err);
sabok_status out_write(struct out_file *f, const void *data, size_t n, sabok_error *err);
// Overwrites bytes already written.
sabok_status out_patch(struct out_file *f, uint64_t offset, const void *data, size_t n, sabok_error *err);
sabok_status out_close(struct out_file *f, bool commit, sabok_error *err); // always frees f
// For tests: the k-th write, fsync or rename from now fails with `error_number` (a short write when 0).
void out_fail_at(uint64_t k, int error_number);

// A folder under a temporary name beside the final one, into which the caller writes; commit gives it its name. With
// `replace` the model's folder that is there goes when the new one takes its place, and is whole until then; without, a
// name that is there is refused. NULL on error. (outfolder.c)
struct out_folder;
struct out_folder *out_folder_open(const char *path, bool replace, sabok_error *err);
const char *out_folder_path(const struct out_folder *f);
sabok_status out_folder_close(struct out_folder *f, bool commit, sabok_error *err); // always frees f

// ---- json (json.c, jsonw.c)
// Strict pull reader over a buffer (RFC 8259, UTF-8 checked, depth at most 64, duplicate keys reported by the
// caller who cares). Sticky error: after a failure every call returns false / JSON_ERROR.
enum json_kind { JSON_ERROR, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
struct json {
    const char *text;
    size_t size, at;
    const char *where; // for errors
    sabok_error *err;
    struct arena *arena; // holds strings that had escapes
    unsigned depth;
    bool failed;
    uint8_t fresh[8]; // bit d: no item of the container at depth d has been read yet
};
struct json_text {
    const char *data; // not NUL-ended
    size_t size;
};
void json_init(struct json *j, const char *text, size_t size, const char *where, struct arena *arena,
               sabok_error *err);
const char *json_kind_name(enum json_kind kind);         // "a string", for messages
enum json_kind json_peek(struct json *j);                // kind of the next value, nothing consumed
bool json_object_begin(struct json *j);                  // then json_key until false
bool json_key(struct json *j, struct json_text *key);    // false at the end (the '}' is consumed) or on error
bool json_array_begin(struct json *j);                   // then json_item until false
bool json_item(struct json *j);                          // true: a value follows
bool json_string(struct json *j, struct json_text *out); // unescaped, valid UTF-8; lone surrogates are errors
bool json_bool(struct json *j, bool *out);
bool json_null(struct json *j);
bool json_double(struct json *j, double *out); // NaN, Infinity, -Infinity are refused
bool json_u64(struct json *j, uint64_t *out);  // integers only; negative or fractional: error
bool json_i64(struct json *j, int64_t *out);
bool json_skip(struct json *j); // any value
bool json_end(struct json *j);  // only blanks may follow
// An error at the current byte, unless there is one already; false.
bool json_fail(struct json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline bool json_text_is(struct json_text t, const char *s) {
    size_t n = __builtin_strlen(s);
    return t.size == n && __builtin_memcmp(t.data, s, n) == 0;
}

// Writer into a growing buffer, compact ("sep" like Python's json.dumps when `spaced`). Sticky out-of-memory.
struct json_out {
    char *data;
    size_t size, cap;
    bool failed, spaced;
    bool first; // no comma before the next item
};
void json_out_free(struct json_out *o);
void json_out_begin(struct json_out *o, char open); // '{' or '['
void json_out_end(struct json_out *o, char close);  // '}' or ']'
void json_out_key(struct json_out *o, const char *key);
void json_out_string(struct json_out *o, const char *s, size_t n); // non-ASCII kept, control bytes escaped
void json_out_u64(struct json_out *o, uint64_t x);
void json_out_double(struct json_out *o, double x); // shortest form, Python's spelling ("1.0", "1e-05")
void json_out_float(struct json_out *o, float x);   // shortest that reads back as the same float
void json_out_bool(struct json_out *o, bool x);
// A value that is JSON already. When s begins with a newline it ends a line, and the next value stands for
// itself.
void json_out_raw(struct json_out *o, const char *s, size_t n);

// ---- text buffers (buf.c)
// A growing byte buffer with sticky out-of-memory.
struct buf {
    char *data;
    size_t size, cap;
    bool failed;
};
void buf_put(struct buf *b, const void *data, size_t n);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_free(struct buf *b);

// ---- hash, rng, clock
uint64_t hash_bytes(const void *data, size_t n, uint64_t seed); // not for security
void sha256(const void *data, size_t n, uint8_t out[32]);

// Philox 4x32-10 (Salmon et al., 2011): counter-based, so number i of stream s is the same on every machine
// and for every split of the work.
void rng_philox(uint64_t seed, uint64_t stream, uint64_t counter, uint32_t out[4]);
float rng_uniform(uint64_t seed, uint64_t stream, uint64_t counter); // [0, 1), 24 bits
float rng_normal(uint64_t seed, uint64_t stream, uint64_t counter);  // Box-Muller

double clock_seconds(void); // monotonic

#endif
