/* Inside src/plan: what its files ask of regions and windows. */
#ifndef TP_PLAN_PRIV_H
#define TP_PLAN_PRIV_H
#include "plan/plan.h"

enum { TP_MAXLEAD = 32 };
const tp_ix *tp_pbuf_size(tp_ictx *c, const tp_pbuf *x);        /* of its slots and shape */
/* fuse.c: windows of a region */
int tp_windows_on(const tp_region *r, int buf);
bool tp_same_start(const tp_nd *a, const tp_nd *b);             /* buffer, offset and rings; no axis wraps */
/* fn of all pairs of windows on one buffer of which one is written, until it is false. Rows that end are never written. */
typedef bool tp_pairfn(const tp_region *a, const tp_nd *x, const tp_region *b, const tp_nd *y, const void *ud);
bool tp_all_conflicts(const tp_region *a, const tp_region *b, tp_pairfn *fn, const void *ud);
/* tile.c: do two leaves meet at one place of an axis of each only, wherever one of them writes? */
bool tp_meet_along(const tp_plan *p, const tp_region *a, int ka, const tp_region *b, int kb);
/* Leaves the region, whose arrays become its own, n places of its axis k, from `first` on. small: buffers that begin there; NULL: none do. */
void tp_region_cut(tp_ictx *ix, tp_arena *a, tp_region *r, int k, const tp_ix *first, const tp_ix *n, const bool *small);
/* life.c: positions, lifetimes and scopes. inside, by buffer: its values leave no iteration of so many of the outermost loops around its uses; nor of a loop that is its scope already */
enum { TP_INSIDE_ALL = 64 };
void tp_plan_lifetimes(tp_plan *p, const int *inside);
#endif
