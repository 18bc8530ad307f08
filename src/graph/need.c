/* need.c: the points of every node that something needs, as sets over all bounds.
 *
 * One sweep from consumers to producers, component by component. In a component without cycles each
 * edge is applied once. In a cycle the sets are a least fixpoint, looked for in the cheapest way
 * that finds it: up     a few rounds from what the outside needs; most recurrences are asked for at
 * every point, which stands after one; down   a few rounds from everything. What stands there is a
 * fixpoint, and a program without cyclic values has only one: a point of it that is not needed
 *          would be in it because of another such point, that one because of another, and so on for
 * ever, in a finite domain. (h[T-1] alone.) isl    the transitive closure of the composed cycles,
 * where isl says it is exact (h[5] alone). Where all three fail, or cost too much, a superset
 * stands that can refuse a program which a more exact set would accept, and never lets one through
 * (tp_need_stays asks it again of the graph that is scheduled): two rounds of `down`, or one, or
 * everything, as isl's budget allows, or, if that asks nothing more of bounds, what no round makes
 * larger when all that bounds it and does not stand is dropped, inside one piece around one round
 * of `down`. That is one piece a node, so the loops over it are what one would write: decoding with
 * a window else had pieces for each of the last layers.
 *
 * Sets that are the whole box of their domain are one shared object, and an identity edge within
 * one domain hands its set on: so most comparisons are of pointers. A NULL set is "not needed" here
 * and becomes an empty one at the end; that isl failed is asked of isl. */
#include "graph/core.h"

enum { ROUNDS = TP_TUNE_NEED_ROUNDS };
enum {
  BUDGET = TP_TUNE_NEED_BUDGET,
  BUDGET_NODE = TP_TUNE_NEED_PER_NODE,
  BUDGET_HULLS = TP_TUNE_NEED_HULLS,
  BUDGET_TRIM = TP_TUNE_NEED_TRIM
};

typedef struct {
  int ndom;
  const tp_sym *const *dom;
  tp_set *box;
} boxed;

typedef struct sweep {
  tp_graph *g;
  tp_set **need; /* by node id, owned by the result */
  int *scc;
  /* in a component: starts and ends every piece of a cycle */
  bool *cut;
  tp_set **have, **next; /* of the component at work, by node id */
  int *count;            /* scratch, by node id */
  tp_rel **path;         /* scratch, by node id */
  tp_rel ***rel;         /* by node id and edge, made on first use */
  TP_VEC(boxed) boxes;
  /* of the runs to which nothing is given for this dim: no dim ends then; NULL: of all others */
  const tp_sym *zero;
  /* is a superset to be in one piece? by a component's first member: was one taken, here or in the
   * sweep before? */
  bool widen, *lost;
} sweep;

/* members: cut ones first, then consumers before producers */
typedef struct {
  int n;
  tp_node **node;
} comp;

/* ---- sets ---- */

static TP_KEEP tp_set *box_of(sweep *s, const tp_node *n) {
  for (int i = 0; i < s->boxes.n; i++)
    if (tp_dom_same(n->ndom, n->dom, s->boxes.v[i].ndom, s->boxes.v[i].dom))
      return s->boxes.v[i].box;
  tp_set *box = tp_set_box(s->g->ix, n->ndom, n->dom);
  if (s->zero) box = tp_set_nothing(s->g, box, n->ndom, n->dom, s->zero);
  TP_PUSH(&s->g->arena, &s->boxes, (boxed){ n->ndom, n->dom, box });
  return box;
}

/* The shared box if a is all of it. */
static tp_set *canonical(sweep *s, const tp_node *n, TP_TAKE tp_set *a) {
  tp_set *box = box_of(s, n);
  if (!a || a == box || !tp_set_subset(s->g->ix, box, a)) return a;
  tp_set_free(a);
  return tp_set_copy(box);
}

static void replace(tp_set **at, TP_TAKE tp_set *a) {
  tp_set_free(*at);
  *at = a;
}

