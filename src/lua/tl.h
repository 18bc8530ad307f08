/* lua: the binding, the only place that knows Lua and that raises. Rank 11. Whatever may raise runs
 * when what it would leak already belongs to a userdata. Lua calls every function by one entry
 * (state.c), whose guard turns a failed allocation of the core into a Lua error. Handles of one
 * program share its table (tl_pushprogtable), which keeps the program alive and holds its index
 * expressions, so that equal ones are the same Lua object. */
#ifndef TL_H
#define TL_H
#include "lua/compat.h"
#include "base/env.h"
#include "io/io.h"
#include "rt/rt.h"

typedef enum {
  TL_NONE,
  TL_PROGRAM,
  TL_INDEX,
  TL_RANGE,
  TL_TENSOR,
  TL_LOOSE,
  TL_ARRAY,
  TL_FN,
  TL_STATE,
  TL_NTYPE
} tl_type;

typedef struct tl_state { /* one per Lua state */
  /* a place for errors without one, if not the running line */
  tp_pos at;
  lua_State *L; /* runs the latest entry */
  /* bytes of arrays: alive, alive after the last full collection, not told to the collector yet */
  size_t held, kept, untold;
  /* our libraries' chunk names begin so: "@/usr/share/lua/5.4/tempo/" */
  char libdir[512];
} tl_state;

typedef struct tl_prog {
  tp_program *p; /* NULL: collected */
  tl_state *S;
  bool scratch;    /* tries loose literals out */
  tp_hmap lines;   /* (file, line) -> number of nodes */
  tp_hmap numbers; /* (number, dtype) -> its node */
  int *line, seen; /* of the line that records now; nodes before it */
  tp_pos pos;
  bool warned;
  bool watched; /* the collector will set `over` */
  bool over;    /* nothing uses it */
} tl_prog;

typedef struct {
  tl_prog *lp;
  const tp_ix *e;
} tl_index;
/* lp NULL: the constants clo .. chi */
typedef struct {
  tl_prog *lp;
  const tp_ix *lo, *hi;
  int64_t clo, chi;
} tl_range;
/* weak: of a where among numbers */
typedef struct {
  tl_prog *lp;
  tp_val v;
  const tp_arg *weak;
} tl_tensor;
typedef struct {
  const tp_method *m;
  int out;
  tp_pos pos;
  const char *name;
  char file[LUA_IDSIZE];
} tl_loose;
/* of arrays lent to a callback; over: it has returned */
typedef struct {
  int refs;
  bool over;
} tl_lease;
typedef struct {
  tp_array *a;
  tl_lease *lease;
  size_t charged;
} tl_array; /* a == NULL: freed */
typedef struct {
  tl_prog *lp;
  tp_fn *f; /* NULL: freed */
  /* methods that run now: their callees must not free it */
  int uses;
  bool waits; /* for another thread, which compiles it */
  int told;   /* warnings of its program that were told */
  bool running, cancel;
  /* what its steps use again; NULL: none was made yet */
  struct tl_run *step;
} tl_fn;

/* entries of a program's table */
enum { TL_PT_PROGRAM = 1, TL_PT_CALLS, TL_PT_INDEX, TL_PT_LOOSE, TL_PT_END };

tl_state *tl_stateof(lua_State *L);
/* extra: 0, or 1 for a value on top, which becomes TL_UPVALUE of f */
void tl_pushfunction(lua_State *L, tl_state *S, lua_CFunction f, int extra);
#define TL_UPVALUE lua_upvalueindex(3)
/* Gives f `takes` arguments, a method's object included, and refuses more; 0: f judges them. */
typedef struct {
  const char *name;
  lua_CFunction f;
  int takes;
} tl_reg;
/* into the table on top, or below `extra`; of NONE: a function, no method */
void tl_setnamed(lua_State *L, tl_state *S, tl_type of, const tl_reg *r, int extra);
void tl_setfuncs(lua_State *L, tl_state *S, const tl_reg *r);
void tl_takes(lua_State *L, const char *name, int takes, bool method);
/* the running method was written x.f(...) */
bool tl_dotted(lua_State *L);
/* Makes the metatable, whose `index` (NULL: plain lookup) has the table of methods as TL_UPVALUE;
 * leaves that on the stack. */
