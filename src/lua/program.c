/* program: P:dim, P:bound, inputs, declared tensors, parameters, constants. */
#include "lua/tl.h"

int tl_program(lua_State *L) {
  static const char *const known[] = { "seed", "dtype", NULL };
  uint64_t seed = 0;
  tp_dtype d = TP_F32;
  tl_options(L, 1, "program", known);
  if (tl_option(L, 1, "seed")) seed = (uint64_t)tl_integer(L, -1, "seed");
  if (tl_option(L, 1, "dtype")) d = tl_dtype(L, -1, "program");
  tl_program_new(L, tl_stateof(L), seed, d);
  return 1;
}

static int program_tostring(lua_State *L) {
  tl_prog *lp = tl_check(L, 1, TL_PROGRAM, "tostring");
  const tp_graph *g = lp->p->g;
  lua_pushfstring(
      L, "tempo.Program<%d nodes, %d inputs, %d parameters>", g->nodes.n, g->inputs.n, g->params.n);
  return 1;
}

static int program_seed(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)((tl_prog *)tl_check(L, 1, TL_PROGRAM, "seed"))->p->seed);
  return 1;
}

static const char *symbol_name(lua_State *L, int i, const char *what) {
  static const char word[] = "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const char *s = tl_string(L, i, what);
  if (!*s || (*s >= '0' && *s <= '9') || s[strspn(s, word)])
    tl_fail(L, "option: %s: '%s' is no name: letters, digits and _, as in Lua", what, s);
  return s;
}

static int program_dim(lua_State *L) {
  tp_error e = { 0 };
  tl_prog *lp = tl_self(L, "dim");
  const char *name = symbol_name(L, 2, "dim"),
             *bound = lua_isnoneornil(L, 3) ? NULL : symbol_name(L, 3, "bound of dim");
  tp_sym *s = tp_sym_dim(lp->p->ix, name, bound, lp->pos, &e);
  if (!s) tl_raise(L, &e);
  tl_pushix(L, lp, tp_ix_sym(s));
  tl_pushix(L, lp, tp_ix_sym(s->bound));
  return 2;
}

static int program_bound(lua_State *L) {
  tp_error e = { 0 };
  tl_prog *lp = tl_self(L, "bound");
  tp_sym *s = tp_sym_bound(lp->p->ix, symbol_name(L, 2, "bound"), lp->pos, &e);
  if (!s) tl_raise(L, &e);
  tl_pushix(L, lp, tp_ix_sym(s));
  return 1;
}

static int program_stop(lua_State *L) {
  tp_error e = { 0 };
  tl_prog *lp = tl_self(L, "stop");
  tp_ix *dim = tl_typeof(L, 2) == TL_INDEX ? tl_toix(L, lp, 2, "stop") : NULL;
  tp_sym *s = dim ? tp_ix_as_sym(dim) : NULL;
  if (!s || s->kind != TP_SYM_DIM)
    tl_fail(L, "option: stop: the dim that ends comes first, P:stop(t, done); got %s",
        tl_describe(L, 2));
  tp_val done = tl_lifted(L, lp, 3, "stop");
  if (!tp_stop_add(lp->p->g, s, done, &e)) tl_raise(L, &e);
  return 0;
}

static int push_node(
    lua_State *L, tl_prog *lp, tp_op op, int nin, const tp_val *in, const tp_attr *a) {
  tp_error e = { 0 };
  tp_node *n = tp_build(lp->p->g, op, nin, in, a, &e);
  if (!n) tl_raise(L, &e);
  tl_pushtensor(L, lp, tp_v(n));
  return 1;
}

/* Checks that an input's rows have one length, because it is one array. */
static void equal_rows(lua_State *L, const tp_attr *a) {
  int i;
  tp_sym *d = tp_varies(a->nix, a->ix, a->ndom, a->dom, &i);
  if (d)
    tl_fail(L,
        "ragged: input '%s' has extent %s, which varies with '%s': pad it to the largest, and read "
        "x:slice(%d, 0, %s)",
        a->str, tp_ix_str(a->ix[i]), d->name, i, tp_ix_str(a->ix[i]));
}

static int program_input(lua_State *L) {
  static const char *const known[] = { "domain", "shape", "dtype", NULL };
  tl_prog *lp = tl_self(L, "input");
  tp_attr a = { .str = tl_string(L, 2, "name of input") };
  TP_NODES (n, lp->p->g->inputs)
    if (strcmp(n->attr.str, a.str) == 0)
      tl_fail(L, "option: there is an input '%s' already, made at %s", a.str,
          tp_line_of(lp->p->g, n->pos));
  tl_options(L, 3, "input", known);
  tl_spec(L, lp, 3, true, &a);
  equal_rows(L, &a);
  return push_node(L, lp, TP_OP_INPUT, 0, NULL, &a);
}

int tl_declare(lua_State *L) { /* P, options */
  tl_prog *lp = tl_self(L, "tensor");
  tp_attr a = { 0 };
  tl_spec(L, lp, 2, false, &a);
  push_node(L, lp, TP_OP_MERGE, 0, NULL, &a);
  ((tl_tensor *)lua_touserdata(L, 3))->v.node->name = tl_option_string(L, lp, 2, "name");
  return 1;
}

static void take_along(lua_State *L, tl_prog *lp, int i, tp_attr *a) {
  if (!tl_option(L, i, "along")) return;
  a->nalong = tl_domain(L, lp, -1, "along", false, &a->along);
  for (int k = 0; k < a->nalong; k++)
    if (tp_dom_has(a->ndom, a->dom, a->along[k]))
      tl_fail(L,
          "option: param: '%s' is in along and in domain; along says what it evolves over, domain "
          "for what there is one each",
          a->along[k]->name);
  a->ndom = tp_dom_union(lp->p->g, a->ndom, a->dom, a->nalong, a->along, &a->dom);
  lua_pop(L, 1);
}

int tl_param(lua_State *L) { /* P, name, options */
  tl_prog *lp = tl_self(L, "param");
  tp_attr a = { .str = tl_string(L, 2, "name of param") };
  tl_spec(L, lp, 3, false, &a);
  take_along(L, lp, 3, &a);
  if (!tl_option(L, 3, "init"))
    tl_fail(L, "option: param '%s' needs a first value: init = a number, an array or an expression",
        a.str);
  tp_val init = tl_lift_as(L, lp, 4, "init", a.dtype, a.nix, a.ix);
  return push_node(L, lp, TP_OP_PARAM, 1, &init, &a);
}

static int program_env_reset(lua_State *L) { return tl_record_env(L, TP_OP_ENV_RESET); }
static int program_env_obs(lua_State *L) { return tl_record_env(L, TP_OP_ENV_OBS); }
static int program_env_step(lua_State *L) { return tl_record_env(L, TP_OP_ENV_STEP); }

static const tl_reg program_meta[] = { { "__tostring", program_tostring, 0 }, { 0 } };
static const tl_reg program_methods[] = {
  { "dim", program_dim, 3 },
  { "bound", program_bound, 2 },
  { "stop", program_stop, 3 },
  { "input", program_input, 3 },
  { "env_reset", program_env_reset, 3 },
  { "env_obs", program_env_obs, 3 },
  { "env_step", program_env_step, 5 },
  { "seed", program_seed, 1 },
  { 0 },
};

void tl_open_program(lua_State *L, tl_state *S) {
  tl_class(L, S, TL_PROGRAM, "tempo.Program", program_meta, program_methods, NULL);
  lua_pop(L, 1);
}
