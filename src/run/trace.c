/* trace.c: what ran when, for chrome://tracing and Perfetto. A thread that runs a plan has a track:
 * events of regions, compiled parts, what threads share, loops and their iterations, noted when
 * they end. The first few of a function are always noted, so that a trace may be asked for after a
 * run; who asks gets many of what runs later. Of what is inside of compiled parts there are events
 * where code has clocks (native.c). */
#include "run/priv.h"
#include "io/io.h"

/* ---- noting ---- */

void tp_track_begin(tp_track *t, int most) {
  t->n = 0;
  t->most = most;
  t->full = false;
  t->origin = tp_now();
}

void tp_track_free(tp_track *t) {
  tp_free(t->v);
  t->v = NULL;
}

static bool has_room(tp_track *t) {
  if (t->n < t->room) return true;
  /* loops may end, twice over */
  int room = TP_MAX(2 * t->room, TP_TUNE_TRACE_FIRST + 4 * TP_TRACK_DEEP);
  tp_event *v = tp_realloc(t->v, sizeof *v * (size_t)room);
  if (!v) return false;
  t->v = v;
  t->room = room;
  return true;
}

static void note_event(tp_track *t, tp_event e) {
  e.from = TP_MAX(e.from, t->origin);
  if (e.to < e.from) return;
  if (has_room(t)) t->v[t->n++] = e;
  else t->full = true;
}

static void end_loops(tp_track *t, int down_to, double now) {
  while (t->nopen > down_to) {
    const tp_open *o = &t->open[--t->nopen];
    note_event(t, (tp_event){ TP_EV_ITERATION, o->loop, o->value, o->turned, now });
    note_event(t, (tp_event){ TP_EV_LOOP, o->loop, 0, o->began, now });
  }
}

/* Loops that are open end here, so that what was noted in them stays inside. */
static void end_track(tp_exec *x) {
  tp_track *t = x->track;
  end_loops(t, 0, tp_now());
  t->full = true;
  x->track = NULL;
}

void tp_track_put(tp_exec *x, tp_evkind kind, int id, double from) {
  if (!x->track) return;
  note_event(x->track, (tp_event){ kind, id, 0, from, tp_now() });
  if (x->track->n >= x->track->most) end_track(x);
}

/* The loops around i, outermost first; how many. */
static int loops_around(const tp_exec *x, const tp_inst *i, int *loop) {
  int n = 0, deep = 0;
  for (int l = i ? i->up : -1; l >= 0; l = x->flow->inst[l].up) deep++;
  for (int l = i ? i->up : -1, k = deep; l >= 0; l = x->flow->inst[l].up)
    if (--k < TP_TRACK_DEEP) loop[k] = l, n++;
  return n;
}

void tp_track_stand(tp_exec *x, const tp_inst *i) {
  tp_track *t = x->track;
  int loop[TP_TRACK_DEEP], n = loops_around(x, i, loop), same = 0;
  while (same < n && same < t->nopen && t->open[same].loop == loop[same] &&
      t->open[same].value == x->env[x->flow->inst[loop[same]].var])
    same++;
  if (same == n && same == t->nopen) return;
  double now = tp_now();
  bool turns = same < n && same < t->nopen && t->open[same].loop == loop[same];
  end_loops(t, same + turns, now);
  if (turns) {
    tp_open *o = &t->open[same];
    note_event(t, (tp_event){ TP_EV_ITERATION, o->loop, o->value, o->turned, now });
    o->value = x->env[x->flow->inst[o->loop].var];
    o->turned = now;
    same++;
  }
  for (; same < n; same++)
    t->open[t->nopen++] = (tp_open){ loop[same], x->env[x->flow->inst[loop[same]].var], now, now };
  if (t->n >= t->most) end_track(x);
}

/* ---- writing ---- */

