/* step.c: runs, as a whole or tick by tick. A step's values go into the memo; a demand for an input
 * or callback of a later tick gives up until the next step. */
#include "ref/machine.h"

static void give_up(ref *r) {
  for (int i = 0; i < r->stack.n; i++)
    if (r->stack.v[i]->state == CELL_WORK) r->stack.v[i]->state = CELL_NEW;
  r->stack.n = 0;
}

static bool attempt(ref *r, const tp_node *n, const int64_t *at, tp_cell **c, bool *ready) {
  r->early = false;
  *ready = ref_eval(r, n, at, c);
  if (*ready || !r->early) return *ready;
  give_up(r);
  return true;
}

/* The first alive point from at on. NO: none. WAIT: needs later ticks. */
static ref_answer seek(
    ref *r, int n, const tp_sym *const *dims, const int64_t *lo, const int64_t *hi, int64_t *at) {
  r->early = false;
  ref_answer x = ref_find(r, n, dims, lo, hi, at);
  if (x != REF_FAILED || !r->early) return x;
  give_up(r);
  return REF_WAIT;
}

bool ref_guarded(tp_refsteps *s, bool (*fn)(tp_refsteps *, void *), void *arg, tp_error *err) {
  tp_guard oom;
  volatile bool ok = false;
  s->r->err = err;
  if (TP_GUARDED(&oom)) {
    ok = fn(s, arg);
    tp_unguard(&oom);
  } else tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "out of memory in the reference evaluator");
  return ok;
}

static int count_all(const tp_graph *g) { return g->outputs.n + g->params.n; }

typedef struct {
  tp_graph *g;
  tp_run *run;
  const tp_ticks *ticks;
} steps_opening;

static void open_machine(ref *r, tp_graph *g, tp_run *run) {
  int nsym = tp_nsym(g->ix);
  r->g = g;
  r->run = run;
  r->env = TP_NEWN(&r->arena, int64_t, nsym);
  for (int i = 0; i < nsym; i++)
    if (tp_sym_at(g->ix, i)->kind == TP_SYM_BOUND) r->env[i] = run->env[i];
  ref_stops_open(r);
  r->number = TP_NEWN(&r->arena, int, g->nodes.n);
  r->scatter = TP_NEWN(&r->arena, ref_scatter *, g->nodes.n);
  r->calls = TP_NEWN(&r->arena, ref_calls *, g->nodes.n);
  for (int i = 0; i < g->inputs.n; i++)
    if (g->inputs.v[i]->id >= 0) r->number[g->inputs.v[i]->id] = i; /* -1: swept */
}

static bool prepare(tp_refsteps *s, void *arg) {
  const steps_opening *o = arg;
  const tp_ticks *t = o->ticks;
  const tp_graph *g = o->g;
  ref *r = s->r;
  open_machine(r, o->g, o->run);
  r->ticks = t;
  r->now = s->now = TP_NEWN(&r->arena, int64_t, t->n + 1);
  s->complete = TP_NEWN(&r->arena, bool, g->outputs.n);
  s->updated = TP_NEWN(&r->arena, bool, g->params.n);
  s->at = TP_NEWN(&r->arena, int64_t *, count_all(g));
  for (int i = 0; i < count_all(g); i++) s->at[i] = TP_NEWN(&r->arena, int64_t, TP_MAXDIM);
  s->call = ref_calls_reached(r, &s->ncall);
  return true;
}

tp_refsteps *tp_ref_begin(tp_graph *g, tp_run *run, const tp_ticks *t, tp_error *err) {
  tp_refsteps *s = tp_calloc(sizeof *s);
  if (!s) {
    tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "out of memory in the reference evaluator");
    return NULL;
  }
  tp_arena_init(&s->r->arena);
  return ref_guarded(s, prepare, &(steps_opening){ g, run, t }, err) ? s : tp_ref_end(s);
}

tp_refsteps *tp_ref_end(tp_refsteps *s) {
  if (s) tp_arena_free(&s->r->arena);
  tp_free(s);
  return NULL;
}

bool tp_ref_cancelled(const tp_refsteps *s) { return s->r->cancelled; }

