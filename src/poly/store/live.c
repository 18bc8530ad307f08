/* live: finds how many consecutive points of an array are alive at once, per dim
 * (docs/scheduling.md, section 7).
 *
 * With W: element -> time of its write and R: element -> time of a read,  M = (R . lex_ge . W^-1) n
 * (W . lex_lt . W^-1)  is {e -> e': e' is written after e and not after some read of e}: they must
 * not share a slot. Successive modulo on D = deltas(M): the width of a dim is 1 + max |D_d|, then
 * D_d = 0. This is done from the outermost dim and from the innermost one; the smaller product at
 * sample bounds stays. times.c answers from the rows of loops where it can, without isl.
 *
 * A statement that changes a part of an array makes another, or a copy: they count as one array
 * with the version as one more coordinate. If one version at a time is enough, one array lies in
 * the other. */
#include "poly/store/live.h"

static double product_at(const life *f, tp_ixs width, int64_t sample) {
  int n = tp_nsym(f->S->ix);
  int64_t *env = TP_NEWN(f->S->a, int64_t, n);
  double r = 1;
  for (int i = 0; i < n; i++)
    env[i] = tp_sym_at(f->S->ix, i)->dim ? sample + tp_sym_at(f->S->ix, i)->dim->order : 5;
  for (int k = 0; k < f->x->ndim; k++) r *= (double)tp_ix_evalq(width[k], env);
  return r;
}

/* ---- reasons ---- */

static const char *read_text(const life *f, tp_place p) {
  const tp_access *a = acc(f, p);
  tp_buf b;
  tp_buf_init(&b);
  tp_putf(
      &b, "%s of %s", a->kind == TP_ACC_UPDATE ? "update" : "read", f->x->name ? f->x->name : "?");
  for (int k = 0; a->at && k < f->x->ndim; k++) {
    tp_puts(&b, k ? ", " : "[");
    tp_ix_print(&b, a->at[k].lo);
    if (a->at[k].range) {
      tp_puts(&b, " .. ");
      tp_ix_print(&b, a->at[k].hi);
    }
  }
  if (a->at && f->x->ndim) tp_puts(&b, "]");
  if (a->pos.file) tp_putf(&b, " at %s:%d", a->pos.file, a->pos.line);
  return tp_buf_give(f->S->a, &b);
}

static int64_t greatest_at_sample(const life *f, isl_set *D, int k) {
  int64_t *env = TP_NEWN(f->S->a, int64_t, tp_nsym(f->S->ix));
  for (int i = 0; i < tp_nsym(f->S->ix); i++) env[i] = tp_sym_at(f->S->ix, i)->dim ? 50 : 5;
  int64_t r = -1;
  (void)tp_whole(isl_set_dim_max_val(tp_isl_at(isl_set_copy(D), env), k), &r);
  return r;
}

/* The read that needs the greatest width of dim k; -1: none. */
static int most_asking(const life *f, int k) {
  answer *a = f->a;
  if (!a) return f->reads.n > 0 ? 0 : -1;
  if (a->asks[k] == NOT_ASKED) {
    int64_t most = -1;
    a->asks[k] = f->last.n > 0 ? 0 : -1;
    for (int i = 0; i < a->delta.n && a->delta.n > 1; i++) {
      int64_t g = greatest_at_sample(f, a->delta.v[i], k);
      if (g > most) {
        most = g;
        a->asks[k] = i;
      }
    }
  }
  return a->asks[k] < 0 ? -1 : f->last.v[a->asks[k]];
}

static const char *dense_reason(const life *f, int k) {
  for (int i = f->writes.n; i < count(f); i++)
    if (acc(f, nth(f, i))->at && acc(f, nth(f, i))->at[k].range) return read_text(f, nth(f, i));
  for (int i = 0; i < count(f); i++) {
    const tp_stmt *s = stmt(f, nth(f, i));
    const tp_access *a = acc(f, nth(f, i));
    for (int d = 0; d < s->ndim && a->at; d++)
      if ((s->vec >> d & 1) && tp_ix_mentions(a->at[k].lo, s->dim[d]))
        return s->pos.file ? tp_printf(f->S->a, "%s runs over all of it at %s:%d", s->name,
                                 s->pos.file, s->pos.line)
                           : tp_printf(f->S->a, "%s runs over all of it", s->name);
  }
  return "made as one block";
}

