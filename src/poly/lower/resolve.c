/* resolve: finds how an operand lies on the value that holds its elements.
 *
 * A value with domain (d..) read at expressions at[] over the statement's dims is followed through
 * views to its base. Each range on the way makes an axis variable a (0 <= a < extent), which stands
 * in the base's index expressions as lo + a; views on the spatial side act on (shape, stride,
 * offset). Axis variables come first, outermost read first, because a range prepends. A view is
 * refused (`bad`: the node that must be stored instead) when an axis variable would leave the form
 * lo + a  in exactly one index, when it reaches a shape or an offset, or when a reshape does not
 * regroup strides. Slicing or flipping a range's axis stores the read. */
#include "poly/lower/lower.h"

tp_arr *tp_array_of(const tp_poly *p, tp_val v) { return p->arrof[v.node->id][v.out]; }

tp_arr *tp_array_read(const tp_poly *p, const tp_stmt *s, tp_val v) {
  tp_arr *x = tp_array_of(p, v);
  for (int a = 0; x && x->piece && a < s->nacc; a++) {
    tp_arr *r = p->arrs.v[s->acc[a].arr];
    if (s->acc[a].kind == TP_ACC_READ && r->val.node == v.node && r->val.out == v.out) return r;
  }
  return x;
}

typedef struct { /* the walk's state: the leading axis variables */
  tp_poly *p;
  tp_ictx *c;
  int nvar;
  tp_sym *var[TP_MAXRANK];
  tp_ix *ext[TP_MAXRANK], *lo[TP_MAXRANK], *hi[TP_MAXRANK];
  /* the READ that made each variable; NULL: the caller gave it */
  const tp_node *by[TP_MAXRANK];
  const tp_node *top; /* where the walk begins */
} view_walk;

/* A node's `at`, for an operand that has some of its dims. */
static tp_ix **at_operand(tp_poly *p, const tp_node *n, tp_ixs at, const tp_node *src) {
  tp_ix **out = TP_NEWN(p->a, tp_ix *, src->ndom);
  for (int d = 0; d < src->ndom; d++)
    for (int e = 0; e < n->ndom; e++)
      if (n->dom[e] == src->dom[d]) out[d] = at[e];
  return out;
}

typedef struct {
  tp_ix *shape, *stride;
  int var; /* see tp_opnd.axisvar */
} axis;

static axis axis_of(const tp_opnd *o, int k) {
  return (axis){ o->shape[k], o->stride[k], o->axisvar[k] };
}

/* Puts these axes in place of o's axes from `lead` on. */
static void put_axes(view_walk *w, tp_opnd *o, int lead, int n, const axis *v) {
  tp_ix **shape = TP_NEWN(w->p->a, tp_ix *, lead + n),
        **stride = TP_NEWN(w->p->a, tp_ix *, lead + n);
  int *var = TP_NEWN(w->p->a, int, lead + n);
  for (int k = 0; k < lead + n; k++) {
    axis x = k < lead ? axis_of(o, k) : v[k - lead];
    shape[k] = x.shape;
    stride[k] = x.stride;
    var[k] = x.var;
  }
  o->shape = shape;
  o->stride = stride;
  o->axisvar = var;
  o->rank = lead + n;
}

static void base(view_walk *w, tp_val v, tp_ixs at, tp_opnd *o) {
  tp_arena *a = w->p->a;
  const tp_out *t = tp_outof(v);
  axis x[2 * TP_MAXRANK];
  *o = (tp_opnd){
    .base = v, .nvar = w->nvar, .off = tp_ix_const(w->c, 0), .identity = w->nvar == 0
  };
  o->idx = tp_dup(a, at, sizeof *at * (size_t)v.node->ndom);
  o->var = tp_dup(a, w->var, sizeof *w->var * (size_t)w->nvar);
  o->extent = tp_dup(a, w->ext, sizeof *w->ext * (size_t)w->nvar);
  o->lo = tp_dup(a, w->lo, sizeof *w->lo * (size_t)w->nvar);
  o->hi = tp_dup(a, w->hi, sizeof *w->hi * (size_t)w->nvar);
  for (int i = 0; i < w->nvar; i++) x[i] = (axis){ w->ext[i], o->off, i };
  const tp_arr *lies = tp_array_of(w->p, v);
  tp_ix *s = tp_ix_const(w->c, 1);
  for (int i = t->rank - 1; i >= 0; i--) {
    tp_ix *n = tp_at_point(w->p, v.node, t->shape[i], at);
    x[w->nvar + i] = (axis){ n, s, -1 };
    s = tp_ix_mul(s,
        lies && lies->apart ? tp_extent_upper(w->p->g, t->shape[i], v.node->ndom, v.node->dom) : n);
  }
  put_axes(w, o, 0, w->nvar + t->rank, x);
}

