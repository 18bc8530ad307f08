/* call.c: callbacks. */
#include "run/priv.h"

/* ---- callbacks ---- the arrays live as long as the region and are made anew only when a shape changes or somebody kept one */

typedef struct tp_drows { tp_dx at, given; int along; tp_dnd *end; } tp_drows;       /* see tp_rows */
typedef struct tp_dcall {
  tp_drows *rows; bool *gone;                   /* by rows of one call */
  int64_t *reached;                             /* by dims in `over` */
  int64_t *coord;
  tp_array **args, **res;
} tp_dcall;

static bool array_fits(const tp_array *a, const tp_view *v) {
  if (!a || a->refs > 1 || a->rank != v->rank) return false;
  for (int i = 0; i < v->rank; i++)
    if (a->shape[i] != v->shape[i]) return false;
  return true;
}

static bool fit_array(tp_exec *x, tp_dreg *r, tp_array **a, tp_dtype d, const tp_view *v) {
  if (array_fits(*a, v) && (*a)->dtype == d) return true;
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

static const tp_callee *callee(const tp_exec *x, const tp_dreg *r) { return &x->plan->calls.v[r->rg->call]; }
static tp_dtype result_dtype(const tp_exec *x, const tp_dreg *r, int i) { return r->out[i].buf >= 0 ? r->out[i].dtype : callee(x, r)->res[i]; }

static bool gather_args(tp_exec *x, tp_dreg *r, tp_dcall *c) {
  for (int i = 0; i < r->nin; i++) {
    if (!fit_array(x, r, &c->args[i], r->in[i].dtype, &r->in[i].v)) return false;
    tp_view to = view_of(c->args[i]);
    tp_copy(x, r->in[i].size, &to, &r->in[i].v);
  }
  for (int i = 0; i < r->nout; i++) {
    if (!fit_array(x, r, &c->res[i], result_dtype(x, r, i), &r->out[i].v)) return false;
    if (tp_array_bytes(c->res[i])) memset(c->res[i]->data, 0, tp_array_bytes(c->res[i]));
  }
  return true;
}

/* At a row: the axes after those of rows are those of which the greatest counts. */
static int64_t end_of(const tp_dnd *d, int64_t first, int nrow) {
  const tp_view *v = &d->v;
  int64_t most = 0;
  tp_walk w;
  for (tp_walk_start(&w, v->rank - nrow, v->shape + nrow); w.ok; tp_walk_next(&w)) most = TP_MAX(most, ((const int64_t *)v->p)[first + tp_walk_offset(&w, v->stride + nrow)]);
  return most;
}

/* Which rows of the callback's arrays are there? */
static void note_rows(tp_exec *x, tp_dreg *r, tp_dcall *c, tp_drows *rows) {
  tp_dend_place(x, rows->end);
  const tp_view *v = &rows->end->v;
  int nrow = tp_callee_nover(callee(x, r));
  int64_t at = tp_dx_get(&rows->at, x->env), given = tp_dx_get(&rows->given, x->env), row = 0;
  tp_walk w;
  for (tp_walk_start(&w, nrow, v->shape); w.ok; tp_walk_next(&w), row++) {
    int64_t t = at + (rows->along < 0 ? 0 : w.at[rows->along]);
    if (t >= TP_MIN(given, end_of(rows->end, tp_walk_offset(&w, v->stride), nrow))) c->gone[row] = true;
  }
}

/* Those that have ended are zero in its arrays; dims that end are as long as the longest of the others. */
static bool clear_rows(tp_exec *x, tp_dreg *r, tp_dcall *c) {
  int nrow = tp_callee_nover(callee(x, r));
  int64_t count = 1, row = 0;
  const tp_array *any = r->nin ? c->args[0] : r->nout ? c->res[0] : NULL;
  for (int i = 0; i < nrow && any; i++) count *= c->reached[i] = any->shape[i];
  if (!r->rg->nrows) return true;
  int64_t shape[TP_MAXRANK];
  memcpy(shape, c->reached, sizeof *shape * (size_t)nrow);
  tp_free(c->gone);
  if (!(c->gone = tp_calloc((size_t)count + 1))) return tp_rfail(x, r, TP_E_MEMORY, "out of memory");
  for (int i = 0; i < r->rg->nrows; i++) {
    note_rows(x, r, c, &c->rows[i]);
    if (c->rows[i].along >= 0) c->reached[c->rows[i].along] = 0;
  }
  tp_walk w;
  for (tp_walk_start(&w, nrow, shape); w.ok; tp_walk_next(&w), row++) {
    for (int i = 0; i < r->rg->nrows; i++)
      if (c->rows[i].along >= 0 && !c->gone[row]) c->reached[c->rows[i].along] = TP_MAX(c->reached[c->rows[i].along], w.at[c->rows[i].along] + 1);
    for (int i = 0; i < r->nin && c->gone[row]; i++) {
      size_t bytes = tp_array_bytes(c->args[i]) / (size_t)count;
      if (bytes) memset((char *)c->args[i]->data + (size_t)row * bytes, 0, bytes);
    }
  }
  return true;
}

static bool same_array(const tp_array *a, tp_dtype d, const tp_view *v) {
  bool same = a && a->dtype == d && a->rank == v->rank;
  for (int i = 0; same && i < v->rank; i++) same = a->shape[i] == v->shape[i];
  return same;
}

static bool scatter_results(tp_exec *x, tp_dreg *r, tp_dcall *c) {
  for (int i = 0; i < r->nout; i++) {
    if (r->out[i].buf < 0) continue;
    if (!same_array(c->res[i], r->out[i].dtype, &r->out[i].v)) return tp_rfail(x, r, TP_E_CALLBACK, "result %d of the callback has another dtype or shape than its spec", i + 1);
    tp_dnd from = { .wrap = -1, .v = view_of(c->res[i]) };
    x->target->copy(x, r->out[i].size, &r->out[i], &from);
  }
  return true;
}

/* A call over no rows stands for no point of its domain. */
static bool no_rows(const tp_exec *x, const tp_callee *c) {
  for (int d = 0; d < c->ndom; d++)
    if (c->over >> d & 1 && x->env[c->dom[d]->bound->id] == 0) return true;
  return false;
}

static bool run_call(tp_exec *x, tp_dreg *r) {
  tp_dcall *c = r->k;
  if (no_rows(x, callee(x, r))) return true;
  for (int i = 0; i < r->rg->ncoord; i++) c->coord[i] = tp_dx_get(&r->coord[i], x->env);
  if (!gather_args(x, r, c)) return false;
  if (!clear_rows(x, r, c)) return false;
  tp_call call = { .of = callee(x, r), .nargs = r->nin, .args = c->args, .nres = r->nout, .res = c->res,
                   .ndim = r->rg->ncoord, .dims = r->rg->dim, .coord = c->coord, .reached = c->reached };
  if (!x->run->call) return tp_rfail(x, r, TP_E_CALLBACK, "nothing runs callbacks here");
  if (!x->run->call(x->run->ud, &call, x->err)) return tp_rfail(x, r, TP_E_CALLBACK, "the callback failed");
  return scatter_results(x, r, c);
}

void tp_call_new(tp_exec *x, tp_dreg *r) {
  tp_dcall *c = TP_NEW(&x->a, tp_dcall);
  c->args = TP_NEWN(&x->a, tp_array *, r->nin);
  c->res = TP_NEWN(&x->a, tp_array *, r->nout);
  c->coord = TP_NEWN(&x->a, int64_t, r->rg->ncoord);
  c->rows = TP_NEWN(&x->a, tp_drows, r->rg->nrows);
  for (int i = 0; i < r->rg->nrows; i++) {
    const tp_rows *from = &r->rg->rows[i];
    c->rows[i] = (tp_drows){ tp_dx_new(&x->a, from->at), tp_dx_new(&x->a, from->given), from->along, tp_dend_new(x, &from->nd) };
  }
  c->reached = TP_NEWN(&x->a, int64_t, tp_callee_nover(callee(x, r)));
  r->k = c;
  r->run = run_call;
}

void tp_call_bind(tp_exec *x, tp_dreg *r) {
  tp_dcall *c = r->k;
  for (int i = 0; i < r->rg->nrows; i++) {
    tp_dx_bind(&c->rows[i].at, x->env);
    tp_dx_bind(&c->rows[i].given, x->env);
    tp_dnd_bind(c->rows[i].end, x->env);
  }
}

void tp_call_free(tp_dreg *r) {
  tp_dcall *c = r->k;
  for (int i = 0; c && i < r->nin; i++) c->args[i] = tp_array_unref(c->args[i]);
  for (int i = 0; c && i < r->nout; i++) c->res[i] = tp_array_unref(c->res[i]);
  if (c) tp_free(c->gone);
}
