/* ends: what is reached by data becomes data, so that nothing below knows of it but as values.
 *
 *   stop t done        =>   end = accum(min) of where(done, t + 1, a number beyond any) gathered
 * over 0 .. given T >= e             =>   value(e - 1) < (end, after what it takes from t < e - 1)
 *   t == T - 1         =>   value(t + 1) == (end, after what it takes from t < t + 1)
 *
 * From here on a dim goes to the bound that the call gave, which is the end where no done holds:
 * end stands for min(end, given). Read early, it is a number not less than the final one, and
 * whether t lies before it is known for good once done is for all points before t. So a condition
 * on an end is a bool that waits for no more than it asks, and what had a condition becomes a
 * value:
 *
 *   contributions      where(condition, x, what adds nothing)                        (ends_sums.c)
 *   branches           where(condition, first, second), over the points that several may take;
 * points that only one may take keep it      (ends_points.c) x[T - 1]           the sum of x where
 * t is the last: one point is kept and not all; other points: index_select of the whole dim
 *
 * What is computed beyond an end has no effect, and is thrown away by those masks. An operator that
 * can fail there gets operands that cannot. Only extents still mention what was reached (a hidden
 * bound: tp_stop.sym), as a range over 0 .. T that nothing reduces: they wait for all of it. Runs
 * on the compiled path only. */
#include "opt/ends.h"

static const tp_ix *sym(ends *l, const tp_sym *s) { return tp_ix_sym(l->ix, s); }
static const tp_ix *num(ends *l, int64_t k) { return tp_ix_const(l->ix, k); }
static tp_stop *stop(ends *l, int i) { return &l->g->stops.v[i]; }

/* The stop that e mentions: its number from `from` on, -1: none. */
static int next_end(ends *l, const tp_ix *e, int from) {
  for (int i = from; i < l->g->stops.n; i++)
    if (tp_ix_mentions(e, stop(l, i)->sym)) return i;
  return -1;
}

static bool mentions(ends *l, const tp_ix *e) { return next_end(l, e, 0) >= 0; }

/* ---- ends as values ---- */

static tp_val value(ends *l, const tp_ix *e) { return tp_ixvalue(l->g, e, l->err); }

tp_at *tp_ends_whole(
    ends *l, int ndom, const tp_sym *const *dom, int nleft, const tp_sym *const *left) {
  tp_at *at = tp_at_own(l->g, ndom, dom);
  for (int d = 0; d < ndom; d++)
    if (!tp_dom_has(nleft, left, dom[d])) at[d] = (tp_at){ true, num(l, 0), sym(l, dom[d]->bound) };
  return at;
}

static tp_val reduced(ends *l, tp_red red, tp_val x, int n, const tp_sym *const *left) {
  if (!x.node) return x;
  const tp_out *o = tp_outof(x);
  const tp_at *at = tp_ends_whole(l, x.node->ndom, x.node->dom, n, left);
  tp_val y = mk_op(l->mk, TP_OP_ACCUM, 0, NULL,
      &(tp_attr){
          .dtype = o->dtype, .nix = o->rank, .ix = o->shape, .ndom = n, .dom = left, .red = red });
  return y.node &&
          tp_accum_add(l->g, y.node,
              (tp_edge){ .src = x, .at = at, .gather = true, .pos = l->g->pos }, l->err)
      ? y
      : tp_none;
}

int tp_ends_left(const tp_node *n, const tp_sym *t, const tp_sym **left) {
  int m = 0;
  for (int d = 0; d < n->ndom; d++)
    if (n->dom[d] != t) left[m++] = n->dom[d];
  return m;
}

tp_val tp_ends_over(ends *l, tp_red red, tp_val x, const tp_sym *t) {
  const tp_sym *left[64];
  return x.node ? reduced(l, red, x, tp_ends_left(x.node, t, left), left) : x;
}

static bool make_end(ends *l, int i) {
  tp_stop *s = stop(l, i);
  l->g->pos = s->pos;
  tp_val never = mk_num(l->mk, 9223372036854775808.0, TP_I64); /* saturates */
  tp_val at = mk_select(l->mk, s->done, value(l, tp_ix_addc(l->ix, sym(l, s->dim), 1)), never);
  tp_val end = reduced(l, TP_RED_MIN, at, s->ndom, s->dom);
  if (!end.node) return false;
  end.node->name = s->dim->bound->name;
  l->end[i] = end.node;
  return true;
}

