/* view.c: counts, strides and parts of windows. */
#include "run/target.h"

int64_t tp_view_count(const tp_view *v) {
  int64_t n = 1;
  for (int i = 0; i < v->rank; i++) n *= v->shape[i];
  return n;
}

bool tp_view_dense(const tp_view *v) {
  int64_t want = 1;
  for (int i = v->rank - 1; i >= 0; i--) {
    if (v->shape[i] != 1 && v->stride[i] != want) return false;
    want *= v->shape[i];
  }
  return true;
}

void tp_view_strides(tp_view *v) {
  int64_t s = 1;
  for (int i = v->rank - 1; i >= 0; i--) {
    v->stride[i] = s;
    s *= v->shape[i];
  }
}

int64_t tp_dense_strides(tp_view *v) {
  int64_t n = 1;
  for (int i = v->rank - 1; i >= 0; i--) {
    v->stride[i] = v->stride[i] ? n : 0;
    if (v->stride[i]) n *= v->shape[i];
  }
  return n;
}

tp_view tp_view_part(const tp_view *v, int axis, int64_t lo, int64_t n, int size) {
  tp_view w = *v;
  w.shape[axis] = n;
  if (n > 0) w.p = (char *)v->p + lo * v->stride[axis] * size;
  return w;
}

tp_view tp_view_dense_as(const tp_view *like, void *p) {
  tp_view v = *like;
  v.p = p;
  tp_view_strides(&v);
  return v;
}

tp_view tp_view_spatial(const tp_view *v, int nlead) {
  tp_view s = { .p = v->p, .rank = v->rank - nlead };
  for (int i = 0; i < s.rank; i++)
    s.shape[i] = v->shape[nlead + i], s.stride[i] = v->stride[nlead + i];
  return s;
}
