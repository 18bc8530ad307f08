/* reach.c: which tick each value has to wait for. The evaluator's walk without its arithmetic: a cell's `late` is the greatest number, in the box of the
 * tick dims, of a tick whose input or callback it needs. At small bounds, of which those count at which the program is legal. */
#include "ref/machine.h"

enum { LARGEST = 12, SAMPLES = 2 };

typedef struct { ref *r; int n; const tp_sym *const *dims; } reach;

static bool has_all(const reach *q, int n, const tp_sym *const *dom) {
  for (int k = 0; k < q->n; k++)
    if (!tp_dom_has(n, dom, q->dims[k])) return false;
  return true;
}

static bool call_ticks(const reach *q, const tp_node *n) {
  const tp_sym *dims[REF_MAXDIM];
  return has_all(q, ref_call_dims(n, dims), dims);
}

static int64_t tick_of(const reach *q, tp_cell *c) {
  int64_t at[REF_MAXDIM];
  ref_point(q->r, c->node, ref_at(c));
  for (int k = 0; k < q->n; k++) at[k] = q->r->env[q->dims[k]->id];
  return ref_number(q->r, q->n, q->dims, at);
}

/* All points over `over` are one call: the first stands for them. */
static bool first_of_call(const tp_node *n, const int64_t *at, int64_t *first) {
  bool same = true;
  for (int k = 0; k < n->ndom; k++) {
    bool over = tp_dom_has(n->attr.nover, n->attr.over, n->dom[k]);
    first[k] = over ? 0 : at[k];
    same &= first[k] == at[k];
  }
  return same;
}

/* The call before this one in lexicographic order. */
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
  int64_t other[REF_MAXDIM];
  if (c->node->op != TP_OP_CALL) return ref_demand_operands(q->r, c);
  if (!first_of_call(c->node, ref_at(c), other)) return ref_demand(q->r, c, (tp_val){ (tp_node *)c->node, 0 }, other, 0);
  if (call_before(q, c->node, ref_at(c), other) && !ref_demand(q->r, c, (tp_val){ (tp_node *)c->node, 0 }, other, 0)) return false;
  return ref_call_demand(q->r, c);
}

static bool step(const reach *q, tp_cell *c) {
  ref *r = q->r;
  r->ops.n = 0;
  r->waiting = false;
  c->state = CELL_WORK;
  if (!demand(q, c)) return false;
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

/* *in_time stays only if no point of n waits for a later tick than its own. */
static bool judge(const reach *q, const tp_node *n, bool *in_time) {
  int64_t lo[REF_MAXDIM] = {0}, hi[REF_MAXDIM], at[REF_MAXDIM];
  for (int k = 0; k < n->ndom; k++) hi[k] = ref_bound(q->r, n->dom[k]);
  for (bool more = *in_time && ref_first(n->ndom, lo, hi, at); more && *in_time; more = ref_next(n->ndom, lo, hi, at)) {
    tp_cell *c;
    if (!follow(q, n, at, &c)) return false;
    *in_time = c->late <= tick_of(q, c);
  }
  return true;
}

static bool judge_all(const reach *q, bool *shown, bool *paced) {
  tp_graph *g = q->r->g;
  for (int i = 0; i < g->outputs.n; i++)
    if (!judge(q, g->outputs.v[i].val.node, &shown[i])) return false;
  for (int i = 0; i < g->nodes.n; i++)
    if (paced[i] && !judge(q, g->nodes.v[i], &paced[i])) return false;
  return true;
}

/* What lacks a tick dim is never whole at a tick. */
static void candidates(const reach *q, tp_graph *g, bool *shown, bool *paced) {
  for (int i = 0; i < g->outputs.n; i++) {
    const tp_node *n = g->outputs.v[i].val.node;
    shown[i] = !g->outputs.v[i].hidden && has_all(q, n->ndom, n->dom);
  }
  for (int i = 0; i < g->nodes.n; i++) paced[i] = g->nodes.v[i]->op == TP_OP_CALL && call_ticks(q, g->nodes.v[i]);
}

/* A program that is not legal at these bounds, or whose walk fails there, says nothing. */
static bool sample(tp_graph *g, int n, const tp_sym *const *dims, int64_t *env, bool *shown, bool *paced, bool *counts, tp_error *err) {
  tp_error mine = { 0 };
  tp_run run = { .env = env };
  *counts = true;
  for (int i = 0; i < g->boundchecks.n && *counts; i++) *counts = tp_ix_evalq(g->boundchecks.v[i].cond, env);
  if (!*counts) return true;
  ref *const r = tp_calloc(sizeof *r);
  if (!ref_open(r, err)) return false;
  volatile bool ok = true;
  tp_graph endless = *g;                        /* no dim ends before its bound */
  endless.stops.n = 0;
  reach q = { r, n, dims };
  tp_guard oom;
  if (TP_GUARDED(&oom)) {
    *counts = ref_init(r, &endless, &run, &mine) && judge_all(&q, shown, paced);
    tp_unguard(&oom);
  } else ok = tp_fail(err, TP_E_MEMORY, (tp_pos){0}, "out of memory");
  ref_close(r);
  return ok;
}

bool tp_ref_ticks(tp_graph *g, int n, const tp_sym *const *dims, bool *shown, bool *paced, tp_error *err) {
  reach q = { .n = n, .dims = dims };
  candidates(&q, g, shown, paced);
  int nsym = tp_nsym(g->ix), left = SAMPLES;
  int64_t *env = tp_calloc(sizeof *env * (size_t)(nsym + 1));
  bool ok = env || tp_fail(err, TP_E_MEMORY, g->pos, "out of memory"), counts;
  for (int64_t b = 3; b <= LARGEST && ok && left; b++) {
    for (int i = 0; i < nsym; i++) env[i] = b % 2 || tp_sym_at(g->ix, i)->dim ? b : 1;      /* a window, a lag: also a short one */
    ok = sample(g, n, dims, env, shown, paced, &counts, err);
    left -= counts;
  }
  tp_free(env);
  return ok;
}
