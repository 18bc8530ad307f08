/* param: values of parameters by name. */
#include "api/api.h"
#include "io/io.h"

static int param_named(tempo_function *f, const char *name, tp_error *e) {
  const tp_graph *g = tp_fn_graph(f->f);
  char hint[TP_HINT];
  int k = api_named(g->params.n, g->params.v, name, hint);
  if (k < 0)
    tp_fail(e, TP_E_OPTION, TP_NOWHERE, "the function has no parameter '%s'%s", name, hint);
  return k;
}

tempo_array *tempo_param(tempo_function *f, const char *name, tempo_error *err) {
  tp_error e = { 0 };
  if (!api_compiled(f, __func__, err) || !api_given(name, __func__, "name", err)) return NULL;
  int k = param_named(f, name, &e);
  tp_array *a = k < 0 ? NULL : tp_fn_param_value(f->f, k);
  if (a) return api_give(tp_array_cast(a, a->dtype), err);
  tp_fail(&e, TP_E_OPTION, TP_NOWHERE,
      "parameter '%s' has no value yet: a run or tempo_load_param gives it one", name);
  api_fail(err, &e);
  return NULL;
}

/* The parameter of this name, which the array fits; -1. */
static int fitting(tempo_function *f, const char *name, const tp_array *a, tp_error *e) {
  int k = param_named(f, name, e);
  return k >= 0 && tp_fn_param_fits(f->f, k, a, e) ? k : -1;
}

int tempo_load_param(tempo_function *f, const char *name, const tempo_array *a, tempo_error *err) {
  tp_error e = { 0 };
  if (!api_ready(f, __func__, err) || !api_given(name, __func__, "name", err) ||
      !api_given(a, __func__, "the array", err))
    return 0;
  int k = fitting(f, name, api_array(a), &e);
  if (k < 0 || !tp_array_see(api_array(a), &e)) return api_fail(err, &e);
  tp_fn_load_param(f->f, k, tp_array_ref(api_array(a)));
  return 1;
}

/* ---- files ---- */

static bool save_params(tempo_function *f, const char *path, tp_error *e) {
  int n = 0, all = tp_fn_nparam(f->f);
  tp_named *v = tp_calloc(sizeof *v * (size_t)(all + 1));
  for (int k = 0; v && k < all; k++) {
    tp_array *a = tp_fn_param_value(f->f, k);
    if (a) v[n++] = (tp_named){ tp_fn_param(f->f, k)->attr.str, a };
  }
  bool ok = !v ? tp_no_memory(e, TP_NOWHERE)
      : !n ? tp_fail(e, TP_E_OPTION, TP_NOWHERE, "there is no parameter with a value yet to save")
           : tp_npz_save(path, n, v, e);
  tp_free(v);
  return ok;
}

int tempo_save_params(tempo_function *f, const char *path, tempo_error *err) {
  tp_error e = { 0 };
  return api_compiled(f, __func__, err) && api_given(path, __func__, "path", err) &&
      (save_params(f, path, &e) || api_fail(err, &e));
}

/* Loads all or none: every error is found before the first is replaced. */
static bool load_params(tempo_function *f, const char *path, const tp_arrays *all, tp_error *e) {
  if (all->single)
    return tp_file_fail(
        e, path, "a single array: tempo_array_load reads it, tempo_load_param takes it by name");
  for (int i = 0; i < all->n; i++)
    if (fitting(f, all->v[i].name, all->v[i].a, e) < 0) return false;
  for (int i = 0; i < all->n; i++)
    tp_fn_load_param(f->f, fitting(f, all->v[i].name, all->v[i].a, e), tp_array_ref(all->v[i].a));
  return true;
}

int tempo_load_params(tempo_function *f, const char *path, tempo_error *err) {
  tp_error e = { 0 };
  tp_arrays all = { 0 };
  if (!api_ready(f, __func__, err) || !api_given(path, __func__, "path", err)) return 0;
  bool ok = tp_arrays_load(path, &all, &e) && load_params(f, path, &all, &e);
  tp_arrays_free(&all);
  return ok || api_fail(err, &e);
}
