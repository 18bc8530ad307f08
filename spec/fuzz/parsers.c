/* Readers of texts and files, under libFuzzer (make fuzz-parsers): whatever the bytes, each parser
 * refuses them with an error or gives what the rest can take. FUZZ_PARSER names the parser.
 * graph, plan: what was read prints as a text that is read again and prints the same.
 * state: of a function that steps along two dims. npy, npz. json, gguf, safetensors, index: also
 * all that they say is read. tokenizer: of all kinds, told by their first bytes. */
#include "graph/graph.h"
#include "io/io.h"
#include "cpu/machine.h"
#include "plan/plan.h"
#include "tempo.h"
#include "../c/tokenizer.h"
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char *text_of(const uint8_t *data, size_t n) {
  char *s = malloc(n + 1);
  memcpy(s, data, n);
  s[n] = 0;
  return s;
}

typedef struct {
  tp_buf b;
  tp_ictx *ix;
  void *made;
} reading;
typedef void reader(reading *r, const char *text);

/* A text's print; empty where it is refused. */
static tp_buf print(const char *text, reader *read) {
  reading r = { .ix = tp_ictx_new() };
  tp_buf_init(&r.b);
  read(&r, text);
  tp_ictx_free(r.ix);
  return r.b;
}

static void twice(const uint8_t *data, size_t n, reader *read) {
  char *text = text_of(data, n);
  tp_buf first = print(text, read), second = { 0 };
  if (first.s) second = print(first.s, read);
  if (first.s && (!second.s || strcmp(first.s, second.s))) abort();
  tp_buf_free(&first);
  if (second.s) tp_buf_free(&second);
  free(text);
}

static void read_graph(reading *r, const char *text) {
  tp_error err = { 0 };
  tp_graph *g = tp_graph_parse(r->ix, text, &err);
  if (g) tp_graph_print(&r->b, g);
  else if (!err.code) abort();
  tp_graph_free(g);
}

static void read_plan(reading *r, const char *text) {
  tp_error err = { 0 };
  tp_plan *p = tp_plan_parse(r->ix, &tp_cpu_machine, text, &err);
  if (p) tp_plan_print(&r->b, p);
  else if (!err.code) abort();
  tp_plan_free(p);
}

static void graph(const uint8_t *data, size_t n) { twice(data, n, read_graph); }
static void plan(const uint8_t *data, size_t n) { twice(data, n, read_plan); }

static void arrays(const uint8_t *data, size_t n) {
  tp_error err = { 0 };
  tp_arrays a;
  FILE *f = n ? fmemopen((void *)data, n, "rb") : NULL;
  if (f && !tp_arrays_read(f, (int64_t)n, "fuzz", &a, &err) && !err.code) abort();
  if (f && !err.code) tp_arrays_free(&a);
  if (f) fclose(f);
}

/* ---- files of weights ---- */

static void gguf(const uint8_t *data, size_t n) {
  if (!opens_or_refuses(open_bytes, &(bytes_t){ "fuzz", data, n, gguf_of }, "fuzz")) abort();
}

static void safetensors(const uint8_t *data, size_t n) {
  if (!opens_or_refuses(open_bytes, &(bytes_t){ "fuzz", data, n, safetensors_of }, "fuzz")) abort();
}

static void json(const uint8_t *data, size_t n) {
  char *text = text_of(data, n);
  if (!json_or_refuses(text, n)) abort();
  free(text);
}

/* A folder with links to files that the specs have. */
static const char *shards(void) {
  static char folder[] = "/tmp/tempo_fuzz_XXXXXX";
  char here[2048], to[4096], path[128];
  if (!mkdtemp(folder) || !getcwd(here, sizeof here)) abort();
  for (int k = 1; k <= 2; k++) {
    const char *name = "model-0000%d-of-00002.safetensors";
    int n = snprintf(to, sizeof to, "%s/spec/fixtures/weights/sharded/", here);
    snprintf(to + n, sizeof to - (size_t)n, name, k);
    n = snprintf(path, sizeof path, "%s/", folder);
    snprintf(path + n, sizeof path - (size_t)n, name, k);
    if (symlink(to, path)) abort();
  }
  return folder;
}

static void index_of(const uint8_t *data, size_t n) {
  static const char *folder;
  char path[128];
  if (!folder) folder = shards();
  snprintf(path, sizeof path, "%s/x.index.json", folder);
  remove(path); /* quicker than to cut it */
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
  if (!opens_or_refuses(open_path, path, folder)) abort();
}

