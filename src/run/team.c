/* team.c: runs threads that share a team of the plan (plan/team.c). Each has an exec of its own:
 * cut regions bound for its share of an axis, work buffers, a copy of the variables from the team's
 * begin; buffers and instructions are the run's. The first is the running thread, with the run's
 * variables; it alone runs leaves that are not cut. If it fails or the run is cancelled, the others
 * end at their next region. */
#include "run/priv.h"

static bool is_cut(const tp_teams *t, int pos) { return t->leaf[pos] && t->cut[pos].share >= 0; }

static bool make_worker(tp_workers *all, int who) {
  tp_worker *w = &all->w[who];
  tp_exec *x = all->x;
  *w = (tp_worker){ .all = all, .who = who, .x = *x };
  w->x.worker = w;
  w->x.workers = NULL;
  w->x.own = NULL;
  w->x.nreg = 0;
  w->x.err = &w->err;
  tp_arena_init(&w->x.a);
  w->x.plan = &all->teams->plan;
  w->x.reg = TP_NEWN(&w->x.a, tp_dreg *, x->nreg);
  w->x.regat = TP_NEWN(&w->x.a, tp_dreg *, x->plan->npos);
  w->x.written = TP_NEWN(&w->x.a, int, x->plan->bufs.n);
  w->x.running = true;
  if (who) w->x.env = TP_NEWN(&w->x.a, int64_t, x->nsym);
  if (!x->target->open(&w->x)) return false;
  for (int pos = 0; pos < x->plan->npos; pos++) {
    if (!is_cut(all->teams, pos)) continue;
    if (!tp_dreg_new(&w->x, all->teams->leaf[pos])) return false;
    if (!who) w->x.regat[pos]->clock = x->regat[pos]->clock;
  }
  return x->target->ready(&w->x);
}

static bool make_workers(tp_exec *x, int n) {
  tp_workers *all = x->workers = TP_NEW(&x->a, tp_workers);
  *all = (tp_workers){ .x = x, .teams = x->plan->teams, .w = TP_NEWN(&x->a, tp_worker, n) };
  all->works = TP_NEWN(&x->a, bool, all->teams->nteam + 1);
  all->gather = TP_NEWN(&x->a, double, all->teams->nteam + 1);
  all->alone = TP_NEWN(&x->a, bool, x->plan->npos + 1);
  all->meets = TP_NEWN(&x->a, unsigned char, x->plan->npos + 1);
  all->never = TP_NEWN(&x->a, unsigned char, x->plan->npos + 1);
  for (; all->n < n; all->n++)
    if (!make_worker(all, all->n)) return false;
  return true;
}

bool tp_exec_threads(tp_exec *x, int n, tp_error *err) {
  if (n < 2 || x->device || !x->plan->teams || !x->plan->teams->nteam) return true;
  x->err = err;
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return tp_no_memory(err, TP_NOWHERE);
  bool ok = make_workers(x, n);
  if (!ok && x->workers->n < n) *err = x->workers->w[x->workers->n].err;
  tp_unguard(&oom);
  return ok;
}

void tp_workers_free(tp_exec *x) {
  tp_workers *all = x->workers;
  tp_workers_rest(x);
  for (int i = 0; all && all->w && i < all->n; i++) {
    x->target->close(&all->w[i].x);
    tp_arena_free(&all->w[i].x.a);
  }
}

void tp_workers_rest(tp_exec *x) {
  if (x->workers) x->workers->crew = tp_crew_give(x->workers->crew);
}

static int64_t room_of_one(const tp_workers *all, const int64_t *bytes) {
  int64_t most = 0;
  for (int pos = 0; pos < all->x->plan->npos; pos++)
    if (is_cut(all->teams, pos) && all->teams->leaf[pos]->rg->work)
      most = TP_MAX(most, bytes[all->teams->leaf[pos]->rg->work->id]);
  return most;
}

int64_t tp_workers_room(const tp_exec *x, const int64_t *bytes) {
  return x->workers ? tp_times_bytes(room_of_one(x->workers, bytes), x->workers->n) : 0;
}

/* sets the shares of thread `who` of n */
static void put_shares(const tp_teams *t, int64_t *env, int who, int n) {
  for (int i = 0; i < t->nshare; i++) {
    int64_t whole = tp_ix_evalq(t->share[i].whole, env), from = tp_share_from(whole, who, n);
    env[t->share[i].from->id] = from;
    env[t->share[i].n->id] = tp_share_from(whole, who + 1, n) - from;
  }
}

static bool bind_worker(tp_worker *w) {
  const tp_exec *x = w->all->x;
  if (w->who) TP_COPYN(w->x.env, x->env, x->nsym);
  put_shares(w->all->teams, w->x.env, w->who, w->all->n);
  for (int i = 0; i < w->x.nreg; i++) {
    tp_dreg *r = w->x.reg[i];
    if (!tp_dreg_bind(&w->x, r)) return false;
    w->all->alone[r->pos] |= !x->target->alike(x, x->regat[r->pos], r);
  }
  return true;
}

bool tp_workers_bind(tp_exec *x) {
  tp_workers *all = x->workers;
  if (!all) return true;
  memset(all->alone, 0, sizeof *all->alone * (size_t)x->plan->npos);
  int64_t each = room_of_one(all, x->count);
  for (int i = all->n - 1; i >= 0; i--) {
    all->w[i].x.room = x->mem->arena + x->mem->total - each * (all->n - i); /* at its end */
    if (!bind_worker(&all->w[i])) return *x->err = all->w[i].err, false;
  }
  return tp_team_judge(all) || tp_no_memory(x->err, TP_NOWHERE);
}

