/* lines.c: operators along one axis: scans, arg max and min, sort. The other axes, leading ones too, number the lines. */
#include "device/priv.h"

/* v without the axis. */
static tp_view across(const tp_view *v, int axis) {
  tp_view s = *v;
  s.rank--;
  for (int i = axis; i < s.rank; i++) s.shape[i] = s.shape[i + 1], s.stride[i] = s.stride[i + 1];
  return s;
}

/* ---- scans ---- */

/* Another axis along which both sides are contiguous: its lines are scanned side by side. -1: none. */
static int lanes_of(const tp_view *o, const tp_view *in) {
  for (int i = o->rank - 1; i >= 0; i--)
    if (o->stride[i] == 1 && in->stride[i] == 1 && o->shape[i] > 1) return i;
  return -1;
}

static void start_carry(tp_dtype d, bool prod, void *carry, int64_t lanes) {
  for (int64_t i = 0; i < lanes; i++)
    if (tp_dtype_float(d)) ((double *)carry)[i] = prod;
    else ((uint64_t *)carry)[i] = prod;
}

bool tp_run_scan(tp_exec *x, tp_dreg *r) {
  const tp_attr *a = r->rg->attr;
  const tp_dnd *o = &r->out[0], *in = &r->in[0];
  int axis = r->nlead + a->axis, size = o->size;
  int64_t n = o->v.shape[axis], so = o->v.stride[axis], si = in->v.stride[axis];
  bool prod = r->rg->op == TP_OP_CUMPROD;
  tp_kscan *scan = prod ? x->K->prod_scan[o->dtype] : x->K->sum_scan[o->dtype];
  if (!scan) return tp_rfail(x, r, TP_E_DEVICE, "no kernel for scans of %s", tp_dtype_name(o->dtype));
  tp_view lo = across(&o->v, axis), li = across(&in->v, axis);
  int lane = n ? lanes_of(&lo, &li) : -1;
  int64_t total = lane >= 0 ? lo.shape[lane] : 1;
  if (lane >= 0) lo = across(&lo, lane), li = across(&li, lane);
  double carry[TP_BLOCK];
  tp_walk w;
  for (tp_walk_start(&w, lo.rank, lo.shape); w.ok && n > 0; tp_walk_next(&w))
    for (int64_t at = 0; at < total; at += TP_BLOCK) {
      int64_t lanes = TP_MIN(total - at, TP_BLOCK), first = a->flag ? n - 1 : 0, dir = a->flag ? -1 : 1;
      start_carry(o->dtype, prod, carry, lanes);
      scan((char *)lo.p + (tp_walk_offset(&w, lo.stride) + at + first * so) * size, dir * so,
           (const char *)li.p + (tp_walk_offset(&w, li.stride) + at + first * si) * size, dir * si, n, lanes, a->f[0], carry);
    }
  return true;
}

bool tp_run_recur(tp_exec *x, tp_dreg *r) {
  const tp_attr *a = r->rg->attr;
  const tp_view *o = &r->out[0].v, *in = &r->in[0].v, *c = &r->in[1].v;
  int axis = r->nlead + a->axis, size = r->out[0].size;
  int64_t n = o->shape[axis], first = a->flag ? n - 1 : 0, dir = a->flag ? -1 : 1;
  tp_krecur *recur = x->K->recur[r->out[0].dtype];
  tp_view lo = across(o, axis), li = across(in, axis), lc = across(c, axis);
  int lane = n ? lanes_of(&lo, &li) : -1;
  if (lane >= 0 && lc.stride[lane] != 1) lane = -1;
  int64_t total = lane >= 0 ? lo.shape[lane] : 1;
  if (lane >= 0) lo = across(&lo, lane), li = across(&li, lane), lc = across(&lc, lane);
  double carry[TP_BLOCK];
  tp_walk w;
  for (tp_walk_start(&w, lo.rank, lo.shape); w.ok && n > 0; tp_walk_next(&w))
    for (int64_t at = 0; at < total; at += TP_BLOCK)
      recur((char *)lo.p + (tp_walk_offset(&w, lo.stride) + at + first * o->stride[axis]) * size, dir * o->stride[axis],
            (const char *)li.p + (tp_walk_offset(&w, li.stride) + at + first * in->stride[axis]) * size, dir * in->stride[axis],
            (const char *)lc.p + (tp_walk_offset(&w, lc.stride) + at + first * c->stride[axis]) * size, dir * c->stride[axis], n, TP_MIN(total - at, TP_BLOCK), carry);
  return true;
}

/* ---- arg max, arg min: the first at ties, the first NaN wins ---- */

#define BEST(sfx, T) \
  static int64_t best_##sfx(const void *p, int64_t step, int64_t n, bool max) { \
    const T *a = p; \
    T m = a[0]; \
    int64_t at = 0; \
    for (int64_t i = 1; i < n && m == m; i++) { \
      T v = a[i * step]; \
      if (v != v || (max ? v > m : v < m)) m = v, at = i; \
    } \
    return at; }
BEST(u8, uint8_t)
BEST(i32, int32_t)
BEST(i64, int64_t)
BEST(f32, float)
BEST(f64, double)
static int64_t best_bool(const void *p, int64_t step, int64_t n, bool max) {
  const uint8_t *a = p;
  for (int64_t i = 0; i < n; i++)
    if ((a[i * step] != 0) == max) return i;
  return 0;
}

