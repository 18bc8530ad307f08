/* index: dims, bounds, index expressions, conditions and ranges. Traps for what Lua cannot say here
 * tell what to write instead. */
#include "lua/tl.h"

/* makes an index expression a value */
static bool is_tensor(lua_State *L, int i) {
  return tl_is_tensor(L, i) || tl_typeof(L, i) == TL_ARRAY || lua_istable(L, i);
}

static const char *index_text(lua_State *L, int i) { /* for messages */
  tl_index *u = lua_touserdata(L, i);
  if (tl_typeof(L, i) == TL_INDEX) return tp_ix_str(u->lp->p->ix, u->e);
  lua_pushvalue(L, i);
  const char *s = lua_type(L, -1) == LUA_TNUMBER ? lua_tostring(L, -1) : tl_describe(L, -1);
  lua_replace(L, i);
  return s;
}

static int push_checked(lua_State *L, tl_prog *lp, const tp_ix *e) {
  const char *why = tp_ictx_overflowed(lp->p->ix);
  if (why) tl_fail(L, "affine: a number or a part of an index expression %s", why);
  tl_pushix(L, lp, e);
  return 1;
}

static void check_integral(lua_State *L, int i, const char *op) {
  int64_t k;
  if (lua_type(L, i) == LUA_TNUMBER && !tl_isint(L, i, &k))
    tl_fail(L,
        "affine: '%s' with %g: index expressions are made of integers; for arithmetic on values "
        "write t:value()",
        op, lua_tonumber(L, i));
}

/* false: tensor arithmetic */
static bool operands(lua_State *L, const char *op, tl_prog **lp, const tp_ix **a, const tp_ix **b) {
  if (is_tensor(L, 1) || is_tensor(L, 2)) return false;
  *lp = tl_findprog(L, 1, 2);
  check_integral(L, 1, op);
  check_integral(L, 2, op);
  *a = tl_toix(L, *lp, 1, op);
  *b = tl_toix(L, *lp, 2, op);
  return true;
}

typedef const tp_ix *(*ix_binary)(tp_ictx *, const tp_ix *, const tp_ix *);

static int arith(lua_State *L, const char *op, const char *method, ix_binary f) {
  tl_prog *lp;
  const tp_ix *a, *b;
  if (!operands(L, op, &lp, &a, &b)) return tl_operator(L, method);
  return push_checked(L, lp, f(lp->p->ix, a, b));
}
static int index_add(lua_State *L) { return arith(L, "+", "add", tp_ix_add); }
static int index_sub(lua_State *L) { return arith(L, "-", "sub", tp_ix_sub); }
static int index_mul(lua_State *L) { return arith(L, "*", "mul", tp_ix_mul); }

static int divide(lua_State *L, const char *op, const char *method,
    const tp_ix *(*f)(tp_ictx *, const tp_ix *, int64_t)) {
  tl_prog *lp;
  const tp_ix *a, *b;
  int64_t k;
  if (!operands(L, op, &lp, &a, &b)) return tl_operator(L, method);
  if (!tp_ix_is_const(b, &k))
    tl_fail(L,
        "affine: %s %s %s: the divisor of an index expression is a positive integer; on values "
        "write t:value()",
        index_text(L, 1), op, index_text(L, 2));
  if (k <= 0)
    tl_fail(L, "affine: %s by %lld: the divisor of an index expression is a positive integer", op,
        (long long)k);
  return push_checked(L, lp, f(lp->p->ix, a, k));
}
static int index_idiv(lua_State *L) { return divide(L, "//", "floordiv", tp_ix_fdiv); }
static int index_imod(lua_State *L) { return divide(L, "%", "mod", tp_ix_mod); }

static int index_unm(lua_State *L) {
  lua_settop(L, 1);
  tl_prog *lp = tl_findprog(L, 1, 1);
  return push_checked(L, lp, tp_ix_neg(lp->p->ix, tl_toix(L, lp, 1, "-")));
}

/* t:value(), (t + 1):value(), 2 */
static const char *value_text(lua_State *L, int i, char *out, size_t n) {
  bool index = tl_typeof(L, i) == TL_INDEX,
       plain = index && tp_ix_as_sym(((tl_index *)lua_touserdata(L, i))->e);
  snprintf(out, n, plain ? "%s:value()" : index ? "(%s):value()" : "%s", index_text(L, i));
  return out;
}

