/* state: the one entry of all functions; classes and handles. */
#include "lua/tl.h"
#include <stdlib.h>

/* keys, by address */
static const char state_key, tag_key, programs_key;
static const char class_key[TL_NTYPE];
static const char *const class_name[TL_NTYPE] = {
  "?",
  "tempo.Program",
  "tempo.Index",
  "tempo.Range",
  "tempo.Tensor",
  "tempo.Tensor",
  "tempo.Array",
  "tempo.Function",
  "tempo.State",
  "tempo.Weights",
  "tempo.Rows",
  "tempo.Tokenizer",
};

static void new_weak_table(lua_State *L, const char *mode) {
  lua_newtable(L);
  lua_newtable(L);
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

tl_state *tl_stateof(lua_State *L) {
  tl_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  tl_state *S = lua_touserdata(L, -1);
  lua_pop(L, 1);
  if (S) return S;
  S = memset(lua_newuserdata(L, sizeof *S), 0, sizeof *S);
  tl_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
  new_weak_table(L, "v");
  tl_rawsetp(L, LUA_REGISTRYINDEX, &programs_key);
  return S;
}

/* TEMPO_GC=n: collects all garbage at each n-th way into or out of an entry, and after each
 * callback. */
void tl_stress(lua_State *L) {
#ifdef TP_HARD
  static long every = -1, left;
  if (every < 0) {
    const char *s = tp_setting("TEMPO_GC");
    every = left = s ? atol(s) : 0;
  }
  if (every == 0 || --left > 0) return;
  left = every;
  lua_gc(L, LUA_GCCOLLECT, 0);
#endif
}

/* Upvalues of an entry: the state, its C function (NULL: none), one of the function's own
 * (TL_UPVALUE); of one with a name also the called_t, the metatable of a method's object, and the
 * function as a Lua value: that of binding.lua, or the C function, of which LuaJIT would make an
 * object at each call. */
#define UP_CALLED lua_upvalueindex(4)
#define UP_CLASS  lua_upvalueindex(5)
#define UP_PLAIN  lua_upvalueindex(6)
typedef struct {
  int takes;
  tl_type of;
  char name[];
} called_t;

static const char *const object_name[TL_NTYPE] = { "", "P", "t", "r", "x", "x", "a", "f", "s", "f",
  "r", "k" };

void tl_takes(lua_State *L, const char *name, int takes, bool method) {
  int given = takes - method;
  for (int i = takes + 1; i <= lua_gettop(L); i++)
    if (!lua_isnil(L, i))
      tl_fail(L, "option: %s takes %s argument%s, got %s as #%d", name,
          given ? lua_pushfstring(L, "%d", given) : "no", given == 1 ? "" : "s", tl_describe(L, i),
          i - method);
  lua_settop(L, takes);
}

bool tl_dotted(lua_State *L) {
  lua_Debug ar;
  const called_t *f = lua_touserdata(L, UP_CALLED);
  if (!f || !f->of || !lua_getstack(L, 0, &ar) || !lua_getinfo(L, "n", &ar) || !ar.name)
    return false;
  /* after a tail call the name is another function's */
  return strcmp(ar.namewhat, "field") == 0 && strcmp(ar.name, f->name) == 0;
}

static bool is_object(lua_State *L) { /* value 1, quick */
  if (!lua_getmetatable(L, 1)) return false;
  bool same = lua_rawequal(L, -1, UP_CLASS);
  lua_pop(L, 1);
  return same;
}

static void check_call(lua_State *L, const called_t *f) {
  if (f->of && !is_object(L) && strcmp(class_name[tl_typeof(L, 1)], class_name[f->of]) != 0)
    tl_fail(L, "option: %s: expected %s, got %s: a method is called with a colon, %s:%s(...)",
        f->name, class_name[f->of], tl_describe(L, 1), object_name[f->of], f->name);
  if (f->takes && lua_gettop(L) != f->takes) tl_takes(L, f->name, f->takes, f->of);
}

static int call_plain(lua_State *L) {
  lua_pushvalue(L, UP_PLAIN);
  lua_insert(L, 1);
  tl_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int entry(lua_State *L) {
  const called_t *c = lua_touserdata(L, UP_CALLED);
  if (c) check_call(L, c);
  lua_CFunction f = (lua_CFunction)lua_touserdata(L, lua_upvalueindex(2));
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return tl_fail(L, "memory: out of memory");
  tl_stress(L);
  ((tl_state *)lua_touserdata(L, lua_upvalueindex(1)))->L = L;
  int n = c && c->of == TL_FN ? tl_fn_use(L, f, UP_PLAIN) : f ? f(L) : call_plain(L);
  tl_stress(L);
  tp_unguard(&oom);
  return n;
}

void tl_pushfunction(lua_State *L, tl_state *S, lua_CFunction f, int extra) {
  lua_pushlightuserdata(L, S);
  lua_pushlightuserdata(L, (void *)f);
  if (extra) {
    lua_pushvalue(L, -3);
    lua_remove(L, -4);
  }
  lua_pushcclosure(L, entry, 2 + extra);
}

void tl_setnamed(lua_State *L, tl_state *S, tl_type of, const tl_reg *r, int extra) {
  size_t n = strlen(r->name) + 1;
  lua_pushlightuserdata(L, S);
  lua_pushlightuserdata(L, (void *)r->f);
  if (extra) lua_pushvalue(L, -3);
  else lua_pushnil(L);
  called_t *c = lua_newuserdata(L, sizeof *c + n);
  c->takes = r->takes;
  c->of = of;
  memcpy(c->name, r->name, n);
  tl_pushclass(L, of); /* functions: nil */
  if (r->f) lua_pushcfunction(L, r->f);
  else lua_pushvalue(L, -3);
  lua_pushcclosure(L, entry, 6);
  lua_setfield(L, -2 - extra, r->name);
  lua_pop(L, extra);
}

int tl_define(lua_State *L) { /* metatable or table, name, arguments, function */
  luaL_checktype(L, 1, LUA_TTABLE);
  tl_reg r = { tl_string(L, 2, "define"), NULL, (int)tl_integer(L, 3, "define") };
  tl_rawgetp(L, 1, &tag_key);
  tl_type of = (tl_type)lua_tointeger(L, -1);
  lua_pushvalue(L, 1);
  if (of) {
    lua_getfield(L, 1, "__index");
    lua_getupvalue(L, -1, 3);
  }
  lua_pushvalue(L, 4);
  tl_setnamed(L, tl_stateof(L), of, &r, 1);
  return 0;
}

void tl_setfuncs(lua_State *L, tl_state *S, const tl_reg *r) {
  for (; r->name; r++) tl_setnamed(L, S, TL_NONE, r, 0);
}

static int no_assignment(lua_State *L) {
  return tl_fail(L, "option: nothing can be assigned to %s", tl_describe(L, 1));
}

void tl_class(lua_State *L, tl_state *S, tl_type t, const char *name, const tl_reg *meta,
    const tl_reg *methods, lua_CFunction index) {
  lua_newtable(L);
  lua_newtable(L);
  lua_pushinteger(L, t);
  tl_rawsetp(L, -2, &tag_key);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  tl_pushfunction(L, S, no_assignment, 0);
  lua_setfield(L, -2, "__newindex");
  tl_setfuncs(L, S, meta);
  lua_pushvalue(L, -2);
  tl_pushfunction(L, S, index ? index : tl_lookup, 1);
  lua_setfield(L, -2, "__index");
  tl_rawsetp(L, LUA_REGISTRYINDEX, &class_key[t]);
  for (; methods->name; methods++) tl_setnamed(L, S, t, methods, 0);
}

void tl_pushclass(lua_State *L, tl_type t) { tl_rawgetp(L, LUA_REGISTRYINDEX, &class_key[t]); }

void tl_setraw(lua_State *L, tl_type t, const char *name, lua_CFunction f) {
  tl_pushclass(L, t);
  lua_pushcfunction(L, f);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

int tl_lookup(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING)
    tl_fail(L, "option: %s cannot be indexed by %s", tl_describe(L, 1), tl_describe(L, 2));
  lua_pushvalue(L, 2);
  lua_rawget(L, TL_UPVALUE);
  if (!lua_isnil(L, -1)) return 1;
  const char *names[TL_NAMES];
  int n = tl_names(L, TL_UPVALUE, names);
  return tl_unknown(L, tl_describe(L, 1), lua_tostring(L, 2), names, n);
}

tl_type tl_typeof(lua_State *L, int i) {
  if (lua_type(L, i) != LUA_TUSERDATA || !lua_getmetatable(L, i)) return TL_NONE;
  tl_rawgetp(L, -1, &tag_key);
  tl_type t = (tl_type)lua_tointeger(L, -1);
  lua_pop(L, 2);
  return t;
}

bool tl_is_tensor(lua_State *L, int i) {
  tl_type t = tl_typeof(L, i);
  return t == TL_TENSOR || t == TL_LOOSE;
}

void *tl_new(lua_State *L, tl_type t, size_t n) {
  void *u = memset(lua_newuserdata(L, n), 0, n);
  tl_pushclass(L, t);
  lua_setmetatable(L, -2);
  return u;
}

const char *tl_describe(lua_State *L, int i) {
  tl_type t = tl_typeof(L, i);
  if (t != TL_NONE) return class_name[t];
  switch (lua_type(L, i)) {
  case LUA_TNONE:
  case LUA_TNIL: return "nothing";
  case LUA_TBOOLEAN: return "a boolean";
  case LUA_TNUMBER: return "a number";
  case LUA_TSTRING: return "a string";
  case LUA_TTABLE: return "a table";
  case LUA_TFUNCTION: return "a function";
  default: return "a userdata";
  }
}

void *tl_object(lua_State *L, int i, tl_type t, const char *what) {
  if (tl_typeof(L, i) != t)
    tl_fail(L, "option: %s: expected %s, got %s", what, class_name[t], tl_describe(L, i));
  return lua_touserdata(L, i);
}

static tl_prog *tl_progof(lua_State *L, int i) {
  switch (tl_typeof(L, i)) {
  case TL_PROGRAM: return lua_touserdata(L, i);
  case TL_INDEX:
  case TL_RANGE:
  case TL_TENSOR:
  case TL_FN: return *(tl_prog **)lua_touserdata(L, i); /* all begin with it */
  default: return NULL;
  }
}

void *tl_check(lua_State *L, int i, tl_type t, const char *what) {
  void *u = tl_object(L, i, t, what);
  const tl_prog *lp = tl_progof(L, i);
  if (lp && !lp->p) tl_fail(L, "option: %s: its program is gone", what);
  return u;
}

/* A Lua error leaves the guards of entries inside in place. */
int tl_pcall(lua_State *L, int nargs, int nresults) {
  tp_guard *ours = tp_guard_now();
  int status = lua_pcall(L, nargs, nresults, 0);
  tp_guard_back(ours);
  tl_stateof(L)->L = L;
  return status;
}

void tl_call(lua_State *L, int nargs, int nresults) {
  tp_guard *ours = tp_guard_now();
  lua_call(L, nargs, nresults);
  tp_guard_back(ours);
  tl_stateof(L)->L = L;
}

/* Frees a program. Its value, which only the program's table holds, has that table, so that the
 * program's userdata outlives this call. A script that could call it would free what it uses. */
static int program_ends(lua_State *L) {
  tl_prog *lp = *(tl_prog **)lua_touserdata(L, 1);
  lp->p = tp_program_unref(lp->p);
  return 0;
}

static void push_end(lua_State *L, tl_prog *lp) { /* the table: on top */
  *(tl_prog **)lua_newuserdata(L, sizeof lp) = lp;
  lua_pushvalue(L, -2);
  lua_setuservalue(L, -2);
  lua_newtable(L);
  lua_pushcfunction(L, program_ends);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
}

tl_prog *tl_program_new(lua_State *L, tl_state *S, uint64_t seed, tp_dtype d) {
  tl_prog *lp = tl_new(L, TL_PROGRAM, sizeof *lp);
  lp->S = S;
  lp->dtype = d;
  lua_createtable(L, 5, 0);
  push_end(L, lp);
  lua_rawseti(L, -2, TL_PT_END);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, TL_PT_PROGRAM);
  lua_newtable(L);
  lua_rawseti(L, -2, TL_PT_CALLS);
  new_weak_table(L, "v");
  lua_rawseti(L, -2, TL_PT_INDEX);
  new_weak_table(L, "k");
  lua_rawseti(L, -2, TL_PT_LOOSE);
  lua_setuservalue(L, -2);
  lp->p = tp_program_new(seed);
  if (!lp->p) tl_fail(L, "memory: no memory for a program");
  lp->p->g->learn = tl_learn_names;
  lp->p->g->host = lp;
  tl_rawgetp(L, LUA_REGISTRYINDEX, &programs_key);
  lua_pushvalue(L, -2);
  tl_rawsetp(L, -2, lp);
  lua_pop(L, 1);
  tp_hmap_init(&lp->lines, tp_ictx_arena(lp->p->ix));
  tp_hmap_init(&lp->numbers, tp_ictx_arena(lp->p->ix));
  tp_hmap_init(&lp->constants, tp_ictx_arena(lp->p->ix));
  tp_hmap_init(&lp->nexts, tp_ictx_arena(lp->p->ix));
  return lp;
}

void tl_pushprogtable(lua_State *L, tl_prog *lp) {
  tl_rawgetp(L, LUA_REGISTRYINDEX, &programs_key);
  tl_rawgetp(L, -1, lp);
  if (lua_isnil(L, -1)) tl_fail(L, "option: the program is gone: the collector is freeing it");
  lua_getuservalue(L, -1);
  lua_insert(L, -3);
  lua_pop(L, 2);
}

static void find(lua_State *L, int i, int depth, tl_prog **lp) {
  tl_prog *q = tl_progof(L, i);
  if (q && *lp && *lp != q) tl_fail(L, "option: tensors, dims or bounds of two programs are mixed");
  if (q && !q->p) tl_fail(L, "option: the program of %s is gone", tl_describe(L, i));
  if (q) *lp = q;
  if (!lua_istable(L, i) || depth == 4) return;
  luaL_checkstack(L, 8, "nested tables");
  i = lua_absindex(L, i);
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) find(L, lua_gettop(L), depth + 1, lp);
}

