/* running_routes: what the points c send to rows p of their ranges, summed at each row (derivatives
 * of largest rows and of products).
 *
 *   A window is cut at B[c], begin <= B <= end:    B[0] = its last row,  B[c] = B[c-1] while the
 * window holds that, else its last row again
 *
 * so points of one cut follow each other, and of two windows that the cut leaves a row on one side
 * in, all rows on that side of one that the other ought to hold, it holds.
 *
 * Picked rows: picks of two points are the same or in the points' order, and a row that is picked
 * on the upper side of the cut is the last one of the window at the first point of that cut that
 * picks another row after it. So going down along c, what the points that pick one row on that side
 * sent is summed up until the point whose window ends with the row; on the lower side it is so
 * upwards, until the point whose window begins with it. A range with one end that moves has one
 * side.
 *
 * Products: prod(window but p) = prod(begin .. B) prod(B .. p) prod(p+1 .. end) for p on the upper
 * side, so with f before and g behind p
 *
 *   G[c] = v[c] prod(f, begin .. B) + g[end of c+1] G[c+1] where B[c+1] = B[c]      dx[p] = prod(f,
 * B .. p) G[c of which p is the last row] F[p] = v[c] prod(g, B .. end) + f[p-1] F[p-1] where the
 * cuts are one, c beginning with p         dx[p] += F[p] prod(g, p+1 .. B)       for p on the lower
 * side
 *
 * without division: zeros are no exception. Nothing of a row reaches a sum that is not for a window
 * that holds it. */
#include "opt/running.h"

static tp_mk route_mk(const running_route *r) { return r->m->mk; }
static const tp_ix *c_plus(const running_route *r, const tp_ix *off, int64_t steps) {
  return tp_ix_addc(route_mk(r).g->ix,
      tp_ix_add(route_mk(r).g->ix, tp_ix_sym(route_mk(r).g->ix, r->m->c), off), steps);
}
static const tp_ix *c_next(const running_route *r, int64_t steps) {
  return tp_ix_addc(route_mk(r).g->ix, tp_ix_sym(route_mk(r).g->ix, r->m->c), steps);
}
static const tp_ix *row_next(const running_route *r, int64_t steps) {
  return tp_ix_addc(route_mk(r).g->ix, tp_ix_sym(route_mk(r).g->ix, r->d), steps);
}
static tp_val number_of(const running_route *r, const tp_ix *e) {
  return tp_ixvalue(route_mk(r).g, e, route_mk(r).err);
}

/* Is it the point or row that a recurrence begins with, upwards or downwards (way -1)? */
static const tp_ix *is_first(tp_ictx *ix, const tp_sym *d, int way) {
  return tp_ix_cmp(ix, TP_EQ, tp_ix_sym(ix, d),
      way > 0 ? tp_ix_const(ix, 0) : tp_ix_addc(ix, tp_ix_sym(ix, d->bound), -1));
}

static bool goes_along(
    const running_route *r, tp_val y, const tp_sym *d, int way, tp_val first, tp_val next) {
  tp_mk mk = route_mk(r);
  if (!y.node || !first.node || !next.node) return false;
  const tp_out *o = tp_outof(y);
  y.node->what = r->m->of->name ? r->m->of->name : r->m->of->what;
  first = mk_expand(mk, mk_cast(mk, first, o->dtype), o->rank, o->shape),
  next = mk_expand(mk, mk_cast(mk, next, o->dtype), o->rank, o->shape);
  return first.node && next.node &&
      tp_merge_add(mk.g, y.node, is_first(mk.g->ix, d, way), first, mk.err) &&
      tp_merge_add(mk.g, y.node, NULL, next, mk.err);
}

/* Of the shape and dims of a and b together. */
static tp_val carried_like(tp_mk mk, tp_val a, tp_val b, tp_dtype t) {
  tp_val both = mk_mul(mk, mk_cast(mk, a, t), mk_cast(mk, b, t));
  return both.node
      ? mk_declared(mk, t, tp_rankof(both), tp_outof(both)->shape, both.node->ndom, both.node->dom)
      : both;
}

static tp_val unless(tp_mk mk, const tp_ix *cond, tp_val yes, double no) {
  if (!yes.node || !cond) return yes;
  const tp_out *o = tp_outof(yes);
  tp_node dims = { .ndom = yes.node->ndom, .dom = yes.node->dom };
  tp_dom_add(mk.g, &dims, cond);
  return mk_either(
      mk, dims.ndom, dims.dom, cond, yes, mk_fill(mk, no, o->dtype, o->rank, o->shape, 0, NULL));
}

/* ---- where windows are cut ---- */

