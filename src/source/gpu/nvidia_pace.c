/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_pace.h"

#include "base/clock.h"

#define SHARE 1000

bool nvidia_pace_begin(struct nvidia_pace *pace, uint64_t now_ns)
{
    if (now_ns < pace->due_ns)
        return false;
    pace->started_ns = clock_thread_cpu_ns();
    return true;
}

void nvidia_pace_end(struct nvidia_pace *pace, uint64_t now_ns, uint64_t least_ns,
                     uint64_t most_ns)
{
    uint64_t wait_ns = (clock_thread_cpu_ns() - pace->started_ns) * SHARE;

    wait_ns = wait_ns < least_ns ? least_ns : wait_ns;
    pace->due_ns = now_ns + (wait_ns > most_ns ? most_ns : wait_ns);
}
