/* ref.c: peeks at a point. */
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

typedef struct {
  tp_val v;
  const int64_t *at;
  tp_array *a;
} peeking;

static bool peek(tp_refsteps *s, void *arg) {
  peeking *p = arg;
  tp_cell *c;
  ref_data x;
  s->r->now = NULL;
  if (!is_there(s->r, p->v.node, p->at) || !ref_eval(s->r, p->v.node, p->at, &c) ||
      !ref_view(s->r, c, p->v.out, &x))
    return false;
  p->a = tp_array_new(x.dtype, x.rank, x.shape);
  if (!p->a) tp_oom();
  if (x.n) memcpy(p->a->data, x.data, tp_array_bytes(p->a));
  return true;
}

tp_array *tp_ref_peek(tp_graph *g, tp_run *run, tp_val v, const int64_t *at, tp_error *err) {
  static const tp_ticks none;
  tp_refsteps *s = tp_ref_begin(g, run, &none, err);
  peeking p = { v, at, NULL };
  if (s) ref_guarded(s, peek, &p, err);
  tp_ref_end(s);
  return p.a;
}
