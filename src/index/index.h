/* index: symbols, index expressions, conditions, and sets of points. Rank 1.
 *
 * tempo judges and orders a program for all bounds, so sizes, times and the points at which a value
 * exists are formulas. They have two forms. An expression, as 2*t + T*B - 1 or t >= 1, is cheap to
 * make, compare, print and evaluate. A set of points of some dims (tp_set), or a relation between
 * points (tp_rel), is isl's; it can be joined, cut and asked whether it is empty.
 *
 * One canonical object serves as index and as size: a polynomial  c + sum of coef * monomial  with
 * i64 coefficients. A monomial is a sorted product of atoms; an atom is a symbol, min(e..),
 * max(e..), floordiv(e, k) or mod(e, k), k > 0. An expression is *affine* (quasi-affine) if each
 * monomial has one atom and all atoms' arguments are affine; only affine ones may index. Conditions
 * are true, false, e >= 0, e == 0, and, or, not. Equal expressions are the same pointer.
 *
 * Construction simplifies what holds for all values (ix.c, cond.c), tp_ix_simplify what holds on a
 * domain (simplify.c, with the proofs of prove.c). isl.c translates to isl and back, sets.c and
 * questions.c ask isl, memo.c keeps the answers. NULL in, NULL out. */
#ifndef TP_INDEX_H
#define TP_INDEX_H
#include "base/scan.h"

/* VAR: loop variable or other register of a plan */
typedef enum { TP_SYM_DIM, TP_SYM_BOUND, TP_SYM_VAR } tp_symkind;

typedef const struct tp_sym tp_sym; /* made and changed as struct tp_sym */
struct tp_sym {
  struct tp_ictx *c;
  int id; /* index into an environment of values; dense from 0 */
  tp_symkind kind;
  const char *name;
  struct tp_sym *bound, *dim; /* a dim's bound; the dim that made this bound; else NULL */
  int order;                  /* dims: in order of creation, which is the order of every domain */
  bool hidden;                /* made by the compiler: not to be given at the call */
  int compilation; /* the number, from 1 on, of the compilation that made it for itself; else 0 */
  /* for a VAR that is a thread's share of an extent (plan/team.c): that extent, which stays the
   * same during a run; else NULL */
  const struct tp_ix *whole;
  /* for a hidden bound that counts the binary digits, at least 1, of another bound (tp_sym_digits):
   * that bound; else NULL */
  tp_sym *digits;
  tp_pos pos;
};

typedef const struct tp_ix tp_ix; /* immutable; compare by pointer */
typedef tp_sym *const *tp_dims;   /* lists of dims (or symbols) and of expressions; */
typedef tp_ix *const *tp_ixs;     /* the number of entries stands beside each */
typedef struct tp_ictx tp_ictx; /* owns symbols and expressions, and an isl_ctx made on first use */

typedef enum {
  TP_IX_POLY, /* constants, sums, products: see tp_ix_term */
  /* atoms; alone they are themselves, no POLY of one term */
  TP_IX_SYM,
  TP_IX_MIN,
  TP_IX_MAX,
  TP_IX_FDIV,
  TP_IX_MOD,
  /* conditions */
  TP_IX_TRUE,
  TP_IX_FALSE,
  TP_IX_GE0,
  TP_IX_EQ0,
  TP_IX_AND,
  TP_IX_OR,
  TP_IX_NOT
} tp_ixkind;

tp_ictx *tp_ictx_new(void);        /* NULL: no memory */
tp_ictx *tp_ictx_free(tp_ictx *c); /* NULL */
tp_arena *tp_ictx_arena(tp_ictx *c);

/* ---- symbols ---- (error option: the name is taken) */
/* bound_name NULL: the upper-cased name */
struct tp_sym *tp_sym_dim(
    tp_ictx *c, const char *name, const char *bound_name, tp_pos pos, tp_error *err);
struct tp_sym *tp_sym_bound(tp_ictx *c, const char *name, tp_pos pos, tp_error *err);
/* fresh VAR: hint, hint1, hint2, ... never clashes */
struct tp_sym *tp_sym_var(tp_ictx *c, const char *hint);
/* Begin a compilation and, with the number that this gave, end it. Its own symbols may have the
 * names of earlier compilations' own, so each compilation of a program uses the same names. */
