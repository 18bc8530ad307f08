/* running_scans: rows of what is scanned along a range.
 *
 *   From an end that does not move, a row of the scan is that of a recurrence along the rows: y[s]
 * = x[s] + k[s] y[s-1] From an end that does, a product of rows up to each weighs the row
 * (running_term.by); so does exp of a sum of rows, as the product of their exp. The row in which a
 * scan ends is the sum of all rows, each times the factor as often as rows follow it. A scan from
 * the other end, which does not move, of what is so weighed:       sum of x[s'] w(s'), s' >= s   =>
 * w(s) y[s],  y[s] = x[s] + by[s] y[s+1],  w(s) = product of by of the rows before s
 *
 * so that derivatives of products and of sums that fade are sums over ranges that move, without
 * division: zeros are no exception. */
#include "opt/running.h"
#include <math.h>

static const tp_ix *row_at(const running_terms *t, int64_t steps) {
  return tp_ix_addc(t->mk.g->ix, tp_ix_sym(t->mk.g->ix, t->d), steps);
}

/* Is it the first row that a scan goes through, from an end that does not move? NULL: that moves.
 */
static const tp_ix *at_start(const running_terms *t, bool back) {
  tp_ictx *ix = t->mk.g->ix;
  if (back) return t->end ? tp_ix_cmp(ix, TP_GE, row_at(t, 1), t->end) : NULL;
  return t->begin ? tp_ix_cmp(ix, TP_LE, row_at(t, 0), t->begin) : NULL;
}

static bool is_along_rows(const running_terms *t, tp_val v) {
  for (int a = 0; a < tp_rankof(v); a++)
    if (tp_ix_mentions(mk_extent(v, a), t->c) || tp_ix_mentions(mk_extent(v, a), t->d))
      return false;
  return true;
}

/* y = first, and then more + by * y of the row before (NULL: 0 and 1); {NULL}, without an error:
 * not from there. */
static tp_val scanned(const running_terms *t, tp_val first, tp_val more, tp_val by, bool back) {
  tp_mk mk = t->mk;
  const tp_ix *start = at_start(t, back);
  tp_dtype is = tp_dtypeof(first);
  tp_val like = by.node ? mk_mul(mk, first, mk_cast(mk, by, is)) : first;
  if (!start || !like.node || !is_along_rows(t, like)) return tp_none;
  const tp_out *o = tp_outof(like);
  tp_dtype in = !tp_dtype_float(is) ? is : is == TP_F64 || tp_is_small(o) ? TP_F64 : TP_F32;
  tp_val y = mk_declared(mk, in, o->rank, o->shape, like.node->ndom, like.node->dom),
         next = mk_at(mk, y, t->d, row_at(t, back ? 1 : -1));
  if (by.node) next = mk_mul(mk, mk_cast(mk, by, in), next);
  if (more.node) next = mk_add(mk, mk_cast(mk, more, in), next);
  first = mk_expand(mk, mk_cast(mk, first, in), o->rank, o->shape);
  bool ok = first.node && next.node && tp_merge_add(mk.g, y.node, start, first, mk.err) &&
      tp_merge_add(mk.g, y.node, NULL, next, mk.err);
  return ok ? mk_cast(mk, y, is) : tp_none;
}

/* ---- rows moved by one ---- */

/* n's operand, moved (mk_moved) so that `value` falls in; NULL: it is none such. */
static const tp_edge *moved_by_one(const tp_node *n, bool *ahead, double *value) {
  if (n->op != TP_OP_SLICE || n->attr.axis != 0 || n->attr.i[0] != 1) return NULL;
  const tp_node *pad = n->in[0].src.node;
  *ahead = tp_is_number(n->attr.ix[0], 1);
  if (pad->op != TP_OP_PAD || pad->attr.axis != 0 || !tp_is_number(n->attr.ix[0], *ahead) ||
      !tp_is_number(pad->attr.ix[*ahead], 1) || !tp_is_number(pad->attr.ix[!*ahead], 0))
    return NULL;
  *value = pad->attr.f[0];
  return n->out[0].shape[0] == mk_extent(pad->in[0].src, 0) ? &pad->in[0] : NULL;
}

