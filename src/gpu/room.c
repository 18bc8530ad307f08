/* room.c: memory of a run on the device: copies there what the host has made, unless the copy of an
 * earlier call is still right (twins.c). A run that needs more
 * memory than the device has left, or than `memory =` allows, is refused before its first step,
 * with the bytes, their largest users and bounds that would do. */
#include "gpu/exec.h"

/* Bytes of the buffer outside of the arena; 0: it lies there, or was not given. */
static int64_t outside(const tp_exec *x, const tp_pbuf *b, const int64_t *env) {
  if (tp_in_arena(b) || !tp_gpu_is_there(x, b)) return 0;
  return TP_MAX(tp_pbuf_bytes(b, env), 64);
}

typedef struct {
  const tp_exec *x;
  int64_t beside; /* places of their own, sums and notes at the bounds that were asked for */
} room_demand;

/* No less than a call at these lower bounds needs. */
static int64_t room_at(void *ud, int64_t *env) {
  const room_demand *r = ud;
  int64_t n = tp_exec_memory(r->x, env), all = n < 0 ? INT64_MAX : tp_sum_bytes(n, r->beside);
  for (int i = 0; i < r->x->plan->bufs.n; i++)
    all = tp_sum_bytes(all, outside(r->x, r->x->plan->bufs.v[i], env));
  return all;
}

static bool refuse_room(tp_exec *x, int64_t need, int64_t most, bool limited, int64_t beside) {
  static const char *const words[] = {
    [TP_BUF_INPUT] = "input ", [TP_BUF_OUTPUT] = "output ", [TP_BUF_PARAM] = "parameter "
  };
  const tp_device *d = x->device;
  const tp_plan *p = x->plan;
  const char *name = d->driver->spec(d->dev)->name;
  int n = 0;
  tp_piece *v = TP_NEWN(&x->a, tp_piece, p->bufs.n + 1);
  for (int i = 0; i < p->bufs.n; i++) {
    const tp_pbuf *b = p->bufs.v[i];
    int64_t bytes = tp_in_arena(b) ? tp_pbuf_bytes(b, x->env) : outside(x, b, x->env);
    const char *word = b->kind < (int)TP_LEN(words) ? words[b->kind] : NULL;
    if (bytes > 0 && (!tp_in_arena(b) || d->place[i] != -1))
      v[n++] = (tp_piece){ word ? word : "", b->name ? b->name : "?", b->pos, bytes };
  }
  if (limited)
    tp_fail(x->err, TP_E_MEMORY, TP_NOWHERE,
        "these bounds need %lld bytes on %s, beside inputs and outputs, more than memory = %lld",
        (long long)need, name, (long long)most);
  else
    tp_fail(x->err, TP_E_MEMORY, TP_NOWHERE,
        "these bounds need %lld bytes on %s, which has %lld left", (long long)need, name,
        (long long)most);
  tp_tell_pieces(x->err, v, n);
  if (!limited)
    tp_tell_bounds(x->err, &(tp_demand){ p->ix, room_at, &(room_demand){ x, beside } },
        TP_DUPN(&x->a, x->env, x->nsym), most);
  return false;
}

bool tp_gpu_find_room(tp_exec *x) {
  tp_device *d = x->device;
  const tp_plan *p = x->plan;
  int64_t others = 0, left = d->driver->left(d->dev);
  int64_t limit = p->limit && p->limit != TP_SPILL_ALL ? p->limit : INT64_MAX;
  /* what an earlier call took is there for this one */
  left = tp_sum_bytes(left,
      (d->is_far ? 0 : d->arena_bytes) + d->sums_bytes + d->notes_bytes + tp_gpu_spare(d->store));
  for (int i = 0; i < p->bufs.n; i++) {
    others = tp_sum_bytes(others, outside(x, p->bufs.v[i], x->env));
    left = tp_sum_bytes(left, d->twin[i] ? d->twin[i]->bytes : 0);
  }
  tp_gpu_choose_far(x, TP_MIN(limit, left - others));
  int64_t own = (d->all_far ? 0 : d->need.arena) + d->need.sums + d->need.notes,
          all = tp_sum_bytes(own, others);
  if (own <= limit && all <= left) return true;
  bool limited = own > limit;
  return refuse_room(
      x, limited ? own : all, limited ? limit : left, limited, own - tp_arena_bytes(x));
}

static bool put_there(tp_exec *x, tp_gplace to, const void *from, int64_t bytes) {
  tp_device *d = x->device;
  d->count.copies++, d->count.bytes += bytes;
  return d->driver->put(d->queue, to, from, bytes, x->err);
}

bool tp_gpu_reach(tp_exec *x, int buf, bool writes) {
  tp_device *d = x->device;
  tp_twin *t = d->twin[buf];
  int64_t n = t ? t->bytes : tp_gpu_bytes(x, buf);
  if (d->where[buf] == TP_IN_HOST && n) {
    if (!put_there(x, tp_gpu_place(x, buf), x->base[buf], n)) return false;
    d->where[buf] |= TP_IN_DEVICE;
    if (t) tp_gpu_twin_has(t, true, false, NULL);
  }
  if (writes) d->where[buf] = TP_IN_DEVICE;
  if (writes && t) tp_gpu_twin_has(t, false, false, NULL);
  return true;
}

/* Rows that are arrays of their own come together on the device, from where they are. */
static bool join_rows(tp_exec *x, int buf, const tp_array *rows) {
  tp_device *d = x->device;
  tp_gplace to = tp_gpu_place(x, buf);
  for (int64_t i = 0; i < rows->shape[0]; i++) {
    tp_array *row = rows->row[i];
    int64_t n = (int64_t)tp_array_bytes(row);
    tp_twin *t = tp_gpu_twin(d->store, row, false, x->err);
    bool ok = t && tp_gpu_twin_is_new(t)
        ? d->driver->copy(d->queue, to, (tp_gplace){ t->mem, 0 }, n, x->err)
        : tp_array_see(row, x->err) && put_there(x, to, row->data, n);
    tp_gpu_rest(t);
    if (!ok) return false;
    to.off += n;
  }
  tp_gpu_twin_has(d->twin[buf], true, false, NULL);
  return true;
}

bool tp_gpu_bind(tp_exec *x, bool make) {
  tp_device *d = x->device;
  for (int i = 0; i < x->plan->bufs.n; i++) {
    tp_array *a = d->where[i] ? tp_exec_array(x, x->plan->bufs.v[i]) : NULL;
    if (!a || !a->count || d->twin[i]) continue;
    d->twin[i] = tp_gpu_twin(d->store, a, make, x->err);
    if (make && !d->twin[i]) return false;
  }
  for (int i = 0; make && i < x->plan->bufs.n; i++) {
    const tp_pbuf *b = x->plan->bufs.v[i];
    tp_twin *t = d->twin[i];
    if (!t) continue;
    bool is_new = tp_gpu_twin_is_new(t);
    if (!is_new && !(t->of->row ? join_rows(x, i, t->of) : tp_array_see(t->of, x->err)))
      return false;
    if (t->of->row) d->where[i] = TP_IN_DEVICE;
    else if (is_new) d->where[i] = t->ahead ? TP_IN_DEVICE : TP_IN_HOST | TP_IN_DEVICE;
    if (b->kind == TP_BUF_OUTPUT && t->of->blank) d->where[i] = 0;
  }
  return true;
}
