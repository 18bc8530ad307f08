/* lua: the Lua binding. Rank 11. No other folder knows Lua, or raises.
 *
 * Lua holds userdata of the classes below. A handle (a tensor, an index expression, a function) is
 * a pointer into a program; its user value is the program's table, which keeps the program alive
 * and in which index expressions are interned, so that equal ones are one Lua object.
 * lua/tempo/binding.lua has functions that only take values apart or word errors.
 *
 * Userdata first, resource second: before a call that may raise, each resource belongs to a
 * userdata. Every function that Lua can call goes through one entry (state.c), whose guard turns a
 * failed allocation of the core into a Lua error.
 *
 * Arguments. `i` is a place on the stack, `what` the name by which messages call it. A function
 * that reads an argument gives its value or raises; texts begin with the word of their class. */
#ifndef TL_H
#define TL_H
#include "lua/compat.h"
#include "base/env.h"
#include "io/io.h"
#include "io/json.h"
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
  TL_WEIGHTS,
  TL_ROWS,
  TL_TOKENIZER,
  TL_NTYPE
} tl_type;

/* one per Lua state, a userdata in the registry */
typedef struct tl_state {
  tp_pos at;    /* the place of errors without one of their own, if not the running line */
  lua_State *L; /* it runs the latest entry */
  /* the method that runs a body in Lua, and its program; NULL: none does */
  const tp_method *composed;
  struct tl_prog *composed_in;
  /* bytes of arrays: alive, alive after the last full collection, not told to the collector yet */
  size_t held, kept, untold;
  char libdir[512]; /* chunk names that begin so are ours: "@/usr/share/lua/5.4/tempo/" */
} tl_state;

typedef struct tl_prog {
  tp_program *p; /* NULL: collected */
  tl_state *S;
  tp_dtype dtype;  /* of what names none */
  bool scratch;    /* where loose literals are tried out */
  tp_hmap lines;   /* (file, line) -> how many nodes it recorded */
  tp_hmap numbers; /* number -> its node */
  /* the elements of a large array -> a copy, which nodes hold */
  tp_hmap constants;
  tp_hmap nexts;   /* id of a parameter -> its next(), which the update defines */
  int *line, seen; /* the line that records now; nodes before it */
  tp_pos pos;
  bool warned;
} tl_prog;

typedef struct {
  tl_prog *lp;
  tp_ix *e; /* an expression or a condition */
} tl_index;
typedef struct {
  tl_prog *lp; /* NULL: constants clo .. chi */
  tp_ix *lo, *hi;
  int64_t clo, chi;
} tl_range;
typedef struct {
  tl_prog *lp;
  tp_val v;
  /* it takes the other operand's dtype: a where among numbers, a number in a body in Lua */
  const tp_arg *weak;
  bool read_here; /* x[t], which is x: a further [0] reads time 0, not an element */
} tl_tensor;
typedef struct {
  const tp_method *m;
  int nargs, out;
  tp_pos pos;
  const char *name;
  char file[LUA_IDSIZE];
} tl_loose;
/* arrays lent to a callback */
typedef struct {
  int refs;
  bool over; /* it has returned */
} tl_lease;
typedef struct {
  tp_array *a; /* NULL: freed */
  tl_lease *lease;
  size_t charged;
} tl_array;
typedef struct {
  tl_prog *lp;
  tp_fn *f;   /* NULL: freed */
  int uses;   /* methods of it that run now: scripts they call must not free it */
  bool waits; /* another thread compiles it */
  int told;   /* warnings of its program that were told */
  bool running, cancel;
  struct tl_run *step; /* reused by its steps, which so make no garbage; NULL: none yet */
} tl_fn;
typedef struct {
  size_t n;
  char bytes[];
} tl_saved;

/* entries of a program's table */
enum { TL_PT_PROGRAM = 1, TL_PT_CALLS, TL_PT_INDEX, TL_PT_LOOSE, TL_PT_END };

/* ---- state.c: entries, classes, handles ---- */
tl_state *tl_stateof(lua_State *L);
/* pops `extra` (0 or 1) value: TL_UPVALUE of f */
void tl_pushfunction(lua_State *L, tl_state *S, lua_CFunction f, int extra);
#define TL_UPVALUE lua_upvalueindex(3)
/* A named function for Lua. It takes at most `takes` arguments, a method's object included (0: f
 * checks them itself), and finds as many on the stack. f NULL: the extra value, a Lua function, is
 * called. */
