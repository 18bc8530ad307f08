/* The whole of our C unit-test library: CHECK counts, check_report prints "N passed, N failed" last
 * and gives main's result. */
#ifndef TP_CHECK_H
#define TP_CHECK_H
#include <stdio.h>
#include <stdlib.h>

/* `make test`; `make test-long` tries more of what a test draws or counts through. */
#define CHECK_SHORT (getenv("TEST_SHORT") != NULL)

static int check_passed, check_failed;

#define CHECK(x) check_((x), #x, __FILE__, __LINE__)
/* The same with what was being looked at: CHECKF(ok, "seed %d", seed). Gives x. */
#define CHECKF(x, ...) \
  (check_((x), #x, __FILE__, __LINE__) || \
      (fprintf(stderr, "  " __VA_ARGS__), fputc('\n', stderr), 0))

static inline int check_(int ok, const char *what, const char *file, int line) {
  ok ? check_passed++ : check_failed++;
  if (!ok) fprintf(stderr, "%s:%d: %s\n", file, line, what);
  return ok;
}

static inline int check_report(void) {
  printf("%d passed, %d failed\n", check_passed, check_failed);
  return check_failed != 0;
}
#endif
