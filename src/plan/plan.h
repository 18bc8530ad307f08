/* plan: the one thing that executes. Rank 6.
 *
 * A plan is a tree of loops (FOR), conditions and rows; its leaves are regions, which read and
 * write windows of buffers. Every size, offset and extent is an expression over bounds and loop
 * variables, so one plan serves any bounds. The interpreter runs it (run), the emitters print it as
 * code (emit), and it prints and parses as text (text.c).
 *
 * build.c makes it of poly's loop tree, the passes of passes.def rewrite it, check.c checks it.
 * parts.c finds pieces that run without a wait, color.c places in memory, count.c the work, walk.c
 * the order of folds, team.c the shares of threads. */
#ifndef TP_PLAN_H
#define TP_PLAN_H
#include "kern/run.h"
#include "plan/machine.h"

typedef enum { /* TEMP: in the arena */
#define B(NAME, text) TP_BUF_##NAME,
#include "plan/bufkinds.def"
#undef B
  TP_NBUFKIND
} tp_bufkind;

/* LOOP: a straight line of elementwise operators (its micros; none: in[0] as it is) at each point
 * of its axes. Over axes in `sums` its first result is folded by `red`, or added to what is there;
 * the others are stored at each point. Copies, fills, reductions, accumulations and chains are
 * LOOPs. OP: one operator of another class, on operands that have axes of their own after the
 * region's. */
typedef enum {
#define K(NAME, text, op) TP_RG_##NAME,
#include "plan/rgkinds.def"
#undef K
  TP_NRG
} tp_rgkind;
extern const char *const tp_rg_names[TP_NRG], *const tp_bufkind_names[TP_NBUFKIND];
/* One operator of a LOOP. Operand in[i] is the region's input in[i] if that is below nin, else the
 * micro in[i] - nin. f is the number of a FILL, ix that of a VALUE. The operator MATMUL occurs in
 * emit alone: a dot product of ix terms by f rows of lanes. */
typedef struct tp_micro {
  tp_op op;
  tp_dtype dtype; /* of its result */
  int in[3];
  double f;
  tp_ix *ix;
} tp_micro;

typedef struct tp_span { /* NULL: not known */
  tp_ix *lo, *hi;
} tp_span;
/* tp_ring, tp_nd: one operand, a strided window on a buffer; strides count elements and may be 0
 * (broadcast) or negative (flip). tp_rows, tp_region, tp_pbuf. */
#define TP_IS_IX         tp_ix *
#define TP_IS_PLACE      int
#define TP_IS_BUFFER     int
#define TP_IS_FLAG       bool
#define TP_IS_VAR        tp_sym *
#define TP_IS_NUMBER     struct tp_pbuf *
#define TP_IS_DTYPE      tp_dtype
#define TP_IS_TITLE      const char *
#define TP_IS_POS        tp_pos
#define TP_IS_WHO        tp_who
#define TP_IS_RING       tp_ring
#define TP_IS_SPAN       tp_span
#define TP_IS_WINDOW     tp_nd
#define TP_IS_ENDS       tp_nd
#define TP_IS_ROWS       tp_rows
#define TP_COUNT_MUST(n) int n;
#define TP_COUNT_MAY(n)  int n;
#define TP_COUNT_WITH(n)
#define BEGIN(name, type) typedef struct type {
#define END(type) \
  } \
  type;
#define F(when, kind, name, text)              TP_IS_##kind name;
#define M(when, many, kind, name, count, text) TP_COUNT_##when(count) TP_IS_##kind *name;
#define T(when, text)
#define C(kind)
#define U(...) __VA_ARGS__
#include "plan/fields.def"

/* SPILL and FETCH: rows of dim `dim` of buffer `buf`, from `lo` on as they lie in memory, are used
 * `hi` at a time (dim -1: the whole buffer is one row). They act on a buffer that the run keeps in
 * a file by this dim, and do nothing for others. A SPILL with a step stands at the begin of the
 * body of a loop that goes through the rows, and lets go of the memory of the rows behind; with
 * step 0 it follows the last use for now, and lets go of everything. A FETCH asks for the rows that
 * come next or, with step 0, for these. BEHIND: its body, which belongs to row `lo` of the loop of
 * ticks, may wait. WAIT: before the run goes on, it does what it has left of rows up to `lo` (NULL:
 * of all rows). behind.c */
