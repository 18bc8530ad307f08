/* loose: tensors without a program. A loose tensor is a row of methods.def with its arguments (a
 * table, its user value); each program that it meets makes nodes of it once. A scratch program
 * tries it out when it is made, so that mistakes raise at their line. */
#include "lua/tl.h"

static const char scratch_key;

/* Copies tables, which the script may change later, but no handles and arrays. */
static void copy_value(lua_State *L, int i, int depth) {
  if (!lua_istable(L, i)) {
    lua_pushvalue(L, i);
    return;
  }
  /* or it holds itself */
  if (depth > TP_MAXRANK + 1)
    tl_fail(L, "shape: tables are nested more than %d deep", TP_MAXRANK + 1);
  luaL_checkstack(L, 8, "nested tables");
  lua_newtable(L);
  int copy = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, i);) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    copy_value(L, lua_gettop(L), depth + 1);
    lua_remove(L, -2);
    lua_rawset(L, copy);
  }
}

static tl_prog *scratch(lua_State *L) {
  tl_rawgetp(L, LUA_REGISTRYINDEX, &scratch_key);
  tl_prog *lp = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (lp && lp->p->g->nodes.n < TP_TUNE_SCRATCH_NODES) return lp;
  lp = tl_program_new(L, tl_stateof(L), 0, TP_F32);
  lp->scratch = true;
  tl_rawsetp(L, LUA_REGISTRYINDEX, &scratch_key);
  return lp;
}

/* Pushes the sequence of results of the loose tensor at i in lp. Siblings (sort gives two) share
 * the table of arguments. */
static void push_loose(lua_State *L, tl_prog *lp, int i) {
  i = lua_absindex(L, i);
  const tl_loose *u = lua_touserdata(L, i);
  luaL_checkstack(L, 40, "loose tensors");
  tl_pushprogtable(L, lp);
  lua_rawgeti(L, -1, TL_PT_LOOSE);
  lua_getuservalue(L, i);
  lua_pushvalue(L, -1);
  lua_rawget(L, -3);
  if (lua_isnil(L, -1)) {
    int args = lua_gettop(L) - 1, first = lua_gettop(L) + 1;
    tp_graph *g = lp->p->g;
    tp_pos outer = g->pos;
    for (int k = 1; k <= u->nargs; k++) lua_rawgeti(L, args, k);
    if (u->pos.file) g->pos = (tp_pos){ tl_intern(lp, u->file), u->pos.line };
    tl_method_results(L, lp, u->m, first);
    g->pos = outer;
    lua_replace(L, first - 1);
    lua_settop(L, first - 1);
    lua_pushvalue(L, args);
    lua_pushvalue(L, -2);
    lua_rawset(L, args - 1);
  }
  lua_replace(L, -4);
  lua_pop(L, 2);
}

void tl_materialise(lua_State *L, tl_prog *lp, int i) {
  const tl_loose *u = lua_touserdata(L, i);
  push_loose(L, lp, i);
  lua_rawgeti(L, -1, u->out + 1);
  lua_remove(L, -2);
  if (u->name) {
    tl_tensor *t = lua_touserdata(L, -1);
    t->v.node->name = tp_strdup(&lp->p->g->arena, u->name);
  }
}

static void new_loose(lua_State *L, const tp_method *m, int args, int nargs, int out) {
  lua_Debug ar;
  tl_loose *u = tl_new(L, TL_LOOSE, sizeof *u);
  u->m = m;
  u->nargs = nargs;
  u->out = out;
  if (tl_here(L, &ar)) {
    snprintf(u->file, sizeof u->file, "%s", ar.short_src);
    u->pos = (tp_pos){ u->file, ar.currentline };
  }
  lua_pushvalue(L, args);
  lua_setuservalue(L, -2);
}

int tl_loose_new(lua_State *L, const tp_method *m, int first) {
  int args = lua_gettop(L) + 1, nargs = args - first;
  lua_createtable(L, nargs, 0);
  for (int k = 1; k <= nargs; k++) {
    copy_value(L, first + k - 1, 1);
    lua_rawseti(L, args, k);
  }
  new_loose(L, m, args, nargs, 0);
  /* the scratch program may be a new one next time: nothing may run before push_loose holds it */
  tl_prog *lp = scratch(L);
  tl_mark(L, lp);
  push_loose(L, lp, -1);
  int n = (int)lua_rawlen(L, -1);
  lua_pop(L, 1);
  bool sequence = tl_method_sequence(m);
  luaL_checkstack(L, n + 4, m->name);
  if (sequence) lua_createtable(L, n, 0);
  for (int k = 0; k < n; k++) {
    if (sequence || k) new_loose(L, m, args, nargs, k);
    if (sequence) lua_rawseti(L, -2, k + 1);
  }
  return sequence ? 1 : n;
}

/* ---- the scratch program answers questions ---- */

/* Calls the method of tensors, with the arguments that stand behind the handle. */
static int forward(lua_State *L, const char *method) {
  tl_check(L, 1, TL_LOOSE, method);
  tl_materialise(L, scratch(L), 1);
  lua_replace(L, 1);
  lua_getfield(L, 1, method);
  lua_insert(L, 1);
  tl_call(L, lua_gettop(L) - 1, 1);
  return 1;
}
static int loose_shape(lua_State *L) { return forward(L, "shape"); }
static int loose_dtype(lua_State *L) { return forward(L, "dtype"); }
static int loose_domain(lua_State *L) { return forward(L, "domain"); }
static int loose_peek(lua_State *L) { return forward(L, "peek"); }
static int loose_tostring(lua_State *L) {
  tl_check(L, 1, TL_LOOSE, "tostring");
  tl_materialise(L, scratch(L), 1);
  luaL_callmeta(L, -1, "__tostring");
  return 1;
}

static int loose_program(lua_State *L) {
  lua_pushnil(L);
  return 1;
}

static int loose_name(lua_State *L) {
  tl_loose *u = tl_check(L, 1, TL_LOOSE, "name");
  if (lua_isnoneornil(L, 2)) {
    lua_pushstring(L, u->name); /* NULL: nil */
    return 1;
  }
  tl_string(L, 2, "name");
  lua_getuservalue(L, 1); /* keeps the string */
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, -1 - u->out);
  u->name = lua_tostring(L, 2);
  lua_settop(L, 1);
  return 1;
}

static int loose_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING && tl_is_digits(L, 2)) return tl_range_trap(L, 2);
  if (lua_type(L, 2) == LUA_TSTRING) return tl_lookup(L);
  return tl_fail(L,
      "domain: this tensor belongs to no program yet and has no dims to index; give it a domain, { "
      "domain = {t} }");
}

static int loose_newindex(lua_State *L) {
  return tl_fail(L, "option: x[...] = e defines tensors made by P:tensor; this one is a literal");
}

static const tl_reg loose_methods[] = {
  { "shape", loose_shape, 1 },
  { "dtype", loose_dtype, 1 },
  { "domain", loose_domain, 1 },
  { "program", loose_program, 1 },
  { "name", loose_name, 2 },
  { "peek", loose_peek, 2 },
  { 0 },
};

void tl_open_loose(lua_State *L, tl_state *S) {
  static const tl_reg meta[] = { { "__tostring", loose_tostring, 0 },
    { "__newindex", loose_newindex, 0 }, { 0 } };
  tl_class(L, S, TL_LOOSE, "tempo.Tensor", meta, loose_methods, loose_index);
  tl_push_methods(L, S, "m", TL_LOOSE);
  lua_pop(L, 1);
}
