/* lines.c: computes operators along one axis: scans, arg max and min, sort. The other axes, leading
 * ones too, number the lines. */
#include "cpu/priv.h"
#include <math.h>

/* ---- scans ---- */

/* Another axis along which all are contiguous: its lines are gone through side by side. -1:
 * none. */
static int lanes_of(const tp_view *v, int n) {
  for (int i = v->rank - 1; i >= 0; i--) {
    bool all = v->shape[i] > 1;
    for (int k = 0; k < n; k++) all &= v[k].stride[i] == 1;
    if (all) return i;
  }
  return -1;
}

static void start_carry(tp_dtype d, bool prod, void *carry, int64_t lanes) {
  for (int64_t i = 0; i < lanes; i++)
    if (tp_dtype_float(d)) ((double *)carry)[i] = prod;
    else ((uint64_t *)carry)[i] = prod;
}

/* Runs a scan: windows are the result, the operand and, if there are any, the factors. */
bool tp_run_scan(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0];
  const tp_kernels *K = tp_cpu(x)->K;
  int axis = r->nlead + r->rg->how.axis, size = o->size, all = 1 + r->nin;
  bool prod = r->rg->op == TP_OP_CUMPROD, back = r->rg->how.backwards;
  int64_t n = o->v.shape[axis], total = 1, step[3];
  tp_kscan *scan = prod ? K->prod_scan[o->dtype] : K->sum_scan[o->dtype];
  if (!scan)
    return tp_rfail(x, r, TP_E_DEVICE, "no kernel for scans of %s", tp_dtype_name(o->dtype));
  tp_view v[3];
  for (int k = 0; k < all; k++) {
    const tp_view *of = k ? &r->in[k - 1].v : &o->v;
    step[k] = back ? -of->stride[axis] : of->stride[axis];
    v[k] = tp_view_without(of, axis);
    v[k].p = (char *)of->p + (back ? n - 1 : 0) * of->stride[axis] * size;
  }
  int lane = n ? lanes_of(v, all) : -1;
  if (lane >= 0) {
    total = v->shape[lane];
    for (int k = 0; k < all; k++) v[k] = tp_view_without(&v[k], lane);
  }
  double carry[TP_BLOCK];
  tp_walk w;
  for (tp_walk_start(&w, v->rank, v->shape); w.ok && n > 0; tp_walk_next(&w))
    for (int64_t at = 0; at < total; at += TP_BLOCK) {
      int64_t lanes = TP_MIN(total - at, TP_BLOCK);
      char *p[3];
      for (int k = 0; k < all; k++) p[k] = tp_view_at(&v[k], &w, size) + at * size;
      start_carry(o->dtype, prod, carry, lanes);
      if (r->nin > 1)
        K->recur[o->dtype](p[0], step[0], p[1], step[1], p[2], step[2], n, lanes, carry);
      else scan(p[0], step[0], p[1], step[1], n, lanes, r->rg->how.f[0], carry);
    }
  return true;
}

/* ---- arg max, arg min: the first at ties, the first NaN wins ---- */

/* ARG_SHORT: elements of a contiguous line that is turned, to be one of many side by side. */
enum { ARG_SHORT = 32, ARG_TURNED = 64 };

/* Where the best of `lanes` lines stands: side by side, or turned a few at a time. */
static void best_of_lines(const tp_kernels *K, const tp_dnd *in, bool max, const char *line,
    int64_t step, int64_t apart, int64_t n, int64_t lanes, int64_t *at) {
  uint64_t turned[ARG_SHORT * ARG_TURNED];
  tp_kbest *best = K->best[max][in->dtype];
  if (apart == 1) {
    best(at, line, step, n, lanes);
    return;
  }
  for (int64_t j = 0, m; j < lanes; j += m) {
    m = TP_MIN(lanes - j, ARG_TURNED);
    K->turn[tp_log2_of(in->size)](turned, m, line + j * apart * in->size, apart, n, m);
    best(at + j, turned, m, n, m);
  }
}

