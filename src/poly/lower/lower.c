/* lower: the closed graph becomes arrays and statements.
 *
 * Views (resolve.c) and inline values (FILL, VALUE) have no statement. Every other value has an
 * array, and statements that write it: one for an operator, one for each branch of a MERGE, an INIT
 * and one for each contribution of an ACCUM. An operator goes into its only reader where their
 * points are one to one (identity, shift, a dim that the branch pins), so nothing is computed
 * twice. It stays out if its operands, which would wait for the reader, are larger than its result.
 * A statement's dims are in the order of P:dim by label; the second dim of a label is a hidden
 * symbol. */
#include "poly/lower/lower.h"

/* ---- outputs ---- */

static bool output(low *l, int k) {
  tp_output *o = &l->g->outputs.v[k];
  tp_opnd r;
  tp_ix **at = tp_low_point(l, o->val.node->ndom, o->val.node->dom);
  if (!tp_resolve(l->p, o->val, at, 0, NULL, NULL, &r, l->err)) return false;
  tp_node *b = r.base.node;
  /* newer values of the parameter are copied there */
  bool apart = o->hidden && l->p->keeps && tp_param_evolves(tp_output_param(l->g, k));
  for (int a = 0; a < tp_outof(o->val)->rank; a++)
    apart |= tp_mentions_end(l->g, tp_outof(o->val)->shape[a]);
  bool same = !apart && r.identity && b->ndom == o->val.node->ndom &&
      l->p->mode[b->id] == TP_V_STORED && b->op != TP_OP_INPUT && b->op != TP_OP_CONST;
  for (int d = 0; d < b->ndom && same; d++) same = r.idx[d] == at[d];
  if (same && !l->p->arrof[b->id][r.base.out]) {
    ((tp_arr **)l->p->arrof[b->id])[r.base.out] = tp_low_array(l, r.base, TP_ARR_OUTPUT, k);
    tp_low_stored(l, r.base);
    return true;
  }
  return tp_low_copy(l, o->val, tp_low_array(l, o->val, TP_ARR_OUTPUT, k), o->pos);
}

/* ---- names ---- */

/* The one file, without folders, to which all lines belong; NULL: there are several, or none. */
static const char *only_file(const tp_graph *g) {
  const char *only = NULL;
  TP_NODES (n, g->nodes) {
    const char *f = n->pos.file;
    if (only && f && f != only && strcmp(f, only)) return NULL;
    only = f ? f : only;
  }
  const char *base = only ? strrchr(only, '/') : NULL;
  return base ? base + 1 : only;
}

/* "mul@net.lua:7" in a program of one file is "mul@7". */
static const char *without_file(tp_arena *a, const char *title, const char *file) {
  const char *at = file ? strrchr(title, '@') : NULL;
  size_t n = file ? strlen(file) : 0;
  return at && !strncmp(at + 1, file, n) && at[1 + n] == ':'
      ? tp_printf(a, "%.*s%s", (int)(at + 1 - title), title, at + 2 + n)
      : title;
}

/* s on one line, as every title is. */
static const char *printable(tp_arena *a, const char *s) {
  bool plain = true;
  for (const char *c = s; *c; c++) plain &= (unsigned char)*c >= ' ';
  if (plain) return s;
  char *out = TP_NEWN(a, char, 4 * strlen(s) + 1);
  for (char *o = out; *s; s++)
    o += sprintf(o, *s == '\n' ? "\\n" : (unsigned char)*s < ' ' ? "\\%d" : "%c", *s);
  return out;
}

/* A named value may be a view of the value that is stored, which then gets the name: k =
 * x:matmul(w):name "k" reshapes a product. */
static void name_of_view(const tp_node *n, const char **name) {
  bool view = n->op == TP_OP_RESHAPE || n->op == TP_OP_DETACH || n->op == TP_OP_PERMUTE;
  const tp_node *x = view ? n->in[0].src.node : NULL;
  if (x && !x->name && !x->attr.str && !x->what) name[x->id] = n->name ? n->name : name[n->id];
}

