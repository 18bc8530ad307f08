/* scale: rows of a component whose members go at different speeds. Where each point of x serves two
 * of y, as a gradient of w[i // 2] has it, no dim of one unit a row is legal: y falls behind
 * further and further. With a factor for each member
 *
 *   row of x = 2 * i,  row of y = i                all of y[2 * i] and y[2 * i + 1] lie between
 * x[i] and x[i + 1]
 *
 * distances are bounded again, and offsets are found as for any loop. Factors come from the
 * dependences: those for which the distance has a least and a greatest value. */
#include "poly/sched.h"

enum { MOST_FACTOR = 16, MOST_TRIES = 1000 };
typedef struct scaling {
  tp_sched *S;
  const tp_level *L;
  const tp_scc *c;
  const tp_arcs *in;
  int64_t *num, *den; /* by member: its factor; num 0: not known yet */
  int *dim;
  int64_t *off; /* by member */
  /* by arc: no factors bound its distance, or it was of use */
  bool *told;
  int left; /* factors that may still be tried */
} scaling;

static isl_map *multiplication(tp_sched *S, int64_t by) {
  isl_aff *x =
      isl_aff_var_on_domain(isl_local_space_from_space(tp_isl_space(S->ix, 1)), isl_dim_set, 0);
  return isl_map_from_aff(isl_aff_scale_val(x, isl_val_int_from_si(S->ctx, by)));
}

/* Least and greatest fv * y[dv] - fu * x[du], for all bounds; not asked for where NULL. */
static bool scaled_range(
    tp_sched *S, isl_map *m, int du, int dv, int64_t fu, int64_t fv, int64_t *lo, int64_t *hi) {
  tp_query(S);
  m = isl_map_intersect_params(isl_map_copy(m), isl_set_copy(S->context));
  m = tp_along(m, du, dv);
  m = isl_map_apply_range(isl_map_apply_domain(m, multiplication(S, fu)), multiplication(S, fv));
  isl_set *d = isl_map_deltas(m);
  bool ok = d && (!lo || tp_whole(isl_set_dim_min_val(isl_set_copy(d), 0), lo));
  ok = ok && (!hi || tp_whole(isl_set_dim_max_val(isl_set_copy(d), 0), hi));
  isl_set_free(d);
  return tp_query_end(S) && ok;
}

/* Of the arc's ends: fv y - fu x stays within numbers. */
static bool arc_factors(scaling *f, const tp_arc *e, int u, int v, int64_t *fu, int64_t *fv) {
  int64_t lo, hi;
  for (int64_t k = 1; k <= MOST_FACTOR; k++)
    for (int way = 0; way < (k > 1) + 1 && f->left > 0; way++, f->left--) {
      *fu = way ? 1 : k, *fv = way ? k : 1;
      if (scaled_range(f->S, e->map, f->dim[u], f->dim[v], *fu, *fv, &lo, &hi)) return true;
    }
  return false;
}

/* num / den of one end by that of the other, times a / b; false: it has another already. */
static bool pass_factor(scaling *f, int from, int to, int64_t a, int64_t b) {
  int64_t num = f->num[from] * a, den = f->den[from] * b,
          g = (int64_t)tp_gcd((uint64_t)num, (uint64_t)den);
  num /= g, den /= g;
  if (f->num[to]) return f->num[to] == num && f->den[to] == den;
  f->num[to] = num, f->den[to] = den;
  return num <= MOST_FACTOR && den <= MOST_FACTOR;
}

/* Every member's, from the first one on, as whole numbers; false: they do not go together, or all
 * are alike. */
static bool find_factors(scaling *f) {
  int64_t all = 1;
  bool more = true, apart = false;
  f->num[0] = f->den[0] = 1;
  while (more) {
    more = false;
    for (int e = 0; e < f->in->n; e++) {
      const tp_dep *d = tp_dep_of(f->S, &f->in->v[e]);
      int u = f->L->at[d->src], v = f->L->at[d->dst];
      int64_t fu, fv;
      if (u == v || f->told[e] || (f->num[u] != 0) == (f->num[v] != 0)) continue;
      f->told[e] = true;
      if (!arc_factors(f, &f->in->v[e], u, v, &fu, &fv)) continue;
      if (!(f->num[u] ? pass_factor(f, u, v, fv, fu) : pass_factor(f, v, u, fu, fv))) return false;
      more = true;
    }
  }
  for (int i = 0; i < f->c->n; i++) {
    if (!f->num[i] || all > MOST_FACTOR) return false;
    all = all / (int64_t)tp_gcd((uint64_t)all, (uint64_t)f->den[i]) * f->den[i];
  }
  for (int i = 0; i < f->c->n; i++)
    f->num[i] = f->num[i] * (all / f->den[i]), apart |= f->num[i] != f->num[0];
  return apart;
}

