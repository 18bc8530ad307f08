/* The plan interpreter's operators that move, pick and make elements: every kind on windows of
 * random layout, against plain loops. */
#include "plans.h"

/* ---- movement ---- */

static void test_copy_fill(void) {
  prog p;
  prog_open(&p);
  int nlead = (int)below(3), rank = nlead + (int)below(4);
  int64_t shape[MAXAX];
  random_shape(rank, shape);
  tp_dtype d = any_dtype();
  win in = window(&p, TP_BUF_INPUT, d, nlead, rank, shape,
      (unsigned)below(1 << rank) & (unsigned)below(1 << rank), below(2));
  win out = window(&p, TP_BUF_OUTPUT, d, nlead, rank, shape, 0, below(2)),
      filled = window(&p, TP_BUF_OUTPUT, d, nlead, rank, shape, 0, below(2));
  add(&p, leaf(&p, region(&p, TP_RG_LOOP, TP_OP_DETACH, nlead, shape, 1, &in, 1, &out)));
  tp_region *f = region(&p, TP_RG_LOOP, TP_OP_FILL, nlead, shape, 0, NULL, 1, &filled);
  f->how.f[0] = (double)below(3);
  add(&p, leaf(&p, f));
  bool ok = prog_run(&p);
  EACH_POINT(at, rank, shape)
  ok &= same_element(&out, at, &in, at) &&
      win_get(&filled, at) == hold(d, (cell){ f->how.f[0], (int64_t)f->how.f[0] }).f;
  CHECK(ok);
  prog_close(&p);
}

/* A window of n elements from lo on a ring of m, on both sides, one or none. */
static void test_wrap(void) {
  prog p;
  prog_open(&p);
  int64_t m = 1 + below(7), n = below(m + 1), rows = 1 + below(3),
          lo[2] = { below(20) - 10, below(20) - 10 }, full[2], cut[2];
  int axis = (int)below(2), sides = (int)below(4);
  full[axis] = m, full[1 - axis] = rows;
  cut[axis] = n, cut[1 - axis] = rows;
  win w[2] = { window(&p, TP_BUF_INPUT, TP_I32, 0, 2, sides & 1 ? full : cut, 0, below(2)),
    window(&p, TP_BUF_OUTPUT, TP_I32, 0, 2, sides & 2 ? full : cut, 0, below(2)) };
  win v[2] = { w[0], w[1] };
  memcpy(v[0].shape, cut, sizeof cut);
  memcpy(v[1].shape, cut, sizeof cut);
  tp_region *r = region(&p, TP_RG_LOOP, TP_OP_DETACH, 0, NULL, 1, &v[0], 1, &v[1]);
  tp_nd *nd[2] = { &r->in[0], &r->out[0] };
  for (int i = 0; i < 2; i++)
    if (sides >> i & 1) nd[i]->wrap = axis, nd[i]->wlo = K(&p, lo[i]), nd[i]->wmod = K(&p, m);
  add(&p, leaf(&p, r));
  bool ok = prog_run(&p);
  EACH_POINT(at, 2, cut) {
    int64_t q[2][MAXAX];
    for (int i = 0; i < 2; i++) {
      q[i][1 - axis] = at[1 - axis];
      q[i][axis] = sides >> i & 1 ? (((lo[i] + at[axis]) % m) + m) % m : at[axis];
    }
    ok &= same_element(&w[1], q[1], &w[0], q[0]);
  }
  CHECKF(ok, "sides %d axis %d m %d n %d", sides, axis, (int)m, (int)n);
  prog_close(&p);
}

