/* ends: dims that end by data, below the graph.
 *
 * From here on the bound of a dim is the number that the call gave: domains, dependences, slots and sizes know no other. What was reached at a point of the stop's
 * domain is an *end*: a symbol of its own for each way in which that point is written (T_end(b), T_end(i - 1), T_end(*) for the greatest). The plan reads it from
 * the array of the stop's ACCUM, which holds t + 1 of the first done, right before it is used.
 * A statement's domain is what some end would allow; what the end of its very point asks is its *guard*, a condition over its dims and ends. A guard is read
 * in order with the ACCUM's updates: t < T_end needs those before t only, so the loop that finds the end out tests it too; everything else needs all of them. */
#include "poly/lower.h"

static tp_ictx *C(const tp_poly *p) { return p->g->ix; }

/* ---- the table ---- */

static const char *end_name(tp_poly *p, const tp_stop *s, const tp_ix *const *at) {
  const char *name = tp_printf(p->a, "%s_end", s->dim->bound->name);
  for (int i = 0; i < s->ndom; i++) name = tp_printf(p->a, "%s%s%s", name, i ? ", " : "(", at[i] ? tp_ix_str(C(p), at[i]) : "*");
  return s->ndom ? tp_printf(p->a, "%s)", name) : name;
}

const tp_sym *tp_end_of(tp_poly *p, int stop, const tp_ix *const *at) {
  const tp_stop *s = &p->g->stops.v[stop];
  for (int i = 0; i < p->ends.n; i++) {
    bool same = p->ends.v[i].stop == stop;
    for (int d = 0; same && d < s->ndom; d++) same = p->ends.v[i].at[d] == at[d];
    if (same) return p->ends.v[i].sym;
  }
  const char *name = end_name(p, s, at);        /* a parameter of sets only while there are sets to be made */
  const tp_sym *sym = p->scheduled ? tp_sym_var(C(p), name) : tp_sym_hidden_bound(C(p), name);
  TP_PUSH(p->a, &p->ends, (tp_end){ stop, sym, tp_dup(p->a, at, sizeof *at * (size_t)s->ndom) });
  return sym;
}

/* Of a node at a point: where it lacks dims, the greatest. */
static const tp_sym *end_at(tp_poly *p, int stop, int n, const tp_sym *const *dims, const tp_ix *const *at) {
  const tp_stop *s = &p->g->stops.v[stop];
  const tp_ix *d[s->ndom + 1];
  for (int i = 0; i < s->ndom; i++) {
    d[i] = NULL;
    for (int k = 0; k < n; k++)
      if (dims[k] == s->dom[i]) d[i] = at[k];
  }
  return tp_end_of(p, stop, d);
}

/* The ends that e mentions: the next one's place in the table from `from` on, -1: no more. */
int tp_next_end(const tp_poly *p, const tp_ix *e, int from) {
  for (int i = from; e && i < p->ends.n; i++)
    if (tp_ix_mentions(e, p->ends.v[i].sym)) return i;
  return -1;
}

bool tp_depends(const tp_poly *p, const tp_ix *e, const tp_sym *s) {
  if (tp_ix_mentions(e, s)) return true;
  for (int i = tp_next_end(p, e, 0); i >= 0; i = tp_next_end(p, e, i + 1))
    for (int d = 0; d < p->g->stops.v[p->ends.v[i].stop].ndom; d++)
      if (p->ends.v[i].at[d] && tp_ix_mentions(p->ends.v[i].at[d], s)) return true;
  return false;
}

/* ---- expressions ---- */

const tp_ix *tp_at_dims(tp_poly *p, const tp_ix *e, int n, const tp_sym *const *dims, const tp_ix *const *at) {
  int ns = p->g->stops.n, m = n;
  const tp_sym *from[n + ns + 1];
  const tp_ix *to[n + ns + 1];
  for (int k = 0; k < n; k++) from[k] = dims[k], to[k] = at[k];
  for (int i = 0; i < ns; i++) {
    if (!tp_ix_mentions(e, p->g->stops.v[i].dim->bound)) continue;
    from[m] = p->g->stops.v[i].dim->bound;
    to[m++] = tp_ix_sym(C(p), end_at(p, i, n, dims, at));
  }
  return tp_ix_subst(C(p), e, m, from, to);
}

const tp_ix *tp_at_point(tp_poly *p, const tp_node *n, const tp_ix *e, const tp_ix *const *at) { return tp_at_dims(p, e, n->ndom, n->dom, at); }

