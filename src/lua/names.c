/* names: messages call an unnamed tensor by the script's variable that holds it. binding.lua looks
 * for it when a program is compiled, or recording meets a mistake. */
#include "lua/tl.h"

/* registry: binding.lua's function */
static const char names_key;

void tl_names_by(lua_State *L) { tl_rawsetp(L, LUA_REGISTRYINDEX, &names_key); }

/* tensor, program -> number, file and line of its node; nothing: it has a name, or another
 * program */
int tl_unnamed(lua_State *L) {
  const tl_tensor *u = tl_object(L, 1, TL_TENSOR, "name");
  if (u->lp != lua_touserdata(L, 2) || tp_own_name(u->v.node)) return 0;
  lua_pushinteger(L, u->v.node->id);
  lua_pushstring(L, u->v.node->pos.file);
  lua_pushinteger(L, u->v.node->pos.line);
  return 3;
}

int tl_name_variable(lua_State *L) { /* tensor, name */
  const tl_tensor *u = tl_check(L, 1, TL_TENSOR, "name");
  u->v.node->var = tp_strdup(&u->lp->p->g->arena, tl_string(L, 2, "name"));
  return 0;
}

/* The core may wait below: no finalizer of the script's runs, and no error passes. */
void tl_name_variables(lua_State *L, tl_prog *lp) {
  if (lp->scratch || !lua_checkstack(L, LUA_MINSTACK)) return;
  bool collects = lua_gc(L, LUA_GCISRUNNING, 0);
  lua_gc(L, LUA_GCSTOP, 0);
  tl_rawgetp(L, LUA_REGISTRYINDEX, &names_key);
  lua_pushlightuserdata(L, lp);
  if (tl_pcall(L, 1, 0) != LUA_OK) lua_pop(L, 1);
  if (collects) lua_gc(L, LUA_GCRESTART, 0);
}

void tl_learn_names(void *lp) { tl_name_variables(((tl_prog *)lp)->S->L, lp); }
