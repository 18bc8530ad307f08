/* point.c: operators that are no loops over elements and yet are worth no call: draws, places of
 * the largest, picks by data, environments (environment.c). Each point of the region's axes is made
 * by itself, of few elements, so a loop over points is all there is. Where data may be wrong it is
 * looked at before anything is written; the target, which goes on then, says what is wrong. */
#include "emit/priv.h"
#include "kern/kern.h"

enum { FEW_WORDS = 16, FEW_ELEMENTS = 16, FEW_HITS = 8 }; /* of a point: more are no few */
/* elements that have an index in common: more, and more that nobody knows, a target's kernel moves
 * as fast */
enum { LONG_RUN = 256 };

/* ---- what is known ---- */

static tp_dtype cell_type(const tp_emit *e, const tp_nd *nd) {
  return e->p->bufs.v[nd->buf]->dtype;
}

/* Elements of one point; -1: not known, or more than so many. */
static int64_t elements_of(const tp_nd *nd, int most) {
  int64_t n = 1, k;
  for (int i = 0; i < nd->rank; i++) {
    if (!tp_ix_is_const(nd->shape[i], &k) || k > most) return -1;
    n *= k > 0 ? k : 0;
  }
  return n > most ? -1 : n;
}

static bool is_straight(const tp_nd *nd) { return nd->buf >= 0 && nd->wrap < 0; }

static bool draws_few(const tp_emit *e, const tp_region *r) {
  const tp_how *h = &r->how;
  tp_dtype d = cell_type(e, &r->out[0]);
  int64_t n = elements_of(&r->out[0], FEW_ELEMENTS);
  bool type = !tp_half(d) &&
      (h->rand == TP_RAND_BERNOULLI ||
          (h->rand == TP_RAND_RANDINT ? d != TP_BOOL && h->limits[0] < h->limits[1]
                                      : tp_dtype_float(d)));
  return type && n > 0 && n * tp_words_per_draw(h, d) <= FEW_WORDS;
}

static bool takes_best(const tp_emit *e, const tp_region *r) {
  tp_dtype d = cell_type(e, &r->in[0]);
  return !tp_half(d) && elements_of(&r->in[0], FEW_ELEMENTS) > 0;
}

/* Windows of an operator that moves each element of PICK_EACH to, or from, where PICK_BY says in
 * another window. */
enum { PICK_BY = 1, PICK_EACH = 2 };
static bool is_adding(const tp_region *r) { return tp_op_is(r->op, TP_ADDS); }
static int target_of(const tp_region *r) { return r->op == TP_OP_PUT || is_adding(r) ? r->nin : 0; }

static bool moves_along(const tp_nd *nd, int i) {
  return !tp_is_number(nd->shape[i], 1) && !tp_is_number(nd->stride[i], 0);
}

/* The axis of PICK_EACH that goes with one of PICK_BY, of the other window: `index_select` and
 * `index_add` have an index for a row. */
static int with_index(const tp_region *r, int i) {
  return r->op == TP_OP_INDEX_SELECT || r->op == TP_OP_INDEX_ADD ? i + r->how.axis : i;
}
static int with_target(const tp_region *r, int i) {
  return r->op == TP_OP_INDEX_SELECT && i > r->how.axis ? i - 1 + r->in[PICK_BY].rank : i;
}
static int with_itself(const tp_region *r, int i) {
  (void)r;
  return i;
}

static bool index_moves(const tp_region *r, int axis) {
  bool any = false;
  for (int i = 0; i < r->in[PICK_BY].rank; i++)
    any |= with_index(r, i) == axis && moves_along(&r->in[PICK_BY], i);
  return any;
}

/* Axes of PICK_EACH up to the last one along which the index moves: elements have an index in
 * common along the others. */
static int indexed_axes(const tp_region *r) {
  int n = tp_window_at(r, PICK_EACH)->rank;
  while (n > 0 && !index_moves(r, n - 1)) n--;
  return n;
}

