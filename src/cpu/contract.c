/* contract.c: computes sums of products. Every axis has a stride in A, B and C; its role says which
 * of the three move along it:
 *
 *   A, C: m      B, C: n      not C: k (summed)      A, B, C or C alone: a loop
 *
 * Axes of one role merge where strides allow, so that a batch over time and environments with
 * shared weights is one GEMM. One axis of each role makes the matrix product, the rest are loops
 * around it, the summed ones innermost. Summed axes of a reproducible plan do not merge: the
 * product has the last one, whatever its extent.
 *
 * An operand of 16-bit floats is read as it is stored if the other one has few rows, or if both are
 * contiguous along k; else blocks of both become f32. Two of bf16 that are contiguous along k are
 * multiplied by pairs of terms where the processor can (kernels/cpu/kernel_pairs.c). Our kernels
 * add the terms of an element in an order that rows and columns beside it do not change, if terms
 * are many (kernels/prelude/fold.h).
 */
#include "cpu/contract.h"
#include "kernels/prelude/fold.h"
#include <limits.h>

enum { M, N, K, LOOP };
typedef struct gemm_axis {
  int64_t n, a, b, c;
} gemm_axis;
typedef struct gemm_roles {
  int count[4];
  gemm_axis v[4][TP_MAXRANK + 1];
} gemm_roles;

static int role_of(const gemm_axis *x) {
  if (x->c == 0) return K;
  if (x->a && x->b) return LOOP;
  return x->a ? M : x->b ? N : LOOP;
}

static bool lies_inside(const gemm_axis *o, const gemm_axis *i) {
  return o->a == i->a * i->n && o->b == i->b * i->n && o->c == i->c * i->n;
}

/* Joins any two axes of one role that lie one within the other. */
static void merge_roles(gemm_axis *v, int *n) {
  for (int i = 0; i < *n; i++)
    for (int j = 0; j < *n; j++) {
      if (i == j || !lies_inside(&v[i], &v[j])) continue;
      v[j].n *= v[i].n;
      v[i] = v[--*n];
      i = -1;
      break;
    }
}

static bool unit(int role, const gemm_axis *x) {
  return role == M ? x->a == 1 || x->c == 1
      : role == N  ? x->b == 1 || x->c == 1
                   : x->a == 1 || x->b == 1;
}

/* The axis of a role for the matrix product: contiguous if there is one, else the longest. The rest
 * become loops. */
static gemm_axis widest_axis(gemm_roles *r, int role) {
  gemm_axis *v = r->v[role];
  int n = r->count[role], best = 0;
  if (n == 0) return (gemm_axis){ .n = 1 };
  for (int i = 1; i < n; i++)
    if (unit(role, &v[i]) != unit(role, &v[best]) ? unit(role, &v[i]) : v[i].n > v[best].n)
      best = i;
  gemm_axis x = v[best];
  v[best] = v[n - 1];
  r->count[role]--;
  return x;
}

static void add_loops(tp_contraction *t, const gemm_roles *r, int role) {
  for (int i = 0; i < r->count[role]; i++) {
    const gemm_axis *x = &r->v[role][i];
    t->ext[t->nloop] = x->n;
    t->la[t->nloop] = x->a;
    t->lb[t->nloop] = x->b;
    t->lc[t->nloop++] = x->c;
  }
}

/* ---- BLAS ---- */

/* Rows of `cols` elements with stride `row`, elements `step` apart, as BLAS wants it: transposed or
 * not, leading dimension. */
static bool layout(int64_t rows, int64_t cols, int64_t row, int64_t step, int *trans, int *ld) {
  bool plain = (step == 1 || cols == 1) && (rows == 1 || row >= cols),
       turned = (row == 1 || rows == 1) && (cols == 1 || step >= rows);
  int64_t lead = plain ? (rows == 1 ? cols : row) : cols == 1 ? rows : step;
  *trans = plain ? 111 : 112;
  *ld = (int)TP_MAX(lead, 1);
  return (plain || turned) && lead <= INT_MAX;
}

static void turn_over(tp_contraction *t) {
  tp_mm s = t->s;
  t->s = (tp_mm){ s.n, s.m, s.k, s.sbn, s.sbk, s.sak, s.sam, s.scn, s.scm, s.lanes };
  t->swapped = !t->swapped;
}

