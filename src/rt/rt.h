/* rt: programs, their compilation, and runs. Rank 11. The Lua binding (lua) and include/tempo.h
 * (api) stand on this header.
 *
 * A tp_program is a recording. tp_compile makes a tp_fn of its text (compile.c, stages.c): options,
 * the passes of passes.def over the graph, order and plan (code.c); or takes the plan from a cache
 * (warm.c); another thread may do it (beside.c). tp_fn_run runs it at once, tp_fn_start and
 * tp_fn_step tick by tick (step.c), by the reference (refer.c) or the executor of a plan
 * (perform.c), with native code if there is any (native.c, cc.c). params.c, state.c, explain.c,
 * export.c: parameters, states, explanations, files of C. */
#ifndef TP_RT_H
#define TP_RT_H
#include "graph/graph.h"
#include "graph/methods/methods.h"
#include "graph/run.h"

/* A program that is recorded, or that of a compiled function; it has an index context of its
 * own. */
typedef struct tp_program {
  int refs;
  tp_ictx *ix;
  tp_graph *g; /* recording; fns clone it */
  int ncall;   /* callbacks so far: attr.fn numbers */
  uint64_t seed;
} tp_program;
tp_program *tp_program_new(uint64_t seed); /* NULL: no memory */
tp_program *tp_program_ref(tp_program *p);
tp_program *tp_program_unref(tp_program *p); /* NULL */

typedef enum {
#define T(ID, name) TP_TIER_##ID,
#include "rt/tiers.def"
#undef T
  TP_NTIER
} tp_tier;
extern const char *const tp_tier_names[TP_NTIER];
bool tp_tier_parse(const char *s, tp_tier *t);
enum { TP_MAXTICK = 64 };
typedef struct tp_copts {
  int nout;
  const tp_output *outputs; /* may be none if the program has a sink */
  tp_tier tier;
  /* NULL: defaults; "none"; or "evolve=false,cse=true", as TEMPO_PASSES */
  const char *passes;
  bool precise, reproducible;
  /* NULL, "none"; "nan" */
  const char *check;
  /* flags for native code's compiler; NULL: none */
  const char *cflags;
  const char *device; /* NULL, "cpu", "cuda", "opencl:1" */
  int threads;        /* 0: default */
  /* The limit in bytes. 0: the machine's memory. TP_MEMORY_ANY: none. */
  int64_t memory;
#define TP_MEMORY_ANY ((int64_t)-1)
  /* dims that steps go through; 0: the program's only one */
  int ntick;
  tp_dims tick;
  /* another thread compiles it: only tp_fn_ready and tp_fn_free may be called before tp_fn_wait */
  bool async;
  /* compiling calls it now and then, and fails if it is true; NULL: there is none */
  bool (*interrupted)(void *host);
  void *host;
  tp_pos pos; /* line of P:compile */
} tp_copts;

/* Device i: the CPU is 0; false: there are no more. name: "" if it is not known. missing: why it
 * cannot be used, or stays empty; a kind without a device counts as one that is missing. */
typedef struct tp_device_row {
  char device[16]; /* what options and TEMPO_DEVICE call it */
  char name[96];
  int64_t memory;
} tp_device_row;
bool tp_devices(int i, tp_device_row *to, tp_buf *missing);

typedef struct tp_fn tp_fn;
/* TEMPO_TIER, TEMPO_PASSES, TEMPO_DUMP, TEMPO_THREADS, TEMPO_MEMORY, TEMPO_CHECK win over opts. */
tp_fn *tp_compile(tp_program *p, const tp_copts *opts, tp_error *err);
tp_fn *tp_fn_free(tp_fn *f);      /* ends its compilation too */
bool tp_fn_ready(const tp_fn *f); /* tp_fn_wait would not wait */
/* Waits until it is compiled. False: err is the error of compiling (each time), or
 * interrupted(host), which is called now and then, ended the wait. */
bool tp_fn_wait(tp_fn *f, bool (*interrupted)(void *host), void *host, tp_error *err);
/* The closed graph: inputs, outputs (hidden ones are parameters), parameters by PINIT number. */
tp_graph *tp_fn_graph(tp_fn *f);
/* the bounds that must be given */
int tp_fn_bounds(tp_fn *f, tp_dims *out);
bool tp_fn_needs_input(tp_fn *f, int i); /* input i of tp_fn_graph()->inputs */
/* ---- parameters (params.c), by the number of their PINIT ---- */
int tp_fn_nparam(tp_fn *f);
/* the PARAM node as recorded; attr.str, attr.dom, attr.along and out[0] are there */
const tp_node *tp_fn_param(tp_fn *f, int k);
/* Does the array fit parameter k, as far as no bound decides? Errors: dtype, shape. */
bool tp_fn_param_fits(tp_fn *f, int k, const tp_array *a, tp_error *err);
/* sets the first value of later runs; the array fits */
void tp_fn_load_param(tp_fn *f, int k, TP_TAKE tp_array *a);
/* is its newest value the array that was loaded, not one of f's own? */
bool tp_fn_param_borrowed(tp_fn *f, int k);
/* Borrowed: the newest value, made by a step or a run (also one that ended early), or loaded since;
 * NULL: none. */
