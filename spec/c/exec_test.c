/* The plan interpreter: hand-built regions of every kind on windows of random layout, against plain
 * loops. */
#include "plans.h"
#include "base/env.h"
#include "run/priv.h"
#include <time.h>

/* ---- elementwise ---- */

static cell load_cell(tp_dtype d, const win *w, const int64_t *at) {
  cell c = { win_get(w, at), tp_dtype_float(d) ? 0 : win_geti(w, at) };
  return c;
}

static cell apply(tp_op op, tp_dtype from, tp_dtype to, const cell *a) {
  bool flt = tp_dtype_float(from);
  cell r = { 0 };
  switch (op) {
  case TP_OP_ADD:
    r = (cell){ a[0].f + a[1].f, (int64_t)((uint64_t)a[0].i + (uint64_t)a[1].i) };
    break;
  case TP_OP_MUL:
    r = (cell){ a[0].f * a[1].f, (int64_t)((uint64_t)a[0].i * (uint64_t)a[1].i) };
    break;
  case TP_OP_MAXIMUM: r = (cell){ fmax(a[0].f, a[1].f), TP_MAX(a[0].i, a[1].i) }; break;
  case TP_OP_NEG: r = (cell){ -a[0].f, (int64_t)(0 - (uint64_t)a[0].i) }; break;
  case TP_OP_TANH: r = (cell){ tanh(a[0].f), 0 }; break;
  case TP_OP_LT: r.i = flt ? a[0].f < a[1].f : a[0].i < a[1].i; break;
  case TP_OP_LOR: r.i = a[0].i || a[1].i; break;
  case TP_OP_SELECT: r = a[0].i ? a[1] : a[2]; break;
  case TP_OP_CAST: {
    uint64_t mem = 0;
    if (flt) tp_put(to, &mem, 0, a[0].f);
    else tp_puti(to, &mem, 0, a[0].i);
    return (cell){ tp_get(to, &mem, 0), tp_dtype_float(to) ? 0 : tp_geti(to, &mem, 0) };
  }
  default: r = a[0];
  }
  return hold(to, r);
}

/* A chain over `nval` values of known dtypes: a random operator that fits. rough: values that a
 * tanh has gone into, which is rounded elsewhere than libm's: no comparison or cast to integers
 * asks on which side of an edge they are. */
static tp_micro random_micro(int nval, const tp_dtype *d, const bool *rough) {
  static const tp_op number[] = { TP_OP_ADD, TP_OP_MUL, TP_OP_MAXIMUM, TP_OP_NEG, TP_OP_LT,
    TP_OP_CAST, TP_OP_TANH, TP_OP_DETACH, TP_OP_SELECT };
  int a = (int)below(nval), b = a, c = -1;
  for (int tries = 0; tries < 20; tries++) {
    int k = (int)below(nval);
    if (d[k] == d[a]) b = k;
    if (d[k] == TP_BOOL) c = k;
  }
  tp_op op = number[below(9)];
  if (d[a] == TP_BOOL) op = below(2) ? TP_OP_LOR : TP_OP_CAST;
  if (op == TP_OP_TANH && !tp_dtype_float(d[a])) op = TP_OP_NEG;
  if ((op == TP_OP_SELECT && c < 0) || (op == TP_OP_LT && (rough[a] || rough[b]))) op = TP_OP_ADD;
  tp_micro m = { .op = op, .dtype = d[a], .in = { a, b, 0 } };
  if (op == TP_OP_LT) m.dtype = TP_BOOL;
  if (op == TP_OP_CAST) do
      m.dtype = any_dtype();
    while (rough[a] && !tp_dtype_float(m.dtype));
  if (op == TP_OP_SELECT) m.in[0] = c, m.in[1] = a, m.in[2] = b;
  return m;
}

static void test_chain(void) {
  prog p;
  prog_open(&p);
  int nlead = (int)below(3), rank = nlead + (int)below(4), nin = 1 + (int)below(3),
      nmicro = 1 + (int)below(7), nout = 1 + (int)below(2);
  int64_t shape[MAXAX];
  random_shape(rank, shape);
  win in[3], out[2];
  tp_dtype d[16];
  bool rough[16] = { 0 };
  for (int i = 0; i < nin; i++) {
    /* axes it lacks */
    int drop = (int)below(3) == 0 && rank > nlead ? (int)below(rank - nlead + 1) : 0;
    int64_t s[MAXAX];
    unsigned still = 0;
    int n = rank - drop;
    for (int k = 0; k < n; k++) {
      s[k] = k < nlead ? shape[k] : shape[k + drop];
      if (k >= nlead && below(4) == 0) s[k] = 1;
      if (k < nlead && below(4) == 0) still |= 1u << k;
    }
    d[i] = any_dtype();
    in[i] = window(&p, TP_BUF_INPUT, d[i], nlead, n, s, still, below(3) == 0);
  }
  tp_micro *m = TP_NEWN(&p.a, tp_micro, nmicro);
  for (int k = 0; k < nmicro; k++) {
    if (below(8) == 0)
      m[k] = (tp_micro){ .op = TP_OP_FILL, .dtype = any_dtype(), .f = (double)below(5) };
    else m[k] = random_micro(nin + k, d, rough);
    d[nin + k] = m[k].dtype;
    for (int i = 0; i < 3 && m[k].op != TP_OP_FILL; i++)
      rough[nin + k] |= m[k].op == TP_OP_TANH || rough[m[k].in[i]];
  }
  int *om = TP_NEWN(&p.a, int, 2);
  for (int i = 0; i < nout; i++) {
    om[i] = i == 0 ? nmicro - 1 : (int)below(nmicro);
    out[i] = window(&p, TP_BUF_OUTPUT, d[nin + om[i]], nlead, rank, shape, 0, below(3) == 0);
  }
  tp_region *r = region(&p, TP_RG_LOOP, TP_OP_ADD, nlead, shape, nin, in, nout, out);
  r->nmicro = nmicro;
  r->micro = m;
  r->outmicro = om;
  add(&p, leaf(&p, r));
  bool ok = prog_run(&p);
  EACH_POINT(at, rank, shape) {
    cell v[16];
    for (int i = 0; i < nin; i++) {
      int64_t q[MAXAX];
      for (int k = 0; k < in[i].rank; k++) {
        int64_t x = k < nlead ? at[k] : at[k + rank - in[i].rank];
        q[k] = in[i].shape[k] == 1 ? 0 : x;
      }
      v[i] = load_cell(d[i], &in[i], q);
    }
    for (int k = 0; k < nmicro; k++) {
      cell a[3] = { v[m[k].in[0]], v[m[k].in[1]], v[m[k].in[2]] };
      if (m[k].op == TP_OP_FILL) v[nin + k] = hold(m[k].dtype, (cell){ m[k].f, (int64_t)m[k].f });
      else v[nin + k] = apply(m[k].op, d[m[k].in[m[k].op == TP_OP_SELECT]], m[k].dtype, a);
    }
    for (int i = 0; i < nout && ok; i++) {
      tp_dtype od = d[nin + om[i]];
      cell w = v[nin + om[i]];
      tp_dtype least = od; /* the coarsest rounding on the way */
      for (int k = 0; k < nmicro + nin; k++)
        least = d[k] == TP_BF16 || (d[k] == TP_F16 && least != TP_BF16) ||
                (d[k] == TP_F32 && least == TP_F64)
            ? d[k]
            : least;
      double got = win_get(&out[i], at);
      ok = !tp_dtype_float(od) ? win_geti(&out[i], at) == w.i
          : rough[nin + om[i]] ? near(least, got, w.f)
                               : got == w.f || (isnan(got) && isnan(w.f));
      for (int k = 0; k < nmicro && !ok; k++)
        fprintf(stderr, "  %s %s %d %d %d = %g\n", tp_ops[m[k].op].text, tp_dtype_name(m[k].dtype),
            m[k].in[0], m[k].in[1], m[k].in[2], v[nin + k].f);
      if (!ok) fprintf(stderr, "  result %d: %g\n", om[i], win_get(&out[i], at));
    }
  }
  CHECK(ok);
  prog_close(&p);
}

