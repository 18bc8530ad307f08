/* array_file: arrays to and from NumPy's files; folders for files. */
#include "lua/tl.h"
#include <errno.h>
#include <stdlib.h>

static int done(lua_State *L, bool ok, const tp_error *e) {
  if (!ok) return tl_raise(L, e);
  lua_pushboolean(L, true);
  return 1;
}

int tl_array_save(lua_State *L) {
  tp_error e = { 0 };
  const tp_array *a = tl_toarray(L, 1, "save");
  return done(L, tp_npy_save(tl_string(L, 2, "save"), a, &e), &e);
}

/* Pushes the table's entries in the order of their names, so that one table gives one file. */
tp_named *tl_named_arrays(lua_State *L, int i, int *n) {
  int most = tl_count(L, i);
  tp_named *v = lua_newuserdata(L, sizeof *v * (size_t)(most + 1));
  *n = 0;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    if (*n == most) continue; /* a finalizer's */
    size_t len;
    if (lua_type(L, -2) != LUA_TSTRING)
      tl_fail(L, "option: save: arrays go by name, { x = a }; got %s as a key", tl_describe(L, -2));
    const char *name = lua_tolstring(L, -2, &len);
    if (strlen(name) != len)
      tl_fail(L, "option: save: the name '%s...' contains a zero byte", name);
    v[(*n)++] = (tp_named){ name, tl_toarray(L, -1, name) };
  }
  qsort(v, (size_t)*n, sizeof *v, tp_by_text);
  return v;
}

int tl_array_save_named(lua_State *L) {
  tp_error e = { 0 };
  int n;
  const char *path = tl_string(L, 1, "save");
  if (tl_saves_weights(path)) return tl_save_weights(L);
  const char *dot = strrchr(path, '.');
  bool array = tl_typeof(L, 2) == TL_ARRAY;
  if (dot && !strcmp(dot, array ? ".npz" : ".npy"))
    tl_fail(L, "option: save: %s",
        array ? "an .npz holds arrays by name, { x = a }"
              : "an .npy holds one array; .npz holds arrays by name");
  tl_options(L, 3, "save of NumPy's files", (const char *const[]){ NULL });
  if (array) return done(L, tp_npy_save(path, tl_toarray(L, 2, "save"), &e), &e);
  if (!lua_istable(L, 2))
    tl_fail(L, "option: save: expected an array or a table of arrays by name, got %s",
        tl_describe(L, 2));
  const tp_named *v = tl_named_arrays(L, 2, &n);
  return done(L, tp_npz_save(path, n, v, &e), &e);
}

static int arrays_gc(lua_State *L) {
  tp_arrays_free(lua_touserdata(L, 1));
  return 0;
}

/* owned by Lua before anything can raise */
static tp_arrays *new_arrays(lua_State *L) {
  tp_arrays *a = memset(lua_newuserdata(L, sizeof *a), 0, sizeof *a);
  lua_newtable(L);
  lua_pushcfunction(L, arrays_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  return a;
}

static void push_arrays(lua_State *L, tp_named *from) {
  tl_array *u = tl_pusharray(L);
  u->a = from->a;
  from->a = NULL;
  tl_charge(L, u);
}

int tl_array_load(lua_State *L) {
  tp_error e = { 0 };
  const char *path = tl_string(L, 1, "load");
  tp_arrays *a = new_arrays(L);
  if (!tp_arrays_load(path, a, &e)) return tl_raise(L, &e);
  if (a->single) return push_arrays(L, &a->v[0]), 1;
  lua_createtable(L, 0, a->n);
  for (int k = 0; k < a->n; k++) {
    push_arrays(L, &a->v[k]);
    lua_setfield(L, -2, a->v[k].name);
  }
  return 1;
}

int tl_make_folder(lua_State *L) {
  tp_error e = { 0 };
  const char *name = tl_string(L, 1, "mkdir");
  char *path = memcpy(lua_newuserdata(L, strlen(name) + 1), name, strlen(name) + 1);
  if (tp_file_folder(path, false)) return 0;
  tp_fail(&e, TP_E_FILE, TP_NOWHERE, "cannot make the folder '%s': %s", path, strerror(errno));
  return tl_raise(L, &e);
}
