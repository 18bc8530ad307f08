/* life: positions of regions and lifetimes of buffers.
 *
 * Let a buffer's accesses lie inside k common loops, and let its values cross no iteration of the
 * outermost m of them (tp_arr.cross; m <= k; a tile's buffers: tile.c). Then loop m is its scope:
 * within one iteration nothing from before it is alive, so the lifetime is the hull of the accesses
 * there, each stretched over the whole of the loops between loop m and itself. Scratch never
 * crosses anything. */
#include "plan/priv.h"

typedef struct {
  tp_plan *p;
  int n;
  tp_pnode **leaf;
} leaves;

static void number(tp_plan *p, tp_pnode *x, tp_pnode *up) {
  x->up = up;
  x->pos = p->npos;
  if (x->kind == TP_P_REGION || x->kind == TP_P_LOAD) p->npos++;
  for (int i = 0; i < x->n; i++) number(p, x->kid[i], x);
  x->lastpos = p->npos - 1;
}

/* Rows may be points of dims that end themselves, and ends of ends have no circles. */
void tp_plan_given(const tp_plan *p, int64_t *env) {
  for (int round = 0; round < p->ends.n; round++)
    for (int i = 0; i < p->ends.n; i++)
      if (p->ends.v[i].row && env[p->ends.v[i].row->id] == 0) env[p->ends.v[i].bound->id] = 0;
}

void tp_plan_number(tp_plan *p) {
  p->npos = 0;
  p->nsym = tp_nsym(p->ix);
  number(p, p->body, NULL);
}

static int loops(const tp_pnode *x, const tp_pnode **path, int max) {
  int n = 0;
  for (const tp_pnode *q = x->up; q; q = q->up)
    if (q->kind == TP_P_FOR && n < max) path[n++] = q;
  for (int i = 0; i < n / 2; i++) {
    const tp_pnode *t = path[i];
    path[i] = path[n - 1 - i];
    path[n - 1 - i] = t;
  }
  return n;
}

enum { LOOPS = TP_INSIDE_ALL };
typedef struct {
  int n, common;
  const tp_pnode *path[LOOPS];
} common_loops;

static void join(common_loops *s, const tp_pnode *leaf) {
  const tp_pnode *path[LOOPS];
  int n = loops(leaf, path, LOOPS);
  if (s->n++ == 0) {
    s->common = n;
    memcpy(s->path, path, sizeof path);
    return;
  }
  int k = 0;
  while (k < s->common && k < n && s->path[k] == path[k]) k++;
  s->common = k;
}

static void stretch(tp_pbuf *x, const tp_pnode *leaf, int m) {
  const tp_pnode *path[LOOPS];
  int n = loops(leaf, path, LOOPS);
  if (x->kind != TP_BUF_TEMP) return;
  const tp_pnode *q = m < n ? path[m] : leaf;
  int lo = q->pos, hi = q->lastpos;
  x->first = x->first < 0 ? lo : TP_MIN(x->first, lo);
  x->last = TP_MAX(x->last, hi);
}

static void each(tp_pnode *x, void (*fn)(void *, tp_pnode *, const tp_nd *), void *ud) {
  if (x->kind == TP_P_REGION) {
    for (int i = 0; i < x->rg->nin; i++) fn(ud, x, &x->rg->in[i]);
    for (int i = 0; i < x->rg->nout; i++) fn(ud, x, &x->rg->out[i]);
    for (int i = 0; i < x->rg->nrows; i++) fn(ud, x, &x->rg->rows[i].nd);
  }
  if (x->kind == TP_P_LOAD) fn(ud, x, &x->nd);
  for (int i = 0; i < x->nrows; i++) fn(ud, x, &x->rows[i].nd);
  for (int i = 0; i < x->n; i++) each(x->kid[i], fn, ud);
}

typedef struct {
  tp_plan *p;
  common_loops *s;
} ctx;
static void visit_join(void *ud, tp_pnode *leaf, const tp_nd *n) {
  join(&((ctx *)ud)->s[n->buf], leaf);
}
static void visit_stretch(void *ud, tp_pnode *leaf, const tp_nd *n) {
  ctx *c = ud;
  stretch(c->p->bufs.v[n->buf], leaf, c->s[n->buf].common);
}

