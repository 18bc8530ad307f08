/* summary: describes the result in a few lines: the statements of each loop, the arrays that are
 * kept, the operators that were not fused, and why. */
#include "poly/sched.h"
#include <stdlib.h>

enum { NAMES = 10, KEPT = 5, UNFUSED = 5, WIDE = 18 };

/* ---- what runs where ---- */

/* n: distinct names */
typedef struct {
  const char *loops;
  int n;
  TP_VEC(const char *) name;
} loop_nest;
typedef struct {
  const tp_poly *p;
  tp_arena a;
  TP_VEC(loop_nest) nests;
  int *depth;
  bool *seen;
  tp_hmap said;
  bool far;
} tour;

static loop_nest *nest_of(tour *x, const char *loops) {
  for (int i = 0; i < x->nests.n; i++)
    if (!strcmp(x->nests.v[i].loops, loops)) return &x->nests.v[i];
  TP_PUSH(&x->a, &x->nests, (loop_nest){ .loops = loops });
  return &x->nests.v[x->nests.n - 1];
}

/* The statement's name, and that of a callback what it does. */
static const char *said_of(tour *x, const tp_stmt *s) {
  const tp_arr *r = NULL;
  for (int a = 0; a < s->nacc && !r; a++)
    if (s->acc[a].kind != TP_ACC_READ) r = x->p->arrs.v[s->acc[a].arr];
  int fn = tp_call_fn(s);
  if (s->effect)
    return tp_printf(&x->a,
        fn == TP_FN_FEED       ? "%s (given)"
            : fn == TP_FN_SHOW ? "%s (shown)"
                               : "%s (callback)",
        s->name);
  return r && r->name ? r->name : s->name;
}

/* Measures how many loops are around each statement at most: its first and last points may lie
 * before and after. */
static void tour_measure(tour *x, const tp_tree *t, int depth) {
  if (t->kind == TP_T_RUN) x->depth[t->stmt] = TP_MAX(x->depth[t->stmt], depth);
  for (int i = 0; i < t->n; i++) tour_measure(x, t->kid[i], depth + (t->kind == TP_T_FOR));
}

static void visit_run(tour *x, const tp_tree *t, const char *loops, int depth) {
  const tp_stmt *s = x->p->stmts.v[t->stmt];
  if (x->seen[t->stmt] || x->depth[t->stmt] != depth || s->far != x->far || tp_is_tick(s)) return;
  x->seen[t->stmt] = true;
  loop_nest *n = nest_of(x, loops);
  const char *name = said_of(x, s), *key = tp_printf(&x->a, "%s\n%s", loops, name);
  if (tp_hmap_get(&x->said, key, strlen(key))) return;
  tp_hmap_set(&x->said, key, strlen(key), key);
  if (n->n++ < NAMES) TP_PUSH(&x->a, &n->name, name);
}

/* "i, t": a dim again is one that is summed over. */
static void tour_visit(tour *x, const tp_tree *t, const char *loops, int depth) {
  if (t->kind == TP_T_RUN) {
    visit_run(x, t, loops, depth);
    return;
  }
  if (t->kind == TP_T_FOR) {
    const char *name = (t->label ? t->label : t->var)->name;
    loops =
        tp_printf(&x->a, "%s%s%s%s", loops, *loops ? ", " : "", t->block ? "block of " : "", name);
  }
  for (int i = 0; i < t->n; i++) tour_visit(x, t->kid[i], loops, depth + (t->kind == TP_T_FOR));
}

static void put_nests(tp_buf *b, const tp_poly *p, bool far) {
  tour x = { .p = p, .far = far };
  tp_scratch_init(&x.a);
  x.seen = TP_NEWN(&x.a, bool, p->stmts.n);
  tp_hmap_init(&x.said, &x.a);
  x.depth = TP_NEWN(&x.a, int, p->stmts.n);
  if (p->tree) tour_measure(&x, p->tree, 0);
  if (p->tree) tour_visit(&x, p->tree, "", 0);
  TP_EACH (const loop_nest, n, x.nests) {
    tp_putf(b, "  %-*s ", WIDE, *n->loops ? tp_printf(&x.a, "for %s", n->loops) : "once");
    for (int k = 0; k < n->name.n; k++) tp_putf(b, "%s%s", k ? ", " : "", n->name.v[k]);
    if (n->n > n->name.n) tp_putf(b, " and %d more", n->n - n->name.n);
    tp_puts(b, "\n");
  }
  tp_arena_free(&x.a);
}

/* ---- what is kept ---- */

static bool is_point(const tp_arr *x) {
  for (int d = 0; d < x->ndim; d++)
    if (!tp_is_number(x->width[d], 1)) return false;
  return true;
}

