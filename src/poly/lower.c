/* lower: the closed graph becomes arrays and statements.
 *
 * Modes. Views (resolve.c) and inline values (FILL, VALUE) have no statement. Everything else is
 * stored: an array, and the statements that write it: one an operator, one a branch of a MERGE,
 * INIT and one a contribution of an ACCUM. Clusters. An operator goes into its only reader when the
 * reader's points are its own points one to one (identity, shift, or a dim that the branch pins),
 * so nothing is computed twice and no order is lost: it runs right before the reader. Size keeps it
 * out where its operands are larger than its result, because the operands then have to wait for the
 * reader. A statement's dims are in the order of P:dim by label; the second dim of a label is a
 * hidden symbol. */
#include "poly/lower.h"

/* ---- modes ---- */

bool tp_picks_rows(const tp_node *n, int k) {
  bool one = n->op == TP_OP_SLICE && tp_is_number(n->attr.ix[1], 1);
  return (one || n->op == TP_OP_INDEX_SELECT) && k == 0 && n->attr.axis == 0;
}

/* The most that an extent of n is at the points at which n is needed, however far its dims go.
 * NULL: more for longer dims, or not known. */
static const tp_ix *most_needed(const low *l, const tp_node *n, const tp_ix *e) {
  enum { PIECES = 4 };
  tp_set *need = l->need->set[n->id];
  if (!need || isl_set_n_basic_set(need) > PIECES || !tp_moves(n, e) || !tp_ix_is_affine(e) ||
      tp_mentions_end(l->g, e))
    return NULL;
  isl_pw_aff *at =
      isl_pw_aff_intersect_domain(tp_isl_of_ix(l->g->ix, n->ndom, n->dom, e), isl_set_copy(need));
  isl_set *all = isl_map_range(isl_map_from_pw_aff(at));
  for (int d = 0; d < n->ndom; d++)
    if (n->dom[d]->bound && tp_ix_mentions(e, n->dom[d]))
      all = isl_set_eliminate(
          all, isl_dim_param, (unsigned)tp_isl_place(isl_set_get_space(all), n->dom[d]->bound), 1);
  bool ends = isl_set_is_empty(all) == isl_bool_false &&
      isl_set_dim_has_upper_bound(all, isl_dim_set, 0) == isl_bool_true;
  isl_pw_aff *most = ends ? isl_set_dim_max(isl_set_copy(all), 0) : NULL;
  isl_ctx *ctx = tp_isl_ctx(l->g->ix);
  if (ends && !most && isl_ctx_last_error(ctx) != isl_error_quota)
    isl_ctx_reset_error(ctx); /* unbounded */
  const tp_ix *x = most ? tp_ix_of_pw_aff(l->g->ix, 0, NULL, most) : NULL;
  isl_pw_aff_free(most);
  isl_set_free(all);
  return x;
}

/* Do both ends of some range of it move, or one, but not further the longer the dim is? */
static bool slides(const low *l, const tp_node *n) {
  for (int d = 0; d < n->in[0].src.node->ndom; d++) {
    const tp_at *at = &n->attr.at[d];
    if (!at->range) continue;
    bool lo = tp_moves(n, at->lo), hi = tp_moves(n, at->hi);
    if ((lo && hi) || ((lo || hi) && most_needed(l, n, tp_ix_sub(l->g->ix, at->hi, at->lo))))
      return true;
  }
  return false;
}

static tp_vmode first_mode(const low *l, const tp_node *n) {
  if (n->op == TP_OP_FILL || n->op == TP_OP_VALUE) return TP_V_INLINE;
  return tp_shows(n) && !l->window[n->id] ? TP_V_VIEW : TP_V_STORED;
}

/* The sliding window that a value shows, through views; NULL: none, or one row of it. */
static const tp_node *window_under(const low *l, const tp_node *x) {
  for (; !l->window[x->id]; x = x->in[0].src.node)
    if (l->p->mode[x->id] != TP_V_VIEW || (tp_picks_rows(x, 0) && l->window[x->in[0].src.node->id]))
      return NULL;
  return x;
}

/* Is it copied sooner than multiplied in two parts? */
static bool is_small(const tp_node *window) {
  int64_t n = 1, v;
  bool known = true;
  for (int k = 0; k < window->out[0].rank && known && n < TP_TUNE_WINDOW_COPIED; k++)
    if ((known = tp_ix_is_const(window->out[0].shape[k], &v))) n *= v;
  return known && n < TP_TUNE_WINDOW_COPIED;
}