tp_array *tp_fn_param_value(tp_fn *f, int k);
/* Checks bounds and arrays, allocates run->outputs, executes. Not to be called while f runs. */
bool tp_fn_run(tp_fn *f, tp_run *run, tp_error *err);
/* ---- steps (tick.c, step.c) ---- */
/* Begins a run in steps and drops the one that was begun before. run has bounds, inputs without the
 * tick dims and seed, which are all kept. */
bool tp_fn_start(tp_fn *f, const tp_run *run, tp_error *err);
typedef struct tp_step {
  /* by input: the values at this tick of those with the tick dims */
  tp_array *const *values;
  double budget; /* seconds; < 0: none */
  bool (*call)(void *ud, const tp_call *c, tp_error *err);
  void *ud;
  bool *cancel;
  bool (*interrupted)(void *host);
  void *host; /* as in tp_run */
  bool done, cancelled;
  double late; /* results; late: seconds over the budget */
  /* By output, the caller's places, all NULL before: references to the value at this tick, or to
   * the whole of an output that is complete; NULL: not yet. tp_step_drop drops them. */
  tp_array **out;
  /* By output, NULL or an array into which the value may be written: the caller holds it twice;
   * with a third reference, or another shape, it stays as it is. The list may be NULL. */
  tp_array *const *into;
} tp_step;
/* an error ends the run, unless a given value is wrong */
bool tp_fn_step(tp_fn *f, tp_step *s, tp_error *err);
/* Between two steps: work of ticks gone through that a budget has left, for s->budget seconds.
 * *waits: some is left still. Takes and gives no values; an error ends the run. */
bool tp_fn_work(tp_fn *f, tp_step *s, bool *waits, tp_error *err);
void tp_step_drop(tp_fn *f, tp_step *s);
bool tp_fn_stepping(const tp_fn *f); /* between start and the last tick */
int tp_fn_tick_dims(const tp_fn *f, tp_dims *out);
/* at (if not NULL) becomes the point of the next step; false: no run is going on */
bool tp_fn_next_tick(const tp_fn *f, int64_t *at);
/* makes f ready to step */
bool tp_fn_ticks(tp_fn *f, tp_error *err);
/* does input i come with the steps? After tp_fn_ticks */
bool tp_fn_fed(const tp_fn *f, int i);
/* does the next step of the run that is going on want input i? */
bool tp_fn_wants(const tp_fn *f, int i);
tp_sym *tp_fn_endless(const tp_fn *f); /* the bound that may be endless; NULL: none */
/* ---- states (state.c) ---- a session between two ticks as bytes, for the same program */
bool tp_fn_state(tp_fn *f, tp_buf *out, tp_error *err);
/* after an error f is as before */
bool tp_fn_load_state(tp_fn *f, const void *p, size_t n, tp_error *err);
/* the same in a file, which is replaced whole */
bool tp_fn_save(tp_fn *f, const char *path, tp_error *err);
bool tp_fn_load(tp_fn *f, const char *path, tp_error *err);
/* Does the rest of the state's run in one call: run has bounds, and at least inputs with the tick
 * dims. */
bool tp_fn_resume(tp_fn *f, tp_run *run, const void *p, size_t n, tp_error *err);
/* may a call end at these bounds? If not, an error of class bound */
bool tp_fn_call_may_end(tp_fn *f, const int64_t *env, tp_error *err);
#define TP_ENDLESS (((int64_t)1 << 60) + 1) /* a number that is no plausible bound */
/* The shape of input i for a step: its domain without the tick dims, then its shape. run NULL: the
 * run in steps. */
int tp_fn_fed_shape(tp_fn *f, int i, const tp_run *run, int64_t *shape);
void tp_fn_outputs_free(tp_fn *f, tp_run *run);
/* Explains f as text. section NULL: a summary; env: bounds, for sizes in bytes; may be NULL. */
bool tp_fn_explain(tp_fn *f, const char *section, const int64_t *env, tp_buf *out, tp_error *err);
/* Tells where the time of all runs, or of the steps since the last start, went: a line for each
 * region. */
bool tp_fn_profile(tp_fn *f, int rows, tp_buf *out, tp_error *err);
/* between runs: should profiles and traces see inside of native code's parts? */
bool tp_fn_inside(tp_fn *f, bool on, tp_error *err);

bool tp_fn_trace(tp_fn *f, const char *path, tp_error *err);
/* Writes path.h, path.c, path.weights and path_main.c: f for these bounds as C99 that needs no
 * tempo, with its newest parameters. */
bool tp_fn_export(tp_fn *f, const char *path, const int64_t *env, tp_error *err);
/* Predicted peak bytes of our buffers for these bounds; -1: the tier plans no memory. */
int64_t tp_fn_memory(tp_fn *f, const int64_t *env, tp_error *err);
/* Peak bytes that the last run really had allocated. */
int64_t tp_fn_peak(const tp_fn *f);
/* Goes through the schedule at these bounds point by point, without data; the error says which rule
 * it breaks. *known: there is a schedule, and it does not end by data. */
bool tp_fn_simulate(tp_fn *f, const int64_t *env, bool *known, tp_error *err);
/* Computes one point of v by the reference evaluator, without compiling. */
TP_GIVE tp_array *tp_program_peek(
    tp_program *p, tp_val v, tp_run *run, const int64_t *at, tp_error *err);
#endif
