/* method: calls a row of methods.def: arguments by its signature, results as handles. */
#include "lua/tl.h"

typedef struct {
  lua_State *L;
  tl_prog *lp;
  const tp_method *m;
  int nsig;
  tp_sigarg sig[TP_MAXARG];
  tp_arg a[TP_MAXARG];
  char what[96]; /* "bad argument #2 to 'matmul'" */
} call_t;

static void to_limit(call_t *c, int i, tp_arg *a) {
  int64_t k;
  if (tl_isint(c->L, i, &k)) {
    a->kind = 'I';
    a->i = k;
    return;
  }
  if (tl_is_tensor(c->L, i)) {
    tl_lift(c->L, c->lp, i, c->what, a);
    return;
  }
  a->kind = 'X';
  a->ix = tl_toix(c->L, c->lp, i, c->what);
}

/* A, E: integers or sizes, several or one alone. */
static void to_sizes(call_t *c, int i, tp_arg *a, bool integers) {
  lua_State *L = c->L;
  tp_graph *g = c->lp->p->g;
  bool list = lua_istable(L, i);
  a->n = list ? tl_sequence(L, i, c->what, integers ? "{0, 1}" : "{1, 2}") : 1;
  tp_ix **v = TP_NEWN(&g->arena, tp_ix *, a->n + 1);
  for (int k = 0; k < a->n; k++) {
    if (list) lua_rawgeti(L, i, k + 1);
    else lua_pushvalue(L, i);
    int top = lua_gettop(L);
    v[k] = integers ? tp_ix_const(g->ix, tl_integer(L, top, c->what))
                    : tl_toix(L, c->lp, top, c->what);
    lua_pop(L, 1);
  }
  a->ixs = v;
}

static void to_word(call_t *c, int i, tp_arg *a) { /* W: a word, a number, axes */
  int64_t k;
  bool number = lua_type(c->L, i) == LUA_TNUMBER;
  a->kind = lua_type(c->L, i) == LUA_TSTRING ? 'N' : number && !tl_isint(c->L, i, &k) ? 'F' : 'A';
  if (a->kind == 'N') a->s = tp_strdup(&c->lp->p->g->arena, lua_tostring(c->L, i));
  else if (a->kind == 'F') a->f = lua_tonumber(c->L, i);
  else to_sizes(c, i, a, true);
}

static void refuse_shape(const call_t *c) { /* bernoulli(p), zeros(2, 3) */
  bool more = c->nsig > 1 && !c->sig[1].option;
  tl_fail(c->L, "option: '%s' takes the whole shape as its first argument: write %s({ n, m }%s%s)",
      c->m->name, c->m->name, more ? ", " : "", more ? c->sig[1].name : "");
}

static void to_shape(call_t *c, int i, tp_arg *a) { /* S: {n, m}, or n alone */
  lua_State *L = c->L;
  int64_t k;
  bool number = lua_type(L, i) == LUA_TNUMBER, alone = number || tl_typeof(L, i) == TL_INDEX;
  if (c->m->kinds[0] == 'c' && (tl_is_tensor(L, i) || (number && !tl_isint(L, i, &k))))
    refuse_shape(c);
  if (alone) {
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, i);
    lua_rawseti(L, -2, 1);
  } else lua_pushvalue(L, i);
  a->n = tl_shape(L, c->lp, -1, c->what, true, &a->ixs);
  lua_pop(L, 1);
}

/* J: integers by default, unlike tensors. */
static void to_indices(call_t *c, int i, tp_arg *a) {
  lua_State *L = c->L;
  if (!lua_istable(L, i)) {
    tl_lift(L, c->lp, i, c->what, a);
    return;
  }
  tl_nested(L, i, c->what, 0, TP_I64, false, -1, NULL);
  tl_lift(L, c->lp, -1, c->what, a);
  lua_pop(L, 1);
}

/* the dtype of the weak operands: d if there are no others */
static tp_dtype common_dtype(tp_dtype d, int n, const tp_arg *v) {
  tp_dtype least;
  bool any = false;
  for (int k = 0; k < n; k++)
    if (!v[k].weak)
      d = any ? tp_dtype_promote(d, tp_dtypeof(v[k].val)) : tp_dtypeof(v[k].val), any = true;
  least = d;
  for (int k = 0; k < n; k++)
    if (v[k].weak) d = tp_dtype_promote(d, tp_weak_beside(&v[k], least));
  return d;
}

