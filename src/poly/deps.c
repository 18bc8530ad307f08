/* deps: what must run before what, from the accesses: each READ after the WRITEs and UPDATEs of its elements, each UPDATE after the WRITEs; updates
 * commute. An effect's points run in lexicographic order. What is wanted and not needed is `soft`. */
#include "poly/sched.h"

typedef struct { int st, acc; } place;
typedef struct { TP_VEC(place) writes, updates, reads; } uses;

static bool stored(const tp_arr *x) { return x->kind == TP_ARR_TEMP || x->kind == TP_ARR_OUTPUT; }

static uses *gather(tp_sched *S) {
  uses *u = TP_NEWN(S->a, uses, S->p->arrs.n);
  for (int i = 0; i < S->p->stmts.n; i++) {
    const tp_stmt *s = S->p->stmts.v[i];
    for (int k = 0; k < s->nacc; k++) {
      uses *x = &u[s->acc[k].arr];
      if (!stored(S->p->arrs.v[s->acc[k].arr])) continue;
      switch (s->acc[k].kind) {
        case TP_ACC_READ: TP_PUSH(S->a, &x->reads, (place){ i, k }); break;
        case TP_ACC_WRITE: TP_PUSH(S->a, &x->writes, (place){ i, k }); break;
        case TP_ACC_UPDATE: TP_PUSH(S->a, &x->updates, (place){ i, k }); break;
      }
    }
  }
  return u;
}

static const tp_access *access_at(tp_sched *S, place p) { return &S->p->stmts.v[p.st]->acc[p.acc]; }

/* `sure`: it has points, as from is the array's only writer. */
static bool add_dep(tp_sched *S, place from, place to, bool sure) {
  const tp_access *w = access_at(S, from), *r = access_at(S, to);
  isl_map *back = isl_map_reverse(isl_map_copy(r->rel));
  isl_map *m = isl_map_apply_range(isl_map_copy(w->rel), back);
  if (S->freectx) m = isl_map_intersect_params(m, isl_set_copy(S->freectx));
  if (m && isl_map_n_basic_map(m) > 1) m = isl_map_coalesce(m);
  if (!m) return false;
  tp_keep_map(S, m);
  if (isl_map_plain_is_empty(m) == isl_bool_true || (!sure && tp_map_empty(S, m))) return true;
  TP_PUSH(S->a, &S->deps, (tp_dep){ .src = from.st, .dst = to.st, .arr = r->arr, .acc = to.acc, .map = m });
  return true;
}

static bool array_deps(tp_sched *S, const uses *u) {
  bool sure = u->writes.n == 1;
  for (int r = 0; r < u->reads.n; r++) {
    for (int w = 0; w < u->writes.n; w++)
      if (!add_dep(S, u->writes.v[w], u->reads.v[r], sure)) return false;
    for (int w = 0; w < u->updates.n; w++)
      if (!add_dep(S, u->updates.v[w], u->reads.v[r], false)) return false;
  }
  for (int t = 0; t < u->updates.n; t++)
    for (int w = 0; w < u->writes.n; w++)
      if (!add_dep(S, u->writes.v[w], u->updates.v[t], false)) return false;
  return true;
}

static void effect_dep(tp_sched *S, int st) {
  const tp_stmt *s = S->p->stmts.v[st];
  if (!s->effect || !s->ndim) return;
  isl_map *m = tp_keep_map(S, isl_set_lex_lt_set(isl_set_copy(s->dom), isl_set_copy(s->dom)));
  if (m && !tp_map_empty(S, m)) TP_PUSH(S->a, &S->deps, (tp_dep){ .src = st, .dst = st, .arr = -1, .acc = -1, .map = m });
}

/* With ticks: a reader that is as far along as the update, so reads an older value. It is not to hold the update up, which may come much later (behind.c). */
static bool lags(tp_sched *S, int reader, const tp_stmt *s, isl_map *m) {
  int64_t lo, hi;
  const tp_stmt *r = S->p->stmts.v[reader];
  for (int d = 0; d < r->ndim && S->p->ticks; d++)
    if (r->label[d] == s->label[0]) return tp_const_distance(S, m, d, 0, &lo, &hi) && hi <= 0;
  return false;
}

/* Soft: where a statement updates an array in place along its outermost dim (a parameter), the other readers of the old value go first, so that one copy
 * is enough. `old`: the statement's read of it. */
