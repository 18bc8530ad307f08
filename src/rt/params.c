/* params: keeps values of parameters by number: those that runs begin with, and the newest. */
#include "rt/fn.h"

int tp_fn_nparam(tp_fn *f) { return f->closed->params.n; }
const tp_node *tp_fn_param(tp_fn *f, int k) { return f->closed->params.v[k]; }

void tp_params_free(tp_fn *f) {
  for (int k = 0; f->loaded && k < tp_fn_nparam(f); k++) {
    tp_array_unref(f->loaded[k]);
    tp_array_unref(f->latest[k]);
  }
}

/* A parameter's array has an axis for each dim of its domain that is not in along, then its
 * shape. */
bool tp_fn_param_fits(tp_fn *f, int k, const tp_array *a, tp_error *err) {
  const tp_node *w = tp_fn_param(f, k);
  int first = w->ndom - w->attr.nalong, rank = first + w->out[0].rank;
  const char *name = w->attr.str;
  if (a->dtype != w->out[0].dtype)
    return tp_fail(err, TP_E_DTYPE, TP_NOWHERE, "load_params: '%s' is %s, got %s", name,
        tp_dtype_name(w->out[0].dtype), tp_dtype_name(a->dtype));
  if (a->rank != rank)
    return tp_fail(
        err, TP_E_SHAPE, TP_NOWHERE, "load_params: '%s' has %d axes, got %d", name, rank, a->rank);
  for (int i = first; i < rank; i++) {
    int64_t want;
    if (tp_ix_is_const(w->out[0].shape[i - first], &want) && a->shape[i] != want)
      return tp_fail(err, TP_E_SHAPE, TP_NOWHERE,
          "load_params: axis %d of '%s' has extent %lld, got %lld", i, name, (long long)want,
          (long long)a->shape[i]);
  }
  return true;
}

static void put(tp_array **to, tp_array *a) {
  tp_array_unref(*to);
  *to = a;
}

bool tp_fn_param_borrowed(tp_fn *f, int k) {
  return f->loaded[k] && !tp_param_evolves(tp_fn_param(f, k)) &&
      tp_fn_param_value(f, k) == f->loaded[k];
}

int64_t tp_loaded_bytes(const tp_fn *f) {
  int64_t n = 0;
  for (int k = 0; k < f->closed->params.n; k++)
    n = tp_sum_bytes(n, f->loaded[k] ? (int64_t)tp_array_bytes(f->loaded[k]) : 0);
  return n;
}

void tp_hold_loaded(tp_fn *f) {
  int64_t n = tp_loaded_bytes(f);
  if (f->exec) tp_exec_hold(f->exec, n);
  for (int i = 0; i < TP_MAXSHORTER; i++)
    if (f->shorter[i]) tp_exec_hold(f->shorter[i]->exec, n);
}

void tp_fn_load_param(tp_fn *f, int k, tp_array *a) {
  put(&f->latest[k], tp_array_ref(a));
  put(&f->loaded[k], a);
  f->stepped[k] = false;
  tp_hold_loaded(f);
}

void tp_put_latest(tp_fn *f, int k, tp_array *a) { put(&f->latest[k], tp_array_ref(a)); }

/* The hidden output of parameter k: each new value is copied there. */
static int final_of(const tp_fn *f, int k) {
  for (int i = 0, n = 0; i < f->closed->outputs.n; i++)
    if (f->closed->outputs.v[i].hidden && n++ == k) return i;
  return -1;
}

/* ---- which values were made ---- A run may end before a parameter has any value. Each row of its
 * output begins with a mark, which is NaN as a float. A row is written whole, so if the mark is
 * still there, the row was not made. */

typedef struct {
  int64_t n;
  size_t row, mark;
} param_rows;

static const uint16_t marks[8] = { 0x7ffa, 0x7ffa, 0x7ffa, 0x7ffa, 0x7ffa, 0x7ffa, 0x7ffa, 0x7ffa };

