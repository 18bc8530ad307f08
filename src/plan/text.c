/* text: a plan as it prints and is read: symbols, ends, outputs, callbacks, buffers, then the
 * loops, one line a region. Rows of fields.def say what a line consists of, textvalues.c what
 * values look like.
 *
 *   dim t:T
 *   var t1
 *   ends T of B
 *   output f32 (t) [4] "y" @ rnn.lua:5
 *   c0 fn 2 (over b, t) gives f32 "act" @ rnn.lua:4
 *   b0 input 0 f32 "x" [T][4] size 4*T
 *   b1 temp f32 "h" [2][4] size 8 life 0..1
 *   b2 const f32 "" [][2] size 2 data [2] 0.5 1
 *   for t1 = 0 .. T step 1 of t {
 *     loop over a0 = 0 for 4 [mul:f32(i0,i1)] -> m0 out b1{0; ring t1 mod 2 by 4; lead 1}
 *       in b0{4*t1; lead 1} b1{...} "h" @ rnn.lua:3
 *   }
 *   loop over i1 = 0 for I | sum a0 = 0 for 4 out b3{0; lead 1, 0} in b0{0; lead 4, 1} @ rnn.lua:4
 *
 * `ends T of B`: T is the bound of a dim that ends by data, for each point of the dim with bound B.
 * A callback has its number, dims, results; with ticks it may be `tick`, `feed 0`, `show 1`. A
 * buffer has its kind, slot in tp_run, dtype, name, [slots][shape], the order of dims in memory if
 * it is another, elements, life; with `scope t1` its values leave no iteration of t1.
 *
 * A region goes over its axes, dims before those of elements (|); what is made along `sum`, `prod`,
 * `max`, `min` axes is folded. A micro's operands are the region's inputs (i0) and micros before it
 * (m0); without micros it is the input. `+=` after the results accumulates; ix(..) and at(t = t1)
 * are expressions of the operator and coordinates, `at(t = 1 ..)`: the result's first axis is
 * added. `of "x", "" checked`: NaN that is made of finite operands, of these names, ends the run.
 * `load T1 of T b3{..}` sets a variable to what a dim that ends by data has reached; `rows t1 of T
 * b3{..}` says which rows of a callback have ended at t1. `spill b1 by 0 rows lo for n up` and
 * `fetch b1 ..` are of a dim, `up`, `down` or neither, of a whole buffer
 * without `by` (plan.h); a plan that has them has a `limit` in bytes. */
#include "plan/text.h"
#define TP_FIELDS_OF_TEXT
#include "plan/textfields.def"

static bool buffer_line(parser *p) {
  tp_pbuf *b = TP_NEW(p->pl->a, tp_pbuf);
  int outputs = p->pl->products.n;
  if (!tp_scan_text(p, tp_text_buffer(), b)) return false;
  if ((b->kind == TP_BUF_OUTPUT && b->slot >= outputs) || b->holds >= outputs)
    return fail(p, "there is no such output");
  if (b->kind != TP_BUF_CONST) TP_PUSH(p->pl->a, &p->pl->bufs, b);
  return true;
}

/* ---- symbols, ends, outputs, callbacks ---- */

static const char *const callee_words[] = { "fn", "tick", "feed", "show" }; /* by -fn */

static void put_callee(text_writer *w, const void *x) {
  const tp_callee *c = x;
  tp_putf(w->b, " %s", callee_words[c->fn < 0 ? -c->fn : 0]);
  if (c->fn != TP_FN_TICK) tp_putf(w->b, " %d", c->fn < 0 ? c->slot : c->fn);
  tp_puts(w->b, " (");
  for (int d = 0; d < c->ndom; d++) {
    tp_putf(w->b, "%s%s", d ? ", " : "", c->over >> d & 1 ? "over " : "");
    tp_put_symbol(w, &c->dom[d]);
  }
  tp_puts(w->b, ")");
}

static bool scan_callee(parser *p, void *x) {
  tp_callee *c = x;
  tp_sym **dom = TP_NEWN(p->pl->a, tp_sym *, TP_MAXLEAD);
  int i, kind, number = 0;
  if (!numbered(p, 'c', &i) || !tp_scan_choice(&p->in, callee_words, TP_LEN(callee_words), &kind))
    return false;
  if (i != p->pl->calls.n) return fail(p, "callbacks must stand in order");
  if ((kind != -TP_FN_TICK && !tp_scan_small(&p->in, &number)) || !expect(p, "(")) return false;
  c->fn = kind ? -kind : number;
  c->slot = kind ? number : 0;
  for (c->dom = dom; !accept(p, ")"); c->ndom++) {
    if (c->ndom == TP_MAXLEAD - 1) return fail(p, "too many dims");
    if (c->ndom && !expect(p, ",")) return false;
    c->over |= (uint32_t)accept(p, "over") << c->ndom;
    if (!tp_kind_DIM.scan(p, &dom[c->ndom])) return false;
  }
  return true;
}

