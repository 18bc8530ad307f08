/* profile.c: counts how often and how long each region and compiled part ran.
 *
 * It is always on, so it must be cheap: it times the first executions, then about one in 64 at
 * irregular distances (the last iteration of a loop may be the dear one), which stand for the
 * others. Waits for a processor do not count: an execution takes no longer than the thread has run
 * since its clock was read shortly before. That clock is dear, so it is read at long executions,
 * and now and then. If the thread has waited longer than the time between that look and the
 * execution, it waited inside: the wait is taken off, or, where it would hide the execution, the
 * execution is not counted. Another thread gets its turn where a clock is read, and leaves cold
 * caches: the execution after a look is not timed, but the next. */
#include "run/priv.h"
#include "os/os.h"
#include <math.h>
#include <stdlib.h>

enum { FIRST = 16 };
#define LONG_ENOUGH 2e-5 /* seconds: it may have waited */
#define LOOK_EACH   1e-3
#define SHORTEST    1e-7 /* seconds: clocks tell it from 0 */

static void see_run(tp_exec *x) {
  x->ran = tp_os_thread_clock();
  x->looked = tp_now();
}

double tp_clock_begin(tp_exec *x, tp_clock *c) {
  bool looks = tp_now() - x->looked > LOOK_EACH;
  if (looks) see_run(x);
  c->looks = looks && !c->looks && c->calls > FIRST;
  c->next +=
      c->looks || c->calls <= FIRST ? 1 : 33 + (int64_t)((uint32_t)c->calls * 2654435761u >> 26);
  c->ran = x->ran, c->looked = x->looked;
  return tp_now();
}

/* An execution's time without waits, which began `before` after a look at the thread's clock; < 0:
 * the waits hide it, and it took that much at most. NaN and infinity of that clock: unknown. */
static double without_waits(tp_exec *x, const tp_clock *c, double took, double before) {
  see_run(x);
  double most = x->ran - c->ran, waited = x->looked - c->looked - most;
  if (waited > before && took - waited > before) return took - waited;
  if (most < took) took = most;
  return waited > before ? -took : took;
}

void tp_clock_end(tp_exec *x, tp_clock *c, double from) {
  double took = tp_now() - from;
  if (c->looks) return;
  if (took > LONG_ENOUGH) took = without_waits(x, c, took, from - c->looked);
  if (took < 0 && c->calls > FIRST) return;
  if (took < 0) took = c->calls > 1 ? c->first / (double)(c->calls - 1) : -took;
  if (c->calls <= FIRST) c->first += took;
  else c->later += took, c->nlater++, c->most = TP_MAX(c->most, took);
}

bool tp_dreg_run(tp_exec *x, tp_dreg *r) {
  tp_clock *c = r->clock;
  if (c->calls++ != c->next) return tp_dreg_execute(x, r);
  double from = tp_clock_begin(x, c);
  bool ok = tp_dreg_execute(x, r);
  tp_clock_end(x, c, from);
  return ok;
}

static double seconds_with(const tp_clock *c, bool trims) {
  double each = c->nlater ? (c->later - (trims ? c->most : 0)) / (double)(c->nlater - trims) : 0;
  return c->first + each * (double)TP_MAX(c->calls - FIRST, 0);
}

/* Seconds of all executions, without the longest: the host may have taken the processor away. */
double tp_clock_seconds(const tp_clock *c) {
  enum { TRIMMED = 4 };
  return seconds_with(c, c->nlater >= TRIMMED);
}

/* A region, a loop with a clock, or the rest of a part. */
typedef struct {
  const tp_dreg *r;
  const tp_inst *loop;
  int part;
  tp_clock clock;
  double s;
} profile_row;

static int dearest_first(const void *a, const void *b) {
  const profile_row *p = a, *q = b;
  return p->s != q->s      ? (p->s < q->s) - (p->s > q->s)
      : p->part != q->part ? p->part - q->part
      : p->r && q->r       ? p->r->pos - q->r->pos
                           : 0;
}

const char *tp_profile_name(const tp_exec *x, const tp_region *r) {
  return !r->who.name && r->nout && r->out[0].buf >= 0 ? x->plan->bufs.v[r->out[0].buf]->name
                                                       : r->who.name;
}

void tp_profile_work(tp_buf *b, const tp_region *r) {
  enum { SHOWN = 4 };
  static const char *const kinds[] = { [TP_RG_CALL] = "call", [TP_RG_PINIT] = "first value" };
  if (r->kind == TP_RG_OP) tp_puts(b, tp_ops[r->op].text);
  else if (r->kind != TP_RG_LOOP) tp_puts(b, kinds[r->kind]);
  else if (!r->nmicro) tp_puts(b, r->sums ? tp_red_name(r->red) : "copy");
  for (int i = 0; i < TP_MIN(r->nmicro, SHOWN); i++)
    tp_putf(b, "%s%s", i ? ", " : "", tp_ops[r->micro[i].op].text);
  if (r->nmicro > SHOWN) tp_putf(b, ", %d more", r->nmicro - SHOWN);
  if (r->acc) tp_puts(b, ", summed up");
}

/* Puts the average rate, the longest execution included, which may have most work; no rate if
 * nothing is counted or the time is too short. */
static void put_rate(tp_buf *b, double each, const tp_clock *c) {
  bool known = each > 0 && c->first + c->later >= SHORTEST;
  if (known) tp_putf(b, " %8.1f", each * (double)c->calls / seconds_with(c, false) * 1e-9);
  else tp_puts(b, "        -");
}

