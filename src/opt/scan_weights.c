/* scan_weights: rows of what is scanned along a range.
 *
 *   From an end that does not move a row of the scan is that of a recurrence along the rows:
 *     y[s] = x[s] + k[s] y[s-1]
 *   From an end that moves a product of rows up to each weighs the row (factor_row.factor), and so
 *     does exp of a sum of rows, as the product of their exp.
 *   The row in which a scan ends is the sum of all rows, each times the factor as often as rows
 *     follow it.
 *
 * There is no division: zeros are no exception. */
#include "opt/prefix.h"
#include <math.h>

static const tp_ix *row_at(const factor_rows *t, int64_t steps) {
  return tp_ix_addc(t->mk.g->ix, tp_ix_sym(t->mk.g->ix, t->d), steps);
}

/* Is it the first row that a scan goes through, from an end that does not move? NULL: that moves.
 */
static const tp_ix *at_start(const factor_rows *t, bool back) {
  tp_ictx *ix = t->mk.g->ix;
  if (back) return t->end ? tp_ix_cmp(ix, TP_GE, row_at(t, 1), t->end) : NULL;
  return t->begin ? tp_ix_cmp(ix, TP_LE, row_at(t, 0), t->begin) : NULL;
}

static bool is_along_rows(const factor_rows *t, tp_val v) {
  for (int a = 0; a < tp_rankof(v); a++)
    if (tp_ix_mentions(mk_extent(v, a), t->c) || tp_ix_mentions(mk_extent(v, a), t->d))
      return false;
  return true;
}

/* y = first, and then more + by * y of the row before (NULL: 0 and 1); {NULL}, without an error:
 * not from there. */
static tp_val scanned(const factor_rows *t, tp_val first, tp_val more, tp_val by, bool back) {
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

/* ---- rows of scans ---- */

/* A row of v, along d though it may be the same for all. */
static tp_val row_along(factor_rows *t, tp_val v, int rank) {
  bool in = false;
  tp_val row = tp_terms_row(t, v, rank, &in);
  if (!row.node || in) return row;
  if (tp_dom_has(row.node->ndom, row.node->dom, t->c) ||
      tp_dom_has(row.node->ndom, row.node->dom, t->d))
    return tp_none;
  return mk_mul(t->mk, row, mk_fill(t->mk, 1, tp_dtypeof(row), 0, NULL, 1, &t->d));
}

/* What what was scanned so far is multiplied by at each row; {NULL}: by 1. */
static bool factor_of_step(factor_rows *t, const tp_node *n, int rank, tp_val *by) {
  *by = n->op == TP_OP_RECUR                     ? row_along(t, n->in[1].src, rank)
      : n->op == TP_OP_SCAN && n->attr.f[0] != 1 ? mk_num(t->mk, n->attr.f[0], n->out[0].dtype)
                                                 : tp_none;
  return by->node || n->op == TP_OP_SCAN;
}

tp_val tp_scanned_row(factor_rows *t, const tp_node *n, int rank, bool *in) {
  if (n->out[0].rank != rank) return tp_none;
  tp_val x = at_start(t, n->attr.backwards) ? row_along(t, n->in[0].src, rank) : tp_none, by = x;
  if (!x.node || (n->op != TP_OP_CUMPROD && !factor_of_step(t, n, rank, &by))) return tp_none;
  *in = true;
  return scanned(t, x, n->op == TP_OP_CUMPROD ? tp_none : x, by, n->attr.backwards);
}

/* ---- scans from an end that moves ---- */

/* n is `op` of the rows up to each: those rows; NULL: it is none such. */
static const tp_edge *rows_up_to(const tp_node *n, tp_op op) {
  bool is = n->op == op && n->attr.axis == 0 && (op != TP_OP_SCAN || n->attr.f[0] == 1);
  return is ? &n->in[0] : NULL;
}

static bool fading_term(factor_rows *t, tp_val by, bool back) {
  if (!by.node || t->n == FACTOR_ROWS) return false;
  t->v[t->n++] = (factor_row){ .row = by, .factor = by, .behind = back };
  return true;
}

bool tp_exp_of_sums(factor_rows *t, tp_val v, double k, int rank) {
  const tp_node *n = v.node;
  double a;
  if (tp_rankof(v) != rank) return false;
  if (n->op == TP_OP_NEG) return tp_exp_of_sums(t, n->in[0].src, -k, rank);
  if (n->op == TP_OP_CAST)
    return tp_dtype_float(tp_dtypeof(n->in[0].src)) && tp_exp_of_sums(t, n->in[0].src, k, rank);
  if (n->op == TP_OP_MUL && tp_number_of(n->in[1].src, &a))
    return tp_exp_of_sums(t, n->in[0].src, k * a, rank);
  const tp_edge *x = rows_up_to(n, TP_OP_SCAN);
  return x &&
      fading_term(t,
          mk_exp(t->mk, mk_mulc(t->mk, mk_cast(t->mk, row_along(t, x->src, rank), TP_F64), k)),
          n->attr.backwards);
}

/* The term times k as often as rows lie between one and the first of the range (back: the last). */
static void weigh_by_distance(const factor_rows *t, factor_row *e, double k, bool back) {
  e->factor = mk_fill(t->mk, k, TP_F64, 0, NULL, 1, &t->d);
  e->behind = back;
}

static bool is_factor(double k) { return k > 0 && k < HUGE_VAL; }

bool tp_scanned_terms(factor_rows *t, const tp_node *n, int rank) {
  const tp_edge *x = n->out[0].rank == rank ? rows_up_to(n, TP_OP_CUMPROD) : NULL;
  return x && fading_term(t, row_along(t, x->src, rank), n->attr.backwards);
}

/* ---- where scans end ---- */

static bool is_last_row(const factor_rows *t, const tp_node *n, const tp_node *scan) {
  bool one = n->attr.axis == 0 && scan->op == TP_OP_SCAN && scan->attr.axis == 0 &&
      tp_is_number(n->attr.ix[1], 1);
  return one &&
      (scan->attr.backwards
              ? tp_is_number(n->attr.ix[0], 0)
              : tp_is_number(tp_ix_sub(t->mk.g->ix, scan->out[0].shape[0], n->attr.ix[0]), 1));
}

bool tp_scan_end_terms(factor_rows *t, const tp_node *n) {
  const tp_node *scan = n->in[0].src.node;
  double k = scan->attr.f[0];
  if (!is_last_row(t, n, scan) || !is_factor(k) ||
      !tp_terms_of(t, scan->in[0].src, scan->out[0].rank))
    return false;
  for (int i = 0; i < t->n && k != 1; i++) {
    if (tp_is_weighed(&t->v[i]) || !tp_dtype_float(n->out[0].dtype)) return false;
    weigh_by_distance(t, &t->v[i], k, !scan->attr.backwards);
  }
  return !t->mk.err->code;
}
