/* The processor as a machine for plans: workspace.c. */
#ifndef TP_CPU_MACHINE_H
#define TP_CPU_MACHINE_H
#include "plan/machine.h"
extern const tp_machine tp_cpu_machine;
#endif
