/* tree: the driver's result as an isl schedule tree, isl's AST of it, and that as a tp_tree. A loop
 * with s = -1 counts its row up from -(T - 1): it is turned into one whose variable is -row and
 * counts down. Each item of the outermost sequence gets an AST of its own. */
#include "poly/sched.h"
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <stdlib.h>

/* ---- schedule tree ---- */

/* floor((x_d + shift) / size) on the space of dom. */
static isl_pw_aff *block_number(tp_sched *S, const tp_stmt *s, isl_space *space) {
  isl_pw_aff *x = isl_pw_aff_from_aff(isl_aff_var_on_domain(
      isl_local_space_from_space(isl_space_copy(space)), isl_dim_set, s->bdim));
  isl_pw_aff *shift = tp_isl_of_ix(S->ix, 0, NULL, s->bshift);
  x = isl_pw_aff_add(
      x, isl_pw_aff_insert_domain(isl_pw_aff_project_domain_on_params(shift), space));
  return isl_pw_aff_floor(isl_pw_aff_scale_down_val(x, isl_val_int_from_si(S->ctx, s->block)));
}

/* The dim cut in blocks as the number of its block. */
static isl_set *by_block(tp_sched *S, const tp_stmt *s, isl_set *dom) {
  isl_space *space = isl_set_get_space(dom);
  isl_multi_pw_aff *m = isl_multi_pw_aff_from_pw_multi_aff(
      isl_pw_multi_aff_identity(isl_space_map_from_set(isl_space_copy(space))));
  m = isl_multi_pw_aff_set_pw_aff(m, s->bdim, block_number(S, s, space));
  return isl_set_apply(dom, isl_map_from_multi_pw_aff(m));
}

/* Is the dim one of the calls' points? */
static bool is_called(const tp_stmt *s, int d) { return !(s->vec >> d & 1) || d == s->bdim; }

/* The dim as calls() has it. */
static int call_dim(const tp_stmt *s, int dim) {
  int at = 0;
  for (int d = 0; d < dim; d++) at += is_called(s, d);
  return at;
}

/* The points that need a call of their own: the domain without vector dims. */
static isl_set *exact_calls(tp_sched *S, int st) {
  const tp_stmt *s = S->p->stmts.v[st];
  isl_set *dom = isl_set_copy(s->dom);
  if (s->bdim >= 0) dom = by_block(S, s, dom);
  for (int d = s->ndim - 1; d >= 0; d--)
    if (!is_called(s, d)) dom = isl_set_project_out(dom, isl_dim_set, d, 1);
  return dom;
}

/* isl makes loops around the hull of these points, and the call asks whether its point is one of
 * them: where pieces are many, and of two with divisions, which isl may take for more points when
 * it coalesces them somewhere on its way (tp_isl_coalesce). */
static bool outlined(const tp_sched *S, TP_KEEP isl_set *dom) {
  int n = (int)isl_set_n_basic_set(dom);
  return n > (S->outlined ? 1 : TP_TUNE_MANY_PIECES) || tp_isl_divided(dom);
}

/* NULL: all points are. */
static const tp_ix *asks(tp_sched *S, int st) {
  const tp_stmt *s = S->p->stmts.v[st];
  const tp_sym *dims[s->ndim + 1];
  int n = 0;
  if (S->st[st].asked || isl_set_n_basic_set(s->dom) < 2) return S->st[st].asks;
  isl_set *dom = exact_calls(S, st);
  for (int d = 0; d < s->ndim; d++)
    if (is_called(s, d)) dims[n++] = s->dim[d];
  if (outlined(S, dom)) S->st[st].asks = tp_cond_of_set(S->ix, n, dims, dom);
  S->st[st].asked = true;
  isl_set_free(dom);
  return S->st[st].asks;
}

/* isl's outline of these points along some dims of the statement, all or those that are called.
 * Where its pieces' sides have no direction in common it is without end, which isl makes no loops
 * of. */
static isl_set *outline_of(tp_sched *S, const tp_stmt *s, TP_TAKE isl_set *dom, bool all) {
  const tp_sym *dims[s->ndim + 1];
  int n = 0;
  bool box = true;
  for (int d = 0; d < s->ndim; d++)
    if (all || is_called(s, d)) dims[n++] = s->label[d], box &= s->label[d]->bound && d != s->bdim;
  isl_set *hull = isl_set_from_basic_set(isl_set_simple_hull(isl_set_compute_divs(dom)));
  return box ? tp_set_and(hull, tp_set_box(S->ix, n, dims)) : hull;
}

static TP_KEEP isl_set *called_set(tp_sched *S, int st) {
  if (S->st[st].calls) return S->st[st].calls;
  isl_set *dom = exact_calls(S, st);
  if (asks(S, st)) dom = outline_of(S, S->p->stmts.v[st], dom, false);
  return S->st[st].calls = tp_keep_set(S, dom);
}

/* Row of a loop over blocks of a statement that runs over one in a call: its number. */
static isl_pw_aff *block_row(tp_sched *S, const tp_stmt *s, int sign) {
  int at = call_dim(s, s->bdim), n = call_dim(s, s->ndim);
  isl_aff *x =
      isl_aff_var_on_domain(isl_local_space_from_space(tp_isl_space(S->ix, n)), isl_dim_set, at);
  return isl_pw_aff_from_aff(sign > 0 ? x : isl_aff_neg(x));
}

