/* The bridge to isl, for src/poly and src/index. tp_set is isl_set, tp_rel is isl_map. Spaces have
 * no tuple ids unless src/poly sets them; dims are in domain order, by place. Parameters are
 * bounds: ids with the bound's name and the tp_sym as user pointer. Products of bounds in an index
 * are refused earlier (affine). */
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
/* Operations of a question without a smaller budget, some six seconds; then it fails. */
enum { TP_ISL_MOST = 30000000 };
/* every bound, by id */
TP_GIVE isl_space *tp_isl_params(tp_ictx *c);
/* {[dims] : } */
TP_GIVE isl_space *tp_isl_space(tp_ictx *c, int n);
/* all bounds >= least */
TP_GIVE isl_set *tp_isl_context(tp_ictx *c, int64_t least);
TP_GIVE isl_set *tp_isl_with_bounds(tp_ictx *c, TP_KEEP isl_set *s, int64_t least);
/* The bound of parameter i; the place of a bound's parameter, -1: none. */
const tp_sym *tp_isl_param(TP_KEEP isl_space *space, int i);
int tp_isl_place(TP_TAKE isl_space *space, const tp_sym *bound);
/* At the values of env; the same flat and without parameters. */
TP_GIVE isl_set *tp_isl_at(TP_TAKE isl_set *s, const int64_t *env);
TP_GIVE isl_set *tp_isl_numbers(TP_TAKE isl_set *s, const int64_t *env);
/* a point of such a set */
void tp_isl_point(TP_TAKE isl_point *p, int n, int64_t *x);
/* Does c mention the set dim? alone: and no other. */
bool tp_isl_concerns(TP_KEEP isl_constraint *c, int dim, bool *alone);
/* on the space of dims */
TP_GIVE isl_pw_aff *tp_isl_of_ix(tp_ictx *c, int n, const tp_sym *const *dims, const tp_ix *e);
TP_GIVE isl_set *tp_isl_of_cond(tp_ictx *c, int n, const tp_sym *const *dims, const tp_ix *cond);
TP_GIVE isl_map *tp_isl_of_at(
    tp_ictx *c, int nfrom, const tp_sym *const *from, int nto, const tp_at *at); /* tp_rel_at */
/* *ok false: a fraction, or too large. */
int64_t tp_isl_val(TP_TAKE isl_val *v, bool *ok);
/* dims: its input dims; NULL: a division without an explicit form. */
const tp_ix *tp_ix_of_aff(tp_ictx *c, int n, const tp_sym *const *dims, TP_KEEP isl_aff *a);
/* Several pieces: as their min or max, if that is the function; else NULL. */
const tp_ix *tp_ix_of_pw_aff(tp_ictx *c, int n, const tp_sym *const *dims, TP_KEEP isl_pw_aff *p);
/* isl's coalescing may add points to a union with divisions (0.25 does): then these leave it as it
 * is. */
bool tp_isl_divided(TP_KEEP isl_set *s); /* a union with divisions */
TP_GIVE isl_set *tp_isl_coalesce(TP_TAKE isl_set *s);
TP_GIVE isl_map *tp_isl_coalesce_map(TP_TAKE isl_map *m);
/* The hull of many pieces: questions about all pairs of them would take for ever. */
isl_map *tp_isl_few(TP_TAKE isl_map *m);
/* isl's own fails where divs are unknown */
isl_set *tp_isl_gist(TP_TAKE isl_set *s, TP_TAKE isl_set *context);
const tp_ix *tp_cond_of_set(tp_ictx *c, int n, const tp_sym *const *dims, TP_KEEP isl_set *s);
#endif
