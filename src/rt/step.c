/* step: runs a function in steps. A session keeps the run's bounds and arrays, and an executor of
 * its own, so that f can be called in between.
 *
 * The plan's callbacks TP_FN_FEED and TP_FN_SHOW (opt/tick.c) come through the door here: in a step
 * they take the given values and hand out results, in a plain run both move parts of the run's
 * arrays. */
#include "rt/fn.h"

/* ---- a point of an array over a domain ---- */

/* Copies between an array over a domain and its dense part at a point of the tick dims. */
static void move_part(const tp_fn *f, int ndom, tp_dims dom, const int64_t *point,
    const tp_array *whole, const tp_array *part, bool out) {
  int64_t at[TP_MAXRANK] = { 0 }, inner = tp_dtype_size(whole->dtype);
  bool fixed[TP_MAXRANK];
  for (int k = ndom; k < whole->rank; k++) inner *= whole->shape[k];
  for (int k = 0; k < ndom; k++) {
    fixed[k] = false;
    for (int j = 0; j < f->ntick; j++)
      if (f->tick[j] == dom[k]) {
        fixed[k] = true;
        at[k] = point[j];
      }
  }
  char *p = part->data;
  for (bool more = part->count > 0; more; p += inner) {
    int64_t place = 0;
    for (int k = 0; k < ndom; k++) place = place * whole->shape[k] + at[k];
    char *w = (char *)whole->data + place * inner;
    memcpy(out ? p : w, out ? w : p, (size_t)inner);
    int k = ndom - 1;
    while (k >= 0 && (fixed[k] || ++at[k] == whole->shape[k])) {
      if (!fixed[k]) at[k] = 0;
      k--;
    }
    more = k >= 0;
  }
}

/* ---- the door ---- */

typedef struct {
  tp_fn *f;
  const tp_run *run;
  tp_step *step;
  tp_array *const *values;
  bool (*call)(void *, const tp_call *, tp_error *);
  void *ud;
} door;

tp_array *tp_take_shown(const tp_step *s, int i, tp_array *a, const int64_t *shape) {
  tp_array *to = s->into ? s->into[i] : NULL;
  tp_error unused = { 0 };
  if (to && to->refs == 2 && tp_array_is(to, a->dtype, a->rank, shape) &&
      tp_array_touch(to, &unused)) {
    tp_array_overlay(to, a);
    return tp_array_ref(to);
  }
  return tp_array_is(a, a->dtype, a->rank, shape) ? tp_array_ref(a) : tp_array_corner(a, shape);
}

/* Hands out output i, as long as was reached: dims in `over` lead its shape. */
static bool hand(tp_step *s, int i, const tp_call *c, tp_error *err) {
  int64_t shape[TP_MAXRANK];
  memcpy(shape, c->args[0]->shape, sizeof shape);
  TP_COPYN(shape, c->reached, tp_callee_nover(c->of));
  tp_array_unref(s->out[i]); /* it may come twice in a broken state */
  s->out[i] = tp_take_shown(s, i, c->args[0], shape);
  return s->out[i] || tp_fail(err, TP_E_MEMORY, c->of->pos, "no room for what a tick shows");
}

static bool pass_door(void *ud, const tp_call *c, tp_error *err) {
  door *d = ud;
  int i = c->of->slot;
  if (c->of->fn == TP_FN_TICK) return true;
  if (c->of->fn == TP_FN_FEED && d->values) {
    if (!d->values[i])
      return tp_fail(err, TP_E_FILE, c->of->pos,
          "'%s' is taken before any tick: the run goes on from a broken state", c->of->name);
    memcpy(c->res[0]->data, d->values[i]->data, tp_array_bytes(c->res[0]));
    return true;
  }
  if (c->of->fn == TP_FN_FEED) {
    move_part(d->f, c->of->ndom, c->of->dom, c->coord, d->run->inputs[i], c->res[0], true);
    return true;
  }
  if (c->of->fn == TP_FN_SHOW) {
    if (d->run->outputs[i])
      move_part(d->f, c->of->ndom, c->of->dom, c->coord, d->run->outputs[i], c->args[0], false);
    return !d->step || !d->run->shown[i] || hand(d->step, i, c, err);
  }
  return d->call ? d->call(d->ud, c, err)
                 : tp_fail(err, TP_E_CALLBACK, c->of->pos, "nothing runs callbacks here");
}

