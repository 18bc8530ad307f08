/* print: the schedule and the storage, in the script's names, for explain and for specs.
 *
 * A line of the schedule is "h[t] = matmul add tanh(h[t - 1], u, x[t])  -- net.lua:10": the
 * elements that a call writes, the operators in it, what it reads from storage, the line that asked
 * for it. Loop variables carry the dims' names; the plan's own are told apart by numbers. */
#include "poly/poly.h"
#include <ctype.h>
#include <stdlib.h>

/* COLUMN: where comments start; READS: reads that one line tells */
enum { COLUMN = 72, READS = 6 };

/* the loops around */
typedef struct named {
  tp_sym *var;
  const char *name;
  const struct named *up;
} named;
typedef struct {
  tp_buf *b;
  const tp_poly *p;
  tp_arena *a;
  const named *in;
  int depth;
} pr;

/* ---- expressions, with loop variables by their names ---- */

static const char *called_var(const pr *x, const char *id, size_t n) {
  for (const named *l = x->in; l; l = l->up)
    if (strlen(l->var->name) == n && !memcmp(l->var->name, id, n)) return l->name;
  return NULL;
}

static void put_ix(const pr *x, tp_buf *b, tp_ix *e) {
  tp_buf raw;
  tp_hold mine;
  tp_buf_hold(&raw, &mine);
  tp_ix_print(&raw, e);
  for (const char *s = raw.s ? raw.s : ""; *s;) {
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    const char *as = n && !isdigit((unsigned char)*s) ? called_var(x, s, n) : NULL;
    if (as) tp_puts(b, as);
    else tp_putn(b, s, n ? n : 1);
    s += n ? n : 1;
  }
  tp_buf_drop(&raw, &mine);
}

static void put_range(const pr *x, tp_buf *b, tp_ix *lo, tp_ix *hi) {
  put_ix(x, b, lo);
  tp_puts(b, " .. ");
  put_ix(x, b, hi);
}

/* ---- one call ---- */

typedef struct {
  const tp_stmt *s;
  const tp_tree *t;
  int n;
  tp_sym *dim[TP_MAXRANK * 4];
  tp_ix *val[TP_MAXRANK * 4];
} call;

/* The statement's dims at this place in the tree; dims that a call runs over stay themselves. */
static call call_of(const pr *x, const tp_tree *t) {
  call c = { .s = x->p->stmts.v[t->stmt], .t = t };
  for (int d = 0; d < c.s->ndim && c.n < (int)TP_LEN(c.dim); d++) {
    if (c.s->vec >> d & 1) continue;
    c.dim[c.n] = c.s->dim[d];
    c.val[c.n++] = t->arg[d];
  }
  return c;
}

static void put_vector(const pr *x, tp_buf *b, const call *c, int d) {
  tp_ix *lo, *hi;
  tp_run_range(c->s, c->t, d, &lo, &hi);
  put_range(x, b, lo, hi);
}

static void put_index(const pr *x, tp_buf *b, const call *c, tp_ix *e) {
  e = tp_ix_subst(e, c->n, c->dim, c->val);
  for (int d = 0; d < c->s->ndim; d++) { /* d + rest, for all d of the call */
    int64_t by;
    tp_ix *rest, *lo, *hi;
    if (!(c->s->vec >> d & 1) || !tp_ix_mentions(e, c->s->dim[d]) ||
        !tp_ix_linear_in(e, c->s->dim[d], &by, &rest) || by != 1)
      continue;
    tp_run_range(c->s, c->t, d, &lo, &hi);
    put_range(x, b, tp_ix_add(lo, rest), tp_ix_add(hi, rest));
    return;
  }
  put_ix(x, b, e);
}

static void put_element(const pr *x, tp_buf *b, const call *c, const tp_access *a) {
  const tp_arr *r = x->p->arrs.v[a->arr];
  tp_puts(b, r->name ? r->name : "?");
  for (int k = 0; k < r->ndim && a->at; k++) {
    tp_puts(b, k ? ", " : "[");
    put_index(x, b, c, a->at[k].lo);
    if (a->at[k].range) {
      tp_puts(b, " .. ");
      put_index(x, b, c, a->at[k].hi);
    }
  }
  if (r->ndim && a->at) tp_puts(b, "]");
}

