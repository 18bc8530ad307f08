/* tile.c: prints a product of matrices for a device, block by block.
 *
 * A block makes a tile of the result. Its threads bring so many terms of the rows and columns that
 * the tile needs into the block's memory, each element once, along the axis in which elements lie
 * side by side; then each thread adds up its elements, term by term in the plan's order, so bits
 * are those of the loop that emit_for_threads prints. Other kept axes are tiles of their own, other
 * summed axes go around. */
#include "emit/body/nest.h"

enum { TILE_THREADS = 16, TILE_EACH = 4, TILE_SIDE = TILE_THREADS * TILE_EACH, TERMS_LEAST = 8 };

/* TILE_THREADS threads down and as many over make TILE_EACH rows, along axis m, and columns each.
 */
typedef struct {
  int m, n, k, terms;
  const char *type, *mad;
} tile;

/* The longest kept axis along which window w alone lies, or -1. */
static int longest_of(const nest *l, int w) {
  int best = -1;
  for (int i = 0; i < l->nax; i++) {
    if (l->ax[i].red || !emit_moves(l, w, i) || emit_moves(l, !w, i)) continue;
    int64_t n = emit_extent(l, i), most = best < 0 ? 0 : emit_extent(l, best);
    if (best < 0 || n < 0 || (most >= 0 && n > most)) best = i;
  }
  return best;
}

bool emit_matrices(const nest *l, int kept[2], int *k) {
  *k = -1;
  for (int i = 0; i < l->nax; i++)
    if (l->ax[i].red) *k = i;
  for (int w = 0; w < 2 && l->product; w++) kept[w] = longest_of(l, w);
  return l->product && l->folds && tp_dtype_float(tp_emit_result_type(l->e, l->r, 0)) && *k >= 0 &&
      kept[0] >= 0 && kept[1] >= 0 && emit_moves(l, 0, *k) && emit_moves(l, 1, *k);
}

void emit_put_extents(const nest *l, int m, int n, int k) {
  tp_emit_line(l->e, "const int64_t m_ = %s, n_ = %s, k_ = %s;\n", emit_ix(l->e, l->ax[m].n),
      emit_ix(l->e, l->ax[n].n), emit_ix(l->e, l->ax[k].n));
}

/* Prints how rows of window 0, or columns of window 1, come into the block's memory. */
static void put_bring(const nest *l, const tile *t, int w) {
  tp_emit *e = l->e;
  int axis = w ? t->n : t->m;
  bool along = tp_is_number(l->stride[w][t->k], 1);
  emit_open(e, "for (int q_ = THREAD; q_ < %d; q_ += TP_KERNEL_THREADS) {\n", TILE_SIDE * t->terms);
  if (along) tp_emit_line(e, "const int i_ = q_/%d, d_ = q_%%%d;\n", t->terms, t->terms);
  else tp_emit_line(e, "const int i_ = q_%%%d, d_ = q_/%d;\n", TILE_SIDE, TILE_SIDE);
  tp_emit_line(
      e, "const int64_t x%d = %s + i_, x%d = deep_ + d_;\n", axis, w ? "left_" : "top_", t->k);
  tp_emit_line(e, "tile_%s[d_*%d + i_] = x%d < %s && x%d < k_ ? %s : 0;\n", w ? "b" : "a",
      TILE_SIDE + 1, axis, w ? "n_" : "m_", t->k, emit_value(l, w));
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
  for (int w = 0; w < 2; w++) put_bring(l, t, w);
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

/* Opens the loop over tiles: columns are its innermost axis, rows the next. */
static void open_tiles(const nest *l, const tile *t) {
  tp_emit *e = l->e;
  tp_emit_axis ax[TP_MAXRANK];
  int n = emit_kept_axes(l, ax, t->m, t->n);
  emit_put_extents(l, t->m, t->n, t->k);
  tp_emit_line(
      e, "const int row_ = THREAD/%d, column_ = THREAD%%%d;\n", TILE_THREADS, TILE_THREADS);
  emit_by_blocks(e);
  ax[n++] = emit_parts("down_", l->ax[t->m].n, TILE_SIDE);
  ax[n++] = emit_parts("over_", l->ax[t->n].n, TILE_SIDE);
  emit_open_threads(e, n, ax, false);
  tp_emit_line(e, "const int64_t top_ = down_*%d, left_ = over_*%d;\n", TILE_SIDE, TILE_SIDE);
}

bool emit_tile(const nest *l) {
  tp_emit *e = l->e;
  tp_dtype d = tp_compute(tp_emit_result_type(e, l->r, 0));
  int kept[2], k;
  if (!emit_matrices(l, kept, &k) || !emit_has_least(l, k, TERMS_LEAST) ||
      !emit_has_least(l, kept[0], EMIT_TILE_LEAST) || !emit_has_least(l, kept[1], EMIT_TILE_LEAST))
    return false;
  tile t = { kept[0], kept[1], k, d == TP_F64 ? 8 : 16, tp_emit_type(d),
    tp_printf(e->a, "tp_mad_%s", tp_emit_sfx(d)) };
  const char *local = tp_printf(e->a, "LOCAL %s tile_a[%d], tile_b[%d];\n", t.type,
      (TILE_SIDE + 1) * t.terms, (TILE_SIDE + 1) * t.terms);
  if (e->local && strcmp(e->local, local)) return false; /* of another part of the kernel */
  e->local = local;
  bool acc = emit_open_terms(l);
  open_tiles(l, &t);
  tp_emit_line(e, "%s acc_[%d] = { 0 };\n", t.type, TILE_EACH * TILE_EACH);
  if (emit_adds_blocks(l)) {
    tp_emit_line(e, "%s whole_[%d] = { 0 };\n", t.type, TILE_EACH * TILE_EACH);
    put_tile_results(l, &t, true);
  }
  int inner = emit_open_folded(l, k);
  put_terms(l, &t);
  emit_shut(e, inner);
  put_tile_results(l, &t, false);
  emit_shut(e, 1 + acc);
  return true;
}
