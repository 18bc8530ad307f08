/* The scheduler on statements written by hand: the programs of docs/scheduling.md and random ones.
 * Every schedule passes the proof, and a simulation at small bounds of order and of every storage
 * slot. */
#include "check.h"
#include "poly/poly.h"
#include <stdlib.h>
#include <time.h>

/* ---- writing a problem down ---- */

typedef struct {
  tp_ictx *ix;
  tp_graph g;
  tp_arena a;
  tp_poly p;
  tp_stmt *s;
  int capacc;
  char params[256];
  tp_error err;
  bool ok;
} prob;

static const tp_pos nowhere = { "test.lua", 1 };

static prob *begin(void) {
  prob *q = calloc(1, sizeof *q);
  q->ix = tp_ictx_new();
  q->g.ix = q->ix;
  tp_arena_init(&q->a);
  q->p.g = &q->g;
  q->p.a = &q->a;
  return q;
}

static void end(prob *q) {
  for (int i = 0; i < q->p.stmts.n; i++) {
    tp_stmt *s = q->p.stmts.v[i];
    isl_set_free(s->dom);
    for (int k = 0; k < s->nacc; k++) isl_map_free(s->acc[k].rel);
  }
  for (int i = 0; i < q->p.late.n; i++) tp_set_free(q->p.late.v[i].bad);
  tp_arena_free(&q->a);
  tp_arena_free(&q->g.arena);
  tp_ictx_free(q->ix);
  free(q);
}

/* "i t": dims with bounds I, T; "=n": a bound */
static void dims(prob *q, const char *names) {
  char *s = strdup(names), *save = NULL;
  for (char *w = strtok_r(s, " ", &save); w; w = strtok_r(NULL, " ", &save))
    if (*w == '=') tp_sym_bound(q->ix, w + 1, nowhere, NULL);
    else tp_sym_dim(q->ix, w, NULL, nowhere, NULL);
  free(s);
  q->params[0] = 0;
  for (int i = 0; i < tp_nsym(q->ix); i++)
    if (tp_sym_at(q->ix, i)->kind == TP_SYM_BOUND) {
      if (q->params[0]) strcat(q->params, ", ");
      strcat(q->params, tp_sym_at(q->ix, i)->name);
    }
}

static int split_dims(prob *q, const char *names, tp_sym **dim, tp_sym **label) {
  char *s = strdup(names), *save = NULL;
  int n = 0;
  for (char *w = strtok_r(s, " ", &save); w; w = strtok_r(NULL, " ", &save), n++) {
    char *colon = strchr(w, ':');
    if (colon) *colon = 0;
    dim[n] = colon ? tp_sym_hidden_dim(q->ix, w) : tp_sym_find(q->ix, w);
    label[n] = colon ? tp_sym_find(q->ix, colon + 1) : dim[n];
  }
  free(s);
  return n;
}

static int array(prob *q, const char *name, const char *d) {
  tp_sym *dim[8], *label[8];
  tp_arr *x = TP_NEW(&q->a, tp_arr);
  int n = split_dims(q, d, dim, label);
  *x = (tp_arr){ .id = q->p.arrs.n,
    .kind = TP_ARR_TEMP,
    .name = name,
    .ndim = n,
    .dim = tp_dup(&q->a, dim, sizeof *dim * 8) };
  TP_PUSH(&q->a, &q->p.arrs, x);
  return x->id;
}

static isl_id *param_id(prob *q, const char *name) {
  return isl_id_alloc(tp_isl_ctx(q->ix), name, tp_sym_find(q->ix, name));
}

static isl_map *map_of(prob *q, const char *text) {
  isl_map *m = isl_map_read_from_str(tp_isl_ctx(q->ix), text);
  if (!m) {
    fprintf(stderr, "cannot read %s\n", text);
    abort();
  }
  for (int i = 0; i < (int)isl_map_dim(m, isl_dim_param); i++)
    m = isl_map_set_dim_id(
        m, isl_dim_param, i, param_id(q, isl_map_get_dim_name(m, isl_dim_param, i)));
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < (int)isl_map_dim(m, t ? isl_dim_out : isl_dim_in); i++)
      m = isl_map_set_dim_name(m, t ? isl_dim_out : isl_dim_in, i, NULL);
  return m;
}

static void put_dims(const tp_stmt *s, char *out) {
  strcat(out, "[");
  for (int d = 0; d < s->ndim; d++) {
    if (d) strcat(out, ", ");
    strcat(out, s->dim[d]->name);
  }
  strcat(out, "]");
}

static tp_stmt *stmt(prob *q, tp_stkind kind, const char *name, const char *d, const char *cond) {
  tp_sym *dim[8], *label[8];
  tp_stmt *s = TP_NEW(&q->a, tp_stmt);
  int n = split_dims(q, d, dim, label);
  *s = (tp_stmt){ .id = q->p.stmts.n,
    .kind = kind,
    .k = -1,
    .ndim = n,
    .dim = tp_dup(&q->a, dim, sizeof dim),
    .label = tp_dup(&q->a, label, sizeof label),
    .name = name,
    .pos = { "test.lua", q->p.stmts.n + 1 } };
  char text[1024];
  snprintf(text, sizeof text, "[%s] -> { ", q->params);
  put_dims(s, text);
  strcat(text, " -> [] : (");
  strcat(text, *cond ? cond : "1 = 1");
  strcat(text, ")");
  for (int i = 0; i < n; i++)
    sprintf(text + strlen(text), " and 0 <= %s < %s", dim[i]->name, label[i]->bound->name);
  strcat(text, " }");
  s->dom = isl_map_domain(map_of(q, text));
  s->acc = TP_NEWN(&q->a, tp_access, 16);
  TP_PUSH(&q->a, &q->p.stmts, s);
  q->s = s;
  return s;
}

static void touch(prob *q, tp_acckind kind, int arr, const char *to, const char *cond, bool alias) {
  char text[1024];
  snprintf(text, sizeof text, "[%s] -> { ", q->params);
  put_dims(q->s, text);
  sprintf(text + strlen(text), " -> [%s] : %s", to, *cond ? cond : "1 = 1");
  strcat(text, " }");
  isl_map *m = isl_map_intersect_domain(map_of(q, text), isl_set_copy(q->s->dom));
  const tp_arr *x = q->p.arrs.v[arr];
  m = isl_map_intersect_range(m, tp_set_box(q->ix, x->ndim, x->dim));
  q->s->acc[q->s->nacc++] =
      (tp_access){ .kind = kind, .arr = arr, .rel = m, .alias = alias, .pos = q->s->pos };
}

