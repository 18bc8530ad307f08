/* Inference of contraction, convolution, movement, gathers and sort. */
#include "graph/core.h"

static bool one_dtype(const tp_node *n, int a, int b, tp_error *err) {
  return tp_inof(n, a)->dtype == tp_inof(n, b)->dtype ||
      tp_bad_dtype(n, err, "convert one with :to");
}

/* The extents' equality, on the way to a result of n. */
static bool eq(tp_graph *g, const tp_node *n, const tp_ix *a, const tp_ix *b) {
  return tp_extent_eq(g, a, b, tp_ops[n->op].text);
}

static bool axis_ok(const tp_node *n, int rank, tp_error *err) {
  int axis = n->attr.axis;
  return (axis >= 0 && axis < rank) || tp_bad_shape(n, err, "axis %d of rank %d", axis, rank);
}

static void shape_of(tp_val v, const tp_ix **shape) {
  memcpy(shape, tp_outof(v)->shape, sizeof *shape * (size_t)tp_rankof(v));
}

/* ---- matmul ---- */

bool tp_infer_matmul(tp_graph *g, tp_node *n, tp_error *err) {
  const tp_out *a = tp_inof(n, 0), *b = tp_inof(n, 1);
  const tp_ix *shape[TP_MAXRANK];
  if (!one_dtype(n, 0, 1, err)) return false;
  if (a->dtype == TP_BOOL) return tp_bad_dtype(n, err, "convert with :to(\"f32\")");
  if (a->rank < 2 || a->rank != b->rank)
    return tp_bad_shape(n, err, "needs two of one rank, at least 2");
  int r = a->rank, lead = r - 2;
  if (!eq(g, n, a->shape[r - 1], b->shape[r - 2]))
    return tp_bad_shape(n, err, "inner sizes differ");
  memcpy(shape, a->shape, sizeof *shape * (size_t)lead);
  if (!tp_broadcast(g, n, &lead, shape, lead, b->shape))
    return tp_bad_shape(n, err, "leading axes do not broadcast");
  shape[r - 2] = a->shape[r - 2];
  shape[r - 1] = b->shape[r - 1];
  return tp_out1(g, n, a->dtype, r, shape);
}

/* ---- convolution ---- */

static bool some(tp_graph *g, const tp_node *n, const tp_ix *e, int64_t least) {
  return tp_extent_least(g, e, least, tp_ops[n->op].text);
}

static bool conv_attrs(const tp_node *n, int rank, tp_error *err) {
  const tp_attr *a = &n->attr;
  if (rank < 4 || tp_inof(n, 1)->rank != rank || a->nix != rank || a->naxes != 3 * (rank - 3))
    return tp_bad_shape(n, err, "needs three of one rank, at least 4");
  for (int i = 0; i < a->naxes; i++)
    if (a->axes[i] < (i % 3 != 2))
      return tp_bad_shape(n, err, "stride and dilation are at least 1, padding at least 0");
  return true;
}

bool tp_infer_conv(tp_graph *g, tp_node *n, tp_error *err) {
  const int *role = tp_conv_roles(n->op);
  const tp_out *a = tp_inof(n, 0), *b = tp_inof(n, 1);
  const tp_ix *const *s[3];
  if (!one_dtype(n, 0, 1, err)) return false;
  if (a->dtype == TP_BOOL) return tp_bad_dtype(n, err, "convert with :to(\"f32\")");
  if (!conv_attrs(n, a->rank, err)) return false;
  s[role[0]] = a->shape;
  s[role[1]] = b->shape;
  s[role[2]] = n->attr.ix;
  if (!eq(g, n, s[TP_CX][0], s[TP_CY][0])) return tp_bad_shape(n, err, "batches differ");
  if (!eq(g, n, s[TP_CX][1], s[TP_CW][0]) || !eq(g, n, s[TP_CX][1], s[TP_CY][1]))
    return tp_bad_shape(n, err, "groups differ");
  if (!eq(g, n, s[TP_CX][2], s[TP_CW][2]) || !eq(g, n, s[TP_CW][1], s[TP_CY][2]))
    return tp_bad_shape(n, err, "channels differ");
  for (int i = 3; i < a->rank; i++)
    if (!some(g, n, n->attr.ix[i], n->op == TP_OP_CONV))
      return tp_bad_shape(n, err, "a size of the result, %s, may be below %d",
          tp_ix_str(g->ix, n->attr.ix[i]), n->op == TP_OP_CONV);
  return tp_out1(g, n, a->dtype, a->rank, n->attr.ix);
}

/* ---- movement ---- */

