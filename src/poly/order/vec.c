/* vec: finds the dims that need no loop. A pre-pass collects the labels that recurrences need. Any
 * other dim over which a call may run, and in which the domain is a box, is left out of the
 * rows. */
#include "poly/sched.h"

typedef TP_VEC(tp_sym *) labels;

static bool has(const labels *C, tp_sym *l) {
  for (int i = 0; i < C->n; i++)
    if (C->v[i] == l) return true;
  return false;
}

static void need(tp_sched *S, labels *C, tp_sym *l) {
  if (!has(C, l)) TP_PUSH(S->a, C, l);
}

static void need_all(tp_sched *S, labels *C, const tp_scc *c) {
  for (int i = 0; i < c->n; i++) {
    const tp_stmt *s = S->p->stmts.v[c->st[i]];
    for (int d = 0; d < s->ndim; d++)
      if (!(S->st[c->st[i]].used >> d & 1)) need(S, C, s->label[d]);
  }
}

static tp_sres collect(tp_sched *S, labels *C, int nst, const int *st, const tp_arcs *arcs);

/* The inner arcs of a component at equal value of the dim chosen for it. */
static tp_sres collect_inside(tp_sched *S, labels *C, const tp_level *L, int k) {
  const tp_scc *c = &L->scc[k];
  tp_mem *mem;
  tp_arcs rest = tp_arcs_inside(S, L, k, c->pick, &mem);
  need(S, C, c->cand[c->pick].label);
  for (int i = 0; i < c->n; i++) S->st[c->st[i]].used |= 1u << mem[i].dim;
  tp_sres r = rest.n ? collect(S, C, c->n, c->st, &rest) : TP_S_OK;
  for (int i = 0; i < c->n; i++) S->st[c->st[i]].used &= ~(1u << mem[i].dim);
  return r;
}

/* Is it a callback inside a loop? The order of its points asks for a loop of its own only. */
static bool is_effect_inside(const tp_sched *S, const tp_scc *c) {
  return c->n == 1 && S->p->stmts.v[c->st[0]]->effect && S->st[c->st[0]].used && !S->p->ticks;
}

static tp_sres collect(tp_sched *S, labels *C, int nst, const int *st, const tp_arcs *arcs) {
  tp_level *L = tp_level_make(S, nst, st, arcs);
  tp_choose_recurrences(S, L);
  for (int k = 0; k < L->nscc; k++) {
    const tp_scc *c = &L->scc[k];
    if (!c->rec || is_effect_inside(S, c)) continue;
    if (c->pick < 0) {
      if (c->left && tp_split(S, L, c)) return TP_S_RESTART;
      need_all(S, C, c);
      continue;
    }
    if (tp_cut_ahead(S, L, k)) return TP_S_RESTART;
    tp_sres r = collect_inside(S, C, L, k);
    if (r != TP_S_OK) return r;
  }
  return TP_S_OK;
}

/* ---- calls ---- */

int tp_most_axes(const tp_stmt *s) {
  int most = s->src.node ? tp_rankof(s->src) : 0;
  for (int i = 0; i < s->nnode; i++) {
    const tp_node *n = s->node[i];
    for (int k = 0; k < n->nout; k++) most = TP_MAX(most, n->out[k].rank);
    for (int k = 0; k < n->nin; k++) most = TP_MAX(most, tp_rankof(n->in[k].src));
  }
  return most;
}

/* The dims of a statement that no recurrence needs. */
static uint32_t free_dims(const labels *C, const tp_stmt *s) {
  uint32_t free = 0;
  for (int d = 0; d < s->ndim; d++)
    if ((s->mayvec >> d & 1) && ((s->ahead >> d & 1) || !has(C, s->label[d]))) free |= 1u << d;
  return s->effect ? 0 : free;
}

/* The range of a dim at each point of others, between ends that are affine. */
typedef struct {
  tp_sched *S;
  const tp_stmt *s;
  int dim;
  uint32_t with; /* the others on which it depends */
  bool ok;
  tp_ix *lo, *hi;
} slant;

