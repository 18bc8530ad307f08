/* ew.c: binds and runs elementwise chains and reductions (see ew.h). */
#include "interp/ew.h"
#include "kernels/prelude/fold.h"

/* ---- the iteration space ---- */

static void strides_of(const tp_ew *e, const tp_view *v, int64_t *stride) {
  for (int i = 0; i < e->rank; i++) stride[i] = e->ext[i] == 1 ? 0 : v->stride[e->id[i]];
}

/* Finds the iteration space. A fold of nothing adds nothing. */
static void find_space(tp_dreg *r, tp_ew *e) {
  const tp_region *g = r->rg;
  e->rank = r->nlead;
  e->nothing = e->emptyfold = false;
  e->folds = g->sums && !g->acc;
  for (int i = 0; i < e->rank; i++) {
    int a = e->id[i] = e->order[i];
    int64_t n = e->ext[i] = r->out[0].v.shape[a];
    e->reduced[i] = (g->sums >> a & 1) && !(g->acc && tp_is_number(g->lead[a], 1));
    e->folds |= e->reduced[i];
    if (n == 0) *(e->reduced[i] && !g->acc ? &e->emptyfold : &e->nothing) = true;
  }
  for (int i = 0; i < e->ndst; i++) strides_of(e, &r->out[i].v, e->dst[i].stride);
  for (int i = 0; i < e->nsrc; i++)
    if (e->src[i].nd >= 0) strides_of(e, &r->in[e->src[i].nd].v, e->src[i].stride);
}

/* ---- numbers along leading variables ---- */

static bool value_moves(const tp_dreg *r, const tp_ewsrc *s, int lead) {
  return s->value.e && tp_ix_mentions(s->value.e, r->rg->leadvar[lead]);
}

static void value_strides(tp_dreg *r, tp_ewsrc *s, const tp_ew *e) {
  int64_t n = 1, by[TP_MAXRANK];
  for (int i = r->nlead - 1; i >= 0; i--) {
    by[i] = value_moves(r, s, i) ? n : 0;
    if (by[i]) n *= r->out[0].v.shape[i];
  }
  for (int i = 0; i < e->rank; i++) s->stride[i] = e->ext[i] == 1 ? 0 : by[e->id[i]];
}

/* Makes a dense array of the value at each point of the axes that it mentions. */
static bool value_array(tp_exec *x, tp_dreg *r, tp_ewsrc *s) {
  tp_view v = { .p = &s->cell, .rank = r->nlead };
  bool moves = false;
  for (int i = 0; i < r->nlead; i++) {
    bool along = value_moves(r, s, i);
    v.shape[i] = along ? r->out[0].v.shape[i] : 1;
    moves |= along;
  }
  if (!moves) {
    tp_puti(s->c, &s->cell, 0, tp_dx_get(&s->value, x->env));
    s->base = v.p;
    return true;
  }
  tp_view_strides(&v);
  if (!(v.p = tp_work(x, r, tp_view_count(&v), tp_dtype_size(s->c)))) return false;
  tp_put_numbers(x, r, &s->value, s->c, &v);
  s->base = v.p;
  return true;
}

/* ---- squeezing, choosing, merging ---- */

/* Strides of window k by axis; results come before sources. */
static const int64_t *window_strides(const tp_ew *e, int k) {
  return k < e->ndst ? e->dst[k].stride : e->src[k - e->ndst].stride;
}

static void move_axis(tp_ew *e, int to, int from) {
  e->ext[to] = e->ext[from];
  e->reduced[to] = e->reduced[from];
  e->id[to] = e->id[from];
  for (int i = 0; i < e->nsrc; i++) e->src[i].stride[to] = e->src[i].stride[from];
  for (int i = 0; i < e->ndst; i++) e->dst[i].stride[to] = e->dst[i].stride[from];
}

