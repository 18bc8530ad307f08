/* points.c: puts a cell's point into env, with the ends that are known there. */
#include "ref/machine.h"

tp_cell *ref_cell_here(ref *r, const tp_node *n) {
  int64_t at[TP_MAXDIM];
  for (int k = 0; k < n->ndom; k++) at[k] = r->env[n->dom[k]->id];
  return ref_cell(r, n, at);
}

int64_t ref_end_least(ref *r, const tp_node *n, const ref_ending *e) {
  tp_sym *t = e->stop->dim;
  int64_t was = r->env[t->id], least = TP_MIN(tp_has_dim(n, t) ? was + 1 : 1, ref_bound(r, t));
  for (bool more = true; more && least < ref_bound(r, t); least += more) {
    r->env[t->id] = least;
    const tp_cell *c = ref_cell_here(r, e->alive);
    more = c->state == CELL_DONE && c->data[0];
  }
  r->env[t->id] = was;
  return least;
}

/* sets known ends, for a node that has their dims */
static void set_ends(ref *r, const tp_node *n) {
  for (int i = 0; i < r->g->stops.n; i++) {
    const ref_ending *e = &r->ending[i];
    bool has = true;
    for (int k = 0; k < e->end->ndom; k++) has &= tp_has_dim(n, e->end->dom[k]);
    if (!has) continue;
    tp_cell *c = ref_cell_here(r, e->end);
    r->env[e->stop->dim->bound->id] =
        c->state == CELL_DONE ? *(int64_t *)c->data[0] : ref_end_least(r, n, e);
  }
}

void ref_point(ref *r, const tp_node *n, const int64_t *at) {
  for (int k = 0; k < n->ndom; k++) r->env[n->dom[k]->id] = at[k];
  if (r->g->stops.n) set_ends(r, n);
}
