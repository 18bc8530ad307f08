/* rows: a choice that changes a part of a carried state writes that part.
 *
 *   h[t] = where(index along an axis == k, v, h[t-1])   =>   h[t] = put(h[t-1], axis, k, v where the index is k)
 *
 * so that it costs what changes where h is updated in place (poly/stmts.c). The comparison may stand either way round, as `ne`
 * and `lnot` with the sides swapped, under `land` with conditions that do not vary along the axis, and behind views. A k that
 * no index equals writes nothing. Only states whose branch the choice is: elsewhere the choice fuses with its neighbours. */
#include "opt/opt.h"
#include "graph/mk.h"
#include <math.h>

/* Where a condition holds: at the index k of the axis that is number `end` from the end; `no`: everywhere but there. k has the
 * condition's shape, with 1 for that axis. end 0: it is no such condition. */
typedef struct row_place { int end; tp_val k; bool no; } row_place;

enum { CONDITION_DEPTH = 8 };                             /* operators of a condition that are looked through, one inside the other */
static const row_place nowhere = { 0 };

static tp_val arg(tp_val v, int k) { return v.node->in[k].src; }

static bool is_one(tp_val v, int axis) { return tp_is_number(mk_extent(v, axis), 1); }

/* Does v have no such axis, or one of extent 1? */
static bool is_flat(tp_val v, int end) { return tp_rankof(v) < end || is_one(v, tp_rankof(v) - end); }

/* The largest n for which 0 .. n - 1 are numbers of the dtype, each its own. */
static double counts_to(tp_dtype d) {
  switch (d) {
    case TP_BOOL: return 2;
    case TP_U8: case TP_BF16: return 256;
    case TP_F16: return 2048;
    case TP_F32: return 1 << 24;
    case TP_I32: return 1u << 31;
    case TP_F64: return 9007199254740992.0;
    default: return INFINITY;
  }
}

static bool is_exact(tp_val v, int end) {
  int64_t n;
  double most = counts_to(tp_dtypeof(v));
  return most == INFINITY || (tp_ix_is_const(mk_extent(v, tp_rankof(v) - end), &n) && (double)n <= most);
}

/* The axis of y = reshape(x), from the end, that x's axis became when axes of extent 1 came and went; 0: it did more. */
static int same_axis(tp_val x, tp_val y, int end) {
  int i = 0, j = 0, found = 0, rx = tp_rankof(x), ry = tp_rankof(y);
  for (;; i++, j++) {
    while (i < rx && is_one(x, i)) i++;
    while (j < ry && is_one(y, j)) j++;
    if (i == rx || j == ry) return i == rx && j == ry ? found : 0;
    if (mk_extent(x, i) != mk_extent(y, j)) return 0;
    if (i == rx - end) found = ry - j;
  }
}

static int moved_axis(tp_val v, int end) {
  tp_val x = arg(v, 0);
  int rank = tp_rankof(v);
  switch (end ? v.node->op : TP_NOP) {
    case TP_OP_DETACH: return end;
    case TP_OP_RESHAPE: return same_axis(x, v, end);
    case TP_OP_EXPAND: return mk_extent(x, tp_rankof(x) - end) == mk_extent(v, rank - end) ? end : 0;
    case TP_OP_PERMUTE:
      for (int i = 0; i < rank; i++)
        if (v.node->attr.axes[i] == rank - end) return rank - i;
      return 0;
    default: return 0;
  }
}

/* The axis, from the end, whose index v is everywhere; 0: none. */
static int index_axis(tp_val v) {
  if (v.node->op == TP_OP_IOTA) return tp_rankof(v) - v.node->attr.axis;
  if (v.node->op != TP_OP_CAST) return v.node->nin == 1 && tp_ops[v.node->op].batch == TP_BATCH_V && v.node->op != TP_OP_READ ? moved_axis(v, index_axis(arg(v, 0))) : 0;
  int end = index_axis(arg(v, 0));
  return end && is_exact(v, end) ? end : 0;
}

/* x spread over the shape of `like`, with 1 for the axis. */
static tp_val spread(tp_mk mk, tp_val x, tp_val like, int end) {
  const tp_ix *shape[TP_MAXRANK];
  int rank = tp_rankof(like);
  for (int i = 0; i < rank; i++) shape[i] = i == rank - end ? mk_int(mk, 1) : mk_extent(like, i);
  return mk_expand(mk, x, rank, shape);
}

/* The index that y is; -1 if it is none. An integer that becomes a float is meant itself: beyond what the axis has, rounding leaves it beyond. */
static tp_val as_index(tp_mk mk, tp_val y) {
  if (y.node->op == TP_OP_CAST && tp_dtype_float(tp_dtypeof(y)) && !tp_dtype_float(tp_dtypeof(arg(y, 0)))) y = arg(y, 0);
  if (!tp_dtype_float(tp_dtypeof(y))) return mk_cast(mk, y, TP_I64);
  tp_val whole = mk_bin(mk, TP_OP_EQ, y, mk_un(mk, TP_OP_FLOOR, y));
  return mk_select(mk, whole, mk_cast(mk, y, TP_I64), mk_num(mk, -1, TP_I64));
}

static row_place compared(tp_mk mk, tp_val c) {
  for (int s = 0; s < 2; s++) {
    int end = index_axis(arg(c, s));
    if (end && is_flat(arg(c, 1 - s), end)) return (row_place){ end, spread(mk, as_index(mk, arg(c, 1 - s)), c, end), c.node->op == TP_OP_NE };
  }
  return nowhere;
}