static isl_stat see_end(isl_constraint *c, void *ud) {
  slant *x = ud;
  tp_ictx *ix = x->S->ix;
  if (isl_constraint_involves_dims(c, isl_dim_set, (unsigned)x->dim, 1) == isl_bool_true) {
    bool first = isl_constraint_is_lower_bound(c, isl_dim_set, (unsigned)x->dim) == isl_bool_true;
    isl_val *by = isl_constraint_get_coefficient_val(c, isl_dim_set, x->dim);
    isl_aff *a = isl_constraint_get_bound(c, isl_dim_set, x->dim);
    tp_ix *e = tp_ix_of_aff(ix, x->s->ndim, x->s->dim, a);
    x->ok &= e && isl_constraint_is_equality(c) == isl_bool_false &&
        (first ? isl_val_is_one(by) : isl_val_is_negone(by)) == isl_bool_true;
    for (int d = 0; d < x->s->ndim && x->ok; d++)
      if (tp_ix_mentions(e, x->s->dim[d])) x->with |= 1u << d;
    if (x->ok && first) x->lo = x->lo ? tp_ix_max(x->lo, e) : e;
    if (x->ok && !first) e = tp_ix_addc(e, 1), x->hi = x->hi ? tp_ix_min(x->hi, e) : e;
    isl_aff_free(a);
    isl_val_free(by);
  }
  isl_constraint_free(c);
  return isl_stat_ok;
}

/* Are the points one piece, in which each point of the other dims has a range of dim d? */
static slant slant_of(tp_sched *S, const tp_stmt *s, int d) {
  slant x = { S, s, d, 0, isl_set_n_basic_set(s->dom) == 1 && !S->p->g->stops.n, NULL, NULL };
  if (!x.ok) return x;
  isl_basic_set_list *l = isl_set_get_basic_set_list(s->dom);
  isl_basic_set *b = isl_basic_set_remove_redundancies(isl_basic_set_list_get_at(l, 0));
  bool seen = isl_basic_set_dim(b, isl_dim_div) == 0 &&
      isl_basic_set_foreach_constraint(b, see_end, &x) == isl_stat_ok;
  x.ok &= seen && x.lo && x.hi;
  isl_basic_set_free(b);
  isl_basic_set_list_free(l);
  return x;
}

/* Lets calls run over dims whose range depends on other dims, which then have a loop. */
static void vectorise_slants(tp_sched *S, tp_stmt *s, uint32_t free, int room) {
  uint32_t loops = 0;
  for (int d = s->ndim - 1; d >= 0 && room > 0; d--) {
    if (!(free >> d & 1) || ((s->vec | loops) >> d & 1)) continue;
    slant x = slant_of(S, s, d);
    if (!x.ok || (x.with & s->vec)) continue;
    s->vlo[d] = x.lo, s->vhi[d] = x.hi;
    s->vec |= 1u << d;
    loops |= x.with;
    room--;
  }
}

static void vectorise(tp_sched *S, const labels *C, int st) {
  tp_stmt *s = S->p->stmts.v[st];
  int room = TP_MAXRANK - tp_most_axes(s); /* a call has so many axes, leading ones included */
  uint32_t free = free_dims(C, s);
  s->vec = 0;
  s->bdim = s->rdim = -1;
  s->vlo = TP_NEWN(S->a, tp_ix *, s->ndim);
  s->vhi = TP_NEWN(S->a, tp_ix *, s->ndim);
  for (int d = 0; d < s->ndim; d++) {
    if (room <= 0 || !(free >> d & 1) || tp_without(S->p, TP_RX_CALLS) || tp_pinned(S, st, d) ||
        !tp_vector_range(S, s, d, &s->vlo[d], &s->vhi[d]))
      continue;
    s->vec |= 1u << d;
    room--;
  }
  if (!tp_without(S->p, TP_RX_CALLS)) vectorise_slants(S, s, free, room);
  S->st[st].used = s->vec;
}

/* ---- loops that are there to be cut ---- */

bool tp_is_cut(const tp_sched *S, tp_sym *label) {
  for (int i = 0; i < S->cut.n; i++)
    if (S->cut.v[i] == label) return true;
  return false;
}

/* Does the statement go along l? An effect counts as not: it runs point by point in a loop of its
 * own. */
static bool has_label(const tp_stmt *s, tp_sym *l) {
  if (s->effect) return false;
  for (int d = 0; d < s->ndim; d++)
    if (s->label[d] == l) return true;
  return false;
}

