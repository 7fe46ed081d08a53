/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdio.h>

#include "base/arithmetic.h"

static uint64_t read_clock(clockid_t id)
{
    struct timespec now = { 0 };

    (void)clock_gettime(id, &now); /* cannot fail for the clocks named below */
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

struct instant clock_now(void)
{
    return (struct instant){
        .monotonic_ns = read_clock(CLOCK_MONOTONIC),
        .realtime_ns = read_clock(CLOCK_REALTIME),
    };
}

uint64_t clock_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_SECOND),
                              .tv_nsec = (long)(ns % NS_PER_SECOND) };
}

struct timespec clock_time_until(uint64_t monotonic_ns)
{
    return clock_timespec(less(monotonic_ns, read_clock(CLOCK_MONOTONIC)));
}

void clock_format(uint64_t realtime_ns, char *buf, size_t size)
{
    time_t seconds = (time_t)(realtime_ns / NS_PER_SECOND);
    unsigned milliseconds = (unsigned)(realtime_ns / NS_PER_MS % 1000);
    struct tm tm = { 0 };
    char date[CLOCK_TEXT_SIZE];

    gmtime_r(&seconds, &tm);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(buf, size, "%s.%03uZ", date, milliseconds); /* fits: see header */
}
