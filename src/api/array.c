/* array: makes, shares and stores the host's arrays. */
#include "api/api.h"
#include "io/io.h"
#include <math.h>

_Static_assert((int)TEMPO_MAXRANK == (int)TP_MAXRANK, "axes of an array");

tp_array *api_array(const tempo_array *a) { return (tp_array *)a; }

tempo_array *api_give(tp_array *a, tempo_error *out) {
  if (!a) api_refuse(out, TP_E_MEMORY, "no memory for an array");
  return (tempo_array *)a;
}

int64_t api_not_bool(const tp_array *a) {
  const uint8_t *p = a->data;
  for (int64_t k = 0; a->dtype == TP_BOOL && k < a->count; k++)
    if (p[k] > 1) return k;
  return -1;
}

static bool type_ok(
    const char *fn, const char *dtype, int rank, const int64_t *shape, tp_dtype *d) {
  char hint[TP_HINT];
  const char *names[TP_NDTYPE];
  if (!api_given(dtype, fn, "dtype", NULL)) return false;
  for (int i = 0; i < TP_NDTYPE; i++) names[i] = tp_dtype_name((tp_dtype)i);
  if (!tp_dtype_parse(dtype, d))
    return api_refuse(NULL, TP_E_DTYPE, "%s: unknown dtype '%s'%s", fn, dtype,
        tp_hint(hint, dtype, names, TP_NDTYPE));
  if (rank < 0 || rank > TP_MAXRANK)
    return api_refuse(NULL, TP_E_SHAPE, "%s: %d axes; there may be 0 to %d", fn, rank, TP_MAXRANK);
  if (rank && !api_given(shape, fn, "shape", NULL)) return false;
  for (int i = 0; i < rank; i++)
    if (shape[i] < 0)
      return api_refuse(
          NULL, TP_E_SHAPE, "%s: the extent of axis %d is %lld", fn, i, (long long)shape[i]);
  return true;
}

tempo_array *tempo_array_new(const char *dtype, int rank, const int64_t *shape) {
  tp_dtype d;
  return type_ok(__func__, dtype, rank, shape, &d) ? api_give(tp_array_new(d, rank, shape), NULL)
                                                   : NULL;
}

tempo_array *tempo_array_wrap(const char *dtype, int rank, const int64_t *shape, void *data) {
  tp_dtype d;
  if (!type_ok(__func__, dtype, rank, shape, &d)) return NULL;
  tp_array *a = tp_array_wrap(d, rank, shape, data);
  if (!a || data || !a->count) return api_give(a, NULL);
  tp_array_unref(a);
  api_given(NULL, __func__, "data", NULL);
  return NULL;
}

/* Its elements are the host's. */
static bool seen(const tempo_array *a) {
  tp_error e = { 0 };
  return tp_array_see(api_array(a), &e) || api_fail(NULL, &e);
}

tempo_array *tempo_array_copy(const tempo_array *a) {
  if (!api_given(a, __func__, "the array", NULL)) return NULL;
  return seen(a) ? api_give(tp_array_cast(api_array(a), api_array(a)->dtype), NULL) : NULL;
}

tempo_array *tempo_array_ref(tempo_array *a) {
  if (!api_given(a, __func__, "the array", NULL)) return NULL;
  return (tempo_array *)tp_array_ref(api_array(a));
}
void tempo_array_free(tempo_array *a) { tp_array_unref(api_array(a)); }

/* The array; NULL becomes one without elements. */
static const tp_array *looked_at(const tempo_array *a) {
  static const tp_array none;
  return api_given(a, "tempo_array", "the array", NULL) ? api_array(a) : &none;
}

void *tempo_array_data(tempo_array *a) {
  const tp_array *x = looked_at(a);
  tp_error e = { 0 };
  return !a || tp_array_expose(api_array(a), &e) || api_fail(NULL, &e) ? x->data : NULL;
}
int tempo_array_rank(const tempo_array *a) { return looked_at(a)->rank; }
int64_t tempo_array_count(const tempo_array *a) { return looked_at(a)->count; }
const char *tempo_array_dtype(const tempo_array *a) { return tp_dtype_name(looked_at(a)->dtype); }

int64_t tempo_array_extent(const tempo_array *a, int axis) {
  const tp_array *x = looked_at(a);
  if (axis >= 0 && axis < x->rank) return x->shape[axis];
  return api_refuse(
      NULL, TP_E_SHAPE, "tempo_array_extent: axis %d of an array of %d", axis, x->rank);
}

static bool element_ok(const char *fn, const tp_array *x, int64_t i) {
  return (i >= 0 && i < x->count) ||
      api_refuse(
          NULL, TP_E_SHAPE, "%s: element %lld of %lld", fn, (long long)i, (long long)x->count);
}

double tempo_array_get(const tempo_array *a, int64_t i) {
  const tp_array *x = looked_at(a);
  return element_ok(__func__, x, i) && seen(a) ? tp_get(x->dtype, x->data, i) : NAN;
}

int tempo_array_set(tempo_array *a, int64_t i, double v) {
  const tp_array *x = looked_at(a);
  tp_error e = { 0 };
  if (!element_ok(__func__, x, i)) return 0;
  if (!tp_array_touch(api_array(a), &e)) return api_fail(NULL, &e);
  tp_put(x->dtype, x->data, i, v);
  return 1;
}

/* ---- files ---- */

tempo_array *tempo_array_load(const char *path, tempo_error *err) {
  tp_error e = { 0 };
  tp_arrays all = { 0 };
  tp_array *a = NULL;
  if (!api_given(path, __func__, "path", err)) return NULL;
  if (tp_arrays_load(path, &all, &e) && !all.single)
    tp_file_fail(&e, path, "several arrays by name: tempo_load_params reads such files");
  if (!e.code) a = tp_array_ref(all.v[0].a);
  else api_fail(err, &e);
  tp_arrays_free(&all);
  return (tempo_array *)a;
}

int tempo_array_save(const tempo_array *a, const char *path, tempo_error *err) {
  tp_error e = { 0 };
  if (!api_given(a, __func__, "the array", err) || !api_given(path, __func__, "path", err))
    return 0;
  return (tp_array_see(api_array(a), &e) && tp_npy_save(path, api_array(a), &e)) ||
      api_fail(err, &e);
}
