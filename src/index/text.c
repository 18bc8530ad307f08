/* text: prints and parses expressions and conditions. A printed text parses to the same pointer.
 * Positive terms come first: "T - t - 1". Comparisons put the first symbol on the left: "t < T".
 * The grammar has Lua's precedences:
 *   or    := and {"or" and}
 *   and   := not {"and" not}
 *   not   := "not" not | sum [cmp sum]
 *   sum   := term {("+" | "-") term}
 *   term  := unary {"*" unary | "//" int | "%" int}
 *   unary := "-" unary | int | name | ("min" | "max") "(" sum {"," sum} ")" | "(" or ")" */
#include "index/priv.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static uint64_t magnitude(int64_t v) { return v < 0 ? -(uint64_t)v : (uint64_t)v; }

static void put_number(tp_buf *b, uint64_t v) { tp_putf(b, "%llu", (unsigned long long)v); }

/* a quotient needs parentheses: 2*t//3 is (2*t)//3 */
static void put_factor(tp_buf *b, tp_ix *atom, bool tight) {
  bool paren = tight && (atom->kind == TP_IX_FDIV || atom->kind == TP_IX_MOD);
  if (paren) tp_puts(b, "(");
  tp_ix_print(b, atom);
  if (paren) tp_puts(b, ")");
}

static void put_sign(tp_buf *b, bool first, bool negative) {
  tp_puts(b, first ? (negative ? "-" : "") : negative ? " - " : " + ");
}

static void put_term(tp_buf *b, const tp_term *t, bool first, bool negative) {
  uint64_t u = magnitude(t->coef);
  put_sign(b, first, negative);
  if (u != 1) put_number(b, u);
  for (int k = 0; k < t->m->n; k++) {
    if (k || u != 1) tp_puts(b, "*");
    put_factor(b, t->m->atom[k], u != 1 || t->m->n > 1 || (first && negative));
  }
}

/* prints the terms of this sign as terms of sign `as`; was something printed? */
static bool put_terms(tp_buf *b, tp_ix *e, int sign, int as, bool first) {
  for (int i = 0; i < e->nterm; i++)
    if ((e->term[i].coef < 0) == (sign < 0)) {
      put_term(b, &e->term[i], first, as < 0);
      first = false;
    }
  return !first;
}

static void put_cst(tp_buf *b, uint64_t u, bool negative, bool first) {
  put_sign(b, first, negative && u);
  put_number(b, u);
}

static void put_sum(tp_buf *b, tp_ix *e) {
  bool any = put_terms(b, e, 1, 1, true), early = !any && e->cst > 0;
  if (early) put_cst(b, magnitude(e->cst), false, true);
  any = put_terms(b, e, -1, -1, !any && !early);
  if (!early && (e->cst || !any)) put_cst(b, magnitude(e->cst), e->cst < 0, !any);
}

/* Prints the terms of this sign, as positive ones, and a constant. */
static void put_side(tp_buf *b, tp_ix *e, int sign, uint64_t u, bool negative) {
  bool any = put_terms(b, e, sign, 1, true);
  if (u || !any) put_cst(b, u, negative, !any);
}

/* e = P - N + c >= 0 is P >= N - c, or N <= P + c; with c = -1: P > N, N < P. */
static void put_ge0(tp_buf *b, tp_ix *e) {
  int lead = e->term[0].coef > 0 ? 1 : -1;
  bool two = false;
  for (int i = 0; i < e->nterm; i++) two |= (e->term[i].coef > 0) != (lead > 0);
  bool strict = two && e->cst == -1;
  put_side(b, e, lead, 0, false);
  tp_puts(b, lead > 0 ? (strict ? " > " : " >= ") : strict ? " < " : " <= ");
  put_side(b, e, -lead, strict ? 0 : magnitude(e->cst), (e->cst < 0) == (lead < 0));
}

static void put_eq0(tp_buf *b, tp_ix *e, const char *op) {
  put_side(b, e, 1, 0, false);
  tp_puts(b, op);
  put_side(b, e, -1, magnitude(e->cst), e->cst > 0);
}

static void put_list(tp_buf *b, tp_ix *e, const char *open, const char *between) {
  tp_puts(b, open);
  for (int i = 0; i < e->narg; i++) {
    if (i) tp_puts(b, between);
    tp_ix_print(b, e->arg[i]);
  }
  tp_puts(b, ")");
}

