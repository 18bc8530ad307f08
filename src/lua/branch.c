/* branch: h[...] = e, h:otherwise(e), h:when(cond, e) for declared tensors; w[i+1] = e, w:update(e)
 * for parameters. Per dim d the left side is d; d + c: h at d is e at d - c where d - c is in the
 * domain; or k without dims: where d == k, h is e with k for d. So a branch is a condition over h's
 * dims and e read at `sub`. */
#include "lua/tl.h"

typedef struct {
  tp_ix *cond; /* NULL: at every point */
  tp_ix **sub; /* by dim of h: its value in e */
  bool identity;
} left_t;

static bool mentions_dims(tp_ix *e) {
  tp_dims s;
  bool any = false;
  for (int k = 0, n = tp_ix_syms(e, &s); k < n; k++) any |= s[k]->kind == TP_SYM_DIM;
  return any;
}

static void left_dim(lua_State *L, tl_prog *lp, tp_sym *d, const tp_at *at, left_t *l, int k) {
  tp_ictx *c = lp->p->ix;
  tp_ix *self = tp_ix_sym(d), *rest;
  int64_t coef, shift;
  l->sub[k] = self;
  if (at->range)
    tl_fail(L,
        "option: a range cannot stand on the left; write h:when(%s:ge(lo):land(%s:lt(hi)), e)",
        d->name, d->name);
  if (at->lo == self) return;
  l->identity = false;
  if (!mentions_dims(at->lo)) {
    l->sub[k] = at->lo;
    l->cond = tp_ix_both(l->cond, tp_ix_cmp(TP_EQ, self, at->lo));
  } else if (tp_ix_linear_in(at->lo, d, &coef, &rest) && coef == 1 &&
      tp_ix_is_const(rest, &shift)) {
    l->sub[k] = tp_ix_addc(self, -shift);
    l->cond = tp_ix_both(l->cond,
        shift > 0 ? tp_ix_cmp(TP_GE, self, tp_ix_const(c, shift))
                  : tp_ix_cmp(TP_LT, l->sub[k], tp_ix_sym(d->bound)));
  } else {
    tl_fail(L,
        "option: '%s' on the left: per dim it is %s, %s + constant or an expression without dims; "
        "for anything else write h:when(cond, e)",
        tp_ix_str(at->lo), d->name, d->name);
  }
}

/* The value e at the points of the left side. */
static tp_val substituted(lua_State *L, tl_prog *lp, const tp_node *h, const left_t *l, tp_val v) {
  tp_error e = { 0 };
  tp_graph *g = lp->p->g;
  if (l->identity) return v;
  tp_at *at = tp_at_own(g, v.node->ndom, v.node->dom);
  for (int k = 0; k < v.node->ndom; k++)
    for (int j = 0; j < h->ndom; j++)
      if (h->dom[j] == v.node->dom[k]) at[k].lo = l->sub[j];
  v = tp_read(g, v, at, &e);
  if (!v.node) tl_raise(L, &e);
  return v;
}

static tp_val right_side(lua_State *L, tl_prog *lp, const tp_node *h, int i) {
  return tl_lift_as(
      L, lp, i, "right side of a branch", h->out[0].dtype, h->out[0].rank, h->out[0].shape);
}

static int add_branch(lua_State *L, tl_prog *lp, tp_node *h, tp_ix *cond, tp_val v) {
  tp_error e = { 0 };
  if (!tp_merge_add(lp->p->g, h, cond, v, &e)) tl_raise(L, &e);
  lua_settop(L, 1);
  return 1;
}

static tl_tensor *declared(lua_State *L, const char *what) {
  tl_tensor *u = tl_check(L, 1, TL_TENSOR, what);
  if (u->v.node->op != TP_OP_MERGE)
    tl_fail(L, "option: %s: only a tensor made by P:tensor has branches%s", what,
        u->v.node->op == TP_OP_PARAM ? "; a parameter's next value is w:update(e)" : "");
  tl_mark(L, u->lp);
  return u;
}

int tl_otherwise(lua_State *L) {
  tl_tensor *u = declared(L, "otherwise");
  return add_branch(L, u->lp, u->v.node, NULL, right_side(L, u->lp, u->v.node, 2));
}

int tl_when(lua_State *L) {
  tl_tensor *u = declared(L, "when");
  tp_ix *cond = tl_tocond(L, u->lp, 2, "when");
  return add_branch(L, u->lp, u->v.node, cond, right_side(L, u->lp, u->v.node, 3));
}

/* For libraries: lets a branch have no points. */
int tl_may_miss(lua_State *L) {
  declared(L, "when")->v.node->attr.sparse = true;
  lua_settop(L, 1);
  return 1;
}

