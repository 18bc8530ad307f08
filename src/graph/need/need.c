/* need: finds the points of every node that something needs, as sets over all bounds.
 *
 * One sweep from consumers to producers, component by component. Without a cycle each edge is
 * applied once. The sets of a cycle are a least fixpoint; each rung of this ladder looks for it, or
 * for a superset, within a budget of isl's operations:
 *   exact     Rounds up from what the outside needs: most recurrences are needed everywhere, and
 *             one round settles it. Or rounds down from everything until nothing changes: the
 *             result is a fixpoint, and a program without cyclic values has only one, as a point of
 *             it that is not needed would be in it because of another such point, and so on for
 *             ever in a finite domain (h[T-1] alone). Or the transitive closure of the composed
 *             cycles, where isl says that it is exact (h[5] alone).
 *   hull      One piece a node, inside one around a round down, which grows until no round makes
 *             it larger.
 *   budgeted  A few rounds down from everything.
 *   whole     Everything.
 * A superset can refuse a program that exact sets accept, and never lets one through: tp_need_stays
 * asks it again of the graph that is scheduled. A second sweep makes hulls, which stay if they ask
 * nothing more of bounds: loops over one piece are those that a person would write (without hulls,
 * decoding with a window had pieces for each of the last layers).
 *
 * The whole box of a domain is one shared object, and an identity edge within one domain hands its
 * set on: most comparisons are of pointers. A NULL set is "not needed" and becomes an empty one at
 * the end; whether isl failed, isl tells. */
#include "graph/core.h"

enum { ROUNDS = TP_TUNE_NEED_ROUNDS };

/* A node at work. */
typedef struct need_place {
  tp_node *n;
  int scc;
  tp_set **need; /* of the result */
  tp_set *box;   /* all points: one object a domain */
  tp_rel **rel;  /* by edge; made on first use */
  /* the rest: in the component at work. feedback: every cycle goes through such a member */
  bool feedback;
  tp_set *have, *next;
  /* scratch */
  int count;
  tp_rel *path;
} need_place;

typedef struct sweep {
  tp_graph *g;
  need_place *at; /* by node id */
  /* the runs are those to which nothing is given for this dim; NULL: all others */
  tp_sym *zero;
  bool widen; /* take hulls? */
  bool *lost; /* by a component's first member: no exact sets, in this sweep or the one before */
} sweep;

/* v: the members, feedback ones first, then consumers before producers; set: the sets of the first
 */
typedef struct {
  int n, nfeedback, rounds;
  need_place **v;
  tp_set **set;
} comp;

/* ---- sets ---- */

/* The shared box if a is all of it, else a. */
static tp_set *canonical(sweep *s, const need_place *p, TP_TAKE tp_set *a) {
  if (!a || a == p->box || !tp_set_subset(s->g->ix, p->box, a)) return a;
  tp_set_free(a);
  return tp_set_copy(p->box);
}

static void replace(tp_set **at, TP_TAKE tp_set *a) {
  tp_set_free(*at);
  *at = a;
}

static void join(sweep *s, const need_place *p, tp_set **at, TP_TAKE tp_set *a) {
  if (!a) return;
  if (!*at) *at = a;
  else if (*at == a || *at == p->box || tp_set_subset(s->g->ix, a, *at)) tp_set_free(a);
  else *at = canonical(s, p, tp_set_or(*at, a));
}

/* ---- edges ---- */

/* The needs of open parameters and gradients are not known yet. */
static int operands(const need_place *p) {
  return p->n->op == TP_OP_PARAM || p->n->op == TP_OP_GRAD ? 0 : p->n->nin;
}

static need_place *operand_place(const sweep *s, const need_place *p, int k) {
  return &s->at[tp_in(p->n, k)->id];
}

