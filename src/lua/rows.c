/* rows: tempo.rows{ a0, a1, ... }, arrays of one dtype and shape that runs take as one array with a
 * leading axis, without a copy (plan/inputs.c). A userdata holds a reference to it. */
#include "lua/tl.h"

tp_array *tl_torows(lua_State *L, int i, const char *what) {
  const tl_array *u = tl_check(L, i, TL_ROWS, what);
  if (!u->a) tl_fail(L, "option: %s: these rows have been freed", what);
  return u->a;
}

/* The array at the top of the stack, number k of the list; like: the first. */
static tp_array *row(lua_State *L, int k, const tp_array *like) {
  if (tl_typeof(L, -1) != TL_ARRAY)
    tl_fail(L, "option: rows: expected an array as number %d of the list, got %s", k,
        tl_describe(L, -1));
  tp_array *a = tl_unseen(L, -1, "rows");
  if (((const tl_array *)lua_touserdata(L, -1))->lease)
    tl_fail(L, "callback: rows: array %d was lent to a callback; a:clone() keeps one", k);
  if (like && a->dtype != like->dtype)
    tl_fail(L, "dtype: rows: array %d is %s, the first is %s", k, tp_dtype_name(a->dtype),
        tp_dtype_name(like->dtype));
  if (like && !tp_array_is(a, like->dtype, like->rank, like->shape))
    tl_fail(L, "shape: rows: array %d has another shape than the first", k);
  return a;
}

int tl_rows_new(lua_State *L) { /* { array, ... } */
  if (!lua_istable(L, 1))
    tl_fail(L, "option: rows: expected a list of arrays, got %s", tl_describe(L, 1));
  int n = tl_sequence(L, 1, "rows", "{ a, b }");
  if (!n) tl_fail(L, "shape: rows: an empty list has no dtype and shape");
  tl_array *u = tl_new(L, TL_ROWS, sizeof *u);
  /* freed with the stack; the list holds the arrays */
  tp_array **v = lua_newuserdata(L, sizeof *v * (size_t)n);
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, 1, k + 1);
    v[k] = row(L, k + 1, k ? v[0] : NULL);
    lua_pop(L, 1);
  }
  if (v[0]->rank == TP_MAXRANK) tl_fail(L, "shape: rows: more than %d axes", TP_MAXRANK);
  u->a = tp_array_rows(n, v);
  if (!u->a) tl_fail(L, "memory: no memory for rows");
  lua_pop(L, 1);
  return 1;
}

static int rows_release(lua_State *L) { /* __gc, __close, free */
  tl_array *u = tl_object(L, 1, TL_ROWS, "free");
  u->a = tp_array_unref(u->a);
  return 0;
}

static int rows_shape(lua_State *L) {
  const tp_array *a = tl_torows(L, 1, "shape");
  tl_pushshape(L, a->rank, a->shape);
  return 1;
}

static int rows_dtype(lua_State *L) {
  lua_pushstring(L, tp_dtype_name(tl_torows(L, 1, "dtype")->dtype));
  return 1;
}

static int rows_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)tl_torows(L, 1, "#")->shape[0]);
  return 1;
}

static int rows_tostring(lua_State *L) {
  const tl_array *u = tl_check(L, 1, TL_ROWS, "tostring");
  if (!u->a) return lua_pushliteral(L, "tempo.Rows (freed)"), 1;
  lua_pushfstring(
      L, "tempo.Rows<%d arrays of %s>", (int)u->a->shape[0], tp_dtype_name(u->a->dtype));
  return 1;
}

static int rows_index(lua_State *L) {
  int64_t k;
  if (lua_type(L, 2) == LUA_TSTRING) return tl_lookup(L);
  const tp_array *a = tl_torows(L, 1, "index");
  if (!tl_isint(L, 2, &k))
    tl_fail(L, "option: rows are indexed by integers, got %s", tl_describe(L, 2));
  if (k < 0 || k >= a->shape[0])
    tl_fail(L, "input: row %lld is out of range: there are %lld rows, which count from 0",
        (long long)k, (long long)a->shape[0]);
  tl_array *u = tl_pusharray(L); /* may run finalizers, which may free the rows */
  tl_setarray(L, u, tp_array_ref(tl_torows(L, 1, "index")->row[k]));
  return 1;
}

void tl_open_rows(lua_State *L, tl_state *S) {
  static const tl_reg meta[] = { { "__tostring", rows_tostring, 0 }, { "__len", rows_len, 0 },
    { 0 } };
  static const tl_reg methods[] = { { "shape", rows_shape, 1 }, { "dtype", rows_dtype, 1 },
    { "free", rows_release, 1 }, { 0 } };
  tl_class(L, S, TL_ROWS, "tempo.Rows", meta, methods, rows_index);
  tl_setraw(L, TL_ROWS, "__gc", rows_release);
  tl_setraw(L, TL_ROWS, "__close", rows_release);
  lua_pop(L, 1);
}