static int not_an_index(lua_State *L, const char *op, const char *method, const char *also) {
  char a[128], b[128];
  if (is_tensor(L, 1) || is_tensor(L, 2)) return tl_operator(L, method);
  return tl_fail(L,
      "affine: '%s' gives no index expression: for arithmetic on values write %s %s %s%s", op,
      value_text(L, 1, a, sizeof a), op, value_text(L, 2, b, sizeof b), also);
}
static int index_div(lua_State *L) {
  return not_an_index(L, "/", "div", "; the integer quotient is tempo.floordiv(t, k)");
}
static int index_pow(lua_State *L) { return not_an_index(L, "^", "pow", ""); }

/* Lua turns a > b into b < a. */
static int trap_compare(lua_State *L, bool strict) {
  lua_settop(L, 2);
  bool left = tl_typeof(L, 1) == TL_INDEX;
  const char *op = left ? strict ? "<" : "<=" : strict ? ">" : ">=";
  const char *method = left ? strict ? "lt" : "le" : strict ? "gt" : "ge";
  const char *a = index_text(L, left ? 1 : 2), *b = index_text(L, left ? 2 : 1);
  bool plain = tp_ix_as_sym(((tl_index *)lua_touserdata(L, left ? 1 : 2))->e);
  return tl_fail(L,
      "option: '%s %s %s' gives a Lua boolean at once and no condition: write %s%s%s:%s(%s)", a, op,
      b, plain ? "" : "(", a, plain ? "" : ")", method, b);
}
static int index_lt(lua_State *L) { return trap_compare(L, true); }
static int index_le(lua_State *L) { return trap_compare(L, false); }

static int index_len(lua_State *L) {
  return tl_fail(L, "option: '#%s': an index expression has no length; a dim's bound is t:upper()",
      index_text(L, 1));
}

static int index_tostring(lua_State *L) {
  lua_pushstring(L, index_text(L, 1));
  return 1;
}

static int push_range(lua_State *L, tl_prog *lp) { /* of the values at 1 and 2 */
  tl_range *r = tl_new(L, TL_RANGE, sizeof *r);
  if (!lp) {
    check_integral(L, 1, "range");
    check_integral(L, 2, "range");
    r->clo = tl_integer(L, 1, "range");
    r->chi = tl_integer(L, 2, "range");
    return 1;
  }
  r->lo = tl_toix(L, lp, 1, "range");
  r->hi = tl_toix(L, lp, 2, "range");
  if (!tp_ix_is_affine(r->lo) || !tp_ix_is_affine(r->hi))
    tl_fail(L,
        "affine: the range %s .. %s is not affine: a product of dims or bounds is a size (for "
        "shapes and :value()), not an index",
        index_text(L, 1), index_text(L, 2));
  tl_pushprogtable(L, lp);
  lua_setuservalue(L, -2);
  r->lp = lp;
  return 1;
}

static int index_concat(lua_State *L) {
  for (int i = 1; i <= 2; i++) {
    if (tl_typeof(L, i) == TL_RANGE)
      tl_fail(L, "option: '..' of a range: a range has two ends, write lo .. hi once");
    if (lua_type(L, i) == LUA_TSTRING)
      tl_fail(L,
          "option: '..' of an index expression and the string \"%s\": '..' makes a range; for text "
          "write tostring(t)",
          lua_tostring(L, i));
    if (tl_is_tensor(L, i))
      tl_fail(L,
          "option: '..' of a tensor: the ends of a range are index expressions; to choose by data "
          "write x[lo .. hi]:index_select(0, k)");
  }
  return push_range(L, tl_findprog(L, 1, 2));
}

int tl_index_range(lua_State *L) {
  if (lua_gettop(L) != 2)
    tl_fail(L,
        "option: tempo.range(lo, hi) takes the two ends, got %d argument%s; a range has no step",
        lua_gettop(L), lua_gettop(L) == 1 ? "" : "s");
  return push_range(L, tl_findprog(L, 1, 2));
}

