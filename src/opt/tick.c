/* tick: prepares a program that is stepped. Values that come or go with a tick become callbacks:
 *   x(t) fed  =>  x = call()   at each point of the tick dims; dims that do not tick are in `over`
 *   output y  =>  call(y)      likewise; an output that has only the outer ones of several tick
 *                              dims is called once all inside are over
 * One more call without operands or results, over the tick dims, is where execution waits for the
 * next step. So x and y are stored as far as their readers need, and no array is kept over the tick
 * dims. The scheduler keeps these calls in order (lower/deps.c). */
#include "opt/opt.h"

static int others(tp_graph *g, const tp_ticks *t, const tp_node *n, tp_sym ***over) {
  int count = 0;
  *over = TP_NEWN(&g->arena, tp_sym *, n->ndom);
  for (int k = 0; k < n->ndom; k++)
    if (!tp_dom_has(t->n, t->dim, n->dom[k])) (*over)[count++] = n->dom[k];
  return count;
}

static tp_node *call(tp_graph *g, const tp_ticks *t, int fn, int which, tp_val from, bool result,
    const char *name, tp_error *err) {
  const tp_node *n = from.node;
  const tp_out *o = tp_outof(from);
  tp_sym **over;
  int nover = others(g, t, n, &over);
  tp_out spec = { o->dtype, o->rank, o->shape };
  tp_attr a = { .fn = fn,
    .number = which,
    .paced = true,
    .ndom = n->ndom,
    .dom = n->dom,
    .nover = nover,
    .over = over,
    .nspec = result,
    .spec = &spec };
  g->pos = n->pos;
  tp_node *c = tp_build(g, TP_OP_CALL, !result, &from, &a, err);
  if (c) c->name = name;
  return c;
}

static bool feed(tp_graph *g, const tp_ticks *t, int i, tp_error *err) {
  tp_node *x = g->inputs.v[i];
  tp_node *c = call(g, t, TP_FN_FEED, i, tp_v(x), true, x->attr.str, err);
  if (c) tp_replace(g, tp_v(x), tp_v(c));
  return c != NULL;
}

static bool show(tp_graph *g, const tp_ticks *t, int i, tp_error *err) {
  tp_output *o = &g->outputs.v[i];
  o->shown = true;
  return call(g, t, TP_FN_SHOW, i, o->val, false, o->name, err) != NULL;
}

bool tp_pass_ticks(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  const tp_ticks *t = job->ticks;
  if (!t) return true;
  for (int i = 0; i < g->nodes.n; i++)
    if (g->nodes.v[i]->op == TP_OP_CALL) g->nodes.v[i]->attr.paced = t->paced[i];
  tp_attr a = { .fn = TP_FN_TICK, .ndom = t->n, .dom = t->dim };
  g->pos = TP_NOWHERE; /* no line of the script's */
  tp_node *tick = tp_build(g, TP_OP_CALL, 0, NULL, &a, err);
  if (!tick) return false;
  tick->name = "tick";
  for (int i = 0; i < g->inputs.n; i++)
    if (t->fed[i] && g->inputs.v[i]->id >= 0 && !feed(g, t, i, err)) return false;
  for (int i = 0; i < g->outputs.n; i++) {
    g->outputs.v[i].first = t->first[i];
    if (t->shown[i] && !show(g, t, i, err)) return false;
  }
  return true;
}
