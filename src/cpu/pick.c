/* pick.c: reads and adds elements at places that data says. Indices count from 0, never wrap and
 * are checked before anything is written. */
#include "cpu/priv.h"

/* v at one point of the leading axes. */
static tp_view rest_at(const tp_view *v, int nlead, const tp_walk *w, int size) {
  tp_view s = tp_view_spatial(v, nlead);
  s.p = tp_view_at(v, w, size);
  return s;
}

/* Calls COPY(type of that size), so that compilers know the size. */
#define BY_SIZE(size, COPY) \
  switch (size) { \
  case 1: COPY(uint8_t); break; \
  case 2: COPY(uint16_t); break; \
  case 4: COPY(uint32_t); break; \
  case 8: COPY(uint64_t); break; \
  default: (void)TP_NEVER(true); \
  }

/* ---- whole slices along an axis ---- */

/* How one slice is copied, and the axes that number slices: with one row of indices for all leading
 * points these are axes of the slices. */
typedef struct chosen {
  tp_pair p;
  int walked;
  int64_t so, si;
  bool ring;
} chosen;

void tp_index_select_new(tp_exec *x, tp_dreg *r) {
  chosen *c = r->k = TP_NEW(&x->a, chosen);
  c->ring = tp_knows_rings(x->plan, r->rg);
}

bool tp_bind_index_select(tp_exec *x, tp_dreg *r) {
  (void)x;
  const tp_view *o = &r->out[0].v, *in = &r->in[0].v, *k = &r->in[1].v;
  chosen *c = r->k;
  int axis = r->nlead + r->rg->how.axis;
  c->walked = 0;
  for (int i = 0; i < r->nlead; i++)
    if (k->stride[i] != 0 && k->shape[i] != 1) c->walked = r->nlead;
  tp_view from = tp_view_without(in, axis), to = k->rank > r->nlead ? tp_view_without(o, axis) : *o;
  c->so = k->rank > r->nlead ? o->stride[axis] : 0;
  c->si = in->stride[axis];
  from = tp_view_spatial(&from, c->walked);
  to = tp_view_spatial(&to, c->walked);
  tp_pair_make(&c->p, &to, &from);
  return true;
}

/* Rows of `bytes` contiguous bytes; steps in bytes but for index's. */
typedef struct chosen_rows {
  int64_t n, so, si, step, lo, m;
  size_t bytes;
} chosen_rows;

static inline const char *row_at(
    const chosen_rows *q, const char *from, const int64_t *index, int64_t j) {
  int64_t at = q->lo + index[j * q->step];
  return from + (at < q->m ? at : at % q->m) * q->si;
}

/* Rows of few bytes that the compiler knows; `around`: of a ring. */
static inline void pick_each(
    chosen_rows q, char *to, const char *from, const int64_t *index, size_t bytes, bool around) {
  for (int64_t j = 0; j < q.n; j++, index += q.step, to += q.so)
    memcpy(to, around ? row_at(&q, from, index, 0) : from + *index * q.si, bytes);
}

static inline void pick_rows(
    const chosen_rows *q, char *to, const char *from, const int64_t *index, bool around) {
  switch (q->bytes) {
  case 4: pick_each(*q, to, from, index, 4, around); break;
  case 8: pick_each(*q, to, from, index, 8, around); break;
  case 16: pick_each(*q, to, from, index, 16, around); break;
  case 32: pick_each(*q, to, from, index, 32, around); break;
  case 64: pick_each(*q, to, from, index, 64, around); break;
  default: pick_each(*q, to, from, index, q->bytes, around);
  }
}

