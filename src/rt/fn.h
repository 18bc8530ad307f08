/* Inside src/rt: a compiled function, and what its files ask of each other. */
#ifndef TP_RT_FN_H
#define TP_RT_FN_H
#include "rt/rt.h"
#include "grad/grad.h"
#include "rt/passes.h"
#include "ref/ref.h"
#include "poly/poly.h"
#include "plan/plan.h"
#include "interp/interp.h"
typedef struct tp_stages {
  tp_graph *graph;
  tp_poly *poly;
  tp_plan *plan;
} tp_stages;
/* A run in steps (step.c). The engine has one of exec and ref. */
typedef struct tp_session {
  tp_arena a; /* of its lists */
  tp_exec *exec;
  tp_refsteps *ref;
  tp_ticks ticks;
  /* values: copies of this tick's values */
  tp_run run;
  int64_t *env;
  tp_array **inputs, **params, **values;
  int64_t at[TP_MAXTICK], next[TP_MAXTICK]; /* at: of the next step */
  bool begun, over;                         /* begun: some tick is done */
  /* by output: does it leave point by point? If no tick comes, only outputs with all tick dims
   * do */
  bool *shown;
} tp_session;
/* The reference (refer.c), or the executor of a plan (perform.c). */
typedef struct tp_engine {
  /* A call: room asks executor x for its memory before outputs are made; run runs it. */
  bool (*room)(tp_fn *f, tp_exec *x, tp_run *run, tp_error *err);
  bool (*run)(tp_fn *f, tp_run *run, tp_error *err);
  /* A session: begin runs up to the first tick, step one tick, after which q->next is the next
   * point. */
  bool (*begin)(tp_fn *f, tp_session *q, tp_error *err);
  tp_stand (*step)(tp_fn *f, tp_session *q, const tp_step *s, tp_error *err);
  /* between two steps: what is left, as long as the step's budget lasts; TP_AT_TICK: nothing is */
  tp_stand (*work)(tp_session *q, const tp_step *s, tp_error *err);
  bool (*cancelled)(const tp_session *q);
  /* get: see tp_exec_get */
  void (*put)(tp_session *q, tp_buf *b);
  bool (*get)(tp_session *q, tp_reader *r, const int64_t *was, tp_error *err);
  void (*end)(tp_session *q);
} tp_engine;
extern const tp_engine tp_engine_reference, tp_engine_plan;
/* backend.c */
typedef struct tp_backend {
  const char *name;
  const tp_target *target;
  const tp_offload *offload; /* NULL: the host itself */
  const struct tp_gdriver *device;
} tp_backend;
/* which: of several devices of that kind. name NULL: the first backend. */
const tp_backend *tp_backend_find(const char *name, int *which, tp_pos pos, tp_error *err);
/* the code of a plan, if it has any (native.c) */
typedef struct tp_native_code tp_native_code;
typedef struct tp_beside tp_beside;
/* how many lengths of blocks are tried under a limit of memory */
enum { TP_MAXSHORTER = 4 };
struct tp_fn {
  tp_program *program;
  tp_beside *beside; /* the thread that compiles it, or failed to; NULL: it is compiled */
  tp_pos pos;
  /* did: by pass, operators before and after; most: tp_run.memory */
  tp_tier tier;
  const tp_engine *engine;
  const tp_backend *backend;
  int which; /* of its devices */
  tp_switches opt;
  int did[TP_NPASS][2];
  int threads;
  const char *cflags;
  int64_t limit, most;
  /* graph: plain runs execute it; if `tick` is given it is only judged, and steps.graph is
   * executed */
  tp_graph *closed, *graph;
  /* the recording, which has the arrays of constants, until its text is read */
  tp_graph *recorded;
  tp_buf text;
  /* the closed graph of the recording with ranges as recurrences; NULL: it is `closed` */
  tp_graph *ranges;
  int nbound;
  tp_sym **bounds;
  /* Found in the cache under `name` ("": not kept there), with `read` as its plan: poly, ranges and
   * did are missing, and graphs hold only what runs need (tp_fn_whole makes the rest). */
  bool warm;
  char name[33];
  tp_plan *read;
  tp_poly *poly;
  tp_plan *plan;
  bool keeps; /* poly->keeps */
  tp_exec *exec;
  /* The code of plan, of steps.plan if that is another, then of both with clocks; NULL: not asked
   * for. */
  tp_native_code *code[4];
  /* native code has a clock at each leaf (tp_fn_clocks) */
  bool clocks;
  bool running;
  int64_t peak;
  /* limit.c. rows: most rows of a block; 0: any number. ran: the function that the latest run
   * executed; NULL: f. */
  int64_t rows;
  tp_fn *shorter[TP_MAXSHORTER], *ran;
  bool asked[TP_MAXSHORTER];
  /* By parameter, once the graph is closed: the value that runs begin with (NULL: its init), and
   * the newest one outside of the session. */
  tp_array **loaded, **latest;
  /* by parameter: the session has a newer one than latest */
  bool *stepped;
  /* `tick` was given: plain runs execute the code of steps, so that numbers are the same */
  bool ticking;
  int nasked;
  const char **asked_tick; /* names in `tick` */
  int ntick;
  tp_sym **tick; /* 0: the program has several dims, or none */
  /* by inputs, outputs, outputs (see tp_ticks); NULL: not ready to step */
  bool *fed, *shown, *first;
  /* of steps; when ticking also of plain runs */
  tp_stages steps;
  tp_session *session;
  /* bounds of the latest call, which came after the session; NULL: none did */
  int64_t *called;
  /* reference: by node id of graph, is it needed at every point? */
  const bool *whole;
  /* objects of a compilation in progress, to be freed if memory fails */
  tp_need *need;
  tp_graph *trial, *other;
  tp_poly *order;
};
/* compile.c: compiles the text, or the program of a function that is compiled, by f's options */
bool tp_pipeline(tp_fn *f, tp_error *err);
/* stages.c: the same without an executor, for tp_making */
bool tp_fn_stages(tp_fn *f, void *unused, tp_error *err);
void tp_fn_interface(tp_fn *f);
void tp_fn_drop(tp_fn *f);  /* frees what compiling made */
void tp_fn_empty(tp_fn *f); /* frees a function that has executed nothing */
/* makes g the same function with f's options, not compiled yet */
void tp_fn_as(tp_fn *g, const tp_fn *f);
/* warm.c. get takes f from the cache, put puts it there */
bool tp_warm_get(tp_fn *f);
void tp_warm_put(tp_fn *f);
/* compiles the parts that a function out of the cache lacks */
bool tp_fn_whole(tp_fn *f, tp_error *err);
/* beside.c: compiles in another thread, which changes only f->beside; false: there is no thread */
bool tp_compile_beside(tp_fn *f);
void tp_beside_free(tp_fn *f);
/* code.c */
tp_work tp_work_on(tp_fn *f, tp_graph *g);
/* Both graphs were judged and begin with the same checks: adds the remaining ones of `from`. */
void tp_copy_checks(tp_graph *to, const tp_graph *from);
bool tp_judge_graph(tp_fn *f, tp_error *err);        /* f->graph */
tp_graph *tp_checked_graph(tp_fn *f, tp_error *err); /* a new graph, swept and judged */
/* Looks for an order of a copy of g, and gives g its checks of bounds: the reference would meet a
 * cycle only while it runs. t: the ticks of steps; NULL: of a run at once. */
