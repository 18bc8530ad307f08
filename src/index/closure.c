/* closure.c: the points that sequences of hops reach. Tuple ids tell the sets apart, so all hops
 * are one relation. */
#include "index/memo.h"

tp_rel *tp_rel_id(tp_set *s) { return isl_set_identity(s); }
tp_rel *tp_rel_compose(tp_rel *a, tp_rel *b) { return tp_memo_op(TP_ASK_COMPOSE, a, b); }
tp_rel *tp_rel_or(tp_rel *a, tp_rel *b) { return tp_memo_op(TP_ASK_JOIN, a, b); }

static isl_id *tag(tp_ictx *c, int i) {
  char name[16];
  snprintf(name, sizeof name, "n%d", i);
  return isl_id_alloc(tp_isl_ctx(c), name, NULL);
}

static isl_set *tagged(tp_ictx *c, tp_set *s, int i) {
  return isl_set_set_tuple_id(isl_set_copy(s), tag(c, i));
}

static isl_union_set *tagged_sets(tp_ictx *c, int n, tp_set *const *set) {
  isl_union_set *all = isl_union_set_empty(tp_isl_params(c));
  for (int i = 0; i < n; i++)
    all = isl_union_set_union(all, isl_union_set_from_set(tagged(c, set[i], i)));
  return all;
}

static isl_union_map *tagged_hops(tp_ictx *c, int nhop, const tp_hop *hop) {
  isl_union_map *all = isl_union_map_empty(tp_isl_params(c));
  for (int k = 0; k < nhop; k++) {
    isl_map *m = isl_map_set_tuple_id(isl_map_copy(hop[k].rel), isl_dim_in, tag(c, hop[k].from));
    all = isl_union_map_union(
        all, isl_union_map_from_map(isl_map_set_tuple_id(m, isl_dim_out, tag(c, hop[k].to))));
  }
  return isl_union_map_coalesce(all);
}

/* In the space of set[i]. */
static tp_set *untagged(tp_ictx *c, isl_union_set *all, tp_set *like, int i) {
  isl_set *s = tagged(c, like, i);
  isl_set *part = isl_union_set_extract_set(all, isl_set_get_space(s));
  isl_set_free(s);
  return tp_isl_coalesce(isl_set_reset_tuple_id(part));
}

bool tp_set_closure(tp_ictx *c, int n, tp_set **set, int nhop, const tp_hop *hop) {
  isl_bool exact = isl_bool_error;
  isl_union_map *plus = isl_union_map_transitive_closure(tagged_hops(c, nhop, hop), &exact);
  isl_union_set *all = isl_union_set_union(
      isl_union_set_apply(tagged_sets(c, n, set), plus), tagged_sets(c, n, set));
  bool ok = all && exact == isl_bool_true;
  for (int i = 0; ok && i < n; i++) {
    tp_set *s = untagged(c, all, set[i], i);
    ok = s != NULL;
    if (ok) isl_set_free(set[i]), set[i] = s;
  }
  isl_union_set_free(all);
  return ok;
}
