/* SPDX-License-Identifier: Apache-2.0 */
#include "job/exactness.h"

#include "base/amount.h"

/* Whether the sum over processes is complete. At the end, a second count of the CPU time must
 * agree. Before that, there must be a single process: several are not read at one instant. */
static bool processes_are_complete(const struct evidence *evidence)
{
    if (!evidence->was_spawned || evidence->has_unwaited)
        return false;
    if (!evidence->has_begun)
        return true;
    return evidence->has_ended ? evidence->is_confirmed
                               : evidence->is_alone && evidence->is_fresh;
}

/* Whether exiting threads used significant CPU time, which no process's count includes. */
static bool exits_take_long(const struct evidence *evidence)
{
    return is_known(evidence->cpu_ns) && evidence->exits_ns > evidence->cpu_ns / 100;
}

bool count_is_exact(const struct evidence *evidence, enum counted_by counted_by)
{
    switch (counted_by) {
    case COUNTED_BY_CGROUP:
        return !evidence->left_cgroup && !evidence->cgroup_is_gone;
    case COUNTED_BY_PROCESSES:
        return !(evidence->may_be_unwaited && evidence->has_begun) &&
               processes_are_complete(evidence);
    case COUNTED_BY_CPU_CLOCKS:
        return !exits_take_long(evidence) && !evidence->left_cgroup &&
               processes_are_complete(evidence);
    case COUNTED_BY_EXIT_RECORDS:
        return evidence->has_all_records && evidence->has_ended;
    case COUNTED_BY_EVENTS:
        return evidence->has_all_events;
    case COUNTED_BY_PERF: /* perf does not count the exit of a process */
        break;
    }
    return false;
}
