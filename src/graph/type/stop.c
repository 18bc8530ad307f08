/* stop: bounds that are reached while running, in sets of points. In the set of a node such a bound
 * means the end at that very point (if the node lacks dims of the stop's domain: the greatest over
 * these). So an edge that goes to other points of these dims must not hand on what a set says about
 * the end: see tp_edge_crosses. */
#include "graph/core.h"

const tp_stop *tp_stop_of(const tp_graph *g, tp_sym *s) {
  TP_EACH (const tp_stop, x, g->stops)
    if (x->dim == s || x->sym == s) return x;
  return NULL;
}

bool tp_mentions_end(const tp_graph *g, tp_ix *e) {
  TP_EACH (const tp_stop, s, g->stops)
    if (e && tp_ix_mentions(e, s->sym)) return true;
  return false;
}

tp_ix *tp_end_parts(tp_graph *g, tp_ix *cond, bool mention) {
  tp_ix *all = NULL, *x;
  for (int k = 0; (x = tp_ix_conjunct(cond, k)); k++)
    if (tp_mentions_end(g, x) == mention) all = tp_ix_both(all, x);
  return all;
}

/* ---- points ---- */

bool tp_end_known(const tp_graph *g, tp_sym *s, int ndom, tp_dims dom) {
  const tp_stop *p = s->kind == TP_SYM_BOUND ? tp_stop_of(g, s) : NULL;
  for (int i = 0; p && i < p->ndom; i++)
    if (!tp_dom_has(ndom, dom, p->dom[i])) return false;
  return true;
}

bool tp_at_stays(const tp_node *x, const tp_at *at, const tp_stop *s) {
  for (int i = 0; i < x->ndom; i++)
    if (tp_dom_has(s->ndom, s->dom, x->dom[i]) && !tp_at_is_own(&at[i], x->dom[i])) return false;
  return true;
}

bool tp_edge_crosses(const tp_node *n, int k, const tp_stop *s) {
  const tp_node *x = tp_in(n, k);
  for (int i = 0; i < s->ndom; i++)
    if (tp_has_dim(n, s->dom[i]) != tp_has_dim(x, s->dom[i])) return true;
  if (n->op == TP_OP_READ) return !tp_at_stays(x, n->attr.at, s);
  return n->op == TP_OP_ACCUM && !tp_at_stays(n->in[k].gather ? x : n, n->in[k].at, s);
}

/* ---- sets ---- */

static tp_ix *compare(tp_graph *g, tp_sym *s, tp_cmp op, int64_t k) {
  return tp_ix_cmp(op, tp_ix_sym(s), tp_ix_const(g->ix, k));
}
static tp_ix *at_least_1(tp_graph *g, tp_sym *s) { return compare(g, s, TP_GE, 1); }

tp_ix *tp_end_within(tp_graph *g, const tp_stop *s, int64_t least) {
  return tp_ix_and(
      compare(g, s->sym, TP_GE, least), tp_ix_cmp(TP_LE, tp_ix_sym(s->sym), tp_ix_sym(s->given)));
}

tp_ix *tp_end_extreme(tp_graph *g, tp_ix *e, bool most, int n, tp_dims dims) {
  tp_sym *over[n + g->stops.n + 1];
  if (n) TP_COPYN(over, dims, n);
  TP_EACH (const tp_stop, s, g->stops) {
    tp_ix *some = tp_ix_mentions(e, s->sym) ? tp_ix_addc(tp_ix_sym(s->less), 1) : NULL;
    if (some) e = tp_ix_subst(e, 1, &s->sym, &some), over[n++] = s->less;
  }
  return n ? (most ? tp_ix_upper : tp_ix_lower)(e, n, over) : e;
}

/* Judgements assume that a call gives at least 1, so an end is any number from 1 on. */
tp_set *tp_set_unended(tp_graph *g, tp_set *a, const tp_stop *s) {
  return tp_set_some(g->ix, a, s->sym, at_least_1(g, s->sym));
}

tp_set *tp_set_reached(tp_graph *g, tp_set *a, int n, tp_dims dims) {
  TP_EACH (const tp_stop, s, g->stops)
    a = tp_set_and(a, tp_set_cond(g->ix, n, dims, at_least_1(g, s->sym)));
  return a;
}

/* The recursion ends, as no end depends on itself (stop_add.c). */
bool tp_stop_needs(const tp_graph *g, const tp_stop *s, tp_sym *dim) {
  bool needs = s->dim == dim;
  for (int i = 0; i < s->ndom && !needs; i++) {
    const tp_stop *row = tp_stop_of(g, s->dom[i]);
    needs = s->dom[i] == dim || (row && tp_stop_needs(g, row, dim));
  }
  return needs;
}

tp_set *tp_set_nothing(tp_graph *g, tp_set *a, int n, tp_dims dims, tp_sym *zero) {
  tp_ix *none = compare(g, zero->bound, TP_EQ, 0);
  TP_EACH (const tp_stop, s, g->stops)
    if (tp_stop_needs(g, s, zero)) none = tp_ix_and(none, compare(g, s->sym, TP_EQ, 0));
  return tp_set_and(a, tp_set_cond(g->ix, n, dims, none));
}

tp_set *tp_set_given(tp_graph *g, tp_set *a, tp_sym *zero) {
  TP_EACH (const tp_stop, s, g->stops) {
    a = tp_set_some(g->ix, a, s->other, at_least_1(g, s->other));
    if (!zero) a = tp_set_some(g->ix, a, s->sym, tp_end_within(g, s, 1));
    else if (s->dim != zero && tp_stop_needs(g, s, zero))
      a = tp_set_some(g->ix, a, s->sym, compare(g, s->sym, TP_EQ, 0));
    if (s->given != s->dim->bound)
      a = tp_set_some(g->ix, a, s->given, tp_ix_cmp(TP_EQ, tp_ix_sym(s->given), tp_ix_sym(s->sym)));
  }
  return a;
}
