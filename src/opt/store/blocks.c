/* blocks: products read weights in blocks as they are stored.
 *
 *   x @ permute (dequantize w)            =>   matmul_blocks x w
 *   (dequantize w) @ x                    =>   permute (matmul_blocks (permute x) w)
 *   index_select (dequantize w) k         =>   dequantize (index_select w k)
 *
 * where blocks lie along the summed axis, or rows of them are picked. Views between turn into views
 * of w: they move whole blocks. Elements are the same numbers, but that a product's other operand
 * goes in blocks of 8 bits unless the script asks for `precise`. */
#include "opt/opt.h"

/* x as v, a reshape that takes or gives axes of 1 and leaves all others in order. */
static tp_val reshaped(tp_mk k, tp_val x, tp_val v, int *axis) {
  tp_val was = v.node->in[0].src;
  tp_ix *shape[TP_MAXRANK];
  int from = 0, to = -1, rank = tp_rankof(v);
  for (int i = 0; i < rank; i++) {
    shape[i] = mk_extent(v, i);
    if (tp_is_number(shape[i], 1)) continue;
    while (from < tp_rankof(was) && tp_is_number(mk_extent(was, from), 1)) from++;
    if (from == tp_rankof(was) || mk_extent(was, from) != shape[i]) return tp_none;
    if (from == *axis) to = i;
    shape[i] = mk_extent(x, from++);
  }
  while (from < tp_rankof(was) && tp_is_number(mk_extent(was, from), 1)) from++;
  if (to < 0 || from < tp_rankof(was)) return tp_none;
  *axis = to;
  return mk_reshape(k, x, rank, shape);
}

/* w, whose numbers v shows, seen as v is; axis: of blocks. Nothing: v is something else. */
static tp_val stored_as(tp_mk k, tp_val v, tp_format *format, int *axis) {
  const tp_node *n = v.node;
  if (n->op == TP_OP_DEQUANTIZE) {
    *format = n->attr.format, *axis = tp_rankof(v) - 1;
    return n->in[0].src;
  }
  bool shows = n->op == TP_OP_PERMUTE || n->op == TP_OP_SLICE || n->op == TP_OP_RESHAPE ||
      (n->op == TP_OP_READ && tp_rankof(n->in[0].src) == tp_rankof(v));
  tp_val x = shows ? stored_as(k, n->in[0].src, format, axis) : tp_none;
  if (!x.node) return x;
  if (n->op == TP_OP_RESHAPE) return reshaped(k, x, v, axis);
  if (n->op == TP_OP_SLICE && n->attr.axis == *axis) return tp_none;
  if (n->op == TP_OP_PERMUTE) {
    int to = 0;
    while (n->attr.axes[to] != *axis) to++;
    *axis = to;
  }
  return mk_op(k, n->op, 1, &x, &n->attr);
}

/* The product x @ w as it is stored; turned: w @ x. */
static tp_val product_by_blocks(tp_mk k, const tp_node *n, bool turned, bool exact) {
  tp_attr a = { .exact = exact };
  int axis, last = tp_rankof(n->in[0].src) - 1;
  tp_val x = n->in[turned].src, w = stored_as(k, n->in[!turned].src, &a.format, &axis);
  if (!w.node || axis != last - !turned || tp_dtypeof(x) != TP_F32) return tp_none;
  if (turned) x = mk_swap(k, x, last - 1, last);
  else w = mk_swap(k, w, last - 1, last);
  tp_val y = mk_op(k, TP_OP_MATMUL_BLOCKS, 2, (tp_val[]){ x, w }, &a);
  if (!y.node) return y;
  tp_name_as(y.node, n), y.node->var = n->var;
  return turned ? mk_swap(k, y, last - 1, last) : y;
}

static tp_val picked_rows(tp_mk k, const tp_node *n) {
  tp_attr a = { 0 };
  int axis;
  tp_val w = stored_as(k, n->in[0].src, &a.format, &axis);
  if (!w.node || axis != tp_rankof(w) - 1 || n->attr.axis == axis) return tp_none;
  tp_val rows = mk_op(k, TP_OP_INDEX_SELECT, 2, (tp_val[]){ w, n->in[1].src }, &n->attr);
  if (rows.node) tp_name_as(rows.node, n), rows.node->var = n->var;
  return rows.node ? mk_op(k, TP_OP_DEQUANTIZE, 1, &rows, &a) : rows;
}

bool tp_pass_blocks(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  tp_mk k = { .g = g, .err = err };
  bool any = false;
  for (int i = 0, n = g->nodes.n; i < n && !err->code; i++) {
    tp_node *x = g->nodes.v[i];
    tp_val y = tp_none;
    g->pos = x->pos;
    if (x->op == TP_OP_MATMUL) y = product_by_blocks(k, x, false, job->precise);
    if (x->op == TP_OP_MATMUL && !y.node) y = product_by_blocks(k, x, true, job->precise);
    if (x->op == TP_OP_INDEX_SELECT) y = picked_rows(k, x);
    if (y.node) tp_replace(g, tp_v(x), y);
    any |= y.node != NULL;
  }
  if (any) tp_graph_prune(g);
  return !err->code;
}
