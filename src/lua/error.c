/* error: tp_error becomes a Lua error object at the script's line: a table { code, message, where =
 * { file, line }, notes = { ... }, text } that acts as its text in tostring, print, .., the
 * standalone interpreters, and every method of strings (e:find "cycle"). A function that insists on
 * a string is given tostring(e). */
#include "lua/tl.h"
#include <stdlib.h>

/* registry: metatable of error objects and of their places */
static const char error_key;

static bool is_library_source(const tl_state *S, const char *source) {
  return S->libdir[0] && strncmp(source, S->libdir, strlen(S->libdir)) == 0;
}

bool tl_here(lua_State *L, lua_Debug *ar) {
  const tl_state *S = tl_stateof(L);
  for (int level = 0; lua_getstack(L, level, ar); level++)
    if (lua_getinfo(L, "Sl", ar) && ar->currentline > 0 && !is_library_source(S, ar->source))
      return true;
  return false;
}

bool tl_is_library(lua_State *L, const char *source) {
  return is_library_source(tl_stateof(L), source);
}

bool tl_by_library(lua_State *L) {
  lua_Debug ar;
  return lua_getstack(L, 1, &ar) && lua_getinfo(L, "S", &ar) && tl_is_library(L, ar.source);
}

static bool is_error(lua_State *L, int i) {
  if (!lua_istable(L, i) || !lua_getmetatable(L, i)) return false;
  tl_rawgetp(L, LUA_REGISTRYINDEX, &error_key);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

static void push_text(lua_State *L, int i) { /* an error's; else the value */
  lua_pushvalue(L, i);
  if (!is_error(L, i)) return;
  lua_pushliteral(L, "text");
  lua_rawget(L, -2);
  lua_remove(L, -2);
}

static int error_tostring(lua_State *L) {
  push_text(L, 1);
  return 1;
}

static int error_concat(lua_State *L) {
  lua_settop(L, 2);
  for (int i = 1; i <= 2; i++) push_text(L, i);
  lua_concat(L, 2);
  return 1;
}

static int error_len(lua_State *L) {
  push_text(L, 1);
  lua_pushinteger(L, (lua_Integer)lua_rawlen(L, -1));
  return 1;
}

static int string_method(lua_State *L) { /* upvalue: the function of strings */
  push_text(L, 1);
  lua_replace(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int error_index(lua_State *L) {
  lua_settop(L, 2);
  lua_pushliteral(L, "");
  if (!luaL_getmetafield(L, 3, "__index") || !lua_istable(L, -1)) return 0;
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  if (!lua_isfunction(L, -1)) return 0;
  lua_pushcclosure(L, string_method, 1);
  return 1;
}

static void push_class(lua_State *L) {
  static const luaL_Reg meta[] = { { "__tostring", error_tostring }, { "__concat", error_concat },
    { "__len", error_len }, { "__index", error_index } };
  tl_rawgetp(L, LUA_REGISTRYINDEX, &error_key);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_newtable(L);
  for (size_t k = 0; k < TP_LEN(meta); k++) {
    lua_pushcfunction(L, meta[k].func);
    lua_setfield(L, -2, meta[k].name);
  }
  lua_pushliteral(L, "tempo.Error");
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -1);
  tl_rawsetp(L, LUA_REGISTRYINDEX, &error_key);
}

static void set_text(lua_State *L, const char *key, const char *s) {
  lua_pushstring(L, s);
  lua_setfield(L, -2, key);
}

static void push_where(lua_State *L, tp_pos pos) {
  lua_createtable(L, 0, 3);
  set_text(L, "file", pos.file);
  tl_set_integer(L, "line", pos.line);
  lua_pushfstring(L, "%s:%d", pos.file, pos.line);
  lua_setfield(L, -2, "text");
  push_class(L);
  lua_setmetatable(L, -2);
}

static void push_notes(lua_State *L, const char *s) {
  lua_newtable(L);
  for (int n = 1; *s; n++) {
    size_t len = strcspn(s, "\n");
    lua_pushlstring(L, s, len);
    lua_rawseti(L, -2, n);
    s += len + (s[len] != 0);
  }
}

/* adds the line of the script if the error has none */
static void push_error(lua_State *L, const tp_error *e) {
  char text[4096];
  tp_error copy = *e;
  lua_Debug ar;
  if (!copy.pos.file) copy.pos = tl_stateof(L)->at;
  if (!copy.pos.file && tl_here(L, &ar)) copy.pos = (tp_pos){ ar.short_src, ar.currentline };
  luaL_checkstack(L, 8, "error");
  lua_createtable(L, 0, 5);
  set_text(L, "code", tp_code_word(copy.code));
  set_text(L, "message", copy.msg);
  set_text(L, "text", tp_error_text(&copy, text, sizeof text));
  if (copy.pos.file) {
    push_where(L, copy.pos);
    lua_setfield(L, -2, "where");
  }
  push_notes(L, copy.notes);
  lua_setfield(L, -2, "notes");
  push_class(L);
  lua_setmetatable(L, -2);
}

int tl_raise(lua_State *L, const tp_error *e) {
  push_error(L, e);
  lua_error(L);
  TP_ASSERT(!"lua_error returned");
  __builtin_unreachable();
}

int tl_fail(lua_State *L, const char *fmt, ...) {
  char text[1024];
  TP_FORMAT(text, fmt);
  tl_fail_as(L, tp_code_of(text), "%s", text);
}

int tl_fail_as(lua_State *L, tp_code code, const char *fmt, ...) {
  char text[1024];
  TP_FORMAT(text, fmt);
  tp_error e = { 0 };
  tp_fail(&e, code, TP_NOWHERE, "%s", text);
  tl_raise(L, &e);
}

/* lua/tempo/foreign.lua's word on a name of PyTorch, JAX or NumPy; NULL: none. */
static const char *foreign_hint(lua_State *L, const char *what, const char *name) {
  if (strncmp(what, "tempo", 5) != 0) return NULL;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tempo.foreign");
  if (tl_pcall(L, 1, 1) != 0 || !lua_istable(L, -1)) return NULL;
  lua_getfield(L, -1, name);
  return lua_tostring(L, -1);
}

int tl_unknown(lua_State *L, const char *what, const char *name, const char *const *names, int n) {
  char hint[TP_HINT];
  const char *foreign = foreign_hint(L, what, name);
  if (foreign) tl_fail(L, "option: %s has no '%s'; here it is %s", what, name, foreign);
  tl_fail(L, "option: %s has no '%s'%s", what, name, tp_hint(hint, name, names, n));
}

/* word, { [name] = anything } */
int tl_nearest(lua_State *L) {
  const char *word = luaL_checkstring(L, 1), *names[TL_NAMES];
  lua_pushstring(L, tp_nearest(word, names, tl_names(L, 2, names)));
  return 1;
}

int tl_error(lua_State *L) { /* word, text */
  return tl_fail(L, "%s: %s", luaL_checkstring(L, 1), luaL_checkstring(L, 2));
}

/* ---- warnings: tempo.warn(text); a script may replace it, make it raise, or silence it with false
 * ---- */
int tl_default_warn(lua_State *L) {
  fprintf(stderr, "tempo: warning: %s\n", luaL_checkstring(L, 1));
  return 0;
}

void tl_warn_once(lua_State *L, tl_prog *lp, const void *why, const char *text) {
  struct {
    const void *why;
    const char *file;
    int64_t line;
  } key = { why, lp->pos.file, lp->pos.line };
  if (tp_hmap_get(&lp->lines, &key, sizeof key)) return;
  tp_hmap_set(&lp->lines, &key, sizeof key, lp);
  tl_warn(
      L, lua_pushfstring(L, "%s:%d: %s", lp->pos.file ? lp->pos.file : "?", lp->pos.line, text));
  lua_pop(L, 1);
}

void tl_warn(lua_State *L, const char *text) {
  tl_pushmodule(L);
  lua_pushliteral(L, "warn");
  lua_rawget(L, -2);
  if (lua_toboolean(L, -1)) {
    lua_pushstring(L, text);
    tl_call(L, 1, 0);
  } else lua_pop(L, 1);
  lua_pop(L, 1);
}