/* n's points at this tick, in domain order. */
static void tick_box(tp_refsteps *s, const tp_node *n, int64_t *lo, int64_t *hi) {
  for (int k = 0; k < n->ndom; k++) {
    lo[k] = 0;
    hi[k] = ref_bound(s->r, n->dom[k]);
    for (int j = 0; j < s->r->ticks->n; j++)
      if (s->r->ticks->dim[j] == n->dom[k]) {
        lo[k] = s->now[j];
        hi[k] = lo[k] + 1;
      }
  }
}

static void put_value(tp_refsteps *s, const tp_node *n, const tp_array *a) {
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM], points = 1;
  tick_box(s, n, lo, hi);
  for (int k = 0; k < n->ndom; k++) points *= hi[k] - lo[k];
  char *data = tp_dup(&s->r->arena, a->data, tp_array_bytes(a));
  size_t part = points ? tp_array_bytes(a) / (size_t)points : 0;
  for (bool more = ref_first(n->ndom, lo, hi, at); more;
       more = ref_next(n->ndom, lo, hi, at), data += part) {
    tp_cell *c = ref_cell(s->r, n, at);
    c->data[0] = data;
    c->state = CELL_DONE;
  }
}

/* n's dims that do not tick, by place. */
static int still_dims(const tp_refsteps *s, const tp_node *n, int *place) {
  int count = 0;
  for (int k = 0; k < n->ndom; k++)
    if (!tp_dom_has(s->r->ticks->n, s->r->ticks->dim, n->dom[k])) place[count++] = k;
  return count;
}

static tp_array *new_part(tp_refsteps *s, const tp_node *n, const tp_out *o) {
  const tp_sym *dom[TP_MAXDIM];
  int64_t shape[TP_MAXRANK];
  int place[TP_MAXDIM], nd = still_dims(s, n, place);
  for (int d = 0; d < nd; d++) dom[d] = n->dom[place[d]];
  int rank = tp_run_shape(s->r->run, nd, dom, o, shape);
  return tp_array_new(o->dtype, rank, shape);
}

/* At the place of the dims that do not tick. */
static void put_part(
    tp_refsteps *s, tp_cell *c, int out, tp_array *a, int64_t number, int64_t points) {
  ref_data v;
  size_t part = points ? tp_array_bytes(a) / (size_t)points : 0;
  if (ref_view(s->r, c, out, &v) && part)
    memcpy((char *)a->data + (size_t)number * part, v.data, part);
}

/* Of dims that end and do not tick, over the rows of this tick. */
static void note_reached(tp_refsteps *s, const tp_node *n, const int64_t *at, int64_t *reached) {
  int place[TP_MAXDIM], nd = still_dims(s, n, place);
  for (int d = 0; d < nd; d++) reached[d] = TP_MAX(reached[d], at[place[d]] + 1);
}

static void cut(tp_refsteps *s, const tp_node *n, const int64_t *reached, tp_array **a) {
  int64_t shape[TP_MAXRANK];
  memcpy(shape, (*a)->shape, sizeof shape);
  int place[TP_MAXDIM], nd = still_dims(s, n, place);
  for (int d = 0; d < nd; d++)
    if (tp_stop_of(s->r->g, n->dom[place[d]])) shape[d] = reached[d];
  tp_array *b = tp_array_corner(*a, shape);
  tp_array_unref(*a);
  if (!(*a = b)) tp_oom();
}

static bool show(tp_refsteps *s, int i, tp_array **to) {
  ref *r = s->r;
  tp_val v = r->g->outputs.v[i].val;
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM], points = 1, number = 0,
                                                       reached[TP_MAXDIM] = { 0 };
  tick_box(s, v.node, lo, hi);
  for (int k = 0; k < v.node->ndom; k++) points *= hi[k] - lo[k];
  if (!(*to = new_part(s, v.node, tp_outof(v)))) tp_oom();
  for (bool more = ref_first(v.node->ndom, lo, hi, at); more;
       more = ref_next(v.node->ndom, lo, hi, at), number++) {
    tp_cell *c;
    bool ready;
    ref_answer alive = ref_is_alive(r, v.node->ndom, v.node->dom, at, NULL);
    if (alive == REF_FAILED) return false;
    if (alive == REF_NO) continue; /* a row that has ended: zeros */
    note_reached(s, v.node, at, reached);
    if (!attempt(r, v.node, at, &c, &ready)) return false;
    if (!ready)
      return tp_fail(r->err, TP_E_OPTION, r->g->outputs.v[i].pos, "output '%s' needs later ticks",
          r->g->outputs.v[i].name);
    put_part(s, c, v.out, *to, number, points);
    if (r->run->outputs[i] && !ref_to_array(r, c, v.out, r->run->outputs[i])) return false;
  }
  if (r->g->stops.n) cut(s, v.node, reached, to);
  return true;
}

