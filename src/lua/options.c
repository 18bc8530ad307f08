/* options: reads arguments that many functions take: strings, integers, dtypes, shapes, domains,
 * tables of options. */
#include "lua/tl.h"

void tl_options(lua_State *L, int i, const char *what, const char *const *known) {
  if (lua_isnoneornil(L, i)) return;
  if (!lua_istable(L, i))
    tl_fail(L, "option: %s takes a table of options, got %s", what, tl_describe(L, i));
  int n = 0;
  while (known[n]) n++;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      tl_fail(L, "option: %s takes options by name, { %s = ... }; got %s as a key", what,
          n ? known[0] : "name", tl_describe(L, -2));
    int k = 0;
    while (k < n && strcmp(known[k], lua_tostring(L, -2)) != 0) k++;
    if (k == n) tl_unknown(L, what, lua_tostring(L, -2), known, n);
  }
}

bool tl_option(lua_State *L, int i, const char *name) {
  if (lua_isnoneornil(L, i)) return false;
  lua_getfield(L, i, name);
  if (!lua_isnil(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

const char *tl_option_string(lua_State *L, tl_prog *lp, int i, const char *name) {
  if (!tl_option(L, i, name)) return NULL;
  const char *s = tp_strdup(&lp->p->g->arena, tl_string(L, -1, name));
  lua_pop(L, 1);
  return s;
}

int tl_count(lua_State *L, int i) {
  int n = 0;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) n++;
  return n;
}

int tl_names(lua_State *L, int i, const char *names[TL_NAMES]) {
  int n = 0;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING && n < TL_NAMES) names[n++] = lua_tostring(L, -2);
  return n;
}

void tl_set_integer(lua_State *L, const char *key, int64_t v) {
  lua_pushinteger(L, (lua_Integer)v);
  lua_setfield(L, -2, key);
}

bool tl_boolean(lua_State *L, int i, const char *what) {
  if (!lua_isboolean(L, i))
    tl_fail(L, "option: %s: expected true or false, got %s", what, tl_describe(L, i));
  return lua_toboolean(L, i);
}

const char *tl_string(lua_State *L, int i, const char *what) {
  if (lua_type(L, i) != LUA_TSTRING)
    tl_fail(L, "option: %s: expected a string, got %s", what, tl_describe(L, i));
  return lua_tostring(L, i);
}

int64_t tl_integer(lua_State *L, int i, const char *what) {
  int64_t k;
  char text[32];
  if (lua_type(L, i) != LUA_TNUMBER)
    tl_fail(L, "option: %s: expected an integer, got %s", what, tl_describe(L, i));
  if (!tl_isint(L, i, &k))
    tl_fail(
        L, "option: %s: expected an integer, got %s", what, tl_numeral(lua_tonumber(L, i), text));
  return k;
}

tp_dtype tl_dtype(lua_State *L, int i, const char *what) {
  const char *s = tl_string(L, i, what);
  tp_dtype d;
  if (tp_dtype_parse(s, &d)) return d;
  const char *names[TP_NDTYPE];
  char hint[TP_HINT];
  for (int k = 0; k < TP_NDTYPE; k++) names[k] = tp_dtype_name((tp_dtype)k);
  return tl_fail(
             L, "option: %s: unknown dtype '%s'%s", what, s, tp_hint(hint, s, names, TP_NDTYPE)),
         d;
}

tp_ix *tl_toix(lua_State *L, tl_prog *lp, int i, const char *what) {
  int64_t k;
  if (tl_typeof(L, i) == TL_INDEX) {
    tl_sameprog(L, lp, i, what);
    tp_ix *e = ((tl_index *)tl_check(L, i, TL_INDEX, what))->e;
    if (tp_ix_is_cond(e))
      tl_fail(L, "option: %s: %s is a condition, not an index expression", what, tp_ix_str(e));
    return e;
  }
  if (tl_isint(L, i, &k)) return tp_ix_const(lp->p->ix, k);
  char text[32];
  if (lua_type(L, i) == LUA_TNUMBER)
    tl_fail(L, "affine: %s: %s is no integer; for arithmetic on values write t:value()", what,
        tl_numeral(lua_tonumber(L, i), text));
  if (tl_is_tensor(L, i))
    tl_fail(L,
        "affine: %s: a tensor is no index expression; to choose by data write x[lo .. "
        "hi]:index_select(0, k)",
        what);
  return tl_fail(L, "option: %s: expected an integer or an index expression, got %s", what,
             tl_describe(L, i)),
         NULL;
}

tp_ix *tl_tocond(lua_State *L, tl_prog *lp, int i, const char *what) {
  tl_not_boolean(L, i, what);
  if (tl_is_tensor(L, i))
    tl_fail(L, "option: %s: the condition is a tensor; for data write tempo.where(c, a, b)", what);
  tp_ix *e = ((tl_index *)tl_check(L, i, TL_INDEX, what))->e;
  tl_sameprog(L, lp, i, what);
  if (!tp_ix_is_cond(e))
    tl_fail(L, "option: %s: '%s' is no condition; write t:eq(k), t:lt(k) ...", what, tp_ix_str(e));
  return e;
}

int tl_sequence(lua_State *L, int i, const char *what, const char *like) {
  int64_t k;
  if (!lua_istable(L, i))
    tl_fail(L, "option: %s: expected a table like %s, got %s", what, like, tl_describe(L, i));
  int n = (int)lua_rawlen(L, i), count = 0;
  i = lua_absindex(L, i);
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1), count++) {
    if (lua_type(L, -2) == LUA_TSTRING)
      tl_fail(L,
          "option: %s: expected a sequence like %s, got the key '%s' in it: options have a table "
          "of their own",
          what, like, lua_tostring(L, -2));
    if (!tl_isint(L, -2, &k) || k < 1)
      tl_fail(L, "option: %s: expected a sequence like %s, got %s as a key", what, like,
          tl_describe(L, -2));
  }
  if (count != n)
    tl_fail(L,
        "option: %s: expected a sequence like %s, got one with holes (is a variable's name "
        "misspelled?)",
        what, like);
  return n;
}

