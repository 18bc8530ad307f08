/* tensor: the handle (program, value) and what is asked of it that is no row of methods.def. */
#include "lua/tl.h"

static tl_tensor *self(lua_State *L, const char *what) {
  return tl_check(L, 1, TL_TENSOR, what);
}

static int tensor_shape(lua_State *L) {
  const tl_tensor *u = self(L, "shape");
  const tp_out *o = tp_outof(u->v);
  lua_createtable(L, o->rank, 0);
  for (int k = 0; k < o->rank; k++) {
    tl_pushextent(L, u->lp, o->shape[k]);
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

static int tensor_dtype(lua_State *L) {
  lua_pushstring(L, tp_dtype_name(tp_dtypeof(self(L, "dtype")->v)));
  return 1;
}

static int tensor_domain(lua_State *L) {
  const tl_tensor *u = self(L, "domain");
  tl_pushdims(L, u->lp, u->v.node->ndom, u->v.node->dom);
  return 1;
}

static int tensor_along(lua_State *L) {
  const tl_tensor *u = self(L, "along");
  bool param = u->v.node->op == TP_OP_PARAM;
  tl_pushdims(L, u->lp, param ? u->v.node->attr.nalong : 0, u->v.node->attr.along);
  return 1;
}

static int tensor_program(lua_State *L) {
  tl_pushprogtable(L, self(L, "program")->lp);
  lua_rawgeti(L, -1, TL_PT_PROGRAM);
  return 1;
}

static int tensor_name(lua_State *L) {
  tl_tensor *u = self(L, "name");
  tp_node *n = u->v.node;
  if (lua_isnoneornil(L, 2)) {
    bool called = n->op == TP_OP_INPUT || n->op == TP_OP_PARAM;
    const char *name = n->name ? n->name : called ? n->attr.str : NULL;
    if (name) lua_pushstring(L, name);
    else lua_pushnil(L);
    return 1;
  }
  n->name = tp_strdup(&u->lp->p->g->arena, tl_string(L, 2, "name"));
  lua_settop(L, 1);
  return 1;
}

static int tensor_at(lua_State *L) {
  lua_settop(L, 2);
  if (!lua_istable(L, 2)) tl_fail(L, TP_E_OPTION, "option: at takes a table, x:at{t = 0}; got %s", tl_describe(L, 2));
  return tl_read(L);
}

/* ---- gradients ---- */
static int tensor_backward(lua_State *L) {
  tl_tensor *u = self(L, "backward");
  tp_graph *g = u->lp->p->g;
  if (!tp_dtype_float(tp_dtypeof(u->v)))
    tl_fail(L, TP_E_DTYPE, "dtype: backward: a loss is a float tensor, this one is %s: convert with :to(\"f32\")", tp_dtype_name(tp_dtypeof(u->v)));
  TP_PUSH(&g->arena, &g->losses, u->v);
  lua_settop(L, 1);
  return 1;
}

static void push_gradient(lua_State *L, tl_prog *lp, int n, const tp_val *in, int nleaf) {
  tp_error e = { 0 };
  if (!tp_dtype_float(tp_dtypeof(in[n - 1])))
    tl_fail(L, TP_E_DTYPE, "dtype: a gradient exists for float tensors, this one is %s: differentiate by a float tensor that it is made from", tp_dtype_name(tp_dtypeof(in[n - 1])));
  tp_node *g = tp_build(lp->p->g, TP_OP_GRAD, n, in, &(tp_attr){ .i = { nleaf, 0 } }, &e);
  if (!g) tl_raise(L, &e);
  tl_pushtensor(L, lp, tp_v(g));
}

static int tensor_grad(lua_State *L) {
  lua_settop(L, 1);
  tl_tensor *u = self(L, "grad");
  tl_mark(L, u->lp);
  push_gradient(L, u->lp, 1, &u->v, 0);
  return 1;
}

static tp_val loss_of_grad(lua_State *L, tl_prog *lp) {
  tp_val loss = tl_lifted(L, lp, 1, "loss of grad");
  if (!tp_dtype_float(tp_dtypeof(loss)))
    tl_fail(L, TP_E_DTYPE, "dtype: grad: a loss is a float tensor, this one is %s: convert with :to(\"f32\")", tp_dtype_name(tp_dtypeof(loss)));
  return loss;
}

static bool takes_leafs(lua_State *L, int i) {
  static const char *const known[] = { "leaf", NULL };
  tl_options(L, i, "grad", known);
  if (!tl_option(L, i, "leaf")) return false;
  if (!lua_isboolean(L, -1)) tl_fail(L, TP_E_OPTION, "option: leaf of grad: expected true or false, got %s", tl_describe(L, -1));
  return lua_toboolean(L, -1);
}

/* Operands of GRAD: the loss, then with `leaf` all that are asked about, then the one. */
int tl_grad(lua_State *L) {
  lua_settop(L, 3);
  tl_prog *lp = tl_findprog(L, 1, 2);
  if (!lp) tl_fail(L, TP_E_OPTION, "option: tempo.grad(loss, {x, y}) takes tensors of a program");
  tl_mark(L, lp);
  bool list = lua_istable(L, 2);
  int n = list ? (int)lua_rawlen(L, 2) : 1, nleaf = takes_leafs(L, 3) ? n : 0;
  tp_val *x = lua_newuserdata(L, sizeof *x * (size_t)(2 * n + 2)), *in = x + n;
  in[0] = loss_of_grad(L, lp);
  for (int k = 0; k < n; k++) {
    if (list) lua_rawgeti(L, 2, k + 1);
    else lua_pushvalue(L, 2);
    x[k] = ((tl_tensor *)tl_check(L, lua_gettop(L), TL_TENSOR, "grad"))->v;
    lua_pop(L, 1);
  }
  memcpy(in + 1, x, sizeof *x * (size_t)nleaf);
  lua_createtable(L, n, 0);
  for (int k = 0; k < n; k++) {
    in[1 + nleaf] = x[k];
    push_gradient(L, lp, nleaf + 2, in, nleaf);
    lua_rawseti(L, -2, k + 1);
  }
  if (!list) lua_rawgeti(L, -1, 1);
  return 1;
}

/* ---- metamethods ---- */
static int tensor_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING) return tl_read(L);
  if (tl_is_digits(L, 2)) return tl_range_trap(L, 2);
  return tl_lookup(L);
}

