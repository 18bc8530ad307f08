/* arena.c: finds the places of buffers for given bounds. Most lie in one arena, by lifetime. Under
 * a limit of memory some go into a file (file.c): at the position where most is alive, the buffer
 * that saves most, until the limit is kept; then those that fit go back. Memory is the arena and,
 * at each moment, the pages of the file with rows in use or rows that wait to leave together (a
 * chunk). */
#include "run/priv.h"

enum { LEAST_BYTES = 1 << 16, MOST_CHUNK = 1 << 20, TRIES = 64 };

static int64_t limit_of(const tp_exec *x) {
  int64_t limit = x->plan->limit;
  return limit == TP_SPILL_ALL || !limit ? limit : TP_MAX(limit - x->mem->held, 1);
}

void tp_exec_hold(tp_exec *x, int64_t bytes) {
  if (x->plan->limit && bytes != x->mem->held) x->bound_once = false;
  x->mem->held = bytes;
}

/* The buffer's layout in the file; dim -1: one row. */
static tp_spilled laid_out(const tp_exec *x, const tp_pbuf *b, int way, const int64_t *env) {
  int dim = way - 1;
  tp_spilled s = { .dim = dim, .way = way, .outer = 1, .count = 1, .row = tp_dtype_size(b->dtype) };
  bool inside = dim < 0;
  for (int k = 0; k < b->ndim + b->rank; k++) {
    int i = k < b->ndim && b->order ? b->order[k] : k;
    *(k == dim ? &s.count : inside ? &s.row : &s.outer) *= TP_MAX(tp_ix_evalq(b->slots[i], env), 0);
    inside |= k == dim;
  }
  s.bytes = s.outer * s.count * s.row;
  s.ring = dim >= 0 && tp_ix_kind(b->slots[b->order ? b->order[dim] : dim]) != TP_IX_SYM;
  s.chunk = TP_MAX(
      TP_MIN(TP_MAX(s.bytes / 64, x->mem->grain), MOST_CHUNK) / TP_MAX(s.row * s.outer, 1), 1);
  return s;
}

/* Most bytes mapped while n rows are used at a time: if they slide, one chunk waits to leave and
 * one is ahead. Each part may begin and end inside a grain. */
static int64_t mapped(const tp_exec *x, const tp_spilled *s, int64_t n, bool slides) {
  int64_t g = x->mem->grain,
          rows = TP_MIN(TP_MIN(n, s->count) + (slides ? 2 * s->chunk : 0), s->count),
          most = s->outer * (tp_round_up(rows * s->row, g) + g);
  return n > 0 ? TP_MIN(most, tp_round_up(s->bytes, g)) : 0;
}

/* bytes of a buffer that are mapped at positions */
typedef struct spill_unit {
  int buf, way, first, last;
  int64_t most;
} spill_unit;
typedef struct choice {
  const tp_exec *x;
  const int64_t *env;
  tp_arena a;
  TP_VEC(spill_unit) units;
  /* a buffer's units, after choose_way those of its way: the first by buffer, the next by unit;
   * -1 */
  int *from, *next;
  /* by buffer; chunk 0: cannot lie in the file */
  tp_spilled *as;
  /* by buffer and way: its first user after the last SPILL */
  const tp_pnode ***since;
  /* by buffer; by position: bytes in the arena, mapped bytes; NULL: before spill_look */
  int64_t *bytes, *live, *load, maxload;
  tp_places p;
  /* without threads, to keep the limit */
  bool alone;
} choice;

static int ways(const choice *c, int buf) { return TP_WAY(c->x->plan->bufs.v[buf]->ndim); }

static void touch(choice *c, const tp_nd *nd, const tp_pnode *x) {
  for (int d = 0; nd->buf >= 0 && d < ways(c, nd->buf); d++)
    if (!c->since[nd->buf][d]) c->since[nd->buf][d] = x;
}

/* The node that holds `leaf` and lies beside x, or beside a node around x. */
static const tp_pnode *part_of(const tp_pnode *leaf, const tp_pnode *x) {
  for (const tp_pnode *q = leaf; q->up; q = q->up)
    for (const tp_pnode *up = x->up; up; up = up->up)
      if (up == q->up) return q;
  return leaf;
}

