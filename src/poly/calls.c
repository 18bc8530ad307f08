/* calls: the points of a statement that need a call of their own, and their rows, in the form that
 * isl gets. */
#include "poly/schedule_tree.h"

/* floor((x_d + shift) / size) on the space of dom. */
static isl_pw_aff *block_number(tp_sched *S, const tp_stmt *s, isl_space *space) {
  isl_pw_aff *x = isl_pw_aff_from_aff(isl_aff_var_on_domain(
      isl_local_space_from_space(isl_space_copy(space)), isl_dim_set, s->bdim));
  isl_pw_aff *shift = tp_isl_of_ix(S->ix, 0, NULL, s->bshift);
  x = isl_pw_aff_add(
      x, isl_pw_aff_insert_domain(isl_pw_aff_project_domain_on_params(shift), space));
  return isl_pw_aff_floor(isl_pw_aff_scale_down_val(x, tp_isl_int(S->ctx, s->block)));
}

/* The dim cut in blocks as the number of its block. */
static isl_set *by_block(tp_sched *S, const tp_stmt *s, isl_set *dom) {
  isl_space *space = isl_set_get_space(dom);
  isl_multi_pw_aff *m = isl_multi_pw_aff_from_pw_multi_aff(
      isl_pw_multi_aff_identity(isl_space_map_from_set(isl_space_copy(space))));
  m = isl_multi_pw_aff_set_pw_aff(m, s->bdim, block_number(S, s, space));
  return isl_set_apply(dom, isl_map_from_multi_pw_aff(m));
}

int tp_call_dim(const tp_stmt *s, int dim) {
  int at = 0;
  for (int d = 0; d < dim; d++) at += tp_is_called(s, d);
  return at;
}

/* The points that need a call of their own: the domain without vector dims. */
static isl_set *exact_calls(tp_sched *S, int st) {
  const tp_stmt *s = S->p->stmts.v[st];
  isl_set *dom = isl_set_copy(s->dom);
  if (s->bdim >= 0) dom = by_block(S, s, dom);
  for (int d = s->ndim - 1; d >= 0; d--)
    if (!tp_is_called(s, d)) dom = isl_set_project_out(dom, isl_dim_set, d, 1);
  return dom;
}

/* Does isl make loops around the hull of these points, so that the call asks whether its point is
 * one of them? It does if pieces are many, or two with divisions, which isl may take for more
 * points when it coalesces them somewhere on its way (tp_isl_coalesce). */
static bool outlined(const tp_sched *S, TP_KEEP isl_set *dom) {
  int n = (int)isl_set_n_basic_set(dom);
  return n > (S->outlined ? 1 : TP_TUNE_MANY_PIECES) || tp_isl_divided(dom);
}

tp_ix *tp_call_asks(tp_sched *S, int st) {
  const tp_stmt *s = S->p->stmts.v[st];
  tp_sym *dims[s->ndim + 1];
  int n = 0;
  if (S->st[st].asked || isl_set_n_basic_set(s->dom) < 2) return S->st[st].asks;
  isl_set *dom = exact_calls(S, st);
  for (int d = 0; d < s->ndim; d++)
    if (tp_is_called(s, d)) dims[n++] = s->dim[d];
  if (outlined(S, dom)) S->st[st].asks = tp_cond_of_set(S->ix, n, dims, dom);
  S->st[st].asked = true;
  isl_set_free(dom);
  return S->st[st].asks;
}

/* isl's outline of these points along some dims of the statement, all or those that are called. It
 * is unbounded where its pieces' sides have no direction in common, and isl makes no loops of that:
 * the box bounds it. */
static isl_set *outline_of(tp_sched *S, const tp_stmt *s, TP_TAKE isl_set *dom, bool all) {
  tp_sym *dims[s->ndim + 1];
  int n = 0;
  bool box = true;
  for (int d = 0; d < s->ndim; d++)
    if (all || tp_is_called(s, d))
      dims[n++] = s->label[d], box &= s->label[d]->bound && d != s->bdim;
  isl_set *hull = isl_set_from_basic_set(isl_set_simple_hull(isl_set_compute_divs(dom)));
  return box ? tp_set_and(hull, tp_set_box(S->ix, n, dims)) : hull;
}

TP_KEEP isl_set *tp_called_set(tp_sched *S, int st) {
  if (S->st[st].calls) return S->st[st].calls;
  isl_set *dom = exact_calls(S, st);
  if (tp_call_asks(S, st)) dom = outline_of(S, S->p->stmts.v[st], dom, false);
  return S->st[st].calls = tp_keep_set(S, dom);
}

/* The row, in a loop over blocks, of a statement that runs over a block in one call: the block's
 * number. */
static isl_pw_aff *block_row(tp_sched *S, const tp_stmt *s, int sign) {
  int at = tp_call_dim(s, s->bdim), n = tp_call_dim(s, s->ndim);
  isl_aff *x =
      isl_aff_var_on_domain(isl_local_space_from_space(tp_isl_space(S->ix, n)), isl_dim_set, at);
  return isl_pw_aff_from_aff(sign > 0 ? x : isl_aff_neg(x));
}

/* Rows do not mention vector dims. */
isl_pw_aff *tp_call_row(tp_sched *S, const tp_mem *m) {
  const tp_stmt *s = S->p->stmts.v[m->st];
  bool block = s->bdim >= 0 && m->blocks == s->bdim + 1;
  isl_pw_aff *row = block ? block_row(S, s, m->s) : isl_pw_aff_copy(m->row);
  for (int d = s->ndim - 1; d >= 0 && !block; d--)
    if (!tp_is_called(s, d)) row = isl_pw_aff_drop_dims(row, isl_dim_in, (unsigned)d, 1);
  return isl_pw_aff_set_tuple_id(row, isl_dim_in, tp_stmt_id(S, m->st));
}

/* The points as a statement of isl's, first without those that the context rules out: isl makes no
 * loop of a piece that is void there. */
TP_KEEP isl_set *tp_told_set(tp_sched *S, int st) {
  tp_sst *s = &S->st[st];
  if (s->told) return s->told;
  isl_set *dom = isl_set_gist_params(
      isl_set_intersect_params(isl_set_copy(tp_called_set(S, st)), isl_set_copy(S->context)),
      isl_set_copy(S->context));
  return s->told = tp_keep_set(S, isl_set_set_tuple_id(dom, tp_stmt_id(S, st)));
}

isl_set *tp_few_pieces(tp_sched *S, int st) {
  isl_set *dom = isl_set_copy(S->p->stmts.v[st]->dom);
  return outlined(S, dom) ? outline_of(S, S->p->stmts.v[st], dom, true) : dom;
}