/* What is no text in UTF-8 is a question mark. */
static int utf8_length(const unsigned char *s) {
  int n = *s < 0x80             ? 1
      : *s >= 0xc2 && *s < 0xe0 ? 2
      : *s >= 0xe0 && *s < 0xf0 ? 3
      : *s >= 0xf0 && *s < 0xf5 ? 4
                                : 0;
  for (int k = 1; k < n; k++)
    if ((s[k] & 0xc0) != 0x80) return 0;
  bool longer = (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xf0 && s[1] < 0x90),
       none = (*s == 0xed && s[1] >= 0xa0) || (*s == 0xf4 && s[1] >= 0x90);
  return longer || none ? 0 : n;
}

static void put_escaped(tp_buf *b, const char *text) {
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    int n = utf8_length(s);
    if (*s == '"' || *s == '\\') tp_putf(b, "\\%c", *s);
    else if (*s < 0x20) tp_putf(b, "\\u%04x", *s);
    else if (!n) tp_puts(b, "?");
    else tp_putn(b, (const char *)s, (size_t)n);
    s += TP_MAX(n, 1);
  }
}

/* What is written of each event of a thing. An iteration's name goes on with its number. */
typedef struct {
  const char *name, *rest;
} event_label;
typedef struct {
  const tp_exec *x;
  tp_arena a;
  tp_counted *at;
  event_label *region, *loop, *part, *team;
  tp_part *parts;
  int nparts;
} event_labels;

static const char *escaped(tp_arena *a, const char *text) {
  tp_buf b;
  tp_buf_init(&b);
  put_escaped(&b, text ? text : "?");
  return tp_buf_give(a, &b);
}

static event_label new_label(event_labels *l, const char *kind, const char *name,
    const char *tensor, tp_pos pos, tp_counted c) {
  const char *what = tensor ? tp_printf(&l->a, "\"tensor\":\"%s\",", escaped(&l->a, tensor)) : "";
  const char *line =
      pos.file ? tp_printf(&l->a, "\"line\":\"%s:%d\",", escaped(&l->a, pos.file), pos.line) : "";
  const char *rest = tp_printf(&l->a, "\"cat\":\"%s\",\"args\":{%s%s\"bytes\":%.0f,\"flops\":%.0f}",
      kind, what, line, c.bytes, c.flops);
  return (event_label){ escaped(&l->a, name), rest };
}

static event_label region_label(event_labels *l, const tp_dreg *r) {
  const tp_counted *c = &l->at[r->pos];
  double n = (double)TP_MAX(c->runs, 1);
  tp_buf b;
  tp_buf_init(&b);
  tp_profile_work(&b, r->rg);
  return new_label(l, "leaf", tp_buf_give(&l->a, &b), tp_profile_name(l->x, r->rg), r->rg->pos,
      (tp_counted){ .bytes = c->bytes / n, .flops = c->flops / n });
}

/* Neighbours in the plan, gone through once. */
static event_label label_of(
    event_labels *l, const char *kind, const char *name, int n, const tp_pnode *const *v) {
  tp_counted all = { 0 }, *at = TP_NEWN(&l->a, tp_counted, l->x->plan->npos + 1);
  int64_t turns;
  for (int k = 0; k < n; k++) {
    if (!tp_plan_count(l->x->plan, v[k], l->x->env, at, &turns)) tp_oom();
    for (int i = 0; i < l->x->plan->npos; i++) all.bytes += at[i].bytes, all.flops += at[i].flops;
  }
  return new_label(l, kind, name, NULL, tp_pnode_line(v[0]), all);
}

static void label_loops(event_labels *l) {
  const tp_flow *f = l->x->flow;
  l->loop = TP_NEWN(&l->a, event_label, f->ninst + 1);
  for (int i = 0; i < f->ninst; i++)
    if (f->inst[i].op == TP_I_FOR)
      l->loop[i] = label_of(l, "loop", f->inst[i].node->var->name, 1, &f->inst[i].node);
}

