/* save: files of weights that are written whole: a head, then each array in its format. */
#ifndef TP_SAVE_H
#define TP_SAVE_H
#include "io/io.h"
#include "io/stored.h"

/* An array to be written as `as`: cast or put into blocks on the way. `a` holds the elements, or,
 * `packed`, bytes of blocks whose rows' last axis they are. */
typedef struct tp_saved {
  const char *name;
  const tp_array *a;
  const tp_stored *as;
  bool packed;
  int rank;
  int64_t shape[TP_MAXRANK], bytes; /* as a reader will find them */
} tp_saved;
/* Sets rank, shape and bytes. as NULL: as a's dtype. */
bool tp_saved_set(
    tp_saved *v, const char *name, const tp_array *a, const tp_stored *as, tp_error *err);

typedef struct {
  tp_buf head;
  int n;
  const tp_saved *v;
  int64_t align; /* zeros go before each array up to a multiple of it */
} tp_saving;
tp_writer tp_saving_write; /* ud: a tp_saving */
#endif
