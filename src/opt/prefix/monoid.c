/* monoid: the state carried for rows that lie side by side (monoid.def), and how the states of two
 * neighbours are joined. */
#include "opt/prefix/prefix.h"
#include <math.h>

#define PARTS(...) \
  ((partial){ sizeof((tp_val[]){ __VA_ARGS__ }) / sizeof(tp_val), { __VA_ARGS__ } })

static tp_val weight_row(const moving_range *m, tp_ix *p) {
  return m->weight.node ? mk_cast(m->mk, mk_at(m->mk, m->weight, m->x.node->dom[m->r], p), m->dtype)
                        : tp_none;
}

static tp_val rows_at(const moving_range *m, const tp_at *at) {
  return mk_cast(m->mk, tp_read(m->mk.g, m->x, at, m->mk.err), m->dtype);
}

static tp_val rows_sum(const moving_range *m, tp_val rows) {
  return mk_reduce(m->mk, TP_OP_SUM, rows, 1, &(int){ 0 }, false);
}

/* The weights at `at`: their dims are dims of x, and are read where x is read. */
static tp_val weights_at(const moving_range *m, const tp_at *at) {
  return tp_read(m->mk.g, m->weight,
      tp_at_but(m->mk.g, m->weight.node, m->x.node->dom[m->r], at[m->r]), m->mk.err);
}

static tp_val filled(const moving_range *m, double v, tp_dtype d) {
  const tp_out *o = tp_outof(m->x);
  return mk_fill(m->mk, v, d, o->rank, o->shape, 0, NULL);
}

static tp_at *with_row(const moving_range *m, tp_at row) {
  tp_at *at = TP_NEWN(&m->mk.g->arena, tp_at, m->x.node->ndom + 1);
  TP_COPYN(at, m->at, m->x.node->ndom);
  at[m->r] = row;
  return at;
}

tp_val tp_moving_row(const moving_range *m, tp_ix *p) {
  return mk_cast(
      m->mk, tp_read(m->mk.g, m->x, with_row(m, (tp_at){ .lo = p }), m->mk.err), m->dtype);
}

moving_range tp_moving_over(const moving_range *m, tp_ix *lo, tp_ix *hi) {
  moving_range y = *m;
  y.at = with_row(m, (tp_at){ true, lo, hi });
  return y;
}

/* ---- sums, products, largest and smallest ---- */

static tp_op combining(const moving_range *m) {
  bool logical = tp_dtypeof(m->x) == TP_BOOL;
  return m->red == TP_RED_SUM ? TP_OP_ADD
      : m->red == TP_RED_PROD ? TP_OP_MUL
      : m->red == TP_RED_MAX  ? (logical ? TP_OP_LOR : TP_OP_MAXIMUM)
                              : (logical ? TP_OP_LAND : TP_OP_MINIMUM);
}

static partial red_row(const moving_range *m, tp_ix *p) { return PARTS(tp_moving_row(m, p)); }
static partial red_rows(const moving_range *m, tp_val red, const tp_at *at) { return PARTS(red); }
static partial red_none(const moving_range *m) {
  return PARTS(filled(m, tp_red_identity(m->red, m->dtype), m->dtype));
}
static partial red_join(const moving_range *m, partial a, partial b) {
  return PARTS(mk_op(m->mk, combining(m), 2, (tp_val[]){ a.v[0], b.v[0] }, NULL));
}

/* ---- places ---- */

static partial place_row(const moving_range *m, tp_ix *p) {
  const tp_out *o = tp_outof(m->x);
  return PARTS(
      tp_moving_row(m, p), mk_expand(m->mk, tp_ixvalue(m->mk.g, p, m->mk.err), o->rank, o->shape));
}
static partial place_rows(const moving_range *m, tp_val red, const tp_at *at) {
  tp_mk mk = m->mk;
  tp_val rows = rows_at(m, at),
         k = mk_op(mk, m->red == TP_RED_MAX ? TP_OP_ARGMAX : TP_OP_ARGMIN, 1, &rows,
             &(tp_attr){ .axis = 0 });
  return PARTS(red, mk_add(mk, k, tp_ixvalue(mk.g, at[m->r].lo, mk.err)));
}
static partial place_none(const moving_range *m) {
  return PARTS(red_none(m).v[0], filled(m, -1, TP_I64));
}
static tp_val mk_or(tp_mk mk, tp_val a, tp_val b) { return mk_bin(mk, TP_OP_LOR, a, b); }
static partial place_join(const moving_range *m, partial a, partial b) {
  tp_mk mk = m->mk;
  tp_val x = a.v[0], y = b.v[0],
         after = mk_bin(mk, m->red == TP_RED_MAX ? TP_OP_GT : TP_OP_LT, y, x);
  if (tp_dtype_float(m->dtype))
    after = mk_or(mk, after, mk_and(mk, mk_bin(mk, TP_OP_NE, y, y), mk_bin(mk, TP_OP_EQ, x, x)));
  return tp_partial_select(m, mk_or(mk, after, mk_binc(mk, TP_OP_LT, a.v[1], 0)), b, a);
}