static void put_here(const pr *x, tp_buf *b, const call *c) {
  tp_puts(b, c->s->name);
  for (int d = 0; d < c->s->ndim; d++) {
    tp_puts(b, d ? ", " : "[");
    if (c->s->vec >> d & 1) put_vector(x, b, c, d);
    else put_ix(x, b, c->t->arg[d]);
  }
  if (c->s->ndim) tp_puts(b, "]");
}

static const tp_access *result(const tp_stmt *s) {
  for (int a = 0; a < s->nacc; a++)
    if (s->acc[a].kind != TP_ACC_READ && s->acc[a].at) return &s->acc[a];
  return NULL;
}

static const char *sign_of(const tp_stmt *s) {
  static const char *const red[] = {
    [TP_RED_SUM] = "+=", [TP_RED_PROD] = "*=", [TP_RED_MAX] = "max=", [TP_RED_MIN] = "min="
  };
  return s->kind != TP_ST_ACC ? "=" : s->into ? red[s->into->attr.red] : "+=";
}

static const char *start_of(const tp_stmt *s) {
  static const char *const red[] = {
    [TP_RED_SUM] = "0", [TP_RED_PROD] = "1", [TP_RED_MAX] = "-inf", [TP_RED_MIN] = "inf"
  };
  return s->into ? red[s->into->attr.red] : "0";
}

static void put_operators(tp_buf *b, const tp_stmt *s) {
  bool any = false;
  for (int i = 0; i < s->nnode; i++) {
    const tp_node *n = s->node[i];
    bool plain = (n->op == TP_OP_FILL || n->op == TP_OP_VALUE) && s->nnode > 1;
    if (!plain)
      tp_putf(b, "%s%s", any ? " " : "", n->op == TP_OP_PINIT ? "init" : tp_op_said(n->op));
    any |= !plain;
  }
}

static bool same_read(const tp_poly *p, const tp_access *a, const tp_access *b) {
  if (a->arr != b->arr || a->kind != b->kind) return false;
  for (int k = 0; k < p->arrs.v[a->arr]->ndim && a->at && b->at; k++)
    if (a->at[k].lo != b->at[k].lo || a->at[k].hi != b->at[k].hi) return false;
  return true;
}

static void put_reads(const pr *x, tp_buf *b, const call *c) {
  int said = 0;
  for (int i = 0; i < c->s->nacc; i++) {
    bool again = c->s->acc[i].kind != TP_ACC_READ || tp_is_first_end(&c->s->acc[i]);
    for (int k = 0; k < i && !again; k++) again = same_read(x->p, &c->s->acc[k], &c->s->acc[i]);
    if (again) continue;
    if (said++ == READS) {
      tp_puts(b, ", ...");
      return;
    }
    if (said > 1) tp_puts(b, ", ");
    put_element(x, b, c, &c->s->acc[i]);
  }
}

/* Prints the operators of the cluster, and in parentheses what they read. */
static void put_value(const pr *x, tp_buf *b, const call *c) {
  const tp_stmt *s = c->s;
  tp_buf reads;
  tp_hold mine;
  tp_buf_hold(&reads, &mine);
  put_reads(x, &reads, c);
  put_operators(b, s);
  if (s->nnode && reads.s && *reads.s) tp_putf(b, "(%s)", reads.s);
  else if (reads.s) tp_puts(b, reads.s);
  if (!s->nnode && !(reads.s && *reads.s) && s->src.node) tp_puts(b, tp_op_said(s->src.node->op));
  tp_buf_drop(&reads, &mine);
}

/* Prints dims that a call adds up over: it runs over them, and its result lacks them. */
static void put_over(const pr *x, tp_buf *b, const call *c, const tp_access *to) {
  bool any = false;
  for (int d = 0; d < c->s->ndim; d++) {
    bool kept = !(c->s->vec >> d & 1);
    for (int k = 0; k < x->p->arrs.v[to->arr]->ndim && !kept; k++)
      kept = tp_ix_mentions(to->at[k].lo, c->s->dim[d]);
    if (kept) continue;
    tp_putf(b, "%s %s = ", any ? "," : " over", c->s->label[d]->name);
    put_vector(x, b, c, d);
    any = true;
  }
}