static row_place find_place(tp_mk mk, tp_val c, int depth);

static row_place also(tp_mk mk, tp_val c, int depth) {
  for (int s = 0; s < 2; s++) {
    row_place p = find_place(mk, arg(c, s), depth);
    if (!p.end || p.no || !is_flat(arg(c, 1 - s), p.end)) continue;
    p.k = spread(mk, mk_select(mk, arg(c, 1 - s), p.k, mk_num(mk, -1, TP_I64)), c, p.end);
    return p;
  }
  return nowhere;
}

static row_place seen(tp_mk mk, tp_val c, int depth) {
  row_place p = find_place(mk, arg(c, 0), depth);
  int end = moved_axis(c, p.end);
  if (!end) return nowhere;
  const tp_ix *shape[TP_MAXRANK];
  for (int i = 0; i < tp_rankof(c); i++) shape[i] = i == tp_rankof(c) - end ? mk_int(mk, 1) : mk_extent(c, i);
  if (c.node->op == TP_OP_RESHAPE) p.k = mk_reshape(mk, p.k, tp_rankof(c), shape);
  else if (c.node->op == TP_OP_EXPAND) p.k = mk_expand(mk, p.k, tp_rankof(c), shape);
  else if (c.node->op == TP_OP_PERMUTE) p.k = mk_permute(mk, p.k, c.node->attr.axes);
  p.end = end;
  return p;
}

static row_place find_place(tp_mk mk, tp_val c, int depth) {
  switch (depth-- > 0 ? c.node->op : TP_NOP) {
    case TP_OP_EQ: case TP_OP_NE: return compared(mk, c);
    case TP_OP_LAND: return also(mk, c, depth);
    case TP_OP_LNOT: {
      row_place p = find_place(mk, arg(c, 0), depth);
      p.no = !p.no;
      return p;
    }
    case TP_OP_DETACH: case TP_OP_RESHAPE: case TP_OP_EXPAND: case TP_OP_PERMUTE: return seen(mk, c, depth);
    default: return nowhere;
  }
}

/* ---- the state ---- */

/* What v shows point by point. */
static tp_val shown(tp_val v) {
  for (; v.node->op == TP_OP_DETACH || v.node->op == TP_OP_READ; v = arg(v, 0))
    for (int d = 0; v.node->op == TP_OP_READ && d < arg(v, 0).node->ndom; d++)
      if (v.node->attr.at[d].range) return v;
  return v;
}

/* Is x, as it lies, a declared tensor of which n is a branch? */
static bool is_state_of(tp_val x, const tp_node *n) {
  const tp_node *m = shown(x).node;
  for (int k = 0; m->op == TP_OP_MERGE && k < m->nin; k++)
    if (shown(m->in[k].src).node == n) return tp_same_type(tp_outof(x), &n->out[0]);
  return false;
}

/* What is written: x at the places k. */
static tp_val written(tp_mk mk, tp_val x, tp_val k, const tp_node *n, int end) {
  tp_val all = { (tp_node *)n, 0 };
  if (is_flat(x, end)) return spread(mk, x, all, end);
  const tp_ix *last = tp_ix_addc(mk.g->ix, mk_extent(all, tp_rankof(all) - end), -1);
  tp_val at = mk_binc(mk, TP_OP_MAXIMUM, mk_bin(mk, TP_OP_MINIMUM, k, mk_size(mk, last, TP_I64)), 0);
  x = mk_expand(mk, x, n->out[0].rank, n->out[0].shape);
  return mk_op(mk, TP_OP_GATHER, 2, (tp_val[]){ x, at }, &(tp_attr){ .axis = n->out[0].rank - end });
}

/* A part can be taken of an axis that is known to have elements. */
static bool has_elements(const tp_node *n, int end) {
  int64_t extent;
  return tp_ix_is_const(n->out[0].shape[n->out[0].rank - end], &extent) && extent > 0;
}

static bool put_row(tp_mk mk, tp_node *n) {
  bool second = is_state_of(n->in[2].src, n);
  if (!second && !is_state_of(n->in[1].src, n)) return true;
  mk.g->pos = n->pos;
  row_place p = find_place(mk, n->in[0].src, CONDITION_DEPTH);
  if (!p.end) return true;
  int base = p.no ? 1 : 2;
  tp_val x = n->in[3 - base].src;
  if (!is_state_of(n->in[base].src, n) || (!is_flat(x, p.end) && !has_elements(n, p.end))) return true;
  tp_val k = spread(mk, p.k, tp_v(n), p.end);
  tp_val y = mk_op(mk, TP_OP_PUT, 3, (tp_val[]){ n->in[base].src, k, written(mk, x, k, n, p.end) }, &(tp_attr){ .axis = n->out[0].rank - p.end });
  if (!y.node) return false;
  y.node->name = n->name;
  y.node->what = n->what;
  tp_replace(mk.g, tp_v(n), y);
  return true;
}

bool tp_put_rows(tp_graph *g, tp_error *err) {
  int n0 = g->nodes.n;
  for (int i = 0; i < n0; i++)
    if (g->nodes.v[i]->op == TP_OP_SELECT && !put_row((tp_mk){ g, err }, g->nodes.v[i])) return false;
  tp_graph_prune(g);
  return true;
}
