/* layout: inputs and outputs with the dim of a recurrence inside other dims are copied at the edge.
 *
 *   over (b, t), t carried and b not:   y[t] = f(y[t+1], x), an output
 *     =>   z[t] = f(z[t+1], detach x), detach z an output; both to be stored
 *
 * Calls over b at each t would walk such an array at the stride of t, a line of the cache for each
 * number. A stored copy lies as loops want it (poly/order/vec.c) and is made a block of t at a time
 * (poly/order/block.c). The pass takes only elements smaller than a line, as larger ones are read
 * well as they lie; only where all reads go along t one way and are near their own point, so that a
 * block of the copy is kept, not all; and no program with callbacks, whose time decides what runs
 * when. */
#include "opt/opt.h"

enum { WAY_BACK = 1, WAY_AHEAD = 2, ANY_WAY = WAY_BACK | WAY_AHEAD };

/* way: by symbol of a dim, the direction in which reads inside recurrences go along it */
typedef struct layer {
  tp_graph *g;
  int *scc;
  int *way;
} layer;

/* Does the read stay near its own point along dim d? *steps: how far; false: not a number of
 * steps. */
static bool is_near(const tp_node *read, int d, int64_t *steps) {
  const tp_at *at = &read->attr.at[d];
  return !at->range && tp_ix_is_const(tp_ix_sub(at->lo, tp_ix_sym(tp_in(read, 0)->dom[d])), steps);
}

static void mark_way(layer *l, const tp_node *read) {
  const tp_node *x = tp_in(read, 0);
  for (int d = 0; d < x->ndom; d++) {
    int64_t steps;
    bool near = is_near(read, d, &steps);
    l->way[x->dom[d]->id] |= !near ? ANY_WAY : steps < 0 ? WAY_BACK : steps > 0 ? WAY_AHEAD : 0;
  }
}

/* Is v over a dim that nothing carries, which lies outside of a dim along which all reads go one
 * way, and are v's elements smaller than a line? */
static bool is_strided(const layer *l, tp_val v) {
  const tp_node *n = v.node;
  int64_t bytes = tp_dtype_size(tp_dtypeof(v)), extent;
  bool outer = false, across = false;
  for (int d = 0; d < n->ndom; d++) {
    int way = l->way[n->dom[d]->id];
    if (way == ANY_WAY) return false;
    across |= outer && way;
    outer |= !way;
  }
  for (int a = 0; a < tp_rankof(v); a++)
    bytes *= tp_ix_is_const(mk_extent(v, a), &extent) ? TP_MIN(extent, TP_TUNE_LAYOUT_LINE)
                                                      : TP_TUNE_LAYOUT_LINE;
  return across && bytes < TP_TUNE_LAYOUT_LINE;
}

/* Does operand k of the node show its value near the node's own point? */
static bool looks_near(const tp_node *by, int k) {
  int64_t steps;
  if (by->op == TP_OP_ACCUM) return false;
  for (int d = 0; by->op == TP_OP_READ && d < tp_in(by, k)->ndom; d++)
    if (!is_near(by, d, &steps)) return false;
  return true;
}

/* Do all readers of n look near, through detaches too? */
static bool is_seen_near(const layer *l, const tp_node *n) {
  TP_NODES (by, l->g->nodes) {
    for (int k = 0; k < by->nin; k++)
      if (tp_in(by, k) == n &&
          (!looks_near(by, k) || (by->op == TP_OP_DETACH && !is_seen_near(l, by))))
        return false;
  }
  return true;
}

static tp_val stored_copy(layer *l, tp_val v, tp_error *err) {
  l->g->pos = v.node->pos;
  return mk_op((tp_mk){ .g = l->g, .err = err }, TP_OP_DETACH, 1, &v, &(tp_attr){ .stored = true });
}

/* Gives near readers of an input a stored copy; readers from afar go on reading it as it lies. */
static bool turn_input(layer *l, tp_node *n, tp_error *err) {
  tp_val now = { 0 };
  int n0 = l->g->nodes.n;
  for (int i = 0; i < n0 && is_strided(l, tp_v(n)); i++) {
    tp_node *by = l->g->nodes.v[i];
    for (int k = 0; k < by->nin; k++) {
      if (tp_in(by, k) != n || !looks_near(by, k)) continue;
      if (!now.node && !(now = stored_copy(l, tp_v(n), err)).node) return false;
      by->in[k].src = now;
    }
  }
  if (now.node) now.node->name = n->attr.str;
  return true;
}

static bool turn_output(layer *l, tp_output *o, tp_error *err) {
  tp_val v = o->val;
  while (v.node->op == TP_OP_DETACH && !v.node->attr.stored) v = v.node->in[0].src;
  bool made = v.node->op != TP_OP_INPUT && v.node->op != TP_OP_CONST && !v.node->attr.stored;
  if (!made || !is_strided(l, v) || !is_seen_near(l, v.node)) return true;
  tp_val now = stored_copy(l, v, err);
  if (!now.node) return false;
  now.node->name = o->name;
  o->val = now;
  return true;
}

bool tp_pass_layout(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int n = g->nodes.n;
  layer l = { g, TP_NEWN(&g->arena, int, n), TP_NEWN(&g->arena, int, tp_nsym(g->ix)) };
  tp_graph_sccs(g, l.scc, NULL);
  for (int i = 0; i < n; i++) {
    const tp_node *x = g->nodes.v[i];
    if (x->op == TP_OP_CALL) return true;
    if (x->op == TP_OP_READ && l.scc[i] == l.scc[tp_in(x, 0)->id]) mark_way(&l, x);
  }
  for (int k = 0; k < g->inputs.n; k++)
    if (!turn_input(&l, g->inputs.v[k], err)) return false;
  for (int k = 0; k < g->outputs.n; k++)
    if (!turn_output(&l, &g->outputs.v[k], err)) return false;
  return true;
}
