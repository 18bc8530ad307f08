/* evolve: what a recurrence along a dim is as a function of how many steps it has gone. Private to
 * opt.
 *
 * A form is the value at n steps from the first point of the dim, in Newton's basis: sum of c[j] *
 * C(n, j), none of which has the dim. In the notation of chains of recurrences it is
 * {c0,+,c1,+,..,+,ck}, read before the step (pre form), and a recurrence x[n+1] = x[n] + f(n) puts
 * x[0] in front of f. Shifted by one step, c[j] becomes c[j] + c[j+1]. While the step of a
 * recurrence is looked at, a form may also hold the states of that step, each times a factor that
 * does not have the dim. */
#ifndef TP_OPT_EVOLVE_H
#define TP_OPT_EVOLVE_H
#include "opt/opt.h"
#include "graph/mk.h"

enum { EVOLVE_TERMS = 8, EVOLVE_STATES = 4 };
typedef struct tp_form {
  int n;
  tp_val c[EVOLVE_TERMS]; /* n == 0: 0 */
  /* and state i times by[i]; {NULL}: times 1 */
  bool has[EVOLVE_STATES];
  tp_val by[EVOLVE_STATES];
  /* 'l': by[i] is a matrix, the product by[i] @ state; 'r': state @ by[i]; 0: element by element */
  char side[EVOLVE_STATES];
} tp_form;

/* x[first] = init, otherwise x = step, a value at x's points. */
typedef struct tp_course {
  tp_val init, step;
} tp_course;
/* States that step together, each from all: row i is what state i is one step on. */
typedef struct tp_system {
  int n;
  tp_node *state[EVOLVE_STATES];
  tp_course of[EVOLVE_STATES];
  tp_form row[EVOLVE_STATES];
  /* of a state that matrices multiply: its type where they do; it is that but for axes of 1 */
  const tp_out *matrix;
} tp_system;

typedef enum { SOLVE_UNKNOWN, SOLVE_BUSY, SOLVE_FORM, SOLVE_SYSTEM, SOLVE_NOT } tp_solved;
typedef struct tp_solution {
  tp_solved is;
  tp_form form;
  tp_system *sys;
  const char *why;
  tp_pos at;
} tp_solution;

/* Along dim, from its first point on, or back from its last. */
typedef struct tp_evolving {
  tp_mk mk;
  const tp_sym *dim;
  bool back, precise;
  int n0;
  tp_solution *known; /* of nodes below n0 */
  /* of the graph, by id; that of the recurrence which is looked at, -1: of none */
  const int *scc;
  int in;
  const char *why;
  tp_pos at; /* what was met that is no form */
  int left;  /* operators that may still be looked at */
} tp_evolving;

/* chain.c. False: it is none, and why says so, or there is an error. */
/* the dim after them: 0 + steps, or its last point less steps */
const tp_ix *tp_point_after(const tp_evolving *e, int64_t steps);
bool tp_course_of(tp_evolving *e, const tp_node *m, tp_course *out);
/* The same of one that steps from several points, and from how many; first: its values at these. 0:
 * it is none. */
int tp_lagged_course(tp_evolving *e, const tp_node *m, tp_val *first, tp_val *step);
/* How many steps on the read n reads, -1 for a step back. other: at other points of other dims too.
 */
bool tp_steps_of(tp_evolving *e, const tp_node *n, int64_t *steps, bool *other);
/* lags.c. m as one of n states that step from one point; NULL: its step is made of something else
 * too, or there is an error. */
tp_node *tp_lagged_states(
    tp_evolving *e, tp_node *m, int n, const tp_val *first, tp_val step, const char *cone);
const tp_solution *tp_evolution_of(tp_evolving *e, tp_node *m);

/* Of a merge that is no part of the graph yet. */
void tp_evolution_of_new(tp_evolving *e, tp_solution *y, tp_node *m);

/* evolved.c. The value at every point of m's domain, without a step between them; {NULL}: not
 * found. */
tp_val tp_evolved_form(tp_evolving *e, const tp_node *m, const tp_form *f);
tp_val tp_evolved_system(tp_evolving *e, const tp_node *m, const tp_system *s);
/* totals.c. The sum of x over the points lo .. (the dim's bound - less) of e's dim, as a
 * contribution that is there where cond holds, which is over bounds; {NULL}: not found. */
tp_val tp_evolved_total(tp_evolving *e, tp_val x, int64_t lo, int64_t less, const tp_ix **cond);
/* Does the edge of an accumulation sum up such points, and of which of its operand's dims? NULL: it
 * does not. */
const tp_sym *tp_totals_along(
    tp_graph *g, const tp_node *n, const tp_edge *e, int64_t *lo, int64_t *less);
/* The same of what is summed along rows of a range of a dim that n does not have: which dim, and
 * the sum; NULL, {NULL}: it is none such, or not found. */
const tp_sym *tp_rows_along(tp_mk mk, const tp_node *n, int *r);
tp_val tp_evolved_rows(tp_evolving *e, const tp_node *n);
/* digits.c. The binary digits of how many steps lie before a point: a hidden dim k. */
typedef struct tp_digits {
  tp_mk mk;
  const tp_sym *dim, *k;
  tp_dtype dtype;
} tp_digits;
tp_digits tp_digits_along(const tp_evolving *e, tp_dtype dtype);
/* declared: like's type, the dims of all three ({NULL}: none), and k */
tp_val tp_over_digits(const tp_digits *d, tp_val like, tp_val a, tp_val b, bool with_dim);
tp_val tp_digit_before(const tp_digits *d, tp_val v); /* at k - 1 */
bool tp_digits_define(const tp_digits *d, tp_val v, tp_val first, tp_val next);
tp_val tp_digit_of(const tp_digits *d, const tp_ix *n); /* bool: is digit k of n 1? */
tp_val tp_digits_last(const tp_digits *d, tp_val v);
/* matrix.c. Of a system whose states matrices multiply; it goes step by step where steps are few,
 * from m, whose step is made of what cone marks by id. */
tp_val tp_evolved_matrix(
    tp_evolving *e, tp_node *m, const tp_system *s, const tp_ix *n, tp_dtype dtype);
tp_val tp_steps_where_few(
    tp_evolving *e, tp_node *m, const tp_system *s, const char *cone, tp_val evolved);
/* digits.c. The system's first state after n steps; n varies along e's dim. */
tp_val tp_evolved_digits(
    tp_evolving *e, const tp_node *m, const tp_system *s, const tp_ix *n, tp_dtype dtype);
#endif
