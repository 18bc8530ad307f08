/* spill.c: buffers in a file, so that a run keeps to its limit of memory.
 *
 * They are parts of one unlinked temporary file that is mapped, so operators use them like any memory; the plan's SPILL and FETCH say what will not be used for long and
 * what soon. All space of the file is taken before the first region runs: a full disk is an error there and nowhere else. What counts as memory is the arena and, at each
 * moment, the pages of the file in which there are rows in use or rows that wait to leave together (a chunk).
 *
 * Which buffers: where most is alive, the one that saves most, until the limit is kept; then those go back that were not needed after all. */
#include "device/priv.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LEAST_BYTES = 1 << 16, MOST_CHUNK = 1 << 20, AHEAD = 128 << 10, TRIES = 64 };

/* ---- sizes ---- */

#ifndef MADV_POPULATE_READ
enum { MADV_POPULATE_READ = 22, MADV_POPULATE_WRITE = 23 };
#endif

/* Can pages be mapped before they are touched (Linux 5.14)? It is cheaper by far than a fault each. */
static bool populates(int64_t page) {
  static char here[1];
  return !madvise((void *)((intptr_t)here / page * page), 0, MADV_POPULATE_READ);
}

/* Where TEMPO_SPILL is set, counting is finer than pages, so that the smallest programs meet every edge. A fault that reads maps what is cached of the aligned 64 KiB around it:
 * a buffer begins at such a place, and where faults do the work memory is counted, and let go of, in these. */
enum { FINE = 64, AROUND = 1 << 16 };
static bool fine(const tp_exec *x) { return x->plan->limit == TP_SPILL_ALL; }

void tp_spill_new(tp_exec *x) {
  x->page = sysconf(_SC_PAGESIZE);
  x->populates = !fine(x) && populates(x->page);
  x->grain = fine(x) ? FINE : x->populates ? x->page : TP_MAX(x->page, AROUND);
}

static int64_t up_to(int64_t bytes, int64_t g) { return (bytes + g - 1) / g * g; }
static int64_t grains(const tp_exec *x, int64_t bytes) { return up_to(bytes, x->grain); }
static int64_t space(const tp_exec *x, int64_t bytes) { return up_to(bytes, fine(x) ? FINE : TP_MAX(x->page, AROUND)); }

/* As it would lie in the file; dim -1: one row. */
static tp_spilled laid_out(const tp_exec *x, const tp_pbuf *b, int way, const int64_t *env) {
  int dim = way / 2 - 1;
  tp_spilled s = { .dim = dim, .way = way, .outer = 1, .count = 1, .row = tp_dtype_size(b->dtype) };
  bool inside = dim < 0;
  for (int k = 0; k < b->ndim + b->rank; k++) {
    int i = k < b->ndim && b->order ? b->order[k] : k;
    *(k == dim ? &s.count : inside ? &s.row : &s.outer) *= TP_MAX(tp_ix_evalq(b->slots[i], env), 0);
    inside |= k == dim;
  }
  s.bytes = s.outer * s.count * s.row;
  s.ring = dim >= 0 && tp_ix_kind(b->slots[b->order ? b->order[dim] : dim]) != TP_IX_SYM;
  s.chunk = TP_MAX(TP_MIN(TP_MAX(s.bytes / 64, x->grain), MOST_CHUNK) / TP_MAX(s.row * s.outer, 1), 1);
  return s;
}

/* Mapped at most while n rows are used at a time: what slides has a chunk that waits to leave, and one that is ahead. Each part may begin and end inside a grain. */
static int64_t mapped(const tp_exec *x, const tp_spilled *s, int64_t n, bool slides) {
  int64_t rows = TP_MIN(TP_MIN(n, s->count) + (slides ? 2 * s->chunk : 0), s->count);
  return n > 0 ? TP_MIN(s->outer * (grains(x, rows * s->row) + x->grain), grains(x, s->bytes)) : 0;
}

/* ---- what a run would take ---- */

