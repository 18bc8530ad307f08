/* expr.c: binds index expressions to bounds. */
#include "run/priv.h"

static bool is_var(tp_sym *s) { return s->kind != TP_SYM_BOUND && !s->whole; }

static bool mentions_var(tp_ix *e) {
  tp_dims syms;
  bool var = false;
  for (int i = 0, n = tp_ix_syms(e, &syms); i < n; i++) var |= is_var(syms[i]);
  return var;
}

tp_dx tp_dx_new(tp_arena *a, tp_ix *e) {
  tp_dx d = { .e = e };
  if (!e || tp_ix_is_const(e, &d.c)) return (tp_dx){ .c = d.c };
  d.var = mentions_var(e);
  d.generic = true;
  if (d.var && !tp_ix_is_cond(e)) d.t = TP_NEWN(a, tp_dxterm, tp_ix_nterm(e));
  return d;
}

/* coef * atoms as a linear term; adds a constant one to d->c. False: not linear in variables. */
static bool bind_term(tp_dx *d, int i, const int64_t *env) {
  tp_ixs atom;
  int natom = tp_ix_term(d->e, i, &atom);
  uint64_t coef = (uint64_t)tp_ix_coef(d->e, i);
  tp_sym *var = NULL;
  for (int k = 0; k < natom; k++) {
    if (!mentions_var(atom[k])) coef *= (uint64_t)tp_ix_evalq(atom[k], env);
    else if (var || !(var = tp_ix_as_sym(atom[k]))) return false;
  }
  if (!var) d->c = (int64_t)((uint64_t)d->c + coef);
  else if (coef) d->t[d->n++] = (tp_dxterm){ (int64_t)coef, var->id };
  return true;
}

void tp_dx_bind(tp_dx *d, const int64_t *env) {
  if (!d->e) return;
  d->generic = false;
  d->n = 0;
  if (!d->var) {
    d->c = tp_ix_evalq(d->e, env);
    return;
  }
  d->generic = true;
  if (!d->t) return;
  d->c = tp_ix_cst(d->e);
  for (int i = 0; i < tp_ix_nterm(d->e); i++)
    if (!bind_term(d, i, env)) return;
  d->generic = false;
}
