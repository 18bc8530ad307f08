/* A host with its own environment and two Lua states, each of which learns in a thread of its own.
 * The Lua module is linked in: build/libtempo-lua5.4.a beside build/libtempo.a.
 *
 *   build/examples/c/two_states [iterations] [in-turn]       in-turn: one thread after the other,
 * which gives the same numbers */
#include <tempo.h>
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int luaopen_tempo(lua_State *L);

/* ---- the environment: a cart on a rail that is to come to rest at 0. State: place, speed ---- */

static void homing_reset(void *data, const double *u, double *state) {
  state[0] = 2 * u[0] - 1;
  state[1] = 0.2 * u[1] - 0.1;
}

static void homing_observe(void *data, const double *state, float *obs) {
  obs[0] = (float)state[0];
  obs[1] = (float)state[1];
}

static void homing_step(void *data, const double *state, const void *action, const double *u,
    double *next, float *reward, uint8_t *terminated, uint8_t *truncated) {
  double push = 0.02 * (double)(*(const int64_t *)action - 1);
  next[0] = state[0] + state[1] + push;
  next[1] = 0.95 * (state[1] + push);
  *reward = (float)-(next[0] * next[0] + next[1] * next[1]);
  *terminated = next[0] < -2 || next[0] > 2;
}

static const tempo_env homing = { .name = "Homing-v0",
  .nstate = 2,
  .shape = { 2 },
  .nactions = 3,
  .nreset = 2,
  .max_steps = 40,
  .reset = homing_reset,
  .observe = homing_observe,
  .step = homing_step };

/* ---- a thread ---- */

typedef struct {
  int seed, iterations, n;
  double first, last;
  char error[512];
} job;

static lua_State *new_state(void) {
  lua_State *L = luaL_newstate();
  if (!L) return NULL;
  luaL_openlibs(L);
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, luaopen_tempo);
  lua_setfield(L, -2, "tempo");
  return L;
}

static double reward(lua_State *L, int k) {
  lua_rawgeti(L, -1, k);
  double v = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return v;
}

static void *run(void *arg) {
  job *j = arg;
  lua_State *L = new_state();
  if (!L) return snprintf(j->error, sizeof j->error, "no memory for a Lua state"), NULL;
  int status = luaL_loadfile(L, "examples/c/two_states.lua");
  lua_pushinteger(L, j->seed);
  lua_pushinteger(L, j->iterations);
  if (status == LUA_OK) status = lua_pcall(L, 2, 1, 0);
  else lua_settop(L, 1);
  if (status == LUA_OK) {
    j->n = (int)lua_rawlen(L, -1);
    j->first = reward(L, 1);
    j->last = reward(L, j->n);
  } else snprintf(j->error, sizeof j->error, "%s", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return NULL;
}

static int tell(int k, const job *j) {
  if (j->error[0]) return fprintf(stderr, "state %d: %s\n", k, j->error), 1;
  printf(
      "state %d: %d iterations, reward %.6f at first, %.6f at last\n", k, j->n, j->first, j->last);
  return 0;
}

int main(int argc, char **argv) {
  enum { N = 2 };
  int iterations = argc > 1 ? atoi(argv[1]) : 40,
      in_turn = argc > 2 && strcmp(argv[2], "in-turn") == 0;
  tempo_error err;
  if (!tempo_env_register(&homing, &err)) return fprintf(stderr, "%s\n", err.message), 1;
  setenv("LUA_PATH", "lua/?.lua;lua/?/init.lua;;", 0); /* tempo.nn and the others */
  pthread_t thread[N];
  job jobs[N] = { { 0 } };
  for (int k = 0; k < N; k++) {
    jobs[k] = (job){ .seed = k, .iterations = iterations };
    if (pthread_create(&thread[k], NULL, run, &jobs[k])) return fprintf(stderr, "no thread\n"), 1;
    if (in_turn) pthread_join(thread[k], NULL);
  }
  int failed = 0;
  for (int k = 0; k < N; k++) {
    if (!in_turn) pthread_join(thread[k], NULL);
    failed |= tell(k, &jobs[k]);
  }
  return failed;
}
