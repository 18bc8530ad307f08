/* totals: a sum of what evolves over a dim is the last value of a sum that evolves.
 *
 *   y += x[t] for lo <= t < T - less   =>   y += r[T-1-less],  r[0] = lo > 0 ? 0 : x[0], r[t] =
 * r[t-1] + x[t]; or from the other end, as x evolves
 *
 * so that derivatives by what all steps share take no more steps than the values. So it is with
 * what is summed along a range of rows, each made of one row of what evolves:
 *
 *   sum(f(x[lo .. T - less]), axis 0), x[lo .. T - less]' @ x[lo .. T - less]   =>   the same of
 * z[t] = f(x[t]), of x[t] x[t]' */
#include "opt/evolve.h"
#include "opt/prefix.h"

/* ---- which points are summed ---- */

static bool mentions_only(const tp_ix *cond, const tp_sym *dim) {
  const tp_sym *const *s;
  for (int i = 0, n = tp_ix_syms(cond, &s); i < n; i++)
    if (s[i] != dim && s[i]->kind != TP_SYM_BOUND) return false;
  return true;
}

/* cond (NULL: true) holds on lo <= dim < its bound - less, and nowhere else. */
static bool is_stretch(
    tp_graph *g, const tp_sym *dim, const tp_ix *cond, int64_t *lo, int64_t *less) {
  tp_ictx *ix = g->ix;
  const tp_ix *d = tp_ix_sym(ix, dim);
  if (cond && !mentions_only(cond, dim)) return false;
  tp_set *points = tp_set_box(ix, 1, &dim);
  bool found = false;
  if (cond) points = tp_set_and(points, tp_set_cond(ix, 1, &dim, cond));
  for (int k = 0; k < 4 && !found; k++) {
    *lo = k & 1, *less = k >> 1;
    const tp_ix *in = tp_ix_and(ix, tp_ix_cmp(ix, TP_GE, d, tp_ix_const(ix, *lo)),
        tp_ix_cmp(ix, TP_LT, d, tp_ix_addc(ix, tp_ix_sym(ix, dim->bound), -*less)));
    tp_set *s = tp_set_and(tp_set_box(ix, 1, &dim), tp_set_cond(ix, 1, &dim, in));
    found = tp_set_equal(ix, points, s);
    tp_set_free(s);
  }
  tp_set_free(points);
  return found;
}

static const tp_sym *scattered_along(
    tp_graph *g, const tp_node *n, const tp_edge *e, int64_t *lo, int64_t *less) {
  const tp_node *x = e->src.node;
  for (int k = 0; k < x->ndom; k++) {
    const tp_sym *d = x->dom[k];
    bool apart = d->bound && !tp_dom_has(n->ndom, n->dom, d);
    for (int u = 0; u < n->ndom && apart; u++)
      apart =
          !tp_ix_mentions(e->at[u].lo, d) && (!e->at[u].range || !tp_ix_mentions(e->at[u].hi, d));
    if (apart && is_stretch(g, d, e->cond, lo, less)) return d;
  }
  return NULL;
}

/* Is the range lo .. the dim's bound - less? */
static bool is_stretch_of(
    tp_ictx *ix, const tp_at *at, const tp_sym *d, int64_t *lo, int64_t *less) {
  return d->bound && tp_ix_is_const(at->lo, lo) &&
      tp_ix_is_const(tp_ix_sub(ix, tp_ix_sym(ix, d->bound), at->hi), less) && *lo >= 0 &&
      *less >= 0;
}

/* A stretch of one dim, the others' own points. */
static const tp_sym *gathered_along(
    tp_ictx *ix, const tp_node *n, const tp_edge *e, int64_t *lo, int64_t *less) {
  const tp_node *x = e->src.node;
  const tp_sym *found = NULL;
  for (int k = 0; k < x->ndom; k++) {
    const tp_sym *d = x->dom[k];
    if (!e->at[k].range && tp_ix_as_sym(e->at[k].lo) == d) continue;
    if (found || !e->at[k].range || tp_dom_has(n->ndom, n->dom, d) ||
        !is_stretch_of(ix, &e->at[k], d, lo, less))
      return NULL;
    found = d;
  }
  return e->cond ? NULL : found;
}

const tp_sym *tp_totals_along(
    tp_graph *g, const tp_node *n, const tp_edge *e, int64_t *lo, int64_t *less) {
  if (n->op != TP_OP_ACCUM || n->attr.red != TP_RED_SUM) return NULL;
  return e->gather ? gathered_along(g->ix, n, e, lo, less) : scattered_along(g, n, e, lo, less);
}

/* ---- their sum ---- */

/* r, without the points that are left out before its first. */
static tp_val summed_up(tp_evolving *e, tp_val x, bool without_first) {
  tp_ictx *ix = e->mk.g->ix;
  const tp_ix *t = tp_ix_sym(ix, e->dim), *first = tp_point_after(e, 0);
  tp_val r = mk_declared(
      e->mk, tp_dtypeof(x), tp_rankof(x), tp_outof(x)->shape, x.node->ndom, x.node->dom);
  tp_val begin = without_first ? mk_zeros_like(e->mk, x) : mk_at(e->mk, x, e->dim, first),
         next = mk_add(e->mk, mk_at(e->mk, r, e->dim, tp_ix_addc(ix, t, e->back ? 1 : -1)), x);
  bool ok = r.node && begin.node && next.node &&
      tp_merge_add(e->mk.g, r.node, tp_ix_cmp(ix, TP_EQ, t, first), begin, e->mk.err) &&
      tp_merge_add(e->mk.g, r.node, NULL, next, e->mk.err);
  return ok ? r : tp_none;
}

