/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"

#define CLOCK_END_SECONDS 253402300799.0 /* the last second of the year 9999 */

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

uint64_t clock_suspended_ns(void)
{
    /* Read the boot clock first: the difference may be too small, but never too large. */
    uint64_t boot_ns = read_clock(CLOCK_BOOTTIME);

    return sub_floor0(boot_ns, read_clock(CLOCK_MONOTONIC));
}

uint64_t clock_tick_ns(void)
{
    return NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
}

uint64_t clock_boot_ticks(void)
{
    return read_clock(CLOCK_BOOTTIME) / clock_tick_ns();
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
    return clock_timespec(sub_floor0(monotonic_ns, read_clock(CLOCK_MONOTONIC)));
}

struct clock_text clock_format(double unix_seconds)
{
    struct clock_text result = { "" };
    struct tm tm = { 0 };
    char date[24];
    long long ms;
    time_t seconds;

    if (!(unix_seconds >= 0 && unix_seconds < CLOCK_END_SECONDS))
        return result;
    ms = llround(unix_seconds * 1e3);
    seconds = (time_t)(ms / 1000);
    gmtime_r(&seconds, &tm);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(result.text, sizeof(result.text), "%s.%03dZ", date, (int)(ms % 1000));
    return result;
}

/* Parses the decimals at the end of a date, and the Z. */
static int parse_decimals(const char *text, double *seconds)
{
    double unit = 1;

    if (*text == '.') {
        if (text[1] < '0' || text[1] > '9')
            return -EBADMSG;
        for (text++; *text >= '0' && *text <= '9'; text++) {
            unit /= 10;
            *seconds += unit * (*text - '0');
        }
    }
    return strcmp(text, "Z") == 0 ? 0 : -EBADMSG;
}

int clock_parse(const char *text, double *ret)
{
    struct tm tm = { 0 };
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    double decimals = 0;
    double seconds;

    if (!end || parse_decimals(end, &decimals) < 0)
        return -EBADMSG;
    seconds = round(((double)timegm(&tm) + decimals) * 1e3) / 1e3;
    if (!(seconds >= 0 && seconds < CLOCK_END_SECONDS))
        return -EBADMSG;
    *ret = seconds;
    return 0;
}
