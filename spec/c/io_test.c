/* io: files replaced as a whole, DEFLATE, CRC-32, arrays there and back, and files that somebody
 * has damaged: they are refused or give arrays, and nothing is read beyond its end.
 * `build/spec/c/io_test 60` damages for a minute. */
#include "io/io.h"
#include <zlib.h>
#include "check.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[64] = "/tmp/tempo_io_XXXXXX";

static const char *at(const char *name) {
  static char path[2][128];
  static int k;
  snprintf(path[k ^= 1], sizeof path[0], "%s/%s", folder, name);
  return path[k];
}

static uint8_t *slurp(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  *n = 0;
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  uint8_t *p = malloc((size_t)size + 1);
  *n = fread(p, 1, (size_t)size, f);
  fclose(f);
  return p;
}

static bool holds(const char *path, const char *text) {
  size_t n;
  uint8_t *p = slurp(path, &n);
  bool is = p && n == strlen(text) && memcmp(p, text, n) == 0;
  free(p);
  return is;
}

/* ---- files ---- */
static bool write_text(FILE *f, void *ud) { return fputs(ud, f) >= 0; }
static bool write_half(FILE *f, void *ud) { return fputs(ud, f) >= 0 && fflush(f) == 0 && false; }
static bool write_much(FILE *f, void *ud) {
  static char zeros[1 << 16];
  for (int k = 0; k < 16; k++)
    if (fwrite(zeros, 1, sizeof zeros, f) != sizeof zeros) return false;
  return true;
}

static int entries(void) {
  char command[128];
  int n = -1;
  snprintf(command, sizeof command, "ls %s | wc -l", folder);
  FILE *p = popen(command, "r");
  if (p && fscanf(p, "%d", &n) != 1) n = -1;
  if (p) pclose(p);
  return n;
}

static void test_replace(void) {
  static tp_error e;
  char *one = "one", *two = "two";
  CHECK(tp_file_replace(at("a"), write_text, one, &e) && holds(at("a"), one));
  chmod(at("a"), 0640);
  CHECK(tp_file_replace(at("a"), write_text, two, &e) && holds(at("a"), two));
  struct stat st;
  CHECK(stat(at("a"), &st) == 0 && (st.st_mode & 0777) == 0640);
  CHECK(
      !tp_file_replace(at("a"), write_half, one, &e) && e.code == TP_E_FILE && holds(at("a"), two));
  CHECK(symlink("a", at("link")) == 0 && tp_file_replace(at("link"), write_text, one, NULL) &&
      holds(at("a"), one));
  CHECK(lstat(at("link"), &st) == 0 && S_ISLNK(st.st_mode));
  e = (tp_error){ 0 };
  CHECK(!tp_file_replace("/nonexistent/a", write_text, one, &e) &&
      strstr(e.msg, "/nonexistent/a: No such file"));
  e = (tp_error){ 0 };
  CHECK(!tp_file_replace("/dev/full", write_much, NULL, &e) && strstr(e.msg, "No space left"));
  CHECK(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
  CHECK(tp_file_replace("/dev/null", write_much, NULL, NULL));
  CHECK(!tp_file_replace(folder, write_text, one, NULL));
  CHECK(entries() == 2);
}

/* The last of three fails: before any has its place, and after the others have theirs. */
static void test_replace_all(void) {
  static tp_error e;
  const struct {
    tp_writer *write;
    const char *last;
  } cases[] = { { write_half, "c" }, { write_text, "folder" }, { write_much, "/dev/full" } };
  mkdir(at("folder"), 0700);
  for (size_t i = 0; i < TP_LEN(cases); i++) {
    char a[128], b[128], c[128];
    snprintf(a, sizeof a, "%s", at("a")), snprintf(b, sizeof b, "%s", at("b"));
    snprintf(c, sizeof c, "%s", *cases[i].last == '/' ? cases[i].last : at(cases[i].last));
    const tp_file_new v[] = { { a, write_text, "three" }, { b, write_text, "four" },
      { c, cases[i].write, "five" } };
    e = (tp_error){ 0 };
    CHECK(!tp_file_replace_all(3, v, &e) && e.code == TP_E_FILE && strstr(e.msg, c));
    CHECK(holds(a, "one") && access(b, F_OK) != 0 && entries() == 3);
    CHECK(
        tp_file_replace_all(2, v, NULL) && holds(a, "three") && holds(b, "four") && entries() == 4);
    CHECK(remove(b) == 0 && tp_file_replace(a, write_text, "one", NULL) && entries() == 3);
  }
  rmdir(at("folder"));
}

static void test_fifo(void) {
  static tp_error e;
  tp_arrays out;
  size_t n;
  CHECK(mkfifo(at("fifo"), 0600) == 0);
  CHECK(!tp_arrays_load(at("fifo"), &out, &e) && e.code == TP_E_FILE &&
      strstr(e.msg, "no regular file"));
  e = (tp_error){ 0 };
  CHECK(!tp_file_whole(at("fifo"), &n, &e) && e.code == TP_E_FILE &&
      strstr(e.msg, "no regular file"));
  remove(at("fifo"));
}

/* a limit on the size of files does what a full disk does */
static void test_disk_full(void) {
  static tp_error e;
  struct rlimit old, small = { 1 << 18, RLIM_INFINITY };
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &old);
  small.rlim_max = old.rlim_max;
  setrlimit(RLIMIT_FSIZE, &small);
  bool ok = tp_file_replace(at("a"), write_much, NULL, &e);
  setrlimit(RLIMIT_FSIZE, &old);
  CHECK(!ok && e.code == TP_E_FILE && strstr(e.msg, "too large"));
  CHECK(holds(at("a"), "one") && entries() == 2);
}

