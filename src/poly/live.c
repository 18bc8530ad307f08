/* live: how many consecutive points of an array are alive at once, per dim (docs/scheduling.md,
 * section 7).
 *
 * With W: element -> time of its write and R: element -> time of a read,  M = (R . lex_ge . W^-1) n
 * (W . lex_lt . W^-1)  is {e -> e': e' is written after e and not after some read of e}: they must
 * not share a slot. Successive modulo on D = deltas(M): the width of a dim is 1 + max |D_d|, then
 * D_d = 0. Done from the outermost dim and from the innermost one; the smaller product at sample
 * bounds stays.
 *
 * Where a statement changes a part of one array and what it makes is another (a state of which
 * several rows change, one after the other, each seen in between), both are one array in two
 * versions: elements with one more coordinate, the version. If that needs no more than one of them,
 * one lies in the other. */
#include "poly/sched.h"
#include <stdlib.h>

/* what arrays have in common that are accessed alike */
typedef struct {
  bool ok;
  const tp_ix **width;
  tp_sets delta; /* by last read */
  /* per dim: the last read that asks for most, -1: none, UNASKED */
  int *asks;
} answer;
typedef struct {
  tp_sched *S;
  tp_arr *x;
  tp_hmap *known;                 /* answers */
  TP_VEC(tp_place) writes, reads; /* updates count as reads */
  /* by level: the places of its writes in their sequences, ascending; a read's place counts by
   * these only */
  tp_ints *marks;
  /* columns of the times that tell its accesses apart */
  int ncol, *level;
  bool *isrow;
  /* reads that no other one comes after whatever is written in between */
  tp_ints last;
  /* arrays of which it took too long to say exactly, so far */
  int *hard;
  /* accesses of several pieces count as their outline */
  bool outline;
  /* by array: its number among those that lie in one, -1: not one of them; NULL: x alone */
  const int *version;
  /* more of it, where far statements run as late as they may; NULL: none */
  isl_set *late;
  answer *a;
} life;
enum { NOT_ASKED = -2 };

static const tp_stmt *stmt(const life *f, tp_place p) { return f->S->p->stmts.v[p.st]; }
static const tp_access *acc(const life *f, tp_place p) { return &stmt(f, p)->acc[p.acc]; }
static const tp_sst *way(const life *f, tp_place p) { return &f->S->st[p.st]; }
static tp_place nth(const life *f, int i) {
  return i < f->writes.n ? f->writes.v[i] : f->reads.v[i - f->writes.n];
}
static int count(const life *f) { return f->writes.n + f->reads.n; }

/* ---- shared loops ---- */

