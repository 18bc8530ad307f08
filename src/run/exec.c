/* exec.c: making, binding and running a plan. */
#include "run/priv.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- errors and working memory ---- */

/* " at t = 3, i = 2"; "" where the region has no coordinates. */
static const char *where(
    tp_exec *x, const tp_dreg *r, const int64_t *lead, const int64_t *axis, char *buf, size_t n) {
  *buf = 0;
  for (int i = 0; i < r->npoint; i++)
    x->env[r->rg->leadvar[i]->id] = tp_dx_get(&r->leadlo[i], x->env) + lead[i];
  for (int k = 0, at = 0; k < r->rg->ncoord && at < (int)n; k++) {
    int64_t v = tp_dx_get(&r->coord[k], x->env) + (r->rg->along >> k & 1 && axis ? *axis++ : 0);
    at += snprintf(buf + at, n - (size_t)at, "%s%s = %lld", k ? ", " : " at ",
        r->rg->dim ? r->rg->dim[k]->name : "?", (long long)v);
  }
  return buf;
}

static bool fail_at(tp_exec *x, const tp_dreg *r, const int64_t *lead, const int64_t *axis,
    tp_code code, const char *text) {
  char name[256], point[256] = "";
  if (x->running && (lead || r->npoint == 0)) where(x, r, lead, axis, point, sizeof point);
  return tp_fail(x->err, code, r->rg->pos, "%s: %s%s: %s", tp_code_word(code),
      tp_who_label(&r->rg->who, tp_region_op(r->rg), name, sizeof name), point, text);
}

#define TEXT(text, fmt) \
  char text[512]; \
  va_list ap; \
  va_start(ap, fmt); \
  vsnprintf(text, sizeof text, fmt, ap); \
  va_end(ap)

bool tp_rfail(tp_exec *x, const tp_dreg *r, tp_code code, const char *fmt, ...) {
  TEXT(text, fmt);
  return fail_at(x, r, NULL, NULL, code, text);
}

bool tp_rfail_at(
    tp_exec *x, const tp_dreg *r, const int64_t *lead, tp_code code, const char *fmt, ...) {
  TEXT(text, fmt);
  return fail_at(x, r, lead, NULL, code, text);
}

bool tp_rfail_on(tp_exec *x, const tp_dreg *r, const int64_t *lead, const int64_t *axis,
    tp_code code, const char *fmt, ...) {
  TEXT(text, fmt);
  return fail_at(x, r, lead, axis, code, text);
}

bool tp_rfault(tp_exec *x, const tp_dreg *r, const int64_t *lead, int what) {
  if (what > TP_K_NEGPOW)
    return tp_rfail_at(
        x, r, lead, TP_E_INPUT, "%s of an empty range of integers", tp_red_name(r->rg->red));
  return tp_rfail_at(x, r, lead, TP_E_INPUT,
      what == TP_K_DIVZERO ? "integer division by zero" : "integer power with a negative exponent");
}

void *tp_work(tp_exec *x, const tp_dreg *r, int64_t count, int64_t size) {
  int64_t n = (count * size + TP_WORK_LINE - 1) / TP_WORK_LINE * TP_WORK_LINE,
          left = x->workend - x->work;
  if (n > left) {
    tp_rfail(x, r, TP_E_MEMORY, "internal: %lld bytes of working memory, %lld are left",
        (long long)n, (long long)left);
    return NULL;
  }
  x->work += n;
  return x->work - n;
}

/* ---- making ---- */

static bool ranks_fit(tp_exec *x, tp_dreg *r) {
  for (int i = 0; i < r->nnd; i++)
    if (r->in[i].rank > TP_MAXRANK)
      return tp_rfail(x, r, TP_E_DEVICE,
          "an operand has %d axes, leading ones included; at most %d are possible", r->in[i].rank,
          TP_MAXRANK);
  return true;
}

/* The position at which the last write is over: of the outermost loop around it. */
static void note_writes(tp_exec *x, const tp_pnode *p) {
  int end = p->pos;
  for (const tp_pnode *q = p->up; q; q = q->up)
    if (q->kind == TP_P_FOR) end = q->lastpos;
  for (int i = 0; i < p->rg->nout; i++)
    if (p->rg->out[i].buf >= 0)
      x->written[p->rg->out[i].buf] = TP_MAX(x->written[p->rg->out[i].buf], end);
}

