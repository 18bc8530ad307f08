/* interp: the target that runs a plan region by region. Rank 9. LOOPs go over tiles that stay in
 * the cache, by the inner loops of kernels/cpu (ew.h); other operators are cpu's. */
#ifndef TP_INTERP_H
#define TP_INTERP_H
#include "run/run.h"

extern const tp_target tp_interp;
#endif