static bool multiplies_window(const low *l, const tp_node *n, int k) {
  const tp_node *x = n->op == TP_OP_MATMUL ? window_under(l, n->in[k].src.node) : NULL;
  return x && !is_small(x);
}

bool tp_reads_ring(const low *l, const tp_node *n, int k) {
  return tp_picks_rows(n, k) || multiplies_window(l, n, k);
}

bool tp_low_needed(const low *l, const tp_node *n) { return l->need->set[n->id] && l->live[n->id]; }

const tp_ix **tp_low_point(low *l, int n, const tp_sym *const *dims) {
  const tp_ix **at = TP_NEWN(l->a, const tp_ix *, n);
  for (int d = 0; d < n; d++) at[d] = tp_ix_sym(l->g->ix, dims[d]);
  return at;
}

/* Operand k of n as n's own points see it (for marking and counting; statements resolve again with
 * their own dims). */
static bool glance(low *l, tp_node *n, int k, tp_opnd *o) {
  tp_val v = n->in[k].src;
  if (n->op == TP_OP_CALL)
    return tp_call_operand(l->p, n, tp_low_point(l, n->ndom, n->dom), k, o, l->err);
  return tp_resolve(l->p, v, tp_low_point(l, v.node->ndom, v.node->dom), 0, NULL, NULL, o, l->err);
}

/* A stored view looks through itself once. */
static bool glance_self(low *l, tp_node *n, tp_opnd *o) {
  l->p->mode[n->id] = TP_V_VIEW;
  bool ok = tp_resolve(l->p, tp_v(n), tp_low_point(l, n->ndom, n->dom), 0, NULL, NULL, o, l->err);
  l->p->mode[n->id] = TP_V_STORED;
  return ok;
}

static bool stored_view(const low *l, const tp_node *n) {
  return l->p->mode[n->id] == TP_V_STORED && tp_ops[n->op].batch == TP_BATCH_V &&
      n->op != TP_OP_PINIT && n->op != TP_OP_RESHAPE;
}

static bool inline_with_axes(const low *l, const tp_opnd *o) {
  return l->p->mode[o->base.node->id] == TP_V_INLINE && o->nvar > 0;
}

static bool demote(low *l, const tp_opnd *o, bool *changed) {
  const tp_node *bad = o->bad ? o->bad : inline_with_axes(l, o) ? o->base.node : NULL;
  if (!bad || l->p->mode[bad->id] == TP_V_STORED) return true;
  l->p->mode[bad->id] = TP_V_STORED;
  return *changed = true;
}

static bool settle_modes(low *l) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < l->g->nodes.n; i++) {
      tp_node *n = l->g->nodes.v[i];
      if (!tp_low_needed(l, n) || l->p->mode[i] != TP_V_STORED) continue;
      tp_opnd o;
      if (stored_view(l, n)) {
        if (!glance_self(l, n, &o) || !demote(l, &o, &changed)) return false;
        continue;
      }
      for (int k = 0; k < n->nin; k++)
        if (!glance(l, n, k, &o) || !demote(l, &o, &changed)) return false;
    }
    for (int i = 0; i < l->g->outputs.n; i++) {
      tp_opnd o;
      tp_val v = l->g->outputs.v[i].val;
      if (l->g->outputs.v[i].shown) continue;
      if (!tp_resolve(
              l->p, v, tp_low_point(l, v.node->ndom, v.node->dom), 0, NULL, NULL, &o, l->err) ||
          !demote(l, &o, &changed))
        return false;
    }
  }
  return true;
}

/* Is a window needed in one piece? Who only picks rows of it by number, or multiplies it, finds
 * them on the ring. */
static bool mark_whole(const low *l, bool *whole, const tp_node *by, int k, const tp_node *shown) {
  const tp_node *x = window_under(l, shown);
  bool picks = by && x == by->in[k].src.node && tp_picks_rows(by, k);
  if (!x || whole[x->id] || picks || (by && multiplies_window(l, by, k))) return false;
  return whole[x->id] = true;
}

static bool mark_windows(const low *l, bool *whole) {
  bool more = false;
  for (int i = 0; i < l->g->outputs.n; i++)
    more |= mark_whole(l, whole, NULL, 0, l->g->outputs.v[i].val.node);
  for (int i = 0; i < l->g->nodes.n; i++) {
    const tp_node *by = l->g->nodes.v[i];
    for (int k = 0; k < by->nin && l->live[i] && l->p->mode[i] != TP_V_VIEW; k++)
      more |= mark_whole(l, whole, by, k, by->in[k].src.node);
  }
  return more;
}

