/* join.c: chooses the kernels of a call and builds them. Where all blocks of a kernel can wait for
 * each other, those that choose.c has chosen become parts of fewer (emit/kernel/parts.c).
 *
 * A meeting of all blocks costs about what a launch in a graph costs, and less than one that the
 * host makes. So kernels that follow each other become one if their parts make little each, and all
 * of them together do not take long: nothing can end them. A loop of which all is kernels becomes
 * one too, which is launched in pieces if it takes long. Leaves that would stay on the host because
 * they make little are parts as well: else values would go there and back. */
#include "gpu/exec.h"

enum {
  /* a part makes so much in each run at most, for else meetings do not count */
  PART_WORK = 1 << 24,
  MOST_LEAVES = 256 /* of one kernel: compilers take long for more */
};
/* seconds that neighbours take at most, and what is assumed of a run of a leaf in one block */
#define JOINED_SECONDS 0.02
#define RUN_SECONDS    2e-6
#define WORK_SECONDS   2e-11

/* Neighbours that are gathered, and their parts. chosen: one of these is a kernel already. */
typedef struct {
  tp_exec *x;
  tp_arena a;
  int after; /* the last position of parts so far */
  int64_t runs;
  TP_VEC(tp_chosen *) part;
  TP_VEC(const tp_pnode *) node;
} joining;

static void take_part(joining *j, tp_chosen *k) {
  TP_PUSH(&j->a, &j->part, k);
  if (k->sums && k->sums->chosen) TP_PUSH(&j->a, &j->part, k->sums);
  j->after = k->of->all[k->of->n - 1]->lastpos;
}

static bool makes_much(const joining *j, const tp_pnode *x) {
  tp_amount a = tp_gpu_amount(x, j->x->device->at);
  return a.work > PART_WORK * (double)a.runs;
}

/* A leaf that never runs is none. A product that the library may make is on its own. */
static bool take_leaf(joining *j, const tp_pnode *leaf) {
  const tp_counted *at = &j->x->device->at[leaf->pos];
  tp_chosen *k = j->x->device->leaf[leaf->pos];
  if (!at->runs) return true;
  if (!k || makes_much(j, leaf) ||
      (at->flops >= 2.0 * TP_TUNE_GPU_PRODUCT * (double)at->runs &&
          tp_gpu_is_for_library(j->x, j->x->regat[leaf->pos])))
    return false;
  take_part(j, k);
  return true;
}

/* Finds the kernels of x, or of what it contains, if there are some for all that runs. */
static bool take_parts(joining *j, const tp_pnode *x) {
  tp_device *d = j->x->device;
  tp_chosen *k = x->rg || x->kind == TP_P_FOR ? tp_gpu_kernel_of(d, x) : NULL,
            *s = d->begins[x->pos];
  const tp_pnode *branch = tp_gpu_decided(j->x, x);
  if (!branch || tp_gpu_does_nothing(x)) return true;
  if (branch != x) return take_parts(j, branch);
  if ((x->rg || x->kind == TP_P_LOAD) && x->pos <= j->after) return true;
  if (s && s->chosen && s->of->node == x) return take_part(j, s), true;
  if (x->kind == TP_P_LOAD) return take_part(j, d->leaf[x->pos]), true;
  if (x->rg) return take_leaf(j, x);
  if (k && k->chosen) return take_part(j, k), true;
  if (x->kind != TP_P_FOR && x->kind != TP_P_IF && x->kind != TP_P_SEQ) return false;
  for (int i = 0; i < x->n; i++)
    if (!take_parts(j, x->kid[i])) return false;
  return true;
}

/* Are leaves not too many, nor buffers outside of the arena for a kernel's parameters? */
static bool has_room(joining *j) {
  const tp_device *d = j->x->device;
  int n = 0, leaves = 0, all = j->x->plan->bufs.n;
  bool *seen = TP_NEWN(&j->a, bool, all + 1);
  for (int q = 0; q < j->part.n; q++)
    for (int m = 0; m < j->part.v[q]->of->n; m++)
      TP_EACH_NODE (k, j->part.v[q]->of->all[m]) {
        leaves += k.x->rg && d->at[k.x->pos].runs;
        for (int i = 0; k.x->rg && i < k.x->rg->nin + k.x->rg->nout; i++) {
          int buf = tp_window_at(k.x->rg, i)->buf;
          if (buf < 0 || seen[buf] || tp_in_arena(j->x->plan->bufs.v[buf])) continue;
          seen[buf] = true, n++;
        }
      }
  return leaves <= MOST_LEAVES &&
      n <= (d->driver->spec(d->dev)->parameters / 8 - tp_gpu_numbers(j->x)) / 2 - 3;
}

