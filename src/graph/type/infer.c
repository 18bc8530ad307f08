/* infer: tp_build and, for each class of ops.def, domain, shapes and dtypes, with every check that
 * needs no points. build.c makes conversions. tp_infer reads `in` and `attr` and writes `dom` and
 * `out`, and may be run again. */
#include "graph/core.h"
#include "base/env.h"

static bool same_shape(tp_typing q, tp_dtype d) {
  const tp_out *x = tp_inof(q.n, 0);
  return tp_out1(q, d, x->rank, x->shape);
}

/* ---- domains ---- */

static bool check_order(tp_typing q) {
  if ((q.n->op != TP_OP_INPUT && q.n->op != TP_OP_CALL) ||
      tp_dom_same(q.n->ndom, q.n->dom, q.n->attr.ndom, q.n->attr.dom))
    return true;
  const char *list = "";
  for (int i = 0; i < q.n->ndom; i++)
    list = tp_printf(&q.g->arena, "%s%s%s", list, i ? ", " : "", q.n->dom[i]->name);
  return tp_fail(q.err, TP_E_DOMAIN, q.pos,
      "'%s' must list its dims once each, in the order in which they were made: {%s}",
      tp_label(q.n), list);
}

static bool operands_inside(tp_typing q) {
  for (int k = 0; k < q.n->nin; k++) {
    const tp_node *x = tp_in(q.n, k);
    for (int i = 0; i < x->ndom; i++)
      if (!tp_has_dim(q.n, x->dom[i]))
        return tp_fail(q.err, TP_E_DOMAIN, q.pos,
            "'%s' has no dim '%s', which its operand '%s' has", tp_label(q.n), x->dom[i]->name,
            tp_label(x));
  }
  return true;
}

static void union_operands(tp_graph *g, tp_node *n) {
  for (int k = 0; k < n->nin; k++) {
    const tp_node *x = tp_in(n, k);
    if (n->ndom == 0) n->ndom = x->ndom, n->dom = x->dom;
    else if (x->ndom) tp_dims_add(g, n, x->ndom, x->dom);
  }
}

static bool infer_dom(tp_typing q) {
  tp_node *n = q.n;
  const tp_attr *at = &n->attr;
  n->ndom = 0;
  n->dom = NULL;
  if (at->ndom) tp_dims_add(q.g, n, at->ndom, at->dom);
  switch (n->op) {
  case TP_OP_MERGE:
  case TP_OP_PARAM:
  case TP_OP_CALL: return check_order(q) && operands_inside(q);
  case TP_OP_ACCUM: return true;
  case TP_OP_READ:
    for (int i = 0; i < tp_in(n, 0)->ndom; i++) {
      tp_dom_add(q.g, n, at->at[i].lo);
      if (at->at[i].range) tp_dom_add(q.g, n, at->at[i].hi);
    }
    for (int i = 0; i < at->nix; i++) tp_dom_add(q.g, n, at->ix[i]);
    return true;
  case TP_OP_GRAD:
    n->ndom = tp_in(n, n->nin - 1)->ndom;
    n->dom = tp_in(n, n->nin - 1)->dom;
    return true;
  case TP_OP_FILL:
  case TP_OP_IOTA:
    for (int i = 0; i < at->nix; i++) tp_ends_add(q.g, n, at->ix[i]);
    return true;
  case TP_OP_VALUE:
  case TP_OP_SLICE:
  case TP_OP_PAD:
  case TP_OP_RESHAPE:
  case TP_OP_EXPAND:
  case TP_OP_UNFOLD:
  case TP_OP_FOLD:
  case TP_OP_CONV:
  case TP_OP_CONV_DATA:
  case TP_OP_CONV_WEIGHT:
    /* an index expression is an operand too */
    for (int i = 0; i < at->nix; i++) tp_dom_add(q.g, n, at->ix[i]);
    /* fallthrough */
  default: union_operands(q.g, n); return check_order(q);
  }
}

/* ---- sources ---- */

