/* reach.c: which tick each value waits for: the evaluator's walk without arithmetic. A cell's
 * `late` is the greatest number, in the box of the tick dims, of a tick whose input or callback it
 * needs. At small bounds at which the program is legal. */
#include "ref/machine.h"

/* r: of a copy of g in which no dim ends before its bound */
typedef struct {
  ref *r;
  int n;
  const tp_sym *const *dims;
  const tp_graph *g;
  bool *shown, *paced, *ends; /* as tp_ref_ticks gives them */
} reach;

static bool has_all(const reach *q, int n, const tp_sym *const *dom) {
  for (int k = 0; k < q->n; k++)
    if (!tp_dom_has(n, dom, q->dims[k])) return false;
  return true;
}

static bool call_ticks(const reach *q, const tp_node *n) {
  const tp_sym *dims[TP_MAXDIM];
  return has_all(q, ref_call_dims(n, dims), dims);
}

/* A point's own tick, or the last one inside it. */
static int64_t tick_of(const reach *q, tp_cell *c) {
  int64_t at[TP_MAXDIM];
  ref_point(q->r, c->node, ref_at(c));
  for (int k = 0; k < q->n; k++)
    at[k] = tp_dom_has(c->node->ndom, c->node->dom, q->dims[k]) ? q->r->env[q->dims[k]->id]
                                                                : ref_bound(q->r, q->dims[k]) - 1;
  return ref_number(q->r, q->n, q->dims, at);
}

/* The first point over `over` stands for its call. */
static bool first_of_call(const tp_node *n, const int64_t *at, int64_t *first) {
  bool same = true;
  for (int k = 0; k < n->ndom; k++) {
    bool over = tp_dom_has(n->attr.nover, n->attr.over, n->dom[k]);
    first[k] = over ? 0 : at[k];
    same &= first[k] == at[k];
  }
  return same;
}

/* The previous call in lexicographic order. */
static bool call_before(const reach *q, const tp_node *n, const int64_t *at, int64_t *before) {
  for (int k = 0; k < n->ndom; k++) before[k] = at[k];
  for (int k = n->ndom - 1; k >= 0; k--) {
    if (tp_dom_has(n->attr.nover, n->attr.over, n->dom[k])) continue;
    if (before[k]-- > 0) return true;
    before[k] = ref_bound(q->r, n->dom[k]) - 1;
  }
  return false;
}

static bool demand(const reach *q, tp_cell *c) {
  int64_t other[TP_MAXDIM];
  if (c->node->op != TP_OP_CALL) return ref_demand_operands(q->r, c);
  if (!first_of_call(c->node, ref_at(c), other))
    return ref_demand(q->r, c, (tp_val){ (tp_node *)c->node, 0 }, other, 0);
  if (call_before(q, c->node, ref_at(c), other) &&
      !ref_demand(q->r, c, (tp_val){ (tp_node *)c->node, 0 }, other, 0))
    return false;
  return ref_call_demand(q->r, c);
}

/* Demands what ends the rows of c's point at t < upto. */
static bool demand_done(const reach *q, tp_cell *c, const tp_stop *s, int64_t upto) {
  const tp_node *done = s->done.node;
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM];
  for (int k = 0; k < done->ndom; k++) {
    lo[k] = 0, hi[k] = done->dom[k] == s->dim ? upto : ref_bound(q->r, done->dom[k]);
    for (int d = 0; d < c->node->ndom && done->dom[k] != s->dim; d++)
      if (c->node->dom[d] == done->dom[k]) lo[k] = ref_at(c)[d], hi[k] = lo[k] + 1;
  }
  REF_EACH (done->ndom, lo, hi, at)
    if (!ref_demand(q->r, c, s->done, at, 0)) return false;
  return true;
}

/* A map that mentions the end is said at the operand's points. */
static bool is_sent(const tp_node *n, const tp_stop *s) {
  bool any = false;
  for (int k = 0; k < n->nin && n->op == TP_OP_ACCUM; k++)
    any |= !n->in[k].gather && ref_contribution_asks(n, &n->in[k], s->sym);
  return any;
}

