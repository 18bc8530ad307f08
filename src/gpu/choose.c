/* choose.c: chooses the kernels of a plan for given bounds, by counts of work. A loop whose leaves
 * are small is one kernel; of large ones each is one. A loop whose leaves can all be cut along one
 * axis, and whose shares never meet, goes by rows. Leaves and branches that follow each other, and
 * short loops, are one kernel, a stretch, if its threads meet nowhere, or each leaf is small. Where all of a
 * loop is kernels by now, and blocks can wait for each other, the loop is one kernel, these its
 * parts. */
#include "gpu/exec.h"

enum {
  /* a loop is one kernel if its leaves make at most so many elements or operations each */
  LOOP_WORK = 1 << 16,
  /* a leaf that runs so seldom and makes so little stays on the host */
  FEW_RUNS = 2,
  LITTLE = 1 << 12,
  /* parts of a loop are one kernel if they make so many each, for then meetings count */
  PART_WORK = 1 << 24,
  MOST_SUMS = 1 << 26, /* bytes that blocks of a loop by rows add up to */
  MOST_TRIED = 4096    /* values of a loop's variable */
};

bool tp_gpu_is_around(const tp_pnode *loop, const tp_pnode *x) {
  while (x && x != loop) x = x->up;
  return x != NULL;
}

typedef struct {
  int64_t runs;
  double work;
} amount;

