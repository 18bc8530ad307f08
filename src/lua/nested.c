/* nested: arrays to and from nested Lua tables, element by element. */
#include "lua/tl.h"

#define EXACT 9007199254740992LL                /* 2^53: beyond it a double skips integers */

void tl_pushelem(lua_State *L, const tp_array *a, int64_t k) {
  if (a->dtype == TP_BOOL) { lua_pushboolean(L, ((const uint8_t *)a->data)[k] != 0); return; }
  if (tp_dtype_float(a->dtype)) { lua_pushnumber(L, tp_get(a->dtype, a->data, k)); return; }
  int64_t v = tp_geti(a->dtype, a->data, k);
#if LUA_VERSION_NUM >= 503
  lua_pushinteger(L, v);
#else
  if (v > EXACT || v < -EXACT)
    tl_fail(L, TP_E_DTYPE, "dtype: an i64 beyond 2^53 has no exact Lua number here; a:int64() gives cdata");
  lua_pushnumber(L, (double)v);
#endif
}

void tl_setelem(lua_State *L, tp_array *a, int64_t k, int i) {
  int64_t v;
  if (lua_isboolean(L, i)) tp_puti(a->dtype, a->data, k, lua_toboolean(L, i));
  else if (lua_type(L, i) != LUA_TNUMBER)
    tl_fail(L, TP_E_OPTION, "option: expected a number as an element, got %s", tl_describe(L, i));
  else if (!tp_dtype_float(a->dtype) && a->dtype != TP_BOOL && tl_isint(L, i, &v)) tp_puti(a->dtype, a->data, k, v);
  else tp_put(a->dtype, a->data, k, lua_tonumber(L, i));
}

static void push_level(lua_State *L, const tp_array *a, int level, int64_t *k) {
  if (level == a->rank) { tl_pushelem(L, a, (*k)++); return; }
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

/* ---- tables in ---- */
typedef struct { lua_State *L; const char *what; tp_array *a; int rank; int64_t shape[TP_MAXRANK], k; bool boolean; } nest_t;

static void measure(nest_t *n, int i) {                 /* the first row of every level says the shape */
  lua_State *L = n->L;
  luaL_checkstack(L, 4, n->what);
  lua_pushvalue(L, i);
  while (lua_istable(L, -1)) {
    if (n->rank == TP_MAXRANK) tl_fail(L, TP_E_SHAPE, "shape: %s: tables are nested more than %d deep", n->what, TP_MAXRANK);
    int64_t len = n->shape[n->rank++] = (int64_t)lua_rawlen(L, -1);
    if (len == 0) break;
    lua_rawgeti(L, -1, 1);
    lua_remove(L, -2);
  }
  n->boolean = lua_isboolean(L, -1);
  lua_pop(L, 1);
}

static void check_keys(nest_t *n, int i) {              /* an empty sequence has no other keys either */
  lua_State *L = n->L;
  lua_pushnil(L);
  if (!lua_next(L, i)) return;
  tl_fail(L, TP_E_OPTION, "option: %s: expected a sequence of numbers, got a table with the key %s", n->what,
          lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : tl_describe(L, -2));
}

static void fill_level(nest_t *n, int i, int level) {
  lua_State *L = n->L;
  if (level == n->rank) {
    if (lua_istable(L, i)) tl_fail(L, TP_E_SHAPE, "shape: %s: the table is ragged: a table where the first rows have a number", n->what);
    if (lua_type(L, i) != LUA_TNUMBER && !lua_isboolean(L, i))
      tl_fail(L, TP_E_OPTION, "option: %s: expected a number as element %lld, got %s", n->what, (long long)n->k, tl_describe(L, i));
    tl_setelem(L, n->a, n->k++, i);
    return;
  }
  if (!lua_istable(L, i)) tl_fail(L, TP_E_SHAPE, "shape: %s: the table is ragged: %s where the first rows have a table", n->what, tl_describe(L, i));
  int64_t len = (int64_t)lua_rawlen(L, i);
  if (len != n->shape[level])
    tl_fail(L, TP_E_SHAPE, "shape: %s: the table is ragged: a row of %lld entries where the first has %lld", n->what, (long long)len,
            (long long)n->shape[level]);
  if (len == 0) check_keys(n, i);
  luaL_checkstack(L, 4, n->what);
  for (int64_t k = 1; k <= len; k++) {
    lua_rawgeti(L, i, (int)k);
    fill_level(n, lua_gettop(L), level + 1);
    lua_pop(L, 1);
  }
}

/* {} says nothing about the axes behind the extent 0: they are those expected. */
static void complete_empty(nest_t *n, int rank, const int64_t *shape) {
  if (n->rank == 0 || n->shape[n->rank - 1] != 0 || rank <= n->rank) return;
  for (int k = 0; k < n->rank; k++)
    if (n->shape[k] != shape[k]) return;
  for (; n->rank < rank; n->rank++) n->shape[n->rank] = shape[n->rank];
}

tp_array *tl_nested(lua_State *L, int i, const char *what, const tp_dtype *d, int rank, const int64_t *shape) {
  i = lua_absindex(L, i);
  nest_t n = { .L = L, .what = what };
  measure(&n, i);
  int written = n.rank;
  complete_empty(&n, rank, shape);
  tl_array *u = tl_pusharray(L);
  tl_setarray(L, u, tp_array_new(d ? *d : n.boolean ? TP_BOOL : TP_F32, n.rank, n.shape));
  n.a = u->a;
  n.rank = written;
  fill_level(&n, i, 0);
  return u->a;
}