/* A node waits for the ends that it mentions, a callback to know whether its point is there. */
static bool demand_ends(const reach *q, tp_cell *c) {
  const tp_node *n = c->node;
  for (int i = 0; i < q->g->stops.n; i++) {
    const tp_stop *s = &q->g->stops.v[i];
    ref_point(q->r, n, ref_at(c));
    int64_t least = tp_dom_has(n->ndom, n->dom, s->dim) ? q->r->env[s->dim->id] + 1 : 1;
    bool waits =
        is_sent(n, s) || (ref_mentions(n, s->sym) && !ref_says_same(q->r, q->g, n, s->dim, least));
    int64_t upto = waits ? ref_bound(q->r, s->dim) : 0;
    for (int d = 0; d < n->ndom; d++)
      if (n->op == TP_OP_CALL && n->dom[d] == s->dim) upto = TP_MAX(upto, ref_at(c)[d]);
    if (upto && !demand_done(q, c, s, upto)) return false;
  }
  return true;
}

static bool step(const reach *q, tp_cell *c) {
  ref *r = q->r;
  r->ops.n = 0;
  r->waiting = false;
  c->state = CELL_WORK;
  if (!demand(q, c) || (!r->waiting && !demand_ends(q, c))) return false;
  if (r->waiting) return true;
  bool given = c->node->op == TP_OP_INPUT && has_all(q, c->node->ndom, c->node->dom);
  bool called = c->node->op == TP_OP_CALL && call_ticks(q, c->node);
  c->late = given || called ? tick_of(q, c) : -1;
  for (int k = 0; k < r->ops.n; k++) c->late = TP_MAX(c->late, r->ops.v[k].cell->late);
  c->state = CELL_DONE;
  return true;
}

static bool follow(const reach *q, const tp_node *n, const int64_t *at, tp_cell **out) {
  ref *r = q->r;
  *out = ref_cell(r, n, at);
  TP_PUSH(&r->arena, &r->stack, *out);
  while (r->stack.n) {
    tp_cell *c = r->stack.v[r->stack.n - 1];
    if (c->state == CELL_DONE) r->stack.n--;
    else if (!step(q, c)) return false;
  }
  return true;
}

/* Is it known by tick `now` that the point is there? By what ended it at t - 1: earlier ones are
 * asked at other points. */
static bool knows_ends(
    const reach *q, const tp_node *n, const int64_t *point, int64_t now, bool *in_time) {
  for (int i = 0; i < q->g->stops.n; i++) {
    const tp_node *done = q->g->stops.v[i].done.node;
    int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], at[TP_MAXDIM];
    if (!tp_dom_has(n->ndom, n->dom, q->g->stops.v[i].dim)) continue;
    for (int k = 0; k < done->ndom; k++) {
      lo[k] = 0, hi[k] = ref_bound(q->r, done->dom[k]);
      for (int d = 0; d < n->ndom; d++)
        if (n->dom[d] == done->dom[k])
          lo[k] = point[d] - (n->dom[d] == q->g->stops.v[i].dim), hi[k] = lo[k] + 1;
      if (lo[k] < 0) hi[k] = lo[k];
    }
    REF_EACH (done->ndom, lo, hi, at) {
      tp_cell *c;
      if (!follow(q, done, at, &c)) return false;
      *in_time &= c->late <= now;
    }
  }
  return true;
}

/* The number of the first tick behind the end of s at env's point, of done. */
static int64_t tick_beyond(const reach *q, const tp_node *done, const tp_stop *s) {
  int64_t next[TP_MAXDIM];
  for (int k = 0; k < q->n; k++)
    next[k] = tp_dom_has(done->ndom, done->dom, q->dims[k])
        ? q->r->env[q->dims[k]->id] + (q->dims[k] == s->dim)
        : 0;
  return ref_number(q->r, q->n, q->dims, next);
}

/* *in_time stays if no point of n waits for a later tick; s: n is what ends its dim, which is known
 * before the first tick beyond. */
