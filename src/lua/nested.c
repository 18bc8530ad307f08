/* nested: arrays to and from nested Lua tables. */
#include "lua/tl.h"

#define EXACT 9007199254740992LL /* 2^53: beyond it doubles skip integers */

void tl_pushelem(lua_State *L, const tp_array *a, int64_t k) {
  if (a->dtype == TP_BOOL) {
    lua_pushboolean(L, ((const uint8_t *)a->data)[k] != 0);
    return;
  }
  if (tp_dtype_float(a->dtype)) {
    lua_pushnumber(L, tp_get(a->dtype, a->data, k));
    return;
  }
  int64_t v = tp_geti(a->dtype, a->data, k);
#if LUA_VERSION_NUM >= 503
  lua_pushinteger(L, v);
#else
  if (v > EXACT || v < -EXACT)
    tl_fail(L, "dtype: an i64 beyond 2^53 has no exact Lua number here; a:int64() gives cdata");
  lua_pushnumber(L, (double)v);
#endif
}

#if LUA_VERSION_NUM < 503
enum { CDATA = 10 }; /* LuaJIT's own type */

/* as a:int64() gives */
static bool is_int64(lua_State *L, int i, int64_t *out) {
  if (lua_type(L, i) != CDATA) return false;
  i = lua_absindex(L, i);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "ffi");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "istype");
  lua_pushliteral(L, "int64_t");
  lua_pushvalue(L, i);
  lua_call(L, 2, 1);
  bool is = lua_toboolean(L, -1);
  if (is) memcpy(out, lua_topointer(L, i), sizeof *out);
  lua_pop(L, 2);
  return is;
}
#else
static bool is_int64(lua_State *L, int i, int64_t *out) { return false; }
#endif

const char *tl_numeral(double v, char out[32]) {
  if (isnan(v)) return "nan";
  if (isinf(v)) return v > 0 ? "math.huge" : "-math.huge";
  snprintf(out, 32, "%.14g", v);
  return out;
}

static tp_code tl_setelem(
    lua_State *L, tp_array *a, int64_t k, int i, const char *at, char why[TP_HINT]) {
  char text[32];
  int64_t v = lua_toboolean(L, i);
  tp_dtype d = a->dtype;
  bool number = lua_type(L, i) == LUA_TNUMBER,
       whole = number ? tl_isint(L, i, &v) : lua_isboolean(L, i) || is_int64(L, i, &v);
  if (!number && !whole)
    return snprintf(why, TP_HINT, "expected a number%s, got %s", at, tl_describe(L, i)),
           TP_E_OPTION;
  double f = number ? lua_tonumber(L, i) : (double)v;
  const char *no = whole && d == TP_I64 ? NULL : tp_dtype_refuses(d, f);
  if (no)
    return snprintf(why, TP_HINT, "%s%s is %s, and its dtype is %s", tl_numeral(f, text), at, no,
               tp_dtype_name(d)),
           TP_E_DTYPE;
  if (number && (!whole || tp_dtype_float(d))) tp_put(d, a->data, k, f);
  else tp_puti(d, a->data, k, v);
  return TP_OK;
}

void tl_putelem(lua_State *L, const char *what, tp_code code, tp_array *a, int64_t k, int i) {
  char why[TP_HINT];
  tp_code own = tl_setelem(L, a, k, i, "", why);
  if (own) tl_fail_as(L, code ? code : own, "%s: %s", what, why);
}

static void push_level(lua_State *L, const tp_array *a, int level, int64_t *k) {
  if (level == a->rank) {
    tl_pushelem(L, a, (*k)++);
    return;
  }
  luaL_checkstack(L, 4, "nested tables");
  int64_t n = a->shape[level];
  lua_createtable(L, (int)TP_MIN(n, 1 << 20), 0);
  for (int64_t i = 1; i <= n; i++) {
    push_level(L, a, level + 1, k);
    lua_rawseti(L, -2, (int)i);
  }
}

void tl_pushnested(lua_State *L, const tp_array *a) {
  int64_t k = 0;
  push_level(L, a, 0, &k);
}

typedef struct {
  lua_State *L;
  const char *what;
  tp_code code;
  tp_array *a;
  int rank;
  int64_t shape[TP_MAXRANK], at[TP_MAXRANK];
  bool boolean;
  char place[160];
} nest_t;

/* " at [2][1]", as the script writes it; "": the whole. */
static const char *entry_place(nest_t *n, int levels) {
  int used = 0;
  *n->place = 0;
  for (int k = 0; k < levels && used < (int)sizeof n->place; k++)
    used += snprintf(n->place + used, sizeof n->place - (size_t)used, "%s[%lld]", k ? "" : " at ",
        (long long)n->at[k]);
  return n->place;
}

