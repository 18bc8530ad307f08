/* calc: computes weights (numbers over bounds) and asks isl the driver's queries. */
#include "poly/sched.h"

enum { CALC_TOLD = 8 };

void tp_query_long(tp_sched *S, int64_t times) {
  isl_ctx_reset_operations(S->ctx);
  isl_ctx_set_max_operations(S->ctx, (unsigned long)(S->p->budget * times));
  S->p->nquery++;
  tp_ictx_ended(S->ix);
}

void tp_query(tp_sched *S) { tp_query_long(S, 1); }

void tp_ask(tp_sched *S, const char *what, const char *who, const char *whom) {
  S->ask = what;
  S->who = who;
  S->whom = whom;
}

void tp_ask_dep(tp_sched *S, const char *what, const tp_dep *d) {
  tp_ask(S, what, S->p->stmts.v[d->dst]->name, S->p->stmts.v[d->src]->name);
}

/* Notes the first few queries that took too much, once each. */
static void note_unknown(tp_sched *S) {
  tp_poly *p = S->p;
  p->nover++;
  if (!S->ask || p->unknown.n >= CALC_TOLD) return;
  const char *text = tp_printf(S->a, S->ask, S->who ? S->who : "?", S->whom ? S->whom : "?");
  for (int i = 0; i < p->unknown.n; i++)
    if (!strcmp(p->unknown.v[i], text)) return;
  TP_PUSH(S->a, &p->unknown, text);
}

bool tp_query_end(tp_sched *S) {
  isl_ctx_reset_operations(S->ctx);
  isl_ctx_set_max_operations(S->ctx, TP_ISL_MOST);
  enum isl_error e = isl_ctx_last_error(S->ctx);
  if (e == isl_error_quota) note_unknown(S);
  if (e != isl_error_none) isl_ctx_reset_error(S->ctx);
  return e == isl_error_none;
}

void tp_tell_unknown(const tp_poly *p, tp_error *err) {
  for (int i = 0; i < p->unknown.n && i < 3; i++)
    tp_note(
        err, "not known within %lld operations of isl: %s", (long long)p->budget, p->unknown.v[i]);
}

/* ---- pools ---- */

isl_map *tp_keep_map(tp_sched *S, isl_map *m) {
  if (m) TP_PUSH(S->a, &S->maps, m);
  return m;
}
isl_set *tp_keep_set(tp_sched *S, isl_set *s) {
  if (s) TP_PUSH(S->a, &S->sets, s);
  return s;
}
isl_pw_aff *tp_keep_aff(tp_sched *S, isl_pw_aff *p) {
  if (p) TP_PUSH(S->a, &S->affs, p);
  return p;
}

void tp_pools_free(tp_sched *S) {
  for (int i = 0; i < S->maps.n; i++) isl_map_free(S->maps.v[i]);
  for (int i = 0; i < S->sets.n; i++) isl_set_free(S->sets.v[i]);
  for (int i = 0; i < S->affs.n; i++) isl_pw_aff_free(S->affs.v[i]);
  S->maps.n = S->sets.n = S->affs.n = 0;
}

/* ---- memo ---- */

typedef struct {
  tp_wt w;
  bool known;
  int64_t lo, hi;
} row_answer;
void *tp_recall(tp_sched *S, const tp_question *q, size_t size, bool *fresh) {
  void *x = tp_hmap_get(&S->memo, q, sizeof *q);
  *fresh = !x;
  if (!x) tp_hmap_set(&S->memo, q, sizeof *q, x = tp_new_bytes(S->a, size));
  return x;
}

static row_answer *recall(tp_sched *S, tp_question q, bool *fresh) {
  return tp_recall(S, &q, sizeof(row_answer), fresh);
}

/* ---- weights ---- */

bool tp_whole(isl_val *v, int64_t *to) {
  bool ok = true;
  int64_t x = tp_isl_val(v, &ok);
  if (ok) *to = x;
  return ok;
}

static bool constant(isl_pw_aff *p, int64_t *c) {
  if (isl_pw_aff_n_piece(p) != 1 || isl_pw_aff_is_cst(p) != isl_bool_true ||
      isl_pw_aff_isa_aff(p) != isl_bool_true)
    return false;
  isl_aff *a = isl_pw_aff_as_aff(isl_pw_aff_copy(p));
  bool ok = tp_whole(isl_aff_get_constant_val(a), c);
  isl_aff_free(a);
  return ok;
}

