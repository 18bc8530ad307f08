/* share: a value that a branch stores is read where it is stored.
 *
 *   h[t+1] = v[t], and others read v[t]   =>   they read h[t+1]
 *
 * so v is no array beside h: a recurrent layer whose values are kept for its gradient keeps one
 * array, not two. This is right where every needed point of v is a needed point of that branch;
 * `need` stays the same. */
#include "opt/opt.h"

/* m at a point is v (through the read q, or directly if q is NULL) shift[j] further along each
 * dim. */
typedef struct stored {
  tp_graph *g;
  tp_need *need;
  tp_node *m;
  int branch;
  tp_node *q;
  tp_val v;
  tp_ix *shift[TP_MAXRANK];
} stored;

/* Views would keep the value that they show beside the branch; sources are read in their own
 * place. */
static bool is_computed(const tp_node *n) {
  const tp_oprow *o = &tp_ops[n->op];
  return o->batch != TP_BATCH_V && o->cls != TP_CLS_SRC && o->cls != TP_CLS_TIME &&
      o->cls != TP_CLS_FX;
}

static bool find_value(stored *s) {
  tp_val e = s->m->in[s->branch].src;
  s->q = e.node->op == TP_OP_READ ? e.node : NULL;
  s->v = s->q ? s->q->in[0].src : e;
  const tp_node *v = s->v.node;
  if (!is_computed(v) || !tp_same_dims(v, s->m) || (s->q && !tp_same_dims(s->q, s->m)) ||
      v->ndom > TP_MAXRANK || v->id >= s->need->n || !tp_same_type(tp_outof(s->v), &s->m->out[0]))
    return false;
  for (int j = 0; j < v->ndom; j++) {
    const tp_at *at = s->q ? &s->q->attr.at[j] : NULL;
    s->shift[j] =
        at ? at->range ? NULL : tp_ix_sub(at->lo, tp_ix_sym(v->dom[j])) : tp_ix_const(s->g->ix, 0);
    if (!s->shift[j] || !tp_ix_is_const(s->shift[j], NULL) || !v->dom[j]->bound) return false;
    bool still = s->shift[j] == tp_ix_const(s->g->ix, 0);
    if (!still && tp_stop_of(s->g, v->dom[j])) return false;
    for (int a = 0; !still && a < tp_rankof(s->v); a++)
      if (tp_ix_mentions(tp_outof(s->v)->shape[a], v->dom[j])) return false;
  }
  for (int k = 0; k < s->m->nin; k++)
    if (k != s->branch && tp_in(s->m, k) == v) return false;
  return true;
}

static tp_at *back(const stored *s) {
  const tp_node *v = s->v.node;
  tp_at *at = TP_NEWN(&s->g->arena, tp_at, v->ndom);
  for (int j = 0; j < v->ndom; j++)
    at[j] = (tp_at){ .lo = tp_ix_sub(tp_ix_sym(v->dom[j]), s->shift[j]) };
  return at;
}

static bool is_kept(const stored *s) {
  tp_ictx *c = s->g->ix;
  const tp_node *v = s->v.node, *m = s->m;
  tp_set *to = tp_set_and(tp_branch_set(s->g, m, s->branch), tp_set_copy(s->need->set[m->id]));
  tp_set *from = tp_set_apply(
      tp_set_copy(s->need->set[v->id]), tp_rel_at(c, v->ndom, v->dom, m->ndom, m->dom, back(s)));
  bool yes = to && from && tp_set_subset(c, from, to);
  tp_set_free(to);
  tp_set_free(from);
  return yes;
}

/* Is operand k of u a use of v besides the branch itself? */
static bool is_other(const stored *s, const tp_node *u, int k, tp_val of) {
  tp_val x = u->in[k].src;
  if (x.node != of.node || x.out != of.out) return false;
  if (u == s->m && k == s->branch) return false;
  return u != s->q || s->q == of.node;
}

static bool has_others(const stored *s) {
  TP_NODES (n, s->g->nodes)
    for (int k = 0; k < n->nin; k++)
      if (is_other(s, n, k, s->v) || (s->q && is_other(s, n, k, tp_v(s->q)))) return true;
  return tp_is_output(s->g, s->v.node);
}

static bool extend(tp_need *need, tp_graph *g, const tp_node *like, tp_error *err) {
  tp_set **more = tp_realloc(need->set, sizeof *more * (size_t)(g->nodes.n + 1));
  if (!more) return tp_no_memory(err, g->pos);
  need->set = more;
  while (need->n < g->nodes.n) need->set[need->n++] = tp_set_copy(need->set[like->id]);
  return true;
}

static bool share_reads(stored *s, tp_error *err) {
  tp_graph *g = s->g;
  int n0 = g->nodes.n;
  tp_val here = { 0 };
  for (int i = 0; i < n0; i++) {
    tp_node *u = g->nodes.v[i];
    for (int k = 0; k < u->nin; k++) {
      if (s->q && is_other(s, u, k, tp_v(s->q))) u->in[k].src = tp_v(s->m);
      if (!is_other(s, u, k, s->v)) continue;
      g->pos = s->v.node->pos;
      if (!here.node && !(here = tp_read(g, tp_v(s->m), back(s), err)).node) return false;
      u->in[k].src = here;
    }
  }
  for (int i = 0; i < g->outputs.n; i++) /* an output is whole, so the branch is all of m */
    if (g->outputs.v[i].val.node == s->v.node && g->outputs.v[i].val.out == s->v.out)
      g->outputs.v[i].val = tp_v(s->m);
  return extend(s->need, g, s->v.node, err);
}

bool tp_pass_share(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  int n0 = g->nodes.n;
  for (int i = 0; i < n0; i++) {
    tp_node *m = g->nodes.v[i];
    for (int k = 0; m->op == TP_OP_MERGE && k < m->nin; k++) {
      stored s = { .g = g, .need = *job->need, .m = m, .branch = k };
      if (find_value(&s) && has_others(&s) && is_kept(&s) && !share_reads(&s, err)) return false;
    }
  }
  return true;
}
