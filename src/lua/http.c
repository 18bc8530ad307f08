/* http: the server for lua/tempo/llm/serve.lua. A server and its requests are userdata with
 * methods; a request keeps what the server needs for it, so either may be collected first. */
#include "lua/tl.h"
#include "http/http.h"

static const char server_key, request_key;

static void *http_self(lua_State *L, const char *key, const char *what) {
  void **u = lua_touserdata(L, 1);
  if (u && lua_getmetatable(L, 1)) {
    tl_rawgetp(L, LUA_REGISTRYINDEX, key);
    if (lua_rawequal(L, -1, -2) && *u) return lua_pop(L, 2), *u;
  }
  tl_fail(
      L, "option: %s: expected a server or request that is open, got %s", what, tl_describe(L, 1));
}

static tp_http *server(lua_State *L, const char *what) { return http_self(L, &server_key, what); }
static tp_hreq *request(lua_State *L, const char *what) { return http_self(L, &request_key, what); }

/* Userdata first: an empty one. */
static void **new_http(lua_State *L, const char *key) {
  void **u = lua_newuserdata(L, sizeof *u);
  *u = NULL;
  tl_rawgetp(L, LUA_REGISTRYINDEX, key);
  lua_setmetatable(L, -2);
  return u;
}

static double seconds_at(lua_State *L, int i, const char *what) {
  if (lua_type(L, i) != LUA_TNUMBER)
    tl_fail(L, "option: %s: expected seconds, got %s", what, tl_describe(L, i));
  return lua_tonumber(L, i);
}

/* ---- a server ---- */

static int server_next(lua_State *L) { /* seconds -> a request, or nil */
  tp_http *s = server(L, "next");
  double seconds = seconds_at(L, 2, "next");
  void **u = new_http(L, &request_key);
  *u = tp_http_next(s, seconds);
  if (!*u) lua_pushnil(L);
  return 1;
}

static int server_port(lua_State *L) {
  lua_pushinteger(L, tp_http_port(server(L, "port")));
  return 1;
}

static int server_close(lua_State *L) { /* seconds to linger */
  tp_http_close(server(L, "close"), seconds_at(L, 2, "close"));
  return 0;
}

static int server_gc(lua_State *L) {
  void **u = lua_touserdata(L, 1);
  tp_http_free(*u);
  *u = NULL;
  return 0;
}

/* ---- a request ---- */

/* method, path, the header Authorization, body */
static int request_read(lua_State *L) {
  tp_hreq *r = request(L, "read");
  size_t n;
  const char *body = tp_hreq_body(r, &n);
  lua_pushstring(L, tp_hreq_method(r));
  lua_pushstring(L, tp_hreq_path(r));
  lua_pushstring(L, tp_hreq_authorization(r));
  lua_pushlstring(L, body, n);
  return 4;
}

static int request_reply(lua_State *L) { /* status, type, text */
  tp_hreq *r = request(L, "reply");
  size_t n;
  const char *type = tl_string(L, 3, "reply"), *text = luaL_checklstring(L, 4, &n);
  tp_hreq_reply(r, (int)tl_integer(L, 2, "reply"), type, text, n);
  return 0;
}

static int request_begin(lua_State *L) { /* type */
  tp_hreq *r = request(L, "begin");
  tp_hreq_begin(r, tl_string(L, 2, "begin"));
  return 0;
}

static int request_write(lua_State *L) { /* text */
  tp_hreq *r = request(L, "write");
  size_t n;
  const char *text = luaL_checklstring(L, 2, &n);
  tp_hreq_write(r, text, n);
  return 0;
}

static int request_finish(lua_State *L) { return tp_hreq_end(request(L, "finish")), 0; }

static int request_gone(lua_State *L) {
  lua_pushboolean(L, tp_hreq_gone(request(L, "gone")));
  return 1;
}

static int request_gc(lua_State *L) {
  void **u = lua_touserdata(L, 1);
  tp_hreq_free(*u);
  *u = NULL;
  return 0;
}

/* ---- opening ---- */

/* The metatable under the key, made when it is first asked for. */
static void http_class(
    lua_State *L, const char *key, const char *name, const tl_reg *methods, lua_CFunction gc) {
  tl_rawgetp(L, LUA_REGISTRYINDEX, key);
  if (lua_isnil(L, -1)) {
    lua_createtable(L, 0, 3);
    lua_newtable(L);
    tl_setfuncs(L, tl_stateof(L), methods);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, name);
    lua_setfield(L, -2, "__name");
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
    tl_rawsetp(L, LUA_REGISTRYINDEX, key);
  }
  lua_pop(L, 1);
}

/* host, port, bytes of a body, bytes unsent, connections, seconds idle, seconds stalled -> a
 * server */
int tl_http_open(lua_State *L) {
  static const tl_reg of_server[] = { { "next", server_next, 2 }, { "port", server_port, 1 },
    { "close", server_close, 2 }, { 0 } };
  static const tl_reg of_request[] = { { "read", request_read, 1 }, { "reply", request_reply, 4 },
    { "begin", request_begin, 2 }, { "write", request_write, 2 }, { "finish", request_finish, 1 },
    { "gone", request_gone, 1 }, { 0 } };
  const char *host = tl_string(L, 1, "http_open");
  tp_error e = { 0 };
  tp_hlimits l = { .body = tl_integer(L, 3, "body"),
    .unsent = tl_integer(L, 4, "unsent"),
    .connections = (int)tl_integer(L, 5, "connections"),
    .idle = seconds_at(L, 6, "idle"),
    .stalled = seconds_at(L, 7, "stalled") };
  http_class(L, &server_key, "tempo.Server", of_server, server_gc);
  http_class(L, &request_key, "tempo.Request", of_request, request_gc);
  void **u = new_http(L, &server_key);
  *u = tp_http_open(host, (int)tl_integer(L, 2, "port"), &l, &e);
  return *u ? 1 : tl_raise(L, &e);
}
