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

/* What was noted of the job at one time. */
struct gpu_rest_mark {
    uint64_t cpu_ns; /* UNKNOWN: nothing */
    uint64_t at_ns;
};

struct gpu_rest {
    struct gpu_rest_mark last, before;
};

void gpu_rest_init(struct gpu_rest *rest);

/* Notes the CPU time of the job's living processes (UNKNOWN: it has run) and returns whether it
 * has hardly run over the last two spans: what began shortly before one was noted goes on in the
 * next, and a look that came in the middle of it is followed by another one. Hardly: for less
 * than 0.1 ms and a thousandth of the time. */
bool gpu_rest_note(struct gpu_rest *rest, uint64_t cpu_ns, uint64_t now_ns);

#endif
