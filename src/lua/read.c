/* read: x[...]: an entry, a point or a range, for each dim of x's domain. */
#include "lua/tl.h"
#include <stdlib.h>

/* ---- the trap: 2 .. 5 is the string "25" ---- */
bool tl_is_digits(lua_State *L, int i) {
  if (lua_type(L, i) != LUA_TSTRING) return false;
  const char *s = lua_tostring(L, i);
  return *s && strspn(s, "0123456789-.") == strlen(s);
}

/* If two integers, written by '..', give this text, it may be a range that Lua made a string. */
int tl_range_trap(lua_State *L, int i) {
  const char *s = lua_tostring(L, i);
  char lo[16], both[48];
  for (size_t k = 1, n = TP_MIN(strlen(s), sizeof lo); k < n; k++) {
    snprintf(lo, k + 1, "%s", s);
    long from = atol(lo), to = atol(s + k);
    snprintf(both, sizeof both, "%ld%ld", from, to);
    if (from >= 0 && from < to && strcmp(both, s) == 0)
      tl_fail(L,
          "option: the index is the string \"%s\", which is what Lua makes of two numbers with "
          "'..' between: did you mean tempo.range(%ld, %ld)?",
          s, from, to);
  }
  tl_fail(L,
      "option: the index is the string \"%s\": write the number %s, or tempo.range(lo, hi) for a "
      "range of numbers",
      s, s);
}

static tp_ix *to_affine(lua_State *L, tl_prog *lp, int i) {
  tp_ix *e = tl_toix(L, lp, i, "index");
  if (!tp_ix_is_affine(e))
    tl_fail(L,
        "affine: the index %s is not affine: a product of dims or bounds is a size (for shapes and "
        ":value()), not an index",
        tp_ix_str(e));
  return e;
}

static tp_at read_entry(lua_State *L, tl_prog *lp, int i) {
  if (lua_type(L, i) == LUA_TSTRING && tl_is_digits(L, i)) tl_range_trap(L, i);
  if (tl_typeof(L, i) != TL_RANGE) return (tp_at){ .lo = to_affine(L, lp, i) };
  tl_sameprog(L, lp, i, "index");
  const tl_range *r = tl_check(L, i, TL_RANGE, "index");
  if (!r->lp)
    return (tp_at){ true, tp_ix_const(lp->p->ix, r->clo), tp_ix_const(lp->p->ix, r->chi) };
  return (tp_at){ true, r->lo, r->hi };
}

static const char *dims_text(tl_prog *lp, const tp_node *x) {
  tp_buf b;
  tp_buf_init(&b);
  for (int k = 0; k < x->ndom; k++) tp_putf(&b, k ? ", %s" : "%s", x->dom[k]->name);
  const char *s = tp_strdup(tp_ictx_arena(lp->p->ix), x->ndom ? b.s : "none");
  tp_buf_free(&b);
  return s;
}

static bool occurs(const tp_at *at, tp_sym *dim) {
  tp_ix *e[2] = { at->lo, at->range ? at->hi : NULL };
  for (int k = 0; k < 2; k++)
    if (e[k] && (tp_ix_mentions(e[k], dim) || (dim->bound && tp_ix_mentions(e[k], dim->bound))))
      return true;
  return false;
}

static int only_dim(lua_State *L, tl_prog *lp, const tp_node *x, const tp_at *at) {
  if (x->ndom == 1) return 0;
  if (x->ndom == 0)
    tl_fail(L,
        "domain: %s has no dims to index; axes of its shape are read by x:select(axis, i), "
        "x:slice(axis, lo, hi)",
        tp_called(lp->p->g, x));
  int found = -1, n = 0;
  for (int k = 0; k < x->ndom; k++)
    if (occurs(at, x->dom[k])) found = k, n++;
  if (n == 1) return found;
  return tl_fail(L,
      "domain: the single index belongs to %s dim of %s, whose dims are (%s): name it, as in x[{%s "
      "= ...}]",
      n ? "more than one" : "no", tp_called(lp->p->g, x), dims_text(lp, x), x->dom[0]->name);
}

static int named_dim(lua_State *L, tl_prog *lp, const tp_node *x, const char *name) {
  const char **names = TP_NEWN(&lp->p->g->arena, const char *, x->ndom);
  for (int k = 0; k < x->ndom; k++) {
    if (strcmp(x->dom[k]->name, name) == 0) return k;
    names[k] = x->dom[k]->name;
  }
  tp_sym *s = tp_sym_find(lp->p->ix, name);
  if (s && s->kind == TP_SYM_BOUND && s->dim)
    tl_fail(L, "option: '%s' is a bound; an index names dims, here '%s'", name, s->dim->name);
  const char *near = tp_nearest(name, names, x->ndom);
  const char *it = tp_called(lp->p->g, x);
  if (near)
    tl_fail(L, "domain: %s has no dim '%s'; did you mean '%s'? Its dims are (%s)", it, name, near,
        dims_text(lp, x));
  return tl_fail(L, "domain: %s has no dim '%s'; its dims are (%s)", it, name, dims_text(lp, x));
}