/* A sum over a window on a ring: operands other than COPY's may lie on one too. */
static void test_wrapped_operand(void) {
  prog p;
  prog_open(&p);
  int64_t m = 1 + below(6), n = below(m + 1), lo = below(30) - 15, full[2] = { m, 3 },
          cut[2] = { n, 3 }, one[1] = { 3 };
  win in = window(&p, TP_BUF_INPUT, TP_F32, 0, 2, full, 0, below(2)), v = in,
      out = window(&p, TP_BUF_OUTPUT, TP_F32, 0, 1, one, 0, true);
  memcpy(v.shape, cut, sizeof cut);
  tp_region *r = region(&p, TP_RG_LOOP, TP_OP_SUM, 0, NULL, 1, &v, 1, &out);
  int axes[1] = { 0 };
  r->how = (tp_how){ .naxes = 1, .axes = axes };
  r->in[0].wrap = 0, r->in[0].wlo = K(&p, lo), r->in[0].wmod = K(&p, m);
  add(&p, leaf(&p, r));
  bool ok = prog_run(&p);
  for (int64_t j = 0; j < 3; j++) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += win_get(&in, (int64_t[]){ ((lo + i) % m + m) % m, j });
    ok &= near(TP_F32, win_get(&out, &j), s);
  }
  CHECK(ok);
  prog_close(&p);
}

/* ---- picked by data ---- */

static void test_index(void) {
  prog p;
  prog_open(&p);
  int nlead = (int)below(3), rank = nlead + 1 + (int)below(3),
      axis = nlead + (int)below(rank - nlead), krank = (int)below(2);
  bool adds = below(2);
  int64_t shape[MAXAX], wide[MAXAX], ks[MAXAX], nk = 1 + below(5);
  random_shape(rank, shape);
  shape[axis] = 1 + below(6);
  int n = 0;
  for (int i = 0; i < rank; i++) {
    if (i < nlead) ks[i] = shape[i];
    if (i != axis) wide[n++] = shape[i];
    else if (krank) wide[n++] = nk;
  }
  ks[nlead] = nk;
  tp_dtype d = adds ? all[1 + below(7)] : any_dtype();
  win x = window(&p, TP_BUF_INPUT, d, nlead, rank, shape, 0, below(2));
  win k = window(
      &p, TP_BUF_INPUT, TP_I64, nlead, nlead + krank, ks, (unsigned)below(1 << nlead), below(2));
  win w = window(&p, adds ? TP_BUF_INPUT : TP_BUF_OUTPUT, d, nlead, n, wide, 0, below(2));
  for (int64_t i = 0; i < k.a->count; i++) ((int64_t *)k.a->data)[i] = below(shape[axis]);
  win out = adds ? window(&p, TP_BUF_OUTPUT, d, nlead, rank, shape, 0, below(2)) : w,
      in[3] = { x, k, w };
  tp_region *r = region(&p, TP_RG_OP, adds ? TP_OP_INDEX_ADD : TP_OP_INDEX_SELECT, nlead, shape,
      adds ? 3 : 2, in, 1, &out);
  r->how = (tp_how){ .axis = axis - nlead };
  add(&p, leaf(&p, r));
  bool ok = prog_run(&p);
  double *want = calloc((size_t)out.a->count, sizeof *want);
  if (adds) EACH_POINT(at, rank, shape) want[win_at(&out, at)] = win_get(&x, at);
  EACH_POINT(at2, n, wide) {
    int64_t q[MAXAX], kq[MAXAX];
    memcpy(kq, at2, sizeof kq);
    if (krank) kq[nlead] = at2[axis];
    for (int i = 0, j = 0; i < rank; i++)
      q[i] = i == axis ? (j += krank, win_geti(&k, kq)) : at2[j++];
    if (adds) want[win_at(&out, q)] += win_get(&w, at2);
    else ok &= same_element(&out, at2, &x, q);
  }
  if (adds) EACH_POINT(at3, rank, shape) {
      double v = want[win_at(&out, at3)];
      ok &= near(d, win_get(&out, at3), tp_dtype_float(d) ? v : hold(d, (cell){ 0, (int64_t)v }).f);
    }
  CHECKF(ok, "%s, %s, krank %d, lead %d", adds ? "index_add" : "index_select", tp_dtype_name(d),
      krank, nlead);
  free(want);
  prog_close(&p);
}

