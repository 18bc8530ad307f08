/* The table of inner loops. One table per instruction set, all from the same text (kernel_*.h);
 * tp_kernels_get() picks the best one this processor has (TEMPO_ISA=base|avx2|avx512|bf16
 * overrides, for tests; bf16: avx512 with dot products of pairs).
 *
 * Inner loops see contiguous blocks of the *compute type* of a dtype: f16 and bf16 are computed in
 * f32 and rounded after each operator. */
#ifndef TP_KERNELS_H
#define TP_KERNELS_H
#include "kern/kern.h"

#define TP_BLOCK  1024 /* elements of a block */
#define TP_SQUARE 32   /* squared: TP_BLOCK */

static inline int tp_log2size(tp_dtype d) {
  int s = tp_dtype_size(d);
  return s == 8 ? 3 : s == 4 ? 2 : s == 2;
}

/* o may be a or b exactly; otherwise nothing overlaps. */
typedef int tp_kfn(void *o, const void *a, const void *b, const void *c, int64_t n);
/* rows x n elements: row i of the destination is dense, the source has strides. */
typedef void tp_kload(void *o, const void *a, int64_t row, int64_t step, int64_t rows, int64_t n);
typedef void tp_kstore(void *o, int64_t row, int64_t step, const void *a, int64_t rows, int64_t n);
/* rows x n elements: o[i * orow + j] = a[j * arow + i]. */
typedef void tp_kturn(void *o, int64_t orow, const void *a, int64_t arow, int64_t rows, int64_t n);
/* Reductions of rows x n values (row stride in elements). Accumulators are f64 for sums and
 * products of floats, else the compute type. */
typedef void tp_kfold(void *acc, const void *a, int64_t row, int64_t rows, int64_t n);
/* at[j]: the row of the least or greatest value of column j; the first at ties, the first NaN
 * wins. */
typedef void tp_kbest(int64_t *at, const void *a, int64_t row, int64_t rows, int64_t n);
/* The same of n neighbours, n > 0: returns the place. */
typedef int64_t tp_kbestof(const void *a, int64_t n);
/* A row that is added to another: its first element was `was`; next: the next row that is added
 * there, 0: none; later: there was one before. */
typedef struct tp_row_hit {
  float was;
  uint32_t next;
  bool later;
} tp_row_hit;
/* Adds row j of `from` to `to`, and those that follow it, in f64. */
typedef void tp_ksumrows(
    float *to, const float *from, int64_t apart, const tp_row_hit *t, int64_t j, int64_t n);
/* Adds row j of `from` to row at[j * step] of `to`, rows of n that lie side by side. */
typedef void tp_kaddrows(double *to, const float *from, int64_t apart, const int64_t *at,
    int64_t step, int64_t rows, int64_t n);
/* C (m x n) = or += A (m x k) B (k x n), any strides. */
/* lanes: of terms that go to lanes (prelude/fold.h) the rows of lanes, 0: terms one by one. With
 * lanes both operands are contiguous along k. */
typedef struct tp_mm {
  int64_t m, n, k, sam, sak, sbk, sbn, scm, scn;
  int lanes;
} tp_mm;
typedef void tp_kmm(const tp_mm *s, const void *a, const void *b, void *c, bool acc);
/* y[i] = f * y[i-1] + x[i] (prod: y[i-1] * x[i]) for `lanes` lines side by side; steps in elements.
 * carry: lanes doubles or u64. */
typedef void tp_kscan(void *y, int64_t ystep, const void *x, int64_t xstep, int64_t n,
    int64_t lanes, double f, void *carry);

/* Columns of a convolution (kernel_window.h); row strides in elements. `to` of unwindow is x, `to`
 * of window the columns. */
typedef struct tp_window {
  int64_t lo, hi, n, step;
} tp_window;
typedef void tp_kwindow(
    void *to, int64_t torow, const void *from, int64_t fromrow, int64_t rows, const tp_window *w);
/* y[i] = c[i] * y[i-1] + x[i], y[0] = x[0]; carry as above, its contents do not matter. */
typedef void tp_krecur(void *y, int64_t ystep, const void *x, int64_t xstep, const void *c,
    int64_t cstep, int64_t n, int64_t lanes, void *carry);

/* ---- weights in blocks (kernel_blocks.h), TP_SPAN numbers at a time; behind the last there are
 * zeros ---- */
enum { TP_SPAN = 256, TP_SPAN_ROWS = 4, TP_SPAN_LANES = 64 };
/* A span of a row in 8 bits: d[j] * q for each 32 of them. lane: sums of 4 q, times -zero of the
 * format; s: d[j] times the sum of 32. */
typedef struct tp_eights {
  int8_t q[TP_SPAN];
  int32_t lane[TP_SPAN / 4];
  float d[8], s[8];
} tp_eights;
typedef void tp_keights(tp_format f, tp_eights *to, const float *x, int64_t k);
/* c[r]: a row of weights times row r of x, r < rows; x is of tp_eights or of floats, `row` bytes
 * apart. A part of the k numbers at a time: c is NULL but for the last, `first` for the first;
 * between them `lanes` has TP_SPAN_LANES floats of each row. */
