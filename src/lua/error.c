/* error: a tp_error becomes a Lua error at the script's line: an object that binding.lua makes. */
#include "lua/tl.h"

/* registry: binding.lua's function that makes one */
static const char error_key;

void tl_errors_by(lua_State *L) { tl_rawsetp(L, LUA_REGISTRYINDEX, &error_key); }

/* is it a chunk of ours? */
static bool is_library(lua_State *L, const char *source) {
  const char *dir = tl_stateof(L)->libdir;
  return *dir && strncmp(source, dir, strlen(dir)) == 0;
}

bool tl_here(lua_State *L, lua_Debug *ar) {
  for (int level = 0; lua_getstack(L, level, ar); level++)
    if (lua_getinfo(L, "Sl", ar) && ar->currentline > 0 && !is_library(L, ar->source)) return true;
  return false;
}

bool tl_by_library(lua_State *L) {
  lua_Debug ar;
  return lua_getstack(L, 1, &ar) && lua_getinfo(L, "S", &ar) && is_library(L, ar.source);
}

int tl_raise(lua_State *L, const tp_error *e) {
  tp_pos pos = e->pos.file ? e->pos : tl_stateof(L)->at;
  lua_Debug ar;
  if (!pos.file && tl_here(L, &ar)) pos = (tp_pos){ ar.short_src, ar.currentline };
  luaL_checkstack(L, 8, "error");
  tl_rawgetp(L, LUA_REGISTRYINDEX, &error_key);
  lua_pushstring(L, tp_code_word(e->code));
  lua_pushstring(L, e->msg);
  lua_pushstring(L, e->notes);
  lua_pushstring(L, pos.file); /* NULL: nil */
  lua_pushinteger(L, pos.line);
  lua_call(L, 5, 1);
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
  if (foreign) tl_fail(L, "option: %s has no '%s'; %s", what, name, foreign);
  tl_fail(L, "option: %s has no '%s'%s", what, name, tp_hint(hint, name, names, n));
}

/* word, { [name] = anything } -> the nearest name, and the hint behind an unknown name in a
 * message */
int tl_nearest(lua_State *L) {
  const char *word = luaL_checkstring(L, 1), *names[TL_NAMES];
  char hint[TP_HINT];
  int n = tl_names(L, 2, names);
  const char *near = tp_nearest(word, names, n);
  tp_hint(hint, word, names, n);
  lua_pushstring(L, near);
  lua_pushstring(L, hint);
  return 2;
}

int tl_error(lua_State *L) { /* word, text[, file, line] */
  const char *word = luaL_checkstring(L, 1);
  tp_error e = { 0 };
  tp_pos pos = { luaL_optstring(L, 3, NULL), luaL_optinteger(L, 4, 0) };
  tp_fail(&e, tp_code_of(word), pos, "%s: %s", word, luaL_checkstring(L, 2));
  return tl_raise(L, &e);
}

/* ---- tempo.warn(text): a script may replace it, make it raise, or silence it with false ---- */
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
  tl_warn_at(L, lp->pos, text);
}

void tl_warn_at(lua_State *L, tp_pos pos, const char *text) {
  tl_warn(L, lua_pushfstring(L, "%s:%d: %s", pos.file ? pos.file : "?", pos.line, text));
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
