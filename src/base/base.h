/* base: memory, errors, text, dtypes, random numbers and settings for all other folders. Rank 0.
 *
 * Memory. There is one tp_arena per program (recording) and one per compilation; its objects are
 * freed together. When malloc fails inside an arena, control goes to the thread's latest guard
 * (every entry point of the API sets one); without one the process aborts. Objects with a life of
 * their own (arrays, compiled functions) use tp_alloc, which returns NULL.
 *
 * Errors. A function that can fail takes a tp_error * last and returns false or NULL after filling
 * it with tp_fail(). The core never raises and never prints. */
#ifndef TP_BASE_H
#define TP_BASE_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <setjmp.h>
#include <string.h>
#include <assert.h>

#ifdef NDEBUG
#define TP_ASSERT(x) ((void)0) /* our bug: gone in release */
#else
#define TP_ASSERT(x) assert(x)
#endif
#define TP_NEVER(x)  (TP_ASSERT(!(x)), (x)) /* should never hold, but is handled */
#define TP_KEEP                             /* ownership words on pointers: callee only looks */
#define TP_TAKE                             /* callee takes ownership */
#define TP_GIVE                             /* caller owns the result */
#define TP_LEN(a)    (sizeof(a) / sizeof((a)[0]))
#define TP_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TP_MAX(a, b) ((a) > (b) ? (a) : (b))
#if defined(__GNUC__)
#ifdef _WIN32 /* mingw-w64's printf may be Microsoft's, which we never call */
#define TP_PRINTF(f, a) __attribute__((format(gnu_printf, f, a)))
#else
#define TP_PRINTF(f, a) __attribute__((format(printf, f, a)))
#endif
#else
#define TP_PRINTF(f, a)
#endif

/* Formats the arguments behind fmt into an array. */
#define TP_FORMAT(text, fmt) \
  do { \
    va_list ap_; \
    va_start(ap_, fmt); \
    vsnprintf(text, sizeof(text), fmt, ap_); \
    va_end(ap_); \
  } while (0)

/* to a multiple of `by` */
static inline int64_t tp_round_up(int64_t n, int64_t by) { return (n + by - 1) / by * by; }

#define TP_VERSION "0.1"
enum {
#define T(NAME, value, ...) TP_TUNE_##NAME = value,
#include "base/tuning.def"
#undef T
};

/* ---- errors (error.c) ---- */
typedef enum {
  TP_OK = 0,
#define E(N, w) TP_E_##N,
#include "base/errs.def"
#undef E
  TP_NERR
} tp_code;
const char *tp_code_word(tp_code c);  /* "cycle" */
tp_code tp_code_of(const char *text); /* the class whose word the text begins with, or OPTION */

/* file interned or static, NULL: unknown */
typedef struct {
  const char *file;
  int line;
} tp_pos;

typedef struct tp_error {
  tp_code code;
  tp_pos pos; /* where the script wrote it */
  /* begins with the class's word; no file:line prefix */
  char msg[1024];
  char notes[1024]; /* further lines, or "" */
} tp_error;
/* Fills e (unless it already holds an error: the first stays) and returns false. The message gets
 * "word: " in front unless it already begins with the class's word. */
#define TP_NOWHERE ((tp_pos){ 0 })
bool tp_fail(tp_error *e, tp_code code, tp_pos pos, const char *fmt, ...) TP_PRINTF(4, 5);
bool tp_no_memory(tp_error *e, tp_pos pos); /* "out of memory" */
void tp_note(tp_error *e, const char *fmt, ...) TP_PRINTF(2, 3);
/* "file.lua:12: message\nnotes"; into buf, returns buf. */
const char *tp_error_text(const tp_error *e, char *buf, size_t n);

/* ---- memory (arena.c) ---- */
/* malloc, calloc, realloc, free with fault injection in debug builds: TEMPO_FAIL_ALLOC=n,
 * tp_fail_alloc */
void *tp_alloc(size_t n);
void *tp_calloc(size_t n);
void *tp_realloc(void *p, size_t n);
void *tp_alloc_aligned(size_t n); /* 64-byte aligned, freed by tp_free_aligned */
void tp_free(void *p);
void tp_free_aligned(void *p);
/* The same for arrays, which know their size: large freed blocks wait for the next of that size. */
void *tp_block_alloc(size_t n);
void tp_block_free(void *p, size_t n);
bool tp_blocks_drop(void); /* frees waiting blocks; false: none waited */
/* Memory for an arena, 64-byte aligned; large ones are pages that cost nothing before something is
 * written there. */
void *tp_pages(size_t n);
void tp_pages_free(void *p, size_t n); /* n: as asked for */

/* makes the n-th request from now on fail (0: none); returns: did the last such request come? */
bool tp_fail_alloc(long n);

