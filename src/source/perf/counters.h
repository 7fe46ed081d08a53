/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counters.h - hardware counters of a job: one group of perf events, inherited by all threads
 * and processes that it starts.
 *
 * Only user space is counted, which an ordinary user may do if kernel.perf_event_paranoid is 2
 * or less. Most virtual machines have no hardware counters.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum hardware_counter {
    COUNTER_CYCLES,
    COUNTER_INSTRUCTIONS,
    COUNTER_CACHE_MISSES,
    COUNTER_BRANCH_MISSES,
    COUNTER_COUNT,
};

struct counters {
    bool is_open;
    int fds[COUNTER_COUNT];
};

/* Counts a thread and all threads and processes that it starts from now on. -ENOENT: the
 * machine has no such counters; -EACCES, -EPERM: refused. */
int counters_open(struct counters *counters, pid_t tid);
void counters_close(struct counters *counters);

/* Reads the counts; UNKNOWN: not counted. Returns whether all counts are exact. If other
 * programs use the counters too, the kernel multiplexes the counters, and the counts are
 * extrapolated. */
bool counters_read(const struct counters *counters, uint64_t ret[COUNTER_COUNT]);

/* Extrapolates the count of an event that was on the hardware for `running` of `enabled`
 * nanoseconds. */
uint64_t counter_scale(uint64_t count, uint64_t enabled, uint64_t running);