static void to_list(call_t *c, tp_arg *a, int n, int first) {
  tp_error e = { 0 };
  tp_mk mk = { .g = c->lp->p->g, .err = &e };
  tp_arg *v = TP_NEWN(&mk.g->arena, tp_arg, n + 1);
  tp_val *vals = TP_NEWN(&mk.g->arena, tp_val, n + 1);
  for (int k = 0; k < n; k++) tl_lift_beside(c->L, c->lp, first + k, c->what, &v[k]);
  tp_dtype d = common_dtype(c->lp->dtype, n, v);
  for (int k = 0; k < n; k++) {
    vals[k] = v[k].weak ? tp_weak_as(mk, &v[k], d) : v[k].val;
    if (!vals[k].node) tl_raise(c->L, &e);
  }
  a->n = n;
  a->vals = vals;
}

static void to_table_list(call_t *c, int i, tp_arg *a) {
  lua_State *L = c->L;
  int n = tl_sequence(L, i, c->what, "{a, b}"), first = lua_gettop(L) + 1;
  luaL_checkstack(L, n + 8, c->what);
  for (int k = 1; k <= n; k++) lua_rawgeti(L, i, k);
  to_list(c, a, n, first);
  lua_settop(L, first - 1);
}

static void convert(call_t *c, int k, int i) {
  lua_State *L = c->L;
  tp_arg *a = &c->a[k];
  a->kind = c->sig[k].type;
  switch (c->sig[k].type) {
  case 'C':
    tl_not_boolean(L, i, c->what);
    tl_lift(L, c->lp, i, c->what, a);
    break;
  case 'T': tl_lift(L, c->lp, i, c->what, a); break;
  case 'R':
    if (lua_istable(L, i))
      a->val = tl_lift_as(L, c->lp, i, c->what, tp_dtypeof(c->a->val), 0, NULL);
    else tl_lift(L, c->lp, i, c->what, a);
    a->kind = 'T';
    break;
  case 'U': tl_lift_beside(L, c->lp, i, c->what, a); break;
  case 'J': to_indices(c, i, a); break;
  case 'I':
    a->i = tl_integer(L, i, c->what);
    a->f = (double)a->i;
    break;
  case 'F':
    if (lua_type(L, i) != LUA_TNUMBER)
      tl_fail(L, "option: %s: expected a number, got %s", c->what, tl_describe(L, i));
    a->f = lua_tonumber(L, i);
    break;
  case 'B': a->b = tl_boolean(L, i, c->what); break;
  case 'N': a->s = tp_strdup(&c->lp->p->g->arena, tl_string(L, i, c->what)); break;
  case 'X': to_limit(c, i, a); break;
  case 'S': to_shape(c, i, a); break;
  case 'W': to_word(c, i, a); break;
  case 'E': to_sizes(c, i, a, false); break;
  case 'A': to_sizes(c, i, a, true); break;
  case 'L': to_table_list(c, i, a); break;
  case 'D': a->dtype = tl_dtype(L, i, c->what); break;
  case 'O': a->n = tl_domain(L, c->lp, i, c->what, false, &a->dom); break;
  default: TP_ASSERT(!"unknown letter of a signature");
  }
}

/* Is it a table with names as keys, or (empty_too) an empty one? */
static bool is_options(lua_State *L, int i, bool empty_too) {
  if (!lua_istable(L, i)) return false;
  lua_pushnil(L);
  if (!lua_next(L, i)) return empty_too;
  bool named = lua_type(L, -2) == LUA_TSTRING;
  lua_pop(L, 2);
  return named;
}

/* May the table of options hold parameter k, or an optional argument that was left out? */
static bool is_by_name(const call_t *c, int k) {
  if (c->sig[k].option) return true;
  for (int j = k + 1; j < c->nsig; j++) /* a later option of the name takes it */
    if (strcmp(c->sig[j].name, c->sig[k].name) == 0) return false;
  return c->sig[k].optional && !c->a[k].kind;
}

static void take_options(call_t *c, int i) {
  lua_State *L = c->L;
  const char *known[TP_MAXARG + 1] = { 0 };
  int n = 0;
  for (int k = 0; k < c->nsig; k++)
    if (is_by_name(c, k)) known[n++] = c->sig[k].name;
  snprintf(c->what, sizeof c->what, "%s", c->m->name);
  tl_options(L, i, c->what, known);
  for (int k = 0; k < c->nsig; k++) {
    if (!is_by_name(c, k) || !tl_option(L, i, c->sig[k].name)) continue;
    snprintf(c->what, sizeof c->what, "option '%s' of '%s'", c->sig[k].name, c->m->name);
    /* a literal may meet many programs */
    bool unused_name = c->lp->scratch && strcmp(c->sig[k].name, "name") == 0;
    if (!unused_name) convert(c, k, lua_gettop(L));
    lua_pop(L, 1);
  }
}

