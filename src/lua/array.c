/* array: host arrays for Lua. A userdata holds a reference; rows are views; arrays lent to a
 * callback end with it. */
#include "lua/tl.h"
#include <limits.h>

/* Tells the collector, which sees a few words of a userdata, the bytes that it holds: as steps, and
 * as steps of the generational mode may leave dead userdata for long, by a full collection when the
 * bytes have doubled since the last. A step for each large array would see it and the one before
 * alive twice, so count them as old: there is one step for four arrays, and the next output reuses
 * the place of one of them, still in a cache. */
void tl_charge(lua_State *L, tl_array *u) {
  tl_state *S = tl_stateof(L);
  if (u->a->borrowed) return;
  u->charged = sizeof *u->a + (u->a->base ? 0 : tp_array_bytes(u->a));
  S->held += u->charged;
  S->untold += u->charged;
  if (S->untold < TP_MAX(TP_TUNE_GC_STEP, 4 * u->charged) || !lua_gc(L, LUA_GCISRUNNING, 0)) return;
  size_t kb = TP_MIN(S->untold >> 10, (size_t)INT_MAX >> 10);
  S->untold = 0;
  if (S->held < 2 * S->kept + TP_TUNE_GC_SLACK) {
    lua_gc(L, LUA_GCSTEP, (int)kb);
    return;
  }
  lua_gc(L, LUA_GCCOLLECT, 0);
  S->kept = S->held;
}

tl_array *tl_pusharray(lua_State *L) { return tl_new(L, TL_ARRAY, sizeof(tl_array)); }

void tl_setarray(lua_State *L, tl_array *u, tp_array *a) {
  if (!a) tl_fail(L, "memory: no memory for an array");
  u->a = a;
  tl_charge(L, u);
}

void tl_lease_drop(tl_lease *l) {
  if (l && --l->refs == 0) tp_free(l);
}

tp_array *tl_unseen(lua_State *L, int i, const char *what) {
  tl_array *u = tl_check(L, i, TL_ARRAY, what);
  if (u->lease && u->lease->over)
    tl_fail(L,
        "callback: %s: this array was lent to a callback that has returned; a:clone() keeps one",
        what);
  if (!u->a) tl_fail(L, "option: %s: this array has been freed", what);
  return u->a;
}

tp_array *tl_toarray(lua_State *L, int i, const char *what) {
  tp_error e = { 0 };
  tp_array *a = tl_unseen(L, i, what);
  if (!tp_array_see(a, &e)) tl_raise(L, &e);
  return a;
}

void tl_array_empty(lua_State *L, tl_array *u) {
  u->a = tp_array_unref(u->a);
  tl_stateof(L)->held -= u->charged;
  u->charged = 0;
}

/* Pushes a reference to the array at 1, because finalizers, which any allocation in Lua may run,
 * may free it meanwhile. The caller empties it, so that a:free() gives the memory back at once. */
static tl_array *push_held(lua_State *L, const char *what) {
  tl_array *held = tl_pusharray(L);
  held->a = tp_array_ref(tl_toarray(L, 1, what));
  return held;
}

/* __gc, __close, free */
static int array_release(lua_State *L) {
  tl_array *u = tl_object(L, 1, TL_ARRAY, "free");
  tl_array_empty(L, u);
  tl_lease_drop(u->lease);
  u->lease = NULL;
  return 0;
}

void tl_pushshape(lua_State *L, int rank, const int64_t *of) {
  int64_t shape[TP_MAXRANK];
  TP_COPYN(shape, of, rank);
  lua_createtable(L, rank, 0); /* may run finalizers, which may free the array */
  for (int k = 0; k < rank; k++) {
    lua_pushinteger(L, (lua_Integer)shape[k]);
    lua_rawseti(L, -2, k + 1);
  }
}

int tl_array_shape(lua_State *L) { /* array, what asks (nil: "shape") */
  const tp_array *a = tl_unseen(L, 1, luaL_optstring(L, 2, "shape"));
  tl_pushshape(L, a->rank, a->shape);
  return 1;
}

static int array_dtype(lua_State *L) {
  lua_pushstring(L, tp_dtype_name(tl_unseen(L, 1, "dtype")->dtype));
  return 1;
}

static int array_len(lua_State *L) {
  const tp_array *a = tl_unseen(L, 1, "#");
  if (a->rank == 0) tl_fail(L, "shape: '#': a scalar array has no extent; write a:item()");
  lua_pushinteger(L, (lua_Integer)a->shape[0]);
  return 1;
}

