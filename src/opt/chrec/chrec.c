/* chrec: values as functions of how many steps a dim has gone (evolve.h).
 *
 *   {a0,+,a1,..} + {b0,+,b1,..}  =>  {a0+b0,+,a1+b1,..}
 *   L {a0,+,a1,..}               =>  {L a0,+,L a1,..}, for every linear L without the dim
 *   {a0,..} * {b0,..}            =>  c[k] = sum of a[i] b[j] k! / ((k-i)! (k-j)! (i+j-k)!), also
 *                                    for products of matrices, in their order
 *   x[0] = a, x[n] = x[n-1] + f(n)   =>   {a,+,f0+f1,+,f1+f2,..}
 *
 * This is exact for integers, which wrap. For floats each coefficient has as many roundings as one
 * step. */
#include "opt/chrec/evolve.h"

enum { LOOKED_AT = 600 }; /* operators of one recurrence, at most */
static const char MOVES_ELEMENTS[] = "it moves the elements of what it steps from";

static bool form_of(tp_evolving *e, tp_system *s, tp_val v, int64_t shift, tp_form *out);

static bool not_form(tp_evolving *e, const tp_node *n, const char *why) {
  if (!e->why) e->why = why, e->at = n->pos;
  return false;
}

static bool is_ok(const tp_evolving *e) { return !e->mk.err->code; }
static bool varies(const tp_evolving *e, const tp_node *n) { return tp_has_dim(n, e->dim); }

static bool has_states(const tp_form *f) {
  bool any = false;
  for (int i = 0; i < EVOLVE_STATES; i++) any |= f->has[i];
  return any;
}

static bool is_number(tp_val by) { return !by.node || !tp_rankof(by); }

/* ---- sums and shifts ---- */

static tp_val sum_or_one(tp_mk mk, tp_op op, tp_val a, tp_val b) {
  return !b.node ? a : a.node ? mk_bin(mk, op, a, b) : op == TP_OP_SUB ? mk_neg(mk, b) : b;
}

static tp_val factor(const tp_evolving *e, tp_val by, tp_dtype d) {
  return by.node ? by : mk_num(e->mk, 1, d);
}

static bool sum_form(tp_evolving *e, const tp_node *n, const tp_form *f, tp_form *out) {
  tp_op op = n->op == TP_OP_SUB ? TP_OP_SUB : TP_OP_ADD;
  tp_dtype d = n->out[0].dtype;
  bool states[2] = { has_states(&f[0]), has_states(&f[1]) };
  for (int k = 0; k < 2; k++)
    if (states[k] && !tp_one_shape(&n->out[0], tp_inof(n, k)))
      return not_form(e, n, "it spreads what it steps from");
  if (states[0] && states[1] && f[0].side != f[1].side)
    return not_form(e, n, "matrices multiply it in more than one way");
  *out = f[0];
  if (states[1]) out->side = f[1].side;
  for (int i = 0; i < EVOLVE_STATES; i++) {
    if (!f[1].has[i]) continue;
    tp_val by = factor(e, f[1].by[i], d);
    out->by[i] = out->has[i] ? mk_bin(e->mk, op, factor(e, out->by[i], d), by)
        : op == TP_OP_SUB    ? mk_neg(e->mk, by)
                             : f[1].by[i];
    out->has[i] = true;
  }
  for (int j = 0; j < f[1].n; j++)
    out->c[j] = sum_or_one(e->mk, op, j < f[0].n ? f[0].c[j] : tp_none, f[1].c[j]);
  out->n = TP_MAX(f[0].n, f[1].n);
  return is_ok(e);
}

/* Makes f the same function, so many steps on. */
static void shift_form(tp_mk mk, tp_form *f, int64_t steps) {
  for (; steps > 0; steps--)
    for (int j = 0; j + 1 < f->n; j++) f->c[j] = mk_add(mk, f->c[j], f->c[j + 1]);
  for (; steps < 0; steps++)
    for (int j = f->n - 2; j >= 0; j--) f->c[j] = mk_sub(mk, f->c[j], f->c[j + 1]);
}

/* ---- linear operators ---- */

