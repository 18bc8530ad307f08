/* file.c: keeps buffers in a file, under a limit of memory. They are parts of one unlinked, mapped
 * file, so operators use them like memory; the plan's SPILL and FETCH say which rows are unused for
 * long, and which are used soon. All space is taken before the first region runs: only then a full
 * disk is an error. */
#include "run/priv.h"
#include <stdlib.h>

enum { READ_AHEAD = 128 << 10 };

/* Under TEMPO_SPILL grains are finer than pages, so that small programs meet every edge. A fault
 * maps what is cached of the aligned 64 KiB around it: buffers begin at such places, and without
 * populating these are the grains. */
enum { FINE = 64, AROUND = 1 << 16 };
static bool fine(const tp_exec *x) { return x->plan->limit == TP_SPILL_ALL; }

void tp_spill_new(tp_exec *x) {
  x->mem->page = tp_os_page();
  x->mem->populates = !fine(x) && tp_os_populates();
  x->mem->grain = fine(x) ? FINE : x->mem->populates ? x->mem->page : TP_MAX(x->mem->page, AROUND);
}

int64_t tp_spill_space(const tp_exec *x, int64_t bytes) {
  return tp_round_up(bytes, fine(x) ? FINE : TP_MAX(x->mem->page, AROUND));
}

void tp_spill_close(tp_exec *x) {
  tp_os_map_free(&x->mem->file);
  tp_free(x->mem->touched);
  x->mem->touched = NULL;
}

bool tp_spill_open(tp_exec *x, int64_t bytes) {
  const char *dir = getenv("TMPDIR");
  if (!dir || !*dir) dir = tp_os_scratch();
  int why = tp_os_map_new(&x->mem->file, dir, bytes, AROUND);
  if (!why) return true;
  tp_spill_close(x);
  tp_fail(x->err, TP_E_FILE, TP_NOWHERE,
      "the limit of memory leaves %lld bytes to a file, for which there is no place in '%s': "
      "%s",
      (long long)bytes, dir, strerror(why));
  tp_note(x->err, "TMPDIR in the environment names another directory; it should be on a disk");
  return false;
}

static void unmap(tp_exec *x, int64_t from, int64_t to) {
  tp_store *m = x->mem;
  int64_t first = tp_round_up(from, m->page),
          last = to == m->file.size ? to : to / m->page * m->page;
  if (first < last) tp_os_advise(m->file.p + first, last - first, TP_OS_LEAVE);
  for (int64_t g = from / m->grain; m->touched && g * m->grain < to; g++) {
    m->ntouched -= m->touched[g];
    m->touched[g] = 0;
  }
}

static void leave_all(tp_exec *x, tp_spilled *s) {
  unmap(x, s->at, s->at + tp_spill_space(x, s->bytes));
  s->lo = s->hi = 0;
}

/* Unmaps rows [lo, hi) in whole grains, on the side where nothing is in use, without rows beyond
 * the other side. */
static void spill_leave(tp_exec *x, const tp_spilled *s, int64_t lo, int64_t hi, bool up) {
  int64_t g = x->mem->grain, end = s->at + s->bytes;
  for (int64_t o = 0; o < s->outer; o++) {
    int64_t from = s->at + (o * s->count + lo) * s->row, to = s->at + (o * s->count + hi) * s->row;
    if (up) from = from / g * g, to = to / g * g;
    else from = tp_round_up(from, g), to = tp_round_up(TP_MIN(to, end), g);
    unmap(x, from, to);
  }
}

/* Rows leave, are asked for (as much at a time as a system reads ahead), or are mapped to read or
 * write. */
typedef enum { LEAVE_UP, LEAVE_DOWN, ASK, MAP, MAKE } deed;

static void advise(tp_exec *x, const tp_spilled *s, int64_t lo, int64_t hi, deed what) {
  static const tp_os_advice advice[] = {
    [ASK] = TP_OS_ASK, [MAP] = TP_OS_READ, [MAKE] = TP_OS_WRITE
  };
  if (what != ASK && !x->mem->populates) return;
  for (int64_t o = 0; o < s->outer; o++) {
    int64_t from = (s->at + (o * s->count + lo) * s->row) / x->mem->page * x->mem->page,
            to = s->at + (o * s->count + hi) * s->row, most = what == ASK ? READ_AHEAD : to - from;
    for (; from < to; from += most)
      tp_os_advise(x->mem->file.p + from, TP_MIN(to - from, most), advice[what]);
  }
}

/* calls deeds for runs of rows, round a ring */
static void each_run(tp_exec *x, const tp_spilled *s, int64_t lo, int64_t hi, deed what) {
  hi = TP_MIN(hi, lo + s->count);
  while (lo < hi) {
    int64_t at = (lo % s->count + s->count) % s->count, n = TP_MIN(hi - lo, s->count - at);
    if (what <= LEAVE_DOWN) spill_leave(x, s, at, at + n, what == LEAVE_UP);
    else advise(x, s, at, at + n, what);
    lo += n;
  }
}