bool tp_run_index_select(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0], *k = &r->in[1];
  const chosen *c = r->k;
  bool many = k->v.rank > r->nlead;
  int64_t n = many ? k->v.shape[r->nlead] : 1, step = many ? k->v.stride[r->nlead] : 0;
  if (c->p.empty || n == 0) return true;
  if (!tp_check_indices(x, r, &k->v, in->v.shape[r->nlead + r->rg->how.axis])) return false;
  int64_t m = c->ring ? TP_MAX(tp_dx_get(&in->wmod, x->env), 1) : INT64_MAX,
          lo = c->ring ? tp_floormod(tp_dx_get(&in->wlo, x->env), m) : 0;
  bool row = c->p.rank == 1 && ((c->p.so[0] == 1 && c->p.si[0] == 1) || c->p.ext[0] == 1);
  /* slices of elements that lie apart, fewer than indices: one element of each after the other */
  bool apart = !row && c->p.rank == 1 && c->p.ext[0] <= n;
  int64_t lines = apart ? c->p.ext[0] : 1, each = apart ? 1 : c->p.ext[0];
  chosen_rows q = { n, c->so * o->size, c->si * o->size, step, lo, m, (size_t)(each * o->size) };
  tp_walk w;
  for (tp_walk_start(&w, c->walked, o->v.shape); w.ok; tp_walk_next(&w)) {
    const char *from = tp_view_at(&in->v, &w, o->size);
    char *to = tp_view_at(&o->v, &w, o->size);
    const int64_t *index = (const int64_t *)k->v.p + tp_walk_offset(&w, k->v.stride);
    for (int64_t i = 0; i < lines && (row || apart); i++) {
      char *at = to + i * c->p.so[0] * o->size;
      const char *of = from + i * c->p.si[0] * o->size;
      if (c->ring) pick_rows(&q, at, of, index, true);
      else pick_rows(&q, at, of, index, false);
    }
    for (int64_t j = 0; j < n && !row && !apart; j++)
      tp_pair_copy(x, o->size, &c->p, to + j * c->so * o->size,
          from + (lo + index[j * step]) % m * c->si * o->size);
  }
  return true;
}

static void copy_base(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *base = &r->in[0];
  if (base->v.p != o->v.p ||
      memcmp(base->v.stride, o->v.stride, sizeof *o->v.stride * (size_t)o->v.rank))
    tp_view_copy(x, o->size, &o->v, &base->v);
}

/* ---- sums of floats: in f64, in order, rounded once ---- */

/* PICK_PART: bytes of a row that are on their way while another row is looked at. PICK_LEAST: a
 * shorter row of hits is taken element by element. */
enum { PICK_LINE = 256, PICK_PART = 256, PICK_LEAST = 4 };

/* The lines of an f32 window, at most LINE elements at a time, beside as many doubles of a dense
 * image of it. */
#define EACH_LINE(v, sum) \
  tp_walk w; \
  int last = (v)->rank - 1; \
  int64_t n = last < 0 ? 1 : (v)->shape[last], step = last < 0 ? 1 : (v)->stride[last]; \
  for (tp_walk_start(&w, TP_MAX(last, 0), (v)->shape); w.ok; tp_walk_next(&w)) \
    for (int64_t at = 0, m; m = TP_MIN(n - at, PICK_LINE), at < n; at += m, (sum) += m)
#define PLACE(v) ((float *)(v)->p + tp_walk_offset(&w, (v)->stride) + at * step)

static void sum_start(const tp_exec *x, double *sum, const tp_view *v) {
  float line[PICK_LINE];
  EACH_LINE(v, sum) {
    tp_cpu(x)->K->load[2](line, PLACE(v), 0, step, 1, m);
    tp_cpu(x)->K->cast[TP_F32][TP_F64](sum, line, line, line, m);
  }
}

static void sum_add(const tp_exec *x, double *sum, const tp_view *v) {
  float line[PICK_LINE];
  double wide[PICK_LINE];
  EACH_LINE(v, sum) {
    tp_cpu(x)->K->load[2](line, PLACE(v), 0, step, 1, m);
    tp_cpu(x)->K->cast[TP_F32][TP_F64](wide, line, line, line, m);
    tp_cpu(x)->K->ew[TP_OP_ADD][TP_F64](sum, sum, wide, sum, m);
  }
}

static void sum_end(const tp_exec *x, const tp_dreg *r, const tp_view *v, const double *sum) {
  float line[PICK_LINE];
  tp_kfn *narrow = r->halved ? tp_cpu(x)->K->sticky : tp_cpu(x)->K->cast[TP_F64][TP_F32];
  EACH_LINE(v, sum) {
    narrow(line, sum, sum, sum, m);
    tp_cpu(x)->K->store[2](PLACE(v), 0, step, line, 1, m);
  }
}

