/* times: finds when accesses of an array happen, as far as the rows of their loops tell it without
 * isl.
 *
 * In a loop whose row is s * e_k + by + p for each access of an element e, with the same s and p,
 * the times of an access of e and of one of e + d are s * d_k + (difference of their by) apart. So
 * whether e + d may be written (at w) after e was (at w0) and not after a read of e (at r) is a
 * walk over the columns of the times, in each of which few d_k keep both orders possible. */
#include "poly/store/live.h"

int tp_life_loops(const life *f) {
  const tp_sst *a = way(f, nth(f, 0));
  int k = a->npath - 1;
  for (int i = 1; i < count(f); i++) {
    const tp_sst *b = way(f, nth(f, i));
    int j = 0;
    while (j < k && j < b->npath - 1 && a->path[j].loop == b->path[j].loop) j++;
    k = j;
  }
  return k;
}

/* The row of element coordinate k at level l: s * e_k + by + p; in a loop over blocks, the row
 * before it is cut. False: it has another form. */
typedef struct {
  int s;
  int64_t by;
  isl_pw_aff *p;
} rowform;

static bool width_row(const life *f, tp_place at, int l, int k, rowform *r) {
  const tp_mem *m = way(f, at)->path[l].mem;
  int64_t lo, hi;
  int dim = m->blocks ? m->blocks - 1 : m->dim;
  if (dim < 0 || m->shift.bad || !tp_const_distance(f->S, acc(f, at)->rel, dim, k, &lo, &hi) ||
      lo != hi)
    return false;
  *r = (rowform){ m->s, m->shift.c - m->s * lo, m->shift.p };
  return true;
}

static bool same_row(const rowform *a, const rowform *b) {
  return a->s == b->s && a->by == b->by && a->p == b->p;
}

/* Are all accesses of an element in one iteration of the shared loop at level l, because it runs
 * over dim k of the element? */
static bool one_iteration(const life *f, int k, int l) {
  rowform first, r;
  bool ok = width_row(f, nth(f, 0), l, k, &first);
  for (int i = 1; i < count(f) && ok; i++)
    ok = width_row(f, nth(f, i), l, k, &r) && same_row(&first, &r);
  return ok && !way(f, nth(f, 0))->path[l].loop->block;
}

/* Finds dims whose loop leaves each element behind for good, as must each loop around it; f->skip
 * counts these loops. Elements that differ along such a dim never meet. */
void tp_life_passed(life *f) {
  int shared = tp_life_both_kinds(f) ? 0 : tp_life_loops(f), ndim = f->x->ndim - !!f->version;
  for (int l = 0; l < shared; l++) {
    bool any = way(f, nth(f, 0))->path[l].loop->block > 0; /* the loop over its rows says it */
    for (int k = 0; k < ndim; k++)
      if (one_iteration(f, k, l)) {
        any = true;
        f->passed |= 1u << k;
        f->skip = l + 1;
      }
    if (!any) return;
  }
}

/* ---- columns ---- */

/* The time of q at element e + d less that of p at e: by, and s * d_k if k >= 0. Blocks tell only
 * that equal rows are in one. */
typedef struct {
  int64_t by;
  int k, s;
  bool blocks;
} time_gap;

static bool gap_at(const life *f, int c, tp_place p, tp_place q, time_gap *g) {
  int l = f->level[c];
  *g = (time_gap){ .k = -1 };
  if (!f->isrow[c]) {
    g->by = tp_life_place_at(f, q, l) - tp_life_place_at(f, p, l);
    return true;
  }
  const tp_mem *m = row_at(way(f, p), l), *n = row_at(way(f, q), l);
  if (!m || !n) return !m && !n;
  for (int k = 0; k < f->x->ndim - !!f->version; k++) {
    rowform a, b;
    if (!width_row(f, p, l, k, &a) || !width_row(f, q, l, k, &b) || a.s != b.s || a.p != b.p)
      continue;
    *g = (time_gap){ b.by - a.by, k, a.s, m->blocks };
    return !m->blocks || b.by == a.by;
  }
  return p.st == q.st && m->dim >= 0 && tp_pinned(f->S, p.st, m->dim);
}

