/* save: tempo.save of .safetensors and .gguf, with metadata and formats. */
#include "lua/tl.h"
#include "base/blocks.h"
#include "io/gguf.h"
#include "io/safetensors.h"
#include <stdlib.h>

/* owned by Lua before anything can raise */
typedef struct {
  tp_arena arena;
  TP_VEC(tp_meta) meta;
  TP_VEC(tp_array *) kept; /* which finalizers may free meanwhile */
} saving_t;

static int saving_gc(lua_State *L) {
  saving_t *s = lua_touserdata(L, 1);
  for (int k = 0; k < s->kept.n; k++) tp_array_unref(s->kept.v[k]);
  tp_arena_free(&s->arena);
  return 0;
}

static saving_t *new_saving(lua_State *L) {
  saving_t *s = memset(lua_newuserdata(L, sizeof *s), 0, sizeof *s);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, saving_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return s;
}

/* ---- metadata ---- */

static const char *const type_names[TP_NMETA] = { "u8", "i8", "u16", "i16", "u32", "i32", "f32",
  "bool", "string", "list", "u64", "i64", "f64" };

static int meta_fail(lua_State *L, const char *key, const char *why) {
  return tl_fail(L, "option: save: meta '%s': %s", key, why);
}

static bool is_float(lua_State *L, int i) {
  int64_t k;
#if LUA_VERSION_NUM >= 503
  if (lua_type(L, i) == LUA_TNUMBER && !lua_isinteger(L, i)) return true;
#endif
  return lua_type(L, i) == LUA_TNUMBER && !tl_isint(L, i, &k);
}

/* A number alone is u32 where it fits, as readers of models ask for it, in a list i32. */
static tp_meta_type type_of_value(lua_State *L, int i, bool item) {
  int64_t k = 0;
  switch (lua_type(L, i)) {
  case LUA_TSTRING: return TP_META_TEXT;
  case LUA_TBOOLEAN: return TP_META_BOOL;
  case LUA_TNUMBER: break;
  default: return TP_NMETA;
  }
  if (is_float(L, i) || !tl_isint(L, i, &k)) return TP_META_F32;
  if (k == (int32_t)k && (item || k < 0)) return TP_META_I32;
  return item || k < 0 ? TP_META_I64 : k <= UINT32_MAX ? TP_META_U32 : TP_META_U64;
}

/* One type for a list: numbers become wider, or floats. */
static tp_meta_type type_of_list(lua_State *L, int i, const char *key) {
  tp_meta_type t = TP_NMETA;
  int n = tl_sequence(L, i, key, "{ 1, 2 }");
  for (int k = 1; k <= n; k++) {
    lua_rawgeti(L, i, k);
    tp_meta_type u = type_of_value(L, -1, true);
    lua_pop(L, 1);
    bool number = u == TP_META_I32 || u == TP_META_I64 || u == TP_META_F32,
         before = t == TP_META_I32 || t == TP_META_I64 || t == TP_META_F32;
    if (u == TP_NMETA || (t != TP_NMETA && u != t && !(number && before)))
      meta_fail(L, key, "a list has strings, or booleans, or numbers");
    if (t == TP_NMETA || t == TP_META_I32 || u == TP_META_F32) t = u;
  }
  return n ? t : TP_META_I32;
}

static void put_number_as(lua_State *L, tp_buf *b, tp_meta_type t, int i, const char *key) {
  int64_t k = 0;
  double d = lua_isboolean(L, i) ? lua_toboolean(L, i) : lua_tonumber(L, i);
  float f = (float)d;
  bool whole = lua_isboolean(L, i) ? (k = (int64_t)d, true) : tl_isint(L, i, &k);
  int n = tp_meta_size(t);
  if (lua_type(L, i) != LUA_TNUMBER && t != TP_META_BOOL) meta_fail(L, key, "a number is wanted");
  if (t == TP_META_F32) tp_putn(b, (const char *)&f, 4);
  else if (t == TP_META_F64) tp_putn(b, (const char *)&d, 8);
  else {
    bool is_signed = t == TP_META_I8 || t == TP_META_I16 || t == TP_META_I32 || t == TP_META_I64;
    int64_t most = n == 8 ? INT64_MAX : ((int64_t)1 << (8 * n - is_signed)) - 1;
    if (!whole || k > most || k < (is_signed ? -most - 1 : 0))
      meta_fail(L, key, "a number is not of its type");
    tp_putn(b, (const char *)&k, (size_t)n);
  }
}

