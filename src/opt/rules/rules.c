/* rules: parses the rows of rules.def. */
#include "opt/rules/rules.h"
#include <stdlib.h>

const tp_rule tp_rules[TP_NRULE] = {
#define R(name, cls, pattern, result, guards) { #name, pattern, result, guards, TP_RULE_##cls },
#include "opt/rules/rules.def"
};

const char *tp_rule_name(int row) { return tp_rules[row].name; }

/* ---- terms ---- */

static const char *const guard_names[] = {
#define G(f) #f,
#include "opt/rules/rules.def"
};
static const char *const maker_names[] = {
#define B(f) #f,
#include "opt/rules/rules.def"
};

typedef struct rule_text {
  tp_arena *a;
  const char *s;
  unsigned mask;
  int swaps;
} rule_text;

static const tp_ruleterm *read_term(rule_text *t);

static void skip_blanks(rule_text *t) { t->s += strspn(t->s, " "); }

static int named_in(const char *const *names, int n, const char *s, size_t len) {
  int i = n - 1;
  while (i >= 0 && (strlen(names[i]) != len || memcmp(names[i], s, len))) i--;
  return i;
}

int tp_rule_named(const char *s, size_t n) {
  static const char *const names[] = {
#define R(name, cls, pattern, result, guards) #name,
#include "opt/rules/rules.def"
  };
  return named_in(names, TP_NRULE, s, n);
}

/* Reads the word behind '(': an operator, `unary`, a maker behind '!', else a guard. */
static void read_head(rule_text *t, tp_ruleterm *x) {
  bool makes = *t->s == '!';
  t->s += makes;
  size_t n = strcspn(t->s, " )");
  char word[32];
  memcpy(word, t->s, TP_MIN(n, sizeof word - 1));
  word[TP_MIN(n, sizeof word - 1)] = 0;
  t->s += n;
  if (!strcmp(word, "unary")) x->kind = TP_TERM_UNARY;
  else if (!makes && tp_op_parse(word, &x->op)) x->kind = TP_TERM_OP;
  else {
    x->kind = TP_TERM_CALL;
    x->fn = makes ? named_in(maker_names, TP_LEN(maker_names), word, n)
                  : named_in(guard_names, TP_LEN(guard_names), word, n);
    TP_ASSERT(x->fn >= 0);
  }
}

static void read_operands(rule_text *t, tp_ruleterm *x) {
  for (skip_blanks(t); *t->s != ')'; skip_blanks(t)) {
    TP_ASSERT(x->nkid < TP_TERM_KIDS);
    x->kid[x->nkid++] = read_term(t);
  }
  t->s++;
  if (x->kind != TP_TERM_OP || !tp_op_is(x->op, TP_COMMUTES)) return;
  if (t->mask >> t->swaps++ & 1) {
    const tp_ruleterm *first = x->kid[0];
    x->kid[0] = x->kid[1];
    x->kid[1] = first;
  }
}

static const tp_ruleterm *read_term(rule_text *t) {
  tp_ruleterm *x = TP_NEW(t->a, tp_ruleterm);
  x->letter = -1;
  skip_blanks(t);
  if (t->s[0] >= 'a' && t->s[0] <= 'z' && t->s[1] == '=') {
    x->letter = t->s[0] - 'a';
    t->s += 2;
  }
  if (*t->s == '(') {
    t->s++;
    read_head(t, x);
    read_operands(t, x);
  } else if (*t->s == '#' || (*t->s >= 'a' && *t->s <= 'z')) {
    x->kind = *t->s == '#' ? TP_TERM_NUMBER : TP_TERM_HOLE;
    t->s += *t->s == '#';
    x->letter = *t->s++ - 'a';
    x->floats = *t->s == ':';
    t->s += 2 * x->floats;
  } else {
    char *end;
    x->kind = TP_TERM_LITERAL;
    x->value = strtod(t->s, &end);
    TP_ASSERT(end != t->s);
    t->s = end;
  }
  return x;
}

const tp_ruleterm *tp_rule_read(tp_arena *a, const char *text, unsigned mask, int *n) {
  rule_text t = { a, text, mask, 0 };
  const tp_ruleterm *x = read_term(&t);
  if (n) *n = t.swaps;
  return x;
}

/* ---- the rows that are on, by the operator at the root ---- */

bool tp_rule_at(const tp_ruleterm *x, tp_op op) {
  return x->kind == TP_TERM_OP ? x->op == op : tp_op_is_elementwise(op) && tp_ops[op].nin == 1;
}

/* Is the row on? Under check = "nan" operators that may be blamed stay. */
static bool is_on(const tp_work *job, int row, const tp_ruleterm *result) {
  bool moves = result->kind == TP_TERM_HOLE || result->kind == TP_TERM_CALL;
  return !(job->rule_off && job->rule_off[row]) &&
      (!job->check || (moves && tp_rules[row].cls == TP_RULE_EXACT));
}

static void add_form(tp_rewriter *r, const tp_ruleform *f) {
  for (int op = 0; op < TP_NOP; op++)
    if (tp_rule_at(f->pattern, op)) TP_PUSH(&r->mk.g->arena, &r->at[op], f);
}

void tp_rules_begin(tp_rewriter *r) {
  tp_arena *a = &r->mk.g->arena;
  for (int i = 0; i < TP_NRULE; i++) {
    tp_ruleform form = { .rule = &tp_rules[i],
      .result = tp_rule_read(a, tp_rules[i].result, 0, NULL) };
    rule_text t = { a, tp_rules[i].guards, 0, 0 };
    int swaps = 0;
    for (skip_blanks(&t); *t.s; skip_blanks(&t)) {
      TP_ASSERT(form.nguard < TP_TERM_KIDS);
      form.guard[form.nguard++] = read_term(&t);
    }
    for (unsigned mask = 0; is_on(r->job, i, form.result) && mask < 1u << swaps; mask++) {
      form.pattern = tp_rule_read(a, form.rule->pattern, mask, &swaps);
      add_form(r, tp_dup(a, &form, sizeof form));
    }
  }
}
