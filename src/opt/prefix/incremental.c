/* incremental: a reduction over a range that moves along a dim is a recurrence along that dim.
 *
 *   y[t] = sum(x[0 .. t+1])          =>   y[t] = y[t-1] + x[t]      (prefix.c)
 *     and prod, max, min, any, all, and suffixes backwards
 *   y[t] = a[t] * sum(f(x[t .. T]))  =>   y[t] = a[t] * s[t],  s[t] = f(x[t]) + s[t+1]
 *     (factor_rows.c)
 *   y[t] = x[0 .. t+1]:mT() @ z[0 .. t+1]   =>   y[t] = y[t-1] + x[t] z[t]
 *     each element of a row of x with each of the same row of z
 *
 * so work is linear in the dim's length. Integers, largest and smallest values and bools stay the
 * same bit for bit. Sums and products of floats are carried in f64, up to as many elements as other
 * sums are (store/sums.c), which is no worse than a sum of the range in any order; `precise` leaves
 * them as they were written. It runs before gradients are built where there are any, so derivatives
 * are those of recurrences. A largest value that is a NaN passes no derivative to any row. */
#include "opt/prefix/prefix.h"

static const char MOVING_RULE[] = "a reduction over a range that moves => a recurrence";

/* need: needed points of the graph as it came, made when first asked for. apart: the last result is
 * right only for windows of more than a few rows. open: gradients are still to be built. */
typedef struct incremental {
  tp_mk mk;
  bool precise, open, apart;
  tp_need *need;
} incremental;

static tp_dtype summed_in(const tp_out *o) {
  return o->dtype == TP_F64 || tp_is_small(o) ? TP_F64 : TP_F32;
}

/* A window is summed as a tree, so f32 is enough for it. */
static tp_dtype carried_in(const moving_range *m) {
  const tp_out *o = tp_outof(m->x);
  if (!tp_dtype_float(o->dtype) || (m->red != TP_RED_SUM && m->red != TP_RED_PROD)) return o->dtype;
  return m->l && m->h && o->rank && o->dtype != TP_F64 ? TP_F32 : summed_in(o);
}

/* Largest and smallest values do not depend on the order. */
static bool may_reorder(const incremental *s, tp_red red, tp_dtype d) {
  return !s->precise || !tp_dtype_float(d) || red == TP_RED_MAX || red == TP_RED_MIN;
}

static int ranges(int n, const tp_at *at, int *last) {
  int count = 0;
  for (int k = 0; k < n; k++)
    if (at[k].range) count++, *last = k;
  return count;
}

/* ---- sums over ranges ---- */

/* A ring takes up all rows from the first on (two_stacks.c): are they rows of the windows anyway,
 * and is none of them made of the result? */
static bool takes_only_windows(incremental *s, const moving_range *m) {
  tp_graph *g = s->mk.g;
  const tp_node *x = m->x.node, *n = m->of;
  if (s->open || tp_moving_made_of(m)[n->id]) return false;
  if (!s->need) s->need = tp_need_outputs(g, s->mk.err);
  if (!s->need || s->need->rough) return false;
  unsigned long before = tp_isl_budget(g->ix, TP_TUNE_NEED_HULLS);
  moving_range all = tp_moving_all(m);
  tp_set *at = tp_set_and(
      tp_set_copy(s->need->set[n->id]), tp_set_cond(g->ix, n->ndom, n->dom, tp_window_is_long(m)));
  tp_set *needed =
      tp_set_apply(tp_set_copy(at), tp_rel_at(g->ix, n->ndom, n->dom, x->ndom, x->dom, m->at));
  tp_set *taken = tp_set_apply(at, tp_rel_at(g->ix, n->ndom, n->dom, x->ndom, x->dom, all.at));
  bool only = tp_set_subset(g->ix, taken, needed);
  tp_set_free(taken);
  tp_set_free(needed);
  return tp_isl_within(g->ix, before) && only;
}

