/* products: of several matrices, in the order that takes fewest multiplications over all points.
 *
 *   (a @ b) @ c   =>   a @ (b @ c)                                            where that never
 * takes more (a @ b) @ c   =>   merge (a @ b) @ c if least == 0, a @ (b @ c)           where bounds
 * decide
 *
 * `least` is a hidden bound, which each call sets to the place of the least of the costs
 * (tp_sym_least). The orders are the one that is written and those that are best (by intervals, as
 * any textbook does it) for many choices of bounds; those that never take less than another are
 * left out. So no call takes more than what is written. Rows of rules.def (matmul_left,
 * matmul_right) turn two products where that is sure, early; here it is more matrices, and what
 * hangs on bounds, behind the passes which follow sums and recurrences and meet no branches so.
 * Where a matrix between may have no elements, what is written stays: a product along nothing is 0,
 * whatever NaN there is elsewhere. */
#include "opt/opt.h"
#include "graph/mk.h"

enum { MOST_FACTORS = 16, MOST_ORDERS = 4, MOST_SAMPLES = 128, MOST_BOUNDS = 16 };
typedef struct product_order {
  int8_t split[MOST_FACTORS][MOST_FACTORS]; /* factors i .. j are i .. k times k+1 .. j */
  const tp_ix *cost;                        /* multiplications */
  int wins;                                 /* choices of bounds for which it is best */
  bool written;
} product_order;
typedef struct product_chain {
  tp_mk mk;
  int n;
  tp_val factor[MOST_FACTORS];
  const tp_ix *rows[MOST_FACTORS], *columns[MOST_FACTORS];
  /* i <= j: how many matrices the product of i .. j is */
  const tp_ix *points[MOST_FACTORS][MOST_FACTORS];
  int norder;
  product_order order[MOST_ORDERS + 1]; /* 0: as it is written */
} product_chain;

/* ---- which products are one ---- */

/* The product that v is, perhaps with leading axes of 1; NULL: none. */
static tp_node *product_in(tp_val v) {
  if (v.node->op == TP_OP_MATMUL) return v.node;
  const tp_node *r = v.node, *x = r->op == TP_OP_RESHAPE ? r->in[0].src.node : NULL;
  if (!x || x->op != TP_OP_MATMUL || r->out[0].rank < x->out[0].rank) return NULL;
  int more = r->out[0].rank - x->out[0].rank;
  bool same = true;
  for (int i = 0; i < more && same; i++) same = tp_is_number(r->out[0].shape[i], 1);
  for (int i = more; i < r->out[0].rank && same; i++)
    same = r->out[0].shape[i] == x->out[0].shape[i - more];
  return same ? r->in[0].src.node : NULL;
}

/* That nobody else reads. */
static tp_node *own_product(const int *readers, tp_val v) {
  tp_node *x = product_in(v);
  return x && readers[v.node->id] == 1 && (x == v.node || readers[x->id] == 1) ? x : NULL;
}

/* Of so many factors at most, which are added; the last one's place. */
static int collect_factors(product_chain *c, const int *readers, tp_node *n, int room) {
  int first = c->n, split = 0;
  for (int k = 0; k < 2; k++) {
    int left = room - (c->n - first) - !k;
    tp_node *x = left >= 2 ? own_product(readers, n->in[k].src) : NULL;
    if (x) collect_factors(c, readers, x, left);
    else c->factor[c->n++] = n->in[k].src;
    if (!k) split = c->n - 1;
  }
  c->order[0].split[first][c->n - 1] = (int8_t)split;
  return c->n - 1;
}

/* ---- what an order costs ---- */

/* In bounds alone: dims are half way. NULL: a dim without a bound. */
static const tp_ix *half_way(tp_ictx *ix, const tp_ix *e) {
  const tp_sym *const *s;
  for (int i = 0, n = tp_ix_syms(e, &s); e && i < n; i++) {
    if (s[i]->kind != TP_SYM_DIM) continue;
    const tp_ix *half = s[i]->bound ? tp_ix_fdiv(ix, tp_ix_sym(ix, s[i]->bound), 2) : NULL;
    e = half ? tp_ix_subst(ix, e, 1, &s[i], &half) : NULL;
  }
  return e;
}

