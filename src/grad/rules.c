/* rules: one small function an operator, and the table of them. In each, x, y and dy are the
 * operand, the result and the result's adjoint. */
#include "grad/rules.h"
#include <math.h>

#define RULE(OP) static tp_val d_##OP(tp_mk mk, const tp_node *n, int k, tp_val dy)
#define X        (n->in[0].src)
#define Y        ((tp_val){ (tp_node *)n, 0 })
#define IN(i)    (n->in[i].src)

/* Sums d down to the shape of operand k, which may have been broadcast. */
static tp_val down(tp_mk mk, const tp_node *n, int k, tp_val d) {
  const tp_out *o = tp_outof(IN(k));
  return mk_sum_to(mk, d, o->rank, o->shape);
}

/* ---- one operand ---- */
RULE(NEG) { return mk_neg(mk, dy); }
RULE(ABS) { return mk_mul(mk, dy, mk_un(mk, TP_OP_SIGN, X)); }
RULE(EXP) { return mk_mul(mk, dy, Y); }
RULE(EXPM1) { return mk_mul(mk, dy, mk_addc(mk, Y, 1)); }
RULE(LOG) { return mk_div(mk, dy, X); }
RULE(LOG1P) { return mk_div(mk, dy, mk_addc(mk, X, 1)); }
RULE(SQRT) { return mk_div(mk, mk_mulc(mk, dy, 0.5), Y); }
RULE(RSQRT) { return mk_mul(mk, mk_mulc(mk, dy, -0.5), mk_mul(mk, Y, mk_mul(mk, Y, Y))); }
RULE(SIN) { return mk_mul(mk, dy, mk_un(mk, TP_OP_COS, X)); }
RULE(COS) { return mk_neg(mk, mk_mul(mk, dy, mk_un(mk, TP_OP_SIN, X))); }
RULE(TAN) { return mk_mul(mk, dy, mk_addc(mk, mk_mul(mk, Y, Y), 1)); }
RULE(TANH) { return mk_mul(mk, dy, mk_cbin(mk, TP_OP_SUB, 1, mk_mul(mk, Y, Y))); }
RULE(SIGMOID) { return mk_mul(mk, dy, mk_mul(mk, Y, mk_cbin(mk, TP_OP_SUB, 1, Y))); }
RULE(ERF) {
  return mk_mul(mk, mk_mulc(mk, dy, 2 / sqrt(3.14159265358979323846)),
      mk_exp(mk, mk_neg(mk, mk_mul(mk, X, X))));
}
RULE(CAST) { return mk_cast(mk, dy, tp_dtypeof(X)); }

/* ---- two and three ---- */
RULE(ADD) { return down(mk, n, k, dy); }
RULE(SUB) { return down(mk, n, k, k ? mk_neg(mk, dy) : dy); }
RULE(MUL) { return down(mk, n, k, mk_mul(mk, dy, IN(1 - k))); }

RULE(DIV) {
  tp_val d = mk_div(mk, dy, IN(1));
  return down(mk, n, k, k ? mk_neg(mk, mk_mul(mk, d, Y)) : d);
}

/* a^b: b a^(b-1), which is 0 at b = 0 whatever a;  a^b log a, which is 0 at a = 0 for b >= 0. The
 * side of a select that is not taken may not be inf or NaN either. */
RULE(POW) {
  tp_val a = IN(0), b = IN(1), one = mk_num(mk, 1, tp_dtypeof(a));
  if (k == 0) {
    tp_val flat = mk_binc(mk, TP_OP_EQ, b, 0);
    return down(mk, n, k,
        mk_mul(mk, dy,
            mk_mul(mk, b, mk_bin(mk, TP_OP_POW, a, mk_select(mk, flat, one, mk_addc(mk, b, -1))))));
  }
  tp_val flat = mk_and(mk, mk_binc(mk, TP_OP_EQ, a, 0), mk_binc(mk, TP_OP_GE, b, 0));
  return down(mk, n, k, mk_mul(mk, dy, mk_mul(mk, Y, mk_log(mk, mk_select(mk, flat, one, a)))));
}

