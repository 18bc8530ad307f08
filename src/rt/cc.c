/* cc.c: C becomes a shared object in a folder of the user's, ${TEMPO_CACHE:-${XDG_CACHE_HOME:-~/.cache}/tempo}, named by what it depends on: text, flags, compiler, processor.
 * It is written under a name of its own and renamed, so any number of processes may do the same at once. Where the folder cannot be had, or is full, a folder of the moment takes its place,
 * which is gone when the object is open. */
#include "rt/cc.h"
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Bits stay the interpreter's: nothing is contracted or reordered. What of -O3 is worth its time the text asks for (native.c). */
static const char *const flags = "-O2 -ftree-vectorize -march=native -std=gnu11 -fPIC -shared -fwrapv -fno-strict-aliasing -ffp-contract=off -fno-math-errno -fno-trapping-math -w";
enum { ARGS = 128, VARIABLES = 1024, CACHED_BYTES = 256 << 20 };          /* words of a command; variables it is given; bytes of a cache */

/* ---- what the result depends on ---- */

static const char *compiler(void) {
  const char *cc = getenv("CC");
  return cc && *cc ? cc : "cc";
}

/* Of a file on the PATH: where it is, how large and how old. */
static uint64_t hash_program(const char *command, uint64_t h) {
  size_t n = strcspn(command, " ");
  const char *path = memchr(command, '/', n) ? "" : getenv("PATH");
  for (const char *p = path ? path : ""; ; p++) {
    char file[TP_CC_PATH];
    struct stat s;
    size_t k = strcspn(p, ":");
    snprintf(file, sizeof file, "%.*s%s%.*s", (int)k, p, k ? "/" : "", (int)n, command);
    p += k;
    if (stat(file, &s) == 0 && S_ISREG(s.st_mode)) {
      int64_t of[] = { (int64_t)s.st_size, (int64_t)s.st_mtime, (int64_t)s.st_ino };
      return tp_hash(of, sizeof of, tp_hash(file, strlen(file), h));
    }
    if (!*p) return h;
  }
}

/* The lines that say what the processor is and can. */
static uint64_t hash_processor(uint64_t h) {
  static const char *const lines[] = { "vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU " };
  char line[4096];
  FILE *f = fopen("/proc/cpuinfo", "re");
  bool more = f != NULL;
  while (more && (more = fgets(line, sizeof line, f) != NULL) && line[0] != '\n')
    for (size_t i = 0; i < TP_LEN(lines); i++)
      if (!strncmp(line, lines[i], strlen(lines[i]))) h = tp_hash(line, strlen(line), h);
  if (f) fclose(f);
  return h;
}

/* As much of the processor as our kernels may use. */
static const char *isa_flags(void) {
  const char *isa = tp_setting("TEMPO_ISA");
  return !isa ? "" : !strcmp(isa, "base") ? "-mno-avx" : !strcmp(isa, "avx2") ? "-mno-avx512f" : "";
}

static void name_of(const tp_cc_source *s, char name[33]) {
  const char *cc = compiler();
  for (int i = 0; i < 2; i++) {
    uint64_t h = hash_processor(hash_program(cc, tp_hash(cc, strlen(cc), (uint64_t)i + 1)));
    h = tp_hash(isa_flags(), strlen(isa_flags()), tp_hash(flags, strlen(flags), tp_hash(s->flags, strlen(s->flags), h)));
    snprintf(name + 16 * i, 17, "%016llx", (unsigned long long)tp_hash(s->text, s->n, h));
  }
}

/* ---- folders ---- */