/* Drops axes of extent 1. A fold keeps its inner axis, or one that is part of it. */
static void squeeze(tp_ew *e) {
  int n = 0, last = e->rank - 1;
  for (int i = 0; i <= last; i++) {
    bool inner = e->folds && i == last && !(n && e->group[e->id[n - 1]] == e->group[e->id[last]]);
    if (e->ext[i] == 1 && !inner) continue;
    if (n != i) move_axis(e, n, i);
    n++;
  }
  e->rank = n;
}

/* Does axis a take smaller steps than b, in the results or, if equal, in the sources? */
static bool smaller_steps(const tp_ew *e, int a, int b) {
  for (int i = 0; i < e->ndst + e->nsrc; i++) {
    const int64_t *s = window_strides(e, i);
    int64_t x = s[a] < 0 ? -s[a] : s[a], y = s[b] < 0 ? -s[b] : s[b];
    if (x != y) return x < y;
  }
  return false;
}

/* Sorts axes from large steps to small ones, so that axes that lie one within the other merge. */
static void sort_axes(tp_ew *e) {
  for (int i = 1; i < e->rank; i++)
    for (int k = i; k > 0 && smaller_steps(e, k - 1, k); k--) {
      move_axis(e, e->rank, k);
      move_axis(e, k, k - 1);
      move_axis(e, k - 1, e->rank);
    }
}

/* Cache lines, in elements, that a walk along axis a goes through: each operand is gone through
 * once, a result is read and written. */
static double walk_cost(const tp_ew *e, int a) {
  double sum = 0, all = 1;
  for (int i = 0; i < e->rank; i++) all *= (double)e->ext[i];
  for (int k = 0; k < e->ndst + e->nsrc; k++) {
    const int64_t *s = window_strides(e, k);
    double size = k < e->ndst ? 2 : 1;
    for (int i = 0; i < e->rank; i++) size *= s[i] ? (double)e->ext[i] : 1;
    sum += size * (double)TP_MIN(s[a] < 0 ? -s[a] : s[a], TP_TUNE_WALK_LINE);
  }
  return sum + all * TP_TUNE_WALK_ROW / (double)e->ext[a];
}

/* Puts the axis that is cheapest to walk along last. */
static void choose_inner(tp_ew *e) {
  int best = e->rank - 1;
  double least = walk_cost(e, best);
  for (int i = e->rank - 2; i >= 0; i--) {
    double cost = walk_cost(e, i);
    if (cost < least) least = cost, best = i;
  }
  move_axis(e, e->rank, best);
  for (int i = best; i < e->rank; i++) move_axis(e, i, i + 1);
}

/* May the axes merge? Folded rows stay those of the plan. */
static bool mergeable(const tp_ew *e, int a, int b) {
  if (e->reduced[a] != e->reduced[b]) return false;
  if (e->reduced[a] && e->reduced[e->rank - 1] && e->group[e->id[a]] != e->group[e->id[b]])
    return false;
  for (int k = 0; k < e->ndst + e->nsrc; k++)
    if (window_strides(e, k)[a] != window_strides(e, k)[b] * e->ext[b]) return false;
  return true;
}

static void merge(tp_ew *e) {
  int n = 0, id[TP_MAXRANK]; /* n: the last axis that stays */
  memcpy(id, e->id, sizeof id);
  memcpy(e->extent, e->ext, sizeof e->ext);
  e->end[0] = e->rank ? 0 : -1;
  for (int i = 1; i < e->rank; i++) {
    if (mergeable(e, n, i)) {
      int64_t outer = e->ext[n];
      move_axis(e, n, i);
      e->ext[n] *= outer;
    } else move_axis(e, ++n, i);
    e->end[n] = i;
  }
  memcpy(e->id, id, sizeof id);
  e->rank = TP_MIN(e->rank, n + 1);
}

