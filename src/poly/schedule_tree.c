/* schedule_tree: turns the driver's result into an isl schedule tree, lets isl make an AST of it,
 * and turns that into a tp_tree. A loop with s = -1 counts its row up from -(T - 1): it is turned
 * into one whose variable is -row and counts down. Each item of the outermost sequence gets an AST
 * of its own. */
#include "poly/schedule_tree.h"
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/ast_build.h>

/* Is x innermost: are the only loops inside those that sum up? */
static bool innermost(tp_sched *S, const tp_item *x) {
  for (int i = 0; i < x->body.n; i++) {
    const tp_item *y = x->body.v[i];
    for (int m = 0; y->st < 0 && m < y->nmem; m++)
      if (S->p->stmts.v[y->mem[m].st]->kind == TP_ST_OP) return false;
  }
  return true;
}

/* Do the members run over different ranges of rows, few enough to give each its own loop? Around
 * other loops only ranges that share no row: nothing is written twice. */
static bool split_item(tp_sched *S, const tp_item *x) {
  isl_set *seen[TP_TUNE_RANGE_LOOPS + 1];
  int n = 0;
  bool inner = innermost(S, x), apart = true;
  if (x->nmem > TP_TUNE_RANGE_STMTS) return false;
  for (int i = 0; i < x->nmem && n <= TP_TUNE_RANGE_LOOPS && (inner || apart); i++) {
    isl_set *r = isl_set_apply(
        tp_few_pieces(S, x->mem[i].st), isl_map_from_pw_aff(isl_pw_aff_copy(x->mem[i].row)));
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
    if (x->dim < 0
            ? isl_pw_aff_plain_is_equal(x->row, y->row) != isl_bool_true
            : tp_call_dim(S->p->stmts.v[u], x->dim) != tp_call_dim(S->p->stmts.v[v], y->dim) ||
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
  if (a->dom == b->dom && a->vec == b->vec) return !tp_call_asks(S, u) == !tp_call_asks(S, v);
  return isl_set_plain_is_equal(tp_called_set(S, u), tp_called_set(S, v)) == isl_bool_true;
}

/* A loop around one statement, whose domain has one point of the dim. */
static bool is_one_iteration(tp_sched *S, const tp_item *x) {
  int st = x->body.n == 1 ? x->body.v[0]->st : -1, i = 0;
  while (st >= 0 && x->mem[i].st != st) i++;
  return st >= 0 && x->mem[i].dim >= 0 && tp_pinned(S, st, x->mem[i].dim);
}

/* Takes out of a sequence, and sequences inside, the statements that the one before stands for, and
 * loops of one iteration around a rest. */
static void keep_leaders(tp_sched *S, tp_items *seq) {
  int n = 0;
  for (int i = 0, last = -1; i < seq->n; i++) {
    tp_item *x = seq->v[i];
    if (x->st >= 0) S->st[x->st].then = -1;
    else {
      keep_leaders(S, &x->body);
      if (is_one_iteration(S, x)) x = x->body.v[0];
    }
    if (x->st >= 0 && last >= 0 && same_rows(S, last, x->st) && same_calls(S, last, x->st)) {
      S->st[last].then = x->st;
      S->st[x->st].follows = true;
    } else seq->v[n++] = x;
    for (last = x->st; last >= 0 && S->st[last].then >= 0;) last = S->st[last].then;
  }
  seq->n = n;
}

/* ---- from the outermost loop inwards ---- */

/* isl goes through every member of a sequence for pairs of statements: long ones are halved (640
 * carries: 2.7 s). It cuts loops anew at each level: short ones are not (three loops in one: 1 s,
 * halved down to pairs 12 s). Zen 5, isl 0.25. */

static isl_union_set *domains(tp_sched *S, tp_item *const *v, int n) {
  if (n > 1) return isl_union_set_union(domains(S, v, n / 2), domains(S, v + n / 2, n - n / 2));
  isl_union_set *all = isl_union_set_empty(tp_isl_params(S->ix));
  if (v[0]->st >= 0) return isl_union_set_add_set(all, isl_set_copy(tp_told_set(S, v[0]->st)));
  for (int i = 0; i < v[0]->nmem; i++)
    if (!S->st[v[0]->mem[i].st].follows)
      all = isl_union_set_add_set(all, isl_set_copy(tp_told_set(S, v[0]->mem[i].st)));
  return all;
}

static isl_schedule_node *range_schedule(
    tp_sched *S, TP_TAKE isl_schedule_node *at, tp_item *const *v, int n);

static isl_multi_union_pw_aff *band_of(tp_sched *S, const tp_item *x) {
  isl_union_pw_aff *rows = isl_union_pw_aff_empty(tp_isl_params(S->ix));
  for (int i = 0; i < x->nmem; i++)
    if (!S->st[x->mem[i].st].follows)
      rows = isl_union_pw_aff_add_pw_aff(rows, tp_call_row(S, &x->mem[i]));
  return isl_multi_union_pw_aff_from_union_pw_aff(rows);
}

static isl_schedule_node *put_loop(tp_sched *S, TP_TAKE isl_schedule_node *at, tp_item *x) {
  isl_multi_union_pw_aff *rows = band_of(S, x);
  const tp_item *end = tp_band_end(x);
  for (const tp_item *y = x; y != end;)
    rows = isl_multi_union_pw_aff_flat_range_product(rows, band_of(S, y = y->body.v[0]));
  at = isl_schedule_node_insert_partial_schedule(at, rows);
  if (!tp_is_skewed(x) && split_item(S, x))
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

/* Counts cross again by the tree's loops: it counted the driver's, and isl may have peeled some. */
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
  tp_tree *t = tp_ast_new_tree(S, TP_T_SEQ, n);
  for (int i = 0; i < n; i++) t->kid[i] = kid[i];
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
    tp_tree *m = tp_ast_new_tree(S, TP_T_IF, TP_MAX(t->n, u->n));
    m->cond = t->cond;
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

/* Makes nested sequences one, and joins guards where one is enough. */
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

/* sch without the statements that never run for these bounds: isl finds no expression for their
 * loops. */
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

/* From now on isl gets every statement's points as one piece. */
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
  tp_tree *t = tp_ast_tree(c, ast);
  c->failed |= !tp_query_end(S);
  return t;
}

/* Rows cut by "is this window empty" would put that question into every loop: makes two versions of
 * the whole item instead. */
static tp_tree *versions(ast_walk *c, tp_item *x) {
  tp_sched *S = c->S;
  if (!S->freectx || !piecewise(x))
    return generate(c, x, isl_set_copy(S->context), S->p->late.n > 0);
  tp_ix *some = tp_ix_bool(c->ix, true);
  for (int i = 0; i < tp_nsym(c->ix); i++) {
    tp_sym *b = tp_sym_at(c->ix, i);
    if (tp_is_free_bound(S, b))
      some = tp_ix_and(some, tp_ix_cmp(TP_GE, tp_ix_sym(b), tp_ix_const(c->ix, 1)));
  }
  tp_tree *t = tp_ast_new_tree(S, TP_T_IF, 2);
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
  keep_leaders(S, &S->top);
  for (int i = 0; i < S->top.n && !c.failed; i++) flatten(S, &top, versions(&c, S->top.v[i]));
  tp_tree *all = S->p->tree =
      tp_stop_loops(S->p, tidy(S, tp_steady_loops(S, tidy(S, sequence(S, top.n, top.v)))));
  count_crossings(S, all);
  clear_depths(all);
  if (!c.failed) return true;
  if (!tp_isl_check(S->ix, TP_NOWHERE, S->err)) return false;
  tp_fail(
      S->err, TP_E_AFFINE, TP_NOWHERE, "affine: the loops of this program cannot be written down");
  tp_tell_unknown(S->p, S->err);
  return false;
}
