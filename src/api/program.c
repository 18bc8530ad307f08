/* program: environments, texts of programs, compiling them. */
#include "api/api.h"
#include "base/env.h"
#include "io/io.h"

int tempo_env_register(const tempo_env *env, tempo_error *err) {
  tp_error e = { 0 };
  return api_given(env, __func__, "the environment", err) &&
      (tp_env_add(env, &e) || api_fail(err, &e));
}

/* ---- texts ---- */

static tempo_program *parsed(const char *text, tempo_error *err) {
  tp_error e = { 0 };
  tp_guard oom;
  tp_program *volatile p = NULL;
  tp_graph *volatile g = NULL;
  if (TP_GUARDED(&oom)) {
    if ((p = tp_program_new(0))) g = tp_graph_parse(p->ix, text, &e);
    else tp_no_memory(&e, TP_NOWHERE);
    tp_unguard(&oom);
  } else tp_no_memory(&e, TP_NOWHERE);
  if (g) {
    tp_graph_free(p->g);
    p->g = g;
    p->seed = g->seed;
    return (tempo_program *)p;
  }
  api_fail(err, &e);
  return (tempo_program *)tp_program_unref(p);
}

tempo_program *tempo_program_parse(const char *text, tempo_error *err) {
  return api_given(text, __func__, "text", err) ? parsed(text, err) : NULL;
}

tempo_program *tempo_program_load(const char *path, tempo_error *err) {
  tp_error e = { 0 };
  size_t n;
  if (!api_given(path, __func__, "path", err)) return NULL;
  char *text = tp_file_whole(path, &n, &e);
  if (text && strlen(text) != n) tp_file_fail(&e, path, "this is no text: it has a 0 in it");
  tempo_program *p = e.code ? (api_fail(err, &e), NULL) : parsed(text, err);
  tp_free(text);
  return p;
}

void tempo_program_free(tempo_program *p) { tp_program_unref((tp_program *)p); }

/* ---- compiling ---- */

static bool tick_dims(tp_program *p, int n, const char *const *names, tp_sym **dims, tp_error *e) {
  if (n < 0 || n > TP_MAXTICK || (n && !names))
    return tp_fail(e, TP_E_OPTION, TP_NOWHERE, "tick: %d dims", n);
  for (int i = 0; i < n; i++) {
    dims[i] = names[i] ? tp_sym_find(p->ix, names[i]) : NULL;
    if (!dims[i] || dims[i]->kind != TP_SYM_DIM)
      return tp_fail(e, TP_E_OPTION, TP_NOWHERE, "tick: the program has no dim '%s'",
          names[i] ? names[i] : "");
  }
  return true;
}

_Static_assert(TEMPO_MEMORY_ANY == TP_MEMORY_ANY, "one number for no limit");
/* Outputs stand in the text itself, so none are given to tp_compile. */
static tp_fn *compiled(tp_program *p, const tempo_options *o, tp_error *e) {
  tp_sym *dims[TP_MAXTICK];
  tp_copts c = { .passes = o->passes,
    .precise = o->precise,
    .reproducible = o->reproducible,
    .cflags = o->cflags,
    .device = o->device,
    .threads = o->threads,
    .memory = o->memory,
    .check = o->check,
    .async = o->async,
    .ntick = o->ntick,
    .tick = dims };
  if (o->tier && !tp_tier_parse(o->tier, &c.tier))
    tp_fail(e, TP_E_OPTION, TP_NOWHERE, "unknown tier '%s': auto, reference, interpreter or native",
        o->tier);
  if (o->threads < 0 || o->threads > 4096)
    tp_fail(e, TP_E_OPTION, TP_NOWHERE, "threads: expected 1 to 4096, got %d", o->threads);
  if (o->memory < TEMPO_MEMORY_ANY)
    tp_fail(e, TP_E_OPTION, TP_NOWHERE, "memory: expected a number of bytes, got %lld",
        (long long)o->memory);
  return !e->code && tick_dims(p, o->ntick, o->tick, dims, e) ? tp_compile(p, &c, e) : NULL;
}

/* Copies the options: fields that a caller's older header lacks are 0. */
static bool options_of(const tempo_options *given, tempo_options *o, tp_error *e) {
  *o = (tempo_options){ 0 };
  if (!given) return true;
  if (given->size < sizeof given->size || given->size > sizeof *o)
    return tp_fail(e, TP_E_OPTION, TP_NOWHERE,
        "tempo_options: its size is %zu, expected sizeof(tempo_options), %zu: { .size = sizeof o }",
        given->size, sizeof *o);
  memcpy(o, given, given->size);
  return true;
}

static void function_drop(tempo_function *f) {
  tp_fn_free(f->f);
  tp_arena_free(&f->a);
  tp_free(f);
}

tempo_function *tempo_compile_with(tempo_program *p, const tempo_options *given, tempo_error *err) {
  tp_error e = { 0 };
  tempo_options o;
  if (!api_given(p, "tempo_compile", "the program", err)) return NULL;
  tempo_function *f = tp_calloc(sizeof *f);
  if (!f) return api_refuse(err, TP_E_MEMORY, "out of memory"), NULL;
  tp_arena_init(&f->a);
  if (options_of(given, &o, &e) && (f->f = compiled((tp_program *)p, &o, &e)) &&
      (o.async || api_hooks(f, &e)))
    return f;
  api_fail(err, &e);
  function_drop(f);
  return NULL;
}

tempo_function *tempo_compile_ticks(
    tempo_program *p, const char *tier, int ntick, const char *const *tick, tempo_error *err) {
  const tempo_options o = { .size = sizeof o, .tier = tier, .ntick = ntick, .tick = tick };
  return tempo_compile_with(p, &o, err);
}

tempo_function *tempo_compile(tempo_program *p, const char *tier, tempo_error *err) {
  return tempo_compile_ticks(p, tier, 0, NULL, err);
}

int tempo_ready(const tempo_function *f) {
  return api_given(f, __func__, "the function", NULL) && tp_fn_ready(f->f);
}

void tempo_function_free(tempo_function *f) {
  if (f && api_idle(f, __func__, NULL)) function_drop(f);
}