/* Drops outputs that leave point by point: they are whole only when all points have left. */
static void drop_shown(tp_fn *f, tp_run *run) {
  for (int i = 0; i < f->graph->outputs.n; i++)
    if (f->shown[i]) run->outputs[i] = tp_array_unref(run->outputs[i]);
}

bool tp_fn_door(
    tp_fn *f, tp_run *run, bool (*execute)(tp_fn *, tp_run *, tp_error *), tp_error *err) {
  door d = { f, run, NULL, NULL, run->call, run->ud };
  run->call = pass_door;
  run->ud = &d;
  bool ok = execute(f, run, err);
  run->call = d.call;
  run->ud = d.ud;
  if (ok && tp_exec_cancelled(f->exec)) drop_shown(f, run);
  return ok;
}

/* ---- sessions ---- */

tp_session *tp_session_new(tp_fn *f, tp_error *err) {
  tp_session *s = tp_calloc(sizeof *s);
  if (s) tp_arena_init(&s->a);
  else tp_no_memory(err, f->pos);
  return s;
}

static void drop_arrays(tp_array **v, int n) {
  for (int i = 0; v && i < n; i++) tp_array_unref(v[i]);
}

tp_session *tp_session_free(tp_fn *f, tp_session *s) {
  if (!s) return NULL;
  f->engine->end(s);
  tp_run_free_outputs(f->graph, &s->run);
  drop_arrays(s->inputs, f->closed->inputs.n);
  drop_arrays(s->values, f->closed->inputs.n);
  drop_arrays(s->params, f->closed->params.n);
  tp_arena_free(&s->a);
  tp_free(s);
  return NULL;
}

static tp_array **keep_all(tp_arena *a, tp_array *const *from, int n, const bool *but) {
  tp_array **to = TP_NEWN(a, tp_array *, n);
  for (int i = 0; from && i < n; i++)
    if (from[i] && !(but && but[i])) to[i] = tp_array_ref(from[i]);
  return to;
}

bool tp_fn_is_endless(const tp_fn *f, const int64_t *env) {
  return f->ntick && env[f->tick[0]->bound->id] == TP_ENDLESS;
}

static bool has_no_end(tp_ix *n, const int64_t *env) {
  return tp_ix_evalq(n, env) > TP_ENDLESS / 2;
}

/* A loop without an end and without a tick, not counting those behind the last tick; NULL: none. */
static const tp_pnode *endless_in_a_tick(const tp_plan *p, const tp_pnode *x, const int64_t *env) {
  const tp_pnode *found = NULL;
  bool any = x->kind == TP_P_FOR && has_no_end(x->hi, env) && !tp_plan_ticks(p, x);
  for (int k = 0; x->kind == TP_P_REGION && k < x->rg->nlead; k++)
    any |= has_no_end(x->rg->lead[k], env);
  int last = x->n;
  if (x == p->body)
    while (last && !tp_plan_ticks(p, x->kid[last - 1])) last--;
  for (int i = 0; i < last && !any && !found; i++) found = endless_in_a_tick(p, x->kid[i], env);
  return any ? x : found;
}

/* Refuses an input or output over the first tick dim that does not go with the ticks: it has no
 * end. fed, shown NULL: none goes with them. */
static bool none_whole(tp_fn *f, const bool *fed, const bool *shown, const char *what,
    const char *why_input, const char *why_output, tp_error *err) {
  tp_sym *d = f->tick[0];
  for (int i = 0; i < f->closed->inputs.n; i++) {
    const tp_node *n = f->closed->inputs.v[i];
    if (tp_fn_needs_input(f, i) && !(fed && fed[i]) && tp_dom_has(n->ndom, n->dom, d))
      return tp_fail(err, TP_E_BOUND, n->pos, "'%s' cannot %s: input '%s' %s", d->bound->name, what,
          n->attr.str, why_input);
  }
  for (int i = 0; i < f->graph->outputs.n; i++) {
    const tp_output *o = &f->graph->outputs.v[i];
    const tp_node *n = o->val.node;
    if (!o->hidden && !(shown && shown[i]) && tp_dom_has(n->ndom, n->dom, d))
      return tp_fail(err, TP_E_BOUND, o->pos, "'%s' cannot %s: output '%s' %s", d->bound->name,
          what, o->name, why_output);
  }
  return true;
}