static bool has_short_runs(const tp_region *r) {
  tp_nd run = *tp_window_at(r, PICK_EACH);
  int n = indexed_axes(r);
  run.rank -= n;
  run.shape += n;
  return elements_of(&run, LONG_RUN) > 0;
}

static bool has_one(const tp_region *r) {
  return tp_is_number(tp_window_at(r, PICK_EACH)->shape[r->how.axis], 1);
}

/* Of what something is put into, the rest lies there already. */
static bool picks_short(const tp_region *r) {
  const tp_nd *out = &r->out[0];
  bool put = r->op == TP_OP_PUT, each_its_own = !put || has_one(r) || index_moves(r, r->how.axis);
  bool apart = each_its_own &&
      (put ? tp_emit_same_elements(r, &r->in[0], out) && r->in[PICK_EACH].buf != out->buf
           : r->in[0].buf != out->buf);
  return apart && r->in[PICK_BY].buf != out->buf && has_short_runs(r);
}

/* One index along the axis: no place is hit twice. Numbers whose sums are not rounded later than
 * themselves may hit one again, in order; f32 where all of up to FEW_HITS look at each other. */
static bool sums_hits(const tp_emit *e, const tp_region *r) {
  return is_adding(r) && cell_type(e, &r->out[0]) == TP_F32 && !has_one(r);
}

static bool adds_short(const tp_emit *e, const tp_region *r) {
  const tp_nd *out = &r->out[0], *k = &r->in[PICK_BY], *each = &r->in[PICK_EACH];
  int64_t n = 0;
  bool row = r->op == TP_OP_SCATTER_ADD || k->rank == 1,
       few = row && tp_ix_is_const(each->shape[r->how.axis], &n) && n <= FEW_HITS;
  bool apart = tp_emit_same_elements(r, &r->in[0], out) || r->in[0].buf != out->buf,
       adds = row && (has_one(r) || (index_moves(r, r->how.axis) && (few || !sums_hits(e, r))));
  return apart && adds && k->buf != out->buf && each->buf != out->buf &&
      !tp_half(cell_type(e, out)) && has_short_runs(r);
}

bool tp_emit_is_pointwise(const tp_emit *e, const tp_region *r) {
  if (e->given || r->kind != TP_RG_OP || r->check || r->nlead >= TP_MAXRANK || !r->nout)
    return false;
  if (tp_op_is_env(r->op)) return emit_knows_env(e, r);
  bool ok = is_straight(&r->out[0]);
  for (int i = 0; i < r->nin; i++) ok &= is_straight(&r->in[i]);
  if (!ok || r->acc) return false;
  switch (r->op) {
  case TP_OP_RAND: return draws_few(e, r);
  case TP_OP_ARGMAX:
  case TP_OP_ARGMIN: return takes_best(e, r);
  case TP_OP_GATHER:
  case TP_OP_INDEX_SELECT:
  case TP_OP_PUT: return picks_short(r);
  case TP_OP_SCATTER_ADD:
  case TP_OP_INDEX_ADD: return adds_short(e, r);
  default: return false;
  }
}

/* ---- loops over points ---- */

void tp_emit_point_windows(tp_emit *e, const tp_region *r) {
  for (int i = 0; i < r->nin + r->nout; i++) {
    const tp_nd *nd = tp_window_at(r, i);
    if (nd->buf < 0 || !tp_emit_window(e, tp_emit_type(cell_type(e, nd)), i, nd->buf)) continue;
    tp_emit_place(e, nd, nd->off);
    tp_emit_window_end(e);
  }
}

/* The element of window i at the point, off further on: what follows may go further. */
static void open_point_cell(tp_emit *e, const tp_region *r, int i, const tp_ix *off) {
  const tp_nd *nd = tp_window_at(r, i);
  tp_putf(e->b, "w%d[", i);
  tp_emit_ix(e, off);
  for (int k = 0; k < r->nlead && nd->lead; k++) {
    if (tp_is_number(nd->lead[k], 0)) continue;
    tp_putf(e->b, " + x%d*", k);
    tp_emit_ix(e, nd->lead[k]);
  }
}

