/* sliding_window: a reduction over a window of w rows. A w that is a number is made of windows of
 * 1, 2, 4, .. rows:
 *
 *   z[p] of 2n rows up to p = red(z[p] of n rows, z[p-n] of n rows)
 *   y[c] = red of some of these that lie side by side and make w rows
 *
 * No state is carried, so one call runs over the whole dim. A row costs log2(w) operators, and a
 * float sum is added as a tree. Windows that calls make over a whole dim are kept for all of it,
 * some four times the bytes of x, so large elements are left alone. At a clipped end a window has
 * fewer rows: those beyond it are left out. Windows are built towards the clipped end; a window
 * that is clipped at both ends is two, before a point inside it and from there on. If only the call
 * says how many rows there are, few rows are gone through one by one, and more lie on a ring
 * (two_stacks.c); at an upper end that clips, the rows that are left are a suffix, or gone
 * through. */
#include "opt/prefix/prefix.h"

static tp_ix *row_by(const window_rows *w, tp_ix *p, int64_t n) {
  return tp_ix_addc(p, w->way * n);
}

/* Does row p lie on the inner side of the clip? */
static tp_ix *is_inside(const window_rows *w, tp_ix *p) {
  return tp_ix_cmp(w->way < 0 ? TP_GE : TP_LT, p, w->clip);
}

static bool is_surely(const moving_range *m, tp_ix *e) { /* e >= 0 */
  return tp_ix_prove_ge0(e, m->ndom, m->dom);
}

static bool surely_inside(const window_rows *w, tp_ix *p) {
  return !w->clip ||
      is_surely(w->m, w->way < 0 ? tp_ix_sub(p, w->clip) : tp_ix_addc(tp_ix_sub(w->clip, p), -1));
}

static partial window_at(const window_rows *w, partial z, tp_ix *p) {
  return tp_partial_at(w->m, z, w->d, p);
}

static partial joined_by(const window_rows *w, partial near, partial far) {
  return w->way < 0 ? tp_partial_join(w->m, far, near) : tp_partial_join(w->m, near, far);
}

/* Makes windows of twice the rows. */
static partial doubled(const window_rows *w, partial z, int64_t n) {
  tp_ix *p = tp_ix_sym(w->d), *far = row_by(w, p, n);
  partial both = joined_by(w, z, window_at(w, z, far));
  return w->clip ? tp_partial_either(w->m, w->ndom, w->dom, is_inside(w, far), both, z) : both;
}

/* Joins y and the window z whose row nearest to y is p; y may have no rows. */
static partial joined(const window_rows *w, partial y, partial z, tp_ix *p) {
  const moving_range *m = w->m;
  partial there = window_at(w, z, p), both = y.n ? joined_by(w, y, there) : there;
  if (surely_inside(w, p)) return both;
  return tp_partial_either(m, m->ndom, m->dom, is_inside(w, p), both, y.n ? y : tp_partial_none(m));
}

/* n rows from p on, in the direction `way`; p is the first. */
static partial rows_from(const window_rows *w, tp_ix *p, int64_t n) {
  /* a row may count twice */
  bool again = w->m->kind != MONOID_EXP && (w->m->red == TP_RED_MAX || w->m->red == TP_RED_MIN);
  partial z = tp_partial_row(w->m, tp_ix_sym(w->d)), y = tp_no_partial;
  int64_t size = 1;
  for (; size * 2 <= n; size *= 2) {
    if (n & size && !again) y = joined(w, y, z, p), p = row_by(w, p, size);
    z = doubled(w, z, size);
  }
  y = joined(w, y, z, p);
  return again && n > size ? joined(w, y, z, row_by(w, p, n - size)) : y;
}

static void find_rows(window_rows *w, tp_ix *more) {
  const moving_range *m = w->m;
  tp_node dims = { 0 };
  tp_graph *g = m->mk.g;
  for (int k = 0; k < m->x.node->ndom; k++)
    tp_dom_add(g, &dims, k == m->r ? tp_ix_sym(w->d) : m->at[k].lo);
  if (w->clip) tp_dom_add(g, &dims, w->clip);
  if (more) tp_dom_add(g, &dims, more);
  w->ndom = dims.ndom;
  w->dom = dims.dom;
}

/* ---- two windows side by side ---- */

static tp_ix *row_at(const moving_range *m, tp_ix *s) { return tp_ix_add(tp_ix_sym(m->c), s); }

/* Does row c + s surely lie on the inner side of that end? True as well if no row lies beyond it
 * there. */