static int array_tostring(lua_State *L) {
  tl_array *u = tl_check(L, 1, TL_ARRAY, "tostring");
  tp_error e = { 0 };
  if (!u->a || (u->lease && u->lease->over)) return lua_pushliteral(L, "tempo.Array (freed)"), 1;
  tp_buf b;
  if (!tp_array_see(u->a, &e)) tl_raise(L, &e);
  tp_buf_init(&b);
  tp_array_print(&b, u->a);
  tl_pushbuf(L, &b);
  return 1;
}

static int array_totable(lua_State *L) {
  tl_array *held = push_held(L, "totable");
  tl_pushnested(L, held->a);
  tl_array_empty(L, held);
  return 1;
}

static int array_item(lua_State *L) {
  const tp_array *a = tl_toarray(L, 1, "item");
  if (a->count != 1)
    tl_fail(L, "shape: item: the array has %lld elements, not one", (long long)a->count);
  tl_pushelem(L, a, 0);
  return 1;
}

static int array_data(lua_State *L) {
  tp_error e = { 0 };
  tp_array *a = tl_unseen(L, 1, "data");
  if (!tp_array_expose(a, &e)) tl_raise(L, &e);
  lua_pushlightuserdata(L, a->data);
  return 1;
}

static int array_clone(lua_State *L) {
  tl_array *u = tl_pusharray(L);
  tp_array *a = tl_toarray(L, 1, "clone");
  tl_setarray(L, u, tp_array_cast(a, a->dtype));
  return 1;
}

static int array_orthonormal(lua_State *L) {
  tl_array *u = tl_pusharray(L);
  const tp_array *a = tl_toarray(L, 1, "orthonormal");
  if (a->rank != 2 || !tp_dtype_float(a->dtype))
    tl_fail(L, "shape: orthonormal: a matrix of floats is wanted, not %s of %d axes",
        tp_dtype_name(a->dtype), a->rank);
  tl_setarray(L, u, tp_array_orthonormal(a));
  return 1;
}

/* The array at 1 in blocks of the format at 2, along its last axis, or such blocks as numbers. */
static int array_recoded(lua_State *L, const char *what, bool encode) {
  tl_array *u = tl_pusharray(L), *from = tl_pusharray(L);
  tp_error err = { 0 };
  tp_array *a = tl_toarray(L, 1, what);
  tp_format f = tp_format_named(tl_string(L, 2, what), TP_NOWHERE, &err);
  if (!f) tl_raise(L, &err);
  int64_t shape[TP_MAXRANK], numbers = tp_format_elements(f), bytes = tp_format_bytes(f),
                             each = encode ? numbers : bytes, last = TP_MAX(a->rank - 1, 0);
  if (encode ? !tp_dtype_float(a->dtype) : a->dtype != TP_U8)
    tl_fail(L, "dtype: %s: %s are wanted, not %s", what, encode ? "floats" : "bytes, u8,",
        tp_dtype_name(a->dtype));
  if (!a->rank || a->shape[last] % each)
    tl_fail(L, "shape: %s: the last axis is no multiple of the %d %s of a block of %s", what,
        (int)each, encode ? "numbers" : "bytes", tp_format_names[f]);
  memcpy(shape, a->shape, sizeof shape);
  shape[last] = a->shape[last] / each * (encode ? bytes : numbers);
  tl_setarray(L, u, tp_array_blank(encode ? TP_U8 : TP_F32, a->rank, shape));
  if (encode) {
    tl_setarray(L, from, a->dtype == TP_F32 ? tp_array_ref(a) : tp_array_cast(a, TP_F32));
    tp_blocks_encode(f, from->a->data, a->count / each, u->a->data);
  } else tp_blocks_decode(f, a->data, a->count / each, u->a->data);
  lua_pop(L, 1);
  return 1;
}
static int array_quantize(lua_State *L) { return array_recoded(L, "quantize", true); }
static int array_dequantize(lua_State *L) { return array_recoded(L, "dequantize", false); }

static int64_t offset(lua_State *L, const tp_array *a, int first, const char *what) {
  int64_t k = 0;
  int n = lua_gettop(L) - first + 1;
  if (n != a->rank) tl_fail(L, "shape: %s: %d indices for an array of %d axes", what, n, a->rank);
  for (int j = 0; j < n; j++) {
    int64_t i = tl_integer(L, first + j, what);
    if (i < 0 || i >= a->shape[j])
      tl_fail(L,
          "input: %s: index %lld is out of range: axis %d has extent %lld, indices 0 to %lld count "
          "from 0",
          what, (long long)i, j, (long long)a->shape[j], (long long)a->shape[j] - 1);
    k = k * a->shape[j] + i;
  }
  return k;
}

static int array_get(lua_State *L) {
  const tp_array *a = tl_toarray(L, 1, "get");
  tl_pushelem(L, a, offset(L, a, 2, "get"));
  return 1;
}

