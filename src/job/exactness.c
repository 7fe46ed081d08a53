/* SPDX-License-Identifier: Apache-2.0 */
#include "job/exactness.h"

#include <stddef.h>

#include "base/arithmetic.h"
#include "base/unknown.h"

static const char *processes_fault(const struct evidence *evidence)
{
    if (!evidence->was_spawned)
        return "the job was already running";
    if (evidence->has_unwaited)
        return "some processes were never waited for";
    if (!evidence->has_begun)
        return NULL;
    if (evidence->has_ended)
        return evidence->is_confirmed ? NULL : "no second count of CPU time confirms it";
    if (!evidence->is_alone)
        return "read while several processes were running";
    return evidence->is_fresh ? NULL : "not read at this moment";
}

/* The time that threads take to exit is in no process's count. */
static const char *cpu_clocks_fault(const struct evidence *evidence)
{
    uint64_t exits_ns = product_u64(evidence->exited_count, EXIT_CPU_NS);

    if (is_known(evidence->cpu_ns) && exits_ns > evidence->cpu_ns / 100)
        return "the time that threads take to exit is not counted";
    if (evidence->left_cgroup)
        return "the count of the cgroup is another";
    return processes_fault(evidence);
}

const char *inexact_reason(const struct evidence *evidence, enum counted_by counted_by)
{
    switch (counted_by) {
    case COUNTED_BY_CGROUP:
        if (evidence->left_cgroup)
            return "processes moved to another cgroup";
        return evidence->cgroup_is_gone ? "the cgroup was removed" : NULL;
    case COUNTED_BY_PROCESSES:
        if (evidence->may_be_unwaited && evidence->has_begun)
            return "a process that ignores SIGCHLD had children";
        return processes_fault(evidence);
    case COUNTED_BY_CPU_CLOCKS:
        return cpu_clocks_fault(evidence);
    case COUNTED_BY_EXIT_RECORDS:
        return evidence->has_all_records && evidence->has_ended ? NULL
                                                                : "exit records are missing";
    case COUNTED_BY_EVENTS:
        return evidence->events_fault;
    case COUNTED_BY_PERF:
        break;
    }
    return "perf does not count the exit of a process";
}
