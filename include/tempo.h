/* tempo: compiled recurrences over time. The C interface of libtempo.
 *
 * A program is given in the text form of its symbolic dependence graph (what `f:explain("graph")`
 * prints), compiled once, and run for any bounds; docs/c.md shows programs.
 *
 * **Failure.** A function that can fail gives NULL, or 0 if it gives an int (1: done), and fills
 * `err`: a status (`TEMPO_E_...`) and a message that begins with the script's `file.lua:line:` if
 * it is known. err may be NULL, and some functions have none: tempo_last_error has the error too. A
 * function that succeeds leaves err alone. After any failure every object stays usable. A handle
 * that is NULL is refused like any other mistake (`TEMPO_E_OPTION`).
 *
 * **Ownership.** Each pointer has a word. GIVE: the caller owns the result and frees it with the
 * function that its comment names. TAKE: the call frees the argument. KEEP: a result stays tempo's,
 * an argument the caller's; it is used only during the call, unless the comment says how long. An
 * argument without a word is KEEP.
 *
 * **Units.** Extents count elements, sizes bytes, budgets and delays milliseconds. All indices
 * begin at 0. Text is UTF-8 and ends with a 0. Arrays are dense and row major, the extents of the
 * domain first, in the order of the dims.
 *
 * **Threads.** Programs share nothing: each may live in a thread of its own, with the functions
 * compiled from it and the arrays they are given. Two threads may not be in calls on one program,
 * its functions or one array at once; only tempo_cancel may come from any thread. */
#ifndef TEMPO_H
#define TEMPO_H
#include "tempo_env.h"
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

TP_API TEMPO_KEEP const char *tempo_version(void); /* for ever: "0.1" */

/* ---- failure ---- */

/* The classes of errors, in the order in which they are found. */
typedef enum tempo_status {
  TEMPO_OK,
  TEMPO_E_CALLBACK, /* a callback ended the run, or none is set where one is needed */
  TEMPO_E_INPUT,    /* an input is missing or unknown, or holds what an operator cannot take */
  TEMPO_E_BOUND,    /* a bound is missing, unknown, not needed or negative */
  TEMPO_E_OPTION,   /* an argument or option is wrong, or comes at the wrong time */
  TEMPO_E_DTYPE,
  TEMPO_E_SHAPE,
  TEMPO_E_RAGGED,
  TEMPO_E_AFFINE,
  TEMPO_E_CYCLE,
  TEMPO_E_UNDEFINED,
  TEMPO_E_DOMAIN, /* a read outside a domain, for these bounds or for all */
  TEMPO_E_DEVICE,
  TEMPO_E_FILE,   /* a file or a text cannot be read, written or understood */
  TEMPO_E_MEMORY, /* no memory, or more than the limit */
  TEMPO_E_NAN     /* a NaN or infinity, made of finite operands, where `check` is "nan" */
} tempo_status;

/* code: a tempo_status. message: "file.lua:12: class: text"; further lines are notes. */
typedef struct tempo_error {
  int code;
  char message[3072];
} tempo_error;

/* This thread's latest failure in any function. code TEMPO_OK: there was none. */
TP_API TEMPO_KEEP const tempo_error *tempo_last_error(void);
TP_API TEMPO_KEEP const char *tempo_status_word(int code); /* for ever: the class, "cycle" */

/* ---- arrays: reference counted ---- */

/* dtype: "f32 f64 i32 i64 u8 bool f16 bf16"; a bool is a byte, 0 or 1. rank: 0 to TEMPO_MAXRANK. */
enum { TEMPO_MAXRANK = 16 };
/* tempo_array_free. Zeroed; data is aligned to 64 bytes. */
TP_API TEMPO_GIVE tempo_array *tempo_array_new(const char *dtype, int rank, const int64_t *shape);
/* tempo_array_free. Over the caller's memory, which is KEEP until the last reference is gone. */
TP_API TEMPO_GIVE tempo_array *tempo_array_wrap(
    const char *dtype, int rank, const int64_t *shape, TEMPO_KEEP void *data);
/* tempo_array_free. A copy with memory of its own. */
TP_API TEMPO_GIVE tempo_array *tempo_array_copy(TEMPO_KEEP const tempo_array *a);
/* tempo_array_free. Another reference to the same array. */
TP_API TEMPO_GIVE tempo_array *tempo_array_ref(tempo_array *a);
/* Drops one reference; NULL is fine. */
TP_API void tempo_array_free(TEMPO_TAKE tempo_array *a);
/* As long as the array. From then on its elements may change at any time, so a device copies it in
 * each run; NULL: the device that had them was lost. */
