/* step.c: runs a program, as a whole or tick by tick. A step's values go into the memo; a demand
 * for an input or callback of a later tick gives up until the next step. */
#include "ref/machine.h"

static bool prepare(ref *r, tp_graph *g, tp_run *run, const tp_ticks *t) {
  int nsym = tp_nsym(g->ix);
  r->g = g;
  r->run = run;
  r->ticks = t;
  r->now = t->n ? TP_NEWN(&r->arena, int64_t, t->n) : NULL;
  r->env = TP_NEWN(&r->arena, int64_t, nsym);
  for (int i = 0; i < nsym; i++)
    if (tp_sym_at(g->ix, i)->kind == TP_SYM_BOUND) r->env[i] = run->env[i];
  ref_stops_open(r);
  r->number = TP_NEWN(&r->arena, int, g->nodes.n);
  for (int i = 0; i < g->inputs.n; i++)
    if (g->inputs.v[i]->id >= 0) r->number[g->inputs.v[i]->id] = i; /* -1: swept */
  r->calls = TP_NEWN(&r->arena, ref_calls *, g->nodes.n);
  r->call = ref_calls_reached(r, &r->ncall);
  r->complete = TP_NEWN(&r->arena, bool, g->outputs.n);
  r->at = TP_NEWN(&r->arena, int64_t *, g->outputs.n);
  for (int i = 0; i < g->outputs.n; i++) r->at[i] = TP_NEWN(&r->arena, int64_t, TP_MAXDIM);
  return true;
}

tp_refsteps *tp_ref_begin(tp_graph *g, tp_run *run, const tp_ticks *t, tp_error *err) {
  ref *r = tp_calloc(sizeof *r);
  volatile bool ok = false;
  if (!r) return tp_no_memory(err, TP_NOWHERE), NULL;
  tp_arena_init(&r->arena);
  REF_GUARDED(r, err, ok, prepare(r, g, run, t));
  return ok ? r : tp_ref_end(r);
}

tp_refsteps *tp_ref_end(tp_refsteps *r) {
  if (r) tp_arena_free(&r->arena);
  tp_free(r);
  return NULL;
}

bool tp_ref_cancelled(const tp_refsteps *r) { return r->cancelled; }

/* ---- a tick ---- */

int64_t ref_tick_box(const ref *r, const tp_node *n, int64_t *lo, int64_t *hi) {
  int64_t points = 1;
  for (int k = 0; k < n->ndom; k++) {
    lo[k] = 0;
    hi[k] = ref_bound(r, n->dom[k]);
    for (int j = 0; j < r->ticks->n; j++)
      if (r->ticks->dim[j] == n->dom[k]) {
        lo[k] = r->now[j];
        hi[k] = lo[k] + 1;
      }
    points *= hi[k] - lo[k];
  }
  return points;
}

static void take_value(ref *r, const tp_node *n, const tp_array *a) {
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM], points = ref_tick_box(r, n, lo, hi);
  char *data = tp_dup(&r->arena, a->data, tp_array_bytes(a));
  size_t part = points ? tp_array_bytes(a) / (size_t)points : 0;
  for (bool more = ref_first(n->ndom, lo, hi, at); more;
       more = ref_next(n->ndom, lo, hi, at), data += part) {
    tp_cell *c = ref_cell(r, n, at);
    c->data[0] = data;
    c->state = CELL_DONE;
  }
}

/* Shows output i. Dims that end and do not tick are cut to the greatest length of this tick's rows;
 * rows that have ended are zeros. */
