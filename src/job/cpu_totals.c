/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_totals.c - the CPU time of the job, from the available sources (cpu_sources.h). */

#include "base/amount.h"
#include "base/clock.h"
#include "job/job.h"
#include "source/proc/pid_files.h"

#define TICK_NS (10 * NS_PER_MS)

static uint64_t read_perf_ns(const struct job *job)
{
    uint64_t ns;

    if (event_set_read(&job->meters.task_clock, &ns) < 0)
        return UNKNOWN;
    return job->is_spawned ? ns : job->meters.attached_cpu_ns + ns;
}

/* Returns an upper bound of the stolen part of perf's count: twice the machine's share. */
static uint64_t stolen_ns(const struct job_meters *meters, uint64_t perf_ns)
{
    uint64_t stolen_ns = meters->stolen_ns, busy_ns = meters->busy_ns;

    if (!is_known(perf_ns) || !is_known(stolen_ns) || !is_known(busy_ns))
        return UNKNOWN;
    if (stolen_ns == 0)
        return 0;
    return smaller(stolen_ns,
                   (uint64_t)(2 * (double)perf_ns * (double)stolen_ns / (double)busy_ns));
}

static const char *tree_source(const struct job *job)
{
    if (job->is_spawned)
        return "wait4";
    return job->main.has_clock ? "procfs.cpuclock" : "procfs.stat";
}

/* Returns the possible error of the sum over processes: the times of children that were waited
 * for, and of processes without a clock, are in ticks. */
static uint64_t tick_error_ns(const struct job *job)
{
    uint64_t count = 1;

    for (size_t i = 0; i < job->roster.count; i++) {
        const struct member *member = &job->roster.list[i];

        count += member->reading.child_faults > 0 ? 1 : 0;
        count += is_known(member->reading.clock_ns) ? 0 : 1;
    }
    return count * clock_tick_ns();
}

/* Returns the CPU time of all descendants seen in this run, as their clocks showed it. */
static uint64_t clocks_ns(const struct job *job)
{
    uint64_t sum_ns = job->ledger.ended_clocks_ns;

    for (size_t i = 0; i < job->roster.count; i++) {
        const struct member *member = &job->roster.list[i];

        if (member->group != GROUP_MAIN && !member->notes.is_disowned)
            sum_ns += member_clock_ns(member);
    }
    return sum_ns;
}

/* Returns the CPU time of the tree. When a child exits, its parent inherits the child's time in
 * ticks or not at all, which is less than the child's clock showed. So the sum of the
 * descendants is kept from falling, and main's time is added to it. For an attached job, wait4
 * reports nothing: the sum is kept at or above what the clocks showed. */
static uint64_t tree_ns(struct job *job, uint64_t sum_ns, bool is_first)
{
    struct job_ledger *ledger = &job->ledger;

    raise_to(&ledger->descendants_ns, sub_known(sum_ns, job->main.cpu_ns));
    if (is_first)
        ledger->first_descendants_ns = ledger->descendants_ns;
    else if (!job->is_spawned)
        raise_to(&ledger->descendants_ns, ledger->first_descendants_ns + clocks_ns(job));
    return is_known(sum_ns) ? job->main.cpu_ns + ledger->descendants_ns : UNKNOWN;
}

static void label_cpu(const struct job *job, struct clock_span perf_span,
                      struct job_reading *reading)
{
    const struct {
        const char *name;
        enum counted_by counted_by;
        struct clock_span span;
    } sources[] = {
        [CPU_FROM_TREE] = { tree_source(job), COUNTED_BY_CPU_CLOCKS, job->look_span },
        [CPU_FROM_CGROUP] = { "cgroup.cpu.stat", COUNTED_BY_CGROUP, reading->cpu_span },
        [CPU_FROM_PERF] = { "perf.task-clock", COUNTED_BY_PERF, perf_span },
    };
    enum cpu_source source = reading->cpu.source;
    struct evidence evidence = reading->evidence;

    evidence.left_cgroup = reading->cpu.left_cgroup;
    reading->origin[METRIC_JOB_CPU] = reading->origin[METRIC_DESCENDANTS_CPU] =
        (struct origin){ sources[source].name, reading->origin[METRIC_JOB_CPU].reason,
                         count_is_exact(&evidence, sources[source].counted_by) };
    reading->cpu_span = sources[source].span;
    /* The kernel counts a running process up to its last tick. */
    reading->cpu_error_ns = source == CPU_FROM_TREE ? tick_error_ns(job) : TICK_NS;
}

