/* factor_rows: what is reduced along a range, taken apart row by row.
 *
 *   sum(out * f(x[lo .. hi]), axis 0)          =>   out * sum(z[lo .. hi]),  z[p] = f(x[p])
 *   sum(exp(x[lo .. hi] - m), axis 0)          =>   sum(exp(x[lo .. hi])) counted from m
 *   sum(cumprod(x[lo .. hi]) * v[lo .. hi])    =>   x v, each times x of all rows before it; so
 * does exp of sums of rows up to each, as the product of their exp discounted_cumsum(x[lo .. hi],
 * k)[last]    =>   x, each times k as often as rows follow it
 *
 * There is no division: zeros are no exception.
 * An operator that works on each row by itself works on one row; what is the same for all rows is
 * told by its one row. */
#include "opt/prefix.h"
#include <math.h>

static bool varies_along(const factor_rows *t, const tp_node *n) {
  return tp_dom_has(n->ndom, n->dom, t->c) || tp_dom_has(n->ndom, n->dom, t->d);
}

/* A range of the rows that the axis stands for: the row at the point d. */
static tp_val row_read(factor_rows *t, const tp_node *n, bool *in) {
  const tp_node *x = n->in[0].src.node;
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
    at[k] = (tp_at){ .lo = tp_ix_sym(t->mk.g->ix, t->d) };
  }
  *in = true;
  return ranges ? tp_read(t->mk.g, n->in[0].src, at, t->mk.err) : tp_none;
}

/* v, in which all rows are one. */
static tp_val only_row(factor_rows *t, tp_val v, int rank) {
  int64_t n;
  if (tp_rankof(v) < rank) return v;
  return tp_ix_is_const(mk_extent(v, 0), &n) && n == 1 ? mk_squeeze(t->mk, v, 0) : tp_none;
}

static tp_val rows_apart(factor_rows *t, const tp_node *n, int rank, bool *in) {
  tp_val row[8];
  bool inner[8], any = false;
  if (n->nin > (int)TP_LEN(row) || n->nout != 1) return tp_none;
  for (int k = 0; k < n->nin; k++) {
    inner[k] = false;
    row[k] = tp_terms_row(t, n->in[k].src, rank, &inner[k]);
    if (!row[k].node) return tp_none;
    any |= inner[k];
  }
  for (int k = 0; k < n->nin && any; k++)
    if (!inner[k] && varies_along(t, row[k].node)) return tp_none;
  *in = any;
  return mk_op(t->mk, n->op, n->nin, row, &n->attr);
}

/* The operand's rows, whose first axis is n's own, in n's shape. */
static tp_val row_moved(factor_rows *t, const tp_node *n, int rank, bool *in) {
  tp_val x = n->in[0].src, row;
  const tp_out *o = &n->out[0];
  bool whole = n->op == TP_OP_EXPAND ? tp_rankof(x) <= rank
                                     : tp_rankof(x) > 0 && mk_extent(x, 0) == o->shape[0];
  if (o->rank != rank || !whole) return tp_none;
  row = tp_terms_row(t, x, n->op == TP_OP_EXPAND ? rank : tp_rankof(x), in);
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
  tp_val row = tp_terms_row(t, n->in[0].src, nx, in);
  return mk_reduce(t->mk, n->op, row, n->attr.naxes, axes, n->attr.keepdim);
}

/* What goes along another axis than the rows'. */
static tp_val row_within(factor_rows *t, const tp_node *n, int rank, bool *in) {
  tp_attr at = n->attr;
  if (n->out[0].rank != rank || n->nin != 1 || at.axis == 0) return tp_none;
  tp_val row = tp_terms_row(t, n->in[0].src, rank, in);
  at.axis--;
  return mk_op(t->mk, n->op, 1, &row, &at);
}

/* Rows times a matrix, or matrices of which each row has its own. */
static tp_val row_multiplied(factor_rows *t, const tp_node *n, int rank, bool *in) {
  tp_val b = n->in[1].src, row;
  if (rank > 2) return rows_apart(t, n, rank, in);
  if (n->out[0].rank != 2 || tp_rankof(n->in[0].src) != 2 || varies_along(t, b.node))
    return tp_none;
  row = tp_terms_row(t, n->in[0].src, 2, in);
  return row.node ? mk_squeeze(t->mk, mk_matmul(t->mk, mk_unsqueeze(t->mk, row, 0), b), 0) : row;
}

