/* sym: contexts and symbols. A context owns the symbols and expressions of a program or
 * compilation. */
#include "index/priv.h"
#include <ctype.h>

tp_ictx *tp_ictx_new(void) {
  tp_ictx *c = tp_calloc(sizeof *c);
  if (!c) return NULL;
  tp_arena_init(&c->arena);
  tp_hmap_init(&c->names, &c->arena);
  tp_hmap_init(&c->nodes, &c->arena);
  tp_hmap_init(&c->monos, &c->arena);
  tp_hmap_init(&c->memo, &c->arena);
  tp_buf_init(&c->text);
  return c;
}

tp_ictx *tp_ictx_free(tp_ictx *c) {
  if (!c) return NULL;
  tp_isl_close(c);
  tp_buf_free(&c->text);
  tp_arena_free(&c->arena);
  tp_free(c);
  return NULL;
}

tp_arena *tp_ictx_arena(tp_ictx *c) { return &c->arena; }
const char *tp_ictx_overflowed(tp_ictx *c) {
  int was = c->overflowed;
  c->overflowed = 0;
  return was & TP_TOO_DEEP ? TP_NESTED : was ? "is beyond 64 bits" : NULL;
}

int tp_nsym(const tp_ictx *c) { return c->sym.n; }
struct tp_sym *tp_sym_at(const tp_ictx *c, int id) {
  return id >= 0 && id < c->sym.n ? c->sym.v[id] : NULL;
}
struct tp_sym *tp_sym_find(tp_ictx *c, const char *name) {
  return tp_hmap_get(&c->names, name, strlen(name));
}

/* Names have letters, digits, _ and bytes beyond ASCII; the words of conditions are taken. */
bool tp_sym_name_char(int ch, bool first) {
  return ch == '_' || ch >= 0x80 || isalpha(ch) || (!first && isdigit(ch));
}

static bool name_ok(const char *s) {
  static const char *const reserved[] = { "and", "or", "not", "true", "false" };
  for (size_t i = 0; i < TP_LEN(reserved); i++)
    if (strcmp(s, reserved[i]) == 0) return false;
  for (const char *p = s; *p; p++)
    if (!tp_sym_name_char((unsigned char)*p, p == s)) return false;
  return *s != 0;
}

static bool name_free(tp_ictx *c, const char *name, tp_pos pos, tp_error *err) {
  if (!name_ok(name))
    return tp_fail(err, TP_E_OPTION, pos, "'%s' is not a name (letters, digits and _)", name);
  tp_sym *s = tp_sym_find(c, name);
  if (!s) return true;
  const char *what = s->kind == TP_SYM_DIM ? "dim" : s->kind == TP_SYM_BOUND ? "bound" : "symbol";
  return tp_fail(err, TP_E_OPTION, pos, "there is a %s '%s' already%s", what, name,
      s->pos.file ? tp_printf(&c->arena, ", made at %s:%d", s->pos.file, s->pos.line) : "");
}

static struct tp_sym *sym_new(tp_ictx *c, tp_symkind kind, const char *name, tp_pos pos) {
  struct tp_sym *s = TP_NEW(&c->arena, struct tp_sym);
  s->c = c;
  s->id = c->sym.n;
  s->kind = kind;
  s->name = tp_strdup(&c->arena, name);
  s->order = kind == TP_SYM_DIM ? c->ndim++ : -1;
  s->pos = pos;
  /* in both lists or in none, if memory fails */
  tp_vec_grow(&c->arena, (void **)&c->sym.v, c->sym.n, &c->sym.cap, sizeof *c->sym.v);
  tp_hmap_set(&c->names, name, strlen(name), s);
  c->sym.v[c->sym.n++] = s;
  return s;
}

static const char *upper_cased(tp_ictx *c, const char *name) {
  char *s = tp_strdup(&c->arena, name);
  for (char *p = s; *p; p++)
    if ((unsigned char)*p < 0x80) *p = (char)toupper((unsigned char)*p);
  return s;
}