/* The greatest over the dims that dom lacks. */
static tp_val greatest(ends *l, const tp_stop *s, tp_val x, int ndom, const tp_sym *const *dom) {
  const tp_sym *left[x.node->ndom + 1];
  int n = 0;
  for (int d = 0; d < x.node->ndom; d++)
    if (!tp_dom_has(s->ndom, s->dom, x.node->dom[d]) || tp_dom_has(ndom, dom, x.node->dom[d]))
      left[n++] = x.node->dom[d];
  if (n == x.node->ndom) return x;
  /* rows that may have ended themselves */
  const tp_ix *alive = tp_ends_alive(l, &(tp_node){ .ndom = s->ndom, .dom = s->dom });
  if (tp_ix_kind(alive) != TP_IX_TRUE)
    x = tp_ends_masked(l, alive, x.node->ndom, x.node->dom, x, TP_RED_MAX, false);
  return reduced(l, TP_RED_MAX, x, n, left);
}

static tp_val read_end(ends *l, int i, const tp_ix *upto) {
  const tp_stop *s = stop(l, i);
  tp_val x = tp_v(l->end[i]);
  return upto
      ? mk_op(l->mk, TP_OP_READ, 1, &x,
            &(tp_attr){
                .nat = s->ndom, .at = tp_at_own(l->g, s->ndom, s->dom), .nix = 1, .ix = &upto })
      : x;
}

tp_val tp_ends_read(ends *l, int i, int ndom, const tp_sym *const *dom, const tp_ix *upto) {
  for (int k = 0; k < l->reads.n; k++) {
    const ends_read *r = &l->reads.v[k];
    if (r->stop == i && r->upto == upto && tp_dom_same(r->ndom, r->dom, ndom, dom)) return r->val;
  }
  tp_val x = read_end(l, i, upto);
  if (x.node) x = greatest(l, stop(l, i), x, ndom, dom);
  TP_PUSH(&l->g->arena, &l->reads, (ends_read){ i, ndom, dom, upto, x });
  return x;
}

static tp_val sum_of(ends *l, const tp_ix *e, int ndom, const tp_sym *const *dom) {
  tp_val y = { 0 };
  const tp_ix *plain = num(l, tp_ix_cst(e));
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    const tp_ix *const *atom, *whole = num(l, tp_ix_coef(e, i));
    int n = tp_ix_term(e, i, &atom);
    bool any = false;
    for (int k = 0; k < n; k++)
      any |= mentions(l, atom[k]), whole = tp_ix_mul(l->ix, whole, atom[k]);
    if (!any) {
      plain = tp_ix_add(l->ix, plain, whole);
      continue;
    }
    tp_val x = tp_ends_value(l, atom[0], ndom, dom);
    for (int k = 1; k < n; k++) x = mk_mul(l->mk, x, tp_ends_value(l, atom[k], ndom, dom));
    if (tp_ix_coef(e, i) != 1) x = mk_mul(l->mk, value(l, num(l, tp_ix_coef(e, i))), x);
    y = y.node ? mk_add(l->mk, y, x) : x;
    if (!y.node) return y;
  }
  return plain == num(l, 0) ? y : mk_add(l->mk, y, value(l, plain));
}