int tp_sym_begin(tp_ictx *c);
void tp_sym_end(tp_ictx *c, int was);
struct tp_sym *tp_sym_hidden_dim(tp_ictx *c, const char *hint); /* fresh dim without a bound */
/* the hidden bound of that name; made, with a free name, if there is none */
struct tp_sym *tp_sym_hidden_bound(tp_ictx *c, const char *name);
/* the hidden dim over the binary digits of a bound; tp_sym_set_hidden sets its bound in env */
struct tp_sym *tp_sym_digits(tp_ictx *c, tp_sym *bound);
void tp_sym_set_hidden(const tp_ictx *c, int64_t *env);
struct tp_sym *tp_sym_find(tp_ictx *c, const char *name); /* dim or bound or var, NULL */
int tp_nsym(const tp_ictx *c);
struct tp_sym *tp_sym_at(const tp_ictx *c, int id);

/* ---- expressions ---- (one that is too large or too deep marks the context:
 * tp_ictx_overflowed) */
tp_ix *tp_ix_const(tp_ictx *c, int64_t v);
tp_ix *tp_ix_sym(tp_sym *s);
tp_ix *tp_ix_add(tp_ix *a, tp_ix *b);
tp_ix *tp_ix_sub(tp_ix *a, tp_ix *b);
tp_ix *tp_ix_neg(tp_ix *a);
tp_ix *tp_ix_mul(tp_ix *a, tp_ix *b);
tp_ix *tp_ix_addc(tp_ix *a, int64_t k);
tp_ix *tp_ix_mulc(tp_ix *a, int64_t k);
tp_ix *tp_ix_fdiv(tp_ix *a, int64_t k); /* floor(a / k), k > 0 */
tp_ix *tp_ix_mod(tp_ix *a, int64_t k);  /* a - k*floor(a/k), k > 0 */
tp_ix *tp_ix_min(tp_ix *a, tp_ix *b);
tp_ix *tp_ix_max(tp_ix *a, tp_ix *b);
/* The exact quotient of polynomials; NULL: b does not divide a. */
tp_ix *tp_ix_divexact(tp_ix *a, tp_ix *b);
/* Lets a host end work: `interrupted` is asked between questions to isl and by tp_ictx_ended, and
 * from its first yes on isl gives nothing. tp_ictx_unwatch says whether work ended, and forgets
 * unknown answers. */
void tp_ictx_watch(tp_ictx *c, bool (*interrupted)(void *host), void *host);
bool tp_ictx_ended(tp_ictx *c);
bool tp_ictx_unwatch(tp_ictx *c);
/* Words for an expression that was too large or nested too deep since this was last asked; NULL:
 * none was. */
enum { TP_MAXNEST = 100 };
#define TP_NESTED "is nested too deep"
const char *tp_ictx_overflowed(tp_ictx *c);

/* ---- conditions ---- */
tp_ix *tp_ix_bool(tp_ictx *c, bool v);
typedef enum { TP_EQ, TP_NE, TP_LT, TP_LE, TP_GT, TP_GE } tp_cmp;
tp_ix *tp_ix_cmp(tp_cmp op, tp_ix *a, tp_ix *b);
tp_ix *tp_ix_and(tp_ix *a, tp_ix *b);
tp_ix *tp_ix_or(tp_ix *a, tp_ix *b);
tp_ix *tp_ix_not(tp_ix *a);
/* their conjunction, where NULL is no condition */
tp_ix *tp_ix_both(tp_ix *a, tp_ix *b);
/* part k of a conjunction; NULL: no more */
tp_ix *tp_ix_conjunct(tp_ix *cond, int k);

