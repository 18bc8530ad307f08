/* emit.c: prints the plan's tree as functions. A FOR becomes a for, an IF an if, a LOOP loops
 * (body/loop.c); other leaves become calls of the target's leaf. Symbols are locals: a function
 * reads them from the environment when it begins, and writes them back at the begin of an iteration
 * that calls. */
#include "emit/priv.h"

/* loops in a function: statements beyond are functions of their own */
enum { FULL = 32 };

/* ---- how long functions become ---- */

static int weight(tp_emit *e, const tp_pnode *x) {
  int n = 0;
  TP_EACH_NODE (k, x) n += k.x->rg && tp_emit_knows(e, k.x) ? 1 + k.x->rg->nmicro / 8 : 0;
  return n;
}

/* The team that begins with x, unless it is being written; NULL: none does. */
static const tp_team *team_at(const tp_emit *e, const tp_pnode *x) {
  const tp_teams *t = e->to->host ? e->p->teams : NULL;
  for (int i = 0; t && !e->teamed && i < t->nteam; i++)
    if (t->team[i].v[0].as == x) return &t->team[i];
  return NULL;
}

/* Does x leave this function? */
static bool calls(tp_emit *e, const tp_pnode *x) {
  bool any = team_at(e, x) || x->kind == TP_P_LOAD ||
      (x->kind == TP_P_REGION && !tp_emit_knows(e, x)) || weight(e, x) > FULL;
  for (int i = 0; i < x->n && !any; i++) any = calls(e, x->kid[i]);
  return any;
}

/* ---- functions ---- */

typedef struct {
  tp_buf b;
  tp_hold hold;
  tp_buf *was;
  bool *sym, *buf;
  int depth, outer;
  tp_emit_ahead ahead;
} function;

static void begin_function(tp_emit *e, function *f) {
  *f = (function){ .was = e->b,
    .sym = e->sym,
    .buf = e->buf,
    .depth = e->depth,
    .outer = e->outer,
    .ahead = e->ahead };
  e->ahead = (tp_emit_ahead){ 0 };
  tp_buf_hold(&f->b, &f->hold);
  e->b = &f->b;
  e->sym = TP_NEWN(e->a, bool, tp_nsym(e->ix));
  e->buf = TP_NEWN(e->a, bool, e->p->bufs.n + 1);
  e->depth = 1;
  e->outer = e->nloop;
}

static void declare(tp_emit *e, tp_buf *b) {
  tp_puts(b,
      "  int64_t *const env = h->env;\n  const volatile unsigned char *const cancel = h->cancel;\n "
      " (void)env, (void)cancel;\n");
  if (e->to->host) tp_puts(b, "  unsigned char looks = 0;\n  (void)looks;\n");
  for (int i = 0; i < tp_nsym(e->ix); i++)
    if (e->sym[i] && emit_is_settled(e, i))
      tp_putf(b, "  const int64_t s%d = %lld;\n", i, (long long)e->bounds[i]);
    else if (e->sym[i]) tp_putf(b, "  int64_t s%d = env[%d]; (void)s%d;\n", i, i, i);
  for (int i = 0; i < e->p->bufs.n; i++)
    if (e->buf[i])
      tp_putf(b, "  %s *const b%d = (%s *)h->base[%d];\n", tp_emit_cell(e, e->p->bufs.v[i]->dtype),
          i, tp_emit_cell(e, e->p->bufs.v[i]->dtype), i);
  for (int i = 0; i < e->p->bufs.n && e->to->host; i++)
    if (e->buf[i] && e->p->bufs.v[i]->by_rows)
      tp_putf(b, "  const int64_t *const r%d = h->rows[%d];\n", i, i);
}

static void end_function(tp_emit *e, function *f, const char *head) {
  tp_putf(e->done, "\n%s(const tp_host *h) {\n", head);
  declare(e, e->done);
  tp_putn(e->done, f->b.s ? f->b.s : "", f->b.n);
  tp_puts(e->done, "  return 0;\n}\n");
  e->done->failed |= f->b.failed;
  e->b = f->was;
  e->sym = f->sym;
  e->buf = f->buf;
  e->depth = f->depth;
  e->outer = f->outer;
  e->ahead = f->ahead;
  tp_buf_drop(&f->b, &f->hold);
}

/* ---- statements ---- */

