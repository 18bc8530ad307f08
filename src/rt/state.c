/* state: writes a session as bytes, and reads it back.
 *
 *   "tempo\0st", version, hash of the program, hash of what follows
 *   bounds by place, seed, how far it is, the next point; inputs without the tick dims, loaded
 * parameters, outputs; then what the executor keeps
 *
 * Nothing read is trusted beyond the hashes: every number is checked against what f makes of the
 * bounds. */
#include "rt/fn.h"
#include "io/io.h"

enum { VERSION = 6, HEAD = 32 };
static const char magic[8] = "tempo\0st";

/* Hashes all that decides which function a state's bytes belong to. */
static uint64_t program_hash(tp_fn *f) {
  uint64_t h = tp_graph_hash(f->closed);
  int ninst = f->steps.plan ? f->steps.plan->npos : 0,
      nbuf = f->steps.plan ? f->steps.plan->bufs.n : 0;
  int64_t shape[4] = { f->tier == TP_TIER_REFERENCE ? f->tier : TP_TIER_INTERPRETER, f->opt.precise,
    ninst, nbuf };
  h = tp_hash(f->opt.on, sizeof f->opt.on, h);
  for (int k = 0; k < f->ntick; k++) h = tp_hash(f->tick[k]->name, strlen(f->tick[k]->name), h);
  return tp_hash(shape, sizeof shape, h);
}

/* ---- writing ---- */

static void put_list(tp_buf *b, tp_array *const *v, int n) {
  for (int i = 0; i < n; i++) tp_put_array_bytes(b, v ? v[i] : NULL);
}

static void put_session(tp_fn *f, tp_session *s, tp_buf *b) {
  for (int i = 0; i < f->nbound; i++) tp_put_i64(b, s->env[f->bounds[i]->id]);
  tp_put_i64(b, (int64_t)s->run.seed);
  tp_put_i64(b, s->over);
  tp_put_i64(b, s->begun);
  for (int k = 0; k < f->ntick; k++) tp_put_i64(b, s->at[k]);
  put_list(b, s->inputs, f->closed->inputs.n);
  put_list(b, s->params, f->closed->params.n);
  put_list(b, s->values, f->closed->inputs.n);
  put_list(b, s->run.outputs, f->closed->outputs.n);
  if (!s->over) f->engine->put(s, b);
}

/* Writes the latest call, a run that is over, as a state: it has left parameters. */
static void put_call(tp_fn *f, tp_buf *out) {
  tp_arena a;
  tp_scratch_init(&a);
  tp_session s = { .env = f->called, .params = f->loaded, .begun = true, .over = true };
  s.run.outputs = TP_NEWN(&a, tp_array *, f->closed->outputs.n);
  for (int i = 0, k = 0; i < f->closed->outputs.n; i++)
    if (f->closed->outputs.v[i].hidden) s.run.outputs[i] = f->latest[k++];
  put_session(f, &s, out);
  tp_arena_free(&a);
}

static bool put_all(tp_fn *f, void *arg, tp_error *err) {
  static const char room[HEAD];
  tp_buf *b = arg;
  tp_put_bytes(b, room, sizeof room);
  if (!f->called || tp_fn_stepping(f)) put_session(f, f->session, b);
  else put_call(f, b);
  uint64_t head[3] = { VERSION, program_hash(f), tp_hash(b->s + HEAD, b->n - HEAD, VERSION) };
  memcpy(b->s, magic, sizeof magic);
  memcpy(b->s + sizeof magic, head, sizeof head);
  return true;
}

bool tp_fn_state(tp_fn *f, tp_buf *out, tp_error *err) {
  if (f->running)
    return tp_fail(err, TP_E_OPTION, f->pos, "a state is taken between ticks, not by a callback");
  if (!f->session && !f->called)
    return tp_fail(
        err, TP_E_OPTION, f->pos, "there is no state: f:start(inputs, bounds) begins a run");
  return tp_guarded(f, put_all, out, err);
}

/* ---- reading ---- */

static bool broken(tp_fn *f, tp_error *err) {
  return tp_fail(err, TP_E_FILE, f->pos,
      "this is no whole state: it was cut, changed or not written by f:state() or f:save(path) "
      "(what is portable is read by f:load_params)");
}

