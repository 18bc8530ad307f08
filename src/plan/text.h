/* Inside src/plan: how the rows of fields.def are written and read (textrows.c), and their
 * values. */
#ifndef TP_PLAN_TEXT_H
#define TP_PLAN_TEXT_H
#include "plan/priv.h"
#include <ctype.h>

enum { DEPTH = 64, LISTED = 256 }; /* blocks one inside another; items of a list */

/* rg: the region that is written. used: symbols that were written. */
typedef struct {
  tp_buf *b;
  bool *used;
  const tp_region *rg;
  const tp_plan *p;
} text_writer;
typedef struct {
  tp_plan *pl;
  tp_ictx *ix;
  tp_scan in;
  int depth;
  const tp_region *rg;
} parser;

typedef struct text_row text_row;
typedef struct {
  int n;
  const text_row *v;
} text_rows;

/* How values of one kind are written: by `rows`, or by put and scan; put NULL: no text. next: does
 * a value begin here? NULL: always. */
typedef struct value_kind {
  size_t size;
  void (*put)(text_writer *w, const void *x);
  bool (*scan)(parser *p, void *x);
  bool (*next)(parser *p);
  text_rows (*rows)(void);
} value_kind;
#define TEXT_KIND(KIND, type, put, scan, next) \
  const value_kind tp_kind_##KIND = { sizeof(type), put, scan, next, NULL }
#define TEXT_KIND_OF(KIND, type, rows, next) \
  const value_kind tp_kind_##KIND = { sizeof(type), NULL, NULL, next, rows }
struct text_row {
  const char *text;
  const value_kind *kind;
  enum { MUST, MAY, WITH } when;
  enum { ONE, COMMAS, EACH, FOLLOW } many;
  size_t at, count;
};

static inline bool fail(parser *p, const char *what) { return tp_scan_fail(&p->in, what); }
static inline bool accept(parser *p, const char *text) { return tp_accept(&p->in, text); }
static inline bool expect(parser *p, const char *text) { return tp_expect(&p->in, text); }

static inline char next_char(parser *p) {
  tp_scan_space(&p->in);
  return *p->in.s;
}

/* The letter before a number: b3, i0, m1. */
static inline bool is_numbered(parser *p, char c) {
  return next_char(p) == c && isdigit((unsigned char)p->in.s[1]);
}
static inline bool numbered(parser *p, char c, int *v) {
  return is_numbered(p, c) && (p->in.s++, tp_scan_small(&p->in, v));
}

static inline bool no_close(parser *p) { return next_char(p) != ')' && next_char(p) != ']'; }

/* textrows.c */
void tp_put_text(text_writer *w, text_rows t, const void *x);
bool tp_scan_text(parser *p, text_rows t, void *x);
bool tp_scan_items(parser *p, const text_row *r, int *count, void *list);
bool tp_expect_text(parser *p, const char *text);
bool tp_accept_text(parser *p, const char *text); /* all of it, or nothing is taken */
void tp_put_expr(text_writer *w, tp_ix *e);
void tp_put_symbol(text_writer *w, const void *x);
bool tp_scan_symbol(parser *p, tp_symkind kind, void *x);
bool tp_scan_any(parser *p, tp_ix **e); /* over bounds and variables: a number or a condition */
/* textvalues.c */
text_rows tp_text_region(void), tp_text_buffer(void);
tp_region *tp_scan_region(parser *p);
extern const value_kind tp_kind_IX, tp_kind_COND, tp_kind_EXTENT, tp_kind_VAR, tp_kind_DIM,
    tp_kind_PLACE, tp_kind_FLAG, tp_kind_DTYPE, tp_kind_TITLE, tp_kind_NAME, tp_kind_WHO,
    tp_kind_POS, tp_kind_STEP, tp_kind_WAY, tp_kind_RING, tp_kind_NUMBER, tp_kind_BUFFER,
    tp_kind_LEADS, tp_kind_SPAN, tp_kind_WINDOW, tp_kind_ENDS, tp_kind_WORK, tp_kind_HOW,
    tp_kind_AXES, tp_kind_MICROS, tp_kind_ACC, tp_kind_COORDS, tp_kind_ROWS, tp_kind_BUFKIND,
    tp_kind_LAYOUT, tp_kind_DATA, tp_kind_CALLEE;
#endif