typedef int64_t best_fn(const void *p, int64_t step, int64_t n, bool max);
static best_fn *const bests[TP_NDTYPE] = { [TP_BOOL] = best_bool, [TP_U8] = best_u8, [TP_I32] = best_i32, [TP_I64] = best_i64, [TP_F32] = best_f32, [TP_F64] = best_f64 };

bool tp_run_arg(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0];
  int axis = r->nlead + r->rg->attr->axis;
  int64_t n = in->v.shape[axis];
  tp_view li = across(&in->v, axis), lo = r->rg->attr->keepdim ? across(&o->v, axis) : o->v;
  best_fn *best = bests[in->dtype];
  tp_walk w;
  for (tp_walk_start(&w, li.rank, li.shape); w.ok; tp_walk_next(&w)) {
    if (n == 0) return tp_rfail_at(x, r, w.at, TP_E_INPUT, "%s of an empty range", tp_ops[r->rg->op].text);
    int64_t at = best((const char *)li.p + tp_walk_offset(&w, li.stride) * in->size, in->v.stride[axis], n, r->rg->op == TP_OP_ARGMAX);
    ((int64_t *)lo.p)[tp_walk_offset(&w, lo.stride)] = at;
  }
  return true;
}

/* ---- sort: stable, NaN last in both directions ---- merge sort, from runs of one up */
#define MERGE_SORT(name, T, BEFORE) \
  typedef struct name##_item { T v; int64_t at; } name##_item; \
  static name##_item *name(name##_item *a, name##_item *b, int64_t n) { \
    for (int64_t width = 1; width < n; width *= 2) { \
      for (int64_t lo = 0; lo < n; lo += 2 * width) { \
        int64_t mid = TP_MIN(lo + width, n), hi = TP_MIN(mid + width, n), i = lo, j = mid, k = lo; \
        while (i < mid && j < hi) { \
          T l = a[i].v, r = a[j].v; \
          b[k++] = BEFORE(r, l) ? a[j++] : a[i++]; \
        } \
        while (i < mid) b[k++] = a[i++]; \
        while (j < hi) b[k++] = a[j++]; \
      } \
      name##_item *t = a; a = b; b = t; \
    } \
    return a; \
  } \
  static void name##_line(const tp_dnd *in, const char *p, int64_t step, int64_t n, void *mem, char *v, int64_t vstep, int64_t *at, int64_t atstep) { \
    name##_item *a = mem; \
    for (int64_t i = 0; i < n; i++) a[i] = (name##_item){ (T)GET_##T(in->dtype, p, i * step), i }; \
    a = name(a, a + n, n); \
    for (int64_t i = 0; i < n && v; i++) memcpy(v + i * vstep * in->size, p + a[i].at * step * in->size, (size_t)in->size); \
    for (int64_t i = 0; i < n && at; i++) at[i * atstep] = a[i].at; \
  }
#define GET_double tp_get
#define GET_int64_t tp_geti
#define LESS(x, y) ((x) < (y))
#define MORE(x, y) ((x) > (y))
#define FLESS(x, y) ((x) < (y) || ((y) != (y) && (x) == (x)))
#define FMORE(x, y) ((x) > (y) || ((y) != (y) && (x) == (x)))
MERGE_SORT(up_f, double, FLESS)
MERGE_SORT(down_f, double, FMORE)
MERGE_SORT(up_i, int64_t, LESS)
MERGE_SORT(down_i, int64_t, MORE)

typedef void sort_line(const tp_dnd *in, const char *p, int64_t step, int64_t n, void *mem, char *v, int64_t vstep, int64_t *at, int64_t atstep);

int64_t tp_room_sort(const tp_exec *x, const tp_dreg *r, const tp_view *v) {
  (void)x;
  return tp_room(v[0].shape[r->nlead + r->rg->attr->axis], 2 * (int64_t)sizeof(up_f_item));
}

bool tp_run_sort(tp_exec *x, tp_dreg *r) {
  static sort_line *const lines[2][2] = { { up_i_line, down_i_line }, { up_f_line, down_f_line } };
  const tp_dnd *in = &r->in[0], *vd = &r->out[0], *kd = r->nout > 1 ? &r->out[1] : NULL;
  int axis = r->nlead + r->rg->attr->axis;
  int64_t n = in->v.shape[axis];
  tp_view li = across(&in->v, axis), lv = across(&vd->v, axis), lk = kd ? across(&kd->v, axis) : lv;
  void *mem = tp_work(x, r, n, 2 * (int64_t)sizeof(up_f_item));
  if (!mem) return false;
  bool want_v = vd->buf >= 0, want_k = kd && kd->buf >= 0;
  sort_line *line = lines[tp_dtype_float(in->dtype)][r->rg->attr->flag];
  tp_walk w;
  for (tp_walk_start(&w, li.rank, li.shape); w.ok; tp_walk_next(&w))
    line(in, (const char *)li.p + tp_walk_offset(&w, li.stride) * in->size, in->v.stride[axis], n, mem,
         want_v ? (char *)lv.p + tp_walk_offset(&w, lv.stride) * vd->size : NULL, vd->v.stride[axis],
         want_k ? (int64_t *)lk.p + tp_walk_offset(&w, lk.stride) : NULL, want_k ? kd->v.stride[axis] : 0);
  return true;
}
