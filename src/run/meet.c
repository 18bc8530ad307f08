/* meet.c: decides whether threads gain by sharing a team at these bounds, and where they have to
 * meet.
 *
 * A window of a cut leaf is *the thread's own* if all places of its buffer that it ever touches lie
 * in the thread's share: the cut, of N places, moves it by s each, and all else moves it by
 * multiples of s N or stays below s. Then places belong to threads by (place / s) mod N, so threads
 * with own windows of one s and one share never meet in the buffer. Two leaves that otherwise touch
 * the same memory, one of them writing, have a meeting between them, unless the first thread runs
 * both. Buffers of different lives may overlap. Loops are walked twice, for leaves of one iteration
 * meet those of the next. */
#include "run/priv.h"
#include <math.h>
#include <stdlib.h>

typedef struct {
  int buf, share;
  bool written, own;
  int64_t step;
} team_access;
typedef struct {
  bool runs, cut;
  int n;
  team_access *v;
  double ns;
  int64_t times;
} team_leaf_use;
typedef struct {
  tp_workers *all;
  tp_arena a;
  team_leaf_use *use;
  int64_t *bytes;
  const tp_teams *t;
  const int64_t *lo, *hi;
} team_judge;
/* by position: has the leaf run since the latest meeting? */
typedef unsigned char *pending;

static bool known(const team_judge *j, tp_ix *e, int64_t *v) {
  int64_t most;
  if (!e) return *v = 0, true;
  tp_ix_range(e, j->lo, j->hi, v, &most);
  return *v == most;
}

/* The range of an offset, up to multiples of `period`. Functions: false: unknown. */
typedef struct {
  int64_t lo, hi;
} span;

static bool term_span(const team_judge *j, tp_ix *e, int i, int64_t period, span *s) {
  tp_ixs atom;
  int n = tp_ix_term(e, i, &atom), vars = 0;
  int64_t coef = tp_ix_coef(e, i), lo = 1, hi = 1;
  for (int k = 0; k < n; k++) {
    int64_t v;
    if (known(j, atom[k], &v)) coef *= v;
    else if (vars++) return coef % period == 0;
    else tp_ix_range(atom[k], j->lo, j->hi, &lo, &hi);
  }
  if (coef % period == 0) return true;
  s->lo += coef < 0 ? coef * hi : coef * lo;
  s->hi += coef < 0 ? coef * lo : coef * hi;
  return true;
}

static bool offset_span(const team_judge *j, tp_ix *e, int64_t period, span *s) {
  int64_t c = e ? tp_floormod(tp_ix_cst(e), period) : 0;
  *s = (span){ c, c };
  for (int i = 0; e && i < tp_ix_nterm(e); i++)
    if (!term_span(j, e, i, period, s)) return false;
  int64_t over = s->lo == s->hi ? s->lo - tp_floormod(s->lo, period) : 0;
  s->lo -= over, s->hi -= over;
  return true;
}

/* adds n places, `step` apart */
static bool add_places(span *s, int64_t step, int64_t n, int64_t period) {
  if (n <= 1 || step % period == 0) return true;
  s->hi += step * (n - 1);
  return step > 0;
}

static int64_t most_of(const team_judge *j, tp_ix *e) {
  int64_t lo, hi;
  tp_ix_range(e, j->lo, j->hi, &lo, &hi);
  return hi;
}

static bool add_axes(const team_judge *j, const tp_region *r, const tp_nd *w, tp_ix *moves, span *s,
    int64_t period) {
  int64_t step;
  bool left = false; /* once */
  for (int k = 0; k < r->nlead + w->rank; k++) {
    tp_ix *e = k >= r->nlead ? w->stride[k - r->nlead] : w->lead ? w->lead[k] : NULL;
    if (e == moves && !left) {
      left = true;
      continue;
    }
    int64_t n = k == w->wrap ? most_of(j, w->wmod)
                             : most_of(j, k < r->nlead ? r->lead[k] : w->shape[k - r->nlead]);
    if (!known(j, e, &step) || !add_places(s, step, n, period)) return false;
  }
  for (int k = 0; k < w->nring; k++)
    if (!known(j, w->ring[k].stride, &step) ||
        !add_places(s, step, most_of(j, w->ring[k].width), period))
      return false;
  return true;
}

