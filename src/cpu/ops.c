/* ops.c: has the table of operators and their functions, prepares operands that cannot be used as
 * they are, and finds matmul's roles. */
#include "cpu/contract.h"
#include "kernels/prelude/fold.h"

/* ---- matmul ---- */

typedef struct split_axes {
  int n;
  int64_t ext[TP_MAXRANK + 1], a[TP_MAXRANK + 1], b[TP_MAXRANK + 1], c[TP_MAXRANK + 1];
} split_axes;

static void axis(split_axes *s, int64_t n, int64_t a, int64_t b, int64_t c) {
  s->ext[s->n] = n;
  s->a[s->n] = a;
  s->b[s->n] = b;
  s->c[s->n++] = c;
}

/* the stride along axis i; an axis of extent 1 does not move */
static int64_t along(const tp_view *v, int i, int64_t n) {
  return v->shape[i] == n ? v->stride[i] : 0;
}

void tp_matmul_contraction(const tp_exec *x, const tp_dreg *r, tp_contraction *to) {
  const tp_view *a = &r->in[0].v, *b = &r->in[1].v, *c = &r->out[0].v;
  int last = c->rank - 1;
  split_axes s = { 0 };
  for (int i = 0; i < last - 1; i++)
    axis(&s, c->shape[i], along(a, i, c->shape[i]), along(b, i, c->shape[i]),
        c->shape[i] == 1 ? 0 : c->stride[i]);
  axis(&s, c->shape[last - 1], a->stride[last - 1], 0, c->stride[last - 1]);
  axis(&s, c->shape[last], 0, b->stride[last], c->stride[last]);
  axis(&s, a->shape[last], a->stride[last], b->stride[last - 1], 0);
  tp_contraction_make(
      to, tp_cpu(x), r->out[0].dtype, r->in[0].dtype, r->in[1].dtype, s.n, s.ext, s.a, s.b, s.c);
}

static bool run_product(tp_exec *x, tp_dreg *r, bool acc) {
  int64_t n = tp_contraction_room(r->k);
  float *room = n ? tp_work(x, r, n, sizeof *room) : NULL;
  if (n && !room) return false;
  tp_contraction_run(r->k, r->in[0].v.p, r->in[1].v.p, r->out[0].v.p, acc, room);
  return true;
}

/* The operand of a product that lies on a ring and is read there; -1: none. */
static int on_ring(const tp_dreg *r) {
  if (r->wrapped) return -1;
  return r->in[0].wrap >= 0 ? 0 : r->in[1].wrap >= 0 ? 1 : -1;
}

/* A product with an operand on a ring: which axis of A, B and C goes along the ring (-1: none), and
 * whether it is summed. */
typedef struct {
  int of, axis[3];
  bool summed;
  void *p[3];
  int64_t n;
} ring_product;

static ring_product ring_of(const tp_dreg *r) {
  int i = on_ring(r), w = r->in[i].wrap, last = r->out[0].v.rank - 1;
  bool sum = w == last - i, batch = w < last - 1;
  ring_product q = {
    .of = i, .summed = sum || r->out[0].v.stride[w] == 0, .n = r->in[i].v.shape[w]
  };
  q.axis[i] = w;
  q.axis[1 - i] = sum ? (i ? last : last - 1) : batch && r->in[1 - i].v.shape[w] != 1 ? w : -1;
  q.axis[2] = sum ? -1 : w;
  for (int k = 0; k < 3; k++) q.p[k] = r->in[k].v.p;
  return q;
}

static void show_part(tp_dreg *r, const ring_product *q, int64_t from, int64_t n, int64_t slot) {
  for (int k = 0; k < 3; k++) {
    tp_view *v = &r->in[k].v;
    if (q->axis[k] < 0) continue;
    v->p = (char *)q->p[k] + (k == q->of ? slot : from) * v->stride[q->axis[k]] * r->in[k].size;
    v->shape[q->axis[k]] = n;
  }
}

/* Elements from .. from + n of the axis, which are at `slot` of the ring. */
static bool run_part(
    tp_exec *x, tp_dreg *r, const ring_product *q, int64_t from, int64_t n, int64_t slot) {
  char *work = x->work;
  show_part(r, q, from, n, slot);
  tp_matmul_contraction(x, r, r->k);
  bool ok = run_product(x, r, r->rg->acc || (from && q->summed));
  x->work = work;
  return ok;
}

/* The part behind the ring's seam is a product of its own. */
static bool run_ring(tp_exec *x, tp_dreg *r) {
  const tp_dnd *ring = &r->in[on_ring(r)];
  ring_product q = ring_of(r);
  int64_t m = TP_MAX(tp_dx_get(&ring->wmod, x->env), 1),
          lo = tp_floormod(tp_dx_get(&ring->wlo, x->env), m), first = TP_MIN(q.n, m - lo);
  bool ok = run_part(x, r, &q, 0, first, lo) &&
      (first == q.n || run_part(x, r, &q, first, q.n - first, 0));
  show_part(r, &q, 0, q.n, 0);
  return ok;
}

