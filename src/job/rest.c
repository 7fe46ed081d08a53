/* SPDX-License-Identifier: Apache-2.0 */
#include "job/rest.h"

#include "base/clock.h"
#include "base/unknown.h"

#define READ_ALL_EVERY_NS (10 * NS_PER_SECOND)

/* A cgroup counts a process that runs now up to its last timer tick: by so little the clock of that
 * process may be ahead. */
#define UNSEEN_NS (20 * NS_PER_MS)

static bool stands_still(const struct rest *rest, uint64_t cpu_ns)
{
    return rest->has_looked && is_known(cpu_ns) && cpu_ns == rest->cpu_ns;
}

enum rest_look rest_look_at(const struct rest *rest, uint64_t cpu_ns, uint64_t now_ns)
{
    if (!rest->has_looked || now_ns - rest->read_at_ns >= READ_ALL_EVERY_NS)
        return LOOK_AT_ALL;
    return stands_still(rest, cpu_ns) && !rest->is_doubtful ? LOOK_AT_NOBODY : LOOK_AT_MOVERS;
}

void rest_looked(struct rest *rest, enum rest_look look, uint64_t cpu_ns, uint64_t now_ns,
                 struct rest_seen seen)
{
    if (look == LOOK_AT_NOBODY)
        return;
    rest->is_doubtful |= stands_still(rest, cpu_ns) && seen.moved_ns > UNSEEN_NS;
    rest->has_looked = true;
    rest->cpu_ns = seen.is_whole ? cpu_ns : UNKNOWN;
    if (look == LOOK_AT_ALL)
        rest->read_at_ns = now_ns;
}

void rest_forget(struct rest *rest)
{
    rest->has_looked = false;
}
