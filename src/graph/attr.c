/* The text of attributes that need no graph to be understood; the SDG's and the plan's text share it. */
#include "graph/graph.h"
#include <math.h>

static const char *const rands[] = { "uniform", "normal", "bernoulli", "randint" }, *const reds[] = { "sum", "prod", "max", "min" };
static const char *const checks[] = { "none", "nan", "meant" };

const char *tp_red_name(tp_red red) { return reds[red]; }

/* ---- writing ---- */

tp_buf *tp_attr_item(tp_buf *b, int *count, const char *key) {
  tp_puts(b, (*count)++ ? ", " : " {");
  tp_puts(b, key);
  return b;
}

static bool zero(double x) { return x == 0 && !signbit(x); }

static void put_numbers(tp_buf *b, const tp_attr *a, int *count) {
  if (!zero(a->f[0]) || !zero(a->f[1])) {
    tp_puts(tp_attr_item(b, count, "f"), " ");
    tp_put_double(b, a->f[0]);
    if (!zero(a->f[1])) tp_puts(b, " "), tp_put_double(b, a->f[1]);
  }
  if (a->i[0] || a->i[1]) tp_putf(tp_attr_item(b, count, "i"), " %lld %lld", (long long)a->i[0], (long long)a->i[1]);
  if (a->hash) tp_putf(tp_attr_item(b, count, "hash"), " 0x%llx", (unsigned long long)a->hash);
}

void tp_attr_print(tp_buf *b, const tp_attr *a, int *count) {
  if (a->str) tp_puts(tp_attr_item(b, count, "str"), " "), tp_put_string(b, a->str);
  if (a->naxes) tp_attr_item(b, count, "axes");
  for (int i = 0; i < a->naxes; i++) tp_putf(b, " %d", a->axes[i]);
  if (a->axis) tp_putf(tp_attr_item(b, count, "axis"), " %d", a->axis);
  if (a->keepdim) tp_attr_item(b, count, "keepdim");
  if (a->flag) tp_attr_item(b, count, "flag");
  put_numbers(b, a, count);
  if (a->rand) tp_putf(tp_attr_item(b, count, "rand"), " %s", rands[a->rand]);
  if (a->red) tp_putf(tp_attr_item(b, count, "red"), " %s", reds[a->red]);
  if (a->check) tp_putf(tp_attr_item(b, count, "check"), " %s", checks[a->check]);
  if (a->fn) tp_putf(tp_attr_item(b, count, "fn"), " %d", a->fn);
}

/* ---- reading ---- */

static bool axes(tp_scan *in, tp_attr *a) {
  int v[TP_MAXRANK], n = 0;
  while (tp_scan_more(in)) {
    if (n == TP_MAXRANK) return tp_scan_fail(in, "too many axes");
    if (!tp_scan_small(in, &v[n++])) return false;
  }
  a->naxes = n;
  a->axes = tp_dup(in->a, v, sizeof *v * (size_t)n);
  return true;
}

static bool numbers(tp_scan *in, tp_attr *a) { return tp_scan_double(in, &a->f[0]) && (!tp_scan_more(in) || tp_scan_double(in, &a->f[1])); }
static bool integers(tp_scan *in, tp_attr *a) { return tp_scan_int(in, &a->i[0]) && (!tp_scan_more(in) || tp_scan_int(in, &a->i[1])); }
static bool text(tp_scan *in, tp_attr *a) { return (a->str = tp_scan_string(in)) != NULL; }

bool tp_attr_parse(tp_scan *in, tp_attr *a, const char *key, bool *known) {
  int v = 0;
  bool ok;
  *known = true;
#define KEY(name) (strcmp(key, name) == 0)
  if (KEY("str")) return text(in, a);
  if (KEY("axes")) return axes(in, a);
  if (KEY("axis")) return tp_scan_small(in, &a->axis);
  if (KEY("keepdim")) return a->keepdim = true;
  if (KEY("flag")) return a->flag = true;
  if (KEY("f")) return numbers(in, a);
  if (KEY("i")) return integers(in, a);
  if (KEY("hash")) return tp_scan_u64(in, &a->hash);
  if (KEY("fn")) return tp_scan_small(in, &a->fn);
  if (KEY("rand")) return ok = tp_scan_choice(in, rands, TP_LEN(rands), &v), a->rand = (tp_randkind)v, ok;
  if (KEY("check")) return ok = tp_scan_choice(in, checks, TP_LEN(checks), &v), a->check = (tp_check)v, ok;
  if (KEY("red")) return ok = tp_scan_choice(in, reds, TP_LEN(reds), &v), a->red = (tp_red)v, ok;
#undef KEY
  *known = false;
  return true;
}
