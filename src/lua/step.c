/* step: f:start(inputs, bounds), f:step(values, { budget_ms = }): runs tick by tick. */
#include "lua/tl.h"

int tl_fn_start(lua_State *L) {
  static const char *const known[] = { "seed", NULL };
  tl_fn *u = tl_fn_alone(L, "start", "start it again");
  tp_error e = { 0 };
  if (!tp_fn_ticks(u->f, &e)) tl_raise(L, &e);
  tp_graph *g = tp_fn_graph(u->f);
  tl_run *r = tl_fn_run(L, u, 3, true, true);
  for (int k = 0; k < r->ninput; k++)
    r->need[k] = tp_fn_needs_input(u->f, k) && !tp_fn_fed(u->f, k);
  tl_run_inputs(L, r, 2, g, NULL);
  tl_options(L, 4, "start", known);
  tl_fn_seed(L, r, 4);
  bool ok = tp_fn_start(u->f, &r->run, &e);
  tl_run_release(r);
  if (!ok) tl_raise(L, &e);
  lua_settop(L, 1);
  return 1;
}

/* ---- reuse ---- the function's own table holds "step", the names that a step looks up, and by
 * number of output an array that waits for its next tick */

static void hold_name(lua_State *L, const char *name) {
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, name);
}

static void make_frame(lua_State *L, tl_fn *u, int own) {
  static const char *const names[] = { "budget_ms", "into", "whole", "late_ms", "cancelled" };
  tp_graph *g = tp_fn_graph(u->f);
  tl_run *r = tl_run_new(L, u->lp, g->ix, g->inputs.n, g->outputs.n);
  lua_setfield(L, own, "step");
  lua_newtable(L);
  TP_NODES (n, g->inputs) hold_name(L, n->attr.str);
  for (int k = 0; k < g->outputs.n; k++) hold_name(L, g->outputs.v[k].name);
  for (size_t k = 0; k < TP_LEN(names); k++) hold_name(L, names[k]);
  lua_setfield(L, own, "names");
  u->step = r;
}

/* Leaves the function's table on the stack. */
static tl_run *step_frame(lua_State *L, tl_fn *u) {
  lua_getuservalue(L, 1);
  if (!u->step) make_frame(L, u, lua_gettop(L));
  u->step->L = L;
  u->step->raised = false;
  tl_run_clear(u->step);
  return u->step;
}

static void take_values(lua_State *L, tl_fn *u, tl_run *r, int i) {
  tp_graph *g = tp_fn_graph(u->f);
  for (int k = 0; k < g->inputs.n; k++)
    if (!tp_fn_fed(u->f, k) && tp_fn_needs_input(u->f, k) &&
        tl_option(L, i, g->inputs.v[k]->attr.str))
      tl_fail(
          L, "input: '%s' does not have the tick dims: f:start takes it", g->inputs.v[k]->attr.str);
  tl_run_inputs(L, r, i, g, u->f);
}

static double take_budget(lua_State *L, int i) {
  if (!tl_option(L, i, "budget_ms")) return -1;
  bool number = lua_type(L, -1) == LUA_TNUMBER;
  double ms = number ? lua_tonumber(L, -1) : -1;
  char text[32];
  if (!(ms >= 0))
    tl_fail(L, "option: budget_ms: expected a number of milliseconds, 0 or more, got %s",
        number ? tl_numeral(ms, text) : tl_describe(L, -1));
  lua_pop(L, 1);
  return ms / 1e3;
}

/* Pushes output k's array of an earlier step, from the table at `out`, else the waiting one, or
 * nil. */
static tp_array *push_earlier(lua_State *L, const tp_output *o, int k, int own, int out) {
  lua_getfield(L, out, o->name);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_rawgeti(L, own, k + 1);
    if (lua_isnil(L, -1)) return NULL;
  }
  if (tl_typeof(L, -1) != TL_ARRAY)
    tl_fail(L, "option: into: '%s': expected the array of an earlier step, got %s", o->name,
        tl_describe(L, -1));
  tl_array *u = lua_touserdata(L, -1);
  if (u->lease) tl_fail(L, "callback: into: '%s' was lent to a callback and is read only", o->name);
  return u->a;
}

static void take_into(lua_State *L, const tp_graph *g, tl_run *r, int own, int out) {
  if (!lua_istable(L, out))
    tl_fail(L, "option: into: expected the table that an earlier step returned, got %s",
        tl_describe(L, out));
  for (int k = 0; k < r->nout; k++) {
    if (g->outputs.v[k].hidden) continue;
    tp_array *a = push_earlier(L, &g->outputs.v[k], k, own, out);
    if (a) r->into[k] = tp_array_ref(a);
    lua_pop(L, 1);
  }
}

/* Keeps an array without a value at this tick for later, and puts nil in its place. */
static void put_away(lua_State *L, const tp_output *o, int k, int own, int out) {
  lua_getfield(L, out, o->name);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  lua_rawseti(L, own, k + 1);
  lua_pushnil(L);
  lua_setfield(L, out, o->name);
}

