/* poly: what a scheduling run leaves behind. */
#include "poly/poly.h"

tp_poly *tp_poly_free(tp_poly *p) {
  if (!p) return NULL;
  for (int i = 0; i < p->stmts.n; i++) {
    tp_stmt *s = p->stmts.v[i];
    tp_set_free(s->dom);
    for (int k = 0; k < s->nacc; k++) tp_rel_free(s->acc[k].rel);
  }
  for (int i = 0; i < p->late.n; i++) tp_set_free(p->late.v[i].bad);
  return NULL;
}
