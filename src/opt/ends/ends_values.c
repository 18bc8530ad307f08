/* ends_values: ends by data and conditions on them as values; sets of points for any end. */
#include "opt/ends/ends.h"

static tp_ix *num(ends *l, int64_t k) { return tp_ix_const(l->ix, k); }
static tp_stop *stop(ends *l, int i) { return &l->g->stops.v[i]; }

/* The first stop whose end e mentions; -1: none. */
static int first_end(ends *l, tp_ix *e) {
  for (int i = 0; i < l->g->stops.n; i++)
    if (tp_ix_mentions(e, stop(l, i)->sym)) return i;
  return -1;
}

/* ---- ends as values ---- */

static tp_val value(ends *l, tp_ix *e) { return tp_ixvalue(l->g, e, l->err); }

tp_at *tp_ends_whole(ends *l, over on, int nleft, tp_dims left) {
  tp_at *at = tp_at_own(l->g, on.n, on.dim);
  for (int d = 0; d < on.n; d++)
    if (!tp_dom_has(nleft, left, on.dim[d]))
      at[d] = (tp_at){ true, num(l, 0), tp_ix_sym(on.dim[d]->bound) };
  return at;
}

tp_val tp_ends_reduced(ends *l, tp_red red, tp_val x, int n, tp_dims left) {
  return x.node ? tp_gathered(l->mk, red, x, tp_ends_whole(l, over_of(x.node), n, left), n, left)
                : x;
}

int tp_ends_left(const tp_node *n, tp_sym *t, tp_sym **left) {
  int m = 0;
  for (int d = 0; d < n->ndom; d++)
    if (n->dom[d] != t) left[m++] = n->dom[d];
  return m;
}

tp_val tp_ends_over(ends *l, tp_red red, tp_val x, tp_sym *t) {
  tp_sym *left[64];
  return x.node ? tp_ends_reduced(l, red, x, tp_ends_left(x.node, t, left), left) : x;
}

bool tp_ends_make(ends *l, int i) {
  tp_stop *s = stop(l, i);
  l->g->pos = s->pos;
  tp_val never = mk_num(l->mk, 9223372036854775808.0, TP_I64); /* saturates */
  tp_val at = mk_select(l->mk, s->done, value(l, tp_ix_addc(tp_ix_sym(s->dim), 1)), never);
  tp_val end = tp_ends_reduced(l, TP_RED_MIN, at, s->ndom, s->dom);
  if (!end.node) return false;
  end.node->name = s->dim->bound->name;
  l->end[i] = end.node;
  return true;
}

/* The greatest end over the stop's dims that dom lacks; rows count that lie before their own
 * ends. */
static tp_val greatest(ends *l, const tp_stop *s, tp_val x, over on) {
  tp_sym *left[x.node->ndom + 1];
  int n = 0;
  for (int d = 0; d < x.node->ndom; d++)
    if (!tp_dom_has(s->ndom, s->dom, x.node->dom[d]) || tp_dom_has(on.n, on.dim, x.node->dom[d]))
      left[n++] = x.node->dom[d];
  if (n == x.node->ndom) return x;
  tp_ix *alive = tp_ends_alive(l, (over){ s->ndom, s->dom });
  if (tp_ix_kind(alive) != TP_IX_TRUE)
    x = tp_ends_masked(l, alive, over_of(x.node), x, TP_RED_MAX, false);
  return tp_ends_reduced(l, TP_RED_MAX, x, n, left);
}

static tp_val read_end(ends *l, int i, tp_ix *upto) {
  const tp_stop *s = stop(l, i);
  tp_val x = tp_v(l->end[i]);
  return upto
      ? mk_op(l->mk, TP_OP_READ, 1, &x,
            &(tp_attr){
                .nat = s->ndom, .at = tp_at_own(l->g, s->ndom, s->dom), .nix = 1, .ix = &upto })
      : x;
}

tp_val tp_ends_read(ends *l, int i, over on, tp_ix *upto) {
  TP_EACH (const ends_read, r, l->reads) {
    if (r->stop == i && r->upto == upto && tp_dom_same(r->ndom, r->dom, on.n, on.dim))
      return r->val;
  }
  tp_val x = read_end(l, i, upto);
  if (x.node) x = greatest(l, stop(l, i), x, on);
  TP_PUSH(&l->g->arena, &l->reads, (ends_read){ i, on.n, on.dim, upto, x });
  return x;
}

