/* rules_fn: the functions that rows of rules.def name. Guards say whether a match counts; makers
 * make what a pattern cannot say, or nothing. */
#include "opt/rules.h"
#include <math.h>

static const tp_node *inner_of(tp_val v) { return v.node; }

/* ---- guards ---- */

static bool rule_one(const tp_match *m, const tp_val *v) { return tp_readers(m, v[0]) == 1; }
static bool rule_bool(const tp_match *m, const tp_val *v) { return tp_dtypeof(v[0]) == TP_BOOL; }
static bool rule_signed(const tp_match *m, const tp_val *v) { return tp_dtypeof(v[0]) != TP_U8; }
static bool rule_sure(const tp_match *m, const tp_val *v) { return !tp_may_fail(m->root); }
static bool rule_same_axis(const tp_match *m, const tp_val *v) {
  return m->root->attr.axis == inner_of(v[0])->attr.axis;
}

static bool rule_holds(const tp_match *m, const tp_val *v) {
  tp_dtype wide = tp_dtypeof(v[0]), d = tp_dtypeof(v[1]);
  if (d == wide || d == TP_BOOL) return true;
  switch (d) {
  case TP_U8: return wide != TP_BOOL;
  case TP_I32: return wide == TP_I64 || wide == TP_F64;
  case TP_F16:
  case TP_BF16: return wide == TP_F32 || wide == TP_F64;
  case TP_F32: return wide == TP_F64;
  default: return false;
  }
}

static bool rule_in_order(const tp_match *m, const tp_val *v) {
  bool all = true;
  for (int i = 0; i < m->root->attr.naxes; i++) all &= m->root->attr.axes[i] == i;
  return all;
}

static bool rule_turns(const tp_match *m, const tp_val *v) {
  const tp_attr *p = &m->root->attr;
  int rank = p->naxes;
  bool does = rank > 1 && p->axes[rank - 2] == rank - 1 && p->axes[rank - 1] == rank - 2;
  for (int i = 0; i < rank - 2 && does; i++) does = p->axes[i] == i;
  return does;
}

static bool rule_whole(const tp_match *m, const tp_val *v) {
  const tp_attr *s = &m->root->attr;
  return tp_is_number(s->ix[0], 0) && s->step == 1 && s->ix[1] == mk_extent(v[0], s->axis);
}

static bool rule_all_rows(const tp_match *m, const tp_val *v) {
  return tp_rankof(v[1]) == 1 && mk_extent(v[1], 0) == mk_extent(v[0], m->root->attr.axis);
}

static const tp_ix *count_elements(tp_mk mk, tp_val v) {
  return mk_numel(mk, v, tp_rankof(v), NULL);
}

static bool rule_smaller(const tp_match *m, const tp_val *v) {
  return count_elements(m->mk, v[0]) != count_elements(m->mk, v[1]);
}

static bool rule_summed(const tp_match *m, const tp_val *v) { return !tp_half(tp_dtypeof(v[0])); }

static bool rule_full(const tp_match *m, const tp_val *v) {
  return tp_same_type(tp_outof(v[0]), tp_outof(v[1]));
}

static bool rule_finite(const tp_match *m, const tp_val *v) {
  double c;
  return tp_number_of(v[0], &c) && isfinite(c);
}

/* ---- what products cost ---- */

/* A product as far as its cost goes: its shape but for rows and columns, its rows, columns and
 * dims. */
typedef struct costed {
  int lead;
  const tp_ix *shape[TP_MAXRANK], *rows, *columns;
  int ndom;
  const tp_sym *const *dom;
} costed;

static costed costed_of(tp_val v) {
  const tp_out *o = tp_outof(v);
  costed p = { .lead = o->rank - 2,
    .rows = o->shape[o->rank - 2],
    .columns = o->shape[o->rank - 1],
    .ndom = v.node->ndom,
    .dom = v.node->dom };
  memcpy(p.shape, o->shape, sizeof *p.shape * (size_t)p.lead);
  return p;
}

/* Their product; how many multiplications it takes is added to *cost. */
static costed product_with(tp_graph *g, const costed *a, const costed *b, const tp_ix **cost) {
  tp_ictx *c = g->ix;
  costed p = *a;
  const tp_ix *n = tp_ix_mul(c, tp_ix_mul(c, a->rows, a->columns), b->columns);
  p.columns = b->columns;
  p.ndom = tp_dom_union(g, a->ndom, a->dom, b->ndom, b->dom, &p.dom);
  for (int i = 0; i < p.lead; i++) {
    if (tp_is_number(p.shape[i], 1)) p.shape[i] = b->shape[i];
    n = tp_ix_mul(c, n, p.shape[i]);
  }
  for (int d = 0; d < p.ndom; d++) n = tp_ix_mul(c, n, tp_ix_sym(c, p.dom[d]->bound));
  *cost = tp_ix_add(c, *cost, n);
  return p;
}

