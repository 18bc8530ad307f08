/* points: what has become a formula, and is needed at few points far from each other, is made at
 * each of them by itself.
 *
 *   y[t] = a + t b, read at t = 5 and t = T-1   =>   y5 = a + 5 b,  yT = a + (T-1) b
 *
 * One array would hold both points, and all rows between them. A value at a point is made of its
 * operands there: formulas, views and what evolve makes over the digits of how many steps there
 * are; a recurrence, an input or a result of a callback is read at the point as before. The same
 * operators of the same numbers, so the same bits, and no more work: a point of these has one
 * reader or few. */
#include "opt/opt.h"
#include "graph/mk.h"

enum { FEW_PARTS = 8, PART_OPERANDS_MOST = 3 };

/* Who uses a node: users of node i are user[first[i]] .. user[first[i + 1] - 1], and shown[i]: an
 * output or an end does. few: what is known of it along the dim. */
typedef enum { FEW_UNKNOWN, FEW_YES, FEW_NO } few_known;
typedef struct parting {
  tp_mk mk;
  const tp_need *need;
  int n0, *first;
  tp_node **user;
  bool *shown;
  const tp_sym *dim;
  few_known *few;
  const tp_ix *at;
  tp_val *made;
} parting;

static const tp_ix *put_point(void *ud, const tp_ix *e) {
  const parting *p = ud;
  return tp_ix_subst(p->mk.g->ix, e, 1, &p->dim, &p->at);
}

static tp_val value_there(parting *p, tp_val v);

/* ---- which points ---- */

static bool counts_digits(const tp_node *n) {
  for (int i = 0; i < n->ndom; i++)
    if (n->dom[i]->bound && n->dom[i]->bound->digits) return true;
  return false;
}

static bool is_view_there(tp_op op) {
  return op == TP_OP_CAST || op == TP_OP_EXPAND || op == TP_OP_RESHAPE || op == TP_OP_PERMUTE ||
      op == TP_OP_SLICE || op == TP_OP_FLIP;
}

/* A branch that depends on the point, outside of digits, is one of a recurrence, or the script's
 * own. */
static bool may_be_made_there(const parting *p, const tp_node *n) {
  int axis;
  if (n->id >= p->n0 || n->nout != 1 || tp_dim_at(n, p->dim) < 0 ||
      tp_varies(n->out[0].rank, n->out[0].shape, 1, &p->dim, &axis))
    return false;
  if (n->op == TP_OP_VALUE || n->op == TP_OP_READ) return true;
  if (n->op == TP_OP_MERGE)
    return !n->attr.flag && (counts_digits(n) || !tp_node_mentions(n, p->dim));
  return (tp_op_is_elementwise(n->op) || is_view_there(n->op)) && n->nin <= PART_OPERANDS_MOST &&
      !tp_node_mentions(n, p->dim);
}

static bool is_point_along(const tp_node *n, int d) {
  return n->op == TP_OP_READ && !n->attr.at[d].range && tp_ix_of_bounds(n->attr.at[d].lo);
}

static bool few_of(parting *p, const tp_node *n);

/* Does u, which uses n, need it at points that the bounds tell, or at few? */
static bool uses_few(parting *p, const tp_node *n, const tp_node *u) {
  int d = tp_dim_at(n, p->dim);
  if (is_point_along(u, d) || (may_be_made_there(p, u) && few_of(p, u))) return true;
  return tp_dim_at(u, p->dim) >= 0 && p->need->set[u->id] &&
      tp_set_few(p->mk.g->ix, p->need->set[u->id], tp_dim_at(u, p->dim), FEW_PARTS) &&
      u->op != TP_OP_READ && u->op != TP_OP_ACCUM;
}

static bool few_of(parting *p, const tp_node *n) {
  if (p->few[n->id]) return p->few[n->id] == FEW_YES;
  p->few[n->id] = FEW_YES; /* around a loop over digits */
  bool few = !p->shown[n->id];
  for (int i = p->first[n->id]; few && i < p->first[n->id + 1]; i++)
    few = uses_few(p, n, p->user[i]);
  p->few[n->id] = few ? FEW_YES : FEW_NO;
  return few;
}

static bool is_made_there(parting *p, const tp_node *n) {
  return may_be_made_there(p, n) && few_of(p, n);
}

/* ---- a value at a point ---- */

static tp_val read_there(const parting *p, tp_val v) { return mk_at(p->mk, v, p->dim, p->at); }

/* From what is made at the point itself, if that is where it is read. */
static tp_val reading_there(parting *p, tp_node *n) {
  tp_val x = n->in[0].src;
  int d = tp_dim_at(x.node, p->dim);
  bool stays = d >= 0 && !n->attr.at[d].range && tp_ix_as_sym(n->attr.at[d].lo) == p->dim;
  tp_at *at = TP_NEWN(&p->mk.g->arena, tp_at, x.node->ndom + 1);
  for (int i = 0; i < x.node->ndom; i++) {
    at[i] = n->attr.at[i];
    if (stays && i != d &&
        (tp_ix_mentions(at[i].lo, p->dim) || (at[i].range && tp_ix_mentions(at[i].hi, p->dim))))
      stays = false;
    at[i].lo = put_point(p, at[i].lo);
    if (at[i].range) at[i].hi = put_point(p, at[i].hi);
  }
  if (!stays || !is_made_there(p, x.node)) return tp_read(p->mk.g, x, at, p->mk.err);
  tp_val y = value_there(p, x);
  if (!y.node || tp_dim_at(y.node, p->dim) >= 0) return tp_none;
  for (int i = 0, k = 0; i < x.node->ndom; i++)
    if (tp_dim_at(y.node, x.node->dom[i]) >= 0) at[k++] = at[i];
  return tp_read(p->mk.g, y, at, p->mk.err);
}

