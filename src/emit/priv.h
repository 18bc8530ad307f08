/* Inside src/emit. A function is written into a buffer of its own; when it ends, the symbols and
 * buffers that it used are declared before it. */
#ifndef TP_EMIT_PRIV_H
#define TP_EMIT_PRIV_H
#include "emit/emit.h"

enum { TP_EMIT_LOOPS = 64 };

/* An element of a buffer that one point of a loop's body writes in each iteration, and others read:
 * from locals c<id>_0 (written in this iteration) .. c<id>_<depth> (so many iterations before). */
typedef struct tp_carry {
  int id, depth;
  /* the element's place: nd's rings, this offset */
  const tp_nd *nd;
  tp_ix *off;
  const tp_pnode *loop;
  bool written; /* in this iteration, as far as that is printed */
} tp_carry;

/* How a window is printed: as a pointer, as a function's parameter, or as its argument. */
typedef enum tp_emit_as { TP_AS_LOCAL, TP_AS_PARAMETER, TP_AS_ARGUMENT } tp_emit_as;

/* A number in a leaf's text in which leaves may differ. of: its place in the plan, by which it is
 * known. */
typedef struct tp_emit_arg {
  const char *type, *text;
  const void *of;
} tp_emit_arg;

typedef TP_VEC(int) tp_emit_ahead; /* positions */
typedef TP_VEC(const tp_pnode *) tp_emit_nodes;
typedef struct tp_emit tp_emit;

/* The target of code. host: the text is GNU C for a host, which runs other leaves by kernels that
 * may be better than loops, and may end the run. Without a host all of the plan is printed, in C99.
 * threads: the text is a kernel in the dialect of devices; points of a leaf are shared by its
 * threads. cell: types in memory. leaf: prints a leaf that is no loop. */
typedef struct tp_emit_target {
  bool host, threads;
  const char *const *cell;
  void (*leaf)(tp_emit *e, const tp_pnode *x);
} tp_emit_target;

struct tp_emit {
  const tp_plan *p;
  const tp_emit_target *to;
  const int64_t *bounds; /* by symbol; NULL: each run has its own */
  tp_ictx *ix;
  tp_arena *a;
  const tp_region **as; /* by position: tp_emit_region of a product */
  /* clocks: leaves and short loops note when they begin and end; clocked: we are inside of one */
  bool clocks, clocked;
  /* inside of a function that all threads of a team run */
  bool teamed;
  bool looped;     /* some part of the plan is a loop */
  tp_buf *done;    /* functions that are complete */
  tp_buf *b;       /* the one that is being written */
  bool *sym, *buf; /* symbols and buffers that it uses */
  int depth, nfn, ncarried;
  /* passed: how many loops so far may be entered; entry: the number of the next loop if it may be,
   * else 0 */
  int passed, entry;
  /* loops around; those from `outer` on are in this function */
  int outer, nloop;
  const tp_pnode *loop[TP_EMIT_LOOPS];
  TP_VEC(tp_carry) carry;
  /* draws in this function that keep numbers of further iterations (draw.c) */
  tp_emit_ahead ahead;
  const tp_pnode *at; /* the leaf that is printed for threads */
  const char *local;  /* a line with arrays in a block's memory that the kernel declares, or NULL */
  /* leaves by text: how many are alike, as the first printing counts them */
  tp_hmap *texts;
  bool counts, once; /* once: inside of such a text */
  tp_emit_as as_window;
  TP_VEC(tp_emit_arg) arg; /* numbers of the text that is written */
  int nonce;
  /* operators whose form with branches has been printed as a function */
  bool far[TP_NOP][TP_NDTYPE];
};

/* is symbol i one number for all that is printed? */
static inline bool emit_is_settled(const tp_emit *e, int i) {
  return e->bounds && tp_sym_at(e->ix, i)->kind == TP_SYM_BOUND;
}

/* emit.c */
/* appends x, sequences taken apart, to a list */
void emit_put_row(tp_emit *e, const tp_pnode *x, tp_emit_nodes *to);
/* prints the loop's body as it stands, inside braces */
void tp_emit_rest(tp_emit *e, const tp_pnode *loop);
/* prints a function of n statements, in order */
void tp_emit_function(tp_emit *e, const char *head, const tp_pnode *const *v, int n);

