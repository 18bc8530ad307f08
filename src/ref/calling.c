/* calling.c: makes calls of callbacks. Each is called once at every point of its domain without
 * `over`, in lexicographic order, so a demand for a later point makes all earlier calls first. Dims
 * in `over` lead the shapes of the arrays: one call does all points over them. */
#include "ref/machine.h"

static bool is_over(const tp_node *n, tp_sym *d) {
  return tp_dom_has(n->attr.nover, n->attr.over, d);
}

/* The first coordinate if no point is left: its bound. */
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
  for (int k = 0; k < n->ndom; k++)
    if (!is_over(n, n->dom[k])) q->dims[q->ndim++] = n->dom[k];
  for (int k = 0; k < n->ndom; k++)
    if (ref_bound(r, n->dom[k]) == 0) calls_end(r, q);
  return q;
}

/* A call's points: a box of the node's domain, all of it along dims in `over`. */
typedef struct {
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], points;
} call_box;

static call_box points_of(const ref *r, const tp_node *n, const ref_calls *q) {
  call_box b = { .points = 1 };
  for (int k = 0, d = 0; k < n->ndom; k++) {
    bool over = is_over(n, n->dom[k]);
    b.lo[k] = over ? 0 : q->at[d++];
    b.hi[k] = over ? ref_bound(r, n->dom[k]) : b.lo[k] + 1;
    b.points *= b.hi[k] - b.lo[k];
  }
  return b;
}

/* Puts a cell for each operand and point into r->ops; none where a row has ended. */
static bool demand_call(ref *r, tp_cell *c, const ref_calls *q) {
  const tp_node *n = c->node;
  call_box b = points_of(r, n, q);
  int64_t at[TP_MAXDIM];
  for (int k = 0; k < n->nin; k++)
    REF_EACH (n->ndom, b.lo, b.hi, at) {
      ref_answer x = ref_alive(r, c, n->ndom, n->dom, at, NULL);
      if (x == REF_FAILED) return false;
      if (x == REF_NO) TP_PUSH(&r->arena, &r->ops, (ref_op){ 0 });
      if (x != REF_YES) continue;
      ref_point(r, n, at);
      if (!ref_demand_here(r, c, n->in[k].src)) return false;
    }
  return true;
}

static tp_array *new_array(
    ref *r, tp_cell *c, const call_box *b, tp_dtype d, int rank, const int64_t *shape) {
  const tp_node *n = c->node;
  int64_t all[TP_MAXRANK];
  int nover = n->attr.nover;
  if (nover + rank > TP_MAXRANK)
    return ref_fail(r, c, TP_E_SHAPE, "more than %d axes", TP_MAXRANK), NULL;
  for (int k = 0, o = 0; k < n->ndom; k++)
    if (is_over(n, n->dom[k])) all[o++] = b->hi[k];
  TP_COPYN(all + nover, shape, rank);
  tp_array *a = tp_array_new(d, nover + rank, all);
  if (!a) tp_fail(r->err, TP_E_MEMORY, n->pos, "no memory for an argument of a callback");
  return a;
}

/* The array of operand k over the points, whose cells are in r->ops. */
static tp_array *stack_operand(ref *r, tp_cell *c, int k, const call_box *b) {
  const ref_op *op = r->ops.v + k * b->points, *some = op;
  ref_data v;
  while (!some->cell) some++;
  if (!ref_view(r, some->cell, some->out, &v)) return NULL;
  tp_array *a = new_array(r, c, b, v.dtype, v.rank, v.shape);
  size_t bytes = (size_t)v.n * (size_t)tp_dtype_size(v.dtype);
  for (int64_t i = 0; a && bytes && i < b->points; i++)
    if (op[i].cell) memcpy((char *)a->data + (size_t)i * bytes, op[i].cell->data[op[i].out], bytes);
  return a;
}

static tp_array *result_array(ref *r, tp_cell *c, int o, const call_box *b) {
  const tp_out *out = &c->node->out[o];
  int64_t shape[TP_MAXRANK];
  for (int k = 0; k < out->rank; k++) shape[k] = tp_ix_evalq(out->shape[k], r->env);
  return new_array(r, c, b, out->dtype, out->rank, shape);
}

/* Each point's results are parts of copies; a sink has none, but cells too. res NULL: there are no
 * data. */
static void spread_results(ref *r, const tp_node *n, const call_box *b, tp_array **res) {
  int64_t at[TP_MAXDIM];
  for (int o = 0; res && o < n->nout; o++) {
    size_t bytes = tp_array_bytes(res[o]), part = bytes / (size_t)b->points;
    char *data = tp_dup(&r->arena, res[o]->data, bytes);
    REF_EACH (n->ndom, b->lo, b->hi, at) {
      ref_cell(r, n, at)->data[o] = data;
      data += part;
    }
  }
  REF_EACH (n->ndom, b->lo, b->hi, at) ref_cell(r, n, at)->state = CELL_DONE;
}

/* Keeps the newest value of a parameter, in the place of the last one. */
static bool keep(ref *r, const tp_node *n, const call_box *b) {
  const tp_node *w = n->in[0].src.node;
  int64_t number = 0;
  int ndim = 0, i = -1;
  for (int k = 0; k < w->ndom; k++)
    if (!tp_dom_has(w->attr.nalong, w->attr.along, w->dom[k])) {
      number = number * ref_bound(r, w->dom[k]) + b->lo[k];
      ndim++;
    }
  TP_NODES (n, r->g->params) {
    while (!r->g->outputs.v[++i].hidden) continue;
    if (n == w) break;
  }
  return r->complete[i] || !r->run->outputs[i] ||
      ref_put(r, r->ops.v[0].cell, 0, r->run->outputs[i], ndim, number);
}

static bool make_call(ref *r, tp_cell *c, ref_calls *q, tp_array **args, tp_array **res) {
  const tp_node *n = c->node;
  call_box b = points_of(r, n, q);
  if (r->dry || n->attr.fn == TP_FN_KEEP) {
    spread_results(r, n, &b, NULL);
    return r->dry || keep(r, n, &b);
  }
  for (int k = 0; k < n->nin; k++)
    if (!(args[k] = stack_operand(r, c, k, &b))) return false;
  ref_point(r, n, b.lo);
  for (int o = 0; o < n->nout; o++)
    if (!(res[o] = result_array(r, c, o, &b))) return false;
  tp_call call = { &q->of, n->nin, args, n->nout, res, q->ndim, q->dims, q->at, NULL };
  if (!r->run->call || !r->run->call(r->run->ud, &call, r->err))
    return tp_fail(r->err, TP_E_CALLBACK, n->pos, "the callback failed");
  spread_results(r, n, &b, res);
  return true;
}

/* Calls once. The arrays live as long as the call, also if the arena runs out of memory. */
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
