/* draw.c: prints random numbers (docs/random.md). Functions of the prelude make words of a strip of
 * points by vectors; a loop then makes numbers of them. Philox's key is made of a row of *links*: a
 * point's coordinates, then the key that the script gives, if it does. The part that points share
 * is made before. In a loop over single points the strip holds iterations to come: a number of
 * coordinates depends on nothing that the loop does. */
#include "emit/priv.h"

enum { FEW_DRAWN = 16, POINTS_DRAWN = 64, DRAWN_AHEAD = 16 };

/* var: a strip goes along this variable, by `step` from point to point: that of the region's last
 * axis or, with `ahead`, of a loop; NULL: there is no strip. kept: something is declared before
 * that loop: numbers, else the op's key. per: words of an element */
typedef struct {
  tp_emit *e;
  const tp_region *r;
  tp_sym *var;
  bool ahead, kept;
  int step, pos, per;
  tp_dtype d;
} drawn;

/* Are all coordinates linear in the variable, so that a strip can go along it? */
static bool moves_evenly(const tp_region *r, tp_sym *var) {
  bool all = true;
  for (int i = 0; i < r->ncoord; i++) {
    int64_t k;
    tp_ix *rest;
    all &= tp_ix_linear_in(r->coord[i], var, &k, &rest);
  }
  return all;
}

/* ---- before a loop ---- */

static void put_op_key(tp_emit *e, const tp_region *r, const char *key) {
  tp_emit_line(e, "uint32_t %s[2] = { (uint32_t)h->seed, (uint32_t)(h->seed >> 32) };\n", key);
  tp_emit_line(e, "tp_philox_next(%s, 0, ", key);
  tp_emit_argument(e, "int64_t", &r->how.hash,
      tp_printf(e->a, "(int64_t)%lluu", (unsigned long long)r->how.hash));
  tp_puts(e->b, ");\n");
}

/* Are its numbers known before the loop's iterations? */
static bool goes_ahead(const tp_pnode *loop, const tp_region *r) {
  bool ok = !r->nin && (loop->step == 1 || loop->step == -1) && moves_evenly(r, loop->var);
  for (int i = 0; ok && i < r->ncoord; i++) ok = emit_is_steady(loop, r->coord[i]);
  return ok;
}

void emit_keep_ahead(tp_emit *e, const tp_pnode *loop, const tp_pnode *x) {
  const tp_region *r = x->rg;
  if (r->kind != TP_RG_OP || r->op != TP_OP_RAND || r->nlead || !emit_has_range(r) ||
      !emit_draws_few(e, r))
    return;
  TP_PUSH(e->a, &e->ahead, x->pos);
  if (!goes_ahead(loop, r)) {
    put_op_key(e, r, tp_printf(e->a, "d%d", x->pos));
    return;
  }
  tp_emit_line(e, "%s d%d[%d][%d];\n", tp_emit_type(tp_emit_dtype(e, &r->out[0])), x->pos,
      (int)emit_elements(&r->out[0], FEW_DRAWN), DRAWN_AHEAD);
  tp_emit_line(e, "int64_t d%d_from = 0, d%d_n = 0;\n", x->pos, x->pos);
}

bool tp_emit_is_ahead(const tp_emit *e, const tp_pnode *x) {
  bool any = false;
  for (int i = 0; i < e->ahead.n; i++) any |= e->ahead.v[i] == x->pos;
  return any;
}

/* ---- links ---- */

static int links(const drawn *w) { return w->r->ncoord + (w->r->op == TP_OP_RAND ? w->r->nin : 0); }

static bool link_moves(const drawn *w, int i) {
  const tp_region *r = w->r;
  bool moves = i < r->ncoord && w->var && tp_ix_mentions(r->coord[i], w->var);
  for (int k = 0; k < r->nlead; k++)
    moves |= i < r->ncoord ? tp_ix_mentions(r->coord[i], r->leadvar[k])
                           : r->in[0].lead && !tp_is_number(r->in[0].lead[k], 0);
  return moves;
}

