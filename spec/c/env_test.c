/* Environments against what Gymnasium and MinAtar made of the same actions (make_cartpole.py and
 * make_envs.py of spec/fixtures). Run from the top of the tree. */
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

/* The next number of a line. */
static double number(char **p) {
  double v = strtod(*p, p);
  if (**p == ',') ++*p;
  return v;
}
static void numbers(char **p, double *v, int n) {
  for (int k = 0; k < n; k++) v[k] = number(p);
}

static char line[4096];
static FILE *opened(const char *path) {
  FILE *f = fopen(path, "r");
  check(f != NULL, path);
  return f;
}
/* Reads "E,id,": the environment, and where the line goes on. */
static const tp_env *named(char **p) {
  char *id = line + 2, *end = strchr(id, ',');
  if (strncmp(end, ",0,", 3) == 0 && strchr(id, ':') && strchr(id, ':') < end)
    end += 2; /* "id:10,0" */
  *end = '\0', *p = end + 1;
  return tp_env_find(id);
}

/* ---- CartPole: each step starts from Gymnasium's own state, and whole episodes are also rolled
 * out from the start alone ---- */

static void stepped(const tp_env *e, const double *s, const void *action, const double *u,
    double *next, float *obs, float *reward, uint8_t *te, uint8_t *tr) {
  tp_env_step(
      e, s, action, &(tp_noise){ .given = u }, &(tp_env_results){ next, obs, reward, te, tr });
}

typedef struct {
  int steps, exact, rolled;
  bool reset, physics, obs, reward, flags, rollout, counted, terminated, truncated, by_x;
} tally;