static bool show(ref *r, int i, tp_array **to) {
  const tp_output *o = &r->g->outputs.v[i];
  const tp_node *n = o->val.node;
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM], shape[TP_MAXRANK], number = 0;
  tp_sym *still[TP_MAXDIM];
  int place[TP_MAXDIM], ndim = 0;
  for (int k = 0; k < n->ndom; k++)
    if (!tp_dom_has(r->ticks->n, r->ticks->dim, n->dom[k]))
      place[ndim] = k, still[ndim++] = n->dom[k];
  int rank = tp_run_shape(r->run, ndim, still, tp_outof(o->val), shape);
  tp_array *all = *to = tp_array_new(tp_outof(o->val)->dtype, rank, shape);
  if (!all) tp_oom();
  for (int d = 0; d < ndim; d++)
    if (tp_stop_of(r->g, still[d])) shape[d] = 0;
  ref_tick_box(r, n, lo, hi);
  for (bool more = ref_first(n->ndom, lo, hi, at); more;
       more = ref_next(n->ndom, lo, hi, at), number++) {
    tp_cell *c;
    ref_answer x = ref_is_alive(r, n->ndom, n->dom, at, NULL);
    if (x == REF_NO) continue;
    if (x == REF_YES) x = ref_eval(r, n, at, &c);
    if (x == REF_WAIT)
      return tp_fail(r->err, TP_E_OPTION, o->pos, "output '%s' needs later ticks", o->name);
    if (x == REF_FAILED) return false;
    for (int d = 0; d < ndim; d++) shape[d] = TP_MAX(shape[d], at[place[d]] + 1);
    tp_array *whole = r->run->outputs[i];
    if (!ref_put(r, c, o->val.out, all, ndim, number) ||
        (whole && !ref_to_array(r, c, o->val.out, whole)))
      return false;
  }
  if (!r->g->stops.n) return true;
  *to = tp_array_corner(all, shape);
  tp_array_unref(all);
  if (!*to) tp_oom();
  return true;
}

/* Ticks may end by data. */
static bool find_next(ref *r, int64_t *next, bool *more) {
  int64_t lo[TP_MAXDIM] = { 0 }, hi[TP_MAXDIM];
  const tp_ticks *t = r->ticks;
  for (int k = 0; k < t->n; k++) {
    next[k] = r->now[k];
    hi[k] = ref_bound(r, t->dim[k]);
  }
  ref_answer found =
      ref_next(t->n, lo, hi, next) ? ref_find(r, t->n, t->dim, lo, hi, next) : REF_NO;
  *more = found == REF_YES;
  if (found == REF_WAIT)
    return tp_fail(
        r->err, TP_E_OPTION, TP_NOWHERE, "whether another tick comes is known only after it");
  return found != REF_FAILED;
}

typedef struct {
  tp_array *const *values;
  tp_array **out;
  int64_t *next;
  bool *more;
} showing;

/* all: shows outputs with all tick dims; else those inside whose point no tick is left. */
static bool show_some(ref *r, const showing *x, bool all) {
  const tp_ticks *t = r->ticks;
  for (int i = 0; i < r->g->outputs.n; i++) {
    const tp_node *n = r->g->outputs.v[i].val.node;
    int depth = tp_tick_depth(t->n, t->dim, n->ndom, n->dom);
    bool whole = all || !*x->more || memcmp(x->next, r->now, sizeof *x->next * (size_t)depth) != 0;
    if (t->shown[i] && all == (depth == t->n) && whole && !show(r, i, &x->out[i])) return false;
  }
  return true;
}

static bool show_all(ref *r, const showing *x) {
  for (int i = 0; x->values && i < r->g->inputs.n; i++)
    if (r->ticks->fed[i] && r->g->inputs.v[i]->id >= 0)
      take_value(r, r->g->inputs.v[i], x->values[i]);
  return show_some(r, x, true) && find_next(r, x->next, x->more) && show_some(r, x, false);
}

bool tp_ref_show(tp_refsteps *r, const int64_t *at, tp_array *const *values, tp_array **out,
    int64_t *next, bool *more, tp_error *err) {
  const showing x = { values, out, next, more };
  volatile bool ok = false;
  *more = false;
  TP_COPYN(r->now, at, r->ticks->n);
  REF_GUARDED(r, err, ok, show_all(r, &x));
  return ok || r->cancelled;
}

/* ---- work between ticks ---- */

static bool over(double until) { return until > 0 && tp_now() >= until; }

bool ref_call_some(ref *r, double until) {
  for (bool any = true; any;) {
    any = false;
    for (int i = 0; i < r->ncall && !over(until); i++) {
      int64_t at[TP_MAXDIM];
      tp_cell *c;
      ref_answer x = ref_call_seek(r, r->call[i]);
      if (x == REF_YES && ref_call_next(r, r->call[i], at)) x = ref_eval(r, r->call[i], at, &c);
      if (x == REF_FAILED) return false;
      any |= x == REF_YES;
    }
  }
  return true;
}

/* Fills in points of output i from the first that is not made, as far as possible. rows: begins
 * anew, and if one row waits the others go on. */
