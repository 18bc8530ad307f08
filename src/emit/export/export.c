/* export.c: prints a plan for given bounds as C99 that stands alone. A run writes only into the
 * object and the caller's arrays. */
#include "emit/export/export.h"

/* ---- sizes ---- */

static void measure_windows(exporter *w, const tp_pnode *x) {
  TP_EACH_NODE (k, x) {
    const tp_region *r = k.x->rg;
    for (int i = 0; i < tp_node_windows(k.x); i++)
      w->rank = TP_MAX(w->rank, (r ? r->nlead : 0) + tp_node_window(k.x, i)->rank);
    if (r && r->kind == TP_RG_CALL) w->operands = TP_MAX(w->operands, r->nin + r->nout);
  }
}

static int64_t most_of(tp_ix *e, const int64_t *lo, const int64_t *hi) {
  int64_t least, most;
  tp_ix_range(e, lo, hi, &least, &most);
  return TP_MAX(most, 0);
}

/* Adds the bytes of dense arrays for a callback. */
static void measure_call(void *ud, const tp_pnode *x, const int64_t *lo, const int64_t *hi) {
  exporter *w = ud;
  int64_t all = 0;
  if (x->kind != TP_P_REGION || x->rg->kind != TP_RG_CALL || w->e.p->calls.v[x->rg->call].fn)
    return;
  for (int i = 0; i < x->rg->nin + x->rg->nout; i++) {
    const tp_nd *nd = tp_window_at(x->rg, i);
    int64_t n = tp_dtype_size(emit_operand_type(w, x->rg, i));
    for (int k = 0; k < x->rg->nlead; k++) n = tp_times_bytes(n, most_of(x->rg->lead[k], lo, hi));
    for (int k = 0; k < nd->rank; k++) n = tp_times_bytes(n, most_of(nd->shape[k], lo, hi));
    all = tp_sum_bytes(all, tp_sum_bytes(n, 63) / 64 * 64);
  }
  w->room = TP_MAX(w->room, all);
}

static bool measure(exporter *w, tp_error *err) {
  const tp_plan *p = w->e.p;
  int64_t *bytes = TP_NEWN(w->e.a, int64_t, p->bufs.n + 1);
  w->place = TP_NEWN(w->e.a, int64_t, p->bufs.n + 1);
  w->rank = w->operands = 1;
  measure_windows(w, p->body);
  w->arena = tp_plan_color(p, w->x->env, NULL, bytes, w->place);
  if (!tp_plan_reach(p, w->x->env, measure_call, w)) tp_oom();
  return (w->arena >= 0 && w->arena <= PTRDIFF_MAX / 2 && w->room <= PTRDIFF_MAX / 2) ||
      tp_fail(err, TP_E_MEMORY, w->x->pos, "memory: export: sizes overflow for these bounds");
}

/* ---- weights ---- */

static void put_weights(const exporter *w, tp_buf *b) {
  const tp_export *x = w->x;
  uint64_t magic = 0x31746867692e7074ULL, bytes = (uint64_t)x->weights;
  tp_putn(b, (const char *)&magic, 8);
  tp_putn(b, (const char *)&bytes, 8);
  for (int k = 0; k < x->nparam; k++) {
    uint64_t have = x->param[k].value != NULL;
    tp_putn(b, (const char *)&have, 8);
  }
  for (int k = 0; k < x->nparam; k++) {
    int64_t end = k + 1 < x->nparam ? x->param[k + 1].at : x->weights, n = end - x->param[k].at,
            used = x->param[k].value ? x->param[k].bytes : 0;
    if (used) tp_putn(b, x->param[k].value->data, (size_t)used);
    for (; used < n; used++) tp_putn(b, "", 1);
  }
}

static const char *const cells[] = {
#define D(N, t, c, b, f) "tpx_" t,
#include "base/dtypes.def"
#undef D
};
static const tp_emit_target alone = { false, false, cells, emit_library_call };

bool tp_emit_export(tp_export_text *to, const tp_plan *p, const tp_export *x, tp_error *err) {
  tp_arena a;
  tp_scratch_init(&a);
  exporter w = {
    .e = { .p = p, .to = &alone, .bounds = x->env, .ix = p->ix, .a = &a, .done = &to->c }, .x = x
  };
  w.e.as = TP_NEWN(&a, const tp_region *, p->npos + 1);
  bool ok = emit_all_go(&w.e, p->body, err) && measure(&w, err);
  if (ok) {
    emit_files(&w, to);
    put_weights(&w, &to->weights);
  }
  tp_arena_free(&a);
  return ok;
}
