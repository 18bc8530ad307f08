/* api: include/tempo.h over rt.h. */
#include "tempo.h"
#include "rt/fn.h"

const char *tempo_version(void) { return "0.1"; }

static void report(tempo_error *out, const tp_error *e) {
  if (!out) return;
  out->code = e->code;
  tp_error_text(e, out->message, sizeof out->message);
}

/* ---- arrays ---- */

tempo_array *tempo_array_new(const char *dtype, int rank, const int64_t *shape) {
  tp_dtype d;
  return tp_dtype_parse(dtype, &d) ? (tempo_array *)tp_array_new(d, rank, shape) : NULL;
}

tempo_array *tempo_array_wrap(const char *dtype, int rank, const int64_t *shape, void *data) {
  tp_dtype d;
  return tp_dtype_parse(dtype, &d) ? (tempo_array *)tp_array_wrap(d, rank, shape, data) : NULL;
}

void tempo_array_free(tempo_array *a) { tp_array_unref((tp_array *)a); }
void *tempo_array_data(tempo_array *a) { return ((tp_array *)a)->data; }
int tempo_array_rank(const tempo_array *a) { return ((const tp_array *)a)->rank; }
int64_t tempo_array_count(const tempo_array *a) { return ((const tp_array *)a)->count; }
const char *tempo_array_dtype(const tempo_array *a) { return tp_dtype_name(((const tp_array *)a)->dtype); }

int64_t tempo_array_extent(const tempo_array *a, int axis) {
  const tp_array *x = (const tp_array *)a;
  return axis >= 0 && axis < x->rank ? x->shape[axis] : 0;
}

/* ---- programs ---- */