static bool is_identity(const tp_node *n, int k) {
  const tp_node *x = tp_in(n, k);
  return n->op != TP_OP_READ && n->op != TP_OP_MERGE && n->op != TP_OP_ACCUM &&
      tp_dom_same(n->ndom, n->dom, x->ndom, x->dom);
}

static bool is_inner(const sweep *s, const need_place *p, int k) {
  return operand_place(s, p, k)->scc == p->scc;
}

static TP_GIVE tp_rel *rel_of(sweep *s, need_place *p, int k) {
  if (!p->rel) p->rel = TP_NEWN(&s->g->arena, tp_rel *, p->n->nin);
  if (!p->rel[k]) p->rel[k] = tp_edge_rel(s->g, p->n, k);
  return tp_rel_copy(p->rel[k]);
}

/* From stop i on the next one whose end, before it is lowered, is another at operand k; -1. */
static int crossed(const sweep *s, const need_place *p, int k, int i) {
  for (; i < s->g->stops.n && !s->zero; i++)
    if (!s->g->stops.v[i].end && tp_edge_crosses(p->n, k, &s->g->stops.v[i])) return i;
  return -1;
}

/* The points of operand k that p needs at `from`; tp_need_check reports those outside. */
static TP_GIVE tp_set *image(sweep *s, need_place *p, int k, TP_KEEP tp_set *from) {
  const need_place *x = operand_place(s, p, k);
  if (!from || is_identity(p->n, k)) return tp_set_copy(from);
  tp_set *to = tp_set_apply(tp_set_copy(from), rel_of(s, p, k));
  for (int i = -1; (i = crossed(s, p, k, i + 1)) >= 0;)
    to = tp_set_unended(s->g, to, &s->g->stops.v[i]);
  return canonical(s, x, tp_set_and(to, tp_set_copy(x->box)));
}

/* ---- one round through a component ---- */

/* Goes from `have` of the feedback members to what they need of each other, in `next`, and fills
 * `have` of the others on the way. */
static bool go_round(sweep *s, comp *c) {
  for (int i = 0; i < c->n; i++)
    replace(c->v[i]->feedback ? &c->v[i]->next : &c->v[i]->have, tp_set_copy(*c->v[i]->need));
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < operands(c->v[i]); k++) {
      need_place *x = operand_place(s, c->v[i], k);
      if (is_inner(s, c->v[i], k))
        join(s, x, x->feedback ? &x->next : &x->have, image(s, c->v[i], k, c->v[i]->have));
    }
  return true;
}

/* have := next; were they the same already? */
static bool settle(sweep *s, const comp *c) {
  bool same = true;
  for (int i = 0; i < c->nfeedback; i++) {
    need_place *p = c->v[i];
    if (p->have == p->next || tp_set_equal(s->g->ix, p->have, p->next)) continue;
    same = false;
    replace(&p->have, tp_set_copy(p->next));
  }
  return same;
}

static bool stands(sweep *s, comp *c) {
  for (int r = 0; r < ROUNDS; r++)
    if (go_round(s, c) && settle(s, c)) return true;
  return false;
}

/* ---- closure of the cycles ---- */

typedef TP_VEC(tp_hop) hops;

/* The hops from feedback member i: its edges composed along every path that meets no other such
 * member before its end. */
static void hops_from(sweep *s, const comp *c, int i, hops *out) {
  c->v[i]->path = tp_rel_id(tp_set_copy(c->v[i]->box));
  for (int m = 0; m < c->n; m++) {
    need_place *p = c->v[m];
    for (int k = 0; p->path && k < operands(p); k++) {
      need_place *x = operand_place(s, p, k);
      if (!is_inner(s, p, k)) continue;
      tp_rel *r =
          tp_rel_into(tp_rel_compose(tp_rel_copy(p->path), rel_of(s, p, k)), tp_set_copy(x->box));
      if (x->feedback) TP_PUSH(&s->g->arena, out, (tp_hop){ i, x->count, r });
      else x->path = x->path ? tp_rel_or(x->path, r) : r;
    }
  }
  for (int m = 0; m < c->n; m++) c->v[m]->path = tp_rel_free(c->v[m]->path);
}