static void put_result(lua_State *L, tl_run *r, const tp_output *o, int k, int own, int out) {
  if (push_earlier(L, o, k, own, out) != r->out[k]) {
    lua_pop(L, 1);
    tl_array *u = tl_pusharray(L);
    u->a = tp_array_ref(r->out[k]);
    tl_charge(L, u);
  }
  lua_setfield(L, out, o->name);
  lua_pushnil(L);
  lua_rawseti(L, own, k + 1);
}

/* Pops the value into the field; not there: removes an earlier step's value. */
static void put_field(lua_State *L, int out, const char *name, bool there) {
  if (!there && !tl_option(L, out, name)) return;
  if (!there) {
    lua_pop(L, 1);
    lua_pushnil(L);
  }
  lua_setfield(L, out, name);
}

static void put_results(
    lua_State *L, const tp_graph *g, tl_run *r, const tp_step *s, int own, int out) {
  for (int k = 0; k < r->nout; k++) {
    if (g->outputs.v[k].hidden) continue;
    if (r->out[k]) put_result(L, r, &g->outputs.v[k], k, own, out);
    else put_away(L, &g->outputs.v[k], k, own, out);
  }
  if (s->budget >= 0) lua_pushnumber(L, s->late * 1e3);
  put_field(L, out, "late_ms", s->budget >= 0);
  if (s->cancelled) lua_pushboolean(L, 1);
  put_field(L, out, "cancelled", s->cancelled);
}

static bool take_whole(lua_State *L, int i) {
  if (!tl_option(L, i, "whole")) return false;
  bool whole = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return whole;
}

static tp_step new_step(tl_fn *u, tl_run *r, double budget) {
  return (tp_step){ .budget = budget,
    .call = tl_callback,
    .ud = r,
    .cancel = &u->cancel,
    .interrupted = tl_interrupted,
    .host = r,
    .out = r->out };
}

int tl_fn_step(lua_State *L) { /* f, values, options */
  static const char *const known[] = { "budget_ms", "into", "whole", NULL };
  tl_fn *u = tl_fn_alone(L, "step", "step it");
  tp_error e = { 0 };
  if (!tp_fn_stepping(u->f))
    tl_fail(L, "option: step: no run is going on: f:start(inputs, bounds) begins one");
  const tp_graph *g = tp_fn_graph(u->f);
  tl_run *r = step_frame(L, u);
  int own = lua_gettop(L);
  take_values(L, u, r, 2);
  tl_options(L, 3, "step", known);
  tp_step s = new_step(u, r, take_budget(L, 3));
  s.values = r->inputs;
  s.into = r->into;
  bool into = tl_option(L, 3, "into");
  if (!into) lua_createtable(L, 0, r->nout);
  int out = lua_gettop(L);
  if (into) take_into(L, g, r, own, out);
  tl_run_prepare_calls(L, r);
  r->whole = take_whole(L, 3);
  u->cancel = false;
  u->running = true;
  bool ok = tp_fn_step(u->f, &s, &e);
  u->running = false;
  tl_run_let_hook(r);
  ok = ok && !r->interrupted;
  if (!ok) u->step = NULL;
  if (!ok) tl_run_raise(L, r, &e);
  put_results(L, g, r, &s, own, out);
  tl_run_clear(r);
  lua_pushboolean(L, s.done);
  lua_pushvalue(L, out);
  return 2;
}

/* f, options: true when nothing waits for the next tick */
int tl_fn_work(lua_State *L) {
  static const char *const known[] = { "budget_ms", NULL };
  tl_fn *u = tl_fn_alone(L, "work", "let it work");
  tp_error e = { 0 };
  tl_options(L, 2, "work", known);
  double budget = take_budget(L, 2);
  if (!tp_fn_stepping(u->f)) {
    lua_pushboolean(L, 1);
    return 1;
  }
  tl_run *r = step_frame(L, u);
  tp_step s = new_step(u, r, budget);
  bool waits = false;
  tl_run_prepare_calls(L, r);
  r->whole = u->cancel = false;
  u->running = true;
  bool ok = tp_fn_work(u->f, &s, &waits, &e);
  u->running = false;
  ok = ok && !r->interrupted;
  if (!ok) u->step = NULL;
  if (!ok) tl_run_raise(L, r, &e);
  tl_run_clear(r);
  lua_pushboolean(L, !waits);
  return 1;
}

/* For libraries: the function, a name. Is it an input that steps are given? */
int tl_fn_feeds(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "feeds");
  const tp_graph *g = tp_fn_graph(u->f);
  const char *name = tl_string(L, 2, "feeds");
  int k = 0;
  while (k < g->inputs.n && strcmp(g->inputs.v[k]->attr.str, name) != 0) k++;
  lua_pushboolean(L, k < g->inputs.n && tp_fn_fed(u->f, k));
  return 1;
}

int tl_fn_cancel(lua_State *L) {
  tl_fn *u = tl_fn_self(L, "cancel");
  if (!u->running)
    tl_fail(L, "option: cancel: the function is not running; a callback may cancel its run");
  u->cancel = true;
  return 0;
}
