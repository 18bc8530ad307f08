/* Every row of rules.def, from the row alone: programs are made of its pattern (random operators of
 * a family, shapes, axes of 1 and of none, dims, dtypes, numbers, NaN, infinities, both zeros), run
 * by the reference evaluator as they are and again when the rule, alone, has rewritten them. The
 * same comes out: bit for bit, but for what the row's class allows. A row that none of its programs
 * uses fails.   rules_test [RULE [TRIALS]] */
#include "opt/rules/rules.h"
#include "script.h"

enum { FIRES = 200, TRIES = 20000, LEAST = 12 };

static uint64_t state;
static int below(int n) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (int)((state >> 20) % (uint64_t)n);
}
static bool chance(int percent) { return below(100) < percent; }

/* ---- programs ---- */

typedef struct form {
  int rank;
  tp_ix *shape[TP_MAXRANK];
} form;

static const tp_rule *rule;
static dim t;
static tp_val letter[TP_RULE_LETTERS];
static int named_inputs;

static tp_val gen(const tp_ruleterm *x, tp_dtype d, form f);

static tp_ix *size(void) {
  int k = below(12);
  return k < 1 ? K(0) : k < 4 ? K(1) : k < 6 ? X("T") : K(2 + below(2));
}

static form any_form(int least) {
  form f = { .rank = least + below(4 - least) };
  for (int i = 0; i < f.rank; i++) f.shape[i] = size();
  return f;
}

static tp_dtype any_dtype(void) {
  static const tp_dtype common[] = { TP_F32, TP_F32, TP_F64, TP_F64, TP_I64, TP_I32 };
  return chance(70) ? common[below((int)TP_LEN(common))] : (tp_dtype)below(TP_F64 + 1);
}

/* Makes a form that broadcasts to f: leading axes left out, others of 1. */
static form smaller(form f) {
  form s = f;
  int cut = f.rank ? below(f.rank + 1) : 0;
  s.rank -= cut;
  memmove(s.shape, s.shape + cut, sizeof *s.shape * (size_t)s.rank);
  for (int i = 0; i < s.rank; i++)
    if (chance(40)) s.shape[i] = K(1);
  return s;
}

static tp_val in_form(tp_val v, form f) {
  return v.node ? mk_expand(MK(&err), v, f.rank, f.shape) : v;
}

static tp_val a_number(double v, tp_dtype d, form f) {
  form s = smaller(f);
  tp_val one = chance(50) ? num(v, d) : mk_fill(MK(&err), v, d, s.rank, s.shape, 0, NULL);
  return chance(50) ? one : in_form(one, f);
}

static tp_val an_input(tp_dtype d, form f) {
  char *name = tp_printf(&g->arena, "x%d", named_inputs++);
  return node(TP_OP_INPUT, 0, NULL,
      (tp_attr){
          .str = name, .dtype = d, .nix = f.rank, .ix = f.shape, .ndom = chance(40), .dom = &t });
}

static double some_number(tp_dtype d) {
  static const double numbers[] = { 0, 1, 2, 4, 0.5, 0.25, 3, -1, -2, -0.0, 0.1, -0.3, 7, 100 },
                      odd[] = { INFINITY, NAN, -INFINITY, 1e30, 1e-30, 0x1p-140, 3e9, 255 };
  double v = rule->cls != TP_RULE_REASSOC && chance(20) ? odd[below((int)TP_LEN(odd))]
                                                        : numbers[below((int)TP_LEN(numbers))];
  return tp_dtype_float(d) ? v : isfinite(v) ? trunc(v) : 0;
}

static tp_dtype operand_dtype(tp_op op, int k, tp_dtype d) {
  switch (tp_ops[op].cls) {
  case TP_CLS_CAST: return any_dtype();
  case TP_CLS_LOG: return TP_BOOL;
  case TP_CLS_CMP: return any_dtype();
  case TP_CLS_SEL: return k ? d : TP_BOOL;
  case TP_CLS_GATH: return k == 1 ? TP_I64 : d;
  default: return d;
  }
}

