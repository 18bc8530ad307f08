/* choose.c: chooses the kernels of a plan for given bounds, by counts of work. A loop whose leaves
 * are small is one kernel; of large ones each is one. A loop whose leaves can all be cut along one
 * axis, and whose shares never meet, goes by rows. Leaves and branches that follow each other, and
 * short loops, are one kernel, a stretch, if its threads meet nowhere, or each leaf is small. */
#include "gpu/exec.h"

enum {
  /* a loop is one kernel if its leaves make at most so many elements or operations each */
  LOOP_WORK = 1 << 16,
  /* a leaf that runs so seldom and makes so little stays on the host */
  FEW_RUNS = 2,
  LITTLE = 1 << 12,
  MOST_SUMS = 1 << 26, /* bytes that blocks of a loop by rows add up to */
  MOST_TRIED = 4096    /* values of a loop's variable */
};

bool tp_gpu_is_around(const tp_pnode *loop, const tp_pnode *x) {
  while (x && x != loop) x = x->up;
  return x != NULL;
}

tp_amount tp_gpu_amount(const tp_pnode *node, const tp_counted *at) {
  tp_amount a = { 0 };
  TP_EACH_NODE (k, node) {
    if (!k.x->rg && (k.x != node || node->kind != TP_P_LOAD)) continue;
    a.runs += at[k.x->pos].runs;
    a.work += TP_MAX((double)at[k.x->pos].elements, at[k.x->pos].flops);
  }
  return a;
}

/* By buffer: how far windows of a loop's leaves move from row to row, written ones or others; bad:
 * not all as far, or rows meet. */
typedef struct {
  const tp_exec *x;
  const tp_kernel *of;
  int64_t *step, *lo, *hi; /* lo, hi: room for values of all symbols */
  bool *written, *bad;
} by_rows;

/* If ranges do not show it, each value of the loop's variable may: a tile begins and ends by it. */
static bool is_own(by_rows *y, const tp_region *r, int at, int w, const int64_t *lo,
    const int64_t *hi, int64_t *step) {
  const tp_cut *c = &y->of->rows->cut[at];
  int v = y->of->node->var->id;
  bool own = tp_cut_is_own(lo, hi, r, c, w, step);
  if (own || hi[v] - lo[v] >= MOST_TRIED) return own;
  TP_COPYN(y->lo, lo, y->x->nsym);
  TP_COPYN(y->hi, hi, y->x->nsym);
  int64_t one = 0;
  own = true;
  for (int64_t k = lo[v]; k <= hi[v] && own; k++) {
    y->lo[v] = y->hi[v] = k;
    own = tp_cut_is_own(y->lo, y->hi, r, c, w, &one) && (k == lo[v] || one == *step);
    *step = one;
  }
  return own;
}

int64_t tp_gpu_sums(const tp_exec *x, const tp_kernel *of) {
  int64_t end = 0;
  for (int i = 0; i < of->rows->nadded; i++) {
    int buf = of->rows->added[i];
    int64_t n =
        tp_times_bytes(TP_MAX(x->count[buf], 0), tp_dtype_size(x->plan->bufs.v[buf]->dtype));
    end = tp_sum_bytes(end, tp_sum_bytes(n, 63) / 64 * 64);
  }
  return end;
}

static int64_t blocks_of(const tp_exec *x, const tp_kernel *of) {
  return TP_MIN(tp_ix_evalq(of->rows->share.whole, x->env), x->device->noting);
}

static void note_rows(void *ud, const tp_pnode *n, const int64_t *lo, const int64_t *hi) {
  by_rows *y = ud;
  int at = n->pos - y->of->node->pos;
  if (!n->rg || at < 0 || n->pos > y->of->node->lastpos) return;
  for (int i = 0; i < n->rg->nin + n->rg->nout; i++) {
    int buf = tp_window_at(n->rg, i)->buf;
    int64_t step;
    if (buf < 0 || (i == n->rg->nin && y->of->rows->cut[at].adds)) continue;
    bool own = is_own(y, n->rg, at, i, lo, hi, &step);
    y->written[buf] |= i >= n->rg->nin;
    y->bad[buf] |= !own || (y->step[buf] && y->step[buf] != step);
    y->step[buf] = own ? step : 0;
  }
}

