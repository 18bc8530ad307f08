/* cse: hash-consing. Two nodes with the same operator, attributes, domain and operands (with their
 * index maps) compute the same at every point, so the second's readers go to the first. RAND (two
 * draws are two draws), CALL, INPUT, MERGE and ACCUM (declared tensors keep their identity) are
 * left alone; ENV_* are pure and may become one. */
#include "opt/opt.h"

static void put(tp_buf *b, const void *p, size_t n) { tp_putn(b, p, n); }
static void put_ptrs(tp_buf *b, int n, const void *v) {
  put(b, &n, sizeof n);
  if (n) put(b, v, sizeof(void *) * (size_t)n);
}

static void put_node(tp_buf *b, const tp_node *n) {
  int op = n->op, count = 0;
  b->n = 0;
  put(b, &op, sizeof op);
  for (int k = 0; k < n->nin; k++) {
    put(b, &n->in[k].src.node, sizeof(tp_node *));
    put(b, &n->in[k].src.out, sizeof(int));
  }
  put_ptrs(b, n->ndom, n->dom);
  for (int o = 0; o < n->nout; o++) {
    put(b, &n->out[o].dtype, sizeof n->out[o].dtype);
    put_ptrs(b, n->out[o].rank, n->out[o].shape);
  }
  put_ptrs(b, 1, &n->attr.data);
  tp_attr_print(b, &n->attr, n->op, &count);
}

static void take_twin(void *ud, tp_val *v) {
  if (v->node->subst) v->node = v->node->subst;
}

static void rewire(tp_node *n) {
  for (int k = 0; k < n->nin; k++) take_twin(NULL, &n->in[k].src);
}

bool tp_pass_cse(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int n = g->nodes.n, *scc = TP_NEWN(&g->arena, int, n), *order = TP_NEWN(&g->arena, int, n);
  tp_graph_sccs(g, scc, order);
  tp_hmap seen;
  tp_hmap_init(&seen, &g->arena);
  tp_buf b;
  tp_hold mine;
  tp_buf_hold(&b, &mine);
  for (int i = 0; i < n; i++) g->nodes.v[i]->subst = NULL;
  for (int i = 0; i < n; i++) {
    tp_node *x = g->nodes.v[order[i]];
    rewire(x);
    if (tp_op_is(x->op, TP_ALONE)) continue;
    put_node(&b, x);
    tp_node *twin = tp_hmap_get(&seen, b.s, b.n);
    if (twin) {
      x->subst = twin;
      if (tp_ops[x->op].cls != TP_CLS_SRC)
        tp_tell(g, "cse", x->pos, tp_printf(&g->arena, "%s: equal => one", tp_title(&g->arena, x)));
    } else tp_hmap_set(&seen, b.s, b.n, x);
  }
  tp_buf_drop(&b, &mine);
  for (int i = 0; i < n; i++) rewire(g->nodes.v[i]);
  tp_each_root(g, take_twin, NULL);
  for (int i = 0; i < n; i++) g->nodes.v[i]->subst = NULL;
  tp_graph_prune(g);
  return true;
}