/* ---- looking inside ---- */
tp_ixkind tp_ix_kind(tp_ix *e);
bool tp_ix_is_cond(tp_ix *e);
bool tp_ix_is_const(tp_ix *e, int64_t *v); /* v may be NULL */
static inline int64_t tp_floormod(int64_t a, int64_t k) { return a % k + (a % k < 0 ? k : 0); }
static inline int64_t tp_floordiv(int64_t a, int64_t k) { return a / k - (a % k < 0); }
static inline uint64_t tp_gcd(uint64_t a, uint64_t b) { return b ? tp_gcd(b, a % b) : a; }
static inline bool tp_is_number(tp_ix *e, int64_t v) {
  int64_t c;
  return tp_ix_is_const(e, &c) && c == v;
}
bool tp_ix_is_affine(tp_ix *e);
bool tp_ix_mentions(tp_ix *e, tp_sym *s);
/* distinct symbols, ascending ids; how many; e NULL: none */
int tp_ix_syms(tp_ix *e, tp_dims *out);
bool tp_ix_of_bounds(tp_ix *e); /* e mentions only bounds */
tp_sym *tp_ix_as_sym(tp_ix *e); /* the symbol if e is just one, else NULL */
/* An integer expression is its constant tp_ix_cst and terms: a coefficient times n atoms. */
int tp_ix_nterm(tp_ix *e);
int64_t tp_ix_cst(tp_ix *e);
int64_t tp_ix_coef(tp_ix *e, int i);
int tp_ix_term(tp_ix *e, int i, tp_ixs *atoms); /* n */
int tp_ix_narg(tp_ix *e); /* FDIV MOD GE0 EQ0 NOT: 1; MIN MAX AND OR: n; else 0 */
tp_ix *tp_ix_arg(tp_ix *e, int i);
int64_t tp_ix_div(tp_ix *e); /* k of FDIV, MOD */
/* Is e = s*k + rest, where rest does not mention s? */
bool tp_ix_linear_in(tp_ix *e, tp_sym *s, int64_t *k, tp_ix **rest);
/* A function that is linear in s and, for s from lo to last, nowhere below e (above), or nowhere
 * above it. NULL: none was found. */
tp_ix *tp_ix_edge(tp_ix *e, tp_sym *s, tp_ix *lo, tp_ix *last, bool above);

/* ---- transformation ---- */
/* Simultaneous substitution from[i] := to[i], in expressions and conditions. */
tp_ix *tp_ix_subst(tp_ix *e, int n, tp_dims from, tp_ixs to);
/* e >= 0 if 0 <= d < D for each dim mentioned (D its bound), D >= 1 for the dims listed, and every
 * bound is >= 0. False: not proved. */
bool tp_ix_prove_ge0(tp_ix *e, int ndims, tp_dims dims);
/* Canonical form on that domain. */
tp_ix *tp_ix_simplify(tp_ix *e, int ndims, tp_dims dims);
/* Extent of lo .. hi on a domain: max(0, hi - lo) simplified. */
tp_ix *tp_ix_extent(tp_ix *lo, tp_ix *hi, int ndims, tp_dims dims);
/* An upper (lower) bound over the given dims that does not mention them; upper of t + 1 is T. NULL:
 * none is known (a hidden dim, a product of factors of unknown sign). */
tp_ix *tp_ix_upper(tp_ix *e, int ndims, tp_dims dims);
tp_ix *tp_ix_lower(tp_ix *e, int ndims, tp_dims dims);

/* ---- evaluation ---- by env[sym->id] */
bool tp_ix_eval(tp_ix *e, const int64_t *env, int64_t *out); /* false: beyond i64, saturated */
/* Bounds of e's values where each symbol lies in lo .. hi (both inclusive, by id); exact for one
 * symbol used once, saturated; no conditions. hi NULL: lo has the bounds, and each dim is anywhere
 * in its domain. */
void tp_ix_range(tp_ix *e, const int64_t *lo, const int64_t *hi, int64_t *least, int64_t *most);
/* unchecked, fast; conditions give 0 or 1 */
int64_t tp_ix_evalq(tp_ix *e, const int64_t *env);

/* ---- text ---- prints what it parses: "2*t + T*B - 1", "min(t + 10, T - 1)", "t//2", "t%3";
 * conditions: "t >= 1", "t == 0", "(a >= 0 and b == 0)". All of < <= > >= == != and `not` parse. */
