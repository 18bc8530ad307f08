/* posix: time, the process, memory, libraries and children, for all systems but Windows. */
#ifndef _WIN32
#include "os/os.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- time ---- */

static double seconds_of(struct timespec t) { return (double)t.tv_sec + (double)t.tv_nsec / 1e9; }

double tp_os_clock(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return seconds_of(t);
}

double tp_os_thread_clock(void) {
  struct timespec t, u;
  bool known =
      !clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) && !clock_gettime(CLOCK_THREAD_CPUTIME_ID, &u);
  return known && (t.tv_sec != u.tv_sec || t.tv_nsec != u.tv_nsec) ? seconds_of(u) : INFINITY;
}

void tp_os_sleep(double seconds) {
  nanosleep(&(struct timespec){ (time_t)seconds, (long)(fmod(seconds, 1) * 1e9) }, NULL);
}

/* ---- the process ---- */

int64_t tp_os_process(void) { return getpid(); }

void tp_os_setenv(const char *name, const char *value) {
  if (value) setenv(name, value, 1);
  else unsetenv(name);
}

bool tp_os_thread(pthread_t *t, size_t stack, void *(*fn)(void *), void *arg) {
  pthread_attr_t how;
  pthread_t own;
  sigset_t all, was;
  if (pthread_attr_init(&how)) return false;
  if (stack) pthread_attr_setstacksize(&how, stack);
  if (!t) pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &was);
  bool ok = !pthread_create(t ? t : &own, &how, fn, arg);
  pthread_sigmask(SIG_SETMASK, &was, NULL);
  pthread_attr_destroy(&how);
  return ok;
}

void tp_os_at_fork(void (*before)(void), void (*after)(void), void (*in_child)(void)) {
  pthread_atfork(before, after, in_child);
}

/* ---- memory ---- */

int64_t tp_os_page(void) { return sysconf(_SC_PAGESIZE); }
void *tp_os_aligned(size_t align, size_t n) { return aligned_alloc(align, n); }
void tp_os_aligned_free(void *p) { free(p); }

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

void *tp_os_pages(size_t n) {
  void *p =
      mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

void tp_os_pages_free(void *p, size_t n) { munmap(p, n); }

void tp_os_huge(void *p, size_t n) {
#ifdef MADV_HUGEPAGE
  madvise(p, n, MADV_HUGEPAGE);
#endif
}

/* ---- a file as memory ---- */

static bool map_file(tp_os_map *m, int fd, int64_t bytes, int64_t align) {
  m->whole = (size_t)(bytes + align);
  m->room = mmap(NULL, m->whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (m->room == MAP_FAILED) return m->room = NULL, false;
  m->p = (char *)(((intptr_t)m->room + align - 1) / align * align);
  m->size = bytes;
  if (mmap(m->p, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
      MAP_FAILED)
    return false;
  madvise(m->p, (size_t)bytes, MADV_RANDOM); /* no read-ahead */
  return true;
}

int tp_os_map_new(tp_os_map *m, const char *dir, int64_t bytes, int64_t align) {
  char path[4096];
  *m = (tp_os_map){ 0 };
  if (snprintf(path, sizeof path, "%s/tempo-XXXXXX", dir) >= (int)sizeof path) return ENAMETOOLONG;
  int fd = mkostemp(path, O_CLOEXEC);
  if (fd < 0) return errno;
  unlink(path);
  int why = tp_os_take(fd, bytes);
  if (!why && !map_file(m, fd, bytes, align)) {
    why = errno;
    tp_os_map_free(m);
  }
  close(fd);
  return why;
}

void tp_os_map_free(tp_os_map *m) {
  if (m->room) munmap(m->room, m->whole);
  *m = (tp_os_map){ 0 };
}

void *tp_os_map_file(const char *path, int64_t *size, const char **why) {
  FILE *f = tp_os_read(path, size, why);
  if (!f) return NULL;
  void *p = *size ? mmap(NULL, (size_t)*size, PROT_READ, MAP_SHARED, fileno(f), 0) : "";
  if (p == MAP_FAILED) *why = strerror(errno), p = NULL;
  fclose(f);
  return p;
}

void tp_os_unmap(void *p, size_t n) {
  if (n) munmap(p, n);
}

const char *tp_os_scratch(void) { return access("/var/tmp", W_OK | X_OK) ? "/tmp" : "/var/tmp"; }

/* ---- libraries ---- */

void *tp_os_open(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

const char *tp_os_open_error(bool *absent) {
  const char *why = dlerror();
  *absent = why && strstr(why, "No such file");
  return why ? why : "";
}

void *tp_os_symbol(void *library, const char *name) { return dlsym(library, name); }
void tp_os_close(void *library) { dlclose(library); }

bool tp_os_file_of(const void *address, char *path, size_t n) {
  Dl_info of;
  return dladdr(address, &of) && of.dli_fname && snprintf(path, n, "%s", of.dli_fname) < (int)n;
}

void tp_os_stay(const void *address) {
  Dl_info of;
  if (dladdr(address, &of) && of.dli_fname)
    dlopen(of.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- a child process ---- */

/* Starts it with both outputs at `out`; 0: it could not be started. */
static pid_t start(char **argv, int out) {
  posix_spawn_file_actions_t act;
  posix_spawnattr_t attr;
  sigset_t none, all;
  char *env[1024];
  int n = 0;
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
  posix_spawnattr_setflags(
      &attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  /* without LD_PRELOAD: a sanitizer would look for leaks of the compiler */
  for (char **v = environ; v && *v && n < (int)(sizeof env / sizeof *env) - 1; v++)
    if (strncmp(*v, "LD_PRELOAD=", 11)) env[n++] = *v;
  env[n] = NULL;
  if (posix_spawn(&pid, argv[0], &act, &attr, argv, env)) pid = 0;
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&act);
  return pid;
}

/* Marks both ends so that other children do not get them. */
static bool pipe_of_own(int end[2]) {
#ifdef __linux__
  if (pipe2(end, O_CLOEXEC)) return false;
#else
  if (pipe(end)) return false;
  for (int i = 0; i < 2; i++) fcntl(end[i], F_SETFD, FD_CLOEXEC);
#endif
  return fcntl(end[0], F_SETFL, O_NONBLOCK) != -1;
}

bool tp_os_spawn(tp_os_child *c, char **argv) {
  int end[2];
  *c = (tp_os_child){ .owner = getpid(), .told = -1 };
  if (!pipe_of_own(end)) return false;
  c->pid = start(argv, end[1]);
  c->told = end[0];
  close(end[1]);
  return c->pid != 0;
}

long tp_os_hear(tp_os_child *c, char *p, size_t n) {
  long k = c->told >= 0 ? (long)read(c->told, p, n) : -1;
  if (k == 0) tp_os_deaf(c);
  return k;
}

void tp_os_await(tp_os_child *c, int ms) { poll(&(struct pollfd){ c->told, POLLIN, 0 }, 1, ms); }

int tp_os_ended(tp_os_child *c) {
  pid_t got = c->owner == getpid() ? waitpid((pid_t)c->pid, NULL, WNOHANG) : -1;
  if (got < 0 && c->owner == getpid() && errno == EINTR) return 0;
  return got > 0 ? 1 : got;
}

void tp_os_kill(tp_os_child *c) {
  kill(-(pid_t)c->pid, SIGKILL);
  while (waitpid((pid_t)c->pid, NULL, 0) < 0 && errno == EINTR) {}
}

void tp_os_deaf(tp_os_child *c) {
  if (c->told >= 0) close(c->told);
  c->told = -1;
}
#endif
