/* fn: compiled functions: f(inputs, bounds, { seed = }), f:params(), f:load_params(t), f:explain(),
 * f:memory(). */
#include "lua/tl.h"
#include <stdlib.h>

tl_fn *tl_fn_self(lua_State *L, const char *what) {
  tl_fn *u = tl_check(L, 1, TL_FN, what);
  if (!u->f) tl_fail(L, "option: %s: this function has been freed", what);
  if (u->waits) tl_fn_wait(L, u);
  return u;
}

/* True even if compiling failed: that raises where the function is used. */
static int fn_ready(lua_State *L) {
  const tl_fn *u = tl_check(L, 1, TL_FN, "ready");
  if (!u->f) tl_fail(L, "option: ready: this function has been freed");
  lua_pushboolean(L, tp_fn_ready(u->f));
  return 1;
}

tl_fn *tl_fn_alone(lua_State *L, const char *what, const char *may_not) {
  tl_fn *u = tl_fn_self(L, what);
  if (u->uses > 1)
    tl_fail(L, "option: this function is already running: a callback cannot %s", may_not);
  return u;
}

/* A method in C, below its arguments. A request for memory that fails ends here, inside the
 * protected call: a jump beyond it would leave Lua with the call's dead frame. */
static int guarded_method(lua_State *L) {
  lua_CFunction f = (lua_CFunction)lua_touserdata(L, 1);
  tp_guard oom;
  lua_remove(L, 1);
  if (!TP_GUARDED(&oom)) return tl_fail(L, "memory: out of memory");
  int n = f(L);
  tp_unguard(&oom);
  return n;
}

static void push_guarded(lua_State *L) { /* LuaJIT makes an object of each C function pushed */
  static const char key;
  tl_rawgetp(L, LUA_REGISTRYINDEX, &key);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_pushcfunction(L, guarded_method);
  lua_pushvalue(L, -1);
  tl_rawsetp(L, LUA_REGISTRYINDEX, &key);
}

/* Protected: a method that an error leaves no longer uses the function, which stays on the stack
 * below its arguments. */
int tl_fn_use(lua_State *L, lua_CFunction f, int method) {
  tl_fn *u = tl_object(L, 1, TL_FN, "a method of a function");
  lua_pushvalue(L, 1);
  if (f) push_guarded(L), lua_pushlightuserdata(L, (void *)f);
  else lua_pushvalue(L, method);
  for (int k = 0; k < 2 + !!f; k++) lua_insert(L, 1);
  u->uses++;
  int status = tl_pcall(L, lua_gettop(L) - 2, LUA_MULTRET);
  u->uses--;
  return status == LUA_OK ? lua_gettop(L) - 1 : lua_error(L);
}

static int release(lua_State *L, const char *what, int own) { /* own: this call's own uses */
  tl_fn *u = tl_object(L, 1, TL_FN, what);
  if (u->uses > own) tl_fail(L, "option: %s: this function is running", what);
  u->f = tp_fn_free(u->f);
  return 0;
}

static int fn_gc(lua_State *L) { return release(L, "__gc", 0); }
static int fn_close(lua_State *L) { return release(L, "__close", 0); }
static int fn_free(lua_State *L) { return release(L, "free", 1); }

tl_fn *tl_pushfn(lua_State *L, tl_prog *lp) {
  tl_fn *u = tl_new(L, TL_FN, sizeof *u);
  u->lp = lp;
  lua_createtable(L, 0, 1); /* keeps its program */
  tl_pushprogtable(L, lp);
  lua_setfield(L, -2, "program");
  lua_setuservalue(L, -2);
  return u;
}

void tl_fn_seed(lua_State *L, tl_run *r, int i) {
  if (!tl_option(L, i, "seed")) return;
  r->run.seed = (uint64_t)tl_integer(L, -1, "seed");
  lua_pop(L, 1);
}

/* Does the state have input k? That of a run that goes on has the inputs that do not tick. */
static bool in_state(lua_State *L, tl_fn *u, int i, int k) {
  if (tp_fn_fed(u->f, k)) return false;
  bool given = lua_istable(L, i) && tl_option(L, i, tp_fn_graph(u->f)->inputs.v[k]->attr.str);
  if (given) lua_pop(L, 1);
  return !given;
}

