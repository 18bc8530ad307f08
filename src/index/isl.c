/* The bridge to isl: index expressions and conditions to affine functions and sets, and back.
 * Conventions are in index/isl.h.
 *
 * Bounds may be made at any time, so sets made earlier have fewer parameters; isl aligns parameters
 * by their ids in binary operations, and what we compare with is made fresh. isl never aborts or
 * prints here: an error leaves NULL behind, and tp_isl_check() reports the last one. */
#include "index/memo.h"
#include <stdlib.h>

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
      e == isl_error_quota ? "affine: too hard for isl within its budget" : "isl: %s",
      msg ? msg : "?");
  isl_ctx_reset_error(ctx);
  return false;
}

/* ---- work that a host may end ---- */

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

/* ---- spaces ---- */

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
  isl_val *v = isl_val_int_from_si(tp_isl_ctx(c), least);
  for (int i = 0, n = nparam(s); i < n; i++)
    s = isl_set_lower_bound_val(s, isl_dim_param, (unsigned)i, isl_val_copy(v));
  isl_val_free(v);
  return s;
}

/* ---- expressions and conditions to isl ---- */

/* what the set dims of a space are called */
typedef struct {
  tp_ictx *c;
  int n;
  const tp_sym *const *dims;
} frame;

static isl_val *int_val(const frame *f, int64_t v) {
  return isl_val_int_from_si(tp_isl_ctx(f->c), v);
}

static isl_aff *constant(const frame *f, int64_t v) {
  return isl_aff_val_on_domain(isl_local_space_from_space(tp_isl_space(f->c, f->n)), int_val(f, v));
}

static isl_pw_aff *of_ix(const frame *f, const tp_ix *e);

static isl_aff *of_sym(const frame *f, const tp_sym *s) {
  isl_local_space *ls = isl_local_space_from_space(tp_isl_space(f->c, f->n));
  for (int i = 0; i < f->n; i++)
    if (f->dims[i] == s) return isl_aff_var_on_domain(ls, isl_dim_set, (unsigned)i);
  int at = 0;
  for (int i = 0; i < s->id; i++) at += f->c->sym.v[i]->kind == TP_SYM_BOUND;
  if (s->kind == TP_SYM_BOUND) return isl_aff_var_on_domain(ls, isl_dim_param, (unsigned)at);
  isl_local_space_free(ls);
  return refuse(f->c, "a dim that the space does not have");
}

/* The symbols as one aff, then whatever is piecewise. */
static isl_pw_aff *of_sum(const frame *f, const tp_ix *e) {
  isl_aff *sum = constant(f, e->cst);
  if (!e->affine) {
    isl_aff_free(sum);
    return refuse(f->c, "a product of symbols is not affine");
  }
  for (int i = 0; i < e->nterm; i++)
    if (e->term[i].m->atom[0]->sym)
      sum = isl_aff_add(sum,
          isl_aff_scale_val(of_sym(f, e->term[i].m->atom[0]->sym), int_val(f, e->term[i].coef)));
  isl_pw_aff *p = isl_pw_aff_from_aff(sum);
  for (int i = 0; i < e->nterm; i++)
    if (!e->term[i].m->atom[0]->sym)
      p = isl_pw_aff_add(
          p, isl_pw_aff_scale_val(of_ix(f, e->term[i].m->atom[0]), int_val(f, e->term[i].coef)));
  return p;
}

static isl_pw_aff *of_extremum(const frame *f, const tp_ix *e) {
  isl_pw_aff *p = of_ix(f, e->arg[0]);
  for (int i = 1; i < e->narg; i++) {
    isl_pw_aff *q = of_ix(f, e->arg[i]);
    p = e->kind == TP_IX_MIN ? isl_pw_aff_min(p, q) : isl_pw_aff_max(p, q);
  }
  return isl_pw_aff_coalesce(p);
}

static isl_pw_aff *of_ix(const frame *f, const tp_ix *e) {
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

/* The first term of e that is k times one min or max. */
static const tp_ix *extremum_atom(const tp_ix *e, int64_t *k) {
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    const tp_ix *const *atoms;
    if (tp_ix_term(e, i, &atoms) != 1) continue;
    tp_ixkind kind = tp_ix_kind(atoms[0]);
    if (kind != TP_IX_MIN && kind != TP_IX_MAX) continue;
    *k = tp_ix_coef(e, i);
    return atoms[0];
  }
  return NULL;
}