/* ---- arrays ---- */
static const char *const files[] = {
  "f16.npy",
  "f32.npy",
  "f64.npy",
  "i32.npy",
  "i64.npy",
  "u8.npy",
  "bool.npy",
  "version1.npy",
  "version2.npy",
  "version3.npy",
  "fortran.npy",
  "big_f16.npy",
  "big_f32.npy",
  "big_f64.npy",
  "big_i64.npy",
  "scalar.npy",
  "empty.npy",
  "stored.npz",
  "deflated.npz",
  "long.npz",
  "nothing.npz",
  "zip64.npz",
  "wide.npz",
};

static bool same(const tp_array *a, const tp_array *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
      memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank) == 0 &&
      memcmp(a->data, b->data, tp_array_bytes(a)) == 0;
}

static void test_there_and_back(void) {
  for (size_t k = 0; k < TP_LEN(files); k++) {
    static tp_error e;
    char path[128];
    tp_arrays a, b;
    snprintf(path, sizeof path, "spec/fixtures/npy/%s", files[k]);
    if (!CHECKF(tp_arrays_load(path, &a, &e), "%s: %s", files[k], e.msg)) continue;
    bool ok = a.single ? tp_npy_save(at("b"), a.v[0].a, &e) : tp_npz_save(at("b"), a.n, a.v, &e);
    ok = ok && tp_arrays_load(at("b"), &b, &e);
    if (CHECKF(ok, "%s: %s", files[k], e.msg)) {
      CHECK(a.n == b.n && a.single == b.single);
      for (int j = 0; j < a.n; j++)
        CHECKF(same(a.v[j].a, b.v[j].a), "%s: %s", files[k], a.v[j].name);
      tp_arrays_free(&b);
    }
    tp_arrays_free(&a);
  }
}

/* ---- damage ---- */
static uint64_t state = 1;
static uint32_t dice(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

static size_t damage(uint8_t *p, size_t n) {
  for (uint32_t k = 1 + dice(4); k; k--) {
    static const uint8_t telling[] = { 0, 1, 0x7f, 0x80, 0xff, '9', ',', '\n' };
    uint32_t i = dice((uint32_t)n), j = dice((uint32_t)n), run = 1 + dice(8);
    uint8_t value = telling[dice(TP_LEN(telling))];
    switch (dice(5)) {
    case 0: p[i] ^= (uint8_t)(1u << dice(8)); break;
    case 1: p[i] = value; break;
    case 2: memset(p + i, value, TP_MIN(n - i, run)); break;
    case 3: memmove(p + i, p + j, TP_MIN(n - TP_MAX(i, j), run)); break;
    default: n -= dice(3) ? 0 : TP_MIN(n - 1, run);
    }
  }
  return n;
}

/* of stored members, so that damage gets past them: where directory and header agree */
static void repair_checksums(uint8_t *p, size_t n) {
  for (size_t k = 0; k + 46 < n; k++) {
    if (memcmp(p + k, "PK\1\2", 4) != 0 || p[k + 10] != 0) continue;
    size_t from = p[k + 42] | (size_t)p[k + 43] << 8, size = p[k + 24] | (size_t)p[k + 25] << 8;
    if (from + 30 > n) continue;
    from += 30u + p[from + 26] + p[from + 28];
    if (size > n || from > n - size) continue;
    uint32_t crc = (uint32_t)crc32_z(0, p + from, size);
    for (int j = 0; j < 4; j++) p[k + 16 + (size_t)j] = (uint8_t)(crc >> 8 * j);
  }
}

static bool refused(const tp_error *e, const char *name) {
  return e->code == TP_E_MEMORY ||
      (e->code == TP_E_FILE && strncmp(e->msg, "file: ", 6) == 0 &&
          strncmp(e->msg + 6, name, strlen(name)) == 0);
}

static bool survives(const uint8_t *p, size_t n, const char *name) {
  static tp_error e;
  tp_arrays a;
  e = (tp_error){ 0 };
  uint8_t *exact = memcpy(malloc(n), p, n);
  FILE *f = fmemopen(exact, n, "r");
  bool ok = tp_arrays_read(f, (int64_t)n, name, &a, &e), plausible = true;
  fclose(f);
  free(exact);
  if (!ok) return refused(&e, name);
  for (int k = 0; k < a.n; k++) plausible &= a.v[k].a && tp_array_bytes(a.v[k].a) <= 1032 * n;
  tp_arrays_free(&a);
  return plausible;
}

static void test_damage(int seconds) {
  time_t end = time(NULL) + seconds;
  int rounds = 200;
  do {
    for (size_t k = 0; k < TP_LEN(files); k++) {
      char path[128];
      size_t n;
      snprintf(path, sizeof path, "spec/fixtures/npy/%s", files[k]);
      uint8_t *good = slurp(path, &n), *p = malloc(n + 1);
      bool ok = good != NULL;
      for (size_t cut = 1; ok && cut < TP_MIN(n, 400); cut++) ok = survives(good, cut, files[k]);
      for (int r = 0; ok && r < rounds; r++) {
        memcpy(p, good, n);
        size_t m = damage(p, n);
        if (r % 2) repair_checksums(p, m);
        ok = survives(p, m, files[k]);
      }
      CHECKF(ok, "%s, generator at %llu", files[k], (unsigned long long)state);
      free(good);
      free(p);
    }
  } while (time(NULL) < end);
}

int main(int argc, char **argv) {
  if (!mkdtemp(folder)) return 1;
  test_replace();
  test_replace_all();
  test_fifo();
  test_disk_full();
  test_there_and_back();
  test_damage(argc > 1 ? atoi(argv[1]) : 0);
  char command[128];
  snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK(system(command) == 0);
  return check_report();
}
