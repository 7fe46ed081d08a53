/* SPDX-License-Identifier: Apache-2.0 */
/* totals.c - what the job uses: each quantity from the best source that serves. */
#include "base/arithmetic.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/unknown.h"
#include "job/job.h"

/* The cgroup counts what reached the disks, and what is still to be written. The processes count
 * what they dirtied, and more: whole folios. They alone count what goes to other machines. */
static void read_io(const struct job *job, struct job_reading *reading)
{
    uint64_t *written = &reading->usage.counter[USAGE_WRITTEN_BYTES];
    uint64_t bound = sum_u64(reading->leaf.written_bytes, reading->leaf.memory.dirty_bytes);

    /* The counts of an adopted cgroup and of its processes began at different times. */
    if (job->leaf.is_adopted) {
        if (is_known(reading->leaf.written_bytes) && job->storage_is_local) {
            *written = reading->leaf.written_bytes;
            reading->usage.counter[USAGE_READ_BYTES] = reading->leaf.read_bytes;
        }
        return;
    }
    if (is_known(bound) && is_known(*written) && job->storage_is_local)
        *written = smaller(*written, bound);
    raise_to(written, reading->leaf.written_bytes);
    raise_to(&reading->usage.counter[USAGE_READ_BYTES], reading->leaf.read_bytes);
}

/* A sum without one of its parts says nothing. */
static void forget_denied_io(const struct job *job, struct job_reading *reading)
{
    uint64_t *counter = reading->usage.counter;

    for (size_t i = 0; i < job->members.count; i++)
        reading->io_is_denied |= job->members.list[i].io_is_denied;
    if (reading->io_is_denied && !is_known(reading->leaf.read_bytes))
        counter[USAGE_READ_BYTES] = counter[USAGE_WRITTEN_BYTES] = UNKNOWN;
    reading->io_is_denied |= job->has_unknown_chars;
    if (reading->io_is_denied)
        counter[USAGE_READ_CHARS] = counter[USAGE_WRITTEN_CHARS] = UNKNOWN;
}

/* ---- the reading -------------------------------------------------------- */

void job_raise_threads(struct job *job, uint64_t main, uint64_t descendants)
{
    struct heads *peaks = &job->thread_peaks;

    raise_to(&peaks->main_threads, main);
    raise_to(&peaks->descendants_threads, descendants);
    raise_to(&peaks->threads, main + descendants);
}

static void add_living(struct job *job, struct job_reading *reading)
{
    for (size_t i = 0; i < job->members.count; i++) {
        const struct member *member = &job->members.list[i];
        bool is_main = member->pid == job->main_pid;

        if (member->has_left)
            continue;
        usage_add(&reading->usage, &member->usage);
        if (member->is_zombie)
            continue;
        reading->process_count++;
        reading->swap_bytes += member->swap_bytes;
        *(is_main ? &reading->main_threads : &reading->descendants_threads) += member->threads;
    }
    job_raise_threads(job, reading->main_threads, reading->descendants_threads);
}

/* Context switches are known of processes that have ended. Before the job's program runs there are
 * none; while its first process lives, those of a few orphans would say nothing of the job. */
static void read_switches(const struct job *job, struct usage *usage)
{
    uint64_t known = job->has_program ? UNKNOWN : 0;

    if (job->main_has_ended)
        return;
    usage->counter[USAGE_VOLUNTARY_SWITCHES] = known;
    usage->counter[USAGE_INVOLUNTARY_SWITCHES] = known;
}

/* Main's time is as of its last look; once it has ended, or if it has not run, as of now. */
static void read_main_cpu(struct job *job, struct job_reading *reading)
{
    const struct member *main = members_find(&job->members, job->main_pid);

    reading->main_cpu_ns = job->main_cpu_ns;
    reading->main_cpu_span = job->look_span;
    if (main && main->clock_span.from_ns >= job->look_span.from_ns)
        reading->main_cpu_span = main->clock_span;
}

/* Everything that is added up over processes, or counted for all of them. */
static void add_up(struct job *job, uint64_t now_ns, struct job_reading *reading)
{
    *reading = (struct job_reading){ .usage = job->departed };
    reading->cpu_span.from_ns = job_now_ns(job, now_ns);
    leaf_read(&job->leaf, &reading->leaf);
    reading->cpu_span.until_ns = job_now_ns(job, now_ns);
    add_living(job, reading);
    job_read_cpu(job, now_ns, reading);
    read_main_cpu(job, reading);
    read_io(job, reading);
    usage_raise(&reading->usage, &job->reported);
    job->reported = reading->usage;
    read_switches(job, &reading->usage);
    forget_denied_io(job, reading);
    reading->left_memory_cgroup =
        job->escape.has_left[leaf_has(&job->leaf, LEAF_MEMORY) ? LEAF_MEMORY : LEAF_UNIFIED];
    job_read_memory(job, false, &reading->memory);
    reading->main_rss_peak_bytes = job->main_rss_peak_bytes;
    reading->descendants_rss_peak_bytes = job->largest_peak_bytes;
    reading->discount = job->discount;
}

static void read_births(const struct job *job, struct job_reading *reading)
{
    /* What is not settled yet is reported only if nothing comes after it. */
    const struct heads *peak =
        job->was_thorough ? &job->births.heads.peak : &job->births.heads.settled_peak;

    reading->has_thread_events = job->births.source && !job->births.is_machine_wide;
    reading->thread_peaks = reading->has_thread_events ? *peak : job->thread_peaks;
    if (!reading->has_thread_events)
        raise_to(&reading->thread_peaks.threads, reading->leaf.threads_peak);
    reading->started_count = job->started_count;
    reading->process_peak = reading->process_bound = UNKNOWN;
    if (!job->births.source)
        return;
    raise_to(&reading->started_count, job->births.started_count);
    reading->process_bound = job->births.heads.peak.processes;
    /* The connector's events of different CPUs come out of order: it may be one too high. */
    if (!job->births.is_machine_wide)
        reading->process_peak = peak->processes;
}

void job_read(struct job *job, uint64_t now_ns, struct job_reading *ret)
{
    bool was_added_up = !job->sum_holds || job->detail.is_pending;
    struct job_reading reading;

    if (!was_added_up) {
        /* Who waits for a disk or for memory does not run, and yet presses. */
        leaf_read_pressure(&job->leaf, &job->sum.leaf);
    } else {
        add_up(job, now_ns, &job->sum);
        job->sum_holds = true;
    }
    reading = job->sum;
    if (!was_added_up) /* it is as it was, and that is known now */
        reading.cpu_span = reading.main_cpu_span = job->look_span;
    reading.memory_now = reading.memory;
    if (is_known(reading.leaf.memory.anon_bytes))
        raise_to(&reading.memory_now.combined.total_bytes, reading.leaf.memory.anon_bytes);
    reading.process_count_now = reading.process_count;
    read_births(job, &reading);
    job_raise_to_peaks(job, &reading);
    job_read_bounds(job, &reading);
    job_forget_unseen(job, &reading.memory);
    job_forget_unseen(job, &reading.memory_now);
    if (!job->saw_main && !job->saw_descendant)
        reading.at_peak = (struct memory_split)MEMORY_SPLIT_UNKNOWN;
    *ret = reading;
}
