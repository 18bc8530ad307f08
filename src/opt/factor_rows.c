/* factor_rows: what is reduced along a range, taken apart row by row.
 *
 *   sum(out * f(x[lo .. hi]), axis 0)   =>   out * sum(z[lo .. hi]),  z[p] = f(x[p])
 *
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

/* An accumulation that is its operand, as the derivative of a view often is. */
static bool is_same(const tp_node *n) {
  const tp_edge *e = &n->in[0];
  if (n->op != TP_OP_ACCUM || n->nin != 1 || !e->gather || e->cond ||
      !tp_same_type(&n->out[0], tp_outof(e->src)) || n->ndom != e->src.node->ndom)
    return false;
  for (int k = 0; k < n->ndom; k++)
    if (e->at[k].range || tp_ix_as_sym(e->at[k].lo) != n->dom[k]) return false;
  return true;
}

/* v counts the rows from the range's begin, or down to its end: sign * row + off. */
static bool counts_rows(const factor_rows *t, tp_val v, int *sign, const tp_ix **off) {
  tp_ictx *ix = t->mk.g->ix;
  const tp_node *n = v.node;
  *sign = 1;
  for (; n->op == TP_OP_CAST || (n->op == TP_OP_FLIP && n->attr.axis == 0); n = n->in[0].src.node) {
    tp_dtype d = n->out[0].dtype;
    if (d != TP_I64 && (!tp_dtype_float(d) || tp_dtype_size(d) < 4)) return false;
    if (n->op == TP_OP_FLIP) *sign = -*sign;
  }
  if (n->op != TP_OP_IOTA || n->attr.axis != 0 || n->out[0].rank != 1 ||
      n->out[0].shape[0] != tp_ix_sub(ix, t->range->hi, t->range->lo))
    return false;
  *off = *sign > 0 ? tp_ix_neg(ix, t->range->lo) : tp_ix_addc(ix, t->range->hi, -1);
  return true;
}

static tp_val counted(const factor_rows *t, const tp_ix *e, tp_dtype d) {
  return mk_cast(t->mk, tp_ixvalue(t->mk.g, e, t->mk.err), d);
}

static const tp_ix *signed_row(const factor_rows *t, int sign) {
  return tp_ix_mulc(t->mk.g->ix, tp_ix_sym(t->mk.g->ix, t->d), sign);
}

/* From an end that does not move. */
static tp_val counted_row(const factor_rows *t, tp_val v, bool *in) {
  int sign;
  const tp_ix *off;
  if (!counts_rows(t, v, &sign, &off) || tp_ix_mentions(off, t->c) || tp_ix_mentions(off, t->d))
    return tp_none;
  *in = true;
  return counted(t, tp_ix_add(t->mk.g->ix, signed_row(t, sign), off), tp_dtypeof(v));
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
  case TP_OP_SLICE: return n->attr.axis == 0 ? tp_none : row_within(t, n, rank, in);
  case TP_OP_SCAN:
  case TP_OP_CUMPROD:
  case TP_OP_RECUR:
    return n->attr.axis == 0 ? tp_scanned_row(t, n, rank, in) : row_within(t, n, rank, in);
  case TP_OP_FLIP:
    if (n->attr.axis != 0) return row_within(t, n, rank, in); /* fall through */
  case TP_OP_IOTA: return rank == 1 ? counted_row(t, v, in) : tp_none;
  case TP_OP_PAD: return row_within(t, n, rank, in);
  case TP_OP_MATMUL: return row_multiplied(t, n, rank, in);
  case TP_OP_ACCUM: return is_same(n) ? tp_terms_row(t, n->in[0].src, rank, in) : tp_none;
  default: break;
  }
  if (tp_op_is_elementwise(n->op)) return rows_apart(t, n, rank, in);
  return n->op == TP_OP_DETACH          ? rows_apart(t, n, rank, in)
      : tp_ops[n->op].cls == TP_CLS_RED ? row_reduced(t, n, rank, in)
                                        : tp_none;
}

