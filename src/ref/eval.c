/* eval.c: computes a cell, by a stack of cells that wait for others. */
#include "ref/machine.h"

/* takes the only operand's data */
static bool alias(ref *r, tp_cell *c) {
  c->data[0] = r->ops.v[0].cell->data[r->ops.v[0].out];
  return true;
}

static bool compute_read(ref *r, tp_cell *c) {
  const tp_node *n = c->node;
  bool range = false;
  for (int k = 0; k < n->in[0].src.node->ndom; k++) range |= n->attr.at[k].range;
  if (!range) return alias(r, c);
  ref_data out;
  if (!ref_new(r, c, 0, &out)) return false;
  if (!r->ops.n || !out.n) return true;
  size_t bytes = (size_t)(out.n / r->ops.n) * (size_t)tp_dtype_size(out.dtype);
  for (int i = 0; i < r->ops.n; i++)
    memcpy((char *)out.data + (size_t)i * bytes, r->ops.v[i].cell->data[r->ops.v[i].out], bytes);
  return true;
}

static bool compute_accum(ref *r, tp_cell *c) {
  ref_data out;
  if (!ref_new(r, c, 0, &out)) return false;
  for (int64_t e = 0; e < out.n; e++) {
    ref_acc a = ref_acc_start(c->node->attr.red, out.dtype);
    for (int i = 0; i < r->ops.n; i++)
      ref_acc_add(&a, out.dtype, r->ops.v[i].cell->data[r->ops.v[i].out], r->ops.v[i].row + e);
    if (!ref_acc_end(&a, out.dtype, out.data, e))
      return ref_fail(r, c, TP_E_INPUT, "max or min of no integers");
  }
  return c->node->attr.check != TP_CHECK_NAN || ref_look_sum(r, c, &out);
}

static bool compute_init(ref *r, tp_cell *c) {
  tp_array *loaded = r->run->params ? r->run->params[c->node->attr.number] : NULL;
  return loaded ? ref_from_array(r, c, loaded) : alias(r, c);
}

static bool compute_time(ref *r, tp_cell *c) {
  switch (c->node->op) {
  case TP_OP_READ: return compute_read(r, c);
  case TP_OP_MERGE: return alias(r, c);
  case TP_OP_ACCUM: return compute_accum(r, c);
  case TP_OP_PINIT: return compute_init(r, c);
  default: return ref_fail(r, c, TP_E_OPTION, "%s reached the evaluator", tp_ops[c->node->op].text);
  }
}

static bool compute_kernel(ref *r, tp_cell *c, ref_kernel *kernel) {
  ref_data out[8];
  TP_ASSERT(c->node->nout <= (int)TP_LEN(out));
  r->in.n = 0;
  for (int k = 0; k < r->ops.n; k++) {
    ref_data v;
    if (!ref_view(r, r->ops.v[k].cell, r->ops.v[k].out, &v)) return false;
    TP_PUSH(&r->arena, &r->in, v);
  }
  for (int o = 0; o < c->node->nout; o++)
    if (!ref_new(r, c, o, &out[o])) return false;
  ref_point(r, c->node, ref_at(c));
  return kernel(r, c, out, r->in.v) &&
      (c->node->attr.check != TP_CHECK_NAN || ref_look(r, c, out, r->in.v));
}

static bool compute(ref *r, tp_cell *c) {
  switch (tp_ops[c->node->op].cls) {
  case TP_CLS_SRC: return ref_source(r, c);
  case TP_CLS_TIME: return compute_time(r, c);
  case TP_CLS_UN:
  case TP_CLS_UNF:
  case TP_CLS_LOG:
  case TP_CLS_CAST:
  case TP_CLS_BIN:
  case TP_CLS_CMP:
  case TP_CLS_SEL:
    return c->node->op == TP_OP_DETACH ? alias(r, c) : compute_kernel(r, c, ref_elementwise);
  case TP_CLS_RED:
  case TP_CLS_ARG:
  case TP_CLS_SCAN:
  case TP_CLS_MM: return compute_kernel(r, c, ref_fold);
  case TP_CLS_CONV: return compute_kernel(r, c, ref_conv);
  case TP_CLS_MOVE:
    return c->node->op == TP_OP_RESHAPE ? alias(r, c) : compute_kernel(r, c, ref_move);
  case TP_CLS_GATH:
  case TP_CLS_SORT: return compute_kernel(r, c, ref_pick);
  case TP_CLS_FMT: return compute_kernel(r, c, ref_blocks);
  case TP_CLS_ENV: return compute_kernel(r, c, ref_env);
  case TP_CLS_FX:
  case TP_CLS_GRAD: break;
  }
  return ref_fail(r, c, TP_E_OPTION, "%s reached the evaluator", tp_ops[c->node->op].text);
}