typedef struct {
  tp_workers *all;
  const tp_inst *from;
  int id;
  tp_native *fn;
  bool ok;
} team_job;

/* Notes that a thread failed. Others go on to the next meeting: their errors may come first. */
bool tp_team_fails(tp_worker *w, int pos, bool alone) {
  tp_exec *x = w->all->x;
  if (alone) w->err = *x->err;
  int at = 0;
  while (x->flow->inst[at].op != TP_I_REGION || x->flow->inst[at].rg->pos != pos) at++;
  w->at = (tp_cursor){ at, pos, w->x.env };
  if (w->x.cancelled || x->cancelled) __atomic_store_n(&w->all->over, true, __ATOMIC_RELAXED);
  tp_crew_stop(w->all->crew);
  return false;
}

bool tp_team_leaf(tp_worker *w, int pos) {
  tp_workers *all = w->all;
  tp_dreg *r = w->x.regat[pos];
  bool cut = r && !all->alone[pos], ok = true;
  if (!cut) ok = w->who || tp_dreg_run(all->x, all->x->regat[pos]);
  else if (__atomic_load_n(&all->over, __ATOMIC_RELAXED)) ok = false;
  else if (w->x.env[all->teams->share[all->teams->cut[pos].share].n->id])
    ok = w->who ? tp_dreg_here(&w->x, r) : tp_dreg_run(&w->x, r);
  return ok || tp_team_fails(w, pos, !cut);
}

static bool meet_at_leaf(void *ud, const tp_inst *i) {
  tp_worker *w = ud;
  int pos = i->rg->pos;
  return (!w->all->meets[pos] || tp_crew_meet(w->all->crew)) && tp_team_leaf(w, pos);
}

static void work(void *ud, int who) {
  team_job *j = ud;
  tp_workers *all = j->all;
  tp_worker *w = &all->w[who];
  tp_exec *x = all->x;
  if (who) TP_COPYN(w->x.env, x->flow->front.env, x->nsym);
  put_shares(all->teams, w->x.env, who, all->n);
  w->x.run = x->run;
  w->x.base = x->base;
  w->x.cancelled = false;
  tp_host h = tp_native_host(&w->x);
  bool ok = j->fn
      ? !j->fn(&h)
      : tp_flow_through(&w->x, j->from, x->flow->inst + j->from->beyond, meet_at_leaf, w);
  if (!ok) tp_crew_stop(all->crew);
}

/* Takes the error that one thread alone would meet first: of one leaf, that of the first share. */
static bool ended(tp_workers *all, const tp_team *team) {
  const tp_worker *first = NULL;
  all->x->cancelled |= all->w[0].x.cancelled;
  for (int i = 0; i < all->n && !all->x->cancelled; i++)
    if (all->w[i].err.code && (!first || tp_flow_before(all->x, &all->w[i].at, &first->at)))
      first = &all->w[i];
  if (first) *all->x->err = first->err;
  all->x->ended = team->v[0].node->pos;
  all->x->torn = team->v[team->n - 1].node->lastpos;
  return false;
}

static bool run_job(tp_workers *all, team_job *j, bool *ok) {
  for (int i = 0; i < all->n; i++) all->w[i].err.code = TP_OK;
  all->over = false;
  if (!tp_crew_run(all->crew, work, j, all->gather[j->id])) return false;
  *ok = !tp_crew_stopped(all->crew) || ended(all, &all->teams->team[j->id]);
  return true;
}

/* Has it a crew of this process? After a fork it has not. */
static bool has_crew(tp_workers *all) {
  if (all->crew && !tp_crew_is_ours(all->crew)) all->crew = NULL;
  if (!all->crew) all->crew = tp_crew_take(all->n);
  return all->crew;
}

static bool may_share(const tp_exec *x) {
  return x->workers && !x->flow->split && !x->poison && !x->mem->file.p && !x->mem->alone;
}

bool tp_team_takes(const tp_exec *x, const tp_inst *i, const tp_goal *g) {
  return i->team && may_share(x) && !g->until && x->workers->works[i->team - 1] &&
      !tp_run_ends(x->run) && has_crew(x->workers);
}

bool tp_team_run(tp_exec *x, const tp_inst *i, bool *ok) {
  x->flow->front.pc = (int)(i - x->flow->inst);
  return run_job(x->workers, &(team_job){ .all = x->workers, .from = i, .id = i->team - 1 }, ok);
}

/* Runs a team from native code. A single thread has the whole share. */
int tp_native_team(void *exec, int id, tp_native *fn, const tp_host *h) {
  tp_exec *x = exec;
  tp_workers *all = x->workers;
  bool ok;
  if (may_share(x) && all->works[id] && has_crew(all) &&
      run_job(all, &(team_job){ .all = all, .fn = fn, .id = id }, &ok))
    return !ok;
  put_shares(x->plan->teams, x->env, 0, 1);
  return fn(h);
}

bool tp_exec_shares(const tp_exec *x, int team, int *meetings) {
  const tp_workers *all = x->workers;
  *meetings = all && x->bound_once ? 0 : -1;
  if (*meetings < 0) return false;
  const tp_team *m = &all->teams->team[team];
  for (int i = 0; i < m->n; i++)
    TP_EACH_NODE (k, m->v[i].as) *meetings += k.x->rg && all->meets[k.x->pos];
  return all->works[team];
}