/* Does m, whose points are read at `at`, become a recurrence? Fills in the rest of m. */
static bool moves(incremental *s, moving_range *m, const tp_at *at) {
  m->mk = s->mk, m->open = s->open, m->at = at;
  if (ranges(m->x.node->ndom, at, &m->r) != 1 || !tp_moving_range(m)) return false;
  bool ring = tp_takes_ring(m);
  s->apart |= ring && m->kind != MONOID_RED;
  return !ring || takes_only_windows(s, m);
}

/* The reduction of x at `at` as a recurrence; {NULL}, without an error: it becomes none. */
static tp_val over_range(incremental *s, const tp_node *of, tp_red red, tp_val x, const tp_at *at) {
  moving_range m = { .of = of, .red = red, .x = x };
  if (!moves(s, &m, at)) return tp_none;
  m.dtype = carried_in(&m);
  tp_val y = tp_moving_reduced(&m).v[0];
  bool picks = red == TP_RED_MAX || red == TP_RED_MIN;
  return s->open && picks && tp_dtype_float(m.dtype)
      ? mk_select(s->mk, mk_bin(s->mk, TP_OP_EQ, y, y), y, mk_detach(s->mk, y))
      : y;
}

/* ---- reductions of an expression over a range ---- */

enum { RANGE_DEPTH = 12 };

static const tp_node *range_below(tp_val v, int depth) {
  const tp_node *n = v.node, *found = NULL;
  int r;
  if (tp_rankof(v) < 1 || depth == 0) return NULL;
  if (n->op == TP_OP_READ) return ranges(tp_in(n, 0)->ndom, n->attr.at, &r) == 1 ? n : NULL;
  for (int k = 0; k < n->nin && !found; k++) {
    found = tp_rankof(n->in[k].src) ? range_below(n->in[k].src, depth - 1) : NULL;
    if (found && found->out[0].shape[0] != tp_outof(v)->shape[0]) found = NULL;
  }
  return found;
}

/* Finds the range of whose rows v is made, to be taken apart for n. False: no range that moves. */
static bool rows_of(const incremental *s, const tp_node *n, tp_val v, factor_rows *t) {
  const tp_node *read = range_below(v, RANGE_DEPTH);
  if (!read) return false;
  moving_range m = { .mk = s->mk, .open = s->open, .x = read->in[0].src, .at = read->attr.at };
  ranges(m.x.node->ndom, m.at, &m.r);
  if (!tp_moving_range(&m)) return false;
  *t = (factor_rows){ .mk = s->mk,
    .range = &m.at[m.r],
    .d = m.x.node->dom[m.r],
    .c = m.c,
    .window = m.l && m.h,
    .many = tp_takes_ring(&m) ? tp_window_is_long(&m) : NULL };
  return t->c == t->d || !tp_has_dim(n, t->d);
}

/* The reduction over these rows of m->x; no parts, without an error: it becomes no recurrence. */
static partial reduced(incremental *s, const factor_rows *t, moving_range *m) {
  const tp_at *at = m->x.node ? tp_at_but(s->mk.g, m->x.node, t->d, *t->range) : NULL;
  return at && moves(s, m, at) ? tp_moving_reduced(m) : tp_no_partial;
}

/* The sum of e's row times exp(exponent - below). Both are given one shape, which is carried. */
static tp_val exp_run(
    incremental *s, const tp_node *of, const factor_rows *t, const factor_row *e) {
  tp_mk mk = s->mk;
  tp_val both = e->row.node ? mk_mul(mk, e->row, e->exponent) : e->exponent, up = e->exponent;
  if (!both.node || !tp_same_dims(both.node, up.node)) return tp_none;
  const tp_out *o = tp_outof(both);
  moving_range m = { .of = of,
    .red = TP_RED_MAX,
    .x = mk_cast(mk, mk_expand(mk, up, o->rank, o->shape), summed_in(o)),
    .dtype = summed_in(o),
    .kind = MONOID_EXP,
    .weight = mk_expand(mk, e->row, o->rank, o->shape) };
  partial y = reduced(s, t, &m);
  if (!y.n) return tp_none;
  tp_val top = tp_undifferentiated(&m, tp_finite_top(&m, y.v[0])),
         z = mk_mul(mk, y.v[1], mk_exp(mk, mk_sub(mk, top, mk_cast(mk, e->below, m.dtype))));
  /* below is made of more than these rows, all of which may be -inf */
  bool apart = tp_ops[of->op].cls == TP_CLS_RED && of->attr.naxes > 1;
  return apart ? mk_select(mk, mk_binc(mk, TP_OP_EQ, y.v[1], 0), y.v[1], z) : z;
}