static void put_quotient(tp_buf *b, tp_ix *e, const char *op) {
  tp_ix *a = e->arg[0];
  bool bare = a->kind == TP_IX_SYM || a->kind == TP_IX_MIN || a->kind == TP_IX_MAX;
  tp_puts(b, bare ? "" : "(");
  tp_ix_print(b, a);
  tp_putf(b, "%s%s%lld", bare ? "" : ")", op, (long long)e->div);
}

void tp_ix_print(tp_buf *b, tp_ix *e) {
  switch (e->kind) {
  case TP_IX_POLY: put_sum(b, e); break;
  case TP_IX_SYM: tp_puts(b, e->sym->name); break;
  case TP_IX_MIN: put_list(b, e, "min(", ", "); break;
  case TP_IX_MAX: put_list(b, e, "max(", ", "); break;
  case TP_IX_FDIV: put_quotient(b, e, "//"); break;
  case TP_IX_MOD: put_quotient(b, e, "%"); break;
  case TP_IX_TRUE: tp_puts(b, "true"); break;
  case TP_IX_FALSE: tp_puts(b, "false"); break;
  case TP_IX_GE0: put_ge0(b, e->arg[0]); break;
  case TP_IX_EQ0: put_eq0(b, e->arg[0], " == "); break;
  case TP_IX_NOT: put_eq0(b, e->arg[0]->arg[0], " != "); break;
  case TP_IX_AND: put_list(b, e, "(", " and "); break;
  case TP_IX_OR: put_list(b, e, "(", " or "); break;
  }
}

const char *tp_ix_str(tp_ix *e) {
  tp_ictx *c = e->c;
  c->text.n = 0;
  tp_ix_print(&c->text, e);
  if (c->text.failed) tp_oom();
  return tp_dup(&c->arena, c->text.s, c->text.n + 1);
}

const char *tp_ix_said(tp_ix *e) {
  const char *s = tp_ix_str(e);
  bool list = e->kind == TP_IX_AND || e->kind == TP_IX_OR;
  return list ? tp_printf(&e->c->arena, "%.*s", (int)strlen(s) - 2, s + 1) : s;
}

/* ---- parsing ---- */

typedef struct {
  tp_ictx *c;
  tp_scan in;
  int depth;
} ix_parser;
enum { PARSE_DEPTH = 200 };

static tp_ix *fail(ix_parser *p, const char *what) {
  tp_scan_fail(&p->in, what);
  return NULL;
}

static bool accept(ix_parser *p, const char *op) {
  tp_scan_space(&p->in);
  return strncmp(p->in.s, "->", 2) != 0 && tp_accept(&p->in, op);
}

static tp_ix *want(ix_parser *p, tp_ix *e, bool cond) {
  if (e && tp_ix_is_cond(e) != cond)
    return fail(p, cond ? "a condition is wanted" : "a number is wanted");
  return e;
}

static tp_ix *parse_or(ix_parser *p);
static tp_ix *parse_sum(ix_parser *p);

static bool at_digit(ix_parser *p) {
  tp_scan_space(&p->in);
  return isdigit((unsigned char)*p->in.s);
}

/* 2^63 wraps around, so a minus before it gives INT64_MIN. */
static bool parse_int(ix_parser *p, int64_t *v) {
  char *end;
  if (!at_digit(p)) return tp_scan_fail(&p->in, "an integer is wanted");
  errno = 0;
  uint64_t u = strtoull(p->in.s, &end, 10);
  if (errno || u > (uint64_t)1 << 63) return tp_scan_fail(&p->in, "the integer is too large");
  p->in.s = end;
  *v = (int64_t)u;
  return true;
}

static tp_ix *closed(ix_parser *p, tp_ix *e) { return e && !tp_expect(&p->in, ")") ? NULL : e; }

static tp_ix *parse_extremum(ix_parser *p, tp_ixkind kind) {
  tp_ix *e = want(p, parse_sum(p), false);
  while (e && accept(p, ",")) {
    tp_ix *v[2] = { e, want(p, parse_sum(p), false) };
    e = v[1] ? tp_ix_nary(kind, 2, v) : NULL;
  }
  return closed(p, e);
}

