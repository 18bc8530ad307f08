/* blocks.c: prints, for threads of a device, weights in blocks: their numbers, and products that
 * read them as they are stored (kernels/gpu/weights.h).
 *
 *   y = x matmul_blocks w  =>  a few rows of x come into a block's memory, in 8 bits;
 *                              TP_EIGHTS_LANES threads add up each column of y
 *
 * With x as it is (`exact`) TP_FLOATS_LANES threads have a column, and read x where it lies. */
#include "base/blocks.h"
#include "emit/body/nest.h"

/* Bytes, up to 4, of which the expression is a multiple. */
static int unit_of(tp_emit *e, tp_ix *x) {
  for (int unit = 4; unit > 1; unit /= 2)
    if (tp_ix_divexact(x, tp_ix_const(e->ix, unit))) return unit;
  return 1;
}

/* Bytes of a row of blocks that may be read at once. */
static int word_of(tp_emit *e, const tp_region *r, const tp_nd *w) {
  int unit = unit_of(e, w->off);
  for (int i = 0; i < r->nlead && w->lead; i++) unit = TP_MIN(unit, unit_of(e, w->lead[i]));
  for (int i = 0; i < w->nring; i++) unit = TP_MIN(unit, unit_of(e, w->ring[i].stride));
  for (int i = 0; i < w->rank - 1; i++) unit = TP_MIN(unit, unit_of(e, w->stride[i]));
  return TP_MIN(unit, unit_of(e, tp_ix_const(e->ix, tp_format_bytes(r->how.format))));
}

/* Names places along axes of a window, but `last` along the last one. */
static void name_places(tp_emit *e, const tp_nd *nd, const char **at, const char *last) {
  emit_own_places(e, nd, at);
  at[nd->rank - 1] = last;
}

static void put_decoded(tp_emit *e, const tp_region *r) {
  const tp_nd *out = &r->out[0];
  const char *at[TP_MAXRANK];
  int opened = emit_open_leads(e, r, out, 0, -1);
  name_places(e, &r->in[0], at, "0");
  tp_emit_line(e, "%s = tp_block_number(TP_FORMAT_%s, %d, &%s, e%d);\n",
      emit_point_element(e, r, 1), tp_format_names[r->how.format], word_of(e, r, &r->in[0]),
      emit_element_at(e, r, 0, at), out->rank - 1);
  emit_shut(e, opened);
}

/* ---- products ---- */

/* The element of x, or (w 2) of the result, at a row, and at a number or column. */
static const char *matrix_at(
    tp_emit *e, const tp_region *r, int w, const char *row, const char *column) {
  const tp_nd *nd = tp_window_at(r, w);
  const char *at[TP_MAXRANK];
  name_places(e, nd, at, column);
  at[nd->rank - 2] = row;
  return emit_element_at(e, r, w, at);
}

/* Adds some rows of a column, and joins its threads. */
static void put_block_rows(tp_emit *e, const tp_region *r, int rows) {
  const char *format = tp_format_names[r->how.format], *way = r->how.exact ? "FLOATS" : "EIGHTS";
  tp_emit_line(e, "float sum_[%d] = { 0 }, off_[%d] = { 0 };\n", rows, rows);
  tp_emit_line(e, "TP_%s_ADD(TP_FORMAT_%s, %d, %d, %s)\n", way, format, word_of(e, r, &r->in[1]),
      rows, matrix_at(e, r, 0, "(top_ + r_)", "k_"));
  emit_open_row(e, rows);
  tp_emit_line(e,
      r->how.exact ? "%.0sTP_FLOATS_JOIN(room_f)\n" : "TP_EIGHTS_JOIN(TP_FORMAT_%s, room_f)\n",
      format);
  tp_emit_line(
      e, "if (mine_ && lane_ == 0) %s = sum_[r_];\n", matrix_at(e, r, 2, "(top_ + r_)", "at_n_"));
  emit_shut(e, 1);
}

static void put_product(tp_emit *e, const tp_region *r) {
  const tp_nd *x = &r->in[0], *out = &r->out[0];
  const char *lanes = r->how.exact ? "TP_FLOATS_LANES" : "TP_EIGHTS_LANES", *at[TP_MAXRANK];
  int last = out->rank - 1, n = 0, each = TP_KERNEL_THREADS / (r->how.exact ? 32 : 16);
  tp_emit_axis ax[2 * TP_MAXRANK];
  for (int i = 0; i < r->nlead; i++) ax[n++] = emit_axis(e, 'x', i, r->lead[i]);
  for (int i = 0; i < last - 1; i++) ax[n++] = emit_axis(e, 'e', i, out->shape[i]);
  tp_emit_line(e, "const int64_t m_ = %s, n_ = %s, terms_ = %s;\n",
      emit_ix(e, out->shape[last - 1]), emit_ix(e, out->shape[last]),
      emit_ix(e, x->shape[x->rank - 1]));
  tp_emit_line(e, "const int lane_ = THREAD%%%s;\n", lanes);
  emit_open_columns(e, n, ax, out->shape[last], each, tp_printf(e->a, "THREAD/%s", lanes), "at_n_");
  name_places(e, &r->in[1], at, "0");
  at[r->in[1].rank - 2] = "at_n_";
  tp_emit_line(e, "GLOBAL const uint8_t *const column_ = &%s;\n", emit_element_at(e, r, 1, at));
  emit_open_few_rows(e);
  put_block_rows(e, r, 1);
  emit_else(e);
  if (!tp_is_number(out->shape[last - 1], 1)) put_block_rows(e, r, EMIT_ROWS);
  emit_shut(e, 3);
}

void emit_blocks(tp_emit *e, const tp_region *r) {
  (r->op == TP_OP_DEQUANTIZE ? put_decoded : put_product)(e, r);
}
