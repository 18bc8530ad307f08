/* level: one depth of the driver: strongly connected components, for each the dims that may be its
 * next loop with an offset for each member, and the votes that choose one (docs/scheduling.md,
 * section 2). */
#include "poly/sched.h"

/* ---- components ---- */

/* Finds components, in order of their first statements; the statements of each are in order too. */
static void find_sccs(tp_sched *S, tp_level *L) {
  int N = S->p->stmts.n, *scc = TP_NEWN(S->a, int, N), *size = TP_NEWN(S->a, int, N),
      *as = TP_NEWN(S->a, int, N);
  tp_link *edge = TP_NEWN(S->a, tp_link, L->arcs.n);
  bool *in = TP_NEWN(S->a, bool, N);
  for (int e = 0; e < L->arcs.n; e++)
    edge[e] = (tp_link){ tp_dep_of(S, &L->arcs.v[e])->src, tp_dep_of(S, &L->arcs.v[e])->dst };
  tp_sccs(N, L->arcs.n, edge, scc);
  for (int i = 0; i < L->nst; i++) in[L->st[i]] = true, size[scc[L->st[i]]]++;
  L->scc = TP_NEWN(S->a, tp_scc, L->nst);
  L->of = TP_NEWN(S->a, int, N);
  L->at = TP_NEWN(S->a, int, N);
  for (int u = 0; u < N; u++) {
    if (!in[u]) continue;
    if (!as[scc[u]]) {
      L->scc[L->nscc] = (tp_scc){ .pick = -1, .st = TP_NEWN(S->a, int, size[scc[u]]) };
      as[scc[u]] = ++L->nscc;
    }
    tp_scc *c = &L->scc[L->of[u] = as[scc[u]] - 1];
    c->st[L->at[u] = c->n++] = u;
  }
}

/* The arcs of each component, inner ones and others, in one pass. */
static void sort_arcs(tp_sched *S, tp_level *L) {
  L->inner = TP_NEWN(S->a, tp_arcs, L->nscc);
  L->outer = TP_NEWN(S->a, tp_ints, L->nscc);
  for (int e = 0; e < L->arcs.n; e++) {
    const tp_dep *d = tp_dep_of(S, &L->arcs.v[e]);
    int u = L->of[d->src], v = L->of[d->dst];
    if (u == v) {
      TP_PUSH(S->a, &L->inner[u], L->arcs.v[e]);
      continue;
    }
    TP_PUSH(S->a, &L->outer[u], e);
    TP_PUSH(S->a, &L->outer[v], e);
  }
}

/* ---- legal dims and offsets ---- */

int tp_dim_of(tp_sched *S, int st, tp_sym *label) {
  const tp_stmt *s = S->p->stmts.v[st];
  for (int d = 0; d < s->ndim; d++)
    if (s->label[d] == label && !(S->st[st].used >> d & 1)) return d;
  return -1;
}

typedef struct {
  tp_sched *S;
  const tp_level *L;
  const tp_scc *c;
  const tp_arcs *in;
  tp_sym *label;
  int s;
  tp_wt *off, *w;       /* by member; by arc */
  int64_t *at;          /* w at sample bounds */
  int nlink, *link;     /* arcs between two members, sorted */
  tp_ints *into, *from; /* by member: such arcs */
} fit;

static const tp_dep *arc_dep(const fit *f, int e) { return tp_dep_of(f->S, &f->in->v[e]); }
static int arc_src(const fit *f, int e) { return f->L->at[arc_dep(f, e)->src]; }
static int arc_dst(const fit *f, int e) { return f->L->at[arc_dep(f, e)->dst]; }

