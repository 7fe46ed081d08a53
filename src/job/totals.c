/* SPDX-License-Identifier: Apache-2.0 */
/* totals.c - the usage of the job: each quantity from the best available source. */
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "job/job.h"
#include "source/proc/pid_files.h"

#define JOINED \
    "a process was moved into the cgroup: what it did there before it was found is not known"
#define NO_DELAYS \
    "none was counted: the kernel counts it only with sysctl kernel.task_delayacct=1"
#define NO_REFAULTS "this kernel does not count the refaults of a cgroup of version 1"
#define UNWAITED "some processes were never waited for: what they read and wrote is not known"

/* After a thread has left its process's count, its cgroup is charged up to this CPU time. */
#define EXIT_CPU_NS UINT64_C(10000)

/* ---- completeness of the counts ------------------------------------------------ */

bool job_cgroup_is_exact(const struct job *job, const struct job_reading *reading,
                         enum cgroup_controller tree)
{
    struct evidence evidence = reading->evidence;

    evidence.left_cgroup = job_left_cgroup(job, tree);
    return count_is_exact(&evidence, COUNTED_BY_CGROUP);
}

/* Gathers the evidence known before the CPU times are compared. */
static struct evidence gather_evidence(const struct job *job, const struct job_reading *reading)
{
    const struct process_events *events = &job->process_events;

    return (struct evidence){
        .was_spawned = job->is_spawned,
        .has_begun = job->main.has_program && !(reading->is_first && job->is_spawned),
        .has_ended =
            job->main.has_ended && roster_left_count(&job->roster) == job->roster.count,
        .is_alone = events->source && events->is_exact && events->started_count == 1,
        .is_fresh = job->was_thorough,
        .may_be_unwaited = job->ledger.is_suspect,
        .cpu_ns = UNKNOWN,
        .exits_ns = product_u64(events->exited_threads, EXIT_CPU_NS),
        .cgroup_is_gone = reading->job_cgroup.is_gone,
        .has_all_records = process_events_has_all_records(events),
        .has_all_events = events->source && events->is_exact,
    };
}

/* ---- I/O and events -------------------------------------------------------- */

static const struct {
    enum usage_counter counter;
    enum metric metric;
} io_counters[] = {
    { USAGE_READ_BYTES, METRIC_JOB_READ },
    { USAGE_WRITTEN_BYTES, METRIC_JOB_WRITTEN },
    { USAGE_READ_CHARS, METRIC_JOB_READ_CHARS },
    { USAGE_WRITTEN_CHARS, METRIC_JOB_WRITTEN_CHARS },
};

/* The most that the exit record of a task may lack: the kernel truncates bytes to whole KiB,
 * and writes the record before the task has fully exited. */
enum { UNRECORDED_BYTES = 1023, UNRECORDED_EVENTS = 16 };

/* Labels a counter with its source. The sum over processes may miss processes that were never
 * waited for, and may count others twice: if so, exit records replace it, even if more was
 * reported before. */
static void take_recorded(struct job *job, struct job_reading *reading,
                          enum usage_counter counter, enum metric metric)
{
    const struct evidence *evidence = &reading->evidence;
    const struct process_events *events = &job->process_events;
    uint64_t *value = &reading->usage.counter[counter];
    uint64_t recorded = events->recorded.counter[counter];
    bool has_records = count_is_exact(evidence, COUNTED_BY_EXIT_RECORDS);
    bool is_chars = counter == USAGE_READ_CHARS || counter == USAGE_WRITTEN_CHARS;
    bool sum_is_exact =
        count_is_exact(evidence, COUNTED_BY_PROCESSES) && !(is_chars && job->ledger.lost_chars);
    uint64_t lacking =
        product_u64(events->recorded_tasks,
                    counter < USAGE_MINOR_FAULTS ? UNRECORDED_BYTES : UNRECORDED_EVENTS);
    struct origin *origin = &reading->origin[metric];

    origin->is_exact =
        sum_is_exact || (has_records && (!is_chars || lacking <= recorded / 100));
    if (!has_records || !is_known(recorded) ||
        (is_known(*value) && recorded <= *value &&
         (sum_is_exact || *value - recorded <= lacking)))
        return;
    *value = job->ledger.reported.counter[counter] = recorded;
    origin->source = "taskstats";
}

