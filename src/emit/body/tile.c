/* tile.c: prints a product of matrices for a device, block by block.
 *
 * A block makes a tile of the result. Its threads bring so many terms of the rows and columns that
 * the tile needs into the block's memory, each element once, along the axis in which elements lie
 * side by side; then each thread adds up its elements, term by term in the plan's order, so bits
 * are those of the loop that emit_for_threads prints. Other kept axes are tiles of their own, other
 * summed axes go around. */
#include "emit/body/nest.h"

enum {
  TILE_FEW = 4, /* rows that are made by one thread */
  TERMS_LEAST = 8
};

/* Window a has rows, b columns. down x over threads make side_m x side_n elements each. */
typedef struct {
  int a, b, m, n, k;
  int down, over, side_m, side_n, terms;
  const char *type, *mad;
} tile;

static bool moves(const nest *l, int w, int axis) { return !tp_is_number(l->stride[w][axis], 0); }

/* The longest of two axes; one that is not known counts as long. */
static bool is_longer(const nest *l, int i, int than) {
  int64_t a, b;
  if (than < 0) return true;
  if (!tp_ix_is_const(l->ax[than].n, &b)) return false;
  return !tp_ix_is_const(l->ax[i].n, &a) || a > b;
}

static bool find_roles(const nest *l, tile *t) {
  t->m = t->n = t->k = -1;
  for (int i = 0; i < l->nax; i++) {
    bool a = moves(l, t->a, i), b = moves(l, t->b, i);
    if (l->ax[i].red) t->k = i;
    else if (a && !b && is_longer(l, i, t->m)) t->m = i;
    else if (b && !a && is_longer(l, i, t->n)) t->n = i;
  }
  return t->m >= 0 && t->n >= 0 && t->k >= 0 && moves(l, t->a, t->k) && moves(l, t->b, t->k);
}

static bool has_least(const nest *l, int axis, int64_t least) {
  int64_t n;
  return !tp_ix_is_const(l->ax[axis].n, &n) || n >= least;
}

/* Is it worth a tile: square, or of few rows where a thread's own column would be read with
 * jumps? */
static bool find_shape(const nest *l, tile *t) {
  if (!has_least(l, t->k, TERMS_LEAST)) return false;
  if (has_least(l, t->m, EMIT_TILE_LEAST) && has_least(l, t->n, EMIT_TILE_LEAST)) {
    t->down = t->over = 16, t->side_m = t->side_n = 4;
    return true;
  }
  if (!has_least(l, t->n, TILE_FEW + 1)) {
    int a = t->a, m = t->m;
    t->a = t->b, t->b = a, t->m = t->n, t->n = m;
  }
  int64_t rows;
  if (has_least(l, t->m, TILE_FEW + 1) || !has_least(l, t->n, EMIT_TILE_LEAST) ||
      tp_is_number(l->stride[t->b][t->n], 1) || !tp_is_number(l->stride[t->b][t->k], 1))
    return false;
  tp_ix_is_const(l->ax[t->m].n, &rows);
  t->down = 1, t->over = TP_KERNEL_THREADS, t->side_m = (int)rows, t->side_n = 1;
  return true;
}

/* Prints how elements of window w come into the block's memory, `side` places of the axis. */
static void put_bring(
    const nest *l, const tile *t, int w, int axis, const char *name, const char *from, int side) {
  tp_emit *e = l->e;
  bool along = tp_is_number(l->stride[w][t->k], 1);
  emit_open(e, "for (int q_ = THREAD; q_ < %d; q_ += TP_KERNEL_THREADS) {\n", side * t->terms);
  if (along) tp_emit_line(e, "const int i_ = q_/%d, d_ = q_%%%d;\n", t->terms, t->terms);
  else tp_emit_line(e, "const int i_ = q_%%%d, d_ = q_/%d;\n", side, side);
  tp_emit_line(e, "const int64_t x%d = %s + i_, x%d = deep_ + d_;\n", axis, from, t->k);
  tp_emit_line(e, "%s[d_*%d + i_] = x%d < %s && x%d < k_ ? ", name, side + 1, axis,
      axis == t->m ? "m_" : "n_", t->k);
  emit_load(e, tp_emit_dtype(e, l->w[w]));
  emit_element(l, w);
  tp_puts(e->b, ") : 0;\n");
  emit_shut(e, 1);
}

static void put_terms(const nest *l, const tile *t) {
  tp_emit *e = l->e;
  int rows = t->down * t->side_m, columns = t->over * t->side_n;
  emit_open(e, "for (int64_t deep_ = 0; deep_ < k_; deep_ += %d) {\n", t->terms);
  if (emit_adds_blocks(l)) {
    tp_emit_line(e, "const int full_ = deep_ && deep_%%TP_DOT_BLOCK == 0;\n");
    tp_emit_line(e, "TP_UNROLLED\n");
    tp_emit_line(e, "for (int i_ = 0; i_ < %d; i_++)\n", t->side_m * t->side_n);
    tp_emit_line(e, "  if (full_) whole_[i_] += acc_[i_], acc_[i_] = 0;\n");
  }
  tp_emit_line(e, "BARRIER();\n");
  put_bring(l, t, t->a, t->m, "tile_a", "top_", rows);
  put_bring(l, t, t->b, t->n, "tile_b", "left_", columns);
  tp_emit_line(e, "BARRIER();\n");
  tp_emit_line(e, "const int terms_ = (int)tp_index_min(k_ - deep_, %d);\n", t->terms);
  emit_open(e, "for (int d_ = 0; d_ < terms_; d_++) {\n");
  tp_emit_line(e,
      "TP_TILE_TERM(%s, %s, tile_a + d_*%d + row_, %d, %d, tile_b + d_*%d + column_, %d, %d)\n",
      t->type, t->mad, rows + 1, t->down, t->side_m, columns + 1, t->over, t->side_n);
  emit_shut(e, 2);
}

