/* fusion: the groups of components of one depth, each a loop or a leaf, for driver.c, fusion.c and
 * moves.c. */
#ifndef TP_POLY_FUSION_H
#define TP_POLY_FUSION_H
#include "poly/sched.h"

typedef struct group {
  bool loop;
  tp_sym *label;
  int s;
  bool pinned;
  TP_VEC(int) scc;
  int pos;
} group;

typedef struct {
  TP_VEC(int) in, out;
} arc_ends; /* a component's arcs from and to others */

typedef struct fusion {
  tp_sched *S;
  tp_level *L;
  arc_ends *end;
  /* by component: arcs from components not yet placed */
  int *waiting;
  group **of;          /* by component */
  TP_VEC(group *) all; /* in order */
  tp_ints *readers;    /* by array: arcs of its reads */
  int *list, nlist;
  bool *in; /* scratch, by component: a set */
} fusion;

static inline const tp_dep *dep(const fusion *f, int e) {
  return tp_dep_of(f->S, &f->L->arcs.v[e]);
}
static inline tp_scc *scc_of(const fusion *f, int st) { return &f->L->scc[f->L->of[st]]; }
static inline group *group_of(const fusion *f, int st) { return f->of[f->L->of[st]]; }
static inline int pick_sign(const tp_scc *c, int s) {
  return c->pick >= 0 && c->cand[c->pick].ok[s < 0];
}
static inline tp_sym *pick_label(const tp_scc *c) {
  return c->pick >= 0 ? c->cand[c->pick].label : NULL;
}

static inline int dim_in(const fusion *f, int st, const group *g) {
  return tp_dim_of(f->S, st, g->label);
}

static inline bool is_leaf(const tp_scc *c) { return !c->left && !c->rec; }

/* ---- fusion.c ---- */
/* Offset of a member in its component; tp_fusion_shift adds the component's shift: the member's row
 * is s * dim + that. */
tp_wt tp_fusion_offset(const fusion *f, int st, int s);
tp_wt tp_fusion_shift(const fusion *f, int st, int s);
void tp_fuse(fusion *f);
void tp_fusion_move(fusion *f); /* moves.c */
#endif
