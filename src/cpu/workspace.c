/* workspace: finds the memory that a region needs beside its windows: for copies of operands on
 * rings, 16-bit floats in f32, and its operator. It goes by extents and strides, as far as they
 * show which way an operator works, and never finds too little. */
#include "cpu/cpu.h"
#include "base/env.h"
#include "kernels/prelude/fold.h"

typedef struct {
  const tp_plan *p;
  tp_ictx *c;
  const tp_region *r;
} worker;

/* ---- sizes ---- */

static tp_ix *num(const worker *w, int64_t v) { return tp_ix_const(w->c, v); }
static tp_ix *times(tp_ix *a, tp_ix *b) { return tp_ix_mul(a, b); }
static tp_ix *plus(tp_ix *a, tp_ix *b) { return tp_ix_add(a, b); }
static tp_ix *least(tp_ix *a, tp_ix *b) { return tp_ix_min(a, b); }
static tp_ix *most(tp_ix *a, tp_ix *b) { return tp_ix_max(a, b); }

/* Pieces begin at lines of the cache. */
static tp_ix *bytes(tp_ix *count, int64_t size) {
  tp_ix *lines = tp_ix_fdiv(tp_ix_addc(tp_ix_mulc(count, size), TP_WORK_LINE - 1), TP_WORK_LINE);
  return tp_ix_mulc(lines, TP_WORK_LINE);
}

static int rank_of(const worker *w, const tp_nd *x) { return w->r->nlead + x->rank; }

/* The extent along axis i, the region's first. It is an expression by itself: ranges of products
 * are those of their factors. */
static tp_ix *window_extent(const worker *w, const tp_nd *x, int i) {
  return most(num(w, 0), i < w->r->nlead ? w->r->lead[i] : x->shape[i - w->r->nlead]);
}

static tp_ix *window_stride(const worker *w, const tp_nd *x, int i) {
  return i >= w->r->nlead ? x->stride[i - w->r->nlead] : x->lead ? x->lead[i] : num(w, 0);
}

static tp_ix *window_count(const worker *w, const tp_nd *x, int from) {
  tp_ix *n = num(w, 1);
  for (int i = from; i < rank_of(w, x); i++) n = times(n, window_extent(w, x, i));
  return n;
}

/* How many elements the window has; elements that are one count once. */
static tp_ix *moving(const worker *w, const tp_nd *x) {
  tp_ix *n = num(w, 1);
  for (int i = 0; i < rank_of(w, x); i++)
    if (!tp_is_number(window_stride(w, x, i), 0))
      n = times(
          n, i == x->wrap ? tp_ix_min(window_extent(w, x, i), x->wmod) : window_extent(w, x, i));
  return n;
}

static tp_dtype window_dtype(const worker *w, const tp_nd *x) {
  return x->buf < 0 ? TP_NDTYPE : w->p->bufs.v[x->buf]->dtype;
}
static bool is_half(const worker *w, const tp_nd *x) { return tp_half(window_dtype(w, x)); }

/* ---- operators ---- */

/* Bytes for the draws of one stream, or of several points' short ones together. */
static tp_ix *draws(const worker *w) {
  const tp_nd *o = &w->r->out[0];
  tp_ix *n = window_count(w, o, w->r->nlead);
  int64_t per = tp_words_per_draw(&w->r->how, window_dtype(w, o));
  return bytes(most(n, tp_ix_mulc(least(n, num(w, TP_WORK_DRAWN / per)), TP_WORK_POINTS)),
      tp_dtype_size(window_dtype(w, o)));
}

static tp_ix *sorted(const worker *w) {
  return bytes(window_extent(w, &w->r->in[0], w->r->nlead + w->r->how.axis), 2 * TP_WORK_PAIR);
}

/* Bytes for the rows that are hit, and in f64 one row, or all of half as many as hits at most. */
static tp_ix *added_rows(const worker *w) {
  const tp_nd *o = &w->r->out[0], *k = &w->r->in[1];
  tp_ix *row = num(w, 1),
        *hits = bytes(k->rank ? window_extent(w, k, w->r->nlead) : num(w, 1), TP_WORK_PAIR);
  for (int i = 0; i < o->rank; i++)
    if (i != w->r->how.axis) row = times(row, window_extent(w, o, w->r->nlead + i));
  tp_ix *all = least(
      window_count(w, o, w->r->nlead), tp_ix_fdiv(window_count(w, &w->r->in[2], 0), TP_WORK_IMAGE));
  return tp_compute(window_dtype(w, o)) == TP_F32
      ? plus(hits, bytes(most(row, all), sizeof(double)))
      : hits;
}