int tl_shape(lua_State *L, tl_prog *lp, int i, const char *what, bool minus, tp_ixs *out) {
  i = lua_absindex(L, i);
  int n = tl_sequence(L, i, what, "{3, T}");
  if (n > TP_MAXRANK) tl_fail(L, "shape: %s: %d axes, at most %d", what, n, TP_MAXRANK);
  tp_ix **v = TP_NEWN(&lp->p->g->arena, tp_ix *, n + 1);
  for (int k = 0; k < n; k++) {
    int64_t c;
    lua_rawgeti(L, i, k + 1);
    v[k] = tl_toix(L, lp, -1, what);
    if (tp_ix_is_const(v[k], &c) && c < (minus ? -1 : 0))
      tl_fail_as(L, TP_E_SHAPE, "%s: extent %lld of axis %d is negative", what, (long long)c, k);
    lua_pop(L, 1);
  }
  *out = v;
  return n;
}

static tp_sym *to_dim(lua_State *L, tl_prog *lp, int i, const char *what) {
  tp_ix *e = ((tl_index *)tl_check(L, i, TL_INDEX, what))->e;
  tp_sym *s = tp_ix_as_sym(e);
  tl_sameprog(L, lp, i, what);
  if (!s)
    tl_fail(
        L, "option: %s: '%s' is an expression; a domain lists dims, like {t}", what, tp_ix_str(e));
  if (s->kind != TP_SYM_DIM)
    tl_fail(L,
        "option: %s: '%s' is a bound; a domain lists dims only (P:dim gives the dim and its bound: "
        "local t, T = P:dim \"t\")",
        what, s->name);
  return s;
}

static void check_order(lua_State *L, const char *what, int n, tp_dims dims) {
  for (int k = 1; k < n; k++)
    if (dims[k - 1] == dims[k])
      tl_fail(L, "option: %s: dim '%s' is listed twice; a domain is a set", what, dims[k]->name);
  for (int k = 1; k < n; k++)
    if (dims[k - 1]->order >= dims[k]->order)
      tl_fail(L,
          "option: %s: list the dims in the order of P:dim, '%s' before '%s', which is that of its "
          "arrays",
          what, dims[k]->name, dims[k - 1]->name);
}

int tl_domain(lua_State *L, tl_prog *lp, int i, const char *what, bool ordered, tp_dims *out) {
  i = lua_absindex(L, i);
  tp_graph *g = lp->p->g;
  int n = tl_sequence(L, i, what, "{t}"), have = 0;
  tp_dims dom = NULL;
  tp_sym **listed = TP_NEWN(&g->arena, tp_sym *, n + 1);
  int nlisted = 0;
  for (int k = 0; k < n; k++) {
    lua_rawgeti(L, i, k + 1);
    int top = lua_gettop(L);
    if (tl_typeof(L, top) == TL_TENSOR) {
      tl_sameprog(L, lp, top, what);
      const tp_node *x = ((tl_tensor *)tl_check(L, top, TL_TENSOR, what))->v.node;
      have = tp_dom_union(g, have, dom, x->ndom, x->dom, &dom);
    } else if (tl_typeof(L, top) == TL_INDEX) {
      tp_sym *s = to_dim(L, lp, top, what);
      listed[nlisted++] = s;
      have = tp_dom_union(g, have, dom, 1, &s, &dom);
    } else
      tl_fail(L, "option: %s: a domain lists dims or tensors, got %s", what, tl_describe(L, top));
    lua_pop(L, 1);
  }
  if (ordered) check_order(L, what, nlisted, listed);
  *out = dom;
  return have;
}

void tl_spec(lua_State *L, tl_prog *lp, int i, bool ordered, tp_attr *a) {
  int top = lua_gettop(L);
  a->dtype = tl_option(L, i, "dtype") ? tl_dtype(L, top + 1, "dtype") : lp->dtype;
  lua_settop(L, top);
  if (tl_option(L, i, "shape")) a->nix = tl_shape(L, lp, top + 1, "shape", false, &a->ix);
  lua_settop(L, top);
  if (tl_option(L, i, "domain")) a->ndom = tl_domain(L, lp, top + 1, "domain", ordered, &a->dom);
  lua_settop(L, top);
}
