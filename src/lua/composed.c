/* composed: calls bodies of methods in Lua (lua/tempo/methods.lua), with arguments converted and
 * checked by the signature. Methods that a body calls record into its program, at the script's
 * line, and errors name the method that the script called. */
#include "lua/tl.h"

static const char bodies_key;

/* A host that opened the module without require has no package.loaded.tempo, and a body's require
 * must not open it anew. */
static void load_bodies(lua_State *L) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "loaded");
  lua_getfield(L, -1, "tempo");
  if (lua_isnil(L, -1)) {
    tl_pushmodule(L);
    lua_setfield(L, -3, "tempo");
  }
  lua_pop(L, 3);
  tl_require(L, "methods");
  lua_pushvalue(L, -1);
  tl_rawsetp(L, LUA_REGISTRYINDEX, &bodies_key);
}

static void push_body(lua_State *L, const char *name) {
  tl_rawgetp(L, LUA_REGISTRYINDEX, &bodies_key);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    load_bodies(L);
  }
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
}

static void push_operand(lua_State *L, tl_prog *lp, const tp_arg *a) {
  tl_pushtensor(L, lp, a->val);
  if (a->weak) ((tl_tensor *)lua_touserdata(L, -1))->weak = tp_dup(&lp->p->g->arena, a, sizeof *a);
}

static void push_argument(lua_State *L, tl_prog *lp, const tp_arg *a) {
  switch (a->kind) {
  case 'T': push_operand(L, lp, a); return;
  case 'I': lua_pushinteger(L, (lua_Integer)a->i); return;
  case 'F': lua_pushnumber(L, a->f); return;
  case 'B': lua_pushboolean(L, a->b); return;
  case 'N': lua_pushstring(L, a->s); return;
  case 'D': lua_pushstring(L, tp_dtype_name(a->dtype)); return;
  case 'X': tl_pushextent(L, lp, a->ix); return;
  case 'O': tl_pushdims(L, lp, a->n, a->dom); return;
  case 0: lua_pushnil(L); return;
  default: break; /* lists */
  }
  lua_createtable(L, a->n, 0);
  for (int k = 0; k < a->n; k++) {
    if (a->kind == 'L' || a->kind == 'V') tl_pushtensor(L, lp, a->vals[k]);
    else tl_pushextent(L, lp, a->ixs[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

int tl_compose(lua_State *L, tl_prog *lp, const tp_method *m, int n, const tp_arg *a) {
  tl_state *S = lp->S;
  const tp_method *outer = S->composed;
  int top = lua_gettop(L);
  luaL_checkstack(L, n + 8, m->name);
  push_body(L, m->name);
  for (int k = 0; k < n; k++) push_argument(L, lp, &a[k]);
  if (!outer) S->composed = m;
  S->composed_in = lp;
  int status = tl_pcall(L, n, LUA_MULTRET);
  S->composed = outer;
  if (!outer) S->composed_in = NULL;
  if (status) lua_error(L);
  for (int i = top + 1; i <= lua_gettop(L); i++) /* an operand that is a result is no number */
    if (tl_typeof(L, i) == TL_TENSOR) ((tl_tensor *)lua_touserdata(L, i))->weak = NULL;
  return lua_gettop(L) - top;
}

/* ---- functions for bodies, besides methods ---- */

static tp_mk composing(lua_State *L, tp_error *e) {
  const tl_state *S = tl_stateof(L);
  return (tp_mk){ .g = S->composed_in->p->g, .err = e, .who = S->composed->name };
}

/* word, text: an error of the method */
static int wrong(lua_State *L) {
  return tl_fail(L, "%s: '%s': %s", luaL_checkstring(L, 1), tl_stateof(L)->composed->name,
      luaL_checkstring(L, 2));
}

/* two extents: are they equal? If not known, a check of the run is added */
static int equal(lua_State *L) {
  tl_prog *lp = tl_stateof(L)->composed_in;
  lua_pushboolean(L,
      tp_extent_eq(lp->p->g, tl_toix(L, lp, 1, "equal"), tl_toix(L, lp, 2, "equal"),
          tl_stateof(L)->composed->name));
  return 1;
}

/* rank, an axis: counted from 0 */
static int axis(lua_State *L) {
  tp_error e = { 0 };
  int out;
  if (!tp_axis_of(composing(L, &e), (int)luaL_checkinteger(L, 1), luaL_checkinteger(L, 2), &out))
    tl_raise(L, &e);
  lua_pushinteger(L, out);
  return 1;
}

/* two extents: the exact quotient, nil if there is none */
static int quotient(lua_State *L) {
  tl_prog *lp = tl_stateof(L)->composed_in;
  tp_ix *q = tp_ix_divexact(tl_toix(L, lp, 1, "quotient"), tl_toix(L, lp, 2, "quotient"));
  if (!q) return 0;
  tl_pushextent(L, lp, q);
  return 1;
}

/* an extent: a plain number if it is one */
static int plain(lua_State *L) {
  tl_prog *lp = tl_stateof(L)->composed_in;
  tl_pushextent(L, lp, tl_toix(L, lp, 1, "plain"));
  return 1;
}

/* a tensor, two ends: the extent between them, at all of its points */
static int between(lua_State *L) {
  tl_prog *lp = tl_stateof(L)->composed_in;
  const tp_node *x = ((tl_tensor *)lua_touserdata(L, 1))->v.node;
  tl_pushextent(L, lp,
      tp_ix_extent(tl_toix(L, lp, 2, "between"), tl_toix(L, lp, 3, "between"), x->ndom, x->dom));
  return 1;
}

/* two dtypes: the one of both */
static int promote(lua_State *L) {
  lua_pushstring(
      L, tp_dtype_name(tp_dtype_promote(tl_dtype(L, 1, "promote"), tl_dtype(L, 2, "promote"))));
  return 1;
}

/* a tensor: its name in messages */
static int called(lua_State *L) {
  tp_error e = { 0 };
  lua_pushstring(L, tp_called(composing(L, &e).g, ((tl_tensor *)lua_touserdata(L, 1))->v.node));
  return 1;
}

void tl_push_composing(lua_State *L, tl_state *S) {
  static const tl_reg functions[] = { { "wrong", wrong, 2 }, { "equal", equal, 2 },
    { "axis", axis, 2 }, { "quotient", quotient, 2 }, { "plain", plain, 1 },
    { "between", between, 3 }, { "promote", promote, 2 }, { "called", called, 1 }, { 0 } };
  tl_setfuncs(L, S, functions);
  tl_push_methods(L, S, "p", TL_NONE);
}
