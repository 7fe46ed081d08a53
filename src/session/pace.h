/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h - when to sample, and when to glance at the job in between. Pure: times in, times out.
 *
 * Samples come at absolute deadlines. Between samples the job is glanced at: every 5 ms while
 * it grows, then at gaps that double up to 160 ms while it merely runs, and rarely while it is
 * idle. The budget stretches all of these gaps.
 *
 * The budget does not stretch the gaps of the sentinel: one number is read every 25 ms. If
 * memory has grown, a glance follows as soon as the budget allows; if it has stopped growing, on
 * credit, as that is the moment to see a peak. A wake-up on an idle machine takes up to 90 us of
 * CPU time, so the gap is longer for a job that has been idle for a while: 50 ms after 3.2 s. It
 * is not if the job has had connections, because looks for short ones follow the sentinel. Bursts
 * of a single process are in the kernel's mark whatever the gap. On a node full of ranks the
 * sentinels would cost more than all samples: a rank of one process has no sentinel, since the
 * kernel keeps its peak.
 *
 * Ranks of a node start together: their samples are spread over the interval.
 *
 * Without early samples, the curve of a short job would have two points. If is_fine_at_first is
 * set, some glances become samples, at intervals of at least 10 ms and 1/32 of the run so far.
 * An idle job gets no early samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job/activity.h"
#include "job/budget.h"

#define PACE_NEVER UINT64_MAX

struct pace {
    uint64_t interval_ns;
    uint64_t deadline_ns;  /* time of the next sample */
    bool is_fine_at_first; /* set by the caller, see above */
    bool has_no_sentinel;  /* set by the caller, see above */
    bool has_connections;  /* set by the caller: the job has or had some */
    uint64_t start_ns;
    uint64_t sampled_ns;     /* time of the latest sample */
    uint64_t sample_cost_ns; /* CPU time of an early sample, smoothed */
    uint64_t glance_ns;      /* time of the next glance; PACE_NEVER: there is no job */
    uint64_t sentinel_ns;    /* when the sentinel is read next; PACE_NEVER: there is no job */
    uint64_t gap_ns;       /* gap between the last two glances, without delays by the budget */
    uint64_t cost_ns;      /* CPU time of a glance and its wake-up, smoothed */
    bool is_on_credit;     /* the next glance is made on credit */
    unsigned stop_changes; /* stop_changes of the session at the last due sample */
    enum activity_state state;
    uint64_t idle_since_ns; /* if the state is JOB_RESTS */
};

void pace_init(struct pace *pace, uint64_t start_ns, uint64_t interval_ns, bool has_job);

/* Shifts the samples of one of several ranks on a node. */
void pace_stagger(struct pace *pace, uint64_t rank, uint64_t ranks);

/* Returns when to wake up next. */
uint64_t pace_wake_ns(const struct pace *pace);

/* Returns when to wake up next, apart from samples. */
uint64_t pace_glance_ns(const struct pace *pace);

/* Called after a glance with this CPU time: plans the next one. */
void pace_glanced(struct pace *pace, uint64_t now_ns, uint64_t cost_ns,
                  enum activity_state state, struct budget *budget);

/* Called after the sentinel was read. `has_grown`: plans a glance as soon as the budget
 * allows; `has_settled`: at once, on credit if necessary. */
void pace_watched(struct pace *pace, uint64_t now_ns, bool has_grown, bool has_settled,
                  const struct budget *budget);

/* Called after a glance. Returns whether to take an early sample. */
bool pace_wants_sample(const struct pace *pace, uint64_t now_ns, const struct budget *budget);

/* Called after an early sample with this CPU time. */
void pace_sampled_early(struct pace *pace, uint64_t now_ns, uint64_t cost_ns);

/* Called after any other sample. Returns how many deadlines were missed. */
uint64_t pace_sampled(struct pace *pace, uint64_t now_ns);
