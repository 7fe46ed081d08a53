/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia_busy.h - busy time out of the driver's utilisation samples. Pure.
 *
 * The driver keeps the last seconds as samples: at this moment, so many percent busy. A sample
 * speaks of the time since the one before it. The rules for what is not so regular:
 *
 * - The first sample after the beginning speaks of the time since then.
 * - One that follows a hole, or the first where no beginning was set, speaks of one period, as
 *   long as the periods seen before (200 ms when none was). The rest of a hole is not covered:
 *   neither busy nor idle.
 * - Between two samples of a device lies at most a second; more than 1.5 s is a hole. A process
 *   has no samples while it does nothing, so 1.5 periods are a hole in its samples.
 * - A sample is dropped that is not newer than the last one, that says more than 100 %, or
 *   whose time lies in the future. A clock that was set back starts the meter anew.
 */
#ifndef SOURCE_GPU_NVIDIA_BUSY_H
#define SOURCE_GPU_NVIDIA_BUSY_H

#include <stdbool.h>
#include <stdint.h>

#define BUSY_PERIOD_DEFAULT_US 200000ull
#define BUSY_HOLE_US 1500000ull
#define BUSY_FUTURE_US 60000000ull

/* Start from a zeroed one. */
struct busy_meter {
    uint64_t last_us;   /* all up to here is counted: stamp of the newest sample, or the
                           beginning; 0: neither yet */
    bool has_sample;    /* it is a sample's */
    uint64_t period_us; /* the shortest time between two samples so far; 0: not known */
    uint64_t busy_ns, covered_ns;
};

/* How much of the time before `stamp_us` a sample speaks of, where the one before it stood at
 * `last_us` (0: there is none) and more than `hole_us` apart is a hole. */
uint64_t busy_cover_us(uint64_t last_us, uint64_t stamp_us, uint64_t period_us,
                       uint64_t hole_us);

/* The shortest plausible period (10 ms to 1 s), given one more time between samples. */
uint64_t busy_learn_period(uint64_t period_us, uint64_t gap_us);

/* Is it a sample to count? `now_us` is the time of day. */
bool busy_is_plausible(uint64_t last_us, uint64_t stamp_us, double percent, uint64_t now_us);

/* Counts a sample, in order of time. Returns false where it is dropped. */
bool busy_meter_add(struct busy_meter *meter, uint64_t stamp_us, double percent,
                    uint64_t now_us);

/* Counts `percent` of a time that was measured otherwise. */
void busy_meter_add_span(struct busy_meter *meter, uint64_t span_ns, double percent);

/* It did nothing up to `until_us`, as is known otherwise. */
void busy_meter_add_idle(struct busy_meter *meter, uint64_t until_us);

/* Counting begins at `stamp_us`: what the driver has from before is not of our time. */
void busy_meter_begin(struct busy_meter *meter, uint64_t stamp_us);

/* Begins anew at `now_us` where the clock was set back behind the newest sample. */
void busy_meter_heed_clock(struct busy_meter *meter, uint64_t now_us);

#endif
