/* put_rows: a choice that changes a part of a carried state writes that part.
 *
 *   h[t] = where(index along an axis == k, v, h[t-1])   =>   h[t] = put(h[t-1], axis, k, v)
 *
 * so a step costs only the changed elements if h is updated in place (poly/store/inplace.c). v is
 * the same along the axis. The comparison may stand either way round, under `land` with conditions
 * that do not vary along the axis, and where axes of extent 1 come or go. A k that no index equals
 * writes nothing. The pass takes only choices in a row of changes from a state to its branch:
 * elsewhere the choice fuses with its neighbours. */
#include "opt/opt.h"

/* A condition that holds at index k of axis number `end` from the end. k has the condition's shape,
 * with 1 for that axis. end 0: the condition is another one. */
typedef struct row_place {
  int end;
  tp_val k;
} row_place;

/* operators of a condition that are looked through, one inside the other */
enum { CONDITION_DEPTH = 8 };
static const row_place nowhere = { 0 };

static tp_val arg(tp_val v, int k) { return v.node->in[k].src; }

/* Does v have no such axis, or one of extent 1? */
static bool is_flat(tp_val v, int end) {
  return tp_rankof(v) < end || tp_is_number(mk_extent(v, tp_rankof(v) - end), 1);
}

/* Does v's dtype have a number of its own for each index of that axis? */
static bool is_exact(tp_val v, int end) {
  int64_t n;
  tp_dtype d = tp_dtypeof(v);
  return d == TP_I64 ||
      (tp_ix_is_const(mk_extent(v, tp_rankof(v) - end), &n) &&
          n <= (tp_dtype_size(d) >= 4 ? 1 << 24
                       : d == TP_BOOL ? 2
                                      : 256));
}

/* The axis of y = reshape(x), from the end, that x's axis became, if only axes of extent 1 came and
 * went; else 0. */
static int same_axis(tp_val x, tp_val y, int end) {
  int i = tp_rankof(x), j = tp_rankof(y), found = 0;
  for (;; i--, j--) {
    while (i && tp_is_number(mk_extent(x, i - 1), 1)) i--;
    while (j && tp_is_number(mk_extent(y, j - 1), 1)) j--;
    if (!i || !j) return i || j ? 0 : found;
    if (mk_extent(x, i - 1) != mk_extent(y, j - 1)) return 0;
    if (i == tp_rankof(x) - end + 1) found = tp_rankof(y) - j + 1;
  }
}

/* The axis, from the end, whose index v is everywhere; 0: none. */
static int index_axis(tp_val v) {
  tp_op op = v.node->op;
  if (op == TP_OP_IOTA) return tp_rankof(v) - v.node->attr.axis;
  int end = op == TP_OP_CAST || op == TP_OP_RESHAPE ? index_axis(arg(v, 0)) : 0;
  return !end ? 0 : op == TP_OP_RESHAPE ? same_axis(arg(v, 0), v, end) : is_exact(v, end) ? end : 0;
}

/* x in the shape of v, with 1 for the axis. */
static tp_val flat(tp_mk mk, tp_val x, tp_val v, int end, bool reshape) {
  int rank = tp_rankof(v);
  tp_ix **shape = tp_dup(&mk.g->arena, tp_outof(v)->shape, sizeof *shape * (size_t)rank);
  shape[rank - end] = mk_int(mk, 1);
  return (reshape ? mk_reshape : mk_expand)(mk, x, rank, shape);
}

/* A cast from integers to floats is looked through: an index beyond the axis stays beyond it when
 * it is rounded. */
static row_place compared(tp_mk mk, tp_val c) {
  for (int s = 0; s < 2; s++) {
    int end = index_axis(arg(c, s));
    tp_val k = arg(c, 1 - s);
    if (!end || !is_flat(k, end)) continue;
    if (k.node->op == TP_OP_CAST && tp_dtype_float(tp_dtypeof(k))) k = arg(k, 0);
    if (!tp_dtype_float(tp_dtypeof(k)))
      return (row_place){ end, flat(mk, mk_cast(mk, k, TP_I64), c, end, false) };
  }
  return nowhere;
}