static void put_list(tp_emit *e, const tp_pnode *const *v, int n, bool top);

static void put_list_as(tp_emit *e, const char *head, const tp_pnode *const *v, int n, bool top) {
  function f;
  begin_function(e, &f);
  put_list(e, v, n, top);
  end_function(e, &f, head);
}

void emit_put_row(tp_emit *e, const tp_pnode *x, tp_emit_nodes *to) {
  if (!tp_is_row(x)) TP_PUSH(e->a, to, x);
  for (int i = 0; tp_is_row(x) && i < x->n; i++) emit_put_row(e, x->kid[i], to);
}

/* top: no loop of the part is around x. */
static void put_body(tp_emit *e, const tp_pnode *x, bool top) {
  tp_emit_nodes l = { 0 };
  emit_put_row(e, x, &l);
  put_list(e, l.v, l.n, top);
}

/* Takes the symbols that x loaded, in the host or in a function that was called. */
static void take_loaded(tp_emit *e, const tp_pnode *x) {
  TP_EACH_NODE (k, x) {
    if (k.x->kind != TP_P_LOAD) continue;
    e->sym[k.x->var->id] = true;
    tp_emit_line(e, "s%d = env[%d];\n", k.x->var->id, k.x->var->id);
  }
}

/* Is the loop's end known when it begins? */
static bool stays(const tp_pnode *x) {
  TP_EACH_NODE (k, x)
    if (k.x->kind == TP_P_LOAD &&
        (tp_ix_mentions(x->hi, k.x->var) || tp_ix_mentions(x->lo, k.x->var)))
      return false;
  return true;
}

/* Does x hold only points and conditions? Then an iteration takes some nanoseconds. */
static bool is_short(tp_emit *e, const tp_pnode *x) {
  bool ok = tp_is_row(x) || x->kind == TP_P_IF || x->kind == TP_P_SPILL || x->kind == TP_P_FETCH ||
      x->kind == TP_P_WAIT || (x->kind == TP_P_REGION && tp_emit_is_points(e, x));
  for (int i = 0; i < x->n && ok; i++) ok = is_short(e, x->kid[i]);
  return ok;
}

/* end: the text of the loop's end; NULL: it is computed in each iteration, as the plan says. */
static void put_for(tp_emit *e, const tp_pnode *x, const char *start, const char *end, int entry) {
  int v = x->var->id;
  if (!start) start = tp_emit_start(e, x, entry);
  if (!end) end = emit_ix(e, x->step > 0 ? x->hi : x->lo);
  emit_open(e, "for (int64_t s%d = %s; s%d %s %s; s%d += %d) {\n", v, start, v,
      x->step > 0 ? "<" : ">=", end, v, x->step);
}

/* Each iteration looks at the run's flag, each 256th asks the host (tp_run.interrupted); at a loop
 * where a run may go on it may also stop. at: the text of the iteration's variable. */
static void put_cancel(tp_emit *e, const tp_pnode *x, const char *at, int entry) {
  int pos = x->pos;
  if (!e->to->host) return;
  if (entry) {
    emit_open(e, "if (__builtin_expect(h->pause != 0, 0)) {\n");
    tp_emit_line(e, "env[%d] = %s - %d;\n", x->var->id, at, x->step);
    tp_emit_line(e, "TP_END_IF(h->pause(h->exec, %d));\n", entry);
    emit_shut(e, 1);
  }
  emit_open(e, "if (__builtin_expect(*cancel || !++looks, 0)) {\n");
  tp_emit_ends(e);
  tp_emit_line(e, "TP_END_IF(h->cancelled(h->exec, %d));\n", pos);
  emit_shut(e, 1);
}

/* ---- rows far apart ---- processors fetch ahead only inside of a page */

enum { PAGE = 4096, FAR = PAGE / 4, NEAR = PAGE / 16, ASKED = 16 };
typedef struct {
  tp_emit *e;
  const tp_pnode *loop;
  int n;
  const tp_nd *of[ASKED];
} asked_rows;

/* Bytes of the lines from its first to its last element; -1: not known. */
static int64_t bytes_of_row(const tp_region *r, const tp_nd *x, int64_t size) {
  int64_t all = size;
  for (int k = 0; k < r->nlead; k++) {
    int64_t n, stride;
    if (!x->lead || !tp_known_most(r->lead[k], &n) || !tp_ix_is_const(x->lead[k], &stride) ||
        stride < 0)
      return -1;
    all += size * (n - 1) * stride;
  }
  return all;
}

