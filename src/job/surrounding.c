/* SPDX-License-Identifier: Apache-2.0 */
#include "job/surrounding.h"

#include <string.h>
#include <sys/resource.h>

#include "base/amount.h"
#include "job/job.h"
#include "source/proc/pid_files.h"

/* ---- other processes ------------------------------------------------------- */

struct census {
    struct job *job;
    bool has_tracker, has_others;
};

/* Whether a child of the tracker is foreign. It belongs to the job unless it is a helper of the
 * tracker, or was started before the job by the program that uses the library. */
static bool child_is_foreign(struct job *job, const struct pid_stat *child)
{
    struct process_id id = { child->pid, child->start_ticks };

    if (strcmp(child->comm, SPOOR_AGENT_NAME) == 0) {
        agents_note(&job->agents, id); /* its CPU time is subtracted */
        return false;
    }
    return job_is_inherited(job, id);
}

/* Follows the parents of a process to the tracker or to a known process of the job. Orphans are
 * children of the tracker. If the chain breaks, a parent or the process itself may have exited
 * (a process reaped after its file was opened has parent 0), so the chain is followed once
 * more. */
static bool is_foreign(struct job *job, pid_t first)
{
    enum { DEPTH_MAX = 64 };
    bool is_second_time = false;
    struct pid_stat stat;
    pid_t pid = first;

    for (int depth = 0; depth < DEPTH_MAX && first > 1; depth++) {
        if (roster_find(&job->roster, pid))
            return false;
        if (pid > 1 && pid_stat_read(NULL, job->root, pid, &stat) == 0) {
            if (stat.parent_pid == job->tracker_pid)
                return child_is_foreign(job, &stat);
            pid = stat.parent_pid;
        } else if (pid == first) {
            return false; /* the process has exited */
        } else if (is_second_time) {
            return true;
        } else {
            is_second_time = true;
            pid = first;
        }
    }
    return true;
}

static void count_process(pid_t pid, void *data)
{
    struct census *census = data;

    if (pid == census->job->tracker_pid)
        census->has_tracker = true;
    else if (!census->has_others)
        census->has_others = is_foreign(census->job, pid);
}

/* Whether a cgroup is readable and contains only the tracker and its descendants. */
static bool is_ours(struct job *job, const struct cgroup *cgroup, bool is_deep)
{
    struct census census = { .job = job };

    /* Version 1 does not list processes of outer PID namespaces. */
    if (!cgroup->is_v2 && !pid_namespace_is_first(job->root))
        return false;
    (void)cgroup_each_process(job->root, cgroup, is_deep, &job->children, count_process,
                              &census); /* on failure the tracker is not found */
    return census.has_tracker && !census.has_others;
}

/* ---- the tracker's part ----------------------------------------------------- */

/* Reads the usage of the tracker. The CPU clock is read last: reading it also updates the count
 * of the cgroup. */
static struct tracker_usage read_tracker(struct job *job)
{
    struct tracker_usage tracker = { 0 };
    struct pid_statm statm;
    struct rusage usage;

    if (pid_statm_read(NULL, job->root, job->tracker_pid, &statm) == 0)
        tracker.anon_bytes =
            sub_floor0(statm.resident_pages, statm.shared_pages) * job->root->page_bytes;
    if (job->root->is_live && getrusage(RUSAGE_SELF, &usage) == 0) {
        tracker.user_ns = usage_timeval_ns(usage.ru_utime);
        tracker.system_ns = usage_timeval_ns(usage.ru_stime);
    }
    /* Stays 0 on a fixture machine. */
    (void)cpu_clock_read(job->root, job->tracker_pid, &tracker.cpu_ns);
    return tracker;
}

/* Returns a value of the cgroup at the start plus the growth of the tracker since then. */
static uint64_t grown(uint64_t before, uint64_t start, uint64_t now)
{
    return is_known(before) && now < start ? sub_floor0(before, start - now)
                                           : sum_u64(before, now - start);
}

static void subtract_tracker(struct job *job)
{
    const struct surrounding *surrounding = &job->meters.surrounding;
    const struct tracker_usage *start = &surrounding->tracker;
    struct job_cgroup_reading *others = &job->meters.job_cgroup.others;
    struct tracker_usage now = read_tracker(job);

    *others = surrounding->before;
    others->memory_peak_bytes =
        grown(surrounding->memory_before_bytes, start->anon_bytes, now.anon_bytes);
    others->memory.anon_bytes =
        grown(others->memory.anon_bytes, start->anon_bytes, now.anon_bytes);
    others->cpu.user_ns = grown(others->cpu.user_ns, start->user_ns, now.user_ns);
    others->cpu.system_ns = grown(others->cpu.system_ns, start->system_ns, now.system_ns);
    others->cpu.total_ns = grown(others->cpu.total_ns, start->cpu_ns, now.cpu_ns);
}

/* ---- for the job ------------------------------------------------------------ */

static bool has_any(const struct job_cgroup *job_cgroup)
{
    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        if (job_cgroup_has(job_cgroup, (enum cgroup_controller)i))
            return true;
    }
    return false;
}

