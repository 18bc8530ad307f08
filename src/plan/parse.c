/* Reads what print.c prints, line by line; empty lines and comments after -- may stand between. Each region is checked (check.c) before the next line. */
#include "plan/priv.h"
#include <ctype.h>
#include <stdio.h>

enum { DEPTH = 64, LISTED = 64 };                 /* blocks one inside another; items of a list */

typedef struct {
  tp_plan *pl;
  tp_ictx *ix;
  tp_scan in;
  int depth;
} parser;

static bool fail(parser *p, const char *what) { return tp_scan_fail(&p->in, what); }
static bool accept(parser *p, const char *text) { return tp_accept(&p->in, text); }
static bool expect(parser *p, const char *text) { return tp_expect(&p->in, text); }

/* The letter before a number: b3, i0, m1. */
static bool letter(parser *p, char c) {
  tp_scan_space(&p->in);
  bool is = *p->in.s == c && isdigit((unsigned char)p->in.s[1]);
  p->in.s += is;
  return is;
}

/* ---- expressions ---- */

/* Over bounds and variables: a number or a condition. */
static bool any_expression(parser *p, const tp_ix **e) {
  const tp_sym *const *s;
  *e = tp_ix_parse(p->ix, &p->in.s, p->in.err);
  if (!*e) {
    if (p->in.err->code) p->in.err->pos = tp_scan_pos(&p->in);
    return fail(p, "an expression is wanted");
  }
  for (int i = 0, n = tp_ix_syms(*e, &s); i < n; i++)
    if (s[i]->kind == TP_SYM_DIM) return fail(p, "a dim has no value in a plan, before this");
  return true;
}

static bool expression(parser *p, const tp_ix **e) { return any_expression(p, e) && (!tp_ix_is_cond(*e) || fail(p, "a number is wanted before this")); }
static bool condition(parser *p, const tp_ix **e) { return any_expression(p, e) && (tp_ix_is_cond(*e) || fail(p, "a condition is wanted before this")); }

typedef struct { int n; const tp_ix *v[LISTED]; } expr_list;

static bool comma_list(parser *p, expr_list *l, bool (*one)(parser *, const tp_ix **)) {
  l->n = 0;
  do {
    if (l->n == LISTED) return fail(p, "too many expressions");
    if (!one(p, &l->v[l->n++])) return false;
  } while (accept(p, ","));
  return true;
}

/* "[a, b]", "[]" */
static bool bracketed(parser *p, expr_list *l) {
  l->n = 0;
  if (!expect(p, "[")) return false;
  return accept(p, "]") || (comma_list(p, l, expression) && expect(p, "]"));
}

static const tp_ix **keep(parser *p, const expr_list *l) { return l->n ? tp_dup(p->pl->a, l->v, sizeof *l->v * (size_t)l->n) : NULL; }

/* ---- symbols ---- */

static bool symbol(parser *p, tp_symkind kind, const tp_sym **s) {
  const char *name = tp_scan_word(&p->in);
  if (!name) return false;
  *s = tp_sym_find(p->ix, name);
  return (*s && (*s)->kind == kind) || fail(p, kind == TP_SYM_VAR ? "a variable is wanted before this" : kind == TP_SYM_DIM ? "a dim is wanted before this" : "a bound is wanted before this");
}

/* ---- buffers ---- */

/* "[2, 3] 1 2 3 4 5 6" */
static bool data(parser *p, tp_pbuf *b) {
  int64_t shape[TP_MAXRANK];
  int rank = 0;
  if (!expect(p, "[")) return false;
  while (!accept(p, "]")) {
    if (rank == TP_MAXRANK) return fail(p, "too many axes");
    if ((rank && !expect(p, ",")) || !tp_scan_int(&p->in, &shape[rank++])) return false;
  }
  return (b->data = tp_scan_array(&p->in, b->dtype, rank, shape)) != NULL;
}

/* Each dim once. */
static bool order(parser *p, tp_pbuf *b) {
  int *v = TP_NEWN(p->pl->a, int, b->ndim);
  bool *seen = TP_NEWN(p->pl->a, bool, b->ndim);
  for (int k = 0; k < b->ndim; k++) {
    if (!tp_scan_small(&p->in, &v[k])) return false;
    if (v[k] < 0 || v[k] >= b->ndim || seen[v[k]]) return fail(p, "an order names every dim once");
    seen[v[k]] = true;
  }
  b->order = v;
  return true;
}

