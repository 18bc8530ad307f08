/* methods: normalisation, dropout, losses. All compute in f32 at least and round once. */
#include "graph/rows.h"
#include "graph/core.h"
#include <math.h>

/* ---- normalisation ---- */

/* The last axes of x, whose extents are given (none: only the last): how many; -1 after an error.
 */
static int last_axes(tp_mk k, tp_val x, const tp_arg *shape, int *axes) {
  int rank = tp_rankof(x), n = shape->kind ? shape->n : 1;
  if (n < 1 || n > rank) return tp_wrong(k, TP_E_SHAPE, "over %d of %d axes", n, rank), -1;
  for (int i = 0; i < n; i++) {
    axes[i] = rank - n + i;
    if (shape->kind && !tp_equal(k, shape->ixs[i], mk_extent(x, axes[i])))
      return tp_wrong(k, TP_E_SHAPE, "axis %d is %s, not %s", axes[i],
                 tp_text(k, mk_extent(x, axes[i])), tp_text(k, shape->ixs[i])),
             -1;
  }
  return n;
}

/* x / sqrt(var + eps) * weight + bias */
static tp_val scaled(tp_mk k, tp_val x, tp_val var, double eps, tp_val weight, tp_val bias) {
  tp_val y = mk_mul(k, x, mk_un(k, TP_OP_RSQRT, mk_addc(k, var, eps)));
  if (weight.node) y = mk_mul(k, y, weight);
  return bias.node ? mk_add(k, y, bias) : y;
}

static tp_val power(tp_mk k, tp_val x, int n, const int *axes) {
  return tp_mean_of(k, mk_mul(k, x, x), n, axes, true);
}

METHOD(layer_norm) {
  tp_val x = tp_wide(k, a[0].val);
  int axes[TP_MAXRANK], n = x.node ? last_axes(k, x, &a[1], axes) : -1;
  if (n < 0) return false;
  tp_val d = mk_sub(k, x, tp_mean_of(k, x, n, axes, true)), var = power(k, d, n, axes);
  GIVE_FLOAT(scaled(k, d, var, tp_arg_f(&a[4], 1e-5), tp_arg_t(&a[2]), tp_arg_t(&a[3])));
}

/* eps is by default the machine epsilon of what is computed in. */
METHOD(rms_norm) {
  tp_val x = tp_wide(k, a[0].val);
  int axes[TP_MAXRANK], n = x.node ? last_axes(k, x, &a[1], axes) : -1;
  if (n < 0) return false;
  double eps = tp_arg_f(&a[3], tp_dtypeof(x) == TP_F64 ? 0x1p-52 : 0x1p-23);
  GIVE_FLOAT(scaled(k, x, power(k, x, n, axes), eps, tp_arg_t(&a[2]), tp_none));
}

/* [C] against x's axis 1. */
static tp_val per_channel(tp_mk k, tp_val v, tp_val x, const char *what) {
  if (!v.node) return v;
  if (tp_rankof(v) != 1 || !tp_equal(k, mk_extent(v, 0), mk_extent(x, 1)))
    return tp_wrong(k, TP_E_SHAPE, "%s must have shape (%s): one for each channel", what,
               tp_text(k, mk_extent(x, 1))),
           tp_none;
  v = mk_cast(k, v, tp_dtypeof(x));
  for (int i = 2; i < tp_rankof(x); i++) v = mk_unsqueeze(k, v, -1);
  return v;
}

METHOD(batch_norm) {
  static const char *const what[] = { "running_mean", "running_var", "weight", "bias" };
  tp_val x = tp_wide(k, a[0].val), v[4];
  int axes[TP_MAXRANK], n = 0, rank = x.node ? tp_rankof(x) : 0;
  if (rank < 2)
    return x.node && tp_wrong(k, TP_E_SHAPE, "x has %d axes, must have a batch and channels", rank);
  for (int i = 0; i < 4; i++)
    if (!(v[i] = per_channel(k, tp_arg_t(&a[1 + i]), x, what[i])).node && a[1 + i].kind)
      return false;
  for (int i = 0; i < rank; i++)
    if (i != 1) axes[n++] = i;
  bool batch = tp_arg_b(&a[5], false);
  if (!batch && (!v[0].node || !v[1].node))
    return tp_wrong(k, TP_E_OPTION,
        "running_mean and running_var are needed; or training = true, which takes the batch's");
  tp_val d = mk_sub(k, x, batch ? tp_mean_of(k, x, n, axes, true) : v[0]),
         var = batch ? power(k, d, n, axes) : v[1];
  GIVE_FLOAT(scaled(k, d, var, tp_arg_f(&a[7], 1e-5), v[2], v[3]));
}