static bool fill_some(ref *r, int i, bool rows, double until) {
  tp_val v = r->g->outputs.v[i].val;
  const tp_node *n = v.node;
  int64_t lo[TP_MAXDIM] = { 0 }, hi[TP_MAXDIM], *at = r->at[i];
  bool more = true, all = true;
  for (int k = 0; k < n->ndom; k++) {
    hi[k] = ref_bound(r, n->dom[k]);
    more &= hi[k] > 0;
    if (rows) at[k] = 0;
  }
  for (; more; more = ref_next(n->ndom, lo, hi, at)) {
    tp_cell *c;
    if (over(until)) return true;
    ref_answer x = ref_find(r, n->ndom, n->dom, lo, hi, at);
    if (x == REF_NO) break;
    bool here = x == REF_YES;
    if (here) x = ref_eval(r, n, at, &c);
    if (x == REF_FAILED || (x == REF_YES && !ref_to_array(r, c, v.out, r->run->outputs[i])))
      return false;
    all &= x == REF_YES;
    if (!all && !(rows && here)) return true;
  }
  r->complete[i] = all;
  return true;
}

/* Has w a last row now? Between ticks a state goes to the next row at most: without ticks it would
 * go on to the bound, which may be no end. An end by data must be known first. */
static bool has_last(const ref *r, const tp_node *w) {
  tp_sym *d = r->now ? r->ticks->dim[0] : NULL;
  return !d || !tp_dom_has(w->attr.nalong, w->attr.along, d) || tp_stop_of(r->g, d) ||
      ref_bound(r, d) <= r->now[0] + 1;
}

/* Is the output itself a loaded parameter's array? */
static bool is_lent(const ref *r, int i) {
  const tp_node *n = r->g->outputs.v[i].val.node;
  return n->op == TP_OP_PINIT && r->run->params &&
      r->run->outputs[i] == r->run->params[n->attr.number];
}

/* fixed: only parameters that do not evolve. A row of another one has its last value when it has
 * ended, and before that each value that is kept (calling.c). */
static bool fill_outputs(ref *r, bool fixed, double until) {
  const tp_ticks *t = r->ticks;
  for (int i = 0, k = 0; i < r->g->outputs.n; i++) {
    const tp_node *w = r->g->outputs.v[i].hidden ? r->g->params.v[k++] : NULL;
    bool evolves = w && tp_param_evolves(w), shown = t->n && t->shown[i];
    if ((fixed && (!w || evolves)) || (evolves && !has_last(r, w))) continue;
    if (r->complete[i] || shown || !r->run->outputs[i]) continue;
    if (!(r->complete[i] = is_lent(r, i)) &&
        !fill_some(r, i, evolves, t->n && t->first[i] ? 0 : until))
      return false;
  }
  return true;
}

static void drop_all_outputs(ref *r) {
  for (int i = 0; i < r->g->outputs.n; i++)
    if (!r->complete[i] && !r->g->outputs.v[i].hidden)
      r->run->outputs[i] = tp_array_unref(r->run->outputs[i]);
}

static bool rest(ref *r, bool last, double until) {
  if (last) r->now = NULL;
  return (last ? ref_call_all(r) : ref_call_some(r, until)) && fill_outputs(r, false, until);
}

bool tp_ref_rest(tp_refsteps *r, bool last, double until, tp_error *err) {
  volatile bool ok = false;
  if (!r->cancelled) REF_GUARDED(r, err, ok, rest(r, last, until));
  if (r->cancelled) drop_all_outputs(r);
  return ok || r->cancelled;
}

/* Fills parameters that do not evolve before any callback, which may end the run; without callbacks
 * none has to be kept. */
static bool run_whole(ref *r) {
  bool calls = false;
  for (int i = 0; i < r->ncall; i++) calls |= r->call[i]->attr.fn != TP_FN_KEEP;
  return fill_outputs(r, true, 0) && (!calls || ref_call_all(r)) && fill_outputs(r, false, 0);
}

/* Keeps the newest values made before a run failed. */
static bool keep_newest(ref *r) {
  ref_give_up(r);
  r->frozen = true;
  return ref_call_some(r, 0);
}

bool tp_ref_run(tp_graph *g, tp_run *run, tp_error *err) {
  static const tp_ticks none;
  ref *r = tp_ref_begin(g, run, &none, err);
  volatile bool ok = false;
  if (!r) return false;
  REF_GUARDED(r, err, ok, run_whole(r));
  bool cancelled = r->cancelled;
  tp_error late = { 0 };
  if (!ok) REF_GUARDED(r, &late, ok, keep_newest(r) && false);
  if (cancelled) drop_all_outputs(r);
  tp_ref_end(r);
  return ok || cancelled;
}