static void test_gather(void) {
  prog p;
  prog_open(&p);
  int nlead = (int)below(3), rank = nlead + 1 + (int)below(3),
      axis = nlead + (int)below(rank - nlead);
  bool adds = below(2);
  int64_t shape[MAXAX], ks[MAXAX], ws[MAXAX];
  random_shape(rank, shape);
  shape[axis] = 1 + below(6);
  for (int i = 0; i < rank; i++) {
    int64_t some = 1 + below(9);
    ks[i] = i == axis ? 1 + below(4) : i < nlead ? shape[i] : TP_MIN(shape[i], some);
    ws[i] = i < nlead ? ks[i] : ks[i] + below(2);
  }
  tp_dtype d = adds ? all[1 + below(7)] : any_dtype();
  win x = window(&p, TP_BUF_INPUT, d, nlead, rank, shape, 0, below(2)),
      k = window(&p, TP_BUF_INPUT, TP_I64, nlead, rank, ks, 0, below(2));
  for (int64_t i = 0; i < k.a->count; i++) ((int64_t *)k.a->data)[i] = below(shape[axis]);
  win w = window(&p, TP_BUF_INPUT, d, nlead, rank, ws, 0, below(2)),
      out = window(&p, TP_BUF_OUTPUT, d, nlead, rank, adds ? shape : ks, 0, below(2)),
      in[3] = { x, k, w };
  tp_region *r = region(&p, TP_RG_OP, adds ? TP_OP_SCATTER_ADD : TP_OP_GATHER, nlead, shape,
      adds ? 3 : 2, in, 1, &out);
  r->how = (tp_how){ .axis = axis - nlead };
  add(&p, leaf(&p, r));
  bool ok = prog_run(&p);
  double *want = calloc((size_t)out.a->count, sizeof *want);
  if (adds) EACH_POINT(at, rank, shape) want[win_at(&out, at)] = win_get(&x, at);
  EACH_POINT(at2, rank, ks) {
    int64_t q[MAXAX];
    memcpy(q, at2, sizeof q);
    q[axis] = win_geti(&k, at2);
    if (adds) want[win_at(&out, q)] += win_get(&w, at2);
    else ok &= same_element(&out, at2, &x, q);
  }
  if (adds) EACH_POINT(at3, rank, shape) {
      double v = want[win_at(&out, at3)];
      ok &= near(d, win_get(&out, at3), tp_dtype_float(d) ? v : hold(d, (cell){ 0, (int64_t)v }).f);
    }
  CHECKF(ok, "%s of %s", adds ? "scatter_add" : "gather", tp_dtype_name(d));
  free(want);
  prog_close(&p);
}

/* NaNs whose bits are those by which hits are told apart while they are added up. */
static void test_marked_nan(void) {
  for (int c = 0; c < 2; c++) {
    prog p;
    prog_open(&p);
    int64_t n = 40, nk = 16;
    win in[3] = { window(&p, TP_BUF_INPUT, TP_F32, 0, 1, &n, 0, true),
      window(&p, TP_BUF_INPUT, TP_I64, 0, 1, &nk, 0, true),
      window(&p, TP_BUF_INPUT, TP_F32, 0, 1, &nk, 0, true) };
    win out = window(&p, TP_BUF_OUTPUT, TP_F32, 0, 1, &n, 0, true);
    uint32_t *x = in[0].a->data;
    bool hit[40] = { false };
    for (int i = 0; i < n; i++) x[i] = 0x7fa00000u + (uint32_t)(i * 7 % 16);
    ((float *)in[0].a->data)[30] = 4;
    for (int j = 0; j < nk; j++) {
      /* place 14 holds the mark of hit 2 */
      int64_t i = ((int64_t *)in[1].a->data)[j] = j == 2 ? 30 : j == 9 ? 14 : j * j % 29;
      ((float *)in[2].a->data)[j] = 1;
      hit[i] = true;
    }
    tp_region *r =
        region(&p, TP_RG_OP, c ? TP_OP_INDEX_ADD : TP_OP_SCATTER_ADD, 0, NULL, 3, in, 1, &out);
    r->how = (tp_how){ 0 };
    add(&p, leaf(&p, r));
    bool ok = prog_run(&p);
    const float *y = out.a->data;
    for (int i = 0; i < n; i++)
      ok &= i == 30 ? y[i] == 5 : hit[i] ? y[i] != y[i] : !memcmp(&y[i], &x[i], sizeof *y);
    CHECKF(ok, "%s", c ? "index_add" : "scatter_add");
    prog_close(&p);
  }
}

