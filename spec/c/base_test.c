/* base: errors, arenas under allocation failure, maps, text, every f16 and bf16, conversions,
 * Philox against Random123's known answers. */
#include "base/array.h"
#include "base/pool.h"
#include "check.h"
#include "os/os.h"
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

static void test_errors(void) {
  static tp_error e, f;
  tp_pos pos = { "net.lua", 12 };
  CHECK(!tp_fail(&e, TP_E_SHAPE, pos, "inner sizes %d and %d differ", 4, 5));
  CHECK(e.code == TP_E_SHAPE && strcmp(e.msg, "shape: inner sizes 4 and 5 differ") == 0);
  tp_fail(&e, TP_E_CYCLE, pos, "later");
  CHECK(e.code == TP_E_SHAPE);
  tp_note(&e, "see %s", "here");
  tp_note(&e, "and there");
  char buf[3000], tiny[8];
  CHECK(strcmp(tp_error_text(&e, buf, sizeof buf),
            "net.lua:12: shape: inner sizes 4 and 5 differ\nsee here\nand there") == 0);
  CHECK(strcmp(tp_error_text(&e, tiny, sizeof tiny), "net.lua") == 0);
  tp_fail(&f, TP_E_BOUND, (tp_pos){ 0 }, "no bound 'T'");
  CHECK(strcmp(tp_error_text(&f, buf, sizeof buf), "bound: no bound 'T'") == 0);
  memset(&f, 0, sizeof f);
  memset(buf, 'x', sizeof buf - 1), buf[sizeof buf - 1] = 0;
  tp_fail(&f, TP_E_FILE, pos, "%s", buf);
  CHECK(strlen(f.msg) == sizeof f.msg - 1 && strncmp(f.msg, "file: xxx", 9) == 0);
  for (int i = 0; i < 500; i++) tp_note(&f, "note %d", i);
  CHECK(strlen(f.notes) < sizeof f.notes);
  CHECK(!tp_fail(NULL, TP_E_FILE, pos, "nobody listens"));
}

static void test_arena(void) {
  tp_arena a;
  tp_arena_init(&a);
  for (int i = 0; i < 2000; i++) {
    size_t n = (size_t)(i * 37 % 900) + (i % 300 == 0 ? 100000 : 0);
    unsigned char *p = tp_new_bytes(&a, n);
    bool zero = true;
    for (size_t k = 0; k < n; k++) zero &= p[k] == 0;
    memset(p, 0xff, n);
    CHECK(zero && (uintptr_t)p % 16 == 0);
  }
  CHECK(strcmp(tp_printf(&a, "%s-%d", "x", 7), "x-7") == 0 &&
      strcmp(tp_strdup(&a, "abc"), "abc") == 0);
  TP_VEC(int) v = { 0 };
  for (int i = 0; i < 1000; i++) TP_PUSH(&a, &v, i * i);
  bool ok = v.n == 1000;
  for (int i = 0; i < 1000; i++) ok &= v.v[i] == i * i;
  CHECK(ok);
  tp_guard oom, inner;
  volatile int landed = 0;
  if (TP_GUARDED(&oom)) {
    if (TP_GUARDED(&inner)) {
      tp_arena scratch;
      tp_scratch_init(&scratch); /* freed on the way: the leak checker looks */
      tp_new_bytes(&scratch, 100);
      tp_new_bytes(&a, SIZE_MAX - 100);
    } else landed++;
    tp_fail_alloc(1);
    tp_new_bytes(&a, 1 << 20);
  } else landed++;
  CHECK(landed == 2 && tp_fail_alloc(0) && !tp_guard_now());
  tp_arena_free(&a);
  void *p = tp_alloc_aligned(100);
  CHECK(p && (uintptr_t)p % 64 == 0);
  tp_free_aligned(p);
}

