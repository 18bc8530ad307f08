/* ends_points: reads at points that depend on ends, and branches under conditions on ends. */
#include "opt/ends/ends.h"

static tp_ix *zero(const ends *l) { return tp_ix_const(l->ix, 0); }

/* ---- reads ---- */

static bool is_given(const tp_node *n) {
  while (tp_shows(n) && n->op != TP_OP_READ) n = tp_in(n, 0);
  return n->op == TP_OP_INPUT || n->op == TP_OP_CONST;
}

/* The stop of x[T - c], where c is a constant and T the end of x's own row; -1: the read is another
 * one. */
static int last_of(const ends *l, tp_val x, const tp_at *at, int d, int64_t *c) {
  const tp_node *n = x.node;
  tp_ix *rest;
  int64_t k;
  for (int i = 0; i < l->g->stops.n; i++) {
    const tp_stop *s = &l->g->stops.v[i];
    if (s->dim != n->dom[d] || !tp_ix_linear_in(at[d].lo, s->sym, &k, &rest) || k != 1 ||
        !tp_ix_is_const(rest, c))
      continue;
    *c = -*c;
    return *c >= 1 && tp_at_stays(n, at, s) && !tp_ends_shape_moves(x, s->dim) ? i : -1;
  }
  return -1;
}

/* x at T - c, kept when it is made: the maximum of x there and of nothing elsewhere, which has the
 * bits of x. */
static tp_val last_value(ends *l, tp_val x, int i, int64_t c) {
  const tp_stop *s = &l->g->stops.v[i];
  tp_dims dom;
  int ndom = tp_dom_union(l->g, x.node->ndom, x.node->dom, s->ndom, s->dom, &dom);
  tp_ix *is = tp_ix_cmp(TP_EQ, tp_ix_addc(tp_ix_sym(s->dim), c), tp_ix_sym(s->sym));
  tp_val y = tp_ends_over(
      l, TP_RED_MAX, tp_ends_masked(l, is, (over){ ndom, dom }, x, TP_RED_MAX, false), s->dim);
  if (y.node) y.node->what = tp_printf(&l->g->arena, "last %s", tp_title(&l->g->arena, x.node));
  return y;
}

/* Constant points of other dims are taken before, ranges and points that move after. */
static tp_val read_last(ends *l, tp_val x, const tp_at *at, int i, int64_t c) {
  const tp_node *n = x.node;
  tp_at *first = tp_at_own(l->g, n->ndom, n->dom);
  for (int k = 0; k < n->ndom; k++)
    if (!at[k].range && !tp_ends_about(l, at[k].lo).ndom && !tp_mentions_end(l->g, at[k].lo))
      first[k] = at[k];
  x = tp_read(l->g, x, first, l->err);
  tp_val y = x.node ? last_value(l, x, i, c) : x;
  if (!y.node) return y;
  tp_at *left = tp_at_own(l->g, y.node->ndom, y.node->dom);
  for (int k = 0; k < y.node->ndom; k++)
    for (int j = 0; j < n->ndom; j++)
      if (n->dom[j] == y.node->dom[k]) left[k] = at[j];
  return tp_ends_read_at(l, y, left);
}

/* index_select of the whole dim. */
static tp_val pick(ends *l, tp_val x, const tp_at *at, int d) {
  const tp_node *n = x.node;
  tp_node reader = { 0 };
  tp_at *all = tp_dup(&l->g->arena, at, sizeof *at * (size_t)n->ndom);
  int axis = 0;
  for (int k = 0; k < d; k++) axis += at[k].range;
  for (int k = 0; k < n->ndom; k++) {
    tp_ix *e[2] = { at[k].lo, at[k].range ? at[k].hi : at[k].lo };
    for (int j = 0; j < 2; j++) tp_dom_add(l->g, &reader, e[j]);
  }
  all[d] = (tp_at){ true, zero(l), tp_ix_sym(n->dom[d]->bound) };
  tp_val k = tp_ends_value(
             l, tp_ends_clamped(l, at[d].lo, n->dom[d]), (over){ reader.ndom, reader.dom }),
         rows = tp_ends_read_at(l, x, all);
  return mk_op(l->mk, TP_OP_INDEX_SELECT, 2, (tp_val[]){ rows, k }, &(tp_attr){ .axis = axis });
}

/* Ranges keep the ends that they mention. */
tp_val tp_ends_read_at(ends *l, tp_val x, const tp_at *at) {
  for (int d = 0; x.node && d < x.node->ndom; d++) {
    int64_t c;
    if (at[d].range || !tp_mentions_end(l->g, at[d].lo)) continue;
    int i = is_given(x.node) ? -1 : last_of(l, x, at, d, &c);
    if (i >= 0) return read_last(l, x, at, i, c);
    if (!tp_ends_shape_moves(x, x.node->dom[d])) return pick(l, x, at, d);
  }
  return tp_read(l->g, x, at, l->err);
}

/* ---- reads of one branch ---- */