typedef struct spill_unit { int buf, way, first, last; int64_t most; } spill_unit;  /* positions at which so much of a buffer is mapped */
typedef struct choice {
  const tp_exec *x; const int64_t *env;
  tp_arena a;
  TP_VEC(spill_unit) units;
  int *from, *next;                             /* units of a buffer: the first by buffer, the next by unit, each -1 behind the last */
  tp_spilled *as;                               /* by buffer: how it would lie; chunk 0: it cannot */
  const tp_pnode ***since;                      /* by buffer and way: the first that uses it after the last SPILL */
  int64_t *bytes, *live, *load, maxload;        /* by buffer; by position: alive in the arena, mapped */
  tp_places p;
} choice;

static int ways(const choice *c, int buf) { return TP_WAY(c->x->plan->bufs.v[buf]->ndim, 0); }

static void touch(choice *c, const tp_nd *nd, const tp_pnode *x) {
  for (int d = 0; nd->buf >= 0 && d < ways(c, nd->buf); d++)
    if (!c->since[nd->buf][d]) c->since[nd->buf][d] = x;
}

/* The part beside `x`, or beside what x lies in, that holds `leaf`. */
static const tp_pnode *part_of(const tp_pnode *leaf, const tp_pnode *x) {
  for (const tp_pnode *q = leaf; q->up; q = q->up)
    for (const tp_pnode *up = x->up; up; up = up->up)
      if (up == q->up) return q;
  return leaf;
}

static void note_spill(choice *c, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  const tp_pbuf *b = c->x->plan->bufs.v[x->buf];
  const tp_pnode **since = &c->since[x->buf][TP_WAY(x->dim, x->inner)], *loop = x->up;
  spill_unit u = { x->buf, TP_WAY(x->dim, x->inner), *since ? part_of(*since, x)->pos : x->pos, x->pos - 1, 0 };
  int64_t none, rows;
  tp_ix_range(x->hi, lo, hi, &none, &rows);
  while (x->step && loop && loop->kind != TP_P_FOR) loop = loop->up;
  if (x->step && loop) { u.first = loop->pos; u.last = loop->lastpos; }
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

/* Of each buffer the way in which least is mapped at a time. */
static void choose_way(choice *c, int b) {
  int64_t *most = TP_NEWN(&c->a, int64_t, ways(c, b));
  int best = -1;
  for (int i = c->from[b]; i >= 0; i = c->next[i]) most[c->units.v[i].way] = TP_MAX(most[c->units.v[i].way], c->units.v[i].most);
  for (int w = 0; w < ways(c, b); w++)
    if (most[w] && (best < 0 || most[w] < most[best])) best = w;
  if (best < 0) return;
  c->as[b] = laid_out(c->x, c->x->plan->bufs.v[b], best, c->env);
  c->as[b].most = most[best];
}

static int64_t color(choice *c) {
  c->p.arena = tp_plan_color(c->x->plan, c->env, c->p.out, c->p.bytes, c->p.at);
  return c->p.arena < 0 ? -1 : c->p.arena + c->maxload;
}

/* Everything in the arena. -1: too many bytes to count. */
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

/* What the statements of the plan offer. */
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
    for (int k = p->bufs.v[b]->first; c->p.at[b] >= 0 && k <= p->bufs.v[b]->last; k++) c->live[k] += c->bytes[b];
  }
  return true;
}

static int64_t greatest(const int64_t *v, int n) {
  int64_t most = 0;
  for (int i = 0; i < n; i++) most = TP_MAX(most, v[i]);
  return most;
}

/* The greatest load if b were in the file as well. */
static int64_t load_with(const choice *c, int b) {
  int64_t most = c->maxload;
  for (int i = c->from[b]; i >= 0; i = c->next[i]) {
    const spill_unit *u = &c->units.v[i];
    for (int k = u->first; u->way == c->as[b].way && k <= u->last; k++) most = TP_MAX(most, c->load[k] + u->most);
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
    for (int k = u->first; u->way == c->as[b].way && k <= u->last; k++) c->load[k] += sign * u->most;
  }
  c->maxload = greatest(c->load, c->x->plan->npos);
}

static bool may_go(const choice *c, int b) {
  return !c->p.out[b] && c->as[b].chunk && c->p.at[b] >= 0 && c->bytes[b] >= (c->x->plan->limit == TP_SPILL_ALL ? 1 : LEAST_BYTES);
}

