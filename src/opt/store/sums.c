/* sums: a reduction over the axes of a range read becomes an accumulation over time.
 *
 *   sum(read(x, lo .. hi), axis 0)  =>  accum(+) of x gathered over lo .. hi
 *
 * "Stack, then reduce" would keep every point of the range; an accumulation keeps the sum. The rule
 * applies to sum, prod, max and min when all the range's axes are among the reduced ones; spatial
 * axes reduced along with them are reduced first, at the producer's point (the four operators are
 * associative and commutative in exact arithmetic, so only the order of float sums changes). The
 * largest or smallest of no integers is an error, which an accumulation cannot tell from a value:
 * there the range must be provably not empty. The pass runs on the compiled path only: the
 * reference keeps the stack. */
#include "opt/opt.h"

static int range_axes(const tp_node *read) {
  int n = 0;
  for (int d = 0; d < tp_in(read, 0)->ndom; d++) n += read->attr.at[d].range;
  return n;
}

/* Splits n's axes into the range's axes, which come first (all nr of them must be there), and
 * spatial ones, renumbered for x. */
static bool split_axes(const tp_node *n, int nr, int *spatial, int *nspatial) {
  int found = 0;
  *nspatial = 0;
  for (int i = 0; i < n->attr.naxes; i++) {
    if (n->attr.axes[i] < nr) found++;
    else spatial[(*nspatial)++] = n->attr.axes[i] - nr;
  }
  return nr > 0 && found == nr;
}

/* Is the accumulation's first value always replaced, or the right answer for an empty range? */
static bool has_answer(const tp_node *n, const tp_node *read, int nr) {
  tp_dtype d = n->out[0].dtype;
  if (n->op == TP_OP_SUM || n->op == TP_OP_PROD || d == TP_BOOL || tp_dtype_float(d)) return true;
  for (int a = 0; a < nr; a++)
    if (!tp_ix_prove_ge0(tp_ix_addc(read->out[0].shape[a], -1), read->ndom, read->dom))
      return false;
  return true;
}

static tp_val accumulate(
    tp_mk mk, const tp_node *n, const tp_node *read, int ns, const int *spatial) {
  tp_val x = read->in[0].src;
  if (ns) x = mk_reduce(mk, n->op, x, ns, spatial, false);
  tp_val acc = tp_gathered(mk, tp_op_red(n->op), x, read->attr.at, read->ndom, read->dom);
  if (acc.node) tp_name_as(acc.node, n);
  return mk_reshape(mk, acc, n->out[0].rank, n->out[0].shape);
}

bool tp_pass_sums(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  for (int i = 0, n0 = g->nodes.n; i < n0; i++) {
    tp_node *n = g->nodes.v[i];
    if (tp_ops[n->op].cls != TP_CLS_RED) continue;
    const tp_node *read = tp_in(n, 0);
    if (read->op != TP_OP_READ) continue;
    int nr = range_axes(read), spatial[TP_MAXRANK], ns;
    if (!split_axes(n, nr, spatial, &ns) || !has_answer(n, read, nr)) continue;
    g->pos = n->pos;
    tp_val y = accumulate((tp_mk){ .g = g, .err = err }, n, read, ns, spatial);
    if (!y.node) return false;
    tp_rewrite(g, tp_v(n), y, "sums", "a reduction over a range of a dim => an accumulation");
  }
  tp_graph_prune(g);
  return true;
}

/* ---- accumulations in more than their dtype ----
 *
 *   accum<bf16>(+) of x  =>  bf16(accum<f32>(+) of f32(x))
 *
 * An accumulation is in memory between its contributions and rounded there after each: a sum of
 * ones in bf16 would stop at 256, and a million equal terms in f32 lose 1 %. The 16-bit floats are
 * kept in f32. A sum in f32 is kept in f64 where more than a few contributions may meet in one
 * element and that is as good as free: a conversion on the way is part of an elementwise pass, and
 * a small sum stays small. Matrix products, scatters by data and whole rows of a range are added up
 * in place, over blocks of points at a time: they stay in f32. Largest and smallest values need no
 * more than their own dtype. */

static int64_t elements(const tp_out *o) { /* SMALL + 1: more, or not known */
  int64_t all = 1, e, most = TP_TUNE_SMALL_SUM + 1;
  for (int i = 0; i < o->rank && all < most; i++)
    all = tp_ix_is_const(o->shape[i], &e) && e < most ? TP_MIN(all * e, most) : most;
  return all;
}