/* a - b floor(a/b) */
RULE(MOD) {
  return down(
      mk, n, k, k ? mk_neg(mk, mk_mul(mk, dy, mk_bin(mk, TP_OP_FLOORDIV, IN(0), IN(1)))) : dy);
}

/* The second operand gets dy where it is strictly beyond the first, that is, where the result is
 * beyond the first; readers keep the result for their own gradients. */
RULE(MINIMUM) {
  tp_val second = mk_bin(mk, n->op == TP_OP_MAXIMUM ? TP_OP_GT : TP_OP_LT, Y, IN(0));
  return down(mk, n, k, k ? mk_where(mk, second, dy) : mk_unless(mk, second, dy));
}
RULE(MAXIMUM) { return d_MINIMUM(mk, n, k, dy); }

RULE(SELECT) { return down(mk, n, k, k == 1 ? mk_where(mk, IN(0), dy) : mk_unless(mk, IN(0), dy)); }

/* ---- reductions ---- */

static tp_val spread(tp_mk mk, const tp_node *n, tp_val v) {
  return mk_spread(mk, v, X, n->attr.naxes, n->attr.axes, n->attr.keepdim);
}

RULE(SUM) { return spread(mk, n, dy); }

/* dy times the product of all others: without division, so that zeros are no exception. */
RULE(PROD) {
  const tp_attr *a = &n->attr;
  bool one = a->naxes == 1;
  tp_val x = one ? X : mk_gather_axes(mk, X, a->naxes, a->axes);
  if (!x.node) return x;
  int axis = one ? a->axes[0] : tp_rankof(x) - 1;
  tp_val y =
      mk_mul(mk, mk_product_beside(mk, x, axis, false), mk_product_beside(mk, x, axis, true));
  return mk_mul(mk, spread(mk, n, dy), one ? y : mk_scatter_axes(mk, y, X, a->naxes, a->axes));
}

/* The place of each element of x among those along axes, row major, as floats that count them
 * exactly; 1 for the other axes. */
static tp_val places(tp_mk mk, tp_val x, int naxes, const int *axes) {
  int64_t all;
  int rank = tp_rankof(x);
  tp_ix *shape[TP_MAXRANK], *behind = mk_int(mk, 1);
  tp_dtype d =
      tp_ix_is_const(mk_numel(mk, x, naxes, axes), &all) && all <= 1 << 24 ? TP_F32 : TP_F64;
  tp_val sum = mk_num(mk, 0, d);
  for (int i = naxes - 1; i >= 0; i--) {
    for (int k = 0; k < rank; k++) shape[k] = k == axes[i] ? mk_extent(x, k) : mk_int(mk, 1);
    tp_val index = mk_cast(mk, mk_iota(mk, axes[i], rank, shape, 0, NULL), d);
    sum = mk_add(mk, mk_mul(mk, index, mk_size(mk, behind, d)), sum);
    behind = tp_ix_mul(behind, mk_extent(x, axes[i]));
  }
  return sum;
}

/* All of dy goes to the first element (row major) that equals the result: the least place of
 * these. */
RULE(MAX) {
  const tp_attr *a = &n->attr;
  tp_val hit = mk_bin(mk, TP_OP_EQ, X, spread(mk, n, Y)), place = places(mk, X, a->naxes, a->axes);
  if (!place.node) return place;
  tp_val first = mk_reduce(mk, TP_OP_MIN,
      mk_select(mk, hit, place, mk_num(mk, INFINITY, tp_dtypeof(place))), a->naxes, a->axes, true);
  return mk_where(mk, mk_bin(mk, TP_OP_EQ, place, first), spread(mk, n, dy));
}
RULE(MIN) { return d_MAX(mk, n, k, dy); }