void emit_point_cell(tp_emit *e, const tp_region *r, int i, const tp_ix *off) {
  open_point_cell(e, r, i, off);
  tp_puts(e->b, "]");
}

const tp_ix *emit_own_offset(const tp_emit *e, const tp_nd *nd, const int64_t *at) {
  const tp_ix *off = tp_ix_const(e->ix, 0);
  for (int i = 0; i < nd->rank; i++)
    off = tp_ix_add(e->ix, off, tp_ix_mulc(e->ix, nd->stride[i], at[i]));
  return off;
}

static bool is_named(const tp_region *r, int i) {
  bool any = false;
  for (int k = 0; k < r->ncoord; k++) any |= tp_ix_mentions(r->coord[k], r->leadvar[i]);
  return any;
}

static void put_name_of(tp_emit *e, const tp_region *r, int i, const char *at) {
  if (!is_named(r, i)) return;
  tp_emit_indent(e);
  tp_putf(e->b, "const int64_t s%d = ", r->leadvar[i]->id);
  tp_emit_ix(e, r->leadlo[i]);
  tp_putf(e->b, " + %s; (void)s%d;\n", at, r->leadvar[i]->id);
}

void tp_emit_lead(tp_emit *e, const tp_region *r, int i) {
  tp_emit_indent(e);
  tp_putf(e->b, "for (int64_t x%d = 0, n%d = ", i, i);
  tp_emit_ix(e, r->lead[i]);
  tp_putf(e->b, "; x%d < n%d; x%d++) {\n", i, i, i);
  e->depth++;
}

/* Before a loop over axis i of the region, if that moves points, or of the elements that it writes.
 * at: along this axis data says where. */
static void put_lead_alone(tp_emit *e, const tp_region *r, int i, bool points, int at) {
  const tp_ix **step = TP_NEWN(e->a, const tp_ix *, r->nin + r->nout),
              *still = tp_ix_const(e->ix, 0);
  for (int w = 0; w < r->nin + r->nout; w++) {
    const tp_nd *nd = tp_window_at(r, w);
    if (nd->buf < 0) continue;
    if (points) step[w] = nd->lead ? nd->lead[i] : still;
    else if (nd->buf == r->out[0].buf) step[w] = i == at ? still : nd->stride[i];
  }
  tp_emit_if_alone(e, r, points ? r->lead[i] : r->out[0].shape[i], step);
}

void emit_open_leads(tp_emit *e, const tp_region *r) {
  for (int i = 0; i < r->nlead; i++) {
    if (i == r->nlead - 1) put_lead_alone(e, r, i, true, -1);
    tp_emit_lead(e, r, i);
  }
}

void emit_wrong(tp_emit *e, const tp_pnode *x, bool fails) {
  char pos[16];
  tp_emit_line(e, "if (__builtin_expect(wrong, 0)) {\n");
  e->depth++;
  tp_emit_ends(e);
  tp_emit_line(
      e, "TP_END_IF(h->leaf(h->exec, %s)%s);\n", tp_emit_pos(e, x->pos, pos), fails ? " || 1" : "");
  e->depth--;
  tp_emit_line(e, "} else {\n");
  e->depth++;
}

/* ---- draws ---- */

static int shared_coords(const tp_region *r) {
  for (int i = 0; i < r->ncoord; i++)
    for (int k = 0; k < r->nlead; k++)
      if (tp_ix_mentions(r->coord[i], r->leadvar[k])) return i;
  return r->ncoord;
}

