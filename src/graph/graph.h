/* graph: the symbolic dependence graph. Rank 3.
 *
 * A node is one operator at each point of a domain of dims: "h" over (t, b) stands for all values
 * h[t, b], which have one shape and dtype. Its operands are edges; an edge says for each point of
 * the reader which points of the operand it takes. A recurrence is a cycle of nodes through time:
 *
 *   %2 "h" = merge %1 if t == 0, %4 : (t) f32 [3]     h[0] = %1, else h[t] = %4[t]
 *   %3 = read %2 {at [t - 1]} : (t) f32 [3]           h[t - 1]
 *   %4 = add %3, %0 : (t) f32 [3]
 *
 * READ takes a point or a range of its operand, MERGE is a declared tensor (branches with
 * conditions), ACCUM adds contributions over index maps, PARAM is a value that a program learns;
 * all other operators take their operands at their own point. Indices and extents are expressions
 * over dims and bounds (index/index.h), so each judgement holds for all bounds.
 *
 *   build.c mk.c methods/   make operators as a script or a pass asks for them
 *   type/                   domain, shape and dtype of a new node (tp_build), and the verifier
 *   need/                   which points something needs, and whether all reads there are legal
 *   text/                   prints, parses and draws a graph
 *   run.c                   outputs and checks of a call
 *
 * src/grad and src/opt rewrite graphs. Nodes live in the graph's arena and go with it. */
#ifndef TP_GRAPH_H
#define TP_GRAPH_H
#include "base/base.h"
#include "base/array.h"
#include "base/scan.h"
#include "index/fields.h"
#include "kern/kern.h"

/* Does a run check whether an operator makes NaN or infinity of finite operands (check = "nan";
 * opt/watch.c)? MEANT: the operator is meant to, as the mean of nothing does. */
typedef enum { TP_CHECK_NONE, TP_CHECK_NAN, TP_CHECK_MEANT } tp_check;

/* dims of a domain, and of a statement: bits of a mask */
enum { TP_MAXDIM = 31 };
typedef struct tp_node tp_node;
typedef struct tp_graph tp_graph;
typedef struct {
  tp_node *node;
  int out;
} tp_val; /* node == NULL: nothing */

/* Everything an operator needs besides operands; unused fields are 0. tp_build copies arrays. */
typedef struct tp_attr {
  union {
    tp_how how;
    struct {
#define A TP_FIELD_A
#define W TP_FIELD_W
#define L TP_FIELD_L
#include "kern/how.def"
    };
  };
#include "graph/attrs.def"
#undef A
#undef W
#undef L
} tp_attr;

/* One operand, at the node's own point but for ACCUM, where it is a contribution. With u the node's
 * point and p the operand's:
 *   scatter  at has an entry a dim of the NODE, over the operand's dims: y[u] gets the operand at
 *            every p whose image holds u. Each range takes one leading axis of the operand, in
 *            order: at u its row u - lo. The node's shape is the rest.
 *   gather   at has an entry a dim of the OPERAND, over the node's dims: y[u] gets the operand at
 *            every p in the box at(u); shapes are equal.
 * Only p for which cond (NULL: true) holds count; cond is over the operand's dims, in a gather over
 * the node's too. Sums are lexicographic in p, contributions in order. In a MERGE cond is over the
 * node's dims. */
typedef struct tp_edge {
  tp_val src;
  tp_ix *cond;
  const tp_at *at;
  bool gather;
  tp_pos pos; /* MERGE: the line of the branch */
} tp_edge;

struct tp_node {
  int id; /* index in graph.nodes */
  tp_op op;
  tp_attr attr;
  int nin, capin;
  tp_edge *in;
  int nout;
  tp_out *out;
  int ndom;
  tp_dims dom; /* in the order of P:dim */
  tp_pos pos;
  const char *name; /* NULL unless named */
  /* the script's variable that held it when a message was made; NULL: not looked for, or none */
  const char *var;
  /* how explain calls it when it has no name: "grad of h"; NULL: by its operator and line */
  const char *what;
  bool done;      /* MERGE: it has an `otherwise` */
  tp_node *subst; /* scratch of passes */
  int mark;       /* scratch */
};

/* Checked at each call: two extents are equal, or (b NULL) a condition over bounds holds. */
typedef struct {
  tp_ix *a, *b;
  tp_pos pos;
  const char *what;
} tp_shapecheck;
/* Checked at each call: something is legal only for bounds under which cond holds. */
typedef struct {
  tp_ix *cond;
  tp_pos pos;
  tp_code code;
  const char *msg;
} tp_boundcheck;
/* For explain: what a pass did, or why it did not. */
typedef struct {
  const char *pass;
  tp_pos pos;
  const char *text;
} tp_told;
/* hidden: it is a parameter's final value and has its name. shown: its points leave one by one,
 * through a CALL of TP_FN_SHOW; first: it leaves with the first tick. */