tp_val tp_ends_value(ends *l, const tp_ix *e, int ndom, const tp_sym *const *dom) {
  int i = next_end(l, e, 0);
  if (i < 0) return value(l, e);
  if (tp_ix_as_sym(e)) {
    tp_val y = mk_bin(l->mk, TP_OP_MINIMUM, tp_ends_read(l, i, ndom, dom, NULL),
        value(l, sym(l, stop(l, i)->given)));
    if (y.node) y.node->pos = stop(l, i)->pos; /* it is the end */
    return y;
  }
  bool most = tp_ix_kind(e) == TP_IX_MAX, mod = tp_ix_kind(e) == TP_IX_MOD;
  switch (tp_ix_kind(e)) {
  case TP_IX_POLY: return sum_of(l, e, ndom, dom);
  case TP_IX_FDIV:
  case TP_IX_MOD:
    return mk_bin(l->mk, mod ? TP_OP_MOD : TP_OP_FLOORDIV,
        tp_ends_value(l, tp_ix_arg(e, 0), ndom, dom), mk_num(l->mk, (double)tp_ix_div(e), TP_I64));
  default: break;
  }
  tp_val y = tp_ends_value(l, tp_ix_arg(e, 0), ndom, dom);
  for (int k = 1; k < tp_ix_narg(e); k++)
    y = mk_bin(l->mk, most ? TP_OP_MAXIMUM : TP_OP_MINIMUM, y,
        tp_ends_value(l, tp_ix_arg(e, k), ndom, dom));
  return y;
}

/* ---- conditions as values ---- */

/* e = k * end + rest with k 1 or -1 and no end in rest. */
static bool linear(ends *l, const tp_ix *e, int *i, int64_t *k, const tp_ix **rest) {
  *i = next_end(l, e, 0);
  return tp_ix_linear_in(l->ix, e, stop(l, *i)->sym, k, rest) && (*k == 1 || *k == -1) &&
      !mentions(l, *rest);
}

/* (value of e) op end: known once done is for all points before e, which is below what was given or
 * has to be compared with that too. */
static tp_val compare(
    ends *l, tp_op op, int i, const tp_ix *e, int ndom, const tp_sym *const *dom) {
  tp_val end = tp_ends_read(l, i, ndom, dom, e);
  const tp_ix *given = sym(l, stop(l, i)->given);
  if (!tp_ix_prove_ge0(l->ix, tp_ix_addc(l->ix, tp_ix_sub(l->ix, given, e), -1), ndom, dom))
    end = mk_bin(l->mk, TP_OP_MINIMUM, end, value(l, given));
  return mk_bin(l->mk, op, value(l, e), end);
}

const tp_ix *tp_ends_extremum(ends *l, const tp_ix *e, int64_t *k) {
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    const tp_ix *const *atom;
    *k = tp_ix_coef(e, i);
    if (tp_ix_term(e, i, &atom) == 1 &&
        (tp_ix_kind(atom[0]) == TP_IX_MIN || tp_ix_kind(atom[0]) == TP_IX_MAX) &&
        mentions(l, atom[0]))
      return atom[0];
  }
  return NULL;
}

/* e >= 0 with a min or max as a condition on each of its operands. */
static const tp_ix *taken_apart(ends *l, const tp_ix *e) {
  int64_t k;
  const tp_ix *m = tp_ends_extremum(l, e, &k), *all = NULL;
  if (!m) return NULL;
  bool and = (tp_ix_kind(m) == TP_IX_MIN) == (k > 0);
  const tp_ix *rest = tp_ix_sub(l->ix, e, tp_ix_mulc(l->ix, m, k));
  for (int i = 0; i < tp_ix_narg(m); i++) {
    const tp_ix *x = tp_ix_cmp(
        l->ix, TP_GE, tp_ix_add(l->ix, rest, tp_ix_mulc(l->ix, tp_ix_arg(m, i), k)), num(l, 0));
    all = !all ? x : and? tp_ix_and(l->ix, all, x) : tp_ix_or(l->ix, all, x);
  }
  return all;
}

static tp_val at_least_zero(ends *l, const tp_ix *e, int ndom, const tp_sym *const *dom) {
  int i;
  int64_t k;
  const tp_ix *rest, *apart;
  if (linear(l, e, &i, &k, &rest)) {
    if (k > 0)
      return compare(l, TP_OP_LT, i, tp_ix_addc(l->ix, tp_ix_neg(l->ix, rest), -1), ndom, dom);
    return mk_un(l->mk, TP_OP_LNOT, compare(l, TP_OP_LT, i, rest, ndom, dom));
  }
  if ((apart = taken_apart(l, e))) return tp_ends_cond(l, apart, ndom, dom);
  return mk_bin(l->mk, TP_OP_GE, tp_ends_value(l, e, ndom, dom), mk_num(l->mk, 0, TP_I64));
}