static void put_run(pr *x, const tp_tree *t) {
  const call c = call_of(x, t);
  const tp_stmt *s = c.s;
  const tp_access *to = result(s);
  tp_buf line;
  tp_hold mine;
  tp_buf_hold(&line, &mine);
  if (to && !s->effect) put_element(x, &line, &c, to);
  else put_here(x, &line, &c);
  if (s->kind == TP_ST_INIT) tp_putf(&line, " = %s", start_of(s));
  else if (s->nacc || s->nnode) {
    tp_putf(&line, " %s ", sign_of(s));
    put_value(x, &line, &c);
    if (to && s->kind == TP_ST_ACC) put_over(x, &line, &c, to);
  }
  tp_putf(x->b, "%*s%s", 2 * x->depth, "", line.s ? line.s : "");
  if (s->pos.file)
    tp_putf(x->b, "%*s  -- %s:%d", TP_MAX(0, COLUMN - 2 * x->depth - (int)line.n), "", s->pos.file,
        s->pos.line);
  tp_puts(x->b, "\n");
  tp_buf_drop(&line, &mine);
}

/* ---- loops ---- */

static bool is_taken(const pr *x, const char *name) {
  for (const named *l = x->in; l; l = l->up)
    if (!strcmp(l->name, name)) return true;
  return false;
}

/* The loop's name: its dim's; t, t2 ... for loops inside each other over one dim; tb for a loop
 * over blocks. */
static const char *loop_name(const pr *x, const tp_tree *t) {
  const char *dim = t->label ? t->label->name : t->var->name;
  const char *name = t->block ? tp_printf(x->a, "%sb", dim) : dim;
  for (int k = 2; is_taken(x, name); k++) name = tp_printf(x->a, "%s%d", dim, k);
  return name;
}

static void put_tree(pr *x, const tp_tree *t);

static void put_body(pr *x, const tp_tree *t) {
  x->depth++;
  put_tree(x, t);
  x->depth--;
}

static void put_for(pr *x, const tp_tree *t) {
  named here = { t->var, loop_name(x, t), x->in };
  tp_putf(x->b, "for %s = ", here.name);
  if (t->step > 0) put_range(x, x->b, t->lo, t->hi);
  else {
    put_ix(x, x->b, tp_ix_addc(t->hi, -1));
    tp_puts(x->b, " down to ");
    put_ix(x, x->b, t->lo);
  }
  if (t->step > 1 || t->step < -1) tp_putf(x->b, " by %d", t->step);
  if (t->block) tp_putf(x->b, " in blocks of %lld", (long long)t->block);
  tp_puts(x->b, t->independent ? " independent {\n" : " {\n");
  x->in = &here;
  put_body(x, t->kid[0]);
  x->in = here.up;
}

static void put_tree(pr *x, const tp_tree *t) {
  if (t->kind == TP_T_SEQ) {
    for (int i = 0; i < t->n; i++) put_tree(x, t->kid[i]);
    return;
  }
  if (t->kind == TP_T_RUN) {
    put_run(x, t);
    return;
  }
  tp_putf(x->b, "%*s", 2 * x->depth, "");
  if (t->kind == TP_T_FOR) put_for(x, t);
  else {
    tp_puts(x->b, "if ");
    put_ix(x, x->b, t->cond);
    tp_puts(x->b, " {\n");
    put_body(x, t->kid[0]);
    if (t->n > 1) {
      tp_putf(x->b, "%*s} else {\n", 2 * x->depth, "");
      put_body(x, t->kid[1]);
    }
  }
  tp_putf(x->b, "%*s}\n", 2 * x->depth, "");
}

void tp_poly_print_schedule(tp_buf *b, const tp_poly *p) {
  tp_arena a;
  tp_scratch_init(&a);
  pr x = { .b = b, .p = p, .a = &a };
  if (p->tree) put_tree(&x, p->tree);
  tp_arena_free(&a);
  tp_poly_print_unknown(b, p);
}

