/* Launches. Blocks run one after the other, in an order that the seed turns; the threads of a block
 * from one barrier to the next, those of a warp from one shuffle or vote to the next, forwards and
 * backwards by turns, so that nothing can rest on their order. Blocks of a cooperative launch run by
 * turns, each until one of its threads sleeps; in other launches no other block is there then. */
#include "own.h"
#include <stdlib.h>

static emu_thread *threads; /* of the block that runs */

/* A block that is there. asleep: threads sleep in this interval; met: barriers so far. */
typedef struct resident {
  emu_block b;
  emu_thread *threads;
  unsigned turn;
  uint32_t who;
  int met;
  bool asleep, over;
} resident;

static void cut(int t) { emu_now.who = (emu_now.who & ~1023u) | (uint32_t)t; }

static bool enter(const emu_kernel *k, const emu_block *b, int t) {
  emu_thread *x = &threads[t];
  cut(t);
  x->at = k->run(b, x);
  if (x->at == 0) x->meet = EMU_NONE;
  return x->at >= 0 && emu_calls.fuel > 0;
}

/* ---- in a warp ---- */
static uint32_t shuffled(const emu_thread *w, int lane, uint32_t *ok) {
  const emu_thread *x = &w[lane];
  int group = (int)(x->clamp >> 8 & 31), most = (int)(x->clamp & 31), j = (int)x->lane & 31,
      low = lane & group, high = low | (most & ~group), from = lane;
  if (x->meet == EMU_SHUFFLE_UP) from = lane - j, *ok = from >= high;
  else if (x->meet == EMU_SHUFFLE_DOWN) from = lane + j, *ok = from <= high;
  else if (x->meet == EMU_SHUFFLE_XOR) from = lane ^ j, *ok = from <= high;
  else from = low | (j & ~group), *ok = from <= high;
  return w[*ok ? from : lane].give;
}

/* The threads of `mask` are all at this place: each takes what it gets. `w`: the warp's. */
static void exchange(emu_thread *w, uint32_t mask) {
  uint32_t got[32], ok[32], votes = 0;
  int kind = 0;
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1) kind = w[i].meet, votes |= (uint32_t)(w[i].give & 1) << i;
  for (int i = 0; i < 32; i++) {
    if (!(mask >> i & 1)) continue;
    ok[i] = 1, got[i] = 0;
    if (kind == EMU_VOTE_ANY) got[i] = votes != 0;
    else if (kind == EMU_VOTE_ALL) got[i] = votes == mask;
    else if (kind == EMU_VOTE_SAME) got[i] = votes == mask || votes == 0;
    else if (kind == EMU_VOTE_BALLOT) got[i] = votes;
    else if (kind != EMU_WARP) {
      got[i] = shuffled(w, i, &ok[i]);
      int from = w[i].meet == EMU_SHUFFLE_DOWN ? i + (int)(w[i].lane & 31) : i;
      if (ok[i] && w[i].meet == EMU_SHUFFLE_DOWN && !(mask >> (from & 31) & 1)) {
        cut((int)(w - threads) + i);
        emu_tell(EMU_LAUNCH_FAILED, w[i].place, "a shuffle from a thread that is not there");
      }
    }
  }
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1) w[i].got = got[i], w[i].ok = ok[i];
}

static bool sleeps(const emu_thread *t) { return t->at && t->meet == EMU_SLEEP; }

/* Runs a warp's threads until each has ended, sleeps or is at a barrier of the block. wakes: those
 * that sleep go on. */
