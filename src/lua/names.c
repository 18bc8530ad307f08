/* names: messages call an unnamed tensor by the script's local, upvalue, field or global that holds
 * it. When a program is compiled, or recording meets a mistake, the script's frames are looked
 * through once, the innermost first, for locals, then for upvalues. A local names a tensor only in
 * the function whose lines made it: a helper's parameter is another name for it. Of a
 * table's fields that hold one, or results of one operator, the first name in order is taken, as a
 * table's own order differs from run to run. */
#include "lua/tl.h"

enum { ALIASES = 64 }; /* parameters of helpers */

typedef struct {
  lua_State *L;
  tl_prog *lp;
  lua_Debug ar;
  int left, nalias, round; /* round: the variable at hand; marks of nodes say by which named */
  const tp_node *alias[ALIASES];
} names_t;

static bool is_alias(const names_t *n, const tp_node *x) {
  for (int k = 0; k < n->nalias; k++)
    if (n->alias[k] == x) return true;
  return false;
}

/* An upvalue may name a tensor of its whole file, but for parameters. */
static bool made_here(const names_t *n, const tp_node *x, bool upvalue) {
  if (!x->pos.file || strcmp(x->pos.file, n->ar.short_src) != 0) return false;
  if (upvalue) return !is_alias(n, x);
  if (strcmp(n->ar.what, "main") == 0) return true;
  return x->pos.line >= n->ar.linedefined && x->pos.line <= n->ar.lastlinedefined;
}

/* of our program, without a name but of the variable at hand */
static tp_node *tensor(const names_t *n, int i) {
  const tl_tensor *u = tl_typeof(n->L, i) == TL_TENSOR ? lua_touserdata(n->L, i) : NULL;
  if (!u || u->lp != n->lp) return NULL;
  const char *name = tp_own_name(u->v.node);
  return !name || (name == u->v.node->var && u->v.node->mark == n->round) ? u->v.node : NULL;
}

static void give_name(const names_t *n, tp_node *x, const char *name) {
  if (x->var && strcmp(x->var, name) <= 0) return;
  x->var = tp_strdup(&n->lp->p->g->arena, name);
  x->mark = n->round;
}

/* layers[2] or net.h; else "". Converting the key would end the traversal. */
static const char *field_name(const names_t *n, const char *table, int i, char *out, size_t room) {
  int64_t at;
  *out = 0;
  if (lua_type(n->L, i) == LUA_TSTRING)
    snprintf(out, room, "%s%s%s", table, *table ? "." : "", lua_tostring(n->L, i));
  else if (tl_isint(n->L, i, &at)) snprintf(out, room, "%s[%lld]", table, (long long)at);
  return out;
}

static bool is_module(lua_State *L, int i) { /* tempo holds no tensors */
  tl_pushmodule(L);
  bool is = lua_rawequal(L, i, -1);
  lua_pop(L, 1);
  return is;
}

static void name_fields(names_t *n, int i, const char *table, int depth) {
  lua_State *L = n->L;
  int top = lua_gettop(L);
  char path[96];
  if (!lua_checkstack(L, 8) || is_module(L, i)) return;
  for (lua_pushnil(L); n->left > 0 && lua_next(L, i); lua_pop(L, 1), n->left--) {
    tp_node *x = tensor(n, -1);
    bool inner = depth > 0 && lua_istable(L, -1);
    if ((!x && !inner) || !*field_name(n, table, -2, path, sizeof path)) continue;
    if (x) give_name(n, x, path);
    else name_fields(n, lua_gettop(L), path, depth - 1);
  }
  lua_settop(L, top);
}

/* pops the variable */
static void name_value(names_t *n, const char *name, bool upvalue) {
  n->round++;
  tp_node *x = tensor(n, -1);
  if (x && made_here(n, x, upvalue)) give_name(n, x, name);
  else if (x && !upvalue && n->nalias < ALIASES) n->alias[n->nalias++] = x;
  else if (lua_istable(n->L, -1)) name_fields(n, lua_gettop(n->L), name, 1);
  lua_pop(n->L, 1);
}

static void name_locals(names_t *n) {
  const char *name;
  for (int k = 1; (name = lua_getlocal(n->L, &n->ar, k)); k++)
    if (*name == '(' || strcmp(name, "_") == 0) lua_pop(n->L, 1);
    else name_value(n, name, false);
}

static void name_upvalues(names_t *n) {
  const char *name;
  lua_getinfo(n->L, "f", &n->ar);
  int f = lua_gettop(n->L);
  for (int k = 1; (name = lua_getupvalue(n->L, f, k)); k++)
    if (strcmp(name, "_ENV") == 0) lua_pop(n->L, 1);
    else name_value(n, name, true);
  lua_pop(n->L, 1);
}

static void each_frame(names_t *n, void (*look)(names_t *)) {
  for (int level = 0; lua_getstack(n->L, level, &n->ar); level++)
    if (lua_getinfo(n->L, "S", &n->ar) && *n->ar.what != 'C' && !tl_is_library(n->L, n->ar.source))
      look(n);
}

void tl_name_variables(lua_State *L, tl_prog *lp) {
  names_t n = { .L = L, .lp = lp, .left = TP_TUNE_NAMED_FIELDS };
  tp_graph *g = lp->p->g;
  if (lp->scratch || !lua_checkstack(L, 16)) return;
  for (int i = 0; i < g->nodes.n; i++) g->nodes.v[i]->mark = 0;
  each_frame(&n, name_locals);
  each_frame(&n, name_upvalues);
  tl_pushglobals(L);
  n.round++;
  name_fields(&n, lua_gettop(L), "", 0);
  lua_pop(L, 1);
}

void tl_learn_names(void *lp) { tl_name_variables(((tl_prog *)lp)->S->L, lp); }
