/* The cache keeps a compilation: a function that is found there asks isl nothing, and is in
 * all that can be seen of it the one that was compiled; whatever the file has become. */
#include "check.h"
#include "api/api.h"
#include "io/io.h"
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* isl keeps what it held when memory failed outside of it. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:isl_\nleak:mp_\nleak:gmp"; }

enum { MANY = 48, T = 9 };
static tempo_error err;
static char folder[] = "/tmp/tempo-warm-XXXXXX";

/* MANY running sums, each of the one before; a parameter and a constant. */
static char *program_text(int seed) {
  tp_buf b;
  tp_buf_init(&b);
  tp_putf(&b,
      "graph seed %d nrand 0\ndim t:T\n%%0 = input {str \"x\"} : (t) f32 []\n"
      "%%1 = input {str \"unused\"} : (t) f32 []\n%%2 = const {data 0.5} : () f32 []\n"
      "%%3 = param %%2, %%4 {str \"w\", along (t)} : (t) f32 [] @ warm.lua:3\n"
      "%%4 = add %%3, %%2 : (t) f32 []\n%%5 = mul %%0, %%3 : (t) f32 []\n",
      seed);
  for (int k = 0, before = 5; k < MANY; k++) {
    int at = 6 + 3 * k;
    tp_putf(&b,
        "%%%d \"h%d\" = merge %%%d if t == 0, %%%d : (t) f32 [] @ warm.lua:%d\n"
        "%%%d = read %%%d {at [t - 1]} : (t) f32 []\n%%%d = add %%%d, %%%d : (t) f32 []\n",
        at, k, before, at + 2, k + 7, at + 1, at, at + 2, at + 1, before);
    before = at;
  }
  tp_putf(&b, "output \"h\" %%%d\n", 6 + 3 * (MANY - 1));
  return b.s;
}

static tempo_function *compiled(const tempo_options *o, int seed) {
  char *text = program_text(seed);
  tempo_program *p = tempo_program_parse(text, &err);
  CHECKF(p != NULL, "%s", err.message);
  tempo_function *f = tempo_compile_with(p, o, &err);
  CHECKF(f != NULL, "%s", err.message);
  tempo_program_free(p);
  tp_free(text);
  return f;
}

static long asked(const tempo_function *f) { return tp_isl_spaces(tp_fn_graph(f->f)->ix); }

/* ---- what can be seen of it ---- */

static void put_run(tp_buf *b, tempo_function *f) {
  tempo_array *x = tempo_array_new("f32", 1, (const int64_t[]){ T }), *h = NULL;
  for (int k = 0; k < T; k++) tempo_array_set(x, k, k * 0.3 + 1);
  CHECKF(tempo_run(f, 1, (const char *const[]){ "x" }, &x, 1, (const char *const[]){ "T" },
             (const int64_t[]){ T }, 1, &h, &err),
      "%s", err.message);
  if (h) tp_putn(b, tempo_array_data(h), sizeof(float) * T);
  tempo_array_free(x);
  tempo_array_free(h);
  tempo_array *w = tempo_param(f, "w", &err);
  CHECKF(w != NULL, "%s", err.message);
  if (w) tp_putn(b, tempo_array_data(w), sizeof(float));
  tempo_array_free(w);
}

static void put_section(tp_buf *b, tempo_function *f, const char *section) {
  char *s = tempo_explain(f, section, &err), *ms = s ? strstr(s, " isl queries") : NULL;
  CHECKF(s != NULL, "%s: %s", section ? section : "summary", err.message);
  if (s && !section) s[ms ? ms - s : 0] = 0; /* times follow */
  if (s) tp_puts(b, s);
  tempo_text_free(s);
}

static void put_all(tp_buf *b, tempo_function *f, bool more) {
  static const char *const sections[] = { NULL, "graph", "schedule", "storage", "memory", "passes",
    "rules", "evolution", "dot" };
  static const tempo_kind kinds[] = { TEMPO_INPUT, TEMPO_OUTPUT, TEMPO_PARAM, TEMPO_BOUND,
    TEMPO_TICK };
  int64_t bytes = 0;
  tp_buf_init(b);
  put_section(b, f, "plan");
  put_section(b, f, "work");
  put_run(b, f);
  CHECK(tempo_memory(f, 1, (const char *const[]){ "T" }, (const int64_t[]){ T }, &bytes, &err));
  tp_putf(b, "%lld\n", (long long)bytes);
  for (size_t i = 0; i < TP_LEN(kinds); i++)
    for (int k = 0; k < tempo_function_count(f, kinds[i]); k++)
      tp_putf(b, "%s\n", tempo_function_name(f, kinds[i], k));
  for (size_t i = 0; more && i < TP_LEN(sections); i++) put_section(b, f, sections[i]);
}

static bool same(const tp_buf *a, const tp_buf *b) {
  return a->n == b->n && !memcmp(a->s, b->s, a->n);
}