static void put_item(lua_State *L, tp_buf *b, tp_meta_type t, int i, bool item, const char *key) {
  size_t n;
  if (t != TP_META_TEXT) {
    put_number_as(L, b, t, i, key);
    return;
  }
  if (lua_type(L, i) != LUA_TSTRING) meta_fail(L, key, "a string is wanted");
  const char *s = lua_tolstring(L, i, &n);
  uint64_t length = n;
  if (item) tp_putn(b, (const char *)&length, 8);
  if (n) tp_putn(b, s, n);
}

/* { f32 = 10000 }: the one key of a table, if it is a type's name. */
static tp_meta_type named_type(lua_State *L, int i) {
  const char *name[TL_NAMES];
  if (tl_count(L, i) != 1 || tl_names(L, i, name) != 1) return TP_NMETA;
  for (int t = 0; t < TP_NMETA; t++)
    if (t != TP_META_LIST && !strcmp(name[0], type_names[t])) return (tp_meta_type)t;
  return TP_NMETA;
}

static int buf_gc(lua_State *L) {
  tp_buf_free(lua_touserdata(L, 1));
  return 0;
}

static tp_buf *new_buf(lua_State *L) {
  tp_buf *b = lua_newuserdata(L, sizeof *b);
  tp_buf_init(b);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, buf_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return b;
}

/* The value on top. */
static void add_meta(lua_State *L, saving_t *s, const char *key) {
  int i = lua_gettop(L);
  tp_meta m = { .key = key };
  tp_buf *b = new_buf(L);
  tp_meta_type named = lua_istable(L, i) ? named_type(L, i) : TP_NMETA;
  if (named != TP_NMETA) lua_getfield(L, i, type_names[named]), lua_replace(L, i);
  if (lua_istable(L, i)) {
    m.type = TP_META_LIST;
    m.of = named != TP_NMETA ? named : type_of_list(L, i, key);
    m.n = (uint64_t)tl_sequence(L, i, key, "{ 1, 2 }");
    for (int k = 1; k <= (int)m.n; k++) {
      lua_rawgeti(L, i, k);
      put_item(L, b, m.of, lua_gettop(L), true, key);
      lua_pop(L, 1);
    }
  } else {
    m.type = named != TP_NMETA ? named : type_of_value(L, i, false);
    if (m.type == TP_NMETA) meta_fail(L, key, "a string, a boolean, a number or a list is wanted");
    put_item(L, b, m.type, i, false, key);
    m.n = b->n;
  }
  if (b->failed) tl_fail(L, "memory: no memory for meta '%s'", key);
  m.p = tp_dup(&s->arena, b->n ? b->s : "", b->n);
  TP_PUSH(&s->arena, &s->meta, m);
  lua_settop(L, i);
}

static int by_key(const void *a, const void *b) {
  return strcmp(((const tp_meta *)a)->key, ((const tp_meta *)b)->key);
}

static void read_meta(lua_State *L, saving_t *s, int i) {
  if (!tl_option(L, i, "meta")) return;
  if (!lua_istable(L, -1)) tl_fail(L, "option: save: meta is a table by names");
  int meta = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, meta); lua_pop(L, 1)) {
    size_t n;
    if (lua_type(L, -2) != LUA_TSTRING)
      tl_fail(L, "option: save: meta goes by names, got %s as a key", tl_describe(L, -2));
    const char *key = lua_tolstring(L, -2, &n);
    if (strlen(key) != n) tl_fail(L, "option: save: a name of meta has a zero byte");
    add_meta(L, s, tp_strdup(&s->arena, key));
  }
  lua_pop(L, 1);
  if (s->meta.n) qsort(s->meta.v, (size_t)s->meta.n, sizeof *s->meta.v, by_key);
}

