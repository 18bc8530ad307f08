/* ends_sums: contributions whose points end by data.
 *
 * A contribution goes from points p of the operand to points u of the target. Each condition that
 * ends put on a pair (p lies before its end, the contribution's condition, a range 0 .. T) is a
 * *part*. A part that holds for all pairs whose u is needed is left out: values beyond an end may
 * go to other u. The other parts are one mask on the operand, and the pairs are those that some end
 * allows. */
#include "opt/ends/ends.h"

/* A contribution to n while it is being changed. */
typedef struct sum {
  ends *l;
  tp_node *n;
  tp_edge e;
  /* the operand's dims, and dims that the mask brings in */
  int ndom;
  tp_dims dom;
  /* its conditions without and with ends; NULL: none */
  tp_ix *plain, *parts;
  uint32_t own; /* by stop, bits: `parts` mean the end at u, not at p */
} sum;

static tp_node *operand(const sum *s) { return s->e.src.node; }
static bool sum_mentions(const sum *s, tp_ix *e) { return tp_mentions_end(s->l->g, e); }
static tp_ix *sum_zero(const sum *s) { return tp_ix_const(s->l->ix, 0); }

static void set_at(sum *s, int n, int d, tp_at to) {
  tp_at *at = tp_dup(&s->l->g->arena, s->e.at, sizeof *at * (size_t)n);
  at[d] = to;
  s->e.at = at;
}

static bool becomes(sum *s, tp_val x) {
  s->e.src = x;
  if (!x.node) return false;
  s->ndom = x.node->ndom;
  s->dom = x.node->dom;
  return true;
}

static bool sum_crosses(const sum *s, const tp_stop *stop) {
  tp_node probe = *s->n;
  tp_edge e = s->e;
  probe.nin = 1;
  probe.in = &e;
  return tp_edge_crosses(&probe, 0, stop);
}

/* ---- pairs ---- */

/* {p -> u}, both within the bounds given. */
static tp_rel *all_pairs(const sum *s) {
  tp_ictx *c = s->l->ix;
  const tp_node *n = s->n;
  tp_set *p = tp_set_box(c, s->ndom, s->dom), *u = tp_set_box(c, n->ndom, n->dom);
  tp_rel *r = s->e.gather ? tp_rel_at(c, n->ndom, n->dom, s->ndom, s->dom, s->e.at)
                          : tp_rel_at(c, s->ndom, s->dom, n->ndom, n->dom, s->e.at);
  if (!s->e.gather)
    return tp_rel_into(
        tp_rel_restrict(
            s->plain ? tp_rel_where(c, r, s->ndom, s->dom, n->ndom, n->dom, s->plain) : r, p),
        u);
  if (s->plain) r = tp_rel_where(c, r, n->ndom, n->dom, s->ndom, s->dom, s->plain);
  return tp_rel_into(tp_rel_reverse(tp_rel_into(r, p)), u);
}

/* The pairs whose u is needed. at_p: ends are those at p, else at u. */
static tp_rel *needed_pairs(const sum *s, bool at_p) {
  ends *l = s->l;
  tp_set *need = tp_ends_need(l, s->n);
  TP_EACH (const tp_stop, stop, l->g->stops) {
    if (at_p && sum_crosses(s, stop) && tp_set_mentions(need, stop->sym))
      need = tp_set_some(l->ix, need, stop->sym, tp_end_within(l->g, stop, 0));
  }
  return tp_rel_into(all_pairs(s), need);
}

static bool holds(const sum *s, TP_KEEP tp_rel *pairs, tp_ix *part) {
  return tp_ends_never(s->l,
      tp_rel_points(tp_rel_where(
          s->l->ix, tp_rel_copy(pairs), s->ndom, s->dom, s->n->ndom, s->n->dom, tp_ix_not(part))),
      (over){ s->ndom, s->dom });
}