static tp_val equal_zero(ends *l, const tp_ix *e, int ndom, const tp_sym *const *dom) {
  int i;
  int64_t k;
  const tp_ix *rest;
  if (linear(l, e, &i, &k, &rest))
    return compare(l, TP_OP_EQ, i, k > 0 ? tp_ix_neg(l->ix, rest) : rest, ndom, dom);
  return mk_bin(l->mk, TP_OP_EQ, tp_ends_value(l, e, ndom, dom), mk_num(l->mk, 0, TP_I64));
}

static tp_val several(ends *l, const tp_ix *cond, int ndom, const tp_sym *const *dom) {
  tp_op op = tp_ix_kind(cond) == TP_IX_AND ? TP_OP_LAND : TP_OP_LOR;
  tp_val y = { 0 };
  const tp_ix *plain = NULL;
  for (int i = 0; i < tp_ix_narg(cond); i++) {
    const tp_ix *x = tp_ix_arg(cond, i);
    if (!mentions(l, x)) {
      plain = !plain         ? x
          : op == TP_OP_LAND ? tp_ix_and(l->ix, plain, x)
                             : tp_ix_or(l->ix, plain, x);
      continue;
    }
    tp_val v = tp_ends_cond(l, x, ndom, dom);
    y = y.node ? mk_bin(l->mk, op, y, v) : v;
    if (!y.node) return y;
  }
  return plain ? mk_bin(l->mk, op, y, value(l, plain)) : y;
}

/* One for each use: it goes into the operator that uses it, and is nowhere kept. */
tp_val tp_ends_cond(ends *l, const tp_ix *cond, int ndom, const tp_sym *const *dom) {
  if (!mentions(l, cond)) return value(l, cond);
  switch (tp_ix_kind(cond)) {
  case TP_IX_GE0: return at_least_zero(l, tp_ix_arg(cond, 0), ndom, dom);
  case TP_IX_EQ0: return equal_zero(l, tp_ix_arg(cond, 0), ndom, dom);
  case TP_IX_NOT: return mk_un(l->mk, TP_OP_LNOT, tp_ends_cond(l, tp_ix_arg(cond, 0), ndom, dom));
  default: return several(l, cond, ndom, dom);
  }
}

/* ---- whatever is reached ---- */

const tp_ix *tp_ends_extreme(ends *l, const tp_ix *e, bool most, const tp_sym *dim) {
  e = tp_end_extreme(l->g, e, most, 0, NULL);
  return e ? e : most ? sym(l, dim->bound) : num(l, 0);
}

tp_node tp_ends_about(ends *l, const tp_ix *e) {
  tp_node n = { 0 };
  tp_dom_add(l->g, &n, e);
  return n;
}

bool tp_ends_shape_moves(tp_val x, const tp_sym *d) {
  int axis;
  return tp_varies(tp_rankof(x), tp_outof(x)->shape, 1, &d, &axis);
}

const tp_ix *tp_ends_clamped(ends *l, const tp_ix *e, const tp_sym *dim) {
  return tp_ix_max(
      l->ix, num(l, 0), tp_ix_min(l->ix, e, tp_ix_addc(l->ix, sym(l, dim->bound), -1)));
}

/* Any number from 1 on, up to what was given; 0 if that is 0. */
static const tp_ix *within(ends *l, const tp_stop *s) {
  const tp_ix *none = tp_ix_and(l->ix, tp_ix_cmp(l->ix, TP_EQ, sym(l, s->sym), num(l, 0)),
      tp_ix_cmp(l->ix, TP_EQ, sym(l, s->given), num(l, 0)));
  return tp_ix_or(l->ix, tp_end_within(l->g, s, 1), none);
}

const tp_ix *tp_ends_within(ends *l, TP_KEEP tp_set *a) {
  const tp_ix *all = tp_ix_bool(l->ix, true);
  for (int i = 0; i < l->g->stops.n; i++)
    if (tp_set_mentions(l->ix, a, stop(l, i)->sym))
      all = tp_ix_and(l->ix, all, within(l, stop(l, i)));
  return all;
}

tp_set *tp_ends_project(ends *l, tp_set *a) {
  for (int i = 0; i < l->g->stops.n; i++)
    if (tp_set_mentions(l->ix, a, stop(l, i)->sym))
      a = tp_set_some(l->ix, a, stop(l, i)->sym, within(l, stop(l, i)));
  return a;
}

