/* Environments in C, for hosts (tempo_env_register of tempo.h) and for libraries that scripts load
 * (rl.load_env). A library is compiled from this header alone:
 *
 *   cc -shared -fPIC -Iinclude corridor.c -o corridor.so
 *
 * and ends with a table of what it has, which must have this name:
 *
 *   static const tempo_env all[] = { { .name = "Corridor-v0", .. } };
 *   const tempo_env_list tempo_envs = { TEMPO_ENV_VERSION, 1, all };
 *
 * examples/c/envs has some. */
#ifndef TEMPO_ENV_H
#define TEMPO_ENV_H
#ifndef TEMPO_CDEF
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#endif

/* The version of the structs below; a library of another version is refused. */
enum { TEMPO_ENV_VERSION = 2 };

/* An environment: functions whose results depend on their arguments and on data, which never
 * changes. tempo calls them for any environments in any order, from each thread that runs a
 * program, also for results that nothing reads; memory that a function is given belongs to that
 * call. A state is nstate doubles. u are fresh random numbers in [0, 1): nreset of a reset, nstep
 * of a step. Fields that are left out are 0. */
typedef struct tempo_env {
  const char *name;   /* copied */
  int nstate;         /* >= 1 */
  int shape[4];       /* of an observation; 0 ends it: { 10, 10, 3 }, { 4 } */
  int nactions, nact; /* one of them > 0, the other 0 */
  int nreset, nstep;  /* >= 0 */
  int max_steps;      /* after so many an episode is truncated; 0: never */
  void *data;         /* for ever: handed to the functions */
  void (*reset)(void *data, const double *u, double *state);
  /* obs: floats, row by row; behind them nactions more, if it is masked */
  void (*observe)(void *data, const double *state, float *obs);
  /* action: one int64_t in 0 .. nactions - 1 (others are an error before the call), or nact floats.
   * next is the state after the step; tempo looks at it, and resets it where the episode ended.
   * reward, terminated and truncated are 0 before. */
  void (*step)(void *data, const double *state, const void *action, const double *u, double *next,
      float *reward, uint8_t *terminated, uint8_t *truncated);
  int masked; /* 1: some of nactions may be illegal; observe writes 1 for each that is legal, else 0
               */
} tempo_env;

typedef struct tempo_env_list {
  int version, count;
  const tempo_env *env;
} tempo_env_list;

#ifndef TEMPO_CDEF
#ifdef __cplusplus
}
#endif
/* The table of a library, which it defines. */
#if defined(_WIN32)
extern __declspec(dllexport) const tempo_env_list tempo_envs;
#elif defined(__GNUC__)
extern __attribute__((visibility("default"))) const tempo_env_list tempo_envs;
#else
extern const tempo_env_list tempo_envs;
#endif
#endif
#endif