typedef struct {
  const char *name;
  lua_CFunction f;
  int takes;
} tl_reg;
/* into the table on top, or below `extra`: a method, or with TL_NONE a function */
void tl_setnamed(lua_State *L, tl_state *S, tl_type of, const tl_reg *r, int extra);
void tl_setfuncs(lua_State *L, tl_state *S, const tl_reg *r);
/* refuses more arguments, makes it as many */
void tl_takes(lua_State *L, const char *name, int takes, bool method);
/* was the method that runs now written x.f(...)? */
bool tl_dotted(lua_State *L);
/* A metatable: `meta`, and the table of `methods` as TL_UPVALUE of `index` (NULL: plain lookup).
 * Leaves the table of methods on the stack. */
void tl_class(lua_State *L, tl_state *S, tl_type t, const char *name, const tl_reg *meta,
    const tl_reg *methods, lua_CFunction index);
/* an entry of the metatable of t that runs unguarded: __gc, __close */
void tl_setraw(lua_State *L, tl_type t, const char *name, lua_CFunction f);
/* self, name -> the method, or an error with the nearest */
int tl_lookup(lua_State *L);
void tl_pushclass(lua_State *L, tl_type t); /* its metatable */
tl_type tl_typeof(lua_State *L, int i);
bool tl_is_tensor(lua_State *L, int i); /* a loose one too */
void *tl_new(lua_State *L, tl_type t, size_t n);
/* an object of the class, its program alive or not: for __gc */
void *tl_object(lua_State *L, int i, tl_type t, const char *what);
void *tl_check(lua_State *L, int i, tl_type t, const char *what);
const char *tl_describe(lua_State *L, int i); /* "a number", "a tempo.Tensor" */
void tl_stress(lua_State *L);                 /* nothing but in hostile builds */
/* lua_call and lua_pcall of functions that may be the script's */
void tl_call(lua_State *L, int nargs, int nresults);
int tl_pcall(lua_State *L, int nargs, int nresults);
tl_prog *tl_program_new(lua_State *L, tl_state *S, uint64_t seed, tp_dtype d); /* pushes it */
void tl_pushprogtable(lua_State *L, tl_prog *lp);
void tl_push_program(lua_State *L, tl_prog *lp); /* its handle */
/* the one program of these values, tables included; NULL: none */
tl_prog *tl_findprog(lua_State *L, int first, int last);
/* the program whose method this is; no argument is of another */
tl_prog *tl_self(lua_State *L, const char *what);
/* value i is a handle of lp's program, or an error */
tl_prog *tl_sameprog(lua_State *L, tl_prog *lp, int i, const char *what);
void tl_pushix(lua_State *L, tl_prog *lp, tp_ix *e);
void tl_pushextent(lua_State *L, tl_prog *lp, tp_ix *e); /* a plain integer if it is one */
void tl_pushtensor(lua_State *L, tl_prog *lp, tp_val v);
void tl_pushdims(lua_State *L, tl_prog *lp, int n, tp_dims dims);
void tl_pushbuf(lua_State *L, TP_TAKE tp_buf *b); /* its text */
/* gives the script's line to nodes made now */
void tl_mark(lua_State *L, tl_prog *lp);
const char *tl_intern(tl_prog *lp, const char *file);

/* ---- error.c ---- */
/* the first frame of the script: not C, not our libraries */
bool tl_here(lua_State *L, lua_Debug *ar);
bool tl_by_library(lua_State *L); /* did a library of ours call the running function? */
void tl_errors_by(lua_State *L);  /* pops the function that makes an error's object */
int tl_fail(lua_State *L, const char *fmt, ...) TP_PRINTF(2, 3) __attribute__((noreturn));
int tl_fail_as(lua_State *L, tp_code code, const char *fmt, ...) TP_PRINTF(3, 4)
    __attribute__((noreturn));
int tl_raise(lua_State *L, const tp_error *e) __attribute__((noreturn));
/* "tempo.Array has no 'shap'; did you mean 'shape'?" */
int tl_unknown(lua_State *L, const char *what, const char *name, const char *const *names, int n)
    __attribute__((noreturn));
/* calls tempo.warn, which the script may have replaced */
void tl_warn(lua_State *L, const char *text);
void tl_warn_at(lua_State *L, tp_pos pos, const char *text);
/* once for a line of the script and `why`, with its place */
void tl_warn_once(lua_State *L, tl_prog *lp, const void *why, const char *text);

