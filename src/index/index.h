/* index: symbols, hash-consed index expressions and conditions, sets of points. Rank 1. One
 * canonical object is index and size: a polynomial  c + sum of coef * monomial  with i64
 * coefficients; a monomial is a sorted product of atoms, an atom a symbol, min(e..), max(e..),
 * floordiv(e, k) or mod(e, k), k > 0. *Affine* (quasi-affine): each monomial has one atom, all
 * atoms' arguments are affine; only such expressions index. Equal expressions are one pointer. So
 * are conditions: true, false, e >= 0, e == 0, and, or, not. Construction simplifies what needs no
 * domain: polynomial arithmetic; min and max flat, without duplicates and operands dominated by a
 * constant difference; floordiv and mod by 1, of constants, the part that k divides taken out.
 * mod(e, k) with e in [0, k): only tp_ix_simplify. */
#ifndef TP_INDEX_H
#define TP_INDEX_H
#include "base/scan.h"

/* VAR: a register of a plan */
typedef enum { TP_SYM_DIM, TP_SYM_BOUND, TP_SYM_VAR } tp_symkind;

typedef struct tp_sym tp_sym;
struct tp_sym {
  int id; /* of environments; dense from 0 */
  tp_symkind kind;
  const char *name;
  tp_sym *bound; /* a dim's; of P:dim's bound NULL */
  tp_sym *dim;   /* a bound's, if it was made by one */
  int order;     /* of dims: by creation, the order of every domain */
  bool hidden;   /* the compiler's: not given at the call */
  /* number of the compilation that made it for itself; else 0 */
  int compilation;
  /* of a VAR that is a thread's share of an extent (plan/team.c): that extent; constant during a
   * run. Else NULL */
  const struct tp_ix *whole;
  /* of a hidden bound: the number of this one's binary digits, at least 1 (tp_sym_digits); else
   * NULL */
  const tp_sym *digits;
  tp_pos pos;
};

typedef struct tp_ix tp_ix;     /* immutable; compare by pointer */
typedef struct tp_ictx tp_ictx; /* owns symbols, expressions and an isl_ctx */

typedef enum {
  TP_IX_POLY, /* constants, sums, products */
  /* atoms: no POLY of one term */
  TP_IX_SYM,
  TP_IX_MIN,
  TP_IX_MAX,
  TP_IX_FDIV,
  TP_IX_MOD,
  TP_IX_TRUE,
  TP_IX_FALSE,
  TP_IX_GE0,
  TP_IX_EQ0,
  TP_IX_AND,
  TP_IX_OR,
  TP_IX_NOT /* conditions */
} tp_ixkind;

tp_ictx *tp_ictx_new(void);
tp_ictx *tp_ictx_free(tp_ictx *c);
tp_arena *tp_ictx_arena(tp_ictx *c);

/* name taken: option */
tp_sym *tp_sym_dim(tp_ictx *c, const char *name,
    const char *bound_name /* NULL: upper-cased name */, tp_pos pos, tp_error *err);
tp_sym *tp_sym_bound(tp_ictx *c, const char *name, tp_pos pos, tp_error *err);
/* fresh: hint, hint1, hint2, .. */
tp_sym *tp_sym_var(tp_ictx *c, const char *hint);
/* Around a compilation. Its own symbols may have the names of an earlier one's, so all call them
 * the same. */
int tp_sym_begin(tp_ictx *c);
void tp_sym_end(tp_ictx *c, int was);
tp_sym *tp_sym_hidden_dim(tp_ictx *c, const char *hint); /* fresh, without a bound */
/* found, or made by a free name */
tp_sym *tp_sym_hidden_bound(tp_ictx *c, const char *name);
/* a hidden dim over the binary digits of a bound; each evaluation sets it */
tp_sym *tp_sym_digits(tp_ictx *c, const tp_sym *bound);
void tp_sym_set_hidden(const tp_ictx *c, int64_t *env); /* of the bounds in env */
tp_sym *tp_sym_find(tp_ictx *c, const char *name);      /* NULL: none */
int tp_nsym(const tp_ictx *c);
tp_sym *tp_sym_at(const tp_ictx *c, int id);

