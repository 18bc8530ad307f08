/* callback: the program's calls become calls of the host's functions. */
#include "api/api.h"

/* ---- the callbacks ---- */

static hook *hook_of(const tempo_function *f, int fn) {
  for (int i = 0; i < f->nhook; i++)
    if (f->hooks[i].fn == fn) return &f->hooks[i];
  return NULL;
}

/* A callback is called by the name of its result or only operand, or by its line. */
static void add_hook(tempo_function *f, const tp_node *n) {
  int i = f->nhook, fn = n->attr.fn;
  const char *name = !n->name && !n->nout && n->nin ? tp_own_name(tp_in(n, 0)) : n->name;
  if (hook_of(f, fn)) return;
  for (; i > 0 && f->hooks[i - 1].fn > fn; i--) f->hooks[i] = f->hooks[i - 1];
  f->hooks[i] = (hook){ .fn = fn,
    .name = name      ? tp_strdup(&f->a, name)
        : n->pos.file ? tp_printf(&f->a, "%s:%d", n->pos.file, n->pos.line)
                      : tp_printf(&f->a, "callback %d", fn) };
  f->nhook++;
}

bool api_hooks(tempo_function *f, tp_error *e) {
  const tp_graph *g = tp_fn_graph(f->f);
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return f->hooks = NULL, tp_no_memory(e, TP_NOWHERE);
  f->in = TP_NEWN(&f->a, tp_array *, g->inputs.n + 1);
  f->out = TP_NEWN(&f->a, tp_array *, g->outputs.n + 1);
  f->into = TP_NEWN(&f->a, tp_array *, g->outputs.n + 1);
  f->hooks = TP_NEWN(&f->a, hook, g->nodes.n + 1);
  TP_NODES (n, g->nodes)
    if (n->op == TP_OP_CALL) add_hook(f, n);
  tp_unguard(&oom);
  return true;
}

/* ---- may it be used? ---- */

bool api_compiled(const tempo_function *given, const char *fn, tempo_error *out) {
  tempo_function *f = (tempo_function *)given;
  tp_error e = { 0 };
  return api_given(f, fn, "the function", out) &&
      (f->hooks || (tp_fn_wait(f->f, NULL, NULL, &e) && api_hooks(f, &e)) || api_fail(out, &e));
}

bool api_idle(const tempo_function *f, const char *fn, tempo_error *out) {
  return !__atomic_load_n(&f->running, __ATOMIC_ACQUIRE) ||
      api_refuse(
          out, TP_E_OPTION, "%s: this function is running: its callbacks may only cancel it", fn);
}

bool api_ready(const tempo_function *f, const char *fn, tempo_error *out) {
  return api_compiled(f, fn, out) && api_idle(f, fn, out);
}

int tempo_set_callback(tempo_function *f, int i, tempo_callback *fn, void *data, tempo_error *err) {
  if (!api_ready(f, __func__, err)) return 0;
  if (i < 0 || i >= f->nhook)
    return api_refuse(err, TP_E_OPTION,
        "tempo_set_callback: there is no callback %d, the program has %d", i, f->nhook);
  f->hooks[i].call = fn;
  f->hooks[i].data = data;
  return 1;
}

/* ---- a call ---- */

static bool results_ok(const tp_call *c, const hook *h, tp_error *e) {
  for (int k = 0; k < c->nres; k++) {
    int64_t bad = api_not_bool(c->res[k]);
    if (bad >= 0)
      return tp_fail(e, TP_E_CALLBACK, c->of->pos,
          "'%s': result %d is bool, and its element %lld is neither 0 nor 1", h->name, k,
          (long long)bad);
  }
  return true;
}

/* Ends the call with the host's own words, if it left some. */
static bool ended(tempo_function *f, const tp_call *c, const hook *h, tp_error *e) {
  f->raised = f->error.message[0] != 0;
  return tp_fail(e, TP_E_CALLBACK, c->of->pos, "'%s' ended the run", h->name);
}

bool api_call(void *ud, const tp_call *c, tp_error *e) {
  tempo_function *f = ud;
  const hook *h = hook_of(f, c->of->fn);
  const char *dim[TP_MAXRANK];
  if (!h || !h->call)
    return tp_fail(e, TP_E_CALLBACK, c->of->pos,
        "'%s' is called, and tempo_set_callback has set no function for it", h ? h->name : "?");
  if (c->ndim > TP_MAXRANK)
    return tp_fail(e, TP_E_CALLBACK, c->of->pos,
        "'%s' is called at points of %d dims, more than %d", h->name, c->ndim, TP_MAXRANK);
  for (int k = 0; k < c->ndim; k++) dim[k] = c->dims[k]->name;
  const tempo_call call = { .function = f,
    .callback = (int)(h - f->hooks),
    .name = h->name,
    .narg = c->nargs,
    .arg = (tempo_array *const *)c->args,
    .nresult = c->nres,
    .result = (tempo_array *const *)c->res,
    .ndim = c->ndim,
    .dim = dim,
    .at = c->coord };
  f->error.code = TEMPO_E_CALLBACK;
  f->error.message[0] = 0;
  return h->call(h->data, &call, &f->error) ? results_ok(c, h, e) : ended(f, c, h, e);
}
