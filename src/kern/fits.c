/* fits: compares the memory that a call takes with what it may take. A call that takes more is
 * refused before its first step, with the bytes, their largest users, and bounds that would do. */
#include "kern/run.h"
#include <stdlib.h>

enum { TOLD = 4 }; /* pieces that are told */

static const char output_word[] = "output ";

int64_t tp_sum_bytes(int64_t a, int64_t b) {
  int64_t sum;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t tp_times_bytes(int64_t a, int64_t times) {
  int64_t n;
  return __builtin_mul_overflow(a, times, &n) ? INT64_MAX : n;
}

int tp_run_shape(
    const tp_run *run, int ndom, tp_dims dom, const tp_out *o, int64_t shape[TP_MAXRANK]) {
  int rank = 0;
  for (int i = 0; i < ndom && rank < TP_MAXRANK; i++) shape[rank++] = run->env[dom[i]->bound->id];
  for (int i = 0; i < o->rank && rank < TP_MAXRANK; i++) {
    int64_t least, most;
    tp_ix_range(o->shape[i], run->env, NULL, &least, &most);
    shape[rank++] = TP_MAX(most, 0);
  }
  return rank;
}

/* Bytes of an output. Points that were given away are kept too, for a run that goes on from a
 * state, unless they would fill the memory. */
int64_t tp_product_bytes(const tp_product *o, const tp_run *run, int i) {
  int64_t shape[TP_MAXRANK], n = tp_dtype_size(o->type.dtype);
  int rank = tp_run_shape(run, o->ndim, o->dims, &o->type, shape);
  for (int k = 0; k < rank; k++) n = tp_times_bytes(n, shape[k]);
  return run->shown && run->shown[i] && n > TP_TUNE_FITS_WHOLE ? -1 : n;
}

int64_t tp_product_piece(const tp_product *o, const tp_run *run, int i, tp_piece *v, int *n) {
  int64_t bytes = TP_MAX(tp_product_bytes(o, run, i), 0);
  if (v && bytes)
    v[(*n)++] = (tp_piece){ o->hidden ? "parameter " : output_word, o->name, o->pos, bytes };
  return bytes;
}

tp_allowance tp_run_allowance(const tp_run *run, int64_t back) {
  return run->memory > 0 ? (tp_allowance){ run->memory, "that TEMPO_MEMORY allows" }
                         : tp_machine_memory(back);
}

bool tp_run_may(const tp_run *run, int64_t bytes, int64_t back, tp_allowance *a) {
  if (run->memory < 0 || (!run->memory && bytes <= TP_TUNE_FITS_UNASKED)) return true;
  *a = tp_run_allowance(run, back);
  if (bytes > a->bytes && tp_blocks_drop()) *a = tp_run_allowance(run, back);
  return bytes <= a->bytes;
}

/* ---- what is told ---- */

static int largest_first(const void *a, const void *b) {
  int64_t p = ((const tp_piece *)a)->bytes, q = ((const tp_piece *)b)->bytes;
  return (p < q) - (p > q);
}

typedef struct {
  char text[32];
} number;

static number said(int64_t bytes) {
  number s = { "more than 2^63" };
  if (bytes < INT64_MAX) snprintf(s.text, sizeof s.text, "%lld", (long long)bytes);
  return s;
}

/* Those that are not small beside the largest. */
void tp_tell_pieces(tp_error *err, tp_piece *v, int n) {
  qsort(v, (size_t)n, sizeof *v, largest_first);
  for (int i = 0; i < n && i < TOLD && v[i].bytes >= v[0].bytes / 100; i++) {
    char where[512] = "";
    if (v[i].pos.file) snprintf(where, sizeof where, " at %s:%d", v[i].pos.file, v[i].pos.line);
    if (v[i].name)
      tp_note(err, "  %s of them for %s'%s'%s", said(v[i].bytes).text, v[i].what, v[i].name, where);
    else tp_note(err, "  %s of them for %s%s", said(v[i].bytes).text, v[i].what, where);
  }
}

/* The greatest value of one bound with which so many bytes are enough; -1: none was found in
 * time. */
static int64_t fitting(const tp_demand *d, int64_t *env, int bound, int64_t most, double until) {
  int64_t was = env[bound], lo = 0, hi = was; /* lo: fits, or is not known to */
  while (hi - lo > TP_MAX(lo / 64, 1) && tp_now() < until) {
    env[bound] = lo + (hi - lo) / 2;
    int64_t n = d->bytes(d->ud, env);
    *(n >= 0 && n <= most ? &lo : &hi) = env[bound];
  }
  env[bound] = was;
  return lo > 0 ? lo : -1;
}

void tp_tell_bounds(tp_error *err, const tp_demand *d, int64_t *env, int64_t most) {
  double until = tp_now() + 0.5;
  for (int i = 0; i < tp_nsym(d->ix) && tp_now() < until; i++) {
    tp_sym *s = tp_sym_at(d->ix, i);
    int64_t n =
        s->kind != TP_SYM_BOUND || s->hidden || env[i] < 2 ? -1 : fitting(d, env, i, most, until);
    if (n > 0)
      tp_note(err, "%s = %lld would do in place of %lld", s->name, (long long)n, (long long)env[i]);
  }
}

bool tp_run_refuse(tp_error *err, const tp_demand *d, int64_t *env, const tp_allowance *a,
    int64_t bytes, tp_piece *v, int n) {
  const tp_piece *most = n ? v : NULL;
  for (int i = 1; i < n; i++)
    if (v[i].bytes > most->bytes) most = &v[i];
  tp_fail(err, TP_E_MEMORY, most ? most->pos : TP_NOWHERE,
      "memory: these bounds need %s bytes, more than the %lld %s", said(bytes).text,
      (long long)a->bytes, a->whose);
  tp_tell_pieces(err, v, n);
  if (n && v[0].what == output_word)
    tp_note(err,
        "an output is an array over all its dims: reduce it over one, or read the points that are "
        "wanted");
  tp_tell_bounds(err, d, env, a->bytes);
  if (bytes < INT64_MAX)
    tp_note(err, "memory = \"none\" in P:compile, or TEMPO_MEMORY=none, starts it all the same");
  return false;
}
