/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stepped_clock.c - a library to preload that steps the time of day back and forth by an hour,
 * every 50 ms. Clocks that cannot be set are left alone.
 */
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static void read_clock(clockid_t clock, struct timespec *ret)
{
    (void)syscall(SYS_clock_gettime, clock, ret);
}

static void read_stepped(struct timespec *ret)
{
    struct timespec since_boot;

    read_clock(CLOCK_MONOTONIC, &since_boot);
    read_clock(CLOCK_REALTIME, ret);
    ret->tv_sec += (since_boot.tv_nsec / 50000000 % 3 - 1) * 3600;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        read_stepped(ret);
        return 0;
    }
    return (int)syscall(SYS_clock_gettime, clock, ret);
}

int gettimeofday(struct timeval *ret, void *zone)
{
    struct timespec now;

    (void)zone;
    read_stepped(&now);
    ret->tv_sec = now.tv_sec;
    ret->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *ret)
{
    struct timespec now;

    read_stepped(&now);
    if (ret)
        *ret = now.tv_sec;
    return now.tv_sec;
}
