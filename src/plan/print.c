/* print: the plan's text. Buffers first, then the loops: one line a region. */
#include "plan/plan.h"

static void indent(tp_buf *b, int depth) { for (int i = 0; i < depth; i++) tp_puts(b, "  "); }

static void list(tp_buf *b, const char *open, int n, const tp_ix *const *v, const char *close) {
  tp_puts(b, open);
  for (int i = 0; i < n; i++) { if (i) tp_puts(b, ", "); tp_ix_print(b, v[i]); }
  tp_puts(b, close);
}

static void nd(tp_buf *b, const tp_nd *x, int nlead) {
  tp_putf(b, " b%d{", x->buf);
  tp_ix_print(b, x->off);
  for (int i = 0; i < x->nring; i++) {
    tp_puts(b, " + ("); tp_ix_print(b, x->ring[i].idx);
    tp_puts(b, " mod "); tp_ix_print(b, x->ring[i].width);
    tp_puts(b, ") * "); tp_ix_print(b, x->ring[i].stride);
  }
  if (nlead) list(b, "; lead ", nlead, x->lead, "");
  if (x->rank) { list(b, "; ", x->rank, x->shape, " by "); list(b, "", x->rank, x->stride, ""); }
  if (x->wrap >= 0) { tp_putf(b, "; wrap %d at ", x->wrap); tp_ix_print(b, x->wlo); tp_puts(b, " mod "); tp_ix_print(b, x->wmod); }
  tp_puts(b, "}");
}

static const char *const kinds[] = { "ew", "op", "copy", "fill", "call", "pinit" };
static const char *const reds[] = { "+=", "*=", "max=", "min=" };

static void micros(tp_buf *b, const tp_region *r) {
  tp_puts(b, " [");
  for (int k = 0; k < r->nmicro; k++) {
    const tp_micro *m = &r->micro[k];
    tp_putf(b, "%s%s", k ? " " : "", tp_ops[m->op].text);
    int n = m->op == TP_OP_FILL ? 0 : tp_ops[m->op].nin;
    if (m->op == TP_OP_FILL) { tp_puts(b, "("); tp_put_double(b, m->attr->f[0]); tp_puts(b, ")"); }
    for (int j = 0; j < n; j++) tp_putf(b, "%s%s%d", j ? "," : "(", m->in[j] < r->nin ? "i" : "m", m->in[j] < r->nin ? m->in[j] : m->in[j] - r->nin);
    if (n) tp_puts(b, ")");
  }
  tp_puts(b, "] ->");
  for (int k = 0; k < r->nout; k++) tp_putf(b, " m%d", r->outmicro[k]);
}

static void region(tp_buf *b, const tp_region *r) {
  tp_puts(b, kinds[r->kind]);
  if (r->kind == TP_RG_OP) tp_putf(b, " %s", tp_ops[r->op].text);
  if (r->kind == TP_RG_FILL) { tp_puts(b, " "); tp_put_double(b, r->fill); }
  for (int k = 0; k < r->nlead; k++) {
    tp_putf(b, " %s=", r->leadvar[k]->name);
    tp_ix_print(b, r->leadlo[k]); tp_puts(b, "+:"); tp_ix_print(b, r->lead[k]);
  }
  if (r->kind == TP_RG_EW) micros(b, r);
  tp_puts(b, " out");
  for (int k = 0; k < r->nout; k++) nd(b, &r->out[k], r->nlead);
  if (r->acc) tp_putf(b, " %s", reds[r->red]);
  if (r->nin) tp_puts(b, " in");
  for (int k = 0; k < r->nin; k++) nd(b, &r->in[k], r->nlead);
  if (r->nix) list(b, " ix(", r->nix, r->ix, ")");
  if (r->ncoord) list(b, " at(", r->ncoord, r->coord, ")");
  if (r->node && r->node->name) tp_putf(b, " \"%s\"", r->node->name);
  tp_puts(b, "\n");
}

static void node(tp_buf *b, const tp_pnode *x, int depth) {
  if (x->kind == TP_P_SEQ) {
    for (int i = 0; i < x->n; i++) node(b, x->kid[i], depth);
    return;
  }
  indent(b, depth);
  if (x->kind == TP_P_REGION) { region(b, x->rg); return; }
  if (x->kind == TP_P_FOR) {
    tp_putf(b, "for %s = ", x->var->name);
    tp_ix_print(b, x->lo); tp_puts(b, " .. "); tp_ix_print(b, x->hi);
    tp_putf(b, " step %d {\n", x->step);
  } else {
    tp_puts(b, "if "); tp_ix_print(b, x->cond); tp_puts(b, " {\n");
  }
  node(b, x->kid[0], depth + 1);
  indent(b, depth);
  if (x->n > 1) {
    tp_puts(b, "} else {\n");
    node(b, x->kid[1], depth + 1);
    indent(b, depth);
  }
  tp_puts(b, "}\n");
}

void tp_plan_print(tp_buf *b, const tp_plan *p) {
  static const char *const bk[] = { "temp", "input", "const", "output", "param" };
  for (int i = 0; i < p->bufs.n; i++) {
    const tp_pbuf *x = p->bufs.v[i];
    tp_putf(b, "b%d %s %s \"%s\"", x->id, bk[x->kind], tp_dtype_name(x->dtype), x->name ? x->name : "");
    list(b, " [", x->ndim, x->slots, "]");
    list(b, "[", x->rank, x->slots + x->ndim, "]");
    if (x->kind == TP_BUF_TEMP) tp_putf(b, " life %d..%d", x->first, x->last);
    tp_puts(b, "\n");
  }
  node(b, p->body, 0);
}
