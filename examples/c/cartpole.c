/* Trains CartPole and plays what was learnt, without Lua: the programs are texts, made by
 * cartpole.lua when this is built.
 *
 *   build/examples/c/cartpole [--iterations 200] [--envs 32] [--steps 500] [--seed 0] [--save
 * policy.npz] [--folder build/examples/c] */
#include <tempo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct {
  const char *folder, *save;
  int64_t iterations, envs, steps, seed;
} options;

static tempo_error err;

static void check(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, err.message);
  exit(1);
}

static options read_options(int argc, char **argv) {
  options o = { .folder = "build/examples/c", .iterations = 200, .envs = 32, .steps = 500 };
  struct {
    const char *name;
    int64_t *number;
    const char **text;
  } known[] = { { "--iterations", &o.iterations, NULL }, { "--envs", &o.envs, NULL },
    { "--steps", &o.steps, NULL }, { "--seed", &o.seed, NULL }, { "--save", NULL, &o.save },
    { "--folder", NULL, &o.folder } };
  enum { KNOWN = sizeof known / sizeof *known };
  for (int k = 1; k < argc; k += 2) {
    int i = 0;
    while (i < KNOWN && strcmp(known[i].name, argv[k])) i++;
    if (i == KNOWN || k + 1 == argc) {
      fprintf(stderr, "what is %s?\n", argv[k]);
      exit(2);
    }
    if (known[i].number) *known[i].number = atoll(argv[k + 1]);
    else *known[i].text = argv[k + 1];
  }
  return o;
}

/* A function from the text in folder/name. */
static tempo_function *load(
    const char *folder, const char *name, int ntick, const char *const *tick) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  tempo_program *p = tempo_program_load(path, &err);
  check(p != NULL, path);
  const tempo_options o = { .size = sizeof o, .ntick = ntick, .tick = tick };
  tempo_function *f = tempo_compile_with(p, &o, &err);
  check(f != NULL, path);
  tempo_program_free(p);
  return f;
}

/* ---- training: one run, which calls "report" after each iteration ---- */

typedef struct {
  double began, last;
  int64_t steps;
  double sum;
  int n;
} progress;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sum and number of the returns of episodes that ended, and the mean return of those still running.
 */
static int report(void *data, const tempo_call *c, tempo_error *e) {
  progress *p = data;
  double ended = tempo_array_get(c->arg[1], 0), at = now();
  double score = ended > 0 ? tempo_array_get(c->arg[0], 0) / ended : tempo_array_get(c->arg[2], 0);
  printf("iteration %3lld  return %6.1f  episodes %4.0f  %9.0f steps/s  %6.1f s\n",
      (long long)c->at[0], score, ended, (double)p->steps / (at - p->last), at - p->began);
  fflush(stdout);
  p->last = at;
  p->sum += score;
  p->n++;
  return 1;
}

static tempo_function *train(const options *o) {
  tempo_function *f = load(o->folder, "cartpole_train.sdg", 0, NULL);
  const char *const names[] = { "I", "B", "T" };
  const int64_t bounds[] = { o->iterations, o->envs, o->steps };
  int64_t bytes;
  check(tempo_memory(f, 3, names, bounds, &bytes, &err), "memory");
  printf("training takes %.1f MiB\n", (double)bytes / (1 << 20));
  progress p = { .began = now(), .last = now(), .steps = o->envs * o->steps };
  int sink = tempo_function_find(f, TEMPO_CALLBACK, "report");
  check(tempo_set_callback(f, sink, report, &p, &err), "report");
  check(tempo_run(f, 0, NULL, NULL, 3, names, bounds, (uint64_t)o->seed, NULL, &err), "training");
  printf("mean return of %d iterations %.1f\n", p.n, p.sum / (p.n ? p.n : 1));
  if (o->save) check(tempo_save_params(f, o->save, &err), o->save);
  return f;
}

/* ---- playing: tick by tick, as a game would ---- */

/* Parameters of `to`, by name, out of `from`. */
static void hand_over(tempo_function *from, tempo_function *to) {
  for (int i = 0; i < tempo_function_count(to, TEMPO_PARAM); i++) {
    const char *name = tempo_function_name(to, TEMPO_PARAM, i);
    tempo_array *w = tempo_param(from, name, &err);
    check(w && tempo_load_param(to, name, w, &err), name);
    tempo_array_free(w);
  }
}

static double number(tempo_function *f, tempo_array *const *out, const char *name, int64_t i) {
  return tempo_array_get(out[tempo_function_find(f, TEMPO_OUTPUT, name)], i);
}

static void draw(int tick, tempo_function *f, tempo_array *const *out) {
  char line[50] = "";
  int cart = (int)(number(f, out, "obs", 0) / 2.4 * 24 + 24.5);
  memset(line, '.', 49);
  line[cart < 0 ? 0 : cart > 48 ? 48 : cart] = number(f, out, "action", 0) ? '>' : '<';
  printf("%3d %s pole %5.1f degrees\n", tick, line, number(f, out, "obs", 2) * 57.2958);
}

/* The return of one episode. */
static double play(tempo_function *f, int64_t seed, int show) {
  const char *const names[] = { "T" };
  double sum = 0;
  int done = 0, fell = 0;
  check(tempo_start(f, 0, NULL, NULL, 1, names, (const int64_t[]){ 500 }, (uint64_t)seed, &err),
      "start");
  for (int tick = 0; !done && !fell; tick++) {
    tempo_array *out[4];
    check(tempo_step(f, 0, NULL, NULL, -1, &done, NULL, out, &err), "step");
    if (show && tick % show == 0) draw(tick, f, out);
    sum += number(f, out, "reward", 0);
    fell = number(f, out, "done", 0) != 0;
    for (int i = 0; i < 4; i++) tempo_array_free(out[i]);
  }
  return sum;
}

int main(int argc, char **argv) {
  enum { EPISODES = 10 };
  options o = read_options(argc, argv);
  tempo_function *learner = train(&o);
  tempo_function *player = load(o.folder, "cartpole_play.sdg", 1, (const char *const[]){ "t" });
  double sum = 0;
  hand_over(learner, player);
  for (int k = 0; k < EPISODES; k++) sum += play(player, o.seed + k, k == 0 ? 50 : 0);
  printf("seed %lld: mean return of %d episodes played %.1f\n", (long long)o.seed, EPISODES,
      sum / EPISODES);
  tempo_function_free(player);
  tempo_function_free(learner);
  return 0;
}