static void ask_window(asked_rows *a, const tp_region *r, const tp_nd *x) {
  tp_emit *e = a->e;
  tp_ix *rest, *next = tp_ix_addc(tp_ix_sym(a->loop->var), a->loop->step);
  int64_t step, size;
  if (a->n == ASKED || x->buf < 0 || x->nring || x->rank || x->wrap >= 0 ||
      !tp_ix_linear_in(x->off, a->loop->var, &step, &rest))
    return;
  for (int i = 0; i < a->n; i++)
    if (a->of[i]->buf == x->buf && a->of[i]->off == x->off) return;
  size = tp_dtype_size(tp_emit_dtype(e, x));
  int64_t row = bytes_of_row(r, x, size), far = step * size < 0 ? -step * size : step * size;
  if (row <= 0 || row > NEAR || far < FAR) return;
  a->of[a->n++] = x;
  e->buf[x->buf] = true;
  tp_emit_line(e, "__builtin_prefetch(b%d + %s);\n", x->buf,
      emit_ix(e, tp_ix_subst(x->off, 1, &a->loop->var, &next)));
}

/* Prints prefetches of a strip's rows of the next iteration: each lies in a page of its own. */
static void ask_rows(asked_rows *a, const tp_pnode *x) {
  if (x->kind == TP_P_REGION && x->rg->kind == TP_RG_LOOP)
    TP_WINDOWS (nd, x->rg) ask_window(a, x->rg, nd);
  for (int i = 0; i < x->n; i++)
    if (x->kid[i]->kind != TP_P_FOR) ask_rows(a, x->kid[i]);
}

static void put_iteration(tp_emit *e, const tp_pnode *x, int carried) {
  int v = x->var->id;
  if (e->to->host && e->nloop) ask_rows(&(asked_rows){ .e = e, .loop = x }, x->kid[0]);
  e->loop[e->nloop++] = x;
  if (calls(e, x)) tp_emit_line(e, "env[%d] = s%d;\n", v, v);
  put_body(e, x->kid[0], false);
  tp_emit_carry_next(e, carried);
  e->nloop--;
}

/* Short iterations go in blocks, and only blocks look whether the run ends. */
enum { LOOKS = 4096 };
static void put_blocks(tp_emit *e, const tp_pnode *x, int carried, int entry) {
  char from[32], to[32];
  int v = x->var->id, span = LOOKS * (x->step > 0 ? x->step : -x->step);
  bool up = x->step > 0;
  snprintf(from, sizeof from, "b%d_from", v);
  snprintf(to, sizeof to, "b%d_to", v);
  tp_emit_line(e, "const int64_t b%d_end = %s;\n", v, emit_ix(e, up ? x->hi : x->lo));
  emit_open(e, "for (int64_t %s = %s, %s; %s %s b%d_end; %s = %s) {\n", from,
      tp_emit_start(e, x, entry), to, from, up ? "<" : ">=", v, from, to);
  put_cancel(e, x, from, entry);
  if (up)
    tp_emit_line(
        e, "%s = b%d_end - %s > %d ? %s + %d : b%d_end;\n", to, v, from, span, from, span, v);
  else
    tp_emit_line(
        e, "%s = %s - b%d_end >= %d ? %s - %d : b%d_end - 1;\n", to, from, v, span, from, span, v);
  if (!up) snprintf(to, sizeof to, "b%d_to + 1", v);
  put_for(e, x, from, to, 0);
  put_iteration(e, x, carried);
  emit_shut(e, 2);
}

void tp_emit_rest(tp_emit *e, const tp_pnode *x) { put_iteration(e, x, e->carry.n); }

/* Keeps further numbers of the draws of single points that the loop itself makes. */
static void keep_ahead(tp_emit *e, const tp_pnode *loop, const tp_pnode *x) {
  if (x->kind == TP_P_REGION && tp_emit_knows(e, x)) emit_keep_ahead(e, loop, x);
  for (int i = 0; i < x->n; i++)
    if (x->kid[i]->kind != TP_P_FOR) keep_ahead(e, loop, x->kid[i]);
}