/* Are the shapes equal, but for axes of extent 1? */
static bool one_shape_of_many(const tp_out *a, const tp_out *b) {
  int i = 0, j = 0;
  for (;; i++, j++) {
    while (i < a->rank && tp_is_number(a->shape[i], 1)) i++;
    while (j < b->rank && tp_is_number(b->shape[j], 1)) j++;
    if (i == a->rank || j == b->rank) return i == a->rank && j == b->rank;
    if (a->shape[i] != b->shape[j]) return false;
  }
}

/* A coefficient may lack axes of the value, which operators that move elements need. */
static tp_val whole_of(tp_evolving *e, const tp_node *n, int k, tp_val c) {
  const tp_out *o = tp_inof(n, k);
  return tp_ops[n->op].batch == TP_BATCH_E ? c : mk_expand(e->mk, c, o->rank, o->shape);
}

/* n applied to term j of each operand that varies, and to each operand that does not vary. */
static tp_val of_terms(tp_evolving *e, const tp_node *n, const tp_form *f, int j) {
  tp_val *in = TP_NEWN(&e->mk.g->arena, tp_val, n->nin + 1);
  tp_attr at = n->attr;
  if (j > 0 && n->op == TP_OP_PAD) at.f[0] = 0;
  for (int k = 0; k < n->nin; k++) {
    bool varying = tp_op_is_linear(n->op, k);
    in[k] = varying && j >= f[k].n ? mk_zeros_like(e->mk, n->in[k].src)
                                   : whole_of(e, n, k, f[k].c[varying ? j : 0]);
  }
  return mk_op(e->mk, n->op, n->nin, in, &at);
}

/* Do both sides of a choice have the same states, with the same factors? */
static bool same_states(const tp_node *n, const tp_form *f) {
  bool same = tp_one_shape(tp_inof(n, 1), tp_inof(n, 2)) && f[1].side == f[2].side;
  for (int i = 0; i < EVOLVE_STATES; i++)
    same &= f[1].has[i] == f[2].has[i] && f[1].by[i].node == f[2].by[i].node;
  return same;
}

/* Takes states through n, an operator that moves no element to another's place. */
static bool states_of(tp_evolving *e, const tp_node *n, const tp_form *f, tp_form *out) {
  tp_op op = n->op;
  bool chooses = op == TP_OP_SELECT;
  const tp_form *x = &f[chooses];
  const tp_out *from = tp_inof(n, chooses), *to = &n->out[0];
  bool shows = op == TP_OP_RESHAPE || op == TP_OP_EXPAND || op == TP_OP_DETACH ||
      (chooses && same_states(n, f)),
       divides = op == TP_OP_DIV && (!x->side || is_number(f[1].c[0]));
  bool stay = tp_one_shape(to, from) && (shows || divides || op == TP_OP_NEG);
  for (int k = 1; k < n->nin; k++)
    if (has_states(&f[k]) && !(chooses && shows)) return not_form(e, n, MOVES_ELEMENTS);
  for (int i = 0; i < EVOLVE_STATES; i++) {
    tp_val by = x->by[i];
    if (!x->has[i]) continue;
    bool turns = op == TP_OP_RESHAPE && (x->side || is_number(by)) && one_shape_of_many(to, from);
    if (!stay && !turns) return not_form(e, n, MOVES_ELEMENTS);
    if (!shows) by = factor(e, by, to->dtype);
    out->by[i] = shows ? by : divides ? mk_div(e->mk, by, f[1].c[0]) : mk_neg(e->mk, by);
    out->has[i] = true;
    out->side = x->side;
  }
  return is_ok(e);
}

static bool linear_form(tp_evolving *e, const tp_node *n, const tp_form *f, tp_form *out) {
  int terms = n->op == TP_OP_PAD && n->attr.f[0] != 0;
  for (int k = 0; k < n->nin; k++) {
    bool varying = tp_op_is_linear(n->op, k);
    if (!varying && (f[k].n != 1 || has_states(&f[k])))
      return not_form(e, n,
          n->op == TP_OP_SELECT ? "what it chooses by varies along the dim"
                                : "it is not linear in what varies");
    if (varying) terms = TP_MAX(terms, f[k].n);
  }
  *out = (tp_form){ .n = terms };
  for (int j = 0; j < terms; j++) out->c[j] = of_terms(e, n, f, j);
  return is_ok(e) && states_of(e, n, f, out);
}

