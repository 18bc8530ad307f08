/* open: tempo.open(path), a collection of a file's arrays. Indexed by a name it gives an array, or
 * one of its methods; f:arrays() has only the arrays. */
#include "lua/tl.h"
#include "io/open.h"

typedef struct {
  tp_weights w;
  bool open, used; /* used: a function reads it now, while finalizers may close it */
} tl_weights;

/* close, __close */
static int weights_close(lua_State *L) {
  tl_weights *u = tl_object(L, 1, TL_WEIGHTS, "close");
  u->open = false;
  if (!u->used) tp_weights_close(&u->w);
  return 0;
}

static int weights_gc(lua_State *L) {
  tp_weights_close(&((tl_weights *)tl_object(L, 1, TL_WEIGHTS, "close"))->w);
  return 0;
}

static tp_weights *weights_at(lua_State *L, int i, const char *what) {
  tl_weights *u = tl_check(L, i, TL_WEIGHTS, what);
  if (!u->open) tl_fail(L, "option: %s: this collection has been closed", what);
  return &u->w;
}

int tl_open_weights(lua_State *L) { /* path */
  tp_error e = { 0 };
  const char *path = tl_string(L, 1, "open");
  tl_weights *u = tl_new(L, TL_WEIGHTS, sizeof *u);
  if (!tp_weights_open(&u->w, path, &e)) {
    tp_weights_close(&u->w);
    return tl_raise(L, &e);
  }
  u->open = true;
  return 1;
}

/* Pushes the array that the collection at i has under the name at n and gives its entry, or pushes
 * nil. */
static bool push_weight(lua_State *L, int i, int n, bool stored, tp_weight *entry) {
  tp_error e = { 0 };
  const char *name = tl_string(L, n, "a collection's name");
  if (!tp_weights_find(weights_at(L, i, "open"), name)) return lua_pushnil(L), false;
  tl_array *to = tl_pusharray(L); /* may run finalizers, which may close it */
  const tp_weight *v = tp_weights_find(weights_at(L, i, "open"), name);
  tp_array *a = tp_weight_array(v, stored, &e);
  if (!a) tl_raise(L, &e);
  *entry = *v;
  tl_setarray(L, to, a);
  return true;
}

static int weights_index(lua_State *L) {
  tp_weight entry;
  lua_pushvalue(L, 2);
  lua_rawget(L, TL_UPVALUE);
  if (!lua_isnil(L, -1)) return 1;
  push_weight(L, 1, 2, false, &entry);
  return 1;
}

static int weights_stored(lua_State *L) { /* f, name -> array, format, shape */
  tp_weight v;
  if (!push_weight(L, 1, 2, true, &v)) return 1;
  lua_pushstring(L, v.as->name);
  tl_pushshape(L, v.rank, v.shape);
  return 3;
}