/* once.c: leaves of equal text are one function */
/* prints a call; false: no other leaf has the text, and nothing is printed */
bool tp_emit_once(tp_emit *e, const tp_pnode *x);
void tp_emit_pointwise(tp_emit *e, const tp_pnode *x); /* prints the leaf in its place */
/* prints everything twice: the first time, into a buffer that is dropped, counts equal leaves */
void emit_twice(tp_emit *e, tp_buf *b, void (*put)(tp_emit *e, tp_buf *b));

/* text.c */
/* A line of the function that is being written; one that opens a brace; the last n braces end; the
 * last one ends, and what is done otherwise begins. */
#define tp_emit_line(e, ...) (tp_emit_indent(e), tp_putf((e)->b, __VA_ARGS__))
#define emit_open(e, ...)    (tp_emit_line(e, __VA_ARGS__), (void)(e)->depth++)
void tp_emit_indent(tp_emit *e);
void emit_shut(tp_emit *e, int n);
void emit_else(tp_emit *e);
/* Lines that are printed between these two do not go to the function: the second gives their text.
 */
typedef struct {
  tp_buf b, *was;
  tp_hold hold;
} emit_aside;
void emit_begin_aside(tp_emit *e, emit_aside *a);
const char *emit_end_aside(tp_emit *e, emit_aside *a);
/* a loop variable's first value */
const char *tp_emit_start(tp_emit *e, const tp_pnode *loop, int entry);
/* loop variables go to the environment, before the run leaves native code for good */
void tp_emit_ends(tp_emit *e);
/* declares w<w>, the begin of the leaf's window, `more` elements on ("": none) */
void tp_emit_window(tp_emit *e, const char *type, int w, const tp_nd *nd, const char *more);
/* prints the number, or the parameter that stands for it */
void tp_emit_argument(tp_emit *e, const char *type, const void *of, const char *text);
const char *tp_emit_pos(const tp_emit *e, int pos); /* the leaf's, in its own text */
const char *emit_ix(tp_emit *e, tp_ix *x);          /* the expression's text */
/* does x depend only on bounds, the loop, and loops around? */
bool emit_is_steady(const tp_pnode *loop, tp_ix *x);
/* the index of the element at which a window with that offset begins; that element in memory */
void tp_emit_place(tp_emit *e, const tp_nd *nd, tp_ix *off);
void emit_cell(tp_emit *e, const tp_nd *nd, tp_ix *off);
/* the offset of a window at a point of the region's axes */
tp_ix *tp_emit_offset(const tp_region *r, const tp_nd *nd, const int64_t *at);
tp_dtype tp_emit_dtype(const tp_emit *e, const tp_nd *nd); /* a window's */
/* the suffix of the prelude's functions in the type that computes d */
const char *tp_emit_sfx(tp_dtype d);
extern const char *const tp_emit_types[];
static inline const char *tp_emit_type(tp_dtype d) { return tp_emit_types[d]; } /* in memory */
const char *tp_emit_held(tp_dtype d);                                           /* computed */
/* in memory, where pointers go to it */
static inline const char *tp_emit_cell(const tp_emit *e, tp_dtype d) { return e->to->cell[d]; }
const char *tp_emit_number(const tp_emit *e, tp_dtype d, double v); /* its text */
/* opens the conversion of an element in memory to the type that computes; ")" closes it */
void emit_load(tp_emit *e, tp_dtype d);
/* its text, of the element's */
const char *emit_loaded(tp_emit *e, tp_dtype d, const char *element);

/* An axis whose places threads share, and the variable that holds the place. */
typedef struct tp_emit_axis {
  const char *var;
  tp_ix *n;
} tp_emit_axis;
/* axis i of the region's ('x') or of a window's own ('e') */
tp_emit_axis emit_axis(tp_emit *e, char of, int i, tp_ix *n);
/* parts of n places, `each` in a part */
tp_emit_axis emit_parts(const char *var, tp_ix *n, int each);
/* Threads of a block come to each point together, and blocks share the points. */
void emit_by_blocks(tp_emit *e);
/* Opens a loop of each thread over its share of the axes' points. Without axes there is one
 * point. */
