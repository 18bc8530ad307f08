/* env: environments as pure functions of (state, action, uniforms), so that they are operators like
 * any other. include/tempo_env.h defines one; ours are rows of envs.def. As operators:
 *   env_reset(u f64 [nreset]) -> state f64 [width]
 *   env_step(state f64 [width], action i64 [] or f32 [nact], u f64 [nstep + nreset]) -> next f64
 *     [width], obs_next f32 [nobs], reward f32 [], terminated bool [], truncated bool []
 *   env_obs(state f64 [width]) -> f32 [nobs]
 * next is the state of a reset where the episode ended, obs_next what was seen before that.
 * env_step without u draws it: the numbers of an f64 uniform with this hash at its own point, and
 * those of a reset only where there is one. */
#ifndef TP_ENV_H
#define TP_ENV_H
#include "base/base.h"
#include "tempo_env.h"
typedef struct tempo_env tp_env;
/* Finds ours, those of hosts and those of libraries. They last until the process ends. From any
 * thread. */
const tp_env *tp_env_find(const char *name); /* NULL: unknown */
int tp_env_nobs(const tp_env *e);            /* with the mask, which is seen too */
/* Numbers of a state; the last counts steps, if there is a limit of them. */
static inline int tp_env_width(const tp_env *e) { return e->nstate + (e->max_steps > 0); }
static inline int tp_env_nu(const tp_env *e) { return e->nstep + e->nreset; }
/* Numbers of its longest vector. */
int64_t tp_env_lane(const tp_env *e);

/* The source of uniforms: given, or (NULL) element k of a draw with this key; room for
 * tp_env_nu. */
typedef struct tp_noise {
  const double *given;
  tp_philox_key key;
  double *room;
} tp_noise;
typedef struct tp_env_results {
  double *next; /* not where the state is */
  float *obs;   /* NULL: it is not wanted */
  float *reward;
  uint8_t *terminated, *truncated;
} tp_env_results;
void tp_env_reset(const tp_env *e, const double *u, double *state);
void tp_env_step(const tp_env *e, const double *state, const void *action, const tp_noise *u,
    const tp_env_results *o);

/* An environment in C99, over stdint.h, string.h and math.h, behind tp_env_common: functions
 * PREFIX_reset, PREFIX_observe, PREFIX_step, typed as a tempo_env's, for which data is `numbers`
 * (none: not read). */
typedef struct tp_envtext {
  const char *text, *prefix;
  int nnumber;
  int64_t number[4];
} tp_envtext;
extern const char tp_env_common[];
/* NULL: it is not known, as for those of hosts */
const tp_envtext *tp_env_text(const char *name);
int tp_env_names(const char **out, int max);
/* adds a copy, data shared; errors option: no environment, or a name that is taken; memory */
bool tp_env_add(const tp_env *e, tp_error *err);
/* Opens a library and adds all of its environments, or none; again: it gives the same list. Errors
 * file: there is no such library, or it has no list of this version; as tp_env_add. */
const tempo_env_list *tp_env_load(const char *path, tp_error *err);
#endif