struct tp_sym *tp_sym_dim(
    tp_ictx *c, const char *name, const char *bound_name, tp_pos pos, tp_error *err) {
  const char *bound = bound_name ? bound_name : upper_cased(c, name);
  if (!name_free(c, name, pos, err) || !name_free(c, bound, pos, err)) return NULL;
  if (strcmp(name, bound) == 0) {
    tp_fail(err, TP_E_OPTION, pos,
        "dim '%s' and its bound have the same name: give the bound's name as second "
        "argument",
        name);
    return NULL;
  }
  struct tp_sym *d = sym_new(c, TP_SYM_DIM, name, pos);
  d->bound = sym_new(c, TP_SYM_BOUND, bound, pos);
  d->bound->dim = d;
  return d;
}

struct tp_sym *tp_sym_bound(tp_ictx *c, const char *name, tp_pos pos, tp_error *err) {
  return name_free(c, name, pos, err) ? sym_new(c, TP_SYM_BOUND, name, pos) : NULL;
}

int tp_sym_begin(tp_ictx *c) {
  int was = c->compilation;
  c->compilation = ++c->ncompilation;
  return was;
}

void tp_sym_end(tp_ictx *c, int was) { c->compilation = was; }

static bool is_over(const tp_ictx *c, tp_sym *s) {
  return c->compilation && s->compilation && s->compilation != c->compilation;
}

/* The hint, or the hint with a number, that no symbol has; shared: a hidden bound may have it. */
static const char *free_name(tp_ictx *c, const char *hint, bool shared) {
  const char *name = hint;
  tp_sym *s;
  for (int i = 1; (s = tp_sym_find(c, name)) && !is_over(c, s) &&
       !(shared && s->kind == TP_SYM_BOUND && s->hidden);
       i++)
    name = tp_printf(&c->arena, "%s%d", hint, i);
  return name;
}

static struct tp_sym *own_sym(tp_ictx *c, tp_symkind kind, const char *hint) {
  struct tp_sym *s = sym_new(c, kind, free_name(c, hint, false), TP_NOWHERE);
  s->compilation = c->compilation;
  return s;
}

struct tp_sym *tp_sym_var(tp_ictx *c, const char *hint) {
  return own_sym(c, TP_SYM_VAR, hint);
}

struct tp_sym *tp_sym_hidden_bound(tp_ictx *c, const char *name) {
  const char *own = free_name(c, name, true);
  struct tp_sym *s = tp_sym_find(c, own);
  if (s) return s;
  s = sym_new(c, TP_SYM_BOUND, own, TP_NOWHERE);
  s->hidden = true;
  return s;
}

struct tp_sym *tp_sym_hidden_dim(tp_ictx *c, const char *hint) {
  struct tp_sym *s = own_sym(c, TP_SYM_DIM, hint);
  s->hidden = true;
  return s;
}

struct tp_sym *tp_sym_digits(tp_ictx *c, tp_sym *bound) {
  for (int i = 0; i < c->sym.n; i++)
    if (c->sym.v[i]->digits == bound) return c->sym.v[i]->dim;
  struct tp_sym *d = tp_sym_hidden_dim(c, tp_printf(&c->arena, "%s_digit", bound->name));
  d->bound =
      tp_sym_hidden_bound(c, free_name(c, tp_printf(&c->arena, "%s_digits", bound->name), false));
  d->bound->dim = d;
  d->bound->digits = bound;
  d->compilation = 0;
  return d;
}

void tp_sym_set_hidden(const tp_ictx *c, int64_t *env) {
  for (int i = 0; i < c->sym.n; i++) {
    tp_sym *s = c->sym.v[i];
    if (s->digits)
      env[s->id] = 64 - __builtin_clzll((unsigned long long)TP_MAX(env[s->digits->id], 1));
  }
}
