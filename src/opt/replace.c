/* replace: rewires every use of one value to another; helpers that several passes call. */
#include "opt/opt.h"

static bool same(tp_val a, tp_val b) { return a.node == b.node && a.out == b.out; }

void tp_each_root(tp_graph *g, tp_rootfn *fn, void *ud) {
  for (int i = 0; i < g->outputs.n; i++) fn(ud, &g->outputs.v[i].val);
  for (int i = 0; i < g->stops.n; i++) fn(ud, &g->stops.v[i].done);
  for (int i = 0; i < g->losses.n; i++) fn(ud, &g->losses.v[i]);
}

bool tp_is_output(const tp_graph *g, const tp_node *n) {
  bool is = false;
  for (int i = 0; i < g->outputs.n; i++) is |= g->outputs.v[i].val.node == n;
  return is;
}

typedef struct {
  tp_val old, now;
} replacement;

static void put_now(void *ud, tp_val *v) {
  const replacement *r = ud;
  if (same(*v, r->old)) *v = r->now;
}

void tp_replace(tp_graph *g, tp_val old, tp_val now) {
  replacement r = { old, now };
  TP_NODES (n, g->nodes) {
    if (n == now.node) continue;
    for (int k = 0; k < n->nin; k++) put_now(&r, &n->in[k].src);
  }
  tp_each_root(g, put_now, &r);
}

void tp_rewrite(tp_graph *g, tp_val old, tp_val now, const char *pass, const char *rule) {
  tp_tell(
      g, pass, old.node->pos, tp_printf(&g->arena, "%s: %s", tp_title(&g->arena, old.node), rule));
  tp_replace(g, old, now);
}

tp_val tp_gathered(tp_mk mk, tp_red red, tp_val x, const tp_at *at, int ndom, tp_dims dom) {
  if (!x.node) return x;
  const tp_out *o = tp_outof(x);
  tp_val y = mk_op(mk, TP_OP_ACCUM, 0, NULL,
      &(tp_attr){ .dtype = o->dtype,
          .nix = o->rank,
          .ix = o->shape,
          .ndom = ndom,
          .dom = dom,
          .red = red });
  tp_edge e = { .src = x, .at = at, .gather = true, .pos = mk.g->pos };
  return y.node && tp_accum_add(mk.g, y.node, e, mk.err) ? y : tp_none;
}
