/* room.c: memory of a run on the device: copies there what the host has made. A run that needs more
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
    if (bytes > 0 && (!tp_in_arena(b) || d->place[i] >= 0))
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

bool tp_gpu_has_room(tp_exec *x, int64_t arena, int64_t more) {
  tp_device *d = x->device;
  const tp_plan *p = x->plan;
  int64_t own = tp_sum_bytes(arena, more), all = own, left = d->driver->left(d->dev);
  bool limited = p->limit > 0 && p->limit != TP_SPILL_ALL && own > p->limit;
  /* what an earlier call took is there for this one */
  left = tp_sum_bytes(left, d->arena_bytes + d->sums_bytes + d->notes_bytes);
  for (int i = 0; i < p->bufs.n; i++) {
    all = tp_sum_bytes(all, TP_MAX(outside(x, p->bufs.v[i], x->env), d->bytes[i]));
    left = tp_sum_bytes(left, d->bytes[i]);
  }
  if (!limited && all <= left) return true;
  return refuse_room(
      x, limited ? own : all, limited ? p->limit : left, limited, own - tp_arena_bytes(x));
}

bool tp_gpu_reach(tp_exec *x, int buf, bool writes) {
  tp_device *d = x->device;
  int64_t n = tp_gpu_bytes(x, buf);
  if (d->where[buf] == TP_IN_HOST && n) {
    if (!d->driver->put(d->queue, tp_gpu_place(x, buf), x->base[buf], n, x->err)) return false;
    d->copies++;
    d->copied += n;
    d->where[buf] |= TP_IN_DEVICE;
  }
  if (writes) d->where[buf] = TP_IN_DEVICE;
  return true;
}
