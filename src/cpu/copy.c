/* copy.c: copies elements from window to window, and checks windows of indices. */
#include "cpu/priv.h"

tp_view tp_view_without(const tp_view *v, int axis) {
  tp_view s = *v;
  s.rank--;
  for (int i = axis; i < s.rank; i++) s.shape[i] = s.shape[i + 1], s.stride[i] = s.stride[i + 1];
  return s;
}

/* ---- copies ---- */

static void swap_axes(tp_pair *p, int a, int b) {
  int64_t e = p->ext[a], o = p->so[a], i = p->si[a];
  p->ext[a] = p->ext[b], p->so[a] = p->so[b], p->si[a] = p->si[b];
  p->ext[b] = e, p->so[b] = o, p->si[b] = i;
}

static bool smaller_pair_steps(const tp_pair *p, int a, int b) {
  int64_t x = p->so[a] < 0 ? -p->so[a] : p->so[a], y = p->so[b] < 0 ? -p->so[b] : p->so[b];
  if (x != y) return x < y;
  x = p->si[a] < 0 ? -p->si[a] : p->si[a], y = p->si[b] < 0 ? -p->si[b] : p->si[b];
  return x < y;
}

void tp_pair_make(tp_pair *p, const tp_view *out, const tp_view *in) {
  p->rank = 0;
  p->empty = false;
  for (int i = 0; i < out->rank; i++) {
    p->empty |= out->shape[i] == 0;
    if (out->shape[i] == 1) continue;
    p->ext[p->rank] = out->shape[i];
    p->so[p->rank] = out->stride[i];
    p->si[p->rank++] = in->stride[i];
  }
  for (int i = 1; i < p->rank; i++) /* from large steps to small ones */
    for (int k = i; k > 0 && smaller_pair_steps(p, k - 1, k); k--) swap_axes(p, k, k - 1);
  int n = 0;
  for (int i = 1; i < p->rank; i++) {
    if (p->so[n] == p->so[i] * p->ext[i] && p->si[n] == p->si[i] * p->ext[i]) {
      p->ext[n] *= p->ext[i];
      p->so[n] = p->so[i];
      p->si[n] = p->si[i];
    } else swap_axes(p, ++n, i);
  }
  p->rank = TP_MIN(p->rank, n + 1);
  for (int i = 0; i < p->rank - 1; i++)
    if (p->so[i] == 1 && p->so[p->rank - 1] != 1) swap_axes(p, i, p->rank - 1);
  /* puts the axis along which the source is contiguous beside the last */
  for (int i = 0; i < p->rank - 2 && p->si[p->rank - 1] != 1; i++)
    if (p->si[i] == 1) swap_axes(p, i, p->rank - 2);
  if (p->rank == 0) p->rank = 1, p->ext[0] = 1, p->so[0] = p->si[0] = 1;
}

/* count rows of n elements; strides between rows, between elements */
typedef struct pair_rows {
  int64_t n, count, ro, ri, so, si;
} pair_rows;

/* Columns become rows, a few lines of them at a time, so that every line is gone through while it
 * is near. */
static void copy_across(
    const tp_exec *x, int size, int log, const pair_rows *r, char *o, const char *a) {
  for (int64_t i = 0; i < r->count; i += TP_SQUARE)
    for (int64_t k = 0; k < r->n; k += TP_SQUARE)
      tp_cpu(x)->K->turn[log](o + (i * r->ro + k) * size, r->ro, a + (i + k * r->si) * size, r->si,
          TP_MIN(r->count - i, TP_SQUARE), TP_MIN(r->n - k, TP_SQUARE));
}

static void copy_rows(const tp_exec *x, int size, const pair_rows *r, char *o, const char *a) {
  int log = tp_log2_of(size);
  if (r->so == 1 && r->ri == 1 && r->si > 1 && r->count > 1) {
    copy_across(x, size, log, r, o, a);
    return;
  }
  for (int64_t i = 0; i < r->count; i++, o += r->ro * size, a += r->ri * size) {
    if (r->so == 1 && r->si == 1) memmove(o, a, (size_t)(r->n * size));
    else if (r->so == 1) tp_cpu(x)->K->load[log](o, a, 0, r->si, 1, r->n);
    else if (r->si == 1) tp_cpu(x)->K->store[log](o, 0, r->so, a, 1, r->n);
    else
      for (int64_t k = 0; k < r->n; k++)
        memcpy(o + k * r->so * size, a + k * r->si * size, (size_t)size);
  }
}

