/* lift: numbers, booleans, index expressions, conditions, host arrays, nested tables and loose
 * literals become tensors. */
#include "lua/tl.h"

static bool is_large(const tp_array *a) { return tp_array_bytes(a) >= 4096; }

/* A copy that no script changes, or a file's array, which none can. A large array that comes again
 * is copied once, if it is as it was; a scratch program never looks at its elements. */
static tp_array *kept(lua_State *L, tl_prog *lp, tp_array *a) {
  if (lp->scratch || a->mapped) return tp_array_ref(a);
  tp_array *had = is_large(a) ? tp_hmap_get(&lp->constants, &a->data, sizeof a->data) : NULL;
  bool same = had && tp_array_is(had, a->dtype, a->rank, a->shape) &&
      !memcmp(had->data, a->data, tp_array_bytes(a));
  tp_array *copy = same ? tp_array_ref(had) : tp_array_cast(a, a->dtype);
  if (!copy) tl_fail(L, "memory: no memory for a constant of %zu bytes", tp_array_bytes(a));
  return copy;
}

static tp_val constant(lua_State *L, tl_prog *lp, tp_array *a) {
  tp_error e = { 0 };
  tp_array *copy = kept(L, lp, a);
  tp_node *n =
      tp_build(lp->p->g, TP_OP_CONST, 0, NULL, &(tp_attr){ .data = copy, .dtype = a->dtype }, &e);
  tp_array_unref(copy);
  if (!n) tl_raise(L, &e);
  if (is_large(a)) tp_hmap_set(&lp->constants, &a->data, sizeof a->data, copy);
  return tp_v(n);
}

/* Lifts an integer that is no double, as a weak constant. */
static void lift_long(lua_State *L, tl_prog *lp, int64_t k, tp_arg *out) {
  tp_array *a = tp_array_wrap(TP_I64, 0, NULL, &k);
  if (!a) tl_fail(L, "memory: no memory for a number");
  out->val = constant(L, lp, a);
  tp_array_unref(a);
}

/* Makes a number's node, one for each number of a program. */
void tl_number(lua_State *L, tl_prog *lp, tp_arg *out) {
  tp_error e = { 0 };
  bool whole = out->num == floor(out->num) && fabs(out->num) < 0x1p63;
  tp_node *n = tp_hmap_get(&lp->numbers, &out->num, sizeof out->num);
  if (!n) {
    n = mk_num((tp_mk){ .g = lp->p->g, .err = &e }, out->num, whole ? TP_I64 : lp->dtype).node;
    if (!n) tl_raise(L, &e);
    tp_hmap_set(&lp->numbers, &out->num, sizeof out->num, n);
  }
  out->val = tp_v(n);
}

static void lift_number(lua_State *L, tl_prog *lp, int i, tp_arg *out) {
  int64_t k;
  out->num = lua_tonumber(L, i);
  out->weak = true;
  out->isnum = !tl_isint(L, i, &k) || tp_f64_to_i64(out->num) == k;
  if (!out->isnum) lift_long(L, lp, k, out);
}

static void lift_index(lua_State *L, tl_prog *lp, int i, const char *what, tp_arg *out) {
  tp_error e = { 0 };
  const tl_index *u = tl_check(L, i, TL_INDEX, what);
  tl_sameprog(L, lp, i, what);
  out->weak = !tp_ix_is_cond(u->e);
  out->val = tp_ixvalue(lp->p->g, u->e, &e);
  if (!out->val.node) tl_raise(L, &e);
}

static void lift_boolean(lua_State *L, tl_prog *lp, int i, tp_arg *out) {
  tp_error e = { 0 };
  out->val = mk_num((tp_mk){ .g = lp->p->g, .err = &e }, lua_toboolean(L, i), TP_BOOL);
  if (!out->val.node) tl_raise(L, &e);
}

static void lift_table(lua_State *L, tl_prog *lp, int i, const char *what, tp_arg *out) {
  out->val = constant(L, lp, tl_nested(L, i, what, 0, lp->dtype, true, -1, NULL));
  lua_pop(L, 1);
}