/* Hits with their places, and these in f64, or four places for each. */
static tp_ix *added_elements(const worker *w) {
  return tp_compute(window_dtype(w, &w->r->out[0])) == TP_F32
      ? bytes(window_count(w, &w->r->in[1], 0), 3 * TP_WORK_PAIR)
      : num(w, 0);
}

/* Bytes for points by matrix, and for the rows, read and made, of some that take the same. */
static tp_ix *taken_rows(const worker *w) {
  const tp_nd *x = &w->r->in[0], *k = &w->r->in[1], *m = &w->r->in[2];
  int last = rank_of(w, x) - 1, first = w->r->nlead;
  tp_ix *points = window_count(w, k, 0),
        *rows = least(times(points, window_extent(w, x, last - 1)), num(w, TP_WORK_TAKEN));
  int64_t size = tp_dtype_size(tp_compute(window_dtype(w, x)));
  tp_ix *lists = plus(bytes(tp_ix_addc(window_extent(w, m, first), 1), sizeof(int64_t)),
      bytes(points, TP_WORK_PAIR));
  return plus(lists,
      plus(bytes(times(rows, window_extent(w, x, last)), size),
          bytes(times(rows, window_extent(w, m, first + 2)), size)));
}

/* Is a window at another place for each of the result's along axis i? */
static bool moves_along(const worker *w, const tp_nd *x, int i) {
  return !tp_is_number(window_stride(w, x, i), 0) &&
      window_extent(w, x, i) == window_extent(w, &w->r->out[0], i);
}

/* Is the operand of 16 bits, beside one of f32, surely read as it is stored (contract.c)? Along k
 * both are contiguous, or its rows are and the other operand has few. */
static bool reads_stored(const worker *w, int half) {
  const tp_nd *a = &w->r->in[0], *b = &w->r->in[1], *h = &w->r->in[half], *f = &w->r->in[1 - half];
  int first = w->r->nlead, last = rank_of(w, a) - 1;
  bool along = tp_is_number(window_stride(w, a, last), 1) &&
      tp_is_number(window_stride(w, b, last - 1), 1) && !w->p->reproducible;
  int64_t terms, rows;
  tp_ix *n = window_extent(w, f, last - half);
  if (h->wrap >= 0 || f->wrap >= 0) return false;
  for (int i = 0; i < last - 1; i++) {
    bool moves = moves_along(w, h, i);
    if (i < first && tp_is_number(window_stride(w, &w->r->out[0], i), 0)) return false;
    if (moves && !moves_along(w, f, i)) return false;
    if (!moves) n = times(n, window_extent(w, f, i));
  }
  if (along && tp_ix_is_const(window_extent(w, a, last), &terms) && terms >= TP_DOT_BLOCK)
    return true;
  return tp_is_number(window_stride(w, h, last - 1 + half), 1) && tp_ix_is_const(n, &rows) &&
      rows <= TP_WORK_THIN;
}

/* Floats for rows of pairs, and for sums of them by columns. */
static tp_ix *work_pairs(const worker *w, tp_ix *n, tp_ix *depth) {
  tp_ix *k = least(tp_ix_addc(depth, 31), num(w, TP_PAIR_DEEP)),
        *columns = least(tp_ix_addc(n, 15), num(w, TP_PAIR_WIDE));
  return times(least(n, num(w, TP_PAIR_TALL)), plus(k, columns));
}

/* Bytes for blocks of both operands in f32, or for rows of one, or for pairs, the most that any
 * roles need. */
static tp_ix *work_product(const worker *w) {
  const tp_nd *a = &w->r->in[0], *o = &w->r->out[0];
  bool both = is_half(w, a) && is_half(w, &w->r->in[1]);
  tp_ix *depth = window_extent(w, a, rank_of(w, a) - 1), *n = window_count(w, o, 0);
  if (!is_half(w, a) && !is_half(w, &w->r->in[1])) return num(w, 0);
  if (!both && reads_stored(w, is_half(w, a) ? 0 : 1)) return num(w, 0);
  for (int i = 0; i < w->r->nlead; i++)
    if (tp_is_number(window_stride(w, o, i), 0))
      depth = times(depth, most(num(w, 1), window_extent(w, o, i)));
  tp_ix *sides = plus(least(n, num(w, TP_WORK_BLOCK_M)), least(n, num(w, TP_WORK_BLOCK_N)));
  tp_ix *blocks = times(least(depth, num(w, TP_WORK_BLOCK_K)), sides),
        *rows = times(least(n, num(w, TP_WORK_ROWS_M)), least(depth, num(w, TP_WORK_ROWS_K)));
  if (both) blocks = most(blocks, most(rows, work_pairs(w, n, depth)));
  return bytes(blocks, sizeof(float));
}

