/* split: finds rows for a component that has no legal dim. A cycle of statements need not be a
 * cycle of points: PPO's rollout (i, t) reads w[i, k] at k = 0 only. The statement that has a dim
 * which its neighbour lacks is split at the slice that their arc touches, and everything starts
 * anew. If nothing can be split, isl's own scheduler orders the component: it skews, and gives
 * members rows of different factors (2 * i for w[i], i for what reads w[i // 2]). */
#include "poly/sched.h"
#include <isl/schedule.h>
#include <stdlib.h>

/* ---- splitting ---- */

static tp_stmt *piece(tp_sched *S, const tp_stmt *s, TP_TAKE tp_set *dom) {
  tp_stmt *p = tp_dup(S->a, s, sizeof *s);
  p->dom = dom;
  p->acc = tp_dup(S->a, s->acc, sizeof *s->acc * (size_t)s->nacc);
  for (int i = 0; i < s->nacc; i++)
    p->acc[i].rel = tp_isl_coalesce_map(
        isl_map_intersect_domain(isl_map_copy(s->acc[i].rel), isl_set_copy(dom)));
  return p;
}

void tp_split_in_two(tp_sched *S, int st, TP_TAKE tp_set *a, TP_TAKE tp_set *b) {
  tp_stmt *old = S->p->stmts.v[st], *one = piece(S, old, a), *two = piece(S, old, b);
  for (int i = 0; i < old->nacc; i++) old->acc[i].rel = isl_map_free(old->acc[i].rel);
  old->dom = isl_set_free(old->dom);
  TP_PUSH(S->a, &S->p->stmts, two);
  for (int i = S->p->stmts.n - 1; i > st + 1; i--) S->p->stmts.v[i] = S->p->stmts.v[i - 1];
  S->p->stmts.v[st] = one;
  S->p->stmts.v[st + 1] = two;
  for (int i = 0; i < S->p->stmts.n; i++) S->p->stmts.v[i]->id = i;
  for (int i = 0; i < S->p->late.n; i++) S->p->late.v[i].st += S->p->late.v[i].st > st;
}

bool tp_has_points(const tp_sched *S, TP_KEEP isl_set *a) {
  isl_set *mine = a ? isl_set_intersect_params(isl_set_copy(a), isl_set_copy(S->context)) : NULL;
  bool any = mine && isl_set_is_empty(mine) == isl_bool_false;
  isl_set_free(mine);
  return any;
}

/* Splits statement st at the values of dim d that `touched` has. */
static bool split_stmt(tp_sched *S, int st, int d, TP_TAKE isl_set *touched) {
  tp_stmt *s = S->p->stmts.v[st];
  tp_query(S);
  isl_set *slice = isl_set_eliminate(
      isl_set_eliminate(touched, isl_dim_set, 0, d), isl_dim_set, d + 1, s->ndim - d - 1);
  slice = isl_set_drop_constraints_not_involving_dims(tp_isl_coalesce(slice), isl_dim_set, d, 1);
  isl_set *in = tp_isl_coalesce(isl_set_intersect(isl_set_copy(s->dom), isl_set_copy(slice)));
  isl_set *out = tp_isl_coalesce(isl_set_subtract(isl_set_copy(s->dom), slice));
  bool proper = tp_has_points(S, in) && tp_has_points(S, out);
  if (!tp_query_end(S) || !proper) {
    isl_set_free(in);
    isl_set_free(out);
    return false;
  }
  tp_split_in_two(S, st, in, isl_set_make_disjoint(out));
  S->nsplit++;
  return true;
}

static bool split_end(tp_sched *S, const tp_arc *e, bool src, bool guess) {
  const tp_dep *dep = tp_dep_of(S, e);
  int st = src ? dep->src : dep->dst, other = src ? dep->dst : dep->src;
  const tp_stmt *s = S->p->stmts.v[st];
  for (int d = 0; d < s->ndim; d++) {
    if (tp_dim_of(S, st, s->label[d]) != d || (!guess && tp_dim_of(S, other, s->label[d]) >= 0))
      continue;
    isl_map *m = isl_map_copy(e->map);
    if (split_stmt(S, st, d, src ? isl_map_domain(m) : isl_map_range(m))) return true;
  }
  return false;
}

bool tp_split(tp_sched *S, const tp_level *L, const tp_scc *c) {
  if (S->nsplit >= TP_TUNE_SPLITS) return false;
  tp_arcs in = L->inner[c - L->scc];
  for (int guess = 0; guess < 2 && (!guess || S->nsplit < TP_TUNE_SPLIT_GUESSES); guess++)
    for (int e = 0; e < in.n; e++)
      if (split_end(S, &in.v[e], true, guess) || split_end(S, &in.v[e], false, guess)) return true;
  return false;
}

/* ---- isl's scheduler ---- */

isl_id *tp_stmt_id(tp_sched *S, int st) {
  char name[32];
  snprintf(name, sizeof name, "S%d", st);
  return isl_id_alloc(S->ctx, name, NULL);
}