static tp_val cut_of(const running_route *r) {
  tp_mk mk = route_mk(r);
  tp_ictx *ix = mk.g->ix;
  const moving *m = r->m;
  const tp_ix *w = tp_ix_sub(ix, m->h, m->l), *last = c_plus(r, m->h, -1), *c = tp_ix_sym(ix, m->c);
  int64_t rows;
  if (tp_ix_is_const(w, &rows))
    return number_of(
        r, tp_ix_add(ix, tp_ix_addc(ix, m->h, -1), tp_ix_mulc(ix, tp_ix_fdiv(ix, c, rows), rows)));
  tp_node dims = { 0 };
  tp_dom_add(mk.g, &dims, last);
  tp_dom_add(mk.g, &dims, w);
  tp_val cut = mk_declared(mk, TP_I64, 0, NULL, dims.ndom, dims.dom),
         before = mk_at(mk, cut, m->c, c_next(r, -1)), end = number_of(r, last);
  tp_val next =
      mk_select(mk, mk_bin(mk, TP_OP_GT, number_of(r, c_plus(r, m->l, 0)), before), end, before);
  return goes_along(r, cut, m->c, 1, end, next) ? cut : tp_none;
}

/* ---- picked rows ---- */

/* hit: where the pick counts; {NULL}: everywhere. */
static tp_val picked_side(const running_route *r, int way, tp_val v, tp_val place, tp_val hit) {
  tp_mk mk = route_mk(r);
  tp_ictx *ix = mk.g->ix;
  const tp_sym *c = r->m->c;
  tp_val sum = carried_like(mk, v, place, tp_dtypeof(v)),
         key = hit.node ? carried_like(mk, place, hit, TP_I64) : place;
  const tp_ix *at = way < 0 ? r->from.lo : tp_ix_addc(ix, r->from.hi, -1),
              *neighbour = c_next(r, -way);
  tp_val more = mk_at(mk, sum, c, neighbour), was = mk_at(mk, key, c, neighbour),
         next = mk_add(mk, v, mk_where(mk, mk_bin(mk, TP_OP_EQ, place, was), more)), first = v;
  if (hit.node) {
    tp_val none = mk_num(mk, -1, TP_I64);
    next = mk_select(mk, hit, next, more), first = mk_where(mk, hit, v);
    if (!goes_along(
            r, key, c, way, mk_select(mk, hit, place, none), mk_select(mk, hit, place, was)))
      return tp_none;
  }
  if (!goes_along(r, sum, c, way, first, next)) return tp_none;
  return mk_where(mk,
      mk_bin(mk, TP_OP_EQ, mk_at(mk, key, c, at), number_of(r, tp_ix_sym(ix, r->d))),
      mk_at(mk, sum, c, at));
}

tp_val tp_route_picked(const running_route *r, tp_val v, tp_val place, bool some) {
  tp_mk mk = route_mk(r);
  const moving *m = r->m;
  tp_val any = some ? mk_binc(mk, TP_OP_GE, place, 0) : tp_none, upper = any, lower = any;
  if (m->l && m->h) {
    tp_val above = mk_bin(mk, TP_OP_GE, place, cut_of(r)), below = mk_un(mk, TP_OP_LNOT, above);
    upper = some ? mk_and(mk, above, any) : above, lower = some ? mk_and(mk, below, any) : below;
    if (!lower.node) return lower;
  }
  if (!m->l) return picked_side(r, -1, v, place, upper);
  if (!m->h) return picked_side(r, 1, v, place, lower);
  return mk_add(mk, picked_side(r, -1, v, place, upper), picked_side(r, 1, v, place, lower));
}

/* ---- products of all other rows ---- */

/* t: what is carried. cut: of each c; held: held by each row, -1 where there is none. same: is the
 * cut of c that of c - 1? */
typedef struct route_beside {
  const running_route *r;
  tp_dtype t;
  tp_val v, cut, held, same;
} route_beside;

/* lo <= e < hi, for all of dim d; NULL: always. */
static const tp_ix *lies_in(
    const running_route *r, const tp_sym *d, const tp_ix *e, const tp_ix *lo, const tp_ix *hi) {
  tp_ictx *ix = route_mk(r).g->ix;
  const tp_ix *from =
      tp_ix_prove_ge0(ix, tp_ix_sub(ix, e, lo), 1, &d) ? NULL : tp_ix_cmp(ix, TP_GE, e, lo);
  return tp_ix_both(ix, from,
      tp_ix_prove_ge0(ix, tp_ix_addc(ix, tp_ix_sub(ix, hi, e), -1), 1, &d)
          ? NULL
          : tp_ix_cmp(ix, TP_LT, e, hi));
}