tl_prog *tl_findprog(lua_State *L, int first, int last) {
  tl_prog *lp = NULL;
  for (int i = first; i <= last; i++) find(L, i, 0, &lp);
  return lp;
}

tl_prog *tl_self(lua_State *L, const char *what) {
  tl_prog *lp = tl_check(L, 1, TL_PROGRAM, what);
  tl_findprog(L, 1, lua_gettop(L));
  tl_mark(L, lp);
  return lp;
}

tl_prog *tl_sameprog(lua_State *L, tl_prog *lp, int i, const char *what) {
  tl_prog *q = tl_progof(L, i);
  if (q && q != lp) tl_fail(L, "option: %s: %s of another program", what, tl_describe(L, i));
  return lp;
}

void tl_pushix(lua_State *L, tl_prog *lp, tp_ix *e) {
  tl_pushprogtable(L, lp);
  lua_rawgeti(L, -1, TL_PT_INDEX);
  tl_rawgetp(L, -1, e);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    tl_index *u = tl_new(L, TL_INDEX, sizeof *u);
    *u = (tl_index){ lp, e };
    lua_pushvalue(L, -3);
    lua_setuservalue(L, -2);
    lua_pushvalue(L, -1);
    tl_rawsetp(L, -3, e);
  }
  lua_insert(L, -3);
  lua_pop(L, 2);
}

