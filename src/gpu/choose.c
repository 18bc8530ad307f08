/* choose.c: chooses the kernels of a plan for given bounds, by counts of work. A loop whose leaves
 * are small is one kernel; of large ones each is one. A loop whose leaves can all be cut along one
 * axis, and whose shares never meet, goes by rows. */
#include "gpu/exec.h"

enum {
  /* a loop is one kernel if its leaves make at most so many elements or operations each */
  LOOP_WORK = 1 << 16,
  /* a leaf that runs so seldom and makes so little stays on the host */
  FEW_RUNS = 2,
  LITTLE = 1 << 12,
  MOST_TRIED = 4096 /* values of a loop's variable */
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

static void note_rows(void *ud, const tp_pnode *n, const int64_t *lo, const int64_t *hi) {
  by_rows *y = ud;
  int at = n->pos - y->of->node->pos;
  if (!n->rg || at < 0 || n->pos > y->of->node->lastpos) return;
  for (int i = 0; i < n->rg->nin + n->rg->nout; i++) {
    int buf = tp_window_at(n->rg, i)->buf;
    int64_t step;
    if (buf < 0) continue;
    bool own = is_own(y, n->rg, at, i, lo, hi, &step);
    y->written[buf] |= i >= n->rg->nin;
    y->bad[buf] |= !own || (y->step[buf] && y->step[buf] != step);
    y->step[buf] = own ? step : 0;
  }
}

/* May shares of the loop's rows run apart? No two rows meet in a buffer that is written. */
static bool runs_by_rows(tp_exec *x, const tp_kernel *of) {
  if (!of->rows || tp_ix_evalq(of->rows->share.whole, x->env) <= 1) return false;
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
    k->blocks = rows ? TP_MIN(tp_ix_evalq(k->of->rows->share.whole, x->env), d->noting) : 1;
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
  }
}

/* Makes those kernels that are chosen for the first time. */
static bool build(tp_exec *x) {
  tp_device *d = x->device;
  int n = 0;
  for (int i = 0; i < d->n; i++) n += d->kernel[i].chosen && !d->kernel[i].fn;
  if (!n) return true;
  tp_kernel **v = TP_NEWN(&x->a, tp_kernel *, n);
  n = 0;
  for (int i = 0; i < d->n; i++)
    if (d->kernel[i].chosen && !d->kernel[i].fn) v[n++] = d->kernel[i].of;
  tp_buf text;
  tp_hold hold;
  tp_buf_hold(&text, &hold);
  tp_emit_kernels(&text, x->plan, &x->a, v, n);
  if (text.failed) tp_oom();
  if (tp_dump_wanted("kernels")) fputs(text.s, stderr);
  tp_gmodule *m = d->driver->build(d->dev, text.s, x->err);
  for (int i = 0; m && i < d->n; i++)
    if (d->kernel[i].chosen && !d->kernel[i].fn &&
        !(d->kernel[i].fn = d->driver->kernel(m, d->kernel[i].of->name, x->err)))
      m = NULL;
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
  return d->ready = build(x);
}