/* p's value where every dim's bound is v and other bounds are `rest`; 0 if that is no whole number,
 * or not defined. */
static int64_t value_at(tp_sched *S, isl_pw_aff *p, int64_t v, int64_t rest) {
  isl_space *space = isl_pw_aff_get_domain_space(p);
  isl_point *at = isl_point_zero(isl_space_copy(space));
  for (int k = 0; k < (int)isl_space_dim(space, isl_dim_param); k++)
    at = isl_point_set_coordinate_val(
        at, isl_dim_param, k, tp_isl_int(S->ctx, tp_isl_param(space, k)->dim ? v : rest));
  isl_space_free(space);
  int64_t x = 0;
  (void)tp_whole(isl_pw_aff_eval(isl_pw_aff_copy(p), at), &x);
  return x;
}

typedef struct alike {
  struct alike *next;
  isl_pw_aff *p;
} alike;

static isl_pw_aff *the_function(tp_sched *S, TP_TAKE isl_pw_aff *p) {
  bool fresh;
  tp_question q = { .what = OF_ALIKE, .by = isl_pw_aff_get_hash(p) };
  alike **first = tp_recall(S, &q, sizeof *first, &fresh);
  for (const alike *x = *first; x; x = x->next)
    if (isl_pw_aff_plain_is_equal(x->p, p) == isl_bool_true) {
      isl_pw_aff_free(p);
      return x->p;
    }
  alike *x = TP_NEW(S->a, alike);
  *x = (alike){ *first, tp_keep_aff(S, p) };
  *first = x;
  return p;
}

/* p without its value where all bounds are 0, which functions that differ by a constant share. */
tp_wt tp_wt_of(tp_sched *S, isl_pw_aff *p) {
  int64_t c;
  if (!p) return tp_wt_bad();
  if (constant(p, &c)) {
    isl_pw_aff_free(p);
    return tp_wt_c(c);
  }
  c = value_at(S, p, 0, 0);
  if (c) p = isl_pw_aff_add_constant_val(p, tp_isl_int(S->ctx, -c));
  return p ? (tp_wt){ .c = c, .p = the_function(S, p) } : tp_wt_bad();
}

isl_pw_aff *tp_wt_pw(tp_sched *S, tp_wt w) {
  if (w.bad) return NULL;
  isl_val *c = tp_isl_int(S->ctx, w.c);
  if (w.p) return isl_pw_aff_add_constant_val(isl_pw_aff_copy(w.p), c);
  return isl_pw_aff_val_on_domain(isl_set_universe(tp_isl_params(S->ix)), c);
}

typedef isl_pw_aff *binary(isl_pw_aff *, isl_pw_aff *);

/* op(a, b + by), of functions without constants. */
static tp_wt combine(tp_sched *S, isl_pw_aff *a, isl_pw_aff *b, int64_t by, int what, binary *op) {
  bool fresh;
  row_answer *x = recall(S, (tp_question){ .what = what, .of = a, .with = b, .by = by }, &fresh);
  if (!fresh) return x->w;
  tp_query(S);
  isl_pw_aff *p = isl_pw_aff_coalesce(
      op(tp_wt_pw(S, (tp_wt){ .p = a }), tp_wt_pw(S, (tp_wt){ .p = b, .c = by })));
  if (!tp_query_end(S)) p = isl_pw_aff_free(p);
  return x->w = tp_wt_of(S, p);
}

static tp_wt plus(tp_wt w, int64_t c) {
  w.c += c;
  return w;
}

tp_wt tp_wt_add(tp_sched *S, tp_wt a, tp_wt b) {
  if (a.bad || b.bad) return tp_wt_bad();
  if (!a.p) return plus(b, a.c);
  if (!b.p) return plus(a, b.c);
  return plus(combine(S, a.p, b.p, 0, OF_ADD, isl_pw_aff_add), a.c + b.c);
}

tp_wt tp_wt_sub(tp_sched *S, tp_wt a, tp_wt b) {
  if (a.bad || b.bad) return tp_wt_bad();
  if (!b.p) return plus(a, -b.c);
  if (a.p == b.p) return tp_wt_c(a.c - b.c);
  return plus(combine(S, a.p, b.p, 0, OF_SUB, isl_pw_aff_sub), a.c - b.c);
}