/* ---- squares of deviations: the state has sums, not means, so no error grows from row to row, and
 * infinities stay ---- */

tp_val tp_partial_mean(const moving_range *m, tp_val sum, tp_val n) {
  return mk_div(m->mk, sum, mk_binc(m->mk, TP_OP_MAXIMUM, n, 1));
}

static partial squares_row(const moving_range *m, tp_ix *p) {
  return PARTS(mk_num(m->mk, 1, m->dtype), filled(m, 0, m->dtype), tp_moving_row(m, p));
}
static partial squares_none(const moving_range *m) {
  tp_val none = filled(m, 0, m->dtype);
  return PARTS(mk_num(m->mk, 0, m->dtype), none, none);
}
static partial squares_rows(const moving_range *m, tp_val red, const tp_at *at) {
  tp_mk mk = m->mk;
  tp_val n = mk_size(mk, tp_ix_sub(at[m->r].hi, at[m->r].lo), m->dtype), rows = rows_at(m, at),
         sum = rows_sum(m, rows), off = mk_sub(mk, rows, tp_partial_mean(m, sum, n));
  return PARTS(n, rows_sum(m, mk_mul(mk, off, off)), sum);
}
static partial squares_join(const moving_range *m, partial a, partial b) {
  tp_mk mk = m->mk;
  tp_val n = mk_add(mk, a.v[0], b.v[0]),
         off = mk_sub(mk, tp_partial_mean(m, b.v[2], b.v[0]), tp_partial_mean(m, a.v[2], a.v[0])),
         weight = mk_mul(mk, a.v[0], tp_partial_mean(m, b.v[0], n)),
         between = mk_mul(mk, mk_mul(mk, off, off), weight);
  return PARTS(n, mk_add(mk, mk_add(mk, a.v[1], b.v[1]), between), mk_add(mk, a.v[2], b.v[2]));
}

/* ---- sums of exponentials, each as far below the greatest as it is ----
 *
 * exp(-inf - -inf) must not arise: a sum is multiplied by 1 where both maxima are the same, and
 * exponents count from 0 where a maximum is not finite. */

tp_val tp_finite_top(const moving_range *m, tp_val top) {
  return mk_where(m->mk, mk_binc(m->mk, TP_OP_LT, mk_un(m->mk, TP_OP_ABS, top), INFINITY), top);
}

tp_val tp_undifferentiated(const moving_range *m, tp_val top) {
  return m->open ? mk_detach(m->mk, top) : top;
}

/* v exp(x - top), from 0 where top is not finite */
static tp_val risen(const moving_range *m, tp_val v, tp_val x, tp_val top) {
  tp_val e = mk_exp(m->mk, mk_sub(m->mk, x, tp_finite_top(m, tp_undifferentiated(m, top))));
  return v.node ? mk_mul(m->mk, mk_cast(m->mk, v, m->dtype), e) : e;
}

static partial exp_row(const moving_range *m, tp_ix *p) {
  tp_val x = tp_moving_row(m, p);
  return PARTS(x, risen(m, weight_row(m, p), x, x));
}
static partial exp_rows(const moving_range *m, tp_val red, const tp_at *at) {
  tp_val v = m->weight.node ? weights_at(m, at) : tp_none;
  return PARTS(red, rows_sum(m, risen(m, v, rows_at(m, at), red)));
}
static partial exp_none(const moving_range *m) {
  return PARTS(red_none(m).v[0], filled(m, 0, m->dtype));
}

/* a's sum, counted from top instead of a's own maximum. */
static tp_val lowered(const moving_range *m, partial a, tp_val top) {
  tp_mk mk = m->mk;
  tp_val own = tp_undifferentiated(m, a.v[0]);
  top = tp_undifferentiated(m, top);
  return mk_mul(mk, a.v[1],
      mk_select(mk, mk_bin(mk, TP_OP_EQ, own, top), mk_num(mk, 1, m->dtype),
          mk_exp(mk, mk_sub(mk, own, top))));
}
static partial exp_join(const moving_range *m, partial a, partial b) {
  tp_val top = mk_bin(m->mk, TP_OP_MAXIMUM, a.v[0], b.v[0]);
  return PARTS(top, mk_add(m->mk, lowered(m, a, top), lowered(m, b, top)));
}

