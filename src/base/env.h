/* env: environments as pure functions of (state, action, fresh uniforms), so that they are
 * operators like any other; include/tempo.h defines one. CartPole-v1 is Gymnasium's: same
 * constants, f64 physics, semi-implicit flag off (explicit Euler), limits and 500 steps. */
#ifndef TP_ENV_H
#define TP_ENV_H
#include "base/base.h"
#include "tempo.h"
typedef tempo_env tp_env;
/* Finds ours and those that hosts registered, which last until the process ends. From any
 * thread. */
const tp_env *tp_env_find(const char *name); /* NULL: unknown */
/* Numbers of its longest vector. */
static inline int64_t tp_env_lane(const tp_env *e) {
  return TP_MAX(TP_MAX(e->nstate, e->nobs), TP_MAX(e->nu, e->nact));
}
/* An environment in C99, over stdint.h, string.h and math.h: static functions PREFIX_reset,
 * PREFIX_observe, PREFIX_step, typed as a tempo_env's. */
typedef struct tp_envtext {
  const char *text, *prefix;
} tp_envtext;
/* NULL: it is not known, as for those of hosts */
const tp_envtext *tp_env_text(const char *name);
int tp_env_names(const char **out, int max);
/* adds a copy, data shared; errors option: no environment, or a name that is taken; memory */
bool tp_env_add(const tp_env *e, tp_error *err);
/* As operators:
 *   env_reset(u f64 [nu]) -> state f64 [nstate]
 *   env_step(state f64 [nstate], action i64 [] or f32 [nact], u f64 [nu]) -> next f64 [nstate],
 *     obs_next f32 [nobs], reward f32 [], terminated bool [], truncated bool []
 *   env_obs(state f64 [nstate]) -> f32 [nobs] */
#endif