static int range_tostring(lua_State *L) {
  tl_range *r = tl_check(L, 1, TL_RANGE, "tostring");
  if (!r->lp) lua_pushfstring(L, "%d .. %d", (int)r->clo, (int)r->chi);
  else
    lua_pushfstring(L, "%s .. %s", tp_ix_str(r->lp->p->ix, r->lo), tp_ix_str(r->lp->p->ix, r->hi));
  return 1;
}

static int range_trap(lua_State *L) {
  return tl_fail(L,
      "option: a range takes no arithmetic, no comparison and no '#': write (lo + k) .. (hi + k)");
}

/* ---- min, max, // and % of numbers too ---- */
static int extreme(lua_State *L, const char *name, const char *method, ix_binary f) {
  int n = lua_gettop(L);
  if (n == 0) tl_fail(L, "option: tempo.%s takes index expressions and numbers", name);
  for (int i = 1; i <= n; i++)
    if (is_tensor(L, i))
      tl_fail(L,
          "option: tempo.%s takes index expressions and numbers; of two tensors write tempo.%s(a, "
          "b), along an axis x:max() or x:min()",
          name, method);
  tl_prog *lp = tl_findprog(L, 1, n);
  if (!lp) {
    int best = 1;
    for (int i = 1; i <= n; i++) {
      check_integral(L, i, name);
      tl_integer(L, i, name);
      if (name[1] == 'i' ? lua_tonumber(L, i) < lua_tonumber(L, best)
                         : lua_tonumber(L, i) > lua_tonumber(L, best))
        best = i;
    }
    lua_pushvalue(L, best);
    return 1;
  }
  const tp_ix *e = tl_toix(L, lp, 1, name);
  for (int i = 2; i <= n; i++) e = f(lp->p->ix, e, tl_toix(L, lp, i, name));
  return push_checked(L, lp, e);
}
int tl_index_min(lua_State *L) { return extreme(L, "min", "minimum", tp_ix_min); }
int tl_index_max(lua_State *L) { return extreme(L, "max", "maximum", tp_ix_max); }

static int numbers(lua_State *L, bool mod) {
  int64_t a, b;
  double x = lua_tonumber(L, 1), y = lua_tonumber(L, 2);
  if (y == 0) tl_fail(L, "input: %s by 0", mod ? "mod" : "floordiv");
  if (tl_isint(L, 1, &a) && tl_isint(L, 2, &b) && b != -1) {
    int64_t q = a / b - (a % b != 0 && (a < 0) != (b < 0));
    lua_pushinteger(L, (lua_Integer)(mod ? a - q * b : q));
  } else lua_pushnumber(L, mod ? x - y * floor(x / y) : floor(x / y));
  return 1;
}

static int quotient(lua_State *L, const char *method, lua_CFunction f) {
  if (lua_type(L, 1) == LUA_TNUMBER && lua_type(L, 2) == LUA_TNUMBER)
    return numbers(L, f == index_imod);
  if (tl_typeof(L, 1) != TL_INDEX && tl_typeof(L, 2) != TL_INDEX) return tl_operator(L, method);
  return f(L);
}
int tl_index_floordiv(lua_State *L) { return quotient(L, "floordiv", index_idiv); }
int tl_index_mod(lua_State *L) { return quotient(L, "mod", index_imod); }

static const char *const compares[] = {
  [TP_EQ] = "eq", [TP_NE] = "ne", [TP_LT] = "lt", [TP_LE] = "le", [TP_GT] = "gt", [TP_GE] = "ge"
};

static int index_compare(lua_State *L) {
  tp_cmp op = (tp_cmp)lua_tointeger(L, TL_UPVALUE);
  tl_prog *lp;
  const tp_ix *a, *b;
  if (!operands(L, compares[op], &lp, &a, &b)) return tl_operator(L, compares[op]);
  return push_checked(L, lp, tp_ix_cmp(lp->p->ix, op, a, b));
}

static const tp_ix *to_cond(lua_State *L, tl_prog *lp, int i, const char *what) {
  tl_not_boolean(L, i, what);
  const tp_ix *e = ((tl_index *)tl_check(L, i, TL_INDEX, what))->e;
  if (!tp_ix_is_cond(e))
    tl_fail(L, "option: %s: '%s' is no condition; write t:eq(k), t:lt(k) ...", what,
        tp_ix_str(lp->p->ix, e));
  return e;
}

