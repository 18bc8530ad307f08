/* live: the life of one array, for live.c, times.c, conflicts.c and widths.c. Inside src/poly. */
#ifndef TP_POLY_LIVE_H
#define TP_POLY_LIVE_H
#include "poly/sched.h"

/* the answers that arrays which are accessed alike share */
typedef struct {
  bool ok;
  tp_ix **width;
  tp_sets delta; /* by last read */
  /* per dim: the last read that asks for most, -1: none, NOT_ASKED */
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
  /* passed: dims along which elements that differ never meet, thanks to the outermost `skip`
   * loops */
  uint32_t passed;
  int skip;
  /* the columns of times that differ between its accesses, without those of the skipped loops */
  int ncol, *level;
  bool *isrow;
  /* reads after which no other one comes, whatever is written in between */
  tp_ints last;
  /* how many arrays took too long for an exact answer, so far */
  int *hard;
  /* accesses of several pieces count as their outline */
  bool outline;
  /* by array: its number among those that lie in one, -1: not one of them; NULL: x alone */
  const int *version;
  /* further conflicts, with far statements run as late as they may; NULL: none */
  isl_set *late;
  answer *a;
} life;
enum { NOT_ASKED = -2 };

static inline const tp_stmt *stmt(const life *f, tp_place p) { return f->S->p->stmts.v[p.st]; }
static inline const tp_access *acc(const life *f, tp_place p) { return &stmt(f, p)->acc[p.acc]; }
static inline const tp_sst *way(const life *f, tp_place p) { return &f->S->st[p.st]; }
static inline tp_place nth(const life *f, int i) {
  return i < f->writes.n ? f->writes.v[i] : f->reads.v[i - f->writes.n];
}
static inline int count(const life *f) { return f->writes.n + f->reads.n; }

static inline tp_ix *extent(const life *f, int k) {
  tp_sym *b = f->x->dim[k]->bound;
  return b ? tp_ix_sym(b) : NULL;
}

static inline tp_ix *whole(const life *f, int k) {
  tp_ix *e = extent(f, k);
  return e ? e : tp_ix_const(f->S->ix, 1);
}

static inline bool dense(const life *f, int k) { return f->x->dense >> k & 1; }

static inline const tp_mem *row_at(const tp_sst *s, int l) {
  return l + 1 < s->npath ? s->path[l].mem : NULL;
}

/* ---- times.c ---- */
int tp_life_loops(const life *f); /* how many of the outermost loops all accesses are in */
void tp_life_passed(life *f);     /* fills passed, skip */
/* `next` writes no other element after `first` has written this one and not after `read`. */
bool tp_life_apart(const life *f, tp_place first, tp_place next, tp_place read);
/* Is an element of one version known to be written in another, not as a copy, before it is read? */
bool tp_life_versions_meet(const life *f);
/* The one of the last reads that comes after all writes in an iteration of the skipped loops, and
 * reads all elements: so all exist at once. -1: none. */
int tp_life_phase(const life *f);
/* ---- conflicts.c ---- */
void tp_life_columns(life *f);
/* p's place at level l, in any sequence: odd at a write's place, even between two. */
int tp_life_place_at(const life *f, tp_place p, int l);
/* may the kernel write over this operand? */
bool tp_life_in_place(const life *f, tp_place p);
isl_set *tp_life_context(const life *f); /* an array without points needs no slots */
isl_set *tp_life_zero(const life *f);
/* Does one call write several elements that are not dense? */
bool tp_life_by_blocks(const life *f);
/* The write of what this read's statement copies among the versions; -1: none. */
int tp_life_copied_to(const life *f, tp_place r);
bool tp_life_conflicts(life *f);
bool tp_life_both_kinds(const life *f); /* do both kinds of statements touch it? */
bool tp_life_late_conflicts(life *f);
/* ---- widths.c ---- */
bool tp_life_widths(const life *f, bool outermost_first, tp_ix **width);
#endif