METHOD(dropout) {
  tp_val x = a[0].val;
  double p = tp_arg_f(&a[1], 0.5);
  tp_dtype d = tp_float_of(x);
  x = mk_cast(k, x, d);
  if (!(p >= 0 && p <= 1))
    return tp_wrong(k, TP_E_OPTION, "the probability is %g, not in [0, 1]", p);
  if (!x.node || p == 0 || !tp_arg_b(&a[2], true)) GIVE(x);
  tp_attr at = { .rand = TP_RAND_BERNOULLI,
    .dtype = TP_BOOL,
    .f = { 1 - p },
    .nix = tp_rankof(x),
    .ix = tp_outof(x)->shape,
    .ndom = x.node->ndom,
    .dom = x.node->dom };
  if (!tp_random_name(k, &a[3], &at)) return false;
  GIVE(mk_where(k, mk_op(k, TP_OP_RAND, 0, NULL, &at), p < 1 ? mk_mulc(k, x, 1 / (1 - p)) : x));
}

/* ---- losses ---- */

static int all_axes(tp_val x, int *axes) {
  for (int i = 0; i < tp_rankof(x); i++) axes[i] = i;
  return tp_rankof(x);
}

static bool is(const tp_arg *reduction, const char *word, bool dflt) {
  return reduction->kind ? strcmp(reduction->s, word) == 0 : dflt;
}

static tp_val total(tp_mk k, tp_val x) {
  int axes[TP_MAXRANK];
  return x.node ? mk_reduce(k, TP_OP_SUM, x, all_axes(x, axes), axes, false) : x;
}

static tp_val reduced_loss(tp_mk k, tp_val x, const tp_arg *how) {
  int axes[TP_MAXRANK];
  if (!x.node || is(how, "none", false)) return x;
  if (is(how, "sum", false)) return total(k, x);
  if (is(how, "mean", true)) return tp_mean_of(k, x, all_axes(x, axes), axes, false);
  tp_wrong(k, TP_E_OPTION, "reduction is \"mean\", \"sum\" or \"none\", not \"%s\"", how->s);
  return tp_none;
}

static bool loss_operands(tp_mk k, const tp_arg *a, tp_val *x, tp_val *t, tp_dtype *d) {
  if (!tp_weak(k, &a[0], &a[1], false, x, t)) return false;
  tp_dtype both = tp_dtype_promote(tp_dtypeof(*x), tp_dtypeof(*t)),
           wide = both == TP_F64 ? TP_F64 : TP_F32;
  *d = tp_dtype_float(both) ? both : TP_F32;
  *x = mk_cast(k, *x, wide);
  *t = mk_cast(k, *t, wide);
  return x->node && t->node;
}

#define LOSS \
  tp_val x, t; \
  tp_dtype d; \
  if (!loss_operands(k, a, &x, &t, &d)) return false
#define GIVE_LOSS(y, how) GIVE(mk_cast(k, reduced_loss(k, y, how), d))

METHOD(mse_loss) {
  LOSS;
  tp_val e = mk_sub(k, x, t);
  GIVE_LOSS(mk_mul(k, e, e), &a[2]);
}

METHOD(smooth_l1_loss) {
  LOSS;
  double beta = tp_arg_f(&a[3], 1);
  tp_val e = mk_sub(k, x, t), y = mk_un(k, TP_OP_ABS, e);
  if (beta > 0)
    y = mk_select(k, mk_binc(k, TP_OP_LT, y, beta), mk_mulc(k, mk_mul(k, e, e), 0.5 / beta),
        mk_addc(k, y, -0.5 * beta));
  GIVE_LOSS(y, &a[2]);
}

/* log x, -100 at least; 0 and below see a constant, so that no 0 * inf arises in the gradient. */
static tp_val safe_log(tp_mk k, tp_val x) {
  tp_val none = mk_binc(k, TP_OP_LE, x, 0), some = mk_select(k, none, mk_like(k, 1, x), x);
  return mk_select(k, none, mk_like(k, -100, x), mk_binc(k, TP_OP_MAXIMUM, mk_log(k, some), -100));
}