static bool rand_ok(tp_typing q) {
  const tp_attr *a = &q.n->attr;
  bool isfloat = tp_dtype_float(a->dtype), ints = a->rand == TP_RAND_RANDINT;
  if ((a->rand == TP_RAND_UNIFORM || a->rand == TP_RAND_NORMAL) && !isfloat)
    return tp_fail(q.err, TP_E_DTYPE, q.pos,
        "uniform and normal draw floats, not %s: draw f32 and convert with :to",
        tp_dtype_name(a->dtype));
  if (ints && (isfloat || a->dtype == TP_BOOL))
    return tp_fail(q.err, TP_E_DTYPE, q.pos, "randint draws integers, not %s: convert with :to",
        tp_dtype_name(a->dtype));
  const tp_out *key = q.n->nin ? tp_inof(q.n, 0) : NULL;
  if (key && key->dtype != TP_I64)
    return tp_fail(q.err, TP_E_DTYPE, q.pos,
        "the key of a draw is an i64 scalar, not %s: convert with :to(\"i64\")",
        tp_dtype_name(key->dtype));
  if (key && key->rank)
    return tp_fail(q.err, TP_E_SHAPE, q.pos,
        "the key of a draw is an i64 scalar, not one of shape (%s)",
        tp_extents(q.g, key->rank, key->shape));
  if (ints && a->limits[0] >= a->limits[1])
    return tp_fail(q.err, TP_E_OPTION, q.pos, "randint needs lo < hi, not %lld and %lld",
        (long long)a->limits[0], (long long)a->limits[1]);
  return a->rand != TP_RAND_BERNOULLI || (a->f[0] >= 0 && a->f[0] <= 1) ||
      tp_fail(
          q.err, TP_E_OPTION, q.pos, "the probability of bernoulli is %g, not in [0, 1]", a->f[0]);
}

static bool infer_const(tp_typing q) {
  const tp_array *a = q.n->attr.data;
  tp_ix *shape[TP_MAXRANK];
  for (int i = 0; i < a->rank; i++) shape[i] = tp_ix_const(q.g->ix, a->shape[i]);
  return tp_out1(q, a->dtype, a->rank, shape);
}

bool tp_shape_known(tp_typing q, const char *what, const char *advice) {
  for (int i = 0; i < q.n->attr.nix; i++)
    if (tp_mentions_end(q.g, q.n->attr.ix[i]))
      return tp_fail(q.err, TP_E_SHAPE, q.pos,
          "the shape of %s '%s' mentions %s, which is known only while running%s", what,
          tp_label(q.n), tp_ix_str(q.n->attr.ix[i]), advice);
  return true;
}

static bool infer_src(tp_typing q) {
  const tp_attr *a = &q.n->attr;
  bool input = q.n->op == TP_OP_INPUT, iota = q.n->op == TP_OP_IOTA;
  if (input && !tp_shape_known(q, "input", ": give it a bound of its own, P:bound(...)"))
    return false;
  if (q.n->op == TP_OP_CONST) return infer_const(q);
  if (q.n->op == TP_OP_VALUE)
    return tp_out1(q, tp_ix_is_cond(a->ix[0]) ? TP_BOOL : TP_I64, 0, NULL);
  if (q.n->op == TP_OP_RAND && !rand_ok(q)) return false;
  if (iota && !tp_axis_in(q, a->axis, a->nix)) return false;
  return tp_rank_ok(q, a->nix + (input ? q.n->ndom : 0)) &&
      tp_out1(q, iota ? TP_I64 : a->dtype, a->nix, a->ix);
}

/* ---- elementwise ---- */

static bool all_dtype(const tp_node *n, int from) {
  for (int k = from + 1; k < n->nin; k++)
    if (tp_inof(n, k)->dtype != tp_inof(n, from)->dtype) return false;
  return true;
}

static bool broadcast_all(tp_typing q, tp_dtype d) {
  tp_ix *shape[TP_MAXRANK];
  int rank = 0;
  for (int k = 0; k < q.n->nin; k++) {
    const tp_out *x = tp_inof(q.n, k);
    if (!tp_broadcast(q.g, q.n, &rank, shape, x->rank, x->shape))
      return tp_bad_shape(q,
          "shapes do not broadcast (they align at the last axis, and only a literal 1 stretches)");
  }
  return tp_out1(q, d, rank, shape);
}

