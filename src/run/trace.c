/* trace.c: writes the profile for chrome://tracing and Perfetto: the plan's tree, in which each
 * region, loop and compiled part is as long as in all runs so far, one after the other. */
#include "run/priv.h"
#include "io/io.h"

/* bytes of the character; 0: not UTF-8 */
static int utf8_length(const unsigned char *s) {
  int c = *s, n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
  for (int k = 1; k < n; k++)
    if ((s[k] & 0xc0) != 0x80) return 0;
  int two = n < 3 ? 0 : c << 8 | s[1]; /* too long, surrogates, beyond the last */
  bool none = (two >= 0xe000 && two < 0xe0a0) || (two >= 0xeda0 && two < 0xee00) ||
      (two >= 0xf000 && two < 0xf090) || two >= 0xf490;
  return none ? 0 : n;
}

static void put_escaped(tp_buf *b, const char *text) {
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    int n = utf8_length(s);
    if (*s == '"' || *s == '\\') tp_putf(b, "\\%c", *s);
    else if (*s < 0x20) tp_putf(b, "\\u%04x", *s);
    else if (!n) tp_puts(b, "?");
    else tp_putn(b, (const char *)s, (size_t)n);
    s += TP_MAX(n, 1);
  }
}

/* at: by position; next: part; began: its begin */
typedef struct {
  const tp_exec *x;
  const tp_counted *at;
  tp_part *part;
  int nparts, next;
  double began;
  tp_buf b;
} trace;

/* Times are integers, so that inner events stay inside. */
static void put_event(trace *t, const char *kind, const char *name, double from, double to) {
  long long ns = (long long)(from * 1e9), took = (long long)(to * 1e9) - ns;
  tp_putf(&t->b,
      "%s\n{\"ph\":\"X\",\"pid\":1,\"tid\":0,\"ts\":%lld.%03d,\"dur\":%lld.%03d,\"cat\":\"%s\","
      "\"name\":\"",
      t->b.n > 1 ? "," : "", ns / 1000, (int)(ns % 1000), took / 1000, (int)(took % 1000), kind);
  put_escaped(&t->b, name);
  tp_puts(&t->b, "\",\"args\":{");
}

static void put_line(trace *t, tp_pos pos) {
  tp_puts(&t->b, "\"line\":\"");
  put_escaped(&t->b, pos.file ? pos.file : "?");
  tp_putf(&t->b, ":%d\"}}", pos.line);
}

static double put_leaf(trace *t, const tp_dreg *r, double at) {
  const char *name = tp_profile_name(t->x, r->rg);
  const tp_counted *c = &t->at[r->pos];
  double to = at + tp_clock_seconds(r->clock), n = (double)TP_MAX(c->runs, 1);
  tp_buf work;
  tp_buf_init(&work);
  tp_profile_work(&work, r->rg);
  put_event(t, "leaf", work.failed ? "?" : work.s, at, to);
  tp_buf_free(&work);
  if (name) {
    tp_puts(&t->b, "\"tensor\":\"");
    put_escaped(&t->b, name);
    tp_puts(&t->b, "\",");
  }
  tp_putf(&t->b, "\"calls\":%lld,\"bytes\":%.0f,\"flops\":%.0f,", (long long)r->clock->calls,
      c->bytes / n, c->flops / n);
  put_line(t, r->rg->pos);
  return to;
}

static double put_tree(trace *t, const tp_pnode *n, double at);

static double put_inside(trace *t, const tp_pnode *n, double at) {
  const tp_flow *f = t->x->flow;
  const tp_loopclock *l = f->loopclock && n->kind == TP_P_FOR ? &f->loopclock[n->pos] : NULL;
  double to = at;
  const tp_dreg *r = n->kind == TP_P_REGION ? t->x->regat[n->pos] : NULL;
  if (r) return r->clock->calls ? put_leaf(t, r, at) : at;
  for (int i = 0; i < n->n; i++) to = put_tree(t, n->kid[i], to);
  if (l && l->clock.calls && f->inst[l->inst].node == n)
    to = TP_MAX(to, at + tp_clock_seconds(&l->clock));
  if (n->kind != TP_P_FOR || to == at) return to;
  put_event(t, "loop", n->var->name, at, to);
  put_line(t, tp_pnode_line(n));
  return to;
}

/* Puts n and all below, from time `at` on. A compiled part is a run of neighbours. */
static double put_tree(trace *t, const tp_pnode *n, double at) {
  const tp_part *p = t->next < t->nparts ? &t->part[t->next] : NULL;
  char name[64];
  if (p && p->node[0] == n) t->began = at;
  at = put_inside(t, n, at);
  if (!p || p->node[p->n - 1] != n) return at;
  at = TP_MAX(at, t->began + tp_clock_seconds(&t->x->flow->partclock[t->next]));
  snprintf(name, sizeof name, "native code, part %d", t->next++);
  if (at > t->began)
    put_event(t, "part", name, t->began, at), put_line(t, tp_pnode_line(p->node[0]));
  return at;
}

bool tp_exec_trace(const tp_exec *x, const char *path, tp_error *err) {
  tp_arena a;
  int64_t turns;
  tp_scratch_init(&a);
  tp_counted *at = TP_NEWN(&a, tp_counted, x->plan->npos + 1);
  trace t = { .x = x, .at = at };
  tp_buf_init(&t.b);
  if (!tp_plan_count(x->plan, x->plan->body, x->env, at, &turns)) tp_oom();
  if (x->flow->partclock) t.nparts = tp_plan_parts(x->plan, &a, &t.part);
  tp_puts(&t.b, "[");
  put_tree(&t, x->plan->body, 0);
  tp_puts(&t.b, "\n]\n");
  bool ok =
      t.b.failed ? tp_no_memory(err, TP_NOWHERE) : tp_file_replace(path, tp_file_text, &t.b, err);
  tp_buf_free(&t.b);
  tp_arena_free(&a);
  return ok;
}