static void note_spill(choice *c, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  const tp_pbuf *b = c->x->plan->bufs.v[x->buf];
  const tp_pnode **since = &c->since[x->buf][TP_WAY(x->dim)], *loop = x->up;
  spill_unit u = { x->buf, TP_WAY(x->dim), *since ? part_of(*since, x)->pos : x->pos, x->pos - 1,
    0 };
  int64_t none, rows;
  tp_ix_range(x->hi, lo, hi, &none, &rows);
  while (x->step && loop && loop->kind != TP_P_FOR) loop = loop->up;
  if (x->step && loop) {
    u.first = loop->pos;
    u.last = loop->lastpos;
  }
  if (!x->step) *since = NULL;
  tp_spilled s = laid_out(c->x, b, u.way, c->env);
  u.most = mapped(c->x, &s, rows, x->step != 0);
  if (rows > 0) TP_PUSH(&c->a, &c->units, u);
}

static void note(void *ud, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  choice *c = ud;
  if (x->kind == TP_P_LOAD) touch(c, &x->nd, x);
  for (int i = 0; i < x->nrows; i++) touch(c, &x->rows[i].nd, x);
  if (x->kind == TP_P_SPILL) note_spill(c, x, lo, hi);
  if (x->kind != TP_P_REGION) return;
  for (int i = 0; i < x->rg->nin; i++) touch(c, &x->rg->in[i], x);
  for (int i = 0; i < x->rg->nout; i++) touch(c, &x->rg->out[i], x);
  for (int i = 0; i < x->rg->nrows; i++) touch(c, &x->rg->rows[i].nd, x);
}

/* Chooses the way in which least is mapped at a time; drops units of other ways. */
static void choose_way(choice *c, int b) {
  int64_t *most = TP_NEWN(&c->a, int64_t, ways(c, b));
  int best = -1, *to = &c->from[b];
  for (int i = *to; i >= 0; i = c->next[i])
    most[c->units.v[i].way] = TP_MAX(most[c->units.v[i].way], c->units.v[i].most);
  for (int w = 0; w < ways(c, b); w++)
    if (most[w] && (best < 0 || most[w] < most[best])) best = w;
  for (int i = *to; i >= 0; i = c->next[i])
    if (c->units.v[i].way == best) {
      *to = i;
      to = &c->next[i];
    }
  *to = -1;
  if (best < 0) return;
  c->as[b] = laid_out(c->x, c->x->plan->bufs.v[b], best, c->env);
  c->as[b].most = most[best];
}

static int64_t color(choice *c) {
  c->p.arena = tp_plan_color(c->x->plan, c->env, c->p.out, c->p.bytes, c->p.at);
  if (c->p.arena >= 0 && !c->alone)
    c->p.arena = tp_sum_bytes(c->p.arena, tp_workers_room(c->x, c->p.bytes));
  return c->p.arena < 0 ? -1 : c->p.arena + c->maxload;
}

/* -1: too many bytes to count. */
static int64_t begin(choice *c, const tp_exec *x, const int64_t *env) {
  int nbuf = x->plan->bufs.n, npos = x->plan->npos;
  c->x = x;
  c->env = env;
  c->p.out = TP_NEWN(&c->a, bool, nbuf);
  c->p.at = TP_NEWN(&c->a, int64_t, nbuf);
  c->p.bytes = c->bytes = TP_NEWN(&c->a, int64_t, nbuf);
  c->p.load = c->load = TP_NEWN(&c->a, int64_t, npos);
  c->p.as = c->as = TP_NEWN(&c->a, tp_spilled, nbuf);
  return color(c);
}

/* Reads the plan's SPILL and FETCH. */
static bool spill_look(choice *c) {
  const tp_plan *p = c->x->plan;
  c->live = TP_NEWN(&c->a, int64_t, p->npos);
  c->since = TP_NEWN(&c->a, const tp_pnode **, p->bufs.n);
  c->from = TP_NEWN(&c->a, int, p->bufs.n);
  for (int b = 0; b < p->bufs.n; b++) c->since[b] = TP_NEWN(&c->a, const tp_pnode *, ways(c, b));
  for (int b = 0; b < p->bufs.n; b++)
    if (c->bytes[b] < 0) return false;
  if (!tp_plan_reach(p, c->env, note, c)) tp_oom();
  c->next = TP_NEWN(&c->a, int, c->units.n);
  for (int b = 0; b < p->bufs.n; b++) c->from[b] = -1;
  for (int i = c->units.n - 1; i >= 0; i--) {
    c->next[i] = c->from[c->units.v[i].buf];
    c->from[c->units.v[i].buf] = i;
  }
  for (int b = 0; b < p->bufs.n; b++) {
    choose_way(c, b);
    for (int k = p->bufs.v[b]->first; c->p.at[b] >= 0 && k <= p->bufs.v[b]->last; k++)
      c->live[k] += c->bytes[b];
  }
  return true;
}