/* May shares of the loop's rows run apart? No two rows meet in a buffer that is written. */
static bool runs_by_rows(tp_exec *x, const tp_kernel *of) {
  if (!of->rows || blocks_of(x, of) <= 1 ||
      tp_times_bytes(tp_gpu_sums(x, of), blocks_of(x, of)) > MOST_SUMS)
    return false;
  tp_arena a;
  tp_scratch_init(&a);
  int n = x->plan->bufs.n;
  by_rows y = { .x = x, .of = of, .step = TP_NEWN(&a, int64_t, n) };
  y.lo = TP_NEWN(&a, int64_t, x->nsym);
  y.hi = TP_NEWN(&a, int64_t, x->nsym);
  y.written = TP_NEWN(&a, bool, n);
  y.bad = TP_NEWN(&a, bool, n);
  if (!tp_plan_reach(x->plan, x->env, note_rows, &y)) tp_oom();
  bool ok = true;
  for (int i = 0; i < n; i++) ok &= !y.written[i] || !y.bad[i];
  tp_arena_free(&a);
  return ok;
}

/* A parameter keeps its value where a run fails before its leaf: a library does not look. */
bool tp_gpu_is_for_library(const tp_exec *x, const tp_dreg *r) {
  const tp_dnd *c = r->out;
  if (r->rg->kind != TP_RG_OP || r->rg->op != TP_OP_MATMUL || r->dynamic || x->plan->reproducible)
    return false;
  for (const tp_dnd *w = r->in; w < r->in + r->nnd; w++)
    if (w->buf < 0 || w->wrap >= 0 || (w < r->in + r->nin && w->dtype != r->in->dtype))
      return false;
  return tp_dtype_float(c->dtype) &&
      (c->dtype == r->in->dtype || (c->dtype == TP_F32 && tp_half(r->in->dtype))) &&
      x->plan->bufs.v[c->buf]->kind != TP_BUF_PARAM;
}

static bool holds_rows(const tp_device *d, const tp_chosen *loop) {
  for (int i = 0; i < d->n; i++)
    if (d->kernel[i].of->by_rows && tp_gpu_is_around(loop->of->node, d->kernel[i].of->node))
      return true;
  return false;
}

/* Does any leaf make much? Then others go to the device, too, for else values would go there and
 * back. Where kernels can be joined, join.c sees to that. */
static bool is_busy(const tp_exec *x, const tp_counted *at) {
  const tp_device *d = x->device;
  bool any = false;
  for (int i = 0; i < d->n && !d->driver->spec(d->dev)->together; i++)
    any |= !d->kernel[i].of->loop && tp_gpu_amount(d->kernel[i].of->node, at).work > LITTLE;
  return any;
}

static void choose(tp_exec *x, const tp_counted *at) {
  tp_device *d = x->device;
  /* for tests: "all" whatever it costs, or "leaves" alone; "apart": as ever, none of parts */
  const char *asked = tp_setting("TEMPO_KERNELS");
  if (asked && !strcmp(asked, "apart")) asked = NULL;
  bool leaves = asked && !strcmp(asked, "leaves"), busy = is_busy(x, at);
  /* the loop that was chosen last: kernels go from outside inwards */
  const tp_pnode *inside = NULL;
  for (int i = 0; i < d->n; i++) {
    tp_chosen *k = &d->kernel[i];
    bool rows = runs_by_rows(x, k->of);
    if (rows != k->of->by_rows) k->fn = NULL; /* its text is another */
    k->of->by_rows = rows;
    k->blocks = rows ? blocks_of(x, k->of) : 1;
  }
  for (int i = 0; i < d->n; i++) {
    tp_chosen *k = &d->kernel[i];
    tp_amount a = tp_gpu_amount(k->of->node, at);
    double each = a.work / (double)TP_MAX(a.runs, 1) / (double)k->blocks;
    k->chosen = a.runs && !(inside && tp_gpu_is_around(inside, k->of->node));
    if (asked) k->chosen &= !leaves || !k->of->loop;
    else if (k->of->loop)
      k->chosen &= each <= (!k->of->by_rows && holds_rows(d, k) ? TP_KERNEL_THREADS : LOOP_WORK);
    else
      k->chosen &= busy || a.runs > FEW_RUNS || a.work > LITTLE || k->of->node->kind == TP_P_LOAD;
    if (k->chosen && k->of->loop) inside = k->of->node;
    bool sums = k->chosen && k->of->by_rows && k->of->rows->nadded;
    if (sums && !k->sums) {
      k->sums = TP_NEW(&x->a, tp_chosen);
      *k->sums = (tp_chosen){ .of = tp_emit_sums_kernel(&x->a, k->of), .blocks = 1 };
      TP_PUSH(&x->a, &d->more, k->sums);
    }
    if (k->sums) k->sums->chosen = sums;
  }
}

/* ---- stretches ---- */

