/* beside: compiles a function in another thread. Its program is its own (compile.c), so the threads
 * share only the struct below and the constants' arrays. */
#include "rt/fn.h"
#include "os/os.h"

/* ok, err: valid once `over` is set */
struct tp_beside {
  tp_fn *f;
  int64_t owner;
  pthread_t thread;
  bool over, stop, ok;
  tp_error err;
};

static bool is_stopped(void *b) {
  return __atomic_load_n(&((tp_beside *)b)->stop, __ATOMIC_RELAXED);
}

static void *compile_it(void *arg) {
  tp_beside *b = arg;
  tp_ictx_watch(b->f->program->ix, is_stopped, b);
  b->ok = tp_pipeline(b->f, &b->err);
  __atomic_store_n(&b->over, true, __ATOMIC_RELEASE);
  return NULL;
}

/* Starts the thread, with as much stack as a main thread has; signals go to the host's threads. */
static bool thread_new(tp_beside *b) {
  enum { STACK = 8 << 20 };
  return tp_os_thread(&b->thread, STACK, compile_it, b);
}

bool tp_compile_beside(tp_fn *f) {
  tp_beside *b = f->beside = tp_calloc(sizeof *b);
  if (!b) return false;
  *b = (tp_beside){ .f = f, .owner = tp_os_process() };
  if (thread_new(b)) return true;
  tp_free(b);
  f->beside = NULL;
  return false;
}

bool tp_fn_ready(const tp_fn *f) {
  return !f->beside || __atomic_load_n(&f->beside->over, __ATOMIC_ACQUIRE);
}

/* Ends the thread, which does not exist in the child of a fork. */
void tp_beside_free(tp_fn *f) {
  tp_beside *b = f->beside;
  if (!b || b->owner != tp_os_process()) return;
  __atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
  pthread_join(b->thread, NULL);
  tp_free(b);
  f->beside = NULL;
}

bool tp_fn_wait(tp_fn *f, bool (*interrupted)(void *host), void *host, tp_error *err) {
  tp_beside *b = f->beside;
  while (!tp_fn_ready(f)) {
    if (b->owner != tp_os_process())
      return tp_fail(err, TP_E_OPTION, f->pos,
          "this function was being compiled when the process forked: only its parent has it");
    if (interrupted && interrupted(host))
      return tp_fail(err, TP_E_CALLBACK, f->pos, "the host has ended the wait");
    tp_os_sleep(1e-3);
  }
  if (b && b->ok) tp_beside_free(f);
  else if (b) *err = b->err;
  return !f->beside;
}