static bool bind_matmul(tp_exec *x, tp_dreg *r) {
  if (on_ring(r) < 0) tp_matmul_contraction(x, r, r->k);
  return true;
}

bool tp_run_matmul(tp_exec *x, tp_dreg *r) {
  return on_ring(r) < 0 ? run_product(x, r, r->rg->acc) : run_ring(x, r);
}

/* ---- 16-bit floats: operators that are not elementwise run in f32 on copies (matmul's operands: a
 * block at a time, contract.c) ---- */

enum { MAXND = 8 };

static bool widen(tp_exec *x, tp_dreg *r, tp_dnd *d, const tp_dnd *half, bool read) {
  d->dtype = TP_F32;
  d->size = 4;
  if (!(d->v.p = tp_work(x, r, tp_dense_strides(&d->v), 4))) return false;
  if (read) tp_view_convert(x, TP_F32, &d->v, half->dtype, &half->v);
  return true;
}

static bool run_in_f32(tp_exec *x, tp_dreg *r, bool (*bind)(tp_exec *, tp_dreg *), tp_oprun *run) {
  tp_dnd kept[MAXND];
  bool ok = true;
  TP_COPYN(kept, r->in, r->nnd);
  for (int i = 0; i < r->nnd && ok; i++)
    if ((i >= r->nin || r->rg->op != TP_OP_MATMUL) && r->in[i].buf >= 0 && tp_half(r->in[i].dtype))
      ok = widen(x, r, &r->in[i], &kept[i], i < r->nin || r->rg->acc);
  r->halved = tp_half(kept[r->nin].dtype);
  ok = ok && (!bind || bind(x, r)) && run(x, r);
  for (int i = r->nin; i < r->nnd && ok; i++)
    if (kept[i].buf >= 0 && tp_half(kept[i].dtype))
      tp_view_convert(x, kept[i].dtype, &kept[i].v, TP_F32, &r->in[i].v);
  TP_COPYN(r->in, kept, r->nnd);
  return ok;
}

/* ---- first values, and what is folded into overlapping places ---- */

bool tp_run_pinit(tp_exec *x, tp_dreg *r) {
  int from = 0;
  if (r->nin > 1) {
    const tp_pbuf *b = x->plan->bufs.v[r->in[1].buf];
    if (b->kind == TP_BUF_PARAM && x->run->params && x->run->params[b->slot]) from = 1;
  }
  tp_view in = r->in[from].v;
  if (in.rank != r->out[0].v.rank)
    return tp_rfail(x, r, TP_E_SHAPE, "the first value of a parameter has another rank");
  /* else its leaf wrote there */
  if (in.p != r->out[0].v.p) tp_view_copy(x, r->out[0].size, &r->out[0].v, &in);
  return true;
}

/* Adds element j of every window, for one j after the other: these lie apart. */
bool tp_run_fold(tp_exec *x, tp_dreg *r) {
  const tp_dnd *o = &r->out[0], *in = &r->in[0];
  const tp_how *a = &r->rg->how;
  int axis = r->nlead + a->axis;
  tp_view_fill(x, o->dtype, &o->v, 0);
  for (int64_t j = 0; j < in->v.shape[axis + 1]; j++) {
    tp_view from = tp_view_part(&in->v, axis + 1, j, 1, in->size),
            to = tp_view_part(&o->v, axis, j * a->dilation, from.shape[axis], o->size);
    from = tp_view_without(&from, axis + 1);
    to.stride[axis] *= a->step;
    tp_view_add(x, o->dtype, &to, &from);
  }
  return true;
}

/* ---- the table ---- */

