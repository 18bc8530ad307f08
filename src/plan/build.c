/* build: makes a plan of poly's loop tree. Each statement becomes a row of regions on buffers
 * (statement.c), with loops and conditions around them; an end by data is loaded in front of its
 * use (ended.c). */
#include "plan/build.h"

/* ---- the tree ---- */

static tp_pnode *after_loads(pb *b, tp_pnode *x) {
  tp_pnodes v = { 0 };
  tp_pb_loads(b, &v);
  TP_PUSH(b->a, &v, x);
  return tp_plan_seq(b->a, v.n, v.v);
}

/* A loop looks at its end after each iteration, by which time it may have come nearer, so loads
 * stand in its body too. The ends that are wanted stay wanted. */
static tp_pnode *before_loads(pb *b, tp_pnode *x) {
  tp_pnodes v = { 0 };
  int n = b->ends.n;
  pb_end *was = TP_DUPN(b->a, b->ends.v, n);
  TP_PUSH(b->a, &v, x);
  tp_pb_loads(b, &v);
  if (n) TP_COPYN(b->ends.v, was, n);
  return tp_plan_seq(b->a, v.n, v.v);
}

/* Makes of x, in the loop of ticks, a BEHIND if it may wait, or puts a WAIT before it
 * (behind.c). */
static tp_pnode *in_its_body(pb *b, tp_pnode *x) {
  if (!b->p->lag || !b->s->tickrow) return x;
  tp_ix *row = tp_pb_here(b, b->s->tickrow);
  tp_pnode *side = TP_NEW(b->a, tp_pnode), *kid[] = { side, x };
  if (b->s->far)
    *side = (tp_pnode){ .kind = TP_P_BEHIND, .n = 1, .kid = tp_dup(b->a, &x, sizeof x), .lo = row };
  else *side = (tp_pnode){ .kind = TP_P_WAIT, .lo = tp_ix_addc(row, -b->p->lag) };
  return b->s->far ? side : tp_plan_seq(b->a, 2, kid);
}

static tp_pnode *build_run(pb *b, const tp_tree *t) {
  b->leaves.v = NULL;
  b->leaves.n = b->leaves.cap = 0;
  if (!tp_pb_statement(b, t)) return NULL;
  tp_pnode *x = after_loads(b, in_its_body(b, tp_plan_seq(b->a, b->leaves.n, b->leaves.v)));
  for (int i = 0; b->s->kind == TP_ST_INIT && i < b->p->g->stops.n; i++)
    b->begun[i] |= b->p->g->stops.v[i].end == b->s->into;
  return x;
}

static bool are_empty(int n, tp_pnode *const *kid) {
  bool all = true;
  for (int i = 0; i < n; i++) all &= kid[i]->kind == TP_P_SEQ && are_empty(kid[i]->n, kid[i]->kid);
  return all;
}

/* May the loop's turns be one region, that moves along each ring it goes over? They may as far as
 * slots of a block follow each other. */
static bool goes_straight(const pb *b, const tp_stmt *s, const tp_region *r, tp_sym *var) {
  bool straight = true;
  TP_WINDOWS (x, r) {
    const tp_arr *arr = x->buf >= 0 && x->buf < b->p->arrs.n ? b->p->arrs.v[x->buf] : NULL;
    straight &= x->wrap < 0;
    for (int k = 0; k < x->nring && straight; k++) {
      int64_t by, shift, block = s->block;
      tp_ix *rest;
      if (!tp_ix_mentions(x->ring[k].idx, var)) continue;
      straight = arr && arr->align && tp_ix_linear_in(x->ring[k].idx, var, &by, &rest) && by == 1 &&
          tp_ix_is_const(tp_ix_sub(rest, s->bshift), &shift) && shift % block == 0;
      for (int d = 0; d < arr->ndim && straight; d++)
        if (b->bufof[x->buf]->slots[d] == x->ring[k].width)
          straight = arr->align[d] > 0 && arr->align[d] % block == 0;
    }
  }
  return straight;
}

/* Is it a loop that a statement has for itself over the rows of a block? */
static bool is_of_rows(const pb *b, const tp_tree *t, const tp_pnode *body) {
  const tp_stmt *s = t->kind == TP_T_FOR && t->n == 1 && t->kid[0]->kind == TP_T_RUN
      ? b->p->stmts.v[t->kid[0]->stmt]
      : NULL;
  bool is = s && s->rdim >= 0;
  TP_EACH_NODE (k, body)
    is &= k.x->kind == TP_P_SEQ ||
        (is && k.x->kind == TP_P_REGION && goes_straight(b, s, k.x->rg, t->var));
  return is;
}