static amount amount_of(const tp_exec *x, const tp_pnode *node, const tp_counted *at) {
  amount a = { 0 };
  TP_EACH_NODE (k, node) {
    if (!k.x->rg) continue;
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

int64_t tp_gpu_sums(const tp_exec *x, const tp_kernel *of, int64_t *at) {
  int64_t end = 0;
  for (int i = 0; i < of->rows->nadded; i++) {
    int buf = of->rows->added[i];
    if (at) at[i] = end;
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
      tp_times_bytes(tp_gpu_sums(x, of, NULL), blocks_of(x, of)) > MOST_SUMS)
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

static bool holds_rows(const tp_device *d, const tp_chosen *loop) {
  for (int i = 0; i < d->n; i++)
    if (d->kernel[i].of->by_rows && tp_gpu_is_around(loop->of->node, d->kernel[i].of->node))
      return true;
  return false;
}

static void choose(tp_exec *x, const tp_counted *at) {
  tp_device *d = x->device;
  /* for tests: "all" whatever it costs, or "leaves" alone */
  const char *asked = tp_setting("TEMPO_KERNELS");
  bool leaves = asked && !strcmp(asked, "leaves");
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
    amount a = amount_of(x, k->of->node, at);
    double each = a.work / (double)TP_MAX(a.runs, 1) / (double)k->blocks;
    k->chosen = a.runs && !(inside && tp_gpu_is_around(inside, k->of->node));
    if (asked) k->chosen &= !leaves || !k->of->loop;
    else if (k->of->loop)
      k->chosen &= each <= (!k->of->by_rows && holds_rows(d, k) ? TP_KERNEL_THREADS : LOOP_WORK);
    else k->chosen &= a.runs > FEW_RUNS || a.work > LITTLE;
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

static tp_chosen *kernel_of(const tp_device *d, const tp_pnode *node) {
  for (int i = 0; i < d->n; i++)
    if (d->kernel[i].of->node == node) return &d->kernel[i];
  return NULL;
}

static bool makes_little(const gathering *g, const tp_pnode *x) {
  TP_EACH_NODE (k, x) {
    amount a = amount_of(g->x, k.x, g->at);
    int64_t runs = k.x->kind == TP_P_FOR ? g->runs : a.runs;
    if ((k.x->rg || k.x->kind == TP_P_FOR) && a.work > (double)TP_MAX(runs, 1) * LOOP_WORK)
      return false;
    if (k.x->kind == TP_P_FOR) tp_tour_skip(&k);
  }
  return true;
}

/* May it be in a stretch? A node that never runs may, a loop if all of it makes little. */
static bool may_join(const gathering *g, const tp_pnode *x) {
  const tp_device *d = g->x->device;
  if (!tp_emit_stretch_takes(g->s, x)) return false;
  TP_EACH_NODE (k, x) {
    const tp_chosen *c = k.x->rg ? d->leaf[k.x->pos] : NULL,
                    *loop = k.x->kind == TP_P_FOR ? kernel_of(d, k.x) : NULL;
    if (loop && (loop->of->by_rows || !g->runs || !makes_little(g, k.x))) return false;
    /* a product goes by tiles, or by the library */
    if (k.x->rg && k.x->rg->op == TP_OP_MATMUL && !makes_little(g, k.x)) return false;
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
    TP_EACH_NODE (k, g->v.v[i]) leaves += k.x->rg != NULL;
  if (leaves > 1 && (g->v.n > 1 || g->v.v[0]->kind != TP_P_FOR)) {
    tp_chosen *c = stretch_of(g);
    c->chosen = true;
    d->begins[c->of->node->pos] = c;
    for (int i = 0; i < g->v.n; i++)
      TP_EACH_NODE (k, g->v.v[i]) {
        tp_chosen *in = k.x->rg || k.x->kind == TP_P_FOR ? kernel_of(d, k.x) : NULL;
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

/* The branch that bounds decide for; NULL: none; x: they decide nothing. */
static const tp_pnode *decided(const gathering *g, const tp_pnode *x) {
  if (x->kind != TP_P_IF || !tp_ix_of_bounds(x->cond)) return x;
  int branch = !tp_ix_evalq(x->cond, g->x->env);
  return branch < x->n ? x->kid[branch] : NULL;
}

/* SPILL and FETCH do nothing where kernels run. */
static bool does_nothing(const tp_pnode *x) {
  TP_EACH_NODE (k, x)
    if (k.x->kind != TP_P_SEQ && k.x->kind != TP_P_IF && k.x->kind != TP_P_SPILL &&
        k.x->kind != TP_P_FETCH)
      return false;
  return true;
}

static int64_t most_runs(const gathering *g, const tp_pnode *x) {
  int64_t runs = x && x->rg ? g->at[x->pos].runs : 0;
  for (int i = 0; x && x->kind == TP_P_SEQ && i < x->n; i++)
    runs = TP_MAX(runs, most_runs(g, decided(g, x->kid[i])));
  return runs;
}

static void gather_each(gathering *g, const tp_pnode *x) {
  if (!x || does_nothing(x)) return;
  if (x->kind == TP_P_SEQ) {
    for (int i = 0; i < x->n; i++) gather_each(g, decided(g, x->kid[i]));
  } else if (may_join(g, x)) join(g, x, true);
  else {
    end_stretch(g);
    gather(g, x);
  }
}

/* Finds stretches in what x contains, but not in a loop that is a kernel. */
static void gather(gathering *g, const tp_pnode *x) {
  const tp_chosen *c = x->kind == TP_P_FOR ? kernel_of(g->x->device, x) : NULL;
  int64_t runs = g->runs;
  for (int i = 0; i < x->n && !(c && c->chosen); i++) {
    g->runs = most_runs(g, x->kid[i]);
    begin_stretch(g);
    gather_each(g, x->kid[i]);
    end_stretch(g);
  }
  g->runs = runs;
}

/* Numbers that a kernel takes at most: symbols of bounds, of loops around, of ends by data. */
static int most_numbers(const tp_exec *x) {
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
  g.most = (d->driver->spec(d->dev)->parameters / 8 - most_numbers(x)) / 2 - 2;
  begin_stretch(&g);
  g.runs = most_runs(&g, x->plan->body);
  gather_each(&g, x->plan->body);
  end_stretch(&g);
  tp_arena_free(&g.a);
}

/* ---- loops of parts ---- */

typedef struct {
  tp_exec *x;
  tp_arena a;
  int after; /* the last position of parts so far */
  TP_VEC(tp_chosen *) part;
} parting;

static bool take_part(parting *p, tp_chosen *k) {
  TP_PUSH(&p->a, &p->part, k);
  if (k->sums && k->sums->chosen) TP_PUSH(&p->a, &p->part, k->sums);
  p->after = k->of->all[k->of->n - 1]->lastpos;
  return true;
}

/* A leaf that never runs is none. A product that the library may make is on its own. */
static bool take_leaf(parting *p, const tp_pnode *leaf) {
  const tp_counted *at = &p->x->device->at[leaf->pos];
  tp_chosen *k = p->x->device->leaf[leaf->pos];
  bool product = leaf->rg->op == TP_OP_MATMUL &&
      at->flops / (double)TP_MAX(at->runs, 1) >= 2 * TP_TUNE_GPU_PRODUCT;
  return !at->runs || (k && !product && take_part(p, k));
}

/* Finds the kernels of what x contains, if there are some for all that runs. */
static bool take_parts(parting *p, const tp_pnode *x) {
  tp_chosen *k = kernel_of(p->x->device, x), *s = p->x->device->begins[x->pos];
  if (x->kind == TP_P_SPILL || x->kind == TP_P_FETCH || does_nothing(x)) return true;
  if (x->rg && x->pos <= p->after) return true;
  if (s && s->chosen && s->of->node == x) return take_part(p, s);
  if (x->rg) return take_leaf(p, x);
  if (x->kind == TP_P_FOR && k && k->chosen) return take_part(p, k);
  if (x->kind == TP_P_IF && tp_ix_of_bounds(x->cond)) {
    int branch = !tp_ix_evalq(x->cond, p->x->env);
    return branch >= x->n || take_parts(p, x->kid[branch]);
  }
  if (x->kind != TP_P_FOR && x->kind != TP_P_IF && x->kind != TP_P_SEQ) return false;
  for (int i = 0; i < x->n; i++)
    if (!take_parts(p, x->kid[i])) return false;
  return true;
}

/* Are the buffers of these outside of the arena too many for a kernel's parameters? */
static bool has_room(const parting *p, const tp_pnode *loop) {
  const tp_device *d = p->x->device;
  int n = 0, all = p->x->plan->bufs.n;
  bool *seen = TP_NEWN((tp_arena *)&p->a, bool, all + 1);
  TP_EACH_NODE (k, loop)
    for (int i = 0; k.x->rg && i < k.x->rg->nin + k.x->rg->nout; i++) {
      int buf = tp_window_at(k.x->rg, i)->buf;
      if (buf < 0 || seen[buf] || tp_in_arena(p->x->plan->bufs.v[buf])) continue;
      seen[buf] = true, n++;
    }
  return n <= (d->driver->spec(d->dev)->parameters / 8 - most_numbers(p->x)) / 2 - 3;
}

static bool same_part(const tp_kernel *a, const tp_kernel *b) {
  return a->all == b->all && a->by_rows == b->by_rows && a->sums == b->sums;
}

/* The loop of these parts, which an earlier call may have had. */
static tp_chosen *parts_of(const parting *p, const tp_pnode *loop) {
  tp_device *d = p->x->device;
  int n = p->part.n;
  const tp_kernel **v = TP_NEWN(&p->x->a, const tp_kernel *, n);
  for (int i = 0; i < n; i++) v[i] = p->part.v[i]->of;
  for (int i = 0; i < d->more.n; i++) {
    const tp_kernel *k = d->more.v[i]->of;
    bool same = k->node == loop && k->nparts == n;
    for (int q = 0; q < n && same; q++) same = same_part(&k->part[q], v[q]);
    if (same) return d->more.v[i];
  }
  tp_chosen *c = TP_NEW(&p->x->a, tp_chosen);
  *c = (tp_chosen){ .of = tp_emit_parts_kernel(&p->x->a, loop, n, v) };
  TP_PUSH(&p->x->a, &d->more, c);
  return c;
}

/* Is it worth one kernel, in place of one for each part? */
static bool join_parts(tp_exec *x, const tp_pnode *loop) {
  parting p = { .x = x, .after = -1 };
  tp_scratch_init(&p.a);
  amount a = amount_of(x, loop, x->device->at);
  bool ok = a.runs && a.work <= PART_WORK * (double)a.runs && take_parts(&p, loop->kid[0]) &&
      p.part.n > 1 && has_room(&p, loop);
  if (ok) {
    parts_of(&p, loop)->chosen = true;
    for (int i = 0; i < p.part.n; i++) p.part.v[i]->chosen = false;
  }
  tp_arena_free(&p.a);
  return ok;
}

static void choose_parts(tp_exec *x) {
  tp_device *d = x->device;
  for (int i = 0; i < d->more.n; i++)
    if (d->more.v[i]->of->nparts) d->more.v[i]->chosen = false;
  if (!d->driver->spec(d->dev)->together || tp_setting("TEMPO_KERNELS")) return;
  int after = -1; /* the last position of stretches so far */
  TP_EACH_NODE (k, x->plan->body) {
    const tp_chosen *c = k.x->kind == TP_P_FOR ? kernel_of(d, k.x) : NULL, *s = d->begins[k.x->pos];
    if (s && s->chosen && s->of->node == k.x) after = s->of->all[s->of->n - 1]->lastpos;
    bool is = k.x->kind == TP_P_FOR && ((c && c->chosen) || k.x->lastpos <= after);
    if (is || (k.x->kind == TP_P_FOR && join_parts(x, k.x))) tp_tour_skip(&k);
  }
}

/* ---- building ---- */

/* Makes those kernels that are chosen for the first time. */
static bool build(tp_exec *x) {
  tp_device *d = x->device;
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
  tp_emit_kernels(&text, x->plan, &x->a, v, n);
  if (text.failed) tp_oom();
  if (tp_dump_wanted("kernels")) fputs(text.s, stderr);
  tp_gmodule *m = d->driver->build(d->dev, text.s, x->err);
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
  choose(x, d->at);
  choose_stretches(x);
  choose_parts(x);
  return d->ready = build(x);
}