static bool fits_blas(tp_contraction *t) {
  const tp_mm *s = &t->s;
  int tc;
  if (s->m > INT_MAX || s->n > INT_MAX || s->k > INT_MAX) return false;
  return layout(s->m, s->k, s->sam, s->sak, &t->ta, &t->lda) &&
      layout(s->k, s->n, s->sbk, s->sbn, &t->tb, &t->ldb) &&
      layout(s->m, s->n, s->scm, s->scn, &tc, &t->ldc) && tc == 111;
}

/* Measured against OpenBLAS 0.3.21 (bench/products.c). With AVX-512 our kernels are as good or
 * better. With less they are so only if packing and a call cost more than the products, for one row
 * if rows of B are contiguous, and for a few rows with a B that no cache holds. */
enum { ROW_LEAST = 64, CACHED = 1 << 20, FEW_ROWS = 8, CALL_LEAST = 4096 };
/* dot products with one row: GEMV below, GEMM, GEMV above */
enum { GEMV_SMALL = 600, GEMV_LARGE = 128 * 128 };
/* the product is transposed if a row of C has so few bytes, and rows and terms are many */
enum { NARROW = 28, TURNED_ROWS = 16, TURNED_TERMS = 8 };

/* bytes from which on a B is in no cache near */
enum { THIN_BYTES = 1 << 18 };

static bool ours_is_better(const tp_contraction *t, double work) {
  return t->cpu->same || t->cpu->K->wide || work < CALL_LEAST ||
      (t->s.lanes && t->s.k >= TP_DOT_BLOCK && t->s.m <= FEW_ROWS);
}

static tp_mmkind choose_library(tp_contraction *t, double work) {
  const tp_mm *s = &t->s;
  bool dots = s->sbn != 1 && s->n > 1;
  if (ours_is_better(t, work) || (s->m == 1 && !dots && (s->n == 1 || s->n >= ROW_LEAST)))
    return TP_MM_OWN;
  if (s->m == 1 && dots && (work < GEMV_SMALL || work >= GEMV_LARGE)) {
    bool steps = s->sak > 0 && s->scn > 0 && s->sak <= INT_MAX && s->scn <= INT_MAX &&
        s->k <= INT_MAX && s->n <= INT_MAX;
    return steps && layout(s->k, s->n, s->sbk, s->sbn, &t->tb, &t->ldb) ? TP_MM_GEMV : TP_MM_OWN;
  }
  if (s->m <= FEW_ROWS && !dots && (double)s->n * (double)s->k * t->size > CACHED) return TP_MM_OWN;
  return fits_blas(t) ? TP_MM_GEMM : TP_MM_OWN;
}

static bool is_narrow(const tp_contraction *t) {
  return t->s.n * t->size <= NARROW && t->s.m >= TURNED_ROWS && t->s.k >= TURNED_TERMS &&
      !t->s.lanes;
}

static tp_dtype type_of_a(const tp_contraction *t) { return t->in[t->swapped]; }
static tp_dtype type_of_b(const tp_contraction *t) { return t->in[!t->swapped]; }

static bool has_few_rows(const tp_contraction *t) {
  return (t->s.sbn == 1 || t->s.n == 1) && t->s.m <= TP_WORK_THIN;
}

/* Makes the operand with few lines A; else columns of C are contiguous, if one side is. */
static tp_mmkind choose_pairs(tp_contraction *t) {
  const tp_mm *s = &t->s;
  bool few = TP_MIN(s->m, s->n) <= TP_PAIR_FEW;
  if (few ? s->n < s->m : s->scm == 1) turn_over(t);
  return TP_MM_PAIRS;
}

/* Makes B the larger operand, or the only one of 16-bit floats; and where rows of B are
 * contiguous, A has few rows. */
static tp_mmkind choose_widening(tp_contraction *t) {
  if (t->in[0] == TP_BF16 && t->in[1] == TP_BF16 && t->s.sak == 1 && t->s.sbk == 1 &&
      !t->cpu->same && tp_kernels_pairs())
    return choose_pairs(t);
  bool b = tp_half(type_of_b(t)), both = b && tp_half(type_of_a(t));
  if (!b || (both && t->s.lanes && t->s.m > t->s.n)) turn_over(t);
  if (t->s.lanes || has_few_rows(t)) return TP_MM_THIN;
  if (both) turn_over(t);
  return both && has_few_rows(t) ? TP_MM_THIN : TP_MM_BLOCKS;
}

static bool has_blas(const tp_blas *b) { return b->sgemm && b->dgemm && b->sgemv && b->dgemv; }