typedef struct {
  const char *name;
  tp_val val;
  tp_pos pos;
  bool hidden, shown, first;
} tp_output;

/* A dim that ends by data. Its bound is the *reached* end: one number for each point of dom, the
 * other dims of done; known once the first done holds, at most what the call gave. A node that
 * lacks dims of dom goes on to the greatest end over these. On the compiled path ends are *lowered*
 * (opt/ends/ends.c): a dim's bound is the number that the call gave again, and only extents may
 * still mention what was reached. */
typedef struct tp_stop {
  tp_sym *dim;
  tp_val done;
  tp_pos pos;
  int ndom;
  tp_dims dom;
  /* the reached end, and the number that the call gave. In a recorded graph the dim's bound is
   * `sym`, and `given` is a hidden one; in a lowered graph the bound is `given` */
  tp_sym *sym, *given;
  tp_sym *other; /* hidden bound: the end at some other point of dom, for judgements */
  bool live;     /* scratch of the sweep */
  /* lowered: the ACCUM over dom of t + 1 at the first done, and a dim for the reached end less 1;
   * else NULL */
  tp_node *end;
  tp_sym *less;
} tp_stop;

struct tp_graph {
  tp_ictx *ix; /* shared with the program; not owned */
  tp_arena arena;
  TP_VEC(tp_node *) nodes;
  TP_VEC(tp_output) outputs;
  TP_VEC(tp_node *) inputs; /* INPUT nodes in order */
  TP_VEC(tp_node *) params; /* PARAM nodes in order */
  TP_VEC(tp_node *) sinks;  /* CALL nodes without results: always needed */
  TP_VEC(tp_val) losses;    /* marked by backward() */
  TP_VEC(tp_stop) stops;    /* dims that end by data */
  TP_VEC(tp_shapecheck) shapechecks;
  TP_VEC(tp_boundcheck) boundchecks; /* filled by tp_need_check */
  TP_VEC(const char *) warnings;     /* full texts, for the binding to print once */
  TP_VEC(tp_told) told;              /* by passes, in their order */
  uint64_t seed;
  /* it is compiled with reproducible = true: see tp_graph_setting */
  bool fixed_bits;
  int nrand;  /* ordinals of unnamed random ops */
  tp_pos pos; /* position given to nodes made now */
  /* while recording: finds the script's variables that hold nodes, for a message; NULL: there are
   * none */
  void (*learn)(void *);
  void *host;
};

/* A setting of the environment that changes the order of sums; NULL where the script was promised
 * the same bits. */
static inline const char *tp_graph_setting(const tp_graph *g, const char *name) {
  return g->fixed_bits ? NULL : tp_setting(name);
}

