/* SPDX-License-Identifier: Apache-2.0 */
#include "job/pre_exec.h"

#include "base/clock.h"
#include "job/agents.h"

/* A process older than this is what it is. The kernel tells ages in hundredths of a second. */
#define YOUNG_TICKS 5
#define YOUNG_CPU_NS (50 * NS_PER_MS)

/* On a busy machine its first millisecond may come late: what still waits for it has not become
 * anything yet. */
static bool is_young(const struct member *member)
{
    return clock_boot_ticks() < member->start_ticks + YOUNG_TICKS ||
           (member->is_busy && member->cpu_ns < YOUNG_CPU_NS);
}

bool member_is_pre_exec(const struct root *root, const struct member *member)
{
    if (!root->is_live || member->is_zombie || !is_young(member))
        return false;
    return member->has_exec ? agents_is_unclear(root, member) : member->borrows_memory;
}
