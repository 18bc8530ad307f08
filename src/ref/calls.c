/* calls.c: makes the calls of all callbacks of a run, in order. */
#include "ref/machine.h"

/* Does call a come before b? By the dims in the order of P:dim, a coordinate before none. */
static bool earlier(const ref_calls *a, const ref_calls *b) {
  for (int i = 0, j = 0; i < a->ndim || j < b->ndim; i++, j++) {
    if (j == b->ndim) return true;
    if (i == a->ndim) return false;
    if (a->dims[i] != b->dims[j]) return a->dims[i]->order < b->dims[j]->order;
    if (a->at[i] != b->at[j]) return a->at[i] < b->at[j];
  }
  return false;
}

/* The callbacks at the least point. Parameters are kept first there: a callback may end the run. */
const tp_node **ref_calls_reached(ref *r, int *count) {
  const tp_graph *g = r->g;
  bool *reached = TP_NEWN(&r->arena, bool, g->nodes.n);
  for (int i = 0; i < g->outputs.n; i++) tp_reach(&r->arena, g->outputs.v[i].val.node, reached);
  TP_NODES (n, g->sinks) tp_reach(&r->arena, n, reached);
  for (int i = 0; i < g->stops.n; i++) tp_reach(&r->arena, g->stops.v[i].done.node, reached);
  const tp_node **call = TP_NEWN(&r->arena, const tp_node *, g->nodes.n);
  *count = 0;
  for (int rest = 0; rest < 2; rest++)
    for (int i = 0; i < g->nodes.n; i++) {
      const tp_node *n = g->nodes.v[i];
      if (n->op == TP_OP_CALL && reached[i] && (n->attr.fn != TP_FN_KEEP) == rest)
        call[(*count)++] = n;
    }
  return call;
}

static const tp_node *first_call(ref *r) {
  const tp_node *best = NULL;
  for (int i = 0; i < r->ncall; i++) {
    const tp_node *n = r->call[i];
    if (ref_call_seek(r, n) == REF_NO) continue;
    if (r->err->code || r->cancelled) return NULL;
    if (!best || earlier(ref_calls_of(r, n), ref_calls_of(r, best))) best = n;
  }
  return best;
}

bool ref_call_all(ref *r) {
  for (const tp_node *n; (n = first_call(r));) {
    int64_t at[TP_MAXDIM];
    tp_cell *c;
    /* the search for the first may have made calls */
    if (ref_call_seek(r, n) == REF_NO) continue;
    ref_call_next(r, n, at);
    if (ref_eval(r, n, at, &c) != REF_YES) return false;
  }
  return !r->err->code && !r->cancelled;
}
