/* poly: frees the isl objects that lowering and scheduling leave. */
#include "poly/poly.h"

void tp_run_range(const tp_stmt *s, const tp_tree *run, int d, tp_ix **lo, tp_ix **hi) {
  tp_sym *dim[s->ndim + 1];
  tp_ix *at[s->ndim + 1];
  int n = 0;
  for (int e = 0; e < s->ndim; e++)
    if (!(s->vec >> e & 1)) dim[n] = s->dim[e], at[n++] = run->arg[e];
  *lo = tp_ix_subst(s->vlo[d], n, dim, at);
  *hi = tp_ix_subst(s->vhi[d], n, dim, at);
  if (d == s->bdim) {
    tp_ix *from = tp_ix_sub(tp_ix_mulc(run->arg[d], s->block), s->bshift);
    *lo = tp_ix_max(*lo, from);
    *hi = tp_ix_min(*hi, tp_ix_addc(from, s->block));
  }
  if (run->top && run->top[d]) *hi = tp_ix_min(*hi, run->top[d]);
}

tp_poly *tp_poly_free(tp_poly *p) {
  if (!p) return NULL;
  for (int i = 0; i < p->stmts.n; i++) {
    tp_stmt *s = p->stmts.v[i];
    tp_set_free(s->dom);
    for (int k = 0; k < s->nacc; k++) tp_rel_free(s->acc[k].rel);
  }
  for (int i = 0; i < p->late.n; i++) tp_set_free(p->late.v[i].bad);
  return NULL;
}