/* How many links come before the first one that moves from point to point. */
static int shared_links(const drawn *w) {
  int n = 0;
  while (n < links(w) && !link_moves(w, n)) n++;
  return n;
}

static void put_link(const drawn *w, int i) {
  if (i < w->r->ncoord) tp_puts(w->e->b, emit_ix(w->e, w->r->coord[i]));
  else tp_puts(w->e->b, emit_point_cell(w->e, w->r, 0, tp_ix_const(w->e->ix, 0)));
}

static void put_links(const drawn *w, const char *key, int from, int to) {
  for (int i = from; i < to; i++) {
    tp_emit_line(w->e, "tp_philox_next(%s, %d, ", key, i + 1);
    put_link(w, i);
    tp_puts(w->e->b, ");\n");
  }
}

static void put_shared_key(const drawn *w) {
  if (w->kept && !w->ahead)
    tp_emit_line(w->e, "uint32_t shared[2] = { d%d[0], d%d[1] };\n", w->pos, w->pos);
  else put_op_key(w->e, w->r, "shared");
  put_links(w, "shared", 0, shared_links(w));
}

static void put_key(const drawn *w) {
  tp_emit_line(w->e, "uint32_t key[2] = { shared[0], shared[1] };\n");
  put_links(w, "key", shared_links(w), links(w));
}

void emit_draw_key(tp_emit *e, const tp_region *r) {
  const drawn w = { .e = e, .r = r };
  put_shared_key(&w);
  put_key(&w);
}

/* ---- numbers ---- */

static const char *number_text(const drawn *w, const char *lo, const char *hi) {
  const tp_how *h = &w->r->how;
  tp_arena *a = w->e->a;
  const char *both = tp_printf(a, "((uint64_t)%s << 32 | %s)", hi, lo);
  switch (h->rand) {
  case TP_RAND_UNIFORM:
    if (w->d == TP_F64) return tp_printf(a, "(double)(int64_t)(%s >> 11) * 0x1p-53", both);
    if (tp_half(w->d))
      return tp_printf(a,
          w->d == TP_F16 ? "(float)(int32_t)(%s >> 21) * 0x1p-11f"
                         : "(float)(int32_t)(%s >> 24) * 0x1p-8f",
          lo);
    return tp_printf(a, "tp_uniform_of(%s)", lo);
  case TP_RAND_NORMAL:
    return tp_printf(
        a, tp_half(w->d) ? "tp_sticky_f32(tp_normal_of(%s, %s))" : "tp_normal_of(%s, %s)", lo, hi);
  case TP_RAND_BERNOULLI: return tp_printf(a, "(double)tp_uniform_of(%s) < ", lo);
  default:
    return tp_printf(a, "(int64_t)(%lluu + %s %% %lluu)%s", (unsigned long long)h->limits[0], both,
        (unsigned long long)h->limits[1] - (unsigned long long)h->limits[0],
        w->d == TP_BOOL ? " != 0" : "");
  }
}

static void put_number(const drawn *w, const char *lo, const char *hi) {
  tp_emit *e = w->e;
  const tp_how *h = &w->r->how;
  if (tp_half(w->d)) tp_putf(e->b, "tp_store_%s((float)(", tp_dtype_name(w->d));
  else tp_putf(e->b, "(%s)(", tp_emit_type(w->d));
  tp_puts(e->b, number_text(w, lo, hi));
  if (h->rand == TP_RAND_BERNOULLI)
    tp_emit_argument(e, "double", &h->f[0], tp_printf(e->a, "%a", h->f[0]));
  tp_puts(e->b, tp_half(w->d) ? "));\n" : ");\n");
}

/* ---- few numbers a point ---- */