static bool read_layout(parser *p, tp_pbuf *b) {
  expr_list slots, shape;
  if (!bracketed(p, &slots) || !bracketed(p, &shape)) return false;
  b->ndim = slots.n;
  b->rank = shape.n;
  b->slots = TP_NEWN(p->pl->a, const tp_ix *, slots.n + shape.n);
  for (int i = 0; i < slots.n + shape.n; i++) b->slots[i] = i < slots.n ? slots.v[i] : shape.v[i - slots.n];
  return (!accept(p, "order") || order(p, b)) && expect(p, "size") && expression(p, &b->size);
}

static bool buffer_line(parser *p) {
  tp_pbuf *b = TP_NEW(p->pl->a, tp_pbuf);
  int kind;
  if (!letter(p, 'b') || !tp_scan_small(&p->in, &b->id) || !tp_scan_choice(&p->in, tp_bufkind_names, TP_NBUFKIND, &kind)) return false;
  if (b->id != p->pl->bufs.n) return fail(p, "buffers must stand in order");
  b->kind = (tp_bufkind)kind;
  b->first = b->last = -1;
  if (b->kind != TP_BUF_TEMP && b->kind != TP_BUF_CONST && !tp_scan_small(&p->in, &b->slot)) return false;
  if (!tp_scan_dtype(&p->in, &b->dtype) || !(b->name = tp_scan_string(&p->in)) || !read_layout(p, b)) return false;
  TP_PUSH(p->pl->a, &p->pl->bufs, b);
  if (accept(p, "life") && !(tp_scan_small(&p->in, &b->first) && expect(p, "..") && tp_scan_small(&p->in, &b->last))) return false;
  b->far = accept(p, "far");
  if (b->kind == TP_BUF_CONST && !(expect(p, "data") && data(p, b))) return false;
  return tp_scan_end(&p->in);
}

/* ---- windows ---- */

static bool ring(parser *p, tp_nd *x) {
  tp_ring r, *all = TP_NEWN(p->pl->a, tp_ring, x->nring + 1);
  if (!expression(p, &r.idx) || !expect(p, "mod") || !expression(p, &r.width) || !expect(p, "by") || !expression(p, &r.stride)) return false;
  if (x->nring == LISTED) return fail(p, "too many rings");
  for (int i = 0; i < x->nring; i++) all[i] = x->ring[i];
  all[x->nring++] = r;
  x->ring = all;
  return true;
}

static bool box(parser *p, tp_nd *x) {
  expr_list shape, stride;
  if (!comma_list(p, &shape, expression) || !expect(p, "by") || !comma_list(p, &stride, expression)) return false;
  if (shape.n != stride.n) return fail(p, "as many strides as extents are wanted before this");
  x->rank = shape.n;
  x->shape = keep(p, &shape);
  x->stride = keep(p, &stride);
  return true;
}

static bool lead_strides(parser *p, tp_nd *x, int nlead) {
  expr_list l;
  if (!comma_list(p, &l, expression)) return false;
  x->lead = keep(p, &l);
  return l.n == nlead || fail(p, "as many strides as leading axes are wanted before this");
}

static bool read_window(parser *p, tp_nd *x, int nlead) {
  *x = (tp_nd){ .buf = -1, .wrap = -1 };
  if (!accept(p, "none") && !(letter(p, 'b') && tp_scan_small(&p->in, &x->buf))) return false;
  if (!expect(p, "{") || !expression(p, &x->off)) return false;
  while (accept(p, ";")) {
    bool ok;
    if (accept(p, "ring")) ok = ring(p, x);
    else if (accept(p, "lead")) ok = lead_strides(p, x, nlead);
    else if (accept(p, "box")) ok = box(p, x);
    else if (accept(p, "wrap")) ok = tp_scan_small(&p->in, &x->wrap) && expect(p, "at") && expression(p, &x->wlo) && expect(p, "mod") && expression(p, &x->wmod);
    else ok = fail(p, "ring, lead, box or wrap is wanted");
    if (!ok) return false;
  }
  return expect(p, "}");
}

static bool is_window(parser *p) {
  tp_scan_space(&p->in);
  const char *s = p->in.s;
  return (s[0] == 'b' && isdigit((unsigned char)s[1])) || strncmp(s, "none{", 5) == 0;
}

