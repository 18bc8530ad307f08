/* Several Lua states, each in a thread of its own, each with programs of its own, which threads
 * share: what they compute is what one thread alone computes, also in the child of a fork and where
 * a state was closed before. Lua is opened at run time. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 2 };

typedef struct lua_State lua_State;
static lua_State *(*newstate)(void);
static void (*openlibs)(lua_State *);
static int (*loadstring)(lua_State *, const char *);
static int (*pcallk)(lua_State *, int, int, int, intptr_t, void *);
static const char *(*tolstring)(lua_State *, int, size_t *);
static const char *(*pushstring)(lua_State *, const char *);
static void (*closestate)(lua_State *);
static char folder[1024];

static bool open_lua(void) {
  void *lib = dlopen("liblua5.4.so.0", RTLD_NOW | RTLD_GLOBAL);
  if (!lib) return false;
  *(void **)&newstate = dlsym(lib, "luaL_newstate");
  *(void **)&openlibs = dlsym(lib, "luaL_openlibs");
  *(void **)&loadstring = dlsym(lib, "luaL_loadstring");
  *(void **)&pcallk = dlsym(lib, "lua_pcallk");
  *(void **)&tolstring = dlsym(lib, "lua_tolstring");
  *(void **)&pushstring = dlsym(lib, "lua_pushstring");
  *(void **)&closestate = dlsym(lib, "lua_close");
  return newstate && openlibs && loadstring && pcallk && tolstring && pushstring && closestate;
}

static const char script[] =
    "local folder, threads = ...\n"
    "package.cpath, package.path = folder .. '/?.so', 'lua/?.lua;lua/?/init.lua'\n"
    "local tempo = require 'tempo'\n"
    "local function program()\n"
    "  local P = tempo.program { seed = 5 }\n"
    "  local i = P:dim 'i'\n"
    "  local t, T = P:dim 't'\n"
    "  local u = P:source(function(p) return p.i + p.t / 10 end, { domain = { i, t } })\n"
    "  local w = P:param('w', { along = { i }, init = tempo.normal({ 8, 8 }, { name = 'w' }), "
    "shape = { 8, 8 } })\n"
    "  local h = P:tensor { domain = { i, t }, shape = { 8 } }\n"
    "  h[{ t = 0 }] = tempo.normal({ 8 }, { domain = { i }, name = 'h' })\n"
    "  h:otherwise((h[t-1]:matmul(w) + u):tanh())\n"
    "  local loss = (h:sum() ^ 2)[{ t = 0 .. T }]:mean(0)\n"
    "  tempo.optim.SGD({ w }, { lr = 0.01 }):step(loss)\n"
    "  return P:compile { outputs = { y = h:sum(), loss = loss }, tick = { i, t }, threads = "
    "tonumber(threads) }\n"
    "end\n"
    "local f, g = program(), program()\n"
    "local out = f({}, { I = 20, T = 6 })\n"
    "local all = { tostring(out.loss), tostring(f:params().w) }\n"
    "g:start({}, { I = 20, T = 6 })\n"
    "local done, o\n"
    "local losses = {}\n"
    "repeat done, o = g:step({}, { budget_ms = 0.01 }) losses[#losses + 1] = o.loss and "
    "o.loss:item() until done\n"
    "all[3], all[4] = tostring(tempo.array(losses)), tostring(g:params().w)\n"
    "assert(all[1] == all[3] and all[2] == all[4])\n"
    "all[5] = tostring(select(2, pcall(g, { x = 1 }, { I = 1 })))\n"
    "return table.concat(all, '\\n')\n";

/* Runs the script and gives its result, malloc'ed; NULL: it failed. */
static char *run(const char *threads) {
  lua_State *L = newstate();
  openlibs(L);
  int bad = loadstring(L, script);
  if (!bad) {
    pushstring(L, folder);
    pushstring(L, threads);
    bad = pcallk(L, 2, 1, 0, 0, NULL);
  }
  char *s = bad ? NULL : strdup(tolstring(L, -1, NULL));
  if (bad) fprintf(stderr, "%s\n", tolstring(L, -1, NULL));
  closestate(L);
  return s;
}

static void *thread(void *want) {
  bool ok = true;
  for (int k = 0; k < ROUNDS; k++) {
    char *s = run(k ? "3" : "2");
    ok &= s && !strcmp(s, want);
    free(s);
  }
  return ok ? want : NULL;
}

/* Its threads are not there after the fork. */
static bool in_child(char *want) {
  int status = -1;
  pid_t child = fork();
  if (!child) _exit(thread(want) == want ? 0 : 1);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv) {
  (void)argc;
  snprintf(folder, sizeof folder, "%s", argv[0]);
  /* build/spec/c/threads_test: build */
  for (int k = 0; k < 3; k++) *strrchr(folder, '/') = 0;
  strncat(folder, "/5.4", sizeof folder - strlen(folder) - 1);
  if (!CHECKF(open_lua(), "no liblua5.4 here")) return check_report();
  setenv("TEMPO_SHARE", "0", 1);
  char *want = run("1");
  pthread_t id[THREADS];
  void *got[THREADS];
  /* the last of what it gives */
  if (!CHECK(want && strstr(want, "bound: 'T' is missing"))) return check_report();
  for (int k = 0; k < THREADS; k++) pthread_create(&id[k], NULL, thread, want);
  for (int k = 0; k < THREADS; k++) pthread_join(id[k], &got[k]);
  for (int k = 0; k < THREADS; k++) CHECK(got[k] == want);
  CHECK(in_child(want));
  CHECK(thread(want) == want);
  free(want);
  return check_report();
}
