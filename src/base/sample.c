/* sample: logits => one id. A heap gives the likeliest tokens first and only as many as are asked
 * for, so that no vocabulary is sorted; without limits, ids are walked as they lie. Shares are
 * summed up in doubles, in one order, so an id depends on its row, settings, seed and position. */
#include "base/sample.h"
#include <math.h>

typedef struct tp_choice {
  float v;
  int32_t id;
} tp_choice;

static bool likelier(tp_choice a, tp_choice b) { return a.v > b.v || (a.v == b.v && a.id < b.id); }

static void sift(tp_choice *c, int64_t n, int64_t k) {
  tp_choice x = c[k];
  for (int64_t child; (child = 2 * k + 1) < n; k = child) {
    if (child + 1 < n && likelier(c[child + 1], c[child])) child++;
    if (!likelier(c[child], x)) break;
    c[k] = c[child];
  }
  c[k] = x;
}

/* of a heap of n: the likeliest, which then lies at n - 1, behind the heap */
static tp_choice pop(tp_choice *c, int64_t n) {
  tp_choice top = c[0];
  c[0] = c[n - 1];
  c[n - 1] = top;
  sift(c, n - 1, 0);
  return top;
}

static float greatest(const float *v, int64_t n) {
  float m = -INFINITY;
  for (int64_t k = 0; k < n; k++) m = v[k] > m ? v[k] : m;
  return m;
}

static double log_share(const float *v, int64_t n, int64_t id) {
  double sum = 0, m = greatest(v, n);
  for (int64_t k = 0; k < n; k++) sum += v[k] == v[k] ? expf((float)(v[k] - m)) : 0;
  return v[id] - m - log(sum);
}

/* the logits after penalty and temperature; a NaN is never chosen. Returns the greatest. */
static float prepare(const tp_sampling *s, const float *logits, int64_t n, tp_choice *c) {
  for (int64_t k = 0; k < n; k++)
    c[k] = (tp_choice){ logits[k] == logits[k] ? logits[k] : -INFINITY, (int32_t)k };
  for (int64_t k = 0; k < s->nseen; k++) {
    float *v = &c[s->seen[k]].v;
    *v = (float)(*v > 0 ? *v / s->penalty : *v * s->penalty);
  }
  float m = -INFINITY, scale = s->temperature > 1e-30 ? (float)(1 / s->temperature) : 1;
  for (int64_t k = 0; k < n; k++) {
    c[k].v *= scale;
    m = c[k].v > m ? c[k].v : m;
  }
  return m;
}

static double share(tp_choice c, float most) { return expf(c.v - most); }

/* Moves the kept choices to the end of c, likeliest last; returns how many, and their sum. */
static int64_t keep(const tp_sampling *s, tp_choice *c, int64_t n, float most, double *sum) {
  int64_t limit = s->top_k > 0 && s->top_k < n ? s->top_k : n, popped = 0, kept = 0;
  double total = 0;
  for (int64_t k = n / 2; k-- > 0;) sift(c, n, k);
  if (limit < n)
    for (; popped < limit; popped++) total += share(pop(c, n - popped), most);
  else
    for (int64_t k = 0; k < n; k++) total += share(c[k], most);
  for (*sum = 0; kept < limit && (!kept || *sum < s->top_p * total); kept++) {
    if (kept >= popped) pop(c, n - popped++);
    double p = share(c[n - 1 - kept], most);
    if (kept && p < s->min_p) break;
    *sum += p;
  }
  return kept;
}

static int64_t choose(const tp_sampling *s, tp_choice *c, int64_t n, float most) {
  double sum = 0,
         u = tp_philox_uniform64(tp_philox_coord(tp_philox_op(s->seed, 0), 1, s->position), 0);
  if (s->top_k <= 0 && s->top_p >= 1 && s->min_p <= 0) {
    for (int64_t k = 0; k < n; k++) sum += share(c[k], most);
    u *= sum;
    int64_t last = 0;
    for (int64_t k = 0; k < n && u >= 0; k++) {
      double p = share(c[k], most);
      if (p > 0) last = c[k].id;
      u -= p;
    }
    return last;
  }
  int64_t kept = keep(s, c, n, most, &sum), k = 0;
  for (u *= sum; k < kept - 1 && (u -= share(c[n - 1 - k], most)) >= 0;) k++;
  return c[n - 1 - k].id;
}

int64_t tp_sample(const tp_sampling *s, const float *logits, int64_t n, double *logprob) {
  tp_choice *c = tp_alloc(sizeof *c * (size_t)n);
  if (!c) return -1;
  float most = prepare(s, logits, n, c);
  int64_t id = 0;
  if (s->temperature > 1e-30 && most > -INFINITY && most < INFINITY) id = choose(s, c, n, most);
  else
    while (id < n - 1 && !(c[id].v == most)) id++;
  tp_free(c);
  if (logprob) *logprob = log_share(logits, n, id);
  return id;
}