/* ---- sums of products ---- */

/* In the wider of the two. */
static tp_val times(factor_rows *t, tp_val a, tp_val b) {
  if (!a.node || !b.node) return a.node ? a : b;
  tp_dtype d =
      tp_dtype_size(tp_dtypeof(a)) < tp_dtype_size(tp_dtypeof(b)) ? tp_dtypeof(b) : tp_dtypeof(a);
  return mk_mul(t->mk, mk_cast(t->mk, a, d), mk_cast(t->mk, b, d));
}

static bool row_term(factor_rows *t, tp_val v, int rank) {
  bool in = false;
  tp_val row = tp_terms_row(t, v, rank, &in);
  if (row.node && t->n < FACTOR_ROWS)
    t->v[t->n++] = in ? (factor_row){ .row = row } : (factor_row){ .outside = row };
  return row.node && t->n <= FACTOR_ROWS;
}

void tp_term_parts(factor_row *e, tp_val *part[FACTOR_ROW_PARTS]) {
  memcpy(part, (tp_val *[]){ &e->row, &e->outside, &e->exponent, &e->below, &e->factor },
      sizeof(tp_val *) * FACTOR_ROW_PARTS);
}

bool tp_is_weighed(const factor_row *e) { return e->exponent.node || e->factor.node; }

/* Has the product more elements than both, as an outer product has? A small one may be carried,
 * where rows only come. */
static bool has_grown(const factor_rows *t, tp_val both, tp_val a, tp_val b) {
  bool grown = a.node && b.node && !tp_one_shape(tp_outof(both), tp_outof(a)) &&
      !tp_one_shape(tp_outof(both), tp_outof(b));
  return grown && !((t->begin || t->end) && tp_is_small(tp_outof(both)));
}

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
      if ((tp_is_weighed(x) && tp_is_weighed(y)) || (x->later && y->later)) return false;
      e.row = times(t, x->row, y->row), e.outside = times(t, x->outside, y->outside),
      e.later = x->later || y->later;
      if (e.later &&
          (has_grown(t, e.row, x->row, y->row) || has_grown(t, e.outside, x->outside, y->outside)))
        return false;
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

/* v = up - off; NULL: 0. */
typedef struct {
  tp_val exponent, below;
} apart_rows;

static bool rows_differ(factor_rows *t, tp_val v, int rank, apart_rows *x);

static tp_val in_f64(const factor_rows *t, tp_val v) { return mk_cast(t->mk, v, TP_F64); }

static tp_val either_or_both(const factor_rows *t, tp_op op, tp_val a, tp_val b) {
  if (!b.node) return a;
  return a.node ? mk_bin(t->mk, op, a, b) : op == TP_OP_SUB ? mk_neg(t->mk, b) : b;
}

/* Counted from an end of the range: that moves, and so does the count. */
static bool count_apart(factor_rows *t, tp_val v, apart_rows *x) {
  int sign;
  const tp_ix *off;
  if (!counts_rows(t, v, &sign, &off)) return false;
  *x = (apart_rows){ counted(t, signed_row(t, sign), TP_F64),
    counted(t, tp_ix_neg(t->mk.g->ix, off), TP_F64) };
  return x->exponent.node && x->below.node;
}

static bool both_rows(factor_rows *t, const tp_node *n, apart_rows *x) {
  apart_rows a = { tp_none, tp_none }, b = a;
  if (!rows_differ(t, n->in[0].src, n->out[0].rank, &a) ||
      !rows_differ(t, n->in[1].src, n->out[0].rank, &b))
    return false;
  *x = (apart_rows){ either_or_both(t, n->op, a.exponent, b.exponent),
    either_or_both(t, n->op, a.below, b.below) };
  return true;
}

/* A number in f32 or f64, through what only spreads it; NaN: it is none. */
static double number_in(tp_val v) {
  double c;
  tp_dtype d = tp_dtypeof(v);
  return tp_dtype_float(d) && tp_dtype_size(d) >= 4 && tp_number_of(v, &c) ? c : NAN;
}

