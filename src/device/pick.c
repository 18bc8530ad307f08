/* pick.c: elements chosen by data. Indices count from 0, never wrap and are checked before anything is written. */
#include "device/priv.h"

static tp_view lead_of(const tp_view *v, int nlead) {
  tp_view l = *v;
  l.rank = nlead;
  return l;
}

/* v at one point of the leading axes. */
static tp_view rest_at(const tp_view *v, int nlead, const tp_walk *w, int size) {
  tp_view s = { .p = (char *)v->p + tp_walk_offset(w, v->stride) * size, .rank = v->rank - nlead };
  for (int i = 0; i < s.rank; i++) s.shape[i] = v->shape[nlead + i], s.stride[i] = v->stride[nlead + i];
  return s;
}

static tp_view without(const tp_view *v, int axis) {
  tp_view s = *v;
  s.rank--;
  for (int i = axis; i < s.rank; i++) s.shape[i] = s.shape[i + 1], s.stride[i] = s.stride[i + 1];
  return s;
}

static bool bad_index(tp_exec *x, tp_dreg *r, const int64_t *lead, int64_t i, int64_t n) {
  return tp_rfail_at(x, r, lead, TP_E_INPUT, "index %lld is outside 0 .. %lld", (long long)i, (long long)n - 1);
}

static bool check_indices(tp_exec *x, tp_dreg *r, const tp_view *k, int64_t n) {
  tp_walk w;
  for (tp_walk_start(&w, k->rank, k->shape); w.ok; tp_walk_next(&w)) {
    int64_t i = ((const int64_t *)k->p)[tp_walk_offset(&w, k->stride)];
    if (i < 0 || i >= n) return bad_index(x, r, w.at, i, n);
  }
  return true;
}

/* ---- whole slices along an axis ---- */

static int64_t slice_index(const tp_view *k, int64_t j) { return ((const int64_t *)k->p)[k->rank ? j * k->stride[0] : 0]; }

/* Slice number j of a tensor whose axis is indexed by k; with k of rank 0 the axis is gone. */
static tp_view slice_of(const tp_view *v, const tp_view *k, int axis, int64_t j, int size) {
  if (k->rank == 0) return *v;
  tp_view s = tp_view_part(v, axis, j, 1, size);
  return without(&s, axis);
}

static tp_view slice_at(const tp_view *v, int axis, int64_t i, int size) {
  tp_view s = tp_view_part(v, axis, i, 1, size);
  return without(&s, axis);
}

bool tp_run_index_select(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0], *kd = &r->in[1];
  int axis = r->rg->attr->axis;
  if (tp_view_count(&o->v) == 0) return true;
  if (!check_indices(x, r, &kd->v, in->v.shape[r->nlead + axis])) return false;
  tp_view lead = lead_of(&o->v, r->nlead);
  bool shared = true;                           /* one row of indices for all leading points: they are axes of the slices */
  for (int i = 0; i < r->nlead; i++) shared &= kd->v.stride[i] == 0 || kd->v.shape[i] == 1;
  int walked = shared ? 0 : r->nlead, at = axis + r->nlead - walked;
  tp_walk w;
  for (tp_walk_start(&w, walked, lead.shape); w.ok; tp_walk_next(&w)) {
    tp_view a = rest_at(&in->v, walked, &w, o->size), b = rest_at(&o->v, walked, &w, o->size), k = rest_at(&kd->v, walked, &w, 8);
    if (shared) k = rest_at(&kd->v, r->nlead, &(tp_walk){ .rank = 0 }, 8);
    for (int64_t j = 0, n = k.rank ? k.shape[0] : 1; j < n; j++) {
      tp_view from = slice_at(&a, at, slice_index(&k, j), o->size), to = slice_of(&b, &k, at, j, o->size);
      tp_view_copy(x, o->size, &to, &from);
    }
  }
  return true;
}