static param_rows param_rows_of(tp_fn *f, int k, const tp_array *a) {
  param_rows r = { .n = 1 };
  for (int i = 0; i < a->rank - tp_fn_param(f, k)->out[0].rank; i++) r.n *= a->shape[i];
  r.row = r.n ? tp_array_bytes(a) / (size_t)r.n : 0;
  r.mark = TP_MIN(r.row, sizeof marks);
  return r;
}

/* The array that stands for output i, the last value of parameter k; NULL: the run's own. */
static tp_array *lent_to(const tp_fn *f, const tp_exec *x, const tp_run *run, int k, int i) {
  if (x) return tp_exec_lent(x, run, i);
  bool same =
      run->params && f->graph->outputs.v[i].val.node->op == TP_OP_PINIT && !f->graph->stops.n;
  return same ? run->params[k] : NULL;
}

void tp_begin_params(tp_fn *f, const tp_exec *x, tp_run *run) {
  for (int k = 0; k < tp_fn_nparam(f); k++) {
    tp_array **to = &run->outputs[final_of(f, k)], *lent = lent_to(f, x, run, k, final_of(f, k));
    if (lent) put(to, tp_array_ref(lent));
    param_rows r = *to && !lent ? param_rows_of(f, k, *to) : (param_rows){ 0 };
    if (r.n && r.mark) (*to)->blank = false;
    for (int64_t i = 0; i < r.n; i++)
      memcpy((char *)(*to)->data + (size_t)i * r.row, marks, r.mark);
  }
}

/* Was the value made? Rows of dims that end by data are zero if the run did not reach them. */
static bool is_made(tp_fn *f, int k, tp_array *a) {
  param_rows r = a ? param_rows_of(f, k, a) : (param_rows){ 0 };
  int64_t made = 0;
  for (int64_t i = 0; i < r.n; i++)
    made += !r.mark || memcmp((char *)a->data + (size_t)i * r.row, marks, r.mark) != 0;
  if (!a || (r.n && !made)) return false;
  if (!f->closed->stops.n) return made == r.n;
  for (int64_t i = 0; i < r.n; i++)
    if (r.mark && !memcmp((char *)a->data + (size_t)i * r.row, marks, r.mark))
      memset((char *)a->data + (size_t)i * r.row, 0, r.mark);
  return true;
}

/* ---- the newest ---- */

void tp_keep_params(tp_fn *f, tp_array *const *outputs) {
  for (int k = 0; outputs && k < tp_fn_nparam(f); k++) {
    tp_array *a = outputs[final_of(f, k)];
    if (!is_made(f, k, a)) continue;
    tp_put_latest(f, k, a);
    f->stepped[k] = false;
  }
}

void tp_newest_params(tp_fn *f, tp_exec *x, bool copied, tp_array **outputs) {
  for (int k = 0; x && outputs && k < tp_fn_nparam(f); k++)
    if (!tp_exec_newest(x, final_of(f, k)) && !copied) put(&outputs[final_of(f, k)], NULL);
}

void tp_params_stepped(tp_fn *f) {
  for (int k = 0; k < tp_fn_nparam(f); k++) f->stepped[k] = true;
}

void tp_settle_params(tp_fn *f) {
  for (int k = 0; k < tp_fn_nparam(f); k++) {
    tp_array *a = f->stepped[k] ? tp_fn_param_value(f, k) : NULL;
    if (a) tp_put_latest(f, k, a);
    f->stepped[k] = false;
  }
}

tp_array *tp_fn_param_value(tp_fn *f, int k) {
  const tp_session *s = f->session;
  if (!s || !f->stepped[k]) return f->latest[k];
  if (s->exec) tp_exec_newest(s->exec, final_of(f, k));
  tp_array *a = s->run.outputs[final_of(f, k)];
  return is_made(f, k, a) ? a : f->latest[k];
}
