/* Domains and extents: unions, equality of sizes, broadcasting. */
#include "graph/core.h"

bool tp_dom_has(int n, const tp_sym *const *dom, const tp_sym *s) {
  for (int i = 0; i < n; i++)
    if (dom[i] == s) return true;
  return false;
}

bool tp_dom_same(int n, const tp_sym *const *a, int m, const tp_sym *const *b) {
  if (n != m) return false;
  for (int i = 0; i < n; i++)
    if (a[i] != b[i]) return false;
  return true;
}

bool tp_same_type(const tp_out *a, const tp_out *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->shape[i] != b->shape[i]) return false;
  return true;
}

const tp_sym *tp_varies(
    int rank, const tp_ix *const *shape, int n, const tp_sym *const *dims, int *axis) {
  for (int a = 0; a < rank; a++)
    for (int d = 0; d < n; d++)
      if (tp_ix_mentions(shape[a], dims[d])) return *axis = a, dims[d];
  return NULL;
}

int tp_dim_at(const tp_node *n, const tp_sym *d) {
  for (int k = 0; k < n->ndom; k++)
    if (n->dom[k] == d) return k;
  return -1;
}

bool tp_moves(const tp_node *n, const tp_ix *e) {
  for (int d = 0; d < n->ndom; d++)
    if (tp_ix_mentions(e, n->dom[d])) return true;
  return false;
}

static int insert_dim(int n, const tp_sym **dom, const tp_sym *s) {
  if (tp_dom_has(n, dom, s)) return n;
  int i = n;
  for (; i > 0 && dom[i - 1]->order > s->order; i--) dom[i] = dom[i - 1];
  dom[i] = s;
  return n + 1;
}

int tp_dom_union(tp_graph *g, int na, const tp_sym *const *a, int nb, const tp_sym *const *b,
    const tp_sym *const **out) {
  const tp_sym **dom = TP_NEWN(&g->arena, const tp_sym *, na + nb);
  int n = 0;
  for (int i = 0; i < na; i++) n = insert_dim(n, dom, a[i]);
  for (int i = 0; i < nb; i++) n = insert_dim(n, dom, b[i]);
  *out = dom;
  return n;
}

void tp_dims_add(tp_graph *g, tp_node *n, int count, const tp_sym *const *dims) {
  n->ndom = tp_dom_union(g, n->ndom, n->dom, count, dims, &n->dom);
}

/* The dims that e mentions join dom[0 .. n), at most max in all; gives the new n. */
static int add_dims(int n, const tp_sym **dom, int max, const tp_ix *e) {
  const tp_sym *const *syms;
  int ns = tp_ix_syms(e, &syms);
  for (int i = 0; i < ns && n < max; i++)
    if (syms[i]->kind == TP_SYM_DIM) n = insert_dim(n, dom, syms[i]);
  return n;
}

void tp_ends_add(tp_graph *g, tp_node *n, const tp_ix *e) {
  for (int i = 0; i < g->stops.n; i++) {
    const tp_stop *s = &g->stops.v[i];
    if (s->ndom && tp_ix_mentions(e, s->sym)) tp_dims_add(g, n, s->ndom, s->dom);
  }
}

void tp_dom_add(tp_graph *g, tp_node *n, const tp_ix *e) {
  const tp_sym *dims[64];
  int nd = add_dims(0, dims, TP_LEN(dims), e);
  if (nd) tp_dims_add(g, n, nd, dims);
  tp_ends_add(g, n, e);
}

/* ---- equality of extents ---- */

void tp_shapecheck_add(tp_graph *g, const tp_ix *a, const tp_ix *b, tp_pos pos, const char *what) {
  for (int i = 0; i < g->shapechecks.n; i++) {
    const tp_shapecheck *s = &g->shapechecks.v[i];
    if ((s->a == a && s->b == b) || (s->a == b && s->b == a)) return;
  }
  TP_PUSH(&g->arena, &g->shapechecks,
      (tp_shapecheck){ a, b, pos, tp_strdup(&g->arena, what ? what : "") });
}