/* Leading axes of factors i .. j together. */
static const tp_ix *lead_of(const product_chain *c, int i, int j) {
  tp_ictx *ix = c->mk.g->ix;
  const tp_ix *n = mk_int(c->mk, 1);
  int lead = 0;
  for (int k = i; k <= j; k++) lead = TP_MAX(lead, tp_rankof(c->factor[k]) - 2);
  for (int a = 0; a < lead && n; a++) {
    const tp_ix *extent = NULL;
    for (int k = i; k <= j; k++) {
      int at = tp_rankof(c->factor[k]) - 3 - a;
      if (at >= 0 && !tp_is_number(mk_extent(c->factor[k], at), 1))
        extent = mk_extent(c->factor[k], at);
    }
    if (extent) extent = half_way(ix, extent), n = extent ? tp_ix_mul(ix, n, extent) : NULL;
  }
  return n;
}

/* And their dims. */
static const tp_ix *points_of(const product_chain *c, int i, int j) {
  tp_graph *g = c->mk.g;
  const tp_ix *n = lead_of(c, i, j);
  const tp_sym *const *dom = NULL;
  int ndom = 0;
  for (int k = i; k <= j; k++)
    ndom = tp_dom_union(g, ndom, dom, c->factor[k].node->ndom, c->factor[k].node->dom, &dom);
  for (int d = 0; d < ndom && n; d++)
    n = dom[d]->bound ? tp_ix_mul(g->ix, n, tp_ix_sym(g->ix, dom[d]->bound)) : NULL;
  return n;
}

static bool measure_factors(product_chain *c) {
  bool ok = true;
  for (int i = 0; i < c->n && ok; i++) {
    int rank = tp_rankof(c->factor[i]);
    ok = rank >= 2 && (c->rows[i] = half_way(c->mk.g->ix, mk_extent(c->factor[i], rank - 2))) &&
        (c->columns[i] = half_way(c->mk.g->ix, mk_extent(c->factor[i], rank - 1)));
    for (int j = 0; j <= i && ok; j++) ok = (c->points[j][i] = points_of(c, j, i));
  }
  return ok;
}

static const tp_ix *cost_between(const product_chain *c, const product_order *o, int i, int j) {
  tp_ictx *ix = c->mk.g->ix;
  if (i == j) return mk_int(c->mk, 0);
  int k = o->split[i][j];
  const tp_ix *each = tp_ix_mul(ix, tp_ix_mul(ix, c->rows[i], c->columns[k]), c->columns[j]);
  const tp_ix *within = tp_ix_add(ix, cost_between(c, o, i, k), cost_between(c, o, k + 1, j));
  return tp_ix_add(ix, tp_ix_mul(ix, each, c->points[i][j]), within);
}

/* At a point, in the order that is written: so few that branches, and loops that are one no more,
 * would cost as much. */
static bool is_little(const product_chain *c) {
  product_chain one = *c;
  int64_t cost;
  for (int i = 0; i < c->n; i++)
    for (int j = i; j < c->n; j++) one.points[i][j] = lead_of(c, i, j);
  return tp_ix_is_const(cost_between(&one, &one.order[0], 0, c->n - 1), &cost) &&
      cost < TP_TUNE_PRODUCTS_LEAST;
}

static bool same_order(const product_order *a, const product_order *b, int i, int j) {
  int k = a->split[i][j];
  return i == j || (k == b->split[i][j] && same_order(a, b, i, k) && same_order(a, b, k + 1, j));
}

/* ---- orders that are best for some bounds ---- */

static product_order best_order(const product_chain *c, const int64_t *env) {
  product_order o = { .wins = 0 };
  double least[MOST_FACTORS][MOST_FACTORS] = { { 0 } };
  for (int width = 1; width < c->n; width++)
    for (int i = 0; i + width < c->n; i++) {
      int j = i + width;
      double whole = tp_ix_evald(c->rows[i], env) * tp_ix_evald(c->columns[j], env) *
          tp_ix_evald(c->points[i][j], env);
      for (int k = i; k < j; k++) {
        double cost = least[i][k] + least[k + 1][j] + whole * tp_ix_evald(c->columns[k], env);
        if (k > i && cost >= least[i][j]) continue;
        least[i][j] = cost;
        o.split[i][j] = (int8_t)k;
      }
    }
  return o;
}

