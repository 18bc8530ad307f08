/* again: each who reads one of these values, through views or not, gets the chain that makes it for itself. Which: poly/again.c. */
#include "opt/opt.h"

typedef struct { tp_graph *g; const tp_again *w; int n; bool first; tp_error *err; } giver;

static bool is_view(const tp_node *n) { return tp_ops[n->op].batch == TP_BATCH_V && n->nin == 1; }

enum { CHAIN_OPERANDS = 3 };                          /* of an elementwise operator, at most */

/* v with the chain that it is made of, through views, made anew; v itself if there is none in it. */
static tp_val copied(giver *m, tp_val v) {
  tp_node *n = v.node;
  tp_val in[CHAIN_OPERANDS];
  bool chain = n->id < m->n && m->w->chain[n->id], same = !chain;
  if (!chain && !is_view(n)) return v;
  for (int k = 0; k < n->nin; k++) {
    in[k] = copied(m, n->in[k].src);
    if (!in[k].node) return in[k];
    same &= in[k].node == n->in[k].src.node;
  }
  if (same) return v;
  m->g->pos = n->pos;
  tp_node *c = tp_build(m->g, n->op, n->nin, in, &n->attr, m->err);
  if (c) c->name = n->name, c->what = n->what;
  return (tp_val){ c, v.out };
}

/* The first reader keeps what there is. */
static bool give_each(giver *m, tp_node *v) {
  for (int i = 0; i < m->n; i++) {
    tp_node *by = m->g->nodes.v[i];
    for (int k = 0; k < by->nin; k++) {
      if (by->in[k].src.node != v) continue;
      if (is_view(by)) {
        if (!give_each(m, by)) return false;
        continue;
      }
      if (!m->first && !(by->in[k].src = copied(m, by->in[k].src)).node) return false;
      m->first = false;
    }
  }
  return true;
}

bool tp_make_again(tp_graph *g, const tp_again *w, tp_error *err) {
  for (int i = 0; i < w->n; i++) {
    giver m = { g, w, g->nodes.n, true, err };
    if (!give_each(&m, w->value[i])) return false;
  }
  return true;
}