static void join(sweep *s, const tp_node *n, tp_set **at, TP_TAKE tp_set *a) {
  if (!a) return;
  if (!*at) *at = a;
  else if (*at == a || *at == box_of(s, n) || tp_set_subset(s->g->ix, a, *at)) tp_set_free(a);
  else *at = canonical(s, n, tp_set_or(*at, a));
}

/* ---- edges ---- */

/* Parameters not yet closed and gradients not yet expanded are leaves: what they need is not known
 * before. */
static int operands(const tp_node *n) {
  return n->op == TP_OP_PARAM || n->op == TP_OP_GRAD ? 0 : n->nin;
}

static bool is_identity(const tp_node *n, int k) {
  const tp_node *x = n->in[k].src.node;
  return n->op != TP_OP_READ && n->op != TP_OP_MERGE && n->op != TP_OP_ACCUM &&
      tp_dom_same(n->ndom, n->dom, x->ndom, x->dom);
}

static TP_KEEP tp_rel *rel_of(sweep *s, const tp_node *n, int k) {
  tp_rel ***all = &s->rel[n->id];
  if (!*all) *all = TP_NEWN(&s->g->arena, tp_rel *, n->nin);
  if (!(*all)[k]) (*all)[k] = tp_edge_rel(s->g, n, k);
  return (*all)[k];
}

/* What operand k must have where n is needed at `from`; points outside its domain are reported by
 * tp_need_check and left out here. */
static TP_GIVE tp_set *image(sweep *s, const tp_node *n, int k, TP_KEEP tp_set *from) {
  const tp_node *x = n->in[k].src.node;
  if (!from || is_identity(n, k)) return tp_set_copy(from);
  tp_set *to = tp_set_apply(tp_set_copy(from), tp_rel_copy(rel_of(s, n, k)));
  for (int i = 0; i < s->g->stops.n; i++)
    if (!s->zero && !s->g->stops.v[i].end && tp_edge_crosses(n, k, &s->g->stops.v[i]))
      to = tp_set_unended(s->g, to, &s->g->stops.v[i]);
  return canonical(s, x, tp_set_and(to, tp_set_copy(box_of(s, x))));
}

/* ---- one round through a component ---- */

static bool inside(const sweep *s, const tp_node *n, const tp_node *x) {
  return s->scc[n->id] == s->scc[x->id];
}

/* From `have` of the cut members to what they need of each other, in `next`; `have` of the others
 * is made on the way. */
static void go_round(sweep *s, const comp *c) {
  for (int i = 0; i < c->n; i++) {
    int id = c->node[i]->id;
    replace(s->cut[id] ? &s->next[id] : &s->have[id], tp_set_copy(s->need[id]));
  }
  for (int i = 0; i < c->n; i++) {
    const tp_node *n = c->node[i];
    for (int k = 0; k < operands(n); k++) {
      const tp_node *x = n->in[k].src.node;
      if (inside(s, n, x))
        join(s, x, s->cut[x->id] ? &s->next[x->id] : &s->have[x->id],
            image(s, n, k, s->have[n->id]));
    }
  }
}

static bool equal(sweep *s, tp_set *a, tp_set *b) {
  return a == b || (a && b && tp_set_equal(s->g->ix, a, b));
}

/* have := next; were they the same already? */
static bool settle(sweep *s, const comp *c) {
  bool same = true;
  for (int i = 0; i < c->n; i++) {
    int id = c->node[i]->id;
    if (!s->cut[id]) continue;
    if (!equal(s, s->have[id], s->next[id])) {
      same = false;
      replace(&s->have[id], tp_set_copy(s->next[id]));
    }
  }
  return same;
}

static bool rounds(sweep *s, const comp *c) {
  for (int r = 0; r < ROUNDS; r++) {
    go_round(s, c);
    if (settle(s, c)) return true;
  }
  return false;
}

/* ---- closure of the cycles ---- */

typedef TP_VEC(tp_hop) hops;

/* The hops from cut member i: its edges composed along every path that meets no other cut member
 * before its end. */
