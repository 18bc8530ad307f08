/* error: tp_error becomes a Lua error, at the line where the script wrote what is wrong. */
#include "lua/tl.h"
#include <stdio.h>

static bool is_library(const tl_state *S, const char *source) {
  return S->libdir[0] && strncmp(source, S->libdir, strlen(S->libdir)) == 0;
}

bool tl_here(lua_State *L, lua_Debug *ar) {
  const tl_state *S = tl_stateof(L);
  for (int level = 0; lua_getstack(L, level, ar); level++)
    if (lua_getinfo(L, "Sl", ar) && ar->currentline > 0 && !is_library(S, ar->source)) return true;
  return false;
}

static void push_text(lua_State *L, const tp_error *e) {        /* with the line of the script, if the error has none of its own */
  char text[4096];
  tp_error copy = *e;
  lua_Debug ar;
  if (!copy.pos.file) copy.pos = tl_stateof(L)->at;
  if (!copy.pos.file && tl_here(L, &ar)) copy.pos = (tp_pos){ ar.short_src, ar.currentline };
  lua_pushstring(L, tp_error_text(&copy, text, sizeof text));
}

int tl_io_failed(lua_State *L, const tp_error *e) {
  if (e->code != TP_E_FILE) tl_raise(L, e);
  lua_pushnil(L);
  push_text(L, e);
  return 2;
}

int tl_raise(lua_State *L, const tp_error *e) {
  push_text(L, e);
  lua_error(L);
  TP_ASSERT(!"lua_error returned");
  __builtin_unreachable();
}

int tl_fail(lua_State *L, tp_code code, const char *fmt, ...) {
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  tp_error e = { 0 };
  tp_fail(&e, code, (tp_pos){ 0 }, "%s", text);
  tl_raise(L, &e);
}

int tl_unknown(lua_State *L, const char *what, const char *name, const char *const *names, int n) {
  const char *near = tp_nearest(name, names, n);
  if (near) tl_fail(L, TP_E_OPTION, "option: %s has no '%s'; did you mean '%s'?", what, name, near);
  tl_fail(L, TP_E_OPTION, "option: %s has no '%s'", what, name);
}

#if LUA_VERSION_NUM >= 504
void tl_warn(lua_State *L, const char *text) {
  lua_warning(L, text, 0);
}
#else
void tl_warn(lua_State *L, const char *text) {        /* io.stderr:write("Lua warning: " .. text .. "\n"), whatever io is now */
  lua_getglobal(L, "io");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "stderr");
    if (lua_isuserdata(L, -1)) {
      lua_getfield(L, -1, "write");
      lua_insert(L, -2);
      lua_pushfstring(L, "Lua warning: %s\n", text);
      lua_call(L, 2, 0);
    } else lua_pop(L, 1);
  }
  lua_pop(L, 1);
}
#endif
