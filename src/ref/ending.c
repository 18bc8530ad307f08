/* ending.c: finds ends by data. Each stop has two kinds of cells, which belong to no node of the
 * graph:
 *   alive  over dom + t: alive[0] = given > 0, alive[t] = alive[t - 1] and not done[t - 1]
 *   end    over dom: the number of points that are alive
 * A demand for a point of a dim that ends asks alive first; a node that mentions an end asks for it
 * before anything else. A node that lacks dims of dom is alive if it is for one of their points. */
#include "ref/machine.h"

static const char yes[1]; /* data[0] of an alive cell that holds */

static tp_node *pseudo(ref *r, int id, int ndom, tp_dims dom, const tp_stop *s) {
  tp_node *n = TP_NEW(&r->arena, tp_node);
  *n = (tp_node){ .id = id, .op = TP_OP_VALUE, .nout = 1, .ndom = ndom, .dom = dom, .pos = s->pos };
  return n;
}

/* The node without a scatter's maps, which hold at the operand's points. */
static tp_node *own_part(const tp_node *n, tp_node *own, tp_edge *in) {
  *own = *n;
  own->in = in;
  own->nin = 0;
  for (int k = 0; k < n->nin; k++)
    if (n->op != TP_OP_ACCUM || n->in[k].gather) in[own->nin++] = n->in[k];
  return own;
}

static bool mentions_itself(const tp_node *n, tp_sym *s) {
  tp_edge in[n->nin + 1];
  tp_node own;
  return tp_node_mentions(own_part(n, &own, in), s);
}

void ref_stops_open(ref *r) {
  tp_graph *g = r->g;
  r->ending = TP_NEWN(&r->arena, ref_ending, g->stops.n);
  for (int i = 0; i < g->stops.n; i++) {
    const tp_stop *s = &g->stops.v[i];
    const tp_node *done = s->done.node;
    r->ending[i] = (ref_ending){ s, pseudo(r, g->nodes.n + 2 * i, done->ndom, done->dom, s),
      pseudo(r, g->nodes.n + 2 * i + 1, s->ndom, s->dom, s), NULL };
    r->ending[i].end->name = s->dim->bound->name;
    r->ending[i].own = TP_NEWN(&r->arena, bool, g->nodes.n);
    for (int n = 0; n < g->nodes.n; n++)
      r->ending[i].own[n] = mentions_itself(g->nodes.v[n], s->dim->bound);
  }
}

/* Is the row itself alive, whose dims may end? at: in done's domain. */
static ref_answer row_alive(ref *r, tp_cell *by, const tp_stop *s, const int64_t *at) {
  const tp_node *done = s->done.node;
  int64_t row[TP_MAXDIM];
  int n = 0;
  for (int k = 0; k < done->ndom; k++)
    if (done->dom[k] != s->dim) row[n++] = at[k];
  return ref_alive(r, by, n, s->dom, row, NULL);
}

static bool alive_step(ref *r, tp_cell *c, const ref_ending *e) {
  const tp_stop *s = e->stop;
  int64_t at[TP_MAXDIM], *t = NULL;
  for (int k = 0; k < c->node->ndom; k++) {
    at[k] = ref_at(c)[k];
    if (c->node->dom[k] == s->dim) t = &at[k];
  }
  bool alive = *t < ref_bound(r, s->dim);
  ref_answer row = alive ? row_alive(r, c, s, at) : REF_NO;
  if (row == REF_FAILED || row == REF_WAIT) return row == REF_WAIT;
  alive = row == REF_YES;
  if (alive && (*t)-- > 0) {
    tp_cell *before = ref_cell(r, c->node, at);
    if (!ref_want(r, before)) return false;
    if (r->waiting) return true;
    alive = before->data[0] != NULL;
    if (alive && !ref_demand(r, c, s->done, at, 0)) return false;
    if (r->waiting) return true;
    if (alive) alive = r->dry || !*(const uint8_t *)r->ops.v[0].cell->data[s->done.out];
  }
  c->data[0] = alive ? (void *)yes : NULL;
  c->state = CELL_DONE;
  return true;
}