/* Replaces the sum over processes by the cgroup's count, unless both are equal. */
static void correct_io(struct job_reading *reading, enum metric metric, uint64_t *bytes,
                       uint64_t corrected)
{
    struct origin *origin = &reading->origin[metric];

    if (corrected == *bytes)
        return;
    origin->source = "cgroup.io.stat";
    origin->is_exact = false;
    *bytes = corrected;
}

/* Reads the I/O of the job. The cgroup counts bytes that reached the disks, and bytes still to
 * be written. The processes count the pages they dirtied, rounded up to whole folios; only they
 * count bytes sent to other machines. So the sum over processes is used within the bounds set
 * by the cgroup. The counts of an adopted cgroup and of its processes began at different times,
 * so for it either one or the other is used. */
static void read_io(struct job *job, struct job_reading *reading)
{
    const struct job_cgroup_reading *job_cgroup = &reading->job_cgroup;
    uint64_t *counter = reading->usage.counter;
    uint64_t read, written;
    uint64_t bound = sum_u64(job_cgroup->io.written_bytes, job_cgroup->memory.dirty_bytes);

    for (size_t i = 0; i < ARRAY_SIZE(io_counters); i++)
        take_recorded(job, reading, io_counters[i].counter, io_counters[i].metric);
    read = counter[USAGE_READ_BYTES];
    written = counter[USAGE_WRITTEN_BYTES];
    if (job->meters.job_cgroup.is_adopted && job->storage_is_local) {
        read = first_known(job_cgroup->io.read_bytes, read);
        written = first_known(job_cgroup->io.written_bytes, written);
    } else if (!job->meters.job_cgroup.is_adopted) {
        if (job->storage_is_local && is_known(written))
            written = smaller(written, bound);
        raise_to(&written, job_cgroup->io.written_bytes);
        raise_to(&read, job_cgroup->io.read_bytes);
    }
    correct_io(reading, METRIC_JOB_READ, &counter[USAGE_READ_BYTES], read);
    correct_io(reading, METRIC_JOB_WRITTEN, &counter[USAGE_WRITTEN_BYTES], written);
    /* Pages are counted when they are dirtied, and not all are written: only 0 is certain. */
    reading->origin[METRIC_JOB_WRITTEN].is_exact &= written == 0;
}

/* Makes uncertain zeros unknown: a 0 would mean no I/O, but processes with missing counts may
 * have had some. */
static void forget_uncertain_zeros(const struct job *job, struct job_reading *reading)
{
    for (size_t i = 0; i < ARRAY_SIZE(io_counters); i++) {
        uint64_t *value = &reading->usage.counter[io_counters[i].counter];
        struct origin *origin = &reading->origin[io_counters[i].metric];

        if (*value != 0 ||
            (!job->ledger.has_joined && (!reading->evidence.has_unwaited || origin->is_exact)))
            continue;
        *value = UNKNOWN;
        origin->reason = job->ledger.has_joined ? JOINED : UNWAITED;
    }
}

/* Makes the I/O unknown if a part cannot be read. */
static void forget_denied_io(const struct job *job, struct job_reading *reading)
{
    uint64_t *counter = reading->usage.counter;

    for (size_t i = 0; i < job->roster.count; i++)
        reading->io_is_denied |= job->roster.list[i].reading.io_is_denied;
    if (reading->io_is_denied && !is_known(reading->job_cgroup.io.read_bytes))
        counter[USAGE_READ_BYTES] = counter[USAGE_WRITTEN_BYTES] = UNKNOWN;
    reading->io_is_denied |= job->ledger.has_unknown_chars;
    if (reading->io_is_denied)
        counter[USAGE_READ_CHARS] = counter[USAGE_WRITTEN_CHARS] = UNKNOWN;
}

/* ---- the reading -------------------------------------------------------- */

void job_raise_threads(struct job *job, uint64_t threads[GROUP_COUNT])
{
    threads[GROUP_JOB] = threads[GROUP_MAIN] + threads[GROUP_DESCENDANTS];
    for (int i = 0; i < GROUP_COUNT; i++)
        raise_to(&job->marks.thread_peaks[i], threads[i]);
}