/* y[i] = f y[i-1] + x[i]: the same scan from the other end. */
RULE(SCAN) { return mk_scan(mk, dy, n->attr.axis, n->attr.f[0], !n->attr.backwards); }

/* The adjoint of y in y[i] = c[i] y[i-1] + ..:  a[i] = dy[i] + c[i+1] a[i+1], from the other end.
 */
static tp_val recurred(tp_mk mk, const tp_node *n, tp_val dy, tp_val c) {
  return mk_op(mk, TP_OP_RECUR, 2,
      (tp_val[]){ dy, mk_moved(mk, c, n->attr.axis, !n->attr.backwards, 0) },
      &(tp_attr){ .axis = n->attr.axis, .backwards = !n->attr.backwards });
}

RULE(RECUR) {
  tp_val a = recurred(mk, n, dy, IN(1));
  return k ? mk_mul(mk, a, mk_moved(mk, Y, n->attr.axis, n->attr.backwards, 0)) : a;
}

/* y[i] = x[i] y[i-1], y[-1] = 1: without division, so that zeros are no exception. */
RULE(CUMPROD) {
  return mk_mul(mk, recurred(mk, n, dy, X), mk_moved(mk, Y, n->attr.axis, n->attr.backwards, 1));
}

/* ---- contraction ---- */

RULE(MATMUL) {
  int r = tp_rankof(Y);
  tp_val other = mk_swap(mk, IN(1 - k), r - 2, r - 1);
  return down(mk, n, k, k ? mk_matmul(mk, other, dy) : mk_matmul(mk, dy, other));
}

/* The convolution operator op of the same form, with another result. */
static tp_val conv(tp_mk mk, const tp_node *n, tp_op op, tp_val a, tp_val b, tp_val like) {
  const tp_attr *at = &n->attr;
  return mk_op(mk, op, 2, (tp_val[]){ a, b },
      &(tp_attr){ .naxes = at->naxes,
          .axes = at->axes,
          .nix = tp_rankof(like),
          .ix = tp_outof(like)->shape });
}

RULE(CONV) {
  return k ? conv(mk, n, TP_OP_CONV_WEIGHT, IN(0), dy, IN(1))
           : conv(mk, n, TP_OP_CONV_DATA, dy, IN(1), IN(0));
}
RULE(CONV_DATA) {
  return k ? conv(mk, n, TP_OP_CONV_WEIGHT, dy, IN(0), IN(1))
           : conv(mk, n, TP_OP_CONV, dy, IN(1), IN(0));
}
RULE(CONV_WEIGHT) {
  return k ? conv(mk, n, TP_OP_CONV, IN(0), dy, IN(1))
           : conv(mk, n, TP_OP_CONV_DATA, IN(1), dy, IN(0));
}

/* ---- movement ---- */

RULE(RESHAPE) { return mk_reshape(mk, dy, tp_rankof(X), tp_outof(X)->shape); }
RULE(EXPAND) { return down(mk, n, k, dy); }
RULE(FLIP) { return mk_flip(mk, dy, n->attr.axis); }

RULE(PERMUTE) {
  int back[TP_MAXRANK];
  for (int i = 0; i < n->attr.naxes; i++) back[n->attr.axes[i]] = i;
  return mk_permute(mk, dy, back);
}

/* Zeros around; with a step, between as well: added at lo, lo + step, ... */
RULE(SLICE) {
  int axis = n->attr.axis;
  tp_ix *lo = n->attr.ix[0], *extent = n->attr.ix[1],
        *rest = tp_ix_sub(mk_extent(X, axis), tp_ix_add(lo, extent));
  if (n->attr.step == 1) return mk_pad(mk, dy, axis, lo, rest, 0);
  tp_val at = mk_mulc(mk, mk_indices(mk, extent), (double)n->attr.step);
  at = mk_add(mk, at, tp_ixvalue(mk.g, lo, mk.err));
  return mk_op(mk, TP_OP_INDEX_ADD, 3, (tp_val[]){ mk_zeros_like(mk, X), at, dy },
      &(tp_attr){ .axis = axis });
}

