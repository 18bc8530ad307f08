/* params: values of parameters by number: what runs begin with, and what the last one left. */
#include "rt/fn.h"

int tp_fn_nparam(tp_fn *f) { return f->closed->params.n; }
const tp_node *tp_fn_param(tp_fn *f, int k) { return f->closed->params.v[k]; }

void tp_params_free(tp_fn *f) {
  for (int k = 0; f->loaded && k < tp_fn_nparam(f); k++) {
    tp_array_unref(f->loaded[k]);
    tp_array_unref(f->latest[k]);
  }
}

/* Axes of a parameter's array: the dims of its domain that are not in along, then its shape. */
bool tp_fn_param_fits(tp_fn *f, int k, const tp_array *a, tp_error *err) {
  const tp_node *w = tp_fn_param(f, k);
  int first = w->ndom - w->attr.nalong, rank = first + w->out[0].rank;
  const char *name = w->attr.str;
  if (a->dtype != w->out[0].dtype)
    return tp_fail(err, TP_E_DTYPE, TP_NOWHERE, "dtype: load_params: '%s' is %s, got %s", name,
                   tp_dtype_name(w->out[0].dtype), tp_dtype_name(a->dtype));
  if (a->rank != rank)
    return tp_fail(err, TP_E_SHAPE, TP_NOWHERE, "shape: load_params: '%s' has %d axes, got %d", name,
                   rank, a->rank);
  for (int i = first; i < rank; i++) {
    int64_t want;
    if (tp_ix_is_const(w->out[0].shape[i - first], &want) && a->shape[i] != want)
      return tp_fail(err, TP_E_SHAPE, TP_NOWHERE,
                     "shape: load_params: axis %d of '%s' has extent %lld, got %lld", i, name,
                     (long long)want, (long long)a->shape[i]);
  }
  return true;
}

static void put(tp_array **to, tp_array *a) {
  tp_array_unref(*to);
  *to = a;
}

void tp_fn_load_param(tp_fn *f, int k, tp_array *a) {
  put(&f->latest[k], tp_array_ref(a));
  put(&f->loaded[k], a);
}

/* The hidden output of parameter k: each new value is copied there. */
static int final_of(const tp_fn *f, int k) {
  for (int i = 0, n = 0; i < f->closed->outputs.n; i++)
    if (f->closed->outputs.v[i].hidden && n++ == k) return i;
  return -1;
}

void tp_keep_params(tp_fn *f, tp_array *const *outputs) {
  for (int k = 0; k < tp_fn_nparam(f); k++)
    put(&f->latest[k], outputs[final_of(f, k)] ? tp_array_ref(outputs[final_of(f, k)]) : NULL);
}

tp_array *tp_fn_param_value(tp_fn *f, int k) {
  const tp_session *s = f->session;
  tp_error err = { 0 };
  if (!s || !s->begun || s->over) return f->latest[k];
  return s->exec && !tp_exec_newest(s->exec, &err) ? NULL : s->run.outputs[final_of(f, k)];
}