static const char *reason(const life *f, int k) {
  if (dense(f, k)) return dense_reason(f, k);
  if (tp_is_number(f->x->width[k], 1)) return "";
  int at = most_asking(f, k);
  return at < 0 ? "" : read_text(f, f->reads.v[at]);
}

/* ---- arrays that are accessed alike ---- */

typedef TP_VEC(int64_t) words;

/* Describes an access in words: the elements that it touches, and its rows. */
static void put_access(const life *f, words *w, tp_place p) {
  TP_PUSH(f->S->a, w, (int64_t)(intptr_t)acc(f, p)->rel);
  TP_PUSH(f->S->a, w, stmt(f, p)->far);
  TP_PUSH(f->S->a, w, f->version ? f->version[acc(f, p)->arr] : -1);
  for (int c = 0; c < f->ncol; c++) {
    const tp_mem *m = f->isrow[c] ? row_at(way(f, p), f->level[c]) : NULL;
    TP_PUSH(f->S->a, w, m ? (int64_t)(intptr_t)m->row : 0);
  }
}

/* At equal rows, how late the second of two reads is against the first. */
static int later(const life *f, tp_place a, tp_place b) {
  for (int c = 0; c < f->ncol; c++) {
    int d =
        f->isrow[c] ? 0 : tp_life_place_at(f, b, f->level[c]) - tp_life_place_at(f, a, f->level[c]);
    if (d) return d;
  }
  return tp_life_in_place(f, a) - tp_life_in_place(f, b);
}

/* Keeps the last of reads that touch the same elements in the same rows, and the first of
 * equals. */
static void last_reads(life *f) {
  tp_hmap seen;
  tp_hmap_init(&seen, f->S->a);
  for (int i = 0; i < f->reads.n; i++) {
    words w = { 0 };
    put_access(f, &w, f->reads.v[i]);
    int *at = tp_hmap_get(&seen, w.v, sizeof *w.v * (size_t)w.n);
    if (at && later(f, f->reads.v[f->last.v[*at]], f->reads.v[i]) > 0) f->last.v[*at] = i;
    if (at) continue;
    tp_hmap_set(&seen, w.v, sizeof *w.v * (size_t)w.n, at = TP_NEW(f->S->a, int));
    *at = f->last.n;
    TP_PUSH(f->S->a, &f->last, i);
  }
}

/* The answer for arrays that are equal in everything that tp_life_conflicts() and the widths
 * read. */
static answer *answer_of(const life *f, bool *fresh) {
  tp_arena *a = f->S->a;
  words w = { 0 };
  TP_PUSH(a, &w, f->x->ndim);
  TP_PUSH(a, &w, f->x->dense & ((1u << f->x->ndim) - 1));
  for (int k = 0; k < f->x->ndim; k++) TP_PUSH(a, &w, (int64_t)(intptr_t)f->x->dim[k]->bound);
  TP_PUSH(a, &w, f->writes.n);
  TP_PUSH(a, &w, f->last.n);
  TP_PUSH(a, &w, f->passed);
  TP_PUSH(a, &w, tp_life_by_blocks(f));
  TP_PUSH(a, &w, f->ncol);
  for (int i = 0; i < f->writes.n + f->last.n; i++) {
    tp_place p = i < f->writes.n ? f->writes.v[i] : f->reads.v[f->last.v[i - f->writes.n]];
    put_access(f, &w, p);
    TP_PUSH(a, &w, i >= f->writes.n && tp_life_in_place(f, p));
    for (int c = 0; c < f->ncol; c++)
      TP_PUSH(a, &w, f->isrow[c] ? -1 : tp_life_place_at(f, p, f->level[c]));
  }
  for (int i = 0; i < f->reads.n && f->version; i++) {
    int to = tp_life_copied_to(f, f->reads.v[i]);
    if (to < 0) continue;
    put_access(f, &w, f->reads.v[i]);
    TP_PUSH(a, &w, to);
  }
  size_t n = sizeof *w.v * (size_t)w.n;
  answer *x = tp_hmap_get(f->known, w.v, n);
  *fresh = !x;
  if (*fresh) tp_hmap_set(f->known, w.v, n, x = TP_NEW(a, answer));
  return x;
}

