/* Inside src/cpu. */
#ifndef TP_CPU_PRIV_H
#define TP_CPU_PRIV_H
#include "cpu/cpu.h"

void tp_index_select_new(tp_exec *x, tp_dreg *r);
bool tp_bind_index_select(tp_exec *x, tp_dreg *r);
typedef bool tp_oprun(tp_exec *x, tp_dreg *r);
bool tp_conv_alike(const tp_dreg *whole, const tp_dreg *part); /* conv.c: as tp_op_alike */
tp_oprun tp_run_fold, tp_run_conv, tp_run_rand, tp_run_index_select, tp_run_index_add,
    tp_run_gather, tp_run_put, tp_run_scatter_add, tp_run_sort, tp_run_scan, tp_run_arg,
    tp_run_matmul, tp_run_matmul_at;
/* each in 0 .. n, or the region fails */
bool tp_check_indices(tp_exec *x, tp_dreg *r, const tp_view *k, int64_t n);
#endif