/* Is c, which is told by a row, a point? */
static const tp_ix *is_point(const running_route *r, const tp_ix *c) {
  return lies_in(
      r, r->d, c, tp_ix_const(route_mk(r).g->ix, 0), tp_ix_sym(route_mk(r).g->ix, r->m->c->bound));
}

/* The point whose range begins with row p (way 1), or ends with it. */
static const tp_ix *point_of(const running_route *r, int way) {
  tp_ictx *ix = route_mk(r).g->ix;
  return way > 0 ? tp_ix_sub(ix, row_next(r, 0), r->m->l)
                 : tp_ix_addc(ix, tp_ix_sub(ix, row_next(r, 0), r->m->h), 1);
}

/* The last point by way, and where that of a row lies behind it. */
static const tp_ix *last_point(const running_route *r, int way) {
  return way > 0 ? tp_ix_addc(route_mk(r).g->ix, tp_ix_sym(route_mk(r).g->ix, r->m->c->bound), -1)
                 : tp_ix_const(route_mk(r).g->ix, 0);
}

/* NULL: none does. */
static const tp_ix *is_behind(const running_route *r, int way) {
  tp_ictx *ix = route_mk(r).g->ix;
  const tp_ix *c = point_of(r, way), *bound = tp_ix_sym(ix, r->m->c->bound),
              *far = way > 0 ? tp_ix_sub(ix, c, bound) : tp_ix_addc(ix, tp_ix_neg(ix, c), -1);
  if (tp_ix_prove_ge0(ix, tp_ix_addc(ix, tp_ix_neg(ix, far), -1), 1, &r->d)) return NULL;
  const tp_ix *some =
      r->d->bound == r->m->c->bound ? NULL : tp_ix_cmp(ix, TP_GE, bound, tp_ix_const(ix, 1));
  return tp_ix_both(ix, some, tp_ix_cmp(ix, TP_GE, far, tp_ix_const(ix, 0)));
}

/* Of row p: what v is at its point, or at the last point if that lies behind it; `none` where there
 * is none. */
static tp_val held_by(const running_route *r, int way, tp_val v, double none) {
  tp_mk mk = route_mk(r);
  const tp_ix *c = point_of(r, way), *behind = is_behind(r, way);
  tp_val here = mk_at(mk, v, r->m->c, c),
         last = behind ? mk_at(mk, v, r->m->c, last_point(r, way)) : here;
  if (!behind || !here.node || !last.node) return unless(mk, is_point(r, c), here, none);
  tp_node dims = { .ndom = here.node->ndom, .dom = here.node->dom };
  tp_dom_add(mk.g, &dims, c);
  tp_val y = mk_declared(mk, tp_dtypeof(v), 0, NULL, dims.ndom, dims.dom);
  bool ok = y.node && tp_merge_add(mk.g, y.node, behind, last, mk.err) &&
      tp_merge_add(mk.g, y.node, is_point(r, c), here, mk.err);
  return ok && tp_merge_add(mk.g, y.node, NULL, mk_num(mk, none, tp_dtypeof(v)), mk.err) ? y
                                                                                         : tp_none;
}

/* Factor f of row p, 1 where that is none of the range's. */
static tp_val factor_at(const route_beside *b, tp_val f, const tp_ix *p, const tp_sym *along) {
  const moving *m = b->r->m;
  tp_mk mk = m->mk;
  tp_ictx *ix = mk.g->ix;
  tp_val y = mk_cast(mk, mk_at(mk, f, b->r->d, p), b->t);
  const tp_ix *lo = m->L ? tp_ix_max(ix, m->L, tp_ix_const(ix, 0)) : tp_ix_const(ix, 0),
              *end = tp_ix_sym(ix, b->r->d->bound), *hi = m->H ? tp_ix_min(ix, m->H, end) : end;
  return unless(mk, lies_in(b->r, along, p, lo, hi), y, 1);
}

/* Of c: the product of f from the cut to the window's end. */
static tp_val upper_product(const route_beside *b, tp_val f) {
  tp_mk mk = route_mk(b->r);
  const moving *m = b->r->m;
  tp_val row = factor_at(b, f, c_plus(b->r, m->h, -1), m->c),
         y = carried_like(mk, row, b->cut, b->t);
  tp_val next = mk_select(mk, b->same, mk_mul(mk, mk_at(mk, y, m->c, c_next(b->r, -1)), row), row);
  return goes_along(b->r, y, m->c, 1, row, next) ? y : tp_none;
}

