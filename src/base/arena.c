/* Memory. An arena is a growing list of chunks, zeroed. Under AddressSanitizer each request has a
 * chunk of its own, so that overruns are caught. */
#include "base/base.h"
#include "os/os.h"
#include <stdatomic.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define CHUNK_EXACT 1
#else
#define CHUNK_EXACT 0
#endif

/* ---- the heap; TEMPO_FAIL_ALLOC=n or tp_fail_alloc(n) fails a request ---- */

/* -2: environment not read; -1: met; 0: none is due */
static atomic_long left = -2;

bool tp_fail_alloc(long n) { return atomic_exchange(&left, n) == -1; }

#ifdef NDEBUG
static bool refused(void) { return false; }
#else
static bool refused(void) {
  if (atomic_load(&left) == -2) {
    const char *s = tp_setting("TEMPO_FAIL_ALLOC");
    atomic_store(&left, s ? atol(s) : 0);
  }
  if (atomic_load(&left) <= 0 || atomic_fetch_sub(&left, 1) != 1) return false;
  atomic_store(&left, -1);
  return true;
}
#endif

void *tp_alloc(size_t n) { return refused() ? NULL : malloc(n ? n : 1); }
void *tp_calloc(size_t n) { return refused() ? NULL : calloc(1, n ? n : 1); }
void *tp_realloc(void *p, size_t n) { return refused() ? NULL : realloc(p, n ? n : 1); }
void tp_free(void *p) { free(p); }

enum { PAGES_FROM = 1 << 20, HUGE_FROM = 4 << 20, HUGE_PAGE = 2 << 20 };

/* Whole huge pages: first touched 2 MiB at a time, not 4 KiB. */
static void *advised(void *p, size_t n) {
  uintptr_t lo = ((uintptr_t)p + HUGE_PAGE - 1) & -(uintptr_t)HUGE_PAGE,
            hi = ((uintptr_t)p + n) & -(uintptr_t)HUGE_PAGE;
  if (p && n >= HUGE_FROM) tp_os_huge((void *)lo, hi - lo);
  return p;
}

static void *aligned(size_t n) {
  return n > SIZE_MAX - 64 ? NULL : advised(tp_os_aligned(64, n ? (n + 63) & ~(size_t)63 : 64), n);
}

void *tp_alloc_aligned(size_t n) { return refused() ? NULL : aligned(n); }
void tp_free_aligned(void *p) { tp_os_aligned_free(p); }

/* ---- freed blocks wait for requests of their size: their pages exist, the latest maybe in a cache
 * ---- */

enum { WAITING = 16 };
typedef struct tp_block {
  void *p;
  size_t n;
} tp_block;
static tp_block waiting[WAITING]; /* the latest last */
static int nwaiting;
static size_t bytes_waiting;
static atomic_flag blocks_taken = ATOMIC_FLAG_INIT;

static void take_blocks(void) {
  while (atomic_flag_test_and_set_explicit(&blocks_taken, memory_order_acquire)) {}
}
static void leave_blocks(void) { atomic_flag_clear_explicit(&blocks_taken, memory_order_release); }

static void *remove_block(int i) {
  void *p = waiting[i].p;
  bytes_waiting -= waiting[i].n;
  memmove(waiting + i, waiting + i + 1, sizeof *waiting * (size_t)(--nwaiting - i));
  return p;
}

/* n 0: the oldest; NULL: none */
static void *waiting_block(size_t n) {
  void *p = NULL;
  take_blocks();
  int i = n ? nwaiting - 1 : 0;
  while (n && i >= 0 && waiting[i].n != n) i--;
  if (i >= 0 && i < nwaiting) p = remove_block(i);
  leave_blocks();
  return p;
}

static bool add_block(void *p, size_t n) {
  take_blocks();
  bool fits = nwaiting < WAITING && bytes_waiting + n <= TP_TUNE_BLOCKS_WAIT;
  if (fits) waiting[nwaiting++] = (tp_block){ p, n }, bytes_waiting += n;
  leave_blocks();
  return fits;
}

bool tp_blocks_drop(void) {
  bool any = false;
  for (void *p; (p = waiting_block(0)); any = true) tp_free_aligned(p);
  return any;
}

void *tp_block_alloc(size_t n) {
  if (refused()) return NULL;
  void *p = n < TP_TUNE_BLOCK_WAITS ? NULL : waiting_block(n);
  if (!p) p = aligned(n);
  return p || !tp_blocks_drop() ? p : aligned(n);
}

void tp_block_free(void *p, size_t n) {
  if (!p || CHUNK_EXACT || n < TP_TUNE_BLOCK_WAITS || n > TP_TUNE_BLOCKS_WAIT) {
    tp_free_aligned(p);
    return;
  }
#ifdef TP_HARD
  memset(p, 0xA5, n);
#endif
  while (!add_block(p, n)) tp_free_aligned(waiting_block(0));
}

