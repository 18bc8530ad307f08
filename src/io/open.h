/* open: files of weights: safetensors (one file, or several and their index), GGUF, .npz, .npy. */
#ifndef TP_OPEN_H
#define TP_OPEN_H
#include "io/weights.h"

/* A file, an index of safetensors, or a folder. Reads what describes the arrays and touches no
 * element. Needs a guard. */
bool tp_weights_open(tp_weights *w, const char *path, tp_error *err);
#endif