static bool run_warp(
    const emu_kernel *k, const emu_block *b, int first, int n, bool back, bool wakes) {
  emu_thread *w = threads + first;
  uint32_t ready = n == 32 ? 0xffffffffu : (1u << n) - 1, done = 0;
  for (int i = 0; i < n; i++) {
    if (w[i].at == 0 && w[i].place == -2) ready &= ~(1u << i), done |= 1u << i;
    if (wakes && !sleeps(&w[i])) ready &= ~(1u << i);
  }
  emu_now.warp++;
  while (ready) {
    for (int q = 0; q < n; q++) {
      int i = back ? n - 1 - q : q;
      if (!(ready >> i & 1)) continue;
      if (!enter(k, b, first + i)) return false;
      if (w[i].at == 0) w[i].place = -2, done |= 1u << i;
    }
    ready = 0;
    uint32_t wait = 0;
    bool asleep = false;
    for (int i = 0; i < n; i++) {
      asleep = asleep || sleeps(&w[i]);
      if (w[i].at == 0 || w[i].meet < EMU_WARP || w[i].meet == EMU_SLEEP) continue;
      uint32_t all = n == 32 ? 0xffffffffu : (1u << n) - 1, mask = w[i].mask & all, there = 0;
      wait |= 1u << i;
      for (int l = 0; l < n; l++)
        if (w[l].at == w[i].at && w[l].mask == w[i].mask && w[l].meet == w[i].meet)
          there |= 1u << l;
      if ((there & mask) != mask || !(mask >> i & 1) || ready >> i & 1) continue;
      exchange(w, mask);
      ready |= mask;
      if (w[i].meet == EMU_WARP) emu_now.warp++;
    }
    if (wait && !ready && !asleep) {
      int i = __builtin_ctz(wait);
      cut(first + i);
      emu_tell(EMU_LAUNCH_FAILED, w[i].place,
          "threads of a warp wait for others (mask %08x) that are elsewhere or have ended",
          w[i].mask);
      return false;
    }
  }
  return true;
}

/* ---- in a block ---- */

/* All threads are at one barrier, or have ended: *ended. */
static bool meet(int n, bool *ended) {
  int over = 0, at = 0, one = -1;
  uint32_t count = 0;
  for (int t = 0; t < n; t++) {
    if (threads[t].at == 0) over++;
    else if (one < 0) one = t, at = threads[t].at;
  }
  *ended = over == n;
  if (*ended) return true;
  for (int t = 0; t < n; t++) {
    if (threads[t].at == at) continue;
    cut(t);
    if (threads[t].at == 0)
      emu_tell(EMU_LAUNCH_FAILED, threads[one].place,
          "a barrier that this thread never reaches (%d of %d ended before it)", over, n);
    else
      emu_tell(EMU_LAUNCH_FAILED, threads[t].place,
          "a barrier of its own: thread %d waits at another one (PTX line %d)", one,
          emu_now.module->places[threads[one].place].ptx);
    return false;
  }
  for (int t = 0; t < n; t++) count += threads[t].give & 1;
  for (int t = 0; t < n; t++) {
    int kind = threads[t].meet;
    threads[t].got = kind == EMU_BLOCK_COUNT ? count
        : kind == EMU_BLOCK_ALL              ? count == (uint32_t)n
                                             : count > 0;
  }
  return true;
}

static void begin_block(const emu_kernel *k, resident *r, int n, uint64_t *saved) {
  for (int t = 0; t < n; t++) {
    emu_thread *x = &r->threads[t];
    memset(x, 0, sizeof *x);
    x->tid[0] = (uint32_t)t % r->b.ntid[0];
    x->tid[1] = (uint32_t)t / r->b.ntid[0] % r->b.ntid[1];
    x->tid[2] = (uint32_t)t / r->b.ntid[0] / r->b.ntid[1];
    x->who = r->who | (uint32_t)t;
    x->local = emu_now.local + (size_t)t * (size_t)k->local;
    x->saved = saved + (size_t)t * (size_t)k->saved;
  }
  r->b.shared = emu_now.shared;
  r->met = 0, r->asleep = r->over = false;
}