/* The sets are of the graph in which a dim's bound was what is reached. */
tp_set *tp_ends_need(ends *l, const tp_node *n) {
  for (int i = 0; i < l->parts.n; i++)
    if (l->parts.v[i].node == n) return tp_set_copy(l->parts.v[i].need);
  tp_set *a = n->id < l->n ? tp_set_copy(l->need->set[n->id]) : tp_set_box(l->ix, n->ndom, n->dom);
  for (int i = 0; i < l->g->stops.n; i++) {
    const tp_stop *s = stop(l, i);
    if (tp_set_mentions(l->ix, a, s->dim->bound))
      a = tp_set_some(
          l->ix, a, s->dim->bound, tp_ix_cmp(l->ix, TP_EQ, sym(l, s->dim->bound), sym(l, s->sym)));
  }
  return a;
}

bool tp_ends_feeds(const ends *l, const tp_node *n) {
  bool any = n->id < l->n && l->feeds[n->id];
  for (int i = 0; i < l->parts.n; i++) any |= l->parts.v[i].node == n && l->parts.v[i].feeds;
  return any;
}

const tp_ix *tp_ends_alive(ends *l, const tp_node *n) {
  const tp_ix *all = tp_ix_bool(l->ix, true);
  for (int i = 0; i < l->g->stops.n; i++)
    if (tp_dom_has(n->ndom, n->dom, stop(l, i)->dim))
      all = tp_ix_and(
          l->ix, all, tp_ix_cmp(l->ix, TP_LT, sym(l, stop(l, i)->dim), sym(l, stop(l, i)->sym)));
  return all;
}

tp_val tp_ends_same_dom(ends *l, tp_val v, int ndom, const tp_sym *const *dom) {
  if (!v.node || tp_dom_same(v.node->ndom, v.node->dom, ndom, dom)) return v;
  return mk_select(l->mk, mk_fill(l->mk, 1, TP_BOOL, 0, NULL, ndom, dom), v, v);
}

/* ---- masks ---- */

/* Do the rows that cond tells apart come one after the other? Then what it excludes need not run at
 * all, if it is made before (plan/build.c); else it goes into its user. */
static bool comes_alone(const ends *l, const tp_ix *cond) {
  bool alone = true;
  for (int i = 0; i < l->g->stops.n; i++)
    alone &= l->alone[i] || !tp_ix_mentions(cond, l->g->stops.v[i].sym);
  return alone;
}

static tp_val masked(ends *l, const tp_ix *cond, int ndom, const tp_sym *const *dom, tp_val x,
    tp_red red, bool only) {
  const tp_node *n = x.node;
  if (!n) return tp_none;
  if (n->op == TP_OP_FILL && n->attr.f[0] == tp_red_identity(red, tp_dtypeof(x))) return x;
  bool contracts = n->op == TP_OP_MATMUL || n->op == TP_OP_CONV_WEIGHT || n->op == TP_OP_SUM;
  if (!only || red != TP_RED_SUM || !contracts) {
    tp_val mask = tp_ends_cond(l, cond, ndom, dom),
           nothing = mk_num(l->mk, tp_red_identity(red, tp_dtypeof(x)), tp_dtypeof(x));
    return comes_alone(l, cond) ? mk_select(l->mk, mask, x, nothing)
                                : mk_select(l->mk, mk_un(l->mk, TP_OP_LNOT, mask), nothing, x);
  }
  tp_val in[2];
  for (int k = 0; k < n->nin; k++)
    in[k] = mk_select(l->mk, tp_ends_cond(l, cond, ndom, dom), n->in[k].src,
        mk_num(l->mk, 0, tp_dtypeof(n->in[k].src)));
  return mk_op(l->mk, n->op, n->nin, in, &n->attr);
}

tp_val tp_ends_masked(ends *l, const tp_ix *cond, int ndom, const tp_sym *const *dom, tp_val x,
    tp_red red, bool only) {
  return tp_ends_same_dom(l, masked(l, cond, ndom, dom, x, red, only), ndom, dom);
}

/* ---- operators that can fail ---- */

