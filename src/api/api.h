/* api: include/tempo.h on top of rt.h. Rank 11. Handles of programs and arrays are the core's own
 * objects; a function's is the struct below. Each file implements one section of the header. */
#ifndef TP_API_H
#define TP_API_H
#include "tempo.h"
#include "rt/rt.h"

/* One callback of the program: what the host has set for it. */
typedef struct hook {
  int fn;
  const char *name;
  tempo_callback *call;
  void *data;
} hook;

struct tempo_function {
  tp_fn *f;
  tp_arena a; /* names and tables */
  int nhook;
  hook *hooks;          /* by fn, ascending */
  bool running, cancel; /* other threads read and set them too */
  bool cancelled;       /* the latest run or step */
  /* a callback's own error, which the run fails with */
  bool raised;
  tempo_error error;
  /* of a step, all NULL between two: by input, by output */
  tp_array **in, **out, **into;
};

/* ---- error.c ---- */
/* These give 0. raise: an error of the host's own. */
int api_fail(tempo_error *out, const tp_error *e);
int api_raise(tempo_error *out, const tempo_error *e);
int api_refuse(tempo_error *out, tp_code code, const char *fmt, ...) TP_PRINTF(3, 4);
/* Is p, the argument `what` of fn, not NULL? */
bool api_given(const void *p, const char *fn, const char *what, tempo_error *out);
tp_array *api_array(const tempo_array *a);
tempo_array *api_give(tp_array *a, tempo_error *out); /* a; NULL is no memory */

/* The first element of a bool array that is not 0 or 1, on which kernels count; -1: none. */
int64_t api_not_bool(const tp_array *a);

/* ---- function.c ---- */
/* The place of the i-th output that is no parameter's; -1. */
int api_visible(const tp_graph *g, int i);

/* ---- bind.c ---- names that a call uses */
int api_place(int n, const char *const *names, const char *want); /* -1: none */
/* The place of the input or parameter of this name; -1: hint names the one that is near. */
int api_named(int n, tp_node *const *v, const char *name, char *hint);
typedef struct bounds {
  int n;
  const char *const *name;
  const int64_t *v;
} bounds;
typedef struct arrays {
  int n;
  const char *const *name;
  tempo_array *const *v;
} arrays;
typedef enum { ALL, STARTING, STEPPING, RESUMING } moment;
/* Bounds by symbol, for tp_free; all: none may be missing. NULL: e. */
int64_t *api_env(tempo_function *f, bounds b, bool all, tp_error *e);
bool api_bind_inputs(tempo_function *f, moment when, arrays a, tp_array **in, tp_error *e);

/* ---- callback.c ---- */
/* Is fn given f? Waits until it is compiled. */
bool api_compiled(const tempo_function *f, const char *fn, tempo_error *out);
/* Is f not running? */
bool api_idle(const tempo_function *f, const char *fn, tempo_error *out);
/* both */
bool api_ready(const tempo_function *f, const char *fn, tempo_error *out);
/* makes places for the program's callbacks, none set, and for a step's arrays */
bool api_hooks(tempo_function *f, tp_error *e);
bool api_call(void *f, const tp_call *c, tp_error *e); /* tp_run.call */
#endif
