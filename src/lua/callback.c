/* callback: lets the core call Lua, protected, because nothing may jump over the core's frames; a
 * callback's error value waits in a stack slot until the core has returned. */
#include "lua/tl.h"

typedef struct {
  tl_run *r;
  const tp_call *c;
  tl_lease *lease;
} frame_t;

static void push_arguments(lua_State *L, const frame_t *f) {
  const tp_call *c = f->c;
  lua_createtable(L, c->nargs, 0);
  for (int k = 0; k < c->nargs; k++) {
    tl_array *u = tl_pusharray(L);
    u->lease = f->lease;
    f->lease->refs++;
    u->a = tp_array_ref(c->args[k]);
    tl_charge(L, u);
    lua_rawseti(L, -2, k + 1);
  }
}

/* Lent arrays go back at once, so that the next call can use them again; rows that the script took
 * wait for the collector. */
static void return_arguments(lua_State *L, const frame_t *f, int arrays) {
  for (int k = 0; k < f->c->nargs; k++) {
    lua_rawgeti(L, arrays, k + 1);
    tl_array *u = tl_typeof(L, -1) == TL_ARRAY ? lua_touserdata(L, -1) : NULL;
    if (u && u->lease == f->lease) tl_array_empty(L, u);
    lua_pop(L, 1);
  }
}

static void push_point(lua_State *L, const tp_call *c) {
  lua_createtable(L, 0, c->ndim);
  for (int k = 0; k < c->ndim; k++) tl_set_integer(L, c->dims[k]->name, c->coord[k]);
}

static const char *shape_text(lua_State *L, const tp_array *a) {
  tp_buf b;
  tp_buf_init(&b);
  for (int k = 0; k < a->rank; k++) tp_putf(&b, k ? ", %lld" : "%lld", (long long)a->shape[k]);
  tl_pushbuf(L, &b);
  return lua_tostring(L, -1);
}

/* "callback at t = 2, i = 0" */
static const char *call_place(const tp_call *c, char *out, size_t room) {
  int n = snprintf(out, room, "callback");
  for (int k = 0; k < c->ndim && n < (int)room; k++)
    n += snprintf(out + n, room - (size_t)n, "%s%s = %lld", k ? ", " : " at ", c->dims[k]->name,
        (long long)c->coord[k]);
  return out;
}

static int refuse_call(lua_State *L, const tp_call *c, const char *fmt, ...) TP_PRINTF(3, 4);
static int refuse_call(lua_State *L, const tp_call *c, const char *fmt, ...) {
  char text[512], at[256];
  TP_FORMAT(text, fmt);
  tp_error e = { 0 };
  tp_fail(&e, TP_E_CALLBACK, c->of->pos, "%s: %s", call_place(c, at, sizeof at), text);
  return tl_raise(L, &e);
}

static void store(lua_State *L, const tp_call *c, int k, int i, tp_array *to) {
  char at[256], what[300];
  const tp_array *from;
  int top = lua_gettop(L);
  snprintf(what, sizeof what, "%s: result %d", call_place(c, at, sizeof at), k + 1);
  if (tl_typeof(L, i) == TL_ARRAY) from = tl_toarray(L, i, what);
  else if (lua_istable(L, i))
    from = tl_nested(L, i, what, TP_E_CALLBACK, to->dtype, false, to->rank, to->shape);
  else if (to->rank == 0 && (lua_type(L, i) == LUA_TNUMBER || lua_isboolean(L, i))) {
    tl_putelem(L, what, TP_E_CALLBACK, to, 0, i);
    return;
  } else {
    refuse_call(L, c,
        lua_type(L, i) == LUA_TNUMBER
            ? "result %d is %s, and its spec is no scalar: return an array or a nested table"
            : "result %d: expected an array, a nested table or a number, got %s",
        k + 1, tl_describe(L, i));
    return;
  }
  if (from->dtype != to->dtype)
    refuse_call(L, c, "result %d has dtype %s, its spec says %s: tempo.array(a, \"%s\") converts",
        k + 1, tp_dtype_name(from->dtype), tp_dtype_name(to->dtype), tp_dtype_name(to->dtype));
  if (from->rank != to->rank ||
      memcmp(from->shape, to->shape, sizeof *to->shape * (size_t)to->rank) != 0)
    refuse_call(L, c, "result %d has shape {%s}, its spec says {%s}", k + 1, shape_text(L, from),
        shape_text(L, to));
  memcpy(to->data, from->data, tp_array_bytes(to));
  lua_settop(L, top);
}