/* ---- products, casts ---- */

static double ways_of(int n, int k) {
  double c = 1;
  for (int i = 0; i < k; i++) c = c * (n - i) / (i + 1);
  return c;
}

/* C(n,i) C(n,j) = sum over k of C(k,i) C(i,k-j) C(n,k) */
static bool product_terms_of(tp_evolving *e, const tp_node *n, const tp_form *f, tp_form *out) {
  const tp_form *a = &f[0], *b = &f[1];
  if (!a->n || !b->n) return is_ok(e);
  out->n = a->n + b->n - 1;
  if (out->n > EVOLVE_TERMS) return not_form(e, n, "its degree is too high");
  for (int i = 0; i < a->n; i++)
    for (int j = 0; j < b->n; j++) {
      tp_val in[2] = { whole_of(e, n, 0, a->c[i]), whole_of(e, n, 1, b->c[j]) },
             ab = mk_op(e->mk, n->op, 2, in, &n->attr);
      for (int k = TP_MAX(i, j); k <= i + j; k++) {
        double times = ways_of(k, i) * ways_of(i, k - j);
        out->c[k] =
            sum_or_one(e->mk, TP_OP_ADD, out->c[k], times == 1 ? ab : mk_mulc(e->mk, ab, times));
      }
    }
  return is_ok(e);
}

/* The states of x, operand k of a product, times c, the other one. */
static bool states_times(tp_evolving *e, tp_system *s, const tp_node *n, int k, const tp_form *x,
    tp_val c, tp_form *out) {
  const tp_out *o = tp_inof(n, k);
  bool matrix = n->op == TP_OP_MATMUL;
  char side = k ? 'l' : 'r';
  if (!tp_one_shape(&n->out[0], o)) return false;
  if (matrix) {
    c = whole_of(e, n, !k, c);
    int r = tp_rankof(c);
    if (r < 2 || mk_extent(c, r - 1) != mk_extent(c, r - 2) ||
        (s->matrix && !tp_one_shape(s->matrix, o)) || (x->side && x->side != side))
      return false;
    s->matrix = o;
  } else if (x->side && !is_number(c)) return false;
  out->side = matrix ? side : x->side;
  for (int i = 0; i < EVOLVE_STATES; i++) {
    tp_val was = x->by[i];
    if (!x->has[i]) continue;
    if (matrix && !x->side && !is_number(was)) return false;
    out->has[i] = true;
    out->by[i] = !was.node    ? c
        : !matrix || !x->side ? mk_mul(e->mk, c, was)
        : k                   ? mk_matmul(e->mk, c, was)
                              : mk_matmul(e->mk, was, c);
  }
  return true;
}

static bool product_form(
    tp_evolving *e, tp_system *s, const tp_node *n, const tp_form *f, tp_form *out) {
  *out = (tp_form){ 0 };
  for (int k = 0; k < 2; k++) {
    const tp_form *by = &f[!k];
    if (!has_states(&f[k])) continue;
    if (has_states(by)) return not_form(e, n, "it multiplies what it steps from by itself");
    if (by->n > 1) return not_form(e, n, "the factor of what it steps from varies along the dim");
    if (by->n && !states_times(e, s, n, k, &f[k], by->c[0], out))
      return not_form(e, n, MOVES_ELEMENTS);
  }
  return product_terms_of(e, n, f, out);
}

/* A cast of integers to a wider dtype is refused, as they would not wrap where these do; numbers of
 * steps are far from wrapping. */