static int common_loops(const life *f) {
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

/* Row of element coordinate k at level l: s * e_k + by + p. False: not of this form. */
typedef struct {
  int s;
  int64_t by;
  isl_pw_aff *p;
} rowform;

static bool width_row(const life *f, tp_place at, int l, int k, rowform *r) {
  const tp_mem *m = way(f, at)->path[l].mem;
  int64_t lo, hi;
  if (m->dim < 0 || m->shift.bad ||
      !tp_const_distance(f->S, acc(f, at)->rel, m->dim, k, &lo, &hi) || lo != hi)
    return false;
  *r = (rowform){ m->s, m->shift.c - m->s * lo, m->shift.p };
  return true;
}

static bool same_row(const rowform *a, const rowform *b) {
  return a->s == b->s && a->by == b->by && a->p == b->p;
}

/* All accesses of an element are in one iteration of the shared loop at level l, because it runs
 * over dim k of the element. */
static bool one_iteration(const life *f, int k, int l) {
  rowform first, r;
  bool ok = width_row(f, nth(f, 0), l, k, &first);
  for (int i = 1; i < count(f) && ok; i++)
    ok = width_row(f, nth(f, i), l, k, &r) && same_row(&first, &r);
  return ok;
}

/* Every dim is dense or gone through by a loop that leaves an element behind for good: so must each
 * loop around that one. */
static bool all_points(const life *f) {
  int shared = common_loops(f), need = ((1 << f->x->ndim) - 1) & ~f->x->dense, have = 0;
  for (int l = 0; l < shared && need & ~have; l++) {
    bool any = way(f, nth(f, 0))->path[l].loop->block > 0; /* the loop over its rows says it */
    for (int k = 0; k < f->x->ndim; k++)
      if (one_iteration(f, k, l)) {
        any = true;
        have |= 1 << k;
      }
    if (!any) return false;
  }
  return !(need & ~have);
}

/* ---- times ---- */

static int by_number(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int seq_at(const tp_sst *s, int l) { return l < s->npath ? s->path[l].seq : 0; }
static const tp_mem *row_at(const tp_sst *s, int l) {
  return l + 1 < s->npath ? s->path[l].mem : NULL;
}

static void mark_writes(life *f, int l) {
  tp_ints *m = &f->marks[l];
  for (int i = 0; i < f->writes.n; i++) TP_PUSH(f->S->a, m, seq_at(way(f, f->writes.v[i]), l));
  qsort(m->v, (size_t)m->n, sizeof *m->v, by_number);
  int n = 0;
  for (int i = 0; i < m->n; i++)
    if (!n || m->v[n - 1] != m->v[i]) m->v[n++] = m->v[i];
  m->n = n;
}

/* The place at level l, in which sequence it ever is: odd at a write's, even between two. */
static int place_at(const life *f, tp_place p, int l) {
  const tp_ints *m = &f->marks[l];
  int seq = seq_at(way(f, p), l), lo = 0;
  for (int hi = m->n; lo < hi;) {
    int mid = (lo + hi) / 2;
    if (m->v[mid] < seq) lo = mid + 1;
    else hi = mid;
  }
  return 2 * lo + (lo < m->n && m->v[lo] == seq);
}

static void columns(life *f) {
  int deep = 0;
  for (int i = 0; i < count(f); i++) deep = TP_MAX(deep, way(f, nth(f, i))->npath);
  f->level = TP_NEWN(f->S->a, int, 2 * deep);
  f->isrow = TP_NEWN(f->S->a, bool, 2 * deep);
  f->marks = TP_NEWN(f->S->a, tp_ints, deep);
  for (int l = 0; l < deep; l++) {
    bool differ = false, row = false;
    mark_writes(f, l);
    for (int i = 0; i < count(f); i++) {
      differ |= place_at(f, nth(f, i), l) != place_at(f, nth(f, 0), l);
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
    int64_t seq = f->isrow[c] ? 0 : place_at(f, at, f->level[c]);
    isl_pw_aff *v = m
        ? isl_pw_aff_copy(m->row)
        : isl_pw_aff_from_aff(isl_aff_val_on_domain(isl_local_space_from_space(isl_space_copy(dom)),
              isl_val_int_from_si(f->S->ctx, seq)));
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

/* Over vector dims only if each call's point writes where it has read. */
static bool in_place(const life *f, tp_place p) {
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

static isl_set *own_context(const life *f) { /* an array without points needs no slots */
  isl_set *c = isl_set_copy(f->S->context);
  for (int k = 0; k < f->x->ndim; k++) {
    int at = f->x->dim[k]->bound ? tp_isl_place(isl_set_get_space(c), f->x->dim[k]->bound) : -1;
    if (at >= 0) c = isl_set_lower_bound_si(c, isl_dim_param, at, 1);
  }
  return c;
}

static isl_set *zero_set(const life *f) {
  isl_set *z = isl_set_universe(tp_isl_space(f->S->ix, f->x->ndim));
  for (int k = 0; k < f->x->ndim; k++) z = isl_set_fix_si(z, isl_dim_set, k, 0);
  return z;
}

/* Differences of conflicting elements, both ways; dense dims equal, as those never share a slot.
 * isl's coalescing may add some, which costs slots at most. */
static isl_set *differences(const life *f, isl_map *m) {
  isl_set *d = isl_map_deltas(m);
  for (int k = 0; k < f->x->ndim; k++)
    if (f->x->dense >> k & 1) d = isl_set_fix_si(d, isl_dim_set, k, 0);
  isl_set *neg = isl_set_neg(isl_set_copy(d));
  return isl_set_intersect_params(isl_set_coalesce(isl_set_union(d, neg)), own_context(f));
}

/* Does one call write several elements that are not dense? */
static bool by_blocks(const life *f) {
  for (int i = 0; i < f->writes.n; i++)
    if (stmt(f, f->writes.v[i])->bdim >= 0) return true;
  return false;
}

static bool exact(const life *f, tp_place at) {
  return isl_map_n_basic_map(acc(f, at)->rel) <= TP_TUNE_MANY_PIECES;
}

/* The write of what this read's statement copies among the versions; -1: none. */
static int copied_to(const life *f, tp_place r) {
  if (!tp_is_copy(stmt(f, r)) || !acc(f, r)->alias || !exact(f, r)) return -1;
  for (int w = 0; w < f->writes.n; w++)
    if (f->writes.v[w].st == r.st) return exact(f, f->writes.v[w]) ? w : -1;
  return -1;
}

/* Without the pairs of elements of which the second is a copy of the first: both are one value. */
static isl_map *but_copies(const life *f, isl_map *later) {
  for (int i = 0; i < f->reads.n && f->version; i++) {
    int w = copied_to(f, f->reads.v[i]);
    if (w >= 0)
      later = isl_map_subtract(later,
          isl_map_apply_range(
              touching(f, f->reads.v[i]), isl_map_reverse(touching(f, f->writes.v[w]))));
  }
  return later;
}

static bool conflicts(life *f) {
  tp_sched *S = f->S;
  isl_map *W = isl_map_empty(
      isl_space_map_from_domain_and_range(tp_isl_space(S->ix, f->x->ndim), time_space(f)));
  for (int i = 0; i < f->writes.n; i++) W = isl_map_union(W, touched(f, f->writes.v[i]));
  isl_map *back = isl_map_reverse(isl_map_copy(W));
  isl_map *later = isl_map_apply_range(
      W, by_blocks(f) ? isl_map_lex_le(time_space(f)) : isl_map_lex_lt(time_space(f)));
  later = but_copies(f, isl_map_coalesce(isl_map_apply_range(later, isl_map_copy(back))));
  bool ok = later != NULL;
  for (int i = 0; i < f->last.n && ok; i++) {
    tp_place r = f->reads.v[f->last.v[i]];
    isl_map *until = in_place(f, r) ? isl_map_lex_gt(time_space(f)) : isl_map_lex_ge(time_space(f));
    isl_map *m = isl_map_apply_range(touched(f, r), until);
    m = isl_map_apply_range(m, isl_map_copy(back));
    isl_set *d = differences(f, isl_map_intersect(m, isl_map_copy(later)));
    ok = d != NULL;
    if (ok) TP_PUSH(S->a, &f->a->delta, tp_keep_set(S, d));
  }
  isl_map_free(later);
  isl_map_free(back);
  return ok;
}

/* ---- far statements, which may run up to `lag` rows later (behind.c) ---- */

/* Do both kinds of statements touch it? */
static bool both_kinds(const life *f) {
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

/* What the others write in place of an element that a far statement still has to touch. */
static bool late_conflicts(life *f) {
  tp_sched *S = f->S;
  isl_map *all = isl_map_empty(
              isl_space_map_from_domain_and_range(tp_isl_space(S->ix, f->x->ndim), time_space(f))),
          *near = isl_map_copy(all);
  for (int i = 0; i < f->writes.n; i++) {
    isl_map *w = touched(f, f->writes.v[i]);
    if (!stmt(f, f->writes.v[i])->far) near = isl_map_union(near, isl_map_copy(w));
    all = isl_map_union(all, w);
  }
  near = isl_map_reverse(near);
  isl_map *later = isl_map_apply_range(
      isl_map_apply_range(all, isl_map_lex_lt(time_space(f))), isl_map_copy(near));
  f->late = zero_set(f);
  for (int i = 0; i < count(f) && f->late; i++) {
    if (!stmt(f, nth(f, i))->far) continue;
    isl_map *m = isl_map_apply_range(
        isl_map_apply_range(touched(f, nth(f, i)), before_the_limit(f)), isl_map_copy(near));
    f->late = isl_set_union(f->late, differences(f, isl_map_intersect(m, isl_map_copy(later))));
  }
  isl_map_free(later);
  isl_map_free(near);
  tp_keep_set(S, f->late);
  return f->late != NULL;
}

/* ---- widths ---- */

typedef struct {
  const life *f;
  isl_pw_aff *width;
  TP_VEC(isl_pw_aff *) piece;
} width_pieces;

static isl_stat add_width_piece(isl_set *dom, isl_aff *a, void *ud) {
  width_pieces *p = ud;
  isl_set_free(dom);
  isl_pw_aff *piece = tp_keep_aff(p->f->S, isl_pw_aff_from_aff(a));
  if (piece) TP_PUSH(p->f->S->a, &p->piece, piece);
  return piece ? isl_stat_ok : isl_stat_error;
}

static const tp_ix *ix_of_piece(const life *f, TP_KEEP isl_pw_aff *piece) {
  isl_aff *a = isl_pw_aff_as_aff(isl_pw_aff_copy(piece));
  const tp_ix *e = a ? tp_ix_of_aff(f->S->ix, 0, NULL, a) : NULL;
  isl_aff_free(a);
  return e;
}

/* Pieces a and b bound the width together with the most that the width has where it exceeds both.
 * NULL: that is no number. */
static const tp_ix *bound_of_pieces(const width_pieces *p, isl_pw_aff *a, isl_pw_aff *b) {
  tp_sched *S = p->f->S;
  const tp_ix *x = ix_of_piece(p->f, a), *y = ix_of_piece(p->f, b);
  if (!x || !y) return NULL;
  const tp_ix *e = x == y ? x : tp_ix_max(S->ix, x, y);
  isl_set *over = isl_pw_aff_gt_set(isl_pw_aff_copy(p->width), isl_pw_aff_copy(a));
  over = isl_set_intersect(over, isl_pw_aff_gt_set(isl_pw_aff_copy(p->width), isl_pw_aff_copy(b)));
  over = isl_set_intersect(over, own_context(p->f));
  isl_bool none = isl_set_is_empty(over);
  if (none != isl_bool_false) return isl_set_free(over), none == isl_bool_true ? e : NULL;
  isl_val *most = isl_pw_aff_max_val(isl_pw_aff_intersect_params(isl_pw_aff_copy(p->width), over));
  if (!most && isl_ctx_last_error(S->ctx) != isl_error_quota)
    isl_ctx_reset_error(S->ctx); /* unbounded */
  bool fits = most && isl_val_is_int(most) == isl_bool_true;
  if (fits) e = tp_ix_max(S->ix, e, tp_ix_const(S->ix, isl_val_get_num_si(most)));
  isl_val_free(most);
  return fits ? e : NULL;
}

/* The least bound of one piece, or of two of which neither is one. */
static const tp_ix *least_bound(const width_pieces *p) {
  int n = p->piece.n;
  const tp_ix *best = NULL, **of = TP_NEWN(p->f->S->a, const tp_ix *, n);
  for (int i = 0; i < n; i++) of[i] = bound_of_pieces(p, p->piece.v[i], p->piece.v[i]);
  for (int i = 0; i < n; i++)
    for (int j = i; j < n; j++) {
      if (j > i && (of[i] || of[j])) continue;
      const tp_ix *e = j == i ? of[i] : bound_of_pieces(p, p->piece.v[i], p->piece.v[j]);
      if (e) best = best ? tp_ix_min(p->f->S->ix, best, e) : e;
    }
  return best;
}

static const tp_ix *extent(const life *f, int k) {
  const tp_sym *b = f->x->dim[k]->bound;
  return b ? tp_ix_sym(f->S->ix, b) : NULL;
}

/* e <= the dim's extent, for all bounds? */
static bool within(const life *f, const tp_ix *e, const tp_ix *full) {
  isl_pw_aff *a = tp_isl_of_ix(f->S->ix, 0, NULL, e), *b = tp_isl_of_ix(f->S->ix, 0, NULL, full);
  isl_set *ok = isl_set_params(isl_pw_aff_le_set(a, b)), *c = own_context(f);
  bool yes = isl_set_is_subset(c, ok) == isl_bool_true;
  isl_set_free(ok);
  isl_set_free(c);
  return yes;
}

static const tp_ix *capped(const life *f, const tp_ix *e, int k) {
  const tp_ix *full = extent(f, k);
  if (!full || tp_ix_is_const(e, NULL)) return e;
  /* then a slot is the index itself */
  if (within(f, full, tp_ix_addc(f->S->ix, e, TP_TUNE_WIDTH_NEARLY))) return full;
  return within(f, e, full) ? e : tp_ix_min(f->S->ix, e, full);
}

typedef struct {
  const life *f;
  int k;
  bool outline;
  isl_pw_aff *most;
} maxima;

/* Do divisions decide where it has which value? */
static bool is_cut_by_divisions(TP_KEEP isl_pw_aff *a) {
  isl_set *where = isl_pw_aff_domain(isl_pw_aff_copy(a));
  isl_basic_set_list *all = isl_set_get_basic_set_list(where);
  bool any = false;
  for (int i = 0; i < isl_basic_set_list_n_basic_set(all); i++) {
    isl_basic_set *b = isl_basic_set_list_get_basic_set(all, i);
    any |= isl_basic_set_dim(b, isl_dim_div) > 0;
    isl_basic_set_free(b);
  }
  isl_basic_set_list_free(all);
  isl_set_free(where);
  return any;
}

/* isl 0.25 follows a NULL where the maximum of several pieces runs out of operations, so each has
 * its own budget and they are put together without one: not where divisions cut them, which has
 * taken a minute (fuzz seed 3046000172). */
static isl_stat piece_max(isl_basic_set *b, void *ud) {
  maxima *m = ud;
  tp_sched *S = m->f->S;
  tp_query(S);
  isl_ctx_set_max_operations(S->ctx, (unsigned long)TP_MIN(S->p->budget, TP_TUNE_WIDTH_BUDGET));
  isl_set *piece = isl_set_from_basic_set(b);
  if (m->outline) piece = isl_set_remove_divs(piece);
  isl_pw_aff *one = isl_set_dim_max(piece, m->k);
  bool known = tp_query_end(S) && one && isl_pw_aff_n_piece(one) <= TP_TUNE_WIDTH_PIECES;
  tp_query(S);
  known = known && !(m->most && (is_cut_by_divisions(one) || is_cut_by_divisions(m->most)));
  if (!known) return isl_pw_aff_free(one), isl_stat_error;
  m->most = m->most ? isl_pw_aff_coalesce(isl_pw_aff_union_max(m->most, one)) : one;
  return isl_pw_aff_n_piece(m->most) <= TP_TUNE_WIDTH_PIECES ? isl_stat_ok : isl_stat_error;
}

static isl_pw_aff *greatest_of_pieces(const life *f, TP_KEEP isl_set *D, int k, bool outline) {
  maxima m = { f, k, outline, NULL };
  bool ok = isl_set_n_basic_set(D) <= TP_TUNE_WIDTH_PIECES;
  ok = ok && isl_set_foreach_basic_set(D, piece_max, &m) == isl_stat_ok;
  return ok ? m.most : isl_pw_aff_free(m.most);
}

/* The greatest D_k, or more where divisions (a read every fourth step, blocks of a shifted dim)
 * make it too hard: that of the polyhedra around its pieces, or of the one around all of them. D
 * has each difference both ways, so the negative half says nothing. */
static isl_pw_aff *greatest(const life *f, TP_KEEP isl_set *D, int k) {
  D = isl_set_lower_bound_si(isl_set_copy(D), isl_dim_set, (unsigned)k, 0);
  D = isl_set_intersect_params(D, own_context(f));
  isl_pw_aff *most = greatest_of_pieces(f, D, k, false);
  if (!most) most = greatest_of_pieces(f, D, k, true);
  if (!most) {
    isl_basic_set *all = isl_set_simple_hull(isl_set_remove_divs(isl_set_copy(D)));
    most = isl_set_dim_max(isl_set_from_basic_set(all), k);
  }
  isl_set_free(D);
  return most;
}

/* 1 + the greatest D_k. NULL: not known. */
static const tp_ix *width_of(const life *f, isl_set *D, int k) {
  tp_sched *S = f->S;
  isl_val *v = isl_set_dim_max_val(isl_set_copy(D), k);
  const tp_ix *w = v && isl_val_is_int(v) == isl_bool_true
      ? tp_ix_const(S->ix, isl_val_get_num_si(v) + 1)
      : NULL;
  isl_val_free(v);
  if (w) return w;
  isl_pw_aff *most = isl_pw_aff_coalesce(greatest(f, D, k));
  width_pieces p = { .f = f, .width = isl_pw_aff_add_constant_val(most, isl_val_one(S->ctx)) };
  bool ok = p.width && isl_pw_aff_foreach_piece(p.width, add_width_piece, &p) == isl_stat_ok;
  const tp_ix *best = ok ? least_bound(&p) : NULL;
  isl_pw_aff_free(p.width);
  return best ? capped(f, best, k) : NULL;
}

static const tp_ix *whole(const life *f, int k) {
  const tp_ix *e = extent(f, k);
  return e ? e : tp_ix_const(f->S->ix, 1);
}

static bool dense(const life *f, int k) { return f->x->dense >> k & 1; }

static isl_set *all_deltas(const life *f) {
  isl_set *D = zero_set(f);
  for (int i = 0; i < f->a->delta.n; i++) D = isl_set_union(D, isl_set_copy(f->a->delta.v[i]));
  if (f->late) D = isl_set_union(D, isl_set_copy(f->late));
  return isl_set_coalesce(D);
}

static bool width_successive(const life *f, bool outermost_first, const tp_ix **width) {
  int n = f->x->ndim;
  isl_set *D = all_deltas(f);
  for (int i = 0; i < n; i++) {
    int k = outermost_first ? i : n - 1 - i;
    width[k] = dense(f, k) ? whole(f, k) : width_of(f, D, k);
    /* the other dims may still be rings */
    if (!width[k] && f->outline) width[k] = whole(f, k);
    if (!width[k]) {
      isl_set_free(D);
      return false;
    }
    D = isl_set_coalesce(isl_set_fix_si(D, isl_dim_set, k, 0));
  }
  isl_set_free(D);
  return true;
}

static double product_at(const life *f, const tp_ix *const *width, int64_t sample) {
  int n = tp_nsym(f->S->ix);
  int64_t *env = TP_NEWN(f->S->a, int64_t, n);
  double r = 1;
  for (int i = 0; i < n; i++)
    env[i] = tp_sym_at(f->S->ix, i)->dim ? sample + tp_sym_at(f->S->ix, i)->dim->order : 5;
  for (int k = 0; k < f->x->ndim; k++) r *= (double)tp_ix_evalq(width[k], env);
  return r;
}

/* ---- reasons ---- */

static const char *read_text(const life *f, tp_place p) {
  const tp_access *a = acc(f, p);
  tp_buf b;
  tp_buf_init(&b);
  tp_putf(
      &b, "%s of %s", a->kind == TP_ACC_UPDATE ? "update" : "read", f->x->name ? f->x->name : "?");
  for (int k = 0; a->at && k < f->x->ndim; k++) {
    tp_puts(&b, k ? ", " : "[");
    tp_ix_print(&b, a->at[k].lo);
    if (a->at[k].range) {
      tp_puts(&b, " .. ");
      tp_ix_print(&b, a->at[k].hi);
    }
  }
  if (a->at && f->x->ndim) tp_puts(&b, "]");
  if (a->pos.file) tp_putf(&b, " at %s:%d", a->pos.file, a->pos.line);
  return tp_buf_give(f->S->a, &b);
}

/* Greatest D_k at sample bounds. */
static int64_t greatest_at_sample(const life *f, isl_set *D, int k) {
  int64_t *env = TP_NEWN(f->S->a, int64_t, tp_nsym(f->S->ix));
  for (int i = 0; i < tp_nsym(f->S->ix); i++) env[i] = tp_sym_at(f->S->ix, i)->dim ? 50 : 5;
  D = tp_isl_at(isl_set_copy(D), env);
  isl_val *v = isl_set_dim_max_val(D, k);
  int64_t r = v && isl_val_is_int(v) == isl_bool_true ? isl_val_get_num_si(v) : -1;
  isl_val_free(v);
  return r;
}

/* The read that asks for most; -1: none. */
static int most_asking(const life *f, int k) {
  answer *a = f->a;
  if (!a) return f->reads.n > 0 ? 0 : -1;
  if (a->asks[k] == NOT_ASKED) {
    int64_t most = -1;
    a->asks[k] = f->last.n > 0 ? 0 : -1;
    for (int i = 0; i < a->delta.n && a->delta.n > 1; i++) {
      int64_t g = greatest_at_sample(f, a->delta.v[i], k);
      if (g > most) {
        most = g;
        a->asks[k] = i;
      }
    }
  }
  return a->asks[k] < 0 ? -1 : f->last.v[a->asks[k]];
}

static const char *dense_reason(const life *f, int k) {
  for (int i = f->writes.n; i < count(f); i++)
    if (acc(f, nth(f, i))->at && acc(f, nth(f, i))->at[k].range) return read_text(f, nth(f, i));
  for (int i = 0; i < count(f); i++) {
    const tp_stmt *s = stmt(f, nth(f, i));
    const tp_access *a = acc(f, nth(f, i));
    for (int d = 0; d < s->ndim && a->at; d++)
      if ((s->vec >> d & 1) && tp_ix_mentions(a->at[k].lo, s->dim[d]))
        return s->pos.file ? tp_printf(f->S->a, "%s runs over all of it at %s:%d", s->name,
                                 s->pos.file, s->pos.line)
                           : tp_printf(f->S->a, "%s runs over all of it", s->name);
  }
  return "made as one block";
}

static const char *reason(const life *f, int k) {
  if (dense(f, k)) return dense_reason(f, k);
  if (tp_ix_is_const(f->x->width[k], NULL) && tp_ix_cst(f->x->width[k]) == 1) return "";
  int at = most_asking(f, k);
  return at < 0 ? "" : read_text(f, f->reads.v[at]);
}

/* ---- arrays that are accessed alike ---- */

typedef TP_VEC(int64_t) words;

/* What an access touches, and in which rows. */
static void put_access(const life *f, words *w, tp_place p) {
  TP_PUSH(f->S->a, w, (int64_t)(intptr_t)acc(f, p)->rel);
  TP_PUSH(f->S->a, w, stmt(f, p)->far);
  TP_PUSH(f->S->a, w, f->version ? f->version[acc(f, p)->arr] : -1);
  for (int c = 0; c < f->ncol; c++) {
    const tp_mem *m = f->isrow[c] ? row_at(way(f, p), f->level[c]) : NULL;
    TP_PUSH(f->S->a, w, m ? (int64_t)(intptr_t)m->row : 0);
  }
}

/* At equal rows, how late the second of two reads is against the first. */
static int later(const life *f, tp_place a, tp_place b) {
  for (int c = 0; c < f->ncol; c++) {
    int d = f->isrow[c] ? 0 : place_at(f, b, f->level[c]) - place_at(f, a, f->level[c]);
    if (d) return d;
  }
  return in_place(f, a) - in_place(f, b);
}

/* Of the reads that touch the same in the same rows, the last: what may not be written before it
 * may not be written before the others. Of equals the first. */
static void last_reads(life *f) {
  tp_hmap seen;
  tp_hmap_init(&seen, f->S->a);
  for (int i = 0; i < f->reads.n; i++) {
    words w = { 0 };
    put_access(f, &w, f->reads.v[i]);
    int *at = tp_hmap_get(&seen, w.v, sizeof *w.v * (size_t)w.n);
    if (at && later(f, f->reads.v[f->last.v[*at]], f->reads.v[i]) > 0) f->last.v[*at] = i;
    if (at) continue;
    tp_hmap_set(&seen, w.v, sizeof *w.v * (size_t)w.n, at = TP_NEW(f->S->a, int));
    *at = f->last.n;
    TP_PUSH(f->S->a, &f->last, i);
  }
}

/* All that conflicts() and the widths look at. */
static answer *answer_of(const life *f, bool *fresh) {
  tp_arena *a = f->S->a;
  words w = { 0 };
  TP_PUSH(a, &w, f->x->ndim);
  TP_PUSH(a, &w, f->x->dense & ((1u << f->x->ndim) - 1));
  for (int k = 0; k < f->x->ndim; k++) TP_PUSH(a, &w, (int64_t)(intptr_t)f->x->dim[k]->bound);
  TP_PUSH(a, &w, f->writes.n);
  TP_PUSH(a, &w, f->last.n);
  TP_PUSH(a, &w, by_blocks(f));
  TP_PUSH(a, &w, f->ncol);
  for (int i = 0; i < f->writes.n + f->last.n; i++) {
    tp_place p = i < f->writes.n ? f->writes.v[i] : f->reads.v[f->last.v[i - f->writes.n]];
    put_access(f, &w, p);
    TP_PUSH(a, &w, i >= f->writes.n && in_place(f, p));
    for (int c = 0; c < f->ncol; c++)
      TP_PUSH(a, &w, f->isrow[c] ? -1 : place_at(f, p, f->level[c]));
  }
  for (int i = 0; i < f->reads.n && f->version; i++) {
    int to = copied_to(f, f->reads.v[i]);
    if (to < 0) continue;
    put_access(f, &w, f->reads.v[i]);
    TP_PUSH(a, &w, to);
  }
  size_t n = sizeof *w.v * (size_t)w.n;
  answer *x = tp_hmap_get(f->known, w.v, n);
  *fresh = !x;
  if (*fresh) tp_hmap_set(f->known, w.v, n, x = TP_NEW(a, answer));
  return x;
}

/* ---- one array ---- */

/* In whole blocks, unless the extent is less. */
static const tp_ix *whole_blocks(const life *f, const tp_ix *width, int k) {
  tp_ictx *ix = f->S->ix;
  int64_t n = f->x->align ? f->x->align[k] : 0;
  const tp_ix *full = extent(f, k);
  if (!n || dense(f, k) || width == full) return width;
  width = tp_ix_mulc(ix, tp_ix_fdiv(ix, tp_ix_addc(ix, width, n - 1), n), n);
  return full ? tp_ix_min(ix, width, full) : width;
}

static void settle(life *f, const tp_ix *const *width, const char *why) {
  for (int k = 0; k < f->x->ndim; k++) f->x->width[k] = whole_blocks(f, width[k], k);
  for (int k = 0; k < f->x->ndim; k++) f->x->why[k] = why ? why : reason(f, k);
}

static void kept_whole(life *f, const char *why) {
  for (int k = 0; k < f->x->ndim; k++) {
    f->x->width[k] = whole(f, k);
    f->x->why[k] = why;
  }
}

/* Where programs have many arrays of many pieces, each takes less time than the one before. */
static void query_exactly(const life *f) {
  tp_query(f->S);
  isl_ctx_set_max_operations(f->S->ctx, (unsigned long)(f->S->p->budget / (1 + *f->hard)));
}

/* Widths from the outermost dim and, if `other`, from the innermost one. False: too hard. */
static bool widths_within(life *f, bool outline, const tp_ix **a, const tp_ix **b, bool *other) {
  tp_sched *S = f->S;
  f->outline = outline;
  f->a->delta.n = 0;
  if (outline) tp_query(S);
  else query_exactly(f);
  bool ok = conflicts(f) && (!both_kinds(f) || late_conflicts(f)) && width_successive(f, true, a);
  *other = ok && f->x->ndim > 1 && !(tp_ix_is_const(a[0], NULL) && tp_ix_cst(a[0]) == 1) &&
      width_successive(f, false, b);
  return tp_query_end(S) && ok;
}

/* Widths for f->a. */
static void find_widths(life *f) {
  int n = f->x->ndim;
  tp_sched *S = f->S;
  const tp_ix **a = TP_NEWN(S->a, const tp_ix *, n), **b = TP_NEWN(S->a, const tp_ix *, n);
  bool other;
  f->a->asks = TP_NEWN(S->a, int, n);
  for (int k = 0; k < n; k++) f->a->asks[k] = NOT_ASKED;
  tp_ask(S, NULL, NULL, NULL);
  f->a->ok = widths_within(f, false, a, b, &other);
  if (!f->a->ok) {
    ++*f->hard;
    tp_ask(S, "how much of '%s' is kept", f->x->name, NULL);
    f->a->ok = widths_within(f, true, a, b, &other);
  }
  if (f->a->ok && other &&
      product_at(f, b, 50) + product_at(f, b, 9) < product_at(f, a, 50) + product_at(f, a, 9))
    a = b;
  f->a->width = a;
}

/* False: too hard. */
static bool analyse(life *f) {
  int n = f->x->ndim;
  tp_sched *S = f->S;
  bool fresh;
  if (!both_kinds(f) && all_points(f)) {
    const tp_ix **w = TP_NEWN(S->a, const tp_ix *, n);
    for (int k = 0; k < n; k++) w[k] = dense(f, k) ? whole(f, k) : tp_ix_const(S->ix, 1);
    settle(f, w, NULL);
    return true;
  }
  columns(f);
  last_reads(f);
  f->a = answer_of(f, &fresh);
  if (fresh) find_widths(f);
  if (!f->a->ok) {
    kept_whole(f, "too hard to analyse: kept whole");
    return false;
  }
  tp_query(S);
  settle(f, f->a->width, NULL);
  tp_query_end(S);
  return true;
}

/* ---- versions ---- */

static bool same_elements(const tp_poly *p, const tp_arr *a, const tp_arr *b) {
  bool same = a->kind == TP_ARR_TEMP && b->kind == TP_ARR_TEMP && a->dtype == b->dtype &&
      a->rank == b->rank && a->ndim == b->ndim;
  for (int i = 0; same && i < a->rank; i++) same = a->shape[i] == b->shape[i];
  same = same && tp_most_of(p, a->val) == tp_most_of(p, b->val);
  for (int d = 0; same && d < a->ndim; d++) {
    same = a->dim[d] == b->dim[d] && (a->order ? a->order[d] : d) == (b->order ? b->order[d] : d);
    same = same && (a->align ? a->align[d] : 0) == (b->align ? b->align[d] : 0);
  }
  return same && !((a->dense ^ b->dense) & ((1u << a->ndim) - 1));
}

/* All accesses of the arrays that lie, or would lie, in one. */
static life as_versions(tp_sched *S, const life *all, const tp_arr *a, const tp_arr *b) {
  static const tp_sym number = { .name = "version", .kind = TP_SYM_DIM };
  int *version = TP_NEWN(S->a, int, S->p->arrs.n), n = 0;
  tp_arr *x = tp_dup(S->a, b, sizeof *b);
  const tp_sym **dim = TP_NEWN(S->a, const tp_sym *, b->ndim + 1);
  for (int d = 0; d < b->ndim; d++) dim[d] = b->dim[d];
  dim[b->ndim] = &number;
  x->dim = dim;
  x->dense &= (1u << x->ndim++) - 1;
  life f = { .S = S, .x = x, .known = all->known, .hard = all->hard, .version = version };
  for (int i = 0; i < S->p->arrs.n; i++) {
    const tp_arr *in = tp_lies_in(S->p->arrs.v[i]);
    version[i] = in == a || in == b ? n++ : -1;
    if (version[i] < 0) continue;
    for (int k = 0; k < all[i].writes.n; k++) TP_PUSH(S->a, &f.writes, all[i].writes.v[k]);
    for (int k = 0; k < all[i].reads.n; k++) TP_PUSH(S->a, &f.reads, all[i].reads.v[k]);
  }
  return f;
}

static void find_version_widths(life *f) {
  f->a->width = TP_NEWN(f->S->a, const tp_ix *, f->x->ndim);
  tp_ask(f->S, "whether changes of '%s' lie in one place", f->x->name, NULL);
  query_exactly(f);
  bool ok = conflicts(f) && width_successive(f, true, f->a->width), known = tp_query_end(f->S);
  *f->hard += !known;
  f->a->ok = known && ok && tp_is_number(f->a->width[f->x->ndim - 1], 1);
}

/* Slots of the dims, if no two versions are wanted at once in one of them. */
static bool one_version(life *f, const tp_ix **width) {
  bool fresh;
  columns(f);
  last_reads(f);
  f->a = answer_of(f, &fresh);
  if (fresh) find_version_widths(f);
  for (int d = 0; f->a->ok && d < f->x->ndim - 1; d++)
    width[d] = whole_blocks(f, f->a->width[d], d);
  return f->a->ok;
}

/* a lies in b from now on, and all that lay in a. */
static void lay_in(tp_sched *S, tp_arr *a, tp_arr *b, const tp_ix **width) {
  for (int i = 0; i < S->p->arrs.n; i++) {
    tp_arr *x = S->p->arrs.v[i];
    if (tp_lies_in(x) == a) x->in = b;
    if (tp_lies_in(x) == b) x->width = width;
  }
}

static bool same_width(const tp_arr *a, const tp_arr *b) {
  bool same = true;
  for (int d = 0; d < a->ndim; d++) same &= a->width[d] == b->width[d];
  return same;
}

/* Do they take less as one? A copy is left, too, where a point is kept along a dim: that is near at
 * hand, and what is kept may go to a file. */
static void join(tp_sched *S, const life *all, tp_arr *a, tp_arr *b, bool copy) {
  if (a == b || !same_elements(S->p, a, b) || (copy && !same_width(a, b))) return;
  life f = as_versions(S, all, a, b);
  const tp_ix **width = TP_NEWN(S->a, const tp_ix *, f.x->ndim);
  if (both_kinds(&f) || !one_version(&f, width)) return;
  life g = { .S = S, .x = b };
  if (product_at(&g, width, 50) < product_at(&g, a->width, 50) + product_at(&g, b->width, 50))
    lay_in(S, a, b, width);
}

static void join_versions(tp_sched *S, const life *all) {
  for (int i = 0; i < S->p->stmts.n; i++) {
    const tp_stmt *s = S->p->stmts.v[i];
    for (int w = 0; w < s->nacc; w++)
      for (int r = 0; r < s->nacc && s->acc[w].kind == TP_ACC_WRITE; r++)
        if (tp_is_version(S->p, s, &s->acc[r], &s->acc[w]))
          join(S, all, tp_lies_in(S->p->arrs.v[s->acc[r].arr]),
              tp_lies_in(S->p->arrs.v[s->acc[w].arr]), !s->acc[r].by);
  }
}

static void crossings(tp_sched *S, life *all) {
  /* guards read ends of any iteration, and are no dependences */
  for (int i = 0; i < S->p->arrs.n; i++)
    all[i].x->cross = count(&all[i]) && !tp_stop_sym(S->p, i) ? common_loops(&all[i]) : 0;
  for (int i = 0; i < S->deps.n; i++)
    if (S->deps.v[i].arr >= 0) {
      tp_arr *x = S->p->arrs.v[S->deps.v[i].arr];
      x->cross = TP_MIN(x->cross, S->deps.v[i].cross);
    }
}

bool tp_live(tp_sched *S) {
  bool all_known = true;
  life *all = TP_NEWN(S->a, life, S->p->arrs.n);
  tp_hmap known;
  int hard = 0;
  tp_hmap_init(&known, S->a);
  for (int i = 0; i < S->p->arrs.n; i++)
    all[i] = (life){ .S = S, .x = S->p->arrs.v[i], .known = &known, .hard = &hard };
  for (int i = 0; i < S->p->stmts.n; i++)
    for (int a = 0; a < S->p->stmts.v[i]->nacc; a++) {
      const tp_access *x = &S->p->stmts.v[i]->acc[a];
      if (x->idle) continue;
      if (x->kind == TP_ACC_WRITE) TP_PUSH(S->a, &all[x->arr].writes, (tp_place){ i, a });
      else TP_PUSH(S->a, &all[x->arr].reads, (tp_place){ i, a });
    }
  crossings(S, all);
  for (int i = 0; i < S->p->arrs.n; i++) {
    life *f = &all[i];
    f->x->in = NULL;
    f->x->width = TP_NEWN(S->a, const tp_ix *, f->x->ndim);
    f->x->why = TP_NEWN(S->a, const char *, f->x->ndim);
    if (f->x->kind != TP_ARR_TEMP)
      kept_whole(f, f->x->kind == TP_ARR_OUTPUT ? "an output" : "given");
    else if (!f->writes.n) kept_whole(f, "never written");
    else all_known &= analyse(f);
  }
  join_versions(S, all);
  return all_known;
}