static void test_cartpole(void) {
  const tp_env *e = tp_env_find("CartPole-v1");
  const char *names[8];
  check(e != NULL, "CartPole-v1 is found");
  check(tp_env_find("CartPole-v0") == NULL, "an unknown name is NULL");
  check(tp_env_names(names, 8) >= 1 && tp_env_find(names[0]) != NULL, "names are found");
  check(tp_env_names(names, 0) == 0, "names respect max");
  FILE *f = opened("spec/fixtures/cartpole.csv");
  if (!e || !f) return;
  check(tp_env_width(e) == 5 && tp_env_nobs(e) == 4 && tp_env_nu(e) == 4 && e->nactions == 2,
      "sizes");
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
      tp_env_reset(e, u, state);
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
      double next[5], again[5], want[5] = { v[0], v[1], v[2], v[3], step + 1 };
      float obs[4], reward;
      uint8_t te, tr;
      int64_t a = action;
      /* one step from Gymnasium's state; where it ends, next is the reset and the physics shows in
       * obs only */
      stepped(e, state, &a, fresh, next, obs, &reward, &te, &tr);
      double o[4] = { obs[0], obs[1], obs[2], obs[3] };
      all.obs &= close_to(o, v + 5, 4, 5e-7);
      all.reward &= reward == (float)v[4];
      all.flags &= te == term && tr == trunc;
      if (te || tr) {
        double r[5];
        tp_env_reset(e, fresh, r);
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
      stepped(e, rolled, &a, fresh, again, obs, &reward, &te, &tr);
      memcpy(rolled, again, sizeof rolled);
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
  stepped(e, edge, &a, fresh, next, obs, &reward, &te, &tr);
  check(!te && !tr && next[4] == 1, "x = 2.4 is still inside");
  double both[5] = { 3, 0, 0, 0, 499 };
  stepped(e, both, &a, fresh, next, obs, &reward, &te, &tr);
  check(te && tr && next[4] == 0 && obs[0] == 3,
      "terminated and truncated are told apart and may coincide");
  printf("CartPole-v1: one step bit for bit: %d of %d\n", all.exact, all.steps);
}

/* ---- Gymnasium's other environments: each step from its own state ---- */

typedef struct {
  const tp_env *e;
  int nstate, nact, nobs, steps, exact, resets;
  int terminated, truncated;
  double worst;
} env_tally;

static double far(const double *a, const double *b, int n) {
  double most = 0;
  for (int k = 0; k < n; k++) most = fmax(most, fabs(a[k] - b[k]) / fmax(1, fabs(b[k])));
  return most;
}

static void report(const env_tally *t) {
  if (!t->e) return;
  printf("%s: %d of %d steps bit for bit, worst %.2g; %d resets, %d terminated, %d truncated\n",
      t->e->name, t->exact, t->steps, t->worst, t->resets, t->terminated, t->truncated);
  check(t->worst <= 1e-13 && t->exact * 10 >= t->steps * 7, t->e->name);
  check(
      t->steps > 100 && t->resets == 2 && t->terminated + t->truncated > 0, "the fixture is whole");
}

static void step_line(env_tally *t, char *p) {
  const tp_env *e = t->e;
  int steps = (int)number(&p), n = t->nstate;
  double given = number(&p), state[8], want[8], obs_want[8], next[8], seen[8], first[8];
  float obs[8], reward, force = (float)given;
  uint8_t te, tr;
  int64_t a = (int64_t)given;
  const double u[4] = { 0.5, 0.25, 0.75, 0.125 };
  numbers(&p, state, n), numbers(&p, want, n);
  double reward_want = number(&p), flags[2];
  numbers(&p, flags, 2), numbers(&p, obs_want, t->nobs);
  if (e->max_steps) state[n] = steps;
  stepped(e, state, t->nact ? (void *)&force : &a, u, next, obs, &reward, &te, &tr);
  bool ends = te || tr;
  tp_env_reset(e, u, first);
  check(te == flags[0] && tr == flags[1] && reward == (float)reward_want, line);
  if (ends) check(far(next, first, tp_env_width(e)) == 0, "it resets itself");
  for (int k = 0; k < t->nobs; k++) seen[k] = obs[k];
  check(far(seen, obs_want, t->nobs) < 1e-6, line);
  t->steps++, t->terminated += te, t->truncated += tr;
  t->exact += ends || far(next, want, n) == 0;
  if (!ends) t->worst = fmax(t->worst, far(next, want, n));
}

static void test_gymnasium(void) {
  FILE *f = opened("spec/fixtures/envs.csv");
  env_tally t = { 0 };
  while (f && fgets(line, sizeof line, f)) {
    char *p = line + 2;
    double u[8], want[8], s[8];
    if (line[0] == 'E') {
      report(&t);
      t = (env_tally){ .e = named(&p) };
      t.nstate = (int)number(&p), t.nact = (int)number(&p), t.nobs = (int)number(&p);
      check(t.e && t.e->nstate == t.nstate && t.e->nact == t.nact && tp_env_nobs(t.e) == t.nobs,
          line);
      if (!t.e) break;
    } else if (line[0] == 'R') {
      numbers(&p, u, t.e->nreset), numbers(&p, want, t.nstate);
      tp_env_reset(t.e, u, s);
      check(far(s, want, t.nstate) == 0 && s[t.nstate] == 0, line);
      t.resets++;
    } else if (line[0] == 'S') step_line(&t, p);
  }
  report(&t);
  if (f) fclose(f);
}

/* ---- MinAtar: whole games from their start ---- */

static uint32_t board(const float *obs, int n) {
  uint32_t h = 5381;
  for (int k = 0; k < n; k++) h = 33 * h + (uint32_t)obs[k] + 1;
  return h;
}

static void test_minatar(void) {
  FILE *f = opened("spec/fixtures/minatar.csv");
  const tp_env *e = NULL;
  double s[256], next[256], u[8];
  float obs[1000], reward;
  int games = 0, steps = 0, wrong = 0, ends = 0;
  while (f && fgets(line, sizeof line, f)) {
    char *p = line + 2;
    if (line[0] == 'E') {
      e = named(&p);
      check(e && e->nreset == (int)number(&p) && e->nstep == (int)number(&p), line);
      if (!e) break;
      games++;
    } else if (line[0] == 'R') {
      numbers(&p, u, e->nreset);
      for (int k = 0; k < e->nreset; k++) u[k] /= 1 << 30;
      tp_env_reset(e, u, s);
      e->observe(e->data, s, obs);
      wrong += board(obs, tp_env_nobs(e)) != (uint32_t)number(&p);
    } else if (line[0] == 'S') {
      int64_t a = (int64_t)number(&p);
      uint8_t te, tr;
      numbers(&p, u, e->nstep);
      for (int k = 0; k < e->nstep; k++) u[k] /= 1 << 30;
      for (int k = 0; k < e->nreset; k++) u[e->nstep + k] = 0.5;
      stepped(e, s, &a, u, next, obs, &reward, &te, &tr);
      bool same = reward == (float)number(&p) && te == number(&p);
      same &= board(obs, tp_env_nobs(e)) == (uint32_t)number(&p) && !tr;
      if (!same && !wrong++) printf("%s: step %d: %s", e->name, steps, line);
      steps++, ends += te;
      memcpy(s, next, sizeof s);
    }
  }
  if (f) fclose(f);
  printf("MinAtar: %d steps of %d games, %d wrong, %d ends\n", steps, games, wrong, ends);
  check(games == 6 && steps > 3000 && ends > 5 && !wrong, "MinAtar's games, step by step");
  /* Freeway ends by its clock; v1 has the actions that do something */
  e = tp_env_find("MinAtar/Freeway-v1");
  int64_t up = 1;
  uint8_t te, tr;
  u[0] = u[1] = u[2] = 0.5;
  tp_env_reset(e, u, s);
  s[2] = 1; /* steps that are left */
  stepped(e, s, &up, u, next, obs, &reward, &te, &tr);
  check(!te && next[2] == 0 && next[3] == 2, "Freeway goes on");
  stepped(e, next, &up, u, s, obs, &reward, &te, &tr);
  check(te && s[2] == 2500, "Freeway ends after its last step");
}

/* ---- ids with numbers ---- */

static void test_ids(void) {
  const tp_env *e = tp_env_find("Synthetic-v0:5x6x7"), *c = tp_env_find("Catch-v0:4");
  check(e && tp_env_nobs(e) == 210 && e == tp_env_find("Synthetic-v0:5x6x7"), "numbers of an id");
  check(c && c->shape[0] == 4 && c->shape[1] == 5, "further numbers are the defaults");
  const char *none[] = { "Synthetic-v0:", "Synthetic-v0:5x", "Synthetic-v0:0x1",
    "Synthetic-v0:5xx6", "Synthetic-v0:5x6x7x8", "CartPole-v1:3", "Catch-v0:99999",
    "MinAtar/Asterix-v0:10,1,1", "Catch-v01", "Catch-v0 :4", "Catch-v0:-4" };
  for (int k = 0; k < (int)TP_LEN(none); k++) check(!tp_env_find(none[k]), none[k]);
}

int main(void) {
  test_cartpole();
  test_gymnasium();
  test_minatar();
  test_ids();
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
