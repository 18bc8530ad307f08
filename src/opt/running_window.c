/* running_window: a reduction over a window of w rows, w a number, by windows of 1, 2, 4, .. rows.
 *
 *   z[p] of 2n rows up to p = red(z[p] of n rows, z[p-n] of n rows)      y[c] = red of some of these that lie side by side and make w rows
 *
 * Nothing is carried, so calls run over all of it; log2(w) operators a row, and a float sum is one of a tree. Windows that calls make over all of a dim are kept for all of it, some four times what is
 * reduced, so large elements are left alone. At a clipped end a window has fewer rows: those beyond it are left out. Windows are built
 * towards the clipped end; of a window that is clipped at both, what lies before a point inside it, and what lies from there on. */
#include "opt/running.h"

/* Windows over dim d of x that end at a row (way -1) or begin with it (1), up to the clip; NULL: none clips. */
typedef struct window_rows { const moving *m; const tp_sym *d; int way; const tp_ix *clip; int ndom; const tp_sym *const *dom; } window_rows;

static const tp_ix *row_by(const window_rows *w, const tp_ix *p, int64_t n) { return tp_ix_addc(w->m->mk.g->ix, p, w->way * n); }

/* Row p lies on the inner side of the clip. */
static const tp_ix *is_inside(const window_rows *w, const tp_ix *p) { return tp_ix_cmp(w->m->mk.g->ix, w->way < 0 ? TP_GE : TP_LT, p, w->clip); }

static bool surely_inside(const window_rows *w, const tp_ix *p) {
  tp_ictx *ix = w->m->mk.g->ix;
  return !w->clip || tp_ix_prove_ge0(ix, w->way < 0 ? tp_ix_sub(ix, p, w->clip) : tp_ix_addc(ix, tp_ix_sub(ix, w->clip, p), -1), w->m->ndom, w->m->dom);
}

static tp_val either(const window_rows *w, int n, const tp_sym *const *dom, const tp_ix *cond, tp_val yes, tp_val no) {
  const moving *m = w->m;
  tp_val y = mk_either(m->mk, n, dom, cond, yes, no);
  if (y.node) y.node->what = m->of->name ? m->of->name : m->of->what;
  return y;
}

static tp_val window_at(const window_rows *w, tp_val z, const tp_ix *p) { return mk_at(w->m->mk, z, w->d, p); }

/* Windows of twice the rows. */
static tp_val doubled(const window_rows *w, tp_val z, int64_t n) {
  const tp_ix *p = tp_ix_sym(w->m->mk.g->ix, w->d), *far = row_by(w, p, n);
  tp_val both = tp_running_pair(w->m, z, window_at(w, z, far));
  return w->clip ? either(w, w->ndom, w->dom, is_inside(w, far), both, z) : both;
}

/* y and the window z whose row nearest to y is p; `had`: y has rows. */
static tp_val joined(const window_rows *w, tp_val y, tp_val z, const tp_ix *p) {
  const moving *m = w->m;
  tp_val there = window_at(w, z, p), both = y.node ? tp_running_pair(m, y, there) : there;
  if (surely_inside(w, p)) return both;
  return either(w, m->ndom, m->dom, is_inside(w, p), both, y.node ? y : tp_running_nothing(m));
}

/* n rows from p on, p the first of them, by way. */
static tp_val rows_from(window_rows *w, const tp_ix *p, int64_t n) {
  bool again = w->m->red == TP_RED_MAX || w->m->red == TP_RED_MIN;     /* a row may count twice */
  tp_val z = tp_running_row(w->m, tp_ix_sym(w->m->mk.g->ix, w->d)), y = tp_none;
  int64_t size = 1;
  for (; z.node && size * 2 <= n; size *= 2) {
    if (n & size && !again) {
      y = joined(w, y, z, p);
      if (!y.node) return y;
      p = row_by(w, p, size);
    }
    z = doubled(w, z, size);
  }
  if (!z.node) return z;
  y = joined(w, y, z, p);
  return y.node && again && n > size ? joined(w, y, z, row_by(w, p, n - size)) : y;
}

static bool make_window(window_rows *w) {
  const moving *m = w->m;
  tp_node dims = { 0 };
  tp_graph *g = m->mk.g;
  for (int k = 0; k < m->x.node->ndom; k++) tp_dom_add(g, &dims, k == m->r ? tp_ix_sym(g->ix, w->d) : m->at[k].lo);
  if (w->clip) tp_dom_add(g, &dims, w->clip);
  w->ndom = dims.ndom;
  w->dom = dims.dom;
  return w->d == m->c || !tp_dom_has(m->ndom, m->dom, w->d);
}

/* ---- where it is cut ---- */

/* Does row c + s lie on the inner side of that end, or is there nothing that would ask? */
static bool reaches(const moving *m, const tp_ix *s, bool upper) {
  tp_ictx *ix = m->mk.g->ix;
  const tp_ix *p = tp_ix_add(ix, tp_ix_sym(ix, m->c), s), *end = upper ? m->H : m->L;
  return s == (upper ? m->l : m->h) || !end || tp_ix_prove_ge0(ix, upper ? tp_ix_sub(ix, end, p) : tp_ix_sub(ix, p, end), m->ndom, m->dom);
}

/* The window is c + l .. c + s, clipped below, and c + s .. c + h, clipped above. NULL: nowhere. */
static const tp_ix *cut_at(const moving *m, int64_t *before, int64_t *after) {
  tp_ictx *ix = m->mk.g->ix;
  const tp_ix *s[] = { m->h, m->l, tp_ix_const(ix, 0) };
  for (int i = 0; i < 3; i++)
    if (tp_ix_is_const(tp_ix_sub(ix, s[i], m->l), before) && tp_ix_is_const(tp_ix_sub(ix, m->h, s[i]), after) && *before >= 0 && *after >= 0 && reaches(m, s[i], false) && reaches(m, s[i], true)) return s[i];
  return NULL;
}

bool tp_is_window(const moving *m) {
  int64_t before, after;
  if (!m->l || !m->h || !tp_is_small(tp_outof(m->x)) || !cut_at(m, &before, &after) || before + after < 2 || before + after > TP_TUNE_WINDOW) return false;
  return make_window(&(window_rows){ .m = m, .d = m->x.node->dom[m->r] });
}

tp_val tp_running_window(const moving *m) {
  tp_ictx *ix = m->mk.g->ix;
  int64_t before, after;
  const tp_ix *s = tp_ix_add(ix, tp_ix_sym(ix, m->c), cut_at(m, &before, &after));
  window_rows low = { .m = m, .d = m->x.node->dom[m->r], .way = -1, .clip = m->L }, high = low;
  high.way = 1, high.clip = m->H;
  make_window(&low);
  make_window(&high);
  tp_val a = before ? rows_from(&low, tp_ix_addc(ix, s, -1), before) : tp_none, b = after ? rows_from(&high, s, after) : tp_none;
  if ((before && !a.node) || (after && !b.node)) return tp_none;
  return before && after ? tp_running_pair(m, a, b) : before ? a : b;
}