/* The sum of x, times e's fade for each row before x (e->behind: behind x). */
static tp_val fade_run(
    incremental *s, const tp_node *of, const factor_rows *t, const factor_row *e, tp_val x) {
  const tp_out *o = tp_outof(x);
  tp_dtype d = summed_in(o);
  moving_range m = { .of = of,
    .red = TP_RED_SUM,
    .kind = MONOID_AFFINE,
    .x = mk_cast(s->mk, x, d),
    .weight = mk_fill(s->mk, e->fade, d, o->rank, o->shape, x.node->ndom, x.node->dom),
    .behind = e->behind,
    .dtype = d };
  return reduced(s, t, &m).v[0];
}

/* Is there always a row, at points with more than a few rows if only the call says how many? If
 * not, n itself stays for points without rows. */
static bool never_empty(incremental *s, factor_rows *t, const tp_node *n) {
  const tp_at *at = t->range;
  if (tp_ix_prove_ge0(tp_ix_addc(tp_ix_sub(at->hi, at->lo), -1), n->ndom, n->dom)) return true;
  t->many = tp_ix_both(t->many, tp_ix_cmp(TP_LT, at->lo, at->hi));
  return s->apart = true;
}

/* y, which has the axes of a row of n's operand, summed along those that n sums. */
static tp_val summed_along(incremental *s, const tp_node *n, tp_val y, int naxes, const int *axes) {
  const tp_out *x = tp_inof(n, 0);
  return naxes ? mk_reduce(s->mk, TP_OP_SUM, mk_expand(s->mk, y, x->rank - 1, x->shape + 1), naxes,
                     axes, false)
               : y;
}

/* The term's reduction over the range and along the spatial axes `axes` of its rows, which come
 * first where a term is what rows have and nothing else. */
static tp_val run_of(incremental *s, const tp_node *n, factor_rows *t, const factor_row *e,
    int naxes, const int *axes) {
  tp_mk mk = s->mk;
  tp_red red = tp_ops[n->op].cls == TP_CLS_RED ? tp_op_red(n->op) : TP_RED_SUM;
  bool plain = !e->outside.node && !tp_is_weighed(e);
  tp_val x = e->row, y;
  if ((e->outside.node || e->exponent.node) && !never_empty(s, t, n)) return tp_none;
  if (!x.node && !e->exponent.node) x = mk_fill(mk, 1, n->out[0].dtype, 0, NULL, 1, &t->d);
  if (plain && naxes) x = mk_reduce(mk, n->op, x, naxes, axes, false);
  if (mk.err->code) return tp_none;
  y = e->exponent.node ? exp_run(s, n, t, e)
      : e->fade > 0    ? fade_run(s, n, t, e, x)
                       : over_range(s, n, red, x, tp_at_but(mk.g, x.node, t->d, *t->range));
  if (y.node && e->outside.node) y = mk_mul(mk, mk_cast(mk, e->outside, tp_dtypeof(y)), y);
  return plain || !y.node ? y : summed_along(s, n, y, naxes, axes);
}

