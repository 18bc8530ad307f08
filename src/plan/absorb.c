/* absorb: a loop around one leaf becomes an axis of it.
 *
 *   for s = lo .. hi { a[t] += x[s] }   =>   a[t] += x[lo + k] over k = 0 .. hi - lo, folded
 *
 * A range whose ends depend on loops around it is no box, so the scheduler makes no call that goes
 * over it; here a leaf goes over as many places as its turn has. It is right if each iteration
 * writes elements of its own, or all fold into the same ones, which nothing else in the loop
 * touches, and if every window moves by one stride, and by none on a ring. A fold adds up in the
 * order of folds (plan/walk.c) on every tier; other elements keep their bits. A leaf that may fail
 * names its point by the loops around it, so it stays as it is. */
#include "plan/priv.h"

/* Does the region read the buffers that it writes at the very same places only, or not at all? */
static bool reads_own(const tp_region *r, bool folds) {
  for (int i = 0; i < r->nin; i++)
    for (int k = 0; k < r->nout; k++)
      if (r->in[i].buf == r->out[k].buf &&
          (folds || !tp_same_window(&r->in[i], &r->out[k], r->nlead)))
        return false;
  return true;
}

/* Finds the strides of the windows along the loop. False: a window has none, so the loop stays. */
static bool strides_along(const tp_pnode *x, const tp_region *r, tp_ix **by, bool *folds) {
  for (int k = 0; k < r->nlead; k++)
    if (tp_ix_mentions(r->lead[k], x->var) || tp_ix_mentions(r->leadlo[k], x->var)) return false;
  for (int k = 0; k < r->nmicro; k++)
    if (r->micro[k].ix && tp_ix_mentions(r->micro[k].ix, x->var)) return false;
  for (int i = 0; i < r->nin + r->nout; i++)
    if (!(by[i] = tp_step_of(r, tp_window_at(r, i), x->var, false))) return false;
  *folds = r->acc && r->nout == 1 && tp_is_number(by[r->nin], 0);
  for (int i = r->nin; i < r->nin + r->nout && !*folds; i++)
    if (!x->independent || tp_is_number(by[i], 0)) return false;
  return reads_own(r, *folds);
}

bool tp_absorb_loop(tp_plan *p, tp_pnode *x, bool varies) {
  tp_region *r = x->kind == TP_P_FOR ? tp_only_leaf(x->kid[0]) : NULL;
  if (!r || !tp_fits_tile(r) || r->nlead == TP_MAXRANK || tp_loop_fails(p, r)) return false;
  tp_ix *n = tp_ix_sub(x->hi, x->lo);
  tp_ix **by = TP_NEWN(p->a, tp_ix *, r->nin + r->nout);
  bool folds, whole = x->step == 1 || x->step == -1;
  if (!whole || (varies && tp_ix_of_bounds(n)) || !strides_along(x, r, by, &folds)) return false;
  r = tp_region_copy(p, r);
  tp_add_axis(p, r, x, by);
  r->sums |= folds;
  tp_become(x, tp_plan_leaf(p->a, r));
  return true;
}

void tp_plan_absorb(tp_plan *p, const tp_planned *asked) {
  bool any = false;
  TP_KIDS_FIRST (k, p->body) any |= !asked->by_rows && tp_absorb_loop(p, k.x, true);
  if (any) tp_plan_fuse(p, asked);
}