/* Finds the place along the leading axes of the element at `at` (by merged axis). */
static void lead_of(const tp_dreg *r, const tp_ew *e, const int64_t *at, int64_t *lead) {
  memset(lead, 0, sizeof *lead * TP_MAXRANK);
  for (int k = 0; k < e->rank; k++) {
    int64_t v = at[k];
    for (int i = e->end[k], first = k ? e->end[k - 1] + 1 : 0; i >= first; v /= e->extent[i--])
      if (e->id[i] < r->nlead) lead[e->id[i]] = v % e->extent[i];
  }
}

/* ---- tiles ---- */

static bool plain_fold(const tp_ew *e) {
  bool blockless = e->rank == 1 || e->reduced[e->rank - 1] || e->reduced[e->rank - 2];
  return blockless && e->folds && e->nstep == 0 && e->nsrc == 1 && e->ndst == 1 &&
      !tp_half(e->src[0].d) && e->src[0].stride[e->rank - 1] == 1;
}

/* Chooses the tile. A fold of contiguous memory needs no blocks: only accumulators are limited. */
static void choose_tile(tp_ew *e) {
  int in = e->rank - 1, up = e->rank - 2;
  bool plain = plain_fold(e);
  e->e0 = e->ext[in];
  e->red0 = e->reduced[in];
  e->e1 = up >= 0 ? e->ext[up] : 1;
  e->red1 = up >= 0 && e->reduced[up];
  e->n0 = plain && e->red0 ? e->e0 : TP_MIN(e->e0, TP_BLOCK);
  if (up < 0) e->n1 = 1;
  else if (plain) e->n1 = e->red1 ? e->e1 : TP_MIN(e->e1, TP_BLOCK);
  else e->n1 = e->n0 <= TP_BLOCK / 2 ? TP_MIN(e->e1, TP_BLOCK / TP_MAX(e->n0, 1)) : 1;
}

static void add_loop(tp_ew *e, int axis, int64_t step) {
  if (e->ext[axis] <= step) return;
  tp_ewloop l = { axis, e->ext[axis], step };
  if (e->reduced[axis]) e->red_loop[e->nred++] = l;
  else e->keep[e->nkeep++] = l;
}

static void choose_loops(tp_ew *e) {
  e->nkeep = e->nred = 0;
  for (int i = 0; i < e->rank; i++)
    add_loop(e, i, i == e->rank - 1 ? e->n0 : i == e->rank - 2 ? e->n1 : 1);
}

static bool moved(const tp_ew *e, const int64_t *stride) {
  for (int i = 0; i < e->nkeep; i++)
    if (stride[e->keep[i].axis]) return true;
  for (int i = 0; i < e->nred; i++)
    if (stride[e->red_loop[i].axis]) return true;
  return false;
}

static void tile_sources(tp_exec *x, tp_ew *e) {
  bool plain = plain_fold(e);
  for (int i = 0; i < e->nsrc; i++) {
    tp_ewsrc *s = &e->src[i];
    s->step = s->stride[e->rank - 1];
    s->row = e->n1 > 1 ? s->stride[e->rank - 2] : 0;
    s->direct = plain ||
        (!tp_half(s->d) &&
            (e->n0 * e->n1 == 1 || (s->step == 1 && (e->n1 == 1 || s->row == e->n0))));
    s->fixed = !moved(e, s->stride);
    s->tmp = tp_cpu(x)->scratch + s->tmpoff;
    if (s->nd < 0 && !s->is_value) s->base = (char *)&s->cell;
  }
}

static void tile_results(tp_exec *x, tp_ew *e) {
  for (int i = 0; i < e->ndst; i++) {
    tp_ewdst *t = &e->dst[i];
    t->step = t->stride[e->rank - 1];
    t->row = e->n1 > 1 ? t->stride[e->rank - 2] : 0;
    bool dense = e->n0 * e->n1 == 1 || (t->step == 1 && (e->n1 == 1 || t->row == e->n0));
    t->direct = dense && (i || (!e->folds && !e->acc)) && !tp_half(t->d) && !t->mayalias &&
        t->slot >= e->nsrc;
    for (int k = 0; k < i; k++) t->direct &= !(e->dst[k].direct && e->dst[k].slot == t->slot);
    t->tmp = tp_cpu(x)->scratch + t->tmpoff;
  }
}

