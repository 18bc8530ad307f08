/* ast: translates isl's AST into a tp_tree. */
#include "poly/schedule_tree.h"
#include <stdlib.h>

const tp_item *tp_band_end(const tp_item *x) {
  while (tp_is_skewed(x) && x->body.n == 1 && tp_is_skewed(x->body.v[0])) x = x->body.v[0];
  return x;
}

/* ---- expressions ---- */

static tp_ix *expr(ast_walk *c, TP_TAKE isl_ast_expr *e);

static tp_ix *bad(ast_walk *c) {
  c->failed = true;
  return tp_ix_const(c->ix, 0);
}

static tp_ix *of_id(ast_walk *c, isl_id *id) {
  for (int i = c->env.n - 1; i >= 0; i--)
    if (c->env.v[i].id == id) return c->env.v[i].val;
  tp_sym *s = isl_id_get_user(id);
  return s ? tp_ix_sym(s) : bad(c);
}

static int64_t const_arg(ast_walk *c, isl_ast_expr *e, int i) {
  int64_t k = 0;
  tp_ix *v = expr(c, isl_ast_expr_op_get_arg(e, i));
  if (tp_ix_is_cond(v) || !tp_ix_is_const(v, &k) || k <= 0) {
    bad(c);
    k = 1;
  }
  return k;
}

static tp_ix *indicator(ast_walk *c, tp_ix *e) {
  tp_ictx *x = c->ix;
  tp_ix *one = tp_ix_const(x, 1), *zero = tp_ix_const(x, 0), *r = one;
  if (!tp_ix_is_cond(e)) return e;
  switch (tp_ix_kind(e)) {
  case TP_IX_TRUE: return one;
  case TP_IX_FALSE: return zero;
  case TP_IX_GE0: return tp_ix_min(one, tp_ix_max(zero, tp_ix_addc(tp_ix_arg(e, 0), 1)));
  case TP_IX_EQ0:
    return tp_ix_max(zero, tp_ix_sub(one, tp_ix_max(tp_ix_arg(e, 0), tp_ix_neg(tp_ix_arg(e, 0)))));
  case TP_IX_NOT: return tp_ix_sub(one, indicator(c, tp_ix_arg(e, 0)));
  case TP_IX_AND:
  case TP_IX_OR: break;
  default: return bad(c);
  }
  bool and = tp_ix_kind(e) == TP_IX_AND;
  for (int i = 0; i < tp_ix_narg(e); i++) {
    tp_ix *a = indicator(c, tp_ix_arg(e, i));
    r = tp_ix_mul(r, and? a : tp_ix_sub(one, a));
  }
  return and? r : tp_ix_sub(one, r);
}

static tp_ix *as_cond(ast_walk *c, tp_ix *e) {
  return tp_ix_is_cond(e) ? e : tp_ix_cmp(TP_NE, e, tp_ix_const(c->ix, 0));
}

static tp_ix *nary(ast_walk *c, isl_ast_expr *e, tp_ix *(*op)(tp_ix *, tp_ix *), bool cond) {
  tp_ix *r = NULL;
  for (int i = 0, n = (int)isl_ast_expr_op_get_n_arg(e); i < n; i++) {
    tp_ix *a = expr(c, isl_ast_expr_op_get_arg(e, i));
    a = cond ? as_cond(c, a) : a;
    r = r ? op(r, a) : a;
  }
  return r ? r : bad(c);
}

static tp_ix *compare_expr(ast_walk *c, isl_ast_expr *e, tp_cmp op) {
  tp_ix *a = expr(c, isl_ast_expr_op_get_arg(e, 0)), *b = expr(c, isl_ast_expr_op_get_arg(e, 1));
  if (tp_ix_is_cond(a) || tp_ix_is_cond(b)) return bad(c);
  return tp_ix_cmp(op, a, b);
}