enum { NO = 0, YES = 1, OPEN = 2 };

/* d, without dims, is not 0 whenever all bounds are at least 2: equality for 0 and 1 alone is a
 * mistake. */
static bool differs_beyond_one(tp_graph *g, const tp_ix *d) {
  const tp_sym *const *syms;
  const tp_ix *to[16];
  int n = tp_ix_syms(d, &syms);
  if (n > (int)TP_LEN(to)) return false;
  for (int i = 0; i < n; i++) to[i] = tp_ix_addc(g->ix, tp_ix_sym(g->ix, syms[i]), 2);
  d = tp_ix_subst(g->ix, d, n, syms, to);
  return tp_ix_prove_ge0(g->ix, tp_ix_addc(g->ix, d, -1), 0, NULL) ||
      tp_ix_prove_ge0(g->ix, tp_ix_addc(g->ix, tp_ix_neg(g->ix, d), -1), 0, NULL);
}

/* What canonical forms and intervals say about a == b. */
static int shape_settle(
    tp_graph *g, const tp_ix *a, const tp_ix *b, int n, const tp_sym *const *dims) {
  if (a == b) return YES;
  tp_ictx *c = g->ix;
  const tp_ix *d = tp_ix_simplify(
      c, tp_ix_sub(c, tp_ix_simplify(c, a, n, dims), tp_ix_simplify(c, b, n, dims)), n, dims);
  int64_t v;
  if (tp_ix_is_const(d, &v)) return v == 0 ? YES : NO;
  if (tp_ix_prove_ge0(c, tp_ix_addc(c, d, -1), n, dims)) return NO;
  if (tp_ix_prove_ge0(c, tp_ix_addc(c, tp_ix_neg(c, d), -1), n, dims)) return NO;
  return n == 0 && differs_beyond_one(g, d) ? NO : OPEN;
}

/* The points at which a and b differ; takes points. */
static tp_set *differ(
    tp_graph *g, const tp_ix *a, const tp_ix *b, int n, const tp_sym *const *dims, tp_set *points) {
  if (!points) points = tp_set_box(g->ix, n, dims);
  return tp_set_and(points, tp_set_cond(g->ix, n, dims, tp_ix_cmp(g->ix, TP_NE, a, b)));
}

/* Takes bad: there is no such point, or a check says when. */
static bool nowhere(tp_graph *g, tp_set *bad, const char *what) {
  bool never = bad && tp_set_is_empty(g->ix, bad),
       open = bad && !never && tp_set_can_be_empty(g->ix, bad, 2);
  if (open) tp_shapecheck_add(g, tp_set_empty_when(g->ix, bad), NULL, g->pos, what);
  tp_set_free(bad);
  return never || open;
}

/* Extents that vary over dims. Takes points. */
static bool eq_over_dims(tp_graph *g, const tp_ix *a, const tp_ix *b, int n,
    const tp_sym *const *dims, tp_set *points, const char *what) {
  if (tp_ix_is_affine(a) && tp_ix_is_affine(b))
    return nowhere(g, tp_set_given(g, differ(g, a, b, n, dims, points), NULL), what);
  tp_set_free(points);
  return false;
}

bool tp_extent_eq_on(tp_graph *g, const tp_ix *a, const tp_ix *b, int n, const tp_sym *const *dims,
    tp_set *points, const char *what) {
  const tp_sym *own[64];
  int nown = add_dims(add_dims(0, own, TP_LEN(own), a), own, TP_LEN(own), b);
  int s = shape_settle(g, a, b, nown, own);
  if (s == OPEN && (nown || tp_mentions_end(g, a) || tp_mentions_end(g, b)))
    return eq_over_dims(g, a, b, points ? n : nown, points ? dims : own, points, what);
  if (s == OPEN) tp_shapecheck_add(g, a, b, g->pos, what);
  bool empty = s == NO && points && tp_set_is_empty(g->ix, points);
  tp_set_free(points);
  return s != NO || empty;
}

