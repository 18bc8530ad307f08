/* The builder's vocabulary: operators with the language's promotions, and small compositions. NULL
 * in, NULL out: an operand without a node gives a result without one, the error having been told
 * where it arose. */
#include "graph/core.h"
#include "graph/methods.h"

static const tp_val nothing;

static tp_val built(tp_node *n) { return n ? tp_v(n) : nothing; }

static tp_val build1(tp_graph *g, tp_op op, tp_val x, const tp_attr *a, tp_error *err) {
  return x.node ? built(tp_build(g, op, 1, &x, a, err)) : nothing;
}

static tp_val bad(tp_graph *g, tp_val x, tp_error *err, const char *op, const char *why) {
  tp_buf b;
  tp_buf_init(&b);
  tp_shape_print(&b, x);
  tp_fail(err, TP_E_SHAPE, g->pos, "shape: bad operand of '%s': %s: %s", op, why, b.s);
  tp_buf_free(&b);
  return nothing;
}

/* ---- numbers ---- */

tp_val tp_full(
    tp_graph *g, double v, tp_dtype d, int rank, const tp_ix *const *shape, tp_error *err) {
  tp_node over = { 0 };
  for (int i = 0; i < rank; i++) tp_dom_add(g, &over, shape[i]);
  tp_attr a = {
    .dtype = d, .f = { v }, .nix = rank, .ix = shape, .ndom = over.ndom, .dom = over.dom
  };
  return built(tp_build(g, TP_OP_FILL, 0, NULL, &a, err));
}

tp_val tp_number(tp_graph *g, double v, tp_dtype d, tp_error *err) {
  return tp_full(g, v, d, 0, NULL, err);
}

tp_val tp_ixvalue(tp_graph *g, const tp_ix *e, tp_error *err) {
  tp_attr a = { .nix = 1, .ix = &e };
  return built(tp_build(g, TP_OP_VALUE, 0, NULL, &a, err));
}

/* ---- elementwise ---- */

tp_val tp_cast(tp_graph *g, tp_val x, tp_dtype d, tp_error *err) {
  if (!x.node || tp_dtypeof(x) == d) return x;
  return build1(g, TP_OP_CAST, x, &(tp_attr){ .dtype = d }, err);
}

tp_val tp_un(tp_graph *g, tp_op op, tp_val x, tp_error *err) {
  if (!x.node) return x;
  tp_cls cls = tp_ops[op].cls;
  if (cls == TP_CLS_UNF && !tp_dtype_float(tp_dtypeof(x))) x = tp_cast(g, x, TP_F32, err);
  if (cls == TP_CLS_UN && op != TP_OP_DETACH && tp_dtypeof(x) == TP_BOOL)
    x = tp_cast(g, x, TP_I64, err);
  return build1(g, op, x, NULL, err);
}

/* Arithmetic takes bool for i64; minimum, maximum and comparisons do not mind it. */
static tp_dtype common(tp_op op, tp_dtype a, tp_dtype b) {
  tp_dtype d = tp_dtype_promote(a, b);
  bool arithmetic = tp_ops[op].cls == TP_CLS_BIN && op != TP_OP_MINIMUM && op != TP_OP_MAXIMUM;
  if (op == TP_OP_DIV && !tp_dtype_float(d)) return TP_F32;
  return arithmetic && d == TP_BOOL ? TP_I64 : d;
}

tp_val tp_bin(tp_graph *g, tp_op op, tp_val a, tp_val b, tp_error *err) {
  if (!a.node || !b.node) return nothing;
  tp_val v[2] = { a, b };
  if (tp_ops[op].cls != TP_CLS_LOG) {
    tp_dtype d = common(op, tp_dtypeof(a), tp_dtypeof(b));
    v[0] = tp_cast(g, a, d, err);
    v[1] = tp_cast(g, b, d, err);
  }
  return v[0].node && v[1].node ? built(tp_build(g, op, 2, v, NULL, err)) : nothing;
}