/* A state of one goes on in the other. */
static void exchange(tempo_function *a, tempo_function *b) {
  tempo_array *x = tempo_array_new("f32", 0, NULL), *h = NULL;
  size_t n = 0;
  int done;
  CHECKF(tempo_start(
             a, 0, NULL, NULL, 1, (const char *const[]){ "T" }, (const int64_t[]){ T }, 1, &err),
      "%s", err.message);
  for (int k = 0; k < 3; k++) {
    CHECK(tempo_step(a, 1, (const char *const[]){ "x" }, &x, -1, &done, NULL, &h, &err));
    tempo_array_free(h);
  }
  void *state = tempo_state(a, &n, &err);
  CHECKF(state && tempo_load_state(b, state, n, &err), "%s", err.message);
  CHECK(tempo_step(b, 1, (const char *const[]){ "x" }, &x, -1, &done, NULL, &h, &err));
  tempo_array_free(h);
  tempo_array_free(x);
  tempo_bytes_free(state);
}

/* ---- files ---- */

/* The plan's file that is there, if it is one. */
static bool plan_file(char path[512]) {
  DIR *d = opendir(folder);
  int n = 0;
  for (struct dirent *e; d && (e = readdir(d)) != NULL;)
    if (strstr(e->d_name, ".plan")) snprintf(path, 512, "%s/%.200s", folder, e->d_name), n++;
  if (d) closedir(d);
  return n == 1;
}

static void empty_folder(void) {
  char path[512];
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
    snprintf(path, sizeof path, "%s/%.200s", folder, e->d_name);
    unlink(path);
  }
  if (d) closedir(d);
}

/* ---- tests ---- */

static void found_again(void) {
  static const char *const tick[] = { "t" };
  const tempo_options all[] = { { .tier = "interpreter" }, { .tier = "auto" },
    { .tier = "interpreter", .ntick = 1, .tick = tick }, { .tier = "interpreter", .threads = 2 },
    { .tier = "interpreter", .memory = 1 << 20 }, { .tier = "interpreter", .check = "nan" },
    { .tier = "interpreter", .precise = 1 }, { .tier = "interpreter", .reproducible = 1 },
    { .tier = "interpreter", .passes = "none" }, { .tier = "interpreter", .async = 1 } };
  for (size_t i = 0; i < TP_LEN(all); i++) {
    tempo_options o = all[i];
    tp_buf a, b, c;
    o.size = sizeof o;
    empty_folder();
    tempo_function *f = compiled(&o, 1);
    CHECKF(tempo_function_count(f, TEMPO_INPUT) == 1, "%s", err.message);
    tempo_function *g = compiled(&o, 1);
    CHECKF(asked(f) > 500, "case %zu asked %ld", i, asked(f));
    CHECKF(tempo_function_count(g, TEMPO_INPUT) == 1 && asked(g) == 0, "case %zu asked %ld", i,
        asked(g));
    put_all(&a, f, false);
    put_all(&b, g, false);
    CHECKF(asked(g) == 0, "case %zu asked %ld of its runs", i, asked(g));
    CHECKF(same(&a, &b), "case %zu runs", i);
    exchange(f, g);
    exchange(g, f);
    tp_buf_free(&a);
    tp_buf_free(&b);
    tempo_function *h = compiled(&o, 1);
    exchange(f, h);
    put_all(&a, f, true);
    put_all(&b, g, true);
    put_all(&c, h, true);
    CHECKF(same(&a, &b) && same(&a, &c), "case %zu explains", i);
    tp_buf_free(&a);
    tp_buf_free(&b);
    tp_buf_free(&c);
    tempo_function_free(f);
    tempo_function_free(g);
    tempo_function_free(h);
  }
}

/* 1: nothing is asked; 0: compiled anew. */
static int is_found(const tempo_options *o, int seed) {
  tempo_function *f = compiled(o, seed);
  tp_buf b;
  put_all(&b, f, false);
  long n = asked(f);
  tp_buf_free(&b);
  tempo_function_free(f);
  return n == 0;
}

static void other_programs(void) {
  tempo_options o = { .size = sizeof o, .tier = "interpreter" };
  empty_folder();
  CHECK(!is_found(&o, 1) && is_found(&o, 1) && !is_found(&o, 2));
  o.passes = "cse=false";
  CHECK(!is_found(&o, 1) && is_found(&o, 1));
  o.passes = NULL;
  setenv("TEMPO_TILE", "64", 1);
  CHECK(!is_found(&o, 1));
  setenv("TEMPO_TILE", "", 1);
  CHECK(is_found(&o, 1));
  setenv("TEMPO_CACHE", "none", 1);
  CHECK(!is_found(&o, 1));
  setenv("TEMPO_CACHE", folder, 1);
  CHECK(is_found(&o, 1));
}

static void spoil(const char *path, long at, int how) {
  FILE *f = fopen(path, "r+");
  fseek(f, at, SEEK_SET);
  int c = fgetc(f);
  fseek(f, at, SEEK_SET);
  if (how) fputc(c ^ how, f);
  fclose(f);
  if (!how) CHECK(truncate(path, at) == 0);
}