static bool infer_un(tp_typing q) {
  tp_dtype d = tp_inof(q.n, 0)->dtype;
  if (tp_ops[q.n->op].cls == TP_CLS_CAST) return same_shape(q, q.n->attr.dtype);
  if (tp_ops[q.n->op].cls == TP_CLS_UNF && !tp_dtype_float(d))
    return tp_bad_dtype(q, "it takes floats: convert with :to(\"f32\")");
  if (d == TP_BOOL && q.n->op != TP_OP_DETACH) return tp_bad_dtype(q, "convert with :to(\"i64\")");
  return same_shape(q, d);
}

static bool infer_log(tp_typing q) {
  for (int k = 0; k < q.n->nin; k++)
    if (tp_inof(q.n, k)->dtype != TP_BOOL)
      return tp_bad_dtype(q, "it takes bool: compare first, as in x:ne(0)");
  return broadcast_all(q, TP_BOOL);
}

static bool infer_bin(tp_typing q) {
  tp_dtype d = tp_inof(q.n, 0)->dtype;
  bool compares = tp_ops[q.n->op].cls == TP_CLS_CMP;
  if (!all_dtype(q.n, 0)) return tp_bad_dtype(q, "convert one with :to");
  if (q.n->op == TP_OP_DIV && !tp_dtype_float(d))
    return tp_bad_dtype(q, "division is of floats: convert with :to(\"f32\"), or use floordiv");
  if (d == TP_BOOL && !compares && q.n->op != TP_OP_MINIMUM && q.n->op != TP_OP_MAXIMUM)
    return tp_bad_dtype(q, "convert with :to(\"i64\"), or use land, lor");
  return broadcast_all(q, compares ? TP_BOOL : d);
}

static bool infer_sel(tp_typing q) {
  if (tp_inof(q.n, 0)->dtype != TP_BOOL)
    return tp_bad_dtype(q, "the condition must be bool: compare first, as in c:ne(0)");
  return all_dtype(q.n, 1) ? broadcast_all(q, tp_inof(q.n, 1)->dtype)
                           : tp_bad_dtype(q, "both sides need one dtype: convert one with :to");
}

/* ---- reductions ---- */

/* The shape of operand 0 without the axes (with 1 for them if keepdim). */
static bool reduced(tp_typing q, int naxes, const int *axes, tp_dtype d) {
  const tp_out *x = tp_inof(q.n, 0);
  tp_ix *shape[TP_MAXRANK];
  int rank = 0, next = 0;
  for (int i = 0; i < naxes; i++)
    if (axes[i] < 0 || axes[i] >= x->rank || (i && axes[i] <= axes[i - 1]))
      return tp_bad_shape(q, "axis %d of rank %d", axes[i], x->rank);
  for (int i = 0; i < x->rank; i++) {
    bool gone = next < naxes && axes[next] == i;
    next += gone;
    if (!gone) shape[rank++] = x->shape[i];
    else if (q.n->attr.keepdim) shape[rank++] = tp_ix_const(q.g->ix, 1);
  }
  return tp_out1(q, d, rank, shape);
}

static bool infer_red(tp_typing q) {
  tp_dtype d = tp_inof(q.n, 0)->dtype;
  if (tp_ops[q.n->op].cls == TP_CLS_ARG) return reduced(q, 1, &q.n->attr.axis, TP_I64);
  if (d == TP_BOOL && (q.n->op == TP_OP_SUM || q.n->op == TP_OP_PROD))
    return tp_bad_dtype(q, "convert with :to(\"i64\"), or use any, all");
  return reduced(q, q.n->attr.naxes, q.n->attr.axes, d);
}

static bool infer_scan(tp_typing q) {
  const tp_out *x = tp_inof(q.n, 0), *c = tp_inof(q.n, q.n->nin - 1);
  if (x->dtype == TP_BOOL) return tp_bad_dtype(q, "convert with :to(\"i64\")");
  if (x->dtype != c->dtype) return tp_bad_dtype(q, "convert one with :to");
  bool fits = x->rank == c->rank;
  for (int i = 0; fits && i < x->rank; i++)
    fits = tp_extent_eq(q.g, x->shape[i], c->shape[i], tp_ops[q.n->op].text);
  if (!fits) return tp_bad_shape(q, "shapes differ");
  return tp_axis_in(q, q.n->attr.axis, x->rank) && same_shape(q, x->dtype);
}

