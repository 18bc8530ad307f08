/* convolving.c: convolution and its adjoints, as ops.def writes them: over all (n, g, o, c, p, k), x's element times w's, y's times w's, or x's times y's.
 * Floats are summed in f64, integers wrap. */
#include "ref/machine.h"

enum { X, W, Y };
typedef struct form {
  int d;                                        /* spatial axes */
  const int *axes;                              /* stride, dilation, padding of each */
  const tp_view *v[3]; int64_t stride[3][TP_MAXRANK];
} form;

/* Where the position at p and the element at k of its window lie in x; false: outside. */
static bool inside(const form *f, const int64_t *p, const int64_t *k, int64_t *offset) {
  for (int i = 0; i < f->d; i++) {
    int64_t q = p[i] * f->axes[3 * i] + k[i] * f->axes[3 * i + 1] - f->axes[3 * i + 2];
    if (q < 0 || q >= f->v[X]->shape[3 + i]) return false;
    *offset += q * f->stride[X][3 + i];
  }
  return true;
}

static int64_t spatial(const form *f, int role, const int64_t *at) {
  int64_t o = 0;
  for (int i = 0; i < f->d; i++) o += at[i] * f->stride[role][3 + i];
  return o;
}

/* Sums of floats, or wrapping ones of integers. */
static void add(const form *f, int a, int b, const int64_t *at, double *sum, uint64_t *wrapped, int64_t to) {
  const tp_view *x = f->v[a], *y = f->v[b];
  if (tp_dtype_float(x->dtype)) sum[to] += tp_get(x->dtype, x->data, at[a]) * tp_get(y->dtype, y->data, at[b]);
  else wrapped[to] += (uint64_t)tp_geti(x->dtype, x->data, at[a]) * (uint64_t)tp_geti(y->dtype, y->data, at[b]);
}

/* Everything at one (n, g, o, c). */
static void window(const form *f, const int64_t *at, int a, int b, int out, double *sum, uint64_t *wrapped) {
  int64_t from[3] = { at[0] * f->stride[X][0] + at[1] * f->stride[X][1] + at[3] * f->stride[X][2], at[1] * f->stride[W][0] + at[2] * f->stride[W][1] + at[3] * f->stride[W][2],
                      at[0] * f->stride[Y][0] + at[1] * f->stride[Y][1] + at[2] * f->stride[Y][2] };
  ref_walk p, k;
  for (ref_walk_start(&p, f->d, f->v[Y]->shape + 3); p.ok; ref_walk_next(&p))
    for (ref_walk_start(&k, f->d, f->v[W]->shape + 3); k.ok; ref_walk_next(&k)) {
      int64_t e[3] = { from[X], from[W] + spatial(f, W, k.at), from[Y] + spatial(f, Y, p.at) };
      if (inside(f, p.at, k.at, &e[X])) add(f, a, b, e, sum, wrapped, e[out]);
    }
}

bool ref_conv(ref *r, tp_cell *c, tp_view *out, const tp_view *in) {
  static const int roles[3][3] = { { X, W, Y }, { Y, W, X }, { X, Y, W } };
  const int *role = roles[c->node->op - TP_OP_CONV];
  form f = { .d = out->rank - 3, .axes = c->node->attr.axes };
  f.v[role[0]] = &in[0];
  f.v[role[1]] = &in[1];
  f.v[role[2]] = out;
  for (int i = 0; i < 3; i++) ref_strides(f.v[i], f.stride[i]);
  double *sum = TP_NEWN(&r->arena, double, out->n);
  uint64_t *wrapped = TP_NEWN(&r->arena, uint64_t, out->n);
  int64_t all[4] = { f.v[X]->shape[0], f.v[X]->shape[1], f.v[W]->shape[1], f.v[W]->shape[2] };
  ref_walk w;
  for (ref_walk_start(&w, 4, all); w.ok; ref_walk_next(&w)) window(&f, w.at, role[0], role[1], role[2], sum, wrapped);
  for (int64_t i = 0; i < out->n; i++)
    if (tp_dtype_float(out->dtype)) tp_put(out->dtype, out->data, i, sum[i]);
    else tp_puti(out->dtype, out->data, i, (int64_t)wrapped[i]);
  return true;
}
