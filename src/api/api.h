/* api: include/tempo.h over rt.h. Rank 11. Handles of programs and arrays are the core's own
 * objects; a function's is the one below. */
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
  tp_arena a; /* names and tables that live as long */
  int nhook;
  hook *hooks;          /* by fn, ascending */
  bool running, cancel; /* seen and set by other threads, too */
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
/* fn is given p, `what`, and it is not NULL. */
bool api_given(const void *p, const char *fn, const char *what, tempo_error *out);
tp_array *api_array(const tempo_array *a);
tempo_array *api_give(tp_array *a, tempo_error *out); /* a; NULL is no memory */

/* A bool is 0 or 1, as kernels count on it: the first element that is not; -1: it is no bool, or
 * all are. */
int64_t api_not_bool(const tp_array *a);

/* ---- function.c ---- */
/* The place of the i-th output that is no parameter's; -1. */
int api_visible(const tp_graph *g, int i);

/* ---- bind.c ---- what a call names */
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
/* By symbol, for tp_free; all: none may be missing. NULL: e. */
int64_t *api_env(tempo_function *f, bounds b, bool all, tp_error *e);
bool api_bind_inputs(tempo_function *f, moment when, arrays a, tp_array **in, tp_error *e);

/* ---- callback.c ---- */
/* fn is given f, and it is compiled, or this waits for it. */
bool api_compiled(const tempo_function *f, const char *fn, tempo_error *out);
/* f is not running. */
bool api_idle(const tempo_function *f, const char *fn, tempo_error *out);
/* both */
bool api_ready(const tempo_function *f, const char *fn, tempo_error *out);
/* the program's callbacks, none set; places of a step */
bool api_hooks(tempo_function *f, tp_error *e);
bool api_call(void *f, const tp_call *c, tp_error *e); /* tp_run.call */
#endif
