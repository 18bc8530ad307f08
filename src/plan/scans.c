/* scans: what became of recurrences, in words: a line for each value that an iteration of a loop
 * hands to the next one. */
#include "plan/priv.h"

enum { SCAN_LEAVES = 256 };
/* leaf: of the loop at hand, n of them; said: by buffer, the dim of the last line */
typedef struct scan_teller {
  const tp_plan *p;
  tp_buf *b;
  bool in_strip, any;
  int n;
  const tp_region *leaf[SCAN_LEAVES];
  const tp_sym **said;
} scan_teller;

/* Leaves that each iteration of the loop runs once at most, in order. */
static void leaves_of(scan_teller *w, const tp_pnode *x) {
  TP_EACH_NODE (k, x) {
    if (k.x->rg && w->n < SCAN_LEAVES) w->leaf[w->n++] = k.x->rg;
    if (k.x->kind == TP_P_FOR) tp_tour_skip(&k);
  }
}

/* Does `in`, of leaf i, read what an iteration before wrote, at `out` of leaf k? */
static bool is_handed_on(const tp_nd *in, int i, const tp_nd *out, int k) {
  return in->buf >= 0 && in->buf == out->buf && (!tp_same_start(in, out) || i <= k);
}

/* How a leaf's result depends on one of its inputs: not at all; it is that; times what is made of
 * others, and these added; the larger or smaller of that and another; otherwise. */
typedef enum { OF_OTHERS, OF_ITSELF, OF_LINEAR, OF_MOST, OF_MORE } dependence;

static dependence of_micro(const tp_micro *u, const dependence *of) {
  dependence most = OF_OTHERS, a = of[u->in[0]],
             b = tp_ops[u->op].nin > 1 ? of[u->in[1]] : OF_OTHERS;
  for (int q = 0; q < tp_ops[u->op].nin; q++) most = TP_MAX(most, of[u->in[q]]);
  if (most == OF_OTHERS || most == OF_MORE || (u->op == TP_OP_CAST && tp_dtype_float(u->dtype)))
    return most;
  bool sum = u->op == TP_OP_ADD || u->op == TP_OP_SUB || u->op == TP_OP_NEG;
  bool scaled = u->op == TP_OP_MUL ? !a || !b
      : u->op == TP_OP_DIV         ? !b
                                   : u->op == TP_OP_SELECT && !a;
  if (u->op == TP_OP_MAXIMUM || u->op == TP_OP_MINIMUM)
    return a + b == OF_ITSELF ? OF_MOST : OF_MORE;
  return most <= OF_LINEAR && (sum || scaled) ? OF_LINEAR : OF_MORE;
}

static dependence depends(const tp_region *r, int i, int k) {
  if (r->kind != TP_RG_LOOP || (r->sums && !k)) return OF_MORE;
  dependence *of = tp_calloc(sizeof *of * (size_t)(r->nin + r->nmicro)), found = OF_MORE;
  if (!of) return found;
  of[i] = OF_ITSELF;
  for (int m = 0; m < r->nmicro; m++) of[r->nin + m] = of_micro(&r->micro[m], of);
  found = of[r->nmicro ? r->nin + r->outmicro[k] : 0];
  tp_free(of);
  return found;
}

static void put_places(scan_teller *w, const tp_region *r) {
  int n = 0;
  for (int i = 0; i < r->nlead; i++)
    if (!tp_is_number(r->lead[i], 1))
      tp_putf(w->b, "%s%s", n++ ? " x " : "", tp_ix_str(w->p->ix, r->lead[i]));
  tp_puts(w->b, n ? " places side by side" : "one place");
}

/* Of what leaf `reads` has as input i, and `writes` makes as result k. */
static void put_line(scan_teller *w, const tp_pnode *loop, const tp_region *reads, int i,
    const tp_region *writes, int k) {
  const tp_pbuf *buf = w->p->bufs.v[reads->in[i].buf];
  const tp_sym *along = loop->label ? loop->label : loop->var;
  if (w->said[buf->id] == along) return;
  w->said[buf->id] = along;
  tp_putf(w->b, "%s%s", w->any ? "" : "what one step hands to the next:\n",
      buf->name ? buf->name : "a value");
  if (buf->pos.file) tp_putf(w->b, " (%s:%d)", buf->pos.file, buf->pos.line);
  tp_putf(w->b, " along %s: a loop, ", along->name);
  put_places(w, writes);
  if (w->in_strip)
    tp_puts(w->b,
        ", a strip of them through all steps before the next, as what it makes and keeps stays in "
        "the cache");
  static const char *const steps[] = {
    [OF_OTHERS] = "made anew",
    [OF_ITSELF] = "handed on as it is",
    [OF_LINEAR] = "linear in what it was: joined in blocks, steps would be gone through twice",
    [OF_MOST] = "the larger or smaller of what it was and another: joined in blocks, steps would "
                "be gone through twice",
    [OF_MORE] = "not linear in what it was: steps cannot be joined",
  };
  bool one = reads == writes && writes->kind == TP_RG_LOOP;
  tp_putf(w->b, "; %s",
      one ? steps[depends(writes, i, k)] : "a step is more than one loop over these places");
  tp_puts(w->b, "\n");
  w->any = true;
}

static void tell_input(scan_teller *w, const tp_pnode *loop, int i, int k) {
  const tp_nd *in = &w->leaf[i]->in[k];
  for (int u = 0; u < w->n; u++)
    for (int q = 0; q < w->leaf[u]->nout; q++)
      if (is_handed_on(in, i, &w->leaf[u]->out[q], u)) {
        put_line(w, loop, w->leaf[i], k, w->leaf[u], q);
        return;
      }
}

static void tell_loop(scan_teller *w, const tp_pnode *loop) {
  w->n = 0;
  leaves_of(w, loop->kid[0]);
  for (int i = 0; i < w->n; i++)
    for (int k = 0; k < w->leaf[i]->nin; k++) tell_input(w, loop, i, k);
}

static void tell_node(scan_teller *w, const tp_pnode *x) {
  bool around = w->in_strip;
  if (x->kind == TP_P_FOR && x->strip) w->in_strip = true;
  else if (x->kind == TP_P_FOR && !x->independent) tell_loop(w, x);
  for (int i = 0; i < x->n; i++) tell_node(w, x->kid[i]);
  w->in_strip = around;
}

void tp_plan_scans(tp_buf *b, const tp_plan *p) {
  scan_teller w = { .p = p, .b = b, .said = tp_calloc(sizeof *w.said * (size_t)(p->bufs.n + 1)) };
  if (w.said) tell_node(&w, p->body);
  tp_free(w.said);
}