/* Is all of a, where cond holds, in b? */
static bool told(
    ends *l, const tp_node *n, TP_KEEP tp_set *a, const tp_ix *cond, TP_KEEP tp_set *b) {
  tp_set *some = tp_set_and(tp_set_copy(a), tp_set_cond(l->ix, n->ndom, n->dom, cond));
  bool yes = some && b && tp_set_subset(l->ix, some, b);
  tp_set_free(some);
  return yes;
}

/* Where n is needed, as far as ends say it; TRUE: everywhere. One piece around it if that is the
 * same. */
static const tp_ix *asks(ends *l, const tp_node *n) {
  const tp_ix *alive = tp_ends_alive(l, n), *cond = NULL;
  tp_set *own = tp_ends_need(l, n),
         *known = tp_set_and(tp_ends_project(l, tp_set_copy(own)),
             tp_set_cond(l->ix, n->ndom, n->dom, tp_ends_within(l, own)));
  if (own && tp_set_subset(l->ix, known, own)) cond = tp_ix_bool(l->ix, true);
  else if (own && !told(l, n, known, alive, own)) {
    tp_set *hull = tp_set_widen(tp_set_copy(own), own),
           *in = tp_set_and(tp_set_copy(known), tp_set_copy(hull));
    cond = tp_set_told(
        l->ix, n->ndom, n->dom, tp_set_subset(l->ix, in, own) ? hull : own, tp_set_copy(known));
    tp_set_free(hull);
    tp_set_free(in);
  }
  tp_set_free(own);
  tp_set_free(known);
  return cond ? cond : alive;
}

/* The dims that n lacks of those over which its own dims end. */
static int lacked(ends *l, const tp_node *n, const tp_sym *const **dims) {
  const tp_ix *alive = tp_ends_alive(l, n);
  const tp_node about = tp_ends_about(l, alive);
  const tp_sym **left = TP_NEWN(&l->g->arena, const tp_sym *, about.ndom + 1);
  int m = 0;
  for (int d = 0; d < about.ndom; d++)
    if (!tp_dom_has(n->ndom, n->dom, about.dom[d])) left[m++] = about.dom[d];
  *dims = left;
  return m;
}

static bool reads_one_of(const tp_node *n, const bool *some) {
  bool any = false;
  for (int k = 0; k < n->nin; k++) any |= some[n->in[k].src.node->id];
  return any;
}

/* Does n need to run wherever a row goes on? */
static bool runs_in_all(const ends *l, const tp_node *n) {
  bool all = tp_ends_feeds(l, n) || n->op == TP_OP_CALL;
  for (int i = 0; i < l->g->outputs.n; i++) all |= l->g->outputs.v[i].val.node == n;
  return all;
}

/* The points of dims that n lacks at which it is read: by what has these dims, or by what else
 * lacks them. False: it may be anywhere. */
static bool rows_that_read(
    ends *l, const tp_node *n, int m, const tp_sym *const *dims, tp_set **rows) {
  bool *lacks = TP_NEWN(&l->g->arena, bool, l->n), *met = TP_NEWN(&l->g->arena, bool, l->n);
  lacks[n->id] = true;
  if (runs_in_all(l, n)) return false;
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < l->n; i++) {
      const tp_node *by = l->g->nodes.v[i];
      int has = 0;
      if (met[i] || !reads_one_of(by, lacks)) continue;
      met[i] = more = true;
      for (int d = 0; d < m; d++) has += tp_dom_has(by->ndom, by->dom, dims[d]);
      lacks[i] |= !has;
      if (has ? has < m : runs_in_all(l, by)) return false;
      if (!has) continue;
      tp_rel *row = tp_rel_at(l->ix, by->ndom, by->dom, m, dims, tp_at_own(l->g, m, dims));
      *rows = tp_set_or(*rows, tp_set_apply(tp_ends_project(l, tp_ends_need(l, by)), row));
    }
  }
  return true;
}

