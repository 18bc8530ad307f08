/* conflicts: the differences of elements of an array that must not share a slot (live.c). */
#include "poly/store/live.h"
#include <stdlib.h>

/* ---- times ---- */

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int seq_at(const tp_sst *s, int l) { return l < s->npath ? s->path[l].seq : 0; }
static void mark_writes(life *f, int l) {
  tp_ints *m = &f->marks[l];
  for (int i = 0; i < f->writes.n; i++) TP_PUSH(f->S->a, m, seq_at(way(f, f->writes.v[i]), l));
  qsort(m->v, (size_t)m->n, sizeof *m->v, by_number);
  int n = 0;
  for (int i = 0; i < m->n; i++)
    if (!n || m->v[n - 1] != m->v[i]) m->v[n++] = m->v[i];
  m->n = n;
}

int tp_life_place_at(const life *f, tp_place p, int l) {
  const tp_ints *m = &f->marks[l];
  int seq = seq_at(way(f, p), l), lo = 0;
  for (int hi = m->n; lo < hi;) {
    int mid = (lo + hi) / 2;
    if (m->v[mid] < seq) lo = mid + 1;
    else hi = mid;
  }
  return 2 * lo + (lo < m->n && m->v[lo] == seq);
}

void tp_life_columns(life *f) {
  int deep = 0;
  for (int i = 0; i < count(f); i++) deep = TP_MAX(deep, way(f, nth(f, i))->npath);
  f->level = TP_NEWN(f->S->a, int, 2 * deep);
  f->isrow = TP_NEWN(f->S->a, bool, 2 * deep);
  f->marks = TP_NEWN(f->S->a, tp_ints, deep);
  for (int l = f->skip; l < deep; l++) {
    bool differ = false, row = false;
    mark_writes(f, l);
    for (int i = 0; i < count(f); i++) {
      differ |= tp_life_place_at(f, nth(f, i), l) != tp_life_place_at(f, nth(f, 0), l);
      row |= row_at(way(f, nth(f, i)), l) != NULL;
    }
    if (differ) f->level[f->ncol++] = l;
    if (row) {
      f->isrow[f->ncol] = true;
      f->level[f->ncol++] = l;
    }
  }
}

static isl_space *time_space(const life *f) { return tp_isl_space(f->S->ix, f->ncol); }

static isl_map *time_of(const life *f, tp_place at) {
  isl_space *dom = tp_stmt_space(f->S, at.st);
  isl_multi_pw_aff *t = isl_multi_pw_aff_zero(
      isl_space_map_from_domain_and_range(isl_space_copy(dom), time_space(f)));
  for (int c = 0; c < f->ncol; c++) {
    const tp_mem *m = f->isrow[c] ? row_at(way(f, at), f->level[c]) : NULL;
    int64_t seq = f->isrow[c] ? 0 : tp_life_place_at(f, at, f->level[c]);
    isl_pw_aff *v = m
        ? isl_pw_aff_copy(m->row)
        : isl_pw_aff_from_aff(isl_aff_val_on_domain(
              isl_local_space_from_space(isl_space_copy(dom)), tp_isl_int(f->S->ctx, seq)));
    t = isl_multi_pw_aff_set_at(t, c, v);
  }
  isl_space_free(dom);
  return isl_map_from_multi_pw_aff(t);
}

/* {element -> points of the statement at which this access touches it, at least} */
static isl_map *touching(const life *f, tp_place at) {
  isl_map *rel = tp_isl_few(isl_map_copy(acc(f, at)->rel));
  if (f->outline && isl_map_n_basic_map(rel) > 1)
    rel = isl_map_from_basic_map(isl_map_simple_hull(isl_map_remove_divs(rel)));
  if (f->version)
    rel = isl_map_fix_si(isl_map_add_dims(rel, isl_dim_out, 1), isl_dim_out,
        (unsigned)f->x->ndim - 1, f->version[acc(f, at)->arr]);
  return isl_map_reverse(rel);
}

/* {element -> time at which this access touches it, at least} */
static isl_map *touched(const life *f, tp_place at) {
  return isl_map_apply_range(touching(f, at), time_of(f, at));
}

/* ---- may the kernel write over this operand? ---- */

static bool moves_with(const life *f, const tp_access *a, int d, int *dim, int64_t *by) {
  int64_t hi;
  for (int k = 0; k < f->S->p->arrs.v[a->arr]->ndim; k++)
    if (tp_const_distance(f->S, a->rel, d, k, by, &hi) && *by == hi) {
      *dim = k;
      return true;
    }
  return false;
}

static bool is_of(const life *f, const tp_access *w, const tp_access *r) {
  return f->version ? f->version[w->arr] >= 0 : w->arr == r->arr;
}

