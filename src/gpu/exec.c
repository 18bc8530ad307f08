/* exec.c: runs a plan on a device, beside the interpreter.
 *
 * The run goes through the plan as on the host (run/flow.c). At a loop that was chosen as
 * a kernel, or at a leaf that is one, it puts a launch on the queue and goes on; other leaves run
 * on the host. Each buffer is, whole, in the host's memory, in the device's, or in both; it is
 * copied when one side needs what the other has made (see, reach). Buffers of the arena have the
 * same places on both sides, but for those of loops and stretches (part_buffers). A copy of a
 * buffer whose values are dead writes over no live one: buffers share places only where their lives
 * do not meet (plan/color.c).
 *
 * Kernels note the first fault (emit.h). When the host next waits it finds the note, and makes the
 * error by running that leaf itself at that point. */
#include "gpu/exec.h"
#include <stdlib.h>

enum { MOST_BLOCKS = 16 }; /* of a launch, for each multiprocessor */

/* ---- memory ---- */

static bool take(tp_exec *x, tp_gmem **m, int64_t *has, int64_t bytes, tp_gside side) {
  tp_device *d = x->device;
  if (*m && *has >= bytes) return true;
  d->driver->drop(*m);
  *m = d->driver->take(d->dev, bytes, side, x->err);
  *has = *m ? bytes : 0;
  return *m != NULL;
}

/* Numbers of a note of a fault; where those of blocks begin, behind the count of meetings and ends;
 * of all notes. */
static int note_size(const tp_exec *x) { return 1 + x->plan->nsym; }
static int blocks_at(const tp_exec *x) { return tp_gpu_ends_at(x) + x->plan->nsym; }
static int notes_of(const tp_exec *x) { return blocks_at(x) + note_size(x) * x->device->noting; }

static bool forget_faults(tp_exec *x) {
  tp_device *d = x->device;
  int64_t one = sizeof *d->note, failed = one * tp_gpu_failed_at(x);
  return d->driver->fill(d->queue, (tp_gplace){ d->notes, 0 }, 0, one * note_size(x), x->err) &&
      d->driver->fill(d->queue, (tp_gplace){ d->notes, failed }, 0,
          one * (notes_of(x) - tp_gpu_failed_at(x)), x->err);
}

/* No fault, and where buffers lie. */
static bool put_notes(tp_exec *x) {
  tp_device *d = x->device;
  int64_t one = sizeof *d->note, n = one * x->plan->bufs.n;
  bool noted = d->notes && !memcmp(d->noted, d->place, (size_t)n);
  if (!take(x, &d->notes, &d->notes_bytes, one * notes_of(x), TP_G_NEAR) || !forget_faults(x))
    return false;
  if (n) memcpy(d->noted, d->place, (size_t)n);
  return noted ||
      d->driver->put(d->queue, (tp_gplace){ d->notes, one * note_size(x) }, d->place, n, x->err);
}

/* Kernels may read, but do not use, values that an end leaves out or that stand behind a fault:
 * they find zeros there and not memory that was never written. */
static bool take_arena(tp_exec *x) {
  tp_device *d = x->device;
  bool fills = x->plan->ends.n > 0;
  for (int i = 0; i < x->nreg; i++) fills |= x->reg[i]->rg->check;
  if (d->is_far != d->all_far) d->driver->drop(d->arena), d->arena = NULL;
  d->is_far = d->all_far;
  int64_t was = d->arena ? d->arena_bytes : 0;
  return take(x, &d->arena, &d->arena_bytes, d->need.arena, d->all_far ? TP_G_FAR : TP_G_NEAR) &&
      (!fills || d->arena_bytes == was ||
          d->driver->fill(d->queue, (tp_gplace){ d->arena, 0 }, 0, d->need.arena, x->err));
}

static void rest_twins(tp_exec *x) {
  tp_device *d = x->device;
  for (int i = 0; d->twin && i < x->plan->bufs.n; i++) {
    if (d->twin[i]) d->where[i] = TP_IN_HOST;
    tp_gpu_rest(d->twin[i]);
    d->twin[i] = NULL;
  }
}

