/* ends: dims that end by data in statements; opt/ends/ends.c has lowered them in the graph.
 *
 * Domains, dependences and slots go by the given bounds. An extent that mentions what was reached
 * has a symbol for each way in which its point is written (T_end(b), T_end(i - 1), T_end(*) for the
 * greatest), which the plan reads from the array of the stop's ACCUM. A statement need not run
 * beyond an end: its *guard*, a conjunction of `end >= t + 1`, is evaluated before it. An end read
 * too early is too large, never too small, so the guard is no dependence; where it must be exact
 * (effects), it waits for all updates for points before t. */
#include "poly/lower/lower.h"

/* ---- the table ---- */

static tp_at whole_dim(const tp_poly *p, int stop, int d) {
  return (tp_at){ true, tp_ix_const(p->g->ix, 0), tp_ix_sym(p->g->stops.v[stop].dom[d]->bound) };
}
static bool same_at(tp_at a, tp_at b) {
  return a.range == b.range && a.lo == b.lo && (!a.range || a.hi == b.hi);
}

static const char *end_name(tp_poly *p, int stop, const tp_at *at) {
  const tp_stop *s = &p->g->stops.v[stop];
  const char *name = tp_printf(p->a, "%s_end", s->dim->bound->name);
  for (int i = 0; i < s->ndom; i++) {
    const char *one = !at[i].range              ? tp_ix_str(at[i].lo)
        : same_at(at[i], whole_dim(p, stop, i)) ? "*"
                                                : tp_printf(p->a, "%s ..", tp_ix_str(at[i].lo));
    name = tp_printf(p->a, "%s%s%s", name, i ? ", " : "(", one);
  }
  return s->ndom ? tp_printf(p->a, "%s)", name) : name;
}

static tp_ix *the_end(tp_poly *p, int stop, const tp_at *at) {
  const tp_stop *s = &p->g->stops.v[stop];
  for (int i = 0; i < p->ends.n; i++) {
    bool same = p->ends.v[i].stop == stop;
    for (int d = 0; same && d < s->ndom; d++) same = same_at(p->ends.v[i].at[d], at[d]);
    if (same) return tp_ix_sym(p->ends.v[i].sym);
  }
  tp_sym *sym = tp_sym_var(p->g->ix, end_name(p, stop, at));
  TP_PUSH(p->a, &p->ends, (tp_end){ stop, sym, tp_dup(p->a, at, sizeof *at * (size_t)s->ndom) });
  return tp_ix_sym(sym);
}

/* The stop's end at a point of a node: the greatest over dims that the node lacks. */
static tp_ix *end_at(tp_poly *p, int stop, int n, tp_dims dims, const tp_at *at) {
  const tp_stop *s = &p->g->stops.v[stop];
  tp_at d[s->ndom + 1];
  for (int i = 0; i < s->ndom; i++) {
    d[i] = whole_dim(p, stop, i);
    for (int k = 0; k < n; k++)
      if (dims[k] == s->dom[i] && at[k].lo) d[i] = at[k];
  }
  return the_end(p, stop, d);
}

tp_ix *tp_end_of_rows(tp_poly *p, const tp_end *e, int d) {
  const tp_stop *s = &p->g->stops.v[e->stop];
  for (int i = 0; i < p->g->stops.n && e->at[d].range; i++)
    if (p->g->stops.v[i].dim == s->dom[d]) return end_at(p, i, s->ndom, s->dom, e->at);
  return NULL;
}

int tp_next_end(const tp_poly *p, tp_ix *e, int from) {
  for (int i = from; e && i < p->ends.n; i++)
    if (tp_ix_mentions(e, p->ends.v[i].sym)) return i;
  return -1;
}

static bool at_mentions(tp_at at, tp_sym *s) {
  return tp_ix_mentions(at.lo, s) || (at.range && tp_ix_mentions(at.hi, s));
}

bool tp_depends(const tp_poly *p, tp_ix *e, tp_sym *s) {
  if (tp_ix_mentions(e, s)) return true;
  for (int i = tp_next_end(p, e, 0); i >= 0; i = tp_next_end(p, e, i + 1))
    for (int d = 0; d < p->g->stops.v[p->ends.v[i].stop].ndom; d++)
      if (at_mentions(p->ends.v[i].at[d], s)) return true;
  return false;
}