static void test_map(void) {
  tp_arena a;
  tp_hmap m;
  tp_arena_init(&a);
  tp_hmap_init(&m, &a);
  CHECK(tp_hmap_get(&m, "x", 1) == NULL);
  static int val[5000];
  for (int64_t i = 0; i < 5000; i++) tp_hmap_set(&m, &i, sizeof i, &val[i]);
  bool ok = m.n == 5000;
  for (int64_t i = 0; i < 5000; i++) ok &= tp_hmap_get(&m, &i, sizeof i) == &val[i];
  CHECK(ok);
  tp_hmap_set(&m, "", 0, &val[1]);
  tp_hmap_set(&m, "", 0, &val[2]);
  CHECK(tp_hmap_get(&m, "", 0) == &val[2] && m.n == 5001);
  CHECK(tp_hash("tempo", 5, 0) != tp_hash("tempo", 5, 1) &&
      tp_hash("a\0", 2, 0) != tp_hash("a", 1, 0));
  CHECK(tp_hash("recurrent tensors", 17, 7) == 0x05bdba942c0f2aaau);
  tp_arena_free(&a);
}

static bool doubles_as(double x, const char *want) {
  tp_buf b;
  tp_buf_init(&b);
  tp_put_double(&b, x);
  bool ok = strcmp(b.s, want) == 0;
  tp_buf_free(&b);
  return ok;
}

static void test_text(void) {
  CHECK(doubles_as(0.1, "0.1") && doubles_as(1e30, "1e+30") && doubles_as(NAN, "nan") &&
      doubles_as(INFINITY, "inf"));
  CHECK(doubles_as(-INFINITY, "-inf") && doubles_as(-0.0, "-0") && doubles_as(100000, "100000") &&
      doubles_as(1.0 / 3, "0.3333333333333333"));
  tp_buf b;
  tp_buf_init(&b);
  for (int i = 0; i < 1000; i++) tp_putf(&b, "%d,", i);
  CHECK(b.n == 10 * 2 + 90 * 3 + 900 * 4 && !b.failed && b.s[b.n] == 0);
  tp_buf_free(&b);
  const char *names[] = { "learning_rate", "momentum", "seed", "lr" };
  CHECK(tp_nearest("momentun", names, 4) == names[1] && tp_nearest("sede", names, 4) == names[2]);
  const char *const ties[] = { "tan", "tanh", "than" };
  CHECK(tp_nearest("tahn", ties, 3) == ties[1] && tp_nearest("tahn", ties, 1) == ties[0]);
  const char *cells[] = { "LSTMCell", "GRUCell", "lstm_cells" };
  CHECK(tp_nearest("LSTM", cells, 3) == cells[0] && tp_nearest("gru", cells, 3) == cells[1] &&
      tp_nearest("cell", cells, 3) == NULL);
  CHECK(tp_nearest("zzz", names, 4) == NULL && tp_nearest("lrs", names, 4) == names[3]);
}

static bool reads_as(const char *s, double want, size_t used) {
  const char *end;
  double x = tp_read_double(s, &end);
  return (x == want || (isnan(x) && isnan(want))) && (size_t)(end - s) == used;
}

/* In every locale the same; where none with a comma is installed, only C's. */
static void test_numbers(void) {
  static const char *const commas[] = { "C", "de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8",
    "ps_AF.UTF-8" };
  for (size_t i = 0; i < TP_LEN(commas); i++) {
    if (!setlocale(LC_NUMERIC, commas[i])) continue;
    CHECK(reads_as("1.5,2", 1.5, 3) && reads_as("-2.25e-3 x", -2.25e-3, 8) &&
        reads_as("7,5", 7, 1) && reads_as("12", 12, 2) && reads_as(".5}", .5, 2));
    CHECK(reads_as("inf", INFINITY, 3) && reads_as("-nan)", NAN, 4) && reads_as("1.5.2", 1.5, 3) &&
        reads_as("3.", 3, 2) && reads_as("x", 0, 0) && reads_as("", 0, 0));
    CHECK(doubles_as(0.1, "0.1") && doubles_as(-1.5e-30, "-1.5e-30"));
    tp_buf b;
    tp_buf_init(&b);
    tp_put_float(&b, 0.1f);
    CHECK(strcmp(b.s, "0.1") == 0);
    tp_buf_free(&b);
  }
  setlocale(LC_NUMERIC, "C");
}