static tp_mmkind choose_kernel(tp_contraction *t) {
  const tp_mm *s = &t->s;
  if (t->in[1] == TP_U8 && t->d == TP_F32) return TP_MM_BLOCKS; /* B in blocks: blocks.c */
  if (t->in[0] != t->d || t->in[1] != t->d) return choose_widening(t);
  /* columns of C are contiguous */
  if (s->scn != 1 && (s->scm == 1 || s->n == 1)) turn_over(t);
  if (s->n == 1 && s->m > 1) turn_over(t);
  double work = (double)s->m * (double)s->n * (double)s->k;
  tp_mmkind kind = t->d == TP_F32 || t->d == TP_F64 ? choose_library(t, work) : TP_MM_OWN;
  /* opens it only for its first call: that takes 3 ms */
  if (kind != TP_MM_OWN && !has_blas(tp_blas_get())) kind = TP_MM_OWN;
  if (kind == TP_MM_OWN && is_narrow(t)) turn_over(t);
  bool thin = kind == TP_MM_OWN && t->d == TP_F32 && !s->lanes && has_few_rows(t) &&
      (double)s->n * (double)s->k * t->size >= THIN_BYTES;
  return thin ? TP_MM_THIN : kind;
}

/* The last axis that is summed, taken out of its role. */
static gemm_axis last_summed(
    gemm_roles *r, int last, const int64_t *extent, const int64_t *sa, const int64_t *sb) {
  if (last < 0 || extent[last] == 1) return (gemm_axis){ .n = 1 };
  r->count[K]--;
  return (gemm_axis){ extent[last], sa[last], sb[last], 0 };
}

/* How the terms of an element are added up; a half does not stand alone. */
static int rows_of_lanes(const tp_contraction *t, const tp_mm *s, bool batch) {
  if (s->sak != 1 || s->sbk != 1 || !TP_DOTS(s->m, s->n, s->k, batch)) return 0;
  if (!tp_dtype_float(t->d)) return 0;
  return s->m == 1 && s->n == 1 && t->in[0] == t->d && t->in[1] == t->d ? TP_DOT_ALONE : 1;
}

void tp_contraction_make(tp_contraction *t, const struct tp_cpu *cpu, tp_dtype d, tp_dtype a,
    tp_dtype b, int naxes, const int64_t *extent, const int64_t *sa, const int64_t *sb,
    const int64_t *sc) {
  gemm_roles r;
  int last = -1;
  memset(r.count, 0, sizeof r.count);
  *t = (tp_contraction){ .cpu = cpu,
    .d = d,
    .in = { a, b },
    .size = tp_dtype_size(d),
    .insize = { tp_dtype_size(a), tp_dtype_size(b) },
    .kind = TP_MM_OWN };
  bool nothing = false, zero = false;
  for (int i = 0; i < naxes; i++) {
    gemm_axis x = { extent[i], sa[i], sb[i], sc[i] };
    int role = role_of(&x);
    if (x.n == 0) *(role == K ? &zero : &nothing) = true;
    if (role == K) last = i;
    if (x.n != 1) r.v[role][r.count[role]++] = x;
  }
  if (nothing) {
    t->kind = TP_MM_NOTHING;
    return;
  }
  for (int k = 0; k < 4; k++)
    if (k != K || !cpu->same) merge_roles(r.v[k], &r.count[k]);
  gemm_axis m = widest_axis(&r, M), n = widest_axis(&r, N),
            k = cpu->same ? last_summed(&r, last, extent, sa, sb) : widest_axis(&r, K);
  t->s = (tp_mm){ m.n, n.n, k.n, m.a, k.a, k.b, n.b, m.c, n.c, 0 };
  if (!cpu->same) t->s.lanes = rows_of_lanes(t, &t->s, r.count[LOOP] > 0);
  add_loops(t, &r, LOOP);
  add_loops(t, &r, M);
  add_loops(t, &r, N);
  t->firstsum = t->nloop;
  if (!zero) add_loops(t, &r, K);
  t->kind = zero ? TP_MM_ZERO : choose_kernel(t);
}

/* How a library adds terms with fewer rows is not known. */
static bool is_ours(const tp_contraction *t) {
  return t->kind == TP_MM_OWN || t->kind == TP_MM_THIN || t->kind == TP_MM_PAIRS ||
      t->kind == TP_MM_BLOCKS;
}

bool tp_contraction_alike(const tp_contraction *whole, const tp_contraction *part) {
  if (part->kind == TP_MM_NOTHING) return true;
  if (whole->kind == TP_MM_ZERO) return part->kind == TP_MM_ZERO;
  return is_ours(whole) && is_ours(part) && whole->s.lanes == part->s.lanes &&
      (whole->kind == TP_MM_PAIRS) == (part->kind == TP_MM_PAIRS);
}

