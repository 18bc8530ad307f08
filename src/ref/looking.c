/* looking.c: check = "nan": looks for NaN in the result of a marked operator. */
#include "ref/machine.h"
#include "kern/made.h"

static tp_lens lens_of(const ref_data *v, const tp_node *n) {
  tp_lens l = {
    .name = n ? tp_own_name(n) : NULL, .dtype = v->dtype, .rank = v->rank, .data = v->data
  };
  TP_COPYN(l.shape, v->shape, v->rank);
  ref_strides(v, l.stride);
  return l;
}

/* Fails with the words in b, and frees it. */
static bool found(ref *r, tp_cell *c, tp_buf *b) {
  ref_fail(r, c, TP_E_NAN, "%s", b->failed ? "" : b->s);
  tp_buf_free(b);
  return false;
}

bool ref_look(ref *r, tp_cell *c, const ref_data *out, const ref_data *in) {
  const tp_node *n = c->node;
  int64_t at[TP_MAXRANK];
  tp_lens *l = TP_NEWN(&r->arena, tp_lens, n->nin);
  for (int k = 0; k < n->nin; k++) l[k] = lens_of(&in[k], n->in[k].src.node);
  for (int o = 0; o < n->nout; o++) {
    tp_made m = { n->op, n->nin, l, lens_of(&out[o], NULL) };
    if (!tp_made_find(&m, at)) continue;
    tp_buf b;
    tp_buf_init(&b);
    tp_made_tell(&b, &m, at);
    return found(r, c, &b);
  }
  return true;
}

/* Tells the first few elements that were added. */
bool ref_look_sum(ref *r, tp_cell *c, const ref_data *out) {
  enum { TOLD = 8 };
  int64_t at[TP_MAXRANK] = { 0 }, e = 0, size = tp_dtype_size(out->dtype);
  tp_lens l[TOLD];
  tp_made m = { c->node->attr.red == TP_RED_PROD ? TP_OP_PROD : TP_OP_SUM, TP_MIN(r->ops.n, TOLD),
    l, lens_of(out, NULL) };
  tp_buf b;
  if (!r->ops.n || tp_lens_finite(&m.out)) return true;
  do {
    bool finite = !tp_lens_finite_at(&m.out, at);
    for (int i = r->ops.n - 1; i >= 0 && finite; i--) {
      const ref_op *x = &r->ops.v[i];
      const char *data = x->cell->data[x->out];
      l[i % TOLD] = (tp_lens){ .dtype = out->dtype, .data = data + (x->row + e) * size };
      finite = tp_lens_finite(&l[i % TOLD]);
    }
    if (!finite) continue;
    tp_buf_init(&b);
    tp_made_tell(&b, &m, at);
    return found(r, c, &b);
  } while (e++, tp_next_index(out->rank, out->shape, at));
  return true;
}