/* It may over vector dims only if each of the call's points writes where it has read. */
bool tp_life_in_place(const life *f, tp_place p) {
  const tp_stmt *s = stmt(f, p);
  const tp_access *r = acc(f, p);
  if (!r->alias) return false;
  for (int w = 0; w < s->nacc; w++) {
    if (s->acc[w].kind != TP_ACC_WRITE || !is_of(f, &s->acc[w], r)) continue;
    for (int d = 0; d < s->ndim; d++) {
      int kr, kw;
      int64_t br, bw;
      if (!(s->vec >> d & 1)) continue;
      if (!moves_with(f, r, d, &kr, &br) || !moves_with(f, &s->acc[w], d, &kw, &bw) || kr != kw ||
          br != bw)
        return false;
    }
  }
  return true;
}

/* ---- conflicts ---- */

isl_set *tp_life_context(const life *f) {
  isl_set *c = isl_set_copy(f->S->context);
  for (int k = 0; k < f->x->ndim; k++) {
    int at = f->x->dim[k]->bound ? tp_isl_place(isl_set_get_space(c), f->x->dim[k]->bound) : -1;
    if (at >= 0) c = isl_set_lower_bound_si(c, isl_dim_param, at, 1);
  }
  return c;
}

isl_set *tp_life_zero(const life *f) {
  isl_set *z = isl_set_universe(tp_isl_space(f->S->ix, f->x->ndim));
  for (int k = 0; k < f->x->ndim; k++) z = isl_set_fix_si(z, isl_dim_set, k, 0);
  return z;
}

/* Differences of conflicting elements, both ways; dense dims equal, as those never share a slot.
 * isl's coalescing may add some, which costs slots at most. */
static isl_set *differences(const life *f, isl_map *m) {
  isl_set *d = isl_map_deltas(m);
  for (int k = 0; k < f->x->ndim; k++)
    if ((f->x->dense | f->passed) >> k & 1) d = isl_set_fix_si(d, isl_dim_set, k, 0);
  isl_set *neg = isl_set_neg(isl_set_copy(d));
  return isl_set_intersect_params(isl_set_coalesce(isl_set_union(d, neg)), tp_life_context(f));
}

bool tp_life_by_blocks(const life *f) {
  for (int i = 0; i < f->writes.n; i++)
    if (stmt(f, f->writes.v[i])->bdim >= 0 || stmt(f, f->writes.v[i])->ahead) return true;
  return false;
}

static bool exact(const life *f, tp_place at) {
  return isl_map_n_basic_map(acc(f, at)->rel) <= TP_TUNE_MANY_PIECES;
}

int tp_life_copied_to(const life *f, tp_place r) {
  if (!tp_is_copy(stmt(f, r)) || !acc(f, r)->alias || !exact(f, r)) return -1;
  for (int w = 0; w < f->writes.n; w++)
    if (f->writes.v[w].st == r.st) return exact(f, f->writes.v[w]) ? w : -1;
  return -1;
}

/* `later` without pairs in which the second element is a copy of the first: both are one value. */
static isl_map *but_copies(const life *f, isl_map *later) {
  for (int i = 0; i < f->reads.n; i++) {
    int w = tp_life_copied_to(f, f->reads.v[i]);
    if (w >= 0)
      later = isl_map_subtract(later,
          isl_map_apply_range(
              touching(f, f->reads.v[i]), isl_map_reverse(touching(f, f->writes.v[w]))));
  }
  return later;
}

/* {element -> time of its write} of these writes. */
static isl_map *written(const life *f, const bool *these) {
  isl_map *all = isl_map_empty(
      isl_space_map_from_domain_and_range(tp_isl_space(f->S->ix, f->x->ndim), time_space(f)));
  for (int w = 0; w < f->writes.n; w++)
    if (these[w]) all = isl_map_union(all, touched(f, f->writes.v[w]));
  return all;
}

/* Finds the writes that may conflict with r's elements (next, nexts), and the writes of these
 * elements (firsts). */
static bool find_conflicts(const life *f, tp_place r, bool *next, bool *firsts, bool *nexts) {
  bool any = false;
  for (int w = 0; w < f->writes.n; w++)
    for (int i = 0; i < f->writes.n; i++) {
      tp_place first = f->writes.v[i];
      if ((f->version && acc(f, first)->arr != acc(f, r)->arr) ||
          tp_life_apart(f, first, f->writes.v[w], r))
        continue;
      any = next[w] = nexts[w] = firsts[i] = true;
    }
  return any;
}