/* Ends follow their points where the dims of e are replaced; what depends on a symbol of `gone` becomes the greatest. */
const tp_ix *tp_move_ends(tp_poly *p, const tp_ix *e, int n, const tp_sym *const *dims, const tp_ix *const *to, uint32_t gone) {
  TP_VEC(const tp_sym *) from = { 0 };
  TP_VEC(const tp_ix *) by = { 0 };
  for (int i = tp_next_end(p, e, 0), last = p->ends.n; i >= 0 && i < last; i = tp_next_end(p, e, i + 1)) {
    const tp_end x = p->ends.v[i];
    int nd = p->g->stops.v[x.stop].ndom;
    const tp_ix *at[nd + 1];
    for (int d = 0; d < nd; d++) {
      at[d] = x.at[d];
      for (int k = 0; k < n && at[d]; k++)
        if ((gone >> k & 1) && tp_ix_mentions(at[d], dims[k])) at[d] = NULL;
      if (at[d]) at[d] = tp_ix_subst(C(p), at[d], n, dims, to);
    }
    TP_PUSH(p->a, &from, x.sym);
    TP_PUSH(p->a, &by, tp_ix_sym(C(p), tp_end_of(p, x.stop, at)));
  }
  for (int k = 0; k < n; k++)
    if (!(gone >> k & 1)) {
      TP_PUSH(p->a, &from, dims[k]);
      TP_PUSH(p->a, &by, to[k]);
    }
  return tp_ix_subst(C(p), e, from.n, from.v, by.v);
}

/* An upper bound of an extent, whatever was reached: T - t is at most T, 5 - T at most 5. */
const tp_ix *tp_extent_upper(tp_graph *g, const tp_ix *e, int n, const tp_sym *const *dims) {
  tp_ictx *c = g->ix;
  const tp_sym *elim[n + g->stops.n + 1];
  const tp_ix *none = e;
  int m = n;
  for (int k = 0; k < n; k++) elim[k] = dims[k];
  for (int i = 0; i < g->stops.n; i++) {
    const tp_sym *end = g->stops.v[i].dim->bound;
    if (!tp_ix_mentions(e, end)) continue;
    tp_sym *less = tp_sym_hidden_dim(c, tp_printf(&g->arena, "%s_less", end->name));
    const tp_ix *zero = tp_ix_const(c, 0), *some = tp_ix_addc(c, tp_ix_sym(c, less), 1);
    less->bound = (tp_sym *)end;
    e = tp_ix_subst(c, e, 1, &end, &some);
    none = tp_ix_subst(c, none, 1, &end, &zero);
    elim[m++] = less;
  }
  const tp_ix *up = tp_ix_upper(c, e, m, elim);
  return m == n ? up : tp_ix_max(c, up, tp_ix_upper(c, none, n, dims));
}

/* ---- parts of guards ---- */

/* cond as a conjunction: its part k, NULL: no more. */
static const tp_ix *part(const tp_ix *cond, int k) {
  if (tp_ix_kind(cond) == TP_IX_AND) return k < tp_ix_narg(cond) ? tp_ix_arg(cond, k) : NULL;
  return k ? NULL : cond;
}

/* e >= 0 says that the end is at least *least. */
static bool at_least(const tp_poly *p, const tp_ix *cond, const tp_sym *end, const tp_ix **least) {
  int64_t k;
  const tp_ix *rest;
  if (tp_ix_kind(cond) != TP_IX_GE0 || !tp_ix_linear_in(C(p), tp_ix_arg(cond, 0), end, &k, &rest) || k != 1 || tp_next_end(p, rest, 0) >= 0) return false;
  *least = tp_ix_neg(C(p), rest);
  return true;
}

bool tp_guard_part(const tp_poly *p, const tp_ix *guard, int k, const tp_sym **end, const tp_ix **least) {
  const tp_ix *x = guard ? part(guard, k) : NULL;
  int i = x ? tp_next_end(p, x, 0) : -1;
  *end = NULL;
  if (!x) return false;
  if (i < 0) return true;
  *end = p->ends.v[i].sym;
  if (!at_least(p, x, *end, least)) *least = NULL;
  return true;
}

/* ---- domains and guards ---- */

static const tp_ix *bound(const tp_poly *p, const tp_sym *s) { return tp_ix_sym(C(p), s); }

/* A set of points of a node, in which bounds are ends reached at the node's point: these become ends at its point as written in `at`. */
tp_set *tp_points_at(tp_poly *p, tp_set *a, int n, const tp_sym *const *dims, const tp_ix *const *at) {
  for (int i = 0; i < p->g->stops.n; i++) {
    const tp_stop *s = &p->g->stops.v[i];
    const tp_sym *end = end_at(p, i, n, dims, at);
    a = tp_set_some(C(p), a, s->dim->bound, tp_ix_cmp(C(p), TP_EQ, bound(p, s->dim->bound), bound(p, end)));
    a = tp_set_some(C(p), a, s->given, tp_ix_cmp(C(p), TP_EQ, bound(p, s->given), bound(p, s->dim->bound)));
  }
  return a;
}