static bool check_head(tp_fn *f, tp_reader *r, tp_error *err) {
  const char *word = tp_take(r, sizeof magic);
  if (!word || memcmp(word, magic, sizeof magic)) return broken(f, err);
  int64_t version = tp_take_i64(r);
  uint64_t hash = (uint64_t)tp_take_i64(r), sum = (uint64_t)tp_take_i64(r);
  if (!r->bad && version != VERSION)
    return tp_fail(err, TP_E_FILE, f->pos, "a state of version %lld: this tempo reads version %d",
        (long long)version, VERSION);
  if (r->bad || sum != tp_hash(r->p, r->left, VERSION)) return broken(f, err);
  return hash == program_hash(f) ||
      tp_fail(err, TP_E_OPTION, f->pos,
          "the state belongs to another program, or to one compiled otherwise%s",
          f->ntick ? "" : ": this one has no tick = ...");
}

static tp_array **take_list(tp_reader *r, tp_arena *a, int n) {
  tp_array **to = TP_NEWN(a, tp_array *, n);
  for (int i = 0; i < n; i++) to[i] = tp_take_array(r);
  return to;
}

/* Reads a session, of which nothing runs. */
static bool take_session(tp_fn *f, tp_reader *r, tp_session *v, tp_error *err) {
  int n = tp_nsym(f->closed->ix);
  int64_t *given = TP_NEWN(&v->a, int64_t, n);
  for (int i = 0; i < f->nbound; i++) given[f->bounds[i]->id] = tp_take_in(r, 0, TP_ENDLESS + 1);
  v->env = TP_NEWN(&v->a, int64_t, n);
  tp_fill_env(f, v->env, given);
  v->run = (tp_run){ .env = v->env, .seed = (uint64_t)tp_take_i64(r) };
  v->over = tp_take_in(r, 0, 2);
  v->begun = tp_take_in(r, 0, 2);
  for (int k = 0; k < f->ntick; k++) v->at[k] = tp_take_in(r, 0, INT64_MAX);
  v->inputs = take_list(r, &v->a, f->closed->inputs.n);
  v->params = take_list(r, &v->a, f->closed->params.n);
  v->values = take_list(r, &v->a, f->closed->inputs.n);
  v->run.outputs = tp_calloc(sizeof *v->run.outputs * (size_t)(f->closed->outputs.n + 1));
  if (!v->run.outputs) tp_oom();
  for (int i = 0; i < f->closed->outputs.n; i++) v->run.outputs[i] = tp_take_array(r);
  return !r->bad || broken(f, err);
}

/* ---- a larger bound of the first tick dim ---- */

/* Is the node made over all points of a dim with this bound? An accumulation is, because its target
 * gets more from the points that a larger bound brings. */
static bool goes_over(const tp_node *n, tp_sym *b) {
  bool any = false;
  for (int k = 0; k < n->attr.nover; k++) any |= n->attr.over[k]->bound == b;
  for (int k = 0; n->op == TP_OP_ACCUM && k < n->nin; k++) {
    const tp_edge *e = &n->in[k];
    for (int d = 0; d < e->src.node->ndom && !e->gather; d++) {
      bool stays = false;
      for (int u = 0; u < n->ndom; u++)
        stays |= n->dom[u] == e->src.node->dom[d] && tp_at_is_own(&e->at[u], n->dom[u]);
      any |= e->src.node->dom[d]->bound == b && !stays;
    }
  }
  return any;
}

/* Does the output return the lengths of a dim that ends by data? */
static bool gives_end(const tp_graph *g, const tp_output *o) {
  const tp_stop *s =
      o->val.node->op == TP_OP_VALUE ? tp_stop_of(g, tp_ix_as_sym(o->val.node->attr.ix[0])) : NULL;
  return s && !strcmp(o->name, s->dim->bound->name);
}

typedef struct {
  tp_node **node;
  int n;
  bool *seen;
} met_nodes;

static void meet(met_nodes *m, tp_node *n) {
  if (!m->seen[n->id]) m->node[m->n++] = n;
  m->seen[n->id] = true;
}

/* How many inputs count as the parameter's own: its first value, and the step along the innermost
 * of its dims, which has the whole update. Its other branches read the last points of these dims,
 * and so do not mention the bound. */
static int own_inputs(const tp_fn *f, const tp_node *n) {
  bool param = false;
  TP_NODES (x, f->closed->params) param |= x == n;
  return param && n->attr.nalong && n->attr.along[0] == f->tick[0] ? TP_MIN(n->nin, 2) : n->nin;
}

/* A node that mentions the bound and is computed for more than lengths and last values, which alone
 * may know the end; NULL: none. */
