/* export_files.c: the files of a program that stands alone: its header with the object, its code
 * around what runs, and an example of its use. */
#include "emit/export.h"

/* ---- the object ---- */

static void put_upper(tp_buf *b, const char *s) {
  for (; *s; s++) tp_putf(b, "%c", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
}

/* Where something stands in the script, inside a comment: the name of a chunk can be any text. */
static void put_pos(tp_buf *b, tp_pos pos) {
  for (const char *s = pos.file ? pos.file : "?"; *s; s++)
    tp_putf(b, "%c", *s == '*' || *s == '\\' || (unsigned char)*s < ' ' ? '_' : *s);
  tp_putf(b, ":%d", pos.line);
}

/* Text with %n for the name, %N for the name in capitals, %% for a percent sign. */
static void put_text(const exporter *w, tp_buf *b, const char *s) {
  for (; *s; s++) {
    if (s[0] != '%') tp_putn(b, s, 1);
    else if (*++s == 'n') tp_puts(b, w->x->name);
    else if (*s == 'N') put_upper(b, w->x->name);
    else tp_puts(b, "%");
  }
}

static void put_shape(tp_buf *b, const tp_export_array *v) {
  tp_putf(b, "%s ", tp_dtype_name(v->dtype));
  for (int i = 0; i < v->rank; i++) tp_putf(b, "[%lld]", (long long)v->shape[i]);
}

static bool any_of(const tp_export_array *v, int n, bool ticks) {
  bool any = false;
  for (int i = 0; i < n; i++) any |= v[i].as && v[i].ticks == ticks;
  return any;
}

static void put_struct(const exporter *w, tp_buf *b, const char *what, const tp_export_array *v,
    int n, bool ticks, bool in) {
  tp_putf(b, "\ntypedef struct %s_%s {\n", w->x->name, what);
  for (int i = 0; i < n; i++) {
    if (!v[i].as || v[i].ticks != ticks) continue;
    tp_putf(b, "  %s%s *%s;%*s/* ", in ? "const " : "", tp_emit_type(v[i].dtype), v[i].as,
        TP_MAX(1, 30 - (int)strlen(v[i].as)), "");
    put_shape(b, &v[i]);
    tp_puts(b, " */\n");
  }
  if (!any_of(v, n, ticks)) tp_puts(b, "  int none;\n");
  tp_putf(b, "} %s_%s;\n", w->x->name, what);
}

static void put_calls(const exporter *w, tp_buf *b) {
  const tp_plan *p = w->e.p;
  bool any = false;
  for (int i = 0; i < p->calls.n; i++) {
    if (p->calls.v[i].fn < 0) continue;
    if (!any) tp_puts(b, "\n/* Which function of the host's: `call` of the object. */\nenum {\n");
    any = true;
    tp_puts(b, "  ");
    put_upper(b, w->x->name);
    tp_putf(b, "_CALL_%d = %d,%*s/* ", p->calls.v[i].fn, p->calls.v[i].fn, 20, "");
    put_pos(b, p->calls.v[i].pos);
    tp_putf(b, "%s%s */\n", p->calls.v[i].name ? " " : "",
        p->calls.v[i].name ? p->calls.v[i].name : "");
  }
  if (any) tp_puts(b, "};\n");
}

static void put_bounds(const exporter *w, tp_buf *b) {
  if (!w->x->nbound) return;
  tp_puts(b, "\n/* What it was exported for. */\n");
  for (int i = 0; i < w->x->nbound; i++) {
    tp_puts(b, "#define ");
    put_upper(b, w->x->name);
    tp_puts(b, "_");
    /* of the other names of that kind */
    const char *name = w->x->bounds[i]->name,
               *mine = strcmp(name, "WEIGHTS") && strncmp(name, "CALL_", 5) ? "" : "_";
    tp_putf(b, "%s%s %lld%*s/* %s */\n", name, mine, (long long)w->x->env[w->x->bounds[i]->id], 10,
        "", name);
  }
}

void emit_header(const exporter *w, tp_buf *b) {
  const tp_export *x = w->x;
  put_text(w, b, "/* %n: made by tempo from ");
  put_pos(b, x->pos);
  put_text(w, b,
      ". C99 and libm; it allocates nothing, and all that it writes is in the object or in arrays "
      "of yours. Arrays are dense and row major. */\n"
      "#ifndef TEMPO_EXPORT_%N_H\n#define TEMPO_EXPORT_%N_H\n#include <stddef.h>\n#include "
      "<stdint.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
  put_bounds(w, b);
  put_struct(w, b, "inputs", x->in, x->nin, false, true);
  put_struct(w, b, "outputs", x->out, x->nout, false, false);
  if (x->ticks) put_struct(w, b, "values", x->in, x->nin, true, true);
  if (x->ticks) put_struct(w, b, "shown", x->out, x->nout, true, false);
  put_calls(w, b);
  put_text(w, b, "\n#define %N_WEIGHTS ");
  tp_putf(b, "%lld%*s/* bytes of the file of weights */\n",
      (long long)(16 + 8 * x->nparam + x->weights), 10, "");
  put_text(w, b,
      "\n/* %n_init fills it. */\ntypedef struct %n {\n  uint64_t seed;                            "
      "    /* of random numbers */\n"
      "  /* A function of the host's, at a point of its domain: results are zeroed before. 0: the "
      "run fails. */\n"
      "  int (*call)(void *user, int which, const int64_t *point, const void *const *in, void "
      "*const *out);\n  void *user;\n"
      "  const char *error, *where;                    /* what failed last; NULL: nothing has */\n"
      "  struct {                                      /* the rest is its own */\n    int at, "
      "over;\n    void *in[");
  tp_putf(b, "%d], *out[%d];\n    int64_t env[%d];\n    uint64_t have[%d], made[%d];\n",
      TP_MAX(x->nin, 1), TP_MAX(x->nout, 1), TP_MAX(tp_nsym(w->e.ix), 1), TP_MAX(x->nparam, 1),
      TP_MAX(x->nparam, 1));
  tp_putf(b, "    union { double d; int64_t i; unsigned char b[%lld]; } first, last;\n",
      (long long)TP_MAX(x->weights, 8));
  tp_putf(b, "    union { double d; int64_t i; unsigned char b[%lld]; } room;\n",
      (long long)TP_MAX(w->room, 8));
  tp_putf(b, "    union { double d; int64_t i; unsigned char b[%lld]; } arena;\n  } own;\n} ",
      (long long)TP_MAX(w->arena, 8));
  put_text(w, b,
      "%n;\n\nvoid %n_init(%n *a);\n"
      "/* Takes parameters, as the file of weights has them; without any they begin as the program "
      "says. 0: not these. */\nint %n_load(%n *a, const void *weights, size_t n);\n"
      "/* The newest parameters: %N_WEIGHTS bytes. */\nvoid %n_save(const %n *a, void "
      "*weights);\n");
  put_text(w, b,
      x->ticks ? "/* Begins a run: arrays stay the caller's, and in use until it is over. 0: "
                 "failed. */\nint %n_start(%n *a, const %n_inputs *in, const %n_outputs *out);\n"
                 "/* Goes to the next tick. *done: it was the last. Of what is shown NULL is left "
                 "out. 0: failed. */\n"
                 "int %n_step(%n *a, const %n_values *values, const %n_shown *shown, int *done);\n"
               : "/* 0: failed, and a->error and a->where say why. */\nint %n_run(%n *a, const "
                 "%n_inputs *in, const %n_outputs *out);\n");
  put_text(w, b, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}

/* ---- the file ---- */

static void put_constant(const exporter *w, const tp_pbuf *x) {
  static const char *const word[] = {
    [1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"
  };
  int size = tp_dtype_size(x->dtype);
  int64_t n = x->data ? x->data->count : 0;
  tp_putf(w->c, "\nstatic const %s c%d[%lld] = {", word[size], x->id, (long long)TP_MAX(n, 1));
  for (int64_t i = 0; i < n; i++) {
    uint64_t v = 0;
    memcpy(&v, (const char *)x->data->data + i * size, (size_t)size);
    tp_putf(w->c, "%s%llu%s", i % 12 ? " " : "\n  ", (unsigned long long)v,
        size == 8       ? "ULL,"
            : size == 4 ? "U,"
                        : ",");
  }
  tp_puts(w->c, n ? "\n};\n" : " 0 };\n");
}

static void put_quoted(tp_buf *b, const char *s) {
  for (; *s; s++)
    if ((unsigned char)*s < 32) tp_puts(b, " ");
    else tp_putf(b, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
}

static void put_where(exporter *w) {
  char name[256];
  TP_EACH_NODE (k, w->e.p->body) {
    const tp_region *r = k.x->rg;
    if (!r) continue;
    tp_putf(w->c, "    case %d: return \"", k.x->pos);
    put_quoted(w->c, r->pos.file ? r->pos.file : "?");
    tp_putf(w->c, ":%d: ", r->pos.line);
    put_quoted(w->c, tp_who_label(&r->who, tp_region_op(r), name, sizeof name));
    tp_puts(w->c, "\";\n");
  }
}

static const char head[] =
    "#include <math.h>\n#include <string.h>\n"
    "#ifdef __clang__\n#pragma STDC FP_CONTRACT OFF\n#pragma clang diagnostic ignored "
    "\"-Wunknown-warning-option\"\n#pragma clang diagnostic ignored "
    "\"-Wbitwise-instead-of-logical\"\n#pragma clang diagnostic ignored "
    "\"-Wparentheses-equality\"\n#elif defined(__GNUC__) && !defined(__STRICT_ANSI__)\n#pragma GCC "
    "optimize(\"fp-contract=off\")\n#endif\n"
    "#ifdef __GNUC__\n#define TP_FN static inline __attribute__((__unused__))\n#define TP_ONCE "
    "static __attribute__((__noinline__, __unused__))\n#define TPX_ALIAS "
    "__attribute__((__may_alias__))\n#else\n#define TP_FN static inline\n#define TPX_ALIAS\n"
    "#define __builtin_expect(x, y) (x)\n#endif\n#if !defined(__GNUC__) || "
    "defined(__clang__)\n#define TP_IVDEP\n#endif\n#define TP_ALONE\n"
    "typedef uint8_t TPX_ALIAS tpx_bool, tpx_u8;\ntypedef uint16_t TPX_ALIAS tpx_f16, "
    "tpx_bf16;\ntypedef int32_t TPX_ALIAS tpx_i32;\ntypedef int64_t TPX_ALIAS tpx_i64;\n"
    "typedef float TPX_ALIAS tpx_f32;\ntypedef double TPX_ALIAS tpx_f64;\n";

static const char fused[] =
    "/* The same bits everywhere: what is fused is written as fma, nothing else may be. Without "
    "-DTP_FMA=0 processors that have no fma do it in libm. */\n"
    "#ifndef TP_FMA\n#define TP_FMA 1\n#endif\n";

static const char unfused[] =
    "/* The same bits everywhere, and those of the program: nothing is fused. */\n#undef "
    "TP_FMA\n#define TP_FMA 0\n"
    "#include <float.h>\n#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16\n#error floats are "
    "computed in another type: -msse2 -mfpmath=sse\n#endif\n";

static const char host[] =
    "\nstatic int tpx_host(void *exec, int which, const int64_t *point, const void *const *in, "
    "void *const *out) {\n"
    "  %n *a = (%n *)exec;\n  return a->call && a->call(a->user, which, point, in, out);\n}\n";

static const char foot[] =
    "\nstatic int tpx_fault(void *exec, int pos, int what, const int64_t *at) {\n"
    "  static const char *const why[] = { \"\", \"integer division by zero\", \"integer power with "
    "a negative exponent\", \"a fold of nothing\", \"an index is outside\",\n"
    "                                     \"no integer in the range\", \"nothing to choose from\", "
    "\"an action is outside\", \"the host's function failed\" };\n"
    "  %n *a = (%n *)exec;\n  (void)at;\n  a->error = why[what];\n  a->where = tpx_where(pos);\n  "
    "return 1;\n}\n"
    "\nvoid %n_init(%n *a) {\n  memset(a, 0, sizeof *a);\n  a->seed = TPX_SEED;\n  a->own.over = "
    "1;\n}\n"
    "\n/* A number that says byte order and version, bytes of all, which parameters are there, and "
    "they. */\n"
    "static const uint64_t tpx_magic = 0x31746867692e7074ULL;\n"
    "\nint %n_load(%n *a, const void *weights, size_t n) {\n  const unsigned char *p = (const "
    "unsigned char *)weights;\n  uint64_t v;\n"
    "  if (n != %N_WEIGHTS) return 0;\n  memcpy(&v, p, 8);\n  if (v != tpx_magic) return 0;\n  "
    "memcpy(&v, p + 8, 8);\n  if (v != TPX_PARAMS) return 0;\n"
    "  memcpy(a->own.have, p + 16, 8 * TPX_NPARAM);\n  memcpy(a->own.made, a->own.have, 8 * "
    "TPX_NPARAM);\n  memcpy(a->own.first.b, p + 16 + 8 * TPX_NPARAM, TPX_PARAMS);\n  "
    "memcpy(a->own.last.b, a->own.first.b, TPX_PARAMS);\n  return 1;\n}\n"
    "\nvoid %n_save(const %n *a, void *weights) {\n  unsigned char *p = (unsigned char "
    "*)weights;\n  uint64_t v = TPX_PARAMS;\n"
    "  memcpy(p, &tpx_magic, 8);\n  memcpy(p + 8, &v, 8);\n  memcpy(p + 16, a->own.made, 8 * "
    "TPX_NPARAM);\n  memcpy(p + 16 + 8 * TPX_NPARAM, a->own.last.b, TPX_PARAMS);\n}\n";

/* Where each buffer lies. */
static void put_bases(const exporter *w) {
  tp_buf *c = w->c;
  tp_puts(c, "  char *base[TPX_BUFFERS + 1] = { NULL };\n");
  for (int i = 0; i < w->e.p->bufs.n; i++) {
    const tp_pbuf *b = w->e.p->bufs.v[i];
    const tp_export_array *o = b->kind == TP_BUF_OUTPUT ? &w->x->out[b->slot] : NULL;
    if (tp_in_arena(b) && w->place[i] >= 0)
      tp_putf(c, "  base[%d] = (char *)a->own.arena.b + %lld;\n", i, (long long)w->place[i]);
    else if (b->kind == TP_BUF_CONST) tp_putf(c, "  base[%d] = (char *)(uintptr_t)c%d;\n", i, i);
    else if (b->kind == TP_BUF_INPUT && w->x->in[b->slot].as && !w->x->in[b->slot].ticks)
      tp_putf(c, "  base[%d] = (char *)a->own.in[%d];\n", i, b->slot);
    else if (o && o->param >= 0)
      tp_putf(c, "  base[%d] = (char *)a->own.last.b + %lld;\n", i,
          (long long)w->x->param[o->param].at);
    else if (o && o->as && !o->ticks)
      tp_putf(c, "  base[%d] = (char *)a->own.out[%d];\n", i, b->slot);
    else if (b->kind == TP_BUF_PARAM)
      tp_putf(c, "  base[%d] = a->own.have[%d] ? (char *)a->own.first.b + %lld : NULL;\n", i,
          b->slot, (long long)w->x->param[b->slot].at);
  }
}

/* Arrays that are whole: all must be given, but for those without elements. */
static void put_given(const exporter *w) {
  tp_buf *c = w->c;
  const tp_export *x = w->x;
  tp_puts(
      c, "  (void)in, (void)out;\n  a->error = a->where = NULL;\n  a->own.at = a->own.over = 0;\n");
  for (int i = 0; i < x->nin; i++)
    if (x->in[i].as && !x->in[i].ticks) {
      tp_putf(c, "  a->own.in[%d] = (void *)(uintptr_t)in->%s;\n", i, x->in[i].as);
      if (x->in[i].bytes)
        tp_putf(c, "  if (!in->%s) return tpx_missing(a, \"%s\");\n", x->in[i].as, x->in[i].as);
    }
  for (int i = 0; i < x->nout; i++)
    if (x->out[i].as && !x->out[i].ticks) {
      tp_putf(c, "  a->own.out[%d] = (void *)out->%s;\n", i, x->out[i].as);
      if (x->out[i].bytes)
        tp_putf(c, "  if (!out->%s) return tpx_missing(a, \"%s\");\n  memset(out->%s, 0, %lld);\n",
            x->out[i].as, x->out[i].as, x->out[i].as, (long long)x->out[i].bytes);
    }
}

static bool any_array(const tp_export *x) {
  bool any = false;
  for (int i = 0; i < x->nin; i++) any |= x->in[i].as && x->in[i].bytes;
  for (int i = 0; i < x->nout; i++) any |= x->out[i].as && x->out[i].bytes && !x->out[i].ticks;
  return any;
}

static void put_tick_arrays(const exporter *w) {
  const tp_export *x = w->x;
  tp_buf *c = w->c;
  tp_putf(c,
      "  const void *values[%d] = { NULL };\n  void *show[%d] = { NULL };\n  (void)given, "
      "(void)shown;\n",
      TP_MAX(x->nin, 1), TP_MAX(x->nout, 1));
  for (int i = 0; i < x->nin; i++)
    if (x->in[i].as && x->in[i].ticks) {
      tp_putf(c, "  if (given) values[%d] = given->%s;\n", i, x->in[i].as);
      if (x->in[i].bytes)
        tp_putf(c, "  if (given && !values[%d]) return tpx_missing(a, \"%s\");\n", i, x->in[i].as);
    }
  for (int i = 0; i < x->nout; i++)
    if (x->out[i].as && x->out[i].ticks)
      tp_putf(c, "  if (shown) show[%d] = shown->%s;\n", i, x->out[i].as);
  tp_puts(c, "  h.values = values;\n  h.shown = show;\n");
}

static void put_go(const exporter *w) {
  tp_buf *c = w->c;
  put_text(w, c,
      w->x->ticks ? "\nstatic int tpx_go(%n *a, const %n_values *given, const %n_shown *shown) {\n"
                  : "\nstatic int tpx_go(%n *a) {\n");
  tp_puts(c, "  const unsigned char goes_on = 0;\n  int stands;\n");
  put_bases(w);
  tp_puts(c,
      "  tp_host h = { 0 };\n  h.env = a->own.env;\n  h.base = base;\n  h.cancel = &goes_on;\n  "
      "h.exec = a;\n  h.fault = tpx_fault;\n  h.seed = a->seed;\n"
      "  h.room = (char *)a->own.room.b;\n  h.at = a->own.at;\n");
  if (w->x->ticks) put_tick_arrays(w);
  tp_puts(c,
      "  stands = tpx_run(&h);\n  a->own.at = h.at;\n  a->own.over = stands == TPX_WAITS ? 0 : "
      "stands == TPX_OVER ? 2 : 1;\n");
  for (int i = 0; i < w->e.p->bufs.n; i++) {
    const tp_pbuf *b = w->e.p->bufs.v[i];
    const tp_export_array *o = b->holds < 0 ? NULL : &w->x->out[b->holds];
    if (o && w->place[i] >= 0)
      tp_putf(c, "  if (stands == TPX_WAITS) memcpy(a->own.last.b + %lld, base[%d], %lld);\n",
          (long long)w->x->param[o->param].at, i, (long long)o->bytes);
  }
  for (int k = 0; k < w->x->nparam; k++)
    tp_putf(c, "  if (stands != TPX_FAILED) a->own.made[%d] = 1;\n", k);
  tp_puts(c, "  return stands;\n}\n");
}

static void put_doors(const exporter *w) {
  tp_buf *c = w->c;
  bool ticks = w->x->ticks;
  if (any_array(w->x))
    put_text(w, c,
        "\nstatic int tpx_missing(%n *a, const char *what) {\n  a->error = \"an array is not "
        "given\";\n  a->where = what;\n  return 0;\n}\n");
  put_go(w);
  put_text(w, c,
      ticks ? "\nint %n_start(%n *a, const %n_inputs *in, const %n_outputs *out) {\n"
            : "\nint %n_run(%n *a, const %n_inputs *in, const %n_outputs *out) {\n");
  put_given(w);
  put_text(w, c,
      ticks ? "  return tpx_go(a, NULL, NULL) != TPX_FAILED;\n}\n"
              "\nint %n_step(%n *a, const %n_values *values, const %n_shown *shown, int *done) {\n "
              " int stands = TPX_OVER;\n"
              "  if (a->own.over == 1) { a->error = \"no run is going on\"; a->where = \"\"; "
              "return 0; }\n"
              "  if (!a->own.over) stands = tpx_go(a, values, shown);\n"
              "  *done = stands == TPX_OVER;\n  if (stands == TPX_OVER) a->own.over = 1;\n  return "
              "stands != TPX_FAILED;\n}\n"
            : "  return tpx_go(a) != TPX_FAILED;\n}\n");
}

static bool calls_host(const tp_plan *p, const tp_pnode *x) {
  TP_EACH_NODE (k, x)
    if (k.x->rg && k.x->rg->kind == TP_RG_CALL && p->calls.v[k.x->rg->call].fn >= 0) return true;
  return false;
}

static void put_file(exporter *w) {
  tp_buf *c = w->c;
  const tp_export *x = w->x;
  put_text(w, c, "/* %n.c: made by tempo. %n.h says what it is. */\n#include \"%n.h\"\n");
  tp_puts(c, head);
  tp_puts(c, w->e.p->reproducible ? unfused : fused);
  tp_putf(c,
      "#define TPX_RANK %d\n#define TPX_OPERANDS %d\n#define TPX_SEED %lluULL\n#define TPX_BUFFERS "
      "%d\n#define TPX_NPARAM %d\n#define TPX_PARAMS %lld\n",
      w->rank, w->operands, (unsigned long long)x->seed, w->e.p->bufs.n, x->nparam,
      (long long)x->weights);
  tp_puts(c, tp_prelude);
  if (calls_host(w->e.p, w->e.p->body)) put_text(w, c, host);
  emit_library(w);
}

void emit_code(exporter *w) {
  put_file(w);
  for (int i = 0; i < w->e.p->bufs.n; i++)
    if (w->e.p->bufs.v[i]->kind == TP_BUF_CONST) put_constant(w, w->e.p->bufs.v[i]);
  tp_emit_environments(w->c, w->e.p, w->e.a);
  emit_runs(w);
  tp_puts(w->c, "\nstatic const char *tpx_where(int pos) {\n  switch (pos) {\n");
  put_where(w);
  tp_puts(w->c, "  }\n  return \"\";\n}\n");
  put_text(w, w->c, foot);
  put_doors(w);
}

/* ---- an example ---- */

static void put_members(const exporter *w, tp_buf *b, const char *var, const char *what,
    const tp_export_array *v, int n, bool ticks) {
  for (int i = 0; i < n; i++)
    if (v[i].as && v[i].ticks == ticks)
      tp_putf(b, "  static %s %s_%s[%lld];\n", tp_emit_type(v[i].dtype), var, v[i].as,
          (long long)TP_MAX(v[i].bytes / tp_dtype_size(v[i].dtype), 1));
  tp_putf(b, "  %s_%s %s = { ", w->x->name, what, var);
  for (int i = 0, any = 0; i < n; i++)
    if (v[i].as && v[i].ticks == ticks) tp_putf(b, "%s%s_%s", any++ ? ", " : "", var, v[i].as);
  tp_puts(b, any_of(v, n, ticks) ? " };\n" : "0 };\n");
}

void emit_example(const exporter *w, tp_buf *b) {
  const tp_export *x = w->x;
  put_text(w, b,
      "/* How %n is used: cc -std=c99 -O2 %n_main.c %n.c -lm */\n#include <stdio.h>\n#include "
      "\"%n.h\"\n\nstatic %n a;\n\nint main(void) {\n  static unsigned char "
      "weights[%N_WEIGHTS];\n");
  put_members(w, b, "in", "inputs", x->in, x->nin, false);
  put_members(w, b, "out", "outputs", x->out, x->nout, false);
  if (x->ticks) put_members(w, b, "values", "values", x->in, x->nin, true);
  if (x->ticks) put_members(w, b, "shown", "shown", x->out, x->nout, true);
  put_text(w, b,
      "  FILE *f = fopen(\"%n.weights\", \"rb\");\n  size_t n = f ? fread(weights, 1, sizeof "
      "weights, f) : 0;\n  if (f) fclose(f);\n  %n_init(&a);\n"
      "  if (!%n_load(&a, weights, n)) return fputs(\"%n.weights is not what it was\\n\", stderr), "
      "1;\n");
  put_text(w, b,
      x->ticks ? "  int done = 0, ok = %n_start(&a, &in, &out);\n"
               : "  int ok = %n_run(&a, &in, &out);\n");
  if (x->ticks)
    put_text(w, b,
        x->endless ? "  for (int tick = 0; tick < 100 && ok && !done; tick++) ok = %n_step(&a, "
                     "&values, &shown, &done);\n"
                   : "  while (ok && !done) ok = %n_step(&a, &values, &shown, &done);\n");
  put_text(w, b, "  if (!ok) return fprintf(stderr, \"%%s: %%s\\n\", a.where, a.error), 1;\n");
  for (int i = 0; i < x->nout; i++)
    if (x->out[i].as && x->out[i].bytes && !tp_half(x->out[i].dtype))
      tp_putf(b, "  printf(\"%s[0] = %s\\n\", (%s)%s_%s[0]);\n", x->out[i].as,
          tp_dtype_float(x->out[i].dtype) ? "%g" : "%ld",
          tp_dtype_float(x->out[i].dtype) ? "double" : "long", x->out[i].ticks ? "shown" : "out",
          x->out[i].as);
  tp_puts(b, "  return 0;\n}\n");
}