/* sum((x - from)^2) = sum((x - mean)^2) + count * (mean - from)^2, whatever `from` is */
static tp_val squares_run(incremental *s, const tp_node *n, factor_rows *t) {
  tp_mk mk = s->mk;
  const tp_node *v = tp_in(n, 0);
  tp_val from,
      x = n->op == TP_OP_SUM && v->op == TP_OP_MUL && tp_in(v, 0) == tp_in(v, 1)
      ? tp_row_deviation(t, v->in[0].src, &from)
      : tp_none;
  if (!x.node || !tp_dtype_float(tp_dtypeof(x))) return tp_none;
  moving_range m = {
    .of = n, .red = TP_RED_SUM, .kind = MONOID_SQUARES, .x = x, .dtype = summed_in(tp_outof(x))
  };
  partial y = reduced(s, t, &m);
  if (!y.n || !never_empty(s, t, n)) return tp_none;
  tp_val off = mk_sub(mk, tp_partial_mean(&m, y.v[2], y.v[0]), mk_cast(mk, from, m.dtype));
  return mk_add(mk, y.v[1], mk_mul(mk, y.v[0], mk_mul(mk, off, off)));
}

static bool is_whole(incremental *s, const tp_node *n, factor_rows *t) {
  return n->op == TP_OP_SUM || n->op == TP_OP_PROD || n->out[0].dtype == TP_BOOL ||
      tp_dtype_float(n->out[0].dtype) || never_empty(s, t, n);
}

static tp_val reduced_run(incremental *s, const tp_node *n, factor_rows *t) {
  tp_val x = n->in[0].src;
  int axes[TP_MAXRANK], naxes = n->attr.naxes - 1;
  factor_row e = { 0 };
  if (naxes < 0 || n->attr.axes[0] != 0 || !rows_of(s, n, x, t) || !is_whole(s, n, t))
    return tp_none;
  for (int i = 0; i < naxes; i++) axes[i] = n->attr.axes[i + 1] - 1;
  tp_val y = squares_run(s, n, t);
  if (y.node) return summed_along(s, n, y, naxes, axes);
  if (s->mk.err->code) return y;
  if (n->op == TP_OP_SUM ? !tp_factor_rows(t, x, &e) : !(e.row = tp_factor_row(t, x)).node)
    return tp_none;
  return run_of(s, n, t, &e, naxes, axes);
}

static tp_val scan_end_run(incremental *s, const tp_node *n, factor_rows *t) {
  factor_row e;
  return tp_in(n, 0)->op == TP_OP_SCAN && rows_of(s, n, n->in[0].src, t) &&
          tp_scan_end_row(t, n, &e)
      ? run_of(s, n, t, &e, 0, NULL)
      : tp_none;
}

/* The place of the largest or smallest element, counted from the range's begin. */
static tp_val placed_run(incremental *s, const tp_node *n, factor_rows *t) {
  tp_mk mk = s->mk;
  if (n->attr.axis != 0 || !rows_of(s, n, n->in[0].src, t) || !never_empty(s, t, n)) return tp_none;
  tp_val x = tp_factor_row(t, n->in[0].src);
  if (x.node && tp_dtypeof(x) == TP_BOOL) x = mk_cast(mk, x, TP_U8);
  if (!x.node) return x;
  moving_range m = { .of = n,
    .red = n->op == TP_OP_ARGMAX ? TP_RED_MAX : TP_RED_MIN,
    .kind = MONOID_PLACE,
    .x = x,
    .dtype = tp_dtypeof(x) };
  partial y = reduced(s, t, &m);
  return y.n ? mk_sub(mk, y.v[1], tp_ixvalue(mk.g, t->range->lo, mk.err)) : tp_none;
}

/* The first operand of a product of matrices, with the summed axis first; {NULL}: no view gives
 * that. */
static tp_val rows_first(tp_mk mk, const tp_node *n) {
  tp_val a = n->in[0].src;
  const tp_node *x = a.node;
  if (n->out[0].rank != 2) return tp_none;
  if (x->op == TP_OP_PERMUTE && x->attr.axes[0] == 1) return x->in[0].src;
  tp_val y = x->op == TP_OP_RESHAPE ? x->in[0].src : tp_none;
  if (!y.node || tp_rankof(y) < 1 || mk_extent(y, 0) != mk_extent(a, 1)) return tp_none;
  return tp_rankof(y) == 1                                    ? mk_unsqueeze(mk, y, 1)
      : tp_rankof(y) == 2 && tp_is_number(mk_extent(y, 1), 1) ? y
                                                              : tp_none;
}