/* Of the common loops those stay that its values never leave. */
static void find_scope(tp_pbuf *x, common_loops *s, int inside) {
  int m = TP_MIN(inside, s->common);
  for (int k = m; x->scope && k < s->common; k++)
    if (s->path[k]->var == x->scope) m = k + 1;
  s->common = m;
  x->scope = m && x->kind == TP_BUF_TEMP ? s->path[m - 1]->var : NULL;
}

/* ---- what runs behind (behind.c) ---- */

typedef struct {
  bool *far, *near;
} sides;

/* An end, or a condition, is looked at by both. */
static void visit_side(void *ud, tp_pnode *leaf, const tp_nd *n) {
  sides *s = ud;
  bool behind = tp_is_behind(leaf);
  if (!leaf->rg || behind) s->far[n->buf] = true;
  if (!leaf->rg || !behind) s->near[n->buf] = true;
}

/* Of the outermost nodes with something that runs behind. */
static void span_of_ticks(const tp_pnode *x, int *first, int *last) {
  for (int i = 0; i < x->n && x->kind == TP_P_SEQ; i++) span_of_ticks(x->kid[i], first, last);
  if (x->kind == TP_P_SEQ || !tp_has_behind(x)) return;
  *first = TP_MIN(*first, x->pos);
  *last = TP_MAX(*last, x->lastpos);
}

/* What runs behind and the rest go through the loop of ticks at different times: what both touch
 * lives all through it, what only the former touches has places of its own (color.c). */
static void keep_apart(tp_plan *p) {
  sides s = { TP_NEWN(p->a, bool, p->bufs.n), TP_NEWN(p->a, bool, p->bufs.n) };
  int first = p->npos, last = -1;
  each(p->body, visit_side, &s);
  span_of_ticks(p->body, &first, &last);
  for (int i = 0; i < p->bufs.n; i++) {
    tp_pbuf *x = p->bufs.v[i];
    x->far = s.far[i] && !s.near[i];
    if (!s.far[i] || !s.near[i] || x->kind != TP_BUF_TEMP) continue;
    x->first = TP_MIN(x->first, first);
    x->last = TP_MAX(x->last, last);
  }
}

/* ---- the newest values of parameters ---- */

/* The position at which the last write of an output is over. */
static void last_write(const tp_pnode *x, const tp_plan *p, int output, int end, int *last) {
  if (x->kind == TP_P_FOR && end < 0) end = x->lastpos;
  for (int o = 0; x->kind == TP_P_REGION && o < x->rg->nout; o++) {
    const tp_pbuf *b = x->rg->out[o].buf >= 0 ? p->bufs.v[x->rg->out[o].buf] : NULL;
    if (b && b->kind == TP_BUF_OUTPUT && b->slot == output)
      *last = TP_MAX(*last, TP_MAX(end, x->pos));
  }
  for (int i = 0; i < x->n; i++) last_write(x->kid[i], p, output, end, last);
}

/* They stay where they lie until the last one is there. One of which passes have left a part, or
 * nothing, holds none. */
static void keep_newest(tp_plan *p) {
  for (int i = 0; i < p->bufs.n; i++) {
    tp_pbuf *b = p->bufs.v[i];
    if (b->scope || b->first < 0) b->holds = -1;
    if (b->holds >= 0) last_write(p->body, p, b->holds, -1, &b->last);
  }
}

void tp_plan_lifetimes(tp_plan *p, const int *inside) {
  tp_plan_number(p);
  ctx c = { p, TP_NEWN(p->a, common_loops, p->bufs.n) };
  each(p->body, visit_join, &c);
  for (int i = 0; i < p->bufs.n; i++)
    find_scope(p->bufs.v[i], &c.s[i], p->bufs.v[i]->holds < 0 ? inside[i] : 0);
  each(p->body, visit_stretch, &c);
  keep_newest(p);
  if (tp_has_behind(p->body)) keep_apart(p);
}
