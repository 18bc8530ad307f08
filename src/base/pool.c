/* pool.c: crews of threads. A crew that nobody has waits in a list for the next one who wants as many.
 *
 * What is waited for is a number that changes: that of the job, of the meeting, of those who still work. Who waits looks at it for TP_TUNE_POOL_SPIN microseconds, giving the
 * processor to others again and again, and then sleeps until it is told. Who changes a number tells only if somebody sleeps: it writes the number, then reads how many sleep; who
 * goes to sleep counts itself, then reads the number. So one of the two sees the other.
 * Threads block all signals, live as long as the process, and keep the library that they run in from being unloaded. After a fork the child has none of them: its list is empty,
 * and who has one from before has to ask for another. */
#include "base/pool.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

enum { LINE = 64, CREW_LOOKS = 64 };                 /* looks between two at the clock */
typedef struct { tp_crew *crew; int who; } crew_hand;
struct tp_crew {
  tp_crew *next;                                /* in the list */
  int n;
  unsigned of;                                  /* the generation that it was made in */
  tp_crewfn *fn; void *ud;
  bool stopped;
  pthread_mutex_t lock; pthread_cond_t told;
  unsigned asleep;
  _Alignas(LINE) unsigned job;
  _Alignas(LINE) unsigned meeting;
  _Alignas(LINE) unsigned here;                      /* at the meeting */
  _Alignas(LINE) unsigned working;
  _Alignas(LINE) crew_hand hand[];
};

static pthread_mutex_t crews_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t crews_once = PTHREAD_ONCE_INIT;
static tp_crew *crews;                          /* that nobody has */
static unsigned crew_generation;                /* forks that this process is away from the first */

static void crews_before_fork(void) { pthread_mutex_lock(&crews_lock); }
static void crews_after_fork(void) { pthread_mutex_unlock(&crews_lock); }
static void crews_in_child(void) {
  crew_generation++;
  crews = NULL;
  pthread_mutex_unlock(&crews_lock);
}

static void crews_begin(void) {
  Dl_info here;
  pthread_atfork(crews_before_fork, crews_after_fork, crews_in_child);
  if (dladdr((void *)crews_begin, &here) && here.dli_fname) dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- waiting ---- */

static inline unsigned crew_read(const unsigned *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }

static inline void crew_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static bool crew_is_stopped(const tp_crew *c) { return __atomic_load_n(&c->stopped, __ATOMIC_ACQUIRE); }

static void crew_sleep(tp_crew *c, const unsigned *p, unsigned old, bool stops) {
  pthread_mutex_lock(&c->lock);
  __atomic_add_fetch(&c->asleep, 1, __ATOMIC_SEQ_CST);
  while (crew_read(p) == old && !(stops && crew_is_stopped(c))) pthread_cond_wait(&c->told, &c->lock);
  __atomic_sub_fetch(&c->asleep, 1, __ATOMIC_SEQ_CST);
  pthread_mutex_unlock(&c->lock);
}

/* Until *p is not `old`; stops: or the job is stopped. */
static void crew_await(tp_crew *c, const unsigned *p, unsigned old, bool stops) {
  double until = 0;
  for (int i = 1;; i++) {
    if (crew_read(p) != old || (stops && crew_is_stopped(c))) return;
    crew_pause();
    if (i % CREW_LOOKS) continue;
    double now = tp_now();
    if (!until) until = now + TP_TUNE_POOL_SPIN * 1e-6;
    else if (now >= until) break;
    else sched_yield();
  }
  crew_sleep(c, p, old, stops);
}

static void crew_tell(tp_crew *c) {
  if (!crew_read(&c->asleep)) return;
  pthread_mutex_lock(&c->lock);
  pthread_cond_broadcast(&c->told);
  pthread_mutex_unlock(&c->lock);
}

/* ---- working ---- */

static void crew_end(tp_crew *c) {
  if (!__atomic_sub_fetch(&c->working, 1, __ATOMIC_SEQ_CST)) crew_tell(c);
}

static void *crew_live(void *ud) {
  crew_hand *h = ud;
  tp_crew *c = h->crew;
  for (unsigned seen = 0;; seen++) {
    crew_await(c, &c->job, seen, false);
    c->fn(c->ud, h->who);
    crew_end(c);
  }
  return NULL;
}

/* Those of the others who are left when the last has ended: caller's part of the job. */
static void crew_join(tp_crew *c) {
  for (unsigned left; (left = crew_read(&c->working));) crew_await(c, &c->working, left, false);
}

bool tp_crew_is_ours(const tp_crew *c) { return c->of == crew_generation; }

void tp_crew_run(tp_crew *c, tp_crewfn *fn, void *ud) {
  c->fn = fn;
  c->ud = ud;
  c->here = 0;
  __atomic_store_n(&c->stopped, false, __ATOMIC_RELEASE);
  __atomic_store_n(&c->working, (unsigned)c->n - 1, __ATOMIC_SEQ_CST);
  __atomic_add_fetch(&c->job, 1, __ATOMIC_SEQ_CST);
  crew_tell(c);
  fn(ud, 0);
  crew_join(c);
}

bool tp_crew_meet(tp_crew *c) {
  unsigned now = crew_read(&c->meeting);
  if (__atomic_add_fetch(&c->here, 1, __ATOMIC_SEQ_CST) == (unsigned)c->n) {
    __atomic_store_n(&c->here, 0, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&c->meeting, 1, __ATOMIC_SEQ_CST);
    crew_tell(c);
  } else crew_await(c, &c->meeting, now, true);
  return crew_read(&c->meeting) != now;         /* also where somebody has stopped since */
}

void tp_crew_stop(tp_crew *c) {
  __atomic_store_n(&c->stopped, true, __ATOMIC_SEQ_CST);
  crew_tell(c);
}

const bool *tp_crew_stopped(const tp_crew *c) { return &c->stopped; }

/* ---- making ---- */

/* Threads that were made, if not all were, sleep on. */
static bool crew_begin(tp_crew *c) {
  sigset_t all, was;
  pthread_attr_t how;
  bool ok = !pthread_attr_init(&how);
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &was);
  for (int i = 1; i < c->n && ok; i++) {
    pthread_t t;
    c->hand[i] = (crew_hand){ c, i };
    ok = !pthread_create(&t, &how, crew_live, &c->hand[i]);
  }
  pthread_sigmask(SIG_SETMASK, &was, NULL);
  pthread_attr_destroy(&how);
  return ok;
}

static tp_crew *crew_new(int n) {
  tp_crew *c = aligned_alloc(LINE, (sizeof *c + sizeof *c->hand * (size_t)n + LINE - 1) / LINE * LINE);
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