/* Is the second statement's point a fixed number of steps of l from the first's? */
static bool in_step(tp_sched *S, const tp_dep *d, tp_sym *l) {
  const tp_stmt *a = S->p->stmts.v[d->src], *b = S->p->stmts.v[d->dst];
  int64_t lo, hi;
  for (int i = 0; i < a->ndim; i++)
    for (int k = 0; k < b->ndim; k++)
      if (a->label[i] == l && b->label[k] == l && tp_const_distance(S, d->map, i, k, &lo, &hi) &&
          lo == hi)
        return true;
  return false;
}

/* May l be cut? It may if nothing recurs among the statements that go along l in step, none of
 * their dims is cut, and one hands a value to another, or a value larger than its result to
 * itself. */
static bool worth_cutting(tp_sched *S, tp_sym *l, const tp_arcs *all) {
  int n = 0, *st = TP_NEWN(S->a, int, S->p->stmts.n);
  bool hands_on = false;
  tp_arcs arcs = { 0 };
  for (int i = 0; i < S->p->stmts.n; i++) {
    const tp_stmt *s = S->p->stmts.v[i];
    if (!has_label(s, l)) continue;
    for (int k = 0; k < s->ndim; k++)
      if (tp_is_cut(S, s->label[k])) return false;
    st[n++] = i;
    hands_on |= tp_row_inside(S->p, s) > 0;
  }
  for (int e = 0; e < all->n; e++) {
    const tp_dep *d = tp_dep_of(S, &all->v[e]);
    if (!has_label(S->p->stmts.v[d->src], l) || !has_label(S->p->stmts.v[d->dst], l)) continue;
    if (!in_step(S, d, l)) continue;
    TP_PUSH(S->a, &arcs, all->v[e]);
    hands_on |= d->src != d->dst && d->arr >= 0 && S->p->arrs.v[d->arr]->kind == TP_ARR_TEMP;
  }
  if (!hands_on) return false;
  tp_level *L = tp_level_make(S, n, st, &arcs);
  for (int k = 0; k < L->nscc; k++)
    if (L->scc[k].rec) return false;
  return true;
}

/* Cuts dims that nothing carries (rows of a data set, time in a filter): one call over all of such
 * a dim would hand on arrays as long as the dim. */
static void cut_some(tp_sched *S, labels *C, const tp_arcs *all) {
  /* each label is asked once: a dim that is cut can only forbid more cuts */
  labels asked = { 0 };
  if (tp_without(S->p, TP_RX_CALLS) || tp_without(S->p, TP_RX_BLOCKS)) return;
  for (int i = 0; i < S->p->stmts.n; i++) {
    const tp_stmt *s = S->p->stmts.v[i];
    for (int d = 0; d < s->ndim; d++) {
      tp_sym *l = s->label[d];
      if (has(C, l) || has(&asked, l) || !l->bound || !(s->mayvec >> d & 1)) continue;
      need(S, &asked, l);
      if (worth_cutting(S, l, all)) TP_PUSH(S->a, &S->cut, l);
    }
  }
  for (int i = 0; i < S->cut.n; i++) need(S, C, S->cut.v[i]);
}

tp_sres tp_vectors(tp_sched *S) {
  labels C = { 0 };
  tp_arcs all = { 0 };
  int n = S->p->stmts.n, *st = TP_NEWN(S->a, int, n);
  bool any = false;
  for (int i = 0; i < n; i++) {
    st[i] = i;
    any |= S->p->stmts.v[i]->mayvec != 0;
  }
  for (int e = 0; e < S->deps.n; e++)
    if (!S->deps.v[e].soft) TP_PUSH(S->a, &all, (tp_arc){ e, S->deps.v[e].map });
  if (any && !tp_without(S->p, TP_RX_CALLS)) {
    tp_sres r = collect(S, &C, n, st, &all);
    if (r != TP_S_OK) return r;
    cut_some(S, &C, &all);
    uint32_t *free = TP_NEWN(S->a, uint32_t, n);
    for (int i = 0; i < n; i++) free[i] = free_dims(&C, S->p->stmts.v[i]);
    if (tp_cut_in_boxes(S, free)) return TP_S_RESTART;
  }
  for (int i = 0; i < n; i++) vectorise(S, &C, i);
  return TP_S_OK;
}

/* ---- arrays ---- */