/* Ticks may end by data. */
static bool find_next(tp_refsteps *s, int64_t *next, bool *more) {
  int64_t lo[TP_MAXDIM] = { 0 }, hi[TP_MAXDIM];
  const tp_ticks *t = s->r->ticks;
  for (int k = 0; k < t->n; k++) {
    next[k] = s->now[k];
    hi[k] = ref_bound(s->r, t->dim[k]);
  }
  ref_answer found = ref_next(t->n, lo, hi, next) ? seek(s->r, t->n, t->dim, lo, hi, next) : REF_NO;
  *more = found == REF_YES;
  if (found == REF_WAIT)
    return tp_fail(
        s->r->err, TP_E_OPTION, TP_NOWHERE, "whether another tick comes is known only after it");
  return found != REF_FAILED;
}

typedef struct {
  tp_array *const *values;
  tp_array **out;
  int64_t *next;
  bool *more;
} showing;

/* all: outputs with all tick dims; else those inside whose point no tick is left. */
static bool show_some(tp_refsteps *s, const showing *x, bool all) {
  const ref *r = s->r;
  const tp_ticks *t = r->ticks;
  for (int i = 0; i < r->g->outputs.n; i++) {
    const tp_node *n = r->g->outputs.v[i].val.node;
    int depth = tp_tick_depth(t->n, t->dim, n->ndom, n->dom);
    bool whole = all || !*x->more || memcmp(x->next, s->now, sizeof *x->next * (size_t)depth) != 0;
    if (t->shown[i] && all == (depth == t->n) && whole && !show(s, i, &x->out[i])) return false;
  }
  return true;
}

static bool show_all(tp_refsteps *s, void *arg) {
  const showing *x = arg;
  ref *r = s->r;
  for (int i = 0; x->values && i < r->g->inputs.n; i++)
    if (r->ticks->fed[i] && r->g->inputs.v[i]->id >= 0)
      put_value(s, r->g->inputs.v[i], x->values[i]);
  return show_some(s, x, true) && find_next(s, x->next, x->more) && show_some(s, x, false);
}

bool tp_ref_show(tp_refsteps *s, const int64_t *at, tp_array *const *values, tp_array **out,
    int64_t *next, bool *more, tp_error *err) {
  *more = false;
  TP_COPYN(s->now, at, s->r->ticks->n);
  return ref_guarded(s, show_all, &(showing){ values, out, next, more }, err) || s->r->cancelled;
}

static bool over(double until) { return until > 0 && tp_now() >= until; }

/* Each as far as possible now. */
static bool call_some(tp_refsteps *s, double until) {
  for (bool any = true; any;) {
    any = false;
    for (int i = 0; i < s->ncall && !over(until); i++) {
      int64_t at[TP_MAXDIM];
      tp_cell *c;
      bool ready;
      s->r->early = false;
      ref_answer alive = ref_call_seek(s->r, s->call[i]);
      if (alive == REF_FAILED && !s->r->early) return false;
      if (alive == REF_FAILED) give_up(s->r);
      if (alive != REF_YES || !ref_call_next(s->r, s->call[i], at)) continue;
      if (!attempt(s->r, s->call[i], at, &c, &ready)) return false;
      any |= ready;
    }
  }
  return true;
}

/* Fills in v's points from *at on, as far as possible. *done: all of them. */
static bool fill_some(tp_refsteps *s, const tp_node *n, int out, int64_t *at, tp_array *to,
    bool *done, double until) {
  int64_t lo[TP_MAXDIM] = { 0 }, hi[TP_MAXDIM];
  bool more = true, ready = true;
  for (int k = 0; k < n->ndom; k++) {
    hi[k] = ref_bound(s->r, n->dom[k]);
    more &= hi[k] > 0;
  }
  while (more && ready && !over(until)) {
    tp_cell *c;
    ref_answer alive = seek(s->r, n->ndom, n->dom, lo, hi, at);
    if (alive != REF_YES) return (*done = alive == REF_NO) || alive == REF_WAIT;
    if (!attempt(s->r, n, at, &c, &ready)) return false;
    if (!ready) return true;
    if (!ref_to_array(s->r, c, out, to)) return false;
    more = ref_next(n->ndom, lo, hi, at);
  }
  *done = !more;
  return true;
}

