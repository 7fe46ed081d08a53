/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_sum.h - totals over the job's GPUs, from the values of each. Pure. */
#ifndef JOB_GPU_GPU_SUM_H
#define JOB_GPU_GPU_SUM_H

#include "job/gpu/gpu_tally.h"

/* All totals except the memory of processes. */
void gpu_sum_up(struct gpu_tally *tally, uint64_t now_ns);

#endif