/* The parts that some needed pair does not keep. */
static tp_ix *asked(const sum *s, tp_ix *parts, bool at_p) {
  tp_ix *left = NULL, *x;
  tp_rel *pairs = needed_pairs(s, at_p);
  for (int k = 0; (x = tp_ix_conjunct(parts, k)); k++)
    if (!holds(s, pairs, x)) left = tp_ix_both(left, x);
  tp_rel_free(pairs);
  return left;
}

/* A condition for the points (u of a gather, else p) of pairs that some end allows; NULL: all
 * points have one. */
static tp_ix *allowed(sum *s, TP_TAKE tp_rel *pairs) {
  bool gather = s->e.gather;
  tp_rel *all = all_pairs(s);
  tp_set *points = tp_rel_points(gather ? tp_rel_reverse(pairs) : pairs);
  return tp_ends_told(s->l, (over){ gather ? s->n->ndom : s->ndom, gather ? s->n->dom : s->dom },
      tp_ends_project(s->l, points), tp_rel_points(gather ? tp_rel_reverse(all) : all));
}

/* ---- the new contribution ---- */

static bool only_reader(const sum *s) {
  const tp_graph *g = s->l->g;
  int n = tp_is_output(g, operand(s));
  TP_NODES (x, g->nodes)
    for (int k = 0; k < x->nin; k++) n += tp_in(x, k) == operand(s);
  return n == 1;
}

static bool stays(const sum *s, tp_sym *d) {
  for (int k = 0; k < s->ndom; k++)
    if (s->dom[k] == d) return tp_at_is_own(&s->e.at[k], d);
  return true;
}

/* `alive` means the end at p; s->parts mean the end at u for stops in `own`, else at p. */
static bool settle(sum *s, tp_edge *to) {
  ends *l = s->l;
  tp_ix *alive = tp_end_parts(l->g, tp_ends_alive(l, (over){ s->ndom, s->dom }), true), *ask;
  tp_rel *pairs = needed_pairs(s, !s->own);
  if (s->parts)
    pairs = tp_rel_where(l->ix, pairs, s->ndom, s->dom, s->n->ndom, s->n->dom, s->parts);
  if (alive && !s->own) pairs = tp_rel_restrict(pairs, tp_set_cond(l->ix, s->ndom, s->dom, alive));
  ask = tp_ix_both(asked(s, alive, true), asked(s, s->parts, !s->own));
  s->e.cond = tp_ix_both(s->plain, allowed(s, pairs));
  s->e.src = ask
      ? tp_ends_masked(l, ask, (over){ s->ndom, s->dom }, s->e.src, s->n->attr.red, only_reader(s))
      : tp_ends_same_dom(l, s->e.src, (over){ s->ndom, s->dom });
  if (s->e.src.node) *to = s->e;
  return s->e.src.node;
}

/* Adds dims to those of p, which is at u's points along them. */
static void bring_in(sum *s, int n, tp_dims dims) {
  tp_dims was = s->dom;
  int nwas = s->ndom, d = 0;
  s->ndom = tp_dom_union(s->l->g, s->ndom, s->dom, n, dims, &s->dom);
  if (!s->e.gather || s->ndom == nwas) return;
  tp_at *at = TP_NEWN(&s->l->g->arena, tp_at, s->ndom + 1);
  for (int k = 0; k < s->ndom; k++)
    at[k] = d < nwas && was[d] == s->dom[k] ? s->e.at[d++] : (tp_at){ .lo = tp_ix_sym(s->dom[k]) };
  s->e.at = at;
}

static bool at_ends(const sum *s, const tp_at *at) {
  return sum_mentions(s, at->lo) || (at->range && sum_mentions(s, at->hi));
}

/* ---- gathers: ends stand in the ranges ---- */

/* Makes the ends in e those at u: the dims of which they are functions join p's. False: some dim
 * differs between p and u. */
static bool told_at_u(sum *s, tp_ix *e) {
  if (!e || !sum_mentions(s, e)) return true;
  const tp_node about = tp_ends_about(s->l, e);
  for (int d = 0; d < about.ndom; d++)
    if (!stays(s, about.dom[d])) return false;
  bring_in(s, about.ndom, about.dom);
  for (int i = 0; i < s->l->g->stops.n; i++)
    if (tp_ix_mentions(e, s->l->g->stops.v[i].sym)) s->own |= 1u << i;
  return true;
}

