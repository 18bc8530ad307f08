/* record: records calls of the outside world: P:call, P:source, P:sink (binding.lua),
 * environments. */
#include "lua/tl.h"

typedef struct {
  tl_prog *lp;
  const char *what;
  int nin;
  tp_val *in;
  tp_attr a;
} record_t;

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
  lua_pushvalue(L, 3);
  lua_rawseti(L, -2, r->a.fn + 1);
  lua_pop(L, 2);
  return n;
}

static int push_outputs(lua_State *L, tl_prog *lp, tp_node *n) {
  luaL_checkstack(L, n->nout, "results");
  for (int k = 0; k < n->nout; k++) tl_pushtensor(L, lp, (tp_val){ n, k });
  return n->nout;
}

/* P, "call", "source" or "sink", function, inputs, specs, options */
int tl_record(lua_State *L) {
  const char *what = tl_string(L, 2, "record");
  record_t r = { .lp = tl_self(L, what), .what = what };
  bool sink = strcmp(what, "sink") == 0;
  lua_settop(L, 6);
  if (strcmp(what, "source") != 0) take_inputs(L, &r, 4);
  if (sink) domain_of_inputs(&r);
  else take_specs(L, &r, 5);
  take_over(L, &r, 6);
  tp_node *n = build(L, &r);
  return sink ? 0 : push_outputs(L, r.lp, n);
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
