/* env: the environments. Every number is in f64 until it is observed; nothing is kept between calls.
 *
 * CartPole-v1. Gymnasium 1.x, gymnasium/envs/classic_control/cartpole.py and wrappers TimeLimit(500), expression by expression, so that
 * rounding agrees too (up to the last bit of sin and cos). Equations: Florian, "Correct equations for the dynamics of the cart-pole
 * system". State: x, x', theta, theta', and the number of steps taken since the reset. Reward 1 at every step, the last one included. */
#include "base/env.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

enum { CART_X, CART_V, CART_THETA, CART_OMEGA, CART_STEPS, CART_NSTATE };
enum { CART_MAX_STEPS = 500 };

static void cart_reset(void *data, const double *u, double *s) {
  for (int k = 0; k < 4; k++) s[k] = -0.05 + 0.1 * u[k];
  s[CART_STEPS] = 0;
}

static void cart_observe(void *data, const double *s, float *obs) {
  for (int k = 0; k < 4; k++) obs[k] = (float)s[k];
}

/* One explicit Euler step of tau: positions move with the old velocities. */
static void cart_physics(const double *s, int64_t action, double *n) {
  const double gravity = 9.8, masscart = 1.0, masspole = 0.1, length = 0.5, force_mag = 10.0, tau = 0.02;
  const double total_mass = masspole + masscart, polemass_length = masspole * length;
  double x = s[CART_X], v = s[CART_V], theta = s[CART_THETA], omega = s[CART_OMEGA];
  double force = action == 1 ? force_mag : -force_mag;
  double c = cos(theta), sn = sin(theta);
  double temp = (force + polemass_length * (omega * omega) * sn) / total_mass;
  double alpha = (gravity * sn - c * temp) / (length * (4.0 / 3.0 - masspole * (c * c) / total_mass));
  double acc = temp - polemass_length * alpha * c / total_mass;
  n[CART_X] = x + tau * v;
  n[CART_V] = v + tau * acc;
  n[CART_THETA] = theta + tau * omega;
  n[CART_OMEGA] = omega + tau * alpha;
  n[CART_STEPS] = s[CART_STEPS] + 1;
}

static bool cart_fell(const double *s) {
  const double pi = 3.141592653589793, theta_limit = 12 * 2 * pi / 360, x_limit = 2.4;
  return s[CART_X] < -x_limit || s[CART_X] > x_limit || s[CART_THETA] < -theta_limit ||
         s[CART_THETA] > theta_limit;
}

static void cart_step(void *data, const double *state, const void *action, const double *u, double *next,
                      float *obs_next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  double n[CART_NSTATE];
  cart_physics(state, *(const int64_t *)action, n);
  *reward = 1;
  *terminated = cart_fell(n);
  *truncated = n[CART_STEPS] >= CART_MAX_STEPS;
  cart_observe(data, n, obs_next);
  if (*terminated || *truncated) cart_reset(data, u, next);
  else memcpy(next, n, sizeof n);
}

/* ---- all of them ---- a list that only grows, at its head: it is read without a lock */

typedef struct entry { tp_env env; struct entry *next; } entry;
static entry cart_pole = { { .name = "CartPole-v1", .nstate = CART_NSTATE, .nobs = 4, .nu = 4, .nactions = 2,
                             .reset = cart_reset, .observe = cart_observe, .step = cart_step }, NULL };
static _Atomic(entry *) all = &cart_pole;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

const tp_env *tp_env_find(const char *name) {
  for (const entry *e = atomic_load(&all); e; e = e->next)
    if (strcmp(e->env.name, name) == 0) return &e->env;
  return NULL;
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
  else if (!e->reset || !e->observe || !e->step) wrong = "reset, observe and step must all be there";
  return !wrong ||
         tp_fail(err, TP_E_OPTION, TP_NOWHERE, "environment '%s': %s", name ? name : "", wrong);
}

static entry *entry_new(const tp_env *e) {
  size_t n = strlen(e->name) + 1;
  entry *x = tp_alloc(sizeof *x + n);
  if (x) *x = (entry){ *e, NULL }, x->env.name = memcpy(x + 1, e->name, n);
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