static bool ask_linked(tp_sched *S, const tp_stmt *s, const tp_access *x, int d, int k) {
  tp_ask(S, "whether '%s' walks along a dim of '%s'", s->name, S->p->arrs.v[x->arr]->name);
  tp_query(S);
  isl_map *m = tp_along(isl_map_copy(x->rel), d, k);
  isl_map *free = isl_map_from_domain_and_range(
      isl_map_domain(isl_map_copy(m)), isl_map_range(isl_map_copy(m)));
  bool same = isl_map_is_equal(m, free) == isl_bool_true;
  isl_map_free(m);
  isl_map_free(free);
  return !tp_query_end(S) || !same;
}

bool tp_linked(tp_sched *S, const tp_stmt *s, const tp_access *x, int d, int k) {
  if (x->at)
    return tp_ix_mentions(x->at[k].lo, s->dim[d]) ||
        (x->at[k].range && tp_ix_mentions(x->at[k].hi, s->dim[d]));
  bool fresh;
  bool *known = tp_recall(
      S, &(tp_question){ .what = OF_LINKED, .of = x->rel, .a = d, .b = k }, sizeof *known, &fresh);
  if (fresh) *known = ask_linked(S, s, x, d, k);
  return *known;
}

/* Do blocks of dim k begin where slots do, so that no block runs over the end of a ring of whole
 * blocks? */
static bool aligned(tp_sched *S, const tp_stmt *s, const tp_access *x, int d, int k) {
  int64_t lo, hi, shift;
  return tp_const_distance(S, x->rel, d, k, &lo, &hi) && lo == hi &&
      tp_ix_is_const(s->bshift, &shift) && (lo - shift) % s->block == 0;
}

/* 0: a loop goes along dim k, 1: blocks do, 2: calls run over all of it. */
static int inwards(tp_sched *S, const tp_stmt *s, const tp_access *x, int k, int most) {
  for (int d = 0; d < s->ndim && most; d++)
    if (tp_linked(S, s, x, d, k))
      most = TP_MIN(most, !(s->vec >> d & 1) ? 0 : d == s->bdim ? 1 : 2);
  return most;
}

/* Puts dims that calls run over innermost, so that a loop's row is one piece, and dims along which
 * ranges are read, so that a range is one. */
static void order_dims(tp_sched *S) {
  int n = S->p->arrs.n;
  int **in = TP_NEWN(S->a, int *, n);
  uint32_t *ranges = TP_NEWN(S->a, uint32_t, n);
  for (int i = 0; i < n; i++) {
    const tp_arr *r = S->p->arrs.v[i];
    if (r->kind != TP_ARR_TEMP || r->ndim < 2) continue;
    in[i] = TP_NEWN(S->a, int, r->ndim);
    for (int k = 0; k < r->ndim; k++) in[i][k] = 2;
  }
  for (int i = 0; i < S->p->stmts.n; i++) {
    const tp_stmt *s = S->p->stmts.v[i];
    for (int a = 0; a < s->nacc; a++) {
      const tp_access *x = &s->acc[a];
      if (x->idle) continue;
      for (int k = 0; in[x->arr] && k < S->p->arrs.v[x->arr]->ndim; k++)
        if (x->at && x->at[k].range) ranges[x->arr] |= 1u << k;
        else in[x->arr][k] = inwards(S, s, x, k, in[x->arr][k]);
    }
  }
  for (int i = 0; i < n; i++) {
    tp_arr *r = S->p->arrs.v[i];
    if (!in[i]) continue;
    int *order = TP_NEWN(S->a, int, r->ndim), at = 0;
    for (int k = 0; k < r->ndim; k++) in[i][k] = ranges[i] >> k & 1 ? 2 : ranges[i] ? 0 : in[i][k];
    for (int rank = 0; rank <= 2; rank++)
      for (int k = 0; k < r->ndim; k++)
        if (in[i][k] == rank) order[at++] = k;
    r->order = order;
  }
}

/* May a call over a block of dim d of s go along dim k of the array round its ring? It may if
 * points are a fixed number of steps away. */
bool tp_goes_round(tp_sched *S, const tp_stmt *s, const tp_access *x, int d, int k) {
  bool is = x->kind == TP_ACC_READ && x->at && !x->upto;
  int64_t lo, hi;
  for (int j = 0; is && j < S->p->arrs.v[x->arr]->ndim; j++)
    is = !x->at[j].range && (j == k || !tp_linked(S, s, x, d, j));
  return is && tp_const_distance(S, x->rel, d, k, &lo, &hi) && lo == hi;
}