/* The key of each point of a strip, from the one that all have in common. */
static void put_keys(tp_emit *e, const tp_region *r) {
  int last = r->nlead - 1;
  tp_emit_line(e, "uint32_t key[2][TP_PHILOX_LANES], c[4][TP_PHILOX_LANES];\n");
  tp_emit_line(e,
      "for (int k = 0; k < TP_PHILOX_LANES; k++) key[0][k] = shared[0], key[1][k] = shared[1];\n");
  for (int i = shared_coords(r); i < r->ncoord; i++) {
    tp_emit_line(e, "for (int k = 0; k < TP_PHILOX_LANES; k++) {\n");
    e->depth++;
    if (last >= 0) put_name_of(e, r, last, "j + k");
    tp_emit_indent(e);
    tp_puts(e->b, "const int64_t at = ");
    tp_emit_ix(e, r->coord[i]);
    tp_puts(e->b, ";\n");
    tp_emit_line(e,
        "c[0][k] = (uint32_t)at, c[1][k] = (uint32_t)((uint64_t)at >> 32), c[2][k] = %d, c[3][k] = "
        "TP_PHILOX_COORD;\n",
        i + 1);
    emit_shut(e, 1);
    tp_emit_line(e, "tp_philox_many(c, key);\n");
    tp_emit_line(
        e, "for (int k = 0; k < TP_PHILOX_LANES; k++) key[0][k] = c[0][k], key[1][k] = c[1][k];\n");
  }
}

static void put_words(tp_emit *e, int words) {
  tp_emit_line(e, "uint32_t w[%d][TP_PHILOX_LANES];\n", (words + 3) / 4 * 4);
  for (int b = 0; b < (words + 3) / 4; b++) {
    tp_emit_line(e,
        "for (int k = 0; k < TP_PHILOX_LANES; k++) w[%d][k] = %d, w[%d][k] = w[%d][k] = w[%d][k] = "
        "0;\n",
        4 * b, b, 4 * b + 1, 4 * b + 2, 4 * b + 3);
    tp_emit_line(e, "tp_philox_many(w + %d, key);\n", 4 * b);
  }
}

/* The number that words from q on make. */
static void put_drawn(tp_emit *e, const tp_how *h, tp_dtype d, int q) {
  switch (h->rand) {
  case TP_RAND_UNIFORM:
    if (d == TP_F32) tp_putf(e->b, "tp_uniform_of(w[%d][k])", q);
    else
      tp_putf(e->b, "(double)(int64_t)(((uint64_t)w[%d][k] << 32 | w[%d][k]) >> 11) * 0x1p-53",
          q + 1, q);
    break;
  case TP_RAND_NORMAL:
    tp_putf(e->b, "(%s)tp_normal_of(w[%d][k], w[%d][k])", tp_emit_type(d), q, q + 1);
    break;
  case TP_RAND_BERNOULLI:
    tp_putf(e->b, "(double)tp_uniform_of(w[%d][k]) < ", q);
    tp_emit_argument(e, "double", &h->f[0], tp_printf(e->a, "%a", h->f[0]));
    break;
  case TP_RAND_RANDINT:
    tp_putf(e->b, "(%s)(int64_t)(%lluULL + ((uint64_t)w[%d][k] << 32 | w[%d][k]) %% %lluULL)",
        tp_emit_type(d), (unsigned long long)h->limits[0], q + 1, q,
        (unsigned long long)h->limits[1] - (unsigned long long)h->limits[0]);
    break;
  }
}

static void put_elements(tp_emit *e, const tp_region *r) {
  const tp_nd *o = &r->out[0];
  tp_dtype d = cell_type(e, o);
  int64_t shape[TP_MAXRANK];
  int per = tp_words_per_draw(&r->how, d), q = 0;
  tp_walk w;
  for (int i = 0; i < o->rank; i++) (void)tp_ix_is_const(o->shape[i], &shape[i]);
  for (tp_walk_start(&w, o->rank, shape); w.ok; tp_walk_next(&w), q += per) {
    tp_emit_indent(e);
    emit_point_cell(e, r, 0, emit_own_offset(e, o, w.at));
    tp_puts(e->b, " = ");
    put_drawn(e, &r->how, d, q);
    tp_puts(e->b, ";\n");
  }
}

