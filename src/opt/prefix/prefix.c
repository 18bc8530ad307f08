/* prefix: turns a reduction over a moving range into a recurrence.
 *
 *   grows:    y[c] = red(x[L .. c+h])  =>  y[0] = red(x[L .. h]), y[c] = red(y[c-1], x[c+h-1])
 *   shrinks:  y[c] = red(x[c+l .. H])  =>  y[C-1] = red(x[C-1+l .. H]), y[c] = red(x[c+l], y[c+1])
 *   slides:   sliding_window.c
 *
 * A recurrence reads only elements that the range holds, so the needed points of x stay the same
 * and no point waits for anything new: a program that had an order still has one. */
#include "opt/prefix/prefix.h"

/* ---- what moves, and how ---- */

/* The max, or min, in e that mentions c and occurs once: e is that plus rest. NULL: there is
 * none. */
static tp_ix *clipping(tp_ix *e, tp_sym *c, tp_ixkind kind, tp_ix **rest) {
  tp_ixs atoms;
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    if (tp_ix_term(e, i, &atoms) != 1 || tp_ix_coef(e, i) != 1 || tp_ix_kind(atoms[0]) != kind ||
        !tp_ix_mentions(atoms[0], c))
      continue;
    *rest = tp_ix_sub(e, atoms[0]);
    return tp_ix_mentions(*rest, c) ? NULL : atoms[0];
  }
  return NULL;
}

/* e = max(clip, c + off), or the least of them, or one of the two alone. */
static bool split_end(tp_ix *e, tp_sym *c, bool upper, tp_ix **off, tp_ix **clip) {
  int64_t k;
  tp_ix *rest, *of;
  *off = *clip = NULL;
  if (!tp_ix_mentions(e, c)) {
    *clip = e;
    return true;
  }
  if (tp_ix_linear_in(e, c, &k, off)) return k == 1;
  *off = NULL;
  of = clipping(e, c, upper ? TP_IX_MIN : TP_IX_MAX, &rest);
  for (int i = 0; of && i < tp_ix_narg(of); i++) {
    tp_ix *a = tp_ix_add(tp_ix_arg(of, i), rest);
    if (!tp_ix_mentions(a, c))
      *clip = !*clip ? a : upper ? tp_ix_min(*clip, a) : tp_ix_max(*clip, a);
    else if (*off || !tp_ix_linear_in(a, c, &k, off) || k != 1) return false;
  }
  return *off;
}

/* Finds the value's dims: those of x along which nothing is reduced, as `at` has them. */
static void find_dom(moving_range *m) {
  tp_node dims = { 0 };
  const tp_node *x = m->x.node;
  for (int k = 0; k < x->ndom; k++) {
    tp_dom_add(m->mk.g, &dims, m->at[k].lo);
    if (m->at[k].range) tp_dom_add(m->mk.g, &dims, m->at[k].hi);
  }
  m->ndom = dims.ndom;
  m->dom = dims.dom;
}

/* An end, without what clips it only where the range is empty anyway: an upper one of max(a, c + h)
 * with a never above `other`, a lower one of min(a, c + l) with a never below it. */
static tp_ix *loosened(const moving_range *m, tp_ix *e, tp_ix *other, bool upper) {
  tp_ix *rest, *left = NULL, *of = clipping(e, m->c, upper ? TP_IX_MAX : TP_IX_MIN, &rest);
  for (int i = 0; of && i < tp_ix_narg(of); i++) {
    tp_ix *a = tp_ix_add(tp_ix_arg(of, i), rest);
    if (!tp_ix_mentions(a, m->c) &&
        tp_ix_prove_ge0(upper ? tp_ix_sub(other, a) : tp_ix_sub(a, other), m->ndom, m->dom))
      continue;
    left = !left ? a : upper ? tp_ix_max(left, a) : tp_ix_min(left, a);
  }
  return left ? left : e;
}

static bool moves_along(moving_range *m, tp_sym *c) {
  const tp_graph *g = m->mk.g;
  const tp_at *at = &m->at[m->r];
  const tp_node *x = m->x.node;
  for (int k = 0; k < x->ndom; k++)
    if (k != m->r && (m->at[k].range || tp_ix_mentions(m->at[k].lo, c))) return false;
  for (int a = 0; a < tp_rankof(m->x); a++)
    if (tp_ix_mentions(mk_extent(m->x, a), c) || tp_ix_mentions(mk_extent(m->x, a), x->dom[m->r]))
      return false;
  m->c = c;
  if (!c->bound || tp_stop_of(g, c) || tp_mentions_end(g, at->lo) || tp_mentions_end(g, at->hi))
    return false;
  tp_ix *lo = tp_ix_simplify(at->lo, m->ndom, m->dom),
        *hi = tp_ix_simplify(at->hi, m->ndom, m->dom);
  return split_end(loosened(m, lo, hi, false), c, false, &m->l, &m->L) &&
      split_end(loosened(m, hi, lo, true), c, true, &m->h, &m->H) && (m->l || m->h);
}

