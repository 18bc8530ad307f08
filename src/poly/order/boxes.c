/* boxes: cuts statements whose points are no box into statements of a box each, so that calls can
 * run over them.
 *
 *   y[t, l] at { l < L - 1 } and { l = L - 1, t = T - 1 }   =>   y at l < L - 1: a call over all t; y at one point
 *
 * Only the last position of the last layer is needed, and a call over t wants a range of t that is
 * the same for all l. */
#include "poly/sched.h"

typedef struct {
  int n;
  isl_set *v[TP_TUNE_BOXES];
} boxes;

/* Cuts each part in what lies over `shadow` and what does not. False: too many parts. */
static bool cut_by(const tp_sched *S, boxes *b, TP_TAKE isl_set *shadow) {
  bool ok = true;
  for (int i = b->n - 1; i >= 0 && ok; i--) {
    isl_set *in = isl_set_intersect(isl_set_copy(b->v[i]), isl_set_copy(shadow));
    isl_set *out = isl_set_subtract(isl_set_copy(b->v[i]), isl_set_copy(shadow));
    bool two = tp_has_points(S, in) && tp_has_points(S, out);
    ok = !two || b->n < TP_TUNE_BOXES;
    if (two && ok) {
      isl_set_free(b->v[i]);
      b->v[i] = in, in = NULL;
      b->v[b->n++] = out, out = NULL;
    }
    isl_set_free(in);
    isl_set_free(out);
  }
  isl_set_free(shadow);
  return ok;
}

/* Cuts the points of s where the range of one of these dims changes: at the borders of its pieces
 * along the other dims. False: the parts are no boxes. */
static bool find_boxes(tp_sched *S, const tp_stmt *s, uint32_t dims, boxes *b) {
  isl_basic_set_list *all = isl_set_get_basic_set_list(s->dom);
  bool ok = true;
  b->v[b->n++] = isl_set_copy(s->dom);
  for (int i = 0; ok && i < (int)isl_basic_set_list_size(all); i++) {
    isl_set *shadow = isl_set_from_basic_set(isl_basic_set_list_get_at(all, i));
    for (int d = 0; d < s->ndim; d++)
      if (dims >> d & 1) shadow = isl_set_eliminate(shadow, isl_dim_set, d, 1);
    ok = cut_by(S, b, shadow);
  }
  isl_basic_set_list_free(all);
  for (int i = 0; i < b->n; i++) {
    b->v[i] = tp_isl_coalesce(b->v[i]);
    for (int d = 0; ok && d < s->ndim; d++)
      ok = !(dims >> d & 1) || tp_is_product(S, s, b->v[i], d);
  }
  return ok && b->n > 1;
}

/* Cuts statement st, and gives into how many it was. */
static int cut(tp_sched *S, int st, uint32_t dims) {
  const tp_stmt *s = S->p->stmts.v[st];
  uint32_t broken = 0;
  boxes b = { 0 };
  if (isl_set_n_basic_set(s->dom) == 1) return 1;
  for (int d = 0; d < s->ndim; d++)
    if ((dims >> d & 1) && !tp_is_product(S, s, s->dom, d)) broken |= 1u << d;
  if (!broken) return 1;
  tp_ask(S, "which boxes the points of '%s' are", s->name, NULL);
  tp_query(S);
  bool ok = find_boxes(S, s, broken, &b);
  ok = tp_query_end(S) && ok;
  for (int i = 0; i < b.n; i++) {
    if (!ok || i == b.n - 1) isl_set_free(b.v[i]);
    if (!ok || i == b.n - 1) continue;
    isl_set *rest = isl_set_copy(b.v[i + 1]);
    for (int k = i + 2; k < b.n; k++) rest = isl_set_union(rest, isl_set_copy(b.v[k]));
    tp_split_in_two(S, st + i, b.v[i], tp_isl_coalesce(rest));
  }
  return ok ? b.n : 1;
}

bool tp_cut_in_boxes(tp_sched *S, const uint32_t *dims) {
  int n = S->p->stmts.n;
  for (int i = 0, st = 0; i < n; i++) st += cut(S, st, dims[i]);
  return S->p->stmts.n > n;
}