/* ---- sums that fade ---- */

static partial affine_row(const moving_range *m, tp_ix *p) {
  return PARTS(tp_moving_row(m, p), weight_row(m, p));
}
static partial affine_rows(const moving_range *m, tp_val red, const tp_at *at) {
  tp_mk mk = m->mk;
  tp_val by = mk_cast(mk, weights_at(m, at), m->dtype);
  return PARTS(rows_sum(m, mk_mul(mk, rows_at(m, at), mk_product_beside(mk, by, 0, m->behind))),
      mk_reduce(mk, TP_OP_PROD, by, 1, &(int){ 0 }, false));
}
static partial affine_none(const moving_range *m) {
  return PARTS(red_none(m).v[0], filled(m, 1, m->dtype));
}
static partial affine_join(const moving_range *m, partial a, partial b) {
  tp_mk mk = m->mk;
  tp_val s = m->behind ? mk_add(mk, mk_mul(mk, a.v[0], b.v[1]), b.v[0])
                       : mk_add(mk, a.v[0], mk_mul(mk, a.v[1], b.v[0]));
  return PARTS(s, mk_mul(mk, a.v[1], b.v[1]));
}

/* ---- the table ---- */

static const struct {
  partial (*row)(const moving_range *m, tp_ix *p);
  partial (*rows)(const moving_range *m, tp_val red, const tp_at *at);
  partial (*none)(const moving_range *m);
  partial (*join)(const moving_range *m, partial a, partial b);
} monoids[] = {
#define M(NAME, name) [MONOID_##NAME] = { name##_row, name##_rows, name##_none, name##_join },
#include "opt/prefix/monoid.def"
#undef M
};

partial tp_partial_row(const moving_range *m, tp_ix *p) { return monoids[m->kind].row(m, p); }
partial tp_partial_none(const moving_range *m) { return monoids[m->kind].none(m); }
partial tp_partial_whole(const moving_range *m, tp_val red, const tp_at *at) {
  return monoids[m->kind].rows(m, red, at);
}
partial tp_partial_join(const moving_range *m, partial a, partial b) {
  return a.n && b.n ? monoids[m->kind].join(m, a, b) : tp_no_partial;
}

/* ---- part by part ---- */

static void name_part(const moving_range *m, tp_val v) {
  if (v.node) v.node->what = m->of->name ? m->of->name : m->of->what;
}

partial tp_partial_either(
    const moving_range *m, int ndom, tp_dims dom, tp_ix *cond, partial yes, partial no) {
  for (int i = 0; i < yes.n; i++) {
    yes.v[i] = mk_either(m->mk, ndom, dom, cond, yes.v[i], no.v[i]);
    name_part(m, yes.v[i]);
  }
  return yes;
}

partial tp_partial_select(const moving_range *m, tp_val cond, partial yes, partial no) {
  for (int i = 0; i < yes.n; i++) yes.v[i] = mk_select(m->mk, cond, yes.v[i], no.v[i]);
  return yes;
}

partial tp_partial_at(const moving_range *m, partial a, tp_sym *d, tp_ix *p) {
  for (int i = 0; i < a.n; i++) a.v[i] = mk_at(m->mk, a.v[i], d, p);
  return a;
}

partial tp_partial_declared(const moving_range *m, int ndom, tp_dims dom) {
  partial s = tp_partial_none(m);
  for (int i = 0; i < s.n && s.v[i].node; i++) {
    const tp_out *o = tp_outof(s.v[i]);
    s.v[i] = mk_declared(m->mk, o->dtype, o->rank, o->shape, ndom, dom);
    name_part(m, s.v[i]);
  }
  return s;
}

bool tp_partial_branch(const moving_range *m, partial s, tp_ix *cond, partial e) {
  for (int i = 0; i < s.n; i++) {
    tp_val v = s.v[i].node && e.n ? mk_cast(m->mk, e.v[i], tp_dtypeof(s.v[i])) : tp_none;
    if (!v.node || !tp_merge_add(m->mk.g, s.v[i].node, cond, v, m->mk.err)) return false;
  }
  return s.n;
}
