/* incremental: a reduction over a range that moves along a dim is a recurrence along that dim.
 *
 *   y[t] = sum(x[0 .. t+1])          =>   y[t] = y[t-1] + x[t]      (prefix.c)
 *     and prod, max, min, any, all, and suffixes backwards
 *   y[t] = a[t] * sum(f(x[t .. T]))  =>   y[t] = a[t] * s[t],  s[t] = f(x[t]) + s[t+1]
 *     (factor_rows.c)
 *   y[t] = x[0 .. t+1]:mT() @ z[0 .. t+1]   =>   y[t] = y[t-1] + x[t] z[t]
 *     each element of a row of x with each of the same row of z
 *
 * so that work is linear in the dim's length. What is carried is a point. Integers, largest and
 * smallest values and bools stay the same bit for bit. Sums and products of floats are carried in
 * f64, up to as many elements as other sums are, which is no worse than a sum of the range in any
 * order; they are left alone where `precise` asks for the order in which they were written.
 *
 * It runs before gradients are built where there are any, so derivatives are those of recurrences.
 * A largest value that is a NaN passes no derivative to any row. */
#include "opt/prefix.h"

static const char MOVING_RULE[] = "a reduction over a range that moves => a recurrence";

/* need: of the graph as it came, made when it is first asked for. apart: what was made last is
 * right only of windows of more than a few rows. */
typedef struct incremental {
  tp_mk mk;
  bool precise;
  tp_need *need;
  bool apart;
  bool open; /* gradients are still to be built */
} incremental;