static bool is_along(const tp_node *w, const tp_sym *d) {
  return tp_dom_has(w->attr.nalong, w->attr.along, d);
}

/* Between ticks a state goes to the next row at most: one that waits for no tick would go on to the
 * bound, which may be no end. */
static bool is_reached(const tp_refsteps *s, const tp_node *w, const tp_sym *d, int64_t row) {
  return !s->r->now || d != s->r->ticks->dim[0] || !is_along(w, d) || row <= s->now[0] + 1;
}

/* Waits along dims whose end is up to data. */
static bool has_last(tp_refsteps *s, const tp_node *w) {
  bool yes = true;
  for (int d = 0; d < w->ndom; d++)
    yes &=
        tp_stop_of(s->r->g, w->dom[d]) || is_reached(s, w, w->dom[d], ref_bound(s->r, w->dom[d]));
  return yes;
}

/* A loaded parameter's array may be the output itself. */
static bool is_lent(const ref *r, int i) {
  const tp_node *n = r->g->outputs.v[i].val.node;
  return n->op == TP_OP_PINIT && r->run->params &&
      r->run->outputs[i] == r->run->params[n->attr.number];
}

/* fixed: only parameters that do not evolve. */
static bool fill_outputs(tp_refsteps *s, bool fixed, double until) {
  ref *r = s->r;
  const tp_ticks *t = r->ticks;
  for (int i = 0, k = 0; i < r->g->outputs.n; i++) {
    tp_val v = r->g->outputs.v[i].val;
    const tp_node *w = r->g->outputs.v[i].hidden ? r->g->params.v[k++] : NULL;
    bool evolves = w && tp_param_evolves(w), shown = t->n && t->shown[i];
    if ((fixed && (!w || evolves)) || (evolves && !has_last(s, w))) continue;
    if (s->complete[i] || shown || !r->run->outputs[i]) continue;
    if (!(s->complete[i] = is_lent(r, i)) &&
        !fill_some(s, v.node, v.out, s->at[i], r->run->outputs[i], &s->complete[i],
            t->n && t->first[i] ? 0 : until))
      return false;
  }
  return true;
}

/* ---- the newest value of a parameter stands where the last one will ---- */

/* *gone: the point is not there */
static bool attempt_alive(
    tp_refsteps *s, const tp_node *n, const int64_t *at, tp_cell **c, bool *ready, bool *gone) {
  s->r->early = false;
  ref_answer alive = ref_is_alive(s->r, n->ndom, n->dom, at, NULL);
  *ready = false;
  *gone = alive == REF_NO;
  if (alive == REF_FAILED && s->r->early) give_up(s->r);
  return alive == REF_FAILED ? s->r->early : *gone || attempt(s->r, n, at, c, ready);
}

/* A row of w, or where it has ended its last value, at its point of `last`; {NULL}: ended there
 * too. */
static bool attempt_row(tp_refsteps *s, const tp_node *w, const int64_t *at, const tp_node *last,
    tp_cell **c, bool *ready) {
  int64_t row[TP_MAXDIM];
  int n = 0;
  bool gone;
  *c = NULL;
  if (!attempt_alive(s, w, at, c, ready, &gone)) return false;
  if (!gone) return true;
  for (int k = 0; k < w->ndom; k++)
    if (!is_along(w, w->dom[k])) row[n++] = at[k];
  if (!attempt_alive(s, last, row, c, ready, &gone)) return false;
  *ready |= gone;
  return true;
}

/* All rows at one point of the dims along which w evolves. */
static bool copy_state(tp_refsteps *s, const tp_node *w, const int64_t *along, const tp_node *last,
    tp_array *to, bool *ready) {
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM], number = 0, points = 1;
  for (int k = 0; k < w->ndom; k++) {
    lo[k] = is_along(w, w->dom[k]) ? along[k] : 0;
    hi[k] = is_along(w, w->dom[k]) ? along[k] + 1 : ref_bound(s->r, w->dom[k]);
    points *= hi[k] - lo[k];
  }
  for (int pass = 0; pass < 2; pass++) /* the first sees whether all are there */
    for (bool more = (number = 0, ref_first(w->ndom, lo, hi, at)); more;
         more = ref_next(w->ndom, lo, hi, at), number++) {
      tp_cell *c;
      if (!attempt_row(s, w, at, last, &c, ready)) return false;
      if (!*ready) return true;
      if (pass && c) put_part(s, c, 0, to, number, points);
    }
  return true;
}

