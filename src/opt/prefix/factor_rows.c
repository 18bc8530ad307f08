/* factor_rows: takes a reduced expression apart into a part of each row and parts that all rows
 * share.
 *
 *   sum(out * f(x[lo .. hi]), axis 0)         =>   out * sum(z[lo .. hi]),  z[p] = f(x[p])
 *   sum(exp(x[lo .. hi] - m), axis 0)         =>   sum(exp(x[lo .. hi])) counted from m
 *   sum(k ^ arange(hi - lo) * x[lo .. hi])    =>   x, each times k as often as rows lie before it
 *   discounted_cumsum(x[lo .. hi], k)[last]   =>   x, each times k as often as rows follow it
 *
 * There is no division: zeros are no exception. An operator that works on each row by itself is
 * applied to one row; a value that is the same for all rows is given by its one row. */
#include "opt/prefix/prefix.h"
#include <math.h>

static bool varies_along(const factor_rows *t, const tp_node *n) {
  return tp_has_dim(n, t->c) || tp_has_dim(n, t->d);
}

/* A read of the range whose rows the axis stands for becomes a read of the row at point d. */
static tp_val row_read(factor_rows *t, const tp_node *n, bool *in) {
  const tp_node *x = tp_in(n, 0);
  tp_at *at = TP_NEWN(&t->mk.g->arena, tp_at, x->ndom + 1);
  int ranges = 0;
  for (int k = 0; k < x->ndom; k++) {
    at[k] = n->attr.at[k];
    if (!at[k].range) {
      if (tp_ix_mentions(at[k].lo, t->c) || tp_ix_mentions(at[k].lo, t->d)) return tp_none;
      continue;
    }
    if (ranges++ || at[k].lo != t->range->lo || at[k].hi != t->range->hi ||
        x->dom[k]->bound != t->d->bound)
      return tp_none;
    at[k] = (tp_at){ .lo = tp_ix_sym(t->d) };
  }
  *in = true;
  return ranges ? tp_read(t->mk.g, n->in[0].src, at, t->mk.err) : tp_none;
}

/* v without its first axis, if all rows are one. */
static tp_val only_row(factor_rows *t, tp_val v, int rank) {
  int64_t n;
  if (tp_rankof(v) < rank) return v;
  return tp_ix_is_const(mk_extent(v, 0), &n) && n == 1 ? mk_squeeze(t->mk, v, 0) : tp_none;
}

/* One row of v, whose rows lie along axis number rank from the end; {NULL}: no expression gives it.
 * in: rows differ. */
static tp_val row_of(factor_rows *t, tp_val v, int rank, bool *in);

static tp_val rows_apart(factor_rows *t, const tp_node *n, int rank, bool *in) {
  tp_val row[8];
  bool inner[8], any = false;
  if (n->nin > (int)TP_LEN(row) || n->nout != 1) return tp_none;
  for (int k = 0; k < n->nin; k++) {
    inner[k] = false;
    row[k] = row_of(t, n->in[k].src, rank, &inner[k]);
    if (!row[k].node) return tp_none;
    any |= inner[k];
  }
  for (int k = 0; k < n->nin && any; k++)
    if (!inner[k] && varies_along(t, row[k].node)) return tp_none;
  *in = any;
  return mk_op(t->mk, n->op, n->nin, row, &n->attr);
}

/* One row of n, which moves its operand's rows and leaves the first axis in place. */
static tp_val row_moved(factor_rows *t, const tp_node *n, int rank, bool *in) {
  tp_val x = n->in[0].src, row;
  const tp_out *o = &n->out[0];
  bool whole = n->op == TP_OP_EXPAND ? tp_rankof(x) <= rank
                                     : tp_rankof(x) > 0 && mk_extent(x, 0) == o->shape[0];
  if (o->rank != rank || !whole) return tp_none;
  row = row_of(t, x, n->op == TP_OP_EXPAND ? rank : tp_rankof(x), in);
  if (!row.node) return row;
  if (n->op == TP_OP_EXPAND) return mk_expand(t->mk, row, rank - 1, o->shape + 1);
  if (n->op == TP_OP_RESHAPE) return mk_reshape(t->mk, row, rank - 1, o->shape + 1);
  int order[TP_MAXRANK];
  if (n->attr.axes[0] != 0) return tp_none;
  for (int a = 1; a < rank; a++) order[a - 1] = n->attr.axes[a] - 1;
  return mk_permute(t->mk, row, order);
}