bool tp_wt_le(tp_sched *S, tp_wt a, tp_wt b) {
  if (a.bad || b.bad) return false;
  if (a.p == b.p) return a.c <= b.c;
  bool fresh;
  row_answer *x =
      recall(S, (tp_question){ .what = OF_LE, .of = a.p, .with = b.p, .by = b.c - a.c }, &fresh);
  if (!fresh) return x->known;
  tp_query(S);
  isl_set *where = isl_pw_aff_le_set(tp_wt_pw(S, a), tp_wt_pw(S, b));
  bool yes = isl_set_is_subset(S->context, where) == isl_bool_true;
  isl_set_free(where);
  return x->known = tp_query_end(S) && yes;
}

static tp_wt extremum(tp_sched *S, tp_wt a, tp_wt b, int what, binary *op) {
  if (a.bad || b.bad) return tp_wt_bad();
  tp_wt w = plus(combine(S, a.p, b.p, b.c - a.c, what, op), a.c);
  return w.p && isl_pw_aff_n_piece(w.p) > TP_TUNE_SHIFT_PIECES ? tp_wt_bad() : w;
}

tp_wt tp_wt_max(tp_sched *S, tp_wt a, tp_wt b) {
  if (tp_wt_le(S, a, b)) return b;
  if (tp_wt_le(S, b, a)) return a;
  return extremum(S, a, b, OF_MAX, isl_pw_aff_max);
}

tp_wt tp_wt_min(tp_sched *S, tp_wt a, tp_wt b) {
  if (tp_wt_le(S, a, b)) return a;
  if (tp_wt_le(S, b, a)) return b;
  return extremum(S, a, b, OF_MIN, isl_pw_aff_min);
}

typedef struct {
  tp_sched *S;
  tp_wt w, best;
} above;

static isl_stat try_row_piece(isl_set *dom, isl_aff *a, void *ud) {
  above *x = ud;
  isl_set_free(dom);
  tp_wt w = tp_wt_of(x->S, isl_pw_aff_ceil(isl_pw_aff_from_aff(a)));
  if (x->best.bad && tp_wt_le(x->S, x->w, w)) x->best = w;
  return isl_stat_ok;
}

/* p of several pieces with divisions (K - K % 2 where K > 2, else 0), without the divisions: isl
 * finds no loops for rows that far apart. */
static tp_wt without_divisions(tp_sched *S, isl_pw_aff *p) {
  isl_set *values = isl_set_from_pw_aff(isl_pw_aff_copy(p));
  tp_wt w = tp_wt_bad();
  tp_query(S);
  if (tp_isl_divided(values))
    w = tp_wt_of(S, isl_set_dim_max(isl_set_remove_divs(isl_set_copy(values)), 0));
  isl_set_free(values);
  return tp_query_end(S) ? w : tp_wt_bad();
}

tp_wt tp_wt_above(tp_sched *S, tp_wt w) {
  if (w.bad || !w.p || isl_pw_aff_n_piece(w.p) < 2) return w;
  bool fresh;
  row_answer *x = recall(S, (tp_question){ .what = OF_ABOVE, .of = w.p }, &fresh);
  if (fresh) {
    above a = { S, { .p = w.p }, tp_wt_bad() };
    isl_pw_aff_foreach_piece(w.p, try_row_piece, &a);
    x->w = a.best.bad ? without_divisions(S, w.p) : a.best;
  }
  return x->w.bad ? w : plus(x->w, w.c);
}

int64_t tp_wt_at(tp_sched *S, tp_wt w, int64_t v) {
  return w.c + (w.p ? value_at(S, w.p, v, 3) : 0);
}

typedef struct {
  tp_sched *S;
  isl_pw_aff *p;
  isl_set *dom;
  isl_pw_aff *best;
} below_row;

static isl_stat try_below(isl_set *dom, isl_aff *a, void *ud) {
  below_row *x = ud;
  isl_set_free(dom);
  isl_pw_aff *q = isl_pw_aff_floor(isl_pw_aff_from_aff(a));
  isl_set *where = isl_pw_aff_le_set(isl_pw_aff_copy(q), isl_pw_aff_copy(x->p));
  bool fits = isl_set_is_subset(x->dom, where) == isl_bool_true;
  if (fits && (!x->best || value_at(x->S, q, 100, 3) > value_at(x->S, x->best, 100, 3))) {
    isl_pw_aff_free(x->best);
    x->best = isl_pw_aff_copy(q);
  }
  isl_pw_aff_free(q);
  isl_set_free(where);
  return isl_stat_ok;
}