static bool out_of_memory(tp_error *e) { return tp_fail(e, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory"); }

static bool parse(tp_program *p, const char *text, tp_error *e) {
  tp_graph *g = tp_graph_parse(p->ix, text, e);
  if (!g) return false;
  tp_graph_free(p->g);
  p->g = g;
  return tp_verify(g, e);
}

tempo_program *tempo_program_parse(const char *text, tempo_error *err) {
  tp_error e = { 0 };
  tp_guard oom;
  tp_program *volatile p = NULL;
  volatile bool ok = false;
  if (TP_GUARDED(&oom)) {
    p = tp_program_new(0);
    ok = p ? parse(p, text, &e) : out_of_memory(&e);
    tp_unguard(&oom);
  } else out_of_memory(&e);
  if (ok) return (tempo_program *)p;
  report(err, &e);
  return (tempo_program *)tp_program_unref(p);
}

void tempo_program_free(tempo_program *p) { tp_program_unref((tp_program *)p); }

static bool tick_dims(tp_program *p, int n, const char *const *names, const tp_sym **dims, tp_error *e) {
  for (int i = 0; i < n; i++) {
    dims[i] = tp_sym_find(p->ix, names[i]);
    if (!dims[i] || dims[i]->kind != TP_SYM_DIM) return tp_fail(e, TP_E_OPTION, (tp_pos){ 0 }, "tick: the program has no dim '%s'", names[i]);
  }
  return true;
}

/* Outputs stand in the text itself, so none are given to tp_compile. */
tempo_function *tempo_compile_ticks(tempo_program *p, const char *tier, int ntick, const char *const *tick, tempo_error *err) {
  tp_error e = { 0 };
  const tp_sym *dims[TP_MAXTICK];
  tp_copts o = { .tier = TP_TIER_AUTO, .ntick = ntick, .tick = dims };
  tp_fn *f = NULL;
  if (tier && !tp_tier_parse(tier, &o.tier)) tp_fail(&e, TP_E_OPTION, o.pos, "unknown tier '%s': auto, reference, interpreter or native", tier);
  else if (ntick < 0 || ntick > TP_MAXTICK) tp_fail(&e, TP_E_OPTION, o.pos, "tick: %d dims", ntick);
  else if (tick_dims((tp_program *)p, ntick, tick, dims, &e)) f = tp_compile((tp_program *)p, &o, &e);
  if (!f) report(err, &e);
  return (tempo_function *)f;
}

tempo_function *tempo_compile(tempo_program *p, const char *tier, tempo_error *err) { return tempo_compile_ticks(p, tier, 0, NULL, err); }

void tempo_function_free(tempo_function *f) { tp_fn_free((tp_fn *)f); }

static int visible(const tp_graph *g, int i) {  /* index of the i-th output that is not a parameter's */
  for (int k = 0; k < g->outputs.n; k++)
    if (!g->outputs.v[k].hidden && i-- == 0) return k;
  return -1;
}

int tempo_function_noutput(const tempo_function *f) {
  const tp_graph *g = ((const tp_fn *)f)->closed;
  int n = 0;
  while (visible(g, n) >= 0) n++;
  return n;
}

const char *tempo_function_output_name(const tempo_function *f, int i) {
  const tp_graph *g = ((const tp_fn *)f)->closed;
  int k = visible(g, i);
  return k < 0 ? NULL : g->outputs.v[k].name;
}

static int named(int n, const char *const *names, const char *want) {
  for (int i = 0; i < n; i++)
    if (!strcmp(names[i], want)) return i;
  return -1;
}

static bool bind_bounds(tp_fn *f, int n, const char *const *names, const int64_t *v, int64_t *env, tp_error *e) {
  const tp_sym *const *need;
  int nn = tp_fn_bounds(f, &need);
  for (int i = 0; i < nn; i++) {
    int k = named(n, names, need[i]->name);
    if (k < 0) return tp_fail(e, TP_E_BOUND, (tp_pos){ 0 }, "bound '%s' is missing", need[i]->name);
    if (v[k] < 0) return tp_fail(e, TP_E_BOUND, (tp_pos){ 0 }, "bound '%s' is negative", need[i]->name);
    env[need[i]->id] = v[k] == INT64_MAX && need[i] == tp_fn_endless(f) ? TP_ENDLESS : v[k];
  }
  return true;
}

typedef enum { ALL, STARTING, STEPPING } moment;

static bool wanted(tp_fn *f, int i, moment when) {
  return tp_fn_needs_input(f, i) && (when == ALL || (when == STARTING ? !tp_fn_fed(f, i) : tp_fn_stepping(f) && tp_fn_wants(f, i)));
}

static bool bind_inputs(tp_fn *f, moment when, int n, const char *const *names, tempo_array *const *v, tp_array **in, tp_error *e) {
  for (int i = 0; i < f->closed->inputs.n; i++) {
    const char *want = f->closed->inputs.v[i]->attr.str;
    int k = named(n, names, want);
    if (k < 0 && wanted(f, i, when)) return tp_fail(e, TP_E_INPUT, (tp_pos){ 0 }, "input '%s' is missing", want);
    in[i] = k < 0 ? NULL : (tp_array *)v[k];
  }
  return true;
}

static void hand_out(tp_fn *f, tp_run *run, tempo_array **outputs) {
  for (int i = 0, k; (k = visible(f->closed, i)) >= 0; i++) outputs[i] = (tempo_array *)tp_array_ref(run->outputs[k]);
  tp_fn_outputs_free(f, run);
}

int tempo_run(tempo_function *fn, int ninput, const char *const *input_name, tempo_array *const *input, int nbound, const char *const *bound_name,
              const int64_t *bound, uint64_t seed, tempo_array **outputs, tempo_error *err) {
  tp_fn *f = (tp_fn *)fn;
  tp_error e = { 0 };
  int64_t *env = tp_calloc(sizeof *env * (size_t)(tp_nsym(f->closed->ix) + 1));
  tp_array **in = tp_calloc(sizeof *in * (size_t)(f->closed->inputs.n + 1));
  tp_run run = { .env = env, .inputs = in, .seed = seed };
  bool ok = env && in ? bind_bounds(f, nbound, bound_name, bound, env, &e) && bind_inputs(f, ALL, ninput, input_name, input, in, &e) && tp_fn_run(f, &run, &e)
                      : tp_fail(&e, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory");
  if (ok) hand_out(f, &run, outputs);
  else report(err, &e);
  tp_free(env); tp_free(in);
  return ok;
}

/* ---- steps ---- */

int tempo_start(tempo_function *fn, int ninput, const char *const *input_name, tempo_array *const *input, int nbound, const char *const *bound_name,
                const int64_t *bound, uint64_t seed, tempo_error *err) {
  tp_fn *f = (tp_fn *)fn;
  tp_error e = { 0 };
  int64_t *env = tp_calloc(sizeof *env * (size_t)(tp_nsym(f->closed->ix) + 1));
  tp_array **in = tp_calloc(sizeof *in * (size_t)(f->closed->inputs.n + 1));
  tp_run run = { .env = env, .inputs = in, .seed = seed };
  bool ok = env && in ? tp_fn_ticks(f, &e) && bind_bounds(f, nbound, bound_name, bound, env, &e) &&
                        bind_inputs(f, STARTING, ninput, input_name, input, in, &e) && tp_fn_start(f, &run, &e)
                      : tp_fail(&e, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory");
  if (!ok) report(err, &e);
  tp_free(env); tp_free(in);
  return ok;
}

int tempo_step(tempo_function *fn, int nvalue, const char *const *value_name, tempo_array *const *value, double budget_ms, int *done, double *late_ms,
               tempo_array **outputs, tempo_error *err) {
  tp_fn *f = (tp_fn *)fn;
  tp_error e = { 0 };
  tp_array **in = tp_calloc(sizeof *in * (size_t)(f->closed->inputs.n + 1));
  tp_step s = { .values = in, .budget = budget_ms < 0 ? -1 : budget_ms / 1e3 };
  bool ok = in ? bind_inputs(f, STEPPING, nvalue, value_name, value, in, &e) && tp_fn_step(f, &s, &e) : tp_fail(&e, TP_E_MEMORY, (tp_pos){ 0 }, "out of memory");
  if (ok) {
    for (int i = 0, k; (k = visible(f->closed, i)) >= 0; i++) outputs[i] = (tempo_array *)(s.out[k] ? tp_array_ref(s.out[k]) : NULL);
    *done = s.done;
    if (late_ms) *late_ms = s.late * 1e3;
    tp_step_free(f, &s);
  } else report(err, &e);
  tp_free(in);
  return ok;
}

void *tempo_state(tempo_function *f, size_t *size, tempo_error *err) {
  tp_error e = { 0 };
  tp_buf b;
  tp_buf_init(&b);
  if (tp_fn_state((tp_fn *)f, &b, &e)) { *size = b.n; return b.s; }
  tp_buf_free(&b);
  report(err, &e);
  return NULL;
}

int tempo_load_state(tempo_function *f, const void *state, size_t size, tempo_error *err) {
  tp_error e = { 0 };
  bool ok = tp_fn_load_state((tp_fn *)f, state, size, &e);
  if (!ok) report(err, &e);
  return ok;
}

void tempo_bytes_free(void *bytes) { tp_free(bytes); }

char *tempo_explain(tempo_function *f, const char *section, tempo_error *err) {
  tp_error e = { 0 };
  tp_buf b;
  tp_buf_init(&b);
  if (tp_fn_explain((tp_fn *)f, section, NULL, &b, &e)) return b.s;
  tp_buf_free(&b);
  report(err, &e);
  return NULL;
}

void tempo_text_free(char *text) { tp_free(text); }
