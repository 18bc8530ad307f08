/* widths: finds how many points an array keeps along each dim, from the differences of conflicting
 * elements. */
#include "poly/store/live.h"

typedef struct {
  const life *f;
  isl_pw_aff *width;
  TP_VEC(isl_pw_aff *) piece;
} width_pieces;

static isl_stat add_width_piece(isl_set *dom, isl_aff *a, void *ud) {
  width_pieces *p = ud;
  isl_set_free(dom);
  isl_pw_aff *piece = tp_keep_aff(p->f->S, isl_pw_aff_from_aff(a));
  if (piece) TP_PUSH(p->f->S->a, &p->piece, piece);
  return piece ? isl_stat_ok : isl_stat_error;
}

/* The maximum of pieces a and b and of the most that the width is where it exceeds both. NULL: that
 * is no number. */
static tp_ix *bound_of_pieces(const width_pieces *p, isl_pw_aff *a, isl_pw_aff *b) {
  tp_sched *S = p->f->S;
  tp_ix *x = tp_ix_of_pw_aff(S->ix, 0, NULL, a), *y = tp_ix_of_pw_aff(S->ix, 0, NULL, b);
  if (!x || !y) return NULL;
  tp_ix *e = x == y ? x : tp_ix_max(x, y);
  isl_set *over = isl_pw_aff_gt_set(isl_pw_aff_copy(p->width), isl_pw_aff_copy(a));
  over = isl_set_intersect(over, isl_pw_aff_gt_set(isl_pw_aff_copy(p->width), isl_pw_aff_copy(b)));
  over = isl_set_intersect(over, tp_life_context(p->f));
  isl_bool none = isl_set_is_empty(over);
  if (none != isl_bool_false) return isl_set_free(over), none == isl_bool_true ? e : NULL;
  isl_val *most = isl_pw_aff_max_val(isl_pw_aff_intersect_params(isl_pw_aff_copy(p->width), over));
  if (!most && isl_ctx_last_error(S->ctx) != isl_error_quota)
    isl_ctx_reset_error(S->ctx); /* unbounded */
  int64_t n;
  return tp_whole(most, &n) ? tp_ix_max(e, tp_ix_const(S->ix, n)) : NULL;
}

/* The least bound of one piece, or of two neither of which is a bound alone. */
static tp_ix *least_bound(const width_pieces *p) {
  int n = p->piece.n;
  tp_ix *best = NULL, **of = TP_NEWN(p->f->S->a, tp_ix *, n);
  for (int i = 0; i < n; i++) of[i] = bound_of_pieces(p, p->piece.v[i], p->piece.v[i]);
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) {
      if (j > i && (of[i] || of[j])) continue;
      tp_ix *e = j == i ? of[i] : bound_of_pieces(p, p->piece.v[i], p->piece.v[j]);
      if (e) best = best ? tp_ix_min(best, e) : e;
    }
  return best;
}

/* e <= the dim's extent, for all bounds? */
static bool within(const life *f, tp_ix *e, tp_ix *full) {
  isl_pw_aff *a = tp_isl_of_ix(f->S->ix, 0, NULL, e), *b = tp_isl_of_ix(f->S->ix, 0, NULL, full);
  isl_set *ok = isl_set_params(isl_pw_aff_le_set(a, b)), *c = tp_life_context(f);
  bool yes = isl_set_is_subset(c, ok) == isl_bool_true;
  isl_set_free(ok);
  isl_set_free(c);
  return yes;
}

static tp_ix *capped(const life *f, tp_ix *e, int k) {
  tp_ix *full = extent(f, k);
  if (!full || tp_ix_is_const(e, NULL)) return e;
  /* then a slot is the index itself */
  if (within(f, full, tp_ix_addc(e, TP_TUNE_WIDTH_NEARLY))) return full;
  return within(f, e, full) ? e : tp_ix_min(e, full);
}

typedef struct {
  const life *f;
  int k;
  bool outline;
  isl_pw_aff *most;
} maxima;

/* Do divisions decide which value a has where? */
static bool divisions_decide(TP_KEEP isl_pw_aff *a) {
  isl_set *where = isl_pw_aff_domain(isl_pw_aff_copy(a));
  isl_basic_set_list *all = isl_set_get_basic_set_list(where);
  bool any = false;
  for (int i = 0; i < isl_basic_set_list_n_basic_set(all); i++) {
    isl_basic_set *b = isl_basic_set_list_get_basic_set(all, i);
    any |= isl_basic_set_dim(b, isl_dim_div) > 0;
    isl_basic_set_free(b);
  }
  isl_basic_set_list_free(all);
  isl_set_free(where);
  return any;
}