/* ---- tokenizers ---- */

static void tokenizer(const uint8_t *data, size_t n) {
  char *text = text_of(data, n);
  bytes_t b = { "fuzz", text, n, NULL };
  if (!opens_or_refuses(open_tokenizer, &b, "fuzz")) abort();
  free(text);
}

/* ---- states ---- */

enum { HEAD = 32 };
static const char stepped[] = "dim i:I\ndim t:T\n"
                              "%0 = input {str \"x\"} : (i t) f32 [3]\n"
                              "%1 = fill : () f32 [3]\n"
                              "%2 \"h\" = merge %1 if t == 0, %4 : (i t) f32 [3]\n"
                              "%3 = read %2 {at [i, t - 1]} : (i t) f32 [3]\n"
                              "%4 = add %3, %0 : (i t) f32 [3]\n"
                              "%5 = add %2, %0 : (i t) f32 [3]\n"
                              "%6 = sum %5 {axes 0} : (i t) f32 []\n"
                              "output \"h\" %2\noutput \"s\" %6\n";
static tempo_function *stepping;

static tempo_array *ones(void) {
  tempo_array *x = tempo_array_new("f32", 1, (const int64_t[]){ 3 });
  for (int i = 0; i < 3; i++) ((float *)tempo_array_data(x))[i] = 1;
  return x;
}

static int step(void) {
  tempo_error err;
  tempo_array *out[2] = { NULL, NULL }, *x = ones();
  const char *const names[] = { "x" };
  int done = 0, ok = tempo_step(stepping, 1, names, &x, 0, &done, NULL, out, &err);
  for (int k = 0; k < 2; k++) tempo_array_free(out[k]);
  tempo_array_free(x);
  return ok && !done;
}

static void begin(void) {
  tempo_error err;
  tempo_program *p = tempo_program_parse(stepped, &err);
  const char *const ticks[] = { "i", "t" };
  stepping = p ? tempo_compile_ticks(p, "interpreter", 2, ticks, &err) : NULL;
  const char *const bounds[] = { "I", "T" };
  const int64_t sizes[] = { 3, 3 };
  if (!stepping || !tempo_start(stepping, 0, NULL, NULL, 2, bounds, sizes, 1, &err)) abort();
  tempo_program_free(p);
}

/* A changed state is sealed again, or nothing would be looked at; one that is taken goes to its
 * end. */
static void state(const uint8_t *data, size_t n) {
  tempo_error err;
  uint64_t version, sum;
  if (!stepping) begin();
  char *s = text_of(data, n);
  if (n >= HEAD) {
    memcpy(&version, s + 8, sizeof version);
    sum = tp_hash(s + HEAD, n - HEAD, version);
    memcpy(s + 24, &sum, sizeof sum);
  }
  for (int k = tempo_load_state(stepping, s, n, &err) ? 0 : 100; k < 100 && step(); k++) {}
  free(s);
}

/* ---- */

static void (*chosen)(const uint8_t *data, size_t n);

/* With FUZZ_SEED the file of that name gets a state to begin with. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
  static const struct {
    const char *name;
    void (*fn)(const uint8_t *, size_t);
  } of[] = {
    { "graph", graph },
    { "plan", plan },
    { "state", state },
    { "npy", arrays },
    { "npz", arrays },
    { "json", json },
    { "gguf", gguf },
    { "safetensors", safetensors },
    { "index", index_of },
    { "tokenizer", tokenizer },
  };
  const char *name = getenv("FUZZ_PARSER"), *seed = getenv("FUZZ_SEED");
  tempo_error err;
  size_t n;
  for (size_t i = 0; i < TP_LEN(of); i++)
    if (name && !strcmp(name, of[i].name)) chosen = of[i].fn;
  if (!chosen) return fprintf(stderr, "FUZZ_PARSER names no parser\n"), exit(1), 1;
  if (!seed) return 0;
  begin();
  for (int k = 0; k < 4; k++) step();
  void *s = tempo_state(stepping, &n, &err);
  FILE *f = s ? fopen(seed, "wb") : NULL;
  if (!f || fwrite(s, 1, n, f) != n || fclose(f)) abort();
  _exit(0); /* no look for leaks */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  chosen(data, n);
  return 0;
}
