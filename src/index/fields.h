/* fields: structs whose fields and text are rows of a .def file.
 *   A(kind, type, field, dimension)   one value; 0 is not printed
 *   W(type, field)                    a word of field_words
 *   L(kind, type, field)              nfield values in an array
 * TP_ROW_A, TP_ROW_W and TP_ROW_L make a table of tp_field, where TP_OWNER is the struct. */
#ifndef TP_FIELDS_H
#define TP_FIELDS_H
#include "index/index.h"
#include <stddef.h>

#define TP_FIELD_A(kind, type, field, dimension) type field dimension;
#define TP_FIELD_W(type, field)                  type field;
#define TP_FIELD_L(kind, type, field) \
  int n##field; \
  type const *field;
#define TP_ROW_A(kind, type, field, dimension) \
  { #field, TP_F_##kind, offsetof(TP_OWNER, field), sizeof(type dimension), 0, NULL, 0 },
#define TP_ROW_W(type, field) \
  { #field, TP_F_WORD, offsetof(TP_OWNER, field), sizeof(type), 0, field##_words, \
    TP_LEN(field##_words) },
#define TP_ROW_L(kind, type, field) \
  { #field, TP_F_##kind, offsetof(TP_OWNER, field), sizeof(type), offsetof(TP_OWNER, n##field), \
    NULL, 0 },

/* Kinds from DOMAIN on have no text. */
typedef enum {
  TP_F_STRING,
  TP_F_INT,
  TP_F_BOOL,
  TP_F_FLOATS,
  TP_F_INTEGERS,
  TP_F_BITS,
  TP_F_WORD,
  TP_F_INTS,
  TP_F_EXTENTS,
  TP_F_INDICES,
  TP_F_DIMS,
  TP_F_DOMAIN,
  TP_F_DTYPE,
  TP_F_SPECS,
  TP_F_ARRAY
} tp_fieldkind;
/* count: the offset of a list's number of values; 0: it is no list. */
typedef struct tp_field {
  const char *key;
  tp_fieldkind kind;
  size_t at, size, count;
  const char *const *words;
  int nwords;
} tp_field;
typedef struct tp_fields {
  const tp_field *v;
  int n;
} tp_fields;

/* Prints an item of a list in braces, of which *count are written; reads one item by its key. */
tp_buf *tp_put_item(tp_buf *b, int *count, const char *key); /* "{key" or ", key" */
void tp_put_fields(tp_buf *b, tp_fields f, const void *x, int *count);
bool tp_scan_field(tp_scan *in, tp_ictx *c, tp_fields f, void *x, const char *key, bool *known);
/* EXTENTS: tp_ix *, INDICES: tp_at, DIMS: tp_sym * */
void tp_put_list(tp_buf *b, tp_fieldkind kind, int n, const void *v);
/* v: the address of a pointer to these */
bool tp_scan_list(tp_scan *in, tp_ictx *c, tp_fieldkind kind, int *n, void *v);
bool tp_scan_ix(tp_scan *in, tp_ictx *c, tp_ix **e);
#endif
