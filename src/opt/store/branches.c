/* branches: an elementwise operator that only branches of one tensor read is made by each of them.
 *
 *   c = |a[i] - b[j]|    d = merge c + d[0, j-1] if i == 0, c + min(..)    =>    either makes its c
 *
 * A point has one branch, so if each reads c at its own points it is made no more often, and a
 * branch's statement, which waited for an array that all of them read, has it in a register. A read
 * at a point of some dim counts as a branch: it asks for few points. The pass takes only operators
 * made of smaller values (a has no dim j), so no loop reads more instead. */
#include "opt/opt.h"

enum { MOST_PARTS = 4, PART_BRANCHES = 32, PART_READS = 32 };
/* The parts that read a node: branches of the tensor `of`, then reads. 0: something else reads
 * it. */
typedef struct {
  const tp_node *of;
  uint64_t parts;
} owner;
typedef struct {
  tp_node *by;
  int k;
} part_reader;
typedef TP_VEC(part_reader) part_readers;
typedef struct {
  tp_mk mk;
  /* by id: the read's number, 0: none yet; largest_of */
  int n, nread, *read, *largest;
  part_readers *readers;
  owner *own;
  bool *root, *apart;
  tp_val *made[PART_BRANCHES + PART_READS]; /* by part, then id */
} parter;

static bool made_of_few(const tp_node *n) {
  return tp_op_is_elementwise(n->op) && n->nin <= TP_CONE_OPERANDS;
}

static bool moves_points(const tp_node *n) {
  tp_cls c = tp_ops[n->op].cls;
  return n->nout != 1 || c == TP_CLS_TIME || c == TP_CLS_FX || c == TP_CLS_ENV;
}

static bool reads_points(const tp_node *by, const tp_node *n) {
  bool ok = by->op == TP_OP_READ && by->ndom < n->ndom;
  for (int d = 0; ok && d < n->ndom; d++) ok = !by->attr.at[d].range;
  return ok;
}

/* The parts that read n through this reader. The walk has seen readers before. */
static owner serves(parter *b, const tp_node *n, const part_reader *r) {
  const tp_node *by = r->by;
  if (reads_points(by, n)) {
    if (!b->read[by->id]) b->read[by->id] = ++b->nread;
    int number = b->read[by->id];
    return (owner){ NULL, number <= PART_READS ? (uint64_t)1 << (PART_BRANCHES + number - 1) : 0 };
  }
  if (!tp_same_dims(n, by)) return (owner){ 0 };
  if (by->op == TP_OP_MERGE && by->nin <= PART_BRANCHES) return (owner){ by, (uint64_t)1 << r->k };
  return moves_points(by) ? (owner){ 0 } : b->own[by->id];
}

static owner parts_served(parter *b, const tp_node *n) {
  owner all = { 0 };
  for (int i = 0; i < b->readers[n->id].n; i++) {
    owner o = serves(b, n, &b->readers[n->id].v[i]);
    if (b->root[n->id] || !o.parts || (o.of && all.of && o.of != all.of)) return (owner){ 0 };
    if (o.of) all.of = o.of;
    all.parts |= o.parts;
  }
  return all;
}

/* How many dims the largest input, read or number has of which elementwise operators make n; -1: n
 * is made of something else too. The walk has seen operands before. */
static int largest_of(const parter *b, const tp_node *n) {
  if (!made_of_few(n)) return n->op == TP_OP_READ || tp_ops[n->op].cls == TP_CLS_SRC ? n->ndom : -1;
  int most = 0;
  for (int k = 0; k < n->nin && most >= 0; k++) {
    int of = b->largest[tp_in(n, k)->id];
    most = of < 0 ? -1 : TP_MAX(most, of);
  }
  return most;
}

/* Does each part make n? It does if each reader belongs to one part, or is made by each part. */
static bool made_apart(parter *b, const tp_node *n) {
  int parts = __builtin_popcountll(b->own[n->id].parts), largest = b->largest[n->id];
  bool ok = made_of_few(n) && largest >= 0 && largest < n->ndom && parts > 1 && parts <= MOST_PARTS;
  for (int i = 0; ok && i < b->readers[n->id].n; i++) {
    const part_reader *r = &b->readers[n->id].v[i];
    ok = b->apart[r->by->id] || __builtin_popcountll(serves(b, n, r).parts) == 1;
  }
  return ok;
}

/* The part's own value in v's place. */
static tp_val made_by_part(parter *b, tp_val v, int part) {
  if (!b->made[part]) b->made[part] = TP_NEWN(&b->mk.g->arena, tp_val, b->n);
  return tp_copied(&(tp_cone){ b->mk, b->n, b->apart, false, b->made[part] }, v);
}

static bool give_parts(parter *b, bool *changed) {
  for (int i = 0; i < b->n; i++) {
    tp_node *x = b->mk.g->nodes.v[i];
    for (int k = 0; !b->apart[i] && k < x->nin; k++) {
      const tp_node *v = tp_in(x, k);
      if (v->id >= b->n || !b->apart[v->id]) continue;
      tp_val part = made_by_part(
          b, x->in[k].src, __builtin_ctzll(serves(b, v, &(part_reader){ x, k }).parts));
      if (!part.node) return false;
      x->in[k].src = part;
      *changed = true;
    }
  }
  return true;
}

static void mark_root(void *ud, tp_val *v) { ((bool *)ud)[v->node->id] = true; }

static void index_readers(parter *b, tp_graph *g) {
  for (int i = 0; i < b->n; i++)
    for (int k = 0; k < g->nodes.v[i]->nin; k++)
      TP_PUSH(&g->arena, &b->readers[g->nodes.v[i]->in[k].src.node->id],
          (part_reader){ g->nodes.v[i], k });
}

bool tp_pass_branches(tp_work *job, tp_error *err) {
  tp_graph *g = job->g;
  tp_arena *a = &g->arena;
  int n = g->nodes.n, *scc = TP_NEWN(a, int, n), *order = TP_NEWN(a, int, n);
  parter b = { .mk = { .g = g, .err = err },
    .n = n,
    .read = TP_NEWN(a, int, n),
    .readers = TP_NEWN(a, part_readers, n),
    .own = TP_NEWN(a, owner, n),
    .root = TP_NEWN(a, bool, n),
    .apart = TP_NEWN(a, bool, n),
    .largest = TP_NEWN(a, int, n) };
  index_readers(&b, g);
  tp_each_root(g, mark_root, b.root);
  tp_graph_sccs(g, scc, order);
  for (int i = 0; i < n; i++) b.largest[order[i]] = largest_of(&b, g->nodes.v[order[i]]);
  for (int i = n - 1; i >= 0; i--) {
    b.own[order[i]] = parts_served(&b, g->nodes.v[order[i]]);
    b.apart[order[i]] = made_apart(&b, g->nodes.v[order[i]]);
  }
  return give_parts(&b, &job->changed);
}