static void add_living(struct job *job, struct job_reading *reading)
{
    for (size_t i = 0; i < job->roster.count; i++) {
        const struct member *member = &job->roster.list[i];
        struct usage usage = member_usage(member);

        if (member->account.has_left)
            continue;
        usage_add(&reading->usage, &usage);
        if (member->reading.is_zombie)
            continue;
        reading->process_count++;
        reading->swap_bytes += member->reading.swap_bytes;
        reading->threads[member->group] += member->reading.threads;
    }
    reading->swap_bytes = job_cap_swap(job, reading->swap_bytes);
    raise_to(&reading->swap_bytes, job->peaks.swap_bytes);
    job_raise_threads(job, reading->threads);
}

/* Reads page faults and context switches. Page faults of a running process are in its stat
 * file. Context switches are known only for processes that we waited for: before the job's
 * program runs there are none; while its first process is alive, the counts of a few orphans
 * would be misleading. */
static void read_events(struct job *job, struct job_reading *reading)
{
    uint64_t *counter = reading->usage.counter;
    const struct evidence *evidence = &reading->evidence;

    take_recorded(job, reading, USAGE_MAJOR_FAULTS, METRIC_JOB_MAJOR_FAULTS);
    take_recorded(job, reading, USAGE_MINOR_FAULTS, METRIC_JOB_MINOR_FAULTS);
    take_recorded(job, reading, USAGE_VOLUNTARY_SWITCHES, METRIC_JOB_VOLUNTARY_SWITCHES);
    take_recorded(job, reading, USAGE_INVOLUNTARY_SWITCHES, METRIC_JOB_INVOLUNTARY_SWITCHES);
    if (!job->main.has_ended || !job->is_spawned)
        counter[USAGE_VOLUNTARY_SWITCHES] = counter[USAGE_INVOLUNTARY_SWITCHES] =
            evidence->has_begun ? UNKNOWN : 0;
}

/* Reads waiting times. Records of all threads have the whole time; looks at processes miss
 * exited threads and the time after the last look. A kernel that counts no block I/O delay
 * reports 0. */
static void read_waits(struct job *job, struct job_reading *reading)
{
    const struct usage *recorded = &job->process_events.recorded;
    uint64_t *counter = reading->usage.counter;
    bool has_begun = reading->evidence.has_begun;

    if (count_is_exact(&reading->evidence, COUNTED_BY_EXIT_RECORDS) &&
        is_known(recorded->counter[USAGE_CPU_WAIT_NS])) {
        counter[USAGE_CPU_WAIT_NS] = recorded->counter[USAGE_CPU_WAIT_NS];
        reading->origin[METRIC_JOB_CPU_WAIT] = (struct origin){ "taskstats", NULL, true };
        counter[USAGE_IO_WAIT_NS] = recorded->counter[USAGE_IO_WAIT_NS];
        if (counter[USAGE_IO_WAIT_NS] == 0)
            counter[USAGE_IO_WAIT_NS] = UNKNOWN;
        reading->origin[METRIC_JOB_IO_WAIT].reason = NO_DELAYS;
    } else {
        counter[USAGE_IO_WAIT_NS] = has_begun ? UNKNOWN : 0;
    }
    if (!has_begun) {
        counter[USAGE_CPU_WAIT_NS] = 0;
        reading->origin[METRIC_JOB_CPU_WAIT].is_exact = true;
    }
}

static void read_hardware(const struct job *job, struct job_reading *reading)
{
    bool is_exact = counters_read(&job->meters.counters, reading->hardware);

    for (int i = 0; i < COUNTER_COUNT; i++)
        reading->origin[METRIC_JOB_CYCLES + i].is_exact = is_exact;
}

/* Reads the CPU time of main. A counter of the whole job is read after all processes, which may
 * take long. Main's clock is read again after that counter: main may be ahead of the counter,
 * but the remainder is never more than the descendants have used. Both parts add up to the
 * job's time. */