static bool is_env(const tp_region *g) {
  return g->kind == TP_RG_OP && tp_ops[g->op].cls == TP_CLS_ENV;
}

tp_dreg *tp_dreg_new(tp_exec *x, const tp_pnode *p) {
  tp_dreg *r = TP_NEW(&x->a, tp_dreg);
  r->rg = p->rg;
  r->pos = p->pos;
  r->clock = TP_NEW(&x->a, tp_clock);
  tp_dreg_windows(x, r);
  if (!ranks_fit(x, r)) return NULL;
  note_writes(x, p);
  if (p->rg->kind == TP_RG_CALL) tp_call_new(x, r);
  else if (is_env(p->rg)) r->run = tp_run_env;
  else x->target->make(x, r);
  if (p->rg->check) tp_watch_new(x, r);
  return x->regat[p->pos] = x->reg[x->nreg++] = r;
}

static void list_bounds(tp_exec *x) {
  const tp_ictx *c = x->plan->ix;
  x->nsym = tp_nsym(c);
  x->env = x->flow->front.env = TP_NEWN(&x->a, int64_t, x->nsym);
  x->flow->back.env = TP_NEWN(&x->a, int64_t, x->nsym);
  x->bound = TP_NEWN(&x->a, int, x->nsym);
  for (int i = 0; i < x->nsym; i++)
    if (tp_sym_at(c, i)->kind == TP_SYM_BOUND) x->bound[x->nbound++] = i;
}

static bool compile(tp_exec *x) {
  int nbuf = x->plan->bufs.n;
  x->flow = TP_NEW(&x->a, struct tp_flow);
  x->mem = TP_NEW(&x->a, struct tp_store);
  list_bounds(x);
  x->mem->offset = TP_NEWN(&x->a, int64_t, nbuf);
  x->mem->spilled = TP_NEWN(&x->a, tp_spilled, nbuf);
  x->base = TP_NEWN(&x->a, char *, nbuf);
  x->count = TP_NEWN(&x->a, int64_t, nbuf);
  x->written = TP_NEWN(&x->a, int, nbuf);
  x->regat = TP_NEWN(&x->a, tp_dreg *, x->plan->npos);
  for (int i = 0; i < nbuf; i++) x->written[i] = -1;
  tp_spill_new(x);
  if (!x->target->open(x) || !tp_flow_new(x)) return false;
  tp_newest_new(x);
  return x->target->ready(x);
}

tp_exec *tp_exec_new(const tp_plan *p, const tp_target *t, tp_error *err) {
  tp_exec *x = tp_calloc(sizeof *x);
  if (!x) return tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory"), NULL;
  tp_arena_init(&x->a);
  x->plan = p;
  x->target = t;
  x->err = err;
  tp_guard oom;
  if (!TP_GUARDED(&oom)) {
    tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory");
    return tp_exec_free(x);
  }
  bool ok = compile(x);
  tp_unguard(&oom);
  return ok ? x : tp_exec_free(x);
}

tp_exec *tp_exec_free(tp_exec *x) {
  if (!x) return NULL;
  for (int i = 0; i < x->nreg; i++)
    if (x->reg[i]->rg->kind == TP_RG_CALL) tp_call_free(x->reg[i]);
    else tp_watch_free(x->reg[i]);
  tp_workers_free(x);
  x->target->close(x);
  if (x->mem) {
    tp_pages_free(x->mem->arena, (size_t)x->mem->total);
    tp_spill_close(x);
  }
  tp_arena_free(&x->a);
  tp_free(x);
  return NULL;
}

/* A run that is poisoned is one thread's: what others would work in counts all the same. */
int64_t tp_exec_peak(const tp_exec *x) {
  return (x->poison ? tp_sum_bytes(x->mem->top, tp_workers_room(x, x->count)) : x->mem->total) +
      tp_spill_most(x);
}

/* ---- binding ---- */

static bool bounds_changed(tp_exec *x, const int64_t *env) {
  bool changed = !x->bound_once;
  for (int i = 0; i < x->nbound; i++) {
    changed |= x->env[x->bound[i]] != env[x->bound[i]];
    x->env[x->bound[i]] = env[x->bound[i]];
  }
  tp_plan_given(x->plan, x->env);
  return changed;
}

