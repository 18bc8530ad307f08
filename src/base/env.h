/* env: environments as pure functions of (state, action, fresh uniforms), so that they are operators like any other.
 * CartPole-v1 is Gymnasium's: same constants, f64 physics, semi-implicit flag off (explicit Euler), limits and 500 steps. */
#ifndef TP_ENV_H
#define TP_ENV_H
#include "base/base.h"
/* state: nstate doubles (the physics, then the number of steps taken as a double, then whatever it needs).
 * step: from state and action (i64 for discrete: na actions; f32[nact] otherwise) to
 *   obs_next  the observation before any reset (f32 [nobs]), reward (f32), terminated, truncated (bool),
 *   next      the state after auto-reset: the stepped state, or reset(u) when terminated or truncated. */
typedef struct tp_env {
  const char *name;                             /* "CartPole-v1" */
  int nstate, nobs, nu;                         /* nu uniforms (f64 in [0, 1)) for a reset */
  int nactions;                                 /* > 0: discrete, action is one i64; 0: continuous */
  int nact;                                     /* continuous: f32 [nact] */
  int max_steps;
  void (*reset)(const double *u, double *state);
  void (*observe)(const double *state, float *obs);
  void (*step)(const double *state, const void *action, const double *u, double *next, float *obs_next, float *reward, uint8_t *terminated, uint8_t *truncated);
} tp_env;
const tp_env *tp_env_find(const char *name);    /* NULL: unknown */
int tp_env_names(const char **out, int max);
/* As operators: env_reset(u f64 [nu]) -> state f64 [nstate]
 *               env_step(state f64 [nstate], action i64 [] or f32 [nact], u f64 [nu]) -> next f64 [nstate], obs_next f32 [nobs], reward f32 [], terminated bool [], truncated bool []
 *               env_obs(state f64 [nstate]) -> f32 [nobs] */
#endif
