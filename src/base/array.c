/* Host arrays. A view holds a reference to its owner. */
#include "base/array.h"
#include "os/os.h"
#include <math.h>

struct tp_twin_deeds tp_twin_deeds;
static bool has_twin(const tp_array *a) { return __atomic_load_n(&a->twin, __ATOMIC_ACQUIRE); }

static bool mul_fits(size_t *n, int64_t by) {
  if (by < 0 || (by > 0 && *n > (SIZE_MAX / 2) / (size_t)by)) return false;
  *n *= (size_t)by;
  return true;
}

/* NULL: no memory, or an impossible rank or size. Extents after a 0 count too. */
static tp_array *head(tp_dtype d, int rank, const int64_t *shape) {
  size_t bytes = (size_t)tp_dtype_size(d), nonzero = bytes;
  if (rank < 0 || rank > TP_MAXRANK) return NULL;
  for (int i = 0; i < rank; i++)
    if (!mul_fits(&bytes, shape[i]) || !mul_fits(&nonzero, shape[i] ? shape[i] : 1)) return NULL;
  tp_array *a = tp_calloc(sizeof *a);
  if (!a) return NULL;
  a->refs = 1;
  a->dtype = d;
  a->rank = rank;
  if (rank) TP_COPYN(a->shape, shape, rank);
  a->count = (int64_t)(bytes / (size_t)tp_dtype_size(d));
  return a;
}

tp_array *tp_array_blank(tp_dtype d, int rank, const int64_t *shape) {
  tp_array *a = head(d, rank, shape);
  if (!a) return NULL;
  a->data = tp_block_alloc(tp_array_bytes(a));
  if (!a->data) {
    tp_free(a);
    return NULL;
  }
  return a;
}

tp_array *tp_array_new(tp_dtype d, int rank, const int64_t *shape) {
  tp_array *a = tp_array_blank(d, rank, shape);
  if (a) memset(a->data, 0, tp_array_bytes(a));
  return a;
}

tp_array *tp_array_wrap(tp_dtype d, int rank, const int64_t *shape, void *data) {
  tp_array *a = head(d, rank, shape);
  if (!a) return NULL;
  a->data = data;
  a->borrowed = true;
  return a;
}

tp_array *tp_array_map(const char *path, tp_error *err) {
  const char *why;
  int64_t n;
  void *p = tp_os_map_file(path, &n, &why);
  tp_array *a = p ? head(TP_U8, 1, &n) : NULL;
  if (a) a->data = p, a->mapped = true;
  else if (p) tp_os_unmap(p, (size_t)n), tp_no_memory(err, TP_NOWHERE);
  else tp_fail(err, TP_E_FILE, TP_NOWHERE, "file: %s: %s", path, why);
  return a;
}

tp_array *tp_array_part(tp_array *a, size_t at, tp_dtype d, int rank, const int64_t *shape) {
  tp_array *v = head(d, rank, shape);
  if (!v) return NULL;
  v->data = (char *)a->data + at;
  v->base = tp_array_ref(a);
  v->mapped = a->mapped;
  return v;
}

tp_array *tp_array_view(tp_array *a, int64_t row) {
  if (a->rank == 0 || row < 0 || row >= a->shape[0]) return NULL;
  size_t bytes = a->shape[0] ? tp_array_bytes(a) / (size_t)a->shape[0] : 0;
  return tp_array_part(a, bytes * (size_t)row, a->dtype, a->rank - 1, a->shape + 1);
}

tp_array *tp_array_rows(int n, tp_array *const *row) {
  int64_t shape[TP_MAXRANK + 1] = { n };
  TP_COPYN(shape + 1, row[0]->shape, row[0]->rank);
  tp_array *a = head(row[0]->dtype, row[0]->rank + 1, shape);
  if (!a) return NULL;
  a->borrowed = true;
  a->row = tp_calloc(sizeof *a->row * (size_t)n);
  a->place = tp_calloc(sizeof *a->place * (size_t)n);
  uintptr_t size = (uintptr_t)tp_dtype_size(a->dtype);
  bool ok = a->row && a->place;
  for (int i = 0; i < n && ok; i++) {
    bool aligned = (uintptr_t)row[i]->data % size == 0;
    a->row[i] = aligned ? tp_array_ref(row[i]) : tp_array_cast(row[i], a->dtype);
    ok = a->row[i];
    if (!ok) break;
    if (!i) a->data = a->row[0]->data;
    a->place[i] = (int64_t)((uintptr_t)a->row[i]->data - (uintptr_t)a->data) / (int64_t)size;
  }
  return ok ? a : tp_array_unref(a);
}

tp_array *tp_array_dense(tp_array *a) {
  if (!a->row) return tp_array_ref(a);
  tp_array *b = tp_array_blank(a->dtype, a->rank, a->shape);
  if (!b) return NULL;
  char *to = b->data;
  for (int64_t i = 0; i < a->shape[0]; i++) {
    size_t bytes = tp_array_bytes(a->row[i]);
    if (bytes) memcpy(to, a->row[i]->data, bytes);
    to += bytes;
  }
  return b;
}

tp_array *tp_array_ref(tp_array *a) {
  __atomic_add_fetch(&a->refs, 1, __ATOMIC_RELAXED);
  return a;
}

tp_array *tp_array_unref(tp_array *a) {
  if (!a || __atomic_sub_fetch(&a->refs, 1, __ATOMIC_ACQ_REL) > 0) return NULL;
  if (has_twin(a)) tp_twin_deeds.drop(a);
  if (a->base) tp_array_unref(a->base);
  else if (a->mapped) tp_os_unmap(a->data, tp_array_bytes(a));
  else if (!a->borrowed) tp_block_free(a->data, tp_array_bytes(a));
  for (int64_t i = 0; a->row && i < a->shape[0]; i++) tp_array_unref(a->row[i]);
  tp_free(a->row);
  tp_free(a->place);
  tp_free(a);
  return NULL;
}