static tp_val sum_of(ends *l, tp_ix *e, over on) {
  tp_val y = tp_none;
  tp_ix *plain = num(l, tp_ix_cst(e));
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    tp_ix *const *atom, *times = num(l, tp_ix_coef(e, i));
    tp_val x = tp_none;
    for (int k = 0, n = tp_ix_term(e, i, &atom); k < n; k++) {
      bool ends = tp_mentions_end(l->g, atom[k]);
      tp_val v = ends ? tp_ends_value(l, atom[k], on) : tp_none;
      if (!ends) times = tp_ix_mul(times, atom[k]);
      else x = x.node ? mk_mul(l->mk, x, v) : v;
    }
    if (!x.node) plain = tp_ix_add(plain, times);
    else if (times != num(l, 1)) x = mk_mul(l->mk, value(l, times), x);
    if (x.node) y = y.node ? mk_add(l->mk, y, x) : x;
  }
  return plain == num(l, 0) ? y : mk_add(l->mk, y, value(l, plain));
}

tp_val tp_ends_value(ends *l, tp_ix *e, over on) {
  int i = first_end(l, e);
  if (i < 0) return value(l, e);
  if (tp_ix_as_sym(e)) {
    tp_val y = mk_bin(
        l->mk, TP_OP_MINIMUM, tp_ends_read(l, i, on, NULL), value(l, tp_ix_sym(stop(l, i)->given)));
    if (y.node) y.node->pos = stop(l, i)->pos; /* this node is the end */
    return y;
  }
  tp_ixkind kind = tp_ix_kind(e);
  if (kind == TP_IX_POLY) return sum_of(l, e, on);
  tp_val y = tp_ends_value(l, tp_ix_arg(e, 0), on);
  if (kind == TP_IX_FDIV || kind == TP_IX_MOD)
    return mk_bin(l->mk, kind == TP_IX_MOD ? TP_OP_MOD : TP_OP_FLOORDIV, y,
        mk_num(l->mk, (double)tp_ix_div(e), TP_I64));
  for (int k = 1; k < tp_ix_narg(e); k++)
    y = mk_bin(l->mk, kind == TP_IX_MAX ? TP_OP_MAXIMUM : TP_OP_MINIMUM, y,
        tp_ends_value(l, tp_ix_arg(e, k), on));
  return y;
}

/* ---- conditions as values ---- */

/* e = k * end + rest with k 1 or -1 and no end in rest. */
static bool linear(ends *l, tp_ix *e, int *i, int64_t *k, tp_ix **rest) {
  *i = first_end(l, e);
  return tp_ix_linear_in(e, stop(l, *i)->sym, k, rest) && (*k == 1 || *k == -1) &&
      !tp_mentions_end(l->g, *rest);
}

/* (value of e) op end, which is known once done is known for all points before e. If e may reach
 * the given bound, min(end, given) takes end's place. */
static tp_val compare(ends *l, tp_op op, int i, tp_ix *e, over on) {
  tp_val end = tp_ends_read(l, i, on, e);
  tp_ix *given = tp_ix_sym(stop(l, i)->given);
  if (!tp_ix_prove_ge0(tp_ix_addc(tp_ix_sub(given, e), -1), on.n, on.dim))
    end = mk_bin(l->mk, TP_OP_MINIMUM, end, value(l, given));
  return mk_bin(l->mk, op, value(l, e), end);
}

tp_ix *tp_ends_extremum(ends *l, tp_ix *e, int64_t *k) {
  for (int i = 0; i < tp_ix_nterm(e); i++) {
    tp_ixs atom;
    *k = tp_ix_coef(e, i);
    if (tp_ix_term(e, i, &atom) == 1 &&
        (tp_ix_kind(atom[0]) == TP_IX_MIN || tp_ix_kind(atom[0]) == TP_IX_MAX) &&
        tp_mentions_end(l->g, atom[0]))
      return atom[0];
  }
  return NULL;
}