/* {calls -> points}: each call's point at 0. Rows do not mention vector dims, so any would do. */
static isl_multi_aff *call_points(tp_sched *S, const tp_stmt *s) {
  isl_space *calls = tp_isl_space(S->ix, call_dim(s, s->ndim));
  isl_multi_aff *m = isl_multi_aff_zero(
      isl_space_map_from_domain_and_range(isl_space_copy(calls), tp_isl_space(S->ix, s->ndim)));
  isl_local_space *from = isl_local_space_from_space(calls);
  for (int d = 0; d < s->ndim; d++)
    if (is_called(s, d))
      m = isl_multi_aff_set_aff(m, d,
          isl_aff_var_on_domain(isl_local_space_copy(from), isl_dim_set, (unsigned)call_dim(s, d)));
  isl_local_space_free(from);
  return m;
}

static isl_pw_aff *call_row(tp_sched *S, const tp_mem *m) {
  const tp_stmt *s = S->p->stmts.v[m->st];
  if (s->bdim >= 0 && m->blocks == s->bdim + 1) return block_row(S, s, m->s);
  isl_pw_aff *row = isl_pw_aff_copy(m->row);
  return s->vec ? isl_pw_aff_pullback_multi_aff(row, call_points(S, s)) : row;
}

/* The points as a statement of isl's. What the context rules out goes first: isl makes no loop of a
 * piece that it finds void there. */
static TP_KEEP isl_set *told_set(tp_sched *S, int st) {
  tp_sst *s = &S->st[st];
  if (s->told) return s->told;
  isl_set *dom = isl_set_gist_params(
      isl_set_intersect_params(isl_set_copy(called_set(S, st)), isl_set_copy(S->context)),
      isl_set_copy(S->context));
  return s->told = tp_keep_set(S, isl_set_set_tuple_id(dom, tp_stmt_id(S, st)));
}

static isl_union_set *add_domain(tp_sched *S, TP_TAKE isl_union_set *to, int st) {
  return isl_union_set_add_set(to, isl_set_copy(told_set(S, st)));
}

static isl_union_pw_aff *add_rows(tp_sched *S, TP_TAKE isl_union_pw_aff *rows, const tp_mem *m) {
  return isl_union_pw_aff_add_pw_aff(
      rows, isl_pw_aff_set_tuple_id(call_row(S, m), isl_dim_in, tp_stmt_id(S, m->st)));
}

/* No loop inside but those that only sum up. */
static bool innermost(tp_sched *S, const tp_item *x) {
  for (int i = 0; i < x->body.n; i++) {
    const tp_item *y = x->body.v[i];
    for (int m = 0; y->st < 0 && m < y->nmem; m++)
      if (S->p->stmts.v[y->mem[m].st]->kind == TP_ST_OP) return false;
  }
  return true;
}

static isl_set *few_pieces(tp_sched *S, int st) {
  isl_set *dom = isl_set_copy(S->p->stmts.v[st]->dom);
  return outlined(S, dom) ? outline_of(S, S->p->stmts.v[st], dom, true) : dom;
}

/* Do the members run over different ranges of rows, few enough to give each its own loop? Around
 * other loops only ranges that share no row: nothing is written twice. */
static bool cut_item(tp_sched *S, const tp_item *x) {
  isl_set *seen[TP_TUNE_RANGE_LOOPS + 1];
  int n = 0;
  bool inner = innermost(S, x), apart = true;
  if (x->nmem > TP_TUNE_RANGE_STMTS) return false;
  for (int i = 0; i < x->nmem && n <= TP_TUNE_RANGE_LOOPS && (inner || apart); i++) {
    isl_set *r = isl_set_apply(
        few_pieces(S, x->mem[i].st), isl_map_from_pw_aff(isl_pw_aff_copy(x->mem[i].row)));
    bool known = false;
    for (int j = 0; j < n && !known; j++)
      known = isl_set_plain_is_equal(r, seen[j]) == isl_bool_true ||
          isl_set_is_equal(r, seen[j]) == isl_bool_true;
    for (int j = 0; j < n && !known && !inner && apart; j++)
      apart = isl_set_is_disjoint(r, seen[j]) == isl_bool_true;
    if (known) isl_set_free(r);
    else seen[n++] = r;
  }
  for (int j = 0; j < n; j++) isl_set_free(seen[j]);
  return n > 1 && n <= TP_TUNE_RANGE_LOOPS && (inner || apart);
}

/* ---- statements that run at the same times, one right after the other, are one statement to isl
 * ---- */

static bool same_shift(const tp_wt *a, const tp_wt *b) {
  return !a->bad && !b->bad && a->p == b->p && a->c == b->c;
}