TEXT_KIND(CALLEE, char, put_callee, scan_callee, NULL);

static bool callee_line(parser *p) {
  tp_callee c = { 0 };
  bool ok = tp_scan_text(p, callee_rows(), &c);
  TP_PUSH(p->pl->a, &p->pl->calls, c);
  return ok;
}

static bool product_line(parser *p, bool hidden) {
  tp_product o = { .hidden = hidden };
  bool ok = tp_scan_text(p, product_rows(), &o);
  TP_PUSH(p->pl->a, &p->pl->products, o);
  return ok;
}

static bool end_line(parser *p) {
  tp_pend e = { 0 };
  bool ok = tp_scan_symbol(p, TP_SYM_BOUND, &e.bound) &&
      (!accept(p, "of") || tp_scan_symbol(p, TP_SYM_BOUND, &e.row)) && tp_scan_end(&p->in);
  TP_PUSH(p->pl->a, &p->pl->ends, e);
  return ok;
}

/* ---- statements ---- */

static const struct {
  const char *word;
  text_rows (*rows)(void);
} kinds[] = { [TP_P_FOR] = { "for", for_rows },
  [TP_P_IF] = { "if", if_rows },
  [TP_P_REGION] = { "", tp_text_region },
  [TP_P_LOAD] = { "load", load_rows },
  [TP_P_SPILL] = { "spill", kept_rows },
  [TP_P_FETCH] = { "fetch", kept_rows },
  [TP_P_BEHIND] = { "behind", behind_rows },
  [TP_P_WAIT] = { "wait", wait_rows } };

static void put_node(text_writer *w, const tp_pnode *x, int depth) {
  for (int i = 0; i < x->n && x->kind == TP_P_SEQ; i++) put_node(w, x->kid[i], depth);
  if (x->kind == TP_P_SEQ) return;
  tp_putf(w->b, "%*s%s", 2 * depth, "", kinds[x->kind].word);
  w->rg = x->rg;
  tp_put_text(w, kinds[x->kind].rows(), x->rg ? (const void *)x->rg : x);
  tp_puts(w->b, "\n");
  for (int i = 0; i < x->n; i++) {
    if (i) tp_putf(w->b, "%*s} else {\n", 2 * depth, "");
    put_node(w, x->kid[i], depth + 1);
  }
  if (x->n) tp_putf(w->b, "%*s}\n", 2 * depth, "");
}

static tp_pnode *block(parser *p, const char **text, bool inner);

static bool add_block(parser *p, const char **text, tp_pnode *x) {
  return tp_scan_end(&p->in) && (x->kid[x->n++] = block(p, text, true));
}

static bool statement_rest(parser *p, const char **text, tp_pnode *x) {
  bool region = x->kind == TP_P_REGION;
  p->rg = NULL;
  if (region ? !(x->rg = tp_scan_region(p)) : !tp_scan_text(p, kinds[x->kind].rows(), x))
    return false;
  if (!tp_node_check(p->pl, x, tp_scan_pos(&p->in), p->in.err)) return false;
  if ((x->kind == TP_P_FOR || x->kind == TP_P_IF || x->kind == TP_P_BEHIND) &&
      !add_block(p, text, x))
    return false;
  if (x->kind == TP_P_IF && tp_accept_text(p, "else {") && !add_block(p, text, x)) return false;
  return tp_scan_end(&p->in);
}

static tp_pnode *statement(parser *p, const char **text) {
  tp_pnode *x = TP_NEW(p->pl->a, tp_pnode);
  x->kind = TP_P_REGION;
  for (size_t k = TP_P_FOR; k < TP_LEN(kinds) && x->kind == TP_P_REGION; k++)
    if (k != TP_P_REGION && accept(p, kinds[k].word)) x->kind = (tp_pkind)k;
  x->kid = TP_NEWN(p->pl->a, tp_pnode *, 2);
  return statement_rest(p, text, x) ? x : NULL;
}