TP_API TEMPO_KEEP void *tempo_array_data(tempo_array *a);
TP_API int tempo_array_rank(const tempo_array *a);
TP_API int64_t tempo_array_extent(const tempo_array *a, int axis);     /* 0: no such axis */
TP_API int64_t tempo_array_count(const tempo_array *a);                /* elements */
TP_API TEMPO_KEEP const char *tempo_array_dtype(const tempo_array *a); /* for ever */
/* Element i in row-major order, of any dtype, as a double. NaN: there is none. */
TP_API double tempo_array_get(const tempo_array *a, int64_t i);
/* Sets element i; an integer gets the number truncated and saturated. 0: there is no element i. */
TP_API int tempo_array_set(tempo_array *a, int64_t i, double v);
/* NumPy's .npy, which has no bf16. A file is written whole or not at all. load:
 * tempo_array_free. */
TP_API TEMPO_GIVE tempo_array *tempo_array_load(const char *path, tempo_error *err);
TP_API int tempo_array_save(TEMPO_KEEP const tempo_array *a, const char *path, tempo_error *err);

/* ---- environments of the host's ---- */

/* Adds an environment for all programs of the process, until it ends; before a text that names it
 * is parsed. From any thread. TEMPO_E_OPTION: the name is taken, or a field is not as above. */
TP_API int tempo_env_register(TEMPO_KEEP const tempo_env *env, tempo_error *err);

/* ---- programs ---- */

/* tempo_program_free. TEMPO_E_FILE names the text's line, "sdg:12". A line `stop t %5` ends dim t
 * by data: outputs over t then have the length that was reached, and another output, named like the
 * bound of t, holds the lengths. A `hidden` output is the last value of the parameter of its
 * name. */
TP_API TEMPO_GIVE tempo_program *tempo_program_parse(const char *text, tempo_error *err);
/* The same of a file. */
TP_API TEMPO_GIVE tempo_program *tempo_program_load(const char *path, tempo_error *err);
/* Frees the program; functions compiled from it live on. NULL is fine. */
TP_API void tempo_program_free(TEMPO_TAKE tempo_program *p);

/* ---- functions ---- */

/* A field that is 0 asks for the default: tempo_options o = { .size = sizeof o }; */
typedef struct tempo_options {
  size_t size;        /* sizeof(tempo_options) of the header that the caller has */
  const char *tier;   /* "auto", "reference", "interpreter", "native" */
  const char *passes; /* all; "none"; or by name: "cse=false,tile=false" */
  const char *device; /* "cpu" */
  int precise;        /* 1: no pass that reassociates floats */
  /* 1 to 4096; 0: OMP_NUM_THREADS, else 1. Every bit is the same for any number */
  int threads;
  int64_t memory; /* a limit in bytes: buffers that do not fit go to a file and back */
  int ntick;      /* the dims that steps go through, by name */
  const char *const *tick;
  /* "none"; "nan": a NaN or infinity made of finite operands ends the run */
  const char *check;
  /* 1: the same bits on every processor, by every compiler, with any number of threads */
  int reproducible;
  /* for the compiler of native code, behind those of this version: "-O1" */
  const char *cflags;
  /* 1: another thread compiles; the first use of the function waits for it, and fails if compiling
   * did */
  int async;
} tempo_options;
/* For tempo_options.memory: no limit, while 0 refuses runs beyond the machine's memory. */
#define TEMPO_MEMORY_ANY ((int64_t)-1)
/* tempo_function_free. Compiles; the function does not need the program any more. o NULL: all
 * defaults. */
TP_API TEMPO_GIVE tempo_function *tempo_compile_with(
    tempo_program *p, TEMPO_KEEP const tempo_options *o, tempo_error *err);
/* The same with a tier (NULL: "auto"), and with dims that steps go through. */
TP_API TEMPO_GIVE tempo_function *tempo_compile(
    tempo_program *p, const char *tier, tempo_error *err);
TP_API TEMPO_GIVE tempo_function *tempo_compile_ticks(
    tempo_program *p, const char *tier, int ntick, const char *const *tick, tempo_error *err);
/* 0: it is still being compiled, and a use of it would wait. */
TP_API int tempo_ready(const tempo_function *f);
/* Frees the function, and ends its compilation; while it runs nothing happens. NULL is fine. */
TP_API void tempo_function_free(TEMPO_TAKE tempo_function *f);