static bool cast_form(tp_evolving *e, tp_system *s, const tp_node *n, int64_t shift, tp_form *out) {
  tp_dtype from = tp_dtypeof(n->in[0].src), to = n->out[0].dtype;
  bool same_kind = tp_dtype_float(from) == tp_dtype_float(to), floats = tp_dtype_float(to);
  if (!(same_kind && (floats || (tp_dtype_size(to) < tp_dtype_size(from) && to != TP_BOOL))) &&
      !(tp_in(n, 0)->op == TP_OP_VALUE && from == TP_I64 && to != TP_BOOL))
    return not_form(e, n, "its rounding depends on the step");
  if (!form_of(e, s, n->in[0].src, shift, out)) return false;
  for (int j = 0; j < out->n; j++) out->c[j] = mk_cast(e->mk, out->c[j], to);
  for (int i = 0; i < EVOLVE_STATES; i++) out->by[i] = mk_cast(e->mk, out->by[i], to);
  return is_ok(e);
}

/* ---- time ---- */

static tp_ix *point_after(const tp_evolving *e, int64_t steps) {
  tp_ictx *ix = e->mk.g->ix;
  return e->back ? tp_ix_addc(tp_ix_sym(e->dim->bound), -1 - steps) : tp_ix_const(ix, steps);
}

/* A polynomial in the dim: its differences, until one does not vary. */
static bool value_form(tp_evolving *e, const tp_node *n, int64_t shift, tp_form *out) {
  tp_ictx *ix = e->mk.g->ix;
  tp_ix *d = tp_ix_sym(e->dim), *zero = tp_ix_const(ix, 0), *next = tp_ix_addc(d, 1),
        *x = n->attr.ix[0];
  tp_ix *from = e->back ? tp_ix_sub(point_after(e, shift), d) : tp_ix_addc(d, shift);
  *out = (tp_form){ 0 };
  if (tp_ix_is_cond(x)) return not_form(e, n, "it depends on where the dim is");
  for (x = tp_ix_subst(x, 1, &e->dim, &from); out->n < EVOLVE_TERMS && !tp_is_number(x, 0);
       x = tp_ix_sub(tp_ix_subst(x, 1, &e->dim, &next), x))
    out->c[out->n++] = tp_ixvalue(e->mk.g, tp_ix_subst(x, 1, &e->dim, &zero), e->mk.err);
  return tp_is_number(x, 0) ? is_ok(e) : not_form(e, n, "it is no polynomial in the dim");
}

/* Takes the form of a read a fixed number of steps away, at the same point of all other dims. */
static bool read_form(tp_evolving *e, tp_system *s, const tp_node *n, int64_t shift, tp_form *out) {
  const tp_node *x = tp_in(n, 0);
  int64_t steps = 0, k;
  tp_ix *rest;
  if (!varies(e, x)) return not_form(e, n, "it reads where the dim says");
  for (int d = 0; d < x->ndom; d++) {
    const tp_at *at = &n->attr.at[d];
    if (at->range) return not_form(e, n, "it reads a range");
    if (x->dom[d] != e->dim && !tp_at_is_own(at, x->dom[d]))
      return not_form(e, n, "it steps from another point of another dim");
    if (x->dom[d] == e->dim &&
        (!tp_ix_linear_in(at->lo, e->dim, &k, &rest) || k != 1 || !tp_ix_is_const(rest, &steps)))
      return not_form(e, n, "it does not read a fixed number of steps away");
  }
  return form_of(e, s, n->in[0].src, shift + (e->back ? -steps : steps), out);
}

/* ---- recurrences ---- */

/* m at the first point, over its other dims, from all branches but the step. */
static tp_val first_of(tp_evolving *e, const tp_node *m, int step) {
  tp_graph *g = e->mk.g;
  const tp_out *o = &m->out[0];
  tp_ix *p = point_after(e, 0);
  tp_sym **left = TP_NEWN(&g->arena, tp_sym *, m->ndom + 1);
  int n = 0;
  for (int d = 0; d < m->ndom; d++)
    if (m->dom[d] != e->dim) left[n++] = m->dom[d];
  if (m->nin == 2 && !varies(e, tp_in(m, !step))) return m->in[!step].src;
  tp_val y = mk_declared(e->mk, o->dtype, o->rank, o->shape, n, left);
  for (int k = 0; k < m->nin && y.node && !y.node->done; k++) {
    tp_val v = m->in[k].src;
    tp_ix *cond = m->in[k].cond ? tp_ix_subst(m->in[k].cond, 1, &e->dim, &p) : NULL;
    if (k == step || (cond && tp_ix_kind(cond) == TP_IX_FALSE)) continue;
    if (cond && tp_ix_kind(cond) == TP_IX_TRUE) cond = NULL;
    if (varies(e, v.node)) v = mk_at(e->mk, v, e->dim, p);
    if (!v.node || !tp_merge_add(g, y.node, cond, v, e->mk.err)) return tp_none;
  }
  return y;
}

