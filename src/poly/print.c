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

/* ---- storage ---- */

static const tp_ix *bytes_of(const tp_poly *p, const tp_arr *x) {
  tp_ictx *ix = p->g->ix;
  const tp_ix *n = tp_ix_const(ix, tp_dtype_size(x->dtype));
  for (int d = 0; d < x->ndim; d++) n = tp_ix_mul(ix, n, x->width[d]);
  for (int i = 0; i < x->rank; i++) n = tp_ix_mul(ix, n, tp_ix_upper(ix, x->shape[i], x->ndim, x->dim));
  return n;
}

static void put_shape(tp_buf *b, const tp_poly *p, const tp_arr *x) {
  tp_putf(b, "; %s", tp_dtype_name(x->dtype));
  for (int i = 0; i < x->rank; i++) {
    tp_puts(b, i ? ", " : "[");
    tp_ix_print(b, tp_ix_upper(p->g->ix, x->shape[i], x->ndim, x->dim));
  }
  if (x->rank) tp_puts(b, "]");
}

static void put_bytes(tp_buf *b, const tp_ix *n, const int64_t *env) {
  int64_t v;
  tp_puts(b, ", ");
  tp_ix_print(b, n);
  tp_puts(b, " bytes");
  if (env && !tp_ix_is_const(n, NULL) && tp_ix_eval(n, env, &v)) tp_putf(b, " = %lld", (long long)v);
}

static const char *kind_of(const tp_poly *p, const tp_arr *x, int d) {
  int64_t n;
  if (tp_ix_is_const(x->width[d], &n) && n == 1) return "point";
  return x->width[d] == tp_ix_sym(p->g->ix, x->dim[d]->bound) ? "dense" : "ring";
}

static void put_array(tp_buf *b, const tp_poly *p, const tp_arr *x, const int64_t *env) {
  static const char *const kind[] = { "temp", "input", "const", "output", "param" };
  tp_putf(b, "%s %s", kind[x->kind], x->name ? x->name : "?");
  for (int d = 0; d < x->ndim; d++) {
    tp_putf(b, "%s%s: ", d ? ", " : " (", x->dim[d]->name);
    tp_ix_print(b, x->width[d]);
  }
  if (x->ndim) tp_puts(b, ")");
  put_shape(b, p, x);
  put_bytes(b, bytes_of(p, x), env);
  for (int d = 0; d < x->ndim && x->kind == TP_ARR_TEMP; d++)
    tp_putf(b, "; %s: %s%s%s", x->dim[d]->name, kind_of(p, x, d), x->why[d][0] ? ", " : "", x->why[d]);
  tp_puts(b, "\n");
}

/* Operators that have no array: their values live inside the statement that uses them. */
static void put_fused(tp_buf *b, const tp_poly *p, const tp_stmt *s, bool *said) {
  for (int i = 0; i < s->nnode; i++) {
    const tp_node *n = s->node[i];
    if (n == s->of || said[n->id] || p->mode[n->id] != TP_V_STORED || n->op == TP_OP_PINIT || tp_array_of(p, tp_v((tp_node *)n))) continue;
    said[n->id] = true;
    tp_putf(b, "fused %s\n", p->title[n->id]);
  }
}

void tp_poly_print_storage(tp_buf *b, const tp_poly *p, const int64_t *env) {
  for (int i = 0; i < p->arrs.n; i++) put_array(b, p, p->arrs.v[i], env);
  tp_arena a;
  tp_scratch_init(&a);
  bool *said = TP_NEWN(&a, bool, p->g->nodes.n);
  for (int i = 0; i < p->stmts.n; i++) put_fused(b, p, p->stmts.v[i], said);
  tp_arena_free(&a);
}
