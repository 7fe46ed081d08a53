/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_totals.c - the CPU time of the job, from the sources that serve (cpu_sources.h). */
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/unknown.h"
#include "job/job.h"
#include "source/proc/cpu_clock.h"

#define TICK_NS (10 * NS_PER_MS)

static uint64_t read_perf_ns(const struct job *job)
{
    uint64_t ns;

    if (event_set_read(&job->meters.task_clock, &ns) < 0)
        return UNKNOWN;
    return job->is_spawned ? ns : job->meters.attached_cpu_ns + ns;
}

static const char *tree_source(const struct job *job)
{
    if (job->is_spawned)
        return "wait4";
    return job->main.has_clock ? "procfs.cpuclock" : "procfs.stat";
}

/* User and system time, as the cgroup has them. How that of agents splits is not known. */
static void take_leaf_split(const struct job_cgroup_reading *job_cgroup, uint64_t cpu_ns,
                            uint64_t *counter)
{
    double share = job_cgroup->cpu_ns > 0 ? (double)cpu_ns / (double)job_cgroup->cpu_ns : 1;

    counter[USAGE_USER_NS] = (uint64_t)((double)job_cgroup->user_ns * share);
    counter[USAGE_SYSTEM_NS] = (uint64_t)((double)job_cgroup->system_ns * share);
}

/* What the sum over processes may lack: the times of waited-for children, and of processes without
 * a clock, are in ticks. */
static uint64_t tick_error_ns(const struct job *job)
{
    uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t count = 1;

    for (size_t i = 0; i < job->roster.count; i++) {
        const struct member *member = &job->roster.list[i];

        count += member->child_faults > 0 ? 1 : 0;
        count += is_known(member->clock_ns) ? 0 : 1;
    }
    return count * tick_ns;
}

/* Where the job's CPU time comes from, and when that was read. */
static void note_source(struct job *job, struct clock_span perf_span,
                        struct job_reading *reading)
{
    const char *const names[] = { tree_source(job), "cgroup.cpu.stat", "perf.task-clock" };
    const struct clock_span spans[] = { job->look_span, reading->cpu_span, perf_span };
    enum cpu_source source = reading->cpu.source;
    struct origin *origin = &job->origins[METRIC_JOB_CPU];

    origin->source = names[source];
    origin->is_exact = reading->cpu.is_exact;
    job->origins[METRIC_DESCENDANTS_CPU] = *origin;
    reading->cpu_span = spans[source];
    /* A process that runs is counted up to its last tick. */
    reading->cpu_error_ns = source == CPU_FROM_TREE ? tick_error_ns(job) : TICK_NS;
}

static void read_split(struct job *job, struct job_reading *reading)
{
    struct origin *user = &job->origins[METRIC_JOB_USER];

    if (reading->cpu.source == CPU_FROM_CGROUP && is_known(reading->job_cgroup.user_ns)) {
        take_leaf_split(&reading->job_cgroup, reading->cpu_counts.cgroup_ns,
                        reading->usage.counter);
        *user = job->origins[METRIC_JOB_CPU];
    } else {
        user->source = job->is_spawned ? "wait4" : "procfs.stat";
        user->is_exact = reading->cpu.is_exact && reading->all_waited && job->main.has_ended;
    }
    job->origins[METRIC_JOB_SYSTEM] = *user;
}

void job_read_cpu(struct job *job, uint64_t now_ns, struct job_reading *reading)
{
    uint64_t *counter = reading->usage.counter;
    uint64_t agents_ns = agents_cpu_ns(&job->agents, job->root);
    struct clock_span perf_span = { .from_ns = job_now_ns(job, now_ns) };
    bool has_cgroup = job->meters.job_cgroup.is_adopted || !reading->job_cgroup.is_gone;
    bool needs_perf = job->is_spawned || job->was_thorough; /* it adds up over all threads */
    struct cpu_counts counts = {
        .tree_ns = counter[USAGE_CPU_NS],
        .cgroup_ns = has_cgroup ? sub_known(reading->job_cgroup.cpu_ns, agents_ns) : UNKNOWN,
        .perf_ns = needs_perf ? sub_known(read_perf_ns(job), agents_ns) : UNKNOWN,
        .stolen_ns = job->meters.stolen_ns,
        .is_cgroup = job->meters.job_cgroup.is_adopted,
        .left_cgroup =
            job->meters.escape
                .has_left[job_cgroup_tree(&job->meters.job_cgroup, CGROUP_TREE_CPUACCT)],
        .saw_unwaited = job->ledger.saw_unwaited,
        .was_spawned = job->is_spawned,
    };

    perf_span.until_ns = job_now_ns(job, now_ns);
    reading->cpu_counts = counts;
    reading->cpu = cpu_sources_choose(&counts);
    reading->cpu.is_exact &= !reading->job_cgroup.is_gone;
    /* If all CPU time came to us, every process was waited for. */
    reading->all_waited = reading->cpu.all_waited;
    note_source(job, perf_span, reading);
    read_split(job, reading);
    reading->missed_cpu_ns = cpu_total_add(&job->ledger.cpu, &counts, reading->cpu.source);
    counter[USAGE_CPU_NS] = job->ledger.cpu.has_begun ? job->ledger.cpu.reported_ns : UNKNOWN;
}

/* The sum of the processes' clocks; UNKNOWN if there are many. */
static uint64_t read_clocks_ns(const struct job *job)
{
    enum { FEW = 64 };
    uint64_t sum_ns = 0;

    if (!job->uses_clocks || job->roster.count > FEW)
        return UNKNOWN;
    for (size_t i = 0; i < job->roster.count; i++) {
        uint64_t ns;

        if (cpu_clock_read(job->root, job->roster.list[i].pid, &ns) == 0)
            sum_ns += ns;
    }
    return sum_ns;
}

/* perf does not count a thread that a job began while we attached to it. */
uint64_t job_whole_cpu_ns(struct job *job)
{
    bool misses_some =
        job->meters.escape
            .has_left[job_cgroup_tree(&job->meters.job_cgroup, CGROUP_TREE_CPUACCT)];
    uint64_t job_cgroup_ns =
        misses_some ? UNKNOWN : job_cgroup_read_cpu_ns(&job->meters.job_cgroup);

    if (is_known(job_cgroup_ns) || !job->is_spawned)
        return job_cgroup_ns;
    return read_perf_ns(job);
}

uint64_t job_quick_cpu_ns(struct job *job)
{
    uint64_t whole_ns = job_whole_cpu_ns(job);

    if (is_known(whole_ns))
        return whole_ns;
    return job->meters.task_clock.count > 0 ? read_perf_ns(job) : read_clocks_ns(job);
}