static bool next_state(tp_refsteps *s, const tp_node *w, int64_t *at) {
  for (int k = w->ndom - 1; k >= 0; k--) {
    if (!is_along(w, w->dom[k])) continue;
    if (++at[k] < ref_bound(s->r, w->dom[k])) return true;
    at[k] = 0;
  }
  return false;
}

static bool is_next(tp_refsteps *s, const tp_node *w, const int64_t *at) {
  bool yes = true;
  for (int d = 0; d < w->ndom; d++) yes &= is_reached(s, w, w->dom[d], at[d]);
  return yes;
}

/* Copies over last values that some rows have already; fill_outputs puts these again. */
static bool newest_params(tp_refsteps *s, double until) {
  ref *r = s->r;
  for (int i = 0, k = 0; i < r->g->outputs.n; i++) {
    if (!r->g->outputs.v[i].hidden) continue;
    const tp_node *w = r->g->params.v[k];
    int64_t *at = s->at[r->g->outputs.n + k];
    bool ready = w->id >= 0 && tp_param_evolves(w) && r->run->outputs[i];
    for (int d = 0; d < w->ndom && ready; d++) ready = ref_bound(r, w->dom[d]) > 0;
    while (ready && !s->updated[k] && !s->complete[i] && is_next(s, w, at) && !over(until)) {
      if (!copy_state(s, w, at, r->g->outputs.v[i].val.node, r->run->outputs[i], &ready))
        return false;
      if (ready) s->updated[k] = !next_state(s, w, at);
      if (ready) memset(s->at[i], 0, sizeof **s->at * TP_MAXDIM);
    }
    k++;
  }
  return true;
}

static void drop_all_outputs(tp_refsteps *s) {
  ref *r = s->r;
  for (int i = 0; i < r->g->outputs.n; i++)
    if (!s->complete[i] && !r->g->outputs.v[i].hidden)
      r->run->outputs[i] = tp_array_unref(r->run->outputs[i]);
}

typedef struct {
  bool last;
  double until;
} resting;

static bool rest(tp_refsteps *s, void *arg) {
  bool last = ((resting *)arg)->last;
  double until = ((resting *)arg)->until;
  if (last) s->r->now = NULL;
  return (last ? ref_call_all(s->r) : call_some(s, until)) && newest_params(s, until) &&
      fill_outputs(s, false, until);
}

bool tp_ref_rest(tp_refsteps *s, bool last, double until, tp_error *err) {
  bool ok = s->r->cancelled || ref_guarded(s, rest, &(resting){ last, until }, err);
  if (s->r->cancelled) drop_all_outputs(s);
  return ok || s->r->cancelled;
}

/* ---- a run as a whole ---- */

/* Without callbacks nothing has to be kept ahead of the outputs. */
static bool has_callbacks(const tp_graph *g) {
  bool any = false;
  for (int i = 0; i < g->nodes.n; i++)
    any |= g->nodes.v[i]->op == TP_OP_CALL && g->nodes.v[i]->attr.fn != TP_FN_KEEP;
  return any;
}

/* Parameters that do not evolve come before any callback, which may end the run. */
static bool run_whole(tp_refsteps *s, void *arg) {
  (void)arg;
  s->r->now = NULL;
  return fill_outputs(s, true, 0) && (!has_callbacks(s->r->g) || ref_call_all(s->r)) &&
      fill_outputs(s, false, 0);
}

/* With what is made. */
static bool keep_newest(tp_refsteps *s, void *arg) {
  (void)arg;
  give_up(s->r);
  s->r->frozen = true;
  return newest_params(s, 0);
}

bool tp_ref_run(tp_graph *g, tp_run *run, tp_error *err) {
  static const tp_ticks none;
  tp_error late = { 0 };
  tp_refsteps *s = tp_ref_begin(g, run, &none, err);
  if (!s) return false;
  bool ok = ref_guarded(s, run_whole, NULL, err), cancelled = s->r->cancelled;
  if (!ok) ref_guarded(s, keep_newest, NULL, &late);
  if (cancelled) drop_all_outputs(s);
  tp_ref_end(s);
  return ok || cancelled;
}