static bool same_rows(tp_sched *S, int u, int v) {
  const tp_sst *a = &S->st[u], *b = &S->st[v];
  if (a->npath != b->npath) return false;
  for (int l = 0; l + 1 < a->npath; l++) {
    const tp_mem *x = a->path[l].mem, *y = b->path[l].mem;
    if (!x || !y || (x->dim < 0) != (y->dim < 0) || x->s != y->s) return false;
    if (x->dim < 0 ? isl_pw_aff_plain_is_equal(x->row, y->row) != isl_bool_true
                   : call_dim(S->p->stmts.v[u], x->dim) != call_dim(S->p->stmts.v[v], y->dim) ||
                !same_shift(&x->shift, &y->shift))
      return false;
  }
  return true;
}

static bool same_calls(tp_sched *S, int u, int v) {
  const tp_stmt *a = S->p->stmts.v[u], *b = S->p->stmts.v[v];
  bool blocks = a->bdim >= 0 || b->bdim >= 0;
  if (blocks &&
      (a->bdim != b->bdim || a->block != b->block || a->bshift != b->bshift || a->vec != b->vec))
    return false;
  /* isl may write a set in another way between the two */
  if (a->dom == b->dom && a->vec == b->vec) return !asks(S, u) == !asks(S, v);
  return isl_set_plain_is_equal(called_set(S, u), called_set(S, v)) == isl_bool_true;
}

/* Leaves out of a sequence, and those inside, the statements that the one before stands for. */
static void keep_leaders(tp_sched *S, tp_items *seq) {
  int n = 0;
  for (int i = 0, last = -1; i < seq->n; i++) {
    tp_item *x = seq->v[i];
    if (x->st < 0) keep_leaders(S, &x->body);
    else S->st[x->st].then = -1;
    if (x->st >= 0 && last >= 0 && same_rows(S, last, x->st) && same_calls(S, last, x->st)) {
      S->st[last].then = x->st;
      S->st[x->st].follows = true;
    } else seq->v[n++] = x;
    last = x->st;
  }
  seq->n = n;
}

/* ---- from the outermost loop inwards ---- */

/* isl goes through every member of a sequence for each of its statements, and for pairs of them:
 * long ones are halved (640 carries: 2.7 s, in one 21 ms for each of 160). It cuts loops anew at
 * each level: short ones are not halved (a program with three loops in one: 1 s, halved down to
 * pairs 12 s). 22 November 2026, Zen 5, isl 0.25. */

static isl_union_set *domains(tp_sched *S, tp_item *const *v, int n) {
  if (n > 1) return isl_union_set_union(domains(S, v, n / 2), domains(S, v + n / 2, n - n / 2));
  isl_union_set *all = isl_union_set_empty(tp_isl_params(S->ix));
  if (v[0]->st >= 0) return add_domain(S, all, v[0]->st);
  for (int i = 0; i < v[0]->nmem; i++)
    if (!S->st[v[0]->mem[i].st].follows) all = add_domain(S, all, v[0]->mem[i].st);
  return all;
}

static isl_schedule_node *range_schedule(
    tp_sched *S, TP_TAKE isl_schedule_node *at, tp_item *const *v, int n);

static isl_multi_union_pw_aff *band_of(tp_sched *S, const tp_item *x) {
  isl_union_pw_aff *rows = isl_union_pw_aff_empty(tp_isl_params(S->ix));
  for (int i = 0; i < x->nmem; i++)
    if (!S->st[x->mem[i].st].follows) rows = add_rows(S, rows, &x->mem[i]);
  return isl_multi_union_pw_aff_from_union_pw_aff(rows);
}

/* A loop of isl's scheduler (split.c), whose body is another one or statements, or one whose
 * members go at different speeds (scale.c). */
static bool is_skewed(const tp_item *x) {
  return x->st < 0 && x->mem[0].dim < 0 && !x->mem[0].blocks;
}

/* The innermost loop of a nest of such, which is one band to isl: statements of bands inside each
 * other have stood in another order than isl was told
 * (spec/fuzz/found/bands_inside_each_other.lua). */
static const tp_item *band_end(const tp_sched *S, const tp_item *x) {
  while (!S->nested && is_skewed(x) && x->body.n == 1 && is_skewed(x->body.v[0])) x = x->body.v[0];
  return x;
}

static isl_schedule_node *put_loop(tp_sched *S, TP_TAKE isl_schedule_node *at, tp_item *x) {
  isl_multi_union_pw_aff *rows = band_of(S, x);
  const tp_item *end = band_end(S, x);
  for (const tp_item *y = x; y != end;)
    rows = isl_multi_union_pw_aff_flat_range_product(rows, band_of(S, y = y->body.v[0]));
  at = isl_schedule_node_insert_partial_schedule(at, rows);
  if (!is_skewed(x) && cut_item(S, x))
    at = isl_schedule_node_band_set_ast_build_options(
        at, isl_union_set_read_from_str(S->ctx, "{ separate[x] }"));
  at = isl_schedule_node_insert_mark(at, isl_id_alloc(S->ctx, "loop", x));
  at = range_schedule(
      S, isl_schedule_node_child(isl_schedule_node_child(at, 0), 0), end->body.v, end->body.n);
  return isl_schedule_node_parent(isl_schedule_node_parent(at));
}