static tp_val row_reduced(factor_rows *t, const tp_node *n, int rank, bool *in) {
  int axes[TP_MAXRANK], nx = tp_rankof(n->in[0].src);
  if (n->out[0].rank != rank || !n->attr.naxes || n->attr.axes[0] == 0) return tp_none;
  for (int i = 0; i < n->attr.naxes; i++) axes[i] = n->attr.axes[i] - 1;
  tp_val row = row_of(t, n->in[0].src, nx, in);
  return mk_reduce(t->mk, n->op, row, n->attr.naxes, axes, n->attr.keepdim);
}

/* One row of n, an operator that works along another axis than the rows'. */
static tp_val row_within(factor_rows *t, const tp_node *n, int rank, bool *in) {
  tp_attr at = n->attr;
  if (n->out[0].rank != rank || n->nin != 1 || at.axis == 0) return tp_none;
  tp_val row = row_of(t, n->in[0].src, rank, in);
  at.axis--;
  return mk_op(t->mk, n->op, 1, &row, &at);
}

static tp_val row_of(factor_rows *t, tp_val v, int rank, bool *in) {
  const tp_node *n = v.node;
  tp_val only = tp_rankof(v) <= rank ? only_row(t, v, rank) : tp_none;
  if (only.node || t->mk.err->code || tp_rankof(v) > rank) return only;
  switch (n->op) {
  case TP_OP_READ: return row_read(t, n, in);
  case TP_OP_EXPAND:
  case TP_OP_RESHAPE:
  case TP_OP_PERMUTE: return row_moved(t, n, rank, in);
  case TP_OP_FLIP:
  case TP_OP_SLICE:
  case TP_OP_SCAN:
  case TP_OP_CUMPROD:
  case TP_OP_RECUR:
  case TP_OP_PAD: return row_within(t, n, rank, in);
  case TP_OP_MATMUL: return rank > 2 ? rows_apart(t, n, rank, in) : tp_none;
  default: break;
  }
  if (tp_op_is_elementwise(n->op) || n->op == TP_OP_DETACH) return rows_apart(t, n, rank, in);
  return tp_ops[n->op].cls == TP_CLS_RED ? row_reduced(t, n, rank, in) : tp_none;
}

/* ---- products ---- */

static bool term_of(factor_rows *t, tp_val v, int rank, factor_row *e);

/* a op b in the wider dtype of the two; {NULL} stands for no operand. */
static tp_val in_wider(const factor_rows *t, tp_op op, tp_val a, tp_val b) {
  if (!a.node || !b.node) return a.node ? a : b;
  tp_dtype d =
      tp_dtype_size(tp_dtypeof(a)) < tp_dtype_size(tp_dtypeof(b)) ? tp_dtypeof(b) : tp_dtypeof(a);
  return mk_bin(t->mk, op, mk_cast(t->mk, a, d), mk_cast(t->mk, b, d));
}

bool tp_is_weighed(const factor_row *e) { return e->exponent.node || e->fade > 0; }

static bool product_term(factor_rows *t, const tp_node *n, int rank, factor_row *e) {
  factor_row a, b;
  if (!term_of(t, n->in[0].src, rank, &a) || !term_of(t, n->in[1].src, rank, &b) ||
      (tp_is_weighed(&a) && tp_is_weighed(&b)))
    return false;
  *e = tp_is_weighed(&a) ? a : b;
  e->row = in_wider(t, TP_OP_MUL, a.row, b.row);
  e->outside = in_wider(t, TP_OP_MUL, a.outside, b.outside);
  return true;
}

