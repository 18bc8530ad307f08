/* stmts: a statement under construction, and what the files that make it call of each other. Inside
 * src/poly. */
#ifndef TP_POLY_STMTS_H
#define TP_POLY_STMTS_H
#include "poly/lower/lower.h"
typedef struct { /* a statement being made */
  low *l;
  tp_stmt *s;
  uint32_t pinned; /* dims that its domain fixes to one value */
  bool exact;      /* its guard has to be exact */
  const tp_node *by;
  int operand; /* the operand that reads what is resolved now */
  /* operators around the one at work; their numbers come after its own */
  int depth;
  TP_VEC(tp_node *) node;
  TP_VEC(tp_ix **) at;
  TP_VEC(tp_access) acc;
} sb;
static inline bool sb_operand(const sb *b, int i, int k, tp_opnd *o) {
  return tp_stmt_operand(b->l->p, b->s, i, k, o, b->l->err);
}
static inline bool sb_src(const sb *b, tp_opnd *o) {
  return tp_stmt_src(b->l->p, b->s, o, b->l->err);
}
/* ---- cluster.c ---- */
void tp_sb_access(sb *b, tp_acckind kind, tp_arr *x, const tp_at *at, tp_pos pos);
/* uses an operand: its value is made inside the statement, or gets an access */
bool tp_sb_use(sb *b, const tp_opnd *o, tp_pos pos, bool window, bool inside);
bool tp_sb_emit(
    sb *b, tp_node *n, tp_ix **at); /* adds n, after those of its operands that go inside */
void tp_sb_sync(sb *b);
bool tp_is_elementwise(const tp_node *n);
/* May n's result lie where its operand k does? Other operands are made first, from the elements
 * that are there before. */
bool tp_may_change(const tp_node *n, int k, const tp_opnd *o);
/* ---- mayvec.c ---- */
tp_ix *tp_sb_extent_at(const sb *b, const tp_access *x, int a);
bool tp_is_exact(const tp_node *n); /* must it not run beyond an end? */
bool tp_sb_is_exact(const sb *b);
uint32_t tp_sb_may_vectorise(sb *b);
/* ---- inplace.c ---- */
int tp_sb_find_there(sb *b, const tp_out *res);
bool tp_sb_writes_over(const sb *b, const tp_access *x, int first, const tp_out *res);
#endif
