/* modes: decides which values are stored, notes their readers, and makes their arrays.
 *
 * f32 of 16-bit floats that only products read is a view: a product reads what is stored, and
 * widens it itself.
 *
 *   y = matmul(x, permute(cast:f32(w)))     =>     y reads w, of bf16 */
#include "poly/lower/lower.h"

/* Does n see operand k only at one row of its first axis, or at rows that another operand names? */
static bool picks_rows(const tp_node *n, int k) {
  bool one = n->op == TP_OP_SLICE && tp_is_number(n->attr.ix[1], 1);
  return (one || n->op == TP_OP_INDEX_SELECT) && k == 0 && n->attr.axis == 0;
}

/* The most that an extent of n is at the points at which n is needed, however far its dims go.
 * NULL: more for longer dims, or not known. */
static tp_ix *most_needed(const low *l, const tp_node *n, tp_ix *e) {
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
  tp_ix *x = most ? tp_ix_of_pw_aff(l->g->ix, 0, NULL, most) : NULL;
  isl_pw_aff_free(most);
  isl_set_free(all);
  return x;
}

/* Does some range of n slide: do both ends move, or one, but not further if the dim is longer? */
static bool slides(const low *l, const tp_node *n) {
  for (int d = 0; d < n->in[0].src.node->ndom; d++) {
    const tp_at *at = &n->attr.at[d];
    if (!at->range) continue;
    bool lo = tp_moves(n, at->lo), hi = tp_moves(n, at->hi);
    if ((lo && hi) || ((lo || hi) && most_needed(l, n, tp_ix_sub(at->hi, at->lo)))) return true;
  }
  return false;
}

static bool is_widening(const tp_node *n) {
  return n->op == TP_OP_CAST && n->out[0].dtype == TP_F32 && tp_half(tp_inof(n, 0)->dtype);
}

static tp_vmode first_mode(const low *l, const tp_node *n) {
  if (n->op == TP_OP_FILL || n->op == TP_OP_VALUE) return TP_V_INLINE;
  if (is_widening(n)) return TP_V_VIEW;
  return tp_shows(n) && !l->window[n->id] ? TP_V_VIEW : TP_V_STORED;
}

/* The sliding window that a value shows, through views; NULL: none, or one row of it. */
static const tp_node *window_under(const low *l, const tp_node *x) {
  for (; !l->window[x->id]; x = x->in[0].src.node)
    if (l->p->mode[x->id] != TP_V_VIEW || (picks_rows(x, 0) && l->window[x->in[0].src.node->id]))
      return NULL;
  return x;
}

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
  return picks_rows(n, k) || multiplies_window(l, n, k);
}

static bool low_needed(const low *l, const tp_node *n) {
  return l->need->set[n->id] && l->live[n->id];
}

tp_ix **tp_low_point(low *l, int n, tp_dims dims) {
  tp_ix **at = TP_NEWN(l->a, tp_ix *, n);
  for (int d = 0; d < n; d++) at[d] = tp_ix_sym(dims[d]);
  return at;
}

static bool glance_at(low *l, tp_val v, tp_opnd *o) {
  tp_ix **at = tp_low_point(l, v.node->ndom, v.node->dom);
  return tp_resolve(l->p, v, at, 0, NULL, NULL, o, l->err);
}

/* Operand k of n as n's own points see it, for marking and counting; statements resolve again with
 * their own dims. */
static bool glance(low *l, tp_node *n, int k, tp_opnd *o) {
  tp_val v = n->in[k].src;
  if (n->op == TP_OP_CALL)
    return tp_node_operand(l->p, n, tp_low_point(l, n->ndom, n->dom), k, o, l->err);
  return glance_at(l, v, o);
}

/* The operand of a stored view: the view looks through itself once. */
static bool glance_self(low *l, tp_node *n, tp_opnd *o) {
  l->p->mode[n->id] = TP_V_VIEW;
  bool ok = glance_at(l, tp_v(n), o);
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

/* Stores what is widened under x for another reader than a product. */
static void store_widened(low *l, const tp_node *by, tp_node *x, bool *changed) {
  if (by && by->op == TP_OP_MATMUL) return;
  while (l->p->mode[x->id] == TP_V_VIEW && !is_widening(x)) x = tp_in(x, 0);
  if (l->p->mode[x->id] != TP_V_VIEW) return;
  l->p->mode[x->id] = TP_V_STORED;
  *changed = true;
}

static bool settle_modes(low *l) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < l->g->nodes.n; i++) {
      tp_node *n = l->g->nodes.v[i];
      if (!low_needed(l, n) || l->p->mode[i] != TP_V_STORED) continue;
      tp_opnd o;
      for (int k = 0; k < n->nin; k++) store_widened(l, n, tp_in(n, k), &changed);
      if (stored_view(l, n)) {
        if (!glance_self(l, n, &o) || !demote(l, &o, &changed)) return false;
        continue;
      }
      for (int k = 0; k < n->nin; k++)
        if (!glance(l, n, k, &o) || !demote(l, &o, &changed)) return false;
    }
    for (int i = 0; i < l->g->outputs.n; i++) {
      tp_opnd o;
      if (l->g->outputs.v[i].shown) continue;
      store_widened(l, NULL, l->g->outputs.v[i].val.node, &changed);
      if (!glance_at(l, l->g->outputs.v[i].val, &o) || !demote(l, &o, &changed)) return false;
    }
  }
  return true;
}

/* Marks the window under `shown` if `by` needs it in one piece. An operator that only picks rows of
 * it by number, or multiplies it, finds them on the ring. */
static bool mark_whole(const low *l, bool *whole, const tp_node *by, int k, const tp_node *shown) {
  const tp_node *x = window_under(l, shown);
  bool picks = by && x == by->in[k].src.node && picks_rows(by, k);
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

/* A sliding window that a reader, or a view that cannot be one, needs in one piece is copied, so
 * that a ring can hold the array below. */
bool tp_low_modes(low *l) {
  bool *whole = TP_NEWN(l->a, bool, l->g->nodes.n);
  l->window = TP_NEWN(l->a, bool, l->g->nodes.n);
  l->p->most = TP_NEWN(l->a, tp_ix *, l->g->nodes.n);
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

bool tp_low_readers(low *l) {
  for (int i = 0; i < l->g->nodes.n; i++) {
    tp_node *n = l->g->nodes.v[i];
    if (!low_needed(l, n) || l->p->mode[i] != TP_V_STORED) continue;
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
    if (l->g->outputs.v[i].shown) continue;
    if (!glance_at(l, l->g->outputs.v[i].val, &o)) return false;
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
