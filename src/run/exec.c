/* exec.c: makes, binds and runs a plan. */
#include "run/priv.h"
#include <stdlib.h>

static bool compile(tp_exec *x, const struct tp_gdriver *driver, int which) {
  const tp_ictx *ix = x->plan->ix;
  int nbuf = x->plan->bufs.n;
  x->flow = TP_NEW(&x->a, struct tp_flow);
  x->mem = TP_NEW(&x->a, struct tp_store);
  x->nsym = tp_nsym(ix);
  x->env = x->flow->front.env = TP_NEWN(&x->a, int64_t, x->nsym);
  x->flow->back.env = TP_NEWN(&x->a, int64_t, x->nsym);
  x->bound = TP_NEWN(&x->a, int, x->nsym);
  for (int i = 0; i < x->nsym; i++)
    if (tp_sym_at(ix, i)->kind == TP_SYM_BOUND) x->bound[x->nbound++] = i;
  x->mem->offset = TP_NEWN(&x->a, int64_t, nbuf);
  x->mem->spilled = TP_NEWN(&x->a, tp_spilled, nbuf);
  x->base = TP_NEWN(&x->a, char *, nbuf);
  x->count = TP_NEWN(&x->a, int64_t, nbuf);
  x->rows = TP_NEWN(&x->a, const int64_t *, nbuf);
  x->copied = TP_NEWN(&x->a, tp_array *, nbuf);
  x->written = TP_NEWN(&x->a, int, nbuf);
  x->regat = TP_NEWN(&x->a, tp_dreg *, x->plan->npos);
  for (int i = 0; i < nbuf; i++) x->written[i] = -1;
  tp_spill_new(x);
  if (!x->target->open(x) || (x->offload && !x->offload->open(x, driver, which)) || !tp_flow_new(x))
    return false;
  tp_first_new(x);
  return x->target->ready(x);
}

tp_exec *tp_exec_new(const tp_plan *p, const tp_target *t, tp_error *err) {
  return tp_exec_new_on(p, t, NULL, NULL, 0, err);
}

tp_exec *tp_exec_new_on(const tp_plan *p, const tp_target *t, const tp_offload *o,
    const struct tp_gdriver *driver, int which, tp_error *err) {
  tp_exec *x = tp_calloc(sizeof *x);
  if (!x) return tp_no_memory(err, TP_NOWHERE), NULL;
  tp_arena_init(&x->a);
  x->plan = p;
  x->target = t;
  x->offload = o;
  x->err = err;
  tp_guard oom;
  if (!TP_GUARDED(&oom)) {
    tp_no_memory(err, TP_NOWHERE);
    return tp_exec_free(x);
  }
  bool ok = compile(x, driver, which);
  tp_unguard(&oom);
  return ok ? x : tp_exec_free(x);
}

tp_exec *tp_exec_free(tp_exec *x) {
  if (!x) return NULL;
  for (int i = 0; i < x->nreg; i++)
    if (x->reg[i]->rg->kind == TP_RG_CALL) tp_call_free(x->reg[i]);
    else tp_watch_free(x->reg[i]);
  for (int i = 0; x->copied && i < x->plan->bufs.n; i++) tp_array_unref(x->copied[i]);
  tp_workers_free(x);
  x->target->close(x);
  if (x->device) x->offload->close(x);
  if (x->mem) {
    tp_pages_free(x->mem->arena, (size_t)x->mem->total);
    tp_spill_close(x);
  }
  tp_arena_free(&x->a);
  tp_free(x);
  return NULL;
}

/* Peak bytes. A poisoned run has one thread, but the others' room counts too. */
int64_t tp_exec_peak(const tp_exec *x) {
  return (x->poison ? tp_sum_bytes(x->mem->top, tp_workers_room(x, x->count)) : x->mem->total) +
      tp_spill_most(x);
}

static bool bind(tp_exec *x) {
  x->bound_once = x->running = false;
  if (!tp_take_memory(x)) return false;
  for (int i = 0; i < x->plan->bufs.n; i++)
    if (x->plan->bufs.v[i]->kind != TP_BUF_WORK &&
        !tp_ix_eval(x->plan->bufs.v[i]->size, x->env, &x->count[i]))
      return tp_fail(x->err, TP_E_MEMORY, TP_NOWHERE, "these bounds need more than 2^63 elements");
  tp_flow_bind(x);
  for (int i = 0; i < x->nreg; i++)
    if (!tp_dreg_bind(x, x->reg[i])) return false;
  if (!tp_workers_bind(x)) return false;
  x->bound_once = true;
  return true;
}

tp_array *tp_exec_array(const tp_exec *x, const tp_pbuf *b) {
  const tp_run *r = x->run;
  tp_array *const *given = b->kind == TP_BUF_INPUT ? r->inputs
      : b->kind == TP_BUF_OUTPUT                   ? r->outputs
      : b->kind == TP_BUF_PARAM                    ? r->params
                                                   : NULL;
  tp_array *a = b->kind == TP_BUF_CONST ? b->data : given ? given[b->slot] : NULL;
  return a && a->row && a->shape[0] == 1 ? a->row[0] : a;
}

/* Is all of the run the host's? */
static bool at_home(const tp_exec *x) { return !x->device || x->poison || tp_arena_spills(x); }

