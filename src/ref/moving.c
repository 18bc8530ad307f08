/* moving.c: copies elements to other places: finds the source of each element of the result. */
#include "ref/machine.h"

/* The result at w is x at start + sum of w * stride. */
static bool strided(ref_data *out, const ref_data *x, int64_t start, const int64_t *stride) {
  TP_WALK (w, out->rank, out->shape) ref_copy(out, w.n, x, start + tp_walk_offset(&w, stride));
  return true;
}

static bool permute(const tp_attr *a, ref_data *out, const ref_data *x) {
  int64_t own[TP_MAXRANK], stride[TP_MAXRANK];
  ref_strides(x, own);
  for (int k = 0; k < out->rank; k++) stride[k] = own[a->axes[k]];
  return strided(out, x, 0, stride);
}

static bool expand(ref_data *out, const ref_data *x) {
  int64_t stride[TP_MAXRANK];
  ref_strides_broadcast(out, x, stride);
  return strided(out, x, 0, stride);
}

static bool slice(ref *r, tp_cell *c, ref_data *out, const ref_data *x) {
  const tp_attr *a = &c->node->attr;
  int64_t stride[TP_MAXRANK], lo = tp_ix_evalq(a->ix[0], r->env), n = out->shape[a->axis],
                              step = a->step;
  if (n > 0 && (lo < 0 || lo + (n - 1) * step >= x->shape[a->axis]))
    return ref_fail(r, c, TP_E_DOMAIN, "elements %lld .. %lld of an axis of %lld", (long long)lo,
        (long long)(lo + (n - 1) * step + 1), (long long)x->shape[a->axis]);
  ref_strides(x, stride);
  int64_t start = lo * stride[a->axis];
  stride[a->axis] *= step;
  return strided(out, x, start, stride);
}

static bool flip(const tp_attr *a, ref_data *out, const ref_data *x) {
  int64_t stride[TP_MAXRANK];
  ref_strides(x, stride);
  int64_t start = (x->shape[a->axis] - 1) * stride[a->axis];
  stride[a->axis] = -stride[a->axis];
  return strided(out, x, start, stride);
}

static bool pad(ref *r, const tp_attr *a, ref_data *out, const ref_data *x) {
  int64_t stride[TP_MAXRANK], lo = tp_ix_evalq(a->ix[0], r->env);
  ref_strides(x, stride);
  TP_WALK (w, out->rank, out->shape) {
    int64_t k = w.at[a->axis] - lo;
    if (k < 0 || k >= x->shape[a->axis]) tp_put(out->dtype, out->data, w.n, a->f[0]);
    else ref_copy(out, w.n, x, tp_walk_offset(&w, stride) - lo * stride[a->axis]);
  }
  return true;
}

static bool unfold(const tp_attr *a, ref_data *out, const ref_data *x) {
  int64_t own[TP_MAXRANK], stride[TP_MAXRANK + 1];
  ref_strides(x, own);
  for (int k = 0; k < out->rank; k++) stride[k] = own[k <= a->axis ? k : k - 1];
  stride[a->axis] *= a->step;
  stride[a->axis + 1] *= a->dilation;
  return strided(out, x, 0, stride);
}

/* An element is the sum of its copies, in the order of windows. */
static bool fold(const tp_attr *a, ref_data *out, const ref_data *x) {
  int64_t own[TP_MAXRANK], stride[TP_MAXRANK] = { 0 }, n = x->shape[a->axis],
                           size = x->shape[a->axis + 1];
  ref_strides(x, own);
  for (int k = 0; k < out->rank; k++)
    stride[k] = k < a->axis ? own[k] : k > a->axis ? own[k + 1] : 0;
  TP_WALK (w, out->rank, out->shape) {
    ref_acc acc = ref_acc_start(TP_RED_SUM, out->dtype);
    for (int64_t p = 0; p < n; p++) {
      int64_t rest = w.at[a->axis] - p * a->step;
      if (rest < 0 || rest % a->dilation || rest / a->dilation >= size) continue;
      ref_acc_add(&acc, x->dtype, x->data,
          tp_walk_offset(&w, stride) + p * own[a->axis] + rest / a->dilation * own[a->axis + 1]);
    }
    ref_acc_end(&acc, out->dtype, out->data, w.n);
  }
  return true;
}

static bool concat(const tp_node *n, ref_data *out, const ref_data *in) {
  int64_t stride[TP_MAXRANK], done = 0;
  ref_strides(out, stride);
  for (int k = 0; k < n->nin; k++) {
    TP_WALK (w, in[k].rank, in[k].shape)
      ref_copy(out, tp_walk_offset(&w, stride) + done, &in[k], w.n);
    done += in[k].shape[n->attr.axis] * stride[n->attr.axis];
  }
  return true;
}

bool ref_move(ref *r, tp_cell *c, ref_data *out, const ref_data *in) {
  const tp_attr *a = &c->node->attr;
  switch (c->node->op) {
  case TP_OP_PERMUTE: return permute(a, out, in);
  case TP_OP_EXPAND: return expand(out, in);
  case TP_OP_SLICE: return slice(r, c, out, in);
  case TP_OP_FLIP: return flip(a, out, in);
  case TP_OP_PAD: return pad(r, a, out, in);
  case TP_OP_UNFOLD: return unfold(a, out, in);
  case TP_OP_FOLD: return fold(a, out, in);
  case TP_OP_CONCAT: return concat(c->node, out, in);
  default: return !TP_NEVER(true);
  }
}