static void give_inputs(lua_State *L, tl_run *r, tl_fn *u, int i, bool resumes) {
  for (int k = 0; k < r->ninput; k++)
    r->need[k] = tp_fn_needs_input(u->f, k) && !(resumes && in_state(L, u, i, k));
  tl_run_inputs(L, r, i, tp_fn_graph(u->f), NULL);
  /* what is taken point by point is taken from a dense array */
  for (int k = 0; k < r->ninput; k++) {
    tp_array *a = r->inputs[k];
    if (!a || !a->row || !tp_fn_fed(u->f, k)) continue;
    if (!(r->inputs[k] = tp_array_dense(a))) tl_fail(L, "memory: no memory for dense rows");
    tp_array_unref(a);
  }
}

tl_run *tl_fn_run(lua_State *L, tl_fn *u, int i, bool runs, bool endless) {
  tp_dims need;
  tl_run *r =
      tl_run_new(L, u->lp, tp_fn_graph(u->f)->ix, runs ? tp_fn_graph(u->f)->inputs.n : 0, 0);
  int n = tp_fn_bounds(u->f, &need);
  if (endless) r->endless = tp_fn_endless(u->f);
  tl_run_bounds(L, r, i, n, need);
  return r;
}

/* Pushes its memory and { name = array } before the run, empty. */
static tl_array **push_results(lua_State *L, const tp_graph *g) {
  tl_array **slot = lua_newuserdata(L, sizeof *slot * (size_t)(g->outputs.n + 1));
  lua_createtable(L, 0, g->outputs.n);
  for (int k = 0; k < g->outputs.n; k++) {
    slot[k] = g->outputs.v[k].hidden ? NULL : tl_pusharray(L);
    if (slot[k]) lua_setfield(L, -2, g->outputs.v[k].name);
  }
  return slot;
}

static void keep_outputs(tl_array **slot, const tp_graph *g, const tp_run *run) {
  for (int k = 0; k < g->outputs.n; k++)
    if (slot[k] && run->outputs[k]) slot[k]->a = tp_array_ref(run->outputs[k]);
}

/* A cancelled run has no arrays for incomplete outputs. */
static void charge_outputs(lua_State *L, int outputs, tl_array **slot, const tp_graph *g) {
  for (int k = 0; k < g->outputs.n; k++) {
    if (!slot[k]) continue;
    if (slot[k]->a) {
      tl_charge(L, slot[k]);
      continue;
    }
    lua_pushnil(L);
    lua_setfield(L, outputs, g->outputs.v[k].name);
  }
}

static int fn_call(lua_State *L) { /* f, inputs, bounds, options */
  static const char *const known[] = { "seed", "state", NULL };
  tl_takes(L, "a call", 4, true);
  tl_fn *u = tl_fn_alone(L, "call", "call it again");
  tp_error e = { 0 };
  tp_graph *g = tp_fn_graph(u->f);
  tl_run *r = tl_fn_run(L, u, 3, true, true);
  if (!tp_fn_call_may_end(u->f, r->env, &e)) tl_raise(L, &e);
  tl_options(L, 4, "a call", known);
  tl_fn_seed(L, r, 4);
  /* stays on the stack */
  const tl_saved *from = tl_option(L, 4, "state") ? tl_tosaved(L, lua_gettop(L), "state") : NULL;
  if (from && !tp_fn_ticks(u->f, &e)) tl_raise(L, &e);
  give_inputs(L, r, u, 2, from != NULL);
  tl_array **slot = push_results(L, g);
  int outputs = lua_gettop(L);
  tl_run_prepare_calls(L, r);
  r->run.cancel = &u->cancel;
  u->cancel = false;
  u->running = true;
  bool ok =
      from ? tp_fn_resume(u->f, &r->run, from->bytes, from->n, &e) : tp_fn_run(u->f, &r->run, &e);
  u->running = false;
  if (ok && !r->interrupted) keep_outputs(slot, g, &r->run);
  if (ok) tp_fn_outputs_free(u->f, &r->run);
  if (!ok || r->interrupted) tl_run_raise(L, r, &e);
  tl_run_release(r);
  charge_outputs(L, outputs, slot, g);
  lua_pushvalue(L, outputs);
  if (!u->cancel) return 1;
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, "cancelled");
  return 1;
}

