/* convolving.c: convolution and its adjoints, as ops.def writes them: over all (n, g, o, c, p, k),
 * x's element times w's, y's times w's, or x's times y's. */
#include "ref/machine.h"

typedef struct form {
  int d;           /* spatial axes */
  const int *axes; /* stride, dilation, padding of each */
  const ref_data *v[3];
  int64_t stride[3][TP_MAXRANK];
} form;

/* Finds the place in x of the position p and the element k of its window; false: outside. */
static bool inside(const form *f, const int64_t *p, const int64_t *k, int64_t *offset) {
  for (int i = 0; i < f->d; i++) {
    int64_t q = p[i] * f->axes[3 * i] + k[i] * f->axes[3 * i + 1] - f->axes[3 * i + 2];
    if (q < 0 || q >= f->v[TP_CX]->shape[3 + i]) return false;
    *offset += q * f->stride[TP_CX][3 + i];
  }
  return true;
}

static int64_t spatial(const form *f, int role, const int64_t *at) {
  int64_t o = 0;
  for (int i = 0; i < f->d; i++) o += at[i] * f->stride[role][3 + i];
  return o;
}

static void window(const form *f, const int64_t *at, int a, int b, int out, ref_acc *sum) {
  int64_t from[3] = { at[0] * f->stride[TP_CX][0] + at[1] * f->stride[TP_CX][1] +
        at[3] * f->stride[TP_CX][2],
    at[1] * f->stride[TP_CW][0] + at[2] * f->stride[TP_CW][1] + at[3] * f->stride[TP_CW][2],
    at[0] * f->stride[TP_CY][0] + at[1] * f->stride[TP_CY][1] + at[2] * f->stride[TP_CY][2] };
  TP_WALK (p, f->d, f->v[TP_CY]->shape + 3)
    TP_WALK (k, f->d, f->v[TP_CW]->shape + 3) {
      int64_t e[3] = { from[TP_CX], from[TP_CW] + spatial(f, TP_CW, k.at),
        from[TP_CY] + spatial(f, TP_CY, p.at) };
      if (inside(f, p.at, k.at, &e[TP_CX]))
        ref_acc_product(&sum[e[out]], f->v[a], e[a], f->v[b], e[b]);
    }
}

bool ref_conv(ref *r, tp_cell *c, ref_data *out, const ref_data *in) {
  const int *role = tp_conv_roles(c->node->op);
  form f = { .d = out->rank - 3, .axes = c->node->attr.axes };
  f.v[role[0]] = &in[0];
  f.v[role[1]] = &in[1];
  f.v[role[2]] = out;
  for (int i = 0; i < 3; i++) ref_strides(f.v[i], f.stride[i]);
  ref_acc *sum = TP_NEWN(&r->arena, ref_acc, out->n);
  for (int64_t i = 0; i < out->n; i++) sum[i] = ref_acc_start(TP_RED_SUM, out->dtype);
  int64_t all[4] = { f.v[TP_CX]->shape[0], f.v[TP_CX]->shape[1], f.v[TP_CW]->shape[1],
    f.v[TP_CW]->shape[2] };
  TP_WALK (w, 4, all) window(&f, w.at, role[0], role[1], role[2], sum);
  for (int64_t i = 0; i < out->n; i++) ref_acc_end(&sum[i], out->dtype, out->data, i);
  return true;
}