static float nearest_even_f16(float x) { /* by search over all finite values */
  float best = 0, gap = INFINITY;
  for (uint32_t h = 0; h < 0x7c00; h++) {
    float v = tp_f16_to_f32((uint16_t)h), d = fabsf(x - v);
    if (d < gap || (d == gap && !(h & 1))) {
      gap = d;
      best = v;
    }
  }
  return best;
}

static void test_halves(void) {
  bool same = true;
  for (uint32_t h = 0; h < 65536; h++) {
    float f = tp_f16_to_f32((uint16_t)h), g = tp_bf16_to_f32((uint16_t)h);
    same &= isnan(f) ? isnan(tp_f16_to_f32(tp_f32_to_f16(f))) : tp_f32_to_f16(f) == h;
    same &= isnan(g) ? isnan(tp_bf16_to_f32(tp_f32_to_bf16(g))) : tp_f32_to_bf16(g) == h;
  }
  CHECK(same);
  for (uint32_t h = 0; h < 0x7bff; h += 7) { /* midpoints and their neighbours */
    float mid = (tp_f16_to_f32((uint16_t)h) + tp_f16_to_f32((uint16_t)(h + 1))) / 2;
    uint16_t even = (uint16_t)(h + (h & 1));
    CHECK(tp_f32_to_f16(mid) == even && tp_f32_to_f16(-mid) == (even | 0x8000));
    CHECK(tp_f32_to_f16(nextafterf(mid, 0)) == h && tp_f32_to_f16(nextafterf(mid, 1e9f)) == h + 1);
  }
  for (int i = 0; i < 40; i++) {
    float x = ldexpf((float)(i * 7919 % 1000) / 997, i % 40 - 26);
    CHECK(tp_f16_to_f32(tp_f32_to_f16(x)) == nearest_even_f16(x));
  }
  CHECK(tp_f32_to_f16(65519.996f) == 0x7bff && tp_f32_to_f16(65520) == 0x7c00 &&
      tp_f32_to_f16(1e30f) == 0x7c00);
  CHECK(tp_f32_to_bf16(1.00390625f) == 0x3f80 && tp_f32_to_bf16(1.01171875f) == 0x3f82 &&
      tp_f32_to_bf16(3.4e38f) == 0x7f80);
}

static void test_dtypes(void) {
  tp_dtype d;
  CHECK(tp_dtype_parse("bf16", &d) && d == TP_BF16 && tp_dtype_size(d) == 2 && tp_dtype_float(d) &&
      !tp_dtype_parse("f8", &d));
  CHECK(tp_dtype_promote(TP_F16, TP_BF16) == TP_F32 && tp_dtype_promote(TP_I64, TP_F16) == TP_F16 &&
      tp_dtype_promote(TP_BOOL, TP_U8) == TP_U8);
  CHECK(tp_f64_to_i64(NAN) == 0 && tp_f64_to_i64(1e30) == INT64_MAX &&
      tp_f64_to_i64(-1e30) == INT64_MIN && tp_f64_to_i64(-2.9) == -2);
  CHECK(tp_f64_to_i64(0x1p63) == INT64_MAX && tp_f64_to_i64(-0x1p63) == INT64_MIN);
  union {
    uint8_t b[8];
    int32_t i;
    int64_t l;
    float f;
    double d;
  } u = { 0 };
  tp_put(TP_U8, &u, 0, 300), CHECK(u.b[0] == 255);
  tp_put(TP_U8, &u, 0, -3.5), CHECK(u.b[0] == 0);
  tp_puti(TP_U8, &u, 0, 300), CHECK(u.b[0] == 44);
  tp_put(TP_I32, &u, 0, 1e10), CHECK(u.i == INT32_MAX);
  tp_puti(TP_I32, &u, 0, ((int64_t)1 << 32) + 5), CHECK(u.i == 5);
  tp_put(TP_BOOL, &u, 0, 0.25), CHECK(tp_geti(TP_BOOL, &u, 0) == 1);
  for (int k = 0; k < TP_NDTYPE; k++) {
    char cell[16] __attribute__((aligned(8))) = { 0 };
    tp_put((tp_dtype)k, cell, 1, 1);
    CHECKF(tp_get((tp_dtype)k, cell, 1) == 1 && tp_geti((tp_dtype)k, cell, 1) == 1 &&
            tp_get((tp_dtype)k, cell, 0) == 0,
        "%s", tp_dtype_name((tp_dtype)k));
  }
}