/* an entry of the metatable of t that runs unguarded: __gc, __close */
void tl_setraw(lua_State *L, tl_type t, const char *name, lua_CFunction f);
void tl_class(lua_State *L, tl_state *S, tl_type t, const char *name, const tl_reg *meta,
    const tl_reg *methods, lua_CFunction index);
int tl_lookup(lua_State *L);
void tl_pushclass(lua_State *L, tl_type t); /* its metatable */
tl_type tl_typeof(lua_State *L, int i);
bool tl_is_tensor(lua_State *L, int i); /* even if its program is gone: for __gc */
void *tl_new(lua_State *L, tl_type t, size_t n);
/* hostile builds only */
void *tl_object(lua_State *L, int i, tl_type t, const char *what);
void *tl_check(lua_State *L, int i, tl_type t, const char *what);
/* lua_call of a function that may be the script's */
const char *tl_describe(lua_State *L, int i);
void tl_stress(lua_State *L);
/* the one program of these values, tables included; NULL: none */
void tl_call(lua_State *L, int nargs, int nresults);
int tl_pcall(lua_State *L, int nargs, int nresults);
void tl_pushprogtable(lua_State *L, tl_prog *lp);
/* the program whose method runs; all arguments belong to it */
tl_prog *tl_progof(lua_State *L, int i);
tl_prog *tl_findprog(lua_State *L, int first, int last);
tl_prog *tl_self(lua_State *L, const char *what);
/* nodes made now get the script's line */
tl_prog *tl_sameprog(lua_State *L, tl_prog *lp, int i, const char *what);
void tl_pushix(lua_State *L, tl_prog *lp, const tp_ix *e);
void tl_push_program(lua_State *L, tl_prog *lp);
void tl_pushbuf(lua_State *L, TP_TAKE tp_buf *b); /* the first frame that is neither C nor ours */
void tl_pushextent(lua_State *L, tl_prog *lp, const tp_ix *e);
void tl_pushtensor(lua_State *L, tl_prog *lp, tp_val v);
void tl_pushdims(lua_State *L, tl_prog *lp, int n, const tp_sym *const *dims);
/* chunk of ours */
void tl_mark(lua_State *L, tl_prog *lp);
const char *tl_intern(tl_prog *lp, const char *file);

/* one of ours called the running function */
/* require "tempo" */
bool tl_here(lua_State *L, lua_Debug *ar);
bool tl_is_library(lua_State *L, const char *source); /* once for `why` and a line of the script */
bool tl_by_library(lua_State *L);
void tl_pushmodule(lua_State *L);
int tl_fail(lua_State *L, const char *fmt, ...) TP_PRINTF(2, 3) __attribute__((noreturn));
int tl_fail_as(lua_State *L, tp_code code, const char *fmt, ...) TP_PRINTF(3, 4)
    __attribute__((noreturn));
int tl_raise(lua_State *L, const tp_error *e) __attribute__((noreturn));
/* for the core */
void tl_warn_once(lua_State *L, tl_prog *lp, const void *why, const char *text);
void tl_warn(lua_State *L, const char *text);
int tl_default_warn(lua_State *L);
int tl_error(lua_State *L);
int tl_nearest(lua_State *L);
/* i: a table with these keys only, or nil */
int tl_unknown(lua_State *L, const char *what, const char *name, const char *const *names, int n)
    __attribute__((noreturn));

/* pushes t[name]; absent: false, pushes nothing */
void tl_name_variables(lua_State *L, tl_prog *lp);
/* length of a table without holes and other keys */
void tl_learn_names(void *lp);

enum { TL_NAMES = 512 };
void tl_options(lua_State *L, int i, const char *what, const char *const *known);
/* refuses t == 3, a boolean at once */
bool tl_option(lua_State *L, int i, const char *name);
/* the length of a table with no other keys and no holes */
int tl_sequence(lua_State *L, int i, const char *what, const char *like);
/* for a place of known dtype and shape, which numbers and index expressions fill */
const char *tl_option_string(lua_State *L, tl_prog *lp, int i, const char *name);
void tl_spec(lua_State *L, tl_prog *lp, int i, bool ordered, tp_attr *a);
int tl_count(lua_State *L, int i);
int tl_names(lua_State *L, int i, const char *names[TL_NAMES]); /* of the operands at 1 and 2 */
void tl_set_integer(
    lua_State *L, const char *key, int64_t v); /* in lp; leaves a sequence of tensors */