/* Says where values are, and takes memory for the arena and for buffers outside of it, unless all
 * of the run is the host's. */
static bool place_buffers(tp_exec *x) {
  tp_device *d = x->device;
  rest_twins(x);
  for (int i = 0; i < x->plan->bufs.n; i++) {
    const tp_pbuf *b = x->plan->bufs.v[i];
    bool there = tp_gpu_is_there(x, b);
    d->where[i] = there && !tp_in_arena(b) ? TP_IN_HOST : 0;
  }
  if (x->poison || tp_arena_spills(x)) return true;
  d->need.notes = (int64_t)sizeof *d->note * notes_of(x);
  if (!tp_gpu_bind(x, false) || !tp_gpu_find_room(x) || !take_arena(x) ||
      (d->need.sums && !take(x, &d->sums, &d->sums_bytes, d->need.sums, TP_G_NEAR)) ||
      !tp_gpu_take_far(x))
    return false;
  return tp_gpu_after_moves(d->store, d->queue, x->err) && tp_gpu_bind(x, true) && put_notes(x);
}

/* ---- faults ---- */

static const tp_pnode *node_at(const tp_exec *x, int64_t pos) {
  TP_EACH_NODE (k, x->plan->body)
    if (k.x->rg && k.x->pos == pos) return k.x;
  return NULL;
}

/* Loops around both leaves decide, from outside inwards: below 0 if a was there first. */
static int64_t order_of(
    const tp_pnode *q, const tp_pnode *other, const int64_t *a, const int64_t *b) {
  if (!q) return 0;
  int64_t before = order_of(q->up, other, a, b);
  if (before || q->kind != TP_P_FOR || !tp_gpu_is_around(q, other)) return before;
  return (a[1 + q->var->id] - b[1 + q->var->id]) * q->step;
}

static bool is_earlier(const tp_exec *x, const int64_t *a, const int64_t *b) {
  int64_t before = b ? order_of(node_at(x, a[0] - 1), node_at(x, b[0] - 1), a, b) : -1;
  return before ? before < 0 : a[0] < b[0];
}

/* The leaf at which the first note was made runs on the host, at that point, and says what is
 * wrong. */
static bool tell_fault(tp_exec *x) {
  tp_device *d = x->device;
  const int64_t *first = NULL, *note = d->note;
  for (int i = 0; i <= d->noting; i++) {
    if (note[0] && is_earlier(x, note, first)) first = note;
    note = d->note + blocks_at(x) + i * note_size(x);
  }
  tp_dreg *r = x->regat[first[0] - 1];
  for (int i = 0; i < x->plan->nsym; i++)
    if (tp_sym_at(x->plan->ix, i)->kind != TP_SYM_BOUND) x->env[i] = first[1 + i];
  d->failing = true;
  x->ended = x->torn = r->pos;
  if (tp_dreg_here(x, r))
    tp_rfail(x, r, TP_E_DEVICE, "the device found a point without a value here, the host none");
  d->failing = false;
  return false;
}

static bool calls(tp_exec *x, bool all);

/* Waits for the queue and looks for a fault; before one is told, calls that wait are made. */
static bool look(tp_exec *x) {
  tp_device *d = x->device;
  int failed = tp_gpu_failed_at(x);
  int64_t one = sizeof *d->note;
  if (!d->doubtful) return true;
  d->doubtful = false;
  if (!d->driver->get(
          d->queue, d->note + failed, (tp_gplace){ d->notes, one * failed }, one, x->err))
    return false;
  if (!d->note[failed]) return true;
  return d->driver->get(d->queue, d->note, (tp_gplace){ d->notes, 0 }, one * notes_of(x), x->err) &&
      calls(x, true) && forget_faults(x) && tell_fault(x);
}

static bool calls(tp_exec *x, bool all) {
  bool fault = false;
  return tp_gpu_late_run(x, all, &fault) && (!fault || look(x));
}

