/* native.c: the tier that compiles a plan's C. Without a compiler the interpreter runs the same plan, and a warning says so, once a process. */
#include "rt/fn.h"
#include "rt/cc.h"
#include "emit/emit.h"
#include "kern/kern.h"
#include <dlfcn.h>

struct tp_native_code { const tp_plan *plan; void *lib; int n; tp_native **part; char path[TP_CC_PATH]; };

static const char head[] =
  "#include <stdint.h>\n#include <math.h>\n"
  "#if defined(__AVX512F__) && !defined(__clang__)\n#pragma GCC target(\"prefer-vector-width=512\")\n#endif\n"
  "#define TP_FN static inline\n#ifdef __FMA__\n#define TP_FMA 1\n#else\n#define TP_FMA 0\n#endif\n";

static int put_code(tp_buf *b, const tp_plan *p) {
  tp_puts(b, head);
  tp_puts(b, tp_prelude);
  return tp_emit_c(b, p);
}

static void warn_once(tp_fn *f, const char *why) {
  static int warned;
  if (__atomic_exchange_n(&warned, 1, __ATOMIC_RELAXED)) return;
  TP_PUSH(&f->closed->arena, &f->closed->warnings, tp_printf(&f->closed->arena, "%s:%d: no native code: %s; the interpreter runs the same plan", f->pos.file ? f->pos.file : "?", f->pos.line, why));
}

static bool find_parts(tp_fn *f, tp_native_code *c, int n) {
  c->part = TP_NEWN(&f->closed->arena, tp_native *, n + 1);
  for (int i = 0; i < n; i++) {
    char name[32];
    snprintf(name, sizeof name, "tp_part_%d", i);
    *(void **)&c->part[i] = dlsym(c->lib, name);
    if (!c->part[i]) return false;
  }
  return true;
}

static void build(tp_fn *f, tp_native_code *c) {
  tp_buf text, why;
  tp_hold h, hw;
  tp_buf_hold(&text, &h);
  tp_buf_hold(&why, &hw);
  int n = put_code(&text, c->plan);
  if (text.failed) tp_oom();
  c->lib = n ? tp_cc_open(text.s, text.n, c->path, &why) : NULL;
  if (c->lib && !find_parts(f, c, n)) c->part = NULL;
  if (n && !c->part) warn_once(f, why.s ? why.s : "what was compiled cannot be opened");
  tp_buf_drop(&why, &hw);
  tp_buf_drop(&text, &h);
}

static tp_native_code *code_of(tp_fn *f, const tp_plan *p) {
  tp_native_code *c = f->code[p != f->plan];
  if (c) return c;
  c = f->code[p != f->plan] = TP_NEW(&f->closed->arena, tp_native_code);
  c->plan = p;
  build(f, c);
  return c;
}

tp_exec *tp_fn_exec(tp_fn *f, const tp_plan *p, tp_error *err) {
  tp_native **part = f->tier == TP_TIER_NATIVE ? code_of(f, p)->part : NULL;
  tp_exec *x = tp_exec_new(p, &tp_interp, err);
  if (x) tp_exec_native(x, part);
  return x;
}

void tp_code_free(tp_fn *f) {
  for (size_t i = 0; i < TP_LEN(f->code); i++)
    if (f->code[i]) f->code[i]->lib = tp_cc_close(f->code[i]->lib);
}

void tp_fn_code(tp_fn *f, tp_buf *out) {
  const tp_native_code *c = f->code[0];
  tp_buf text;
  tp_hold h;
  if (c && c->part && *c->path) tp_putf(out, "/* %s */\n", c->path);
  if (!c || !c->part) tp_puts(out, "/* not compiled: the interpreter runs the plan */\n");
  tp_buf_hold(&text, &h);
  int n = tp_emit_c(&text, f->plan);
  tp_puts(out, n ? text.s : "/* nothing of this plan is worth compiling */\n");
  tp_buf_drop(&text, &h);
}
