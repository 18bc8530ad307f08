/* save: writes arrays behind the head of a file of weights, cast or put into blocks in pieces, so
 * that no second copy of the weights is made. */
#include "io/save.h"
#include <errno.h>

enum { PIECE = 8192 }; /* elements; whole blocks of all formats */

static bool shape_fail(const tp_saved *v, const char *why, tp_error *err) {
  return tp_fail(
      err, TP_E_SHAPE, TP_NOWHERE, "shape: save: '%.200s' as %s: %s", v->name, v->as->name, why);
}

/* u8 of (.., bytes of a row), as f:stored gives it, is packed already. */
static bool unpack_shape(tp_saved *v, tp_error *err) {
  int64_t *last = v->rank ? &v->shape[v->rank - 1] : NULL;
  if (!last || *last % v->as->bytes || *last > INT64_MAX / 32)
    return shape_fail(v, "the bytes of its rows are no whole blocks", err);
  *last = *last / v->as->bytes * v->as->elements;
  return true;
}

bool tp_saved_set(
    tp_saved *v, const char *name, const tp_array *a, const tp_stored *as, tp_error *err) {
  const tp_stored *own = tp_stored_of_dtype(a->dtype);
  *v = (tp_saved){ .name = name, .a = a, .as = as ? as : own, .rank = a->rank };
  TP_COPYN(v->shape, a->shape, a->rank);
  bool blocks = v->as->dtype == TP_NDTYPE;
  v->packed = blocks && a->dtype == TP_U8;
  if (v->packed && !unpack_shape(v, err)) return false;
  if (blocks && !v->packed && (!v->as->format || !tp_dtype_float(a->dtype)))
    return tp_fail(err, TP_E_DTYPE, TP_NOWHERE, "dtype: save: '%.200s' of %s cannot be made %s",
        name, own->name, v->as->name);
  return tp_stored_bytes(v->as, v->rank, v->shape, &v->bytes) ||
      shape_fail(v, "its rows are no whole blocks", err);
}

static bool write_bytes(FILE *f, const void *p, size_t n) { return !n || fwrite(p, 1, n, f) == n; }

static void convert(const tp_saved *v, int64_t at, int64_t n, float *numbers, void *to) {
  const tp_array *a = v->a;
  bool blocks = v->as->dtype == TP_NDTYPE, whole = !tp_dtype_float(a->dtype);
  for (int64_t k = 0; k < n; k++) {
    if (blocks) numbers[k] = (float)tp_get(a->dtype, a->data, at + k);
    else if (whole) tp_puti(v->as->dtype, to, k, tp_geti(a->dtype, a->data, at + k));
    else tp_put(v->as->dtype, to, k, tp_get(a->dtype, a->data, at + k));
  }
  if (blocks) tp_blocks_encode(v->as->format, numbers, n / v->as->elements, to);
}

static bool write_converted(FILE *f, const tp_saved *v) {
  float *numbers = tp_alloc(PIECE * sizeof *numbers);
  uint8_t *to = tp_alloc(PIECE * 8);
  bool ok = numbers && to;
  if (!ok) errno = ENOMEM;
  for (int64_t at = 0; ok && at < v->a->count; at += PIECE) {
    int64_t n = TP_MIN(PIECE, v->a->count - at);
    convert(v, at, n, numbers, to);
    ok = write_bytes(f, to, (size_t)(n / v->as->elements * v->as->bytes));
  }
  tp_free(numbers);
  tp_free(to);
  return ok;
}

bool tp_saving_write(FILE *f, void *ud) {
  static const char zeros[64];
  const tp_saving *s = ud;
  int64_t at = 0;
  bool ok = write_bytes(f, s->head.s, s->head.n);
  for (int k = 0; ok && k < s->n; k++) {
    const tp_saved *v = &s->v[k];
    for (int64_t left = tp_round_up(at, s->align) - at, n; ok && left; left -= n, at += n) {
      n = TP_MIN(left, (int64_t)sizeof zeros);
      ok = write_bytes(f, zeros, (size_t)n);
    }
    bool same = v->packed || v->as->dtype == v->a->dtype;
    ok = ok && (same ? write_bytes(f, v->a->data, (size_t)v->bytes) : write_converted(f, v));
    at += v->bytes;
  }
  return ok;
}