/* out (op)= chain, leading axes of stride 0 reduced. */
static void test_accumulate(void) {
  prog p;
  prog_open(&p);
  int nlead = (int)below(3), rank = nlead + (int)below(3);
  int64_t shape[MAXAX];
  random_shape(rank, shape);
  tp_red red = (tp_red)below(4);
  tp_dtype d = all[1 + below(7)];
  unsigned still = (unsigned)below(1 << nlead);
  win in = window(&p, TP_BUF_INPUT, d, nlead, rank, shape, 0, below(2));
  win out = window(&p, TP_BUF_OUTPUT, d, nlead, rank, shape, still, below(2));
  if (red == TP_RED_PROD)
    for (int64_t i = 0; i < in.a->count; i++) tp_put(d, in.a->data, i, below(2) ? 1 : -1);
  double *want = calloc((size_t)out.a->count, sizeof *want);
  for (int64_t i = 0; i < out.a->count; i++) want[i] = tp_get(d, out.a->data, i);
  EACH_POINT(at, rank, shape) {
    double v = hold(d, (cell){ -win_get(&in, at), -win_geti(&in, at) }).f,
           *w = &want[win_at(&out, at)];
    *w = red == TP_RED_SUM   ? *w + v
        : red == TP_RED_PROD ? *w * v
        : red == TP_RED_MAX  ? fmax(*w, v)
                             : fmin(*w, v);
    if (!tp_dtype_float(d)) *w = hold(d, (cell){ 0, (int64_t)*w }).f;
  }
  tp_region *r = region(&p, TP_RG_LOOP, TP_OP_NEG, nlead, shape, 1, &in, 1, &out);
  r->nmicro = 1;
  r->micro = TP_NEW(&p.a, tp_micro);
  *r->micro = (tp_micro){ .op = TP_OP_NEG, .dtype = d };
  r->outmicro = TP_NEW(&p.a, int);
  r->acc = true;
  r->red = red;
  add(&p, leaf(&p, r));
  bool ok = prog_run(&p);
  for (int64_t i = 0; i < out.a->count && ok; i++) {
    ok = near(d, tp_get(d, out.a->data, i), want[i]);
    if (!ok)
      fprintf(stderr, "  %s red %d still %u: %g, not %g\n", tp_dtype_name(d), red, still,
          tp_get(d, out.a->data, i), want[i]);
  }
  CHECK(ok);
  free(want);
  prog_close(&p);
}

/* ---- reductions ---- */

