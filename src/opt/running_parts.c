/* running_parts: what is carried of rows that lie side by side, and how two such that follow each
 * other are joined.
 *
 *   red       red(a, b)
 *   place     the largest (or smallest) and where it is: b's if it is larger; NaN is larger than
 * all else, the first one counts squares   rows n, their mean u, squares of deviations q: n = na +
 * nb, u = ua + (ub - ua) nb / n, q = qa + qb + (ub - ua)^2 na nb / n (Chan); products of the
 * deviations of two alike, with a mean each exp       the maximum top, s = sum of v exp(x - top): s
 * = sa exp(topa - top) + sb exp(topb - top) fade      s = sum of x times the factors of all rows
 * before it, p = product of the factors: s = sa + pa sb, p = pa pb; behind: s = sa pb + sb
 *
 * Of no rows, red, exp and fade have what changes nothing, a place is -1 and n is 0. */
#include "opt/running.h"
#include <math.h>

static running_parts parts_of(int n, const tp_val *v) {
  running_parts p = { n, { tp_none } };
  for (int i = 0; i < n; i++) {
    if (!v[i].node) return (running_parts){ 0, { tp_none } };
    p.v[i] = v[i];
  }
  return p;
}
#define PARTS(...) \
  parts_of((int)(sizeof((tp_val[]){ __VA_ARGS__ }) / sizeof(tp_val)), (tp_val[]){ __VA_ARGS__ })

static running_parts no_parts(void) { return (running_parts){ 0, { tp_none } }; }

static tp_val weight_row(const moving *m, const tp_ix *p) {
  return m->weight.node ? mk_cast(m->mk, mk_at(m->mk, m->weight, m->x.node->dom[m->r], p), m->dtype)
                        : tp_none;
}

/* other: the mean of the weight, where there is one. */
static running_parts deviations(const moving *m, tp_val mean, tp_val sum, tp_val n, tp_val other) {
  return parts_of(m->weight.node ? 4 : 3, (tp_val[]){ mean, sum, n, other });
}

running_parts tp_parts_row(const moving *m, const tp_ix *p) {
  tp_val x = tp_running_row(m, p);
  const tp_out *o = tp_outof(m->x);
  switch (m->kind) {
  case RUNNING_PLACE:
    return PARTS(x, mk_expand(m->mk, tp_ixvalue(m->mk.g, p, m->mk.err), o->rank, o->shape));
  case RUNNING_SQUARES:
    return deviations(m, x, mk_fill(m->mk, 0, m->dtype, o->rank, o->shape, 0, NULL),
        mk_num(m->mk, 1, m->dtype), weight_row(m, p));
  case RUNNING_EXP: return PARTS(x, tp_running_risen(m, weight_row(m, p), x, x));
  case RUNNING_FADE: return PARTS(x, weight_row(m, p));
  default: return PARTS(x);
  }
}

running_parts tp_parts_none(const moving *m) {
  const tp_out *o = tp_outof(m->x);
  tp_val none = tp_running_nothing(m);
  switch (m->kind) {
  case RUNNING_PLACE: return PARTS(none, mk_fill(m->mk, -1, TP_I64, o->rank, o->shape, 0, NULL));
  case RUNNING_SQUARES: return deviations(m, none, none, mk_num(m->mk, 0, m->dtype), none);
  case RUNNING_EXP: return PARTS(none, mk_fill(m->mk, 0, m->dtype, o->rank, o->shape, 0, NULL));
  case RUNNING_FADE: return PARTS(none, mk_fill(m->mk, 1, m->dtype, o->rank, o->shape, 0, NULL));
  default: return PARTS(none);
  }
}

static tp_val rows_at(const moving *m, const tp_at *at) {
  return mk_cast(m->mk, tp_read(m->mk.g, m->x, at, m->mk.err), m->dtype);
}

/* Where the first of the rows with that value is. */
static tp_val place_in(const moving *m, const tp_at *at) {
  tp_mk mk = m->mk;
  tp_val rows = rows_at(m, at),
         k = mk_op(mk, m->red == TP_RED_MAX ? TP_OP_ARGMAX : TP_OP_ARGMIN, 1, &rows,
             &(tp_attr){ .axis = 0 });
  return mk_add(mk, k, tp_ixvalue(mk.g, at[m->r].lo, mk.err));
}