/* ---- formats ---- */

static const tp_stored *format_at(lua_State *L, int i) {
  const char *name = tl_string(L, i, "format of save"), *names[16];
  const tp_stored *as = tp_stored_named(name);
  int n = 0;
  if (as) return as;
  for (int d = 0; d < TP_NDTYPE; d++) names[n++] = tp_dtype_name((tp_dtype)d);
  for (int f = 1; f < TP_NFORMAT && n < 16; f++) names[n++] = tp_format_names[f];
  tl_unknown(L, "save, of formats,", name, names, n);
}

/* `format` is for matrices of floats whose rows it can take. */
static const tp_stored *format_of(lua_State *L, int i, const tp_named *v, const tp_stored *all) {
  const tp_stored *as = NULL;
  if (tl_option(L, i, "formats")) {
    if (!lua_istable(L, -1)) tl_fail(L, "option: save: formats is a table by names");
    lua_getfield(L, -1, v->name);
    if (!lua_isnil(L, -1)) as = format_at(L, -1);
    lua_pop(L, 2);
  }
  if (as || !all || v->a->rank < 2 || !tp_dtype_float(v->a->dtype)) return as;
  return v->a->shape[v->a->rank - 1] % all->elements ? NULL : all;
}

static void check_formats(lua_State *L, int i, int arrays) {
  if (!tl_option(L, i, "formats")) return;
  int formats = lua_gettop(L);
  if (!lua_istable(L, formats)) tl_fail(L, "option: save: formats is a table by names");
  for (lua_pushnil(L); lua_next(L, formats); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_rawget(L, arrays);
    if (lua_isnil(L, -1))
      tl_fail(L, "option: save: formats names '%s', which is no array",
          lua_type(L, -3) == LUA_TSTRING ? lua_tostring(L, -3) : tl_describe(L, -3));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

bool tl_saves_weights(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && (!strcmp(dot, ".safetensors") || !strcmp(dot, ".gguf"));
}

int tl_save_weights(lua_State *L) { /* path, arrays by name[, options] */
  static const char *const known[] = { "meta", "formats", "format", NULL };
  tp_error e = { 0 };
  int n;
  const char *path = tl_string(L, 1, "save");
  tl_options(L, 3, "save", known);
  if (!lua_istable(L, 2))
    tl_fail(L, "option: save: %s takes a table of arrays by name, got %s", strrchr(path, '.'),
        tl_describe(L, 2));
  saving_t *s = new_saving(L);
  read_meta(L, s, 3);
  check_formats(L, 3, 2);
  const tp_stored *all = tl_option(L, 3, "format") ? format_at(L, -1) : NULL;
  const tp_named *from = tl_named_arrays(L, 2, &n);
  tp_saved *v = TP_NEWN(&s->arena, tp_saved, n + 1);
  for (int k = 0; k < n; k++)
    TP_PUSH(&s->arena, &s->kept, NULL), s->kept.v[k] = tp_array_ref((tp_array *)from[k].a);
  for (int k = 0; k < n; k++)
    if (!tp_saved_set(&v[k], from[k].name, from[k].a, format_of(L, 3, &from[k], all), &e))
      return tl_raise(L, &e);
  bool gguf = !strcmp(strrchr(path, '.'), ".gguf"),
       ok = (gguf ? tp_gguf_save : tp_safetensors_save)(path, n, v, s->meta.n, s->meta.v, &e);
  if (!ok) return tl_raise(L, &e);
  lua_pushboolean(L, true);
  return 1;
}
