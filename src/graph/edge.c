/* edge: gives an edge as a relation, for everything that asks isl. */
#include "graph/core.h"

tp_at *tp_at_own(tp_graph *g, int n, tp_dims dom) {
  tp_at *at = TP_NEWN(&g->arena, tp_at, n + 1);
  for (int i = 0; i < n; i++) at[i] = (tp_at){ .lo = tp_ix_sym(dom[i]) };
  return at;
}

tp_at *tp_at_but(tp_graph *g, const tp_node *x, tp_sym *d, tp_at at) {
  tp_at *all = tp_at_own(g, x->ndom, x->dom);
  for (int i = 0; i < x->ndom; i++)
    if (x->dom[i] == d) all[i] = at;
  return all;
}

static tp_ix *cond_of(const void *merge, int k) {
  return k < ((const tp_node *)merge)->nin ? ((const tp_node *)merge)->in[k].cond : NULL;
}

tp_set *tp_branch_set(tp_graph *g, const tp_node *m, int k) {
  return tp_set_first(g->ix, m, m->ndom, m->dom, k, cond_of);
}

/* The contributions as u -> p, for all p at which they count. */
static tp_rel *scatter_rel(tp_graph *g, const tp_node *n, const tp_edge *e) {
  const tp_node *x = e->src.node;
  tp_set *from = tp_box_of(g, x);
  if (e->cond) from = tp_set_and(from, tp_set_cond(g->ix, x->ndom, x->dom, e->cond));
  return tp_rel_reverse(
      tp_rel_restrict(tp_rel_at(g->ix, x->ndom, x->dom, n->ndom, n->dom, e->at), from));
}

static tp_rel *edge_rel(tp_graph *g, const tp_node *n, int k) {
  const tp_edge *e = &n->in[k];
  const tp_node *x = e->src.node;
  if (n->op == TP_OP_ACCUM && !e->gather) return scatter_rel(g, n, e);
  const tp_at *at = n->op == TP_OP_READ ? n->attr.at
      : n->op == TP_OP_ACCUM            ? e->at
                                        : tp_at_own(g, x->ndom, x->dom);
  tp_rel *r = tp_rel_at(g->ix, n->ndom, n->dom, x->ndom, x->dom, at);
  if (n->op == TP_OP_MERGE) return tp_rel_restrict(r, tp_branch_set(g, n, k));
  return e->cond ? tp_rel_where(g->ix, r, n->ndom, n->dom, x->ndom, x->dom, e->cond) : r;
}

/* A range up to a lowered end may be as long as the call allows. */
tp_rel *tp_edge_rel(tp_graph *g, const tp_node *n, int k) {
  tp_rel *r = edge_rel(g, n, k);
  TP_EACH (const tp_stop, s, g->stops)
    if (s->end && tp_node_mentions(n, s->sym))
      r = tp_rel_some(g->ix, r, s->sym, tp_end_within(g, s, 0));
  return r;
}