static void put_stream(tp_emit *e, const tp_region *r) {
  int last = r->nlead - 1;
  tp_emit_line(e, "uint32_t shared[2] = { (uint32_t)h->seed, (uint32_t)(h->seed >> 32) };\n");
  tp_emit_indent(e);
  tp_puts(e->b, "tp_philox_next(shared, 0, ");
  tp_emit_argument(e, "int64_t", &r->how.hash,
      tp_printf(e->a, "(int64_t)%lluULL", (unsigned long long)r->how.hash));
  tp_puts(e->b, ");\n");
  for (int i = 0, n = shared_coords(r); i < n; i++) {
    tp_emit_indent(e);
    tp_putf(e->b, "tp_philox_next(shared, %d, ", i + 1);
    tp_emit_ix(e, r->coord[i]);
    tp_puts(e->b, ");\n");
  }
  for (int i = 0; i < last; i++) {
    char at[16];
    tp_emit_lead(e, r, i);
    snprintf(at, sizeof at, "x%d", i);
    put_name_of(e, r, i, at);
  }
  tp_emit_indent(e);
  tp_puts(e->b, "for (int64_t j = 0, all = ");
  if (last >= 0) tp_emit_ix(e, r->lead[last]);
  else tp_puts(e->b, "1");
  tp_puts(e->b, "; j < all; j += TP_PHILOX_LANES) {\n");
  e->depth++;
  tp_emit_line(e, "const int64_t some = all - j < TP_PHILOX_LANES ? all - j : TP_PHILOX_LANES;\n");
  put_keys(e, r);
  put_words(e,
      (int)elements_of(&r->out[0], FEW_ELEMENTS) *
          tp_words_per_draw(&r->how, cell_type(e, &r->out[0])));
  if (last >= 0) put_lead_alone(e, r, last, true, -1);
  tp_emit_line(e, "for (int64_t k = 0; k < some; k++) {\n");
  e->depth++;
  if (last >= 0) tp_emit_line(e, "const int64_t x%d = j + k;\n", last);
  put_elements(e, r);
  emit_shut(e, 2 + (last > 0 ? last : 0));
}

/* ---- the place of the largest, the least ---- */

static void put_better(tp_emit *e, const tp_region *r, const tp_ix *off, int64_t k, bool flt) {
  const char *than = r->op == TP_OP_ARGMAX ? ">" : "<";
  tp_emit_line(e, "{\n");
  tp_emit_indent(e);
  tp_putf(e->b, "  const %s y = ", tp_emit_held(cell_type(e, &r->in[0])));
  emit_point_cell(e, r, 0, off);
  tp_puts(e->b, ";\n");
  tp_emit_line(
      e, "  const int is = y %s best%s;\n", than, flt ? " || (y != y && best == best)" : "");
  tp_emit_line(e, "  best = is ? y : best, at = is ? %lld : at;\n", (long long)k);
  tp_emit_line(e, "}\n");
}

static void put_best(tp_emit *e, const tp_region *r) {
  const tp_nd *in = &r->in[0], *out = &r->out[0];
  int axis = r->how.axis, n = 0;
  int64_t shape[TP_MAXRANK], along = 1;
  tp_walk w;
  emit_open_leads(e, r);
  for (int i = 0; i < in->rank; i++)
    if (i != axis) (void)tp_ix_is_const(in->shape[i], &shape[n++]);
    else (void)tp_ix_is_const(in->shape[i], &along);
  for (tp_walk_start(&w, n, shape); w.ok; tp_walk_next(&w)) {
    int64_t from[TP_MAXRANK] = { 0 }, to[TP_MAXRANK] = { 0 };
    for (int i = 0, k = 0; i < in->rank; i++)
      if (i != axis) from[i] = w.at[k], to[r->how.keepdim ? i : k] = w.at[k], k++;
    tp_emit_line(e, "{\n");
    tp_emit_indent(e);
    tp_putf(e->b, "%s best = ", tp_emit_held(cell_type(e, in)));
    emit_point_cell(e, r, 0, emit_own_offset(e, in, from));
    tp_puts(e->b, ";\n");
    tp_emit_line(e, "int64_t at = 0;\n");
    for (int64_t k = 1; k < along; k++) {
      from[axis] = k;
      put_better(e, r, emit_own_offset(e, in, from), k, tp_dtype_float(cell_type(e, in)));
    }
    tp_emit_indent(e);
    emit_point_cell(e, r, 1, emit_own_offset(e, out, to));
    tp_puts(e->b, " = at;\n");
    tp_emit_line(e, "}\n");
  }
  emit_shut(e, r->nlead);
}