/* The kinds of things that a function has; tempo_function_name(f, kind, i) names item i. */
typedef enum tempo_kind {
  TEMPO_INPUT, /* arrays that a run needs */
  TEMPO_VALUE, /* inputs that come with each step */
  TEMPO_OUTPUT,
  TEMPO_PARAM, /* by module path: "policy.1.weight" */
  TEMPO_BOUND,
  TEMPO_TICK, /* the dims that steps go through, outermost first */
  /* in the script's order. Its name is that of its first result, or of a sink's first operand;
     without one it is the script's line, "train.lua:40" */
  TEMPO_CALLBACK,
  TEMPO_WARNING /* its name is its text */
} tempo_kind;
TP_API int tempo_function_count(tempo_function *f, tempo_kind kind);
/* As long as f. NULL: there is no item i. */
TP_API TEMPO_KEEP const char *tempo_function_name(tempo_function *f, tempo_kind kind, int i);
/* -1: none */
TP_API int tempo_function_find(tempo_function *f, tempo_kind kind, const char *name);
/* For ever. NULL: there is no item i, or it is no input, value, output or parameter. */
TP_API TEMPO_KEEP const char *tempo_function_dtype(tempo_function *f, tempo_kind kind, int i);
/* The extents of its array for these bounds; bounds that it does not mention may be left out. A
 * value has those of one tick, a parameter lacks the dims along which it evolves, an output over a
 * dim that ends by data has the most that is possible. Gives the rank; -1: err. */
TP_API int tempo_function_shape(tempo_function *f, tempo_kind kind, int i, int nbound,
    const char *const *bound_name, const int64_t *bound, int64_t shape[TEMPO_MAXRANK],
    tempo_error *err);
/* the seed in the program's text */
TP_API uint64_t tempo_function_seed(tempo_function *f);
TP_API int tempo_function_noutput(const tempo_function *f);
/* As long as f. */
TP_API TEMPO_KEEP const char *tempo_function_output_name(const tempo_function *f, int i);

/* ---- callbacks ---- */

/* One call: at each point of its domain, in lexicographic order. */
typedef struct tempo_call {
  tempo_function *function; /* it is running: for tempo_cancel only */
  int callback;             /* its number, and its name as above */
  const char *name;
  int narg;
  tempo_array *const *arg; /* KEEP, and not to be written into */
  int nresult;
  tempo_array *const *result; /* KEEP: zeroed, to be filled */
  int ndim;                   /* the point: names of dims, coordinates */
  const char *const *dim;
  const int64_t *at;
} tempo_call;
/* 1: done. 0: the run fails with the error that it wrote to err (code TEMPO_E_CALLBACK unless it
 * set another), or with a message of ours. No longjmp and no C++ exception may leave it. */
typedef int tempo_callback(void *data, TEMPO_KEEP const tempo_call *call, tempo_error *err);
/* data: KEEP as long as f, or until another is set. fn NULL: none again. Not while f runs. */
TP_API int tempo_set_callback(
    tempo_function *f, int i, tempo_callback *fn, TEMPO_KEEP void *data, tempo_error *err);

/* ---- parameters ---- by name */

/* tempo_array_free. A copy of the newest value, between ticks, after a run, a cancel or an error in
 * a callback, or of the value loaded since. TEMPO_E_OPTION: unknown, or there is no value yet. */
TP_API TEMPO_GIVE tempo_array *tempo_param(tempo_function *f, const char *name, tempo_error *err);
/* Sets its first value in later runs, borrowed: the function holds the array, and runs see numbers
 * that the host writes into it later. */
TP_API int tempo_load_param(
    tempo_function *f, const char *name, TEMPO_KEEP const tempo_array *a, tempo_error *err);
/* Saves all parameters that have a value, as NumPy's .npz, which Lua's tempo.load reads and
 * tempo.save writes. Loads any of them or, after an error, none. */
TP_API int tempo_save_params(tempo_function *f, const char *path, tempo_error *err);
TP_API int tempo_load_params(tempo_function *f, const char *path, tempo_error *err);

/* ---- runs ---- */

/* Runs for these bounds. Inputs and bounds by name, in any order; an input that nothing needs is
 * ignored, other names are errors. input: not to be written into meanwhile. seed: of random
 * numbers; the script's own is tempo_function_seed(). outputs: room for tempo_function_noutput()
 * handles (NULL if that is 0), each for tempo_array_free. An output is NULL if the run was
 * cancelled before it was complete; after an error all are. */
TP_API int tempo_run(tempo_function *f, int ninput, const char *const *input_name,
    tempo_array *const *input, int nbound, const char *const *bound_name, const int64_t *bound,
    uint64_t seed, TEMPO_GIVE tempo_array **outputs, tempo_error *err);
/* From a callback, or from any thread while f lives: ends the run or step that is going on at its
 * next statement, with the outputs that are complete. 0: none is going on. */
TP_API int tempo_cancel(tempo_function *f);
/* 1: the latest run or step ended so */
TP_API int tempo_cancelled(const tempo_function *f);

/* ---- steps ---- a run that is entered again at each point of the tick dims */

#ifndef TEMPO_CDEF
#define TEMPO_ENDLESS INT64_MAX /* as the bound of the first tick dim: no end */
#endif
/* Begins a run, and forgets one that was going on. Inputs without the tick dims: KEEP until the run
 * is over, not to be written into meanwhile. */
