/* isl: translates expressions to isl and back (index/isl.h). Bounds come at any time: sets made
 * earlier have fewer parameters, which isl aligns by id. isl never aborts or prints: errors give
 * NULL, and tp_isl_check() reports the last. */
#include "index/memo.h"

isl_ctx *tp_isl_ctx(tp_ictx *c) {
  if (!c->isl) {
    c->isl = tp_memo_ctx(c);
    if (!c->isl) tp_oom();
    isl_options_set_on_error(c->isl, ISL_ON_ERROR_CONTINUE);
  }
  return c->isl;
}

void tp_isl_close(tp_ictx *c) {
  tp_memo_close(c);
  if (c->isl) isl_ctx_free(c->isl);
  c->isl = NULL;
}

bool tp_isl_check(tp_ictx *c, tp_pos pos, tp_error *err) {
  isl_ctx *ctx = tp_isl_ctx(c);
  enum isl_error e = isl_ctx_last_error(ctx);
  if (e == isl_error_none) return true;
  const char *msg = isl_ctx_last_error_msg(ctx);
  tp_fail(err, e == isl_error_alloc ? TP_E_MEMORY : TP_E_AFFINE, pos,
      e == isl_error_quota ? "too hard for isl within its budget" : "isl: %s", msg ? msg : "?");
  isl_ctx_reset_error(ctx);
  return false;
}

unsigned long tp_isl_budget(tp_ictx *c, unsigned long operations) {
  isl_ctx *ctx = tp_isl_ctx(c);
  unsigned long before = isl_ctx_get_max_operations(ctx);
  isl_ctx_reset_operations(ctx);
  isl_ctx_set_max_operations(ctx, operations);
  return before;
}

bool tp_isl_within(tp_ictx *c, unsigned long before) {
  isl_ctx *ctx = tp_isl_ctx(c);
  bool within = isl_ctx_last_error(ctx) != isl_error_quota;
  isl_ctx_reset_operations(ctx);
  isl_ctx_set_max_operations(ctx, before);
  if (!within) isl_ctx_reset_error(ctx);
  return within;
}

void tp_ictx_watch(tp_ictx *c, bool (*interrupted)(void *host), void *host) {
  c->interrupted = interrupted;
  c->host = host;
}

bool tp_ictx_ended(tp_ictx *c) {
  if (!c->ended && c->interrupted && c->interrupted(c->host)) {
    c->ended = true;
    isl_ctx_abort(tp_isl_ctx(c));
  }
  return c->ended;
}

bool tp_ictx_unwatch(tp_ictx *c) {
  bool ended = c->ended;
  c->interrupted = NULL;
  c->ended = false;
  if (!ended) return false;
  isl_ctx_resume(c->isl);
  isl_ctx_reset_error(c->isl);
  tp_hmap_init(&c->memo, &c->arena);
  return true;
}

static void *refuse(tp_ictx *c, const char *why) {
  isl_handle_error(tp_isl_ctx(c), isl_error_unsupported, why, __FILE__, __LINE__);
  return NULL;
}

long tp_isl_spaces(const tp_ictx *c) { return c->nspace; }

isl_space *tp_isl_params(tp_ictx *c) {
  c->nspace++;
  tp_ictx_ended(c);
  unsigned n = 0, at = 0;
  for (int i = 0; i < c->sym.n; i++) n += c->sym.v[i]->kind == TP_SYM_BOUND;
  isl_space *s = isl_space_params_alloc(tp_isl_ctx(c), n);
  for (int i = 0; i < c->sym.n; i++)
    if (c->sym.v[i]->kind == TP_SYM_BOUND)
      s = isl_space_set_dim_id(
          s, isl_dim_param, at++, isl_id_alloc(tp_isl_ctx(c), c->sym.v[i]->name, c->sym.v[i]));
  return s;
}

isl_space *tp_isl_space(tp_ictx *c, int n) {
  return isl_space_add_dims(isl_space_set_from_params(tp_isl_params(c)), isl_dim_set, (unsigned)n);
}

static int nparam(isl_set *s) { return (int)isl_set_dim(s, isl_dim_param); }

isl_set *tp_isl_context(tp_ictx *c, int64_t least) {
  isl_set *s = isl_set_universe(tp_isl_params(c));
  isl_val *v = tp_isl_int(tp_isl_ctx(c), least);
  for (int i = 0, n = nparam(s); i < n; i++)
    s = isl_set_lower_bound_val(s, isl_dim_param, (unsigned)i, isl_val_copy(v));
  isl_val_free(v);
  return s;
}