/* ---- outside world ---- */

/* Checks that extents do not vary along a dim in `over`, whose points lie side by side in one
 * array. */
static bool rows_equal(tp_typing q, const char *of, int rank, tp_ixs shape) {
  int axis;
  tp_sym *d = tp_varies(rank, shape, q.n->attr.nover, q.n->attr.over, &axis);
  return !d ||
      tp_fail(q.err, TP_E_RAGGED, q.pos,
          "one call over '%s' of %s, whose extent %s varies with it: reduce or pad first", d->name,
          of, tp_ix_str(shape[axis]));
}

static bool infer_call(tp_typing q) {
  const tp_attr *a = &q.n->attr;
  for (int i = 0; i < a->nover; i++) {
    if (a->fn >= 0 && tp_stop_of(q.g, a->over[i]))
      return tp_fail(
          q.err, TP_E_OPTION, q.pos, "'over' names dim '%s', which ends by data", a->over[i]->name);
    if (!tp_has_dim(q.n, a->over[i]))
      return tp_fail(q.err, TP_E_DOMAIN, q.pos,
          "'over' names dim '%s', which the call's domain lacks", a->over[i]->name);
  }
  tp_outs(q, a->nspec);
  for (int k = 0; k < q.n->nin + a->nspec; k++) {
    bool in = k < q.n->nin;
    const tp_out *x = in ? tp_inof(q.n, k) : &a->spec[k - q.n->nin];
    if (!tp_rank_ok(q, a->nover + x->rank) ||
        !rows_equal(q, in ? tp_called(q.g, tp_in(q.n, k)) : "its results", x->rank, x->shape))
      return false;
    if (!in) tp_out_set(q, k - q.n->nin, x->dtype, x->rank, x->shape);
  }
  return true;
}

/* Operand k of an environment's operator: dtype and shape [size], or a scalar if size < 0. */
static bool env_operand(tp_typing q, int k, const char *what, tp_dtype d, int size) {
  const tp_out *x = tp_inof(q.n, k);
  if (x->dtype != d)
    return tp_fail(q.err, TP_E_DTYPE, q.pos, "the %s of '%s' is %s, must be %s: convert with :to",
        what, q.n->attr.str, tp_dtype_name(x->dtype), tp_dtype_name(d));
  bool scalar = size < 0;
  if (x->rank == !scalar &&
      (scalar || tp_extent_eq(q.g, x->shape[0], tp_ix_const(q.g->ix, size), tp_ops[q.n->op].text)))
    return true;
  return scalar ? tp_bad_shape(q, "the %s must be a scalar", what)
                : tp_bad_shape(q, "the %s must have shape (%d)", what, size);
}

static void env_out(tp_typing q, int k, tp_dtype d, int size) {
  tp_ix *e = tp_ix_const(q.g->ix, size);
  tp_out_set(q, k, d, size >= 0, &e);
}

static bool env_step(tp_typing q, const tp_env *e) {
  bool discrete = e->nactions > 0;
  int width = tp_env_width(e);
  if (q.n->nin < 2 || q.n->nin > 3)
    return tp_fail(q.err, TP_E_SHAPE, q.pos, "'env_step' takes 2 or 3 operands, not %d", q.n->nin);
  if (!env_operand(q, 0, "state", TP_F64, width) ||
      !env_operand(q, 1, "action", discrete ? TP_I64 : TP_F32, discrete ? -1 : e->nact) ||
      (q.n->nin == 3 && !env_operand(q, 2, "noise", TP_F64, tp_env_nu(e))))
    return false;
  tp_outs(q, 5);
  env_out(q, 0, TP_F64, width);
  env_out(q, 1, TP_F32, tp_env_nobs(e));
  env_out(q, 2, TP_F32, -1);
  env_out(q, 3, TP_BOOL, -1);
  env_out(q, 4, TP_BOOL, -1);
  return true;
}