/* Bytes for some rows in whole blocks of 256 numbers, and for a row of weights whose bytes lie
 * apart. */
static tp_ix *work_blocks(const worker *w) {
  const tp_nd *a = &w->r->in[0], *b = &w->r->in[1];
  tp_ix *rows = num(w, 1), *k = window_extent(w, a, rank_of(w, a) - 1);
  for (int i = 0; i < rank_of(w, &w->r->out[0]) - 1; i++)
    rows = times(rows, window_extent(w, &w->r->out[0], i));
  rows = least(rows, num(w, TP_WORK_ROWS));
  k = tp_ix_mulc(tp_ix_fdiv(tp_ix_addc(k, 255), 256), 256);
  tp_ix *sum = bytes(times(tp_ix_addc(rows, 1), k), sizeof(float));
  return tp_is_number(b->stride[b->rank - 1], 1)
      ? sum
      : plus(sum, bytes(window_extent(w, b, rank_of(w, b) - 1), 1));
}

static tp_ix *environment(const worker *w) {
  const tp_env *e = tp_env_find(w->r->how.str);
  int rooms = w->r->nin + w->r->nout + 1; /* and drawn numbers */
  return e ? tp_ix_mulc(bytes(num(w, tp_env_lane(e)), sizeof(double)), rooms) : num(w, 0);
}

/* ---- convolutions: columns are gathered a chunk at a time ---- */

typedef struct {
  const tp_nd *v[3];
  int d;
  tp_ix *O, *CK, *columns;
  int64_t size;
} conv_sizes;

/* Do the axes of a window from i on surely lie as one of unit stride? */
static bool lies_dense(const worker *w, const tp_nd *x, int i) {
  tp_ix *want = num(w, 1);
  for (int k = x->rank - 1; k >= i; k--) {
    if (!tp_is_number(x->shape[k], 1) && x->stride[k] != want) return false;
    want = times(want, x->shape[k]);
  }
  return true;
}

static conv_sizes conv_of(const worker *w) {
  const tp_region *r = w->r;
  const int *role = tp_conv_roles(r->op);
  conv_sizes s = { .d = r->in[0].rank - 3,
    .columns = num(w, 1),
    .size = tp_dtype_size(tp_compute(window_dtype(w, &r->out[0]))) };
  for (int i = 0; i < 3; i++) s.v[role[i]] = i < 2 ? &r->in[i] : &r->out[0];
  s.O = window_extent(w, s.v[TP_CY], r->nlead + 2);
  s.CK = window_extent(w, s.v[TP_CX], r->nlead + 2);
  for (int i = 0; i < s.d; i++) {
    s.CK = times(s.CK, window_extent(w, s.v[TP_CW], r->nlead + 3 + i));
    s.columns = times(s.columns, window_extent(w, s.v[TP_CY], r->nlead + 3 + i));
  }
  for (int i = 0; i < r->nlead; i++)
    if (tp_is_number(window_stride(w, s.v[TP_CW], i), 0))
      s.columns = times(s.columns, window_extent(w, s.v[TP_CX], i));
  s.columns = times(s.columns, window_extent(w, s.v[TP_CX], r->nlead));
  return s;
}

int64_t tp_work_columns(int64_t row_bytes) {
  return TP_MAX(TP_WORK_CHUNK / TP_MAX(row_bytes, 1), TP_WORK_FEWEST);
}

/* Bytes for a chunk's columns and their results, as if none lay in place. If an extent is not
 * known, columns are as short as possible, and no more than a chunk takes. */
static tp_ix *work_columns_of(const worker *w) {
  conv_sizes s = conv_of(w);
  int64_t CK, row;
  bool known = tp_ix_is_const(s.CK, &CK);
  tp_ix *n = least(num(w, tp_work_columns(known ? CK * s.size : s.size) + 15), s.columns),
        *cols = times(s.CK, n), *pieces = n;
  if (!known)
    cols = least(cols, tp_ix_addc(tp_ix_mulc(s.CK, TP_WORK_FEWEST + 15), TP_WORK_CHUNK / s.size));
  if (tp_ix_is_const(s.v[TP_CY]->shape[s.d + 2], &row) && row > 0) pieces = tp_ix_fdiv(n, row);
  tp_ix *sum = bytes(tp_ix_addc(pieces, 2), TP_WORK_PIECE);
  sum = plus(sum, plus(bytes(cols, s.size), bytes(times(s.O, n), s.size)));
  return lies_dense(w, s.v[TP_CW], 1) ? sum : plus(sum, bytes(times(s.O, s.CK), s.size));
}

/* ---- regions ---- */

