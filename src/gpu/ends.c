/* ends.c: ends by data where kernels run.
 *
 * A LOAD is a kernel or part of one: the end that it finds goes to the notes (emit.h), where later
 * kernels read it, and the host goes on without. For the host it is then the bound that was given,
 * so a loop that is launched in pieces goes that far, and kernels leave it before. The host asks
 * for an end only where it runs something itself that mentions it. A LOAD that the host runs is
 * told to kernels before the next launch. */
#include "gpu/exec.h"

/* Is x, or a node around it, a kernel? *top: it is a loop that the host launches in pieces. */
static bool is_kernel(const tp_device *d, const tp_pnode *x, bool *top) {
  *top = false;
  for (int i = 0; i < d->n + d->more.n; i++) {
    const tp_chosen *k = tp_gpu_kernel(d, i);
    for (int q = 0; q < k->of->n && k->chosen; q++) {
      if (!tp_gpu_is_around(k->of->all[q], x)) continue;
      *top = k->of->n == 1 && k->of->node == x && x->kind == TP_P_FOR;
      return true;
    }
  }
  return false;
}

/* Is e, with the given bound in place of the end s, no less than with the end itself? */
static bool grows_with(tp_ix *e, tp_sym *s) {
  bool grows = !tp_ix_mentions(e, s) || tp_ix_as_sym(e) == s;
  if (grows || (tp_ix_kind(e) != TP_IX_MIN && tp_ix_kind(e) != TP_IX_MAX)) return grows;
  grows = true;
  for (int i = 0; i < tp_ix_narg(e); i++) grows &= grows_with(tp_ix_arg(e, i), s);
  return grows;
}

/* Has the host to know the end s to run the node? */
static bool needs_end(const tp_device *d, const tp_pnode *x, tp_sym *s) {
  bool top;
  if (!tp_node_mentions_sym(x, s)) return false;
  if (!is_kernel(d, x, &top)) return true;
  return top && (tp_ix_mentions(x->lo, s) || !grows_with(x->hi, s) || x->step < 0);
}

/* Loads stand in front of what they are for, and at the end of loops. */
void tp_gpu_find_needed(tp_exec *x) {
  tp_device *d = x->device;
  memset(d->needed, 0, sizeof *d->needed * (size_t)(x->plan->npos + 1));
  if (!x->plan->ends.n) return;
  TP_EACH_NODE (k, x->plan->body) {
    const tp_pnode *load = k.x, *next = NULL;
    if (load->kind != TP_P_LOAD) continue;
    TP_EACH_NODE (q, x->plan->body)
      if (q.x->kind == TP_P_LOAD && q.x->var == load->var && q.x->pos > load->pos && !next)
        next = q.x;
    TP_EACH_NODE (q, x->plan->body) {
      bool behind = q.x->pos > load->pos && (!next || q.x->pos <= next->pos);
      bool around = q.x->kind == TP_P_FOR && tp_gpu_is_around(q.x, load);
      if ((behind || around) && q.x != load) d->needed[load->pos] |= needs_end(d, q.x, load->var);
    }
  }
  for (int i = 0; i < d->n; i++)
    if (d->kernel[i].of->node->kind == TP_P_LOAD && d->needed[d->kernel[i].of->node->pos])
      d->kernel[i].chosen = false;
}

void tp_gpu_ends_begin(tp_exec *x) {
  for (int i = 0; i < x->nsym; i++) x->device->found[i] = false, x->device->told[i] = INT64_MIN;
}

void tp_gpu_loaded(tp_exec *x, int var) { x->device->found[var] = false; }

static tp_gplace place_of_end(const tp_exec *x, int var) {
  tp_device *d = x->device;
  return (tp_gplace){ d->notes, (int64_t)sizeof *d->note * (tp_gpu_ends_at(x) + var) };
}

bool tp_gpu_tell_ends(tp_exec *x) {
  tp_device *d = x->device;
  bool ok = true;
  for (int i = 0; i < d->n && ok && x->plan->ends.n; i++) {
    const tp_pnode *q = d->kernel[i].of->node;
    if (q->kind != TP_P_LOAD) continue;
    int v = q->var->id;
    if (d->found[v] || d->told[v] == x->env[v]) continue;
    d->told[v] = x->env[v];
    ok = d->driver->put(d->queue, place_of_end(x, v), &d->told[v], sizeof d->told[v], x->err);
  }
  return ok;
}

bool tp_gpu_take_ends(tp_exec *x, const tp_kernel *of) {
  tp_device *d = x->device;
  bool ok = true;
  for (int i = 0; i < of->n && x->plan->ends.n; i++)
    TP_EACH_NODE (k, of->all[i]) {
      if (k.x->kind != TP_P_LOAD) continue;
      int v = k.x->var->id;
      d->found[v] = !d->needed[k.x->pos];
      x->env[v] = tp_ix_evalq(k.x->given, x->env);
      if (d->found[v] || !ok) continue;
      ok = d->driver->get(d->queue, &d->told[v], place_of_end(x, v), sizeof d->told[v], x->err);
      x->env[v] = d->told[v];
      d->count.copies++, d->count.bytes += (int64_t)sizeof d->told[v];
    }
  return ok;
}

bool tp_gpu_left_at(tp_exec *x, const tp_pnode *loop, int64_t *at) {
  tp_device *d = x->device;
  return loop->step < 0 || !tp_plan_by_data(x->plan, loop) ||
      d->driver->get(d->queue, at, place_of_end(x, loop->var->id), sizeof *at, x->err);
}
