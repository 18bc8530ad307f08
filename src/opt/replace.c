/* replace: rewires every use of one value to another. */
#include "opt/opt.h"

static bool same(tp_val a, tp_val b) { return a.node == b.node && a.out == b.out; }

void tp_replace(tp_graph *g, tp_val old, tp_val now) {
  for (int i = 0; i < g->nodes.n; i++) {
    tp_node *n = g->nodes.v[i];
    if (n == now.node) continue;
    for (int k = 0; k < n->nin; k++)
      if (same(n->in[k].src, old)) n->in[k].src = now;
  }
  for (int i = 0; i < g->outputs.n; i++)
    if (same(g->outputs.v[i].val, old)) g->outputs.v[i].val = now;
  for (int i = 0; i < g->stops.n; i++)
    if (same(g->stops.v[i].done, old)) g->stops.v[i].done = now;
  for (int i = 0; i < g->losses.n; i++)
    if (same(g->losses.v[i], old)) g->losses.v[i] = now;
}

void tp_rewrite(tp_graph *g, tp_val old, tp_val now, const char *pass, const char *rule) {
  tp_tell(g, pass, old.node->pos, tp_printf(&g->arena, "%s: %s", tp_title(&g->arena, old.node), rule));
  tp_replace(g, old, now);
}