/* Neighbours that are gathered, v, which one kernel may run; of a branch that bounds decide for,
 * what is in it. small: each leaf makes little, so that one block may. */
typedef struct {
  tp_exec *x;
  const tp_counted *at;
  tp_arena a;
  bool *outside; /* by buffer: lies outside of the arena, and is used */
  int noutside, most;
  int64_t runs; /* of the sequence */
  bool meets, small;
  tp_stretch *s;
  TP_VEC(const tp_pnode *) v;
} gathering;

tp_chosen *tp_gpu_kernel_of(const tp_device *d, const tp_pnode *node) {
  for (int i = 0; i < d->n; i++)
    if (d->kernel[i].of->node == node) return &d->kernel[i];
  return NULL;
}

static bool makes_little(const gathering *g, const tp_pnode *x) {
  TP_EACH_NODE (k, x) {
    tp_amount a = tp_gpu_amount(k.x, g->at);
    int64_t runs = k.x->kind == TP_P_FOR ? g->runs : a.runs;
    if ((k.x->rg || k.x->kind == TP_P_FOR) && a.work > (double)TP_MAX(runs, 1) * LOOP_WORK)
      return false;
    if (k.x->kind == TP_P_FOR) tp_tour_skip(&k);
  }
  return true;
}

static bool is_product(const tp_region *r) {
  return r->op == TP_OP_MATMUL || r->op == TP_OP_MATMUL_BLOCKS;
}

/* May it be in a stretch? A node that never runs may, a loop if all of it makes little. */
static bool may_join(const gathering *g, const tp_pnode *x) {
  const tp_device *d = g->x->device;
  /* a kernel of parts finds an end in all blocks, a stretch in one */
  if (x->kind == TP_P_LOAD && d->driver->spec(d->dev)->together) return false;
  if (!tp_emit_stretch_takes(g->s, x)) return false;
  TP_EACH_NODE (k, x) {
    const tp_chosen *c = k.x->rg ? d->leaf[k.x->pos] : NULL,
                    *loop = k.x->kind == TP_P_FOR ? tp_gpu_kernel_of(d, k.x) : NULL;
    if (loop && (loop->of->by_rows || !g->runs || !makes_little(g, k.x))) return false;
    /* a product goes by tiles, or by the library */
    if (k.x->rg && is_product(k.x->rg) && !makes_little(g, k.x)) return false;
    if (k.x->kind == TP_P_FOR) tp_tour_skip(&k);
    else if (k.x->rg && !c->chosen && g->at[k.x->pos].runs) return false;
  }
  return true;
}

static void begin_stretch(gathering *g) {
  g->v.n = g->noutside = 0;
  g->meets = false;
  g->small = true;
  memset(g->outside, 0, (size_t)g->x->plan->bufs.n);
  g->s = tp_emit_stretch(g->x->plan, &g->a);
}

/* The stretch of these nodes, which an earlier call may have had. */
static tp_chosen *stretch_of(const gathering *g) {
  tp_device *d = g->x->device;
  for (int i = 0; i < d->more.n; i++) {
    const tp_kernel *k = d->more.v[i]->of;
    if (k->stretch && k->n == g->v.n && k->one == g->meets &&
        !memcmp(k->all, g->v.v, sizeof *k->all * (size_t)k->n))
      return d->more.v[i];
  }
  tp_chosen *c = TP_NEW(&g->x->a, tp_chosen);
  *c = (tp_chosen){ .of = tp_emit_stretch_kernel(&g->x->a, g->v.n, g->v.v, g->meets), .blocks = 1 };
  TP_PUSH(&g->x->a, &d->more, c);
  return c;
}

static void end_stretch(gathering *g) {
  tp_device *d = g->x->device;
  int leaves = 0;
  for (int i = 0; i < g->v.n; i++)
    TP_EACH_NODE (k, g->v.v[i]) leaves += k.x->rg || k.x->kind == TP_P_LOAD;
  if (leaves > 1 && (g->v.n > 1 || g->v.v[0]->kind != TP_P_FOR)) {
    tp_chosen *c = stretch_of(g);
    c->chosen = true;
    d->begins[c->of->node->pos] = c;
    for (int i = 0; i < g->v.n; i++)
      TP_EACH_NODE (k, g->v.v[i]) {
        tp_chosen *in = tp_gpu_kernel_of(d, k.x);
        if (in) in->chosen = false;
      }
  }
  begin_stretch(g);
}

static void gather(gathering *g, const tp_pnode *x);

