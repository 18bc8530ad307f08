/* again: which values that are kept along a whole dim are better made again by each who reads them.
 *
 * An elementwise chain, read in two loops (a recurrence and its backward pass), is stored for every point between them. Where all that it is made of is there for
 * as long anyway, inputs, constants and what is itself kept whole along that dim, storing it buys the arithmetic of a few elementwise operators with memory that is written once
 * and read twice: the outer products of a state-space model are the state's size at each step, what they are made of is not. Only rows from TP_TUNE_AGAIN_ROW bytes on:
 * small ones stay in the cache, and cost a program its second search for loops. */
#include "opt/opt.h"
#include "poly/sched.h"
#include <stdlib.h>

typedef struct { const tp_poly *p; const tp_stmt **writer; int *nwrite, *nread; bool *no; double least; } remaker;

static bool is_whole(const tp_arr *x, int d) { return tp_ix_mentions(x->width[d], x->dim[d]->bound); }

static bool is_kept_along(const tp_arr *x, const tp_sym *dim) {
  bool kept = true;
  for (int d = 0; d < x->ndim; d++) kept &= x->dim[d] != dim || is_whole(x, d);
  return kept;
}

static bool is_operator(const tp_stmt *s) { return s->kind == TP_ST_OP && s->nnode && !s->into && !s->src.node && !s->effect; }

static void look(remaker *m, const tp_stmt *s) {
  for (int a = 0; a < s->nacc; a++) {
    const tp_access *x = &s->acc[a];
    bool ranged = !x->at;
    for (int d = 0; x->at && d < m->p->arrs.v[x->arr]->ndim; d++) ranged |= x->at[d].range;
    if (x->kind != TP_ACC_READ) m->writer[x->arr] = s, m->nwrite[x->arr]++;
    else m->nread[x->arr]++;
    m->no[x->arr] |= ranged || (x->kind == TP_ACC_READ ? !x->by : !is_operator(s));
  }
}

static bool is_elementwise_chain(const tp_stmt *s, tp_val v) {
  bool all = s->node[s->nnode - 1] == v.node;
  for (int i = 0; i < s->nnode; i++) all &= tp_ops[s->node[i]->op].batch == TP_BATCH_E && s->node[i]->nout == 1 && !s->node[i]->attr.check;
  return all;
}

static bool is_there(const remaker *m, const tp_access *x, const tp_arr *r) {
  const tp_arr *o = m->p->arrs.v[x->arr];
  bool kept = o->kind == TP_ARR_INPUT || o->kind == TP_ARR_CONST;
  if (kept || o->kind != TP_ARR_TEMP || m->writer[x->arr] == NULL) return kept;
  kept = true;
  for (int d = 0; d < r->ndim; d++) kept &= !is_whole(r, d) || is_kept_along(o, r->dim[d]);
  return kept;
}

static bool chooses(const remaker *m, const tp_arr *r, const bool *again) {
  bool whole = false, ok = r->kind == TP_ARR_TEMP && m->nwrite[r->id] == 1 && m->nread[r->id] > 1 && !m->no[r->id];
  const tp_stmt *s = m->writer[r->id];
  for (int d = 0; d < r->ndim && ok; d++) whole |= is_whole(r, d);
  if (!whole || !is_elementwise_chain(s, r->val) || (double)tp_dtype_size(r->dtype) * tp_elements(r->rank, r->shape) < m->least) return false;
  for (int a = 0; a < s->nacc; a++)
    if (s->acc[a].kind == TP_ACC_READ) ok &= is_there(m, &s->acc[a], r) && !again[s->acc[a].arr];
  return ok;
}

int tp_made_again(const tp_poly *p, tp_arena *a, tp_again *out) {
  const char *set = tp_setting("TEMPO_AGAIN");
  int n = p->arrs.n;
  remaker m = { p, TP_NEWN(a, const tp_stmt *, n + 1), TP_NEWN(a, int, n + 1), TP_NEWN(a, int, n + 1), TP_NEWN(a, bool, n + 1), set ? atof(set) : TP_TUNE_AGAIN_ROW };
  bool *again = TP_NEWN(a, bool, n + 1);
  *out = (tp_again){ .value = TP_NEWN(a, tp_node *, n + 1), .chain = TP_NEWN(a, bool, p->g->nodes.n + 1) };
  for (int i = 0; i < p->stmts.n; i++) look(&m, p->stmts.v[i]);
  for (int i = 0; i < n; i++) {
    if (!chooses(&m, p->arrs.v[i], again)) continue;
    again[i] = true;
    out->value[out->n++] = p->arrs.v[i]->val.node;
    for (int k = 0; k < m.writer[i]->nnode; k++) out->chain[m.writer[i]->node[k]->id] = true;
  }
  return out->n;
}
