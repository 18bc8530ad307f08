/* ref.c: computes one point, for peek. */
#include "ref/machine.h"

static bool is_there(ref *r, const tp_node *n, const int64_t *at) {
  for (int k = 0; k < n->ndom; k++)
    if (at[k] < 0 || at[k] >= ref_bound(r, n->dom[k])) {
      tp_fail(r->err, TP_E_DOMAIN, n->pos, "%s has no point %s = %lld (%s = %lld)", ref_label(r, n),
          n->dom[k]->name, (long long)at[k], n->dom[k]->bound->name,
          (long long)ref_bound(r, n->dom[k]));
      return false;
    }
  int which = 0;
  ref_answer alive = ref_is_alive(r, n->ndom, n->dom, at, &which);
  if (alive == REF_NO)
    tp_fail(r->err, TP_E_DOMAIN, n->pos, "%s has no point%s: '%s' has ended there", ref_label(r, n),
        ref_where(r, n, at), r->ending[which].stop->dim->name);
  return alive == REF_YES;
}

static tp_array *peek(ref *r, tp_val v, const int64_t *at) {
  tp_cell *c;
  ref_data x;
  if (!is_there(r, v.node, at) || ref_eval(r, v.node, at, &c) != REF_YES ||
      !ref_view(r, c, v.out, &x))
    return NULL;
  tp_array *a = tp_array_new(x.dtype, x.rank, x.shape);
  if (!a) tp_oom();
  if (x.n) memcpy(a->data, x.data, tp_array_bytes(a));
  return a;
}

tp_array *tp_ref_peek(tp_graph *g, tp_run *run, tp_val v, const int64_t *at, tp_error *err) {
  static const tp_ticks none;
  ref *r = tp_ref_begin(g, run, &none, err);
  tp_array *volatile a = NULL;
  if (r) REF_GUARDED(r, err, a, peek(r, v, at));
  tp_ref_end(r);
  return a;
}