/* The buffer that saves most where most is alive; -1: none. Several that are used one after the other save nothing until there are two of them. */
static int best(const choice *c) {
  const tp_plan *p = c->x->plan;
  int64_t most = -1;
  int peak = 0, found = -1;
  for (int k = 0; k < p->npos; k++)
    if (c->live[k] > c->live[peak]) peak = k;
  for (int b = 0; b < p->bufs.n; b++) {
    if (!may_go(c, b) || p->bufs.v[b]->first > peak || p->bufs.v[b]->last < peak) continue;
    int64_t saved = c->bytes[b] - (load_with(c, b) - c->maxload);
    if (saved > most || (saved == most && c->bytes[b] > c->bytes[found])) { most = saved; found = b; }
  }
  return found;
}

/* Out of the file what fits into the arena after all. */
static void take_back(choice *c) {
  int tries = 0;
  for (int b = c->x->plan->bufs.n - 1; b >= 0 && tries < TRIES; b--) {
    if (!c->p.out[b]) continue;
    spill_move(c, b, false);
    int64_t total = greatest(c->live, c->x->plan->npos) + c->maxload > c->x->plan->limit ? INT64_MAX : (tries++, color(c));
    if (total < 0 || total > c->x->plan->limit) spill_move(c, b, true);
  }
}

/* Those in the file with which the limit is kept; where it cannot be, with which least is taken. */
static int64_t go_out(choice *c, int64_t total) {
  const tp_plan *p = c->x->plan;
  bool *kept = TP_NEWN(&c->a, bool, p->bufs.n);
  int64_t least = total;
  for (int b; total > p->limit && (b = best(c)) >= 0;) {
    spill_move(c, b, true);
    if (greatest(c->live, p->npos) + c->maxload >= least) continue;
    total = color(c);
    if (total < 0 || total >= least) continue;
    least = total;
    memcpy(kept, c->p.out, sizeof *kept * (size_t)p->bufs.n);
  }
  for (int b = 0; b < p->bufs.n; b++)
    if (c->p.out[b] && !kept[b]) spill_move(c, b, false);
  if (least <= p->limit) take_back(c);
  return color(c);
}

static int64_t all_out(choice *c) {
  for (int b = 0; b < c->x->plan->bufs.n; b++)
    if (may_go(c, b)) spill_move(c, b, true);
  return color(c);
}

static int64_t spill_choose(choice *c, const tp_exec *x, const int64_t *env) {
  int64_t total = begin(c, x, env), limit = x->plan->limit;
  if (total >= 0 && limit && (limit == TP_SPILL_ALL || total > limit)) total = spill_look(c) ? limit == TP_SPILL_ALL ? all_out(c) : go_out(c, total) : -1;
  c->p.total = total;
  return total;
}

/* With memory of the moment. False: out of memory, or fn says so. */
static bool with_choice(const tp_exec *x, const int64_t *env, bool (*fn)(void *ud, choice *c), void *ud) {
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

typedef struct { tp_atplaces *fn; void *ud; } shown;

static bool show(void *ud, choice *c) {
  if (c->p.total >= 0) ((shown *)ud)->fn(((shown *)ud)->ud, &c->p);
  return c->p.total >= 0;
}

bool tp_exec_places(const tp_exec *x, const int64_t *env, tp_atplaces *fn, void *ud) { return with_choice(x, env, show, &(shown){ fn, ud }); }

/* ---- the file ---- */

void tp_spill_close(tp_exec *x) {
  if (x->mapping) munmap(x->mapping, (size_t)(x->mapsize + AROUND));
  tp_free(x->touched);
  x->mapping = x->map = NULL;
  x->touched = NULL;
  x->mapsize = 0;
}

static bool no_file(tp_exec *x, const char *dir, int64_t bytes, int why) {
  tp_fail(x->err, TP_E_FILE, (tp_pos){ 0 }, "file: the limit of memory leaves %lld bytes to a file, for which there is no place in '%s': %s", (long long)bytes, dir, strerror(why));
  tp_note(x->err, "TMPDIR in the environment names another directory; it should be on a disk");
  return false;
}

static int make_file(const char *dir) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/tempo-XXXXXX", dir) >= (int)sizeof path) { errno = ENAMETOOLONG; return -1; }
  int fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) unlink(path);
  return fd;
}

