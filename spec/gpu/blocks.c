/* Launches. Blocks run one after the other, in an order that the seed turns; the threads of a block
 * from one barrier to the next, those of a warp from one shuffle or vote to the next, forwards and
 * backwards by turns, so that nothing can rest on their order. */
#include "own.h"
#include <stdlib.h>

static emu_thread *threads;
static uint64_t *saved;
static size_t saved_room;

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

/* Runs a warp's threads until each has ended or is at a barrier of the block. */
static bool run_warp(const emu_kernel *k, const emu_block *b, int first, int n, bool back) {
  emu_thread *w = threads + first;
  uint32_t ready = n == 32 ? 0xffffffffu : (1u << n) - 1, done = 0;
  for (int i = 0; i < n; i++)
    if (w[i].at == 0 && w[i].place == -2) ready &= ~(1u << i), done |= 1u << i;
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
    for (int i = 0; i < n; i++) {
      if (w[i].at == 0 || w[i].meet < EMU_WARP) continue;
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
    if (wait && !ready) {
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

static bool run_block(const emu_kernel *k, const emu_block *b, int n, unsigned turn) {
  for (int t = 0; t < n; t++) {
    emu_thread *x = &threads[t];
    memset(x, 0, sizeof *x);
    x->tid[0] = (uint32_t)t % b->ntid[0];
    x->tid[1] = (uint32_t)t / b->ntid[0] % b->ntid[1];
    x->tid[2] = (uint32_t)t / b->ntid[0] / b->ntid[1];
    x->who = (emu_now.who & ~1023u) | (uint32_t)t;
    x->local = emu_now.local + (size_t)t * (size_t)k->local;
    x->saved = saved + (size_t)t * (size_t)k->saved;
  }
  if (!k->stops) {
    for (int q = 0; q < n; q++)
      if (!enter(k, b, turn & 1 ? n - 1 - q : q)) return false;
    return true;
  }
  int warps = (n + 31) / 32, met = 0;
  for (bool ended = false; !ended; turn++) {
    if (!met++ || met - 1 != emu_knob.deaf) watch_begin_interval();
    for (int q = 0; q < warps; q++) {
      int w = (int)((unsigned)(turn & 1 ? warps - 1 - q : q) + turn / 2) % warps;
      if (!run_warp(k, b, 32 * w, n - 32 * w < 32 ? n - 32 * w : 32, turn & 1)) return false;
    }
    if (!meet(n, &ended)) return false;
  }
  return true;
}

static unsigned common(unsigned a, unsigned b) { return b ? common(b, a % b) : a; }

int emu_launch(const emu_module *m, const emu_kernel *k, const emu_grid *g, const char *params) {
  emu_block b = { 0 };
  unsigned blocks = g->blocks[0] * g->blocks[1] * g->blocks[2], seed = (unsigned)emu_knob.seed;
  unsigned n = g->threads[0] * g->threads[1] * g->threads[2], step = 2 * seed + 1;
  if ((uint64_t)n * (uint64_t)k->local > (64u << 20)) return EMU_LAUNCH_RESOURCES;
  if (!threads) threads = calloc(1024, sizeof *threads);
  if (saved_room < (size_t)n * (size_t)k->saved) {
    saved_room = (size_t)n * (size_t)k->saved;
    saved = realloc(saved, saved_room * sizeof *saved);
  }
  watch_begin_launch(m, k, (int)n);
  while (common(blocks, step) != 1) step++;
  memcpy(b.ntid, g->threads, sizeof b.ntid), memcpy(b.nctaid, g->blocks, sizeof b.nctaid);
  b.shared = emu_now.shared, b.params = params, b.dynamic = g->dynamic;
  for (unsigned i = 0; i < blocks; i++) {
    unsigned at = (unsigned)(((uint64_t)i * step + seed) % blocks);
    b.ctaid[0] = at % g->blocks[0], b.ctaid[1] = at / g->blocks[0] % g->blocks[1];
    b.ctaid[2] = at / g->blocks[0] / g->blocks[1];
    emu_now.who = (at & 0x7ffff) << 10;
    emu_calls.fuel = emu_knob.fuel;
    watch_begin_block((int)g->dynamic);
    if (!run_block(k, &b, (int)n, i + seed)) break;
  }
  emu_now.kernel = NULL, emu_now.module = NULL;
  return emu_now.error;
}