/* But for the last row. */
static tp_val upper_before_last(const route_beside *b, tp_val product) {
  tp_mk mk = route_mk(b->r);
  const moving *m = b->r->m;
  tp_val one = mk_num(mk, 1, b->t), y = carried_like(mk, product, b->cut, b->t);
  return goes_along(b->r, y, m->c, 1, one,
             mk_select(mk, b->same, mk_at(mk, product, m->c, c_next(b->r, -1)), one))
      ? y
      : tp_none;
}

static tp_val is_below_cut(const route_beside *b, int64_t steps) {
  return mk_bin(route_mk(b->r), TP_OP_LT, number_of(b->r, row_next(b->r, steps)), b->held);
}

/* Of row p: the product of f from p to the cut that holds it. */
static tp_val lower_product(const route_beside *b, tp_val f) {
  tp_mk mk = route_mk(b->r);
  tp_val row = factor_at(b, f, row_next(b->r, 0), b->r->d),
         y = carried_like(mk, row, b->held, b->t);
  tp_val next = mk_mul(mk, row,
      mk_select(
          mk, is_below_cut(b, 1), mk_at(mk, y, b->r->d, row_next(b->r, 1)), mk_num(mk, 1, b->t)));
  return goes_along(b->r, y, b->r->d, -1, row, next) ? y : tp_none;
}

/* From row p + 1. */
static tp_val lower_after(const route_beside *b, tp_val product) {
  tp_mk mk = route_mk(b->r);
  tp_val one = mk_num(mk, 1, b->t), y = carried_like(mk, product, b->held, b->t);
  return goes_along(b->r, y, b->r->d, -1, one,
             mk_select(mk, is_below_cut(b, 1), mk_at(mk, product, b->r->d, row_next(b->r, 1)), one))
      ? y
      : tp_none;
}

/* Of c: from the window's begin to its cut. */
static tp_val lower_whole(const route_beside *b, tp_val product) {
  tp_mk mk = route_mk(b->r);
  tp_ictx *ix = mk.g->ix;
  const tp_ix *begin = tp_ix_max(ix, c_plus(b->r, b->r->m->l, 0), tp_ix_const(ix, 0));
  tp_val one = mk_num(mk, 1, b->t), there = mk_at(mk, product, b->r->d, begin);
  tp_val y = mk_select(mk, mk_bin(mk, TP_OP_GT, b->cut, number_of(b->r, begin)), there,
      mk_expand(mk, one, tp_rankof(product), tp_outof(product)->shape));
  return unless(mk,
      lies_in(b->r, b->r->m->c, begin, tp_ix_const(ix, 0), tp_ix_sym(ix, b->r->d->bound)), y, 1);
}

/* v times `by`, where it is sent. */
static tp_val sent(const route_beside *b, tp_val by) {
  tp_mk mk = route_mk(b->r);
  tp_val y = mk_mul(mk, b->v, by);
  return b->r->cond ? unless(mk, b->r->cond, y, 0) : y;
}

/* Has c, or a point before it (way 1) or behind it of the same cut, sent anything? {NULL}: all do.
 * same {NULL}: there is no cut. */
static bool sent_so_far(const route_beside *b, int way, tp_val same, tp_val *any) {
  tp_mk mk = route_mk(b->r);
  *any = tp_none;
  if (!b->r->cond) return true;
  tp_val one = mk_num(mk, 1, TP_BOOL), none = mk_num(mk, 0, TP_BOOL),
         here = unless(mk, b->r->cond, one, 0);
  if (!here.node) return false;
  tp_node dims = { .ndom = here.node->ndom, .dom = here.node->dom };
  if (same.node)
    dims.ndom = tp_dom_union(mk.g, dims.ndom, dims.dom, same.node->ndom, same.node->dom, &dims.dom);
  tp_dom_add(mk.g, &dims, c_next(b->r, 0));
  *any = mk_declared(mk, TP_BOOL, 0, NULL, dims.ndom, dims.dom);
  tp_val was = mk_at(mk, *any, b->r->m->c, c_next(b->r, -way));
  return goes_along(b->r, *any, b->r->m->c, way, here,
      mk_select(mk, here, one, same.node ? mk_select(mk, same, was, none) : was));
}

/* v times `by`, {NULL}: 1, and what the neighbours of the same cut sent times the factors f of the
 * rows in between. */