static bool is_temporary(const tp_arr *x) { return x->kind == TP_ARR_TEMP; }

static void put_kept(tp_buf *b, const tp_poly *p, const tp_sized *v, const int64_t *env) {
  for (int i = 0, said = 0; i < p->arrs.n && is_temporary(v[i].x) && said < KEPT; i++) {
    const tp_arr *x = v[i].x;
    if (!said++) tp_puts(b, "keeps most of\n");
    const char *name = x->name ? x->name : "?";
    tp_putf(b, "  %-*s ", WIDE, name);
    tp_ix_print(b, tp_arr_bytes(p, x));
    tp_puts(b, " bytes");
    if (env && !tp_ix_is_const(tp_arr_bytes(p, x), NULL)) tp_putf(b, " = %.0f", v[i].bytes);
    for (int d = 0; d < x->ndim; d++) {
      if (tp_is_number(x->width[d], 1)) continue;
      tp_putf(b, "; %s of %s", tp_arr_kind(x, d), x->dim[d]->name);
      if (x->why[d] && *x->why[d]) tp_putf(b, ", %s", x->why[d]);
    }
    tp_puts(b, "\n");
  }
}

/* ---- what was not fused ---- */

typedef struct {
  const tp_stmt *writer, *reader[3];
  int nwriter, nreader;
  bool ranged;
} array_users;

static array_users *count_uses(tp_arena *arena, const tp_poly *p) {
  array_users *u = TP_NEWN(arena, array_users, p->arrs.n);
  for (int i = 0; i < p->stmts.n; i++)
    for (int a = 0; a < p->stmts.v[i]->nacc; a++) {
      const tp_stmt *s = p->stmts.v[i];
      array_users *x = &u[s->acc[a].arr];
      if (s->acc[a].kind != TP_ACC_READ) {
        x->writer = s;
        x->nwriter++;
        continue;
      }
      for (int k = 0; s->acc[a].at && k < p->arrs.v[s->acc[a].arr]->ndim; k++)
        x->ranged |= s->acc[a].at[k].range;
      bool known = false;
      for (int k = 0; k < x->nreader && k < (int)TP_LEN(x->reader); k++)
        known |= x->reader[k] == s || !strcmp(x->reader[k]->name, s->name);
      if (known) continue;
      if (x->nreader < (int)TP_LEN(x->reader)) x->reader[x->nreader] = s;
      x->nreader++;
    }
  return u;
}

static void put_reason(tp_buf *b, const tp_arr *x, const array_users *u) {
  if (u->writer->effect) {
    tp_puts(b, "made by a callback, or given");
    return;
  }
  if (u->nreader > 1) {
    for (int k = 0; k < u->nreader && k < (int)TP_LEN(u->reader); k++)
      tp_putf(b, "%s%s", k ? ", " : "read by ", u->reader[k]->name);
    if (u->nreader > (int)TP_LEN(u->reader))
      tp_putf(b, " and %d more", u->nreader - (int)TP_LEN(u->reader));
    return;
  }
  const char *why = u->reader[0]->effect ? "handed to"
      : u->ranged || !is_point(x)
      ? "read at other points by"
      : "with a kernel of its own, or operands that would have to wait, read by";
  tp_putf(b, "%s %s", why, u->reader[0]->name);
}

/* Prints temporaries that one operator makes, the most expensive first. */
static void put_unfused(tp_buf *b, const tp_poly *p, const tp_sized *v, const array_users *u) {
  for (int i = 0, said = 0; i < p->arrs.n && is_temporary(v[i].x) && said < UNFUSED; i++) {
    const tp_arr *x = v[i].x;
    const array_users *q = &u[x->id];
    if (q->nwriter != 1 || q->writer->kind != TP_ST_OP || !q->writer->nnode || !q->nreader)
      continue;
    if (!said++) tp_puts(b, "not fused into what reads it\n");
    tp_putf(b, "  %-*s ", WIDE, x->name ? x->name : "?");
    put_reason(b, x, q);
    tp_puts(b, "\n");
  }
}

void tp_poly_print_summary(tp_buf *b, const tp_poly *p, const int64_t *env) {
  bool waits = false;
  for (int i = 0; i < p->stmts.n; i++) waits |= p->stmts.v[i]->far;
  tp_puts(b, p->tree && p->stmts.n ? "runs\n" : "runs nothing\n");
  put_nests(b, p, false);
  if (waits) {
    tp_puts(b, "and, in a step with a budget, may leave for later steps\n");
    put_nests(b, p, true);
  }
  tp_arena a;
  tp_scratch_init(&a);
  const tp_sized *v = tp_arrs_by_size(&a, p, env);
  put_kept(b, p, v, env);
  put_unfused(b, p, v, count_uses(&a, p));
  tp_arena_free(&a);
}
