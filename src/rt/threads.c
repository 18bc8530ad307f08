/* threads: writes f:explain "threads", which thread runs which leaves. */
#include "rt/fn.h"

/* How many leaves of a team are cut along extent `share`; -1: along any. */
static int cut_in(const tp_teams *t, const tp_team *m, int share) {
  int n = 0;
  for (int i = 0; i < m->n; i++)
    TP_EACH_NODE (k, m->v[i].as) {
      int own = k.x->rg ? t->cut[k.x->pos].share : -1;
      n += own >= 0 && (share < 0 || own == share);
    }
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
  TP_EACH_NODE (k, x) {
    const tp_region *r = k.x->rg;
    if (!r || p->teams->cut[k.x->pos].share >= 0 || (*n)++ >= ALONE_SHOWN) continue;
    tp_puts(b, "  by the first thread: ");
    if (r->pos.file) tp_putf(b, "%s:%d ", r->pos.file, r->pos.line);
    tp_putf(b, "%s, as %s\n", tp_who_label(&r->who, tp_region_op(r), name, sizeof name),
        tp_why_alone(p, r));
  }
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
    if (n) tp_putf(b, "  %d cut along %s\n", n, tp_ix_str(t->share[s].whole));
  }
  for (int i = 0; i < m->n; i++) put_alone(b, p, m->v[i].as, &alone);
  if (alone > ALONE_SHOWN) tp_putf(b, "  and %d more\n", alone - ALONE_SHOWN);
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
      p->teams->nteam, n, tp_plan_leaves(p->body));
  for (int i = 0; i < p->teams->nteam; i++) put_team(b, p, i, f->exec);
}
