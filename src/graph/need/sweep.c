/* sweep: drops nodes that nothing needs. */
#include "graph/core.h"

typedef TP_VEC(tp_node *) nodevec;

static void visit(tp_arena *a, nodevec *work, tp_node *n, bool *seen) {
  if (!n || seen[n->id]) return;
  seen[n->id] = true;
  TP_PUSH(a, work, n);
}

void tp_reach(tp_arena *a, tp_node *n, bool *seen) {
  nodevec work = { 0 };
  visit(a, &work, n, seen);
  while (work.n) {
    n = work.v[--work.n];
    for (int k = 0; k < n->nin; k++) visit(a, &work, tp_in(n, k), seen);
  }
}

/* Visits each value that ends a dim of n, or a dim whose end n mentions. */
static void visit_stops(tp_graph *g, tp_arena *a, nodevec *work, const tp_node *n, bool *live) {
  TP_EACH (tp_stop, s, g->stops) {
    if (s->live ||
        !(tp_has_dim(n, s->dim) || tp_node_mentions(n, s->sym) || tp_node_mentions(n, s->given)))
      continue;
    s->live = true;
    visit(a, work, s->done.node, live);
    visit(a, work, s->end, live);
  }
}

/* By node id. A GRAD without losses of its own differentiates the graph's losses, which live with
 * it. */
static bool *find_live(tp_graph *g, tp_arena *a) {
  nodevec work = { 0 };
  bool *live = TP_NEWN(a, bool, g->nodes.n);
  for (int i = 0; i < g->stops.n; i++) g->stops.v[i].live = false;
  for (int i = 0; i < g->outputs.n; i++) visit(a, &work, g->outputs.v[i].val.node, live);
  TP_NODES (n, g->sinks) visit(a, &work, n, live);
  TP_NODES (n, g->params)
    if (n->id >= 0) visit(a, &work, n, live);
  while (work.n) {
    tp_node *n = work.v[--work.n];
    visit_stops(g, a, &work, n, live);
    for (int k = 0; k < n->nin; k++) visit(a, &work, tp_in(n, k), live);
    if (n->op == TP_OP_GRAD && n->nin == 1)
      for (int i = 0; i < g->losses.n; i++) visit(a, &work, g->losses.v[i].node, live);
  }
  return live;
}

static void drop_node(tp_node *n) {
  n->id = -1;
  n->nin = 0;
  n->attr.nat = 0;
  n->attr.data = tp_array_unref(n->attr.data);
}

/* An open PARAM stays even if nothing reads it, as its values are handed out after the run. Losses
 * that died and ends of dims that no node has leave their lists. */
void tp_graph_prune(tp_graph *g) {
  tp_arena scratch;
  tp_scratch_init(&scratch);
  const bool *live = find_live(g, &scratch);
  int kept = 0, losses = 0;
  for (int i = 0; i < g->nodes.n; i++) {
    tp_node *n = g->nodes.v[i];
    if (!live[i]) drop_node(n);
    else {
      n->id = kept;
      g->nodes.v[kept++] = n;
    }
  }
  tp_arena_free(&scratch);
  g->nodes.n = kept;
  for (int i = 0; i < g->losses.n; i++)
    if (g->losses.v[i].node->id >= 0) g->losses.v[losses++] = g->losses.v[i];
  g->losses.n = losses;
  int stops = 0;
  for (int i = 0; i < g->stops.n; i++)
    if (g->stops.v[i].live) g->stops.v[stops++] = g->stops.v[i];
  g->stops.n = stops;
}

void tp_graph_sweep(tp_graph *g) {
  int before = g->nodes.n;
  tp_graph_prune(g);
  if (g->nodes.n < before && g->shapechecks.n) tp_recheck(g, false);
}
