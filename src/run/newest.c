/* newest.c: new values of parameters, which lie where the last one will when somebody asks between
 * ticks. Copies of large ones are put off: where one was due is noted (the variables' values), and
 * the last of those is made when it is asked for. Their source lies until then: the buffer lives as
 * long as there are ticks (plan/life.c), and in it an element gives way to newer ones alone. What
 * else writes that place makes a copy that is due unnecessary. */
#include "run/priv.h"

struct tp_later {
  bool (*run)(tp_exec *, tp_dreg *);
  int64_t *env;
};

static bool put_off(tp_exec *x, tp_dreg *r) {
  if (x->asking || x->mem->map) return r->later->run(x, r);
  memcpy(r->later->env, x->env, sizeof *x->env * (size_t)x->nsym);
  x->due[r->out[0].buf] = r;
  return true;
}

static bool write_over(tp_exec *x, tp_dreg *r) {
  for (int o = 0; o < r->nout; o++)
    if (r->out[o].buf >= 0) x->due[r->out[o].buf] = NULL;
  return r->later->run(x, r);
}

void tp_newest_new(tp_exec *x) {
  bool *late = TP_NEWN(&x->a, bool, x->plan->bufs.n), any = false;
  for (int i = 0; i < x->nreg; i++)
    if (x->reg[i]->rg->newest) any = late[x->reg[i]->out[0].buf] = true;
  if (!any) return;
  x->due = TP_NEWN(&x->a, tp_dreg *, x->plan->bufs.n);
  for (int i = 0; i < x->nreg; i++) {
    tp_dreg *r = x->reg[i];
    bool writes = false;
    for (int o = 0; o < r->nout; o++) writes |= r->out[o].buf >= 0 && late[r->out[o].buf];
    if (!writes) continue;
    r->later = TP_NEW(&x->a, struct tp_later);
    *r->later = (struct tp_later){ r->run, TP_NEWN(&x->a, int64_t, x->nsym) };
    r->run = r->rg->newest ? put_off : write_over;
  }
}

void tp_newest_forget(tp_exec *x) {
  for (int i = 0; x->due && i < x->plan->bufs.n; i++) x->due[i] = NULL;
}

bool tp_exec_newest(tp_exec *x, tp_error *err) {
  int64_t *was = x->env;
  bool ok = true, poison = x->poison;
  x->err = err;
  x->poison = false; /* it is at no place of the run */
  x->asking = true;
  for (int i = 0; x->due && i < x->plan->bufs.n && ok; i++) {
    tp_dreg *r = x->due[i];
    if (!r) continue;
    x->env = r->later->env;
    ok = tp_dreg_here(x, r);
    x->due[i] = NULL;
  }
  x->env = was;
  x->poison = poison;
  return x->asking = false, ok;
}
