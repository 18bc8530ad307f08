/* simple: the passes that only ever shrink the graph. */
#include "opt/opt.h"

/* cse: hash-consing. Two nodes with the same operator, attributes, domain and operands (with their index maps) compute the same at every point, so the second's readers
 * go to the first. Never for RAND (two draws are two draws), CALL, INPUT, MERGE and ACCUM (declared things keep their identity), ENV_* are pure and may. */
static bool shareable(const tp_node *n) {
  switch (n->op) {
    case TP_OP_RAND: case TP_OP_CALL: case TP_OP_INPUT: case TP_OP_CONST: case TP_OP_MERGE: case TP_OP_ACCUM: case TP_OP_PARAM: case TP_OP_PINIT: case TP_OP_GRAD: return false;
    default: return true;
  }
}

static void put(tp_buf *b, const void *p, size_t n) { tp_putn(b, p, n); }
static void put_ptrs(tp_buf *b, int n, const void *v) {
  put(b, &n, sizeof n);
  if (n) put(b, v, sizeof(void *) * (size_t)n);
}

static void put_node(tp_buf *b, const tp_node *n) {
  int op = n->op;
  b->n = 0;
  put(b, &op, sizeof op);
  for (int k = 0; k < n->nin; k++) {
    put(b, &n->in[k].src.node, sizeof(tp_node *));
    put(b, &n->in[k].src.out, sizeof(int));
  }
  put_ptrs(b, n->ndom, n->dom);
  for (int o = 0; o < n->nout; o++) put_ptrs(b, n->out[o].rank, n->out[o].shape);
  tp_attr_key(b, &n->attr);
}

static void rewire(tp_node *n) {
  for (int k = 0; k < n->nin; k++)
    if (n->in[k].src.node->subst) n->in[k].src.node = n->in[k].src.node->subst;
}

static void drop_text(void *b) { tp_buf_free(b); }

bool tp_share_equal(tp_graph *g) {
  int n = g->nodes.n, *scc = TP_NEWN(&g->arena, int, n), *order = TP_NEWN(&g->arena, int, n);
  tp_graph_sccs(g, scc, order);
  tp_hmap seen;
  tp_hmap_init(&seen, &g->arena);
  tp_buf b;
  tp_hold mine;
  tp_buf_init(&b);
  tp_hold_set(&mine, drop_text, &b);
  for (int i = 0; i < n; i++) g->nodes.v[i]->subst = NULL;
  for (int i = 0; i < n; i++) {
    tp_node *x = g->nodes.v[order[i]];
    rewire(x);
    if (!shareable(x)) continue;
    put_node(&b, x);
    tp_node *twin = tp_hmap_get(&seen, b.s, b.n);
    if (twin) x->subst = twin;
    else tp_hmap_set(&seen, b.s, b.n, x);
  }
  tp_hold_end(&mine);
  tp_buf_free(&b);
  for (int i = 0; i < n; i++) rewire(g->nodes.v[i]);
  for (int i = 0; i < g->outputs.n; i++)
    if (g->outputs.v[i].val.node->subst) g->outputs.v[i].val.node = g->outputs.v[i].val.node->subst;
  for (int i = 0; i < g->stops.n; i++)
    if (g->stops.v[i].done.node->subst) g->stops.v[i].done.node = g->stops.v[i].done.node->subst;
  for (int i = 0; i < n; i++) g->nodes.v[i]->subst = NULL;
  tp_graph_prune(g);
  return true;
}

/* fold: identities that hold for every value, NaN and infinities included:
 *   x * 1 => x, x / 1 => x, x - 0 => x   when shape, dtype and domain stay   (x + 0 is not: -0 + 0 is +0; it goes unless `precise`)
 *   cast to the dtype it has => x,  reshape, expand to the shape it has => x,  permute by the identity => x
 * The reader's points are x's points, so what is needed of x does not grow. */
static bool filled_with(tp_val v, double c) { return v.node->op == TP_OP_FILL && v.node->attr.f[0] == c; }

static tp_val folded(const tp_node *n, bool precise) {
  tp_val none = { 0 }, a = n->nin > 0 ? n->in[0].src : none, b = n->nin > 1 ? n->in[1].src : none, r = none;
  switch (n->op) {
    case TP_OP_MUL: r = filled_with(b, 1) ? a : filled_with(a, 1) ? b : none; break;
    case TP_OP_DIV: r = filled_with(b, 1) ? a : none; break;
    case TP_OP_SUB: r = filled_with(b, 0) ? a : none; break;
    case TP_OP_ADD: if (!precise) r = filled_with(b, 0) ? a : filled_with(a, 0) ? b : none; break;
    case TP_OP_CAST: case TP_OP_RESHAPE: case TP_OP_EXPAND: r = a; break;
    case TP_OP_PERMUTE:
      for (int i = 0; i < n->attr.naxes; i++)
        if (n->attr.axes[i] != i) return none;
      r = a;
      break;
    default: break;
  }
  return r.node && n->ndom == r.node->ndom && tp_same_type(&n->out[0], tp_outof(r)) ? r : none;
}

bool tp_fold(tp_graph *g, bool precise) {
  for (int i = 0; i < g->nodes.n; i++) {
    tp_node *n = g->nodes.v[i];
    if (!n->nout) continue;
    tp_val r = folded(n, precise);
    if (r.node && r.node != n) tp_replace(g, tp_v(n), r);
  }
  tp_graph_prune(g);
  return true;
}
