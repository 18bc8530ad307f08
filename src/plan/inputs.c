/* inputs: finds inputs that are read row by row, so that each row may be an array of its own, as
 * tempo.rows gives them. A row is what lies at one place of the outermost dim.
 *
 *   in b3{4096*l; lead 64; span l to l}   =>   in b3{0; ring l mod L by 4096; lead 64}   b3 by rows
 *
 * All windows on the input stay in a row. Its number becomes a ring as wide as the dim, which
 * changes nothing for a dense array; for rows the run finds in a table where each begins. No
 * earlier pass is kept from joining rows into one product or copy: such an input is made dense at
 * the call. So are short rows, whose copy is nothing. */
#include "plan/priv.h"

enum { BRIEF_ROW = 256 }; /* elements */

static int outermost(const tp_pbuf *b) { return b->order ? b->order[0] : 0; }

/* Is each point of the input long? */
static bool is_long(tp_ictx *ix, const tp_pbuf *b) {
  int64_t n;
  tp_ix *all = tp_ix_const(ix, 1);
  for (int i = 0; i < b->rank; i++) all = tp_ix_mul(all, b->slots[b->ndim + i]);
  return b->kind == TP_BUF_INPUT && b->ndim > 0 && !tp_is_number(b->slots[outermost(b)], 1) &&
      (!tp_ix_is_const(all, &n) || n >= BRIEF_ROW);
}

static bool stays_in_row(const tp_nd *x, int dim) {
  const tp_span *s = x->nspan ? &x->span[dim] : NULL;
  return s && s->lo && s->lo == s->hi && !x->nring && x->wrap < 0;
}

void tp_plan_inputs(tp_plan *p, const tp_planned *asked) {
  (void)asked;
  for (int i = 0; i < p->bufs.n; i++) p->bufs.v[i]->by_rows = is_long(p->ix, p->bufs.v[i]);
  TP_EACH_WINDOW (k, p->body) {
    tp_pbuf *b = p->bufs.v[k.nd->buf];
    b->by_rows = b->by_rows && stays_in_row(k.nd, outermost(b));
  }
  TP_EACH_WINDOW (k, p->body) {
    const tp_pbuf *b = p->bufs.v[k.nd->buf];
    if (!b->by_rows) continue;
    int dim = outermost(b);
    tp_ix *row = k.nd->span[dim].lo, *stride = tp_pbuf_stride(p->ix, b, dim);
    k.nd->off = tp_ix_sub(k.nd->off, tp_ix_mul(row, stride));
    tp_ring ring = { row, b->slots[dim], stride };
    k.nd->ring = tp_dup(p->a, &ring, sizeof ring);
    k.nd->nring = 1;
  }
}
