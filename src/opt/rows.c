/* rows: a choice that changes a part of a carried state writes that part.
 *
 *   h[t] = where(index along an axis == k, v, h[t-1])   =>   h[t] = put(h[t-1], axis, k, v where
 * the index is k)
 *
 * so that it costs what changes where h is updated in place (poly/inplace.c). The comparison may
 * stand either way round, as `ne` and `lnot` with the sides swapped, under `land` with conditions
 * that do not vary along the axis, and behind views. A k that no index equals writes nothing. Only
 * in rows of changes from a state to its branch: elsewhere the choice fuses with its neighbours. */
#include "opt/opt.h"
#include "graph/mk.h"
#include <math.h>

/* Where a condition holds: at the index k of the axis that is number `end` from the end; `no`:
 * everywhere but there. k has the condition's shape, with 1 for that axis. end 0: it is no such
 * condition. */
typedef struct row_place {
  int end;
  tp_val k;
  bool no;
} row_place;

/* operators of a condition that are looked through, one inside the other */
enum { CONDITION_DEPTH = 8 };
static const row_place nowhere = { 0 };

static tp_val arg(tp_val v, int k) { return v.node->in[k].src; }

static bool is_one(tp_val v, int axis) { return tp_is_number(mk_extent(v, axis), 1); }

/* Does v have no such axis, or one of extent 1? */
static bool is_flat(tp_val v, int end) {
  return tp_rankof(v) < end || is_one(v, tp_rankof(v) - end);
}

/* The largest n for which 0 .. n - 1 are numbers of the dtype, each its own. */
static double counts_to(tp_dtype d) {
  switch (d) {
  case TP_BOOL: return 2;
  case TP_U8:
  case TP_BF16: return 256;
  case TP_F16: return 2048;
  case TP_F32: return 1 << 24;
  case TP_I32: return 1u << 31;
  case TP_F64: return 9007199254740992.0;
  default: return INFINITY;
  }
}

static bool is_exact(tp_val v, int end) {
  int64_t n;
  double most = counts_to(tp_dtypeof(v));
  return most == INFINITY ||
      (tp_ix_is_const(mk_extent(v, tp_rankof(v) - end), &n) && (double)n <= most);
}

/* The axis of y = reshape(x), from the end, that x's axis became when axes of extent 1 came and
 * went; 0: it did more. */
static int same_axis(tp_val x, tp_val y, int end) {
  int i = 0, j = 0, found = 0, rx = tp_rankof(x), ry = tp_rankof(y);
  for (;; i++, j++) {
    while (i < rx && is_one(x, i)) i++;
    while (j < ry && is_one(y, j)) j++;
    if (i == rx || j == ry) return i == rx && j == ry ? found : 0;
    if (mk_extent(x, i) != mk_extent(y, j)) return 0;
    if (i == rx - end) found = ry - j;
  }
}

static int moved_axis(tp_val v, int end) {
  tp_val x = arg(v, 0);
  int rank = tp_rankof(v);
  switch (end ? v.node->op : TP_NOP) {
  case TP_OP_DETACH: return end;
  case TP_OP_RESHAPE: return same_axis(x, v, end);
  case TP_OP_EXPAND: return mk_extent(x, tp_rankof(x) - end) == mk_extent(v, rank - end) ? end : 0;
  case TP_OP_PERMUTE:
    for (int i = 0; i < rank; i++)
      if (v.node->attr.axes[i] == rank - end) return rank - i;
    return 0;
  default: return 0;
  }
}

/* The axis, from the end, whose index v is everywhere; 0: none. */
static int index_axis(tp_val v) {
  if (v.node->op == TP_OP_IOTA) return tp_rankof(v) - v.node->attr.axis;
  if (v.node->op != TP_OP_CAST)
    return v.node->nin == 1 && tp_ops[v.node->op].batch == TP_BATCH_V && v.node->op != TP_OP_READ
        ? moved_axis(v, index_axis(arg(v, 0)))
        : 0;
  int end = index_axis(arg(v, 0));
  return end && is_exact(v, end) ? end : 0;
}

/* x spread over the shape of `like`, with 1 for the axis. */
static tp_val spread(tp_mk mk, tp_val x, tp_val like, int end) {
  const tp_ix *shape[TP_MAXRANK];
  int rank = tp_rankof(like);
  for (int i = 0; i < rank; i++) shape[i] = i == rank - end ? mk_int(mk, 1) : mk_extent(like, i);
  return mk_expand(mk, x, rank, shape);
}

/* The index that y is; -1 if it is none. An integer that becomes a float is meant itself: beyond
 * what the axis has, rounding leaves it beyond. */
