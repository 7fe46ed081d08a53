/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_sum.h - what is said of the job's GPUs together, out of what is said of each. Pure. */
#ifndef JOB_GPU_GPU_SUM_H
#define JOB_GPU_GPU_SUM_H

#include "job/gpu/gpu_tally.h"

/* All totals but the memory of processes. */
void gpu_sum_up(struct gpu_tally *tally, uint64_t now_ns);

#endif