static int key_dim(lua_State *L, tl_prog *lp, const tp_node *x, int i) {
  if (lua_type(L, i) == LUA_TSTRING) return named_dim(L, lp, x, lua_tostring(L, i));
  if (tl_typeof(L, i) != TL_INDEX)
    tl_fail(L,
        "option: %s as a key of an index: keys are names of dims, {t = ...}, or dims, {[t] = ...}",
        tl_describe(L, i));
  tl_sameprog(L, lp, i, "index");
  const tl_index *u = tl_check(L, i, TL_INDEX, "index");
  tp_sym *s = tp_ix_as_sym(u->e);
  if (!s || s->kind != TP_SYM_DIM)
    tl_fail(L, "option: '%s' as a key of an index is no dim", tp_ix_str(u->e));
  for (int k = 0; k < x->ndom; k++)
    if (x->dom[k] == s) return k;
  return named_dim(L, lp, x, s->name);
}

static void named(lua_State *L, tl_prog *lp, const tp_node *x, int i, tp_at *at) {
  bool *given = TP_NEWN(&lp->p->g->arena, bool, x->ndom);
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    int top = lua_gettop(L), k = key_dim(L, lp, x, top - 1);
    if (given[k]) tl_fail(L, "option: the index names dim '%s' twice", x->dom[k]->name);
    given[k] = true;
    at[k] = read_entry(L, lp, top);
  }
}

static void positional(lua_State *L, tl_prog *lp, const tp_node *x, int i, int n, tp_at *at) {
  if (n != x->ndom)
    tl_fail(L,
        "domain: %d positional ind%s for the %d dims (%s) of %s: give all in this order, or name "
        "some, as in x[{t = ...}]",
        n, n == 1 ? "ex" : "ices", x->ndom, dims_text(lp, x), tp_called(lp->p->g, x));
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    at[k] = read_entry(L, lp, lua_gettop(L));
    lua_pop(L, 1);
  }
}

static void from_table(lua_State *L, tl_prog *lp, const tp_node *x, int i, tp_at *at) {
  int npos = 0, nname = 0;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TNUMBER) npos++;
    else nname++;
  if (npos && nname)
    tl_fail(
        L, "option: an index mixes positions and names: write all dims in order, or names only");
  for (int k = 1; k <= npos; k++) {
    lua_rawgeti(L, i, k);
    if (lua_isnil(L, -1))
      tl_fail(L, "option: an index with holes: write all dims in order, or names, {t = ...}");
    lua_pop(L, 1);
  }
  if (npos) positional(L, lp, x, i, npos, at);
  else named(L, lp, x, i, at);
}

const tp_at *tl_at(lua_State *L, tl_prog *lp, tp_val v, int i) {
  i = lua_absindex(L, i);
  const tp_node *x = v.node;
  tp_at *at = tp_at_own(lp->p->g, x->ndom, x->dom);
  if (lua_istable(L, i)) {
    from_table(L, lp, x, i, at);
  } else {
    tp_at one = read_entry(L, lp, i);
    at[only_dim(L, lp, x, &one)] = one;
  }
  return at;
}

static void warn_element(lua_State *L, const tl_tensor *x) {
  const char *dim = x->v.node->dom[0]->name, *k = lua_tostring(L, 2);
  tl_warn_once(L, x->lp, x->v.node,
      lua_pushfstring(L,
          "domain: x[%s][%s] reads %s at %s = %s; an element of its shape is x:select(0, %s)", dim,
          k, tp_called(x->lp->p->g, x->v.node), dim, k, k));
  lua_pop(L, 1);
}

int tl_read(lua_State *L) {
  lua_settop(L, 2);
  tp_error e = { 0 };
  const tl_tensor *x = tl_check(L, 1, TL_TENSOR, "index");
  tl_mark(L, x->lp);
  tp_val v = tp_read(x->lp->p->g, x->v, tl_at(L, x->lp, x->v, 2), &e);
  if (!v.node) tl_raise(L, &e);
  if (x->read_here && lua_type(L, 2) == LUA_TNUMBER) warn_element(L, x);
  tl_pushtensor(L, x->lp, v);
  ((tl_tensor *)lua_touserdata(L, -1))->read_here = v.node == x->v.node && v.out == x->v.out;
  return 1;
}