/* Bytes for numbers that differ between points, in loops that do more than write them. */
static tp_ix *work_numbers(const worker *w) {
  const tp_region *r = w->r;
  tp_ix *sum = num(w, 0);
  bool alone = !r->acc && !r->sums && r->nout == 1 && r->nmicro == 1;
  for (int k = 0; k < r->nmicro && !alone; k++) {
    tp_ix *n = num(w, 1);
    bool moves = false;
    for (int i = 0; i < r->nlead && r->micro[k].op == TP_OP_VALUE; i++) {
      if (!tp_ix_mentions(r->micro[k].ix, r->leadvar[i])) continue;
      moves = true;
      n = times(n, window_extent(w, &r->out[0], i));
    }
    if (moves) sum = plus(sum, bytes(n, tp_dtype_size(tp_compute(r->micro[k].dtype))));
  }
  return sum;
}

/* Has the operator no kernels for 16-bit floats? */
static bool is_arithmetic(tp_op op) {
  switch (tp_ops[op].cls) {
  case TP_CLS_ARG:
  case TP_CLS_SCAN:
  case TP_CLS_MM:
  case TP_CLS_CONV:
  case TP_CLS_MOVE: return true;
  default: return op == TP_OP_INDEX_ADD || op == TP_OP_SCATTER_ADD || op == TP_OP_MATMUL_AT;
  }
}

static tp_ix *operator_work(const worker *w) {
  if (w->r->kind == TP_RG_LOOP) return work_numbers(w);
  if (w->r->kind != TP_RG_OP) return num(w, 0);
  switch (w->r->op) {
  case TP_OP_RAND: return draws(w);
  case TP_OP_SORT: return sorted(w);
  case TP_OP_INDEX_ADD: return added_rows(w);
  case TP_OP_SCATTER_ADD: return added_elements(w);
  case TP_OP_MATMUL_AT: return taken_rows(w);
  case TP_OP_MATMUL: return work_product(w);
  case TP_OP_MATMUL_BLOCKS: return work_blocks(w);
  case TP_OP_CONV:
  case TP_OP_CONV_DATA:
  case TP_OP_CONV_WEIGHT: return work_columns_of(w);
  case TP_OP_ENV_RESET:
  case TP_OP_ENV_OBS:
  case TP_OP_ENV_STEP: return environment(w);
  default: return num(w, 0);
  }
}

/* Is the axis of a product's operand that wraps summed? */
static bool sums_ring(const tp_region *r, int operand) {
  const tp_nd *x = &r->in[operand], *o = &r->out[0];
  int own = x->wrap - r->nlead;
  if (own == x->rank - 1 - operand) return true;
  return own >= 0 ? tp_is_number(o->stride[own], 0) : !o->lead || tp_is_number(o->lead[x->wrap], 0);
}

/* May a product read its ring in two parts? Not a sum of a reproducible plan, which promises an
 * order. */
static bool multiplies_ring(const tp_plan *p, const tp_region *r) {
  int n = 0, at = 0;
  for (int i = 0; i < 2; i++)
    if (r->in[i].wrap >= 0) at = i, n++;
  return n == 0 || (n == 1 && !(p->reproducible && sums_ring(r, at)));
}

static bool cpu_reads_rings(const tp_plan *p, const tp_region *r) {
  if (r->kind == TP_RG_LOOP) return !r->nmicro && !r->acc && !r->sums;
  if (r->kind == TP_RG_OP && r->op == TP_OP_MATMUL) return multiplies_ring(p, r);
  return r->kind == TP_RG_OP && r->op == TP_OP_INDEX_SELECT &&
      r->in[0].wrap == r->nlead + r->how.axis && r->in[1].wrap < 0;
}

static tp_ix *cpu_workspace(const tp_plan *p, const tp_region *r) {
  const worker at = { p, p->ix, r }, *w = &at;
  tp_ix *sum = operator_work(w);
  for (int i = 0; i < r->nin && !cpu_reads_rings(w->p, r); i++)
    if (r->in[i].wrap >= 0)
      sum = plus(sum, bytes(moving(w, &r->in[i]), tp_dtype_size(window_dtype(w, &r->in[i]))));
  for (int i = r->op == TP_OP_MATMUL ? r->nin : 0;
       i < r->nin + r->nout && r->kind == TP_RG_OP && is_arithmetic(r->op); i++)
    if (is_half(w, tp_window_at(r, i)))
      sum = plus(sum, bytes(moving(w, tp_window_at(r, i)), sizeof(float)));
  return sum;
}

const tp_machine tp_cpu_machine = {
  .name = "cpu", .caches = true, .reads_rings = cpu_reads_rings, .workspace = cpu_workspace
};
