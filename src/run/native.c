/* native.c: runs compiled parts of the plan. A part's function runs all of it and calls back for
 * leaves of the interpreter. A run that is split, poisoned, or has a buffer in a file interprets
 * the part instead, with the same result. */
#include "run/priv.h"
#include "os/os.h"

/* The run's exec; x is that, or the exec of a thread of a team. */
static tp_exec *of_run(tp_exec *x) { return x->worker ? x->worker->all->x : x; }

static int native_leaf(void *exec, int pos) {
  tp_exec *x = exec;
  const tp_inst *i = x->flow->loadat[pos];
  if (x->worker) return !tp_team_leaf(x->worker, pos);
  if (!i) return !tp_dreg_run(x, x->regat[pos]);
  x->env[i->var] = tp_dend_most(x, i->end, tp_dx_get(&i->hi, x->env));
  return 0;
}

/* Any region of the outermost loop may stand for the run's place. */
static int native_cancelled(void *exec, int pos) {
  tp_worker *w = ((tp_exec *)exec)->worker;
  tp_exec *x = of_run(exec);
  int at = pos;
  if (w && w->who) return __atomic_load_n(&w->all->over, __ATOMIC_RELAXED);
  while (at < x->plan->npos && !x->regat[at]) at++;
  if (at == x->plan->npos || !tp_run_ends(x->run)) return 0;
  tp_dreg_cancelled(x, x->regat[at]);
  if (w) tp_team_fails(w, pos, true);
  return 1;
}

static int native_fault(void *exec, int pos, int what, const int64_t *lead) {
  tp_worker *w = ((tp_exec *)exec)->worker;
  tp_exec *x = of_run(exec);
  x->running = true;
  tp_rfault(x, x->regat[pos], lead, what);
  if (w) tp_team_fails(w, pos, true);
  return 1;
}

static tp_clock *clock_at(tp_exec *x, int pos, int loop) {
  const tp_inst *i = x->flow->inst;
  if (loop < 0) return x->regat[pos]->clock;
  tp_loopclock *l = &x->flow->loopclock[pos];
  if (l->clock.calls) return &l->clock;
  while (i->op != TP_I_FOR || i->var != loop || i->node->pos != pos) i++;
  l->inst = (int)(i - x->flow->inst);
  return &l->clock;
}

/* Only the first thread of a team uses the clocks. */
static void native_enter(void *exec, int pos, int loop) {
  tp_exec *x = of_run(exec);
  if (x != exec && ((tp_exec *)exec)->worker->who) return;
  tp_clock *c = clock_at(x, pos, loop);
  x->timed = c->calls++ == c->next;
  if (x->timed) x->entered = tp_clock_begin(x, c);
}

static void native_leave(void *exec, int pos, int loop) {
  tp_exec *x = of_run(exec);
  if (x != exec && ((tp_exec *)exec)->worker->who) return;
  if (x->timed) tp_clock_end(x, clock_at(x, pos, loop), x->entered);
}

/* A meeting of one thread alone. */
static int native_meet(void *exec) {
  tp_worker *w = ((tp_exec *)exec)->worker;
  return w && !tp_crew_meet(w->all->crew);
}

static double *stride_from(const tp_flow *f, const tp_inst *i) { return &f->stride[i - f->inst]; }

/* Notes how long the thread ran since it looked at f->at; an old maximum fades. It looks at i. */
static void look_at_time(tp_flow *f, const tp_inst *i) {
  double now = tp_os_thread_clock(), *most = stride_from(f, f->at);
  *most = TP_MAX(now - f->looked, *most * 0.99);
  f->looked = now;
  f->at = i;
}

/* Is there time to go on from i to where the run looks next? Unknown: no. */
static bool has_time(const tp_flow *f, const tp_inst *i, double until) {
  double most = *stride_from(f, i);
  return most > 0 && tp_now() + most < until;
}

/* Leaves a part in front of an iteration for which there is no time, but not the first. */
static int native_pause(void *exec, int entry) {
  tp_flow *f = ((tp_exec *)exec)->flow;
  const tp_inst *i = f->inst;
  while (i->part != f->at->part || i->entry != entry) i++;
  bool fresh = f->fresh;
  f->fresh = false;
  look_at_time(f, i);
  if (fresh || has_time(f, i, f->until)) return 0;
  f->left = i;
  return 1;
}

