/* step: f:start(inputs, bounds), f:step(values, { budget_ms = }): a compiled function run tick by tick. */
#include "lua/tl.h"

int tl_fn_start(lua_State *L) {                 /* f, inputs, bounds, options */
  static const char *const known[] = { "seed", NULL };
  tl_fn *u = tl_fn_self(L, "start");
  tp_error e = { 0 };
  if (!tp_fn_ticks(u->f, &e)) tl_raise(L, &e);
  tp_graph *g = tp_fn_graph(u->f);
  tl_run *r = tl_fn_run(L, u, 3, true);
  bool *given = lua_newuserdata(L, (size_t)g->inputs.n + 1);
  for (int k = 0; k < g->inputs.n; k++) given[k] = tp_fn_needs_input(u->f, k) && !tp_fn_fed(u->f, k);
  tl_run_inputs(L, r, 2, g, given, NULL);
  tl_options(L, 4, "start", known);
  tl_fn_seed(L, r, 4);
  bool ok = tp_fn_start(u->f, &r->run, &e);
  tl_run_release(r);
  if (!ok) tl_raise(L, &e);
  lua_settop(L, 1);
  return 1;
}

static void take_values(lua_State *L, tl_fn *u, tl_run *r, int i) {
  tp_graph *g = tp_fn_graph(u->f);
  bool *fed = lua_newuserdata(L, (size_t)g->inputs.n + 1);
  for (int k = 0; k < g->inputs.n; k++) fed[k] = tp_fn_wants(u->f, k);
  for (int k = 0; k < g->inputs.n; k++)
    if (!tp_fn_fed(u->f, k) && tp_fn_needs_input(u->f, k) && tl_option(L, i, g->inputs.v[k]->attr.str))
      tl_fail(L, TP_E_INPUT, "input: '%s' does not have the tick dims: f:start takes it", g->inputs.v[k]->attr.str);
  const tp_sym *const *need;
  int n = tp_fn_bounds(u->f, &need);
  for (int k = 0; k < n; k++) r->env[need[k]->id] = tp_fn_started(u->f)[need[k]->id];
  tl_run_inputs(L, r, i, g, fed, u->f);
  lua_pop(L, 1);
}

static double take_budget(lua_State *L, int i) {
  static const char *const known[] = { "budget_ms", NULL };
  tl_options(L, i, "step", known);
  if (!tl_option(L, i, "budget_ms")) return -1;
  bool number = lua_type(L, -1) == LUA_TNUMBER;
  double ms = number ? lua_tonumber(L, -1) : -1;
  char text[32];
  if (!(ms >= 0))
    tl_fail(L, TP_E_OPTION, "option: budget_ms: expected a number of milliseconds, 0 or more, got %s", number ? tl_numeral(ms, text) : tl_describe(L, lua_gettop(L)));
  lua_pop(L, 1);
  return ms / 1e3;
}

/* The arrays exist, empty, before the step: one a visible output. */
static tl_array **push_places(lua_State *L, const tp_graph *g) {
  tl_array **slot = lua_newuserdata(L, sizeof *slot * (size_t)(g->outputs.n + 1));
  lua_createtable(L, g->outputs.n, 0);
  for (int k = 0; k < g->outputs.n; k++) {
    slot[k] = g->outputs.v[k].hidden ? NULL : tl_pusharray(L);
    if (slot[k]) lua_rawseti(L, -2, k + 1);
  }
  lua_createtable(L, 0, g->outputs.n + 2);
  return slot;
}

static void fill_results(lua_State *L, tl_fn *u, tp_step *s, tl_array **slot, int places, int out) {
  tp_graph *g = tp_fn_graph(u->f);
  for (int k = 0; k < g->outputs.n; k++)
    if (slot[k]) slot[k]->a = s->out[k] ? tp_array_ref(s->out[k]) : NULL;
  tp_step_free(u->f, s);
  for (int k = 0; k < g->outputs.n; k++) {
    if (!slot[k] || !slot[k]->a) continue;
    tl_charge(L, slot[k]);
    lua_rawgeti(L, places, k + 1);
    lua_setfield(L, out, g->outputs.v[k].name);
  }
  if (s->budget >= 0) { lua_pushnumber(L, s->late * 1e3); lua_setfield(L, out, "late_ms"); }
  if (s->cancelled) { lua_pushboolean(L, 1); lua_setfield(L, out, "cancelled"); }
}

int tl_fn_step(lua_State *L) {                  /* f, values, options */
  tl_fn *u = tl_fn_self(L, "step");
  tp_error e = { 0 };
  if (u->running) tl_fail(L, TP_E_OPTION, "option: this function is already running: a callback cannot step it");
  if (!tp_fn_stepping(u->f)) tl_fail(L, TP_E_OPTION, "option: step: no run is going on: f:start(inputs, bounds) begins one");
  tp_graph *g = tp_fn_graph(u->f);
  tl_run *r = tl_run_new(L, u->lp, g->inputs.n);
  take_values(L, u, r, 2);
  tp_step s = { .values = r->inputs, .budget = take_budget(L, 3), .call = tl_callback, .ud = r, .cancel = &u->cancel };
  tl_array **slot = push_places(L, g);
  int places = lua_gettop(L) - 1, out = lua_gettop(L);
  tl_run_prepare_calls(L, r);
  u->cancel = false;
  u->running = true;
  bool ok = tp_fn_step(u->f, &s, &e);
  u->running = false;
  if (!ok) tl_run_raise(L, r, &e);
  tl_run_release(r);
  fill_results(L, u, &s, slot, places, out);
  lua_pushboolean(L, s.done);
  lua_pushvalue(L, out);
  return 2;
}

int tl_fn_cancel(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "cancel");
  if (!u->running) tl_fail(L, TP_E_OPTION, "option: cancel: the function is not running; a callback may cancel its run");
  u->cancel = true;
  return 0;
}
