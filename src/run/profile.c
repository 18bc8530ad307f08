/* profile.c: how often each region ran and how long that took. It is always on, so it may cost next to nothing: the first executions of a region are timed,
 * then about one in 64, at irregular distances (a loop whose last iteration is the dear one shall not hide), and these stand for the others. */
#include "run/priv.h"
#include <stdlib.h>

enum { FIRST = 16 };

static bool run_timed(tp_exec *x, tp_dreg *r) {
  tp_clock *c = r->clock;
  bool first = c->calls <= FIRST;
  c->next += first ? 1 : 33 + (int64_t)((uint32_t)c->calls * 2654435761u >> 26);
  double from = tp_now();
  bool ok = tp_dreg_execute(x, r);
  double took = tp_now() - from;
  if (first) c->first += took;
  else c->later += took, c->nlater++;
  return ok;
}

bool tp_dreg_run(tp_exec *x, tp_dreg *r) { return r->clock->calls++ == r->clock->next ? run_timed(x, r) : tp_dreg_execute(x, r); }

/* ---- the table ---- */

static double seconds(const tp_dreg *r) {
  const tp_clock *c = r->clock;
  return c->first + (c->nlater ? c->later * (double)(c->calls - FIRST) / (double)c->nlater : 0);
}

static int dearest_first(const void *a, const void *b) {
  const tp_dreg *p = *(tp_dreg *const *)a, *q = *(tp_dreg *const *)b;
  double s = seconds(p), t = seconds(q);
  return s != t ? (s < t) - (s > t) : p->pos - q->pos;
}

static const char *name_of(const tp_exec *x, const tp_region *r) {
  return !r->who.name && r->nout && r->out[0].buf >= 0 ? x->plan->bufs.v[r->out[0].buf]->name : r->who.name;
}

static void put_work(tp_buf *b, const tp_region *r) {
  enum { SHOWN = 4 };
  static const char *const kinds[] = { [TP_RG_CALL] = "call", [TP_RG_PINIT] = "first value" };
  if (r->kind == TP_RG_OP) tp_puts(b, tp_ops[r->op].text);
  else if (r->kind != TP_RG_LOOP) tp_puts(b, kinds[r->kind]);
  else if (!r->nmicro) tp_puts(b, r->sums ? tp_red_name(r->red) : "copy");
  for (int i = 0; i < TP_MIN(r->nmicro, SHOWN); i++) tp_putf(b, "%s%s", i ? ", " : "", tp_ops[r->micro[i].op].text);
  if (r->nmicro > SHOWN) tp_putf(b, ", %d more", r->nmicro - SHOWN);
  if (r->acc) tp_puts(b, ", summed up");
}

static void put_row(tp_buf *b, const tp_exec *x, const tp_dreg *r, double total) {
  double s = seconds(r);
  tp_pos pos = r->rg->pos;
  const char *name = name_of(x, r->rg);
  tp_putf(b, "%10.3f %6.1f%% %10lld %10.2f  ", s * 1e3, total > 0 ? 100 * s / total : 0, (long long)r->clock->calls, s * 1e6 / (double)r->clock->calls);
  if (pos.file) tp_putf(b, "%s:%d  ", pos.file, pos.line);
  if (name) tp_putf(b, "'%s' ", name);
  put_work(b, r->rg);
  tp_puts(b, "\n");
}

void tp_exec_profile(const tp_exec *x, int rows, tp_buf *b) {
  tp_arena a;
  tp_scratch_init(&a);
  tp_dreg **order = TP_NEWN(&a, tp_dreg *, x->nreg);
  int n = 0;
  long long calls = 0;
  double total = 0, rest = 0;
  for (int i = 0; i < x->nreg; i++) {
    if (!x->reg[i]->clock->calls) continue;
    order[n++] = x->reg[i];
    calls += x->reg[i]->clock->calls;
    total += seconds(x->reg[i]);
  }
  qsort(order, (size_t)n, sizeof *order, dearest_first);
  tp_puts(b, "        ms   share      calls    us/call  line  name  work\n");
  for (int i = 0; i < n; i++)
    if (i < rows) put_row(b, x, order[i], total);
    else rest += seconds(order[i]);
  if (n > rows) tp_putf(b, "%10.3f %6.1f%%  of %d more\n", rest * 1e3, total > 0 ? 100 * rest / total : 0, n - rows);
  tp_putf(b, "%10.3f in %lld calls of %d regions\n", total * 1e3, calls, n);
  tp_arena_free(&a);
}
