/* assume: a component without a legal dim may be a cycle for some bounds only (h[t] = h[t - p] at p
 * = 0). Then the order is looked for without these bounds, and each call checks that it was not
 * given them. */
#include "poly/sched.h"

/* The bounds for which m has points; NULL: not known. */
static isl_set *bounds_of(tp_sched *S, isl_map *m) {
  tp_query(S);
  isl_set *b = isl_map_params(isl_map_intersect_params(isl_map_copy(m), isl_set_copy(S->context)));
  b = tp_isl_coalesce(isl_set_compute_divs(b));
  return tp_query_end(S) ? b : isl_set_free(b);
}

/* Are bounds left that are no special case, as some that are all large? */
static bool leaves_enough(tp_sched *S, TP_KEEP isl_set *bad) {
  isl_set *rest = isl_set_subtract(
      isl_set_intersect(tp_isl_context(S->ix, TP_TUNE_ASSUME_LARGE), isl_set_copy(S->context)),
      isl_set_copy(bad));
  bool some = rest && isl_set_is_empty(rest) == isl_bool_false;
  isl_set_free(rest);
  return some;
}

/* The points between which s * (y[dv] - x[du]) < 0. */
static isl_map *backwards(tp_sched *S, isl_map *m, int du, int dv, int s) {
  isl_map *less = isl_map_universe(isl_map_get_space(m));
  less = s > 0 ? isl_map_order_lt(isl_map_reverse(less), isl_dim_in, dv, isl_dim_out, du)
               : isl_map_order_gt(isl_map_reverse(less), isl_dim_in, dv, isl_dim_out, du);
  return isl_map_intersect(isl_map_copy(m), isl_map_reverse(less));
}

/* The bounds for which a member of the component reads itself in the wrong direction along a
 * dim. */
static isl_set *wrong_way(
    tp_sched *S, const tp_arcs *in, tp_sym *label, int s, const tp_arc **why) {
  isl_set *bad = NULL;
  for (int e = 0; e < in->n; e++) {
    const tp_dep *d = tp_dep_of(S, &in->v[e]);
    int dim = tp_dim_of(S, d->src, label);
    if (d->src != d->dst || dim < 0 || d->arr < 0) continue;
    isl_map *m = backwards(S, in->v[e].map, dim, dim, s);
    isl_set *b = bounds_of(S, m);
    isl_map_free(m);
    if (!b) return isl_set_free(bad);
    if (isl_set_is_empty(b) == isl_bool_true) {
      isl_set_free(b);
      continue;
    }
    *why = &in->v[e];
    bad = bad ? isl_set_union(bad, b) : b;
  }
  return bad;
}

static bool has_name(const tp_node *n) { return n && (n->name || n->attr.str); }

/* why: the arc that is dropped; the message names an arc at a value which the script names, if
 * there is one. */
static bool take(tp_sched *S, TP_TAKE isl_set *bad, const tp_arc *why, const tp_arcs *in) {
  bad = tp_keep_set(S, tp_isl_coalesce(bad));
  if (!bad || isl_set_is_empty(bad) != isl_bool_false || !leaves_enough(S, bad)) return false;
  const tp_dep *d = tp_dep_of(S, why);
  for (int e = 0; e < in->n && !has_name(S->p->arrs.v[d->arr]->val.node); e++) {
    const tp_dep *o = tp_dep_of(S, &in->v[e]);
    if (o->arr >= 0 && has_name(S->p->arrs.v[o->arr]->val.node)) d = o;
  }
  TP_PUSH(S->a, &S->p->late, (tp_late){ isl_set_copy(bad), d->dst, d->acc });
  return true;
}

/* Is there no cycle with these arcs only, or one that a loop over some dim can go through? */
static bool has_dim(tp_sched *S, const tp_scc *c, const tp_arcs *arcs) {
  const tp_level *L = tp_acyclic(S, c, arcs) ? NULL : tp_level_make(S, c->n, c->st, arcs);
  bool all = true;
  for (int k = 0; L && k < L->nscc; k++) {
    bool any = !L->scc[k].left && !L->scc[k].rec;
    for (int i = 0; i < L->scc[k].ncand; i++)
      any |= L->scc[k].cand[i].ok[0] || L->scc[k].cand[i].ok[1];
    all &= any;
  }
  return all;
}