static void op(
    prob *q, const char *name, const char *d, const char *cond, int arr, const char *to) {
  stmt(q, TP_ST_OP, name, d, cond);
  if (arr >= 0) touch(q, TP_ACC_WRITE, arr, to, "", false);
}
static void rd(prob *q, int arr, const char *to, const char *cond) {
  touch(q, TP_ACC_READ, arr, to, cond, false);
}
/* in place if it can */
static void over(prob *q, int arr, const char *to) { touch(q, TP_ACC_READ, arr, to, "", true); }
static void init(prob *q, const char *d, int arr, const char *to) {
  stmt(q, TP_ST_INIT, q->p.arrs.v[arr]->name, d, "");
  touch(q, TP_ACC_WRITE, arr, to, "", false);
}
static void acc(
    prob *q, const char *name, const char *d, const char *cond, int arr, const char *to) {
  stmt(q, TP_ST_ACC, name, d, cond);
  touch(q, TP_ACC_UPDATE, arr, to, "", false);
}
static void sink(prob *q, const char *name, const char *d, const char *cond) {
  stmt(q, TP_ST_OP, name, d, cond)->effect = true;
}
/* the last statement may run over this dim at once */
static void vec(prob *q, const char *name) {
  for (int d = 0; d < q->s->ndim; d++)
    if (!strcmp(q->s->dim[d]->name, name)) q->s->mayvec |= 1u << d;
}

/* ---- looking at results ---- */

static bool plan(prob *q, const char *name) {
  q->ok = tp_schedule(&q->p, &q->err);
  CHECKF(q->ok && q->p.proved, "%s: %s", name, q->err.msg);
  if (getenv("SHOW")) {
    tp_buf b;
    tp_buf_init(&b);
    tp_poly_print_schedule(&b, &q->p);
    tp_poly_print_storage(&b, &q->p, NULL);
    printf("-- %s: %d statements; ms: schedule %.1f proof %.1f tree %.1f widths %.1f; %d "
           "queries\n%s%s\n",
        name, q->p.stmts.n, q->p.ms_schedule, q->p.ms_proof, q->p.ms_tree, q->p.ms_live,
        q->p.nquery, b.s ? b.s : "", q->err.msg);
    tp_buf_free(&b);
  }
  return q->ok;
}

static void bounds(prob *q, int64_t *env, const char *name, int64_t v) {
  env[tp_sym_find(q->ix, name)->id] = v;
}

/* Simulates at every combination of lo .. hi for the bounds. */
static void simulate(prob *q, const char *name, int lo, int hi) {
  if (!q->ok) return;
  tp_sym *b[8];
  int n = 0, N = tp_nsym(q->ix);
  int64_t *env = calloc((size_t)N, sizeof *env), v[8];
  for (int i = 0; i < N; i++)
    if (tp_sym_at(q->ix, i)->kind == TP_SYM_BOUND) {
      v[n] = lo;
      b[n++] = tp_sym_at(q->ix, i);
    }
  for (bool more = true, good = true; more && good;) {
    for (int i = 0; i < n; i++) env[b[i]->id] = v[i];
    tp_error err = { 0 };
    good = tp_poly_simulate(&q->p, env, &err);
    CHECKF(good, "%s at %s = %d: %s", name, n ? b[0]->name : "", n ? (int)v[0] : 0, err.msg);
    int k = 0;
    while (k < n && ++v[k] > hi) v[k++] = lo;
    more = k < n;
  }
  free(env);
}

/* at bounds like "T=8 n=3" */
static int64_t width(prob *q, int arr, int dim, const char *set) {
  int64_t *env = calloc((size_t)tp_nsym(q->ix), sizeof *env), w = -1;
  char *s = strdup(set), *save = NULL;
  for (char *x = strtok_r(s, " ", &save); x; x = strtok_r(NULL, " ", &save)) {
    char *eq = strchr(x, '=');
    *eq = 0;
    bounds(q, env, x, atoi(eq + 1));
  }
  if (q->ok) w = tp_ix_evalq(q->p.arrs.v[arr]->width[dim], env);
  free(s);
  free(env);
  return w;
}

static void is_width(prob *q, const char *name, int arr, int dim, const char *set, int64_t want) {
  int64_t w = width(q, arr, dim, set);
  CHECKF(w == want, "%s: width %d of %s at %s is %lld, not %lld", name, dim, q->p.arrs.v[arr]->name,
      set, (long long)w, (long long)want);
}

/* ---- programs ---- */

static void prefix(void) {
  prob *q = begin();
  dims(q, "t");
  int x = array(q, "x", "t"), m = array(q, "m", "t"), y = array(q, "y", "t");
  op(q, "x", "t", "", x, "t");
  init(q, "t", m, "t");
  acc(q, "m+", "t u:t", "u <= t", m, "t");
  rd(q, x, "u", "");
  op(q, "y", "t", "", y, "t");
  rd(q, m, "t", "");
  sink(q, "out", "t", "");
  rd(q, y, "t", "");
  plan(q, "prefix");
  simulate(q, "prefix", 1, 8);
  is_width(q, "prefix", x, 0, "T=9", 9);
  is_width(q, "prefix", m, 0, "T=9", 1);
  is_width(q, "prefix", y, 0, "T=9", 1);
  end(q);
}

static void suffix(void) {
  prob *q = begin();
  dims(q, "t");
  int x = array(q, "x", "t"), m = array(q, "m", "t"), y = array(q, "y", "t");
  op(q, "x", "t", "", x, "t");
  init(q, "t", m, "t");
  acc(q, "m+", "t u:t", "u >= t", m, "t");
  rd(q, x, "u", "");
  op(q, "y", "t", "", y, "t");
  rd(q, m, "t", "");
  plan(q, "suffix");
  simulate(q, "suffix", 1, 8);
  is_width(q, "suffix", x, 0, "T=9", 9);
  is_width(q, "suffix", m, 0, "T=9", 1);
  end(q);
}

static bool shows(prob *q, const char *name, const char *want) {
  tp_buf b;
  tp_buf_init(&b);
  if (q->ok) tp_poly_print_schedule(&b, &q->p);
  bool ok = b.s && strstr(b.s, want);
  CHECKF(ok, "%s: no '%s' in\n%s", name, want, b.s ? b.s : "(nothing)");
  tp_buf_free(&b);
  return ok;
}

