/* open: files of weights that are cut at each byte, or of which each byte is another: they are
 * refused with their path, or give arrays, and nothing is read beyond their end.
 * spec/open_spec.lua compares the values of whole files. */
#include "weights.h"
#include "check.h"
#include <unistd.h>

static char folder[64] = "/tmp/tempo_open_XXXXXX";

static uint8_t *slurp(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  *n = (size_t)ftell(f);
  rewind(f);
  uint8_t *p = malloc(*n + 1);
  if (fread(p, 1, *n, f) != *n) *n = 0;
  fclose(f);
  return p[*n] = 0, p;
}

/* Exactly so many bytes, with a 0 behind for texts. */
typedef bool trial(const uint8_t *p, size_t n);

static bool try_copy(trial *t, const uint8_t *p, size_t n, size_t behind) {
  uint8_t *exact = malloc(n + behind);
  memcpy(exact, p, n);
  if (behind) exact[n] = 0;
  bool ok = t(exact, n);
  free(exact);
  return ok;
}

static void damage_all(const char *path, trial *t, size_t behind) {
  static const uint8_t by[] = { 1, 0x80, 0xff };
  size_t n = 0;
  uint8_t *p = slurp(path, &n);
  if (!CHECKF(p && try_copy(t, p, n, behind), "%s", path)) return;
  for (size_t k = 0; k < n; k++) {
    CHECKF(try_copy(t, p, k, behind), "%s, cut at %zu", path, k);
    for (size_t i = 0; i < TP_LEN(by) - (CHECK_SHORT ? 2 : 0); i++) {
      p[k] ^= by[(i + k) % TP_LEN(by)];
      CHECKF(try_copy(t, p, n, behind), "%s, byte %zu is %d", path, k, p[k]);
      p[k] ^= by[(i + k) % TP_LEN(by)];
    }
  }
  free(p);
}

static bool try_gguf(const uint8_t *p, size_t n) {
  return opens_or_refuses(open_bytes, &(bytes_t){ "x.gguf", p, n, gguf_of }, "x.gguf");
}

static bool try_safetensors(const uint8_t *p, size_t n) {
  return opens_or_refuses(
      open_bytes, &(bytes_t){ "x.safetensors", p, n, safetensors_of }, "x.safetensors");
}

static bool try_json(const uint8_t *p, size_t n) { return json_or_refuses((const char *)p, n); }

static bool write_bytes(const char *path, const uint8_t *p, size_t n) {
  remove(path); /* quicker than to cut it */
  FILE *f = fopen(path, "wb");
  return f && fwrite(p, 1, n, f) == n && fclose(f) == 0;
}

static bool try_file(const uint8_t *p, size_t n, const char *name) {
  char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return write_bytes(path, p, n) && opens_or_refuses(open_path, path, folder);
}
static bool try_npy(const uint8_t *p, size_t n) { return try_file(p, n, "x.npy"); }
static bool try_npz(const uint8_t *p, size_t n) { return try_file(p, n, "x.npz"); }
static bool try_index(const uint8_t *p, size_t n) {
  return try_file(p, n, "model.safetensors.index.json");
}

static void copy_shard(const char *name) {
  char from[128], to[128];
  size_t n;
  snprintf(from, sizeof from, "spec/fixtures/weights/sharded/%s", name);
  snprintf(to, sizeof to, "%s/%s", folder, name);
  uint8_t *p = slurp(from, &n);
  CHECK(p && write_bytes(to, p, n));
  free(p);
}

/* Arrays keep the map when the collection is closed. */
static void test_kept(void) {
  static tp_weights w;
  tp_error e = { 0 };
  tp_guard g;
  if (!TP_GUARDED(&g)) return;
  if (CHECKF(tp_weights_open(&w, "spec/fixtures/weights/small.gguf", &e), "%s", e.msg)) {
    tp_array *a = tp_weight_array(tp_weights_find(&w, "matrix"), false, &e);
    CHECK(a && a->mapped && a->base && a->shape[0] == 2 && a->shape[1] == 3);
    tp_weights_close(&w);
    tp_weights_close(&w);
    tp_array *row = tp_array_view(a, 1);
    tp_array_unref(a);
    read_bytes(row->data, tp_array_bytes(row));
    CHECK(row->mapped);
    tp_array_unref(row);
  }
  tp_unguard(&g);
}

/* Each request for memory fails once. */
static void test_no_memory(const char *path) {
  long n = 0;
  do {
    tp_fail_alloc(++n);
    CHECKF(opens_or_refuses(open_path, path, path), "%s, request %ld", path, n);
  } while (tp_fail_alloc(0) && n < 100000);
  CHECKF(n > 5 && n < 100000, "%s, %ld requests", path, n);
}

int main(void) {
  if (!mkdtemp(folder)) return 1;
  test_kept();
  test_no_memory("spec/fixtures/weights/small.gguf");
  test_no_memory("spec/fixtures/weights/small.safetensors");
  test_no_memory("spec/fixtures/weights/sharded");
  test_no_memory("spec/fixtures/npy/stored.npz");
  test_no_memory("spec/fixtures/npy/deflated.npz");
  test_no_memory("spec/fixtures/npy/fortran.npy");
  damage_all("spec/fixtures/weights/small.gguf", try_gguf, 0);
  damage_all("spec/fixtures/weights/small.safetensors", try_safetensors, 0);
  damage_all("spec/fixtures/weights/sharded/model.safetensors.index.json", try_json, 1);
  copy_shard("model-00001-of-00002.safetensors");
  copy_shard("model-00002-of-00002.safetensors");
  damage_all("spec/fixtures/weights/sharded/model.safetensors.index.json", try_index, 0);
  damage_all("spec/fixtures/npy/stored.npz", try_npz, 0);
  damage_all("spec/fixtures/npy/fortran.npy", try_npy, 0);
  damage_all("spec/fixtures/npy/bool.npy", try_npy, 0);
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
  return check_report();
}