/* v counts the rows from the range's begin, or (sign -1) down to its end. */
static bool counts_rows(const factor_rows *t, tp_val v, int *sign) {
  const tp_node *n = v.node;
  *sign = 1;
  for (; n->op == TP_OP_CAST || (n->op == TP_OP_FLIP && n->attr.axis == 0); n = n->in[0].src.node) {
    tp_dtype d = n->out[0].dtype;
    if (d != TP_I64 && (!tp_dtype_float(d) || tp_dtype_size(d) < 4)) return false;
    if (n->op == TP_OP_FLIP) *sign = -*sign;
  }
  return n->op == TP_OP_IOTA && n->attr.axis == 0 && n->out[0].rank == 1 &&
      n->out[0].shape[0] == tp_ix_sub(t->mk.g->ix, t->range->hi, t->range->lo);
}

/* From an end that does not move. */
static tp_val counted_row(const factor_rows *t, tp_val v, bool *in) {
  tp_ictx *ix = t->mk.g->ix;
  const tp_ix *row = tp_ix_sym(ix, t->d), *end;
  int sign;
  if (!counts_rows(t, v, &sign) || !(end = sign > 0 ? t->begin : t->end)) return tp_none;
  *in = true;
  row = sign > 0 ? tp_ix_sub(ix, row, end) : tp_ix_addc(ix, tp_ix_sub(ix, end, row), -1);
  return mk_cast(t->mk, tp_ixvalue(t->mk.g, row, t->mk.err), tp_dtypeof(v));
}

tp_val tp_terms_row(factor_rows *t, tp_val v, int rank, bool *in) {
  const tp_node *n = v.node;
  tp_val only = tp_rankof(v) <= rank ? only_row(t, v, rank) : tp_none;
  if (only.node || t->mk.err->code || tp_rankof(v) > rank) return only;
  switch (n->op) {
  case TP_OP_READ: return row_read(t, n, in);
  case TP_OP_EXPAND:
  case TP_OP_RESHAPE:
  case TP_OP_PERMUTE: return row_moved(t, n, rank, in);
  case TP_OP_SLICE:
  case TP_OP_SCAN:
  case TP_OP_CUMPROD:
  case TP_OP_RECUR:
  case TP_OP_PAD: return row_within(t, n, rank, in);
  case TP_OP_FLIP:
    if (n->attr.axis != 0) return row_within(t, n, rank, in); /* fall through */
  case TP_OP_IOTA: return rank == 1 ? counted_row(t, v, in) : tp_none;
  case TP_OP_MATMUL: return row_multiplied(t, n, rank, in);
  default: break;
  }
  if (tp_op_is_elementwise(n->op)) return rows_apart(t, n, rank, in);
  return n->op == TP_OP_DETACH          ? rows_apart(t, n, rank, in)
      : tp_ops[n->op].cls == TP_CLS_RED ? row_reduced(t, n, rank, in)
                                        : tp_none;
}

/* ---- sums of products ---- */

/* In the wider dtype of the two; {NULL}: nothing there. */
static tp_val in_wider(const factor_rows *t, tp_op op, tp_val a, tp_val b) {
  if (!a.node || !b.node) return a.node ? a : b;
  tp_dtype d =
      tp_dtype_size(tp_dtypeof(a)) < tp_dtype_size(tp_dtypeof(b)) ? tp_dtypeof(b) : tp_dtypeof(a);
  return mk_bin(t->mk, op, mk_cast(t->mk, a, d), mk_cast(t->mk, b, d));
}

static bool row_term(factor_rows *t, tp_val v, int rank) {
  bool in = false;
  tp_val row = tp_terms_row(t, v, rank, &in);
  if (row.node && t->n < FACTOR_ROWS)
    t->v[t->n++] = in ? (factor_row){ .row = row } : (factor_row){ .outside = row };
  return row.node && t->n <= FACTOR_ROWS;
}

bool tp_is_weighed(const factor_row *e) { return e->exponent.node || e->factor.node; }

