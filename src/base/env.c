/* env: the table of environments. Numbers are f64 until observed; nothing is kept between calls. */
#include "base/env.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/cartpole.h"

static const char cart_text[] =
#include "cartpole.inc"
    ;

/* ---- a list that grows at its head, read without a lock ---- */

typedef struct entry {
  tp_env env;
  tp_envtext text;
  struct entry *next;
} entry;
static entry cart_pole = { { .name = "CartPole-v1",
                               .nstate = CART_NSTATE,
                               .nobs = 4,
                               .nu = 4,
                               .nactions = 2,
                               .reset = cart_reset,
                               .observe = cart_observe,
                               .step = cart_step },
  { cart_text, "cart" }, NULL };
static _Atomic(entry *) all = &cart_pole;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static const entry *find_entry(const char *name) {
  const entry *e = atomic_load(&all);
  while (e && strcmp(e->env.name, name) != 0) e = e->next;
  return e;
}

const tp_env *tp_env_find(const char *name) {
  const entry *e = find_entry(name);
  return e ? &e->env : NULL;
}

const tp_envtext *tp_env_text(const char *name) {
  const entry *e = find_entry(name);
  return e && e->text.text ? &e->text : NULL;
}

int tp_env_names(const char **out, int max) {
  int n = 0;
  for (const entry *e = atomic_load(&all); e && n < max; e = e->next) out[n++] = e->env.name;
  return n;
}

static bool env_ok(const tp_env *e, tp_error *err) {
  const char *name = e->name && *e->name ? e->name : NULL, *wrong = NULL;
  if (!name) wrong = "it has no name";
  else if (e->nstate < 1 || e->nobs < 1 || e->nu < 0)
    wrong = "nstate and nobs must be at least 1, nu not negative";
  else if (e->nactions < 0 || e->nact < 0 || !e->nactions == !e->nact)
    wrong = "one of nactions and nact must be greater than 0, the other 0";
  else if (!e->reset || !e->observe || !e->step)
    wrong = "reset, observe and step must all be there";
  return !wrong ||
      tp_fail(err, TP_E_OPTION, TP_NOWHERE, "environment '%s': %s", name ? name : "", wrong);
}

static entry *entry_new(const tp_env *e) {
  size_t n = strlen(e->name) + 1;
  entry *x = tp_alloc(sizeof *x + n);
  if (x) *x = (entry){ .env = *e }, x->env.name = memcpy(x + 1, e->name, n);
  return x;
}

bool tp_env_add(const tp_env *e, tp_error *err) {
  entry *x = env_ok(e, err) ? entry_new(e) : NULL;
  if (!x) return tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "no memory for an environment");
  pthread_mutex_lock(&adding);
  bool taken = tp_env_find(x->env.name) != NULL;
  if (!taken) {
    x->next = atomic_load(&all);
    atomic_store(&all, x);
  }
  pthread_mutex_unlock(&adding);
  if (taken) tp_free(x);
  return !taken ||
      tp_fail(err, TP_E_OPTION, TP_NOWHERE, "there is an environment '%s' already", e->name);
}