/* begin: what sums begin with, which are stored whole; else results. */
static void put_tile_results(const nest *l, const tile *t, bool begin) {
  tp_emit *e = l->e;
  bool blocks = emit_adds_blocks(l);
  tp_emit_line(e, "TP_UNROLLED\n");
  emit_open(e, "for (int i_ = 0; i_ < %d; i_++) {\n", t->side_m);
  tp_emit_line(e, "TP_UNROLLED\n");
  emit_open(e, "for (int j_ = 0; j_ < %d; j_++) {\n", t->side_n);
  tp_emit_line(e, "const int64_t x%d = top_ + row_ + %d*i_, x%d = left_ + column_ + %d*j_;\n", t->m,
      t->down, t->n, t->over);
  emit_open(e, "if (x%d < m_ && x%d < n_) {\n", t->m, t->n);
  const char *at = tp_printf(e->a, "[i_*%d + j_]", t->side_n);
  if (begin) {
    tp_emit_line(e, "whole_%s = ", at);
    emit_begin_sum(l);
    tp_puts(e->b, ";\n");
  } else if (blocks) emit_store_whole(l, tp_printf(e->a, "whole_%s + acc_%s", at, at));
  else emit_store(l, 0, tp_printf(e->a, "acc_%s", at));
  emit_shut(e, 3);
}

/* Opens the loop over tiles: `rest_` is a tile's number, its last axes are columns and rows. */
static void open_tiles(const nest *l, const tile *t) {
  tp_emit *e = l->e;
  tp_emit_line(e, "const int64_t m_ = %s, n_ = %s, k_ = %s;\n", emit_ix(e, l->ax[t->m].n),
      emit_ix(e, l->ax[t->n].n), emit_ix(e, l->ax[t->k].n));
  tp_emit_line(e, "const int64_t down_ = TP_TILES_OF(m_, %d), over_ = TP_TILES_OF(n_, %d);\n",
      t->down * t->side_m, t->over * t->side_n);
  tp_emit_line(e, "const int row_ = THREAD/%d, column_ = THREAD%%%d;\n", t->over, t->over);
  tp_emit_line(e, "const int64_t all_ = down_*over_");
  for (int i = 0; i < l->nax; i++) {
    bool sums = l->ax[i].red && l->r->acc; /* a sum of nothing adds nothing */
    if (sums) tp_putf(e->b, "*(%s > 0)", emit_ix(e, l->ax[i].n));
    else if (!l->ax[i].red && i != t->m && i != t->n)
      tp_putf(e->b, "*tp_index_max(0, %s)", emit_ix(e, l->ax[i].n));
  }
  tp_puts(e->b, ";\n");
  emit_open(e, "TP_EACH (int64_t at_ = block_; at_ < all_; at_ += blocks_) {\n");
  tp_emit_line(e, "int64_t rest_ = at_/over_;\n");
  tp_emit_line(e, "const int64_t left_ = at_%%over_*%d, top_ = rest_%%down_*%d;\n",
      t->over * t->side_n, t->down * t->side_m);
  tp_emit_line(e, "rest_ = rest_/down_;\n");
  for (int i = l->nax - 1; i >= 0; i--) {
    if (l->ax[i].red || i == t->m || i == t->n) continue;
    tp_emit_line(e, "const int64_t x%d = rest_%%%s;\n", i, emit_ix(e, l->ax[i].n));
    tp_emit_line(e, "rest_ = rest_/%s;\n", emit_ix(e, l->ax[i].n));
  }
}

bool emit_tile(const nest *l) {
  tp_emit *e = l->e;
  tp_dtype d = tp_compute(tp_emit_result_type(e, l->r, 0));
  tile t = { .a = 0, .b = 1, .type = tp_emit_type(d) };
  if (!l->product || !l->folds || !tp_dtype_float(d) || !find_roles(l, &t) || !find_shape(l, &t))
    return false;
  int inner = 0, rows = t.down * t.side_m, columns = t.over * t.side_n;
  t.terms = d == TP_F64 ? 8 : 16;
  t.mad = tp_printf(e->a, "tp_mad_%s", tp_emit_sfx(d));
  const char *local = tp_printf(e->a, "LOCAL %s tile_a[%d], tile_b[%d];\n", t.type,
      (rows + 1) * t.terms, (columns + 1) * t.terms);
  if (e->local && strcmp(e->local, local)) return false; /* of another part of the kernel */
  e->local = local;
  open_tiles(l, &t);
  tp_emit_line(e, "%s acc_[%d] = { 0 };\n", t.type, t.side_m * t.side_n);
  if (emit_adds_blocks(l)) {
    tp_emit_line(e, "%s whole_[%d] = { 0 };\n", t.type, t.side_m * t.side_n);
    put_tile_results(l, &t, true);
  }
  for (int i = 0; i < l->nax; i++)
    if (l->ax[i].red && i != t.k) emit_open_axis(l, i), inner++;
  put_terms(l, &t);
  emit_shut(e, inner);
  put_tile_results(l, &t, false);
  emit_shut(e, 1);
  return true;
}
