/* A game with a mask, for rl.load_env; examples/rl/ppo_masked.lua learns it:
 *
 *   cc -shared -fPIC -O2 -Iinclude examples/c/envs/tictactoe.c -o tictactoe.so
 *
 * TicTacToe-v0: noughts and crosses against an opponent who plays at random and begins every other
 * game. Seen are our cells, then theirs; behind that stands which cells are free. Reward is 1 for a
 * game that is won, -1 for one that is lost or for a cell that is taken, which ends it too. */
#include <tempo_env.h>

static const int line[8][3] = { { 0, 1, 2 }, { 3, 4, 5 }, { 6, 7, 8 }, { 0, 3, 6 }, { 1, 4, 7 },
  { 2, 5, 8 }, { 0, 4, 8 }, { 2, 4, 6 } };

static int won(const double *s, int who) {
  for (int k = 0; k < 8; k++)
    if (s[line[k][0]] == who && s[line[k][1]] == who && s[line[k][2]] == who) return 1;
  return 0;
}

static int count_free(const double *s) {
  int n = 0;
  for (int k = 0; k < 9; k++) n += s[k] == 0;
  return n;
}

static void reply(double *s, double u) {
  int n = (int)(u * count_free(s));
  for (int k = 0; k < 9; k++)
    if (s[k] == 0 && n-- == 0) s[k] = -1;
}

static void ttt_reset(void *data, const double *u, double *s) {
  (void)data;
  for (int k = 0; k < 9; k++) s[k] = 0;
  if (u[0] < 0.5) reply(s, u[1]);
}

static void ttt_observe(void *data, const double *s, float *obs) {
  (void)data;
  for (int k = 0; k < 9; k++) {
    obs[k] = s[k] == 1;
    obs[9 + k] = s[k] == -1;
    obs[18 + k] = s[k] == 0; /* the mask */
  }
}

static void ttt_step(void *data, const double *s, const void *action, const double *u, double *next,
    float *reward, uint8_t *terminated, uint8_t *truncated) {
  const int64_t at = *(const int64_t *)action;
  (void)data, (void)truncated;
  for (int k = 0; k < 9; k++) next[k] = s[k];
  if (s[at] != 0) *reward = -1;
  else {
    next[at] = 1;
    if (won(next, 1)) *reward = 1;
    else if (count_free(next) > 0) {
      reply(next, u[0]);
      if (won(next, -1)) *reward = -1;
    }
  }
  *terminated = *reward != 0 || count_free(next) == 0;
}

static const tempo_env all[] = { { .name = "TicTacToe-v0",
    .nstate = 9,
    .shape = { 18 },
    .nactions = 9,
    .nreset = 2,
    .nstep = 1,
    .reset = ttt_reset,
    .observe = ttt_observe,
    .step = ttt_step,
    .masked = 1 } };
const tempo_env_list tempo_envs = { TEMPO_ENV_VERSION, 1, all };