/* ---- copies ---- */

static bool see(tp_exec *x, int buf, bool writes) {
  tp_device *d = x->device;
  tp_twin *t = d->twin[buf];
  int64_t n = t ? t->bytes : tp_gpu_bytes(x, buf);
  if (!(d->where[buf] & TP_IN_HOST) && d->where[buf] && n) {
    if (!d->failing && !look(x)) return false;
    if (!d->driver->get(d->queue, x->base[buf], tp_gpu_place(x, buf), n, x->err)) return false;
    d->count.copies++;
    d->count.bytes += n;
    d->where[buf] |= TP_IN_HOST;
    if (t) t->ahead = false;
  }
  if (writes) d->where[buf] = TP_IN_HOST;
  if (writes && t) tp_gpu_twin_has(t, false, false, NULL);
  return true;
}

/* ---- launches ---- */

/* At most how many points a leaf has. */
static int64_t points_of(const tp_exec *x, const tp_dreg *r) {
  int64_t leads = 1, own = 1;
  for (int i = 0; i < r->nlead; i++)
    leads = tp_times_bytes(leads, TP_MAX(tp_dx_get(&r->lead[i], x->env), 0));
  for (const tp_dnd *w = r->in; w < r->in + r->nnd && r->rg->kind != TP_RG_LOOP; w++) {
    int64_t n = 1;
    for (int i = r->nlead; i < w->rank; i++)
      n = tp_times_bytes(n, TP_MAX(tp_dx_get(&w->shape[i], x->env), 0));
    own = TP_MAX(own, n);
  }
  return tp_times_bytes(leads, own);
}

/* At most how many points a leaf in it has. */
static int64_t most_points(const tp_exec *x, const tp_kernel *of) {
  int64_t most = 1;
  for (int i = 0; i < of->n; i++)
    TP_EACH_NODE (k, of->all[i])
      if (k.x->rg) most = TP_MAX(most, points_of(x, x->regat[k.x->pos]));
  return most;
}

/* Points of as many blocks as a part can use. */
static int64_t points_in_parts(const tp_exec *x, const tp_kernel *of) {
  int64_t most = 1;
  for (const tp_kernel *k = of->part; k < of->part + of->nparts; k++)
    if (k->by_rows)
      most = TP_MAX(most, tp_ix_evalq(k->rows->share.whole, x->env) * TP_KERNEL_THREADS);
    else if (!k->one) most = TP_MAX(most, most_points(x, k));
  return most;
}

static int last_of(const tp_kernel *of) { return of->all[of->n - 1]->lastpos; }

static bool launch(tp_exec *x, tp_chosen *k, int64_t points, int64_t from, int64_t end) {
  tp_device *d = x->device;
  const tp_kernel *of = k->of;
  int n = 0, nnum = 0;
  tp_gplace place[3 + of->nbuf];
  int64_t num[3 + of->nsym], most = (int64_t)d->driver->spec(d->dev)->units * MOST_BLOCKS;
  if (of->nparts) most = TP_MIN(most, k->blocks);
  int64_t blocks = of->by_rows ? k->blocks : (points + TP_KERNEL_THREADS - 1) / TP_KERNEL_THREADS;
  place[n++] = (tp_gplace){ d->notes, 0 };
  place[n++] = (tp_gplace){ d->arena, 0 };
  for (int i = 0; i < of->nbuf; i++) {
    if (!tp_gpu_reach(x, of->buf[i], of->written[i])) return false;
    if (tp_kernel_takes(x->plan, of, i)) place[n++] = tp_gpu_place(x, of->buf[i]);
  }
  num[nnum++] = (int64_t)x->run->seed, num[nnum++] = from, num[nnum++] = end;
  for (int i = 0; i < of->nsym; i++) num[nnum++] = x->env[of->sym[i]];
  if (of->adds) place[n++] = (tp_gplace){ d->sums, 0 };
  if (!tp_gpu_tell_ends(x)) return false;
  for (int i = of->node->pos; i <= last_of(of); i++) {
    const tp_dreg *r = x->regat[i];
    if (r && r->rg->kind == TP_RG_PINIT) x->begun[r->out[0].buf] = true;
  }
  d->doubtful = true;
  d->launches++;
  k->launches++;
  return d->driver->launch(d->queue,
             &(tp_glaunch){ .kernel = k->fn,
                 .blocks = of->one && !of->by_rows ? 1 : (int)TP_MAX(TP_MIN(blocks, most), 1),
                 .threads = TP_KERNEL_THREADS,
                 .nplace = n,
                 .place = place,
                 .nnum = nnum,
                 .num = num,
                 .together = of->nparts > 0 },
             x->err) &&
      tp_gpu_take_ends(x, of);
}