static void read_split(struct job *job, struct job_reading *reading)
{
    uint64_t *counter = reading->usage.counter;
    const struct evidence *evidence = &reading->evidence;
    bool wait4_is_better = reading->job_cgroup.split_is_by_ticks &&
                           reading->processes_are_exact &&
                           (evidence->has_ended || !evidence->has_begun);
    bool by_cgroup = reading->cpu.source == CPU_FROM_CGROUP && !wait4_is_better &&
                     is_known(reading->job_cgroup.cpu.user_ns) &&
                     is_known(reading->job_cgroup.cpu.system_ns);
    struct origin *user = &reading->origin[METRIC_JOB_USER];
    const struct cpu_split counted = {
        by_cgroup ? reading->job_cgroup.cpu.user_ns : counter[USAGE_USER_NS],
        by_cgroup ? reading->job_cgroup.cpu.system_ns : counter[USAGE_SYSTEM_NS],
    };
    struct cpu_split split =
        cpu_split_divide(&job->ledger.split, counter[USAGE_CPU_NS], counted);

    counter[USAGE_USER_NS] = split.first_ns;
    counter[USAGE_SYSTEM_NS] = split.second_ns;
    /* The stat files of running processes count in ticks. */
    user->is_exact = reading->origin[METRIC_JOB_CPU].is_exact &&
                     (!by_cgroup ? evidence->has_ended || !evidence->has_begun
                                 : !reading->job_cgroup.split_is_by_ticks);
    user->source = by_cgroup          ? "cgroup.cpu.stat"
                   : !job->is_spawned ? "procfs.stat"
                                      : user->source;
    reading->origin[METRIC_JOB_SYSTEM] = *user;
}

void job_read_cpu(struct job *job, uint64_t now_ns, struct job_reading *reading)
{
    uint64_t *counter = reading->usage.counter;
    uint64_t agents_ns = agents_cpu_ns(&job->agents, job->root);
    struct clock_span perf_span = { .from_ns = job_now_ns(job, now_ns) };
    bool has_cgroup = job->meters.job_cgroup.is_adopted || !reading->job_cgroup.is_gone;
    /* Reading perf's count is slow: the kernel sums up all threads. */
    bool needs_perf = job->is_spawned || job->was_thorough;
    struct evidence *evidence = &reading->evidence;
    struct cpu_counts counts = {
        .tree_ns = tree_ns(job, counter[USAGE_CPU_NS], reading->is_first),
        .waited_ns = job->is_spawned ? job->ledger.waited_ns : UNKNOWN,
        .cgroup_ns =
            has_cgroup ? sub_known(reading->job_cgroup.cpu.total_ns, agents_ns) : UNKNOWN,
        .perf_ns = needs_perf ? sub_known(read_perf_ns(job), agents_ns) : UNKNOWN,
        .awaits_wait4 = job->is_spawned && !evidence->has_ended,
        .is_alone = evidence->is_alone,
        .exits_ns = evidence->exits_ns,
        .is_cgroup = job->meters.job_cgroup.is_adopted,
        .left_cgroup = job_left_cgroup(job, CGROUP_CPUACCT),
        .saw_unwaited = job->ledger.saw_unwaited,
        .is_suspect = job->ledger.is_suspect && evidence->has_ended,
    };

    perf_span.until_ns = job_now_ns(job, now_ns);
    counts.stolen_ns = stolen_ns(&job->meters, counts.perf_ns);
    reading->cpu_counts = counts;
    reading->cpu = cpu_sources_choose(&counts);
    evidence->cpu_ns = counts.tree_ns;
    evidence->has_unwaited = reading->cpu.has_unwaited;
    evidence->is_confirmed = reading->cpu.is_confirmed;
    reading->processes_are_exact = count_is_exact(evidence, COUNTED_BY_PROCESSES);
    label_cpu(job, perf_span, reading);
    reading->missed_cpu_ns = cpu_total_add(&job->ledger.cpu, &counts, reading->cpu.source);
    counter[USAGE_CPU_NS] = job->ledger.cpu.has_begun ? job->ledger.cpu.reported_ns : UNKNOWN;
    read_split(job, reading);
}

/* Returns the sum of the processes' clocks; UNKNOWN if there are many. */
static uint64_t read_clocks_ns(const struct job *job)
{
    enum { FEW = 64 };
    uint64_t sum_ns = 0;

    if (!job->uses_clocks || job->roster.count > FEW)
        return UNKNOWN;
    for (size_t i = 0; i < job->roster.count; i++) {
        uint64_t ns;

        if (cpu_clock_read(job->root, job->roster.list[i].id.pid, &ns) == 0)
            sum_ns += ns;
    }
    return sum_ns;
}

/* perf's count misses threads of an attached job that were started while we attached. */
uint64_t job_whole_cpu_ns(struct job *job)
{
    /* The surrounding cgroup also counts the tracker. */
    bool misses_some =
        job->meters.job_cgroup.is_surrounding || job_left_cgroup(job, CGROUP_CPUACCT);
    uint64_t job_cgroup_ns =
        misses_some ? UNKNOWN : job_cgroup_read_cpu_ns(&job->meters.job_cgroup);

    if (is_known(job_cgroup_ns) || !job->is_spawned)
        return job_cgroup_ns;
    return read_perf_ns(job);
}

uint64_t job_quick_cpu_ns(struct job *job)
{
    uint64_t ns = job_whole_cpu_ns(job);

    if (!is_known(ns))
        ns = job->meters.task_clock.count > 0 ? read_perf_ns(job) : read_clocks_ns(job);
    return is_known(ns) ? ns : surrounding_cpu_ns(job);
}