/* Moreover no buffer may mention the bound, and nothing may run over all of it between two
 * ticks. */
bool tp_fn_may_be_endless(tp_fn *f, const int64_t *env, const char *what, tp_error *err) {
  tp_sym *b = f->tick[0]->bound;
  const tp_plan *p = f->steps.plan;
  if (!none_whole(f, f->fed, f->shown, what, "is given before the first tick",
          "is whole only at the end", err))
    return false;
  for (int i = 0; p && i < p->bufs.n; i++) {
    const tp_pbuf *x = p->bufs.v[i];
    if (tp_ix_mentions(x->size, b))
      return tp_fail(err, TP_E_BOUND, f->pos, "'%s' cannot %s: '%s' is kept over all of '%s'",
          b->name, what, x->name ? x->name : "?", f->tick[0]->name);
  }
  const tp_pnode *x = p ? endless_in_a_tick(p, p->body, env) : NULL;
  return !x ||
      tp_fail(err, TP_E_BOUND, tp_pnode_line(x),
          "'%s' cannot %s: this goes through all of '%s' between two ticks", b->name, what,
          f->tick[0]->name);
}

bool tp_fn_call_may_end(tp_fn *f, const int64_t *env, tp_error *err) {
  char why[256];
  if (!tp_fn_is_endless(f, env)) return true;
  snprintf(why, sizeof why, "is over '%s'; f:start and f:step go through it tick by tick",
      f->tick[0]->name);
  return none_whole(f, NULL, NULL, "be math.huge in a call", why, why, err);
}

bool tp_no_ticks(const tp_fn *f, const tp_session *s) {
  for (int k = 0; k < f->ntick; k++)
    if (s->env[f->tick[k]->bound->id] == 0) return true;
  return false;
}

bool tp_session_open(tp_fn *f, tp_session *s, const tp_run *run, bool whole, tp_error *err) {
  tp_graph *g = f->graph;
  s->env = TP_NEWN(&s->a, int64_t, tp_nsym(g->ix));
  tp_fill_env(f, s->env, run->env);
  s->inputs = keep_all(&s->a, run->inputs, g->inputs.n, whole ? NULL : f->fed);
  s->params = keep_all(&s->a, run->params, g->params.n, NULL);
  s->values = TP_NEWN(&s->a, tp_array *, g->inputs.n);
  s->shown = TP_NEWN(&s->a, bool, g->outputs.n);
  for (int i = 0; i < g->outputs.n; i++)
    s->shown[i] = f->shown[i] && (tp_tick_depth_of(f, i) == f->ntick || !tp_no_ticks(f, s));
  s->run = (tp_run){ .env = s->env,
    .inputs = s->inputs,
    .params = s->params,
    .seed = run->seed,
    .memory = f->most,
    .fed = whole ? NULL : f->fed,
    .shown = s->shown };
  if (tp_fn_is_endless(f, s->env) && !tp_fn_may_be_endless(f, s->env, "be math.huge", err))
    return false;
  if (!tp_run_see(g, &s->run, err) || !tp_run_check(g, &s->run, err) ||
      !tp_run_check_bounds(f->steps.graph, &s->run, err))
    return false;
  if (f->steps.plan && !(s->exec = tp_fn_exec(f, f->steps.plan, err))) return false;
  if (!f->engine->room(f, s->exec, &s->run, err) || !tp_run_alloc(g, &s->run, err)) return false;
  tp_begin_params(f, s->exec, &s->run);
  s->ticks = (tp_ticks){ f->ntick, f->tick, f->fed, s->shown, NULL, f->first };
  return f->engine->begin(f, s, err);
}