static bool judge(const reach *q, const tp_node *n, const tp_stop *s, bool *in_time) {
  int64_t lo[TP_MAXDIM] = { 0 }, hi[TP_MAXDIM], at[TP_MAXDIM];
  for (int k = 0; k < n->ndom; k++) hi[k] = ref_bound(q->r, n->dom[k]) - (s && n->dom[k] == s->dim);
  for (bool more = *in_time && ref_first(n->ndom, lo, hi, at); more && *in_time;
       more = ref_next(n->ndom, lo, hi, at)) {
    tp_cell *c;
    if (!follow(q, n, at, &c)) return false;
    int64_t tick = tick_of(q, c);
    *in_time = s ? c->late < tick_beyond(q, n, s) : c->late <= tick;
    if (!s && *in_time && !knows_ends(q, n, at, tick, in_time)) return false;
  }
  return true;
}

static bool judge_all(const reach *q) {
  const tp_graph *g = q->g;
  for (int i = 0; i < g->outputs.n; i++)
    if (!judge(q, g->outputs.v[i].val.node, NULL, &q->shown[i])) return false;
  for (int i = 0; i < g->nodes.n; i++)
    if (q->paced[i] && !judge(q, g->nodes.v[i], NULL, &q->paced[i])) return false;
  for (int i = 0; i < g->stops.n; i++)
    if (!judge(q, g->stops.v[i].done.node, &g->stops.v[i], &q->ends[i])) return false;
  return true;
}

/* An output that lacks a tick dim and has one inside it is never whole at a tick; a callback that
 * lacks one belongs to none. */
static void candidates(const reach *q) {
  const tp_graph *g = q->g;
  for (int i = 0; i < g->stops.n; i++) q->ends[i] = tp_dom_has(q->n, q->dims, g->stops.v[i].dim);
  for (int i = 0; i < g->outputs.n; i++) {
    const tp_node *n = g->outputs.v[i].val.node;
    q->shown[i] = !g->outputs.v[i].hidden && tp_tick_depth(q->n, q->dims, n->ndom, n->dom) > 0;
  }
  for (int i = 0; i < g->nodes.n; i++)
    q->paced[i] = g->nodes.v[i]->op == TP_OP_CALL && call_ticks(q, g->nodes.v[i]);
}

/* A program that is illegal or fails at these bounds says nothing. */
static bool sample(reach *q, int64_t *env, bool *counts, tp_error *err) {
  static const tp_ticks none;
  tp_error mine = { 0 };
  tp_run run = { .env = env };
  tp_graph endless = *q->g; /* no dim ends before its bound */
  endless.stops.n = 0;
  *counts = true;
  for (int i = 0; i < endless.boundchecks.n && *counts; i++)
    *counts = tp_ix_evalq(endless.boundchecks.v[i].cond, env);
  if (!*counts) return true;
  volatile bool ok = false;
  if ((q->r = tp_ref_begin(&endless, &run, &none, &mine)))
    REF_GUARDED(q->r, &mine, ok, judge_all(q));
  *counts = ok;
  tp_ref_end(q->r);
  return mine.code != TP_E_MEMORY || tp_no_memory(err, TP_NOWHERE);
}

/* b, or `rest` for dims that do not tick; a window, a lag: also a short one */
static void set_bounds(
    tp_graph *g, int n, const tp_sym *const *dims, int64_t b, int64_t rest, int64_t *env) {
  for (int i = 0; i < tp_nsym(g->ix); i++) {
    const tp_sym *d = tp_sym_at(g->ix, i)->dim;
    env[i] = d && !tp_dom_has(n, dims, d) ? rest : d || b % 2 ? b : 1;
  }
}

bool tp_ref_ticks(tp_graph *g, int n, const tp_sym *const *dims, bool *shown, bool *paced,
    bool *ends, tp_error *err) {
  reach q = { NULL, n, dims, g, shown, paced, ends };
  candidates(&q);
  int left = TP_TUNE_TICKS_SAMPLES;
  int64_t *env = tp_calloc(sizeof *env * (size_t)(tp_nsym(g->ix) + 1));
  bool ok = env || tp_no_memory(err, g->pos), counts;
  /* it may be legal only where other dims are short */
  for (int64_t rest = 0; rest < 3 && left == TP_TUNE_TICKS_SAMPLES; rest++)
    for (int64_t b = 3; b <= TP_TUNE_TICKS_LARGEST && ok && left; b++) {
      set_bounds(g, n, dims, b, rest ? 3 - rest : b, env);
      ok = sample(&q, env, &counts, err);
      left -= counts;
    }
  tp_free(env);
  return ok;
}
