/* A library of environments for rl.load_env:
 *
 *   cc -shared -fPIC -O2 -Iinclude examples/c/envs/corridor.c -o corridor.so
 *   lua5.4 -e 'print(table.unpack(require "tempo".rl.load_env "./corridor.so"))'
 *
 * Corridor-v0: start at 0, one step left or right; 3 ends the episode with reward 1, -3 with 0, and
 * six steps cut it. Drift-v0: a place on a line that a force moves, and wind; reward is minus its
 * distance from 0. */
#include <tempo_env.h>

static void corridor_reset(void *data, const double *u, double *state) {
  (void)data, (void)u;
  state[0] = 0;
}

static void corridor_observe(void *data, const double *state, float *obs) {
  (void)data;
  for (int k = 0; k < 7; k++) obs[k] = state[0] == k - 3;
}

static void corridor_step(void *data, const double *state, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  (void)data, (void)u, (void)truncated;
  next[0] = state[0] + (*(const int64_t *)action == 1 ? 1 : -1);
  *reward = next[0] >= 3;
  *terminated = next[0] >= 3 || next[0] <= -3;
}

static void drift_reset(void *data, const double *u, double *state) {
  (void)data;
  state[0] = 2 * u[0] - 1;
}

static void drift_observe(void *data, const double *state, float *obs) {
  (void)data;
  obs[0] = (float)state[0];
}

static void drift_step(void *data, const double *state, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  const double wind = *(const double *)data;
  (void)truncated;
  next[0] = state[0] + (double)*(const float *)action + wind * (2 * u[0] - 1);
  *reward = (float)-(next[0] < 0 ? -next[0] : next[0]);
  *terminated = next[0] < -4 || next[0] > 4;
}

static double wind = 0.1;
static const tempo_env all[] = { { .name = "Corridor-v0",
                                     .nstate = 1,
                                     .shape = { 7 },
                                     .nactions = 2,
                                     .max_steps = 6,
                                     .reset = corridor_reset,
                                     .observe = corridor_observe,
                                     .step = corridor_step },
  { .name = "Drift-v0",
      .nstate = 1,
      .shape = { 1 },
      .nact = 1,
      .nreset = 1,
      .nstep = 1,
      .max_steps = 50,
      .data = &wind,
      .reset = drift_reset,
      .observe = drift_observe,
      .step = drift_step } };
const tempo_env_list tempo_envs = { TEMPO_ENV_VERSION, 2, all };