/* Of (x y) z less that of x (y z). */
static const tp_ix *left_less_right(tp_graph *g, const tp_val *v) {
  const tp_ix *zero = tp_ix_const(g->ix, 0), *left = zero, *right = zero;
  costed x = costed_of(v[0]), y = costed_of(v[1]), z = costed_of(v[2]);
  costed xy = product_with(g, &x, &y, &left), yz = product_with(g, &y, &z, &right);
  product_with(g, &xy, &z, &left);
  product_with(g, &x, &yz, &right);
  return tp_ix_sub(g->ix, left, right);
}

/* For some bounds, and below 0 for none. */
static bool is_positive(tp_graph *g, const tp_ix *e) {
  return !tp_is_number(e, 0) && tp_ix_prove_ge0(g->ix, e, 0, NULL);
}

static bool at_least(const tp_match *m, const tp_ix *a, const tp_ix *b) {
  return a == b ||
      tp_ix_prove_ge0(m->mk.g->ix, tp_ix_sub(m->mk.g->ix, a, b), m->root->ndom, m->root->dom);
}

/* A product along an axis without elements is 0, whatever NaN there is elsewhere: of the matrix
 * between there must be some. */
static bool is_between(const tp_match *m, tp_val y) {
  const tp_ix *one = mk_int(m->mk, 1);
  int rank = tp_rankof(y);
  return at_least(m, mk_extent(y, rank - 2), one) && at_least(m, mk_extent(y, rank - 1), one);
}

static bool rule_cheaper_left(const tp_match *m, const tp_val *v) {
  return is_between(m, v[1]) &&
      is_positive(m->mk.g, tp_ix_neg(m->mk.g->ix, left_less_right(m->mk.g, v)));
}

static bool rule_cheaper_right(const tp_match *m, const tp_val *v) {
  return is_between(m, v[1]) && is_positive(m->mk.g, left_less_right(m->mk.g, v));
}

static bool rule_column_row(const tp_match *m, const tp_val *v) {
  return tp_is_number(mk_extent(v[0], tp_rankof(v[0]) - 1), 1);
}

static bool rule_by_element(const tp_match *m, const tp_val *v) { return tp_by_element(m); }

/* ---- numbers ---- */

static bool both_numbers(const tp_val *v, double *a, double *b) {
  return tp_number_of(v[0], a) && tp_number_of(v[1], b);
}

/* As it would have been computed: f16 and bf16 by way of f32. Nothing, if no finite number comes of
 * it. */
static tp_val float_number(const tp_match *m, tp_val like, double c) {
  tp_dtype d = tp_dtypeof(like);
  if (tp_half(d)) c = (float)c;
  uint64_t one[1];
  tp_put(d, one, 0, c);
  return isfinite(tp_get(d, one, 0)) ? mk_num(m->mk, tp_get(d, one, 0), d) : tp_none;
}

/* Integers wrap; FILL says them as a double. */
static tp_val whole_number(const tp_match *m, tp_val like, int64_t c) {
  tp_dtype d = tp_dtypeof(like);
  uint64_t one[1];
  tp_puti(d, one, 0, c);
  c = tp_geti(d, one, 0);
  return c > -((int64_t)1 << 53) && c < (int64_t)1 << 53 ? mk_num(m->mk, (double)c, d) : tp_none;
}

static tp_val number(const tp_match *m, tp_val like, double f, uint64_t i) {
  tp_dtype d = tp_dtypeof(like);
  if (d == TP_BOOL) return tp_none;
  return tp_dtype_float(d) ? float_number(m, like, f) : whole_number(m, like, (int64_t)i);
}

static uint64_t as_whole(double c) { return (uint64_t)(int64_t)c; }

static tp_val make_sum(const tp_match *m, const tp_val *v) {
  double a, b;
  return both_numbers(v, &a, &b) ? number(m, v[0], a + b, as_whole(a) + as_whole(b)) : tp_none;
}

static tp_val make_difference(const tp_match *m, const tp_val *v) {
  double a, b;
  return both_numbers(v, &a, &b) ? number(m, v[0], a - b, as_whole(a) - as_whole(b)) : tp_none;
}

