/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_rest.h - whether a job is idle: a process that does not run allocates nothing on a GPU.
 * Pure.
 *
 * Driver threads inside the job wake up now and then; the job still counts as idle. Allocating
 * memory takes longer than that.
 */
#ifndef JOB_GPU_GPU_REST_H
#define JOB_GPU_GPU_REST_H

#include <stdbool.h>
#include <stdint.h>

/* The CPU time of the job at one time. */
struct gpu_rest_mark {
    uint64_t cpu_ns; /* UNKNOWN: not noted */
    uint64_t at_ns;
};

struct gpu_rest {
    struct gpu_rest_mark last, before;
};

void gpu_rest_init(struct gpu_rest *rest);

/* Notes the CPU time of the job's live processes (UNKNOWN: it has run) and returns whether the job
 * has hardly run in the last two spans: for less than 0.1 ms and a thousandth of the time. Two
 * spans, because work that began shortly before a note continues in the next span, and a reading
 * in the middle of it must be followed by another. */
bool gpu_rest_note(struct gpu_rest *rest, uint64_t cpu_ns, uint64_t now_ns);

#endif