/* Demands done at the last given point too. */
static bool ask_last(ref *r, tp_cell *c, const ref_ending *e) {
  const tp_node *done = e->stop->done.node;
  int64_t at[TP_MAXDIM];
  for (int k = 0, d = 0; k < done->ndom; k++)
    at[k] = done->dom[k] == e->stop->dim ? ref_bound(r, e->stop->dim) - 1 : ref_at(c)[d++];
  return ref_demand(r, c, e->stop->done, at, 0);
}

static bool end_step(ref *r, tp_cell *c, const ref_ending *e) {
  if (!c->data[0]) c->data[0] = TP_NEW(&r->arena, int64_t);
  int64_t *t = c->data[0], given = ref_bound(r, e->stop->dim);
  for (; *t < given; ++*t) {
    ref_point(r, c->node, ref_at(c));
    r->env[e->stop->dim->id] = *t;
    tp_cell *a = ref_cell_here(r, e->alive);
    if (!ref_want(r, a)) return false;
    if (r->waiting) return true;
    if (!a->data[0]) break;
  }
  if (*t == given && given > 0 && !ask_last(r, c, e)) return false;
  if (r->waiting) return true;
  c->state = CELL_DONE;
  return true;
}

bool ref_stop_step(ref *r, tp_cell *c) {
  int k = c->node->id - r->g->nodes.n;
  const ref_ending *e = &r->ending[k / 2];
  return k % 2 ? end_step(r, c, e) : alive_step(r, c, e);
}

/* ---- questions ---- by: the cell whose step asks; WAIT: for what is on the stack now */

static ref_answer ask(ref *r, tp_cell *a) {
  if (a->state != CELL_DONE) return ref_want(r, a) ? REF_WAIT : REF_FAILED;
  return a->data[0] ? REF_YES : REF_NO;
}

static int position(int n, tp_dims dims, tp_sym *s) {
  for (int k = 0; k < n; k++)
    if (dims[k] == s) return k;
  return -1;
}

/* is it alive for one of the points of the dims that it lacks? */
static ref_answer alive_for(ref *r, const ref_ending *e, int n, tp_dims dims, const int64_t *at) {
  const tp_node *a = e->alive;
  int64_t lo[TP_MAXDIM], hi[TP_MAXDIM], p[TP_MAXDIM];
  for (int k = 0; k < a->ndom; k++) {
    int d = position(n, dims, a->dom[k]);
    lo[k] = d < 0 ? 0 : at[d];
    hi[k] = d < 0 ? ref_bound(r, a->dom[k]) : at[d] + 1;
  }
  REF_EACH (a->ndom, lo, hi, p) {
    ref_answer x = ask(r, ref_cell(r, a, p));
    if (x != REF_NO) return x;
  }
  return REF_NO;
}

/* Does the cell's own point, which is alive, imply this one? Its rows are among those whose
 * greatest end counts here. A call over rows stands at the first row, alive or not. */
static bool is_implied(
    const ref *r, tp_cell *by, const ref_ending *e, int n, tp_dims dims, const int64_t *at) {
  bool same = by && by->node->id < r->g->nodes.n && !by->node->attr.nover;
  for (int k = 0; k < e->alive->ndom && same; k++) {
    int p = position(n, dims, e->alive->dom[k]), q = tp_dim_at(by->node, e->alive->dom[k]);
    same = p < 0 || (q >= 0 && ref_at(by)[q] == at[p]);
  }
  return same;
}

ref_answer ref_alive(ref *r, tp_cell *by, int n, tp_dims dims, const int64_t *at, int *which) {
  for (int i = 0; i < r->g->stops.n; i++) {
    if (position(n, dims, r->ending[i].stop->dim) < 0 ||
        is_implied(r, by, &r->ending[i], n, dims, at))
      continue;
    ref_answer x = alive_for(r, &r->ending[i], n, dims, at);
    if (x == REF_NO && which) *which = i;
    if (x != REF_YES) return x;
  }
  return REF_YES;
}

