/* rt: programs, compilation, running. Rank 7. What the binding (and include/tempo.h) stands on. */
#ifndef TP_RT_H
#define TP_RT_H
#include "graph/graph.h"
#include "graph/methods.h"
#include "graph/run.h"

/* A program being recorded. Reference counted: a compiled function keeps its program's index context alive. */
typedef struct tp_program {
  int refs;
  tp_ictx *ix;
  tp_graph *g;                                  /* recording; fns clone it */
  int ncall;                                    /* callbacks so far: attr.fn numbers */
  uint64_t seed;
} tp_program;
tp_program *tp_program_new(uint64_t seed);      /* NULL: no memory */
tp_program *tp_program_ref(tp_program *p);
tp_program *tp_program_unref(tp_program *p);    /* NULL */

typedef enum { TP_TIER_AUTO, TP_TIER_REFERENCE, TP_TIER_INTERPRETER, TP_TIER_NATIVE } tp_tier;
typedef struct tp_copts {
  int nout; const tp_output *outputs;           /* may be none when there is a sink */
  tp_tier tier;
  const char *passes;                           /* NULL: defaults; "none"; or "evolve=false,cse=true": one text form of the script's table and of TEMPO_PASSES */
  bool precise;
  const char *device;                           /* NULL, "cpu"; others: error device */
  int threads;                                  /* 0: default */
  tp_pos pos;                                   /* line of P:compile */
} tp_copts;

typedef struct tp_fn tp_fn;
/* TEMPO_TIER, TEMPO_PASSES, TEMPO_DUMP, TEMPO_THREADS win over opts. */
tp_fn *tp_compile(tp_program *p, const tp_copts *opts, tp_error *err);
tp_fn *tp_fn_free(tp_fn *f);
tp_graph *tp_fn_graph(tp_fn *f);                /* the closed graph: inputs, outputs (hidden ones are parameters), params by PINIT number */
/* Which bounds must be given: needed symbols; in *out a list of tp_sym (arena of the graph). */
int tp_fn_bounds(tp_fn *f, const tp_sym *const **out);
bool tp_fn_needs_input(tp_fn *f, int i);        /* input i of tp_fn_graph()->inputs */
/* Number of PINIT slots and the name, dtype, shape of each: parameter `k` of load_params. */
int tp_fn_nparam(tp_fn *f);
const tp_node *tp_fn_param(tp_fn *f, int k);    /* the PARAM node as recorded: attr.str, attr.dom, attr.along, out[0] */
/* Runs: checks bounds and arrays, allocates run->outputs, executes. Not reentrant for one f (error option: already running). After an error f is usable. */
bool tp_fn_run(tp_fn *f, tp_run *run, tp_error *err);
void tp_fn_outputs_free(tp_fn *f, tp_run *run);
/* section: "graph", "schedule", "storage", "passes", "dot", "plan", NULL = a summary of all. False: error option with the nearest section. */
bool tp_fn_explain(tp_fn *f, const char *section, tp_buf *out, tp_error *err);
/* Predicted peak bytes of buffers of ours for these bounds; -1: the tier plans no memory. */
int64_t tp_fn_memory(tp_fn *f, const int64_t *env, tp_error *err);
/* Peak bytes that the last run really had allocated. */
int64_t tp_fn_peak(const tp_fn *f);
/* One point of v on demand, by the reference evaluator, without compiling (define-and-run). */
TP_GIVE tp_array *tp_program_peek(tp_program *p, tp_val v, tp_run *run, const int64_t *at, tp_error *err);

/* ---- files (src/io) ---- */
#endif