static bool read_windows(parser *p, tp_nd **v, int *n, int nlead) {
  TP_VEC(tp_nd) l = { 0 };
  tp_nd x;
  while (is_window(p)) {
    if (l.n == 4 * LISTED) return fail(p, "too many windows");
    if (!read_window(p, &x, nlead)) return false;
    TP_PUSH(p->pl->a, &l, x);
  }
  *v = l.v;
  *n = l.n;
  return true;
}

/* ---- micros ---- the number of inputs is known only later: references to micros are kept as -1 - k until then */

typedef TP_VEC(tp_micro) microvec;

static bool reference(parser *p, int *in) {
  bool micro = letter(p, 'm');
  if (!micro && !letter(p, 'i')) return fail(p, "i0 or m0 is wanted");
  if (!tp_scan_small(&p->in, in)) return false;
  if (micro) *in = -1 - *in;
  return true;
}

static bool micro_attr(parser *p, tp_micro *m) {
  if (m->op == TP_OP_FILL) return tp_scan_double(&p->in, &m->f);
  return m->op != TP_OP_VALUE || any_expression(p, &m->ix);
}

static bool micro(parser *p, tp_micro *m) {
  const char *name = tp_scan_word(&p->in);
  *m = (tp_micro){ 0 };
  if (!name || !expect(p, ":")) return false;
  if (!tp_op_parse(name, &m->op)) return fail(p, "an unknown operator before this");
  if (!tp_scan_dtype(&p->in, &m->dtype) || !expect(p, "(") || !micro_attr(p, m)) return false;
  int nin = tp_ops[m->op].nin;
  if (nin < 0 || nin > 3) return fail(p, "an operator that is not elementwise");
  for (int j = 0; j < nin; j++)
    if ((j && !expect(p, ",")) || !reference(p, &m->in[j])) return false;
  return expect(p, ")");
}

static bool read_micros(parser *p, tp_region *r) {
  microvec l = { 0 };
  TP_VEC(int) outs = { 0 };
  tp_micro m;
  int k;
  while (!accept(p, "]")) {
    if (!micro(p, &m)) return false;
    TP_PUSH(p->pl->a, &l, m);
  }
  if (!expect(p, "->")) return false;
  while (!accept(p, "out")) {
    if (!letter(p, 'm')) return fail(p, "m0 or 'out' is wanted");
    if (!tp_scan_small(&p->in, &k)) return false;
    TP_PUSH(p->pl->a, &outs, k);
  }
  r->micro = l.v;
  r->nmicro = l.n;
  r->outmicro = outs.v;
  r->nout = outs.n;                             /* as many windows must follow */
  return true;
}

static void settle_references(tp_region *r) {
  for (int k = 0; k < r->nmicro; k++)
    for (int j = 0; j < 3; j++) {
      int *in = &r->micro[k].in[j];
      if (*in < 0) *in = r->nin + (-1 - *in);
      else if (j < tp_ops[r->micro[k].op].nin && *in >= r->nin) *in = -1;    /* i3 of two inputs */
    }
}

/* ---- regions ---- */

static bool attributes(parser *p, tp_region *r) {
  bool known;
  if (!accept(p, "{")) return true;
  do {
    const char *key = tp_scan_word(&p->in);
    if (key && strcmp(key, "what") == 0) {
      if (!(r->who.what = tp_scan_string(&p->in))) return false;
      continue;
    }
    if (!key || !tp_scan_field(&p->in, p->ix, tp_how_fields, &r->how, key, &known)) return false;
    if (!known) return fail(p, "an unknown attribute before this");
  } while (accept(p, ","));
  return expect(p, "}");
}

/* Is this "t = e" and not an expression? */
static bool named_next(parser *p) {
  tp_scan at = p->in;
  tp_error err = { 0 };
  at.err = &err;
  return tp_scan_word(&at) && tp_accept(&at, "=") && *at.s != '=';
}

/* "sum" before an axis; all are folded by one. */
static bool folded(parser *p, tp_region *r) {
  for (int k = TP_RED_SUM; k <= TP_RED_MIN && !named_next(p); k++) {
    if (!accept(p, tp_red_name((tp_red)k))) continue;
    if (r->sums && r->red != (tp_red)k) return fail(p, "axes are folded by one operator, not by this");
    r->sums |= 1u << r->nlead;
    r->red = (tp_red)k;
  }
  return true;
}

static bool next_is(parser *p, char c) {
  tp_scan_space(&p->in);
  return *p->in.s == c;
}

