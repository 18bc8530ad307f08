/* tensor: the handle (program, value), and its methods that are not in methods.def. */
#include "lua/tl.h"

static tl_tensor *self(lua_State *L, const char *what) { return tl_check(L, 1, TL_TENSOR, what); }

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
  tl_push_program(L, self(L, "program")->lp);
  return 1;
}

static int tensor_name(lua_State *L) {
  tl_tensor *u = self(L, "name");
  tp_node *n = u->v.node;
  if (lua_isnoneornil(L, 2)) {
    bool called = n->op == TP_OP_INPUT || n->op == TP_OP_PARAM;
    lua_pushstring(L, n->name ? n->name : called ? n->attr.str : NULL); /* NULL: nil */
    return 1;
  }
  n->name = tp_strdup(&u->lp->p->g->arena, tl_string(L, 2, "name"));
  lua_settop(L, 1);
  return 1;
}

static int tensor_at(lua_State *L) {
  if (!lua_istable(L, 2))
    tl_fail(L, "option: at takes a table, x:at{t = 0}; got %s", tl_describe(L, 2));
  return tl_read(L);
}

static void push_gradient(lua_State *L, tl_prog *lp, int n, const tp_val *in, int nleaf) {
  tp_error e = { 0 };
  if (!tp_dtype_float(tp_dtypeof(in[n - 1])))
    tl_fail(L,
        "dtype: a gradient exists for float tensors, this one is %s: differentiate by a float "
        "tensor that it is made from",
        tp_dtype_name(tp_dtypeof(in[n - 1])));
  tp_node *g = tp_build(lp->p->g, TP_OP_GRAD, n, in, &(tp_attr){ .leaves = nleaf }, &e);
  if (!g) tl_raise(L, &e);
  tl_pushtensor(L, lp, tp_v(g));
}

static tp_val checked_loss(lua_State *L, tp_val loss, const char *what) {
  tp_dtype d = tp_dtypeof(loss);
  if (!tp_dtype_float(d))
    tl_fail(L, "dtype: %s: a loss is a float tensor, this one is %s: convert with :to(\"f32\")",
        what, tp_dtype_name(d));
  return loss;
}

static int tensor_backward(lua_State *L) {
  tl_tensor *u = self(L, "backward");
  tp_graph *g = u->lp->p->g;
  TP_PUSH(&g->arena, &g->losses, checked_loss(L, u->v, "backward"));
  lua_settop(L, 1);
  return 1;
}

static int tensor_grad(lua_State *L) {
  tl_tensor *u = self(L, "grad");
  tl_mark(L, u->lp);
  push_gradient(L, u->lp, 1, &u->v, 0);
  return 1;
}

static bool takes_leafs(lua_State *L, int i) {
  static const char *const known[] = { "leaf", NULL };
  tl_options(L, i, "grad", known);
  return tl_option(L, i, "leaf") && tl_boolean(L, -1, "leaf of grad");
}

/* Operands of GRAD: the loss, with `leaf` all requested tensors, then one of them. */
int tl_grad(lua_State *L) { /* loss, x or {x, y}, options */
  tl_prog *lp = tl_findprog(L, 1, 2);
  if (!lp) tl_fail(L, "option: tempo.grad(loss, {x, y}) takes tensors of a program");
  tl_mark(L, lp);
  bool list = lua_istable(L, 2);
  int n = list ? tl_sequence(L, 2, "grad", "{x, y}") : 1, nleaf = takes_leafs(L, 3) ? n : 0;
  tp_val *x = lua_newuserdata(L, sizeof *x * (size_t)(2 * n + 2)), *in = x + n;
  in[0] = checked_loss(L, tl_lifted(L, lp, 1, "loss of grad"), "grad");
  for (int k = 0; k < n; k++) {
    if (list) lua_rawgeti(L, 2, k + 1);
    else lua_pushvalue(L, 2);
    x[k] = ((tl_tensor *)tl_check(L, -1, TL_TENSOR, "grad"))->v;
    lua_pop(L, 1);
  }
  TP_COPYN(in + 1, x, nleaf);
  lua_createtable(L, n, 0);
  for (int k = 0; k < n; k++) {
    in[1 + nleaf] = x[k];
    push_gradient(L, lp, nleaf + 2, in, nleaf);
    lua_rawseti(L, -2, k + 1);
  }
  if (!list) lua_rawgeti(L, -1, 1);
  return 1;
}

