/* again: a value that is read in another loop than the one that makes it, through views or not, is
 * made again there: its chain is copied once for all readers in that loop. poly/store/again.c
 * chooses the values. */
#include "opt/opt.h"

tp_val tp_copied(const tp_cone *c, tp_val v) {
  tp_node *n = v.node;
  tp_val in[TP_CONE_OPERANDS];
  if (n->id >= c->n) return v;
  bool inside = c->in[n->id], same = !inside;
  if (c->made[n->id].node || (same && !(c->views && tp_is_view(n))))
    return c->made[n->id].node ? c->made[n->id] : v;
  for (int k = 0; k < n->nin; k++) {
    in[k] = tp_copied(c, n->in[k].src);
    if (!in[k].node) return tp_none;
    same &= in[k].node == tp_in(n, k);
  }
  if (same) return v;
  tp_attr attr = n->attr;
  attr.anew |= inside && c->views;
  c->mk.g->pos = n->pos;
  tp_val y = c->made[n->id] = mk_op(c->mk, n->op, n->nin, in, &attr);
  if (y.node) tp_name_as(y.node, n);
  return y;
}

bool tp_make_again(tp_graph *g, const tp_again *w, tp_error *err) {
  tp_cone c = { { .g = g, .err = err }, g->nodes.n, w->chain, true,
    TP_NEWN(&g->arena, tp_val, g->nodes.n + 1) };
  bool *done = TP_NEWN(&g->arena, bool, w->n + 1);
  for (int i = 0; i < w->n; i++) {
    if (done[i]) continue;
    memset(c.made, 0, sizeof *c.made * (size_t)c.n);
    for (int k = i; k < w->n; k++) {
      tp_node *by = w->v[k].by;
      if (w->v[k].loop != w->v[i].loop) continue;
      done[k] = true;
      for (int o = 0; o < by->nin; o++)
        if (!(by->in[o].src = tp_copied(&c, by->in[o].src)).node) return false;
    }
  }
  return true;
}