/* e >= 0, for an e with a min or max, as conditions on each operand of that; NULL: e has none. */
static tp_ix *taken_apart(ends *l, tp_ix *e) {
  int64_t k;
  tp_ix *m = tp_ends_extremum(l, e, &k), *all = NULL;
  if (!m) return NULL;
  bool and = (tp_ix_kind(m) == TP_IX_MIN) == (k > 0);
  tp_ix *rest = tp_ix_sub(e, tp_ix_mulc(m, k));
  for (int i = 0; i < tp_ix_narg(m); i++) {
    tp_ix *x = tp_ix_cmp(TP_GE, tp_ix_add(rest, tp_ix_mulc(tp_ix_arg(m, i), k)), num(l, 0));
    all = !all ? x : and? tp_ix_and(all, x) : tp_ix_or(all, x);
  }
  return all;
}

/* e >= 0, or e == 0 */
static tp_val compared_to_zero(ends *l, bool equal, tp_ix *e, over on) {
  int i;
  int64_t k;
  tp_ix *rest, *apart = equal ? NULL : taken_apart(l, e);
  if (linear(l, e, &i, &k, &rest)) {
    tp_ix *at = k > 0 ? tp_ix_neg(rest) : rest; /* e is k (end - at) */
    if (equal) return compare(l, TP_OP_EQ, i, at, on);
    tp_val less = compare(l, TP_OP_LT, i, k > 0 ? tp_ix_addc(at, -1) : at, on);
    return k > 0 ? less : mk_un(l->mk, TP_OP_LNOT, less);
  }
  if (apart) return tp_ends_cond(l, apart, on);
  return mk_bin(
      l->mk, equal ? TP_OP_EQ : TP_OP_GE, tp_ends_value(l, e, on), mk_num(l->mk, 0, TP_I64));
}

/* A condition is made anew for each use: it goes into the operator that uses it, and is not
 * kept. */
tp_val tp_ends_cond(ends *l, tp_ix *cond, over on) {
  tp_ixkind kind = tp_ix_kind(cond);
  if (!tp_mentions_end(l->g, cond)) return value(l, cond);
  if (kind == TP_IX_GE0 || kind == TP_IX_EQ0)
    return compared_to_zero(l, kind == TP_IX_EQ0, tp_ix_arg(cond, 0), on);
  if (kind == TP_IX_NOT) return mk_un(l->mk, TP_OP_LNOT, tp_ends_cond(l, tp_ix_arg(cond, 0), on));
  tp_val y = tp_none;
  tp_ix *plain = NULL;
  for (int i = 0; i < tp_ix_narg(cond); i++) {
    tp_ix *x = tp_ix_arg(cond, i);
    bool ends = tp_mentions_end(l->g, x);
    tp_val v = ends ? tp_ends_cond(l, x, on) : tp_none;
    if (ends) y = y.node ? mk_bin(l->mk, kind == TP_IX_AND ? TP_OP_LAND : TP_OP_LOR, y, v) : v;
    else plain = !plain ? x : (kind == TP_IX_AND ? tp_ix_and : tp_ix_or)(plain, x);
  }
  return plain ? mk_bin(l->mk, kind == TP_IX_AND ? TP_OP_LAND : TP_OP_LOR, y, value(l, plain)) : y;
}

/* ---- for any end ---- */

tp_ix *tp_ends_extreme(ends *l, tp_ix *e, bool most, tp_sym *dim) {
  e = tp_end_extreme(l->g, e, most, 0, NULL);
  return e ? e : most ? tp_ix_sym(dim->bound) : num(l, 0);
}

tp_node tp_ends_about(ends *l, tp_ix *e) {
  tp_node n = { 0 };
  tp_dom_add(l->g, &n, e);
  return n;
}

bool tp_ends_shape_moves(tp_val x, tp_sym *d) {
  int axis;
  return tp_varies(tp_rankof(x), tp_outof(x)->shape, 1, &d, &axis);
}

tp_ix *tp_ends_clamped(ends *l, tp_ix *e, tp_sym *dim) {
  return tp_ix_max(num(l, 0), tp_ix_min(e, tp_ix_addc(tp_ix_sym(dim->bound), -1)));
}

/* The end is a number from 1 up to what was given, or both are 0. */
static tp_ix *within(ends *l, const tp_stop *s) {
  tp_ix *none = tp_ix_and(tp_ix_cmp(TP_EQ, tp_ix_sym(s->sym), num(l, 0)),
      tp_ix_cmp(TP_EQ, tp_ix_sym(s->given), num(l, 0)));
  return tp_ix_or(tp_end_within(l->g, s, 1), none);
}