static bool same_part(const tp_kernel *a, const tp_kernel *b) {
  return a->all == b->all && a->by_rows == b->by_rows && a->sums == b->sums;
}

/* The kernel of these parts, which an earlier call may have had. */
static tp_chosen *kernel_of_parts(const joining *j) {
  tp_device *d = j->x->device;
  int n = j->part.n;
  const tp_kernel **v = TP_NEWN(&j->x->a, const tp_kernel *, n);
  for (int i = 0; i < n; i++) v[i] = j->part.v[i]->of;
  for (int i = 0; i < d->more.n; i++) {
    const tp_kernel *k = d->more.v[i]->of;
    bool same = k->nparts == n && k->n == j->node.n &&
        !memcmp(k->all, j->node.v, sizeof *k->all * (size_t)k->n);
    for (int q = 0; q < n && same; q++) same = same_part(&k->part[q], v[q]);
    if (same) return d->more.v[i];
  }
  tp_chosen *c = TP_NEW(&j->x->a, tp_chosen);
  *c = (tp_chosen){ .of = tp_emit_parts_kernel(&j->x->a, j->node.n, j->node.v, n, v) };
  TP_PUSH(&j->x->a, &d->more, c);
  return c;
}

/* Neighbours are worth one kernel if some of them are kernels already. */
static bool join_them(joining *j) {
  tp_device *d = j->x->device;
  bool chosen = false;
  for (int i = 0; i < j->part.n; i++) chosen |= j->part.v[i]->chosen;
  chosen |= j->node.n == 1 && j->node.v[0]->kind == TP_P_FOR;
  if (j->part.n < 2 || !chosen || !has_room(j)) return false;
  tp_chosen *c = kernel_of_parts(j);
  c->chosen = true;
  if (c->of->n > 1 || c->of->node->kind != TP_P_FOR) d->begins[c->of->node->pos] = c;
  for (int i = 0; i < j->part.n; i++) j->part.v[i]->chosen = false;
  return true;
}

static void end_neighbours(joining *j) {
  join_them(j);
  j->part.n = j->node.n = 0;
}

/* May all that is in x be over soon? */
static bool is_short(const joining *j, const tp_pnode *x) {
  tp_amount a = tp_gpu_amount(x, j->x->device->at);
  return (double)a.runs * RUN_SECONDS + a.work * WORK_SECONDS <=
      JOINED_SECONDS * (double)TP_MAX(j->runs, 1);
}

static void join_in(joining *j, const tp_pnode *x);

/* A loop that takes long, or of which a part cannot be one. */
static void join_alone(joining *j, const tp_pnode *x, bool all) {
  const tp_chosen *k = x->kind == TP_P_FOR ? tp_gpu_kernel_of(j->x->device, x) : NULL;
  if (k && k->chosen) return;
  if (x->kind == TP_P_FOR && all) {
    TP_PUSH(&j->a, &j->node, x);
    take_parts(j, x->kid[0]);
    bool did = join_them(j);
    j->part.n = j->node.n = 0;
    if (did) return;
  }
  int64_t runs = j->runs;
  for (int i = 0; i < x->n; i++) {
    j->runs = tp_gpu_most_runs(j->x, x->kid[i]);
    join_in(j, x->kid[i]);
    end_neighbours(j);
  }
  j->runs = runs;
}

static void join_in(joining *j, const tp_pnode *x) {
  if (!x || tp_gpu_does_nothing(x)) return;
  if (x->kind == TP_P_SEQ) {
    for (int i = 0; i < x->n; i++) join_in(j, tp_gpu_decided(j->x, x->kid[i]));
    return;
  }
  int n = j->part.n, after = j->after;
  bool inside = x->lastpos <= after, all = inside || take_parts(j, x),
       may = all && (inside || (is_short(j, x) && !makes_much(j, x)));
  if (may && (inside || has_room(j))) {
    TP_PUSH(&j->a, &j->node, x);
    return;
  }
  bool again = may && n;
  j->part.n = n, j->after = after;
  end_neighbours(j);
  if (again) join_in(j, x);
  else join_alone(j, x, all);
}