/* An affine piece of p that is nowhere larger than p, for a lower bound that need not be exact: n -
 * 1 for a clipped window's min(n, T) - 1. */
static isl_pw_aff *one_piece_below(tp_sched *S, TP_TAKE isl_pw_aff *p) {
  if (!p || isl_pw_aff_n_piece(p) < 2) return p;
  below_row x = { S, p,
    isl_set_intersect(isl_pw_aff_domain(isl_pw_aff_copy(p)), isl_set_copy(S->context)), NULL };
  isl_pw_aff_foreach_piece(p, try_below, &x);
  isl_set_free(x.dom);
  if (!x.best) return p;
  isl_pw_aff_free(p);
  return x.best;
}

/* Extends p to all points: a single piece goes on everywhere; several are completed by 0. A piece
 * that is integral only on its own domain ((T - 1)/2 for odd T) goes on as its floor. */
static isl_pw_aff *complete_row(tp_sched *S, isl_pw_aff *p) {
  if (!p) return NULL;
  isl_set *dom = isl_pw_aff_domain(isl_pw_aff_copy(p));
  if (isl_pw_aff_n_piece(p) <= 1)
    return isl_pw_aff_floor(
        isl_pw_aff_gist_params(isl_pw_aff_gist_params(p, dom), isl_set_copy(S->context)));
  isl_set *rest = isl_set_subtract(isl_set_copy(S->context), dom);
  if (isl_set_is_empty(rest) == isl_bool_true) isl_set_free(rest);
  else p = isl_pw_aff_union_add(p, isl_pw_aff_val_on_domain(rest, isl_val_zero(S->ctx)));
  return isl_pw_aff_coalesce(isl_pw_aff_gist_params(p, isl_set_copy(S->context)));
}

/* Least value of dim `dim` of a set (greatest, negated: if sign < 0); a constant below it for all
 * bounds will do if `rough`. */
static tp_wt least(tp_sched *S, TP_TAKE isl_set *s, int dim, int sign, bool rough) {
  tp_wt w = tp_wt_bad();
  if (!s) return w;
  int64_t c;
  isl_val *v = !rough ? isl_val_nan(S->ctx)
      : sign > 0      ? isl_set_dim_min_val(isl_set_copy(s), dim)
                      : isl_set_dim_max_val(isl_set_copy(s), dim);
  if (tp_whole(isl_val_copy(v), &c)) w = tp_wt_c(sign * c);
  else if (v) {
    isl_pw_aff *p = sign > 0 ? isl_set_dim_min(isl_set_copy(s), dim)
                             : isl_pw_aff_neg(isl_set_dim_max(isl_set_copy(s), dim));
    w = tp_wt_of(S, complete_row(S, rough ? one_piece_below(S, p) : p));
  }
  isl_val_free(v);
  isl_set_free(s);
  return w;
}

/* ---- statements ---- */

isl_space *tp_stmt_space(tp_sched *S, int st) {
  return tp_isl_space(S->ix, S->p->stmts.v[st]->ndim);
}

tp_wt tp_first_row(tp_sched *S, int st, int dim, int s) {
  tp_set *dom = S->p->stmts.v[st]->dom;
  bool fresh;
  row_answer *x = recall(S, (tp_question){ .what = OF_FIRST, .of = dom, .a = dim, .s = s }, &fresh);
  if (!fresh) return x->w;
  tp_ask(S, "where '%s' starts and ends", S->p->stmts.v[st]->name, NULL);
  tp_query(S);
  isl_set *rows = isl_set_copy(dom);
  if (S->freectx) rows = isl_set_intersect_params(rows, isl_set_copy(S->freectx));
  x->w = least(S, rows, dim, s, false);
  if (!tp_query_end(S)) x->w = tp_wt_bad();
  return x->w;
}

tp_wt tp_last_row(tp_sched *S, int st, int dim, int s) {
  return tp_wt_sub(S, tp_wt_c(0), tp_first_row(S, st, dim, -s));
}

typedef struct {
  int dim;
  bool alone, fixed;
} dim_apart;

static isl_stat see_constraint(isl_constraint *c, void *ud) {
  dim_apart *x = ud;
  bool alone;
  if (tp_isl_concerns(c, x->dim, &alone)) {
    x->alone &= alone;
    x->fixed |= alone && isl_constraint_is_equality(c);
  }
  isl_constraint_free(c);
  return isl_stat_ok;
}