static void read_main_cpu(struct job *job, uint64_t now_ns, struct job_reading *reading)
{
    const struct member *main = roster_member(&job->roster, job->main_pid);
    uint64_t ns, job_ns = reading->usage.counter[USAGE_CPU_NS];

    reading->main_cpu_span = job->look_span;
    if (main && main->reading.clock_span.from_ns >= job->look_span.from_ns)
        reading->main_cpu_span = main->reading.clock_span;
    if (reading->cpu.source != CPU_FROM_TREE && main && is_known(main->reading.clock_ns) &&
        cpu_clock_read(job->root, main->id.pid, &ns) == 0) {
        raise_to(&job->main.cpu_ns, ns);
        reading->main_cpu_span =
            (struct clock_span){ reading->cpu_span.until_ns, job_now_ns(job, now_ns) };
    }
    reading->parts = (struct cpu_split){ job->main.cpu_ns, UNKNOWN };
    if (is_known(job_ns)) {
        cpu_split_set(&job->ledger.parts, job_ns, job->main.cpu_ns);
        reading->parts = job->ledger.parts;
    }
    reading->origin[METRIC_MAIN_CPU].source =
        job->main.has_clock ? "procfs.cpuclock" : "procfs.stat";
}

/* Sums up the processes, and reads counters of the whole job. */
static void add_up(struct job *job, uint64_t now_ns, struct job_reading *reading)
{
    *reading =
        (struct job_reading){ .usage = job->ledger.departed, .is_first = !job->was_read };
    job_label(job, reading);
    reading->cpu_span.from_ns = job_now_ns(job, now_ns);
    surrounding_update(job);
    job_cgroup_read(&job->meters.job_cgroup, &reading->job_cgroup);
    reading->cpu_span.until_ns = job_now_ns(job, now_ns);
    reading->missed_cgroup_peak = job_missed_cgroup_peak(job, now_ns, &reading->job_cgroup);
    reading->evidence = gather_evidence(job, reading);
    add_living(job, reading);
    if (reading->is_first)
        job_note_first_reading(job);
    job_read_cpu(job, now_ns, reading);
    if (job->meters.job_cgroup.is_surrounding && !reading->evidence.has_unwaited)
        /* A surrounding cgroup also counts the files of the tracker. */
        reading->job_cgroup.io.read_bytes = reading->job_cgroup.io.written_bytes = UNKNOWN;
    read_io(job, reading);
    usage_raise(&reading->usage, &job->ledger.reported);
    job->ledger.reported = reading->usage;
    read_main_cpu(job, now_ns, reading);
    read_events(job, reading);
    read_waits(job, reading);
    read_hardware(job, reading);
    forget_denied_io(job, reading);
    forget_uncertain_zeros(job, reading);
    job_read_memory(job, job->is_early, &reading->memory);
    for (int i = 0; i < GROUP_JOB; i++) {
        reading->rss_peak_bytes[i] = job->marks.rss_peak_bytes[i];
        raise_to(&reading->rss_peak_bytes[GROUP_JOB], job->marks.rss_peak_bytes[i]);
    }
    job_read_discount(job, reading->discount);
}

/* Whether this is the last look of the run. */
static bool is_final(const struct job *job)
{
    return job->was_thorough && !job->is_border;
}

/* Raises each peak of threads to the peak that process events counted, if that is higher.
 * Readings of /proc miss short-lived threads; events may count threads that are about to exit. */
static void raise_threads_by_events(const struct job *job, struct job_reading *reading)
{
    const struct process_events *events = &job->process_events;
    uint64_t *peaks = reading->thread_peaks;
    const struct origin *of_job = &reading->origin[METRIC_JOB_THREADS_PEAK];
    static const enum metric metrics[GROUP_COUNT] = { METRIC_MAIN_THREADS_PEAK,
                                                      METRIC_DESCENDANTS_THREADS_PEAK,
                                                      METRIC_JOB_THREADS_PEAK };

    for (int i = 0; i < GROUP_COUNT; i++) {
        const struct event_peak *estimate = &events->thread_peaks[i];
        uint64_t count = is_final(job) ? estimate->count : estimate->settled;

        if (of_job->is_exact)
            count = smaller(count, peaks[GROUP_JOB]);
        if (count <= peaks[i])
            continue;
        peaks[i] = count;
        reading->origin[metrics[i]] = (struct origin){ events->source, NULL, false };
    }
    raise_to(&peaks[GROUP_JOB], larger(peaks[GROUP_MAIN], peaks[GROUP_DESCENDANTS]));
}