static tp_ix *choice(ast_walk *c, isl_ast_expr *e) {
  tp_ix *i = as_cond(c, expr(c, isl_ast_expr_op_get_arg(e, 0)));
  tp_ix *a = expr(c, isl_ast_expr_op_get_arg(e, 1)), *b = expr(c, isl_ast_expr_op_get_arg(e, 2));
  if (tp_ix_is_cond(a) && tp_ix_is_cond(b))
    return tp_ix_or(tp_ix_and(i, a), tp_ix_and(tp_ix_not(i), b));
  return tp_ix_add(b, tp_ix_mul(tp_ix_sub(a, b), indicator(c, i)));
}

static tp_ix *operation(ast_walk *c, isl_ast_expr *e) {
  switch (isl_ast_expr_op_get_type(e)) {
  case isl_ast_expr_op_and:
  case isl_ast_expr_op_and_then: return nary(c, e, tp_ix_and, true);
  case isl_ast_expr_op_or:
  case isl_ast_expr_op_or_else: return nary(c, e, tp_ix_or, true);
  case isl_ast_expr_op_max: return nary(c, e, tp_ix_max, false);
  case isl_ast_expr_op_min: return nary(c, e, tp_ix_min, false);
  case isl_ast_expr_op_minus: return tp_ix_neg(expr(c, isl_ast_expr_op_get_arg(e, 0)));
  case isl_ast_expr_op_add: return nary(c, e, tp_ix_add, false);
  case isl_ast_expr_op_sub: return nary(c, e, tp_ix_sub, false);
  case isl_ast_expr_op_mul: return nary(c, e, tp_ix_mul, false);
  case isl_ast_expr_op_div:
  case isl_ast_expr_op_fdiv_q:
  case isl_ast_expr_op_pdiv_q:
    return tp_ix_fdiv(expr(c, isl_ast_expr_op_get_arg(e, 0)), const_arg(c, e, 1));
  case isl_ast_expr_op_pdiv_r:
  case isl_ast_expr_op_zdiv_r:
    return tp_ix_mod(expr(c, isl_ast_expr_op_get_arg(e, 0)), const_arg(c, e, 1));
  case isl_ast_expr_op_cond:
  case isl_ast_expr_op_select: return choice(c, e);
  case isl_ast_expr_op_eq: return compare_expr(c, e, TP_EQ);
  case isl_ast_expr_op_le: return compare_expr(c, e, TP_LE);
  case isl_ast_expr_op_lt: return compare_expr(c, e, TP_LT);
  case isl_ast_expr_op_ge: return compare_expr(c, e, TP_GE);
  case isl_ast_expr_op_gt: return compare_expr(c, e, TP_GT);
  default: return bad(c);
  }
}

static tp_ix *expr(ast_walk *c, isl_ast_expr *e) {
  tp_ix *r;
  switch (e ? isl_ast_expr_get_type(e) : isl_ast_expr_error) {
  case isl_ast_expr_op: r = operation(c, e); break;
  case isl_ast_expr_id: {
    isl_id *id = isl_ast_expr_get_id(e);
    r = of_id(c, id);
    isl_id_free(id);
    break;
  }
  case isl_ast_expr_int: {
    bool ok = true;
    r = tp_ix_const(c->ix, tp_isl_val(isl_ast_expr_get_val(e), &ok));
    break;
  }
  default: r = bad(c);
  }
  isl_ast_expr_free(e);
  return r;
}

/* ---- nodes ---- */

tp_tree *tp_ast_new_tree(tp_sched *S, tp_tkind kind, int n) {
  tp_tree *t = TP_NEW(S->a, tp_tree);
  t->kind = kind;
  t->n = n;
  t->kid = TP_NEWN(S->a, tp_tree *, n + 1);
  return t;
}