static int call_it(lua_State *L) { /* callbacks, frame */
  frame_t *f = lua_touserdata(L, 2);
  const tp_call *c = f->c;
  if (c->nargs) push_arguments(L, f);
  int base = lua_gettop(L);
  lua_rawgeti(L, 1, c->of->fn + 1);
  if (c->nargs) lua_pushvalue(L, base);
  push_point(L, c);
  tl_call(L, c->nargs ? 2 : 1, LUA_MULTRET);
  int n = lua_gettop(L) - base;
  if (c->nres && n != c->nres)
    refuse_call(L, c, "the function returned %d value%s for %d spec%s", n, n == 1 ? "" : "s",
        c->nres, c->nres == 1 ? "" : "s");
  luaL_checkstack(L, 8, "callback");
  /* errors of results are at the line of P:call */
  f->r->lp->S->at = c->of->pos;
  for (int k = 0; k < c->nres; k++) store(L, c, k, base + 1 + k, c->res[k]);
  if (c->nargs) return_arguments(L, f, base);
  tl_stress(L);
  return 0;
}

/* A protected call of Lua's lies before the run's guard: it must be left by an error. */
static int protected_call(lua_State *L) {
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return tl_fail(L, "memory: out of memory");
  int n = call_it(L);
  tp_unguard(&oom);
  return n;
}

/* registry: protected_call, an object in LuaJIT */
static const char thunk_key;

static void push_thunk(lua_State *L) {
  tl_rawgetp(L, LUA_REGISTRYINDEX, &thunk_key);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_pushcfunction(L, protected_call);
  lua_pushvalue(L, -1);
  tl_rawsetp(L, LUA_REGISTRYINDEX, &thunk_key);
}

void tl_run_prepare_calls(lua_State *L, tl_run *r) {
  tl_pushprogtable(L, r->lp);
  lua_rawgeti(L, -1, TL_PT_CALLS);
  lua_remove(L, -2);
  r->calls = lua_gettop(L);
  push_thunk(L);
  r->thunk = lua_gettop(L);
  lua_pushnil(L);
  r->failed = lua_gettop(L);
  r->main = tl_mainthread(L);
  r->hook = lua_gethook(r->main);
  r->interrupted = false;
}

/* ---- interruptions ---- a host stops a script by a hook, set from a signal handler or another
 * thread (Ctrl-C). Lua calls hooks between its own instructions, and a run has none of these: so a
 * run looks for a new hook, calls it, and ends if it raises. */

/* calls the hook: of this function's call, or of the chunk's instructions */
static int run_hook(lua_State *L) {
  if (luaL_loadstring(L, "return") == LUA_OK) lua_call(L, 0, 0);
  return 0;
}

/* A coroutine has a hook of its own and gets the main thread's. */
static void take_hook(lua_State *L, lua_State *from, lua_Hook was) {
  if (lua_gethook(L) == lua_gethook(from)) return;
  lua_sethook(L, lua_gethook(from), lua_gethookmask(from), lua_gethookcount(from));
  if (!was) lua_sethook(from, NULL, 0, 0);
}

static void put_off_hook(tl_run *r) {
  r->later = lua_gethook(r->main);
  r->mask = lua_gethookmask(r->main);
  r->count = lua_gethookcount(r->main);
  lua_sethook(r->main, NULL, 0, 0);
}

void tl_run_let_hook(tl_run *r) {
  if (r->later) lua_sethook(r->main, r->later, r->mask, r->count);
  r->later = NULL;
}

