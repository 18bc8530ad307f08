/* two_stacks: a reduction over the last w rows, where only the call says w. The rows lie on a ring
 * of two halves, h = w // 2 rows each.
 *
 *   .. | the half before the last | the last half | this half, up to row p
 *           from where the window begins: s | all of it: m | q                   y[p] = s m q
 *
 * q grows by each row, and is m when its half is full. While a half fills, the half before it is
 * gone through backwards, one row for each new row: g, the state of its rows from there on, takes
 * that row's place on the ring, from where it is read as s when the next half fills. So each row is
 * joined four times, whatever w is, no operation needs an inverse, and nothing waits for a row that
 * the window does not hold. */
#include "opt/prefix/prefix.h"

/* Values along r->d, at row `now`. in: the row's place in its half; half: where that half begins on
 * the ring; back: the place of the row that g takes up. w is 2 h + odd. */
typedef struct two_stacks {
  const window_rows *r;
  tp_mk mk;
  tp_ix *h, *now, *past, *at_first;
  tp_val in, half, back, begins, odd;
} two_stacks;

static tp_val before(const two_stacks *k, tp_val v) { return mk_at(k->mk, v, k->r->d, k->past); }
static partial parts_before(const two_stacks *k, partial a) {
  return tp_partial_at(k->r->m, a, k->r->d, k->past);
}
static tp_val size_of(const two_stacks *k, int64_t more) {
  return mk_size(k->mk, tp_ix_addc(k->h, more), TP_I64);
}

/* v begins with `first` and goes on with `next`. */
static bool parts_go_on(const two_stacks *k, partial v, partial first, partial next) {
  return tp_partial_branch(k->r->m, v, k->at_first, first) &&
      tp_partial_branch(k->r->m, v, NULL, next);
}
static bool goes_on(const two_stacks *k, tp_val v, tp_val first, tp_val next) {
  return parts_go_on(k, (partial){ 1, { v } }, (partial){ 1, { first } }, (partial){ 1, { next } });
}

/* ---- places on the ring: each half has one more, of no rows ---- */

static bool count_places(two_stacks *k, tp_ix *w) {
  tp_mk mk = k->mk;
  tp_node dims = { 0 };
  tp_dom_add(mk.g, &dims, k->now);
  tp_dom_add(mk.g, &dims, w);
  k->in = mk_declared(mk, TP_I64, 0, NULL, dims.ndom, dims.dom);
  k->half = mk_declared(mk, TP_I64, 0, NULL, dims.ndom, dims.dom);
  tp_val zero = mk_num(mk, 0, TP_I64), next = mk_addc(mk, before(k, k->in), 1),
         was = before(k, k->half), full = mk_bin(mk, TP_OP_GE, next, size_of(k, 0));
  k->begins = mk_binc(mk, TP_OP_EQ, k->in, 0);
  k->back = mk_sub(mk, mk_sub(mk, mk_mulc(mk, size_of(k, 0), 2), k->in), k->half);
  k->odd = mk_size(mk, tp_ix_sub(w, tp_ix_mulc(k->h, 2)), TP_I64);
  return goes_on(k, k->in, zero, mk_select(mk, full, zero, next)) &&
      goes_on(k, k->half, zero, mk_select(mk, full, mk_sub(mk, size_of(k, 1), was), was));
}

/* ---- the ring of one part ---- */

static tp_ixs ring_shape(const two_stacks *k, tp_ix *rows, tp_val like) {
  tp_ix **shape = TP_NEWN(&k->mk.g->arena, tp_ix *, tp_rankof(like) + 1);
  shape[0] = rows;
  for (int a = 0; a < tp_rankof(like); a++) shape[a + 1] = mk_extent(like, a);
  return shape;
}

static tp_val put_at(const two_stacks *k, tp_val ring, tp_val place, tp_val row) {
  tp_mk mk = k->mk;
  int rank = tp_rankof(row) + 1;
  tp_ixs one = ring_shape(k, mk_int(mk, 1), row);
  return mk_op(mk, TP_OP_PUT, 3,
      (tp_val[]){ ring, mk_expand(mk, place, rank, one), mk_reshape(mk, row, rank, one) },
      &(tp_attr){ .axis = 0 });
}

static partial all_taken_at(const two_stacks *k, const tp_val *ring, int n, tp_val place) {
  partial y = { .n = n };
  for (int i = 0; i < n; i++)
    y.v[i] = mk_op(k->mk, TP_OP_INDEX_SELECT, 2, (tp_val[]){ before(k, ring[i]), place },
        &(tp_attr){ .axis = 0 });
  return y;
}

/* The ring begins empty but for the first row; then each step puts the row, and g. */
static bool ring_goes_on(const two_stacks *k, tp_val ring, tp_val none, tp_val row, tp_val g) {
  tp_mk mk = k->mk;
  tp_val empty = mk_expand(mk, none, tp_rankof(none) + 1, tp_outof(ring)->shape),
         place = mk_add(mk, k->half, k->in);
  return goes_on(k, ring, put_at(k, empty, mk_num(mk, 0, TP_I64), row),
      put_at(k, put_at(k, before(k, ring), place, row), k->back, g));
}

partial tp_two_stacks(const window_rows *r, tp_ix *w) {
  const moving_range *m = r->m;
  tp_mk mk = m->mk;
  tp_ix *p = tp_ix_sym(r->d);
  two_stacks k = { .r = r,
    .mk = mk,
    .h = tp_ix_max(tp_ix_fdiv(w, 2), mk_int(mk, 1)),
    .now = p,
    .past = tp_ix_addc(p, -1),
    .at_first = tp_ix_cmp(TP_EQ, p, mk_int(mk, 0)) };
  partial row = tp_partial_row(m, p), none = tp_partial_none(m), part[4];
  tp_val ring[PARTIALS];
  if (!count_places(&k, w)) return tp_no_partial;
  if (r->clip) row = tp_partial_either(m, r->ndom, r->dom, tp_ix_cmp(TP_GE, p, r->clip), row, none);
  for (int i = 0; i < 4; i++) part[i] = tp_partial_declared(m, r->ndom, r->dom);
  for (int i = 0; i < none.n; i++)
    ring[i] = mk_declared(mk, tp_dtypeof(none.v[i]), tp_rankof(none.v[i]) + 1,
        ring_shape(&k, tp_ix_addc(tp_ix_mulc(k.h, 2), 2), none.v[i]), r->ndom, r->dom);
  if (mk.err->code) return tp_no_partial;
  partial q = part[0], all = part[1], g = part[2], s = part[3], full = parts_before(&k, q),
          taken = all_taken_at(&k, ring, row.n, k.back);
  tp_val begin = mk_sub(mk, mk_addc(mk, mk_add(mk, k.half, k.in), 1), k.odd);
  bool ok =
      parts_go_on(&k, q, row, tp_partial_select(m, k.begins, row, tp_partial_join(m, full, row))) &&
      parts_go_on(&k, all, none, tp_partial_select(m, k.begins, full, parts_before(&k, all))) &&
      parts_go_on(&k, g, none,
          tp_partial_select(m, k.begins, taken, tp_partial_join(m, taken, parts_before(&k, g)))) &&
      parts_go_on(&k, s, none, all_taken_at(&k, ring, row.n, begin));
  for (int i = 0; i < row.n && ok; i++) ok = ring_goes_on(&k, ring[i], none.v[i], row.v[i], g.v[i]);
  return ok ? tp_partial_join(m, tp_partial_join(m, s, all), q) : tp_no_partial;
}