static row_place find_place(tp_mk mk, tp_val c, int depth) {
  tp_op op = c.node->op;
  row_place p = nowhere;
  if (depth == 0 || op == TP_OP_EQ) return depth ? compared(mk, c) : nowhere;
  for (int s = 0; op == TP_OP_LAND && s < 2 && !p.end; s++) {
    tp_val other = arg(c, 1 - s);
    p = find_place(mk, arg(c, s), depth - 1);
    if (!p.end || !is_flat(other, p.end)) p = nowhere;
    else p.k = flat(mk, mk_select(mk, other, p.k, mk_num(mk, -1, TP_I64)), c, p.end, false);
  }
  if (op != TP_OP_RESHAPE) return p;
  p = find_place(mk, arg(c, 0), depth - 1);
  int end = p.end ? same_axis(arg(c, 0), c, p.end) : 0;
  return end ? (row_place){ end, flat(mk, p.k, c, end, true) } : nowhere;
}

/* ---- the state ---- */

/* The value whose points v shows one by one. */
tp_val tp_shown_point(tp_val v) {
  for (; v.node->op == TP_OP_DETACH || v.node->op == TP_OP_READ; v = arg(v, 0))
    for (int d = 0; v.node->op == TP_OP_READ && d < arg(v, 0).node->ndom; d++)
      if (v.node->attr.at[d].range) return v;
  return v;
}

/* The choice n, whose operand 2 is a value of the state, becomes a put. */
static tp_node *put_row(tp_mk mk, tp_node *n, row_place p) {
  tp_val all = tp_v(n),
         y = mk_op(mk, TP_OP_PUT, 3,
             (tp_val[]){ arg(all, 2), flat(mk, p.k, all, p.end, false),
                 flat(mk, arg(all, 1), all, p.end, false) },
             &(tp_attr){ .axis = tp_rankof(all) - p.end });
  if (!y.node) return NULL;
  tp_name_as(y.node, n);
  tp_rewrite(mk.g, all, y, "rows", "a choice of one row => that row is written");
  return y.node;
}

/* ---- rows of changes: the branch may change what is changed before, down to the state ---- */

/* found, by node: is the node made from the state `of`? m: the state at work. */
typedef struct {
  const tp_node *of;
  bool is;
} found;
typedef struct {
  tp_mk mk;
  const tp_node *m;
  int nnode;
  found *found;
  bool failed;
} changes;

static bool from_state(changes *c, tp_val v);

/* ---- views of what is written over ---- */

/* At most a quarter of y's elements, for all bounds. */
static bool is_small(tp_mk mk, tp_val x, tp_val y) {
  int64_t part, all;
  return tp_ix_is_const(mk_numel(mk, x, tp_rankof(x), NULL), &part) &&
      (!tp_ix_is_const(mk_numel(mk, y, tp_rankof(y), NULL), &all) || 4 * part <= all);
}

/* Operand k of a change may show a version of the state that the change writes over: a small view
 * is copied before. */
static void see_before(changes *c, tp_node *n, int k) {
  tp_val x = n->in[k].src, v = x;
  while (tp_shows(v.node) && !(tp_same_type(tp_outof(v), &n->out[0]) && from_state(c, v)))
    v = arg(v, 0);
  if (x.node == v.node || !tp_same_type(tp_outof(v), &n->out[0]) || !is_small(c->mk, x, tp_v(n)) ||
      !from_state(c, v))
    return;
  c->mk.g->pos = n->pos;
  tp_val y = mk_op(c->mk, TP_OP_DETACH, 1, &x, &(tp_attr){ .stored = true });
  if (y.node) n->in[k].src = y;
  else c->failed = true;
}