static tp_node *next_of(tl_prog *lp, const tp_node *w) {
  return tp_hmap_get(&lp->nexts, &w->id, sizeof w->id);
}

static void define_next(lua_State *L, tl_prog *lp, const tp_node *w) {
  tp_error e = { 0 };
  tp_node *n = next_of(lp, w);
  bool can = n && !n->done && w->nin > 1;
  if (can && !tp_merge_add(lp->p->g, n, NULL, w->in[1].src, &e)) tl_raise(L, &e);
}

static int update(lua_State *L, tl_tensor *u, int i) {
  tp_error e = { 0 };
  tp_node *w = u->v.node;
  tp_val v = tl_lift_as(
      L, u->lp, i, "update of a parameter", w->out[0].dtype, w->out[0].rank, w->out[0].shape);
  if (!tp_param_update(u->lp->p->g, w, v, &e)) tl_raise(L, &e);
  define_next(L, u->lp, w);
  lua_settop(L, 1);
  return 1;
}

static tl_tensor *evolving(lua_State *L, const char *what) {
  tl_tensor *u = tl_check(L, 1, TL_TENSOR, what);
  if (u->v.node->op != TP_OP_PARAM)
    tl_fail(L, "option: %s: only a parameter, made by P:param, has an update", what);
  if (!u->v.node->attr.nalong)
    tl_fail(L, "option: %s: '%s' evolves along nothing; give P:param along = {i}", what,
        u->v.node->attr.str);
  tl_mark(L, u->lp);
  return u;
}

int tl_update(lua_State *L) { return update(L, evolving(L, "update"), 2); }

int tl_next(lua_State *L) {
  tl_tensor *u = evolving(L, "next");
  tp_node *w = u->v.node, *n = next_of(u->lp, w);
  tp_attr a = { .ndom = w->ndom, .dom = w->dom, .nix = w->attr.nix, .ix = w->attr.ix };
  tp_error e = { 0 };
  a.dtype = w->out[0].dtype;
  if (!n) {
    n = tp_build(u->lp->p->g, TP_OP_MERGE, 0, NULL, &a, &e);
    if (!n) tl_raise(L, &e);
    n->name = tl_intern(u->lp, lua_pushfstring(L, "%s:next()", w->attr.str));
    tp_hmap_set(&u->lp->nexts, &w->id, sizeof w->id, n);
  }
  define_next(L, u->lp, w);
  tl_pushtensor(L, u->lp, tp_v(n));
  return 1;
}

static void check_next(lua_State *L, const tp_node *w, const tp_at *at) {
  if (w->attr.nalong != 1)
    tl_fail(
        L, "option: '%s' evolves along %d dims: write w:update(e)", w->attr.str, w->attr.nalong);
  for (int k = 0; k < w->ndom; k++) {
    tp_ix *self = tp_ix_sym(w->dom[k]);
    bool along = w->dom[k] == w->attr.along[0];
    if (at[k].range || at[k].lo != (along ? tp_ix_addc(self, 1) : self))
      tl_fail(L,
          "option: the update of a parameter is w[%s+1] = e or w:update(e); its first value is "
          "init = in P:param",
          w->attr.along[0]->name);
  }
}

static int branch(lua_State *L, tl_tensor *u, const tp_at *at) {
  tl_prog *lp = u->lp;
  tp_node *h = u->v.node;
  left_t l = { .identity = true, .sub = TP_NEWN(&lp->p->g->arena, tp_ix *, h->ndom + 1) };
  for (int k = 0; k < h->ndom; k++) left_dim(L, lp, h->dom[k], &at[k], &l, k);
  return add_branch(L, lp, h, l.cond, substituted(L, lp, h, &l, right_side(L, lp, h, 3)));
}

int tl_assign(lua_State *L) {
  tl_tensor *u = tl_check(L, 1, TL_TENSOR, "assignment");
  if (lua_type(L, 2) == LUA_TSTRING && tl_is_digits(L, 2)) tl_range_trap(L, 2);
  if (u->v.node->op != TP_OP_MERGE && u->v.node->op != TP_OP_PARAM)
    tl_fail(L,
        "option: x[...] = e defines a tensor made by P:tensor or updates a parameter; this one "
        "(%s) is a value already; x:put(axis, k, v) is x with another element",
        tp_called(u->lp->p->g, u->v.node));
  tl_mark(L, u->lp);
  const tp_at *at = tl_at(L, u->lp, u->v, 2);
  if (u->v.node->op == TP_OP_MERGE) return branch(L, u, at);
  check_next(L, u->v.node, at);
  return update(L, u, 3);
}
