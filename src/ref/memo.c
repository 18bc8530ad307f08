/* memo.c: finds cells, boxes, shapes at a point and places in arrays over a domain; words
 * errors. */
#include "ref/machine.h"

static uint64_t cell_hash(const tp_node *n, const int64_t *at) {
  return tp_hash(at, (size_t)n->ndom * sizeof *at, (uint64_t)n->id);
}

static void memo_grow(ref *r) {
  int64_t nslot = r->nslot ? r->nslot * 2 : 1024;
  tp_cell **slot = TP_NEWN(&r->arena, tp_cell *, nslot);
  for (int64_t s = 0; s < r->nslot; s++)
    for (tp_cell *c = r->slot[s], *next; c; c = next) {
      uint64_t h = cell_hash(c->node, ref_at(c)) & (uint64_t)(nslot - 1);
      next = c->next;
      c->next = slot[h];
      slot[h] = c;
    }
  r->slot = slot;
  r->nslot = nslot;
}

tp_cell *ref_cell(ref *r, const tp_node *n, const int64_t *at) {
  if (r->ncell >= r->nslot) memo_grow(r);
  size_t bytes = (size_t)n->ndom * sizeof *at;
  tp_cell **slot = &r->slot[cell_hash(n, at) & (uint64_t)(r->nslot - 1)];
  for (tp_cell *c = *slot; c; c = c->next)
    if (c->node == n && (!bytes || memcmp(ref_at(c), at, bytes) == 0)) return c;
  tp_cell *c = tp_new_bytes(&r->arena, sizeof *c + (size_t)n->nout * sizeof(void *) + bytes);
  c->node = n;
  c->next = *slot;
  *slot = c;
  if (bytes) memcpy(ref_at(c), at, bytes);
  r->ncell++;
  return c;
}

/* ---- bytes ---- */

/* Do its data belong to an operand that counts, or to the host? */
static bool is_alias(const tp_node *n, const bool *whole) {
  bool alias = n->op == TP_OP_RESHAPE || n->op == TP_OP_DETACH || n->op == TP_OP_CONST ||
      n->op == TP_OP_INPUT || n->op == TP_OP_READ;
  for (int k = 0; n->op == TP_OP_READ && k < n->in[0].src.node->ndom; k++)
    alias &= !n->attr.at[k].range;
  for (int k = 0; n->op == TP_OP_MERGE && k < n->nin; k++) alias |= whole[n->in[k].src.node->id];
  return alias;
}

static int64_t node_bytes(const tp_node *n, const bool *whole, const tp_run *run) {
  int64_t shape[TP_MAXRANK],
      each = (int64_t)(sizeof(tp_cell) + sizeof(void *) * (size_t)n->nout +
          sizeof(int64_t) * (size_t)n->ndom);
  for (int o = 0; o < n->nout && !is_alias(n, whole); o++) {
    int64_t bytes = tp_dtype_size(n->out[o].dtype);
    int rank = tp_run_shape(run, 0, NULL, &n->out[o], shape);
    for (int k = 0; k < rank; k++) bytes = tp_times_bytes(bytes, shape[k]);
    each = tp_sum_bytes(each, bytes);
  }
  for (int k = 0; k < n->ndom; k++) {
    int64_t points = run->env[n->dom[k]->bound->id];
    each = tp_times_bytes(each, whole[n->id] ? points : TP_MIN(points, 1));
  }
  return each;
}

int64_t tp_ref_bytes(
    const tp_graph *g, const bool *whole, const int64_t *given, tp_piece *v, int *n) {
  int nsym = tp_nsym(g->ix);
  int64_t *env = tp_alloc(sizeof *env * (size_t)nsym), sum = 0;
  if (!env) return -1;
  TP_COPYN(env, given, nsym);
  tp_run_few(g, env);
  TP_NODES (x, g->nodes) {
    int64_t bytes = node_bytes(x, whole, &(tp_run){ .env = env });
    sum = tp_sum_bytes(sum, bytes);
    if (v)
      v[(*n)++] =
          (tp_piece){ "", tp_own_name(x) ? tp_own_name(x) : tp_op_said(x->op), x->pos, bytes };
  }
  tp_free(env);
  return sum;
}

int64_t ref_bound(const ref *r, tp_sym *dim) { return r->run->env[dim->bound->id]; }

bool ref_first(int n, const int64_t *lo, const int64_t *hi, int64_t *at) {
  bool some = true;
  for (int k = 0; k < n; k++) {
    at[k] = lo[k];
    some &= lo[k] < hi[k];
  }
  return some;
}

bool ref_next(int n, const int64_t *lo, const int64_t *hi, int64_t *at) {
  for (int k = n - 1; k >= 0; k--) {
    if (++at[k] < hi[k]) return true;
    at[k] = lo[k];
  }
  return false;
}

static bool shape_fail(ref *r, tp_cell *c, const ref_data *v) {
  bool negative = false;
  for (int k = 0; k < v->rank; k++) negative |= v->shape[k] < 0;
  return negative ? ref_fail(r, c, TP_E_SHAPE, "an extent is negative")
                  : ref_fail(r, c, TP_E_MEMORY, "more than 2^63 bytes");
}