/* ---- expressions ---- */

tp_ix *tp_at_dims(tp_poly *p, tp_ix *e, int n, tp_dims dims, tp_ixs at) {
  int ns = p->g->stops.n, m = n;
  tp_sym *from[n + ns + 1];
  tp_ix *to[n + ns + 1];
  tp_at point[n + 1];
  for (int k = 0; k < n; k++) from[k] = dims[k], to[k] = at[k], point[k] = (tp_at){ .lo = at[k] };
  for (int i = 0; i < ns; i++) {
    if (!tp_ix_mentions(e, p->g->stops.v[i].sym)) continue;
    from[m] = p->g->stops.v[i].sym;
    to[m++] = end_at(p, i, n, dims, point);
  }
  return tp_ix_subst(e, m, from, to);
}

tp_ix *tp_at_point(tp_poly *p, const tp_node *n, tp_ix *e, tp_ixs at) {
  return tp_at_dims(p, e, n->ndom, n->dom, at);
}

static tp_at moved(
    tp_poly *p, const tp_end *e, int d, int n, tp_dims dims, tp_ixs to, uint32_t gone) {
  tp_at at = e->at[d];
  for (int k = 0; k < n; k++)
    if ((gone >> k & 1) && at_mentions(at, dims[k])) at = whole_dim(p, e->stop, d);
  at.lo = tp_ix_subst(at.lo, n, dims, to);
  if (at.range) at.hi = tp_ix_subst(at.hi, n, dims, to);
  return at;
}

tp_ix *tp_move_ends(tp_poly *p, tp_ix *e, int n, tp_dims dims, tp_ixs to, uint32_t gone) {
  TP_VEC(tp_sym *) from = { 0 };
  TP_VEC(tp_ix *) by = { 0 };
  for (int i = tp_next_end(p, e, 0), last = p->ends.n; i >= 0 && i < last;
       i = tp_next_end(p, e, i + 1)) {
    const tp_end x = p->ends.v[i];
    int nd = p->g->stops.v[x.stop].ndom;
    tp_at at[nd + 1];
    for (int d = 0; d < nd; d++) at[d] = moved(p, &x, d, n, dims, to, gone);
    TP_PUSH(p->a, &from, x.sym);
    TP_PUSH(p->a, &by, the_end(p, x.stop, at));
  }
  for (int k = 0; k < n; k++)
    if (!(gone >> k & 1)) {
      TP_PUSH(p->a, &from, dims[k]);
      TP_PUSH(p->a, &by, to[k]);
    }
  return tp_ix_subst(e, from.n, from.v, by.v);
}

/* An upper bound of an extent for all ends, 0 among them: T - t is at most T, 5 - T at most 5. */
tp_ix *tp_extent_upper(tp_graph *g, tp_ix *e, int n, tp_dims dims) {
  tp_ix *up = tp_end_extreme(g, e, true, n, dims), *none = e, *zero = tp_ix_const(g->ix, 0);
  for (int i = 0; i < g->stops.n; i++) none = tp_ix_subst(none, 1, &g->stops.v[i].sym, &zero);
  return none == e ? up : tp_ix_max(up, tp_ix_upper(none, n, dims));
}

/* ---- guards ---- */

tp_ix *tp_guard_of(tp_poly *p, const tp_node *n, tp_ixs at) {
  tp_ix *all = NULL;
  for (int i = 0; i < p->g->stops.n; i++)
    for (int d = 0; d < n->ndom; d++) {
      if (n->dom[d] != p->g->stops.v[i].dim || !at[d]) continue;
      tp_ix *end = tp_at_point(p, n, tp_ix_sym(p->g->stops.v[i].sym), at);
      all = tp_ix_both(all, tp_ix_cmp(TP_GE, end, tp_ix_addc(at[d], 1)));
    }
  return all;
}

