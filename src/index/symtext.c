/* symtext: prints and parses lines that name symbols. */
#include "index/priv.h"

void tp_syms_print(tp_buf *b, const tp_ictx *c, const bool *used) {
  for (int i = 0; i < tp_nsym(c); i++) {
    tp_sym *s = tp_sym_at(c, i);
    if (!used[i] || (s->kind == TP_SYM_BOUND && s->dim)) continue;
    tp_putf(b, "%s %s",
        s->kind == TP_SYM_DIM       ? "dim"
            : s->kind == TP_SYM_VAR ? "var"
                                    : "bound",
        s->name);
    if (s->bound) tp_putf(b, ":%s", s->bound->name);
    if (s->hidden) tp_puts(b, " hidden");
    if (s->bound && s->bound->digits) tp_putf(b, " digits %s", s->bound->digits->name);
    tp_puts(b, "\n");
  }
}

/* s, or an error about the text instead of one about an option. */
static struct tp_sym *made(tp_scan *in, struct tp_sym *s, const tp_error *e) {
  if (!s) tp_fail(in->err, TP_E_FILE, tp_scan_pos(in), "file: %s", e->msg);
  return s;
}

static bool digits_of(tp_ictx *c, tp_scan *in, struct tp_sym *bound) {
  const char *of = tp_accept(in, "digits") ? tp_scan_word(in) : NULL;
  bound->digits = of ? tp_sym_find(c, of) : NULL;
  return !of || (bound->digits && bound->digits->kind == TP_SYM_BOUND) ||
      tp_scan_fail(in, "there is no such bound before this");
}

/* Parses a dim's line, which also makes a bound that is hidden or shared. */
static bool dim_line(tp_ictx *c, tp_scan *in, const char *name) {
  const char *bound = NULL;
  tp_error e = { 0 };
  if (tp_accept(in, ":") && !(bound = tp_scan_word(in))) return false;
  struct tp_sym *s = tp_sym_find(c, name), *b = bound ? tp_sym_find(c, bound) : NULL;
  bool hidden = tp_accept(in, "hidden");
  if (s)
    return (s->kind == TP_SYM_DIM &&
               (bound ? s->bound && strcmp(s->bound->name, bound) == 0 : !s->bound)) ||
        tp_scan_fail(in, "the context has this name for something else");
  if (b && b->kind != TP_SYM_BOUND) return tp_scan_fail(in, "the dim's bound is none");
  if (bound && !b) {
    s = made(in, tp_sym_dim(c, name, bound, tp_scan_pos(in), &e), &e);
    if (s) s->hidden = s->bound->hidden = hidden;
    return s && digits_of(c, in, s->bound);
  }
  s = tp_sym_hidden_dim(c, name);
  s->bound = b;
  s->hidden = hidden;
  return true;
}

static bool bound_line(tp_ictx *c, tp_scan *in, const char *name) {
  struct tp_sym *s = tp_sym_find(c, name);
  tp_error e = { 0 };
  if (!s) s = made(in, tp_sym_bound(c, name, tp_scan_pos(in), &e), &e);
  if (!s) return false;
  if (s->kind != TP_SYM_BOUND) return tp_scan_fail(in, "this is no bound");
  s->hidden |= tp_accept(in, "hidden");
  return true;
}

static bool var_line(tp_ictx *c, tp_scan *in, const char *name) {
  struct tp_sym *s = tp_sym_find(c, name);
  if (!s && !tp_sym_name_char((unsigned char)*name, true))
    return tp_scan_fail(in, "a name is wanted before this");
  if (!s) s = tp_sym_var(c, name);
  return s->kind == TP_SYM_VAR || tp_scan_fail(in, "the context has this name for something else");
}

bool tp_sym_line(tp_ictx *c, tp_scan *in, tp_symkind kind) {
  const char *name = tp_scan_word(in);
  if (!name) return false;
  bool ok = kind == TP_SYM_DIM ? dim_line(c, in, name)
      : kind == TP_SYM_BOUND   ? bound_line(c, in, name)
                               : var_line(c, in, name);
  return ok && tp_scan_end(in);
}
