/* places.c: where buffers of the arena lie on the device, and which lie in the host's memory
 * because the run needs more than `memory =` or the device allows.
 *
 *   h (100 MB) is made by a loop and read by one backwards, 64 MB are allowed
 *       =>    h lies in pinned memory of the host, which kernels reach over the bus
 *
 * A kernel does not know where a buffer lies, so bits stay, and nothing has to be copied ahead: a
 * row of h goes over the bus when the loop makes it, and once more when the loop backwards takes
 * it, among the accesses of all threads. Buffers that are touched least for their bytes go first;
 * at last those come back that fit. Where places of two memories are not of one kind (OpenCL) all
 * of the arena lies there, or nothing. */
#include "gpu/exec.h"

enum { FAR_LEAST = 1 << 12, FAR_TRIES = 64 };
#define FAR_BEGIN ((int64_t)1 << 60) /* places in the host's memory, until it is taken */

/* ---- places ---- */

static bool overlap(const tp_exec *x, int a, int b) {
  const int64_t *at = x->device->place;
  return at[a] >= 0 && at[b] >= 0 && at[a] < at[b] + tp_gpu_bytes(x, b) &&
      at[b] < at[a] + tp_gpu_bytes(x, a);
}

/* Threads and blocks of a loop or stretch are at different leaves, so lives of buffers in it do not
 * follow each other: those that share memory get places of their own, behind the others. */
static int64_t part_buffers(const tp_exec *x, const tp_kernel *k, int64_t end) {
  for (int i = 0; i < k->nbuf; i++)
    for (int j = 0; j < i; j++) {
      int a = k->buf[i], b = k->buf[j];
      if (!overlap(x, a, b) || !(k->written[i] || k->written[j])) continue;
      x->device->place[a] = end;
      end += tp_round_up(tp_gpu_bytes(x, a), 64);
    }
  return end;
}

static int64_t sums_of(const tp_exec *x, const tp_chosen *k) {
  int64_t sums = k->of->by_rows ? tp_gpu_sums(x, k->of) * k->blocks : 0;
  for (int q = 0; q < k->of->nparts; q++)
    if (k->of->part[q].sums) sums = TP_MAX(sums, tp_gpu_sums(x, &k->of->part[q]) * k->blocks);
  return sums;
}

int64_t tp_gpu_find_places(tp_exec *x) {
  tp_device *d = x->device;
  int64_t bytes = tp_arena_bytes(x), far = 0;
  bool any = false;
  for (int i = 0; i < x->plan->bufs.n; i++) d->place[i] = tp_arena_place(x, i), any |= d->far[i];
  if (any) bytes = tp_plan_color(x->plan, x->env, d->far, d->sizes, d->place);
  for (int i = 0; i < x->plan->bufs.n; i++) {
    if (!tp_gpu_is_there(x, x->plan->bufs.v[i])) d->place[i] = TP_GPU_MISSING;
    if (!d->far[i]) continue;
    d->place[i] = FAR_BEGIN + far;
    far += tp_round_up(tp_gpu_bytes(x, i), 64);
  }
  bytes = TP_MAX(tp_round_up(bytes, 64), 64);
  d->need.sums = 0, d->need.far = far;
  for (int i = 0; i < d->n + d->more.n; i++) {
    const tp_chosen *k = tp_gpu_kernel(d, i);
    if (!k->chosen) continue;
    if (k->of->loop || k->of->stretch || k->of->nparts) bytes = part_buffers(x, k->of, bytes);
    d->need.sums = TP_MAX(d->need.sums, sums_of(x, k));
  }
  d->need.arena = bytes;
  return bytes + d->need.sums + d->need.notes;
}

/* ---- what lies far ---- */

typedef struct {
  tp_exec *x;
  tp_arena a;
  int64_t *bytes;
  double *touched; /* by buffer: bytes in a call */
} far_choice;

