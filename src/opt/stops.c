/* stops: what a dim that ends by data has reached is an accumulation like others.
 *
 *   stop t done   =>   end = accum(min) of where(done, t + 1, a number beyond any) gathered over 0 .. T, over the dims of done but t
 *
 * Where no done holds that number stays, and the bound given is smaller. The range of the accumulation is the very end that it finds out: its points are those that
 * are alive. Runs on the compiled path only: the reference asks done point by point. */
#include "opt/opt.h"
#include "graph/mk.h"

static bool lower(tp_graph *g, tp_stop *s, tp_error *err) {
  tp_mk k = { g, err };
  tp_ictx *c = g->ix;
  g->pos = s->pos;
  tp_val next = tp_ixvalue(g, tp_ix_addc(c, tp_ix_sym(c, s->dim), 1), err), never = tp_number(g, 9223372036854775808.0, TP_I64, err);   /* saturates */
  tp_val at = mk_select(k, s->done, next, never);
  tp_node *end = at.node ? tp_build(g, TP_OP_ACCUM, 0, NULL, &(tp_attr){ .dtype = TP_I64, .ndom = s->ndom, .dom = s->dom, .red = TP_RED_MIN }, err) : NULL;
  if (!end) return false;
  end->name = s->dim->bound->name;
  tp_at *p = TP_NEWN(&g->arena, tp_at, at.node->ndom);
  for (int d = 0; d < at.node->ndom; d++) {
    p[d].lo = tp_ix_sym(c, at.node->dom[d]);
    if (at.node->dom[d] == s->dim) p[d] = (tp_at){ true, tp_ix_const(c, 0), tp_ix_sym(c, s->dim->bound) };
  }
  s->end = end;
  return tp_accum_add(g, end, (tp_edge){ .src = at, .at = p, .gather = true, .pos = s->pos }, err);
}

bool tp_lower_stops(tp_graph *g, tp_error *err) {
  for (int i = 0; i < g->stops.n; i++)
    if (!lower(g, &g->stops.v[i], err)) return false;
  return true;
}