/* While hits are looked at, a place holds the number of its last hit, as a NaN that is seldom
 * anything else. */
#define HIT_MARK 0x7fa00000u

/* Are all places different, because each lies a fixed step behind the one before, around m? */
static bool goes_around(const tp_exec *x, const int64_t *at, int64_t n, int64_t m) {
  if (n < 2) return true;
  int64_t by = tp_floormod(at[1] - at[0], m);
  return tp_cpu(x)->K->even(at, n, by, m) && n <= m / (int64_t)tp_gcd((uint64_t)m, (uint64_t)by);
}

/* to, from: a row, wherever it was looked at last; they lie so and si bytes apart. dense: both are
 * so many contiguous f32, else 0. */
typedef struct row_hits {
  tp_view to, from;
  char *first;
  const char *src;
  const int64_t *index;
  int64_t n, step, so, si, dense;
} row_hits;

static int64_t row_index(const row_hits *h, int64_t j) { return h->index[j * h->step]; }

static const tp_view *hit_row(row_hits *h, int64_t j) {
  h->to.p = h->first + row_index(h, j) * h->so;
  return &h->to;
}

/* While row j is looked at, another one is on its way. */
static const tp_view *hit_by(row_hits *h, int64_t j, int64_t then) {
  for (int i = 0; i < PICK_PART; i += TP_WORK_LINE) __builtin_prefetch(h->src + then * h->si + i);
  h->from.p = (char *)h->src + j * h->si;
  return &h->from;
}

static void link_rows(row_hits *h, tp_row_hit *t) {
  for (int64_t j = 0; j < h->n; j++) {
    uint32_t *place = hit_row(h, j)->p, before = *place - HIT_MARK;
    bool later = before < j && row_index(h, before) == row_index(h, j);
    t[j] = (tp_row_hit){ .later = later };
    memcpy(&t[j].was, place, sizeof t[j].was);
    if (later) t[before].next = (uint32_t)j;
    *place = HIT_MARK + (uint32_t)j;
  }
}

static void sum_row(
    const tp_exec *x, const tp_dreg *r, row_hits *h, const tp_row_hit *t, int64_t j, double *sum) {
  if (h->dense) {
    tp_cpu(x)->K->sum_rows(
        hit_row(h, j)->p, (const float *)h->src, h->si / (int64_t)sizeof(float), t, j, h->dense);
    return;
  }
  sum_start(x, sum, hit_row(h, j));
  for (int64_t next; j >= 0; j = next) {
    next = t[j].next ? (int64_t)t[j].next : -1;
    sum_add(x, sum, hit_by(h, j, TP_MAX(next, 0)));
  }
  sum_end(x, r, &h->to, sum);
}

static void add_row_once(const tp_exec *x, const tp_dreg *r, row_hits *h, int64_t j) {
  if (h->dense) {
    void *to = hit_row(h, j)->p;
    const void *from = hit_by(h, j, TP_MIN(j + 1, h->n - 1))->p;
    tp_cpu(x)->K->ew[TP_OP_ADD][TP_F32](to, to, from, to, h->dense);
  } else tp_view_add(x, r->out[0].dtype, hit_row(h, j), hit_by(h, j, TP_MIN(j + 1, h->n - 1)));
}

/* Do so many rows go to so few dense ones that all of these are summed in f64, image? */
static bool fills_image(const row_hits *h, int64_t around) {
  return h->dense && h->so == h->dense * (int64_t)sizeof(float) && h->n / TP_WORK_IMAGE >= around;
}

static void add_rows_to_image(const tp_exec *x, const row_hits *h, int64_t around, double *image) {
  const tp_kernels *K = tp_cpu(x)->K;
  void *first = h->first;
  int64_t n = around * h->dense;
  K->cast[TP_F32][TP_F64](image, first, first, first, n);
  K->add_rows(image, (const float *)h->src, h->si / (int64_t)sizeof(float), h->index, h->step, h->n,
      h->dense);
  K->cast[TP_F64][TP_F32](first, image, image, image, n);
}