const char *tl_string(lua_State *L, int i, const char *what);
bool tl_boolean(lua_State *L, int i, const char *what);
int64_t tl_integer(lua_State *L, int i, const char *what);
tp_dtype tl_dtype(lua_State *L, int i, const char *what);
int tl_shape(
    lua_State *L, tl_prog *lp, int i, const char *what, bool minus, const tp_ix *const **out);
int tl_domain(
    lua_State *L, tl_prog *lp, int i, const char *what, bool ordered, const tp_sym *const **out);
const tp_ix *tl_toix(lua_State *L, tl_prog *lp, int i, const char *what);

/* rows of these kinds into the table on top; of NONE: as functions */
void tl_lift(lua_State *L, tl_prog *lp, int i, const char *what, tp_arg *out);
void tl_not_boolean(lua_State *L, int i, const char *what);
/* the key at i as an entry per dim of v's domain */
tp_val tl_lifted(lua_State *L, tl_prog *lp, int i, const char *what);
/* Numbers, index expressions, arrays and tables for a place of known dtype and shape; the first two
 * fill it. */
tp_val tl_lift_as(lua_State *L, tl_prog *lp, int i, const char *what, tp_dtype d, int rank,
    const tp_ix *const *shape);

/* ---- method.c ---- */
int tl_callmethod(lua_State *L, const tp_method *m, int first);
int tl_operator(lua_State *L, const char *method);
/* NULL: error memory */
int tl_method_results(lua_State *L, tl_prog *lp, const tp_method *m, int first);
bool tl_method_sequence(const tp_method *m);
/* Sets element k from value i. Else the class of the error, and into `why` its text with the place
 * `at`. */
void tl_push_methods(lua_State *L, tl_state *S, const char *kinds, tl_type of);

/* of its errors; 0: its own */
/* the same under every Lua */
const tp_at *tl_at(lua_State *L, tl_prog *lp, tp_val v, int i);
bool tl_is_digits(lua_State *L, int i);
int tl_range_trap(lua_State *L, int i) __attribute__((noreturn));
int tl_read(lua_State *L);   /* of its errors; 0: its own */
int tl_assign(lua_State *L); /* NULL: f32 or bool, by its leaves */
int tl_otherwise(lua_State *L);
int tl_when(lua_State *L);
int tl_may_miss(lua_State *L);
int tl_update(lua_State *L);

/* pushes an array; a table with an extent 0 takes `shape` (rank -1: none) */
tl_array *tl_pusharray(lua_State *L);                             /* still empty */
void tl_setarray(lua_State *L, tl_array *u, TP_TAKE tp_array *a); /* NULL: error memory */
tp_array *tl_toarray(lua_State *L, int i, const char *what);
void tl_charge(lua_State *L, tl_array *u);
/* any number of times */
void tl_array_empty(lua_State *L, tl_array *u);
void tl_pushelem(lua_State *L, const tp_array *a, int64_t k);
/* Element k of a from value i. What is wrong with it into `why`, with its place `at`: its class;
 * else TP_OK. */
tp_code tl_setelem(lua_State *L, tp_array *a, int64_t k, int i, const char *at, char why[TP_HINT]);
void tl_putelem(lua_State *L, const char *what, tp_code code, tp_array *a, int64_t k, int i);
/* pushes its tensor */
const char *tl_numeral(double v, char out[32]);
tp_array *tl_nested(lua_State *L, int i, const char *what, tp_code code,
    const tp_dtype *d /* NULL: f32, or bool if its leaves are */, int rank, const int64_t *shape);
void tl_pushnested(lua_State *L, const tp_array *a);
int tl_array_new(lua_State *L);
int tl_array_save(lua_State *L);
/* one execution; __gc or tl_run_release frees what it holds */
int tl_array_save_named(lua_State *L);
int tl_array_load(lua_State *L); /* tempo.load */

/* of a step: results, and arrays that it may write into */
int tl_loose_new(lua_State *L, const tp_method *m, int first);
/* may be math.huge; NULL: none */
void tl_materialise(lua_State *L, tl_prog *lp, int i);

/* stack slots: callbacks, protected function, error value */
tl_prog *tl_program_new(lua_State *L, tl_state *S,
    uint64_t seed); /* `failed` is a callback's error value, or the hook's */