/* {element -> element that is written later and is no copy of it}. */
static isl_map *written_later(const life *f, const bool *first, const bool *next) {
  isl_map *later = isl_map_apply_range(written(f, first),
      tp_life_by_blocks(f) ? isl_map_lex_le(time_space(f)) : isl_map_lex_lt(time_space(f)));
  later = isl_map_apply_range(later, isl_map_reverse(written(f, next)));
  for (int k = 0; k < f->x->ndim; k++)
    if (f->passed >> k & 1) later = isl_map_equate(later, isl_dim_in, k, isl_dim_out, k);
  return f->version ? but_copies(f, later) : isl_map_coalesce(later);
}

static isl_set *conflicts_of(const life *f, tp_place r, const bool *next, isl_map *later) {
  isl_map *m = isl_map_apply_range(touched(f, r),
      tp_life_in_place(f, r) ? isl_map_lex_gt(time_space(f)) : isl_map_lex_ge(time_space(f)));
  m = isl_map_apply_range(m, isl_map_reverse(written(f, next)));
  return differences(f, isl_map_intersect(m, isl_map_copy(later)));
}

bool tp_life_conflicts(life *f) {
  int nw = f->writes.n, nr = f->last.n;
  bool *next = TP_NEWN(f->S->a, bool, nw *(nr + 2)), *firsts = next + nw * nr, *nexts = firsts + nw;
  bool *any = TP_NEWN(f->S->a, bool, nr + 1), ok = true;
  for (int i = 0; i < nr; i++)
    any[nr] |= any[i] = find_conflicts(f, f->reads.v[f->last.v[i]], next + i * nw, firsts, nexts);
  isl_map *later = any[nr] ? written_later(f, firsts, nexts) : NULL;
  for (int i = 0; i < nr && ok; i++) {
    isl_set *d =
        any[i] ? conflicts_of(f, f->reads.v[f->last.v[i]], next + i * nw, later) : tp_life_zero(f);
    ok = d != NULL;
    if (ok) TP_PUSH(f->S->a, &f->a->delta, tp_keep_set(f->S, d));
  }
  isl_map_free(later);
  return ok;
}

/* ---- far statements, which may run up to `lag` rows later (behind.c) ---- */

bool tp_life_both_kinds(const life *f) {
  bool far = false, near = false;
  for (int i = 0; i < count(f); i++) {
    far |= stmt(f, nth(f, i))->far;
    near |= !stmt(f, nth(f, i))->far;
  }
  return far && near;
}

/* {time -> times before everything of the row that is `lag` rows later} */
static isl_map *before_the_limit(const life *f) {
  int c = 0; /* the column of the rows */
  while (!f->isrow[c] || f->level[c] != f->S->p->lagdepth) c++;
  isl_map *m = isl_map_universe(isl_space_map_from_set(time_space(f)));
  isl_local_space *ls = isl_local_space_from_space(isl_map_get_space(m));
  isl_constraint *k = isl_constraint_alloc_inequality(ls);
  k = isl_constraint_set_coefficient_si(k, isl_dim_in, c, 1);
  k = isl_constraint_set_coefficient_si(k, isl_dim_out, c, -1);
  m = isl_map_add_constraint(m, isl_constraint_set_constant_si(k, f->S->p->lag - 1));
  /* or earlier by a loop around, or a place in a sequence */
  for (int k = c - 1; k >= 0; k--) {
    isl_map *outside =
        isl_map_order_gt(isl_map_universe(isl_map_get_space(m)), isl_dim_in, k, isl_dim_out, k);
    m = isl_map_union(outside, isl_map_equate(m, isl_dim_in, k, isl_dim_out, k));
  }
  return m;
}

/* Finds conflicts between near writes and elements that a far statement still has to touch. */
bool tp_life_late_conflicts(life *f) {
  int n = f->writes.n;
  bool *all = TP_NEWN(f->S->a, bool, n), *near = TP_NEWN(f->S->a, bool, n);
  for (int i = 0; i < n; i++) {
    all[i] = true;
    near[i] = !stmt(f, f->writes.v[i])->far;
  }
  isl_map *to = isl_map_reverse(written(f, near)), *later = written(f, all);
  later = isl_map_apply_range(
      isl_map_apply_range(later, isl_map_lex_lt(time_space(f))), isl_map_copy(to));
  f->late = tp_life_zero(f);
  for (int i = 0; i < count(f) && f->late; i++) {
    if (!stmt(f, nth(f, i))->far) continue;
    isl_map *m = isl_map_apply_range(
        isl_map_apply_range(touched(f, nth(f, i)), before_the_limit(f)), isl_map_copy(to));
    f->late = isl_set_union(f->late, differences(f, isl_map_intersect(m, isl_map_copy(later))));
  }
  isl_map_free(later);
  isl_map_free(to);
  tp_keep_set(f->S, f->late);
  return f->late != NULL;
}