/* Runs a block until it ends or one of its threads sleeps; false: it is given up. */
static bool run_block(const emu_kernel *k, resident *r, int n) {
  int warps = (n + 31) / 32;
  threads = r->threads;
  if (!k->stops) {
    for (int q = 0; q < n; q++)
      if (!enter(k, &r->b, r->turn & 1 ? n - 1 - q : q)) return false;
    return r->over = true;
  }
  while (!r->over) {
    bool wakes = r->asleep;
    if (!wakes && (!r->met++ || r->met - 1 != emu_knob.deaf)) watch_begin_interval();
    for (int q = 0; q < warps; q++) {
      int w = (int)((unsigned)(r->turn & 1 ? warps - 1 - q : q) + r->turn / 2) % warps,
          left = n - 32 * w;
      if (!run_warp(k, &r->b, 32 * w, left < 32 ? left : 32, r->turn & 1, wakes)) return false;
    }
    r->asleep = false;
    for (int t = 0; t < n; t++) r->asleep = r->asleep || sleeps(&threads[t]);
    if (r->asleep) return true;
    r->turn++;
    if (!meet(n, &r->over)) return false;
  }
  return true;
}

/* Runs blocks that are there at once until all have ended. */
static bool run_residents(const emu_kernel *k, resident *r, unsigned count, int n) {
  unsigned left = count;
  for (int idle = 0; left; idle++) {
    for (unsigned i = 0; i < count; i++) {
      resident *x = &r[idle & 1 ? count - 1 - i : i];
      int met = x->met;
      if (x->over) continue;
      emu_now.who = x->who;
      emu_calls.fuel = emu_knob.fuel;
      watch_go_on((int)(x - r));
      if (!run_block(k, x, n)) return false;
      if (x->over || x->met != met) idle = 0;
      left -= x->over;
    }
    if (idle < 100) continue;
    for (int t = 0; t < n; t++)
      if (sleeps(&threads[t])) {
        cut(t);
        emu_tell(EMU_LAUNCH_TIMEOUT, threads[t].place,
            "this waits for what no block does that is there (%u of them)", count);
        break;
      }
    return false;
  }
  return true;
}

static unsigned common(unsigned a, unsigned b) { return b ? common(b, a % b) : a; }

int emu_launch(const emu_module *m, const emu_kernel *k, const emu_grid *g, const char *params) {
  unsigned blocks = g->blocks[0] * g->blocks[1] * g->blocks[2], seed = (unsigned)emu_knob.seed;
  unsigned n = g->threads[0] * g->threads[1] * g->threads[2], step = 2 * seed + 1;
  unsigned there = g->together ? blocks : 1;
  watch_begin_launch(m, k, (int)n);
  if (!watch_together((int)there, (int)g->dynamic)) return EMU_LAUNCH_RESOURCES;
  resident *r = calloc(there, sizeof *r);
  emu_thread *all = calloc((size_t)there * n, sizeof *all);
  uint64_t *saved = calloc((size_t)there * n * (size_t)k->saved + 1, sizeof *saved);
  while (common(blocks, step) != 1) step++;
  bool ok = true;
  for (unsigned i = 0; i < blocks && ok; i++) {
    unsigned at = (unsigned)(((uint64_t)i * step + seed) % blocks);
    unsigned slot = there == 1 ? 0 : at;
    resident *x = &r[slot];
    *x = (resident){ .threads = all + (size_t)slot * n, .turn = i + seed };
    memcpy(x->b.ntid, g->threads, sizeof g->threads);
    memcpy(x->b.nctaid, g->blocks, sizeof g->blocks);
    x->b.params = params, x->b.dynamic = g->dynamic;
    x->b.ctaid[0] = at % g->blocks[0], x->b.ctaid[1] = at / g->blocks[0] % g->blocks[1];
    x->b.ctaid[2] = at / g->blocks[0] / g->blocks[1];
    emu_now.who = x->who = (at & 0x3ffff) << 10;
    watch_begin_block((int)slot, (int)g->dynamic);
    begin_block(k, x, (int)n, saved + (size_t)slot * n * (size_t)k->saved);
    if (there == 1) ok = run_residents(k, x, 1, (int)n);
  }
  if (there > 1) run_residents(k, r, there, (int)n);
  emu_now.kernel = NULL, emu_now.module = NULL;
  free(r), free(all), free(saved);
  return emu_now.error;
}