void tl_push_program(lua_State *L, tl_prog *lp) {
  tl_pushprogtable(L, lp);
  lua_rawgeti(L, -1, TL_PT_PROGRAM);
}

void tl_pushbuf(lua_State *L, tp_buf *b) {
  lua_pushlstring(L, b->s ? b->s : "", b->n);
  tp_buf_free(b);
}

void tl_pushextent(lua_State *L, tl_prog *lp, tp_ix *e) {
  int64_t k;
  if (tp_ix_is_const(e, &k)) lua_pushinteger(L, (lua_Integer)k);
  else tl_pushix(L, lp, e);
}

void tl_pushtensor(lua_State *L, tl_prog *lp, tp_val v) {
  tl_tensor *u = tl_new(L, TL_TENSOR, sizeof *u);
  *u = (tl_tensor){ .lp = lp, .v = v };
  tl_pushprogtable(L, lp);
  lua_setuservalue(L, -2);
}

void tl_pushdims(lua_State *L, tl_prog *lp, int n, tp_dims dims) {
  lua_createtable(L, n, 0);
  for (int k = 0; k < n; k++) {
    tl_pushix(L, lp, tp_ix_sym(dims[k]));
    lua_rawseti(L, -2, k + 1);
  }
}

const char *tl_intern(tl_prog *lp, const char *file) {
  size_t n = strlen(file) + 1;
  char *s = tp_hmap_get(&lp->lines, file, n);
  if (s) return s;
  s = tp_strdup(tp_ictx_arena(lp->p->ix), file);
  tp_hmap_set(&lp->lines, file, n, s);
  return s;
}