/* ---- one array ---- */

/* width or least, whichever is more, unless the extent is less. */
static tp_ix *at_least(tp_ix *width, tp_ix *least, tp_ix *full) {
  tp_ix *e = NULL; /* width, without the extent where it is one of several limits */
  for (int i = 0; tp_ix_kind(width) == TP_IX_MIN && i < tp_ix_narg(width); i++)
    if (tp_ix_arg(width, i) != full)
      e = e ? tp_ix_min(e, tp_ix_arg(width, i)) : tp_ix_arg(width, i);
  return tp_ix_min(full, tp_ix_max(e ? e : width, least));
}

/* width in whole blocks, unless the extent is less. */
static tp_ix *whole_blocks(const life *f, tp_ix *width, int k) {
  int64_t n = f->x->align ? f->x->align[k] : 0;
  tp_ix *full = extent(f, k), *least = f->x->least ? f->x->least[k] : NULL;
  if (dense(f, k) || width == full) return width;
  if (least) width = at_least(width, least, full);
  if (!n) return width;
  width = tp_ix_mulc(tp_ix_fdiv(tp_ix_addc(width, n - 1), n), n);
  return full ? tp_ix_min(width, full) : width;
}

static void settle(life *f, tp_ixs width) {
  for (int k = 0; k < f->x->ndim; k++) f->x->width[k] = whole_blocks(f, width[k], k);
  for (int k = 0; k < f->x->ndim; k++) f->x->why[k] = reason(f, k);
}

static void kept_whole(life *f, const char *why) {
  for (int k = 0; k < f->x->ndim; k++) {
    f->x->width[k] = whole(f, k);
    f->x->why[k] = why;
  }
}

/* Begins an exact query; if a program has many arrays of many pieces, each gets a smaller budget
 * than the one before. */
static void query_exactly(const life *f) {
  tp_query(f->S);
  isl_ctx_set_max_operations(f->S->ctx, (unsigned long)(f->S->p->budget / (1 + *f->hard)));
}

/* Widths from the outermost dim and, if `other`, from the innermost one. False: too hard. */
static bool widths_within(life *f, bool outline, tp_ix **a, tp_ix **b, bool *other) {
  tp_sched *S = f->S;
  f->outline = outline;
  f->a->delta.n = 0;
  if (outline) tp_query(S);
  else query_exactly(f);
  bool ok = tp_life_conflicts(f) && (!tp_life_both_kinds(f) || tp_life_late_conflicts(f)) &&
      tp_life_widths(f, true, a);
  *other = ok && f->x->ndim > 1 && !tp_is_number(a[0], 1) && tp_life_widths(f, false, b);
  return tp_query_end(S) && ok;
}

static void find_widths(life *f) {
  int n = f->x->ndim;
  tp_sched *S = f->S;
  tp_ix **a = TP_NEWN(S->a, tp_ix *, n), **b = TP_NEWN(S->a, tp_ix *, n);
  bool other;
  f->a->asks = TP_NEWN(S->a, int, n);
  tp_ask(S, NULL, NULL, NULL);
  tp_query(S);
  int all = tp_life_phase(f);
  f->a->ok = tp_query_end(S) && all >= 0;
  for (int k = 0; k < n; k++) f->a->asks[k] = f->a->ok ? all : NOT_ASKED;
  f->a->width = a;
  for (int k = 0; k < n; k++) a[k] = f->passed >> k & 1 ? tp_ix_const(S->ix, 1) : whole(f, k);
  if (f->a->ok) return;
  f->a->ok = widths_within(f, false, a, b, &other);
  if (!f->a->ok) {
    ++*f->hard;
    tp_ask(S, "how much of '%s' is kept", f->x->name, NULL);
    f->a->ok = widths_within(f, true, a, b, &other);
  }
  if (f->a->ok && other &&
      product_at(f, b, 50) + product_at(f, b, 9) < product_at(f, a, 50) + product_at(f, a, 9))
    a = b;
  f->a->width = a;
}

