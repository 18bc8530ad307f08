/* native.c: the tiers that compile a plan's C.
 *
 * Without a compiler the interpreter runs the same plan: tier native then warns, once a process;
 * tier auto says it only in explain. Tier auto begins in the interpreter. When the plan has run for
 * TP_TUNE_AUTO_LOOKS_MS in sum, it looks into the cache; after TP_TUNE_AUTO_BUILDS_MS it begins a
 * compiler as a child process. As soon as the code is there, a run goes on in it from the next
 * part, or the next iteration of an outermost loop. */
#include "rt/fn.h"
#include "rt/cc.h"
#include "emit/emit.h"
#include "os/os.h"
#include <stdlib.h>

typedef enum { CODE_NONE, CODE_LOOKED, CODE_BUILDS, CODE_THERE, CODE_NEVER } code_stage;
struct tp_native_code {
  tp_fn *f;
  const tp_plan *plan;
  bool clocks;
  code_stage stage;
  void *lib;
  tp_native **part;
  char path[TP_CACHE_PATH]; /* part: NULL until it is THERE */
  tp_cc_job *job;
  double ran;    /* tier auto: seconds of running */
  char why[256]; /* of NEVER */
};

/* Options of -O3 for loops, except distribution: gcc 12 makes a memset of a part whose rows alias
 * another by data. */
static const char head[] =
    "#if defined(__GNUC__) && !defined(__clang__)\n#pragma GCC "
    "optimize(\"no-tree-loop-distribution\", \"no-tree-loop-distribute-patterns\", "
    "\"vect-cost-model=dynamic\", \"peel-loops\", \"unswitch-loops\", \"predictive-commoning\", "
    "\"split-loops\", \"gcse-after-reload\", "
    "\"loop-unroll-and-jam\", \"loop-interchange\", \"version-loops-for-strides\")\n#endif\n"
    "#include <stdint.h>\n#include <string.h>\n#include <math.h>\n"
    "#if defined(__AVX512F__) && !defined(__clang__)\n#pragma GCC "
    "target(\"prefer-vector-width=512\")\n#endif\n"
    "#ifdef __GNUC__\n#define TP_FN static inline __attribute__((always_inline, "
    "unused))\n#else\n#define TP_FN static inline\n#endif\n"
    "#if defined(__clang__)\n#define TP_ONCE static __attribute__((noinline, unused))\n#elif "
    "defined(__GNUC__)\n#define TP_ONCE static __attribute__((noipa, unused))\n"
    "#else\n#define TP_ONCE static\n#endif\n";
static const char fuses[] = "#ifdef __FMA__\n#define TP_FMA 1\n#else\n#define TP_FMA 0\n#endif\n";

/* Warns once a process for each `warned`. */
static void warn_once(tp_fn *f, int *warned, const char *what, const char *why, const char *then) {
  tp_arena *a = &f->closed->arena;
  if (__atomic_exchange_n(warned, 1, __ATOMIC_RELAXED)) return;
  const char *file = f->pos.file ? f->pos.file : "?";
  TP_PUSH(
      a, &f->closed->warnings, tp_printf(a, "%s:%d: %s: %s%s", file, f->pos.line, what, why, then));
}

static bool find_parts(tp_fn *f, tp_native_code *c, int n) {
  c->part = TP_NEWN(&f->closed->arena, tp_native *, n + 1);
  for (int i = 0; i < n; i++) {
    char name[32];
    snprintf(name, sizeof name, "tp_part_%d", i);
    *(void **)&c->part[i] = tp_os_symbol(c->lib, name);
    if (!c->part[i]) return false;
  }
  return true;
}

/* Takes the functions of the plan's parts from the library. */
static void code_take(tp_native_code *c, void *lib, tp_buf *why) {
  tp_part *parts;
  c->lib = lib;
  c->stage = lib && find_parts(c->f, c, tp_plan_parts(c->plan, &c->f->closed->arena, &parts))
      ? CODE_THERE
      : CODE_NEVER;
  if (c->stage == CODE_THERE) return;
  c->part = NULL;
  if (!why->n) tp_puts(why, "what was compiled cannot be opened");
}

/* Looks for the plan's C in the cache, begins a compiler, or compiles and waits (THERE). A plan
 * without C is done, and needs no message. */
static void code_make(tp_native_code *c, code_stage to) {
  static int warned;
  tp_buf text, why;
  tp_hold h, hw;
  tp_buf_hold(&text, &h);
  tp_buf_hold(&why, &hw);
  tp_puts(&text, head);
  tp_puts(&text, c->plan->reproducible ? "#define TP_FMA 0\n" : fuses);
  tp_puts(&text, tp_prelude);
  int n = tp_emit_c(&text, c->plan, c->clocks);
  const tp_cc_source s = { text.s, text.n, c->f->cflags, c->f->program->ix };
  if (text.failed) tp_oom();
  if (!n) c->stage = CODE_NEVER;
  else if (to == CODE_LOOKED) {
    void *lib = tp_cc_cached(&s, c->path);
    c->stage = CODE_LOOKED;
    if (lib) code_take(c, lib, &why);
  } else if (to == CODE_BUILDS) {
    c->job = tp_cc_begin(&s, &why);
    c->stage = c->job ? CODE_BUILDS : CODE_NEVER;
  } else {
    void *lib = tp_cc_open(&s, c->path, &why);
    if (lib && why.n) {
      warn_once(c->f, &warned, "native code is not kept", why.s, "");
      tp_buf_free(&why);
    }
    code_take(c, lib, &why);
  }
  if (why.n) snprintf(c->why, sizeof c->why, "%s", why.s);
  tp_buf_drop(&why, &hw);
  tp_buf_drop(&text, &h);
}

