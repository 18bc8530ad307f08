/* threads: what f:explain says of them. */
#include "rt/fn.h"

static int count_cut(const tp_teams *t, const tp_pnode *x, int share) {
  int n = x->kind == TP_P_REGION && t->cut[x->pos].share >= 0 &&
      (share < 0 || t->cut[x->pos].share == share);
  for (int i = 0; i < x->n; i++) n += count_cut(t, x->kid[i], share);
  return n;
}

/* Leaves of a team that are cut along one extent; -1: along any. */
static int cut_in(const tp_teams *t, const tp_team *m, int share) {
  int n = 0;
  for (int i = 0; i < m->n; i++) n += count_cut(t, m->v[i].as, share);
  return n;
}

static void put_loops(tp_buf *b, const tp_pnode *x) {
  if (!x) return;
  put_loops(b, x->up);
  if (x->kind == TP_P_FOR) tp_putf(b, " in %s", x->label ? x->label->name : x->var->name);
}

enum { ALONE_SHOWN = 8 };

static void put_alone(tp_buf *b, const tp_plan *p, const tp_pnode *x, int *n) {
  char name[256];
  if (x->kind == TP_P_REGION && p->teams->cut[x->pos].share < 0 && (*n)++ < ALONE_SHOWN) {
    tp_puts(b, "  by the first thread: ");
    if (x->rg->pos.file) tp_putf(b, "%s:%d ", x->rg->pos.file, x->rg->pos.line);
    tp_putf(b, "%s, as %s\n", tp_who_label(&x->rg->who, tp_region_op(x->rg), name, sizeof name),
        tp_why_alone(p, x->rg));
  }
  for (int i = 0; i < x->n; i++) put_alone(b, p, x->kid[i], n);
}

static void put_team(tp_buf *b, const tp_plan *p, int k, const tp_exec *x) {
  const tp_teams *t = p->teams;
  const tp_team *m = &t->team[k];
  int meetings, alone = 0;
  tp_putf(b, "team %d", k + 1);
  put_loops(b, m->v[0].node->up);
  bool shared = tp_exec_shares(x, k, &meetings);
  if (meetings < 0) tp_puts(b, ": no bounds yet\n");
  else if (shared)
    tp_putf(
        b, ": shared at the last bounds, with %d meeting%s\n", meetings, meetings == 1 ? "" : "s");
  else tp_puts(b, ": too little work for threads at the last bounds\n");
  for (int s = 0; s < t->nshare; s++) {
    int n = cut_in(t, m, s);
    if (n) tp_putf(b, "  %d cut along %s\n", n, tp_ix_str(p->ix, t->share[s].whole));
  }
  for (int i = 0; i < m->n; i++) put_alone(b, p, m->v[i].as, &alone);
  if (alone > ALONE_SHOWN) tp_putf(b, "  and %d more\n", alone - ALONE_SHOWN);
}

static int leaf_count(const tp_pnode *x) {
  int n = x->kind == TP_P_REGION;
  for (int i = 0; i < x->n; i++) n += leaf_count(x->kid[i]);
  return n;
}

void tp_fn_threads(tp_buf *b, const tp_fn *f) {
  const tp_plan *p = f->plan;
  int n = 0;
  if (f->threads < 2) {
    tp_puts(b, "one thread runs everything: threads = 1\n");
    return;
  }
  for (int i = 0; i < p->teams->nteam; i++) n += cut_in(p->teams, &p->teams->team[i], -1);
  tp_putf(b, "%d threads share %d teams: %d of %d leaves in all are cut among them\n", f->threads,
      p->teams->nteam, n, leaf_count(p->body));
  for (int i = 0; i < p->teams->nteam; i++) put_team(b, p, i, f->exec);
}
