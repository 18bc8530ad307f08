/* json: texts in JSON, read by cJSON, which is opened at run time. A parsed text is a tree of items
 * that tp_json_free frees. Limits: 200 levels; no key twice in an object; no zero byte in a string.
 * Strings are UTF-8 as they came. */
#ifndef TP_JSON_H
#define TP_JSON_H
#include "base/base.h"

typedef struct cJSON tp_json;
typedef enum {
  TP_JSON_NULL,
  TP_JSON_FALSE,
  TP_JSON_TRUE,
  TP_JSON_NUMBER,
  TP_JSON_TEXT,
  TP_JSON_LIST,
  TP_JSON_OBJECT
} tp_json_kind;
enum { TP_JSON_DEPTH = 200 };

/* n bytes with a 0 behind them. label: what messages call the text, a path for one. Class file,
 * with the offset of the mistake. Needs a guard. */
TP_GIVE tp_json *tp_json_parse(const char *label, const char *text, size_t n, tp_error *err);
tp_json *tp_json_free(TP_TAKE tp_json *j); /* NULL-safe, gives NULL */

/* All of them take NULL, an absent item, which is of kind NULL. */
tp_json_kind tp_json_is(const tp_json *j);
const tp_json *tp_json_first(const tp_json *j); /* of a list or an object; NULL: it is empty */
const tp_json *tp_json_next(const tp_json *j);
const char *tp_json_key(const tp_json *j); /* of an object's item; NULL: it has none */
const tp_json *tp_json_get(const tp_json *object, const char *key);
const char *tp_json_text(const tp_json *j); /* NULL: it is no string */
double tp_json_number(const tp_json *j);    /* NaN: it is no number */
/* A whole number below 2^53, which doubles hold exactly. */
bool tp_json_integer(const tp_json *j, int64_t *out);

/* Writes a string with its quotes. */
void tp_json_put(tp_buf *b, const char *s, size_t n);
#endif