static void test_reduce(void) {
  static const tp_op ops[] = { TP_OP_SUM, TP_OP_PROD, TP_OP_MAX, TP_OP_MIN };
  prog p;
  prog_open(&p);
  int nlead = (int)below(3), rank = nlead + 1 + (int)below(3), red = (int)below(4), naxes = 0,
      *axes = TP_NEWN(&p.a, int, 4);
  int64_t shape[MAXAX], kept[MAXAX];
  random_shape(rank, shape);
  tp_dtype d = any_dtype();
  if (d == TP_BOOL && red < 2) red = 2;
  bool keepdim = below(2), acc = below(4) == 0 && d != TP_BOOL, gone[MAXAX] = { 0 };
  int n = 0, to[MAXAX];
  unsigned still = 0;
  for (int i = 0; i < rank; i++) {
    if (i >= nlead && below(2)) axes[naxes++] = i - nlead, gone[i] = true;
    if (i < nlead && acc && below(2)) still |= 1u << i;
    if (!gone[i]) to[i] = n, kept[n++] = shape[i];
    else if (keepdim) to[i] = n, kept[n++] = 1;
    else to[i] = -1;
  }
  win in = window(&p, TP_BUF_INPUT, d, nlead, rank, shape, 0, below(2)),
      out = window(&p, TP_BUF_OUTPUT, d, nlead, n, kept, still, below(2));
  if (red == 1)
    for (int64_t i = 0; i < in.a->count; i++)
      tp_put(d, in.a->data, i, below(2) ? 1 : d == TP_U8 ? 3 : -1);
  if (below(4) == 0 && tp_dtype_float(d)) tp_put(d, in.a->data, below(in.a->count), NAN);
  bool flt = tp_dtype_float(d), empty = !any_point(rank, shape) && any_point(n, kept),
       fails = empty && !flt && d != TP_BOOL && red >= 2;
  double *want = calloc((size_t)out.a->count, sizeof *want);
  int64_t *wi = calloc((size_t)out.a->count, sizeof *wi);
  for (int64_t i = 0; i < out.a->count; i++)
    want[i] = tp_get(d, out.a->data, i), wi[i] = flt ? 0 : tp_geti(d, out.a->data, i);
  if (!acc) EACH_POINT(at, n, kept) {
      int64_t o = win_at(&out, at);
      want[o] = red == 0 ? 0 : red == 1 ? 1 : red == 2 ? -INFINITY : INFINITY;
      wi[o] = red == 0 ? 0 : red == 1 ? 1 : red == 2 ? INT64_MIN : INT64_MAX;
      if (d == TP_BOOL) wi[o] = red == 3;
    }
  EACH_POINT(at, rank, shape) {
    int64_t q[MAXAX];
    for (int i = 0; i < rank; i++)
      if (to[i] >= 0) q[to[i]] = gone[i] ? 0 : at[i];
    double v = win_get(&in, at), *w = &want[win_at(&out, q)];
    int64_t vi = flt ? 0 : win_geti(&in, at), *x = &wi[win_at(&out, q)];
    switch (red) {
    case 0:
      *w += v;
      *x += vi;
      break;
    case 1:
      *w *= v;
      *x = (int64_t)((uint64_t)*x * (uint64_t)vi);
      break;
    case 2:
      *w = isnan(v) || isnan(*w) ? NAN : fmax(*w, v);
      *x = TP_MAX(*x, vi);
      break;
    case 3:
      *w = isnan(v) || isnan(*w) ? NAN : fmin(*w, v);
      *x = TP_MIN(*x, vi);
      break;
    }
  }
  tp_region *r = region(&p, TP_RG_LOOP, ops[red], nlead, shape, 1, &in, 1, &out);
  r->how = (tp_how){ .naxes = naxes, .axes = axes, .keepdim = keepdim };
  r->acc = acc;
  r->red = (tp_red)red;
  add(&p, leaf(&p, r));
  bool ok = prog_go(&p, 1);
  if (fails) {
    CHECK(
        !ok && p.err.code == TP_E_INPUT && strstr(p.err.msg, "empty range") && p.err.pos.line == 7);
    ok = true;
  } else CHECKF(ok, "%s", p.err.msg);
  for (int64_t i = 0; i < out.a->count && ok && !fails; i++) {
    int64_t mem = 0;
    tp_puti(d, &mem, 0, wi[i]);
    ok = flt ? near(d, tp_get(d, out.a->data, i), hold(d, (cell){ want[i], 0 }).f)
             : tp_geti(d, out.a->data, i) == tp_geti(d, &mem, 0);
    if (!ok)
      fprintf(stderr, "  %s of %s, %d axes, %d lead: %g, not %g\n", tp_ops[ops[red]].text,
          tp_dtype_name(d), naxes, nlead, tp_get(d, out.a->data, i), want[i]);
  }
  CHECK(ok);
  free(want);
  free(wi);
  prog_close(&p);
}

/* ---- arg, scan, sort ---- */

static void test_lines(void) {
  static const tp_op ops[] = { TP_OP_ARGMAX, TP_OP_ARGMIN, TP_OP_SCAN, TP_OP_CUMPROD, TP_OP_SORT };
  prog p;
  prog_open(&p);
  int nlead = (int)below(3), rank = nlead + 1 + (int)below(3),
      axis = nlead + (int)below(rank - nlead);
  tp_op op = ops[below(5)];
  tp_dtype d = all[1 + below(7)];
  int64_t shape[MAXAX], kept[MAXAX], lines[MAXAX];
  random_shape(rank, shape);
  bool arg = op == TP_OP_ARGMAX || op == TP_OP_ARGMIN, keepdim = arg && below(2), flag = below(2);
  int n = 0;
  for (int i = 0; i < rank; i++) {
    lines[i] = i == axis ? TP_MIN(shape[i], 1) : shape[i];
    if (!arg || i != axis) kept[n++] = shape[i];
    else if (keepdim) kept[n++] = 1;
  }
  win in = window(&p, TP_BUF_INPUT, d, nlead, rank, shape, 0, below(2)), out[2];
  out[0] = window(&p, TP_BUF_OUTPUT, arg ? TP_I64 : d, nlead, n, kept, 0, below(2));
  out[1] = window(&p, TP_BUF_OUTPUT, TP_I64, nlead, n, kept, 0, below(2));
  for (int64_t i = 0; i < in.a->count; i++) {
    if (op == TP_OP_CUMPROD) tp_put(d, in.a->data, i, below(2) ? 1 : below(2) ? 0.5 : -1);
    else if (!tp_dtype_float(d) || below(30)) tp_put(d, in.a->data, i, (double)(below(9) - 4) / 4);
    else tp_put(d, in.a->data, i, op == TP_OP_SCAN ? 0 : NAN);
  }
  tp_region *r = region(&p, TP_RG_OP, op, nlead, shape, 1, &in, op == TP_OP_SORT ? 2 : 1, out);
  double f = tp_dtype_float(d) ? 0.5 : (double)below(3);
  r->how = (tp_how){
    .axis = axis - nlead, .keepdim = keepdim, .backwards = flag, .descending = flag, .f = { f }
  };
  add(&p, leaf(&p, r));
  bool ok = prog_go(&p, 1);
  int64_t len = shape[axis], step = in.stride[axis];
  bool outs = any_point(n, kept);
  if (arg && len == 0 && outs) {
    bool any_line = true;
    for (int i = 0; i < rank; i++) any_line &= i == axis || shape[i] > 0;
    CHECK(ok == !any_line);
    prog_close(&p);
    return;
  }
  CHECKF(ok, "%s", p.err.msg);
  bool flt = tp_dtype_float(d);
  EACH_POINT(at, rank, lines) {
    int64_t q[MAXAX], k = 0, *perm = calloc((size_t)len + 1, sizeof *perm);
    for (int i = 0; i < rank; i++)
      if (!arg || i != axis || keepdim) q[k++] = at[i];
    double *v = calloc((size_t)len + 1, sizeof *v);
    for (int64_t i = 0; i < len; i++) v[i] = tp_get(d, in.a->data, win_at(&in, at) + i * step);
    if (arg) {
      int64_t best = 0;
      for (int64_t i = 1; i < len; i++)
        if (!isnan(v[best]) &&
            (isnan(v[i]) || (op == TP_OP_ARGMAX ? v[i] > v[best] : v[i] < v[best])))
          best = i;
      ok &= win_geti(&out[0], q) == best;
    } else if (op == TP_OP_SORT) {
      for (int64_t i = 0; i < len; i++) perm[i] = i;
      for (int64_t i = 1; i < len && len < 200; i++) /* insertion: stable */
        for (int64_t j = i; j > 0; j--) {
          double a = v[perm[j - 1]], b = v[perm[j]];
          if (!(isnan(a) ? !isnan(b) : flag ? b > a : b < a)) break;
          int64_t t = perm[j - 1];
          perm[j - 1] = perm[j];
          perm[j] = t;
        }
      for (int64_t i = 0; i < len && len < 200; i++) {
        q[axis] = i;
        ok &= near(d, win_get(&out[0], q), v[perm[i]]) && win_geti(&out[1], q) == perm[i];
      }
    } else {
      double y = op == TP_OP_SCAN ? 0 : 1;
      uint64_t u = op == TP_OP_SCAN ? 0 : 1;
      for (int64_t i = 0; i < len; i++) {
        int64_t j = flag ? len - 1 - i : i, mem = 0;
        q[axis] = j;
        y = op == TP_OP_SCAN ? f * y + v[j] : y * v[j];
        u = op == TP_OP_SCAN ? (uint64_t)f * u + (uint64_t)(int64_t)v[j]
                             : u * (uint64_t)(int64_t)v[j];
        tp_puti(d, &mem, 0, (int64_t)u);
        ok &= flt ? near(d, win_get(&out[0], q), y) : win_geti(&out[0], q) == tp_geti(d, &mem, 0);
      }
    }
    free(perm);
    free(v);
  }
  CHECKF(ok, "%s of %s, rank %d axis %d len %d lead %d", tp_ops[op].text, tp_dtype_name(d), rank,
      axis, (int)len, nlead);
  prog_close(&p);
}

