/* print: the plan's text, which parse.c reads. Symbols, buffers, then the loops: one line a region.
 *
 *   dim t:T
 *   var t1
 *   ends T                                                    a bound whose dim ends by data
 *   output f32 (t) [4] "y" @ rnn.lua:5                        what a call gives, a hidden `parameter` too
 *   c0 fn 2 (over b, t) gives f32 "act" @ rnn.lua:4           a callback: number, dims, results; with ticks `tick`, `feed 0`, `show 1`
 *   b0 input 0 f32 "x" [T][4] size 4*T                        kind, slot in tp_run, dtype, name, [slots][shape], the order of dims in memory if it is another, elements
 *   b1 temp f32 "h" [2][4] size 8 life 0..1
 *   b2 const f32 "" [][2] size 2 data [2] 0.5 1
 *   for t1 = 0 .. T step 1 of t {
 *     loop over a0 = 0 for 4 [mul:f32(i0,i1)] -> m0 out b1{0; ring t1 mod 2 by 4; lead 1} in b0{4*t1; lead 1} b1{...} "h" @ rnn.lua:3
 *   }
 *   loop over i1 = 0 for I | sum a0 = 0 for 4 out b3{0; lead 1, 0} in b0{0; lead 4, 1} @ rnn.lua:4
 *
 * A region goes over its axes, dims before those of elements (|); what is made along `sum`, `prod`, `max`, `min` axes is folded. A micro's operands are the
 * region's inputs (i0) and micros before it (m0); without micros it is the input. A window is its offset, rings, strides along these axes, shape by strides of
 * its own axes, and `wrap axis at lo mod width`. `+=` after the results accumulates; ix(..) and at(t = t1) are expressions of the operator and coordinates.
 * `load T1 of T b3{..}` sets a variable to what a dim that ends by data has reached; `rows t1 of T b3{..}` says which rows of a callback have ended at t1.
 * `spill b1 by 0 rows lo for n up` and `fetch b1 ..` are of a dim (`inner`: another way), `up`, `down` or neither, `made` where they will be written, and of a whole buffer without `by` (plan.h); a plan that has them has a `limit` in bytes.
 * `of "x", "" checked`: NaN that is made of finite operands, of these names, ends the run; `at(t = 1 ..)`: the result's first axis is added. With ticks a region has `row e`, the plan may have `lag 2`, and regions and buffers that can wait are `far`. */
#include "plan/plan.h"

static void indent(tp_buf *b, int depth) { for (int i = 0; i < depth; i++) tp_puts(b, "  "); }

static void list(tp_buf *b, const char *open, int n, const tp_ix *const *v, const char *close) {
  tp_puts(b, open);
  for (int i = 0; i < n; i++) { if (i) tp_puts(b, ", "); tp_ix_print(b, v[i]); }
  tp_puts(b, close);
}

static void pair(tp_buf *b, const char *before, const tp_ix *e, const char *between, const tp_ix *f) {
  tp_puts(b, before); tp_ix_print(b, e);
  tp_puts(b, between); tp_ix_print(b, f);
}

/* ---- regions ---- */

static void nd(tp_buf *b, const tp_nd *x, int nlead) {
  if (x->buf < 0) tp_puts(b, " none{");
  else tp_putf(b, " b%d{", x->buf);
  tp_ix_print(b, x->off);
  for (int i = 0; i < x->nring; i++) {
    pair(b, "; ring ", x->ring[i].idx, " mod ", x->ring[i].width);
    tp_puts(b, " by "); tp_ix_print(b, x->ring[i].stride);
  }
  if (nlead && x->lead) list(b, "; lead ", nlead, x->lead, "");
  if (x->rank) { list(b, "; box ", x->rank, x->shape, " by "); list(b, "", x->rank, x->stride, ""); }
  if (x->wrap >= 0) { tp_putf(b, "; wrap %d", x->wrap); pair(b, " at ", x->wlo, " mod ", x->wmod); }
  tp_puts(b, "}");
}

const char *const tp_rg_names[TP_NRG] = {
#define K(NAME, text, op) text,
#include "plan/rgkinds.def"
#undef K
};
const char *const tp_bufkind_names[TP_NBUFKIND] = {
#define B(NAME, text) text,
#include "plan/bufkinds.def"
#undef B
};
static const char *const reds[] = { "+=", "*=", "max=", "min=" };

static void put_micro(tp_buf *b, const tp_region *r, const tp_micro *m) {
  tp_putf(b, "%s:%s(", tp_ops[m->op].text, tp_dtype_name(m->dtype));
  if (m->op == TP_OP_FILL) tp_put_double(b, m->f);
  if (m->op == TP_OP_VALUE) tp_ix_print(b, m->ix);
  for (int j = 0; j < tp_ops[m->op].nin; j++) tp_putf(b, "%s%s%d", j ? "," : "", m->in[j] < r->nin ? "i" : "m", m->in[j] < r->nin ? m->in[j] : m->in[j] - r->nin);
  tp_puts(b, ")");
}