/* lo <= p < hi with an end in lo or hi becomes a part, and the range goes as far as any end allows.
 * False: the part can be no mask on the operand. */
static bool widen_range(sum *s, int k) {
  tp_sym *d = s->dom[k];
  tp_ix *p = tp_ix_sym(d);
  tp_at r = s->e.at[k];
  if (sum_mentions(s, r.lo)) s->parts = tp_ix_both(s->parts, tp_ix_cmp(TP_GE, p, r.lo));
  if (sum_mentions(s, r.hi)) s->parts = tp_ix_both(s->parts, tp_ix_cmp(TP_LT, p, r.hi));
  set_at(s, s->ndom, k,
      (tp_at){ true, tp_ends_extreme(s->l, r.lo, false, d), tp_ends_extreme(s->l, r.hi, true, d) });
  return told_at_u(s, r.lo) && told_at_u(s, r.hi);
}

/* Reads the whole contribution at u's point, and then reduces it. */
static bool stacked(sum *s) {
  ends *l = s->l;
  tp_node *x = operand(s);
  int axes[TP_MAXRANK], n = 0;
  for (int k = 0; k < x->ndom; k++)
    if (s->e.at[k].range) axes[n] = n, n++;
  tp_val y = mk_reduce(
      l->mk, tp_red_op(s->n->attr.red), tp_ends_read_at(l, s->e.src, s->e.at), n, axes, false);
  if (y.node) s->e.at = tp_at_own(l->g, y.node->ndom, y.node->dom);
  return becomes(s, y);
}

/* The condition and the ranges of a gather mean the ends at u. False: they cannot be a mask on the
 * operand. */
static bool masks(sum *s, const tp_edge *e) {
  const tp_node *x = e->src.node;
  if (!told_at_u(s, s->parts)) return false;
  for (int k = 0; k < x->ndom; k++) {
    int j = 0;
    if (!at_ends(s, &e->at[k])) continue;
    while (s->dom[j] != x->dom[k]) j++;
    if (!e->at[k].range || !widen_range(s, j)) return false;
  }
  for (int i = 0; i < s->l->g->stops.n; i++)
    if ((s->own >> i & 1) && sum_crosses(s, &s->l->g->stops.v[i])) return false;
  return true;
}

static bool gathered(sum *s, tp_edge *to) {
  const sum was = *s;
  if (masks(s, to)) return settle(s, to);
  *s = was;
  return stacked(s) && told_at_u(s, s->parts) && settle(s, to);
}

/* ---- scatters: ends stand in the map ---- */

/* The one row that is repeated along the axis, as in the derivative of a sum over all of dim t;
 * {NULL}: rows differ, or an error. */
static tp_val one_row(const sum *s, int axis) {
  const tp_node *x = operand(s);
  int64_t one;
  if (x->op != TP_OP_EXPAND) return tp_none;
  tp_val y = x->in[0].src;
  int a = axis - (tp_rankof(s->e.src) - tp_rankof(y));
  if (a < 0) return y;
  return tp_ix_is_const(mk_extent(y, a), &one) && one == 1 ? mk_squeeze(s->l->mk, y, a) : tp_none;
}

/* A row that stands for all of the range lo .. hi goes to each point of u's dim, which p lacks. */
static bool repeated(sum *s, int d, int axis, tp_val row) {
  tp_sym *t = s->n->dom[d];
  tp_ix *u = tp_ix_sym(t), *shape[TP_MAXRANK];
  tp_at r = s->e.at[d];
  int n = mk_shape_but(s->l->mk, s->e.src, 1, &axis, false, shape);
  s->e.src = mk_expand(s->l->mk, row, n, shape);
  bring_in(s, 1, &t);
  s->parts = tp_ix_both(s->parts, tp_ix_and(tp_ix_cmp(TP_GE, u, r.lo), tp_ix_cmp(TP_LT, u, r.hi)));
  set_at(s, s->n->ndom, d, (tp_at){ .lo = u });
  return s->e.src.node;
}