tp_val tp_select(tp_graph *g, tp_val c, tp_val a, tp_val b, tp_error *err) {
  if (!c.node || !a.node || !b.node) return nothing;
  tp_dtype d = tp_dtype_promote(tp_dtypeof(a), tp_dtypeof(b));
  tp_val v[3] = { c, tp_cast(g, a, d, err), tp_cast(g, b, d, err) };
  return v[1].node && v[2].node ? built(tp_build(g, TP_OP_SELECT, 3, v, NULL, err)) : nothing;
}

tp_val tp_detach(tp_graph *g, tp_val x, tp_error *err) {
  return build1(g, TP_OP_DETACH, x, NULL, err);
}

/* ---- axes ---- */

/* axis counted from 0, negative ones from the end, of n; -1 after an error. */
static int axis_in(tp_graph *g, tp_val x, int axis, int n, const char *op, tp_error *err) {
  if (axis < -n || axis >= n) {
    bad(g, x, err, op, tp_printf(&g->arena, "axis %d of rank %d", axis, tp_rankof(x)));
    return -1;
  }
  return axis < 0 ? axis + n : axis;
}

/* Axes counted from 0, ascending; false: one is out of range or named twice. */
static bool sorted_axes(
    tp_graph *g, tp_val x, int n, const int *axes, int *out, const char *op, tp_error *err) {
  bool seen[TP_MAXRANK] = { 0 };
  int m = 0;
  for (int i = 0; i < n; i++) {
    int a = axis_in(g, x, axes[i], tp_rankof(x), op, err);
    if (a < 0) return false;
    if (seen[a])
      return bad(g, x, err, op, tp_printf(&g->arena, "axis %d is named twice", axes[i])).node;
    seen[a] = true;
  }
  for (int a = 0; a < tp_rankof(x); a++)
    if (seen[a]) out[m++] = a;
  return true;
}

tp_val tp_reduce(
    tp_graph *g, tp_op op, tp_val x, int naxes, const int *axes, bool keepdim, tp_error *err) {
  int sorted[TP_MAXRANK];
  if (!x.node || !sorted_axes(g, x, naxes, axes, sorted, tp_ops[op].text, err)) return nothing;
  bool sums = op == TP_OP_SUM || op == TP_OP_PROD;
  if (sums && !tp_dtype_float(tp_dtypeof(x))) x = tp_cast(g, x, TP_I64, err);
  if (naxes == 0) return x;
  tp_attr a = { .naxes = naxes, .axes = sorted, .keepdim = keepdim };
  if (tp_ops[op].cls == TP_CLS_ARG) a = (tp_attr){ .axis = sorted[0], .keepdim = keepdim };
  return build1(g, op, x, &a, err);
}

/* ---- movement ---- */

static bool same_extents(tp_val x, int rank, const tp_ix *const *shape) {
  return tp_rankof(x) == rank &&
      (!rank || !memcmp(tp_outof(x)->shape, shape, sizeof *shape * (size_t)rank));
}

static bool is_minus_one(const tp_ix *e) {
  int64_t v;
  return tp_ix_is_const(e, &v) && v == -1;
}

/* The one -1 of a shape becomes the exact quotient. */
static bool fill_quotient(tp_graph *g, tp_val x, int rank, const tp_ix **shape, tp_error *err) {
  const tp_out *o = tp_outof(x);
  const tp_ix *have = tp_ix_const(g->ix, 1), *rest = have;
  int hole = -1;
  for (int i = 0; i < o->rank; i++) have = tp_ix_mul(g->ix, have, o->shape[i]);
  for (int i = 0; i < rank; i++) {
    if (!is_minus_one(shape[i])) rest = tp_ix_mul(g->ix, rest, shape[i]);
    else if (hole >= 0) return bad(g, x, err, "reshape", "only one extent may be -1").node;
    else hole = i;
  }
  if (hole < 0) return true;
  int64_t zero;
  const tp_ix *q =
      tp_ix_is_const(rest, &zero) && zero == 0 ? NULL : tp_ix_divexact(g->ix, have, rest);
  if (!q)
    return bad(g, x, err, "reshape",
        tp_printf(&g->arena, "%s elements are no exact multiple of %s", tp_ix_str(g->ix, have),
            tp_ix_str(g->ix, rest)))
        .node;
  shape[hole] = q;
  return true;
}