/* The array at 1, unless it may only be read. */
static tp_array *writable(lua_State *L, const char *what) {
  tp_array *a = tl_toarray(L, 1, what);
  if (((tl_array *)lua_touserdata(L, 1))->lease)
    tl_fail(L, "callback: %s: an array lent to a callback is read only; a:clone() first", what);
  if (a->mapped)
    tl_fail(L, "option: %s: an array of a file is read only; a:clone() can be changed", what);
  tp_error e = { 0 };
  if (!tp_array_touch(a, &e)) tl_raise(L, &e);
  return a;
}

static int array_set(lua_State *L) {
  tp_array *a = writable(L, "set");
  luaL_checkany(L, 2);
  int64_t k = offset(L, a, 3, "set");
  /* LuaJIT's own integers need a call of Lua */
  tl_array *held = lua_type(L, 2) == LUA_TNUMBER ? NULL : push_held(L, "set");
  tl_putelem(L, "set", 0, a, k, 2);
  if (held) tl_array_empty(L, held);
  lua_settop(L, 1);
  return 1;
}

/* ---- all elements at once, in a list ---- */

static void a_list(lua_State *L, const char *what) {
  if (!lua_istable(L, 2))
    tl_fail(L, "option: %s: expected a list, got %s", what, tl_describe(L, 2));
}

static int array_copy_to(lua_State *L) { /* array, list */
  if (lua_isnoneornil(L, 2)) lua_settop(L, 1), lua_newtable(L);
  a_list(L, "copy_to");
  lua_settop(L, 2);
  tl_array *held = push_held(L, "copy_to");
  const tp_array *a = held->a;
  for (int64_t k = 0; k < a->count; k++) {
    if (a->dtype == TP_F32) lua_pushnumber(L, (lua_Number)((const float *)a->data)[k]);
    else if (a->dtype == TP_F64) lua_pushnumber(L, ((const double *)a->data)[k]);
    else tl_pushelem(L, a, k);
    lua_rawseti(L, 2, (int)(k + 1));
  }
  tl_array_empty(L, held);
  lua_settop(L, 2);
  return 1;
}

static int array_copy_from(lua_State *L) { /* array, list */
  writable(L, "copy_from");
  a_list(L, "copy_from");
  lua_settop(L, 2);
  tl_array *held = push_held(L, "copy_from");
  tp_array *a = held->a;
  for (int64_t k = 0; k < a->count; k++) {
    lua_rawgeti(L, 2, (int)(k + 1));
    bool number = lua_type(L, -1) == LUA_TNUMBER;
    if (number && a->dtype == TP_F32) ((float *)a->data)[k] = (float)lua_tonumber(L, -1);
    else if (number && a->dtype == TP_F64) ((double *)a->data)[k] = lua_tonumber(L, -1);
    else if (lua_isnil(L, -1))
      tl_fail(L, "shape: copy_from: the list has %lld elements, the array %lld", (long long)k,
          (long long)a->count);
    else tl_putelem(L, "copy_from", 0, a, k, -1);
    lua_pop(L, 1);
  }
  tl_array_empty(L, held);
  lua_settop(L, 1);
  return 1;
}

static int array_index(lua_State *L) {
  int64_t row;
  if (lua_type(L, 2) == LUA_TSTRING) return tl_lookup(L);
  const tp_array *a = tl_toarray(L, 1, "index");
  if (!tl_isint(L, 2, &row))
    tl_fail(L, "option: an array is indexed by integers, got %s", tl_describe(L, 2));
  if (a->rank == 0) tl_fail(L, "shape: a scalar array has no rows; write a:item()");
  if (row < 0 || row >= a->shape[0])
    tl_fail(L,
        "input: row %lld is out of range: the array has %lld rows, which count from 0 (use "
        "a:rows() or a:totable(), not ipairs)",
        (long long)row, (long long)a->shape[0]);
  tl_array *from = lua_touserdata(L, 1);
  if (a->rank == 1) return tl_pushelem(L, a, row), 1;
  tl_array *u = tl_pusharray(L); /* may run finalizers, which may free it */
  tl_setarray(L, u, tp_array_view(tl_toarray(L, 1, "index"), row));
  u->lease = from->lease;
  if (u->lease) u->lease->refs++;
  return 1;
}

/* ---- tempo.array ---- */
static int read_shape(lua_State *L, int i, int64_t *shape) {
  int n = tl_sequence(L, i, "shape of array", "{3, 4}");
  if (n > TP_MAXRANK) tl_fail(L, "shape: array: %d axes, at most %d", n, TP_MAXRANK);
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    shape[k] = tl_integer(L, -1, "extent of array");
    lua_pop(L, 1);
    if (shape[k] < 0)
      tl_fail(L, "shape: array: extent %lld of axis %d is negative", (long long)shape[k], k);
  }
  return n;
}