/* The branch that holds everywhere but at the first point of the dim; -1: none. */
static int step_of(tp_evolving *e, const tp_node *m) {
  tp_graph *g = e->mk.g;
  tp_set *box = tp_set_box(g->ix, m->ndom, m->dom);
  tp_ix *behind = tp_ix_cmp(e->back ? TP_LE : TP_GE, tp_ix_sym(e->dim), point_after(e, 1));
  tp_set *rest = tp_set_and(tp_set_copy(box), tp_set_cond(g->ix, m->ndom, m->dom, behind));
  int found = -1;
  for (int k = 0; k < m->nin && found < 0; k++) {
    tp_set *b = tp_set_and(tp_branch_set(g, m, k), tp_set_copy(box));
    if (tp_set_equal(g->ix, b, rest)) found = k;
    tp_set_free(b);
  }
  tp_set_free(rest);
  tp_set_free(box);
  return found;
}

/* Does n read at other points along another dim? */
static bool reads_elsewhere(const tp_evolving *e, const tp_node *n) {
  const tp_node *x = n->op == TP_OP_READ ? tp_in(n, 0) : NULL;
  bool any = false;
  for (int d = 0; x && d < x->ndom; d++)
    any |= x->dom[d] != e->dim && !tp_at_is_own(&n->attr.at[d], x->dom[d]);
  return any;
}

/* Is n made of a state of m's recurrence, at the same point of all other dims? A branch that is not
 * the step may be made of another state's first value: then the state begins with itself. */
static bool is_made_of_states(
    const tp_evolving *e, const tp_node *m, const tp_node *n, bool *seen) {
  bool any = false;
  if (n->id >= e->n0 || e->scc[n->id] != e->scc[m->id] || seen[n->id] || reads_elsewhere(e, n))
    return false;
  seen[n->id] = true;
  if (n->op == TP_OP_MERGE) return true;
  for (int k = 0; k < n->nin && !any; k++) any = is_made_of_states(e, m, tp_in(n, k), seen);
  return any;
}

bool tp_course_of(tp_evolving *e, const tp_node *m, tp_course *out) {
  bool branches = false;
  if (m->op != TP_OP_MERGE || m->nin < 2 || !varies(e, m)) return false;
  for (int k = 0; k < m->nin; k++)
    branches |= m->in[k].cond && tp_ix_mentions(m->in[k].cond, e->dim);
  for (int a = 0; a < m->out[0].rank; a++) branches &= !tp_ix_mentions(m->out[0].shape[a], e->dim);
  int step = branches ? step_of(e, m) : -1;
  if (step < 0) return false;
  bool *seen = TP_NEWN(&e->mk.g->arena, bool, e->n0);
  for (int k = 0; k < m->nin && m->id < e->n0; k++)
    if (k != step && is_made_of_states(e, m, tp_in(m, k), seen))
      return not_form(e, m, "its first value is made of it");
  *out = (tp_course){ first_of(e, m, step), m->in[step].src };
  return is_ok(e) && out->init.node;
}

static bool merge_form(tp_evolving *e, tp_system *s, tp_node *m, int64_t shift, tp_form *out) {
  static const char AWAY[] = "one branch does not hold at all points but the first";
  const tp_solution *known = m == s->state[0] || m->id >= e->n0 ? NULL : tp_evolution_of(e, m);
  int i = 0;
  if (!is_ok(e)) return false;
  if (known && known->is == SOLVE_FORM) {
    *out = known->form;
    shift_form(e->mk, out, shift);
    return is_ok(e);
  }
  if (known && known->is == SOLVE_NOT) return not_form(e, m, known->why ? known->why : AWAY);
  while (i < s->n && s->state[i] != m) i++;
  if (i == EVOLVE_STATES || (i == s->n && !tp_course_of(e, m, &s->of[i])))
    return not_form(e, m, AWAY);
  s->state[i] = m;
  s->n = TP_MAX(s->n, i + 1);
  if (shift == 1) return form_of(e, s, s->of[i].step, 1, out);
  if (shift != 0) return not_form(e, m, "it steps from further back than one point");
  *out = (tp_form){ 0 };
  out->has[i] = true;
  return true;
}