void emit_open_threads(tp_emit *e, int n, const tp_emit_axis *ax, bool by_lanes);
/* Prints what a leaf does at a point that has no value: it ends the run. lead: the text of the
 * point, an array or NULL. Threads note the fault and go on. */
void emit_put_fault(tp_emit *e, int pos, const char *what, const char *lead);

/* product.c */
/* the region, or a LOOP that does the same, if it is a small product */
const tp_region *tp_emit_region(tp_emit *e, const tp_pnode *x);

/* known.c: questions about leaves */
typedef enum { OF_NOTHING, OF_FLOAT, OF_NUMBER, OF_ANY, OF_BOOL } tp_emit_taken;
enum { NO_FAULT, DIVZERO, NEGPOW };
/* a row of scalar.def; test and near belong to the form without branches */
typedef struct tp_emit_row {
  tp_emit_taken types;
  int fault;
  const char *name, *test, *near;
} tp_emit_row;
extern const tp_emit_row tp_emit_rows[TP_NOP];
bool tp_emit_knows(tp_emit *e, const tp_pnode *x); /* is the region printed as code? */
/* is it printed as a few points without loops? */
bool tp_emit_is_points(tp_emit *e, const tp_pnode *x);
bool tp_emit_faults(const tp_emit *e, const tp_region *r); /* may a point have no value? */
bool tp_emit_may_fault(const tp_emit *e, const tp_region *r, const tp_micro *m);
tp_dtype tp_emit_result_type(const tp_emit *e, const tp_region *r, int k);
/* The one leading axis along which windows of a map wrap; -1: none, or several. */
int tp_emit_seam(const tp_region *r);
int64_t tp_emit_count(const tp_region *r); /* points of all its axes; -1: not known, or many */
/* Chooses the innermost axis of a chain that goes over tiles. By window: does it jump along that
 * axis, and lie along axis `across`? NULL: the chain goes over no tiles. */
bool *tp_emit_turned(const tp_emit *e, const tp_region *r, tp_nest *n, int *across);

/* loop.c */
void tp_emit_loop(tp_emit *e, const tp_pnode *x);
void tp_emit_loop_windows(tp_emit *e, const tp_pnode *x); /* unless it is a few points */
void tp_emit_loop_body(tp_emit *e, const tp_pnode *x);
/* does a call take as long as the leaf itself? */
bool tp_emit_is_brief(tp_emit *e, const tp_pnode *x);

/* body.c */
/* prints the micros of a point, m0, m1, .., over its inputs i0, i1, .. */
void tp_emit_micros(tp_emit *e, const tp_pnode *x);

/* alone.c */
/* do both windows have the same elements at each point of the region's axes? */
bool tp_emit_same_elements(const tp_region *r, const tp_nd *a, const tp_nd *b);
/* Are the n iterations of a loop independent? step, by window: elements from one iteration to the
 * next; 0: data says which; NULL: they do not touch it. */
bool tp_emit_alone(const tp_emit *e, const tp_region *r, tp_ix *n, tp_ixs step);
/* if they are, tells the compiler before the loop */
void tp_emit_if_alone(tp_emit *e, const tp_region *r, tp_ix *n, tp_ixs step);

/* point.c: operators that are no loops over elements */
bool tp_emit_is_pointwise(const tp_emit *e, const tp_region *r);
void tp_emit_point_windows(tp_emit *e, const tp_region *r);
void emit_best(tp_emit *e, const tp_pnode *x); /* places of the largest */
/* Is it an operator that operator.c prints? */
bool emit_has_operator(const tp_emit *e, const tp_region *r);
/* elements of one point in a window; -1: not known, or more than `most` */
int64_t emit_elements(const tp_nd *nd, int most);
/* opens the loop over leading axis i */
void tp_emit_lead(tp_emit *e, const tp_region *r, int i);
/* Opens loops over all of them and, for threads, over the window's own axes from `from` on but
 * `but`; returns how many. nd NULL: it has none. */
int emit_open_leads(tp_emit *e, const tp_region *r, const tp_nd *nd, int from, int but);
/* opens the loop over the window's own axis i */
void emit_open_element(tp_emit *e, const tp_nd *nd, int i);
/* declares leading axis i's symbol, if coordinates mention it */
void emit_lead_name(tp_emit *e, const tp_region *r, int i, const char *at);
/* Tells the compiler that a loop over axis i, one of the region's (points) or of the written
 * elements, is independent, if it is. at: the axis along which data says where. */