static void align(tp_sched *S, tp_arr *r, int k, int64_t block) {
  if (!r->align) r->align = TP_NEWN(S->a, int64_t, r->ndim);
  int64_t had = r->align[k];
  r->align[k] = had ? had / (int64_t)tp_gcd((uint64_t)had, (uint64_t)block) * block : block;
}

/* Gives rings of whole blocks, if it may, to arrays that s accesses in a loop of its own. */
static void align_rows(tp_sched *S, const tp_stmt *s) {
  for (int a = 0; a < s->nacc && s->rdim >= 0; a++) {
    const tp_access *x = &s->acc[a];
    tp_arr *r = S->p->arrs.v[x->arr];
    for (int k = 0; x->at && k < r->ndim; k++)
      if (!x->idle && !x->at[k].range && !(r->dense >> k & 1) && tp_linked(S, s, x, s->rdim, k) &&
          aligned(S, s, x, s->rdim, k))
        align(S, r, k, s->block);
  }
}

bool tp_lies_ahead(const tp_poly *p, const tp_stmt *s, tp_ix *e, bool range) {
  uint32_t dims = s->ahead & (range ? ~0u : s->bdim < 0 ? s->vec : s->vec & ~(1u << s->bdim));
  bool ahead = false, other = p->g->stops.n > 0;
  for (int d = 0; d < s->ndim && dims; d++)
    if (tp_ix_mentions(e, s->dim[d])) *(dims >> d & 1 ? &ahead : &other) = true;
  return ahead && !other;
}

/* One more than the last place along dim k that is accessed; NULL: no single expression. */
static tp_ix *places(tp_sched *S, const tp_access *x, int k) {
  tp_ask(S, "how far along a dim '%s' is accessed", S->p->arrs.v[x->arr]->name, NULL);
  tp_query(S);
  isl_pw_aff *p = isl_set_dim_max(isl_map_range(isl_map_copy(x->rel)), k);
  p = isl_pw_aff_coalesce(isl_pw_aff_gist_params(p, isl_pw_aff_domain(isl_pw_aff_copy(p))));
  tp_ix *e = p ? tp_ix_of_pw_aff(S->ix, 0, NULL, p) : NULL;
  isl_pw_aff_free(p);
  return tp_query_end(S) && e ? tp_ix_addc(e, 1) : NULL;
}

static bool has_room_ahead(tp_sched *S, const tp_access *x, int k) {
  tp_arr *r = S->p->arrs.v[x->arr];
  tp_ix *n = r->kind == TP_ARR_TEMP ? places(S, x, k) : NULL;
  if (!n) return false;
  if (!r->least) r->least = TP_NEWN(S->a, tp_ix *, r->ndim);
  r->least[k] = r->least[k] ? tp_ix_max(r->least[k], n) : n;
  return true;
}

/* Makes dims dense, or rings of whole blocks, if calls run over them; a range that a call writes is
 * dense. */
void tp_dense_vectors(tp_sched *S) {
  for (int i = 0; i < S->p->stmts.n; i++) {
    const tp_stmt *s = S->p->stmts.v[i];
    for (int a = 0; a < s->nacc; a++) {
      tp_arr *r = S->p->arrs.v[s->acc[a].arr];
      for (int k = 0; k < r->ndim && !s->acc[a].idle; k++) {
        if (s->acc[a].kind != TP_ACC_READ && s->acc[a].at && s->acc[a].at[k].range)
          r->dense |= 1u << k;
        if (!(r->dense >> k & 1) && s->acc[a].at &&
            tp_lies_ahead(S->p, s, s->acc[a].at[k].lo, s->acc[a].at[k].range)) {
          if (!has_room_ahead(S, &s->acc[a], k)) r->dense |= 1u << k;
          continue;
        }
        for (int d = 0; d < s->ndim; d++)
          if ((s->vec >> d & 1) && !(r->dense >> k & 1) && tp_linked(S, s, &s->acc[a], d, k)) {
            if (d == s->bdim && !tp_is_first_end(&s->acc[a]) && aligned(S, s, &s->acc[a], d, k))
              align(S, r, k, s->block);
            else if (d != s->bdim || !tp_goes_round(S, s, &s->acc[a], d, k)) r->dense |= 1u << k;
          }
      }
    }
    align_rows(S, s);
  }
  order_dims(S);
}
