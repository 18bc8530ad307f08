/* pool.c: crews of threads; idle crews wait in a list for a run that wants as many threads.
 *
 * A job has a share for each thread, claimed once: by its thread, or by the caller when it has done
 * its own and that thread has not begun; so a busy processor delays only shares that it has begun.
 * Threads that meet must all run at once: such a job begins if all claim their shares while the
 * caller waits awake; else the caller works alone, and asks no threads for a while, because asking
 * costs time. A thread waits for a number (of the job, the meeting, threads at work) to change: it
 * looks for TP_TUNE_POOL_SPIN microseconds, then sleeps. Only waits for a job yield the processor:
 * on a busy one that costs a slice of time. The writer of a number wakes others if some sleep: it
 * writes, then reads how many sleep; a thread counts itself as asleep, then reads the number; so
 * one of the two sees the other. Threads block all signals, live as long as the process, and keep
 * their library loaded. A fork's child has none of them: its list is empty, and crews from before
 * are not its own. */
#include "base/pool.h"
#include "os/os.h"
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { LINE = 64, CREW_LOOKS = 64 }; /* between two at the clock */
/* threads are left alone for so many times a wait in vain */
enum { CREW_QUIET = 16 };
#define CREW_ALONE 1e-3 /* seconds without telling threads that came too late */
/* claimed: the latest job */
typedef struct {
  tp_crew *crew;
  int who;
  _Atomic unsigned claimed;
} crew_hand;
struct tp_crew {
  tp_crew *next;
  int n;
  unsigned of; /* its generation */
  tp_crewfn *fn;
  void *ud;
  _Atomic bool stopped;
  bool together;
  double quiet; /* until when threads are not asked */
  pthread_mutex_t lock;
  pthread_cond_t told;
  _Atomic unsigned asleep;
  _Alignas(LINE) _Atomic unsigned job;
  /* of a job with meetings: twice its number; + 1: the job is off */
  _Alignas(LINE) _Atomic unsigned gate;
  _Alignas(LINE) _Atomic unsigned meeting;
  _Alignas(LINE) _Atomic unsigned here; /* at the meeting */
  _Alignas(LINE) _Atomic unsigned working;
  _Alignas(LINE) crew_hand hand[];
};

static pthread_mutex_t crews_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t crews_once = PTHREAD_ONCE_INIT;
static tp_crew *crews;           /* idle */
static unsigned crew_generation; /* forks since the first process */

static void crews_before_fork(void) { pthread_mutex_lock(&crews_lock); }
static void crews_after_fork(void) { pthread_mutex_unlock(&crews_lock); }
static void crews_in_child(void) {
  crew_generation++;
  crews = NULL;
  pthread_mutex_unlock(&crews_lock);
}

static void crews_begin(void) {
  tp_os_at_fork(crews_before_fork, crews_after_fork, crews_in_child);
  tp_os_stay(&crews_once);
}

static inline void crew_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

bool tp_crew_stopped(const tp_crew *c) { return c->stopped; }

static void crew_sleep(tp_crew *c, const _Atomic unsigned *p, unsigned old, bool stops) {
  pthread_mutex_lock(&c->lock);
  c->asleep++;
  while (*p == old && !(stops && tp_crew_stopped(c))) pthread_cond_wait(&c->told, &c->lock);
  c->asleep--;
  pthread_mutex_unlock(&c->lock);
}

/* Waits until *p is not `old`, or (stops) the job stops. yields: nothing waits for this thread. */
static void crew_await(
    tp_crew *c, const _Atomic unsigned *p, unsigned old, bool stops, bool yields) {
  double until = 0;
  for (int i = 1;; i++) {
    if (*p != old || (stops && tp_crew_stopped(c))) return;
    crew_pause();
    if (i % CREW_LOOKS) continue;
    double now = tp_now();
    if (!until) until = now + TP_TUNE_POOL_SPIN * 1e-6;
    else if (now >= until) break;
    else if (yields) sched_yield();
  }
  crew_sleep(c, p, old, stops);
}

static void crew_tell(tp_crew *c) {
  if (!c->asleep) return;
  pthread_mutex_lock(&c->lock);
  pthread_cond_broadcast(&c->told);
  pthread_mutex_unlock(&c->lock);
}

static void crew_end(tp_crew *c) {
  if (!--c->working) crew_tell(c);
}

/* claims a share; false: it is taken, or the next job has come */
static bool crew_claim(crew_hand *h, unsigned job) {
  unsigned was = job - 1;
  return atomic_compare_exchange_strong(&h->claimed, &was, job);
}

static void crew_open(tp_crew *c, unsigned job, bool goes) {
  c->gate = 2 * job + !goes;
  crew_tell(c);
}

static bool crew_may_go(tp_crew *c, unsigned job) {
  unsigned g;
  while ((g = c->gate) != 2 * job && g != 2 * job + 1) crew_await(c, &c->gate, g, false, false);
  return g == 2 * job;
}

