/* random.c: draws random numbers (RAND). Each point of the leading axes has a stream of its own, by
 * its coordinates and then by its key, if there is one; small streams are drawn TP_LANES points at
 * a time. */
#include "cpu/priv.h"

/* elements at a time of a long stream; words of a short one */
enum { DRAW = 512, SHORT = TP_WORK_DRAWN, MAXCOORD = 32 };

static uint64_t pair(const uint32_t *w, int64_t i) {
  return (uint64_t)w[2 * i + 1] << 32 | w[2 * i];
}

/* n elements of dtype d from their words, in order; n <= DRAW. */
static void numbers(
    const tp_exec *x, const tp_how *a, tp_dtype d, void *out, const uint32_t *w, int64_t n) {
  float u[DRAW];
  double g[DRAW];
  if (tp_words_per_draw(a, d) == 1)
    tp_cpu(x)->K->uniform(d == TP_F32 && a->rand == TP_RAND_UNIFORM ? out : u, w, n);
  if (a->rand == TP_RAND_NORMAL) tp_cpu(x)->K->normal(d == TP_F64 ? out : g, w, n);
  switch (a->rand) {
  case TP_RAND_UNIFORM:
    if (d == TP_F32) return;
    for (int64_t i = 0; i < n; i++)
      tp_put(
          d, out, i, d == TP_F64 ? (double)(pair(w, i) >> 11) * 0x1p-53 : tp_uniform_cut(d, u[i]));
    return;
  case TP_RAND_NORMAL:
    if (d == TP_F32)
      for (int64_t i = 0; i < n; i++) ((float *)out)[i] = (float)g[i];
    else if (d != TP_F64)
      for (int64_t i = 0; i < n; i++) tp_put(d, out, i, g[i]);
    return;
  case TP_RAND_BERNOULLI:
    for (int64_t i = 0; i < n; i++) tp_puti(d, out, i, u[i] < a->f[0]);
    return;
  case TP_RAND_RANDINT: {
    uint64_t width = (uint64_t)a->limits[1] - (uint64_t)a->limits[0];
    for (int64_t i = 0; i < n; i++)
      tp_puti(d, out, i, (int64_t)((uint64_t)a->limits[0] + pair(w, i) % width));
    return;
  }
  }
}

/* ---- points ---- */

/* A coordinate that no leading variable moves is the same for all points; so are those before
 * it. */
static int shared_coords(const tp_dreg *r) {
  for (int i = 0; i < r->rg->ncoord; i++)
    for (int k = 0; k < r->nlead; k++)
      if (tp_ix_mentions(r->rg->coord[i], r->rg->leadvar[k])) return i;
  return r->rg->ncoord;
}

static tp_philox_key shared_key(const tp_exec *x, const tp_dreg *r, int n) {
  tp_philox_key k = tp_philox_op(x->run->seed, r->rg->how.hash);
  for (int i = 0; i < n; i++) k = tp_philox_coord(k, i + 1, tp_dx_get(&r->coord[i], x->env));
  return k;
}

/* The points of one run: the key after the coordinates that they share, the first point, and by
 * further coordinate the leading variable that it is; -1: it is computed at each point. */
typedef struct points {
  tp_philox_key key;
  int nshared;
  int64_t lo[TP_MAXRANK];
  int is[MAXCOORD];
  bool other;
} points;

static void see_points(tp_exec *x, tp_dreg *r, points *p) {
  p->nshared = shared_coords(r);
  p->key = shared_key(x, r, p->nshared);
  p->other = false;
  for (int k = 0; k < r->nlead; k++) p->lo[k] = tp_dx_get(&r->leadlo[k], x->env);
  for (int i = p->nshared; i < r->rg->ncoord; i++) {
    p->is[i] = -1;
    for (int k = 0; k < r->nlead; k++)
      if (tp_ix_as_sym(r->rg->coord[i]) == r->rg->leadvar[k]) p->is[i] = k;
    p->other |= p->is[i] < 0 && r->coord[i].var;
  }
}

/* Philox's keys of up to TP_LANES points from the walk on, and where their elements go. */
typedef struct lanes {
  int n;
  uint32_t key[2][TP_LANES];
  int64_t at[TP_LANES];
} lanes;