static tp_val branches_there(parting *p, tp_node *n) {
  const tp_out *o = &n->out[0];
  const tp_sym *dom[TP_MAXDIM];
  int ndom = 0;
  for (int i = 0; i < n->ndom; i++)
    if (n->dom[i] != p->dim) dom[ndom++] = n->dom[i];
  tp_val y = p->made[n->id] = mk_declared(p->mk, o->dtype, o->rank, o->shape, ndom, dom);
  for (int k = 0; k < n->nin && y.node; k++) {
    tp_val x = value_there(p, n->in[k].src);
    if (!x.node ||
        !tp_merge_add(
            p->mk.g, y.node, n->in[k].cond ? put_point(p, n->in[k].cond) : NULL, x, p->mk.err))
      return tp_none;
  }
  return y;
}

static tp_val made_there(parting *p, tp_node *n) {
  if (!is_made_there(p, n)) return read_there(p, tp_v(n));
  if (n->op == TP_OP_MERGE) return branches_there(p, n);
  if (n->op == TP_OP_READ) return reading_there(p, n);
  if (n->op == TP_OP_VALUE) return tp_ixvalue(p->mk.g, put_point(p, n->attr.ix[0]), p->mk.err);
  tp_val in[PART_OPERANDS_MOST];
  for (int k = 0; k < n->nin; k++) in[k] = value_there(p, n->in[k].src);
  return mk_op(p->mk, n->op, n->nin, in, &n->attr);
}

static tp_val value_there(parting *p, tp_val v) {
  tp_node *n = v.node;
  if (tp_dim_at(n, p->dim) < 0) return v;
  if (n->id >= p->n0 || n->nout != 1) return read_there(p, v);
  if (!p->made[n->id].node) p->made[n->id] = made_there(p, n);
  return p->made[n->id];
}

/* ---- readers ---- */

/* n reads at a point that the bounds tell, along the dim, of something that is needed at others
 * too. */
static bool reads_part(parting *p, const tp_node *n) {
  const tp_node *x = n->op == TP_OP_READ ? n->in[0].src.node : NULL;
  int d = x ? tp_dim_at(x, p->dim) : -1;
  return d >= 0 && is_point_along(n, d) && is_made_there(p, x) && p->need->set[x->id] &&
      !tp_set_few(p->mk.g->ix, p->need->set[x->id], d, 1);
}

static bool part_read(parting *p, tp_node *n) {
  tp_node *x = n->in[0].src.node;
  p->at = n->attr.at[tp_dim_at(x, p->dim)].lo;
  p->made = TP_NEWN(&p->mk.g->arena, tp_val, p->n0);
  p->mk.g->pos = n->pos;
  tp_val y = value_there(p, n->in[0].src);
  if (!y.node) return false;
  tp_at *at = TP_NEWN(&p->mk.g->arena, tp_at, x->ndom + 1);
  for (int i = 0, k = 0; i < x->ndom; i++)
    if (tp_dim_at(y.node, x->dom[i]) >= 0) at[k++] = n->attr.at[i];
  tp_val now = tp_read(p->mk.g, y, at, p->mk.err);
  if (!now.node) return false;
  if (now.node->id >= p->n0 && !now.node->name) now.node->name = n->name, now.node->what = n->what;
  tp_replace(p->mk.g, tp_v(n), now);
  return true;
}

static bool part_along(parting *p) {
  p->few = TP_NEWN(&p->mk.g->arena, few_known, p->n0);
  for (int i = 0; i < p->n0; i++)
    if (reads_part(p, p->mk.g->nodes.v[i]) && !part_read(p, p->mk.g->nodes.v[i])) return false;
  return true;
}

static void show_root(void *ud, tp_val *v) { ((bool *)ud)[v->node->id] = true; }

static void find_users(parting *p) {
  const tp_graph *g = p->mk.g;
  p->first = TP_NEWN(&p->mk.g->arena, int, p->n0 + 2);
  p->shown = TP_NEWN(&p->mk.g->arena, bool, p->n0);
  for (int i = 0; i < p->n0; i++)
    for (int k = 0; k < g->nodes.v[i]->nin; k++) p->first[g->nodes.v[i]->in[k].src.node->id + 2]++;
  for (int i = 0; i < p->n0; i++) p->first[i + 2] += p->first[i + 1];
  p->user = TP_NEWN(&p->mk.g->arena, tp_node *, p->first[p->n0 + 1]);
  for (int i = 0; i < p->n0; i++)
    for (int k = 0; k < g->nodes.v[i]->nin; k++)
      p->user[p->first[g->nodes.v[i]->in[k].src.node->id + 1]++] = g->nodes.v[i];
  tp_each_root(p->mk.g, show_root, p->shown);
}

bool tp_part_points(tp_graph *g, const tp_need *need, tp_error *err) {
  parting p = { .mk = { g, err }, .need = need, .n0 = g->nodes.n };
  find_users(&p);
  for (int i = 0; i < tp_nsym(g->ix); i++) {
    p.dim = tp_sym_at(g->ix, i);
    if (p.dim->kind == TP_SYM_DIM && p.dim->bound && !p.dim->bound->digits &&
        !tp_stop_of(g, p.dim) && !part_along(&p))
      return false;
  }
  return true;
}