/* e >= 0. Convex forms stay one basic set: min(a, b) >= 0 is a >= 0 and b >= 0. */
static isl_set *nonneg(const frame *f, const tp_ix *e) {
  int64_t k;
  const tp_ix *m = extremum_atom(e, &k);
  if (!m) return isl_pw_aff_nonneg_set(of_ix(f, e));
  bool all = (tp_ix_kind(m) == TP_IX_MIN) == (k > 0);
  const tp_ix *rest = tp_ix_sub(f->c, e, tp_ix_mulc(f->c, m, k));
  isl_set *s = NULL;
  for (int i = 0; i < tp_ix_narg(m); i++) {
    isl_set *t = nonneg(f, tp_ix_add(f->c, rest, tp_ix_mulc(f->c, tp_ix_arg(m, i), k)));
    s = !s ? t : all ? isl_set_intersect(s, t) : isl_set_union(s, t);
  }
  return s;
}

static isl_set *of_cond(const frame *f, const tp_ix *e) {
  isl_set *s;
  switch (e->kind) {
  case TP_IX_TRUE: return isl_set_universe(tp_isl_space(f->c, f->n));
  case TP_IX_FALSE: return isl_set_empty(tp_isl_space(f->c, f->n));
  case TP_IX_GE0: return nonneg(f, e->arg[0]);
  case TP_IX_EQ0: return isl_pw_aff_zero_set(of_ix(f, e->arg[0]));
  case TP_IX_NOT: return isl_set_complement(of_cond(f, e->arg[0]));
  case TP_IX_AND:
  case TP_IX_OR: break;
  default: return refuse(f->c, "a number is no condition");
  }
  s = of_cond(f, e->arg[0]);
  for (int i = 1; i < e->narg; i++) {
    isl_set *t = of_cond(f, e->arg[i]);
    /* as pieces multiply */
    s = e->kind == TP_IX_AND ? tp_isl_coalesce(isl_set_intersect(s, t)) : isl_set_union(s, t);
  }
  return tp_isl_coalesce(s);
}

isl_pw_aff *tp_isl_of_ix(tp_ictx *c, int n, const tp_sym *const *dims, const tp_ix *e) {
  return e ? of_ix(&(frame){ c, n, dims }, e) : NULL;
}
isl_set *tp_isl_of_cond(tp_ictx *c, int n, const tp_sym *const *dims, const tp_ix *cond) {
  return cond ? of_cond(&(frame){ c, n, dims }, cond) : NULL;
}

/* ---- back ---- */

/* An isl_val as i64; marks *ok false for fractions and what does not fit. */
static int64_t take_val(isl_val *v, bool *ok) {
  bool is_int = v && isl_val_is_int(v) == isl_bool_true;
  isl_val *lo = v ? isl_val_int_from_si(isl_val_get_ctx(v), INT64_MIN) : NULL,
          *hi = v ? isl_val_int_from_si(isl_val_get_ctx(v), INT64_MAX) : NULL;
  bool fits = is_int && isl_val_ge(v, lo) == isl_bool_true && isl_val_le(v, hi) == isl_bool_true;
  int64_t r = fits ? isl_val_get_num_si(v) : 0;
  *ok &= fits;
  isl_val_free(lo);
  isl_val_free(hi);
  isl_val_free(v);
  return r;
}

const tp_sym *tp_isl_param(isl_space *space, int i) {
  isl_id *id = isl_space_get_dim_id(space, isl_dim_param, (unsigned)i);
  const tp_sym *s = id ? isl_id_get_user(id) : NULL;
  isl_id_free(id);
  return s;
}

