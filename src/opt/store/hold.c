/* hold: a state that is read at every n-th point only becomes a state that holds its value for n
 * points.
 *
 *   w[n * ((k + c) // n) + b]   =>   h[k],  h = w[k + c + b] where (k + c) % n == 0,
 *                                           w[n * (c // n) + b] where k == 0, otherwise h[k-1]
 *
 * so two states are kept, not n (target networks). The read and h have the same value at each
 * point, and h, which keeps its place, costs no work between two of these points. The pass asks
 * that the read and w are of one recurrence, so h adds no order; that w is needed everywhere, so h
 * needs no further point of it; and that w is no output along k, which is kept whole. */
#include "opt/opt.h"

/* n for which two states are less than what a ring keeps */
enum { FEWEST = 3 };

/* e = n * ((dim + c) // n) + b, at 0 for dim = 0 or after, and never after dim. */
typedef struct {
  int64_t n, c, b;
} steps;

/* The first part of e that is (dim + c) mod n or (dim + c) // n; NULL: none. */
static tp_ix *step_atom(tp_ix *e, tp_sym *dim) {
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    tp_ixs atom;
    for (int k = 0, n = tp_ix_term(e, i, &atom); k < n; k++) {
      bool steps = tp_ix_kind(atom[k]) == TP_IX_MOD || tp_ix_kind(atom[k]) == TP_IX_FDIV;
      tp_ix *of = steps ? tp_ix_arg(atom[k], 0) : NULL;
      if (of && tp_ix_nterm(of) == 1 && tp_ix_coef(of, 0) == 1 && tp_ix_mentions(of, dim))
        return atom[k];
    }
  }
  return NULL;
}

static bool is_steps(tp_ix *e, tp_sym *dim, steps *s) {
  tp_ix *atom = step_atom(e, dim);
  if (!atom) return false;
  tp_ix *at = tp_ix_arg(atom, 0);
  s->n = tp_ix_div(atom), s->c = tp_ix_cst(at);
  bool same = tp_ix_is_const(tp_ix_sub(e, tp_ix_sub(at, tp_ix_mod(at, s->n))), &s->b) ||
      tp_ix_is_const(tp_ix_sub(e, tp_ix_mulc(tp_ix_fdiv(at, s->n), s->n)), &s->b);
  return same && s->n >= FEWEST && s->c - tp_floormod(s->c, s->n) + s->b >= 0 && s->c + s->b <= 0;
}

/* The dim that the read moves by steps; -1: not one alone. */
static int moved_dim(const tp_node *read, steps *s) {
  const tp_node *w = tp_in(read, 0);
  int moved = -1;
  for (int d = 0; d < w->ndom; d++) {
    const tp_at *at = &read->attr.at[d];
    if (tp_at_is_own(at, w->dom[d])) continue;
    if (moved >= 0 || at->range || !tp_has_dim(read, w->dom[d]) || !is_steps(at->lo, w->dom[d], s))
      return -1;
    moved = d;
  }
  return moved;
}

static bool hold(tp_mk mk, tp_node *read, tp_sym *dim, const steps *s) {
  tp_graph *g = mk.g;
  tp_val w = read->in[0].src;
  const tp_out *o = &read->out[0];
  tp_ix *k = tp_ix_sym(dim), *zero = mk_int(mk, 0),
        *first = mk_int(mk, s->c - tp_floormod(s->c, s->n) + s->b),
        *cond[] = { tp_ix_cmp(TP_EQ, tp_ix_mod(tp_ix_addc(k, s->c), s->n), zero),
          tp_ix_cmp(TP_EQ, k, zero), NULL };
  g->pos = read->pos;
  tp_val m = mk_declared(mk, o->dtype, o->rank, o->shape, read->ndom, read->dom),
         branch[] = { mk_at(mk, w, dim, tp_ix_addc(k, s->c + s->b)), mk_at(mk, w, dim, first),
           mk_at(mk, m, dim, tp_ix_addc(k, -1)) };
  for (int i = 0; i < 3; i++)
    if (!branch[i].node || !tp_merge_add(g, m.node, cond[i], branch[i], mk.err)) return false;
  m.node->what = "held";
  tp_rewrite(
      g, tp_v(read), m, "hold", "a state read at every n-th point => held from one to the next");
  return true;
}

bool tp_pass_hold(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int n = g->nodes.n, *scc = TP_NEWN(&g->arena, int, n);
  const bool *whole = NULL;
  tp_graph_sccs(g, scc, NULL);
  for (int i = 0; i < n; i++) {
    tp_node *r = g->nodes.v[i], *w = r->op == TP_OP_READ ? tp_in(r, 0) : NULL;
    steps s;
    int dim = w && scc[i] == scc[w->id] ? moved_dim(r, &s) : -1;
    if (dim < 0 || tp_is_output(g, w)) continue;
    if (!whole) whole = tp_need_whole(*job->need, &g->arena);
    if (!whole[w->id]) continue;
    if (!hold((tp_mk){ .g = g, .err = err }, r, w->dom[dim], &s)) return false;
    job->changed = true;
  }
  return true;
}