void tp_pair_copy(const tp_exec *x, int size, const tp_pair *p, void *out, const void *in) {
  if (p->empty) return;
  int last = p->rank - 1, up = p->rank - 2;
  pair_rows r = { p->ext[last], 1, 0, 0, p->so[last], p->si[last] };
  if (up < 0) {
    copy_rows(x, size, &r, out, in);
    return;
  }
  r.count = p->ext[up], r.ro = p->so[up], r.ri = p->si[up];
  tp_walk w;
  for (tp_walk_start(&w, up, p->ext); w.ok; tp_walk_next(&w))
    copy_rows(x, size, &r, (char *)out + tp_walk_offset(&w, p->so) * size,
        (const char *)in + tp_walk_offset(&w, p->si) * size);
}

void tp_turn(
    int size, void *o, int64_t orow, const void *a, int64_t arow, int64_t rows, int64_t n) {
  tp_kernels_get()->turn[tp_log2_of(size)](o, orow, a, arow, rows, n);
}

void tp_view_copy(const tp_exec *x, int size, const tp_view *out, const tp_view *in) {
  tp_pair p;
  tp_pair_make(&p, out, in);
  tp_pair_copy(x, size, &p, out->p, in->p);
}

#define ADD_ROW(name, T) \
  static void name(void *o_, const void *a_, int64_t so, int64_t sa, int64_t n) { \
    T *o = o_; \
    const T *a = a_; \
    for (int64_t i = 0; i < n; i++) o[i * so] = (T)(o[i * so] + a[i * sa]); \
  }
ADD_ROW(add_f32, float)
ADD_ROW(add_f64, double)
ADD_ROW(add_u8, uint8_t)
ADD_ROW(add_i32, uint32_t)
ADD_ROW(add_i64, uint64_t)

typedef void add_row(void *o, const void *a, int64_t so, int64_t sa, int64_t n);
static add_row *const add_rows[TP_NDTYPE] = {
  [TP_F32] = add_f32, [TP_F64] = add_f64, [TP_U8] = add_u8, [TP_I32] = add_i32, [TP_I64] = add_i64
};

void tp_view_add(const tp_exec *x, tp_dtype d, const tp_view *out, const tp_view *in) {
  tp_pair p;
  tp_pair_make(&p, out, in);
  int last = p.rank - 1, size = tp_dtype_size(d);
  bool flat = p.so[last] == 1 && p.si[last] == 1;
  tp_kfn *add = tp_cpu(x)->K->ew[TP_OP_ADD][d];
  tp_walk w;
  for (tp_walk_start(&w, p.empty ? 0 : last, p.ext); w.ok && !p.empty; tp_walk_next(&w)) {
    char *o = (char *)out->p + tp_walk_offset(&w, p.so) * size;
    const char *a = (const char *)in->p + tp_walk_offset(&w, p.si) * size;
    if (flat) add(o, o, a, o, p.ext[last]);
    else add_rows[d](o, a, p.so[last], p.si[last], p.ext[last]);
  }
}

void tp_view_fill(const tp_exec *x, tp_dtype d, const tp_view *out, double value) {
  uint64_t cell = 0;
  tp_put(d, &cell, 0, value);
  tp_view one = *out;
  one.p = &cell;
  memset(one.stride, 0, sizeof one.stride);
  tp_view_copy(x, tp_dtype_size(d), out, &one);
}