/* Reads a line that declares something; *told: it was one. */
static bool declaration(parser *p, bool *told) {
  tp_plan *pl = p->pl;
  *told = true;
  if (accept(p, "dim")) return tp_sym_line(p->ix, &p->in, TP_SYM_DIM);
  if (accept(p, "bound")) return tp_sym_line(p->ix, &p->in, TP_SYM_BOUND);
  if (accept(p, "var")) return tp_sym_line(p->ix, &p->in, TP_SYM_VAR);
  if (p->depth == 1 && is_numbered(p, 'b')) return buffer_line(p);
  if (p->depth == 1 && is_numbered(p, 'c')) return callee_line(p);
  if (accept(p, "ends")) return end_line(p);
  if (accept(p, "output")) return product_line(p, false);
  if (accept(p, "parameter")) return product_line(p, true);
  if (accept(p, "reproducible")) return (pl->reproducible = true) && tp_scan_end(&p->in);
  if (accept(p, "precise")) return (pl->precise = true) && tp_scan_end(&p->in);
  if (accept(p, "limit"))
    return tp_scan_int(&p->in, &pl->limit) &&
        (pl->limit > 0 || fail(p, "no such limit before this")) && tp_scan_end(&p->in);
  *told = false;
  return true;
}

/* Reads lines up to the one that closes the block, whose rest is left, or to the end of the
 * text. */
static tp_pnode *block(parser *p, const char **text, bool inner) {
  tp_pnodes l = { 0 };
  bool told, closed = false;
  if (++p->depth > DEPTH) return fail(p, "blocks are nested too deeply"), NULL;
  while (!closed && tp_scan_line(&p->in, text)) {
    if (!next_char(p) || strncmp(p->in.s, "--", 2) == 0) continue;
    if (inner && (closed = accept(p, "}"))) break;
    if (!declaration(p, &told)) return NULL;
    tp_pnode *x = told ? NULL : statement(p, text);
    if (!told && !x) return NULL;
    if (x) TP_PUSH(p->pl->a, &l, x);
  }
  p->depth--;
  if (closed != inner) return fail(p, "'}' is wanted"), NULL;
  return tp_plan_seq(p->pl->a, l.n, l.v);
}

static void put_end(text_writer *w, const tp_pend *e) {
  tp_puts(w->b, "ends ");
  tp_put_symbol(w, &e->bound);
  if (e->row) tp_puts(w->b, " of "), tp_put_symbol(w, &e->row);
  tp_puts(w->b, "\n");
}

/* Symbols that the text mentions are printed before all else. */
void tp_plan_print(tp_buf *b, const tp_plan *p) {
  tp_arena scratch;
  tp_buf text;
  tp_hold hold;
  tp_scratch_init(&scratch);
  tp_buf_hold(&text, &hold);
  text_writer w = { &text, TP_NEWN(&scratch, bool, tp_nsym(p->ix)), NULL, p };
  for (int i = 0; i < p->ends.n; i++) put_end(&w, &p->ends.v[i]);
  for (int i = 0; i < p->products.n; i++)
    tp_puts(&text, p->products.v[i].hidden ? "parameter " : "output "),
        tp_put_text(&w, product_rows(), &p->products.v[i]), tp_puts(&text, "\n");
  for (int i = 0; i < p->calls.n; i++)
    tp_putf(&text, "c%d", i), tp_put_text(&w, callee_rows(), &p->calls.v[i]), tp_puts(&text, "\n");
  if (p->reproducible) tp_puts(&text, "reproducible\n");
  if (p->precise) tp_puts(&text, "precise\n");
  if (p->limit) tp_putf(&text, "limit %lld\n", (long long)p->limit);
  for (int i = 0; i < p->bufs.n; i++)
    tp_put_text(&w, tp_text_buffer(), p->bufs.v[i]), tp_puts(&text, "\n");
  put_node(&w, p->body, 0);
  tp_syms_print(b, p->ix, w.used);
  tp_putn(b, text.s, text.n);
  b->failed |= text.failed;
  tp_buf_drop(&text, &hold);
  tp_arena_free(&scratch);
}

/* Do all lives of buffers lie inside the plan? */
static bool lives(parser *p) {
  for (int i = 0; i < p->pl->bufs.n; i++) {
    const tp_pbuf *b = p->pl->bufs.v[i];
    if (b->last < b->first || b->last >= p->pl->npos)
      return fail(p, "a buffer's life does not lie inside the plan");
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

tp_plan *tp_plan_parse(tp_ictx *ix, const tp_machine *m, const char *text, tp_error *err) {
  tp_plan *pl = tp_calloc(sizeof *pl);
  tp_error own = { 0 };
  if (!err) err = &own;
  if (!pl) return tp_fail(err, TP_E_MEMORY, (tp_pos){ 0 }, "no memory for a plan"), NULL;
  tp_arena_init(&pl->own);
  pl->machine = m;
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
