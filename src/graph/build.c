/* build: makes operators with the promotions of docs/language.md, section 4, and checks what the
 * script gave them. */
#include "graph/core.h"
#include "graph/mk.h"

tp_val mk_op(tp_mk k, tp_op op, int nin, const tp_val *in, const tp_attr *at) {
  for (int i = 0; i < nin; i++)
    if (!in[i].node) return tp_none;
  return (tp_val){ tp_build(k.g, op, nin, in, at, k.err), 0 };
}

static tp_val build1(tp_mk k, tp_op op, tp_val x, const tp_attr *a) {
  return mk_op(k, op, 1, &x, a);
}

static tp_val bad(tp_mk k, tp_val x, const char *op, const char *why, ...) TP_PRINTF(4, 5);
static tp_val bad(tp_mk k, tp_val x, const char *op, const char *why, ...) {
  char text[512];
  TP_FORMAT(text, why);
  tp_fail(k.err, TP_E_SHAPE, k.g->pos, "bad operand of '%s': %s: (%s)", op, text,
      tp_extents(k.g, tp_rankof(x), tp_outof(x)->shape));
  return tp_none;
}

/* ---- sources ---- */

static tp_val source(tp_mk k, tp_op op, tp_attr at, int rank, tp_ixs shape, int ndom, tp_dims dom) {
  tp_node over = { .ndom = ndom, .dom = dom };
  for (int i = 0; i < rank; i++) tp_dom_add(k.g, &over, shape[i]);
  at.nix = rank;
  at.ix = shape;
  at.ndom = over.ndom;
  at.dom = over.dom;
  return mk_op(k, op, 0, NULL, &at);
}

tp_val mk_fill(tp_mk k, double v, tp_dtype d, int rank, tp_ixs shape, int ndom, tp_dims dom) {
  return source(k, TP_OP_FILL, (tp_attr){ .dtype = d, .f = { v } }, rank, shape, ndom, dom);
}

tp_val mk_iota(tp_mk k, int axis, int rank, tp_ixs shape, int ndom, tp_dims dom) {
  return source(k, TP_OP_IOTA, (tp_attr){ .axis = axis, .dtype = TP_I64 }, rank, shape, ndom, dom);
}

tp_val tp_ixvalue(tp_graph *g, tp_ix *e, tp_error *err) {
  return mk_op(
      (tp_mk){ .g = g, .err = err }, TP_OP_VALUE, 0, NULL, &(tp_attr){ .nix = 1, .ix = &e });
}

/* ---- elementwise ---- */

tp_val mk_cast(tp_mk k, tp_val x, tp_dtype d) {
  return !x.node || tp_dtypeof(x) == d ? x : build1(k, TP_OP_CAST, x, &(tp_attr){ .dtype = d });
}

tp_val mk_un(tp_mk k, tp_op op, tp_val x) {
  if (!x.node) return x;
  tp_cls cls = tp_ops[op].cls;
  if (cls == TP_CLS_UNF && !tp_dtype_float(tp_dtypeof(x))) x = mk_cast(k, x, TP_F32);
  else if (cls == TP_CLS_UN && op != TP_OP_DETACH && tp_dtypeof(x) == TP_BOOL)
    x = mk_cast(k, x, TP_I64);
  return build1(k, op, x, NULL);
}

/* Arithmetic takes bool for i64; minimum, maximum and comparisons take it as it is. */
static tp_dtype common(tp_op op, tp_dtype a, tp_dtype b) {
  tp_dtype d = tp_dtype_promote(a, b);
  bool arithmetic = tp_ops[op].cls == TP_CLS_BIN && op != TP_OP_MINIMUM && op != TP_OP_MAXIMUM;
  if (op == TP_OP_DIV && !tp_dtype_float(d)) return TP_F32;
  return arithmetic && d == TP_BOOL ? TP_I64 : d;
}

tp_val mk_bin(tp_mk k, tp_op op, tp_val a, tp_val b) {
  if (a.node && b.node && tp_ops[op].cls != TP_CLS_LOG) {
    tp_dtype d = common(op, tp_dtypeof(a), tp_dtypeof(b));
    a = mk_cast(k, a, d);
    b = mk_cast(k, b, d);
  }
  return mk_op(k, op, 2, (tp_val[]){ a, b }, NULL);
}

tp_val mk_select(tp_mk k, tp_val c, tp_val a, tp_val b) {
  if (!c.node || !a.node || !b.node) return tp_none;
  tp_dtype d = tp_dtype_promote(tp_dtypeof(a), tp_dtypeof(b));
  return mk_op(k, TP_OP_SELECT, 3, (tp_val[]){ c, mk_cast(k, a, d), mk_cast(k, b, d) }, NULL);
}

/* ---- axes ---- */