static void hops_from(sweep *s, const comp *c, int i, hops *out) {
  tp_rel **path = s->path;
  path[c->node[i]->id] = tp_rel_id(tp_set_copy(box_of(s, c->node[i])));
  for (int m = 0; m < c->n; m++) {
    const tp_node *n = c->node[m];
    if (!path[n->id]) continue;
    for (int k = 0; k < operands(n); k++) {
      const tp_node *x = n->in[k].src.node;
      if (!inside(s, n, x)) continue;
      tp_rel *r =
          tp_rel_into(tp_rel_compose(tp_rel_copy(path[n->id]), tp_rel_copy(rel_of(s, n, k))),
              tp_set_copy(box_of(s, x)));
      if (s->cut[x->id]) TP_PUSH(&s->g->arena, out, (tp_hop){ i, s->count[x->id], r });
      else path[x->id] = path[x->id] ? tp_rel_or(path[x->id], r) : r;
    }
  }
  for (int m = 0; m < c->n; m++) path[c->node[m]->id] = tp_rel_free(path[c->node[m]->id]);
}

/* Is there a cycle through other points of an end's domain? Composed relations would mix these
 * points' ends. */
static bool mixes_ends(const sweep *s, const comp *c) {
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < operands(c->node[i]); k++)
      for (int j = 0; j < s->g->stops.n; j++)
        if (!s->zero && !s->g->stops.v[j].end &&
            inside(s, c->node[i], c->node[i]->in[k].src.node) &&
            tp_edge_crosses(c->node[i], k, &s->g->stops.v[j]))
          return true;
  return false;
}

/* The sets of the cut members grow to all that their cycles reach. */
static bool close_cycles(sweep *s, const comp *c, int ncut, tp_set **set) {
  hops h = { 0 };
  if (mixes_ends(s, c)) return false;
  for (int i = 0; i < ncut; i++) s->count[c->node[i]->id] = i;
  for (int i = 0; i < ncut; i++) hops_from(s, c, i, &h);
  bool ok = tp_set_closure(s->g->ix, ncut, set, h.n, h.v);
  for (int k = 0; k < h.n; k++) tp_rel_free(h.v[k].rel);
  return ok;
}

/* ---- the three ways ---- */

/* False: the way does not lead to the end, or not within its budget. */
static bool tried(sweep *s, const comp *c, int ncut, tp_set **set,
    bool (*way)(sweep *, const comp *, int, tp_set **), unsigned long budget) {
  unsigned long before = tp_isl_budget(s->g->ix, budget);
  bool ok = way(s, c, ncut, set);
  return tp_isl_within(s->g->ix, before) && ok;
}

static bool by_rounds(sweep *s, const comp *c, int ncut, tp_set **set) {
  (void)ncut, (void)set;
  return rounds(s, c);
}

/* have := set of each cut member, or everything. */
static void start_from(sweep *s, const comp *c, int ncut, tp_set *const *set) {
  for (int i = 0; i < ncut; i++)
    replace(&s->have[c->node[i]->id], tp_set_copy(set ? set[i] : box_of(s, c->node[i])));
}

/* One piece around a, inside what all points together can need. */
static tp_set *piece(
    sweep *s, const tp_node *n, TP_TAKE tp_set *a, TP_KEEP tp_set *by, TP_KEEP tp_set *most) {
  return canonical(s, n, tp_set_and(tp_set_widen(a, by), tp_set_copy(most)));
}

/* Up from `set`, each set within those of its constraints that what is added keeps as well. */
static bool grows_to_stand(sweep *s, const comp *c, int ncut, tp_set **set, tp_set **most) {
  start_from(s, c, ncut, set);
  for (int r = 0; r < ROUNDS; r++) {
    bool same = true;
    go_round(s, c);
    for (int i = 0; i < ncut; i++) {
      const tp_node *n = c->node[i];
      if (!s->next[n->id] || tp_set_subset(s->g->ix, s->next[n->id], s->have[n->id])) continue;
      same = false;
      bool first = tp_set_is_empty(s->g->ix, s->have[n->id]);
      replace(&s->have[n->id],
          piece(
              s, n, tp_set_copy(first ? s->next[n->id] : s->have[n->id]), s->next[n->id], most[i]));
    }
    if (same) return true;
  }
  return false;
}