static const tp_node *reader_of(tp_fn *f, tp_sym *b) {
  tp_graph *g = f->closed;
  met_nodes m = { TP_NEWN(&g->arena, tp_node *, g->nodes.n), 0,
    TP_NEWN(&g->arena, bool, g->nodes.n) };
  for (int i = 0; i < g->outputs.n; i++)
    if (!g->outputs.v[i].hidden && !gives_end(g, &g->outputs.v[i]))
      meet(&m, g->outputs.v[i].val.node);
  TP_NODES (n, g->sinks) meet(&m, n);
  TP_NODES (n, g->params) meet(&m, n);
  for (int i = 0; i < g->stops.n; i++) meet(&m, g->stops.v[i].done.node);
  for (int i = 0; i < m.n; i++) {
    if (tp_node_mentions(m.node[i], b) || goes_over(m.node[i], b)) return m.node[i];
    for (int k = 0; k < own_inputs(f, m.node[i]); k++) meet(&m, m.node[i]->in[k].src.node);
  }
  return NULL;
}

/* Has the last row of a dim that ends by data begun? It may have ended by the state's bound. */
static bool in_last_row(const tp_fn *f, const tp_session *v) {
  tp_sym *d = f->tick[0];
  bool inside = false;
  for (int k = 1; k < f->ntick; k++) inside |= v->at[k] > 0;
  return inside && tp_stop_of(f->closed, d->bound) && v->at[0] + 1 >= v->env[d->bound->id];
}

static bool none_longer(tp_fn *f, tp_error *err) {
  return tp_fail(err, TP_E_BOUND, f->pos,
      "a larger bound than the state's is possible only where nothing was left out because of it");
}

static const char *bound_text(tp_fn *f, int64_t n) {
  return n == TP_ENDLESS ? "math.huge" : tp_printf(&f->closed->arena, "%lld", (long long)n);
}

static bool may_grow(tp_fn *f, const tp_session *v, const int64_t *env, bool *same, tp_error *err) {
  *same = true;
  for (int i = 0; i < f->nbound; i++) {
    tp_sym *b = f->bounds[i];
    int64_t was = v->env[b->id], now = env[b->id];
    const tp_node *x = b == f->tick[0]->bound && was < now ? reader_of(f, b) : NULL;
    if (was == now) continue;
    *same = false;
    if (x || b != f->tick[0]->bound || now < was)
      return tp_fail(err, TP_E_BOUND, x ? x->pos : f->pos,
          "'%s' was %s in the state and cannot become %s%s", b->name, bound_text(f, was),
          bound_text(f, now),
          x               ? ": what is computed here mentions it"
              : now < was ? ""
                          : ": only the bound of the first tick dim may be larger");
  }
  if (*same) return true;
  if (v->over)
    return tp_fail(err, TP_E_BOUND, f->pos,
        "the state is of a run that has ended: a longer one goes on from a state before its last "
        "tick");
  return tp_fn_may_be_endless(f, env, "be larger than in the state", err) &&
      (!in_last_row(f, v) || none_longer(f, err));
}

/* ---- going on ---- */

/* Copies an output of the state; along a bound that has grown it begins the same. */
static bool copy_output(const tp_array *from, tp_array *to) {
  if (from->dtype != to->dtype || from->rank != to->rank) return false;
  for (int k = 0; k < from->rank; k++)
    if (from->shape[k] > to->shape[k]) return false;
  tp_array_overlay(to, from);
  return true;
}

/* Restores a value that a run holds once it has begun, in the shape of one tick. */
static bool restore_value(tp_fn *f, tp_session *s, int i, tp_array *a) {
  int64_t shape[TP_MAXRANK];
  int rank = tp_fn_fed_shape(f, i, &s->run, shape);
  if (!a) return !s->begun || s->over;
  if (!tp_array_is(a, f->closed->inputs.v[i]->out[0].dtype, rank, shape)) return false;
  s->values[i] = tp_array_ref(a);
  return true;
}

static bool restore(
    tp_fn *f, tp_session *s, const tp_session *v, tp_reader *r, bool same, tp_error *err) {
  const int64_t *was = same ? NULL : v->env;
  memcpy(s->at, v->at, sizeof s->at);
  s->over = v->over;
  s->begun = v->begun;
  for (int k = 0; k < f->ntick; k++)
    if (s->at[k] >= TP_MAX(s->env[f->tick[k]->bound->id], 1)) return broken(f, err);
  for (int i = 0; i < f->closed->inputs.n; i++)
    if (f->fed[i] && !restore_value(f, s, i, v->values[i])) return broken(f, err);
  for (int i = 0; i < f->closed->outputs.n; i++) {
    tp_array *to = s->run.outputs[i];
    if (v->run.outputs[i] && to && !copy_output(v->run.outputs[i], to)) return broken(f, err);
  }
  if (s->over) return r->left == 0 || broken(f, err);
  bool ok = f->engine->get(s, r, was, err) && !r->left;
  return ok || (same ? broken(f, err) : none_longer(f, err));
}