/* One point of the leading axes. A row that is hit once costs one addition and no other memory;
 * others are summed in f64. */
static void add_rows_hit(
    const tp_exec *x, const tp_dreg *r, row_hits *h, tp_row_hit *t, double *sum) {
  int64_t around = TP_MAX(r->out[0].v.shape[r->nlead + r->rg->how.axis], 1);
  if (!sum || (h->step == 1 && goes_around(x, h->index, h->n, around))) {
    for (int64_t j = 0; j < h->n; j++) add_row_once(x, r, h, j);
    return;
  }
  if (fills_image(h, around)) {
    add_rows_to_image(x, h, around, sum);
    return;
  }
  link_rows(h, t);
  for (int64_t j = 0; j < h->n; j++) {
    if (t[j].later) continue;
    memcpy(hit_row(h, j)->p, &t[j].was, sizeof t[j].was);
    if (t[j].next) sum_row(x, r, h, t, j, sum);
    else add_row_once(x, r, h, j);
  }
}

/* Has each row of what is added one index for all of it? `scatter_add` asks, whose index has the
 * axes of what is added. */
static bool has_row_index(const tp_dreg *r) {
  const tp_view *k = &r->in[1].v;
  int64_t row = 1;
  bool all = !r->halved;
  for (int i = r->nlead; i < k->rank; i++) {
    if (i == r->nlead + r->rg->how.axis) continue;
    all &= k->stride[i] == 0 || k->shape[i] == 1;
    row *= k->shape[i];
  }
  return all && row >= PICK_LEAST;
}

static row_hits rows_at(const tp_dreg *r, const tp_walk *w) {
  int axis = r->rg->how.axis, size = r->out[0].size, by = r->rg->op == TP_OP_SCATTER_ADD ? axis : 0;
  tp_view b = rest_at(&r->out[0].v, r->nlead, w, size), k = rest_at(&r->in[1].v, r->nlead, w, 8),
          s = rest_at(&r->in[2].v, r->nlead, w, size);
  bool many = k.rank;
  for (int i = 0; i < b.rank; i++)
    if (i != axis) b.shape[i] = s.shape[i - (i > axis && !many)];
  row_hits h = { .to = tp_view_without(&b, axis),
    .from = many ? tp_view_without(&s, axis) : s,
    .first = b.p,
    .src = s.p,
    .index = k.p,
    .n = many ? k.shape[by] : 1,
    .step = many ? k.stride[by] : 0,
    .so = b.stride[axis] * size,
    .si = many ? s.stride[axis] * size : 0 };
  tp_pair p;
  tp_pair_make(&p, &h.to, &h.from);
  if (r->out[0].dtype == TP_F32 && !r->halved && p.rank == 1 && p.so[0] == 1 && p.si[0] == 1)
    h.dense = p.ext[0];
  return h;
}

static bool scatter_rows(tp_exec *x, tp_dreg *r, int64_t n) {
  const tp_dnd *o = &r->out[0];
  int axis = r->rg->how.axis;
  int64_t row = 1, around = o->v.shape[r->nlead + axis];
  for (int i = r->nlead; i < o->v.rank; i++) row *= i == r->nlead + axis ? 1 : o->v.shape[i];
  tp_row_hit *t = tp_work(x, r, n, TP_WORK_PAIR);
  int64_t room = n / TP_WORK_IMAGE >= TP_MAX(around, 1) ? around * row : row;
  double *sum = o->dtype == TP_F32 && n > 1 ? tp_work(x, r, room, sizeof *sum) : NULL;
  if (!t || (o->dtype == TP_F32 && n > 1 && !sum)) return false;
  if (n > UINT32_MAX)
    return tp_rfail(
        x, r, TP_E_DEVICE, "%lld rows are more than can be added at once", (long long)n);
  tp_walk w;
  for (tp_walk_start(&w, r->nlead, o->v.shape); w.ok; tp_walk_next(&w)) {
    row_hits h = rows_at(r, &w);
    add_rows_hit(x, r, &h, t, sum);
  }
  return true;
}

