/* run: executes plans. Rank 7.
 *
 * lay.c lays the plan's tree out as a row of instructions; flow.c and turn.c go through them, and
 * can stop between any two. region.c and resolve.c bind regions to bounds; the target (target.h:
 * cpu, interp) gives them their functions, native.c takes compiled parts instead. arena.c and
 * file.c find memory, team.c runs threads, call.c and envs.c call the host and environments,
 * place.c writes where a run stands. No step allocates. */
#ifndef TP_EXEC_H
#define TP_EXEC_H
#include "plan/plan.h"
#include "base/bytes.h"

typedef struct tp_exec tp_exec;
typedef struct tp_target tp_target;
typedef struct tp_offload tp_offload;
struct tp_gdriver;
tp_exec *tp_exec_new(const tp_plan *p, const tp_target *t, tp_error *err);
/* the same with the driver's device number `which` (target.h); NULL, NULL: without */
tp_exec *tp_exec_new_on(const tp_plan *p, const tp_target *t, const tp_offload *o,
    const struct tp_gdriver *driver, int which, tp_error *err);
tp_exec *tp_exec_free(tp_exec *x); /* NULL */
/* Before the first run: makes n threads, the caller's included, share the plan's teams. False: no
 * memory. */
bool tp_exec_threads(tp_exec *x, int n, tp_error *err);
/* Do threads share this team at the bounds of the last run? *meetings: how many leaves they meet
 * before; -1: there was no run. */
bool tp_exec_shares(const tp_exec *x, int team, int *meetings);
/* Colours the arena for run->env (kept while the bounds stay the same), binds inputs and outputs,
 * runs. run->outputs exist. */
bool tp_exec_run(tp_exec *x, tp_run *run, tp_error *err);
/* The same in parts. begin does everything up to the first region. go runs to the first of the
 * goal's places; `run` may have other callbacks by then, but no other arrays. pass goes over the
 * tick at which it stands. */
typedef enum { TP_AT_ERROR, TP_AT_END, TP_AT_TICK, TP_AT_SHOWN, TP_AT_TIME } tp_stand;
/* tick: the next one; shown: so many SHOWs since the last tick; until: a time of tp_now(), 0: no
 * limit */
typedef struct tp_goal {
  bool tick;
  int shown;
  double until;
} tp_goal;
/* takes the memory for these bounds, outputs counted, which need not exist yet */
bool tp_exec_room(tp_exec *x, tp_run *run, tp_error *err);
bool tp_exec_begin(tp_exec *x, tp_run *run, tp_error *err);
tp_stand tp_exec_go(tp_exec *x, const tp_goal *g, tp_error *err);
void tp_exec_pass(tp_exec *x);
/* Should regions that can wait be left for later? If not, does first what was left. */
bool tp_exec_split(tp_exec *x, bool split, tp_error *err);
/* does what was left, oldest first; until 0: all of it */
bool tp_exec_rest(tp_exec *x, double until, tp_error *err);
bool tp_exec_waits(const tp_exec *x); /* is some left? */
/* Compiled parts of its plan, in the order of tp_plan_parts (kernels/prelude/native.h): from now on
 * they run wherever a run goes through a whole part. NULL: none. */
struct tp_host;
typedef int tp_native(const struct tp_host *h);
void tp_exec_native(tp_exec *x, tp_native *const *fn);
/* For code that comes while a run goes on: called with the seconds of running since the last call
 * when a run or step begins, and about each millisecond between iterations of outermost loops.
 * False: there is no code yet; true: *fn is for tp_exec_native, and this was the last call. */
typedef bool tp_codeask(void *ud, double ran, tp_native *const **fn);
void tp_exec_ask(tp_exec *x, tp_codeask *ask, void *ud);
/* Between ticks, or after a run that ended early: copies the newest value of output i, a
 * parameter's last value, there if it lies in a buffer. False: the output may hold less than a
 * whole value, unless the plan copies each one there (tp_poly.keeps). */
bool tp_exec_newest(tp_exec *x, int i);
/* After tp_exec_room, before outputs are made: an array with the elements of output i, which may
 * stand for it: the loaded value of a parameter that does not evolve, or its first, a constant; or
 * NULL. */
tp_array *tp_exec_lent(const tp_exec *x, const tp_run *run, int i);
/* so many further bytes count against its limit of memory */
void tp_exec_hold(tp_exec *x, int64_t bytes);
/* Writes and reads where it stands, and the buffers alive there. get: after a begin with the same
 * bounds (was NULL), or a larger one of the first tick dim; false: the bytes do not fit this plan
 * and these bounds (r->bad). */
void tp_exec_put(tp_exec *x, tp_buf *b);
bool tp_exec_get(tp_exec *x, tp_reader *r, const int64_t *was);
/* The point of the tick that it stands at; false: it stands at none. */
bool tp_exec_tick(const tp_exec *x, int64_t *at);
bool tp_exec_cancelled(const tp_exec *x);
/* bytes of the last run's arena; under TEMPO_POISON up to the highest one used */
int64_t tp_exec_peak(const tp_exec *x);
/* where the time of all runs so far went, dearest region first, and the machine's speed beside */
void tp_exec_profile(const tp_exec *x, int rows, tp_buf *out);
/* what runs on the device, and what does not */
void tp_exec_tell(const tp_exec *x, tp_buf *out);
/* the profile as JSON for chrome://tracing and Perfetto: the plan's tree, each as long as it took
 */
bool tp_exec_trace(const tp_exec *x, const char *path, tp_error *err);
/* Bytes of memory that a run for env takes: buffers, working memory of regions, and what is mapped
 * of buffers in a file; -1: too many. Changes nothing. */
int64_t tp_exec_memory(const tp_exec *x, const int64_t *env);
/* A buffer in the file: `outer` parts of `count` rows of `row` bytes, from place `at`; rows of a
 * ring go round. Rows lo .. hi are in use or wait to leave, `chunk` of them together; rows up to
 * `ready` are mapped, up to `asked` asked for. most: bytes mapped at a time. chunk 0: it is in the
 * arena. */
typedef struct tp_spilled {
  int dim, way;
  bool ring;
  int64_t at, bytes, outer, count, row, chunk, most, lo, hi, ready, asked;
} tp_spilled;
/* The places that all buffers would have. By buffer: is it in the file (out), its place in the
 * arena (at, -1: none), its layout in the file (as), its bytes; by position: bytes of the file that
 * are mapped (load). total: the arena and the most that is mapped. */
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