static bool unknown_env(tp_typing q) {
  const char *names[64], *name = q.n->attr.str ? q.n->attr.str : "";
  char hint[TP_HINT];
  return tp_fail(q.err, TP_E_OPTION, q.pos, "no environment '%s'%s", name,
      tp_hint(hint, name, names, tp_env_names(names, TP_LEN(names))));
}

static bool infer_env(tp_typing q) {
  const tp_env *e = q.n->attr.str ? tp_env_find(q.n->attr.str) : NULL;
  if (!e) return unknown_env(q);
  if (q.n->op == TP_OP_ENV_STEP) return env_step(q, e);
  bool reset = q.n->op == TP_OP_ENV_RESET;
  if (q.n->nin > 1 || (q.n->nin == 0 && e->nreset > 0))
    return tp_fail(
        q.err, TP_E_SHAPE, q.pos, "'%s' takes one operand, not %d", tp_ops[q.n->op].text, q.n->nin);
  int size = reset ? e->nreset : tp_env_width(e);
  if (q.n->nin && !env_operand(q, 0, reset ? "noise" : "state", TP_F64, size)) return false;
  tp_outs(q, 1);
  env_out(q, 0, reset ? TP_F64 : TP_F32, reset ? tp_env_width(e) : tp_env_nobs(e));
  return true;
}

static bool infer_grad(tp_typing q) {
  if (q.n->attr.leaves < 0 || q.n->attr.leaves > TP_MAX(q.n->nin - 2, 0))
    return tp_fail(q.err, TP_E_OPTION, q.pos,
        "'grad' has %d operands, %d of them leafs: a loss and what is asked about are "
        "missing",
        q.n->nin, q.n->attr.leaves);
  for (int k = 0; k < q.n->nin; k++)
    if (!tp_dtype_float(tp_inof(q.n, k)->dtype))
      return tp_bad_dtype(q,
          k + 1 < q.n->nin - q.n->attr.leaves
              ? "a loss must be a float: convert with :to(\"f32\")"
              : "only floats have gradients: convert with :to(\"f32\")");
  const tp_out *x = tp_inof(q.n, q.n->nin - 1);
  return tp_out1(q, x->dtype, x->rank, x->shape);
}

/* ---- all of them ---- */

static tp_infer_fn *const by_class[] = {
  [TP_CLS_SRC] = infer_src,
  [TP_CLS_UN] = infer_un,
  [TP_CLS_UNF] = infer_un,
  [TP_CLS_LOG] = infer_log,
  [TP_CLS_CAST] = infer_un,
  [TP_CLS_BIN] = infer_bin,
  [TP_CLS_CMP] = infer_bin,
  [TP_CLS_SEL] = infer_sel,
  [TP_CLS_RED] = infer_red,
  [TP_CLS_ARG] = infer_red,
  [TP_CLS_SCAN] = infer_scan,
  [TP_CLS_MM] = tp_infer_matmul,
  [TP_CLS_CONV] = tp_infer_conv,
  [TP_CLS_MOVE] = tp_infer_move,
  [TP_CLS_GATH] = tp_infer_gather,
  [TP_CLS_SORT] = tp_infer_sort,
  [TP_CLS_FMT] = tp_infer_blocks,
  [TP_CLS_TIME] = tp_infer_time,
  [TP_CLS_FX] = infer_call,
  [TP_CLS_ENV] = infer_env,
  [TP_CLS_GRAD] = infer_grad,
};

static bool extent_ok(tp_typing q, tp_ix *e) {
  tp_dims syms;
  const char *why = NULL, *name = "";
  int64_t v;
  if (tp_ix_is_cond(e)) why = "is a condition";
  else if (tp_ix_is_const(e, &v) && v < 0) why = "is negative";
  for (int i = 0, n = tp_ix_syms(e, &syms); i < n && !why; i++) {
    if (syms[i]->kind != TP_SYM_BOUND && !tp_has_dim(q.n, syms[i]))
      why = "mentions what is not in its domain: ";
    else if (!tp_end_known(q.g, syms[i], q.n->ndom, q.n->dom))
      why = "mentions an end that depends on data, at each point of dims that its domain lacks: ";
    name = syms[i]->name;
  }
  return !why ||
      tp_fail(q.err, TP_E_SHAPE, q.pos, "extent %s of '%s' %s%s", tp_ix_str(e), tp_label(q.n), why,
          name);
}

