/* call.c: calls the host's functions. */
#include "run/priv.h"

/* ---- arrays live as long as the region, unless a shape changes or a callback keeps one ---- */

typedef struct tp_dcall {
  tp_drows *rows;
  bool *gone;
  int64_t room;     /* by row of a call: has it ended? room: most rows */
  int64_t *reached; /* by dims in `over` */
  int64_t *coord;
  tp_array **args, **res;
} tp_dcall;

static bool fit_array(tp_exec *x, tp_dreg *r, tp_array **a, tp_dtype d, const tp_view *v) {
  if (*a && (*a)->refs == 1 && tp_array_is(*a, d, v->rank, v->shape)) {
    (*a)->writes++; /* a callback may have handed it to a function on a device */
    return true;
  }
  tp_array_unref(*a);
  *a = tp_array_new(d, v->rank, v->shape);
  return *a || tp_rfail(x, r, TP_E_MEMORY, "no memory for the arrays of a callback");
}

static tp_view view_of(const tp_array *a) {
  tp_view v = { .p = a->data, .rank = a->rank };
  memcpy(v.shape, a->shape, sizeof v.shape);
  tp_view_strides(&v);
  return v;
}

static const tp_callee *callee(const tp_exec *x, const tp_dreg *r) {
  return &x->plan->calls.v[r->rg->call];
}
static bool gather_args(tp_exec *x, tp_dreg *r, tp_dcall *c) {
  for (int i = 0; i < r->nin; i++) {
    if (!fit_array(x, r, &c->args[i], r->in[i].dtype, &r->in[i].v)) return false;
    tp_view to = view_of(c->args[i]);
    tp_copy(x, r->in[i].size, &to, &r->in[i].v);
  }
  for (int i = 0; i < r->nout; i++) {
    tp_dtype d = r->out[i].buf >= 0 ? r->out[i].dtype : callee(x, r)->res[i];
    if (!fit_array(x, r, &c->res[i], d, &r->out[i].v)) return false;
    if (tp_array_bytes(c->res[i])) memset(c->res[i]->data, 0, tp_array_bytes(c->res[i]));
  }
  return true;
}

/* Marks rows that are gone. */
static void note_rows(tp_exec *x, tp_dreg *r, tp_dcall *c, tp_drows *rows) {
  int nrow = tp_callee_nover(callee(x, r));
  tp_end_place(x, &rows->nd);
  TP_WALK (w, nrow, rows->nd.v.shape) c->gone[w.n] |= !tp_drows_there(x, rows, nrow, &w);
}

/* Ended rows are zero; dims that end are as long as the longest other row. */
static bool clear_rows(tp_exec *x, tp_dreg *r, tp_dcall *c) {
  int nrow = tp_callee_nover(callee(x, r));
  int64_t count = 1;
  const tp_array *any = r->nin ? c->args[0] : r->nout ? c->res[0] : NULL;
  for (int i = 0; i < nrow && any; i++) count *= c->reached[i] = any->shape[i];
  if (!r->rg->nrows) return true;
  int64_t shape[TP_MAXRANK];
  TP_COPYN(shape, c->reached, nrow);
  if (count >= c->room) {
    tp_free(c->gone);
    c->room = (c->gone = tp_alloc((size_t)count + 1)) ? count + 1 : 0;
  }
  if (!c->gone) return tp_rfail(x, r, TP_E_MEMORY, "out of memory");
  memset(c->gone, 0, (size_t)count + 1);
  for (int i = 0; i < r->rg->nrows; i++) {
    note_rows(x, r, c, &c->rows[i]);
    if (c->rows[i].along >= 0) c->reached[c->rows[i].along] = 0;
  }
  TP_WALK (w, nrow, shape) {
    for (int i = 0; i < r->rg->nrows; i++)
      if (c->rows[i].along >= 0 && !c->gone[w.n])
        c->reached[c->rows[i].along] =
            TP_MAX(c->reached[c->rows[i].along], w.at[c->rows[i].along] + 1);
    for (int i = 0; i < r->nin && c->gone[w.n]; i++) {
      size_t bytes = tp_array_bytes(c->args[i]) / (size_t)count;
      if (bytes) memset((char *)c->args[i]->data + (size_t)w.n * bytes, 0, bytes);
    }
  }
  return true;
}

static bool scatter_results(tp_exec *x, tp_dreg *r, tp_dcall *c) {
  for (int i = 0; i < r->nout; i++) {
    if (r->out[i].buf < 0) continue;
    if (!tp_array_is(c->res[i], r->out[i].dtype, r->out[i].v.rank, r->out[i].v.shape))
      return tp_rfail(x, r, TP_E_CALLBACK,
          "result %d of the callback has another dtype or shape than its spec", i + 1);
    tp_dnd from = { .wrap = -1, .v = view_of(c->res[i]) };
    x->target->copy(x, r->out[i].size, &r->out[i], &from);
  }
  return true;
}

static bool run_call(tp_exec *x, tp_dreg *r) {
  tp_dcall *c = r->k;
  const tp_callee *of = callee(x, r);
  for (int d = 0; d < of->ndom; d++) /* a call over no rows stands for no point */
    if (of->over >> d & 1 && x->env[of->dom[d]->bound->id] == 0) return true;
  for (int i = 0; i < r->rg->ncoord; i++) c->coord[i] = tp_dx_get(&r->coord[i], x->env);
  if (!gather_args(x, r, c) || !clear_rows(x, r, c)) return false;
  tp_call call = { .of = of,
    .nargs = r->nin,
    .args = c->args,
    .nres = r->nout,
    .res = c->res,
    .ndim = r->rg->ncoord,
    .dims = r->rg->dim,
    .coord = c->coord,
    .reached = c->reached };
  if (!x->run->call) return tp_rfail(x, r, TP_E_CALLBACK, "nothing runs callbacks here");
  if (!x->run->call(x->run->ud, &call, x->err))
    return tp_rfail(x, r, TP_E_CALLBACK, "the callback failed");
  for (int i = 0; i < r->nin; i++) /* the host kept the array */
    if (c->args[i]->refs > 1) c->args[i] = tp_array_unref(c->args[i]);
  return scatter_results(x, r, c);
}

void tp_call_new(tp_exec *x, tp_dreg *r) {
  tp_dcall *c = TP_NEW(&x->a, tp_dcall);
  c->args = TP_NEWN(&x->a, tp_array *, r->nin);
  c->res = TP_NEWN(&x->a, tp_array *, r->nout);
  c->coord = TP_NEWN(&x->a, int64_t, r->rg->ncoord);
  c->rows = tp_drows_new(x, r->rg->nrows, r->rg->rows);
  c->reached = TP_NEWN(&x->a, int64_t, tp_callee_nover(callee(x, r)));
  r->k = c;
  r->run = run_call;
}

void tp_call_bind(tp_exec *x, tp_dreg *r) {
  tp_drows_bind(((tp_dcall *)r->k)->rows, r->rg->nrows, x->env);
}

void tp_call_free(tp_dreg *r) {
  tp_dcall *c = r->k;
  for (int i = 0; c && i < r->nin; i++) c->args[i] = tp_array_unref(c->args[i]);
  for (int i = 0; c && i < r->nout; i++) c->res[i] = tp_array_unref(c->res[i]);
  if (c) tp_free(c->gone);
}