static bool too_many(tp_graph *g, tp_val x, int rank, const char *op, tp_error *err) {
  return rank > TP_MAXRANK &&
      !bad(
          g, x, err, op, tp_printf(&g->arena, "%d axes, at most %d are possible", rank, TP_MAXRANK))
           .node;
}

tp_val tp_reshape(tp_graph *g, tp_val x, int rank, const tp_ix *const *shape, tp_error *err) {
  const tp_ix *to[TP_MAXRANK];
  if (!x.node || too_many(g, x, rank, "reshape", err)) return nothing;
  if (rank) memcpy(to, shape, sizeof *to * (size_t)rank);
  if (!fill_quotient(g, x, rank, to, err)) return nothing;
  if (same_extents(x, rank, to)) return x;
  return build1(g, TP_OP_RESHAPE, x, &(tp_attr){ .nix = rank, .ix = to }, err);
}

tp_val tp_permute(tp_graph *g, tp_val x, const int *order, tp_error *err) {
  int axes[TP_MAXRANK];
  bool moved = false;
  if (!x.node) return x;
  for (int i = 0; i < tp_rankof(x); i++) {
    if ((axes[i] = axis_in(g, x, order[i], tp_rankof(x), "permute", err)) < 0) return nothing;
    moved |= axes[i] != i;
  }
  return moved ? build1(g, TP_OP_PERMUTE, x, &(tp_attr){ .naxes = tp_rankof(x), .axes = axes }, err)
               : x;
}

/* An extent of -1 keeps x's. */
tp_val tp_expand(tp_graph *g, tp_val x, int rank, const tp_ix *const *shape, tp_error *err) {
  const tp_ix *to[TP_MAXRANK];
  if (!x.node || too_many(g, x, rank, "expand", err)) return nothing;
  int grow = rank - tp_rankof(x);
  for (int i = 0; i < rank; i++) {
    bool keep = is_minus_one(shape[i]);
    if (keep && i < grow) return bad(g, x, err, "expand", "-1 for an axis that there is not yet");
    to[i] = keep ? tp_outof(x)->shape[i - grow] : shape[i];
  }
  if (same_extents(x, rank, to)) return x;
  return build1(g, TP_OP_EXPAND, x, &(tp_attr){ .nix = rank, .ix = to }, err);
}

tp_val tp_slice(tp_graph *g, tp_val x, int axis, const tp_ix *lo, const tp_ix *extent, int64_t step,
    tp_error *err) {
  int64_t from;
  if (!x.node || (axis = axis_in(g, x, axis, tp_rankof(x), "slice", err)) < 0) return nothing;
  if (tp_ix_is_const(lo, &from) && from == 0 && extent == tp_outof(x)->shape[axis] && step == 1)
    return x;
  return build1(g, TP_OP_SLICE, x,
      &(tp_attr){ .axis = axis, .nix = 2, .ix = (const tp_ix *[]){ lo, extent }, .i = { step } },
      err);
}

tp_val tp_squeeze(tp_graph *g, tp_val x, int axis, tp_error *err) {
  const tp_ix *to[TP_MAXRANK];
  int rank = 0;
  if (!x.node || (axis = axis_in(g, x, axis, tp_rankof(x), "squeeze", err)) < 0) return nothing;
  const tp_out *o = tp_outof(x);
  if (!tp_is_one(o->shape[axis]))
    return bad(g, x, err, "squeeze", tp_printf(&g->arena, "axis %d is not 1", axis));
  for (int i = 0; i < o->rank; i++)
    if (i != axis) to[rank++] = o->shape[i];
  return tp_reshape(g, x, rank, to, err);
}

tp_val tp_unsqueeze(tp_graph *g, tp_val x, int axis, tp_error *err) {
  const tp_ix *to[TP_MAXRANK + 1];
  int rank = 0;
  if (!x.node || (axis = axis_in(g, x, axis, tp_rankof(x) + 1, "unsqueeze", err)) < 0)
    return nothing;
  const tp_out *o = tp_outof(x);
  for (int i = 0; i <= o->rank; i++) {
    if (i == axis) to[rank++] = tp_ix_const(g->ix, 1);
    if (i < o->rank) to[rank++] = o->shape[i];
  }
  return tp_reshape(g, x, rank, to, err);
}

