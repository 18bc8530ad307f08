/* scc: finds strongly connected components by Tarjan's algorithm, without recursion. */
#include "base/base.h"

typedef struct {
  const int *first, *to;
  int *scc, *low, *num, *stack, *at, *todo, nstack, ntodo, count, nscc;
} scc_search;

static void enter(scc_search *t, int u) {
  t->num[u] = t->low[u] = ++t->count;
  t->stack[t->nstack++] = t->todo[t->ntodo++] = u;
  t->at[u] = t->first[u];
  t->scc[u] = -1;
}

static void leave(scc_search *t, int u) {
  int m = -1, up = --t->ntodo ? t->todo[t->ntodo - 1] : u;
  t->low[up] = TP_MIN(t->low[up], t->low[u]);
  if (t->low[u] != t->num[u]) return;
  while (m != u) t->scc[m = t->stack[--t->nstack]] = t->nscc;
  t->nscc++;
}

static void search(scc_search *t, int root) {
  for (enter(t, root); t->ntodo;) {
    int u = t->todo[t->ntodo - 1];
    if (t->at[u] == t->first[u + 1]) {
      leave(t, u);
      continue;
    }
    int v = t->to[t->at[u]++];
    if (!t->num[v]) enter(t, v);
    else if (t->scc[v] < 0) t->low[u] = TP_MIN(t->low[u], t->num[v]);
  }
}

int tp_sccs(int n, int nedge, const tp_link *edge, int *scc) {
  tp_arena a;
  tp_scratch_init(&a);
  int *first = TP_NEWN(&a, int, n + 2), *to = TP_NEWN(&a, int, nedge);
  for (int e = 0; e < nedge; e++) first[edge[e].from + 2]++;
  for (int u = 0; u < n; u++) first[u + 2] += first[u + 1];
  for (int e = 0; e < nedge; e++) to[first[edge[e].from + 1]++] = edge[e].to;
  scc_search t = { .first = first,
    .to = to,
    .scc = scc,
    .low = TP_NEWN(&a, int, n),
    .num = TP_NEWN(&a, int, n),
    .stack = TP_NEWN(&a, int, n),
    .at = TP_NEWN(&a, int, n),
    .todo = TP_NEWN(&a, int, n) };
  for (int u = 0; u < n; u++)
    if (!t.num[u]) search(&t, u);
  tp_arena_free(&a);
  return t.nscc;
}
