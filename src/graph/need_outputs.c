/* Needed points of a whole program: of its outputs, sinks, and what ends dims. */
#include "graph/core.h"

/* Outputs, sinks, and what ends dims, but for those to which nothing is given. */
static int roots_of(const tp_graph *g, const tp_sym *zero, tp_root *roots) {
  int n = 0;
  for (int i = 0; i < g->outputs.n; i++) roots[n++] = (tp_root){ g->outputs.v[i].val, NULL };
  for (int i = 0; i < g->sinks.n; i++) roots[n++] = (tp_root){ tp_v(g->sinks.v[i]), NULL };
  for (int i = 0; i < g->stops.n; i++)
    if (!zero || !tp_stop_needs(g, &g->stops.v[i], zero))
      roots[n++] =
          (tp_root){ g->stops.v[i].end ? tp_v(g->stops.v[i].end) : g->stops.v[i].done, NULL };
  return n;
}

static tp_root *room_for_roots(tp_graph *g) {
  return TP_NEWN(&g->arena, tp_root, g->outputs.n + g->sinks.n + g->stops.n);
}

tp_need *tp_need_without(tp_graph *g, const tp_sym *zero, tp_error *err) {
  tp_root *roots = room_for_roots(g);
  return tp_need_sweep(
      g, roots_of(g, zero, roots), roots, zero, false, TP_NEWN(&g->arena, bool, g->nodes.n), err);
}

/* Is what `wide` reads legal for all bounds for which it is with `need`? */
static bool asks_no_more(tp_graph *g, const tp_need *need, const tp_need *wide) {
  tp_error e = { 0 };
  int had = g->boundchecks.n, mine;
  bool ok = tp_need_stays(g, need, &e);
  mine = g->boundchecks.n;
  ok = ok && tp_need_stays(g, wide, &e) && g->boundchecks.n == mine;
  g->boundchecks.n = had;
  return ok;
}

tp_need *tp_need_outputs(tp_graph *g, tp_error *err) {
  bool *lost = TP_NEWN(&g->arena, bool, g->nodes.n), rough = false;
  tp_root *roots = room_for_roots(g);
  int n = roots_of(g, NULL, roots);
  tp_need *need = tp_need_sweep(g, n, roots, NULL, false, lost, err);
  for (int i = 0; i < g->nodes.n; i++) rough |= lost[i];
  if (need) need->rough = rough;
  if (!need || !rough || (g->stops.n && !g->stops.v[0].end)) return need;
  tp_error e = { 0 };
  tp_need *wide = tp_need_sweep(g, n, roots, NULL, true, lost, &e),
          *better = wide && asks_no_more(g, need, wide) ? wide : need;
  better->rough = true;
  tp_need_free(better == need ? wide : need);
  return better;
}

bool *tp_need_whole(const tp_need *n, tp_arena *a) {
  bool *whole = TP_NEWN(a, bool, n->n);
  for (int i = 0; i < n->n; i++) {
    const tp_node *x = n->g->nodes.v[i];
    tp_set *all = tp_set_box(n->g->ix, x->ndom, x->dom);
    whole[i] = tp_set_subset(n->g->ix, all, n->set[i]);
    tp_set_free(all);
  }
  return whole;
}
