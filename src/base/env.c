/* env: the table of environments, and the steps of one. Numbers are f64 until observed; nothing is
 * kept between calls. */
#include "base/env.h"
#include "os/os.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The files of kernels/env, each followed by its text, as PREFIX_text. */
#include "envs.inc"

/* ---- ours ---- */

enum { MOST_NUMBERS = 4 };
/* A number behind an id: its name (NULL: there is none) and range; least > most: it is fixed. */
typedef struct env_number {
  const char *name;
  int64_t value, least, most;
} env_number;
typedef struct env_row {
  const char *id, *text, *prefix;
  void (*facts)(tp_env *e, const int64_t *p);
  env_number number[MOST_NUMBERS + 1];
} env_row;

#define E(tag, prefix, id, numbers, ...) \
  static void tag##_facts(tp_env *e, const int64_t *p) { \
    (void)p; \
    *e = (tp_env){ \
      .reset = prefix##_reset, .observe = prefix##_observe, .step = prefix##_step, __VA_ARGS__ \
    }; \
  }
#include "base/envs.def"
#undef E
#define NONE \
  { NULL, 0, 0, 0 }
#define NUMBER(name, value, least, most) \
  { name, value, least, most }
#define FIXED(value) \
  { "", value, 1, 0 }
#define STICKY  NUMBER("percent of sticky actions", 10, 0, 100)
#define RAMPING NUMBER("ramping", 1, 0, 1)
#define LIST(...) \
  { __VA_ARGS__ }
#define E(tag, prefix, id, numbers, ...) { id, prefix##_text, #prefix, tag##_facts, LIST numbers },
static const env_row rows[] = {
#include "base/envs.def"
};
#undef E

const char tp_env_common[] =
#include "common.inc"
    ;

/* ---- a list that grows at its head, read without a lock ---- */

/* env.name is kept behind it. list: the library's from which it comes. */
typedef struct entry {
  tp_env env;
  tp_envtext text;
  const tempo_env_list *list;
  struct entry *next;
} entry;
static _Atomic(entry *) all;
static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;

static const entry *listed(const char *name) {
  const entry *e = atomic_load(&all);
  while (e && strcmp(e->env.name, name) != 0) e = e->next;
  return e;
}

static entry *entry_new(const tp_env *e, const char *name) {
  size_t n = strlen(name) + 1;
  entry *x = tp_alloc(sizeof *x + n);
  if (x) *x = (entry){ .env = *e }, x->env.name = memcpy(x + 1, name, n);
  return x;
}

/* Puts an entry into the list; under the lock. */
static void entry_put(entry *x) {
  x->next = atomic_load(&all);
  atomic_store(&all, x);
}

/* Reads the numbers of "id:AxB" into p, which has the defaults. */
static bool read_numbers(const env_row *r, const char *s, int64_t *p) {
  for (int k = 0; *s; k++) {
    const env_number *n = &r->number[k];
    char *end = NULL;
    if (k >= MOST_NUMBERS || !n->name || n->least > n->most) return false;
    if (*s < '0' || *s > '9') return false;
    p[k] = strtoll(s, &end, 10);
    if (p[k] < n->least || p[k] > n->most || (*end && *end != 'x' && *end != ',')) return false;
    s = *end ? end + 1 : end;
    if (*end && !*s) return false;
  }
  return true;
}

static bool row_entry(const env_row *r, const char *name, tp_env *e, tp_envtext *t) {
  size_t n = strlen(r->id);
  if (strncmp(name, r->id, n) != 0 || (name[n] && name[n] != ':')) return false;
  *t = (tp_envtext){ .text = r->text, .prefix = r->prefix };
  for (; t->nnumber < MOST_NUMBERS && r->number[t->nnumber].name; t->nnumber++)
    t->number[t->nnumber] = r->number[t->nnumber].value;
  if (name[n] && (!name[n + 1] || !read_numbers(r, name + n + 1, t->number))) return false;
  r->facts(e, t->number);
  return true;
}

/* Makes the entry of one of ours when it is first asked for. */
static const entry *find_entry(const char *name) {
  const entry *old = listed(name);
  tp_env e;
  tp_envtext t;
  for (int k = 0; k < (int)TP_LEN(rows) && !old; k++) {
    if (!row_entry(&rows[k], name, &e, &t)) continue;
    entry *x = entry_new(&e, name);
    if (!x) return NULL;
    x->text = t;
    if (t.nnumber) x->env.data = x->text.number;
    pthread_mutex_lock(&adding);
    if (!(old = listed(name))) entry_put(x), old = x, x = NULL;
    pthread_mutex_unlock(&adding);
    tp_free(x);
  }
  return old;
}

const tp_env *tp_env_find(const char *name) {
  const entry *e = find_entry(name);
  return e ? &e->env : NULL;
}

const tp_envtext *tp_env_text(const char *name) {
  const entry *e = find_entry(name);
  return e && e->text.text ? &e->text : NULL;
}

/* Those with numbers of the script's own are left out. */
int tp_env_names(const char **out, int max) {
  int n = 0;
  for (int k = 0; k < (int)TP_LEN(rows) && n < max; k++) out[n++] = rows[k].id;
  for (const entry *e = atomic_load(&all); e && n < max; e = e->next)
    if (!e->text.text) out[n++] = e->env.name;
  return n;
}

/* ---- those of others ---- */

