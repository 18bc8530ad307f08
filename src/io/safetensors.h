/* safetensors: reads and writes safetensors. */
#ifndef TP_SAFETENSORS_H
#define TP_SAFETENSORS_H
#include "io/save.h"
#include "io/weights.h"
bool tp_safetensors_read(tp_weights *w, const tp_mapped *f, bool meta, tp_error *err);
/* sorts v; metadata are texts */
bool tp_safetensors_save(
    const char *path, int n, tp_saved *v, int nmeta, const tp_meta *meta, tp_error *err);
#endif