static bool leading(parser *p, tp_region *r) {
  expr_list lo = { 0 }, n = { 0 };
  const tp_sym *var[TP_MAXLEAD];
  bool loop = r->kind == TP_RG_LOOP, elements = false;
  do {
    if (r->nlead == TP_MAXLEAD) return fail(p, "too many leading axes");
    if (loop && !elements && accept(p, "|")) elements = true, r->npoint = r->nlead;
    if (loop && !folded(p, r)) return false;
    if (!symbol(p, TP_SYM_VAR, &var[r->nlead++]) || !expect(p, "=") || !expression(p, &lo.v[lo.n++])) return false;
    if (!expect(p, "for") || !expression(p, &n.v[n.n++])) return false;
  } while (accept(p, ",") || (loop && next_is(p, '|')));
  if (!elements) r->npoint = r->nlead;
  r->leadvar = tp_dup(p->pl->a, var, sizeof *var * (size_t)r->nlead);
  r->leadlo = keep(p, &lo);
  r->lead = keep(p, &n);
  return true;
}

static bool operator(parser *p, tp_region *r) {
  const char *name = tp_scan_word(&p->in);
  return name && (tp_op_parse(name, &r->op) || fail(p, "an unknown operator before this"));
}

/* Until the results. */
static bool head(parser *p, tp_region *r) {
  int kind;
  if (!tp_scan_choice(&p->in, tp_rg_names, TP_NRG, &kind)) return false;
  r->kind = (tp_rgkind)kind;
  if (r->kind == TP_RG_OP && !operator(p, r)) return false;
  if (r->kind == TP_RG_CALL && !(letter(p, 'c') && tp_scan_small(&p->in, &r->call))) return fail(p, "a callback is wanted: c0");
  if (!attributes(p, r) || (accept(p, "over") && !leading(p, r))) return false;
  if (!accept(p, "[")) return expect(p, "out");
  return read_micros(p, r);
}

static bool accumulation(parser *p, tp_region *r) {
  static const char *const reds[] = { "+=", "*=", "max=", "min=" };
  for (int i = 0; i < (int)TP_LEN(reds); i++)
    if (accept(p, reds[i])) {
      if (r->sums && r->red != (tp_red)i) return fail(p, "axes are folded by another operator before this");
      r->acc = true;
      r->red = (tp_red)i;
    }
  return true;
}

static bool coords(parser *p, tp_region *r) {
  expr_list l = { 0 };
  const tp_sym *dim[LISTED];
  int ndim = 0;
  do {
    if (l.n == LISTED) return fail(p, "too many coordinates");
    if (named_next(p) && !(symbol(p, TP_SYM_DIM, &dim[ndim++]) && expect(p, "="))) return false;
    if (!expression(p, &l.v[l.n++])) return false;
    if (accept(p, "..")) r->along |= 1u << (l.n - 1);
  } while (accept(p, ","));
  r->ncoord = l.n;
  r->coord = keep(p, &l);
  r->dim = ndim ? tp_dup(p->pl->a, dim, sizeof *dim * (size_t)ndim) : NULL;
  return ndim == l.n || (ndim == 0 && r->kind != TP_RG_CALL) || fail(p, "a coordinate without its dim before this");
}

/* "T b3{0; box B by 1}": the bound given and what was reached. */
static bool ends(parser *p, const tp_ix **given, tp_nd *x) {
  return expect(p, "of") && expression(p, given) && (is_window(p) || fail(p, "a window is wanted")) && read_window(p, x, 0);
}

static bool rows(parser *p, tp_region *r) {
  tp_rows x, *all = TP_NEWN(p->pl->a, tp_rows, r->nrows + 1);
  x.along = -1;
  if (!expression(p, &x.at) || (accept(p, "along") && !tp_scan_small(&p->in, &x.along)) || !ends(p, &x.given, &x.nd)) return false;
  if (r->nrows == LISTED) return fail(p, "too many rows");
  for (int i = 0; i < r->nrows; i++) all[i] = r->rows[i];
  all[r->nrows++] = x;
  r->rows = all;
  return true;
}

/* After the inputs. */
static bool said(parser *p, tp_region *r) {
  tp_who v[LISTED];
  do {
    const char *name = tp_scan_string(&p->in);
    if (r->nsaid == LISTED) return fail(p, "too many names");
    if (!name) return false;
    v[r->nsaid++] = (tp_who){ .name = *name ? name : NULL };
  } while (accept(p, ","));
  r->said = tp_dup(p->pl->a, v, sizeof *v * (size_t)r->nsaid);
  return true;
}

