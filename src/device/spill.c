/* spill.c: buffers in a file, so that a run keeps to its limit of memory.
 *
 * Which: as few as it takes, each time the one that saves most of what is alive at the peak. They are parts of one unlinked temporary file that is mapped, so operators use
 * them like any memory; the plan's SPILL and FETCH statements say what will not be used for long and what soon. All space is taken before the first region
 * runs: a full disk is an error there and nowhere else. What counts as memory is what is mapped: rows in use, and those that wait to leave together. */
#include "device/priv.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEAST_BYTES = 1 << 16, MOST_CHUNK = 1 << 20 };

/* ---- sizes ---- */

static int64_t page(void) {
  static int64_t n;
  if (!n) n = TP_MAX(sysconf(_SC_PAGESIZE), 4096);
  return n;
}

static int64_t pages_up(int64_t n) { return (n + page() - 1) / page() * page(); }

static tp_spilled shape_of(const tp_pbuf *b, int dim, const int64_t *env) {
  tp_spilled s = { .dim = dim, .outer = 1, .row = tp_dtype_size(b->dtype) };
  for (int i = 0; i < dim; i++) s.outer *= TP_MAX(tp_ix_evalq(b->slots[i], env), 0);
  s.count = TP_MAX(tp_ix_evalq(b->slots[dim], env), 0);
  for (int i = dim + 1; i < b->ndim + b->rank; i++) s.row *= TP_MAX(tp_ix_evalq(b->slots[i], env), 0);
  s.bytes = s.outer * s.count * s.row;
  int64_t want = TP_MIN(TP_MAX(s.bytes / 64, page()), MOST_CHUNK);
  s.chunk = TP_MAX(want / TP_MAX(s.row * s.outer, 1), 1);
  return s;
}

/* Mapped at most, where n rows are used at a time. */
static int64_t mapped(const tp_spilled *s, int64_t n, bool moves) {
  int64_t rows = TP_MIN(n + (moves ? s->chunk : 0), s->count);
  return TP_MIN(s->outer * (pages_up(rows * s->row) + 2 * page()), pages_up(s->bytes) + page());
}

/* ---- what a run would take ---- */

typedef struct unit { int buf, first, last, dim; int64_t rows; bool moves; } unit;     /* a loop or a region that uses rows of a buffer */
typedef TP_VEC(unit) units;
typedef struct choice {
  const tp_exec *x; const int64_t *env;
  tp_arena a; units u;
  int *dim; bool *out;                          /* by buffer: dim < 0: it has no statements; out: in the file */
  int64_t *room, *offset, *roomat, *load;       /* load: mapped, by position */
} choice;

static void note_unit(void *ud, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  choice *c = ud;
  if (x->kind != TP_P_REGION || x->rg->kind != TP_RG_SPILL) return;
  int64_t none, n, way = tp_ix_cst(x->rg->ix[3]);
  tp_ix_range(x->rg->ix[1], lo, hi, &none, &n);
  int buf = x->rg->in[0].buf, first = x->pos - 1, last = x->pos;
  const tp_pnode *q = x->up;
  while (way && q->kind != TP_P_FOR) q = q->up;
  if (way) { first = q->pos; last = q->lastpos; }
  c->dim[buf] = (int)tp_ix_cst(x->rg->ix[2]);
  if (n > 0) TP_PUSH(&c->a, &c->u, ((unit){ buf, first, last, c->dim[buf], n, way != 0 }));
}

static bool choice_open(choice *c, const tp_exec *x, const int64_t *env) {
  int nbuf = x->plan->bufs.n, npos = x->plan->npos;
  c->x = x;
  c->env = env;
  c->dim = TP_NEWN(&c->a, int, nbuf);
  c->out = TP_NEWN(&c->a, bool, nbuf);
  c->offset = TP_NEWN(&c->a, int64_t, nbuf);
  c->room = TP_NEWN(&c->a, int64_t, npos);
  c->roomat = TP_NEWN(&c->a, int64_t, npos);
  c->load = TP_NEWN(&c->a, int64_t, npos + 1);
  for (int i = 0; i < nbuf; i++) c->dim[i] = -1;
  return tp_exec_rooms(x, env, c->room) && tp_plan_reach(x->plan, env, note_unit, c);
}

/* The most that buffer b maps at a time. */
static int64_t most_mapped(const choice *c, int b) {
  tp_spilled s = shape_of(c->x->plan->bufs.v[b], c->dim[b], c->env);
  int64_t most = 0;
  for (int i = 0; i < c->u.n; i++)
    if (c->u.v[i].buf == b) most = TP_MAX(most, mapped(&s, c->u.v[i].rows, c->u.v[i].moves));
  return most;
}