static void reshape(lua_State *L, tp_array *a, int rank, const int64_t *shape) {
  int64_t count = 1;
  for (int k = 0; k < rank; k++)
    if (__builtin_mul_overflow(count, shape[k], &count))
      tl_fail(L, "shape: array: the shape's size is beyond 64 bits");
  if (count != a->count)
    tl_fail(L, "shape: array: %lld elements do not fill a shape of %lld", (long long)a->count,
        (long long)count);
  a->rank = rank;
  TP_COPYN(a->shape, shape, rank);
}

static void from_bytes(lua_State *L, tl_array *u, tp_dtype d, int rank, const int64_t *shape) {
  size_t n;
  const char *s = lua_tolstring(L, 1, &n);
  int64_t whole = (int64_t)n / tp_dtype_size(d);
  if (rank < 0) rank = 1, shape = &whole;
  tl_setarray(L, u, tp_array_new(d, rank, shape));
  if (tp_array_bytes(u->a) != n)
    tl_fail(L, "shape: array: %zu bytes for a %s array of %lld elements, which takes %zu", n,
        tp_dtype_name(d), (long long)u->a->count, tp_array_bytes(u->a));
  memcpy(u->a->data, s, n);
  tp_array_tidy(u->a);
}

static void fill(lua_State *L, tp_array *a, int i) {
  size_t size = (size_t)tp_dtype_size(a->dtype);
  if (a->count) tl_putelem(L, "array", 0, a, 0, i);
  for (int64_t k = 1; k < a->count; k++) memcpy((char *)a->data + (size_t)k * size, a->data, size);
}

int tl_array_new(lua_State *L) {
  int64_t shape[TP_MAXRANK];
  int rank = lua_isnil(L, 3) ? -1 : read_shape(L, 3, shape);
  tp_dtype d = lua_isnil(L, 2) ? TP_F32 : tl_dtype(L, 2, "array");
  if (lua_istable(L, 1)) {
    tp_array *a = tl_nested(L, 1, "array", 0, d, lua_isnil(L, 2), rank, shape);
    if (rank >= 0) reshape(L, a, rank, shape);
    return 1;
  }
  tl_array *u = tl_pusharray(L);
  if (lua_type(L, 1) == LUA_TNUMBER || lua_isboolean(L, 1)) {
    if (lua_isboolean(L, 1) && lua_isnil(L, 2)) d = TP_BOOL;
    tl_setarray(L, u, tp_array_new(d, TP_MAX(rank, 0), shape));
    fill(L, u->a, 1);
  } else if (lua_type(L, 1) == LUA_TSTRING) {
    from_bytes(L, u, d, rank, shape);
  } else if (tl_typeof(L, 1) == TL_ARRAY) {
    tp_array *a = tl_toarray(L, 1, "array");
    tl_setarray(L, u, tp_array_cast(a, lua_isnil(L, 2) ? a->dtype : d));
    if (rank >= 0) reshape(L, u->a, rank, shape);
  } else if (tl_typeof(L, 1) == TL_ROWS && lua_isnil(L, 2)) {
    tp_array *a = tl_torows(L, 1, "array");
    tp_error e = { 0 };
    if (!tp_array_see(a, &e)) tl_raise(L, &e);
    tl_setarray(L, u, tp_array_dense(a));
    if (rank >= 0) reshape(L, u->a, rank, shape);
  } else
    tl_fail(L,
        "option: array: expected a number, a nested table, a string of bytes or an array, got %s",
        tl_describe(L, 1));
  return 1;
}

static const tl_reg array_meta[] = {
  { "__tostring", array_tostring, 0 },
  { "__len", array_len, 0 },
  { 0 },
};
static const tl_reg array_methods[] = {
  { "shape", tl_array_shape, 1 },
  { "dtype", array_dtype, 1 },
  { "totable", array_totable, 1 },
  { "item", array_item, 1 },
  { "clone", array_clone, 1 },
  { "orthonormal", array_orthonormal, 1 },
  { "quantize", array_quantize, 2 },
  { "dequantize", array_dequantize, 2 },
  { "get", array_get, 0 },
  { "set", array_set, 0 },
  { "copy_to", array_copy_to, 0 },
  { "copy_from", array_copy_from, 0 },
  { "save", tl_array_save, 2 },
  { "data", array_data, 1 },
  { "free", array_release, 1 },
  { 0 },
};

void tl_open_array(lua_State *L, tl_state *S) {
  tl_class(L, S, TL_ARRAY, "tempo.Array", array_meta, array_methods, array_index);
  tl_setraw(L, TL_ARRAY, "__gc", array_release);
  tl_setraw(L, TL_ARRAY, "__close", array_release);
  lua_pop(L, 1);
}
