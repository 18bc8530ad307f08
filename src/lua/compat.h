/* compat: one source for Lua 5.4 and LuaJIT (the 5.1 API). Everything else in src/lua uses what
 * both have, or a name from here. */
#ifndef TL_COMPAT_H
#define TL_COMPAT_H
#include <lua.h>
#include <lauxlib.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#if LUA_VERSION_NUM < 502
#define LUA_OK                 0
#define lua_rawlen(L, i)       lua_objlen((L), (i))
#define lua_setuservalue(L, i) lua_setfenv((L), (i)) /* in both cases a table of ours */
#define lua_getuservalue(L, i) lua_getfenv((L), (i))
static inline int lua_absindex(lua_State *L, int i) {
  return i > 0 || i <= LUA_REGISTRYINDEX ? i : lua_gettop(L) + i + 1;
}
#endif

/* The thread whose hook an interpreter's Ctrl-C sets: LuaJIT has one hook for all threads. */
static inline lua_State *tl_mainthread(lua_State *L) {
#if LUA_VERSION_NUM >= 502
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return main;
#else
  return L;
#endif
}

static inline void tl_rawgetp(lua_State *L, int i, const void *key) {
  i = lua_absindex(L, i);
  lua_pushlightuserdata(L, (void *)key);
  lua_rawget(L, i);
}
/* t[key] = the value on top, popped */
static inline void tl_rawsetp(lua_State *L, int i, const void *key) {
  i = lua_absindex(L, i);
  lua_pushlightuserdata(L, (void *)key);
  lua_insert(L, -2);
  lua_rawset(L, i);
}
/* A number that is an integer: integral doubles count. */
static inline bool tl_isint(lua_State *L, int i, int64_t *out) {
  if (lua_type(L, i) != LUA_TNUMBER) return false;
#if LUA_VERSION_NUM >= 503
  if (lua_isinteger(L, i)) {
    *out = lua_tointeger(L, i);
    return true;
  }
#endif
  double d = lua_tonumber(L, i);
  if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0) || d != floor(d)) return false;
  *out = (int64_t)d;
  return true;
}
#endif