/* ---- picks ---- loops over elements; in the other window data says where they are along an axis
 */

/* An element of window w; at: along this axis data says where. */
static void put_element_of(
    tp_emit *e, const tp_region *r, int w, int (*with)(const tp_region *, int), int at) {
  const tp_nd *nd = tp_window_at(r, w);
  open_point_cell(e, r, w, tp_ix_const(e->ix, 0));
  for (int i = 0; i < nd->rank; i++) {
    if (i != at && !moves_along(nd, i)) continue;
    if (i == at) tp_puts(e->b, " + at*");
    else tp_putf(e->b, " + e%d*", with(r, i));
    tp_emit_ix(e, nd->stride[i]);
  }
  tp_puts(e->b, "]");
}

static void put_index(tp_emit *e, const tp_region *r) {
  put_element_of(e, r, PICK_BY, with_index, -1);
}

static void open_element(tp_emit *e, const tp_nd *nd, int i) {
  tp_emit_indent(e);
  tp_putf(e->b, "for (int64_t e%d = 0; e%d < ", i, i);
  tp_emit_ix(e, nd->shape[i]);
  tp_putf(e->b, "; e%d++) {\n", i);
  e->depth++;
}

static void put_looks(tp_emit *e, const tp_region *r) {
  int n = r->nlead;
  for (int i = 0; i < n; i++) {
    if (i == n - 1) tp_emit_line(e, "TP_IVDEP\n");
    tp_emit_lead(e, r, i);
  }
  for (int i = 0, last = indexed_axes(r) - 1; i <= last; i++) {
    if (!index_moves(r, i)) continue;
    if (i == last) tp_emit_line(e, "TP_IVDEP\n");
    open_element(e, tp_window_at(r, PICK_EACH), i);
    n++;
  }
  tp_emit_indent(e);
  tp_puts(e->b, "wrong |= (uint64_t)");
  put_index(e, r);
  tp_puts(e->b, " >= (uint64_t)");
  tp_emit_ix(e, r->in[0].shape[r->how.axis]);
  tp_puts(e->b, ";\n");
  emit_shut(e, n);
}

/* What is added to. */
static void put_base(tp_emit *e, const tp_region *r) {
  const tp_nd *out = &r->out[0];
  if (tp_emit_same_elements(r, &r->in[0], out)) return;
  emit_open_leads(e, r);
  for (int i = 0; i < out->rank; i++) {
    if (i == out->rank - 1) put_lead_alone(e, r, i, false, -1);
    open_element(e, out, i);
  }
  tp_emit_indent(e);
  put_element_of(e, r, r->nin, with_itself, -1);
  tp_puts(e->b, " = ");
  put_element_of(e, r, 0, with_itself, -1);
  tp_puts(e->b, ";\n");
  emit_shut(e, r->nlead + out->rank);
}

/* Has an element before this one hit its place; or what all from this one on add there. */
static void put_hits(tp_emit *e, const tp_region *r, bool before) {
  int axis = r->how.axis;
  tp_emit_indent(e);
  if (before) tp_putf(e->b, "for (int64_t e%d = 0; e%d < self; e%d++) ", axis, axis, axis);
  else {
    tp_putf(e->b, "for (int64_t e%d = self; e%d < ", axis, axis);
    tp_emit_ix(e, tp_window_at(r, PICK_EACH)->shape[axis]);
    tp_putf(e->b, "; e%d++) ", axis);
  }
  if (before) tp_puts(e->b, "later |= ");
  else tp_puts(e->b, "if (");
  put_index(e, r);
  tp_puts(e->b, " == at");
  if (!before) {
    tp_puts(e->b, ") sum += ");
    put_element_of(e, r, PICK_EACH, with_itself, -1);
  }
  tp_puts(e->b, ";\n");
}