static bool may_launch(const tp_exec *x, const tp_chosen *k) {
  const tp_device *d = x->device;
  return k && k->chosen && !x->poison && !d->failing && !tp_arena_spills(x);
}

/* Is it the first value of a parameter that lies there already? */
static bool keeps_first(const tp_exec *x, const tp_dreg *r) {
  return r->rg->kind == TP_RG_PINIT && !x->poison && r->in[0].buf == r->out[0].buf &&
      tp_dnd_begin(x, &r->in[0]) == tp_dnd_begin(x, &r->out[0]) &&
      !(r->nin > 1 && x->run->params && x->run->params[r->first - 1]);
}

static int takes(tp_exec *x, tp_dreg *r) {
  tp_chosen *k = x->device->leaf[r->pos];
  if (may_launch(x, k)) {
    int products = 0;
    if (!tp_gpu_multiply(x, r, &products)) return -1;
    x->device->launches += products, k->products += products;
    return products || launch(x, k, points_of(x, r), 0, 0) ? 1 : -1;
  }
  if (r->rg->kind == TP_RG_CALL) {
    int later = calls(x, false) ? tp_gpu_late_takes(x, r) : -1;
    if (later) return later;
    /* functions of the host are not called after a fault */
    if (!x->device->failing && !(calls(x, true) && look(x))) return -1;
  }
  if (keeps_first(x, r)) return 1;
  for (tp_dnd *w = r->in; w < r->in + r->nnd; w++)
    if (w->buf >= 0 && !see(x, w->buf, w >= r->out)) return -1;
  for (int i = 0; i < r->rg->nrows; i++)
    if (!see(x, r->rg->rows[i].nd.buf, false)) return -1;
  return 0;
}

/* A loop is launched in pieces, because watchdogs of displays end kernels that run for seconds, and
 * so that a run can be cancelled. */
#define PIECE_SECONDS 0.05
enum { FIRST_PIECE = 16 };

static int64_t piece_of(const tp_chosen *k) {
  const char *asked = tp_setting("TEMPO_PIECE");
  if (asked) return TP_MAX(atoll(asked), 1);
  return k->each ? (int64_t)TP_MAX(TP_MIN(PIECE_SECONDS / k->each, 1e9), 1) : FIRST_PIECE;
}

static bool finish(tp_exec *x) {
  tp_device *d = x->device;
  d->mark = d->driver->mark(d->queue, d->mark, x->err);
  return d->mark && d->driver->reached(d->mark, true, x->err) > 0;
}

/* A piece of the loop, and what its blocks added up. */
static bool launch_range(tp_exec *x, tp_chosen *k, int64_t from, int64_t end) {
  int64_t most = 1;
  if (!launch(x, k, k->of->nparts ? points_in_parts(x, k->of) : 1, from, end)) return false;
  if (!k->of->by_rows || !k->of->rows->nadded) return true;
  for (int i = 0; i < k->of->rows->nadded; i++)
    most = TP_MAX(most, x->count[k->of->rows->added[i]]);
  return launch(x, k->sums, most, 0, k->blocks);
}

/* The host waits for each piece but the last, and for that too the first time. *to: where the piece
 * ends; then, if the data have ended it before, where. */
