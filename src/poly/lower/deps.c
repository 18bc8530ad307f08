/* deps: makes the dependences from the accesses: each READ is after the WRITEs and UPDATEs of its
 * elements, each UPDATE after the WRITEs; updates commute. An effect's points run in lexicographic
 * order. A dependence that is wanted and not needed is `soft`. */
#include "poly/sched.h"
#include "graph/run.h"

typedef struct {
  TP_VEC(tp_place) writes, updates, reads;
} uses;

static bool stored(const tp_arr *x) { return x->kind == TP_ARR_TEMP || x->kind == TP_ARR_OUTPUT; }

static uses *gather(tp_sched *S) {
  uses *u = TP_NEWN(S->a, uses, S->p->arrs.n);
  for (int i = 0; i < S->p->stmts.n; i++) {
    const tp_stmt *s = S->p->stmts.v[i];
    for (int k = 0; k < s->nacc; k++) {
      uses *x = &u[s->acc[k].arr];
      if (!stored(S->p->arrs.v[s->acc[k].arr])) continue;
      switch (s->acc[k].kind) {
      case TP_ACC_READ: TP_PUSH(S->a, &x->reads, (tp_place){ i, k }); break;
      case TP_ACC_WRITE: TP_PUSH(S->a, &x->writes, (tp_place){ i, k }); break;
      case TP_ACC_UPDATE: TP_PUSH(S->a, &x->updates, (tp_place){ i, k }); break;
      }
    }
  }
  return u;
}

static const tp_access *access_at(tp_sched *S, tp_place p) {
  return &S->p->stmts.v[p.st]->acc[p.acc];
}

/* The pairs of m, a stop's update and a read of its array, in which the update is for a t <
 * upto. */
static isl_map *those_before(
    tp_sched *S, TP_TAKE isl_map *m, int src, int dst, const tp_access *r) {
  const tp_stmt *u = S->p->stmts.v[src], *v = S->p->stmts.v[dst];
  tp_sym *t = tp_stop_sym(S->p, r->arr);
  for (int d = 0; d < u->ndim; d++)
    if (u->label[d] == t &&
        !tp_dom_has(S->p->arrs.v[r->arr]->ndim, S->p->arrs.v[r->arr]->dim, u->dim[d])) {
      tp_ix *before = tp_ix_cmp(TP_LT, tp_ix_sym(u->dim[d]), r->upto);
      return isl_map_reverse(
          tp_rel_where(S->ix, isl_map_reverse(m), v->ndim, v->dim, u->ndim, u->dim, before));
    }
  return m;
}

/* Adds d, whose map it takes, if that has points. False: isl failed. */
static bool add(tp_sched *S, tp_dep d) {
  if (d.map && !tp_map_empty(S, tp_keep_map(S, d.map))) TP_PUSH(S->a, &S->deps, d);
  return d.map;
}

/* A dependence that no array asks for. */
static tp_dep ordered(int src, int dst, TP_TAKE isl_map *m) {
  return (tp_dep){ .src = src, .dst = dst, .arr = -1, .acc = -1, .map = m };
}

static tp_dep wanted(int src, int dst, TP_TAKE isl_map *m) {
  tp_dep d = ordered(src, dst, m);
  d.soft = true;
  return d;
}

static isl_map *in_bounds(tp_sched *S, TP_TAKE isl_map *m) {
  if (S->freectx) m = isl_map_intersect_params(m, isl_set_copy(S->freectx));
  return tp_keep_map(S, tp_isl_coalesce_map(m));
}

/* m, or a larger relation of fewer pieces: an order that respects that respects m. */
static isl_map *few(tp_sched *S, TP_KEEP isl_map *m) {
  bool many = !tp_without(S->p, TP_RX_OUTLINES) && isl_map_n_basic_map(m) > TP_TUNE_MANY_PIECES;
  S->hulled |= many;
  m = isl_map_copy(m);
  return many ? tp_isl_few(m) : m;
}

/* {point of one access -> point of the other} at the same element; the same objects give the same
 * one. NULL: isl failed. */
static isl_map *through(tp_sched *S, const tp_access *w, const tp_access *r) {
  bool fresh;
  isl_map **m = tp_recall(
      S, &(tp_question){ .what = OF_THROUGH, .of = w->rel, .with = r->rel }, sizeof *m, &fresh);
  if (!*m) *m = in_bounds(S, isl_map_apply_range(few(S, w->rel), isl_map_reverse(few(S, r->rel))));
  return *m;
}

/* The same for an end that is read before it is final. */
static isl_map *through_early(tp_sched *S, tp_place from, tp_place to) {
  const tp_access *w = access_at(S, from), *r = access_at(S, to);
  isl_map *m = isl_map_apply_range(isl_map_copy(w->rel), isl_map_reverse(isl_map_copy(r->rel)));
  return in_bounds(S, those_before(S, m, from.st, to.st, r));
}