/* Of x without at most one point at the end where its recurrence begins. */
static tp_val total_from_end(
    tp_evolving *e, tp_val x, int64_t lo, int64_t less, const tp_ix **cond) {
  tp_ictx *ix = e->mk.g->ix;
  const tp_ix *bound = tp_ix_sym(ix, e->dim->bound),
              *last = e->back ? tp_ix_const(ix, lo) : tp_ix_addc(ix, bound, -1 - less);
  tp_solution y = { 0 };
  tp_val r = summed_up(e, x, e->back ? less : lo);
  if (!r.node) return r;
  tp_evolution_of_new(e, &y, r.node);
  tp_val v = y.is == SOLVE_FORM ? tp_evolved_form(e, r.node, &y.form)
      : y.is == SOLVE_SYSTEM    ? tp_evolved_system(e, r.node, y.sys)
                                : tp_none;
  *cond = tp_ix_cmp(ix, TP_GE, bound, tp_ix_const(ix, lo + less + 1));
  return v.node ? mk_at(e->mk, v, e->dim, last) : v;
}

tp_val tp_evolved_total(tp_evolving *e, tp_val x, int64_t lo, int64_t less, const tp_ix **cond) {
  tp_ictx *ix = e->mk.g->ix;
  if (e->back && less > 1) return tp_none;
  if (e->back || lo <= 1) return total_from_end(e, x, lo, less, cond);
  x = mk_at(e->mk, x, e->dim, tp_ix_addc(ix, tp_ix_sym(ix, e->dim), lo));
  return x.node ? total_from_end(e, x, 0, lo + less, cond) : x;
}

/* ---- rows of a range ---- */

/* The terms of what n sums along the range r of the read. */
static bool row_terms_of(tp_mk mk, const tp_node *n, const tp_node *read, int r, factor_rows *t) {
  const tp_sym *d = read->in[0].src.node->dom[r];
  *t = (factor_rows){ .mk = mk, .range = &read->attr.at[r], .d = d, .c = d, .sums = true };
  tp_val rows = n->in[0].src;
  if (n->op == TP_OP_MATMUL)
    rows = mk_mul(mk, mk_unsqueeze(mk, tp_rows_first(mk, n), 2), mk_unsqueeze(mk, n->in[1].src, 1));
  return rows.node && tp_factor_rows(t, rows);
}

/* A row of the term, along d, with the other axes summed. */
static tp_val row_of_term(tp_mk mk, const tp_node *n, const factor_rows *t, const factor_row *e) {
  int axes[TP_MAXRANK], more = n->op == TP_OP_SUM ? n->attr.naxes - 1 : 0;
  if (tp_is_weighed(e) || e->later || (e->outside.node && more)) return tp_none;
  for (int i = 0; i < more; i++) axes[i] = n->attr.axes[i + 1] - 1;
  tp_val x = mk_cast(mk, e->row.node ? e->row : mk_num(mk, 1, n->out[0].dtype), n->out[0].dtype);
  if (more) x = mk_reduce(mk, TP_OP_SUM, x, more, axes, false);
  if (x.node && !tp_dom_has(x.node->ndom, x.node->dom, t->d))
    x = mk_mul(mk, x, mk_fill(mk, 1, tp_dtypeof(x), 0, NULL, 1, &t->d));
  return x;
}

const tp_sym *tp_rows_along(tp_mk mk, const tp_node *n, int *r) {
  int64_t lo, less;
  bool sums = n->op == TP_OP_SUM && n->attr.naxes && n->attr.axes[0] == 0,
       product = n->op == TP_OP_MATMUL && tp_rows_first(mk, n).node;
  const tp_node *read = sums || product ? tp_range_below(n->in[product].src, r) : NULL;
  const tp_sym *d = read ? read->in[0].src.node->dom[*r] : NULL;
  return d && is_stretch_of(mk.g->ix, &read->attr.at[*r], d, &lo, &less) &&
          !tp_dom_has(n->ndom, n->dom, d)
      ? d
      : NULL;
}

tp_val tp_evolved_rows(tp_evolving *e, const tp_node *n) {
  tp_mk mk = e->mk;
  factor_rows t;
  int r = 0, axis;
  int64_t lo, less;
  const tp_ix *cond = NULL;
  const tp_node *read = tp_range_below(n->in[n->op == TP_OP_MATMUL].src, &r);
  if (!is_stretch_of(mk.g->ix, &read->attr.at[r], e->dim, &lo, &less) ||
      !row_terms_of(mk, n, read, r, &t))
    return tp_none;
  tp_val all = tp_none;
  for (int i = 0; i < t.n; i++) {
    tp_val x = row_of_term(mk, n, &t, &t.v[i]);
    if (!x.node || tp_varies(tp_rankof(x), tp_outof(x)->shape, 1, &e->dim, &axis)) return tp_none;
    tp_val y = tp_evolved_total(e, x, lo, less, &cond);
    if (!y.node) return y;
    if (t.v[i].outside.node) y = mk_mul(mk, mk_cast(mk, t.v[i].outside, tp_dtypeof(y)), y);
    all = all.node ? mk_add(mk, all, y) : y;
  }
  all = mk_reshape(mk, mk_cast(mk, all, n->out[0].dtype), n->out[0].rank, n->out[0].shape);
  return all.node ? mk_either(mk, n->ndom, n->dom, cond, all, mk_zeros_like(mk, tp_v((tp_node *)n)))
                  : all;
}