bool tp_guard_part(const tp_poly *p, tp_ix *guard, int k, int *end, tp_ix **least) {
  tp_ix *x = tp_ix_conjunct(guard, k), *rest;
  int64_t coef;
  if (!x) return false;
  *end = tp_next_end(p, x, 0);
  if (*end < 0 || tp_ix_kind(x) != TP_IX_GE0 ||
      !tp_ix_linear_in(tp_ix_arg(x, 0), p->ends.v[*end].sym, &coef, &rest) || coef != 1)
    *end = -1;
  else *least = tp_ix_neg(rest);
  return true;
}

/* The dims in vec that e mentions: how many, and one. */
static int calls_over(const tp_stmt *s, tp_ix *e, int *d) {
  int n = 0;
  for (int k = 0; k < s->ndim; k++)
    if ((s->vec >> k & 1) && tp_ix_mentions(e, s->dim[k])) *d = k, n++;
  return n;
}

/* The begin of the call's range of dim d, or less. */
static tp_ix *range_begin(const tp_stmt *s, const tp_tree *run, int d) {
  return d == s->bdim ? tp_ix_sub(tp_ix_mulc(run->arg[d], s->block), s->bshift) : s->vlo[d];
}

/* The end over the points that the call runs over. A call over a block asks for the rows of the
 * block alone: those of others may not have been made yet, and the length of a product decides its
 * last bit. */
static tp_ix *end_of_run(tp_poly *p, const tp_stmt *s, const tp_tree *run, int end) {
  const tp_end e = p->ends.v[end];
  const tp_tree uncut = { .arg = run->arg };
  tp_at at[p->g->stops.v[e.stop].ndom + 1];
  for (int d = 0; d < p->g->stops.v[e.stop].ndom; d++) {
    at[d] = moved(p, &e, d, s->ndim, s->dim, run->arg, s->vec);
    if (s->bdim < 0 || !tp_at_is_own(&e.at[d], s->dim[s->bdim])) continue;
    tp_run_range(s, &uncut, s->bdim, &at[d].lo, &at[d].hi);
  }
  return the_end(p, e.stop, at);
}

/* One part: end >= least. NULL: it depends on several dims that the call runs over. */
static tp_ix *part_run(tp_poly *p, const tp_stmt *s, tp_tree *run, int end, tp_ix *least) {
  tp_ix *e = end_of_run(p, s, run, end), *rest;
  int64_t coef;
  int d, n = calls_over(s, least, &d);
  least = tp_move_ends(p, least, s->ndim, s->dim, run->arg, s->vec);
  /* if there are points, a bound of at least 1 is reached */
  if (n == 0) return tp_ix_is_const(least, &coef) && coef <= 1 ? NULL : tp_ix_cmp(TP_GE, e, least);
  if (n > 1 || !tp_ix_linear_in(least, s->dim[d], &coef, &rest) || coef != 1) return NULL;
  if (!run->top) run->top = TP_NEWN(p->a, tp_ix *, s->ndim);
  tp_ix *top = tp_ix_addc(tp_ix_sub(e, rest), 1);
  run->top[d] = run->top[d] ? tp_ix_min(run->top[d], top) : top;
  return tp_ix_cmp(TP_GE, e, tp_ix_add(range_begin(s, run, d), rest));
}

tp_ix *tp_guard_run(tp_poly *p, const tp_stmt *s, tp_tree *run) {
  tp_ix *all = NULL, *least;
  int end;
  for (int k = 0; tp_guard_part(p, s->guard, k, &end, &least); k++)
    if (!s->acc[s->gacc + k].idle) all = tp_ix_both(all, part_run(p, s, run, end, least));
  return all;
}

/* ---- questions ---- */

bool tp_is_first_end(const tp_access *a) {
  int64_t upto;
  return a->upto && tp_ix_is_const(a->upto, &upto) && upto <= 0;
}

tp_sym *tp_stop_sym(const tp_poly *p, int arr) {
  for (int i = 0; i < p->g->stops.n; i++)
    if (p->g->stops.v[i].end == p->arrs.v[arr]->val.node) return p->g->stops.v[i].dim;
  return NULL;
}

/* e is the same for all values of `end` from some number on: *from becomes that or more, where e
 * mentions it. */