void emit_lead_alone(tp_emit *e, const tp_region *r, int i, bool points, int at);
/* Opens loops over leading axes along which points add to the same places, one after the other, and
 * which threads do not share; returns how many. */
int emit_open_stays(tp_emit *e, const tp_region *r);
/* Do threads meet inside of the leaf, or in such loops? */
bool tp_emit_takes_one_block(const tp_region *r);
/* names places along a window's own axes: e0, e1, .. */
void emit_own_places(tp_emit *e, const tp_nd *nd, const char **at);
/* the text of the element of window w at a place: by axis of its own, the text */
const char *emit_element_at(tp_emit *e, const tp_region *r, int w, const char *const *at);
/* the same, as the type that computes */
const char *emit_value_at(tp_emit *e, const tp_region *r, int w, const char *const *at);
/* the text of the element of window i at the point, off further on, in loops over the window's own
 * axes */
const char *emit_point_cell(tp_emit *e, const tp_region *r, int i, tp_ix *off);
const char *emit_point_element(tp_emit *e, const tp_region *r, int i);
/* the offset of place `at` along the window's own axes */
tp_ix *emit_own_offset(const tp_emit *e, const tp_nd *nd, const int64_t *at);
/* Prints the call by which the host says what `wrong` found, or `fault` does. fails: the run ends
 * for certain, so the code behind need not expect that the host has written anything. */
void emit_wrong(tp_emit *e, const tp_pnode *x, const char *fault, bool fails);

/* Opens a loop of blocks over leads, the window's axes but `axis`, and shares, share_, of n
 * elements. */
void emit_open_shares(tp_emit *e, const tp_region *r, const tp_nd *nd, int axis, tp_ix *n);
/* Opens the loop of a thread over its elements of a share, q_, each at number_. */
void emit_open_share(tp_emit *e);

/* elements of a row that a block sorts in its memory (TP_SORT_MOST), or has at a time of a longer
 * one (TP_SORT_SHARE) */
enum { EMIT_SORT_FEW = 32, EMIT_SORT_MOST = 1024, EMIT_SORT_SHARE = 16 * TP_KERNEL_THREADS };

/* picks.c */
void emit_pick(tp_emit *e, const tp_pnode *x);

/* operator.c: operators of which threads make elements or rows */
void emit_operator(tp_emit *e, const tp_pnode *x);

/* blocks.c: weights in blocks */
void emit_blocks(tp_emit *e, const tp_region *r);

/* draw.c */
/* are its numbers so few that they need no loop? */
bool emit_draws_few(const tp_emit *e, const tp_region *r);
bool emit_has_range(const tp_region *r); /* is there a number to draw? */
void emit_draw(tp_emit *e, const tp_pnode *x);
/* declares `key`, which the region's point has */
void emit_draw_key(tp_emit *e, const tp_region *r);
/* Declares what further iterations share, if it is a draw of few: numbers, or the op's key. */
void emit_keep_ahead(tp_emit *e, const tp_pnode *loop, const tp_pnode *x);
bool tp_emit_is_ahead(const tp_emit *e, const tp_pnode *x);

/* environment.c */
void emit_environment(tp_emit *e, const tp_pnode *x);
/* prints the environments whose source is known, each once */
void tp_emit_environments(tp_buf *b, const tp_plan *p, tp_arena *a);

/* wave.c */
/* prints the loop as a wave; false: it is none, and nothing is printed */
bool tp_emit_wave(tp_emit *e, const tp_pnode *loop, int entry);

/* carry.c */
/* begins to carry elements in locals; how many were carried before */
int tp_emit_carry_begin(tp_emit *e, const tp_pnode *loop, int entry);
void tp_emit_carry_next(tp_emit *e, int from); /* at the end of an iteration */
/* prints the local that holds this element; false: none does */
bool tp_emit_carried(tp_emit *e, const tp_nd *nd, tp_ix *off);
/* the carried element that is written here, or NULL */
tp_carry *tp_emit_carries(tp_emit *e, const tp_nd *nd, tp_ix *off);
#endif