/* Gives titles; the second of one title is "mul@net.lua:7#2". */
static void give_titles(tp_poly *p) {
  const char *file = only_file(p->g);
  const char **view = TP_NEWN(p->a, const char *, p->g->nodes.n);
  for (int i = p->g->nodes.n - 1; i >= 0; i--) name_of_view(p->g->nodes.v[i], view);
  tp_hmap seen;
  tp_hmap_init(&seen, p->a);
  p->title = TP_NEWN(p->a, const char *, p->g->nodes.n);
  for (int i = 0; i < p->g->nodes.n; i++) {
    const tp_node *n = p->g->nodes.v[i];
    const char *t = p->title[i] =
        printable(p->a, view[i] ? view[i] : without_file(p->a, tp_title(p->a, n), file));
    int *count = tp_hmap_get(&seen, t, strlen(t));
    if (!count) tp_hmap_set(&seen, t, strlen(t), count = TP_NEW(p->a, int));
    if (++*count > 1 && !view[i] && !n->name && !n->attr.str)
      p->title[i] = tp_printf(p->a, "%s#%d", t, *count);
  }
}

/* ---- the whole ---- */

static low *low_new(tp_graph *g, const tp_need *need, tp_error *err) {
  tp_arena *a = &g->arena;
  int n = g->nodes.n;
  tp_poly *p = TP_NEW(a, tp_poly);
  p->g = g;
  p->a = a;
  give_titles(p);
  p->mode = TP_NEWN(a, tp_vmode, n);
  tp_arr ***arrof = TP_NEWN(a, tp_arr **, n);
  for (int i = 0; i < n; i++) { arrof[i] = TP_NEWN(a, tp_arr *, TP_MAX(1, g->nodes.v[i]->nout)); }
  p->arrof = (tp_arr *const **)arrof;
  low *l = TP_NEW(a, low);
  *l = (low){ .p = p,
    .g = g,
    .a = a,
    .need = need,
    .err = err,
    .live = TP_NEWN(a, bool, n),
    .queued = TP_NEWN(a, bool, n),
    .nreader = TP_NEWN(a, int, n),
    .uses = TP_NEWN(a, tp_branchuse *, n),
    .apart = TP_NEWN(a, bool, n),
    .reader = TP_NEWN(a, tp_node *, n) };
  return l;
}

tp_poly *tp_lower(tp_graph *g, const tp_need *need, tp_error *err) {
  low *l = low_new(g, need, err);
  for (int i = 0; i < g->outputs.n; i++) tp_reach(l->a, g->outputs.v[i].val.node, l->live);
  TP_NODES (n, g->sinks) {
    tp_reach(l->a, n, l->live);
    l->p->ticks |= n->attr.fn == TP_FN_TICK;
    l->p->keeps |= n->attr.fn == TP_FN_KEEP;
  }
  for (int i = 0; i < g->stops.n; i++) tp_reach(l->a, g->stops.v[i].end, l->live);
  if (!tp_low_modes(l) || !tp_low_readers(l)) return tp_poly_free(l->p);
  for (int i = 0; i < g->outputs.n; i++)
    if (!g->outputs.v[i].shown && !output(l, i)) return tp_poly_free(l->p);
  for (int i = 0; i < g->nodes.n; i++) { /* callbacks in the order written */
    tp_node *n = g->nodes.v[i];
    if (n->op == TP_OP_CALL && n->attr.fn == TP_FN_KEEP) tp_low_stored(l, n->in[0].src);
    else if (n->op == TP_OP_CALL && l->live[i] && !l->queued[i]) {
      l->queued[i] = true;
      TP_PUSH(l->a, &l->queue, n);
    }
  }
  for (int i = 0; i < l->queue.n; i++)
    if (!tp_low_statements(l, l->queue.v[i])) return tp_poly_free(l->p);
  if (!tp_isl_check(g->ix, g->pos, err)) return tp_poly_free(l->p);
  return l->p;
}
