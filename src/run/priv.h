/* Inside src/run: instructions, cursors, memory, threads, and what the files ask of each other. */
#ifndef TP_RUN_PRIV_H
#define TP_RUN_PRIV_H
#include "run/target.h"
#include "base/pool.h"
#define TP_FN static inline
#include "kernels/prelude/native.h"
#include "os/os.h"

/* Ends by data: tests whether a row exists (tp_rows), and finds the greatest end of rows that
 * do. */
typedef struct {
  tp_dx at, given;
  int along;
  tp_dnd nd;
} tp_drows;
typedef struct {
  tp_dnd nd;
  int nrow;
  tp_drows *rows;
} tp_dend;

/* ---- the plan's tree as a row of instructions (lay.c): a run is at an instruction, with values of
 * the loop variables ---- */
/* SHOW: a region that gives a point of an output away */
typedef enum {
  TP_I_REGION,
  TP_I_SHOW,
  TP_I_TICK,
  TP_I_FOR,
  TP_I_NEXT,
  TP_I_IF,
  TP_I_JUMP,
  TP_I_LOAD,
  TP_I_SPILL,
  TP_I_FETCH,
  TP_I_BEHIND,
  TP_I_WAIT
} tp_dop;
typedef enum { TP_TEST_TRUE, TP_TEST_GE0, TP_TEST_EQ0 } tp_dtest;
typedef struct tp_inst {
  tp_dop op;
  tp_dtest test; /* IF: what must hold of cond's value */
  /* The next instruction: of a FOR without iterations (behind its NEXT), of a NEXT (the body's
   * first), of an IF that fails, of a JUMP, behind a BEHIND. */
  int to;
  int up; /* the FOR around it; -1: none */
  int var, step, way;
  bool made; /* SPILL, FETCH: var is the buffer */
  /* FOR, NEXT: hi is evaluated in each iteration; LOAD: hi is the given bound; SPILL, FETCH: hi
   * rows from lo on; BEHIND, WAIT: lo is the row */
  tp_dx lo, hi, cond;
  /* the plan's position of the next region from here on */
  int pos;
  int side; /* the BEHIND around it; -1: none */
  /* A part of the plan begins here: its number, from 1 on, and the instruction after it; 0: none.
   * mixed: some of it runs behind or waits for that. */
  int part, next;
  bool mixed;
  /* the same of a team */
  int team, beyond;
  /* the node of the plan that begins here, and the instruction behind it; NULL: none does */
  const tp_pnode *node;
  int behind;
  int entry; /* NEXT of a loop at which the part may be entered: its number there, from 1 on */
  tp_dreg *rg;
  tp_dend *end; /* LOAD */
} tp_inst;
#define TP_WAY(dim) ((dim) + 1) /* the way in which a buffer lies in the file */
/* A place in the instructions; pos: of the last region that ran. If dims end by data, the later of
 * two cursors may run fewer regions. */
typedef struct tp_cursor {
  int pc, pos;
  int64_t *env;
} tp_cursor;

/* inst: the loop's FOR, once it ran */
typedef struct tp_loopclock {
  tp_clock clock;
  int inst;
} tp_loopclock;

typedef struct tp_flow {
  int ninst;
  tp_inst *inst;
  const tp_inst **loadat;   /* by position: a LOAD */
  tp_native *const *native; /* by part; NULL: not compiled */
  tp_clock *partclock;      /* by part; NULL: none has run */
  /* by position of a loop inside a part; NULL: no code with clocks ran */
  tp_loopclock *loopclock;
  /* is there code by now? NULL: there is, or never will be */
  tp_codeask *ask;
  void *asked;
  /* seconds of running since `ask` was called; the time when that was last counted */
  double ran, asking;
  /* A part that runs: the time at which it stops (0: none), where and when it last looked, and by
   * instruction the longest that it takes from there to its next look (0: unknown). fresh: it has
   * not looked at an iteration. ends: where a part that is interpreted looks; NULL: nowhere */
  double until, looked, *stride;
  const tp_inst *at, *ends;
  bool fresh;
  /* left: NEXT of the loop whose iteration native code has yet to begin, while the cursor is at
   * leftpc; NULL: none */
  const tp_inst *left;
  int leftpc;
  /* TEMPO_LATE: iterations until a run may go on in native code */
  int late;
  /* split: front leaves BEHIND (there is some) to back, which follows it */
  tp_cursor front, back;
  bool behind;
  bool split, inback;
  int64_t backrow; /* work left of rows below that is done */
  int nshown;      /* since the last tick */
} tp_flow;