static void analyse(life *f) {
  int n = f->x->ndim;
  tp_sched *S = f->S;
  bool fresh;
  tp_life_passed(f);
  if (((f->passed | f->x->dense) & ((1u << n) - 1)) == (1u << n) - 1) {
    tp_ix **w = TP_NEWN(S->a, tp_ix *, n);
    for (int k = 0; k < n; k++) w[k] = dense(f, k) ? whole(f, k) : tp_ix_const(S->ix, 1);
    settle(f, w);
    return;
  }
  tp_life_columns(f);
  last_reads(f);
  f->a = answer_of(f, &fresh);
  if (fresh) find_widths(f);
  if (!f->a->ok) {
    kept_whole(f, "too hard to analyse: kept whole");
    return;
  }
  tp_query(S);
  settle(f, f->a->width);
  tp_query_end(S);
}

/* ---- versions ---- */

static bool same_elements(const tp_poly *p, const tp_arr *a, const tp_arr *b) {
  bool same = a->kind == TP_ARR_TEMP && b->kind == TP_ARR_TEMP && a->dtype == b->dtype &&
      a->rank == b->rank && a->ndim == b->ndim;
  for (int i = 0; same && i < a->rank; i++) same = a->shape[i] == b->shape[i];
  same = same && tp_most_of(p, a->val) == tp_most_of(p, b->val);
  for (int d = 0; same && d < a->ndim; d++) {
    same = a->dim[d] == b->dim[d] && (a->order ? a->order[d] : d) == (b->order ? b->order[d] : d);
    same = same && (a->align ? a->align[d] : 0) == (b->align ? b->align[d] : 0);
  }
  return same && !((a->dense ^ b->dense) & ((1u << a->ndim) - 1));
}

/* The life of all arrays that lie, or would lie, in one, with their accesses. */
static life as_versions(tp_sched *S, const life *all, const tp_arr *a, const tp_arr *b) {
  static tp_sym number = { .name = "version", .kind = TP_SYM_DIM };
  int *version = TP_NEWN(S->a, int, S->p->arrs.n), n = 0;
  tp_arr *x = tp_dup(S->a, b, sizeof *b);
  tp_sym **dim = TP_NEWN(S->a, tp_sym *, b->ndim + 1);
  for (int d = 0; d < b->ndim; d++) dim[d] = b->dim[d];
  dim[b->ndim] = &number;
  x->dim = dim;
  x->dense &= (1u << x->ndim++) - 1;
  life f = { .S = S, .x = x, .known = all->known, .hard = all->hard, .version = version };
  for (int i = 0; i < S->p->arrs.n; i++) {
    const tp_arr *in = tp_lies_in(S->p->arrs.v[i]);
    version[i] = in == a || in == b ? n++ : -1;
    if (version[i] < 0) continue;
    for (int k = 0; k < all[i].writes.n; k++) TP_PUSH(S->a, &f.writes, all[i].writes.v[k]);
    for (int k = 0; k < all[i].reads.n; k++) TP_PUSH(S->a, &f.reads, all[i].reads.v[k]);
  }
  return f;
}

static void find_version_widths(life *f) {
  f->a->width = TP_NEWN(f->S->a, tp_ix *, f->x->ndim);
  tp_ask(f->S, "whether changes of '%s' lie in one place", f->x->name, NULL);
  query_exactly(f);
  bool ok = !tp_life_versions_meet(f) && tp_life_conflicts(f) &&
      tp_life_widths(f, true, f->a->width),
       known = tp_query_end(f->S);
  *f->hard += !known;
  f->a->ok = known && ok && tp_is_number(f->a->width[f->x->ndim - 1], 1);
}

/* Widths for both, if no slot has to hold two versions at once. */
static bool one_version(life *f, tp_ix **width) {
  bool fresh;
  tp_life_passed(f);
  tp_life_columns(f);
  last_reads(f);
  f->a = answer_of(f, &fresh);
  if (fresh) find_version_widths(f);
  for (int d = 0; f->a->ok && d < f->x->ndim - 1; d++)
    width[d] = whole_blocks(f, f->a->width[d], d);
  return f->a->ok;
}

