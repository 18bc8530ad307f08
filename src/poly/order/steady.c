/* steady: an innermost loop with conditions on its variable becomes three, of which the middle one
 * has none.
 *
 *   for t = 0 .. T { if t >= 1 { a }  b  if t <= T - 3 { c } }
 *   =>  for t = 0 .. min(T, 1) { the same }
 *       for t = min(T, 1) .. max(min(T, 1), T - 2) { a b c }  for t = max(..) .. T { the same }
 *
 * isl makes a loop of each range of rows where there are few ranges; this is for the others. The
 * three ranges are disjoint and make up the loop's, in its order. A condition is decided in the
 * middle one if it changes its truth near an end of the loop, or if it holds away from them. */
#include "poly/schedule_tree.h"

enum { STEADY_NEAR = 64, STEADY_RUNS = 48, STEADY_ELEMENTS = 16 };

typedef struct {
  tp_sched *S;
  const tp_tree *loop;
  tp_ix *first, *last; /* the middle range, from first to before last; NULL: the loop's end */
} steady;

/* x and y, or an argument of x if that is `kind` of several, are a small number apart. */
static bool are_near(tp_ix *x, tp_ixkind kind, tp_ix *y) {
  int64_t by;
  if (tp_ix_is_const(tp_ix_sub(x, y), &by)) return by >= -STEADY_NEAR && by <= STEADY_NEAR;
  bool any = false;
  for (int i = 0; tp_ix_kind(x) == kind && i < tp_ix_narg(x); i++)
    any |= tp_ix_is_const(tp_ix_sub(tp_ix_arg(x, i), y), &by) && by >= -STEADY_NEAR &&
        by <= STEADY_NEAR;
  return any;
}

/* The literal e >= 0 or e = 0 changes from below *at on, and, if it is e = 0, again behind it.
 * False: it does not mention the variable, or in another way. *up: e grows with the variable. */
static bool changes_at(const steady *x, tp_ix *c, tp_ix **at, bool *up) {
  tp_ix *rest;
  int64_t by;
  bool ge = tp_ix_kind(c) == TP_IX_GE0;
  if ((!ge && tp_ix_kind(c) != TP_IX_EQ0) || !tp_ix_mentions(c, x->loop->var)) return false;
  if (!tp_ix_linear_in(tp_ix_arg(c, 0), x->loop->var, &by, &rest) || (by != 1 && by != -1) ||
      tp_ix_mentions(rest, x->loop->var))
    return false;
  *up = by == 1;
  *at = by == 1 ? tp_ix_neg(rest) : ge ? tp_ix_addc(rest, 1) : rest;
  return true;
}

/* 1: the literal changes at the beginning of the loop, -1: at its end, 0: it is left as it is. */
static int end_of_change(const steady *x, tp_ix *c, tp_ix *at, bool up) {
  if (are_near(x->loop->lo, TP_IX_MAX, at)) return 1;
  if (are_near(x->loop->hi, TP_IX_MIN, at)) return -1;
  return tp_ix_kind(c) == TP_IX_EQ0 ? 0 : up ? 1 : -1;
}

/* Moves the ends of the middle range so that c is decided there. */
static void find_range(steady *x, tp_ix *c) {
  tp_ix *at;
  bool up, eq = tp_ix_kind(c) == TP_IX_EQ0;
  if (changes_at(x, c, &at, &up)) {
    int end = end_of_change(x, c, at, up);
    if (end > 0) {
      at = eq ? tp_ix_addc(at, 1) : at;
      x->first = x->first ? tp_ix_max(x->first, at) : at;
    } else if (end < 0) x->last = x->last ? tp_ix_min(x->last, at) : at;
  } else if (tp_ix_kind(c) == TP_IX_AND || tp_ix_kind(c) == TP_IX_OR || tp_ix_kind(c) == TP_IX_NOT)
    for (int i = 0; i < tp_ix_narg(c); i++) find_range(x, tp_ix_arg(c, i));
}

/* c in the middle range. */
static tp_ix *decided(const steady *x, tp_ix *c) {
  tp_ictx *ix = x->S->ix;
  tp_ix *at, *r;
  bool up;
  if (changes_at(x, c, &at, &up)) {
    int end = end_of_change(x, c, at, up);
    return !end ? c : tp_ix_bool(ix, tp_ix_kind(c) == TP_IX_GE0 && up == (end > 0));
  }
  if (tp_ix_kind(c) == TP_IX_NOT) return tp_ix_not(decided(x, tp_ix_arg(c, 0)));
  if (tp_ix_kind(c) != TP_IX_AND && tp_ix_kind(c) != TP_IX_OR) return c;
  r = decided(x, tp_ix_arg(c, 0));
  for (int i = 1; i < tp_ix_narg(c); i++) {
    tp_ix *a = decided(x, tp_ix_arg(c, i));
    r = tp_ix_kind(c) == TP_IX_AND ? tp_ix_and(r, a) : tp_ix_or(r, a);
  }
  return r;
}