static void join_kernels(tp_exec *x) {
  tp_device *d = x->device;
  for (int i = 0; i < d->more.n; i++)
    if (d->more.v[i]->of->nparts) d->more.v[i]->chosen = false;
  if (!d->driver->spec(d->dev)->together || tp_setting("TEMPO_KERNELS")) return;
  joining j = { .x = x, .after = -1 };
  tp_scratch_init(&j.a);
  j.runs = tp_gpu_most_runs(x, x->plan->body);
  join_in(&j, x->plan->body);
  end_neighbours(&j);
  tp_arena_free(&j.a);
}

/* ---- building ---- */

/* Says which of the plan's regions the kernels are made of. */
static void tell_positions(tp_error *err, tp_kernel *const *v, int n) {
  tp_buf b;
  tp_buf_init(&b);
  for (int i = 0; i < n; i++)
    tp_putf(&b, "%s%d..%d", i ? ", " : "", v[i]->node->pos, v[i]->all[v[i]->n - 1]->lastpos);
  tp_note(err, "the kernels are of positions %.400s of the plan", b.n ? b.s : "?");
  tp_buf_free(&b);
}

/* Makes those kernels that are chosen for the first time. */
static bool build(tp_exec *x) {
  tp_device *d = x->device;
  const tp_gspec *spec = d->driver->spec(d->dev);
  int n = 0;
  tp_chosen **new = TP_NEWN(&x->a, tp_chosen *, d->n + d->more.n + 1);
  for (int i = 0; i < d->n + d->more.n; i++) {
    tp_chosen *k = tp_gpu_kernel(d, i);
    if (k->chosen && !k->fn) new[n++] = k;
  }
  if (!n) return true;
  tp_kernel **v = TP_NEWN(&x->a, tp_kernel *, n);
  for (int i = 0; i < n; i++) v[i] = new[i]->of;
  tp_buf text;
  tp_hold hold;
  tp_buf_hold(&text, &hold);
  tp_emit_kernels(&text, x->plan, &x->a, v, n, spec->pointers ? spec->parameters / 8 : 0);
  if (text.failed) tp_oom();
  if (tp_dump_wanted("kernels")) fputs(text.s, stderr);
  tp_gmodule *m = d->driver->build(d->dev, text.s, x->err);
  if (!m && x->err->code == TP_E_DEVICE) tell_positions(x->err, v, n);
  for (int i = 0; m && i < n; i++)
    if (!(new[i]->fn = d->driver->kernel(m, v[i]->name, x->err))) m = NULL;
  for (int i = 0; m && i < n; i++) {
    tp_gneeds needs;
    if (!v[i]->nparts) continue;
    d->driver->needs(new[i]->fn, TP_KERNEL_THREADS, &needs);
    new[i]->blocks = TP_MAX(needs.fit, 1);
    if (d->noting) new[i]->blocks = TP_MIN(new[i]->blocks, d->noting);
  }
  tp_buf_drop(&text, &hold);
  return m != NULL;
}

/* Were kernels chosen for these bounds? */
static bool is_chosen(const tp_exec *x) {
  const tp_device *d = x->device;
  for (int i = 0; d->ready && i < x->nbound; i++)
    if (d->env[x->bound[i]] != x->env[x->bound[i]]) return false;
  return d->ready;
}

bool tp_gpu_choose(tp_exec *x) {
  tp_device *d = x->device;
  int64_t turns;
  if (is_chosen(x)) return true;
  d->ready = false;
  TP_COPYN(d->env, x->env, x->nsym);
  memset(d->at, 0, sizeof *d->at * (size_t)(x->plan->npos + 1));
  if (!tp_plan_count(x->plan, x->plan->body, x->env, d->at, &turns)) tp_oom();
  tp_gpu_choose_each(x);
  join_kernels(x);
  tp_gpu_find_needed(x);
  return d->ready = build(x);
}