/* s->run holds the given bounds and arrays */
static bool open_it(tp_fn *f, void *s, tp_error *err) {
  tp_run run = ((tp_session *)s)->run;
  run.params = f->loaded;
  return tp_session_open(f, s, &run, false, err);
}

bool tp_fn_start(tp_fn *f, const tp_run *run, tp_error *err) {
  if (!tp_fn_ticks(f, err)) return false;
  tp_session *s = tp_session_new(f, err);
  if (!s) return false;
  s->run = *run;
  if (!tp_guarded(f, open_it, s, err)) {
    tp_session_free(f, s);
    return false;
  }
  tp_settle_params(f);
  tp_session_free(f, f->session);
  f->session = s;
  tp_free(f->called);
  f->called = NULL;
  return true;
}

bool tp_fn_stepping(const tp_fn *f) { return f->session && !f->session->over; }

bool tp_fn_next_tick(const tp_fn *f, int64_t *at) {
  if (tp_fn_stepping(f) && at) TP_COPYN(at, f->session->at, f->ntick);
  return tp_fn_stepping(f);
}

/* the shape of v at a tick: its domain without the tick dims, then its own */
static int shape_at_tick(const tp_fn *f, const tp_run *run, tp_val v, int64_t *shape) {
  const tp_node *n = v.node;
  tp_sym *dom[TP_MAXRANK];
  int nd = 0;
  for (int k = 0; k < n->ndom; k++)
    if (!tp_dom_has(f->ntick, f->tick, n->dom[k])) dom[nd++] = n->dom[k];
  return tp_run_shape(run, nd, dom, tp_outof(v), shape);
}

int tp_fn_fed_shape(tp_fn *f, int i, const tp_run *run, int64_t *shape) {
  return shape_at_tick(f, run ? run : &f->session->run, tp_v(f->closed->inputs.v[i]), shape);
}

/* ---- a step ---- */

bool tp_fn_wants(const tp_fn *f, int i) { return f->fed[i] && !tp_no_ticks(f, f->session); }

static bool values_ok(tp_fn *f, const tp_step *s, tp_error *err) {
  for (int i = 0; i < f->closed->inputs.n; i++) {
    const tp_node *n = f->closed->inputs.v[i];
    int64_t shape[TP_MAXRANK];
    if (!tp_fn_wants(f, i)) continue;
    const tp_array *a = s->values ? s->values[i] : NULL;
    if (!a)
      return tp_fail(err, TP_E_INPUT, TP_NOWHERE, "'%s' is needed at each tick and was not given",
          n->attr.str);
    int rank = tp_fn_fed_shape(f, i, NULL, shape);
    if (!tp_array_see(s->values[i], err)) return false;
    if (tp_array_is(a, n->out[0].dtype, rank, shape)) continue;
    if (a->dtype != n->out[0].dtype)
      return tp_fail(err, TP_E_DTYPE, TP_NOWHERE, "value '%s' is %s, declared %s", n->attr.str,
          tp_dtype_name(a->dtype), tp_dtype_name(n->out[0].dtype));
    tp_shape_fail(err, TP_E_SHAPE, "the value at a tick of input", n, a, rank, shape, NULL);
    tp_note(err, "at a tick: its domain without the tick dims, then its shape");
    return false;
  }
  return true;
}

bool tp_hold_values(tp_fn *f, tp_session *q, const tp_step *s, tp_error *err) {
  for (int i = 0; s->values && i < f->closed->inputs.n; i++) {
    const tp_array *from = s->values[i];
    if (!f->fed[i]) continue;
    if (!q->values[i]) q->values[i] = tp_array_new(from->dtype, from->rank, from->shape);
    if (!q->values[i]) return tp_no_memory(err, f->pos);
    memcpy(q->values[i]->data, from->data, tp_array_bytes(from));
  }
  return true;
}

/* Hands out outputs that leave with the first tick, cut to the ends reached, which leave too. They
 * are copies, because the run goes on reading its own. */
