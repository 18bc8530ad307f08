/* walk: chooses the order in which a LOOP goes through its axes.
 *
 * The axis along which walking is cheapest is innermost, the others go from large steps to small
 * ones, and neighbours that lie one within the other in every window are one. Only the plan decides
 * this, with bounds of a usual size, so that every tier makes a fold in the same order:
 *
 * Let the folded axes be a, b, .. in this order. If the innermost axis is kept, each element is
 * folded one by one, b within a. If it is folded, each of its rows goes by TP_FOLD_LANES partial
 * results, which are joined in order after every TP_FOLD_PART elements; the rest of a row, which
 * fills no lanes, is folded one by one; rows follow each other. Axes that were joined are one row.
 * Results do not depend on the order of kept axes. */
#include "plan/plan.h"

enum { USUAL = 1000 }; /* what a bound counts as */

/* Strides by axis, where loops have just begun: only comparisons of them matter. */
typedef int64_t axis_numbers[TP_MAXRANK];
/* first: the first of the results' windows */
typedef struct {
  tp_ictx *ix;
  tp_nest *l;
  int first;
  axis_numbers n, *s;
} walker;

void tp_nest_swap(tp_nest *l, int i, int k) {
  tp_axis t = l->ax[i];
  l->ax[i] = l->ax[k], l->ax[k] = t;
  for (int w = 0; w < l->nw; w++) {
    tp_ix *e = l->stride[w][i];
    l->stride[w][i] = l->stride[w][k], l->stride[w][k] = e;
  }
}

static void swap_numbers(int64_t *v, int i, int k) {
  int64_t n = v[i];
  v[i] = v[k], v[k] = n;
}

static void swap_axes(walker *w, int i, int k) {
  tp_nest_swap(w->l, i, k);
  swap_numbers(w->n, i, k);
  for (int a = 0; a < w->l->nw; a++) swap_numbers(w->s[a], i, k);
}

static void usual_sizes(walker *w, tp_arena *a) {
  int n = tp_nsym(w->ix);
  int64_t *env = TP_NEWN(a, int64_t, n);
  for (int i = 0; i < n; i++) env[i] = tp_sym_at(w->ix, i)->kind == TP_SYM_BOUND ? USUAL : 1;
  /* a thread goes through its share as through the whole */
  for (int i = 0; i < n; i++)
    if (tp_sym_at(w->ix, i)->whole) env[i] = tp_ix_evalq(tp_sym_at(w->ix, i)->whole, env);
  for (int k = 0; k < w->l->nax; k++) {
    w->n[k] = TP_MAX(tp_ix_evalq(w->l->ax[k].n, env), 1);
    for (int i = 0; i < w->l->nw; i++) {
      int64_t s = tp_ix_evalq(w->l->stride[i][k], env);
      w->s[i][k] = s < 0 ? -s : s;
    }
  }
}

/* Cache lines, in elements, that a walk along the axis goes through: each operand is gone through
 * once, a result is read and written. */
static double walk_cost(const walker *w, int a) {
  double sum = 0, all = 1;
  for (int k = 0; k < w->l->nax; k++) all *= (double)w->n[k];
  for (int i = 0; i < w->l->nw; i++) {
    double size = i >= w->first ? 2 : 1;
    for (int k = 0; k < w->l->nax; k++) size *= w->s[i][k] ? (double)w->n[k] : 1;
    sum += size * (double)TP_MIN(w->s[i][a], TP_TUNE_WALK_LINE);
  }
  return sum + all * TP_TUNE_WALK_ROW / (double)w->n[a];
}

/* Does axis a take smaller steps than b in the results or, where they are equal, in the
 * operands? */
static bool smaller_steps(const walker *w, int a, int b) {
  for (int i = 0; i < w->l->nw; i++) {
    const int64_t *s = w->s[(i + w->first) % w->l->nw];
    if (s[a] != s[b]) return s[a] < s[b];
  }
  return false;
}

static void order_axes(walker *w) {
  int last = w->l->nax - 1, best = last;
  for (int i = 1; i <= last; i++)
    for (int k = i; k > 0 && smaller_steps(w, k - 1, k); k--) swap_axes(w, k - 1, k);
  for (int i = last - 1; i >= 0; i--)
    if (walk_cost(w, i) < walk_cost(w, best)) best = i;
  for (int i = best; i < last; i++) swap_axes(w, i, i + 1);
}

/* Does a number of the body mention the axis, or a window go round a ring along it? */
static bool is_apart(const tp_region *r, const tp_axis *a) {
  bool any = false;
  for (int i = 0; i < a->nof; i++) any |= tp_axis_is_named(r, a->of[i]);
  TP_WINDOWS (x, r) any |= x->wrap == a->of[0];
  return any;
}

/* Does axis i lie around axis i + 1 in every window? */
static bool is_around(const walker *w, const tp_region *r, int i) {
  const tp_axis *a = &w->l->ax[i], *b = &w->l->ax[i + 1];
  bool ok = a->red == b->red && !is_apart(r, a) && !is_apart(r, b);
  for (int k = 0; k < w->l->nw && ok; k++)
    ok = w->l->stride[k][i] == tp_ix_mul(w->l->stride[k][i + 1], b->n);
  return ok;
}

static void merge_axes(walker *w, const tp_region *r) {
  tp_nest *l = w->l;
  for (int i = l->nax - 2; i >= 0; i--) {
    if (!is_around(w, r, i)) continue;
    tp_axis *a = &l->ax[i], *b = &l->ax[i + 1];
    a->n = tp_ix_mul(a->n, b->n);
    memcpy(a->of + a->nof, b->of, sizeof *b->of * (size_t)b->nof);
    a->nof += b->nof;
    l->nax--;
    for (int k = 0; k < l->nw; k++)
      memmove(&l->stride[k][i], &l->stride[k][i + 1], sizeof *l->stride[k] * (size_t)(l->nax - i));
    memmove(b, b + 1, sizeof *b * (size_t)(l->nax - i - 1));
  }
}

void tp_plan_walk(tp_ictx *ix, tp_arena *a, const tp_region *r, tp_nest *l) {
  tp_ix *zero = tp_ix_const(ix, 0);
  *l = (tp_nest){ .nw = r->nin + r->nout };
  l->stride = TP_NEWN(a, tp_axis_strides, l->nw + 1);
  for (int i = 0; i < r->nlead; i++) {
    if (tp_is_number(r->lead[i], 1)) continue;
    l->ax[l->nax] = (tp_axis){ .n = r->lead[i], .red = r->sums >> i & 1, .nof = 1, .of = { i } };
    for (int k = 0; k < l->nw; k++) {
      const tp_nd *nd = tp_window_at(r, k);
      l->stride[k][l->nax] = nd->buf >= 0 && nd->lead ? nd->lead[i] : zero;
    }
    l->nax++;
  }
  walker w = { .ix = ix, .l = l, .first = r->nin, .s = TP_NEWN(a, axis_numbers, l->nw + 1) };
  usual_sizes(&w, a);
  order_axes(&w);
  merge_axes(&w, r);
}
