/* methods: the table of methods.def, and the parser of signatures. */
#include "graph/methods/rows.h"

const tp_method tp_methods[] = {
#define M(name, kinds, sig, fn, shape, dtype, grad, ulp, doc) \
  { name, kinds, sig, tp_m_##fn, shape, doc },
#include "graph/methods/methods.def"
#undef M
};
METHOD(lua) {
  (void)a, (void)out;
  return tp_wrong(k, TP_E_OPTION, "its body is written in Lua");
}

const int tp_nmethods = TP_LEN(tp_methods);

const tp_method *tp_method_find(const char *name) {
  for (int i = 0; i < tp_nmethods; i++)
    if (strcmp(tp_methods[i].name, name) == 0) return &tp_methods[i];
  return NULL;
}

/* "x:T axis:A? | keepdim:B" */
int tp_sig_parse(const char *sig, tp_sigarg out[TP_MAXARG]) {
  int n = 0;
  bool options = false;
  while (*sig) {
    while (*sig == ' ') sig++;
    if (*sig == '|') options = true, sig++;
    const char *colon = strchr(sig, ':');
    while (*sig == ' ') sig++;
    if (!*sig || !colon || TP_NEVER(n == TP_MAXARG)) break;
    tp_sigarg *s = &out[n++];
    *s = (tp_sigarg){ .type = colon[1], .option = options };
    memcpy(s->name, sig, TP_MIN((size_t)(colon - sig), sizeof s->name - 1));
    sig = colon + 2;
    s->optional = options || *sig == '?';
    if (*sig == '?') sig++;
  }
  return n;
}