/* ---- elements that meet ---- */

typedef struct {
  int64_t lo, hi;
} int_range;

/* Coordinate k of the elements that an access touches, from 0 or from the dim's end, whatever the
 * bounds. */
static int_range coordinates(const life *f, tp_place p, int k, bool from_end) {
  bool fresh;
  int_range *x = tp_recall(f->S,
      &(tp_question){ .what = OF_COORDINATES, .of = acc(f, p)->rel, .a = k, .b = from_end },
      sizeof *x, &fresh);
  tp_sym *bound = f->x->dim[k]->bound;
  if (fresh) *x = (int_range){ INT64_MIN, INT64_MAX };
  if (fresh && (!from_end || bound)) {
    isl_set *all = isl_map_range(isl_map_copy(acc(f, p)->rel));
    isl_aff *e = isl_aff_var_on_domain(
        isl_local_space_from_space(isl_set_get_space(all)), isl_dim_set, (unsigned)k);
    if (from_end)
      e = isl_aff_set_coefficient_si(
          e, isl_dim_param, tp_isl_place(isl_set_get_space(all), bound), -1);
    (void)tp_whole(isl_set_min_val(all, e), &x->lo);
    (void)tp_whole(isl_set_max_val(all, e), &x->hi);
    isl_set_free(all);
    isl_aff_free(e);
  }
  return *x;
}

static int_range both(int_range a, int_range b) {
  return (int_range){ TP_MAX(a.lo, b.lo), TP_MIN(a.hi, b.hi) };
}

typedef struct {
  const life *f;
  tp_place first, next, read;
  bool blocks, in_place;
  int_range *d;
} encounter;

/* The range of d_k that the accesses' places allow. */
static int_range differ_by(const encounter *s, int k, bool from_end) {
  int_range e = both(
                coordinates(s->f, s->first, k, from_end), coordinates(s->f, s->read, k, from_end)),
            other = coordinates(s->f, s->next, k, from_end);
  return (int_range){ other.lo == INT64_MIN || e.hi == INT64_MAX ? INT64_MIN : other.lo - e.hi,
    other.hi == INT64_MAX || e.lo == INT64_MIN ? INT64_MAX : other.hi - e.lo };
}

/* Are the elements that meet one element, of one version? Then nothing is lost. */
static bool same_element(const encounter *s) {
  bool same = acc(s->f, s->next)->arr == acc(s->f, s->read)->arr;
  for (int k = 0; k < s->f->x->ndim - !!s->f->version; k++) same &= !s->d[k].lo && !s->d[k].hi;
  return same;
}

/* Do no two elements meet, from column c on? after: `next` is known to be after `first`; before: to
 * be before `read`. */
static bool apart_from(encounter *s, int c, bool after, bool before) {
  enum { TRIED = 8 };
  time_gap a = { .k = -1 }, b = { .k = -1 };
  if (c == s->f->ncol && ((!after && !s->blocks) || (!before && s->in_place))) return true;
  if (c == s->f->ncol || (after && before)) return same_element(s);
  if (!after && !gap_at(s->f, c, s->first, s->next, &a)) return false;
  if (!before && !gap_at(s->f, c, s->read, s->next, &b)) return false;
  if (!after && !before && a.k != b.k) return false;
  if ((a.blocks || b.blocks) && (s->d[a.blocks ? a.k : b.k].lo || s->d[a.blocks ? a.k : b.k].hi))
    return false;
  int k = after ? b.k : a.k, sign = after ? b.s : a.s;
  int_range was = k < 0 ? (int_range){ 0, 0 } : s->d[k], x = was;
  if (k >= 0 && sign < 0)
    x = (int_range){ was.hi == INT64_MAX ? INT64_MIN : -was.hi,
      was.lo == INT64_MIN ? INT64_MAX : -was.lo };
  if (!after) x.lo = TP_MAX(x.lo, -a.by);
  if (!before) x.hi = TP_MIN(x.hi, -b.by);
  if (x.lo > x.hi) return true;
  if (x.lo == INT64_MIN || x.hi == INT64_MAX || x.hi - x.lo > TRIED) return false;
  bool apart = true;
  for (int64_t y = x.lo; y <= x.hi && apart; y++) {
    if (k >= 0) s->d[k] = (int_range){ sign * y, sign * y };
    apart = apart_from(s, c + 1, after || y + a.by > 0, before || y + b.by < 0);
  }
  if (k >= 0) s->d[k] = was;
  return apart;
}

