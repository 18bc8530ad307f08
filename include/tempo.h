/* tempo: compiled recurrences over time. The C interface of libtempo.
 *
 * A program is given in the text form of its symbolic dependence graph (what `f:explain("graph")` prints), compiled once, and run for any
 * bounds; docs/c.md shows programs.
 *
 * **Failure.** A function that can fail gives NULL, or 0 where it gives an int (1: done), and fills `err`: a status (`TEMPO_E_...`) and a
 * message that begins with the script's `file.lua:line:` where there is one. err may be NULL, and some functions have none:
 * tempo_last_error has it all the same. Nothing is written to err or to results but what is said here. After any failure every object
 * stays usable. A handle that is NULL is refused like any other mistake (status `TEMPO_E_OPTION`).
 *
 * **Ownership.** Each pointer has a word. GIVE: the caller owns the result and ends it with the function that is named. TAKE: the argument
 * is ended by the call. KEEP: a result stays tempo's and an argument the caller's; no longer than the call, unless it says how long.
 *
 * **Units.** Extents count elements, sizes bytes, budgets and delays milliseconds. Indices of all kinds begin at 0. Text is UTF-8 and ends
 * with a 0. Arrays are dense and row major, the extents of the domain first, in the order of the dims.
 *
 * **Threads.** Programs share nothing: each may live in a thread of its own, with the functions compiled from it and the arrays they are
 * given. Two threads may not be in calls on one program, its functions or one array at once; only tempo_cancel may come from anywhere. */