tp_set *tp_points_of(tp_poly *p, tp_set *a, int n, const tp_sym *const *dims) {
  const tp_ix *at[n + 1];
  if (!p->g->stops.n) return a;
  for (int k = 0; k < n; k++) at[k] = tp_ix_sym(C(p), dims[k]);
  return tp_points_at(p, a, n, dims, at);
}

static bool has_param(tp_set *a, const tp_sym *s) {
  isl_id *id = isl_id_alloc(isl_set_get_ctx(a), s->name, (void *)s);
  int at = isl_set_find_dim_by_id(a, isl_dim_param, id);
  isl_id_free(id);
  return at >= 0 && isl_set_involves_dims(a, isl_dim_param, (unsigned)at, 1) == isl_bool_true;
}

static isl_set *params_of(const tp_poly *p, const tp_ix *cond) { return isl_set_params(tp_isl_of_cond(C(p), 0, NULL, cond)); }

/* The condition on ends under which the points of a, all of which are in `points`, are there; context: what is known of ends. NULL: none. */
static const tp_ix *asked(const tp_poly *p, TP_KEEP tp_set *a, TP_KEEP tp_set *points, TP_KEEP isl_set *context, int n, const tp_sym *const *dims) {
  tp_set *known = isl_set_intersect_params(isl_set_copy(points), isl_set_intersect(isl_set_copy(context), tp_isl_context(C(p), 0)));
  tp_set *rest = tp_isl_coalesce(tp_isl_gist(tp_isl_coalesce(isl_set_copy(a)), known));
  const tp_ix *cond = tp_cond_of_set(C(p), n, dims, rest);
  isl_set_free(rest);
  return cond && tp_ix_kind(cond) == TP_IX_TRUE ? NULL : cond;
}

/* Takes all, with ends as parameters: gives the points that some ends allow, and in *guard what the ends have to be (NULL: anything). Something was reached if
 * anything was given; where nothing was, the domain says what is left. */
tp_set *tp_guard_of(tp_poly *p, tp_set *all, int n, const tp_sym *const *dims, const tp_ix **guard) {
  tp_ictx *c = C(p);
  const tp_ix *some = tp_ix_bool(c, true), *any = some;
  *guard = NULL;
  TP_VEC(int) v = { 0 };
  for (int i = 0; all && i < p->ends.n; i++)
    if (has_param(all, p->ends.v[i].sym)) TP_PUSH(p->a, &v, i);
  if (!v.n) return all;
  tp_set *points = isl_set_copy(all);
  for (int k = 0; k < v.n; k++) {
    const tp_ix *end = bound(p, p->ends.v[v.v[k]].sym), *given = bound(p, p->g->stops.v[p->ends.v[v.v[k]].stop].dim->bound), *one = tp_ix_const(c, 1), *zero = tp_ix_const(c, 0);
    const tp_ix *reached = tp_ix_and(c, tp_ix_cmp(c, TP_GE, end, one), tp_ix_cmp(c, TP_LE, end, given));
    points = tp_set_some(c, points, p->ends.v[v.v[k]].sym, tp_ix_bool(c, true));
    some = tp_ix_and(c, some, reached);
    any = tp_ix_and(c, any, tp_ix_or(c, reached, tp_ix_and(c, tp_ix_cmp(c, TP_EQ, end, zero), tp_ix_cmp(c, TP_EQ, given, zero))));
  }
  isl_set *reached = params_of(p, some), *all_reached = params_of(p, any);
  all = tp_isl_coalesce(isl_set_intersect_params(all, isl_set_copy(all_reached)));
  tp_set *with = isl_set_intersect_params(isl_set_copy(all), isl_set_copy(reached)), *without = isl_set_subtract(isl_set_copy(all), isl_set_copy(with));
  *guard = isl_set_is_empty(with) == isl_bool_true ? tp_ix_bool(c, false) : asked(p, with, points, reached, n, dims);
  for (int k = 0; k < v.n; k++) {
    all = tp_set_some(c, all, p->ends.v[v.v[k]].sym, tp_ix_bool(c, true));
    without = tp_set_some(c, without, p->ends.v[v.v[k]].sym, tp_ix_bool(c, true));
  }
  if (*guard && isl_set_is_empty(without) != isl_bool_true) {
    const tp_ix *rest = asked(p, without, points, all_reached, n, dims);
    *guard = rest ? tp_ix_or(c, *guard, rest) : NULL;
  }
  isl_set_free(reached);
  isl_set_free(all_reached);
  isl_set_free(points);
  isl_set_free(with);
  isl_set_free(without);
  return all;
}

