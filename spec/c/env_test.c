/* CartPole-v1 against episodes that Gymnasium played (spec/fixtures/make_cartpole.py). Each step
 * starts from Gymnasium's own state, and whole episodes are also rolled out from the start alone.
 * Run from the top of the tree. */
#include "base/env.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int passed, failed;
static void check(bool ok, const char *what) {
  if (ok) {
    passed++;
    return;
  }
  failed++;
  printf("FAIL: %s\n", what);
}
static bool close_to(const double *a, const double *b, int n, double tol) {
  for (int k = 0; k < n; k++)
    if (!(fabs(a[k] - b[k]) <= tol)) return false;
  return true;
}

typedef struct {
  int steps, exact, rolled;
  bool reset, physics, obs, reward, flags, rollout, counted, terminated, truncated, by_x;
} tally;

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "spec/fixtures/cartpole.csv";
  const tp_env *e = tp_env_find("CartPole-v1");
  const char *names[8];
  check(e != NULL, "CartPole-v1 is found");
  check(tp_env_find("CartPole-v0") == NULL, "an unknown name is NULL");
  check(tp_env_names(names, 8) >= 1 && tp_env_find(names[0]) != NULL, "names are found");
  check(tp_env_names(names, 0) == 0, "names respect max");
  if (!e) {
    printf("%d passed, %d failed\n", passed, failed);
    return 1;
  }
  check(e->nstate == 5 && e->nobs == 4 && e->nu == 4 && e->nactions == 2, "sizes");

  FILE *f = fopen(path, "r");
  if (!f) {
    printf("cannot open %s\n%d passed, %d failed\n", path, passed, failed + 1);
    return 1;
  }
  char line[1024];
  double state[5], rolled[5], u[4];
  const double fresh[4] = { 0.5, 0.25, 0.75, 0.125 };
  tally all = { .reset = true,
    .physics = true,
    .obs = true,
    .reward = true,
    .flags = true,
    .rollout = true,
    .counted = true };
  int episodes = 0;
  while (fgets(line, sizeof line, f)) {
    double v[16];
    int ep, step, term, trunc;
    long long action;
    if (line[0] == 'R') {
      if (sscanf(line, "R,%d,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &ep, u, u + 1, u + 2, u + 3, v,
              v + 1, v + 2, v + 3) != 9) {
        check(false, line);
        continue;
      }
      e->reset(NULL, u, state);
      all.reset &= close_to(state, v, 4, 0) && state[4] == 0;
      memcpy(rolled, state, sizeof rolled);
      episodes++;
    } else if (line[0] == 'S') {
      if (sscanf(line, "S,%d,%d,%lld,%lf,%lf,%lf,%lf,%lf,%d,%d,%lf,%lf,%lf,%lf", &ep, &step,
              &action, v, v + 1, v + 2, v + 3, v + 4, &term, &trunc, v + 5, v + 6, v + 7,
              v + 8) != 14) {
        check(false, line);
        continue;
      }
      double next[5], want[5] = { v[0], v[1], v[2], v[3], step + 1 };
      float obs[4], reward;
      uint8_t te, tr;
      int64_t a = action;
      /* one step from Gymnasium's state; where it ends, next is the reset and the physics shows in
       * obs only */
      e->step(NULL, state, &a, fresh, next, obs, &reward, &te, &tr);
      double o[4] = { obs[0], obs[1], obs[2], obs[3] };
      all.obs &= close_to(o, v + 5, 4, 5e-7);
      all.reward &= reward == (float)v[4];
      all.flags &= te == term && tr == trunc;
      if (te || tr) {
        double r[5];
        e->reset(NULL, fresh, r);
        all.physics &= close_to(next, r, 5, 0);
        all.terminated |= te;
        all.truncated |= tr && step == 499;
        all.by_x |= te && fabs(v[0]) > 2.4;
      } else {
        all.physics &= close_to(next, want, 5, 1e-12);
        all.exact += close_to(next, want, 5, 0);
      }
      all.counted &= state[4] == step;
      /* the whole episode from its start */
      e->step(NULL, rolled, &a, fresh, rolled, obs, &reward, &te, &tr);
      all.rollout &= te == term && tr == trunc && (te || tr || close_to(rolled, want, 5, 1e-9));
      memcpy(state, want, sizeof state);
      all.steps++;
    }
  }
  fclose(f);
  check(episodes >= 7 && all.steps > 600, "the fixture is whole");
  check(all.reset, "reset: bit for bit");
  check(all.physics, "one step: within 1e-12 of Gymnasium's, auto-reset at an end");
  check(all.exact * 10 >= all.steps * 9, "one step: nearly always bit for bit");
  check(all.obs, "the observation before the reset, to a unit in the last place of f32");
  check(all.reward, "reward 1 at every step");
  check(all.flags, "terminated and truncated");
  check(all.counted, "steps are counted");
  check(all.rollout, "whole episodes from their start");
  check(all.terminated && all.truncated && all.by_x,
      "the fixture has ends by angle, by position and by 500 steps");

  /* limits are strict, and an episode may end both ways at once */
  double edge[5] = { 2.4, 0, 0, 0, 0 }, next[5];
  float obs[4], reward;
  uint8_t te, tr;
  int64_t a = 1;
  e->step(NULL, edge, &a, fresh, next, obs, &reward, &te, &tr);
  check(!te && !tr && next[4] == 1, "x = 2.4 is still inside");
  double both[5] = { 3, 0, 0, 0, 499 };
  e->step(NULL, both, &a, fresh, next, obs, &reward, &te, &tr);
  check(te && tr && next[4] == 0 && obs[0] == 3,
      "terminated and truncated are told apart and may coincide");
  printf("one step bit for bit: %d of %d\n", all.exact, all.steps);
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
