/* index: dims, bounds, index expressions, conditions and ranges. binding.lua has the operators. */
#include "lua/tl.h"

static const char *index_text(lua_State *L, int i) {
  const tl_index *u = tl_check(L, i, TL_INDEX, "tostring");
  return tp_ix_str(u->e);
}

static int push_checked(lua_State *L, tl_prog *lp, tp_ix *e) {
  const char *why = tp_ictx_overflowed(lp->p->ix);
  if (why) tl_fail(L, "affine: a number or a part of an index expression %s", why);
  tl_pushix(L, lp, e);
  return 1;
}

static tp_ix *divided(lua_State *L, bool mod, const char *what, tp_ix *a, tp_ix *b) {
  int64_t k;
  if (!tp_ix_is_const(b, &k))
    tl_fail(L,
        "affine: %s %s %s: the divisor of an index expression is a positive integer; on values "
        "write t:value()",
        tp_ix_str(a), what, tp_ix_str(b));
  if (k <= 0)
    tl_fail(L, "affine: %s by %lld: the divisor of an index expression is a positive integer", what,
        (long long)k);
  return mod ? tp_ix_mod(a, k) : tp_ix_fdiv(a, k);
}

/* Arguments: the method's name, its name in messages, a, b (of lnot: nil). */
int tl_index_combine(lua_State *L) {
  static const struct {
    const char *method;
    tp_ix *(*f)(tp_ix *, tp_ix *);
  } ways[] = { { "add", tp_ix_add }, { "sub", tp_ix_sub }, { "mul", tp_ix_mul },
    { "min", tp_ix_min }, { "max", tp_ix_max } };
  static const char *const compares[] = {
    [TP_EQ] = "eq", [TP_NE] = "ne", [TP_LT] = "lt", [TP_LE] = "le", [TP_GT] = "gt", [TP_GE] = "ge"
  };
  const char *method = tl_string(L, 1, "combine"), *what = tl_string(L, 2, method);
  tl_prog *lp = tl_findprog(L, 3, 4);
  if (!lp) tl_fail(L, "option: %s: expected an index expression, got %s", what, tl_describe(L, 3));
  if (*method == 'l' && strlen(method) > 2) { /* land, lor, lnot */
    tp_ix *a = tl_tocond(L, lp, 3, method);
    return push_checked(L, lp,
        method[1] == 'n'       ? tp_ix_not(a)
            : method[1] == 'a' ? tp_ix_and(a, tl_tocond(L, lp, 4, method))
                               : tp_ix_or(a, tl_tocond(L, lp, 4, method)));
  }
  tp_ix *a = tl_toix(L, lp, 3, what), *b = tl_toix(L, lp, 4, what);
  for (size_t k = 0; k < TP_LEN(ways); k++)
    if (strcmp(ways[k].method, method) == 0) return push_checked(L, lp, ways[k].f(a, b));
  for (size_t k = 0; k < TP_LEN(compares); k++)
    if (strcmp(compares[k], method) == 0) return push_checked(L, lp, tp_ix_cmp((tp_cmp)k, a, b));
  return push_checked(L, lp, divided(L, *method == 'm', what, a, b));
}

/* Arguments: the method's name, two numbers. */
int tl_index_quotient(lua_State *L) {
  int64_t a, b;
  bool mod = *tl_string(L, 1, "quotient") == 'm';
  double x = lua_tonumber(L, 2), y = lua_tonumber(L, 3);
  if (y == 0) tl_fail(L, "input: %s by 0", mod ? "mod" : "floordiv");
  if (tl_isint(L, 2, &a) && tl_isint(L, 3, &b) && b != -1) {
    int64_t q = a / b - (a % b != 0 && (a < 0) != (b < 0));
    lua_pushinteger(L, (lua_Integer)(mod ? a - q * b : q));
  } else lua_pushnumber(L, mod ? x - y * floor(x / y) : floor(x / y));
  return 1;
}

static int index_tostring(lua_State *L) {
  lua_pushstring(L, index_text(L, 1));
  return 1;
}

int tl_index_range(lua_State *L) { /* of the values at 1 and 2 */
  tl_prog *lp = tl_findprog(L, 1, 2);
  tl_range *r = tl_new(L, TL_RANGE, sizeof *r);
  if (!lp) {
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
        tp_ix_str(r->lo), tp_ix_str(r->hi));
  tl_pushprogtable(L, lp);
  lua_setuservalue(L, -2);
  r->lp = lp;
  return 1;
}

static int range_tostring(lua_State *L) {
  tl_range *r = tl_check(L, 1, TL_RANGE, "tostring");
  if (!r->lp) lua_pushfstring(L, "%d .. %d", (int)r->clo, (int)r->chi);
  else lua_pushfstring(L, "%s .. %s", tp_ix_str(r->lo), tp_ix_str(r->hi));
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
  tp_sym *s = tp_ix_as_sym(u->e);
  if (!s || !s->bound)
    tl_fail(L, "option: upper: '%s' is no dim, so it has no bound", index_text(L, 1));
  tl_pushix(L, u->lp, tp_ix_sym(s->bound));
  return 1;
}

static int index_program(lua_State *L) {
  tl_push_program(L, ((tl_index *)tl_check(L, 1, TL_INDEX, "program"))->lp);
  return 1;
}

static const tl_reg index_meta[] = { { "__tostring", index_tostring, 0 }, { 0 } };
static const tl_reg index_methods[] = {
  { "value", index_value, 1 },
  { "upper", index_upper, 1 },
  { "name", index_tostring, 1 },
  { "program", index_program, 1 },
  { 0 },
};
static const tl_reg range_meta[] = { { "__tostring", range_tostring, 0 }, { 0 } };

void tl_open_index(lua_State *L, tl_state *S) {
  tl_class(L, S, TL_INDEX, "tempo.Index", index_meta, index_methods, NULL);
  tl_class(L, S, TL_RANGE, "tempo.Range", range_meta, &(tl_reg){ 0 }, NULL);
  lua_pop(L, 2);
}