static bool is_ours(const char *dir) {
  struct stat s;
  return lstat(dir, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() && !(s.st_mode & (S_IWGRP | S_IWOTH));
}

/* With what lies above it. */
static bool make_folder(char *dir) {
  for (char *p = dir + 1; *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    mkdir(dir, 0700);
    *p = '/';
  }
  mkdir(dir, 0700);
  return is_ours(dir);
}

static bool cache_folder(char dir[TP_CC_PATH]) {
  const char *own = tp_setting("TEMPO_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int n = -1;
  if (own && !strcmp(own, "none")) return false;
  if (own) n = snprintf(dir, TP_CC_PATH, "%s", own);
  else if (xdg && *xdg == '/') n = snprintf(dir, TP_CC_PATH, "%s/tempo", xdg);
  else if (home && *home == '/') n = snprintf(dir, TP_CC_PATH, "%s/.cache/tempo", home);
  return n > 0 && n < TP_CC_PATH - 128 && make_folder(dir);
}

static bool moment_folder(char dir[TP_CC_PATH]) {
  const char *tmp = getenv("TMPDIR");
  int n = snprintf(dir, TP_CC_PATH, "%s/tempo-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
  return n < TP_CC_PATH - 128 && mkdtemp(dir);
}

/* ---- a cache that stays small: the oldest go ---- */

typedef struct { char name[64]; int64_t size, used; } cached_file;

static int oldest_first(const void *a, const void *b) {
  const cached_file *x = a, *y = b;
  return (x->used > y->used) - (x->used < y->used);
}

static int list_files(const char *dir, cached_file *v, int max, int64_t *total) {
  DIR *d = opendir(dir);
  struct stat s;
  int n = 0;
  for (struct dirent *e; d && n < max && (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof v->name || fstatat(dirfd(d), e->d_name, &s, AT_SYMLINK_NOFOLLOW) || !S_ISREG(s.st_mode)) continue;
    memcpy(v[n].name, e->d_name, strlen(e->d_name) + 1);
    v[n].size = (int64_t)s.st_size;
    v[n++].used = (int64_t)s.st_mtime;
    *total += (int64_t)s.st_size;
  }
  if (d) closedir(d);
  return n;
}

static void prune(const char *dir) {
  enum { MOST = 1 << 14 };
  cached_file *v = tp_alloc(sizeof *v * MOST);
  int64_t total = 0;
  int n = v ? list_files(dir, v, MOST, &total) : 0;
  if (n > 1) qsort(v, (size_t)n, sizeof *v, oldest_first);
  for (int i = 0; i < n && (total > CACHED_BYTES || n - i > MOST / 2); i++) {
    char path[TP_CC_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", dir, v[i].name);
    if (unlink(path) == 0) total -= v[i].size;
  }
  tp_free(v);
}

/* ---- compiling ---- */

static bool write_file(const char *path, const char *text, size_t n) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool ok = fd >= 0;
  for (size_t at = 0; ok && at < n;) {
    ssize_t k = write(fd, text + at, n - at);
    if (k > 0) at += (size_t)k;
    else ok = k < 0 && errno == EINTR;
  }
  return fd >= 0 && close(fd) == 0 && ok;
}

/* Its words, cut in place, behind those that are there. */
static int words(char *s, char **argv, int n) {
  for (char *w = strtok_r(s, " \t\n", &s); w && n < ARGS - 8; w = strtok_r(NULL, " \t\n", &s)) argv[n++] = w;
  return n;
}

/* Without what was loaded before us: a sanitizer would look for leaks of the compiler. */
static char **environment(char **to, int max) {
  int n = 0;
  for (char **v = environ; v && *v && n < max - 1; v++)
    if (strncmp(*v, "LD_PRELOAD=", 11)) to[n++] = *v;
  to[n] = NULL;
  return to;
}

/* A child that has none of our files, signals or terminal's keys, and says to `out` what goes wrong; 0: there is none. */
static pid_t beside(char **argv, int out) {
  posix_spawn_file_actions_t act;
  posix_spawnattr_t attr;
  sigset_t none, all;
  char *env[VARIABLES];
  pid_t pid = 0;
  if (posix_spawn_file_actions_init(&act)) return 0;
  if (posix_spawnattr_init(&attr)) return posix_spawn_file_actions_destroy(&act), 0;
  posix_spawn_file_actions_adddup2(&act, out, 2);
  posix_spawn_file_actions_adddup2(&act, out, 1);
  posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&act, 3);
#endif
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &all);
  posix_spawnattr_setpgroup(&attr, 0);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (posix_spawn(&pid, argv[0], &act, &attr, argv, environment(env, VARIABLES))) pid = 0;
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&act);
  return pid;
}