/* The sets of the feedback members grow to all that their cycles reach; not where a cycle goes
 * through other points of an end's domain, whose ends a composed relation would mix. */
static bool close_cycles(sweep *s, comp *c) {
  hops h = { 0 };
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < operands(c->v[i]); k++)
      if (is_inner(s, c->v[i], k) && crossed(s, c->v[i], k, 0) >= 0) return false;
  for (int i = 0; i < c->nfeedback; i++) c->v[i]->count = i;
  for (int i = 0; i < c->nfeedback; i++) hops_from(s, c, i, &h);
  bool ok = tp_set_closure(s->g->ix, c->nfeedback, c->set, h.n, h.v);
  for (int k = 0; k < h.n; k++) tp_rel_free(h.v[k].rel);
  return ok;
}

/* ---- the ladder ---- */

/* False: this way finds no set, or not within its budget. */
static bool tried(sweep *s, comp *c, bool (*way)(sweep *, comp *), unsigned long budget) {
  unsigned long before = tp_isl_budget(s->g->ix, budget);
  bool ok = way(s, c);
  return tp_isl_within(s->g->ix, before) && ok;
}

/* have := set of each feedback member, or everything. */
static void start_from(const comp *c, tp_set *const *set) {
  for (int i = 0; i < c->nfeedback; i++)
    replace(&c->v[i]->have, tp_set_copy(set ? set[i] : c->v[i]->box));
}

static TP_GIVE tp_set *next_of(const sweep *s, const need_place *p) {
  return p->next ? tp_set_copy(p->next) : tp_set_empty(s->g->ix, p->n->ndom, p->n->dom);
}

/* set := what the outside needs of the feedback members, directly or through others. */
static bool from_outside(sweep *s, comp *c) {
  for (int i = 0; i < c->nfeedback; i++) replace(&c->v[i]->have, NULL);
  go_round(s, c);
  for (int i = 0; i < c->nfeedback; i++) replace(&c->set[i], next_of(s, c->v[i]));
  return true;
}

/* One piece around a, inside what all points together can need. */
static tp_set *piece(
    sweep *s, const need_place *p, TP_KEEP tp_set *a, TP_KEEP tp_set *by, TP_KEEP tp_set *most) {
  return canonical(s, p, tp_set_and(tp_set_widen(tp_set_copy(a), by), tp_set_copy(most)));
}

/* Grows from `set`; each set stays within those of its constraints that the added points keep as
 * well. */
static bool grows_to_stand(sweep *s, comp *c, tp_set **most) {
  start_from(c, c->set);
  for (int r = 0; r < ROUNDS; r++) {
    bool same = true;
    go_round(s, c);
    for (int i = 0; i < c->nfeedback; i++) {
      need_place *p = c->v[i];
      if (!p->next || tp_set_subset(s->g->ix, p->next, p->have)) continue;
      same = false;
      bool first = tp_set_is_empty(s->g->ix, p->have);
      replace(&p->have, piece(s, p, first ? p->next : p->have, p->next, most[i]));
    }
    if (same) return true;
  }
  return false;
}

static bool pieces(sweep *s, comp *c) {
  tp_set **most = TP_NEWN(&s->g->arena, tp_set *, c->nfeedback);
  start_from(c, NULL);
  go_round(s, c);
  for (int i = 0; i < c->nfeedback; i++) {
    need_place *p = c->v[i];
    most[i] = p->next ? piece(s, p, p->next, p->next, p->box) : next_of(s, p);
    replace(&c->set[i], piece(s, p, c->set[i], c->set[i], most[i]));
  }
  bool ok = grows_to_stand(s, c, most);
  for (int i = 0; i < c->nfeedback; i++) tp_set_free(most[i]);
  return ok;
}

