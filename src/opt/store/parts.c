/* parts: a product reads what `cat` puts together at each point, from ranges that move, part by
 * part.
 *
 *   concat (p, read k {0 .. t + 1}) @ q  =>  concat (p @ q, read k {0 .. t + 1} @ q)
 *   s @ concat (p, read v {0 .. t + 1})  =>  s[.. n] @ p + s[n ..] @ read v {0 .. t + 1}
 *
 * The concatenation would be copied, whole, at each point; parts lie in memory already. An element
 * of a product is made of its own row and column, so the first rewriting keeps bits. The second
 * adds sums of parts: it is left out under `precise`, and for 16-bit floats, which would be rounded
 * more often. Between the product and the concatenation there may be views and elementwise
 * operators. */
#include "opt/opt.h"

typedef struct {
  tp_mk mk;
  const tp_node *cat;
} cat_parts;

static bool is_elementwise(const tp_node *n) {
  return tp_op_is_elementwise(n->op) && n->nout == 1 && n->nin > 0;
}

/* The axis of n's operand k that becomes n's axis, as it is; -1: none does. */
static int axis_below(const tp_node *n, int k, int axis) {
  const tp_out *o = &n->out[0], *x = tp_outof(n->in[k].src);
  int lead = o->rank - x->rank;
  if (n->op == TP_OP_PERMUTE) return n->attr.axes[axis];
  if (n->op == TP_OP_RESHAPE) {
    int i = 0, j = 0;
    while (i < axis && j < x->rank && o->shape[i] == x->shape[j]) i++, j++;
    if (i == axis && j < x->rank && o->shape[i] == x->shape[j]) return j;
    for (i = o->rank - 1, j = x->rank - 1; i > axis && j >= 0 && o->shape[i] == x->shape[j];)
      i--, j--;
    return i == axis && j >= 0 && o->shape[i] == x->shape[j] ? j : -1;
  }
  if (n->op != TP_OP_EXPAND && !is_elementwise(n)) return -1;
  return axis >= lead && o->shape[axis] == x->shape[axis - lead] ? axis - lead : -1;
}

/* The concatenation along v's axis; NULL: there is none. */
static const tp_node *cat_along(tp_val v, int axis) {
  const tp_node *n = v.node, *found = NULL;
  if (n->op == TP_OP_CONCAT) return n->attr.axis == axis ? n : NULL;
  if (n->op != TP_OP_RESHAPE && n->op != TP_OP_PERMUTE && n->op != TP_OP_EXPAND &&
      !is_elementwise(n))
    return NULL;
  for (int k = 0; k < n->nin && !found; k++) {
    int at = axis_below(n, k, axis);
    if (at >= 0) found = cat_along(n->in[k].src, at);
  }
  return found;
}

/* Does v show a range that moves with its point? */
static bool shows_range(tp_val v) {
  const tp_node *n = v.node;
  if (n->op == TP_OP_READ) {
    bool moves = false;
    for (int i = 0; i < tp_in(n, 0)->ndom; i++)
      for (int d = 0; n->attr.at[i].range && d < n->ndom; d++)
        moves |= tp_ix_mentions(n->attr.at[i].lo, n->dom[d]) ||
            tp_ix_mentions(n->attr.at[i].hi, n->dom[d]);
    return moves || shows_range(n->in[0].src);
  }
  return (is_elementwise(n) || tp_is_view(n)) && n->nin > 0 && shows_range(n->in[0].src);
}

static bool is_copied_at_points(const tp_node *cat) {
  bool any = false;
  for (int k = 0; k < cat->nin && !any; k++) any = shows_range(cat->in[k].src);
  return any;
}

static tp_ix *extent_of(const cat_parts *q, int k) {
  return mk_extent(q->cat->in[k].src, q->cat->attr.axis);
}

static tp_val slice_of(const cat_parts *q, tp_val v, int axis, int k) {
  tp_ix *lo = mk_int(q->mk, 0);
  for (int i = 0; i < k; i++) lo = tp_ix_add(lo, extent_of(q, i));
  return mk_slice(q->mk, v, axis, lo, extent_of(q, k), 1);
}