static void permute(view_walk *w, const tp_node *n, tp_opnd *o, int lead) {
  axis x[TP_MAXRANK];
  int r = o->rank - lead;
  for (int i = 0; i < r; i++) x[i] = axis_of(o, lead + n->attr.axes[i]);
  put_axes(w, o, lead, r, x);
}

static void expand(view_walk *w, const tp_node *n, tp_ixs at, tp_opnd *o, int lead) {
  axis x[TP_MAXRANK];
  int r = n->out[0].rank, first = lead + r - o->rank;
  for (int i = 0; i < r; i++) {
    /* if expressions differ, the call has checked equality: only a literal 1 grows */
    bool same = i >= first && !tp_is_number(o->shape[lead + i - first], 1);
    x[i] = same ? axis_of(o, lead + i - first) : (axis){ NULL, tp_ix_const(w->c, 0), -1 };
    x[i].shape = tp_at_point(w->p, n, n->out[0].shape[i], at);
  }
  put_axes(w, o, lead, r, x);
}

/* Fixes a range's axis at one place, which makes it a point. */
static void pin_axis(view_walk *w, tp_opnd *o, int k, tp_ix *place) {
  int v = o->axisvar[k];
  tp_ix **idx = TP_NEWN(w->p->a, tp_ix *, o->base.node->ndom);
  for (int d = 0; d < o->base.node->ndom; d++)
    idx[d] = tp_ix_subst(o->idx[d], 1, &w->var[v], &place);
  o->idx = idx;
  o->axisvar[k] = -1;
  o->shape[k] = tp_ix_const(w->c, 1);
}

static void slice(view_walk *w, const tp_node *n, tp_ixs at, tp_opnd *o, int lead) {
  int k = lead + n->attr.axis;
  tp_ix *lo = tp_at_point(w->p, n, n->attr.ix[0], at),
        *ext = tp_at_point(w->p, n, n->attr.ix[1], at);
  int64_t v;
  if (o->axisvar[k] >= 0 && tp_is_number(ext, 1)) {
    pin_axis(w, o, k, lo);
    return;
  }
  if (o->axisvar[k] >= 0 &&
      !(tp_ix_is_const(lo, &v) && v == 0 && n->attr.step == 1 && ext == o->shape[k])) {
    o->bad = w->by[o->axisvar[k]];
    return;
  }
  o->off = tp_ix_add(o->off, tp_ix_mul(lo, o->stride[k]));
  o->stride[k] = tp_ix_mulc(o->stride[k], n->attr.step);
  o->shape[k] = ext;
}

static void flip(view_walk *w, const tp_node *n, tp_opnd *o, int lead) {
  int k = lead + n->attr.axis;
  if (o->axisvar[k] >= 0) {
    o->bad = w->by[o->axisvar[k]];
    return;
  }
  o->off = tp_ix_add(o->off, tp_ix_mul(tp_ix_addc(o->shape[k], -1), o->stride[k]));
  o->stride[k] = tp_ix_neg(o->stride[k]);
}

/* Turns axis k into two that overlap. */
static void unfold(view_walk *w, const tp_node *n, tp_ixs at, tp_opnd *o, int lead) {
  axis x[TP_MAXRANK];
  int k = lead + n->attr.axis, r = 0;
  if (o->axisvar[k] >= 0) {
    o->bad = w->by[o->axisvar[k]];
    return;
  }
  for (int i = 0; i < 2; i++)
    x[r++] = (axis){ tp_at_point(w->p, n, n->attr.ix[i], at),
      tp_ix_mulc(o->stride[k], i ? n->attr.dilation : n->attr.step), -1 };
  for (int i = k + 1; i < o->rank; i++) x[r++] = axis_of(o, i);
  put_axes(w, o, k, r, x);
}

/* Regroups old axes to new ones: runs of old axes that lie contiguously may split or join; axes of
 * extent 1 come and go. */