typedef struct tp_arena {
  struct tp_chunk *top;
  size_t used, total;
  bool scratch;
  struct tp_arena *below;
} tp_arena;
void tp_arena_init(tp_arena *a);
/* an arena for the time of a call: freed by tp_arena_free, or on the way to a guard */
void tp_scratch_init(tp_arena *a);
void tp_arena_free(tp_arena *a);

/* tp_guard g; if (TP_GUARDED(&g)) { ...; tp_unguard(&g); } else no memory, the guard is gone.
 * Variables that change inside and are read after a failure are volatile. Frames between are left
 * as by longjmp: their memory is in arenas. */
typedef struct tp_guard {
  jmp_buf at;
  struct tp_guard *outer;
  tp_arena *scratch;
  struct tp_hold *hold;
} tp_guard;
#define TP_GUARDED(g) (tp_guard_set(g), setjmp((g)->at) == 0)
void tp_guard_set(tp_guard *g);
void tp_unguard(tp_guard *g);
tp_guard *tp_guard_now(void);
/* goes back to the guard of tp_guard_now, after another longjmp (Lua's) left frames */
void tp_guard_back(tp_guard *g);
_Noreturn void tp_oom(void); /* to the latest guard, or abort */
/* Keeps an object from being lost on the way to a guard, which calls drop(what). A hold ends before
 * its object is freed, the latest hold first. */
typedef struct tp_hold {
  void (*drop)(void *what);
  void *what;
  struct tp_hold *below;
} tp_hold;
void tp_hold_set(tp_hold *h, void (*drop)(void *), void *what);
void tp_hold_end(tp_hold *h);
void *tp_new_bytes(tp_arena *a, size_t n); /* zeroed, 16-byte aligned; n = 0 is legal */
#define TP_NEW(a, T)     ((T *)tp_new_bytes((a), sizeof(T)))
#define TP_NEWN(a, T, n) ((T *)tp_new_bytes((a), sizeof(T) * (size_t)(n)))
char *tp_strdup(tp_arena *a, const char *s);
char *tp_printf(tp_arena *a, const char *fmt, ...) TP_PRINTF(2, 3);
void *tp_dup(tp_arena *a, const void *p, size_t n);
#define TP_DUPN(a, v, n)      tp_dup((a), (v), sizeof *(v) * (size_t)(n))
#define TP_COPYN(to, from, n) memcpy((to), (from), sizeof *(to) * (size_t)(n))

/* Growing vectors inside an arena: struct { T *v; int n, cap; }.  TP_PUSH(a, &vec, value) */
#define TP_VEC(T) \
  struct { \
    T *v; \
    int n, cap; \
  }
/* The value is made before it counts: making it may end at a guard. */
#define TP_PUSH(a, vec, ...) \
  (tp_vec_grow((a), (void **)&(vec)->v, (vec)->n, &(vec)->cap, sizeof *(vec)->v), \
      (vec)->v[(vec)->n] = (__VA_ARGS__), (void)(vec)->n++)
/* Lets x point to each entry of a vector, which does not grow meanwhile. */
#define TP_EACH(T, x, list) for (T *x = (list).v, *x##_end = x ? x + (list).n : x; x < x##_end; x++)
void tp_vec_grow(tp_arena *a, void **v, int n, int *cap, size_t size);

/* ---- hash map: byte-string key -> pointer (map.c), inside an arena ---- */
typedef struct tp_map_ {
  tp_arena *a;
  struct tp_mapent **slot;
  int n, nslot;
} tp_hmap;
void tp_hmap_init(tp_hmap *m, tp_arena *a);
void *tp_hmap_get(const tp_hmap *m, const void *key, size_t n);           /* NULL: absent */
void tp_hmap_set(tp_hmap *m, const void *key, size_t n, const void *val); /* key copied; replaces */
/* stable across runs and machines */
uint64_t tp_hash(const void *p, size_t n, uint64_t seed);

/* ---- text (buf.c) ---- */
/* malloc'ed; always 0-terminated once written */
typedef struct tp_buf {
  char *s;
  size_t n, cap;
  bool failed;
} tp_buf;
void tp_buf_init(tp_buf *b);
void tp_buf_free(tp_buf *b);
/* makes b empty, and holds it until */
void tp_buf_hold(tp_buf *b, tp_hold *h);
void tp_buf_drop(tp_buf *b, tp_hold *h);
char *tp_buf_give(tp_arena *a, TP_TAKE tp_buf *b); /* its text, in an arena */
void tp_puts(tp_buf *b, const char *s);
void tp_putn(tp_buf *b, const char *s, size_t n);
void tp_putf(tp_buf *b, const char *fmt, ...) TP_PRINTF(2, 3);
/* shortest that reads back: 0.1, 1e+30, nan, inf, -inf */
void tp_put_double(tp_buf *b, double x);
void tp_put_float(tp_buf *b, float x); /* the same among floats */
/* strtod with a point, whatever the locale's is; end = s: no number */
double tp_read_double(const char *s, const char **end);
/* of a compiler's words the first line that tells of an error, or else the first line */
void tp_put_complaint(tp_buf *b, const char *said);
/* Components of n nodes over edges { from, to }, by node; one comes before those from which it is
 * reached (scc.c). How many. */
