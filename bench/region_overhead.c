/* Nanoseconds per region of the plan interpreter: small regions in a loop of N, so that what is
 * measured is what a region costs before its elements do. cc -O2 -Isrc -Ispec/c
 * bench/region_overhead.c build/libtempo.a -lisl -lgmp -lm -ldl -lpthread -o /tmp/region_overhead
 */
#include "plans.h"
#include <stdio.h>
#include <time.h>

enum { N = 200000 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef void maker(prog *p, const tp_ix *t, int64_t n, tp_pnode **out);

/* y[t % 4] = (x[t % 4] * 0.9 + y[(t - 1) % 4]): rings on both sides. */
static tp_nd ring_row(prog *p, const win *w, const tp_ix *t, int64_t n) {
  win one = { .rank = 1, .shape = { n }, .stride = { 1 }, .buf = w->buf };
  tp_nd d = nd_of(p, &one);
  d.nring = 1;
  d.ring = TP_NEW(&p->a, tp_ring);
  *d.ring = (tp_ring){ t, K(p, 4), K(p, n) };
  return d;
}

static tp_region *chain(prog *p, int nmicro, int nin) {
  win any = { .rank = 1, .shape = { 1 }, .stride = { 1 } };
  tp_region *r = region(p, TP_RG_EW, TP_OP_ADD, 0, NULL, nin, (win[]){ any, any, any }, 1, &any);
  r->micro = TP_NEWN(&p->a, tp_micro, nmicro);
  r->nmicro = nmicro;
  r->outmicro = TP_NEW(&p->a, int);
  r->outmicro[0] = nmicro - 1;
  return r;
}

static void make_ew(prog *p, const tp_ix *t, int64_t n, tp_pnode **out) {
  int64_t four[2] = { 4, n };
  win x = window(p, TP_BUF_INPUT, TP_F32, 0, 2, four, 0, true),
      y = window(p, TP_BUF_OUTPUT, TP_F32, 0, 2, four, 0, true);
  tp_region *r = chain(p, 3, 2);
  r->in[0] = ring_row(p, &x, t, n);
  r->in[1] = ring_row(p, &y, tp_ix_addc(p->c, t, -1), n);
  r->out[0] = ring_row(p, &y, t, n);
  r->micro[0] = (tp_micro){ .op = TP_OP_FILL, .dtype = TP_F32, .f = 0.9 };
  r->micro[1] = (tp_micro){ .op = TP_OP_MUL, .dtype = TP_F32, .in = { 0, 2 } };
  r->micro[2] = (tp_micro){ .op = TP_OP_ADD, .dtype = TP_F32, .in = { 3, 1 } };
  *out = leaf(p, r);
}

static void make_acc(prog *p, const tp_ix *t, int64_t n, tp_pnode **out) {
  make_ew(p, t, n, out);
  ((tp_region *)(*out)->rg)->acc = true;
}

static void make_copy(prog *p, const tp_ix *t, int64_t n, tp_pnode **out) {
  int64_t four[2] = { 4, n };
  win x = window(p, TP_BUF_INPUT, TP_F32, 0, 2, four, 0, true),
      y = window(p, TP_BUF_OUTPUT, TP_F32, 0, 2, four, 0, true);
  win one = { .rank = 1, .shape = { n }, .stride = { 1 } };
  tp_region *r = region(p, TP_RG_COPY, TP_OP_DETACH, 0, NULL, 1, &one, 1, &one);
  r->in[0] = ring_row(p, &x, t, n);
  r->out[0] = ring_row(p, &y, t, n);
  *out = leaf(p, r);
}

static void make_fill(prog *p, const tp_ix *t, int64_t n, tp_pnode **out) {
  make_copy(p, t, n, out);
  (*out)->rg->kind = TP_RG_FILL;
  (*out)->rg->nin = 0;
}

static void make_sum(prog *p, const tp_ix *t, int64_t n, tp_pnode **out) {
  int64_t four[2] = { 4, n }, k = 4;
  static const int axes[1] = { 0 };
  win x = window(p, TP_BUF_INPUT, TP_F32, 0, 2, four, 0, true),
      y = window(p, TP_BUF_OUTPUT, TP_F32, 0, 1, &k, 0, true);
  win one = { .rank = 1, .shape = { n }, .stride = { 1 } }, scalar = { .rank = 0, .buf = y.buf };
  tp_region *r = region(p, TP_RG_OP, TP_OP_SUM, 0, NULL, 1, &one, 1, &scalar);
  r->how = (tp_how){ .naxes = 1, .axes = axes };
  r->in[0] = ring_row(p, &x, t, n);
  *out = leaf(p, r);
}

/* The extent mentions the loop variable: bound anew by each execution. */
static void make_dynamic(prog *p, const tp_ix *t, int64_t n, tp_pnode **out) {
  make_ew(p, t, n, out);
  tp_region *r = (*out)->rg;
  const tp_ix *e = tp_ix_addc(p->c, tp_ix_mod(p->c, t, 2), n - 1);
  for (int i = 0; i < 2; i++) r->in[i].shape[0] = e;
  r->out[0].shape[0] = e;
}

static void make_matmul(prog *p, const tp_ix *t, int64_t n, tp_pnode **out) {
  int64_t a[2] = { 4, n }, b[2] = { n, n };
  win x = window(p, TP_BUF_INPUT, TP_F32, 0, 2, a, 0, true),
      w = window(p, TP_BUF_INPUT, TP_F32, 0, 2, b, 0, true),
      y = window(p, TP_BUF_OUTPUT, TP_F32, 0, 2, a, 0, true);
  (void)t;
  *out = leaf(p, region(p, TP_RG_OP, TP_OP_MATMUL, 0, NULL, 2, (win[]){ x, w }, 1, &y));
}

static double measure(maker *make, int64_t n, int count) {
  prog p;
  prog_open(&p);
  const tp_sym *v = tp_sym_var(p.c, "t");
  tp_pnode *body;
  make(&p, tp_ix_sym(p.c, v), n, &body);
  p.plan.body = loop(&p, v, K(&p, 1), K(&p, count + 1), 1, body);
  number_nodes(&p, p.plan.body, NULL);
  tp_plan_work(&p.plan);
  tp_exec *x = tp_exec_new(&p.plan, 1, &p.err);
  p.run = (tp_run){ .env = p.env, .inputs = p.in, .outputs = p.out };
  double best = 1e30;
  for (int k = 0; k < 5 && x; k++) {
    double start = now();
    if (!tp_exec_run(x, &p.run, &p.err)) {
      printf("%s\n", p.err.msg);
      break;
    }
    double d = (now() - start) / count;
    if (d < best) best = d;
  }
  tp_exec_free(x);
  prog_close(&p);
  return best;
}

int main(void) {
  static const struct {
    const char *name;
    maker *make;
  } rows[] = {
    { "chain of 2 (mul, add)", make_ew },
    { "  accumulating", make_acc },
    { "  dynamic extents", make_dynamic },
    { "copy", make_copy },
    { "fill", make_fill },
    { "sum", make_sum },
    { "matmul 4 x n x n", make_matmul },
  };
  static const int64_t sizes[] = { 1, 4, 64, 256, 1024, 16384 };
  printf("%-24s", "ns per region, n =");
  for (size_t k = 0; k < TP_LEN(sizes); k++) printf("%10lld", (long long)sizes[k]);
  printf("\n");
  for (size_t i = 0; i < TP_LEN(rows); i++) {
    printf("%-24s", rows[i].name);
    for (size_t k = 0; k < TP_LEN(sizes) - (rows[i].make == make_matmul) * 2; k++) {
      int64_t work = rows[i].make == make_matmul ? sizes[k] * sizes[k] : sizes[k];
      printf("%10.1f", measure(rows[i].make, sizes[k], (int)(N / (1 + work / 512))));
    }
    printf("\n");
  }
  return 0;
}