/* A range with an end in it: rows of zeros stand before and after it. */
static bool padded(sum *s, int d, int axis) {
  ends *l = s->l;
  tp_sym *t = s->n->dom[d];
  tp_at r = s->e.at[d];
  tp_node *x = operand(s);
  tp_val row = tp_dom_has(s->ndom, s->dom, t) ? tp_none : one_row(s, axis);
  if (row.node) return repeated(s, d, axis, row);
  if (l->err->code) return false;
  tp_ix *lo = tp_ends_extreme(l, r.lo, false, t), *hi = tp_ends_extreme(l, r.hi, true, t),
        *before = tp_ix_sub(r.lo, lo),
        *rest = tp_ix_sub(tp_ix_extent(lo, hi, x->ndom, x->dom), before);
  s->e.src = mk_pad(l->mk, s->e.src, axis, before, tp_ix_sub(rest, mk_extent(s->e.src, axis)), 0);
  if (!s->e.src.node) return false;
  bring_in(s, operand(s)->ndom, operand(s)->dom);
  set_at(s, s->n->ndom, d, (tp_at){ true, lo, hi });
  return true;
}

/* Is t mentioned by an index of another dim than d, or by an extent of the operand? */
static bool elsewhere(const sum *s, int d, tp_sym *t) {
  bool any = tp_ends_shape_moves(s->e.src, t);
  for (int k = 0; k < s->n->ndom; k++)
    any |= k != d &&
        (tp_ix_mentions(s->e.at[k].lo, t) ||
            (s->e.at[k].range && tp_ix_mentions(s->e.at[k].hi, t)));
  return any;
}

/* Masks the operand, which adds nothing where its conditions do not hold; where they hold for no
 * end, it is not needed. */
static bool mask_now(sum *s) {
  ends *l = s->l;
  const tp_node *p = operand(s);
  tp_ix *cond = tp_ix_both(tp_ix_both(s->parts, s->plain), tp_ends_alive(l, over_of(p)));
  tp_val x = tp_ends_masked(l, cond, over_of(p), s->e.src, s->n->attr.red, false);
  s->parts = s->plain = s->e.cond = NULL;
  s->e.src = x;
  if (!x.node) return false;
  int ndom = x.node->ndom;
  tp_dims dom = x.node->dom;
  tp_ix *there = tp_ends_told(l, (over){ ndom, dom },
      tp_ends_project(l, tp_set_cond(l->ix, ndom, dom, cond)), tp_set_box(l->ix, ndom, dom));
  const tp_out *o = tp_outof(x);
  if (there)
    s->e.src = mk_either(l->mk, ndom, dom, there, x,
        mk_fill(l->mk, tp_red_identity(s->n->attr.red, o->dtype), o->dtype, o->rank, o->shape, ndom,
            dom));
  return s->e.src.node;
}

/* All of dim t goes to one point: contributes the sum over t instead. */
static bool sum_first(sum *s, tp_sym *t) {
  return mask_now(s) && becomes(s, tp_ends_over(s->l, s->n->attr.red, s->e.src, t));
}

/* Rows of all of dim t, with zeros beyond its end, where rows may never have been made. */
static tp_val made_rows(const sum *s, tp_val rows, tp_sym *t) {
  ends *l = s->l;
  for (int i = 0; rows.node && i < l->g->stops.n; i++) {
    if (l->g->stops.v[i].dim != t) continue;
    tp_val made = mk_bin(l->mk, TP_OP_LT, mk_indices(l->mk, tp_ix_sym(t->bound)),
        tp_ends_read(l, i, over_of(rows.node), NULL));
    for (int a = 1; made.node && a < tp_rankof(rows); a++) made = mk_unsqueeze(l->mk, made, a);
    rows = mk_where(l->mk, made, rows);
  }
  return rows;
}