/* A file beyond what the process may write would end it by a signal. */
static int reserve(int fd, int64_t bytes) {
  struct rlimit most;
  if (!getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur != RLIM_INFINITY && (uint64_t)bytes > most.rlim_cur) return EFBIG;
  return posix_fallocate(fd, 0, (off_t)bytes);
}

static bool map_file(tp_exec *x, int fd, int64_t bytes) {
  void *room = mmap(NULL, (size_t)(bytes + AROUND), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  x->mapping = room;
  x->mapsize = bytes;
  x->map = (char *)up_to((intptr_t)x->mapping, AROUND);
  if (mmap(x->map, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) return false;
  madvise(x->map, (size_t)bytes, MADV_RANDOM);  /* nothing is read that was not asked for */
  return true;
}

static bool open_file(tp_exec *x, int64_t bytes) {
  const char *dir = getenv("TMPDIR");
  if (!dir || !*dir) dir = access("/var/tmp", W_OK | X_OK) ? "/tmp" : "/var/tmp";
  int fd = make_file(dir), why = fd < 0 ? errno : reserve(fd, bytes);
  if (!why && !map_file(x, fd, bytes)) why = errno;
  if (fd >= 0) close(fd);                       /* the map keeps it */
  if (!why) return true;
  tp_spill_close(x);
  return no_file(x, dir, bytes, why);
}

/* Places in the file, one buffer after the other, each where faults around its begin find nothing else. */
static bool place_out(tp_exec *x, const choice *c) {
  int64_t bytes = 0;
  for (int b = 0; b < x->plan->bufs.n; b++) {
    x->spilled[b] = (tp_spilled){ 0 };
    if (!c->p.out[b]) continue;
    x->spilled[b] = c->as[b];
    x->spilled[b].at = bytes;
    bytes += space(x, c->as[b].bytes);
  }
  if (bytes == x->mapsize) return true;
  tp_spill_close(x);
  return !bytes || open_file(x, bytes);
}

/* ---- a limit that cannot be kept ---- */

/* What is alive or mapped where that is most; v has room for all buffers and one more. */
static int pieces(const choice *c, tp_piece *v) {
  const tp_plan *p = c->x->plan;
  int n = 0, peak = 0;
  for (int k = 0; k < p->npos; k++)
    if (c->live[k] + c->load[k] > c->live[peak] + c->load[peak]) peak = k;
  for (int b = 0; b < p->bufs.n; b++) {
    const tp_pbuf *x = p->bufs.v[b];
    tp_piece q = { "", x->name ? x->name : "?", x->pos, 0 };
    if (x->kind == TP_BUF_WORK) q = (tp_piece){ "the working memory of an operator", NULL, { 0 }, 0 };
    if (c->p.at[b] >= 0 && x->first <= peak && peak <= x->last) q.bytes = c->bytes[b];
    for (int i = c->from[b]; i >= 0 && c->p.out[b]; i = c->next[i])
      if (c->units.v[i].way == c->as[b].way && c->units.v[i].first <= peak && peak <= c->units.v[i].last) q.bytes += c->units.v[i].most;
    if (q.bytes) v[n++] = q;
  }
  return n;
}

static int64_t planned(void *ud, int64_t *env) { return tp_exec_memory(ud, env); }

static bool refuse(tp_exec *x, choice *c) {
  const tp_plan *p = x->plan;
  tp_piece *v = TP_NEWN(&c->a, tp_piece, p->bufs.n + 1);
  tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "memory: these bounds need %lld bytes%s, more than memory = %lld", (long long)c->p.total, c->p.total > c->p.arena ? ", whatever a file can hold left out" : "",
          (long long)p->limit);
  tp_tell_pieces(x->err, v, pieces(c, v));
  tp_tell_bounds(x->err, &(tp_demand){ p->ix, planned, x }, tp_dup(&c->a, c->env, sizeof *c->env * (size_t)x->nsym), p->limit);
  return false;
}

/* ---- more than there is ---- */

static int64_t outputs(const tp_plan *p, const tp_run *run, tp_piece *v, int *n) {
  int64_t sum = 0;
  for (int i = 0; i < p->products.n; i++) sum = tp_sum_bytes(sum, tp_product_piece(&p->products.v[i], run, i, v, n));
  return sum;
}

/* Dims that end by data have one step: where they will end is not known. */
static void make_few(const tp_plan *p, int64_t *env) {
  for (int i = 0; i < p->ends.n; i++) env[p->ends.v[i]->id] = TP_MIN(env[p->ends.v[i]->id], 1);
}

/* Outputs and what is planned; of dims that end by data one step is planned, as nobody knows more, while outputs have room for all. */
static int64_t all_of_call(void *ud, int64_t *env) {
  const tp_exec *x = ud;
  tp_run run = *x->run;
  run.env = env;
  int64_t sum = outputs(x->plan, &run, NULL, NULL);
  int64_t *few = tp_alloc(sizeof *few * (size_t)x->nsym);
  if (!few) return -1;
  memcpy(few, env, sizeof *few * (size_t)x->nsym);
  make_few(x->plan, few);
  sum = tp_sum_bytes(sum, tp_exec_memory(x, few));
  tp_free(few);
  return sum;
}

/* Sizes that overflow are of some buffers, or of all together. */
static bool uncountable(tp_exec *x, choice *c) {
  const tp_plan *p = x->plan;
  tp_piece *v = TP_NEWN(&c->a, tp_piece, p->bufs.n + p->products.n);
  tp_allowance a = tp_run_allowance(x->run, 0);
  int n = 0;
  outputs(p, x->run, v, &n);
  for (int b = 0; b < p->bufs.n; b++) {
    const tp_pbuf *q = p->bufs.v[b];
    if (q->kind == TP_BUF_TEMP) v[n++] = (tp_piece){ "", q->name ? q->name : "?", q->pos, tp_sum_bytes(tp_pbuf_bytes(q, c->env), 0) };
  }
  return tp_run_refuse(x->err, &(tp_demand){ p->ix, all_of_call, x }, tp_dup(&c->a, c->env, sizeof *c->env * (size_t)x->nsym), &a, INT64_MAX, v, n);
}

typedef struct { tp_exec *x; const tp_allowance *a; } judged;

static bool judge(void *ud, choice *c) {
  const judged *j = ud;
  tp_exec *x = j->x;
  tp_piece *v = TP_NEWN(&c->a, tp_piece, x->plan->bufs.n + x->plan->products.n + 1);
  int n = 0;
  int64_t need = tp_sum_bytes(outputs(x->plan, x->run, v, &n), c->p.total);
  if (need <= j->a->bytes) return true;
  if (!c->live && !spill_look(c)) return uncountable(x, c);
  n += pieces(c, v + n);
  return tp_run_refuse(x->err, &(tp_demand){ x->plan->ix, all_of_call, x }, tp_dup(&c->a, x->env, sizeof *x->env * (size_t)x->nsym), j->a, need, v, n);
}

static bool few_steps(tp_exec *x, choice *c, const tp_allowance *a) {
  int64_t *few = tp_dup(&c->a, x->env, sizeof *few * (size_t)x->nsym);
  make_few(x->plan, few);
  return with_choice(x, few, judge, &(judged){ x, a });
}

static bool there_is(tp_exec *x, choice *c) {
  tp_allowance a;
  int64_t need = tp_sum_bytes(outputs(x->plan, x->run, NULL, NULL), c->p.total);
  if (tp_run_may(x->run, need, x->total + x->mapsize, &a)) return true;
  return x->plan->ends.n ? few_steps(x, c, &a) : judge(&(judged){ x, &a }, c);
}

/* ---- taking it all ---- */

static bool spill_settle(void *ud, choice *c) {
  tp_exec *x = ud;
  int64_t arena = c->p.arena;
  if (c->p.total < 0) return uncountable(x, c);
  if (x->plan->limit && c->p.total > x->plan->limit) return refuse(x, c);
  if (!there_is(x, c)) return false;
  memcpy(x->offset, c->p.at, sizeof *x->offset * (size_t)x->plan->bufs.n);
  for (int b = 0; b < x->plan->bufs.n; b++)
    if (x->plan->bufs.v[b]->kind == TP_BUF_WORK) x->count[b] = c->bytes[b];
  if (!place_out(x, c)) return false;
  x->beside = c->maxload;
  if (x->arena && arena == x->total) return true;
  tp_pages_free(x->arena, (size_t)x->total);
  x->arena = tp_pages((size_t)arena);
  x->total = x->arena ? arena : 0;
  return x->arena || tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "no memory for the %lld bytes that these bounds need", (long long)arena);
}

