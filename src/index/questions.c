/* questions: when a set is empty; sets as conditions; a point of a set. */
#include "index/memo.h"

static isl_set *params_of(isl_set *s) { return isl_set_params(isl_set_copy(s)); }

tp_ix *tp_set_nonempty_when(tp_ictx *c, tp_set *s) {
  isl_set *p = tp_isl_coalesce(isl_set_gist_params(
      isl_set_compute_divs(isl_set_intersect_params(params_of(s), tp_isl_context(c, 0))),
      tp_isl_context(c, 0)));
  tp_ix *cond = tp_cond_of_set(c, 0, NULL, p);
  isl_set_free(p);
  return tp_ix_simplify(cond, 0, NULL);
}

bool tp_set_can_be_empty(tp_ictx *c, tp_set *s, int64_t least) {
  isl_set *rest = isl_set_subtract(tp_isl_context(c, least), params_of(s));
  bool can = rest && isl_set_is_empty(rest) != isl_bool_true;
  isl_set_free(rest);
  return can;
}

tp_ix *tp_set_told(tp_ictx *c, int n, tp_dims dims, tp_set *s, tp_set *known) {
  isl_set *t = tp_isl_gist(isl_set_copy(s), isl_set_intersect_params(known, tp_isl_context(c, 0)));
  tp_ix *cond = tp_cond_of_set(c, n, dims, t);
  isl_set_free(t);
  return cond;
}

tp_ix *tp_set_to_cond(tp_ictx *c, int n, tp_dims dims, tp_set *s, bool simplify) {
  if (!simplify) return tp_cond_of_set(c, n, dims, s);
  tp_ix *cond = tp_set_told(c, n, dims, s, tp_set_box(c, n, dims));
  return cond ? tp_ix_simplify(cond, n, dims) : NULL;
}

static bool set_implies(tp_ictx *c, tp_ix *a, isl_set *b) {
  isl_set *s = tp_set_cond(c, 0, NULL, a);
  bool yes = tp_set_subset(c, s, b);
  isl_set_free(s);
  return yes;
}

/* the conjunction or disjunction of all but one */
static tp_ix *joined(tp_ictx *c, int n, tp_ixs v, int but, bool conj) {
  tp_ix *e = tp_ix_bool(c, conj);
  for (int i = 0; i < n; i++)
    if (i != but) e = (conj ? tp_ix_and : tp_ix_or)(e, v[i]);
  return e;
}

/* (b >= 1 and a == 0) => b >= 1 where `all` holds for every such b. */
static tp_ix *widest(tp_ictx *c, tp_ix *e, isl_set *all) {
  for (int i = 0; e->kind == TP_IX_AND && e->narg <= TP_TUNE_COND_WORDS && i < e->narg;) {
    tp_ix *rest = joined(c, e->narg, e->arg, i, true);
    if (set_implies(c, rest, all)) e = rest, i = 0;
    else i++;
  }
  return e;
}

/* a or (b and not a) => a or b */
static tp_ix *fewest_words(tp_ictx *c, tp_ix *e) {
  tp_ix *v[TP_TUNE_COND_WORDS];
  int n = e->narg;
  if (e->kind != TP_IX_OR || n > TP_TUNE_COND_WORDS) return e;
  isl_set *all = tp_set_cond(c, 0, NULL, e);
  for (int i = 0; i < n; i++) v[i] = widest(c, e->arg[i], all);
  isl_set_free(all);
  for (int i = n - 1; i >= 0 && n > 1; i--) { /* drop a part that the others imply */
    isl_set *rest = tp_set_cond(c, 0, NULL, joined(c, n, v, i, false));
    if (set_implies(c, v[i], rest)) memmove(v + i, v + i + 1, sizeof *v * (size_t)(--n - i));
    isl_set_free(rest);
  }
  return joined(c, n, v, -1, false);
}

/* More than a negation, as it uses that bounds are not negative. */
tp_ix *tp_set_empty_when(tp_ictx *c, tp_set *s) {
  tp_ix *some = tp_set_nonempty_when(c, s);
  if (!some) return NULL;
  isl_set *rest = tp_set_minus(tp_set_box(c, 0, NULL), tp_set_cond(c, 0, NULL, some));
  tp_ix *cond = tp_set_to_cond(c, 0, NULL, rest, true);
  isl_set_free(rest);
  return cond ? fewest_words(c, cond) : tp_ix_not(some);
}

/* the least values, as a set of one point, or empty */
static isl_set *least_params(isl_set *params) {
  unsigned n = (unsigned)isl_set_dim(params, isl_dim_param);
  isl_space *space = isl_set_get_space(params);
  isl_set *s = isl_set_lexmin(
      isl_set_move_dims(isl_set_from_params(params), isl_dim_set, 0, isl_dim_param, 0, n));
  s = isl_set_params(isl_set_move_dims(s, isl_dim_param, 0, isl_dim_set, 0, n));
  for (unsigned i = 0; i < n; i++)
    s = isl_set_set_dim_id(s, isl_dim_param, i, isl_space_get_dim_id(space, isl_dim_param, i));
  isl_space_free(space);
  return s;
}

/* The least point; if a dim without a bound has no least value, any point, nonnegative along such
 * dims if possible. */
static isl_point *least_point(isl_set *s, int n, tp_dims dims) {
  isl_set *t = isl_set_copy(s);
  bool open = false;
  for (int i = 0; i < n; i++)
    if (!dims[i]->bound) {
      open = true;
      t = isl_set_lower_bound_si(t, isl_dim_set, (unsigned)i, 0);
    }
  bool least = !open || isl_set_is_empty(t) != isl_bool_true;
  isl_set_free(least ? s : t);
  return isl_set_sample_point(least ? isl_set_lexmin(t) : s);
}

static bool read_point(isl_point *p, int n, tp_dims dims, int64_t *env) {
  bool ok = p != NULL;
  isl_space *space = isl_point_get_space(p);
  for (int i = 0; ok && i < (int)isl_space_dim(space, isl_dim_param); i++)
    env[tp_isl_param(space, i)->id] =
        tp_isl_val(isl_point_get_coordinate_val(p, isl_dim_param, i), &ok);
  for (int i = 0; ok && i < n; i++)
    env[dims[i]->id] = tp_isl_val(isl_point_get_coordinate_val(p, isl_dim_set, i), &ok);
  isl_space_free(space);
  return ok;
}

bool tp_set_witness(tp_ictx *c, int n, tp_dims dims, tp_set *s, int64_t least, int64_t *env) {
  if (!s) return false;
  isl_set *t = tp_isl_with_bounds(c, s, least);
  if (isl_set_is_empty(t) == isl_bool_true) {
    isl_set_free(t);
    t = tp_isl_with_bounds(c, s, 0);
  }
  if (isl_set_is_empty(t) != isl_bool_false) {
    isl_set_free(t);
    return false;
  }
  t = isl_set_intersect_params(t, least_params(params_of(t)));
  isl_point *p = least_point(t, n, dims);
  bool ok = read_point(p, n, dims, env);
  isl_point_free(p);
  return ok;
}
