/* saving.c: states: the memo, and how far the callbacks are. */
#include "ref/machine.h"

/* Ends are said anew. */
static bool is_own(tp_refsteps *s, const tp_cell *c) {
  return c->state == CELL_DONE && c->node->id < s->r->g->nodes.n &&
      !(c->node->op == TP_OP_VALUE && tp_mentions_end(s->r->g, c->node->attr.ix[0]));
}

/* How far dims that end are known, as shapes may need: ends, and points that are there. */
static void put_ends(tp_refsteps *s, tp_buf *b) {
  for (int64_t h = 0; h < s->r->nslot; h++)
    for (tp_cell *c = s->r->slot[h]; c; c = c->next) {
      int k = c->node->id - s->r->g->nodes.n;
      if (c->state != CELL_DONE || k < 0 || !c->data[0]) continue;
      tp_put_i64(b, k);
      for (int d = 0; d < c->node->ndom; d++) tp_put_i64(b, ref_at(c)[d]);
      tp_put_i64(b, k % 2 ? *(int64_t *)c->data[0] : 0);
      tp_put_i64(b, ref_bound(s->r, s->r->ending[k / 2].stop->dim));
    }
  tp_put_i64(b, -1);
}

static void take_ends(tp_refsteps *s, tp_reader *r) {
  ref *x = s->r;
  for (int64_t k; !r->bad && (k = tp_take_in(r, -1, 2 * x->g->stops.n)) >= 0;) {
    const ref_ending *e = &x->ending[k / 2];
    const tp_node *n = k % 2 ? e->end : e->alive;
    int64_t at[TP_MAXDIM], *end = TP_NEW(&x->arena, int64_t);
    for (int d = 0; d < n->ndom; d++) at[d] = tp_take_in(r, 0, TP_MAX(ref_bound(x, n->dom[d]), 1));
    *end = tp_take_in(r, 0, ref_bound(x, e->stop->dim) + 1);
    /* it ended at the smaller bound */
    if (tp_take_in(r, 0, ref_bound(x, e->stop->dim) + 1) == *end &&
        *end < ref_bound(x, e->stop->dim))
      continue;
    tp_cell *c = ref_cell(x, n, at);
    c->data[0] = end;
    c->state = CELL_DONE;
  }
}

static void put_cell(tp_refsteps *s, tp_cell *c, tp_buf *b) {
  tp_put_i64(b, c->node->id);
  for (int k = 0; k < c->node->ndom; k++) tp_put_i64(b, ref_at(c)[k]);
  for (int o = 0; o < c->node->nout; o++) {
    ref_data v;
    bool any = ref_view(s->r, c, o, &v) && v.data;
    size_t bytes = any ? (size_t)v.n * (size_t)tp_dtype_size(v.dtype) : 0;
    tp_put_i64(b, any ? (int64_t)bytes : -1);
    if (any) tp_put_bytes(b, v.data, bytes);
  }
}

void tp_ref_put(tp_refsteps *s, tp_buf *b) {
  for (int i = 0; i < s->ncall; i++) {
    int64_t at[TP_MAXDIM];
    tp_put_i64(b, ref_call_next(s->r, s->call[i], at));
    for (int k = 0; k < s->call[i]->ndom; k++) tp_put_i64(b, at[k]);
  }
  put_ends(s, b);
  for (int64_t h = 0; h < s->r->nslot; h++)
    for (tp_cell *c = s->r->slot[h]; c; c = c->next)
      if (is_own(s, c)) put_cell(s, c, b);
  tp_put_i64(b, -1);
}

/* By node: made of what mentions the larger bound: last values and lengths (rt/state.c), to be made
 * again. */
static bool *mentioning(ref *r) {
  tp_graph *g = r->g;
  bool *made = TP_NEWN(&r->arena, bool, g->nodes.n);
  for (int i = 0; i < g->nodes.n; i++)
    made[i] = tp_node_mentions(g->nodes.v[i], r->ticks->dim[0]->bound);
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < g->nodes.n; i++)
      for (int k = 0; k < g->nodes.v[i]->nin && !made[i]; k++)
        more |= made[i] = made[g->nodes.v[i]->in[k].src.node->id];
  }
  return made;
}

/* Calls that came to the end of the smaller bound go on behind its last row. False: earlier rows
 * would have had more. */
static bool goes_on(tp_refsteps *s, const tp_node *n, const int64_t *was, int64_t *at, bool *more) {
  const tp_sym *dims[TP_MAXDIM], *d = s->r->ticks->dim[0];
  int ndim = ref_call_dims(n, dims);
  if (*more || !tp_dom_has(ndim, dims, d)) return true;
  for (int k = 0; k < n->ndom; k++) at[k] = n->dom[k] == d ? was[d->bound->id] : 0;
  return *more = dims[0] == d;
}

static bool leave_cell(const tp_node *n, tp_reader *r) {
  for (int k = 0; k < n->ndom; k++) tp_take_i64(r);
  for (int o = 0; o < n->nout && !r->bad; o++) tp_take(r, (size_t)tp_take_i64(r));
  return !r->bad;
}

static bool take_cell(tp_refsteps *s, const tp_node *n, tp_reader *r) {
  int64_t at[TP_MAXDIM];
  for (int k = 0; k < n->ndom; k++) at[k] = tp_take_in(r, 0, TP_MAX(ref_bound(s->r, n->dom[k]), 1));
  if (r->bad) return false;
  tp_cell *c = ref_cell(s->r, n, at);
  for (int o = 0; o < n->nout; o++) {
    ref_data v;
    size_t bytes = (size_t)tp_take_i64(r);
    if (bytes > r->left || !ref_view(s->r, c, o, &v) ||
        bytes != (size_t)v.n * (size_t)tp_dtype_size(v.dtype))
      return !(r->bad = true);
    c->data[o] = tp_new_bytes(&s->r->arena, bytes);
    tp_take_bytes(r, c->data[o], bytes);
  }
  c->state = CELL_DONE;
  return true;
}

typedef struct {
  tp_reader *r;
  const int64_t *was;
} getting;

static bool get(tp_refsteps *s, void *arg) {
  tp_reader *r = ((getting *)arg)->r;
  const int64_t *was = ((getting *)arg)->was;
  const bool *again = was ? mentioning(s->r) : NULL;
  for (int i = 0; i < s->ncall; i++) {
    int64_t at[TP_MAXDIM];
    bool more = tp_take_in(r, 0, 2);
    for (int k = 0; k < s->call[i]->ndom; k++)
      at[k] = tp_take_in(r, 0, TP_MAX(ref_bound(s->r, s->call[i]->dom[k]), 1));
    if (was && !goes_on(s, s->call[i], was, at, &more)) return false;
    ref_call_at(s->r, s->call[i], at, !more);
  }
  take_ends(s, r);
  for (int64_t id; !r->bad && (id = tp_take_in(r, -1, s->r->g->nodes.n)) >= 0;) {
    const tp_node *n = s->r->g->nodes.v[id];
    bool leaves = was && again[id];
    if (leaves && n->op == TP_OP_CALL) return false;
    if (!(leaves ? leave_cell(n, r) : take_cell(s, n, r))) return false;
  }
  return !r->bad && r->left == 0;
}

bool tp_ref_get(tp_refsteps *s, tp_reader *r, const int64_t *was, tp_error *err) {
  return ref_guarded(s, get, &(getting){ r, was }, err);
}