int tp_isl_place(isl_space *space, const tp_sym *bound) {
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

static const tp_ix *of_aff(const frame *f, isl_aff *a);

static const tp_ix *variable(const frame *f, isl_aff *a, enum isl_dim_type type, int i) {
  if (type == isl_dim_in) return i < f->n ? tp_ix_sym(f->c, f->dims[i]) : NULL;
  if (type == isl_dim_div) {
    isl_aff *d = isl_aff_get_div(a, i);
    /* floor of the fraction that of_aff gives */
    const tp_ix *e = d ? of_aff(f, d) : NULL;
    isl_aff_free(d);
    return e;
  }
  isl_space *space = isl_aff_get_domain_space(a);
  const tp_ix *e = tp_ix_sym(f->c, tp_isl_param(space, i));
  isl_space_free(space);
  return e;
}

/* floor(a), which is a where a is integral: (numerator)//denominator. */
static const tp_ix *of_aff(const frame *f, isl_aff *a) {
  static const enum isl_dim_type types[] = { isl_dim_in, isl_dim_param, isl_dim_div };
  bool ok = true;
  isl_val *den = isl_aff_get_denominator_val(a);
  isl_aff *num = isl_aff_scale_val(isl_aff_copy(a), isl_val_copy(den));
  int64_t k = take_val(den, &ok);
  const tp_ix *e = tp_ix_const(f->c, take_val(isl_aff_get_constant_val(num), &ok));
  for (size_t t = 0; t < TP_LEN(types); t++)
    for (int i = 0, n = (int)isl_aff_dim(num, types[t]); i < n; i++) {
      int64_t coef = take_val(isl_aff_get_coefficient_val(num, types[t], i), &ok);
      if (coef) e = tp_ix_add(f->c, e, tp_ix_mulc(f->c, variable(f, num, types[t], i), coef));
    }
  isl_aff_free(num);
  return ok && k > 0 ? tp_ix_fdiv(f->c, e, k) : NULL;
}

const tp_ix *tp_ix_of_aff(tp_ictx *c, int n, const tp_sym *const *dims, isl_aff *a) {
  return a ? of_aff(&(frame){ c, n, dims }, a) : NULL;
}

typedef struct {
  const frame *f;
  tp_ixkind kind;
  const tp_ix *all;
  isl_stat failed;
} row_pieces;

static isl_stat add_piece(isl_set *dom, isl_aff *a, void *ud) {
  row_pieces *p = ud;
  const tp_ix *e = of_aff(p->f, a);
  isl_set_free(dom);
  isl_aff_free(a);
  if (!e) return p->failed = isl_stat_error;
  const tp_ix *v[2] = { p->all, e };
  p->all = p->all ? tp_ix_fold(p->f->c, p->kind, 2, v) : e;
  return isl_stat_ok;
}

/* Is p the function e wherever p is defined? A p over bounds alone may live on parameters or on a
 * space without dims. */
static bool agrees(const frame *f, isl_pw_aff *p, const tp_ix *e) {
  isl_set *dom = isl_pw_aff_domain(isl_pw_aff_copy(p));
  isl_pw_aff *q = of_ix(f, e);
  if (isl_set_is_params(dom) == isl_bool_true) q = isl_pw_aff_project_domain_on_params(q);
  isl_set *same = isl_pw_aff_eq_set(isl_pw_aff_copy(p), q);
  bool yes = isl_set_is_subset(dom, same) == isl_bool_true;
  isl_set_free(dom);
  isl_set_free(same);
  return yes;
}

const tp_ix *tp_ix_of_pw_aff(tp_ictx *c, int n, const tp_sym *const *dims, isl_pw_aff *p) {
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
  const tp_ix *cond;
} gathered;

static isl_stat add_constraint(isl_constraint *k, void *ud) {
  gathered *g = ud;
  if (isl_constraint_is_div_constraint(k) != isl_bool_true) {
    isl_aff *a = isl_constraint_get_aff(k);
    const tp_ix *e = a ? of_aff(g->f, a) : NULL;
    isl_aff_free(a);
    g->cond = tp_ix_and(g->f->c, g->cond,
        isl_constraint_is_equality(k) ? tp_ix_eq0(g->f->c, e) : tp_ix_ge0(g->f->c, e));
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
  g->cond = failed ? NULL : tp_ix_or(g->f->c, g->cond, conj.cond);
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

const tp_ix *tp_cond_of_set(tp_ictx *c, int n, const tp_sym *const *dims, isl_set *s) {
  frame f = { c, n, dims };
  gathered g = { &f, tp_ix_bool(c, false) };
  s = isl_set_compute_divs(tp_isl_coalesce(isl_set_compute_divs(isl_set_copy(s))));
  if (!s || isl_set_foreach_basic_set(s, add_basic_set, &g) < 0) g.cond = NULL;
  isl_set_free(s);
  return g.cond;
}

/* ---- sets ---- */

/* The points of one dim. */
static isl_set *side(tp_ictx *c, const tp_sym *dim) {
  frame f = { c, 1, &dim };
  if (!dim->bound) return isl_set_universe(tp_isl_space(c, 1));
  const tp_ix *d = tp_ix_sym(c, dim), *bound = tp_ix_sym(c, dim->bound);
  return of_cond(&f, tp_ix_and(c, tp_ix_ge0(c, d), tp_ix_cmp(c, TP_LT, d, bound)));
}

/* By place: a dim may be there twice. */
static tp_set *box(tp_ictx *c, int n, const tp_sym *const *dims) {
  isl_set *s = isl_set_universe(tp_isl_space(c, 0));
  for (int i = 0; i < n; i++) s = isl_set_flat_product(s, side(c, dims[i]));
  return s;
}

tp_set *tp_set_box(tp_ictx *c, int n, const tp_sym *const *dims) {
  int64_t key[n + 2];
  key[0] = TP_ASK_BOX;
  key[1] = n;
  for (int i = 0; i < n; i++) key[2 + i] = dims[i]->bound ? dims[i]->bound->id : -1;
  tp_set *s = tp_memo_made(c, true, key, sizeof key);
  return s ? s : tp_memo_make(c, true, key, sizeof key, box(c, n, dims));
}

tp_set *tp_set_outside(tp_ictx *c, int n, const tp_sym *const *dims) {
  return tp_set_minus(tp_set_cond(c, n, dims, tp_ix_bool(c, true)), tp_set_box(c, n, dims));
}

tp_set *tp_set_empty(tp_ictx *c, int n, const tp_sym *const *dims) {
  (void)dims;
  return isl_set_empty(tp_isl_space(c, n));
}
tp_set *tp_set_cond(tp_ictx *c, int n, const tp_sym *const *dims, const tp_ix *cond) {
  int64_t key[n + 3];
  if (!cond) return NULL;
  key[0] = TP_ASK_COND;
  key[1] = n;
  key[2] = cond->id;
  for (int i = 0; i < n; i++) key[3 + i] = dims[i]->id;
  tp_set *s = tp_memo_made(c, true, key, sizeof key);
  return s ? s : tp_memo_make(c, true, key, sizeof key, tp_isl_of_cond(c, n, dims, cond));
}

tp_set *tp_set_copy(tp_set *s) { return isl_set_copy(s); }
tp_set *tp_set_free(tp_set *s) { return isl_set_free(s); }
tp_set *tp_set_and(tp_set *a, tp_set *b) { return tp_memo_op(TP_ASK_AND, a, b); }
tp_set *tp_set_or(tp_set *a, tp_set *b) { return tp_memo_op(TP_ASK_OR, a, b); }
tp_set *tp_set_minus(tp_set *a, tp_set *b) { return tp_memo_op(TP_ASK_MINUS, a, b); }

typedef struct {
  isl_set *by, *kept;
} widening;

static void keep_side(widening *w, TP_TAKE isl_aff *a) {
  isl_set *side = isl_pw_aff_nonneg_set(isl_pw_aff_from_aff(a));
  if (isl_set_is_subset(w->by, side) == isl_bool_true)
    w->kept = isl_set_intersect(w->kept, isl_set_copy(side));
  isl_set_free(side);
}

static isl_stat keep_constraint(isl_constraint *c, void *ud) {
  keep_side(ud, isl_constraint_get_aff(c));
  if (isl_constraint_is_equality(c)) keep_side(ud, isl_aff_neg(isl_constraint_get_aff(c)));
  isl_constraint_free(c);
  return isl_stat_ok;
}

tp_set *tp_set_widen(tp_set *a, tp_set *by) {
  widening w = { by, isl_set_universe(isl_set_get_space(a)) };
  isl_basic_set *hull = isl_set_unshifted_simple_hull(a);
  if (!hull || isl_basic_set_foreach_constraint(hull, keep_constraint, &w) < 0)
    w.kept = isl_set_free(w.kept);
  isl_basic_set_free(hull);
  return w.kept;
}

bool tp_set_mentions(tp_ictx *c, tp_set *a, const tp_sym *s) {
  int at = tp_isl_place(isl_set_get_space(a), s);
  (void)c;
  return at >= 0 && isl_set_involves_dims(a, isl_dim_param, (unsigned)at, 1) == isl_bool_true;
}

tp_set *tp_set_some(tp_ictx *c, tp_set *a, const tp_sym *s, const tp_ix *cond) {
  a = isl_set_intersect_params(a, isl_set_params(tp_isl_of_cond(c, 0, NULL, cond)));
  int at = tp_isl_place(isl_set_get_space(a), s);
  return at < 0 ? a : tp_isl_coalesce(isl_set_project_out(a, isl_dim_param, (unsigned)at, 1));
}

tp_set *tp_set_apply(tp_set *s, tp_rel *r) { return tp_memo_op(TP_ASK_APPLY, s, r); }

/* ---- relations ---- */

/* u >= e (lower) or u < e, where u is dim `at`. Convex forms stay one basic set: u >= max(a, b) is
 * u >= a and u >= b. */
static isl_set *beyond(const frame *f, int at, const tp_ix *e, bool lower) {
  int64_t k;
  const tp_ix *m = extremum_atom(e, &k);
  if (m) {
    bool is_max = (tp_ix_kind(m) == TP_IX_MAX) == (k > 0), all = is_max == lower;
    const tp_ix *rest = tp_ix_sub(f->c, e, tp_ix_mulc(f->c, m, k));
    isl_set *s = NULL;
    for (int i = 0; i < tp_ix_narg(m); i++) {
      isl_set *t =
          beyond(f, at, tp_ix_add(f->c, rest, tp_ix_mulc(f->c, tp_ix_arg(m, i), k)), lower);
      s = !s ? t : all ? isl_set_intersect(s, t) : isl_set_union(s, t);
    }
    return s;
  }
  isl_pw_aff *u = isl_pw_aff_from_aff(isl_aff_var_on_domain(
      isl_local_space_from_space(tp_isl_space(f->c, f->n)), isl_dim_set, (unsigned)at));
  return lower ? isl_pw_aff_ge_set(u, of_ix(f, e)) : isl_pw_aff_lt_set(u, of_ix(f, e));
}

/* lo <= u < hi or u = lo, where u is dim `at` of a space whose first dims are f's: named ones, then
 * unnamed. */
static isl_set *within(const frame *f, int at, const tp_at *a) {
  if (a->range) return isl_set_intersect(beyond(f, at, a->lo, true), beyond(f, at, a->hi, false));
  isl_pw_aff *u = isl_pw_aff_from_aff(isl_aff_var_on_domain(
      isl_local_space_from_space(tp_isl_space(f->c, f->n)), isl_dim_set, (unsigned)at));
  return isl_pw_aff_eq_set(u, of_ix(f, a->lo));
}

static tp_rel *rel_at(tp_ictx *c, int nfrom, const tp_sym *const *from, int nto, const tp_at *at) {
  const tp_sym *dims[nfrom + nto + 1];
  for (int i = 0; i < nfrom + nto; i++) dims[i] = i < nfrom ? from[i] : NULL;
  frame f = { c, nfrom + nto, dims };
  isl_set *s = isl_set_universe(tp_isl_space(c, f.n));
  for (int i = 0; i < nto; i++) s = isl_set_intersect(s, within(&f, nfrom + i, &at[i]));
  return isl_map_move_dims(
      isl_map_from_domain(s), isl_dim_out, 0, isl_dim_in, (unsigned)nfrom, (unsigned)nto);
}

tp_rel *tp_rel_at(tp_ictx *c, int nfrom, const tp_sym *const *from, int nto,
    const tp_sym *const *to, const tp_at *at) {
  int64_t key[nfrom + 2 * nto + 3];
  (void)to;
  key[0] = TP_ASK_REL;
  key[1] = nfrom;
  key[2] = nto;
  for (int i = 0; i < nfrom; i++) key[3 + i] = from[i]->id;
  for (int i = 0; i < nto; i++) {
    key[3 + nfrom + 2 * i] = at[i].lo ? at[i].lo->id : -1;
    key[4 + nfrom + 2 * i] = at[i].range ? at[i].hi->id : -1;
  }
  tp_rel *r = tp_memo_made(c, false, key, sizeof key);
  return r ? r : tp_memo_make(c, false, key, sizeof key, rel_at(c, nfrom, from, nto, at));
}

/* Part by part: the few pieces of each meet those pairs that the parts before have left. */
tp_rel *tp_rel_where(tp_ictx *c, tp_rel *r, int nfrom, const tp_sym *const *from, int nto,
    const tp_sym *const *to, const tp_ix *cond) {
  const tp_sym *dims[nfrom + nto + 1];
  const tp_ix *part;
  for (int i = 0; i < nfrom + nto; i++) dims[i] = i < nfrom ? from[i] : to[i - nfrom];
  for (int k = 0; (part = tp_ix_conjunct(cond, k)); k++) {
    int was = r ? isl_map_n_basic_map(r) : 0;
    isl_map *where = isl_map_from_domain(tp_isl_of_cond(c, nfrom + nto, dims, part));
    r = isl_map_intersect(
        r, isl_map_move_dims(where, isl_dim_out, 0, isl_dim_in, (unsigned)nfrom, (unsigned)nto));
    if (r && isl_map_n_basic_map(r) > was) r = tp_isl_coalesce_map(r);
  }
  return r;
}

tp_rel *tp_rel_some(tp_ictx *c, tp_rel *r, const tp_sym *s, const tp_ix *cond) {
  return isl_set_unwrap(tp_set_some(c, isl_map_wrap(r), s, cond));
}
tp_set *tp_rel_points(tp_rel *r) { return tp_isl_coalesce(isl_map_domain(r)); }
tp_rel *tp_rel_copy(tp_rel *r) { return isl_map_copy(r); }
tp_rel *tp_rel_free(tp_rel *r) { return isl_map_free(r); }
tp_rel *tp_rel_reverse(tp_rel *r) { return isl_map_reverse(r); }
tp_rel *tp_rel_restrict(tp_rel *r, tp_set *from) { return tp_memo_op(TP_ASK_RESTRICT, r, from); }

/* ---- questions ---- */

static bool take_is_empty(isl_set *s) {
  bool empty = isl_set_is_empty(s) == isl_bool_true;
  isl_set_free(s);
  return empty;
}

/* s where all bounds are >= least. */
static isl_set *with_bounds(tp_ictx *c, isl_set *s, int64_t least) {
  return isl_set_intersect_params(isl_set_copy(s), tp_isl_context(c, least));
}

static isl_bool meet_empty(tp_ictx *c, isl_set *s, isl_set *b) {
  (void)b;
  s = with_bounds(c, s, 0);
  isl_bool yes = isl_set_is_empty(s);
  isl_set_free(s);
  return yes;
}

static isl_bool subset(tp_ictx *c, isl_set *a, isl_set *b) {
  isl_set *in = with_bounds(c, a, 0);
  isl_bool yes = isl_set_is_subset(in, b);
  isl_set_free(in);
  return yes;
}

bool tp_set_is_empty(tp_ictx *c, tp_set *s) {
  return s && tp_memo_ask(c, TP_ASK_EMPTY, s, NULL, meet_empty);
}
bool tp_set_subset(tp_ictx *c, tp_set *a, tp_set *b) {
  return a == b || (a && b && tp_memo_ask(c, TP_ASK_SUBSET, a, b, subset));
}

bool tp_set_equal(tp_ictx *c, tp_set *a, tp_set *b) {
  return tp_set_subset(c, a, b) && tp_set_subset(c, b, a);
}

typedef struct {
  int dim, n, left;
} few_points;

static isl_stat count_piece(isl_basic_set *b, void *ud) {
  few_points *f = ud;
  isl_map *m = isl_map_from_range(isl_set_from_basic_set(b));
  m = isl_map_move_dims(m, isl_dim_in, 0, isl_dim_out, 0, (unsigned)f->dim);
  m = isl_map_move_dims(
      m, isl_dim_in, (unsigned)f->dim, isl_dim_out, 1, (unsigned)(f->n - f->dim - 1));
  if (isl_map_is_single_valued(m) != isl_bool_true) f->left = 0;
  isl_map_free(m);
  return f->left-- > 0 ? isl_stat_ok : isl_stat_error;
}

bool tp_set_few(tp_ictx *c, tp_set *s, int dim, int most) {
  few_points f = { dim, (int)isl_set_dim(s, isl_dim_set), most };
  bool few = isl_set_foreach_basic_set(s, count_piece, &f) == isl_stat_ok;
  isl_ctx_reset_error(tp_isl_ctx(c));
  return few;
}

static isl_set *params_of(isl_set *s) { return isl_set_params(isl_set_copy(s)); }

const tp_ix *tp_set_nonempty_when(tp_ictx *c, tp_set *s) {
  isl_set *p = tp_isl_coalesce(isl_set_gist_params(
      isl_set_compute_divs(isl_set_intersect_params(params_of(s), tp_isl_context(c, 0))),
      tp_isl_context(c, 0)));
  const tp_ix *cond = tp_cond_of_set(c, 0, NULL, p);
  isl_set_free(p);
  return tp_ix_simplify(c, cond, 0, NULL);
}

bool tp_set_can_be_empty(tp_ictx *c, tp_set *s, int64_t least) {
  isl_set *rest = isl_set_subtract(tp_isl_context(c, least), params_of(s));
  return rest && !take_is_empty(rest);
}

bool tp_set_can_have_point(tp_ictx *c, tp_set *s, int64_t least) {
  isl_set *in = with_bounds(c, s, least);
  return in && !take_is_empty(in);
}

const tp_ix *tp_set_to_cond(
    tp_ictx *c, int n, const tp_sym *const *dims, tp_set *s, bool simplify) {
  isl_set *t = isl_set_copy(s);
  if (simplify)
    t = tp_isl_gist(t, isl_set_intersect_params(tp_set_box(c, n, dims), tp_isl_context(c, 0)));
  const tp_ix *cond = tp_cond_of_set(c, n, dims, t);
  isl_set_free(t);
  return cond && simplify ? tp_ix_simplify(c, cond, n, dims) : cond;
}

const tp_ix *tp_set_told(tp_ictx *c, int n, const tp_sym *const *dims, tp_set *s, tp_set *known) {
  isl_set *t = tp_isl_gist(isl_set_copy(s), isl_set_intersect_params(known, tp_isl_context(c, 0)));
  const tp_ix *cond = tp_cond_of_set(c, n, dims, t);
  isl_set_free(t);
  return cond;
}

/* ---- conditions on bounds in few words ---- */

static bool set_implies(tp_ictx *c, const tp_ix *a, isl_set *b) {
  isl_set *s = tp_set_cond(c, 0, NULL, a);
  bool yes = tp_set_subset(c, s, b);
  isl_set_free(s);
  return yes;
}

static const tp_ix *joined(tp_ictx *c, int n, const tp_ix *const *v, int but, bool conj) {
  const tp_ix *e = tp_ix_bool(c, conj);
  for (int i = 0; i < n; i++)
    if (i != but) e = conj ? tp_ix_and(c, e, v[i]) : tp_ix_or(c, e, v[i]);
  return e;
}

/* (b >= 1 and a == 0) => b >= 1 where `all` holds for every such b: a literal goes if the rest
 * still lies in `all`. */
static const tp_ix *widest(tp_ictx *c, const tp_ix *e, isl_set *all) {
  for (int i = 0; e->kind == TP_IX_AND && e->narg <= TP_TUNE_COND_WORDS && i < e->narg;) {
    const tp_ix *rest = joined(c, e->narg, e->arg, i, true);
    if (set_implies(c, rest, all)) e = rest, i = 0;
    else i++;
  }
  return e;
}

/* a or (b and not a) => a or b */
static const tp_ix *fewest_words(tp_ictx *c, const tp_ix *e) {
  const tp_ix *v[TP_TUNE_COND_WORDS];
  int n = e->narg;
  if (e->kind != TP_IX_OR || n > TP_TUNE_COND_WORDS) return e;
  isl_set *all = tp_set_cond(c, 0, NULL, e);
  for (int i = 0; i < n; i++) v[i] = widest(c, e->arg[i], all);
  isl_set_free(all);
  for (int i = n - 1; i >= 0 && n > 1; i--) { /* what the others say already goes */
    isl_set *rest = tp_set_cond(c, 0, NULL, joined(c, n, v, i, false));
    if (set_implies(c, v[i], rest)) memmove(v + i, v + i + 1, sizeof *v * (size_t)(--n - i));
    isl_set_free(rest);
  }
  return joined(c, n, v, -1, false);
}

/* Not the negation of when it has a point, as bounds are not negative. */
const tp_ix *tp_set_empty_when(tp_ictx *c, tp_set *s) {
  const tp_ix *some = tp_set_nonempty_when(c, s);
  if (!some) return NULL;
  isl_set *rest = tp_set_minus(tp_set_box(c, 0, NULL), tp_set_cond(c, 0, NULL, some));
  const tp_ix *cond = tp_set_to_cond(c, 0, NULL, rest, true);
  isl_set_free(rest);
  return cond ? fewest_words(c, cond) : tp_ix_not(c, some);
}

void tp_isl_point(isl_point *p, int n, int64_t *x) {
  for (int i = 0; i < n; i++) {
    isl_val *v = isl_point_get_coordinate_val(p, isl_dim_set, i);
    x[i] = isl_val_get_num_si(v);
    isl_val_free(v);
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

/* ---- witnesses ---- */

/* The lexicographically smallest point of a set of parameters, as a set of one point; empty if
 * there is none. */
static isl_set *least_params(isl_set *params) {
  unsigned n = (unsigned)nparam(params);
  isl_space *space = isl_set_get_space(params);
  isl_set *s = isl_set_lexmin(
      isl_set_move_dims(isl_set_from_params(params), isl_dim_set, 0, isl_dim_param, 0, n));
  s = isl_set_params(isl_set_move_dims(s, isl_dim_param, 0, isl_dim_set, 0, n));
  for (unsigned i = 0; i < n; i++)
    s = isl_set_set_dim_id(s, isl_dim_param, i, isl_space_get_dim_id(space, isl_dim_param, i));
  isl_space_free(space);
  return s;
}

/* The smallest point where that exists; a dim without a bound may have none: then any point, with
 * nonnegative such dims if possible. */
static isl_point *least_point(isl_set *s, int n, const tp_sym *const *dims) {
  bool open = false;
  isl_set *t = isl_set_copy(s);
  for (int i = 0; i < n; i++)
    if (!dims[i]->bound) {
      open = true;
      t = isl_set_lower_bound_si(t, isl_dim_set, (unsigned)i, 0);
    }
  if (isl_set_is_empty(t) == isl_bool_true && open) {
    isl_set_free(t);
    return isl_set_sample_point(s);
  }
  isl_set_free(s);
  return isl_set_sample_point(isl_set_lexmin(t));
}

static bool read_point(isl_point *p, int n, const tp_sym *const *dims, int64_t *env) {
  bool ok = p != NULL;
  isl_space *space = isl_point_get_space(p);
  for (int i = 0; ok && i < (int)isl_space_dim(space, isl_dim_param); i++)
    env[tp_isl_param(space, i)->id] =
        take_val(isl_point_get_coordinate_val(p, isl_dim_param, i), &ok);
  for (int i = 0; ok && i < n; i++)
    env[dims[i]->id] = take_val(isl_point_get_coordinate_val(p, isl_dim_set, i), &ok);
  isl_space_free(space);
  return ok;
}

bool tp_set_witness(
    tp_ictx *c, int n, const tp_sym *const *dims, tp_set *s, int64_t least, int64_t *env) {
  if (!s) return false;
  isl_set *t = with_bounds(c, s, tp_set_can_have_point(c, s, least) ? least : 0);
  if (isl_set_is_empty(t) != isl_bool_false) {
    isl_set_free(t);
    return false;
  }
  isl_set *params = least_params(params_of(t));
  t = isl_set_intersect_params(t, params);
  isl_point *p = least_point(t, n, dims);
  bool ok = read_point(p, n, dims, env);
  isl_point_free(p);
  return ok;
}

char *tp_set_str(tp_ictx *c, tp_set *s) {
  char *text = s ? isl_set_to_str(s) : NULL, *r = tp_strdup(&c->arena, text ? text : "null");
  free(text);
  return r;
}

/* ---- for the prover ---- */

bool tp_isl_impossible(tp_ictx *c, int n, const tp_sym *const *dims, const tp_ix *cond) {
  /* an error of the caller's is pending: it is not ours to clear */
  if (isl_ctx_last_error(tp_isl_ctx(c)) != isl_error_none) return false;
  unsigned long before = tp_isl_budget(c, TP_TUNE_COND_BUDGET);
  isl_set *s = isl_set_intersect(tp_set_box(c, n, dims), tp_set_cond(c, n, dims, cond));
  bool never = tp_set_is_empty(c, s);
  isl_set_free(s);
  never &= tp_isl_within(c, before);
  isl_ctx_reset_error(tp_isl_ctx(c));
  return never;
}