static const tp_ix *product(tp_graph *g, int n, const tp_ix *const *shape) {
  const tp_ix *p = tp_ix_const(g->ix, 1);
  for (int i = 0; i < n; i++) p = tp_ix_mul(g->ix, p, shape[i]);
  return p;
}

static bool reshape(tp_graph *g, tp_node *n, const tp_out *x, tp_error *err) {
  const tp_attr *a = &n->attr;
  if (!tp_rank_ok(n, a->nix, err)) return false;
  if (!eq(g, n, product(g, x->rank, x->shape), product(g, a->nix, a->ix)))
    return tp_bad_shape(
        n, err, "as many elements are not in (%s)", tp_extents(g, n->attr.nix, n->attr.ix));
  return tp_out1(g, n, x->dtype, a->nix, a->ix);
}

static bool permute(tp_graph *g, tp_node *n, const tp_out *x, tp_error *err) {
  const tp_ix *shape[TP_MAXRANK];
  unsigned seen = 0;
  for (int i = 0; i < n->attr.naxes && i < x->rank; i++) {
    int axis = n->attr.axes[i];
    if (axis < 0 || axis >= x->rank)
      return tp_bad_shape(n, err, "axis %d of rank %d", axis, x->rank);
    seen |= 1u << axis;
    shape[i] = x->shape[axis];
  }
  if (n->attr.naxes != x->rank || seen != (1u << x->rank) - 1)
    return tp_bad_shape(n, err, "every axis must be named once");
  return tp_out1(g, n, x->dtype, x->rank, shape);
}

static bool expand(tp_graph *g, tp_node *n, const tp_out *x, tp_error *err) {
  const tp_attr *a = &n->attr;
  if (!tp_rank_ok(n, a->nix, err)) return false;
  int grow = a->nix - x->rank;
  bool fits = grow >= 0;
  for (int i = 0; fits && i < x->rank; i++)
    fits = tp_is_number(x->shape[i], 1) || eq(g, n, x->shape[i], a->ix[grow + i]);
  return fits
      ? tp_out1(g, n, x->dtype, a->nix, a->ix)
      : tp_bad_shape(n, err, "does not expand to (%s) (only a literal 1 or a missing axis grows)",
            tp_extents(g, n->attr.nix, n->attr.ix));
}

/* Behind the last of n elements from lo on; INT64_MAX: beyond 64 bits. */
static int64_t behind_last(int64_t lo, int64_t n, int64_t step) {
  int64_t at;
  bool beyond = __builtin_mul_overflow(n - 1, step, &at) || __builtin_add_overflow(at, lo, &at) ||
      at == INT64_MAX;
  return beyond ? INT64_MAX : at + 1;
}

/* Of constants; legal.c judges what is symbolic. */
static bool slice(tp_graph *g, tp_node *n, const tp_out *x, tp_error *err) {
  const tp_attr *a = &n->attr;
  const tp_ix *shape[TP_MAXRANK];
  int64_t lo, extent, size;
  if (!axis_ok(n, x->rank, err)) return false;
  if (a->step < 1)
    return tp_fail(err, TP_E_OPTION, n->pos,
        "option: the step of a slice is %lld, must be at least 1", (long long)a->step);
  bool clo = tp_ix_is_const(a->ix[0], &lo), cext = tp_ix_is_const(a->ix[1], &extent),
       csize = tp_ix_is_const(x->shape[a->axis], &size);
  if ((clo && lo < 0) ||
      (clo && cext && csize && extent > 0 &&
          (lo >= size || extent - 1 > (size - 1 - lo) / a->step)))
    return tp_fail(err, TP_E_DOMAIN, n->pos,
        "domain: elements %lld .. %lld of axis %d of %s are outside 0 .. %s%s", (long long)lo,
        (long long)behind_last(lo, cext ? extent : 1, a->step), a->axis, tp_called(g, tp_in(n, 0)),
        csize ? tp_ix_str(g->ix, x->shape[a->axis]) : "its extent",
        lo < 0 ? " (indices do not wrap)" : "");
  shape_of(n->in[0].src, shape);
  shape[a->axis] = a->ix[1];
  return tp_out1(g, n, x->dtype, x->rank, shape);
}

static bool flip(tp_graph *g, tp_node *n, const tp_out *x, tp_error *err) {
  return axis_ok(n, x->rank, err) && tp_out1(g, n, x->dtype, x->rank, x->shape);
}

static bool pad(tp_graph *g, tp_node *n, const tp_out *x, tp_error *err) {
  const tp_attr *a = &n->attr;
  const tp_ix *shape[TP_MAXRANK];
  int64_t v;
  if (!axis_ok(n, x->rank, err)) return false;
  for (int i = 0; i < 2; i++)
    if (tp_ix_is_const(a->ix[i], &v) && v < 0)
      return tp_bad_shape(n, err, "padding by %lld: use slice to cut", (long long)v);
  shape_of(n->in[0].src, shape);
  shape[a->axis] = tp_ix_add(g->ix, shape[a->axis], tp_ix_add(g->ix, a->ix[0], a->ix[1]));
  return tp_out1(g, n, x->dtype, x->rank, shape);
}