bool tp_ew_bind(tp_exec *x, tp_dreg *r) {
  tp_ew *e = r->k;
  find_space(r, e);
  for (int i = 0; i < e->nsrc; i++)
    if (e->src[i].is_value) {
      tp_dx_bind(&e->src[i].value, x->env);
      value_strides(r, &e->src[i], e);
    }
  if (e->nothing) return true;
  squeeze(e);
  if (e->rank > 1 && e->rank < TP_MAXRANK && !e->folds) sort_axes(e), choose_inner(e);
  merge(e);
  if (e->rank == 0) {
    e->ext[0] = 1;
    e->reduced[0] = false;
    e->rank = 1;
    for (int i = 0; i < e->nsrc; i++) e->src[i].stride[0] = 0;
    for (int i = 0; i < e->ndst; i++) e->dst[i].stride[0] = 0;
  }
  choose_tile(e);
  choose_loops(e);
  tile_sources(x, e);
  tile_results(x, e);
  for (int i = e->nsrc; i < e->nslot; i++) e->p[i] = tp_cpu(x)->scratch + e->slottmp[i];
  return true;
}

/* ---- running ---- */

static int64_t offset(const tp_ew *e, const int64_t *stride, const int64_t *at) {
  int64_t o = 0;
  for (int i = 0; i < e->rank; i++) o += stride[i] * at[i];
  return o;
}

static inline int64_t cut(int64_t want, int64_t extent, int64_t at) {
  return want < extent - at ? want : extent - at;
}

static bool advance(const tp_ewloop *l, int n, int64_t *at) {
  for (int i = n - 1; i >= 0; i--) {
    at[l[i].axis] += l[i].step;
    if (at[l[i].axis] < l[i].n) return true;
    at[l[i].axis] = 0;
  }
  return false;
}

/* rc: of the tile of rows of n elements at `at`. */
static bool bad_data(tp_exec *x, tp_dreg *r, const tp_ew *e, int64_t *at, int64_t n, int rc) {
  int64_t lead[TP_MAXRANK];
  at[e->rank - 1] += rc / 4 % n;
  if (e->rank > 1) at[e->rank - 2] += rc / 4 / n;
  lead_of(r, e, at, lead);
  return tp_rfault(x, r, lead, rc % 4);
}

/* Writes the result v (dense, rows x n) to its place. */
static void deliver(tp_ewdst *t, bool acc, char *place, const void *v, int64_t row, int64_t step,
    int64_t rows, int64_t n) {
  if (acc && !tp_half(t->d) && (rows * n == 1 || (step == 1 && (rows == 1 || row == n)))) {
    t->combine(place, place, v, v, rows * n);
    return;
  }
  if (acc) {
    t->load(t->tmp, place, row, step, rows, n);
    t->combine(t->tmp, t->tmp, v, v, rows * n);
    v = t->tmp;
  }
  t->store(place, row, step, v, rows, n);
}

static void point_sources(tp_ew *e, const int64_t *at, int64_t rows, int64_t n) {
  for (int i = 0; i < e->nsrc; i++) {
    tp_ewsrc *s = &e->src[i];
    if (s->fixed) continue;
    char *q = s->base + offset(e, s->stride, at) * tp_dtype_size(s->d);
    if (s->direct) e->p[i] = q;
    else s->load(s->tmp, q, s->row, s->step, rows, n);
  }
}

static void point_fixed(tp_ew *e) {
  for (int i = 0; i < e->nsrc; i++) {
    tp_ewsrc *s = &e->src[i];
    e->p[i] = s->direct ? s->base : s->tmp;
    if (s->fixed && !s->direct) s->load(s->tmp, s->base, s->row, s->step, e->n1, e->n0);
  }
}