static tp_ix *parse_name(ix_parser *p) {
  const char *from = p->in.s;
  if (!tp_sym_name_char((unsigned char)*from, true)) return fail(p, "an expression is wanted");
  const char *name = tp_scan_word(&p->in);
  bool least = strcmp(name, "min") == 0;
  if (*p->in.s == '(' && (least || strcmp(name, "max") == 0)) {
    p->in.s++;
    return parse_extremum(p, least ? TP_IX_MIN : TP_IX_MAX);
  }
  tp_sym *s = tp_sym_find(p->c, name);
  if (s) return tp_ix_sym(s);
  p->in.s = from;
  return fail(p, "unknown symbol");
}

static tp_ix *parse_primary(ix_parser *p) {
  int64_t v;
  if (accept(p, "(")) return closed(p, parse_or(p));
  if (at_digit(p)) return parse_int(p, &v) ? tp_ix_const(p->c, v) : NULL;
  if (accept(p, "true")) return tp_ix_bool(p->c, true);
  return accept(p, "false") ? tp_ix_bool(p->c, false) : parse_name(p);
}

static tp_ix *parse_unary(ix_parser *p) {
  bool negative = false;
  int64_t v;
  while (accept(p, "-")) negative = !negative;
  if (negative && at_digit(p))
    return parse_int(p, &v) ? tp_ix_const(p->c, (int64_t) - (uint64_t)v) : NULL;
  if (++p->depth > PARSE_DEPTH) return fail(p, "nested too deeply");
  tp_ix *e = parse_primary(p);
  p->depth--;
  return negative ? tp_ix_neg(want(p, e, false)) : e;
}

static tp_ix *parse_term(ix_parser *p) {
  tp_ix *e = parse_unary(p);
  while (e) {
    bool times = accept(p, "*"), quotient = !times && accept(p, "//");
    int64_t k;
    if (!times && !quotient && !accept(p, "%")) return e;
    if (!want(p, e, false)) return NULL;
    if (times) e = tp_ix_mul(e, want(p, parse_unary(p), false));
    else if (!parse_int(p, &k)) return NULL;
    else if (k <= 0) return fail(p, "a positive divisor is wanted");
    else e = quotient ? tp_ix_fdiv(e, k) : tp_ix_mod(e, k);
  }
  return NULL;
}

static tp_ix *parse_sum(ix_parser *p) {
  tp_ix *e = parse_term(p);
  while (e) {
    bool plus = accept(p, "+");
    if (!plus && !accept(p, "-")) return e;
    tp_ix *r = want(p, parse_term(p), false);
    if (!want(p, e, false)) return NULL;
    e = plus ? tp_ix_add(e, r) : tp_ix_sub(e, r);
  }
  return NULL;
}

static tp_ix *parse_cmp(ix_parser *p) {
  static const char *const text[] = { "<=", "<", ">=", ">", "==", "!=" };
  static const tp_cmp op[] = { TP_LE, TP_LT, TP_GE, TP_GT, TP_EQ, TP_NE };
  tp_ix *a = parse_sum(p);
  for (size_t i = 0; a && i < TP_LEN(text); i++)
    if (accept(p, text[i])) {
      tp_ix *b = want(p, parse_sum(p), false);
      return want(p, a, false) ? tp_ix_cmp(op[i], a, b) : NULL;
    }
  return a;
}

static tp_ix *parse_not(ix_parser *p) {
  bool negated = false;
  while (accept(p, "not")) negated = !negated;
  tp_ix *e = parse_cmp(p);
  return negated ? tp_ix_not(want(p, e, true)) : e;
}

static tp_ix *parse_junction(ix_parser *p, tp_ix *(*operand)(ix_parser *), const char *word,
    tp_ix *(*join)(tp_ix *, tp_ix *)) {
  tp_ix *e = operand(p);
  while (e && accept(p, word)) e = want(p, e, true) ? join(e, want(p, operand(p), true)) : NULL;
  return e;
}

static tp_ix *parse_and(ix_parser *p) { return parse_junction(p, parse_not, "and", tp_ix_and); }
static tp_ix *parse_or(ix_parser *p) { return parse_junction(p, parse_and, "or", tp_ix_or); }

tp_ix *tp_ix_parse(tp_ictx *c, const char **s, tp_error *err) {
  ix_parser p = { c, { .s = *s, .a = &c->arena, .err = err }, 0 };
  tp_ix *e = parse_or(&p);
  *s = p.in.s;
  return e && (c->overflowed & TP_TOO_DEEP) ? fail(&p, "nested too deeply") : e;
}