/* Process events count the threads of each group; a cgroup counts only the job's. */
static void read_thread_peaks(const struct job *job, const struct heads *by_events,
                              struct job_reading *reading)
{
    const struct process_events *events = &job->process_events;
    struct origin *origins = reading->origin, *peak = &origins[METRIC_JOB_THREADS_PEAK];

    if (events->source && !events->is_machine_wide && !events->saw_agent) {
        memcpy(reading->thread_peaks, by_events->threads, sizeof(reading->thread_peaks));
        peak->source = events->source;
        peak->is_exact = count_is_exact(&reading->evidence, COUNTED_BY_EVENTS);
        origins[METRIC_MAIN_THREADS_PEAK] = origins[METRIC_DESCENDANTS_THREADS_PEAK] = *peak;
        return;
    }
    memcpy(reading->thread_peaks, job->marks.thread_peaks, sizeof(reading->thread_peaks));
    raise_to(&reading->thread_peaks[GROUP_JOB], reading->job_cgroup.threads_peak);
    if (is_known(reading->job_cgroup.threads_peak))
        peak->is_exact = job_cgroup_is_exact(job, reading, CGROUP_PIDS);
    else
        *peak = origins[METRIC_JOB_THREADS];
    if (events->source && events->is_exact && !events->saw_agent)
        raise_threads_by_events(job, reading);
}

/* Estimates the peak of the number of processes. The connector delivers events of different
 * CPUs out of order, so its peak is an estimate, limited by the cgroup's count. */
static void estimate_process_peak(const struct job *job, struct job_reading *reading)
{
    const struct event_peak *estimate = &job->process_events.process_peak;
    uint64_t count = is_final(job) ? estimate->count : estimate->settled;

    if (reading->origin[METRIC_JOB_THREADS_PEAK].is_exact)
        count = smaller(count, reading->thread_peaks[GROUP_JOB]);
    reading->process_peak = count;
    reading->origin[METRIC_JOB_PROCESSES_PEAK].is_exact = false;
    /* Each process has at least one thread: samples may have counted fewer. */
    raise_to(&reading->thread_peaks[GROUP_JOB], count);
    raise_to(&reading->thread_peaks[GROUP_DESCENDANTS], count - 1);
}

static void read_process_events(const struct job *job, struct job_reading *reading)
{
    const struct process_events *events = &job->process_events;
    /* Unsettled values are reported only at the end of the run. */
    const struct heads *peak = is_final(job) ? &events->peak : &events->settled_peak;
    struct origin by_events = { events->source, NULL,
                                count_is_exact(&reading->evidence, COUNTED_BY_EVENTS) };

    read_thread_peaks(job, peak, reading);
    reading->started_count = job->root->proc_fault ? UNKNOWN : job->started_count;
    reading->process_peak = reading->process_bound = UNKNOWN;
    if (!events->source)
        return;
    reading->origin[METRIC_JOB_STARTED] = reading->origin[METRIC_JOB_PROCESSES_PEAK] =
        by_events;
    if (events->is_exact) /* does not include agents that exited before they were recognized */
        reading->started_count = events->started_count;
    else
        raise_to(&reading->started_count, events->started_count);
    reading->process_bound = events->peak.processes;
    if (events->saw_agent)
        return;
    if (events->is_machine_wide)
        estimate_process_peak(job, reading);
    else
        reading->process_peak = peak->processes;
}

/* Reads the peak of the cgroup's memory. A process that has left the cgroup used memory
 * elsewhere: if there is one, the peak is raised to the resident memory of the job. */