/* Counts one execution of the loop as a whole. */
static bool count_loop_once(const tp_exec *x, const tp_pnode *loop, tp_counted *all) {
  tp_arena a;
  int64_t turns;
  tp_scratch_init(&a);
  tp_counted *at = TP_NEWN(&a, tp_counted, x->plan->npos + 1);
  bool ok = tp_plan_count(x->plan, loop, x->env, at, &turns);
  for (int i = 0; i < x->plan->npos; i++) all->bytes += at[i].bytes, all->flops += at[i].flops;
  all->runs = 1;
  tp_arena_free(&a);
  return ok;
}

static void put_row(
    tp_buf *b, const tp_exec *x, const profile_row *w, const tp_counted *at, double total) {
  tp_counted loop = { 0 };
  const tp_counted *c = at && w->r && at[w->r->pos].runs ? &at[w->r->pos] : NULL;
  if (w->loop && count_loop_once(x, w->loop->node, &loop)) c = &loop;
  double n = (double)w->clock.calls;
  tp_putf(b, "%10.3f %6.1f%% %10lld %10.2f", w->s * 1e3, total > 0 ? 100 * w->s / total : 0,
      (long long)w->clock.calls, w->s * 1e6 / n);
  put_rate(b, c ? c->bytes / (double)c->runs : 0, &w->clock);
  put_rate(b, c ? c->flops / (double)c->runs : 0, &w->clock);
  tp_puts(b, "  ");
  tp_pos pos = w->loop ? tp_pnode_line(w->loop->node) : w->r ? w->r->rg->pos : TP_NOWHERE;
  const char *name = w->r ? tp_profile_name(x, w->r->rg) : NULL;
  if (pos.file) tp_putf(b, "%s:%d  ", pos.file, pos.line);
  if (name) tp_putf(b, "'%s' ", name);
  if (w->r) tp_profile_work(b, w->r->rg);
  else if (!w->loop) tp_putf(b, "native code, part %d of the plan", w->part);
  else
    tp_putf(b, "loop over %s, leaves: %d", w->loop->node->var->name, tp_plan_leaves(w->loop->node));
  tp_puts(b, "\n");
}

/* Seconds of the regions that n calls, and of other clocks inside. */
static double called(const tp_exec *x, const tp_pnode *n) {
  double s = 0;
  TP_EACH_NODE (k, n) {
    const tp_loopclock *l = &x->flow->loopclock[k.x->pos];
    if (k.x->rg && x->regat[k.x->pos]) s += tp_clock_seconds(x->regat[k.x->pos]->clock);
    if (k.x->kind == TP_P_FOR && l->clock.calls && x->flow->inst[l->inst].node == k.x)
      s += tp_clock_seconds(&l->clock);
  }
  return s;
}

static int list_rows(const tp_exec *x, tp_arena *a, profile_row *row) {
  tp_part *part;
  int n = 0, nparts = x->flow->partclock ? tp_plan_parts(x->plan, a, &part) : 0;
  for (int i = 0; i < x->nreg; i++)
    if (x->reg[i]->clock->calls)
      row[n++] = (profile_row){ x->reg[i], NULL, -1, *x->reg[i]->clock,
        tp_clock_seconds(x->reg[i]->clock) };
  for (int i = 0; nparts && i < x->plan->npos; i++) {
    const tp_loopclock *l = &x->flow->loopclock[i];
    if (l->clock.calls)
      row[n++] =
          (profile_row){ NULL, &x->flow->inst[l->inst], -1, l->clock, tp_clock_seconds(&l->clock) };
  }
  for (int i = 0; i < nparts; i++) {
    const tp_clock *c = &x->flow->partclock[i];
    double s = tp_clock_seconds(c);
    for (int k = 0; k < part[i].n; k++) s -= called(x, part[i].node[k]);
    if (c->calls) row[n++] = (profile_row){ NULL, NULL, i, *c, TP_MAX(s, 0) };
  }
  return n;
}

void tp_exec_profile(const tp_exec *x, int rows, tp_buf *b) {
  tp_arena a;
  tp_scratch_init(&a);
  profile_row *row = TP_NEWN(&a, profile_row, x->nreg + 2 * x->plan->npos + 1);
  tp_counted *at = TP_NEWN(&a, tp_counted, x->plan->npos + 1);
  const tp_speed *most = x->target->speed();
  int64_t turns;
  int n = list_rows(x, &a, row);
  long long calls = 0;
  double total = 0, rest = 0;
  for (int i = 0; i < n; i++) calls += row[i].clock.calls, total += row[i].s;
  if (n && !tp_plan_count(x->plan, x->plan->body, x->env, at, &turns)) at = NULL;
  qsort(row, (size_t)n, sizeof *row, dearest_first);
  tp_puts(b, "        ms   share      calls    us/call     GB/s  GFLOP/s  line  name  work\n");
  for (int i = 0; i < n; i++)
    if (i < rows) put_row(b, x, &row[i], n ? at : NULL, total);
    else rest += row[i].s;
  if (n > rows)
    tp_putf(b, "%10.3f %6.1f%%  of %d more\n", rest * 1e3, total > 0 ? 100 * rest / total : 0,
        n - rows);
  tp_putf(b,
      "%38s %8.1f %8.1f  one core of this machine: memory read and written, products of f32\n", "",
      most->bytes * 1e-9, most->flops * 1e-9);
  tp_putf(b, "%10.3f in %lld calls of %d regions\n", total * 1e3, calls, n);
  tp_arena_free(&a);
}