/* ---- expressions ---- (NULL only for NULL; too large or too deep: tp_ictx_overflowed) */
const tp_ix *tp_ix_const(tp_ictx *c, int64_t v);
const tp_ix *tp_ix_sym(tp_ictx *c, const tp_sym *s);
const tp_ix *tp_ix_add(tp_ictx *c, const tp_ix *a, const tp_ix *b);
const tp_ix *tp_ix_sub(tp_ictx *c, const tp_ix *a, const tp_ix *b);
const tp_ix *tp_ix_neg(tp_ictx *c, const tp_ix *a);
const tp_ix *tp_ix_mul(tp_ictx *c, const tp_ix *a, const tp_ix *b);
const tp_ix *tp_ix_addc(tp_ictx *c, const tp_ix *a, int64_t k);
const tp_ix *tp_ix_mulc(tp_ictx *c, const tp_ix *a, int64_t k);
const tp_ix *tp_ix_fdiv(tp_ictx *c, const tp_ix *a, int64_t k);
const tp_ix *tp_ix_mod(tp_ictx *c, const tp_ix *a, int64_t k); /* a - k*floor(a/k), k > 0 */
const tp_ix *tp_ix_min(tp_ictx *c, const tp_ix *a, const tp_ix *b);
const tp_ix *tp_ix_max(tp_ictx *c, const tp_ix *a, const tp_ix *b);
/* a / b; NULL: b does not divide a, or a's coefficients. */
const tp_ix *tp_ix_divexact(tp_ictx *c, const tp_ix *a, const tp_ix *b);
/* The host may end work: it is asked between questions to isl and by tp_ictx_ended; from its first
 * yes on isl gives NULL. unwatch: did it end? Forgets what was not known since. */
void tp_ictx_watch(tp_ictx *c, bool (*interrupted)(void *host), void *host);
bool tp_ictx_ended(tp_ictx *c);
bool tp_ictx_unwatch(tp_ictx *c);
/* In words, what was too large or too deep since the last question; NULL: nothing. */
enum { TP_MAXNEST = 100 };
#define TP_NESTED "is nested too deep"
const char *tp_ictx_overflowed(tp_ictx *c);

const tp_ix *tp_ix_bool(tp_ictx *c, bool v);
typedef enum { TP_EQ, TP_NE, TP_LT, TP_LE, TP_GT, TP_GE } tp_cmp;
const tp_ix *tp_ix_cmp(tp_ictx *c, tp_cmp op, const tp_ix *a, const tp_ix *b);
const tp_ix *tp_ix_and(tp_ictx *c, const tp_ix *a, const tp_ix *b);
const tp_ix *tp_ix_or(tp_ictx *c, const tp_ix *a, const tp_ix *b);
const tp_ix *tp_ix_not(tp_ictx *c, const tp_ix *a);
/* conjunction; NULL is true */
const tp_ix *tp_ix_both(tp_ictx *c, const tp_ix *a, const tp_ix *b);
/* part k of a conjunction; NULL: no more */
const tp_ix *tp_ix_conjunct(const tp_ix *cond, int k);

