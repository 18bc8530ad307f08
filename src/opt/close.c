/* close: parameters become declared tensors.
 *
 *   param w (init, update), along {i, k}   =>   w at (0, 0)   is pinit(init)
 *                                               w at (i, k)   is the update at (i, k - 1)         for k >= 1
 *                                               w at (i, 0)   is the update at (i - 1, K - 1)     otherwise
 *
 * that is, the update at the lexicographic predecessor. The PARAM node itself turns into the MERGE, so that nothing that reads it has to be rewired. A
 * hidden output named like the parameter has its value after the last point: the update at (I - 1, K - 1) if there is a point, else pinit(init). */
#include "opt/opt.h"

typedef struct closing {
  tp_graph *g;
  tp_node *p;
  tp_val update;                                /* {NULL}: carried */
  tp_val first;                                 /* PINIT */
  int nstill; const tp_sym **still;             /* dims it does not evolve along */
  tp_error *err;
} closing;

static const tp_ix *zero(closing *c) { return tp_ix_const(c->g->ix, 0); }
static const tp_ix *symbol(closing *c, const tp_sym *s) { return tp_ix_sym(c->g->ix, s); }

static bool make_first(closing *c, int number) {
  const tp_attr *a = &c->p->attr;
  c->still = TP_NEWN(&c->g->arena, const tp_sym *, c->p->ndom + 1);
  for (int i = 0; i < c->p->ndom; i++)
    if (!tp_dom_has(a->nalong, a->along, c->p->dom[i])) c->still[c->nstill++] = c->p->dom[i];
  tp_attr at = { .i = { number }, .ndom = c->nstill, .dom = c->still };
  c->first = tp_v(tp_build(c->g, TP_OP_PINIT, 1, &c->p->in[0].src, &at, c->err));
  return c->first.node;
}

/* The update with its along dims at `index` (in the order of attr.along), the others in place. */
static tp_val update_at(closing *c, const tp_ix *const *index) {
  const tp_attr *a = &c->p->attr;
  const tp_node *u = c->update.node;
  tp_at at[u->ndom + 1];
  for (int i = 0; i < u->ndom; i++) {
    at[i] = (tp_at){ .lo = symbol(c, u->dom[i]) };
    for (int j = 0; j < a->nalong; j++)
      if (a->along[j] == u->dom[i]) at[i].lo = index[j];
  }
  return tp_read(c->g, c->update, at, c->err);
}

/* The predecessor of points whose along dims after j are 0 and whose j-th is not. */
static tp_val step_of(closing *c, int j) {
  const tp_attr *a = &c->p->attr;
  const tp_ix *index[a->nalong + 1];
  for (int i = 0; i < a->nalong; i++) {
    const tp_ix *end = symbol(c, a->along[i]->bound);
    index[i] = i < j ? symbol(c, a->along[i]) : tp_ix_addc(c->g->ix, i == j ? symbol(c, a->along[i]) : end, -1);
  }
  return update_at(c, index);
}

static bool add(closing *c, tp_node *merge, const tp_ix *cond, tp_val e) { return e.node && tp_merge_add(c->g, merge, cond, e, c->err); }

static bool close_one(closing *c) {
  const tp_attr *a = &c->p->attr;
  tp_ictx *ix = c->g->ix;
  const tp_ix *start = NULL;
  c->p->op = TP_OP_MERGE;
  c->p->nin = 0;
  for (int j = 0; c->update.node && j < a->nalong; j++) {
    const tp_ix *here = tp_ix_cmp(ix, TP_EQ, symbol(c, a->along[j]), zero(c));
    start = start ? tp_ix_and(ix, start, here) : here;
  }
  if (!add(c, c->p, start, c->first)) return false;
  for (int j = a->nalong - 1; start && j >= 0; j--)
    if (!add(c, c->p, j ? tp_ix_cmp(ix, TP_GE, symbol(c, a->along[j]), tp_ix_const(ix, 1)) : NULL, step_of(c, j))) return false;
  return true;
}

/* The value after the last point. */
static tp_val last(closing *c) {
  const tp_attr *a = &c->p->attr;
  tp_ictx *ix = c->g->ix;
  if (!c->update.node) return c->first;
  const tp_ix *index[a->nalong + 1], *any = NULL;
  for (int j = 0; j < a->nalong; j++) {
    const tp_ix *end = symbol(c, a->along[j]->bound), *some = tp_ix_cmp(ix, TP_GE, end, tp_ix_const(ix, 1));
    index[j] = tp_ix_addc(ix, end, -1);
    any = any ? tp_ix_and(ix, any, some) : some;
  }
  const tp_out *o = &c->p->out[0];
  tp_attr at = { .dtype = o->dtype, .nix = o->rank, .ix = o->shape, .ndom = c->nstill, .dom = c->still };
  tp_node *m = tp_build(c->g, TP_OP_MERGE, 0, NULL, &at, c->err);
  if (!m || !add(c, m, any, update_at(c, index)) || !add(c, m, NULL, c->first)) return (tp_val){ 0 };
  return tp_v(m);
}

bool tp_close_params(tp_graph *g, tp_error *err) {
  tp_pos pos = g->pos;
  bool ok = true;
  for (int i = 0; ok && i < g->params.n; i++) {
    tp_node *p = g->params.v[i];
    if (p->op != TP_OP_PARAM || p->id < 0) continue;
    closing c = { .g = g, .p = p, .update = p->nin > 1 ? p->in[1].src : (tp_val){ 0 }, .err = err };
    tp_pos at = g->pos = p->nin > 1 ? p->in[1].pos : p->pos;
    tp_val v = { 0 };
    if (!p->name) p->name = p->attr.str;
    ok = make_first(&c, i) && close_one(&c) && (v = last(&c)).node;
    if (ok) TP_PUSH(&g->arena, &g->outputs, (tp_output){ .name = p->attr.str, .val = v, .pos = at, .hidden = true });
  }
  g->pos = pos;
  return ok;
}
