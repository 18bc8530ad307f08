/* blocks.c: prints, for threads of a device, weights in blocks: their numbers, and products that
 * read them as they are stored (kernels/gpu/weights.h).
 *
 *   y = x matmul_blocks w    =>    for some rows of x: a block puts them into its memory, in 8
 * bits; threads that lie side by side have a column of y each
 *
 * With x as it is (`exact`) a column has more threads, and these read x where it lies. */
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

/* The rows come into the block's memory. */
static void put_eights(tp_emit *e, const tp_region *r) {
  const char *x = matrix_at(e, r, 0, "(top_ + row_)", "k_");
  tp_emit_line(e, "BARRIER();\n");
  emit_open(e, "TP_EACH_EIGHT(4) {\n");
  tp_emit_line(e, "TP_EIGHT_PLACE(4)\n");
  tp_emit_line(e, "uint32_t most_ = 0;\n");
  emit_open(e, "for (int64_t k_ = deep_ + 4*at_; k_ < deep_ + 4*at_ + 4; k_++) {\n");
  tp_emit_line(e, "TP_EIGHTS_MOST(most_, %s);\n", x);
  emit_shut(e, 1);
  tp_emit_line(e, "eights_q[to_] = most_;\n");
  emit_shut(e, 1);
  tp_emit_line(e, "TP_EIGHTS_JOIN_MOST\n");
  emit_open(e, "TP_EACH_EIGHT(4) {\n");
  tp_emit_line(e, "TP_EIGHT_PLACE(4)\n");
  tp_emit_line(e, "const float most_ = eights_d[to_/8];\n");
  tp_emit_line(e, "uint32_t four_ = 0;\n");
  emit_open(e, "for (int i_ = 0; i_ < 4; i_++) {\n");
  tp_emit_line(e, "const int64_t k_ = deep_ + 4*at_ + i_;\n");
  tp_emit_line(e, "four_ |= tp_eight(%s, most_) << 8*i_;\n", x);
  emit_shut(e, 1);
  tp_emit_line(e, "eights_q[to_] = four_;\n");
  emit_shut(e, 1);
  tp_emit_line(e, "TP_EIGHTS_END\n");
}

/* The terms of some rows. */
static void put_block_terms(tp_emit *e, const tp_region *r, int rows) {
  const char *f = tp_printf(
      e->a, "TP_FORMAT_%s, %d, %d", tp_format_names[r->how.format], word_of(e, r, &r->in[1]), rows);
  if (!r->how.exact) {
    emit_open(e, "for (int64_t deep_ = 0; deep_ < terms_; deep_ += TP_EIGHTS_PART) {\n");
    tp_emit_line(e, "const int part_ = (int)tp_index_min(terms_ - deep_, TP_EIGHTS_PART);\n");
    put_eights(e, r);
    tp_emit_line(e, "TP_EIGHTS_ADD(%s)\n", f);
    emit_shut(e, 1);
    return;
  }
  tp_emit_line(e, "TP_FLOATS_ADD(%s, %s)\n", f, matrix_at(e, r, 0, "(top_ + r_)", "k_"));
}

/* Joins the threads of a column. With 8 bits the offsets add up apart. */
static void put_joined_lanes(tp_emit *e, const tp_region *r, int rows) {
  emit_open_row(e, rows);
  if (r->how.exact) {
    tp_emit_line(e, "sum_[r_] = sum_[r_] + off_[r_];\n");
    tp_emit_line(e, "TP_GROUP_SUM(float, sum_[r_], TP_FLOATS_LANES, room_f)\n");
  } else {
    tp_emit_line(e, "TP_GROUP_SUM(float, sum_[r_], TP_EIGHTS_LANES, room_f)\n");
    tp_emit_line(e, "if (TP_FORMAT_HAS_OFFSETS(TP_FORMAT_%s)) {\n", tp_format_names[r->how.format]);
    tp_emit_line(e, "  TP_GROUP_SUM(float, off_[r_], 8, room_f)\n");
    tp_emit_line(e, "  sum_[r_] = sum_[r_] + off_[r_];\n");
    tp_emit_line(e, "}\n");
  }
  tp_emit_line(
      e, "if (mine_ && lane_ == 0) %s = sum_[r_];\n", matrix_at(e, r, 2, "(top_ + r_)", "at_n_"));
  emit_shut(e, 1);
}

static void put_block_rows(tp_emit *e, const tp_region *r, int rows) {
  tp_emit_line(e, "float sum_[%d] = { 0 }, off_[%d] = { 0 };\n", rows, rows);
  put_block_terms(e, r, rows);
  put_joined_lanes(e, r, rows);
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