static void next_lanes(tp_exec *x, tp_dreg *r, tp_walk *w, const points *p, lanes *l) {
  int64_t coord[MAXCOORD + 1][TP_LANES];
  int n = r->rg->ncoord;
  const tp_view *key = r->rg->nin ? &r->in[0].v : NULL;
  for (l->n = 0; l->n < TP_LANES && w->ok; l->n++, tp_walk_next(w)) {
    for (int k = 0; k < r->nlead && p->other; k++)
      x->env[r->rg->leadvar[k]->id] = p->lo[k] + w->at[k];
    l->at[l->n] = tp_walk_offset(w, r->out[0].v.stride);
    for (int i = p->nshared; i < n; i++)
      coord[i][l->n] =
          p->is[i] >= 0 ? p->lo[p->is[i]] + w->at[p->is[i]] : tp_dx_get(&r->coord[i], x->env);
    if (key) coord[n][l->n] = ((const int64_t *)key->p)[tp_walk_offset(w, key->stride)];
  }
  for (int j = 0; j < TP_LANES; j++) l->key[0][j] = p->key.k[0], l->key[1][j] = p->key.k[1];
  for (int i = p->nshared; i < n + !!key; i++) {
    tp_philox_lanes c;
    for (int j = 0; j < TP_LANES; j++) {
      int64_t v = j < l->n ? coord[i][j] : 0;
      c.w[0][j] = (uint32_t)v, c.w[1][j] = (uint32_t)((uint64_t)v >> 32);
      c.w[2][j] = (uint32_t)i + 1, c.w[3][j] = 0x74656d70;
    }
    tp_cpu(x)->K->philox_lanes(&c, (const uint32_t(*)[TP_LANES])l->key);
    memcpy(l->key, c.w, sizeof l->key);
  }
}

/* ---- drawing ---- */

/* each: the elements of one point */
typedef struct draw {
  const tp_how *a;
  tp_view each;
  int64_t n;
  int per;
  bool dense;
  char *mid;
} draw;

static void put_point(const tp_exec *x, const tp_dnd *o, const draw *d, int64_t at, char *from) {
  tp_view b = d->each, t = tp_view_dense_as(&d->each, from);
  b.p = (char *)o->v.p + at * o->size;
  tp_view_copy(x, o->size, &b, &t);
}

static void draw_short(const tp_exec *x, const tp_dnd *o, const draw *d, const lanes *l) {
  uint32_t w[TP_LANES * SHORT];
  int64_t words = d->n * d->per;
  for (int64_t b = 0; b < words; b += 4) {
    tp_philox_lanes c = { { { 0 } } };
    for (int j = 0; j < TP_LANES; j++) c.w[0][j] = (uint32_t)(b / 4);
    tp_cpu(x)->K->philox_lanes(&c, l->key);
    for (int j = 0; j < l->n; j++)
      for (int64_t q = b; q < TP_MIN(b + 4, words); q++) w[j * words + q] = c.w[q - b][j];
  }
  bool row = d->dense; /* points lie side by side */
  for (int j = 1; j < l->n; j++) row &= l->at[j] == l->at[0] + j * d->n;
  char *to = row ? (char *)o->v.p + l->at[0] * o->size : d->mid;
  for (int64_t i = 0, all = l->n * d->n; i < all; i += DRAW)
    numbers(x, d->a, o->dtype, to + i * o->size, w + i * d->per, TP_MIN(all - i, DRAW));
  for (int j = 0; j < l->n && !row; j++) put_point(x, o, d, l->at[j], d->mid + j * d->n * o->size);
}

static void draw_long(const tp_exec *x, const tp_dnd *o, const draw *d, const lanes *l) {
  uint32_t w[2 * DRAW + 4];
  for (int j = 0; j < l->n; j++) {
    tp_philox_key key = { { l->key[0][j], l->key[1][j] } };
    char *to = d->dense ? (char *)o->v.p + l->at[j] * o->size : d->mid;
    for (int64_t i = 0; i < d->n; i += DRAW) {
      int64_t n = TP_MIN(d->n - i, DRAW);
      tp_cpu(x)->K->philox(key, (uint64_t)(i * d->per / 4), (n * d->per + 3) / 4, w);
      numbers(x, d->a, o->dtype, to + i * o->size, w, n);
    }
    if (!d->dense) put_point(x, o, d, l->at[j], d->mid);
  }
}

bool tp_run_rand(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0];
  draw d = { .a = &r->rg->how, .each = tp_view_spatial(&o->v, r->nlead) };
  d.n = tp_view_count(&d.each);
  d.per = tp_words_per_draw(d.a, o->dtype);
  d.dense = tp_view_dense(&d.each);
  if (tp_view_count(&o->v) == 0) return true;
  if (d.a->rand == TP_RAND_RANDINT && d.a->limits[0] >= d.a->limits[1])
    return tp_rfail_at(x, r, (int64_t[TP_MAXRANK]){ 0 }, NULL, TP_E_INPUT,
        "no integer in %lld .. %lld", (long long)d.a->limits[0], (long long)d.a->limits[1]);
  if (r->rg->ncoord > MAXCOORD)
    return tp_rfail(x, r, TP_E_DEVICE, "random numbers over more than %d dims", MAXCOORD);
  bool small = d.n * d.per <= SHORT;
  d.mid = tp_work(x, r, small ? TP_LANES * d.n : d.n, o->size);
  if (!d.mid) return false;
  points p;
  see_points(x, r, &p);
  tp_walk w;
  lanes l;
  tp_walk_start(&w, r->nlead, o->v.shape);
  while (w.ok) {
    next_lanes(x, r, &w, &p, &l);
    (small && l.n > 2 ? draw_short : draw_long)(x, o, &d, &l);
  }
  return true;
}