/* the gradient for one optimiser's step */
int tl_grad_step(lua_State *L) {
  for (int k = 1, step = 0; k <= (int)lua_rawlen(L, 1); k++, lua_pop(L, 1)) {
    lua_rawgeti(L, 1, k);
    tp_node *n = ((tl_tensor *)tl_check(L, -1, TL_TENSOR, "step"))->v.node;
    if (k == 1) step = n->id + 1;
    if (n->op == TP_OP_GRAD) n->attr.optimiser = step;
  }
  lua_settop(L, 1);
  return 1;
}

/* registry: the iterator of ipairs */
static const char ipairs_key;

/* Lua 5.4's ipairs takes anything with __index and goes on until nil, which no tensor gives. */
static void keep_iterator(lua_State *L) {
  lua_getglobal(L, "ipairs");
  lua_newtable(L);
  if (tl_pcall(L, 1, 1) == 0) tl_rawsetp(L, LUA_REGISTRYINDEX, &ipairs_key);
  else lua_pop(L, 1);
}

static bool asked_by_ipairs(lua_State *L) {
  lua_Debug ar;
  if (lua_type(L, 2) != LUA_TNUMBER || !lua_getstack(L, 1, &ar) || !lua_getinfo(L, "f", &ar))
    return false;
  tl_rawgetp(L, LUA_REGISTRYINDEX, &ipairs_key);
  bool same = lua_isfunction(L, -1) && lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

static int ipairs_trap(lua_State *L) {
  const tl_tensor *u = self(L, "ipairs");
  tl_fail(L, "option: ipairs finds no end in %s: x[1], x[2], ... are its points in time; %s",
      tp_called(u->lp->p->g, u->v.node),
      tp_rankof(u->v)
          ? "for the parts of an axis write ipairs(x:split(1)), or x:select(0, k) for each k"
          : "a tensor stands for all of them at once, so no loop is written");
}

static int tensor_index(lua_State *L) {
  if (asked_by_ipairs(L)) return ipairs_trap(L);
  if (lua_type(L, 2) != LUA_TSTRING) return tl_read(L);
  if (tl_is_digits(L, 2)) return tl_range_trap(L, 2);
  return tl_lookup(L);
}

static int tensor_newindex(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING || tl_is_digits(L, 2)) return tl_assign(L);
  tl_lookup(L); /* raises for unknown names */
  const char *s = lua_tostring(L, 2);
  return tl_fail(L,
      "option: '%s' is a method of tensors and cannot be assigned to; a dim is named by x[{%s = "
      "...}]",
      s, s);
}

static int tensor_tostring(lua_State *L) {
  const tl_tensor *u = self(L, "tostring");
  tp_buf b;
  tp_buf_init(&b);
  tp_val_print(&b, u->v);
  const char *end = strchr(b.s, ']');
  size_t n = end ? (size_t)(end - b.s) + 1 : b.n;
  lua_pushliteral(L, "tempo.Tensor<");
  lua_pushlstring(L, b.s, n);
  lua_pushliteral(L, ">");
  lua_pushlstring(L, b.s + n, b.n - n);
  tp_buf_free(&b);
  lua_concat(L, 4);
  return 1;
}

static const tl_reg tensor_meta[] = { { "__tostring", tensor_tostring, 0 }, { 0 } };
static const tl_reg tensor_methods[] = {
  { "shape", tensor_shape, 1 },
  { "dtype", tensor_dtype, 1 },
  { "domain", tensor_domain, 1 },
  { "along", tensor_along, 1 },
  { "program", tensor_program, 1 },
  { "name", tensor_name, 2 },
  { "at", tensor_at, 2 },
  { "backward", tensor_backward, 1 },
  { "grad", tensor_grad, 1 },
  { "otherwise", tl_otherwise, 2 },
  { "when", tl_when, 3 },
  { "update", tl_update, 2 },
  { "next", tl_next, 1 },
  { 0 },
};

void tl_open_tensor(lua_State *L, tl_state *S) {
  keep_iterator(L);
  tl_class(L, S, TL_TENSOR, "tempo.Tensor", tensor_meta, tensor_methods, tensor_index);
  tl_push_methods(L, S, "m", TL_TENSOR);
  tl_pushclass(L, TL_TENSOR);
  lua_insert(L, -2);
  tl_pushfunction(L, S, tensor_newindex, 1); /* with the methods, for their names */
  lua_setfield(L, -2, "__newindex");
  lua_pop(L, 1);
}
