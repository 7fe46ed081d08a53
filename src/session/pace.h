/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h - when to sample, and when to glance in between. Pure: times in, times out.
 *
 * Samples come at absolute deadlines. Between them the job's memory is glanced at
 *
 * - in a window of 20 ms after its page faults opened the gate, every 2 ms or more, then
 *   once more after the gate is armed again;
 * - every 20 ms while it uses CPU time, since the gate is blind to some growth;
 * - not at all while it rests: to use less than a 200th of the time is to rest.
 *
 * A single process is looked at less often, the longer its pages stay as they are: its high-water
 * mark misses nothing. The gaps grow with what a glance costs, the wake-up included, so that
 * glances take 1 % of a core at most while the job grows, and half a percent while it is merely
 * active, or a fifth where it is one process.
 */
#ifndef SESSION_PACE_H
#define SESSION_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_NEVER UINT64_MAX

struct pace {
    uint64_t interval_ns;
    uint64_t deadline_ns;   /* of the next sample */
    uint64_t glance_ns;     /* of the next glance, or PACE_NEVER */
    uint64_t window_end_ns; /* 0: no window is open */
    uint64_t cost_ns;       /* CPU time of a glance, smoothed */
    uint64_t wake_cost_ns;  /* and of the wake-up for it */
    uint64_t arm_cost_ns;   /* CPU time to arm the gate and disarm it */
    uint64_t cpu_ns;        /* the job's CPU time when it was last asked */
    uint64_t cpu_asked_ns;  /* when that was */
    unsigned quiet_glances; /* in a row, in which the job used none */
    unsigned calm_glances;  /* since the gate was last open */
    bool has_gate;
    bool has_job;    /* otherwise there is nothing to glance at */
    bool is_at_rest; /* the job has just come to rest */
    bool is_single;  /* the job is one process */
};

void pace_init(struct pace *pace, uint64_t start_ns, uint64_t interval_ns, bool has_gate);

/* Samples alone: there is no job. */
void pace_init_without_job(struct pace *pace, uint64_t start_ns, uint64_t interval_ns);

/* When to wake up next. */
uint64_t pace_wake_ns(const struct pace *pace);

/* The gate has opened: the caller disarms it. */
void pace_gate_opened(struct pace *pace, uint64_t now_ns);

/* After a glance: what it cost, the job's CPU time (UINT64_MAX: not known). Returns whether the
 * gate is to be armed now; the caller does that, and glances once more. */
bool pace_glanced(struct pace *pace, uint64_t now_ns, uint64_t cost_ns, uint64_t cpu_ns);

/* Page faults have not opened the gate lately: nobody was born. */
bool pace_is_calm(const struct pace *pace);

/* To fall asleep and to wake up has taken this CPU time. */
void pace_woke(struct pace *pace, uint64_t cost_ns);

/* After a sample. Returns how many deadlines were missed. */
uint64_t pace_sampled(struct pace *pace, uint64_t now_ns, uint64_t cpu_ns);

#endif