typedef enum {
  TP_P_SEQ,
  TP_P_FOR,
  TP_P_IF,
  TP_P_REGION,
  TP_P_LOAD,
  TP_P_SPILL,
  TP_P_FETCH,
  TP_P_BEHIND,
  TP_P_WAIT
} tp_pkind;
typedef struct tp_pnode tp_pnode;
struct tp_pnode {
  tp_pkind kind;
  int n;
  tp_pnode **kid; /* SEQ; FOR, BEHIND: one; IF: one or two */
  tp_sym *var;
  tp_ix *lo, *hi;
  int step; /* as tp_tree */
  /* until rows.c: FOR over rows of one block, of one statement, rings going round between blocks */
  bool block;
  /* no iteration reads or writes what another one writes, were each value an element of its own */
  bool independent;
  tp_sym *label;
  tp_ix *cond; /* IF */
  tp_region *rg;
  /* SPILL, FETCH. made: the rows will be written */
  int buf, dim;
  bool made;
  /* LOAD var = min(given, the greatest of the i64 in nd whose rows are there): an end by data, read
   * again wherever it is used */
  tp_ix *given;
  tp_nd nd;
  tp_rows *rows;
  int nrows;
  /* Positions count from 0 in print order; a FOR covers pos .. lastpos. */
  int pos, lastpos;
  tp_pnode *up; /* parent */
};
/* Inputs before results. */
static inline tp_nd *tp_window_at(const tp_region *r, int i) {
  return i < r->nin ? &r->in[i] : &r->out[i - r->nin];
}
static inline tp_nd *tp_next_window(const tp_region *r, const tp_nd *x) {
  if (x && x >= r->out && x < r->out + r->nout)
    return x + 1 < r->out + r->nout ? (tp_nd *)x + 1 : NULL;
  x = x ? x + 1 : r->in;
  return r->nin && x < r->in + r->nin ? (tp_nd *)x : r->nout ? r->out : NULL;
}
#define TP_WINDOWS(x, r) for (tp_nd *x = tp_next_window(r, NULL); x; x = tp_next_window(r, x))

/* The bound of a dim that ends by data, and the bound of a dim of its rows (NULL: it has one row).
 * If there are no rows, no bound is given either (tp_plan_given). */
typedef struct {
  tp_sym *bound, *row;
} tp_pend;

typedef struct tp_plan {
  const tp_machine *machine; /* that it is made for */
  tp_ictx *ix;
  tp_arena *a, own; /* own: of a parsed plan */
  TP_VEC(tp_callee) calls;
  TP_VEC(tp_product) products; /* the program's outputs */
  TP_VEC(tp_pend) ends;
  TP_VEC(tp_pbuf *) bufs;
  tp_pnode *body;
  int npos, nsym; /* nsym: how many symbols there were when it was made; the program may have got
                     more since */
  /* the same bits on every processor: nothing is fused, products are added up in one order */
  bool reproducible;
  bool precise; /* no sum is taken apart further */
  /* The limit of memory in bytes. 0: none. TP_SPILL_ALL: everything that may lie in the file
   * does. */
  int64_t limit;
#define TP_SPILL_ALL INT64_MAX
  struct tp_teams *teams; /* what several threads share; NULL: one runs everything */
} tp_plan;

void tp_plan_given(const tp_plan *p, int64_t *env);
struct tp_graph;
struct tp_poly;
/* fuse: loops are joined, become axes of their leaves and go over tiles. by_rows: loops over rows
 * stay, because a state of these steps may go on under a limit of memory. threads: how many share
 * the work. */
typedef struct {
  const tp_machine *machine;
  bool fuse, by_rows, reproducible, precise;
  int threads;
  int64_t limit;
} tp_planned;
tp_plan *tp_plan_build(
    struct tp_graph *g, struct tp_poly *p, const tp_planned *asked, tp_error *err);
/* The passes of passes.def, or only that one, whatever was asked; false: err. */
bool tp_plan_passes(tp_plan *p, const tp_planned *asked, const char *only, tp_error *err);

/* ---- what threads do side by side: team.c ---- */
/* An extent that is cut: a thread has n places of the whole from place `from` on. */
typedef struct tp_share {
  tp_ix *whole;
  tp_sym *from, *n;
} tp_share;
/* How a leaf is cut. share < 0: it is not, the first thread runs it. lead: the axis of the region,
 * or -1: the cut is of a product's columns or rows, or of a convolution's images. */
typedef struct tp_cut {
  int share, lead;
  bool columns;
  bool adds; /* out[0] is added up along the cut, by each share in a place of its own */
} tp_cut;
typedef struct tp_teamed { /* a node of the plan, and that which threads run in its place */
  const tp_pnode *node;
  tp_pnode *as;
} tp_teamed;
typedef struct tp_team { /* neighbours that threads run together, sequences taken apart */
  int n;
  tp_teamed *v;
} tp_team;
typedef struct tp_teams {
  /* the plan that it was made of, except that cut leaves go over a thread's share */
  tp_plan plan;
  int nshare;
  tp_share *share;
  int nteam;
  tp_team *team;
  /* by position: how threads run the leaves of teams */
  tp_cut *cut;
  const tp_pnode **leaf;
} tp_teams;
/* Why only the first thread runs the region, of one that is not cut. */
const char *tp_why_alone(const tp_plan *p, const tp_region *r);
tp_ix *tp_cut_extent(const tp_region *r, const tp_cut *c);
/* the stride of window w along the cut; NULL: it does not move */
tp_ix *tp_cut_stride(const tp_region *r, const tp_cut *c, int w);
int64_t tp_share_from(int64_t whole, int who, int n); /* of thread `who`; n: the end */
/* A loop of which all leaves, one position after another, are cut along one extent. as: the loop
 * with leaves that go over a share of it; bounds and places in memory decide whether shares may run
 * apart (run/target.h: tp_cut_is_own). added: buffers that the loop's leaves only add to, floats or
 * integers; each share has one that begins with zeros, to be added when all shares are over. */
