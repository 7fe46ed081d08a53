/* SPDX-License-Identifier: Apache-2.0 */
#include "job/memory/cpu_spent.h"

#include <time.h>

#include "base/clock.h"

uint64_t cpu_spent_ns(const struct root *root)
{
    struct timespec time;

    if (!root->is_live)
        return 0;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) < 0)
        return clock_now().monotonic_ns;
    return (uint64_t)time.tv_sec * NS_PER_SECOND + (uint64_t)time.tv_nsec;
}