typedef struct tp_store {
  int64_t *offset;
  int64_t total;
  char *arena;         /* TEMP buffers */
  tp_spilled *spilled; /* by buffer */
  tp_os_map file;      /* theirs */
  /* grain: bytes that are mapped and counted together; can pages be mapped ahead? */
  int64_t page, grain;
  bool populates;
  bool alone; /* there is no room for threads to work in */
  /* other bytes that count against the limit (tp_exec_hold) */
  int64_t held;
  int64_t beside; /* bytes of the file that are mapped at a time, at most */
  /* if poisoned: which of the file's grains, and how many, are mapped */
  unsigned char *touched;
  int64_t ntouched, mosttouched;
  int64_t top; /* if poisoned: the end of the used bytes */
} tp_store;

/* native.c */
/* May a compiled part run from here on? */
bool tp_native_takes(tp_exec *x, const tp_inst *i, double until);
/* false: the run ends; f->left: it was left at an iteration */
bool tp_native_run(tp_exec *x, const tp_inst *i, double until);
void tp_native_learnt(tp_flow *f); /* it came to f->ends */
void tp_native_ask(tp_exec *x);    /* between iterations */
void tp_native_begin(tp_exec *x);  /* and end: around a run */
void tp_native_end(tp_exec *x);
tp_host tp_native_host(tp_exec *x); /* of a run, or of a thread of a team */
/* team.c: a team's threads */
/* at: position at which it failed */
typedef struct tp_worker {
  struct tp_workers *all;
  int who;
  tp_exec x;
  tp_error err;
  tp_cursor at;
} tp_worker;
typedef struct tp_workers {
  tp_exec *x;
  int n;
  tp_worker *w; /* [0]: the thread that runs x, with its variables */
  const tp_teams *teams;
  bool *works; /* by team: is it worth it for these bounds? */
  /* by team: seconds to wait for threads that meet in it; 0: they do not meet */
  double *gather;
  /* by position: they meet before it; never: all 0, for one thread alone */
  unsigned char *meets, *never;
  /* by position: would parts of a cut leaf make other bits than the whole? The first thread runs
   * it */
  bool *alone;
  bool over;     /* the run is cancelled */
  tp_crew *crew; /* while it runs; NULL: none was taken yet */
} tp_workers;
void tp_workers_free(tp_exec *x);
bool tp_workers_bind(tp_exec *x);
void tp_workers_rest(tp_exec *x); /* gives threads to other runs */
/* Bytes of memory in which all threads work; bytes: of each buffer. */
int64_t tp_workers_room(const tp_exec *x, const int64_t *bytes);
bool tp_team_takes(const tp_exec *x, const tp_inst *i, const tp_goal *g);
/* false: not all threads are there, and nothing ran */
bool tp_team_run(tp_exec *x, const tp_inst *i, bool *ok);
int tp_native_team(void *exec, int id, tp_native *fn, const tp_host *h); /* tp_host.team */
/* One thread runs a leaf; false: the thread ends. fails: it failed there; alone: with the run's
 * error. */
bool tp_team_leaf(tp_worker *w, int pos);
bool tp_team_fails(tp_worker *w, int pos, bool alone);
/* meet.c: fills works and meets */
bool tp_team_judge(tp_workers *all);
/* watch.c */
void tp_watch_new(tp_exec *x, tp_dreg *r); /* replaces r->run */
void tp_watch_free(tp_dreg *r);
/* first.c */
void tp_first_new(tp_exec *x);
bool tp_first_runs(tp_exec *x, const tp_dreg *r); /* does a region with `first` run? */
/* a run goes on there, so regions before it have run */
void tp_first_passed(tp_exec *x, int pos);
/* region.c */
tp_dreg *tp_dreg_new(tp_exec *x, const tp_pnode *p);
bool tp_dreg_bind(tp_exec *x, tp_dreg *r); /* to the bounds in x->env */
bool tp_dreg_execute(tp_exec *x, tp_dreg *r);
/* the same by the clock; profile.c */
bool tp_dreg_run(tp_exec *x, tp_dreg *r);
/* around an execution that is counted elsewhere */
double tp_clock_begin(tp_exec *x, tp_clock *c);
void tp_clock_end(tp_exec *x, tp_clock *c, double from);
double tp_clock_seconds(const tp_clock *c); /* of all executions */
/* name of the tensor that it makes; NULL: none */
const char *tp_profile_name(const tp_exec *x, const tp_region *r);
void tp_profile_work(tp_buf *b, const tp_region *r); /* describes it in few words */
/* lay.c, turn.c, flow.c */
static inline bool tp_is_leaf(const tp_inst *i) {
  return i->op == TP_I_REGION || i->op == TP_I_SHOW || i->op == TP_I_TICK;
}
const tp_inst *tp_flow_turn(tp_exec *x, const tp_inst *i, bool leaves);
const tp_inst *tp_flow_stop(tp_exec *x, const tp_inst *i);
bool tp_flow_new(tp_exec *x); /* lays the plan out */
void tp_flow_bind(tp_exec *x);
tp_stand tp_flow_run(tp_exec *x, const tp_goal *g);
/* runs back up to front, or until that time */
bool tp_flow_catch_up(tp_exec *x, double until);
/* Goes from one instruction to another with x's variables, and calls fn at each region until it is
 * false. */
