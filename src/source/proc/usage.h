/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.h - the counters of a process that its parent inherits.
 *
 * When a parent waits for a child, the kernel adds the child's counters to the parent's. So the
 * sum over living processes, each including the children it waited for, does not lose any
 * usage. Exited processes need not be remembered, unless no process waited for them (see
 * job/exits.c).
 */
#pragma once

#include <stdint.h>
#include <sys/time.h>

#include "base/amount.h"
#include "base/clock.h"

enum usage_counter {
    USAGE_CPU_NS,
    USAGE_USER_NS,
    USAGE_SYSTEM_NS,
    USAGE_READ_BYTES,
    USAGE_WRITTEN_BYTES,
    USAGE_READ_CHARS,
    USAGE_WRITTEN_CHARS,
    USAGE_MINOR_FAULTS,
    USAGE_MAJOR_FAULTS,
    USAGE_VOLUNTARY_SWITCHES, /* for exited processes only: no file has the sum over all threads */
    USAGE_INVOLUNTARY_SWITCHES,
    USAGE_CPU_WAIT_NS, /* this and the next are not inherited by a parent */
    USAGE_IO_WAIT_NS,  /* counted for exited threads only */
    USAGE_COUNT,
};

enum { IO_COUNTERS = USAGE_WRITTEN_CHARS - USAGE_READ_BYTES + 1 };

/* A counter that could not be read is UNKNOWN. */
struct usage {
    uint64_t counter[USAGE_COUNT];
};

/* Makes all counters UNKNOWN. */
static inline void usage_clear(struct usage *usage)
{
    for (int i = 0; i < USAGE_COUNT; i++)
        usage->counter[i] = UNKNOWN;
}

/* Converts a time of struct rusage. */
static inline uint64_t usage_timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_usec * NS_PER_US;
}

/* Adds known counters. A counter stays UNKNOWN until a known value is added. */
static inline void usage_add(struct usage *into, const struct usage *usage)
{
    for (int i = 0; i < USAGE_COUNT; i++) {
        if (is_known(usage->counter[i]))
            into->counter[i] = sum_u64(known_or_0(into->counter[i]), usage->counter[i]);
    }
}

/* Raises each counter to its value in `floor`: totals never fall. */
static inline void usage_raise(struct usage *usage, const struct usage *floor)
{
    for (int i = 0; i < USAGE_COUNT; i++)
        raise_to(&usage->counter[i], floor->counter[i]);
}