static inline int chain(const tp_ew *e, int64_t n) {
  int rc = TP_K_OK;
  for (const tp_ewstep *s = e->step, *end = s + e->nstep; s < end && rc == TP_K_OK; s++)
    rc = s->fn(e->p[s->o], e->p[s->in[0]], e->p[s->in[1]], e->p[s->in[2]], n);
  return rc;
}

/* Runs the chain over a tile, and stores results from `first` on. */
static int map_tile(tp_ew *e, int first, const int64_t *at, int64_t rows, int64_t n) {
  for (int i = first; i < e->ndst; i++)
    if (e->dst[i].direct)
      e->p[e->dst[i].slot] =
          e->dst[i].base + offset(e, e->dst[i].stride, at) * tp_dtype_size(e->dst[i].d);
  int rc = chain(e, rows * n);
  for (int i = first; i < e->ndst && rc == TP_K_OK; i++) {
    tp_ewdst *t = &e->dst[i];
    if (!t->direct)
      deliver(t, e->acc && i == 0, t->base + offset(e, t->stride, at) * tp_dtype_size(t->d),
          e->p[t->slot], t->row, t->step, rows, n);
  }
  return rc;
}

static bool run_map(tp_exec *x, tp_dreg *r, tp_ew *e) {
  int64_t at[TP_MAXRANK] = { 0 };
  do {
    int64_t n = cut(e->n0, e->e0, at[e->rank - 1]),
            rows = e->n1 == 1 ? 1 : cut(e->n1, e->e1, at[e->rank - 2]);
    point_sources(e, at, rows, n);
    int rc = map_tile(e, 0, at, rows, n);
    if (rc != TP_K_OK) return bad_data(x, r, e, at, n, rc);
  } while (e->nkeep && advance(e->keep, e->nkeep, at));
  return true;
}

/* ---- folding ---- */

static void set_identity(tp_dtype d, tp_red red, char *p, int64_t n) {
  if (red == TP_RED_SUM) memset(p, 0, (size_t)(n * tp_dtype_size(d)));
  else
    for (int64_t i = 0; i < n; i++) tp_put(d, p, i, tp_red_identity(red, d));
}

static void fold_tile(
    const tp_ew *e, char *acc, const char *v, int64_t vrow, int64_t rows, int64_t n, int size) {
  bool keep1 = e->n1 > 1 && !e->red1;
  if (!e->red0) {
    if (keep1) e->down(acc, v, 0, 1, rows * n);
    else e->down(acc, v, vrow, rows, n);
  } else if (keep1) e->across(acc, v, vrow, rows, n);
  else if (n < TP_FOLD_LANES && vrow == n) e->down(acc, v, 1, rows * n, 1);
  else
    for (int64_t i = 0; i < rows; i++) e->across(acc, v + i * vrow * size, 0, 1, n);
}

/* Folds everything into one block of kept elements. */
static bool fold_block(tp_exec *x, tp_dreg *r, tp_ew *e, int64_t *at, char *acc) {
  const tp_ewdst *t = &e->dst[0];
  bool plain = plain_fold(e);
  do {
    int64_t n = cut(e->n0, e->e0, at[e->rank - 1]),
            rows = e->n1 == 1 ? 1 : cut(e->n1, e->e1, at[e->rank - 2]);
    point_sources(e, at, rows, n);
    int rc = map_tile(e, 1, at, rows, n);
    if (rc != TP_K_OK) return bad_data(x, r, e, at, n, rc);
    fold_tile(e, acc, e->p[t->slot], plain ? e->src[0].row : n, rows, n, tp_dtype_size(e->folded));
  } while (e->nred && advance(e->red_loop, e->nred, at));
  return true;
}

