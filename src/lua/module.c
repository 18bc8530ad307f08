/* module: luaopen_tempo. Opening prints nothing and reads only where the Lua libraries are. */
#include "lua/tl.h"

static const char module_key;

static const char *const libraries[] = { "nn", "optim", "dist", "rl", "llm", "data", "logger",
  "viz", "associative_scan" };

/* Errors and nodes of chunks in the folder of tempo/nn.lua get the line of the script that called
 * them. */
static void find_libraries(lua_State *L, tl_state *S) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchpath");
  lua_getfield(L, -2, "path");
  if (lua_isfunction(L, -2) && lua_isstring(L, -1)) {
    lua_pushliteral(L, "tempo.nn");
    lua_insert(L, -2);
    tl_call(L, 2, 1);
    const char *path = lua_tostring(L, -1), *end = path ? strrchr(path, '/') : NULL;
    if (end && (size_t)(end - path) + 3 < sizeof S->libdir)
      snprintf(S->libdir, sizeof S->libdir, "@%.*s/", (int)(end - path), path);
    lua_pop(L, 2);
  } else lua_pop(L, 3);
}

static bool is_library(const char *name) {
  for (size_t k = 0; k < TP_LEN(libraries); k++)
    if (strcmp(libraries[k], name) == 0) return true;
  return false;
}

void tl_require(lua_State *L, const char *name) {
  tl_state *S = tl_stateof(L);
  if (!S->libdir[0]) find_libraries(L, S);
  lua_getglobal(L, "require");
  lua_pushfstring(L, "tempo.%s", name);
  if (tl_pcall(L, 1, 1) != 0) {
    lua_pushfstring(L, "module 'tempo.%s' not found", name);
    const char *why = lua_tostring(L, -2), *none = lua_tostring(L, -1);
    if (why && strncmp(why, none, strlen(none)) == 0)
      tl_fail(L, "option: the library tempo.%s is nowhere on package.path", name);
    lua_pop(L, 1);
    lua_error(L);
  }
}

static int module_index(lua_State *L) {
  lua_settop(L, 2);
  if (lua_type(L, 2) != LUA_TSTRING) return lua_pushnil(L), 1;
  const char *name = lua_tostring(L, 2), *names[TL_NAMES + TP_LEN(libraries)];
  if (is_library(name)) {
    tl_require(L, name);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_rawset(L, 1); /* tempo.name from now on */
    return 1;
  }
  int n = tl_names(L, 1, names);
  for (size_t k = 0; k < TP_LEN(libraries); k++) names[n++] = libraries[k];
  return tl_unknown(L, "tempo", name, names, n);
}

/* tempo.shape(x) is x:shape(); the upvalue is its name. */
static int module_method(lua_State *L) {
  const char *name = lua_tostring(L, TL_UPVALUE);
  bool array = tl_typeof(L, 1) == TL_ARRAY;
  if (!tl_is_tensor(L, 1) && !(array && (strcmp(name, "shape") == 0 || strcmp(name, "dtype") == 0)))
    tl_fail(
        L, "option: bad argument #1 to '%s': expected a tensor, got %s", name, tl_describe(L, 1));
  int n = lua_gettop(L);
  lua_getfield(L, 1, name);
  lua_insert(L, 1);
  lua_call(L, n, LUA_MULTRET);
  return lua_gettop(L);
}

/* grad and program are other things in tempo */
static void push_handle_methods(lua_State *L, tl_state *S) {
  static const char *const names[] = { "shape", "dtype", "domain", "name", "at", "backward",
    "peek" };
  for (size_t k = 0; k < TP_LEN(names); k++) {
    lua_pushstring(L, names[k]);
    tl_setnamed(L, S, TL_NONE, &(tl_reg){ names[k], module_method, 0 }, 1);
  }
}

/* Seconds of a clock that never goes back. */
static int module_clock(lua_State *L) {
  lua_pushnumber(L, tp_now());
  return 1;
}