static bool exact(sweep *s, comp *c) {
  unsigned long budget = TP_TUNE_NEED_BUDGET + TP_TUNE_NEED_PER_NODE * (unsigned long)c->n;
  bool up = tried(s, c, from_outside, TP_TUNE_NEED_HULLS);
  for (int down = !up; down < 2; down++) {
    start_from(c, down ? NULL : c->set);
    if (tried(s, c, stands, budget)) return true;
  }
  if (!up || !tried(s, c, close_cycles, TP_TUNE_NEED_BUDGET)) return false;
  start_from(c, c->set);
  return tried(s, c, go_round, TP_TUNE_NEED_HULLS);
}

static bool hull(sweep *s, comp *c) {
  return tried(s, c, from_outside, TP_TUNE_NEED_HULLS) && tried(s, c, pieces, TP_TUNE_NEED_HULLS);
}

static bool rounds_down(sweep *s, comp *c) {
  start_from(c, NULL);
  for (int r = 0; r < c->rounds; r++) go_round(s, c), settle(s, c);
  return go_round(s, c);
}

static bool budgeted(sweep *s, comp *c) {
  for (c->rounds = 2; c->rounds >= 0; c->rounds -= 2)
    if (tried(s, c, rounds_down, TP_TUNE_NEED_HULLS)) return true;
  return false;
}

/* ---- components ---- */

/* Every cycle goes through a node that is older than one of its operands; a call's set is its
 * box. */
static bool is_feedback(const tp_node *n) {
  return n->op == TP_OP_MERGE || n->op == TP_OP_ACCUM || n->op == TP_OP_CALL;
}

/* Kahn's algorithm on the other members. False: there is a cycle among them, and one of its nodes
 * has become a feedback member. */
static bool arranged(sweep *s, comp *c, need_place *const *member) {
  int n = 0;
  for (int i = 0; i < c->n; i++) member[i]->count = 0;
  for (int i = 0; i < c->n; i++)
    if (member[i]->feedback) c->v[n++] = member[i];
    else
      for (int k = 0; k < operands(member[i]); k++) operand_place(s, member[i], k)->count++;
  c->nfeedback = n;
  for (int i = 0; i < c->n; i++)
    if (!member[i]->feedback && !member[i]->count) c->v[n++] = member[i];
  for (int front = c->nfeedback; front < n; front++)
    for (int k = 0; k < operands(c->v[front]); k++) {
      need_place *x = operand_place(s, c->v[front], k);
      if (is_inner(s, c->v[front], k) && !x->feedback && --x->count == 0) c->v[n++] = x;
    }
  for (int i = 0; i < c->n && n < c->n; i++)
    if (!member[i]->feedback && member[i]->count > 0) return !(member[i]->feedback = true);
  return true;
}

static void cyclic(sweep *s, int n, need_place *const *member) {
  comp c = { .n = n, .v = TP_NEWN(&s->g->arena, need_place *, n) };
  for (int i = 0; i < n; i++) member[i]->feedback = is_feedback(member[i]->n);
  while (!arranged(s, &c, member)) {}
  c.set = TP_NEWN(&s->g->arena, tp_set *, c.nfeedback);
  bool *lost = &s->lost[c.v[0]->n->id];
  /* a way that failed in the sweep before fails again */
  if ((s->widen && *lost) || !exact(s, &c)) {
    *lost = true;
    if (!(s->widen && hull(s, &c)) && !budgeted(s, &c))
      for (int i = 0; i < n; i++) replace(&c.v[i]->have, tp_set_copy(c.v[i]->box));
  }
  for (int i = 0; i < c.nfeedback; i++) tp_set_free(c.set[i]);
  for (int i = 0; i < n; i++) {
    replace(member[i]->need, member[i]->have);
    member[i]->have = NULL;
    replace(&member[i]->next, NULL);
  }
}

/* Gives p's needs to operand k, whose component comes later; all points, where its need is too much
 * for isl. */