static int64_t greatest(const int64_t *v, int n) {
  int64_t most = 0;
  for (int i = 0; i < n; i++) most = TP_MAX(most, v[i]);
  return most;
}

/* most mapped bytes with b in the file too */
static int64_t load_with(const choice *c, int b) {
  int64_t most = c->maxload;
  for (int i = c->from[b]; i >= 0; i = c->next[i]) {
    const spill_unit *u = &c->units.v[i];
    for (int k = u->first; k <= u->last; k++) most = TP_MAX(most, c->load[k] + u->most);
  }
  return most;
}

static void spill_move(choice *c, int b, bool out) {
  const tp_pbuf *x = c->x->plan->bufs.v[b];
  int64_t sign = out ? 1 : -1;
  c->p.out[b] = out;
  for (int k = x->first; k <= x->last; k++) c->live[k] -= sign * c->bytes[b];
  for (int i = c->from[b]; i >= 0; i = c->next[i]) {
    const spill_unit *u = &c->units.v[i];
    for (int k = u->first; k <= u->last; k++) c->load[k] += sign * u->most;
  }
  c->maxload = greatest(c->load, c->x->plan->npos);
}

static bool may_go(const choice *c, int b) {
  return !c->p.out[b] && c->as[b].chunk && c->p.at[b] >= 0 &&
      c->bytes[b] >= (c->x->plan->limit == TP_SPILL_ALL ? 1 : LEAST_BYTES);
}

/* The buffer that saves most at the position where most is alive; -1. Several that are used in turn
 * save nothing until two of them are out. */
static int best(const choice *c) {
  const tp_plan *p = c->x->plan;
  int64_t most = -1;
  int peak = 0, found = -1;
  for (int k = 0; k < p->npos; k++)
    if (c->live[k] > c->live[peak]) peak = k;
  for (int b = 0; b < p->bufs.n; b++) {
    if (!may_go(c, b) || p->bufs.v[b]->first > peak || p->bufs.v[b]->last < peak) continue;
    int64_t saved = c->bytes[b] - (load_with(c, b) - c->maxload);
    if (saved > most || (saved == most && c->bytes[b] > c->bytes[found])) {
      most = saved;
      found = b;
    }
  }
  return found;
}

/* Takes buffers that fit out of the file again. */
static void take_back(choice *c) {
  int tries = 0;
  for (int b = c->x->plan->bufs.n - 1; b >= 0 && tries < TRIES; b--) {
    if (!c->p.out[b]) continue;
    spill_move(c, b, false);
    int64_t total = greatest(c->live, c->x->plan->npos) + c->maxload > limit_of(c->x)
        ? INT64_MAX
        : (tries++, color(c));
    if (total < 0 || total > limit_of(c->x)) spill_move(c, b, true);
  }
}

/* Puts buffers into the file until the limit is kept, or least is taken. */
static int64_t go_out(choice *c, int64_t total) {
  const tp_plan *p = c->x->plan;
  bool *kept = TP_NEWN(&c->a, bool, p->bufs.n);
  int64_t least = total;
  for (int b; total > limit_of(c->x) && (b = best(c)) >= 0;) {
    spill_move(c, b, true);
    if (greatest(c->live, p->npos) + c->maxload >= least) continue;
    total = color(c);
    if (total < 0 || total >= least) continue;
    least = total;
    TP_COPYN(kept, c->p.out, p->bufs.n);
  }
  for (int b = 0; b < p->bufs.n; b++)
    if (c->p.out[b] && !kept[b]) spill_move(c, b, false);
  if (least <= limit_of(c->x)) take_back(c);
  return color(c);
}

static int64_t all_out(choice *c) {
  for (int b = 0; b < c->x->plan->bufs.n; b++)
    if (may_go(c, b)) spill_move(c, b, true);
  return color(c);
}