/* A condition on the dims that n lacks; NULL: none. Asked of the graph as it was. */
static const tp_ix *rows_read(ends *l, const tp_node *n) {
  const tp_sym *const *dims;
  int m = tp_may_fail(n) ? lacked(l, n, &dims) : 0;
  if (!m) return NULL;
  tp_set *rows = tp_set_empty(l->ix, m, dims), *all = tp_set_box(l->ix, m, dims);
  bool some = rows_that_read(l, n, m, dims, &rows) && rows && !tp_set_subset(l->ix, all, rows);
  const tp_ix *cond = some ? tp_set_told(l->ix, m, dims, rows, all) : NULL;
  if (!some) tp_set_free(all);
  tp_set_free(rows);
  return cond;
}

/* Does cond hold for one of these rows? */
static tp_val in_some_row(ends *l, const tp_node *n, const tp_ix *cond, const tp_ix *rows) {
  const tp_sym *const *dims, *const *wide;
  int m = lacked(l, n, &dims), w = tp_dom_union(l->g, n->ndom, n->dom, m, dims, &wide);
  cond = tp_ix_and(
      l->ix, cond, tp_ix_and(l->ix, rows, tp_ends_alive(l, &(tp_node){ .ndom = m, .dom = dims })));
  tp_val x = mk_select(
      l->mk, tp_ends_cond(l, cond, w, wide), mk_num(l->mk, 1, TP_I64), mk_num(l->mk, 0, TP_I64));
  return mk_bin(
      l->mk, TP_OP_GT, reduced(l, TP_RED_MAX, x, n->ndom, n->dom), mk_num(l->mk, 0, TP_I64));
}

/* What done is made of runs at each point that is there: who needs its value at the last ones only
 * would be known too late. */
static bool guard(ends *l, tp_node *n) {
  if (!tp_may_fail(n)) return true;
  tp_val x = n->in[1].src;
  double safe = n->op == TP_OP_MOD || n->op == TP_OP_FLOORDIV;
  if (x.node->op == TP_OP_FILL || x.node->op == TP_OP_CONST) return true;
  const tp_ix *cond = asks(l, n), *rows = n->id < l->n ? l->rows[n->id] : NULL;
  if (tp_ix_kind(cond) == TP_IX_TRUE) return true;
  if (tp_ends_feeds(l, n)) cond = tp_ends_alive(l, n);
  l->g->pos = n->pos;
  tp_val c = rows ? in_some_row(l, n, cond, rows) : tp_ends_cond(l, cond, n->ndom, n->dom);
  tp_val y = mk_select(l->mk, c, x, mk_num(l->mk, safe, tp_dtypeof(x)));
  if (y.node) n->in[1].src = y;
  return y.node;
}

/* ---- what was reached under its own name ---- */

typedef struct {
  tp_ictx *ix;
  int n;
  const tp_sym **from;
  const tp_ix **to;
} renaming;

static const tp_ix *renamed(void *r, const tp_ix *e) {
  return tp_ix_subst(
      ((renaming *)r)->ix, e, ((renaming *)r)->n, ((renaming *)r)->from, ((renaming *)r)->to);
}

/* T => the hidden bound of what is reached; that of what was given => T. */
static void rename_ends(ends *l) {
  int m = l->g->stops.n;
  renaming r = { l->ix, 2 * m, TP_NEWN(&l->g->arena, const tp_sym *, 2 * m),
    TP_NEWN(&l->g->arena, const tp_ix *, 2 * m) };
  for (int i = 0; i < m; i++) {
    tp_stop *s = stop(l, i);
    const char *name = tp_printf(&l->g->arena, "%s_reached", s->dim->bound->name);
    const tp_sym *now = tp_sym_hidden_bound(l->ix, name);
    r.from[i] = s->sym;
    r.to[i] = sym(l, now);
    r.from[m + i] = s->given;
    r.to[m + i] = sym(l, s->sym);
    for (int k = 0; k < l->n; k++)
      if (tp_set_mentions(l->ix, l->need->set[k], s->given))
        l->need->set[k] = tp_set_some(
            l->ix, l->need->set[k], s->given, tp_ix_cmp(l->ix, TP_GE, sym(l, s->given), num(l, 0)));
    s->given = s->sym;
    s->sym = now;
    tp_sym *less = tp_sym_hidden_dim(l->ix, s->dim->bound->name);
    less->bound = (tp_sym *)s->given;
    s->less = less;
  }
  for (int i = 0; i < l->g->nodes.n; i++) tp_node_map(&l->g->arena, l->g->nodes.v[i], renamed, &r);
}