typedef struct tp_link {
  int from, to;
} tp_link;
int tp_sccs(int n, int nedge, const tp_link *edge, int *scc);
/* for qsort: texts, and structs that begin with one */
int tp_by_text(const void *a, const void *b);
/* edit distance <= 1/3 of the length (1 between short ones), else NULL */
const char *tp_nearest(const char *word, const char *const *names, int n);

/* the hint behind an unknown name in a message: "; did you mean 'x'?", or the names, if few */
enum { TP_HINT = 512 };
const char *tp_hint(char out[TP_HINT], const char *name, const char *const *names, int n);

/* ---- dtypes (dtype.c) ---- */
typedef enum {
#define D(N, t, c, b, f) TP_##N,
#include "base/dtypes.def"
#undef D
  TP_NDTYPE
} tp_dtype;
const char *tp_dtype_name(tp_dtype d);
int tp_dtype_size(tp_dtype d);
bool tp_dtype_float(tp_dtype d);
static inline bool tp_half(tp_dtype d) { return d == TP_F16 || d == TP_BF16; }
/* the type in which d is computed */
static inline tp_dtype tp_compute(tp_dtype d) { return tp_half(d) ? TP_F32 : d; }
bool tp_dtype_parse(const char *s, tp_dtype *out);
tp_dtype tp_dtype_promote(tp_dtype a, tp_dtype b);
float tp_f16_to_f32(uint16_t h);
uint16_t tp_f32_to_f16(float f); /* round to nearest even */
float tp_bf16_to_f32(uint16_t h);
uint16_t tp_f32_to_bf16(float f);
/* element i as a double (i64 loses beyond 2^53) */
double tp_get(tp_dtype d, const void *p, int64_t i);
/* as i64: floats truncate, saturate, NaN = 0 */
int64_t tp_geti(tp_dtype d, const void *p, int64_t i);
/* converts by the same rules */
void tp_put(tp_dtype d, void *p, int64_t i, double v);
void tp_puti(tp_dtype d, void *p, int64_t i, int64_t v); /* wraps */
/* truncates, saturates, NaN = 0 */
int64_t tp_f64_to_i64(double v);
/* why v is no element: "no integer", "outside 0 .. 255"; NULL: it is one */
const char *tp_dtype_refuses(tp_dtype d, double v);

/* ---- Philox 4x32-10 (philox.c): docs/random.md has the layout of counters and the formulas ----
 * The stream of one random op at one temporal point has a key of its own: that of the op's hash,
 * then one more round for each temporal coordinate, in domain order. */
typedef struct {
  uint32_t k[2];
} tp_philox_key;
void tp_philox4x32(const uint32_t ctr[4], const uint32_t key[2], uint32_t out[4]);
tp_philox_key tp_philox_op(uint64_t seed, uint64_t ophash);
tp_philox_key tp_philox_coord(tp_philox_key k, int ordinal, int64_t coord); /* ordinal 1.. */
uint32_t tp_philox_word(tp_philox_key k, int64_t element);
float tp_philox_uniform(tp_philox_key k, int64_t e);
/* keeps the leading bits of a uniform f32 that f16 (11) and bf16 (8) hold: below 1 */
float tp_uniform_cut(tp_dtype d, float u);
double tp_philox_uniform64(tp_philox_key k, int64_t e);
double tp_philox_normal(tp_philox_key k, int64_t e);
int64_t tp_philox_randint(tp_philox_key k, int64_t e, int64_t lo, int64_t hi);

/* ---- the machine (machine.c) ---- */
double tp_now(void);                   /* seconds */
int64_t tp_bytes_parse(const char *s); /* -1: neither */
/* The most memory that this process may have: of the machine's own, what the groups of its
 * container allow, and what RLIMIT_AS and RLIMIT_DATA leave when `back` bytes are given back first.
 * Swap does not count. */
/* whose: "that this machine has" */
typedef struct tp_allowance {
  int64_t bytes;
  const char *whose;
} tp_allowance;
tp_allowance tp_machine_memory(int64_t back);

/* ---- settings: the TEMPO_* environment ---- */
const char *tp_setting(const char *name); /* NULL: unset or "" */
bool tp_dump_wanted(const char *name);    /* does TEMPO_DUMP name it? */

#endif