bool tp_is_small(const tp_out *o) { return elements(o) <= TP_TUNE_SMALL_SUM; }

static bool in_place(const tp_node *x, bool gather) {
  tp_cls cls = tp_ops[x->op].cls;
  return cls == TP_CLS_MM || cls == TP_CLS_CONV || tp_op_is(x->op, TP_ADDS) ||
      (x->op == TP_OP_SUM && !gather);
}

static bool pins(tp_ix *cond, tp_sym *d) {
  if (!cond || !tp_ix_mentions(cond, d)) return false;
  if (tp_ix_kind(cond) == TP_IX_EQ0) return true;
  bool any = false;
  for (int i = 0; tp_ix_kind(cond) == TP_IX_AND && i < tp_ix_narg(cond); i++)
    any |= pins(tp_ix_arg(cond, i), d);
  return any;
}

/* Up to so many terms, a sum in f32 is as good as one in f64. */
enum { FEW_TERMS = 16 };

static bool is_many(const tp_at *at) {
  int64_t n;
  return at->range && !(tp_ix_is_const(tp_ix_sub(at->hi, at->lo), &n) && n <= FEW_TERMS);
}

/* Do more than a few points of the source add to one point of n, in the scatter direction? Each
 * index of the target, or its range if that is short, gives away one dim of the source. */
static bool scatters_many(const tp_node *n, const tp_edge *e) {
  const tp_node *x = e->src.node;
  bool used[TP_MAXDIM] = { false };
  tp_ix *rest;
  int64_t step;
  for (int k = 0; k < x->ndom; k++) {
    bool told = pins(e->cond, x->dom[k]);
    for (int d = 0; d < n->ndom && !told; d++)
      if (!used[d] && !is_many(&e->at[d]))
        told = used[d] = tp_ix_mentions(e->at[d].lo, x->dom[k]) &&
            tp_ix_linear_in(e->at[d].lo, x->dom[k], &step, &rest);
    if (!told) return true;
  }
  return false;
}

static bool in_double(const tp_node *n) {
  int64_t size = elements(&n->out[0]);
  bool many = false;
  for (int k = 0; k < n->nin; k++) {
    const tp_edge *e = &n->in[k];
    bool ranges = false, long_ones = false;
    for (int d = 0; d < (e->gather ? e->src.node->ndom : n->ndom); d++)
      ranges |= e->at[d].range, long_ones |= is_many(&e->at[d]);
    if (size > 1 && (in_place(e->src.node, e->gather) || (!e->gather && ranges))) return false;
    many |= e->gather ? long_ones : scatters_many(n, e);
  }
  return many && size <= TP_TUNE_SMALL_SUM;
}

static tp_dtype kept_in(const tp_node *n) {
  tp_dtype d = n->out[0].dtype;
  if (!tp_dtype_float(d) || (n->attr.red != TP_RED_SUM && n->attr.red != TP_RED_PROD)) return d;
  if (in_double(n)) return TP_F64;
  return d == TP_F64 ? d : TP_F32;
}

static bool widen(tp_mk mk, tp_node *n, tp_dtype d) {
  mk.g->pos = n->pos;
  tp_attr at = n->attr;
  at.dtype = d;
  tp_val wide = mk_op(mk, TP_OP_ACCUM, 0, NULL, &at), y = mk_cast(mk, wide, n->out[0].dtype);
  if (!y.node) return false;
  tp_name_as(wide.node, n);
  tp_name_as(y.node, n);
  tp_replace(mk.g, tp_v(n), y);
  for (int k = 0; k < n->nin; k++) {
    tp_edge e = n->in[k];
    e.src = mk_cast(mk, e.src, d);
    if (!e.src.node || !tp_accum_add(mk.g, wide.node, e, mk.err)) return false;
  }
  return true;
}

bool tp_pass_widen(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int n0 = g->nodes.n;
  for (int i = 0; i < n0; i++) {
    tp_node *n = g->nodes.v[i];
    if (n->op != TP_OP_ACCUM) continue;
    tp_dtype d = kept_in(n);
    if (d != n->out[0].dtype && !widen((tp_mk){ .g = g, .err = err }, n, d)) return false;
  }
  if (g->nodes.n > n0) tp_graph_prune(g);
  return true;
}