static bool env_ok(const tp_env *e, tp_error *err) {
  const char *name = e->name && *e->name ? e->name : NULL, *wrong = NULL;
  bool shaped = e->shape[0] > 0;
  for (int k = 1; k < (int)TP_LEN(e->shape); k++)
    shaped &= e->shape[k] >= 0 && (e->shape[k - 1] || !e->shape[k]);
  if (!name) wrong = "it has no name";
  else if (e->nstate < 1 || !shaped || e->nreset < 0 || e->nstep < 0 || e->max_steps < 0)
    wrong = "nstate and shape[0] must be at least 1, other numbers not negative";
  else if (e->nactions < 0 || e->nact < 0 || !e->nactions == !e->nact)
    wrong = "one of nactions and nact must be greater than 0, the other 0";
  else if (e->masked && !e->nactions) wrong = "only actions that are counted have a mask";
  else if (!e->reset || !e->observe || !e->step)
    wrong = "reset, observe and step must all be there";
  return !wrong ||
      tp_fail(err, TP_E_OPTION, TP_NOWHERE, "environment '%s': %s", name ? name : "", wrong);
}

/* Adds n environments or none; again, from the same library: none. */
static bool add_envs(const tp_env *e, int n, const tempo_env_list *list, tp_error *err) {
  entry *mine = NULL;
  const char *taken = NULL;
  bool again = false, ok = true;
  for (int k = 0; k < n && ok; k++) {
    entry *x = env_ok(&e[k], err) ? entry_new(&e[k], e[k].name) : NULL;
    if (x) x->list = list, x->next = mine, mine = x;
    else ok = tp_fail(err, TP_E_MEMORY, TP_NOWHERE, "no memory for an environment");
    for (int j = 0; j < k && ok; j++)
      if (strcmp(e[j].name, e[k].name) == 0) taken = e[k].name;
  }
  for (const entry *x = mine; x && ok; x = x->next) (void)find_entry(x->env.name);
  pthread_mutex_lock(&adding);
  for (const entry *x = mine, *old; x && ok && !taken; x = x->next)
    if ((old = listed(x->env.name))) again = list && old->list == list, taken = x->env.name;
  for (entry *x = mine, *next; x && ok && !taken; x = next) {
    next = x->next;
    entry_put(x);
    mine = next;
  }
  pthread_mutex_unlock(&adding);
  if (ok && taken && !again) /* `taken` may lie in an entry of ours */
    ok = tp_fail(err, TP_E_OPTION, TP_NOWHERE, "there is an environment '%s' already", taken);
  for (entry *next; mine; mine = next) next = mine->next, tp_free(mine);
  return ok;
}

bool tp_env_add(const tp_env *e, tp_error *err) { return add_envs(e, 1, NULL, err); }

const tempo_env_list *tp_env_load(const char *path, tp_error *err) {
  char at[4096]; /* without a slash the system looks elsewhere */
  snprintf(at, sizeof at, "%s%s", strchr(path, '/') ? "" : "./", path);
  bool absent;
  void *library = tp_os_open(at);
  if (!library) return tp_fail(err, TP_E_FILE, TP_NOWHERE, "%s", tp_os_open_error(&absent)), NULL;
  const tempo_env_list *l = tp_os_symbol(library, "tempo_envs");
  bool ok = l && l->version == TEMPO_ENV_VERSION;
  if (!l)
    tp_fail(err, TP_E_FILE, TP_NOWHERE, "'%s' has no 'tempo_envs', as tempo_env.h asks for", path);
  else if (!ok)
    tp_fail(err, TP_E_FILE, TP_NOWHERE, "'%s' is of version %d of tempo_env.h, needs %d", path,
        l->version, TEMPO_ENV_VERSION);
  ok = ok && add_envs(l->env, l->count, l, err);
  if (!ok) tp_os_close(library);
  return ok ? l : NULL;
}

/* ---- one environment ---- */

int tp_env_nobs(const tp_env *e) {
  int n = 1;
  for (int k = 0; k < (int)TP_LEN(e->shape) && e->shape[k]; k++) n *= e->shape[k];
  return n + (e->masked ? e->nactions : 0);
}

int64_t tp_env_lane(const tp_env *e) {
  return TP_MAX(TP_MAX(tp_env_width(e), tp_env_nobs(e)), TP_MAX(tp_env_nu(e), e->nact));
}

void tp_env_reset(const tp_env *e, const double *u, double *state) {
  e->reset(e->data, u, state);
  if (e->max_steps) state[e->nstate] = 0;
}

static const double *uniforms(const tp_noise *u, int from, int n) {
  if (u->given) return u->given + from;
  for (int k = 0; k < n; k++) u->room[k] = tp_philox_uniform64(u->key, from + k);
  return u->room;
}

/* emit/body/environment.c prints the same. */
void tp_env_step(const tp_env *e, const double *state, const void *action, const tp_noise *u,
    const tp_env_results *o) {
  int n = e->nstate;
  *o->reward = 0, *o->terminated = *o->truncated = 0;
  e->step(e->data, state, action, uniforms(u, 0, e->nstep), o->next, o->reward, o->terminated,
      o->truncated);
  if (e->max_steps) {
    o->next[n] = state[n] + 1;
    *o->truncated |= o->next[n] >= e->max_steps;
  }
  if (o->obs) e->observe(e->data, o->next, o->obs);
  if (*o->terminated || *o->truncated) tp_env_reset(e, uniforms(u, e->nstep, e->nreset), o->next);
}