static bool by_hulls(sweep *s, const comp *c, int ncut, tp_set **set) {
  tp_set **most = TP_NEWN(&s->g->arena, tp_set *, ncut);
  start_from(s, c, ncut, NULL);
  go_round(s, c);
  for (int i = 0; i < ncut; i++) {
    const tp_node *n = c->node[i];
    tp_set *next = s->next[n->id];
    most[i] = next ? piece(s, n, tp_set_copy(next), next, box_of(s, n))
                   : tp_set_empty(s->g->ix, n->ndom, n->dom);
    replace(&set[i], piece(s, n, tp_set_copy(set[i]), set[i], most[i]));
  }
  bool ok = grows_to_stand(s, c, ncut, set, most);
  for (int i = 0; i < ncut; i++) tp_set_free(most[i]);
  return ok;
}

/* What the outside needs of the cut members, directly or through others. */
static bool from_outside(sweep *s, const comp *c, int ncut, tp_set **set) {
  for (int i = 0; i < ncut; i++) replace(&s->have[c->node[i]->id], NULL);
  go_round(s, c);
  for (int i = 0; i < ncut; i++) {
    const tp_node *n = c->node[i];
    replace(&set[i],
        s->next[n->id] ? tp_set_copy(s->next[n->id]) : tp_set_empty(s->g->ix, n->ndom, n->dom));
  }
  return true;
}

static bool one_round(sweep *s, const comp *c, int ncut, tp_set **set) {
  (void)ncut, (void)set;
  go_round(s, c);
  return true;
}

static bool round_down(sweep *s, const comp *c, int ncut, tp_set **set) {
  start_from(s, c, ncut, NULL);
  return one_round(s, c, ncut, set);
}

static bool two_rounds_down(sweep *s, const comp *c, int ncut, tp_set **set) {
  start_from(s, c, ncut, NULL);
  for (int r = 0; r < 2; r++) go_round(s, c), settle(s, c);
  return one_round(s, c, ncut, set);
}

/* Exact, or else a superset. False: within no budget. */
static bool found(sweep *s, const comp *c, int ncut, tp_set **set) {
  int id = c->node[0]->id;
  unsigned long budget = TP_TUNE_NEED_BUDGET + TP_TUNE_NEED_PER_NODE * (unsigned long)c->n;
  /* known: what led nowhere before does so again */
  bool known = s->widen && s->lost[id],
       up = tried(s, c, ncut, set, from_outside, TP_TUNE_NEED_HULLS);
  for (int from = !up; from < 2 && !known; from++) {
    start_from(s, c, ncut, from ? NULL : set);
    if (tried(s, c, ncut, NULL, by_rounds, budget)) return true;
  }
  if (up && !known && tried(s, c, ncut, set, close_cycles, TP_TUNE_NEED_BUDGET)) {
    start_from(s, c, ncut, set);
    if (tried(s, c, ncut, set, one_round, TP_TUNE_NEED_HULLS)) return true;
  }
  s->lost[id] = true;
  if (s->widen && tried(s, c, ncut, set, from_outside, TP_TUNE_NEED_HULLS) &&
      tried(s, c, ncut, set, by_hulls, TP_TUNE_NEED_HULLS))
    return true;
  return tried(s, c, ncut, set, two_rounds_down, TP_TUNE_NEED_HULLS) ||
      tried(s, c, ncut, set, round_down, TP_TUNE_NEED_HULLS);
}

static void cyclic(sweep *s, const comp *c) {
  int ncut = 0;
  while (ncut < c->n && s->cut[c->node[ncut]->id]) ncut++;
  tp_set **set = TP_NEWN(&s->g->arena, tp_set *, ncut);
  if (!found(s, c, ncut, set))
    for (int i = 0; i < c->n; i++)
      replace(&s->have[c->node[i]->id], tp_set_copy(box_of(s, c->node[i])));
  for (int i = 0; i < ncut; i++) tp_set_free(set[i]);
}

