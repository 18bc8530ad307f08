/* once.c: leaves of equal text become calls of one function, with windows and the numbers in which
 * they differ as arguments. Compiling takes time for each text, and programs repeat texts: in a
 * loop's first iteration, each parameter's update, each layer's draws. */
#include "emit/priv.h"

/* leaves that take no longer than a call share a function only if there are so many */
enum { MANY_BRIEF = 16 };

typedef struct {
  /* n: leaves that have the text; id: its function's number, from 1 on */
  int n, id;
  int narg;
  const tp_emit_arg *arg; /* of the first of them */
  /* by argument: do leaves differ in it? Known when all are counted */
  bool *varies;
} text;

static void put_leaf_body(tp_emit *e, const tp_pnode *x) {
  if (!tp_emit_is_pointwise(e, x->rg)) tp_emit_loop_body(e, x);
  else if (tp_op_is_env(x->rg->op)) emit_environment(e, x);
  else if (x->rg->op == TP_OP_RAND) emit_draw(e, x);
  else if (emit_has_operator(e, x->rg)) emit_operator(e, x);
  else if (x->rg->op == TP_OP_ARGMAX || x->rg->op == TP_OP_ARGMIN) emit_best(e, x);
  else emit_pick(e, x);
}

void tp_emit_pointwise(tp_emit *e, const tp_pnode *x) {
  emit_open(e, "{ /* %d */\n", x->pos);
  tp_emit_point_windows(e, x->rg);
  put_leaf_body(e, x);
  emit_shut(e, 1);
}

static void put_windows_as(tp_emit *e, const tp_pnode *x, tp_emit_as as) {
  e->as_window = as;
  if (tp_emit_is_pointwise(e, x->rg)) tp_emit_point_windows(e, x->rg);
  else tp_emit_loop_windows(e, x);
  e->as_window = TP_AS_LOCAL;
}

/* Prints into `to` the windows as parameters, then the leaf; returns where the leaf begins. sym:
 * symbols that it uses. */
static size_t put_own_text(tp_emit *e, const tp_pnode *x, tp_buf *to, bool *sym) {
  tp_emit was = *e;
  e->b = to;
  e->sym = sym;
  e->depth = 1;
  e->once = true;
  e->arg.n = 0;
  put_windows_as(e, x, TP_AS_PARAMETER);
  size_t n = to->n;
  put_leaf_body(e, x);
  e->b = was.b;
  e->sym = was.sym;
  e->depth = was.depth;
  e->once = false;
  return n;
}

static void put_function(
    tp_emit *e, const text *t, const tp_buf *of, size_t windows, const bool *sym) {
  tp_putf(e->done, "\nTP_ONCE int l%d(const tp_host *h, int pos", t->id);
  tp_putn(e->done, of->s, windows);
  for (int i = 0; i < tp_nsym(e->ix); i++)
    if (sym[i] && !emit_is_settled(e, i)) tp_putf(e->done, ", int64_t s%d", i);
  for (int i = 0; i < t->narg; i++)
    if (t->varies[i]) tp_putf(e->done, ", %s k%d", t->arg[i].type, i);
  tp_puts(e->done, ") {\n  int64_t *const env = h->env;\n  (void)env, (void)pos;\n");
  for (int i = 0; i < t->narg; i++)
    if (!t->varies[i])
      tp_putf(e->done, "  const %s k%d = %s;\n", t->arg[i].type, i, t->arg[i].text);
  for (int i = 0; i < tp_nsym(e->ix); i++)
    if (sym[i] && emit_is_settled(e, i))
      tp_putf(e->done, "  const int64_t s%d = %lld;\n", i, (long long)e->bounds[i]);
  tp_putn(e->done, of->s + windows, of->n - windows);
  tp_puts(e->done, "  return 0;\n}\n");
}

static void put_shared(tp_emit *e, const tp_pnode *x, const text *t, const bool *sym) {
  tp_emit_line(e, "TP_END_IF(l%d(h, %d", t->id, x->pos);
  put_windows_as(e, x, TP_AS_ARGUMENT);
  for (int i = 0; i < tp_nsym(e->ix); i++) {
    if (!sym[i] || emit_is_settled(e, i)) continue;
    e->sym[i] = true;
    tp_putf(e->b, ", s%d", i);
  }
  for (int i = 0; i < t->narg; i++)
    if (t->varies[i]) tp_putf(e->b, ", %s", e->arg.v[i].text);
  tp_puts(e->b, "));\n");
}

static text *text_at(tp_emit *e, const tp_buf *key) {
  text *t = tp_hmap_get(e->texts, key->s, key->n);
  if (t) return t;
  t = TP_NEW(e->a, text);
  *t = (text){ .narg = e->arg.n,
    .arg = tp_dup(e->a, e->arg.v, sizeof *e->arg.v * (size_t)e->arg.n),
    .varies = TP_NEWN(e->a, bool, e->arg.n + 1) };
  tp_hmap_set(e->texts, key->s, key->n, t);
  return t;
}

void emit_twice(tp_emit *e, tp_buf *b, void (*put)(tp_emit *e, tp_buf *b)) {
  tp_buf dropped;
  tp_hold hold;
  tp_hmap texts;
  tp_hmap_init(&texts, e->a);
  e->texts = &texts;
  e->counts = true;
  tp_buf_hold(&dropped, &hold);
  put(e, &dropped);
  tp_buf_drop(&dropped, &hold);
  e->counts = false;
  put(e, b);
}

bool tp_emit_once(tp_emit *e, const tp_pnode *x) {
  if (tp_emit_is_points(e, x) || tp_emit_is_ahead(e, x)) return false;
  tp_buf key;
  tp_hold hold;
  bool *sym = TP_NEWN(e->a, bool, tp_nsym(e->ix));
  tp_buf_hold(&key, &hold);
  size_t windows = put_own_text(e, x, &key, sym);
  if (key.failed) tp_oom();
  text *t = text_at(e, &key);
  bool shared = e->counts || t->n > (tp_emit_is_brief(e, x) ? MANY_BRIEF : 1);
  t->n += e->counts;
  for (int i = 0; i < t->narg && e->counts; i++)
    t->varies[i] |= strcmp(t->arg[i].text, e->arg.v[i].text) != 0;
  if (shared && !e->counts) {
    if (!t->id) {
      t->id = ++e->nonce;
      put_function(e, t, &key, windows, sym);
    }
    put_shared(e, x, t, sym);
  }
  tp_buf_drop(&key, &hold);
  return shared;
}