bool tp_flow_through(tp_exec *x, const tp_inst *i, const tp_inst *to,
    bool (*fn)(void *ud, const tp_inst *i), void *ud);
void tp_flow_begin(tp_exec *x);
void tp_flow_split(tp_exec *x, bool split);
void tp_flow_settle(tp_exec *x, tp_cursor *c); /* to the next region or tick */
/* the BEHIND that it is in; NULL: none */
const tp_inst *tp_flow_side(const tp_exec *x, const tp_cursor *c);
/* Is the cursor at a place where its loop variables may have their values? */
bool tp_flow_possible(const tp_exec *x, const tp_cursor *c);
/* Is a further behind than b? */
bool tp_flow_before(const tp_exec *x, const tp_cursor *a, const tp_cursor *b);

/* resolve.c */
/* compiles operands; sets dynamic, wrapped */
void tp_dreg_windows(tp_exec *x, tp_dreg *r);
tp_drows *tp_drows_new(tp_exec *x, int n, const tp_rows *rows);
void tp_drows_bind(tp_drows *r, int n, const int64_t *env);
void tp_end_place(const tp_exec *x, tp_dnd *d); /* finds its extents, strides and place */
/* does row `at`, of so many axes, exist? Its nd is placed */
bool tp_drows_there(const tp_exec *x, const tp_drows *r, int naxis, const tp_walk *at);
tp_dend *tp_dend_new(tp_exec *x, const tp_pnode *load);
/* the greatest end, at most the given bound */
int64_t tp_dend_most(const tp_exec *x, tp_dend *e, int64_t given);
void tp_dreg_resolve(tp_exec *x, tp_dreg *r); /* extents and strides for env */
void tp_dnd_bind(tp_dnd *d, const int64_t *env);
/* arena.c */
/* for x->env: takes the arena, and the file if the limit needs one */
bool tp_take_memory(tp_exec *x);
/* file.c */
void tp_spill_new(tp_exec *x);
/* bytes of the file that so many of a buffer take */
int64_t tp_spill_space(const tp_exec *x, int64_t bytes);
bool tp_spill_open(tp_exec *x, int64_t bytes);
void tp_spill_close(tp_exec *x);
void tp_run_spill(tp_exec *x, const tp_inst *i); /* of buffers in the file */
void tp_run_fetch(tp_exec *x, const tp_inst *i);
/* unmaps all of the file */
void tp_spill_rest(tp_exec *x);
bool tp_spill_poison(tp_exec *x);
/* if poisoned: is no more mapped than was planned? */
bool tp_spill_touch(tp_exec *x, const tp_dreg *r, const tp_dnd *d);
int64_t tp_spill_most(const tp_exec *x);
/* copies dense or strided windows */
static inline void tp_copy(const tp_exec *x, int size, const tp_view *out, const tp_view *in) {
  x->target->copy(x, size, &(tp_dnd){ .wrap = -1, .v = *out }, &(tp_dnd){ .wrap = -1, .v = *in });
}
/* call.c */
void tp_call_new(tp_exec *x, tp_dreg *r);
void tp_call_bind(tp_exec *x, tp_dreg *r);
void tp_call_free(tp_dreg *r);
/* envs.c */
bool tp_run_env(tp_exec *x, tp_dreg *r);
/* poison.c: makes memory NaN that nothing has written, or whose value is dead (TEMPO_POISON) */
bool tp_poison_begin(tp_exec *x);
/* before a region runs; false: a window leaves its buffer */
bool tp_poison_region(tp_exec *x, const tp_dreg *r);
#endif