/* The only branch of which n, a read, needs points, for any ends; -1: there are more. */
static int only_branch(ends *l, const tp_node *n) {
  const tp_node *m = tp_in(n, 0);
  int only = -1, count = 0;
  for (int i = 0; i < l->g->stops.n; i++)
    if (tp_edge_crosses(n, 0, &l->g->stops.v[i])) return -1;
  tp_set *at = tp_set_and(tp_set_apply(tp_ends_need(l, n), tp_edge_rel(l->g, n, 0)),
      tp_set_and(tp_set_box(l->ix, m->ndom, m->dom),
          tp_set_cond(l->ix, m->ndom, m->dom, tp_ends_alive(l, over_of(m)))));
  for (int j = 0; j < m->nin && count < 2; j++)
    if (!tp_ends_never(l, tp_set_and(tp_set_copy(at), tp_branch_set(l->g, m, j)), over_of(m)))
      only = j, count++;
  tp_set_free(at);
  return count == 1 ? only : -1;
}

/* h[T-1] = e;  h:otherwise(f(h[T-1]))   =>   f(e)
 *
 * As a value, where(t == T - 1, e, ..) would need e at each point instead of one, which makes a
 * cycle that the program does not have. This is done only if no order is found without it, as e is
 * then kept beside h. */
bool tp_ends_apart(ends *l, tp_node *n) {
  const tp_node *m = n->op == TP_OP_READ ? tp_in(n, 0) : NULL;
  int k = m && m->op == TP_OP_MERGE ? only_branch(l, n) : -1;
  if (k >= 0) n->in[0].src = tp_ends_same_dom(l, m->in[k].src, over_of(m));
  return k < 0 || tp_in(n, 0);
}

/* ---- reads at the less or the greater of two points ---- */

/* A read at e in place of n, needed where cond holds; it is lowered in its turn, as another min or
 * max may be left in e. */
static tp_val side(ends *l, const tp_node *n, int d, tp_ix *e, tp_ix *cond) {
  const tp_node *x = tp_in(n, 0);
  tp_at *at = tp_dup(&l->g->arena, n->attr.at, sizeof *at * (size_t)x->ndom);
  at[d].lo = e;
  tp_val v = tp_read(l->g, n->in[0].src, at, l->err);
  if (!v.node) return v;
  tp_set *need = tp_same_dims(v.node, n)
      ? tp_set_and(tp_set_cond(l->ix, n->ndom, n->dom, cond), tp_ends_need(l, n))
      : tp_set_box(l->ix, v.node->ndom, v.node->dom);
  TP_PUSH(&l->g->arena, &l->parts, (ends_part){ v.node, need, tp_ends_feeds(l, n) });
  return tp_ends_same_dom(l, v, over_of(n));
}

/* x[min(a, b)] => x[a] where a <= b, else x[b]: n becomes these branches. */
static bool in_branches(ends *l, tp_node *n, int d, tp_ix *m, int64_t k) {
  const tp_out *o = &n->out[0];
  bool min = tp_ix_kind(m) == TP_IX_MIN;
  tp_ix *rest = tp_ix_sub(n->attr.at[d].lo, tp_ix_mulc(m, k)), *a = tp_ix_arg(m, 0),
        *b = tp_ix_arg(m, 1);
  for (int i = 2; i < tp_ix_narg(m); i++) b = (min ? tp_ix_min : tp_ix_max)(b, tp_ix_arg(m, i));
  tp_ix *first = tp_ix_cmp(min ? TP_LE : TP_GE, a, b), *at_a = tp_ix_add(rest, tp_ix_mulc(a, k)),
        *at_b = tp_ix_add(rest, tp_ix_mulc(b, k));
  tp_val v = side(l, n, d, at_a, first), w = v.node ? side(l, n, d, at_b, tp_ix_not(first)) : v;
  n->op = TP_OP_MERGE;
  n->attr = (tp_attr){
    .dtype = o->dtype, .nix = o->rank, .ix = o->shape, .ndom = n->ndom, .dom = n->dom
  };
  n->nin = 0;
  return w.node && tp_merge_add(l->g, n, first, v, l->err) &&
      tp_merge_add(l->g, n, NULL, w, l->err) && tp_ends_branches(l, n);
}

/* An input's elements are picked for all rows at once; but not for a done, which cannot wait for an
 * end. */
bool tp_ends_point(ends *l, tp_node *n) {
  bool points = false;
  const tp_node *x = tp_in(n, 0);
  bool picked = is_given(x) && !tp_ends_feeds(l, n);
  for (int d = 0; d < x->ndom; d++) {
    int64_t k;
    const tp_at *at = &n->attr.at[d];
    if (at->range || !tp_mentions_end(l->g, at->lo) || tp_ends_shape_moves(n->in[0].src, x->dom[d]))
      continue;
    tp_ix *m = picked ? NULL : tp_ends_extremum(l, at->lo, &k);
    l->g->pos = n->pos;
    if (m) return in_branches(l, n, d, m, k);
    points = true;
  }
  if (!points) return true;
  tp_val y = tp_ends_same_dom(l, tp_ends_read_at(l, n->in[0].src, n->attr.at), over_of(n));
  if (y.node) tp_replace(l->g, tp_v(n), y);
  return y.node;
}

