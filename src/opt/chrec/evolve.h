/* evolve: a recurrence along a dim as a function of how many steps it has gone. Private to opt.
 *
 * A form is the value at n steps from the first point of the dim, in Newton's basis: sum of c[j] *
 * C(n, j), where no c[j] has the dim. As a chain of recurrences it is {c0,+,c1,+,..,+,ck}, read
 * before the step. A recurrence x[n+1] = x[n] + f(n) puts x[0] in front of f. Shifted by one step,
 * c[j] becomes c[j] + c[j+1]. The form of a step may also hold the step's states, each times a
 * factor that does not have the dim. */
#ifndef TP_OPT_EVOLVE_H
#define TP_OPT_EVOLVE_H
#include "opt/opt.h"

enum { EVOLVE_TERMS = 8, EVOLVE_STATES = 4 };
typedef struct tp_form {
  int n;
  tp_val c[EVOLVE_TERMS]; /* n == 0: 0 */
  /* has[i]: by[i] times state i is added; by[i] {NULL}: 1 times */
  bool has[EVOLVE_STATES];
  tp_val by[EVOLVE_STATES];
  /* 'l': by[i] is a matrix, the product by[i] @ state; 'r': state @ by[i]; 0: element by element */
  char side;
} tp_form;

/* x[first] = init, otherwise x = step, a value at x's points. */
typedef struct tp_course {
  tp_val init, step;
} tp_course;
/* States that step together, each from all of them: row i is state i one step on. */
typedef struct tp_system {
  int n;
  tp_node *state[EVOLVE_STATES];
  tp_course of[EVOLVE_STATES];
  tp_form row[EVOLVE_STATES];
  /* in a system with a matrix: the type of its one state where the matrix multiplies it, which is
   * its own but for axes of 1 */
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

/* The search along dim, from its first point on, or back from its last. */
typedef struct tp_evolving {
  tp_mk mk;
  tp_sym *dim;
  bool back;
  int n0;
  tp_solution *known; /* solutions of nodes below n0 */
  /* the graph's components, by id; the component of the recurrence at work, -1: none */
  const int *scc;
  int in;
  const char *why;
  tp_pos at; /* the position of an operator that has no form */
  int left;  /* operators that may still be looked at */
} tp_evolving;

/* chrec.c. False: m is no course, and why says so, or there is an error. */
bool tp_course_of(tp_evolving *e, const tp_node *m, tp_course *out);
const tp_solution *tp_evolution_of(tp_evolving *e, tp_node *m);

/* closed_form.c. The value at every point of m's domain, made without steps; {NULL}: not found. */
tp_val tp_evolved_form(tp_evolving *e, const tp_node *m, const tp_form *f);
tp_val tp_evolved_system(tp_evolving *e, const tp_node *m, const tp_system *s);
/* binary_power.c. The system's first state after n steps; n varies along e's dim. */
tp_val tp_evolved_power(
    tp_evolving *e, const tp_node *m, const tp_system *s, tp_ix *n, tp_dtype dtype);
#endif