static tp_op of_family(const tp_ruleterm *x, tp_dtype d) {
  for (;;) {
    tp_op op = (tp_op)below(TP_NOP);
    tp_cls c = tp_ops[op].cls;
    bool fits = c == TP_CLS_CAST || (c == TP_CLS_UNF && tp_dtype_float(d)) ||
        (c == TP_CLS_UN && d != TP_BOOL) || (c == TP_CLS_LOG && d == TP_BOOL);
    if (tp_rule_at(x, op) && fits) return op;
  }
}

/* Operands that broadcast, one of which has the whole shape; of one dtype where they are compared.
 */
static tp_val elementwise(const tp_ruleterm *x, tp_op op, tp_dtype d, form f) {
  tp_val in[3] = { { 0 } };
  int full = below(x->nkid);
  tp_dtype common = operand_dtype(op, 0, d);
  for (int k = 0; k < x->nkid; k++)
    in[k] = gen(x->kid[k], tp_ops[op].cls == TP_CLS_SEL ? operand_dtype(op, k, d) : common,
        k == full || chance(50) ? f : smaller(f));
  return node(op, x->nkid, in, (tp_attr){ .dtype = op == TP_OP_CAST ? d : 0 });
}

static form inserted(form f, int axis, tp_ix *e) {
  memmove(f.shape + axis + 1, f.shape + axis, sizeof *f.shape * (size_t)(f.rank - axis));
  f.shape[axis] = e;
  f.rank++;
  return f;
}

static tp_val permuted(const tp_ruleterm *x, tp_dtype d, form f) {
  int axes[TP_MAXRANK];
  form s = f;
  for (int i = 0; i < f.rank; i++) axes[i] = i;
  for (int i = f.rank - 1; i > 0; i--) {
    int j = below(i + 1), was = axes[i];
    axes[i] = axes[j], axes[j] = was;
  }
  if (f.rank > 1 && chance(40))
    for (int i = 0; i < f.rank; i++) axes[i] = i < f.rank - 2 ? i : 2 * f.rank - 3 - i;
  for (int i = 0; i < f.rank; i++) s.shape[axes[i]] = f.shape[i];
  return un(TP_OP_PERMUTE, gen(x->kid[0], d, s), (tp_attr){ .naxes = f.rank, .axes = axes });
}

static tp_val reshaped(const tp_ruleterm *x, tp_dtype d, form f) {
  form s = f;
  if (chance(50) && f.rank < 5) s = inserted(f, below(f.rank + 1), K(1));
  else if (chance(50)) {
    s = (form){ 1, { K(1) } };
    for (int i = 0; i < f.rank; i++) s.shape[0] = tp_ix_mul(s.shape[0], f.shape[i]);
  }
  return un(TP_OP_RESHAPE, gen(x->kid[0], d, s), (tp_attr){ .nix = f.rank, .ix = f.shape });
}

static tp_val picked(const tp_ruleterm *x, tp_dtype d, form f) {
  int axis = below(f.rank + 1);
  form whole = inserted(f, axis, size()), one = { 0 };
  if (f.rank && chance(30))
    axis = below(f.rank), whole = f, one = (form){ 1, { chance(80) ? f.shape[axis] : size() } };
  tp_val in[2] = { gen(x->kid[0], d, whole), gen(x->kid[1], TP_I64, one) };
  return node(TP_OP_INDEX_SELECT, 2, in, (tp_attr){ .axis = axis });
}

static tp_val scattered(const tp_ruleterm *x, tp_dtype d, form f) {
  if (!f.rank) return tp_none;
  int axis = below(f.rank);
  form some = f;
  some.shape[axis] = size();
  tp_val in[3] = { in_form(gen(x->kid[0], d, f), f), gen(x->kid[1], TP_I64, some),
    gen(x->kid[2], d, some) };
  return node(TP_OP_SCATTER_ADD, 3, in, (tp_attr){ .axis = axis });
}

