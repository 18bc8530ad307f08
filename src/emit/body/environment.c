/* environment.c: prints environments whose source is known. Each point of the region's axes is a
 * lane, whose state, actions and observations stand in arrays of their own. */
#include "emit/priv.h"
#include "base/env.h"

/* Which operand of an env_step with all of them; those of others have their own numbers. */
static int env_operand_of(const tp_region *r, int i) {
  return r->op == TP_OP_ENV_STEP && r->nin == 2 && i >= 2 ? i + 1 : i;
}

static tp_dtype env_type(const tp_env *v, tp_op op, int i) {
  static const tp_dtype step[] = { TP_F64, TP_I64, TP_F64, TP_F64, TP_F32, TP_F32, TP_BOOL,
    TP_BOOL };
  if (op == TP_OP_ENV_RESET) return TP_F64;
  if (op == TP_OP_ENV_OBS) return i ? TP_F32 : TP_F64;
  return i == 1 && !v->nactions ? TP_F32 : step[i];
}

static int env_length(const tp_env *v, const tp_region *r, int i) {
  const int width = tp_env_width(v), nobs = tp_env_nobs(v);
  const int reset[] = { v->nreset, width }, obs[] = { width, nobs };
  const int step[] = { width, v->nactions ? 1 : v->nact, tp_env_nu(v), width, nobs, 1, 1, 1 };
  return r->op == TP_OP_ENV_RESET ? reset[i]
      : r->op == TP_OP_ENV_OBS    ? obs[i]
                                  : step[env_operand_of(r, i)];
}

/* ---- an operand of one environment: v<i>, a copy if it has few numbers ---- */

enum { FEW_NUMBERS = 16 };
typedef struct env_lane {
  int i, n;
  const tp_nd *nd;
  const char *type;
} env_lane;

static env_lane lane_of(const tp_env *v, const tp_region *r, int i) {
  return (env_lane){ i, env_length(v, r, i), tp_window_at(r, i),
    tp_emit_type(env_type(v, r->op, env_operand_of(r, i))) };
}

/* Do its numbers lie side by side where a function can have them? A state that is changed in place
 * is copied. */
static bool in_place(const tp_emit *e, const tp_region *r, const env_lane *l) {
  const tp_nd *nd = l->nd;
  if (e->to->threads || l->n <= FEW_NUMBERS || nd->buf < 0 || nd->wrap == r->nlead) return false;
  return tp_is_number(nd->stride[0], 1) && (l->i > 0 || nd->buf != r->out[0].buf);
}

static const char *cell_of_lane(tp_emit *e, const tp_region *r, const env_lane *l, const char *at) {
  return l->nd->rank ? emit_element_at(e, r, l->i, &at)
                     : emit_point_cell(e, r, l->i, tp_ix_const(e->ix, 0));
}

/* Copies between the operand and v<i>. */
static void put_copy(tp_emit *e, const tp_region *r, const env_lane *l, bool takes) {
  bool few = l->n <= FEW_NUMBERS;
  if (!few) tp_emit_line(e, "for (int64_t k = 0; k < %d; k++)\n", l->n);
  for (int k = 0; k < (few ? l->n : 1); k++) {
    const char *at = few ? tp_printf(e->a, "%d", k) : "k";
    const char *cell = cell_of_lane(e, r, l, at);
    if (takes) tp_emit_line(e, "v%d[%s] = %s;\n", l->i, at, cell);
    else tp_emit_line(e, "%s = v%d[%s];\n", cell, l->i, at);
  }
}

static void put_lane(tp_emit *e, const tp_region *r, const env_lane *l) {
  if (in_place(e, r, l)) {
    tp_emit_line(e, "%s *const v%d = &%s;\n", tp_emit_cell(e, tp_emit_dtype(e, l->nd)), l->i,
        emit_point_cell(e, r, l->i, tp_ix_const(e->ix, 0)));
    return;
  }
  tp_emit_line(e, "%s v%d[%d];\n", l->type, l->i, TP_MAX(l->n, 1));
  if (!l->n) tp_emit_line(e, "(void)w%d, v%d[0] = 0;\n", l->i, l->i);
  if (l->i < r->nin) put_copy(e, r, l, true);
}

static void put_result(tp_emit *e, const tp_region *r, const env_lane *l) {
  if (l->nd->buf >= 0 && !in_place(e, r, l)) put_copy(e, r, l, false);
}

/* ---- actions ---- */

static void put_is_wrong(tp_emit *e, const tp_pnode *x, int nactions) {
  tp_emit_line(e, "wrong |= (uint64_t)%s >= %d;\n",
      emit_point_cell(e, x->rg, 1, tp_ix_const(e->ix, 0)), nactions);
}

static void put_actions_checked(tp_emit *e, const tp_pnode *x, int nactions) {
  tp_emit_line(e, "int wrong = 0;\n");
  int opened = emit_open_leads(e, x->rg, NULL, 0, -1);
  put_is_wrong(e, x, nactions);
  emit_shut(e, opened);
  emit_wrong(e, x, "TPX_FAULT_ACTION", false);
}

/* ---- steps ---- */