static bool launch_piece(tp_exec *x, tp_chosen *k, int64_t from, int64_t *to, bool last) {
  int64_t step = k->of->node->step, n = (*to - from) / step;
  bool timed = !last || !k->each;
  if (timed && !k->each && !finish(x)) return false;
  double began = timed ? tp_now() : 0;
  if (!launch_range(x, k, from, step > 0 ? *to : *to - step)) return false;
  if (!timed) return true;
  if (!finish(x) || !tp_gpu_left_at(x, k->of->node, to)) return false;
  n = TP_MIN((*to - from) / step, n);
  if (n > 0) k->each = TP_MAX((tp_now() - began) / (double)n, 1e-9);
  return true;
}

static bool launch_loop(tp_exec *x, tp_chosen *k, int64_t from, int64_t end) {
  const tp_pnode *node = k->of->node;
  int64_t step = node->step,
          left = step > 0 ? (end - from + step - 1) / step : (from - end) / -step + 1;
  while (left > 0) {
    int64_t n = TP_MIN(piece_of(k), left), next = from + n * step, to = next;
    left -= n;
    if (!launch_piece(x, k, from, &to, !left) || (left && !look(x))) return false;
    if (to != next) return true;
    from = next;
    if (left && tp_run_ends(x->run)) {
      x->env[node->var->id] = from;
      return tp_dreg_cancelled(x, x->regat[tp_first_leaf(node)->pos]);
    }
  }
  return true;
}

static int loop(tp_exec *x, const tp_pnode *node, int64_t from, int64_t end) {
  tp_device *d = x->device;
  for (int i = 0; i < d->n + d->more.n; i++) {
    tp_chosen *k = tp_gpu_kernel(d, i);
    bool is = (k->of->loop || (k->of->nparts && k->of->n == 1)) && k->of->node == node;
    if (is && may_launch(x, k)) return launch_loop(x, k, from, end) ? 1 : -1;
  }
  return 0;
}

static int stretch(tp_exec *x, const tp_pnode *first, const tp_pnode **last) {
  tp_chosen *k = x->device->begins[first->pos];
  if (!k && first->kind == TP_P_LOAD) k = x->device->leaf[first->pos];
  if (!k || k->of->node != first || !may_launch(x, k)) return 0;
  *last = k->of->all[k->of->n - 1];
  int64_t points = k->of->nparts ? points_in_parts(x, k->of)
      : k->of->one               ? 1
                                 : most_points(x, k->of);
  return launch(x, k, points, 0, 0) ? 1 : -1;
}

static void leave_device(tp_exec *x) {
  tp_device *d = x->device;
  rest_twins(x);
  d->driver->close(d->dev);
  tp_gpu_leave(d->store, &d->count);
}

/* Opens a device that was lost once more. All that was made with it has to be made again. */
static bool open_again(tp_exec *x) {
  tp_device *d = x->device;
  tp_gdev *dev = d->driver->open(d->which, x->err);
  tp_gqueue *queue = dev ? d->driver->queue(dev, x->err) : NULL;
  tp_gstore *store = queue ? tp_gpu_store(d->driver, d->which, x->err) : NULL;
  if (!store) return d->driver->close(dev), false;
  leave_device(x);
  d->dev = dev, d->queue = queue, d->store = store, d->mark = NULL;
  d->arena = d->notes = d->sums = d->far_mem = NULL;
  d->arena_bytes = d->notes_bytes = d->sums_bytes = d->far_bytes = 0;
  for (int i = 0; i < TP_GPU_LATE; i++) d->late[i].mem = NULL, d->late[i].mark = NULL;
  for (int i = 0; i < d->n + d->more.n; i++) tp_gpu_kernel(d, i)->fn = NULL;
  return !(d->ready = false);
}

static bool begin(tp_exec *x) {
  if ((x->device->driver->lost(x->device->dev) || tp_gpu_store_is_lost(x->device->store)) &&
      !open_again(x))
    return false;
  x->device->doubtful = x->device->failing = false;
  x->device->nlate = 0;
  tp_gpu_ends_begin(x);
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return tp_no_memory(x->err, TP_NOWHERE);
  bool ok = tp_gpu_choose(x) && place_buffers(x);
  tp_unguard(&oom);
  if (!ok) rest_twins(x);
  return ok;
}

