/* firsts: a sort of which only the first elements are read says how many.
 *
 *   v, i = sort x; slice v {0 .. 8}, slice i {0 .. 8}   =>   v, i = sort x {first 8}; ..
 *
 * The result keeps its shape; what lies behind is not made (cpu/lines.c), and nothing reads it. */
#include "opt/opt.h"

/* How many elements along the axis of x, a sort, n reads from the first on; -1: no number says. */
static int64_t firsts_read(const tp_node *n, const tp_node *x) {
  int64_t lo, extent;
  if (n->op != TP_OP_SLICE || n->attr.axis != x->attr.axis || n->attr.step != 1 ||
      !tp_ix_is_const(n->attr.ix[0], &lo) || lo || !tp_ix_is_const(n->attr.ix[1], &extent))
    return -1;
  return extent;
}

bool tp_pass_firsts(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int64_t *most = TP_NEWN(&g->arena, int64_t, g->nodes.n);
  (void)err;
  for (int i = 0; i < g->outputs.n; i++) most[g->outputs.v[i].val.node->id] = -1;
  TP_NODES (n, g->nodes)
    for (int k = 0; k < n->nin; k++) {
      const tp_node *x = tp_in(n, k);
      int64_t read = x->op == TP_OP_SORT && most[x->id] >= 0 ? firsts_read(n, x) : -1;
      most[x->id] = read < 0 ? -1 : TP_MAX(most[x->id], read);
    }
  TP_NODES (n, g->nodes)
    if (n->op == TP_OP_SORT && most[n->id] > 0) n->attr.first = most[n->id];
  return true;
}