static void scale_rows(const factor_rows *t, apart_rows *x, double k) {
  if (x->exponent.node) x->exponent = mk_mulc(t->mk, in_f64(t, x->exponent), k);
  if (x->below.node) x->below = mk_mulc(t->mk, in_f64(t, x->below), k);
}

static bool times_number(factor_rows *t, const tp_node *n, apart_rows *x) {
  double a = number_in(n->in[0].src), b = number_in(n->in[1].src);
  if (isnan(a) == isnan(b) || !rows_differ(t, n->in[isnan(a) ? 0 : 1].src, n->out[0].rank, x))
    return false;
  scale_rows(t, x, isnan(a) ? b : a);
  return true;
}

static bool rows_differ(factor_rows *t, tp_val v, int rank, apart_rows *x) {
  const tp_node *n = v.node;
  bool in = false;
  tp_val row = tp_terms_row(t, v, rank, &in);
  if (row.node) {
    *x = in ? (apart_rows){ row, tp_none } : (apart_rows){ tp_none, mk_neg(t->mk, row) };
    return true;
  }
  if (t->mk.err->code || n->out[0].rank != rank) return false;
  switch (n->op) {
  case TP_OP_IOTA:
  case TP_OP_FLIP: return count_apart(t, v, x);
  case TP_OP_ADD:
  case TP_OP_SUB: return both_rows(t, n, x);
  case TP_OP_MUL: return times_number(t, n, x);
  case TP_OP_CAST:
    return tp_dtype_float(n->attr.dtype) && tp_dtype_size(n->attr.dtype) >= 4 &&
        rows_differ(t, n->in[0].src, rank, x);
  case TP_OP_NEG:
    if (!rows_differ(t, n->in[0].src, rank, x)) return false;
    *x = (apart_rows){ x->exponent.node ? mk_neg(t->mk, x->exponent) : x->exponent,
      x->below.node ? mk_neg(t->mk, x->below) : x->below };
    return true;
  default: return false;
  }
}

/* A power of a number, by how many rows lie between one and an end of the range: what is carried is
 * multiplied by the number from row to row. */
static bool distance_term(factor_rows *t, const tp_node *n) {
  bool power = n->op == TP_OP_POW;
  double base = power ? number_in(n->in[0].src) : 0, k = 1, by;
  tp_val v = n->in[power].src;
  int sign;
  const tp_ix *off;
  for (;; v = v.node->in[0].src) {
    if (v.node->op == TP_OP_NEG) k = -k;
    else if (v.node->op == TP_OP_MUL && (by = number_in(v.node->in[1].src), !isnan(by))) k *= by;
    else break;
  }
  if (power && tp_dtypeof(n->in[0].src) == TP_F32) base = (float)base;
  base = power ? pow(base, k) : exp(k);
  if (!(base > 0 && base < HUGE_VAL) || t->n == FACTOR_ROWS || !counts_rows(t, v, &sign, &off))
    return false;
  t->v[t->n++] =
      (factor_row){ .factor = mk_fill(t->mk, base, TP_F64, 0, NULL, 1, &t->d), .behind = sign < 0 };
  return true;
}

/* exp(up - off), or a power of a number above 0, which is one. */
static bool exp_term(factor_rows *t, const tp_node *n, int rank) {
  double base = n->op == TP_OP_POW ? number_in(n->in[0].src) : 0;
  apart_rows x = { tp_none, tp_none };
  if (distance_term(t, n) || (n->op == TP_OP_EXP && tp_exp_of_sums(t, n->in[0].src, 1, rank)))
    return true;
  if ((n->op == TP_OP_POW && !(base > 0 && base < HUGE_VAL)) || t->n == FACTOR_ROWS ||
      !rows_differ(t, n->in[n->op == TP_OP_POW].src, rank, &x) || !x.exponent.node || !x.below.node)
    return false;
  if (base > 0) scale_rows(t, &x, log(base));
  t->v[t->n++] = (factor_row){ .exponent = x.exponent, .below = x.below };
  return true;
}

