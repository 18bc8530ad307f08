/* pieces: an array of which groups of accesses touch no element in common becomes an array for each
 * group.
 *
 *   q[t] at t < p by one call, q[t] at t >= p row by row   =>   p rows for the first, one for the
 * second
 *
 * Statements that were cut in boxes wrote one array. A reader of an element depends on its writer,
 * so accesses without a dependence between them, by way of others or not, share no element. */
#include "poly/sched.h"

typedef struct {
  tp_sched *S;
  int *first,
      *of; /* by statement: the number of its first access; by access: another of its group */
} piecer;

static int its_group(const piecer *c, int a) {
  while (c->of[a] != a) a = c->of[a];
  return a;
}

static void put_together(const piecer *c, int a, int b) {
  c->of[its_group(c, b)] = its_group(c, a);
}

static bool is_write(const tp_access *x) { return x->kind != TP_ACC_READ; }

/* Accesses of one statement to one array stay together: operands know their value only. */
static void find_groups(const piecer *c) {
  tp_poly *p = c->S->p;
  for (int i = 0; i < p->stmts.n; i++)
    for (int a = 0; a < p->stmts.v[i]->nacc; a++)
      for (int b = 0; b < a; b++)
        if (p->stmts.v[i]->acc[a].arr == p->stmts.v[i]->acc[b].arr)
          put_together(c, c->first[i] + b, c->first[i] + a);
  TP_EACH (const tp_dep, d, c->S->deps) {
    const tp_stmt *s = p->stmts.v[d->src];
    for (int a = 0; a < s->nacc && d->arr >= 0; a++)
      if (s->acc[a].arr == d->arr && is_write(&s->acc[a]))
        put_together(c, c->first[d->src] + a, c->first[d->dst] + d->acc);
  }
}

/* May x be taken apart? Updates of one element have no dependence between them. */
static void mark_whole_arrays(const tp_poly *p, bool *whole) {
  for (int i = 0; i < p->arrs.n; i++)
    whole[i] = p->arrs.v[i]->kind != TP_ARR_TEMP || tp_stop_sym(p, i);
  for (int i = 0; i < p->stmts.n; i++)
    for (int a = 0; a < p->stmts.v[i]->nacc; a++)
      whole[p->stmts.v[i]->acc[a].arr] |= p->stmts.v[i]->acc[a].kind == TP_ACC_UPDATE;
}

void tp_take_apart(tp_sched *S) {
  tp_poly *p = S->p;
  int n = 0, narr = p->arrs.n;
  piecer c = { S, TP_NEWN(S->a, int, p->stmts.n + 1), NULL };
  if (!S->boxes) return;
  for (int i = 0; i < p->stmts.n; i++) c.first[i] = n, n += p->stmts.v[i]->nacc;
  c.of = TP_NEWN(S->a, int, n + 1);
  for (int i = 0; i < n; i++) c.of[i] = i;
  find_groups(&c);
  bool *whole = TP_NEWN(S->a, bool, narr), *taken = TP_NEWN(S->a, bool, narr);
  tp_arr **own = TP_NEWN(S->a, tp_arr *, n + 1); /* by group */
  mark_whole_arrays(p, whole);
  for (int i = 0; i < p->stmts.n; i++)
    for (int a = 0; a < p->stmts.v[i]->nacc; a++) {
      tp_access *x = &p->stmts.v[i]->acc[a];
      int g = its_group(&c, c.first[i] + a), arr = x->arr;
      if (whole[arr]) continue;
      if (!own[g])
        own[g] = taken[arr] ? tp_dup(S->a, p->arrs.v[arr], sizeof(tp_arr)) : p->arrs.v[arr];
      if (own[g] != p->arrs.v[arr] && own[g]->id == arr) {
        own[g]->id = p->arrs.n;
        own[g]->piece = p->arrs.v[arr]->piece = true;
        TP_PUSH(S->a, &p->arrs, own[g]);
      }
      taken[arr] = true;
      x->arr = own[g]->id;
    }
  TP_EACH (tp_dep, d, S->deps) {
    if (d->arr >= 0 && d->acc >= 0) d->arr = p->stmts.v[d->dst]->acc[d->acc].arr;
  }
}
