/* reach.c: finds values that are whole at their tick. It goes through the steps of small bounds at
 * which the program is legal, without arithmetic; no row ends before its bound there. */
#include "ref/machine.h"

typedef struct {
  ref *r;
  tp_graph *g;
  tp_ticks ticks;
  bool *shown, *paced, *ends; /* as tp_ref_ticks gives them */
} reach;

/* Finds candidates. An output that lacks a tick dim and has one inside it is never whole at a tick;
 * a callback that lacks one belongs to no tick. */
static void candidates(const reach *q) {
  const tp_graph *g = q->g;
  const tp_ticks *t = &q->ticks;
  for (int i = 0; i < g->stops.n; i++) q->ends[i] = tp_dom_has(t->n, t->dim, g->stops.v[i].dim);
  for (int i = 0; i < g->outputs.n; i++) {
    const tp_node *n = g->outputs.v[i].val.node;
    q->shown[i] = !g->outputs.v[i].hidden && tp_tick_depth(t->n, t->dim, n->ndom, n->dom) > 0;
  }
  for (int i = 0; i < g->nodes.n; i++)
    q->paced[i] = g->nodes.v[i]->op == TP_OP_CALL && ref_has_ticks(t, g->nodes.v[i]);
}

/* *whole stays true if all of n's points at this tick are made, or known to be behind an end. */
static bool judge(ref *r, const tp_node *n, bool *whole) {
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM];
  ref_tick_box(r, n, lo, hi);
  for (bool more = ref_first(n->ndom, lo, hi, at); more && *whole;
       more = ref_next(n->ndom, lo, hi, at)) {
    tp_cell *c;
    ref_answer x = ref_is_alive(r, n->ndom, n->dom, at, NULL);
    if (x == REF_YES) x = ref_eval(r, n, at, &c);
    if (x == REF_FAILED) return false;
    *whole = x != REF_WAIT;
  }
  return true;
}

static bool is_last(const ref *r, int k) { return r->now[k] == ref_bound(r, r->ticks->dim[k]) - 1; }

/* Is it the last tick at a point of the first `depth` dims? */
static bool is_last_inside(const ref *r, int depth) {
  bool last = true;
  for (int k = depth; k < r->ticks->n; k++) last &= is_last(r, k);
  return last;
}

/* Must the end of s at this tick's point of done be known before the next tick? */
static bool ends_here(const ref *r, const tp_stop *s) {
  const tp_node *done = s->done.node;
  bool behind = false, here = true;
  for (int k = 0; k < r->ticks->n; k++) {
    tp_sym *d = r->ticks->dim[k];
    if (d == s->dim) behind = true, here &= !is_last(r, k);
    else if (!tp_has_dim(done, d)) here &= behind ? is_last(r, k) : r->now[k] == 0;
  }
  return here;
}

static bool judge_tick(const reach *q) {
  const tp_graph *g = q->g;
  const tp_ticks *t = &q->ticks;
  for (int i = 0; i < g->outputs.n; i++) {
    const tp_node *n = g->outputs.v[i].val.node;
    bool here = is_last_inside(q->r, tp_tick_depth(t->n, t->dim, n->ndom, n->dom));
    if (here && q->shown[i] && !judge(q->r, n, &q->shown[i])) return false;
  }
  for (int i = 0; i < g->stops.n; i++)
    if (q->ends[i] && ends_here(q->r, &g->stops.v[i]) &&
        !judge(q->r, g->stops.v[i].done.node, &q->ends[i]))
      return false;
  if (!ref_call_some(q->r, 0)) return false;
  for (int i = 0; i < g->nodes.n; i++) {
    int64_t at[TP_MAXDIM];
    q->paced[i] = q->paced[i] &&
        !(ref_call_next(q->r, g->nodes.v[i], at) && ref_tick_sign(q->r, g->nodes.v[i], at) <= 0);
  }
  return true;
}

static bool judge_all(const reach *q) {
  int64_t lo[TP_MAXDIM] = { 0 }, hi[TP_MAXDIM];
  for (int k = 0; k < q->ticks.n; k++) hi[k] = ref_bound(q->r, q->ticks.dim[k]);
  for (bool more = ref_first(q->ticks.n, lo, hi, q->r->now); more;
       more = ref_next(q->ticks.n, lo, hi, q->r->now))
    if (!judge_tick(q)) return false;
  return true;
}

/* Judges at these bounds. A program that is illegal or fails there shows nothing. */
static bool sample(reach *q, int64_t *env, bool *counts, tp_error *err) {
  tp_error mine = { 0 };
  tp_run run = { .env = env };
  volatile bool ok = false;
  *counts = true;
  for (int i = 0; i < q->g->boundchecks.n && *counts; i++)
    *counts = tp_ix_evalq(q->g->boundchecks.v[i].cond, env);
  if (!*counts) return true;
  if ((q->r = tp_ref_begin(q->g, &run, &q->ticks, &mine))) {
    q->r->dry = true;
    REF_GUARDED(q->r, &mine, ok, judge_all(q));
  }
  *counts = ok;
  tp_ref_end(q->r);
  return mine.code != TP_E_MEMORY || tp_no_memory(err, TP_NOWHERE);
}

/* sets bounds to b, or `rest` for dims that do not tick: windows and lags may be short */
static void set_bounds(const reach *q, int64_t b, int64_t rest, int64_t *env) {
  for (int i = 0; i < tp_nsym(q->g->ix); i++) {
    tp_sym *d = tp_sym_at(q->g->ix, i)->dim;
    env[i] = d && !tp_dom_has(q->ticks.n, q->ticks.dim, d) ? rest : d || b % 2 ? b : 1;
  }
}

bool tp_ref_ticks(
    tp_graph *g, int n, tp_dims dims, bool *shown, bool *paced, bool *ends, tp_error *err) {
  reach q = { NULL, g, { .n = n, .dim = dims }, shown, paced, ends };
  candidates(&q);
  int left = TP_TUNE_TICKS_SAMPLES;
  int64_t *env = tp_calloc(sizeof *env * (size_t)(tp_nsym(g->ix) + 1));
  bool ok = env || tp_no_memory(err, g->pos), counts;
  /* it may be legal only if other dims are short */
  for (int64_t rest = 0; rest < 3 && left == TP_TUNE_TICKS_SAMPLES; rest++)
    for (int64_t b = 3; b <= TP_TUNE_TICKS_LARGEST && ok && left; b++) {
      set_bounds(&q, b, rest ? 3 - rest : b, env);
      ok = sample(&q, env, &counts, err);
      left -= counts;
    }
  tp_free(env);
  return ok;
}
