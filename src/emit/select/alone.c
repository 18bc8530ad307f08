/* alone.c: finds loops whose iterations do not depend on each other, which compilers are told.
 *
 * Let a loop move window w by step[w] elements from one iteration to the next; NULL: it does not
 * touch the window. Its iterations are independent if none touches an element that another writes:
 * - a written window moves. Its step is 0 if data moves it along the loop's axis, which may give
 * two iterations one place, and if all points of the axis add to one place. Else each point has
 * elements of its own (plan/check.c).
 * - another window on the same buffer is the written one, or lies apart (lie_apart). */
#include "emit/priv.h"

static bool same_leads(const tp_region *r, const tp_nd *a, const tp_nd *b) {
  bool same = !a->lead == !b->lead;
  for (int i = 0; same && a->lead && i < r->nlead; i++)
    same = a->lead[i] == b->lead[i] || tp_is_number(r->lead[i], 1);
  return same;
}

bool tp_emit_same_elements(const tp_region *r, const tp_nd *a, const tp_nd *b) {
  bool wraps = a->wrap >= 0, same = a->wrap == b->wrap && a->rank == b->rank && same_leads(r, a, b);
  tp_nd x = *a, y = *b;
  x.wrap = y.wrap = -1;
  same = same && tp_same_start(&x, &y) && (!wraps || (a->wlo == b->wlo && a->wmod == b->wmod));
  for (int i = 0; same && i < a->rank; i++) same = a->stride[i] == b->stride[i];
  return same;
}

/* The begins of two windows differ by a multiple of `unit` and by at most `rest`. */
typedef struct {
  tp_ictx *ix;
  tp_ix *unit, *rest;
} distance;

/* Adds the part of a window's start that a place k gives: k times `by`, for k from 0 to `most`. */
static void may_differ(distance *d, tp_ix *by, tp_ix *most) {
  int64_t n;
  if (tp_ix_divexact(by, d->unit)) return;
  if (tp_ix_is_const(by, &n) && n < 0) by = tp_ix_neg(by);
  d->rest = tp_ix_add(d->rest, tp_ix_mul(by, most));
}

static void may_differ_by_window(distance *d, const tp_nd *x) {
  for (int i = 0; i < x->nring; i++)
    may_differ(d, x->ring[i].stride, tp_ix_addc(x->ring[i].width, -1));
  for (int i = 0; i < x->rank; i++) may_differ(d, x->stride[i], tp_ix_addc(x->shape[i], -1));
}

/* Is the number positive wherever the loops around run? They have an iteration then. */
static bool is_positive(const tp_emit *e, tp_ix *x) {
  tp_ix *less = tp_ix_addc(x, -1);
  bool any = tp_ix_prove_ge0(less, 0, NULL);
  for (int i = 0; i < e->nloop && !any; i++) {
    tp_ix *more = tp_ix_addc(tp_ix_sub(e->loop[i]->hi, e->loop[i]->lo), -1);
    any = tp_ix_prove_ge0(tp_ix_sub(less, more), 0, NULL);
  }
  return any;
}

/* Do iterations of n stay apart in windows that begin at different places? Let both move by `step`,
 * and let `unit` be a number of steps, not less than n. If places differ by multiples of the unit,
 * and by less than a step besides, then elements of different iterations differ: step (j - i) is no
 * multiple of the unit, and no less than a step. */
static bool lie_apart_by(
    const tp_emit *e, const tp_nd *a, const tp_nd *b, tp_ix *step, tp_ix *n, tp_ix *unit) {
  tp_ictx *ix = e->ix;
  distance d = { .ix = ix, .unit = unit, .rest = tp_ix_const(ix, 0) };
  tp_ix *more = tp_ix_sub(unit, tp_ix_mul(step, n));
  if (!tp_ix_divexact(unit, step) || !tp_ix_prove_ge0(more, 0, NULL)) return false;
  may_differ(&d, tp_ix_sub(a->off, b->off), tp_ix_const(ix, 1));
  may_differ_by_window(&d, a);
  may_differ_by_window(&d, b);
  return is_positive(e, tp_ix_sub(step, d.rest));
}

static bool lie_apart(
    const tp_emit *e, const tp_region *r, const tp_nd *a, const tp_nd *b, tp_ix *step, tp_ix *n) {
  const tp_pbuf *x = e->p->bufs.v[a->buf];
  tp_sym *share = tp_ix_as_sym(n);
  int64_t s;
  if (share && share->whole) n = share->whole;
  if (a->wrap >= 0 || b->wrap >= 0 || !same_leads(r, a, b)) return false;
  if (tp_ix_is_const(step, &s) && s < 0) step = tp_ix_const(e->ix, -s);
  bool any = lie_apart_by(e, a, b, step, n, tp_ix_mul(step, n));
  for (int i = 0; i < x->ndim + x->rank && !any; i++)
    any = lie_apart_by(e, a, b, step, n, tp_pbuf_stride(e->ix, x, i));
  return any;
}

bool tp_emit_alone(const tp_emit *e, const tp_region *r, tp_ix *n, tp_ixs step) {
  for (int i = r->nin; i < r->nin + r->nout; i++) {
    const tp_nd *out = tp_window_at(r, i);
    if (out->buf < 0 || !step[i]) continue;
    if (tp_is_number(step[i], 0)) return false;
    for (int k = 0; k < r->nin + r->nout; k++) {
      const tp_nd *x = tp_window_at(r, k);
      if (k == i || x->buf != out->buf || !step[k]) continue;
      if (step[k] != step[i]) return false;
      if (!tp_emit_same_elements(r, x, out) && !lie_apart(e, r, x, out, step[i], n)) return false;
    }
  }
  return true;
}

void tp_emit_if_alone(tp_emit *e, const tp_region *r, tp_ix *n, tp_ixs step) {
  if (tp_emit_alone(e, r, n, step)) tp_emit_line(e, "TP_IVDEP\n");
}