static void damaged_files(void) {
  const tempo_options o = { .size = sizeof o, .tier = "interpreter" };
  char path[512];
  struct stat s;
  empty_folder();
  CHECK(!is_found(&o, 1) && plan_file(path) && stat(path, &s) == 0);
  for (int k = 0; k < 6; k++) {
    spoil(path, s.st_size * (k + 1) / 7, k % 2 ? 0x11 : 0);
    CHECK(!is_found(&o, 1) && plan_file(path) && is_found(&o, 1));
  }
}

/* A file that is whole but says something else is none. */
static void changed_files(void) {
  const tempo_options o = { .size = sizeof o, .tier = "interpreter" };
  char path[512], *whole, name[33];
  size_t n = 0;
  empty_folder();
  CHECK(!is_found(&o, 1) && plan_file(path));
  snprintf(name, sizeof name, "%.32s", strrchr(path, '/') + 1);
  whole = tp_cache_get(name, ".plan", &n);
  CHECK(whole != NULL);
  unsigned long at = 1;
  int found = 0, tried = CHECK_SHORT ? 21 : 60;
  for (int k = 0; k < tried; k++) {
    tp_buf b;
    tp_buf_init(&b);
    tp_putn(&b, whole, k % 3 ? n : n - (size_t)(k + 1) * n / (size_t)(tried + 10));
    at = at * 6364136223846793005u + 1442695040888963407u;
    if (k % 3) b.s[(at >> 33) % b.n] ^= (char)(k % 3 == 1 ? 1 << k % 7 : (int)(at >> 20 & 127));
    tp_cache_put(name, ".plan", &b);
    tp_buf_free(&b);
    tempo_function *f = compiled(&o, 1);
    found += f && asked(f) == 0;
    tempo_function_free(f);
  }
  CHECKF(4 * found < 3 * tried, "%d of %d changes were taken", found, tried);
  /* names that mean something else are in the way of no compilation */
  for (size_t i = 0; i + 7 < n; i++)
    if (!memcmp(whole + i, "dim t:T", 7)) whole[i + 4] = 'T', whole[i + 6] = 't';
  tp_buf b;
  tp_buf_init(&b);
  tp_putn(&b, whole, n);
  tp_cache_put(name, ".plan", &b);
  tp_buf_free(&b);
  CHECK(!is_found(&o, 1) && is_found(&o, 1));
  tp_free(whole);
}

static void at_once(void) {
  const tempo_options o = { .size = sizeof o, .tier = "interpreter" };
  char path[512];
  int bad = 0, status;
  empty_folder();
  for (int k = 0; k < 4; k++)
    if (fork() == 0) {
      check_failed = 0;
      is_found(&o, 1);
      _exit(check_failed != 0);
    }
  while (wait(&status) > 0) bad += status != 0;
  CHECK(bad == 0 && plan_file(path) && is_found(&o, 1));
}

/* Compiles while the n-th request for memory fails; false: there are not so many. */
static bool meets_failure(tempo_program *p, long n) {
  const tempo_options o = { .size = sizeof o, .tier = "interpreter" };
  tempo_error failed;
  tp_fail_alloc(n);
  tempo_function *f = tempo_compile_with(p, &o, &failed);
  bool met = tp_fail_alloc(0);
  CHECKF(f || (met && failed.code == TP_E_MEMORY), "request %ld: %s", n, failed.message);
  tempo_function_free(f);
  return met;
}

/* Arenas ask for each object of its own under a sanitizer. */
#if defined(__SANITIZE_ADDRESS__)
enum { STEP = 11 };
#else
enum { STEP = 1 };
#endif

/* Requests of the reading of a plan; of what follows a compilation, the last ones,
 * among them those of its writing. */
static void without_memory(void) {
  const tempo_options o = { .size = sizeof o, .tier = "interpreter" };
  char *text = program_text(1);
  tempo_program *p = tempo_program_parse(text, &err);
  empty_folder();
  CHECK(!is_found(&o, 1));
  for (long n = 1; meets_failure(p, n); n += STEP) CHECK(is_found(&o, 1));
  long least = 0, most = 1;
  for (empty_folder(); meets_failure(p, most); most *= 2) empty_folder();
  while (most - least > 1) {
    long n = (least + most) / 2;
    empty_folder();
    *(meets_failure(p, n) ? &least : &most) = n;
  }
  for (long n = least; n > least - (CHECK_SHORT ? 6 : 24); n--) {
    empty_folder();
    meets_failure(p, n);
  }
  tempo_program_free(p);
  tp_free(text);
}

int main(void) {
  CHECK(mkdtemp(folder) != NULL);
  setenv("TEMPO_CACHE", folder, 1);
  found_again();
  other_programs();
  damaged_files();
  changed_files();
  at_once();
  without_memory();
  empty_folder();
  rmdir(folder);
  return check_report();
}
