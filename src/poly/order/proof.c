/* proof: proves that every needed dependence goes forward in time. Times are compared
 * lexicographically down the ways of two statements: rows of shared loops, then places in the
 * sequence. */
#include "poly/sched.h"

static bool empty_patiently(tp_sched *S, isl_map *m) {
  if (!m || isl_map_plain_is_empty(m) == isl_bool_true) return m != NULL;
  tp_query_long(S, TP_TUNE_PROOF_BUDGETS);
  bool yes = isl_map_is_empty(m) == isl_bool_true;
  return tp_query_end(S) && yes;
}

static isl_map *in_context(tp_sched *S, isl_map *m) {
  return isl_map_intersect_params(m, isl_set_copy(S->context));
}

/* 1: all pairs are forward, 0: go on with the rest, those of equal rows, -1: not proved */
typedef struct {
  int is;
  isl_map *rest;
} step;

static step compare_step(tp_sched *S, isl_map *m, isl_pw_aff *u, isl_pw_aff *v) {
  isl_map *back = in_context(S,
      isl_map_intersect(
          isl_map_copy(m), isl_pw_aff_gt_map(isl_pw_aff_copy(u), isl_pw_aff_copy(v))));
  bool ok = empty_patiently(S, back);
  isl_map_free(back);
  if (!ok) return (step){ -1, NULL };
  isl_map *same =
      isl_map_intersect(isl_map_copy(m), isl_pw_aff_eq_map(isl_pw_aff_copy(u), isl_pw_aff_copy(v)));
  same = tp_keep_map(S, in_context(S, same));
  return (step){ !same ? -1 : tp_map_empty(S, same), same };
}

bool tp_rows_apart(
    tp_sched *S, isl_map *m, const tp_mem *u, const tp_mem *v, int64_t *lo, int64_t *hi) {
  int64_t a, b, by = v->shift.c - u->shift.c;
  if (u->dim < 0 || v->dim < 0 || u->s != v->s || u->shift.bad || v->shift.bad ||
      u->shift.p != v->shift.p || !tp_const_distance(S, m, u->dim, v->dim, &a, &b))
    return false;
  *lo = by + (u->s > 0 ? a : -b);
  *hi = by + (u->s > 0 ? b : -a);
  return true;
}

/* Rows of one loop: none goes backwards; m becomes the pairs of equal rows. Answers as `step`. */
static int step_row(tp_sched *S, isl_map **m, const tp_mem *u, const tp_mem *v) {
  int64_t lo, hi;
  if (tp_rows_apart(S, *m, u, v, &lo, &hi)) {
    if (lo > 0) return 1;
    if (!lo && !hi) return 0;
  }
  bool fresh;
  tp_question q = { .what = OF_FORWARD, .of = *m, .with = u->row, .third = v->row };
  step *x = tp_recall(S, &q, sizeof *x, &fresh);
  if (fresh) *x = compare_step(S, *m, u->row, v->row);
  if (x->rest) *m = x->rest;
  return x->is;
}

bool tp_is_forward(tp_sched *S, const tp_dep *d) {
  const tp_sst *u = &S->st[d->src], *v = &S->st[d->dst];
  isl_map *m = d->map;
  tp_ask_dep(S, "whether '%s' always runs after '%s'", d);
  for (int l = 0; l < u->npath && l < v->npath; l++) {
    const tp_way *a = &u->path[l], *b = &v->path[l];
    if (a->seq < b->seq) return true;
    if (a->seq > b->seq || !a->loop) return empty_patiently(S, m);
    int r = step_row(S, &m, a->mem, b->mem);
    if (r) return r > 0;
  }
  return false;
}

/* Is row defined, and a whole number, on all of the domain? A partial or fractional row drops
 * points, which would be proved vacuously. */
static bool whole_on(tp_sched *S, isl_pw_aff *row, isl_set *dom) {
  isl_set *where = isl_pw_aff_eq_set(isl_pw_aff_copy(row), isl_pw_aff_floor(isl_pw_aff_copy(row)));
  isl_set *mine = isl_set_intersect_params(isl_set_copy(dom), isl_set_copy(S->context));
  tp_query(S);
  bool ok = isl_set_is_subset(mine, where) == isl_bool_true;
  isl_set_free(where);
  isl_set_free(mine);
  return tp_query_end(S) && ok;
}

static bool total(tp_sched *S, int st) {
  const tp_stmt *s = S->p->stmts.v[st];
  uint32_t seen = s->vec, all = (1u << s->ndim) - 1;
  bool general = false;
  for (int l = 0; l + 1 < S->st[st].npath; l++) {
    const tp_mem *m = S->st[st].path[l].mem;
    if (!m || !m->row) return false;
    if (m->dim >= 0) seen |= 1u << m->dim;
    else general = true;
    if ((m->dim < 0 || m->shift.p) && !whole_on(S, m->row, s->dom)) return false;
  }
  return S->st[st].npath > 0 && (general || seen == all);
}

bool tp_prove(tp_sched *S, const char **which) {
  for (int i = 0; i < S->p->stmts.n; i++)
    if (!total(S, i)) {
      *which = tp_printf(S->a, "'%s' has no time at some of its points", S->p->stmts.v[i]->name);
      return false;
    }
  TP_EACH (const tp_dep, d, S->deps) {
    if (d->soft || tp_is_forward(S, d)) continue;
    *which = tp_printf(
        S->a, "edge from '%s' to '%s'", S->p->stmts.v[d->src]->name, S->p->stmts.v[d->dst]->name);
    return false;
  }
  return true;
}