static void two_lag(void) {
  for (int alias = 0; alias < 2; alias++) {
    prob *q = begin();
    dims(q, "t");
    int h = array(q, "h", "t"), y = array(q, "y", "t");
    op(q, "h0", "t", "t <= 1", h, "t");
    op(q, "h", "t", "t >= 2", h, "t");
    touch(q, TP_ACC_READ, h, "t - 1", "", alias);
    touch(q, TP_ACC_READ, h, "t - 2", "", alias);
    op(q, "y", "t", "", y, "t");
    rd(q, h, "t", "");
    plan(q, "2-lag");
    simulate(q, "2-lag", 1, 8);
    is_width(q, "2-lag", h, 0, "T=9", alias ? 2 : 3);
    is_width(q, "2-lag", y, 0, "T=9", 1);
    end(q);
  }
}

static void both_ways(void) {
  prob *q = begin();
  dims(q, "t");
  int x = array(q, "x", "t"), f = array(q, "f", "t"), g = array(q, "g", "t"),
      y = array(q, "y", "t");
  op(q, "x", "t", "", x, "t");
  op(q, "f0", "t", "t = 0", f, "t");
  rd(q, x, "t", "");
  op(q, "f", "t", "t >= 1", f, "t");
  rd(q, x, "t", "");
  over(q, f, "t - 1");
  op(q, "gT", "t", "t = T - 1", g, "t");
  rd(q, x, "t", "");
  op(q, "g", "t", "t < T - 1", g, "t");
  rd(q, x, "t", "");
  over(q, g, "t + 1");
  op(q, "y", "t", "", y, "t");
  rd(q, f, "t", "");
  rd(q, g, "t", "");
  plan(q, "forward + backward");
  simulate(q, "forward + backward", 1, 8);
  CHECK(width(q, f, 0, "T=9") + width(q, g, 0, "T=9") == 10); /* whichever comes first is kept */
  is_width(q, "forward + backward", y, 0, "T=9", 1);
  end(q);
}

/* REINFORCE: policy w[i], rollout over t, returns g[t] over t .. T (n < 0) or t .. min(t + n, T), a
 * loss that is printed, the gradient dW, the update. */
typedef struct {
  prob *q;
  int w, h, a, r, g, gl, dw;
} learner;

static learner reinforce(bool nstep) {
  learner l = { .q = begin() };
  prob *q = l.q;
  dims(q, nstep ? "i t =n" : "i t");
  l.w = array(q, "w", "i");
  l.h = array(q, "h", "i t");
  l.a = array(q, "a", "i t");
  l.r = array(q, "r", "i t");
  l.g = array(q, "g", "i t");
  l.gl = array(q, "gl", "i t");
  l.dw = array(q, "dw", "i");
  int o = array(q, "o", "i t"), ra = array(q, "R", "i");
  op(q, "w0", "i", "i = 0", l.w, "i");
  op(q, "w", "i", "i >= 1", l.w, "i");
  over(q, l.w, "i - 1");
  rd(q, l.dw, "i - 1", "");
  op(q, "o0", "i t", "t = 0", o, "i, t");
  op(q, "o", "i t", "t >= 1", o, "i, t");
  rd(q, o, "i, t - 1", "");
  rd(q, l.a, "i, t - 1", "");
  op(q, "h", "i t", "", l.h, "i, t");
  rd(q, o, "i, t", "");
  rd(q, l.w, "i", "");
  op(q, "a", "i t", "", l.a, "i, t");
  rd(q, l.h, "i, t", "");
  op(q, "r", "i t", "", l.r, "i, t");
  rd(q, l.a, "i, t", "");
  rd(q, o, "i, t", "");
  init(q, "i t", l.g, "i, t");
  acc(q, "g+", "i t u:t", nstep ? "t <= u < t + n" : "u >= t", l.g, "i, t");
  rd(q, l.r, "i, u", "");
  op(q, "gl", "i t", "", l.gl, "i, t");
  rd(q, l.g, "i, t", "");
  rd(q, l.h, "i, t", "");
  init(q, "i", l.dw, "i");
  acc(q, "dw+", "i t", "", l.dw, "i");
  rd(q, l.gl, "i, t", "");
  init(q, "i", ra, "i");
  acc(q, "R+", "i t", "", ra, "i");
  rd(q, l.r, "i, t", "");
  sink(q, "print", "i", "");
  rd(q, ra, "i", "");
  return l;
}

static void monte_carlo(void) {
  learner l = reinforce(false);
  plan(l.q, "monte carlo");
  simulate(l.q, "monte carlo", 1, 5);
  is_width(l.q, "monte carlo", l.w, 0, "I=9 T=7", 1);
  is_width(l.q, "monte carlo", l.h, 0, "I=9 T=7", 1);
  is_width(l.q, "monte carlo", l.h, 1, "I=9 T=7", 7);
  is_width(l.q, "monte carlo", l.g, 1, "I=9 T=7", 1);
  is_width(l.q, "monte carlo", l.gl, 1, "I=9 T=7", 1);
  is_width(l.q, "monte carlo", l.dw, 0, "I=9 T=7", 1);
  end(l.q);
}

static void n_step(void) {
  learner l = reinforce(true);
  plan(l.q, "n-step");
  simulate(l.q, "n-step", 1, 5);
  is_width(l.q, "n-step", l.h, 0, "I=9 T=7 n=3", 1);
  is_width(l.q, "n-step", l.h, 1, "I=9 T=7 n=3", 3);
  is_width(l.q, "n-step", l.r, 1, "I=9 T=7 n=3", 3);
  is_width(l.q, "n-step", l.r, 1, "I=9 T=2 n=3", 2);
  is_width(l.q, "n-step", l.g, 1, "I=9 T=7 n=3", 1);
  is_width(l.q, "n-step", l.gl, 1, "I=9 T=7 n=3", 1);
  is_width(l.q, "n-step", l.dw, 0, "I=9 T=7 n=3", 1);
  is_width(l.q, "n-step", l.w, 0, "I=9 T=7 n=3", 1);
  shows(l.q, "n-step", "- n + 1"); /* g's point within the rollout's loop */
  end(l.q);
}

