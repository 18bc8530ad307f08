/* scan: the words that our text forms share, written and read line by line. Rank 0.
 *
 * A scanner stands on one line. Readers give false (NULL) after filling its error: class file,
 * position what:line. Blanks before a token are skipped. */
#ifndef TP_SCAN_H
#define TP_SCAN_H
#include "base/array.h"

typedef struct tp_scan {
  const char *s; /* the rest of the line */
  const char *what;
  int line;    /* the text's name in errors ("sdg", "plan"), its line */
  tp_arena *a; /* for words and strings */
  /* for names of files, which errors hold longer than the text's objects live */
  tp_arena *files;
  tp_hmap names; /* of files, by name */
  tp_error *err;
} tp_scan;
void tp_scan_init(tp_scan *in, const char *what, tp_arena *a, tp_arena *files, tp_error *err);
/* The line at *text, copied, becomes the scanner's, and *text goes on behind it; false: there is
 * none. */
bool tp_scan_line(tp_scan *in, const char **text);
tp_pos tp_scan_pos(const tp_scan *in);
bool tp_scan_fail(tp_scan *in, const char *what); /* "file: what at 'the rest'" */

void tp_scan_space(tp_scan *in);
bool tp_scan_end(tp_scan *in);                 /* nothing more on the line */
bool tp_accept(tp_scan *in, const char *text); /* a word only as a whole word */
bool tp_expect(tp_scan *in, const char *text);
/* letters, digits, _ and bytes beyond ASCII */
const char *tp_scan_word(tp_scan *in);
const char *tp_scan_string(tp_scan *in); /* "..." with \" \\ \n */
bool tp_scan_int(tp_scan *in, int64_t *v);
bool tp_scan_small(tp_scan *in, int *v); /* 0 .. 2^24 - 1 */
bool tp_scan_double(tp_scan *in, double *v);
bool tp_scan_u64(tp_scan *in, uint64_t *v); /* 0x... as well */
/* a further number before , } : or the end */
bool tp_scan_more(tp_scan *in);
bool tp_scan_choice(tp_scan *in, const char *const *names, int n, int *out);
bool tp_scan_where(tp_scan *in, tp_pos *pos); /* "@ file:line", or nothing */
bool tp_scan_dtype(tp_scan *in, tp_dtype *d);
/* as many numbers as the shape has */
TP_GIVE tp_array *tp_scan_array(tp_scan *in, tp_dtype d, int rank, const int64_t *shape);

void tp_put_string(tp_buf *b, const char *s);
/* " @ file:line"; nothing for no file */
void tp_put_where(tp_buf *b, tp_pos pos);
/* every element after a blank, in the shortest digits that read back */
void tp_put_array(tp_buf *b, const tp_array *a);
#endif