bool tp_life_apart(const life *f, tp_place first, tp_place next, tp_place read) {
  int_range d[f->x->ndim + 1];
  encounter s = { f, first, next, read, tp_life_by_blocks(f), tp_life_in_place(f, read), d };
  for (int k = 0; k < f->x->ndim - !!f->version; k++) {
    d[k] = both(differ_by(&s, k, false), differ_by(&s, k, true));
    if ((f->x->dense | f->passed) >> k & 1) d[k] = (int_range){ 0, 0 };
    if (d[k].lo > d[k].hi) return true;
  }
  return apart_from(&s, 0, false, false);
}

/* ---- versions ---- */

/* Do all three touch some element, as far as intervals say it? */
static bool touch_one(const life *f, tp_place a, tp_place b, tp_place c) {
  bool any = true;
  for (int k = 0; k < f->x->ndim - 1; k++)
    for (int end = 0; end < 2; end++) {
      int_range x = both(
          coordinates(f, a, k, end), both(coordinates(f, b, k, end), coordinates(f, c, k, end)));
      any &= x.lo <= x.hi;
    }
  return any;
}

/* Is q after p on an element that both touch, or at the same time unless `strictly`? */
static bool comes_after(const life *f, tp_place p, tp_place q, bool strictly) {
  for (int c = 0; c < f->ncol; c++) {
    time_gap g;
    /* later rows are in the same block or in a later one */
    if (!gap_at(f, c, p, q, &g) && !(g.blocks && g.by > 0)) return false;
    if (g.by && !g.blocks) return g.by > 0;
  }
  return !strictly;
}

static bool meets(const life *f, tp_place r, tp_place w) {
  int mine = acc(f, r)->arr;
  if (acc(f, w)->arr == mine || tp_is_copy(stmt(f, w)) ||
      !comes_after(f, w, r, tp_life_in_place(f, r)))
    return false;
  for (int i = 0; i < f->writes.n; i++) {
    tp_place first = f->writes.v[i];
    if (acc(f, first)->arr == mine && touch_one(f, first, w, r) &&
        comes_after(f, first, w, !tp_life_by_blocks(f)))
      return true;
  }
  return false;
}

bool tp_life_versions_meet(const life *f) {
  for (int i = 0; i < f->last.n; i++)
    for (int w = 0; w < f->writes.n; w++)
      if (meets(f, f->reads.v[f->last.v[i]], f->writes.v[w])) return true;
  return false;
}

/* ---- elements that are there together ---- */

static bool reads_all(const life *f, tp_place r) {
  tp_sym *dims[f->x->ndim + 1];
  int n = 0;
  isl_set *here = isl_map_range(isl_map_copy(acc(f, r)->rel));
  for (int k = f->x->ndim - 1; k >= 0; k--)
    if ((f->x->dense | f->passed) >> k & 1) here = isl_set_project_out(here, isl_dim_set, k, 1);
  for (int k = 0; k < f->x->ndim; k++)
    if (!((f->x->dense | f->passed) >> k & 1)) dims[n++] = f->x->dim[k];
  isl_set *all = isl_set_intersect_params(tp_set_box(f->S->ix, n, dims), tp_life_context(f));
  bool yes = isl_set_is_subset(all, here) == isl_bool_true;
  isl_set_free(all);
  isl_set_free(here);
  return yes;
}

int tp_life_phase(const life *f) {
  for (int i = 0; i < f->last.n && f->ncol && !f->isrow[0]; i++) {
    tp_place r = f->reads.v[f->last.v[i]];
    bool after = true;
    for (int w = 0; w < f->writes.n; w++)
      after &=
          tp_life_place_at(f, f->writes.v[w], f->level[0]) < tp_life_place_at(f, r, f->level[0]);
    if (after && reads_all(f, r)) return i;
  }
  return -1;
}