/* One more choice of bounds for which this order is best; the least wanted makes room. */
static void count_order(product_chain *c, product_order *o) {
  int least = 1;
  for (int k = 0; k < c->norder; k++) {
    if (same_order(&c->order[k], o, 0, c->n - 1)) {
      c->order[k].wins++;
      return;
    }
    if (k && c->order[k].wins < c->order[least].wins) least = k;
  }
  o->cost = cost_between(c, o, 0, c->n - 1);
  o->wins = 1;
  if (c->norder <= MOST_ORDERS) c->order[c->norder++] = *o;
  else if (c->order[least].wins == 1) c->order[least] = *o;
}

static int bounds_of(const product_chain *c, const tp_sym **bound) {
  const tp_sym *const *s;
  int n = 0, have = tp_ix_syms(c->order[0].cost, &s);
  for (int i = 0; i < have; i++) {
    if (n == MOST_BOUNDS) return -1;
    bound[n++] = s[i];
  }
  return n;
}

/* Every choice of these sizes for up to three bounds, some of those for more. */
static void find_orders(product_chain *c) {
  static const int64_t size[] = { 4096, 64, 1, 8, 512 };
  const tp_sym *bound[MOST_BOUNDS];
  int n = bounds_of(c, bound), all = 1;
  int64_t *env = TP_NEWN(&c->mk.g->arena, int64_t, tp_nsym(c->mk.g->ix));
  uint64_t state = 1;
  for (int b = 0; b < n && all < MOST_SAMPLES; b++) all *= (int)TP_LEN(size);
  for (int k = 0; n >= 0 && k < TP_MIN(all, MOST_SAMPLES); k++) {
    uint64_t digits = (uint64_t)k;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if (all > MOST_SAMPLES) digits = state >> 20;
    for (int b = 0; b < n; b++, digits /= TP_LEN(size))
      env[bound[b]->id] = size[digits % TP_LEN(size)];
    product_order o = best_order(c, env);
    count_order(c, &o);
  }
}

static bool never_less(const product_chain *c, const tp_ix *a, const tp_ix *b) {
  return tp_ix_prove_ge0(c->mk.g->ix, tp_ix_sub(c->mk.g->ix, a, b), 0, NULL);
}

/* Has each matrix between elements, where there is any point? NOT_KNOWN: it hangs on the point. */
typedef enum { ELEMENTS, BY_BOUNDS, NOT_KNOWN } product_inner;
static product_inner inner_elements(const product_chain *c, const tp_node *n) {
  product_inner found = ELEMENTS;
  for (int i = 0; i + 1 < c->n && found != NOT_KNOWN; i++) {
    const tp_ix *e = mk_extent(c->factor[i], tp_rankof(c->factor[i]) - 1),
                *less = tp_ix_addc(c->mk.g->ix, e, -1);
    if (tp_ix_prove_ge0(c->mk.g->ix, less, n->ndom, n->dom)) continue;
    found = tp_ix_of_bounds(e) ? BY_BOUNDS : NOT_KNOWN;
  }
  return found;
}

static bool is_dropped(const product_chain *c, int k) {
  bool drop = false;
  for (int i = 0; i < c->norder && !drop; i++) {
    bool equal = c->order[k].cost == c->order[i].cost;
    drop = equal ? i < k : never_less(c, c->order[k].cost, c->order[i].cost);
  }
  return drop;
}

/* Leaves orders out that never take less than another; from the first on, or all but that. */
static void drop_orders(product_chain *c, int first) {
  for (int k = c->norder - 1; k >= first; k--)
    if (is_dropped(c, k))
      memmove(&c->order[k], &c->order[k + 1], sizeof c->order[0] * (size_t)(--c->norder - k));
}

/* ---- what comes of it ---- */

static tp_val ordered_product(const product_chain *c, const product_order *o, int i, int j) {
  if (i == j) return c->factor[i];
  int k = o->split[i][j];
  return mk_matmul(c->mk, ordered_product(c, o, i, k), ordered_product(c, o, k + 1, j));
}

static tp_val product_in_order(const product_chain *c, const product_order *o, tp_node *n) {
  tp_val y = o->written ? tp_v(n) : ordered_product(c, o, 0, c->n - 1);
  if (y.node && !o->written) y.node->name = n->name, y.node->what = n->what;
  return mk_reshape(c->mk, y, n->out[0].rank, n->out[0].shape);
}

/* What all costs have in common counts for nothing; where nothing lies between, what is written is
 * least. */
