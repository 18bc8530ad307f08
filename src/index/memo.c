/* memo: keeps answers of isl. Most questions come again (layers are alike, each graph is judged
 * more than once), so an answer is kept under the addresses of its operands, which are held with
 * it. Plainly equal objects become one. */
#include "index/memo.h"

/* an operation of isl finds the memo through its context's options */
struct options {
  struct isl_options *isl;
  tp_memo *memo;
};
ISL_ARGS_START(struct options, options_args)
ISL_ARG_CHILD(struct options, isl, NULL, &isl_options_args, NULL)
ISL_ARGS_END
ISL_ARG_DEF(options, struct options, options_args)

static void *copy(bool set, void *p) {
  return set ? (void *)isl_set_copy(p) : (void *)isl_map_copy(p);
}
static void drop_answer(bool set, TP_TAKE void *p) {
  if (set) isl_set_free(p);
  else isl_map_free(p);
}

static void *hold(tp_memo *m, bool set, TP_TAKE void *p) {
  TP_PUSH(&m->arena, &m->held, (tp_held){ set, p });
  return p;
}

static void memo_empty(tp_memo *m) {
  for (int i = 0; i < m->held.n; i++) drop_answer(m->held.v[i].set, m->held.v[i].p);
  m->held.v = NULL;
  m->held.n = m->held.cap = 0;
  tp_arena_free(&m->arena);
  tp_arena_init(&m->arena);
  tp_hmap_init(&m->answers, &m->arena);
  tp_hmap_init(&m->objects, &m->arena);
}

isl_ctx *tp_memo_ctx(tp_ictx *c) {
  struct options *o = options_new_with_defaults();
  isl_ctx *ctx = o ? isl_ctx_alloc_with_options(&options_args, o) : NULL;
  tp_memo *m = ctx ? tp_calloc(sizeof *m) : NULL;
  if (!m) {
    isl_ctx_free(ctx);
    return NULL;
  }
  m->c = c;
  o->memo = c->asked = m;
  isl_ctx_set_max_operations(ctx, TP_ISL_MOST);
  memo_empty(m);
  return ctx;
}

void tp_isl_forget(tp_ictx *c) {
  if (c->asked) memo_empty(c->asked);
}

void tp_memo_close(tp_ictx *c) {
  if (!c->asked) return;
  memo_empty(c->asked);
  tp_free(c->asked);
  c->asked = NULL;
}

static tp_memo *ready(tp_memo *m) {
  int n = m->nbound;
  tp_ictx_ended(m->c);
  for (; m->nsym < m->c->sym.n; m->nsym++) n += m->c->sym.v[m->nsym]->kind == TP_SYM_BOUND;
  if (m->held.n > TP_TUNE_MEMO_OBJECTS || n != m->nbound) memo_empty(m);
  m->nbound = n;
  return m;
}

tp_memo *tp_memo_of(isl_ctx *ctx) {
  return ready(((struct options *)isl_ctx_peek_options(ctx, &options_args))->memo);
}

static void *unique(tp_memo *m, bool set, TP_TAKE void *r) {
  uint32_t key[2] = { set, set ? isl_set_get_hash(r) : isl_map_get_hash(r) };
  void *was = tp_hmap_get(&m->objects, key, sizeof key);
  if (was && (set ? isl_set_plain_is_equal(was, r) : isl_map_plain_is_equal(was, r)) == 1) {
    drop_answer(set, r);
    return was;
  }
  if (!was) tp_hmap_set(&m->objects, key, sizeof key, r);
  return hold(m, set, r);
}

/* Are the operands and the result of an operation sets? Else they are relations. */
static const struct {
  bool a, b, r;
} is_set[] = {
  [TP_ASK_AND] = { 1, 1, 1 },
  [TP_ASK_OR] = { 1, 1, 1 },
  [TP_ASK_MINUS] = { 1, 1, 1 },
  [TP_ASK_APPLY] = { 1, 0, 1 },
  [TP_ASK_RESTRICT] = { 0, 1, 0 },
  [TP_ASK_INTO] = { 0, 1, 0 },
  [TP_ASK_COMPOSE] = { 0, 0, 0 },
  [TP_ASK_JOIN] = { 0, 0, 0 },
};

/* A question without a budget of its own may use all of TP_ISL_MOST. */
static void begin(isl_ctx *ctx) {
  if (isl_ctx_get_max_operations(ctx) == TP_ISL_MOST) isl_ctx_reset_operations(ctx);
}

static void *operate(tp_ask what, TP_TAKE void *a, TP_TAKE void *b) {
  switch (what) {
  case TP_ASK_AND: return isl_set_intersect(a, b);
  case TP_ASK_OR: return tp_isl_coalesce(isl_set_union(a, b));
  case TP_ASK_MINUS: return isl_set_subtract(a, b);
  case TP_ASK_APPLY: return isl_set_apply(a, b);
  case TP_ASK_RESTRICT: return isl_map_intersect_domain(a, b);
  case TP_ASK_INTO: return isl_map_intersect_range(a, b);
  case TP_ASK_COMPOSE: return isl_map_apply_range(a, b);
  case TP_ASK_JOIN: return tp_isl_coalesce_map(isl_map_union(a, b));
  default: return NULL;
  }
}

void *tp_memo_op(tp_ask what, void *a, void *b) {
  if (!a || !b) return operate(what, a, b);
  bool set_a = is_set[what].a, set_b = is_set[what].b, set = is_set[what].r;
  isl_ctx *ctx = set_a ? isl_set_get_ctx(a) : isl_map_get_ctx(a);
  tp_memo *m = tp_memo_of(ctx);
  const void *key[] = { (void *)(intptr_t)what, a, b };
  void *r = tp_hmap_get(&m->answers, key, sizeof key);
  if (r) {
    drop_answer(set_a, a);
    drop_answer(set_b, b);
    return copy(set, r);
  }
  begin(ctx);
  r = operate(what, copy(set_a, a), copy(set_b, b));
  hold(m, set_a, a);
  hold(m, set_b, b);
  if (!r) return NULL;
  r = unique(m, set, r);
  tp_hmap_set(&m->answers, key, sizeof key, r);
  return copy(set, r);
}

bool tp_memo_subset(tp_ictx *c, tp_set *a, tp_set *b) {
  static const char yes, no;
  tp_memo *m = tp_memo_of(tp_isl_ctx(c));
  const void *key[] = { (void *)(intptr_t)TP_ASK_SUBSET, a, b };
  const char *was = tp_hmap_get(&m->answers, key, sizeof key);
  if (was) return was == &yes;
  begin(tp_isl_ctx(c));
  isl_set *in = tp_isl_with_bounds(c, a, 0);
  isl_bool r = b ? isl_set_is_subset(in, b) : isl_set_is_empty(in);
  isl_set_free(in);
  if (r == isl_bool_error) return false;
  hold(m, true, isl_set_copy(a));
  if (b) hold(m, true, isl_set_copy(b));
  tp_hmap_set(&m->answers, key, sizeof key, (void *)(r ? &yes : &no));
  return r;
}

void *tp_memo_made(tp_ictx *c, bool set, const void *key, size_t n) {
  void *r = tp_hmap_get(&tp_memo_of(tp_isl_ctx(c))->answers, key, n);
  return r ? copy(set, r) : NULL;
}

void *tp_memo_make(tp_ictx *c, bool set, const void *key, size_t n, void *made) {
  tp_memo *m = tp_memo_of(tp_isl_ctx(c));
  if (!made) return NULL;
  made = unique(m, set, made);
  tp_hmap_set(&m->answers, key, n, made);
  return copy(set, made);
}