static bool reaches(const moving_range *m, tp_ix *s, bool upper) {
  tp_ix *p = row_at(m, s), *end = upper ? m->H : m->L;
  return s == (upper ? m->l : m->h) || !end ||
      is_surely(m, upper ? tp_ix_sub(end, p) : tp_ix_sub(p, end));
}

/* A window as two that meet at row c + s: c + l .. c + s, clipped below, and c + s .. c + h,
 * clipped above, with so many rows before and after, which may be numbers. */
typedef struct window_pair {
  tp_ix *s, *before, *after;
  bool numbers;
} window_pair;

/* Is n never below 0, at least where the window has more than a few rows if only the call says how
 * many? */
static bool never_below(const moving_range *m, tp_ix *n) {
  tp_ictx *ix = m->mk.g->ix;
  if (is_surely(m, n)) return true;
  if (tp_ix_is_const(tp_ix_sub(m->h, m->l), &(int64_t){ 0 })) return false;
  tp_ix *below = tp_ix_both(tp_window_is_long(m), tp_ix_cmp(TP_LT, n, tp_ix_const(ix, 0)));
  tp_set *none =
      tp_set_and(tp_set_cond(ix, m->ndom, m->dom, below), tp_set_box(ix, m->ndom, m->dom));
  bool never = tp_set_is_empty(ix, none);
  tp_set_free(none);
  return never;
}

static bool pairs_at(const moving_range *m, tp_ix *s, window_pair *pair) {
  *pair = (window_pair){ s, tp_ix_sub(s, m->l), tp_ix_sub(m->h, s), true };
  bool one = s == m->l || s == m->h;
  return (one || (never_below(m, pair->before) && never_below(m, pair->after))) &&
      reaches(m, s, false) && reaches(m, s, true);
}

/* Are counts that are numbers few enough that doubling pays and, if both are, more than two? */
static bool is_count(window_pair *pair) {
  int64_t before = 0, after = 0;
  pair->numbers = tp_ix_is_const(pair->before, &before) & tp_ix_is_const(pair->after, &after);
  return before <= TP_TUNE_WINDOW && after <= TP_TUNE_WINDOW &&
      (!pair->numbers ||
          (before >= 0 && after >= 0 && before + after >= 2 && before + after <= TP_TUNE_WINDOW));
}

static bool find_pair(const moving_range *m, window_pair *pair) {
  return m->l && m->h &&
      (pairs_at(m, m->h, pair) || pairs_at(m, m->l, pair) ||
          pairs_at(m, tp_ix_const(m->mk.g->ix, 0), pair)) &&
      is_count(pair);
}

bool tp_is_window(const moving_range *m) {
  tp_sym *d = m->x.node->dom[m->r];
  window_pair pair;
  return tp_is_small(tp_outof(m->x)) && find_pair(m, &pair) &&
      (d == m->c || !tp_dom_has(m->ndom, m->dom, d));
}

/* ---- windows whose number of rows the call says ---- */

/* The row before which no window has a row; NULL: it is the first row that exists. */
static tp_ix *first_row(const moving_range *m) {
  tp_ix *first = m->L ? m->L : m->l;
  return is_surely(m, tp_ix_neg(first)) ? NULL : first;
}

/* y, or no rows where there are none. */
static partial where_any(const moving_range *m, tp_ix *lo, tp_ix *hi, partial y) {
  return tp_partial_either(m, m->ndom, m->dom, tp_ix_cmp(TP_LT, lo, hi), y, tp_partial_none(m));
}

/* Is x made point by point of what the call is given? Then all of it may be asked for at once. */
static bool is_made_of_inputs(const moving_range *m) {
  const tp_graph *g = m->mk.g;
  const bool *seen = tp_moving_made_of(m);
  for (int i = 0; i < g->nodes.n; i++) {
    tp_op op = g->nodes.v[i]->op;
    bool given = op == TP_OP_READ || op == TP_OP_INPUT || op == TP_OP_CONST;
    if (seen[i] && !given && (tp_ops[op].cls == TP_CLS_TIME || tp_ops[op].batch == TP_BATCH_X))
      return false;
  }
  return true;
}

/* Rows from s on, up to the clip: the rest of the window at the end of the dim. It is a suffix,
 * unless all of x would have to be kept for it. */
static partial last_rows(const window_rows *w, tp_ix *s) {
  tp_ix *at = row_at(w->m, s);
  if (!is_made_of_inputs(w->m))
    return where_any(w->m, at, w->clip, tp_moving_through(w->m, at, w->clip));
  moving_range rest = tp_moving_over(w->m, at, w->clip);
  rest.l = s, rest.H = w->clip, rest.L = rest.h = NULL;
  return tp_moving_reduced(&rest);
}