void tp_poly_print_unknown(tp_buf *b, const tp_poly *p) {
  static const char *const says[] = {
#define R(N, says) says,
#include "poly/order/relax.def"
#undef R
  };
  for (int k = 0; k < TP_NRELAX; k++)
    if (p->gave_up >> k & 1)
      tp_putf(b, "-- given up, as no loops were found with more: %s\n", says[k]);
  if (p->nover)
    tp_putf(b,
        "-- isl had no answer within %lld operations (TEMPO_ISL_BUDGET) to %d of %d questions; the "
        "worse one was taken:\n",
        (long long)p->budget, p->nover, p->nquery);
  for (int i = 0; i < p->unknown.n; i++) tp_putf(b, "--   %s\n", p->unknown.v[i]);
}

/* ---- storage ---- */

static tp_ix *upper_extent(const tp_poly *p, const tp_arr *x, int i) {
  tp_ix *up = tp_ix_upper(x->shape[i], x->ndim, x->dim);
  tp_ix *most = i || x->kind != TP_ARR_TEMP ? NULL : tp_most_of(p, x->val);
  return most ? tp_ix_min(up, most) : up;
}

tp_ix *tp_arr_bytes(const tp_poly *p, const tp_arr *x) {
  tp_ictx *ix = p->g->ix;
  tp_ix *n = tp_ix_const(ix, x->in ? 0 : tp_dtype_size(x->dtype));
  for (int d = 0; d < x->ndim; d++) n = tp_ix_mul(n, x->width[d]);
  for (int i = 0; i < x->rank; i++) n = tp_ix_mul(n, upper_extent(p, x, i));
  return n;
}

static void put_shape(tp_buf *b, const tp_poly *p, const tp_arr *x) {
  tp_putf(b, "; %s", tp_dtype_name(x->dtype));
  for (int i = 0; i < x->rank; i++) {
    tp_puts(b, i ? ", " : "[");
    tp_ix_print(b, upper_extent(p, x, i));
  }
  if (x->rank) tp_puts(b, "]");
}

static void put_bytes(tp_buf *b, tp_ix *n, const int64_t *env) {
  int64_t v;
  tp_puts(b, ", ");
  tp_ix_print(b, n);
  tp_puts(b, " bytes");
  if (env && !tp_ix_is_const(n, NULL) && tp_ix_eval(n, env, &v))
    tp_putf(b, " = %lld", (long long)v);
}

const char *tp_arr_kind(const tp_arr *x, int d) {
  if (tp_is_number(x->width[d], 1)) return "point";
  if (x->width[d] == tp_ix_sym(x->dim[d]->bound)) return "dense";
  return x->align && x->align[d] ? "block" : "ring";
}

/* Prints the order of dims in memory if it is not that of the domain, without dims kept as a
 * point. */
static void put_order(tp_buf *b, const tp_arr *x) {
  int order[TP_MAXRANK], n = 0;
  bool turned = false;
  for (int d = 0; x->order && d < x->ndim && n < TP_MAXRANK; d++)
    if (!tp_is_number(x->width[x->order[d]], 1)) order[n++] = x->order[d];
  for (int i = 1; i < n; i++) turned |= order[i] < order[i - 1];
  for (int i = 0; turned && i < n; i++)
    tp_putf(b, "%s%s", i ? ", " : "; lies as ", x->dim[order[i]]->name);
}

/* Does the access read the array that the statement writes at the place where it writes? */
static bool is_same_place(
    const tp_poly *p, const tp_arr *x, const tp_access *r, const tp_access *w) {
  bool same = r->kind == TP_ACC_READ &&
      tp_lies_in(p->arrs.v[r->arr]) == tp_lies_in(p->arrs.v[w->arr]) && r->alias && r->at && w->at;
  for (int d = 0; d < x->ndim && same; d++)
    same = !r->at[d].range && (r->at[d].lo == w->at[d].lo || tp_is_number(x->width[d], 1));
  return same;
}

