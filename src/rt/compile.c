/* compile: a recording becomes a function, here or in a thread beside (beside.c). A function has a
 * program of its own, read from the recording's text: it shares no symbols and no isl context, so
 * another thread may compile it, and what it becomes depends on that text and the options alone. */
#include "rt/fn.h"

/* ---- a program of its own ---- */

/* Can the output be one array for all points? */
static bool is_array(const tp_output *o, tp_error *err) {
  const tp_node *n = o->val.node;
  const tp_out *t = tp_outof(o->val);
  int axis;
  if (n->ndom + t->rank > TP_MAXRANK)
    return tp_fail(err, TP_E_SHAPE, o->pos,
        "output '%s' would be an array of %d axes: %d dims and %d of its own; at most %d "
        "are possible",
        o->name, n->ndom + t->rank, n->ndom, t->rank, TP_MAXRANK);
  tp_sym *d = tp_varies(t->rank, t->shape, n->ndom, n->dom, &axis);
  return !d ||
      tp_fail(err, TP_E_RAGGED, o->pos,
          "output '%s' has extent %s, which varies with '%s': reduce or pad first", o->name,
          tp_ix_str(t->shape[axis]), d->name);
}

/* Gives an output without a name of its own the script's, for errors and explain. */
static bool record_outputs(tp_graph *g, const tp_copts *o, tp_error *err) {
  for (int i = 0; i < o->nout; i++) {
    tp_output out = o->outputs[i];
    out.val.node = g->nodes.v[out.val.node->id];
    out.name = tp_strdup(&g->arena, out.name);
    if (!out.val.node->name && !out.val.node->attr.str) out.val.node->name = out.name;
    if (!is_array(&out, err)) return false;
    TP_PUSH(&g->arena, &g->outputs, out);
  }
  if (!g->outputs.n && !g->sinks.n)
    return tp_fail(
        err, TP_E_OPTION, o->pos, "nothing to compute: give outputs = {...} or add a sink");
  tp_grad_sweep_unneeded(g);
  return true;
}

/* Takes the recording as text, as far as the outputs need it, and dims by their names: from here on
 * only the arrays of constants are read from the host's program. */
static bool take_program(tp_fn *f, void *opts, tp_error *err) {
  const tp_copts *o = opts;
  tp_arena *a = tp_ictx_arena(f->program->ix);
  if (f->pos.file) f->pos.file = tp_strdup(a, f->pos.file);
  f->nasked = o->ntick;
  f->asked_tick = TP_NEWN(a, const char *, o->ntick + 1);
  for (int i = 0; i < o->ntick; i++) f->asked_tick[i] = tp_strdup(a, o->tick[i]->name);
  if (!tp_choose_options(f, o, err) || !record_outputs(f->recorded, o, err)) return false;
  tp_graph_print_as(&f->text, f->recorded, TP_TEXT_HASHDATA | TP_TEXT_NAMES | TP_TEXT_SYMS);
  if (f->text.failed) tp_oom();
  return true;
}

/* ---- compiling ---- */

static bool performed(tp_fn *f, tp_error *err) {
  return f->tier == TP_TIER_REFERENCE || (f->exec = tp_fn_exec(f, f->plan, err));
}

static bool made(tp_fn *f, void *unused, tp_error *err) {
  if (tp_warm_get(f)) return performed(f, err);
  if (!tp_fn_stages(f, unused, err)) return false;
  tp_warm_put(f);
  return performed(f, err);
}

bool tp_pipeline(tp_fn *f, tp_error *err) {
  if (!tp_making(f, made, NULL, err)) err->pos = err->pos.file ? err->pos : f->pos;
  return !err->code;
}

static tp_fn *fn_new(tp_program *p, const tp_copts *o, tp_error *err) {
  tp_fn *f = tp_calloc(sizeof *f);
  if (f && (f->program = tp_program_new(p->seed)) && (f->recorded = tp_graph_clone(p->g, err)))
    return f;
  tp_no_memory(err, o->pos);
  return tp_fn_free(f);
}

/* Copies the file's name into p, because the function is about to be freed. */
static void keep_place(tp_program *p, tp_pos pos, tp_error *err) {
  tp_guard oom;
  const char *file = err->pos.file;
  if (!file) err->pos = pos;
  else if (TP_GUARDED(&oom)) {
    err->pos.file = tp_strdup(&p->g->arena, file);
    tp_unguard(&oom);
  } else err->pos = pos;
}

tp_fn *tp_compile(tp_program *p, const tp_copts *o, tp_error *err) {
  tp_fn *f = fn_new(p, o, err);
  if (!f) return NULL;
  f->pos = o->pos;
  tp_buf_init(&f->text);
  tp_ictx_watch(f->program->ix, o->interrupted, o->host);
  if (tp_guarded(f, take_program, (void *)o, err) &&
      ((o->async && tp_compile_beside(f)) || tp_pipeline(f, err)))
    return f;
  keep_place(p, o->pos, err);
  return tp_fn_free(f);
}

tp_fn *tp_fn_free(tp_fn *f) {
  if (!f) return NULL;
  tp_beside_free(f);
  for (int k = 0; k < TP_MAXSHORTER; k++) tp_fn_free(f->shorter[k]);
  f->session = tp_session_free(f, f->session);
  tp_exec_free(f->exec);
  tp_code_free(f);
  tp_free(f->called);
  tp_fn_empty(f);
  return NULL;
}