/* Outputs come to the host, also of a run that failed; one that was cancelled has lost some. Those
 * of a whole run stay where they are, if it may be so. After a run that is over copies may go. */
static bool settle(tp_exec *x, bool over) {
  tp_device *d = x->device;
  bool ok = calls(x, true) && look(x);
  d->failing = true; /* no further error */
  for (int i = 0; i < x->plan->bufs.n; i++) {
    const tp_pbuf *b = x->plan->bufs.v[i];
    if (b->kind != TP_BUF_OUTPUT || !x->run->outputs[b->slot]) continue;
    bool stays = ok && x->run->stays && d->twin[i] && !x->plan->products.v[b->slot].hidden;
    if (!stays) ok &= see(x, i, false);
    if (d->twin[i]) /* others are changed after the run */
      tp_gpu_twin_has(d->twin[i], stays && (d->where[i] & TP_IN_DEVICE),
          stays && d->where[i] == TP_IN_DEVICE, &d->count);
  }
  d->failing = false;
  if (ok && over) rest_twins(x);
  return ok;
}

/* ---- the table ---- */

static bool open_device(tp_exec *x, const tp_gdriver *driver, int which) {
  tp_device *d = TP_NEW(&x->a, struct tp_device);
  tp_kernel *k;
  *d = (tp_device){ .driver = driver, .which = which };
  if (!(d->dev = driver->open(which, x->err))) return false;
  x->device = d;
  if (!(d->queue = driver->queue(d->dev, x->err)) ||
      !(d->store = tp_gpu_store(driver, which, x->err)))
    return false;
  d->n = tp_emit_find_kernels(x->plan, &x->a, &k);
  d->kernel = TP_NEWN(&x->a, tp_chosen, d->n + 1);
  d->leaf = TP_NEWN(&x->a, tp_chosen *, x->plan->npos + 1);
  d->begins = TP_NEWN(&x->a, tp_chosen *, x->plan->npos + 1);
  d->twin = TP_NEWN(&x->a, tp_twin *, x->plan->bufs.n + 1);
  d->far = TP_NEWN(&x->a, bool, x->plan->bufs.n + 1);
  d->sizes = TP_NEWN(&x->a, int64_t, x->plan->bufs.n + 1);
  d->noted = TP_NEWN(&x->a, int64_t, x->plan->bufs.n + 1);
  d->where = TP_NEWN(&x->a, unsigned char, x->plan->bufs.n + 1);
  d->place = TP_NEWN(&x->a, int64_t, x->plan->bufs.n + 1);
  d->env = TP_NEWN(&x->a, int64_t, x->nsym + 1);
  d->at = TP_NEWN(&x->a, tp_counted, x->plan->npos + 1);
  d->needed = TP_NEWN(&x->a, bool, x->plan->npos + 1);
  d->found = TP_NEWN(&x->a, bool, x->nsym + 1);
  d->told = TP_NEWN(&x->a, int64_t, x->nsym + 1);
  for (int i = 0; i < d->n; i++) {
    d->kernel[i].of = &k[i];
    if (!k[i].loop) d->leaf[k[i].node->pos] = &d->kernel[i];
    if (k[i].rows) d->noting = driver->spec(d->dev)->units * TP_GPU_ROW_BLOCKS;
  }
  d->note = TP_NEWN(&x->a, int64_t, notes_of(x));
  int nin = 0;
  TP_EACH_NODE (q, x->plan->body)
    if (q.x->rg && q.x->rg->kind == TP_RG_CALL) nin = TP_MAX(nin, q.x->rg->nin);
  for (int i = 0; i < TP_GPU_LATE && nin; i++) {
    d->late[i].env = TP_NEWN(&x->a, int64_t, x->nsym + 1);
    d->late[i].at = TP_NEWN(&x->a, int64_t, nin);
  }
  return true;
}