static tp_val sum_along(const route_beside *b, int way, tp_val by, tp_val f, tp_val *any) {
  tp_mk mk = route_mk(b->r);
  const moving *m = b->r->m;
  const tp_ix *neighbour = c_next(b->r, -way);
  tp_val v = by.node ? sent(b, by) : b->v,
         row = factor_at(b, f, way > 0 ? c_plus(b->r, m->l, -1) : c_plus(b->r, m->h, 0), m->c),
         y = carried_like(mk, v, row, b->t);
  tp_val same = way > 0 || !b->same.node ? b->same : mk_at(mk, b->same, m->c, neighbour),
         more = mk_mul(mk, row, mk_at(mk, y, m->c, neighbour));
  if (!sent_so_far(b, way, same, any)) return tp_none;
  if (any->node)
    same = same.node ? mk_and(mk, same, mk_at(mk, *any, m->c, neighbour))
                     : mk_at(mk, *any, m->c, neighbour);
  return goes_along(
             b->r, y, m->c, way, v, mk_add(mk, v, same.node ? mk_where(mk, same, more) : more))
      ? y
      : tp_none;
}

/* Of each row what its point has; behind the last point what that has, with the factors of the rows
 * since. */
static tp_val rows_of_sum(const route_beside *b, int way, tp_val sum, tp_val f) {
  tp_mk mk = route_mk(b->r);
  tp_ictx *ix = mk.g->ix;
  const running_route *r = b->r;
  const tp_ix *c = point_of(r, way), *first = is_first(ix, r->d, way), *behind = is_behind(r, way);
  tp_val here = mk_at(mk, sum, r->m->c, c);
  if (!behind || !here.node) return unless(mk, is_point(r, c), here, 0);
  tp_val row = factor_at(b, f, row_next(r, -way), r->d),
         last = mk_at(mk, sum, r->m->c, last_point(r, way)), y = carried_like(mk, here, row, b->t);
  tp_val next = mk_mul(mk, row, mk_at(mk, y, r->d, row_next(r, -way))),
         none = y.node ? mk_zeros_like(mk, y) : y;
  bool ok = last.node && next.node && none.node &&
      tp_merge_add(mk.g, y.node, tp_ix_both(ix, behind, first), last, mk.err) &&
      tp_merge_add(mk.g, y.node, behind, next, mk.err);
  ok = ok && tp_merge_add(mk.g, y.node, is_point(r, c), here, mk.err);
  return ok && (!is_point(r, c) || tp_merge_add(mk.g, y.node, NULL, none, mk.err)) ? y : tp_none;
}

tp_val tp_route_fading(const running_route *r, tp_val v, tp_val by, bool behind) {
  int way = behind ? -1 : 1;
  tp_val any;
  route_beside b = { .r = r, .t = tp_dtypeof(v), .v = v };
  tp_val sum = sum_along(&b, way, tp_none, by, &any),
         y = sum.node ? rows_of_sum(&b, way, sum, by) : sum;
  return any.node ? mk_where(route_mk(r), held_by(r, way, any, 0), y) : y;
}

tp_val tp_route_beside(const running_route *r, tp_val v, tp_val before, tp_val behind) {
  tp_mk mk = route_mk(r);
  tp_ictx *ix = mk.g->ix;
  const moving *m = r->m;
  route_beside b = { .r = r, .t = tp_dtypeof(v), .v = v, .cut = cut_of(r) };
  b.held = b.cut.node ? held_by(r, 1, b.cut, -1) : tp_none;
  if (!b.held.node) return tp_none;
  b.same = mk_bin(mk, TP_OP_EQ, b.cut, mk_at(mk, b.cut, m->c, c_next(r, -1)));
  tp_val f_upper = upper_product(&b, before), f_lower = lower_product(&b, before);
  tp_val g_upper = behind.node == before.node ? f_upper : upper_product(&b, behind),
         g_lower = behind.node == before.node ? f_lower : lower_product(&b, behind);
  if (!f_upper.node || !f_lower.node || !g_upper.node || !g_lower.node) return tp_none;
  tp_val up_any, low_any, below = is_below_cut(&b, 0);
  tp_val lower = sum_along(&b, 1, g_upper, before, &low_any);
  if (!lower.node) return lower;
  tp_val up = mk_mul(mk, upper_before_last(&b, f_upper),
             sum_along(&b, -1, lower_whole(&b, f_lower), behind, &up_any)),
         low = mk_mul(mk, rows_of_sum(&b, 1, lower, before), lower_after(&b, g_lower));
  if (up_any.node)
    up = mk_where(mk, up_any, up), below = mk_and(mk, below, held_by(r, 1, low_any, 0));
  const tp_ix *c = tp_ix_addc(ix, tp_ix_sub(ix, row_next(r, 0), m->h), 1);
  return mk_add(
      mk, unless(mk, is_point(r, c), mk_at(mk, up, m->c, c), 0), mk_where(mk, below, low));
}