static bool product_terms(factor_rows *t, const tp_node *n, int rank) {
  factor_rows a = *t, b = *t;
  a.n = b.n = 0;
  if (!tp_terms_of(&a, n->in[0].src, rank) || !tp_terms_of(&b, n->in[1].src, rank) ||
      t->n + a.n * b.n > FACTOR_ROWS)
    return false;
  /* squares of differences cancel beyond what f64 has */
  if (a.n > 1 && b.n > 1) return false;
  for (int i = 0; i < a.n; i++)
    for (int k = 0; k < b.n; k++) {
      const factor_row *x = &a.v[i], *y = &b.v[k];
      factor_row e = tp_is_weighed(x) ? *x : *y;
      if (tp_is_weighed(x) && tp_is_weighed(y)) return false;
      e.row = in_wider(t, TP_OP_MUL, x->row, y->row);
      e.outside = in_wider(t, TP_OP_MUL, x->outside, y->outside);
      t->v[t->n++] = e;
    }
  return true;
}

static bool quotient_terms(factor_rows *t, const tp_node *n, int rank) {
  int first = t->n;
  bool in = false;
  tp_val by = tp_terms_row(t, n->in[1].src, rank, &in);
  if (!by.node || !tp_terms_of(t, n->in[0].src, rank)) return false;
  for (int i = first; i < t->n; i++) {
    tp_val *to = in ? &t->v[i].row : &t->v[i].outside;
    *to = to->node ? mk_div(t->mk, *to, by) : mk_cbin(t->mk, TP_OP_DIV, 1, by);
  }
  return true;
}

/* ---- exponents: differences of what each row has and what is the same for all ---- */

/* A number in f32 or f64, through what only spreads it; NaN: it is none. */
static double number_in(tp_val v) {
  double c;
  tp_dtype d = tp_dtypeof(v);
  return tp_dtype_float(d) && tp_dtype_size(d) >= 4 && tp_number_of(v, &c) ? c : NAN;
}

/* k v = exponent - below, which are added to x's. */
static bool add_exponents(factor_rows *t, tp_val v, int rank, double k, factor_row *x) {
  const tp_node *n = v.node;
  bool in = false;
  tp_val row = tp_terms_row(t, v, rank, &in);
  if (row.node) {
    tp_val *to = in ? &x->exponent : &x->below;
    if (!in) k = -k;
    *to = in_wider(t, TP_OP_ADD, *to,
        k == 1        ? row
            : k == -1 ? mk_neg(t->mk, row)
                      : mk_mulc(t->mk, mk_cast(t->mk, row, TP_F64), k));
    return to->node;
  }
  if (t->mk.err->code || n->out[0].rank != rank) return false;
  switch (n->op) {
  case TP_OP_ADD:
  case TP_OP_SUB:
    return add_exponents(t, n->in[0].src, rank, k, x) &&
        add_exponents(t, n->in[1].src, rank, n->op == TP_OP_SUB ? -k : k, x);
  case TP_OP_MUL: {
    double a = number_in(n->in[0].src), b = number_in(n->in[1].src);
    return isnan(a) != isnan(b) &&
        add_exponents(t, n->in[isnan(a) ? 0 : 1].src, rank, k * (isnan(a) ? b : a), x);
  }
  case TP_OP_CAST:
    return tp_dtype_float(n->attr.dtype) && tp_dtype_size(n->attr.dtype) >= 4 &&
        add_exponents(t, n->in[0].src, rank, k, x);
  case TP_OP_NEG: return add_exponents(t, n->in[0].src, rank, -k, x);
  default: return false;
  }
}

/* ---- what scans weigh rows by ---- */

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

/* Each row times all those that n, a scan, has gone through before it. */
static bool fading_term(factor_rows *t, const tp_node *n, tp_val by) {
  if (!by.node || t->n == FACTOR_ROWS) return false;
  t->v[t->n++] = (factor_row){ .row = by, .factor = by, .behind = n->attr.backwards };
  return true;
}