/* The axes of a row, behind the one that is summed later. */
static const tp_ix *const *row_shape(
    factor_rows *t, const tp_ix *later, const tp_out *o, int *rank) {
  const tp_ix **shape = TP_NEWN(&t->mk.g->arena, const tp_ix *, o->rank + 1);
  *rank = o->rank - 1 + (later != NULL);
  if (later) shape[0] = later;
  for (int a = 1; a < o->rank; a++) shape[a - !later] = o->shape[a];
  return shape;
}

/* One row of what n, a reshape or an expansion, makes of rows like v. later: v may have an axis
 * before these. */
static tp_val row_shaped(factor_rows *t, const tp_node *n, tp_val v, bool later) {
  const tp_out *x = tp_outof(n->in[0].src), *o = &n->out[0];
  if (!v.node) return v;
  int rank, to;
  const tp_ix *before = later && tp_rankof(v) == x->rank ? mk_extent(v, 0) : NULL,
              *const *shape = row_shape(t, before, x, &rank),
              *const *made = row_shape(t, before, o, &to);
  if (n->op == TP_OP_EXPAND) return mk_expand(t->mk, v, to, made);
  return mk_reshape(t->mk, mk_expand(t->mk, v, rank, shape), to, made);
}

static bool shaped_terms(factor_rows *t, const tp_node *n) {
  tp_val x = n->in[0].src;
  int first = t->n;
  if (tp_rankof(x) < 1 || mk_extent(x, 0) != n->out[0].shape[0] ||
      (n->op == TP_OP_EXPAND && tp_rankof(x) != n->out[0].rank) || !tp_terms_of(t, x, tp_rankof(x)))
    return false;
  for (int i = first; i < t->n; i++) {
    factor_row *e = &t->v[i];
    tp_val *part[FACTOR_ROW_PARTS];
    tp_term_parts(e, part);
    for (int k = 0; k < FACTOR_ROW_PARTS; k++) *part[k] = row_shaped(t, n, *part[k], e->later);
  }
  return true;
}

/* ---- sums along the row, which are left for later where they are of what rows and all of them
 * share ---- */

/* v, a row of x, with the axis in front; keep: and 1 where it was. */
static tp_val axis_first(factor_rows *t, const tp_out *x, tp_val v, int axis, bool keep) {
  int order[TP_MAXRANK], rank = x->rank - 1;
  if (!v.node || tp_rankof(v) == 0) return v;
  order[0] = axis;
  for (int a = 0, next = 1; a < rank; a++)
    if (a != axis) order[next++] = a;
  v = mk_permute(t->mk, mk_expand(t->mk, v, rank, x->shape + 1), order);
  return keep ? mk_unsqueeze(t->mk, v, axis + 1) : v;
}

static bool summed_terms(factor_rows *t, tp_val x, int axis, bool keep) {
  int first = t->n;
  if (axis < 1 || !tp_terms_of(t, x, tp_rankof(x))) return false;
  for (int i = first; i < t->n; i++) {
    factor_row *e = &t->v[i];
    tp_val *part[FACTOR_ROW_PARTS], *full = e->row.node ? &e->row : &e->outside;
    if (e->later || !full->node) return false;
    *full = mk_expand(t->mk, *full, tp_rankof(x) - 1, tp_outof(x)->shape + 1);
    tp_term_parts(e, part);
    for (int k = 0; k < FACTOR_ROW_PARTS; k++)
      *part[k] = axis_first(t, tp_outof(x), *part[k], axis - 1, keep);
    e->later = true;
  }
  return !t->mk.err->code;
}