/* Prints the lines that write x over what they read of it. */
static void put_in_place(tp_buf *b, const tp_poly *p, const tp_arr *x) {
  int said = -1;
  for (int i = 0; i < p->stmts.n; i++) {
    const tp_stmt *s = p->stmts.v[i];
    bool over = false;
    for (int w = 0; w < s->nacc && s->pos.line != said; w++)
      for (int r = 0; r < s->nacc && s->acc[w].kind == TP_ACC_WRITE && s->acc[w].arr == x->id; r++)
        over |= is_same_place(p, x, &s->acc[r], &s->acc[w]);
    if (!over) continue;
    tp_putf(b, "%s%s:%d", said < 0 ? "; in place at " : ", ", s->pos.file ? s->pos.file : "?",
        s->pos.line);
    said = s->pos.line;
  }
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
  put_bytes(b, tp_arr_bytes(p, x), env);
  for (int d = 0; d < x->ndim && x->kind == TP_ARR_TEMP; d++)
    tp_putf(
        b, "; %s: %s%s%s", x->dim[d]->name, tp_arr_kind(x, d), x->why[d][0] ? ", " : "", x->why[d]);
  if (x->kind == TP_ARR_TEMP || x->kind == TP_ARR_OUTPUT) {
    if (x->in) tp_putf(b, "; lies in %s", x->in->name);
    put_order(b, x);
    put_in_place(b, p, x);
  }
  tp_puts(b, "\n");
}

static int by_size(const void *pa, const void *pb) {
  const tp_sized *a = pa, *b = pb;
  bool ta = a->x->kind == TP_ARR_TEMP, tb = b->x->kind == TP_ARR_TEMP;
  if (ta != tb) return tb - ta;
  if (!ta && a->x->kind != b->x->kind) return (int)a->x->kind - (int)b->x->kind;
  return a->bytes != b->bytes ? (a->bytes < b->bytes ? 1 : -1) : a->x->id - b->x->id;
}

tp_sized *tp_arrs_by_size(tp_arena *a, const tp_poly *p, const int64_t *env) {
  tp_sized *v = TP_NEWN(a, tp_sized, p->arrs.n);
  for (int i = 0; i < p->arrs.n; i++)
    v[i] = (tp_sized){ p->arrs.v[i], tp_arr_sample(p, p->arrs.v[i], env) };
  qsort(v, (size_t)p->arrs.n, sizeof *v, by_size);
  return v;
}

double tp_arr_sample(const tp_poly *p, const tp_arr *x, const int64_t *env) {
  int64_t v;
  if (env) return tp_ix_eval(tp_arr_bytes(p, x), env, &v) ? (double)v : 0;
  tp_arena a;
  tp_scratch_init(&a);
  int n = tp_nsym(p->g->ix);
  int64_t *some = TP_NEWN(&a, int64_t, n);
  for (int i = 0; i < n; i++) some[i] = tp_sym_at(p->g->ix, i)->dim ? 1000 : 10;
  double r = tp_ix_eval(tp_arr_bytes(p, x), some, &v) ? (double)v : 0;
  tp_arena_free(&a);
  return r;
}

/* Prints operators that have no array: their values live inside the statement that uses them. */
static void put_fused(tp_buf *b, const tp_poly *p, const tp_stmt *s, bool *said) {
  for (int i = 0; i < s->nnode; i++) {
    const tp_node *n = s->node[i];
    if (n == s->of || said[n->id] || p->mode[n->id] != TP_V_STORED || n->op == TP_OP_PINIT ||
        tp_array_of(p, tp_v((tp_node *)n)))
      continue;
    said[n->id] = true;
    tp_putf(b, "fused %s into %s\n", p->title[n->id], s->name);
  }
}

void tp_poly_print_storage(tp_buf *b, const tp_poly *p, const int64_t *env) {
  tp_arena a;
  tp_scratch_init(&a);
  const tp_sized *v = tp_arrs_by_size(&a, p, env);
  bool *said = TP_NEWN(&a, bool, p->g->nodes.n);
  for (int i = 0; i < p->arrs.n; i++) put_array(b, p, v[i].x, env);
  for (int i = 0; i < p->stmts.n; i++) put_fused(b, p, p->stmts.v[i], said);
  tp_arena_free(&a);
}