static void hand_on(sweep *s, need_place *p, int k) {
  need_place *x = operand_place(s, p, k);
  unsigned long before = tp_isl_budget(s->g->ix, TP_TUNE_NEED_HULLS);
  join(s, x, x->need, image(s, p, k, *p->need));
  if (!tp_isl_within(s->g->ix, before)) replace(x->need, tp_set_copy(x->box));
}

static void component(sweep *s, int n, need_place *const *member) {
  bool cycle = n > 1;
  for (int k = 0; k < operands(member[0]); k++)
    cycle |= operand_place(s, member[0], k) == member[0];
  if (cycle) cyclic(s, n, member);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < operands(member[i]); k++)
      if (!is_inner(s, member[i], k)) hand_on(s, member[i], k);
}

/* ---- the whole graph ---- */

/* Makes places of all nodes; order: a topological one of their ids. All boxes are made now, as isl
 * may give NULL inside a budget. */
static void start_sweep(sweep *s, tp_graph *g, tp_set **need, int *order) {
  int *scc = TP_NEWN(&g->arena, int, g->nodes.n);
  s->g = g;
  s->at = TP_NEWN(&g->arena, need_place, g->nodes.n);
  tp_graph_sccs(g, scc, order);
  for (int i = 0; i < g->nodes.n; i++) {
    tp_node *n = g->nodes.v[i];
    int j = i - 1;
    while (j >= 0 && !tp_dom_same(n->ndom, n->dom, g->nodes.v[j]->ndom, g->nodes.v[j]->dom)) j--;
    tp_set *box = j < 0 ? tp_box_of(g, n) : tp_set_copy(s->at[j].box);
    if (j < 0 && s->zero) box = tp_set_nothing(g, box, n->ndom, n->dom, s->zero);
    s->at[i] = (need_place){ .n = n, .scc = scc[i], .need = &need[i], .box = box };
  }
}

/* A callback from which anything is read is called at every point of its domain. */
static void need_calls(sweep *s, int nroot, const tp_val *roots) {
  bool *seen = TP_NEWN(&s->g->arena, bool, s->g->nodes.n);
  for (int i = 0; i < nroot; i++) tp_reach(&s->g->arena, roots[i].node, seen);
  for (need_place *p = s->at; p < s->at + s->g->nodes.n; p++)
    if (seen[p->n->id] && p->n->op == TP_OP_CALL) replace(p->need, tp_set_copy(p->box));
}

static void run(sweep *s, int nroot, const tp_val *roots, const int *order) {
  int n = s->g->nodes.n;
  need_place **member = TP_NEWN(&s->g->arena, need_place *, n);
  for (int i = 0; i < nroot; i++) {
    need_place *p = &s->at[roots[i].node->id];
    join(s, p, p->need, tp_set_copy(p->box));
  }
  need_calls(s, nroot, roots);
  for (int i = n - 1, m; i >= 0; i -= m) {
    for (m = 0; m <= i && s->at[order[i - m]].scc == s->at[order[i]].scc; m++)
      member[m] = &s->at[order[i - m]];
    component(s, m, member);
  }
  for (need_place *p = s->at; p < s->at + n; p++)
    if (!*p->need) *p->need = tp_set_empty(s->g->ix, p->n->ndom, p->n->dom);
}

static void sweep_free(sweep *s) {
  for (need_place *p = s->at; p < s->at + s->g->nodes.n; p++) {
    tp_set_free(p->box);
    for (int k = 0; p->rel && k < p->n->nin; k++) tp_rel_free(p->rel[k]);
  }
}

static void drop(void *need) { tp_need_free(need); }

