#include "kern/kern.h"

const char tp_prelude[] =
#include "prelude.inc"
;
