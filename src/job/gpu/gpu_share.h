/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_share.h - for what share of the time something was busy, out of counters that come late
 * and in lumps. Pure.
 *
 * Two counters grow together: the busy time, and the time that it speaks of (gpu.h). Where the
 * second one grew, the growth of the first by the growth of the second is the share of that
 * window, and it is taken for all of the time since the window before. So holes in the
 * driver's samples are filled with what came after them, and the busy time adds up over the
 * whole run.
 */
#ifndef JOB_GPU_GPU_SHARE_H
#define JOB_GPU_GPU_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#define GPU_SHARE_WHOLE 1000000ull /* shares are millionths */

struct gpu_share {
    uint64_t busy_ns, covered_ns; /* the counters at the last window */
    uint64_t until_ns;            /* when that ended */
    uint64_t total_ns;            /* busy time from the beginning up to then */
    uint64_t last;                /* share of the last window; UNKNOWN: there was none */
    uint64_t max;                 /* the largest share of a window; UNKNOWN */
    bool was_idle;                /* the last windows were not of the counters */
};

/* Both counters stand at 0; `start_ns` is when the run began. */
void gpu_share_begin(struct gpu_share *share, uint64_t start_ns);

/* The counters at `now_ns`. `covered_ns` UNKNOWN: all of the time since the start. Returns
 * whether it was a window. */
bool gpu_share_advance(struct gpu_share *share, uint64_t busy_ns, uint64_t covered_ns,
                       uint64_t now_ns);

/* It is known otherwise that nothing was busy up to now. */
void gpu_share_idle(struct gpu_share *share, uint64_t now_ns);

/* The busy time up to `now_ns`, the last window going on; for some seconds, after which it
 * stands still. UNKNOWN: there was no window. */
uint64_t gpu_share_total_ns(const struct gpu_share *share, uint64_t now_ns);

/* Mean share from `start_ns` to the end of the last window; UNKNOWN: there was none. */
uint64_t gpu_share_mean(const struct gpu_share *share, uint64_t start_ns);

#endif