/* ---- names.c: the variables of unnamed tensors ---- */
void tl_name_variables(lua_State *L, tl_prog *lp);
void tl_learn_names(void *lp);  /* the same, from inside the core */
void tl_names_by(lua_State *L); /* pops the function that looks for them */

/* ---- options.c: arguments that several functions take ---- */
enum { TL_NAMES = 512 };
/* a table (or nil) with these keys only */
void tl_options(lua_State *L, int i, const char *what, const char *const *known);
/* pushes t[name]; false and nothing pushed: absent */
bool tl_option(lua_State *L, int i, const char *name);
/* t[name], interned in lp; NULL: absent */
const char *tl_option_string(lua_State *L, tl_prog *lp, int i, const char *name);
/* the options dtype, shape and domain of a tensor */
void tl_spec(lua_State *L, tl_prog *lp, int i, bool ordered, tp_attr *a);
int tl_count(lua_State *L, int i); /* how many keys a table has */
/* its keys that are strings, and how many */
int tl_names(lua_State *L, int i, const char *names[TL_NAMES]);
void tl_set_integer(lua_State *L, const char *key, int64_t v);
/* the length of a table with no other keys and no holes */
int tl_sequence(lua_State *L, int i, const char *what, const char *like);
bool tl_boolean(lua_State *L, int i, const char *what);
const char *tl_string(lua_State *L, int i, const char *what);
int64_t tl_integer(lua_State *L, int i, const char *what);
tp_dtype tl_dtype(lua_State *L, int i, const char *what);
/* minus: -1 counts as an extent */
int tl_shape(lua_State *L, tl_prog *lp, int i, const char *what, bool minus, tp_ixs *out);
/* ordered: as P:dim made the dims */
int tl_domain(lua_State *L, tl_prog *lp, int i, const char *what, bool ordered, tp_dims *out);
/* an integer or an integer expression */
tp_ix *tl_toix(lua_State *L, tl_prog *lp, int i, const char *what);
tp_ix *tl_tocond(lua_State *L, tl_prog *lp, int i, const char *what);

/* ---- lift.c: Lua values as operands ---- */
void tl_lift(lua_State *L, tl_prog *lp, int i, const char *what, tp_arg *out);
/* the same, but a number has no node yet: beside a tensor it needs none. tl_number makes it. */
void tl_lift_beside(lua_State *L, tl_prog *lp, int i, const char *what, tp_arg *out);
void tl_number(lua_State *L, tl_prog *lp, tp_arg *out);
/* refuses a boolean for a condition: t == 3 is one at once */
void tl_not_boolean(lua_State *L, int i, const char *what);
/* a whole number becomes i64, another has the program's dtype */
tp_val tl_lifted(lua_State *L, tl_prog *lp, int i, const char *what);
/* A value for a place of known dtype and shape, which a number or index expression fills. */
tp_val tl_lift_as(
    lua_State *L, tl_prog *lp, int i, const char *what, tp_dtype d, int rank, tp_ixs shape);

/* ---- method.c: rows of methods.def; arguments: first .. top ---- */
int tl_callmethod(lua_State *L, const tp_method *m, int first);
/* in this very program; leaves a sequence of tensors */
void tl_method_results(lua_State *L, tl_prog *lp, const tp_method *m, int first);
bool tl_method_sequence(const tp_method *m); /* its results are one sequence */
/* into the table on top: rows of these kinds; TL_NONE: as functions */
void tl_push_methods(lua_State *L, tl_state *S, const char *kinds, tl_type of);

/* ---- composed.c: bodies of methods in Lua ---- */
/* calls the body with n converted arguments; pushes the results, returns their number */
int tl_compose(lua_State *L, tl_prog *lp, const tp_method *m, int n, const tp_arg *a);
/* puts their functions besides methods into the table on top */
void tl_push_composing(lua_State *L, tl_state *S);

/* ---- loose.c: tensors without a program ---- */
int tl_loose_new(lua_State *L, const tp_method *m, int first);
/* pushes its tensor in lp's program */
void tl_materialise(lua_State *L, tl_prog *lp, int i);

/* ---- read.c ---- */
/* the key at i as one entry per dim of v's domain */
const tp_at *tl_at(lua_State *L, tl_prog *lp, tp_val v, int i);
bool tl_is_digits(lua_State *L, int i);
int tl_range_trap(lua_State *L, int i) __attribute__((noreturn));