bool tp_take_memory(tp_exec *x) { return with_choice(x, x->env, spill_settle, x) || tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory"); }

/* ---- statements ---- */

/* The bytes [from, to) are not mapped any more. */
static void unmap(tp_exec *x, int64_t from, int64_t to) {
  int64_t first = (from + x->page - 1) / x->page * x->page, last = to == x->mapsize ? to : to / x->page * x->page;
  if (first < last) madvise(x->map + first, (size_t)(last - first), MADV_DONTNEED);
  for (int64_t g = from / x->grain; x->touched && g < (to + x->grain - 1) / x->grain; g++) {
    x->ntouched -= x->touched[g];
    x->touched[g] = 0;
  }
}

static void leave_all(tp_exec *x, tp_spilled *s) {
  unmap(x, s->at, s->at + space(x, s->bytes));
  s->lo = s->hi = 0;
}

/* Rows [lo, hi) leave, in whole grains: those on the side where nothing is in use, as far as no row beyond the other side is in them. */
static void spill_leave(tp_exec *x, const tp_spilled *s, int64_t lo, int64_t hi, bool up) {
  int64_t g = x->grain, end = s->at + s->bytes;
  for (int64_t o = 0; o < s->outer; o++) {
    int64_t from = s->at + (o * s->count + lo) * s->row, to = s->at + (o * s->count + hi) * s->row;
    if (up) from = from / g * g, to = to / g * g;
    else from = (from + g - 1) / g * g, to = TP_MIN((to + g - 1) / g * g, (end + g - 1) / g * g);
    unmap(x, from, to);
  }
}

/* What is done to rows: they leave, are asked for (as much at a time as a system reads ahead), or are mapped for reading or writing. */
typedef enum { LEAVE_UP, LEAVE_DOWN, ASK, MAP, MAKE } deed;

static void advise(tp_exec *x, const tp_spilled *s, int64_t lo, int64_t hi, deed what) {
  static const int advice[] = { [ASK] = MADV_WILLNEED, [MAP] = MADV_POPULATE_READ, [MAKE] = MADV_POPULATE_WRITE };
  if (what != ASK && !x->populates) return;
  for (int64_t o = 0; o < s->outer; o++) {
    int64_t from = (s->at + (o * s->count + lo) * s->row) / x->page * x->page, to = s->at + (o * s->count + hi) * s->row, most = what == ASK ? AHEAD : to - from;
    for (; from < to; from += most) madvise(x->map + from, (size_t)TP_MIN(to - from, most), advice[what]);
  }
}

/* Rows of a ring go round. */
static void each_run(tp_exec *x, const tp_spilled *s, int64_t lo, int64_t hi, deed what) {
  hi = TP_MIN(hi, lo + s->count);
  while (lo < hi) {
    int64_t at = (lo % s->count + s->count) % s->count, n = TP_MIN(hi - lo, s->count - at);
    if (what <= LEAVE_DOWN) spill_leave(x, s, at, at + n, what == LEAVE_UP);
    else advise(x, s, at, at + n, what);
    lo += n;
  }
}

static int64_t row_inside(const tp_spilled *s, int64_t row) { return s->ring ? row : TP_MIN(TP_MAX(row, 0), s->count); }

static bool rows_within(const tp_exec *x, const tp_inst *i, const tp_spilled *s, int64_t *lo, int64_t *hi) {
  int64_t from = tp_dx_get(&i->lo, x->env);
  *lo = row_inside(s, from);
  *hi = row_inside(s, from + tp_dx_get(&i->hi, x->env));
  return *lo < *hi;
}

void tp_run_spill(tp_exec *x, const tp_inst *i) {
  tp_spilled *s = &x->spilled[i->var];
  int64_t lo, hi;
  if (!i->step) leave_all(x, s);
  if (!i->step || !rows_within(x, i, s, &lo, &hi)) return;
  if (s->lo == s->hi) {
    leave_all(x, s);
    s->lo = lo; s->hi = hi;
    s->ready = s->asked = i->step > 0 ? lo : hi;
  }
  s->lo = TP_MIN(s->lo, lo);
  s->hi = TP_MAX(s->hi, hi);
  if (i->step > 0 && lo - s->lo >= s->chunk) { each_run(x, s, s->lo, lo, LEAVE_UP); s->lo = lo; }
  if (i->step < 0 && s->hi - hi >= s->chunk) { each_run(x, s, hi, s->hi, LEAVE_DOWN); s->hi = hi; }
}

/* From the edge `*from` on to `to`. */
static void reach(tp_exec *x, const tp_spilled *s, int64_t *from, int64_t to, int step, deed what) {
  if (step > 0 ? to <= *from : to >= *from) return;
  each_run(x, s, TP_MIN(*from, to), TP_MAX(*from, to), what);
  *from = to;
}

/* The next that is fetched as a whole is asked for while this one is worked on. */
static void ask_next(tp_exec *x, const tp_inst *i) {
  int64_t lo, hi;
  while (++i < x->inst + x->ninst) {
    const tp_spilled *s = &x->spilled[i->var];
    if (i->op != TP_I_FETCH || i->step || !s->chunk || s->way != i->way) continue;
    if (rows_within(x, i, s, &lo, &hi)) each_run(x, s, lo, hi, ASK);
    return;
  }
}

/* Mapped is what is used and up to a chunk more, asked for two chunks beyond that. */
void tp_run_fetch(tp_exec *x, const tp_inst *i) {
  tp_spilled *s = &x->spilled[i->var];
  deed map = i->made ? MAKE : MAP;
  int64_t lo, hi;
  if (!rows_within(x, i, s, &lo, &hi)) return;
  if (!i->step) {
    each_run(x, s, lo, hi, ASK);
    each_run(x, s, lo, hi, map);
    ask_next(x, i);
  } else if (i->step > 0 ? s->ready < hi : s->ready > lo) {
    int64_t edge = i->step > 0 ? hi + s->chunk : lo - s->chunk;
    reach(x, s, &s->asked, row_inside(s, edge + 2 * s->chunk * i->step), i->step, ASK);
    reach(x, s, &s->ready, row_inside(s, edge), i->step, map);
  }
}

void tp_spill_rest(tp_exec *x) {
  for (int b = 0; b < x->plan->bufs.n && x->map; b++)
    if (x->spilled[b].chunk) leave_all(x, &x->spilled[b]);
}

/* ---- poison: what is really touched is counted ---- */

bool tp_spill_poison(tp_exec *x) {
  x->ntouched = x->mosttouched = 0;
  if (!x->map) return true;
  tp_free(x->touched);
  x->touched = tp_calloc((size_t)(x->mapsize / x->grain + 1));
  memset(x->map, 0xff, (size_t)x->mapsize);
  tp_spill_rest(x);
  return x->touched || tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory");
}

int64_t tp_spill_most(const tp_exec *x) { return x->poison ? x->mosttouched * x->grain : x->beside; }

/* A window on a buffer in the file, v without axis `axis` and those before. */
static void touch_window(tp_exec *x, const tp_view *v, int axis, const char *p, int size) {
  int64_t lo = 0, hi = 0, g = x->grain;
  for (int i = axis; i < v->rank; i++) *(v->stride[i] < 0 ? &lo : &hi) += (v->shape[i] - 1) * v->stride[i];
  if ((hi - lo + 1) * size > g && axis < v->rank) {
    for (int64_t k = 0; k < v->shape[axis]; k++) touch_window(x, v, axis + 1, p + k * v->stride[axis] * size, size);
    return;
  }
  int64_t from = p + lo * size - x->map, to = p + (hi + 1) * size - x->map;
  for (int64_t k = from / g; k <= (to - 1) / g; k++) {
    x->ntouched += !x->touched[k];
    x->touched[k] = 1;
  }
  x->mosttouched = TP_MAX(x->mosttouched, x->ntouched);
}

bool tp_spill_touch(tp_exec *x, const tp_dreg *r, const tp_dnd *d) {
  if (!x->touched || !x->spilled[d->buf].chunk) return true;
  touch_window(x, &d->v, 0, d->v.p, d->size);
  const char *name = x->plan->bufs.v[d->buf]->name;
  return tp_spill_most(x) <= x->beside || tp_rfail(x, r, TP_E_DEVICE, "internal: %lld bytes of the file are mapped with buffer %d (%s), %lld were said", (long long)tp_spill_most(x), d->buf, name ? name : "", (long long)x->beside);
}
