#include "kern/kern.h"

const char tp_prelude[] =
#include "prelude.inc"
    ;

const char tp_prelude_gpu[] =
#include "gpu.inc"
    ;

const char tp_prelude_export[] =
#include "export.inc"
    ;

const char tp_prelude_agent[] =
#include "agent.inc"
    ;
