/* split: what to do with a component that has no legal dim. A cycle of statements need not be one
 * of points: PPO's rollout (i, t) reads w[i, k] at k = 0 only. The statement that has a dim which
 * its neighbour lacks is cut at the slice that their arc touches, and everything starts anew. */
#include "poly/sched.h"

static tp_stmt *piece(tp_sched *S, const tp_stmt *s, TP_TAKE tp_set *dom) {
  tp_stmt *p = tp_dup(S->a, s, sizeof *s);
  p->dom = dom;
  p->acc = tp_dup(S->a, s->acc, sizeof *s->acc * (size_t)s->nacc);
  for (int i = 0; i < s->nacc; i++)
    p->acc[i].rel = tp_isl_coalesce_map(
        isl_map_intersect_domain(isl_map_copy(s->acc[i].rel), isl_set_copy(dom)));
  return p;
}

static void replace_by_two(tp_sched *S, int st, TP_TAKE tp_set *a, TP_TAKE tp_set *b) {
  tp_stmt *old = S->p->stmts.v[st], *one = piece(S, old, a), *two = piece(S, old, b);
  for (int i = 0; i < old->nacc; i++) old->acc[i].rel = isl_map_free(old->acc[i].rel);
  old->dom = isl_set_free(old->dom);
  TP_PUSH(S->a, &S->p->stmts, two);
  for (int i = S->p->stmts.n - 1; i > st + 1; i--) S->p->stmts.v[i] = S->p->stmts.v[i - 1];
  S->p->stmts.v[st] = one;
  S->p->stmts.v[st + 1] = two;
  for (int i = 0; i < S->p->stmts.n; i++) S->p->stmts.v[i]->id = i;
}

static bool has_points(const tp_sched *S, TP_KEEP isl_set *a) {
  isl_set *mine = a ? isl_set_intersect_params(isl_set_copy(a), isl_set_copy(S->context)) : NULL;
  bool any = mine && isl_set_is_empty(mine) == isl_bool_false;
  isl_set_free(mine);
  return any;
}

/* Cuts statement st at the values of dim d that `touched` has. */
static bool cut_stmt(tp_sched *S, int st, int d, TP_TAKE isl_set *touched) {
  tp_stmt *s = S->p->stmts.v[st];
  tp_query(S);
  isl_set *slice = isl_set_eliminate(
      isl_set_eliminate(touched, isl_dim_set, 0, d), isl_dim_set, d + 1, s->ndim - d - 1);
  slice = isl_set_drop_constraints_not_involving_dims(tp_isl_coalesce(slice), isl_dim_set, d, 1);
  isl_set *in = tp_isl_coalesce(isl_set_intersect(isl_set_copy(s->dom), isl_set_copy(slice)));
  isl_set *out = tp_isl_coalesce(isl_set_subtract(isl_set_copy(s->dom), slice));
  bool proper = has_points(S, in) && has_points(S, out);
  if (!tp_query_end(S) || !proper) {
    isl_set_free(in);
    isl_set_free(out);
    return false;
  }
  replace_by_two(S, st, in, isl_set_make_disjoint(out));
  S->nsplit++;
  return true;
}

static bool cut_end(tp_sched *S, const tp_arc *e, bool src, bool guess) {
  const tp_dep *dep = tp_dep_of(S, e);
  int st = src ? dep->src : dep->dst, other = src ? dep->dst : dep->src;
  const tp_stmt *s = S->p->stmts.v[st];
  for (int d = 0; d < s->ndim; d++) {
    if (tp_dim_of(S, st, s->label[d]) != d || (!guess && tp_dim_of(S, other, s->label[d]) >= 0))
      continue;
    isl_map *m = isl_map_copy(e->map);
    if (cut_stmt(S, st, d, src ? isl_map_domain(m) : isl_map_range(m))) return true;
  }
  return false;
}

bool tp_split(tp_sched *S, const tp_level *L, const tp_scc *c) {
  if (S->nsplit >= TP_TUNE_SPLITS) return false;
  tp_arcs in = L->inner[c - L->scc];
  for (int guess = 0; guess < 2 && (!guess || S->nsplit < TP_TUNE_SPLIT_GUESSES); guess++)
    for (int e = 0; e < in.n; e++)
      if (cut_end(S, &in.v[e], true, guess) || cut_end(S, &in.v[e], false, guess)) return true;
  return false;
}
