/* checkpoint: f:state(), f:load_state(s), f:save(path), f:load(path). A state is a userdata that
 * holds the bytes, so the collector knows its size. */
#include "lua/tl.h"

tl_saved *tl_tosaved(lua_State *L, int i, const char *what) {
  return tl_check(L, i, TL_STATE, what);
}

static int protected_new(lua_State *L) { /* its argument: the bytes as light userdata */
  const tp_buf *b = lua_touserdata(L, 1);
  tl_saved *s = tl_new(L, TL_STATE, sizeof *s + b->n);
  s->n = b->n;
  memcpy(s->bytes, b->s, b->n);
  return 1;
}

int tl_fn_state(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "state");
  tp_error e = { 0 };
  tp_buf b;
  tp_buf_init(&b);
  lua_pushcfunction(L, protected_new);
  lua_pushlightuserdata(L, &b);
  bool made = tp_fn_state(u->f, &b, &e), ok = made && lua_pcall(L, 1, 1, 0) == LUA_OK;
  tp_buf_free(&b);
  if (!made) tl_raise(L, &e);
  return ok ? 1 : lua_error(L);
}

int tl_fn_load_state(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "load_state");
  const tl_saved *s = tl_tosaved(L, 2, "load_state");
  tp_error e = { 0 };
  if (!tp_fn_load_state(u->f, s->bytes, s->n, &e)) tl_raise(L, &e);
  lua_settop(L, 1);
  return 1;
}

static int with_path(
    lua_State *L, const char *what, bool (*fn)(tp_fn *, const char *, tp_error *)) {
  tl_fn *u = tl_fn_self(L, what);
  tp_error e = { 0 };
  return fn(u->f, tl_string(L, 2, what), &e) || tl_raise(L, &e);
}

int tl_fn_save(lua_State *L) {
  lua_pushboolean(L, with_path(L, "save", tp_fn_save));
  return 1;
}

int tl_fn_load(lua_State *L) {
  with_path(L, "load", tp_fn_load);
  lua_settop(L, 1);
  return 1;
}

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