typedef struct tp_cut_loop {
  tp_share share;
  const tp_cut *cut; /* by position, from the loop's on */
  const tp_pnode *as;
  int nadded;
  int *added;
} tp_cut_loop;
/* NULL: they have no such extent. */
const tp_cut_loop *tp_plan_cut_loop(const tp_plan *p, tp_arena *a, const tp_pnode *loop);

/* ---- text, checks ---- */
void tp_plan_print(tp_buf *b, const tp_plan *p);
/* Reads a printed plan and checks it: errors have class file and name "plan:line". Symbols are
 * those of ix with these names, made if they are missing. Only runs with TEMPO_POISON check that
 * windows stay inside their buffers. */
tp_plan *tp_plan_parse(tp_ictx *ix, const tp_machine *m, const char *text, tp_error *err);
/* Frees a parsed plan and returns NULL. A built one is freed with its poly. */
tp_plan *tp_plan_free(tp_plan *p);
/* Checks numbers of buffers, operands and axes, and dtypes, of regions, LOADs, SPILLs and
 * FETCHs. */
bool tp_plan_check(const tp_plan *p, tp_error *err);
bool tp_node_check(const tp_plan *p, const tp_pnode *x, tp_pos at, tp_error *err);

/* ---- parts, axes, counts ---- */
/* A part: neighbours, sequences taken apart, that hold no place at which a run may wait. loop: the
 * loops that lie in no other loop of the part, in order; a run of the part may begin at any
 * iteration of one of them. parts.c */
typedef struct tp_part {
  int n;
  const tp_pnode **node;
  int nloop;
  const tp_pnode **loop;
} tp_part;
tp_pos tp_pnode_line(const tp_pnode *x);                 /* of its first leaf that has a line */
bool tp_plan_ticks(const tp_plan *p, const tp_pnode *x); /* is there a tick in it? */
/* is there a place in it at which a run may wait? */
bool tp_part_waits(const tp_plan *p, const tp_pnode *x);
/* Puts those loops of x into v from n on, unless v is NULL; returns n and how many they are. */
int tp_part_loops(const tp_pnode *x, const tp_pnode **v, int n);
int tp_plan_parts(const tp_plan *p, tp_arena *a, tp_part **out);
/* The axes of a LOOP of extent other than 1, outermost first, in the order in which its folds are
 * made on every tier. of: the axes of the region that this one joins, outermost first. walk.c */
typedef struct tp_axis {
  tp_ix *n;
  bool red;
  int nof, of[TP_MAXRANK];
} tp_axis;
typedef tp_ix *tp_axis_strides[TP_MAXRANK];
/* stride: by window, inputs first, and axis */
typedef struct tp_nest {
  int nax;
  tp_axis ax[TP_MAXRANK];
  int nw;
  tp_axis_strides *stride;
} tp_nest;
void tp_nest_swap(tp_nest *l, int i, int k); /* two of its axes change places */
void tp_plan_walk(tp_ictx *ix, tp_arena *a, const tp_region *r, tp_nest *to);
tp_op tp_region_op(const tp_region *r); /* messages call a region without a name by it */
/* Calls fn at each region, LOAD, SPILL and FETCH that runs for these bounds, in order, with the
 * least and greatest value of every symbol there. False: out of memory. */
typedef void tp_atregion(void *ud, const tp_pnode *region, const int64_t *lo, const int64_t *hi);
bool tp_plan_reach(const tp_plan *p, const int64_t *env, tp_atregion *fn, void *ud);
/* By position of a region: how often it runs for these bounds, and how many elements, bytes of
 * windows and operations that is; turns: iterations of loops. tp_plan_count counts node `of`, with
 * the variables around it as in env. False: out of memory. count.c */
typedef struct tp_counted {
  int64_t runs, elements;
  double bytes, flops;
} tp_counted;
bool tp_plan_count(
    const tp_plan *p, const tp_pnode *of, const int64_t *env, tp_counted *at, int64_t *turns);
/* The buffer's bytes, a multiple of 64; -1: too many. */
int64_t tp_pbuf_bytes(const tp_pbuf *b, const int64_t *env);
/* Places TEMP and WORK buffers by lifetime, first fit, for given bounds: bytes and offsets by
 * buffer (-1: no region that runs uses it). Returns the arena's size, -1 on overflow; without
 * memory it goes to the latest guard. out[buf]: the buffer lies elsewhere; NULL: none does. */
int64_t tp_plan_color(
    const tp_plan *p, const int64_t *env, const bool *out, int64_t *bytes, int64_t *offsets);
static inline bool tp_in_arena(const tp_pbuf *b) {
  return b->kind == TP_BUF_TEMP || b->kind == TP_BUF_WORK;
}
static inline bool tp_knows_rings(const tp_plan *p, const tp_region *r) {
  return p->machine->reads_rings(p, r);
}
#include "plan/tree.h"
#include "plan/window.h"
#endif
