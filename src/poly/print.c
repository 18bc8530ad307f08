/* print: the schedule and the storage, in the script's names, for explain and for specs. */
#include "poly/poly.h"

static void indent(tp_buf *b, int n) {
  for (int i = 0; i < n; i++) tp_puts(b, "  ");
}

static void put_run(tp_buf *b, const tp_poly *p, const tp_tree *t) {
  const tp_stmt *s = p->stmts.v[t->stmt];
  static const char *const mark[] = { [TP_ST_OP] = "", [TP_ST_INIT] = " = 0", [TP_ST_ACC] = " +=" };
  tp_puts(b, s->name);
  for (int d = 0; d < s->ndim; d++) {
    tp_puts(b, d ? ", " : "(");
    if (s->vec >> d & 1) {
      const tp_ix *lo, *hi;
      tp_run_range(p->g->ix, s, t, d, &lo, &hi);
      tp_ix_print(b, lo);
      tp_puts(b, " .. ");
      tp_ix_print(b, hi);
    } else tp_ix_print(b, t->arg[d]);
  }
  if (s->ndim) tp_puts(b, ")");
  tp_puts(b, mark[s->kind]);
  if (s->pos.file) tp_putf(b, "  -- %s:%d", s->pos.file, s->pos.line);
  tp_puts(b, "\n");
}

static void put_for(tp_buf *b, const tp_poly *p, const tp_tree *t) {
  tp_putf(b, "for %s = ", t->var->name);
  if (t->step > 0) {
    tp_ix_print(b, t->lo);
    tp_puts(b, " .. ");
    tp_ix_print(b, t->hi);
  } else {
    tp_ix_print(b, tp_ix_addc(p->g->ix, t->hi, -1));
    tp_puts(b, " down to ");
    tp_ix_print(b, t->lo);
  }
  if (t->step > 1 || t->step < -1) tp_putf(b, " by %d", t->step);
  tp_puts(b, t->parallel ? " parallel {\n" : " {\n");
}

static void put_tree(tp_buf *b, const tp_poly *p, const tp_tree *t, int depth) {
  if (t->kind == TP_T_SEQ) {
    for (int i = 0; i < t->n; i++) put_tree(b, p, t->kid[i], depth);
    return;
  }
  indent(b, depth);
  if (t->kind == TP_T_RUN) { put_run(b, p, t); return; }
  if (t->kind == TP_T_FOR) put_for(b, p, t);
  else {
    tp_puts(b, "if ");
    tp_ix_print(b, t->cond);
    tp_puts(b, " {\n");
  }
  put_tree(b, p, t->kid[0], depth + 1);
  indent(b, depth);
  if (t->kind == TP_T_IF && t->n > 1) {
    tp_puts(b, "} else {\n");
    put_tree(b, p, t->kid[1], depth + 1);
    indent(b, depth);
  }
  tp_puts(b, "}\n");
}

void tp_poly_print_schedule(tp_buf *b, const tp_poly *p) {
  if (p->tree) put_tree(b, p, p->tree, 0);
}

void tp_poly_print_storage(tp_buf *b, const tp_poly *p) {
  static const char *const kind[] = { "temp", "input", "const", "output", "param" };
  for (int i = 0; i < p->arrs.n; i++) {
    const tp_arr *x = p->arrs.v[i];
    tp_putf(b, "%s %s", kind[x->kind], x->name ? x->name : "?");
    for (int d = 0; d < x->ndim; d++) {
      tp_putf(b, "%s%s: ", d ? ", " : " (", x->dim[d]->name);
      tp_ix_print(b, x->width[d]);
    }
    if (x->ndim) tp_puts(b, ")");
    for (int d = 0; d < x->ndim; d++)
      if (x->kind == TP_ARR_TEMP && x->why[d][0]) tp_putf(b, "; %s: %s", x->dim[d]->name, x->why[d]);
    tp_puts(b, "\n");
  }
}