bool tp_has_order(tp_fn *f, tp_graph *g, const tp_ticks *t, tp_error *err);
tp_planned tp_planned_as(const tp_fn *f, bool ticks);
/* makes the schedule and plan of g */
bool tp_make_code(
    tp_fn *f, tp_graph **g, const tp_ticks *t, tp_poly **poly, tp_plan **plan, tp_error *err);
/* calls fn(f, arg, err); a lack of memory becomes an error */
bool tp_guarded(tp_fn *f, bool (*fn)(tp_fn *, void *, tp_error *), void *arg, tp_error *err);
/* the same for a part of compiling */
bool tp_making(tp_fn *f, bool (*fn)(tp_fn *, void *, tp_error *), void *arg, tp_error *err);
/* An environment has a place for every symbol, loop variables included; the caller gives the
 * bounds. fill fills one that is 0; full makes one for tp_free, NULL: no memory. */
void tp_fill_env(tp_fn *f, int64_t *env, const int64_t *given);
int64_t *tp_full_env(tp_fn *f, const int64_t *given);
bool tp_fn_trim(tp_fn *f, tp_run *run, tp_error *err); /* cuts outputs to the ends reached */
/* the function that runs with these bounds: f, or the same with shorter blocks (limit.c) */
tp_fn *tp_fn_within(tp_fn *f, const int64_t *given);
/* native.c */
/* the executor of f's plan, or of its steps'; of native code if that is the tier */
tp_exec *tp_fn_exec(tp_fn *f, const tp_plan *p, tp_error *err);
void tp_fn_code(tp_fn *f, tp_buf *out); /* prints the C */
void tp_fn_clocks(tp_fn *f, bool on);   /* from the next run, or step, on */
/* does native code run calls or steps by now? */
bool tp_fn_is_native(const tp_fn *f);
const char *tp_fn_why_not_native(const tp_fn *f); /* NULL: it does, or may yet */
void tp_code_free(tp_fn *f);
/* threads.c */
void tp_fn_threads(tp_buf *b, const tp_fn *f); /* which thread runs which leaves */
/* options.c */
bool tp_choose_options(tp_fn *f, const tp_copts *o, tp_error *err);
/* params.c */
void tp_params_free(tp_fn *f);
int64_t tp_loaded_bytes(const tp_fn *f);
/* counts loaded parameters against the limit of the function that f runs */
void tp_hold_loaded(tp_fn *f);
/* between tp_run_alloc and the run; x NULL: the reference */
void tp_begin_params(tp_fn *f, const tp_exec *x, tp_run *run);
/* After a run that ended early: outputs that are parameters get the newest, or become NULL. copied:
 * the plan copies each value there. */
