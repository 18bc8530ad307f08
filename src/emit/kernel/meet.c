/* meet.c: finds where threads of a kernel have to meet between its leaves.
 *
 *   y[k] = .. x[k] ..;  z[k] = .. y[k] ..     =>    no barrier: element k of y is one thread's
 *   y[k] = .. x[k] ..;  s = .. + y[k]         =>    a barrier between them
 *
 * Points of a LOOP belong to threads by their number in the order of the axes that are kept, so
 * threads need not meet between two leaves with as many points if each window of the one on a
 * buffer that the other one uses too, one of them writing, goes through the same elements in the
 * same order, each once, or through others. All other leaves that use one buffer meet. Buffers of a
 * kernel share no memory (tp_kernel). At the end of an iteration threads meet, because offsets are
 * others in the next one. */
#include "emit/kernel/kernel.h"

/* How the points of a leaf belong to threads. */
typedef enum { BY_POINTS, ALL_ONE, OTHERWISE } sharing;

struct meet_use {
  const tp_region *r;
  sharing how;
  /* BY_POINTS */
  nest l;
  tp_ix *points;
};

/* The windows of a LOAD as those of a region. */
static const tp_region *reads_of(tp_emit *e, const tp_pnode *load) {
  tp_region r = { .kind = TP_RG_OP, .nin = tp_node_windows(load) };
  r.in = TP_NEWN(e->a, tp_nd, r.nin);
  for (int i = 0; i < r.nin; i++) r.in[i] = *tp_node_window(load, i);
  return tp_dup(e->a, &r, sizeof r);
}

static tp_ix *kept_points(const nest *l) {
  tp_ix *n = tp_ix_const(l->e->ix, 1);
  for (int k = 0; k < l->nax; k++)
    if (!l->ax[k].red) n = tp_ix_mul(n, l->ax[k].n);
  return n;
}

bool kernel_has_one_point(const nest *l) {
  return tp_is_number(kept_points(l), 1) && !emit_folds_together(l);
}

static meet_use *use_of(tp_emit *e, const tp_pnode *x) {
  meet_use *u = TP_NEW(e->a, meet_use);
  *u = (meet_use){ .r = x->rg ? tp_emit_region(e, x) : reads_of(e, x), .how = OTHERWISE };
  if (!x->rg || tp_emit_is_pointwise(e, u->r) || u->r->kind != TP_RG_LOOP) return u;
  u->l = emit_nest_of(e, x);
  emit_find_axes(&u->l);
  if (!kernel_is_shared(u->r) || kernel_has_one_point(&u->l)) u->how = ALL_ONE;
  else if (!emit_folds_together(&u->l)) u->how = BY_POINTS;
  u->l.fours = u->how == BY_POINTS && emit_by_fours(&u->l);
  u->points = kept_points(&u->l);
  return u;
}

/* The kept axes along which window w lies, neighbours joined where one lies within the other; -1:
 * a point has several of its elements. */
typedef struct {
  tp_ix *n, *stride;
} way;

static int ways_of(const meet_use *u, int w, way *to) {
  int n = 0;
  for (int k = 0; k < u->l.nax; k++) {
    tp_ix *by = u->l.stride[w][k], *all = u->l.ax[k].n;
    if (u->l.ax[k].red && !tp_is_number(by, 0)) return -1;
    if (u->l.ax[k].red) continue;
    if (n && to[n - 1].stride == tp_ix_mul(by, all))
      to[n - 1] = (way){ tp_ix_mul(to[n - 1].n, all), by };
    else to[n++] = (way){ all, by };
  }
  return n;
}

/* Does each thread touch the same elements by window i of a as by window k of b, or no two the
 * same? */
static bool same_thread(const meet_use *a, int i, const meet_use *b, int k) {
  way v[TP_MAXRANK], w[TP_MAXRANK];
  const tp_nd *x = tp_window_at(a->r, i), *y = tp_window_at(b->r, k);
  if (a->how == ALL_ONE && b->how == ALL_ONE) return true;
  if (a->r->kind == TP_RG_LOOP && b->r->kind == TP_RG_LOOP && kernel_apart(a->r, x, b->r, y))
    return true;
  if (a->how != BY_POINTS || b->how != BY_POINTS || a->points != b->points ||
      a->l.fours != b->l.fours)
    return false;
  if (x->wrap >= 0 || y->wrap >= 0 || !tp_same_start(x, y)) return false;
  int n = ways_of(a, i, v), m = ways_of(b, k, w);
  bool same = n >= 0 && n == m;
  for (int q = 0; q < n && same; q++)
    same = v[q].n == w[q].n && v[q].stride == w[q].stride && !tp_is_number(v[q].stride, 0);
  return same;
}

static bool conflict(const meet_use *a, const meet_use *b) {
  int na = a->r->nin + a->r->nout, nb = b->r->nin + b->r->nout;
  for (int i = 0; i < na; i++)
    for (int k = 0; k < nb; k++) {
      int buf = tp_window_at(a->r, i)->buf;
      if (buf < 0 || buf != tp_window_at(b->r, k)->buf) continue;
      if ((i >= a->r->nin || k >= b->r->nin) && !same_thread(a, i, b, k)) return true;
    }
  return false;
}

bool meet_before(meet_state *m, const tp_pnode *leaf) {
  meet_use *u = use_of(m->e, leaf);
  bool any = false;
  for (int i = 0; i < m->left.n && !any; i++) any = conflict(m->left.v[i], u);
  if (any) m->left.n = 0;
  TP_PUSH(m->e->a, &m->left, u);
  return any;
}

bool meet_is_by_one(const meet_state *m) { return m->left.v[m->left.n - 1]->how == ALL_ONE; }

meet_uses meet_copy(const meet_state *m) {
  meet_uses v = { 0 };
  for (int i = 0; i < m->left.n; i++) TP_PUSH(m->e->a, &v, m->left.v[i]);
  return v;
}

void meet_add(meet_state *m, const meet_uses *more) {
  for (int i = 0; i < more->n; i++) {
    bool there = false;
    for (int k = 0; k < m->left.n; k++) there |= m->left.v[k] == more->v[i];
    if (!there) TP_PUSH(m->e->a, &m->left, more->v[i]);
  }
}
