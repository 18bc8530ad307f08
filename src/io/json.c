/* json: cJSON behind checks of our own. cJSON takes control characters and zero bytes for space,
 * cuts a string at an escaped zero byte, goes as deep as its build says and keeps keys that occur
 * twice; so one look over the text comes first, and one over the tree behind. */
#include "io/json.h"
#include "os/os.h"
#include <math.h>

#if defined(__has_include)
#if __has_include(<cjson/cJSON.h>)
#include <cjson/cJSON.h>
#define HAS_CJSON 1
#endif
#endif

static bool json_fail(tp_error *err, const char *label, const char *why, size_t at) {
  return tp_fail(err, TP_E_FILE, TP_NOWHERE, "file: %s: %s at byte %zu", label, why, at);
}

/* Looks for what cJSON does not refuse; NULL: nothing, else the mistake, which is at *at. */
static const char *look_over(const char *s, size_t n, size_t *at) {
  bool inside = false;
  int depth = 0;
  for (size_t k = 0; k < n; k++) {
    unsigned char c = (unsigned char)s[k];
    *at = k;
    if (c < 32 && (inside || (c != '\t' && c != '\n' && c != '\r')))
      return "a control character stands";
    if (inside && c == '\\') {
      if (n - k > 5 && !memcmp(s + k, "\\u0000", 6)) return "a string has a zero byte, escaped,";
      k++;
    } else if (c == '"') inside = !inside;
    else if (!inside && (c == '[' || c == '{') && ++depth > TP_JSON_DEPTH)
      return "it is nested too deep (more than 200 levels)";
    else if (!inside && (c == ']' || c == '}')) depth--;
  }
  return NULL;
}

#ifdef HAS_CJSON
static struct {
  cJSON *(*parse)(const char *, size_t, const char **, cJSON_bool);
  void (*drop)(cJSON *);
} cjson;

static void open_cjson(void) {
  static const char *const names[] = { "libcjson.so.1", "libcjson.so", "libcjson.1.dylib",
    "libcjson.dll" };
  void *lib = NULL, *parse, *drop;
  for (size_t i = 0; i < TP_LEN(names) && !lib; i++) lib = tp_os_open(names[i]);
  if (!lib) return;
  parse = tp_os_symbol(lib, "cJSON_ParseWithLengthOpts");
  drop = tp_os_symbol(lib, "cJSON_Delete");
  memcpy(&cjson.drop, &drop, sizeof drop);
  if (drop) memcpy(&cjson.parse, &parse, sizeof parse);
}

static bool same_key(const tp_json *a, const char *key) {
  return a->string && !strcmp(a->string, key);
}

/* The item of an object whose key is that of an earlier one; NULL: there is none. */
static const tp_json *key_again(const tp_json *object, tp_arena *a) {
  int n = 0;
  tp_hmap seen;
  tp_hmap_init(&seen, a);
  for (const tp_json *j = object->child; j; j = j->next, n++) {
    if (n < 8) {
      for (const tp_json *k = object->child; k != j; k = k->next)
        if (same_key(k, j->string)) return j;
    } else if (tp_hmap_get(&seen, j->string, strlen(j->string))) return j;
    tp_hmap_set(&seen, j->string, strlen(j->string), j);
  }
  return NULL;
}

static const tp_json *find_again(const tp_json *j, tp_arena *a) {
  const tp_json *found = tp_json_is(j) == TP_JSON_OBJECT ? key_again(j, a) : NULL;
  for (const tp_json *k = j->child; k && !found; k = k->next)
    if (k->child) found = find_again(k, a);
  return found;
}

static void drop_json(void *j) { tp_json_free(j); }

static tp_json *check_keys(tp_json *j, const char *label, tp_error *err) {
  tp_arena a;
  tp_hold h;
  tp_hold_set(&h, drop_json, j);
  tp_scratch_init(&a);
  const tp_json *again = find_again(j, &a);
  tp_arena_free(&a);
  tp_hold_end(&h);
  if (!again) return j;
  tp_fail(err, TP_E_FILE, TP_NOWHERE, "file: %s: an object has the key '%.100s' twice", label,
      again->string);
  return tp_json_free(j);
}