/* Puts link i of many points into their keys. */
static void put_next_of_many(const drawn *w, int i) {
  tp_emit *e = w->e;
  int64_t k = 0;
  tp_ix *rest;
  if (i < w->r->ncoord) {
    (void)tp_ix_linear_in(w->r->coord[i], w->var, &k, &rest);
    tp_emit_line(e, "tp_philox_next_many(m, %d, %s, %lld, many);\n", i + 1,
        emit_ix(e, w->r->coord[i]), (long long)k * w->step);
    return;
  }
  tp_emit_line(e, "int64_t given[TP_PHILOX_MANY] = { 0 };\n");
  emit_open(e, "for (int64_t k = 0; k < some; k++) {\n");
  tp_emit_line(e, "const int64_t x%d = j + k;\n", w->r->nlead - 1);
  tp_emit_line(e, "given[k] = ");
  put_link(w, i);
  tp_puts(e->b, ";\n");
  emit_shut(e, 1);
  tp_emit_line(e, "tp_philox_given_many(m, %d, given, many);\n", i + 1);
}

/* Prints the words of many points into rows of m: two of keys, then the words. The variable has its
 * value at the first point. */
static void put_words_of_many(const drawn *w, int words) {
  tp_emit *e = w->e;
  int blocks = (words + 3) / 4;
  tp_emit_line(
      e, "uint32_t m[%d][TP_PHILOX_MANY], (*const w)[TP_PHILOX_MANY] = m + 2;\n", 2 + 4 * blocks);
  tp_emit_line(e, "const int64_t many = (some + 15) / 16 * 16;\n");
  tp_emit_line(e, "tp_philox_begin_many(m, shared, many);\n");
  for (int i = shared_links(w); i < links(w); i++) put_next_of_many(w, i);
  for (int b = 0; b < blocks; b++) tp_emit_line(e, "tp_philox_words_many(m, %d, many);\n", b);
}

static void put_words_of_one(const drawn *w, int words) {
  tp_emit *e = w->e;
  tp_emit_line(e, "uint32_t w[%d][1];\n", words);
  put_key(w);
  tp_emit_line(e, "tp_word c[4];\n");
  for (int q = 0; q < words; q++) {
    if (q % 4 == 0) tp_emit_line(e, "tp_philox_words(c, key, %d);\n", q / 4);
    tp_emit_line(e, "w[%d][0] = (uint32_t)c[%d];\n", q, q % 4);
  }
}

/* Prints the point's elements. kept: the index of numbers that are kept for further iterations,
 * which are made or (takes) taken; NULL: none are. */
static void put_elements(const drawn *w, const char *kept, bool takes) {
  tp_emit *e = w->e;
  const tp_nd *o = &w->r->out[0];
  int64_t shape[TP_MAXRANK];
  char lo[24], hi[24];
  int i = 0;
  tp_walk at;
  for (int k = 0; k < o->rank; k++) (void)tp_ix_is_const(o->shape[k], &shape[k]);
  for (tp_walk_start(&at, o->rank, shape); at.ok; tp_walk_next(&at), i++) {
    tp_emit_indent(e);
    if (kept && !takes) tp_putf(e->b, "d%d[%d][%s]", w->pos, i, kept);
    else tp_puts(e->b, emit_point_cell(e, w->r, w->r->nin, emit_own_offset(e, o, at.at)));
    tp_puts(e->b, " = ");
    snprintf(lo, sizeof lo, "w[%d][k]", i * w->per);
    snprintf(hi, sizeof hi, "w[%d][k]", i * w->per + w->per - 1);
    if (takes) tp_putf(e->b, "d%d[%d][%s];\n", w->pos, i, kept);
    else put_number(w, lo, hi);
  }
}

/* Prints a loop over the points of a strip, inside a loop over strips if these go along an axis. */
static void put_strip(const drawn *w) {
  tp_emit *e = w->e;
  int last = w->r->nlead - 1, most = w->ahead ? DRAWN_AHEAD : w->var ? POINTS_DRAWN : 1;
  bool along = w->var && !w->ahead;
  if (along) {
    emit_open(e, "for (int64_t j = 0, all = %s; j < all; j += %d) {\n",
        emit_ix(e, w->r->lead[last]), most);
    tp_emit_line(e, "const int64_t some = all - j < %d ? all - j : %d;\n", most, most);
    emit_lead_name(e, w->r, last, "j");
  } else tp_emit_line(e, "enum { some = %d };\n", most);
  int words = (int)emit_elements(&w->r->out[0], FEW_DRAWN) * w->per;
  if (w->var) put_words_of_many(w, words);
  else put_words_of_one(w, words);
  if (along) emit_lead_alone(e, w->r, last, true, -1);
  emit_open(e, "for (int64_t k = 0; k < some; k++) {\n");
  if (along) tp_emit_line(e, "const int64_t x%d = j + k;\n", last);
  put_elements(w, w->ahead ? "k" : NULL, false);
  emit_shut(e, 1 + along);
}