static bool weigh(fit *f) {
  for (int e = 0; e < f->in->n; e++) {
    const tp_dep *d = arc_dep(f, e);
    tp_ask_dep(f->S, "how far '%s' runs behind '%s'", d);
    f->w[e] = tp_distance(f->S, f->in->v[e].map, tp_dim_of(f->S, d->src, f->label),
        tp_dim_of(f->S, d->dst, f->label), f->s);
    if (f->w[e].bad || (d->src == d->dst && !tp_wt_le(f->S, tp_wt_c(0), f->w[e]))) return false;
    f->at[e] = tp_wt_at(f->S, f->w[e], TP_TUNE_VOTE_BOUND);
    if (d->src == d->dst) continue;
    TP_PUSH(f->S->a, &f->into[arc_dst(f, e)], e);
    TP_PUSH(f->S->a, &f->from[arc_src(f, e)], e);
  }
  return true;
}

/* Sorts links in a topological order of the arcs that raise a zero, or pass on a raised offset. */
static void sort_links(fit *f) {
  int n = f->c->n, m = 0, *scc = TP_NEWN(f->S->a, int, n);
  tp_link *edge = TP_NEWN(f->S->a, tp_link, f->in->n);
  for (int e = 0; e < f->in->n; e++)
    if (f->at[e] <= 0) edge[m++] = (tp_link){ arc_src(f, e), arc_dst(f, e) };
  int count = tp_sccs(n, m, edge, scc);
  tp_ints *of = TP_NEWN(f->S->a, tp_ints, count);
  for (int i = 0; i < n; i++) TP_PUSH(f->S->a, &of[count - 1 - scc[i]], i);
  f->link = TP_NEWN(f->S->a, int, f->in->n);
  for (int c = 0; c < count; c++)
    for (int i = 0; i < of[c].n; i++) {
      const tp_ints *from = &f->from[of[c].v[i]];
      for (int k = 0; k < from->n; k++) f->link[f->nlink++] = from->v[k];
    }
}

/* Longest paths in numbers, at the sample bounds: a cycle back in time there is one for all
 * bounds. */
static bool fits_at(const fit *f) {
  int64_t *off = TP_NEWN(f->S->a, int64_t, f->c->n);
  bool changed = true;
  for (int round = 0; round <= f->c->n && changed; round++) {
    changed = false;
    for (int k = 0; k < f->nlink; k++) {
      int e = f->link[k], to = arc_dst(f, e);
      int64_t least = off[arc_src(f, e)] - f->at[e];
      if (least <= off[to]) continue;
      off[to] = least;
      changed = true;
    }
  }
  return !changed;
}

/* Longest paths: off[v] >= off[u] - w. If rounds still change offsets after as many as there are
 * members, a cycle goes back in time. */
static bool longest_paths(const fit *f) {
  for (int round = 0; round <= f->c->n; round++) {
    bool changed = false;
    for (int k = 0; k < f->nlink; k++) {
      int e = f->link[k];
      tp_wt least = tp_wt_sub(f->S, f->off[arc_src(f, e)], f->w[e]), *v = &f->off[arc_dst(f, e)];
      if (tp_wt_le(f->S, least, *v)) continue;
      *v = tp_wt_above(f->S, tp_wt_max(f->S, *v, least));
      if (v->bad) return false;
      changed = true;
    }
    if (!changed) return true;
  }
  return false;
}

/* ---- states: a member that has slack everywhere and starts later than the others runs early, so
 * that w[i + 1] is made at the end of body i ---- */

/* *out := how much later than it must member i runs; false: some arc holds it, or none ends
 * there. */
static bool slack(const fit *f, int i, int64_t *out) {
  *out = 0;
  for (int k = 0; k < f->into[i].n; k++) {
    int e = f->into[i].v[k];
    tp_wt s = tp_wt_sub(f->S, tp_wt_add(f->S, f->off[i], f->w[e]), f->off[arc_src(f, e)]);
    if (s.bad || s.p || s.c <= 0) return false;
    if (k == 0 || s.c < *out) *out = s.c;
  }
  return f->into[i].n > 0;
}

static tp_wt first_of(const fit *f, int i) {
  return tp_first_row(f->S, f->c->st[i], tp_dim_of(f->S, f->c->st[i], f->label), f->s);
}

