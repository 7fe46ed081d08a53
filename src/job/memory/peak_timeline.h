/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak_timeline.h - the most memory that processes can have had together, from the life and the
 * peak of each. Pure.
 *
 * The sum over those alive is highest at the start of one of them. So it is kept for the moments at
 * which processes started; the peak of a process is added, once it is known, to all moments of its
 * life. Moments before the oldest living process change no more: only their maximum is kept. If
 * there are too many, neighbours are joined, and the result is a little higher than need be.
 */
#ifndef JOB_MEMORY_PEAK_TIMELINE_H
#define JOB_MEMORY_PEAK_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

enum { PEAK_MOMENTS_MAX = 1024, PEAK_LIVES_KEPT = 16 };

struct peak_life {
    uint64_t started_ns, ended_ns;
    uint64_t peak_bytes;
};

struct peak_moment {
    uint64_t first_ns, last_ns; /* of the starts that were joined */
    uint64_t sum_bytes;
};

/* Zeroed is empty. */
struct peak_timeline {
    uint64_t highest_bytes; /* of moments that are not kept any more */
    size_t count;
    struct peak_moment moments[PEAK_MOMENTS_MAX]; /* in the order of last_ns */
    struct peak_life lives[PEAK_LIVES_KEPT];      /* the latest that ended, for a late start */
    size_t life_count;
};

/* A process has started. */
void peak_timeline_start(struct peak_timeline *timeline, uint64_t now_ns);

/* One has ended. */
void peak_timeline_end(struct peak_timeline *timeline, const struct peak_life *life);

/* No living process started before that. */
void peak_timeline_settle(struct peak_timeline *timeline, uint64_t oldest_ns);

uint64_t peak_timeline_highest(const struct peak_timeline *timeline);

#endif
