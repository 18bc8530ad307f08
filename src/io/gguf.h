/* gguf: reads and writes GGUF. */
#ifndef TP_GGUF_H
#define TP_GGUF_H
#include "io/save.h"
#include "io/weights.h"
/* meta: keeps its metadata too */
bool tp_gguf_read(tp_weights *w, const tp_mapped *f, bool meta, tp_error *err);
/* sorts v */
bool tp_gguf_save(
    const char *path, int n, tp_saved *v, int nmeta, const tp_meta *meta, tp_error *err);
#endif