/* A required list that comes last may be spread over the arguments, reshape(2, 3): it becomes a
 * table. Gives the index behind it. */
static int gather_spread(call_t *c, int k, int npos, int i) {
  lua_State *L = c->L;
  int end = i;
  if (k + 1 < npos || c->sig[k].optional || !strchr("AS", c->sig[k].type) || c->m->kinds[0] == 'c')
    return i;
  while (end <= lua_gettop(L) && (lua_type(L, end) == LUA_TNUMBER || tl_typeof(L, end) == TL_INDEX))
    end++;
  if (end - i < 2) return i;
  lua_createtable(L, end - i, 0);
  for (int j = i; j < end; j++) {
    lua_pushvalue(L, j);
    lua_rawseti(L, -2, j - i + 1);
  }
  lua_replace(L, i);
  return end;
}

/* A dot in place of the colon moves all arguments by one. */
static void refuse_missing(const call_t *c, int k, int i) {
  lua_State *L = c->L;
  const char *name = c->m->name,
             *got = lua_isnil(L, i) ? "nil (is a variable's name misspelled?)" : "nothing";
  const char *dot =
      tl_dotted(L) ? lua_pushfstring(L, ": a method is called with a colon, x:%s(...)", name) : "";
  tl_fail(L, "option: bad argument #%d to '%s' ('%s'): expected a value, got %s%s", k + 1, name,
      c->sig[k].name, got, dot);
}

static void take_arguments(call_t *c, int first) {
  lua_State *L = c->L;
  int top = lua_gettop(L), npos = 0;
  while (npos < c->nsig && !c->sig[npos].option) npos++;
  bool options = false;
  for (int j = 0; j < c->nsig; j++) options |= c->sig[j].optional;
  int k = 0, i = first;
  for (; k < npos; k++, i++) {
    snprintf(c->what, sizeof c->what, "bad argument #%d to '%s'", k + 1, c->m->name);
    if (c->sig[k].type == 'V') {
      c->a[k].kind = 'V';
      to_list(c, &c->a[k], TP_MAX(top - i + 1, 0), i);
      i = top + 1;
      break;
    }
    if (i == top && options &&
        is_options(L, i, c->sig[k].optional && !strchr("ASLE", c->sig[k].type)))
      break;
    int end = gather_spread(c, k, npos, i);
    if (!lua_isnoneornil(L, i)) convert(c, k, i);
    else if (!c->sig[k].optional) refuse_missing(c, k, i);
    i = TP_MAX(i, end - 1);
  }
  for (int j = k; j < npos; j++)
    if (!c->sig[j].optional && c->sig[j].type != 'V' && !c->a[j].kind)
      refuse_missing(c, j, top + 1);
  if (i <= top && options && (lua_isnil(L, i) || lua_istable(L, i))) take_options(c, i++);
  bool spread = c->m->kinds[0] == 'c' && lua_type(L, first) == LUA_TNUMBER; /* zeros(2, 3) */
  for (; i <= top; i++)
    if (!lua_isnil(L, i) && spread) refuse_shape(c);
    else if (!lua_isnil(L, i))
      tl_fail(L, "option: '%s' takes %d arguments%s, got %s as #%d", c->m->name, npos,
          options ? " and a table of options" : "", tl_describe(L, i), i - first + 1);
}

/* Warns of a draw without a domain inside a larger one: it is the same at every point, rarely on
 * purpose. */
static void warn_random(call_t *c) {
  bool larger = false;
  const tp_node *draw = NULL;
  for (int k = 0; k < c->nsig; k++) {
    if (!strchr("CTRU", c->sig[k].type) || !c->a[k].val.node) continue;
    if (c->a[k].val.node->ndom > 0) larger = true;
    else if (c->a[k].val.node->op == TP_OP_RAND) draw = c->a[k].val.node;
  }
  if (!larger || !draw || draw->nin || draw->mark == -1) return;
  ((tp_node *)draw)->mark = -1; /* once */
  tl_warn_at(c->L, draw->pos,
      "a random tensor without a domain is one draw for all points; give it { domain = {...} } for "
      "one a point");
}

/* Warns of a reduction of a scalar, where the points were meant; not in libraries, which are
 * written for any shape. */