/* Lays a, and all arrays that lie in a, in b. */
static void lay_in(tp_sched *S, tp_arr *a, tp_arr *b, tp_ix **width) {
  for (int i = 0; i < S->p->arrs.n; i++) {
    tp_arr *x = S->p->arrs.v[i];
    if (tp_lies_in(x) == a) x->in = b;
    if (tp_lies_in(x) == b) x->width = width;
  }
}

static bool same_width(const tp_arr *a, const tp_arr *b) {
  bool same = true;
  for (int d = 0; d < a->ndim; d++) same &= a->width[d] == b->width[d];
  return same;
}

/* Lays a in b if they take less as one. Copies of other widths stay, as a kept array may go to a
 * file. */
static void join(tp_sched *S, const life *all, tp_arr *a, tp_arr *b, bool copy) {
  if (a == b || !same_elements(S->p, a, b) || (copy && !same_width(a, b))) return;
  life f = as_versions(S, all, a, b);
  tp_ix **width = TP_NEWN(S->a, tp_ix *, f.x->ndim);
  if (tp_life_both_kinds(&f) || !one_version(&f, width)) return;
  life g = { .S = S, .x = b };
  if (product_at(&g, width, 50) < product_at(&g, a->width, 50) + product_at(&g, b->width, 50))
    lay_in(S, a, b, width);
}

static void join_versions(tp_sched *S, const life *all) {
  for (int i = 0; i < S->p->stmts.n; i++) {
    const tp_stmt *s = S->p->stmts.v[i];
    for (int w = 0; w < s->nacc; w++)
      for (int r = 0; r < s->nacc && s->acc[w].kind == TP_ACC_WRITE; r++)
        if (tp_is_version(S->p, s, &s->acc[r], &s->acc[w]))
          join(S, all, tp_lies_in(S->p->arrs.v[s->acc[r].arr]),
              tp_lies_in(S->p->arrs.v[s->acc[w].arr]), !s->acc[r].by);
  }
}

static void crossings(tp_sched *S, life *all) {
  /* guards read ends of any iteration, and are no dependences */
  for (int i = 0; i < S->p->arrs.n; i++)
    all[i].x->cross = count(&all[i]) && !tp_stop_sym(S->p, i) ? tp_life_loops(&all[i]) : 0;
  for (int i = 0; i < S->deps.n; i++)
    if (S->deps.v[i].arr >= 0) {
      tp_arr *x = S->p->arrs.v[S->deps.v[i].arr];
      x->cross = TP_MIN(x->cross, S->deps.v[i].cross);
    }
}

void tp_live(tp_sched *S) {
  life *all = TP_NEWN(S->a, life, S->p->arrs.n);
  tp_hmap known;
  int hard = 0;
  tp_hmap_init(&known, S->a);
  for (int i = 0; i < S->p->arrs.n; i++)
    all[i] = (life){ .S = S, .x = S->p->arrs.v[i], .known = &known, .hard = &hard };
  for (int i = 0; i < S->p->stmts.n; i++)
    for (int a = 0; a < S->p->stmts.v[i]->nacc; a++) {
      const tp_access *x = &S->p->stmts.v[i]->acc[a];
      if (x->idle) continue;
      if (x->kind == TP_ACC_WRITE) TP_PUSH(S->a, &all[x->arr].writes, (tp_place){ i, a });
      else TP_PUSH(S->a, &all[x->arr].reads, (tp_place){ i, a });
    }
  crossings(S, all);
  for (int i = 0; i < S->p->arrs.n; i++) {
    life *f = &all[i];
    f->x->in = NULL;
    f->x->width = TP_NEWN(S->a, tp_ix *, f->x->ndim);
    f->x->why = TP_NEWN(S->a, const char *, f->x->ndim);
    if (f->x->kind != TP_ARR_TEMP)
      kept_whole(f, f->x->kind == TP_ARR_OUTPUT ? "an output" : "given");
    else if (!f->writes.n) kept_whole(f, "never written");
    else analyse(f);
  }
  join_versions(S, all);
}