static int logic(lua_State *L, const char *method, ix_binary f) {
  if (is_tensor(L, 1) || is_tensor(L, 2)) return tl_operator(L, method);
  tl_prog *lp = tl_findprog(L, 1, 2);
  tl_pushix(L, lp, f(lp->p->ix, to_cond(L, lp, 1, method), to_cond(L, lp, 2, method)));
  return 1;
}
static int index_land(lua_State *L) { return logic(L, "land", tp_ix_and); }
static int index_lor(lua_State *L) { return logic(L, "lor", tp_ix_or); }

static int index_lnot(lua_State *L) {
  tl_prog *lp = tl_findprog(L, 1, 1);
  tl_pushix(L, lp, tp_ix_not(lp->p->ix, to_cond(L, lp, 1, "lnot")));
  return 1;
}

static int index_value(lua_State *L) {
  tl_index *u = tl_check(L, 1, TL_INDEX, "value");
  tl_mark(L, u->lp);
  tl_pushtensor(L, u->lp, tl_lifted(L, u->lp, 1, "value"));
  return 1;
}

static int index_upper(lua_State *L) {
  tl_index *u = tl_check(L, 1, TL_INDEX, "upper");
  const tp_sym *s = tp_ix_as_sym(u->e);
  if (!s || !s->bound)
    tl_fail(L, "option: upper: '%s' is no dim, so it has no bound", index_text(L, 1));
  tl_pushix(L, u->lp, tp_ix_sym(u->lp->p->ix, s->bound));
  return 1;
}

static int index_program(lua_State *L) {
  tl_push_program(L, ((tl_index *)tl_check(L, 1, TL_INDEX, "program"))->lp);
  return 1;
}

static const tl_reg index_meta[] = {
  { "__add", index_add, 0 },
  { "__sub", index_sub, 0 },
  { "__mul", index_mul, 0 },
  { "__idiv", index_idiv, 0 },
  { "__mod", index_imod, 0 },
  { "__unm", index_unm, 0 },
  { "__div", index_div, 0 },
  { "__pow", index_pow, 0 },
  { "__lt", index_lt, 0 },
  { "__le", index_le, 0 },
  { "__concat", index_concat, 0 },
  { "__len", index_len, 0 },
  { "__tostring", index_tostring, 0 },
  { 0 },
};
static const tl_reg index_methods[] = {
  { "land", index_land, 2 },
  { "lor", index_lor, 2 },
  { "lnot", index_lnot, 1 },
  { "floordiv", index_idiv, 2 },
  { "mod", index_imod, 2 },
  { "value", index_value, 1 },
  { "upper", index_upper, 1 },
  { "name", index_tostring, 1 },
  { "program", index_program, 1 },
  { 0 },
};
static const char *const range_traps[] = { "__add", "__sub", "__mul", "__div", "__unm", "__idiv",
  "__mod", "__pow", "__lt", "__le", "__len" };
static const tl_reg range_meta[] = {
  { "__concat", index_concat, 0 },
  { "__tostring", range_tostring, 0 },
  { 0 },
};
static const tl_reg none[] = { { 0 } };

void tl_open_index(lua_State *L, tl_state *S) {
  tl_class(L, S, TL_INDEX, "tempo.Index", index_meta, index_methods, NULL);
  for (size_t k = 0; k < TP_LEN(compares); k++) {
    lua_pushinteger(L, (lua_Integer)k);
    tl_setnamed(L, S, TL_INDEX, &(tl_reg){ compares[k], index_compare, 2 }, 1);
  }
  lua_pop(L, 1);
  tl_class(L, S, TL_RANGE, "tempo.Range", range_meta, none, NULL);
  tl_pushclass(L, TL_RANGE);
  for (size_t k = 0; k < TP_LEN(range_traps); k++)
    tl_setnamed(L, S, TL_NONE, &(tl_reg){ range_traps[k], range_trap, 0 }, 0);
  lua_pop(L, 2);
}