void tp_ix_print(tp_buf *b, tp_ix *e);
const char *tp_ix_str(tp_ix *e);  /* in the context's arena */
const char *tp_ix_said(tp_ix *e); /* without parentheses around the whole */
/* advances *s; symbols must exist; stops before .. and -> */
tp_ix *tp_ix_parse(tp_ictx *c, const char **s, tp_error *err);

/* Prints lines that name symbols, in the order of ids, some with " hidden": "dim t:T", "bound K" (a
 * dim's bound has no line), "var t1". */
void tp_syms_print(tp_buf *b, const tp_ictx *c, const bool *used);
/* parses a line after its first word; an existing symbol is reused */
bool tp_sym_line(tp_ictx *c, tp_scan *in, tp_symkind kind);

/* ---- indices: how a consumer's point sends to a producer's ---- */
/* a point: lo; a range: lo .. hi, half open */
typedef struct tp_at {
  bool range;
  tp_ix *lo, *hi;
} tp_at;

/* ---- sets of points (sets.c, questions.c) ----
 * A tp_set lives in the space of an ordered list of dims (positional), its parameters are bounds. A
 * failed isl call gives NULL; tp_isl_check() turns isl's last error into ours. */
typedef struct isl_set tp_set;
typedef struct isl_map tp_rel;
/* false and err filled if isl failed since the last check */
bool tp_isl_check(tp_ictx *c, tp_pos pos, tp_error *err);
TP_GIVE tp_set *tp_set_box(tp_ictx *c, int n, tp_dims dims); /* 0 <= d < D */
TP_GIVE tp_set *tp_set_empty(tp_ictx *c, int n, tp_dims dims);
TP_GIVE tp_set *tp_set_outside(tp_ictx *c, int n, tp_dims dims); /* all but the box */
/* universe where cond holds; symbols of cond: dims listed or bounds */
TP_GIVE tp_set *tp_set_cond(tp_ictx *c, int n, tp_dims dims, tp_ix *cond);
/* The points of the box at which cond(list, k) is the first of the list that holds; NULL is a
 * condition that always does. */
TP_GIVE tp_set *tp_set_first(tp_ictx *c, const void *list, int n, tp_dims dims, int k,
    tp_ix *(*cond)(const void *list, int i));
TP_GIVE tp_set *tp_set_copy(TP_KEEP tp_set *s);
tp_set *tp_set_free(TP_TAKE tp_set *s);
TP_GIVE tp_set *tp_set_and(TP_TAKE tp_set *a, TP_TAKE tp_set *b);
TP_GIVE tp_set *tp_set_or(TP_TAKE tp_set *a, TP_TAKE tp_set *b); /* coalesced */
TP_GIVE tp_set *tp_set_minus(TP_TAKE tp_set *a, TP_TAKE tp_set *b);
/* one piece around both, inside the constraints of a that `by` meets too */
TP_GIVE tp_set *tp_set_widen(TP_TAKE tp_set *a, TP_KEEP tp_set *by);
/* does a depend on the bound s? */
bool tp_set_mentions(TP_KEEP tp_set *a, tp_sym *s);
/* The points that a has for some value of the bound s with cond, a condition on bounds: s is no
 * parameter of the result. */
TP_GIVE tp_set *tp_set_some(tp_ictx *c, TP_TAKE tp_set *a, tp_sym *s, tp_ix *cond);
/* {(from dims) -> (to dims)}: each to-dim is at[i] over the from dims and bounds: a point or every
 * u with lo <= u < hi. */
TP_GIVE tp_rel *tp_rel_at(
    tp_ictx *c, int nfrom, tp_dims from, int nto, tp_dims to, const tp_at *at);
/* The pairs of r for which cond holds; a symbol of both lists is the from-dim. */
TP_GIVE tp_rel *tp_rel_where(
    tp_ictx *c, TP_TAKE tp_rel *r, int nfrom, tp_dims from, int nto, tp_dims to, tp_ix *cond);