static tp_val make_product(const tp_match *m, const tp_val *v) {
  double a, b;
  return both_numbers(v, &a, &b) ? number(m, v[0], a * b, as_whole(a) * as_whole(b)) : tp_none;
}

static tp_val make_quotient(const tp_match *m, const tp_val *v) {
  double a, b;
  return both_numbers(v, &a, &b) && tp_dtype_float(tp_dtypeof(v[0])) ? float_number(m, v[0], a / b)
                                                                     : tp_none;
}

static tp_val make_minus(const tp_match *m, const tp_val *v) {
  double a;
  return tp_number_of(v[0], &a) ? number(m, v[0], -a, 0 - as_whole(a)) : tp_none;
}

/* 1 / a of a power of two, which the dtype has: x / a and x * (1 / a) are one number, rounded once.
 */
static tp_val make_inverse(const tp_match *m, const tp_val *v) {
  double a, b;
  int e;
  if (!tp_number_of(v[0], &a) || !isfinite(a) || fabs(frexp(a, &e)) != 0.5) return tp_none;
  tp_val y = float_number(m, v[0], 1 / a);
  return y.node && tp_number_of(y, &b) && b == 1 / a ? y : tp_none;
}

/* A float that is no integer of the other dtype is converted where it is used, as is what a double
 * has no room for. */
static tp_val make_converted(const tp_match *m, const tp_val *v) {
  double a;
  uint64_t one[1];
  tp_dtype d = m->root->out[0].dtype;
  if (!tp_number_of(v[0], &a) || !isfinite(a)) return tp_none;
  tp_put(d, one, 0, a);
  bool rounds = tp_dtype_float(d) && tp_dtype_float(tp_dtypeof(v[0]));
  double c = tp_get(d, one, 0);
  return (rounds ? isfinite(c) : c == a) ? mk_num(m->mk, c, d) : tp_none;
}

/* ---- views ---- */

static tp_val make_unchanged(const tp_match *m, const tp_val *v) {
  return tp_same_type(tp_outof(v[0]), &m->root->out[0]) ? v[0] : tp_none;
}

static tp_val make_permuted(const tp_match *m, const tp_val *v) {
  int axes[TP_MAXRANK];
  for (int i = 0; i < m->root->attr.naxes; i++)
    axes[i] = inner_of(v[0])->attr.axes[m->root->attr.axes[i]];
  return mk_permute(m->mk, v[1], axes);
}

static tp_val make_sliced(const tp_match *m, const tp_val *v) {
  const tp_attr *s = &m->root->attr, *t = &inner_of(v[0])->attr;
  tp_ictx *c = m->mk.g->ix;
  if (s->axis != t->axis) return tp_none;
  const tp_ix *lo = tp_ix_add(c, t->ix[0], tp_ix_mulc(c, s->ix[0], t->step));
  return mk_slice(m->mk, v[1], s->axis, lo, s->ix[1], s->step * t->step);
}

static tp_val make_padded(const tp_match *m, const tp_val *v) {
  const tp_attr *s = &m->root->attr, *t = &inner_of(v[0])->attr;
  tp_ictx *c = m->mk.g->ix;
  if (s->axis != t->axis || memcmp(s->f, t->f, sizeof s->f[0])) return tp_none;
  return mk_pad(m->mk, v[1], s->axis, tp_ix_add(c, s->ix[0], t->ix[0]),
      tp_ix_add(c, s->ix[1], t->ix[1]), s->f[0]);
}

/* Of x, which lies at `from` of what the root slices, the part that is the slice; nothing, if the
 * slice may have more. */
static tp_val slice_part(const tp_match *m, tp_val x, const tp_ix *from) {
  const tp_attr *s = &m->root->attr;
  tp_ictx *c = m->mk.g->ix;
  const tp_ix *last = tp_ix_add(c, s->ix[0], tp_ix_mulc(c, tp_ix_addc(c, s->ix[1], -1), s->step));
  const tp_ix *end = tp_ix_addc(c, tp_ix_add(c, from, mk_extent(x, s->axis)), -1);
  if (!at_least(m, s->ix[0], from) || !at_least(m, end, last)) return tp_none;
  return mk_slice(m->mk, x, s->axis, tp_ix_sub(c, s->ix[0], from), s->ix[1], s->step);
}

static tp_val make_slice_inside(const tp_match *m, const tp_val *v) {
  const tp_attr *p = &inner_of(v[0])->attr;
  return m->root->attr.axis == p->axis ? slice_part(m, v[1], p->ix[0]) : tp_none;
}