/* The axis of n, counted from 0; -1 after an error. */
static int axis_in(tp_mk k, tp_val x, int axis, int n, const char *op) {
  if (axis >= -n && axis < n) return axis < 0 ? axis + n : axis;
  bad(k, x, op, "axis %d of rank %d", axis, tp_rankof(x));
  return -1;
}

tp_val mk_reduce(tp_mk k, tp_op op, tp_val x, int naxes, const int *axes, bool keepdim) {
  int sorted[TP_MAXRANK], n = 0;
  bool seen[TP_MAXRANK] = { 0 };
  if (!x.node) return x;
  for (int i = 0; i < naxes; i++) {
    int a = axis_in(k, x, axes[i], tp_rankof(x), tp_ops[op].text);
    if (a < 0) return tp_none;
    if (seen[a]) return bad(k, x, tp_ops[op].text, "axis %d is named twice", axes[i]);
    seen[a] = true;
  }
  for (int a = 0; a < tp_rankof(x); a++)
    if (seen[a]) sorted[n++] = a;
  bool sums = op == TP_OP_SUM || op == TP_OP_PROD;
  if (sums && !tp_dtype_float(tp_dtypeof(x))) x = mk_cast(k, x, TP_I64);
  if (naxes == 0) return x;
  tp_attr a = { .naxes = n, .axes = sorted, .keepdim = keepdim };
  if (tp_ops[op].cls == TP_CLS_ARG) a = (tp_attr){ .axis = sorted[0], .keepdim = keepdim };
  return build1(k, op, x, &a);
}

/* ---- movement ---- */

static bool same_extents(tp_val x, int rank, tp_ixs shape) {
  return tp_same_type(tp_outof(x), &(tp_out){ tp_dtypeof(x), rank, shape });
}

/* The one -1 of a shape becomes the exact quotient. */
static bool fill_quotient(tp_mk k, tp_val x, int rank, tp_ix **shape) {
  tp_ix *have = mk_numel(k, x, tp_rankof(x), NULL), *rest = mk_int(k, 1);
  int hole = -1;
  for (int i = 0; i < rank; i++) {
    if (!tp_is_number(shape[i], -1)) rest = tp_ix_mul(rest, shape[i]);
    else if (hole >= 0) return bad(k, x, "reshape", "only one extent may be -1").node;
    else hole = i;
  }
  if (hole < 0) return true;
  shape[hole] = tp_is_number(rest, 0) ? NULL : tp_ix_divexact(have, rest);
  return shape[hole] ||
      bad(k, x, "reshape", "%s elements are no exact multiple of %s", tp_ix_str(have),
          tp_ix_str(rest))
          .node;
}

static bool too_many(tp_mk k, tp_val x, int rank, const char *op) {
  return rank > TP_MAXRANK &&
      !bad(k, x, op, "%d axes, at most %d are possible", rank, TP_MAXRANK).node;
}

tp_val mk_reshape(tp_mk k, tp_val x, int rank, tp_ixs shape) {
  tp_ix *to[TP_MAXRANK];
  if (!x.node || too_many(k, x, rank, "reshape")) return tp_none;
  if (rank) TP_COPYN(to, shape, rank);
  if (!fill_quotient(k, x, rank, to)) return tp_none;
  if (same_extents(x, rank, to)) return x;
  return build1(k, TP_OP_RESHAPE, x, &(tp_attr){ .nix = rank, .ix = to });
}

tp_val mk_permute(tp_mk k, tp_val x, const int *order) {
  int axes[TP_MAXRANK];
  bool moved = false;
  if (!x.node) return x;
  for (int i = 0; i < tp_rankof(x); i++) {
    if ((axes[i] = axis_in(k, x, order[i], tp_rankof(x), "permute")) < 0) return tp_none;
    moved |= axes[i] != i;
  }
  return moved ? build1(k, TP_OP_PERMUTE, x, &(tp_attr){ .naxes = tp_rankof(x), .axes = axes }) : x;
}

/* An extent of -1 keeps x's. */
tp_val mk_expand(tp_mk k, tp_val x, int rank, tp_ixs shape) {
  tp_ix *to[TP_MAXRANK];
  if (!x.node || too_many(k, x, rank, "expand")) return tp_none;
  int grow = rank - tp_rankof(x);
  for (int i = 0; i < rank; i++) {
    bool keep = tp_is_number(shape[i], -1);
    if (keep && i < grow) return bad(k, x, "expand", "-1 for an axis that there is not yet");
    to[i] = keep ? mk_extent(x, i - grow) : shape[i];
  }
  if (same_extents(x, rank, to)) return x;
  return build1(k, TP_OP_EXPAND, x, &(tp_attr){ .nix = rank, .ix = to });
}