/* as tp_set_some */
TP_GIVE tp_rel *tp_rel_some(tp_ictx *c, TP_TAKE tp_rel *r, tp_sym *s, tp_ix *cond);
TP_GIVE tp_rel *tp_rel_copy(TP_KEEP tp_rel *r);
tp_rel *tp_rel_free(TP_TAKE tp_rel *r);
TP_GIVE tp_rel *tp_rel_reverse(TP_TAKE tp_rel *r);
/* intersect the domain, the range */
TP_GIVE tp_rel *tp_rel_restrict(TP_TAKE tp_rel *r, TP_TAKE tp_set *from);
TP_GIVE tp_rel *tp_rel_into(TP_TAKE tp_rel *r, TP_TAKE tp_set *to);
/* {p -> p : p in s}; first a, then b; both, coalesced */
TP_GIVE tp_rel *tp_rel_id(TP_TAKE tp_set *s);
TP_GIVE tp_rel *tp_rel_compose(TP_TAKE tp_rel *a, TP_TAKE tp_rel *b);
TP_GIVE tp_rel *tp_rel_or(TP_TAKE tp_rel *a, TP_TAKE tp_rel *b);
/* From points of set[from] to points of set[to]. */
typedef struct tp_hop {
  int from, to;
  tp_rel *rel;
} tp_hop;
/* Each set grows to all that any sequence of hops reaches. False: isl has no exact answer, and some
 * sets may have grown. */
bool tp_set_closure(tp_ictx *c, int n, tp_set **set, int nhop, TP_KEEP const tp_hop *hop);
/* the from-points of its pairs */
TP_GIVE tp_set *tp_rel_points(TP_TAKE tp_rel *r);
TP_GIVE tp_set *tp_set_apply(TP_TAKE tp_set *s, TP_TAKE tp_rel *r); /* image */
/* for all bounds >= 0 */
bool tp_set_is_empty(tp_ictx *c, TP_KEEP tp_set *s);
bool tp_set_none(tp_ictx *c, TP_TAKE tp_set *s); /* the same; frees s */
bool tp_set_subset(tp_ictx *c, TP_KEEP tp_set *a, TP_KEEP tp_set *b);
bool tp_set_equal(tp_ictx *c, TP_KEEP tp_set *a, TP_KEEP tp_set *b);
/* has `dim` at most so many values for each value of the other dims, as s is written? */
bool tp_set_few(tp_ictx *c, TP_KEEP tp_set *s, int dim, int most);
/* The condition on bounds (all >= 0) under which the set has a point; under which it is empty, in
 * the fewest words. NULL: isl finds none. */
tp_ix *tp_set_nonempty_when(tp_ictx *c, TP_KEEP tp_set *s);
tp_ix *tp_set_empty_when(tp_ictx *c, TP_KEEP tp_set *s);
/* Is there a value of the bounds, all >= least, for which the set is empty? */
bool tp_set_can_be_empty(tp_ictx *c, TP_KEEP tp_set *s, int64_t least);
/* Membership as a condition over the dims and bounds (gist by the box if `simplify`). */
tp_ix *tp_set_to_cond(tp_ictx *c, int n, tp_dims dims, TP_KEEP tp_set *s, bool simplify);
/* The same, for points that are in known. */
tp_ix *tp_set_told(tp_ictx *c, int n, tp_dims dims, TP_KEEP tp_set *s, TP_TAKE tp_set *known);
/* A smallest point of s with bounds as small as possible but >= least where it can be: env[sym->id]
 * filled for dims and every bound. False: empty. */
bool tp_set_witness(
    tp_ictx *c, int n, tp_dims dims, TP_KEEP tp_set *s, int64_t least, int64_t *env);
/* frees what is kept of earlier answers */
void tp_isl_forget(tp_ictx *c);

/* Between the two calls isl may take so many operations; beyond them its functions give NULL. The
 * second call takes the number that the first gave; false: isl took more, and the error is
 * forgotten. */
unsigned long tp_isl_budget(tp_ictx *c, unsigned long operations);
bool tp_isl_within(tp_ictx *c, unsigned long before);
/* spaces made so far; each question to isl needs one */
long tp_isl_spaces(const tp_ictx *c);
#endif