static bool tail(parser *p, tp_region *r) {
  expr_list l;
  if (accept(p, "ix")) {
    if (!expect(p, "(") || !comma_list(p, &l, expression) || !expect(p, ")")) return false;
    r->nix = l.n;
    r->ix = keep(p, &l);
  }
  if (accept(p, "at") && !(expect(p, "(") && coords(p, r) && expect(p, ")"))) return false;
  while (accept(p, "rows"))
    if (!rows(p, r)) return false;
  if (accept(p, "row") && !expression(p, &r->row)) return false;
  r->far = accept(p, "far");
  if (r->far && !r->row) return fail(p, "a far region without its row before this");
  if (accept(p, "of") && !said(p, r)) return false;
  r->check = accept(p, "checked");
  tp_scan_space(&p->in);
  if (*p->in.s == '"' && !(r->who.name = tp_scan_string(&p->in))) return false;
  return tp_scan_where(&p->in, &r->pos) && tp_scan_end(&p->in);
}

static tp_region *read_region(parser *p) {
  tp_region *r = TP_NEW(p->pl->a, tp_region);
  if (!head(p, r)) return NULL;
  int results = r->nout;
  if (!read_windows(p, &r->out, &r->nout, r->nlead) || !accumulation(p, r)) return NULL;
  if (!r->nmicro) r->outmicro = TP_NEW(p->pl->a, int);
  if (r->nmicro && results != r->nout) return fail(p, "as many windows as results are wanted"), NULL;
  if (accept(p, "in") && !read_windows(p, &r->in, &r->nin, r->nlead)) return NULL;
  if (!tail(p, r)) return NULL;
  settle_references(r);
  return tp_region_check(p->pl, r, tp_scan_pos(&p->in), p->in.err) ? r : NULL;
}

/* ---- blocks ---- */

static tp_pnode *block(parser *p, const char **text, bool inner);

static tp_pnode *pnode(parser *p, tp_pkind kind, int nkid) {
  tp_pnode *x = TP_NEW(p->pl->a, tp_pnode);
  x->kind = kind;
  x->kid = TP_NEWN(p->pl->a, tp_pnode *, nkid);
  return x;
}

static bool for_head(parser *p, tp_pnode *x) {
  int64_t step;
  if (!symbol(p, TP_SYM_VAR, &x->var) || !expect(p, "=") || !expression(p, &x->lo) || !expect(p, "..") || !expression(p, &x->hi)) return false;
  if (!expect(p, "step") || !tp_scan_int(&p->in, &step)) return false;
  x->step = (int)step;
  if (step == 0 || step != x->step) return fail(p, "no such step before this");
  if (accept(p, "of") && !symbol(p, TP_SYM_DIM, &x->label)) return false;
  x->parallel = accept(p, "parallel");
  return true;
}

static bool opened(parser *p) { return expect(p, "{") && tp_scan_end(&p->in); }

static tp_pnode *loop(parser *p, const char **text) {
  tp_pnode *x = pnode(p, TP_P_FOR, 1);
  if (!for_head(p, x) || !opened(p) || !(x->kid[0] = block(p, text, true)) || !tp_scan_end(&p->in)) return NULL;
  x->n = 1;
  return x;
}

static tp_pnode *branch(parser *p, const char **text) {
  tp_pnode *x = pnode(p, TP_P_IF, 2);
  if (!condition(p, &x->cond) || !opened(p) || !(x->kid[0] = block(p, text, true))) return NULL;
  x->n = 1;
  if (accept(p, "else")) {
    if (!opened(p) || !(x->kid[1] = block(p, text, true))) return NULL;
    x->n = 2;
  }
  return tp_scan_end(&p->in) ? x : NULL;
}

static tp_pnode *load(parser *p) {
  tp_pnode *x = pnode(p, TP_P_LOAD, 0);
  x->nd = TP_NEW(p->pl->a, tp_nd);
  if (!symbol(p, TP_SYM_VAR, &x->var) || !ends(p, &x->given, x->nd) || !tp_scan_end(&p->in)) return NULL;
  return tp_end_check(p->pl, x->nd, tp_scan_pos(&p->in), p->in.err) ? x : NULL;
}

