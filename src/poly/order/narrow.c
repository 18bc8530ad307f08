/* narrow: a loop whose body is all guarded ends where the guards do.
 *
 *   for t < T { if t + 2 <= E { a }  if t + 1 <= E { b } }   =>   for t < min(T, E) { if t + 2 <= E
 * { a }  b }
 *
 * Each iteration reads the end, so the iteration that finds E out is the last, and whole: E becomes
 * t + 1 there. A guard that equals the loop's end is dropped. */
#include "poly/sched.h"

enum { MAXEND = 4 };
/* exclusive ends of the loop's variable: it may stop where all of them have come */
typedef struct {
  int n;
  tp_ix *v[MAXEND];
} tops;

static bool add_top(tops *t, tp_ix *e) {
  for (int i = 0; i < t->n; i++)
    if (t->v[i] == e) return true;
  if (t->n == MAXEND) return false;
  t->v[t->n++] = e;
  return true;
}

/* The loops between the one at work and the place reached inside. */
typedef struct {
  int n;
  const tp_tree *v[TP_MAXDIM + 2];
} nested;

/* e at the first value of each loop inside, where it is least. */
static tp_ix *at_begin(tp_ix *e, const nested *in) {
  for (int i = in->n - 1; i >= 0; i--) {
    int64_t coef;
    tp_ix *rest;
    if (!tp_ix_mentions(e, in->v[i]->var)) continue;
    if (!tp_ix_linear_in(e, in->v[i]->var, &coef, &rest) || coef < 0) return NULL;
    e = tp_ix_subst(e, 1, &in->v[i]->var, &in->v[i]->lo);
  }
  return e;
}

/* The greatest e over loops inside, and over dim `also`. */
static tp_ix *over_loops(tp_poly *p, tp_ix *e, const nested *in, tp_sym *also) {
  for (int i = 0; i < in->n; i++) e = tp_move_ends(p, e, 1, &in->v[i]->var, NULL, ~0u);
  return tp_depends(p, e, also) ? tp_move_ends(p, e, 1, &also, NULL, ~0u) : e;
}

/* *top := the exclusive end of `var` that part k of the guard asks for, exactly or with other
 * conditions; NULL: none. False: no part k. */
static bool top_of(
    tp_poly *p, tp_ix *cond, int k, tp_sym *var, const nested *in, tp_ix **top, bool *exact) {
  int end;
  tp_ix *least, *rest, *asked;
  int64_t coef;
  *top = NULL;
  if (!tp_guard_part(p, cond, k, &end, &asked)) return false;
  least = end >= 0 ? at_begin(asked, in) : NULL;
  *exact = least && least == asked;
  if (!least || !tp_ix_linear_in(least, var, &coef, &rest) || coef < 1 || tp_ix_mentions(rest, var))
    return true;
  tp_sym *sym = p->ends.v[end].sym;
  tp_ix *e = over_loops(p, tp_ix_sym(sym), in, var);
  *exact &= tp_ix_as_sym(e) == sym;
  *top = tp_ix_addc(tp_ix_fdiv(tp_ix_sub(e, rest), coef),
      1); /* end >= coef*var + rest  <=>  var < floor((end - rest) / coef) + 1 */
  return true;
}

/* Puts the ends of var into `all` that the statements inside t ask for. False: one asks none. */
static bool gather_tops(tp_poly *p, const tp_tree *t, tp_sym *var, nested in, tops *all) {
  tp_ix *top;
  bool exact;
  if (t->kind == TP_T_RUN || in.n == (int)TP_LEN(in.v)) return false;
  if ((t->kind == TP_T_IF && t->n == 1) || (t->kind == TP_T_FOR && t->cond))
    for (int k = 0; top_of(p, t->cond, k, var, &in, &top, &exact); k++)
      if (top) return add_top(all, top);
  if (t->kind == TP_T_FOR) in.v[in.n++] = t;
  for (int i = 0; i < t->n; i++)
    if (!gather_tops(p, t->kid[i], var, in, all)) return false;
  return true;
}

/* cond without those parts that are just var < top; NULL: nothing is left. */
static tp_ix *rest_of(tp_poly *p, tp_ix *cond, tp_sym *var, tp_ix *top) {
  tp_ix *x, *left = NULL;
  const nested none = { 0 };
  bool exact;
  for (int k = 0; top_of(p, cond, k, var, &none, &x, &exact); k++)
    if (!x || !exact || x != top) left = tp_ix_both(left, tp_ix_conjunct(cond, k));
  return left;
}

/* t without those guards that are just var < top. */
static tp_tree *without(tp_poly *p, tp_tree *t, tp_sym *var, tp_ix *top) {
  if (t->kind == TP_T_IF && t->n == 1) {
    tp_ix *left = rest_of(p, t->cond, var, top);
    if (!left) return without(p, t->kid[0], var, top);
    t->cond = left;
  }
  for (int i = 0; i < t->n; i++) t->kid[i] = without(p, t->kid[i], var, top);
  return t;
}

static void narrow(tp_poly *p, tp_tree *t) {
  tops all = { 0 };
  if (!gather_tops(p, t->kid[0], t->var, (nested){ 0 }, &all) || !all.n) return;
  tp_ix *top = all.v[0];
  for (int i = 1; i < all.n; i++) top = tp_ix_max(top, all.v[i]);
  t->hi = tp_ix_min(t->hi, top);
  t->cond = tp_ix_cmp(TP_GT, top, t->lo);
  t->kid[0] = without(p, t->kid[0], t->var, top);
}

tp_tree *tp_stop_loops(tp_poly *p, tp_tree *t) {
  if (!p->ends.n) return t;
  for (int i = 0; i < t->n; i++) t->kid[i] = tp_stop_loops(p, t->kid[i]);
  if (t->kind == TP_T_FOR) narrow(p, t);
  return t;
}