static tp_val as_index(tp_mk mk, tp_val y) {
  if (y.node->op == TP_OP_CAST && tp_dtype_float(tp_dtypeof(y)) &&
      !tp_dtype_float(tp_dtypeof(arg(y, 0))))
    y = arg(y, 0);
  if (!tp_dtype_float(tp_dtypeof(y))) return mk_cast(mk, y, TP_I64);
  tp_val whole = mk_bin(mk, TP_OP_EQ, y, mk_un(mk, TP_OP_FLOOR, y));
  return mk_select(mk, whole, mk_cast(mk, y, TP_I64), mk_num(mk, -1, TP_I64));
}

static row_place compared(tp_mk mk, tp_val c) {
  for (int s = 0; s < 2; s++) {
    int end = index_axis(arg(c, s));
    if (end && is_flat(arg(c, 1 - s), end))
      return (row_place){ end, spread(mk, as_index(mk, arg(c, 1 - s)), c, end),
        c.node->op == TP_OP_NE };
  }
  return nowhere;
}

static row_place find_place(tp_mk mk, tp_val c, int depth);

static row_place also(tp_mk mk, tp_val c, int depth) {
  for (int s = 0; s < 2; s++) {
    row_place p = find_place(mk, arg(c, s), depth);
    if (!p.end || p.no || !is_flat(arg(c, 1 - s), p.end)) continue;
    p.k = spread(mk, mk_select(mk, arg(c, 1 - s), p.k, mk_num(mk, -1, TP_I64)), c, p.end);
    return p;
  }
  return nowhere;
}

static row_place seen(tp_mk mk, tp_val c, int depth) {
  row_place p = find_place(mk, arg(c, 0), depth);
  int end = moved_axis(c, p.end);
  if (!end) return nowhere;
  const tp_ix *shape[TP_MAXRANK];
  for (int i = 0; i < tp_rankof(c); i++)
    shape[i] = i == tp_rankof(c) - end ? mk_int(mk, 1) : mk_extent(c, i);
  if (c.node->op == TP_OP_RESHAPE) p.k = mk_reshape(mk, p.k, tp_rankof(c), shape);
  else if (c.node->op == TP_OP_EXPAND) p.k = mk_expand(mk, p.k, tp_rankof(c), shape);
  else if (c.node->op == TP_OP_PERMUTE) p.k = mk_permute(mk, p.k, c.node->attr.axes);
  p.end = end;
  return p;
}

static row_place find_place(tp_mk mk, tp_val c, int depth) {
  switch (depth-- > 0 ? c.node->op : TP_NOP) {
  case TP_OP_EQ:
  case TP_OP_NE: return compared(mk, c);
  case TP_OP_LAND: return also(mk, c, depth);
  case TP_OP_LNOT: {
    row_place p = find_place(mk, arg(c, 0), depth);
    p.no = !p.no;
    return p;
  }
  case TP_OP_DETACH:
  case TP_OP_RESHAPE:
  case TP_OP_EXPAND:
  case TP_OP_PERMUTE: return seen(mk, c, depth);
  default: return nowhere;
  }
}

/* ---- the state ---- */

/* What v shows point by point. */
static tp_val shown(tp_val v) {
  for (; v.node->op == TP_OP_DETACH || v.node->op == TP_OP_READ; v = arg(v, 0))
    for (int d = 0; v.node->op == TP_OP_READ && d < arg(v, 0).node->ndom; d++)
      if (v.node->attr.at[d].range) return v;
  return v;
}

/* What is written: x at the places k. */
static tp_val written(tp_mk mk, tp_val x, tp_val k, const tp_node *n, int end) {
  tp_val all = { (tp_node *)n, 0 };
  if (is_flat(x, end)) return spread(mk, x, all, end);
  const tp_ix *last = tp_ix_addc(mk.g->ix, mk_extent(all, tp_rankof(all) - end), -1);
  tp_val at =
      mk_binc(mk, TP_OP_MAXIMUM, mk_bin(mk, TP_OP_MINIMUM, k, mk_size(mk, last, TP_I64)), 0);
  x = mk_expand(mk, x, n->out[0].rank, n->out[0].shape);
  return mk_op(
      mk, TP_OP_GATHER, 2, (tp_val[]){ x, at }, &(tp_attr){ .axis = n->out[0].rank - end });
}

/* A part can be taken of an axis that is known to have elements. */
static bool has_elements(const tp_node *n, int end) {
  int64_t extent;
  return tp_ix_is_const(n->out[0].shape[n->out[0].rank - end], &extent) && extent > 0;
}