/* ---- matmul ---- */

static void test_matmul(void) {
  prog p;
  prog_open(&p);
  int nlead = (int)below(3), nb = (int)below(2), rank = nlead + nb + 2;
  tp_dtype d = all[1 + below(7)];
  int64_t m = 1 + below(9), n = 1 + below(9), k = below(20) ? 1 + below(9) : 0, sa[MAXAX],
          sb[MAXAX], sc[MAXAX];
  if (below(12) == 0) m = 40 + below(80), n = 40 + below(80), k = 40 + below(80);
  /* more than a block of them */
  if ((d == TP_F16 || d == TP_BF16) && below(10) == 0) {
    if (below(2)) m = 1 + below(3), n = 200 + below(200), k = 200 + below(200);
    else m = 1000 + below(200), n = 3, k = 3;
  }
  unsigned still_a = 0, still_b = 0, still_c = 0;
  bool acc = below(3) == 0;
  for (int i = 0; i < nlead + nb; i++) {
    sa[i] = sb[i] = sc[i] = 1 + below(4);
    if (i >= nlead && below(3) == 0) *(below(2) ? &sa[i] : &sb[i]) = 1;
    else if (i < nlead) {
      int role = (int)below(acc ? 5 : 4);
      if (role == 0) still_a |= 1u << i;
      if (role == 1) still_b |= 1u << i;
      if (role == 4) still_c |= 1u << i;
    }
  }
  sa[rank - 2] = sc[rank - 2] = m;
  sa[rank - 1] = sb[rank - 2] = k;
  sb[rank - 1] = sc[rank - 1] = n;
  win in[2] = { window(&p, TP_BUF_INPUT, d, nlead, rank, sa, still_a, below(2)),
    window(&p, TP_BUF_INPUT, d, nlead, rank, sb, still_b, below(2)) };
  win out = window(&p, TP_BUF_OUTPUT, d, nlead, rank, sc, still_c, below(2));
  double *want = calloc((size_t)out.a->count, sizeof *want);
  for (int64_t i = 0; i < out.a->count; i++) want[i] = tp_get(d, out.a->data, i);
  if (!acc) EACH_POINT(at, rank, sc) want[win_at(&out, at)] = 0;
  EACH_POINT(at, rank, sc) {
    int64_t a[MAXAX], b[MAXAX];
    for (int i = 0; i < rank - 2; i++) a[i] = sa[i] == 1 ? 0 : at[i], b[i] = sb[i] == 1 ? 0 : at[i];
    a[rank - 2] = at[rank - 2];
    b[rank - 1] = at[rank - 1];
    for (int64_t q = 0; q < k; q++) {
      a[rank - 1] = b[rank - 2] = q;
      want[win_at(&out, at)] += win_get(&in[0], a) * win_get(&in[1], b);
    }
  }
  tp_region *r = region(&p, TP_RG_OP, TP_OP_MATMUL, nlead, sc, 2, in, 1, &out);
  r->acc = acc;
  add(&p, leaf(&p, r));
  bool ok = prog_run(&p);
  for (int64_t i = 0; i < out.a->count && ok; i++) {
    ok = tp_dtype_float(d)
        ? near(d, tp_get(d, out.a->data, i), want[i])
        : tp_geti(d, out.a->data, i) == (int64_t)hold(d, (cell){ 0, (int64_t)want[i] }).i;
    if (!ok)
      fprintf(stderr, "  matmul of %s %d %d %d, lead %d acc %d: %g, not %g\n", tp_dtype_name(d),
          (int)m, (int)n, (int)k, nlead, acc, tp_get(d, out.a->data, i), want[i]);
  }
  CHECK(ok);
  free(want);
  prog_close(&p);
}

/* ---- the point of an error: the one element of a random space whose divisor is 0, whatever was
 * squeezed, moved and merged ---- */