/* a[lo .. hi]:mT():matmul(b[lo .. hi]) is a sum over rows: each row of a and of b make a matrix; a
 * row of weights times rows is such a sum too. For a window only results of one row or column
 * count, as it would keep many matrices. */
static tp_val products_run(incremental *s, const tp_node *n, factor_rows *t) {
  tp_mk mk = s->mk;
  tp_val a = rows_first(mk, n), b = n->in[1].src;
  factor_row e;
  if (!a.node || !rows_of(s, n, b, t)) return tp_none;
  bool line = tp_is_number(n->out[0].shape[0], 1) || tp_is_number(n->out[0].shape[1], 1);
  return (!t->window || line) &&
          tp_factor_rows(t, mk_mul(mk, mk_unsqueeze(mk, a, 2), mk_unsqueeze(mk, b, 1)), &e)
      ? run_of(s, n, t, &e, 0, NULL)
      : tp_none;
}

/* ---- all ---- */

static bool try_accum(incremental *s, tp_node *n) {
  tp_mk mk = s->mk;
  const tp_edge *e = &n->in[0];
  const tp_out *o = &n->out[0];
  if (n->nin != 1 || !may_reorder(s, n->attr.red, o->dtype) || !e->gather ||
      (e->cond && tp_ix_kind(e->cond) != TP_IX_TRUE))
    return true;
  tp_val y = over_range(s, n, n->attr.red, e->src, e->at);
  y = mk_expand(mk, mk_cast(mk, y, o->dtype), o->rank, o->shape);
  if (y.node && !y.node->name) tp_name_as(y.node, n);
  if (y.node) tp_rewrite(mk.g, tp_v(n), y, "incremental", MOVING_RULE);
  return !mk.err->code;
}

/* Replaces n by its recurrence y in n's shape; n itself stays at points with few rows, if y is
 * right only for more. */
static bool try_reduction(incremental *s, tp_node *n) {
  tp_mk mk = s->mk;
  bool reduces = tp_ops[n->op].cls == TP_CLS_RED, place = tp_ops[n->op].cls == TP_CLS_ARG;
  const tp_out *o = &n->out[0];
  factor_rows t;
  if (!reduces && !place && n->op != TP_OP_MATMUL && n->op != TP_OP_SLICE) return true;
  s->apart = false;
  if (!place && !may_reorder(s, reduces ? tp_op_red(n->op) : TP_RED_SUM, o->dtype)) return true;
  tp_val y = place            ? placed_run(s, n, &t)
      : reduces               ? reduced_run(s, n, &t)
      : n->op == TP_OP_MATMUL ? products_run(s, n, &t)
                              : scan_end_run(s, n, &t);
  y = mk_reshape(mk, mk_cast(mk, y, o->dtype), o->rank, o->shape);
  if (y.node && s->apart) y = mk_either(mk, n->ndom, n->dom, t.many, y, tp_v(n));
  if (y.node) tp_rewrite(mk.g, tp_v(n), y, "incremental", MOVING_RULE);
  return !mk.err->code;
}

bool tp_incremental(tp_graph *g, bool precise, bool *changed, tp_error *err) {
  incremental s = { .mk = { .g = g, .err = err }, .precise = precise };
  TP_NODES (n, g->nodes) s.open |= n->op == TP_OP_GRAD;
  int n0 = g->nodes.n;
  bool ok = true;
  for (int k = 0; k < n0 && ok; k++) {
    tp_node *n = g->nodes.v[k];
    g->pos = n->pos;
    ok = n->op == TP_OP_ACCUM ? try_accum(&s, n) : try_reduction(&s, n);
  }
  tp_need_free(s.need);
  *changed = g->nodes.n > n0;
  if (ok && *changed) tp_graph_prune(g);
  return ok;
}
