/* perform: the engine that runs by the executor of a plan. */
#include "rt/fn.h"

static bool perform_room(tp_fn *f, tp_exec *x, tp_run *run, tp_error *err) {
  return tp_exec_room(x, run, err);
}

static bool perform_run(tp_fn *f, tp_run *r, tp_error *err) {
  bool ok = tp_exec_run(f->exec, r, err);
  f->peak = tp_exec_peak(f->exec);
  return ok;
}

static bool perform_begin(tp_fn *f, tp_session *q, tp_error *err) {
  return tp_exec_begin(q->exec, &q->run, err);
}

/* ---- a tick ---- */

/* Is no tick left inside the point of the outer `depth` tick dims? */
static bool last_inside(const tp_fn *f, const tp_session *s, int depth) {
  for (int k = depth; k < f->ntick; k++)
    if (s->at[k] + 1 < s->env[f->tick[k]->bound->id]) return false;
  return true;
}

/* How many outputs go with this tick, if no dim ends by data. */
static int count_shown(const tp_fn *f, const tp_session *s) {
  int n = 0;
  for (int i = 0; i < f->graph->outputs.n; i++)
    n += s->shown[i] && last_inside(f, s, tp_tick_depth_of(f, i));
  return n;
}

static void next_point(const tp_fn *f, tp_session *s) {
  memcpy(s->next, s->at, sizeof s->at);
  for (int k = f->ntick - 1; k >= 0; k--) {
    if (++s->next[k] < s->env[f->tick[k]->bound->id]) return;
    s->next[k] = 0;
  }
}

/* Runs this tick's outputs first, then work that later ticks need, oldest first, as long as there
 * is time. If dims end by data the number of outputs is unknown: then all work that cannot wait
 * comes first. */
static tp_stand within_budget(
    const tp_fn *f, tp_session *q, const tp_step *s, int nshow, double began, tp_error *err) {
  double until = began + s->budget;
  tp_stand at = TP_AT_SHOWN;
  if (!tp_exec_split(q->exec, true, err)) return TP_AT_ERROR;
  if (nshow || f->graph->stops.n)
    at = tp_exec_go(q->exec, &(tp_goal){ .tick = true, .shown = nshow }, err);
  if (at == TP_AT_ERROR || at == TP_AT_END || tp_now() >= until) return at;
  if (!tp_exec_rest(q->exec, until, err)) return TP_AT_ERROR;
  if (at != TP_AT_TICK && tp_now() < until)
    at = tp_exec_go(q->exec, &(tp_goal){ .tick = true, .until = until }, err);
  return at != TP_AT_TICK || tp_now() >= until || tp_exec_rest(q->exec, until, err) ? at
                                                                                    : TP_AT_ERROR;
}

static tp_stand one_tick(tp_fn *f, tp_session *q, const tp_step *s, tp_error *err) {
  double began = tp_now();
  tp_stand at = tp_exec_go(q->exec, &(tp_goal){ .tick = true }, err);
  if (at != TP_AT_TICK) return at;
  tp_exec_tick(q->exec, q->at);
  bool last = last_inside(f, q, 0);
  int nshow = f->graph->stops.n ? 0 : count_shown(f, q);
  if (!tp_hold_values(f, q, s, err)) return TP_AT_ERROR;
  tp_exec_pass(q->exec);
  if (s->budget >= 0 && !last) return within_budget(f, q, s, nshow, began, err);
  return tp_exec_split(q->exec, false, err) ? tp_exec_go(q->exec, &(tp_goal){ .tick = true }, err)
                                            : TP_AT_ERROR;
}

static tp_stand perform_step(tp_fn *f, tp_session *q, const tp_step *s, tp_error *err) {
  tp_stand at = one_tick(f, q, s, err);
  f->peak = tp_exec_peak(q->exec);
  if (at != TP_AT_TICK || !tp_exec_tick(q->exec, q->next)) next_point(f, q);
  return at;
}

/* Oldest first, at least one region. */
static tp_stand perform_work(tp_session *q, const tp_step *s, tp_error *err) {
  double until = s->budget < 0 ? 0 : tp_now() + s->budget;
  tp_stand at = TP_AT_TIME;
  bool waited = tp_exec_waits(q->exec);
  if (waited && !tp_exec_rest(q->exec, until, err)) return TP_AT_ERROR;
  if (!waited || !until || tp_now() < until)
    at = tp_exec_go(q->exec, &(tp_goal){ .tick = true, .until = until }, err);
  if (at == TP_AT_TICK && (!until || tp_now() < until) && !tp_exec_rest(q->exec, until, err))
    return TP_AT_ERROR;
  return at == TP_AT_TICK && tp_exec_waits(q->exec) ? TP_AT_TIME : at;
}

static bool perform_cancelled(const tp_session *q) { return tp_exec_cancelled(q->exec); }

/* ---- states ---- */

static void perform_put(tp_session *q, tp_buf *b) { tp_exec_put(q->exec, b); }

static bool perform_get(tp_session *q, tp_reader *r, const int64_t *was, tp_error *err) {
  int64_t at[TP_MAXTICK];
  if (!tp_exec_get(q->exec, r, was)) return false;
  return !tp_exec_tick(q->exec, at) || !memcmp(at, q->at, sizeof *at * (size_t)q->ticks.n);
}

static void perform_end(tp_session *q) { q->exec = tp_exec_free(q->exec); }

const tp_engine tp_engine_plan = { perform_room, perform_run, perform_begin, perform_step,
  perform_work, perform_cancelled, perform_put, perform_get, perform_end };