static tp_val moved_row(running_terms *t, const tp_node *n, int rank, bool *in) {
  bool ahead;
  double value;
  const tp_edge *x = moved_by_one(n, &ahead, &value);
  const tp_ix *start = x ? at_start(t, ahead) : NULL;
  tp_val row = start ? tp_terms_row(t, x->src, rank, in) : tp_none;
  if (!row.node || !*in) return tp_none;
  const tp_out *o = tp_outof(row);
  return mk_either(t->mk, row.node->ndom, row.node->dom, start,
      mk_fill(t->mk, value, o->dtype, o->rank, o->shape, 0, NULL),
      mk_at(t->mk, row, t->d, row_at(t, ahead ? 1 : -1)));
}

/* ---- rows of scans ---- */

/* A row of v, along d though it may be the same for all. */
static tp_val row_along(running_terms *t, tp_val v, int rank) {
  bool in = false;
  tp_val row = tp_terms_row(t, v, rank, &in);
  if (!row.node || in) return row;
  if (tp_dom_has(row.node->ndom, row.node->dom, t->c) ||
      tp_dom_has(row.node->ndom, row.node->dom, t->d))
    return tp_none;
  return mk_mul(t->mk, row, mk_fill(t->mk, 1, tp_dtypeof(row), 0, NULL, 1, &t->d));
}

/* What what was scanned so far is multiplied by at each row; {NULL}: by 1. */
static bool factor_of_step(running_terms *t, const tp_node *n, int rank, tp_val *by) {
  *by = n->op == TP_OP_RECUR                     ? row_along(t, n->in[1].src, rank)
      : n->op == TP_OP_SCAN && n->attr.f[0] != 1 ? mk_num(t->mk, n->attr.f[0], n->out[0].dtype)
                                                 : tp_none;
  return by->node || n->op == TP_OP_SCAN;
}

tp_val tp_scanned_row(running_terms *t, const tp_node *n, int rank, bool *in) {
  if (n->out[0].rank != rank) return tp_none;
  if (n->op == TP_OP_SLICE) return moved_row(t, n, rank, in);
  tp_val x = at_start(t, n->attr.flag) ? row_along(t, n->in[0].src, rank) : tp_none, by = x;
  if (!x.node || (n->op != TP_OP_CUMPROD && !factor_of_step(t, n, rank, &by))) return tp_none;
  *in = true;
  return scanned(t, x, n->op == TP_OP_CUMPROD ? tp_none : x, by, n->attr.flag);
}

/* ---- scans from an end that moves ---- */

/* n is `op` of the rows up to each, or up to that before it, from which on: those rows; NULL: it is
 * none such. */
static const tp_edge *rows_up_to(
    const tp_node *n, tp_op op, double nothing, bool *without, bool *back) {
  bool outer = false, inner = false;
  double value = nothing;
  const tp_edge *x = moved_by_one(n, &outer, &value), *y;
  *without = x != NULL;
  if (x) n = x->src.node;
  if (n->op != op || n->attr.axis != 0 || (op == TP_OP_SCAN && n->attr.f[0] != 1)) return NULL;
  *back = n->attr.flag;
  if (x) return value == nothing && outer == *back ? &n->in[0] : NULL;
  y = moved_by_one(n->in[0].src.node, &inner, &value);
  *without = y && value == nothing && inner == *back;
  return *without ? y : &n->in[0];
}

static bool fading_term(running_terms *t, tp_val by, bool without, bool back) {
  if (!by.node || t->n == RUNNING_TERMS) return false;
  t->v[t->n++] = (running_term){ .in = without ? tp_none : by, .by = by, .behind = back };
  return true;
}

bool tp_exp_of_sums(running_terms *t, tp_val v, double k, int rank) {
  const tp_node *n = v.node;
  bool without, back;
  double a;
  if (tp_rankof(v) != rank) return false;
  if (n->op == TP_OP_NEG) return tp_exp_of_sums(t, n->in[0].src, -k, rank);
  if (n->op == TP_OP_CAST)
    return tp_dtype_float(tp_dtypeof(n->in[0].src)) && tp_exp_of_sums(t, n->in[0].src, k, rank);
  if (n->op == TP_OP_MUL && tp_number_of(n->in[1].src, &a))
    return tp_exp_of_sums(t, n->in[0].src, k * a, rank);
  const tp_edge *x = rows_up_to(n, TP_OP_SCAN, 0, &without, &back);
  return x &&
      fading_term(t,
          mk_exp(t->mk, mk_mulc(t->mk, mk_cast(t->mk, row_along(t, x->src, rank), TP_F64), k)),
          without, back);
}