void surrounding_open(struct job *job, const struct cgroups *cgroups)
{
    struct surrounding *surrounding = &job->meters.surrounding;
    struct job_cgroup *job_cgroup = &job->meters.job_cgroup;
    struct cgroups alone;

    if (!cgroups || job->root->proc_fault || job_cgroup_has_memory(job_cgroup))
        return;
    /* Only the root of a version 1 hierarchy, whose memory is not counted, has this file. */
    if (!root_exists(job->root, "%s/release_agent", cgroups->of[CGROUP_MEMORY].path))
        surrounding->memory = cgroups->of[CGROUP_MEMORY];
    if (has_any(job_cgroup))
        return;
    alone = *cgroups;
    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        if (cgroup_is_visible(&alone.of[i]) && !is_ours(job, &alone.of[i], true))
            alone.of[i].path[0] = '\0';
    }
    surrounding->tracker = read_tracker(job);
    job_cgroup_surround(job_cgroup, &alone);
    surrounding->before = job_cgroup->last;
    surrounding->before.cpu.total_ns =
        sub_known(surrounding->before.cpu.total_ns, agents_cpu_ns(&job->agents, job->root));
    surrounding->memory_before_bytes = job_cgroup_read_memory_bytes(job_cgroup);
    if (job_cgroup_has_memory(job_cgroup))
        job_cgroup->reason = NULL;
    job_cgroup->is_surrounding = has_any(job_cgroup);
}

void surrounding_update(struct job *job)
{
    struct job_cgroup *job_cgroup = &job->meters.job_cgroup;

    if (!job_cgroup->is_surrounding)
        return;
    for (int i = 0; i < CGROUP_TREE_COUNT; i++) {
        if (!job_cgroup->folders[i].is_made ||
            is_ours(job, &job_cgroup->folders[i].own, job->was_thorough))
            continue;
        job_cgroup->folders[i].is_made = false; /* the last reading is kept */
        /* The peaks may belong to other processes. */
        job->peaks.job_cgroup = (struct cgroup_memory){ 0 };
    }
    subtract_tracker(job);
}

uint64_t surrounding_cpu_ns(struct job *job)
{
    if (!job->meters.job_cgroup.is_surrounding)
        return UNKNOWN;
    subtract_tracker(job);
    return sub_known(job_cgroup_read_cpu_ns(&job->meters.job_cgroup),
                     job->meters.job_cgroup.others.cpu.total_ns);
}

/* Raises the peak to the parts that were seen: the memory in use at the start may hide the peak
 * of a small job. If no part was seen, the peak is unknown. */
static void take_parts(struct job_reading *reading)
{
    uint64_t *peak = &reading->job_cgroup.memory_peak_bytes;

    raise_to(peak, reading->anon_bytes);
    raise_to(peak, reading->job_cgroup.memory.page_cache_bytes);
    if (*peak > 0)
        return;
    *peak = UNKNOWN;
    reading->origin[METRIC_JOB_MEMORY_PEAK].reason = "the job ended before its memory was seen";
}

void surrounding_read_peak(struct job *job)
{
    struct surrounding *surrounding = &job->meters.surrounding;

    surrounding->peak_bytes = UNKNOWN;
    if (job->was_thorough) /* later peaks include earlier ones */
        (void)cgroup_read_u64(job->root, &surrounding->memory,
                              surrounding->memory.is_v2 ? "memory.peak"
                                                        : "memory.max_usage_in_bytes",
                              &surrounding->peak_bytes);
}

/* Sets the upper bound of the job's memory. If no other process is in the cgroup, the anonymous
 * memory of the tracker is certainly not the job's, and is subtracted. */
void surrounding_bound(const struct job *job, struct job_reading *reading)
{
    const struct cgroup *memory = &job->meters.surrounding.memory;
    const struct job_cgroup *job_cgroup = &job->meters.job_cgroup;
    const struct job_cgroup_reading *others = &job_cgroup->others;
    enum cgroup_controller tree = memory->is_v2 ? CGROUP_UNIFIED : CGROUP_MEMORY;
    uint64_t spare = sub_floor0(others->memory_peak_bytes, others->memory.anon_bytes);
    bool is_alone = job_cgroup->is_surrounding && job_cgroup->folders[tree].is_made;

    reading->memory_bound_bytes = UNKNOWN;
    if (!cgroup_is_visible(memory))
        return;
    if (is_known(reading->job_cgroup.memory_peak_bytes))
        take_parts(reading);
    reading->memory_is_uncertain = spare > reading->job_cgroup.memory_peak_bytes / 100;
    if (is_alone && !reading->job_cgroup.memory_peak_is_sampled &&
        !reading->memory_is_uncertain)
        return;
    reading->memory_bound_bytes = job->meters.surrounding.peak_bytes;
    if (is_alone)
        reading->memory_bound_bytes =
            sub_known(reading->memory_bound_bytes, others->memory.anon_bytes);
}