static isl_schedule_node *range_schedule(
    tp_sched *S, TP_TAKE isl_schedule_node *at, tp_item *const *v, int n) {
  if (n == 1) return v[0]->st < 0 ? put_loop(S, at, v[0]) : at;
  int parts = n <= TP_TUNE_FLAT_SEQUENCE ? n : 2;
  isl_union_set_list *all = isl_union_set_list_alloc(S->ctx, parts);
  for (int k = 0; k < parts; k++)
    all = isl_union_set_list_add(
        all, domains(S, v + n * k / parts, n * (k + 1) / parts - n * k / parts));
  at = isl_schedule_node_insert_sequence(at, all);
  for (int k = 0; k < parts; k++) {
    at = isl_schedule_node_child(isl_schedule_node_child(at, k), 0);
    at = range_schedule(S, at, v + n * k / parts, n * (k + 1) / parts - n * k / parts);
    at = isl_schedule_node_parent(isl_schedule_node_parent(at));
  }
  return at;
}

static isl_schedule *of_item(tp_sched *S, tp_item *x) {
  isl_schedule *sch = isl_schedule_from_domain(domains(S, &x, 1));
  isl_schedule_node *at =
      range_schedule(S, isl_schedule_node_child(isl_schedule_get_root(sch), 0), &x, 1);
  isl_schedule_free(sch);
  sch = isl_schedule_node_get_schedule(at);
  isl_schedule_node_free(at);
  return sch;
}

/* ---- expressions ---- */

typedef struct {
  isl_id *id;
  const tp_ix *val;
} binding;
typedef struct {
  tp_sched *S;
  tp_ictx *ix;
  bool failed;
  const tp_item *loop;
  int depth; /* of the nearest mark */
  TP_VEC(binding) env;
} ast_walk;

static const tp_ix *expr(ast_walk *c, TP_TAKE isl_ast_expr *e);

static const tp_ix *bad(ast_walk *c) {
  c->failed = true;
  return tp_ix_const(c->ix, 0);
}

static const tp_ix *of_id(ast_walk *c, isl_id *id) {
  for (int i = c->env.n - 1; i >= 0; i--)
    if (c->env.v[i].id == id) return c->env.v[i].val;
  const tp_sym *s = isl_id_get_user(id);
  return s ? tp_ix_sym(c->ix, s) : bad(c);
}

static int64_t const_arg(ast_walk *c, isl_ast_expr *e, int i) {
  int64_t k = 0;
  const tp_ix *v = expr(c, isl_ast_expr_op_get_arg(e, i));
  if (tp_ix_is_cond(v) || !tp_ix_is_const(v, &k) || k <= 0) {
    bad(c);
    k = 1;
  }
  return k;
}

/* 1 where the condition holds, else 0. */
static const tp_ix *indicator(ast_walk *c, const tp_ix *e) {
  tp_ictx *x = c->ix;
  const tp_ix *one = tp_ix_const(x, 1), *zero = tp_ix_const(x, 0), *r = one;
  if (!tp_ix_is_cond(e)) return e;
  switch (tp_ix_kind(e)) {
  case TP_IX_TRUE: return one;
  case TP_IX_FALSE: return zero;
  case TP_IX_GE0: return tp_ix_min(x, one, tp_ix_max(x, zero, tp_ix_addc(x, tp_ix_arg(e, 0), 1)));
  case TP_IX_EQ0:
    return tp_ix_max(
        x, zero, tp_ix_sub(x, one, tp_ix_max(x, tp_ix_arg(e, 0), tp_ix_neg(x, tp_ix_arg(e, 0)))));
  case TP_IX_NOT: return tp_ix_sub(x, one, indicator(c, tp_ix_arg(e, 0)));
  case TP_IX_AND:
  case TP_IX_OR: break;
  default: return bad(c);
  }
  bool and = tp_ix_kind(e) == TP_IX_AND;
  for (int i = 0; i < tp_ix_narg(e); i++) {
    const tp_ix *a = indicator(c, tp_ix_arg(e, i));
    r = tp_ix_mul(x, r, and? a : tp_ix_sub(x, one, a));
  }
  return and? r : tp_ix_sub(x, one, r);
}

static const tp_ix *as_cond(ast_walk *c, const tp_ix *e) {
  return tp_ix_is_cond(e) ? e : tp_ix_cmp(c->ix, TP_NE, e, tp_ix_const(c->ix, 0));
}

static const tp_ix *fold(ast_walk *c, isl_ast_expr *e,
    const tp_ix *(*op)(tp_ictx *, const tp_ix *, const tp_ix *), bool cond) {
  const tp_ix *r = NULL;
  for (int i = 0, n = (int)isl_ast_expr_op_get_n_arg(e); i < n; i++) {
    const tp_ix *a = expr(c, isl_ast_expr_op_get_arg(e, i));
    a = cond ? as_cond(c, a) : a;
    r = r ? op(c->ix, r, a) : a;
  }
  return r ? r : bad(c);
}

static const tp_ix *compare_expr(ast_walk *c, isl_ast_expr *e, tp_cmp op) {
  const tp_ix *a = expr(c, isl_ast_expr_op_get_arg(e, 0)),
              *b = expr(c, isl_ast_expr_op_get_arg(e, 1));
  if (tp_ix_is_cond(a) || tp_ix_is_cond(b)) return bad(c);
  return tp_ix_cmp(c->ix, op, a, b);
}

