/* twins.c: the copies that arrays have on a device.
 *
 *   y = f(x); z = f(x); g(y)    =>    x is copied there once, and y stays there
 *
 * Each array that a run reads or makes has a twin, memory of the device that is kept as long as the
 * array. A later call of any function on that device copies the array only if it was written since
 * (tp_array.writes), or if it is open: then code outside may have written it. An output's elements
 * may be only in its twin (ahead) until the host reads them (tp_array_see).
 *
 * A store has the twins of a device, for all functions that were compiled for it; it is closed with
 * the last of these, and elements come to the host before. Where memory is short, twins go that no
 * run is bound to, the longest unused first. Memory of arrays that are gone serves others of that
 * size: taking and freeing it makes a device wait. One lock guards it all; queues of functions are
 * idle between their runs, so work on the store's own queue needs no other order. */
#include "gpu/exec.h"
#include <pthread.h>

enum { TWIN_SPARES = 64 };

struct tp_gstore {
  const tp_gdriver *driver;
  int which, users, nspare;
  tp_gdev *dev;
  tp_gqueue *queue;
  tp_gmark *mark; /* behind the latest move; NULL: there was none */
  tp_twin *first; /* the latest used */
  tp_gmem *spare[TWIN_SPARES];
  int64_t spare_bytes[TWIN_SPARES];
  tp_gstore *next;
};

static pthread_mutex_t twins_lock = PTHREAD_MUTEX_INITIALIZER;
static tp_gstore *stores;

/* ---- memory ---- */

static void drop_spare(tp_gstore *s, int i) {
  s->driver->drop(s->spare[i]);
  s->nspare--;
  memmove(&s->spare[i], &s->spare[i + 1], sizeof *s->spare * (size_t)(s->nspare - i));
  memmove(
      &s->spare_bytes[i], &s->spare_bytes[i + 1], sizeof *s->spare_bytes * (size_t)(s->nspare - i));
}

static void unlink_twin(tp_twin *t) {
  *t->at = t->next;
  if (t->next) t->next->at = t->at;
}

static void link_first(tp_twin *t) {
  tp_gstore *s = t->store;
  t->next = s->first, t->at = &s->first;
  if (t->next) t->next->at = &t->next;
  s->first = t;
}

static void free_twin(tp_twin *t) {
  tp_gstore *s = t->store;
  unlink_twin(t);
  if (s->nspare == TWIN_SPARES) drop_spare(s, 0);
  s->spare[s->nspare] = t->mem, s->spare_bytes[s->nspare++] = t->bytes;
  tp_free(t);
}

/* The array has no twin from now on. */
static void part_twin(tp_twin *t) {
  if (t->of) __atomic_store_n(&t->of->twin, NULL, __ATOMIC_RELEASE);
  t->of = NULL;
  if (!t->pins) free_twin(t);
}

static bool bring_twin(tp_twin *t, tp_error *err) {
  tp_gstore *s = t->store;
  if (!t->ahead) return true;
  if (!s->driver->get(s->queue, t->of->data, (tp_gplace){ t->mem, 0 }, t->bytes, err)) return false;
  t->ahead = false;
  if (t->count) t->count->copies++, t->count->bytes += t->bytes;
  return true;
}

/* Frees some memory; false: none is left that may go. */
static bool make_room(tp_gstore *s) {
  tp_twin *last = NULL;
  tp_error unused = { 0 };
  if (!s->nspare) {
    for (tp_twin *t = s->first; t; t = t->next)
      if (!t->pins) last = t;
    if (!last || !bring_twin(last, &unused)) return false;
    part_twin(last);
  }
  while (s->nspare) drop_spare(s, 0);
  return true;
}

static tp_gmem *take_twin(tp_gstore *s, int64_t bytes, tp_error *err) {
  for (int i = s->nspare - 1; i >= 0; i--)
    if (s->spare_bytes[i] == bytes) {
      tp_gmem *m = s->spare[i];
      s->spare[i] = NULL;
      drop_spare(s, i);
      return m;
    }
  for (;;) {
    tp_error why = { 0 };
    tp_gmem *m = s->driver->take(s->dev, bytes, TP_G_NEAR, &why);
    if (m) return m;
    if (why.code != TP_E_MEMORY || !make_room(s)) return *err = why, NULL;
  }
}

/* ---- what runs ask for ---- */

static tp_twin *make_twin(tp_gstore *s, tp_array *a, tp_error *err) {
  tp_twin *t = tp_calloc(sizeof *t);
  int64_t bytes = (int64_t)tp_array_bytes(a);
  if (!t) return tp_no_memory(err, TP_NOWHERE), NULL;
  if (!(t->mem = take_twin(s, bytes, err))) return tp_free(t), NULL;
  t->of = a, t->store = s, t->bytes = bytes, t->seen = UINT64_MAX;
  link_first(t);
  __atomic_store_n(&a->twin, t, __ATOMIC_RELEASE);
  return t;
}

/* The array's twin, if it is in this store. */
static tp_twin *find_twin(tp_gstore *s, tp_array *a, tp_error *err) {
  tp_twin *t = a->twin;
  if (!t) return NULL;
  if (t->store == s) return unlink_twin(t), link_first(t), t;
  if (bring_twin(t, err)) part_twin(t);
  return NULL;
}

tp_twin *tp_gpu_twin(tp_gstore *s, tp_array *a, bool make, tp_error *err) {
  pthread_mutex_lock(&twins_lock);
  tp_twin *t = find_twin(s, a, err);
  if (!t && make && !a->twin) t = make_twin(s, a, err);
  if (t) t->pins++;
  pthread_mutex_unlock(&twins_lock);
  return t;
}