bool tp_moving_range(moving_range *m) {
  const tp_graph *g = m->mk.g;
  if (tp_stop_of(g, m->x.node->dom[m->r])) return false;
  find_dom(m);
  for (int i = 0; i < m->ndom; i++)
    if (moves_along(m, m->dom[i])) return !m->l || !m->h || tp_is_window(m);
  return false;
}

/* ---- pieces ---- */

static tp_ix *c_at(const moving_range *m, int64_t steps) {
  return tp_ix_addc(tp_ix_sym(m->c), steps);
}
static tp_ix *plus(const moving_range *m, tp_ix *off, int64_t steps) {
  return tp_ix_add(c_at(m, steps), off);
}

const bool *tp_moving_made_of(const moving_range *m) {
  tp_graph *g = m->mk.g;
  bool *seen = TP_NEWN(&g->arena, bool, g->nodes.n);
  tp_reach(&g->arena, m->x.node, seen);
  if (m->weight.node) tp_reach(&g->arena, m->weight.node, seen);
  return seen;
}

partial tp_moving_through(const moving_range *m, tp_ix *lo, tp_ix *hi) {
  tp_graph *g = m->mk.g;
  const tp_at *at = tp_moving_over(m, lo, hi).at;
  tp_ix *n = tp_ix_extent(lo, hi, m->ndom, m->dom);
  if (tp_is_number(n, 0)) return tp_partial_none(m);
  if (tp_is_number(n, 1)) return tp_partial_row(m, lo);
  tp_val x = mk_cast(m->mk, m->x, m->dtype),
         y = m->open
      ? mk_reduce(m->mk, tp_red_op(m->red), tp_read(g, x, at, m->mk.err), 1, &(int){ 0 }, false)
      : tp_gathered(m->mk, m->red, x, at, m->ndom, m->dom);
  return tp_partial_whole(m, y, at);
}

/* The whole reduction at one value of c. */
static partial reduced_at(const moving_range *m, tp_ix *v) {
  tp_graph *g = m->mk.g;
  tp_sym **left = TP_NEWN(&g->arena, tp_sym *, m->ndom + 1);
  moving_range there = *m;
  there.ndom = 0, there.dom = left;
  for (int i = 0; i < m->ndom; i++)
    if (m->dom[i] != m->c) left[there.ndom++] = m->dom[i];
  return tp_moving_through(
      &there, tp_ix_subst(m->at[m->r].lo, 1, &m->c, &v), tp_ix_subst(m->at[m->r].hi, 1, &m->c, &v));
}

/* ---- the recurrence ---- */

/* Adds a branch for the empty range, which has no points if the range is never empty. */
static bool empty_branch(const moving_range *m, partial s, partial none) {
  const tp_at *at = &m->at[m->r];
  if (tp_ix_prove_ge0(tp_ix_addc(tp_ix_sub(at->hi, at->lo), -1), m->ndom, m->dom)) return true;
  return tp_partial_branch(m, s, tp_ix_cmp(TP_LE, at->hi, at->lo), none);
}

partial tp_moving_reduced(const moving_range *m) {
  if (m->l && m->h) return tp_window_reduced(m);
  tp_ictx *ix = m->mk.g->ix;
  bool grows = m->h;
  tp_ix *first = grows ? tp_ix_const(ix, 0) : tp_ix_addc(tp_ix_sym(m->c->bound), -1),
        *p = grows ? plus(m, m->h, -1) : plus(m, m->l, 0), *clip = grows ? m->H : m->L;
  partial s = tp_partial_declared(m, m->ndom, m->dom), base = reduced_at(m, first),
          before = tp_partial_at(m, s, m->c, c_at(m, grows ? -1 : 1)), row = tp_partial_row(m, p),
          next = grows ? tp_partial_join(m, before, row) : tp_partial_join(m, row, before);
  bool ok = s.n && empty_branch(m, s, tp_partial_none(m)) &&
      tp_partial_branch(m, s, tp_ix_cmp(TP_EQ, c_at(m, 0), first), base) &&
      (!clip || tp_partial_branch(m, s, tp_ix_cmp(grows ? TP_GE : TP_LT, p, clip), before)) &&
      tp_partial_branch(m, s, NULL, next);
  return ok ? s : tp_no_partial;
}