static void test_fault_point(void) {
  prog p;
  prog_open(&p);
  int nlead = 1 + (int)below(3), rank = nlead + (int)below(3);
  int64_t shape[MAXAX], at[MAXAX];
  for (int i = 0; i < rank; i++) shape[i] = 1 + below(5);
  if (below(3) == 0) shape[below(rank)] = 1300; /* more than a block */
  win in[2] = { window(&p, TP_BUF_INPUT, TP_I32, nlead, rank, shape, 0, below(2)),
    window(&p, TP_BUF_INPUT, TP_I32, nlead, rank, shape, 0, below(2)) };
  win out = window(&p, TP_BUF_OUTPUT, TP_I32, nlead, rank, shape, 0, below(2));
  for (int64_t i = 0; i < in[1].a->count; i++) ((int32_t *)in[1].a->data)[i] = 1;
  for (int i = 0; i < rank; i++) at[i] = below(shape[i]);
  ((int32_t *)in[1].a->data)[win_at(&in[1], at)] = 0;
  tp_region *r = region(&p, TP_RG_LOOP, TP_OP_MOD, nlead, shape, 2, in, 1, &out);
  r->nmicro = 1;
  r->micro = TP_NEW(&p.a, tp_micro);
  *r->micro = (tp_micro){ .op = TP_OP_MOD, .dtype = TP_I32, .in = { 0, 1 } };
  r->outmicro = TP_NEW(&p.a, int);
  r->ncoord = nlead;
  r->coord = TP_NEWN(&p.a, tp_ix *, nlead);
  char want[256] = "";
  for (int i = 0; i < nlead; i++) {
    r->coord[i] = tp_ix_sym(r->leadvar[i]);
    snprintf(want + strlen(want), sizeof want - strlen(want), "%s? = %d", i ? ", " : " at ",
        2 + (int)at[i]);
  }
  strcat(want, ": integer division by zero");
  add(&p, leaf(&p, r));
  CHECKF(!prog_go(&p, 1) && p.err.code == TP_E_INPUT && strstr(p.err.msg, want), "%s, not%s",
      p.err.msg, want);
  prog_close(&p);
}

/* ---- loops, rings, shapes that grow ---- */

/* h[t] = h[t-1] * 2 + x[t] on a ring of 2, copied to y[t]; s[t] = sum of x[0 .. t+1]; backwards:
 * z[t] = x[t] + z[t+1]. */
static void test_loops(void) {
  prog p;
  prog_open(&p);
  int64_t T = 1 + below(8), shape[2] = { T, 3 };
  win x = window(&p, TP_BUF_INPUT, TP_F64, 0, 2, shape, 0, true),
      y = window(&p, TP_BUF_OUTPUT, TP_F64, 0, 2, shape, 0, true);
  win s = window(&p, TP_BUF_OUTPUT, TP_F64, 0, 2, shape, 0, true),
      z = window(&p, TP_BUF_OUTPUT, TP_F64, 0, 2, shape, 0, true);
  tp_sym *bound = tp_sym_bound(p.c, "T", (tp_pos){ 0 }, &p.err);
  p.env[bound->id] = T;
  tp_sym *v = tp_sym_var(p.c, "t");
  tp_ix *t = tp_ix_sym(v), *three = K(&p, 3), *len = tp_ix_sym(bound);
  int ring = new_buf(&p, TP_BUF_TEMP, TP_F64, K(&p, 6), 0);
  win one = { .rank = 1, .shape = { 3 }, .stride = { 1 }, .d = TP_F64 };
  tp_ring *now = TP_NEW(&p.a, tp_ring), *before = TP_NEW(&p.a, tp_ring);
  *now = (tp_ring){ t, K(&p, 2), three };
  *before = (tp_ring){ tp_ix_addc(t, -1), K(&p, 2), three };
  tp_nd row = nd_of(&p, &one), h = row, hb = row, xt, yt, st, zt, zn;
  h.buf = hb.buf = ring;
  h.nring = hb.nring = 1, h.ring = now, hb.ring = before;
  xt = yt = st = zt = zn = row;
  xt.off = yt.off = st.off = zt.off = tp_ix_mulc(t, 3);
  zn.off = tp_ix_addc(zt.off, 3);
  xt.buf = x.buf, yt.buf = y.buf, st.buf = s.buf, zt.buf = zn.buf = z.buf;
  tp_region *zero = region(&p, TP_RG_LOOP, TP_OP_FILL, 0, NULL, 0, NULL, 0, NULL);
  zero->nout = 1;
  zero->out[0] = row;
  zero->out[0].buf = ring;
  zero->out[0].off = three; /* the slot of t = -1 */
  add(&p, leaf(&p, zero));
  tp_region *step = region(&p, TP_RG_LOOP, TP_OP_ADD, 0, NULL, 2, (win[]){ one, one }, 1, &one);
  step->in[0] = hb, step->in[1] = xt, step->out[0] = h;
  step->nmicro = 3;
  step->micro = TP_NEWN(&p.a, tp_micro, 3);
  step->micro[0] = (tp_micro){ .op = TP_OP_FILL, .dtype = TP_F64, .f = 2 };
  step->micro[1] = (tp_micro){ .op = TP_OP_MUL, .dtype = TP_F64, .in = { 0, 2 } };
  step->micro[2] = (tp_micro){ .op = TP_OP_ADD, .dtype = TP_F64, .in = { 3, 1 } };
  step->outmicro = TP_NEWN(&p.a, int, 1);
  step->outmicro[0] = 2;
  tp_region *copy = region(&p, TP_RG_LOOP, TP_OP_DETACH, 0, NULL, 1, &one, 1, &one);
  copy->in[0] = h, copy->out[0] = yt;
  tp_region *prefix = region(&p, TP_RG_LOOP, TP_OP_SUM, 0, NULL, 1, &x, 1, &one);
  int axes[1] = { 0 };
  prefix->how = (tp_how){ .naxes = 1, .axes = axes };
  prefix->in[0].shape[0] = tp_ix_addc(t, 1);
  prefix->out[0] = st;
  add(&p,
      loop(&p, v, K(&p, 0), len, 1,
          seq(&p, 3, (tp_pnode *[]){ leaf(&p, step), leaf(&p, copy), leaf(&p, prefix) })));
  tp_region *last = region(&p, TP_RG_LOOP, TP_OP_DETACH, 0, NULL, 1, &one, 1, &one),
            *sum = region(&p, TP_RG_LOOP, TP_OP_ADD, 0, NULL, 2, (win[]){ one, one }, 1, &one);
  last->in[0] = xt, last->out[0] = zt;
  sum->in[0] = xt, sum->in[1] = zn, sum->out[0] = zt;
  sum->nmicro = 1;
  sum->micro = TP_NEWN(&p.a, tp_micro, 1);
  sum->micro[0] = (tp_micro){ .op = TP_OP_ADD, .dtype = TP_F64, .in = { 0, 1 } };
  sum->outmicro = TP_NEWN(&p.a, int, 1);
  tp_pnode *branch = TP_NEW(&p.a, tp_pnode);
  *branch = (tp_pnode){ .kind = TP_P_IF,
    .n = 2,
    .kid = tp_dup(&p.a, (tp_pnode *[]){ leaf(&p, last), leaf(&p, sum) }, 2 * sizeof(tp_pnode *)),
    .cond = tp_ix_cmp(TP_EQ, t, tp_ix_addc(len, -1)) };
  add(&p, loop(&p, v, K(&p, 0), len, -1, branch));
  bool ok = prog_go(&p, 2);
  for (int64_t j = 0; j < 3; j++) {
    double hh = 0, ss = 0, zz = 0;
    for (int64_t i = 0; i < T; i++) {
      double xv = win_get(&x, (int64_t[]){ i, j });
      hh = hh * 2 + xv, ss += xv;
      ok &= near(TP_F64, win_get(&y, (int64_t[]){ i, j }), hh) &&
          near(TP_F64, win_get(&s, (int64_t[]){ i, j }), ss);
    }
    for (int64_t i = T - 1; i >= 0; i--) {
      zz += win_get(&x, (int64_t[]){ i, j });
      ok &= near(TP_F64, win_get(&z, (int64_t[]){ i, j }), zz);
    }
  }
  CHECKF(ok, "%s", p.err.msg);
  prog_close(&p);
}