int tl_fn_parameters(lua_State *L) { /* f, caller's name -> the names */
  tl_fn *u = tl_fn_self(L, tl_string(L, 2, "parameters"));
  int n = tp_fn_nparam(u->f);
  lua_createtable(L, n, 0);
  for (int k = 0; k < n; k++) {
    lua_pushstring(L, tp_fn_param(u->f, k)->attr.str);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* Arguments: f, the number of a parameter. */
static tl_fn *parameter(lua_State *L, int *k) {
  tl_fn *u = tl_fn_self(L, "params");
  int64_t i = tl_integer(L, 2, "params");
  if (i < 1 || i > tp_fn_nparam(u->f)) tl_fail(L, "option: params: there is no such parameter");
  *k = (int)i - 1;
  return u;
}

/* Pushes a copy, because the script may write into it; a loaded constant is the script's own.
 * Nothing: it has no value yet. */
int tl_fn_parameter(lua_State *L) {
  int k;
  tl_fn *u = parameter(L, &k);
  tl_array *to = tl_pusharray(L); /* a finalizer may load others */
  tp_array *a = tp_fn_param_value(u->f, k);
  if (!a) return 0;
  tl_setarray(L, to, tp_fn_param_borrowed(u->f, k) ? tp_array_ref(a) : tp_array_cast(a, a->dtype));
  return 1;
}

/* f, number, value -> the array to load, if it fits: the script's own, or one made of its value. */
int tl_fn_fit(lua_State *L) {
  int k;
  tl_fn *u = parameter(L, &k);
  const tp_node *w = tp_fn_param(u->f, k);
  tp_error e = { 0 };
  if (tl_typeof(L, 3) != TL_ARRAY) {
    const char *what = lua_pushfstring(L, "parameter '%s'", w->attr.str);
    tl_nested(L, 3, what, 0, w->out[0].dtype, false, -1, NULL);
    lua_replace(L, 3);
  }
  lua_settop(L, 3);
  if (!tp_fn_param_fits(u->f, k, tl_toarray(L, 3, w->attr.str), &e)) tl_raise(L, &e);
  return 1;
}

int tl_fn_load_param(lua_State *L) { /* f, number, an array that fits */
  int k;
  tl_fn *u = parameter(L, &k);
  tp_fn_load_param(u->f, k, tp_array_ref(tl_toarray(L, 3, "load_params")));
  return 0;
}

static int push_buf(lua_State *L, tp_buf *b, bool ok, tp_error *e) { /* takes b */
  if (!ok) {
    tp_buf_free(b);
    tl_raise(L, e);
  }
  tl_pushbuf(L, b);
  return 1;
}

static int fn_explain(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "explain");
  tp_error e = { 0 };
  tp_buf b;
  const char *section = lua_isnil(L, 2) ? NULL : tl_string(L, 2, "explain");
  tl_run *r = lua_isnil(L, 3) ? NULL : tl_fn_run(L, u, 3, false, false);
  tp_buf_init(&b);
  bool ok = tp_fn_explain(u->f, section, r ? r->env : NULL, &b, &e);
  if (r) tl_run_release(r);
  return push_buf(L, &b, ok, &e);
}

static void look_inside(lua_State *L, tl_fn *u) {
  tp_error e = { 0 };
  bool inside = tl_boolean(L, -1, "inside of profile");
  if (u->running)
    tl_fail(L,
        "option: profile: what is inside of native code is looked at from one run on, not by a "
        "callback");
  if (!tp_fn_inside(u->f, inside, &e)) tl_raise(L, &e);
}

static int fn_profile(lua_State *L) { /* f, rows, options */
  static const char *const known[] = { "inside", "trace", NULL };
  tl_fn *u = tl_fn_self(L, "profile");
  tp_error e = { 0 };
  tp_buf b;
  int64_t rows = lua_isnoneornil(L, 2) ? 20 : tl_integer(L, 2, "profile");
  if (rows < 0)
    tl_fail(
        L, "option: profile: the number of rows must not be negative, got %lld", (long long)rows);
  tl_options(L, 3, "profile", known);
  if (tl_option(L, 3, "trace") && !tp_fn_trace(u->f, tl_string(L, -1, "trace"), &e))
    tl_raise(L, &e);
  if (tl_option(L, 3, "inside")) look_inside(L, u);
  tp_buf_init(&b);
  bool ok = tp_fn_profile(u->f, (int)TP_MIN(rows, INT32_MAX), &b, &e);
  return push_buf(L, &b, ok, &e);
}

static int fn_export(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "export");
  tp_error e = { 0 };
  const char *path = tl_string(L, 2, "export");
  tl_run *r = tl_fn_run(L, u, 3, false, true);
  bool ok = tp_fn_export(u->f, path, r->env, &e);
  tl_run_release(r);
  if (!ok) tl_raise(L, &e);
  return 0;
}

