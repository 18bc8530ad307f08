/* The tree of a plan: walks over its nodes, and functions that make nodes. tree.c */
#ifndef TP_PLAN_TREE_H
#define TP_PLAN_TREE_H
#include "plan/plan.h"

/* A walk through x and all below: `for each node`, parents first, or kids first, whose parents may
 * then be changed. In the loop k.x is the node at hand. */
enum { TP_DEEP = 256 };
typedef struct tp_tour {
  tp_pnode *x;
  tp_nd *nd; /* TP_EACH_WINDOW */
  bool kids_first;
  int n, window;
  struct {
    tp_pnode *x;
    int next;
  } at[TP_DEEP];
} tp_tour;
bool tp_tour_next(tp_tour *t);
#define TP_TOUR(k, root, up) \
  for (tp_tour k = { .kids_first = up, .n = 1, .at[0] = { (tp_pnode *)(root), -1 } }; \
       tp_tour_next(&k);)
#define TP_EACH_NODE(k, root)  TP_TOUR (k, root, false)
#define TP_KIDS_FIRST(k, root) TP_TOUR (k, root, true)
/* Goes to the next window on a buffer, in the order of nodes: k.nd, window k.window - 1 of its
 * node. */
bool tp_tour_window(tp_tour *t);
#define TP_EACH_WINDOW(k, root) \
  for (tp_tour k = { .n = 1, .at[0] = { (tp_pnode *)(root), -1 } }; tp_tour_window(&k);)
void tp_tour_skip(tp_tour *t); /* goes on behind the node at hand, not into it */

bool tp_has(const tp_pnode *x, tp_pkind kind); /* is x of the kind, or a node below? */
/* Windows of a node: a region's, inputs first, or what a LOAD reads; then those of its rows. */
/* Does the node itself, not nodes in it, mention the symbol? */
bool tp_node_mentions_sym(const tp_pnode *x, tp_sym *s);
/* Does the loop's or branch's own text mention an end by data? */
bool tp_plan_by_data(const tp_plan *p, const tp_pnode *x);
int tp_node_windows(const tp_pnode *x);
tp_nd *tp_node_window(const tp_pnode *x, int i);

typedef TP_VEC(tp_pnode *) tp_pnodes;
void tp_put_row(tp_arena *a, tp_pnodes *to, tp_pnode *x); /* appends x, sequences taken apart */
tp_pnode *tp_plan_seq(tp_arena *a, int n, tp_pnode *const *v); /* of one node: that node */
tp_pnode *tp_plan_leaf(tp_arena *a, tp_region *r);
/* x becomes y, and keeps its parent. */
void tp_become(tp_pnode *x, const tp_pnode *y);
const tp_pnode *tp_first_leaf(const tp_pnode *x); /* NULL: there is none */
tp_region *tp_only_leaf(const tp_pnode *x);       /* NULL: there is more in it, or no region */
int tp_plan_leaves(const tp_pnode *x);            /* regions in it */
int *tp_plan_uses(const tp_plan *p);  /* windows on each buffer, and 1 where it holds an output */
bool tp_is_behind(const tp_pnode *x); /* is it inside a BEHIND? Goes by x->up */
/* May nothing move past x? It is no leaf, or a callback, which sees the values of its time. */
bool tp_is_wall(const tp_pnode *x);
/* Does what is inside run once, in order? */
static inline bool tp_is_row(const tp_pnode *x) {
  return x->kind == TP_P_SEQ || x->kind == TP_P_BEHIND;
}
void tp_plan_number(tp_plan *p); /* positions of the nodes */
/* A tile of b places of `all`, n of them from `first` on; a loop over such tiles around n nodes. */
typedef struct tp_tile {
  tp_sym *var;
  tp_ix *all, *first, *n;
  int64_t b;
} tp_tile;
tp_tile tp_tile_of(tp_plan *p, const char *name, tp_ix *all, int64_t b);
tp_pnode *tp_loop_over_tiles(tp_plan *p, const tp_tile *t, int n, tp_pnode **v);
#endif