static void bptt(void) {
  prob *q = begin();
  dims(q, "i t");
  int w = array(q, "w", "i"), x = array(q, "x", "i t"), h = array(q, "h", "i t"),
      d = array(q, "d", "i t"), dh = array(q, "dh", "i t"), dw = array(q, "dw", "i");
  op(q, "w0", "i", "i = 0", w, "i");
  op(q, "w", "i", "i >= 1", w, "i");
  over(q, w, "i - 1");
  rd(q, dw, "i - 1", "");
  op(q, "x", "i t", "", x, "i, t");
  op(q, "h0", "i t", "t = 0", h, "i, t");
  rd(q, w, "i", "");
  rd(q, x, "i, t", "");
  op(q, "h", "i t", "t >= 1", h, "i, t");
  rd(q, h, "i, t - 1", "");
  rd(q, w, "i", "");
  rd(q, x, "i, t", "");
  op(q, "d", "i t", "", d, "i, t");
  rd(q, h, "i, t", "");
  init(q, "i t", dh, "i, t");
  acc(q, "dh+d", "i t", "", dh, "i, t");
  rd(q, d, "i, t", "");
  acc(q, "dh+h", "i t", "t >= 1", dh, "i, t - 1");
  rd(q, dh, "i, t", "");
  rd(q, h, "i, t", "");
  rd(q, w, "i", "");
  init(q, "i", dw, "i");
  acc(q, "dw+", "i t", "", dw, "i");
  rd(q, dh, "i, t", "");
  rd(q, x, "i, t", "");
  plan(q, "bptt");
  simulate(q, "bptt", 1, 5);
  is_width(q, "bptt", h, 0, "I=9 T=7", 1);
  is_width(q, "bptt", h, 1, "I=9 T=7", 7);
  is_width(q, "bptt", d, 1, "I=9 T=7", 1);
  is_width(q, "bptt", dw, 0, "I=9 T=7", 1);
  CHECK(width(q, dh, 1, "I=9 T=7") <= 2); /* its sums, its use: one backward loop */
  is_width(q, "bptt", w, 0, "I=9 T=7", 1);
  end(q);
}

static void edit_distance(void) {
  prob *q = begin();
  dims(q, "p q");
  int a = array(q, "a", "p"), b = array(q, "b", "q"), d = array(q, "d", "p q"),
      y = array(q, "y", "");
  op(q, "a", "p", "", a, "p");
  op(q, "b", "q", "", b, "q");
  op(q, "d0", "p q", "p = 0", d, "p, q");
  op(q, "d1", "p q", "p > 0 and q = 0", d, "p, q");
  op(q, "d", "p q", "p > 0 and q > 0", d, "p, q");
  rd(q, d, "p - 1, q", "");
  rd(q, d, "p, q - 1", "");
  rd(q, d, "p - 1, q - 1", "");
  rd(q, a, "p", "");
  rd(q, b, "q", "");
  op(q, "y", "", "P >= 1 and Q >= 1", y, "");
  rd(q, d, "P - 1, Q - 1", "");
  plan(q, "edit distance");
  simulate(q, "edit distance", 1, 6);
  is_width(q, "edit distance", d, 0, "P=9 Q=7", 2);
  is_width(q, "edit distance", d, 1, "P=9 Q=7", 7);
  is_width(q, "edit distance", a, 0, "P=9 Q=7", 1);
  is_width(q, "edit distance", b, 0, "P=9 Q=7", 7);
  end(q);
}

static void decode(const char *name, const char *window, int64_t want) {
  prob *q = begin();
  dims(q, "t l =P");
  int tok = array(q, "tok", "t"), e = array(q, "e", "t"), x = array(q, "x", "t l"),
      kv = array(q, "kv", "t l"), qq = array(q, "q", "t l"), at = array(q, "at", "t l"),
      lg = array(q, "lg", "t");
  op(q, "pr", "t", "t < P", tok, "t");
  op(q, "tok", "t", "t >= P and t >= 1", tok, "t");
  rd(q, lg, "t - 1", "");
  op(q, "e", "t", "t < P or t >= 1", e, "t");
  rd(q, tok, "t", "");
  sink(q, "snk", "t", "t >= P and t >= 1");
  rd(q, tok, "t", "");
  op(q, "x0", "t l", "l = 0 and (t < P or t >= 1)", x, "t, l");
  rd(q, e, "t", "");
  op(q, "x", "t l", "l >= 1 and (t < P or t >= 1)", x, "t, l");
  rd(q, at, "t, l - 1", "");
  op(q, "kv", "t l", "t < P or t >= 1", kv, "t, l");
  rd(q, x, "t, l", "");
  op(q, "q", "t l", "t < P or t >= 1", qq, "t, l");
  rd(q, x, "t, l", "");
  op(q, "at", "t l", "t < P or t >= 1", at, "t, l");
  rd(q, qq, "t, l", "");
  rd(q, kv, "u, l", window);
  rd(q, x, "t, l", "");
  op(q, "lg", "t", "(t < P or t >= 1) and L >= 1", lg, "t");
  rd(q, at, "t, L - 1", "");
  plan(q, name);
  simulate(q, name, 1, 4);
  is_width(q, name, kv, 0, "T=9 L=5 P=2", want);
  is_width(q, name, kv, 1, "T=9 L=5 P=2", 5);
  is_width(q, name, x, 0, "T=9 L=5 P=2", 1);
  is_width(q, name, x, 1, "T=9 L=5 P=2", 1);
  is_width(q, name, tok, 0, "T=9 L=5 P=2", 1);
  end(q);
}

static void bidirectional(void) {
  prob *q = begin();
  dims(q, "i t");
  int w = array(q, "w", "i"), f = array(q, "f", "i t"), b = array(q, "b", "i t"),
      y = array(q, "y", "i t"), s = array(q, "s", "i");
  op(q, "w0", "i", "i = 0", w, "i");
  op(q, "w", "i", "i >= 1", w, "i");
  over(q, w, "i - 1");
  rd(q, s, "i - 1", "");
  op(q, "f0", "i t", "t = 0", f, "i, t");
  rd(q, w, "i", "");
  op(q, "f", "i t", "t >= 1", f, "i, t");
  rd(q, f, "i, t - 1", "");
  rd(q, w, "i", "");
  op(q, "b0", "i t", "t = T - 1", b, "i, t");
  rd(q, w, "i", "");
  op(q, "b", "i t", "t < T - 1", b, "i, t");
  rd(q, b, "i, t + 1", "");
  rd(q, w, "i", "");
  op(q, "y", "i t", "", y, "i, t");
  rd(q, f, "i, t", "");
  rd(q, b, "i, t", "");
  init(q, "i", s, "i");
  acc(q, "s+", "i t", "", s, "i");
  rd(q, y, "i, t", "");
  plan(q, "bidirectional");
  simulate(q, "bidirectional", 1, 5);
  is_width(q, "bidirectional", y, 1, "I=9 T=7", 1);
  is_width(q, "bidirectional", f, 0, "I=9 T=7", 1);
  is_width(q, "bidirectional", f, 1, "I=9 T=7", 7);
  CHECK(width(q, b, 1, "I=9 T=7") <= 2);
  end(q);
}