/* v along part k of its axis: made of that part of the concatenation, else a slice. */
static tp_val part_of(const cat_parts *q, tp_val v, int axis, int k) {
  tp_node *n = v.node;
  tp_ix *shape[TP_MAXRANK];
  tp_val in[TP_CONE_OPERANDS];
  if (n == q->cat && axis == n->attr.axis) return n->in[k].src;
  if (cat_along(v, axis) != q->cat || n->nin > TP_CONE_OPERANDS) return slice_of(q, v, axis, k);
  for (int j = 0; j < n->nin; j++) {
    int at = axis_below(n, j, axis);
    in[j] = at < 0 ? n->in[j].src : part_of(q, n->in[j].src, at, k);
    if (!in[j].node) return tp_none;
  }
  TP_COPYN(shape, n->out[0].shape, n->out[0].rank);
  shape[axis] = extent_of(q, k);
  q->mk.g->pos = n->pos;
  tp_val y = n->op == TP_OP_RESHAPE ? mk_reshape(q->mk, in[0], n->out[0].rank, shape)
      : n->op == TP_OP_EXPAND       ? mk_expand(q->mk, in[0], n->out[0].rank, shape)
                                    : mk_op(q->mk, n->op, n->nin, in, &n->attr);
  if (y.node) tp_name_as(y.node, n);
  return y;
}

/* The product of part k, along axis `axis` of operand o. */
static tp_val product_by_part(const cat_parts *q, const tp_node *n, int o, int axis, int k) {
  int rank = tp_rankof(n->in[0].src),
      other = axis < rank - 2      ? axis
      : o == 0 && axis == rank - 1 ? rank - 2
      : o == 1 && axis == rank - 2 ? rank - 1
                                   : -1;
  tp_val in[2], x = n->in[1 - o].src;
  in[o] = part_of(q, n->in[o].src, axis, k);
  in[1 - o] = other < 0 || (axis < rank - 2 && tp_is_number(mk_extent(x, axis), 1))
      ? x
      : slice_of(q, x, other, k);
  if (!in[0].node || !in[1].node) return tp_none;
  q->mk.g->pos = n->pos;
  tp_val y = mk_op(q->mk, TP_OP_MATMUL, 2, in, NULL);
  if (y.node) tp_name_as(y.node, n);
  return y;
}

static tp_val by_parts(const cat_parts *q, const tp_node *n, int o, int axis, bool sums) {
  tp_val part[TP_CONE_OPERANDS], y = tp_none;
  for (int k = 0; k < q->cat->nin; k++) {
    part[k] = product_by_part(q, n, o, axis, k);
    if (!part[k].node) return tp_none;
    y = k && sums ? mk_add(q->mk, y, part[k]) : part[k];
  }
  if (!sums) y = mk_concat(q->mk, q->cat->nin, part, axis);
  if (y.node) tp_name_as(y.node, n);
  return y;
}

/* Is the concatenation copied at each point, and may the product read its parts? */
static bool parts_gain(const tp_work *job, const tp_node *n, const tp_node *cat, bool sums) {
  tp_dtype d = n->out[0].dtype;
  return cat && cat->nin <= TP_CONE_OPERANDS && is_copied_at_points(cat) &&
      !(sums && tp_dtype_float(d) && (job->precise || tp_half(d)));
}

static bool rewrite_product(const tp_work *job, cat_parts *q, const tp_node *n) {
  int rank = n->out[0].rank;
  for (int o = 0; o < 2; o++)
    for (int axis = 0; axis < rank; axis++) {
      bool sums = axis == rank - 1 - o;
      q->cat = cat_along(n->in[o].src, axis);
      if (!parts_gain(job, n, q->cat, sums)) continue;
      tp_val y = by_parts(q, n, o, axis, sums);
      if (y.node)
        tp_rewrite(q->mk.g, tp_v((tp_node *)n), y, "parts",
            sums ? "x @ cat(a, b) => x @ a + x @ b" : "cat(a, b) @ x => cat(a @ x, b @ x)");
      return y.node;
    }
  return true;
}

bool tp_pass_parts(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  cat_parts q = { .mk = { .g = g, .err = err } };
  for (int i = 0; i < g->nodes.n; i++)
    if (g->nodes.v[i]->op == TP_OP_MATMUL && !rewrite_product(job, &q, g->nodes.v[i])) return false;
  tp_graph_prune(g);
  return true;
}
