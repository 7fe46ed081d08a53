/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_pace.h - when to look at the GPUs. Pure: times in, times out.
 *
 * Quick looks come every 5 ms while a process of the job uses a GPU, every 100 ms otherwise, and
 * slow ones about every second, or ten while it is quiet. The gaps grow with what looks cost, so
 * that both kinds together take half a percent of a core, and a tenth while the job uses no GPU;
 * what quick looks did not use they may take at once later. What the start has cost, and the end
 * will, is paid back out of the same half percent over the first seconds, as far as looks every
 * 27 ms leave room: memory that is held for 30 ms is to be seen. A job that rests is left alone
 * until it runs, where that can be waited for; else, whether it has run costs little to see, and
 * is looked at every 25 ms, or 100.
 */
#ifndef SESSION_GPU_PACE_H
#define SESSION_GPU_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct gpu_pace {
    uint64_t poll_due_ns, read_due_ns;
    bool is_gated;                       /* no quick looks for now */
    uint64_t poll_cost_ns, read_cost_ns; /* CPU time, smoothed; 0: not known yet */
    uint64_t read_gap_ns;
    uint64_t debt_ns;        /* CPU time of start and end that is not paid back yet */
    uint64_t saved_ns;       /* CPU time that quick looks did not use */
    uint64_t saved_until_ns; /* up to when both were counted */
};

/* What the job does. */
struct gpu_activity {
    bool holds_context; /* a process of the job uses a GPU */
    bool is_quiet;      /* it has hardly run since the last slow look, and no GPU was busy */
};

/* After the first slow look. `start_cost_ns`: CPU time of all up to here. */
void gpu_pace_init(struct gpu_pace *pace, uint64_t now_ns, uint64_t start_cost_ns);

/* When to wake up next, and which look is due then, if any. */
uint64_t gpu_pace_wake_ns(const struct gpu_pace *pace);
bool gpu_pace_read_is_due(const struct gpu_pace *pace, uint64_t now_ns);
bool gpu_pace_poll_is_due(const struct gpu_pace *pace, uint64_t now_ns);

/* Quick looks are not made, or again: the next one when it would have been due. */
void gpu_pace_gate(struct gpu_pace *pace, bool is_gated);

/* After a look: what it cost, the wake-up included. A slow look is a quick one too. */
void gpu_pace_polled(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                     bool holds_context);
/* Where a quick look was left out: the job rests. */
void gpu_pace_rested(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                     bool holds_context);
void gpu_pace_has_read(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                       const struct gpu_activity *activity);

#endif