static void begin_modes(low *l, const bool *whole) {
  for (int i = 0; i < l->g->nodes.n; i++) {
    const tp_node *n = l->g->nodes.v[i];
    l->p->mode[i] = l->window[i] && !whole[i] ? TP_V_VIEW : first_mode(l, n);
  }
}

/* A sliding window is copied, so that a ring can hold what it slides over, if somebody needs it in
 * one piece: a view that cannot be one, too. */
static bool choose_modes(low *l) {
  bool *whole = TP_NEWN(l->a, bool, l->g->nodes.n);
  l->window = TP_NEWN(l->a, bool, l->g->nodes.n);
  l->p->most = TP_NEWN(l->a, const tp_ix *, l->g->nodes.n);
  for (int i = 0; i < l->g->nodes.n; i++) {
    const tp_node *n = l->g->nodes.v[i];
    l->window[i] = n->op == TP_OP_READ && slides(l, n);
    if (n->nout && n->out[0].rank) l->p->most[i] = most_needed(l, n, n->out[0].shape[0]);
  }
  begin_modes(l, whole);
  mark_windows(l, whole);
  do {
    begin_modes(l, whole);
    if (!settle_modes(l)) return false;
  } while (mark_windows(l, whole));
  return true;
}

/* ---- readers ---- */

static void note_reader(low *l, const tp_opnd *o, tp_node *by) {
  int id = o->base.node->id;
  if (by && l->reader[id] == by) return;
  l->reader[id] = by;
  l->nreader[id]++;
}

static void note_branch(low *l, tp_node *m, int k, const tp_opnd *o) {
  tp_branchuse *u = TP_NEW(l->a, tp_branchuse);
  *u = (tp_branchuse){ l->uses[o->base.node->id], m, k, o->idx };
  l->uses[o->base.node->id] = u;
}

/* The points of `base` that a branch reads. */
static tp_set *image(low *l, const tp_branchuse *u, const tp_node *base) {
  tp_at at[64];
  for (int d = 0; d < base->ndom; d++) at[d] = (tp_at){ .lo = u->idx[d] };
  tp_set *from =
      tp_set_and(tp_branch_set(l->g, u->merge, u->k), tp_set_copy(l->need->set[u->merge->id]));
  return tp_set_apply(
      from, tp_rel_at(l->g->ix, u->merge->ndom, u->merge->dom, base->ndom, base->dom, at));
}

/* A state's update is read by the next point of the state and, at the last point, by the final
 * value: each point once, so it may go into both. */
static bool read_apart(low *l, const tp_node *n) {
  int count = 0;
  bool apart = true;
  tp_set *seen = tp_set_empty(l->g->ix, n->ndom, n->dom);
  for (const tp_branchuse *u = l->uses[n->id]; u; u = u->next, count++) {
    if (count > 3 || !apart) continue;
    tp_set *s = image(l, u, n), *both = tp_set_and(tp_set_copy(seen), tp_set_copy(s));
    apart = tp_set_is_empty(l->g->ix, both);
    tp_set_free(both);
    seen = tp_set_or(seen, s);
  }
  tp_set_free(seen);
  return apart && count > 1 && count <= 4 && count == l->nreader[n->id];
}

static bool count_readers(low *l) {
  for (int i = 0; i < l->g->nodes.n; i++) {
    tp_node *n = l->g->nodes.v[i];
    if (!tp_low_needed(l, n) || l->p->mode[i] != TP_V_STORED) continue;
    tp_opnd o;
    if (stored_view(l, n)) {
      if (!glance_self(l, n, &o)) return false;
      note_reader(l, &o, n);
      continue;
    }
    for (int k = 0; k < n->nin; k++) {
      if (!glance(l, n, k, &o)) return false;
      note_reader(l, &o, n);
      if (n->op == TP_OP_MERGE && o.nvar == 0 && o.base.node->nout == 1) note_branch(l, n, k, &o);
    }
  }
  for (int i = 0; i < l->g->outputs.n; i++) {
    tp_opnd o;
    tp_val v = l->g->outputs.v[i].val;
    if (l->g->outputs.v[i].shown) continue;
    if (!tp_resolve(l->p, v, tp_low_point(l, v.node->ndom, v.node->dom), 0, NULL, NULL, &o, l->err))
      return false;
    note_reader(l, &o, NULL);
    note_reader(l, &o, NULL);
  }
  for (int i = 0; i < l->g->nodes.n; i++)
    if (l->nreader[i] > 1 && l->uses[i]) l->apart[i] = read_apart(l, l->g->nodes.v[i]);
  return true;
}