static isl_schedule *compute(tp_sched *S, const tp_scc *c, const tp_arcs *in) {
  isl_union_set *dom = isl_union_set_empty(tp_isl_params(S->ix));
  isl_union_map *val = isl_union_map_empty(tp_isl_params(S->ix));
  for (int i = 0; i < c->n; i++)
    dom = isl_union_set_add_set(dom,
        isl_set_set_tuple_id(isl_set_copy(S->p->stmts.v[c->st[i]]->dom), tp_stmt_id(S, c->st[i])));
  for (int e = 0; e < in->n; e++) {
    const tp_dep *d = tp_dep_of(S, &in->v[e]);
    isl_map *m =
        isl_map_set_tuple_id(isl_map_copy(in->v[e].map), isl_dim_in, tp_stmt_id(S, d->src));
    val = isl_union_map_add_map(val, isl_map_set_tuple_id(m, isl_dim_out, tp_stmt_id(S, d->dst)));
  }
  isl_schedule_constraints *k = isl_schedule_constraints_on_domain(dom);
  k = isl_schedule_constraints_set_context(k, isl_set_copy(S->context));
  return isl_schedule_constraints_compute_schedule(isl_schedule_constraints_set_validity(k, val));
}

typedef struct {
  tp_sched *S;
  const tp_scc *c;
  int n;
  tp_item **loop;
} rows;

static isl_stat take_rows(isl_map *m, void *ud) {
  rows *r = ud;
  int st = atoi(isl_map_get_tuple_name(m, isl_dim_in) + 1), n = (int)isl_map_dim(m, isl_dim_out);
  isl_pw_multi_aff *f = isl_pw_multi_aff_from_map(isl_map_reset_tuple_id(m, isl_dim_in));
  if (!r->loop) {
    r->n = n;
    r->loop = TP_NEWN(r->S->a, tp_item *, n);
    for (int k = 0; k < n; k++) {
      r->loop[k] = TP_NEW(r->S->a, tp_item);
      *r->loop[k] = (tp_item){ .st = -1, .s = 1, .mem = TP_NEWN(r->S->a, tp_mem, r->c->n) };
    }
  }
  for (int k = 0; k < n && k < r->n && f; k++) {
    tp_item *x = r->loop[k];
    x->mem[x->nmem++] = (tp_mem){
      .st = st, .dim = -1, .s = 1, .row = tp_keep_aff(r->S, isl_pw_multi_aff_get_pw_aff(f, k))
    };
    const tp_stmt *s = r->S->p->stmts.v[st];
    for (int d = 0; d < s->ndim && !x->label; d++)
      if (isl_pw_aff_involves_dims(x->mem[x->nmem - 1].row, isl_dim_in, d, 1) == isl_bool_true)
        x->label = s->label[d];
  }
  isl_pw_multi_aff_free(f);
  return f ? isl_stat_ok : isl_stat_error;
}

/* isl gives no row to a statement without points under the context: it gets row 0. */
static void add_missing(tp_sched *S, const tp_scc *c, tp_item *x) {
  for (int i = 0, m = 0; i < c->n; i++, m = 0) {
    while (m < x->nmem && x->mem[m].st != c->st[i]) m++;
    if (m == x->nmem)
      x->mem[x->nmem++] = (tp_mem){ .st = c->st[i],
        .dim = -1,
        .s = 1,
        .row = tp_keep_aff(S,
            isl_pw_aff_from_aff(
                isl_aff_zero_on_domain_space(isl_set_get_space(S->p->stmts.v[c->st[i]]->dom)))) };
  }
}

static void nest_loops(tp_sched *S, const tp_scc *c, rows *r, tp_items *out) {
  for (int k = 0; k < r->n; k++) {
    add_missing(S, c, r->loop[k]);
    TP_PUSH(S->a, out, r->loop[k]);
    out = &r->loop[k]->body;
  }
  for (int i = 0; i < c->n; i++) {
    tp_item *leaf = TP_NEW(S->a, tp_item);
    leaf->st = c->st[i];
    TP_PUSH(S->a, out, leaf);
  }
}

/* The scheduler's integer programs grow with the members, and isl does not count their pivots as
 * operations: 22 members take 0.07 s, 106 minutes. */
enum { MOST_MEMBERS = 48 };

tp_sres tp_isl_nest(tp_sched *S, const tp_level *L, int scc, tp_items *out) {
  const tp_scc *c = &L->scc[scc];
  tp_arcs in = L->inner[scc];
  if (c->n > MOST_MEMBERS) return TP_S_FAIL;
  tp_ask(S, "in which order '%s' and what it needs run", S->p->stmts.v[c->st[0]]->name, NULL);
  tp_query_long(S, TP_TUNE_NEST_BUDGETS);
  /* with coalescing isl finds no rows of different factors */
  isl_options_set_schedule_treat_coalescing(S->ctx, 0);
  isl_schedule *sch = compute(S, c, &in);
  isl_union_map *map = isl_schedule_get_map(sch);
  rows r = { .S = S, .c = c };
  bool ok = map && isl_union_map_foreach_map(map, take_rows, &r) == isl_stat_ok;
  isl_union_map_free(map);
  isl_schedule_free(sch);
  if (!tp_query_end(S) || !ok || !r.loop) return TP_S_FAIL;
  nest_loops(S, c, &r, out);
  S->skewed = true;
  return TP_S_OK;
}