/* ---- rows ---- */

/* Is something carried along the dim, so that its points come one after the other? */
static bool is_carried(ends *l, const int *scc, const tp_sym *d) {
  for (int i = 0; i < l->n; i++) {
    const tp_node *n = l->g->nodes.v[i], *x = n->op == TP_OP_READ ? n->in[0].src.node : NULL;
    for (int k = 0; x && scc[n->id] == scc[x->id] && k < x->ndom; k++)
      if (x->dom[k] == d && (!tp_at_is_own(&n->attr.at[k], d))) return true;
  }
  return false;
}

static void find_alone(ends *l) {
  int *scc = TP_NEWN(&l->g->arena, int, l->n);
  tp_graph_sccs(l->g, scc, NULL);
  for (int i = 0; i < l->g->stops.n; i++) {
    const tp_stop *s = stop(l, i);
    l->alone[i] = true;
    for (int d = 0; d < s->ndom; d++) l->alone[i] &= is_carried(l, scc, s->dom[d]);
  }
}

/* ---- the whole ---- */

static bool lower_value(ends *l, tp_node *n) {
  if (!mentions(l, n->attr.ix[0])) return true;
  const tp_ix *e = n->attr.ix[0];
  l->g->pos = n->pos;
  tp_val v =
      tp_ix_is_cond(e) ? tp_ends_cond(l, e, n->ndom, n->dom) : tp_ends_value(l, e, n->ndom, n->dom);
  v = tp_ends_same_dom(l, v, n->ndom, n->dom);
  if (v.node) tp_replace(l->g, tp_v(n), v);
  return v.node;
}

static bool lower_node(ends *l, tp_node *n) {
  switch (n->op) {
  case TP_OP_VALUE: return lower_value(l, n);
  case TP_OP_READ: return tp_ends_point(l, n);
  case TP_OP_MERGE: return tp_ends_branches(l, n);
  case TP_OP_ACCUM: return tp_ends_sum(l, n);
  default: return guard(l, n);
  }
}

static bool lower(ends *l, bool apart) {
  find_alone(l);
  for (int i = 0; i < l->g->stops.n; i++) tp_reach(&l->g->arena, stop(l, i)->done.node, l->feeds);
  rename_ends(l);
  for (int i = 0; i < l->n; i++) l->rows[i] = rows_read(l, l->g->nodes.v[i]);
  for (int i = 0; i < l->g->stops.n; i++)
    if (!make_end(l, i)) return false;
  if (apart && !tp_ends_parts(l)) return false;
  for (int i = 0; i < l->n; i++)
    if (!lower_node(l, l->g->nodes.v[i])) return false;
  for (int i = 0; i < l->parts.n; i++)
    if (!lower_node(l, l->parts.v[i].node)) return false;
  for (int i = 0; i < l->g->stops.n; i++) stop(l, i)->end = l->end[i];
  tp_graph_prune(l->g);
  return true;
}

static void drop(void *x) {
  ends *l = x;
  tp_need_free(l->need);
  for (int i = 0; i < l->parts.n; i++) tp_set_free(l->parts.v[i].need);
}

bool tp_pass_ends(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  if (!g->stops.n) return true;
  ends l = { .g = g, .ix = g->ix, .err = err, .mk = { g, err }, .n = g->nodes.n };
  if (!(l.need = tp_need_outputs(g, err))) return false;
  tp_hold mine;
  tp_hold_set(&mine, drop, &l);
  l.end = TP_NEWN(&g->arena, tp_node *, g->stops.n);
  l.alone = TP_NEWN(&g->arena, bool, g->stops.n);
  l.feeds = TP_NEWN(&g->arena, bool, l.n);
  l.rows = TP_NEWN(&g->arena, const tp_ix *, l.n);
  int asked = g->shapechecks.n;
  bool ok = lower(&l, job->apart);
  /* what is made asks nothing of sizes that was not asked where the script wrote it */
  g->shapechecks.n = asked;
  tp_hold_end(&mine);
  drop(&l);
  return tp_isl_check(g->ix, g->pos, err) && ok;
}