static void put_micros(tp_buf *b, const tp_region *r) {
  tp_puts(b, " [");
  for (int k = 0; k < r->nmicro; k++) {
    if (k) tp_puts(b, " ");
    put_micro(b, r, &r->micro[k]);
  }
  tp_puts(b, "] ->");
  for (int k = 0; k < r->nout; k++) tp_putf(b, " m%d", r->outmicro[k]);
}

static void put_coords(tp_buf *b, const tp_region *r) {
  tp_puts(b, " at(");
  for (int k = 0; k < r->ncoord; k++) {
    tp_putf(b, "%s%s%s", k ? ", " : "", r->dim ? r->dim[k]->name : "", r->dim ? " = " : "");
    tp_ix_print(b, r->coord[k]);
    if (r->along >> k & 1) tp_puts(b, " ..");
  }
  tp_puts(b, ")");
}

/* What it does: operator, attributes, leading axes, micros. */
static void put_head(tp_buf *b, const tp_region *r) {
  int count = 0;
  tp_puts(b, tp_rg_names[r->kind]);
  if (r->kind == TP_RG_OP) tp_putf(b, " %s", tp_ops[r->op].text);
  if (r->kind == TP_RG_CALL) tp_putf(b, " c%d", r->call);
  tp_put_fields(b, tp_how_fields, &r->how, &count);
  if (r->who.what && !r->who.name) tp_puts(tp_put_item(b, &count, "what"), " "), tp_put_string(b, r->who.what);
  if (count) tp_puts(b, "}");
  for (int k = 0; k < r->nlead; k++) {
    tp_puts(b, k == 0 ? " over" : k == r->npoint && r->kind == TP_RG_LOOP ? " |" : ",");
    if (k == 0 && r->npoint == 0 && r->kind == TP_RG_LOOP) tp_puts(b, " |");
    if (r->sums >> k & 1) tp_putf(b, " %s", tp_red_name(r->red));
    tp_putf(b, " %s", r->leadvar[k]->name);
    pair(b, " = ", r->leadlo[k], " for ", r->lead[k]);
  }
  if (r->nmicro) put_micros(b, r);
}

/* Whose line it is, as messages say it. */
static void origin(tp_buf *b, const tp_region *r) {
  if (r->who.name) tp_puts(b, " "), tp_put_string(b, r->who.name);
  tp_put_where(b, r->pos);
}

static void put_region(tp_buf *b, const tp_region *r) {
  put_head(b, r);
  tp_puts(b, " out");
  for (int k = 0; k < r->nout; k++) nd(b, &r->out[k], r->nlead);
  if (r->acc) tp_putf(b, " %s", reds[r->red]);
  if (r->nin) tp_puts(b, " in");
  for (int k = 0; k < r->nin; k++) nd(b, &r->in[k], r->nlead);
  if (r->nix) list(b, " ix(", r->nix, r->ix, ")");
  if (r->ncoord) put_coords(b, r);
  for (int k = 0; k < r->nrows; k++) {
    tp_puts(b, " rows ");
    tp_ix_print(b, r->rows[k].at);
    if (r->rows[k].along >= 0) tp_putf(b, " along %d", r->rows[k].along);
    tp_puts(b, " of ");
    tp_ix_print(b, r->rows[k].given);
    nd(b, &r->rows[k].nd, 0);
  }
  if (r->row) { tp_puts(b, " row "); tp_ix_print(b, r->row); }
  if (r->far) tp_puts(b, " far");
  for (int k = 0; k < r->nsaid; k++) tp_puts(b, k ? ", " : " of "), tp_put_string(b, r->said[k].name ? r->said[k].name : "");
  if (r->check) tp_puts(b, " checked");
  origin(b, r);
  tp_puts(b, "\n");
}

/* ---- loops ---- */

static void put_loop(tp_buf *b, const tp_pnode *x) {
  tp_putf(b, "for %s", x->var->name);
  pair(b, " = ", x->lo, " .. ", x->hi);
  tp_putf(b, " step %d", x->step);
  if (x->label) tp_putf(b, " of %s", x->label->name);
  if (x->parallel) tp_puts(b, " parallel");
  tp_puts(b, " {\n");
}

static void put_kept_rows(tp_buf *b, const tp_pnode *x) {
  tp_putf(b, "%s b%d", x->kind == TP_P_SPILL ? "spill" : "fetch", x->buf);
  if (x->dim >= 0) tp_putf(b, " by %d%s", x->dim, x->inner ? " inner" : "");
  pair(b, " rows ", x->lo, " for ", x->hi);
  tp_puts(b, x->step > 0 ? " up" : x->step < 0 ? " down" : "");
  tp_puts(b, x->made ? " made\n" : "\n");
}