/* Does the loop's first iteration stay its first: does some other member start no later? */
static bool starts_late(const fit *f, const tp_wt *starts, int i, tp_wt off) {
  tp_wt first = tp_wt_add(f->S, first_of(f, i), off);
  for (int k = 0; k < f->c->n; k++)
    if (tp_wt_le(f->S, starts[k], first)) return true;
  return false;
}

/* With ticks: the members that only copy states, as all members they wait for have slack too. They
 * stay: run early, they would wait for values that are still being made (behind.c). */
static bool *copies_of_states(const fit *f) {
  bool *copy = TP_NEWN(f->S->a, bool, f->c->n), *slacks = TP_NEWN(f->S->a, bool, f->c->n);
  int64_t by;
  for (int i = 0; i < f->c->n; i++) copy[i] = f->S->p->ticks && (slacks[i] = slack(f, i, &by));
  for (int k = 0; k < f->nlink; k++)
    if (!slacks[arc_src(f, f->link[k])]) copy[arc_dst(f, f->link[k])] = false;
  return copy;
}

static tp_wt *starts_of(const fit *f) {
  tp_wt *starts = TP_NEWN(f->S->a, tp_wt, f->c->n);
  for (int i = 0; i < f->c->n; i++) starts[i] = tp_wt_add(f->S, first_of(f, i), f->off[i]);
  return starts;
}

/* Lowers states in rounds through the members; after the first, only those that wait for a lowered
 * one. */
static void lower_states(const fit *f) {
  const bool *copy = copies_of_states(f);
  const tp_wt *starts = NULL;
  bool *due = TP_NEWN(f->S->a, bool, f->c->n), more = true;
  for (int i = 0; i < f->c->n; i++) due[i] = true;
  for (int round = 0; round < f->c->n && more; round++) {
    more = false;
    for (int i = 0; i < f->c->n; i++) {
      int64_t by;
      if (!due[i] || copy[i] || f->S->p->stmts.v[f->c->st[i]]->effect) continue;
      due[i] = false;
      if (!slack(f, i, &by)) continue;
      if (!starts) starts = starts_of(f); /* none is lowered yet */
      tp_wt off = tp_wt_sub(f->S, f->off[i], tp_wt_c(by));
      if (!starts_late(f, starts, i, off)) continue;
      f->off[i] = off;
      for (int k = 0; k < f->from[i].n; k++) due[arc_dst(f, f->from[i].v[k])] = true;
      more = true;
    }
  }
}

static bool fits(tp_sched *S, const tp_level *L, const tp_scc *c, const tp_arcs *in, tp_sym *label,
    int s, tp_wt **off) {
  fit f = { .S = S,
    .L = L,
    .c = c,
    .in = in,
    .label = label,
    .s = s,
    .off = TP_NEWN(S->a, tp_wt, c->n),
    .w = TP_NEWN(S->a, tp_wt, in->n),
    .at = TP_NEWN(S->a, int64_t, in->n),
    .into = TP_NEWN(S->a, tp_ints, c->n),
    .from = TP_NEWN(S->a, tp_ints, c->n) };
  *off = f.off;
  if (!in->n) return true;
  if (!weigh(&f)) return false;
  sort_links(&f);
  if (!fits_at(&f) || !longest_paths(&f)) return false;
  if (c->n > 1) lower_states(&f);
  return true;
}

static bool all_have(tp_sched *S, const tp_scc *c, tp_sym *label) {
  for (int i = 0; i < c->n; i++)
    if (tp_dim_of(S, c->st[i], label) < 0) return false;
  return true;
}

