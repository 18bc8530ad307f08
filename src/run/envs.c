/* envs.c: runs environments. The last axis of an operand (none of a scalar) belongs to one
 * environment, the others number environments. */
#include "run/priv.h"
#include "base/env.h"

/* An operand of one environment: in place if contiguous, else through `room`. */
typedef struct lane {
  tp_dnd *d;
  tp_view rows;
  int64_t n, step;
  double *room;
} lane;

static bool make_lane(tp_exec *x, tp_dreg *r, const tp_env *e, lane *l, tp_dnd *d, bool scalar) {
  *l = (lane){ d, d->v, 1, 1, tp_work(x, r, tp_env_lane(e), sizeof(double)) };
  if (scalar || d->v.rank == 0) return l->room != NULL;
  int last = --l->rows.rank;
  l->n = d->v.shape[last];
  l->step = d->v.stride[last];
  return l->room != NULL;
}

static char *lane_at(const lane *l, const tp_walk *w) {
  return l->d->buf < 0 ? NULL : (char *)l->rows.p + tp_walk_offset(w, l->rows.stride) * l->d->size;
}

static bool dense(const lane *l) { return l->step == 1 || l->n == 1; }

static void move_lane(int size, char *o, int64_t so, const char *a, int64_t sa, int64_t n) {
  for (int64_t i = 0; i < n; i++, o += so * size, a += sa * size)
    if (size == 8) memcpy(o, a, 8);
    else memcpy(o, a, (size_t)size);
}

/* The key of what is drawn at the walk's point (docs/random.md). */
static tp_philox_key drawn_by(tp_exec *x, const tp_dreg *r, const tp_walk *w) {
  tp_philox_key k = tp_philox_op(x->run->seed, r->rg->how.hash);
  for (int i = 0; i < r->nlead; i++)
    x->env[r->rg->leadvar[i]->id] = tp_dx_get(&r->leadlo[i], x->env) + w->at[i];
  for (int i = 0; i < r->rg->ncoord; i++)
    k = tp_philox_coord(k, i + 1, tp_dx_get(&r->coord[i], x->env));
  return k;
}

/* Runs each environment. If a state lies where the next one is written, it gets a copy. */
static bool run_lanes(
    tp_exec *x, tp_dreg *r, const tp_env *e, const lane *l, double *room, const tp_walk *w) {
  const void *v[3] = { NULL };
  void *o[5];
  for (int i = 0; i < r->nin; i++) {
    const char *p = lane_at(&l[i], w);
    v[i] = dense(&l[i]) ? (const void *)p : l[i].room;
    if (!dense(&l[i])) move_lane(l[i].d->size, (char *)l[i].room, 1, p, l[i].step, l[i].n);
  }
  for (int i = 0; i < r->nout; i++) {
    const lane *to = &l[r->nin + i];
    o[i] = to->d->buf >= 0 && dense(to) ? lane_at(to, w) : (void *)to->room;
  }
  if (r->rg->op == TP_OP_ENV_RESET) tp_env_reset(e, v[0], o[0]);
  else if (r->rg->op == TP_OP_ENV_OBS) e->observe(e->data, v[0], o[0]);
  else {
    int64_t action = e->nactions ? *(const int64_t *)v[1] : -1;
    if (e->nactions && (action < 0 || action >= e->nactions))
      return tp_rfail_at(x, r, w->at, NULL, TP_E_INPUT, "action %lld of %s is outside 0 .. %d",
          (long long)action, e->name, e->nactions - 1);
    if (v[0] == o[0]) v[0] = memcpy(l[0].room, v[0], sizeof(double) * (size_t)tp_env_width(e));
    tp_noise u = { .given = v[2], .room = room };
    if (!u.given) u.key = drawn_by(x, r, w);
    bool seen = l[r->nin + 1].d->buf >= 0;
    tp_env_step(e, v[0], v[1], &u, &(tp_env_results){ o[0], seen ? o[1] : NULL, o[2], o[3], o[4] });
  }
  for (const lane *to = l + r->nin; to < l + r->nnd; to++)
    if (to->d->buf >= 0 && !dense(to))
      move_lane(to->d->size, lane_at(to, w), to->step, (const char *)to->room, 1, to->n);
  return true;
}

bool tp_run_env(tp_exec *x, tp_dreg *r) {
  const tp_env *e = tp_env_find(r->rg->how.str);
  lane l[8];
  if (!e) return tp_rfail(x, r, TP_E_OPTION, "no environment '%s'", r->rg->how.str);
  bool step = r->rg->op == TP_OP_ENV_STEP;
  for (int i = 0; i < r->nnd; i++)
    if (!make_lane(
            x, r, e, &l[i], &r->in[i], step && (i >= r->nin + 2 || (i == 1 && e->nactions > 0))))
      return false;
  /* rows of the first result: state or observation */
  const tp_view *rows = &l[r->nin].rows;
  double *room = tp_work(x, r, tp_env_lane(e), sizeof(double));
  bool ok = room != NULL;
  tp_walk w;
  for (tp_walk_start(&w, rows->rank, rows->shape); ok && w.ok; tp_walk_next(&w))
    ok = run_lanes(x, r, e, l, room, &w);
  return ok;
}