isl_set *tp_isl_with_bounds(tp_ictx *c, isl_set *s, int64_t least) {
  return isl_set_intersect_params(isl_set_copy(s), tp_isl_context(c, least));
}

/* names of the set dims */
typedef struct {
  tp_ictx *c;
  int n;
  tp_dims dims;
} frame;

static isl_val *int_val(const frame *f, int64_t v) { return tp_isl_int(tp_isl_ctx(f->c), v); }

static isl_aff *dim_aff(const frame *f, enum isl_dim_type type, int at) {
  isl_local_space *ls = isl_local_space_from_space(tp_isl_space(f->c, f->n));
  return isl_aff_var_on_domain(ls, type, (unsigned)at);
}

static isl_pw_aff *of_ix(const frame *f, tp_ix *e);

static isl_aff *of_sym(const frame *f, tp_sym *s) {
  int at = 0;
  for (int i = 0; i < f->n; i++)
    if (f->dims[i] == s) return dim_aff(f, isl_dim_set, i);
  if (s->kind != TP_SYM_BOUND) return refuse(f->c, "a dim that the space does not have");
  for (int i = 0; i < s->id; i++) at += f->c->sym.v[i]->kind == TP_SYM_BOUND;
  return dim_aff(f, isl_dim_param, at);
}

/* Symbols as one aff, then the piecewise atoms. */
static isl_pw_aff *of_sum(const frame *f, tp_ix *e) {
  if (!e->affine) return refuse(f->c, "a product of symbols is not affine");
  isl_aff *sum = isl_aff_val_on_domain(
      isl_local_space_from_space(tp_isl_space(f->c, f->n)), int_val(f, e->cst));
  const tp_term *end = e->term + e->nterm;
  for (const tp_term *k = e->term; k < end; k++)
    if (k->m->atom[0]->sym)
      sum = isl_aff_add(sum, isl_aff_scale_val(of_sym(f, k->m->atom[0]->sym), int_val(f, k->coef)));
  isl_pw_aff *p = isl_pw_aff_from_aff(sum);
  for (const tp_term *k = e->term; k < end; k++)
    if (!k->m->atom[0]->sym)
      p = isl_pw_aff_add(p, isl_pw_aff_scale_val(of_ix(f, k->m->atom[0]), int_val(f, k->coef)));
  return p;
}

static isl_pw_aff *of_extremum(const frame *f, tp_ix *e) {
  isl_pw_aff *p = of_ix(f, e->arg[0]);
  for (int i = 1; i < e->narg; i++) {
    isl_pw_aff *q = of_ix(f, e->arg[i]);
    p = e->kind == TP_IX_MIN ? isl_pw_aff_min(p, q) : isl_pw_aff_max(p, q);
  }
  return isl_pw_aff_coalesce(p);
}

static isl_pw_aff *of_ix(const frame *f, tp_ix *e) {
  switch (e->kind) {
  case TP_IX_SYM: return isl_pw_aff_from_aff(of_sym(f, e->sym));
  case TP_IX_POLY: return of_sum(f, e);
  case TP_IX_MIN:
  case TP_IX_MAX: return of_extremum(f, e);
  case TP_IX_FDIV:
    return isl_pw_aff_floor(isl_pw_aff_scale_down_val(of_ix(f, e->arg[0]), int_val(f, e->div)));
  case TP_IX_MOD: return isl_pw_aff_mod_val(of_ix(f, e->arg[0]), int_val(f, e->div));
  default: return refuse(f->c, "a condition is no function");
  }
}

/* a min or max, alone in its term */
static const tp_term *extremum_term(tp_ix *e) {
  for (int i = 0; i < e->nterm; i++) {
    tp_ixkind kind = e->term[i].m->atom[0]->kind;
    if (e->term[i].m->n == 1 && (kind == TP_IX_MIN || kind == TP_IX_MAX)) return &e->term[i];
  }
  return NULL;
}

static isl_pw_aff *set_dim(const frame *f, int at) {
  return isl_pw_aff_from_aff(dim_aff(f, isl_dim_set, at));
}

/* u >= e (lower) or u <= e, where u is set dim `at`; 0 if that is -1. Convex forms stay one basic
 * set: min(a, b) >= 0 is a >= 0 and b >= 0. */