static bool quotient_term(factor_rows *t, const tp_node *n, int rank, factor_row *e) {
  bool in = false;
  tp_val by = row_of(t, n->in[1].src, rank, &in), *to = in ? &e->row : &e->outside;
  if (!by.node || !term_of(t, n->in[0].src, rank, e)) return false;
  *to = to->node ? mk_div(t->mk, *to, by) : mk_cbin(t->mk, TP_OP_DIV, 1, by);
  return true;
}

/* ---- exponents: terms that differ from row to row, less terms that are the same for all ---- */

/* Adds v (minus: -v) to x's exponent - below, term by term. */
static bool add_exponents(factor_rows *t, tp_val v, int rank, bool minus, factor_row *x) {
  const tp_node *n = v.node;
  bool in = false;
  tp_val row = row_of(t, v, rank, &in), *to = in ? &x->exponent : &x->below;
  if (row.node) {
    *to = in_wider(t, TP_OP_ADD, *to, minus == in ? mk_neg(t->mk, row) : row);
    return to->node;
  }
  if (t->mk.err->code || n->out[0].rank != rank) return false;
  switch (n->op) {
  case TP_OP_ADD:
  case TP_OP_SUB:
    return add_exponents(t, n->in[0].src, rank, minus, x) &&
        add_exponents(t, n->in[1].src, rank, minus != (n->op == TP_OP_SUB), x);
  case TP_OP_CAST:
    return tp_dtype_float(n->attr.dtype) && tp_dtype_size(n->attr.dtype) >= 4 &&
        add_exponents(t, n->in[0].src, rank, minus, x);
  case TP_OP_NEG: return add_exponents(t, n->in[0].src, rank, !minus, x);
  default: return false;
  }
}

/* v counts the rows from the range's begin. */
static bool counts_rows(const factor_rows *t, tp_val v) {
  const tp_node *n = v.node;
  for (; n->op == TP_OP_CAST; n = tp_in(n, 0))
    if (n->out[0].dtype != TP_I64 && n->out[0].dtype != TP_F32 && n->out[0].dtype != TP_F64)
      return false;
  return n->op == TP_OP_IOTA && n->attr.axis == 0 && n->out[0].rank == 1 &&
      n->out[0].shape[0] == tp_ix_sub(t->range->hi, t->range->lo);
}

/* exp(exponent - below) */
static bool exp_term(factor_rows *t, const tp_node *n, int rank, factor_row *e) {
  return add_exponents(t, n->in[0].src, rank, false, e) && e->exponent.node && e->below.node;
}

/* A power: a number above 0 to how many rows lie before one. The carried value is multiplied by the
 * number from row to row. */
static bool power_term(factor_rows *t, const tp_node *n, factor_row *e) {
  tp_dtype d = n->out[0].dtype;
  return (d == TP_F32 || d == TP_F64) && counts_rows(t, n->in[1].src) &&
      tp_number_of(n->in[0].src, &e->fade) && e->fade > 0 && e->fade < HUGE_VAL;
}

/* v, one row of the operand of n, a reshape or an expansion, brought to the shape of one row of
 * n. */
static tp_val row_shaped(const factor_rows *t, const tp_node *n, tp_val v) {
  const tp_out *x = tp_inof(n, 0), *o = &n->out[0];
  if (n->op == TP_OP_RESHAPE) v = mk_expand(t->mk, v, x->rank - 1, x->shape + 1);
  return (n->op == TP_OP_EXPAND ? mk_expand : mk_reshape)(t->mk, v, o->rank - 1, o->shape + 1);
}