/* As tp_env_step. Uniforms are those of operand 2 or, without one, drawn into u. */
static void put_env_step(tp_emit *e, const tp_region *r, const tp_env *v, const char *p) {
  bool drawn = r->nin == 2;
  int o = r->nin, n = v->nstate;
  if (drawn) tp_emit_line(e, "double u[%d];\n", TP_MAX(TP_MAX(v->nstep, v->nreset), 1));
  if (drawn && v->nstep) {
    emit_draw_key(e, r);
    tp_emit_line(e, "tp_uniforms_f64(u, key, 0, %d);\n", v->nstep);
  }
  tp_emit_line(e, "v%d[0] = 0, v%d[0] = 0, v%d[0] = 0;\n", o + 2, o + 3, o + 4);
  tp_emit_line(e, "%s_step(data, v0, v1, %s, v%d, v%d, v%d, v%d);\n", p, drawn ? "u" : "v2", o,
      o + 2, o + 3, o + 4);
  if (v->max_steps) {
    tp_emit_line(e, "v%d[%d] = v0[%d] + 1;\n", o, n, n);
    tp_emit_line(e, "v%d[0] |= v%d[%d] >= %d;\n", o + 4, o, n, v->max_steps);
  }
  if (r->out[1].buf >= 0) tp_emit_line(e, "%s_observe(data, v%d, v%d);\n", p, o, o + 1);
  emit_open(e, "if (v%d[0] | v%d[0]) {\n", o + 3, o + 4);
  if (drawn && v->nreset) {
    if (!v->nstep) emit_draw_key(e, r);
    tp_emit_line(e, "tp_uniforms_f64(u, key, %d, %d);\n", v->nstep, v->nreset);
  }
  if (drawn) tp_emit_line(e, "%s_reset(data, u, v%d);\n", p, o);
  else tp_emit_line(e, "%s_reset(data, v2 + %d, v%d);\n", p, v->nstep, o);
  if (v->max_steps) tp_emit_line(e, "v%d[%d] = 0;\n", o, n);
  emit_shut(e, 1);
}

static void put_numbers(tp_emit *e, const tp_envtext *t) {
  if (!t->nnumber) {
    tp_emit_line(e, "void *const data = 0;\n");
    return;
  }
  tp_emit_line(e, "int64_t data[] = { ");
  for (int k = 0; k < t->nnumber; k++)
    tp_putf(e->b, "%s%lld", k ? ", " : "", (long long)t->number[k]);
  tp_puts(e->b, " };\n");
}

void emit_environment(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  const tp_env *v = tp_env_find(r->how.str);
  const tp_envtext *t = tp_env_text(r->how.str);
  bool looks = r->op == TP_OP_ENV_STEP && v->nactions;
  if (looks && !e->to->threads) put_actions_checked(e, x, v->nactions);
  put_numbers(e, t);
  int opened = emit_open_leads(e, r, NULL, 0, -1);
  for (int i = 0; i < r->nlead && r->op == TP_OP_ENV_STEP && r->nin == 2; i++)
    emit_lead_name(e, r, i, tp_printf(e->a, "x%d", i));
  if (looks && e->to->threads) { /* each thread looks at its own */
    tp_emit_line(e, "int wrong = 0;\n");
    put_is_wrong(e, x, v->nactions);
    emit_wrong(e, x, NULL, false);
  }
  int n = r->nin + r->nout;
  env_lane *l = TP_NEWN(e->a, env_lane, n);
  for (int i = 0; i < n; i++) {
    l[i] = lane_of(v, r, i);
    if (r->op != TP_OP_ENV_STEP || i != r->nin + 1 || l[i].nd->buf >= 0) put_lane(e, r, &l[i]);
  }
  if (r->op == TP_OP_ENV_RESET) {
    tp_emit_line(e, "%s_reset(data, v0, v1);\n", t->prefix);
    if (v->max_steps) tp_emit_line(e, "v1[%d] = 0;\n", v->nstate);
  } else if (r->op == TP_OP_ENV_OBS) tp_emit_line(e, "%s_observe(data, v0, v1);\n", t->prefix);
  else put_env_step(e, r, v, t->prefix);
  for (int i = r->nin; i < n; i++) put_result(e, r, &l[i]);
  emit_shut(e, opened + looks);
}

/* An environment's function has all parameters, whichever it needs. */
static const char before[] = "\n#ifdef __GNUC__\n"
                             "#pragma GCC diagnostic push\n"
                             "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n"
                             "#endif\n";
static const char after[] = "#ifdef __GNUC__\n"
                            "#pragma GCC diagnostic pop\n"
                            "#endif\n";

void tp_emit_environments(tp_buf *b, const tp_plan *p, tp_arena *a) {
  int n = 0;
  const char **done = TP_NEWN(a, const char *, p->npos + 1);
  TP_EACH_NODE (k, p->body) {
    const tp_region *r = k.x->rg;
    const tp_envtext *t =
        r && r->kind == TP_RG_OP && tp_op_is_env(r->op) ? tp_env_text(r->how.str) : NULL;
    for (int i = 0; i < n && t; i++)
      if (done[i] == t->text) t = NULL;
    if (t && !n) tp_putf(b, "%s%s", before, tp_env_common);
    if (t) tp_putf(b, "\n%s", done[n++] = t->text);
  }
  if (n) tp_puts(b, after);
}
