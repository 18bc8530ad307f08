/* refer: the engine that runs by the reference evaluator. */
#include "rt/fn.h"

/* ---- memory ---- */

static int64_t referred(void *ud, int64_t *env) {
  const tp_fn *f = ud;
  tp_run_given(f->graph, env);
  tp_run run = { .env = env };
  return tp_sum_bytes(tp_run_outputs(f->graph, &run, NULL, NULL),
      tp_ref_bytes(f->graph, f->whole, env, NULL, NULL));
}

static bool refer_room(tp_fn *f, tp_exec *x, tp_run *run, tp_error *err) {
  tp_graph *g = f->graph;
  tp_allowance a;
  int n = 0;
  if (tp_fn_is_endless(f, run->env)) return true;
  tp_arena mine;
  tp_scratch_init(&mine);
  int64_t *env = tp_dup(&mine, run->env, sizeof *env * (size_t)tp_nsym(g->ix)),
          need = referred(f, env);
  bool fits = tp_run_may(run, need, 0, &a);
  if (!fits) {
    tp_piece *v = TP_NEWN(&mine, tp_piece, g->outputs.n + g->nodes.n);
    tp_run_outputs(g, run, v, &n);
    tp_ref_bytes(g, f->whole, run->env, v, &n);
    tp_run_refuse(err, &(tp_demand){ g->ix, referred, f }, env, &a, need, v, n);
  }
  tp_arena_free(&mine);
  return fits;
}

/* ---- runs ---- */

static bool refer_run(tp_fn *f, tp_run *r, tp_error *err) { return tp_ref_run(f->graph, r, err); }

static bool refer_begin(tp_fn *f, tp_session *q, tp_error *err) {
  return (q->ref = tp_ref_begin(f->graph, &q->run, &q->ticks, err)) != NULL;
}

/* Copies into the caller's arrays: the reference shows fresh ones. */
static void write_into(const tp_fn *f, const tp_step *s) {
  for (int i = 0; i < f->closed->outputs.n; i++) {
    tp_array *fresh = s->out[i];
    if (fresh) s->out[i] = tp_take_shown(s, i, fresh, fresh->shape);
    tp_array_unref(fresh);
  }
}

static tp_stand refer_step(tp_fn *f, tp_session *q, const tp_step *s, tp_error *err) {
  double until = s->budget < 0 ? 0 : tp_now() + s->budget;
  bool none = tp_no_ticks(f, q), more = false;
  if (!none && !tp_hold_values(f, q, s, err)) return TP_AT_ERROR;
  if (!none && !tp_ref_show(q->ref, q->at, s->values, s->out, q->next, &more, err))
    return TP_AT_ERROR;
  write_into(f, s);
  bool last = !more;
  if (!tp_ref_rest(q->ref, last, last ? 0 : until, err)) return TP_AT_ERROR;
  return last || tp_ref_cancelled(q->ref) ? TP_AT_END : TP_AT_TICK;
}

/* The rest is known to be done only if the time was enough. */
static tp_stand refer_work(tp_session *q, const tp_step *s, tp_error *err) {
  double until = s->budget < 0 ? 0 : tp_now() + s->budget;
  if (!tp_ref_rest(q->ref, false, until, err)) return TP_AT_ERROR;
  return tp_ref_cancelled(q->ref)  ? TP_AT_END
      : !until || tp_now() < until ? TP_AT_TICK
                                   : TP_AT_TIME;
}

static bool refer_cancelled(const tp_session *q) { return tp_ref_cancelled(q->ref); }

static void refer_put(tp_session *q, tp_buf *b) { tp_ref_put(q->ref, b); }

static bool refer_get(tp_session *q, tp_reader *r, const int64_t *was, tp_error *err) {
  return tp_ref_get(q->ref, r, was, err);
}

static void refer_end(tp_session *q) { q->ref = tp_ref_end(q->ref); }

const tp_engine tp_engine_reference = { refer_room, refer_run, refer_begin, refer_step, refer_work,
  refer_cancelled, refer_put, refer_get, refer_end };
