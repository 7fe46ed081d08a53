/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - the current time, read through functions that a test can replace.
 *
 * Intervals use the monotonic clock, which stands still while the machine
 * sleeps; dates use the real-time clock.
 */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ull
#define NS_PER_MS 1000000ull
#define NS_PER_US 1000ull

struct instant {
    uint64_t monotonic_ns;
    uint64_t realtime_ns; /* since 1970, UTC */
};

struct instant clock_now(void);

/* Returns for how long the machine has been suspended since boot. The boot clock, by which the
 * kernel dates the start of processes, includes it; the monotonic clock does not. */
uint64_t clock_suspended_ns(void);

/* The two monotonic times between which a value was read. */
struct clock_span {
    uint64_t from_ns, until_ns;
};

/* Return the length of a clock tick, the unit of /proc/PID/stat; and the number of ticks since
 * boot, by which the kernel dates the start of processes. */
uint64_t clock_tick_ns(void);
uint64_t clock_boot_ticks(void);

/* Returns the CPU time of the calling thread so far. */
uint64_t clock_thread_cpu_ns(void);

/* Converts a time for system calls that take a timespec. */
struct timespec clock_timespec(uint64_t ns);

/* Returns the time left until `monotonic_ns`; 0 if it has passed. */
struct timespec clock_time_until(uint64_t monotonic_ns);

/* A date as RFC 3339 in UTC with milliseconds: 2026-03-14T09:26:53.589Z. */
struct clock_text {
    char text[32];
};

/* Formats seconds since 1970. Empty if the value is NaN, negative or beyond the year 9999. */
struct clock_text clock_format(double unix_seconds);

/* Parses a date in this format, with any number of decimals or none. -EBADMSG: not a date. */
int clock_parse(const char *text, double *ret);
