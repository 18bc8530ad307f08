/* native.c: parts of the plan that are compiled. Where a run comes to the begin of one, its function runs all of it; it calls back for what the interpreter does. A run
 * that is split, poisoned, or keeps a buffer in a file goes through the instructions of the part instead: both leave the same behind. */
#include "run/priv.h"
#define TP_FN static inline
#include "kern/prelude/native.h"

static int native_leaf(void *exec, int pos) {
  tp_exec *x = exec;
  const tp_inst *i = x->flow->loadat[pos];
  if (!i) return !tp_dreg_run(x, x->regat[pos]);
  x->env[i->var] = tp_dend_most(x, i->end, tp_dx_get(&i->hi, x->env));
  return 0;
}

/* Any region of the same outermost loop stands for where the run is. */
static int native_cancelled(void *exec, int pos) {
  tp_exec *x = exec;
  while (pos < x->plan->npos && !x->regat[pos]) pos++;
  return pos < x->plan->npos && tp_run_ends(x->run) && !tp_dreg_cancelled(x, x->regat[pos]);
}

static int native_fault(void *exec, int pos, int what, const int64_t *lead) {
  tp_exec *x = exec;
  x->running = true;
  return !tp_rfault(x, x->regat[pos], lead, what);
}

bool tp_native_takes(const tp_exec *x, const tp_inst *i, const tp_goal *g) {
  return i->part && x->flow->native && (!x->flow->split || !i->mixed) && !x->poison && !x->mem->map && !g->until;
}

bool tp_native_run(tp_exec *x, const tp_inst *i) {
  static const unsigned char goes_on;
  x->flow->front.pc = (int)(i - x->flow->inst);
  tp_host h = { x->env, x->base, x->run->cancel ? (const volatile unsigned char *)x->run->cancel : &goes_on, x, native_leaf, native_cancelled, native_fault };
  return !x->flow->native[i->part - 1](&h);
}

void tp_exec_native(tp_exec *x, tp_native *const *fn) { x->flow->native = fn; }
