/* isl: the bridge to isl, for src/poly and src/index alone: tp_set is isl_set, tp_rel is isl_map.
 * Spaces have no tuple ids unless src/poly sets them. A set of a tensor or statement has its dims
 * positionally in domain order. Parameters are bounds: an isl_id with the bound's name and the
 * tp_sym as user pointer. A product of bounds is no index, so parameters are symbols only. */
#ifndef TP_INDEX_ISL_H
#define TP_INDEX_ISL_H
#include "index/index.h"
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/val.h>
#include <isl/point.h>
#include <isl/space.h>
#include <isl/local_space.h>
#include <isl/aff.h>
#include <isl/set.h>
#include <isl/map.h>
#include <isl/union_set.h>
#include <isl/union_map.h>
#include <isl/constraint.h>
#include <isl/ilp.h>
#include <isl/options.h>

isl_ctx *tp_isl_ctx(tp_ictx *c);
/* Operations that a question may take where no smaller budget is set; then it fails
 * (tp_isl_check). About six seconds. */
enum { TP_ISL_MOST = 30000000 };
/* every bound of c, in order of ids */
TP_GIVE isl_space *tp_isl_params(tp_ictx *c);
/* n set dims and these parameters */
TP_GIVE isl_space *tp_isl_space(tp_ictx *c, int n);
/* all bounds >= least, as a parameter set; s for such bounds */
TP_GIVE isl_set *tp_isl_context(tp_ictx *c, int64_t least);
TP_GIVE isl_set *tp_isl_with_bounds(tp_ictx *c, TP_KEEP isl_set *s, int64_t least);
/* The bound that parameter i stands for; the place of a bound's parameter, -1: it has none. */
tp_sym *tp_isl_param(TP_KEEP isl_space *space, int i);
int tp_isl_place(TP_TAKE isl_space *space, tp_sym *bound);
/* s with its parameters at the values of env; the same without parameters and flat, to visit points
 * one by one. */
TP_GIVE isl_set *tp_isl_at(TP_TAKE isl_set *s, const int64_t *env);
TP_GIVE isl_set *tp_isl_numbers(TP_TAKE isl_set *s, const int64_t *env);
/* The coordinates of a point of such a set. */
void tp_isl_point(TP_TAKE isl_point *p, int n, int64_t *x);
/* Does c mention set dim `dim`? alone: and no other dim. */
bool tp_isl_concerns(TP_KEEP isl_constraint *c, int dim, bool *alone);
/* Translate to isl, on the space of n dims. */
TP_GIVE isl_pw_aff *tp_isl_of_ix(tp_ictx *c, int n, tp_dims dims, tp_ix *e);
TP_GIVE isl_set *tp_isl_of_cond(tp_ictx *c, int n, tp_dims dims, tp_ix *cond);
TP_GIVE isl_map *tp_isl_of_at(
    tp_ictx *c, int nfrom, tp_dims from, int nto, const tp_at *at); /* tp_rel_at */
/* Translate back. An isl_val as i64; clears *ok for fractions and values beyond i64. */
int64_t tp_isl_val(TP_TAKE isl_val *v, bool *ok);
/* isl takes a `long`, which has 32 bits on Windows. */
TP_GIVE isl_val *tp_isl_int(isl_ctx *ctx, int64_t v);
/* The aff's input dims are named by dims[]; NULL if it has a division isl could not make
 * explicit. */
tp_ix *tp_ix_of_aff(tp_ictx *c, int n, tp_dims dims, TP_KEEP isl_aff *a);
/* One piece: its aff. Several: as a min or max of the pieces when it is one on its domain, else
 * NULL. */
tp_ix *tp_ix_of_pw_aff(tp_ictx *c, int n, tp_dims dims, TP_KEEP isl_pw_aff *p);
/* isl's coalescing may add points to a union with divisions (0.25 does): these then keep it. */
bool tp_isl_divided(TP_KEEP isl_set *s); /* a union with divisions */
TP_GIVE isl_set *tp_isl_coalesce(TP_TAKE isl_set *s);
TP_GIVE isl_map *tp_isl_coalesce_map(TP_TAKE isl_map *m);
/* The hull of a relation of many pieces: a question about all pairs of pieces would take for
 * ever. */
isl_map *tp_isl_few(TP_TAKE isl_map *m);
/* isl_set_gist, after divisions are made explicit, which it needs */
isl_set *tp_isl_gist(TP_TAKE isl_set *s, TP_TAKE isl_set *context);
tp_ix *tp_cond_of_set(tp_ictx *c, int n, tp_dims dims, TP_KEEP isl_set *s);
#endif