static const tp_sym *chosen_by(const product_chain *c, product_inner inner) {
  tp_ictx *ix = c->mk.g->ix;
  const tp_ix *cost[MOST_ORDERS + 1], *less[MOST_ORDERS + 1], *some = mk_int(c->mk, 1);
  const tp_sym *bound[MOST_BOUNDS];
  for (int k = 0; k < c->norder; k++) cost[k] = c->order[k].cost;
  for (int b = bounds_of(c, bound) - 1; b >= 0; b--) {
    bool all = true;
    for (int k = 0; k < c->norder && all; k++)
      all = (less[k] = tp_ix_divexact(ix, cost[k], tp_ix_sym(ix, bound[b])));
    if (all) memcpy(cost, less, sizeof cost);
  }
  for (int i = 0; i + 1 < c->n && inner == BY_BOUNDS; i++)
    some = tp_ix_min(ix, some, c->columns[i]);
  cost[0] = tp_ix_mul(ix, cost[0], some);
  return tp_sym_least(ix, c->norder, cost);
}

static tp_val chosen_product(const product_chain *c, tp_node *n, const tp_sym *which) {
  tp_ictx *ix = c->mk.g->ix;
  tp_val y = mk_declared(c->mk, n->out[0].dtype, n->out[0].rank, n->out[0].shape, n->ndom, n->dom);
  for (int k = 0; k < c->norder && y.node; k++) {
    const tp_ix *cond =
        k < c->norder - 1 ? tp_ix_cmp(ix, TP_EQ, tp_ix_sym(ix, which), tp_ix_const(ix, k)) : NULL;
    tp_val v = product_in_order(c, &c->order[k], n);
    if (!v.node || !tp_merge_add(c->mk.g, y.node, cond, v, c->mk.err)) return tp_none;
  }
  if (y.node) y.node->name = n->name, y.node->what = n->what;
  return y;
}

/* False: an error. */
static bool order_product(product_chain *c, tp_node *n, bool *changed) {
  tp_graph *g = c->mk.g;
  product_inner inner = inner_elements(c, n);
  if (inner == NOT_KNOWN || !measure_factors(c)) return true;
  c->order[0].cost = cost_between(c, &c->order[0], 0, c->n - 1);
  c->order[0].written = true;
  c->norder = 1;
  find_orders(c);
  drop_orders(c, inner != ELEMENTS);
  const tp_sym *by = c->norder > 1 ? chosen_by(c, inner) : NULL;
  bool changes = by ? !is_little(c) : !c->order[0].written;
  if (tp_ictx_overflowed(g->ix) || !changes) return true;
  g->pos = n->pos;
  const char *said = "in the order that takes fewest multiplications";
  if (by) said = tp_printf(&g->arena, "%s: of %d by bounds", said, c->norder);
  tp_val y = by ? chosen_product(c, n, by) : product_in_order(c, &c->order[0], n);
  if (!y.node) return false;
  tp_rewrite(g, tp_v(n), y, "products",
      tp_printf(&g->arena, "a product of %d matrices => %s", c->n, said));
  return *changed = true;
}

static void count_root(void *readers, tp_val *v) { ((int *)readers)[v->node->id]++; }

bool tp_order_products(tp_graph *g, bool precise, bool *changed, tp_error *err) {
  int n = g->nodes.n, *readers = TP_NEWN(&g->arena, int, n);
  bool *inner = TP_NEWN(&g->arena, bool, n);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < g->nodes.v[i]->nin; k++) readers[g->nodes.v[i]->in[k].src.node->id]++;
  tp_each_root(g, count_root, readers);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 2 && g->nodes.v[i]->op == TP_OP_MATMUL; k++) {
      const tp_node *x = own_product(readers, g->nodes.v[i]->in[k].src);
      if (x) inner[x->id] = true;
    }
  for (int i = 0; i < n; i++) {
    tp_node *x = g->nodes.v[i];
    if (x->op != TP_OP_MATMUL || inner[i] || (precise && tp_dtype_float(x->out[0].dtype))) continue;
    product_chain *c = TP_NEW(&g->arena, product_chain);
    c->mk = (tp_mk){ g, err };
    collect_factors(c, readers, x, MOST_FACTORS);
    if (c->n > 2 && !order_product(c, x, changed)) return false;
  }
  return true;
}
