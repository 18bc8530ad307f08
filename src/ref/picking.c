/* picking.c: picks and scatters elements by data, and sorts. Indices count from 0 and never
 * wrap. */
#include "ref/machine.h"
#include <math.h>
#include <stdlib.h>

/* Reads and checks index i of k for an axis of n. */
static bool pick(ref *r, tp_cell *c, const ref_data *k, int64_t i, int64_t n, int64_t *at) {
  *at = tp_geti(k->dtype, k->data, i);
  return (*at >= 0 && *at < n) ||
      ref_fail(
          r, c, TP_E_INPUT, "index %lld is outside 0 .. %lld", (long long)*at, (long long)n - 1);
}

/* `wide` is x with attr.axis replaced by the axes of k. Strides by its axes: in x (0 along k's
 * axes), in k (0 along the others). */
static void replaced(const ref_data *wide, const ref_data *x, const ref_data *k, int axis,
    int64_t *sx, int64_t *sk) {
  int64_t x_own[TP_MAXRANK], k_own[TP_MAXRANK];
  ref_strides(x, x_own);
  ref_strides(k, k_own);
  for (int j = 0; j < wide->rank; j++) {
    bool inside = j >= axis && j < axis + k->rank;
    sk[j] = inside ? k_own[j - axis] : 0;
    sx[j] = inside ? 0 : x_own[j < axis ? j : j - k->rank + 1];
  }
}

static int64_t stride_of(const ref_data *x, int axis) {
  int64_t s[TP_MAXRANK];
  ref_strides(x, s);
  return s[axis];
}

/* One element's places: w in `wide`; `at` in x, along the axis by the index that k holds. */
typedef struct pick_place {
  tp_walk w;
  int64_t at, sx[TP_MAXRANK], sk[TP_MAXRANK], step;
} pick_place;

static void place_start(
    pick_place *p, const tp_node *n, const ref_data *wide, const ref_data *x, const ref_data *k) {
  int axis = n->attr.axis;
  if (n->op == TP_OP_INDEX_SELECT || n->op == TP_OP_INDEX_ADD)
    replaced(wide, x, k, axis, p->sx, p->sk);
  else {
    ref_strides(x, p->sx);
    ref_strides(k, p->sk);
    p->sx[axis] = 0;
  }
  p->step = stride_of(x, axis);
}

static bool place_find(ref *r, tp_cell *c, pick_place *p, const ref_data *x, const ref_data *k) {
  int64_t index;
  if (!pick(r, c, k, tp_walk_offset(&p->w, p->sk), x->shape[c->node->attr.axis], &index))
    return false;
  p->at = tp_walk_offset(&p->w, p->sx) + index * p->step;
  return true;
}

static bool gather(ref *r, tp_cell *c, ref_data *out, const ref_data *x, const ref_data *k) {
  pick_place p;
  place_start(&p, c->node, out, x, k);
  for (tp_walk_start(&p.w, out->rank, out->shape); p.w.ok; tp_walk_next(&p.w)) {
    if (!place_find(r, c, &p, x, k)) return false;
    ref_copy(out, p.w.n, x, p.at);
  }
  return true;
}

/* Scatters in row-major order; sums in f64 or i64, rounded once. */
static bool scatter(ref *r, tp_cell *c, ref_data *out, const ref_data *base, const ref_data *k,
    const ref_data *src) {
  ref_acc *acc = TP_NEWN(&r->arena, ref_acc, out->n);
  for (int64_t i = 0; i < out->n; i++) {
    acc[i] = ref_acc_start(TP_RED_SUM, out->dtype);
    ref_acc_add(&acc[i], base->dtype, base->data, i);
  }
  /* src may be larger than k there */
  bool same = c->node->op == TP_OP_SCATTER_ADD;
  int64_t own[TP_MAXRANK];
  ref_strides(src, own);
  pick_place p;
  place_start(&p, c->node, src, base, k);
  for (tp_walk_start(&p.w, src->rank, same ? k->shape : src->shape); p.w.ok; tp_walk_next(&p.w)) {
    if (!place_find(r, c, &p, base, k)) return false;
    ref_acc_add(&acc[p.at], src->dtype, src->data, tp_walk_offset(&p.w, own));
  }
  for (int64_t i = 0; i < out->n; i++) ref_acc_end(&acc[i], out->dtype, out->data, i);
  return true;
}