static void ppo(void) {
  prob *q = begin();
  dims(q, "i k t");
  int w = array(q, "w", "i k"), o = array(q, "o", "i t"), a = array(q, "a", "i t"),
      v = array(q, "v", "i k t"), dw = array(q, "dw", "i k");
  op(q, "w00", "i k", "i = 0 and k = 0", w, "i, k");
  op(q, "w0", "i k", "i >= 1 and k = 0", w, "i, k");
  over(q, w, "i - 1, K - 1");
  rd(q, dw, "i - 1, K - 1", "");
  op(q, "w", "i k", "k >= 1", w, "i, k");
  over(q, w, "i, k - 1");
  rd(q, dw, "i, k - 1", "");
  op(q, "o0", "i t", "t = 0", o, "i, t");
  op(q, "o", "i t", "t >= 1", o, "i, t");
  rd(q, a, "i, t - 1", "");
  over(q, o, "i, t - 1");
  op(q, "a", "i t", "K >= 1", a, "i, t");
  rd(q, o, "i, t", "");
  rd(q, w, "i, 0", "");
  op(q, "v", "i k t", "", v, "i, k, t");
  rd(q, o, "i, t", "");
  rd(q, a, "i, t", "");
  rd(q, w, "i, k", "");
  init(q, "i k", dw, "i, k");
  acc(q, "dw+", "i k t", "", dw, "i, k");
  rd(q, v, "i, k, t", "");
  plan(q, "ppo");
  simulate(q, "ppo", 1, 4);
  is_width(q, "ppo", o, 0, "I=9 K=5 T=7", 1);
  is_width(q, "ppo", o, 1, "I=9 K=5 T=7", 7);
  is_width(q, "ppo", v, 2, "I=9 K=5 T=7", 1);
  is_width(q, "ppo", v, 1, "I=9 K=5 T=7", 1);
  CHECK(width(q, w, 0, "I=9 K=5 T=7") * width(q, w, 1, "I=9 K=5 T=7") <= 2);
  end(q);
}

static void gae(void) {
  prob *q = begin();
  dims(q, "i t");
  int w = array(q, "w", "i"), v = array(q, "v", "i t"), d = array(q, "d", "i t"),
      A = array(q, "A", "i t"), s = array(q, "s", "i");
  op(q, "w0", "i", "i = 0", w, "i");
  op(q, "w", "i", "i >= 1", w, "i");
  over(q, w, "i - 1");
  rd(q, s, "i - 1", "");
  op(q, "v", "i t", "", v, "i, t");
  rd(q, w, "i", "");
  op(q, "dT", "i t", "t = T - 1", d, "i, t");
  rd(q, v, "i, t", "");
  op(q, "d", "i t", "t < T - 1", d, "i, t");
  rd(q, v, "i, t", "");
  rd(q, v, "i, t + 1", "");
  op(q, "AT", "i t", "t = T - 1", A, "i, t");
  rd(q, d, "i, t", "");
  op(q, "A", "i t", "t < T - 1", A, "i, t");
  over(q, d, "i, t");
  over(q, A, "i, t + 1");
  init(q, "i", s, "i");
  acc(q, "s+", "i t", "", s, "i");
  rd(q, A, "i, t", "");
  rd(q, v, "i, t", "");
  plan(q, "gae");
  simulate(q, "gae", 1, 5);
  CHECK(width(q, v, 1, "I=9 T=7") <= 2); /* all of it runs backwards */
  is_width(q, "gae", v, 0, "I=9 T=7", 1);
  CHECK(width(q, A, 1, "I=9 T=7") <= 2);
  end(q);
}

static void target_network(void) {
  prob *q = begin();
  dims(q, "i");
  int w = array(q, "w", "i"), g = array(q, "g", "i");
  op(q, "w0", "i", "i = 0", w, "i");
  op(q, "w", "i", "i >= 1", w, "i");
  over(q, w, "i - 1");
  rd(q, g, "i - 1", "");
  op(q, "g", "i", "", g, "i");
  rd(q, w, "i", "");
  rd(q, w, "u", "u = 10*(floor(i/10))");
  plan(q, "target network");
  simulate(q, "target network", 1, 8);
  simulate(q, "target network", 21, 24);
  CHECK(width(q, w, 0, "I=99") >= 10 && width(q, w, 0, "I=99") <= 11);
  is_width(q, "target network", g, 0, "I=99", 1);
  end(q);
}

static void layers(void) {
  prob *q = begin();
  dims(q, "i l");
  int w = array(q, "w", "i l"), x = array(q, "x", "i l"), dx = array(q, "dx", "i l"),
      dw = array(q, "dw", "i l");
  op(q, "w0", "i l", "i = 0", w, "i, l");
  op(q, "w", "i l", "i >= 1", w, "i, l");
  over(q, w, "i - 1, l");
  over(q, dw, "i - 1, l");
  op(q, "x0", "i l", "l = 0", x, "i, l");
  rd(q, w, "i, l", "");
  op(q, "x", "i l", "l >= 1", x, "i, l");
  rd(q, x, "i, l - 1", "");
  rd(q, w, "i, l", "");
  op(q, "dxL", "i l", "l = L - 1", dx, "i, l");
  rd(q, x, "i, l", "");
  op(q, "dx", "i l", "l < L - 1", dx, "i, l");
  over(q, dx, "i, l + 1");
  rd(q, w, "i, l + 1", "");
  rd(q, x, "i, l", "");
  op(q, "dw", "i l", "", dw, "i, l");
  rd(q, dx, "i, l", "");
  rd(q, x, "i, l", "");
  plan(q, "layers");
  simulate(q, "layers", 1, 6);
  is_width(q, "layers", x, 0, "I=9 L=7", 1);
  is_width(q, "layers", x, 1, "I=9 L=7", 7);
  CHECK(width(q, dx, 1, "I=9 L=7") <= 2);
  is_width(q, "layers", w, 0, "I=9 L=7", 1); /* updated in place */
  is_width(q, "layers", w, 1, "I=9 L=7", 7);
  end(q);
}

/* h[t] <- h[t-1], g[t] <- g[t+1], h[i+1] <- g[i, 0] */
static void carried(void) {
  prob *q = begin();
  dims(q, "i t");
  int h = array(q, "h", "i t"), g = array(q, "g", "i t");
  op(q, "h00", "i t", "i = 0 and t = 0", h, "i, t");
  op(q, "h0", "i t", "i >= 1 and t = 0", h, "i, t");
  rd(q, g, "i - 1, 0", "");
  op(q, "h", "i t", "t >= 1", h, "i, t");
  rd(q, h, "i, t - 1", "");
  op(q, "gT", "i t", "t = T - 1", g, "i, t");
  rd(q, h, "i, t", "");
  op(q, "g", "i t", "t < T - 1", g, "i, t");
  rd(q, g, "i, t + 1", "");
  rd(q, h, "i, t", "");
  plan(q, "carried");
  simulate(q, "carried", 1, 6);
  is_width(q, "carried", h, 0, "I=9 T=7", 1);
  end(q);
}