static void test_philox(void) {
  static const struct {
    uint32_t ctr[4], key[2], want[4];
  } kat[] = {
    { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { { ~0u, ~0u, ~0u, ~0u }, { ~0u, ~0u }, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
        { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
  };
  for (size_t i = 0; i < TP_LEN(kat); i++) {
    uint32_t out[4];
    tp_philox4x32(kat[i].ctr, kat[i].key, out);
    CHECK(memcmp(out, kat[i].want, sizeof out) == 0);
  }
  tp_philox_key k = tp_philox_coord(tp_philox_op(1234567890123u, 42), 1, -7);
  double sum = 0, sq = 0, usum = 0;
  int n = 20000;
  bool in = true;
  for (int64_t e = 0; e < n; e++) {
    float u = tp_philox_uniform(k, e);
    double v = tp_philox_uniform64(k, e), z = tp_philox_normal(k, e);
    int64_t r = tp_philox_randint(k, e, -3, 9);
    in &= u >= 0 && u < 1 && v >= 0 && v < 1 && r >= -3 && r < 9 && isfinite(z);
    in &= v ==
        (double)(((uint64_t)tp_philox_word(k, 2 * e + 1) << 32 | tp_philox_word(k, 2 * e)) >> 11) *
            0x1p-53;
    sum += z, sq += z * z, usum += u;
  }
  CHECK(in && fabs(sum / n) < 0.03 && fabs(sq / n - 1) < 0.05 && fabs(usum / n - 0.5) < 0.02);
  CHECK(tp_philox_randint(k, 0, 5, 5) == 5);
  int64_t far = tp_philox_randint(k, 3, INT64_MIN, INT64_MAX);
  CHECK(far >= INT64_MIN && far < INT64_MAX);
  tp_philox_key other = tp_philox_coord(tp_philox_op(1234567890123u, 42), 2, -7);
  CHECK(other.k[0] != k.k[0]);
}

/* ---- what a process may have ---- */

static char root[] = "/tmp/tempo-machine-XXXXXX";

/* A file below the root, with its folders. */
static void put_file(const char *path, const char *text) {
  char name[512];
  snprintf(name, sizeof name, "%s%s", root, path);
  for (char *p = name + strlen(root) + 1; (p = strchr(p, '/')); p++) {
    *p = 0;
    mkdir(name, 0700);
    *p = '/';
  }
  FILE *f = fopen(name, "w");
  CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void test_groups(void) {
  CHECK(mkdtemp(root) && tp_os_group_memory(root) == INT64_MAX);
  put_file("/proc/self/cgroup", "12:pids:/a/b\n4:cpu,memory:/a/b\n1:name=systemd:/x\n0::/c/d\n");
  CHECK(tp_os_group_memory(root) == INT64_MAX);
  put_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put_file("/sys/fs/cgroup/pids/a/memory.limit_in_bytes", "5\n");
  CHECK(tp_os_group_memory(root) == 9223372036854771712);
  put_file("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "8000000\n");
  CHECK(tp_os_group_memory(root) == 8000000);
  /* a group around it has less */
  put_file("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "7000000\n");
  CHECK(tp_os_group_memory(root) == 7000000);
  put_file("/sys/fs/cgroup/c/d/memory.max", "max\n");
  CHECK(tp_os_group_memory(root) == 7000000);
  put_file("/sys/fs/cgroup/c/memory.max", "6000000\n");
  CHECK(tp_os_group_memory(root) == 6000000);
  /* a container that sees its own group as the root */
  put_file("/sys/fs/cgroup/memory.max", "5000000\n");
  CHECK(tp_os_group_memory(root) == 5000000);
  put_file("/sys/fs/cgroup/unified/c/d/memory.max", "4000000\n");
  CHECK(tp_os_group_memory(root) == 4000000);
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", root);
  CHECK(system(command) == 0);
}

static void test_machine(void) {
  struct rlimit was, less;
  tp_allowance a = tp_machine_memory(0);
  CHECK(a.bytes > 1 << 20 && a.bytes <= (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
  long long v[6] = { 0 };
  FILE *f = fopen("/proc/self/statm", "r");
  if (!f || getrlimit(RLIMIT_DATA, &was)) return;
  CHECK(fscanf(f, "%lld %lld %lld %lld %lld %lld", v, v + 1, v + 2, v + 3, v + 4, v + 5) == 6 &&
      fclose(f) == 0);
  less = was;
  less.rlim_cur = (rlim_t)(v[5] * sysconf(_SC_PAGESIZE)) + (8 << 20);
  CHECK(setrlimit(RLIMIT_DATA, &less) == 0);
  a = tp_machine_memory(0);
  CHECKF(a.bytes > 7 << 20 && a.bytes <= 8 << 20 && strstr(a.whose, "RLIMIT_DATA"), "%lld %s",
      (long long)a.bytes, a.whose);
  int64_t held = TP_MIN(v[5] * sysconf(_SC_PAGESIZE), 4 << 20), less_held = a.bytes;
  a = tp_machine_memory(held); /* a sanitizer may take some in between */
  CHECKF(a.bytes > less_held + held / 2, "%lld %lld", (long long)a.bytes, (long long)less_held);
  CHECK(setrlimit(RLIMIT_DATA, &was) == 0);
}

/* Freed blocks wait for the next of their size, the latest first; there is a limit of bytes and of
 * blocks, beyond which the oldest goes. */
static void test_blocks(void) {
#if !defined(__SANITIZE_ADDRESS__)
  enum { SIZE = 1 << 20, SMALL = 1 << 10, MANY = 40 };
  void *many[MANY], *a = tp_block_alloc(SIZE), *b = tp_block_alloc(SIZE);
  tp_blocks_drop();
  tp_block_free(a, SIZE);
  tp_block_free(b, SIZE);
  CHECK(tp_block_alloc(SIZE) == b && tp_block_alloc(SIZE) == a);
  tp_block_free(a, SIZE);
  void *c = tp_block_alloc(SIZE + 64);
  CHECK(c && c != a && ((uintptr_t)c & 63) == 0);
  tp_block_free(c, SIZE + 64);
  CHECK(tp_block_alloc(SIZE) == a);
  CHECK(tp_blocks_drop() && !tp_blocks_drop());
  tp_block_free(tp_block_alloc(SMALL), SMALL);
  tp_block_free(tp_block_alloc(TP_TUNE_BLOCKS_WAIT + 64), TP_TUNE_BLOCKS_WAIT + 64);
  CHECK(!tp_blocks_drop());
  for (int i = 0; i < MANY; i++) many[i] = tp_block_alloc(SIZE);
  for (int i = 0; i < MANY; i++) tp_block_free(many[i], SIZE);
  for (int i = MANY - 1; i >= MANY - 16; i--) CHECK(tp_block_alloc(SIZE) == many[i]);
  CHECK(!tp_blocks_drop());
  for (int i = MANY - 1; i >= MANY - 16; i--) tp_free_aligned(many[i]);
  tp_block_free(a, SIZE);
  /* room for nothing else */
  tp_block_free(tp_block_alloc(TP_TUNE_BLOCKS_WAIT), TP_TUNE_BLOCKS_WAIT);
  void *d = tp_block_alloc(TP_TUNE_BLOCKS_WAIT);
  CHECK(d && !tp_blocks_drop());
  tp_free_aligned(d);
  tp_free_aligned(b);
  tp_fail_alloc(1);
  CHECK(!tp_block_alloc(SIZE) && tp_fail_alloc(0));
#endif
}

/* ---- crews ---- */

enum { CREW = 3, JOBS = 500 };
static tp_crew *crew;
typedef struct {
  int done[CREW], met;
} shares;

static void do_share(void *ud, int who) { ((shares *)ud)->done[who]++; }

/* All have done a part when the first goes on. */
static void do_and_meet(void *ud, int who) {
  shares *s = ud;
  __atomic_add_fetch(&s->done[who], 1, __ATOMIC_SEQ_CST);
  if (!tp_crew_meet(crew)) return;
  int all = 0;
  for (int i = 0; i < CREW; i++) all += __atomic_load_n(&s->done[i], __ATOMIC_SEQ_CST);
  if (!who) s->met += all >= s->done[0] * CREW;
  tp_crew_meet(crew);
}

static bool each_did(const shares *s, int n) {
  bool ok = true;
  for (int i = 0; i < CREW; i++) ok &= s->done[i] == n;
  return ok;
}

/* The child of a fork has the crew without its threads, as where none of them gets a processor. */
static bool alone_in_child(void) {
  pid_t child = fork();
  int status = 1;
  if (!child) {
    shares s = { 0 };
    alarm(20);
    bool ok = tp_crew_run(crew, do_share, &s, 0) && each_did(&s, 1);
    ok = ok && !tp_crew_run(crew, do_and_meet, &s, 1e-3) && each_did(&s, 1) && !s.met;
    _exit(!ok);
  }
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void test_crew(void) {
  shares s = { 0 }, m = { 0 };
  crew = tp_crew_take(CREW);
  CHECK(crew != NULL);
  for (int i = 0; crew && i < JOBS; i++)
    CHECK(tp_crew_run(crew, do_share, &s, 0) && each_did(&s, i + 1));
  for (int i = 0; crew && i < JOBS; i++)
    CHECK(tp_crew_run(crew, do_and_meet, &m, HUGE_VAL) && each_did(&m, i + 1));
  CHECK(m.met == JOBS);
  usleep(20000); /* they sleep */
  CHECK(crew && alone_in_child());
  CHECK(!tp_crew_give(crew));
}

/* Rows lie where they are, but for one that is not aligned to its dtype. */
static void test_rows(void) {
  _Alignas(8) char room[40];
  float v[2] = { 1, 2 };
  memcpy(room + 1, v, sizeof v), memcpy(room + 16, v, sizeof v), memcpy(room + 28, v, sizeof v);
  tp_array *row[4];
  const int at[4] = { 16, 1, 28, 16 };
  for (int i = 0; i < 4; i++) row[i] = tp_array_wrap(TP_F32, 1, (int64_t[]){ 2 }, room + at[i]);
  tp_array *a = tp_array_rows(4, row), *b = tp_array_dense(a), *c = tp_array_dense(b);
  CHECK(a->rank == 2 && a->shape[0] == 4 && a->shape[1] == 2 && a->count == 8);
  CHECK(a->data == room + 16 && a->place[2] == 3 && a->place[3] == 0 && c == b && !b->row);
  for (int i = 0; i < 4; i++)
    CHECK(!memcmp((float *)a->data + a->place[i], v, sizeof v) &&
        !memcmp((float *)b->data + 2 * i, v, sizeof v));
  tp_array_unref(a), tp_array_unref(b), tp_array_unref(c);
  for (int i = 0; i < 4; i++) CHECK(row[i]->refs == 1), tp_array_unref(row[i]);
}

int main(void) {
  test_rows();
  test_crew();
  test_blocks();
  test_groups();
  test_machine();
  test_errors();
  test_arena();
  test_map();
  test_text();
  test_numbers();
  test_halves();
  test_dtypes();
  test_philox();
  setenv("TEMPO_TEST_SETTING", "", 1);
  CHECK(tp_setting("TEMPO_TEST_SETTING") == NULL);
  return check_report();
}