static void test_bad_index(void) {
  static const tp_op ops[] = { TP_OP_INDEX_SELECT, TP_OP_INDEX_ADD, TP_OP_GATHER,
    TP_OP_SCATTER_ADD };
  for (int c = 0; c < 8; c++) {
    prog p;
    prog_open(&p);
    int64_t n = 5, nk = 3;
    win in[3] = { window(&p, TP_BUF_INPUT, TP_F32, 0, 1, &n, 0, true),
      window(&p, TP_BUF_INPUT, TP_I64, 0, 1, &nk, 0, true),
      window(&p, TP_BUF_INPUT, TP_F32, 0, 1, &nk, 0, true) };
    for (int i = 0; i < 3; i++) ((int64_t *)in[1].a->data)[i] = i == 1 ? (c & 1 ? 5 : -1) : i;
    win out = window(&p, TP_BUF_OUTPUT, TP_F32, 0, 1, c / 2 & 1 ? &n : &nk, 0, true);
    tp_region *r = region(&p, TP_RG_OP, ops[c / 2], 0, NULL, c / 2 & 1 ? 3 : 2, in, 1, &out);
    r->how = (tp_how){ 0 };
    add(&p, leaf(&p, r));
    CHECK(!prog_go(&p, 1) && p.err.code == TP_E_INPUT &&
        strstr(p.err.msg, c & 1 ? "index 5 is outside 0 .. 4" : "index -1 is outside 0 .. 4"));
    CHECK(p.err.pos.line == 7);
    prog_close(&p);
  }
}

/* ---- sources ---- */

static void test_random(void) {
  prog p;
  prog_open(&p);
  p.seed = rnd();
  int64_t shape[4] = { below(4) ? 1 + below(3) : 40, below(30) ? 1 + below(4) : 0,
    below(4) ? 1 + below(9) : 600 };
  int nlead = (int)below(3), rank = 3, first = (int)below(2);
  tp_randkind kind = (tp_randkind)below(4);
  tp_dtype d = kind == TP_RAND_BERNOULLI ? any_dtype()
      : kind == TP_RAND_RANDINT          ? all[1 + below(3)]
                                         : all[4 + below(4)];
  win out = window(&p, TP_BUF_OUTPUT, d, nlead, rank, shape, 0, below(2));
  tp_region *r = region(&p, TP_RG_OP, TP_OP_RAND, nlead, shape, 0, NULL, 1, &out);
  r->how = (tp_how){ .rand = kind, .f = { 0.3 }, .limits = { -5, 40 }, .hash = 99 };
  tp_sym *i = tp_sym_var(p.c, "i");
  r->coord = TP_NEWN(&p.a, tp_ix *, 3);
  r->ncoord = 1 + nlead;
  /* the loop's coordinate before or after those of leading axes */
  for (int k = 0, lead = 0; k < r->ncoord; k++)
    r->coord[k] = k == first * nlead ? tp_ix_addc(tp_ix_sym(i), 10) : tp_ix_sym(r->leadvar[lead++]);
  add(&p, loop(&p, i, K(&p, 3), K(&p, 4), 1, leaf(&p, r)));
  bool ok = prog_run(&p);
  EACH_POINT(at, rank, shape) {
    tp_philox_key k = tp_philox_op(p.seed, 99);
    for (int c = 0, lead = 0; c <= nlead; c++)
      k = tp_philox_coord(k, c + 1, c == first * nlead ? 13 : at[lead++] + 2);
    int64_t e = 0;
    for (int c = nlead; c < rank; c++) e = e * shape[c] + at[c];
    double want[1] = { 0 };
    double u = d == TP_F64 ? tp_philox_uniform64(k, e) : tp_philox_uniform(k, e),
           bits = d == TP_F16 ? 2048
        : d == TP_BF16        ? 256
                              : 0;
    if (kind == TP_RAND_UNIFORM) tp_put(d, want, 0, bits ? floor(u * bits) / bits : u);
    if (kind == TP_RAND_NORMAL) tp_put(d, want, 0, tp_philox_normal(k, e));
    if (kind == TP_RAND_BERNOULLI) tp_puti(d, want, 0, tp_philox_uniform(k, e) < 0.3);
    if (kind == TP_RAND_RANDINT) tp_puti(d, want, 0, tp_philox_randint(k, e, -5, 40));
    double g = win_get(&out, at), w = tp_get(d, want, 0);
    ok &= g == w;
  }
  CHECKF(ok, "random %d of %s, lead %d", kind, tp_dtype_name(d), nlead);
  prog_close(&p);
}