static int64_t spill_choose(choice *c, const tp_exec *x, const int64_t *env) {
  int64_t total = begin(c, x, env), limit = x->device ? 0 : limit_of(x); /* it finds room itself */
  if (limit && total > limit) c->alone = true, total = color(c);
  if (total >= 0 && limit && (limit == TP_SPILL_ALL || total > limit))
    total = spill_look(c) ? limit == TP_SPILL_ALL ? all_out(c) : go_out(c, total) : -1;
  c->p.total = total;
  return total;
}

/* False: out of memory, or fn's answer. */
static bool with_choice(
    const tp_exec *x, const int64_t *env, bool (*fn)(void *ud, choice *c), void *ud) {
  choice c = { 0 };
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return false;
  tp_scratch_init(&c.a);
  spill_choose(&c, x, env);
  bool ok = fn(ud, &c);
  tp_arena_free(&c.a);
  tp_unguard(&oom);
  return ok;
}

static bool take_total(void *ud, choice *c) {
  *(int64_t *)ud = c->p.total;
  return true;
}

int64_t tp_exec_memory(const tp_exec *x, const int64_t *env) {
  int64_t total = -1;
  with_choice(x, env, take_total, &total);
  return total;
}

typedef struct {
  tp_atplaces *fn;
  void *ud;
} shown;

static bool show(void *ud, choice *c) {
  if (c->p.total >= 0) ((shown *)ud)->fn(((shown *)ud)->ud, &c->p);
  return c->p.total >= 0;
}

bool tp_exec_places(const tp_exec *x, const int64_t *env, tp_atplaces *fn, void *ud) {
  return with_choice(x, env, show, &(shown){ fn, ud });
}

/* Places buffers in the file so far apart that a fault maps nothing of another buffer. */
static bool place_out(tp_exec *x, const choice *c) {
  int64_t bytes = 0;
  for (int b = 0; b < x->plan->bufs.n; b++) {
    x->mem->spilled[b] = (tp_spilled){ 0 };
    if (!c->p.out[b]) continue;
    x->mem->spilled[b] = c->as[b];
    x->mem->spilled[b].at = bytes;
    bytes += tp_spill_space(x, c->as[b].bytes);
  }
  if (bytes == x->mem->file.size) return true;
  tp_spill_close(x);
  return !bytes || tp_spill_open(x, bytes);
}

/* The buffers at the position where most is alive or mapped or, if that cannot be counted, all; v
 * has room for these and one. */
static int pieces(choice *c, tp_piece *v) {
  const tp_plan *p = c->x->plan;
  bool known = c->p.total >= 0 && (c->live || spill_look(c));
  int n = 0, peak = 0;
  for (int k = 0; known && k < p->npos; k++)
    if (c->live[k] + c->load[k] > c->live[peak] + c->load[peak]) peak = k;
  for (int b = 0; b < p->bufs.n; b++) {
    const tp_pbuf *x = p->bufs.v[b];
    tp_piece q = { "", x->name ? x->name : "?", x->pos, 0 };
    if (x->kind == TP_BUF_WORK)
      q = (tp_piece){ "the working memory of an operator", NULL, { 0 }, 0 };
    if (!known && x->kind == TP_BUF_TEMP) q.bytes = tp_sum_bytes(tp_pbuf_bytes(x, c->env), 0);
    if (known && c->p.at[b] >= 0 && x->first <= peak && peak <= x->last) q.bytes = c->bytes[b];
    for (int i = c->p.out[b] ? c->from[b] : -1; i >= 0; i = c->next[i])
      if (c->units.v[i].first <= peak && peak <= c->units.v[i].last) q.bytes += c->units.v[i].most;
    if (q.bytes) v[n++] = q;
  }
  return n;
}

static int64_t planned(void *ud, int64_t *env) { return tp_exec_memory(ud, env); }

static bool refuse(tp_exec *x, choice *c) {
  const tp_plan *p = x->plan;
  tp_piece *v = TP_NEWN(&c->a, tp_piece, p->bufs.n + 2);
  int n = pieces(c, v);
  if (x->mem->held) v[n++] = (tp_piece){ "loaded parameters", NULL, { 0 }, x->mem->held };
  tp_fail(x->err, TP_E_MEMORY, TP_NOWHERE,
      "these bounds need %lld bytes%s, more than memory = %lld",
      (long long)(c->p.total + x->mem->held),
      c->p.total > c->p.arena ? ", whatever a file can hold left out" : "", (long long)p->limit);
  tp_tell_pieces(x->err, v, n);
  tp_tell_bounds(
      x->err, &(tp_demand){ p->ix, planned, x }, TP_DUPN(&c->a, c->env, x->nsym), limit_of(x));
  return false;
}