tp_host tp_native_host(tp_exec *x) {
  static const bool goes_on;
  const tp_worker *w = x->worker;
  const bool *cancel = w && w->who ? &w->all->over : x->run->cancel;
  return (tp_host){ .env = x->env,
    .base = x->base,
    .rows = x->rows,
    .cancel = (const volatile unsigned char *)(cancel ? cancel : &goes_on),
    .exec = x,
    .leaf = native_leaf,
    .cancelled = native_cancelled,
    .fault = native_fault,
    .seed = x->run->seed,
    .turn = x->target->turn,
    .who = w ? w->who : 0,
    .meets = w       ? w->all->meets
        : x->workers ? x->workers->never
                     : NULL,
    .meet = native_meet,
    .enter = native_enter,
    .leave = native_leave,
    .team = tp_native_team };
}

/* The first time that it is interpreted, a part, or an iteration, tells how long native code takes
 * at most. */
static void learn(tp_flow *f, const tp_inst *i) {
  if (*stride_from(f, i) > 0 || f->ends) return;
  f->at = i;
  f->ends = i->entry ? i : f->inst + i->next;
  f->looked = tp_os_thread_clock();
}

void tp_native_learnt(tp_flow *f) {
  look_at_time(f, NULL);
  f->ends = NULL;
}

bool tp_native_takes(tp_exec *x, const tp_inst *i, double until) {
  tp_flow *f = x->flow;
  bool may = i->part && f->native && (!f->split || !i->mixed) && !x->poison && !x->mem->file.p;
  if (may && until && !has_time(f, i, until)) return learn(f, i), false;
  return may && (!f->late || (i->entry && !--f->late));
}

bool tp_native_run(tp_exec *x, const tp_inst *i, double until) {
  tp_clock *c = &x->flow->partclock[i->part - 1];
  tp_flow *f = x->flow;
  tp_native *fn = f->native[i->part - 1];
  tp_host h = tp_native_host(x);
  (f->inback ? &f->back : &f->front)->pc = (int)(i - f->inst);
  h.entry = i->entry;
  f->left = NULL;
  f->ends = NULL;
  f->fresh = true;
  f->until = until;
  f->at = i;
  if (until) h.pause = native_pause, f->looked = tp_os_thread_clock();
  bool timed = c->calls++ == c->next;
  double from = timed ? tp_clock_begin(x, c) : 0;
  bool ok = !fn(&h) || f->left;
  if (timed) tp_clock_end(x, c, from);
  if (until && !f->left) look_at_time(f, NULL);
  return ok;
}

void tp_exec_native(tp_exec *x, tp_native *const *fn) {
  tp_flow *f = x->flow;
  f->native = fn;
  if (!fn || f->partclock) return;
  f->partclock = TP_NEWN(&x->a, tp_clock, x->plan->npos + 1);
  f->stride = TP_NEWN(&x->a, double, f->ninst);
  f->loopclock = TP_NEWN(&x->a, tp_loopclock, x->plan->npos + 1);
}

#define ASK_EACH 1e-3 /* seconds */

void tp_exec_ask(tp_exec *x, tp_codeask *ask, void *ud) {
  x->flow->ask = ask;
  x->flow->asked = ud;
}

static void ask_now(tp_exec *x) {
  tp_flow *f = x->flow;
  tp_native *const *fn = NULL;
  double ran = f->ran;
  f->ran = 0;
  if (!f->ask(f->asked, ran, &fn)) return;
  f->ask = NULL;
  tp_exec_native(x, fn);
}

void tp_native_ask(tp_exec *x) {
  double now = tp_now(), took = now - x->flow->asking;
  if (took < ASK_EACH) return;
  x->flow->asking = now;
  x->flow->ran += took;
  ask_now(x);
}

void tp_native_begin(tp_exec *x) {
  if (!x->flow->ask) return;
  ask_now(x);
  x->flow->asking = tp_now();
}

void tp_native_end(tp_exec *x) {
  if (x->flow->ask) x->flow->ran += tp_now() - x->flow->asking;
}