static tp_pnode *kept_rows(parser *p, tp_pkind kind) {
  tp_pnode *x = pnode(p, kind, 0);
  x->dim = -1;
  tp_scan_space(&p->in);
  if (*p->in.s++ != 'b') return fail(p, "a buffer is wanted before this"), NULL;
  if (!tp_scan_small(&p->in, &x->buf) || (accept(p, "by") && !tp_scan_small(&p->in, &x->dim))) return NULL;
  x->inner = accept(p, "inner");
  if (!expect(p, "rows") || !expression(p, &x->lo) || !expect(p, "for") || !expression(p, &x->hi)) return NULL;
  x->step = accept(p, "up") ? 1 : accept(p, "down") ? -1 : 0;
  x->made = accept(p, "made");
  return tp_scan_end(&p->in) && tp_kept_check(p->pl, x, tp_scan_pos(&p->in), p->in.err) ? x : NULL;
}

static tp_pnode *statement(parser *p, const char **text) {
  if (accept(p, "spill")) return kept_rows(p, TP_P_SPILL);
  if (accept(p, "fetch")) return kept_rows(p, TP_P_FETCH);
  if (accept(p, "load")) return load(p);
  if (accept(p, "for")) return loop(p, text);
  if (accept(p, "if")) return branch(p, text);
  tp_pnode *x = pnode(p, TP_P_REGION, 0);
  return (x->rg = read_region(p)) ? x : NULL;
}

/* ---- what it stands on ---- */

static bool named(parser *p, const char **name, tp_pos *pos) {
  tp_scan_space(&p->in);
  return (*p->in.s != '"' || (*name = tp_scan_string(&p->in))) && tp_scan_where(&p->in, pos) && tp_scan_end(&p->in);
}

static bool callee_results(parser *p, tp_callee *c) {
  tp_dtype d[LISTED];
  if (!accept(p, "gives")) return true;
  do {
    if (c->nres == LISTED) return fail(p, "too many results");
    if (!tp_scan_dtype(&p->in, &d[c->nres++])) return false;
  } while (accept(p, ","));
  c->res = tp_dup(p->pl->a, d, sizeof *d * (size_t)c->nres);
  return true;
}

static bool callee_line(parser *p) {
  tp_callee c = { 0 };
  const tp_sym *dom[32];
  int i, kind, number = 0;
  if (!letter(p, 'c') || !tp_scan_small(&p->in, &i) || !tp_scan_choice(&p->in, tp_callee_words, 4, &kind)) return false;
  if (i != p->pl->calls.n) return fail(p, "callbacks must stand in order");
  if ((kind != -TP_FN_TICK && !tp_scan_small(&p->in, &number)) || !expect(p, "(")) return false;
  c.fn = kind ? -kind : number;
  c.slot = kind ? number : 0;
  while (!accept(p, ")")) {
    if (c.ndom == 31) return fail(p, "too many dims");
    if (c.ndom && !expect(p, ",")) return false;
    if (accept(p, "over")) c.over |= 1u << c.ndom;
    if (!symbol(p, TP_SYM_DIM, &dom[c.ndom++])) return false;
  }
  c.dom = tp_dup(p->pl->a, dom, sizeof *dom * (size_t)c.ndom);
  if (!callee_results(p, &c) || !named(p, &c.name, &c.pos)) return false;
  TP_PUSH(p->pl->a, &p->pl->calls, c);
  return true;
}

static bool product_line(parser *p, bool hidden) {
  tp_product o = { .hidden = hidden };
  if (!tp_scan_dtype(&p->in, &o.type.dtype) || !tp_scan_list(&p->in, p->ix, TP_F_DIMS, &o.ndim, &o.dims)) return false;
  if (!tp_scan_list(&p->in, p->ix, TP_F_EXTENTS, &o.type.rank, &o.type.shape) || !named(p, &o.name, &o.pos)) return false;
  for (int i = 0; i < o.ndim; i++)
    if (!o.dims[i]->bound) return fail(p, "a dim without a bound before this");
  TP_PUSH(p->pl->a, &p->pl->products, o);
  return true;
}

static bool end_line(parser *p) {
  const tp_sym *s;
  if (!symbol(p, TP_SYM_BOUND, &s) || !tp_scan_end(&p->in)) return false;
  TP_PUSH(p->pl->a, &p->pl->ends, s);
  return true;
}