bool tl_interrupted(void *ud) {
  tl_run *r = ud;
  lua_State *L = r->L;
  if (r->interrupted || lua_gethook(r->main) == r->hook) return r->interrupted;
  if (r->whole && !r->hook) return put_off_hook(r), false;
  if (!lua_checkstack(L, LUA_MINSTACK)) return false;
  take_hook(L, r->main, r->hook);
  lua_pushcfunction(L, run_hook);
  r->interrupted = r->raised = tl_pcall(L, 0, 0) != LUA_OK;
  if (r->interrupted) lua_replace(L, r->failed);
  r->hook = lua_gethook(r->main);
  return r->interrupted;
}

/* Compiling runs no Lua: a new hook ends it, and if the hook does not raise, compiling begins anew,
 * unwatched. A wait for another thread's compiling goes on. */
typedef struct {
  lua_State *main;
  lua_Hook hook;
} watched;

static bool is_hooked(void *ud) {
  return lua_gethook(((watched *)ud)->main) != ((watched *)ud)->hook;
}

static watched watch(lua_State *L) {
  lua_State *main = tl_mainthread(L);
  return (watched){ main, lua_gethook(main) };
}

/* Calls a hook that was set meanwhile. */
static bool let_hook(lua_State *L, watched *w, tp_error *e) {
  if (!is_hooked(w)) return false;
  take_hook(L, w->main, w->hook);
  lua_pushcfunction(L, run_hook);
  tl_call(L, 0, 0);
  *w = watch(L);
  *e = (tp_error){ 0 };
  return true;
}

tp_fn *tl_compile_watched(lua_State *L, tp_program *p, tp_copts *o, tp_error *e) {
  watched w = watch(L);
  o->interrupted = is_hooked;
  o->host = &w;
  tp_fn *f = tp_compile(p, o, e);
  if (f || !let_hook(L, &w, e)) return f;
  o->interrupted = NULL;
  return tp_compile(p, o, e);
}

void tl_fn_wait(lua_State *L, tl_fn *u) {
  tp_error e = { 0 };
  watched w = watch(L);
  while (!tp_fn_wait(u->f, is_hooked, &w, &e))
    if (!let_hook(L, &w, &e)) tl_raise(L, &e);
  tp_graph *g = tp_fn_graph(u->f);
  u->waits = false;
  while (u->told < g->warnings.n) tl_warn(L, g->warnings.v[u->told++]);
}

/* A coroutine cannot be left inside a run. */
static bool is_yield(lua_State *L, const char **text) {
  *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  return strstr(*text, "attempt to yield") != NULL;
}

static bool fail(tl_run *r, const tp_call *c, tp_error *err) {
  lua_State *L = r->L;
  const char *text;
  if (is_yield(L, &text))
    return tp_fail(err, TP_E_CALLBACK, c->of->pos,
        "the function called here yields, and a run cannot be left and entered again: "
        "resume coroutines outside of it");
  lua_replace(L, r->failed);
  r->raised = true;
  return tp_fail(err, TP_E_CALLBACK, c->of->pos, "the function raised an error");
}

bool tl_callback(void *ud, const tp_call *c, tp_error *err) {
  tl_run *r = ud;
  lua_State *L = r->L;
  tl_state *S = r->lp->S;
  frame_t f = { r, c, tp_calloc(sizeof(tl_lease)) };
  if (r->whole) tl_interrupted(r);
  if (!f.lease || !lua_checkstack(L, 8)) {
    tp_free(f.lease);
    return tp_fail(err, TP_E_MEMORY, c->of->pos, "no memory for a callback");
  }
  f.lease->refs = 1;
  int top = lua_gettop(L);
  lua_pushvalue(L, r->thunk);
  lua_pushvalue(L, r->calls);
  lua_pushlightuserdata(L, &f);
  bool ok = tl_pcall(L, 2, 0) == LUA_OK || fail(r, c, err);
  lua_settop(L, top);
  f.lease->over = true;
  tl_lease_drop(f.lease);
  S->at = TP_NOWHERE;
  r->hook = lua_gethook(r->main);
  return ok;
}