static int64_t row_inside(const tp_spilled *s, int64_t row) {
  return s->ring ? row : TP_MIN(TP_MAX(row, 0), s->count);
}

static bool rows_within(
    const tp_exec *x, const tp_inst *i, const tp_spilled *s, int64_t *lo, int64_t *hi) {
  int64_t from = tp_dx_get(&i->lo, x->env);
  *lo = row_inside(s, from);
  *hi = row_inside(s, from + tp_dx_get(&i->hi, x->env));
  return *lo < *hi;
}

void tp_run_spill(tp_exec *x, const tp_inst *i) {
  tp_spilled *s = &x->mem->spilled[i->var];
  int64_t lo, hi;
  if (!i->step) leave_all(x, s);
  if (!i->step || !rows_within(x, i, s, &lo, &hi)) return;
  if (s->lo == s->hi) {
    leave_all(x, s);
    s->lo = lo;
    s->hi = hi;
    s->ready = s->asked = i->step > 0 ? lo : hi;
  }
  s->lo = TP_MIN(s->lo, lo);
  s->hi = TP_MAX(s->hi, hi);
  if (i->step > 0 && lo - s->lo >= s->chunk) {
    each_run(x, s, s->lo, lo, LEAVE_UP);
    s->lo = lo;
  }
  if (i->step < 0 && s->hi - hi >= s->chunk) {
    each_run(x, s, hi, s->hi, LEAVE_DOWN);
    s->hi = hi;
  }
}

static void reach(tp_exec *x, const tp_spilled *s, int64_t *from, int64_t to, int step, deed what) {
  if (step > 0 ? to <= *from : to >= *from) return;
  each_run(x, s, TP_MIN(*from, to), TP_MAX(*from, to), what);
  *from = to;
}

/* Asks for the next buffer that is fetched as a whole. */
static void ask_next(tp_exec *x, const tp_inst *i) {
  int64_t lo, hi;
  while (++i < x->flow->inst + x->flow->ninst) {
    const tp_spilled *s = &x->mem->spilled[i->var];
    if (i->op != TP_I_FETCH || i->step || !s->chunk || s->way != i->way) continue;
    if (rows_within(x, i, s, &lo, &hi)) each_run(x, s, lo, hi, ASK);
    return;
  }
}

/* Keeps a chunk ahead mapped, and two more asked for. */
void tp_run_fetch(tp_exec *x, const tp_inst *i) {
  tp_spilled *s = &x->mem->spilled[i->var];
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
  for (int b = 0; b < x->plan->bufs.n && x->mem->file.p; b++)
    if (x->mem->spilled[b].chunk) leave_all(x, &x->mem->spilled[b]);
}

/* ---- poison: counts what is touched ---- */

bool tp_spill_poison(tp_exec *x) {
  x->mem->ntouched = x->mem->mosttouched = 0;
  if (!x->mem->file.p) return true;
  tp_free(x->mem->touched);
  x->mem->touched = tp_calloc((size_t)(x->mem->file.size / x->mem->grain + 1));
  memset(x->mem->file.p, 0xff, (size_t)x->mem->file.size);
  tp_spill_rest(x);
  return x->mem->touched || tp_no_memory(x->err, TP_NOWHERE);
}

int64_t tp_spill_most(const tp_exec *x) {
  return x->poison ? x->mem->mosttouched * x->mem->grain : x->mem->beside;
}

/* touches the window from p on, along axes from `axis` on */
static void touch_window(tp_exec *x, const tp_view *v, int axis, const char *p, int size) {
  int64_t lo = 0, hi = 0, g = x->mem->grain;
  for (int i = axis; i < v->rank; i++)
    *(v->stride[i] < 0 ? &lo : &hi) += (v->shape[i] - 1) * v->stride[i];
  if ((hi - lo + 1) * size > g && axis < v->rank) {
    for (int64_t k = 0; k < v->shape[axis]; k++)
      touch_window(x, v, axis + 1, p + k * v->stride[axis] * size, size);
    return;
  }
  int64_t from = p + lo * size - x->mem->file.p, to = p + (hi + 1) * size - x->mem->file.p;
  for (int64_t k = from / g; k <= (to - 1) / g; k++) {
    x->mem->ntouched += !x->mem->touched[k];
    x->mem->touched[k] = 1;
  }
  x->mem->mosttouched = TP_MAX(x->mem->mosttouched, x->mem->ntouched);
}

bool tp_spill_touch(tp_exec *x, const tp_dreg *r, const tp_dnd *d) {
  if (!x->mem->touched || !x->mem->spilled[d->buf].chunk) return true;
  touch_window(x, &d->v, 0, d->v.p, d->size);
  const char *name = x->plan->bufs.v[d->buf]->name;
  return tp_spill_most(x) <= x->mem->beside ||
      tp_rfail(x, r, TP_E_DEVICE,
          "internal: %lld bytes of the file are mapped with buffer %d (%s), %lld were said",
          (long long)tp_spill_most(x), d->buf, name ? name : "", (long long)x->mem->beside);
}
