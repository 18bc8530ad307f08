/* sample: the next token of a text, from a row of logits. */
#ifndef TP_SAMPLE_H
#define TP_SAMPLE_H
#include "base/base.h"

typedef struct tp_sampling {
  double temperature; /* 0: the largest logit, the lowest id among equals */
  double penalty;     /* of ids in `seen`: positive logits are divided by it, others multiplied */
  double top_p;       /* the fewest likeliest tokens with at least this share; 1: all */
  double min_p;       /* only tokens with this share of the likeliest one's; 0: all */
  int64_t top_k;      /* the likeliest k; 0: all */
  uint64_t seed;      /* the draw is a function of seed and position */
  int64_t position, nseen;
  const int64_t *seen; /* each id once, in 0 .. n-1 */
} tp_sampling;

/* Chooses one of n > 0 tokens: penalty, temperature, top-k, top-p, min-p, then the draw. logprob
 * (may be NULL): of the chosen id in the softmax of the logits as they came. -1: no memory. */
int64_t tp_sample(const tp_sampling *s, const float *logits, int64_t n, double *logprob);
#endif
