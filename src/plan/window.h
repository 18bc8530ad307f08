/* Windows of regions: are two the same, which dims of its buffer does one go along, and how do they
 * change when an axis is cut? window.c */
#ifndef TP_PLAN_WINDOW_H
#define TP_PLAN_WINDOW_H
#include "plan/plan.h"

tp_ix *tp_pbuf_size(tp_ictx *c, const tp_pbuf *x); /* in elements, of slots and shape */
/* of axis i, slots before shape */
tp_ix *tp_pbuf_stride(tp_ictx *c, const tp_pbuf *x, int i);
/* Do both lie on the same rings, after n symbols are replaced in a? */
bool tp_same_rings(const tp_nd *a, const tp_nd *b, int n, tp_dims from, tp_ixs to);
bool tp_same_exprs(int n, tp_ixs x, tp_ixs y);
/* Are buffer, offset and rings the same, and does no axis wrap? */
bool tp_same_start(const tp_nd *a, const tp_nd *b);
/* The same start, and the same strides along the first n axes? */
bool tp_same_window(const tp_nd *a, const tp_nd *b, int n);
/* The same windows, and own axes: do both see the same elements? */
bool tp_same_elements(const tp_nd *a, const tp_nd *b, int n);
int tp_windows_on(const tp_region *r, int buf); /* how many of its windows are on buf */
bool tp_region_writes(const tp_region *r, int buf);
/* Calls fn for all pairs of windows on one buffer of which one is written, until it is false. Rows
 * that end are never written. */
typedef bool tp_pairfn(
    const tp_region *a, const tp_nd *x, const tp_region *b, const tp_nd *y, const void *ud);
bool tp_all_conflicts(const tp_region *a, const tp_region *b, tp_pairfn *fn, const void *ud);
/* The dim, shape after slots, whose places are `stride` apart; -1: none. */
int tp_pbuf_dim(const tp_plan *p, const tp_pbuf *b, tp_ix *stride);
/* How far a window moves from one iteration over var to the next; NULL: not always as far, or along
 * a ring, unless it goes over the ring by one. */
tp_ix *tp_step_of(const tp_region *r, const tp_nd *x, tp_sym *var, bool rings);
/* The place in each dim, `off` elements into the buffer, from which on n places (< 0: not known)
 * lie inside of each but the outermost, so that no two are one element. False: there is none. */
bool tp_places_of(const tp_plan *p, const tp_pbuf *b, int64_t off, const int64_t *n, int64_t *lo);
/* Gives a copied region's window strides along the same dims of a buffer that has a new layout. */
void tp_lie_anew(
    const tp_plan *p, const tp_region *r, tp_nd *x, const tp_pbuf *was, const tp_pbuf *now);
/* The dim of its buffer, shape after slots, along which the window moves with axis k; -1: it is not
 * known, -2: it does not move. Every axis moves along a dim of its own. */
int tp_moves_along(const tp_plan *p, const tp_region *r, const tp_nd *x, int k);
bool tp_is_regular(const tp_plan *p, const tp_region *r, const tp_nd *x);
/* Do two leaves meet at one place of an axis of each only, wherever one of them writes? */
bool tp_meet_along(const tp_plan *p, const tp_region *a, int ka, const tp_region *b, int kb);

bool tp_known_most(tp_ix *e, int64_t *n); /* a known number that e never exceeds */
bool tp_is_pure_env(const tp_region *r);  /* a call of a pure environment? */
int64_t tp_extent_of_tiles(tp_ix *e);     /* places; -1: not known, or a dim's bound */
bool tp_fits_tile(const tp_region *r);    /* may it go over tiles, whatever it touches? */
/* may it make an integer that has no value, or the most of no elements? */
bool tp_loop_fails(const tp_plan *p, const tp_region *r);
tp_dtype tp_operand_type(const tp_plan *p, const tp_region *r, int in); /* of a micro */
bool tp_axis_is_named(const tp_region *r, int k); /* does a number of the body mention it? */
/* Operands that are micros were written -1 - k as long as inputs were not known: sets them. */
void tp_settle_micros(tp_region *r);
/* A copy whose windows and axes may be changed. */
tp_region *tp_region_copy(const tp_plan *p, const tp_region *r);
/* Makes the region, such a copy, go over n places of its axis k from `first` on; in small buffers
 * (by number) these are the first ones; small NULL: none are. */
void tp_cut_axis(tp_region *r, int k, tp_ix *first, tp_ix *n, const bool *small);
/* Makes the loop around the region, such a copy, its first axis, along which window i moves by
 * by[i]. */
void tp_add_axis(const tp_plan *p, tp_region *r, const tp_pnode *loop, tp_ixs by);

enum { TP_TILED = 64 };
/* n leaves that go over an axis of one extent; dim: by buffer, the one that shrinks to a tile of it
 * where only these leaves see the buffer; < 0: none */
typedef struct tp_tiled {
  tp_plan *p;
  tp_ix *extent;
  int n;
  tp_pnode *leaf[TP_TILED];
  int axis[TP_TILED];
  int *dim;
} tp_tiled;
/* Is it known where the window lies along each dim, should dim d of its buffer shrink? */
bool tp_may_shrink(const tp_plan *p, const tp_nd *x, int d);
/* Puts the n nodes at v, which hold the leaves, into a loop over tiles of so many places. */
tp_pnode *tp_over_tiles(const tp_tiled *t, const char *name, int64_t places, int n, tp_pnode **v);
#endif
