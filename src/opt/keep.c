/* keep: keeps the newest values of parameters, which a host asks for before the last point: between
 * ticks, and after a callback or a check has ended the run.
 *
 *   w evolves along i   =>   a sink call(w) at each point: no pass may leave out values of w, or
 * turn w into a formula of its last point
 *
 * Lowering makes no statement of these sinks. It copies each new value of w to the place of the
 * last one (tp_newest_in), so that place has the newest whole value at any time. */
#include "opt/opt.h"

static bool may_end_early(const tp_graph *g) {
  bool any = false;
  TP_NODES (n, g->nodes) any |= n->op == TP_OP_CALL;
  return any;
}

static bool keep(tp_graph *g, tp_node *w, tp_error *err) {
  tp_attr a = { .fn = TP_FN_KEEP, .paced = true, .ndom = w->ndom, .dom = w->dom };
  tp_val v = tp_v(w);
  g->pos = w->pos;
  tp_node *c = tp_build(g, TP_OP_CALL, 1, &v, &a, err);
  if (c) c->name = w->attr.str;
  return c != NULL;
}

bool tp_pass_keep(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  bool all = job->ticks || job->check || may_end_early(g);
  for (int k = 0; all && k < g->params.n; k++)
    if (tp_param_evolves(g->params.v[k]) && !keep(g, g->params.v[k], err)) return false;
  return true;
}

bool tp_is_kept(const tp_graph *g, const tp_node *n) {
  bool is = false;
  TP_NODES (x, g->sinks) is |= x->attr.fn == TP_FN_KEEP && x->in[0].src.node == n;
  return is;
}