/* The choice n, whose operand `base` is a value of the state, becomes a put. */
static tp_node *put_row(tp_mk mk, tp_node *n, row_place p) {
  int base = p.no ? 1 : 2;
  tp_val k = spread(mk, p.k, tp_v(n), p.end);
  tp_val y = mk_op(mk, TP_OP_PUT, 3,
      (tp_val[]){ n->in[base].src, k, written(mk, n->in[3 - base].src, k, n, p.end) },
      &(tp_attr){ .axis = n->out[0].rank - p.end });
  if (!y.node) return NULL;
  y.node->name = n->name;
  y.node->what = n->what;
  tp_rewrite(mk.g, tp_v(n), y, "rows", "a choice of one row => that row is written");
  return y.node;
}

/* ---- rows of changes: the branch may change what is changed before, and so on down to the state
 * ---- */

/* found, by node: what leads() found, of the state m: twice m's number + 2, + 1 if so */
typedef struct {
  tp_mk mk;
  const tp_node *m;
  int nnode, *found;
  bool failed;
} changes;

static bool leads(changes *c, tp_val v);

/* ---- what is written over is seen before ---- */

/* At most a quarter of y's elements, whatever is not known before the call. */
static bool is_small(tp_val x, tp_val y) {
  int64_t n, part = 1, all = 1;
  for (int i = 0; i < tp_rankof(x); i++) {
    if (!tp_ix_is_const(mk_extent(x, i), &n)) return false;
    part *= n;
  }
  for (int i = 0; i < tp_rankof(y); i++)
    if (tp_ix_is_const(mk_extent(y, i), &n)) all *= n;
    else return true;
  return 4 * part <= all;
}

/* A view of some version, so of what is about to be written over, which is read while it is: a
 * small one is copied before. */
static void see_before(changes *c, tp_node *n, int k) {
  tp_val x = n->in[k].src, v = x;
  while (tp_shows(v.node) && !(tp_same_type(tp_outof(v), &n->out[0]) && leads(c, v))) v = arg(v, 0);
  if (x.node == v.node || !tp_same_type(tp_outof(v), &n->out[0]) || !is_small(x, tp_v(n)) ||
      !leads(c, v))
    return;
  c->mk.g->pos = n->pos;
  tp_val y = mk_op(c->mk, TP_OP_DETACH, 1, &x, &(tp_attr){ .stored = true });
  if (y.node) n->in[k].src = y;
  else c->failed = true;
}

/* Is part k just where the concatenation puts it? */
static bool stays_put(changes *c, const tp_node *n, int k) {
  const tp_node *x = shown(n->in[k].src).node;
  const tp_ix *before = tp_ix_const(c->mk.g->ix, 0);
  for (int j = 0; j < k; j++)
    before = tp_ix_add(c->mk.g->ix, before, mk_extent(n->in[j].src, n->attr.axis));
  return x->op == TP_OP_SLICE && x->attr.axis == n->attr.axis && x->attr.ix[0] == before &&
      tp_same_type(tp_outof(x->in[0].src), &n->out[0]);
}

static void see_all_before(changes *c, tp_node *n) {
  for (int k = 0; k < n->nin; k++)
    if (n->op == TP_OP_CONCAT ? !stays_put(c, n, k) : k > 0) see_before(c, n, k);
}

static bool is_put(tp_val v) { return shown(v).node->op == TP_OP_PUT; }

static tp_val before_puts(tp_val v) {
  while (is_put(v)) v = arg(shown(v), 0);
  return v;
}

static bool same_value(tp_val a, tp_val b) {
  if (a.node == b.node) return a.out == b.out;
  bool same =
      a.node->op == TP_OP_READ && b.node->op == TP_OP_READ && arg(a, 0).node == arg(b, 0).node;
  for (int d = 0; same && d < arg(a, 0).node->ndom; d++) {
    const tp_at *x = &a.node->attr.at[d], *y = &b.node->attr.at[d];
    same = !x->range && !y->range && x->lo == y->lo;
  }
  return same;
}

static bool all_flat(tp_val cond, tp_val v) {
  bool all = true;
  for (; is_put(v); v = arg(shown(v), 0))
    all &= is_flat(cond, tp_rankof(v) - shown(v).node->attr.axis);
  return all;
}

/* The puts of v where the condition is `when`, onto something else. */
static tp_val put_when(tp_mk mk, tp_val cond, bool when, tp_val v, tp_val onto) {
  if (!is_put(v)) return onto;
  tp_node *n = shown(v).node;
  tp_val no = mk_num(mk, -1, TP_I64), k = n->in[1].src,
         c = spread(mk, cond, tp_v(n), n->out[0].rank - n->attr.axis);
  k = when ? mk_select(mk, c, k, no) : mk_select(mk, c, no, k);
  return mk_op(mk, TP_OP_PUT, 3,
      (tp_val[]){ put_when(mk, cond, when, n->in[0].src, onto), k, n->in[2].src },
      &(tp_attr){ .axis = n->attr.axis });
}