/* Rows times one vector: a column, or the row that a vector makes with rows turned. */
static bool dotted_terms(factor_rows *t, const tp_node *n) {
  const tp_node *p = n->in[0].src.node;
  if (n->out[0].rank != 1 || p->op != TP_OP_MATMUL || p->out[0].rank != 2) return false;
  bool row = tp_is_number(p->out[0].shape[0], 1);
  tp_val a = p->in[row].src, b = p->in[!row].src;
  if (row) a = a.node->op == TP_OP_PERMUTE ? a.node->in[0].src : tp_none;
  else b = mk_permute(t->mk, b, (int[]){ 1, 0 });
  return a.node && mk_extent(a, 0) == n->out[0].shape[0] && tp_is_number(mk_extent(b, 0), 1) &&
      summed_terms(t, mk_mul(t->mk, a, b), 1, false);
}

/* Rows times one matrix, which is another at each point: left until the rows are summed, but for
 * what all rows share. */
static bool rows_times(factor_rows *t, const tp_node *n, int rank) {
  tp_val x = n->in[0].src, w = n->in[1].src;
  const tp_ix *const *row = tp_outof(x)->shape + 1;
  int first = t->n;
  if (rank != 2 || tp_rankof(x) != 2 || tp_rankof(w) != 2 ||
      mk_extent(x, 0) != n->out[0].shape[0] ||
      (t->c != t->d && tp_dom_has(w.node->ndom, w.node->dom, t->d)) || !tp_terms_of(t, x, 2))
    return false;
  for (int i = first; i < t->n; i++) {
    factor_row *e = &t->v[i];
    if (e->later || tp_is_weighed(e)) return false;
    tp_val out = e->outside.node ? mk_expand(t->mk, e->outside, 1, row) : e->outside;
    if (!e->row.node) {
      e->outside = mk_squeeze(t->mk, mk_matmul(t->mk, mk_unsqueeze(t->mk, out, 0), w), 0);
      continue;
    }
    e->row = mk_unsqueeze(t->mk, mk_expand(t->mk, e->row, 1, row), 1);
    e->outside = out.node ? mk_mul(t->mk, mk_unsqueeze(t->mk, out, 1), w) : w;
    e->later = true;
  }
  return !t->mk.err->code;
}

/* A column times a row is each element with each. */
static bool outer_terms(factor_rows *t, tp_val a, tp_val b) {
  return tp_rankof(a) == 2 && tp_rankof(b) == 2 && tp_is_number(mk_extent(a, 1), 1) &&
      tp_terms_of(t, mk_mul(t->mk, a, b), 2);
}

/* The matrix v seen turned; a vector's row is its column. */
static tp_val turned(factor_rows *t, tp_val v) {
  const tp_node *n = v.node;
  if (n->op == TP_OP_PERMUTE && n->attr.axes[0] == 1) return n->in[0].src;
  bool row =
      n->op == TP_OP_RESHAPE && tp_rankof(n->in[0].src) == 1 && tp_is_number(mk_extent(v, 0), 1);
  return row ? mk_unsqueeze(t->mk, n->in[0].src, 1) : mk_permute(t->mk, v, (int[]){ 1, 0 });
}

static bool turned_terms(factor_rows *t, const tp_node *n) {
  tp_val x = n->in[0].src;
  if (n->out[0].rank != 2 || n->attr.axes[0] != 1) return false;
  bool two = x.node->op == TP_OP_MATMUL || x.node->op == TP_OP_MUL;
  tp_val a = two ? x.node->in[0].src : x, b = two ? x.node->in[1].src : x;
  if (tp_rankof(a) != 2 || tp_rankof(b) != 2) return false;
  a = turned(t, a), b = turned(t, b);
  if (x.node->op == TP_OP_MATMUL) return outer_terms(t, b, a);
  return two ? tp_terms_of(t, mk_mul(t->mk, a, b), 2)
             : a.node->op != TP_OP_PERMUTE && tp_terms_of(t, a, 2);
}