/* Longest paths: off[v] >= off[u] - w. */
static bool find_offsets(scaling *f, int s) {
  int64_t *w = TP_NEWN(f->S->a, int64_t, f->in->n);
  for (int e = 0; e < f->in->n; e++) {
    const tp_dep *d = tp_dep_of(f->S, &f->in->v[e]);
    int u = f->L->at[d->src], v = f->L->at[d->dst];
    int64_t fu = s * f->num[u], fv = s * f->num[v];
    bool ok = scaled_range(f->S, f->in->v[e].map, f->dim[u], f->dim[v], fu, fv, &w[e], NULL);
    if (!ok || (u == v && w[e] < 0)) return false;
  }
  memset(f->off, 0, sizeof *f->off * (size_t)f->c->n);
  for (int round = 0; round <= f->c->n; round++) {
    bool changed = false;
    for (int e = 0; e < f->in->n; e++) {
      const tp_dep *d = tp_dep_of(f->S, &f->in->v[e]);
      int64_t least = f->off[f->L->at[d->src]] - w[e], *v = &f->off[f->L->at[d->dst]];
      if (least > *v) *v = least, changed = true;
    }
    if (!changed) return true;
  }
  return false;
}

static isl_pw_aff *scaled_row(tp_sched *S, int st, int dim, int64_t by, int64_t shift) {
  isl_aff *x =
      isl_aff_var_on_domain(isl_local_space_from_space(tp_stmt_space(S, st)), isl_dim_set, dim);
  x = isl_aff_scale_val(x, isl_val_int_from_si(S->ctx, by));
  return tp_keep_aff(S, isl_pw_aff_from_aff(isl_aff_add_constant_si(x, (int)shift)));
}

static bool scaled_along(scaling *f, const tp_sym *label, tp_item *x) {
  tp_sched *S = f->S;
  bool ok = true;
  memset(f->num, 0, sizeof *f->num * (size_t)f->c->n);
  memset(f->told, 0, sizeof *f->told * (size_t)f->in->n);
  for (int i = 0; i < f->c->n && ok; i++) ok = (f->dim[i] = tp_dim_of(S, f->c->st[i], label)) >= 0;
  if (!ok || !find_factors(f)) return false;
  int s = find_offsets(f, 1) ? 1 : find_offsets(f, -1) ? -1 : 0;
  for (int i = 0; i < f->c->n && s; i++) {
    isl_pw_aff *row = scaled_row(S, f->c->st[i], f->dim[i], s * f->num[i], f->off[i]);
    x->mem[i] = (tp_mem){ .st = f->c->st[i], .dim = -1, .s = 1, .row = row };
  }
  return s != 0;
}

bool tp_scaled_loop(tp_sched *S, const tp_level *L, int scc, tp_item *x, int *dim) {
  const tp_scc *c = &L->scc[scc];
  tp_arcs in = L->inner[scc];
  const tp_stmt *first = S->p->stmts.v[c->st[0]];
  scaling f = { .S = S, .L = L, .c = c, .in = &in, .dim = dim, .left = MOST_TRIES };
  f.told = TP_NEWN(S->a, bool, in.n + 1);
  f.num = TP_NEWN(S->a, int64_t, c->n), f.den = TP_NEWN(S->a, int64_t, c->n),
  f.off = TP_NEWN(S->a, int64_t, c->n);
  tp_ask(S, "how fast '%s' and what it needs run", first->name, NULL);
  for (int d = 0; d < first->ndim; d++) {
    *x = (tp_item){
      .st = -1, .s = 1, .label = first->label[d], .nmem = c->n, .mem = TP_NEWN(S->a, tp_mem, c->n)
    };
    if (tp_dim_of(S, c->st[0], first->label[d]) == d && scaled_along(&f, first->label[d], x))
      return true;
  }
  return false;
}
