/* tempo: compiled recurrences over time. The C interface of libtempo.
 *
 * A program is given in the text form of its symbolic dependence graph (what `f:explain("graph")` prints), compiled once, and run for any bounds.
 * Handles are opaque; functions that can fail take a tempo_error last and return NULL or 0 after filling it. Arrays are dense and row major, the extents of
 * the domain first. A line `stop t %5` ends dim t by data: outputs over t then have the length that was reached, and a further output, named as the bound of t, holds
 * the lengths. Nothing here is thread-safe per handle; separate programs may live in separate threads. */
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

typedef struct tempo_program tempo_program;
typedef struct tempo_function tempo_function;
typedef struct tempo_array tempo_array;
typedef struct tempo_error { int code; char message[3072]; } tempo_error;   /* "file.lua:12: class: text" */

TP_API const char *tempo_version(void);

/* ---- arrays: reference counted ---- dtype: "f32 f64 i32 i64 u8 bool f16 bf16" */
TP_API tempo_array *tempo_array_new(const char *dtype, int rank, const int64_t *shape);          /* zeroed; NULL: no memory, or a bad dtype or shape */
TP_API tempo_array *tempo_array_wrap(const char *dtype, int rank, const int64_t *shape, void *data);  /* borrows data */
TP_API void tempo_array_free(tempo_array *a);                                                     /* NULL is fine */
TP_API void *tempo_array_data(tempo_array *a);
TP_API int tempo_array_rank(const tempo_array *a);
TP_API int64_t tempo_array_extent(const tempo_array *a, int axis);
TP_API int64_t tempo_array_count(const tempo_array *a);
TP_API const char *tempo_array_dtype(const tempo_array *a);

/* ---- programs and functions ---- */
TP_API tempo_program *tempo_program_parse(const char *text, tempo_error *err);
TP_API void tempo_program_free(tempo_program *p);
/* tier: NULL or "auto", "reference", "interpreter". The function keeps what it needs of the program. */
TP_API tempo_function *tempo_compile(tempo_program *p, const char *tier, tempo_error *err);
TP_API void tempo_function_free(tempo_function *f);
/* Runs for these bounds. names/arrays of inputs and bounds in any order. outputs: an array of tempo_function_noutput() handles, which the caller frees. 1: done. */
TP_API int tempo_run(tempo_function *f, int ninput, const char *const *input_name, tempo_array *const *input,
                     int nbound, const char *const *bound_name, const int64_t *bound, uint64_t seed, tempo_array **outputs, tempo_error *err);
TP_API int tempo_function_noutput(const tempo_function *f);
TP_API const char *tempo_function_output_name(const tempo_function *f, int i);
/* ---- steps ---- a run that is entered again at each point of some dims, given by name ---- */
TP_API tempo_function *tempo_compile_ticks(tempo_program *p, const char *tier, int ntick, const char *const *tick, tempo_error *err);
#ifndef TEMPO_CDEF
#define TEMPO_ENDLESS INT64_MAX                 /* as the bound of the first tick dim: until someone stops */
#endif
/* Begins a run; inputs without the tick dims are kept until it is over. */
TP_API int tempo_start(tempo_function *f, int ninput, const char *const *input_name, tempo_array *const *input,
                       int nbound, const char *const *bound_name, const int64_t *bound, uint64_t seed, tempo_error *err);
/* One tick. value: the inputs that have the tick dims, without these. budget_ms < 0: none. *done: that was the last. *late_ms: over the budget (may be NULL).
 * outputs: as tempo_run; the value at this tick (of an output with the outer tick dims only: with the last tick inside its
 * point), or the whole of an output that is complete, or NULL. An error that is not one of the values ends the run. */
TP_API int tempo_step(tempo_function *f, int nvalue, const char *const *value_name, tempo_array *const *value, double budget_ms,
                      int *done, double *late_ms, tempo_array **outputs, tempo_error *err);
/* Between ticks: all of the run in *size bytes, the caller's (tempo_bytes_free), and going on from them, with the same program. */
TP_API void *tempo_state(tempo_function *f, size_t *size, tempo_error *err);
TP_API int tempo_load_state(tempo_function *f, const void *state, size_t size, tempo_error *err);
TP_API void tempo_bytes_free(void *bytes);

/* section: NULL, "graph", "schedule", "storage", "plan", "passes", "dot". The text is the caller's: tempo_text_free. */
TP_API char *tempo_explain(tempo_function *f, const char *section, tempo_error *err);
TP_API void tempo_text_free(char *text);

#ifndef TEMPO_CDEF
#ifdef __cplusplus
}
#endif
#endif
#endif
