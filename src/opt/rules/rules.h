/* rules: the rows of rules.def as they are parsed, and the match that their functions see. Private
 * to the folder and to spec/c/rules_test.c, which makes programs of patterns. */
#ifndef TP_RULES_H
#define TP_RULES_H
#include "opt/opt.h"

typedef enum { TP_RULE_EXACT, TP_RULE_SIGN, TP_RULE_REASSOC } tp_ruleclass;
typedef struct tp_rule {
  const char *name, *pattern, *result, *guards;
  tp_ruleclass cls;
} tp_rule;
extern const tp_rule tp_rules[TP_NRULE];

/* A pattern, a result or a guard. */
enum { TP_TERM_KIDS = 5, TP_RULE_LETTERS = 26 };
typedef enum {
  TP_TERM_HOLE,
  TP_TERM_NUMBER,
  TP_TERM_LITERAL,
  TP_TERM_OP,
  TP_TERM_UNARY,
  TP_TERM_CALL
} tp_termkind;
typedef struct tp_ruleterm {
  tp_termkind kind;
  tp_op op;     /* OP */
  int letter;   /* HOLE, NUMBER: its letter; else the name before '=', -1: none */
  bool floats;  /* HOLE: only a value of floats matches */
  double value; /* LITERAL */
  int fn;       /* CALL: a row G or B */
  int nkid;
  const struct tp_ruleterm *kid[TP_TERM_KIDS];
} tp_ruleterm;

/* A parsed row, once for each order of operands. */
typedef struct tp_ruleform {
  const tp_rule *rule;
  const tp_ruleterm *pattern, *result;
  int nguard;
  const tp_ruleterm *guard[TP_TERM_KIDS];
} tp_ruleform;
typedef TP_VEC(const tp_ruleform *) tp_ruleforms;

typedef struct tp_rewriter {
  tp_mk mk;
  const tp_work *job;
  tp_ruleforms at[TP_NOP]; /* by the operator at the root */
  int before;              /* number of operators before the pass */
  TP_VEC(tp_val) now;      /* by node id: the value that took its place, or nothing */
  TP_VEC(int) readers;     /* by node id */
  /* by id of the operators before: it is read otherwise than element by element; NULL: not asked
   * yet */
  bool *other;
  /* rewrites that are left; using up all of them would mean that rows go in a circle */
  int left;
} tp_rewriter;
void tp_rules_begin(tp_rewriter *r);
bool tp_rule_at(const tp_ruleterm *x, tp_op op); /* may the operator be what the term says? */

/* A match of a pattern. met: operators at the root and within, outermost first. */
typedef struct tp_match {
  tp_mk mk;
  tp_rewriter *r;
  tp_node *root;
  tp_val at[TP_RULE_LETTERS]; /* by letter */
  int nmet;
  const tp_node *met[TP_TERM_KIDS * TP_TERM_KIDS];
} tp_match;

/* mask: which of the operators that commute have their operands in the other order; n: how many
 * there are. */
const tp_ruleterm *tp_rule_read(tp_arena *a, const char *text, unsigned mask, int *n);

/* ---- for the functions that rows name ---- */
typedef bool tp_ruleguard(const tp_match *m, const tp_val *v);
typedef tp_val tp_rulemaker(const tp_match *m, const tp_val *v);
extern tp_ruleguard *const tp_rule_guards[];
extern tp_rulemaker *const tp_rule_makers[];
int tp_readers(const tp_match *m, tp_val v); /* how many operands and outputs v is */
/* readers take the root element by element, through views or not */
bool tp_by_element(const tp_match *m);
#endif
