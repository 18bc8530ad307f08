/* life: finds the lifetimes of buffers.
 *
 * Let a buffer's accesses lie inside k common loops, and let its values cross no iteration of the
 * outermost m of them (tp_arr.cross; m <= k; a tile's buffers: tile.c). Then loop m is its scope:
 * within one iteration nothing from before it is alive, so the lifetime is the hull of the accesses
 * there, each stretched over the whole of the loops between loop m and itself. Scratch never
 * crosses anything. */
#include "plan/priv.h"

/* Sets the bounds of rows: their dims may end themselves, and ends of ends have no circles. */
void tp_plan_given(const tp_plan *p, int64_t *env) {
  for (int round = 0; round < p->ends.n; round++)
    for (int i = 0; i < p->ends.n; i++)
      if (p->ends.v[i].row && env[p->ends.v[i].row->id] == 0) env[p->ends.v[i].bound->id] = 0;
}

enum { LOOPS = TP_INSIDE_ALL };

/* The loops around x, outermost first; returns how many. */
static int loops(const tp_pnode *x, const tp_pnode **path) {
  int n = x->up ? loops(x->up, path) : 0;
  if (x->up && x->up->kind == TP_P_FOR && n < LOOPS) path[n++] = x->up;
  return n;
}

typedef struct {
  int n, common;
  const tp_pnode *path[LOOPS];
} common_loops;

static void join(common_loops *s, const tp_pnode *leaf) {
  const tp_pnode *path[LOOPS];
  int n = loops(leaf, path);
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
  const tp_pnode *q = m < loops(leaf, path) ? path[m] : leaf;
  if (x->kind != TP_BUF_TEMP) return;
  x->first = x->first < 0 ? q->pos : TP_MIN(x->first, q->pos);
  x->last = TP_MAX(x->last, q->lastpos);
}

/* Keeps the common loops that its values never leave. */
static void find_scope(tp_pbuf *x, common_loops *s) {
  int m = x->holds < 0 ? TP_MIN(x->inside, s->common) : 0;
  x->inside = -1;
  for (int k = m; x->scope && k < s->common; k++)
    if (s->path[k]->var == x->scope) m = k + 1;
  s->common = m;
  x->scope = m && x->kind == TP_BUF_TEMP ? s->path[m - 1]->var : NULL;
}

/* ---- work that runs behind (behind.c) ---- */

/* Finds the positions of the outermost nodes with work that runs behind. */
static void span_of_ticks(const tp_pnode *x, int *first, int *last) {
  for (int i = 0; i < x->n && x->kind == TP_P_SEQ; i++) span_of_ticks(x->kid[i], first, last);
  if (x->kind == TP_P_SEQ || !tp_has(x, TP_P_BEHIND)) return;
  *first = TP_MIN(*first, x->pos);
  *last = TP_MAX(*last, x->lastpos);
}

/* BEHIND nodes and the rest go through the loop of ticks at different times: a buffer that both
 * touch lives all through it, one that only the former touch has a place of its own (color.c). */
static void keep_apart(tp_plan *p) {
  bool *far = TP_NEWN(p->a, bool, p->bufs.n), *near = TP_NEWN(p->a, bool, p->bufs.n);
  int first = p->npos, last = -1;
  TP_EACH_WINDOW (k, p->body) {
    bool behind = tp_is_behind(k.x), both = !k.x->rg; /* no region: an end or a condition */
    far[k.nd->buf] |= behind || both, near[k.nd->buf] |= !behind || both;
  }
  span_of_ticks(p->body, &first, &last);
  for (int i = 0; i < p->bufs.n; i++) {
    tp_pbuf *x = p->bufs.v[i];
    x->far = far[i] && !near[i];
    if (!far[i] || !near[i] || x->kind != TP_BUF_TEMP) continue;
    x->first = TP_MIN(x->first, first);
    x->last = TP_MAX(x->last, last);
  }
}

/* ---- the newest values of parameters ---- */

/* They stay where they lie until the last write of the output is over. A buffer that passes have
 * cut, or dropped, holds none. */
static void keep_newest(tp_plan *p) {
  for (int i = 0; i < p->bufs.n; i++) {
    tp_pbuf *x = p->bufs.v[i];
    if (x->scope || x->first < 0) x->holds = -1;
    if (x->holds < 0) continue;
    TP_EACH_NODE (k, p->body)
      for (int o = 0; k.x->rg && o < k.x->rg->nout; o++) {
        const tp_pbuf *b = k.x->rg->out[o].buf >= 0 ? p->bufs.v[k.x->rg->out[o].buf] : NULL;
        int end = k.x->pos;
        for (const tp_pnode *q = k.x->up; q; q = q->up)
          if (q->kind == TP_P_FOR) end = q->lastpos;
        if (b && b->kind == TP_BUF_OUTPUT && b->slot == x->holds) x->last = TP_MAX(x->last, end);
      }
  }
}

void tp_plan_lifetimes(tp_plan *p, const tp_planned *asked) {
  (void)asked;
  tp_plan_number(p);
  common_loops *s = TP_NEWN(p->a, common_loops, p->bufs.n);
  TP_EACH_WINDOW (k, p->body) join(&s[k.nd->buf], k.x);
  for (int i = 0; i < p->bufs.n; i++) find_scope(p->bufs.v[i], &s[i]);
  TP_EACH_WINDOW (k, p->body) stretch(p->bufs.v[k.nd->buf], k.x, s[k.nd->buf].common);
  keep_newest(p);
  if (tp_has(p->body, TP_P_BEHIND)) keep_apart(p);
}
