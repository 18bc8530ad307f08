/* The interface between native code and its host, and functions for its loops. After scalar.h,
 * fold.h, dot.h and index.h. */
typedef struct tp_host {
  /* by symbol: bounds, and loop variables wherever `leaf` is called */
  int64_t *env;
  char *const *base; /* by buffer */
  /* 0, or the number, from 1 on, of the part's loop in which the run goes on, at env's iteration */
  int64_t entry;
  const volatile unsigned char *cancel; /* the run ends when it is not 0; never NULL */
  /* the first argument of the functions, which return 0 unless the run ends */
  void *exec;
  int (*leaf)(void *exec, int pos); /* runs the region at a position of the plan */
  int (*cancelled)(void *exec, int pos);
  int (*fault)(void *exec, int pos, int what, const int64_t *lead);
  uint64_t seed;
#ifndef TP_ALONE
  /* In front of an iteration of the loop of this number, with env's variable one step back: is the
   * part left there? NULL: it never is. */
  int (*pause)(void *exec, int entry);
  /* by buffer: where rows of an input begin, in elements; NULL: one after another */
  const int64_t *const *rows;
  /* o[i * orow + j] = a[j * arow + i], elements of so many bytes */
  void (*turn)(
      int size, void *o, int64_t orow, const void *a, int64_t arow, int64_t rows, int64_t n);
  /* number of the thread in a team: 0 runs leaves that are not cut */
  int who;
  const unsigned char *meets; /* by position: they meet there */
  int (*meet)(void *exec);
  /* of code with clocks: around a leaf, or around a loop: its variable, else -1 */
  void (*enter)(void *exec, int pos, int loop), (*leave)(void *exec, int pos, int loop);
  /* runs fn by all of them */
  int (*team)(void *exec, int id, int (*fn)(const struct tp_host *h), const struct tp_host *h);
#else /* export.h: leaf and cancelled are not called */
  const void *const *values;
  void *const *shown; /* of this tick, by input and output */
  char *room;         /* of a callback's arrays */
  int at;             /* the tick that it waits at */
#endif
} tp_host;
enum { TP_FAULT_DIVZERO = 1, TP_FAULT_NEGPOW, TP_FAULT_EMPTY };

/* A run ends once: without the hint compilers take code behind a row of such ifs for code that
 * hardly ever runs, and leave its loops as they are. */
#define TP_END_IF(x) \
  if (__builtin_expect((x) != 0, 0)) return 1

#define TP_FAULT(pos, what, lead) return h->fault(h->exec, pos, what, lead)

/* before a loop of at most 16 iterations */
#if defined(__GNUC__) && !defined(__clang__)
#define TP_UNROLLED _Pragma("GCC unroll 16")
#else
#define TP_UNROLLED
#endif

/* ---- loops whose iterations do not depend on each other ---- */
#if defined(TP_IVDEP)
#elif defined(__clang__)
#define TP_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TP_IVDEP \
  _Pragma("GCC ivdep") _Pragma( \
      "GCC unroll 1") /* unrolled before they are made vectors, short ones stay what they are */
#endif

/* ---- 16 rows of 16 change places with their columns: neighbours, pairs of these and quarters of a
 * row as the interpreter's kernels do ---- */
#if defined(__AVX512F__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define TP_TURNS_16 1
#endif
#endif
#ifdef TP_TURNS_16
typedef float tp_row_16 __attribute__((vector_size(64), aligned(4), may_alias));
#define TP_MIX(a, b, p, q, r, s) \
  __builtin_shufflevector(a, b, p, q, r, s, (p) + 4, (q) + 4, (r) + 4, (s) + 4, (p) + 8, (q) + 8, \
      (r) + 8, (s) + 8, (p) + 12, (q) + 12, (r) + 12, (s) + 12)
#define TP_EVEN(a, b) \
  __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27)
#define TP_ODD(a, b) \
  __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31)
TP_FN void tp_turn_16(float *a) {
  tp_row_16 *m = (tp_row_16 *)a, x[16], y[16];
  for (int i = 0; i < 16; i += 2)
    y[i] = TP_MIX(m[i], m[i + 1], 0, 16, 1, 17), y[i + 1] = TP_MIX(m[i], m[i + 1], 2, 18, 3, 19);
  for (int i = 0; i < 16; i += 2) {
    int p = (i & ~3) + (i >> 1 & 1);
    x[i] = TP_MIX(y[p], y[p + 2], 0, 1, 16, 17), x[i + 1] = TP_MIX(y[p], y[p + 2], 2, 3, 18, 19);
  }
  for (int i = 0; i < 16; i += 8)
    for (int k = 0; k < 4; k++)
      y[i + k] = TP_EVEN(x[i + k], x[i + k + 4]), y[i + k + 4] = TP_ODD(x[i + k], x[i + k + 4]);
  for (int k = 0; k < 8; k++) m[k] = TP_EVEN(y[k], y[k + 8]), m[k + 8] = TP_ODD(y[k], y[k + 8]);
}
#else
TP_FN void tp_turn_16(float *a) {
  for (int i = 0; i < 16; i++)
    for (int k = 0; k < i; k++) {
      float t = a[i * 16 + k];
      a[i * 16 + k] = a[k * 16 + i], a[k * 16 + i] = t;
    }
}
#endif

/* Loads at places that data says are faster one by one than gathered into vectors (Zen 4 and 5). */
#if defined(__GNUC__) && defined(__x86_64__)
#define TP_ONE_BY_ONE(at) __asm__("" : "+r"(at))
#else
#define TP_ONE_BY_ONE(at) (void)(at)
#endif

/* ---- rows in lanes; a shift moves element l - 1 to l ---- */
#define TP_VECTOR(T, n) __attribute__((vector_size((n) * sizeof(T)))) T
#define TP_SPREAD(T, n, v) \
  T v##_[n]; \
  __builtin_memcpy(v##_, &v, sizeof v)
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define TP_SHIFT_16(v) \
  __builtin_shufflevector(v, v, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
#define TP_SHIFT_8(v) __builtin_shufflevector(v, v, 0, 0, 1, 2, 3, 4, 5, 6)
#endif
#endif
#ifndef TP_SHIFT_8
#define TP_SHIFTED(v, n) \
  ({ \
    __typeof__(v) to_ = (v); \
    for (int l_ = 1; l_ < n; l_++) to_[l_] = (v)[l_ - 1]; \
    to_; \
  })
#define TP_SHIFT_16(v) TP_SHIFTED(v, 16)
#define TP_SHIFT_8(v)  TP_SHIFTED(v, 8)
#endif