/* Loops over a list of nodes, which does not grow meanwhile. */
#define TP_NODES(x, list) \
  for (tp_node **x##_at = (list).v, **x##_end = x##_at ? x##_at + (list).n : x##_at, *x; \
       x##_at < x##_end && (x = *x##_at, true); x##_at++)

tp_graph *tp_graph_new(tp_ictx *ix);
tp_graph *tp_graph_free(tp_graph *g);
/* Deep copy; nodes keep their ids. */
tp_graph *tp_graph_clone(const tp_graph *g, tp_error *err);
/* Drops nodes that outputs and sinks do not reach; renumbers. Lists of inputs and params keep
 * dropped ones. A sweep drops their shape checks too; for passes, which prune, the script's stay.
 */
void tp_graph_sweep(tp_graph *g);
void tp_graph_prune(tp_graph *g);
/* Numbers the components by node id, sources first, and gives their number; order (NULL: not
 * wanted) gets node ids, operands before readers but where time carries a value back. */
int tp_graph_sccs(const tp_graph *g, int *scc, int *order);

/* ---- building: the only way nodes are made; infers domain, shape and dtype, and checks ---- */
tp_node *tp_build(
    tp_graph *g, tp_op op, int nin, const tp_val *in, const tp_attr *attr, tp_error *err);
static inline tp_val tp_v(tp_node *n) { return (tp_val){ n, 0 }; }
static inline const tp_out *tp_outof(tp_val v) { return &v.node->out[v.out]; }
/* operand k's node, and its type */
static inline tp_node *tp_in(const tp_node *n, int k) { return n->in[k].src.node; }
static inline const tp_out *tp_inof(const tp_node *n, int k) { return tp_outof(n->in[k].src); }
static inline tp_dtype tp_dtypeof(tp_val v) { return v.node->out[v.out].dtype; }
static inline int tp_rankof(tp_val v) { return v.node->out[v.out].rank; }

/* Is it a view? Its elements are then some of its operand's, where these lie. */
static inline bool tp_shows(const tp_node *n) {
  return tp_ops[n->op].batch == TP_BATCH_V && n->op != TP_OP_PINIT && !n->attr.stored;
}

/* Adds a branch to a declared tensor. e's dims are some of the declared domain. A NULL cond is
 * `otherwise`. */
bool tp_merge_add(tp_graph *g, tp_node *merge, tp_ix *cond, tp_val e, tp_error *err);
/* Gives a PARAM its update (once). */
bool tp_param_update(tp_graph *g, tp_node *param, tp_val e, tp_error *err);
/* Adds a contribution to an ACCUM. */
bool tp_accum_add(tp_graph *g, tp_node *acc, tp_edge contribution, tp_error *err);

/* dim ends where done first holds. Nodes are inferred again: their domains may grow. */
bool tp_stop_add(tp_graph *g, tp_sym *dim, tp_val done, tp_error *err);
/* the stop of the dim s, or of the dim whose bound s is; NULL: none */
const tp_stop *tp_stop_of(const tp_graph *g, tp_sym *s);
bool tp_mentions_end(const tp_graph *g, tp_ix *e); /* e mentions a reached end */
/* the parts of a condition that mention a reached end, or that do not; NULL: none */
tp_ix *tp_end_parts(tp_graph *g, tp_ix *cond, bool mention);
/* The greatest, or the least, value of e over these dims and over all ends, from 1 on; NULL: not
 * known. */
tp_ix *tp_end_extreme(tp_graph *g, tp_ix *e, bool most, int n, tp_dims dims);
/* as a condition: the end is at least that, and at most what was given */
tp_ix *tp_end_within(tp_graph *g, const tp_stop *s, int64_t least);
/* the points of a for ends that are all at least 1 */
tp_set *tp_set_reached(tp_graph *g, TP_TAKE tp_set *a, int n, tp_dims dims);
/* Does operand k of n lie at other points of s->dom than n, or on fewer or more of these dims? */
bool tp_edge_crosses(const tp_node *n, int k, const tp_stop *s);
static inline bool tp_at_is_own(const tp_at *at, tp_sym *d) {
  return !at->range && tp_ix_as_sym(at->lo) == d;
}
/* each dim at its own value */
tp_at *tp_at_own(tp_graph *g, int n, tp_dims dom);
/* each of x's dims at its own value, but d at `at` */
tp_at *tp_at_but(tp_graph *g, const tp_node *x, tp_sym *d, tp_at at);
/* at, an entry a dim of x, leaves each dim of s->dom at its own value. */
bool tp_at_stays(const tp_node *x, const tp_at *at, const tp_stop *s);
/* Replaces every index expression of n by what fn makes of it; the new lists lie in a. a NULL: fn
 * only looks. */
typedef tp_ix *tp_ixfn(void *ud, tp_ix *e);
void tp_node_map(tp_arena *a, tp_node *n, tp_ixfn *fn, void *ud);
/* n mentions s in an index, an extent, a condition or a value */
bool tp_node_mentions(const tp_node *n, tp_sym *s);

/* v read at `at`, an entry a dim of v: v itself for the identity */
tp_val tp_read(tp_graph *g, tp_val v, const tp_at *at, tp_error *err);

/* The dims that a or b has, in order; how many. */
int tp_dom_union(tp_graph *g, int na, tp_dims a, int nb, tp_dims b, tp_dims *out);
/* Adds to n's domain the dims that e mentions, and those of which an end in e is a function. */
void tp_dom_add(tp_graph *g, tp_node *n, tp_ix *e);
bool tp_dom_has(int n, tp_dims dom, tp_sym *s);
bool tp_dom_same(int n, tp_dims a, int m, tp_dims b);
/* dtype and shape are equal, as canonical forms tell */
bool tp_same_type(const tp_out *a, const tp_out *b);
/* d's place in n's domain, or -1 */
int tp_dim_at(const tp_node *n, tp_sym *d);
static inline bool tp_has_dim(const tp_node *n, tp_sym *d) {
  return tp_dom_has(n->ndom, n->dom, d);
}
bool tp_moves(const tp_node *n, tp_ix *e); /* e mentions a dim of n's */
/* The first of these dims that an extent mentions (its points have no place in one array), and
 * which extent; NULL: none. */
tp_sym *tp_varies(int rank, tp_ixs shape, int n, tp_dims dims, int *axis);
/* True: they are equal, or a shape check is recorded; false: they differ. */
bool tp_extent_eq(tp_graph *g, tp_ix *a, tp_ix *b, const char *what);

/* Edge k of n as a relation {n's point -> operand's points}; in a MERGE at the points at which the
 * branch is the first that holds. */
TP_GIVE tp_rel *tp_edge_rel(tp_graph *g, const tp_node *n, int k);
/* The points of a MERGE at which branch k is the first that holds; k == nin: at which none does. */
TP_GIVE tp_set *tp_branch_set(tp_graph *g, const tp_node *merge, int k);

/* ---- checks and text ---- */
/* The name that the script gave n, as tensor, input or parameter, or its variable; NULL: none. */
const char *tp_own_name(const tp_node *n);
/* for messages: net.lua:12, and 'x' or the add of net.lua:12 */
const char *tp_line_of(tp_graph *g, tp_pos pos);
const char *tp_called(tp_graph *g, const tp_node *n);
/* checks every invariant above */
bool tp_verify(const tp_graph *g, tp_error *err);
tp_who tp_who_of(const tp_node *n);
/* For explain: its name, "grad of h", or operator and line. */
const char *tp_title(tp_arena *a, const tp_node *n);
/* The texts are not copied. */
void tp_tell(tp_graph *g, const char *pass, tp_pos pos, const char *text);
/* Is it a closed parameter with an update? Its values then differ along `along`. */
static inline bool tp_param_evolves(const tp_node *w) {
  return w->op == TP_OP_MERGE && w->attr.nalong && w->nin > 1;
}
/* NOPOS leaves out positions, and names made of them; HASHDATA prints hashes for CONST data; NAMES
 * adds variables' names; SYMS adds symbols that the graph does not use */
enum { TP_TEXT_NOPOS = 1, TP_TEXT_HASHDATA = 2, TP_TEXT_NAMES = 4, TP_TEXT_SYMS = 8 };
void tp_graph_print_as(tp_buf *b, const tp_graph *g, int flags);
void tp_graph_print(tp_buf *b, const tp_graph *g); /* no flags */
/* Prints the lines of shape checks and bound checks; adds such lines to g. */
void tp_checks_print(tp_buf *b, const tp_graph *g);
bool tp_checks_parse(tp_graph *g, const char *text, tp_error *err);
/* parses what tp_graph_print prints */
tp_graph *tp_graph_parse(tp_ictx *ix, const char *text, tp_error *err);
/* Makes the same graph in another context from its text with hashes for CONST data, which both
 * share. */
tp_graph *tp_graph_move(tp_ictx *ix, const tp_graph *from, const char *text, tp_error *err);
void tp_graph_dot(tp_buf *b, const tp_graph *g);
/* Prints attributes as items of a list in braces, of which *count are written; reads one by its
 * key. */
void tp_attr_print(tp_buf *b, const tp_attr *a, tp_op op, int *count);
bool tp_attr_parse(tp_scan *in, tp_ictx *c, tp_attr *a, const char *key, bool *known);
/* Marks n and the nodes that it is made of, by node id; nodes that are marked already are not
 * entered. */
void tp_reach(tp_arena *a, tp_node *n, bool *seen);
/* 'f32 (t:T) [4, 3] "h" at rnn.lua:12' */
void tp_val_print(tp_buf *b, tp_val v);
uint64_t tp_graph_hash(const tp_graph *g); /* hash of the text without positions */

/* ---- needed points (need.c): set[id] are those of a node that something needs; roots are needed
 * at every point ---- */
typedef struct tp_need {
  tp_graph *g;
  int n;
  tp_set **set;
  bool rough; /* some sets are larger than what is needed */
} tp_need;
tp_need *tp_need_compute(tp_graph *g, int nroot, const tp_val *roots, tp_error *err);
tp_need *tp_need_free(tp_need *n);
/* by node id: needed at every point, whatever the bounds */
bool *tp_need_whole(const tp_need *n, tp_arena *a);
/* the roots are outputs, sinks, and values that end dims */
tp_need *tp_need_outputs(tp_graph *g, tp_error *err);
/* The same for runs to which nothing is given for dim `zero`. */
tp_need *tp_need_without(tp_graph *g, tp_sym *zero, tp_error *err);
/* Judges legality on needed points (legal.c): reads outside domains, points of a MERGE without a
 * branch, branches that are never first; errors have a witness. A mistake that only some bounds
 * have goes to g->boundchecks. tp_need_stays judges the reads only. */
bool tp_need_check(tp_graph *g, const tp_need *n, tp_error *err);
bool tp_need_stays(tp_graph *g, const tp_need *n, tp_error *err);
/* Takes out of rough sets the points that read outside a domain, or read a point taken out, if
 * nothing that has to be there reads them. Ends by data are lowered. */
void tp_need_trim(tp_graph *g, tp_need *need);
/* Each call checks that the bounds are not in bad, a set without dims; `late` says what is wrong
 * there. False: isl has no condition for it. */
bool tp_check_late(tp_graph *g, TP_KEEP tp_set *bad, tp_code code, tp_pos pos, const char *late);
#endif