static void put_loop(tp_emit *e, const tp_pnode *x) {
  int v = x->var->id, entry = e->entry;
  e->entry = 0;
  if (e->to->host && tp_emit_wave(e, x, entry)) return;
  bool was = e->sym[v];
  emit_open(e, "{\n");
  /* no value stays in locals: other threads read the first one's values in memory */
  bool alone = !e->teamed;
  TP_EACH_NODE (k, x) alone = alone && !team_at(e, k.x);
  bool one = alone && weight(e, x) <= FULL && stays(x) && e->nloop < TP_EMIT_LOOPS;
  int ahead = e->ahead.n, carried = one ? tp_emit_carry_begin(e, x, entry) : e->carry.n;
  if (one) keep_ahead(e, x, x->kid[0]);
  if (is_short(e, x->kid[0]) && stays(x)) put_blocks(e, x, carried, entry);
  else {
    put_for(e, x, NULL, NULL, entry);
    put_cancel(e, x, tp_printf(e->a, "s%d", v), entry);
    put_iteration(e, x, carried);
    emit_shut(e, 1);
  }
  e->carry.n = carried;
  e->ahead.n = ahead;
  emit_shut(e, 1);
  e->sym[v] = was;
}

/* A run that goes on inside says which of the two branches it was in. */
static void put_if(tp_emit *e, const tp_pnode *x, bool top) {
  int first = e->passed + 1, last = top ? tp_part_loops(x->kid[0], NULL, e->passed) : 0;
  const char *cond = emit_ix(e, x->cond);
  if (top && tp_part_loops(x, NULL, 0))
    emit_open(e, "if (h->entry >= %d ? h->entry <= %d : %s) {\n", first, last, cond);
  else emit_open(e, "if (%s) {\n", cond);
  put_body(e, x->kid[0], top);
  if (x->n > 1) {
    emit_else(e);
    put_body(e, x->kid[1], top);
  }
  emit_shut(e, 1);
}

static void put_leaf(tp_emit *e, const tp_pnode *x) {
  e->to->leaf(e, x);
  take_loaded(e, x);
}

/* In a team only the first thread runs a region that is not cut; for calls the run sees to that. */
static void put_region(tp_emit *e, const tp_pnode *x) {
  bool known = tp_emit_knows(e, x),
       guarded = e->teamed && known && e->p->teams->cut[x->pos].share < 0;
  if (e->teamed) tp_emit_line(e, "TP_END_IF(h->meets[%d] && h->meet(h->exec));\n", x->pos);
  if (guarded) { emit_open(e, "if (!h->who) {\n"); }
  if (!known) put_leaf(e, x);
  else if (!tp_emit_once(e, x)) {
    if (tp_emit_is_pointwise(e, x->rg)) tp_emit_pointwise(e, x);
    else tp_emit_loop(e, x);
  }
  if (guarded) emit_shut(e, 1);
}

static void put_untimed(tp_emit *e, const tp_pnode *x, bool top) {
  switch (x->kind) {
  case TP_P_FOR: put_loop(e, x); return;
  case TP_P_IF: put_if(e, x, top); return;
  case TP_P_REGION: put_region(e, x); return;
  case TP_P_LOAD: put_leaf(e, x); return;
  case TP_P_SEQ:
  case TP_P_SPILL:
  case TP_P_FETCH:
  case TP_P_BEHIND:
  case TP_P_WAIT: return;
  }
}

/* Does x hold only points in loops? Their clock is that of the outermost loop. */
static bool is_tight(tp_emit *e, const tp_pnode *x) {
  bool ok = x->kind == TP_P_FOR || tp_is_row(x) || is_short(e, x);
  for (int i = 0; i < x->n && ok; i++) ok = is_tight(e, x->kid[i]);
  return ok;
}

/* Calls have clocks of their own. */
static void put_statement(tp_emit *e, const tp_pnode *x, bool top) {
  bool leaf = x->kind == TP_P_REGION && tp_emit_knows(e, x) && !tp_emit_is_points(e, x),
       timed = e->clocks && !e->clocked && (leaf || (x->kind == TP_P_FOR && is_tight(e, x)));
  int loop = x->kind == TP_P_FOR ? x->var->id : -1;
  if (timed) tp_emit_line(e, "h->enter(h->exec, %d, %d);\n", x->pos, loop);
  e->clocked |= timed;
  put_untimed(e, x, top);
  e->clocked &= !timed;
  if (timed) tp_emit_line(e, "h->leave(h->exec, %d, %d);\n", x->pos, loop);
}