/* Elements that have an index in common go in loops inside of it. What is put outside of a tensor
 * is nowhere. */
static void put_picks(tp_emit *e, const tp_region *r) {
  const tp_nd *each = tp_window_at(r, PICK_EACH);
  int rank = each->rank, inside = indexed_axes(r), to = target_of(r),
      by_data = to ? r->how.axis : -1;
  bool looks = r->op == TP_OP_PUT, sums = sums_hits(e, r);
  emit_open_leads(e, r);
  for (int i = 0; i < inside; i++) {
    if (i == rank - 1) put_lead_alone(e, r, i, false, by_data);
    open_element(e, each, i);
  }
  tp_emit_indent(e);
  tp_puts(e->b, "const int64_t at = ");
  put_index(e, r);
  tp_puts(e->b, ";\n");
  if (looks) {
    tp_emit_indent(e);
    tp_puts(e->b, "if ((uint64_t)at < (uint64_t)");
    tp_emit_ix(e, r->in[0].shape[r->how.axis]);
    tp_puts(e->b, ") {\n");
    e->depth++;
  }
  if (sums) {
    tp_emit_line(e, "const int64_t self = e%d;\n", r->how.axis);
    tp_emit_line(e, "int later = 0;\n");
    put_hits(e, r, true);
    tp_emit_line(e, "if (!later) {\n");
    e->depth++;
  }
  for (int i = inside; i < rank; i++) {
    if (i == rank - 1) put_lead_alone(e, r, i, false, by_data);
    open_element(e, each, i);
  }
  if (sums) {
    tp_emit_indent(e);
    tp_puts(e->b, "double sum = ");
    put_element_of(e, r, to, with_target, r->how.axis);
    tp_puts(e->b, ";\n");
    put_hits(e, r, false);
    tp_emit_indent(e);
    put_element_of(e, r, to, with_target, r->how.axis);
    tp_puts(e->b, " = (float)sum;\n");
    emit_shut(e, r->nlead + rank + 1);
    return;
  }
  tp_emit_indent(e);
  put_element_of(e, r, to ? to : PICK_EACH, to ? with_target : with_itself, to ? r->how.axis : -1);
  tp_puts(e->b, is_adding(r) ? " += " : " = ");
  put_element_of(e, r, to ? PICK_EACH : to, to ? with_itself : with_target, to ? -1 : r->how.axis);
  tp_puts(e->b, ";\n");
  emit_shut(e, r->nlead + rank + looks);
}

static void put_pick(tp_emit *e, const tp_pnode *x) {
  bool looks = x->rg->op != TP_OP_PUT;
  if (looks) {
    tp_emit_line(e, "int wrong = 0;\n");
    put_looks(e, x->rg);
    emit_wrong(e, x, true);
  }
  if (is_adding(x->rg)) put_base(e, x->rg);
  put_picks(e, x->rg);
  emit_shut(e, looks);
}

void tp_emit_point_body(tp_emit *e, const tp_pnode *x) {
  if (tp_op_is_env(x->rg->op)) emit_environment(e, x);
  else if (x->rg->op == TP_OP_RAND) put_stream(e, x->rg);
  else if (x->rg->op == TP_OP_ARGMAX || x->rg->op == TP_OP_ARGMIN) put_best(e, x->rg);
  else put_pick(e, x);
}

void tp_emit_pointwise(tp_emit *e, const tp_pnode *x) {
  tp_emit_line(e, "{ /* %d */\n", x->pos);
  e->depth++;
  tp_emit_point_windows(e, x->rg);
  tp_emit_point_body(e, x);
  emit_shut(e, 1);
}