static int weights_names(lua_State *L) {
  int n = weights_at(L, 1, "names")->all.n;
  lua_createtable(L, n, 0);
  for (int k = 0; k < n; k++) {
    lua_pushstring(L, weights_at(L, 1, "names")->all.v[k].name);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* ---- f:arrays(): where pairs asks __pairs, arrays are made when they are reached ---- */

static int next_weight(lua_State *L) { /* a table, the name before or nil */
  tp_weight entry;
  const tp_weights *w = weights_at(L, TL_UPVALUE, "arrays");
  const tp_weight *v = lua_isnil(L, 2) ? NULL : tp_weights_find(w, tl_string(L, 2, "arrays"));
  int k = v ? (int)(v - w->all.v) + 1 : 0;
  lua_settop(L, 2);
  if (k >= w->all.n) return lua_pushnil(L), 1;
  lua_pushstring(L, w->all.v[k].name);
  push_weight(L, TL_UPVALUE, 3, false, &entry);
  return 2;
}

#if LUA_VERSION_NUM >= 502
static int lazy_index(lua_State *L) {
  tp_weight entry;
  if (lua_type(L, 2) == LUA_TSTRING) push_weight(L, TL_UPVALUE, 2, false, &entry);
  else lua_pushnil(L);
  return 1;
}

static int lazy_pairs(lua_State *L) {
  lua_pushvalue(L, TL_UPVALUE);
  tl_pushfunction(L, tl_stateof(L), next_weight, 1);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

static int weights_arrays(lua_State *L) {
  weights_at(L, 1, "arrays");
  lua_newtable(L);
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, 1);
  tl_pushfunction(L, tl_stateof(L), lazy_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, 1);
  tl_pushfunction(L, tl_stateof(L), lazy_pairs, 1);
  lua_setfield(L, -2, "__pairs");
  lua_setmetatable(L, -2);
  return 1;
}
#else
static int weights_arrays(lua_State *L) {
  weights_at(L, 1, "arrays");
  lua_newtable(L);
  lua_pushvalue(L, 1);
  tl_pushfunction(L, tl_stateof(L), next_weight, 1);
  lua_pushnil(L);
  for (;;) { /* collection, table, next, name */
    lua_pushvalue(L, 3);
    lua_pushnil(L);
    lua_pushvalue(L, 4);
    tl_call(L, 2, 2);
    if (lua_isnil(L, 5)) break;
    lua_pushvalue(L, 5);
    lua_replace(L, 4);
    lua_rawset(L, 2);
  }
  lua_settop(L, 2);
  return 1;
}
#endif

/* ---- f:meta() ---- */

static void push_meta(lua_State *L, const tp_meta *m) {
  int64_t v;
  tp_meta list = *m, item;
  luaL_checkstack(L, 4, "meta");
  if (m->type == TP_META_TEXT) lua_pushlstring(L, (const char *)m->p, m->n);
  else if (m->type == TP_META_LIST) {
    lua_createtable(L, (int)TP_MIN(m->n, 1 << 20), 0);
    for (int k = 1; tp_meta_next(&list, &item); k++) {
      push_meta(L, &item);
      lua_rawseti(L, -2, k);
    }
  } else if (!tp_meta_integer(m, &v)) lua_pushnumber(L, tp_meta_number(m));
  else if (m->type == TP_META_BOOL) lua_pushboolean(L, v != 0);
  else lua_pushinteger(L, (lua_Integer)v);
}

static int weights_meta(lua_State *L) { /* f[, key] */
  const tp_weights *w = weights_at(L, 1, "meta");
  tl_weights *u = lua_touserdata(L, 1);
  u->used = true;
  if (!lua_isnoneornil(L, 2)) {
    const tp_meta *m = tp_weights_meta(w, tl_string(L, 2, "meta"));
    if (m) push_meta(L, m);
    else lua_pushnil(L);
  } else {
    lua_createtable(L, 0, w->meta.n);
    for (int k = 0; k < w->meta.n; k++) {
      push_meta(L, &w->meta.v[k]);
      lua_setfield(L, -2, w->meta.v[k].key);
    }
  }
  u->used = false;
  if (!u->open) tp_weights_close(&u->w);
  return 1;
}

static int weights_tostring(lua_State *L) {
  const tl_weights *u = tl_check(L, 1, TL_WEIGHTS, "tostring");
  if (u->open) lua_pushfstring(L, "tempo.Weights (%d arrays of %s)", u->w.all.n, u->w.path);
  else lua_pushliteral(L, "tempo.Weights (closed)");
  return 1;
}

void tl_open_files(lua_State *L, tl_state *S) {
  static const tl_reg meta[] = { { "__tostring", weights_tostring, 0 }, { 0 } };
  static const tl_reg methods[] = {
    { "arrays", weights_arrays, 1 },
    { "names", weights_names, 1 },
    { "meta", weights_meta, 2 },
    { "stored", weights_stored, 2 },
    { "close", weights_close, 1 },
    { 0 },
  };
  tl_class(L, S, TL_WEIGHTS, "tempo.Weights", meta, methods, weights_index);
  tl_setraw(L, TL_WEIGHTS, "__gc", weights_gc);
  tl_setraw(L, TL_WEIGHTS, "__close", weights_close);
  lua_pop(L, 1);
}
