/* lags: a recurrence that steps from several points back is as many states that step from one.
 *
 *   x[0] = a, x[1] = b, x[t] = f(x[t-1], x[t-2])   =>   x[0] = a, x[t] = y[t-1]     y[0] = b, y[t]
 * = f(y[t-1], x[t-1])
 *
 * where y is x one step on (and z, of three points, x two steps on), so f must be the same at every
 * point: what it is made of besides has not the dim and is not made of x. */
#include "opt/evolve.h"

/* state[k]: x so many steps on, of n. */
typedef struct lagged {
  tp_evolving *e;
  const tp_node *m;
  const char *cone;
  int n;
  tp_node *state[EVOLVE_STATES];
  tp_val *made;
} lagged;

/* A state at the point before. */
static tp_val point_before(const lagged *l, tp_node *x) {
  const tp_ix *t = tp_ix_sym(l->e->mk.g->ix, l->e->dim);
  return mk_at(l->e->mk, tp_v(x), l->e->dim, tp_ix_addc(l->e->mk.g->ix, t, l->e->back ? 1 : -1));
}

static tp_val at_the_next(const lagged *l, tp_node *n);

static tp_val operator_at_the_next(const lagged *l, tp_node *n) {
  tp_val in[3];
  if (n->nin > 3 || n->nout != 1 || tp_ops[n->op].cls == TP_CLS_TIME ||
      tp_node_mentions(n, l->e->dim))
    return tp_none;
  for (int k = 0; k < n->nin; k++)
    if (!(in[k] = at_the_next(l, n->in[k].src.node)).node || n->in[k].src.out) return tp_none;
  return mk_op(l->e->mk, n->op, n->nin, in, &n->attr);
}

/* What the step at the point after is made of, of the states; nothing, if it is not made of them
 * alone. */
static tp_val at_the_next(const lagged *l, tp_node *n) {
  int64_t steps;
  bool other;
  const tp_evolving *e = l->e;
  if (!tp_dom_has(n->ndom, n->dom, e->dim))
    return n->id < e->n0 && e->scc[n->id] == e->scc[l->m->id] ? tp_none : tp_v(n);
  if (n->id >= e->n0 || !l->cone[n->id]) return tp_none;
  if (l->made[n->id].node) return l->made[n->id];
  if (n->op != TP_OP_READ) return l->made[n->id] = operator_at_the_next(l, n);
  bool steps_back = n->in[0].src.node == l->m && tp_steps_of(l->e, n, &steps, &other) && !other &&
      steps < 0 && steps >= -l->n;
  return steps_back ? point_before(l, l->state[l->n + steps]) : tp_none;
}

static bool define(const lagged *l, tp_node *x, tp_val first, tp_val step) {
  tp_mk mk = l->e->mk;
  const tp_ix *at =
      tp_ix_cmp(mk.g->ix, TP_EQ, tp_ix_sym(mk.g->ix, l->e->dim), tp_point_after(l->e, 0));
  return first.node && step.node && tp_merge_add(mk.g, x, at, first, mk.err) &&
      tp_merge_add(mk.g, x, NULL, step, mk.err);
}

tp_node *tp_lagged_states(
    tp_evolving *e, tp_node *m, int n, const tp_val *first, tp_val step, const char *cone) {
  const tp_out *o = &m->out[0];
  lagged l = {
    .e = e, .m = m, .cone = cone, .n = n, .made = TP_NEWN(&e->mk.g->arena, tp_val, e->n0)
  };
  for (int k = 0; k < n; k++) {
    tp_val x = mk_declared(e->mk, o->dtype, o->rank, o->shape, m->ndom, m->dom);
    if (!(l.state[k] = x.node)) return NULL;
    const char *title = tp_title(&e->mk.g->arena, m);
    if (k)
      x.node->what =
          tp_printf(&e->mk.g->arena, k == 1 ? "%s one step on" : "%s %d steps on", title, k);
    else x.node->name = m->name, x.node->what = m->what;
  }
  bool ok = define(&l, l.state[n - 1], first[n - 1], at_the_next(&l, step.node));
  for (int k = 0; k + 1 < n && ok; k++)
    ok = define(&l, l.state[k], first[k], point_before(&l, l.state[k + 1]));
  return ok ? l.state[0] : NULL;
}