static void candidates(tp_sched *S, tp_level *L, int k) {
  tp_scc *c = &L->scc[k];
  const tp_stmt *s = S->p->stmts.v[c->st[0]];
  tp_arcs in = L->inner[k];
  c->rec = in.n > 0;
  c->cand = TP_NEWN(S->a, tp_cand, s->ndim);
  for (int i = 0; i < c->n && !c->left; i++) {
    int nd = S->p->stmts.v[c->st[i]]->ndim;
    c->left = (S->st[c->st[i]].used & ((1u << nd) - 1)) != (1u << nd) - 1;
  }
  for (int d = 0; d < s->ndim; d++) {
    if (tp_dim_of(S, c->st[0], s->label[d]) != d || !all_have(S, c, s->label[d])) continue;
    tp_cand *x = &c->cand[c->ncand];
    x->label = s->label[d];
    for (int i = 0; i < 2; i++) x->ok[i] = fits(S, L, c, &in, x->label, i ? -1 : 1, &x->off[i]);
    c->ncand += x->ok[0] || x->ok[1];
    if (!x->ok[0] && !x->ok[1]) *x = (tp_cand){ 0 };
  }
}

/* Components without a legal dim give up soft dependences. */
static bool drop_soft(tp_sched *S, const tp_level *L, tp_arcs *arcs) {
  int n = 0;
  for (int e = 0; e < arcs->n; e++) {
    const tp_dep *d = tp_dep_of(S, &arcs->v[e]);
    const tp_scc *c = &L->scc[L->of[d->src]];
    if (!d->soft || L->of[d->src] != L->of[d->dst] || c->ncand) arcs->v[n++] = arcs->v[e];
  }
  bool any = n < arcs->n;
  arcs->n = n;
  return any;
}

tp_level *tp_level_make(tp_sched *S, int nst, const int *st, const tp_arcs *arcs) {
  tp_arcs mine = { 0 };
  for (int e = 0; e < arcs->n; e++) TP_PUSH(S->a, &mine, arcs->v[e]);
  for (;;) {
    tp_level *L = TP_NEW(S->a, tp_level);
    *L = (tp_level){ .nst = nst, .st = st, .arcs = mine };
    find_sccs(S, L);
    sort_arcs(S, L);
    for (int k = 0; k < L->nscc; k++) candidates(S, L, k);
    if (!drop_soft(S, L, &mine)) return L;
  }
}

/* ---- arcs between equal rows ---- */

/* map NULL: all of it, or not known */
typedef struct {
  bool never, exact;
  isl_map *map;
} meeting;

/* The pairs of m in equal rows; equal objects give the same answer. */
static const meeting *meeting_of(tp_sched *S, isl_map *m, isl_pw_aff *u, isl_pw_aff *v) {
  bool fresh;
  tp_question q = { .what = OF_MEETING, .of = m, .with = u, .third = v };
  meeting *x = tp_recall(S, &q, sizeof *x, &fresh);
  if (!fresh) return x;
  tp_query(S);
  isl_map *same =
      isl_map_intersect(isl_map_copy(m), isl_pw_aff_eq_map(isl_pw_aff_copy(u), isl_pw_aff_copy(v)));
  bool never = same && isl_map_is_empty(same) == isl_bool_true,
       all = same && !never && isl_map_is_subset(m, same) == isl_bool_true;
  bool known = tp_query_end(S) && same;
  *x = (meeting){ .never = known && never, .exact = known && all };
  if (known && !never && !all) x->map = tp_keep_map(S, same);
  else isl_map_free(same);
  return x;
}

bool tp_arc_at(
    tp_sched *S, const tp_arc *e, const tp_mem *u, const tp_mem *v, tp_arc *out, bool *exact) {
  *exact = false;
  *out = *e;
  int64_t lo, hi;
  if (tp_rows_apart(S, e->map, u, v, &lo, &hi) && (lo == hi || lo > 0 || hi < 0))
    return *exact = lo == 0 && hi == 0;
  tp_ask_dep(S, "in which iterations '%s' needs '%s'", tp_dep_of(S, e));
  const meeting *x = meeting_of(S, e->map, u->row, v->row);
  *exact = x->exact;
  if (x->map) out->map = x->map;
  return !x->never;
}

/* ---- votes ---- */

static int find_cand(const tp_scc *c, tp_sym *label) {
  for (int i = 0; i < c->ncand; i++)
    if (c->cand[i].label == label) return i;
  return -1;
}