static void warn_scalar(const call_t *c) {
  const tp_val x = c->a[0].val;
  bool all_axes = strcmp(c->m->shape, "reduced") == 0 || strstr(c->m->name, "softmax");
  if (!all_axes || tp_rankof(x) || !x.node->ndom || tl_by_library(c->L)) return;
  for (int k = 1; k < c->nsig; k++)
    if (strcmp(c->sig[k].name, "axis") == 0 && c->a[k].kind) return;
  tp_sym *d = x.node->dom[x.node->ndom - 1];
  const char *it = tp_own_name(x.node) ? tp_own_name(x.node) : "x",
             *range = lua_pushfstring(c->L, "0 .. %s", d->bound->name);
  if (x.node->ndom > 1) range = lua_pushfstring(c->L, "{%s = %s}", d->name, range);
  tl_warn_once(c->L, c->lp, c->m,
      lua_pushfstring(c->L,
          "shape: %s of a scalar at each point of '%s' reduces no axis; %s[%s]:%s(0) reduces %s",
          c->m->name, d->name, it, range, c->m->name, d->name));
}

/* Pushes the result. A where among numbers is weak too. */
static void push_result(const call_t *c, tp_val v) {
  tl_pushtensor(c->L, c->lp, v);
  if (strcmp(c->m->name, "where") != 0 || !c->a[1].weak || !c->a[2].weak) return;
  tp_arena *arena = &c->lp->p->g->arena;
  tp_arg w = { .kind = 'T', .val = v, .weak = true };
  w.where = tp_dup(arena, c->a, 3 * sizeof *c->a);
  ((tl_tensor *)lua_touserdata(c->L, -1))->weak = tp_dup(arena, &w, sizeof w);
}

/* Numbers beside an operand that is none take its dtype, and need no node. */
static void make_numbers(call_t *c) {
  bool strong = false;
  for (int k = 0; k < c->nsig; k++) strong |= c->sig[k].type == 'U' && !c->a[k].weak;
  for (int k = 0; k < c->nsig && !strong; k++)
    if (c->sig[k].type == 'U' && !c->a[k].val.node) tl_number(c->L, c->lp, &c->a[k]);
}

/* Creation has the program's dtype, but for random integers. */
static void default_dtype(call_t *c) {
  bool any = c->m->kinds[0] == 'c' && strncmp(c->m->name, "rand", 4) != 0;
  for (int k = 0; any && k < c->nsig; k++)
    if (c->sig[k].type == 'D' && !c->a[k].kind) c->a[k].kind = 'D', c->a[k].dtype = c->lp->dtype;
}

/* Pushes the results, gives their number. */
static int run(lua_State *L, tl_prog *lp, const tp_method *m, int first) {
  call_t c = { .L = L, .lp = lp, .m = m };
  const tp_method *outer = lp->S->composed;
  tp_error e = { 0 };
  tp_vals out = { 0 };
  c.nsig = tp_sig_parse(m->sig, c.sig);
  take_arguments(&c, first);
  make_numbers(&c);
  default_dtype(&c);
  if (!lp->scratch && !outer) {
    warn_random(&c);
    warn_scalar(&c);
  }
  if (m->fn == tp_m_lua) return tl_compose(L, lp, m, c.nsig, c.a);
  if (!m->fn((tp_mk){ lp->p->g, &e, outer ? outer->name : m->name, m->name }, c.a, &out))
    tl_raise(L, &e);
  luaL_checkstack(L, out.n + 8, m->name);
  for (int k = 0; k < out.n; k++) push_result(&c, out.v[k]);
  return out.n;
}

bool tl_method_sequence(const tp_method *m) {
  return strcmp(m->name, "split") == 0 || strcmp(m->name, "chunk") == 0;
}

void tl_method_results(lua_State *L, tl_prog *lp, const tp_method *m, int first) {
  int n = run(L, lp, m, first);
  if (tl_method_sequence(m)) return;
  lua_createtable(L, n, 0);
  lua_insert(L, -n - 1);
  for (int k = n; k > 0; k--) lua_rawseti(L, -k - 1, k);
}

int tl_callmethod(lua_State *L, const tp_method *m, int first) {
  tl_prog *lp = tl_findprog(L, first, lua_gettop(L)), *in = tl_stateof(L)->composed_in;
  if (!lp && !in) return tl_loose_new(L, m, first);
  if (!in) tl_mark(L, lp);
  return run(L, lp ? lp : in, m, first);
}

static int call_row(lua_State *L) { return tl_callmethod(L, lua_touserdata(L, TL_UPVALUE), 1); }

void tl_push_methods(lua_State *L, tl_state *S, const char *kinds, tl_type of) {
  for (int k = 0; k < tp_nmethods; k++) {
    const tp_method *m = &tp_methods[k];
    bool index_only = of == TL_NONE && (strcmp(m->name, "min") == 0 || strcmp(m->name, "max") == 0);
    if (!strpbrk(m->kinds, kinds) || index_only) continue;
    lua_pushlightuserdata(L, (void *)m);
    tl_setnamed(L, S, of, &(tl_reg){ m->name, call_row, 0 }, 1);
  }
}