/* a 2-lag recurrence in i with a full reduction over t */
static void two_lag_outer(void) {
  prob *q = begin();
  dims(q, "i t");
  int w = array(q, "w", "i"), y = array(q, "y", "i t"), s = array(q, "s", "i");
  op(q, "w0", "i", "i <= 1", w, "i");
  op(q, "w", "i", "i >= 2", w, "i");
  rd(q, w, "i - 2", "");
  rd(q, s, "i - 1", "");
  op(q, "y", "i t", "", y, "i, t");
  rd(q, w, "i", "");
  init(q, "i", s, "i");
  acc(q, "s+", "i t", "", s, "i");
  rd(q, y, "i, t", "");
  plan(q, "2-lag outer");
  simulate(q, "2-lag outer", 1, 6);
  is_width(q, "2-lag outer", y, 1, "I=9 T=7", 1);
  CHECK(width(q, w, 0, "I=9 T=7") <= 3);
  end(q);
}

static void halves(void) {
  prob *q = begin();
  dims(q, "t");
  int x = array(q, "x", "t"), y = array(q, "y", "t"), z = array(q, "z", "t");
  op(q, "x", "t", "", x, "t");
  op(q, "y", "t", "", y, "t");
  rd(q, x, "floor(t/2)", "");
  op(q, "z", "t", "", z, "t");
  rd(q, x, "2*t", "");
  plan(q, "halves");
  simulate(q, "halves", 1, 8);
  CHECK(width(q, x, 0, "T=9") <= 9);
  end(q);
}

static void replay(void) {
  prob *q = begin();
  dims(q, "i");
  int w = array(q, "w", "i"), e = array(q, "e", "i");
  op(q, "w0", "i", "i = 0", w, "i");
  op(q, "w", "i", "i >= 1", w, "i");
  over(q, w, "i - 1");
  rd(q, e, "u", "i - 50 <= u < i");
  op(q, "e", "i", "", e, "i");
  rd(q, w, "i", "");
  plan(q, "replay");
  simulate(q, "replay", 1, 5);
  simulate(q, "replay", 60, 61);
  is_width(q, "replay", e, 0, "I=99", 50);
  end(q);
}

/* b over a rollout (i, b, t): loops i and t, b inside each call */
static void batch(void) {
  prob *q = begin();
  dims(q, "i b t");
  int w = array(q, "w", "i"), h = array(q, "h", "i b t"), y = array(q, "y", "i b t"),
      s = array(q, "s", "i");
  op(q, "w0", "i", "i = 0", w, "i");
  op(q, "w", "i", "i >= 1", w, "i");
  over(q, w, "i - 1");
  rd(q, s, "i - 1", "");
  op(q, "h0", "i b t", "t = 0", h, "i, b, t");
  rd(q, w, "i", "");
  vec(q, "b");
  op(q, "h", "i b t", "t >= 1", h, "i, b, t");
  over(q, h, "i, b, t - 1");
  rd(q, w, "i", "");
  vec(q, "b");
  vec(q, "t");
  op(q, "y", "i b t", "", y, "i, b, t");
  rd(q, h, "i, b, t", "");
  vec(q, "b");
  vec(q, "t");
  init(q, "i", s, "i");
  acc(q, "s+", "i b t", "", s, "i");
  rd(q, y, "i, b, t", "");
  vec(q, "b");
  vec(q, "t");
  plan(q, "batch");
  simulate(q, "batch", 1, 4);
  is_width(q, "batch", h, 1, "I=9 B=5 T=7", 5);
  is_width(q, "batch", h, 2, "I=9 B=5 T=7", 1);
  is_width(q, "batch", y, 2, "I=9 B=5 T=7", 1);
  shows(q, "batch", "0 .. B");
  end(q);
}

/* in place is not in place when the batch index moves */
static void batch_shifted(void) {
  prob *q = begin();
  dims(q, "b t");
  int h = array(q, "h", "b t");
  op(q, "h0", "b t", "t = 0", h, "b, t");
  vec(q, "b");
  op(q, "h1", "b t", "t >= 1 and b < B - 1", h, "b, t");
  over(q, h, "b + 1, t - 1");
  vec(q, "b");
  op(q, "h2", "b t", "t >= 1 and b = B - 1", h, "b, t");
  over(q, h, "b, t - 1");
  vec(q, "b");
  plan(q, "batch shifted");
  simulate(q, "batch shifted", 1, 5);
  is_width(q, "batch shifted", h, 1, "B=5 T=7", 2);
  end(q);
}

/* j in blocks around i in blocks: each call knows which of the two numbers is its own */
static void nested_blocks(void) {
  prob *q = begin();
  dims(q, "i j");
  int h = array(q, "h", "j"), y = array(q, "y", "j"), s = array(q, "s", "j"),
      x = array(q, "x", "j"), g = array(q, "g", "i");
  q->p.block = 2;
  op(q, "h0", "j", "j = 0", h, "j");
  op(q, "h", "j", "j >= 1", h, "j");
  over(q, h, "j - 1");
  rd(q, x, "j", "");
  op(q, "x", "j", "", x, "j");
  vec(q, "j");
  init(q, "j", s, "j");
  vec(q, "j");
  acc(q, "s+", "j u:i", "", s, "j");
  rd(q, x, "j", "");
  vec(q, "u");
  op(q, "y", "j", "", y, "j");
  rd(q, s, "j", "");
  rd(q, h, "j", "");
  vec(q, "j");
  op(q, "g0", "i", "i = 0", g, "i");
  op(q, "g", "i", "i >= 1", g, "i");
  over(q, g, "i - 1");
  plan(q, "nested blocks");
  simulate(q, "nested blocks", 1, 6);
  shows(q, "nested blocks", "2*i");
  end(q);
}

/* sinks interleave with training and stay in order */
static void effects(void) {
  prob *q = begin();
  dims(q, "i t");
  int w = array(q, "w", "i"), x = array(q, "x", "i t");
  op(q, "w0", "i", "i = 0", w, "i");
  op(q, "w", "i", "i >= 1", w, "i");
  over(q, w, "i - 1");
  op(q, "x", "i t", "", x, "i, t");
  rd(q, w, "i", "");
  sink(q, "out", "i t", "");
  rd(q, x, "i, t", "");
  sink(q, "log", "i", "");
  rd(q, w, "i", "");
  plan(q, "effects");
  simulate(q, "effects", 1, 5);
  is_width(q, "effects", w, 0, "I=9 T=7", 1);
  is_width(q, "effects", x, 1, "I=9 T=7", 1);
  end(q);
}