/* One executor, other bounds: everything is bound again. */
static void test_bounds(void) {
  prog p;
  prog_open(&p);
  tp_sym *bound = tp_sym_bound(p.c, "N", (tp_pos){ 0 }, &p.err);
  tp_ix *n = tp_ix_sym(bound);
  int64_t most = 3000;
  win x = window(&p, TP_BUF_INPUT, TP_F32, 0, 1, &most, 0, true),
      y = window(&p, TP_BUF_OUTPUT, TP_F32, 0, 1, &most, 0, true);
  p.plan.bufs.v[x.buf]->size = p.plan.bufs.v[y.buf]->size = n;
  int mid = new_buf(&p, TP_BUF_TEMP, TP_F32, n, 0);
  tp_region *a = region(&p, TP_RG_LOOP, TP_OP_DETACH, 0, NULL, 1, &x, 1, &y),
            *b = region(&p, TP_RG_LOOP, TP_OP_DETACH, 0, NULL, 1, &x, 1, &y);
  a->in[0].shape[0] = a->out[0].shape[0] = b->in[0].shape[0] = b->out[0].shape[0] = n;
  a->out[0].buf = b->in[0].buf = mid;
  a->out[0].off = b->in[0].off = a->in[0].off = b->out[0].off = K(&p, 0);
  p.plan.bufs.v[mid]->first = 0, p.plan.bufs.v[mid]->last = 1;
  p.plan.body = seq(&p, 2, (tp_pnode *[]){ leaf(&p, a), leaf(&p, b) });
  tp_plan_number(&p.plan);
  tp_exec *e = tp_exec_new(&p.plan, &tp_interp, &p.err);
  p.run = (tp_run){ .env = p.env, .inputs = p.in, .outputs = p.out };
  for (int k = 0; k < 6; k++) {
    int64_t size = k == 2 ? 0 : 1 + below(most);
    p.env[bound->id] = size;
    memset(y.a->data, 0, tp_array_bytes(y.a));
    bool ok = tp_exec_run(e, &p.run, &p.err);
    for (int64_t i = 0; i < most; i++)
      ok &= ((float *)y.a->data)[i] == (i < size ? ((float *)x.a->data)[i] : 0);
    CHECK(ok && tp_exec_peak(e) == (size * 4 + 63) / 64 * 64);
  }
  p.env[bound->id] = INT64_MAX / 2;
  CHECK(!tp_exec_run(e, &p.run, &p.err) && p.err.code == TP_E_MEMORY);
  p.err.code = TP_OK;
  p.env[bound->id] = 5000; /* longer than the array given */
  CHECK(!tp_exec_run(e, &p.run, &p.err) && p.err.code == TP_E_INPUT);
  p.env[bound->id] = 10;
  memset(y.a->data, 0, tp_array_bytes(y.a));
  CHECK(tp_exec_run(e, &p.run, NULL));
  for (int64_t i = 0; i < 11; i++)
    CHECK(((float *)y.a->data)[i] == (i < 10 ? ((float *)x.a->data)[i] : 0));
  tp_exec_free(e);
  prog_close(&p);
}

typedef struct {
  int64_t at, bytes;
  int first, last;
} lying;

static tp_pnode *worker(prog *p, tp_region *r) {
  tp_pnode *x = TP_NEW(&p->a, tp_pnode);
  *x = (tp_pnode){ .kind = TP_P_REGION, .rg = r };
  return x;
}