void tp_view_convert(
    const tp_exec *x, tp_dtype to, const tp_view *out, tp_dtype from, const tp_view *in) {
  int so = tp_dtype_size(to), si = tp_dtype_size(from), last = out->rank - 1;
  int64_t n = last >= 0 ? out->shape[last] : 1, ko = last >= 0 ? out->stride[last] : 0,
          ki = last >= 0 ? in->stride[last] : 0;
  tp_walk w;
  for (tp_walk_start(&w, TP_MAX(last, 0), out->shape); w.ok && n > 0; tp_walk_next(&w)) {
    char *o = tp_view_at(out, &w, so);
    const char *a = tp_view_at(in, &w, si);
    if (tp_half(from)) {
      TP_ASSERT(n == 1 || ko == 1 || ki == 0);
      tp_cpu(x)->K->loadhalf[from](o, a, 0, ki, 1, ko ? n : 1);
    } else {
      TP_ASSERT(n == 1 || ki == 1 || ko == 0);
      tp_cpu(x)->K->storehalf[to](o, 0, ko, a, 1, ko ? n : 1);
    }
  }
}

/* ---- windows on rings ---- */

/* From index j of the axis to the seam or the end: where it starts and how many there are. */
static int64_t run_length(const tp_exec *x, const tp_dnd *d, int64_t j, int64_t n, int64_t *start) {
  *start = j;
  if (d->wrap < 0) return n - j;
  int64_t m = TP_MAX(tp_dx_get(&d->wmod, x->env), 1);
  *start = tp_floormod(tp_dx_get(&d->wlo, x->env) + j, m);
  return TP_MIN(n - j, m - *start);
}

/* Runs along the axis on which d's ring lies; a is that side, b the other. `skip`: index of the
 * window at which a and b begin. */
typedef struct side {
  const tp_dnd *d;
  tp_view v;
  int64_t skip;
} side;

static void copy_sides(const tp_exec *x, int size, const side *out, const side *in) {
  bool out_first = out->d->wrap >= 0 && out->skip >= 0;
  const side *s = out_first ? out : in;
  if (s->d->wrap < 0 || s->skip < 0) {
    tp_view_copy(x, size, &out->v, &in->v);
    return;
  }
  int axis = s->d->wrap;
  int64_t n = s->v.shape[axis], start;
  for (int64_t j = 0, len; j < n; j += len) {
    len = run_length(x, s->d, s->skip + j, s->skip + n, &start);
    side o = *out, i = *in;
    side *mine = out_first ? &o : &i, *other = out_first ? &i : &o;
    mine->v = tp_view_part(&mine->v, axis, start, len, size);
    mine->skip = -1; /* done with it */
    /* its places are found later, from its own index */
    if (other->d->wrap == axis && other->skip >= 0) {
      other->v.shape[axis] = len;
      other->skip = j;
    } else other->v = tp_view_part(&other->v, axis, j, len, size);
    copy_sides(x, size, &o, &i);
  }
}

void tp_wrapped_copy(const tp_exec *x, int size, const tp_dnd *out, const tp_dnd *in) {
  side o = { out, out->v, 0 }, i = { in, in->v, 0 };
  copy_sides(x, size, &o, &i);
}

/* ---- indices ---- */

static bool bad_index(tp_exec *x, tp_dreg *r, const int64_t *lead, int64_t i, int64_t n) {
  return tp_rfail_at(x, r, lead, NULL, TP_E_INPUT, "index %lld is outside 0 .. %lld", (long long)i,
      (long long)n - 1);
}

/* Along last axes where the index stands still one place is looked at. */
bool tp_check_indices(tp_exec *x, tp_dreg *r, const tp_view *k, int64_t n) {
  int rank = k->rank;
  while (rank > 1 && k->stride[rank - 1] == 0 && k->shape[rank - 1] > 0) rank--;
  int last = TP_MAX(rank - 1, 0);
  int64_t count = rank ? k->shape[last] : 1, step = rank ? k->stride[last] : 1;
  tp_walk w;
  for (tp_walk_start(&w, last, k->shape); w.ok; tp_walk_next(&w)) {
    const int64_t *p = (const int64_t *)k->p + tp_walk_offset(&w, k->stride);
    bool bad = tp_cpu(x)->K->outside(p, step, count, n);
    for (int i = rank; bad && i < k->rank; i++) w.at[i] = 0;
    for (int64_t j = 0; bad && j < count; j++) {
      if (rank) w.at[last] = j;
      if ((uint64_t)p[j * step] >= (uint64_t)n) return bad_index(x, r, w.at, p[j * step], n);
    }
  }
  return true;
}
