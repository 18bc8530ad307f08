/* record: the outside world in the graph: P:call, P:source, P:sink and environments. */
#include "lua/tl.h"

/* fn: stack index of the function */
typedef struct {
  tl_prog *lp;
  const char *what;
  int fn;
  int nin;
  tp_val *in;
  tp_attr a;
} record_t;

static void check_function(lua_State *L, const record_t *r) {
  if (!lua_isfunction(L, r->fn) && !luaL_getmetafield(L, r->fn, "__call"))
    tl_fail(L, "option: %s: expected a function, got %s", r->what, tl_describe(L, r->fn));
  if (!lua_isfunction(L, r->fn)) lua_pop(L, 1);
}

static void take_inputs(lua_State *L, record_t *r, int i) {
  r->nin = tl_sequence(L, i, r->what, "{a, b}");
  r->in = TP_NEWN(&r->lp->p->g->arena, tp_val, r->nin);
  for (int k = 0; k < r->nin; k++) {
    lua_rawgeti(L, i, k + 1);
    r->in[k] = tl_lifted(L, r->lp, -1, r->what);
    lua_pop(L, 1);
  }
}

static void take_spec(lua_State *L, record_t *r, int i, tp_out *s, bool first) {
  static const char *const known[] = { "domain", "shape", "dtype", NULL };
  tp_attr a = { 0 };
  tl_options(L, i, r->what, known);
  tl_spec(L, r->lp, i, true, &a);
  *s = (tp_out){ .dtype = a.dtype, .rank = a.nix, .shape = a.ix };
  bool same = first || a.ndom == r->a.ndom;
  for (int k = 0; !first && same && k < a.ndom; k++) same = a.dom[k] == r->a.dom[k];
  if (!same) tl_fail(L, "domain: %s: all specs have the same domain", r->what);
  r->a.ndom = a.ndom;
  r->a.dom = a.dom;
}

static void take_specs(lua_State *L, record_t *r, int i) {
  int n = tl_sequence(L, i, r->what, "{{domain = {t}, shape = {3}}}");
  if (n == 0)
    tl_fail(L,
        "option: %s: expected a sequence of specs, {{domain = {t}, shape = {3}}}; without results "
        "it is P:sink",
        r->what);
  tp_out *s = TP_NEWN(&r->lp->p->g->arena, tp_out, n);
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    take_spec(L, r, lua_gettop(L), &s[k], k == 0);
    lua_pop(L, 1);
  }
  r->a.nspec = n;
  r->a.spec = s;
}

static void domain_of_inputs(record_t *r) {
  for (int k = 0; k < r->nin; k++)
    r->a.ndom = tp_dom_union(
        r->lp->p->g, r->a.ndom, r->a.dom, r->in[k].node->ndom, r->in[k].node->dom, &r->a.dom);
}

static void take_over(lua_State *L, record_t *r, int i) {
  static const char *const known[] = { "over", NULL };
  tl_options(L, i, r->what, known);
  if (!tl_option(L, i, "over")) return;
  r->a.nover = tl_domain(L, r->lp, -1, "over", false, &r->a.over);
  for (int k = 0; k < r->a.nover; k++)
    if (!tp_dom_has(r->a.ndom, r->a.dom, r->a.over[k]))
      tl_fail(L, "domain: %s: '%s' in over is no dim of the call", r->what, r->a.over[k]->name);
  lua_pop(L, 1);
}

static tp_node *build(lua_State *L, record_t *r) {
  tp_error e = { 0 };
  r->a.fn = r->lp->p->ncall;
  tp_node *n = tp_build(r->lp->p->g, TP_OP_CALL, r->nin, r->in, &r->a, &e);
  if (!n) tl_raise(L, &e);
  r->lp->p->ncall++;
  tl_pushprogtable(L, r->lp);
  lua_rawgeti(L, -1, TL_PT_CALLS);
  lua_pushvalue(L, r->fn);
  lua_rawseti(L, -2, r->a.fn + 1);
  lua_pop(L, 2);
  return n;
}

static int push_outputs(lua_State *L, tl_prog *lp, tp_node *n) {
  luaL_checkstack(L, n->nout, "results");
  for (int k = 0; k < n->nout; k++) tl_pushtensor(L, lp, (tp_val){ n, k });
  return n->nout;
}

/* The core calls P:source's functions, without inputs, with the point alone; P:call's gets an empty
 * sequence before it. */
static int call_with_none(lua_State *L) {
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_newtable(L);
  lua_pushvalue(L, 1);
  tl_call(L, 2, LUA_MULTRET);
  return lua_gettop(L) - 1;
}

int tl_record_call(lua_State *L) { /* P:call(fn, {a, b}, {spec, ...}[, {over =}]) */
  record_t r = { .lp = tl_self(L, "call"), .what = "call", .fn = 2 };
  check_function(L, &r);
  take_inputs(L, &r, 3);
  if (r.nin == 0) {
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, call_with_none, 1);
    lua_replace(L, 2);
  }
  take_specs(L, &r, 4);
  take_over(L, &r, 5);
  return push_outputs(L, r.lp, build(L, &r));
}

/* P:source(fn, spec[, {over =}]); spec may be a sequence of specs */
int tl_record_source(lua_State *L) {
  record_t r = { .lp = tl_self(L, "source"), .what = "source", .fn = 2 };
  check_function(L, &r);
  if (lua_istable(L, 3) && lua_rawlen(L, 3) == 0) {
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, 3);
    lua_rawseti(L, -2, 1);
    lua_replace(L, 3);
  }
  take_specs(L, &r, 3);
  take_over(L, &r, 4);
  return push_outputs(L, r.lp, build(L, &r));
}

int tl_record_sink(lua_State *L) { /* P:sink({a, b}, fn[, {over =}]) */
  record_t r = { .lp = tl_self(L, "sink"), .what = "sink", .fn = 3 };
  check_function(L, &r);
  take_inputs(L, &r, 2);
  if (r.nin == 0)
    tl_fail(L, "option: sink: the table of tensors is empty: {a, b} are what fn is given");
  domain_of_inputs(&r);
  take_over(L, &r, 4);
  build(L, &r);
  return 0;
}

int tl_record_env(lua_State *L, tp_op op) { /* name, operands */
  static const int count[] = { 1, 1, 3 };
  const char *what = tp_ops[op].text;
  int n = count[op - TP_OP_ENV_RESET];
  lua_settop(L, 2 + n);
  tl_prog *lp = tl_self(L, what);
  const char *name = tl_string(L, 2, what), *names[64];
  if (!tp_env_find(name)) tl_unknown(L, what, name, names, tp_env_names(names, TP_LEN(names)));
  tp_val in[3];
  tp_error e = { 0 };
  for (int k = 0; k < n; k++) in[k] = tl_lifted(L, lp, 3 + k, what);
  tp_node *x = tp_build(lp->p->g, op, n, in, &(tp_attr){ .str = name }, &e);
  if (!x) tl_raise(L, &e);
  return push_outputs(L, lp, x);
}