/* Buffers, what a region works in among them; nothing that is alive at one time overlaps. */
static void test_color(void) {
  prog p;
  prog_open(&p);
  int n = 1 + (int)below(30), npos = 26;
  int64_t off[64], bytes[64], sum = 0;
  lying v[64];
  for (int i = 0; i < n; i++) {
    win w = { .nlead = 0, .rank = 0, .d = any_dtype() };
    w.buf = new_buf(&p, TP_BUF_TEMP, w.d, K(&p, below(300)), 0);
    tp_pbuf *b = p.plan.bufs.v[w.buf];
    b->first = (int)below(20);
    b->last = b->first + (int)below(6);
    tp_region *r = region(&p, TP_RG_LOOP, TP_OP_FILL, 0, NULL, 0, NULL, !(i % 3 == 1), &w);
    if (i % 3 == 1) b->kind = TP_BUF_WORK, b->dtype = TP_U8, r->work = b;
    if (below(9)) add(&p, i % 3 == 1 ? worker(&p, r) : leaf(&p, r));
    else b->size = K(&p, 0); /* nothing runs that uses it, so it has no place */
    v[i] = (lying){ 0, (tp_ix_evalq(b->size, p.env) * tp_dtype_size(b->dtype) + 63) / 64 * 64,
      b->first, b->last };
  }
  p.plan.body = seq(&p, p.list.n, p.list.v);
  p.plan.npos = npos;
  int64_t total = tp_plan_color(&p.plan, p.env, NULL, bytes, off);
  bool ok = total >= 0;
  for (int i = 0; i < n; i++) v[i].at = off[i];
  for (int i = 0; i < n; i++) ok &= off[i] < 0 || bytes[i] == v[i].bytes;
  for (int i = 0; i < n; i++) {
    if (!v[i].bytes) continue;
    sum += v[i].bytes;
    ok &= v[i].at % 64 == 0 && v[i].at + v[i].bytes <= total;
    for (int k = 0; k < i; k++)
      ok &= !v[k].bytes || v[i].first > v[k].last || v[k].first > v[i].last ||
          v[i].at >= v[k].at + v[k].bytes || v[k].at >= v[i].at + v[i].bytes;
  }
  CHECK(ok && total <= sum);
  prog_close(&p);
}

/* ---- the outside ---- */

typedef struct calls {
  int n;
  bool ok;
  bool *cancel;
} calls;

static bool on_call(void *ud, const tp_call *c, tp_error *err) {
  calls *k = ud;
  k->ok &= c->of->fn == 5 && c->nargs == 1 && c->nres == 2 && c->ndim == 1 && c->coord[0] == k->n &&
      c->args[0]->rank == 2 && c->args[0]->shape[1] == 3;
  const float *x = c->args[0]->data;
  float *y = c->res[0]->data;
  for (int i = 0; i < 6; i++) {
    k->ok &= y[i] == 0;
    y[i] = 2 * x[i];
  }
  ((int64_t *)c->res[1]->data)[0] = k->n;
  if (k->n == 2 && !k->cancel) return tp_fail(err, TP_E_CALLBACK, (tp_pos){ "cb.lua", 3 }, "boom");
  if (k->n == 2) *k->cancel = true;
  k->n++;
  return true;
}

static void test_call(bool cancelling) {
  prog p;
  prog_open(&p);
  bool cancel = false;
  calls k = { .ok = true, .cancel = cancelling ? &cancel : NULL };
  int64_t shape[3] = { 4, 2, 3 }, one[2] = { 4, 1 }, plain = 2;
  win x = window(&p, TP_BUF_INPUT, TP_F32, 0, 3, shape, 0, false),
      y = window(&p, TP_BUF_OUTPUT, TP_F32, 0, 3, shape, 0, false),
      n = window(&p, TP_BUF_OUTPUT, TP_I64, 0, 2, one, 0, true);
  win early = window(&p, TP_BUF_OUTPUT, TP_I64, 0, 1, &plain, 0, true);
  tp_region *seven = region(&p, TP_RG_LOOP, TP_OP_FILL, 0, NULL, 0, NULL, 1, &early);
  seven->how.f[0] = 7;
  add(&p, leaf(&p, seven));
  tp_sym *v = tp_sym_var(p.c, "t");
  tp_ix *t = tp_ix_sym(v);
  win xr = x, yr = y, nr = n;
  for (int i = 0; i < 2; i++)
    xr.shape[i] = yr.shape[i] = shape[i + 1], xr.stride[i] = x.stride[i + 1],
    yr.stride[i] = y.stride[i + 1];
  xr.rank = yr.rank = 2;
  nr.rank = 1, nr.shape[0] = 1, nr.stride[0] = 1;
  tp_region *r = region(&p, TP_RG_CALL, TP_OP_CALL, 0, NULL, 1, &xr, 2, (win[]){ yr, nr });
  r->in[0].off = tp_ix_addc(tp_ix_mulc(t, x.stride[0]), x.off);
  r->out[0].off = tp_ix_addc(tp_ix_mulc(t, y.stride[0]), y.off);
  r->out[1].off = t;
  TP_PUSH(&p.a, &p.plan.calls,
      ((tp_callee){
          .fn = 5, .ndom = 1, .dom = &v, .nres = 2, .res = (tp_dtype[]){ TP_F32, TP_I64 } }));
  r->dim = &v;
  r->ncoord = 1;
  r->coord = TP_NEWN(&p.a, tp_ix *, 1);
  r->coord[0] = t;
  add(&p, loop(&p, v, K(&p, 0), K(&p, 4), 1, leaf(&p, r)));
  p.run.call = on_call;
  p.run.ud = &k;
  p.run.cancel = &cancel;
  bool ok = prog_go(&p, 1);
  CHECK(k.ok);
  for (int64_t i = 0; i < 2; i++) CHECK(win_geti(&early, &i) == 7);
  if (cancelling)
    CHECK(ok && k.n == 3 && p.err.code == TP_OK && !p.out[0] && !p.out[1] && p.out[2]);
  else CHECK(!ok && k.n == 2 && p.err.code == TP_E_CALLBACK && p.err.pos.line == 3);
  if (!cancelling)
    for (int64_t i = 0; i < 2; i++)
      for (int64_t j = 0; j < 6; j++)
        CHECK(win_get(&y, (int64_t[]){ i, j / 3, j % 3 }) ==
                2 * win_get(&x, (int64_t[]){ i, j / 3, j % 3 }) &&
            ((int64_t *)n.a->data)[i] == i);
  prog_close(&p);
}

