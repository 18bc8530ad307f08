/* rules_fn: the functions that rows of rules.def name. Guards say whether a match counts; makers
 * make a result that a pattern cannot express, or nothing. */
#include "opt/rules/rules.h"
#include <math.h>

/* ---- guards ---- */

static bool rule_one(const tp_match *m, const tp_val *v) { return tp_readers(m, v[0]) == 1; }
static bool rule_holds(const tp_match *m, const tp_val *v) {
  tp_dtype wide = tp_dtypeof(v[0]), d = tp_dtypeof(v[1]);
  switch (d) {
  case TP_BOOL: return true;
  case TP_U8: return wide != TP_BOOL;
  case TP_I32: return wide == TP_I32 || wide == TP_I64 || wide == TP_F64;
  case TP_F16:
  case TP_BF16: return wide == d || wide == TP_F32 || wide == TP_F64;
  case TP_F32: return wide == TP_F32 || wide == TP_F64;
  default: return wide == d;
  }
}

static bool rule_turns(const tp_match *m, const tp_val *v) {
  const tp_attr *p = &m->root->attr;
  int rank = p->naxes;
  bool does = rank > 1;
  for (int i = 0; i < rank; i++) does &= p->axes[i] == (i < rank - 2 ? i : 2 * rank - 3 - i);
  return does;
}

static bool rule_summed(const tp_match *m, const tp_val *v) { return !tp_half(tp_dtypeof(v[0])); }

static bool rule_table(const tp_match *m, const tp_val *v) {
  return tp_half(tp_dtypeof(v[0])) && tp_rankof(v[0]) == 2;
}

static bool rule_full(const tp_match *m, const tp_val *v) {
  return tp_same_type(tp_outof(v[0]), tp_outof(v[1]));
}

static bool rule_same_axis(const tp_match *m, const tp_val *v) {
  return v[0].node->attr.axis == v[1].node->attr.axis;
}

static bool rule_finite(const tp_match *m, const tp_val *v) {
  double c;
  return tp_number_of(v[0], &c) && isfinite(c);
}

/* ---- what products cost ---- */

static bool at_least_one(const tp_match *m, tp_ix *e) {
  return tp_ix_prove_ge0(tp_ix_addc(e, -1), m->root->ndom, m->root->dom);
}

/* Does (x y) z take fewer multiplications than x (y z), or (left false) the other way round, for
 * some bounds, and more for none? `inner`, the product that exists, must be as many matrices as
 * both together: one made at fewer points stays there. A product along an axis without elements is
 * 0, whatever NaN there is elsewhere: the matrix between must have some. */
static bool is_cheaper(const tp_match *m, const tp_val *v, bool left) {
  const tp_node *inner = tp_in(m->root, left);
  const tp_out *o = &m->root->out[0], *i = &inner->out[0];
  int rows = o->rank - 2, columns = rows + 1;
  tp_ix *r = mk_extent(v[0], rows), *a = mk_extent(v[1], rows), *b = mk_extent(v[1], columns),
        *c = mk_extent(v[2], columns), *from_left = tp_ix_mul(tp_ix_mul(r, b), tp_ix_add(a, c)),
        *from_right = tp_ix_mul(tp_ix_mul(a, c), tp_ix_add(b, r)),
        *fewer = left ? tp_ix_sub(from_right, from_left) : tp_ix_sub(from_left, from_right);
  for (int k = 0; k < rows; k++)
    if (i->shape[k] != o->shape[k]) return false;
  return tp_same_dims(inner, m->root) && at_least_one(m, a) && at_least_one(m, b) &&
      !tp_is_number(fewer, 0) && tp_ix_prove_ge0(fewer, 0, NULL);
}

static bool rule_cheaper_left(const tp_match *m, const tp_val *v) { return is_cheaper(m, v, true); }
static bool rule_cheaper_right(const tp_match *m, const tp_val *v) {
  return is_cheaper(m, v, false);
}

static bool rule_column_row(const tp_match *m, const tp_val *v) {
  return tp_is_number(mk_extent(v[0], tp_rankof(v[0]) - 1), 1);
}

static bool rule_by_element(const tp_match *m, const tp_val *v) { return tp_by_element(m); }

/* ---- numbers ---- */

/* The number f as the dtype of `like` would have computed it, f16 and bf16 by way of f32; for
 * integers i, which wraps. Nothing where the number is not finite, or where a FILL, which has a
 * double, cannot hold it. */
static tp_val number(const tp_match *m, tp_val like, double f, uint64_t i) {
  tp_dtype d = tp_dtypeof(like);
  uint64_t one[1];
  if (d == TP_BOOL) return tp_none;
  if (tp_dtype_float(d)) {
    tp_put(d, one, 0, tp_half(d) ? (float)f : f);
    f = tp_get(d, one, 0);
    return isfinite(f) ? mk_num(m->mk, f, d) : tp_none;
  }
  tp_puti(d, one, 0, (int64_t)i);
  int64_t c = tp_geti(d, one, 0);
  return c > -((int64_t)1 << 53) && c < (int64_t)1 << 53 ? mk_num(m->mk, (double)c, d) : tp_none;
}

static uint64_t as_whole(double c) { return (uint64_t)(int64_t)c; }