/* Inputs given now come before those of the state. */
static void prefer(tp_fn *f, tp_session *v, const tp_run *with) {
  for (int i = 0; with->inputs && i < f->closed->inputs.n; i++) {
    if (!with->inputs[i]) continue;
    tp_array_unref(v->inputs[i]);
    v->inputs[i] = tp_array_ref(with->inputs[i]);
  }
}

/* Is the state's run over? Then it gives only parameters. */
static bool is_over(tp_fn *f, const tp_session *v, const tp_reader *r, tp_error *err) {
  tp_error none = { 0 };
  bool ok = r->left == 0;
  for (int i = 0, k = 0; i < f->closed->outputs.n; i++) {
    const tp_array *a = f->closed->outputs.v[i].hidden ? v->run.outputs[i] : NULL;
    if (a) ok &= tp_fn_param_fits(f, k, a, &none);
    k += f->closed->outputs.v[i].hidden;
  }
  for (int k = 0; k < f->closed->params.n; k++)
    ok &= !v->params[k] || tp_fn_param_fits(f, k, v->params[k], &none);
  return ok || broken(f, err);
}

/* was: the session as it was written; s: as it goes on */
typedef struct {
  tp_reader r;
  const tp_run *with;
  tp_session *was, *s;
} loading;

static bool load_it(tp_fn *f, void *arg, tp_error *err) {
  loading *x = arg;
  const tp_run *with = x->with;
  tp_session *v = x->was;
  bool same = true;
  if (!check_head(f, &x->r, err) || !take_session(f, &x->r, v, err)) return false;
  if (v->over && !with) {
    x->was = x->s;
    x->s = v;
    return is_over(f, v, &x->r, err);
  }
  if (!tp_fn_ticks(f, err)) return false;
  if (with && !may_grow(f, v, with->env, &same, err)) return false;
  if (with) prefer(f, v, with);
  tp_run run = {
    .env = with ? with->env : v->env, .inputs = v->inputs, .params = v->params, .seed = v->run.seed
  };
  return tp_session_open(f, x->s, &run, with != NULL, err) && restore(f, x->s, v, &x->r, same, err);
}

static tp_session *load(tp_fn *f, const void *p, size_t n, const tp_run *with, tp_error *err) {
  tp_error none = { 0 };
  tp_fn_ticks(f, &none); /* a run that is over may belong to a program without ticks */
  loading x = { { p, n, false }, with, tp_session_new(f, err), tp_session_new(f, err) };
  bool ok = x.was && x.s && tp_guarded(f, load_it, &x, err);
  tp_session_free(f, x.was);
  return ok ? x.s : tp_session_free(f, x.s);
}

bool tp_fn_load_state(tp_fn *f, const void *p, size_t n, tp_error *err) {
  if (f->running)
    return tp_fail(err, TP_E_OPTION, f->pos, "a state is loaded between ticks, not by a callback");
  tp_session *s = load(f, p, n, NULL, err);
  if (!s) return false;
  tp_settle_params(f);
  tp_session_free(f, f->session);
  f->session = s;
  tp_free(f->called);
  f->called = NULL;
  for (int k = 0; k < tp_fn_nparam(f); k++)
    if (s->params[k]) tp_put_latest(f, k, s->params[k]);
  if (s->over) tp_keep_params(f, s->run.outputs);
  else if (s->begun) tp_params_stepped(f);
  return true;
}

/* ---- files ---- */

bool tp_fn_save(tp_fn *f, const char *path, tp_error *err) {
  tp_buf b;
  tp_buf_init(&b);
  bool ok = tp_fn_state(f, &b, err) && tp_file_replace(path, tp_file_text, &b, err);
  tp_buf_free(&b);
  return ok;
}

bool tp_fn_load(tp_fn *f, const char *path, tp_error *err) {
  size_t n = 0;
  char *p = tp_file_whole(path, &n, err);
  bool ok = p && tp_fn_load_state(f, p, n, err);
  tp_free(p);
  return ok;
}

bool tp_fn_resume(tp_fn *f, tp_run *run, const void *p, size_t n, tp_error *err) {
  tp_session *s = load(f, p, n, run, err);
  if (!s) return false;
  f->running = true;
  bool ok = tp_session_finish(f, s, run, err);
  f->running = false;
  tp_keep_params(f, run->outputs);
  if (!ok) tp_run_free_outputs(f->graph, run);
  tp_free(f->called);
  f->called = tp_full_env(f, run->env);
  tp_session_free(f, s);
  return ok;
}
