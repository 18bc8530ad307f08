/* bytes: arrays in states. */
#include "base/bytes.h"

void tp_put_array_bytes(tp_buf *b, const tp_array *a) {
  tp_put_i64(b, a ? a->rank : -1);
  if (!a) return;
  tp_put_i64(b, a->dtype);
  for (int k = 0; k < a->rank; k++) tp_put_i64(b, a->shape[k]);
  for (int64_t i = 0; a->row && i < a->shape[0]; i++)
    tp_put_bytes(b, a->row[i]->data, tp_array_bytes(a->row[i]));
  if (!a->row) tp_put_bytes(b, a->data, tp_array_bytes(a));
}

tp_array *tp_take_array(tp_reader *r) {
  int rank = (int)tp_take_in(r, -1, TP_MAXRANK + 1);
  if (r->bad || rank < 0) return NULL;
  tp_dtype d = (tp_dtype)tp_take_in(r, 0, TP_NDTYPE);
  int64_t shape[TP_MAXRANK] = { 0 }, bytes = tp_dtype_size(d);
  for (int k = 0; k < rank; k++) {
    shape[k] = tp_take_in(r, 0, INT64_MAX);
    if (__builtin_mul_overflow(bytes, shape[k], &bytes)) r->bad = true;
  }
  if (r->bad || (uint64_t)bytes > r->left) {
    r->bad = true;
    return NULL;
  }
  tp_array *a = tp_array_new(d, rank, shape);
  if (!a) tp_oom();
  tp_take_bytes(r, a->data, tp_array_bytes(a));
  return a;
}
