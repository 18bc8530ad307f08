/* inplace: finds the operands over which the result of a statement may be written.
 *
 * The operators of a statement run one after the other, neighbouring elementwise ones together, and
 * the last writes the result: any not run together with it has read its operands by then. An
 * elementwise operator or a copy may write over an operand that it sees as it sees its result; so
 * may one that changes a part of a copy of its first operand, and a concatenation over parts that
 * lie where it puts them. If it changes the value of another operator, that lies where the result
 * will lie (`there`): the first of a row of changes writes over an array that is read. */
#include "poly/lower/stmts.h"

bool tp_is_version(const tp_poly *p, const tp_stmt *s, const tp_access *r, const tp_access *w) {
  const tp_arr *a = p->arrs.v[r->arr], *b = p->arrs.v[w->arr];
  bool is = r->kind == TP_ACC_READ && r->alias && a != b &&
      (r->by ? tp_op_is(r->by->op, TP_PART) || r->by->op == TP_OP_CONCAT : tp_is_copy(s));
  is = is && a->rank == b->rank && a->dtype == b->dtype && a->kind == TP_ARR_TEMP &&
      b->kind == TP_ARR_TEMP;
  for (int i = 0; is && i < a->rank; i++) is = a->shape[i] == b->shape[i];
  return is;
}

static int readings(const sb *b, const tp_node *by, int arr) {
  int n = 0;
  for (int i = 0; i < b->acc.n; i++)
    n += b->acc.v[i].kind == TP_ACC_READ && b->acc.v[i].arr == arr && b->acc.v[i].by == by;
  return n;
}

/* Is part k of the concatenation, number i of the cluster, a part of an array of the result's shape
 * just where the result has it? */
static bool stays_put(const sb *b, int i, int k) {
  tp_ictx *c = b->l->g->ix;
  const tp_node *n = b->s->node[i];
  tp_ix *before = tp_ix_const(c, 0), *stride = tp_ix_const(c, 1);
  tp_opnd o;
  if (!sb_operand(b, i, k, &o) || o.nvar) return false;
  for (int j = 0; j < k; j++)
    before = tp_ix_add(before, tp_outof(n->in[j].src)->shape[n->attr.axis]);
  before = tp_at_point(b->l->p, n, before, b->s->nodeat[i]);
  for (int a = o.rank - 1; a >= 0; a--) {
    if (o.stride[a] != stride && !tp_is_number(o.shape[a], 1)) return false;
    if (a == n->attr.axis && o.off != tp_ix_mul(before, stride)) return false;
    stride = tp_ix_mul(stride, tp_outof(o.base)->shape[a]);
  }
  return true;
}

/* Do all parts of the array that number i, a concatenation, sees lie where it puts them in the
 * result? */
static bool all_stay(const sb *b, int i, int arr) {
  TP_EACH (const tp_access, x, b->acc) {
    if (x->kind == TP_ACC_READ && x->arr == arr && x->by == b->node.v[i] &&
        !stays_put(b, i, x->operand))
      return false;
  }
  return true;
}

static int last_place(const sb *b, const tp_node *n) {
  int i = b->node.n - 1;
  while (i >= 0 && b->node.v[i] != n) i--;
  return i;
}

/* first: the first operator that writes at the result's place; -1: a copy does. */
bool tp_sb_writes_over(const sb *b, const tp_access *x, int first, const tp_out *res) {
  const tp_arr *r = b->l->p->arrs.v[x->arr];
  const tp_node *by = first < 0 ? NULL : b->node.v[first];
  if (by && x->by && last_place(b, x->by) > first) return false;
  if (x->by && x->by != by && !(tp_is_elementwise(x->by) && (!by || tp_is_elementwise(by))))
    return true;
  if (r->rank != res->rank || r->dtype != res->dtype) return false;
  for (int a = 0; a < r->rank; a++)
    if (r->shape[a] != res->shape[a]) return false;
  if (by && x->by == by && by->op == TP_OP_CONCAT) return all_stay(b, first, x->arr);
  if (!x->alias) return false;
  if (x->by != by || !by || tp_is_elementwise(by)) return true;
  return tp_op_is(by->op, TP_PART) && x->operand == 0 && readings(b, by, x->arr) == 1;
}

/* May elementwise operators change x's value in place? They may if x's own operands are over by
 * then, or x has none. */
static bool is_source(const tp_node *x) {
  return tp_op_is(x->op, TP_PART) || x->op == TP_OP_CONCAT || x->op == TP_OP_RAND;
}

/* By place in the cluster: how many operands show the value. */
static void count_showings(const sb *b, int *shown) {
  tp_opnd o;
  memset(shown, 0, sizeof *shown * (size_t)b->s->nnode);
  for (int i = 0; i < b->s->nnode; i++)
    for (int k = 0; k < b->s->node[i]->nin; k++) {
      int j = sb_operand(b, i, k, &o) ? tp_stmt_find(b->s, &o) : -1;
      if (j >= 0 && j < i) shown[j]++;
    }
}

/* The same for number i, an elementwise operator, through elementwise operators that only it
 * reads. */
static int changed_through(const sb *b, const int *shown, int i) {
  tp_opnd o;
  const tp_node *n = b->s->node[i];
  for (int k = 0; k < n->nin; k++) {
    int j = sb_operand(b, i, k, &o) && o.identity ? tp_stmt_find(b->s, &o) : -1;
    if (j < 0 || shown[j] != 1 || !tp_same_type(tp_outof(o.base), &n->out[0])) continue;
    if (is_source(b->s->node[j])) return j;
    int found = tp_is_elementwise(b->s->node[j]) ? changed_through(b, shown, j) : -1;
    if (found >= 0) return found;
  }
  return -1;
}

/* The operator of the cluster whose value number i changes in place, as no other operator sees it;
 * -1: none. */
static int changed_by(const sb *b, const int *shown, int i) {
  const tp_node *n = b->s->node[i];
  int found = -1, seen = 0;
  tp_opnd o;
  if (tp_is_elementwise(n)) return changed_through(b, shown, i);
  for (int k = 0; k < n->nin; k++) {
    if (!sb_operand(b, i, k, &o) || !tp_may_change(n, k, &o)) continue;
    int j = tp_stmt_find(b->s, &o);
    if (j < 0 || (found >= 0 && j != found) ||
        !(n->op == TP_OP_CONCAT ? stays_put(b, i, k) : o.identity))
      continue;
    found = j;
    seen++;
  }
  return found >= 0 && (b->s->node[found]->op != TP_OP_FILL || seen == 1) && shown[found] == seen
      ? found
      : -1;
}

static bool varies(const sb *b, const tp_out *res) {
  bool any = false;
  for (int a = 0; a < res->rank; a++) {
    any |= tp_mentions_end(b->l->g, res->shape[a]);
    for (int d = 0; d < b->s->ndim; d++) any |= tp_ix_mentions(res->shape[a], b->s->dim[d]);
  }
  return any;
}

/* The operator that writes the result; -1: a copy does. */
static int last_writer(const sb *b) {
  tp_opnd o;
  if (!b->s->src.node) return b->node.n - 1;
  return sb_src(b, &o) && o.identity ? tp_stmt_find(b->s, &o) : -1;
}

/* Goes from the operator that writes the result back to the first whose value lies there. */
int tp_sb_find_there(sb *b, const tp_out *res) {
  int shown[TP_PLACES], last = last_writer(b);
  if (last < 0 || b->s->nnode > TP_PLACES || varies(b, res)) return last;
  count_showings(b, shown);
  for (int i; (i = changed_by(b, shown, last)) >= 0; last = i) b->s->there |= 1ull << i;
  return last;
}