bool ref_view(ref *r, tp_cell *c, int out, ref_data *v) {
  const tp_out *o = &c->node->out[out];
  ref_point(r, c->node, ref_at(c));
  v->dtype = o->dtype;
  v->rank = o->rank;
  v->data = c->data[out];
  v->n = 1;
  bool ok = true;
  for (int k = 0; k < o->rank; k++) {
    ok &= tp_ix_eval(o->shape[k], r->env, &v->shape[k]) && v->shape[k] >= 0;
    if (ok) ok = !__builtin_mul_overflow(v->n, v->shape[k], &v->n);
  }
  return (ok && v->n <= INT64_MAX / 16) || shape_fail(r, c, v);
}

bool ref_new(ref *r, tp_cell *c, int out, ref_data *v) {
  if (!ref_view(r, c, out, v)) return false;
  v->data = c->data[out] = tp_new_bytes(&r->arena, (size_t)v->n * (size_t)tp_dtype_size(v->dtype));
  return true;
}

void ref_strides(const ref_data *v, int64_t *stride) {
  int64_t s = 1;
  for (int k = v->rank - 1; k >= 0; k--) {
    stride[k] = s;
    s *= v->shape[k];
  }
}

void ref_strides_broadcast(const ref_data *out, const ref_data *in, int64_t *stride) {
  int64_t own[TP_MAXRANK];
  ref_strides(in, own);
  for (int k = 0; k < out->rank; k++) {
    int j = k - (out->rank - in->rank);
    stride[k] = j >= 0 && in->shape[j] != 1 ? own[j] : 0;
  }
}

/* ---- arrays over a domain: a slot a point, with the largest extents over the domain; the rest of
 * a slot is zero ---- */

/* Finds the slot with this number. False: v does not fit. */
static bool slot_of(
    const tp_array *a, int ndim, int64_t number, const ref_data *v, ref_data *slot) {
  bool fits = a->dtype == v->dtype && a->rank == ndim + v->rank;
  *slot = (ref_data){ .dtype = v->dtype, .rank = v->rank, .n = 1 };
  for (int k = 0; fits && k < v->rank; k++) {
    slot->shape[k] = a->shape[ndim + k];
    slot->n *= slot->shape[k];
    fits = v->shape[k] <= slot->shape[k];
  }
  slot->data = (char *)a->data + number * slot->n * tp_dtype_size(v->dtype);
  return fits && (number + 1) * slot->n <= a->count;
}

/* The cell's place in the box of its domain, row major. */
static int64_t number_of(const ref *r, const tp_cell *c) {
  const int64_t *at = ref_at((tp_cell *)c);
  int64_t number = 0;
  for (int k = 0; k < c->node->ndom; k++) number = number * ref_bound(r, c->node->dom[k]) + at[k];
  return number;
}

static bool same_shape(const ref_data *a, const ref_data *b) {
  return !a->rank || memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape) == 0;
}

/* Copies the elements of the smaller shape, `box`. */
static void copy_box(const ref_data *box, const ref_data *to, const ref_data *from) {
  int64_t st[TP_MAXRANK], sf[TP_MAXRANK];
  ref_strides(to, st);
  ref_strides(from, sf);
  TP_WALK (w, box->rank, box->shape)
    ref_copy(to, tp_walk_offset(&w, st), from, tp_walk_offset(&w, sf));
}

bool ref_from_array(ref *r, tp_cell *c, const tp_array *a) {
  ref_data v, slot;
  int ndim = c->node->ndom;
  int64_t number = number_of(r, c);
  if (!ref_view(r, c, 0, &v)) return false;
  if (a->row) {
    int64_t each = 1;
    for (int k = 1; k < ndim; k++) each *= ref_bound(r, c->node->dom[k]);
    a = a->row[number / each];
    number %= each;
    ndim--;
  }
  if (!slot_of(a, ndim, number, &v, &slot))
    return ref_fail(r, c, TP_E_INPUT, "the array given has another dtype or shape than declared");
  if (same_shape(&v, &slot)) {
    c->data[0] = slot.data;
    return true;
  }
  if (!ref_new(r, c, 0, &v)) return false;
  copy_box(&v, &v, &slot);
  return true;
}

bool ref_put(ref *r, tp_cell *c, int out, tp_array *a, int ndim, int64_t number) {
  ref_data v, slot;
  if (!ref_view(r, c, out, &v)) return false;
  if (!slot_of(a, ndim, number, &v, &slot))
    return ref_fail(r, c, TP_E_RAGGED, "an output larger than its place");
  copy_box(&v, &slot, &v);
  return true;
}

bool ref_to_array(ref *r, tp_cell *c, int out, tp_array *a) {
  return ref_put(r, c, out, a, c->node->ndom, number_of(r, c));
}

const char *ref_label(ref *r, const tp_node *n) {
  tp_who w = tp_who_of(n);
  return tp_who_label(&w, n->op, tp_new_bytes(&r->arena, 256), 256);
}

const char *ref_where(ref *r, const tp_node *n, const int64_t *at) {
  const char *text = "";
  for (int k = 0; k < n->ndom; k++)
    text = tp_printf(
        &r->arena, "%s%s%s = %lld", text, k ? ", " : " at ", n->dom[k]->name, (long long)at[k]);
  return text;
}

bool ref_fail(ref *r, tp_cell *c, tp_code code, const char *fmt, ...) {
  char text[512];
  TP_FORMAT(text, fmt);
  return tp_fail(r->err, code, c->node->pos, "%s: %s%s: %s", tp_code_word(code),
      ref_label(r, c->node), ref_where(r, c->node, ref_at(c)), text);
}
