/* spread: rows whose extents follow the point lie as far apart as the largest, so that windows on a
 * block of them move by one stride. */
#include "poly/sched.h"

/* Do strides of its shape follow the point? */
static bool has_strides_that_follow(const tp_arr *x) {
  int axis;
  return x->rank && tp_varies(x->rank - 1, x->shape + 1, x->ndim, x->dim, &axis);
}

static bool shares_place(const tp_poly *p, const tp_arr *x) {
  bool any = x->in;
  for (int i = 0; i < p->arrs.n; i++) any |= p->arrs.v[i]->in == x;
  return any;
}

/* A view that joins axes cannot be one of rows that lie apart. */
static void keep_views(tp_poly *p, const tp_opnd *o) {
  tp_arr *x = tp_array_of(p, o->base);
  if (x && o->bad) x->apart = false;
}

void tp_spread_rows(tp_sched *S) {
  tp_poly *p = S->p;
  tp_opnd o;
  bool any = false;
  for (int i = 0; i < p->stmts.n; i++) any |= p->stmts.v[i]->rdim >= 0;
  for (int i = 0; i < p->arrs.n && any; i++) {
    tp_arr *x = p->arrs.v[i];
    x->apart = x->kind == TP_ARR_TEMP && has_strides_that_follow(x) && !shares_place(p, x);
  }
  for (int i = 0; i < p->stmts.n && any; i++) {
    const tp_stmt *s = p->stmts.v[i];
    for (int n = 0; n < s->nnode; n++)
      for (int k = 0; k < s->node[n]->nin; k++)
        if (tp_stmt_operand(p, s, n, k, &o, S->err)) keep_views(p, &o);
    if (s->src.node && tp_stmt_src(p, s, &o, S->err)) keep_views(p, &o);
  }
  /* all pieces of a value, or none */
  for (int i = 0; i < p->arrs.n; i++)
    if (p->arrs.v[i]->piece) tp_array_of(p, p->arrs.v[i]->val)->apart &= p->arrs.v[i]->apart;
  for (int i = 0; i < p->arrs.n; i++)
    if (p->arrs.v[i]->piece) p->arrs.v[i]->apart = tp_array_of(p, p->arrs.v[i]->val)->apart;
}