/* ---- components ---- */

/* Every cycle goes through something that was made before its operands; a call's set is its box
 * from the start. */
static bool is_cut(const tp_node *n) {
  return n->op == TP_OP_MERGE || n->op == TP_OP_ACCUM || n->op == TP_OP_CALL;
}

/* Kahn's algorithm on the members that are not cut. False: there is a cycle among them, and one of
 * its nodes has been cut. */
static bool arranged(sweep *s, comp *c, tp_node *const *member) {
  int n = 0;
  for (int i = 0; i < c->n; i++) s->count[member[i]->id] = 0;
  for (int i = 0; i < c->n; i++)
    if (s->cut[member[i]->id]) c->node[n++] = member[i];
    else
      for (int k = 0; k < operands(member[i]); k++) s->count[member[i]->in[k].src.node->id]++;
  int front = n;
  for (int i = 0; i < c->n; i++)
    if (!s->cut[member[i]->id] && !s->count[member[i]->id]) c->node[n++] = member[i];
  for (; front < n; front++)
    for (int k = 0; k < operands(c->node[front]); k++) {
      tp_node *x = c->node[front]->in[k].src.node;
      if (inside(s, c->node[front], x) && !s->cut[x->id] && --s->count[x->id] == 0)
        c->node[n++] = x;
    }
  for (int i = 0; i < c->n && n < c->n; i++)
    if (!s->cut[member[i]->id] && s->count[member[i]->id] > 0)
      return !(s->cut[member[i]->id] = true);
  return true;
}

static void arrange(sweep *s, comp *c, tp_node *const *member) {
  for (int i = 0; i < c->n; i++) s->cut[member[i]->id] = is_cut(member[i]);
  while (!arranged(s, c, member)) {}
}

static bool has_cycle(const sweep *s, int n, tp_node *const *member) {
  if (n > 1) return true;
  for (int k = 0; k < operands(member[0]); k++)
    if (inside(s, member[0], member[0]->in[k].src.node)) return true;
  return false;
}

/* To a component that is looked at later; everything, where what is needed is too much for isl. */
static void hand_on(sweep *s, const tp_node *n, int k) {
  const tp_node *x = n->in[k].src.node;
  unsigned long before = tp_isl_budget(s->g->ix, TP_TUNE_NEED_HULLS);
  join(s, x, &s->need[x->id], image(s, n, k, s->need[n->id]));
  if (!tp_isl_within(s->g->ix, before)) replace(&s->need[x->id], tp_set_copy(box_of(s, x)));
}

static void component(sweep *s, int n, tp_node *const *member) {
  if (has_cycle(s, n, member)) {
    comp c = { n, TP_NEWN(&s->g->arena, tp_node *, n) };
    arrange(s, &c, member);
    cyclic(s, &c);
    for (int i = 0; i < n; i++) {
      int id = member[i]->id;
      replace(&s->need[id], s->have[id]);
      s->have[id] = NULL;
      replace(&s->next[id], NULL);
    }
  }
  for (int i = 0; i < n; i++)
    for (int k = 0; k < operands(member[i]); k++)
      if (!inside(s, member[i], member[i]->in[k].src.node)) hand_on(s, member[i], k);
}

/* ---- the whole graph ---- */

/* A callback from which anything is read is called at every point of its domain. */
static void need_calls(sweep *s, int nroot, const tp_root *roots) {
  tp_graph *g = s->g;
  bool *seen = TP_NEWN(&g->arena, bool, g->nodes.n);
  TP_VEC(tp_node *) work = { 0 };
  for (int i = 0; i < nroot; i++) TP_PUSH(&g->arena, &work, roots[i].val.node);
  while (work.n) {
    tp_node *n = work.v[--work.n];
    if (seen[n->id]) continue;
    seen[n->id] = true;
    if (n->op == TP_OP_CALL) replace(&s->need[n->id], tp_set_copy(box_of(s, n)));
    for (int k = 0; k < operands(n); k++)
      if (!seen[n->in[k].src.node->id]) TP_PUSH(&g->arena, &work, n->in[k].src.node);
  }
}