/* From the first on, each times k. */
static void scale_terms(factor_rows *t, int first, double k) {
  for (int i = first; i < t->n; i++) {
    tp_val *to = t->v[i].row.node ? &t->v[i].row : &t->v[i].outside;
    if (!to->node)
      *to = mk_num(t->mk, 1, tp_dtypeof(t->v[i].exponent.node ? t->v[i].exponent : t->v[i].factor));
    *to = k < 0 ? mk_neg(t->mk, *to) : mk_mulc(t->mk, *to, k);
  }
}

/* The count of a row less that at the end from which it counts, which moves: in f64, in which sums
 * of the two differ by no more than 2^-53 of so many times the sum of what they weigh. */
static bool counted_terms(factor_rows *t, tp_val v) {
  int sign;
  const tp_ix *off;
  tp_dtype d = tp_dtype_float(tp_dtypeof(v)) ? TP_F64 : TP_I64;
  if (t->n + 2 > FACTOR_ROWS || !counts_rows(t, v, &sign, &off)) return false;
  t->v[t->n++] = (factor_row){ .row = counted(t, signed_row(t, sign), d) };
  t->v[t->n++] = (factor_row){ .outside = counted(t, off, d) };
  return !t->mk.err->code;
}

/* What is computed of it is computed in the wider one from the start. */
static bool widens(const tp_node *n) {
  tp_dtype from = tp_dtypeof(n->in[0].src), to = n->attr.dtype;
  return tp_dtype_float(from) && tp_dtype_float(to) && tp_dtype_size(from) >= 4 &&
      tp_dtype_size(to) >= tp_dtype_size(from);
}

static bool sum_terms(factor_rows *t, const tp_node *n, int rank) {
  tp_val a = n->in[0].src, b = n->in[1].src;
  bool twice = n->op == TP_OP_ADD && a.node == b.node && a.out == b.out;
  int before = t->n, first;
  if (!tp_terms_of(t, a, rank)) return false;
  if (twice) {
    scale_terms(t, before, 2);
    return true;
  }
  first = t->n;
  if (!tp_terms_of(t, b, rank)) return false;
  bool cancels = n->op == TP_OP_SUB || a.node->op == TP_OP_NEG || b.node->op == TP_OP_NEG;
  if (cancels && !t->differences) return false;
  if (n->op == TP_OP_SUB) scale_terms(t, first, -1);
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
  case TP_OP_RESHAPE: return shaped_terms(t, n) || (t->n == first && dotted_terms(t, n));
  case TP_OP_EXPAND: return shaped_terms(t, n);
  case TP_OP_MATMUL:
    return outer_terms(t, n->in[0].src, n->in[1].src) || (t->n == first && rows_times(t, n, rank));
  case TP_OP_PERMUTE: return turned_terms(t, n);
  case TP_OP_SUM:
    return n->attr.naxes == 1 && summed_terms(t, n->in[0].src, n->attr.axes[0], n->attr.keepdim);
  case TP_OP_CUMPROD: return tp_scanned_terms(t, n, rank);
  case TP_OP_EXP:
  case TP_OP_POW: return exp_term(t, n, rank);
  case TP_OP_CAST: return widens(n) ? tp_terms_of(t, n->in[0].src, rank) : counted_terms(t, v);
  case TP_OP_IOTA:
  case TP_OP_FLIP: return counted_terms(t, v);
  case TP_OP_ADD:
  case TP_OP_SUB: return sum_terms(t, n, rank);
  case TP_OP_NEG:
    if (!tp_terms_of(t, n->in[0].src, rank)) return false;
    scale_terms(t, first, -1);
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
    *d = (row_deviation){ row_shaped(t, n, d->x, false), row_shaped(t, n, d->from, false) };
    return d->x.node;
  }
  d->x = tp_terms_row(t, sub ? v.node->in[0].src : v, tp_rankof(v), &in);
  if (sub) d->from = tp_terms_row(t, v.node->in[1].src, tp_rankof(v), &moves);
  if (sub && d->from.node && moves) d->x = tp_terms_row(t, v, tp_rankof(v), &in), d->from = tp_none;
  else if (sub && !d->from.node) return false;
  return d->x.node && in;
}