static isl_set *beyond(const frame *f, int at, tp_ix *e, bool lower) {
  const tp_term *k = extremum_term(e);
  if (!k && at < 0) return isl_pw_aff_nonneg_set(of_ix(f, e));
  if (!k) return (lower ? isl_pw_aff_ge_set : isl_pw_aff_le_set)(set_dim(f, at), of_ix(f, e));
  tp_ix *m = k->m->atom[0], *rest = tp_ix_sub(e, tp_ix_mulc(m, k->coef));
  bool all = ((m->kind == TP_IX_MAX) == (k->coef > 0)) == lower;
  isl_set *s = NULL;
  for (int i = 0; i < m->narg; i++) {
    tp_ix *one = tp_ix_add(rest, tp_ix_mulc(m->arg[i], k->coef));
    isl_set *t = beyond(f, at, one, lower);
    s = !s ? t : all ? isl_set_intersect(s, t) : isl_set_union(s, t);
  }
  return s;
}

static isl_set *of_cond(const frame *f, tp_ix *e) {
  isl_set *s = NULL;
  switch (e->kind) {
  case TP_IX_TRUE: return isl_set_universe(tp_isl_space(f->c, f->n));
  case TP_IX_FALSE: return isl_set_empty(tp_isl_space(f->c, f->n));
  case TP_IX_GE0: return beyond(f, -1, e->arg[0], false);
  case TP_IX_EQ0: return isl_pw_aff_zero_set(of_ix(f, e->arg[0]));
  case TP_IX_NOT: return isl_set_complement(of_cond(f, e->arg[0]));
  case TP_IX_AND:
  case TP_IX_OR: break;
  default: return refuse(f->c, "a number is no condition");
  }
  for (int i = 0; i < e->narg; i++) {
    isl_set *t = of_cond(f, e->arg[i]);
    /* pieces multiply */
    s = !i                     ? t
        : e->kind == TP_IX_AND ? tp_isl_coalesce(isl_set_intersect(s, t))
                               : isl_set_union(s, t);
  }
  return tp_isl_coalesce(s);
}

isl_pw_aff *tp_isl_of_ix(tp_ictx *c, int n, tp_dims dims, tp_ix *e) {
  return e ? of_ix(&(frame){ c, n, dims }, e) : NULL;
}
isl_set *tp_isl_of_cond(tp_ictx *c, int n, tp_dims dims, tp_ix *cond) {
  return cond ? of_cond(&(frame){ c, n, dims }, cond) : NULL;
}

int64_t tp_isl_val(isl_val *v, bool *ok) {
  uint64_t u = 0;
  bool fits = v && isl_val_is_int(v) == isl_bool_true && isl_val_n_abs_num_chunks(v, sizeof u) <= 1;
  bool below = fits && isl_val_is_neg(v) == isl_bool_true;
  fits = fits && !isl_val_get_abs_num_chunks(v, sizeof u, &u) && u <= INT64_MAX + (uint64_t)below;
  *ok &= fits;
  isl_val_free(v);
  return fits ? (int64_t)(below ? 0 - u : u) : 0;
}

isl_val *tp_isl_int(isl_ctx *ctx, int64_t v) {
  uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  isl_val *r = isl_val_int_from_chunks(ctx, 1, sizeof u, &u);
  return v < 0 ? isl_val_neg(r) : r;
}

tp_sym *tp_isl_param(isl_space *space, int i) {
  isl_id *id = isl_space_get_dim_id(space, isl_dim_param, (unsigned)i);
  tp_sym *s = id ? isl_id_get_user(id) : NULL;
  isl_id_free(id);
  return s;
}

int tp_isl_place(isl_space *space, tp_sym *bound) {
  int n = space ? (int)isl_space_dim(space, isl_dim_param) : 0, at = n - 1;
  while (at >= 0 && tp_isl_param(space, at) != bound) at--;
  isl_space_free(space);
  return at;
}

isl_set *tp_isl_at(isl_set *s, const int64_t *env) {
  isl_space *space = isl_set_get_space(s);
  for (int i = 0; i < nparam(s); i++)
    s = isl_set_fix_si(s, isl_dim_param, (unsigned)i, (int)env[tp_isl_param(space, i)->id]);
  isl_space_free(space);
  return s;
}

isl_set *tp_isl_numbers(isl_set *s, const int64_t *env) {
  s = tp_isl_at(s, env);
  return isl_set_flatten(isl_set_project_out(s, isl_dim_param, 0, (unsigned)nparam(s)));
}

static tp_ix *of_aff(const frame *f, isl_aff *a);

