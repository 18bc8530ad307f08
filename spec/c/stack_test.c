/* Large programs in a thread whose stack has 256 KiB: they are read, compiled and run, or refused
 * with an error, whatever their shape. */
#include "base/base.h"
#include "tempo.h"
#include "check.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
enum { STACK = 1 << 20, MANY = 200 }; /* its frames are larger */
#else
enum { STACK = 256 << 10, MANY = 1000 };
#endif

static const char *const tiers[] = { "reference", "interpreter" };
typedef struct {
  const char *name;
  void (*write)(tp_buf *b, int n);
  int n;
  double want;
} shape;

/* y = ((x / 2) / 2) ..., and its gradient. */
static void chain(tp_buf *b, int n) {
  tp_puts(b, "%1 = fill {f 0.5} : () f32 []\n%2 = mul %0, %1\n");
  for (int i = 3; i < n; i++) tp_putf(b, "%%%d = mul %%%d, %%1\n", i, i - 1);
  tp_putf(b, "%%%d = grad %%%d, %%0 {leaves 0}\noutput \"y\" %%%d\n", n, n - 1, n);
}

/* A tree of sums over n leaves. */
static void tree(tp_buf *b, int n) {
  tp_puts(b, "%1 = fill {f 1} : () f32 []\n");
  for (int i = 2; i < n; i++) tp_putf(b, "%%%d = add %%0, %%1\n", i);
  int at = 2, next = n;
  for (; next - at > 1; at += 2, next++) tp_putf(b, "%%%d = add %%%d, %%%d\n", next, at, at + 1);
  tp_putf(b, "output \"y\" %%%d\n", at);
}

/* Declared tensors, each of which reads the one before it a point ago, and the first the last. */
static void ring(tp_buf *b, int n) {
  for (int i = 0; i < n; i++) {
    int last = 1 + 2 * ((i + n - 1) % n);
    tp_putf(b, "%%%d = merge %%0 if t == 0, %%%d : (t) f32 []\n", 1 + 2 * i, 2 + 2 * i);
    tp_putf(b, "%%%d = read %%%d {at [t - 1]} : (t) f32 []\n", 2 + 2 * i, last);
  }
  tp_puts(b, "output \"y\" %1\n");
}

/* One read of another, n times. */
static void reads(tp_buf *b, int n) {
  for (int i = 1; i < n; i++)
    tp_putf(b, "%%%d = read %%%d {at [max(0, t - 1)]} : (t) f32 []\n", i, i - 1);
  tp_putf(b, "output \"y\" %%%d\n", n - 1);
}

static void wide(tp_buf *b, int n) {
  tp_puts(b, "%1 = reshape %0 : (t) f32 [1]\n%2 = concat ");
  for (int i = 0; i < n; i++) tp_puts(b, i ? ", %1" : "%1");
  tp_puts(b, " {axis 0}\n%3 = sum %2 {axes 0}\noutput \"y\" %3\n");
}

static void choices(tp_buf *b, int n) {
  tp_puts(b, "%1 = fill {f 0} : () f32 []\n%2 = lt %1, %0\n%3 = select %2, %0, %1\n");
  for (int i = 4; i < n; i++) tp_putf(b, "%%%d = select %%2, %%%d, %%1\n", i, i - 1);
  tp_putf(b, "output \"y\" %%%d\n", n - 1);
}

static void conditions(tp_buf *b, int n) {
  tp_puts(b, "%1 = fill {f 0} : () f32 []\n%2 = lt %1, %0\n%3 = lnot %2\n");
  for (int i = 4; i < n; i++)
    tp_putf(b, i % 2 ? "%%%d = lnot %%%d\n" : "%%%d = land %%%d, %%2\n", i, i - 1);
  tp_putf(b, "%%%d = cast %%%d {dtype f32}\noutput \"y\" %%%d\n", n, n - 1, n);
}

/* A deep index, and one that is deeper than it may be: refused. */
static void index_of(tp_buf *b, int n) {
  tp_puts(b, "%1 = read %0 {at [min(T - 1, ");
  for (int i = 0; i < n; i++) tp_putf(b, "(max(%d, ", i % 7);
  tp_puts(b, "t");
  for (int i = 0; i < n; i++) tp_puts(b, ") + 1)//2");
  tp_puts(b, ")]} : (t) f32 []\noutput \"y\" %1\n");
}

static const shape shapes[] = {
  { "chain", chain, MANY, 0 },
  { "tree", tree, MANY, NAN },
  { "ring", ring, MANY / 6, 2 },
  { "reads", reads, MANY / 8, 2 },
  { "wide", wide, MANY, 2.0 * MANY },
  { "choices", choices, MANY, 2 },
  { "conditions", conditions, MANY, NAN },
  { "index", index_of, 24, 2 },
  { "index", index_of, MANY, NAN },
};

static void live(const shape *s, const char *tier) {
  static const char *const names[] = { "x", "T" };
  int64_t bound = 3;
  tempo_error err = { 0 };
  tempo_array *x = tempo_array_new("f32", 1, &bound), *out[1] = { NULL };
  tp_buf b;
  tp_buf_init(&b);
  tp_puts(&b, "dim t:T\n%0 = input {str \"x\"} : (t) f32 []\n");
  s->write(&b, s->n);
  for (int i = 0; i < 3; i++) tempo_array_set(x, i, 2);
  tempo_program *p = tempo_program_parse(b.s, &err);
  tempo_function *f = p ? tempo_compile(p, tier, &err) : NULL;
  bool ok = f && tempo_run(f, 1, names, &x, 1, names + 1, &bound, 0, out, &err);
  CHECKF(
      ok ? isnan(s->want) || tempo_array_get(out[0], 2) == s->want : isnan(s->want) && *err.message,
      "%s of %d on %s: %g %s", s->name, s->n, tier, ok ? tempo_array_get(out[0], 2) : NAN,
      err.message);
  tempo_array_free(out[0]);
  tempo_array_free(x);
  tempo_function_free(f);
  tempo_program_free(p);
  tp_buf_free(&b);
}

static void *all(void *tier) {
  for (size_t i = 0; i < TP_LEN(shapes); i++) live(&shapes[i], tier);
  return NULL;
}

int main(void) {
  for (size_t i = 0; i < TP_LEN(tiers); i++) {
    pthread_t id;
    pthread_attr_t a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, STACK);
    bool begun = CHECK(pthread_create(&id, &a, all, (void *)tiers[i]) == 0);
    if (begun) pthread_join(id, NULL);
    pthread_attr_destroy(&a);
  }
  return check_report();
}
