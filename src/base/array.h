/* array: host arrays: dense, row major, reference counted. Users hand them in and get them back;
 * constants hold them. */
#ifndef TP_ARRAY_H
#define TP_ARRAY_H
#include "base/base.h"
#define TP_MAXRANK 16

typedef struct tp_twin tp_twin; /* an array's copy on a device (gpu/twins.c) */
typedef struct tp_array {
  int refs;
  tp_dtype dtype;
  int rank;
  int64_t shape[TP_MAXRANK];
  int64_t count;         /* elements */
  void *data;            /* 64-byte aligned when owned; contiguous */
  struct tp_array *base; /* a view keeps its base alive; NULL: owns data */
  bool borrowed;         /* data belongs to the host */
  bool mapped;           /* data is a file's, to be read only; a view's too */
  /* The array that owns the data (tp_array_owner) counts writes to it, and knows whether code
   * outside has its address: that may write at any time. */
  bool exposed;
  uint64_t writes;
  tp_twin *twin; /* or NULL */
  bool blank;    /* of an output that a run is to fill: no element has a value yet */
  /* Rows that are arrays of their own (tp_array_rows): place[i] is where row i begins, in elements
   * from data. NULL: the array is dense. Only runs take such an array as it is. */
  struct tp_array **row;
  int64_t *place;
} tp_array;
/* zeroed; NULL: no memory or a size that overflows */
TP_GIVE tp_array *tp_array_new(tp_dtype d, int rank, const int64_t *shape);
/* not zeroed: the caller writes all of it */
TP_GIVE tp_array *tp_array_blank(tp_dtype d, int rank, const int64_t *shape);
/* borrowed */
TP_GIVE tp_array *tp_array_wrap(tp_dtype d, int rank, const int64_t *shape, void *data);
/* the bytes of a regular file, read when they are touched; NULL: err says why */
TP_GIVE tp_array *tp_array_map(const char *path, tp_error *err);
/* a view of what begins at byte `at` of a; the caller knows that it is there */
TP_GIVE tp_array *tp_array_part(
    TP_KEEP tp_array *a, size_t at, tp_dtype d, int rank, const int64_t *shape);
TP_GIVE tp_array *tp_array_view(TP_KEEP tp_array *a, int64_t row); /* a[row], rank - 1 */
/* n > 0 arrays of one dtype and shape as rows of one, without a copy, unless a row's data is not
 * aligned to its dtype. */
TP_GIVE tp_array *tp_array_rows(int n, TP_KEEP tp_array *const *row);
TP_GIVE tp_array *tp_array_dense(TP_KEEP tp_array *a); /* a itself, if it is dense */
TP_KEEP tp_array *tp_array_ref(tp_array *a);
/* NULL-safe, gives NULL */
tp_array *tp_array_unref(tp_array *a);
size_t tp_array_bytes(const tp_array *a);

/* ---- memory that a device copies ---- What reads elements on the host calls tp_array_see first,
 * what writes them tp_array_touch, what gives their address away tp_array_expose. False: the device
 * that has newer elements failed. */
bool tp_array_see(tp_array *a, tp_error *err); /* rows too */
bool tp_array_touch(tp_array *a, tp_error *err);
bool tp_array_expose(tp_array *a, tp_error *err);
static inline tp_array *tp_array_owner(tp_array *a) {
  while (a->base) a = a->base;
  return a;
}
/* How often its elements were written; UINT64_MAX: they may change without a word. Rows too. */
uint64_t tp_array_written(tp_array *a);
/* n pieces of so many bytes, from byte `at` on, `step` apart: on the device where `from` is there,
 * else on the host. */
typedef struct tp_pieces {
  tp_array *to, *from;
  int64_t bytes, n, to_at, to_step, from_at, from_step;
} tp_pieces;
bool tp_array_move(const tp_pieces *p, tp_error *err);
/* Functions of twins.c, there once a device was opened. bring: copies elements to the host, if the
 * device has newer ones; move: as above, *did: the device did it. Arrays may have lost their twins
 * since they were looked at. */
extern struct tp_twin_deeds {
  bool (*bring)(tp_array *a, tp_error *err);
  bool (*move)(const tp_pieces *p, bool *did, tp_error *err);
  void (*drop)(tp_array *a);
} tp_twin_deeds;
static inline bool tp_array_is(const tp_array *a, tp_dtype d, int rank, const int64_t *shape) {
  return a->dtype == d && a->rank == rank &&
      (!rank || !memcmp(a->shape, shape, sizeof *shape * (size_t)rank));
}
/* after bytes from outside: a bool is 0 or 1 */
void tp_array_tidy(tp_array *a);
TP_GIVE tp_array *tp_array_cast(TP_KEEP tp_array *a, tp_dtype d); /* a copy */
/* a matrix with orthonormal rows if it has no more rows than columns, else columns */
TP_GIVE tp_array *tp_array_orthonormal(const tp_array *a);
/* like NumPy's, abbreviated beyond 1,000 elements */
void tp_array_print(tp_buf *b, const tp_array *a);
/* copies the elements at indices that both have (one dtype and rank) */
void tp_array_overlay(tp_array *to, const tp_array *from);
/* ---- walking ---- an odometer, row major */
/* goes to the next index; false: that was the last, and `at` is 0 again */
static inline bool tp_next_index(int rank, const int64_t *shape, int64_t *at) {
  for (int k = rank - 1; k >= 0; k--) {
    if (++at[k] < shape[k]) return true;
    at[k] = 0;
  }
  return false;
}
static inline int64_t tp_offset(int rank, const int64_t *at, const int64_t *stride) {
  int64_t o = 0;
  for (int k = 0; k < rank; k++) o += at[k] * stride[k];
  return o;
}
typedef struct tp_walk {
  int rank;
  const int64_t *shape;
  int64_t at[TP_MAXRANK], n; /* the n-th place, from 0 */
  bool ok;
} tp_walk;
static inline void tp_walk_start(tp_walk *w, int rank, const int64_t *shape) {
  w->rank = rank, w->shape = shape, w->n = 0, w->ok = true;
  for (int k = 0; k < rank; k++) w->at[k] = 0, w->ok &= shape[k] > 0;
}
static inline tp_walk tp_walk_from(int rank, const int64_t *shape) {
  tp_walk w;
  tp_walk_start(&w, rank, shape);
  return w;
}
static inline void tp_walk_next(tp_walk *w) {
  w->ok = tp_next_index(w->rank, w->shape, w->at);
  w->n++;
}
#define TP_WALK(w, rank, shape) for (tp_walk w = tp_walk_from(rank, shape); w.ok; tp_walk_next(&w))
static inline int64_t tp_walk_offset(const tp_walk *w, const int64_t *stride) {
  return tp_offset(w->rank, w->at, stride);
}
#endif
