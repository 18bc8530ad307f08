/* export_flow.c: prints a function for each stretch without a tick, and one that the host enters
 * again after each tick: a switch over the tick that it waits at, with loop variables in the
 * object. */
#include "emit/export/export.h"

typedef TP_VEC(const tp_pnode *) nodes;

static void put_group(exporter *w, nodes *group) {
  if (!group->n) return;
  tp_emit_function(
      &w->e, tp_printf(w->e.a, "static int tpx_part_%d", w->npart), group->v, group->n);
  tp_emit_line(&w->e, "if (tpx_part_%d(h)) return TPX_FAILED;\n", w->npart++);
  group->n = 0;
}

static void put_flow(exporter *w, const tp_pnode *x);

static void put_inner(exporter *w, const tp_pnode *x) {
  tp_emit *e = &w->e;
  for (int i = 0; i < x->n; i++) {
    int v = x->kind == TP_P_FOR ? x->var->id : 0;
    bool up = x->step > 0;
    if (x->kind == TP_P_FOR) {
      e->sym[v] = true;
      emit_open(e, "for (s%d = %s; s%d %s %s; s%d += %d) {\n", v, tp_emit_start(e, x, 0), v,
          up ? "<" : ">=", emit_ix(e, up ? x->hi : x->lo), v, x->step);
    } else if (i) emit_open(e, "else {\n");
    else emit_open(e, "if (%s) {\n", emit_ix(e, x->cond));
    put_flow(w, x->kid[i]);
    emit_shut(e, 1);
  }
}

static void collect(exporter *w, const tp_pnode *x, nodes *group) {
  if (tp_is_row(x)) {
    for (int i = 0; i < x->n; i++) collect(w, x->kid[i], group);
    return;
  }
  if (!tp_plan_ticks(w->e.p, x)) {
    TP_PUSH(w->e.a, group, x);
    return;
  }
  put_group(w, group);
  if (x->kind == TP_P_FOR || x->kind == TP_P_IF) put_inner(w, x);
  else {
    w->nstop++;
    tp_emit_line(&w->e, "h->at = %d;\n", w->nstop);
    tp_emit_line(&w->e, "return TPX_WAITS;\n");
    tp_emit_line(&w->e, "case %d:;\n", w->nstop);
  }
}

static void put_flow(exporter *w, const tp_pnode *x) {
  nodes group = { 0 };
  collect(w, x, &group);
  put_group(w, &group);
}

/* Prints the function that is entered again. Symbols are places in the object: they outlive a
 * step. */
static void put_run(tp_emit *e, tp_buf *c) {
  exporter *w = (exporter *)e;
  tp_buf b;
  tp_hold hold;
  tp_buf_hold(&b, &hold);
  e->done = c;
  e->b = &b;
  w->nstop = w->npart = e->nfn = 0;
  e->sym = TP_NEWN(e->a, bool, tp_nsym(e->ix));
  e->buf = TP_NEWN(e->a, bool, e->p->bufs.n + 1);
  e->depth = 1;
  put_flow(w, e->p->body);
  tp_puts(c, "\nenum { TPX_FAILED, TPX_WAITS, TPX_OVER };\n");
  for (int i = 0; i < tp_nsym(e->ix); i++)
    if (e->sym[i] && emit_is_settled(e, i))
      tp_putf(c, "#define s%d ((int64_t)%lld)\n", i, (long long)e->bounds[i]);
    else if (e->sym[i]) tp_putf(c, "#define s%d (h->env[%d])\n", i, i);
  tp_puts(c, "static int tpx_run(tp_host *h) {\n  switch (h->at) {\n  case 0:;\n");
  tp_putn(c, b.s ? b.s : "", b.n);
  tp_puts(c, "  }\n  return TPX_OVER;\n}\n");
  for (int i = 0; i < tp_nsym(e->ix); i++)
    if (e->sym[i]) tp_putf(c, "#undef s%d\n", i);
  c->failed |= b.failed;
  tp_buf_drop(&b, &hold);
}

void emit_runs(exporter *w, tp_buf *b) { emit_twice(&w->e, b, put_run); }
