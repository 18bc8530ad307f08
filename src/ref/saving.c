/* saving.c: writes and reads states: the values from outside, and how far callbacks are. All other
 * values are made again on demand. */
#include "ref/machine.h"

static bool is_given(const tp_cell *c) {
  return c->state == CELL_DONE && (c->node->op == TP_OP_INPUT || c->node->op == TP_OP_CALL);
}

static void put_cell(ref *r, tp_cell *c, tp_buf *b) {
  tp_put_i64(b, c->node->id);
  for (int k = 0; k < c->node->ndom; k++) tp_put_i64(b, ref_at(c)[k]);
  for (int o = 0; o < c->node->nout; o++) {
    ref_data v;
    size_t bytes =
        ref_view(r, c, o, &v) && v.data ? (size_t)v.n * (size_t)tp_dtype_size(v.dtype) : 0;
    tp_put_i64(b, (int64_t)bytes);
    tp_put_bytes(b, v.data, bytes);
  }
}

/* Coordinates of a call; one without dims has a number that says whether it is made. */
static int ncoord(const ref_calls *q) { return TP_MAX(q->ndim, 1); }

void tp_ref_put(tp_refsteps *r, tp_buf *b) {
  for (int i = 0; i < r->ncall; i++) {
    const ref_calls *q = ref_calls_of(r, r->call[i]);
    for (int k = 0; k < ncoord(q); k++) tp_put_i64(b, q->at[k]);
  }
  for (int64_t h = 0; h < r->nslot; h++)
    for (tp_cell *c = r->slot[h]; c; c = c->next)
      if (is_given(c)) put_cell(r, c, b);
  tp_put_i64(b, -1);
}

/* Takes a cell's data, with room for the node's largest value: ends of dims are not known yet. */
static bool take_data(ref *r, tp_cell *c, int o, tp_reader *in) {
  int64_t shape[TP_MAXRANK], room = tp_dtype_size(c->node->out[o].dtype);
  int rank = tp_run_shape(r->run, 0, NULL, &c->node->out[o], shape);
  for (int k = 0; k < rank; k++) room = tp_times_bytes(room, shape[k]);
  size_t bytes = (size_t)tp_take_i64(in);
  if (in->bad || bytes > in->left || bytes > (size_t)room) return !(in->bad = true);
  c->data[o] = tp_new_bytes(&r->arena, (size_t)room);
  tp_take_bytes(in, c->data[o], bytes);
  return true;
}

static bool take_cell(ref *r, const tp_node *n, tp_reader *in) {
  int64_t at[TP_MAXDIM];
  for (int k = 0; k < n->ndom; k++) at[k] = tp_take_in(in, 0, TP_MAX(ref_bound(r, n->dom[k]), 1));
  if (in->bad || (n->op != TP_OP_INPUT && n->op != TP_OP_CALL)) return !(in->bad = true);
  tp_cell *c = ref_cell(r, n, at);
  for (int o = 0; o < n->nout; o++)
    if (!take_data(r, c, o, in)) return false;
  c->state = CELL_DONE;
  return true;
}

/* Takes a call. One that reached the end of a smaller bound goes on there, unless the dim is an
 * inner one: earlier rows would have had more calls. */
static bool take_call(ref *r, ref_calls *q, const int64_t *was, tp_reader *in) {
  tp_sym *d = r->ticks->dim[0];
  for (int k = 0; k < ncoord(q); k++) {
    int64_t most = q->ndim ? ref_bound(r, q->dims[k]) : 1;
    q->at[k] = tp_take_in(in, 0, TP_MAX(most, 1) + (k == 0));
  }
  return !was || !tp_dom_has(q->ndim, q->dims, d) || q->dims[0] == d;
}

static bool get(ref *r, tp_reader *in, const int64_t *was) {
  for (int i = 0; i < r->ncall; i++)
    if (!take_call(r, ref_calls_of(r, r->call[i]), was, in)) return false;
  for (int64_t id; !in->bad && (id = tp_take_in(in, -1, r->g->nodes.n)) >= 0;)
    if (!take_cell(r, r->g->nodes.v[id], in)) return false;
  return !in->bad && in->left == 0;
}

bool tp_ref_get(tp_refsteps *r, tp_reader *in, const int64_t *was, tp_error *err) {
  volatile bool ok = false;
  REF_GUARDED(r, err, ok, get(r, in, was));
  return ok;
}