static tp_val added_rows(const tp_ruleterm *x, tp_dtype d, form f) {
  if (!f.rank) return tp_none;
  int axis = below(f.rank);
  form some = f, one = { 1, { some.shape[axis] = size() } };
  tp_val in[3] = { in_form(gen(x->kid[0], d, f), f), gen(x->kid[1], TP_I64, one),
    in_form(gen(x->kid[2], d, some), some) };
  return node(TP_OP_INDEX_ADD, 3, in, (tp_attr){ .axis = axis });
}

static tp_val read_before(const tp_ruleterm *x, tp_dtype d, form f) {
  tp_val v = gen(x->kid[0], d, f);
  tp_at *at = TP_NEW(&g->arena, tp_at);
  at->lo = tp_ix_max(tp_ix_addc(tp_ix_sym(t), -1), K(0));
  return v.node && v.node->ndom ? un(TP_OP_READ, v, (tp_attr){ .nat = 1, .at = at }) : v;
}

static tp_val reduced(const tp_ruleterm *x, tp_op op, tp_dtype d, form f) {
  int axes[TP_MAXRANK], n = 0;
  bool keep = f.rank && chance(40);
  form s = f;
  if (keep) {
    for (int i = 0; i < f.rank; i++)
      if (tp_is_number(f.shape[i], 1) && chance(70)) axes[n++] = i, s.shape[i] = size();
  } else {
    s.rank = 0;
    for (int i = 0; i <= f.rank; i++) {
      if (s.rank < 5 && chance(50)) axes[n++] = s.rank, s.shape[s.rank++] = size();
      if (i < f.rank) s.shape[s.rank++] = f.shape[i];
    }
  }
  return n ? un(op, gen(x->kid[0], d, s), (tp_attr){ .naxes = n, .axes = axes, .keepdim = keep })
           : tp_none;
}

static tp_val multiplied(const tp_ruleterm *x, tp_dtype d, form f) {
  if (f.rank < 2) return tp_none;
  form a = f, b = f;
  tp_ix *inner = size();
  for (int i = 0; i < f.rank - 2; i++)
    if (chance(30)) *(chance(50) ? &a.shape[i] : &b.shape[i]) = K(1);
  a.shape[f.rank - 1] = b.shape[f.rank - 2] = inner;
  return node(
      TP_OP_MATMUL, 2, (tp_val[]){ gen(x->kid[0], d, a), gen(x->kid[1], d, b) }, (tp_attr){ 0 });
}

static tp_val an_operator(const tp_ruleterm *x, tp_dtype d, form f) {
  tp_op op = x->kind == TP_TERM_OP ? x->op : of_family(x, d);
  if (tp_ops[op].batch == TP_BATCH_E && tp_ops[op].nin > 0) return elementwise(x, op, d, f);
  switch (op) {
  case TP_OP_PERMUTE: return permuted(x, d, f);
  case TP_OP_RESHAPE: return reshaped(x, d, f);
  case TP_OP_EXPAND:
    return un(op, gen(x->kid[0], d, chance(80) ? smaller(f) : f),
        (tp_attr){ .nix = f.rank, .ix = f.shape });
  case TP_OP_INDEX_SELECT: return picked(x, d, f);
  case TP_OP_SCATTER_ADD: return scattered(x, d, f);
  case TP_OP_READ: return read_before(x, d, f);
  case TP_OP_INDEX_ADD: return added_rows(x, d, f);
  case TP_OP_MATMUL: return multiplied(x, d, f);
  default:
    CHECKF(tp_ops[op].cls == TP_CLS_RED, "%s: no program is made of '%s'", rule->name,
        tp_ops[op].text);
    return reduced(x, op, d, f);
  }
}

static tp_val made_of(const tp_ruleterm *x, tp_dtype d, form f) {
  switch (x->kind) {
  case TP_TERM_HOLE:
    if (x->floats && !tp_dtype_float(d))
      d = (tp_dtype[]){ TP_F16, TP_BF16, TP_F32, TP_F64 }[below(4)];
    return chance(85) ? an_input(d, f) : in_form(an_input(d, smaller(f)), f);
  case TP_TERM_NUMBER: return a_number(some_number(d), d, f);
  case TP_TERM_LITERAL: return a_number(x->value, d, f);
  default: return an_operator(x, d, f);
  }
}