/* The sum of a window is one of a tree. */
static tp_dtype carried_in(const moving_range *m) {
  const tp_out *o = tp_outof(m->x);
  bool window = m->l && m->h;
  if (!tp_dtype_float(o->dtype) || (m->red != TP_RED_SUM && m->red != TP_RED_PROD)) return o->dtype;
  return o->dtype == TP_F64 || (window ? o->rank == 0 : tp_is_small(o)) ? TP_F64 : TP_F32;
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

/* A ring takes up all rows from the first on (two_stacks.c): are these rows of n's windows
 * anyway, and none of them made of n? */
static bool takes_only_windows(incremental *s, const tp_node *n, const moving_range *m) {
  tp_graph *g = s->mk.g;
  const tp_node *x = m->x.node;
  bool *seen = TP_NEWN(&g->arena, bool, g->nodes.n);
  tp_reach(&g->arena, m->x.node, seen);
  if (m->weight.node) tp_reach(&g->arena, m->weight.node, seen);
  if (s->open || seen[n->id]) return false;
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

static bool is_taken(incremental *s, const tp_node *n, const moving_range *m) {
  bool ring = tp_takes_ring(m);
  s->apart |= ring && m->kind != MONOID_RED;
  return !ring || takes_only_windows(s, n, m);
}

/* Of x at `at`; {NULL}, without an error: it is no recurrence. keep: in what it is carried in. */
static tp_val over_range(
    incremental *s, const tp_node *of, tp_red red, tp_val x, const tp_at *at, bool keep) {
  moving_range m = {
    .mk = s->mk, .open = s->open, .of = of, .red = red, .x = x, .at = at, .keep = keep
  };
  if (ranges(x.node->ndom, at, &m.r) != 1 || !tp_moving_range(&m)) return tp_none;
  if (!is_taken(s, of, &m)) return tp_none;
  m.dtype = carried_in(&m);
  tp_val y = tp_moving_reduced(&m).v[0];
  bool picks = red == TP_RED_MAX || red == TP_RED_MIN;
  return s->open && picks && tp_dtype_float(m.dtype)
      ? mk_select(s->mk, mk_bin(s->mk, TP_OP_EQ, y, y), y, mk_detach(s->mk, y))
      : y;
}

/* A value of which each edge is a sum: nothing but v, or v among others. */
static bool take_place(incremental *s, tp_node *n, int k, tp_val v) {
  tp_graph *g = s->mk.g;
  v = mk_expand(s->mk, mk_cast(s->mk, v, n->out[0].dtype), n->out[0].rank, n->out[0].shape);
  if (!v.node) return false;
  if (n->nin > 1)
    n->in[k] = (tp_edge){
      .src = v, .at = tp_at_own(g, v.node->ndom, v.node->dom), .gather = true, .pos = n->in[k].pos
    };
  else {
    if (v.node->id >= 0 && !v.node->name) v.node->name = n->name, v.node->what = n->what;
    tp_rewrite(g, tp_v(n), v, "incremental", MOVING_RULE);
  }
  return true;
}

static bool is_always(const tp_edge *e) { return !e->cond || tp_ix_kind(e->cond) == TP_IX_TRUE; }

static tp_val gathered_run(incremental *s, const tp_node *n, const tp_edge *e) {
  if (!is_always(e)) return tp_none;
  return over_range(s, n, n->attr.red, e->src, e->at, false);
}

/* ---- what is reduced in one call with what makes it ---- */

enum { RANGE_DEPTH = 12 };

static const tp_node *range_below_at(tp_val v, int depth) {
  const tp_node *n = v.node, *found = NULL;
  int r;
  if (tp_rankof(v) < 1 || depth == 0) return NULL;
  if (n->op == TP_OP_READ) return ranges(n->in[0].src.node->ndom, n->attr.at, &r) == 1 ? n : NULL;
  for (int k = 0; k < n->nin && !found; k++) {
    found = tp_rankof(n->in[k].src) ? range_below_at(n->in[k].src, depth - 1) : NULL;
    if (found && found->out[0].shape[0] != tp_outof(v)->shape[0]) found = NULL;
  }
  return found;
}

const tp_node *tp_range_below(tp_val v, int *r) {
  const tp_node *n = range_below_at(v, RANGE_DEPTH);
  if (n) ranges(n->in[0].src.node->ndom, n->attr.at, r);
  return n;
}

/* The dim along which range r of the read moves, and, if only the call says how many rows it has,
 * where these are more than a few. */
static bool moves_with(const incremental *s, const tp_node *read, int r, factor_rows *t) {
  moving_range m = {
    .mk = s->mk, .open = s->open, .x = read->in[0].src, .at = read->attr.at, .r = r
  };
  if (!tp_moving_range(&m)) return false;
  t->c = m.c;
  t->begin = m.l ? NULL : m.L;
  t->end = m.h ? NULL : m.H;
  t->many = tp_takes_ring(&m) ? tp_window_is_long(&m) : NULL;
  return true;
}

/* The rows of the read's range r, to be taken apart for n. False: no range that moves so. */
static bool rows_of(
    incremental *s, const tp_node *n, const tp_node *read, int r, bool sums, factor_rows *t) {
  *t = (factor_rows){ .mk = s->mk,
    .range = &read->attr.at[r],
    .d = read->in[0].src.node->dom[r],
    .sums = sums,
    .differences = n->out[0].dtype != TP_F64 && tp_is_small(&n->out[0]) };
  return moves_with(s, read, r, t) && (t->c == t->d || !tp_dom_has(n->ndom, n->dom, t->d));
}

static tp_at *own_but(const incremental *s, tp_val x, const tp_sym *d, const tp_at *range) {
  return tp_at_but(s->mk.g, x.node, d, *range);
}

/* Times what does not vary with the rows, where there is such. */
static tp_val times_one(const incremental *s, tp_val by, tp_val y) {
  return y.node && by.node ? mk_mul(s->mk, mk_cast(s->mk, by, tp_dtypeof(y)), y) : y;
}

/* The sum of `in` times exp(up - off), of rows at `range` of d. Rows of both have one shape, in
 * what is carried. */
static tp_val exp_run(
    incremental *s, const tp_node *of, const factor_row *e, const tp_sym *d, const tp_at *range) {
  tp_mk mk = s->mk;
  tp_val both = e->row.node ? mk_mul(mk, e->row, e->exponent) : e->exponent, up = e->exponent,
         in = e->row, top;
  if (!both.node || !tp_dom_same(both.node->ndom, both.node->dom, up.node->ndom, up.node->dom) ||
      !tp_dom_has(up.node->ndom, up.node->dom, d))
    return tp_none;
  const tp_out *o = tp_outof(both);
  up = mk_cast(mk, mk_expand(mk, up, o->rank, o->shape),
      o->dtype == TP_F64 || tp_is_small(o) ? TP_F64 : TP_F32);
  if (in.node) in = mk_expand(mk, in, o->rank, o->shape);
  if (!up.node) return up;
  moving_range m = { .mk = mk,
    .open = s->open,
    .of = of,
    .red = TP_RED_SUM,
    .x = up,
    .at = own_but(s, up, d, range),
    .dtype = tp_dtypeof(up),
    .kind = MONOID_EXP,
    .weight = in };
  if (ranges(up.node->ndom, m.at, &m.r) != 1 || !tp_moving_range(&m) || !is_taken(s, of, &m))
    return tp_none;
  tp_val y = tp_moving_exp(&m, in, &top);
  if (!y.node) return y;
  tp_val z = mk_mul(mk, y, mk_exp(mk, mk_sub(mk, top, mk_cast(mk, e->below, m.dtype))));
  /* off is of more than these rows, all of which may be -inf */
  bool apart = tp_ops[of->op].cls == TP_CLS_RED && of->attr.naxes > 1;
  return apart ? mk_select(mk, mk_binc(mk, TP_OP_EQ, y, 0), y, z) : z;
}

static tp_val spread_over(
    tp_mk mk, tp_val v, const tp_out *o, tp_dtype t, int ndom, const tp_sym *const *dom) {
  v = mk_cast(mk, v, t);
  if (v.node && !tp_dom_same(v.node->ndom, v.node->dom, ndom, dom))
    v = mk_mul(mk, v, mk_fill(mk, 1, t, 0, NULL, ndom, dom));
  return mk_expand(mk, v, o->rank, o->shape);
}

/* Both over the same dims, in the same shape and in what sums of such are carried in. */
static bool side_by_side(incremental *s, tp_val *a, tp_val *b) {
  tp_mk mk = s->mk;
  tp_val both = mk_mul(mk, mk_cast(mk, *a, TP_F64), mk_cast(mk, *b, TP_F64));
  if (!both.node) return false;
  const tp_out *o = tp_outof(both);
  tp_dtype t = tp_dtypeof(*a) == TP_F64 || tp_is_small(o) ? TP_F64 : TP_F32;
  *a = spread_over(mk, *a, o, t, both.node->ndom, both.node->dom);
  *b = spread_over(mk, *b, o, t, both.node->ndom, both.node->dom);
  return a->node && b->node;
}

/* The sum of `in` times `by` of all rows before it (behind: behind it), of rows at `range` of d. */
static tp_val fade_run(incremental *s, const tp_node *of, tp_val in, tp_val by, bool behind,
    const tp_sym *d, const tp_at *range) {
  if (!side_by_side(s, &in, &by) || !tp_dom_has(in.node->ndom, in.node->dom, d)) return tp_none;
  moving_range m = { .mk = s->mk,
    .open = s->open,
    .of = of,
    .red = TP_RED_SUM,
    .kind = MONOID_AFFINE,
    .x = in,
    .weight = by,
    .behind = behind,
    .at = own_but(s, in, d, range),
    .dtype = tp_dtypeof(in),
    .keep = true };
  if (ranges(in.node->ndom, m.at, &m.r) != 1 || !tp_moving_range(&m) || !is_taken(s, of, &m))
    return tp_none;
  return tp_moving_reduced(&m).v[0];
}

/* Summed along what the term left for then. */
static tp_val settled(incremental *s, const factor_row *e, tp_val y) {
  return e->later ? mk_reduce(s->mk, TP_OP_SUM, y, 1, &(int){ 0 }, false) : y;
}

/* The term's reduction over the range of d, spatial axes `axes` of its rows first. */
static tp_val run_of(incremental *s, const tp_node *n, const factor_rows *t, const factor_row *e,
    int naxes, const int *axes) {
  tp_red red = tp_ops[n->op].cls == TP_CLS_RED ? tp_op_red(n->op) : TP_RED_SUM;
  tp_val x = e->row, y;
  if (e->exponent.node) {
    if (naxes) return tp_none;
    y = exp_run(s, n, e, t->d, t->range);
    return settled(s, e, times_one(s, e->outside, y));
  }
  if ((e->factor.node || e->later) && naxes) return tp_none;
  if (!x.node) x = mk_fill(s->mk, 1, n->out[0].dtype, 0, NULL, 1, &t->d);
  if (e->factor.node)
    return settled(
        s, e, times_one(s, e->outside, fade_run(s, n, x, e->factor, e->behind, t->d, t->range)));
  if (naxes) x = mk_reduce(s->mk, n->op, x, naxes, axes, false);
  if (!x.node || !tp_dom_has(x.node->ndom, x.node->dom, t->d)) return tp_none;
  y = over_range(s, n, red, x, own_but(s, x, t->d, t->range), t->n > 1);
  return settled(s, e, times_one(s, e->outside, y));
}

/* Is there always a row, where there are more than a few if only the call says how many? If not,
 * what was there before sees to where there is none. */
static bool never_empty(incremental *s, factor_rows *t, const tp_node *n) {
  tp_ictx *ix = s->mk.g->ix;
  const tp_at *at = t->range;
  if (tp_ix_prove_ge0(ix, tp_ix_addc(ix, tp_ix_sub(ix, at->hi, at->lo), -1), n->ndom, n->dom))
    return true;
  t->many = tp_ix_both(ix, t->many, tp_ix_cmp(ix, TP_LT, at->lo, at->hi));
  return s->apart = true;
}

static tp_val sum_of_terms(
    incremental *s, const tp_node *n, factor_rows *t, int naxes, const int *axes) {
  tp_val all = tp_none;
  for (int i = 0; i < t->n; i++) {
    if ((t->v[i].outside.node || t->v[i].exponent.node) && (naxes || !never_empty(s, t, n)))
      return tp_none;
    tp_val y = run_of(s, n, t, &t->v[i], naxes, axes);
    if (!y.node) return y;
    all = all.node ? mk_add(s->mk, all, y) : y;
  }
  return all;
}

/* sum((x - from)^2) = sum((x - mean)^2) + count * (mean - from)^2, whatever `from` is; two that
 * deviate alike */
static tp_val deviations_run(
    incremental *s, const tp_node *n, factor_rows *t, row_deviation a, row_deviation b) {
  tp_mk mk = s->mk;
  tp_val mean[2], count, x = a.x, weight = b.x;
  if (!tp_dtype_float(tp_dtypeof(x)) ||
      (weight.node && (!tp_dtype_float(tp_dtypeof(weight)) || !side_by_side(s, &x, &weight))))
    return tp_none;
  moving_range m = { .mk = mk,
    .open = s->open,
    .of = n,
    .red = TP_RED_SUM,
    .kind = MONOID_SQUARES,
    .x = x,
    .weight = weight,
    .at = own_but(s, x, t->d, t->range),
    .dtype = tp_is_small(tp_outof(x)) ? TP_F64 : tp_dtypeof(x) };
  if (!tp_dom_has(x.node->ndom, x.node->dom, t->d) || ranges(x.node->ndom, m.at, &m.r) != 1 ||
      !tp_moving_range(&m) || !is_taken(s, n, &m) || !never_empty(s, t, n))
    return tp_none;
  tp_val y = tp_moving_squares(&m, mean, &count);
  if (!y.node) return y;
  tp_val off = a.from.node ? mk_sub(mk, mean[0], mk_cast(mk, a.from, m.dtype)) : mean[0],
         other = !weight.node ? off
      : b.from.node           ? mk_sub(mk, mean[1], mk_cast(mk, b.from, m.dtype))
                              : mean[1];
  return mk_add(mk, y, mk_mul(mk, count, mk_mul(mk, off, other)));
}

/* Do these cancel, if they are summed term by term, beyond what that is done in? */
static bool deviate(const factor_rows *t, const row_deviation *a, const row_deviation *b) {
  return (a->from.node && b->from.node) || (!t->differences && (a->from.node || b->from.node));
}

static tp_val squares_run(incremental *s, const tp_node *n, factor_rows *t) {
  const tp_node *v = n->in[0].src.node;
  row_deviation a, b;
  if (n->op != TP_OP_SUM || v->op != TP_OP_MUL || !tp_row_deviation(t, v->in[0].src, &a) ||
      !tp_row_deviation(t, v->in[1].src, &b) || !deviate(t, &a, &b))
    return tp_none;
  if (v->in[0].src.node == v->in[1].src.node) b.x = tp_none;
  return deviations_run(s, n, t, a, b);
}

static bool is_whole(incremental *s, const tp_node *n, factor_rows *t) {
  return n->op == TP_OP_SUM || n->op == TP_OP_PROD || n->out[0].dtype == TP_BOOL ||
      tp_dtype_float(n->out[0].dtype) || never_empty(s, t, n);
}

/* n in its shape: y, or n itself where that is of few rows and y is not. */
static tp_val unless_few(incremental *s, const tp_node *n, const tp_ix *many, tp_val y) {
  y = mk_reshape(s->mk, y, n->out[0].rank, n->out[0].shape);
  return y.node && s->apart ? mk_either(s->mk, n->ndom, n->dom, many, y, tp_v((tp_node *)n)) : y;
}

/* Is each term what rows have, and nothing else? Then axes of a row may be reduced before the rows
 * are. */
static bool are_plain(const factor_rows *t) {
  for (int i = 0; i < t->n; i++)
    if (t->v[i].outside.node || t->v[i].later || tp_is_weighed(&t->v[i])) return false;
  return true;
}

/* y, over all axes of a row of what n sums, along these. */
static tp_val summed_along(incremental *s, const tp_node *n, tp_val y, int naxes, const int *axes) {
  const tp_out *x = tp_outof(n->in[0].src);
  return naxes ? mk_reduce(s->mk, TP_OP_SUM, mk_expand(s->mk, y, x->rank - 1, x->shape + 1), naxes,
                     axes, false)
               : y;
}

static tp_val reduced_run(incremental *s, const tp_node *n) {
  int r = 0, axes[TP_MAXRANK];
  const tp_node *read = tp_range_below(n->in[0].src, &r);
  if (!read || !n->attr.naxes || n->attr.axes[0] != 0) return tp_none;
  factor_rows t;
  if (!rows_of(s, n, read, r, n->op == TP_OP_SUM, &t) || !is_whole(s, n, &t)) return tp_none;
  for (int i = 1; i < n->attr.naxes; i++) axes[i - 1] = n->attr.axes[i] - 1;
  int naxes = n->attr.naxes - 1;
  tp_val y = summed_along(s, n, squares_run(s, n, &t), naxes, axes);
  if (!y.node && !s->mk.err->code && tp_factor_rows(&t, n->in[0].src))
    y = n->op != TP_OP_SUM || are_plain(&t)
        ? sum_of_terms(s, n, &t, naxes, axes)
        : summed_along(s, n, sum_of_terms(s, n, &t, 0, NULL), naxes, axes);
  return unless_few(s, n, t.many, mk_cast(s->mk, y, n->out[0].dtype));
}

static tp_val scan_end_run(incremental *s, const tp_node *n) {
  int r = 0;
  const tp_node *read =
      n->in[0].src.node->op == TP_OP_SCAN ? tp_range_below(n->in[0].src, &r) : NULL;
  if (!read) return tp_none;
  factor_rows t;
  return rows_of(s, n, read, r, true, &t) && tp_scan_end_terms(&t, n)
      ? unless_few(s, n, t.many, mk_cast(s->mk, sum_of_terms(s, n, &t, 0, NULL), n->out[0].dtype))
      : tp_none;
}

/* Where the largest or smallest is, counted from the range's begin. */
static tp_val placed_run(incremental *s, const tp_node *n) {
  tp_mk mk = s->mk;
  int r = 0;
  const tp_node *read = n->attr.axis == 0 ? tp_range_below(n->in[0].src, &r) : NULL;
  if (!read) return tp_none;
  factor_rows t;
  if (!rows_of(s, n, read, r, false, &t) || !never_empty(s, &t, n) ||
      !tp_factor_rows(&t, n->in[0].src))
    return tp_none;
  tp_val x = t.v[0].row;
  if (tp_dtypeof(x) == TP_BOOL) x = mk_cast(mk, x, TP_U8);
  if (!x.node || !tp_dom_has(x.node->ndom, x.node->dom, t.d)) return tp_none;
  moving_range m = { .mk = mk,
    .open = s->open,
    .of = n,
    .red = n->op == TP_OP_ARGMAX ? TP_RED_MAX : TP_RED_MIN,
    .kind = MONOID_PLACE,
    .x = x,
    .at = own_but(s, x, t.d, t.range),
    .dtype = tp_dtypeof(x) };
  if (ranges(x.node->ndom, m.at, &m.r) != 1 || !tp_moving_range(&m) || !is_taken(s, n, &m))
    return tp_none;
  partial y = tp_moving_reduced(&m);
  return unless_few(
      s, n, t.many, y.n ? mk_sub(mk, y.v[1], tp_ixvalue(mk.g, t.range->lo, mk.err)) : tp_none);
}

/* Rows of one axis, as column or row of a matrix. */
static bool as_factor(factor_rows *t, tp_val v, int axis, row_deviation *d) {
  if (tp_rankof(v) != 2 || !tp_row_deviation(t, v, d)) return false;
  if (d->from.node)
    d->from = mk_unsqueeze(t->mk, mk_expand(t->mk, d->from, 1, tp_outof(d->x)->shape), axis);
  d->x = mk_unsqueeze(t->mk, d->x, axis);
  return d->x.node && tp_dom_has(d->x.node->ndom, d->x.node->dom, t->d);
}

tp_val tp_rows_first(tp_mk mk, const tp_node *n) {
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

/* Is it one row or column of a matrix? */
static bool is_line(const tp_node *n) {
  return tp_is_number(n->out[0].shape[0], 1) || tp_is_number(n->out[0].shape[1], 1);
}

/* a[lo .. hi]:mT():matmul(b[lo .. hi]) is the sum of what each row of a and of b make: a matrix; so
 * are rows of both counted from a mean, and a row of weights with rows */
static tp_val products_run(incremental *s, const tp_node *n) {
  tp_mk mk = s->mk;
  int r = 0;
  tp_val a = tp_rows_first(mk, n), b = n->in[1].src;
  const tp_node *read = a.node ? tp_range_below(b, &r) : NULL;
  if (!read) return tp_none;
  factor_rows t;
  row_deviation left, right;
  if (!rows_of(s, n, read, r, true, &t)) return tp_none;
  bool apart =
      as_factor(&t, a, 1, &left) && as_factor(&t, b, 0, &right) && deviate(&t, &left, &right);
  tp_val y = apart ? deviations_run(s, n, &t, left, right) : tp_none;
  if (!apart && (t.begin || t.end || is_line(n)) &&
      tp_factor_rows(&t, mk_mul(mk, mk_unsqueeze(mk, a, 2), mk_unsqueeze(mk, b, 1))))
    y = sum_of_terms(s, n, &t, 0, NULL);
  return unless_few(s, n, t.many, mk_cast(mk, y, n->out[0].dtype));
}

/* ---- all ---- */

/* What it gathers. */
static bool try_accum(incremental *s, tp_node *n) {
  if (!may_reorder(s, n->attr.red, n->out[0].dtype)) return true;
  for (int k = 0; k < n->nin; k++) {
    if (!n->in[k].gather) continue;
    tp_val y = gathered_run(s, n, &n->in[k]);
    if (y.node ? !take_place(s, n, k, y) : s->mk.err->code != 0) return false;
  }
  return true;
}

static bool is_reduction(const tp_node *n) {
  return tp_ops[n->op].cls == TP_CLS_RED || tp_ops[n->op].cls == TP_CLS_ARG ||
      n->op == TP_OP_MATMUL || n->op == TP_OP_SLICE;
}

static bool try_reduction(incremental *s, tp_node *n) {
  bool reduces = tp_ops[n->op].cls == TP_CLS_RED, place = tp_ops[n->op].cls == TP_CLS_ARG;
  s->apart = false;
  if (!place && !may_reorder(s, reduces ? tp_op_red(n->op) : TP_RED_SUM, n->out[0].dtype))
    return true;
  tp_val y = place            ? placed_run(s, n)
      : reduces               ? reduced_run(s, n)
      : n->op == TP_OP_MATMUL ? products_run(s, n)
                              : scan_end_run(s, n);
  if (y.node) tp_rewrite(s->mk.g, tp_v(n), y, "incremental", MOVING_RULE);
  return y.node || !s->mk.err->code;
}

bool tp_incremental(tp_graph *g, bool precise, bool *changed, tp_error *err) {
  incremental s = { .mk = { .g = g, .err = err }, .precise = precise };
  for (int i = 0; i < g->nodes.n; i++) s.open |= g->nodes.v[i]->op == TP_OP_GRAD;
  int n0 = g->nodes.n;
  bool ok = true;
  for (int k = 0; k < n0 && ok; k++) {
    tp_node *n = g->nodes.v[k];
    g->pos = n->pos;
    if (n->op == TP_OP_ACCUM) ok = try_accum(&s, n);
    if (is_reduction(n)) ok = try_reduction(&s, n);
  }
  tp_need_free(s.need);
  *changed = g->nodes.n > n0;
  if (ok && *changed) tp_graph_prune(g);
  return ok;
}