static void put_ahead(const drawn *w) {
  tp_emit *e = w->e;
  int v = w->var->id, pos = w->pos;
  e->sym[v] = true;
  emit_open(e, "if ((uint64_t)((s%d - d%d_from)*%d) >= (uint64_t)d%d_n) {\n", v, pos, w->step, pos);
  tp_emit_line(e, "d%d_from = s%d, d%d_n = %d;\n", pos, v, pos, DRAWN_AHEAD);
  put_shared_key(w);
  put_strip(w);
  emit_shut(e, 1);
  put_elements(w, tp_printf(e->a, "(s%d - d%d_from)*%d", v, pos, w->step), true);
}

/* ---- many numbers a point ---- */

static void put_stream(const drawn *w) {
  tp_emit *e = w->e;
  const tp_nd *o = &w->r->out[0];
  int each = 4 / w->per;
  bool one = e->to->threads; /* a thread makes one of the numbers */
  tp_emit_line(e, "int64_t i = 0;\n");
  tp_emit_line(e, "tp_word c[4] = { 0 };\n");
  put_key(w);
  for (int k = 0; k < o->rank; k++)
    if (one) tp_emit_line(e, "i = i*%s + e%d;\n", emit_ix(e, o->shape[k]), k);
    else emit_open_element(e, o, k);
  if (one) tp_emit_line(e, "tp_philox_words(c, key, i / %d);\n", each);
  else tp_emit_line(e, "if (i %% %d == 0) tp_philox_words(c, key, i / %d);\n", each, each);
  for (int q = 0; q < 2; q++)
    tp_emit_line(e, "const uint32_t word%d = (uint32_t)c[i %% %d * %d + %d];\n", q, each, w->per,
        q * (w->per - 1));
  tp_emit_line(e, "(void)word1;\n");
  tp_emit_indent(e);
  tp_putf(e->b, "%s = ", emit_point_element(e, w->r, w->r->nin));
  put_number(w, "word0", "word1");
  tp_emit_line(e, "i++;\n");
  emit_shut(e, one ? 0 : o->rank);
}

void emit_draw(tp_emit *e, const tp_pnode *x) {
  const tp_region *r = x->rg;
  tp_dtype d = tp_emit_dtype(e, &r->out[0]);
  drawn w = {
    .e = e, .r = r, .step = 1, .pos = x->pos, .per = tp_words_per_draw(&r->how, d), .d = d
  };
  bool few = emit_draws_few(e, r);
  int around = r->nlead;
  if (!emit_has_range(r)) {
    emit_put_fault(e, x->pos, "TPX_FAULT_RANGE", "NULL");
    return;
  }
  const tp_pnode *loop = (w.kept = tp_emit_is_ahead(e, x)) ? e->loop[e->nloop - 1] : NULL;
  if ((w.ahead = loop && goes_ahead(loop, r))) {
    w.var = loop->var, w.step = loop->step;
    put_ahead(&w);
    return;
  }
  if (few && around && !e->to->threads && moves_evenly(r, r->leadvar[around - 1]))
    w.var = r->leadvar[--around];
  put_shared_key(&w);
  int opened = around;
  if (e->to->threads) opened = emit_open_leads(e, r, few ? NULL : &r->out[0], 0, -1);
  for (int i = 0; i < around; i++) {
    if (!e->to->threads) tp_emit_lead(e, r, i);
    emit_lead_name(e, r, i, tp_printf(e->a, "x%d", i));
  }
  if (few) put_strip(&w);
  else put_stream(&w);
  emit_shut(e, opened);
}