#ifndef TEMPO_H
#define TEMPO_H
#ifndef TEMPO_CDEF
#include <stddef.h>
#include <stdint.h>
#if defined(__GNUC__)
#define TP_API __attribute__((visibility("default")))
#else
#define TP_API
#endif
#ifdef __cplusplus
extern "C" {
#endif
#else
#define TP_API
#endif
#define TEMPO_GIVE
#define TEMPO_TAKE
#define TEMPO_KEEP

typedef struct tempo_program tempo_program;
typedef struct tempo_function tempo_function;
typedef struct tempo_array tempo_array;

TP_API const char *tempo_version(void);                                         /* KEEP, for ever: "0.1" */

/* ---- failure ---- the classes of errors, in the order in which they are found */
typedef enum tempo_status {
  TEMPO_OK,
  TEMPO_E_CALLBACK,             /* a callback ended the run, or there is none where one is needed */
  TEMPO_E_INPUT,                /* an input is missing or unknown; data that an operator cannot take (an index outside, i // 0) */
  TEMPO_E_BOUND,                /* a bound is missing, unknown, not needed or negative */
  TEMPO_E_OPTION,               /* an argument or option is wrong, or comes at the wrong time */
  TEMPO_E_DTYPE,
  TEMPO_E_SHAPE,
  TEMPO_E_RAGGED,
  TEMPO_E_AFFINE,
  TEMPO_E_CYCLE,
  TEMPO_E_UNDEFINED,
  TEMPO_E_DOMAIN,               /* a read outside a domain, for these bounds or for all */
  TEMPO_E_DEVICE,
  TEMPO_E_FILE,                 /* a file or a text cannot be read, written or understood */
  TEMPO_E_MEMORY                /* no memory, or more than the limit */
} tempo_status;
typedef struct tempo_error { int code; char message[3072]; } tempo_error;       /* a tempo_status; "file.lua:12: class: text", further lines are notes */
/* KEEP, until this thread's next failure: its latest one, of any function. code TEMPO_OK: there was none. */
TP_API const tempo_error *tempo_last_error(void);
TP_API const char *tempo_status_word(int code);                                 /* KEEP, for ever: the class's word, "cycle" */

/* ---- arrays: reference counted ---- dtype: "f32 f64 i32 i64 u8 bool f16 bf16"; a bool is a byte, 0 or 1; at most 16 axes */
enum { TEMPO_MAXRANK = 16 };
/* GIVE, tempo_array_free: zeroed, its data aligned to 64 bytes. NULL: no memory, or a bad dtype or shape. */
TP_API TEMPO_GIVE tempo_array *tempo_array_new(const char *dtype, int rank, const int64_t *shape);
/* GIVE, tempo_array_free: an array over the caller's memory, KEEP until the last reference is gone; nothing is copied. */
TP_API TEMPO_GIVE tempo_array *tempo_array_wrap(const char *dtype, int rank, const int64_t *shape, TEMPO_KEEP void *data);
TP_API TEMPO_GIVE tempo_array *tempo_array_copy(TEMPO_KEEP const tempo_array *a);     /* GIVE, tempo_array_free: with memory of its own; NULL: no memory */
TP_API TEMPO_GIVE tempo_array *tempo_array_ref(tempo_array *a);                 /* GIVE, tempo_array_free: the same array, held once more */
TP_API void tempo_array_free(TEMPO_TAKE tempo_array *a);                        /* TAKE: one reference; NULL is fine */
TP_API TEMPO_KEEP void *tempo_array_data(TEMPO_KEEP tempo_array *a);            /* KEEP, as long as the array; NULL for NULL */
TP_API int tempo_array_rank(const tempo_array *a);
TP_API int64_t tempo_array_extent(const tempo_array *a, int axis);              /* 0: there is no such axis */
TP_API int64_t tempo_array_count(const tempo_array *a);                         /* elements */
TP_API const char *tempo_array_dtype(const tempo_array *a);                     /* KEEP, for ever */
TP_API double tempo_array_get(const tempo_array *a, int64_t i);                 /* element i in row-major order, whatever the dtype; NaN: there is none */
TP_API int tempo_array_set(tempo_array *a, int64_t i, double v);                /* converts: to integers it truncates and saturates. 0: there is no element i */
/* NumPy's .npy: read whole, written whole or not at all. bf16 has no place in these files. */
TP_API TEMPO_GIVE tempo_array *tempo_array_load(const char *path, tempo_error *err);  /* GIVE, tempo_array_free */
TP_API int tempo_array_save(TEMPO_KEEP const tempo_array *a, const char *path, tempo_error *err);

/* ---- environments of the host's ---- as `env_reset`, `env_obs` and `env_step` in a program; see docs/c.md
 * Functions of their arguments and of `data`, which stays as it is: they may be called for any environments in any order, from each
 * thread that runs a program, and for results that nothing reads. A state is nstate doubles, an observation nobs floats, u nu numbers
 * in [0, 1) of the program's random numbers, an action one int64_t in 0 .. nactions-1, or nact floats where nactions is 0. Memory that
 * a function is given belongs to that call. */
typedef struct tempo_env {
  const char *name;                             /* copied */
  int nstate, nobs, nu;                         /* nstate, nobs >= 1; nu >= 0 */
  int nactions, nact;                           /* > 0 and 0, or 0 and > 0 */
  TEMPO_KEEP void *data;                        /* KEEP, for ever: handed to the functions */
  void (*reset)(void *data, const double *u, double *state);
  void (*observe)(void *data, const double *state, float *obs);
  /* obs and reward are the step's; next is the state after it, or where the step ended the episode (terminated, or truncated by a
   * clock of its own) that of a reset. Never called with an action outside 0 .. nactions-1. */
  void (*step)(void *data, const double *state, const void *action, const double *u, double *next, float *obs, float *reward,
               uint8_t *terminated, uint8_t *truncated);
} tempo_env;
/* For all programs of the process, until it ends; before the program that names it is parsed. From any thread. TEMPO_E_OPTION: there is
 * one of this name, or a field is none of the above. */
TP_API int tempo_env_register(TEMPO_KEEP const tempo_env *env, tempo_error *err);

/* ---- programs ---- */
/* GIVE, tempo_program_free. TEMPO_E_FILE names the text's line, "sdg:12". A line `stop t %5` ends dim t by data: outputs over t then have the
 * length that was reached, and a further output, named as the bound of t, holds the lengths. */
TP_API TEMPO_GIVE tempo_program *tempo_program_parse(const char *text, tempo_error *err);
TP_API TEMPO_GIVE tempo_program *tempo_program_load(const char *path, tempo_error *err);      /* the same of a file */
TP_API void tempo_program_free(TEMPO_TAKE tempo_program *p);                    /* TAKE: functions compiled from it live on; NULL is fine */

/* ---- functions ---- */
/* What a program is compiled with. A field that is 0 asks for the default; `tempo_options o = { .size = sizeof o };` */
typedef struct tempo_options {
  size_t size;                                  /* sizeof(tempo_options) of the header that the caller was compiled with */
  const char *tier;                             /* "auto", "reference", "interpreter" */
  const char *passes;                           /* all; "none"; or some of them: "cse=false,tile=false" */
  const char *device;                           /* "cpu" */
  int precise;                                  /* 1: no pass that reassociates floats */
  int threads;                                  /* 1 to 4096; the interpreter of this version uses one, whatever it is given */
  int64_t memory;                               /* a limit in bytes: what does not fit goes to a file and comes back */
  int ntick; const char *const *tick;           /* the dims that steps go through, by name */
} tempo_options;
/* GIVE, tempo_function_free. It keeps what it needs of the program. o NULL: all defaults. */
TP_API TEMPO_GIVE tempo_function *tempo_compile_with(tempo_program *p, TEMPO_KEEP const tempo_options *o, tempo_error *err);
/* The same with a tier (NULL: "auto"), and with dims that steps go through. */
TP_API TEMPO_GIVE tempo_function *tempo_compile(tempo_program *p, const char *tier, tempo_error *err);
TP_API TEMPO_GIVE tempo_function *tempo_compile_ticks(tempo_program *p, const char *tier, int ntick, const char *const *tick, tempo_error *err);
TP_API void tempo_function_free(TEMPO_TAKE tempo_function *f);                  /* TAKE, but not while it runs (then nothing happens); NULL is fine */

/* What a function has, by kind and number. */
typedef enum tempo_kind {
  TEMPO_INPUT,                  /* what a run is given */
  TEMPO_VALUE,                  /* those inputs that come with each step */
  TEMPO_OUTPUT,
  TEMPO_PARAM,                  /* by module path, "policy.1.weight" */
  TEMPO_BOUND,
  TEMPO_TICK,                   /* the dims that steps go through, outermost first */
  TEMPO_CALLBACK,               /* in the script's order; named as its first result or, of a sink, its first operand, or by its line */
  TEMPO_WARNING                 /* name: its text */
} tempo_kind;
TP_API int tempo_function_count(tempo_function *f, tempo_kind kind);
TP_API const char *tempo_function_name(tempo_function *f, tempo_kind kind, int i);    /* KEEP, as long as f; NULL: there is none */
TP_API int tempo_function_find(tempo_function *f, tempo_kind kind, const char *name); /* -1: there is none */
TP_API const char *tempo_function_dtype(tempo_function *f, tempo_kind kind, int i);   /* KEEP, for ever; of inputs, values, outputs, parameters; else NULL */
/* The extents of its array for these bounds: of a parameter those of f:params(), of a value those at one tick, of an output over a dim that ends by data
 * the most there can be. Gives the rank; -1: err. Bounds that it does not mention may be left out. */
TP_API int tempo_function_shape(tempo_function *f, tempo_kind kind, int i, int nbound, const char *const *bound_name, const int64_t *bound,
                                int64_t shape[TEMPO_MAXRANK], tempo_error *err);
TP_API uint64_t tempo_function_seed(tempo_function *f);                         /* the one that the program's text has */
TP_API int tempo_function_noutput(const tempo_function *f);
TP_API const char *tempo_function_output_name(const tempo_function *f, int i);  /* KEEP, as long as f */

/* ---- callbacks ---- what `call` in a program calls: at each point of its domain, in lexicographic order of dim */
typedef struct tempo_call {
  tempo_function *function;                     /* for tempo_cancel; it is running, so it cannot be run, stepped or freed */
  int callback; const char *name;               /* which one: its number, and its name as tempo_function_name gives it */
  int narg; tempo_array *const *arg;            /* KEEP, until the callback returns (tempo_array_copy keeps one); not to be written into */
  int nresult; tempo_array *const *result;      /* KEEP, until the callback returns: zeroed, to be filled */
  int ndim; const char *const *dim; const int64_t *at;        /* the point: names and coordinates */
} tempo_call;
/* 1: done. 0: ends the run, which fails with what the callback wrote to err (code TEMPO_E_CALLBACK unless it says another), or with words of ours.
 * A callback returns: no longjmp, no C++ exception out of it. */
typedef int tempo_callback(void *data, TEMPO_KEEP const tempo_call *call, tempo_error *err);
/* data: KEEP, as long as f or until another is set. fn NULL: none again; a run that needs it fails. Not while f runs. */
TP_API int tempo_set_callback(tempo_function *f, int i, tempo_callback *fn, TEMPO_KEEP void *data, tempo_error *err);

/* ---- parameters ---- */
/* GIVE, tempo_array_free: a copy of its value: between ticks the newest, else what the last run left, or what was loaded since. NULL: unknown, or not known yet. */
TP_API TEMPO_GIVE tempo_array *tempo_param(tempo_function *f, const char *name, tempo_error *err);
/* Its first value in runs to come (a run that has been started keeps its own); copied. TEMPO_E_OPTION, TEMPO_E_DTYPE, TEMPO_E_SHAPE. */
TP_API int tempo_load_param(tempo_function *f, const char *name, TEMPO_KEEP const tempo_array *a, tempo_error *err);
/* All of them, by name, as NumPy's .npz; what Lua's tempo.save(path, f:params()) and tempo.load(path) write and read. Loads any of them, or after an error none. */
TP_API int tempo_save_params(tempo_function *f, const char *path, tempo_error *err);
TP_API int tempo_load_params(tempo_function *f, const char *path, tempo_error *err);

/* ---- runs ---- */
/* Runs for these bounds. Inputs and bounds by name, in any order; an input that nothing needs is ignored. Inputs: KEEP, not to be written into meanwhile. outputs: GIVE, room for
 * tempo_function_noutput() handles, each for tempo_array_free; NULL where the run was cancelled before it was complete, and after an error everywhere. */
TP_API int tempo_run(tempo_function *f, int ninput, const char *const *input_name, tempo_array *const *input,
                     int nbound, const char *const *bound_name, const int64_t *bound, uint64_t seed, TEMPO_GIVE tempo_array **outputs, tempo_error *err);
/* From a callback, or from any thread while f lives: what runs (a run or a step) ends at its next statement, with what is complete. 0: nothing was running. */
TP_API int tempo_cancel(tempo_function *f);
TP_API int tempo_cancelled(const tempo_function *f);                            /* 1: the latest run or step ended by tempo_cancel */

/* ---- steps ---- a run that is entered again at each point of the tick dims */
#ifndef TEMPO_CDEF
#define TEMPO_ENDLESS INT64_MAX                 /* as the bound of the first tick dim: until someone stops */
#endif
/* Begins a run, and forgets one that was going on. Inputs without the tick dims: KEEP until the run is over, not to be written into. */
TP_API int tempo_start(tempo_function *f, int ninput, const char *const *input_name, tempo_array *const *input,
                       int nbound, const char *const *bound_name, const int64_t *bound, uint64_t seed, tempo_error *err);
/* One tick. value: the inputs that have the tick dims, without these; copied, so the same arrays may be filled again. budget_ms: this tick's outputs first, whatever they
 * take, then work for later ticks until so much time has passed; < 0: all work of the tick. *done: that was the last. *late_ms: over the budget (may be NULL).
 * outputs: as tempo_run; the value at this tick, or the whole of an output that is complete, or NULL. An error that is not one of the values ends the run. */
TP_API int tempo_step(tempo_function *f, int nvalue, const char *const *value_name, tempo_array *const *value, double budget_ms,
                      int *done, double *late_ms, TEMPO_GIVE tempo_array **outputs, tempo_error *err);
/* The point of the next step, a coordinate for each TEMPO_TICK (at may be NULL). 0: no run is going on. */
TP_API int tempo_next_tick(tempo_function *f, int64_t *at);

/* ---- states ---- between ticks, all of a run: bounds, inputs, position, what is kept, parameters. Only the same program, compiled alike, goes on from one;
 * C and Lua read each other's. */
TP_API TEMPO_GIVE void *tempo_state(tempo_function *f, size_t *size, tempo_error *err);       /* GIVE, tempo_bytes_free: *size bytes */
TP_API int tempo_load_state(tempo_function *f, TEMPO_KEEP const void *state, size_t size, tempo_error *err);  /* or nothing has changed */
TP_API void tempo_bytes_free(TEMPO_TAKE void *bytes);                           /* TAKE; NULL is fine */
TP_API int tempo_save(tempo_function *f, const char *path, tempo_error *err);   /* the same in a file, written whole or not at all */
TP_API int tempo_load(tempo_function *f, const char *path, tempo_error *err);
/* What is left of the run in a state, at once: as tempo_run, with the inputs that have the tick dims; of the others those of the state, if they are not given.
 * A bound may be larger than it was where nothing that is computed mentions it. A run that was started and its state stay. */
TP_API int tempo_resume(tempo_function *f, TEMPO_KEEP const void *state, size_t size, int ninput, const char *const *input_name, tempo_array *const *input,
                        int nbound, const char *const *bound_name, const int64_t *bound, TEMPO_GIVE tempo_array **outputs, tempo_error *err);

/* ---- what it costs, what was made of it ---- */
/* *bytes: what a run with these bounds takes besides inputs and outputs; -1 where the tier does not know (the reference). */
TP_API int tempo_memory(tempo_function *f, int nbound, const char *const *bound_name, const int64_t *bound, int64_t *bytes, tempo_error *err);
TP_API int64_t tempo_peak(const tempo_function *f);                             /* bytes that the last run took */
/* GIVE, tempo_text_free. section: NULL (a summary), "graph", "schedule", "storage", "memory", "plan", "code", "passes", "dot". */
TP_API TEMPO_GIVE char *tempo_explain(tempo_function *f, const char *section, tempo_error *err);
/* The same for given bounds: with sizes in bytes, and memory over time. */
TP_API TEMPO_GIVE char *tempo_explain_for(tempo_function *f, const char *section, int nbound, const char *const *bound_name, const int64_t *bound, tempo_error *err);
TP_API TEMPO_GIVE char *tempo_profile(tempo_function *f, int rows, tempo_error *err);   /* GIVE, tempo_text_free: where the time of all runs so far went, the dearest regions first */
TP_API void tempo_text_free(TEMPO_TAKE char *text);                             /* TAKE; NULL is fine */

#ifndef TEMPO_CDEF
#ifdef __cplusplus
}
#endif
#endif
#endif
