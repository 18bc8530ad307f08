/* checkpoint: f:state(), f:load_state(s), f:save(path), f:load(path). A state is a userdata that holds its bytes itself, so the collector knows its size. */
#include "lua/tl.h"
#include <stdio.h>
#include <stdlib.h>

tl_saved *tl_tosaved(lua_State *L, int i, const char *what) {
  return tl_check(L, i, TL_STATE, what);
}

static void make(lua_State *L, tl_fn *u, tp_buf *b) {
  tp_error e = { 0 };
  tp_buf_init(b);
  if (tp_fn_state(u->f, b, &e)) return;
  tp_buf_free(b);
  tl_raise(L, &e);
}

static int protected_new(lua_State *L) {        /* the bytes as light userdata */
  const tp_buf *b = lua_touserdata(L, 1);
  tl_saved *s = tl_new(L, TL_STATE, sizeof *s + b->n);
  s->n = b->n;
  memcpy(s->bytes, b->s, b->n);
  return 1;
}

int tl_fn_state(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "state");
  tp_buf b;
  lua_pushcfunction(L, protected_new);
  make(L, u, &b);
  lua_pushlightuserdata(L, &b);
  bool ok = lua_pcall(L, 1, 1, 0) == LUA_OK;
  tp_buf_free(&b);
  return ok ? 1 : lua_error(L);
}

/* A run that is over leaves its parameters. */
static void keep_params(lua_State *L, tl_fn *u) {
  if (tp_fn_stepping(u->f)) return;
  lua_settop(L, 1);
  lua_newtable(L);
  for (int k = 0; k < u->nparam; k++) {
    tp_array *a = tp_fn_newest(u->f, k);
    if (!a) continue;
    tl_array *to = tl_pusharray(L);
    tl_setarray(L, to, tp_array_ref(a));
    lua_setfield(L, -2, tp_fn_param(u->f, k)->attr.str);
  }
  tl_fn_set_params(L);
}

int tl_fn_load_state(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "load_state");
  const tl_saved *s = tl_tosaved(L, 2, "load_state");
  tp_error e = { 0 };
  if (!tp_fn_load_state(u->f, s->bytes, s->n, &e)) tl_raise(L, &e);
  keep_params(L, u);
  lua_settop(L, 1);
  return 1;
}

/* ---- files ---- */

static void drop(void *b) { tp_buf_free(b); }

static bool write_all(FILE *f, void *ud) {
  const tp_buf *b = ud;
  return fwrite(b->s, 1, b->n, f) == b->n;
}

int tl_fn_save(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "save");
  const char *path = tl_string(L, 2, "save");
  tp_error e = { 0 };
  tp_buf b;
  make(L, u, &b);
  tp_hold mine;
  tp_hold_set(&mine, drop, &b);
  bool ok = tp_file_replace(path, write_all, &b, &e);
  tp_hold_end(&mine);
  tp_buf_free(&b);
  if (!ok) return tl_raise(L, &e);
  lua_pushboolean(L, true);
  return 1;
}

/* The whole file, for tp_free; NULL: error. */
static char *read_all(const char *path, size_t *n, tp_error *err) {
  int64_t size = 0;
  FILE *f = tp_file_open(path, &size, err);
  if (!f) return NULL;
  char *p = tp_alloc((size_t)size + 1);
  bool ok = p && tp_file_read(f, p, (size_t)size);
  fclose(f);
  *n = (size_t)size;
  if (ok) return p;
  if (p) tp_file_fail(err, path, "cannot be read");
  else tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "memory: no memory for %lld bytes of %s", (long long)size, path);
  tp_free(p);
  return NULL;
}

int tl_fn_load(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "load");
  const char *path = tl_string(L, 2, "load");
  tp_error e = { 0 };
  size_t n = 0;
  char *p = read_all(path, &n, &e);
  if (!p) return tl_raise(L, &e);
  bool ok = tp_fn_load_state(u->f, p, n, &e);
  tp_free(p);
  if (!ok) return tl_raise(L, &e);
  keep_params(L, u);
  lua_settop(L, 1);
  return 1;
}

/* ---- the class ---- */

static int saved_tostring(lua_State *L) {
  const tl_saved *s = tl_tosaved(L, 1, "tostring");
  lua_pushfstring(L, "tempo.State<%d bytes>", (int)s->n);
  return 1;
}

void tl_open_saved(lua_State *L, tl_state *S) {
  static const tl_reg meta[] = { { "__tostring", saved_tostring, 0 }, { 0 } };
  static const tl_reg methods[] = { { 0 } };
  tl_class(L, S, TL_STATE, "tempo.State", meta, methods, NULL);
  lua_pop(L, 1);
}