static void test_env(bool fail) {
  const tp_env *e = tp_env_find("CartPole-v1");
  prog p;
  prog_open(&p);
  int64_t B = 1 + below(4), u4[2] = { B, 4 }, s5[2] = { B, 5 };
  win u = window(&p, TP_BUF_INPUT, TP_F64, 1, 2, u4, 0, below(2)),
      act = window(&p, TP_BUF_INPUT, TP_I64, 1, 1, &B, 0, below(2));
  win s0 = window(&p, TP_BUF_OUTPUT, TP_F64, 1, 2, s5, 0, below(2)),
      obs = window(&p, TP_BUF_OUTPUT, TP_F32, 1, 2, u4, 0, below(2));
  win out[5] = { window(&p, TP_BUF_OUTPUT, TP_F64, 1, 2, s5, 0, below(2)),
    window(&p, TP_BUF_OUTPUT, TP_F32, 1, 2, u4, 0, below(2)),
    window(&p, TP_BUF_OUTPUT, TP_F32, 1, 1, &B, 0, below(2)),
    window(&p, TP_BUF_OUTPUT, TP_BOOL, 1, 1, &B, 0, below(2)),
    window(&p, TP_BUF_OUTPUT, TP_BOOL, 1, 1, &B, 0, below(2)) };
  for (int64_t i = 0; i < act.a->count; i++) ((int64_t *)act.a->data)[i] = fail ? 2 : below(2);
  tp_region *r[3] = { region(&p, TP_RG_OP, TP_OP_ENV_RESET, 1, &B, 1, &u, 1, &s0),
    region(&p, TP_RG_OP, TP_OP_ENV_OBS, 1, &B, 1, &s0, 1, &obs),
    region(&p, TP_RG_OP, TP_OP_ENV_STEP, 1, &B, 3, (win[]){ s0, act, u }, 5, out) };
  for (int i = 0; i < 3; i++) {
    r[i]->how.str = "CartPole-v1";
    add(&p, leaf(&p, r[i]));
  }
  bool ok = prog_go(&p, 1);
  if (fail) CHECK(!ok && p.err.code == TP_E_INPUT && strstr(p.err.msg, "action 2"));
  for (int64_t b = 0; b < B && !fail; b++) {
    double un[4], st[5], next[5];
    float o[4], on[4], reward;
    uint8_t te, tr;
    int64_t a = win_geti(&act, &b);
    for (int64_t k = 0; k < 4; k++) un[k] = win_get(&u, (int64_t[]){ b, k });
    tp_env_reset(e, un, st);
    e->observe(NULL, st, o);
    tp_env_step(
        e, st, &a, &(tp_noise){ .given = un }, &(tp_env_results){ next, on, &reward, &te, &tr });
    for (int64_t k = 0; k < 5; k++)
      ok &= win_get(&s0, (int64_t[]){ b, k }) == st[k] &&
          win_get(&out[0], (int64_t[]){ b, k }) == next[k];
    for (int64_t k = 0; k < 4; k++)
      ok &= (float)win_get(&obs, (int64_t[]){ b, k }) == o[k] &&
          (float)win_get(&out[1], (int64_t[]){ b, k }) == on[k];
    ok &= win_get(&out[2], &b) == reward && win_geti(&out[3], &b) == te &&
        win_geti(&out[4], &b) == tr;
  }
  CHECK(ok || fail);
  prog_close(&p);
}

static void test_pinit(void) {
  for (int loaded = 0; loaded < 2; loaded++) {
    prog p;
    prog_open(&p);
    int64_t n = 4;
    win x = window(&p, TP_BUF_INPUT, TP_F32, 0, 1, &n, 0, true),
        y = window(&p, TP_BUF_OUTPUT, TP_F32, 0, 1, &n, 0, true);
    tp_array *given = tp_array_new(TP_F32, 1, &n);
    win w = y;
    w.buf = new_buf(&p, TP_BUF_PARAM, TP_F32, K(&p, n), 0);
    add(&p, leaf(&p, region(&p, TP_RG_PINIT, TP_OP_PINIT, 0, NULL, 2, (win[]){ x, w }, 1, &y)));
    p.params[0] = loaded ? given : NULL;
    p.run.params = p.params;
    CHECK(prog_run(&p));
    CHECK(memcmp(y.a->data, loaded ? given->data : x.a->data, 16) == 0);
    tp_array_unref(given);
    prog_close(&p);
  }
}

static void test_faults(void) {
  prog p;
  prog_open(&p);
  int64_t n = 3;
  win x = window(&p, TP_BUF_INPUT, TP_I32, 0, 1, &n, 0, true),
      y = window(&p, TP_BUF_OUTPUT, TP_I32, 0, 1, &n, 0, true);
  memset(x.a->data, 0, tp_array_bytes(x.a));
  tp_region *r = region(&p, TP_RG_LOOP, TP_OP_MOD, 0, NULL, 1, &x, 1, &y);
  r->nmicro = 1;
  r->micro = TP_NEW(&p.a, tp_micro);
  *r->micro = (tp_micro){ .op = TP_OP_MOD, .dtype = TP_I32, .in = { 0, 0 } };
  r->outmicro = TP_NEW(&p.a, int);
  add(&p, leaf(&p, r));
  CHECK(!prog_go(&p, 1) && p.err.code == TP_E_INPUT &&
      strstr(p.err.msg, "integer division by zero") && p.err.pos.line == 7);
  prog_close(&p);
}

/* An execution before which its thread waited took more than nothing. */
static void a_wait_before_takes_nothing_off(void) {
  for (int i = 0; i < 20; i++) {
    tp_exec x = { 0 };
    tp_clock c = { .calls = 1, .next = 0 };
    tp_clock_begin(&x, &c); /* asks how long the thread has run */
    nanosleep(&(struct timespec){ .tv_nsec = 300000 }, NULL);
    double from = tp_clock_begin(&x, &c);
    for (volatile int k = 0; k < 200000; k++) {}
    tp_clock_end(&x, &c, from);
    CHECK(c.first > 0);
  }
}

int main(int argc, char **argv) {
  /* other programs than the usual ones */
  if (argc > 1) seed += strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ull;
  setenv("TEMPO_POISON", "1", 1);
  for (int i = 0; i < 600; i++) {
    test_chain();
    test_accumulate();
    test_fault_point();
    test_reduce();
    test_lines();
    test_matmul();
    if (i % 6 == 0) {
      test_loops();
      test_color();
      test_env(false);
    }
  }
  a_wait_before_takes_nothing_off();
  test_bounds();
  test_call(false);
  test_call(true);
  test_env(true);
  test_pinit();
  test_faults();
  return check_report();
}