RULE(PAD) { return mk_slice(mk, dy, n->attr.axis, n->attr.ix[0], mk_extent(X, n->attr.axis), 1); }

RULE(UNFOLD) {
  return mk_fold(mk, dy, n->attr.axis, mk_extent(X, n->attr.axis), n->attr.step, n->attr.dilation);
}

RULE(FOLD) {
  int axis = n->attr.axis;
  return mk_unfold(
      mk, dy, axis, mk_extent(X, axis), mk_extent(X, axis + 1), n->attr.step, n->attr.dilation);
}

RULE(CONCAT) {
  tp_ix *lo = mk_int(mk, 0);
  for (int i = 0; i < k; i++) lo = tp_ix_add(lo, mk_extent(IN(i), n->attr.axis));
  return mk_slice(mk, dy, n->attr.axis, lo, mk_extent(IN(k), n->attr.axis), 1);
}

/* ---- by data ---- */

static tp_val with_axis(tp_mk mk, tp_op op, const tp_node *n, int nin, const tp_val *in) {
  return mk_op(mk, op, nin, in, &(tp_attr){ .axis = n->attr.axis });
}

RULE(INDEX_SELECT) {
  return with_axis(mk, TP_OP_INDEX_ADD, n, 3, (tp_val[]){ mk_zeros_like(mk, X), IN(1), dy });
}
RULE(INDEX_ADD) {
  return k ? with_axis(mk, TP_OP_INDEX_SELECT, n, 2, (tp_val[]){ dy, IN(1) }) : dy;
}
RULE(GATHER) {
  return with_axis(mk, TP_OP_SCATTER_ADD, n, 3, (tp_val[]){ mk_zeros_like(mk, X), IN(1), dy });
}
RULE(SORT) {
  return with_axis(mk, TP_OP_SCATTER_ADD, n, 3,
      (tp_val[]){ mk_zeros_like(mk, X), (tp_val){ (tp_node *)n, 1 }, dy });
}

/* The values may be larger than the indices: the rest has no gradient. */
RULE(SCATTER_ADD) {
  if (k == 0) return dy;
  tp_val d = with_axis(mk, TP_OP_GATHER, n, 2, (tp_val[]){ dy, IN(1) });
  for (int i = 0; d.node && i < tp_rankof(d); i++)
    d = mk_pad(mk, d, i, mk_int(mk, 0), tp_ix_sub(mk_extent(IN(2), i), mk_extent(d, i)), 0);
  return d;
}

RULE(PUT) {
  return k ? d_SCATTER_ADD(mk, n, k, dy)
           : with_axis(mk, TP_OP_PUT, n, 3, (tp_val[]){ dy, IN(1), mk_zeros_like(mk, IN(2)) });
}

/* ---- every row of ops.def marked D ---- */
static tp_vjp *const rules[TP_NOP] = {
#define RULE_D(N) [TP_OP_##N] = d_##N,
#define RULE_N(N)
#define RULE_S(N)
#define O(N, text, cls, nin, nout, batch, diff, facts) RULE_##diff(N)
#include "kern/ops.def"
#undef O
};

tp_vjp *tp_vjp_of(tp_op op) { return rules[op]; }

bool tp_grad_leaf(const tp_aims *of, tp_val v) {
  for (int i = 0; i < of->nleaf; i++)
    if (tp_same_val(of->leaf[i], v)) return true;
  return false;
}

bool tp_grad_passes(const tp_aims *of, tp_val v, int k) {
  const tp_node *n = v.node;
  bool time = n->op == TP_OP_READ || n->op == TP_OP_MERGE || n->op == TP_OP_ACCUM;
  return v.out == 0 && (time || rules[n->op]) && !tp_grad_leaf(of, v) &&
      tp_dtype_float(tp_dtypeof(v)) && tp_dtype_float(tp_dtypeof(n->in[k].src));
}