static int push_environments(lua_State *L) { /* their names */
  int n = 16, found;
  const char **names = lua_newuserdata(L, sizeof *names * (size_t)n);
  while ((found = tp_env_names(names, n)) == n)
    names = lua_newuserdata(L, sizeof *names * (size_t)(n *= 2));
  lua_createtable(L, found, 0);
  for (int k = 0; k < found; k++) {
    lua_pushstring(L, names[k]);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* For tempo.rl: what is known of an environment, nil: there is none; without a name all names. */
static int module_environment(lua_State *L) {
  if (lua_isnoneornil(L, 1)) return push_environments(L);
  const tp_env *e = tp_env_find(tl_string(L, 1, "environment"));
  if (!e) return 0;
  lua_createtable(L, 0, 3);
  tl_set_integer(L, "uniforms", e->nu);
  lua_createtable(L, 1, 0);
  lua_pushinteger(L, e->nobs);
  lua_rawseti(L, -2, 1);
  lua_setfield(L, -2, "observation");
  if (e->nactions) tl_set_integer(L, "actions", e->nactions);
  return 1;
}

void tl_pushmodule(lua_State *L) { tl_rawgetp(L, LUA_REGISTRYINDEX, &module_key); }

/* for tempo's libraries in Lua */
static const luaL_Reg hidden[] = { { "__index", module_index }, { "fail", tl_error },
  { "environment", module_environment }, { "nearest", tl_nearest }, { "step", tl_grad_step },
  { "may_miss", tl_may_miss } };

static const tl_reg functions[] = {
  { "program", tl_program, 1 },
  { "grad", tl_grad, 3 },
  { "array", tl_array_new, 3 },
  { "load", tl_array_load, 1 },
  { "save", tl_array_save_named, 2 },
  { "range", tl_index_range, 0 },
  { "min", tl_index_min, 0 },
  { "max", tl_index_max, 0 },
  { "floordiv", tl_index_floordiv, 2 },
  { "mod", tl_index_mod, 2 },
  { "clock", module_clock, 0 },
  { "warn", tl_default_warn, 1 },
  { 0 },
};

/* lua/tempo/init.lua refuses other Luas before; this is for loading the module alone. LuaJIT's
 * would run under PUC-Rio's 5.1 up to the first thing that it lacks. */
#if LUA_VERSION_NUM < 502
extern int luaJIT_setmode(lua_State *L, int index, int mode) __attribute__((weak));
static void check_version(lua_State *L) {
  if (!luaJIT_setmode)
    luaL_error(L, "tempo runs under Lua 5.4 and LuaJIT 2.1; this is %s", LUA_VERSION);
}
#else
static void check_version(lua_State *L) { luaL_checkversion(L); }
#endif

__attribute__((visibility("default"))) int luaopen_tempo(lua_State *L);
int luaopen_tempo(lua_State *L) {
  check_version(L);
  tl_state *S = tl_stateof(L);
  tl_open_program(L, S);
  tl_open_index(L, S);
  tl_open_tensor(L, S);
  tl_open_array(L, S);
  tl_open_loose(L, S);
  tl_open_fn(L, S);
  tl_open_saved(L, S);
  find_libraries(L, S);
  lua_newtable(L);
  tl_push_methods(L, S, "mfc", TL_NONE);
  push_handle_methods(L, S);
  /* last: floordiv and mod take index expressions too */
  tl_setfuncs(L, S, functions);
  lua_pushliteral(L, "tempo " TP_VERSION);
  lua_setfield(L, -2, "_VERSION");
  lua_newtable(L);
  for (size_t k = 0; k < TP_LEN(hidden); k++) {
    tl_pushfunction(L, S, hidden[k].func, 0);
    lua_setfield(L, -2, hidden[k].name);
  }
  tl_push_composing(L, S);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  tl_rawsetp(L, LUA_REGISTRYINDEX, &module_key);
  return 1;
}
