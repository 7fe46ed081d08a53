/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_pace.h - how often a costly call is made.
 *
 * Driver calls take from microseconds to milliseconds of CPU time, and that depends on the
 * card. Each is given a share of the time: a call that took 2 ms is made again after two
 * seconds, one that took 10 us at every occasion.
 */
#ifndef SOURCE_GPU_NVIDIA_PACE_H
#define SOURCE_GPU_NVIDIA_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed is due at once. */
struct nvidia_pace {
    uint64_t due_ns;     /* monotonic */
    uint64_t started_ns; /* CPU time of the thread */
};

/* Is it time? Where it is, the call begins, and nvidia_pace_end() is to follow. */
bool nvidia_pace_begin(struct nvidia_pace *pace, uint64_t now_ns);

/* The call is made: the next is due when its CPU time was a thousandth of the time, but after
 * `least_ns` at the earliest and `most_ns` at the latest. */
void nvidia_pace_end(struct nvidia_pace *pace, uint64_t now_ns, uint64_t least_ns,
                     uint64_t most_ns);

#endif