/* exp(k v), v sums of rows up to each */
static bool exp_of_sums(factor_rows *t, tp_val v, double k, int rank) {
  const tp_node *n = v.node;
  double a;
  if (tp_rankof(v) != rank) return false;
  if (n->op == TP_OP_NEG) return exp_of_sums(t, n->in[0].src, -k, rank);
  if (n->op == TP_OP_CAST)
    return tp_dtype_float(tp_dtypeof(n->in[0].src)) && exp_of_sums(t, n->in[0].src, k, rank);
  if (n->op == TP_OP_MUL && tp_number_of(n->in[1].src, &a))
    return exp_of_sums(t, n->in[0].src, k * a, rank);
  if (n->op != TP_OP_SCAN || n->attr.axis != 0 || n->attr.f[0] != 1) return false;
  tp_val x = mk_cast(t->mk, row_along(t, n->in[0].src, rank), TP_F64);
  return fading_term(t, n, mk_exp(t->mk, mk_mulc(t->mk, x, k)));
}

/* products of rows up to each */
static bool scanned_terms(factor_rows *t, const tp_node *n, int rank) {
  return n->out[0].rank == rank && n->attr.axis == 0 &&
      fading_term(t, n, row_along(t, n->in[0].src, rank));
}

/* A power of a number, by how many rows lie between one and an end of the range: what is carried is
 * multiplied by the number from row to row. */
static bool distance_term(factor_rows *t, const tp_node *n) {
  bool power = n->op == TP_OP_POW;
  double base = power ? number_in(n->in[0].src) : 0, k = 1, by;
  tp_val v = n->in[power].src;
  int sign;
  for (;; v = v.node->in[0].src) {
    if (v.node->op == TP_OP_NEG) k = -k;
    else if (v.node->op == TP_OP_MUL && (by = number_in(v.node->in[1].src), !isnan(by))) k *= by;
    else break;
  }
  if (power && tp_dtypeof(n->in[0].src) == TP_F32) base = (float)base;
  base = power ? pow(base, k) : exp(k);
  if (!(base > 0 && base < HUGE_VAL) || t->n == FACTOR_ROWS || !counts_rows(t, v, &sign))
    return false;
  t->v[t->n++] =
      (factor_row){ .factor = mk_fill(t->mk, base, TP_F64, 0, NULL, 1, &t->d), .behind = sign < 0 };
  return true;
}

/* exp(exponent - below), or a power of a number above 0, which is one. */
static bool exp_term(factor_rows *t, const tp_node *n, int rank) {
  bool power = n->op == TP_OP_POW;
  double base = power ? number_in(n->in[0].src) : 1;
  factor_row x = { 0 };
  if (distance_term(t, n) || (!power && exp_of_sums(t, n->in[0].src, 1, rank))) return true;
  if (!(base > 0 && base < HUGE_VAL) || t->n == FACTOR_ROWS ||
      !add_exponents(t, n->in[power].src, rank, power ? log(base) : 1, &x) || !x.exponent.node ||
      !x.below.node)
    return false;
  t->v[t->n++] = x;
  return true;
}

/* v, which has one row's elements of what n, a reshape or an expansion, is of, in n's shape. */
static tp_val row_shaped(const factor_rows *t, const tp_node *n, tp_val v) {
  const tp_out *x = tp_outof(n->in[0].src), *o = &n->out[0];
  if (n->op == TP_OP_EXPAND) return mk_expand(t->mk, v, o->rank - 1, o->shape + 1);
  return mk_reshape(
      t->mk, mk_expand(t->mk, v, x->rank - 1, x->shape + 1), o->rank - 1, o->shape + 1);
}

static bool shaped_terms(factor_rows *t, const tp_node *n) {
  tp_val x = n->in[0].src;
  int first = t->n;
  if (tp_rankof(x) < 1 || mk_extent(x, 0) != n->out[0].shape[0] ||
      (n->op == TP_OP_EXPAND && tp_rankof(x) != n->out[0].rank) || !tp_terms_of(t, x, tp_rankof(x)))
    return false;
  for (int i = first; i < t->n; i++) {
    factor_row *e = &t->v[i];
    tp_val *part[] = { &e->row, &e->outside, &e->exponent, &e->below, &e->factor };
    for (size_t k = 0; k < TP_LEN(part); k++) *part[k] = row_shaped(t, n, *part[k]);
  }
  return true;
}

static void negate_terms(factor_rows *t, int first) {
  for (int i = first; i < t->n; i++) {
    factor_row *e = &t->v[i];
    tp_val *to = e->row.node ? &e->row : &e->outside;
    if (!to->node) *to = mk_num(t->mk, 1, tp_dtypeof(e->exponent.node ? e->exponent : e->factor));
    *to = mk_neg(t->mk, *to);
  }
}

