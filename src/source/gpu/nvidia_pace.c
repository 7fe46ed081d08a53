/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_pace.h"

#include <time.h>

#include "base/clock.h"

#define SHARE 1000

static uint64_t thread_cpu_ns(void)
{
    struct timespec time = { 0 };

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time); /* cannot fail on Linux */
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}

bool pace_begin(struct pace *pace, uint64_t now_ns)
{
    if (now_ns < pace->due_ns)
        return false;
    pace->started_ns = thread_cpu_ns();
    return true;
}

void pace_end(struct pace *pace, uint64_t now_ns, uint64_t least_ns, uint64_t most_ns)
{
    uint64_t wait_ns = (thread_cpu_ns() - pace->started_ns) * SHARE;

    wait_ns = wait_ns < least_ns ? least_ns : wait_ns;
    pace->due_ns = now_ns + (wait_ns > most_ns ? most_ns : wait_ns);
}