static tp_val gen(const tp_ruleterm *x, tp_dtype d, form f) {
  if (x->letter >= 0 && letter[x->letter].node) return letter[x->letter];
  tp_val v = err.code ? tp_none : made_of(x, d, f);
  if (x->letter >= 0) letter[x->letter] = v;
  return v;
}

/* ---- data ---- */

static double some_value(tp_dtype d, bool moderate) {
  static const double odd[] = { NAN, 0, -0.0, 1, -1, INFINITY, -INFINITY, 0.5, 1e-40, 65504, 3e38,
    1e300, 2147483647, -2147483648.0, 9e18, 255 };
  /* infinities that meet in another order are NaN at another place */
  if (chance(moderate ? 10 : 40)) {
    double v = odd[below(moderate ? 5 : (int)TP_LEN(odd))];
    return d == TP_BOOL ? v > 0 : v;
  }
  return d == TP_BOOL     ? below(2)
      : tp_dtype_float(d) ? (below(4001) - 2000) / 1000.0
                          : below(9) - (d == TP_U8 ? 0 : 4);
}

static void fill_inputs(bool moderate) {
  run.inputs = calloc((size_t)g->inputs.n + 1, sizeof *run.inputs);
  for (int i = 0; i < g->inputs.n; i++) {
    const tp_node *n = g->inputs.v[i];
    int64_t shape[TP_MAXRANK];
    int rank = tp_run_shape(&run, n->ndom, n->dom, &n->out[0], shape);
    tp_array *a = tp_array_new(n->out[0].dtype, rank, shape);
    for (int64_t k = 0; k < a->count; k++)
      tp_put(a->dtype, a->data, k, some_value(a->dtype, moderate));
    ((tp_array **)run.inputs)[i] = a;
  }
}

static bool same_element(const tp_array *a, const tp_array *b, int64_t k, double largest) {
  if (!tp_dtype_float(a->dtype))
    return tp_geti(a->dtype, a->data, k) == tp_geti(b->dtype, b->data, k);
  static const double eps[] = {
    [TP_F16] = 0x1p-10, [TP_BF16] = 0x1p-7, [TP_F32] = 0x1p-23, [TP_F64] = 0x1p-52
  };
  double x = tp_get(a->dtype, a->data, k), y = tp_get(b->dtype, b->data, k);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (x == y) return rule->cls != TP_RULE_EXACT ? true : signbit(x) == signbit(y);
  return rule->cls == TP_RULE_REASSOC && fabs(x - y) <= 32 * eps[a->dtype] * TP_MAX(1, largest);
}

static bool same_array(const tp_array *a, const tp_array *b) {
  bool same = a->dtype == b->dtype && a->rank == b->rank &&
      !memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank);
  double largest = 0;
  for (int64_t k = 0; k < a->count && same; k++)
    largest = fmax(largest, fabs(tp_get(a->dtype, a->data, k)));
  for (int64_t k = 0; k < a->count && same; k++) same = same_element(a, b, k, largest);
  return same;
}

/* ---- trials ---- */

static bool fired(void) {
  char *word = tp_printf(&g->arena, ": %s: ", rule->name);
  for (int i = 0; i < g->told.n; i++)
    if (strstr(g->told.v[i].text, word)) return true;
  return false;
}

static void show(const char *what, const char *before) {
  tp_buf b;
  tp_buf_init(&b);
  tp_graph_print(&b, g);
  fprintf(stderr, "%s: %s\n-- before\n%s-- after\n%s", rule->name, what, before, b.s ? b.s : "");
  tp_buf_free(&b);
}