static void take_tensor(const tl_tensor *u, tp_arg *out) {
  if (u->weak) *out = *u->weak;
  else out->val = u->v;
}

static void lift_loose(lua_State *L, tl_prog *lp, int i, tp_arg *out) {
  tl_materialise(L, lp, i);
  take_tensor(lua_touserdata(L, -1), out);
  lua_pop(L, 1);
}

static int not_a_tensor(lua_State *L, int i, const char *what) {
  if (tl_typeof(L, i) == TL_RANGE)
    tl_fail(L, "option: %s: a range is no tensor; read a tensor there, as in x[0 .. t+1]", what);
  return tl_fail(L, "option: %s: expected a tensor, got %s", what, tl_describe(L, i));
}

void tl_not_boolean(lua_State *L, int i, const char *what) {
  if (lua_isboolean(L, i))
    tl_fail(L,
        "option: %s: a Lua boolean is no condition ('==' asks whether two objects are one): write "
        "t:eq(k), x:eq(y), or x:ne(0)",
        what);
}

void tl_lift(lua_State *L, tl_prog *lp, int i, const char *what, tp_arg *out) {
  tl_lift_beside(L, lp, i, what, out);
  if (!out->val.node) tl_number(L, lp, out);
}

void tl_lift_beside(lua_State *L, tl_prog *lp, int i, const char *what, tp_arg *out) {
  i = lua_absindex(L, i);
  out->kind = 'T';
  switch (tl_typeof(L, i)) {
  case TL_TENSOR:
    tl_sameprog(L, lp, i, what);
    take_tensor(tl_check(L, i, TL_TENSOR, what), out);
    return;
  case TL_LOOSE: lift_loose(L, lp, i, out); return;
  case TL_INDEX: lift_index(L, lp, i, what, out); return;
  case TL_ARRAY: out->val = constant(L, lp, tl_toarray(L, i, what)); return;
  default: break;
  }
  switch (lua_type(L, i)) {
  case LUA_TNUMBER: lift_number(L, lp, i, out); return;
  case LUA_TBOOLEAN: lift_boolean(L, lp, i, out); return;
  case LUA_TTABLE: lift_table(L, lp, i, what, out); return;
  default: not_a_tensor(L, i, what);
  }
}

tp_val tl_lifted(lua_State *L, tl_prog *lp, int i, const char *what) {
  tp_arg a = { 0 };
  tl_lift(L, lp, i, what, &a);
  return a.val;
}

/* Gives a weak value the dtype; a number or index expression fills the shape. */
static tp_val fill_tensor(
    lua_State *L, tl_prog *lp, tp_arg *a, const char *what, tp_dtype d, int rank, tp_ixs shape) {
  tp_error e = { 0 };
  tp_mk k = { .g = lp->p->g, .err = &e };
  tp_val v = { 0 };
  char text[32];
  double num;
  const char *no = tp_weak_refused(a, d, &num);
  if (no)
    tl_fail(L, "dtype: the %s is %s, and %s is %s: declare %s", what, tp_dtype_name(d),
        tl_numeral(num, text), no, num == floor(num) ? "a wider dtype" : "dtype = \"f32\"");
  if (a->isnum) v = mk_fill(k, a->num, d, rank, shape, 0, NULL);
  else if ((v = tp_weak_as(k, a, d)).node && !a->where) v = mk_expand(k, v, rank, shape);
  if (!v.node) tl_raise(L, &e);
  return v;
}

tp_val tl_lift_as(
    lua_State *L, tl_prog *lp, int i, const char *what, tp_dtype d, int rank, tp_ixs shape) {
  tp_arg a = { 0 };
  if (lua_istable(L, i)) {
    a.val = constant(L, lp, tl_nested(L, i, what, 0, d, false, -1, NULL));
    lua_pop(L, 1);
    return a.val;
  }
  tl_lift(L, lp, i, what, &a);
  a.weak |= lua_isboolean(L, i) && d == TP_BOOL;
  return a.weak ? fill_tensor(L, lp, &a, what, d, rank, shape) : a.val;
}
