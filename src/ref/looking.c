/* looking.c: check = "nan": what a marked operator has made is looked at before anybody reads it.
 */
#include "ref/machine.h"
#include "kern/made.h"
#include <math.h>

static tp_lens lens_of(const ref_data *v, const tp_node *n) {
  tp_lens l = {
    .name = n ? tp_own_name(n) : NULL, .dtype = v->dtype, .rank = v->rank, .data = v->data
  };
  memcpy(l.shape, v->shape, sizeof *l.shape * (size_t)v->rank);
  ref_strides(v, l.stride);
  return l;
}

/* Takes the words. */
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
    tp_made m = { n->op, &n->attr.how, n->nin, o, l, lens_of(&out[o], NULL) };
    if (!tp_made_find(&m, at)) continue;
    tp_buf b;
    tp_buf_init(&b);
    tp_made_tell(&b, &m, at);
    return found(r, c, &b);
  }
  return true;
}

/* The elements that were added up: number e of each contribution. */
static bool all_finite(ref *r, tp_dtype d, int64_t e) {
  for (int i = 0; i < r->ops.n; i++)
    if (!isfinite(tp_get(d, r->ops.v[i].cell->data[r->ops.v[i].out], r->ops.v[i].row + e)))
      return false;
  return r->ops.n > 0;
}

bool ref_look_sum(ref *r, tp_cell *c, const ref_data *out) {
  tp_lens l = lens_of(out, NULL);
  int64_t at[TP_MAXRANK];
  tp_walk w;
  int64_t e = 0;
  for (tp_walk_start(&w, out->rank, out->shape); w.ok; tp_walk_next(&w), e++) {
    if (isfinite(tp_get(out->dtype, out->data, e)) || !all_finite(r, out->dtype, e)) continue;
    double v[TP_TOLD];
    tp_dtype d[TP_TOLD];
    for (int i = 0; i < r->ops.n && i < TP_TOLD; i++) {
      d[i] = out->dtype;
      v[i] = tp_get(d[i], r->ops.v[i].cell->data[r->ops.v[i].out], r->ops.v[i].row + e);
    }
    tp_buf b;
    tp_buf_init(&b);
    memcpy(at, w.at, sizeof at);
    tp_made_tell_list(&b, tp_red_name(c->node->attr.red), r->ops.n, d, v, &l, at);
    return found(r, c, &b);
  }
  return true;
}