static void fold_deliver(tp_exec *x, tp_ew *e, const int64_t *at, int64_t keep1, int64_t keep0) {
  tp_ewdst *t = &e->dst[0];
  char *acc = tp_cpu(x)->scratch + e->accoff, *v = acc,
       *place = t->base + offset(e, t->stride, at) * tp_dtype_size(t->d);
  if (e->narrow) {
    v = tp_cpu(x)->scratch + e->outoff;
    e->narrow(v, acc, acc, acc, keep1 * keep0);
  }
  if (e->red0) deliver(t, e->acc, place, v, 0, t->row, 1, keep1);
  else deliver(t, e->acc, place, v, t->row, t->step, keep1, keep0);
}

static bool run_fold(tp_exec *x, tp_dreg *r, tp_ew *e) {
  int64_t at[TP_MAXRANK] = { 0 };
  char *acc = tp_cpu(x)->scratch + e->accoff;
  do {
    int64_t keep0 = e->red0 ? 1 : cut(e->n0, e->e0, at[e->rank - 1]);
    int64_t keep1 = e->red1 || e->n1 == 1 ? 1 : cut(e->n1, e->e1, at[e->rank - 2]);
    set_identity(e->acct, e->red, acc, keep0 * keep1);
    if (!e->emptyfold && !fold_block(x, r, e, at, acc)) return false;
    fold_deliver(x, e, at, keep1, keep0);
  } while (e->nkeep && advance(e->keep, e->nkeep, at));
  return true;
}

static bool nothing_to_fold(tp_exec *x, tp_dreg *r, const tp_ew *e) {
  tp_dtype d = e->dst[0].d;
  if (tp_dtype_float(d) || d == TP_BOOL || e->red == TP_RED_SUM || e->red == TP_RED_PROD)
    return true;
  return tp_rfault(x, r, (int64_t[TP_MAXRANK]){ 0 }, 3);
}

bool tp_ew_run(tp_exec *x, tp_dreg *r) {
  tp_ew *e = r->k;
  if (e->nothing) return true;
  if (e->emptyfold && !nothing_to_fold(x, r, e)) return false;
  for (int i = 0; i < e->nsrc; i++) {
    tp_ewsrc *s = &e->src[i];
    if (s->nd >= 0) s->base = r->in[s->nd].v.p;
    else if (s->is_value && !value_array(x, r, s)) return false;
  }
  for (int i = 0; i < e->ndst; i++) e->dst[i].base = r->out[i].v.p;
  if (e->emptyfold) return run_fold(x, r, e);
  point_fixed(e);
  return e->folds ? run_fold(x, r, e) : run_map(x, r, e);
}

/* Along the last axis an expression that is linear there grows by equal steps. */
void tp_put_numbers(tp_exec *x, const tp_dreg *r, const tp_dx *e, tp_dtype d, const tp_view *v) {
  int walked = r->nlead - (r->nlead && !e->generic);
  int64_t n = walked < r->nlead ? v->shape[walked] : 1, by = 0, stride = 0;
  for (int i = 0; i < e->n && walked < r->nlead; i++)
    if (e->t[i].sym == r->rg->leadvar[walked]->id) by = e->t[i].coef;
  if (walked < r->nlead) stride = v->stride[walked];
  tp_walk w;
  for (tp_walk_start(&w, walked, v->shape); w.ok; tp_walk_next(&w)) {
    for (int k = 0; k < r->nlead; k++)
      x->env[r->rg->leadvar[k]->id] = tp_dx_get(&r->leadlo[k], x->env) + (k < walked ? w.at[k] : 0);
    int64_t at = tp_walk_offset(&w, v->stride), value = tp_dx_get(e, x->env);
    for (int64_t j = 0; j < n; j++, at += stride) {
      int64_t now = (int64_t)((uint64_t)value + (uint64_t)by * (uint64_t)j);
      if (d == TP_I64) ((int64_t *)v->p)[at] = now;
      else tp_puti(d, v->p, at, now);
    }
  }
}