bool tp_extent_eq(tp_graph *g, const tp_ix *a, const tp_ix *b, const char *what) {
  return a == b || tp_extent_eq_on(g, a, b, 0, NULL, NULL, what);
}

bool tp_extent_least(tp_graph *g, const tp_ix *e, int64_t least, const char *what) {
  const tp_sym *own[64];
  int64_t v;
  int n = add_dims(0, own, TP_LEN(own), e);
  const tp_ix *room = tp_ix_addc(g->ix, e, -least);
  if (tp_ix_is_const(e, &v)) return v >= least;
  if (tp_ix_prove_ge0(g->ix, room, n, own)) return true;
  if (tp_ix_prove_ge0(g->ix, tp_ix_addc(g->ix, tp_ix_neg(g->ix, room), -1), n, own)) return false;
  const tp_ix *holds = tp_ix_cmp(g->ix, TP_GE, room, tp_ix_const(g->ix, 0));
  if (n == 0) {
    tp_shapecheck_add(g, holds, NULL, g->pos, what);
    return true;
  }
  if (!tp_ix_is_affine(e)) return false;
  tp_set *bad =
      tp_set_and(tp_set_box(g->ix, n, own), tp_set_cond(g->ix, n, own, tp_ix_not(g->ix, holds)));
  return nowhere(g, bad, what);
}

bool tp_extent_same(tp_graph *g, const tp_ix *a, const tp_ix *b) {
  const tp_sym *own[64];
  if (a == b) return true;
  int n = add_dims(add_dims(0, own, TP_LEN(own), a), own, TP_LEN(own), b),
      s = shape_settle(g, a, b, n, own);
  if (s != OPEN || !n || !tp_ix_is_affine(a) || !tp_ix_is_affine(b)) return s == YES;
  tp_set *bad = differ(g, a, b, n, own, NULL);
  bool same = bad && tp_set_is_empty(g->ix, bad);
  tp_set_free(bad);
  return same;
}

/* ---- broadcasting: aligned at the last axis; a missing axis counts as 1; only a literal 1 grows
 * ---- */

static bool merge_axis(tp_graph *g, const tp_node *n, const tp_ix **a, const tp_ix *b) {
  if (*a == b || tp_is_number(b, 1)) return true;
  if (!tp_is_number(*a, 1)) {
    if (!tp_extent_eq(g, *a, b, tp_ops[n->op].text)) return false;
    if (!tp_ix_is_const(b, NULL)) return true;
  }
  *a = b;
  return true;
}

bool tp_broadcast(tp_graph *g, const tp_node *n, int *rank, const tp_ix **shape, int vrank,
    const tp_ix *const *vshape) {
  int grow = vrank - *rank;
  if (grow > 0) {
    memmove(shape + grow, shape, sizeof *shape * (size_t)*rank);
    TP_COPYN(shape, vshape, grow);
    *rank = vrank;
  }
  int skip = TP_MAX(grow, 0);
  for (int i = skip; i < vrank; i++)
    if (!merge_axis(g, n, &shape[*rank - vrank + i], vshape[i])) return false;
  return true;
}

/* ---- text ---- */

void tp_extents_print(tp_buf *b, int rank, const tp_ix *const *shape) {
  for (int i = 0; i < rank; i++) tp_puts(b, i ? ", " : ""), tp_ix_print(b, shape[i]);
}

const char *tp_extents(tp_graph *g, int rank, const tp_ix *const *shape) {
  tp_buf b;
  tp_buf_init(&b);
  tp_extents_print(&b, rank, shape);
  return tp_buf_give(&g->arena, &b);
}

void tp_shape_print(tp_buf *b, tp_val v) {
  tp_puts(b, "(");
  tp_extents_print(b, tp_rankof(v), tp_outof(v)->shape);
  tp_puts(b, ")");
}
