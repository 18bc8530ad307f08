/* sourcing.c: makes values that have no operands but a draw's key, and runs environments. */
#include "ref/machine.h"
#include "base/env.h"

static bool input(ref *r, tp_cell *c) {
  tp_array *a = r->run->inputs ? r->run->inputs[r->number[c->node->id]] : NULL;
  if (!a)
    return tp_fail(r->err, TP_E_INPUT, c->node->pos, "input '%s' is needed and was not given",
        c->node->attr.str);
  return ref_from_array(r, c, a);
}

static bool fill(ref *r, tp_cell *c) {
  ref_data v;
  if (!ref_new(r, c, 0, &v)) return false;
  for (int64_t i = 0; i < v.n; i++) tp_put(v.dtype, v.data, i, c->node->attr.f[0]);
  return true;
}

static bool iota(ref *r, tp_cell *c) {
  ref_data v;
  if (!ref_new(r, c, 0, &v)) return false;
  TP_WALK (w, v.rank, v.shape) tp_puti(v.dtype, v.data, w.n, w.at[c->node->attr.axis]);
  return true;
}

static bool value(ref *r, tp_cell *c) {
  ref_data v;
  if (!ref_new(r, c, 0, &v)) return false;
  tp_puti(v.dtype, v.data, 0, tp_ix_evalq(c->node->attr.ix[0], r->env));
  return true;
}

static tp_philox_key key_at(ref *r, tp_cell *c) {
  tp_philox_key k = tp_philox_op(r->run->seed, c->node->attr.hash);
  if (c->node->op == TP_OP_RAND && c->node->nin)
    return tp_philox_coord(k, 1, *(int64_t *)r->ops.v[0].cell->data[r->ops.v[0].out]);
  for (int d = 0; d < c->node->ndom; d++) k = tp_philox_coord(k, d + 1, ref_at(c)[d]);
  return k;
}

static bool draw(ref *r, tp_cell *c) {
  const tp_attr *a = &c->node->attr;
  tp_philox_key k = key_at(r, c);
  ref_data v;
  if (!ref_new(r, c, 0, &v)) return false;
  if (a->rand == TP_RAND_RANDINT && a->limits[0] >= a->limits[1] && v.n)
    return ref_fail(r, c, TP_E_INPUT, "no integer in %lld .. %lld", (long long)a->limits[0],
        (long long)a->limits[1]);
  for (int64_t i = 0; i < v.n; i++) switch (a->rand) {
    case TP_RAND_UNIFORM:
      tp_put(v.dtype, v.data, i,
          v.dtype == TP_F64 ? tp_philox_uniform64(k, i)
                            : tp_uniform_cut(v.dtype, tp_philox_uniform(k, i)));
      break;
    case TP_RAND_NORMAL: tp_put(v.dtype, v.data, i, tp_philox_normal(k, i)); break;
    case TP_RAND_BERNOULLI: tp_puti(v.dtype, v.data, i, tp_philox_uniform(k, i) < a->f[0]); break;
    case TP_RAND_RANDINT:
      tp_puti(v.dtype, v.data, i, tp_philox_randint(k, i, a->limits[0], a->limits[1]));
      break;
    }
  return true;
}

bool ref_source(ref *r, tp_cell *c) {
  switch (c->node->op) {
  case TP_OP_CONST: c->data[0] = c->node->attr.data->data; return true;
  case TP_OP_FILL: return fill(r, c);
  case TP_OP_IOTA: return iota(r, c);
  case TP_OP_VALUE: return value(r, c);
  case TP_OP_RAND: return draw(r, c);
  case TP_OP_INPUT: return input(r, c);
  default: return !TP_NEVER(true);
  }
}

/* ---- environments: the last axis of an operand belongs to one, the others are a batch ---- */

static bool step_one(
    ref *r, tp_cell *c, const tp_env *e, ref_data *out, const ref_data *in, int64_t b) {
  int64_t width = tp_env_width(e), wide = e->nactions ? 1 : e->nact;
  const char *action = (const char *)in[1].data + b * wide * tp_dtype_size(in[1].dtype);
  if (e->nactions && (*(const int64_t *)action < 0 || *(const int64_t *)action >= e->nactions))
    return ref_fail(r, c, TP_E_INPUT, "action %lld of %s is outside 0 .. %d",
        (long long)*(const int64_t *)action, e->name, e->nactions - 1);
  tp_noise u = { .key = key_at(r, c) };
  if (c->node->nin > 2) u.given = (const double *)in[2].data + b * tp_env_nu(e);
  else if (!(u.room = tp_alloc(sizeof *u.room * (size_t)(tp_env_nu(e) + 1))))
    return tp_no_memory(r->err, c->node->pos);
  tp_env_step(e, (const double *)in[0].data + b * width, action, &u,
      &(tp_env_results){ (double *)out[0].data + b * width,
          (float *)out[1].data + b * tp_env_nobs(e), (float *)out[2].data + b,
          (uint8_t *)out[3].data + b, (uint8_t *)out[4].data + b });
  tp_free(u.room);
  return true;
}

bool ref_env(ref *r, tp_cell *c, ref_data *out, const ref_data *in) {
  const tp_env *e = tp_env_find(c->node->attr.str);
  if (!e) return ref_fail(r, c, TP_E_OPTION, "no environment '%s'", c->node->attr.str);
  int nobs = tp_env_nobs(e), width = tp_env_width(e);
  int64_t batch = out->n / (c->node->op == TP_OP_ENV_OBS ? nobs : width);
  bool ok = true;
  for (int64_t b = 0; b < batch && ok; b++) switch (c->node->op) {
    case TP_OP_ENV_RESET:
      tp_env_reset(e, c->node->nin ? (const double *)in[0].data + b * e->nreset : NULL,
          (double *)out->data + b * width);
      break;
    case TP_OP_ENV_OBS:
      e->observe(e->data, (const double *)in[0].data + b * width, (float *)out->data + b * nobs);
      break;
    default: ok = step_one(r, c, e, out, in, b);
    }
  return ok;
}