static bool regroup(view_walk *w, tp_opnd *o, int lead, int n, tp_ixs want) {
  axis old[TP_MAXRANK], x[TP_MAXRANK];
  int r = 0, i = 0, j = 0;
  for (int k = lead; k < o->rank; k++)
    if (!tp_is_number(o->shape[k], 1)) old[r++] = axis_of(o, k);
  while (j < n) {
    if (tp_is_number(want[j], 1)) {
      x[j] = (axis){ want[j], tp_ix_const(w->c, 0), -1 };
      j++;
      continue;
    }
    if (i >= r) return false;
    if (old[i].shape == want[j]) {
      x[j++] = old[i++];
      continue;
    }
    tp_ix *po = old[i].shape, *pn = want[j];
    int i1 = i + 1, j1 = j + 1;
    while (po != pn) { /* the shortest runs with one product */
      bool more_new = j1 < n && (i1 >= r || tp_ix_divexact(po, pn));
      if (more_new) pn = tp_ix_mul(pn, want[j1++]);
      else if (i1 < r) po = tp_ix_mul(po, old[i1++].shape);
      else return false;
    }
    for (int k = i; k < i1; k++)
      if (old[k].var >= 0 ||
          (k + 1 < i1 && old[k].stride != tp_ix_mul(old[k + 1].stride, old[k + 1].shape)))
        return false;
    tp_ix *s = old[i1 - 1].stride;
    for (int k = j1 - 1; k >= j; k--) {
      x[k] = (axis){ want[k], s, -1 };
      s = tp_ix_mul(s, want[k]);
    }
    i = i1;
    j = j1;
  }
  if (i == r) put_axes(w, o, lead, n, x);
  return i == r;
}

static void reshape(view_walk *w, const tp_node *n, tp_ixs at, tp_opnd *o, int lead) {
  tp_ix *want[TP_MAXRANK];
  for (int i = 0; i < n->out[0].rank; i++) want[i] = tp_at_point(w->p, n, n->out[0].shape[i], at);
  if (!regroup(w, o, lead, n->out[0].rank, want)) o->bad = n;
}

/* sat := the point at which a read reads its operand, with a new axis variable for each range. */
static bool through_read(view_walk *w, const tp_node *n, tp_ixs at, tp_ix **sat, tp_error *err) {
  for (int d = 0; d < n->in[0].src.node->ndom; d++) {
    const tp_at *e = &n->attr.at[d];
    sat[d] = tp_at_point(w->p, n, e->lo, at);
    if (!e->range) continue;
    if (w->nvar == TP_MAXRANK)
      return tp_fail(err, TP_E_SHAPE, n->pos, "more than %d axes", TP_MAXRANK);
    tp_sym *a = tp_sym_var(w->c, "a");
    w->var[w->nvar] = a;
    w->by[w->nvar] = n;
    w->lo[w->nvar] = sat[d];
    w->hi[w->nvar] = tp_at_point(w->p, n, e->hi, at);
    int nr = 0;
    for (int k = 0; k < d; k++) nr += n->attr.at[k].range;
    w->ext[w->nvar++] = tp_at_point(w->p, n, n->out[0].shape[nr], at);
    sat[d] = tp_ix_add(sat[d], tp_ix_sym(a));
  }
  return true;
}

/* A view that was followed: the point at which it is read, and the number of axis variables
 * then. */
typedef struct {
  const tp_node *n;
  tp_ixs at;
  int lead;
} passed_view;

/* Makes o, which lies as v's operand does, lie as v. */
static void apply_view(view_walk *w, const passed_view *v, tp_opnd *o) {
  const tp_node *n = v->n;
  if (n->op == TP_OP_READ) {
    if (n->attr.nix) o->upto = tp_at_point(w->p, n, n->attr.ix[0], v->at);
    o->identity = o->identity && o->nvar == 0;
    return;
  }
  if (o->bad || n->op == TP_OP_DETACH) return;
  o->identity = false;
  switch (n->op) {
  case TP_OP_CAST: break;
  case TP_OP_PERMUTE: permute(w, n, o, v->lead); break;
  case TP_OP_EXPAND: expand(w, n, v->at, o, v->lead); break;
  case TP_OP_SLICE: slice(w, n, v->at, o, v->lead); break;
  case TP_OP_FLIP: flip(w, n, o, v->lead); break;
  case TP_OP_UNFOLD: unfold(w, n, v->at, o, v->lead); break;
  case TP_OP_RESHAPE: reshape(w, n, v->at, o, v->lead); break;
  default: (void)TP_NEVER(true);
  }
}

/* Follows views without recursion, as there may be thousands in a row. */
static bool follow(view_walk *w, tp_val v, tp_ixs at, tp_opnd *o, tp_error *err) {
  TP_VEC(passed_view) way = { 0 };
  for (; w->p->mode[v.node->id] == TP_V_VIEW; v = v.node->in[0].src) {
    const tp_node *n = v.node, *src = n->in[0].src.node;
    TP_PUSH(w->p->a, &way, ((passed_view){ n, at, w->nvar }));
    tp_ix **sat =
        n->op == TP_OP_READ ? TP_NEWN(w->p->a, tp_ix *, src->ndom) : at_operand(w->p, n, at, src);
    if (n->op == TP_OP_READ && !through_read(w, n, at, sat, err)) return false;
    at = sat;
  }
  base(w, v, at, o);
  while (way.n) apply_view(w, &way.v[--way.n], o);
  return true;
}