/* What is computed of it is computed in the wider one from the start. */
static bool widens(const tp_node *n) {
  tp_dtype from = tp_dtypeof(n->in[0].src), to = n->attr.dtype;
  return tp_dtype_float(from) && tp_dtype_float(to) && tp_dtype_size(from) >= 4 &&
      tp_dtype_size(to) >= tp_dtype_size(from);
}

static bool sum_terms(factor_rows *t, const tp_node *n, int rank) {
  tp_val a = n->in[0].src, b = n->in[1].src;
  bool cancels = n->op == TP_OP_SUB || a.node->op == TP_OP_NEG || b.node->op == TP_OP_NEG;
  if ((cancels && !t->differences) || !tp_terms_of(t, a, rank)) return false;
  int first = t->n;
  if (!tp_terms_of(t, b, rank)) return false;
  if (n->op == TP_OP_SUB) negate_terms(t, first);
  return true;
}

bool tp_terms_of(factor_rows *t, tp_val v, int rank) {
  const tp_node *n = v.node;
  int first = t->n;
  if (row_term(t, v, rank)) return true;
  t->n = first;
  if (t->mk.err->code || tp_rankof(v) != rank || n->out[0].dtype == TP_BOOL) return false;
  switch (n->op) {
  case TP_OP_MUL: return product_terms(t, n, rank);
  case TP_OP_DIV: return quotient_terms(t, n, rank);
  case TP_OP_RESHAPE:
  case TP_OP_EXPAND: return shaped_terms(t, n);
  case TP_OP_CUMPROD: return scanned_terms(t, n, rank);
  case TP_OP_EXP:
  case TP_OP_POW: return exp_term(t, n, rank);
  case TP_OP_CAST: return widens(n) && tp_terms_of(t, n->in[0].src, rank);
  case TP_OP_ADD:
  case TP_OP_SUB: return sum_terms(t, n, rank);
  case TP_OP_NEG:
    if (!tp_terms_of(t, n->in[0].src, rank)) return false;
    negate_terms(t, first);
    return true;
  default: return false;
  }
}

bool tp_factor_rows(factor_rows *t, tp_val v) {
  t->n = 0;
  if (tp_rankof(v) < 1) return false;
  if (t->sums) return tp_terms_of(t, v, tp_rankof(v)) && !t->mk.err->code;
  return row_term(t, v, tp_rankof(v)) && t->v[0].row.node && !t->mk.err->code;
}

bool tp_row_deviation(factor_rows *t, tp_val v, row_deviation *d) {
  bool in = false, moves = false, sub = v.node->op == TP_OP_SUB;
  const tp_node *n = v.node;
  *d = (row_deviation){ tp_none, tp_none };
  if (tp_rankof(v) < 1) return false;
  if ((n->op == TP_OP_RESHAPE ||
          (n->op == TP_OP_EXPAND && tp_rankof(n->in[0].src) == n->out[0].rank)) &&
      tp_rankof(n->in[0].src) > 0 && mk_extent(n->in[0].src, 0) == n->out[0].shape[0]) {
    if (!tp_row_deviation(t, n->in[0].src, d)) return false;
    *d = (row_deviation){ row_shaped(t, n, d->x), row_shaped(t, n, d->from) };
    return d->x.node;
  }
  d->x = tp_terms_row(t, sub ? v.node->in[0].src : v, tp_rankof(v), &in);
  if (sub) d->from = tp_terms_row(t, v.node->in[1].src, tp_rankof(v), &moves);
  if (sub && d->from.node && moves) d->x = tp_terms_row(t, v, tp_rankof(v), &in), d->from = tp_none;
  else if (sub && !d->from.node) return false;
  return d->x.node && in;
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
  if (!is_last_row(t, n, scan) || !(k > 0 && k < HUGE_VAL) ||
      !tp_terms_of(t, scan->in[0].src, scan->out[0].rank))
    return false;
  for (int i = 0; i < t->n && k != 1; i++) {
    if (tp_is_weighed(&t->v[i]) || !tp_dtype_float(n->out[0].dtype)) return false;
    t->v[i].factor = mk_fill(t->mk, k, TP_F64, 0, NULL, 1, &t->d);
    t->v[i].behind = !scan->attr.backwards;
  }
  return !t->mk.err->code;
}