/* ---- arrays ---- */

tp_arr *tp_low_array(low *l, tp_val v, tp_arrkind kind, int slot) {
  const tp_out *t = tp_outof(v);
  const char *title = l->p->title[v.node->id];
  if (v.node->nout > 1) title = tp_printf(l->a, "%s.%d", title, v.out);
  tp_arr *x = TP_NEW(l->a, tp_arr);
  *x = (tp_arr){ .id = l->p->arrs.n,
    .kind = kind,
    .slot = slot,
    .val = v,
    .name = title,
    .dtype = t->dtype,
    .ndim = v.node->ndom,
    .dim = v.node->dom,
    .rank = t->rank,
    .shape = t->shape };
  if (kind != TP_ARR_TEMP) x->dense = ~0u;
  TP_PUSH(l->a, &l->p->arrs, x);
  return x;
}

tp_arr *tp_low_stored(low *l, tp_val v) {
  tp_arr **slots = (tp_arr **)l->p->arrof[v.node->id];
  if (!slots[v.out]) {
    tp_arrkind kind = v.node->op == TP_OP_INPUT ? TP_ARR_INPUT
        : v.node->op == TP_OP_CONST             ? TP_ARR_CONST
                                                : TP_ARR_TEMP;
    int slot = 0;
    if (kind == TP_ARR_INPUT)
      while (l->g->inputs.v[slot] != v.node) slot++;
    slots[v.out] = tp_low_array(l, v, kind, slot);
  }
  if (!l->queued[v.node->id]) {
    l->queued[v.node->id] = true;
    TP_PUSH(l->a, &l->queue, v.node);
  }
  return slots[v.out];
}

/* ---- outputs ---- */

static bool output(low *l, int k) {
  tp_output *o = &l->g->outputs.v[k];
  tp_opnd r;
  const tp_ix **at = tp_low_point(l, o->val.node->ndom, o->val.node->dom);
  if (!tp_resolve(l->p, o->val, at, 0, NULL, NULL, &r, l->err)) return false;
  tp_node *b = r.base.node;
  /* newer values of a parameter come to lie there */
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

/* The one file that all lines are of, without folders; NULL: there are several, or none. */
static const char *only_file(const tp_graph *g) {
  const char *only = NULL;
  for (int i = 0; i < g->nodes.n; i++) {
    const char *f = g->nodes.v[i]->pos.file;
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

/* On one line, as every title is. */
static const char *printable(tp_arena *a, const char *s) {
  bool plain = true;
  for (const char *c = s; *c; c++) plain &= (unsigned char)*c >= ' ';
  if (plain) return s;
  char *out = TP_NEWN(a, char, 4 * strlen(s) + 1);
  for (char *o = out; *s; s++)
    o += sprintf(o, *s == '\n' ? "\\n" : (unsigned char)*s < ' ' ? "\\%d" : "%c", *s);
  return out;
}

/* What a script named may be a view of what stores it: k = x:matmul(w):name "k" reshapes a product.
 */
static void name_of_view(const tp_node *n, const char **name) {
  bool view = n->op == TP_OP_RESHAPE || n->op == TP_OP_DETACH || n->op == TP_OP_PERMUTE;
  const tp_node *x = view ? n->in[0].src.node : NULL;
  if (x && !x->name && !x->attr.str && !x->what) name[x->id] = n->name ? n->name : name[n->id];
}

/* The second of one title is "mul@net.lua:7#2". */
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
  for (int i = 0; i < g->sinks.n; i++) {
    tp_reach(l->a, g->sinks.v[i], l->live);
    l->p->ticks |= g->sinks.v[i]->attr.fn == TP_FN_TICK;
    l->p->keeps |= g->sinks.v[i]->attr.fn == TP_FN_KEEP;
  }
  for (int i = 0; i < g->stops.n; i++) tp_reach(l->a, g->stops.v[i].end, l->live);
  if (!choose_modes(l) || !count_readers(l)) return tp_poly_free(l->p);
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

tp_arr *tp_array_of(const tp_poly *p, tp_val v) { return p->arrof[v.node->id][v.out]; }