static bool is_own(const team_judge *j, const tp_region *r, const tp_cut *c, int w, int64_t *step) {
  const tp_nd *x = tp_window_at(r, w);
  tp_ix *moves = tp_cut_stride(r, c, w);
  int64_t whole, period;
  span s;
  if (!moves || !known(j, moves, step) || *step <= 0 || !known(j, tp_cut_extent(r, c), &whole) ||
      whole < 1)
    return false;
  if (__builtin_mul_overflow(*step, whole, &period)) return false;
  return offset_span(j, x->off, period, &s) && add_axes(j, r, x, moves, &s, period) && s.lo >= 0 &&
      s.hi < *step;
}

bool tp_cut_is_own(const int64_t *lo, const int64_t *hi, const tp_region *r, const tp_cut *c, int w,
    int64_t *step) {
  return is_own(&(team_judge){ .lo = lo, .hi = hi }, r, c, w, step);
}

static double cost(const team_judge *j, const tp_region *r) {
  double all = 1, own = 1;
  for (int k = 0; k < r->nlead; k++) all *= (double)TP_MAX(most_of(j, r->lead[k]), 0);
  if (r->kind == TP_RG_LOOP) return all * (r->nmicro + 1) * TP_TUNE_TEAM_ELEMENT * 1e-3;
  const tp_nd *o = &r->out[0];
  for (int k = 0; k < o->rank; k++) own *= (double)TP_MAX(most_of(j, o->shape[k]), 0);
  if (r->op != TP_OP_MATMUL && r->op != TP_OP_MATMUL_BLOCKS)
    return all * own * TP_TUNE_TEAM_OTHER * 1e-3;
  return all * own * (double)most_of(j, r->in[0].shape[r->in[0].rank - 1]) * TP_TUNE_TEAM_PRODUCT *
      1e-3;
}

static bool is_top(const tp_teams *t, const tp_pnode *x) {
  for (int i = 0; i < t->nteam; i++)
    for (int k = 0; k < t->team[i].n; k++)
      if (t->team[i].v[k].as == x) return true;
  return false;
}

/* how often the leaf runs in one execution of its team */
static int64_t times(const team_judge *j, const tp_pnode *leaf) {
  int64_t n = 1;
  for (const tp_pnode *x = leaf; x; x = is_top(j->t, x) ? NULL : x->up)
    if (x->kind == TP_P_FOR)
      n *= TP_MAX(j->hi[x->var->id] - j->lo[x->var->id], 0) / abs(x->step) + 1;
  return n;
}

static void note_use(void *ud, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  team_judge *j = ud;
  if (x->kind != TP_P_REGION || !j->t->leaf[x->pos]) return;
  const tp_region *r = x->rg;
  const tp_cut *c = &j->t->cut[x->pos];
  team_leaf_use *u = &j->use[x->pos];
  j->lo = lo, j->hi = hi;
  u->runs = true;
  u->cut = c->share >= 0 && !j->all->alone[x->pos];
  u->times = times(j, j->t->leaf[x->pos]);
  u->ns = u->cut ? cost(j, r) * (double)u->times : 0;
  u->v = TP_NEWN(&j->a, team_access, r->nin + r->nout + 1);
  for (int i = 0; i < r->nin + r->nout; i++) {
    team_access *a = &u->v[u->n];
    *a = (team_access){ .buf = tp_window_at(r, i)->buf, .share = c->share, .written = i >= r->nin };
    a->own = u->cut && a->buf >= 0 && is_own(j, r, c, i, &a->step);
    u->n += a->buf >= 0;
  }
  if (r->work && !u->cut) u->v[u->n++] = (team_access){ .buf = r->work->id, .written = true };
}

static bool overlap(const team_judge *j, int a, int b) {
  const int64_t *at = j->all->x->mem->offset;
  return a == b ||
      (at[a] >= 0 && at[b] >= 0 && at[a] < at[b] + j->bytes[b] && at[b] < at[a] + j->bytes[a]);
}