void tp_newest_params(tp_fn *f, tp_exec *x, bool copied, tp_array **outputs);
/* after the run: keeps the parameters that it made; NULL: nothing ran */
void tp_keep_params(tp_fn *f, tp_array *const *outputs);
void tp_params_stepped(tp_fn *f); /* the session's are the newest from now on */
void tp_put_latest(tp_fn *f, int k, tp_array *a);
void tp_settle_params(tp_fn *f); /* keeps the newest of a session that is about to go */
/* runs the passes that are switches, for compiled tiers */
bool tp_sweep_graph(tp_fn *f, tp_graph *g, tp_error *err);
/* tick.c */
bool tp_choose_ticks(tp_fn *f, tp_error *err);
bool tp_make_ticks(tp_fn *f, tp_error *err);
void tp_drop_ticks(tp_fn *f);
/* step.c: a plain run of a plan with ticks */
bool tp_fn_door(
    tp_fn *f, tp_run *run, bool (*execute)(tp_fn *, tp_run *, tp_error *), tp_error *err);
bool tp_fn_is_endless(const tp_fn *f, const int64_t *env);
/* May the bound of the first tick dim be any number in steps? what: begins the error if it may
 * not. */
bool tp_fn_may_be_endless(tp_fn *f, const int64_t *env, const char *what, tp_error *err);
bool tp_fn_run_endless(tp_fn *f, tp_run *run, tp_error *err);
bool tp_no_ticks(const tp_fn *f, const tp_session *s);
int tp_tick_depth_of(const tp_fn *f, int output);
/* Copies the step's values, because work that waits reads them after the host has written the next
 * ones. A step without values takes them from the run's whole arrays. */
bool tp_hold_values(tp_fn *f, tp_session *q, const tp_step *s, tp_error *err);
/* the first elements of a, written into the array given for output i if they fit there */
tp_array *tp_take_shown(const tp_step *s, int i, tp_array *a, const int64_t *shape);
tp_session *tp_session_new(tp_fn *f, tp_error *err);
/* whole: inputs with the tick dims are there too */
bool tp_session_open(tp_fn *f, tp_session *s, const tp_run *run, bool whole, tp_error *err);
/* Runs the rest of the session (all of run if it is not open yet); the outputs go to run. */
bool tp_session_finish(tp_fn *f, tp_session *q, tp_run *run, tp_error *err);
tp_session *tp_session_free(tp_fn *f, tp_session *s);
bool tp_explain(tp_fn *f, const char *section, const int64_t *env, tp_buf *out, tp_error *err);
bool tp_explains_plan(const char *section);        /* does it explain the plan alone? */
void tp_dump_stage(const char *section, tp_fn *f); /* to stderr if TEMPO_DUMP names it */
#endif
