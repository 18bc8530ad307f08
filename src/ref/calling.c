/* calling.c: callbacks. Each is called once at every point of its domain without `over`, in
 * lexicographic order, so a demand for a later point makes all earlier calls first. Dims in `over`
 * lead the shapes of the arrays: one call does all points over them. */
#include "ref/machine.h"

static bool is_over(const tp_node *n, const tp_sym *d) {
  return tp_dom_has(n->attr.nover, n->attr.over, d);
}

/* No point is left: the first coordinate is its bound. */
static int64_t first_bound(const ref *r, const ref_calls *q) {
  return q->ndim ? ref_bound(r, q->dims[0]) : 1;
}
static void calls_end(const ref *r, ref_calls *q) {
  memset(q->at, 0, sizeof q->at);
  q->at[0] = first_bound(r, q);
}

ref_calls *ref_calls_of(ref *r, const tp_node *n) {
  ref_calls **at = &r->calls[n->id], *q = *at;
  if (q) return q;
  q = *at = TP_NEW(&r->arena, ref_calls);
  q->of = tp_callee_of(&r->arena, n);
  q->ndim = ref_call_dims(n, q->dims);
  for (int k = 0; k < n->ndom; k++)
    if (ref_bound(r, n->dom[k]) == 0) calls_end(r, q);
  return q;
}

/* ---- the points of one call ---- */

/* They go over the n dims in `over`: number i of `points` is o there, and `at` in the node's domain
 * and in env. */
typedef struct {
  int n;
  const tp_sym *dims[TP_MAXDIM];
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], o[TP_MAXDIM], at[TP_MAXDIM], points, i;
} call_points;

static void set_dims(ref *r, int n, const tp_sym *const *dims, const int64_t *at) {
  for (int k = 0; k < n; k++) r->env[dims[k]->id] = at[k];
}

static bool points_here(ref *r, const tp_node *n, const ref_calls *q, call_points *p) {
  set_dims(r, q->ndim, q->dims, q->at);
  set_dims(r, p->n, p->dims, p->o);
  for (int d = 0; d < n->ndom; d++) p->at[d] = r->env[n->dom[d]->id];
  return true;
}

static bool points_first(ref *r, const tp_node *n, const ref_calls *q, call_points *p) {
  *p = (call_points){ .points = 1 };
  for (int k = 0; k < n->ndom; k++)
    if (is_over(n, n->dom[k])) {
      p->points *= p->hi[p->n] = ref_bound(r, n->dom[k]);
      p->dims[p->n++] = n->dom[k];
    }
  points_here(r, n, q, p);
  return p->points > 0;
}

static bool points_next(ref *r, const tp_node *n, const ref_calls *q, call_points *p) {
  p->i++;
  return ref_next(p->n, p->lo, p->hi, p->o) && points_here(r, n, q, p);
}

#define EACH_POINT(r, n, q, p) \
  for (bool more_ = points_first(r, n, q, p); more_; more_ = points_next(r, n, q, p))

/* Puts a cell for each operand and point into r->ops; none where a row has ended. */
static bool demand_call(ref *r, tp_cell *c, const ref_calls *q) {
  const tp_node *n = c->node;
  int64_t at[TP_MAXDIM];
  call_points p;
  for (int k = 0; k < n->nin; k++) {
    tp_val v = n->in[k].src;
    EACH_POINT(r, n, q, &p) {
      ref_answer x = ref_alive(r, c, n->ndom, n->dom, p.at, NULL);
      if (x == REF_FAILED) return false;
      if (x == REF_NO) TP_PUSH(&r->arena, &r->ops, (ref_op){ 0 });
      if (x != REF_YES) continue;
      for (int d = 0; d < v.node->ndom; d++) at[d] = r->env[v.node->dom[d]->id];
      if (!ref_demand(r, c, v, at, 0)) return false;
    }
  }
  return true;
}

int ref_call_dims(const tp_node *n, const tp_sym **dims) {
  int count = 0;
  for (int k = 0; k < n->ndom; k++)
    if (!is_over(n, n->dom[k])) dims[count++] = n->dom[k];
  return count;
}

static tp_array *new_array(
    ref *r, tp_cell *c, const call_points *p, tp_dtype d, int rank, const int64_t *shape) {
  int64_t all[TP_MAXRANK];
  if (p->n + rank > TP_MAXRANK)
    return ref_fail(r, c, TP_E_SHAPE, "more than %d axes", TP_MAXRANK), NULL;
  TP_COPYN(all, p->hi, p->n);
  TP_COPYN(all + p->n, shape, rank);
  tp_array *a = tp_array_new(d, p->n + rank, all);
  if (!a) tp_fail(r->err, TP_E_MEMORY, c->node->pos, "no memory for an argument of a callback");
  return a;
}

/* Operand k over the points, whose cells are in r->ops. */
static tp_array *stack_operand(ref *r, tp_cell *c, int k, const call_points *p) {
  const ref_op *op = r->ops.v + k * p->points, *some = op;
  ref_data v;
  while (!some->cell) some++;
  if (!ref_view(r, some->cell, some->out, &v)) return NULL;
  tp_array *a = new_array(r, c, p, v.dtype, v.rank, v.shape);
  size_t bytes = (size_t)v.n * (size_t)tp_dtype_size(v.dtype);
  for (int64_t i = 0; a && bytes && i < p->points; i++)
    if (op[i].cell) memcpy((char *)a->data + (size_t)i * bytes, op[i].cell->data[op[i].out], bytes);
  return a;
}