bool tp_stands_alone(isl_set *one, int dim, bool *fixed) {
  dim_apart x = { dim, true, false };
  isl_basic_set *b = isl_set_simple_hull(isl_set_copy(one));
  isl_basic_set_foreach_constraint(b, see_constraint, &x);
  isl_basic_set_free(b);
  *fixed = x.fixed;
  return x.alone;
}

bool tp_pinned(tp_sched *S, int st, int dim) {
  tp_set *dom = S->p->stmts.v[st]->dom;
  bool fixed = false;
  if (isl_set_n_basic_set(dom) == 1) tp_stands_alone(dom, dim, &fixed);
  return fixed;
}

/* ---- distances ---- */

/* x, y: constraints that fix dims du and dv by bounds alone */
typedef struct {
  int du, dv;
  bool here, all;
  int64_t c, lo, hi;
  int n;
  isl_constraint *x, *y;
} distance_apart;

static int64_t coef(isl_constraint *c, enum isl_dim_type t, int i) {
  int64_t r = 0;
  (void)tp_whole(isl_constraint_get_coefficient_val(c, t, i), &r);
  return r;
}

static bool only(isl_constraint *c, enum isl_dim_type t, int at) {
  int n = (int)isl_constraint_dim(c, t);
  if (at < 0) return isl_constraint_involves_dims(c, t, 0, n) == isl_bool_false;
  return isl_constraint_involves_dims(c, t, 0, at) == isl_bool_false &&
      isl_constraint_involves_dims(c, t, at + 1, n - at - 1) == isl_bool_false;
}

/* Does c fix dim d by bounds alone? */
static bool tells(isl_constraint *c, enum isl_dim_type t, int d) {
  int64_t a = coef(c, t, d);
  return (a == 1 || a == -1) && only(c, t, d) &&
      only(c, t == isl_dim_in ? isl_dim_out : isl_dim_in, -1) && only(c, isl_dim_div, -1);
}

static int64_t constant_of(isl_constraint *c) {
  int64_t k = 0;
  (void)tp_whole(isl_constraint_get_constant_val(c), &k);
  return k;
}

/* x = e and y = e + k. */
static void apart_told(distance_apart *p) {
  if (p->here || !p->x || !p->y) return;
  int64_t a = -coef(p->x, isl_dim_in, p->du), b = -coef(p->y, isl_dim_out, p->dv);
  p->here = true;
  for (int i = 0; i < (int)isl_constraint_dim(p->x, isl_dim_param); i++)
    p->here &= a * coef(p->x, isl_dim_param, i) == b * coef(p->y, isl_dim_param, i);
  p->c = b * constant_of(p->y) - a * constant_of(p->x);
}

static isl_stat apart_constraint(isl_constraint *c, void *ud) {
  distance_apart *x = ud;
  if (!x->here && isl_constraint_is_equality(c)) {
    int64_t a = coef(c, isl_dim_in, x->du), b = coef(c, isl_dim_out, x->dv);
    if (a && a == -b && only(c, isl_dim_in, x->du) && only(c, isl_dim_out, x->dv) &&
        only(c, isl_dim_param, -1) && only(c, isl_dim_div, -1)) {
      int64_t k = constant_of(c);
      if (k % b == 0) {
        x->here = true;
        x->c = -k / b;
      } /* b*y - b*x + k = 0 */
    } else if (!x->x && tells(c, isl_dim_in, x->du)) {
      x->x = c;
      return isl_stat_ok;
    } else if (!x->y && tells(c, isl_dim_out, x->dv)) {
      x->y = c;
      return isl_stat_ok;
    }
  }
  isl_constraint_free(c);
  return isl_stat_ok;
}

static isl_stat apart_map(isl_basic_map *m, void *ud) {
  distance_apart *x = ud;
  x->here = false;
  x->x = x->y = NULL;
  isl_basic_map_foreach_constraint(m, apart_constraint, x);
  apart_told(x);
  isl_constraint_free(x->x);
  isl_constraint_free(x->y);
  isl_basic_map_free(m);
  x->all &= x->here;
  if (x->here && (!x->n || x->c < x->lo)) x->lo = x->c;
  if (x->here && (!x->n || x->c > x->hi)) x->hi = x->c;
  x->n++;
  return x->all ? isl_stat_ok : isl_stat_error;
}