static int64_t outputs(const tp_exec *x, const tp_run *run, tp_piece *v, int *n) {
  int64_t sum = 0;
  for (int i = 0; i < x->plan->products.n; i++)
    if (!tp_exec_lent(x, run, i))
      sum = tp_sum_bytes(sum, tp_product_piece(&x->plan->products.v[i], run, i, v, n));
  return sum;
}

/* Sets bounds of dims that end by data to one step. */
static void make_few(const tp_plan *p, int64_t *env) {
  for (int i = 0; i < p->ends.n; i++)
    env[p->ends.v[i].bound->id] = TP_MIN(env[p->ends.v[i].bound->id], 1);
}

/* Outputs have room for all points of dims that end by data, the plan for one step, as their ends
 * are unknown. */
static int64_t all_of_call(void *ud, int64_t *env) {
  const tp_exec *x = ud;
  tp_run run = *x->run;
  run.env = env;
  int64_t sum = outputs(x, &run, NULL, NULL);
  int64_t *few = tp_alloc(sizeof *few * (size_t)x->nsym);
  if (!few) return -1;
  TP_COPYN(few, env, x->nsym);
  make_few(x->plan, few);
  sum = tp_sum_bytes(sum, tp_exec_memory(x, few));
  tp_free(few);
  return sum;
}

typedef struct {
  tp_exec *x;
  const tp_allowance *a;
} judged;

static bool judge(void *ud, choice *c) {
  const judged *j = ud;
  tp_exec *x = j->x;
  tp_piece *v = TP_NEWN(&c->a, tp_piece, x->plan->bufs.n + x->plan->products.n + 1);
  int n = 0;
  int64_t need = tp_sum_bytes(outputs(x, x->run, v, &n), c->p.total);
  if (c->p.total >= 0 && need <= j->a->bytes) return true;
  n += pieces(c, v + n);
  return tp_run_refuse(x->err, &(tp_demand){ x->plan->ix, all_of_call, x },
      TP_DUPN(&c->a, x->env, x->nsym), j->a, need, v, n);
}

static bool there_is(tp_exec *x, choice *c) {
  tp_allowance a;
  int64_t need = tp_sum_bytes(outputs(x, x->run, NULL, NULL), c->p.total);
  if (c->p.total < 0) a = tp_run_allowance(x->run, 0);
  else if (tp_run_may(x->run, need, x->mem->total + x->mem->file.size, &a)) return true;
  if (c->p.total < 0 || !x->plan->ends.n) return judge(&(judged){ x, &a }, c);
  int64_t *few = TP_DUPN(&c->a, x->env, x->nsym);
  make_few(x->plan, few);
  return with_choice(x, few, judge, &(judged){ x, &a });
}

static bool spill_settle(void *ud, choice *c) {
  tp_exec *x = ud;
  int64_t arena = c->p.arena;
  if (x->plan->limit && !x->device && c->p.total > limit_of(x)) return refuse(x, c);
  if (!there_is(x, c)) return false;
  TP_COPYN(x->mem->offset, c->p.at, x->plan->bufs.n);
  for (int b = 0; b < x->plan->bufs.n; b++)
    if (x->plan->bufs.v[b]->kind == TP_BUF_WORK) x->count[b] = c->bytes[b];
  if (!place_out(x, c)) return false;
  x->mem->beside = c->maxload;
  x->mem->alone = c->alone;
  if (x->mem->arena && arena == x->mem->total) return true;
  tp_pages_free(x->mem->arena, (size_t)x->mem->total);
  x->mem->arena = tp_pages((size_t)arena);
  x->mem->total = x->mem->arena ? arena : 0;
  return x->mem->arena ||
      tp_fail(x->err, TP_E_MEMORY, TP_NOWHERE,
          "no memory for the %lld bytes that these bounds need", (long long)arena);
}

bool tp_take_memory(tp_exec *x) {
  return with_choice(x, x->env, spill_settle, x) || tp_no_memory(x->err, TP_NOWHERE);
}