static tp_val rows_sum(const moving *m, tp_val rows) {
  return mk_reduce(m->mk, TP_OP_SUM, rows, 1, &(int){ 0 }, false);
}

/* The weights have dims of x, which are read where x is. */
static tp_val weights_at(const moving *m, const tp_at *at) {
  return tp_read(m->mk.g, m->weight,
      tp_at_but(m->mk.g, m->weight.node, m->x.node->dom[m->r], at[m->r]), m->mk.err);
}

/* Of rows n: their deviations from their mean. */
static tp_val deviating(const moving *m, tp_val rows, tp_val n, tp_val *mean) {
  *mean = mk_div(m->mk, rows_sum(m, rows), n);
  return mk_sub(m->mk, rows, *mean);
}

static running_parts squares_in(const moving *m, const tp_at *at) {
  tp_mk mk = m->mk;
  tp_val n = mk_size(mk, tp_ix_sub(mk.g->ix, at[m->r].hi, at[m->r].lo), m->dtype),
         some = mk_binc(mk, TP_OP_MAXIMUM, n, 1), mean, other = tp_none;
  tp_val a = deviating(m, rows_at(m, at), some, &mean),
         b = m->weight.node ? deviating(m, mk_cast(mk, weights_at(m, at), m->dtype), some, &other)
                            : a;
  return deviations(m, mean, rows_sum(m, mk_mul(mk, a, b)), n, other);
}

static tp_val exp_in(const moving *m, tp_val top, const tp_at *at) {
  return rows_sum(
      m, tp_running_risen(m, m->weight.node ? weights_at(m, at) : tp_none, rows_at(m, at), top));
}

static running_parts fade_in(const moving *m, const tp_at *at) {
  tp_mk mk = m->mk;
  tp_val by = mk_cast(mk, weights_at(m, at), m->dtype);
  return PARTS(rows_sum(m, mk_mul(mk, rows_at(m, at), mk_product_beside(mk, by, 0, m->behind))),
      mk_reduce(mk, TP_OP_PROD, by, 1, &(int){ 0 }, false));
}

running_parts tp_parts_whole(const moving *m, tp_val red, const tp_at *at) {
  switch (m->kind) {
  case RUNNING_PLACE: return PARTS(red, place_in(m, at));
  case RUNNING_SQUARES: return squares_in(m, at);
  case RUNNING_EXP: return PARTS(red, exp_in(m, red, at));
  case RUNNING_FADE: return fade_in(m, at);
  default: return PARTS(red);
  }
}

/* ---- joined ---- */

static running_parts join_places(const moving *m, running_parts a, running_parts b) {
  tp_mk mk = m->mk;
  tp_val after = mk_bin(mk, m->red == TP_RED_MAX ? TP_OP_GT : TP_OP_LT, b.v[0], a.v[0]);
  if (tp_dtype_float(m->dtype))
    after = mk_op(mk, TP_OP_LOR, 2,
        (tp_val[]){ after,
            mk_and(
                mk, mk_bin(mk, TP_OP_NE, b.v[0], b.v[0]), mk_bin(mk, TP_OP_EQ, a.v[0], a.v[0])) },
        NULL);
  after = mk_op(mk, TP_OP_LOR, 2, (tp_val[]){ after, mk_binc(mk, TP_OP_LT, a.v[1], 0) }, NULL);
  return tp_parts_select(m, after, b, a);
}

static running_parts join_squares(const moving *m, running_parts a, running_parts b) {
  tp_mk mk = m->mk;
  bool two = m->weight.node;
  tp_val n = mk_add(mk, a.v[2], b.v[2]), off = mk_sub(mk, b.v[0], a.v[0]),
         part = mk_div(mk, b.v[2], mk_binc(mk, TP_OP_MAXIMUM, n, 1)),
         other = two ? mk_sub(mk, b.v[3], a.v[3]) : off;
  tp_val between = mk_mul(mk, mk_mul(mk, off, other), mk_mul(mk, a.v[2], part));
  return deviations(m, mk_add(mk, a.v[0], mk_mul(mk, off, part)),
      mk_add(mk, mk_add(mk, a.v[1], b.v[1]), between), n,
      two ? mk_add(mk, a.v[3], mk_mul(mk, other, part)) : tp_none);
}