/* v as a function of n, read `shift` steps on. */
static bool form_of(tp_evolving *e, tp_system *s, tp_val v, int64_t shift, tp_form *out) {
  tp_node *n = v.node;
  if (!varies(e, n) && n->id < e->n0 && e->scc[n->id] == e->in)
    return not_form(e, n, "its coefficients are made of it");
  if (!varies(e, n)) return *out = (tp_form){ .n = 1, .c = { v } }, true;
  if (--e->left < 0) return not_form(e, n, "it is too large");
  bool linear = tp_op_is(n->op, 1 | 2 | 4), sum = n->op == TP_OP_ADD || n->op == TP_OP_SUB;
  switch (n->op) {
  case TP_OP_CAST: return cast_form(e, s, n, shift, out);
  case TP_OP_VALUE: return value_form(e, n, shift, out);
  case TP_OP_READ: return read_form(e, s, n, shift, out);
  case TP_OP_MERGE: return merge_form(e, s, n, shift, out);
  default: break;
  }
  if (!linear && !sum && n->op != TP_OP_MUL && n->op != TP_OP_MATMUL)
    return not_form(e, n,
        tp_ops[n->op].cls == TP_CLS_SRC || tp_ops[n->op].cls == TP_CLS_FX
            ? "it takes up data at each step"
            : "it is not linear in what varies");
  if (tp_node_mentions(n, e->dim)) return not_form(e, n, "its shape varies along the dim");
  tp_form *f = TP_NEWN(&e->mk.g->arena, tp_form, n->nin + 1);
  for (int k = 0; k < n->nin; k++)
    if (!form_of(e, s, n->in[k].src, shift, &f[k])) return false;
  return sum   ? sum_form(e, n, f, out)
      : linear ? linear_form(e, n, f, out)
               : product_form(e, s, n, f, out);
}

static void solve(tp_evolving *e, tp_solution *y, tp_node *m) {
  tp_system *s = y->sys = TP_NEW(&e->mk.g->arena, tp_system);
  const tp_form *f = &s->row[0];
  s->state[0] = m;
  s->n = 1;
  bool ok = tp_course_of(e, m, &s->of[0]);
  for (int i = 0; i < s->n && ok; i++) ok = form_of(e, s, s->of[i].step, 1, &s->row[i]);
  if (ok && s->matrix && (s->n > 1 || f->n > 1))
    ok = not_form(e, m, "a matrix multiplies one of several states");
  /* x[n+1] = x[n] + f(n), x[0] = a: a stands in front of f */
  bool sum = ok && s->n == 1 && !s->matrix && f->has[0] && !f->by[0].node && f->n < EVOLVE_TERMS;
  y->is = !ok ? SOLVE_NOT : sum ? SOLVE_FORM : SOLVE_SYSTEM;
  if (!sum) return;
  y->form = (tp_form){ .n = f->n + 1, .c = { s->of[0].init } };
  memcpy(y->form.c + 1, f->c, sizeof *f->c * (size_t)f->n);
}

const tp_solution *tp_evolution_of(tp_evolving *e, tp_node *m) {
  static const tp_solution never = { .is = SOLVE_NOT };
  if (m->id >= e->n0 || m->op != TP_OP_MERGE) return &never;
  tp_solution *y = &e->known[m->id];
  if (y->is != SOLVE_UNKNOWN) return y;
  tp_evolving was = *e;
  y->is = SOLVE_BUSY;
  e->in = e->scc[m->id];
  e->why = NULL;
  e->left = LOOKED_AT;
  solve(e, y, m);
  y->why = e->why, y->at = e->at;
  *e = was;
  return y;
}
