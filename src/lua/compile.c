/* compile: P:compile{ outputs =, tier =, passes =, ... } */
#include "lua/tl.h"
#include <stdlib.h>

static const char *const known[] = { "outputs", "device", "tier", "threads", "memory", "passes",
  "precise", "reproducible", "cflags", "check", "tick", "async", NULL };

static tp_pos output_pos(const tl_prog *lp, tp_val v) {
  return v.node->pos.file ? v.node->pos : lp->pos;
}

/* By name: a table's own order varies, and lifting a random literal gives it its ordinal. */
static int take_names(lua_State *L, tp_arena *a, int t, tp_output *out) {
  int n = 0;
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      tl_fail(L, "option: outputs go by name, { h = h }; got %s as a key", tl_describe(L, -2));
    out[n++].name = tp_strdup(a, lua_tostring(L, -2));
  }
  qsort(out, (size_t)n, sizeof *out, tp_by_text);
  return n;
}

static void take_outputs(lua_State *L, tl_prog *lp, int i, tp_copts *o) {
  if (!tl_option(L, i, "outputs")) return;
  int t = lua_gettop(L);
  tp_arena *a = &lp->p->g->arena;
  if (!lua_istable(L, t))
    tl_fail(L, "option: outputs: expected a table by name, {h = h}; got %s", tl_describe(L, t));
  tp_output *out = TP_NEWN(a, tp_output, tl_count(L, t) + 1);
  o->nout = take_names(L, a, t, out);
  for (int k = 0; k < o->nout; k++) {
    lua_getfield(L, t, out[k].name);
    out[k].val = tl_lifted(L, lp, -1, out[k].name);
    out[k].pos = output_pos(lp, out[k].val);
    lua_pop(L, 1);
  }
  o->outputs = out;
  lua_pop(L, 1);
}

static void take_tier(lua_State *L, int i, tp_copts *o) {
  if (!tl_option(L, i, "tier")) return;
  const char *s = tl_string(L, -1, "tier");
  if (!tp_tier_parse(s, &o->tier)) tl_unknown(L, "tier", s, tp_tier_names, TP_NTIER);
  lua_pop(L, 1);
}

/* { evolve = false, cse = true } => "cse=true,evolve=false" */
static const char *passes_text(lua_State *L, tl_prog *lp, int t) {
  tp_arena *a = &lp->p->g->arena;
  int n = 0;
  const char **item = TP_NEWN(a, const char *, tl_count(L, t) + 1), *text = "";
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || !lua_isboolean(L, -1))
      tl_fail(L, "option: passes: expected \"none\" or a table like {evolve = false}");
    item[n++] = tp_printf(a, "%s=%s", lua_tostring(L, -2), lua_toboolean(L, -1) ? "true" : "false");
  }
  qsort(item, (size_t)n, sizeof *item, tp_by_text);
  for (int k = 0; k < n; k++) text = k ? tp_printf(a, "%s,%s", text, item[k]) : item[k];
  return text;
}

static void take_passes(lua_State *L, tl_prog *lp, int i, tp_copts *o) {
  if (!tl_option(L, i, "passes")) return;
  int t = lua_gettop(L);
  o->passes = lua_istable(L, t) ? passes_text(L, lp, t)
                                : tp_strdup(&lp->p->g->arena, tl_string(L, t, "passes"));
  lua_pop(L, 1);
}

static void take_memory(lua_State *L, int i, tp_copts *o) {
  if (!tl_option(L, i, "memory")) return;
  int at = lua_gettop(L), type = lua_type(L, at);
  double n = lua_tonumber(L, at);
  if (type == LUA_TSTRING) {
    const char *s = lua_tostring(L, at);
    bool any = strcmp(s, "none") == 0;
    o->memory = any ? TP_MEMORY_ANY : tp_bytes_parse(s);
    if (o->memory < 0 && !any)
      tl_fail(L,
          "option: memory: '%s' is no number of bytes; write \"2GiB\", \"512MiB\", \"1.5GB\" (KiB, "
          "MiB, GiB, TiB are powers of 1024, KB, MB, GB, TB of 1000) or a number",
          s);
  } else if (type == LUA_TNUMBER && n >= 1 && n < 0x1p62) {
    o->memory = (int64_t)n;
  } else {
    tl_fail(L, "option: memory: expected a number of bytes, or a text like \"2GiB\"; got %s",
        type == LUA_TNUMBER ? lua_tostring(L, at) : tl_describe(L, at));
  }
  lua_pop(L, 1);
}

static bool take_switch(lua_State *L, int i, const char *name) {
  if (!tl_option(L, i, name)) return false;
  bool on = tl_boolean(L, -1, name);
  lua_pop(L, 1);
  return on;
}

static void take_rest(lua_State *L, tl_prog *lp, int i, tp_copts *o) {
  take_memory(L, i, o);
  o->precise = take_switch(L, i, "precise");
  o->reproducible = take_switch(L, i, "reproducible");
  o->async = take_switch(L, i, "async");
  o->cflags = tl_option_string(L, lp, i, "cflags");
  o->check = tl_option_string(L, lp, i, "check");
  o->device = tl_option_string(L, lp, i, "device");
  if (tl_option(L, i, "threads")) {
    int64_t n = tl_integer(L, -1, "threads");
    if (n < 1 || n > 4096)
      tl_fail(L, "option: threads: expected 1 to 4096, got %lld", (long long)n);
    o->threads = (int)n;
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

int tl_compile(lua_State *L) {
  tl_prog *lp = tl_check(L, 1, TL_PROGRAM, "compile");
  tp_error e = { 0 };
  tp_copts o = { 0 };
  tl_options(L, 2, "compile", known);
  tl_mark(L, lp);
  o.pos = lp->pos;
  take_outputs(L, lp, 2, &o);
  take_tier(L, 2, &o);
  take_passes(L, lp, 2, &o);
  take_rest(L, lp, 2, &o);
  take_tick(L, lp, 2, &o);
  tl_name_variables(L, lp);
  tl_fn *u = tl_pushfn(L, lp);
  u->told = lp->p->g->warnings.n;
  u->f = tl_compile_watched(L, lp->p, &o, &e);
  if (!u->f) tl_raise(L, &e);
  u->waits = o.async;
  if (!u->waits) tl_fn_wait(L, u);
  return 1;
}