/* `sure`: it has points, as from is the array's only writer. */
static bool add_dep(tp_sched *S, tp_place from, tp_place to, bool sure) {
  const tp_access *w = access_at(S, from), *r = access_at(S, to);
  if (tp_is_first_end(r)) return true; /* tp_settle_guards makes it later */
  tp_ask(S, "which points of '%s' need which of '%s'", S->p->stmts.v[to.st]->name,
      S->p->stmts.v[from.st]->name);
  tp_query_long(S, TP_TUNE_DEP_BUDGETS);
  isl_map *m = r->upto && w->kind == TP_ACC_UPDATE ? through_early(S, from, to) : through(S, w, r);
  if (!tp_query_end(S) || !m) return false;
  if (isl_map_plain_is_empty(m) == isl_bool_true || (!sure && tp_map_empty(S, m))) return true;
  TP_PUSH(S->a, &S->deps,
      (tp_dep){ .src = from.st, .dst = to.st, .arr = r->arr, .acc = to.acc, .map = m });
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

/* One callback's points in lexicographic order, also those of two pieces of it (split.c). */
static void effect_deps(tp_sched *S, int st) {
  const tp_stmt *s = S->p->stmts.v[st];
  for (int i = 0; s->effect && s->ndim && i < S->p->stmts.n; i++) {
    const tp_stmt *r = S->p->stmts.v[i];
    if (r != s &&
        (!r->effect || !s->nnode || !r->nnode || r->node[r->nnode - 1] != s->node[s->nnode - 1]))
      continue;
    add(S, ordered(st, i, isl_set_lex_lt_set(isl_set_copy(s->dom), isl_set_copy(r->dom))));
  }
}

/* Is some point of the reader as far along as the update, or less than `least` before? Then it
 * reads an older value and must not hold the update up. */
static bool lags(tp_sched *S, int reader, const tp_stmt *s, isl_map *m, int least) {
  const tp_stmt *r = S->p->stmts.v[reader];
  int64_t lo, hi;
  for (int d = 0; d < r->ndim; d++)
    if (r->label[d] == s->label[0]) {
      if (tp_const_distance(S, m, d, 0, &lo, &hi)) return lo < least;
      isl_map *late = tp_keep_map(S,
          least ? isl_map_order_le(isl_map_copy(m), isl_dim_out, 0, isl_dim_in, d)
                : isl_map_order_lt(isl_map_copy(m), isl_dim_out, 0, isl_dim_in, d));
      return late && !tp_map_empty(S, late);
    }
  return false;
}

/* 1: it writes over what it reads there, further along its outermost dim; 0: it makes a further
 * version; -1: neither. */
static int written_over(tp_sched *S, const tp_stmt *s, const tp_access *r) {
  const tp_access *w = NULL;
  int64_t lo, hi;
  bool version = false;
  for (int a = 0; a < s->nacc; a++) {
    if (s->acc[a].kind == TP_ACC_WRITE && s->acc[a].arr == r->arr) w = &s->acc[a];
    version |= s->acc[a].kind == TP_ACC_WRITE && r->by && tp_is_version(S->p, s, r, &s->acc[a]);
  }
  if (!w || !r->alias || !s->ndim) return version ? 0 : -1;
  isl_map *self = through(S, w, r);
  return self && tp_const_distance(S, self, 0, 0, &lo, &hi) && lo == hi && lo >= 1 ? 1 : -1;
}

/* Are numbers carried inside each row of the outermost dim too (edit distance)? Then it is not
 * known which dim will be outermost. */
static bool goes_on_in_rows(tp_sched *S, const tp_arr *arr, const uses *u) {
  int64_t lo, hi;
  bool any = false;
  for (int i = 0; i < u->reads.n && !arr->rank && !any; i++)
    for (int k = 0; k < u->writes.n && !any; k++) {
      if (u->reads.v[i].st != u->writes.v[k].st || S->p->stmts.v[u->reads.v[i].st]->ndim < 2)
        continue;
      isl_map *m = through(S, access_at(S, u->writes.v[k]), access_at(S, u->reads.v[i]));
      any =
          m && !tp_map_empty(S, m) && tp_const_distance(S, m, 0, 0, &lo, &hi) && lo == 0 && hi == 0;
    }
  return any;
}

/* `old` is read and written over at a point of its own: makes other readers of the old element go
 * first. */
static void hold_update(tp_sched *S, tp_place old, int least, const uses *u) {
  const tp_stmt *s = S->p->stmts.v[old.st];
  for (int i = 0; i < u->reads.n; i++) {
    tp_place q = u->reads.v[i];
    if (q.st == old.st) continue;
    isl_map *m = through(S, access_at(S, q), access_at(S, old));
    if (m && !tp_map_empty(S, m) && (!s->nnode || !s->ndim || !lags(S, q.st, s, m, least)))
      TP_PUSH(S->a, &S->deps, wanted(q.st, old.st, m));
  }
}

/* Soft: if a statement updates an array in place (a parameter), other readers of the old value go
 * first, so that one copy is enough. */
static void update_deps(tp_sched *S, const tp_arr *arr, const uses *u) {
  bool looked = false;
  for (int i = 0; i < u->reads.n; i++) {
    tp_place old = u->reads.v[i];
    int least = written_over(S, S->p->stmts.v[old.st], access_at(S, old));
    if (least < 0) continue;
    if (!looked && goes_on_in_rows(S, arr, u)) return;
    looked = true;
    hold_update(S, old, least, u);
  }
}

/* ---- ticks ---- */

int tp_call_fn(const tp_stmt *s) {
  return s->effect && s->nnode ? s->node[s->nnode - 1]->attr.fn : 0;
}

bool tp_is_tick(const tp_stmt *s) { return tp_call_fn(s) == TP_FN_TICK; }

/* {point of s -> its first n tick dims} */
static isl_map *outer_dims(tp_sched *S, const tp_stmt *s, const tp_stmt *tick, int n) {
  tp_at at[64];
  for (int k = 0; k < n; k++) at[k] = (tp_at){ .lo = tp_ix_sym(tick->dim[k]) };
  return tp_rel_restrict(tp_rel_at(S->ix, s->ndim, s->dim, n, tick->dim, at), tp_set_copy(s->dom));
}

static bool pace(tp_sched *S, int src, int dst, TP_TAKE isl_map *m) {
  tp_dep d = ordered(src, dst, m);
  d.pace = true;
  return add(S, d);
}

/* A call runs not before its tick, or, with the last tick inside its point, not before all of them;
 * a paced one before any later tick. */
static bool pace_call(tp_sched *S, int call, int tick) {
  const tp_stmt *s = S->p->stmts.v[call], *t = S->p->stmts.v[tick];
  int n = tp_tick_depth(t->ndim, t->dim, s->ndim, s->dim);
  if (!n || (n < t->ndim && tp_call_fn(s) != TP_FN_SHOW)) return true;
  isl_map *at = outer_dims(S, s, t, n), *ticks = isl_map_reverse(outer_dims(S, t, t, n));
  isl_space *dims = isl_space_range(isl_map_get_space(at));
  isl_map *after = isl_map_apply_range(isl_map_copy(at), isl_map_lex_lt(dims));
  isl_map *own = isl_map_apply_range(at, isl_map_copy(ticks));
  after = isl_map_apply_range(after, ticks);
  if (s->node[s->nnode - 1]->attr.paced)
    return pace(S, tick, call, isl_map_reverse(own)) & pace(S, call, tick, after);
  isl_map_free(after);
  return pace(S, tick, call, isl_map_reverse(own));
}

/* An output that leaves with the first tick is written before any tick. */
static bool pace_first(tp_sched *S, int st, int tick) {
  const tp_stmt *s = S->p->stmts.v[st], *t = S->p->stmts.v[tick];
  bool first = false;
  for (int a = 0; a < s->nacc; a++) {
    const tp_arr *x = S->p->arrs.v[s->acc[a].arr];
    first |= s->acc[a].kind != TP_ACC_READ && x->kind == TP_ARR_OUTPUT &&
        S->p->g->outputs.v[x->slot].first;
  }
  return !first ||
      pace(S, st, tick, isl_map_from_domain_and_range(isl_set_copy(s->dom), isl_set_copy(t->dom)));
}

/* Soft: a parameter's value at a tick or callback is made before that, as a host may ask for it
 * there. */
static bool pace_newest(tp_sched *S, int st, int call) {
  const tp_stmt *s = S->p->stmts.v[st], *t = S->p->stmts.v[call];
  int n = tp_tick_depth(t->ndim, t->dim, s->ndim, s->dim);
  if (!n) return true;
  isl_map *m = outer_dims(S, s, t, n);
  isl_space *dims = isl_space_range(isl_map_get_space(m));
  m = isl_map_apply_range(
      isl_map_apply_range(m, isl_map_lex_le(dims)), isl_map_reverse(outer_dims(S, t, t, n)));
  return add(S, wanted(st, call, m));
}

static bool pace_deps(tp_sched *S) {
  tp_poly *p = S->p;
  for (int t = 0; p->ticks && t < p->stmts.n; t++) {
    if (!tp_is_tick(p->stmts.v[t])) continue;
    for (int i = 0; i < p->stmts.n; i++)
      if ((p->stmts.v[i]->effect && !tp_is_tick(p->stmts.v[i]) && !pace_call(S, i, t)) ||
          !pace_first(S, i, t))
        return false;
  }
  return true;
}

/* Has every update of the end that the guard reads been begun by then? */
static bool is_begun(tp_sched *S, const uses *u, tp_place r) {
  bool any = false;
  for (int w = 0; w < u->writes.n; w++) {
    tp_query(S);
    isl_map *m = through(S, access_at(S, u->writes.v[w]), access_at(S, r));
    tp_dep d = ordered(u->writes.v[w].st, r.st, m);
    if (!tp_query_end(S) || !m || !tp_is_forward(S, &d)) return false;
    any = true;
  }
  return any;
}

void tp_settle_guards(tp_sched *S) {
  if (!S->p->g->stops.n) return;
  uses *u = gather(S);
  for (int i = 0; i < S->p->arrs.n; i++)
    for (int r = 0; r < u[i].reads.n; r++) {
      tp_access *x = &S->p->stmts.v[u[i].reads.v[r].st]->acc[u[i].reads.v[r].acc];
      if (tp_is_first_end(x)) x->idle = !is_begun(S, &u[i], u[i].reads.v[r]);
    }
}

/* ---- new values of parameters, which are copied to the place of the last one ---- */

const tp_node *tp_output_param(const tp_graph *g, int output) {
  int k = 0;
  for (int i = 0; i < output; i++) k += g->outputs.v[i].hidden;
  return g->outputs.v[output].hidden ? g->params.v[k] : NULL;
}

const tp_arr *tp_newest_in(const tp_poly *p, const tp_stmt *s) {
  bool value = s->into && s->kind == TP_ST_OP;
  for (int a = 0; value && a < p->arrs.n; a++) {
    const tp_arr *to = p->arrs.v[a];
    if (to->kind == TP_ARR_OUTPUT && tp_output_param(p->g, to->slot) == s->into)
      return to->id == s->acc[0].arr ? NULL : to;
  }
  return NULL;
}

/* The last value is written after all values that are put in its place before, though it may need
 * few of them. */
static bool newest_deps(tp_sched *S, int st, const uses *u) {
  const tp_stmt *s = S->p->stmts.v[st];
  const tp_arr *to = tp_newest_in(S->p, s), *from = to ? S->p->arrs.v[s->acc[0].arr] : NULL;
  tp_at at[64];
  for (int d = 0; to && d < to->ndim; d++) at[d] = (tp_at){ .lo = tp_ix_sym(to->dim[d]) };
  for (int w = 0; to && w < u[to->id].writes.n; w++) {
    tp_place last = u[to->id].writes.v[w];
    isl_map *same = tp_rel_at(S->ix, from->ndim, from->dim, to->ndim, to->dim, at);
    same = isl_map_apply_range(isl_map_apply_range(isl_map_copy(s->acc[0].rel), same),
        isl_map_reverse(isl_map_copy(access_at(S, last)->rel)));
    if (!add(S, ordered(st, last.st, same))) return false;
  }
  return true;
}

static bool newest_in_time(tp_sched *S, int st) {
  const tp_poly *p = S->p;
  for (int i = 0; tp_newest_in(p, p->stmts.v[st]) && i < p->stmts.n; i++)
    if ((p->ticks ? tp_is_tick(p->stmts.v[i]) : p->stmts.v[i]->effect) && !pace_newest(S, st, i))
      return false;
  return true;
}

/* Soft: a parameter that does not evolve is there before any callback, which may end the run. */
static void first_deps(tp_sched *S, int st) {
  const tp_stmt *s = S->p->stmts.v[st];
  const tp_arr *to = s->nacc && s->acc[0].kind == TP_ACC_WRITE ? S->p->arrs.v[s->acc[0].arr] : NULL;
  const tp_node *w = to && to->kind == TP_ARR_OUTPUT ? tp_output_param(S->p->g, to->slot) : NULL;
  for (int i = 0; w && !tp_param_evolves(w) && i < S->p->stmts.n; i++) {
    const tp_stmt *r = S->p->stmts.v[i];
    if (!r->effect || i == st) continue;
    add(S,
        wanted(st, i, isl_map_from_domain_and_range(isl_set_copy(s->dom), isl_set_copy(r->dom))));
  }
}

bool tp_deps(tp_sched *S) {
  uses *u = gather(S);
  S->deps.n = 0;
  for (int i = 0; i < S->p->arrs.n; i++)
    if (!array_deps(S, &u[i])) return false;
  for (int i = 0; i < S->p->stmts.n; i++) effect_deps(S, i);
  if (!pace_deps(S)) return false;
  for (int i = 0; S->p->keeps && i < S->p->stmts.n; i++)
    if (!newest_deps(S, i, u) || !newest_in_time(S, i)) return false;
  for (int i = 0; i < S->p->stmts.n; i++) first_deps(S, i);
  for (int i = 0; i < S->p->arrs.n; i++) update_deps(S, S->p->arrs.v[i], &u[i]);
  return true;
}
