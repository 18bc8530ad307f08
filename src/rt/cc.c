/* cc.c: compiles C to a shared object in the cache, named by all that it depends on: text, flags,
 * compiler, processor. A child process compiles it. If there is no cache folder, a temporary one
 * takes its place, which is removed when the object is open. */
#include "rt/cc.h"
#include "os/os.h"
#include <stdlib.h>

/* Bits stay those of the interpreter: the compiler may not contract or reorder. The text itself
 * asks for the parts of -O3 that are worth their time (native.c). */
static const char *const flags =
    "-O2 -ftree-vectorize -march=native -std=gnu11 -fPIC -shared -fwrapv -fno-strict-aliasing "
    "-ffp-contract=off -fno-math-errno -fno-trapping-math -w";

/* ---- the hash of all that the result depends on ---- */

static const char *compiler(void) {
  const char *cc = getenv("CC");
  return cc && *cc ? cc : "cc";
}

/* Hashes the place, size and age of a file on the PATH. */
static uint64_t hash_program(const char *command, uint64_t h) {
  size_t n = strcspn(command, " ");
  const char *path = memchr(command, '/', n) ? "" : getenv("PATH");
  for (const char *p = path ? path : "";; p++) {
    char file[TP_CACHE_PATH];
    int64_t of[4];
    size_t k = strcspn(p, ":");
    snprintf(file, sizeof file, "%.*s%s%.*s", (int)k, p, k ? "/" : "", (int)n, command);
    p += k;
    if (tp_os_stamp(file, of)) return tp_hash(of, sizeof of, tp_hash(file, strlen(file), h));
    if (!*p) return h;
  }
}

/* Flags for the instructions that our kernels may use. */
static const char *isa_flags(void) {
  const char *isa = tp_setting("TEMPO_ISA");
#ifndef __x86_64__
  isa = NULL;
#endif
  return !isa ? "" : !strcmp(isa, "base") ? "-mno-avx" : !strcmp(isa, "avx2") ? "-mno-avx512f" : "";
}

static void name_of(const tp_cc_source *s, char name[33]) {
  const char *parts[] = { compiler(), isa_flags(), flags, s->flags };
  uint64_t h = tp_cache_processor(hash_program(parts[0], 0));
  for (size_t i = 0; i < TP_LEN(parts); i++) h = tp_hash(parts[i], strlen(parts[i]) + 1, h);
  tp_cache_name(name, s->text, s->n, h);
}

/* ---- compiling ---- */

static void put_failure(tp_buf *why, const char *said) {
  tp_putf(why, "'%s' failed%s", compiler(), *said ? ": " : "");
  tp_put_complaint(why, said);
}

void tp_cc_command(tp_buf *b, const char *own) {
  const char *v[] = { flags, isa_flags(), own };
  tp_puts(b, compiler());
  for (size_t i = 0; i < TP_LEN(v); i++)
    if (*v[i]) tp_putf(b, " %s", v[i]);
}

typedef struct {
  char c[TP_CACHE_PATH], so[TP_CACHE_PATH], done_c[TP_CACHE_PATH], done_so[TP_CACHE_PATH];
} paths;

static void name_files(paths *p, const char *dir, const tp_cc_source *s) {
  static int made;
  char name[33];
  name_of(s, name);
  int k = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
  snprintf(p->c, sizeof p->c, "%.900s/%s.%ld.%d.c", dir, name, (long)tp_os_process(), k);
  snprintf(p->so, sizeof p->so, "%.900s/%s.%ld.%d.so", dir, name, (long)tp_os_process(), k);
  snprintf(p->done_c, sizeof p->done_c, "%.900s/%s.c", dir, name);
  snprintf(p->done_so, sizeof p->done_so, "%.900s/%s.so", dir, name);
}

/* ---- opening ---- */

/* a compiler has this long if TEMPO_NATIVE_LIMIT is not set; it takes 1 to 10 s */
enum { MOST_SECONDS = 120 };

static void *open_object(const char *so) {
  size_t n;
  char *whole = tp_cache_whole(so, &n);
  tp_free(whole);
  return whole ? tp_os_open(so) : NULL;
}

/* ---- compiling ---- */

/* said: the first n bytes of the compiler's messages */
struct tp_cc_job {
  paths p;
  tp_os_child child;
  double until;
  size_t n;
  char said[2048];
  tp_cc_job *next; /* in `dropped` */
};

/* The time at which a compiler that begins now is stopped. */
static double ends_at(void) {
  const char *set = tp_setting("TEMPO_NATIVE_LIMIT");
  return tp_now() + (set ? strtod(set, NULL) : MOST_SECONDS);
}

/* $1 .. $4: the paths; $5: the compiler and its flags, which are words */
static const char script[] =
    "set -f; $5 -o \"$2\" \"$1\" -lm && sum=$(cksum <\"$2\") && printf '" TP_CACHE_TAIL
    "%s\\n' \"$sum\" >>\"$2\" && { sync \"$1\" \"$2\" 2>/dev/null || :; } && "
    "mv -f \"$1\" \"$3\" && mv -f \"$2\" \"$4\" || { rm -f \"$1\" \"$2\"; exit 1; }";

/* Jobs that were dropped while the compiler worked. It goes on; tp_cc_reap waits for it. */
static tp_cc_job *dropped;
static pthread_mutex_t dropped_lock = PTHREAD_MUTEX_INITIALIZER;

void tp_cc_reap(void) {
  pthread_mutex_lock(&dropped_lock);
  for (tp_cc_job **p = &dropped; *p;) {
    tp_cc_job *j = *p;
    if (tp_now() > j->until) tp_os_kill(&j->child);
    if (!tp_os_ended(&j->child)) p = &j->next;
    else *p = j->next, tp_free(j);
  }
  pthread_mutex_unlock(&dropped_lock);
}