static tp_val make_product(const tp_match *m, const tp_val *v) {
  double a, b;
  return tp_number_of(v[0], &a) && tp_number_of(v[1], &b)
      ? number(m, v[0], a * b, as_whole(a) * as_whole(b))
      : tp_none;
}

static tp_val make_minus(const tp_match *m, const tp_val *v) {
  double a;
  return tp_number_of(v[0], &a) ? number(m, v[0], -a, 0 - as_whole(a)) : tp_none;
}

/* 1 / a, for a power of two whose inverse the dtype has: x / a and x * (1 / a) are one number,
 * rounded once. */
static tp_val make_inverse(const tp_match *m, const tp_val *v) {
  double a, b;
  int e;
  if (!tp_number_of(v[0], &a) || !isfinite(a) || fabs(frexp(a, &e)) != 0.5) return tp_none;
  tp_val y = number(m, v[0], 1 / a, 0);
  return y.node && tp_number_of(y, &b) && b == 1 / a ? y : tp_none;
}

/* ---- views ---- */

static tp_val make_unchanged(const tp_match *m, const tp_val *v) {
  return tp_same_type(tp_outof(v[0]), &m->root->out[0]) ? v[0] : tp_none;
}

static tp_val make_permuted(const tp_match *m, const tp_val *v) {
  int axes[TP_MAXRANK];
  for (int i = 0; i < m->root->attr.naxes; i++)
    axes[i] = v[0].node->attr.axes[m->root->attr.axes[i]];
  return mk_permute(m->mk, v[1], axes);
}

static tp_val make_turned(const tp_match *m, const tp_val *v) {
  return mk_swap(m->mk, v[0], tp_rankof(v[0]) - 2, tp_rankof(v[0]) - 1);
}

/* x times the matrices of a stack that k picks, seen turned or not. The
 * product gets the place and name of the pick, which is blamed for an index that names no matrix; a
 * product without elements would blame nothing. Not along an axis that may be a range of points,
 * whose terms are added one by one. */
static tp_val make_matmul_at(const tp_match *m, const tp_val *v) {
  const tp_node *turn = v[1].node->op == TP_OP_PERMUTE ? v[1].node : NULL,
                *by = turn ? tp_in(turn, 0) : v[1].node;
  tp_val x = v[0], w = by->in[0].src, k = by->in[1].src;
  tp_ix *shape[TP_MAXRANK];
  int rank = tp_rankof(x), nk = tp_rankof(k);
  int64_t summed;
  if (m->r->job->check || by->attr.axis || tp_rankof(w) != 3 || nk != rank - 2 ||
      (turn && (nk != 1 || turn->attr.axes[0])) || tp_half(tp_dtypeof(w)) ||
      !tp_ix_is_const(mk_extent(x, rank - 1), &summed))
    return tp_none;
  for (int i = rank - 2; i < rank; i++)
    if (summed < 1 || !at_least_one(m, m->root->out[0].shape[i])) return tp_none;
  if (nk && mk_extent(k, 0) != m->root->out[0].shape[0]) return tp_none;
  for (int i = 0; i < rank; i++) shape[i] = i < nk ? m->root->out[0].shape[i] : mk_extent(x, i);
  if (turn) w = mk_permute(m->mk, w, turn->attr.axes);
  x = mk_expand(m->mk, x, rank, shape);
  m->mk.g->pos = by->pos;
  tp_val y = mk_op(m->mk, TP_OP_MATMUL_AT, 3, (tp_val[]){ x, k, w }, NULL);
  if (y.node) tp_name_as(y.node, by), y.node->var = by->var;
  return y;
}

/* A point of the rows that a adds, in place of one of the sum. */
static tp_val make_read_rows(const tp_match *m, const tp_val *v) {
  const tp_node *a = v[0].node;
  tp_val in[3];
  for (int i = 0; i < a->ndom; i++)
    if (m->root->attr.at[i].range) return tp_none;
  for (int k = 0; k < 3; k++) {
    const tp_node *x = tp_in(a, k);
    tp_at *at = TP_NEWN(&m->mk.g->arena, tp_at, x->ndom + 1);
    for (int d = 0; d < x->ndom; d++)
      for (int i = 0; i < a->ndom; i++)
        if (a->dom[i] == x->dom[d]) at[d] = m->root->attr.at[i];
    in[k] = x->ndom ? tp_read(m->mk.g, a->in[k].src, at, m->mk.err) : a->in[k].src;
  }
  return in[0].node && in[1].node && in[2].node ? mk_op(m->mk, TP_OP_INDEX_ADD, 3, in, &a->attr)
                                                : tp_none;
}

/* ---- reductions ---- */

static tp_val make_reduced_one(const tp_match *m, const tp_val *v) {
  const tp_out *o = &m->root->out[0];
  for (int i = 0; i < m->root->attr.naxes; i++)
    if (!tp_is_number(mk_extent(v[0], m->root->attr.axes[i]), 1)) return tp_none;
  return mk_reshape(m->mk, v[0], o->rank, o->shape);
}

/* x times a matrix of one number is that number times the sums of x's rows, the same in each
 * column; likewise with columns. */
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
#include "opt/rules/rules.def"
};
tp_rulemaker *const tp_rule_makers[] = {
#define B(f) make_##f,
#include "opt/rules/rules.def"
};