/* Adds to y the branch for at most `many` rows; other branches follow. */
static bool few_branch(const moving_range *m, partial y, tp_ix *n, int64_t many, partial few) {
  return tp_partial_branch(m, y, tp_ix_cmp(TP_LE, n, tp_ix_const(m->mk.g->ix, many)), few);
}

/* Adds to y the n rows of the window that lie before row c + s (way -1), or from there on; n is
 * above 1. */
static bool ring_branches(const window_rows *w, tp_ix *s, tp_ix *n, partial y) {
  const moving_range *m = w->m;
  tp_ix *at = row_at(m, s), *end = w->way < 0 ? at : tp_ix_add(at, n), *last = tp_ix_addc(end, -1);
  window_rows up = { .m = m, .d = w->d, .way = -1, .clip = first_row(m) };
  find_rows(&up, n);
  if (w->way > 0 && w->clip &&
      !tp_partial_branch(m, y, tp_ix_cmp(TP_GT, end, w->clip), last_rows(w, s)))
    return false;
  if (w->way < 0 && !surely_inside(w, last) &&
      !tp_partial_branch(m, y, tp_ix_cmp(TP_LT, last, w->clip), tp_partial_none(m)))
    return false;
  return tp_partial_branch(m, y, NULL, window_at(&up, tp_two_stacks(&up, n), last));
}

/* The rows of the window that lie before row c + pair->s (way -1), or from there on. */
static partial some_rows(const moving_range *m, int way, const window_pair *pair) {
  int64_t count;
  tp_ix *n = way < 0 ? pair->before : pair->after, *at = row_at(m, pair->s);
  window_rows w = { .m = m, .d = m->x.node->dom[m->r], .way = way, .clip = way < 0 ? m->L : m->H };
  if (tp_ix_is_const(n, &count)) {
    find_rows(&w, NULL);
    return rows_from(&w, way < 0 ? tp_ix_addc(at, -1) : at, count);
  }
  tp_ix *lo = way < 0 ? m->at[m->r].lo : at, *hi = way < 0 ? at : m->at[m->r].hi;
  partial y = tp_partial_declared(m, m->ndom, m->dom),
          one = where_any(m, lo, hi, tp_partial_row(m, lo));
  return few_branch(m, y, n, 1, one) && ring_branches(&w, pair->s, n, y) ? y : tp_no_partial;
}

tp_ix *tp_window_is_long(const moving_range *m) {
  tp_ictx *ix = m->mk.g->ix;
  return tp_ix_cmp(TP_GT, tp_ix_sub(m->h, m->l), tp_ix_const(ix, TP_TUNE_WINDOW_FEW));
}

bool tp_takes_ring(const moving_range *m) {
  window_pair pair;
  return find_pair(m, &pair) && !pair.numbers;
}

moving_range tp_moving_all(const moving_range *m) {
  tp_ix *zero = mk_int(m->mk, 0), *first = first_row(m);
  return tp_moving_over(m, first ? tp_ix_max(zero, first) : zero, m->at[m->r].hi);
}

/* Few rows of a state of one part are gone through, as without this pass; for few rows of several
 * parts the caller does not read the result. */
static partial few_or_many(
    const moving_range *m, const window_pair *pair, bool before, bool after) {
  moving_range few = *m;
  few.dtype = tp_dtypeof(m->x);
  partial y = tp_partial_declared(&few, m->ndom, m->dom);
  window_rows w = {
    .m = m, .d = m->x.node->dom[m->r], .way = before ? -1 : 1, .clip = before ? m->L : m->H
  };
  if (m->kind == MONOID_RED &&
      !few_branch(m, y, tp_ix_sub(m->h, m->l), TP_TUNE_WINDOW_FEW,
          tp_moving_through(&few, m->at[m->r].lo, m->at[m->r].hi)))
    return tp_no_partial;
  bool ok = before && after ? tp_partial_branch(m, y, NULL,
                                  tp_partial_join(m, some_rows(m, -1, pair), some_rows(m, 1, pair)))
                            : ring_branches(&w, pair->s, before ? pair->before : pair->after, y);
  return ok ? y : tp_no_partial;
}

partial tp_window_reduced(const moving_range *m) {
  window_pair pair;
  if (!find_pair(m, &pair)) return tp_no_partial;
  bool before = !tp_is_number(pair.before, 0), after = !tp_is_number(pair.after, 0);
  if (!pair.numbers) return few_or_many(m, &pair, before, after);
  if (!before || !after) return some_rows(m, before ? -1 : 1, &pair);
  return tp_partial_join(m, some_rows(m, -1, &pair), some_rows(m, 1, &pair));
}