METHOD(bce) {
  LOSS;
  tp_val w = tp_arg_t(&a[2]);
  tp_val on = mk_mul(k, t, safe_log(k, x)),
         off = mk_mul(k, mk_cbin(k, TP_OP_SUB, 1, t), safe_log(k, mk_cbin(k, TP_OP_SUB, 1, x)));
  tp_val y = mk_neg(k, mk_add(k, on, off));
  if (w.node) y = mk_mul(k, y, w);
  GIVE_LOSS(y, &a[3]);
}

/* t log t - t x, where 0 log 0 is 0 */
METHOD(kl_div) {
  LOSS;
  tp_val y;
  if (tp_arg_b(&a[3], false)) y = mk_mul(k, mk_exp(k, t), mk_sub(k, t, x));
  else {
    tp_val some = mk_select(k, mk_binc(k, TP_OP_EQ, t, 0), mk_like(k, 1, t), t);
    y = mk_sub(k, mk_mul(k, t, mk_log(k, some)), mk_mul(k, t, x));
  }
  if (!is(&a[2], "batchmean", false)) GIVE_LOSS(y, &a[2]);
  if (tp_rankof(x) == 0) return tp_wrong(k, TP_E_SHAPE, "a scalar has no batch axis");
  GIVE(mk_cast(k, mk_div(k, total(k, y), mk_size(k, mk_extent(x, 0), tp_dtypeof(x))), d));
}

/* ---- negative log likelihood ---- */

typedef struct nll {
  tp_mk k;
  /* log probabilities; class indices (or probabilities); one weight a class, in lp's shape, or
   * {NULL} */
  tp_val lp, target, weight;
  int axis; /* of the classes */
  const tp_arg *reduction;
  int64_t ignore; /* the index that counts for nothing */
  double smooth;
} nll;

static tp_val classes_sum(const nll *c, tp_val x) {
  return mk_reduce(c->k, TP_OP_SUM, x, 1, &c->axis, false);
}

/* The element of each row of x that the index names. */
static tp_val picked(const nll *c, tp_val x, tp_val index) {
  tp_val v = tp_pick(c->k, TP_OP_GATHER, x, mk_unsqueeze(c->k, index, c->axis), c->axis);
  return mk_squeeze(c->k, v, c->axis);
}

static tp_val weighted(const nll *c, tp_val x) {
  return c->weight.node ? mk_mul(c->k, x, c->weight) : x;
}

/* The loss blurred over all classes. */
static tp_val blur(const nll *c) {
  return mk_div(c->k, mk_neg(c->k, classes_sum(c, weighted(c, c->lp))),
      mk_size(c->k, mk_extent(c->lp, c->axis), tp_dtypeof(c->lp)));
}

static tp_val by_index(const nll *c) {
  tp_mk k = c->k;
  tp_val keep = mk_binc(k, TP_OP_NE, c->target, (double)c->ignore),
         index = mk_where(k, keep, c->target);
  tp_val y = mk_neg(k, picked(c, c->lp, index)),
         w = c->weight.node ? picked(c, c->weight, index) : tp_none;
  if (w.node) y = mk_mul(k, y, w);
  if (c->smooth > 0) y = mk_add(k, mk_mulc(k, y, 1 - c->smooth), mk_mulc(k, blur(c), c->smooth));
  y = mk_where(k, keep, y);
  if (!is(c->reduction, "mean", true)) return reduced_loss(k, y, c->reduction);
  w = w.node ? mk_where(k, keep, w) : mk_cast(k, keep, tp_dtypeof(c->lp));
  return mk_div(k, total(k, y), total(k, w));
}

static tp_val by_probability(const nll *c) {
  tp_mk k = c->k;
  tp_val t = mk_cast(k, c->target, tp_dtypeof(c->lp));
  if (c->smooth > 0) {
    tp_val share =
        mk_cbin(k, TP_OP_DIV, c->smooth, mk_size(k, mk_extent(c->lp, c->axis), tp_dtypeof(c->lp)));
    t = mk_add(k, mk_mulc(k, t, 1 - c->smooth), share);
  }
  return reduced_loss(k, mk_neg(k, classes_sum(c, weighted(c, mk_mul(k, c->lp, t)))), c->reduction);
}

