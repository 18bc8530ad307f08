/* compile: P:compile{ outputs =, tier =, passes =, ... } (binding.lua) */
#include "lua/tl.h"

static tp_pos output_pos(const tl_prog *lp, tp_val v) {
  return v.node->pos.file ? v.node->pos : lp->pos;
}

static void take_outputs(lua_State *L, tl_prog *lp, tp_copts *o) {
  tp_arena *a = &lp->p->g->arena;
  int n = (int)lua_rawlen(L, 2);
  tp_output *out = TP_NEWN(a, tp_output, n + 1);
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, 2, k + 1);
    lua_rawgeti(L, 3, k + 1);
    out[k].name = tp_strdup(a, tl_string(L, -2, "outputs"));
    out[k].val = tl_lifted(L, lp, -1, out[k].name);
    out[k].pos = output_pos(lp, out[k].val);
    lua_pop(L, 2);
  }
  o->outputs = out;
  o->nout = n;
}

static void take_tier(lua_State *L, int i, tp_copts *o) {
  if (!tl_option(L, i, "tier")) return;
  const char *s = tl_string(L, -1, "tier");
  if (!tp_tier_parse(s, &o->tier)) tl_unknown(L, "tier", s, tp_tier_names, TP_NTIER);
  lua_pop(L, 1);
}

static int64_t to_memory(lua_State *L, const char *s) {
  if (!s || strcmp(s, "none") == 0) return s ? TP_MEMORY_ANY : 0;
  int64_t n = tp_bytes_parse(s);
  if (n < 0)
    tl_fail(L,
        "option: memory: '%s' is no number of bytes; write \"2GiB\", \"512MiB\", \"1.5GB\" (KiB, "
        "MiB, GiB, TiB are powers of 1024, KB, MB, GB, TB of 1000) or a number",
        s);
  return n;
}

static bool take_switch(lua_State *L, int i, const char *name) {
  if (!tl_option(L, i, name)) return false;
  bool on = tl_boolean(L, -1, name);
  lua_pop(L, 1);
  return on;
}

static void take_rest(lua_State *L, tl_prog *lp, int i, tp_copts *o) {
  o->memory = to_memory(L, tl_option_string(L, lp, i, "memory"));
  o->precise = take_switch(L, i, "precise");
  o->reproducible = take_switch(L, i, "reproducible");
  o->async = take_switch(L, i, "async");
  o->cflags = tl_option_string(L, lp, i, "cflags");
  o->check = tl_option_string(L, lp, i, "check");
  o->device = tl_option_string(L, lp, i, "device");
  if (tl_option(L, i, "threads")) {
    o->threads = (int)tl_integer(L, -1, "threads");
    lua_pop(L, 1);
  }
}

static void take_tick(lua_State *L, tl_prog *lp, int i, tp_copts *o) {
  if (!tl_option(L, i, "tick")) return;
  if (!lua_istable(L, -1)) {
    lua_createtable(L, 1, 0);
    lua_insert(L, -2);
    lua_rawseti(L, -2, 1);
  }
  o->ntick = tl_domain(L, lp, -1, "tick", false, &o->tick);
  if (!o->ntick)
    tl_fail(L, "option: tick: expected a dim or a sequence of dims, got an empty table");
  lua_pop(L, 1);
}

int tl_compile(lua_State *L) { /* P, names of outputs, their values, options, passes as text */
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_settop(L, 5);
  tl_prog *lp = tl_check(L, 1, TL_PROGRAM, "compile");
  tp_error e = { 0 };
  tp_copts o = { 0 };
  tl_mark(L, lp);
  o.pos = lp->pos;
  take_outputs(L, lp, &o);
  take_tier(L, 4, &o);
  if (!lua_isnil(L, 5)) o.passes = tp_strdup(&lp->p->g->arena, tl_string(L, 5, "passes"));
  take_rest(L, lp, 4, &o);
  take_tick(L, lp, 4, &o);
  tl_name_variables(L, lp);
  tl_fn *u = tl_pushfn(L, lp);
  u->told = lp->p->g->warnings.n;
  u->f = tl_compile_watched(L, lp->p, &o, &e);
  if (!u->f) tl_raise(L, &e);
  u->waits = o.async;
  if (!u->waits) tl_fn_wait(L, u);
  return 1;
}
