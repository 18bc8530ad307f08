/* behind: finds the work that a step can leave for later ones. In the loop of a tick dim a
 * statement is *far* if the outputs of a tick need its results two rows later at the earliest
 * (learning whose parameters are read one iteration old), or never (prints). Far statements may run
 * behind the others, in their own order, as long as those of row r are over before anything of row
 * r + lag: then every value exists when it is read. live.c keeps elements until far statements have
 * read them.
 *
 * All writers of one accumulated array are far together, so that sums add up in one order. With
 * several tick dims, the outermost loop counts in which something may wait that later ticks need,
 * else the outermost in which anything may. */
#include "poly/sched.h"

enum { LAG_LEAST = 2 };

/* depth: how many loops are around the loop */
typedef struct {
  tp_sched *S;
  int depth;
  const tp_item *loop;
  bool *near;
} behind;

static const tp_mem *row_in(const behind *b, int st) {
  const tp_sst *s = &b->S->st[st];
  return s->npath > b->depth + 1 && s->path[b->depth].loop == b->loop ? s->path[b->depth].mem
                                                                      : NULL;
}

/* The one loop at this depth that all ticks are in. */
static const tp_item *tick_loop(tp_sched *S, int depth) {
  const tp_item *loop = NULL;
  for (int i = 0; i < S->p->stmts.n; i++) {
    if (!tp_is_tick(S->p->stmts.v[i])) continue;
    const tp_item *mine = S->st[i].npath > depth + 1 ? S->st[i].path[depth].loop : NULL;
    if (!mine || (loop && loop != mine)) return NULL;
    loop = mine;
  }
  return loop;
}

static tp_ix *mem_row(tp_sched *S, const tp_mem *m) {
  if (m->dim < 0 || m->shift.bad) return NULL;
  tp_ix *p = m->shift.p ? tp_ix_of_pw_aff(S->ix, 0, NULL, m->shift.p) : tp_ix_const(S->ix, 0);
  tp_ix *x = tp_ix_mulc(tp_ix_sym(S->p->stmts.v[m->st]->dim[m->dim]), m->s);
  return p ? tp_ix_addc(tp_ix_add(x, p), m->shift.c) : NULL;
}

static bool note_rows(const behind *b) {
  for (int i = 0; i < b->S->p->stmts.n; i++) {
    const tp_mem *m = row_in(b, i);
    if (m && !(b->S->p->stmts.v[i]->tickrow = mem_row(b->S, m))) return false;
  }
  return true;
}

/* By how many rows the dependence looks back, at least, inside one iteration of the loops around;
 * LEAST - 1: too few, or not known. */
static int rows_back(const behind *b, const tp_dep *d) {
  tp_sched *S = b->S;
  const tp_mem *u = row_in(b, d->src), *v = row_in(b, d->dst);
  tp_arc arc = { (int)(d - S->deps.v), d->map };
  bool exact;
  for (int k = 0; k < b->depth; k++)
    if (!tp_arc_at(S, &arc, S->st[d->src].path[k].mem, S->st[d->dst].path[k].mem, &arc, &exact))
      return TP_TUNE_LAG_MOST;
  if (u->s != v->s) return LAG_LEAST - 1;
  tp_wt w =
      tp_wt_add(S, tp_distance(S, arc.map, u->dim, v->dim, u->s), tp_wt_sub(S, v->shift, u->shift));
  if (w.bad || !tp_wt_le(S, tp_wt_c(LAG_LEAST), w)) return LAG_LEAST - 1;
  return w.p ? LAG_LEAST : (int)TP_MIN(w.c, TP_TUNE_LAG_MOST);
}

/* Does the dependence go from inside the loop to something that must not wait? */
static bool binds(const behind *b, const tp_dep *d) {
  return !d->soft && !d->pace && d->src != d->dst && row_in(b, d->src) && row_in(b, d->dst) &&
      b->near[d->dst];
}

static bool mark(const behind *b, int st) {
  if (b->near[st] || !row_in(b, st)) return false;
  return b->near[st] = true;
}

/* Marks all writers of a sum to which something near adds, and of ends that a near guard reads:
 * they must be begun in time. */
static bool mark_writers(const behind *b) {
  const tp_poly *p = b->S->p;
  bool *sum = TP_NEWN(p->a, bool, p->arrs.n), *near = TP_NEWN(p->a, bool, p->arrs.n), any = false;
  for (int i = 0; i < p->stmts.n; i++)
    for (int a = 0; a < p->stmts.v[i]->nacc; a++)
      sum[p->stmts.v[i]->acc[a].arr] |= p->stmts.v[i]->acc[a].kind == TP_ACC_UPDATE;
  for (int i = 0; i < p->stmts.n; i++) {
    const tp_stmt *s = p->stmts.v[i];
    for (int a = 0; a < s->nacc && b->near[i]; a++) {
      const tp_access *x = &s->acc[a];
      near[x->arr] |= x->kind != TP_ACC_READ ? sum[x->arr] : s->guard && a >= s->gacc && !x->idle;
    }
  }
  for (int i = 0; i < p->stmts.n; i++)
    for (int a = 0; a < p->stmts.v[i]->nacc; a++)
      if (p->stmts.v[i]->acc[a].kind != TP_ACC_READ && near[p->stmts.v[i]->acc[a].arr])
        any |= mark(b, i);
  return any;
}

static void spread_far(const behind *b) {
  for (bool any = true; any;) {
    any = mark_writers(b);
    TP_EACH (const tp_dep, d, b->S->deps) {
      if (binds(b, d) && !b->near[d->src] && rows_back(b, d) < LAG_LEAST) any |= mark(b, d->src);
    }
  }
}

/* The least lag; 0: no tick needs anything that may wait. */
static int least_lag(const behind *b) {
  int lag = 0;
  TP_EACH (const tp_dep, d, b->S->deps) {
    if (!binds(b, d) || b->near[d->src]) continue;
    int back = rows_back(b, d);
    lag = lag ? TP_MIN(lag, back) : back;
  }
  return lag;
}

static behind far_in(tp_sched *S, int depth, const tp_item *loop) {
  behind b = { S, depth, loop, TP_NEWN(S->a, bool, S->p->stmts.n) };
  for (int i = 0; i < S->p->stmts.n; i++) b.near[i] = tp_call_fn(S->p->stmts.v[i]) < 0;
  spread_far(&b);
  return b;
}

static bool is_far(const behind *b, int st) { return row_in(b, st) && !b->near[st]; }

static bool has_far(const behind *b) {
  bool any = false;
  for (int i = 0; i < b->S->p->stmts.n; i++) any |= is_far(b, i);
  return any;
}

void tp_behind(tp_sched *S) {
  tp_poly *p = S->p;
  behind best = { 0 };
  const tp_item *loop;
  int lag = 0;
  for (int depth = 0; !lag && (loop = tick_loop(S, depth)); depth++) {
    behind b = far_in(S, depth, loop);
    lag = least_lag(&b);
    if (lag || (!best.loop && has_far(&b))) best = b;
  }
  if (!best.loop || !note_rows(&best)) return;
  for (int i = 0; i < p->stmts.n; i++) p->stmts.v[i]->far = is_far(&best, i);
  p->lag = lag ? lag : LAG_LEAST;
  p->lagdepth = best.depth;
}