static bool shaped_term(factor_rows *t, const tp_node *n, factor_row *e) {
  tp_val x = n->in[0].src;
  if (tp_rankof(x) < 1 || mk_extent(x, 0) != n->out[0].shape[0] ||
      (n->op == TP_OP_EXPAND && tp_rankof(x) != n->out[0].rank) || !term_of(t, x, tp_rankof(x), e))
    return false;
  tp_val *part[] = { &e->row, &e->outside, &e->exponent, &e->below };
  for (size_t k = 0; k < TP_LEN(part); k++) *part[k] = row_shaped(t, n, *part[k]);
  return true;
}

/* Is n a cast to a float of at least the same width, so that its operand may be computed in that
 * dtype from the start? */
static bool widens(const tp_node *n) {
  tp_dtype from = tp_dtypeof(n->in[0].src), to = n->attr.dtype;
  return tp_dtype_float(from) && tp_dtype_float(to) && tp_dtype_size(from) >= 4 &&
      tp_dtype_size(to) >= tp_dtype_size(from);
}

static bool term_of(factor_rows *t, tp_val v, int rank, factor_row *e) {
  const tp_node *n = v.node;
  bool in = false;
  tp_val row = row_of(t, v, rank, &in);
  *e = in ? (factor_row){ .row = row } : (factor_row){ .outside = row };
  if (row.node) return true;
  if (t->mk.err->code || tp_rankof(v) != rank || n->out[0].dtype == TP_BOOL) return false;
  *e = (factor_row){ 0 };
  switch (n->op) {
  case TP_OP_MUL: return product_term(t, n, rank, e);
  case TP_OP_DIV: return quotient_term(t, n, rank, e);
  case TP_OP_RESHAPE:
  case TP_OP_EXPAND: return shaped_term(t, n, e);
  case TP_OP_EXP: return exp_term(t, n, rank, e);
  case TP_OP_POW: return power_term(t, n, e);
  case TP_OP_CAST: return widens(n) && term_of(t, n->in[0].src, rank, e);
  default: return false;
  }
}

tp_val tp_factor_row(factor_rows *t, tp_val v) {
  bool in = false;
  tp_val row = tp_rankof(v) < 1 ? tp_none : row_of(t, v, tp_rankof(v), &in);
  return in ? row : tp_none;
}

bool tp_factor_rows(factor_rows *t, tp_val v, factor_row *e) {
  return v.node && tp_rankof(v) >= 1 && term_of(t, v, tp_rankof(v), e) && !t->mk.err->code;
}

tp_val tp_row_deviation(factor_rows *t, tp_val v, tp_val *from) {
  bool moves = false;
  if (v.node->op != TP_OP_SUB || tp_rankof(v) < 1) return tp_none;
  *from = row_of(t, v.node->in[1].src, tp_rankof(v), &moves);
  if (!from->node || moves || tp_rankof(v.node->in[0].src) != tp_rankof(v)) return tp_none;
  return tp_factor_row(t, v.node->in[0].src);
}

/* ---- where scans end ---- */

static bool is_last_row(const tp_node *n, const tp_node *scan) {
  tp_ix *at = n->attr.ix[0];
  return n->attr.axis == 0 && scan->op == TP_OP_SCAN && scan->attr.axis == 0 &&
      tp_is_number(n->attr.ix[1], 1) &&
      (scan->attr.backwards ? tp_is_number(at, 0)
                            : tp_is_number(tp_ix_sub(scan->out[0].shape[0], at), 1));
}

bool tp_scan_end_row(factor_rows *t, const tp_node *n, factor_row *e) {
  const tp_node *scan = tp_in(n, 0);
  double k = scan->attr.f[0];
  if (!is_last_row(n, scan) || !(k > 0 && k < HUGE_VAL) || !tp_factor_rows(t, scan->in[0].src, e))
    return false;
  if (k == 1) return true;
  e->behind = !scan->attr.backwards;
  return !tp_is_weighed(e) && tp_dtype_float(n->out[0].dtype) && (e->fade = k, true);
}
