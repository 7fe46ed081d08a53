/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_share.h - the share of time that something was busy, from counters that are updated late
 * and in batches. Pure.
 *
 * There are two counters: the busy time, and the time that it covers (gpu.h). Whenever the
 * second one has increased, the increase of the first divided by that of the second is the
 * share of a window. It is applied to all of the time since the previous window, so gaps in the
 * driver's samples are filled with the share that follows them, and the busy time adds up over
 * the whole run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GPU_SHARE_WHOLE 1000000ull /* shares are millionths */

struct gpu_share {
    uint64_t busy_ns, covered_ns; /* the counters at the last window */
    uint64_t until_ns;            /* when that window ended */
    uint64_t total_ns;            /* busy time from the start until then */
    uint64_t last;                /* share of the last window; UNKNOWN: there was none */
    uint64_t max;                 /* the largest share of a window; or UNKNOWN */
    bool was_idle;                /* the last windows came from gpu_share_idle() */
};

/* Returns this share of a span of time. */
uint64_t gpu_share_ns(uint64_t span_ns, uint64_t share);

/* Starts with both counters at 0; `start_ns` is the start of the run. */
void gpu_share_begin(struct gpu_share *share, uint64_t start_ns);

/* Takes the counters at `now_ns`. If `covered_ns` is UNKNOWN, the counters cover all of the
 * time since the start. Returns whether this completed a window. */
bool gpu_share_advance(struct gpu_share *share, uint64_t busy_ns, uint64_t covered_ns,
                       uint64_t now_ns);

/* Records that nothing was busy until `now_ns`; called if another source shows this. */
void gpu_share_idle(struct gpu_share *share, uint64_t now_ns);

/* Returns the busy time until `now_ns`. The last window is extrapolated by at most one second.
 * If a driver was slow, the last window may end after `now_ns`: its part after `now_ns` is left
 * out. UNKNOWN: there was no window. */
uint64_t gpu_share_total_ns(const struct gpu_share *share, uint64_t now_ns);

/* Returns the mean share from `start_ns` to the end of the last window; UNKNOWN: there was
 * none. */
uint64_t gpu_share_mean(const struct gpu_share *share, uint64_t start_ns);