/* ---- array.c, nested.c ---- */
tl_array *tl_pusharray(lua_State *L);                             /* still empty */
void tl_setarray(lua_State *L, tl_array *u, TP_TAKE tp_array *a); /* NULL: error memory */
tp_array *tl_toarray(lua_State *L, int i, const char *what);
/* the same, but its elements may be on a device only */
tp_array *tl_unseen(lua_State *L, int i, const char *what);
/* rows.c: the array of a tempo.rows */
tp_array *tl_torows(lua_State *L, int i, const char *what);
int tl_rows_new(lua_State *L);
void tl_charge(lua_State *L, tl_array *u);      /* its bytes to the collector */
void tl_array_empty(lua_State *L, tl_array *u); /* any number of times */
void tl_lease_drop(tl_lease *l);
void tl_pushelem(lua_State *L, const tp_array *a, int64_t k);
/* Sets element k of a from value i; code: of errors, 0: their own. */
void tl_putelem(lua_State *L, const char *what, tp_code code, tp_array *a, int64_t k, int i);
/* for messages, the same under every Lua */
const char *tl_numeral(double v, char out[32]);
/* Pushes an array of a nested table, of dtype d (own: bool if its leaves are). One with an extent 0
 * takes `shape` (rank -1: none); code as above. */
tp_array *tl_nested(lua_State *L, int i, const char *what, tp_code code, tp_dtype d, bool own,
    int rank, const int64_t *shape);
void tl_pushnested(lua_State *L, const tp_array *a);

/* ---- array_file.c, save.c ---- */
/* the entries of the table at i, sorted; pushes their memory */
tp_named *tl_named_arrays(lua_State *L, int i, int *n);
bool tl_saves_weights(const char *path); /* by its extension */

/* ---- json.c ---- */
void tl_push_json(lua_State *L, const tp_json *j); /* NULL: core.null */

/* ---- run.c: one execution ---- */
/* everything that it holds, freed by __gc or tl_run_release */
typedef struct tl_run {
  lua_State *L;
  tl_prog *lp;
  tp_ictx *ix; /* whose symbols bounds are */
  tp_run run;
  tp_arena arena; /* holds the fields below */
  int64_t *env;
  bool *given; /* by symbol */
  tp_array **inputs;
  bool *need; /* which inputs */
  int ninput;
  tp_array **out, **into; /* of a step: its results, arrays that it may write into */
  int nout;
  tp_sym *endless;          /* the bound that may be math.huge; NULL: none */
  int calls, thunk, failed; /* stack slots: table of callbacks, protected function, error value */
  bool raised;              /* the slot holds a callback's error value, or the hook's */
  /* the state whose hook is watched, and its hook when the run began or last called Lua */
  lua_State *main;
  lua_Hook hook;
  bool interrupted; /* a hook that was set since has raised an error */
  bool whole; /* a step that ends before a new hook is called: `later`, with its mask, count */
  lua_Hook later;
  int mask, count;
} tl_run;
tl_run *tl_run_new(lua_State *L, tl_prog *lp, tp_ictx *ix, int ninput, int nout);
/* drops all arrays except numbers that a step was given */
void tl_run_clear(tl_run *r);
void tl_run_release(tl_run *r);
void tl_run_bounds(lua_State *L, tl_run *r, int i, int n, tp_dims need);
/* step: takes its values at a tick; NULL: takes the whole arrays in r->need */
void tl_run_inputs(lua_State *L, tl_run *r, int i, tp_graph *g, tp_fn *step);
/* releases first; a callback's own value if there is one */
int tl_run_raise(lua_State *L, tl_run *r, const tp_error *e) __attribute__((noreturn));

/* ---- callback.c: the core calls Lua ---- */
/* sets a hook that was put off: Lua calls it at its next instruction */
void tl_run_let_hook(tl_run *r);
/* pushes the three slots, watches the hook */
void tl_run_prepare_calls(lua_State *L, tl_run *r);
bool tl_callback(void *ud, const tp_call *c, tp_error *err);
bool tl_interrupted(void *r); /* tp_run.interrupted */
/* waits until the function is compiled; both raise what the host's hook raises */
void tl_fn_wait(lua_State *L, tl_fn *u);
tp_fn *tl_compile_watched(lua_State *L, tp_program *p, tp_copts *o, tp_error *e);