static void read_memory_peak(const struct job *job, struct job_reading *reading)
{
    static const char *const names[2][2] = {
        { "cgroup.memory.peak", "cgroup.memory.max_usage_in_bytes" },
        { "cgroup.memory.current", "cgroup.memory.usage_in_bytes" },
    };
    const enum metric larger_ones[] = { METRIC_JOB_RSS, METRIC_JOB_RSS_PEAK };
    const uint64_t sizes[] = { reading->memory.of[GROUP_JOB].total_bytes,
                               reading->rss_peak_bytes[GROUP_JOB] };
    struct job_cgroup_reading *job_cgroup = &reading->job_cgroup;
    struct origin *origin = &reading->origin[METRIC_JOB_MEMORY_PEAK];
    bool is_v1 = job_cgroup_has(&job->meters.job_cgroup, CGROUP_MEMORY);
    bool is_whole;

    origin->source = names[job_cgroup->memory_peak_is_sampled][is_v1];
    is_whole = job_cgroup_is_exact(job, reading, CGROUP_MEMORY);
    surrounding_bound(job, reading);
    origin->is_exact =
        is_whole && !job_cgroup->memory_peak_is_sampled && !reading->memory_is_uncertain;
    for (size_t i = 0; i < ARRAY_SIZE(sizes) && !is_whole; i++) {
        if (is_known(sizes[i]) && sizes[i] > job_cgroup->memory_peak_bytes)
            origin->source = reading->origin[larger_ones[i]].source;
        raise_to(&job_cgroup->memory_peak_bytes, sizes[i]);
    }
}

static void read_cgroup(const struct job *job, struct job_reading *reading)
{
    reading->events = job->meters.events;
    reading->anon_bytes =
        sum_u64(reading->job_cgroup.memory.anon_bytes, reading->job_cgroup.memory.shmem_bytes);
    reading->refaulted_bytes =
        product_u64(reading->job_cgroup.memory.refaulted_pages, job->root->page_bytes);
    if (is_known(reading->job_cgroup.memory.anon_bytes))
        reading->origin[METRIC_JOB_REFAULTED].reason = NO_REFAULTS;
    read_memory_peak(job, reading);
    reading->origin[METRIC_JOB_OOM_KILLS].is_exact = !job_left_cgroup(job, CGROUP_MEMORY);
    for (int i = 0; i < PRESSURE_COUNT; i++)
        /* A surrounding cgroup also counts the pressure of the tracker. */
        reading->origin[METRIC_JOB_CPU_PRESSURE + i].is_exact =
            job_cgroup_is_exact(job, reading, CGROUP_UNIFIED) &&
            !job->meters.job_cgroup.is_surrounding;
}

/* After the cgroup was removed, the last values are kept. */
static void collect_cgroup_events(struct job *job)
{
    struct cgroup_events events;

    cgroup_watch_read(&job->meters.cgroup_watch, job->root, &events);
    raise_to(&job->meters.events.oom_kills_count, events.oom_kills_count);
    raise_to(&job->meters.events.throttled_ns, events.throttled_ns);
}

void job_collect(struct job *job, uint64_t now_ns)
{
    if (!job->sum_holds || job->sharing.is_pending) {
        add_up(job, now_ns, &job->sum);
        job->sum_holds = job->was_read = true;
    } else {
        /* A process that waits for a disk or for memory does not run, but causes pressure. */
        job_cgroup_read_pressure(&job->meters.job_cgroup, &job->sum.job_cgroup);
        /* The values are unchanged, as the look has confirmed. */
        job->sum.cpu_span = job->sum.main_cpu_span = job->look_span;
    }
    job_collect_cgroup_memory(job);
    surrounding_read_peak(job);
    collect_cgroup_events(job);
}

void job_read(const struct job *job, struct job_reading *ret)
{
    struct job_reading reading = job->sum;

    reading.memory_now = reading.memory;
    if (job_anon_is_certain(job, &reading))
        raise_to(&reading.memory_now.of[GROUP_JOB].total_bytes,
                 reading.job_cgroup.memory.anon_bytes);
    reading.process_count_now = reading.process_count;
    read_process_events(job, &reading);
    job_raise_to_peaks(job, &reading);
    job_read_bounds(job, &reading);
    job_forget_unseen(job, &reading.memory);
    job_forget_unseen(job, &reading.memory_now);
    if (!job->marks.has_seen[GROUP_MAIN] && !job->marks.has_seen[GROUP_DESCENDANTS])
        reading.at_peak = (struct memory_split)MEMORY_SPLIT_UNKNOWN;
    job_label_denied(job, &reading);
    read_cgroup(job, &reading);
    job_read_network(job, &reading);
    *ret = reading;
}

void job_begin_interval(struct job *job)
{
    job->peaks = JOB_PEAKS_NONE;
    job->sharing.unread_peak_bytes = job->sharing.expected_bytes = 0;
    job->sentinel.has_settled &= job->is_early; /* otherwise the sample has read everything */
    activity_begin_interval(&job->activity);
}