/* A network of n layers, unrolled, trained over i: 5 n statements; each weight is updated in place.
 */
static void unrolled(int n) {
  prob *q = begin();
  dims(q, "i");
  int *w = calloc((size_t)n, sizeof *w), *h = calloc((size_t)n + 1, sizeof *h),
      *dh = calloc((size_t)n + 1, sizeof *dh), *dw = calloc((size_t)n, sizeof *dw);
  for (int l = 0; l <= n; l++) {
    h[l] = array(q, "h", "i");
    dh[l] = array(q, "dh", "i");
  }
  for (int l = 0; l < n; l++) {
    w[l] = array(q, "w", "i");
    dw[l] = array(q, "dw", "i");
    op(q, "w0", "i", "i = 0", w[l], "i");
    op(q, "w", "i", "i >= 1", w[l], "i");
    over(q, w[l], "i - 1");
    rd(q, dw[l], "i - 1", "");
  }
  op(q, "x", "i", "", h[0], "i");
  for (int l = 0; l < n; l++) {
    op(q, "h", "i", "", h[l + 1], "i");
    rd(q, h[l], "i", "");
    rd(q, w[l], "i", "");
  }
  op(q, "e", "i", "", dh[n], "i");
  rd(q, h[n], "i", "");
  for (int l = n - 1; l >= 0; l--) {
    op(q, "dw", "i", "", dw[l], "i");
    rd(q, dh[l + 1], "i", "");
    rd(q, h[l], "i", "");
    op(q, "dh", "i", "", dh[l], "i");
    rd(q, dh[l + 1], "i", "");
    rd(q, w[l], "i", "");
  }
  plan(q, "unrolled");
  for (int l = 0; l < n; l++) is_width(q, "unrolled", w[l], 0, "I=9", 1);
  if (n < 30) simulate(q, "unrolled", 1, 3);
  if (getenv("BENCH"))
    printf("unrolled %d: %d statements, %d queries; ms: schedule %.0f proof %.0f tree %.0f widths "
           "%.0f\n",
        n, q->p.stmts.n, q->p.nquery, q->p.ms_schedule, q->p.ms_proof, q->p.ms_tree, q->p.ms_live);
  free(w);
  free(h);
  free(dh);
  free(dw);
  end(q);
}

static void cycle(void) {
  prob *q = begin();
  dims(q, "t");
  int h = array(q, "h", "t"), g = array(q, "g", "t");
  op(q, "h", "t", "", h, "t");
  rd(q, g, "t + 1", "");
  op(q, "g", "t", "", g, "t");
  rd(q, h, "t - 1", "");
  CHECK(!tp_schedule(&q->p, &q->err));
  CHECKF(q->err.code == TP_E_CYCLE &&
          strstr(q->err.msg, "'h' at t = 0 needs itself: h[t] <- g[t + 1] <- h[t]"),
      "%s", q->err.msg);
  end(q);
}

/* ---- random programs over two dims ---- */

static uint64_t seed_state;
static unsigned pick(unsigned n) {
  seed_state = seed_state * 6364136223846793005ull + 1442695040888963407ull;
  return (unsigned)(seed_state >> 33) % n;
}

typedef struct {
  bool has[2];
  int arr;
} tensor;
static const char *const names[2] = { "i", "t" }, *const ends[2] = { "I", "T" };

/* One index of a read in dim d; `past`: values already there; adds its condition. */
static void index_of(char *to, char *cond, int d, bool have, int k, int *pattern) {
  const char *x = names[d];
  const char *u = d ? "u1" : "u0";
  int p = have ? *pattern : 20 + (int)pick(3);
  switch (p) {
  case 0: sprintf(to, "%s", x); break;
  case 1: sprintf(to, "%s - %d", x, k); break;
  case 2: sprintf(to, "%s + %d", x, k); break;
  case 3:
    sprintf(to, "%s", u);
    sprintf(cond, "0 <= %s <= %s", u, x);
    break;
  case 4:
    sprintf(to, "%s", u);
    sprintf(cond, "%s <= %s < %s", x, u, ends[d]);
    break;
  case 5:
    sprintf(to, "%s", u);
    sprintf(cond, "%s - 2 <= %s <= %s", x, u, x);
    break;
  case 6: sprintf(to, "floor(%s/2)", x); break;
  case 7: sprintf(to, "2*%s", x); break;
  case 8:
  case 20: strcpy(to, "0"); break;
  case 9:
  case 21: sprintf(to, "%s - 1", ends[d]); break;
  case 10:
    sprintf(to, "%s", u);
    sprintf(cond, "0 <= %s < %s", u, x);
    break;
  case 11:
    sprintf(to, "%s", u);
    sprintf(cond, "%s < %s <= %s + 2", x, u, x);
    break;
  default:
    sprintf(to, "%s", u);
    sprintf(cond, "0 <= %s < %s", u, ends[d]);
    break;
  }
}

/* past: a point strictly before in the order that the program keeps to. */
static void random_read(
    prob *q, const tensor *reader, const tensor *from, bool past, const int *dir) {
  static const int before[] = { 1, 10 }, after[] = { 2, 11 };
  char to[2][64], cond[2][96] = { "", "" }, all[160] = "", c[256] = "";
  bool strict = !past;
  int n = 0, identity = 1;
  for (int d = 0; d < 2; d++) {
    if (!from->has[d]) continue;
    int p = (int)pick(13);
    if (past && !strict && reader->has[d]) {
      bool last = d == 1 || !(from->has[1] && reader->has[1]);
      if (last || pick(2)) {
        p = dir[d] > 0 ? before[pick(2)] : after[pick(2)];
        strict = true;
      } else p = 0;
    }
    identity &= p == 0 || p == 1;
    index_of(to[d], cond[d], d, reader->has[d], 1 + (int)pick(2), &p);
    sprintf(all + strlen(all), "%s%s", n++ ? ", " : "", to[d]);
    if (cond[d][0]) sprintf(c + strlen(c), "%s%s", c[0] ? " and " : "", cond[d]);
  }
  if (!strict) return;
  touch(q, TP_ACC_READ, from->arr, all, c, identity && pick(2));
}

static const char *dims_of(const tensor *x) {
  return x->has[0] ? x->has[1] ? "i t" : "i" : x->has[1] ? "t" : "";
}
static const char *point_of(const tensor *x) {
  return x->has[0] ? x->has[1] ? "i, t" : "i" : x->has[1] ? "t" : "";
}

