/* again: a value that is read in another loop than makes it, through views or not, is made again
 * there: its chain anew, once for all readers in that loop. Which values: poly/again.c. */
#include "opt/opt.h"

typedef struct {
  tp_graph *g;
  const tp_again *w;
  int n;
  tp_val *made;
  tp_error *err;
} giver;

enum { CHAIN_OPERANDS = 3 }; /* of an elementwise operator, at most */

static tp_val copied(giver *m, tp_val v);

/* v with its chain, through views, made anew; v itself if it has none. */
static tp_val made_anew(giver *m, tp_val v) {
  tp_node *n = v.node;
  tp_val in[CHAIN_OPERANDS];
  bool chain = n->id < m->n && m->w->chain[n->id], same = !chain;
  if (!chain && !tp_is_view(n)) return v;
  for (int k = 0; k < n->nin; k++) {
    in[k] = copied(m, n->in[k].src);
    if (!in[k].node) return in[k];
    same &= in[k].node == tp_in(n, k);
  }
  if (same) return v;
  tp_attr attr = n->attr;
  attr.anew = chain;
  m->g->pos = n->pos;
  tp_node *c = tp_build(m->g, n->op, n->nin, in, &attr, m->err);
  if (c) tp_name_as(c, n);
  return (tp_val){ c, v.out };
}

static tp_val copied(giver *m, tp_val v) {
  if (v.node->id >= m->n) return v;
  tp_val *made = &m->made[v.node->id];
  if (!made->node) *made = made_anew(m, v);
  return *made;
}

bool tp_make_again(tp_graph *g, const tp_again *w, tp_error *err) {
  giver m = { g, w, g->nodes.n, TP_NEWN(&g->arena, tp_val, g->nodes.n + 1), err };
  bool *done = TP_NEWN(&g->arena, bool, w->n + 1);
  for (int i = 0; i < w->n; i++) {
    if (done[i]) continue;
    memset(m.made, 0, sizeof *m.made * (size_t)m.n);
    for (int k = i; k < w->n; k++) {
      if (w->v[k].loop != w->v[i].loop) continue;
      done[k] = true;
      for (int o = 0; o < w->v[k].by->nin; o++)
        if (!(w->v[k].by->in[o].src = copied(&m, w->v[k].by->in[o].src)).node) return false;
    }
  }
  return true;
}