/* A run that goes on in a loop leaves out what lies before it. */
static void put_member(tp_emit *e, const tp_pnode *x, bool top) {
  if (!top) {
    put_statement(e, x, false);
    return;
  }
  int last = tp_part_loops(x, NULL, e->passed);
  emit_open(e, "if (h->entry <= %d) {\n", last);
  e->entry = x->kind == TP_P_FOR ? last : 0;
  put_statement(e, x, true);
  emit_shut(e, 1);
  e->entry = 0;
  e->passed = last;
}

static void put_outside(tp_emit *e, const tp_pnode *const *v, int n, bool top) {
  function f;
  int id = e->nfn++;
  begin_function(e, &f);
  for (int i = 0; i < n; i++) put_member(e, v[i], top);
  end_function(e, &f, tp_printf(e->a, "static int f%d", id));
  tp_emit_line(e, "TP_END_IF(f%d(h));\n", id);
  for (int i = 0; i < n; i++) take_loaded(e, v[i]);
}

/* A function that all threads run. No loop in which a run may go on is in it. */
static void put_team(tp_emit *e, const tp_team *m, bool top) {
  tp_emit_nodes l = { 0 };
  int id = e->nfn++;
  e->teamed = true;
  for (int i = 0; i < m->n; i++) TP_PUSH(e->a, &l, m->v[i].as);
  put_list_as(e, tp_printf(e->a, "static int f%d", id), l.v, l.n, false);
  e->teamed = false;
  if (top) tp_emit_line(e, "if (h->entry <= %d)\n", e->passed);
  tp_emit_line(e, "%sTP_END_IF(h->team(h->exec, %d, f%d, h));\n", top ? "  " : "",
      (int)(m - e->p->teams->team), id);
}

static void put_list(tp_emit *e, const tp_pnode *const *v, int n, bool top) {
  int all = 0;
  for (int i = 0; i < n; i++) all += weight(e, v[i]);
  for (int i = 0, k; i < n; i = k) {
    const tp_team *m = team_at(e, v[i]);
    if (m) {
      put_team(e, m, top);
      k = i + m->n;
      continue;
    }
    int some = weight(e, v[i]);
    for (k = i + 1; k < n && !team_at(e, v[k]) && some + weight(e, v[k]) <= FULL; k++)
      some += weight(e, v[k]);
    if (all > FULL && some <= FULL && some > 0) put_outside(e, v + i, k - i, top);
    else
      for (; i < k; i++) put_member(e, v[i], top);
  }
}

/* ---- parts ---- */

void tp_emit_function(tp_emit *e, const char *head, const tp_pnode *const *v, int n) {
  e->passed = 0;
  put_list_as(e, head, v, n, false);
}

typedef struct {
  tp_emit e;
  int n;
  tp_part *part;
} native_code;

static void put_parts(tp_emit *e, tp_buf *b) {
  const native_code *w = (const native_code *)e;
  e->done = b;
  e->nfn = e->ncarried = 0;
  for (int i = 0; i < w->n; i++) {
    const tp_part *p = &w->part[i];
    e->passed = 0;
    /* a run can go on only inside of a loop */
    put_list_as(e, tp_printf(e->a, "int tp_part_%d", i), p->node, p->n, p->nloop > 0);
  }
}

static void put_host_leaf(tp_emit *e, const tp_pnode *x) {
  tp_emit_line(e, "TP_END_IF(h->leaf(h->exec, %d));\n", x->pos);
}

static const tp_emit_target native = { true, false, tp_emit_types, put_host_leaf };

int tp_emit_c(tp_buf *b, const tp_plan *p, bool clocks) {
  tp_arena a;
  tp_scratch_init(&a);
  if (p->teams) p = &p->teams->plan;
  native_code w = { .e = { .p = p,
                        .to = &native,
                        .clocks = clocks,
                        .ix = p->ix,
                        .a = &a,
                        .looped = tp_has(p->body, TP_P_FOR) } };
  w.e.as = TP_NEWN(&a, const tp_region *, p->npos + 1);
  w.n = tp_plan_parts(p, &a, &w.part);
  tp_emit_environments(b, p, &a);
  emit_twice(&w.e, b, put_parts);
  tp_arena_free(&a);
  return w.n;
}