/* own: the class of the error, unless the caller has one. */
static int refuse(const nest_t *n, tp_code own, const char *fmt, ...) TP_PRINTF(3, 4)
    __attribute__((noreturn));
static int refuse(const nest_t *n, tp_code own, const char *fmt, ...) {
  char text[512];
  TP_FORMAT(text, fmt);
  tl_fail_as(n->L, n->code ? n->code : own, "%s: %s", n->what, text);
}

/* finds the shape by the first row of every level */
static void measure(nest_t *n, int i) {
  lua_State *L = n->L;
  luaL_checkstack(L, 4, n->what);
  lua_pushvalue(L, i);
  while (lua_istable(L, -1)) {
    if (n->rank == TP_MAXRANK)
      refuse(n, TP_E_SHAPE, "tables are nested more than %d deep", TP_MAXRANK);
    int64_t len = n->shape[n->rank++] = (int64_t)lua_rawlen(L, -1);
    if (len == 0) break;
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
  }
  n->boolean = lua_isboolean(L, -1);
  lua_pop(L, 1);
}

static void refuse_key(nest_t *n, int level, int64_t len) { /* key at -2 */
  lua_State *L = n->L;
  char key[128];
  if (lua_type(L, -2) == LUA_TNUMBER) snprintf(key, sizeof key, "%.17g", lua_tonumber(L, -2));
  else
    snprintf(key, sizeof key, "%.100s",
        lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : tl_describe(L, -2));
  refuse(n, TP_E_OPTION,
      "expected a sequence of numbers%s, got a table with the key %s beside its %lld entries",
      entry_place(n, level), key, (long long)len);
}

/* into elements from `to` on */
static void fill_level(nest_t *n, int i, int level, int64_t to) {
  char why[TP_HINT];
  lua_State *L = n->L;
  if (level == n->rank) {
    if (lua_istable(L, i))
      refuse(n, TP_E_SHAPE, "the table is ragged: a table%s, where the first rows have a number",
          entry_place(n, level));
    if (!tl_setelem(L, n->a, to, i, "", why)) return;
    tp_code own = tl_setelem(L, n->a, to, i, entry_place(n, level), why);
    refuse(n, own, "%s", why);
  }
  if (!lua_istable(L, i))
    refuse(n, TP_E_SHAPE, "the table is ragged: %s%s, where the first rows have a table",
        tl_describe(L, i), entry_place(n, level));
  int64_t len = (int64_t)lua_rawlen(L, i), seen = 0, stride = 1, k;
  if (len != n->shape[level])
    refuse(n, TP_E_SHAPE, "the table is ragged: %lld entries%s, where the first row has %lld",
        (long long)len, entry_place(n, level), (long long)n->shape[level]);
  for (int j = level + 1; j < n->rank; j++) stride *= n->shape[j];
  luaL_checkstack(L, 8, n->what);
  /* finds other keys */
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1), seen++) {
    if (!tl_isint(L, -2, &k) || k < 1 || k > len) refuse_key(n, level, len);
    n->at[level] = k;
    fill_level(n, lua_gettop(L), level + 1, to + (k - 1) * stride);
  }
  if (seen < len)
    refuse(n, TP_E_OPTION, "%lld of the %lld entries%s are nil", (long long)(len - seen),
        (long long)len, entry_place(n, level));
}

/* {} says nothing of the axes behind its extent 0: they become the expected ones. */
static void complete_empty(nest_t *n, int rank, const int64_t *shape) {
  if (n->rank == 0 || n->shape[n->rank - 1] != 0 || rank <= n->rank) return;
  for (int k = 0; k < n->rank; k++)
    if (n->shape[k] != shape[k]) return;
  for (; n->rank < rank; n->rank++) n->shape[n->rank] = shape[n->rank];
}

tp_array *tl_nested(lua_State *L, int i, const char *what, tp_code code, tp_dtype d, bool own,
    int rank, const int64_t *shape) {
  i = lua_absindex(L, i);
  nest_t n = { .L = L, .what = what, .code = code };
  measure(&n, i);
  int written = n.rank;
  complete_empty(&n, rank, shape);
  tl_array *u = tl_pusharray(L);
  tl_setarray(L, u, tp_array_new(own && n.boolean ? TP_BOOL : d, n.rank, n.shape));
  n.a = u->a;
  n.rank = written;
  fill_level(&n, i, 0, 0);
  return u->a;
}