static void warn_unrolled(lua_State *L, tl_prog *lp) {
  lp->warned = true;
  tl_warn_at(L, lp->pos,
      lua_pushfstring(L,
          "more than %d nodes were recorded from this line: a Lua loop unrolls; did you mean a "
          "dim?",
          TP_TUNE_UNROLLED));
  lua_pop(L, 1);
}

static int *line_counter(tl_prog *lp, tp_pos pos) {
  struct {
    const char *file;
    int64_t line;
  } key = { pos.file, pos.line };
  int *n = tp_hmap_get(&lp->lines, &key, sizeof key);
  if (n) return n;
  n = TP_NEW(tp_ictx_arena(lp->p->ix), int);
  tp_hmap_set(&lp->lines, &key, sizeof key, n);
  return n;
}

void tl_mark(lua_State *L, tl_prog *lp) {
  lua_Debug ar;
  tp_graph *g = lp->p->g;
  if (lp->line) *lp->line += g->nodes.n - lp->seen;
  if (lp->line && *lp->line > TP_TUNE_UNROLLED && !lp->warned && !lp->scratch) warn_unrolled(L, lp);
  lp->seen = g->nodes.n;
  lp->pos = tl_here(L, &ar) ? (tp_pos){ tl_intern(lp, ar.short_src), ar.currentline } : TP_NOWHERE;
  lp->line = line_counter(lp, lp->pos);
  g->pos = lp->pos;
}