/* The term times k as often as rows lie between one and the first of the range (back: the last). */
static void weigh_by_distance(const running_terms *t, running_term *e, double k, bool back) {
  e->by = mk_fill(t->mk, k, TP_F64, 0, NULL, 1, &t->d);
  e->behind = back;
}

static bool is_factor(double k) { return k > 0 && k < HUGE_VAL; }

/* One row, and nothing else, from the end where the scan begins: each row is that, times the factor
 * as often as it has gone. */
static bool first_row_terms(running_terms *t, const tp_node *n) {
  const tp_node *pad = n->in[0].src.node;
  double k = n->attr.f[0];
  bool is = n->op == TP_OP_SCAN && tp_dtype_float(n->out[0].dtype) && is_factor(k) &&
      pad->op == TP_OP_PAD && pad->attr.axis == 0 && pad->attr.f[0] == 0 &&
      tp_is_number(pad->attr.ix[n->attr.flag], 0);
  if (!is || t->n == RUNNING_TERMS || !tp_is_number(mk_extent(pad->in[0].src, 0), 1)) return false;
  tp_val row = mk_squeeze(t->mk, pad->in[0].src, 0);
  if (!row.node || (t->c != t->d && tp_dom_has(row.node->ndom, row.node->dom, t->d))) return false;
  running_term *e = &t->v[t->n++];
  *e = (running_term){ .out = row };
  if (k != 1) weigh_by_distance(t, e, k, n->attr.flag);
  return true;
}

/* Each of the terms scanned: its rows are, and what it is weighed by joins what they are carried
 * by. */
static bool linear_terms(running_terms *t, const tp_node *n, int rank) {
  int first = t->n;
  tp_val by;
  if (!at_start(t, n->attr.flag) || !factor_of_step(t, n, rank, &by) ||
      !tp_terms_of(t, n->in[0].src, rank))
    return false;
  for (int i = first; i < t->n; i++) {
    running_term *e = &t->v[i];
    if (e->up.node || e->pick.node || e->with.node || e->only.node ||
        (e->by.node && e->behind == n->attr.flag))
      return false;
    tp_dtype d = n->out[0].dtype;
    tp_val in = e->in.node ? e->in : mk_fill(t->mk, 1, d, 0, NULL, 1, &t->d),
           each = mk_cast(t->mk, e->by, d);
    if (by.node) each = each.node ? mk_mul(t->mk, each, by) : by;
    if (!tp_dom_has(in.node->ndom, in.node->dom, t->d)) return false;
    e->in = scanned(t, in, in, each, n->attr.flag);
    if (!e->in.node) return false;
  }
  return true;
}

bool tp_scanned_terms(running_terms *t, const tp_node *n, int rank) {
  bool without, back;
  const tp_edge *x;
  if (n->out[0].rank != rank || n->attr.axis != 0) return false;
  if (n->op == TP_OP_SCAN || n->op == TP_OP_RECUR)
    return first_row_terms(t, n) || linear_terms(t, n, rank);
  x = rows_up_to(n, TP_OP_CUMPROD, 1, &without, &back);
  return x && fading_term(t, row_along(t, x->src, rank), without, back);
}

/* ---- where scans end ---- */

static bool is_last_row(const running_terms *t, const tp_node *n, const tp_node *scan) {
  bool one = n->attr.axis == 0 && scan->op == TP_OP_SCAN && scan->attr.axis == 0 &&
      tp_is_number(n->attr.ix[1], 1);
  return one &&
      (scan->attr.flag
              ? tp_is_number(n->attr.ix[0], 0)
              : tp_is_number(tp_ix_sub(t->mk.g->ix, scan->out[0].shape[0], n->attr.ix[0]), 1));
}

bool tp_scan_end_terms(running_terms *t, const tp_node *n) {
  const tp_node *scan = n->in[0].src.node;
  double k = scan->attr.f[0];
  if (!is_last_row(t, n, scan) || !is_factor(k) ||
      !tp_terms_of(t, scan->in[0].src, scan->out[0].rank))
    return false;
  for (int i = 0; i < t->n && k != 1; i++) {
    if (tp_is_weighed(&t->v[i]) || !tp_dtype_float(n->out[0].dtype)) return false;
    weigh_by_distance(t, &t->v[i], k, !scan->attr.flag);
  }
  return !t->mk.err->code;
}