static void update_deps(tp_sched *S, place old, const uses *u) {
  const tp_stmt *s = S->p->stmts.v[old.st];
  const tp_access *w = NULL, *r = access_at(S, old);
  int64_t lo, hi;
  for (int a = 0; a < s->nacc; a++)
    if (s->acc[a].kind == TP_ACC_WRITE && s->acc[a].arr == r->arr) w = &s->acc[a];
  if (!w || !r->alias || !s->ndim) return;
  isl_map *self = tp_keep_map(S, isl_map_apply_range(isl_map_copy(w->rel), isl_map_reverse(isl_map_copy(r->rel))));
  if (!self || !tp_const_distance(S, self, 0, 0, &lo, &hi) || lo != hi || lo < 1) return;
  for (int i = 0; i < u->reads.n; i++) {
    place q = u->reads.v[i];
    if (q.st == old.st) continue;
    isl_map *m = isl_map_apply_range(isl_map_copy(access_at(S, q)->rel), isl_map_reverse(isl_map_copy(r->rel)));
    tp_keep_map(S, m);
    if (m && !tp_map_empty(S, m) && !lags(S, q.st, s, m)) TP_PUSH(S->a, &S->deps, (tp_dep){ .src = q.st, .dst = old.st, .arr = -1, .acc = -1, .map = m, .soft = true });
  }
}

/* ---- ticks ---- */

int tp_call_fn(const tp_stmt *s) { return s->effect && s->nnode ? s->node[s->nnode - 1]->attr.fn : 0; }

static const tp_stmt *tick_stmt(tp_sched *S) {
  for (int i = 0; i < S->p->stmts.n; i++)
    if (tp_call_fn(S->p->stmts.v[i]) == TP_FN_TICK) return S->p->stmts.v[i];
  return NULL;
}

/* {s's point -> the tick it belongs to}; NULL: it lacks a tick dim. */
static isl_map *own_tick(tp_sched *S, const tp_stmt *s, const tp_stmt *tick) {
  tp_at at[64];
  for (int k = 0; k < tick->ndim; k++) {
    if (!tp_dom_has(s->ndim, s->dim, tick->dim[k])) return NULL;
    at[k] = (tp_at){ .lo = tp_ix_sym(S->ix, tick->dim[k]) };
  }
  return tp_rel_restrict(tp_rel_at(S->ix, s->ndim, s->dim, tick->ndim, tick->dim, at), tp_set_copy(s->dom));
}

static bool pace(tp_sched *S, int src, int dst, TP_TAKE isl_map *m) {
  if (!tp_keep_map(S, m)) return false;
  TP_PUSH(S->a, &S->deps, (tp_dep){ .src = src, .dst = dst, .arr = -1, .acc = -1, .map = m, .pace = true });
  return true;
}

/* A call runs not before its tick; one that is paced before any later tick. */
static bool pace_deps(tp_sched *S) {
  const tp_stmt *tick = tick_stmt(S);
  S->p->ticks = tick != NULL;
  for (int i = 0; tick && i < S->p->stmts.n; i++) {
    const tp_stmt *s = S->p->stmts.v[i];
    if (s == tick || !s->effect) continue;
    isl_map *own = own_tick(S, s, tick);
    if (!own) continue;
    if (!pace(S, tick->id, i, isl_map_reverse(isl_map_copy(own)))) { isl_map_free(own); return false; }
    if (!s->node[s->nnode - 1]->attr.flag) { isl_map_free(own); continue; }
    isl_map *later = isl_set_lex_lt_set(isl_set_copy(tick->dom), isl_set_copy(tick->dom));
    if (!pace(S, i, tick->id, isl_map_apply_range(own, later))) return false;
  }
  return true;
}

bool tp_deps(tp_sched *S) {
  uses *u = gather(S);
  S->deps.n = 0;
  for (int i = 0; i < S->p->arrs.n; i++)
    if (!array_deps(S, &u[i])) return false;
  for (int i = 0; i < S->p->stmts.n; i++) effect_dep(S, i);
  if (!pace_deps(S)) return false;
  for (int i = 0; i < S->p->arrs.n; i++)
    for (int r = 0; r < u[i].reads.n; r++) update_deps(S, u[i].reads.v[r], &u[i]);
  return true;
}
