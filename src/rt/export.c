/* export: writes a compiled function for given bounds as files of C that need no tempo
 * (emit/export/export.c). */
#include "rt/fn.h"
#include "emit/emit.h"
#include "io/io.h"

typedef struct {
  tp_fn *f;
  const char *path;
  const int64_t *given;
  tp_export x;
  tp_export_text to;
  tp_run run;
} exporting;

/* ---- inputs, outputs, parameters ---- */

/* Words of C and C++, and names that the included headers declare: no member may have them. */
static const char c_words[] =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const "
    "const_cast constexpr continue decltype default delete do double dynamic_cast else enum "
    "explicit export extern false float for friend goto if inline int long mutable namespace new "
    "noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast restrict return short signed sizeof static static_assert static_cast struct "
    "switch template this thread_local throw true try typedef typeid typename typeof union "
    "unsigned using virtual void volatile wchar_t while xor xor_eq NULL NAN INFINITY linux unix";
/* names that the headers also have with an f or l at the end */
static const char c_math[] =
    "acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp ilogb "
    "ldexp log log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma "
    "tgamma ceil floor nearbyint rint lrint llrint round lround llround trunc fmod remainder "
    "remquo copysign nan nextafter nexttoward fdim fmax fmin fma gamma";
static const char c_others[] =
    "main memchr memcmp memcpy memmove memset strcat strchr strcmp strcoll strcpy strcspn strdup "
    "strerror strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtok strxfrm remove "
    "rename printf puts putc putchar getc getchar perror";

