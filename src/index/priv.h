/* priv: types and functions that the files of src/index share.
 *
 * A monomial is a hash-consed product of atoms, sorted by tp_ix_order. Monomials are ordered by
 * degree, then by their atoms, lexicographically; multiplication keeps the order, so products of
 * sorted polynomials stay sorted and polynomial division ends. The order depends on structure and
 * symbols' ids only, never on what was built before: the same text always prints the same way. An
 * atom's terms are 1 times itself, so every integer expression may be read as a polynomial. */
#ifndef TP_INDEX_PRIV_H
#define TP_INDEX_PRIV_H
#include "index/index.h"

typedef struct tp_mono {
  int id, n;
  tp_ixs atom;
} tp_mono;
typedef struct tp_term {
  int64_t coef;
  const tp_mono *m;
} tp_term;

struct tp_ix {
  tp_ictx *c; /* where it is interned */
  tp_ixkind kind;
  int id; /* dense, in order of creation */
  bool affine;
  int depth; /* min, max, floordiv, mod and conditions one inside another */
  int nsym;  /* symbols mentioned, ascending ids */
  tp_dims syms;
  tp_sym *sym;      /* SYM */
  int64_t cst, div; /* POLY: the constant; FDIV, MOD: the divisor */
  int narg;
  tp_ixs arg;
  int nterm;
  const tp_term *term;
};

enum { TP_TOO_LARGE = 1, TP_TOO_DEEP = 2 };

struct tp_ictx {
  tp_arena arena;
  tp_hmap names, nodes, monos, memo;
  TP_VEC(struct tp_sym *) sym;
  TP_VEC(int64_t) key;   /* scratch: the key being looked up */
  TP_VEC(tp_term) stack; /* scratch: polynomials under construction */
  int nnode, ndim;
  int compilation, ncompilation; /* the compilation at work, 0: none; how many there were */
  int overflowed;                /* TP_TOO_LARGE, TP_TOO_DEEP: happened since it was last asked */
  tp_buf text;
  struct isl_ctx *isl;
  long nspace;
  struct tp_memo *asked; /* memo.c */
  bool (*interrupted)(void *host);
  void *host; /* NULL: nothing is watched */
  bool ended; /* the host has ended work: isl gives nothing any more */
};

/* ---- ix.c ---- */
/* kind, sym, cst, div, arg, term of proto count */
tp_ix *tp_ix_intern(tp_ictx *c, tp_ix *proto);
/* total, structural: < 0, 0, > 0; 0 only for a == b */
int tp_ix_order(tp_ix *a, tp_ix *b);
void tp_ix_sort(tp_ix **v, int n); /* by tp_ix_order */
/* is a - sign*b a constant? sign is 1 or -1 */
bool tp_ix_differ(tp_ix *a, int sign, tp_ix *b, int64_t *k);
/* The terms whose coefficient is (is not) divisible by k, their coefficients divided by `by`, plus
 * cst. */
tp_ix *tp_ix_part(tp_ix *e, int64_t k, bool divisible, int64_t by, int64_t cst);
/* gcd of k and the coefficients; k = 0: of the coefficients, 0 if there are none */
int64_t tp_ix_content(tp_ix *e, int64_t k);
typedef tp_ix *tp_ix_fn(tp_ix *atom, void *ud);
/* e with its outermost atoms replaced */
tp_ix *tp_ix_map_atoms(tp_ix *e, tp_ix_fn *f, void *ud);
/* Is e = x*k + rest, where the atom x stands in rest only inside other atoms? No if it is squared.
 */
bool tp_ix_split(tp_ix *e, tp_ix *x, tp_ix **k, tp_ix **rest);
/* MIN, MAX, AND, OR of n operands */
tp_ix *tp_ix_nary(tp_ixkind kind, int n, tp_ixs v);
/* e of kind MIN, MAX, FDIV, MOD or a condition, rebuilt with arguments f(arg). */
tp_ix *tp_ix_map_args(tp_ix *e, tp_ix_fn *f, void *ud);

/* ---- cond.c ---- */
/* AND or OR of all parts */
tp_ix *tp_ix_join(tp_ictx *c, tp_ixkind kind, int n, tp_ixs part);
tp_ix *tp_ix_ge0(tp_ix *e);
tp_ix *tp_ix_eq0(tp_ix *e);

/* ---- prove.c ---- */
/* Writes the key in c->memo of a result about e on the domain of dims; gives its bytes. key has
 * room for e->nsym + 2. dims add to e only which of its bounds are >= 1. */
size_t tp_ix_memo_key(int64_t *key, int tag, tp_ix *e, int ndims, tp_dims dims);
enum { TP_MEMO_PROVE, TP_MEMO_SIMPLIFY, TP_MEMO_NOT };

bool tp_sym_name_char(int ch, bool first); /* sym.c */

/* ---- sets.c, isl.c ---- */
/* Is it proved, within a budget, that no point of the box of dims and no bounds >= 0 satisfy
 * cond? */
bool tp_isl_impossible(tp_ictx *c, int n, tp_dims dims, tp_ix *cond);
void tp_isl_close(tp_ictx *c);
#endif