static bool lies_within(TP_KEEP isl_set *a, TP_KEEP isl_set *b) {
  return a && isl_set_is_subset(a, b) == isl_bool_true;
}

/* By arc: the bounds for which it has points, if it can be dropped; NULL: it cannot. */
static isl_set **bounds_by_arc(tp_sched *S, const tp_arcs *in) {
  isl_set **bad = TP_NEWN(S->a, isl_set *, in->n);
  for (int e = 0; e < in->n; e++) {
    bad[e] = tp_dep_of(S, &in->v[e])->arr < 0 ? NULL : tp_keep_set(S, bounds_of(S, in->v[e].map));
    if (bad[e] && !leaves_enough(S, bad[e])) bad[e] = NULL;
  }
  return bad;
}

/* Some arcs have points for some bounds only: drops the bounds of one of them, or of all, so that
 * loops can go through every cycle that is left. */
static bool without_arcs(tp_sched *S, const tp_scc *c, const tp_arcs *in) {
  isl_set **bad = bounds_by_arc(S, in), *all = NULL;
  tp_arcs hard = { 0 };
  const tp_arc *why = NULL;
  for (int e = 0; e < in->n; e++) {
    if (!bad[e]) {
      TP_PUSH(S->a, &hard, in->v[e]);
      continue;
    }
    why = &in->v[e];
    all = all ? isl_set_union(all, isl_set_copy(bad[e])) : isl_set_copy(bad[e]);
  }
  int best = -1; /* the arc that costs the fewest bounds */
  for (int e = 0; e < in->n && why; e++) {
    tp_arcs rest = { 0 };
    for (int o = 0; o < in->n; o++)
      if (o != e && !(bad[e] && lies_within(bad[o], bad[e]))) TP_PUSH(S->a, &rest, in->v[o]);
    if (!bad[e] || !has_dim(S, c, &rest)) continue;
    if (best < 0 || isl_set_is_strict_subset(bad[e], bad[best]) == isl_bool_true) best = e;
  }
  if (best >= 0) {
    isl_set_free(all);
    return take(S, isl_set_copy(bad[best]), &in->v[best], in);
  }
  if (why && has_dim(S, c, &hard)) return take(S, all, why, in);
  isl_set_free(all);
  return false;
}

bool tp_assume(tp_sched *S, const tp_level *L, const tp_scc *c) {
  tp_arcs in = L->inner[L->of[c->st[0]]];
  const tp_stmt *s = S->p->stmts.v[c->st[0]];
  for (int d = 0; d < s->ndim; d++)
    for (int sign = 1; sign >= -1; sign -= 2) {
      const tp_arc *why = NULL;
      if (tp_dim_of(S, c->st[0], s->label[d]) != d) continue;
      isl_set *bad = wrong_way(S, &in, s->label[d], sign, &why);
      if (bad && take(S, bad, why, &in)) return true;
    }
  return without_arcs(S, c, &in);
}

/* ---- the checks of a call ---- */

/* The script's name for the read: the name of the value read, else of its reader. */
static const char *late_called(const tp_poly *p, const tp_late *l) {
  const tp_arr *x = p->arrs.v[p->stmts.v[l->st]->acc[l->acc].arr];
  return has_name(x->val.node) ? x->name : p->stmts.v[l->st]->name;
}

bool tp_late_checks(tp_poly *p, tp_error *err) {
  TP_EACH (const tp_late, l, p->late) {
    const tp_stmt *s = p->stmts.v[l->st];
    const tp_access *x = &s->acc[l->acc];
    const char *what = tp_printf(p->a, "a value of '%s' needs itself", late_called(p, l));
    if (!tp_check_late(p->g, l->bad, TP_E_CYCLE, s->pos.file ? s->pos : x->pos, what))
      return tp_fail(err, TP_E_CYCLE, s->pos, "cycle: %s", what);
  }
  return true;
}
