/* totals: a sum of what evolves over a dim is the last value of a sum that evolves.
 *
 *   y += x[t] for lo <= t < T - less   =>   y += r[T-1-less],  r[0] = lo > 0 ? 0 : x[0], r[t] = r[t-1] + x[t]; or from the other end, as x evolves
 *
 * so that derivatives by what all steps share take no more steps than the values. */
#include "opt/evolve.h"

/* ---- which points are summed ---- */

static bool mentions_only(const tp_ix *cond, const tp_sym *dim) {
  const tp_sym *const *s;
  for (int i = 0, n = tp_ix_syms(cond, &s); i < n; i++)
    if (s[i] != dim && s[i]->kind != TP_SYM_BOUND) return false;
  return true;
}

/* cond (NULL: true) holds on lo <= dim < its bound - less, and nowhere else. */
static bool is_stretch(tp_graph *g, const tp_sym *dim, const tp_ix *cond, int64_t *lo, int64_t *less) {
  tp_ictx *ix = g->ix;
  const tp_ix *d = tp_ix_sym(ix, dim);
  if (cond && !mentions_only(cond, dim)) return false;
  tp_set *points = tp_set_box(ix, 1, &dim);
  bool found = false;
  if (cond) points = tp_set_and(points, tp_set_cond(ix, 1, &dim, cond));
  for (int k = 0; k < 4 && !found; k++) {
    *lo = k & 1, *less = k >> 1;
    const tp_ix *in = tp_ix_and(ix, tp_ix_cmp(ix, TP_GE, d, tp_ix_const(ix, *lo)), tp_ix_cmp(ix, TP_LT, d, tp_ix_addc(ix, tp_ix_sym(ix, dim->bound), -*less)));
    tp_set *s = tp_set_and(tp_set_box(ix, 1, &dim), tp_set_cond(ix, 1, &dim, in));
    found = tp_set_equal(ix, points, s);
    tp_set_free(s);
  }
  tp_set_free(points);
  return found;
}

static const tp_sym *scattered_along(tp_graph *g, const tp_node *n, const tp_edge *e, int64_t *lo, int64_t *less) {
  const tp_node *x = e->src.node;
  for (int k = 0; k < x->ndom; k++) {
    const tp_sym *d = x->dom[k];
    bool apart = d->bound && !tp_dom_has(n->ndom, n->dom, d);
    for (int u = 0; u < n->ndom && apart; u++) apart = !tp_ix_mentions(e->at[u].lo, d) && (!e->at[u].range || !tp_ix_mentions(e->at[u].hi, d));
    if (apart && is_stretch(g, d, e->cond, lo, less)) return d;
  }
  return NULL;
}

/* All points of one dim, the others' own. */
static const tp_sym *gathered_along(const tp_node *n, const tp_edge *e, int64_t *lo, int64_t *less) {
  const tp_node *x = e->src.node;
  const tp_sym *found = NULL;
  *lo = *less = 0;
  for (int k = 0; k < x->ndom; k++) {
    const tp_sym *d = x->dom[k];
    if (!e->at[k].range && tp_ix_as_sym(e->at[k].lo) == d) continue;
    if (found || !e->at[k].range || tp_dom_has(n->ndom, n->dom, d) || !tp_is_number(e->at[k].lo, 0) || tp_ix_as_sym(e->at[k].hi) != d->bound) return NULL;
    found = d;
  }
  return e->cond ? NULL : found;
}

const tp_sym *tp_totals_along(tp_graph *g, const tp_node *n, const tp_edge *e, int64_t *lo, int64_t *less) {
  if (n->op != TP_OP_ACCUM || n->attr.red != TP_RED_SUM) return NULL;
  return e->gather ? gathered_along(n, e, lo, less) : scattered_along(g, n, e, lo, less);
}

/* ---- their sum ---- */

/* r, without the points that are left out before its first. */
static tp_val summed_up(tp_evolving *e, tp_val x, bool without_first) {
  tp_ictx *ix = e->mk.g->ix;
  const tp_ix *t = tp_ix_sym(ix, e->dim), *first = tp_point_after(e, 0);
  tp_val r = mk_declared(e->mk, tp_dtypeof(x), tp_rankof(x), tp_outof(x)->shape, x.node->ndom, x.node->dom);
  tp_val begin = without_first ? mk_zeros_like(e->mk, x) : mk_at(e->mk, x, e->dim, first), next = mk_add(e->mk, mk_at(e->mk, r, e->dim, tp_ix_addc(ix, t, e->back ? 1 : -1)), x);
  bool ok = r.node && begin.node && next.node && tp_merge_add(e->mk.g, r.node, tp_ix_cmp(ix, TP_EQ, t, first), begin, e->mk.err) && tp_merge_add(e->mk.g, r.node, NULL, next, e->mk.err);
  return ok ? r : tp_none;
}

tp_val tp_evolved_total(tp_evolving *e, tp_val x, int64_t lo, int64_t less, const tp_ix **cond) {
  tp_ictx *ix = e->mk.g->ix;
  const tp_ix *bound = tp_ix_sym(ix, e->dim->bound), *last = e->back ? tp_ix_const(ix, lo) : tp_ix_addc(ix, bound, -1 - less);
  tp_solution y = { 0 };
  tp_val r = summed_up(e, x, e->back ? less : lo);
  if (!r.node) return r;
  tp_evolution_of_new(e, &y, r.node);
  tp_val v = y.is == SOLVE_FORM ? tp_evolved_form(e, r.node, &y.form) : y.is == SOLVE_SYSTEM ? tp_evolved_system(e, r.node, y.sys) : tp_none;
  *cond = tp_ix_cmp(ix, TP_GE, bound, tp_ix_const(ix, lo + less + 1));
  return v.node ? mk_at(e->mk, v, e->dim, last) : v;
}
