/* run: reads bounds and inputs of one execution, of a compiled function or of peek. */
#include "lua/tl.h"

static const char run_key;

static bool is_own_number(const tp_array *a) { return a && a->refs == 1 && a->rank == 0; }

static void clear_arrays(tl_run *r, bool numbers) {
  for (int k = 0; k < r->ninput; k++)
    if (numbers || !is_own_number(r->inputs[k])) r->inputs[k] = tp_array_unref(r->inputs[k]);
  for (int k = 0; k < r->nout; k++) {
    r->out[k] = tp_array_unref(r->out[k]);
    r->into[k] = tp_array_unref(r->into[k]);
  }
}

void tl_run_clear(tl_run *r) { clear_arrays(r, false); }

void tl_run_release(tl_run *r) {
  clear_arrays(r, true);
  r->ninput = r->nout = 0;
  tp_arena_free(&r->arena);
}

static int run_gc(lua_State *L) {
  tl_run_release(lua_touserdata(L, 1));
  return 0;
}

tl_run *tl_run_new(lua_State *L, tl_prog *lp, tp_ictx *ix, int ninput, int nout) {
  tl_run *r = memset(lua_newuserdata(L, sizeof *r), 0, sizeof *r);
  tl_rawgetp(L, LUA_REGISTRYINDEX, &run_key);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushcfunction(L, run_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushvalue(L, -1);
    tl_rawsetp(L, LUA_REGISTRYINDEX, &run_key);
  }
  lua_setmetatable(L, -2);
  int nsym = tp_nsym(ix);
  r->L = L;
  r->lp = lp;
  r->ix = ix;
  r->env = TP_NEWN(&r->arena, int64_t, nsym);
  r->given = TP_NEWN(&r->arena, bool, nsym);
  r->inputs = TP_NEWN(&r->arena, tp_array *, ninput);
  r->need = TP_NEWN(&r->arena, bool, ninput);
  r->out = TP_NEWN(&r->arena, tp_array *, nout);
  r->into = TP_NEWN(&r->arena, tp_array *, nout);
  r->ninput = ninput;
  r->nout = nout;
  r->run = (tp_run){ .env = r->env,
    .inputs = r->inputs,
    .seed = lp->p->seed,
    .call = tl_callback,
    .ud = r,
    .interrupted = tl_interrupted,
    .host = r };
  return r;
}

static int64_t bound_value(lua_State *L, tl_run *r, int i, tp_sym *s) {
  int64_t k;
  const char *name = s->name;
  if (lua_type(L, i) != LUA_TNUMBER)
    tl_fail(L, "bound: '%s' must be an integer, got %s", name, tl_describe(L, i));
  double d = lua_tonumber(L, i);
  if (d == HUGE_VAL && s == r->endless) return TP_ENDLESS;
  if (d == HUGE_VAL)
    tl_fail(L,
        "bound: '%s' cannot be math.huge: only the bound of the first tick dim can, compile{ tick "
        "= ... }",
        name);
  if (isnan(d)) tl_fail(L, "bound: '%s' must be an integer, got nan", name);
  if (!tl_isint(L, i, &k)) tl_fail(L, "bound: '%s' must be an integer, got %.17g", name, d);
  if (k < 0) tl_fail(L, "bound: '%s' must not be negative, got %lld", name, (long long)k);
  return k;
}

static tp_sym *find_bound(lua_State *L, tl_run *r, const char *name, int n, tp_dims need) {
  const tp_graph *g = r->lp->p->g;
  tp_error e = { 0 };
  tp_sym *s = tp_bound_named(r->ix, name, n, need, &e);
  for (int k = 0; !s && !tp_sym_find(r->ix, name) && k < g->inputs.n; k++)
    if (strcmp(g->inputs.v[k]->attr.str, name) == 0)
      tl_fail(L,
          "bound: unknown bound '%s': it is an input, and inputs come first: f(inputs, bounds)",
          name);
  if (!s) tl_raise(L, &e);
  return s;
}

/* A parameter along a dim with this bound is kept though no output reads it. */
static const char *who_evolves(lua_State *L, const tl_run *r, tp_sym *bound) {
  const tp_graph *g = r->lp->p->g;
  for (int k = 0; k < g->params.n; k++)
    for (int d = 0; d < g->params.v[k]->ndom; d++)
      if (strcmp(g->params.v[k]->dom[d]->bound->name, bound->name) == 0)
        return lua_pushfstring(L, "; parameter '%s' lies along '%s'", g->params.v[k]->attr.str,
            g->params.v[k]->dom[d]->name);
  return "";
}

void tl_run_bounds(lua_State *L, tl_run *r, int i, int n, tp_dims need) {
  if (!lua_isnoneornil(L, i) && !lua_istable(L, i))
    tl_fail(L, "bound: bounds are a table by name, {T = 100}; got %s", tl_describe(L, i));
  if (lua_istable(L, i)) {
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING)
        tl_fail(
            L, "bound: bounds are given by name, {T = 100}; got %s as a key", tl_describe(L, -2));
      const char *name = lua_tostring(L, -2);
      tp_sym *s = find_bound(L, r, name, n, need);
      r->env[s->id] = bound_value(L, r, lua_gettop(L), s);
      r->given[s->id] = true;
    }
  }
  for (int k = 0; k < n; k++)
    if (!r->given[need[k]->id])
      tl_fail(L, "bound: '%s' is missing: give it by name in the table of bounds, {%s = ...}%s",
          need[k]->name, need[k]->name, who_evolves(L, r, need[k]));
}