static int tensor_newindex(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING || tl_is_digits(L, 2)) return tl_assign(L);
  tl_lookup(L);                                 /* an unknown name: the nearest */
  const char *s = lua_tostring(L, 2);
  return tl_fail(L, TP_E_OPTION, "option: '%s' is a method of tensors and cannot be assigned to; a dim is named by x[{%s = ...}]", s, s);
}

static int tensor_tostring(lua_State *L) {
  const tl_tensor *u = self(L, "tostring");
  tp_buf b;
  tp_buf_init(&b);
  tp_val_print(&b, u->v);
  if (b.failed) { tp_buf_free(&b); tl_fail(L, TP_E_MEMORY, "memory: out of memory"); }
  const char *end = strchr(b.s, ']');
  size_t n = end ? (size_t)(end - b.s) + 1 : b.n;
  const char *rest = tp_strdup(&u->lp->p->g->arena, b.s + n);
  const char *head = tp_printf(&u->lp->p->g->arena, "%.*s", (int)n, b.s);
  tp_buf_free(&b);
  lua_pushfstring(L, "tempo.Tensor<%s>%s", head, rest);
  return 1;
}

static int tensor_len(lua_State *L) {
  return tl_fail(L, TP_E_OPTION, "option: '#': a recurrent tensor has no length; write x:shape()[1], or the bound T");
}

static int tensor_concat(lua_State *L) {
  for (int i = 1; i <= 2; i++)
    if (lua_type(L, i) == LUA_TSTRING)
      tl_fail(L, TP_E_OPTION, "option: '..' of a tensor and the string \"%s\": for text write tostring(x)", lua_tostring(L, i));
  return tl_fail(L, TP_E_OPTION, "option: '..' of a tensor: the ends of a range are index expressions; to choose by data write "
                 "x[lo .. hi]:index_select(0, k); to join write tempo.cat({a, b}, 0)");
}

/* Lua turns a > b into b < a; which of them was written is known where one is no tensor. */
static int compare_trap(lua_State *L, bool strict) {
  bool left = tl_typeof(L, 1) == TL_TENSOR || tl_typeof(L, 1) == TL_LOOSE;
  const char *op = left ? strict ? "<" : "<=" : strict ? ">" : ">=", *method = left ? strict ? "lt" : "le" : strict ? "gt" : "ge";
  int other = left ? 2 : 1;
  const char *b = lua_type(L, other) == LUA_TNUMBER ? lua_tostring(L, other) : "b";
  return tl_fail(L, TP_E_OPTION, "option: 'a %s %s' gives a Lua boolean at once and no tensor: write a:%s(%s)", op, b, method, b);
}
static int tensor_lt(lua_State *L) { return compare_trap(L, true); }
static int tensor_le(lua_State *L) { return compare_trap(L, false); }

static int tensor_add(lua_State *L) { return tl_operator(L, "add"); }
static int tensor_sub(lua_State *L) { return tl_operator(L, "sub"); }
static int tensor_mul(lua_State *L) { return tl_operator(L, "mul"); }
static int tensor_div(lua_State *L) { return tl_operator(L, "div"); }
static int tensor_mod(lua_State *L) { return tl_operator(L, "mod"); }
static int tensor_pow(lua_State *L) { return tl_operator(L, "pow"); }
static int tensor_idiv(lua_State *L) { return tl_operator(L, "floordiv"); }
static int tensor_unm(lua_State *L) {
  lua_settop(L, 1);
  return tl_callmethod(L, tp_method_find("neg"), 1);
}

static const luaL_Reg tensor_meta[] = {
  { "__tostring", tensor_tostring }, { "__len", tensor_len }, { "__concat", tensor_concat }, { "__lt", tensor_lt }, { "__le", tensor_le },
  { "__add", tensor_add }, { "__sub", tensor_sub }, { "__mul", tensor_mul }, { "__div", tensor_div }, { "__mod", tensor_mod },
  { "__pow", tensor_pow }, { "__idiv", tensor_idiv }, { "__unm", tensor_unm }, { NULL, NULL },
};
static const luaL_Reg tensor_methods[] = {
  { "shape", tensor_shape }, { "dtype", tensor_dtype }, { "domain", tensor_domain }, { "along", tensor_along }, { "program", tensor_program },
  { "name", tensor_name }, { "at", tensor_at }, { "backward", tensor_backward }, { "grad", tensor_grad }, { "otherwise", tl_otherwise },
  { "when", tl_when }, { "update", tl_update }, { "peek", tl_peek }, { NULL, NULL },
};

void tl_open_tensor(lua_State *L, tl_state *S) {
  tl_class(L, S, TL_TENSOR, "tempo.Tensor", tensor_meta, tensor_methods, tensor_index);
  tl_push_methods(L, S, "m", false);
  tl_pushclass(L, TL_TENSOR);
  lua_insert(L, -2);
  tl_pushfunction(L, S, tensor_newindex, 1);    /* with the methods, for their names */
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 1);
}
