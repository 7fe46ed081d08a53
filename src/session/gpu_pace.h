/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_pace.h - when to look at the GPUs. Pure: times in, times out.
 *
 * Quick looks come every 5 ms while a process of the job uses a GPU, every 20 ms otherwise; slow
 * ones about every second. The gaps grow with what looks cost, so that both kinds together take
 * half a percent of a core, and a tenth while the job uses no GPU.
 */
#ifndef SESSION_GPU_PACE_H
#define SESSION_GPU_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_pace {
    uint64_t poll_due_ns, read_due_ns;
    uint64_t poll_cost_ns, read_cost_ns; /* CPU time, smoothed; 0: not known yet */
    uint64_t read_gap_ns;
};

/* After the first slow look, which costs more than those to come. */
void gpu_pace_init(struct gpu_pace *pace, uint64_t now_ns);

/* When to wake up next, and whether a slow look is due then. */
uint64_t gpu_pace_wake_ns(const struct gpu_pace *pace);
bool gpu_pace_read_is_due(const struct gpu_pace *pace, uint64_t now_ns);

/* After a look: what it cost. A slow look is a quick one too. */
void gpu_pace_polled(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                     bool holds_context);
void gpu_pace_has_read(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                       bool holds_context);

#endif
