/* What the files that make reductions over moving ranges recurrences share (incremental.c says how). */
#ifndef TP_RUNNING_H
#define TP_RUNNING_H
#include "opt/opt.h"
#include "graph/mk.h"

/* X over the points lo .. hi of its dim number `r` (at[r]), other dims at at[..], is reduced: the value at each point of dom. Along dim `c` of dom the range moves: its lower end is
 * max(L, c + l) or L alone, the upper one min(H, c + h) or H alone; NULL: there is none such. Nothing else of at mentions c. */
typedef struct moving {
  tp_mk mk; tp_red red;
  const tp_node *of;                            /* gives the recurrence its name */
  tp_val x; const tp_at *at; int r;
  tp_dtype dtype;                               /* that it is carried in */
  int ndom; const tp_sym *const *dom;
  const tp_sym *c;
  const tp_ix *l, *L, *h, *H;
} moving;

/* Is it such a range, of which a recurrence can be made? Fills in dom and what follows. */
bool tp_moving_range(moving *m);
bool tp_moving_ends(moving *m, const tp_at *range);     /* the ends alone, along m->c */
/* The recurrence's value over m->dom. */
tp_val tp_running(const moving *m);
/* The sum of v * exp(x - top) over the range, x being what m is of, top its maximum, over m->dom, and 0 where that is not finite: carried as sums are. v {NULL}: 1. */
tp_val tp_running_exp(const moving *m, tp_val v, tp_val *top);
/* The sum of (x - mean)^2 over the range, its mean and how many rows that is, over m->dom. */
tp_val tp_running_squares(const moving *m, tp_val *mean, tp_val *count);
tp_val tp_running_pair(const moving *m, tp_val a, tp_val b);    /* red(a, b) */
tp_val tp_running_nothing(const moving *m);     /* of no rows */
tp_val tp_running_row(const moving *m, const tp_ix *p);         /* row p, in what is carried */
bool tp_is_window(const moving *m);             /* both ends move: running_window.c */
tp_val tp_running_window(const moving *m);

/* A reduction's operand along its first axis, which stands for the rows lo .. hi of dim d of what is read. running_terms.c */
/* The reduction of out * in * exp(up - off): in and up vary along the axis and not with c, out and off the other way round; NULL: 1, and no exp. */
typedef struct running_term { tp_val in, out, up, off; } running_term;
enum { RUNNING_TERMS = 6 };
/* sums: of sums of products each is a term; differences too: a difference cancels after it is summed, for what is summed in f64 and rounded to less. */
typedef struct running_terms { tp_mk mk; const tp_at *range; const tp_sym *d, *c; bool sums, differences; int n; running_term v[RUNNING_TERMS]; } running_terms;
bool tp_running_terms(running_terms *t, tp_val v);
/* v = (x - from)^2, x another for each row and not with c, from the other way round. */
bool tp_running_square(running_terms *t, tp_val v, tp_val *x, tp_val *from);
#endif
