/* export_files.c: prints the files of a program that stands alone, from kernels/prelude/agent.txt:
 * a header with the object, the code around its functions, and an example of its use. */
#include "emit/export/export.h"

/* ---- the header ---- */

static void put_upper(tp_buf *b, const char *s) {
  for (; *s; s++) tp_putf(b, "%c", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
}

/* Prints a place in the script inside a comment: the name of a chunk can be any text. */
static void put_pos(tp_buf *b, tp_pos pos) {
  for (const char *s = pos.file ? pos.file : "?"; *s; s++)
    tp_putf(b, "%c", *s == '*' || *s == '\\' || (unsigned char)*s < ' ' ? '_' : *s);
  tp_putf(b, ":%d", pos.line);
}

static void put_place(exporter *w, tp_buf *b) { put_pos(b, w->x->pos); }

/* Arrays that are members of one struct: inputs and outputs, whole or at each tick. */
typedef struct {
  const char *what, *var;
  const tp_export_array *v;
  int n;
  bool ticks, in;
} member_group;

/* Group i; false: there are no more. */
static bool find_group(const exporter *w, int i, member_group *g) {
  static const char *const what[] = { "inputs", "outputs", "values", "shown" },
                           *const var[] = { "in", "out", "values", "shown" };
  const tp_export *x = w->x;
  if (i >= (x->ticks ? 4 : 2)) return false;
  *g = (member_group){ what[i], var[i], i % 2 ? x->out : x->in, i % 2 ? x->nout : x->nin, i > 1,
    !(i % 2) };
  return true;
}

static bool is_member(const member_group *g, int i) {
  return g->v[i].as && g->v[i].ticks == g->ticks;
}

static void put_structs(exporter *w, tp_buf *b) {
  member_group g;
  for (int k = 0; find_group(w, k, &g); k++) {
    bool any = false;
    tp_putf(b, "\ntypedef struct %s_%s {\n", w->x->name, g.what);
    for (int i = 0; i < g.n; i++) {
      const tp_export_array *v = &g.v[i];
      if (!is_member(&g, i)) continue;
      any = true;
      tp_putf(b, "  %s%s *%s;%*s/* %s ", g.in ? "const " : "", tp_emit_type(v->dtype), v->as,
          TP_MAX(1, 30 - (int)strlen(v->as)), "", tp_dtype_name(v->dtype));
      for (int d = 0; d < v->rank; d++) tp_putf(b, "[%lld]", (long long)v->shape[d]);
      tp_puts(b, " */\n");
    }
    if (!any) tp_puts(b, "  int none;\n");
    tp_putf(b, "} %s_%s;\n", w->x->name, g.what);
  }
}

static void put_calls(exporter *w, tp_buf *b) {
  const tp_plan *p = w->e.p;
  bool any = false;
  TP_EACH (const tp_callee, c, p->calls) {
    if (c->fn < 0) continue;
    if (!any) tp_puts(b, "\n/* Which function of the host's: `call` of the object. */\nenum {\n");
    any = true;
    tp_puts(b, "  ");
    put_upper(b, w->x->name);
    tp_putf(b, "_CALL_%d = %d,%*s/* ", c->fn, c->fn, 20, "");
    put_pos(b, c->pos);
    tp_putf(b, "%s%s */\n", c->name ? " " : "", c->name ? c->name : "");
  }
  if (any) tp_puts(b, "};\n");
}

static void put_bounds(exporter *w, tp_buf *b) {
  if (w->x->nbound) tp_puts(b, "\n/* What it was exported for. */\n");
  for (int i = 0; i < w->x->nbound; i++) {
    /* a bound may have the name of one of the other constants */
    const char *name = w->x->bounds[i]->name,
               *mine = strcmp(name, "WEIGHTS") && strncmp(name, "CALL_", 5) ? "" : "_";
    tp_puts(b, "#define ");
    put_upper(b, w->x->name);
    tp_putf(b, "_%s%s %lld%*s/* %s */\n", name, mine, (long long)w->x->env[w->x->bounds[i]->id], 10,
        "", name);
  }
}

/* ---- the code ---- */

static void put_constant(tp_buf *b, const tp_pbuf *x) {
  if (x->kind != TP_BUF_CONST) return;
  int size = tp_dtype_size(x->dtype);
  int64_t n = x->data ? x->data->count : 0;
  tp_putf(b, "\nstatic const uint%d_t c%d[%lld] = {", 8 * size, x->id, (long long)TP_MAX(n, 1));
  for (int64_t i = 0; i < n; i++) {
    uint64_t v = 0;
    memcpy(&v, (const char *)x->data->data + i * size, (size_t)size);
    tp_putf(b, "%s%lluU%s,", i % 12 ? " " : "\n  ", (unsigned long long)v, size == 8 ? "LL" : "");
  }
  tp_puts(b, n ? "\n};\n" : " 0 };\n");
}

static void put_constants(exporter *w, tp_buf *b) {
  for (int i = 0; i < w->e.p->bufs.n; i++) put_constant(b, w->e.p->bufs.v[i]);
}

static void put_quoted(tp_buf *b, const char *s) {
  for (; *s; s++)
    if ((unsigned char)*s < 32) tp_puts(b, " ");
    else tp_putf(b, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
}

static void put_where(exporter *w, tp_buf *b) {
  char name[256];
  TP_EACH_NODE (k, w->e.p->body) {
    const tp_region *r = k.x->rg;
    if (!r) continue;
    tp_putf(b, "    case %d: return \"", k.x->pos);
    put_quoted(b, r->pos.file ? r->pos.file : "?");
    tp_putf(b, ":%d: ", r->pos.line);
    put_quoted(b, tp_who_label(&r->who, tp_region_op(r), name, sizeof name));
    tp_puts(b, "\";\n");
  }
}

static void put_arrays(exporter *w, tp_buf *b) {
  for (int i = 0; i < w->x->nin + w->x->nout; i++) {
    bool in = i < w->x->nin;
    const tp_export_array *v = in ? &w->x->in[i] : &w->x->out[i - w->x->nin];
    const char *what = v->ticks ? in ? "values" : "shown" : in ? "inputs" : "outputs";
    if (!v->as) tp_puts(b, "  { NULL, 0, 0, 0 },\n");
    else
      tp_putf(b, "  { \"%s\", %d, offsetof(%s_%s, %s), %lld },\n", v->as, v->ticks, w->x->name,
          what, v->as, (long long)v->bytes);
  }
}

/* Prints where each buffer lies. */
static void put_bases(exporter *w, tp_buf *c) {
  for (int i = 0; i < w->e.p->bufs.n; i++) {
    const tp_pbuf *b = w->e.p->bufs.v[i];
    const tp_export_array *in = b->kind == TP_BUF_INPUT ? &w->x->in[b->slot] : NULL,
                          *o = b->kind == TP_BUF_OUTPUT ? &w->x->out[b->slot] : NULL;
    long long at = (long long)w->place[i];
    if (tp_in_arena(b) && at >= 0)
      tp_putf(c, "  base[%d] = (char *)a->own.arena.b + %lld;\n", i, at);
    else if (b->kind == TP_BUF_CONST) tp_putf(c, "  base[%d] = (char *)(uintptr_t)c%d;\n", i, i);
    else if (o && o->param >= 0)
      tp_putf(c, "  base[%d] = (char *)a->own.last.b + %lld;\n", i,
          (long long)w->x->param[o->param].at);
    else if ((in && in->as && !in->ticks) || (o && o->as && !o->ticks))
      tp_putf(c, "  base[%d] = (char *)a->own.%s[%d];\n", i, in ? "in" : "out", b->slot);
    else if (b->kind == TP_BUF_PARAM)
      tp_putf(c, "  base[%d] = a->own.have[%d] ? (char *)a->own.first.b + %lld : NULL;\n", i,
          b->slot, (long long)w->x->param[b->slot].at);
  }
}

static void put_held_arrays(exporter *w, tp_buf *c) {
  for (int i = 0; i < w->e.p->bufs.n; i++) {
    int holds = w->e.p->bufs.v[i]->holds;
    const tp_export_array *o = holds < 0 ? NULL : &w->x->out[holds];
    if (o && w->place[i] >= 0)
      tp_putf(c, "  if (stands == TPX_WAITS) memcpy(a->own.last.b + %lld, base[%d], %lld);\n",
          (long long)w->x->param[o->param].at, i, (long long)o->bytes);
  }
}

static void put_prelude(exporter *w, tp_buf *b) {
  (void)w;
  tp_puts(b, tp_prelude);
}
static void put_environments(exporter *w, tp_buf *b) { tp_emit_environments(b, w->e.p, w->e.a); }

/* ---- the example ---- */

static void put_members(exporter *w, tp_buf *b) {
  member_group g;
  for (int k = 0; find_group(w, k, &g); k++) {
    int any = 0;
    for (int i = 0; i < g.n; i++)
      if (is_member(&g, i))
        tp_putf(b, "  static %s %s_%s[%lld];\n", tp_emit_type(g.v[i].dtype), g.var, g.v[i].as,
            (long long)TP_MAX(g.v[i].bytes / tp_dtype_size(g.v[i].dtype), 1));
    tp_putf(b, "  %s_%s %s = { ", w->x->name, g.what, g.var);
    for (int i = 0; i < g.n; i++)
      if (is_member(&g, i)) tp_putf(b, "%s%s_%s", any++ ? ", " : "", g.var, g.v[i].as);
    tp_puts(b, any ? " };\n" : "0 };\n");
  }
}

static void put_prints(exporter *w, tp_buf *b) {
  for (int i = 0; i < w->x->nout; i++) {
    const tp_export_array *o = &w->x->out[i];
    bool real = tp_dtype_float(o->dtype);
    if (o->as && o->bytes && !tp_half(o->dtype))
      tp_putf(b, "  printf(\"%s[0] = %s\\n\", (%s)%s_%s[0]);\n", o->as, real ? "%g" : "%ld",
          real ? "double" : "long", o->ticks ? "shown" : "out", o->as);
  }
}

/* ---- texts ---- %n the name, %N in capitals, %% a percent sign, %(word) what `word` puts, %?c a
 * line that is there if c is one of `flags` */

typedef struct {
  const char *word;
  void (*put)(exporter *w, tp_buf *b); /* NULL: the number */
  uint64_t n;
} insert;

static const char *put_insert(exporter *w, tp_buf *b, const char *s, const insert *v) {
  size_t n = strcspn(s, ")");
  while (strlen(v->word) != n || strncmp(v->word, s, n)) v++;
  if (v->put) v->put(w, b);
  else tp_putf(b, "%llu", (unsigned long long)v->n);
  return s + n;
}

static void put_section(
    exporter *w, tp_buf *b, const char *name, const char *flags, const insert *v) {
  const char *s = strstr(tp_prelude_agent, name);
  for (s = strchr(s, '\n') + 1; *s && strncmp(s, "%> ", 3); s++) {
    if (*s != '%') {
      tp_putn(b, s, 1);
      continue;
    }
    switch (*++s) {
    case 'n': tp_puts(b, w->x->name); break;
    case 'N': put_upper(b, w->x->name); break;
    case '(': s = put_insert(w, b, s + 1, v); break;
    case '?':
      if (!strchr(flags, *++s)) s = strchr(s, '\n');
      break;
    default: tp_puts(b, "%");
    }
  }
}

static bool calls_host(const tp_plan *p) {
  TP_EACH_NODE (k, p->body)
    if (k.x->rg && k.x->rg->kind == TP_RG_CALL && p->calls.v[k.x->rg->call].fn >= 0) return true;
  return false;
}

static uint64_t at_least(uint64_t least, int64_t n) { return TP_MAX(least, (uint64_t)n); }

void emit_files(exporter *w, tp_export_text *to) {
  const tp_export *x = w->x;
  uint64_t bytes = (uint64_t)x->weights, nparam = (uint64_t)x->nparam;
  const insert v[] = { { "place", put_place, 0 }, { "bounds", put_bounds, 0 },
    { "structs", put_structs, 0 }, { "calls", put_calls, 0 }, { "prelude", put_prelude, 0 },
    { "library", emit_library, 0 }, { "constants", put_constants, 0 },
    { "environments", put_environments, 0 }, { "runs", emit_runs, 0 }, { "where", put_where, 0 },
    { "arrays", put_arrays, 0 }, { "bases", put_bases, 0 }, { "held", put_held_arrays, 0 },
    { "members", put_members, 0 }, { "prints", put_prints, 0 },
    { "weights", NULL, 16 + 8 * nparam + bytes }, { "bytes", NULL, bytes },
    { "nin", NULL, (uint64_t)x->nin }, { "nout", NULL, (uint64_t)x->nout },
    { "nparam", NULL, nparam }, { "in", NULL, at_least(1, x->nin) },
    { "out", NULL, at_least(1, x->nout) }, { "params", NULL, at_least(1, x->nparam) },
    { "symbols", NULL, at_least(1, tp_nsym(w->e.ix)) }, { "values", NULL, at_least(8, x->weights) },
    { "room", NULL, at_least(8, w->room) }, { "arena", NULL, at_least(8, w->arena) },
    { "rank", NULL, (uint64_t)w->rank }, { "operands", NULL, (uint64_t)w->operands },
    { "buffers", NULL, (uint64_t)w->e.p->bufs.n + 1 }, { "seed", NULL, x->seed } };
  char flags[8];
  snprintf(flags, sizeof flags, "%c%c%s%s", x->ticks ? 't' : 'r', w->e.p->reproducible ? 's' : 'f',
      calls_host(w->e.p) ? "c" : "",
      !x->ticks        ? ""
          : x->endless ? "e"
                       : "d");
  put_section(w, &to->h, "%> header", flags, v);
  put_section(w, &to->c, "%> code", flags, v);
  put_section(w, &to->example, "%> example", flags, v);
}
