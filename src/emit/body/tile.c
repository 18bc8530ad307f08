/* tile.c: prints a product of matrices for a device, block by block.
 *
 * A block makes a tile of the result. Its threads bring so many terms of the rows and columns that
 * the tile needs into the block's memory, each element once, along the axis in which elements lie
 * side by side; then each thread adds up its elements, term by term in the plan's order, so bits
 * are those of the loop that emit_for_threads prints. Other kept axes are tiles of their own, other
 * summed axes go around. */
#include "emit/body/nest.h"

enum { TILE_THREADS = 16, TILE_EACH = 4, TILE_SIDE = TILE_THREADS * TILE_EACH, TERMS_LEAST = 8 };

/* Window a has rows, b columns. TILE_THREADS threads down and as many over make TILE_EACH rows and
 * columns each. */
typedef struct {
  int a, b, m, n, k, terms;
  const char *type, *mad;
} tile;

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
    bool a = emit_moves(l, t->a, i), b = emit_moves(l, t->b, i);
    if (l->ax[i].red) t->k = i;
    else if (a && !b && is_longer(l, i, t->m)) t->m = i;
    else if (b && !a && is_longer(l, i, t->n)) t->n = i;
  }
  return t->m >= 0 && t->n >= 0 && t->k >= 0 && emit_moves(l, t->a, t->k) &&
      emit_moves(l, t->b, t->k);
}

static bool has_least(const nest *l, int axis, int64_t least) {
  int64_t n;
  return !tp_ix_is_const(l->ax[axis].n, &n) || n >= least;
}

/* Prints how elements of window w come into the block's memory. */
static void put_bring(
    const nest *l, const tile *t, int w, int axis, const char *name, const char *from) {
  tp_emit *e = l->e;
  bool along = tp_is_number(l->stride[w][t->k], 1);
  emit_open(e, "for (int q_ = THREAD; q_ < %d; q_ += TP_KERNEL_THREADS) {\n", TILE_SIDE * t->terms);
  if (along) tp_emit_line(e, "const int i_ = q_/%d, d_ = q_%%%d;\n", t->terms, t->terms);
  else tp_emit_line(e, "const int i_ = q_%%%d, d_ = q_/%d;\n", TILE_SIDE, TILE_SIDE);
  tp_emit_line(e, "const int64_t x%d = %s + i_, x%d = deep_ + d_;\n", axis, from, t->k);
  tp_emit_line(e, "%s[d_*%d + i_] = x%d < %s && x%d < k_ ? ", name, TILE_SIDE + 1, axis,
      axis == t->m ? "m_" : "n_", t->k);
  emit_load(e, tp_emit_dtype(e, l->w[w]));
  emit_element(l, w);
  tp_puts(e->b, ") : 0;\n");
  emit_shut(e, 1);
}

static void put_terms(const nest *l, const tile *t) {
  tp_emit *e = l->e;
  emit_open(e, "for (int64_t deep_ = 0; deep_ < k_; deep_ += %d) {\n", t->terms);
  if (emit_adds_blocks(l)) {
    tp_emit_line(e, "const int full_ = deep_ && deep_%%TP_DOT_BLOCK == 0;\n");
    tp_emit_line(e, "TP_UNROLLED\n");
    tp_emit_line(e, "for (int i_ = 0; i_ < %d; i_++)\n", TILE_EACH * TILE_EACH);
    tp_emit_line(e, "  if (full_) whole_[i_] += acc_[i_], acc_[i_] = 0;\n");
  }
  tp_emit_line(e, "BARRIER();\n");
  put_bring(l, t, t->a, t->m, "tile_a", "top_");
  put_bring(l, t, t->b, t->n, "tile_b", "left_");
  tp_emit_line(e, "BARRIER();\n");
  tp_emit_line(e, "const int terms_ = (int)tp_index_min(k_ - deep_, %d);\n", t->terms);
  emit_open(e, "for (int d_ = 0; d_ < terms_; d_++) {\n");
  tp_emit_line(e, "TP_TILE_TERM(%s, %s, tile_a + d_*%d + row_, tile_b + d_*%d + column_, %d, %d)\n",
      t->type, t->mad, TILE_SIDE + 1, TILE_SIDE + 1, TILE_THREADS, TILE_EACH);
  emit_shut(e, 2);
}

/* begin: what sums begin with, which are stored whole; else results. */
static void put_tile_results(const nest *l, const tile *t, bool begin) {
  tp_emit *e = l->e;
  bool blocks = emit_adds_blocks(l);
  tp_emit_line(e, "TP_UNROLLED\n");
  emit_open(e, "for (int i_ = 0; i_ < %d; i_++) {\n", TILE_EACH);
  tp_emit_line(e, "TP_UNROLLED\n");
  emit_open(e, "for (int j_ = 0; j_ < %d; j_++) {\n", TILE_EACH);
  tp_emit_line(e, "const int64_t x%d = top_ + row_ + %d*i_, x%d = left_ + column_ + %d*j_;\n", t->m,
      TILE_THREADS, t->n, TILE_THREADS);
  emit_open(e, "if (x%d < m_ && x%d < n_) {\n", t->m, t->n);
  const char *at = tp_printf(e->a, "[i_*%d + j_]", TILE_EACH);
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
      TILE_SIDE, TILE_SIDE);
  tp_emit_line(
      e, "const int row_ = THREAD/%d, column_ = THREAD%%%d;\n", TILE_THREADS, TILE_THREADS);
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
  tp_emit_line(
      e, "const int64_t left_ = at_%%over_*%d, top_ = rest_%%down_*%d;\n", TILE_SIDE, TILE_SIDE);
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
  if (!l->product || !l->folds || !tp_dtype_float(d) || !find_roles(l, &t) ||
      !has_least(l, t.k, TERMS_LEAST) || !has_least(l, t.m, EMIT_TILE_LEAST) ||
      !has_least(l, t.n, EMIT_TILE_LEAST))
    return false;
  int inner = 0;
  t.terms = d == TP_F64 ? 8 : 16;
  t.mad = tp_printf(e->a, "tp_mad_%s", tp_emit_sfx(d));
  const char *local = tp_printf(e->a, "LOCAL %s tile_a[%d], tile_b[%d];\n", t.type,
      (TILE_SIDE + 1) * t.terms, (TILE_SIDE + 1) * t.terms);
  if (e->local && strcmp(e->local, local)) return false; /* of another part of the kernel */
  e->local = local;
  open_tiles(l, &t);
  tp_emit_line(e, "%s acc_[%d] = { 0 };\n", t.type, TILE_EACH * TILE_EACH);
  if (emit_adds_blocks(l)) {
    tp_emit_line(e, "%s whole_[%d] = { 0 };\n", t.type, TILE_EACH * TILE_EACH);
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