static const tp_ix *choice(ast_walk *c, isl_ast_expr *e) {
  const tp_ix *i = as_cond(c, expr(c, isl_ast_expr_op_get_arg(e, 0)));
  const tp_ix *a = expr(c, isl_ast_expr_op_get_arg(e, 1)),
              *b = expr(c, isl_ast_expr_op_get_arg(e, 2));
  if (tp_ix_is_cond(a) && tp_ix_is_cond(b))
    return tp_ix_or(c->ix, tp_ix_and(c->ix, i, a), tp_ix_and(c->ix, tp_ix_not(c->ix, i), b));
  return tp_ix_add(c->ix, b, tp_ix_mul(c->ix, tp_ix_sub(c->ix, a, b), indicator(c, i)));
}

static const tp_ix *operation(ast_walk *c, isl_ast_expr *e) {
  tp_ictx *x = c->ix;
  switch (isl_ast_expr_op_get_type(e)) {
  case isl_ast_expr_op_and:
  case isl_ast_expr_op_and_then: return fold(c, e, tp_ix_and, true);
  case isl_ast_expr_op_or:
  case isl_ast_expr_op_or_else: return fold(c, e, tp_ix_or, true);
  case isl_ast_expr_op_max: return fold(c, e, tp_ix_max, false);
  case isl_ast_expr_op_min: return fold(c, e, tp_ix_min, false);
  case isl_ast_expr_op_minus: return tp_ix_neg(x, expr(c, isl_ast_expr_op_get_arg(e, 0)));
  case isl_ast_expr_op_add: return fold(c, e, tp_ix_add, false);
  case isl_ast_expr_op_sub: return fold(c, e, tp_ix_sub, false);
  case isl_ast_expr_op_mul: return fold(c, e, tp_ix_mul, false);
  case isl_ast_expr_op_div:
  case isl_ast_expr_op_fdiv_q:
  case isl_ast_expr_op_pdiv_q:
    return tp_ix_fdiv(x, expr(c, isl_ast_expr_op_get_arg(e, 0)), const_arg(c, e, 1));
  case isl_ast_expr_op_pdiv_r:
  case isl_ast_expr_op_zdiv_r:
    return tp_ix_mod(x, expr(c, isl_ast_expr_op_get_arg(e, 0)), const_arg(c, e, 1));
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

static const tp_ix *expr(ast_walk *c, isl_ast_expr *e) {
  const tp_ix *r;
  switch (e ? isl_ast_expr_get_type(e) : isl_ast_expr_error) {
  case isl_ast_expr_op: r = operation(c, e); break;
  case isl_ast_expr_id: {
    isl_id *id = isl_ast_expr_get_id(e);
    r = of_id(c, id);
    isl_id_free(id);
    break;
  }
  case isl_ast_expr_int: {
    isl_val *v = isl_ast_expr_get_val(e);
    r = tp_ix_const(c->ix, isl_val_get_num_si(v));
    isl_val_free(v);
    break;
  }
  default: r = bad(c);
  }
  isl_ast_expr_free(e);
  return r;
}

/* ---- nodes ---- */

static tp_tree *node(ast_walk *c, TP_TAKE isl_ast_node *n);

static tp_tree *new_tree(ast_walk *c, tp_tkind kind, int n) {
  tp_tree *t = TP_NEW(c->S->a, tp_tree);
  t->kind = kind;
  t->n = n;
  t->kid = TP_NEWN(c->S->a, tp_tree *, n + 1);
  return t;
}

static tp_tree *run_of(ast_walk *c, int st, const tp_ix *const *arg) {
  tp_tree *t = new_tree(c, TP_T_RUN, 0);
  const tp_stmt *s = c->S->p->stmts.v[t->stmt = st];
  t->arg = TP_NEWN(c->S->a, const tp_ix *, s->ndim);
  for (int d = 0; d < s->ndim; d++)
    if (is_called(s, d)) t->arg[d] = *arg++;
  const tp_ix *cond = s->guard ? tp_guard_run(c->S->p, s, t) : NULL, *own = asks(c->S, st);
  if (own) {
    own = tp_move_ends(
        c->S->p, own, s->ndim, s->dim, t->arg, s->bdim < 0 ? s->vec : s->vec & ~(1u << s->bdim));
    cond = tp_ix_both(c->ix, cond, own);
  }
  if (!cond) return t;
  tp_tree *guarded = new_tree(c, TP_T_IF, 1);
  guarded->cond = cond;
  guarded->kid[0] = t;
  return guarded;
}

/* The statement that isl calls, and those that it stands for. */
static tp_tree *run_tree(ast_walk *c, isl_ast_node *n) {
  isl_ast_expr *e = isl_ast_node_user_get_expr(n), *f = isl_ast_expr_op_get_arg(e, 0);
  isl_id *id = isl_ast_expr_get_id(f);
  int first = atoi(isl_id_get_name(id) + 1), narg = (int)isl_ast_expr_op_get_n_arg(e) - 1, many = 0;
  const tp_ix **arg = TP_NEWN(c->S->a, const tp_ix *, narg);
  for (int k = 0; k < narg; k++) arg[k] = expr(c, isl_ast_expr_op_get_arg(e, k + 1));
  isl_id_free(id);
  isl_ast_expr_free(f);
  isl_ast_expr_free(e);
  for (int st = first; st >= 0; st = c->S->st[st].then) many++;
  if (many == 1) return run_of(c, first, arg);
  tp_tree *t = new_tree(c, TP_T_SEQ, many);
  for (int st = first, k = 0; st >= 0; st = c->S->st[st].then) t->kid[k++] = run_of(c, st, arg);
  return t;
}

/* The end that the loop's condition gives: it < ub or it <= ub. */
static const tp_ix *loop_end(ast_walk *c, isl_ast_node *n) {
  isl_ast_expr *e = isl_ast_node_for_get_cond(n);
  enum isl_ast_expr_op_type op = isl_ast_expr_op_get_type(e);
  const tp_ix *ub = expr(c, isl_ast_expr_op_get_arg(e, 1));
  isl_ast_expr_free(e);
  if (op != isl_ast_expr_op_le && op != isl_ast_expr_op_lt) return bad(c);
  return op == isl_ast_expr_op_le ? tp_ix_addc(c->ix, ub, 1) : ub;
}

static isl_id *iterator(isl_ast_node *n) {
  isl_ast_expr *it = isl_ast_node_for_get_iterator(n);
  isl_id *id = isl_ast_expr_get_id(it);
  isl_ast_expr_free(it);
  return id;
}

/* -e, with min and max the other way round. */
static const tp_ix *negated(tp_ictx *x, const tp_ix *e) {
  tp_ixkind k = tp_ix_kind(e);
  if (k != TP_IX_MIN && k != TP_IX_MAX) return tp_ix_neg(x, e);
  const tp_ix *r = negated(x, tp_ix_arg(e, 0));
  for (int i = 1; i < tp_ix_narg(e); i++)
    r = k == TP_IX_MIN ? tp_ix_max(x, r, negated(x, tp_ix_arg(e, i)))
                       : tp_ix_min(x, r, negated(x, tp_ix_arg(e, i)));
  return r;
}

static tp_tree *loop(ast_walk *c, isl_ast_node *n) {
  isl_id *id = iterator(n);
  const tp_ix *init = expr(c, isl_ast_node_for_get_init(n));
  const tp_item *item = c->loop;
  tp_tree *t, *body;
  if (isl_ast_node_for_is_degenerate(n) == isl_bool_true) {
    TP_PUSH(c->S->a, &c->env, (binding){ id, init });
    body = t = node(c, isl_ast_node_for_get_body(n));
  } else {
    const tp_ix *inc = expr(c, isl_ast_node_for_get_inc(n)), *end = loop_end(c, n);
    int64_t step = 1;
    if (!tp_ix_is_const(inc, &step) || step <= 0) bad(c);
    bool down = item && item->s < 0;
    tp_sym *v = tp_sym_var(c->ix, item && item->label ? item->label->name : "c");
    t = new_tree(c, TP_T_FOR, 1);
    t->var = v;
    t->label = item ? item->label : NULL;
    t->independent = item && item->independent;
    t->block = item ? item->block : 0;
    t->step = (int)(down ? -step : step);
    t->lo = down ? negated(c->ix, tp_ix_addc(c->ix, end, -1)) : init;
    t->hi = down ? tp_ix_addc(c->ix, negated(c->ix, init), 1) : end;
    TP_PUSH(c->S->a, &c->env,
        (binding){ id, down ? tp_ix_neg(c->ix, tp_ix_sym(c->ix, v)) : tp_ix_sym(c->ix, v) });
    /* a FOR's stmt is its depth among the driver's loops until tp_make_tree ends */
    int was = t->stmt = c->depth;
    body = t->kid[0] = node(c, isl_ast_node_for_get_body(n));
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
  tp_tree *t = new_tree(c, TP_T_SEQ, k);
  for (int i = 0; i < k; i++) t->kid[i] = node(c, isl_ast_node_list_get_at(l, i));
  isl_ast_node_list_free(l);
  return t;
}

static tp_tree *branch_tree(ast_walk *c, isl_ast_node *n) {
  bool other = isl_ast_node_if_has_else_node(n) == isl_bool_true;
  tp_tree *t = new_tree(c, TP_T_IF, 1 + other);
  t->cond = as_cond(c, expr(c, isl_ast_node_if_get_cond(n)));
  t->kid[0] = node(c, isl_ast_node_if_get_then_node(n));
  if (other) t->kid[1] = node(c, isl_ast_node_if_get_else_node(n));
  return t;
}

static tp_tree *marked(ast_walk *c, isl_ast_node *n) {
  isl_id *id = isl_ast_node_mark_get_id(n);
  const tp_item *was = c->loop;
  int depth = c->depth;
  c->loop = isl_id_get_user(id);
  for (const tp_item *x = c->loop, *end = band_end(c->S, x); x != end; x = x->body.v[0]) c->depth++;
  c->depth++;
  isl_id_free(id);
  tp_tree *t = node(c, isl_ast_node_mark_get_node(n));
  c->loop = was;
  c->depth = depth;
  return t;
}

static tp_tree *node(ast_walk *c, isl_ast_node *n) {
  tp_tree *t;
  switch (n ? isl_ast_node_get_type(n) : isl_ast_node_error) {
  case isl_ast_node_for: t = loop(c, n); break;
  case isl_ast_node_if: t = branch_tree(c, n); break;
  case isl_ast_node_block: t = block(c, n); break;
  case isl_ast_node_mark: t = marked(c, n); break;
  case isl_ast_node_user: t = run_tree(c, n); break;
  default: c->failed = true; t = new_tree(c, TP_T_SEQ, 0);
  }
  isl_ast_node_free(n);
  return t;
}

/* ---- crossing, in terms of the tree's own loops ---- */

enum { TREE_DEPTH = 64 };
typedef struct {
  int n, common;
  const tp_tree *path[TREE_DEPTH];
} common_path;

static void meet_paths(common_path *s, const tp_tree **path, int n) {
  int k = 0;
  if (!s->n++) {
    memcpy(s->path, path, sizeof(tp_tree *) * (size_t)n);
    s->common = n;
    return;
  }
  while (k < s->common && k < n && s->path[k] == path[k]) k++;
  s->common = k;
}

static void common_paths(
    tp_sched *S, const tp_tree *t, common_path *s, const tp_tree **path, int n) {
  if (t->kind == TP_T_RUN) {
    const tp_stmt *st = S->p->stmts.v[t->stmt];
    for (int a = 0; a < st->nacc; a++) meet_paths(&s[st->acc[a].arr], path, n);
  }
  if (t->kind == TP_T_FOR && n < TREE_DEPTH) path[n++] = t;
  for (int i = 0; i < t->n; i++) common_paths(S, t->kid[i], s, path, n);
}

/* cross counted the driver's loops; isl may have peeled some. */
static void count_crossings(tp_sched *S, const tp_tree *t) {
  common_path *s = TP_NEWN(S->a, common_path, S->p->arrs.n);
  const tp_tree *path[TREE_DEPTH];
  common_paths(S, t, s, path, 0);
  for (int i = 0; i < S->p->arrs.n; i++) {
    int k = 0;
    /* depths count from 1 */
    while (k < s[i].common && s[i].path[k]->stmt <= S->p->arrs.v[i]->cross) k++;
    S->p->arrs.v[i]->cross = k;
  }
}

static void clear_depths(tp_tree *t) {
  if (t->kind == TP_T_FOR) t->stmt = 0;
  for (int i = 0; i < t->n; i++) clear_depths(t->kid[i]);
}

/* ---- the whole ---- */

typedef TP_VEC(tp_tree *) trees;

static void flatten(tp_sched *S, trees *into, tp_tree *t) {
  if (t->kind != TP_T_SEQ) {
    TP_PUSH(S->a, into, t);
    return;
  }
  for (int i = 0; i < t->n; i++) flatten(S, into, t->kid[i]);
}

static tp_tree *sequence(tp_sched *S, int n, tp_tree *const *kid) {
  if (n == 1) return kid[0];
  tp_tree *t = TP_NEW(S->a, tp_tree);
  *t = (tp_tree){ .kind = TP_T_SEQ, .n = n, .kid = tp_dup(S->a, kid, sizeof *kid * (size_t)n) };
  return t;
}

/* if c { a }; if c { b }  =>  if c { a; b }   and the same of their else branches. */
static void merge_ifs(tp_sched *S, trees *l) {
  int n = 0;
  for (int i = 0; i < l->n; i++) {
    tp_tree *t = l->v[i], *u = n ? l->v[n - 1] : NULL;
    if (!u || t->kind != TP_T_IF || u->kind != TP_T_IF || t->cond != u->cond) {
      l->v[n++] = t;
      continue;
    }
    tp_tree *m = TP_NEW(S->a, tp_tree);
    *m = (tp_tree){
      .kind = TP_T_IF, .cond = t->cond, .n = TP_MAX(t->n, u->n), .kid = TP_NEWN(S->a, tp_tree *, 2)
    };
    for (int k = 0; k < m->n; k++) {
      trees both = { 0 };
      if (k < u->n) flatten(S, &both, u->kid[k]);
      if (k < t->n) flatten(S, &both, t->kid[k]);
      m->kid[k] = sequence(S, both.n, both.v);
    }
    l->v[n - 1] = m;
  }
  l->n = n;
}

/* No sequence in a sequence, no two guards where one will do. */
static tp_tree *tidy(tp_sched *S, tp_tree *t) {
  if (t->kind == TP_T_SEQ) {
    trees l = { 0 };
    flatten(S, &l, t);
    merge_ifs(S, &l);
    for (int i = 0; i < l.n; i++) l.v[i] = tidy(S, l.v[i]);
    return sequence(S, l.n, l.v);
  }
  for (int i = 0; i < t->n; i++) t->kid[i] = tidy(S, t->kid[i]);
  return t;
}

static bool piecewise(const tp_item *x) {
  for (int i = 0; i < x->nmem; i++)
    if (x->mem[i].shift.p && isl_pw_aff_n_piece(x->mem[i].shift.p) > 1) return true;
  for (int i = 0; i < x->body.n; i++)
    if (piecewise(x->body.v[i])) return true;
  return false;
}

typedef struct {
  isl_set *context;
  isl_union_set *all;
} some_bounds;

static isl_stat add_alive(TP_TAKE isl_set *s, void *user) {
  some_bounds *b = user;
  isl_set *here = isl_set_intersect_params(isl_set_copy(s), isl_set_copy(b->context));
  if (isl_set_is_empty(here) == isl_bool_true) isl_set_free(s);
  else b->all = isl_union_set_union(b->all, isl_union_set_from_set(s));
  isl_set_free(here);
  return isl_stat_ok;
}

/* Without the statements that never run for these bounds: isl finds no expression for their loops.
 */
static isl_schedule *alive(TP_TAKE isl_schedule *sch, TP_KEEP isl_set *context) {
  isl_union_set *domain = isl_schedule_get_domain(sch);
  some_bounds b = { context, isl_union_set_empty(isl_union_set_get_space(domain)) };
  isl_union_set_foreach_set(domain, add_alive, &b);
  bool all = isl_union_set_n_set(b.all) == isl_union_set_n_set(domain);
  isl_union_set_free(domain);
  if (!all) return isl_schedule_intersect_domain(sch, b.all);
  isl_union_set_free(b.all);
  return sch;
}

static isl_ast_node *loops_of(tp_sched *S, tp_item *x, TP_KEEP isl_set *context, bool narrow) {
  isl_schedule *sch = of_item(S, x);
  if (narrow) sch = alive(sch, context);
  isl_ast_build *build = isl_ast_build_from_context(isl_set_copy(context));
  isl_ast_node *ast = isl_ast_build_node_from_schedule(build, sch);
  isl_ast_build_free(build);
  return ast;
}

/* From now on every statement's points are one piece to isl. */
static void outline(tp_sched *S) {
  S->outlined = true;
  for (int i = 0; i < S->p->stmts.n; i++) {
    S->st[i].calls = NULL;
    S->st[i].asked = false;
    S->st[i].told = NULL;
  }
}

/* narrow: the context leaves bounds out. */
static tp_tree *generate(ast_walk *c, tp_item *x, TP_TAKE isl_set *context, bool narrow) {
  tp_sched *S = c->S;
  isl_ast_node *ast = NULL;
  tp_ask(S, "the loops around '%s'", S->p->stmts.v[x->st < 0 ? x->mem[0].st : x->st]->name, NULL);
  if (!S->outlined) {
    tp_query_long(S, TP_TUNE_TREE_TRY);
    ast = loops_of(S, x, context, narrow);
    if (!tp_query_end(S)) ast = isl_ast_node_free(ast), outline(S);
  }
  tp_query_long(S, TP_TUNE_TREE_BUDGETS);
  if (!ast) ast = loops_of(S, x, context, narrow);
  isl_set_free(context);
  tp_tree *t = node(c, ast);
  c->failed |= !tp_query_end(S);
  return t;
}

/* Rows cut by "is this window empty" would put that question into every loop: two versions of the
 * whole item instead. */
static tp_tree *versions(ast_walk *c, tp_item *x) {
  tp_sched *S = c->S;
  const tp_ix *some = tp_ix_bool(c->ix, true);
  for (int i = 0; i < tp_nsym(c->ix); i++) {
    const tp_sym *b = tp_sym_at(c->ix, i);
    if (tp_is_free_bound(S, b))
      some = tp_ix_and(
          c->ix, some, tp_ix_cmp(c->ix, TP_GE, tp_ix_sym(c->ix, b), tp_ix_const(c->ix, 1)));
  }
  if (!S->freectx || !piecewise(x))
    return generate(c, x, isl_set_copy(S->context), S->p->late.n > 0);
  tp_tree *t = new_tree(c, TP_T_IF, 2);
  isl_set *where = isl_set_params(tp_isl_of_cond(c->ix, 0, NULL, some));
  t->cond = some;
  t->kid[0] =
      generate(c, x, isl_set_intersect(isl_set_copy(S->context), isl_set_copy(where)), true);
  t->kid[1] = generate(c, x, isl_set_subtract(isl_set_copy(S->context), where), true);
  return t;
}

bool tp_make_tree(tp_sched *S) {
  ast_walk c = { .S = S, .ix = S->ix };
  trees top = { 0 };
  isl_options_set_ast_build_detect_min_max(S->ctx, 1);
  if (!S->nested) keep_leaders(S, &S->top);
  for (int i = 0; i < S->top.n && !c.failed; i++) flatten(S, &top, versions(&c, S->top.v[i]));
  tp_tree *all = S->p->tree = tp_stop_loops(S->p, tidy(S, sequence(S, top.n, top.v)));
  count_crossings(S, all);
  clear_depths(all);
  if (!c.failed) return true;
  if (!tp_isl_check(S->ix, TP_NOWHERE, S->err)) return false;
  tp_fail(
      S->err, TP_E_AFFINE, TP_NOWHERE, "affine: the loops of this program cannot be written down");
  tp_tell_unknown(S->p, S->err);
  return false;
}