static void run(sweep *s, int nroot, const tp_root *roots) {
  tp_graph *g = s->g;
  /* all of them now: inside a budget isl may give NULL */
  for (int i = 0; i < g->nodes.n; i++) box_of(s, g->nodes.v[i]);
  for (int i = 0; i < nroot; i++) {
    tp_node *n = roots[i].val.node;
    tp_set *box = tp_set_copy(box_of(s, n));
    join(s, n, &s->need[n->id],
        roots[i].set ? canonical(s, n, tp_set_and(box, tp_set_copy(roots[i].set))) : box);
  }
  need_calls(s, nroot, roots);
  int *order = TP_NEWN(&g->arena, int, g->nodes.n);
  tp_node **member = TP_NEWN(&g->arena, tp_node *, g->nodes.n);
  tp_graph_sccs(g, s->scc, order);
  for (int i = g->nodes.n - 1, n; i >= 0; i -= n) {
    for (n = 0; n <= i && s->scc[order[i - n]] == s->scc[order[i]]; n++)
      member[n] = g->nodes.v[order[i - n]];
    component(s, n, member);
  }
  for (int i = 0; i < g->nodes.n; i++)
    if (!s->need[i]) s->need[i] = tp_set_empty(g->ix, g->nodes.v[i]->ndom, g->nodes.v[i]->dom);
}

static void sweep_free(sweep *s) {
  for (int i = 0; i < s->boxes.n; i++) tp_set_free(s->boxes.v[i].box);
  for (int i = 0; i < s->g->nodes.n; i++)
    for (int k = 0; s->rel[i] && k < s->g->nodes.v[i]->nin; k++) tp_rel_free(s->rel[i][k]);
}

static void drop(void *need) { tp_need_free(need); }

static sweep sweep_new(tp_graph *g, tp_set **need, bool widen, bool *lost) {
  int n = g->nodes.n;
  return (sweep){ .g = g,
    .need = need,
    .scc = TP_NEWN(&g->arena, int, n),
    .cut = TP_NEWN(&g->arena, bool, n),
    .have = TP_NEWN(&g->arena, tp_set *, n),
    .next = TP_NEWN(&g->arena, tp_set *, n),
    .rel = TP_NEWN(&g->arena, tp_rel **, n),
    .count = TP_NEWN(&g->arena, int, n),
    .path = TP_NEWN(&g->arena, tp_rel *, n),
    .widen = widen,
    .lost = lost };
}

tp_need *tp_need_sweep(tp_graph *g, int nroot, const tp_root *roots, const tp_sym *zero, bool widen,
    bool *lost, tp_error *err) {
  int n = g->nodes.n;
  tp_need *out = tp_calloc(sizeof *out);
  if (out) *out = (tp_need){ .g = g, .n = n, .set = tp_calloc(sizeof *out->set * (size_t)(n + 1)) };
  if (!out || !out->set) {
    tp_fail(err, TP_E_MEMORY, g->pos, "no memory for the sets of needed points");
    return tp_need_free(out);
  }
  tp_hold mine;
  tp_hold_set(&mine, drop, out);
  sweep s = sweep_new(g, out->set, widen, lost);
  s.zero = zero;
  run(&s, nroot, roots);
  sweep_free(&s);
  tp_hold_end(&mine);
  return tp_isl_check(g->ix, g->pos, err) ? out : tp_need_free(out);
}

tp_need *tp_need_compute(tp_graph *g, int nroot, const tp_root *roots, tp_error *err) {
  return tp_need_sweep(g, nroot, roots, NULL, false, TP_NEWN(&g->arena, bool, g->nodes.n), err);
}

tp_need *tp_need_free(tp_need *n) {
  if (!n) return NULL;
  for (int i = 0; n->set && i < n->n; i++) tp_set_free(n->set[i]);
  tp_free(n->set);
  tp_free(n);
  return NULL;
}

/* ---- what a superset has too much ---- */

