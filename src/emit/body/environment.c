/* environment.c: prints environments whose source is known. Each point of the region's axes is a
 * lane, whose state, actions and observations stand in arrays of their own. */
#include "emit/priv.h"
#include "base/env.h"

static tp_dtype env_type(const tp_env *v, tp_op op, int i) {
  static const tp_dtype step[] = { TP_F64, TP_I64, TP_F64, TP_F64, TP_F32, TP_F32, TP_BOOL,
    TP_BOOL };
  if (op == TP_OP_ENV_RESET) return TP_F64;
  if (op == TP_OP_ENV_OBS) return i ? TP_F32 : TP_F64;
  return i == 1 && !v->nactions ? TP_F32 : step[i];
}

static int env_length(const tp_env *v, tp_op op, int i) {
  const int reset[] = { v->nu, v->nstate }, obs[] = { v->nstate, v->nobs };
  const int step[] = { v->nstate, v->nactions ? 1 : v->nact, v->nu, v->nstate, v->nobs, 1, 1, 1 };
  return op == TP_OP_ENV_RESET ? reset[i] : op == TP_OP_ENV_OBS ? obs[i] : step[i];
}

static void put_lane(tp_emit *e, const tp_region *r, int i, int n, const char *type) {
  const tp_nd *nd = tp_window_at(r, i);
  tp_emit_line(e, "%s v%d[%d];\n", type, i, TP_MAX(n, 1));
  for (int k = 0; k < n && i < r->nin; k++) {
    int64_t at = k;
    tp_emit_line(e, "v%d[%d] = ", i, k);
    emit_point_cell(e, r, i, emit_own_offset(e, nd, &at));
    tp_puts(e->b, ";\n");
  }
}

static void put_results_of(tp_emit *e, const tp_region *r, int i, int n) {
  const tp_nd *nd = tp_window_at(r, i);
  for (int k = 0; k < n && nd->buf >= 0; k++) {
    int64_t at = k;
    tp_emit_indent(e);
    emit_point_cell(e, r, i, emit_own_offset(e, nd, &at));
    tp_putf(e->b, " = v%d[%d];\n", i, k);
  }
}

static void put_is_wrong(tp_emit *e, const tp_pnode *x, int nactions) {
  tp_emit_line(e, "wrong |= (uint64_t)");
  emit_point_cell(e, x->rg, 1, tp_ix_const(e->ix, 0));
  tp_putf(e->b, " >= %d;\n", nactions);
}

static void put_actions_checked(tp_emit *e, const tp_pnode *x, int nactions) {
  tp_emit_line(e, "int wrong = 0;\n");
  int opened = emit_open_leads(e, x->rg, NULL, 0, -1);
  put_is_wrong(e, x, nactions);
  emit_shut(e, opened);
  emit_wrong(e, x, "TPX_FAULT_ACTION", false);
}

void emit_environment(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_env *v = tp_env_find(r->how.str);
  const char *p = tp_env_text(r->how.str)->prefix;
  bool looks = r->op == TP_OP_ENV_STEP && v->nactions;
  if (looks && !e->to->threads) put_actions_checked(e, x, v->nactions);
  int opened = emit_open_leads(e, r, NULL, 0, -1);
  if (looks && e->to->threads) { /* each thread looks at its own */
    tp_emit_line(e, "int wrong = 0;\n");
    put_is_wrong(e, x, v->nactions);
    emit_wrong(e, x, NULL, false);
  }
  for (int i = 0; i < r->nin + r->nout; i++)
    put_lane(e, r, i, env_length(v, r->op, i), tp_emit_type(env_type(v, r->op, i)));
  if (r->op == TP_OP_ENV_RESET) tp_emit_line(e, "%s_reset(0, v0, v1);\n", p);
  else if (r->op == TP_OP_ENV_OBS) tp_emit_line(e, "%s_observe(0, v0, v1);\n", p);
  else tp_emit_line(e, "%s_step(0, v0, v1, v2, v3, v4, v5, v6, v7);\n", p);
  for (int i = r->nin; i < r->nin + r->nout; i++) put_results_of(e, r, i, env_length(v, r->op, i));
  emit_shut(e, opened + looks);
}

void tp_emit_environments(tp_buf *b, const tp_plan *p, tp_arena *a) {
  int n = 0;
  const tp_envtext **done = TP_NEWN(a, const tp_envtext *, p->npos + 1);
  TP_EACH_NODE (k, p->body) {
    const tp_region *r = k.x->rg;
    const tp_envtext *t =
        r && r->kind == TP_RG_OP && tp_op_is_env(r->op) ? tp_env_text(r->how.str) : NULL;
    for (int i = 0; i < n && t; i++)
      if (done[i] == t) t = NULL;
    if (t) tp_putf(b, "\n%s", (done[n++] = t)->text);
  }
}
