/* Inside src/emit: shared by the files that print a program that stands alone (export*.c). */
#ifndef TP_EMIT_EXPORT_H
#define TP_EMIT_EXPORT_H
#include "emit/priv.h"

typedef struct {
  tp_emit e;
  const tp_export *x;
  /* bytes of callbacks' arrays, of the arena; by buffer its place there */
  int64_t room, arena, *place;
  int rank, operands, nstop, npart;
} exporter;

/* export_leaf.c */
bool emit_all_go(tp_emit *e, const tp_pnode *x, tp_error *err); /* can all of it be exported? */
tp_dtype emit_operand_type(const exporter *w, const tp_region *r, int i);
/* prints a leaf that is no loop */
void emit_library_call(tp_emit *e, const tp_pnode *x);
void emit_library(exporter *w, tp_buf *b); /* prints the sections that are used */

/* export_flow.c */
void emit_runs(exporter *w, tp_buf *b);

/* export_files.c */
void emit_files(exporter *w, tp_export_text *to);
#endif