typedef void tp_kblocks(tp_format f, const uint8_t *w, int64_t k, const void *x, int64_t row,
    int rows, float *lanes, bool first, float *c);

enum { TP_LANES = 16 }; /* streams drawn from side by side */
typedef struct tp_philox_lanes {
  uint32_t w[4][TP_LANES];
} tp_philox_lanes;

typedef struct tp_kernels tp_kernels;
struct tp_kernels {
  const char *isa;
  bool fuses;
  /* vectors of 512 bits, of which parts are read and written */
  bool wide;
  /* by the operands' compute type (SELECT: of the values) */
  tp_kfn *ew[TP_NOP][TP_NDTYPE];
  tp_kfn *cast[TP_NDTYPE][TP_NDTYPE]; /* compute type to compute type */
  /* F16, BF16: rounds f32 to a value of that type */
  tp_kfn *round[TP_NDTYPE];
  /* f64 to f32 on the way to a half: rounding again rounds once */
  tp_kfn *sticky;
  /* by log2 of the size; halves become f32 */
  tp_kload *load[4], *loadhalf[TP_NDTYPE];
  tp_kstore *store[4], *storehalf[TP_NDTYPE];
  tp_kturn *turn[4]; /* by log2 of the size */
  /* is any index outside 0 .. n - 1? */
  bool (*outside)(const int64_t *index, int64_t step, int64_t count, int64_t n);
  /* is each `by` or `by` - m more than the one before? */
  bool (*even)(const int64_t *index, int64_t n, int64_t by, int64_t m);
  tp_kfold *across[4][TP_NDTYPE];    /* [red]: acc[i] takes row i */
  tp_kfold *down[4][TP_NDTYPE];      /* [red]: acc[j] takes column j */
  tp_kfold *across_wide, *down_wide; /* sums of f32 as those of f64 */
  tp_kbest *best[2][TP_NDTYPE];      /* [max] */
  tp_kbestof *bestof[2][TP_NDTYPE];
  tp_ksumrows *sum_rows;
  tp_kaddrows *add_rows;
  tp_kmm *mm[TP_NDTYPE];
  tp_keights *eights;
  tp_kblocks *blocks_eights, *blocks_floats;
  /* f32 by what B is stored in: f32, f16, bf16; with lanes, or rows of B contiguous */
  tp_kmm *thin[TP_NDTYPE];
  tp_kwindow *window[4], *unwindow[TP_NDTYPE]; /* by log2 of the size; by dtype */
  tp_kscan *sum_scan[TP_NDTYPE], *prod_scan[TP_NDTYPE];
  tp_krecur *recur[TP_NDTYPE];
  /* words of nblock blocks in order */
  void (*philox)(tp_philox_key k, uint64_t block, int64_t nblock, uint32_t *out);
  /* in place: one block of each of TP_LANES streams */
  void (*philox_lanes)(tp_philox_lanes *ctr, const uint32_t key[2][TP_LANES]);
  void (*uniform)(float *o, const uint32_t *w, int64_t n); /* from n words */
  void (*normal)(double *o, const uint32_t *w, int64_t n); /* from 2n words */
};

/* Products of bf16 (kernel_pairs.c), both contiguous along k. Rows that go together, and columns,
 * terms of a block; rows that are few. */
enum { TP_PAIR_TALL = 256, TP_PAIR_WIDE = 512, TP_PAIR_DEEP = 512, TP_PAIR_FEW = 16 };
/* room: tp_pairs_room floats, whose first part is the rows' */
typedef void tp_kpairs(
    const tp_mm *s, const uint16_t *a, const uint16_t *b, float *c, bool acc, float *room);
static inline int64_t tp_pairs_rows(const tp_mm *s) {
  return TP_MIN(s->m, TP_PAIR_TALL) * TP_MIN(tp_round_up(s->k, 32), TP_PAIR_DEEP) / 2;
}
static inline int64_t tp_pairs_room(const tp_mm *s) {
  if (s->m <= TP_PAIR_FEW) return 0;
  return tp_pairs_rows(s) +
      TP_MIN(s->m, TP_PAIR_TALL) * TP_MIN(tp_round_up(s->n, 16), TP_PAIR_WIDE);
}
/* NULL: the processor has no dot product of pairs */
tp_kpairs *tp_kernels_pairs(void);

const tp_kernels *tp_kernels_get(void);
extern const tp_kernels tp_kernels_base;
/* The best of those without fma: the same bits on all processors. */
const tp_kernels *tp_kernels_plain_get(void);
#ifdef __FP_FAST_FMA
extern const tp_kernels tp_kernels_plain;
#else
#define tp_kernels_plain tp_kernels_base
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#define TP_X86 1
extern const tp_kernels tp_kernels_avx2, tp_kernels_avx512, tp_kernels_plain_avx2,
    tp_kernels_plain_avx512;
tp_kpairs tp_pairs_multiply;
#endif

/* The dtype that accumulates a reduction of compute type d. */
static inline tp_dtype tp_acctype(tp_red red, tp_dtype d) {
  return (red == TP_RED_SUM || red == TP_RED_PROD) && d == TP_F32 ? TP_F64 : d;
}
#endif
