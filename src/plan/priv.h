/* Inside src/plan: what its files ask of regions and windows. */
#ifndef TP_PLAN_PRIV_H
#define TP_PLAN_PRIV_H
#include "plan/plan.h"

enum { TP_MAXLEAD = 32 };
const tp_ix *tp_pbuf_size(tp_ictx *c, const tp_pbuf *x); /* of its slots and shape */
/* fuse.c: windows of a region */
int tp_windows_on(const tp_region *r, int buf);
/* fn of all pairs of windows on one buffer of which one is written, until it is false. Rows that
 * end are never written. */
typedef bool tp_pairfn(
    const tp_region *a, const tp_nd *x, const tp_region *b, const tp_nd *y, const void *ud);
bool tp_all_conflicts(const tp_region *a, const tp_region *b, tp_pairfn *fn, const void *ud);
/* tile.c. The dim of its buffer, shape after slots, along which the window moves with axis k; -1:
 * it is not known, -2: it does not move. Every axis moves along a dim of its own. */
int tp_moves_along(const tp_plan *p, const tp_region *r, const tp_nd *x, int k);
bool tp_is_regular(const tp_plan *p, const tp_region *r, const tp_nd *x);
int64_t tp_extent_of_tiles(const tp_ix *e); /* places; -1: not known, and the bound of a dim */
bool tp_fits_tile(const tp_region *r);      /* may it go over tiles, whatever it touches? */
/* Of its axis k the region goes over n places from `first` on; in buffers that are small (by
 * number) they are the first ones; small NULL: none are. */
void tp_cut_axis(
    tp_plan *p, tp_region *r, int k, const tp_ix *first, const tp_ix *n, const bool *small);
/* How many of `all` places a tile of b from `first` on has. */
const tp_ix *tp_places_of_tile(tp_ictx *ix, const tp_ix *all, int64_t b, const tp_ix *first);
/* A loop over tiles of b of `all` places, around n nodes. */
tp_pnode *tp_loop_over_tiles(
    tp_plan *p, const tp_sym *var, const tp_ix *all, int64_t b, int n, tp_pnode **v);
bool tp_holds_loop(const tp_pnode *x); /* strip.c: is it one, or is there one in it? */
/* Do two leaves meet at one place of an axis of each only, wherever one of them writes? */
bool tp_meet_along(const tp_plan *p, const tp_region *a, int ka, const tp_region *b, int kb);
/* life.c: positions, lifetimes and scopes. inside, by buffer: its values leave no iteration of so
 * many of the outermost loops around its uses; nor of a loop that is its scope already */
enum { TP_INSIDE_ALL = 64 };
void tp_plan_lifetimes(tp_plan *p, const int *inside);
void tp_plan_rows(tp_plan *p); /* rows.c */
/* strip.c: inside, of all buffers that there are then. precise: no sum is added up in parts */
int *tp_plan_strips(tp_plan *p, const int *inside, bool precise);
/* n + 1 of that size */
void *tp_with_first(tp_arena *a, const void *first, const void *rest, size_t size, int n);
/* fuse.c. Nothing goes past a callback: what is there when it runs is seen */
bool tp_is_wall(const tp_pnode *x);
void tp_plan_widened(tp_plan *p, bool fuse); /* widened.c */
void tp_plan_forward(tp_plan *p);            /* forward.c */
/* absorb.c: a loop around one leaf becomes an axis of it; false: it stays */
bool tp_absorb_loop(tp_plan *p, tp_pnode *x);
bool tp_plan_absorb(tp_plan *p); /* absorb.c: has it any? */
/* team.c: may it make an integer without a value, or the most of none? */
bool tp_loop_fails(const tp_plan *p, const tp_region *r);
#endif