/* ---- tier auto ---- */

static void code_wait(tp_native_code *c) {
  tp_buf why;
  tp_hold h;
  void *lib = NULL;
  tp_buf_hold(&why, &h);
  if (tp_cc_ended(c->job, &lib, c->path, &why)) {
    c->job = tp_cc_drop(c->job);
    if (lib) code_take(c, lib, &why);
    else c->stage = CODE_NEVER;
  }
  if (why.n) snprintf(c->why, sizeof c->why, "%s", why.s);
  tp_buf_drop(&why, &h);
}

static void code_advance(tp_native_code *c) {
  const char *set = tp_setting("TEMPO_NATIVE_AFTER");
  double builds = set ? strtod(set, NULL) : TP_TUNE_AUTO_BUILDS_MS * 1e-3;
  if (c->stage == CODE_NONE && c->ran >= TP_MIN(TP_TUNE_AUTO_LOOKS_MS * 1e-3, builds))
    code_make(c, CODE_LOOKED);
  if (c->stage == CODE_LOOKED && c->ran >= builds) code_make(c, CODE_BUILDS);
  if (c->stage == CODE_BUILDS) code_wait(c);
}

/* The executor asks for code. No failure here is an error of the run. */
static bool asked(void *ud, double ran, tp_native *const **fn) {
  tp_native_code *c = ud;
  tp_guard oom;
  c->ran += ran;
  if (TP_GUARDED(&oom)) {
    code_advance(c);
    tp_unguard(&oom);
  } else c->stage = CODE_NEVER;
  *fn = c->part;
  return c->stage >= CODE_THERE;
}

/* ---- the rest of rt calls these ---- */

static tp_native_code *code_of(tp_fn *f, const tp_plan *p) {
  static int warned;
  tp_native_code **of = &f->code[(p != f->plan) + 2 * f->clocks], *c = *of;
  if (c) return c;
  c = *of = TP_NEW(&f->closed->arena, tp_native_code);
  *c = (tp_native_code){ .f = f, .plan = p, .clocks = f->clocks };
  if (f->tier != TP_TIER_NATIVE && !f->clocks) return c;
  code_make(c, CODE_THERE);
  if (*c->why && !tp_ictx_ended(f->program->ix))
    warn_once(f, &warned, "no native code", c->why, "; the interpreter runs the same plan");
  return c;
}

/* A device runs kernels instead. */
static bool has_code(const tp_fn *f) {
  return (f->tier == TP_TIER_NATIVE || f->tier == TP_TIER_AUTO) && !f->backend->offload;
}

static void give_code(tp_exec *x, tp_fn *f, const tp_plan *p) {
  tp_native_code *c = has_code(f) ? code_of(f, p) : NULL;
  if (!c) return;
  tp_exec_native(x, c->part);
  tp_exec_ask(x, c->stage < CODE_THERE ? asked : NULL, c);
}

tp_exec *tp_fn_exec(tp_fn *f, const tp_plan *p, tp_error *err) {
  tp_cc_reap();
  tp_exec *x =
      tp_exec_new_on(p, f->backend->target, f->backend->offload, f->backend->device, f->which, err);
  if (x && !tp_exec_threads(x, f->threads, err)) return tp_exec_free(x);
  if (x) give_code(x, f, p);
  return x;
}

void tp_fn_clocks(tp_fn *f, bool on) {
  if (f->ran && f->ran != f) tp_fn_clocks(f->ran, on);
  if (f->clocks == on) return;
  f->clocks = on;
  if (f->exec) give_code(f->exec, f, f->plan);
  if (f->session && f->session->exec)
    give_code(f->session->exec, f, f->steps.plan ? f->steps.plan : f->plan);
}

void tp_code_free(tp_fn *f) {
  for (size_t i = 0; i < TP_LEN(f->code); i++) {
    if (!f->code[i]) continue;
    f->code[i]->job = tp_cc_drop(f->code[i]->job);
    f->code[i]->lib = tp_cc_close(f->code[i]->lib);
  }
}

bool tp_fn_is_native(const tp_fn *f) {
  bool any = false;
  for (size_t i = 0; i < TP_LEN(f->code); i++) any |= f->code[i] && f->code[i]->stage == CODE_THERE;
  return any;
}

const char *tp_fn_why_not_native(const tp_fn *f) {
  for (size_t i = 0; i < TP_LEN(f->code); i++)
    if (f->code[i] && *f->code[i]->why) return f->code[i]->why;
  return NULL;
}

void tp_fn_code(tp_fn *f, tp_buf *out) {
  const tp_native_code *c = f->code[0];
  tp_buf text;
  tp_hold h;
  if (c && c->part && *c->path) tp_putf(out, "/* %s */\n", c->path);
  if (has_code(f)) {
    tp_puts(out, "/* ");
    tp_cc_command(out, f->cflags);
    tp_puts(out, " */\n");
  }
  if (!c || !c->part) tp_puts(out, "/* not compiled: the interpreter runs the plan */\n");
  tp_buf_hold(&text, &h);
  int n = tp_emit_c(&text, f->plan, false);
  tp_puts(out, n ? text.s : "/* nothing of this plan is worth compiling */\n");
  tp_buf_drop(&text, &h);
}
