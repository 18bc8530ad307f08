/* again: chooses values that are kept along a whole dim and better made again by each loop that
 * reads them.
 *
 * A value that a recurrence makes and its backward pass reads is stored for every point between
 * them. It is chosen if its operands are kept for as long anyway, and
 *   - it is an elementwise chain, as the outer products of a state-space model are, of rows from
 *     TP_TUNE_AGAIN_ROW bytes on: smaller ones stay in the cache;
 *   - or its rows grow with a bound, as those of causal attention do: then one product may be in
 *     the chain too, and values whose rows do not grow (the maximum of a row) are kept, so memory
 *     is linear in the length (Dao et al., arXiv 2205.14135, section 3.1). */
#include "opt/opt.h"
#include "poly/sched.h"
#include <stdlib.h>

typedef struct {
  const tp_poly *p;
  tp_again *out;
  double least;
  const tp_stmt **writer;
  int *nwrite, *nread;
  bool *no, *again; /* by array */
  /* by statement: the outermost loop over dim around it; NULL: none */
  tp_sym *dim;
  const void **loop;
  /* products in the chain of the value at work */
  int products;
  TP_VEC(const tp_stmt *) makers;
} remaker;

/* Does x keep more if dim d is longer? A block of at most so many rows does not. */
static bool is_whole(const tp_poly *p, const tp_arr *x, int d) {
  tp_ictx *c = p->g->ix;
  tp_sym *bound = x->dim[d]->bound;
  tp_ix *some = tp_ix_const(c, 1 << 20), *more = tp_ix_const(c, 1 << 21);
  return tp_ix_mentions(x->width[d], bound) &&
      tp_ix_subst(x->width[d], 1, &bound, &some) != tp_ix_subst(x->width[d], 1, &bound, &more);
}

static bool is_kept_along(const tp_poly *p, const tp_arr *x, tp_sym *dim) {
  bool kept = true;
  for (int d = 0; d < x->ndim; d++) kept &= x->dim[d] != dim || is_whole(p, x, d);
  return kept;
}

static bool has_rows_that_grow(const tp_arr *x) {
  bool grow = false;
  for (int i = 0; i < x->rank; i++) grow |= !tp_ix_is_const(x->shape[i], NULL);
  return grow;
}

static bool is_operator(const tp_stmt *s) {
  return s->kind == TP_ST_OP && s->nnode && !s->into && !s->src.node && !s->effect;
}

static void look(remaker *m, const tp_stmt *s) {
  for (int a = 0; a < s->nacc; a++) {
    const tp_access *x = &s->acc[a];
    bool ranged = !x->at;
    for (int d = 0; x->at && d < m->p->arrs.v[x->arr]->ndim; d++) ranged |= x->at[d].range;
    if (x->kind != TP_ACC_READ) m->writer[x->arr] = s, m->nwrite[x->arr]++;
    else m->nread[x->arr]++;
    m->no[x->arr] |= ranged || (x->kind == TP_ACC_READ ? !x->by : !is_operator(s));
  }
}

static bool is_product(const tp_node *n) { return n->op == TP_OP_MATMUL; }

static bool is_chain(remaker *m, const tp_stmt *s, const tp_arr *r) {
  bool all = s && is_operator(s) && s->node[s->nnode - 1] == r->val.node;
  for (int i = 0; all && i < s->nnode; i++) {
    const tp_node *n = s->node[i];
    m->products += is_product(n);
    all = (tp_ops[n->op].batch == TP_BATCH_E || is_product(n)) && n->nout == 1 && !n->attr.check;
  }
  return all;
}

static bool is_there(const remaker *m, const tp_arr *o, const tp_arr *r) {
  bool kept = o->kind == TP_ARR_INPUT || o->kind == TP_ARR_CONST;
  if (kept || o->kind != TP_ARR_TEMP || !m->writer[o->id] || m->again[o->id]) return kept;
  kept = true;
  for (int d = 0; d < r->ndim; d++)
    kept &= !is_whole(m->p, r, d) || is_kept_along(m->p, o, r->dim[d]);
  return kept;
}

/* Are the operands of o's rows kept, or small? r: the value at work. */
static bool can_grow_again(remaker *m, const tp_arr *o, const tp_arr *r) {
  const tp_stmt *s = m->writer[o->id];
  if (o->kind != TP_ARR_TEMP || m->nwrite[o->id] != 1 || !is_chain(m, s, o) || m->products > 1)
    return false;
  for (int a = 0; a < s->nacc; a++) {
    const tp_arr *in = m->p->arrs.v[s->acc[a].arr];
    if (s->acc[a].kind != TP_ACC_READ || is_there(m, in, r) ||
        (in->kind == TP_ARR_TEMP && !has_rows_that_grow(in)))
      continue;
    if (!can_grow_again(m, in, r)) return false;
  }
  TP_PUSH(m->p->a, &m->makers, s);
  return true;
}