/* ---- running ---- */

static void zero_matrix(const tp_contraction *t, char *c) {
  const tp_mm *s = &t->s;
  for (int64_t i = 0; i < s->m; i++)
    if (s->scn == 1) memset(c + i * s->scm * t->size, 0, (size_t)(s->n * t->size));
    else
      for (int64_t j = 0; j < s->n; j++)
        memset(c + (i * s->scm + j * s->scn) * t->size, 0, (size_t)t->size);
}

static void gemm(const tp_contraction *t, const void *a, const void *b, void *c, bool acc) {
  const tp_blas *f = tp_blas_get();
  int m = (int)t->s.m, n = (int)t->s.n, k = (int)t->s.k;
  if (t->d == TP_F32)
    f->sgemm(101, t->ta, t->tb, m, n, k, 1, a, t->lda, b, t->ldb, (float)acc, c, t->ldc);
  else f->dgemm(101, t->ta, t->tb, m, n, k, 1, a, t->lda, b, t->ldb, acc, c, t->ldc);
}

/* Sets y = 0 first: libraries differ in 0 * NaN. */
static void gemv(const tp_contraction *t, const void *a, const void *b, void *c, bool acc) {
  const tp_blas *f = tp_blas_get();
  const tp_mm *s = &t->s;
  bool plain = t->tb == 111; /* B is stored k x n; y = B' x */
  int rows = (int)(plain ? s->k : s->n), cols = (int)(plain ? s->n : s->k),
      trans = plain ? 112 : 111;
  if (!acc) zero_matrix(t, c);
  if (t->d == TP_F32)
    f->sgemv(101, trans, rows, cols, 1, b, t->ldb, a, (int)s->sak, 1, c, (int)s->scn);
  else f->dgemv(101, trans, rows, cols, 1, b, t->ldb, a, (int)s->sak, 1, c, (int)s->scn);
}

static void widened_rows(const tp_contraction *t, const tp_kernels *K, const char *a, const char *b,
    char *c, bool acc, float *room);
static void widened_blocks(const tp_contraction *t, const tp_kernels *K, const char *a,
    const char *b, char *c, bool acc, float *room);

static void product(const tp_contraction *t, const tp_kernels *K, const char *a, const char *b,
    char *c, bool acc, float *room) {
  if (t->swapped) {
    const char *x = a;
    a = b;
    b = x;
  }
  switch (t->kind) {
  case TP_MM_NOTHING: break;
  case TP_MM_ZERO:
    if (!acc) zero_matrix(t, c);
    break;
  case TP_MM_OWN: K->mm[t->d](&t->s, a, b, c, acc); break;
  case TP_MM_THIN:
    if (type_of_a(t) == t->d) K->thin[type_of_b(t)](&t->s, a, b, c, acc);
    else widened_rows(t, K, a, b, c, acc, room);
    break;
  case TP_MM_PAIRS:
    tp_kernels_pairs()(&t->s, (const uint16_t *)a, (const uint16_t *)b, (float *)c, acc, room);
    break;
  case TP_MM_GEMM: gemm(t, a, b, c, acc); break;
  case TP_MM_GEMV: gemv(t, a, b, c, acc); break;
  case TP_MM_BLOCKS: widened_blocks(t, K, a, b, c, acc, room); break;
  }
}

/* ---- 16-bit floats: blocks of A, or of A and B, become f32; C is f32 all along ---- */

/* a block of B stays in the cache for all the rows of A's */
enum { BLOCK_M = TP_WORK_BLOCK_M, BLOCK_N = TP_WORK_BLOCK_N, BLOCK_K = TP_WORK_BLOCK_K };
enum { ROWS_M = TP_WORK_ROWS_M, ROWS_K = TP_WORK_ROWS_K };

/* rows x cols elements, dense along whichever axis was contiguous; the strides they have then. */
static void widen_block(tp_dtype d, const tp_kernels *K, float *o, const char *a, int64_t row,
    int64_t col, int64_t rows, int64_t cols, int64_t *so_row, int64_t *so_col) {
  bool turned = row == 1 && col != 1;
  tp_kload *load = tp_half(d) ? K->loadhalf[d] : K->load[2];
  if (turned) load(o, a, col, row, cols, rows);
  else load(o, a, row, col, rows, cols);
  *so_row = turned ? 1 : cols;
  *so_col = turned ? rows : 1;
}