/* Does it take so little that a condition counts? */
static bool is_short(const tp_poly *p, const tp_stmt *s) {
  bool is = !s->effect && !s->vec;
  for (int i = 0; i < s->nnode && is; i++)
    is = tp_ops[s->node[i]->op].batch == TP_BATCH_E || tp_ops[s->node[i]->op].batch == TP_BATCH_V;
  for (int a = 0; a < s->nacc && is; a++) {
    const tp_arr *r = p->arrs.v[s->acc[a].arr];
    is = s->acc[a].kind == TP_ACC_READ || tp_elements(r->rank, r->shape) <= STEADY_ELEMENTS;
  }
  return is;
}

/* Looks at the conditions inside t. False: there is a loop inside, or what is inside is long. */
static bool look_inside(steady *x, const tp_tree *t, int *runs) {
  if (t->kind == TP_T_FOR) return false;
  if (t->kind == TP_T_RUN &&
      (++*runs > STEADY_RUNS || !is_short(x->S->p, x->S->p->stmts.v[t->stmt])))
    return false;
  if (t->kind == TP_T_IF) find_range(x, t->cond);
  for (int i = 0; i < t->n; i++)
    if (!look_inside(x, t->kid[i], runs)) return false;
  return true;
}

/* A copy of t with another variable, as it is in the middle range or as it is. */
static tp_tree *with_variable(const steady *x, const tp_tree *t, tp_sym *var, bool middle) {
  tp_sym *from = x->loop->var;
  tp_ix *to = tp_ix_sym(var), *cond = t->cond;
  if (t->kind == TP_T_IF && middle) cond = decided(x, cond);
  if (cond && (tp_ix_kind(cond) == TP_IX_TRUE || tp_ix_kind(cond) == TP_IX_FALSE)) {
    int k = tp_ix_kind(cond) == TP_IX_FALSE;
    return k < t->n ? with_variable(x, t->kid[k], var, middle) : tp_ast_new_tree(x->S, TP_T_SEQ, 0);
  }
  tp_tree *r = tp_ast_new_tree(x->S, t->kind, t->n);
  r->stmt = t->stmt;
  r->cond = cond ? tp_ix_subst(cond, 1, &from, &to) : NULL;
  if (t->arg) {
    int n = x->S->p->stmts.v[t->stmt]->ndim;
    r->arg = TP_NEWN(x->S->a, tp_ix *, n);
    for (int d = 0; d < n; d++)
      r->arg[d] = t->arg[d] ? tp_ix_subst(t->arg[d], 1, &from, &to) : NULL;
  }
  for (int i = 0; i < t->n; i++) r->kid[i] = with_variable(x, t->kid[i], var, middle);
  return r;
}

static tp_tree *part_of(const steady *x, tp_ix *lo, tp_ix *hi, bool middle) {
  tp_tree *t = tp_dup(x->S->a, x->loop, sizeof *t);
  t->lo = lo, t->hi = hi;
  t->var = tp_sym_var(x->S->ix, x->loop->label ? x->loop->label->name : "c");
  t->kid = TP_NEWN(x->S->a, tp_tree *, 2);
  t->kid[0] = with_variable(x, x->loop->kid[0], t->var, middle);
  return t;
}

tp_tree *tp_steady_loops(tp_sched *S, tp_tree *t) {
  steady x = { S, t, NULL, NULL };
  int runs = 0;
  for (int i = 0; i < t->n; i++) t->kid[i] = tp_steady_loops(S, t->kid[i]);
  if (t->kind != TP_T_FOR || t->block || t->cond || (t->step != 1 && t->step != -1) ||
      S->p->ends.n || !look_inside(&x, t->kid[0], &runs) || (!x.first && !x.last))
    return t;
  tp_ix *a = x.first ? tp_ix_min(t->hi, tp_ix_max(t->lo, x.first)) : t->lo,
        *b = x.last ? tp_ix_max(a, tp_ix_min(t->hi, x.last)) : t->hi;
  tp_tree *r = tp_ast_new_tree(S, TP_T_SEQ, 0), *part[3];
  r->kid = TP_NEWN(S->a, tp_tree *, 4);
  part[0] = x.first ? part_of(&x, t->lo, a, false) : NULL;
  part[1] = part_of(&x, a, b, true);
  part[2] = x.last ? part_of(&x, b, t->hi, false) : NULL;
  for (int i = 0; i < 3; i++)
    if (part[t->step > 0 ? i : 2 - i]) r->kid[r->n++] = part[t->step > 0 ? i : 2 - i];
  return r;
}
