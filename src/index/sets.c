/* sets: sets and relations, each made once (memo.c), and questions about all bounds. */
#include "index/memo.h"

static isl_set *side(tp_ictx *c, tp_sym *dim) {
  if (!dim->bound) return isl_set_universe(tp_isl_space(c, 1));
  tp_ix *d = tp_ix_sym(dim), *bound = tp_ix_sym(dim->bound);
  return tp_isl_of_cond(c, 1, &dim, tp_ix_and(tp_ix_ge0(d), tp_ix_cmp(TP_LT, d, bound)));
}

/* The box by place, as dims may repeat. */
static tp_set *box(tp_ictx *c, int n, tp_dims dims) {
  isl_set *s = isl_set_universe(tp_isl_space(c, 0));
  for (int i = 0; i < n; i++) s = isl_set_flat_product(s, side(c, dims[i]));
  return s;
}

tp_set *tp_set_box(tp_ictx *c, int n, tp_dims dims) {
  int64_t key[n + 2];
  key[0] = TP_ASK_BOX;
  key[1] = n;
  for (int i = 0; i < n; i++) key[2 + i] = dims[i]->bound ? dims[i]->bound->id : -1;
  tp_set *s = tp_memo_made(c, true, key, sizeof key);
  return s ? s : tp_memo_make(c, true, key, sizeof key, box(c, n, dims));
}

tp_set *tp_set_outside(tp_ictx *c, int n, tp_dims dims) {
  return tp_set_minus(tp_set_cond(c, n, dims, tp_ix_bool(c, true)), tp_set_box(c, n, dims));
}

tp_set *tp_set_empty(tp_ictx *c, int n, tp_dims dims) {
  (void)dims;
  return isl_set_empty(tp_isl_space(c, n));
}
tp_set *tp_set_cond(tp_ictx *c, int n, tp_dims dims, tp_ix *cond) {
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

bool tp_set_mentions(tp_set *a, tp_sym *s) {
  int at = tp_isl_place(isl_set_get_space(a), s);
  return at >= 0 && isl_set_involves_dims(a, isl_dim_param, (unsigned)at, 1) == isl_bool_true;
}

tp_set *tp_set_some(tp_ictx *c, tp_set *a, tp_sym *s, tp_ix *cond) {
  a = isl_set_intersect_params(a, isl_set_params(tp_isl_of_cond(c, 0, NULL, cond)));
  int at = tp_isl_place(isl_set_get_space(a), s);
  return at < 0 ? a : tp_isl_coalesce(isl_set_project_out(a, isl_dim_param, (unsigned)at, 1));
}

tp_set *tp_set_apply(tp_set *s, tp_rel *r) { return tp_memo_op(TP_ASK_APPLY, s, r); }

tp_rel *tp_rel_at(tp_ictx *c, int nfrom, tp_dims from, int nto, tp_dims to, const tp_at *at) {
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
  return r ? r : tp_memo_make(c, false, key, sizeof key, tp_isl_of_at(c, nfrom, from, nto, at));
}

/* Goes part by part of cond, so that a part's few pieces meet only the pairs that are left. */
tp_rel *tp_rel_where(
    tp_ictx *c, tp_rel *r, int nfrom, tp_dims from, int nto, tp_dims to, tp_ix *cond) {
  tp_sym *dims[nfrom + nto + 1];
  tp_ix *part;
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

tp_rel *tp_rel_some(tp_ictx *c, tp_rel *r, tp_sym *s, tp_ix *cond) {
  return isl_set_unwrap(tp_set_some(c, isl_map_wrap(r), s, cond));
}
tp_set *tp_rel_points(tp_rel *r) { return tp_isl_coalesce(isl_map_domain(r)); }
tp_rel *tp_rel_copy(tp_rel *r) { return isl_map_copy(r); }
tp_rel *tp_rel_free(tp_rel *r) { return isl_map_free(r); }
tp_rel *tp_rel_reverse(tp_rel *r) { return isl_map_reverse(r); }
tp_rel *tp_rel_restrict(tp_rel *r, tp_set *from) { return tp_memo_op(TP_ASK_RESTRICT, r, from); }
tp_rel *tp_rel_into(tp_rel *r, tp_set *to) { return tp_memo_op(TP_ASK_INTO, r, to); }

bool tp_set_is_empty(tp_ictx *c, tp_set *s) { return s && tp_memo_subset(c, s, NULL); }
bool tp_set_none(tp_ictx *c, tp_set *s) {
  bool none = tp_set_is_empty(c, s);
  isl_set_free(s);
  return none;
}
bool tp_set_subset(tp_ictx *c, tp_set *a, tp_set *b) {
  return a == b || (a && b && tp_memo_subset(c, a, b));
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

/* left: the points beyond this condition and those before it. Memo's answers hold the set. */
typedef struct {
  tp_ix *cond;
  tp_set *left;
} passed;
typedef TP_VEC(passed) chain;

static chain *chain_of(tp_ictx *c, const void *key, size_t n) {
  tp_memo *m = tp_memo_of(tp_isl_ctx(c));
  chain *x = tp_hmap_get(&m->answers, key, n);
  if (!x) tp_hmap_set(&m->answers, key, n, x = TP_NEW(&m->arena, chain));
  return x;
}

/* Takes each condition away once, for all questions about the list. */
tp_set *tp_set_first(
    tp_ictx *c, const void *list, int n, tp_dims dims, int k, tp_ix *(*cond)(const void *, int)) {
  int64_t key[n + 2];
  int at = 0;
  key[0] = TP_ASK_FIRST;
  key[1] = (int64_t)(intptr_t)list;
  for (int i = 0; i < n; i++) key[2 + i] = dims[i]->id;
  chain *x = chain_of(c, key, sizeof key);
  while (at < k && at < x->n && x->v[at].cond == cond(list, at)) at++;
  if (at < k) x->n = at;
  tp_set *left = at ? isl_set_copy(x->v[at - 1].left) : tp_set_box(c, n, dims);
  for (; at < k && left; at++) {
    tp_ix *e = cond(list, at);
    left = tp_set_minus(left, e ? tp_set_cond(c, n, dims, e) : isl_set_copy(left));
    x = chain_of(c, key, sizeof key); /* all may have been forgotten */
    if (left && x->n == at) TP_PUSH(&tp_memo_of(tp_isl_ctx(c))->arena, x, ((passed){ e, left }));
  }
  tp_ix *e = cond(list, k);
  return tp_isl_coalesce(e && left ? tp_set_and(left, tp_set_cond(c, n, dims, e)) : left);
}

bool tp_isl_impossible(tp_ictx *c, int n, tp_dims dims, tp_ix *cond) {
  /* an error of the caller is pending */
  if (isl_ctx_last_error(tp_isl_ctx(c)) != isl_error_none) return false;
  unsigned long before = tp_isl_budget(c, TP_TUNE_COND_BUDGET);
  bool never =
      tp_set_none(c, isl_set_intersect(tp_set_box(c, n, dims), tp_set_cond(c, n, dims, cond)));
  never &= tp_isl_within(c, before);
  isl_ctx_reset_error(tp_isl_ctx(c));
  return never;
}