bool tp_steps(const tp_poly *p, tp_ix *e, tp_sym *s, int64_t *by, tp_ix **rest) {
  return tp_ix_linear_in(e, s, by, rest) && !tp_depends(p, *rest, s);
}

static int mentions_var(const view_walk *w, tp_ix *e) {
  for (int k = 0; k < w->nvar; k++)
    if (tp_depends(w->p, e, w->var[k])) return k;
  return -1;
}

/* The first view below the READ that made axis variable k, or that READ itself. If the caller gave
 * the variable: the first view of all. */
static const tp_node *culprit(const view_walk *w, int k) {
  const tp_node *read = w->by[k], *src = read ? read->in[0].src.node : w->top;
  return w->p->mode[src->id] == TP_V_VIEW ? src : read;
}

static void judge(view_walk *w, tp_opnd *o) {
  int k = mentions_var(w, o->off);
  for (int i = 0; i < o->rank && k < 0; i++) {
    k = mentions_var(w, o->shape[i]);
    if (k < 0) k = mentions_var(w, o->stride[i]);
  }
  int used[TP_MAXRANK] = { 0 };
  for (int d = 0; d < o->base.node->ndom && k < 0; d++) {
    int v = mentions_var(w, o->idx[d]);
    if (v < 0) continue;
    int64_t coef;
    tp_ix *rest;
    bool ok = tp_steps(w->p, o->idx[d], w->var[v], &coef, &rest) && coef == 1 &&
        mentions_var(w, rest) < 0 && !used[v]++;
    if (!ok) k = v;
  }
  if (k >= 0) o->bad = culprit(w, k);
}

bool tp_resolve(tp_poly *p, tp_val v, tp_ixs at, int nlead, tp_dims leadvar, tp_ixs leadext,
    tp_opnd *out, tp_error *err) {
  view_walk w = { .p = p, .c = p->g->ix, .nvar = nlead, .top = v.node };
  for (int i = 0; i < nlead; i++) {
    w.var[i] = leadvar[i];
    w.ext[i] = w.hi[i] = leadext[i];
    w.lo[i] = tp_ix_const(p->g->ix, 0);
  }
  if (!follow(&w, v, at, out, err)) return false;
  if (!out->bad) judge(&w, out);
  return true;
}

/* ---- the operands of statements ---- */

/* dims in `over` lead as axes */
static bool call_operand(
    tp_poly *p, const tp_node *n, tp_ixs at, int k, tp_opnd *o, tp_error *err) {
  tp_ictx *c = p->g->ix;
  tp_sym *var[TP_MAXDIM];
  tp_ix *ext[TP_MAXDIM], *vat[TP_MAXDIM];
  int nl = 0;
  tp_val v = n->in[k].src;
  for (int d = 0; d < n->ndom; d++)
    if (tp_dom_has(n->attr.nover, n->attr.over, n->dom[d])) {
      var[nl] = tp_sym_var(c, "a");
      ext[nl++] = tp_ix_sym(n->dom[d]->bound);
    }
  for (int d = 0; d < v.node->ndom; d++)
    for (int e = 0, q = 0; e < n->ndom; e++) {
      bool over = tp_dom_has(n->attr.nover, n->attr.over, n->dom[e]);
      if (n->dom[e] == v.node->dom[d]) vat[d] = over ? tp_ix_sym(var[q]) : at[e];
      q += over;
    }
  return tp_resolve(p, v, vat, nl, var, ext, o, err);
}

bool tp_node_operand(tp_poly *p, const tp_node *n, tp_ixs at, int k, tp_opnd *o, tp_error *err) {
  if (n->op == TP_OP_CALL) return call_operand(p, n, at, k, o, err);
  tp_val v = n->in[k].src;
  return tp_resolve(p, v, at_operand(p, n, at, v.node), 0, NULL, NULL, o, err);
}

bool tp_stmt_operand(tp_poly *p, const tp_stmt *s, int i, int k, tp_opnd *out, tp_error *err) {
  return tp_node_operand(p, s->node[i], s->nodeat[i], k, out, err);
}

bool tp_stmt_src(tp_poly *p, const tp_stmt *s, tp_opnd *out, tp_error *err) {
  tp_node *n = s->src.node;
  tp_vmode was = p->mode[n->id];
  if (s->through) p->mode[n->id] = TP_V_VIEW;
  bool ok = tp_resolve(p, s->src, s->srcat, 0, NULL, NULL, out, err);
  p->mode[n->id] = was;
  return ok;
}
