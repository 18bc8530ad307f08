/* Inside src/index. A monomial is a hash-consed product of atoms, sorted by tp_ix_order. Monomials
 * are ordered by degree, then by their atoms. Multiplication keeps the order, so products of sorted
 * polynomials are sorted and division ends. It depends on structure and ids of symbols only, so one
 * text always prints the same way. Every integer expression has terms: an atom's are 1 times
 * itself. */
#ifndef TP_INDEX_PRIV_H
#define TP_INDEX_PRIV_H
#include "index/index.h"

typedef struct tp_mono {
  int id, n;
  const tp_ix *const *atom;
} tp_mono;
typedef struct tp_term {
  int64_t coef;
  const tp_mono *m;
} tp_term;

struct tp_ix {
  tp_ixkind kind;
  int id; /* dense, by creation */
  bool affine;
  int depth; /* of nested min, max, floordiv, mod, conditions */
  int nsym;  /* ascending ids */
  const tp_sym *const *syms;
  const tp_sym *sym; /* SYM */
  int64_t cst, div;  /* POLY: the constant; FDIV, MOD: the divisor */
  int narg;
  const tp_ix *const *arg;
  int nterm;
  const tp_term *term;
};

enum { TP_TOO_LARGE = 1, TP_TOO_DEEP = 2 };

struct tp_ictx {
  tp_arena arena;
  tp_hmap names, nodes, monos, memo;
  TP_VEC(tp_sym *) sym;
  TP_VEC(int64_t) key;   /* scratch: a key */
  TP_VEC(tp_term) stack; /* scratch: polynomials in the making */
  int nnode, ndim;
  int compilation, ncompilation; /* at work, 0: none; number so far */
  int overflowed;                /* TP_TOO_LARGE, TP_TOO_DEEP since the last question */
  tp_buf text;
  struct isl_ctx *isl;
  long nspace;
  struct tp_memo *asked;
  bool (*interrupted)(void *host);
  void *host; /* NULL: not watched */
  bool ended; /* by the host: isl gives nothing */
};

/* takes proto's kind, sym, cst, div, arg, term */
const tp_ix *tp_ix_intern(tp_ictx *c, const tp_ix *proto);
/* structural; 0 only for a == b */
int tp_ix_order(const tp_ix *a, const tp_ix *b);
void tp_ix_sort(const tp_ix **v, int n);
/* a - sign*b constant? sign 1 or -1 */
bool tp_ix_differ(const tp_ix *a, int sign, const tp_ix *b, int64_t *k);
/* cst and the terms whose coefficient k divides, or not, divided by `by`. */
const tp_ix *tp_ix_part(
    tp_ictx *c, const tp_ix *e, int64_t k, bool divisible, int64_t by, int64_t cst);
/* gcd of k and the coefficients; 0: none */
int64_t tp_ix_content(const tp_ix *e, int64_t k);
typedef const tp_ix *tp_ix_fn(tp_ictx *c, const tp_ix *atom, void *ud);
/* replaces the outermost atoms */
const tp_ix *tp_ix_map_atoms(tp_ictx *c, const tp_ix *e, tp_ix_fn *f, void *ud);
/* e = x*k + rest, rest without x but inside of other atoms; false: x is squared. */
bool tp_ix_split(tp_ictx *c, const tp_ix *e, const tp_ix *x, const tp_ix **k, const tp_ix **rest);
const tp_ix *tp_ix_fold(tp_ictx *c, tp_ixkind kind, int n, const tp_ix *const *v);
/* with arguments f(arg) */
const tp_ix *tp_ix_map_args(tp_ictx *c, const tp_ix *e, tp_ix_fn *f, void *ud);

/* of AND or OR */
const tp_ix *tp_ix_join(tp_ictx *c, tp_ixkind kind, int n, const tp_ix *const *part);
const tp_ix *tp_ix_ge0(tp_ictx *c, const tp_ix *e);
const tp_ix *tp_ix_eq0(tp_ictx *c, const tp_ix *e);

/* The key in c->memo of a result about e on the domain of dims, which adds the bounds that are
 * >= 1. Room for e->nsym + 2; gives its bytes. */
size_t tp_ix_memo_key(int64_t *key, int tag, const tp_ix *e, int ndims, const tp_sym *const *dims);
enum { TP_MEMO_PROVE, TP_MEMO_SIMPLIFY, TP_MEMO_NOT };

bool tp_sym_name_char(int ch, bool first);

/* Proved within a budget; bounds >= 0. */
bool tp_isl_impossible(tp_ictx *c, int n, const tp_sym *const *dims, const tp_ix *cond);
void tp_isl_close(tp_ictx *c);
#endif
