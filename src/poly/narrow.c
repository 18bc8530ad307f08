/* narrow: loops of which everything inside is guarded end where the guards do.
 *
 *   for t < T { if t + 2 <= E { a }  if t + 1 <= E { b } }   =>   for t < min(T, E) { if t + 2 <= E { a }  b }
 *
 * The end of such a loop is looked at in each iteration, so the iteration in which E is found out is the last and is a whole one: E only ever becomes t + 1 there.
 * A guard that says just what the loop's end says is left out: until the iteration is over, E is not less than it was asked to be. */
#include "poly/sched.h"

enum { MAXEND = 4 };
typedef struct { int n; const tp_ix *v[MAXEND]; } tops;         /* exclusive ends of the loop's variable: it may stop where all of them have come */

static bool add(tops *t, const tp_ix *e) {
  for (int i = 0; i < t->n; i++)
    if (t->v[i] == e) return true;
  if (t->n == MAXEND) return false;
  t->v[t->n++] = e;
  return true;
}

static bool mentions_any(const tp_ix *e, int n, const tp_sym *const *v) {
  for (int i = 0; i < n; i++)
    if (tp_ix_mentions(e, v[i])) return true;
  return false;
}

/* The exclusive end of `var` that part k of the guard asks for; what depends on loops inside is the greatest. NULL: it asks none. False: no such part. */
static bool top_of(tp_poly *p, const tp_ix *cond, int k, const tp_sym *var, int nin, const tp_sym *const *inside, const tp_ix **top) {
  tp_ictx *c = p->g->ix;
  const tp_sym *end;
  const tp_ix *least, *rest;
  int64_t coef;
  *top = NULL;
  if (!tp_guard_part(p, cond, k, &end, &least)) return false;
  if (!end || !least || !tp_ix_linear_in(c, least, var, &coef, &rest) || coef != 1 || mentions_any(rest, nin, inside)) return true;
  const tp_ix *e = tp_move_ends(p, tp_ix_sym(c, end), nin, inside, NULL, ~0u);
  if (tp_depends(p, e, var)) e = tp_move_ends(p, e, 1, &var, NULL, ~0u);
  *top = tp_ix_addc(c, tp_ix_sub(c, e, rest), 1);               /* end >= var + rest  <=>  var < end - rest + 1 */
  return true;
}

/* All that runs inside t asks for an end of var: they are put into `all`. */
static bool gather(tp_poly *p, const tp_tree *t, const tp_sym *var, int nin, const tp_sym **inside, tops *all) {
  const tp_ix *top;
  if (t->kind == TP_T_RUN) return false;
  if (t->kind == TP_T_FOR) inside[nin++] = t->var;
  if (t->kind == TP_T_IF && t->n == 1)
    for (int k = 0; top_of(p, t->cond, k, var, nin, inside, &top); k++)
      if (top) return add(all, top);
  for (int i = 0; i < t->n; i++)
    if (!gather(p, t->kid[i], var, nin, inside, all)) return false;
  return nin < 30;
}

/* Without those guards that are just var < top. */
static tp_tree *without(tp_poly *p, tp_tree *t, const tp_sym *var, const tp_ix *top) {
  const tp_ix *x;
  if (t->kind == TP_T_IF && t->n == 1 && top_of(p, t->cond, 0, var, 0, NULL, &x) && x == top && tp_ix_kind(t->cond) != TP_IX_AND) return without(p, t->kid[0], var, top);
  for (int i = 0; i < t->n; i++) t->kid[i] = without(p, t->kid[i], var, top);
  return t;
}

static void narrow(tp_poly *p, tp_tree *t) {
  const tp_sym *inside[32];
  tops all = { 0 };
  if (!gather(p, t->kid[0], t->var, 0, inside, &all) || !all.n) return;
  const tp_ix *top = all.v[0];
  for (int i = 1; i < all.n; i++) top = tp_ix_max(p->g->ix, top, all.v[i]);
  t->hi = tp_ix_min(p->g->ix, t->hi, top);
  t->kid[0] = without(p, t->kid[0], t->var, top);
}

tp_tree *tp_stop_loops(tp_poly *p, tp_tree *t) {
  if (!p->ends.n) return t;
  for (int i = 0; i < t->n; i++) t->kid[i] = tp_stop_loops(p, t->kid[i]);
  if (t->kind == TP_T_FOR) narrow(p, t);
  return t;
}