static bool can_be_again(remaker *m, const tp_arr *r) {
  const tp_stmt *s = m->writer[r->id];
  if ((double)tp_dtype_size(r->dtype) * tp_elements(r->rank, r->shape) < m->least ||
      !is_chain(m, s, r) || m->products)
    return false;
  for (int a = 0; a < s->nacc; a++)
    if (s->acc[a].kind == TP_ACC_READ && !is_there(m, m->p->arrs.v[s->acc[a].arr], r)) return false;
  TP_PUSH(m->p->a, &m->makers, s);
  return true;
}

/* ---- readers in another loop ---- */

static void mark_loops(remaker *m, const tp_tree *t, const void *loop) {
  if (t->kind == TP_T_FOR && t->label == m->dim && !loop) loop = t;
  if (t->kind == TP_T_RUN && !m->loop[t->stmt]) m->loop[t->stmt] = loop;
  for (int i = 0; i < t->n; i++) mark_loops(m, t->kid[i], loop);
}

static void find_loops(remaker *m, tp_sym *dim) {
  if (m->dim == dim) return;
  m->dim = dim;
  memset(m->loop, 0, sizeof *m->loop * (size_t)m->p->stmts.n);
  if (m->p->tree) mark_loops(m, m->p->tree, NULL);
}

/* A product is made again for a whole loop, not for each call over all points. */
static bool is_in_loops(const remaker *m, const tp_arr *r) {
  bool all = true;
  for (int i = 0; i < m->p->stmts.n && all; i++)
    for (int a = 0; a < m->p->stmts.v[i]->nacc; a++)
      all &= m->p->stmts.v[i]->acc[a].arr != r->id || m->loop[i];
  return all;
}

static void give(remaker *m, const tp_arr *r) {
  const tp_stmt *w = m->writer[r->id];
  for (int i = 0; i < m->p->stmts.n; i++) {
    const tp_stmt *s = m->p->stmts.v[i];
    const void *at = m->loop[i] ? m->loop[i] : s;
    for (int a = 0; a < s->nacc && m->loop[w->id] != at; a++)
      if (s->acc[a].kind == TP_ACC_READ && s->acc[a].arr == r->id)
        m->out->v[m->out->n++] = (tp_again_reader){ (tp_node *)s->acc[a].by, at };
  }
}

static void mark_chain(remaker *m, const tp_stmt *s) {
  for (int k = 0; k < s->nnode; k++) m->out->chain[s->node[k]->id] = true;
}

static bool is_elsewhere(const remaker *m, const tp_arr *r) {
  bool kept = false;
  for (int d = 0; d < r->ndim; d++) kept |= is_whole(m->p, r, d);
  return kept && r->kind == TP_ARR_TEMP && !r->piece && m->nwrite[r->id] == 1 &&
      m->nread[r->id] > 1 && !m->no[r->id];
}

static tp_sym *kept_dim(const remaker *m, const tp_arr *r) {
  int d = 0;
  while (!is_whole(m->p, r, d)) d++;
  return r->dim[d];
}

int tp_made_again(const tp_poly *p, tp_arena *a, tp_again *out) {
  const char *set = tp_graph_setting(p->g, "TEMPO_AGAIN");
  int n = p->arrs.n, reads = 0;
  remaker m = { p, out, set ? atof(set) : TP_TUNE_AGAIN_ROW, TP_NEWN(a, const tp_stmt *, n + 1),
    TP_NEWN(a, int, n + 1), TP_NEWN(a, int, n + 1), TP_NEWN(a, bool, n + 1),
    TP_NEWN(a, bool, n + 1), .loop = TP_NEWN(a, const void *, p->stmts.n + 1) };
  for (int i = 0; i < p->stmts.n; i++) look(&m, p->stmts.v[i]), reads += p->stmts.v[i]->nacc;
  *out = (tp_again){ .v = TP_NEWN(a, tp_again_reader, reads + 1),
    .chain = TP_NEWN(a, bool, p->g->nodes.n + 1) };
  for (int i = 0; i < n; i++) {
    const tp_arr *r = p->arrs.v[i];
    m.products = m.makers.n = 0;
    if (!is_elsewhere(&m, r)) continue;
    find_loops(&m, kept_dim(&m, r));
    if (!(has_rows_that_grow(r) && is_in_loops(&m, r) ? can_grow_again(&m, r, r)
                                                      : can_be_again(&m, r)))
      continue;
    m.again[i] = true;
    for (int k = 0; k < m.makers.n; k++) mark_chain(&m, m.makers.v[k]);
    give(&m, r);
  }
  return out->n;
}