/* A buffer without an array has no elements, but an address. */
static bool place_buffer(tp_exec *x, const tp_pbuf *b) {
  static char nowhere[64];
  x->base[b->id] = nowhere;
  x->rows[b->id] = NULL;
  x->copied[b->id] = tp_array_unref(x->copied[b->id]);
  tp_array *a = tp_exec_array(x, b);
  if (b->kind == TP_BUF_TEMP && x->mem->spilled[b->id].chunk)
    x->base[b->id] = x->mem->file.p + x->mem->spilled[b->id].at;
  else if (b->kind == TP_BUF_TEMP && x->mem->offset[b->id] >= 0)
    x->base[b->id] = x->mem->arena + x->mem->offset[b->id];
  if (b->kind == TP_BUF_WORK || b->kind == TP_BUF_TEMP || (b->kind == TP_BUF_PARAM && !a))
    return true;
  if (!a && x->count[b->id] > 0)
    return tp_fail(x->err, TP_E_INPUT, TP_NOWHERE, "'%s' is needed and was not given",
        b->name ? b->name : "?");
  if (a && (a->dtype != b->dtype || a->count < x->count[b->id]))
    return tp_fail(x->err, TP_E_INPUT, TP_NOWHERE, "'%s' has another dtype or shape than declared",
        b->name ? b->name : "?");
  if (a && at_home(x) && !tp_array_see(a, x->err)) return false;
  if (a && a->row && b->by_rows && !x->device) x->rows[b->id] = a->place;
  else if (a && a->row &&
      !(a = x->copied[b->id] =
              at_home(x) ? tp_array_dense(a) : tp_array_blank(a->dtype, a->rank, a->shape)))
    return tp_fail(x->err, TP_E_MEMORY, TP_NOWHERE, "no memory for a dense copy of '%s'",
        b->name ? b->name : "?");
  if (a && a->data) x->base[b->id] = a->data;
  return true;
}

bool tp_exec_room(tp_exec *x, tp_run *run, tp_error *err) {
  x->run = run;
  x->err = err;
  x->placed = false;
  x->env = x->flow->front.env;
  bool changed = !x->bound_once;
  for (int i = 0; i < x->nbound; i++) {
    int id = x->bound[i];
    changed |= x->env[id] != run->env[id];
    x->env[id] = run->env[id];
  }
  tp_plan_given(x->plan, x->env);
  return !changed || bind(x);
}

bool tp_exec_begin(tp_exec *x, tp_run *run, tp_error *err) {
  if (!tp_exec_room(x, run, err)) return false;
  x->poison = tp_setting("TEMPO_POISON") != NULL;
  for (int i = 0; i < x->plan->bufs.n; i++)
    if (!place_buffer(x, x->plan->bufs.v[i])) return false;
  x->flow->late = tp_setting("TEMPO_LATE") ? atoi(tp_setting("TEMPO_LATE")) : 0;
  if (!tp_poison_begin(x)) return false;
  x->cancelled = false;
  x->placed = true;
  x->ended = x->torn = -1;
  memset(x->begun, 0, sizeof *x->begun * (size_t)x->plan->bufs.n);
  tp_flow_begin(x);
  return !x->device || x->offload->begin(x);
}

/* Nothing of this tick comes after the callback that cancels, or it was made behind the device. */
static bool is_cancelled_late(tp_exec *x, tp_stand s) {
  const tp_inst *i = x->flow->inst + x->flow->front.pc, *end = x->flow->inst + x->flow->ninst;
  while (i < end && i->op != TP_I_REGION && i->op != TP_I_SHOW) i++;
  return s != TP_AT_ERROR && s != TP_AT_END && i < end && x->run->cancel &&
      __atomic_load_n(x->run->cancel, __ATOMIC_RELAXED) && !tp_dreg_cancelled(x, i->rg);
}

tp_stand tp_exec_go(tp_exec *x, const tp_goal *g, tp_error *err) {
  x->err = err;
  x->looked = 0;
  tp_native_begin(x);
  tp_stand s = tp_flow_run(x, g);
  bool over = s == TP_AT_END && !g->tick && !x->cancelled;
  if (x->device && !x->offload->settle(x, over)) s = TP_AT_ERROR;
  if (is_cancelled_late(x, s)) s = TP_AT_ERROR;
  tp_native_end(x);
  tp_workers_rest(x);
  if (s == TP_AT_ERROR) tp_spill_rest(x);
  return s == TP_AT_ERROR && x->cancelled ? TP_AT_END : s;
}

void tp_exec_pass(tp_exec *x) {
  x->flow->front.pc++;
  x->flow->nshown = 0;
}

bool tp_exec_rest(tp_exec *x, double until, tp_error *err) {
  x->err = err;
  bool ok = tp_flow_catch_up(x, until);
  if (x->device) ok &= x->offload->settle(x, false);
  if (!ok) tp_spill_rest(x);
  return ok || x->cancelled;
}

bool tp_exec_waits(const tp_exec *x) {
  const tp_flow *f = x->flow;
  return f->split && tp_flow_before(x, &f->back, &f->front);
}

bool tp_exec_split(tp_exec *x, bool split, tp_error *err) {
  /* with a file one cursor would use rows that the other has let go */
  if (split == x->flow->split || !x->flow->behind || (split && x->mem->file.p)) return true;
  if (!split && !tp_exec_rest(x, 0, err)) return false;
  tp_flow_split(x, split);
  return true;
}

void tp_exec_tell(const tp_exec *x, tp_buf *out) {
  if (x->device) x->offload->tell(x, out);
  else tp_puts(out, "everything runs on the host\n");
}

int64_t tp_arena_place(const tp_exec *x, int buf) { return x->mem->offset[buf]; }
int64_t tp_arena_bytes(const tp_exec *x) { return x->mem->total; }
bool tp_arena_spills(const tp_exec *x) { return x->mem->file.p != NULL; }

bool tp_exec_cancelled(const tp_exec *x) { return x->cancelled; }

bool tp_exec_run(tp_exec *x, tp_run *run, tp_error *err) {
  return tp_exec_begin(x, run, err) &&
      tp_exec_go(x, &(tp_goal){ .tick = false }, err) != TP_AT_ERROR;
}
