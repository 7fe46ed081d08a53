/* SPDX-License-Identifier: Apache-2.0 */
/* usage.h - reads and burns CPU time. */
#pragma once

#include <sys/resource.h>
#include <time.h>

static inline long long usage_us(const struct rusage *usage)
{
    return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000ll +
           usage->ru_utime.tv_usec + usage->ru_stime.tv_usec;
}

/* RUSAGE_SELF or RUSAGE_CHILDREN. */
static inline long long used_us(int who)
{
    struct rusage usage;

    (void)getrusage(who, &usage);
    return usage_us(&usage);
}

static inline long long clock_us(clockid_t clock)
{
    struct timespec now;

    (void)clock_gettime(clock, &now);
    return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

/* Uses this much CPU time. */
static inline void burn_us(long long microseconds)
{
    long long end = clock_us(CLOCK_PROCESS_CPUTIME_ID) + microseconds;

    while (clock_us(CLOCK_PROCESS_CPUTIME_ID) < end)
        continue;
}