static bool conflict(const team_judge *j, const team_leaf_use *a, const team_leaf_use *b) {
  if (!a->cut && !b->cut) return false;
  for (int i = 0; i < a->n; i++)
    for (int k = 0; k < b->n; k++) {
      const team_access *p = &a->v[i], *q = &b->v[k];
      if ((!p->written && !q->written) || !overlap(j, p->buf, q->buf)) continue;
      if (p->buf != q->buf || !p->own || !q->own || p->step != q->step || p->share != q->share)
        return true;
    }
  return false;
}

static void reach_leaf(team_judge *j, int pos, pending p) {
  int npos = j->all->x->plan->npos;
  unsigned char *meets = &j->all->meets[pos];
  if (!j->use[pos].runs) return;
  for (int i = 0; i < npos && !*meets; i++) *meets = p[i] && conflict(j, &j->use[i], &j->use[pos]);
  if (*meets) memset(p, 0, (size_t)npos);
  p[pos] = true;
}

/* Finds meetings. A loop or branch may do nothing, so leaves pending before it stay pending. */
static void find_meetings(team_judge *j, const tp_pnode *x, pending p) {
  int npos = j->all->x->plan->npos;
  if (x->kind == TP_P_REGION) {
    reach_leaf(j, x->pos, p);
    return;
  }
  bool branch = x->kind == TP_P_IF || x->kind == TP_P_FOR;
  pending was = branch ? TP_DUPN(&j->a, p, npos) : NULL, all = branch ? TP_DUPN(&j->a, p, npos) : p;
  for (int i = 0; i < x->n; i++) {
    if (x->kind == TP_P_IF) TP_COPYN(p, was, npos);
    find_meetings(j, x->kid[i], p);
    if (x->kind == TP_P_FOR) find_meetings(j, x->kid[i], p);
    for (int k = 0; k < npos && branch; k++) all[k] |= p[k];
  }
  if (branch) TP_COPYN(p, all, npos);
}

/* seconds: longer than waking a thread that has a processor */
#define MEET_PATIENCE 1e-3

/* Sharing must save more than waking the threads and meeting costs. */
static void weigh(team_judge *j, int team) {
  tp_workers *all = j->all;
  const tp_team *m = &j->t->team[team];
  const char *set = tp_setting("TEMPO_SHARE");
  double shared = 0, meeting = 0;
  for (int i = 0; i < m->n; i++)
    TP_EACH_NODE (k, m->v[i].as) {
      const team_leaf_use *u = &j->use[k.x->pos];
      if (!k.x->rg) continue;
      shared += u->ns;
      if (all->meets[k.x->pos]) meeting += (double)TP_TUNE_TEAM_MEET * (double)u->times;
    }
  all->gather[team] = !meeting ? 0 : set ? HUGE_VAL : MEET_PATIENCE;
  all->works[team] = set ? shared > 0 && shared >= atof(set)
                         : shared * (1 - 1.0 / all->n) > meeting + TP_TUNE_TEAM_FORK;
}

static void judge_all(team_judge *j) {
  tp_workers *all = j->all;
  const tp_plan *p = all->x->plan;
  j->use = TP_NEWN(&j->a, team_leaf_use, p->npos + 1);
  j->bytes = TP_NEWN(&j->a, int64_t, p->bufs.n);
  for (int i = 0; i < p->bufs.n; i++)
    j->bytes[i] = p->bufs.v[i]->kind == TP_BUF_WORK ? all->x->count[i]
        : p->bufs.v[i]->kind == TP_BUF_TEMP         ? tp_pbuf_bytes(p->bufs.v[i], all->x->env)
                                                    : 0;
  if (!tp_plan_reach(p, all->x->env, note_use, j)) tp_oom();
  memset(all->meets, 0, sizeof *all->meets * (size_t)p->npos);
  for (int i = 0; i < j->t->nteam; i++) {
    pending none = TP_NEWN(&j->a, unsigned char, p->npos);
    for (int k = 0; k < j->t->team[i].n; k++) find_meetings(j, j->t->team[i].v[k].as, none);
    weigh(j, i);
  }
}

bool tp_team_judge(tp_workers *all) {
  team_judge j = { .all = all, .t = all->teams };
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return false;
  tp_scratch_init(&j.a);
  judge_all(&j);
  tp_arena_free(&j.a);
  tp_unguard(&oom);
  return true;
}