/* Arena and what is mapped beside it. */
static int64_t take(choice *c, int64_t *arena) {
  int64_t most = 0;
  *arena = tp_plan_color(c->x->plan, c->env, c->out, c->room, c->offset, c->roomat);
  memset(c->load, 0, sizeof *c->load * (size_t)(c->x->plan->npos + 1));
  for (int b = 0; b < c->x->plan->bufs.n; b++) {
    if (!c->out[b]) continue;
    tp_spilled s = shape_of(c->x->plan->bufs.v[b], c->dim[b], c->env);
    for (int i = 0; i < c->u.n; i++) {
      const unit *u = &c->u.v[i];
      for (int p = u->first; u->buf == b && p <= u->last; p++) c->load[p] += mapped(&s, u->rows, u->moves);
    }
  }
  for (int p = 0; p < c->x->plan->npos; p++) most = TP_MAX(most, c->load[p]);
  return *arena < 0 ? -1 : *arena + most;
}

/* The buffer in the arena that saves most where most is alive; -1: none saves anything. */
static int best(const choice *c) {
  const tp_plan *p = c->x->plan;
  int64_t *live = (int64_t *)c->load, most = 0;
  int peak = 0, found = -1;
  memcpy(live, c->room, sizeof *live * (size_t)p->npos);
  for (int b = 0; b < p->bufs.n; b++)
    for (int k = p->bufs.v[b]->first; c->offset[b] >= 0 && k <= p->bufs.v[b]->last; k++) live[k] += tp_ix_evalq(p->bufs.v[b]->size, c->env) * tp_dtype_size(p->bufs.v[b]->dtype);
  for (int k = 0; k < p->npos; k++)
    if (live[k] > live[peak]) peak = k;
  for (int b = 0; b < p->bufs.n; b++) {
    const tp_pbuf *x = p->bufs.v[b];
    if (c->offset[b] < 0 || c->dim[b] < 0 || x->first > peak || x->last < peak) continue;
    int64_t bytes = tp_ix_evalq(x->size, c->env) * tp_dtype_size(x->dtype), saved = bytes - most_mapped(c, b);
    if (bytes >= LEAST_BYTES && saved > most) { most = saved; found = b; }
  }
  return found;
}

/* Puts buffers into the file until the limit is kept or nothing helps; bytes that it takes then, -1: too many to count. */
static int64_t choose(choice *c, int64_t *arena) {
  int64_t total = take(c, arena), limit = c->x->plan->limit;
  for (int b; limit && total > limit && (b = best(c)) >= 0;) {
    c->out[b] = true;
    int64_t with = take(c, arena);
    total = with;
  }
  return total;
}

int64_t tp_exec_memory(const tp_exec *x, const int64_t *env) {
  choice c = { 0 };
  int64_t arena, total = -1;
  jmp_buf oom;
  tp_arena_init(&c.a);
  c.a.oom = &oom;
  if (!setjmp(oom) && choice_open(&c, x, env)) total = choose(&c, &arena);
  tp_arena_free(&c.a);
  return total;
}

/* ---- the file ---- */

void tp_spill_close(tp_exec *x) {
  if (x->map) munmap(x->map, (size_t)x->mapsize);
  x->map = NULL;
  if (x->fd > 0) close(x->fd);
  x->fd = 0;
  x->mapsize = 0;
}

static bool no_file(tp_exec *x, const char *path, int64_t bytes, int why) {
  tp_spill_close(x);
  return tp_fail(x->err, TP_E_FILE, (tp_pos){ 0 }, "file: %lld bytes of memory over the limit have no place in %s: %s (TMPDIR says where)", (long long)bytes, path, strerror(why));
}

static bool open_file(tp_exec *x, int64_t bytes) {
  const char *dir = getenv("TMPDIR");
  char path[4096];
  snprintf(path, sizeof path, "%s/tempo-XXXXXX", dir && *dir ? dir : "/tmp");
  int fd = mkstemp(path);
  if (fd < 0) return no_file(x, dir && *dir ? dir : "/tmp", bytes, errno);
  unlink(path);
  x->fd = fd;
  int full = posix_fallocate(fd, 0, (off_t)bytes);
  if (full) return no_file(x, path, bytes, full);
  void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) return no_file(x, path, bytes, errno);
  x->map = p;
  x->mapsize = bytes;
  return true;
}

/* Places in the file, one buffer after the other. */
static bool place_out(tp_exec *x, const choice *c) {
  int64_t bytes = 0;
  for (int b = 0; b < x->plan->bufs.n; b++) {
    x->spilled[b] = (tp_spilled){ 0 };
    if (!c->out[b]) continue;
    x->spilled[b] = shape_of(x->plan->bufs.v[b], c->dim[b], c->env);
    x->spilled[b].at = bytes;
    x->spilled[b].lo = 0;
    x->spilled[b].hi = 0;
    bytes += pages_up(x->spilled[b].bytes);
  }
  if (bytes == x->mapsize) return true;
  tp_spill_close(x);
  return !bytes || open_file(x, bytes);
}