/* Spreads choices of this stage along arcs. */
static void spread_level(tp_sched *S, tp_level *L, int nq, int *q) {
  for (int i = 0; i < nq; i++)
    for (int j = 0; j < L->outer[q[i]].n; j++) {
      const tp_dep *d = tp_dep_of(S, &L->arcs.v[L->outer[q[i]].v[j]]);
      int a = L->of[d->src], other = a == q[i] ? L->of[d->dst] : a;
      if (L->scc[other].pick >= 0) continue;
      int k = find_cand(&L->scc[other], L->scc[q[i]].cand[L->scc[q[i]].pick].label);
      if (k < 0) continue;
      L->scc[other].pick = k;
      q[nq++] = other;
    }
}

bool tp_acyclic(tp_sched *S, const tp_scc *c, const tp_arcs *arcs) {
  int left = c->n;
  bool *gone = TP_NEWN(S->a, bool, S->p->stmts.n), *held = TP_NEWN(S->a, bool, S->p->stmts.n);
  for (bool moved = true; moved && left;) {
    moved = false;
    for (int i = 0; i < c->n; i++) held[c->st[i]] = false;
    for (int e = 0; e < arcs->n; e++)
      if (!gone[tp_dep_of(S, &arcs->v[e])->src]) held[tp_dep_of(S, &arcs->v[e])->dst] = true;
    for (int i = 0; i < c->n; i++)
      if (!gone[c->st[i]] && !held[c->st[i]]) {
        gone[c->st[i]] = moved = true;
        left--;
      }
  }
  return !left;
}

tp_arcs tp_arcs_inside(tp_sched *S, const tp_level *L, int k, int pick, tp_mem **mem) {
  const tp_scc *c = &L->scc[k];
  const tp_cand *x = &c->cand[pick];
  int s = x->ok[0] ? 0 : 1;
  tp_mem *m = *mem = TP_NEWN(S->a, tp_mem, c->n);
  tp_arcs rest = { 0 };
  for (int i = 0; i < c->n; i++)
    m[i] = tp_mem_make(S, c->st[i], tp_dim_of(S, c->st[i], x->label), s ? -1 : 1, x->off[s][i]);
  for (int e = 0; e < L->inner[k].n; e++) {
    const tp_arc *arc = &L->inner[k].v[e];
    const tp_dep *d = tp_dep_of(S, arc);
    tp_arc out;
    bool exact;
    if (tp_arc_at(S, arc, &m[L->at[d->src]], &m[L->at[d->dst]], &out, &exact))
      TP_PUSH(S->a, &rest, out);
  }
  return rest;
}

/* Does a loop over this dim leave no cycle inside, so that all inner loops are parallel? */
static bool carries_all(tp_sched *S, const tp_level *L, int k, int pick) {
  tp_mem *mem;
  tp_arcs rest = tp_arcs_inside(S, L, k, pick, &mem);
  return tp_acyclic(S, &L->scc[k], &rest);
}

static bool could_be_vector(tp_sched *S, const tp_scc *c, tp_sym *label) {
  for (int i = 0; i < c->n; i++)
    if (S->p->stmts.v[c->st[i]]->mayvec >> tp_dim_of(S, c->st[i], label) & 1) return true;
  return false;
}

/* Is every arc inside between points that are equal in this dim? A loop over it orders nothing. */
static bool carries_none(tp_sched *S, const tp_level *L, int k, tp_sym *label) {
  int64_t lo, hi;
  for (int e = 0; e < L->inner[k].n; e++) {
    const tp_dep *d = tp_dep_of(S, &L->inner[k].v[e]);
    if (!tp_const_distance(S, L->inner[k].v[e].map, tp_dim_of(S, d->src, label),
            tp_dim_of(S, d->dst, label), &lo, &hi) ||
        lo || hi)
      return false;
  }
  return true;
}

/* Bytes that an arc keeps alive from row to row of a loop over this dim: as many rows as the reader
 * lies behind; all if it isn't in the loop. */