static void random_statement(
    prob *q, const tensor *x, int n, int k, const char *cond, const int *dir) {
  op(q, q->p.arrs.v[x[k].arr]->name, dims_of(&x[k]), cond, x[k].arr, point_of(&x[k]));
  for (int r = 1 + (int)pick(3); r > 0; r--) {
    int j = (int)pick((unsigned)n);
    if (j > k && pick(4)) j = (int)pick((unsigned)k + 1);
    random_read(q, &x[k], &x[j], j >= k && pick(20), dir);
  }
  if (x[k].has[0] && !pick(3)) vec(q, "i");
  if (x[k].has[1] && !pick(3)) vec(q, "t");
}

static prob *random_program(unsigned seed) {
  static const char *const name[] = { "a", "b", "c", "d", "e", "f" };
  static const char *const branch[][2] = { { "t = 0", "t >= 1" }, { "t = T - 1", "t < T - 1" },
    { "t <= 1", "t >= 2" }, { "i = 0", "i >= 1" } };
  prob *q = begin();
  tensor x[6];
  seed_state = seed * 7919ull + 12345;
  int n = 2 + (int)pick(5), dir[2] = { 1, pick(3) ? 1 : -1 };
  dims(q, "i t");
  for (int k = 0; k < n; k++) {
    x[k].has[0] = pick(4) > 0;
    x[k].has[1] = pick(4) > 0;
    x[k].arr = array(q, name[k], dims_of(&x[k]));
  }
  for (int k = 0; k < n; k++) {
    int b = (int)pick(8);
    bool can = b < 4 && x[k].has[b == 3 ? 0 : 1];
    if (!can) {
      random_statement(q, x, n, k, "", dir);
      continue;
    }
    random_statement(q, x, n, k, branch[b][0], dir);
    random_statement(q, x, n, k, branch[b][1], dir);
  }
  if (pick(4) == 0) {
    int k = (int)pick((unsigned)n);
    sink(q, "sink", dims_of(&x[k]), "");
    touch(q, TP_ACC_READ, x[k].arr, point_of(&x[k]), "", false);
  }
  return q;
}

/* Would a call refuse these bounds, because a cycle closes there? */
static bool refused(prob *q, const int64_t *env) {
  for (int i = 0; i < q->p.late.n; i++) {
    tp_ix *bad = tp_set_nonempty_when(q->ix, q->p.late.v[i].bad);
    if (bad && tp_ix_evalq(bad, env)) return true;
  }
  return false;
}

static bool run_at(prob *q, unsigned seed, int I, int T) {
  int64_t *env = calloc((size_t)tp_nsym(q->ix), sizeof *env);
  tp_error err = { 0 };
  bounds(q, env, "I", I);
  bounds(q, env, "T", T);
  bool ok = refused(q, env) || tp_poly_simulate(&q->p, env, &err);
  CHECKF(ok, "seed %u at I = %d, T = %d: %s", seed, I, T, err.msg);
  free(env);
  return ok;
}

static void show_statements(prob *q) {
  for (int i = 0; i < q->p.stmts.n; i++) {
    const tp_stmt *s = q->p.stmts.v[i];
    char *dom = isl_set_to_str(s->dom);
    fprintf(stderr, "  %s%s: %s\n", s->name, s->effect ? " (effect)" : "", dom);
    free(dom);
    for (int a = 0; a < s->nacc; a++) {
      char *rel = isl_map_to_str(s->acc[a].rel);
      fprintf(stderr, "    %s %s: %s\n", s->acc[a].kind == TP_ACC_READ ? "reads" : "writes",
          q->p.arrs.v[s->acc[a].arr]->name, rel);
      free(rel);
    }
  }
}

static void fuzz(unsigned from, unsigned to, int64_t block) {
  int good = 0, cycles = 0, none = 0, cut = 0;
  double ms[4] = { 0 };
  for (unsigned s = from; s < to; s++) {
    prob *q = random_program(s);
    q->p.block = block;
    if (getenv("VERBOSE")) fprintf(stderr, "seed %u\n", s);
    if (tp_schedule(&q->p, &q->err)) {
      good++;
      ms[0] += q->p.ms_schedule;
      ms[1] += q->p.ms_proof;
      ms[2] += q->p.ms_tree;
      ms[3] += q->p.ms_live;
      CHECK(q->p.proved);
      for (int i = 0; i < q->p.stmts.n; i++) cut += q->p.stmts.v[i]->bdim >= 0;
      bool ok = run_at(q, s, 1, 1) && run_at(q, s, 1, 3) && run_at(q, s, 3, 1) &&
          run_at(q, s, 3, 4) && run_at(q, s, 4, 2);
      if (!ok && getenv("SHOW")) plan(q, "random");
    } else {
      bool cycle = strstr(q->err.msg, "needs itself");
      if (cycle) cycles++;
      else none++;
      if (!cycle || getenv("SHOW")) fprintf(stderr, "seed %u: %s\n", s, q->err.msg);
      if (getenv("SHOW")) show_statements(q);
    }
    end(q);
  }
  printf("random programs: %d scheduled (%d statements in blocks), %d with a cycle, %d without an "
         "order found\n",
      good, cut, cycles, none);
  /* loops whose parts are a parameter apart stay whole */
  CHECK(!block || cut * 3 > good);
  if (getenv("BENCH") && good)
    printf("on average, ms: schedule %.1f proof %.1f tree %.1f widths %.1f\n", ms[0] / good,
        ms[1] / good, ms[2] / good, ms[3] / good);
  CHECK(none == 0);
}

int main(int argc, char **argv) {
  if (argc > 2) {
    fuzz((unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 0);
    return check_report();
  }
  prefix();
  suffix();
  two_lag();
  both_ways();
  monte_carlo();
  n_step();
  bptt();
  edit_distance();
  decode("decode causal", "u <= t and (u < P or u >= 1)", 9);
  decode("decode windowed", "t - 3 < u <= t and (u < P or u >= 1)", 3);
  bidirectional();
  ppo();
  gae();
  target_network();
  layers();
  carried();
  two_lag_outer();
  halves();
  replay();
  batch();
  batch_shifted();
  nested_blocks();
  effects();
  unrolled(8);
  if (getenv("BENCH")) {
    unrolled(20);
    unrolled(200);
  }
  cycle();
  fuzz(0, CHECK_SHORT ? 60 : 200, 0);
  /* blocks of two: most programs have several, and a part of one */
  fuzz(200, CHECK_SHORT ? 240 : 350, 2);
  fuzz(499, 500, 0); /* a shift over bounds in pieces */
  /* a cycle only where one bound is far larger than the other */
  fuzz(539, 540, 0);
  return check_report();
}