static tp_array *result_array(ref *r, tp_cell *c, int o, const call_points *p) {
  const tp_out *out = &c->node->out[o];
  int64_t shape[TP_MAXRANK];
  for (int k = 0; k < out->rank; k++) shape[k] = tp_ix_evalq(out->shape[k], r->env);
  return new_array(r, c, p, out->dtype, out->rank, shape);
}

/* Each point is a part of a copy of result o. */
static void spread_result(ref *r, const tp_node *n, const ref_calls *q, int o, const tp_array *a) {
  size_t bytes = tp_array_bytes(a);
  char *data = tp_dup(&r->arena, a->data, bytes);
  call_points p;
  EACH_POINT(r, n, q, &p)
  ref_cell(r, n, p.at)->data[o] = data + (size_t)p.i * (bytes / (size_t)p.points);
}

/* A sink has no data, but cells too. */
static void mark_done(ref *r, const tp_node *n, const ref_calls *q) {
  call_points p;
  EACH_POINT(r, n, q, &p) ref_cell(r, n, p.at)->state = CELL_DONE;
}

static bool make_arrays(ref *r, tp_cell *c, const ref_calls *q, tp_array **args, tp_array **res) {
  const tp_node *n = c->node;
  call_points p;
  points_first(r, n, q, &p);
  for (int k = 0; k < n->nin; k++)
    if (!(args[k] = stack_operand(r, c, k, &p))) return false;
  points_here(r, n, q, &p);
  for (int o = 0; o < n->nout; o++)
    if (!(res[o] = result_array(r, c, o, &p))) return false;
  return true;
}

/* The newest value of a parameter stands where the last one will. */
static bool keep(ref *r, const tp_node *n) {
  const tp_node *w = n->in[0].src.node;
  int64_t number = 0;
  int ndim = 0, i = -1;
  for (int k = 0; k < w->ndom; k++)
    if (!tp_dom_has(w->attr.nalong, w->attr.along, w->dom[k])) {
      number = number * ref_bound(r, w->dom[k]) + r->env[w->dom[k]->id];
      ndim++;
    }
  for (int k = 0; k < r->g->params.n; k++) {
    while (!r->g->outputs.v[++i].hidden) continue;
    if (r->g->params.v[k] == w) break;
  }
  return r->complete[i] || !r->run->outputs[i] ||
      ref_put(r, r->ops.v[0].cell, 0, r->run->outputs[i], ndim, number);
}

static bool make_call(ref *r, tp_cell *c, ref_calls *q, tp_array **args, tp_array **res) {
  const tp_node *n = c->node;
  if (n->attr.fn == TP_FN_KEEP) return mark_done(r, n, q), keep(r, n);
  if (r->dry) return mark_done(r, n, q), true;
  if (!make_arrays(r, c, q, args, res)) return false;
  tp_call call = { &q->of, n->nin, args, n->nout, res, q->ndim, q->dims, q->at, NULL };
  if (!r->run->call || !r->run->call(r->run->ud, &call, r->err))
    return tp_fail(r->err, TP_E_CALLBACK, n->pos, "the callback failed");
  for (int o = 0; o < n->nout; o++) spread_result(r, n, q, o, res[o]);
  mark_done(r, n, q);
  return true;
}

/* The arrays live as long as the call; where the arena runs out of memory they are released as
 * well. */
static bool call_once(ref *r, tp_cell *c, ref_calls *q) {
  const tp_node *n = c->node;
  tp_array **volatile args = TP_NEWN(&r->arena, tp_array *, n->nin + n->nout);
  tp_guard oom;
  volatile bool ok = false, failed = false;
  if (TP_GUARDED(&oom)) {
    ok = make_call(r, c, q, args, args + n->nin);
    tp_unguard(&oom);
  } else failed = true;
  for (int k = 0; k < n->nin + n->nout; k++) tp_array_unref(args[k]);
  if (failed) tp_oom();
  return ok;
}

static ref_answer seek_call(ref *r, tp_cell *by, ref_calls *q) {
  int64_t lo[TP_MAXDIM] = { 0 }, hi[TP_MAXDIM];
  for (int k = 0; k < q->ndim; k++) hi[k] = ref_bound(r, q->dims[k]);
  bool ended = q->at[0] >= first_bound(r, q);
  ref_answer x = ended ? REF_NO : ref_seek(r, by, q->ndim, q->dims, lo, hi, q->at);
  if (x == REF_NO) calls_end(r, q);
  return x;
}

bool ref_call_step(ref *r, tp_cell *c) {
  ref_calls *q = ref_calls_of(r, c->node);
  ref_answer x = seek_call(r, c, q);
  if (x != REF_YES) return x == REF_WAIT;
  if (!demand_call(r, c, q)) return false;
  if (r->waiting) return true;
  if (!call_once(r, c, q)) return false;
  int64_t lo[TP_MAXDIM] = { 0 }, hi[TP_MAXDIM];
  for (int k = 0; k < q->ndim; k++) hi[k] = ref_bound(r, q->dims[k]);
  if (!ref_next(q->ndim, lo, hi, q->at)) calls_end(r, q);
  return true;
}

ref_answer ref_call_ask(ref *r, const tp_node *n) { return seek_call(r, NULL, ref_calls_of(r, n)); }

bool ref_call_next(ref *r, const tp_node *n, int64_t *at) {
  const ref_calls *q = ref_calls_of(r, n);
  for (int d = 0, k = 0; d < n->ndom; d++) at[d] = is_over(n, n->dom[d]) ? 0 : q->at[k++];
  return q->at[0] < first_bound(r, q);
}