static tp_tree *run_of(ast_walk *c, int st, tp_ixs arg) {
  tp_tree *t = tp_ast_new_tree(c->S, TP_T_RUN, 0);
  const tp_stmt *s = c->S->p->stmts.v[t->stmt = st];
  t->arg = TP_NEWN(c->S->a, tp_ix *, s->ndim);
  for (int d = 0; d < s->ndim; d++)
    if (tp_is_called(s, d)) t->arg[d] = *arg++;
  tp_ix *cond = s->guard ? tp_guard_run(c->S->p, s, t) : NULL, *own = tp_call_asks(c->S, st);
  if (own) {
    own = tp_move_ends(
        c->S->p, own, s->ndim, s->dim, t->arg, s->bdim < 0 ? s->vec : s->vec & ~(1u << s->bdim));
    cond = tp_ix_both(cond, own);
  }
  if (!cond) return t;
  tp_tree *guarded = tp_ast_new_tree(c->S, TP_T_IF, 1);
  guarded->cond = cond;
  guarded->kid[0] = t;
  return guarded;
}

/* The statement that isl calls, and the statements that it stands for. */
static tp_tree *run_tree(ast_walk *c, isl_ast_node *n) {
  isl_ast_expr *e = isl_ast_node_user_get_expr(n), *f = isl_ast_expr_op_get_arg(e, 0);
  isl_id *id = isl_ast_expr_get_id(f);
  int first = atoi(isl_id_get_name(id) + 1), narg = (int)isl_ast_expr_op_get_n_arg(e) - 1, many = 0;
  tp_ix **arg = TP_NEWN(c->S->a, tp_ix *, narg);
  for (int k = 0; k < narg; k++) arg[k] = expr(c, isl_ast_expr_op_get_arg(e, k + 1));
  isl_id_free(id);
  isl_ast_expr_free(f);
  isl_ast_expr_free(e);
  for (int st = first; st >= 0; st = c->S->st[st].then) many++;
  if (many == 1) return run_of(c, first, arg);
  tp_tree *t = tp_ast_new_tree(c->S, TP_T_SEQ, many);
  for (int st = first, k = 0; st >= 0; st = c->S->st[st].then) t->kid[k++] = run_of(c, st, arg);
  return t;
}

/* The loop's end, from its condition: it < ub or it <= ub. */
static tp_ix *loop_end(ast_walk *c, isl_ast_node *n) {
  isl_ast_expr *e = isl_ast_node_for_get_cond(n);
  enum isl_ast_expr_op_type op = isl_ast_expr_op_get_type(e);
  tp_ix *ub = expr(c, isl_ast_expr_op_get_arg(e, 1));
  isl_ast_expr_free(e);
  if (op != isl_ast_expr_op_le && op != isl_ast_expr_op_lt) return bad(c);
  return op == isl_ast_expr_op_le ? tp_ix_addc(ub, 1) : ub;
}

static isl_id *iterator(isl_ast_node *n) {
  isl_ast_expr *it = isl_ast_node_for_get_iterator(n);
  isl_id *id = isl_ast_expr_get_id(it);
  isl_ast_expr_free(it);
  return id;
}

/* -e, with min and max the other way round. */
static tp_ix *negated(tp_ictx *x, tp_ix *e) {
  tp_ixkind k = tp_ix_kind(e);
  if (k != TP_IX_MIN && k != TP_IX_MAX) return tp_ix_neg(e);
  tp_ix *r = negated(x, tp_ix_arg(e, 0));
  for (int i = 1; i < tp_ix_narg(e); i++)
    r = k == TP_IX_MIN ? tp_ix_max(r, negated(x, tp_ix_arg(e, i)))
                       : tp_ix_min(r, negated(x, tp_ix_arg(e, i)));
  return r;
}