static void widened_rows(const tp_contraction *t, const tp_kernels *K, const char *a, const char *b,
    char *c, bool acc, float *room) {
  const tp_mm *s = &t->s;
  int size = t->insize[t->swapped], sizeb = t->insize[!t->swapped];
  for (int64_t i = 0; i < s->m; i += ROWS_M)
    for (int64_t p = 0; p < s->k; p += ROWS_K) {
      tp_mm u = *s;
      u.m = TP_MIN(s->m - i, ROWS_M), u.k = TP_MIN(s->k - p, ROWS_K), u.sam = u.k, u.sak = 1;
      const char *at = a + (i * s->sam + p * s->sak) * size;
      K->loadhalf[type_of_a(t)](room, at, s->sam, s->sak, u.m, u.k);
      K->thin[type_of_b(t)](
          &u, room, b + p * s->sbk * sizeb, c + i * s->scm * t->size, acc || p > 0);
    }
}

static void widened_blocks(const tp_contraction *t, const tp_kernels *K, const char *a,
    const char *b, char *c, bool acc, float *room) {
  const tp_mm *s = &t->s;
  int sizea = t->insize[t->swapped], sizeb = t->insize[!t->swapped];
  float *wa = room, *wb = room + TP_MIN(s->m, BLOCK_M) * TP_MIN(s->k, BLOCK_K);
  for (int64_t p = 0; p < s->k; p += BLOCK_K)
    for (int64_t i = 0; i < s->m; i += BLOCK_M) {
      tp_contraction u = { .d = t->d, .kind = TP_MM_OWN, .size = t->size };
      u.s = (tp_mm){
        .m = TP_MIN(s->m - i, BLOCK_M), .k = TP_MIN(s->k - p, BLOCK_K), .scm = s->scm, .scn = s->scn
      };
      widen_block(type_of_a(t), K, wa, a + (i * s->sam + p * s->sak) * sizea, s->sam, s->sak, u.s.m,
          u.s.k, &u.s.sam, &u.s.sak);
      for (int64_t j = 0; j < s->n; j += BLOCK_N) {
        tp_contraction v = u;
        v.s.n = TP_MIN(s->n - j, BLOCK_N);
        widen_block(type_of_b(t), K, wb, b + (p * s->sbk + j * s->sbn) * sizeb, s->sbk, s->sbn,
            v.s.k, v.s.n, &v.s.sbk, &v.s.sbn);
        if (v.s.scn != 1 && v.s.scm == 1) turn_over(&v);
        product(&v, K, (const char *)wa, (const char *)wb, c + (i * s->scm + j * s->scn) * t->size,
            acc || p > 0, NULL);
      }
    }
}

int64_t tp_contraction_room(const tp_contraction *t) {
  const tp_mm *s = &t->s;
  if (t->kind == TP_MM_THIN && type_of_a(t) != t->d)
    return TP_MIN(s->m, ROWS_M) * TP_MIN(s->k, ROWS_K);
  if (t->kind == TP_MM_PAIRS) return tp_pairs_room(s);
  if (t->kind != TP_MM_BLOCKS) return 0;
  return TP_MIN(s->k, BLOCK_K) * (TP_MIN(s->m, BLOCK_M) + TP_MIN(s->n, BLOCK_N));
}

static bool first_sum(const tp_contraction *t, const tp_walk *w) {
  for (int i = t->firstsum; i < t->nloop; i++)
    if (w->at[i]) return false;
  return true;
}

void tp_contraction_run(
    const tp_contraction *t, const void *a, const void *b, void *c, bool acc, float *room) {
  if (t->kind == TP_MM_NOTHING) return;
  const tp_kernels *k = t->cpu->K;
  if (t->nloop == 0) {
    product(t, k, a, b, c, acc, room);
    return;
  }
  tp_walk w;
  for (tp_walk_start(&w, t->nloop, t->ext); w.ok; tp_walk_next(&w))
    product(t, k, (const char *)a + tp_walk_offset(&w, t->la) * t->insize[0],
        (const char *)b + tp_walk_offset(&w, t->lb) * t->insize[1],
        (char *)c + tp_walk_offset(&w, t->lc) * t->size, acc || !first_sum(t, &w), room);
}

void tp_contract(tp_dtype d, int naxes, const int64_t *extent, const int64_t *sa, const int64_t *sb,
    const int64_t *sc, const void *a, const void *b, void *c, bool acc) {
  struct tp_cpu cpu = { .K = tp_kernels_get() };
  tp_contraction t;
  tp_contraction_make(&t, &cpu, d, d, d, naxes, extent, sa, sb, sc);
  tp_contraction_run(&t, a, b, c, acc, NULL);
}