tp_val mk_slice(tp_mk k, tp_val x, int axis, tp_ix *lo, tp_ix *extent, int64_t step) {
  if (!x.node || (axis = axis_in(k, x, axis, tp_rankof(x), "slice")) < 0) return tp_none;
  if (tp_is_number(lo, 0) && extent == mk_extent(x, axis) && step == 1) return x;
  return build1(k, TP_OP_SLICE, x,
      &(tp_attr){ .axis = axis, .nix = 2, .ix = (tp_ix *[]){ lo, extent }, .step = step });
}

tp_val mk_squeeze(tp_mk k, tp_val x, int axis) {
  tp_ix *to[TP_MAXRANK];
  if (!x.node || (axis = axis_in(k, x, axis, tp_rankof(x), "squeeze")) < 0) return tp_none;
  if (!tp_is_number(mk_extent(x, axis), 1)) return bad(k, x, "squeeze", "axis %d is not 1", axis);
  return mk_reshape(k, x, mk_shape_but(k, x, 1, &axis, false, to), to);
}

tp_val mk_unsqueeze(tp_mk k, tp_val x, int axis) {
  tp_ix *to[TP_MAXRANK + 1];
  if (!x.node || (axis = axis_in(k, x, axis, tp_rankof(x) + 1, "unsqueeze")) < 0) return tp_none;
  for (int i = 0; i <= tp_rankof(x); i++)
    to[i] = i == axis ? mk_int(k, 1) : mk_extent(x, i - (i > axis));
  return mk_reshape(k, x, tp_rankof(x) + 1, to);
}

/* ---- contraction ---- */

static tp_val lead_to(tp_mk k, tp_val x, int rank) {
  while (x.node && tp_rankof(x) < rank) x = mk_unsqueeze(k, x, 0);
  return x;
}

/* Tells the shapes that the script gave, before vectors become matrices. */
static bool inner_fits(tp_mk k, tp_val a, tp_val b) {
  int ra = tp_rankof(a), rb = tp_rankof(b);
  int64_t inner, other;
  if (!tp_ix_is_const(mk_extent(a, ra - 1), &inner) ||
      !tp_ix_is_const(mk_extent(b, TP_MAX(rb - 2, 0)), &other) || inner == other)
    return true;
  return tp_fail(k.err, TP_E_SHAPE, k.g->pos,
      "bad operands of 'matmul': inner sizes %lld and %lld differ: (%s) x (%s)", (long long)inner,
      (long long)other, tp_extents(k.g, ra, tp_outof(a)->shape),
      tp_extents(k.g, rb, tp_outof(b)->shape));
}

/* torch.matmul: a vector is a row on the left and a column on the right, and its axis leaves the
 * result. */
tp_val mk_matmul(tp_mk k, tp_val a, tp_val b) {
  if (!a.node || !b.node) return tp_none;
  int ra = tp_rankof(a), rb = tp_rankof(b), rank = TP_MAX(2, TP_MAX(ra, rb));
  if (ra == 0 || rb == 0) return bad(k, ra ? b : a, "matmul", "a scalar: use *");
  if (!inner_fits(k, a, b)) return tp_none;
  tp_dtype d = common(TP_OP_MUL, tp_dtypeof(a), tp_dtypeof(b));
  a = mk_cast(k, a, d);
  b = mk_cast(k, b, d);
  if (rb == 1) b = mk_unsqueeze(k, b, 1);
  tp_val v[2] = { lead_to(k, a, rank), lead_to(k, b, rank) },
         y = mk_op(k, TP_OP_MATMUL, 2, v, NULL);
  if (rb == 1) y = mk_squeeze(k, y, -1);
  return ra == 1 ? mk_squeeze(k, y, rb == 1 ? -1 : -2) : y;
}

/* ---- the inverse of broadcasting ---- */

/* The sum in x's own dtype. */
static tp_val sum_strict(tp_mk k, tp_val x, int n, const int *axes, bool keepdim) {
  return n ? build1(k, TP_OP_SUM, x, &(tp_attr){ .naxes = n, .axes = axes, .keepdim = keepdim })
           : x;
}

tp_val mk_sum_to(tp_mk k, tp_val x, int rank, tp_ixs shape) {
  int axes[TP_MAXRANK], n = 0;
  if (!x.node) return x;
  int lead = tp_rankof(x) - rank;
  if (lead < 0) return bad(k, x, "sum", "has fewer axes than what it was broadcast from");
  for (int i = 0; i < lead; i++) axes[i] = i;
  x = sum_strict(k, x, lead, axes, false);
  for (int i = 0; x.node && i < rank; i++) {
    tp_ix *have = mk_extent(x, i);
    if (tp_is_number(shape[i], 1) && !tp_is_number(have, 1)) axes[n++] = i;
    else if (!tp_extent_eq(k.g, have, shape[i], "sum"))
      return bad(k, x, "sum", "does not come from broadcasting");
  }
  return sum_strict(k, x, n, axes, true);
}