static bool hand_first(tp_fn *f, tp_session *q, tp_step *s, tp_error *err) {
  int n = f->graph->outputs.n;
  bool ok = true;
  tp_array **all = q->run.outputs, **some = tp_calloc(sizeof *some * (size_t)(n + 1));
  for (int i = 0; some && ok && i < n; i++)
    if (f->first[i] && all[i])
      ok = (some[i] = f->graph->stops.n ? tp_array_corner(all[i], all[i]->shape)
                                        : tp_array_ref(all[i])) != NULL;
  if (!some || !ok) tp_fail(err, TP_E_MEMORY, f->pos, "out of memory");
  q->run.outputs = some;
  ok = some && ok && tp_fn_trim(f, &q->run, err);
  q->run.outputs = all;
  for (int i = 0; some && i < n; i++)
    if (ok && !q->shown[i]) s->out[i] = some[i];
    else tp_array_unref(some[i]);
  tp_free(some);
  return ok;
}

/* Hands out this tick's outputs without elements, which no statement of the plan shows. */
static bool hand_empty(tp_fn *f, tp_session *q, tp_step *s, tp_error *err) {
  int64_t shape[TP_MAXRANK];
  for (int i = 0; i < f->graph->outputs.n; i++) {
    tp_val v = f->graph->outputs.v[i].val;
    if (s->out[i] || !q->shown[i] || tp_tick_depth_of(f, i) < f->ntick) continue;
    int rank = shape_at_tick(f, &q->run, v, shape);
    bool empty = false;
    for (int k = 0; k < rank; k++) empty |= shape[k] == 0;
    for (int k = 0; k < v.node->ndom; k++) /* its length is not known */
      empty &=
          !tp_stop_of(f->graph, v.node->dom[k]) || tp_dom_has(f->ntick, f->tick, v.node->dom[k]);
    if (empty && !(s->out[i] = tp_array_new(tp_dtypeof(v), rank, shape)))
      return tp_no_memory(err, f->pos);
  }
  return true;
}

/* Lets the engine step, or work, with the host's functions in reach. */
static tp_stand behind_door(tp_fn *f, tp_session *q, tp_step *s, bool work, tp_error *err) {
  door d = { f, &q->run, s, work || s->values ? q->values : NULL, s->call, s->ud };
  q->run.call = pass_door;
  q->run.ud = &d;
  q->run.cancel = s->cancel;
  q->run.interrupted = s->interrupted;
  q->run.host = s->host;
  tp_stand at = work ? f->engine->work(q, s, err) : f->engine->step(f, q, s, err);
  q->run.call = NULL;
  q->run.cancel = NULL;
  q->run.interrupted = NULL;
  s->cancelled = f->engine->cancelled(q);
  return at;
}

static bool run_step(tp_fn *f, tp_session *q, tp_step *s, tp_error *err) {
  double began = tp_now();
  tp_stand at = behind_door(f, q, s, false, err);
  s->done = q->over = at == TP_AT_END;
  s->late = s->budget < 0 ? 0 : TP_MAX(tp_now() - began - s->budget, 0);
  if (at == TP_AT_ERROR) return false;
  bool first = !q->begun;
  q->begun = true;
  memcpy(q->at, q->next, sizeof q->at);
  if ((first && !hand_first(f, q, s, err)) || (s->done && !tp_fn_trim(f, &q->run, err)))
    return false;
  if (!s->cancelled && !tp_no_ticks(f, q) && !hand_empty(f, q, s, err)) return false;
  /* outputs in which ticks have a part go with the last tick */
  for (int i = 0; s->done && i < f->graph->outputs.n; i++)
    if (!q->shown[i] && !f->first[i] && q->run.outputs[i])
      s->out[i] = tp_array_ref(q->run.outputs[i]);
  return true;
}

/* ---- to the end in one call ---- */

typedef struct {
  tp_session *q;
  tp_run *run;
  tp_step s; /* without values: a tick's are in the run's arrays */
} finish;