/* The last element that windows see lies inside. Of constants; legal.c judges what is symbolic. */
static bool windows(
    const tp_node *n, const tp_ix *extent, const tp_ix *count, const tp_ix *size, tp_error *err) {
  int64_t e, c, s;
  if (n->attr.step < 1 || n->attr.dilation < 1)
    return tp_bad_shape(n, err, "step and dilation are at least 1");
  if (!tp_ix_is_const(extent, &e) || !tp_ix_is_const(count, &c) || !tp_ix_is_const(size, &s) ||
      c < 1 || s < 1)
    return true;
  return behind_last(behind_last(0, c, n->attr.step) - 1, s, n->attr.dilation) <= e ||
      tp_bad_shape(n, err, "%lld windows of %lld are not in %lld elements", (long long)c,
          (long long)s, (long long)e);
}

static bool unfold(tp_graph *g, tp_node *n, const tp_out *x, tp_error *err) {
  const tp_ix *shape[TP_MAXRANK + 1];
  int axis = n->attr.axis;
  if (!axis_ok(n, x->rank, err) || !tp_rank_ok(n, x->rank + 1, err) ||
      !windows(n, x->shape[axis], n->attr.ix[0], n->attr.ix[1], err))
    return false;
  if (!some(g, n, n->attr.ix[0], 1))
    return tp_bad_shape(
        n, err, "there may be no window: %s of them", tp_ix_str(g->ix, n->attr.ix[0]));
  shape_of(n->in[0].src, shape);
  memmove(shape + axis + 2, shape + axis + 1, sizeof *shape * (size_t)(x->rank - axis - 1));
  memcpy(shape + axis, n->attr.ix, 2 * sizeof *shape);
  return tp_out1(g, n, x->dtype, x->rank + 1, shape);
}

static bool fold(tp_graph *g, tp_node *n, const tp_out *x, tp_error *err) {
  const tp_ix *shape[TP_MAXRANK];
  int axis = n->attr.axis;
  if (!axis_ok(n, x->rank - 1, err) ||
      !windows(n, n->attr.ix[0], x->shape[axis], x->shape[axis + 1], err))
    return false;
  if (x->dtype == TP_BOOL) return tp_bad_dtype(n, err, "convert with :to(\"i64\")");
  shape_of(n->in[0].src, shape);
  memmove(shape + axis + 1, shape + axis + 2, sizeof *shape * (size_t)(x->rank - axis - 2));
  shape[axis] = n->attr.ix[0];
  return tp_out1(g, n, x->dtype, x->rank - 1, shape);
}

static bool concat(tp_graph *g, tp_node *n, const tp_out *x, tp_error *err) {
  const tp_ix *shape[TP_MAXRANK];
  int axis = n->attr.axis;
  if (!axis_ok(n, x->rank, err)) return false;
  shape_of(n->in[0].src, shape);
  for (int k = 1; k < n->nin; k++) {
    const tp_out *y = tp_inof(n, k);
    if (!one_dtype(n, 0, k, err)) return false;
    if (y->rank != x->rank) return tp_bad_shape(n, err, "ranks differ");
    for (int i = 0; i < x->rank; i++)
      if (i != axis && !eq(g, n, shape[i], y->shape[i]))
        return tp_bad_shape(n, err, "sizes of axis %d differ", i);
    shape[axis] = tp_ix_add(g->ix, shape[axis], y->shape[axis]);
  }
  return tp_out1(g, n, x->dtype, x->rank, shape);
}

bool tp_infer_move(tp_graph *g, tp_node *n, tp_error *err) {
  const tp_out *x = tp_inof(n, 0);
  switch (n->op) {
  case TP_OP_RESHAPE: return reshape(g, n, x, err);
  case TP_OP_PERMUTE: return permute(g, n, x, err);
  case TP_OP_EXPAND: return expand(g, n, x, err);
  case TP_OP_SLICE: return slice(g, n, x, err);
  case TP_OP_FLIP: return flip(g, n, x, err);
  case TP_OP_PAD: return pad(g, n, x, err);
  case TP_OP_UNFOLD: return unfold(g, n, x, err);
  case TP_OP_FOLD: return fold(g, n, x, err);
  default: return concat(g, n, x, err);
  }
}

/* ---- gathers ---- */