static void node(tp_buf *b, const tp_pnode *x, int depth) {
  if (x->kind == TP_P_SEQ) {
    for (int i = 0; i < x->n; i++) node(b, x->kid[i], depth);
    return;
  }
  indent(b, depth);
  if (x->kind == TP_P_REGION) { put_region(b, x->rg); return; }
  if (x->kind == TP_P_SPILL || x->kind == TP_P_FETCH) { put_kept_rows(b, x); return; }
  if (x->kind == TP_P_LOAD) {
    tp_putf(b, "load %s of ", x->var->name);
    tp_ix_print(b, x->given);
    nd(b, x->nd, 0);
    tp_puts(b, "\n");
    return;
  }
  if (x->kind == TP_P_FOR) put_loop(b, x);
  else { tp_puts(b, "if "); tp_ix_print(b, x->cond); tp_puts(b, " {\n"); }
  node(b, x->kid[0], depth + 1);
  indent(b, depth);
  if (x->n > 1) {
    tp_puts(b, "} else {\n");
    node(b, x->kid[1], depth + 1);
    indent(b, depth);
  }
  tp_puts(b, "}\n");
}

/* ---- buffers ---- */

static void buffer(tp_buf *b, const tp_pbuf *x) {
  tp_putf(b, "b%d %s", x->id, tp_bufkind_names[x->kind]);
  if (x->kind != TP_BUF_TEMP && x->kind != TP_BUF_CONST) tp_putf(b, " %d", x->slot);
  tp_putf(b, " %s ", tp_dtype_name(x->dtype));
  tp_put_string(b, x->name ? x->name : "");
  list(b, " [", x->ndim, x->slots, "]");
  list(b, "[", x->rank, x->slots + x->ndim, "]");
  bool moved = false;
  for (int k = 0; x->order && k < x->ndim; k++) moved |= x->order[k] != k;
  for (int k = 0; moved && k < x->ndim; k++) tp_putf(b, "%s%d", k ? " " : " order ", x->order[k]);
  tp_puts(b, " size ");
  tp_ix_print(b, x->size);
  if (x->kind == TP_BUF_TEMP && x->first >= 0) tp_putf(b, " life %d..%d%s", x->first, x->last, x->far ? " far" : "");
  if (x->data) {
    tp_puts(b, " data [");
    for (int i = 0; i < x->data->rank; i++) tp_putf(b, "%s%lld", i ? ", " : "", (long long)x->data->shape[i]);
    tp_puts(b, "]");
    tp_put_array(b, x->data);
  }
  tp_puts(b, "\n");
}

/* ---- symbols that the plan uses ---- */

static void mark_used(bool *used, const tp_sym *s) {
  if (!s || used[s->id]) return;
  used[s->id] = true;
  mark_used(used, s->bound);
  mark_used(used, s->dim);
}

static void use_ix(bool *used, const tp_ix *e) {
  const tp_sym *const *syms;
  for (int i = 0, n = tp_ix_syms(e, &syms); i < n; i++) mark_used(used, syms[i]);
}

static void use_list(bool *used, int n, const tp_ix *const *v) {
  for (int i = 0; v && i < n; i++) use_ix(used, v[i]);
}

static void use_nd(bool *used, const tp_nd *x, int nlead) {
  use_ix(used, x->off);
  for (int i = 0; i < x->nring; i++) use_list(used, 3, (const tp_ix *[]){ x->ring[i].idx, x->ring[i].width, x->ring[i].stride });
  use_list(used, nlead, x->lead);
  use_list(used, x->rank, x->shape);
  use_list(used, x->rank, x->stride);
  if (x->wrap >= 0) use_list(used, 2, (const tp_ix *[]){ x->wlo, x->wmod });
}

static void use_region(bool *used, const tp_region *r) {
  for (int k = 0; k < r->nlead; k++) mark_used(used, r->leadvar[k]);
  use_list(used, r->nlead, r->leadlo);
  use_list(used, r->nlead, r->lead);
  for (int k = 0; k < r->nin; k++) use_nd(used, &r->in[k], r->nlead);
  for (int k = 0; k < r->nout; k++) use_nd(used, &r->out[k], r->nlead);
  for (int k = 0; k < r->nmicro; k++)
    use_ix(used, r->micro[k].ix);
  use_list(used, r->nix, r->ix);
  use_list(used, r->ncoord, r->coord);
  for (int k = 0; k < r->nrows; k++) {
    use_list(used, 2, (const tp_ix *[]){ r->rows[k].at, r->rows[k].given });
    use_nd(used, &r->rows[k].nd, 0);
  }
  use_ix(used, r->row);
  for (int k = 0; k < r->ncoord && r->dim; k++) mark_used(used, r->dim[k]);
}

