/* shape: domains and extents: unions, equality of sizes, broadcasting. */
#include "graph/core.h"

static int place_of(int n, tp_dims dom, tp_sym *s) {
  while (n > 0 && dom[n - 1] != s) n--;
  return n - 1;
}
bool tp_dom_has(int n, tp_dims dom, tp_sym *s) { return place_of(n, dom, s) >= 0; }
int tp_dim_at(const tp_node *n, tp_sym *d) { return place_of(n->ndom, n->dom, d); }

bool tp_dom_same(int n, tp_dims a, int m, tp_dims b) {
  return n == m && (!n || memcmp(a, b, sizeof *a * (size_t)n) == 0);
}

bool tp_same_type(const tp_out *a, const tp_out *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
      (!a->rank || memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank) == 0);
}

tp_sym *tp_varies(int rank, tp_ixs shape, int n, tp_dims dims, int *axis) {
  for (int a = 0; a < rank; a++)
    for (int d = 0; d < n; d++)
      if (tp_ix_mentions(shape[a], dims[d])) return *axis = a, dims[d];
  return NULL;
}

bool tp_moves(const tp_node *n, tp_ix *e) {
  int axis;
  return tp_varies(1, &e, n->ndom, n->dom, &axis) != NULL;
}

static int insert_dim(int n, tp_sym **dom, tp_sym *s) {
  if (tp_dom_has(n, dom, s)) return n;
  int i = n;
  for (; i > 0 && dom[i - 1]->order > s->order; i--) dom[i] = dom[i - 1];
  dom[i] = s;
  return n + 1;
}

int tp_dom_union(tp_graph *g, int na, tp_dims a, int nb, tp_dims b, tp_dims *out) {
  tp_sym **dom = TP_NEWN(&g->arena, tp_sym *, na + nb);
  int n = 0;
  for (int i = 0; i < na; i++) n = insert_dim(n, dom, a[i]);
  for (int i = 0; i < nb; i++) n = insert_dim(n, dom, b[i]);
  *out = dom;
  return n;
}

void tp_dims_add(tp_graph *g, tp_node *n, int count, tp_dims dims) {
  n->ndom = tp_dom_union(g, n->ndom, n->dom, count, dims, &n->dom);
}

/* Adds the dims that e mentions to dom[0 .. n), at most max in all; gives the new n. */
static int add_dims(int n, tp_sym **dom, int max, tp_ix *e) {
  tp_dims syms;
  int ns = tp_ix_syms(e, &syms);
  for (int i = 0; i < ns && n < max; i++)
    if (syms[i]->kind == TP_SYM_DIM) n = insert_dim(n, dom, syms[i]);
  return n;
}

void tp_ends_add(tp_graph *g, tp_node *n, tp_ix *e) {
  TP_EACH (const tp_stop, s, g->stops) {
    if (s->ndom && tp_ix_mentions(e, s->sym)) tp_dims_add(g, n, s->ndom, s->dom);
  }
}

void tp_dom_add(tp_graph *g, tp_node *n, tp_ix *e) {
  tp_sym *dims[64];
  int nd = add_dims(0, dims, TP_LEN(dims), e);
  if (nd) tp_dims_add(g, n, nd, dims);
  tp_ends_add(g, n, e);
}

/* ---- equality of extents ---- */

void tp_shapecheck_add(tp_graph *g, tp_ix *a, tp_ix *b, tp_pos pos, const char *what) {
  TP_EACH (const tp_shapecheck, s, g->shapechecks) {
    if ((s->a == a && s->b == b) || (s->a == b && s->b == a)) return;
  }
  TP_PUSH(&g->arena, &g->shapechecks,
      (tp_shapecheck){ a, b, pos, tp_strdup(&g->arena, what ? what : "") });
}

/* OPEN: for some bounds, or not known */
typedef enum { NO, YES, OPEN } equality;

static bool is_nonzero(tp_ix *d, int n, tp_dims dims) {
  return tp_ix_prove_ge0(tp_ix_addc(d, -1), n, dims) ||
      tp_ix_prove_ge0(tp_ix_addc(tp_ix_neg(d), -1), n, dims);
}

/* d, without dims, is not 0 whenever all bounds are at least 2: equality for 0 and 1 alone is a
 * mistake. */
static bool differs_beyond_one(tp_ix *d) {
  tp_dims syms;
  tp_ix *to[16];
  int n = tp_ix_syms(d, &syms);
  if (n > (int)TP_LEN(to)) return false;
  for (int i = 0; i < n; i++) to[i] = tp_ix_addc(tp_ix_sym(syms[i]), 2);
  return is_nonzero(tp_ix_subst(d, n, syms, to), 0, NULL);
}