static bool to_the_end(tp_fn *f, void *arg, tp_error *err) {
  finish *x = arg;
  const tp_run *r = x->run;
  if (!x->q->env && !tp_session_open(f, x->q, r, false, err)) return false;
  x->s = (tp_step){ .budget = -1,
    .call = r->call,
    .ud = r->ud,
    .cancel = r->cancel,
    .interrupted = r->interrupted,
    .host = r->host,
    .out = tp_calloc(sizeof *x->s.out * (size_t)(f->closed->outputs.n + 1)) };
  bool ok = x->s.out || tp_no_memory(err, f->pos);
  while (ok && !x->q->over) {
    tp_step_drop(f, &x->s);
    ok = run_step(f, x->q, &x->s, err);
  }
  if (ok && x->s.cancelled) drop_shown(f, &x->q->run);
  return ok;
}

bool tp_session_finish(tp_fn *f, tp_session *q, tp_run *run, tp_error *err) {
  finish x = { .q = q, .run = run };
  bool ok = tp_guarded(f, to_the_end, &x, err);
  run->outputs = q->run.outputs;
  q->run.outputs = NULL;
  if (!ok || x.s.cancelled) tp_newest_params(f, q->exec, true, run->outputs);
  tp_step_drop(f, &x.s);
  tp_free(x.s.out);
  return ok;
}

/* Runs until a callback cancels the run, or fails. */
bool tp_fn_run_endless(tp_fn *f, tp_run *run, tp_error *err) {
  if (!tp_fn_call_may_end(f, run->env, err) || !tp_fn_ticks(f, err)) return false;
  tp_session *q = tp_session_new(f, err);
  bool ok = q && tp_session_finish(f, q, run, err);
  tp_session_free(f, q);
  return ok;
}

/* ---- steps of the host ---- */

void tp_step_drop(tp_fn *f, tp_step *s) {
  for (int i = 0; s->out && i < f->closed->outputs.n; i++) s->out[i] = tp_array_unref(s->out[i]);
}

static bool step_it(tp_fn *f, void *s, tp_error *err) { return run_step(f, f->session, s, err); }

static bool no_session(const tp_fn *f, const char *what, tp_error *err) {
  if (tp_fn_stepping(f)) return false;
  tp_fail(err, TP_E_OPTION, f->pos,
      f->session ? "the run is over: f:start(inputs, bounds) begins another"
                 : "nothing to %s: f:start(inputs, bounds) comes first",
      what);
  return true;
}

/* Keeps what a step or work leaves, also one that failed. Returns ok. */
static bool leave(tp_fn *f, tp_step *s, bool ok) {
  tp_session *q = f->session;
  if (ok && !s->done) return tp_params_stepped(f), true;
  if (!ok || s->cancelled) tp_newest_params(f, q->exec, true, q->run.outputs);
  tp_keep_params(f, q->run.outputs);
  if (ok) return true;
  tp_step_drop(f, s);
  q->over = true;
  f->engine->end(q);
  /* its state holds the parameters, like that of any run that is over */
  for (int i = 0; i < f->closed->outputs.n; i++)
    if (!f->closed->outputs.v[i].hidden) q->run.outputs[i] = tp_array_unref(q->run.outputs[i]);
  return false;
}

bool tp_fn_step(tp_fn *f, tp_step *s, tp_error *err) {
  if (no_session(f, "step", err) || !values_ok(f, s, err)) return false;
  f->running = true;
  bool ok = tp_guarded(f, step_it, s, err);
  f->running = false;
  return leave(f, s, ok);
}

typedef struct {
  tp_step *s;
  bool waits;
} some_work;

static bool work_it(tp_fn *f, void *arg, tp_error *err) {
  some_work *w = arg;
  tp_session *q = f->session;
  tp_stand at = tp_no_ticks(f, q) ? TP_AT_TICK : behind_door(f, q, w->s, true, err);
  w->s->done = q->over = at == TP_AT_END;
  w->waits = at == TP_AT_TIME;
  return at != TP_AT_ERROR;
}

bool tp_fn_work(tp_fn *f, tp_step *s, bool *waits, tp_error *err) {
  some_work w = { s, false };
  if (no_session(f, "work on", err)) return false;
  f->running = true;
  bool ok = tp_guarded(f, work_it, &w, err);
  f->running = false;
  *waits = w.waits;
  return leave(f, s, ok);
}