static void label_teams(event_labels *l, const tp_teams *t) {
  l->team = t ? TP_NEWN(&l->a, event_label, t->nteam + 1) : NULL;
  for (int i = 0; t && i < t->nteam; i++) {
    const tp_pnode **v = TP_NEWN(&l->a, const tp_pnode *, t->team[i].n);
    for (int k = 0; k < t->team[i].n; k++) v[k] = t->team[i].v[k].node;
    l->team[i] = label_of(l, "team", tp_printf(&l->a, "shared by threads, %d", i), t->team[i].n, v);
  }
}

static void label_all(event_labels *l) {
  const tp_exec *x = l->x;
  int64_t turns;
  l->at = TP_NEWN(&l->a, tp_counted, x->plan->npos + 1);
  if (!tp_plan_count(x->plan, x->plan->body, x->env, l->at, &turns)) tp_oom();
  l->region = TP_NEWN(&l->a, event_label, x->plan->npos + 1);
  for (int i = 0; i < x->nreg; i++) l->region[x->reg[i]->pos] = region_label(l, x->reg[i]);
  label_loops(l);
  l->nparts = x->flow->partclock ? tp_plan_parts(x->plan, &l->a, &l->parts) : 0;
  l->part = TP_NEWN(&l->a, event_label, l->nparts + 1);
  for (int i = 0; i < l->nparts; i++)
    l->part[i] = label_of(
        l, "part", tp_printf(&l->a, "native code, part %d", i), l->parts[i].n, l->parts[i].node);
  label_teams(l, x->plan->teams);
}

/* Of integers differences are exact: what lies inside stays inside. */
static int64_t nanoseconds(const event_labels *l, double at) {
  return (int64_t)((at - l->x->flow->track.origin) * 1e9);
}

static void write_event(FILE *f, const event_labels *l, int thread, const tp_event *e) {
  const event_label *by[] = { [TP_EV_LEAF] = l->region,
    [TP_EV_LOOP] = l->loop,
    [TP_EV_ITERATION] = l->loop,
    [TP_EV_PART] = l->part,
    [TP_EV_TEAM] = l->team };
  const event_label *is = &by[e->kind][e->id];
  fprintf(f, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":", thread);
  int64_t from = nanoseconds(l, e->from), to = nanoseconds(l, e->to);
  fprintf(f, "%lld.%03d,\"dur\":%lld.%03d,\"name\":\"%s", (long long)(from / 1000),
      (int)(from % 1000), (long long)((to - from) / 1000), (int)((to - from) % 1000), is->name);
  if (e->kind == TP_EV_ITERATION)
    fprintf(f, " = %lld\",\"cat\":\"iteration\"}", (long long)e->value);
  else fprintf(f, "\",%s}", is->rest);
}

static void write_track(FILE *f, const event_labels *l, const tp_track *t, int thread) {
  fprintf(f,
      "%s\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"thread "
      "%d\"}}",
      thread ? "," : "", thread, thread);
  for (int i = 0; i < t->n; i++) write_event(f, l, thread, &t->v[i]);
}

static bool write_trace(FILE *f, void *ud) {
  const event_labels *l = ud;
  const tp_workers *all = l->x->workers;
  bool full = l->x->flow->track.full;
  fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", f);
  write_track(f, l, &l->x->flow->track, 0);
  for (int i = 1; all && i < all->n; i++) {
    write_track(f, l, &all->w[i].track, i);
    full |= all->w[i].track.full;
  }
  fprintf(f, "\n],\"otherData\":{\"cut\":%s}}\n", full ? "true" : "false");
  return !ferror(f);
}

static void track_anew(tp_exec *x) {
  tp_track_begin(x->track = &x->flow->track, TP_TUNE_TRACE_MOST);
  for (int i = 1; x->workers && i < x->workers->n; i++)
    tp_track_begin(&x->workers->w[i].track, TP_TUNE_TRACE_MOST);
}

bool tp_exec_trace(tp_exec *x, const char *path, tp_error *err) {
  event_labels l = { .x = x };
  tp_scratch_init(&l.a);
  label_all(&l);
  bool ok = tp_file_replace(path, write_trace, &l, err);
  tp_arena_free(&l.a);
  if (ok) track_anew(x);
  return ok;
}