/* a == b, as canonical forms and intervals tell. */
static equality shape_settle(tp_ix *a, tp_ix *b, int n, tp_dims dims) {
  if (a == b) return YES;
  tp_ix *d =
      tp_ix_simplify(tp_ix_sub(tp_ix_simplify(a, n, dims), tp_ix_simplify(b, n, dims)), n, dims);
  if (tp_ix_is_const(d, NULL)) return tp_is_number(d, 0) ? YES : NO;
  return is_nonzero(d, n, dims) || (n == 0 && differs_beyond_one(d)) ? NO : OPEN;
}

/* The points at which a and b differ. NULL points: all. */
static tp_set *differ(
    tp_graph *g, tp_ix *a, tp_ix *b, int n, tp_dims dims, TP_TAKE tp_set *points) {
  if (!points) points = tp_set_box(g->ix, n, dims);
  return tp_set_and(points, tp_set_cond(g->ix, n, dims, tp_ix_cmp(TP_NE, a, b)));
}

/* True: bad has no point, or each call checks that. */
static bool nowhere(tp_graph *g, TP_TAKE tp_set *bad, const char *what) {
  bool never = bad && tp_set_is_empty(g->ix, bad),
       open = bad && !never && tp_set_can_be_empty(g->ix, bad, 2);
  if (open) tp_shapecheck_add(g, tp_set_empty_when(g->ix, bad), NULL, g->pos, what);
  tp_set_free(bad);
  return never || open;
}

bool tp_extent_eq_on(
    tp_graph *g, tp_ix *a, tp_ix *b, int n, tp_dims dims, tp_set *points, const char *what) {
  tp_sym *own[64];
  int nown = add_dims(add_dims(0, own, TP_LEN(own), a), own, TP_LEN(own), b);
  equality s = shape_settle(a, b, nown, own);
  if (s == OPEN && (nown || tp_mentions_end(g, a) || tp_mentions_end(g, b))) {
    if (tp_ix_is_affine(a) && tp_ix_is_affine(b)) {
      tp_set *bad = differ(g, a, b, points ? n : nown, points ? dims : own, points);
      return nowhere(g, tp_set_given(g, bad, NULL), what);
    }
    s = NO;
  } else if (s == OPEN) tp_shapecheck_add(g, a, b, g->pos, what);
  else if (s == NO && points && tp_set_is_empty(g->ix, points)) s = YES;
  tp_set_free(points);
  return s != NO;
}

bool tp_extent_eq(tp_graph *g, tp_ix *a, tp_ix *b, const char *what) {
  return a == b || tp_extent_eq_on(g, a, b, 0, NULL, NULL, what);
}

bool tp_extent_least(tp_graph *g, tp_ix *e, int64_t least, const char *what) {
  tp_sym *own[64];
  int64_t v;
  int n = add_dims(0, own, TP_LEN(own), e);
  tp_ix *room = tp_ix_addc(e, -least);
  if (tp_ix_is_const(e, &v)) return v >= least;
  if (tp_ix_prove_ge0(room, n, own)) return true;
  if (is_nonzero(room, n, own)) return false;
  tp_ix *holds = tp_ix_cmp(TP_GE, room, tp_ix_const(g->ix, 0));
  if (n == 0) {
    tp_shapecheck_add(g, holds, NULL, g->pos, what);
    return true;
  }
  if (!tp_ix_is_affine(e)) return false;
  tp_set *bad = tp_set_and(tp_set_box(g->ix, n, own), tp_set_cond(g->ix, n, own, tp_ix_not(holds)));
  return nowhere(g, bad, what);
}

/* ---- broadcasting: aligned at the last axis; a missing axis counts as 1; only a literal 1 grows
 * ---- */

static bool merge_axis(tp_graph *g, const tp_node *n, tp_ix **a, tp_ix *b) {
  if (*a == b || tp_is_number(b, 1)) return true;
  if (!tp_is_number(*a, 1)) {
    if (!tp_extent_eq(g, *a, b, tp_ops[n->op].text)) return false;
    if (!tp_ix_is_const(b, NULL)) return true;
  }
  *a = b;
  return true;
}

bool tp_broadcast(
    tp_graph *g, const tp_node *n, int *rank, tp_ix **shape, int vrank, tp_ixs vshape) {
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

void tp_extents_print(tp_buf *b, int rank, tp_ixs shape) {
  for (int i = 0; i < rank; i++) {
    if (i) tp_puts(b, ", ");
    tp_ix_print(b, shape[i]);
  }
}

const char *tp_extents(tp_graph *g, int rank, tp_ixs shape) {
  tp_buf b;
  tp_buf_init(&b);
  tp_extents_print(&b, rank, shape);
  return tp_buf_give(&g->arena, &b);
}