TP_API int tempo_start(tempo_function *f, int ninput, const char *const *input_name,
    tempo_array *const *input, int nbound, const char *const *bound_name, const int64_t *bound,
    uint64_t seed, tempo_error *err);
/* Does one tick. value: the inputs that have the tick dims, without these dims; copied, so the same
 * arrays may be filled again. budget_ms: does this tick's outputs first, however long they take,
 * then work for later ticks until so much time has passed; < 0: all work of the tick. *done: 1 if
 * that was the last tick. *late_ms: time over the budget (may be NULL). outputs: as tempo_run: the
 * value at this tick (of an output with only the outer tick dims: with the last tick inside its
 * point); the whole of another output, with the first tick if no tick has a part in it, else with
 * the last; or NULL. An error that is not one of the values ends the run. */
TP_API int tempo_step(tempo_function *f, int nvalue, const char *const *value_name,
    tempo_array *const *value, double budget_ms, int *done, double *late_ms,
    TEMPO_GIVE tempo_array **outputs, tempo_error *err);
/* The same into arrays of earlier steps: outputs[i] is NULL or an array. It is written into if it
 * has the value's dtype and shape and the handle is its only one; else the value's array takes its
 * place and the handle is freed. made (may be NULL): 1 for each output that this tick gave, 0 for
 * one whose array stays as it was. After the first steps of a run, a step whose outputs all have
 * such an array and belong to a tick asks for no memory. After an error the arrays' contents are
 * undefined. */
TP_API int tempo_step_into(tempo_function *f, int nvalue, const char *const *value_name,
    tempo_array *const *value, double budget_ms, int *done, double *late_ms, tempo_array **outputs,
    int *made, tempo_error *err);
/* The point of the next step: a coordinate for each TEMPO_TICK (at may be NULL). 0: no run is going
 * on. */
TP_API int tempo_next_tick(tempo_function *f, int64_t *at);

/* ---- states ---- all of a run, between ticks */

/* Bounds, inputs, position, kept values, parameters: *size bytes, for tempo_bytes_free. Only the
 * same program, compiled alike, goes on from them, in C or in Lua. */
TP_API TEMPO_GIVE void *tempo_state(tempo_function *f, size_t *size, tempo_error *err);
/* Puts f where the state was taken; after an error f is as before. */
TP_API int tempo_load_state(
    tempo_function *f, TEMPO_KEEP const void *state, size_t size, tempo_error *err);
TP_API void tempo_bytes_free(TEMPO_TAKE void *bytes); /* NULL is fine */
/* The same with a file, which is written whole or not at all. */
TP_API int tempo_save(tempo_function *f, const char *path, tempo_error *err);
TP_API int tempo_load(tempo_function *f, const char *path, tempo_error *err);
/* Does the rest of a state's run at once: as tempo_run, with the inputs that have the tick dims;
 * others that are not given are the state's. The bound of the first tick dim may be larger if it
 * could be endless. A run of f that was started stays where it is. */
TP_API int tempo_resume(tempo_function *f, TEMPO_KEEP const void *state, size_t size, int ninput,
    const char *const *input_name, tempo_array *const *input, int nbound,
    const char *const *bound_name, const int64_t *bound, TEMPO_GIVE tempo_array **outputs,
    tempo_error *err);

/* ---- what it costs, what was made of it ---- */

/* *bytes: memory of a run with these bounds besides inputs and outputs; -1: the tier cannot
 * know. */
TP_API int tempo_memory(tempo_function *f, int nbound, const char *const *bound_name,
    const int64_t *bound, int64_t *bytes, tempo_error *err);
TP_API int64_t tempo_peak(const tempo_function *f); /* bytes that the last run took */
/* tempo_text_free. section: NULL (a summary), "graph", "schedule", "storage", "memory", "work",
 * "plan", "threads", "code", "passes", "rules", "evolution", "dot". */
TP_API TEMPO_GIVE char *tempo_explain(tempo_function *f, const char *section, tempo_error *err);
/* The same for given bounds: with sizes in bytes, and memory over time. */
TP_API TEMPO_GIVE char *tempo_explain_for(tempo_function *f, const char *section, int nbound,
    const char *const *bound_name, const int64_t *bound, tempo_error *err);
/* tempo_text_free. Shows where the time of all runs so far went: so many regions, the dearest
 * first. */
TP_API TEMPO_GIVE char *tempo_profile(tempo_function *f, int rows, tempo_error *err);
TP_API void tempo_text_free(TEMPO_TAKE char *text); /* NULL is fine */

#ifndef TEMPO_CDEF
#ifdef __cplusplus
}
#endif
#endif
#endif