static bool settle(tp_exec *x, choice *c) {
  int64_t arena, total = choose(c, &arena);
  if (total < 0) return tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "these bounds need more than 2^63 bytes");
  if (x->plan->limit && total > x->plan->limit) {
    x->refused = total;
    return tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "these bounds need %lld bytes, the limit is %lld", (long long)total, (long long)x->plan->limit);
  }
  memcpy(x->offset, c->offset, sizeof *x->offset * (size_t)x->plan->bufs.n);
  memcpy(x->room, c->room, sizeof *x->room * (size_t)x->plan->npos);
  memcpy(x->roomat, c->roomat, sizeof *x->roomat * (size_t)x->plan->npos);
  if (!place_out(x, c)) return false;
  x->beside = total - arena;
  if (x->arena && arena == x->total) return true;
  tp_pages_free(x->arena, (size_t)x->total);
  x->arena = tp_pages((size_t)arena);
  x->total = x->arena ? arena : 0;
  return x->arena || tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "no memory for the %lld bytes that these bounds need", (long long)arena);
}

bool tp_take_memory(tp_exec *x) {
  choice c = { 0 };
  bool ok = false;
  jmp_buf oom;
  tp_arena_init(&c.a);
  c.a.oom = &oom;
  if (setjmp(oom)) tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory");
  else ok = choice_open(&c, x, x->env) ? settle(x, &c) : tp_fail(x->err, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory");
  tp_arena_free(&c.a);
  return ok;
}

/* ---- statements ---- */

/* Rows [lo, hi) leave memory: whole pages of each part that they lie in. */
static void leave(tp_exec *x, const tp_spilled *s, int64_t lo, int64_t hi) {
  for (int64_t o = 0; o < s->outer && hi > lo; o++) {
    int64_t from = pages_up(s->at + (o * s->count + lo) * s->row), to = s->at + (o * s->count + hi) * s->row;
    to = hi == s->count && o == s->outer - 1 ? pages_up(to) : to / page() * page();
    if (from >= to) continue;
#ifdef SYNC_FILE_RANGE_WRITE
    sync_file_range(x->fd, from, to - from, SYNC_FILE_RANGE_WRITE);
#else
    msync(x->map + from, (size_t)(to - from), MS_ASYNC);
#endif
    madvise(x->map + from, (size_t)(to - from), MADV_DONTNEED);
  }
}

bool tp_run_spill(tp_exec *x, tp_dreg *r) {
  tp_spilled *s = &x->spilled[r->rg->in[0].buf];
  if (!s->chunk) return true;
  int64_t lo = tp_dx_get(&r->ix[0], x->env), hi = lo + tp_dx_get(&r->ix[1], x->env), way = tp_dx_get(&r->ix[3], x->env);
  if (way == 0) {
    leave(x, s, 0, s->count);
    s->lo = s->hi = 0;
    return true;
  }
  lo = TP_MAX(lo, 0);
  hi = TP_MIN(hi, s->count);
  if (s->lo == s->hi) { s->lo = lo; s->hi = hi; }
  s->lo = TP_MIN(s->lo, lo);
  s->hi = TP_MAX(s->hi, hi);
  if (way > 0 && lo - s->lo >= s->chunk) { leave(x, s, s->lo, lo); s->lo = lo; }
  if (way < 0 && s->hi - hi >= s->chunk) { leave(x, s, hi, s->hi); s->hi = hi; }
  return true;
}

/* Two chunks ahead, asked for once a chunk. */
bool tp_run_fetch(tp_exec *x, tp_dreg *r) {
  tp_spilled *s = &x->spilled[r->rg->in[0].buf];
  if (!s->chunk) return true;
  int64_t lo = tp_dx_get(&r->ix[0], x->env), hi = lo + tp_dx_get(&r->ix[1], x->env), way = tp_dx_get(&r->ix[3], x->env);
  int64_t edge = way > 0 ? hi : lo, from = way > 0 ? edge : edge - 2 * s->chunk, to = from + 2 * s->chunk;
  if (s->lo != s->hi && edge / s->chunk == s->asked / s->chunk) return true;
  s->asked = edge;
  from = TP_MAX(from, 0);
  to = TP_MIN(to, s->count);
  for (int64_t o = 0; o < s->outer && from < to; o++) {
    int64_t a = (s->at + (o * s->count + from) * s->row) / page() * page(), b = pages_up(s->at + (o * s->count + to) * s->row);
    madvise(x->map + a, (size_t)(b - a), MADV_WILLNEED);
  }
  return true;
}
