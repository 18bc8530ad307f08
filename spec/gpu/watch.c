/* The memory of the emulated device, and what is wrong with how kernels use it.
 *
 * One reserved stretch of addresses, the arena, has all allocations, with wide gaps between them;
 * its beginning is shared memory and threads' own. Beside it lie, by byte, a state (not allocated,
 * fresh, set) and, by word of four bytes, a cell: who wrote it last and who read it, when and
 * where. Words of which single bytes are used have a cell for each byte. Fresh memory is 0xA5.
 *
 * A block learns what another one has done as PTX's memory model has it: thread a of that block,
 * all of which came to a barrier before, has a fence and then an atomic operation (or a volatile
 * write); thread b of this block sees that by one (or a volatile read) of its own, then has a fence
 * and comes to a barrier with the others. */
#include "own.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { NONE = 0, FRESH = 2, SET = 3 };
enum { GAP = 1 << 16, PAGE = 4096, FREED = 1024 };
#define SHARED_AT ((uint64_t)1 << 16)
#define LOCAL_AT  ((uint64_t)64 << 20)
#define LOW       ((uint64_t)192 << 20) /* allocations begin here */

/* wt, rt: times of the last write and read; ww, rw: by whom (see WHO); wp, rp: at which place. */
typedef struct cell {
  uint32_t wt, ww, wp, rt, rw, rp;
} cell;
#define BYTEWISE   0xffffffffu /* wt: the word's bytes have cells of their own */
#define WHO        0x0fffffffu /* thread, ten bits, and block */
#define SYNC       0x80000000u /* atomic, or volatile */
#define MANY       0x40000000u /* several threads of a warp */
#define MANYWARPS  0x20000000u
#define MANYBLOCKS 0x10000000u

typedef struct region {
  uint64_t at, bytes;
  bool own;
} region;

static struct {
  char *base;
  uint64_t span, used, next;
  uint8_t *state;
  cell *word, *byte;
  region *live; /* sorted */
  int nlive, room;
  region freed[FREED];
  unsigned nfreed;
} W;
watch_now emu_now;
static char spare[256];

/* A block that is there: what emu_now has of it while it runs; by block, what it knows and what one
 * thread, `seer`, has seen since (due: it has had a fence after that); `fencer`: the thread that
 * had a fence last; fenced: when the block met last before that; told: how often it told others of
 * such a time, the latest `last`. */
typedef struct there {
  uint32_t block, interval, most, fenced, last;
  uint32_t *knows, *seen;
  char *shared, *local;
  int seer, fencer, told;
  bool due;
} there;
/* A place of atomic operations, and what is known to one who sees its value. */
typedef struct mailbox {
  const char *at;
  uint32_t *says;
} mailbox;
enum { MAILBOXES = 256 };
static struct {
  there *slot, *now;
  int n, nmail;
  uint64_t stride; /* of shared memory */
  mailbox mail[MAILBOXES];
} T;

/* ---- findings ---- */
void emu_say(const char *fmt, ...) {
  FILE *f = *emu_knob.log ? fopen(emu_knob.log, "a") : stderr;
  va_list v;
  if (!f) return;
  va_start(v, fmt);
  fputs("tempo emulator: ", f);
  vfprintf(f, fmt, v);
  fputc('\n', f);
  va_end(v);
  if (f != stderr) fclose(f);
}

static void say_place(char *to, size_t n, int place) {
  const emu_place *p = place >= 0 && emu_now.module ? emu_now.module->places + place : NULL;
  if (!p || !p->ptx) snprintf(to, n, "an unknown line");
  else if (!p->line) snprintf(to, n, "PTX line %d", p->ptx);
  else if (p->from == p->line) snprintf(to, n, "line %d", p->line);
  else snprintf(to, n, "line %d (called from line %d)", p->line, p->from);
}

void emu_tell(int error, int place, const char *fmt, ...) {
  char what[600], at[100];
  va_list v;
  if (!emu_now.error) emu_now.error = error;
  if (emu_now.told++ >= 4) return;
  va_start(v, fmt);
  vsnprintf(what, sizeof what, fmt, v);
  va_end(v);
  say_place(at, sizeof at, place);
  emu_say("kernel '%s', %s, block %u, thread %u: %s", emu_now.kernel ? emu_now.kernel->name : "?",
      at, (emu_now.who & WHO) >> 10, emu_now.who & 1023, what);
}