bool tp_run_index_add(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *kd = &r->in[1], *src = &r->in[2];
  if (tp_view_count(&src->v) &&
      !tp_check_indices(x, r, &kd->v, o->v.shape[r->nlead + r->rg->how.axis]))
    return false;
  copy_base(x, r);
  if (tp_view_count(&src->v) == 0) return true;
  return scatter_rows(x, r, kd->v.rank > r->nlead ? kd->v.shape[r->nlead] : 1);
}

/* ---- element by element ---- */

/* Lines along the last axis, of n elements: each of a window `near` goes with one of `far`, where
 * an index says along an axis; of `far` the other axes are those of the index. Steps in elements;
 * `apart`: between neighbours along the axis. */
typedef struct line {
  const tp_view *k, *from;
  char *begin;
  int64_t n, sf, sn, sk, apart, stride[TP_MAXRANK];
  int size;
  tp_walk w;
  char *far, *near;
  const int64_t *index;
} line;

static void line_start(
    line *l, const tp_view *far, const tp_view *near, const tp_view *k, int axis, int size) {
  int last = TP_MAX(k->rank - 1, 0);
  TP_COPYN(l->stride, far->stride, far->rank);
  l->k = k, l->from = near, l->begin = far->p, l->size = size;
  l->apart = far->stride[axis];
  l->stride[axis] = 0;
  l->n = k->rank ? k->shape[last] : 1;
  l->sf = l->stride[last], l->sn = near->stride[last], l->sk = k->stride[last];
  tp_walk_start(&l->w, last, k->shape);
}

static bool line_is_there(line *l) {
  l->far = l->begin + tp_walk_offset(&l->w, l->stride) * l->size;
  l->near = tp_view_at(l->from, &l->w, l->size);
  l->index = (const int64_t *)l->k->p + tp_walk_offset(&l->w, l->k->stride);
  return l->w.ok && l->n > 0;
}

/* Is there one index for all of the line, which is contiguous in both windows? */
static bool is_flat(const line *l) { return l->sk == 0 && l->sf == 1 && l->sn == 1; }
static char *far_row(const line *l) { return l->far + *l->index * l->apart * l->size; }

/* of a line q that compilers see whole */
#define THERE(T, j) ((T *)q.far)[j * q.sf + q.index[j * q.sk] * q.apart]
#define HERE(T, j)  ((T *)q.near)[j * q.sn]

bool tp_run_gather(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0];
  int axis = r->nlead + r->rg->how.axis;
  line l;
  if (!tp_check_indices(x, r, &r->in[1].v, in->v.shape[axis])) return false;
  for (line_start(&l, &in->v, &o->v, &r->in[1].v, axis, o->size); line_is_there(&l);
       tp_walk_next(&l.w)) {
#define TAKE(T) \
  for (int64_t j = 0; j < q.n; j++) HERE(T, j) = THERE(const T, j)
    const line q = l;
    if (is_flat(&l)) memcpy(l.near, far_row(&l), (size_t)(l.n * l.size));
    else BY_SIZE(l.size, TAKE)
  }
  return true;
}

bool tp_run_put(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0];
  int axis = r->nlead + r->rg->how.axis;
  int64_t n = o->v.shape[axis];
  line l;
  copy_base(x, r);
  for (line_start(&l, &o->v, &r->in[2].v, &r->in[1].v, axis, o->size); line_is_there(&l);
       tp_walk_next(&l.w)) {
#define PUT_THERE(T) \
  for (int64_t j = 0; j < q.n; j++) \
    if ((uint64_t)q.index[j * q.sk] < (uint64_t)n) THERE(T, j) = HERE(const T, j)
    const line q = l;
    if (l.sk == 0 && (uint64_t)*l.index >= (uint64_t)n) continue;
    if (is_flat(&l)) memcpy(far_row(&l), l.near, (size_t)(l.n * l.size));
    else BY_SIZE(l.size, PUT_THERE)
  }
  return true;
}

/* ---- elements added where data says: at the cost of hits, if the base lies where the result does
 * ---- */

/* Hits: v[j] goes to first[at[j]]. The others: room for as many. */
typedef union hit_place {
  float f;
  uint32_t number;
} hit_place;
typedef struct hits {
  int64_t n;
  const int64_t *at;
  const float *v;
  hit_place *first, *was;
  uint32_t *root, *again;
  double *sum;
} hits;