ref_answer ref_seek(
    ref *r, tp_cell *by, int n, tp_dims dims, const int64_t *lo, const int64_t *hi, int64_t *at) {
  for (;;) {
    int which = 0;
    ref_answer x = ref_alive(r, by, n, dims, at, &which);
    if (x != REF_NO) return x;
    const ref_ending *e = &r->ending[which];
    int p = position(n, dims, e->stop->dim);
    x = alive_for(r, e, p + 1, dims, at);
    if (x == REF_WAIT || x == REF_FAILED) return x;
    /* the row has ended: nothing from dim p of the point on is alive */
    for (int k = p; x == REF_NO && k < n; k++) at[k] = hi[k] - 1;
    if (!ref_next(n, lo, hi, at)) return REF_NO;
  }
}

bool ref_want_end(ref *r, const ref_ending *e) { return ref_want(r, ref_cell_here(r, e->end)); }

typedef struct {
  const ref *r;
  uint64_t h;
} hashing;

static tp_ix *add_ix(void *ud, tp_ix *e) {
  hashing *x = ud;
  int64_t v = tp_ix_evalq(e, x->r->env);
  x->h = tp_hash(&v, sizeof v, x->h);
  return e;
}

/* Hashes indices, conditions, shapes and the branch taken at env's point. */
static uint64_t said(const ref *r, const tp_node *n) {
  hashing x = { r, 0 };
  tp_edge in[n->nin + 1];
  tp_node own;
  own_part(n, &own, in);
  if (n->op == TP_OP_MERGE) own.nin = 0, x.h = (uint64_t)ref_branch(r, n);
  tp_node_map(NULL, &own, add_ix, &x);
  return x.h;
}

static bool same_alone(ref *r, const tp_node *n, tp_sym *t, int64_t least) {
  int64_t *end = &r->env[t->bound->id], was = *end;
  uint64_t first = 0;
  bool same = true;
  for (*end = least; same && *end <= ref_bound(r, t); ++*end) {
    uint64_t h = said(r, n);
    first = *end == least ? h : first;
    same = h == first;
  }
  *end = was;
  return same;
}

/* Does n say the same for all values of the other ends from stop k on? Known ends have one
 * value. */
static bool same_beside(ref *r, const tp_node *n, tp_sym *t, int64_t least, int k) {
  const tp_graph *g = r->g;
  while (
      k < g->stops.n && (g->stops.v[k].dim == t || !mentions_itself(n, g->stops.v[k].dim->bound)))
    k++;
  if (k == g->stops.n) return same_alone(r, n, t, least);
  tp_sym *d = g->stops.v[k].dim;
  const tp_cell *c = ref_cell_here(r, r->ending[k].end);
  bool known = c->state == CELL_DONE, same = true;
  int64_t *end = &r->env[d->bound->id], was = *end,
          hi = known ? *(int64_t *)c->data[0] : ref_bound(r, d);
  for (*end = known ? hi : TP_MIN(1, hi); same && *end <= hi; ++*end)
    same = same_beside(r, n, t, least, k + 1);
  *end = was;
  return same;
}

/* Does n, at env's point, say the same for every end from the least on, as x[min(t, T - 1)] does?
 * Then the least stands for the end. The end itself, even if only one number is possible, is known
 * once it has been asked for. */
static bool is_settled(ref *r, const tp_node *n, const ref_ending *e) {
  tp_sym *t = e->stop->dim;
  int64_t least = ref_end_least(r, n, e);
  bool itself = n->op == TP_OP_VALUE && tp_ix_as_sym(n->attr.ix[0]) == t->bound,
       same = !itself && same_beside(r, n, t, least, 0);
  if (same) r->env[t->bound->id] = least;
  return same;
}

/* Demands those ends that make a difference at env's point. */
bool ref_demand_ends(ref *r, const tp_node *n) {
  for (int i = 0; i < r->g->stops.n; i++) {
    const ref_ending *e = &r->ending[i];
    if (r->ending[i].own[n->id] && ref_cell_here(r, e->end)->state != CELL_DONE &&
        !is_settled(r, n, e) && !ref_want_end(r, e))
      return false;
  }
  return true;
}