static void *crew_live(void *ud) {
  crew_hand *h = ud;
  tp_crew *c = h->crew;
  for (unsigned job = 0;;) {
    crew_await(c, &c->job, job, false, true);
    job = c->job;
    if (!crew_claim(h, job)) continue;
    if (!c->together || crew_may_go(c, job)) c->fn(c->ud, h->who);
    crew_end(c);
  }
  return NULL;
}

/* Waits for the others. */
static void crew_join(tp_crew *c) {
  for (unsigned left; (left = c->working);) crew_await(c, &c->working, left, false, false);
}

/* Claims and does shares that no thread has begun; fn NULL: drops them. Returns how many. */
static int crew_take_rest(tp_crew *c, unsigned job, tp_crewfn *fn, void *ud) {
  int taken = 0;
  for (int i = 1; i < c->n; i++) {
    if (!crew_claim(&c->hand[i], job)) continue;
    if (fn) fn(ud, i);
    crew_end(c);
    taken++;
  }
  return taken;
}

static bool crew_is_here(const tp_crew *c, unsigned job) {
  int i = 1;
  while (i < c->n && c->hand[i].claimed == job) i++;
  return i == c->n;
}

/* Waits awake for all threads, so that those that come have processors of their own. */
static bool crew_gather(tp_crew *c, unsigned job, double wait) {
  double until = tp_now() + wait;
  for (int i = 1; !crew_is_here(c, job); i++) {
    crew_pause();
    if (i % CREW_LOOKS == 0 && tp_now() >= until) return !crew_take_rest(c, job, NULL, NULL);
  }
  return true;
}

static bool crew_run_together(tp_crew *c, unsigned job, double wait) {
  crew_tell(c);
  bool here = crew_gather(c, job, wait);
  crew_open(c, job, here);
  if (here) c->fn(c->ud, 0);
  else c->quiet = tp_now() + CREW_QUIET * wait;
  return here;
}

/* Tells sleeping threads only if they came to the last job, or now and then. */
static void crew_run_shares(tp_crew *c, unsigned job) {
  if (c->asleep && tp_now() >= c->quiet) crew_tell(c);
  c->fn(c->ud, 0);
  if (crew_take_rest(c, job, c->fn, c->ud) == c->n - 1) c->quiet = tp_now() + CREW_ALONE;
}

bool tp_crew_is_ours(const tp_crew *c) { return c->of == crew_generation; }

bool tp_crew_run(tp_crew *c, tp_crewfn *fn, void *ud, double gather) {
  bool ran = true;
  c->together = gather > 0;
  if (c->together && gather < HUGE_VAL && tp_now() < c->quiet) return false;
  c->fn = fn;
  c->ud = ud;
  c->here = 0;
  c->stopped = false;
  c->working = (unsigned)c->n - 1;
  unsigned job = ++c->job;
  if (c->together) ran = crew_run_together(c, job, gather);
  else crew_run_shares(c, job);
  crew_join(c);
  return ran;
}

bool tp_crew_meet(tp_crew *c) {
  unsigned now = c->meeting;
  if (++c->here == (unsigned)c->n) {
    c->here = 0;
    c->meeting++;
    crew_tell(c);
  } else crew_await(c, &c->meeting, now, true, false);
  return c->meeting != now; /* even if one has stopped since */
}

void tp_crew_stop(tp_crew *c) {
  c->stopped = true;
  crew_tell(c);
}

/* On failure the threads that were made sleep on. */
static bool crew_begin(tp_crew *c) {
  bool ok = true;
  for (int i = 1; i < c->n && ok; i++) {
    c->hand[i] = (crew_hand){ c, i, 0 };
    ok = tp_os_thread(NULL, 0, crew_live, &c->hand[i]);
  }
  return ok;
}

static tp_crew *crew_new(int n) {
  tp_crew *c =
      tp_os_aligned(LINE, (sizeof *c + sizeof *c->hand * (size_t)n + LINE - 1) / LINE * LINE);
  if (!c) return NULL;
  memset(c, 0, sizeof *c);
  c->n = n;
  c->of = crew_generation;
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->told, NULL);
  return crew_begin(c) ? c : NULL;
}

static tp_crew *crew_of(int n) {
  tp_crew **at = &crews, *c;
  while (*at && (*at)->n != n) at = &(*at)->next;
  if ((c = *at)) *at = c->next;
  return c;
}

tp_crew *tp_crew_take(int n) {
  pthread_once(&crews_once, crews_begin);
  pthread_mutex_lock(&crews_lock);
  tp_crew *c = crew_of(n);
  pthread_mutex_unlock(&crews_lock);
  return c ? c : crew_new(n);
}

tp_crew *tp_crew_give(tp_crew *c) {
  if (!c || !tp_crew_is_ours(c)) return NULL;
  pthread_mutex_lock(&crews_lock);
  c->next = crews;
  crews = c;
  pthread_mutex_unlock(&crews_lock);
  return NULL;
}