tp_rel *tp_elements(const tp_poly *p, tp_rel *r, const tp_arr *x) {
  bool any = false;
  tp_set *pairs = isl_map_wrap(r);
  for (int i = 0; pairs && i < p->ends.n; i++) {
    const tp_sym *end = p->ends.v[i].sym, *given = p->g->stops.v[p->ends.v[i].stop].dim->bound;
    if (!has_param(pairs, end)) continue;
    pairs = tp_set_some(C(p), pairs, end, tp_ix_and(C(p), tp_ix_cmp(C(p), TP_GE, bound(p, end), tp_ix_const(C(p), 0)), tp_ix_cmp(C(p), TP_LE, bound(p, end), bound(p, given))));
    any = true;
  }
  r = isl_set_unwrap(pairs);
  return any ? tp_rel_into(r, tp_set_box(C(p), x->ndim, x->dim)) : r;
}

/* ---- questions ---- */

bool tp_ends_at(const tp_poly *p, const tp_node *n) {
  for (int i = 0; n && i < p->g->stops.n; i++)
    if (p->g->stops.v[i].end == n) return true;
  return false;
}

const tp_sym *tp_stop_sym(const tp_poly *p, int arr) {
  for (int i = 0; i < p->g->stops.n; i++)
    if (p->g->stops.v[i].end == p->arrs.v[arr]->val.node) return p->g->stops.v[i].dim;
  return NULL;
}

bool tp_lacks(const tp_poly *p, const tp_ix *guard) {
  for (int i = tp_next_end(p, guard, 0); i >= 0; i = tp_next_end(p, guard, i + 1))
    for (int d = 0; d < p->g->stops.v[p->ends.v[i].stop].ndom; d++)
      if (!p->ends.v[i].at[d]) return true;
  return false;
}

/* The dims in vec that e mentions: how many, and one. */
static int calls_over(const tp_stmt *s, const tp_ix *e, int *d) {
  int n = 0;
  for (int k = 0; k < s->ndim; k++)
    if ((s->vec >> k & 1) && tp_ix_mentions(e, s->dim[k])) *d = k, n++;
  return n;
}

static bool varies(const tp_poly *p, const tp_stmt *s, const tp_sym *end) {
  for (int k = 0; k < s->ndim; k++)
    if ((s->vec >> k & 1) && tp_depends(p, tp_ix_sym(C(p), end), s->dim[k])) return true;
  return false;
}

bool tp_guard_masks(const tp_poly *p, const tp_stmt *s, int k) {
  const tp_sym *end;
  const tp_ix *least;
  int d;
  if (s->kind != TP_ST_ACC || tp_ends_at(p, s->into) || !tp_guard_part(p, s->guard, k, &end, &least)) return false;
  return end && least && (varies(p, s, end) || calls_over(s, least, &d) > 1);
}

/* Where the call's range of dim d begins, or before. */
static const tp_ix *range_begin(const tp_poly *p, const tp_stmt *s, const tp_tree *run, int d) {
  return d == s->bdim ? tp_ix_sub(C(p), tp_ix_mulc(C(p), run->arg[d], s->block), s->bshift) : s->vlo[d];
}

/* One part: end >= least. */
static const tp_ix *part_run(tp_poly *p, const tp_stmt *s, tp_tree *run, const tp_sym *end, const tp_ix *least) {
  tp_ictx *c = C(p);
  const tp_ix *e = tp_move_ends(p, tp_ix_sym(c, end), s->ndim, s->dim, run->arg, s->vec), *rest;
  int64_t coef;
  int d, n = calls_over(s, least, &d);
  least = tp_move_ends(p, least, s->ndim, s->dim, run->arg, s->vec);
  if (n == 0) return tp_ix_cmp(c, TP_GE, e, least);
  if (n > 1 || !tp_ix_linear_in(c, least, s->dim[d], &coef, &rest) || coef != 1) return NULL;
  if (!run->top) run->top = TP_NEWN(p->a, const tp_ix *, s->ndim);
  const tp_ix *top = tp_ix_addc(c, tp_ix_sub(c, e, rest), 1);
  run->top[d] = run->top[d] ? tp_ix_min(c, run->top[d], top) : top;
  return tp_ix_cmp(c, TP_GE, e, tp_ix_add(c, range_begin(p, s, run, d), rest));
}

const tp_ix *tp_guard_run(tp_poly *p, const tp_stmt *s, tp_tree *run) {
  const tp_ix *all = NULL, *least;
  const tp_sym *end;
  for (int k = 0; tp_guard_part(p, s->guard, k, &end, &least); k++) {
    const tp_ix *x = end && least ? part_run(p, s, run, end, least) : tp_move_ends(p, part(s->guard, k), s->ndim, s->dim, run->arg, s->vec);
    if (x) all = all ? tp_ix_and(C(p), all, x) : x;
  }
  return all;
}

bool tp_guard_grows(const tp_poly *p, const tp_ix *guard) {
  const tp_sym *end;
  const tp_ix *least;
  for (int k = 0; tp_guard_part(p, guard, k, &end, &least); k++)
    if (end && !least) return false;
  return true;
}