bool ref_has_ticks(const tp_ticks *t, const tp_node *n) {
  bool all = true;
  for (int k = 0; k < t->n; k++)
    all &= tp_has_dim(n, t->dim[k]) && !tp_dom_has(n->attr.nover, n->attr.over, t->dim[k]);
  return all;
}

int ref_tick_sign(ref *r, const tp_node *n, const int64_t *at) {
  ref_point(r, n, at);
  for (int k = 0; k < r->ticks->n; k++) {
    int64_t x = r->env[r->ticks->dim[k]->id];
    if (x != r->now[k]) return x < r->now[k] ? -1 : 1;
  }
  return 0;
}

/* Does the cell belong to a later tick? A call makes all earlier ones, so the next call's point
 * decides. A parameter is kept between ticks, at the next tick's point. */
static bool is_early(ref *r, tp_cell *c) {
  const tp_node *n = c->node;
  int64_t at[TP_MAXDIM];
  if (n->op != TP_OP_INPUT && n->op != TP_OP_CALL) return false;
  if (n->op == TP_OP_CALL) ref_call_next(r, n, at);
  else TP_COPYN(at, ref_at(c), n->ndom);
  if (n->attr.fn == TP_FN_KEEP) {
    ref_point(r, n, at);
    tp_sym *d = r->ticks->dim[0];
    return tp_has_dim(n, d) && r->env[d->id] > r->now[0] + 1;
  }
  return ref_has_ticks(r->ticks, n) && ref_tick_sign(r, n, at) > 0;
}

/* Makes the first demanded cell first, so that of several points that fail the lexicographically
 * first is met. Not between ticks, where later ticks should be met soon: otherwise a recurrence
 * would be followed from its last point to its beginning. */
static void turn_round(ref *r, int from) {
  for (int i = from, j = r->stack.n - 1; i < j; i++, j--) {
    tp_cell *c = r->stack.v[i];
    r->stack.v[i] = r->stack.v[j];
    r->stack.v[j] = c;
  }
}

/* Steps on the cell: it is done, or r->waiting. */
static bool take_step(ref *r, tp_cell *c) {
  int from = r->stack.n;
  r->ops.n = 0;
  r->waiting = false;
  c->state = CELL_WORK;
  if (c->node->id >= r->g->nodes.n) return ref_stop_step(r, c);
  if (r->now && is_early(r, c)) return !(r->early = true);
  if (c->node->op == TP_OP_CALL) return ref_call_step(r, c);
  if (!ref_demand_operands(r, c)) return false;
  if (r->waiting && !r->now) turn_round(r, from);
  if (r->waiting) return true;
  if (!r->dry && !compute(r, c)) return false;
  c->state = CELL_DONE;
  return true;
}

void ref_give_up(ref *r) {
  for (int i = 0; i < r->stack.n; i++)
    if (r->stack.v[i]->state == CELL_WORK) r->stack.v[i]->state = CELL_NEW;
  r->stack.n = 0;
}

static ref_answer run_stack(ref *r) {
  r->early = false;
  while (r->stack.n) {
    tp_cell *c = r->stack.v[r->stack.n - 1];
    if (c->state == CELL_DONE) {
      r->stack.n--;
      continue;
    }
    if (r->frozen) r->early = c->node->attr.fn != TP_FN_KEEP;
    else if (tp_run_ends(r->run)) return r->cancelled = true, REF_FAILED;
    if (!r->early && take_step(r, c)) continue;
    if (!r->early) return REF_FAILED;
    ref_give_up(r);
    return REF_WAIT;
  }
  return REF_YES;
}

ref_answer ref_eval(ref *r, const tp_node *n, const int64_t *at, tp_cell **out) {
  *out = ref_cell(r, n, at);
  TP_PUSH(&r->arena, &r->stack, *out);
  return run_stack(r);
}

/* ---- questions from outside any step: run the stack until the answer is there ---- */

#define WAIT_FOR(r, answer) \
  for (;;) { \
    ref_answer x_ = (answer); \
    if (x_ != REF_WAIT || (x_ = run_stack(r)) != REF_YES) return x_; \
  }

ref_answer ref_is_alive(ref *r, int n, tp_dims dims, const int64_t *at,
    int *which){ WAIT_FOR(r, ref_alive(r, NULL, n, dims, at, which)) }

ref_answer ref_find(ref *r, int n, tp_dims dims, const int64_t *lo, const int64_t *hi,
    int64_t *at){ WAIT_FOR(r, ref_seek(r, NULL, n, dims, lo, hi, at)) }

ref_answer ref_call_seek(ref *r, const tp_node *n) {
  WAIT_FOR(r, ref_call_ask(r, n))
}