static bool others_may_leave(const tp_match *m, const tp_node *n, int k) {
  bool may = true;
  for (int i = 0; i < n->nin && may; i++)
    may = n->in[i].src.node == n->in[k].src.node || tp_may_leave(m, n->in[i].src);
  return may;
}

static tp_val make_slice_part(const tp_match *m, const tp_val *v) {
  const tp_node *n = inner_of(v[0]);
  const tp_ix *from = mk_int(m->mk, 0);
  tp_val y = tp_none;
  for (int k = 0; m->root->attr.axis == n->attr.axis && k < n->nin && !y.node; k++) {
    y = slice_part(m, n->in[k].src, from);
    if (y.node && !others_may_leave(m, n, k)) return tp_none;
    from = tp_ix_add(m->mk.g->ix, from, mk_extent(n->in[k].src, n->attr.axis));
  }
  return y;
}

enum { JOINED_MOST = 64 };

static tp_val make_joined(const tp_match *m, const tp_val *v) {
  const tp_node *n = m->root;
  tp_val in[JOINED_MOST];
  int count = 0;
  bool any = n->nin == 1;
  for (int k = 0; k < n->nin; k++) {
    const tp_node *x = n->in[k].src.node;
    bool opens =
        x->op == TP_OP_CONCAT && x->attr.axis == n->attr.axis && tp_readers(m, n->in[k].src) == 1;
    if (count + (opens ? x->nin : 1) > JOINED_MOST) return tp_none;
    for (int i = 0; i < (opens ? x->nin : 1); i++)
      in[count++] = opens ? x->in[i].src : n->in[k].src;
    any |= opens;
  }
  return any ? mk_concat(m->mk, count, in, n->attr.axis) : tp_none;
}

enum { ROW_MOST = 1 << 30 };

static tp_val make_row(const tp_match *m, const tp_val *v) {
  double k;
  int axis = m->root->attr.axis;
  if (tp_rankof(v[1]) || !tp_number_of(v[1], &k)) return tp_none;
  const tp_ix *at = mk_int(m->mk, (int64_t)k), *one = mk_int(m->mk, 1);
  if (k < 0 || k > ROW_MOST || !at_least(m, mk_extent(v[0], axis), tp_ix_addc(m->mk.g->ix, at, 1)))
    return tp_none;
  return mk_squeeze(m->mk, mk_slice(m->mk, v[0], axis, at, one, 1), axis);
}

/* The extent of v's axis i, counted from the last one, is 1, or it has no such axis. */
static bool is_one_at(tp_val v, int i) {
  return i > tp_rankof(v) || tp_is_number(mk_extent(v, tp_rankof(v) - i), 1);
}

static tp_val make_spread_later(const tp_match *m, const tp_val *v) {
  int rank = m->root->out[0].rank;
  bool less = false;
  for (int i = 1; i <= rank; i++)
    less |= is_one_at(v[0], i) && is_one_at(v[1], i) && !is_one_at(tp_v(m->root), i);
  return less ? mk_op(m->mk, m->root->op, 2, v, NULL) : tp_none;
}

static tp_val make_turned(const tp_match *m, const tp_val *v) {
  return mk_swap(m->mk, v[0], tp_rankof(v[0]) - 2, tp_rankof(v[0]) - 1);
}

/* x times the matrices of a stack that k picks, seen turned or not. An index that names none is
 * blamed on who picks, whose place and name the product gets; a product without elements would
 * blame none. Not along an axis that may be a range of points, whose terms are added one by one. */
static tp_val make_matmul_at(const tp_match *m, const tp_val *v) {
  const tp_node *turn = v[1].node->op == TP_OP_PERMUTE ? v[1].node : NULL,
                *by = turn ? turn->in[0].src.node : v[1].node;
  tp_val x = v[0], w = by->in[0].src, k = by->in[1].src;
  const tp_ix *shape[TP_MAXRANK];
  int rank = tp_rankof(x), nk = tp_rankof(k);
  int64_t summed;
  if (m->r->job->check || by->attr.axis || tp_rankof(w) != 3 || nk != rank - 2 ||
      (turn && (nk != 1 || turn->attr.axes[0])) || tp_half(tp_dtypeof(w)) ||
      !tp_ix_is_const(mk_extent(x, rank - 1), &summed))
    return tp_none;
  for (int i = rank - 2; i < rank; i++)
    if (summed < 1 || !at_least(m, m->root->out[0].shape[i], mk_int(m->mk, 1))) return tp_none;
  if (nk && mk_extent(k, 0) != m->root->out[0].shape[0]) return tp_none;
  for (int i = 0; i < rank; i++) shape[i] = i < nk ? m->root->out[0].shape[i] : mk_extent(x, i);
  if (turn) w = mk_permute(m->mk, w, turn->attr.axes);
  x = mk_expand(m->mk, x, rank, shape);
  m->mk.g->pos = by->pos;
  tp_val y = mk_op(m->mk, TP_OP_MATMUL_AT, 3, (tp_val[]){ x, k, w }, NULL);
  if (y.node) y.node->name = by->name, y.node->what = by->what, y.node->var = by->var;
  return y;
}

