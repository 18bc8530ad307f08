/* tokenizers: each request for memory fails once while a file is opened and used; files with
 * changed bytes are refused, or used. spec/tokenizer_spec.lua compares what whole files give. */
#include "tokenizer.h"
#include "check.h"

static char *whole(const char *name, size_t *n) {
  char path[128];
  snprintf(path, sizeof path, "spec/fixtures/tokenizers/%s", name);
  FILE *f = fopen(path, "rb");
  if (!CHECKF(f != NULL, "%s", path)) return NULL;
  char *p = malloc(1 << 20);
  *n = fread(p, 1, (1 << 20) - 1, f);
  fclose(f);
  return p[*n] = 0, p;
}

/* Exactly so many bytes and a 0. */
static bool try_bytes(const char *p, size_t n) {
  char *exact = malloc(n + 1);
  memcpy(exact, p, n);
  exact[n] = 0;
  bool ok = opens_or_refuses(open_tokenizer, &(bytes_t){ "x.bytes", exact, n, NULL }, "x.bytes");
  free(exact);
  return ok;
}

static void test_no_memory(const char *name, const char *p, size_t size) {
  long n = 0;
  do {
    tp_fail_alloc(++n);
    CHECKF(try_bytes(p, size), "%s, request %ld", name, n);
  } while (tp_fail_alloc(0) && n < 100000);
  CHECKF(n > 5 && n < 100000, "%s, %ld requests", name, n);
}

static void test_changed(const char *name, char *p, size_t n) {
  size_t step = CHECK_SHORT ? 211 : 37;
  for (size_t k = 0; k < n; k += k < 300 ? 3 : step) {
    CHECKF(try_bytes(p, k), "%s, cut at %zu", name, k);
    p[k] ^= (char)(k % 2 ? 0x81 : 1);
    CHECKF(try_bytes(p, n), "%s, byte %zu is %d", name, k, p[k]);
    p[k] ^= (char)(k % 2 ? 0x81 : 1);
  }
}

int main(void) {
  static const char *const names[] = { "gpt2.json", "added.json", "forms.json", "llama2.json",
    "unigram.json", "bpe.model", "user.model", "unigram.model", "small.tiktoken", "llama3.gguf",
    "bpe.gguf" };
  for (size_t k = 0; k < TP_LEN(names); k++) {
    size_t n;
    char *p = whole(names[k], &n);
    if (!p) continue;
    test_no_memory(names[k], p, n);
    test_changed(names[k], p, n);
    free(p);
  }
  return check_report();
}