static bool runs(char **argv, const char *log) {
  posix_spawn_file_actions_t act;
  char *env[VARIABLES];
  pid_t pid;
  int status = -1;
  if (posix_spawn_file_actions_init(&act)) return false;
  posix_spawn_file_actions_addopen(&act, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&act, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&act, 1, 2);
  bool ok = posix_spawnp(&pid, argv[0], &act, NULL, argv, environment(env, VARIABLES)) == 0;
  posix_spawn_file_actions_destroy(&act);
  while (ok && waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) { status = 0; break; }  /* somebody else waits for children: the file tells */
  return ok && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The first line that tells of an error, else the first of all. f: closed; NULL: nothing is told. */
static void put_failure(tp_buf *why, FILE *f) {
  char line[256], told[256] = "";
  bool error = false;
  tp_putf(why, "'%s' failed", compiler());
  while (f && !error && fgets(line, sizeof line, f)) {
    error = strstr(line, "error") != NULL;
    if (error || !*told) memcpy(told, line, sizeof told);
  }
  if (*told) tp_putf(why, ": %.*s", (int)strcspn(told, "\n"), told);
  if (f) fclose(f);
}

/* The compiler's words, behind the n that are there; they lie in `command` and `all`. */
enum { COMMAND = 3 * TP_CC_PATH };
static int put_command(char **argv, int n, const char *c, const char *so, const char *own, char all[COMMAND]) {
  const char *rest[] = { "-o", so, c, "-lm", NULL };
  snprintf(all, COMMAND, "%s %s %s %s", compiler(), flags, isa_flags(), own);
  n = words(all, argv, n);
  for (size_t i = 0; i < TP_LEN(rest); i++) argv[n++] = (char *)rest[i];
  return n;
}

void tp_cc_command(tp_buf *b, const char *own) {
  const char *v[] = { flags, isa_flags(), own };
  tp_puts(b, compiler());
  for (size_t i = 0; i < TP_LEN(v); i++)
    if (*v[i]) tp_putf(b, " %s", v[i]);
}

static bool compile_file(const char *c, const char *so, const char *own, tp_buf *why) {
  char all[COMMAND], log[TP_CC_PATH + 8], *argv[ARGS];
  snprintf(log, sizeof log, "%s.log", so);
  put_command(argv, 0, c, so, own, all);
  bool ok = runs(argv, log);
  if (!ok) put_failure(why, fopen(log, "re"));
  unlink(log);
  return ok;
}

typedef struct { char c[TP_CC_PATH], so[TP_CC_PATH], done_c[TP_CC_PATH], done_so[TP_CC_PATH]; } paths;

static void name_files(paths *p, const char *dir, const char *name) {
  static int made;
  int k = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
  snprintf(p->c, sizeof p->c, "%.900s/%s.%ld.%d.c", dir, name, (long)getpid(), k);
  snprintf(p->so, sizeof p->so, "%.900s/%s.%ld.%d.so", dir, name, (long)getpid(), k);
  snprintf(p->done_c, sizeof p->done_c, "%.900s/%s.c", dir, name);
  snprintf(p->done_so, sizeof p->done_so, "%.900s/%s.so", dir, name);
}

static bool make_object(const paths *p, const tp_cc_source *s, tp_buf *why) {
  bool ok = write_file(p->c, s->text, s->n);
  if (!ok) tp_puts(why, "no file can be written");
  ok = ok && compile_file(p->c, p->so, s->flags, why) && rename(p->so, p->done_so) == 0 && rename(p->c, p->done_c) == 0;
  unlink(p->c);
  unlink(p->so);
  return ok;
}

static void *from_cache(const char *dir, const char *name, const tp_cc_source *s, char path[TP_CC_PATH], tp_buf *why) {
  paths p;
  name_files(&p, dir, name);
  snprintf(path, TP_CC_PATH, "%s", p.done_c);
  void *lib = access(p.done_so, R_OK) == 0 ? dlopen(p.done_so, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (lib || !make_object(&p, s, why)) return lib;
  prune(dir);
  return dlopen(p.done_so, RTLD_NOW | RTLD_LOCAL);
}

static void *from_moment(const char *name, const tp_cc_source *s, tp_buf *why) {
  char dir[TP_CC_PATH];
  paths p;
  if (!moment_folder(dir)) return tp_puts(why, "no folder for it"), NULL;
  name_files(&p, dir, name);
  void *lib = make_object(&p, s, why) ? dlopen(p.done_so, RTLD_NOW | RTLD_LOCAL) : NULL;
  unlink(p.done_so);
  unlink(p.done_c);
  rmdir(dir);
  return lib;
}

/* ---- beside us ---- */

/* owner: the process whose child it is; after a fork there are others that know of it. told: the end of a pipe, from which the first n bytes are said. */
struct tp_cc_job { paths p; pid_t pid, owner; int told; double began; size_t n; char said[2048]; };

enum { MOST_SECONDS = 600 };                    /* that another process waits for what it cannot ask */

/* $1 .. $4: the paths; the rest: the compiler's words. */
static const char script[] =
  "c=$1 so=$2 done_c=$3 done_so=$4; shift 4; "
  "\"$@\" && mv -f \"$c\" \"$done_c\" && mv -f \"$so\" \"$done_so\" || { rm -f \"$c\" \"$so\"; exit 1; }";

/* Children whose job was dropped before they ended. */
enum { LEFT = 64 };
static pid_t left[LEFT];
static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;

static void reap_left(void) {
  for (int i = 0; i < LEFT; i++)
    if (left[i] && waitpid(left[i], NULL, WNOHANG) != 0) left[i] = 0;
}

void tp_cc_reap(void) {
  pthread_mutex_lock(&left_lock);
  reap_left();
  pthread_mutex_unlock(&left_lock);
}

/* False: there are too many. */
static bool leave(pid_t pid) {
  int at = 0;
  pthread_mutex_lock(&left_lock);
  reap_left();
  while (at < LEFT && left[at]) at++;
  if (at < LEFT) left[at] = pid;
  pthread_mutex_unlock(&left_lock);
  return at < LEFT;
}

void *tp_cc_cached(const tp_cc_source *s, char path[TP_CC_PATH]) {
  char dir[TP_CC_PATH], name[33];
  paths p;
  if (!cache_folder(dir)) return NULL;
  name_of(s, name);
  name_files(&p, dir, name);
  snprintf(path, TP_CC_PATH, "%s", p.done_c);
  return access(p.done_so, R_OK) == 0 ? dlopen(p.done_so, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static bool spawn(tp_cc_job *j, const char *own, tp_buf *why) {
  char all[COMMAND], *argv[ARGS] = { "/bin/sh", "-c", (char *)script, "sh", j->p.c, j->p.so, j->p.done_c, j->p.done_so };
  int end[2];
  put_command(argv, 8, j->p.c, j->p.so, own, all);
  if (pipe2(end, O_CLOEXEC)) end[0] = end[1] = -1;
  else {
    fcntl(end[0], F_SETFL, O_NONBLOCK);
    j->pid = beside(argv, end[1]);
    close(end[1]);
  }
  j->told = end[0];
  j->owner = getpid();
  if (!j->pid) tp_putf(why, "'%s' cannot be started", compiler());
  return j->pid != 0;
}

tp_cc_job *tp_cc_begin(const tp_cc_source *s, tp_buf *why) {
  char dir[TP_CC_PATH], name[33];
  tp_cc_job *j = tp_calloc(sizeof *j);
  if (!j || !cache_folder(dir)) return tp_puts(why, "no folder for it"), tp_free(j), NULL;
  name_of(s, name);
  name_files(&j->p, dir, name);
  j->began = tp_now();
  j->told = -1;
  if (!write_file(j->p.c, s->text, s->n)) tp_puts(why, "no file can be written");
  else if (spawn(j, s->flags, why)) return j;
  unlink(j->p.c);
  return tp_cc_drop(j);
}

/* So that nobody waits for us to read. */
static void hear(tp_cc_job *j) {
  char more[4096];
  for (ssize_t k; (k = read(j->told, more, sizeof more)) > 0;) {
    size_t room = TP_MIN(sizeof j->said - j->n, (size_t)k);
    memcpy(j->said + j->n, more, room);
    j->n += room;
  }
}

/* Somebody else may wait for all children of a process: then the files tell. */
bool tp_cc_ended(tp_cc_job *j, void **lib, char path[TP_CC_PATH], tp_buf *why) {
  char dir[TP_CC_PATH];
  bool mine = j->owner == getpid();
  pid_t got = mine ? waitpid(j->pid, NULL, WNOHANG) : -1;
  hear(j);
  if (got == 0) return false;
  if (got < 0 && mine && errno == EINTR) return false;
  bool there = access(j->p.done_so, R_OK) == 0;
  if (!mine && !there && tp_now() - j->began < MOST_SECONDS) return false;
  j->pid = 0;
  *lib = there ? dlopen(j->p.done_so, RTLD_NOW | RTLD_LOCAL) : NULL;
  snprintf(path, TP_CC_PATH, "%s", j->p.done_c);
  if (!*lib) put_failure(why, j->n ? fmemopen(j->said, j->n, "r") : NULL);
  else if (mine && cache_folder(dir)) prune(dir);
  return true;
}

tp_cc_job *tp_cc_drop(tp_cc_job *j) {
  if (j && j->told >= 0) close(j->told);
  if (j && j->pid && j->owner == getpid() && !leave(j->pid)) {
    kill(-j->pid, SIGTERM);
    while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR) {}
  }
  tp_free(j);
  return NULL;
}

void *tp_cc_open(const tp_cc_source *s, char path[TP_CC_PATH], tp_buf *why) {
  char dir[TP_CC_PATH], name[33];
  name_of(s, name);
  void *lib = cache_folder(dir) ? from_cache(dir, name, s, path, why) : NULL;
  if (lib) return lib;
  *path = 0;
  why->n = 0;
  return from_moment(name, s, why);
}

void *tp_cc_close(void *lib) {
  if (lib) dlclose(lib);
  return NULL;
}
