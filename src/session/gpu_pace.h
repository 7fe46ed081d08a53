/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_pace.h - when to look at the GPUs. Pure: times in, times out.
 *
 * A quick look reads the memory of processes, a slow look reads everything.
 *
 * - Quick looks come every 27 ms while the job's GPU memory changes, and less and less often, up
 *   to every 250 ms, while it does not; a new process brings the short gap back. While no
 *   process of the job uses a GPU, the gaps are 100 and 400 ms. An idle job allocates nothing:
 *   there is one quick look when it becomes idle, as soon as the budget can pay for it (at once if no process
 *   is known to use a GPU), and then one every 2 s, for the power of the GPUs it holds, until it runs again.
 * - If the address space of the processes that use GPUs changes, a quick look comes at once:
 *   large allocations of GPU memory are mapped there. Reading the size takes 15 us after 20 ms
 *   of sleep, a driver call at least 60 us. This look ignores the budget, which may be empty
 *   after an idle period or after opening the drivers.
 * - Slow looks come every second, or up to every 5 s if they are expensive; every 10 s while the job
 *   uses no GPU, or both the job and its GPUs are idle. Drivers keep utilization samples for 14 s.
 * - Both kinds of looks wait until the budget can pay for them, but not indefinitely.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/budget.h"

/* The first look opens the drivers, whatever its kind. The last look also reads accounting
 * records; after it the drivers may be closed. */
enum gpu_look {
    GPU_LOOK_NONE,
    GPU_LOOK_QUICK,
    GPU_LOOK_SLOW,
    GPU_LOOK_KINDS,                   /* the kinds below are not paced */
    GPU_LOOK_BORDER = GPU_LOOK_KINDS, /* at the start or stop of a phase */
    GPU_LOOK_LAST,
    GPU_LOOK_CLOSE,
};

struct gpu_job_state {
    bool rests;
    uint64_t started_count; /* processes started so far */
    uint64_t space_bytes; /* address space of the processes that use GPUs; 0: there are none */
};

/* Results of a look. */
struct gpu_findings {
    uint64_t memory_bytes; /* memory of the job, or of all processes if there is no job */
    uint64_t utilization;  /* utilization of the job's GPUs; 0: idle */
    bool holds_context;    /* a process of the job uses a GPU, or may do so */
};

struct gpu_pace {
    uint64_t due_ns; /* time of the next look, or of the next check whether a look has ended */

    /* Private. */
    bool is_for_host; /* the GPUs matter even if the job is idle, or there is none */
    enum gpu_look looking;
    uint64_t looked_ns; /* when the last look began; 0: the drivers are not open */
    uint64_t forced_ns; /* when the last look that exceeded the budget began */
    uint64_t slow_ns;   /* when the last slow look began */
    uint64_t gap_ns;    /* gap between quick looks; 0: the drivers are not open */
    uint64_t cost_ns[GPU_LOOK_KINDS]; /* CPU time, smoothed; 0: not known yet */
    struct gpu_findings found;
    struct gpu_job_state job;
    bool owes_look;              /* no look has begun since the job became idle */
    uint64_t looked_space_bytes; /* address space of the job when the last look began */
};

/* Sets the time of the first look, which opens the drivers, to `first_ns`. */
void gpu_pace_init(struct gpu_pace *pace, uint64_t first_ns, bool is_for_host);

/* Returns the kind of look to start now, if any. The first look is slow, and opens the
 * drivers. `budget` NULL: no limit. */
enum gpu_look gpu_pace_begin(struct gpu_pace *pace, uint64_t now_ns,
                             const struct gpu_job_state *job, struct budget *budget);

/* Called if a look is still in progress when the next one is due. */
void gpu_pace_wait(struct gpu_pace *pace, uint64_t now_ns);

/* Called when a look has ended. `cost_ns`: its CPU time. */
void gpu_pace_end(struct gpu_pace *pace, uint64_t now_ns, uint64_t cost_ns,
                  const struct gpu_findings *found);