/* zero, widen, lost: as in a sweep; lost NULL: no sweep came before */
static tp_need *find(tp_graph *g, int nroot, const tp_val *roots, tp_sym *zero, bool widen,
    bool *lost, tp_error *err) {
  int n = g->nodes.n, *order = TP_NEWN(&g->arena, int, n);
  tp_need *out = tp_calloc(sizeof *out);
  if (out) *out = (tp_need){ .g = g, .n = n, .set = tp_calloc(sizeof *out->set * (size_t)(n + 1)) };
  if (!out || !out->set) {
    tp_fail(err, TP_E_MEMORY, g->pos, "no memory for the sets of needed points");
    return tp_need_free(out);
  }
  tp_hold mine;
  tp_hold_set(&mine, drop, out);
  sweep s = { .zero = zero, .widen = widen, .lost = lost ? lost : TP_NEWN(&g->arena, bool, n) };
  start_sweep(&s, g, out->set, order);
  run(&s, nroot, roots, order);
  sweep_free(&s);
  tp_hold_end(&mine);
  return tp_isl_check(g->ix, g->pos, err) ? out : tp_need_free(out);
}

tp_need *tp_need_compute(tp_graph *g, int nroot, const tp_val *roots, tp_error *err) {
  return find(g, nroot, roots, NULL, false, NULL, err);
}

tp_need *tp_need_free(tp_need *n) {
  if (!n) return NULL;
  for (int i = 0; n->set && i < n->n; i++) tp_set_free(n->set[i]);
  tp_free(n->set);
  tp_free(n);
  return NULL;
}

bool *tp_need_whole(const tp_need *n, tp_arena *a) {
  bool *whole = TP_NEWN(a, bool, n->n);
  for (int i = 0; i < n->n; i++) {
    const tp_node *x = n->g->nodes.v[i];
    tp_set *all = tp_set_box(n->g->ix, x->ndom, x->dom);
    whole[i] = tp_set_subset(n->g->ix, all, n->set[i]);
    tp_set_free(all);
  }
  return whole;
}

/* ---- of a whole program ---- */

static tp_val *roots_of(tp_graph *g, tp_sym *zero, int *count) {
  tp_val *roots = TP_NEWN(&g->arena, tp_val, g->outputs.n + g->sinks.n + g->stops.n);
  int n = 0;
  TP_EACH (const tp_output, o, g->outputs) roots[n++] = o->val;
  TP_NODES (x, g->sinks) roots[n++] = tp_v(x);
  TP_EACH (const tp_stop, s, g->stops)
    if (!zero || !tp_stop_needs(g, s, zero)) roots[n++] = s->end ? tp_v(s->end) : s->done;
  *count = n;
  return roots;
}

tp_need *tp_need_without(tp_graph *g, tp_sym *zero, tp_error *err) {
  int n;
  tp_val *roots = roots_of(g, zero, &n);
  return find(g, n, roots, zero, false, NULL, err);
}

/* Are the reads legal with `wide` for all bounds for which they are legal with `need`? */
static bool asks_no_more(tp_graph *g, const tp_need *need, const tp_need *wide) {
  tp_error e = { 0 };
  int had = g->boundchecks.n;
  bool ok = tp_need_stays(g, need, &e);
  int mine = g->boundchecks.n;
  ok = ok && tp_need_stays(g, wide, &e) && g->boundchecks.n == mine;
  g->boundchecks.n = had;
  return ok;
}

tp_need *tp_need_outputs(tp_graph *g, tp_error *err) {
  bool *lost = TP_NEWN(&g->arena, bool, g->nodes.n);
  int n;
  tp_val *roots = roots_of(g, NULL, &n);
  tp_need *need = find(g, n, roots, NULL, false, lost, err);
  for (int i = 0; need && i < g->nodes.n; i++) need->rough |= lost[i];
  if (!need || !need->rough || (g->stops.n && !g->stops.v[0].end)) return need;
  tp_error e = { 0 };
  tp_need *wide = find(g, n, roots, NULL, true, lost, &e);
  bool better = wide && asks_no_more(g, need, wide);
  if (wide) wide->rough = true;
  tp_need_free(better ? need : wide);
  return better ? wide : need;
}