static double kept_by(tp_sched *S, const tp_arc *e, tp_sym *label, int s) {
  const tp_dep *d = tp_dep_of(S, e);
  if (d->arr < 0) return 0;
  const tp_arr *x = S->p->arrs.v[d->arr];
  double row = (double)tp_dtype_size(x->dtype), rows = TP_TUNE_SAMPLE_BOUND;
  int u = tp_dim_of(S, d->src, label), v = tp_dim_of(S, d->dst, label);
  if (!tp_dom_has(x->ndim, x->dim, label)) return 0;
  for (int k = 0; k < x->ndim; k++) row *= x->dim[k] == label ? 1 : TP_TUNE_SAMPLE_BOUND;
  for (int k = 0; k < x->rank; k++) {
    int64_t n;
    row *= tp_ix_is_const(x->shape[k], &n) ? (double)n : TP_TUNE_SAMPLE_BOUND;
  }
  if (u >= 0 && v >= 0) {
    tp_ask_dep(S, "how far '%s' runs behind '%s'", d);
    tp_wt w = tp_distance(S, e->map, u, v, -s);
    if (!w.bad) rows = (double)-tp_wt_at(S, w, TP_TUNE_SAMPLE_BOUND);
  }
  return row * TP_MIN(TP_MAX(rows, 0), TP_TUNE_SAMPLE_BOUND);
}

/* Bytes that a loop over a candidate keeps alive: of each array as many as its last reader needs.
 */
static double kept(tp_sched *S, const tp_level *L, int k, const tp_cand *x) {
  int n = L->inner[k].n + L->outer[k].n, s = x->ok[0] ? 1 : -1;
  struct {
    int arr;
    double most;
  } *by = TP_NEWN(S->a, __typeof__(*by), n);
  double sum = 0;
  for (int i = 0, m = 0; i < n; i++) {
    const tp_arc *e =
        i < L->inner[k].n ? &L->inner[k].v[i] : &L->arcs.v[L->outer[k].v[i - L->inner[k].n]];
    double b = kept_by(S, e, x->label, s);
    int j = 0;
    while (j < m && by[j].arr != tp_dep_of(S, e)->arr) j++;
    if (j == m) {
      by[m].arr = tp_dep_of(S, e)->arr;
      by[m++].most = 0;
    }
    sum += TP_MAX(b - by[j].most, 0);
    by[j].most = TP_MAX(by[j].most, b);
  }
  return sum;
}

/* Prefers a dim that leaves no cycle, best one that no call could run over; then one that orders
 * something. Among equals the one that keeps less wins, then the first in program order. */
static int best_dim(tp_sched *S, const tp_level *L, int k) {
  const tp_scc *c = &L->scc[k];
  int best = 0, rank = 4;
  double bytes = 0;
  for (int i = 0; i < c->ncand; i++) {
    tp_sym *l = c->cand[i].label;
    int r = !c->rec                ? 0
        : carries_all(S, L, k, i)  ? could_be_vector(S, c, l)
        : carries_none(S, L, k, l) ? 3
                                   : 2;
    if (r > rank) continue;
    double b = kept(S, L, k, &c->cand[i]);
    if (r == rank && b >= bytes) continue;
    best = i;
    rank = r;
    bytes = b;
  }
  return best;
}

static void stage(tp_sched *S, tp_level *L, bool rec, bool several) {
  int nq = 0, *q = TP_NEWN(S->a, int, L->nscc);
  for (int k = 0; k < L->nscc; k++) {
    tp_scc *c = &L->scc[k];
    if (c->pick >= 0 || !c->ncand || c->rec != rec || (c->ncand > 1) != several) continue;
    c->pick = several ? best_dim(S, L, k) : 0;
    q[nq++] = k;
    /* one at a time: the next may follow */
    if (several) {
      spread_level(S, L, nq, q);
      nq = 0;
    }
  }
  spread_level(S, L, nq, q);
}

void tp_choose_recurrences(tp_sched *S, tp_level *L) {
  stage(S, L, true, false);
  stage(S, L, true, true);
}

void tp_choose_rest(tp_sched *S, tp_level *L) {
  stage(S, L, false, false);
  stage(S, L, false, true);
}