static void test_sources(void) {
  prog p;
  prog_open(&p);
  int64_t shape[3] = { 3, 4, 2 };
  win iota = window(&p, TP_BUF_OUTPUT, TP_I64, 2, 3, shape, 0, below(2)),
      value = window(&p, TP_BUF_OUTPUT, TP_I64, 2, 2, shape, 0, below(2));
  win chain = window(&p, TP_BUF_OUTPUT, TP_I64, 2, 3, shape, 0, below(2)),
      cond = window(&p, TP_BUF_OUTPUT, TP_BOOL, 2, 2, shape, 0, true);
  tp_region *r;
  for (int k = 0; k < 4; k++) {
    r = region(&p, TP_RG_LOOP, TP_OP_VALUE, 2, shape, 0, NULL, 1,
        (win *[]){ &value, &chain, &cond, &iota }[k]);
    tp_pnode *x = leaf(&p, r);
    tp_ix *a = tp_ix_sym(r->leadvar[0]), *b = tp_ix_sym(r->leadvar[1]),
          *e = tp_ix_add(tp_ix_mulc(a, 10), tp_ix_mod(b, 3));
    if (k == 2) e = tp_ix_cmp(TP_LT, a, b);
    if (k == 3) e = tp_ix_sym(r->leadvar[2]);
    r->nmicro = 1 + (k == 1);
    r->micro = TP_NEWN(&p.a, tp_micro, 2);
    r->micro[0] = (tp_micro){ .op = TP_OP_VALUE, .dtype = k == 2 ? TP_BOOL : TP_I64, .ix = e };
    r->micro[1] = (tp_micro){ .op = TP_OP_NEG, .dtype = TP_I64, .in = { 0 } };
    r->outmicro[0] = k == 1;
    add(&p, x);
  }
  bool ok = prog_go(&p, 2);
  EACH_POINT(at, 3, shape) {
    int64_t v = (at[0] + 2) * 10 + (at[1] + 2) % 3;
    ok &= win_geti(&iota, at) == at[2] && win_geti(&value, at) == v && win_geti(&chain, at) == -v &&
        win_geti(&cond, at) == (at[0] < at[1]);
  }
  CHECKF(ok, "%s", p.err.msg);
  prog_close(&p);
}

int main(int argc, char **argv) {
  /* other programs than the usual ones */
  if (argc > 1) seed += strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ull;
  setenv("TEMPO_POISON", "1", 1);
  for (int i = 0; i < 600; i++) {
    test_copy_fill();
    test_wrap();
    test_wrapped_operand();
    test_index();
    test_gather();
    test_random();
  }
  test_marked_nan();
  test_bad_index();
  test_sources();
  return check_report();
}
