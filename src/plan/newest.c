/* newest: where the newest value of a parameter lies, from which a run's outputs take the last
 * value. Either a buffer holds nothing else (tp_pbuf.holds), or each new value is copied to the
 * output. */
#include "plan/build.h"

/* Does one leaf make the whole new value, in a place of its own? */
static bool is_made_at_once(const pb *b, int arr) {
  int n = 0;
  for (int i = 0; i < b->p->arrs.n; i++) n += b->bufof[i] == b->bufof[arr];
  for (int i = 0; i < b->leaves.n; i++) {
    const tp_region *r = b->leaves.v[i]->rg;
    for (int o = 0; r && !r->first && o < r->nout; o++) n += r->out[o].buf == b->bufof[arr]->id;
    n += !r;
  }
  return n == 2;
}

/* Does each of the two arrays hold one value, laid out alike? */
static bool lies_alike(const pb *b, const tp_arr *from, const tp_arr *to) {
  const tp_pbuf *x = b->bufof[from->id], *y = b->bufof[to->id];
  int k = 0;
  for (int d = 0; d < from->ndim; d++)
    if (k < to->ndim && from->dim[d] == to->dim[k] && x->slots[d] == y->slots[k]) k++;
    else if (x->slots[d] != K(b, 1)) return false;
  for (int i = 0; i < to->rank; i++)
    if (x->slots[x->ndim + i] != y->slots[y->ndim + i]) return false;
  return x->kind == TP_BUF_TEMP && x->size == y->size && k == to->ndim && !x->order && !y->order;
}

static bool reads_array(const tp_stmt *s, int arr) {
  bool any = false;
  for (int a = 0; a < s->nacc; a++) any |= s->acc[a].kind == TP_ACC_READ && s->acc[a].arr == arr;
  return any;
}

/* Does anything read the array? If only the last value is wanted, the statement of the new value
 * must read it, because then each value stays until the next. */
static bool is_carried(const pb *b, int arr) {
  bool any = reads_array(b->s, arr);
  for (int i = 0; i < b->p->stmts.n && !any; i++) {
    const tp_stmt *s = b->p->stmts.v[i];
    any = reads_array(s, arr) &&
        (b->p->keeps ||
            (s->nacc && s->acc[0].kind != TP_ACC_READ && reads_array(b->s, s->acc[0].arr)));
  }
  return any;
}

enum { NEVER_HOLDS = -2 };

static void hold_newest(pb *b, const tp_arr *from, const tp_arr *to) {
  tp_pbuf *x = b->bufof[from->id];
  if (x->holds == NEVER_HOLDS || !lies_alike(b, from, to) || !is_carried(b, from->id)) return;
  x->holds = is_made_at_once(b, from->id) ? to->slot : NEVER_HOLDS;
}

/* A buffer that several leaves of a statement write, or one adds to, holds no value in between. */
void tp_pb_note_parts(pb *b) {
  for (int i = 0; i < b->leaves.n; i++) {
    const tp_region *r = b->leaves.v[i]->rg, *s;
    for (int o = 0; r && !r->first && o < r->nout; o++) {
      bool part = r->acc && r->out[o].buf >= 0;
      for (int j = 0; j < i && r->out[o].buf >= 0; j++)
        for (int q = 0; (s = b->leaves.v[j]->rg) && !s->first && q < s->nout; q++)
          part |= s->out[q].buf == r->out[o].buf;
      if (part) b->pl->bufs.v[r->out[o].buf]->holds = NEVER_HOLDS;
    }
  }
}

bool tp_pb_copy_newest(pb *b) {
  const tp_stmt *s = b->s;
  const tp_arr *to = tp_newest_in(b->p, s);
  const tp_access *w = tp_pb_target(s);
  if (!to) return true;
  const tp_arr *from = b->p->arrs.v[w->arr];
  if (!b->s->nnode || b->s->node[b->s->nnode - 1]->op != TP_OP_PINIT) hold_newest(b, from, to);
  if (!b->p->keeps) return true;
  tp_ix **idx = tp_pb_exprs(b, to->ndim);
  for (int d = 0; d < to->ndim; d++)
    for (int e = 0; e < from->ndim; e++)
      if (from->dim[e] == to->dim[d]) idx[d] = w->at[e].lo;
  tp_opnd o = tp_pb_whole(b, to->val, to->ndim, to->dim, idx);
  if (!tp_pb_copy(b, s->into, tp_pb_write(b, w), tp_pb_array(b, to, &o, true))) return false;
  TP_PUSH(b->a, &b->copies, b->leaves.v[b->leaves.n - 1]);
  return true;
}

void tp_pb_drop_copies(pb *b) {
  for (int i = 0; i < b->copies.n; i++)
    if (b->pl->bufs.v[b->copies.v[i]->rg->in[0].buf]->holds >= 0)
      *b->copies.v[i] = (tp_pnode){ .kind = TP_P_SEQ };
}