/* s counted from top in place of its own. */
static tp_val lowered(const moving *m, running_parts a, tp_val top) {
  return mk_mul(m->mk, a.v[1], tp_running_scale(m, a.v[0], top));
}

static running_parts join_exps(const moving *m, running_parts a, running_parts b) {
  tp_val top = mk_bin(m->mk, TP_OP_MAXIMUM, a.v[0], b.v[0]);
  return PARTS(top, mk_add(m->mk, lowered(m, a, top), lowered(m, b, top)));
}

static running_parts join_fading(const moving *m, running_parts a, running_parts b) {
  tp_mk mk = m->mk;
  tp_val s = m->behind ? mk_add(mk, mk_mul(mk, a.v[0], b.v[1]), b.v[0])
                       : mk_add(mk, a.v[0], mk_mul(mk, a.v[1], b.v[0]));
  return PARTS(s, mk_mul(mk, a.v[1], b.v[1]));
}

running_parts tp_parts_join(const moving *m, running_parts a, running_parts b) {
  if (!a.n || !b.n) return no_parts();
  switch (m->kind) {
  case RUNNING_PLACE: return join_places(m, a, b);
  case RUNNING_SQUARES: return join_squares(m, a, b);
  case RUNNING_EXP: return join_exps(m, a, b);
  case RUNNING_FADE: return join_fading(m, a, b);
  default: return PARTS(tp_running_pair(m, a.v[0], b.v[0]));
  }
}

/* ---- part by part ---- */

static void name_part(const moving *m, tp_val v) {
  if (v.node) v.node->what = m->of->name ? m->of->name : m->of->what;
}

running_parts tp_parts_either(const moving *m, int ndom, const tp_sym *const *dom,
    const tp_ix *cond, running_parts yes, running_parts no) {
  running_parts y = { yes.n && no.n ? yes.n : 0, { tp_none } };
  for (int i = 0; i < y.n; i++) {
    y.v[i] = mk_either(m->mk, ndom, dom, cond, yes.v[i], no.v[i]);
    name_part(m, y.v[i]);
  }
  return parts_of(y.n, y.v);
}

running_parts tp_parts_select(const moving *m, tp_val cond, running_parts yes, running_parts no) {
  running_parts y = { yes.n && no.n ? yes.n : 0, { tp_none } };
  for (int i = 0; i < y.n; i++) y.v[i] = mk_select(m->mk, cond, yes.v[i], no.v[i]);
  return parts_of(y.n, y.v);
}

running_parts tp_parts_at(const moving *m, running_parts a, const tp_sym *d, const tp_ix *p) {
  for (int i = 0; i < a.n; i++) a.v[i] = mk_at(m->mk, a.v[i], d, p);
  return parts_of(a.n, a.v);
}

running_parts tp_parts_declared(const moving *m, int ndom, const tp_sym *const *dom) {
  running_parts s = tp_parts_none(m);
  for (int i = 0; i < s.n; i++) {
    const tp_out *o = tp_outof(s.v[i]);
    s.v[i] = mk_declared(m->mk, o->dtype, o->rank, o->shape, ndom, dom);
    name_part(m, s.v[i]);
  }
  return parts_of(s.n, s.v);
}

bool tp_parts_branch(const moving *m, running_parts s, const tp_ix *cond, running_parts e) {
  for (int i = 0; i < s.n; i++) {
    tp_val v = e.n ? mk_cast(m->mk, e.v[i], tp_dtypeof(s.v[i])) : tp_none;
    if (!v.node || !tp_merge_add(m->mk.g, s.v[i].node, cond, v, m->mk.err)) return false;
  }
  return s.n;
}
