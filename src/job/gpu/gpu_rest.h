/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_rest.h - whether a job rests: who does not run allocates nothing on a GPU. Pure.
 *
 * A driver's own threads in the job wake up now and then; that counts as rest. To allocate takes
 * longer.
 */
#ifndef JOB_GPU_GPU_REST_H
#define JOB_GPU_GPU_REST_H

#include <stdbool.h>
#include <stdint.h>

/* CPU time of the job when it was last noted, and the time before; UNKNOWN where it was not. */
struct gpu_rest {
    uint64_t last_ns, before_ns;
};

void gpu_rest_init(struct gpu_rest *rest);

/* Notes the CPU time of the job's living processes (UNKNOWN: it has run) and returns whether it
 * has hardly run over the last two spans: what began shortly before one was noted goes on in the
 * next, and a look that came in the middle of it is followed by another one. */
bool gpu_rest_note(struct gpu_rest *rest, uint64_t cpu_ns);

#endif
