/* memo.c: cells and their table, points, boxes, shapes at a point, the words of errors. */
#include "ref/machine.h"
#include <stdio.h>

/* ---- cells ---- */

static uint64_t cell_hash(const tp_node *n, const int64_t *at) { return tp_hash(at, (size_t)n->ndom * sizeof *at, (uint64_t)n->id); }

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

/* ---- points and boxes ---- */

void ref_point(ref *r, const tp_node *n, const int64_t *at) {
  for (int k = 0; k < n->ndom; k++) r->env[n->dom[k]->id] = at[k];
}

int64_t ref_bound(const ref *r, const tp_sym *dim) { return r->env[dim->bound->id]; }

bool ref_box(ref *r, int n, const tp_sym *const *dims, int64_t *count) {
  bool ok = true;
  *count = 1;
  for (int k = 0; k < n; k++) ok &= !__builtin_mul_overflow(*count, ref_bound(r, dims[k]), count);
  if (ok && *count <= INT64_MAX / 64) return true;
  return tp_fail(r->err, TP_E_MEMORY, (tp_pos){0}, "a domain has too many points");
}

int64_t ref_number(const ref *r, int n, const tp_sym *const *dims, const int64_t *at) {
  int64_t number = 0;
  for (int k = 0; k < n; k++) number = number * ref_bound(r, dims[k]) + at[k];
  return number;
}

void ref_unnumber(const ref *r, int n, const tp_sym *const *dims, int64_t number, int64_t *at) {
  for (int k = n - 1; k >= 0; k--) {
    int64_t b = ref_bound(r, dims[k]);
    at[k] = number % b;
    number /= b;
  }
}

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

/* ---- shapes ---- */

static bool shape_fail(ref *r, tp_cell *c, const tp_view *v) {
  bool negative = false;
  for (int k = 0; k < v->rank; k++) negative |= v->shape[k] < 0;
  return negative ? ref_fail(r, c, TP_E_SHAPE, "an extent is negative") : ref_fail(r, c, TP_E_MEMORY, "more than 2^63 bytes");
}

bool ref_view(ref *r, tp_cell *c, int out, tp_view *v) {
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

bool ref_new(ref *r, tp_cell *c, int out, tp_view *v) {
  if (!ref_view(r, c, out, v)) return false;
  v->data = c->data[out] = tp_new_bytes(&r->arena, (size_t)v->n * (size_t)tp_dtype_size(v->dtype));
  return true;
}

/* ---- multi-indices ---- */

void ref_walk_start(ref_walk *w, int rank, const int64_t *shape) {
  w->rank = rank;
  w->ok = true;
  for (int k = 0; k < rank; k++) {
    w->shape[k] = shape[k];
    w->at[k] = 0;
    w->ok &= shape[k] > 0;
  }
}

void ref_walk_next(ref_walk *w) {
  for (int k = w->rank - 1; k >= 0; k--) {
    if (++w->at[k] < w->shape[k]) return;
    w->at[k] = 0;
  }
  w->ok = false;
}

void ref_strides(const tp_view *v, int64_t *stride) {
  int64_t s = 1;
  for (int k = v->rank - 1; k >= 0; k--) {
    stride[k] = s;
    s *= v->shape[k];
  }
}

void ref_strides_broadcast(const tp_view *out, const tp_view *in, int64_t *stride) {
  int64_t own[TP_MAXRANK];
  ref_strides(in, own);
  for (int k = 0; k < out->rank; k++) {
    int j = k - (out->rank - in->rank);
    stride[k] = j >= 0 && in->shape[j] != 1 ? own[j] : 0;
  }
}

int64_t ref_offset(const ref_walk *w, const int64_t *stride) {
  int64_t at = 0;
  for (int k = 0; k < w->rank; k++) at += w->at[k] * stride[k];
  return at;
}

/* ---- the words of errors ---- */

const char *ref_label(ref *r, const tp_node *n) {
  const char *name = n->name ? n->name : n->attr.str;
  return name ? tp_printf(&r->arena, "'%s'", name) : tp_printf(&r->arena, "this %s", tp_ops[n->op].text);
}

const char *ref_where(ref *r, const tp_node *n, const int64_t *at) {
  const char *text = "";
  for (int k = 0; k < n->ndom; k++)
    text = tp_printf(&r->arena, "%s%s%s = %lld", text, k ? ", " : " at ", n->dom[k]->name, (long long)at[k]);
  return text;
}

bool ref_fail(ref *r, tp_cell *c, tp_code code, const char *fmt, ...) {
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return tp_fail(r->err, code, c->node->pos, "%s: %s%s: %s", tp_code_word(code), ref_label(r, c->node), ref_where(r, c->node, ref_at(c)), text);
}