/* ---- points that only a superset has ---- */

/* The points at which p reads outside operand k's domain or in `bad`; NULL: none. */
static TP_GIVE tp_set *reads_bad(sweep *s, need_place *p, int k, TP_KEEP tp_set *const *bad) {
  const tp_node *x = tp_in(p->n, k);
  if (is_identity(p->n, k)) return tp_set_copy(bad[x->id]);
  tp_set *wrong = tp_set_outside(s->g->ix, x->ndom, x->dom);
  if (bad[x->id]) wrong = tp_set_or(wrong, tp_set_copy(bad[x->id]));
  return tp_set_apply(wrong, tp_rel_reverse(rel_of(s, p, k)));
}

/* Adds to bad the points at which p reads something bad. True: there were new ones. */
static bool find_bad(sweep *s, need_place *p, tp_set **bad) {
  tp_set **own = &bad[p->n->id];
  bool grew = false;
  for (int k = 0; k < operands(p); k++) {
    tp_set *more = reads_bad(s, p, k, bad);
    if (more) more = tp_set_and(more, tp_set_copy(*p->need));
    if (!more || tp_set_is_empty(s->g->ix, more) || tp_set_subset(s->g->ix, more, *own)) {
      tp_set_free(more);
      continue;
    }
    replace(own, *own ? tp_set_or(tp_set_copy(*own), more) : more);
    grew = true;
  }
  return grew;
}

/* Goes through operands before readers until nothing more is found: the points that are left read
 * only points that are left. */
static bool all_bad(sweep *s, const int *order, tp_set **bad) {
  bool grew = true;
  for (int r = 0; grew && r < ROUNDS; r++) {
    grew = false;
    for (int i = 0; i < s->g->nodes.n; i++) grew |= find_bad(s, &s->at[order[i]], bad);
  }
  return !grew;
}

/* Is n needed even if nothing reads it? */
static bool is_root(const tp_graph *g, const tp_node *n) {
  bool is = n->op == TP_OP_CALL;
  TP_EACH (const tp_output, o, g->outputs) is |= o->val.node == n;
  TP_EACH (const tp_stop, s, g->stops) is |= s->end == n;
  return is;
}

/* Has it no point, for any bounds that a call may have? */
static bool is_none(tp_graph *g, const tp_node *n, TP_KEEP tp_set *bad) {
  tp_set *may = tp_set_copy(bad);
  for (int i = 0; i < g->boundchecks.n && !g->stops.n; i++)
    may = tp_set_and(may, tp_set_cond(g->ix, n->ndom, n->dom, g->boundchecks.v[i].cond));
  return tp_set_none(g->ix, may);
}

/* No root reads a bad point: the sets without bad points hold all that roots need. */
static bool roots_stay(const tp_need *need, tp_set *const *bad) {
  for (int i = 0; i < need->n; i++) {
    const tp_node *n = need->g->nodes.v[i];
    if (bad[i] && is_root(need->g, n) && !is_none(need->g, n, bad[i])) return false;
  }
  return true;
}

void tp_need_trim(tp_graph *g, tp_need *need) {
  tp_set **bad = TP_NEWN(&g->arena, tp_set *, need->n);
  int *order = TP_NEWN(&g->arena, int, need->n);
  sweep s = { 0 };
  start_sweep(&s, g, need->set, order);
  unsigned long before =
      tp_isl_budget(g->ix, TP_TUNE_NEED_HULLS + TP_TUNE_NEED_TRIM * (unsigned long)need->n);
  bool ok = all_bad(&s, order, bad);
  ok = tp_isl_within(g->ix, before) && ok && roots_stay(need, bad);
  for (int i = 0; i < need->n; i++) {
    if (ok && bad[i]) need->set[i] = tp_set_minus(need->set[i], bad[i]);
    else tp_set_free(bad[i]);
  }
  sweep_free(&s);
}