static tp_ix *variable(const frame *f, isl_aff *a, enum isl_dim_type type, int i) {
  if (type == isl_dim_in) return i < f->n ? tp_ix_sym(f->dims[i]) : NULL;
  if (type == isl_dim_div) {
    isl_aff *d = isl_aff_get_div(a, i);
    /* of_aff gives the fraction's floor */
    tp_ix *e = d ? of_aff(f, d) : NULL;
    isl_aff_free(d);
    return e;
  }
  isl_space *space = isl_aff_get_domain_space(a);
  tp_ix *e = tp_ix_sym(tp_isl_param(space, i));
  isl_space_free(space);
  return e;
}

/* floor(a), a where a is integral: numerator//denominator. */
static tp_ix *of_aff(const frame *f, isl_aff *a) {
  static const enum isl_dim_type types[] = { isl_dim_in, isl_dim_param, isl_dim_div };
  bool ok = true;
  isl_val *den = isl_aff_get_denominator_val(a);
  isl_aff *num = isl_aff_scale_val(isl_aff_copy(a), isl_val_copy(den));
  int64_t k = tp_isl_val(den, &ok);
  tp_ix *e = tp_ix_const(f->c, tp_isl_val(isl_aff_get_constant_val(num), &ok));
  for (size_t t = 0; t < TP_LEN(types); t++)
    for (int i = 0, n = (int)isl_aff_dim(num, types[t]); i < n; i++) {
      int64_t coef = tp_isl_val(isl_aff_get_coefficient_val(num, types[t], i), &ok);
      if (coef) e = tp_ix_add(e, tp_ix_mulc(variable(f, num, types[t], i), coef));
    }
  isl_aff_free(num);
  return ok && k > 0 ? tp_ix_fdiv(e, k) : NULL;
}

tp_ix *tp_ix_of_aff(tp_ictx *c, int n, tp_dims dims, isl_aff *a) {
  return a ? of_aff(&(frame){ c, n, dims }, a) : NULL;
}

typedef struct {
  const frame *f;
  tp_ixkind kind;
  tp_ix *all;
  isl_stat failed;
} row_pieces;

static isl_stat add_piece(isl_set *dom, isl_aff *a, void *ud) {
  row_pieces *p = ud;
  tp_ix *e = of_aff(p->f, a);
  isl_set_free(dom);
  isl_aff_free(a);
  if (!e) return p->failed = isl_stat_error;
  tp_ix *v[2] = { p->all, e };
  p->all = p->all ? tp_ix_nary(p->kind, 2, v) : e;
  return isl_stat_ok;
}

/* do p and e agree wherever p is defined? A p over bounds may live on parameters or a space without
 * dims */
static bool agrees(const frame *f, isl_pw_aff *p, tp_ix *e) {
  isl_set *dom = isl_pw_aff_domain(isl_pw_aff_copy(p));
  isl_pw_aff *q = of_ix(f, e);
  if (isl_set_is_params(dom) == isl_bool_true) q = isl_pw_aff_project_domain_on_params(q);
  isl_set *same = isl_pw_aff_eq_set(isl_pw_aff_copy(p), q);
  bool yes = isl_set_is_subset(dom, same) == isl_bool_true;
  isl_set_free(dom);
  isl_set_free(same);
  return yes;
}

tp_ix *tp_ix_of_pw_aff(tp_ictx *c, int n, tp_dims dims, isl_pw_aff *p) {
  frame f = { c, n, dims };
  for (tp_ixkind kind = TP_IX_MIN; p && kind <= TP_IX_MAX; kind++) {
    row_pieces all = { &f, kind, NULL, isl_stat_ok };
    isl_pw_aff_foreach_piece(p, add_piece, &all);
    if (all.failed || !all.all) return NULL;
    if (isl_pw_aff_n_piece(p) == 1 || agrees(&f, p, all.all)) return all.all;
  }
  return NULL;
}

typedef struct {
  const frame *f;
  tp_ix *cond;
} gathered;

static isl_stat add_constraint(isl_constraint *k, void *ud) {
  gathered *g = ud;
  if (isl_constraint_is_div_constraint(k) != isl_bool_true) {
    isl_aff *a = isl_constraint_get_aff(k);
    tp_ix *e = a ? of_aff(g->f, a) : NULL;
    isl_aff_free(a);
    g->cond = tp_ix_and(g->cond, isl_constraint_is_equality(k) ? tp_ix_eq0(e) : tp_ix_ge0(e));
  }
  isl_constraint_free(k);
  return isl_stat_ok;
}