size_t tp_array_bytes(const tp_array *a) {
  return (size_t)a->count * (size_t)tp_dtype_size(a->dtype);
}

bool tp_array_see(tp_array *a, tp_error *err) {
  bool ok = !a->base || tp_array_see(a->base, err);
  for (int64_t i = 0; a->row && i < a->shape[0]; i++) ok &= tp_array_see(a->row[i], err);
  return ok && (!has_twin(a) || tp_twin_deeds.bring(a, err));
}

uint64_t tp_array_written(tp_array *a) {
  uint64_t n = 0;
  for (int64_t i = 0; a->row && i < a->shape[0]; i++) {
    uint64_t row = tp_array_written(a->row[i]);
    if (row == UINT64_MAX) return row;
    n += row;
  }
  const tp_array *o = tp_array_owner(a);
  return a->row ? n : o->exposed || o->borrowed ? UINT64_MAX : o->writes;
}

bool tp_array_touch(tp_array *a, tp_error *err) {
  if (!tp_array_see(a, err)) return false;
  tp_array_owner(a)->writes++;
  return true;
}

bool tp_array_expose(tp_array *a, tp_error *err) {
  tp_array_owner(a)->exposed = true;
  return tp_array_see(a, err);
}

bool tp_array_move(const tp_pieces *p, tp_error *err) {
  bool did = false;
  if (has_twin(p->from) && !tp_twin_deeds.move(p, &did, err)) return false;
  if (did) return true;
  if (!tp_array_touch(p->to, err) || !tp_array_see(p->from, err)) return false;
  char *to = (char *)p->to->data + p->to_at;
  const char *from = (const char *)p->from->data + p->from_at;
  for (int64_t i = 0; i < p->n; i++, to += p->to_step, from += p->from_step)
    memcpy(to, from, (size_t)p->bytes);
  return true;
}

void tp_array_tidy(tp_array *a) {
  uint8_t *p = a->data;
  for (int64_t k = 0; a->dtype == TP_BOOL && k < a->count; k++) p[k] = p[k] != 0;
}

tp_array *tp_array_cast(tp_array *a, tp_dtype d) {
  tp_array *b = tp_array_blank(d, a->rank, a->shape);
  if (!b) return NULL;
  if (d == a->dtype) memcpy(b->data, a->data, tp_array_bytes(a));
  else if (tp_dtype_float(a->dtype))
    for (int64_t i = 0; i < a->count; i++) tp_put(d, b->data, i, tp_get(a->dtype, a->data, i));
  else
    for (int64_t i = 0; i < a->count; i++) tp_puti(d, b->data, i, tp_geti(a->dtype, a->data, i));
  return b;
}

/* ---- orthonormal ---- modified Gram-Schmidt, twice for each vector ("twice is enough": Giraud and
 * Langou 2005) */

static double dot(const double *x, const double *y, int64_t n) {
  double part[8] = { 0 }, sum = 0;
  int64_t k = 0;
  for (; k + 8 <= n; k += 8)
    for (int j = 0; j < 8; j++) part[j] += x[k + j] * y[k + j];
  for (; k < n; k++) sum += x[k] * y[k];
  for (int j = 0; j < 8; j++) sum += part[j];
  return sum;
}

static void orthonormal_rows(double *v, int64_t n, int64_t m) {
  for (int64_t j = 0; j < n; j++) {
    double *vj = v + j * m;
    for (int64_t i = 0; i < 2 * j; i++) {
      const double *vi = v + i % j * m, d = dot(vi, vj, m);
      for (int64_t k = 0; k < m; k++) vj[k] -= d * vi[k];
    }
    double norm = sqrt(dot(vj, vj, m));
    for (int64_t k = 0; k < m; k++) vj[k] /= norm;
  }
}

tp_array *tp_array_orthonormal(const tp_array *a) {
  int64_t n = a->shape[0], m = a->shape[1];
  bool turned = n > m;
  tp_array *to = tp_array_blank(a->dtype, 2, a->shape);
  double *v = tp_alloc(sizeof *v * (size_t)a->count);
  if (to && v) {
    for (int64_t i = 0; i < a->count; i++)
      v[turned ? i % m * n + i / m : i] = tp_get(a->dtype, a->data, i);
    orthonormal_rows(v, TP_MIN(n, m), TP_MAX(n, m));
    for (int64_t i = 0; i < a->count; i++)
      tp_put(a->dtype, to->data, i, v[turned ? i % m * n + i / m : i]);
  } else to = tp_array_unref(to);
  tp_free(v);
  return to;
}

void tp_array_overlay(tp_array *to, const tp_array *from) {
  int64_t common[TP_MAXRANK], size = tp_dtype_size(to->dtype);
  int outer = to->rank;
  for (; outer > 0 && from->shape[outer - 1] == to->shape[outer - 1]; outer--)
    size *= to->shape[outer - 1];
  for (int k = 0; k < outer; k++) common[k] = TP_MIN(from->shape[k], to->shape[k]);
  /* of size bytes, contiguous in both */
  int64_t row = outer ? common[outer - 1] : 1;
  if (row == 0 || size == 0) return;
  if (outer) common[outer - 1] = 1;
  tp_walk w;
  for (tp_walk_start(&w, outer, common); w.ok; tp_walk_next(&w)) {
    int64_t a = 0, b = 0;
    for (int k = 0; k < outer; k++)
      a = a * from->shape[k] + w.at[k], b = b * to->shape[k] + w.at[k];
    memcpy((char *)to->data + b * size, (const char *)from->data + a * size, (size_t)(row * size));
  }
}