static bool is_in(const char *words, const char *s, size_t n) {
  for (size_t k; *words; words += k + (words[k] == ' ')) {
    k = strcspn(words, " ");
    if (k == n && !memcmp(words, s, n)) return true;
  }
  return false;
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

/* A member's name: the letters, digits and _ of `name`, and different from those in v. */
static const char *member_of(tp_fn *f, const char *name, const tp_export_array *v, int n) {
  char *s = tp_printf(
      &f->closed->arena, "%s%s", *name >= '0' && *name <= '9' ? "_" : "", *name ? name : "_");
  for (char *p = s; *p; p++)
    if (!strchr(letters, *p)) *p = '_';
  bool taken = is_in(c_words, s, strlen(s)) || strcmp(s, "none") == 0;
  for (int i = 0; i < n; i++) taken |= v[i].as && strcmp(s, v[i].as) == 0;
  return taken ? member_of(f, tp_printf(&f->closed->arena, "%s_", s), v, n) : s;
}

/* Describes an array, without the dims that steps go through if it comes or goes with them. */
static void describe(
    exporting *q, tp_export_array *a, const tp_node *n, const tp_out *o, bool ticks) {
  tp_sym *dom[TP_MAXRANK];
  int nd = 0;
  for (int k = 0; k < n->ndom; k++)
    if (!ticks || !tp_dom_has(q->f->ntick, q->f->tick, n->dom[k])) dom[nd++] = n->dom[k];
  a->dtype = o->dtype;
  a->ticks = ticks;
  a->rank = tp_run_shape(&q->run, nd, dom, o, a->shape);
  a->bytes = tp_dtype_size(a->dtype);
  for (int i = 0; i < a->rank; i++) a->bytes = tp_times_bytes(a->bytes, a->shape[i]);
}

static void list_inputs(exporting *q) {
  tp_graph *g = q->f->closed;
  q->x.nin = g->inputs.n;
  q->x.in = TP_NEWN(&g->arena, tp_export_array, g->inputs.n + 1);
  for (int i = 0; i < g->inputs.n; i++) {
    tp_export_array *a = &q->x.in[i];
    if (!tp_fn_needs_input(q->f, i)) continue;
    describe(q, a, g->inputs.v[i], &g->inputs.v[i]->out[0], q->x.ticks && q->f->fed[i]);
    a->name = g->inputs.v[i]->attr.str;
    a->as = member_of(q->f, a->name, q->x.in, i);
  }
}

static void list_outputs(exporting *q) {
  tp_graph *g = q->f->closed;
  int nparam = 0;
  q->x.nout = g->outputs.n;
  q->x.out = TP_NEWN(&g->arena, tp_export_array, g->outputs.n + 1);
  for (int i = 0; i < g->outputs.n; i++) {
    const tp_output *o = &g->outputs.v[i];
    tp_export_array *a = &q->x.out[i];
    describe(q, a, o->val.node, tp_outof(o->val), q->x.ticks && q->f->shown[i]);
    a->param = o->hidden ? nparam++ : -1;
    a->name = o->name;
    if (!o->hidden) a->as = member_of(q->f, o->name, q->x.out, i);
  }
}

/* The last value of a parameter has the place of its first in the file of weights. */
static bool list_params(exporting *q, tp_error *err) {
  tp_fn *f = q->f;
  q->x.nparam = tp_fn_nparam(f);
  q->x.param = TP_NEWN(&f->closed->arena, tp_export_array, q->x.nparam + 1);
  for (int i = 0; i < q->x.nout; i++) {
    tp_export_array *o = &q->x.out[i];
    if (o->param < 0) continue;
    tp_export_array *a = &q->x.param[o->param];
    *a = *o;
    a->name = tp_fn_param(f, o->param)->attr.str;
    a->value = tp_fn_param_value(f, o->param);
    a->at = q->x.weights;
    q->x.weights = tp_sum_bytes(q->x.weights, tp_sum_bytes(a->bytes, 7) / 8 * 8);
    if (a->value && !tp_array_is(a->value, a->dtype, a->rank, a->shape))
      return tp_fail(err, TP_E_SHAPE, tp_fn_param(f, o->param)->pos,
          "shape: export: parameter '%s' has a value of other extents than these bounds give",
          a->name);
  }
  return true;
}

/* ---- files ---- */

static bool good_name(const char *name) {
  size_t n = strlen(name);
  return n && (*name < '0' || *name > '9') && !name[strspn(name, letters)] &&
      !is_in(c_words, name, n) && !is_in(c_others, name, n) && !is_in(c_math, name, n) &&
      !(strchr("fl", name[n - 1]) && is_in(c_math, name, n - 1));
}

static bool write_files(exporting *q, tp_error *err) {
  static const char *const end[] = { ".h", ".c", ".weights", "_main.c" };
  tp_buf *const b[] = { &q->to.h, &q->to.c, &q->to.weights, &q->to.example };
  tp_file_new v[TP_LEN(end)];
  for (size_t i = 0; i < TP_LEN(end); i++) {
    if (b[i]->failed) tp_oom();
    v[i] = (tp_file_new){ tp_printf(&q->f->closed->arena, "%s%s", q->path, end[i]), tp_file_text,
      b[i] };
  }
  return tp_file_replace_all(TP_LEN(v), v, err);
}

/* ---- */

static bool may_be_exported(exporting *q, tp_error *err) {
  tp_fn *f = q->f;
  if (!good_name(q->x.name))
    return tp_fail(err, TP_E_OPTION, TP_NOWHERE,
        "export: '%s' must end with a name that C takes: letters, digits and _, no word or "
        "function of C, as \"dir/agent\"",
        q->path);
  if (f->ticking && !tp_fn_ticks(f, err)) return false;
  if (!f->plan)
    return tp_fail(err, TP_E_DEVICE, TP_NOWHERE,
        "export: the reference evaluator has no plan: compile with tier = \"interpreter\" "
        "or \"native\"");
  if (q->x.endless && !f->ticking)
    return tp_fail(err, TP_E_BOUND, f->pos,
        "export: '%s' cannot be math.huge in code without steps: compile{ tick = %s }",
        f->tick[0]->bound->name, f->tick[0]->name);
  if (q->x.endless && !tp_fn_may_be_endless(f, q->run.env, "be math.huge", err)) return false;
  return tp_run_check_bounds(f->ticking ? f->steps.graph : f->graph, &q->run, err);
}

static bool export_now(tp_fn *f, void *arg, tp_error *err) {
  exporting *q = arg;
  tp_arena a;
  tp_scratch_init(&a);
  int n = tp_nsym(f->graph->ix);
  int64_t *env = TP_NEWN(&a, int64_t, n), *runs = TP_NEWN(&a, int64_t, n);
  tp_fill_env(f, env, q->given);
  tp_fill_env(f, runs, q->given);
  q->run.env = env;
  q->x.env = runs;
  bool ok = may_be_exported(q, err);
  if (ok) {
    tp_plan_given(f->plan, runs);
    list_inputs(q);
    list_outputs(q);
    ok = list_params(q, err) && tp_emit_export(&q->to, f->plan, &q->x, err) && write_files(q, err);
  }
  tp_arena_free(&a);
  return ok;
}

bool tp_fn_export(tp_fn *f, const char *path, const int64_t *given, tp_error *err) {
  exporting q = { .f = f, .path = path, .given = given };
  tp_buf *const b[] = { &q.to.c, &q.to.h, &q.to.example, &q.to.weights };
  const char *slash = strrchr(path, '/');
  q.x = (tp_export){ .name = slash ? slash + 1 : path,
    .pos = f->pos,
    .seed = f->closed->seed,
    .nbound = f->nbound,
    .bounds = f->bounds,
    .ticks = f->ticking,
    .endless = tp_fn_is_endless(f, given) };
  for (int i = 0; i < 4; i++) tp_buf_init(b[i]);
  bool ok = tp_guarded(f, export_now, &q, err);
  for (int i = 0; i < 4; i++) tp_buf_free(b[i]);
  return ok;
}
