/* What the files of legality share (legal.c). */
#ifndef TP_LEGAL_H
#define TP_LEGAL_H
#include "graph/core.h"

typedef struct check {
  tp_graph *g;
  const tp_need *need;
  tp_error *err;
  int64_t *env; /* a witness, by symbol id */
  /* the runs to which nothing is given for this dim; NULL: all others */
  const tp_sym *zero;
} check;

/* ---- legal_words.c ---- */
const char *tp_legal_read(check *c, const tp_node *r);
const char *tp_legal_point(check *c, const tp_node *n);
const char *tp_legal_bounds(check *c, const tp_node *n);
const char *tp_legal_example(check *c, const tp_node *n);
#endif