static void bind_dxs(tp_dx *d, int n, const int64_t *env) {
  for (int i = 0; i < n; i++) tp_dx_bind(&d[i], env);
}

bool tp_dreg_bind(tp_exec *x, tp_dreg *r) {
  for (int i = 0; i < r->nnd; i++) tp_dnd_bind(&r->in[i], x->env);
  bind_dxs(r->lead, r->rg->nlead, x->env);
  bind_dxs(r->leadlo, r->rg->nlead, x->env);
  bind_dxs(r->ix, r->rg->nix, x->env);
  bind_dxs(r->coord, r->rg->ncoord, x->env);
  if (r->rg->kind == TP_RG_CALL) tp_call_bind(x, r);
  if (r->dynamic || r->wrapped) return true;
  return tp_dreg_resolve(x, r) && (!r->bind || r->bind(x, r));
}

static bool bind(tp_exec *x) {
  x->bound_once = x->running = false;
  if (!tp_take_memory(x)) return false;
  for (int i = 0; i < x->plan->bufs.n; i++)
    if (x->plan->bufs.v[i]->kind != TP_BUF_WORK &&
        !tp_ix_eval(x->plan->bufs.v[i]->size, x->env, &x->count[i]))
      return tp_fail(
          x->err, TP_E_MEMORY, (tp_pos){ 0 }, "these bounds need more than 2^63 elements");
  tp_flow_bind(x);
  for (int i = 0; i < x->nreg; i++)
    if (!tp_dreg_bind(x, x->reg[i])) return false;
  if (!tp_workers_bind(x)) return false;
  x->bound_once = true;
  return true;
}

/* Where each buffer lies in this run. One that nothing gives has no elements that anybody reads; it
 * still has an address. */
static bool place_buffer(tp_exec *x, const tp_pbuf *b) {
  const tp_array *a = NULL;
  static char nowhere[64];
  x->base[b->id] = nowhere;
  switch (b->kind) {
  case TP_BUF_WORK: return true;
  case TP_BUF_TEMP:
    if (x->mem->spilled[b->id].chunk) x->base[b->id] = x->mem->map + x->mem->spilled[b->id].at;
    else if (x->mem->offset[b->id] >= 0) x->base[b->id] = x->mem->arena + x->mem->offset[b->id];
    return true;
  case TP_BUF_CONST: a = b->data; break;
  case TP_BUF_INPUT: a = x->run->inputs ? x->run->inputs[b->slot] : NULL; break;
  case TP_BUF_OUTPUT: a = x->run->outputs ? x->run->outputs[b->slot] : NULL; break;
  case TP_BUF_PARAM:
    a = x->run->params ? x->run->params[b->slot] : NULL;
    if (!a) return true;
    break;
  case TP_NBUFKIND: break;
  }
  if (!a && x->count[b->id] > 0)
    return tp_fail(x->err, TP_E_INPUT, (tp_pos){ 0 }, "input: '%s' is needed and was not given",
        b->name ? b->name : "?");
  if (a && (a->dtype != b->dtype || a->count < x->count[b->id]))
    return tp_fail(x->err, TP_E_INPUT, (tp_pos){ 0 },
        "input: '%s' has another dtype or shape than declared", b->name ? b->name : "?");
  if (a && a->data) x->base[b->id] = a->data;
  return true;
}

/* ---- running ---- */

/* A window on a ring becomes an ordinary one: where it is if it doesn't cross the seam, else a
 * copy. */
static bool unwrap(tp_exec *x, tp_dreg *r, tp_dnd *d) {
  int64_t m = TP_MAX(tp_dx_get(&d->wmod, x->env), 1),
          lo = tp_floormod(tp_dx_get(&d->wlo, x->env), m), n = d->v.shape[d->wrap];
  if (lo + n <= m) {
    d->v.p = (char *)d->v.p + lo * d->v.stride[d->wrap] * d->size;
    return true;
  }
  tp_dnd dense = { .wrap = -1, .v = d->v };
  if (!(dense.v.p = tp_work(x, r, tp_dense_strides(&dense.v), d->size))) return false;
  x->target->copy(x, d->size, &dense, d);
  d->v = dense.v;
  return true;
}

/* The run ends here without an error. Complete are those outputs that nothing from this region on,
 * or round an enclosing loop, writes; parameters keep what was made. */
