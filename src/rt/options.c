/* options: reads the options of P:compile and of the environment, which wins. */
#include "rt/fn.h"
#include <stdlib.h>

static bool choose_tier(tp_fn *f, const tp_copts *o, tp_error *err) {
  f->tier = o->tier;
  const char *env = tp_setting("TEMPO_TIER");
  if (env && !tp_tier_parse(env, &f->tier))
    return tp_fail(err, TP_E_OPTION, o->pos,
        "TEMPO_TIER is '%s'; it may be auto, reference, interpreter or native", env);
  f->engine = f->tier == TP_TIER_REFERENCE ? &tp_engine_reference : &tp_engine_plan;
  const char *device = tp_setting("TEMPO_DEVICE");
  f->backend = tp_backend_find(device ? device : o->device, &f->which, o->pos, err);
  return f->backend != NULL;
}

static bool choose_threads(tp_fn *f, const tp_copts *o, tp_error *err) {
  const char *env = tp_setting("TEMPO_THREADS"), *omp = getenv("OMP_NUM_THREADS");
  char *end = NULL;
  /* OMP_NUM_THREADS may be a list: its first number counts */
  long n = env ? strtol(env, &end, 10) : o->threads ? o->threads : omp ? strtol(omp, NULL, 10) : 1;
  if (!env && !o->threads && (n < 1 || n > 4096)) n = 1;
  if (env && (*end || n < 1 || n > 4096))
    return tp_fail(err, TP_E_OPTION, o->pos, "TEMPO_THREADS is '%s'; it may be 1 to 4096", env);
  f->threads = (int)n;
  return true;
}

static bool choose_limit(tp_fn *f, const tp_copts *o, tp_error *err) {
  const char *env = tp_setting("TEMPO_MEMORY");
  f->limit = tp_setting("TEMPO_SPILL") ? TP_SPILL_ALL : TP_MAX(o->memory, 0);
  f->most = o->memory == TP_MEMORY_ANY ? TP_MEMORY_ANY : 0;
  if (!env) return true;
  bool any = !strcmp(env, "none");
  f->most = any ? TP_MEMORY_ANY : tp_bytes_parse(env);
  return any || f->most > 0 ||
      tp_fail(err, TP_E_OPTION, o->pos,
          "TEMPO_MEMORY is '%s'; it may be a number of bytes, as \"16GiB\", or none", env);
}

static bool choose_check(tp_fn *f, const tp_copts *o, tp_error *err) {
  static const char *const known[] = { "nan", "none" };
  const char *env = tp_setting("TEMPO_CHECK"), *what = env ? env : o->check ? o->check : "none";
  f->opt.check = !strcmp(what, "nan");
  if (f->opt.check || !strcmp(what, "none")) return true;
  char hint[TP_HINT];
  return tp_fail(err, TP_E_OPTION, o->pos, "%s is '%s'%s", env ? "TEMPO_CHECK" : "check", what,
      tp_hint(hint, what, known, TP_LEN(known)));
}

/* ---- options of passes: "none", "evolve=false,cse=true" ---- */

static bool unknown_pass(const tp_copts *o, const char *s, size_t n, tp_error *err) {
  char word[64], hint[TP_HINT];
  const char *names[TP_NPASS + TP_NRULE];
  int have = 0;
  for (int i = 0; i < TP_NPASS; i++) names[have++] = tp_passes[i].name;
  for (int i = 0; i < TP_NRULE; i++) names[have++] = tp_rule_name(i);
  snprintf(word, sizeof word, "%.*s", (int)TP_MIN(n, sizeof word), s);
  tp_hint(hint, word, names, have);
  return tp_fail(err, TP_E_OPTION, o->pos, "unknown pass '%s'%s", word,
      *hint ? hint : "; f:explain \"passes\" lists them");
}

static bool choose_pass(
    tp_fn *f, const tp_copts *o, const char *s, size_t n, bool on, tp_error *err) {
  int i = tp_pass_named(s, n), rule = i < 0 ? tp_rule_named(s, n) : -1;
  if (rule >= 0) return f->opt.rule_off[rule] = !on, true;
  if (i < 0) return unknown_pass(o, s, n, err);
  if (tp_passes[i].always && !on)
    return tp_fail(err, TP_E_OPTION, o->pos, "pass '%s' cannot be left out", tp_passes[i].name);
  f->opt.on[i] = on;
  return true;
}