/* ---- reductions ---- */

static bool is_reduced(const tp_node *n, int axis) {
  bool is = false;
  for (int i = 0; i < n->attr.naxes; i++) is |= n->attr.axes[i] == axis;
  return is;
}

static tp_val make_reduced_one(const tp_match *m, const tp_val *v) {
  const tp_out *o = &m->root->out[0];
  for (int i = 0; i < m->root->attr.naxes; i++)
    if (!tp_is_number(mk_extent(v[0], m->root->attr.axes[i]), 1)) return tp_none;
  return mk_reshape(m->mk, v[0], o->rank, o->shape);
}

/* x reduced where the root reduces a, x spread, along an axis of x's own. */
static tp_val reduced_own(const tp_match *m, tp_val x, tp_val a) {
  int axes[TP_MAXRANK], n = 0, grown = tp_rankof(a) - tp_rankof(x);
  for (int i = 0; i < tp_rankof(x); i++)
    if (is_reduced(m->root, i + grown) && mk_extent(x, i) == mk_extent(a, i + grown)) axes[n++] = i;
  return n
      ? mk_op(m->mk, m->root->op, 1, &x, &(tp_attr){ .naxes = n, .axes = axes, .keepdim = true })
      : x;
}

/* Of the axes along which a is x spread, those that are reduced: how many elements along them;
 * nothing, if there may be none. */
static const tp_ix *spread_count(const tp_match *m, tp_val x, tp_val a) {
  const tp_ix *one = mk_int(m->mk, 1), *n = one;
  int grown = tp_rankof(a) - tp_rankof(x);
  for (int i = 0; i < tp_rankof(a); i++) {
    bool spread = i < grown || mk_extent(x, i - grown) != mk_extent(a, i);
    if (spread && is_reduced(m->root, i)) n = tp_ix_mul(m->mk.g->ix, n, mk_extent(a, i));
  }
  return n != one && at_least(m, n, one) ? n : NULL;
}

static tp_val make_reduced_spread(const tp_match *m, const tp_val *v) {
  const tp_ix *shape[TP_MAXRANK];
  int rank = 0, grown = tp_rankof(v[1]) - tp_rankof(v[0]);
  if (!spread_count(m, v[0], v[1])) return tp_none;
  tp_val y = reduced_own(m, v[0], v[1]);
  for (int i = 0; i < tp_rankof(v[1]) && y.node; i++)
    if (m->root->attr.keepdim || !is_reduced(m->root, i))
      shape[rank++] = i < grown ? mk_int(m->mk, 1) : mk_extent(y, i - grown);
  return mk_reshape(m->mk, y, rank, shape);
}

static tp_val make_summed_spread(const tp_match *m, const tp_val *v) {
  tp_val y = make_reduced_spread(m, v);
  return y.node ? mk_mul(m->mk, y, mk_size(m->mk, spread_count(m, v[0], v[1]), tp_dtypeof(y)))
                : tp_none;
}

/* x times a matrix of one number: that number times the sums of its rows, the same in each column;
 * and of the columns. */
static tp_val sums_times(const tp_match *m, const tp_val *v, int axis) {
  double c;
  int at = tp_rankof(v[0]) - axis;
  tp_val y = mk_op(m->mk, TP_OP_SUM, 1, v, &(tp_attr){ .naxes = 1, .axes = &at, .keepdim = true });
  return tp_number_of(v[1], &c) && y.node ? mk_mul(m->mk, y, mk_num(m->mk, c, tp_dtypeof(y)))
                                          : tp_none;
}

static tp_val make_row_sums(const tp_match *m, const tp_val *v) { return sums_times(m, v, 1); }
static tp_val make_column_sums(const tp_match *m, const tp_val *v) { return sums_times(m, v, 2); }

/* ---- the tables ---- */

tp_ruleguard *const tp_rule_guards[] = {
#define G(f) rule_##f,
#include "opt/rules.def"
};
tp_rulemaker *const tp_rule_makers[] = {
#define B(f) make_##f,
#include "opt/rules.def"
};