static bool is_callee(parser *p) { return p->depth == 1 && p->in.s[0] == 'c' && isdigit((unsigned char)p->in.s[1]); }
static bool is_buffer(parser *p) { return p->depth == 1 && p->in.s[0] == 'b' && isdigit((unsigned char)p->in.s[1]); }

/* A line that names something; *told: it was one. */
static bool declaration(parser *p, bool *told) {
  *told = true;
  if (is_buffer(p)) return buffer_line(p);
  if (is_callee(p)) return callee_line(p);
  if (p->depth == 1 && accept(p, "ends")) return end_line(p);
  if (p->depth == 1 && accept(p, "output")) return product_line(p, false);
  if (p->depth == 1 && accept(p, "parameter")) return product_line(p, true);
  if (accept(p, "dim")) return tp_sym_line(p->ix, &p->in, TP_SYM_DIM);
  if (accept(p, "bound")) return tp_sym_line(p->ix, &p->in, TP_SYM_BOUND);
  if (accept(p, "var")) return tp_sym_line(p->ix, &p->in, TP_SYM_VAR);
  if (accept(p, "lag")) return tp_scan_small(&p->in, &p->pl->lag) && (p->pl->lag > 0 || fail(p, "no such lag before this")) && tp_scan_end(&p->in);
  if (accept(p, "limit")) return tp_scan_int(&p->in, &p->pl->limit) && (p->pl->limit > 0 || fail(p, "no such limit before this")) && tp_scan_end(&p->in);
  *told = false;
  return true;
}

/* Lines up to the one that closes the block, whose rest is left, or to the end of the text. */
static tp_pnode *block(parser *p, const char **text, bool inner) {
  TP_VEC(tp_pnode *) l = { 0 };
  bool told, closed = false;
  if (++p->depth > DEPTH) return fail(p, "blocks are nested too deeply"), NULL;
  while (!closed && tp_scan_line(&p->in, text)) {
    tp_scan_space(&p->in);
    if (!*p->in.s || strncmp(p->in.s, "--", 2) == 0) continue;
    if (inner && (closed = accept(p, "}"))) break;
    if (!declaration(p, &told)) return NULL;
    tp_pnode *x = told ? NULL : statement(p, text);
    if (!told && !x) return NULL;
    if (x) TP_PUSH(p->pl->a, &l, x);
  }
  p->depth--;
  if (closed != inner) return fail(p, "'}' is wanted"), NULL;
  if (l.n == 1) return l.v[0];
  tp_pnode *x = pnode(p, TP_P_SEQ, 0);
  x->n = l.n;
  x->kid = l.v;
  return x;
}

/* ---- the whole ---- */

/* Lives lie inside the plan. */
static bool lives(parser *p) {
  for (int i = 0; i < p->pl->bufs.n; i++) {
    const tp_pbuf *b = p->pl->bufs.v[i];
    if (b->last < b->first || b->last >= p->pl->npos) return fail(p, "a buffer's life does not lie inside the plan");
  }
  return true;
}

static bool read_all(tp_plan *pl, const char *text, tp_error *err) {
  tp_guard oom;
  if (!TP_GUARDED(&oom)) return tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "no memory for the plan");
  parser p = { .pl = pl, .ix = pl->ix };
  tp_scan_init(&p.in, "plan", pl->a, tp_ictx_arena(p.ix), err);
  bool ok = (pl->body = block(&p, &text, false)) != NULL;
  if (ok) tp_plan_number(pl);
  ok = ok && lives(&p);
  if (ok && tp_ictx_overflowed(p.ix)) ok = fail(&p, "a number that is too large");
  tp_unguard(&oom);
  return ok;
}

tp_plan *tp_plan_parse(tp_ictx *ix, const char *text, tp_error *err) {
  tp_plan *pl = tp_calloc(sizeof *pl);
  tp_error own = { 0 };
  if (!err) err = &own;
  if (!pl) return tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "no memory for a plan"), NULL;
  tp_arena_init(&pl->own);
  pl->ix = ix;
  pl->a = &pl->own;
  return read_all(pl, text, err) ? pl : tp_plan_free(pl);
}

tp_plan *tp_plan_free(tp_plan *p) {
  if (!p) return NULL;
  for (int i = 0; i < p->bufs.n; i++) tp_array_unref(p->bufs.v[i]->data);
  tp_arena_free(&p->own);
  tp_free(p);
  return NULL;
}
