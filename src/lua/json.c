/* json: texts in JSON for our libraries in Lua. Objects and lists become tables; a list's metatable
 * is core.json_list, so that an empty one stays a list; null is core.null. Numbers below 2^53 that
 * are whole come as integers, where Lua has them. */
#include "lua/tl.h"
#include <stdlib.h>

static const char list_key;

static int json_gc(lua_State *L) {
  tp_json **j = lua_touserdata(L, 1);
  *j = tp_json_free(*j);
  return 0;
}

/* owned by Lua before anything can raise */
static tp_json **new_json(lua_State *L) {
  tp_json **j = lua_newuserdata(L, sizeof *j);
  *j = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, json_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return j;
}

void tl_push_json(lua_State *L, const tp_json *j) {
  int64_t k;
  tp_json_kind kind = tp_json_is(j);
  luaL_checkstack(L, 4, "json");
  if (kind == TP_JSON_NULL) lua_pushlightuserdata(L, NULL);
  else if (kind == TP_JSON_TRUE || kind == TP_JSON_FALSE) lua_pushboolean(L, kind == TP_JSON_TRUE);
  else if (kind == TP_JSON_TEXT) lua_pushstring(L, tp_json_text(j));
  else if (tp_json_integer(j, &k)) lua_pushinteger(L, (lua_Integer)k);
  else if (kind == TP_JSON_NUMBER) lua_pushnumber(L, tp_json_number(j));
  else {
    lua_newtable(L);
    int n = 0;
    for (j = tp_json_first(j); j; j = tp_json_next(j)) {
      tl_push_json(L, j);
      if (kind == TP_JSON_OBJECT) lua_pushstring(L, tp_json_key(j)), lua_insert(L, -2);
      if (kind == TP_JSON_OBJECT) lua_rawset(L, -3);
      else lua_rawseti(L, -2, ++n);
    }
    if (kind == TP_JSON_LIST) tl_rawgetp(L, LUA_REGISTRYINDEX, &list_key), lua_setmetatable(L, -2);
  }
}

int tl_json_decode(lua_State *L) { /* text[, what messages call it] -> value */
  tp_error e = { 0 };
  size_t n;
  const char *text = luaL_checklstring(L, 1, &n), *label = luaL_optstring(L, 2, "json");
  tp_json **j = new_json(L);
  *j = tp_json_parse(label, text, n, &e);
  if (!*j) return tl_raise(L, &e);
  tl_push_json(L, *j);
  *j = tp_json_free(*j);
  return 1;
}

/* ---- encode ---- it raises nothing: the buffer belongs to no userdata */

static bool json_value(lua_State *L, int i, int depth, tp_buf *b, tp_error *err);

static bool refuse_json(tp_error *err, const char *why) {
  return tp_fail(err, TP_E_OPTION, TP_NOWHERE, "option: json_encode: %s", why);
}

static bool json_number(lua_State *L, int i, tp_buf *b, tp_error *err) {
  char text[32];
  int64_t k;
  double v = lua_tonumber(L, i);
  if (tl_isint(L, i, &k)) return tp_putf(b, "%lld", (long long)k), true;
  if (!isfinite(v)) return refuse_json(err, "a number is not finite");
  snprintf(text, sizeof text, "%.15g", v);
  if (strtod(text, NULL) != v) snprintf(text, sizeof text, "%.17g", v);
  return tp_puts(b, text), true;
}

static bool json_items(lua_State *L, int i, int n, int depth, tp_buf *b, tp_error *err) {
  tp_puts(b, "[");
  for (int k = 1; k <= n; k++) {
    if (k > 1) tp_puts(b, ",");
    lua_rawgeti(L, i, k);
    bool ok = lua_isnil(L, -1) ? refuse_json(err, "a list has holes")
                               : json_value(L, lua_gettop(L), depth, b, err);
    lua_pop(L, 1);
    if (!ok) return false;
  }
  return tp_puts(b, "]"), true;
}

/* The keys, sorted, so that one table gives one text; NULL: err says why. */
static const char **sorted_keys(lua_State *L, int i, int n, tp_error *err) {
  const char **v = tp_alloc(sizeof *v * (size_t)(n + 1));
  int k = 0;
  if (!v) return tp_no_memory(err, TP_NOWHERE), NULL;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    size_t len = 0;
    v[k] = lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &len) : NULL;
    if (v[k] && strlen(v[k]) == len && ++k) continue;
    lua_pop(L, 2);
    tp_free(v);
    return refuse_json(err, "a table is neither a list nor one by names without zero bytes"), NULL;
  }
  qsort(v, (size_t)k, sizeof *v, tp_by_text);
  return v;
}

static bool json_entries(lua_State *L, int i, int n, int depth, tp_buf *b, tp_error *err) {
  const char **keys = sorted_keys(L, i, n, err);
  bool ok = keys != NULL;
  tp_puts(b, "{");
  for (int k = 0; ok && k < n; k++) {
    if (k) tp_puts(b, ",");
    tp_json_put(b, keys[k], strlen(keys[k]));
    tp_puts(b, ":");
    lua_getfield(L, i, keys[k]);
    ok = json_value(L, lua_gettop(L), depth, b, err);
    lua_pop(L, 1);
  }
  tp_puts(b, "}");
  tp_free(keys);
  return ok;
}

static bool json_value(lua_State *L, int i, int depth, tp_buf *b, tp_error *err) {
  size_t n;
  const char *s;
  if (depth > TP_JSON_DEPTH || !lua_checkstack(L, 8))
    return refuse_json(err, "tables are nested more than 200 deep");
  switch (lua_type(L, i)) {
  case LUA_TLIGHTUSERDATA:
  case LUA_TNIL: return tp_puts(b, "null"), true;
  case LUA_TBOOLEAN: return tp_puts(b, lua_toboolean(L, i) ? "true" : "false"), true;
  case LUA_TNUMBER: return json_number(L, i, b, err);
  case LUA_TSTRING: s = lua_tolstring(L, i, &n); return tp_json_put(b, s, n), true;
  case LUA_TTABLE: break;
  default: return refuse_json(err, "only tables, strings, numbers, booleans and null are JSON");
  }
  int keys = tl_count(L, i), len = (int)lua_rawlen(L, i);
  bool list = len > 0 && keys == len;
  if (!keys && lua_getmetatable(L, i)) {
    tl_rawgetp(L, LUA_REGISTRYINDEX, &list_key);
    list = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  return list ? json_items(L, i, len, depth + 1, b, err)
              : json_entries(L, i, keys, depth + 1, b, err);
}

int tl_json_encode(lua_State *L) { /* value -> text */
  tp_error e = { 0 };
  tp_buf b;
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  tp_buf_init(&b);
  bool ok = json_value(L, 1, 0, &b, &e);
  if (b.failed) ok = tp_no_memory(&e, TP_NOWHERE);
  if (ok) return tl_pushbuf(L, &b), 1;
  tp_buf_free(&b);
  return tl_raise(L, &e);
}

void tl_open_json(lua_State *L) { /* into the table on top */
  lua_newtable(L);
  lua_pushvalue(L, -1);
  tl_rawsetp(L, LUA_REGISTRYINDEX, &list_key);
  lua_setfield(L, -2, "json_list");
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
}