/* where(c, puts of x, other puts of x)   =>   these puts one after the other, each where c is right
 */
static bool either_leads(changes *c, tp_node *n) {
  for (int k = 1; k <= 2; k++)
    if (!tp_same_type(tp_outof(n->in[k].src), &n->out[0]) || !leads(c, n->in[k].src)) return false;
  tp_val cond = n->in[0].src, yes = n->in[1].src, no = n->in[2].src, x = before_puts(no);
  if (!(is_put(yes) || is_put(no)) || !same_value(before_puts(yes), x) || !all_flat(cond, yes) ||
      !all_flat(cond, no))
    return false;
  tp_val y = put_when(c->mk, cond, false, no, put_when(c->mk, cond, true, yes, x));
  if (!y.node) return !(c->failed = true);
  y.node->name = n->name, y.node->what = n->what;
  tp_rewrite(c->mk.g, tp_v(n), y, "rows",
      "a choice of states that differ in a row => that row is written");
  return true;
}

static bool choice_leads(changes *c, tp_node *n) {
  c->mk.g->pos = n->pos;
  row_place p = find_place(c->mk, n->in[0].src, CONDITION_DEPTH);
  int base = p.no ? 1 : 2;
  if (!p.end) return either_leads(c, n);
  if (!tp_same_type(tp_outof(n->in[base].src), &n->out[0]) || !leads(c, n->in[base].src))
    return false;
  if (!is_flat(n->in[3 - base].src, p.end) && !has_elements(n, p.end)) return false;
  tp_node *y = put_row(c->mk, n, p);
  if (y) see_all_before(c, y);
  c->failed |= !y;
  return true;
}

/* Parts of what leads there: they are not asked to be where they were, which is of no matter but
 * for speed. */
static bool parts_lead(changes *c, tp_node *n) {
  bool any = false;
  for (int k = 0; k < n->nin; k++) {
    tp_val x = shown(n->in[k].src);
    if (x.node->op == TP_OP_SLICE && tp_same_type(tp_outof(arg(x, 0)), &n->out[0]))
      any |= leads(c, arg(x, 0));
  }
  return any;
}

static bool operands_lead(changes *c, tp_node *n) {
  bool any = false;
  for (int k = 0; k < n->nin; k++)
    any |= tp_same_type(tp_outof(n->in[k].src), &n->out[0]) && leads(c, n->in[k].src);
  return any;
}

static bool node_leads(changes *c, tp_node *n) {
  if (n->op == TP_OP_SELECT) return choice_leads(c, n);
  if (n->op == TP_OP_CONCAT) return parts_lead(c, n);
  return tp_op_is(n->op, TP_PART) ? leads(c, n->in[0].src)
                                  : tp_ops[n->op].batch == TP_BATCH_E && operands_lead(c, n);
}

/* Is v the state at some point, or made of it by a row of changes? The choices among these are puts
 * then. Elementwise operators may stand before changes, as these need not look at each element once
 * more. */
static bool leads(changes *c, tp_val v) {
  tp_node *n = shown(v).node;
  if (n == c->m) return true;
  if (n->id >= c->nnode) return n->op == TP_OP_PUT; /* made here */
  int *is = &c->found[n->id], no = 2 * c->m->id + 2;
  if (*is != no && *is != no + 1) {
    *is = no;
    *is += node_leads(c, n);
    if (*is > no && tp_ops[n->op].batch != TP_BATCH_E) see_all_before(c, n);
  }
  return *is == no + 1;
}

static bool may_write_part(const tp_node *n) {
  return n->op == TP_OP_SELECT || tp_ops[n->op].batch != TP_BATCH_E;
}

bool tp_pass_rows(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  changes c = { .mk = { .g = g, .err = err }, .nnode = g->nodes.n };
  c.found = TP_NEWN(&g->arena, int, c.nnode);
  for (int i = 0; i < c.nnode && !c.failed; i++) {
    c.m = g->nodes.v[i];
    for (int k = 0; c.m->op == TP_OP_MERGE && k < c.m->nin; k++)
      if (tp_same_type(tp_outof(c.m->in[k].src), &c.m->out[0]) &&
          may_write_part(shown(c.m->in[k].src).node))
        (void)leads(&c, c.m->in[k].src);
  }
  tp_graph_prune(g);
  return !c.failed;
}
