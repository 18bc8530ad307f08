/* Inside src/rt: a compiled function. */
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
/* A run in steps (step.c). exec, ref: one of the two, the engine's. */
typedef struct tp_session {
  tp_arena a; /* of its lists */
  tp_exec *exec;
  tp_refsteps *ref;
  tp_ticks ticks;
  /* values: copies, of the tick that is at work */
  tp_run run;
  int64_t *env;
  tp_array **inputs, **params, **values;
  int64_t at[TP_MAXTICK], next[TP_MAXTICK]; /* at: of the next step */
  bool begun, over;                         /* begun: some tick is done */
  /* by output: goes point by point; if no tick comes, only outputs that have all tick dims */
  bool *shown;
} tp_session;
/* The reference (refer.c), or the executor of a plan (perform.c). */
typedef struct tp_engine {
  /* a call: asks for its memory, of this executor, before its outputs are made; runs it */
  bool (*room)(tp_fn *f, tp_exec *x, tp_run *run, tp_error *err);
  bool (*run)(tp_fn *f, tp_run *run, tp_error *err);
  /* A session: up to the first tick; then one tick at a time, at q->next afterwards. */
  bool (*begin)(tp_fn *f, tp_session *q, tp_error *err);
  tp_stand (*step)(tp_fn *f, tp_session *q, const tp_step *s, tp_error *err);
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
} tp_backend;
const tp_backend *tp_backend_find(
    const char *name, tp_pos pos, tp_error *err); /* NULL: the first */
/* the code of a plan, if it has any (native.c) */
typedef struct tp_native_code tp_native_code;
typedef struct tp_beside tp_beside;
/* lengths of blocks that a limit of memory may come to */
enum { TP_MAXSHORTER = 4 };
struct tp_fn {
  tp_program *program;
  tp_beside *beside; /* what compiles it, or failed to; NULL: it is compiled */
  tp_pos pos;
  /* did: by pass, operators before and after; most: tp_run.memory */
  tp_tier tier;
  const tp_engine *engine;
  const tp_backend *backend;
  tp_switches opt;
  int did[TP_NPASS][2];
  int threads;
  const char *cflags;
  int64_t limit, most;
  /* graph: what plain runs execute; with `tick` given only judged, and steps.graph executed */
  tp_graph *closed, *graph;
  /* until its text is read: the recording, which has the arrays of constants */
  tp_graph *recorded;
  tp_buf text;
  /* as closed, but made of the recording with its ranges as recurrences; NULL: as closed */
  tp_graph *ranges;
  int nbound;
  const tp_sym **bounds;
  /* Found in the cache under `name` ("": not kept there), with `read` as its plan: poly, ranges and
   * did are missing, and graphs have no more than runs look at (tp_fn_whole). */
  bool warm;
  char name[33];
  tp_plan *read;
  tp_poly *poly;
  tp_plan *plan;
  bool keeps; /* poly->keeps */
  tp_exec *exec;
  /* of plan, of steps.plan where that is another, then both with clocks; NULL: not asked for yet */
  tp_native_code *code[4];
  /* native code has a clock at each leaf (tp_fn_clocks) */
  bool clocks;
  bool running;
  int64_t peak;
  /* limit.c. rows: of its blocks at most; 0: any. ran: what the latest run executed; NULL: f */
  int64_t rows;
  tp_fn *shorter[TP_MAXSHORTER], *ran;
  bool asked[TP_MAXSHORTER];
  /* by parameter: what runs begin with (NULL: its init), and the newest outside of the session;
   * from the closed graph on */
  tp_array **loaded, **latest;
  /* by parameter: the session has a newer one than latest */
  bool *stepped;
  /* `tick` was given: plain runs execute what steps do, for the same numbers */
  bool ticking;
  int nasked;
  const char **asked_tick; /* by `tick` */
  int ntick;
  const tp_sym **tick; /* 0: the program has several dims, or none */
  /* by inputs, outputs, outputs (see tp_ticks); NULL: not ready to step */
  bool *fed, *shown, *first;
  /* of steps; when ticking it is that of plain runs */
  tp_stages steps;
  tp_session *session;
  /* bounds of the latest call, which came after the session; NULL: none did */
  int64_t *called;
  /* reference: by node id of graph, is it needed at every point? */
  const bool *whole;
  /* objects of a compilation in progress: a failed allocation leaves them here */
  tp_need *need;
  tp_graph *trial, *other;
  tp_poly *order;
};
/* compile.c: from the text, or the program of a function that is compiled, to what runs; f has
 * options */
bool tp_pipeline(tp_fn *f, tp_error *err);
/* stages.c: all of it but what executes, for tp_making */
bool tp_fn_stages(tp_fn *f, void *unused, tp_error *err);
void tp_fn_interface(tp_fn *f);
void tp_fn_drop(tp_fn *f);  /* what compiling made */
void tp_fn_empty(tp_fn *f); /* with all else of a function that has executed nothing, and f */
/* g: the same with f's options, not compiled yet */
void tp_fn_as(tp_fn *g, const tp_fn *f);
/* warm.c. get: what the cache has; put: it will have f */
bool tp_warm_get(tp_fn *f);
void tp_warm_put(tp_fn *f);
/* compiles what a function out of the cache lacks */
bool tp_fn_whole(tp_fn *f, tp_error *err);
/* beside.c: in another thread, which leaves no more than f->beside; false: there is none */
bool tp_compile_beside(tp_fn *f);
void tp_beside_free(tp_fn *f);
/* code.c */
tp_work tp_work_on(tp_fn *f, tp_graph *g);
/* Both graphs were judged, and have the same checks first: adds the rest. */
void tp_copy_checks(tp_graph *to, const tp_graph *from);
bool tp_judge_graph(tp_fn *f, tp_error *err);        /* f->graph */
tp_graph *tp_checked_graph(tp_fn *f, tp_error *err); /* a fresh one, swept and judged */
/* Looks for an order on a copy of g, which gets the checks of bounds: the reference would meet a
 * cycle only while it runs. t: of steps; NULL: of a run at once. */