int tl_program(
    lua_State *L); /* the hook that is watched, as it was when the run began or last called Lua */
int tl_record_call(lua_State *L);
int tl_record_source(lua_State *L);
int tl_record_sink(lua_State *L);
int tl_record_env(lua_State *L, tp_op op);
int tl_compile(lua_State *L);
int tl_grad(lua_State *L); /* a later hook has raised */
int tl_grad_step(lua_State *L);

/* drops all arrays but numbers that a step was given */
/* of the bounds at i, the first of the tick dims `endless` if it may be; runs: with inputs */
typedef struct tl_run {
  lua_State *L;
  tl_prog *lp;
  tp_ictx *ix; /* whose symbols bounds are */
  tp_run run;
  tp_arena arena; /* step: values of its tick (need NULL); NULL: whole arrays */
  int64_t *env;
  bool *given; /* pushes the three slots */
  tp_array **inputs;
  int ninput;
  /* raises the error of the host's hook */
  tp_array **out, **into;
  int nout;
  const tp_sym *endless;
  /* releases first; raises a callback's own value if there is one */
  int calls, thunk, failed;
  /* value 1 */
  bool raised;
  /* value 1 is not freed meanwhile */
  lua_State *main;
  lua_Hook hook;
  bool interrupted; /* nothing else uses value 1 now */
} tl_run;
tl_run *tl_run_new(lua_State *L, tl_prog *lp, tp_ictx *ix, int ninput, int nout);
void tl_run_clear(tl_run *r);
void tl_run_release(tl_run *r);
tl_run *tl_fn_run(lua_State *L, tl_fn *u, int i, bool runs, bool endless);
void tl_run_bounds(lua_State *L, tl_run *r, int i, int n, const tp_sym *const *need);
void tl_run_inputs(lua_State *L, tl_run *r, int i, tp_graph *g, const bool *need, tp_fn *step);
/* pushes the three slots, watches the hook */
void tl_run_prepare_calls(lua_State *L, tl_run *r);
/* until the function is compiled; both raise what the host's hook raises */
void tl_fn_wait(lua_State *L, tl_fn *u);
tp_fn *tl_compile_watched(lua_State *L, tp_program *p, tp_copts *o, tp_error *e);
bool tl_interrupted(void *r); /* tp_run.interrupted */
/* releases first; a callback's own value if there is one */
int tl_run_raise(lua_State *L, tl_run *r, const tp_error *e) __attribute__((noreturn));
bool tl_callback(void *ud, const tp_call *c, tp_error *err);
void tl_lease_drop(tl_lease *l);
tl_fn *tl_pushfn(lua_State *L, tl_prog *lp);
tl_fn *tl_fn_self(lua_State *L, const char *what); /* value 1 */
/* calls the upvalue; value 1 cannot be freed meanwhile */
int tl_fn_use(lua_State *L, int method);
/* value 1, which nothing else uses now */
tl_fn *tl_fn_alone(lua_State *L, const char *what, const char *may_not);
/* seed of a table of options */
void tl_fn_seed(lua_State *L, tl_run *r, int i);
int tl_fn_start(lua_State *L);
int tl_fn_step(lua_State *L);
int tl_fn_cancel(lua_State *L);
/* checkpoint.c */
typedef struct {
  size_t n;
  char bytes[];
} tl_saved;
tl_saved *tl_tosaved(lua_State *L, int i, const char *what);
int tl_fn_state(lua_State *L);
int tl_fn_load_state(lua_State *L);
int tl_fn_save(lua_State *L);
int tl_fn_load(lua_State *L);
int tl_peek(lua_State *L);

/* ---- one opener a class ---- */
void tl_open_program(lua_State *L, tl_state *S);
void tl_open_index(lua_State *L, tl_state *S);
void tl_open_tensor(lua_State *L, tl_state *S);
void tl_open_loose(lua_State *L, tl_state *S);
void tl_open_array(lua_State *L, tl_state *S);
void tl_open_fn(lua_State *L, tl_state *S);
void tl_open_saved(lua_State *L, tl_state *S);
int tl_index_min(lua_State *L);
int tl_index_max(lua_State *L);
int tl_index_range(lua_State *L);
int tl_index_floordiv(lua_State *L);
int tl_index_mod(lua_State *L);
#endif