static isl_stat add_basic_set(isl_basic_set *b, void *ud) {
  gathered *g = ud;
  gathered conj = { g->f, tp_ix_bool(g->f->c, true) };
  b = isl_basic_set_remove_redundancies(b);
  bool failed = isl_basic_set_foreach_constraint(b, add_constraint, &conj) < 0;
  isl_basic_set_free(b);
  g->cond = failed ? NULL : tp_ix_or(g->cond, conj.cond);
  return failed ? isl_stat_error : isl_stat_ok;
}

static isl_stat has_divs(TP_TAKE isl_basic_set *b, void *any) {
  *(bool *)any |= isl_basic_set_dim(b, isl_dim_div) > 0;
  isl_basic_set_free(b);
  return isl_stat_ok;
}

bool tp_isl_divided(isl_set *s) {
  bool any = false;
  if (s && isl_set_n_basic_set(s) > 1) isl_set_foreach_basic_set(s, has_divs, &any);
  return any;
}

isl_set *tp_isl_coalesce(isl_set *s) {
  isl_set *r = isl_set_coalesce(isl_set_copy(s));
  if (tp_isl_divided(s) && r && isl_set_n_basic_set(r) < isl_set_n_basic_set(s) &&
      isl_set_is_subset(r, s) != isl_bool_true) {
    isl_set_free(r);
    return s;
  }
  isl_set_free(s);
  return r;
}

isl_map *tp_isl_coalesce_map(isl_map *m) {
  if (!m || isl_map_n_basic_map(m) < 2) return m;
  return isl_set_unwrap(tp_isl_coalesce(isl_map_wrap(m)));
}

isl_map *tp_isl_few(isl_map *m) {
  if (!m || isl_map_n_basic_map(m) <= TP_TUNE_MANY_PIECES) return m;
  return isl_map_from_basic_map(isl_map_simple_hull(isl_map_compute_divs(m)));
}

isl_set *tp_isl_gist(isl_set *s, isl_set *context) {
  return isl_set_gist(isl_set_compute_divs(s), context);
}

tp_ix *tp_cond_of_set(tp_ictx *c, int n, tp_dims dims, isl_set *s) {
  frame f = { c, n, dims };
  gathered g = { &f, tp_ix_bool(c, false) };
  s = isl_set_compute_divs(tp_isl_coalesce(isl_set_compute_divs(isl_set_copy(s))));
  if (!s || isl_set_foreach_basic_set(s, add_basic_set, &g) < 0) g.cond = NULL;
  isl_set_free(s);
  return g.cond;
}

/* lo <= u < hi or u = lo, where u is dim `at` of a space whose first dims are f's: named ones, then
 * unnamed. */
static isl_set *within(const frame *f, int at, const tp_at *a) {
  if (!a->range) return isl_pw_aff_eq_set(set_dim(f, at), of_ix(f, a->lo));
  return isl_set_intersect(beyond(f, at, a->lo, true), beyond(f, at, tp_ix_addc(a->hi, -1), false));
}

tp_rel *tp_isl_of_at(tp_ictx *c, int nfrom, tp_dims from, int nto, const tp_at *at) {
  tp_sym *dims[nfrom + nto + 1];
  for (int i = 0; i < nfrom + nto; i++) dims[i] = i < nfrom ? from[i] : NULL;
  frame f = { c, nfrom + nto, dims };
  isl_set *s = isl_set_universe(tp_isl_space(c, f.n));
  for (int i = 0; i < nto; i++) s = isl_set_intersect(s, within(&f, nfrom + i, &at[i]));
  return isl_map_move_dims(
      isl_map_from_domain(s), isl_dim_out, 0, isl_dim_in, (unsigned)nfrom, (unsigned)nto);
}

void tp_isl_point(isl_point *p, int n, int64_t *x) {
  for (int i = 0; i < n; i++) {
    bool ok = true;
    x[i] = tp_isl_val(isl_point_get_coordinate_val(p, isl_dim_set, i), &ok);
  }
  isl_point_free(p);
}

bool tp_isl_concerns(isl_constraint *c, int dim, bool *alone) {
  unsigned n = (unsigned)isl_constraint_dim(c, isl_dim_set), d = (unsigned)dim;
  *alone = isl_constraint_involves_dims(c, isl_dim_set, 0, d) == isl_bool_false &&
      isl_constraint_involves_dims(c, isl_dim_set, d + 1, n - d - 1) == isl_bool_false &&
      isl_constraint_involves_dims(
          c, isl_dim_div, 0, (unsigned)isl_constraint_dim(c, isl_dim_div)) == isl_bool_false;
  return isl_constraint_involves_dims(c, isl_dim_set, d, 1) == isl_bool_true;
}