bool tp_dreg_cancelled(tp_exec *x, const tp_dreg *r) {
  x->cancelled = true;
  for (int i = 0; i < x->plan->bufs.n; i++) {
    const tp_pbuf *b = x->plan->bufs.v[i];
    if (b->kind == TP_BUF_OUTPUT && !x->plan->products.v[b->slot].hidden && x->written[i] >= r->pos)
      x->run->outputs[b->slot] = tp_array_unref(x->run->outputs[b->slot]);
  }
  return false;
}

static bool bind_again(tp_exec *x, tp_dreg *r) {
  for (int i = 0; i < r->nin && r->wrapped; i++)
    if (r->in[i].wrap >= 0 && !unwrap(x, r, &r->in[i])) return false;
  return !r->bind || r->bind(x, r);
}

bool tp_dreg_here(tp_exec *x, tp_dreg *r) {
  bool again = r->dynamic || r->wrapped;
  x->running = true;
  x->work = x->workend = x->mem->arena;
  if (r->rg->work && x->room) {
    x->work = x->room;
    x->workend = x->work + x->count[r->rg->work->id];
  } else if (r->rg->work) {
    x->work += x->mem->offset[r->rg->work->id];
    x->workend = x->work + x->count[r->rg->work->id];
  }
  if (again && !tp_dreg_resolve(x, r)) return false;
  for (tp_dnd *d = r->in, *end = d + r->nnd; d < end; d++)
    if (d->buf >= 0) tp_dnd_place(x, d);
  if (x->poison && !tp_poison_region(x, r)) return false;
  if (again && !bind_again(x, r)) return false;
  return r->run(x, r);
}

bool tp_dreg_execute(tp_exec *x, tp_dreg *r) {
  return tp_run_ends(x->run) ? tp_dreg_cancelled(x, r) : tp_dreg_here(x, r);
}

bool tp_exec_room(tp_exec *x, tp_run *run, tp_error *err) {
  x->run = run;
  x->err = err;
  x->env = x->flow->front.env;
  return !bounds_changed(x, run->env) || bind(x);
}

bool tp_exec_begin(tp_exec *x, tp_run *run, tp_error *err) {
  if (!tp_exec_room(x, run, err)) return false;
  for (int i = 0; i < x->plan->bufs.n; i++)
    if (!place_buffer(x, x->plan->bufs.v[i])) return false;
  x->poison = tp_setting("TEMPO_POISON") != NULL;
  x->flow->late = tp_setting("TEMPO_LATE") ? atoi(tp_setting("TEMPO_LATE")) : 0;
  if (!tp_poison_begin(x)) return false;
  x->cancelled = false;
  tp_newest_forget(x);
  tp_flow_begin(x);
  return true;
}

/* Copies of parameters that were put off are made, so that the run's outputs hold the newest. */
static void ended_early(tp_exec *x) {
  tp_error none = { 0 }, *err = x->err;
  tp_exec_newest(x, &none);
  x->err = err;
  tp_spill_rest(x);
}

tp_stand tp_exec_go(tp_exec *x, const tp_goal *g, tp_error *err) {
  x->err = err;
  tp_native_begin(x);
  tp_stand s = tp_flow_run(x, g);
  tp_native_end(x);
  tp_workers_rest(x);
  if (s == TP_AT_ERROR) ended_early(x);
  return s == TP_AT_ERROR && x->cancelled ? TP_AT_END : s;
}

void tp_exec_pass(tp_exec *x) {
  x->flow->front.pc++;
  x->flow->nshown = 0;
}

bool tp_exec_rest(tp_exec *x, double until, tp_error *err) {
  x->err = err;
  bool ok = tp_flow_catch_up(x, until);
  if (!ok) ended_early(x);
  return ok || x->cancelled;
}

bool tp_exec_split(tp_exec *x, bool split, tp_error *err) {
  /* two cursors would use rows that one has let go */
  if (split == x->flow->split || !x->flow->behind || (split && x->mem->map)) return true;
  if (!split && !tp_exec_rest(x, 0, err)) return false;
  tp_flow_split(x, split);
  return true;
}

bool tp_exec_cancelled(const tp_exec *x) { return x->cancelled; }

bool tp_exec_run(tp_exec *x, tp_run *run, tp_error *err) {
  return tp_exec_begin(x, run, err) &&
      tp_exec_go(x, &(tp_goal){ .tick = false }, err) != TP_AT_ERROR;
}