static tp_tree *loop(ast_walk *c, isl_ast_node *n) {
  isl_id *id = iterator(n);
  tp_ix *init = expr(c, isl_ast_node_for_get_init(n));
  const tp_item *item = c->loop;
  tp_tree *t, *body;
  if (isl_ast_node_for_is_degenerate(n) == isl_bool_true) {
    TP_PUSH(c->S->a, &c->env, (binding){ id, init });
    body = t = tp_ast_tree(c, isl_ast_node_for_get_body(n));
  } else {
    tp_ix *inc = expr(c, isl_ast_node_for_get_inc(n)), *end = loop_end(c, n);
    int64_t step = 1;
    if (!tp_ix_is_const(inc, &step) || step <= 0) bad(c);
    bool down = item && item->s < 0;
    tp_sym *v = tp_sym_var(c->ix, item && item->label ? item->label->name : "c");
    t = tp_ast_new_tree(c->S, TP_T_FOR, 1);
    t->var = v;
    t->label = item ? item->label : NULL;
    t->independent = item && item->independent;
    t->block = item ? item->block : 0;
    t->step = (int)(down ? -step : step);
    t->lo = down ? negated(c->ix, tp_ix_addc(end, -1)) : init;
    t->hi = down ? tp_ix_addc(negated(c->ix, init), 1) : end;
    TP_PUSH(c->S->a, &c->env, (binding){ id, down ? tp_ix_neg(tp_ix_sym(v)) : tp_ix_sym(v) });
    /* a FOR's stmt is its depth among the driver's loops until tp_make_tree ends */
    int was = t->stmt = c->depth;
    body = t->kid[0] = tp_ast_tree(c, isl_ast_node_for_get_body(n));
    c->depth = was;
  }
  c->loop = item;
  c->env.n--;
  isl_id_free(id);
  c->failed |= !body;
  return t;
}

static tp_tree *block(ast_walk *c, isl_ast_node *n) {
  isl_ast_node_list *l = isl_ast_node_block_get_children(n);
  int k = (int)isl_ast_node_list_n_ast_node(l);
  tp_tree *t = tp_ast_new_tree(c->S, TP_T_SEQ, k);
  for (int i = 0; i < k; i++) t->kid[i] = tp_ast_tree(c, isl_ast_node_list_get_at(l, i));
  isl_ast_node_list_free(l);
  return t;
}

static tp_tree *branch_tree(ast_walk *c, isl_ast_node *n) {
  bool other = isl_ast_node_if_has_else_node(n) == isl_bool_true;
  tp_tree *t = tp_ast_new_tree(c->S, TP_T_IF, 1 + other);
  t->cond = as_cond(c, expr(c, isl_ast_node_if_get_cond(n)));
  t->kid[0] = tp_ast_tree(c, isl_ast_node_if_get_then_node(n));
  if (other) t->kid[1] = tp_ast_tree(c, isl_ast_node_if_get_else_node(n));
  return t;
}

static tp_tree *marked(ast_walk *c, isl_ast_node *n) {
  isl_id *id = isl_ast_node_mark_get_id(n);
  const tp_item *was = c->loop;
  int depth = c->depth;
  c->loop = isl_id_get_user(id);
  for (const tp_item *x = c->loop, *end = tp_band_end(x); x != end; x = x->body.v[0]) c->depth++;
  c->depth++;
  isl_id_free(id);
  tp_tree *t = tp_ast_tree(c, isl_ast_node_mark_get_node(n));
  c->loop = was;
  c->depth = depth;
  return t;
}

tp_tree *tp_ast_tree(ast_walk *c, isl_ast_node *n) {
  tp_tree *t;
  switch (n ? isl_ast_node_get_type(n) : isl_ast_node_error) {
  case isl_ast_node_for: t = loop(c, n); break;
  case isl_ast_node_if: t = branch_tree(c, n); break;
  case isl_ast_node_block: t = block(c, n); break;
  case isl_ast_node_mark: t = marked(c, n); break;
  case isl_ast_node_user: t = run_tree(c, n); break;
  default: c->failed = true; t = tp_ast_new_tree(c->S, TP_T_SEQ, 0);
  }
  isl_ast_node_free(n);
  return t;
}
