/* run: executes plans. Rank 7. What every target needs: regions with everything but loop variables
 * resolved once per bounds, memory and the file beside it, callbacks, environments, where a run
 * stands. The target (target.h) gives regions their functions. No allocation per step. */
#ifndef TP_EXEC_H
#define TP_EXEC_H
#include "plan/plan.h"
#include "base/bytes.h"

typedef struct tp_exec tp_exec;
typedef struct tp_target tp_target;
tp_exec *tp_exec_new(const tp_plan *p, const tp_target *t, tp_error *err);
tp_exec *tp_exec_free(tp_exec *x); /* NULL */
/* Before the first run: n threads share the plan's teams, the caller's one of them. False: no
 * memory. */
bool tp_exec_threads(tp_exec *x, int n, tp_error *err);
/* Do threads share this team at the last run's bounds? meetings: leaves before which they meet; -1:
 * no run yet. */
bool tp_exec_shares(const tp_exec *x, int team, int *meetings);
/* Colours the arena for run->env (again only for other bounds), binds inputs and outputs, which
 * exist, and runs. */
bool tp_exec_run(tp_exec *x, tp_run *run, tp_error *err);
/* In parts. begin: up to the first region; go: to the goal; `run` may have other callbacks by then,
 * but no other arrays; pass: over the tick that it stands at. */
typedef enum { TP_AT_ERROR, TP_AT_END, TP_AT_TICK, TP_AT_SHOWN, TP_AT_TIME } tp_stand;
/* the next tick; so many SHOWs; tp_now(), 0: no limit */
typedef struct tp_goal {
  bool tick;
  int shown;
  double until;
} tp_goal;
/* memory for these bounds, and for outputs, made or not */
bool tp_exec_room(tp_exec *x, tp_run *run, tp_error *err);
bool tp_exec_begin(tp_exec *x, tp_run *run, tp_error *err);
tp_stand tp_exec_go(tp_exec *x, const tp_goal *g, tp_error *err);
void tp_exec_pass(tp_exec *x);
/* Leaves regions that can wait for later, or does so no more, and first does what was left. */
bool tp_exec_split(tp_exec *x, bool split, tp_error *err);
/* what was left, oldest first, until a time; 0: all */
bool tp_exec_rest(tp_exec *x, double until, tp_error *err);
/* Compiled parts, in the order of tp_plan_parts (kernels/prelude/native.h): a run takes them for
 * whole parts from now on. NULL: none. */
struct tp_host;
typedef int tp_native(const struct tp_host *h);
void tp_exec_native(tp_exec *x, tp_native *const *fn);
/* For code that comes during a run: asked where a run or step begins and in outermost loops each
 * millisecond or so, with the seconds of running since the last time. True: *fn is
 * tp_exec_native's, and it is asked no more. */
typedef bool tp_codeask(void *ud, double ran, tp_native *const **fn);
void tp_exec_ask(tp_exec *x, tp_codeask *ask, void *ud);
/* Between ticks, or after a run that ended early: output i, a parameter's last value, becomes the
 * newest if a buffer has that. False: it may hold a part of a value, unless the plan copies each
 * one there (tp_poly.keeps). */
bool tp_exec_newest(tp_exec *x, int i);
/* After tp_exec_room: an array that may stand for output i, having the same elements: what was
 * loaded for a parameter that does not evolve, or its constant; NULL: none. */
tp_array *tp_exec_lent(const tp_exec *x, const tp_run *run, int i);
/* so many more bytes count against the limit */
void tp_exec_hold(tp_exec *x, int64_t bytes);
/* Where it stands, with the live buffers. get: after a begin with the same bounds (was NULL), or a
 * smaller one of the first tick dim; false: it does not fit (r->bad). */
void tp_exec_put(tp_exec *x, tp_buf *b);
bool tp_exec_get(tp_exec *x, tp_reader *r, const int64_t *was);
/* The point of the tick where it stands; false: none. */
bool tp_exec_tick(const tp_exec *x, int64_t *at);
bool tp_exec_cancelled(const tp_exec *x);
/* bytes of the last run's arena; under TEMPO_POISON up to the highest used */
int64_t tp_exec_peak(const tp_exec *x);
/* time of all runs by region, dearest first, beside what the machine can do */
void tp_exec_profile(const tp_exec *x, int rows, tp_buf *out);
/* as JSON for chrome://tracing and Perfetto: the plan's tree, by time */
bool tp_exec_trace(const tp_exec *x, const char *path, tp_error *err);
/* Bytes that a run for env takes: buffers, working memory, what is mapped of a file; -1: too many.
 */
int64_t tp_exec_memory(const tp_exec *x, const int64_t *env);
/* A buffer in the file, at `at`: `outer` parts of `count` rows of `row` bytes; rows of a ring go
 * round. Rows lo to hi are in use or wait to leave, `chunk` together; up to `ready` they are
 * mapped, up to `asked` asked for. most: bytes mapped at a time. chunk 0: in the arena. */
typedef struct tp_spilled {
  int dim, way;
  bool ring;
  int64_t at, bytes, outer, count, row, chunk, most, lo, hi, ready, asked;
} tp_spilled;
/* By buffer: is it in the file, its place in the arena (-1: none), how it lies in the file, its
 * bytes; by position: bytes mapped of the file. total: arena and the most that is mapped. */
typedef struct tp_places {
  bool *out;
  int64_t *at;
  tp_spilled *as;
  int64_t *bytes, *load, arena, total;
} tp_places;
typedef void tp_atplaces(void *ud, const tp_places *p);
/* calls fn once; false: out of memory, or too many bytes */
bool tp_exec_places(const tp_exec *x, const int64_t *env, tp_atplaces *fn, void *ud);
#endif