/* Points of n whose operand k lies outside its domain or in `bad`; NULL: none. */
static TP_GIVE tp_set *reads_bad(sweep *s, const tp_node *n, int k, TP_KEEP tp_set *const *bad) {
  const tp_node *x = n->in[k].src.node;
  if (is_identity(n, k)) return tp_set_copy(bad[x->id]);
  tp_set *wrong = tp_set_outside(s->g->ix, x->ndom, x->dom);
  if (bad[x->id]) wrong = tp_set_or(wrong, tp_set_copy(bad[x->id]));
  return tp_set_apply(wrong, tp_rel_reverse(tp_rel_copy(rel_of(s, n, k))));
}

/* bad grows by what n reads. True: it did. */
static bool find_bad(sweep *s, const tp_node *n, TP_KEEP tp_set *need, tp_set **bad) {
  bool grew = false;
  for (int k = 0; k < operands(n); k++) {
    tp_set *more = reads_bad(s, n, k, bad);
    if (more) more = tp_set_and(more, tp_set_copy(need));
    bool known = !more || tp_set_is_empty(s->g->ix, more) ||
        (bad[n->id] && tp_set_subset(s->g->ix, more, bad[n->id]));
    if (known) tp_set_free(more);
    else replace(&bad[n->id], bad[n->id] ? tp_set_or(tp_set_copy(bad[n->id]), more) : more);
    grew |= !known;
  }
  return grew;
}

/* Operands first, until nothing more is found: what is left reads nothing but what is left. */
static bool all_bad(sweep *s, tp_need *need, tp_set **bad) {
  int *order = TP_NEWN(&s->g->arena, int, need->n);
  tp_graph_sccs(s->g, s->scc, order);
  for (int r = 0; r < ROUNDS; r++) {
    bool grew = false;
    for (int i = 0; i < need->n; i++)
      grew |= find_bad(s, s->g->nodes.v[order[i]], need->set[order[i]], bad);
    if (!grew) return true;
  }
  return false;
}

/* What is there whatever anybody reads. */
static bool is_root(const tp_graph *g, const tp_node *n) {
  bool is = n->op == TP_OP_CALL;
  for (int i = 0; i < g->outputs.n; i++) is |= g->outputs.v[i].val.node == n;
  for (int i = 0; i < g->stops.n; i++) is |= g->stops.v[i].end == n;
  return is;
}

/* Has it no point for bounds that a call may have? */
static bool is_none(tp_graph *g, const tp_node *n, TP_KEEP tp_set *bad) {
  tp_set *may = tp_set_copy(bad);
  for (int i = 0; i < g->boundchecks.n && !g->stops.n; i++)
    may = tp_set_and(may, tp_set_cond(g->ix, n->ndom, n->dom, g->boundchecks.v[i].cond));
  bool none = tp_set_is_empty(g->ix, may);
  tp_set_free(may);
  return none;
}

/* No root reads what is bad: what is left of the sets holds all that roots need. */
static bool roots_stay(const tp_need *need, tp_set *const *bad) {
  bool stay = true;
  for (int i = 0; i < need->n && stay; i++) {
    const tp_node *n = need->g->nodes.v[i];
    stay = !bad[i] || !is_root(need->g, n) || is_none(need->g, n, bad[i]);
  }
  return stay;
}

void tp_need_trim(tp_graph *g, tp_need *need) {
  tp_set **bad = TP_NEWN(&g->arena, tp_set *, need->n);
  sweep s = sweep_new(g, need->set, false, NULL);
  for (int i = 0; i < need->n; i++) box_of(&s, g->nodes.v[i]);
  unsigned long before = tp_isl_budget(g->ix, BUDGET_HULLS + BUDGET_TRIM * (unsigned long)need->n);
  bool ok = all_bad(&s, need, bad);
  ok = tp_isl_within(g->ix, before) && ok && roots_stay(need, bad);
  for (int i = 0; i < need->n; i++) {
    if (ok && bad[i]) need->set[i] = tp_set_minus(need->set[i], bad[i]);
    else tp_set_free(bad[i]);
  }
  sweep_free(&s);
}