/* Fewer hits, at most, go one by one; places for each hit, at most, there being memory for as many
 * doubles: of a line, of some. */
enum { HITS_FEW = 64, IMAGE_PLACES = 4, IMAGE_SPAN = 4 };

/* The hit before j at j's place; j: none. The mark that was there may be a number of the script's.
 */
static inline uint32_t hit_before(const hits *h, uint32_t j) {
  uint32_t before = h->was[j].number - HIT_MARK;
  return before < j && h->at[before] == h->at[j] ? before : j;
}

/* Puts the numbers of hits at their places and values aside. again[i]: a hit whose place has
 * perhaps been hit before; how many. */
static int64_t mark_places(const hits *h) {
  const hits q = *h;
  int64_t n = 0;
  for (int64_t j = 0; j < q.n; j++) {
    hit_place *place = &q.first[q.at[j]], was = *place;
    q.was[j] = was;
    place->number = HIT_MARK + (uint32_t)j;
    q.again[n] = (uint32_t)j;
    n += was.number - HIT_MARK < (uint64_t)j;
  }
  return n;
}

/* Sums, in order, what goes to a place that is hit again, at the number of its first hit, root[j]
 * of each hit again[i] = j. How many such hits. */
static int64_t sum_again(const hits *h, int64_t n) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; i++) {
    uint32_t j = h->again[i], before = hit_before(h, j);
    if (before == j) continue;
    bool first = hit_before(h, before) == before;
    uint32_t root = h->root[j] = first ? before : h->root[before];
    if (first) h->sum[root] = (double)h->was[root].f + h->v[root];
    h->sum[root] += h->v[j];
    h->again[kept++] = j;
  }
  return kept;
}

/* Adds in f64, rounded once; of two numbers f32 makes the same. All hits of a place store its sum.
 */
static void add_hits(const tp_exec *x, const tp_dreg *r, const hits *h, int64_t m) {
  const hits q = *h;
  if (!r->halved && goes_around(x, q.at, q.n, m)) {
    for (int64_t j = 0; j < q.n; j++) q.first[q.at[j]].f += q.v[j];
    return;
  }
  int64_t again = mark_places(h);
  if (r->halved)
    for (int64_t j = 0; j < q.n; j++) q.sum[j] = (double)q.was[j].f + q.v[j];
  again = sum_again(h, again);
  if (r->halved) tp_cpu(x)->K->sticky(q.was, q.sum, q.sum, q.sum, q.n);
  else tp_cpu(x)->K->ew[TP_OP_ADD][TP_F32](q.was, q.was, q.v, q.was, q.n);
  for (int64_t i = 0; i < again; i++) {
    uint32_t j = q.again[i], root = q.root[j];
    q.was[j].f = r->halved ? q.was[root].f : (float)q.sum[root];
  }
  for (int64_t j = 0; j < q.n; j++) q.first[q.at[j]] = q.was[j];
}

/* Adds so many hits that the places, all of them in f64, take less time than to look which hits
 * share one. */
static void add_to_image(
    const tp_exec *x, const tp_dreg *r, const hits *h, int64_t m, double *sum) {
  float *first = &h->first->f;
  tp_cpu(x)->K->cast[TP_F32][TP_F64](sum, first, first, first, m);
  for (int64_t j = 0; j < h->n; j++) sum[h->at[j]] += h->v[j];
  (r->halved ? tp_cpu(x)->K->sticky : tp_cpu(x)->K->cast[TP_F64][TP_F32])(first, sum, sum, sum, m);
}

/* Puts a line behind what is in h; its places are counted from h->first. */
static void append_line(hits *h, int64_t *at, float *v, const line *l) {
  const line q = *l;
  const float *from = (const float *)q.near;
  int64_t to = (hit_place *)q.far - h->first;
  at += h->n, v += h->n;
  h->n += q.n;
  for (int64_t j = 0; j < q.n; j++) at[j] = to + j * q.sf + q.index[j * q.sk] * q.apart;
  if (q.sn == 1) memcpy(v, from, (size_t)q.n * sizeof *v);
  else
    for (int64_t j = 0; j < q.n; j++) v[j] = from[j * q.sn];
}