/* isl 0.25 follows a NULL if the maximum of several pieces runs out of operations, so each piece
 * has its own budget and they are joined without one; not if divisions cut them, as joining has
 * taken a minute then (fuzz seed 3046000172). */
static isl_stat piece_max(isl_basic_set *b, void *ud) {
  maxima *m = ud;
  tp_sched *S = m->f->S;
  tp_query(S);
  isl_ctx_set_max_operations(S->ctx, (unsigned long)TP_MIN(S->p->budget, TP_TUNE_WIDTH_BUDGET));
  isl_set *piece = isl_set_from_basic_set(b);
  if (m->outline) piece = isl_set_remove_divs(piece);
  isl_pw_aff *one = isl_set_dim_max(piece, m->k);
  bool known = tp_query_end(S) && one && isl_pw_aff_n_piece(one) <= TP_TUNE_WIDTH_PIECES;
  tp_query(S);
  known = known && !(m->most && (divisions_decide(one) || divisions_decide(m->most)));
  if (!known) return isl_pw_aff_free(one), isl_stat_error;
  m->most = m->most ? isl_pw_aff_coalesce(isl_pw_aff_union_max(m->most, one)) : one;
  return isl_pw_aff_n_piece(m->most) <= TP_TUNE_WIDTH_PIECES ? isl_stat_ok : isl_stat_error;
}

static isl_pw_aff *greatest_of_pieces(const life *f, TP_KEEP isl_set *D, int k, bool outline) {
  maxima m = { f, k, outline, NULL };
  bool ok = isl_set_n_basic_set(D) <= TP_TUNE_WIDTH_PIECES;
  ok = ok && isl_set_foreach_basic_set(D, piece_max, &m) == isl_stat_ok;
  return ok ? m.most : isl_pw_aff_free(m.most);
}

/* The greatest D_k, or more if divisions (a read every fourth step, blocks of a shifted dim) make
 * it too hard: that of the polyhedra around its pieces, or of the one around all of them. D has
 * each difference both ways, so the negative half is not needed. */
static isl_pw_aff *greatest(const life *f, TP_KEEP isl_set *D, int k) {
  D = isl_set_lower_bound_si(isl_set_copy(D), isl_dim_set, (unsigned)k, 0);
  D = isl_set_intersect_params(D, tp_life_context(f));
  isl_pw_aff *most = greatest_of_pieces(f, D, k, false);
  if (!most) most = greatest_of_pieces(f, D, k, true);
  if (!most) {
    isl_basic_set *all = isl_set_simple_hull(isl_set_remove_divs(isl_set_copy(D)));
    most = isl_set_dim_max(isl_set_from_basic_set(all), k);
  }
  isl_set_free(D);
  return most;
}

/* 1 + the greatest D_k. NULL: not known. */
static tp_ix *width_of(const life *f, isl_set *D, int k) {
  tp_sched *S = f->S;
  int64_t n;
  if (tp_whole(isl_set_dim_max_val(isl_set_copy(D), k), &n)) return tp_ix_const(S->ix, n + 1);
  isl_pw_aff *most = isl_pw_aff_coalesce(greatest(f, D, k));
  width_pieces p = { .f = f, .width = isl_pw_aff_add_constant_val(most, isl_val_one(S->ctx)) };
  bool ok = p.width && isl_pw_aff_foreach_piece(p.width, add_width_piece, &p) == isl_stat_ok;
  tp_ix *best = ok ? least_bound(&p) : NULL;
  isl_pw_aff_free(p.width);
  return best ? capped(f, best, k) : NULL;
}

static isl_set *all_deltas(const life *f) {
  isl_set *D = tp_life_zero(f);
  for (int i = 0; i < f->a->delta.n; i++) D = isl_set_union(D, isl_set_copy(f->a->delta.v[i]));
  if (f->late) D = isl_set_union(D, isl_set_copy(f->late));
  return isl_set_coalesce(D);
}

bool tp_life_widths(const life *f, bool outermost_first, tp_ix **width) {
  int n = f->x->ndim;
  isl_set *D = all_deltas(f);
  for (int i = 0; i < n; i++) {
    int k = outermost_first ? i : n - 1 - i;
    width[k] = dense(f, k)   ? whole(f, k)
        : f->passed >> k & 1 ? tp_ix_const(f->S->ix, 1)
                             : width_of(f, D, k);
    /* the other dims may still be rings */
    if (!width[k] && f->outline) width[k] = whole(f, k);
    if (!width[k]) {
      isl_set_free(D);
      return false;
    }
    D = isl_set_coalesce(isl_set_fix_si(D, isl_dim_set, k, 0));
  }
  isl_set_free(D);
  return true;
}
