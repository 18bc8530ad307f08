/* reshaped: a carried state that changes in part under another shape has that shape.
 *
 *   h[t] = reshape(scatter_add(reshape(h[t-1], F), k, v), S)
 *     =>   g[t] = scatter_add(g[t-1], k, v), and h = reshape(g, S)
 *
 * so `rows` and poly/store/inplace.c see a row of changes from the state to its branch. A reshape
 * is a view: other readers see the same elements. The pass takes shapes of numbers only. */
#include "opt/opt.h"

/* operators that are looked through, one inside the other */
enum { CHANGES_DEPTH = 8 };

typedef struct {
  tp_mk mk;
  tp_node *m;
  const tp_out *flat; /* the other shape */
  bool parts;         /* is there a change of a part? */
} state_shape;

static bool is_constant(const tp_out *o) {
  int64_t n;
  bool is = true;
  for (int i = 0; i < o->rank; i++) is &= tp_ix_is_const(o->shape[i], &n);
  return is;
}

/* Is v made from the state, seen in the other shape, by changes and elementwise operators? */
static bool is_changed(state_shape *c, tp_val v, int depth) {
  tp_node *n = tp_shown_point(v).node;
  if (!depth || !tp_one_shape(&n->out[0], c->flat)) return false;
  if (n->op == TP_OP_RESHAPE) return tp_shown_point(n->in[0].src).node == c->m;
  if (tp_op_is(n->op, TP_PART)) return c->parts = is_changed(c, n->in[0].src, depth - 1);
  bool any = false;
  for (int k = 0; k < n->nin && tp_op_is_elementwise(n->op) && !any; k++)
    any = is_changed(c, n->in[k].src, depth - 1);
  c->parts |= any && n->op == TP_OP_SELECT;
  return any;
}

/* v in the other shape, through reshapes. */
static tp_val in_shape(tp_mk mk, tp_val v, const tp_out *o) {
  while (v.node->op == TP_OP_RESHAPE && !tp_one_shape(tp_outof(v), o)) v = v.node->in[0].src;
  return mk_reshape(mk, v, o->rank, o->shape);
}

/* Gives n, the state or a read of it, the other shape in its last axes; readers see the shape that
 * it had, in *seen, but for those that want the new one. */
static bool give_shape(state_shape *c, tp_node *n, int rank, tp_val *seen) {
  tp_graph *g = c->mk.g;
  const tp_out was = n->out[0];
  int before = was.rank - rank, nodes = g->nodes.n;
  tp_ix **shape = TP_NEWN(&g->arena, tp_ix *, before + c->flat->rank);
  for (int i = 0; i < before; i++) shape[i] = was.shape[i];
  for (int i = 0; i < c->flat->rank; i++) shape[before + i] = c->flat->shape[i];
  n->out[0].shape = shape;
  n->out[0].rank = before + c->flat->rank;
  g->pos = n->pos;
  *seen = mk_reshape(c->mk, tp_v(n), was.rank, was.shape);
  if (!seen->node) return false;
  tp_replace(g, tp_v(n), *seen);
  for (int i = 0; i < nodes; i++) {
    tp_node *by = g->nodes.v[i];
    if (by->op == TP_OP_RESHAPE && tp_in(by, 0) == seen->node &&
        tp_one_shape(&by->out[0], &n->out[0]))
      tp_replace(g, tp_v(by), tp_v(n));
  }
  return true;
}

static bool turn_state(state_shape *c) {
  tp_node *m = c->m;
  tp_graph *g = c->mk.g;
  int rank = m->out[0].rank, nodes = g->nodes.n;
  tp_val seen, read;
  tp_tell(g, "rows", m->pos,
      tp_printf(&g->arena, "%s: a state changed in another shape => has that shape",
          tp_title(&g->arena, m)));
  if (!give_shape(c, m, rank, &seen)) return false;
  for (int i = 0; i < nodes; i++) {
    tp_node *r = g->nodes.v[i];
    if (r->op != TP_OP_READ || tp_in(r, 0) != seen.node) continue;
    r->in[0].src = tp_v(m);
    if (!give_shape(c, r, rank, &read)) return false;
  }
  for (int k = 0; k < m->nin; k++)
    if (!(m->in[k].src = in_shape(c->mk, m->in[k].src, c->flat)).node) return false;
  m->attr.nix = c->flat->rank;
  m->attr.ix = c->flat->shape;
  return true;
}

/* Gives the merge m the shape in which it changes, if it is another one than its own. */
bool tp_reshape_state(tp_mk mk, tp_node *m) {
  state_shape c = { .mk = mk, .m = m };
  bool found = false;
  bool may = !m->attr.nalong && is_constant(&m->out[0]); /* a parameter's shape is its own */
  for (int k = 0; k < m->nin && !found && may; k++) {
    tp_val v = tp_shown_point(m->in[k].src);
    if (v.node->op != TP_OP_RESHAPE) continue;
    c.flat = tp_inof(v.node, 0);
    c.parts = false;
    found = is_constant(c.flat) && is_changed(&c, v.node->in[0].src, CHANGES_DEPTH) && c.parts;
  }
  return !found || turn_state(&c);
}