/* Goes through a block of lines at once if they lie side by side, or are many short ones. */
bool tp_run_arg(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0];
  const tp_kernels *K = tp_cpu(x)->K;
  int axis = r->nlead + r->rg->how.axis;
  int64_t n = in->v.shape[axis], step = in->v.stride[axis], total = 1, apart = 0, by = 0,
          at[TP_BLOCK];
  bool max = r->rg->op == TP_OP_ARGMAX;
  tp_view li = tp_view_without(&in->v, axis),
          lo = r->rg->how.keepdim ? tp_view_without(&o->v, axis) : o->v;
  int last = li.rank - 1;
  while (last > 0 && li.shape[last] == 1) last--;
  int lane = n <= 1 ? -1 : step != 1 ? lanes_of(&li, 1) : n <= ARG_SHORT ? last : -1;
  if (lane >= 0) {
    total = li.shape[lane], apart = lo.stride[lane], by = li.stride[lane];
    li = tp_view_without(&li, lane), lo = tp_view_without(&lo, lane);
  }
  tp_walk w;
  for (tp_walk_start(&w, li.rank, li.shape); w.ok; tp_walk_next(&w)) {
    if (n == 0)
      return tp_rfail_at(
          x, r, w.at, NULL, TP_E_INPUT, "%s of an empty range", tp_ops[r->rg->op].text);
    for (int64_t j = 0; j < total; j += TP_BLOCK) {
      int64_t lanes = TP_MIN(total - j, TP_BLOCK),
              *to = (int64_t *)lo.p + tp_walk_offset(&w, lo.stride) + j * apart;
      const char *line = tp_view_at(&li, &w, in->size) + j * by * in->size;
      if (lane < 0 && (step == 1 || n == 1)) *to = K->bestof[max][in->dtype](line, n);
      else {
        best_of_lines(K, in, max, line, step, lane < 0 ? 1 : by, n, lanes, at);
        for (int64_t k = 0; k < lanes; k++) to[k * apart] = at[k];
      }
    }
  }
  return true;
}

/* ---- sort: stable, NaN last in both directions ---- Keys are integers in the wanted order. The
 * range from the least to the greatest is cut into as many equal parts as there are items, or up to
 * twice as many; each part is sorted so in turn, a few items by insertion. A part of one key is in
 * order. So there are at most 64 / 5 levels, and two for a million random keys. */
typedef struct sort_key {
  uint64_t key;
  int64_t at;
} sort_key;

enum { SORT_FEW = 16, SORT_PARTS = 11 }; /* parts: a power of two */

static uint64_t key_of_float(double v) {
  union {
    double v;
    uint64_t bits;
  } u = { v + 0.0 }; /* -0 is 0 */
  return u.bits >> 63 ? ~u.bits : u.bits | UINT64_C(1) << 63;
}

static uint64_t key_of(const tp_dnd *in, const char *p, int64_t i, bool down) {
  bool floats = tp_dtype_float(in->dtype);
  double v = floats ? tp_get(in->dtype, p, i) : 0;
  if (v != v) return UINT64_MAX;
  uint64_t key = floats ? key_of_float(v) : (uint64_t)tp_geti(in->dtype, p, i) ^ UINT64_C(1) << 63;
  return down ? ~key : key;
}

static void sort_few(sort_key *a, int64_t n) {
  for (int64_t i = 1; i < n; i++) {
    sort_key x = a[i];
    int64_t j = i;
    for (; j > 0 && a[j - 1].key > x.key; j--) a[j] = a[j - 1];
    a[j] = x;
  }
}

static void sort_items(sort_key *a, sort_key *other, int64_t n) {
  uint64_t least = a[0].key, most = a[0].key;
  int parts = 3, shift = 0;
  if (n <= SORT_FEW) {
    sort_few(a, n);
    return;
  }
  for (int64_t i = 1; i < n; i++) least = TP_MIN(least, a[i].key), most = TP_MAX(most, a[i].key);
  while (parts < SORT_PARTS && (int64_t)1 << parts < n) parts++;
  while ((most - least) >> shift >> parts) shift++;
  if (least == most) return;
  /* a part's begin stands one further on, until its items have moved */
  int64_t begin[(1 << parts) + 1];
  memset(begin, 0, sizeof begin);
  for (int64_t i = 0; i < n; i++) begin[((a[i].key - least) >> shift) + 1]++;
  for (int k = 0; k < 1 << parts; k++) begin[k + 1] += begin[k];
  for (int64_t i = 0; i < n; i++) other[begin[(a[i].key - least) >> shift]++] = a[i];
  TP_COPYN(a, other, n);
  for (int64_t k = 0, from = 0; shift && k < 1 << parts; from = begin[k++])
    if (begin[k] - from > 1) sort_items(a + from, other + from, begin[k] - from);
}