static tp_pnode *build(pb *b, const tp_tree *t) {
  if (t->kind == TP_T_RUN) return build_run(b, t);
  tp_pnode **kid = TP_NEWN(b->a, tp_pnode *, t->n);
  /* begun: as it is in front of the node */
  bool *begun = TP_DUPN(b->a, b->begun, b->p->g->stops.n), *inside = b->begun;
  for (int i = 0; i < t->n; i++)
    if (!(kid[i] = build(b, t->kid[i]))) return NULL;
  if (t->kind == TP_T_SEQ || are_empty(t->n, kid))
    return tp_plan_seq(b->a, t->kind == TP_T_SEQ ? t->n : 0, kid);
  int n = t->n == 2 && are_empty(1, kid + 1) ? 1 : t->n; /* an `else` with nothing in it */
  tp_pnode *x = TP_NEW(b->a, tp_pnode);
  *x = (tp_pnode){ .kind = t->kind == TP_T_FOR ? TP_P_FOR : TP_P_IF,
    .n = n,
    .kid = kid,
    .var = t->var,
    .lo = t->lo,
    .hi = t->hi,
    .step = t->step,
    .label = t->label,
    .independent = t->independent,
    .cond = t->kind == TP_T_IF ? t->cond : NULL };
  x->block = is_of_rows(b, t, kid[0]);
  if (!b->p->ends.n) return x;
  x->lo = tp_pb_ends(b, x->lo), x->hi = tp_pb_ends(b, x->hi), x->cond = tp_pb_ends(b, x->cond);
  if (t->kind == TP_T_FOR && t->step > 0) kid[0] = before_loads(b, kid[0]);
  b->begun = begun;
  x = after_loads(b, x);
  b->begun = inside;
  return x;
}

/* Notes the outputs. Their extents are over the bounds that the call gives. */
static void note_products(pb *b) {
  const tp_graph *g = b->graph;
  tp_sym **from = TP_NEWN(b->a, tp_sym *, g->stops.n);
  tp_ix **to = tp_pb_exprs(b, g->stops.n);
  for (int i = 0; i < g->stops.n; i++) {
    tp_sym *bound = g->stops.v[i].dim->bound;
    if (!g->stops.v[i].ndom) TP_PUSH(b->a, &b->pl->ends, (tp_pend){ bound, NULL });
    for (int d = 0; d < g->stops.v[i].ndom; d++)
      TP_PUSH(b->a, &b->pl->ends, (tp_pend){ bound, g->stops.v[i].dom[d]->bound });
    from[i] = g->stops.v[i].sym == bound ? g->stops.v[i].given : g->stops.v[i].sym;
    to[i] = tp_ix_sym(bound);
  }
  for (int i = 0; i < g->outputs.n; i++) {
    tp_product o = tp_product_of(g, i);
    tp_ix **shape = tp_pb_exprs(b, o.type.rank);
    for (int k = 0; k < o.type.rank; k++)
      shape[k] = tp_ix_subst(o.type.shape[k], g->stops.n, from, to);
    o.type.shape = shape;
    TP_PUSH(b->a, &b->pl->products, o);
  }
}

tp_plan *tp_plan_build(tp_graph *g, tp_poly *p, const tp_planned *asked, tp_error *err) {
  tp_plan *pl = TP_NEW(p->a, tp_plan);
  pl->ix = g->ix;
  pl->a = p->a;
  pl->machine = asked->machine;
  pl->reproducible = asked->reproducible;
  pl->precise = asked->precise;
  pb b = {
    .pl = pl, .graph = g, .p = p, .a = p->a, .err = err, .begun = TP_NEWN(p->a, bool, g->stops.n)
  };
  tp_pb_arrays(&b);
  note_products(&b);
  pl->body = build(&b, p->tree);
  if (!pl->body) return NULL;
  tp_pb_drop_copies(&b);
  for (int i = 0; i < p->arrs.n; i++) {
    int *in = &pl->bufs.v[tp_lies_in(p->arrs.v[i])->id]->inside;
    *in = TP_MIN(*in, p->arrs.v[i]->cross);
  }
  return tp_plan_passes(pl, asked, NULL, err) ? pl : NULL;
}