static bool index_dtype(const tp_node *n, tp_error *err) {
  return tp_inof(n, 1)->dtype == TP_I64 ||
      tp_bad_dtype(n, err, "indices must be i64: convert with :to(\"i64\")");
}

/* x's shape with k's in place of attr.axis; gives the rank. */
static int replaced(const tp_node *n, const tp_out *x, const tp_out *k, const tp_ix **shape) {
  int rank = 0;
  for (int i = 0; i < x->rank; i++) {
    if (i != n->attr.axis) shape[rank++] = x->shape[i];
    else if (k->rank) shape[rank++] = k->shape[0];
  }
  return rank;
}

static bool index_op(tp_graph *g, tp_node *n, tp_error *err) {
  const tp_out *x = tp_inof(n, 0), *k = tp_inof(n, 1);
  const tp_ix *shape[TP_MAXRANK];
  if (k->rank > 1) return tp_bad_shape(n, err, "indices must have rank 0 or 1");
  int rank = replaced(n, x, k, shape);
  if (n->op == TP_OP_INDEX_SELECT) return tp_out1(g, n, x->dtype, rank, shape);
  const tp_out *src = tp_inof(n, 2);
  bool fits = src->rank == rank;
  for (int i = 0; fits && i < rank; i++) fits = eq(g, n, src->shape[i], shape[i]);
  return fits ? one_dtype(n, 0, 2, err) && tp_out1(g, n, x->dtype, x->rank, x->shape)
              : tp_bad_shape(n, err, "what is added does not have the indexed shape");
}

/* a <= b: known, or left to the call. */
static bool within(tp_graph *g, const tp_node *n, const tp_ix *a, const tp_ix *b) {
  return tp_ix_prove_ge0(g->ix, tp_ix_sub(g->ix, b, a), n->ndom, n->dom) ||
      eq(g, n, tp_ix_min(g->ix, a, b), a);
}

/* torch's rule: indices are no larger than x but along the axis, and no larger than what is added.
 */
static bool gather_op(tp_graph *g, tp_node *n, tp_error *err) {
  const tp_out *x = tp_inof(n, 0), *k = tp_inof(n, 1), *src = n->nin > 2 ? tp_inof(n, 2) : NULL;
  bool fits = k->rank == x->rank && (!src || src->rank == x->rank);
  for (int i = 0; fits && i < x->rank; i++)
    fits = (i == n->attr.axis || within(g, n, k->shape[i], x->shape[i])) &&
        (!src || within(g, n, k->shape[i], src->shape[i]));
  if (!fits)
    return tp_bad_shape(n, err,
        "indices must have the tensor's rank and no larger sizes but along axis %d", n->attr.axis);
  return src ? one_dtype(n, 0, 2, err) && tp_out1(g, n, x->dtype, x->rank, x->shape)
             : tp_out1(g, n, x->dtype, k->rank, k->shape);
}

/* Operands: rows, which matrix they are multiplied by, the matrices. */
static bool matmul_at(tp_graph *g, tp_node *n, tp_error *err) {
  const tp_out *x = tp_inof(n, 0), *k = tp_inof(n, 1), *w = tp_inof(n, 2);
  const tp_ix *shape[TP_MAXRANK];
  bool fits = x->rank >= 2 && k->rank == x->rank - 2 && w->rank == 3 &&
      eq(g, n, x->shape[x->rank - 1], w->shape[1]);
  for (int i = 0; fits && i < k->rank; i++) fits = eq(g, n, k->shape[i], x->shape[i]);
  if (!fits) return tp_bad_shape(n, err, "rows, indices and matrices do not fit");
  for (int i = 0; i < x->rank; i++) shape[i] = i < x->rank - 1 ? x->shape[i] : w->shape[2];
  return one_dtype(n, 0, 2, err) && tp_out1(g, n, x->dtype, x->rank, shape);
}

bool tp_infer_gather(tp_graph *g, tp_node *n, tp_error *err) {
  if (!axis_ok(n, tp_inof(n, 0)->rank, err) || !index_dtype(n, err)) return false;
  if (n->op == TP_OP_MATMUL_AT) return matmul_at(g, n, err);
  return n->op == TP_OP_GATHER || n->op == TP_OP_SCATTER_ADD || n->op == TP_OP_PUT
      ? gather_op(g, n, err)
      : index_op(g, n, err);
}

bool tp_infer_sort(tp_graph *g, tp_node *n, tp_error *err) {
  const tp_out *x = tp_inof(n, 0);
  if (!axis_ok(n, x->rank, err)) return false;
  tp_outs(g, n, 2);
  tp_out_set(g, n, 0, x->dtype, x->rank, x->shape);
  tp_out_set(g, n, 1, TP_I64, x->rank, x->shape);
  return true;
}