/* How many lines go together: those of one point if points add to the same places, because each
 * point's sum is rounded, in order; else all. */
static int64_t lines_together(const tp_dreg *r) {
  const tp_view *k = &r->in[1].v, *o = &r->out[0].v;
  int64_t all = 1, own = 1;
  bool shared = false;
  for (int i = 0; i < k->rank - 1; i++) {
    all *= k->shape[i];
    if (i >= r->nlead) own *= k->shape[i];
    else shared |= k->shape[i] > 1 && o->stride[i] == 0;
  }
  return shared ? own : all;
}

/* Elements from the first of v on, if they lie without gaps; else very many. */
static int64_t dense_span(const tp_view *v) {
  int64_t span = 1, count = 1;
  for (int i = 0; i < v->rank; i++) {
    if (v->stride[i] == 0) continue;
    span += (v->shape[i] - 1) * TP_MAX(v->stride[i], 0);
    count *= v->shape[i];
  }
  return span == count ? span : INT64_MAX;
}

/* Lines along the indexed axis hit places of their own: each is taken by itself, and as it lies if
 * it is dense. */
static bool scatter_f32(tp_exec *x, tp_dreg *r, line *l) {
  const tp_view *k = &r->in[1].v;
  int axis = r->nlead + r->rg->how.axis, last = k->rank - 1;
  int64_t lines = axis == last ? 1 : lines_together(r), done = 0, count = tp_view_count(k),
          around = TP_MAX(r->out[0].v.shape[axis] * TP_MAX(l->apart, -l->apart), 1);
  int64_t *at = tp_work(x, r, count, 3 * TP_WORK_PAIR);
  double *sum = (double *)(at + count); /* or the image, up to v */
  float *was = (float *)(sum + count), *v = (float *)at + 11 * count;
  int64_t span = dense_span(&r->out[0].v);
  hits h = { 0, at, v, r->out[0].v.p, (hit_place *)was, (uint32_t *)(was + count),
    (uint32_t *)(was + 2 * count), sum };
  if (!at) return false;
  if (count > UINT32_MAX)
    return tp_rfail(
        x, r, TP_E_DEVICE, "%lld elements are more than can be added at once", (long long)count);
  for (; line_is_there(l); tp_walk_next(&l->w)) {
    if (axis == last && l->sk == 1 && l->sn == 1 && l->apart == 1) {
      hits alone = { l->n, l->index, (const float *)l->near, (hit_place *)l->far, h.was, h.root,
        h.again, sum };
      if (l->n > HITS_FEW && around <= IMAGE_PLACES * l->n)
        add_to_image(x, r, &alone, around, (double *)at);
      else add_hits(x, r, &alone, around);
      continue;
    }
    append_line(&h, at, v, l);
    if (++done % lines) continue;
    if (h.n > HITS_FEW && span <= IMAGE_SPAN * h.n) add_to_image(x, r, &h, span, sum);
    else add_hits(x, r, &h, around);
    h.n = 0;
  }
  return true;
}

bool tp_run_scatter_add(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0];
  int axis = r->nlead + r->rg->how.axis;
  line l;
  if (!tp_check_indices(x, r, &r->in[1].v, o->v.shape[axis])) return false;
  copy_base(x, r);
  if (o->dtype == TP_F32 && tp_view_count(&r->in[2].v) && has_row_index(r))
    return scatter_rows(x, r, r->in[1].v.shape[axis]);
  line_start(&l, &o->v, &r->in[2].v, &r->in[1].v, axis, o->size);
  if (o->dtype == TP_F32) return scatter_f32(x, r, &l);
  for (; line_is_there(&l); tp_walk_next(&l.w)) {
#define ADD_THERE(T) \
  for (int64_t j = 0; j < q.n; j++) THERE(T, j) = (T)(THERE(T, j) + HERE(const T, j))
    const line q = l;
    if (o->dtype == TP_F64) ADD_THERE(double);
    else BY_SIZE(l.size, ADD_THERE)
  }
  return true;
}