static bool choose_passes(tp_fn *f, const tp_copts *o, tp_error *err) {
  const char *s = tp_setting("TEMPO_PASSES");
  if (!s) s = o->passes;
  bool none = s && !strcmp(s, "none");
  for (int i = 0; i < TP_NPASS; i++) f->opt.on[i] = !none || tp_passes[i].always;
  f->opt.precise = o->precise;
  f->opt.reproducible = o->reproducible;
  if (!s || none || !strcmp(s, "all")) return true;
  for (size_t n, v; *s; s += n + v, s += *s == ',') {
    n = strcspn(s, "=,");
    v = strcspn(s + n, ",");
    bool on = strncmp(s + n, "=false", 6) && strncmp(s + n, "=0", 2);
    if (!choose_pass(f, o, s, n, on, err)) return false;
  }
  return true;
}

/* The first of the compiler's options with which floats may come out different. */
static const char *breaks_promise(const char *s) {
  static const char *const words[] = { "-Ofast", "-ffast-math", "-funsafe-math-optimizations",
    "-fassociative-math", "-freciprocal-math", "-fno-signed-zeros", "-ffinite-math-only",
    "-ffp-contract=fast", "-ffp-contract=on", "-ffp-model=fast", "-fexcess-precision=fast",
    "-fsingle-precision-constant", "-mfpmath=387" };
  for (size_t n; *(s += strspn(s, " \t\n")); s += n) {
    n = strcspn(s, " \t\n");
    for (size_t i = 0; i < TP_LEN(words); i++)
      if (strlen(words[i]) == n && !memcmp(s, words[i], n)) return words[i];
  }
  return NULL;
}

static bool choose_flags(tp_fn *f, const tp_copts *o, tp_error *err) {
  const char *env = tp_setting("TEMPO_CFLAGS"), *own = o->cflags ? o->cflags : "";
  f->cflags = tp_printf(
      tp_ictx_arena(f->program->ix), "%s%s%s", own, *own && env ? " " : "", env ? env : "");
  const struct {
    const char *name, *words;
  } from[] = { { "cflags", own }, { "TEMPO_CFLAGS", env }, { "$CC", getenv("CC") } };
  for (size_t i = 0; o->reproducible && i < TP_LEN(from); i++) {
    const char *bad = from[i].words ? breaks_promise(from[i].words) : NULL;
    if (bad)
      return tp_fail(err, TP_E_OPTION, o->pos,
          "%s has '%s', which makes floats come out otherwise; "
          "reproducible = true promises that they do not",
          from[i].name, bad);
  }
  return true;
}

static bool check_dump(tp_fn *f, const tp_copts *o, tp_error *err) {
  tp_arena *a = tp_ictx_arena(f->program->ix);
  const char *s = tp_setting("TEMPO_DUMP"),
             *known = "record, again, build, schedule, storage, plan, kernels"
#define P(name, fn, when, says) ", " name
#include "plan/passes.def"
#undef P
      ;
  for (int i = 0; s && i < TP_NPASS; i++)
    if (tp_passes[i].fn) known = tp_printf(a, "%s, %s", known, tp_passes[i].name);
  for (size_t n; s && *s; s += n, s += *s == ',') {
    n = strcspn(s, ",");
    if (!strstr(tp_printf(a, ", %s,", known), tp_printf(a, ", %.*s,", (int)n, s)))
      return tp_fail(
          err, TP_E_OPTION, o->pos, "TEMPO_DUMP has '%.*s'; there is %s", (int)n, s, known);
  }
  return true;
}

bool tp_choose_options(tp_fn *f, const tp_copts *o, tp_error *err) {
  return choose_tier(f, o, err) && choose_threads(f, o, err) && choose_limit(f, o, err) &&
      choose_check(f, o, err) && choose_flags(f, o, err) && choose_passes(f, o, err) &&
      check_dump(f, o, err);
}