/* out += in over two windows of one shape. */
static void add_into(const tp_exec *x, tp_dtype d, const tp_view *o, const tp_view *in) {
  tp_kfn *add = x->K->ew[TP_OP_ADD][d];
  int size = tp_dtype_size(d), last = o->rank - 1;
  bool flat = last >= 0 && o->stride[last] == 1 && in->stride[last] == 1;
  tp_walk w;
  for (tp_walk_start(&w, flat ? last : o->rank, o->shape); w.ok; tp_walk_next(&w)) {
    char *q = (char *)o->p + tp_walk_offset(&w, o->stride) * size;
    add(q, q, (const char *)in->p + tp_walk_offset(&w, in->stride) * size, q, flat ? o->shape[last] : 1);
  }
}

static void copy_base(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *base = &r->in[0];
  if (base->v.p != o->v.p || memcmp(base->v.stride, o->v.stride, sizeof *o->v.stride * (size_t)o->v.rank)) tp_view_copy(x, o->size, &o->v, &base->v);
}

bool tp_run_index_add(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *kd = &r->in[1], *src = &r->in[2];
  int axis = r->rg->attr->axis;
  if (tp_view_count(&src->v) && !check_indices(x, r, &kd->v, o->v.shape[r->nlead + axis])) return false;
  copy_base(x, r);
  if (tp_view_count(&src->v) == 0) return true;
  tp_walk w;
  for (tp_walk_start(&w, r->nlead, o->v.shape); w.ok; tp_walk_next(&w)) {
    tp_view b = rest_at(&o->v, r->nlead, &w, o->size), k = rest_at(&kd->v, r->nlead, &w, 8), s = rest_at(&src->v, r->nlead, &w, o->size);
    for (int64_t j = 0, n = k.rank ? k.shape[0] : 1; j < n; j++) {
      tp_view to = slice_at(&b, axis, slice_index(&k, j), o->size), from = slice_of(&s, &k, axis, j, o->size);
      add_into(x, o->dtype, &to, &from);
    }
  }
  return true;
}

/* ---- element by element ---- */

/* Strides of v with the indexed axis not moving: its place comes from k. */
static void strides_but(const tp_view *v, int axis, int64_t *s) {
  memcpy(s, v->stride, sizeof *s * (size_t)v->rank);
  s[axis] = 0;
}

bool tp_run_gather(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0], *k = &r->in[1];
  int axis = r->nlead + r->rg->attr->axis, size = o->size;
  int64_t s[TP_MAXRANK], n = in->v.shape[axis];
  strides_but(&in->v, axis, s);
  tp_walk w;
  for (tp_walk_start(&w, o->v.rank, o->v.shape); w.ok; tp_walk_next(&w)) {
    int64_t i = ((const int64_t *)k->v.p)[tp_walk_offset(&w, k->v.stride)];
    if (i < 0 || i >= n) return bad_index(x, r, w.at, i, n);
    memcpy((char *)o->v.p + tp_walk_offset(&w, o->v.stride) * size, (const char *)in->v.p + (tp_walk_offset(&w, s) + i * in->v.stride[axis]) * size, (size_t)size);
  }
  return true;
}

bool tp_run_scatter_add(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *k = &r->in[1], *src = &r->in[2];
  int axis = r->nlead + r->rg->attr->axis, size = o->size;
  int64_t s[TP_MAXRANK];
  tp_kfn *add = x->K->ew[TP_OP_ADD][o->dtype];
  if (!check_indices(x, r, &k->v, o->v.shape[axis])) return false;
  copy_base(x, r);
  strides_but(&o->v, axis, s);
  tp_walk w;
  for (tp_walk_start(&w, k->v.rank, k->v.shape); w.ok; tp_walk_next(&w)) {
    int64_t i = ((const int64_t *)k->v.p)[tp_walk_offset(&w, k->v.stride)];
    char *q = (char *)o->v.p + (tp_walk_offset(&w, s) + i * o->v.stride[axis]) * size;
    add(q, q, (const char *)src->v.p + tp_walk_offset(&w, src->v.stride) * size, q, 1);
  }
  return true;
}