/* Contributes all of dim t as rows, each added to the row of u whose number is computed. */
static bool add_rows(sum *s, int d, tp_sym *t) {
  ends *l = s->l;
  tp_sym *to = s->n->dom[d];
  if (!mask_now(s)) return false;
  tp_node *x = operand(s);
  tp_val k = tp_ends_value(l, tp_ends_clamped(l, s->e.at[d].lo, to), over_of(x)),
         src = tp_ends_same_dom(l, k, over_of(x));
  tp_sym *left[64];
  tp_ix *shape[TP_MAXRANK];
  const tp_at *at = tp_ends_whole(l, over_of(x), tp_ends_left(x, t, left), left);
  k = made_rows(s, src.node ? tp_read(l->g, src, at, l->err) : src, t);
  src = made_rows(s, k.node ? tp_read(l->g, s->e.src, at, l->err) : k, t);
  if (!src.node) return false;
  shape[0] = tp_ix_sym(to->bound);
  for (int a = 1; a < tp_rankof(src); a++) shape[a] = mk_extent(src, a);
  tp_val base = mk_fill(l->mk, 0, tp_dtypeof(src), tp_rankof(src), shape, 0, NULL);
  set_at(s, s->n->ndom, d, (tp_at){ true, sum_zero(s), tp_ix_sym(to->bound) });
  return becomes(
      s, mk_op(l->mk, TP_OP_INDEX_ADD, 3, (tp_val[]){ base, k, src }, &(tp_attr){ .axis = 0 }));
}

static bool has_ranges(const sum *s) {
  for (int k = 0; k < s->n->ndom; k++)
    if (s->e.at[k].range) return true;
  return false;
}

/* Handles a point index u = e with an end in e. */
static bool pointed(sum *s, int d) {
  tp_sym *t = s->n->dom[d];
  tp_ix *e = s->e.at[d].lo;
  if (tp_dom_has(operand(s)->ndom, operand(s)->dom, t)) {
    bool moved = elsewhere(s, d, t);
    if (tp_ix_mentions(e, t) && (moved || has_ranges(s)))
      return tp_fail(s->l->err, TP_E_AFFINE, s->e.pos,
          "affine: the derivative of a read at %s, where '%s' ends by data, cannot be written down",
          tp_ix_str(e), t->name);
    if (tp_ix_mentions(e, t) || moved) return add_rows(s, d, t);
    if (!sum_first(s, t)) return false;
  }
  bring_in(s, 1, &t);
  s->parts = tp_ix_both(s->parts, tp_ix_cmp(TP_EQ, tp_ix_sym(t), e));
  set_at(s, s->n->ndom, d, (tp_at){ .lo = tp_ix_sym(t) });
  return true;
}

static bool scattered(sum *s, tp_edge *to) {
  for (int d = 0, axis = 0; d < s->n->ndom; d++) {
    const tp_at *at = &s->e.at[d];
    bool range = at->range;
    if (at_ends(s, at) && !(range ? padded(s, d, axis) : pointed(s, d))) return false;
    axis += range && s->e.at[d].range;
  }
  return settle(s, to);
}

/* ---- all ---- */

static bool concerns(const sum *s) {
  const tp_node *x = operand(s);
  bool any = s->e.cond && sum_mentions(s, s->e.cond);
  for (int k = 0; k < (s->e.gather ? x->ndom : s->n->ndom); k++) any |= at_ends(s, &s->e.at[k]);
  for (int i = 0; i < s->l->g->stops.n; i++) any |= tp_has_dim(x, s->l->g->stops.v[i].dim);
  return any;
}

bool tp_ends_sum(ends *l, tp_node *n) {
  for (int k = 0; k < n->nin; k++) {
    const tp_edge *e = &n->in[k];
    sum s = { .l = l, .n = n, .e = *e, .ndom = e->src.node->ndom, .dom = e->src.node->dom };
    if (!concerns(&s)) continue;
    l->g->pos = e->pos.file ? e->pos : n->pos;
    s.plain = tp_end_parts(l->g, e->cond, false);
    s.parts = tp_end_parts(l->g, e->cond, true);
    if (!(e->gather ? gathered : scattered)(&s, &n->in[k])) return false;
  }
  return true;
}
