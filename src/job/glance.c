/* SPDX-License-Identifier: Apache-2.0 */
/* glance.c - a look at the job between two samples, so that peaks are not missed. */
#include "base/arithmetic.h"
#include "base/unknown.h"
#include "job/job.h"

/* So much the memory of the job cgroup may change without a look at the processes. */
#define SAME_BYTES ((uint64_t)512 * 1024)
enum { SAME_SHARE = 64 };

/* The resident sizes of all processes. */
static void read_sizes(struct job *job, const struct look *look)
{
    uint64_t process_count = 0, main_threads = 0, threads = 0, resident_bytes = 0;

    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];

        if (member->has_left || (member->is_zombie && look->uses_clocks))
            continue;
        if (look->uses_clocks)
            member_glance(member, look);
        else /* ticks are in a file that is lost when it ends */
            member_look(member, look);
        if (member->pid == job->main_pid)
            job_check_program(job, member, look);
        if (cgroup_escape_is_due(&job->meters.escape, member))
            cgroup_escape_check(&job->meters.escape, job->root, member);
        job_remember(job, member);
        if (member->rss_bytes == 0)
            continue;
        process_count++;
        resident_bytes += member->rss_bytes;
        *(member->pid == job->main_pid ? &main_threads : &threads) += member->threads;
    }
    job_raise_threads(job, main_threads, threads);
    /* All that have left, zombies too: one whose parent was settled before it would seem to have
     * left its figures to nobody. */
    job_settle_left(job);
    raise_to(&job->peaks.process_count, process_count);
    job_cgroup_raise_memory(&job->meters.job_cgroup, &job->peaks.job_cgroup);
    activity_note_memory(&job->activity, resident_bytes, process_count);
}

/* Whether the memory of the job may have changed. While it grows it is read in any case, and a few
 * times more, so that what it has grown to is known in detail. */
static bool may_have_changed(struct job *job)
{
    uint64_t before_bytes = job->glanced_memory_bytes;
    uint64_t bytes = job_cgroup_read_memory_bytes(&job->meters.job_cgroup);

    if (activity_state(&job->activity) != JOB_GROWS && is_known(bytes) &&
        !job->meters.escape
             .has_left[job_cgroup_tree(&job->meters.job_cgroup, CGROUP_TREE_MEMORY)] &&
        abs_diff(bytes, before_bytes) <= larger(SAME_BYTES, before_bytes / SAME_SHARE))
        return false;
    job->glanced_memory_bytes = bytes;
    return true;
}

/* New processes: told by events, or else to be found. */
static void find_processes(struct job *job, const struct look *look)
{
    if (job->process_events.source)
        job_take_events(job, look->now_ns, false);
    else
        job_search(job, look);
}

void job_glance(struct job *job, uint64_t now_ns)
{
    struct look look = job_look(job, now_ns, false);
    struct memory_estimate estimate;
    bool has_come_to_rest;

    job_note_cpu(job, now_ns, job_quick_cpu_ns(job));
    has_come_to_rest = job->activity.has_come_to_rest;
    if (job->activity.is_at_rest && !has_come_to_rest)
        return;
    if (has_come_to_rest) /* page faults, which tell of copies on write, are in the slower files */
        job_refresh(job, now_ns, false);
    else
        find_processes(job, &look);
    if (!may_have_changed(job) && !has_come_to_rest) {
        activity_note_memory(&job->activity, job->activity.resident_bytes,
                             job->activity.process_count);
        return;
    }
    job->sum_holds = false;
    read_sizes(job, &look);
    job_read_memory(job, true, &estimate);
}