bool tp_const_distance(tp_sched *S, isl_map *m, int du, int dv, int64_t *lo, int64_t *hi) {
  bool fresh;
  row_answer *x =
      recall(S, (tp_question){ .what = OF_CONST_DISTANCE, .of = m, .a = du, .b = dv }, &fresh);
  if (fresh) {
    distance_apart d = { .du = du, .dv = dv, .all = true };
    isl_map_foreach_basic_map(m, apart_map, &d);
    x->known = d.all && d.n;
    x->lo = d.lo;
    x->hi = d.hi;
  }
  *lo = x->lo;
  *hi = x->hi;
  return x->known;
}

isl_map *tp_along(isl_map *m, int du, int dv) {
  int ni = (int)isl_map_dim(m, isl_dim_in), no = (int)isl_map_dim(m, isl_dim_out);
  m = isl_map_project_out(m, isl_dim_in, du + 1, ni - du - 1);
  m = isl_map_project_out(m, isl_dim_out, dv + 1, no - dv - 1);
  return isl_map_project_out(isl_map_project_out(m, isl_dim_in, 0, du), isl_dim_out, 0, dv);
}

tp_wt tp_distance(tp_sched *S, isl_map *m, int du, int dv, int s) {
  int64_t lo, hi;
  if (tp_const_distance(S, m, du, dv, &lo, &hi)) return tp_wt_c(s > 0 ? lo : -hi);
  bool fresh;
  row_answer *x =
      recall(S, (tp_question){ .what = OF_DISTANCE, .of = m, .a = du, .b = dv, .s = s }, &fresh);
  if (!fresh) return x->w;
  tp_query(S);
  isl_set *apart = isl_map_deltas(tp_along(isl_map_copy(m), du, dv));
  x->w = least(S, isl_set_intersect_params(apart, isl_set_copy(S->context)), 0, s, true);
  if (!tp_query_end(S)) x->w = tp_wt_bad();
  return x->w;
}

bool tp_map_empty(tp_sched *S, isl_map *m) {
  if (!m) return false;
  if (isl_map_plain_is_empty(m) == isl_bool_true) return true;
  tp_query(S);
  bool yes = isl_map_is_empty(m) == isl_bool_true;
  return tp_query_end(S) && yes;
}

static isl_pw_aff *shifted_row(tp_sched *S, int st, int dim, int s, tp_wt shift) {
  isl_aff *x =
      isl_aff_var_on_domain(isl_local_space_from_space(tp_stmt_space(S, st)), isl_dim_set, dim);
  isl_pw_aff *row = isl_pw_aff_from_aff(s > 0 ? x : isl_aff_neg(x));
  if (shift.bad || shift.p || shift.c)
    row = isl_pw_aff_add(row, isl_pw_aff_insert_domain(tp_wt_pw(S, shift), tp_stmt_space(S, st)));
  return tp_keep_aff(S, row);
}

tp_mem tp_mem_make(tp_sched *S, int st, int dim, int s, tp_wt shift) {
  bool fresh;
  row_answer *x = recall(S,
      (tp_question){ .what = OF_ROW,
          .of = shift.p,
          .a = S->p->stmts.v[st]->ndim,
          .b = dim,
          .s = shift.bad ? 0 : s,
          .by = shift.c },
      &fresh);
  if (fresh) x->w.p = shifted_row(S, st, dim, s, shift);
  return (tp_mem){ .st = st, .dim = dim, .s = s, .shift = shift, .row = x->w.p };
}

tp_mem tp_block_row(tp_sched *S, const tp_mem *m, int64_t size) {
  bool fresh;
  row_answer *x =
      recall(S, (tp_question){ .what = OF_BLOCKS, .of = m->row, .s = m->s, .by = size }, &fresh);
  if (fresh) {
    isl_pw_aff *row = isl_pw_aff_copy(m->row);
    if (m->s < 0) row = isl_pw_aff_neg(row);
    row = isl_pw_aff_floor(isl_pw_aff_scale_down_val(row, tp_isl_int(S->ctx, size)));
    x->w.p = tp_keep_aff(S, m->s < 0 ? isl_pw_aff_neg(row) : row);
  }
  return (tp_mem){ m->st, -1, m->s, m->shift, x->w.p, m->dim + 1 };
}
