/* module: luaopen_tempo. Opening prints nothing and reads only lua/tempo/binding.lua. */
#include "lua/tl.h"

static const char module_key;

void tl_require(lua_State *L, const char *name) {
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

static int core_require(lua_State *L) {
  tl_require(L, tl_string(L, 1, "require"));
  return 1;
}

/* Seconds of a clock that never goes back. */
static int module_clock(lua_State *L) {
  lua_pushnumber(L, tp_now());
  return 1;
}

/* { { device =, name =, memory =, missing = }, ... } */
static int module_devices(lua_State *L) {
  tp_device_row d;
  tp_buf missing;
  tp_buf_init(&missing);
  lua_newtable(L);
  for (int i = 0; tp_devices(i, &d, &missing); i++, missing.n = 0) {
    lua_createtable(L, 0, 4);
    lua_pushstring(L, d.device);
    lua_setfield(L, -2, "device");
    if (*d.name) lua_pushstring(L, d.name), lua_setfield(L, -2, "name");
    if (d.memory) lua_pushinteger(L, (lua_Integer)d.memory), lua_setfield(L, -2, "memory");
    if (missing.n) lua_pushlstring(L, missing.s, missing.n), lua_setfield(L, -2, "missing");
    lua_rawseti(L, -2, i + 1);
  }
  tp_buf_free(&missing);
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

static void push_extents(lua_State *L, const int *v, int most) {
  lua_newtable(L);
  for (int k = 0; k < most && v[k]; k++) {
    lua_pushinteger(L, v[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

/* Facts about an environment: fields of a table of rl.envs; nil: there is none; without a name all
 * names. */
static int module_environment(lua_State *L) {
  if (lua_isnoneornil(L, 1)) return push_environments(L);
  const tp_env *e = tp_env_find(tl_string(L, 1, "environment"));
  if (!e) return 0;
  lua_newtable(L);
  push_extents(L, e->shape, TP_LEN(e->shape)), lua_setfield(L, -2, "observation");
  if (e->nactions) lua_pushinteger(L, e->nactions);
  else push_extents(L, &e->nact, 1);
  lua_setfield(L, -2, "actions");
  if (e->max_steps) lua_pushinteger(L, e->max_steps), lua_setfield(L, -2, "max_steps");
  if (e->masked) lua_pushboolean(L, 1), lua_setfield(L, -2, "masked");
  lua_pushinteger(L, e->nreset), lua_setfield(L, -2, "reset_uniforms");
  lua_pushinteger(L, tp_env_nu(e)), lua_setfield(L, -2, "uniforms");
  return 1;
}

/* Opens a library of environments; their names. */
static int module_load_env(lua_State *L) {
  tp_error err = { 0 };
  const tempo_env_list *l = tp_env_load(tl_string(L, 1, "rl.load_env"), &err);
  if (!l) tl_raise(L, &err);
  lua_createtable(L, l->count, 0);
  for (int k = 0; k < l->count; k++) {
    lua_pushstring(L, l->env[k].name);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

void tl_pushmodule(lua_State *L) { tl_rawgetp(L, LUA_REGISTRYINDEX, &module_key); }

static int core_describe(lua_State *L) {
  lua_pushstring(L, tl_describe(L, 1));
  return 1;
}

static int core_options(lua_State *L) { /* options, whose, { name, ... } */
  const char *known[16] = { NULL };
  luaL_checktype(L, 3, LUA_TTABLE);
  for (int k = 0; k < (int)TP_LEN(known) - 1 && k < (int)lua_rawlen(L, 3); k++) {
    lua_rawgeti(L, 3, k + 1);
    known[k] = tl_string(L, -1, "options");
    lua_pop(L, 1);
  }
  tl_options(L, 1, tl_string(L, 2, "options"), known);
  return 0;
}

static int core_operator(lua_State *L) { /* method, operands */
  const tp_method *m = tp_method_find(tl_string(L, 1, "operator"));
  if (TP_NEVER(!m)) return 0;
  return tl_callmethod(L, m, 2);
}

static int module_lift(lua_State *L) { /* P, a value, what it is -> its tensor */
  tl_prog *lp = tl_self(L, "lift");
  tl_pushtensor(L, lp, tl_lifted(L, lp, 2, luaL_optstring(L, 3, "lift")));
  return 1;
}

static int core_unknown(lua_State *L) { /* what, name, { [name] = anything } */
  const char *names[TL_NAMES];
  int n = tl_names(L, 3, names);
  return tl_unknown(L, tl_string(L, 1, "unknown"), tl_string(L, 2, "unknown"), names, n);
}

static const tl_reg functions[] = {
  { "program", tl_program, 1 },
  { "grad", tl_grad, 3 },
  { "array", tl_array_new, 3 },
  { "rows", tl_rows_new, 1 },
  { "load", tl_array_load, 1 },
  { "save", tl_array_save_named, 3 },
  { "open", tl_open_weights, 1 },
  { "clock", module_clock, 0 },
  { "devices", module_devices, 0 },
  { "warn", tl_default_warn, 1 },
  { 0 },
};

/* for tempo's libraries in Lua: in the metatable of tempo */
static const luaL_Reg hidden[] = {
  { "fail", tl_error },
  { "environment", module_environment },
  { "load_env", module_load_env },
  { "nearest", tl_nearest },
  { "step", tl_grad_step },
  { "may_miss", tl_may_miss },
  { "mkdir", tl_make_folder },
  { "lift", module_lift },
  { "feeds", tl_fn_feeds },
  { "http_open", tl_http_open },
  { "json_decode", tl_json_decode },
  { "json_encode", tl_json_encode },
  { "llm_sample", tl_llm_sample },
  { "llm_keep", tl_llm_keep },
  { "llm_grow", tl_llm_grow },
  { "tokenizer", tl_tokenizer_open },
  { 0 },
};

/* for binding.lua alone */
static const luaL_Reg core[] = {
  { "define", tl_define },
  { "describe", core_describe },
  { "require", core_require },
  { "options", core_options },
  { "operator", core_operator },
  { "unknown", core_unknown },
  { "combine", tl_index_combine },
  { "quotient", tl_index_quotient },
  { "range", tl_index_range },
  { "parameters", tl_fn_parameters },
  { "parameter", tl_fn_parameter },
  { "fit", tl_fn_fit },
  { "load", tl_fn_load_param },
  { "save", tl_fn_save },
  { "declare", tl_declare },
  { "param", tl_param },
  { "record", tl_record },
  { "shape", tl_array_shape },
  { "peek", tl_peek },
  { "compile", tl_compile },
  { "unnamed", tl_unnamed },
  { "name", tl_name_variable },
  { 0 },
};

static void push_functions(lua_State *L, tl_state *S, const luaL_Reg *r) {
  lua_newtable(L);
  for (; r->name; r++) {
    tl_pushfunction(L, S, r->func, 0);
    lua_setfield(L, -2, r->name);
  }
}

/* Errors and nodes of chunks in binding.lua's folder get the line of the script that called
 * them. */
static void take_libdir(lua_State *L, tl_state *S) {
  lua_Debug ar;
  lua_pushvalue(L, -1);
  lua_getinfo(L, ">S", &ar);
  const char *end = strrchr(ar.source, '/');
  if (end && (size_t)(end - ar.source) + 1 < sizeof S->libdir)
    snprintf(S->libdir, sizeof S->libdir, "%.*s/", (int)(end - ar.source), ar.source);
}

/* Calls binding.lua's function with the module, core and the classes; it returns the functions that
 * make errors and find names. */
static void open_binding(lua_State *L, tl_state *S) {
  tl_require(L, "binding");
  take_libdir(L, S);
  lua_pushvalue(L, -2);
  push_functions(L, S, core);
  lua_newtable(L);
  for (int t = TL_PROGRAM; t < TL_NTYPE; t++) {
    tl_pushclass(L, (tl_type)t);
    lua_rawseti(L, -2, t);
  }
  tl_call(L, 3, 2);
  tl_names_by(L);
  tl_errors_by(L);
}

/* lua/tempo/init.lua refuses other Luas before; this is for a module loaded alone. LuaJIT's would
 * run under PUC-Rio's 5.1 up to the first function that it lacks. */
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
  tl_open_rows(L, S);
  tl_open_loose(L, S);
  tl_open_fn(L, S);
  tl_open_saved(L, S);
  tl_open_files(L, S);
  tl_open_tokenizer(L, S);
  lua_newtable(L);
  tl_push_methods(L, S, "mfc", TL_NONE);
  tl_setfuncs(L, S, functions);
  lua_pushliteral(L, "tempo " TP_VERSION);
  lua_setfield(L, -2, "_VERSION");
  push_functions(L, S, hidden);
  tl_open_json(L);
  tl_push_composing(L, S);
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  tl_rawsetp(L, LUA_REGISTRYINDEX, &module_key);
  open_binding(L, S);
  return 1;
}