static bool spawn(tp_cc_job *j, const char *own, tp_buf *why) {
  tp_buf command;
  tp_buf_init(&command);
  tp_cc_command(&command, own);
  char *argv[] = { "/bin/sh", "-c", (char *)script, "sh", j->p.c, j->p.so, j->p.done_c,
    j->p.done_so, command.s, NULL };
  bool ok = !command.failed && tp_os_spawn(&j->child, argv);
  tp_buf_free(&command);
  if (!ok) tp_putf(why, "'%s' cannot be started", compiler());
  return ok;
}

static tp_cc_job *begin_in(const char *dir, const tp_cc_source *s, double until, tp_buf *why) {
  tp_cc_job *j = tp_calloc(sizeof *j);
  if (!j) return tp_puts(why, "no memory for it"), NULL;
  name_files(&j->p, dir, s);
  j->until = until;
  j->child.told = -1;
  if (!tp_os_write(j->p.c, s->text, s->n)) tp_puts(why, "no file can be written");
  else if (spawn(j, s->flags, why)) return j;
  remove(j->p.c);
  return tp_cc_drop(j);
}

tp_cc_job *tp_cc_begin(const tp_cc_source *s, tp_buf *why) {
  char dir[TP_CACHE_PATH];
  if (tp_cache_folder(dir, why)) return begin_in(dir, s, ends_at(), why);
  if (!why->n) tp_puts(why, "no folder for it");
  return NULL;
}

/* Empties the pipe, so that the compiler never waits for us to read. */
static void hear(tp_cc_job *j) {
  char more[4096];
  for (long k; (k = tp_os_hear(&j->child, more, sizeof more)) > 0;) {
    size_t room = TP_MIN(sizeof j->said - 1 - j->n, (size_t)k);
    memcpy(j->said + j->n, more, room);
    j->n += room;
  }
}

/* If other code has waited for all children of the process, only the files tell how it ended. */
bool tp_cc_ended(tp_cc_job *j, void **lib, char path[TP_CACHE_PATH], tp_buf *why) {
  bool mine = j->child.owner == tp_os_process(), late = tp_now() > j->until;
  int got = tp_os_ended(&j->child);
  hear(j);
  if (got == 0 && !late) return false;
  *lib = got == 0 ? NULL : open_object(j->p.done_so);
  if (!mine && !*lib && !late) return false;
  memcpy(path, j->p.done_c, sizeof j->p.done_c);
  if (got == 0) { /* stops the child, whose time is over, and its children; no file stays */
    tp_os_kill(&j->child);
    remove(j->p.c);
    remove(j->p.so);
    tp_putf(why, "'%s' has not ended within the limit (TEMPO_NATIVE_LIMIT)", compiler());
  } else if (!*lib) put_failure(why, j->said);
  else if (mine) tp_cache_prune(j->p.done_so);
  j->child.pid = 0;
  return true;
}

tp_cc_job *tp_cc_drop(tp_cc_job *j) {
  if (j) tp_os_deaf(&j->child);
  if (j && j->child.pid && j->child.owner == tp_os_process()) {
    pthread_mutex_lock(&dropped_lock);
    j->next = dropped;
    dropped = j;
    pthread_mutex_unlock(&dropped_lock);
  } else tp_free(j);
  return NULL;
}

/* ---- the functions of cc.h ---- */

void *tp_cc_cached(const tp_cc_source *s, char path[TP_CACHE_PATH]) {
  char dir[TP_CACHE_PATH];
  paths p;
  if (!tp_cache_folder(dir, NULL)) return NULL;
  name_files(&p, dir, s);
  memcpy(path, p.done_c, sizeof p.done_c);
  return open_object(p.done_so);
}

/* Waits for a compiler: its words on the pipe, or the pipe's end, wake us. */
static void *build_in(
    const char *dir, const tp_cc_source *s, double until, char path[TP_CACHE_PATH], tp_buf *why) {
  tp_cc_job *j = begin_in(dir, s, until, why);
  void *lib = NULL;
  while (j && !tp_cc_ended(j, &lib, path, why)) {
    if (tp_ictx_ended(s->ix)) j->until = 0; /* its time is over */
    tp_os_await(&j->child, 2);
  }
  tp_cc_drop(j);
  return lib;
}

static void *build_for_now(
    const tp_cc_source *s, double until, char path[TP_CACHE_PATH], tp_buf *why) {
  char dir[TP_CACHE_PATH];
  paths p;
  const char *tmp = getenv("TMPDIR");
  int n = snprintf(dir, TP_CACHE_PATH, "%s/tempo-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
  if (n >= TP_CACHE_PATH - 128 || !tp_os_mkdir_new(dir))
    return tp_puts(why, "no folder for it"), NULL;
  name_files(&p, dir, s);
  void *lib = build_in(dir, s, until, path, why);
  *path = 0;
  remove(p.done_so);
  remove(p.done_c);
  remove(dir);
  return lib;
}

/* If the folder is full, a temporary one gets the rest of the time. */
void *tp_cc_open(const tp_cc_source *s, char path[TP_CACHE_PATH], tp_buf *why) {
  char dir[TP_CACHE_PATH];
  double until = ends_at();
  void *lib = tp_cc_cached(s, path);
  if (lib) return lib;
  if (tp_cache_folder(dir, why)) {
    lib = build_in(dir, s, until, path, why);
    if (lib || tp_now() > until || tp_ictx_ended(s->ix)) return lib;
    tp_buf_free(why);
  }
  return build_for_now(s, until, path, why);
}

void *tp_cc_close(void *lib) {
  if (lib) tp_os_close(lib);
  return NULL;
}
