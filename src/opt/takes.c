/* takes: matrices that data picks are used where they lie.
 *
 *   matmul(x, index_select(w, 0, k))   =>   matmul_at(x, k, w)
 *
 * so that the weights of a mixture's experts are not copied for each token, and points that take
 * the same one share a product (cpu/taken.c). An index that names none is blamed on who picks,
 * whose place and name the product gets. w may be turned: permute(index_select(w, 0, k)), axis 0
 * staying, is index_select(permute(w), 0, k). Where the copy has other readers too it stays for
 * these. */
#include "opt/opt.h"
#include "graph/mk.h"

static bool is_looked_at(const tp_node *n) { return n->attr.check; }

/* w of the picked matrices, turned as they are, and what picks them; none: v is no such thing. */
static tp_val taken_from(tp_mk mk, tp_val v, tp_node **by) {
  const tp_node *n = v.node;
  if (n->op == TP_OP_PERMUTE && n->attr.axes[0] == 0) {
    tp_val w = taken_from(mk, n->in[0].src, by);
    return w.node && tp_rankof(w) == tp_rankof(v) ? mk_permute(mk, w, n->attr.axes) : tp_none;
  }
  bool picks = n->op == TP_OP_INDEX_SELECT && n->attr.axis == 0 && tp_rankof(n->in[0].src) == 3 &&
      !is_looked_at(n);
  if (!picks) return tp_none;
  *by = v.node;
  return n->in[0].src;
}

static bool take_matrix(tp_mk mk, tp_node *n) {
  tp_node *by = NULL;
  tp_val x = n->in[0].src, w;
  mk.g->pos = n->pos;
  if (is_looked_at(n) || tp_half(n->out[0].dtype) || !(w = taken_from(mk, n->in[1].src, &by)).node)
    return true;
  tp_val k = by->in[1].src;
  if (tp_rankof(k) != tp_rankof(x) - 2) return true;
  const tp_ix *shape[TP_MAXRANK];
  for (int i = 0; i < tp_rankof(x); i++)
    shape[i] = i < tp_rankof(k) ? n->out[0].shape[i] : mk_extent(x, i);
  x = mk_expand(mk, x, tp_rankof(x), shape);
  mk.g->pos = by->pos;
  tp_val y = mk_op(mk, TP_OP_MATMUL_AT, 3, (tp_val[]){ x, k, w }, NULL);
  if (!y.node) return false;
  y.node->name = by->name;
  y.node->what = by->what;
  y.node->var = by->var;
  tp_rewrite(mk.g, tp_v(n), y, "takes",
      "a product with matrices that data picks => a product where they lie");
  return true;
}

bool tp_take_matrices(tp_graph *g, tp_error *err) {
  int n0 = g->nodes.n;
  for (int i = 0; i < n0; i++)
    if (g->nodes.v[i]->op == TP_OP_MATMUL && !take_matrix((tp_mk){ g, err }, g->nodes.v[i]))
      return false;
  tp_graph_prune(g);
  return true;
}