/* Is part k just where the concatenation puts it? */
static bool stays_put(changes *c, const tp_node *n, int k) {
  const tp_node *x = tp_shown_point(n->in[k].src).node;
  tp_ix *before = tp_ix_const(c->mk.g->ix, 0);
  for (int j = 0; j < k; j++) before = tp_ix_add(before, mk_extent(n->in[j].src, n->attr.axis));
  return x->op == TP_OP_SLICE && x->attr.axis == n->attr.axis && x->attr.ix[0] == before &&
      tp_same_type(tp_inof(x, 0), &n->out[0]);
}

static void see_all_before(changes *c, tp_node *n) {
  for (int k = 0; k < n->nin; k++)
    if (n->op == TP_OP_CONCAT ? !stays_put(c, n, k) : k > 0) see_before(c, n, k);
}

static bool choice_from_state(changes *c, tp_node *n) {
  c->mk.g->pos = n->pos;
  row_place p = find_place(c->mk, n->in[0].src, CONDITION_DEPTH);
  if (!p.end || !is_flat(n->in[1].src, p.end) || !tp_same_type(tp_inof(n, 2), &n->out[0]) ||
      !from_state(c, n->in[2].src))
    return false;
  tp_node *y = put_row(c->mk, n, p);
  if (y) see_all_before(c, y);
  c->failed |= !y;
  return true;
}

/* Is an operand made from the state? Parts of a concatenation need not be where they were; only
 * speed depends on that. */
static bool operands_from_state(changes *c, tp_node *n) {
  bool any = false;
  for (int k = 0; k < n->nin; k++) {
    tp_val x = n->in[k].src;
    if (n->op == TP_OP_CONCAT) {
      x = tp_shown_point(x);
      if (x.node->op != TP_OP_SLICE) continue;
      x = arg(x, 0);
    }
    any |= tp_same_type(tp_outof(x), &n->out[0]) && from_state(c, x);
  }
  return any;
}

static bool node_from_state(changes *c, tp_node *n) {
  if (n->op == TP_OP_SELECT) return choice_from_state(c, n);
  if (n->op == TP_OP_CONCAT || tp_ops[n->op].batch == TP_BATCH_E) return operands_from_state(c, n);
  return tp_op_is(n->op, TP_PART) && from_state(c, n->in[0].src);
}

/* Is v the state at some point, or made of it by a row of changes? The choices among these become
 * puts. Elementwise operators may stand before changes, which then look at no element once more. */
static bool from_state(changes *c, tp_val v) {
  tp_node *n = tp_shown_point(v).node;
  if (n == c->m) return true;
  if (n->id >= c->nnode) return n->op == TP_OP_PUT; /* made here */
  found *f = &c->found[n->id];
  if (f->of != c->m) {
    *f = (found){ c->m, false };
    f->is = node_from_state(c, n);
    if (f->is && tp_ops[n->op].batch != TP_BATCH_E) see_all_before(c, n);
  }
  return f->is;
}

bool tp_pass_rows(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  for (int i = 0, n = g->nodes.n; i < n; i++)
    if (g->nodes.v[i]->op == TP_OP_MERGE &&
        !tp_reshape_state((tp_mk){ .g = g, .err = err }, g->nodes.v[i]))
      return false;
  changes c = { .mk = { .g = g, .err = err }, .nnode = g->nodes.n };
  c.found = TP_NEWN(&g->arena, found, c.nnode);
  for (int i = 0; i < c.nnode && !c.failed; i++) {
    c.m = g->nodes.v[i];
    for (int k = 0; c.m->op == TP_OP_MERGE && k < c.m->nin; k++) {
      tp_op op = tp_shown_point(c.m->in[k].src).node->op;
      if (tp_same_type(tp_inof(c.m, k), &c.m->out[0]) &&
          (op == TP_OP_SELECT || tp_ops[op].batch != TP_BATCH_E))
        from_state(&c, c.m->in[k].src);
    }
  }
  tp_graph_prune(g);
  return !c.failed;
}