static bool put_at(
    ref_data *out, const ref_data *base, const ref_data *k, const ref_data *src, int axis) {
  int64_t to[TP_MAXRANK], from[TP_MAXRANK], step = stride_of(out, axis);
  ref_strides(out, to);
  ref_strides(src, from);
  to[axis] = 0;
  memcpy(out->data, base->data, (size_t)(out->n * tp_dtype_size(out->dtype)));
  TP_WALK (w, k->rank, k->shape) {
    int64_t at = tp_geti(k->dtype, k->data, w.n);
    if (at < 0 || at >= out->shape[axis]) continue;
    ref_copy(out, tp_walk_offset(&w, to) + at * step, src, tp_walk_offset(&w, from));
  }
  return true;
}

/* ---- sorting ---- */

/* f of floats, i of integers, else 0 */
typedef struct sort_item {
  double f;
  int64_t i, at;
} sort_item;

/* NaN last both ways; stable. */
static int compare(const sort_item *a, const sort_item *b, int sign) {
  if (isnan(a->f) != isnan(b->f)) return isnan(a->f) ? 1 : -1;
  if (a->f < b->f || a->i < b->i) return -sign;
  if (a->f > b->f || a->i > b->i) return sign;
  return a->at < b->at ? -1 : 1;
}
static int ascending(const void *a, const void *b) { return compare(a, b, 1); }
static int descending(const void *a, const void *b) { return compare(a, b, -1); }

static bool sort(ref *r, const tp_attr *a, ref_data *out, const ref_data *x) {
  int64_t stride[TP_MAXRANK], lines[TP_MAXRANK], n = x->shape[a->axis];
  ref_strides(x, stride);
  memcpy(lines, x->shape, sizeof lines);
  lines[a->axis] = n > 0;
  sort_item *line = TP_NEWN(&r->arena, sort_item, n);
  bool flt = tp_dtype_float(x->dtype);
  TP_WALK (w, x->rank, lines) {
    int64_t base = tp_walk_offset(&w, stride), step = stride[a->axis];
    for (int64_t i = 0; i < n; i++)
      line[i] = (sort_item){ flt ? tp_get(x->dtype, x->data, base + i * step) : 0,
        flt ? 0 : tp_geti(x->dtype, x->data, base + i * step), i };
    qsort(line, (size_t)n, sizeof *line, a->descending ? descending : ascending);
    for (int64_t i = 0; i < n; i++) {
      if (flt) tp_put(out[0].dtype, out[0].data, base + i * step, line[i].f);
      else tp_puti(out[0].dtype, out[0].data, base + i * step, line[i].i);
      tp_puti(out[1].dtype, out[1].data, base + i * step, line[i].at);
    }
  }
  return true;
}

/* Rows of x times the matrices of w that k names. */
static bool taken(
    ref *r, tp_cell *c, ref_data *out, const ref_data *x, const ref_data *k, const ref_data *w) {
  int64_t m = x->shape[x->rank - 2], depth = w->shape[1], n = w->shape[2], all = 1, at;
  for (int i = 0; i < out->rank; i++) all *= out->shape[i];
  for (int64_t i = 0; i < all; i++) {
    int64_t point = i / (m * n), row = i / n, col = i % n;
    if (!pick(r, c, k, point, w->shape[0], &at)) return false;
    ref_acc acc = ref_acc_start(TP_RED_SUM, out->dtype);
    for (int64_t p = 0; p < depth; p++)
      ref_acc_product(&acc, x, row * depth + p, w, (at * depth + p) * n + col);
    ref_acc_end(&acc, out->dtype, out->data, i);
  }
  return true;
}

bool ref_pick(ref *r, tp_cell *c, ref_data *out, const ref_data *in) {
  switch (c->node->op) {
  case TP_OP_INDEX_SELECT:
  case TP_OP_GATHER: return gather(r, c, out, &in[0], &in[1]);
  case TP_OP_INDEX_ADD:
  case TP_OP_SCATTER_ADD: return scatter(r, c, out, &in[0], &in[1], &in[2]);
  case TP_OP_MATMUL_AT: return taken(r, c, out, &in[0], &in[1], &in[2]);
  case TP_OP_PUT: return put_at(out, &in[0], &in[1], &in[2], c->node->attr.axis);
  default: return sort(r, &c->node->attr, out, in);
  }
}