/* ---- fn.c, checkpoint.c: compiled functions ---- */
tl_fn *tl_pushfn(lua_State *L, tl_prog *lp);
tl_fn *tl_fn_self(lua_State *L, const char *what); /* value 1 */
/* value 1, if nothing else uses it now */
tl_fn *tl_fn_alone(lua_State *L, const char *what, const char *may_not);
/* calls f, or without one the upvalue; value 1 cannot be freed meanwhile */
int tl_fn_use(lua_State *L, lua_CFunction f, int method);
/* A run with the bounds at i. endless: the first tick dim's may be math.huge; runs: it has places
 * for inputs. */
tl_run *tl_fn_run(lua_State *L, tl_fn *u, int i, bool runs, bool endless);
void tl_fn_seed(lua_State *L, tl_run *r, int i); /* of a table of options */
tl_saved *tl_tosaved(lua_State *L, int i, const char *what);

/* ---- functions for Lua, by file; module.c names them ---- */
void tl_pushmodule(lua_State *L); /* the module tempo */
/* pushes the module tempo.name */
void tl_require(lua_State *L, const char *name);
void tl_open_program(lua_State *L, tl_state *S);
void tl_open_index(lua_State *L, tl_state *S);
void tl_open_tensor(lua_State *L, tl_state *S);
void tl_open_loose(lua_State *L, tl_state *S);
void tl_open_array(lua_State *L, tl_state *S);
void tl_open_rows(lua_State *L, tl_state *S);
void tl_open_fn(lua_State *L, tl_state *S);
void tl_open_saved(lua_State *L, tl_state *S);
void tl_open_files(lua_State *L, tl_state *S);
void tl_open_tokenizer(lua_State *L, tl_state *S);
void tl_open_json(lua_State *L); /* values into the table on top */
int tl_define(lua_State *L);
int tl_unnamed(lua_State *L);
int tl_name_variable(lua_State *L);
int tl_error(lua_State *L);
int tl_nearest(lua_State *L);
int tl_default_warn(lua_State *L);
int tl_index_combine(lua_State *L);
int tl_index_quotient(lua_State *L);
int tl_index_range(lua_State *L);
int tl_program(lua_State *L);
int tl_declare(lua_State *L);
int tl_param(lua_State *L);
int tl_record(lua_State *L);
int tl_record_env(lua_State *L, tp_op op);
int tl_compile(lua_State *L);
int tl_grad(lua_State *L);
int tl_grad_step(lua_State *L);
int tl_read(lua_State *L);
int tl_assign(lua_State *L);
int tl_otherwise(lua_State *L);
int tl_when(lua_State *L);
int tl_may_miss(lua_State *L);
int tl_update(lua_State *L);
int tl_next(lua_State *L);
int tl_peek(lua_State *L);
int tl_array_new(lua_State *L);
int tl_array_shape(lua_State *L);
void tl_pushshape(lua_State *L, int rank, const int64_t *of); /* a table */
int tl_array_save(lua_State *L);
int tl_array_save_named(lua_State *L);
int tl_array_load(lua_State *L);
/* ---- llm.c ---- */
int tl_llm_sample(lua_State *L);
int tl_llm_keep(lua_State *L);
int tl_llm_grow(lua_State *L);
/* ---- files ---- */
int tl_open_weights(lua_State *L); /* path */
int tl_save_weights(lua_State *L); /* as tl_array_save_named, to a path that it takes */
int tl_make_folder(lua_State *L);  /* path */
int tl_make_folder(lua_State *L);  /* path */
/* kind, path[, pattern, special tokens] */
int tl_tokenizer_open(lua_State *L);
int tl_json_decode(lua_State *L);
int tl_json_encode(lua_State *L);
int tl_fn_parameters(lua_State *L);
int tl_fn_parameter(lua_State *L);
int tl_fn_fit(lua_State *L);
int tl_fn_load_param(lua_State *L);
int tl_fn_start(lua_State *L);
int tl_fn_feeds(lua_State *L);
int tl_fn_step(lua_State *L);
int tl_fn_work(lua_State *L);
int tl_fn_cancel(lua_State *L);
int tl_fn_state(lua_State *L);
int tl_fn_load_state(lua_State *L);
int tl_fn_save(lua_State *L);
int tl_fn_load(lua_State *L);
int tl_http_open(lua_State *L);
#endif