/* ---- allocations ---- */
static void *reserve(uint64_t n) {
  void *p =
      mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

bool watch_open(void) {
  if (W.base) return true;
  W.span = LOW + 2 * ((uint64_t)emu_knob.memory << 20) + ((uint64_t)1 << 30); /* and the host's */
  W.base = reserve(W.span), W.state = reserve(W.span);
  W.word = reserve(W.span / 4 * sizeof(cell)), W.byte = reserve(W.span * sizeof(cell));
  W.next = LOW + GAP;
  emu_now.launch = emu_now.block = emu_now.interval = emu_now.warp = 1;
  return W.base && W.state && W.word && W.byte;
}

static int slot(uint64_t at) { /* the first living allocation at or after it */
  int lo = 0, hi = W.nlive;
  while (lo < hi) {
    int m = (lo + hi) / 2;
    if (W.live[m].at < at) lo = m + 1;
    else hi = m;
  }
  return lo;
}

static const region *holder(uint64_t off) {
  int i = slot(off + 1) - 1;
  return i >= 0 && off < W.live[i].at + W.live[i].bytes ? W.live + i : NULL;
}

/* The next place with `room` bytes, from W.next on and then from the beginning; 0: there is none.
 */
static uint64_t fit(uint64_t room) {
  for (int turn = 0; turn < 2; turn++) {
    uint64_t at = turn ? LOW + GAP : W.next;
    for (int i = slot(at);; i++) {
      uint64_t end = i < W.nlive ? W.live[i].at : W.span;
      if (i > 0 && W.live[i - 1].at + W.live[i - 1].bytes + GAP > at)
        at = (W.live[i - 1].at + W.live[i - 1].bytes + GAP + PAGE - 1) / PAGE * PAGE;
      if (at + room + GAP <= end) return at;
      if (i >= W.nlive) break;
    }
  }
  return 0;
}

char *watch_take(uint64_t n, bool own) {
  uint64_t room = (n + PAGE - 1) / PAGE * PAGE, at;
  if (n == 0 || (own && W.used + n > (uint64_t)emu_knob.memory << 20) || !(at = fit(room)))
    return NULL;
  if (W.nlive == W.room)
    W.live = realloc(W.live, sizeof *W.live * (size_t)(W.room = W.room ? 2 * W.room : 256));
  int i = slot(at);
  memmove(W.live + i + 1, W.live + i, sizeof *W.live * (size_t)(W.nlive - i));
  W.live[i] = (region){ at, n, own }, W.nlive++;
  W.used += own ? n : 0, W.next = at + room + GAP;
  if (emu_knob.watched || n < (64u << 20)) memset(W.base + at, 0xA5, n);
  if (emu_knob.watched) memset(W.state + at, FRESH, n);
  return W.base + at;
}

bool watch_drop(char *p) {
  uint64_t at = (uint64_t)(p - W.base);
  int i = slot(at);
  if (i >= W.nlive || W.live[i].at != at) return false;
  uint64_t n = W.live[i].bytes, room = (n + PAGE - 1) / PAGE * PAGE;
  W.freed[W.nfreed++ % FREED] = W.live[i];
  memmove(W.live + i, W.live + i + 1, sizeof *W.live * (size_t)(--W.nlive - i));
  W.used -= W.freed[(W.nfreed - 1) % FREED].own ? n : 0;
  madvise(W.base + at, room, MADV_DONTNEED);
  if (emu_knob.watched) {
    madvise(W.state + at, room, MADV_DONTNEED);
    madvise(W.word + at / 4, room / 4 * sizeof(cell), MADV_DONTNEED);
    madvise(W.byte + at, room * sizeof(cell), MADV_DONTNEED);
  }
  return true;
}

void watch_drop_all(void) {
  while (W.nlive) watch_drop(W.base + W.live[W.nlive - 1].at);
}
uint64_t watch_used(void) { return W.used; }
bool watch_is_device(const void *p) { return W.base && (uint64_t)((char *)p - W.base) < W.span; }
bool watch_holds(const void *p, uint64_t n) {
  if (!watch_is_device(p)) return false;
  uint64_t off = (uint64_t)((char *)p - W.base);
  const region *r = holder(off);
  return r && off + n <= r->at + r->bytes;
}

const char *watch_where(const void *p) {
  static char text[200];
  uint64_t off = (uint64_t)((char *)p - W.base);
  const region *r = off < W.span ? holder(off) : NULL;
  if (r) {
    snprintf(text, sizeof text, "byte %llu of an allocation of %llu",
        (unsigned long long)(off - r->at), (unsigned long long)r->bytes);
    return text;
  }
  if (off >= SHARED_AT && off < LOCAL_AT) {
    snprintf(text, sizeof text, "byte %lld of shared memory",
        (long long)((off - SHARED_AT) % T.stride) - 128);
    return text;
  }
  if (off >= LOCAL_AT && off < LOW) return "a thread's own memory";
  for (unsigned i = 0; i < FREED && i < W.nfreed; i++) {
    const region *f = &W.freed[(W.nfreed - 1 - i) % FREED];
    if (off < f->at || off >= f->at + f->bytes) continue;
    snprintf(text, sizeof text, "byte %llu of an allocation of %llu that was freed",
        (unsigned long long)(off - f->at), (unsigned long long)f->bytes);
    return text;
  }
  if (off < W.span) {
    int i = slot(off);
    if (i > 0) {
      r = W.live + i - 1;
      snprintf(text, sizeof text, "%llu bytes behind an allocation of %llu",
          (unsigned long long)(off - r->at - r->bytes), (unsigned long long)r->bytes);
      return text;
    }
  }
  snprintf(text, sizeof text, "%p, which is not of the device", (void *)p);
  return text;
}

/* ---- what the host does ---- */
void watch_copy(void *to, const void *from, uint64_t n) {
  memmove(to, from, n);
  if (!emu_knob.watched || !watch_is_device(to)) return;
  uint8_t *s = W.state + ((char *)to - W.base);
  if (watch_is_device(from)) memmove(s, W.state + ((char *)from - W.base), n);
  else memset(s, SET, n);
}
void watch_set(void *to, uint64_t n) {
  if (emu_knob.watched && watch_is_device(to)) memset(W.state + ((char *)to - W.base), SET, n);
}
const char *watch_library(const void *p, uint64_t n, bool writes) {
  if (!watch_holds(p, n)) return "leaves its memory";
  if (!emu_knob.watched) return NULL;
  uint8_t *s = W.state + ((char *)p - W.base);
  if (writes) memset(s, SET, n);
  else if (emu_knob.fresh)
    for (uint64_t i = 0; i < n; i++)
      if (s[i] != SET) return "reads what was never written";
  return NULL;
}

/* ---- launches ---- */
void watch_begin_launch(const emu_module *m, const emu_kernel *k, int threads) {
  if (emu_now.warp > 0xf0000000u) { /* times begin anew */
    madvise(W.word, W.span / 4 * sizeof(cell), MADV_DONTNEED);
    madvise(W.byte, W.span * sizeof(cell), MADV_DONTNEED);
    emu_now.warp = 1;
  }
  emu_now.launch = emu_now.block = emu_now.interval = ++emu_now.warp;
  emu_now.kernel = k, emu_now.module = m, emu_now.threads = threads;
  emu_now.local_bytes = k->local, emu_now.error = emu_now.told = 0;
}

bool watch_together(int blocks, int dynamic) {
  const emu_kernel *k = emu_now.kernel;
  uint64_t local = (uint64_t)emu_now.threads * (uint64_t)k->local, n = (uint64_t)blocks;
  T.stride = ((uint64_t)k->span + (uint64_t)dynamic + 1024 + 127) / 128 * 128;
  if (n * T.stride > LOCAL_AT - SHARED_AT || n * local > (LOW - LOCAL_AT) / 2) return false;
  for (int i = 0; i < T.n; i++) free(T.slot[i].knows);
  for (; T.nmail; T.nmail--) free(T.mail[T.nmail - 1].says);
  free(T.slot);
  T.slot = calloc(n, sizeof *T.slot), T.n = blocks;
  for (int i = 0; i < blocks; i++) {
    there *s = &T.slot[i];
    s->knows = calloc(2 * n, sizeof *s->knows), s->seen = s->knows + n;
    s->shared = W.base + SHARED_AT + (uint64_t)i * T.stride;
    s->local = W.base + LOCAL_AT + (uint64_t)i * local;
  }
  return true;
}

void watch_go_on(int which) {
  there *s = T.now = &T.slot[which];
  emu_now.block = s->block, emu_now.interval = s->interval;
  emu_now.shared = s->shared, emu_now.local = s->local;
  emu_now.knows = T.n > 1 ? s->knows : NULL, emu_now.most = s->most;
}

void watch_begin_block(int which, int dynamic) {
  const emu_kernel *k = emu_now.kernel;
  there *s = &T.slot[which];
  s->block = s->interval = ++emu_now.warp;
  s->seer = s->fencer = -1;
  watch_go_on(which);
  if (!emu_knob.watched) return;
  uint64_t local = (uint64_t)emu_now.threads * (uint64_t)k->local;
  uint8_t *shared = W.state + (s->shared - W.base);
  memset(s->shared, 0xA5, (size_t)k->span + (size_t)dynamic);
  memset(shared, NONE, (size_t)k->span + (size_t)dynamic + 1024);
  for (int i = 0; i < k->narrays; i++)
    memset(shared + k->arrays[i].at, FRESH, (size_t)k->arrays[i].bytes);
  if (dynamic) memset(shared + k->span, FRESH, (size_t)dynamic);
  memset(s->local, 0xA5, local);
  memset(W.state + (s->local - W.base), FRESH, local);
}

static void learn(uint32_t *to, const uint32_t *from) {
  for (int i = 0; i < T.n; i++)
    if (to[i] < from[i]) to[i] = from[i];
}

void watch_begin_interval(void) {
  there *s = T.now;
  s->interval = emu_now.interval = ++emu_now.warp;
  if (!s->due || s->told == emu_knob.apart) return;
  learn(s->knows, s->seen);
  for (int i = 0; i < T.n; i++)
    if (s->most < s->knows[i]) s->most = s->knows[i];
  emu_now.most = s->most;
  s->due = false, s->seer = -1;
}

static void on_fence(void) {
  there *s = T.now;
  s->fencer = (int)(emu_now.who & 1023), s->fenced = emu_now.interval;
  s->due = s->due || s->seer == s->fencer;
}

/* Where blocks tell each other. */
static void tell_others(const char *p, bool store) {
  there *s = T.now;
  int me = (int)(s - T.slot), thread = (int)(emu_now.who & 1023), i = 0;
  while (i < T.nmail && T.mail[i].at != p) i++;
  if (i == MAILBOXES) return;
  mailbox *m = &T.mail[i];
  if (i == T.nmail) *m = (mailbox){ p, calloc((size_t)T.n, sizeof *m->says) }, T.nmail++;
  learn(s->seen, m->says), s->seer = thread;
  if (!store || s->fencer != thread) return;
  if (s->last != s->fenced) s->last = s->fenced, s->told++;
  if (s->told == emu_knob.apart) return;
  learn(m->says, s->knows);
  if (m->says[me] < s->fenced) m->says[me] = s->fenced;
}

/* ---- accesses ---- */
#define ALWAYS static inline __attribute__((always_inline))

/* Is an access at time t by `who` not ordered with one that is made now? */
ALWAYS bool beside(uint32_t t, uint32_t who) {
  uint32_t other = (who ^ emu_now.who) & WHO;
  if (__builtin_expect(other >> 10 || who & MANYBLOCKS, 0))
    return !emu_now.knows ||
        t >= (who & MANYBLOCKS ? emu_now.most : emu_now.knows[(who & WHO) >> 10]);
  if (t < emu_now.interval) return false;
  if (who & MANYWARPS) return true;
  if (who & MANY) return t >= emu_now.warp || other >> 5;
  return other && (t >= emu_now.warp || other >> 5);
}

static void tell_race(const char *what, const void *p, int place, uint32_t who, uint32_t at) {
  char text[100];
  if (!emu_knob.races) return;
  say_place(text, sizeof text, (int)at);
  emu_tell(EMU_LAUNCH_FAILED, place, "race, %s block %u, thread %u at %s: %s", what,
      (who & WHO) >> 10, who & 1023, text, watch_where(p));
}

/* since: accesses before this time are of no interest. */
ALWAYS void touch(cell *c, int how, uint32_t since, const char *p, int place) {
  const bool store = how & 1, sync = how >= EMU_SYNC_LOAD;
  if (c->wt >= since && beside(c->wt, c->ww) && !(sync && c->ww & SYNC))
    tell_race(store ? "a second write beside that of" : "a read beside the write of", p, place,
        c->ww, c->wp);
  if (store) {
    if (c->rt >= since && beside(c->rt, c->rw) && !(sync && c->rw & SYNC))
      tell_race("a write beside the read of", p, place, c->rw, c->rp);
    c->wt = emu_now.warp, c->ww = emu_now.who | (sync ? SYNC : 0), c->wp = (uint32_t)place;
    return;
  }
  uint32_t other = (c->rw ^ emu_now.who) & WHO, more = 0;
  if (c->rt >= since && (other >> 10 || c->rw & MANYBLOCKS) && beside(c->rt, c->rw)) {
    c->rw = (c->rw | MANYBLOCKS) & ~(sync ? 0 : SYNC), c->rt = emu_now.warp; /* by both */
    return;
  }
  if (c->rt >= emu_now.interval && other)
    more = c->rw & MANYWARPS || other >> 5 ? MANY | MANYWARPS : MANY;
  else if (c->rt >= emu_now.interval) more = c->rw & (MANY | MANYWARPS);
  c->rt = emu_now.warp, c->rp = (uint32_t)place;
  c->rw = emu_now.who | more | (sync && !more ? SYNC : 0);
}

static void touch_bytes(uint64_t off, int n, int how, uint32_t since, int place) {
  cell *w = &W.word[off / 4];
  if (w->wt != BYTEWISE) {
    for (int i = 0; i < 4; i++) W.byte[off / 4 * 4 + (uint64_t)i] = *w;
    w->wt = BYTEWISE;
  }
  int told = emu_now.told;
  for (int i = 0; i < n && emu_now.told == told; i++)
    touch(&W.byte[off + (uint64_t)i], how, since, W.base + off + i, place);
}

static void *wrong(int error, const char *p, int size, int place, const char *what) {
  emu_tell(error, place, "%s of %d bytes: %s", what, size, watch_where(p));
  return spare;
}

/* The states of size (1, 2, 4, 8) bytes, all SET? size is a constant wherever it is called. */
ALWAYS bool all_set(const uint8_t *s, unsigned size) {
  uint64_t v = 0;
  memcpy(&v, s, size);
  return v == 0x0101010101010101ull * SET >> (64 - 8 * size);
}

/* Not all are: false if some are not even allocated. A thread's own array may be read before it is
 * written (since: 0) by what a compiler moved out of a condition, for nothing: of that only
 * TEMPO_EMU=own tells. */
static bool unset(uint64_t off, unsigned size, int how, uint32_t since, int place) {
  uint8_t *s = W.state + off;
  for (unsigned i = 0; i < size; i++)
    if (s[i] == NONE) return false;
  if (!(how & 1)) {
    if (!emu_knob.fresh || !(since || emu_knob.own)) return true;
    emu_tell(EMU_LAUNCH_FAILED, place, "a read of %u bytes that were never written: %s", size,
        watch_where(W.base + off));
  }
  memset(s, SET, size);
  return true;
}

ALWAYS void *watched(char *p, unsigned size, int n, int place, int how, uint32_t since) {
  uint64_t off = (uint64_t)(p - W.base);
  if (__builtin_expect(off & (size * (unsigned)n - 1), 0))
    return wrong(EMU_MISALIGNED, p, (int)size * n, place,
        how & 1 ? "a misaligned write" : "a misaligned read");
  for (int i = 0; i < n; i++, off += size) {
    if (__builtin_expect(!all_set(W.state + off, size), 0) && !unset(off, size, how, since, place))
      return wrong(EMU_ILLEGAL_ADDRESS, W.base + off, (int)size, place,
          how & 1 ? "a write out of bounds" : "a read out of bounds");
    if (!since) continue;
    cell *c = &W.word[off / 4];
    if (size < 4) touch_bytes(off, (int)size, how, since, place);
    else
      for (unsigned k = 0; k < size; k += 4, c++) {
        if (__builtin_expect(c->wt == BYTEWISE, 0)) touch_bytes(off + k, 4, how, since, place);
        else touch(c, how, since, W.base + off + k, place);
      }
  }
  return p;
}

/* The same with a size that is a constant. */
ALWAYS void *sized(char *p, int size, int n, int place, int how, uint32_t since) {
  switch (size) {
  case 4: return watched(p, 4, n, place, how, since);
  case 8: return watched(p, 8, n, place, how, since);
  case 2: return watched(p, 2, n, place, how, since);
  default: return watched(p, 1, n, place, how, since);
  }
}

/* A pointer that is not of an allocation: generic ones may be of shared or a thread's own memory,
 * or of a table in the module. */
static void *elsewhere(char *p, int size, int n, int place, int how) {
  uint64_t off = (uint64_t)(p - W.base);
  if (off >= LOCAL_AT && off < LOW) return emu_calls.local(p, size, n, place, how);
  if (off >= SHARED_AT && off < LOCAL_AT) return emu_calls.shared(p, size, n, place, how);
  for (int i = 0; i < emu_now.module->ntables; i++) {
    const emu_table *t = &emu_now.module->tables[i];
    if (p >= t->at && p + size * n <= t->at + t->bytes) return p;
  }
  return wrong(EMU_ILLEGAL_ADDRESS, p, size * n, place,
      how & 1 ? "a write out of bounds" : "a read out of bounds");
}

#define ACCESS(name, how) \
  static void *name(char *p, int size, int n, int place) { \
    if (__builtin_expect((uint64_t)(p - W.base) - LOW >= W.span - LOW, 0)) \
      return elsewhere(p, size, n, place, how); \
    return sized(p, size, n, place, how, emu_now.launch); \
  }
ACCESS(on_load, EMU_LOAD)
ACCESS(on_store, EMU_STORE)
ACCESS(on_seen_load, EMU_SYNC_LOAD)
ACCESS(on_seen_store, EMU_SYNC_STORE)
static void *on_sync_load(char *p, int size, int n, int place) {
  if (T.n > 1) tell_others(p, false);
  return on_seen_load(p, size, n, place);
}
static void *on_sync_store(char *p, int size, int n, int place) {
  if (T.n > 1) tell_others(p, true);
  return on_seen_store(p, size, n, place);
}

static void *on_shared(char *p, int size, int n, int place, int how) {
  uint64_t off = (uint64_t)(p - W.base);
  if (off < SHARED_AT || off + (uint64_t)(size * n) > LOCAL_AT)
    return wrong(EMU_ILLEGAL_ADDRESS, p, size * n, place, "an access out of shared memory");
  return sized(p, size, n, place, how, emu_now.block);
}

static void *on_local(char *p, int size, int n, int place, int how) {
  char *own = emu_now.local + (uint64_t)(emu_now.who & 1023) * (uint64_t)emu_now.local_bytes;
  if (p < own || p + size * n > own + emu_now.local_bytes)
    return wrong(
        EMU_ILLEGAL_ADDRESS, p, size * n, place, "an access out of the thread's own memory");
  return sized(p, size, n, place, how, 0);
}

static void on_stuck(int place) {
  emu_tell(EMU_LAUNCH_TIMEOUT, place,
      "a loop that does not end: it may wait for what no other thread will do");
}
static void on_trap(int place) { emu_tell(EMU_LAUNCH_FAILED, place, "a trap"); }
static uint64_t on_clock(void) { return emu_now.warp; }
emu_api emu_calls = { 0, on_load, on_store, on_sync_load, on_sync_store, on_shared, on_local,
  on_stuck, on_trap, on_fence, on_clock };