static void close_device(tp_exec *x) {
  leave_device(x);
  x->device = NULL;
}

/* Bytes that a kernel moves in a call with the bounds of the latest: those of its leaves' windows,
 * or, of a loop that nothing is around, of its buffers, once each, if these are fewer. */
static double bytes_by(const tp_exec *x, const tp_kernel *of) {
  double all = 0, once = 0;
  bool inside = false;
  for (int i = 0; i < of->n; i++)
    TP_EACH_NODE (k, of->all[i])
      if (k.x->rg) all += x->device->at[k.x->pos].bytes;
  for (const tp_pnode *q = of->node->up; q; q = q->up) inside |= q->kind == TP_P_FOR;
  for (int i = 0; i < of->nbuf; i++) once += (double)tp_gpu_bytes(x, of->buf[i]);
  return of->loop && !inside ? TP_MIN(all, once) : all;
}

static void tell(const tp_exec *x, tp_buf *b) {
  const tp_device *d = x->device;
  int host = 0;
  tp_putf(b, "device %s\n", d->driver->spec(d->dev)->name);
  if (!d->ready) tp_puts(b, "kernels are chosen by the first call\n");
  for (int i = 0; i < d->n + d->more.n && d->ready; i++) {
    const tp_chosen *k = tp_gpu_kernel(d, i);
    tp_gneeds needs = { -1, -1, -1, -1 };
    if (!k->chosen) continue;
    d->driver->needs(k->fn, TP_KERNEL_THREADS, &needs);
    const char *kind = k->of->loop ? "loop"
        : k->of->stretch           ? "stretch"
        : k->of->sums              ? "sums of loop"
        : k->of->nparts            ? "parts"
                                   : "leaf";
    tp_putf(b, "%s: %s %d..%d, %lld launches", k->of->name, kind, k->of->node->pos, last_of(k->of),
        (long long)k->launches);
    if (k->products) tp_putf(b, ", %lld products by the library", (long long)k->products);
    if (needs.registers >= 0) tp_putf(b, ", %d registers", needs.registers);
    if (needs.spilled > 0) tp_putf(b, ", %d bytes spilled", needs.spilled);
    if (k->of->nparts)
      tp_putf(b, ", %d parts, at most %lld blocks", k->of->nparts, (long long)k->blocks);
    if (k->of->by_rows) tp_putf(b, ", %lld blocks by rows", (long long)k->blocks);
    else tp_puts(b, k->of->one ? ", one block" : "");
    tp_putf(b, ", %.0f bytes a call\n", bytes_by(x, k->of));
  }
  for (int i = 0; i < x->nreg && d->ready; i++) {
    bool there = false;
    for (int j = 0; j < d->n + d->more.n && !there; j++) {
      const tp_chosen *k = tp_gpu_kernel(d, j);
      there = k->chosen && x->reg[i]->pos >= k->of->node->pos && x->reg[i]->pos <= last_of(k->of);
    }
    if (there) continue;
    char name[256];
    tp_putf(b, host++ ? ", %d %s" : "on the host: %d %s", x->reg[i]->pos,
        tp_who_label(&x->reg[i]->rg->who, tp_region_op(x->reg[i]->rg), name, sizeof name));
  }
  tp_putf(b, "%s%lld launches, %lld copies of %lld bytes", host ? "\n" : "", (long long)d->launches,
      (long long)d->count.copies, (long long)d->count.bytes);
  if (d->late_calls)
    tp_putf(b, ", %lld calls behind the device, which took %lld bytes", (long long)d->late_calls,
        (long long)d->late_bytes);
  if (d->far_moved > 0)
    tp_putf(b, ", %lld bytes of buffers in the host's memory, of which a call moves %.0f",
        (long long)(d->all_far ? d->need.arena : d->need.far), d->far_moved);
  tp_puts(b, "\n");
}

const tp_offload tp_on_device = { open_device, close_device, begin, takes, loop, stretch, see,
  tp_gpu_loaded, settle, tell };