tp_ixkind tp_ix_kind(const tp_ix *e);
bool tp_ix_is_cond(const tp_ix *e);
bool tp_ix_is_const(const tp_ix *e, int64_t *v); /* v may be NULL */
/* k > 0 */
static inline int64_t tp_floormod(int64_t a, int64_t k) { return a % k + (a % k < 0 ? k : 0); }
/* k > 0 */
static inline int64_t tp_floordiv(int64_t a, int64_t k) { return a / k - (a % k < 0); }
static inline uint64_t tp_gcd(uint64_t a, uint64_t b) { return b ? tp_gcd(b, a % b) : a; }
static inline bool tp_is_number(const tp_ix *e, int64_t v) {
  int64_t c;
  return tp_ix_is_const(e, &c) && c == v;
}
bool tp_ix_is_affine(const tp_ix *e);
bool tp_ix_mentions(const tp_ix *e, const tp_sym *s);
/* ascending ids; e NULL: none */
int tp_ix_syms(const tp_ix *e, const tp_sym *const **out);
bool tp_ix_of_bounds(const tp_ix *e);       /* of bounds only */
const tp_sym *tp_ix_as_sym(const tp_ix *e); /* NULL: it is more than a symbol */
/* without the constant */
int tp_ix_nterm(const tp_ix *e);
int64_t tp_ix_cst(const tp_ix *e); /* the constant */
int64_t tp_ix_coef(const tp_ix *e, int i);
/* gives the number of atoms of term i */
int tp_ix_term(const tp_ix *e, int i, const tp_ix *const **atoms);
/* MIN MAX: operands; FDIV MOD: 1; GE0 EQ0 NOT: 1; AND OR: n */
int tp_ix_narg(const tp_ix *e);
const tp_ix *tp_ix_arg(const tp_ix *e, int i);
int64_t tp_ix_div(const tp_ix *e);
/* e = s*k + rest without s in rest; else false. */
bool tp_ix_linear_in(tp_ictx *c, const tp_ix *e, const tp_sym *s, int64_t *k, const tp_ix **rest);
/* Linear in s, and for s from lo to last nowhere below e (above), or nowhere above. NULL: none
 * found. */
const tp_ix *tp_ix_edge(
    tp_ictx *c, const tp_ix *e, const tp_sym *s, const tp_ix *lo, const tp_ix *last, bool above);

/* from[i] := to[i] at once, in expressions and conditions. */
const tp_ix *tp_ix_subst(
    tp_ictx *c, const tp_ix *e, int n, const tp_sym *const *from, const tp_ix *const *to);
/* On 0 <= d < D for each dim mentioned; bounds >= 0, and >= 1 if one of their dims is in `dims`. */
bool tp_ix_prove_ge0(tp_ictx *c, const tp_ix *e, int ndims, const tp_sym *const *dims);
/* On that domain: drops operands of min and max that cannot win, floordiv and mod of known range,
 * conditions that are known. */
const tp_ix *tp_ix_simplify(tp_ictx *c, const tp_ix *e, int ndims, const tp_sym *const *dims);
/* max(0, hi - lo), simplified */
const tp_ix *tp_ix_extent(
    tp_ictx *c, const tp_ix *lo, const tp_ix *hi, int ndims, const tp_sym *const *dims);
/* A bound of e over these dims without them (upper of t + 1: T). NULL: none known (a hidden dim,
 * factors of unknown sign). */
const tp_ix *tp_ix_upper(tp_ictx *c, const tp_ix *e, int ndims, const tp_sym *const *dims);
const tp_ix *tp_ix_lower(tp_ictx *c, const tp_ix *e, int ndims, const tp_sym *const *dims);

/* ---- evaluation ---- env[sym->id]; false: beyond i64, saturated */
bool tp_ix_eval(const tp_ix *e, const int64_t *env, int64_t *out);
/* Bounds of e's values for symbols in lo .. hi (inclusive, by id); exact for one symbol used once.
 * hi NULL: lo has the bounds, dims are anywhere in their domains. */
void tp_ix_range(
    const tp_ix *e, const int64_t *lo, const int64_t *hi, int64_t *least, int64_t *most);
/* unchecked, fast; conditions: 0, 1 */
int64_t tp_ix_evalq(const tp_ix *e, const int64_t *env);

/* ---- text ---- prints what it parses: "2*t + T*B - 1", "min(t + 10, T - 1)", "t//2", "t%3"; "t >=
 * 1", "(a >= 0 and b == 0)", "not (…)", "true". < <= > >= == != parse. */