/* Adds x to the stretch, or ends that and begins another. */
static void join(gathering *g, const tp_pnode *x, bool again) {
  TP_EACH_NODE (k, x)
    for (int i = 0; k.x->rg && i < k.x->rg->nin + k.x->rg->nout; i++) {
      int buf = tp_window_at(k.x->rg, i)->buf;
      if (buf < 0 || g->outside[buf] || tp_in_arena(g->x->plan->bufs.v[buf])) continue;
      g->outside[buf] = true;
      g->noutside++;
    }
  g->meets |= tp_emit_stretch_add(g->s, x);
  g->small &= makes_little(g, x);
  if ((!g->meets || g->small) && g->noutside <= g->most) {
    TP_PUSH(&g->a, &g->v, x);
    return;
  }
  end_stretch(g);
  if (again) join(g, x, false);
  else if (!x->rg) gather(g, x);
}

const tp_pnode *tp_gpu_decided(const tp_exec *x, const tp_pnode *node) {
  if (node->kind != TP_P_IF || !tp_ix_of_bounds(node->cond)) return node;
  int branch = !tp_ix_evalq(node->cond, x->env);
  return branch < node->n ? node->kid[branch] : NULL;
}

/* SPILL and FETCH do nothing where kernels run. */
bool tp_gpu_does_nothing(const tp_pnode *x) {
  TP_EACH_NODE (k, x)
    if (k.x->kind != TP_P_SEQ && k.x->kind != TP_P_IF && k.x->kind != TP_P_SPILL &&
        k.x->kind != TP_P_FETCH)
      return false;
  return true;
}

int64_t tp_gpu_most_runs(const tp_exec *x, const tp_pnode *node) {
  int64_t runs = node && node->rg ? x->device->at[node->pos].runs : 0;
  for (int i = 0; node && node->kind == TP_P_SEQ && i < node->n; i++)
    runs = TP_MAX(runs, tp_gpu_most_runs(x, tp_gpu_decided(x, node->kid[i])));
  return runs;
}

static void gather_each(gathering *g, const tp_pnode *x) {
  if (!x || tp_gpu_does_nothing(x)) return;
  if (x->kind == TP_P_SEQ) {
    for (int i = 0; i < x->n; i++) gather_each(g, tp_gpu_decided(g->x, x->kid[i]));
  } else if (may_join(g, x)) join(g, x, true);
  else {
    end_stretch(g);
    gather(g, x);
  }
}

/* Finds stretches in what x contains, but not in a loop that is a kernel. */
static void gather(gathering *g, const tp_pnode *x) {
  const tp_chosen *c = x->kind == TP_P_FOR ? tp_gpu_kernel_of(g->x->device, x) : NULL;
  int64_t runs = g->runs;
  for (int i = 0; i < x->n && !(c && c->chosen); i++) {
    g->runs = tp_gpu_most_runs(g->x, x->kid[i]);
    begin_stretch(g);
    gather_each(g, x->kid[i]);
    end_stretch(g);
  }
  g->runs = runs;
}

/* Numbers that a kernel takes at most: symbols of bounds, of loops around, of ends by data. */
int tp_gpu_numbers(const tp_exec *x) {
  int n = 3 + x->nbound, deep = 0;
  TP_EACH_NODE (k, x->plan->body) {
    int loops = 0;
    for (const tp_pnode *q = k.x; q; q = q->up) loops += q->kind == TP_P_FOR;
    deep = TP_MAX(deep, loops);
    n += k.x->kind == TP_P_LOAD;
  }
  return n + deep;
}

static void choose_stretches(tp_exec *x) {
  tp_device *d = x->device;
  gathering g = { .x = x, .at = d->at };
  memset(d->begins, 0, sizeof *d->begins * (size_t)(x->plan->npos + 1));
  for (int i = 0; i < d->more.n; i++)
    if (d->more.v[i]->of->stretch) d->more.v[i]->chosen = false;
  if (tp_setting("TEMPO_KERNELS") && !strcmp(tp_setting("TEMPO_KERNELS"), "leaves")) return;
  tp_scratch_init(&g.a);
  g.outside = TP_NEWN(&g.a, bool, x->plan->bufs.n + 1);
  g.most = (d->driver->spec(d->dev)->parameters / 8 - tp_gpu_numbers(x)) / 2 - 2;
  begin_stretch(&g);
  g.runs = tp_gpu_most_runs(x, x->plan->body);
  gather_each(&g, x->plan->body);
  end_stretch(&g);
  tp_arena_free(&g.a);
}

void tp_gpu_choose_each(tp_exec *x) {
  choose(x, x->device->at);
  choose_stretches(x);
}