/* Checks attributes, which the functions above take for granted. */
static bool attrs_ok(const tp_node *n, tp_error *err) {
  const tp_attr *a = &n->attr;
  bool ok = true;
  switch (n->op) {
  case TP_OP_CONST: ok = a->data && a->data->rank <= TP_MAXRANK; break;
  case TP_OP_VALUE: ok = a->nix == 1; break;
  case TP_OP_SLICE:
  case TP_OP_PAD:
  case TP_OP_UNFOLD: ok = a->nix == 2; break;
  case TP_OP_FOLD: ok = a->nix == 1; break;
  case TP_OP_DEQUANTIZE:
  case TP_OP_MATMUL_BLOCKS: ok = a->format != TP_FORMAT_NONE; break;
  case TP_OP_READ: ok = a->at || tp_in(n, 0)->ndom == 0; break;
  case TP_OP_ACCUM:
    for (int k = 0; k < n->nin; k++)
      ok &= n->in[k].at || (n->in[k].gather ? tp_in(n, k)->ndom : a->ndom) == 0;
    break;
  default: break;
  }
  for (int i = 0; i < a->nix; i++) ok &= a->ix[i] != NULL;
  return ok || tp_fail(err, TP_E_OPTION, n->pos, "'%s' lacks an attribute", tp_ops[n->op].text);
}

bool tp_infer(tp_graph *g, tp_node *n, tp_error *err) {
  tp_typing q = { g, n, err, n->pos };
  if (!attrs_ok(n, err) || !infer_dom(q) || !tp_dims_ok(n, err) || !by_class[tp_ops[n->op].cls](q))
    return false;
  for (int k = 0; k < n->nout; k++)
    for (int i = 0; i < n->out[k].rank; i++)
      if (!extent_ok(q, n->out[k].shape[i])) return false;
  return true;
}

/* ---- tp_build ---- */

static bool operands_ok(tp_graph *g, tp_op op, int nin, const tp_val *in, tp_error *err) {
  if (!tp_nin_ok(op, nin, g->pos, err)) return false;
  for (int k = 0; k < nin; k++) {
    if (!in[k].node)
      return tp_fail(
          err, TP_E_OPTION, g->pos, "operand %d of '%s' is missing", k + 1, tp_ops[op].text);
    if (!tp_is_node(g, in[k].node))
      return tp_fail(err, TP_E_OPTION, g->pos, "operand %d of '%s' belongs to another program",
          k + 1, tp_ops[op].text);
  }
  return true;
}

static bool name_free(tp_graph *g, tp_op op, const tp_attr *at, tp_error *err) {
  bool input = op == TP_OP_INPUT;
  if (!input && op != TP_OP_PARAM) return true;
  int n = input ? g->inputs.n : g->params.n;
  for (int i = 0; i < n && at->str; i++) {
    const tp_node *x = input ? g->inputs.v[i] : g->params.v[i];
    if (x->attr.str && strcmp(x->attr.str, at->str) == 0)
      return tp_fail(err, TP_E_OPTION, g->pos, "there is %s '%s' already (%s)",
          input ? "an input" : "a parameter", at->str, tp_line_of(g, x->pos));
  }
  return true;
}

tp_node *tp_build(
    tp_graph *g, tp_op op, int nin, const tp_val *in, const tp_attr *attr, tp_error *err) {
  static const tp_attr none;
  if (!attr) attr = &none;
  if (!operands_ok(g, op, nin, in, err) || !name_free(g, op, attr, err)) return NULL;
  tp_node *n = tp_node_new(g, op);
  tp_attr_copy(g, &n->attr, attr);
  for (int k = 0; k < nin; k++) tp_edge_push(g, n, (tp_edge){ .src = in[k], .pos = g->pos });
  bool ok = tp_infer(g, n, err);
  const char *why = tp_ictx_overflowed(g->ix);
  if (why) tp_fail(err, TP_E_AFFINE, n->pos, "a size of '%s' %s", tp_label(n), why);
  if (!ok || why) {
    tp_array_unref(n->attr.data);
    return NULL;
  }
  tp_node_register(g, n);
  return n;
}