void tp_ix_print(tp_buf *b, const tp_ix *e);
const char *tp_ix_str(tp_ictx *c, const tp_ix *e); /* in the arena */
/* no parentheses around the whole */
const char *tp_ix_said(tp_ictx *c, const tp_ix *e);
/* advances *s; stops before .. and -> */
const tp_ix *tp_ix_parse(tp_ictx *c, const char **s, tp_error *err);

/* By id: "dim t:T", "bound K", "var t1", perhaps " hidden"; a dim's line names its bound too. */
void tp_syms_print(tp_buf *b, const tp_ictx *c, const bool *used);
/* after its first word; takes a symbol that exists */
bool tp_sym_line(tp_ictx *c, tp_scan *in, tp_symkind kind);

/* lo, or lo .. hi - 1 */
typedef struct tp_at {
  bool range;
  const tp_ix *lo, *hi;
} tp_at;

/* ---- sets of points ---- of a list of dims, by place; parameters are bounds. NULL in, NULL out:
 * isl failed, and tp_isl_check() makes isl's last error ours. tp_set IS an isl_set, tp_rel an
 * isl_map (index/isl.h). */
typedef struct isl_set tp_set;
typedef struct isl_map tp_rel;
/* false: isl has failed since the last check */
bool tp_isl_check(tp_ictx *c, tp_pos pos, tp_error *err);
TP_GIVE tp_set *tp_set_box(tp_ictx *c, int n, const tp_sym *const *dims); /* 0 <= d < D */
TP_GIVE tp_set *tp_set_empty(tp_ictx *c, int n, const tp_sym *const *dims);
TP_GIVE tp_set *tp_set_outside(tp_ictx *c, int n, const tp_sym *const *dims); /* all but the box */
/* symbols: dims listed or bounds */
TP_GIVE tp_set *tp_set_cond(tp_ictx *c, int n, const tp_sym *const *dims, const tp_ix *cond);
/* Points of the box where cond(list, k) is the first to hold; NULL always does. */
TP_GIVE tp_set *tp_set_first(tp_ictx *c, const void *list, int n, const tp_sym *const *dims, int k,
    const tp_ix *(*cond)(const void *list, int i));
TP_GIVE tp_set *tp_set_copy(TP_KEEP tp_set *s);
tp_set *tp_set_free(TP_TAKE tp_set *s);
TP_GIVE tp_set *tp_set_and(TP_TAKE tp_set *a, TP_TAKE tp_set *b);
TP_GIVE tp_set *tp_set_or(TP_TAKE tp_set *a, TP_TAKE tp_set *b); /* coalesced */
TP_GIVE tp_set *tp_set_minus(TP_TAKE tp_set *a, TP_TAKE tp_set *b);
/* one piece around both: what all of a keeps, but for what `by` doesn't */
TP_GIVE tp_set *tp_set_widen(TP_TAKE tp_set *a, TP_KEEP tp_set *by);
/* does it depend on the bound? */
bool tp_set_mentions(tp_ictx *c, TP_KEEP tp_set *a, const tp_sym *s);
TP_GIVE tp_set *tp_set_some(tp_ictx *c, TP_TAKE tp_set *a, const tp_sym *s, const tp_ix *cond);
/* (from) -> (to): to-dim i is at[i] over from-dims and bounds. */
TP_GIVE tp_rel *tp_rel_at(tp_ictx *c, int nfrom, const tp_sym *const *from, int nto,
    const tp_sym *const *to, const tp_at *at);
/* Pairs with cond; a symbol of both lists is the from-dim. */
TP_GIVE tp_rel *tp_rel_where(tp_ictx *c, TP_TAKE tp_rel *r, int nfrom, const tp_sym *const *from,
    int nto, const tp_sym *const *to, const tp_ix *cond);