void *tp_pages(size_t n) {
  if (n < TP_TUNE_ARENA_PAGES) return tp_alloc_aligned(n);
  void *p = refused() ? NULL : tp_os_pages(n);
  return p ? advised(p, n) : NULL;
}

void tp_pages_free(void *p, size_t n) {
  if (n < TP_TUNE_ARENA_PAGES) tp_free_aligned(p);
  else if (p) tp_os_pages_free(p, n);
}

typedef struct tp_chunk {
  struct tp_chunk *next;
  size_t cap, used;
  _Alignas(16) unsigned char data[];
} tp_chunk;

static _Thread_local tp_guard *guard;   /* the latest */
static _Thread_local tp_arena *scratch; /* the latest first */
static _Thread_local tp_hold *hold;     /* the latest first */

void tp_arena_init(tp_arena *a) { *a = (tp_arena){ 0 }; }

void tp_scratch_init(tp_arena *a) {
  *a = (tp_arena){ .scratch = true, .below = scratch };
  scratch = a;
}

static void forget(tp_arena *a) {
  tp_arena **at = &scratch;
  while (*at && *at != a) at = &(*at)->below;
  if (*at) *at = a->below;
}

void tp_arena_free(tp_arena *a) {
  if (a->scratch) forget(a);
  for (tp_chunk *k = a->top, *next; k; k = next) {
    next = k->next;
#ifdef TP_HARD
    memset(k->data, 0xA5, k->cap); /* dangling pointers read rubbish */
#endif
    tp_free(k);
  }
  tp_arena_init(a);
}

void tp_guard_set(tp_guard *g) {
  g->outer = guard;
  g->scratch = scratch;
  g->hold = hold;
  guard = g;
}

void tp_hold_set(tp_hold *h, void (*drop)(void *), void *what) {
  *h = (tp_hold){ drop, what, hold };
  hold = h;
}

void tp_hold_end(tp_hold *h) { hold = h->below; }

void tp_unguard(tp_guard *g) { guard = g->outer; }
tp_guard *tp_guard_now(void) { return guard; }
void tp_guard_back(tp_guard *g) { guard = g; }

_Noreturn void tp_oom(void) {
  tp_guard *g = guard;
  if (!g) abort();
  for (; hold && hold != g->hold; hold = hold->below) hold->drop(hold->what);
  while (scratch && scratch != g->scratch) tp_arena_free(scratch);
  guard = g->outer;
  longjmp(g->at, 1);
}

/* A new chunk. That of a large request goes below the top chunk, whose room stays in use. */
static tp_chunk *chunk_new(tp_arena *a, size_t n) {
  size_t usual = TP_MIN(TP_MAX(a->total, TP_TUNE_ARENA_FIRST), TP_TUNE_ARENA_CHUNK);
  bool own = CHUNK_EXACT || n > usual / 2;
  size_t cap = own ? n : usual;
  tp_chunk *k = n < SIZE_MAX / 2 ? tp_calloc(sizeof *k + cap) : NULL;
  if (!k) tp_oom();
  k->cap = cap;
  a->total += cap;
  tp_chunk **at = own && a->top ? &a->top->next : &a->top;
  k->next = *at;
  *at = k;
  return k;
}

void *tp_new_bytes(tp_arena *a, size_t n) {
  tp_chunk *k = a->top;
  if (n == 0) n = 1;
  if (!k || k->cap - k->used < n) k = chunk_new(a, n);
  void *p = k->data + k->used;
  k->used = TP_MIN((k->used + n + 15) & ~(size_t)15, k->cap);
  a->used += n;
  return p;
}

void *tp_dup(tp_arena *a, const void *p, size_t n) {
  void *q = tp_new_bytes(a, n);
  if (n) memcpy(q, p, n);
  return q;
}

char *tp_strdup(tp_arena *a, const char *s) { return tp_dup(a, s, strlen(s) + 1); }

char *tp_printf(tp_arena *a, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  char *s = tp_new_bytes(a, (size_t)TP_MAX(n, 0) + 1);
  va_start(ap, fmt);
  vsnprintf(s, (size_t)TP_MAX(n, 0) + 1, fmt, ap);
  va_end(ap);
  return s;
}

void tp_vec_grow(tp_arena *a, void **v, int n, int *cap, size_t size) {
  if (n < *cap) return;
  if (*cap > INT32_MAX / 2) tp_oom();
  int newcap = *cap ? *cap * 2 : 8;
  void *w = tp_new_bytes(a, (size_t)newcap * size);
  if (n) memcpy(w, *v, (size_t)n * size);
  *v = w;
  *cap = newcap;
}