/* arithmetic: has no kernel for halves */
typedef struct row {
  tp_oprun *run;
  bool (*bind)(tp_exec *, tp_dreg *);
  bool arithmetic;
} row;
static const row rows[TP_NOP] = {
  [TP_OP_RAND] = { tp_run_rand, 0, 0 },
  [TP_OP_ARGMAX] = { tp_run_arg, 0, 1 },
  [TP_OP_ARGMIN] = { tp_run_arg, 0, 1 },
  [TP_OP_SCAN] = { tp_run_scan, 0, 1 },
  [TP_OP_CUMPROD] = { tp_run_scan, 0, 1 },
  [TP_OP_RECUR] = { tp_run_scan, 0, 1 },
  [TP_OP_MATMUL] = { tp_run_matmul, bind_matmul, 1 },
  [TP_OP_CONV] = { tp_run_conv, 0, 1 },
  [TP_OP_CONV_DATA] = { tp_run_conv, 0, 1 },
  [TP_OP_CONV_WEIGHT] = { tp_run_conv, 0, 1 },
  [TP_OP_FOLD] = { tp_run_fold, 0, 1 },
  [TP_OP_INDEX_SELECT] = { tp_run_index_select, tp_bind_index_select, 0 },
  [TP_OP_INDEX_ADD] = { tp_run_index_add, 0, 1 },
  [TP_OP_GATHER] = { tp_run_gather, 0, 0 },
  [TP_OP_SCATTER_ADD] = { tp_run_scatter_add, 0, 1 },
  [TP_OP_MATMUL_AT] = { tp_run_matmul_at, 0, 1 },
  [TP_OP_PUT] = { tp_run_put, 0, 0 },
  [TP_OP_SORT] = { tp_run_sort, 0, 0 },
  [TP_OP_DEQUANTIZE] = { tp_run_dequantize, 0, 0 },
  [TP_OP_MATMUL_BLOCKS] = { tp_run_matmul_blocks, tp_bind_matmul_blocks, 0 },
};

static bool run_widened(tp_exec *x, tp_dreg *r) {
  return run_in_f32(x, r, rows[r->rg->op].bind, rows[r->rg->op].run);
}

static bool run_missing(tp_exec *x, tp_dreg *r) {
  return tp_rfail(x, r, TP_E_DEVICE, "no kernel for '%s' on this device", tp_ops[r->rg->op].text);
}

static bool halves(const tp_dreg *r) {
  bool any = false;
  for (int i = 0; i < r->nnd; i++) any |= r->in[i].buf >= 0 && tp_half(r->in[i].dtype);
  return any;
}

static bool is_still(const tp_dx *s) { return !s->var && s->c == 0; }

/* Are there too many rows for dot products, whichever axis becomes a product's rows when it
 * runs? */
static bool has_rows(const tp_dreg *r, int64_t few) {
  const tp_dnd *a = &r->in[0], *b = &r->in[1], *c = &r->out[0];
  int64_t most = 0;
  for (int i = 0, rows = c->rank - 2; i <= rows; i++) {
    const tp_dx *n = &c->shape[i];
    if (is_still(&a->stride[i]) || is_still(&c->stride[i]) ||
        (i < rows && !is_still(&b->stride[i])))
      continue;
    bool unit =
        (!a->stride[i].var && a->stride[i].c == 1) || (!c->stride[i].var && c->stride[i].c == 1);
    if (n->var ? unit : n->c > 1 && n->c < few) return false;
    if (!n->var) most = TP_MAX(most, n->c);
  }
  return most >= few;
}

/* As tp_op_alike, if extents or places are known only in a loop's iteration. Our kernels multiply
 * many rows, or none, or sum up many terms, and columns stay whole. */
static bool alike_later(const tp_exec *x, const tp_dreg *whole, const tp_dreg *part) {
  const tp_dnd *c = &whole->out[0];
  const tp_dx *k = &whole->in[0].shape[whole->in[0].rank - 1];
  const tp_dx *n = &c->shape[c->rank - 1];
  bool ours = (tp_cpu(x)->same || tp_cpu(x)->K->wide) && !k->var;
  bool any = ours && k->c >= TP_DOT_BLOCK && !n->var && n->c > 1;
  return ours && c->shape[c->rank - 1].e == part->out[0].shape[c->rank - 1].e &&
      (any || (has_rows(whole, TP_DOT_FEW(k->c)) && has_rows(part, TP_DOT_FEW(k->c))));
}

bool tp_op_alike(const tp_exec *x, const tp_dreg *whole, const tp_dreg *part) {
  if (tp_is_conv(whole->rg->op)) return tp_conv_alike(whole, part);
  if (whole->rg->op != TP_OP_MATMUL) return true;
  if (!whole->bind) return false;
  return whole->dynamic || whole->wrapped || on_ring(whole) >= 0
      ? alike_later(x, whole, part)
      : tp_contraction_alike(whole->k, part->k);
}

void tp_op_new(tp_exec *x, tp_dreg *r) {
  tp_op op = r->rg->op;
  const row *t = &rows[op];
  r->run = t->run ? t->run : run_missing;
  r->bind = t->bind;
  if (op == TP_OP_MATMUL || op == TP_OP_MATMUL_BLOCKS) r->k = TP_NEW(&x->a, tp_contraction);
  if (op == TP_OP_INDEX_SELECT) tp_index_select_new(x, r);
  bool product = op == TP_OP_MATMUL && !tp_half(r->out[0].dtype);
  if (t->arithmetic && !product && halves(r) && r->nnd <= MAXND) {
    r->run = run_widened;
    r->bind = NULL;
  }
}