/* A call with this many points would not be refused for its extents. */
static bool legal(int64_t points) {
  set_bound(t, points);
  for (int i = 0; i < g->shapechecks.n; i++) {
    const tp_shapecheck *s = &g->shapechecks.v[i];
    int64_t x = tp_ix_evalq(s->a, env);
    if (s->b ? x != tp_ix_evalq(s->b, env) : !x) return false;
  }
  return true;
}

/* The program's value as it is, and when it was rewritten. */
static bool compares(void) {
  if (!legal(1 + below(3))) return false;
  bool off[TP_NRULE];
  for (int i = 0; i < TP_NRULE; i++) off[i] = &tp_rules[i] != rule;
  tp_buf text;
  tp_buf_init(&text);
  tp_graph_print(&text, g);
  fill_inputs(rule->cls == TP_RULE_REASSOC);
  bool ran = go(), did = false;
  tp_array *was = ran ? tp_array_ref(run.outputs[0]) : NULL;
  tp_error first = err;
  memset(&err, 0, sizeof err);
  if (!CHECKF(tp_pass_fold(&(tp_work){ .g = g, .rule_off = off }, &err) && tp_verify(g, &err),
          "%s: %s", rule->name, err.msg))
    show("fails", text.s);
  else if ((did = fired())) {
    bool same = go() == ran && (ran ? same_array(was, run.outputs[0]) : err.code == first.code);
    if (!CHECKF(same, "%s: not the same (%s; %s)", rule->name, first.msg, err.msg))
      show("not the same", text.s);
  }
  memset(&err, 0, sizeof err);
  tp_array_unref(was);
  tp_buf_free(&text);
  return did;
}

static bool trial(const tp_ruleterm *pattern) {
  program_new();
  memset(letter, 0, sizeof letter);
  named_inputs = 0;
  t = dim_new("t");
  tp_val y = gen(pattern, any_dtype(), any_form(chance(60)));
  if (y.node && tp_ops[y.node->op].batch != TP_BATCH_E && tp_dtypeof(y) != TP_BOOL && chance(50))
    y = un(TP_OP_NEG, y, (tp_attr){ 0 });
  bool made = y.node && !err.code, did = false;
  memset(&err, 0, sizeof err);
  if (made) {
    only_output(y);
    did = compares();
  }
  program_free();
  return did;
}

static unsigned letters_of(const tp_ruleterm *x) {
  unsigned all = x->letter >= 0 ? 1u << x->letter : 0;
  for (int k = 0; k < x->nkid; k++) all |= letters_of(x->kid[k]);
  return all;
}

/* Is all that the pattern computes still computed? No row has to ask whether it might have failed.
 */
static bool says_all(const tp_ruleterm *x, unsigned result) {
  if (x->letter >= 0 && (result >> x->letter & 1)) return true;
  bool all = x->kind != TP_TERM_HOLE;
  for (int k = 0; k < x->nkid; k++) all &= says_all(x->kid[k], result);
  return all;
}

static void try_rule(int trials) {
  tp_arena a;
  tp_arena_init(&a);
  int swaps = 0, fires = 0, tries = 0, bad = check_failed;
  const tp_ruleterm *pattern = tp_rule_read(&a, rule->pattern, 0, &swaps);
  CHECKF(says_all(pattern, letters_of(tp_rule_read(&a, rule->result, 0, NULL))),
      "%s leaves out a value", rule->name);
  state = 88172645463325252ull;
  for (; tries < trials && (fires < FIRES || trials > TRIES) && check_failed == bad; tries++)
    fires += trial(tp_rule_read(&a, rule->pattern, (unsigned)below(1 << swaps), NULL));
  CHECKF(fires >= LEAST || check_failed > bad, "%s: %d of %d programs use it", rule->name, fires,
      tries);
  tp_arena_free(&a);
}

int main(int argc, char **argv) {
  for (int i = 0; i < TP_NRULE; i++) {
    rule = &tp_rules[i];
    if (argc < 2 || !strcmp(argv[1], rule->name)) try_rule(argc > 2 ? atoi(argv[2]) : TRIES);
  }
  return check_report();
}