/* Puts a number into the array of an earlier step, if there is one. */
static void put_number(lua_State *L, tp_array **to, const char *what, tp_dtype d, int i) {
  if (!is_own_number(*to)) {
    tp_array_unref(*to);
    *to = tp_array_new(d, 0, NULL);
  }
  if (!*to) tl_fail(L, "memory: no memory for a number");
  (*to)->writes++;
  tl_putelem(L, what, TP_E_INPUT, *to, 0, i);
}

/* dense: rows become one array */
static void convert_input(lua_State *L, tp_array **to, int i, const tp_node *x, bool dense,
    int rank, const int64_t *shape) {
  const tp_out *o = &x->out[0];
  const char *name = x->attr.str;
  bool rows = tl_typeof(L, i) == TL_ROWS;
  if (rows || tl_typeof(L, i) == TL_ARRAY) {
    tp_array *a = rows ? tl_torows(L, i, name) : tl_unseen(L, i, name);
    tp_error e = { 0 };
    if (dense && rows && !tp_array_see(a, &e)) tl_raise(L, &e);
    if (a->dtype != o->dtype)
      tl_fail(L,
          "input: '%s' is declared with dtype %s, the array has dtype %s: tempo.array(a, \"%s\") "
          "converts",
          name, tp_dtype_name(o->dtype), tp_dtype_name(a->dtype), tp_dtype_name(o->dtype));
    tp_array_unref(*to);
    *to = dense ? tp_array_dense(a) : tp_array_ref(a);
    if (!*to) tl_fail(L, "memory: no memory for a dense copy of input '%s'", name);
    return;
  }
  char what[256];
  snprintf(what, sizeof what, "input '%s'", name);
  if (lua_istable(L, i)) {
    tp_array *a = tl_nested(L, i, what, TP_E_INPUT, o->dtype, false, rank, shape);
    tp_array_unref(*to);
    *to = tp_array_ref(a);
    tl_array_empty(L, lua_touserdata(L, -1));
    lua_pop(L, 1);
  } else if (lua_type(L, i) == LUA_TNUMBER || lua_isboolean(L, i))
    put_number(L, to, what, o->dtype, i);
  else
    tl_fail(L, "input: '%s': expected an array, a nested table or a number, got %s", name,
        tl_describe(L, i));
}

static void check_input_names(lua_State *L, tl_run *r, int i, tp_graph *g) {
  /* lp's graph also has inputs that no compiled function needs */
  tp_graph *all[2] = { g, r->lp->p->g };
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    const char *names[256], *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    int n = 0;
    bool known = false;
    if (!name)
      tl_fail(L, "input: inputs are given by name, {x = ...}; got %s as a key", tl_describe(L, -2));
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < all[j]->inputs.n; k++) {
        const char *s = all[j]->inputs.v[k]->attr.str;
        if (strcmp(s, name) == 0) known = true;
        if (n < (int)TP_LEN(names)) names[n++] = s;
      }
    if (known) continue;
    char hint[TP_HINT];
    tl_fail(L, "input: unknown input '%s'%s", name, tp_hint(hint, name, names, n));
  }
}

void tl_run_inputs(lua_State *L, tl_run *r, int i, tp_graph *g, tp_fn *step) {
  if (!lua_isnoneornil(L, i) && !lua_istable(L, i))
    tl_fail(L, "input: inputs are a table by name, {x = array}; got %s", tl_describe(L, i));
  if (lua_istable(L, i)) check_input_names(L, r, i, g);
  /* __index of the table may record more inputs */
  for (int k = 0; k < r->ninput; k++) {
    if (step ? !tp_fn_wants(step, k) : !r->need[k]) continue;
    const tp_node *x = g->inputs.v[k];
    int64_t shape[TP_MAXRANK];
    if (!tl_option(L, i, x->attr.str))
      tl_fail(L, "input '%s' is missing: give it by name, %s({ %s = ... })", x->attr.str,
          step ? "f:step" : "f", x->attr.str);
    int rank = step ? tp_fn_fed_shape(step, k, NULL, shape)
                    : tp_run_shape(&r->run, x->ndom, x->dom, &x->out[0], shape);
    convert_input(L, &r->inputs[k], lua_gettop(L), x, step || !x->ndom, rank, shape);
    lua_pop(L, 1);
  }
}

int tl_run_raise(lua_State *L, tl_run *r, const tp_error *e) {
  bool raised = r->raised;
  int failed = r->failed;
  tl_run_release(r);
  if (!raised) tl_raise(L, e);
  lua_pushvalue(L, failed);
  lua_error(L);
  __builtin_unreachable();
}
