/* methods: creation. Every body ends with the options dtype, domain, name; of a draw, key. */
#include "graph/methods/rows.h"

typedef struct making { /* the options of all of them */
  int rank;
  tp_ixs shape;
  int ndom;
  tp_dims dom;
  tp_dtype dtype;
  const tp_arg *name, *key;
} making;

static bool creation_start(tp_mk k, const tp_arg *a, int options, making *o) {
  const tp_arg *d = &a[options];
  *o = (making){ a[0].n, a[0].ixs, d[1].kind ? d[1].n : 0, d[1].dom,
    d[0].kind ? d[0].dtype : TP_I64, &d[2], &d[3] };
  for (int i = 0; i < o->rank; i++) {
    int64_t v;
    if (tp_ix_is_const(o->shape[i], &v) && v < 0)
      return tp_wrong(k, TP_E_SHAPE, "extent %lld of axis %d is negative", (long long)v, i);
  }
  return true;
}

#define START(options) \
  making o; \
  if (!creation_start(k, a, options, &o)) return false

static tp_val with_name(tp_mk k, tp_val v, const tp_arg *name) {
  if (v.node && name->kind) v.node->name = tp_strdup(&k.g->arena, name->s);
  return v;
}

static tp_val filled(tp_mk k, const making *o, double v) {
  return with_name(k, mk_fill(k, v, o->dtype, o->rank, o->shape, o->ndom, o->dom), o->name);
}

METHOD(zeros) {
  START(1);
  GIVE(filled(k, &o, IS("ones")));
}

/* v at every point of the domain given. */
static tp_val over(tp_mk k, tp_val v, const making *o) {
  for (int i = 0; v.node && i < o->ndom; i++)
    if (!tp_has_dim(v.node, o->dom[i]))
      return mk_select(k, mk_fill(k, 1, TP_BOOL, 0, NULL, o->ndom, o->dom), v, v);
  return v;
}

METHOD(full) {
  START(2);
  const tp_arg *v = &a[1];
  double num;
  const char *no = v->weak ? tp_weak_refused(v, o.dtype, &num) : NULL;
  if (no)
    return tp_wrong(
        k, TP_E_DTYPE, "%.14g is %s, and the dtype is %s", num, no, tp_dtype_name(o.dtype));
  if (v->isnum) GIVE(filled(k, &o, v->num));
  if (tp_rankof(v->val) > 0)
    return tp_wrong(k, TP_E_SHAPE, "the value is a number or a scalar tensor, not one with %d axes",
        tp_rankof(v->val));
  GIVE(with_name(k,
      over(k,
          mk_expand(k, v->weak ? tp_weak_as(k, v, o.dtype) : mk_cast(k, v->val, o.dtype), o.rank,
              o.shape),
          &o),
      o.name));
}

METHOD(iota) {
  START(2);
  tp_val i = mk_iota(k, (int)a[1].i, o.rank, o.shape, o.ndom, o.dom);
  GIVE(with_name(k, mk_cast(k, i, o.dtype), o.name));
}

/* ---- random ---- */

static bool random_name(tp_mk k, const tp_arg *name, tp_attr *at) {
  if (!name->kind) {
    uint64_t n = (uint64_t)k.g->nrand++;
    uint8_t bytes[8];
    /* little endian on every machine */
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(n >> (8 * i));
    at->hash = tp_hash(bytes, sizeof bytes, 0);
    return true;
  }
  at->hash = tp_hash(name->s, strlen(name->s), 0);
  TP_NODES (n, k.g->nodes) {
    if (n->op == TP_OP_RAND && n->attr.hash == at->hash)
      return tp_wrong(k, TP_E_OPTION,
          "there is a random tensor '%s' already (%s); names tell the streams of numbers apart",
          name->s, tp_line_of(k.g, n->pos));
  }
  return true;
}

/* The key of the draw: a number and an index expression become i64. */
static bool key_of(tp_mk k, const tp_arg *a, tp_val *key) {
  double num;
  const char *no = a->weak ? tp_weak_refused(a, TP_I64, &num) : NULL;
  if (no) return tp_wrong(k, TP_E_DTYPE, "the key %.14g is %s", num, no);
  *key = a->weak ? tp_weak_as(k, a, TP_I64) : a->val;
  return key->node;
}

static tp_val drawn(tp_mk k, const making *o, tp_attr at) {
  tp_val key;
  int nin = o->key->kind == 'T';
  if (nin && !key_of(k, o->key, &key)) return tp_none;
  at.nix = o->rank;
  at.ix = o->shape;
  at.ndom = o->ndom;
  at.dom = o->dom;
  if (!random_name(k, o->name, &at)) return tp_none;
  return with_name(k, mk_op(k, TP_OP_RAND, nin, &key, &at), o->name);
}

METHOD(random) {
  START(1);
  tp_randkind rand = IS("normal") ? TP_RAND_NORMAL : TP_RAND_UNIFORM;
  GIVE(drawn(k, &o, (tp_attr){ .rand = rand, .dtype = o.dtype }));
}

METHOD(bernoulli) {
  START(2);
  const tp_arg *p = &a[1];
  if (!p->kind || p->isnum)
    GIVE(drawn(k, &o,
        (tp_attr){ .rand = TP_RAND_BERNOULLI, .dtype = o.dtype, .f = { p->kind ? p->num : 0.5 } }));
  tp_val u = drawn(k, &o, (tp_attr){ .rand = TP_RAND_UNIFORM, .dtype = TP_F32 });
  GIVE(mk_cast(k, mk_bin(k, TP_OP_LT, u, mk_cast(k, p->val, TP_F32)), o.dtype));
}

METHOD(randint) {
  START(3);
  GIVE(drawn(k, &o,
      (tp_attr){ .rand = TP_RAND_RANDINT,
          .dtype = o.dtype,
          .limits = { a[1].i, a[2].kind ? a[2].i : INT64_MAX } }));
}