static int push_bytes(lua_State *L, int64_t n) { /* nil: not known */
  if (n < 0) lua_pushnil(L);
  else lua_pushinteger(L, (lua_Integer)n);
  return 1;
}

static int fn_memory(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "memory");
  tp_error e = { 0 };
  tl_run *r = tl_fn_run(L, u, 2, false, false);
  int64_t bytes = tp_fn_memory(u->f, r->env, &e);
  tl_run_release(r);
  if (e.code) tl_raise(L, &e);
  return push_bytes(L, bytes);
}

static int fn_simulate(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "simulate");
  tp_error e = { 0 };
  tl_run *r = tl_fn_run(L, u, 2, false, false);
  bool known, ok = tp_fn_simulate(u->f, r->env, &known, &e);
  tl_run_release(r);
  if (!ok) tl_raise(L, &e);
  if (known) lua_pushboolean(L, true);
  else lua_pushnil(L);
  return 1;
}

static int fn_peak(lua_State *L) { return push_bytes(L, tp_fn_peak(tl_fn_self(L, "peak")->f)); }

static int fn_tostring(lua_State *L) {
  const tl_fn *u = tl_check(L, 1, TL_FN, "tostring");
  tp_error e = { 0 };
  if (!u->f) return lua_pushliteral(L, "tempo.Function (freed)"), 1;
  if (!tp_fn_ready(u->f)) return lua_pushliteral(L, "tempo.Function (being compiled)"), 1;
  if (!tp_fn_wait(u->f, NULL, NULL, &e)) return lua_pushliteral(L, "tempo.Function (failed)"), 1;
  const tp_graph *g = tp_fn_graph(u->f);
  int outputs = 0;
  for (int k = 0; k < g->outputs.n; k++) outputs += !g->outputs.v[k].hidden;
  lua_pushfstring(L, "tempo.Function<%d nodes, %d inputs, %d outputs, %d parameters>", g->nodes.n,
      g->inputs.n, outputs, tp_fn_nparam(u->f));
  return 1;
}

static const tl_reg fn_meta[] = { { "__tostring", fn_tostring, 0 }, { 0 } };
static const tl_reg fn_methods[] = {
  { "explain", fn_explain, 3 },
  { "memory", fn_memory, 2 },
  { "peak", fn_peak, 1 },
  { "simulate", fn_simulate, 2 },
  { "start", tl_fn_start, 4 },
  { "step", tl_fn_step, 3 },
  { "work", tl_fn_work, 2 },
  { "cancel", tl_fn_cancel, 1 },
  { "state", tl_fn_state, 1 },
  { "load_state", tl_fn_load_state, 2 },
  { "load", tl_fn_load, 2 },
  { "profile", fn_profile, 3 },
  { "export", fn_export, 3 },
  { "ready", fn_ready, 1 },
  { "free", fn_free, 1 },
  { 0 },
};

void tl_open_fn(lua_State *L, tl_state *S) {
  tl_class(L, S, TL_FN, "tempo.Function", fn_meta, fn_methods, NULL);
  tl_pushclass(L, TL_FN);
  tl_setnamed(L, S, TL_FN, &(tl_reg){ "__call", fn_call, 0 }, 0);
  tl_setraw(L, TL_FN, "__gc", fn_gc);
  tl_setraw(L, TL_FN, "__close", fn_close);
  lua_pop(L, 2);
}