/* ---- contraction ---- */

static tp_val lead_to(tp_graph *g, tp_val x, int rank, tp_error *err) {
  while (x.node && tp_rankof(x) < rank) x = tp_unsqueeze(g, x, 0, err);
  return x;
}

/* Told of the shapes that the script gave, before vectors become matrices. */
static bool inner_fits(tp_graph *g, tp_val a, tp_val b, tp_error *err) {
  int ra = tp_rankof(a), rb = tp_rankof(b);
  const tp_ix *k = tp_outof(a)->shape[ra - 1], *n = tp_outof(b)->shape[TP_MAX(rb - 2, 0)];
  int64_t vk, vn;
  if (k == n || !tp_ix_is_const(k, &vk) || !tp_ix_is_const(n, &vn)) return true;
  tp_buf t;
  tp_buf_init(&t);
  tp_shape_print(&t, a);
  tp_puts(&t, " x ");
  tp_shape_print(&t, b);
  tp_fail(err, TP_E_SHAPE, g->pos,
      "shape: bad operands of 'matmul': inner sizes %lld and %lld differ: %s", (long long)vk,
      (long long)vn, t.s);
  tp_buf_free(&t);
  return false;
}

/* torch.matmul: a vector is a row on the left and a column on the right, and its axis leaves the
 * result. */
tp_val tp_matmul(tp_graph *g, tp_val a, tp_val b, tp_error *err) {
  if (!a.node || !b.node) return nothing;
  int ra = tp_rankof(a), rb = tp_rankof(b);
  if (ra == 0 || rb == 0) return bad(g, ra ? b : a, err, "matmul", "a scalar: use *");
  if (!inner_fits(g, a, b, err)) return nothing;
  tp_dtype d = common(TP_OP_MUL, tp_dtypeof(a), tp_dtypeof(b));
  a = tp_cast(g, a, d, err);
  b = tp_cast(g, b, d, err);
  if (rb == 1) b = tp_unsqueeze(g, b, 1, err);
  int rank = TP_MAX(2, TP_MAX(ra, rb));
  tp_val v[2] = { lead_to(g, a, rank, err), lead_to(g, b, rank, err) };
  if (!v[0].node || !v[1].node) return nothing;
  tp_val y = built(tp_build(g, TP_OP_MATMUL, 2, v, NULL, err));
  if (rb == 1) y = tp_squeeze(g, y, -1, err);
  return ra == 1 ? tp_squeeze(g, y, rb == 1 ? -1 : -2, err) : y;
}

/* ---- the inverse of broadcasting ---- */

static tp_val sum_strict(
    tp_graph *g, tp_val x, int n, const int *axes, bool keepdim, tp_error *err) {
  return n
      ? build1(g, TP_OP_SUM, x, &(tp_attr){ .naxes = n, .axes = axes, .keepdim = keepdim }, err)
      : x;
}

tp_val tp_sum_to(tp_graph *g, tp_val x, int rank, const tp_ix *const *shape, tp_error *err) {
  int axes[TP_MAXRANK], n = 0;
  if (!x.node) return x;
  int lead = tp_rankof(x) - rank;
  if (lead < 0) return bad(g, x, err, "sum", "has fewer axes than what it was broadcast from");
  for (int i = 0; i < lead; i++) axes[n++] = i;
  x = sum_strict(g, x, n, axes, false, err);
  if (!x.node) return x;
  n = 0;
  for (int i = 0; i < rank; i++) {
    const tp_ix *have = tp_outof(x)->shape[i];
    if (tp_is_one(shape[i]) && !tp_is_one(have)) axes[n++] = i;
    else if (!tp_extent_eq(g, have, shape[i], "sum"))
      return bad(g, x, err, "sum", "does not come from broadcasting");
  }
  return sum_strict(g, x, n, axes, true, err);
}