/* as tp_set_some */
TP_GIVE tp_rel *tp_rel_some(tp_ictx *c, TP_TAKE tp_rel *r, const tp_sym *s, const tp_ix *cond);
TP_GIVE tp_rel *tp_rel_copy(TP_KEEP tp_rel *r);
tp_rel *tp_rel_free(TP_TAKE tp_rel *r);
TP_GIVE tp_rel *tp_rel_reverse(TP_TAKE tp_rel *r);
TP_GIVE tp_rel *tp_rel_restrict(TP_TAKE tp_rel *r, TP_TAKE tp_set *from);
/* the from-points */
TP_GIVE tp_set *tp_rel_points(TP_TAKE tp_rel *r);
TP_GIVE tp_set *tp_set_apply(TP_TAKE tp_set *s, TP_TAKE tp_rel *r);
/* for all bounds >= 0 */
bool tp_set_is_empty(tp_ictx *c, TP_KEEP tp_set *s);
/* for all bounds >= 0 */
bool tp_set_subset(tp_ictx *c, TP_KEEP tp_set *a, TP_KEEP tp_set *b);
bool tp_set_equal(tp_ictx *c, TP_KEEP tp_set *a, TP_KEEP tp_set *b);
/* at most so many for each value of the other dims, as written? */
bool tp_set_few(tp_ictx *c, TP_KEEP tp_set *s, int dim, int most);
/* The condition on bounds (>= 0) under which it has a point; is empty, in few words. NULL: isl
 * could not say. */
const tp_ix *tp_set_nonempty_when(tp_ictx *c, TP_KEEP tp_set *s);
const tp_ix *tp_set_empty_when(tp_ictx *c, TP_KEEP tp_set *s);
/* for some bounds, all >= least */
bool tp_set_can_be_empty(tp_ictx *c, TP_KEEP tp_set *s, int64_t least);
bool tp_set_can_have_point(tp_ictx *c, TP_KEEP tp_set *s, int64_t least);
/* Membership, as a condition on dims and bounds (simplify: in the box). */
const tp_ix *tp_set_to_cond(
    tp_ictx *c, int n, const tp_sym *const *dims, TP_KEEP tp_set *s, bool simplify);
/* for points of known */
const tp_ix *tp_set_told(
    tp_ictx *c, int n, const tp_sym *const *dims, TP_KEEP tp_set *s, TP_TAKE tp_set *known);
/* A smallest point, with bounds as small as possible, but >= least if that can be; into env. False:
 * empty. */
bool tp_set_witness(
    tp_ictx *c, int n, const tp_sym *const *dims, TP_KEEP tp_set *s, int64_t least, int64_t *env);
/* drops kept answers */
void tp_isl_forget(tp_ictx *c);
/* isl's text */
char *tp_set_str(tp_ictx *c, TP_KEEP tp_set *s);

TP_GIVE tp_rel *tp_rel_id(TP_TAKE tp_set *s);
TP_GIVE tp_rel *tp_rel_compose(TP_TAKE tp_rel *a, TP_TAKE tp_rel *b); /* first a, then b */
TP_GIVE tp_rel *tp_rel_or(TP_TAKE tp_rel *a, TP_TAKE tp_rel *b);      /* coalesced */
TP_GIVE tp_rel *tp_rel_into(TP_TAKE tp_rel *r, TP_TAKE tp_set *to);
/* points of set[from] to points of set[to] */
typedef struct tp_hop {
  int from, to;
  tp_rel *rel;
} tp_hop;
/* Grows sets to all that hops reach. False: isl has no exact answer; some may have grown. */
bool tp_set_closure(tp_ictx *c, int n, tp_set **set, int nhop, TP_KEEP const tp_hop *hop);
/* Between the two isl may take so many operations; then it gives NULL. The first gives what the
 * second takes; false: too many; forgets the error. */
unsigned long tp_isl_budget(tp_ictx *c, unsigned long operations);
bool tp_isl_within(tp_ictx *c, unsigned long before);
/* made so far: each question to isl makes one */
long tp_isl_spaces(const tp_ictx *c);

#endif