tp_json *tp_json_parse(const char *label, const char *text, size_t n, tp_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  size_t at = 0;
  const char *why = look_over(text, n, &at), *end = text;
  if (why) return json_fail(err, label, why, at), NULL;
  pthread_once(&once, open_cjson);
  if (!cjson.parse) {
    tp_fail(err, TP_E_FILE, TP_NOWHERE,
        "file: %s: reading JSON needs libcjson.so.1 (Debian: apt-get install libcjson1)", label);
    return NULL;
  }
  tp_json *j = cjson.parse(text, n + 1, &end, 1); /* up to the 0 */
  if (!j) return json_fail(err, label, "it is no JSON", (size_t)(end - text)), NULL;
  return check_keys(j, label, err);
}

tp_json *tp_json_free(tp_json *j) {
  if (j) cjson.drop(j);
  return NULL;
}

tp_json_kind tp_json_is(const tp_json *j) {
  switch (j ? j->type & 0xff : cJSON_NULL) {
  case cJSON_False: return TP_JSON_FALSE;
  case cJSON_True: return TP_JSON_TRUE;
  case cJSON_Number: return TP_JSON_NUMBER;
  case cJSON_String: return TP_JSON_TEXT;
  case cJSON_Array: return TP_JSON_LIST;
  case cJSON_Object: return TP_JSON_OBJECT;
  default: return TP_JSON_NULL;
  }
}

const tp_json *tp_json_first(const tp_json *j) { return j ? j->child : NULL; }
const tp_json *tp_json_next(const tp_json *j) { return j ? j->next : NULL; }
const char *tp_json_key(const tp_json *j) { return j ? j->string : NULL; }

const tp_json *tp_json_get(const tp_json *object, const char *key) {
  const tp_json *j = tp_json_is(object) == TP_JSON_OBJECT ? object->child : NULL;
  while (j && !same_key(j, key)) j = j->next;
  return j;
}

const char *tp_json_text(const tp_json *j) {
  return tp_json_is(j) == TP_JSON_TEXT ? j->valuestring : NULL;
}
double tp_json_number(const tp_json *j) {
  return tp_json_is(j) == TP_JSON_NUMBER ? j->valuedouble : NAN;
}
#else
tp_json *tp_json_parse(const char *label, const char *text, size_t n, tp_error *err) {
  size_t at = 0;
  const char *why = look_over(text, n, &at);
  if (why) return json_fail(err, label, why, at), NULL;
  tp_fail(err, TP_E_FILE, TP_NOWHERE,
      "file: %s: tempo was built without cJSON (Debian: apt-get install libcjson-dev, then build)",
      label);
  return NULL;
}
tp_json *tp_json_free(tp_json *j) { return NULL; }
tp_json_kind tp_json_is(const tp_json *j) { return TP_JSON_NULL; }
const tp_json *tp_json_first(const tp_json *j) { return NULL; }
const tp_json *tp_json_next(const tp_json *j) { return NULL; }
const char *tp_json_key(const tp_json *j) { return NULL; }
const tp_json *tp_json_get(const tp_json *object, const char *key) { return NULL; }
const char *tp_json_text(const tp_json *j) { return NULL; }
double tp_json_number(const tp_json *j) { return NAN; }
#endif

bool tp_json_integer(const tp_json *j, int64_t *out) {
  double v = tp_json_number(j);
  if (!(fabs(v) < 9007199254740992.0) || v != floor(v)) return false;
  *out = (int64_t)v;
  return true;
}

void tp_json_put(tp_buf *b, const char *s, size_t n) {
  tp_puts(b, "\"");
  for (size_t k = 0; k < n; k++) {
    unsigned char c = (unsigned char)s[k];
    if (c < 32) tp_putf(b, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\u%04x", c);
    else if (c == '"' || c == '\\') tp_putn(b, (char[]){ '\\', (char)c }, 2);
    else tp_putn(b, s + k, 1);
  }
  tp_puts(b, "\"");
}