/* The weight of each class, [C], in x's shape. */
static tp_val spread_weight(tp_mk k, tp_val w, tp_val x, int axis) {
  if (tp_rankof(w) != 1 || !tp_equal(k, mk_extent(w, 0), mk_extent(x, axis)))
    return tp_wrong(k, TP_E_SHAPE, "weight has one number for each class, of which there are %s",
               tp_text(k, mk_extent(x, axis))),
           tp_none;
  for (int i = axis + 1; i < tp_rankof(x); i++) w = mk_unsqueeze(k, w, -1);
  return mk_expand(k, mk_cast(k, w, tp_dtypeof(x)), tp_rankof(x), tp_outof(x)->shape);
}

/* Does t have x's shape, but for axis `but` (-1: none)? */
static bool shaped_as(const nll *c, tp_val t, tp_val x, int but) {
  int n = 0;
  if (tp_rankof(t) != tp_rankof(x) - (but >= 0)) return false;
  for (int i = 0; i < tp_rankof(x); i++)
    if (i != but && !tp_equal(c->k, mk_extent(t, n++), mk_extent(x, i))) return false;
  return true;
}

/* "f32 (8, 10)" */
static const char *type_text(tp_mk k, tp_val v, int but) {
  const tp_ix *shape[TP_MAXRANK];
  int rank = mk_shape_but(k, v, but >= 0, &but, false, shape);
  return tp_printf(&k.g->arena, "%s (%s)", but < 0 ? tp_dtype_name(tp_dtypeof(v)) : "i64",
      tp_extents(k.g, rank, shape));
}

/* Indices have x's shape without the classes; probabilities (shares) have x's. */
static bool classes_fit(const nll *c, tp_val x, tp_val target, bool shares) {
  tp_mk k = c->k;
  bool probable = shares && tp_dtype_float(tp_dtypeof(target));
  if (probable ? shaped_as(c, target, x, -1)
               : !tp_dtype_float(tp_dtypeof(target)) && shaped_as(c, target, x, c->axis))
    return true;
  return tp_wrong(k, tp_dtype_float(tp_dtypeof(target)) && !shares ? TP_E_DTYPE : TP_E_SHAPE,
      "target %s is %s beside %s, %s: it holds class indices, %s%s%s", tp_called(k.g, target.node),
      type_text(k, target, -1), tp_called(k.g, x.node), type_text(k, x, -1),
      type_text(k, x, c->axis), shares ? ", or probabilities, " : "",
      shares ? type_text(k, x, -1) : "");
}

static bool prepare(nll *c, tp_val x, tp_val target, tp_val weight, bool shares) {
  tp_mk k = c->k;
  int rank = tp_rankof(x);
  if (rank < 1) return tp_wrong(k, TP_E_SHAPE, "a scalar has no axis of classes");
  c->axis = rank == 1 ? 0 : 1;
  c->lp = tp_wide(k, x);
  c->target = tp_dtypeof(target) == TP_BOOL ? mk_cast(k, target, TP_I64) : tp_index_arg(k, target);
  if (!c->lp.node || !c->target.node || !classes_fit(c, x, target, shares)) return false;
  c->weight = weight.node ? spread_weight(k, weight, c->lp, c->axis) : tp_none;
  return !weight.node || c->weight.node;
}

METHOD(cross_entropy) {
  nll c = {
    .k = k, .reduction = &a[3], .ignore = tp_arg_i(&a[4], -100), .smooth = tp_arg_f(&a[5], 0)
  };
  if (!prepare(&c, a[0].val, a[1].val, tp_arg_t(&a[2]), true)) return false;
  c.lp = tp_log_softmax_of(k, c.lp, c.axis);
  if (!c.lp.node) return false;
  GIVE(mk_cast(k, tp_dtype_float(tp_dtypeof(c.target)) ? by_probability(&c) : by_index(&c),
      tp_float_of(a[0].val)));
}

METHOD(nll_loss) {
  nll c = { .k = k, .reduction = &a[3], .ignore = tp_arg_i(&a[4], -100) };
  if (!prepare(&c, a[0].val, a[1].val, tp_arg_t(&a[2]), false)) return false;
  GIVE_FLOAT(by_index(&c));
}