tp_ix *tp_ends_within(ends *l, TP_KEEP tp_set *a) {
  tp_ix *all = tp_ix_bool(l->ix, true);
  for (int i = 0; i < l->g->stops.n; i++)
    if (tp_set_mentions(a, stop(l, i)->sym)) all = tp_ix_and(all, within(l, stop(l, i)));
  return all;
}

tp_set *tp_ends_project(ends *l, tp_set *a) {
  for (int i = 0; i < l->g->stops.n; i++)
    if (tp_set_mentions(a, stop(l, i)->sym))
      a = tp_set_some(l->ix, a, stop(l, i)->sym, within(l, stop(l, i)));
  return a;
}

/* In sets of the graph before lowering a dim's bound stands for the end. */
tp_set *tp_ends_need(ends *l, const tp_node *n) {
  for (int i = 0; i < l->parts.n; i++)
    if (l->parts.v[i].node == n) return tp_set_copy(l->parts.v[i].need);
  tp_set *a = n->id < l->n ? tp_set_copy(l->need->set[n->id]) : tp_set_box(l->ix, n->ndom, n->dom);
  for (int i = 0; i < l->g->stops.n; i++) {
    const tp_stop *s = stop(l, i);
    if (tp_set_mentions(a, s->dim->bound))
      a = tp_set_some(
          l->ix, a, s->dim->bound, tp_ix_cmp(TP_EQ, tp_ix_sym(s->dim->bound), tp_ix_sym(s->sym)));
  }
  return a;
}

bool tp_ends_never(ends *l, tp_set *a, over on) {
  if (a) a = tp_set_and(a, tp_set_cond(l->ix, on.n, on.dim, tp_ends_within(l, a)));
  bool never = tp_set_is_empty(l->ix, a);
  tp_set_free(a);
  return never;
}

tp_ix *tp_ends_told(ends *l, over on, tp_set *a, tp_set *all) {
  bool some = a && !tp_set_subset(l->ix, all, a);
  tp_ix *cond = some ? tp_set_told(l->ix, on.n, on.dim, a, all) : NULL;
  if (!some) tp_set_free(all);
  tp_set_free(a);
  return cond && tp_ix_kind(cond) != TP_IX_TRUE ? cond : NULL;
}

bool tp_ends_feeds(const ends *l, const tp_node *n) {
  bool any = n->id < l->n && l->feeds[n->id];
  for (int i = 0; i < l->parts.n; i++) any |= l->parts.v[i].node == n && l->parts.v[i].feeds;
  return any;
}

tp_ix *tp_ends_alive(ends *l, over on) {
  tp_ix *all = tp_ix_bool(l->ix, true);
  for (int i = 0; i < l->g->stops.n; i++)
    if (tp_dom_has(on.n, on.dim, stop(l, i)->dim))
      all =
          tp_ix_and(all, tp_ix_cmp(TP_LT, tp_ix_sym(stop(l, i)->dim), tp_ix_sym(stop(l, i)->sym)));
  return all;
}

tp_val tp_ends_same_dom(ends *l, tp_val v, over on) {
  if (!v.node || tp_dom_same(v.node->ndom, v.node->dom, on.n, on.dim)) return v;
  return mk_select(l->mk, mk_fill(l->mk, 1, TP_BOOL, 0, NULL, on.n, on.dim), v, v);
}

/* ---- masks ---- */

tp_val tp_ends_masked(ends *l, tp_ix *cond, over on, tp_val x, tp_red red, bool only) {
  const tp_node *n = x.node;
  if (!n) return x;
  double none = tp_red_identity(red, tp_dtypeof(x));
  bool contracts = n->op == TP_OP_MATMUL || n->op == TP_OP_CONV_WEIGHT || n->op == TP_OP_SUM;
  if (only && red == TP_RED_SUM && contracts) {
    tp_val in[2];
    for (int k = 0; k < n->nin; k++)
      in[k] = mk_where(l->mk, tp_ends_cond(l, cond, on), n->in[k].src);
    x = mk_op(l->mk, n->op, n->nin, in, &n->attr);
  } else if (n->op != TP_OP_FILL || n->attr.f[0] != none)
    x = mk_select(l->mk, tp_ends_cond(l, cond, on), x, mk_like(l->mk, none, x));
  return tp_ends_same_dom(l, x, on);
}