static bool is_settled_from(tp_ictx *c, tp_ix *e, tp_sym *end, tp_ix **from) {
  tp_ix *const *atom, *limit = NULL, *over = NULL, *rest;
  int64_t coef;
  bool is = true;
  if (!tp_ix_mentions(e, end)) return true;
  for (int i = 0; tp_ix_kind(e) == TP_IX_MIN && i < tp_ix_narg(e); i++) {
    tp_ix *x = tp_ix_arg(e, i);
    if (!tp_ix_mentions(x, end)) limit = limit ? tp_ix_min(limit, x) : x;
    else if (over || !tp_ix_linear_in(x, end, &coef, &over) || coef != 1) is = false;
  }
  if (is && over && limit) {
    rest = tp_ix_sub(limit, over);
    *from = *from ? tp_ix_max(*from, rest) : rest;
    return true;
  }
  switch (tp_ix_kind(e)) {
  case TP_IX_MIN:
  case TP_IX_MAX:
  case TP_IX_FDIV:
  case TP_IX_MOD:
    is = true;
    for (int i = 0; i < tp_ix_narg(e); i++)
      is = is && is_settled_from(c, tp_ix_arg(e, i), end, from);
    return is;
  case TP_IX_POLY:
    for (int i = 0; i < tp_ix_nterm(e); i++)
      for (int k = tp_ix_term(e, i, &atom) - 1; k >= 0; k--)
        is = is && is_settled_from(c, atom[k], end, from);
    return is;
  default: return false;
  }
}

/* Is e nowhere less for a greater `end`? */
static bool grows_with(tp_ix *e, tp_sym *end) {
  tp_ixs atom;
  bool does = true;
  if (!tp_ix_mentions(e, end) || tp_ix_as_sym(e)) return true;
  switch (tp_ix_kind(e)) {
  case TP_IX_MIN:
  case TP_IX_MAX:
  case TP_IX_FDIV:
    for (int i = 0; i < tp_ix_narg(e); i++) does = does && grows_with(tp_ix_arg(e, i), end);
    return does;
  case TP_IX_POLY:
    for (int i = 0; i < tp_ix_nterm(e); i++) {
      int n = tp_ix_term(e, i, &atom);
      for (int k = 0; k < n; k++)
        does = does &&
            (!tp_ix_mentions(atom[k], end) ||
                (n == 1 && tp_ix_coef(e, i) > 0 && grows_with(atom[k], end)));
    }
    return does;
  default: return false;
  }
}

/* e has its value once done is known for the points before this one; NULL: for all points. */
tp_ix *tp_end_wanted(tp_poly *p, tp_ix *e, int end) {
  tp_ix *from = NULL;
  bool is = is_settled_from(p->g->ix, e, p->ends.v[end].sym, &from) && tp_ix_is_affine(from);
  from = is ? tp_ix_addc(from, -1) : NULL;
  return from && tp_ix_is_const(from, NULL) ? tp_ix_max(from, tp_ix_const(p->g->ix, 1)) : from;
}

/* The range of elements that an index may reach if ends decide: up to the element of the full
 * bounds, if no end gives one further on, else the whole dim. */
tp_at tp_any_end(const tp_poly *p, tp_at at, tp_sym *dim) {
  tp_ictx *c = p->g->ix;
  tp_ix *zero = tp_ix_const(c, 0), *all = tp_ix_sym(dim->bound);
  bool lo = tp_next_end(p, at.lo, 0) >= 0, hi = at.range && tp_next_end(p, at.hi, 0) >= 0;
  if (!lo && !hi) return at;
  tp_ix *top = hi ? at.hi : all;
  for (int i = hi ? tp_next_end(p, top, 0) : -1; i >= 0; i = tp_next_end(p, top, i + 1)) {
    const tp_end *e = &p->ends.v[i];
    tp_ix *bound = tp_ix_sym(p->g->stops.v[e->stop].dim->bound);
    top = grows_with(top, e->sym) ? tp_ix_subst(top, 1, &e->sym, &bound) : all;
  }
  return (tp_at){ true, lo ? zero : at.lo, hi || !at.range ? top : at.hi };
}