void tp_gpu_rest(tp_twin *t) {
  if (!t) return;
  pthread_mutex_lock(&twins_lock);
  if (!--t->pins && !t->of) free_twin(t);
  pthread_mutex_unlock(&twins_lock);
}

bool tp_gpu_twin_is_new(const tp_twin *t) {
  return t->ahead || (t->seen != UINT64_MAX && t->seen == tp_array_written(t->of));
}

void tp_gpu_twin_has(tp_twin *t, bool has, bool ahead, tp_gcount *count) {
  t->seen = has && t->of ? tp_array_written(t->of) : UINT64_MAX;
  t->ahead = ahead && t->of;
  t->count = count;
}

int64_t tp_gpu_spare(const tp_gstore *s) {
  int64_t n = 0;
  pthread_mutex_lock(&twins_lock);
  for (int i = 0; i < s->nspare; i++) n += s->spare_bytes[i];
  for (const tp_twin *t = s->first; t; t = t->next) n += t->pins ? 0 : t->bytes;
  pthread_mutex_unlock(&twins_lock);
  return n;
}

bool tp_gpu_after_moves(const tp_gstore *s, tp_gqueue *q, tp_error *err) {
  pthread_mutex_lock(&twins_lock);
  bool ok = !s->mark || s->driver->after(q, s->mark, err);
  pthread_mutex_unlock(&twins_lock);
  return ok;
}

/* ---- what arrays ask for ---- */

static bool twins_bring(tp_array *a, tp_error *err) {
  pthread_mutex_lock(&twins_lock);
  bool ok = !a->twin || bring_twin(a->twin, err);
  pthread_mutex_unlock(&twins_lock);
  return ok;
}

static void twins_drop(tp_array *a) {
  pthread_mutex_lock(&twins_lock);
  if (a->twin) part_twin(a->twin);
  pthread_mutex_unlock(&twins_lock);
}

static bool move_pieces(tp_gstore *s, const tp_pieces *p, const tp_twin *from, tp_error *err) {
  tp_twin *to = find_twin(s, p->to, err);
  if (!to && !(to = make_twin(s, p->to, err))) return false;
  if (!tp_gpu_twin_is_new(to) &&
      !s->driver->put(s->queue, (tp_gplace){ to->mem, 0 }, p->to->data, to->bytes, err))
    return false;
  if (!s->driver->lines(s->queue, (tp_gplace){ to->mem, p->to_at }, p->to_step,
          (tp_gplace){ from->mem, p->from_at }, p->from_step, p->bytes, p->n, err) ||
      !(s->mark = s->driver->mark(s->queue, s->mark, err)))
    return false;
  to->seen = ++p->to->writes;
  return to->ahead = true;
}

/* The array that is written must own its elements: views of them look at the host's. Where there is
 * no room for its twin the host moves the pieces. */
static bool twins_move(const tp_pieces *p, bool *did, tp_error *err) {
  pthread_mutex_lock(&twins_lock);
  tp_twin *from = p->from->twin;
  tp_error why = { 0 };
  *did = from && tp_gpu_twin_is_new(from) && !p->to->base && tp_array_written(p->to) != UINT64_MAX;
  bool ok = !*did || (from->pins++, move_pieces(from->store, p, from, &why));
  if (*did) from->pins--;
  if (!ok && why.code == TP_E_MEMORY) *did = false, ok = true;
  if (!ok) *err = why;
  pthread_mutex_unlock(&twins_lock);
  return ok;
}

/* ---- stores ---- */

tp_gstore *tp_gpu_store(const tp_gdriver *driver, int which, tp_error *err) {
  pthread_mutex_lock(&twins_lock);
  tp_gstore *s = stores;
  while (s && (s->driver != driver || s->which != which || driver->lost(s->dev))) s = s->next;
  if (!s && !(s = tp_calloc(sizeof *s))) tp_no_memory(err, TP_NOWHERE);
  else if (!s->dev) {
    *s = (tp_gstore){ .driver = driver, .which = which, .dev = driver->open(which, err) };
    if (!s->dev || !(s->queue = driver->queue(s->dev, err))) {
      driver->close(s->dev);
      tp_free(s);
      s = NULL;
    } else s->next = stores, stores = s;
  }
  if (s) s->users++;
  tp_twin_deeds = (struct tp_twin_deeds){ twins_bring, twins_move, twins_drop };
  pthread_mutex_unlock(&twins_lock);
  return s;
}

bool tp_gpu_store_is_lost(const tp_gstore *s) { return s->driver->lost(s->dev); }

/* Elements that a device took along become NaN, -1 or false. */
static void close_store(tp_gstore *s) {
  tp_error unused = { 0 };
  tp_gstore **at = &stores;
  for (tp_twin *t; (t = s->first); part_twin(t)) {
    if (!bring_twin(t, &unused)) {
      memset(t->of->data, t->of->dtype == TP_BOOL ? 0 : 0xff, (size_t)t->bytes);
      t->ahead = false;
    }
    t->pins = 0;
  }
  while (*at != s) at = &(*at)->next;
  *at = s->next;
  s->driver->close(s->dev);
  tp_free(s);
}

void tp_gpu_leave(tp_gstore *s, const tp_gcount *count) {
  if (!s) return;
  pthread_mutex_lock(&twins_lock);
  for (tp_twin *t = s->first; t; t = t->next)
    if (t->count == count) t->count = NULL;
  if (!--s->users) close_store(s);
  pthread_mutex_unlock(&twins_lock);
}
