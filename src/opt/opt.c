/* opt: the passes in order, the verifier after each. */
#include "opt/opt.h"
#include <stdio.h>

#define P(name, fn, dflt, doc) bool fn(tp_graph *, const tp_options *, tp_error *);
#define Q(name, id, doc)
#include "opt/passes.def"
#undef P
#undef Q
const tp_pass tp_passes[] = {
#define P(name, fn, dflt, doc) { name, fn, dflt, false, doc },
#define Q(name, id, doc) { name, NULL, true, false, doc },
#include "opt/passes.def"
#undef P
#undef Q
};
const int tp_npasses = TP_LEN(tp_passes);

static bool wanted(const char *list, const char *name) {
  size_t n = strlen(name);
  for (const char *s = list; s && (s = strstr(s, name)); s += n)
    if ((s == list || s[-1] == ',') && (!s[n] || s[n] == ',')) return true;
  return false;
}

static void dump(const tp_graph *g, const char *after) {
  if (!wanted(tp_setting("TEMPO_DUMP"), after)) return;
  tp_buf b;
  tp_buf_init(&b);
  tp_graph_print(&b, g);
  fprintf(stderr, "> after %s\n%s", after, b.s ? b.s : "");
  tp_buf_free(&b);
}

bool tp_opt_run(tp_graph *g, const tp_options *o, tp_error *err) {
  dump(g, "record");
  for (int i = 0; i < tp_npasses; i++) {
    if (!o->on[i] || !tp_passes[i].fn) continue;
    int before = g->nodes.n;
    if (!tp_passes[i].fn(g, o, err)) return false;
    if (o->did) { o->did[i][0] = before; o->did[i][1] = g->nodes.n; }
#ifndef NDEBUG
    if (!tp_verify(g, err)) return false;
#endif
    dump(g, tp_passes[i].name);
  }
  return true;
}
