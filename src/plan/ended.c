/* ended: makes the nodes that read ends by data. A LOAD, in front of a node that mentions an end,
 * takes the greatest end of the rows that exist; a callback over rows gets which of them have
 * ended. */
#include "plan/build.h"

/* ---- ends as windows ---- */

/* The numbers of end i as a window, with an axis for each range; expressions are over variables and
 * bounds. */
static tp_nd nd_end(pb *b, int i, const tp_at *at) {
  const tp_stop *s = &b->p->g->stops.v[i];
  static const tp_stmt nothing;
  const tp_stmt *was = b->s;
  int nlead = b->nlead;
  b->s = &nothing;
  b->nlead = 0;
  tp_nd n = tp_pb_write(b,
      &(tp_access){ .arr = tp_array_of(b->p, tp_v(s->end))->id, .at = TP_DUPN(b->a, at, s->ndom) });
  b->s = was;
  b->nlead = nlead;
  return n;
}

static tp_at all_of(pb *b, tp_sym *dim) { return (tp_at){ true, K(b, 0), tp_ix_sym(dim->bound) }; }

/* The ends of stop i as rows: an axis for each of these dims, over the range in `along` (of stride
 * 0 if the end does not vary along it), then one for each further range in `at`. */
static tp_nd nd_ends(pb *b, int i, int naxis, tp_dims axis, const tp_at *along, const tp_at *at) {
  const tp_stop *s = &b->p->g->stops.v[i];
  tp_nd all = nd_end(b, i, at), x = all;
  x.rank = naxis;
  x.shape = tp_pb_exprs(b, naxis + all.rank);
  x.stride = tp_pb_exprs(b, naxis + all.rank);
  for (int k = 0; k < naxis; k++)
    x.shape[k] = tp_ix_sub(along[k].hi, along[k].lo), x.stride[k] = K(b, 0);
  for (int d = 0, e = 0; d < s->ndom; e += at[d++].range) {
    if (!at[d].range) continue;
    int k = 0;
    while (k < naxis && axis[k] != s->dom[d]) k++;
    if (k == naxis) x.shape[x.rank++] = all.shape[e];
    x.stride[k < naxis ? k : x.rank - 1] = all.stride[e];
  }
  return x;
}

/* ---- the greatest end of the rows that exist ---- */

/* Is each row's end of stop i known by now? */
static bool rows_known(pb *b, int i, const tp_at *at) {
  const tp_stop *s = &b->p->g->stops.v[i];
  const tp_arr *r = tp_array_of(b->p, tp_v(s->end));
  bool known = b->begun[i];
  for (int d = 0; d < s->ndom; d++) known &= !at[d].range || (r->dense >> d & 1);
  return known;
}

/* Limits the load to rows that exist, by the ends of the dims of e's rows. An end that is not begun
 * is too large a number, and is not used. */
static void rows_of_end(pb *b, const tp_end *e, tp_pnode *load) {
  const tp_stop *s = &b->p->g->stops.v[e->stop];
  tp_sym *axis[s->ndom + 1];
  tp_at along[s->ndom + 1];
  int naxis = 0, place[s->ndom + 1];
  for (int d = 0; d < s->ndom; d++)
    if (e->at[d].range) axis[naxis] = s->dom[d], along[naxis] = e->at[d], place[d] = naxis++;
  load->rows = TP_NEWN(b->a, tp_rows, s->ndom);
  for (int d = 0; d < s->ndom; d++) {
    const tp_stop *q = tp_stop_of(b->p->g, s->dom[d]);
    if (!q) continue;
    tp_at at[q->ndom + 1];
    int i = (int)(q - b->p->g->stops.v);
    bool differ = e->at[d].range;
    for (int k = 0; k < q->ndom; k++) {
      at[k] = all_of(b, q->dom[k]);
      for (int j = 0; j < s->ndom; j++)
        if (s->dom[j] == q->dom[k]) at[k] = e->at[j], differ |= e->at[j].range;
    }
    if (differ && rows_known(b, i, at))
      load->rows[load->nrows++] = (tp_rows){ .at = e->at[d].lo,
        .along = e->at[d].range ? place[d] : -1,
        .given = tp_ix_sym(q->dim->bound),
        .nd = nd_ends(b, i, naxis, axis, along, at) };
  }
}

/* Makes loads of the ends that a node wants, in front of it. */
void tp_pb_loads(pb *b, tp_pnodes *to) {
  for (int i = 0; i < b->ends.n; i++) {
    if (!b->ends.v[i].wanted) continue;
    const tp_end e = b->p->ends.v[i];
    b->ends.v[i].wanted = false;
    tp_pnode *x = TP_NEW(b->a, tp_pnode);
    *x = (tp_pnode){ .kind = TP_P_LOAD,
      .var = b->ends.v[i].var,
      .given = tp_ix_sym(b->p->g->stops.v[e.stop].dim->bound),
      .nd = nd_end(b, e.stop, e.at) };
    rows_of_end(b, &e, x);
    TP_PUSH(b->a, to, x);
  }
}

/* ---- rows of a callback that have ended ---- */

static tp_nd call_ends(pb *b, const tp_node *n, int i) {
  const tp_stop *s = &b->p->g->stops.v[i];
  tp_sym *over[n->ndom + 1];
  tp_at at[s->ndom + 1], along[n->ndom + 1];
  int nover = 0;
  for (int k = 0; k < n->ndom; k++)
    if (tp_pb_is_over(n, n->dom[k])) over[nover] = n->dom[k], along[nover++] = all_of(b, n->dom[k]);
  for (int d = 0; d < s->ndom; d++) {
    at[d] = all_of(b, s->dom[d]);
    for (int k = 0; k < n->ndom; k++)
      if (n->dom[k] == s->dom[d] && !tp_pb_is_over(n, n->dom[k]))
        at[d] = (tp_at){ .lo = tp_pb_here(b, b->s->nodeat[b->s->nnode - 1][k]) };
  }
  return nd_ends(b, i, nover, over, along, at);
}

/* Tells a callback which rows have ended: by the ends of the dims in `over`, and of the dims that
 * it goes along if these depend on dims in `over`. */
void tp_pb_ended_rows(pb *b, tp_region *r, const tp_node *n) {
  r->rows = TP_NEWN(b->a, tp_rows, b->p->g->stops.n);
  for (int i = 0; n->nin && i < b->p->g->stops.n; i++) {
    const tp_stop *s = &b->p->g->stops.v[i];
    tp_rows x = { .at = K(b, 0), .given = tp_ix_sym(s->dim->bound), .along = -1 };
    bool differ = tp_pb_is_over(n, s->dim);
    for (int k = 0, o = 0; k < n->ndom; o += tp_pb_is_over(n, n->dom[k++])) {
      if (n->dom[k] == s->dim && differ) x.along = o;
      else if (n->dom[k] == s->dim) x.at = tp_pb_here(b, b->s->nodeat[b->s->nnode - 1][k]);
    }
    for (int d = 0; d < s->ndom; d++) differ |= tp_pb_is_over(n, s->dom[d]);
    if (!differ || !tp_dom_has(n->ndom, n->dom, s->dim)) continue;
    x.nd = call_ends(b, n, i);
    r->rows[r->nrows++] = x;
  }
}