bool tp_has_order(tp_fn *f, tp_graph *g, const tp_ticks *t, tp_error *err);
tp_planned tp_planned_as(const tp_fn *f, bool ticks);
/* schedule and plan of g */
bool tp_make_code(
    tp_fn *f, tp_graph **g, const tp_ticks *t, tp_poly **poly, tp_plan **plan, tp_error *err);
/* fn(f, arg, err); an arena that finds no memory is an error */
bool tp_guarded(tp_fn *f, bool (*fn)(tp_fn *, void *, tp_error *), void *arg, tp_error *err);
/* the same for a part of compiling */
bool tp_making(tp_fn *f, bool (*fn)(tp_fn *, void *, tp_error *), void *arg, tp_error *err);
/* An environment has a place for every symbol, loop variables included, the caller's the bounds.
 * fill: one that is 0; full: one for tp_free, NULL: no memory */
void tp_fill_env(tp_fn *f, int64_t *env, const int64_t *given);
int64_t *tp_full_env(tp_fn *f, const int64_t *given);
bool tp_fn_trim(tp_fn *f, tp_run *run, tp_error *err); /* outputs to the ends reached */
/* which runs with these bounds: f, or the same with shorter blocks (limit.c) */
tp_fn *tp_fn_within(tp_fn *f, const int64_t *given);
/* native.c */
/* of f's plan, or of its steps'; native where that is the tier */
tp_exec *tp_fn_exec(tp_fn *f, const tp_plan *p, tp_error *err);
void tp_fn_code(tp_fn *f, tp_buf *out); /* as C */
void tp_fn_clocks(tp_fn *f, bool on);   /* from the next run, or step, on */
/* does native code run by now, of calls or of steps? */
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
/* counts them against the limit of whatever f runs */
void tp_hold_loaded(tp_fn *f);
/* between tp_run_alloc and the run; x NULL: the reference */
void tp_begin_params(tp_fn *f, const tp_exec *x, tp_run *run);
/* After a run that ended early: outputs that are parameters get the newest, or become NULL. copied:
 * the plan copies each value there. */
void tp_newest_params(tp_fn *f, tp_exec *x, bool copied, tp_array **outputs);
/* after it: those that were made; NULL: nothing ran */
void tp_keep_params(tp_fn *f, tp_array *const *outputs);
void tp_params_stepped(tp_fn *f); /* the session's are the newest from now on */
void tp_put_latest(tp_fn *f, int k, tp_array *a);
void tp_settle_params(tp_fn *f); /* the session is about to go: its newest stay */
/* the passes that are switches, where a tier is compiled */
bool tp_sweep_graph(tp_fn *f, tp_graph *g, tp_error *err);
/* tick.c */
bool tp_choose_ticks(tp_fn *f, tp_error *err);
bool tp_make_ticks(tp_fn *f, tp_error *err);
void tp_drop_ticks(tp_fn *f);
/* step.c: a plain run of a plan with ticks */
bool tp_fn_door(
    tp_fn *f, tp_run *run, bool (*execute)(tp_fn *, tp_run *, tp_error *), tp_error *err);
bool tp_fn_is_endless(const tp_fn *f, const int64_t *env);
/* in steps: may the bound of the first tick dim be any number? what: it cannot, otherwise */
bool tp_fn_may_be_endless(tp_fn *f, const int64_t *env, const char *what, tp_error *err);
bool tp_fn_run_endless(tp_fn *f, tp_run *run, tp_error *err);
bool tp_no_ticks(const tp_fn *f, const tp_session *s);
int tp_tick_depth_of(const tp_fn *f, int output);
/* copies: work that waits reads them after the host has written the next values. A step without
 * values has them in the whole arrays of the run. */
bool tp_hold_values(tp_fn *f, tp_session *q, const tp_step *s, tp_error *err);
/* the first elements of a, in the array given for output i if they fit there */
tp_array *tp_take_shown(const tp_step *s, int i, tp_array *a, const int64_t *shape);
tp_session *tp_session_new(tp_fn *f, tp_error *err);
/* whole: inputs with the tick dims are there too */
bool tp_session_open(tp_fn *f, tp_session *s, const tp_run *run, bool whole, tp_error *err);
/* Runs what is left, of one that is not open yet all of run; the outputs go to run. */
bool tp_session_finish(tp_fn *f, tp_session *q, tp_run *run, tp_error *err);
tp_session *tp_session_free(tp_fn *f, tp_session *s);
bool tp_explain(tp_fn *f, const char *section, const int64_t *env, tp_buf *out, tp_error *err);
bool tp_explains_plan(const char *section);        /* it is said of the plan alone */
void tp_dump_stage(const char *section, tp_fn *f); /* to stderr if TEMPO_DUMP names it */
#endif