static void count_touched(far_choice *c) {
  TP_EACH_NODE (k, c->x->plan->body) {
    int n = tp_node_windows(k.x);
    for (int i = 0; k.x->rg && i < n; i++) {
      int buf = tp_node_window(k.x, i)->buf;
      if (buf >= 0) c->touched[buf] += c->x->device->at[k.x->pos].bytes / n;
    }
  }
}

static bool may_be_far(const far_choice *c, int b) {
  const tp_device *d = c->x->device;
  bool all = c->x->plan->limit == TP_SPILL_ALL;
  return c->x->plan->bufs.v[b]->kind == TP_BUF_TEMP && !d->far[b] && d->place[b] != -1 &&
      c->bytes[b] >= (all ? 1 : FAR_LEAST);
}

/* The buffer to go: the one that is touched least for its bytes, the largest of several; -1. */
static int next_far(const far_choice *c) {
  int found = -1;
  for (int b = 0; b < c->x->plan->bufs.n; b++) {
    if (!may_be_far(c, b)) continue;
    double more = found < 0
        ? -1
        : c->touched[b] * (double)c->bytes[found] - c->touched[found] * (double)c->bytes[b];
    if (more < 0 || (more == 0 && c->bytes[b] > c->bytes[found])) found = b;
  }
  return found;
}

/* Buffers come back as long as the rest fits. */
static void come_back(far_choice *c, int64_t most) {
  tp_device *d = c->x->device;
  int tries = 0;
  for (int b = c->x->plan->bufs.n - 1; b >= 0 && tries < FAR_TRIES; b--) {
    if (!d->far[b]) continue;
    d->far[b] = false, tries++;
    if (tp_gpu_find_places(c->x) > most) d->far[b] = true;
  }
  tp_gpu_find_places(c->x);
}

static void choose_far(far_choice *c, int64_t most) {
  tp_device *d = c->x->device;
  int n = c->x->plan->bufs.n, b;
  c->touched = TP_NEWN(&c->a, double, n + 1);
  c->bytes = TP_NEWN(&c->a, int64_t, n + 1);
  for (int i = 0; i < n; i++) c->bytes[i] = tp_gpu_bytes(c->x, i);
  count_touched(c);
  if (d->all_far) return;
  if (c->x->plan->limit == TP_SPILL_ALL) {
    for (int i = 0; i < n; i++) d->far[i] = may_be_far(c, i);
    tp_gpu_find_places(c->x);
    return;
  }
  while (tp_gpu_find_places(c->x) > most && (b = next_far(c)) >= 0) d->far[b] = true;
  if (tp_gpu_find_places(c->x) <= most) come_back(c, most);
  else memset(d->far, 0, sizeof *d->far * (size_t)n), tp_gpu_find_places(c->x);
}

void tp_gpu_choose_far(tp_exec *x, int64_t most) {
  tp_device *d = x->device;
  bool all = x->plan->limit == TP_SPILL_ALL;
  far_choice c = { .x = x };
  memset(d->far, 0, sizeof *d->far * (size_t)x->plan->bufs.n);
  d->all_far = false, d->far_moved = 0;
  if (tp_gpu_find_places(x) <= most && !all) return;
  tp_scratch_init(&c.a);
  d->all_far = !d->driver->spec(d->dev)->pointers;
  choose_far(&c, most);
  for (int i = 0; i < x->plan->bufs.n; i++)
    if (d->far[i] || (d->all_far && tp_in_arena(x->plan->bufs.v[i]))) d->far_moved += c.touched[i];
  tp_arena_free(&c.a);
}

bool tp_gpu_take_far(tp_exec *x) {
  tp_device *d = x->device;
  if (!d->need.far) return true;
  if (d->far_bytes < d->need.far) {
    d->driver->drop(d->far_mem);
    d->far_bytes = 0;
    if (!(d->far_mem = d->driver->take(d->dev, d->need.far, TP_G_FAR, x->err))) return false;
    d->far_bytes = d->need.far;
  }
  int64_t apart = tp_gpu_apart(d->far_mem, d->arena);
  for (int i = 0; i < x->plan->bufs.n; i++)
    if (d->far[i]) d->place[i] += apart - FAR_BEGIN;
  return true;
}