/* ---- the first few of a line ---- kept in order while the line is gone through. An f32 that does
 * not go before the last of them is not looked at further. */
enum { FIRST_MOST = 64, FIRST_SHARE = 4, FIRST_STRIP = 64 };

/* Does an element of a strip go before v? One that is no number never does. */
static bool any_before(const float *a, float v, bool down) {
  int any = 0;
  if (down)
    for (int i = 0; i < FIRST_STRIP; i++) any |= a[i] > v;
  else
    for (int i = 0; i < FIRST_STRIP; i++) any |= a[i] < v;
  return any;
}

static void keep_first(sort_key *a, int64_t k, sort_key new) {
  int64_t j = k - 1;
  if (new.key >= a[j].key) return;
  for (; j > 0 && a[j - 1].key > new.key; j--) a[j] = a[j - 1];
  a[j] = new;
}

static void keep_firsts(
    const tp_dnd *in, const char *p, int64_t step, int64_t n, bool down, sort_key *a, int64_t k) {
  const float *line = (const float *)p;
  bool dense = in->dtype == TP_F32 && step == 1;
  for (int64_t i = 0; i < k; i++) a[i] = (sort_key){ key_of(in, p, i * step, down), i };
  sort_few(a, k);
  for (int64_t i = k, end; i < n; i = end) {
    float last = dense ? line[a[k - 1].at] : NAN;
    end = TP_MIN(i + FIRST_STRIP, n);
    if (last == last && end - i == FIRST_STRIP && !any_before(line + i, last, down)) continue;
    for (; i < end; i++) {
      if (dense && last == last && !(down ? line[i] > last : line[i] < last)) continue;
      keep_first(a, k, (sort_key){ key_of(in, p, i * step, down), i });
      if (dense) last = line[a[k - 1].at];
    }
  }
}

bool tp_run_sort(tp_exec *x, tp_dreg *r) {
  const tp_dnd *in = &r->in[0], *vd = &r->out[0], *kd = r->nout > 1 ? &r->out[1] : NULL;
  int axis = r->nlead + r->rg->how.axis;
  int64_t n = in->v.shape[axis];
  tp_view li = tp_view_without(&in->v, axis), lv = tp_view_without(&vd->v, axis),
          lk = kd ? tp_view_without(&kd->v, axis) : lv;
  void *mem = tp_work(x, r, n, 2 * TP_WORK_PAIR);
  if (!mem) return false;
  bool want_v = vd->buf >= 0, want_k = kd && kd->buf >= 0;
  int64_t step = in->v.stride[axis], first = r->rg->how.first,
          made = first > 0 && first < n ? first : n;
  bool down = r->rg->how.descending, few = made <= FIRST_MOST && made * FIRST_SHARE <= n;
  sort_key *a = mem;
  tp_walk w;
  for (tp_walk_start(&w, li.rank, li.shape); w.ok; tp_walk_next(&w)) {
    const char *p = tp_view_at(&li, &w, in->size);
    char *v = tp_view_at(&lv, &w, vd->size);
    int64_t *at = (int64_t *)lk.p + tp_walk_offset(&w, lk.stride);
    for (int64_t i = 0; i < n && !few; i++) a[i] = (sort_key){ key_of(in, p, i * step, down), i };
    if (few && n) keep_firsts(in, p, step, n, down, a, made);
    else if (n) sort_items(a, a + n, n);
    for (int64_t i = 0; i < made && want_v; i++)
      memcpy(
          v + i * vd->v.stride[axis] * in->size, p + a[i].at * step * in->size, (size_t)in->size);
    for (int64_t i = 0; i < made && want_k; i++) at[i * kd->v.stride[axis]] = a[i].at;
  }
  return true;
}