static void use_node(bool *used, const tp_pnode *x) {
  mark_used(used, x->var);
  mark_used(used, x->label);
  use_list(used, 3, (const tp_ix *[]){ x->lo, x->hi, x->cond });
  if (x->kind == TP_P_REGION) use_region(used, x->rg);
  if (x->kind == TP_P_LOAD) { use_ix(used, x->given); use_nd(used, x->nd, 0); }
  for (int i = 0; i < x->n; i++) use_node(used, x->kid[i]);
}

/* ---- what it stands on ---- */

static void use_outside(bool *used, const tp_plan *p) {
  for (int i = 0; i < p->calls.n; i++)
    for (int d = 0; d < p->calls.v[i].ndom; d++) mark_used(used, p->calls.v[i].dom[d]);
  for (int i = 0; i < p->products.n; i++) {
    for (int d = 0; d < p->products.v[i].ndim; d++) mark_used(used, p->products.v[i].dims[d]);
    use_list(used, p->products.v[i].type.rank, p->products.v[i].type.shape);
  }
  for (int i = 0; i < p->ends.n; i++) mark_used(used, p->ends.v[i]);
}

static void put_named(tp_buf *b, const char *name, tp_pos pos) {
  if (name) tp_puts(b, " "), tp_put_string(b, name);
  tp_put_where(b, pos);
  tp_puts(b, "\n");
}

static void put_callee(tp_buf *b, int i, const tp_callee *c) {
  tp_putf(b, "c%d %s", i, tp_callee_words[c->fn < 0 ? -c->fn : 0]);
  if (c->fn != TP_FN_TICK) tp_putf(b, " %d", c->fn < 0 ? c->slot : c->fn);
  tp_puts(b, " (");
  for (int d = 0; d < c->ndom; d++) tp_putf(b, "%s%s%s", d ? ", " : "", c->over >> d & 1 ? "over " : "", c->dom[d]->name);
  tp_puts(b, ")");
  for (int k = 0; k < c->nres; k++) tp_putf(b, "%s%s", k ? ", " : " gives ", tp_dtype_name(c->res[k]));
  put_named(b, c->name, c->pos);
}

static void put_product(tp_buf *b, const tp_product *o) {
  tp_putf(b, "%s %s ", o->hidden ? "parameter" : "output", tp_dtype_name(o->type.dtype));
  tp_put_list(b, TP_F_DIMS, o->ndim, o->dims);
  tp_puts(b, " ");
  tp_put_list(b, TP_F_EXTENTS, o->type.rank, o->type.shape);
  put_named(b, o->name, o->pos);
}

/* ---- the whole ---- */

const char *const tp_callee_words[4] = { "fn", "tick", "feed", "show" };

tp_op tp_region_op(const tp_region *r) {
  static const tp_op folds[TP_NRED] = { TP_OP_SUM, TP_OP_PROD, TP_OP_MAX, TP_OP_MIN }, kinds[TP_NRG] = {
#define K(NAME, text, op) op,
#include "plan/rgkinds.def"
#undef K
  };
  if (r->kind == TP_RG_OP) return r->op;
  if (r->kind != TP_RG_LOOP) return kinds[r->kind];
  return r->acc ? TP_OP_ACCUM : r->sums ? folds[r->red] : r->nmicro ? r->micro[r->nmicro - 1].op : TP_OP_DETACH;
}

void tp_plan_print(tp_buf *b, const tp_plan *p) {
  tp_arena scratch;
  tp_scratch_init(&scratch);
  bool *used = TP_NEWN(&scratch, bool, tp_nsym(p->ix));
  for (int i = 0; i < p->bufs.n; i++) {
    use_list(used, p->bufs.v[i]->ndim + p->bufs.v[i]->rank, p->bufs.v[i]->slots);
    use_ix(used, p->bufs.v[i]->size);
  }
  use_node(used, p->body);
  use_outside(used, p);
  tp_syms_print(b, p->ix, used);
  for (int i = 0; i < p->ends.n; i++) tp_putf(b, "ends %s\n", p->ends.v[i]->name);
  for (int i = 0; i < p->products.n; i++) put_product(b, &p->products.v[i]);
  for (int i = 0; i < p->calls.n; i++) put_callee(b, i, &p->calls.v[i]);
  if (p->lag) tp_putf(b, "lag %d\n", p->lag);
  if (p->limit) tp_putf(b, "limit %lld\n", (long long)p->limit);
  for (int i = 0; i < p->bufs.n; i++) buffer(b, p->bufs.v[i]);
  node(b, p->body, 0);
  tp_arena_free(&scratch);
}