/* ---- branches ---- */

enum { MOST = 24 }; /* parts of a domain */

/* A cell: points, and the branches that may be first there for some end. */
typedef struct {
  tp_set *at;
  uint32_t may;
} cell;
typedef struct {
  ends *l;
  tp_node *n;
  tp_edge *was;
  int nwas, ncell;
  cell cell[MOST + 1];
} branching;

/* Cuts each cell in the points at which branch k is the first that holds for some end, and the
 * others. False: there are too many. */
static bool split(branching *b, int k) {
  tp_ictx *ix = b->l->ix;
  tp_set *first =
      tp_ends_project(b->l, tp_set_and(tp_ends_need(b->l, b->n), tp_branch_set(b->l->g, b->n, k)));
  int n = b->ncell;
  for (int i = 0; i < n && b->ncell < MOST; i++) {
    cell *c = &b->cell[i];
    tp_set *in = tp_set_and(tp_set_copy(c->at), tp_set_copy(first)),
           *out = tp_set_minus(tp_set_copy(c->at), tp_set_copy(first));
    bool some = !tp_set_is_empty(ix, in), others = some && !tp_set_is_empty(ix, out);
    uint32_t was = c->may;
    if (some) c->may |= 1u << k;
    if (others) {
      b->cell[b->ncell++] = (cell){ out, was };
      tp_set_free(c->at);
      c->at = in;
    } else tp_set_free(in), tp_set_free(out);
  }
  tp_set_free(first);
  return b->ncell < MOST;
}

/* The first of the cell's branches that holds. */
static tp_val choose(branching *b, uint32_t may) {
  ends *l = b->l;
  tp_val y = tp_none;
  for (int k = b->nwas - 1; k >= 0; k--) {
    const tp_edge *e = &b->was[k];
    if (!(may >> k & 1)) continue;
    l->g->pos = e->pos.file ? e->pos : b->n->pos;
    y = y.node ? mk_select(l->mk, tp_ends_cond(l, e->cond, over_of(b->n)), e->src, y) : e->src;
    if (!y.node) return y;
  }
  return y;
}

/* Cells of the same branches are one. */
static void join(branching *b) {
  int n = 0;
  for (int i = 0; i < b->ncell; i++) {
    int k = 0;
    while (k < n && b->cell[k].may != b->cell[i].may) k++;
    if (k < n) b->cell[k].at = tp_set_or(b->cell[k].at, b->cell[i].at);
    else b->cell[n++] = b->cell[i];
  }
  b->ncell = n;
}

/* The cell with most branches comes last and takes the rest. */
static bool write_cells(branching *b) {
  ends *l = b->l;
  tp_node *n = b->n;
  int last = 0;
  for (int i = 1; i < b->ncell; i++)
    if (__builtin_popcount(b->cell[i].may) > __builtin_popcount(b->cell[last].may)) last = i;
  n->nin = 0;
  n->done = false;
  for (int i = 0; i <= b->ncell; i++) {
    bool rest = i == b->ncell;
    const cell *c = &b->cell[rest ? last : i];
    tp_ix *cond = NULL;
    if ((i == last && !rest) || !c->may) continue;
    if (!rest) {
      tp_set *all = tp_set_empty(l->ix, n->ndom, n->dom);
      for (int k = 0; k < b->ncell; k++)
        if (b->cell[k].may) all = tp_set_or(all, tp_set_copy(b->cell[k].at));
      if (!(cond = tp_set_told(l->ix, n->ndom, n->dom, c->at, all))) return false;
    }
    tp_val y = choose(b, c->may);
    l->g->pos = b->was[__builtin_ctz(c->may)].pos;
    if (!y.node || !tp_merge_add(l->g, n, cond, y, l->err)) return false;
  }
  return true;
}

bool tp_ends_branches(ends *l, tp_node *n) {
  branching b = { .l = l, .n = n, .nwas = n->nin, .ncell = 1 };
  bool any = false, ok = true;
  for (int k = 0; k < n->nin; k++) any |= n->in[k].cond && tp_mentions_end(l->g, n->in[k].cond);
  if (!any) return true;
  b.was = tp_dup(&l->g->arena, n->in, sizeof *n->in * (size_t)n->nin);
  b.cell[0] = (cell){ tp_set_box(l->ix, n->ndom, n->dom), 0 };
  for (int k = 0; k < b.nwas && ok; k++) ok = k < 32 && split(&b, k);
  ok = ok ||
      tp_fail(l->err, TP_E_AFFINE, n->pos,
          "affine: too many branches of '%s' depend on ends by data", tp_title(&l->g->arena, n));
  join(&b);
  ok = ok && write_cells(&b);
  for (int i = 0; i < b.ncell; i++) tp_set_free(b.cell[i].at);
  return ok;
}
