/* SPDX-License-Identifier: Apache-2.0 */
/* glance.c - reads the job between two samples, so that peaks are not missed. */
#include "base/amount.h"
#include "base/clock.h"
#include "job/job.h"
#include "source/host/meminfo.h"

/* Ignore changes of the cgroup's memory below this size. */
#define SAME_BYTES ((uint64_t)512 * 1024)
enum { SAME_SHARE = 64 };

/* Ignore growth of the machine's memory below this size: other programs cause it, too. */
#define SENTINEL_BYTES ((uint64_t)4 * 1024 * 1024)

enum { FEW = 8 };

/* A job cannot touch a significant amount of memory in less CPU time than this. */
#define SENTINEL_CPU_NS (250 * NS_PER_US)

static uint64_t ran_ns(struct job *job)
{
    uint64_t cpu_ns = job_quick_cpu_ns(job);

    return is_known(cpu_ns) && is_known(job->activity.cpu_ns)
               ? abs_diff(cpu_ns, job->activity.cpu_ns)
               : UNKNOWN;
}

void job_note_huge_pages(struct job *job)
{
    struct job_meters *meters = &job->meters;

    if (meters->huge_pool_bytes > 0)
        meters->huge_used_bytes = huge_pages_read(&meters->huge_pages, job->root);
    raise_to(&meters->huge_pool_bytes, meters->huge_used_bytes);
}

void job_note_status_read(struct job *job)
{
    job->meters.swap_read_bytes = job->meters.swap_used_bytes;
    job->meters.huge_read_bytes = job->meters.huge_used_bytes;
}

/* Returns the memory of the job cgroup; UNKNOWN: no cgroup counts all processes. */
static uint64_t cgroup_bytes(struct job *job)
{
    return job_left_cgroup(job, CGROUP_MEMORY)
               ? UNKNOWN
               : job_cgroup_read_memory_bytes(&job->meters.job_cgroup);
}

/* Reads the sentinel. `bytes`: memory of the job cgroup; UNKNOWN: read the machine's. */
static void read_sentinel(struct job *job, uint64_t bytes)
{
    struct job_sentinel *sentinel = &job->sentinel;
    uint64_t least_growth =
        is_known(bytes) ? larger(SAME_BYTES, bytes / SAME_SHARE)
                        : larger(SENTINEL_BYTES, job->activity.resident_bytes / SAME_SHARE);

    if (!is_known(bytes))
        bytes = anonymous_bytes_read(&sentinel->file, job->root);
    if (!is_known(bytes))
        return;
    sentinel->least_bytes = smaller(sentinel->least_bytes, bytes);
    sentinel->grown_bytes = bytes - sentinel->least_bytes;
    sentinel->has_grown = sentinel->grown_bytes >= least_growth;
}

/* Notes whether memory is still rising. `before_bytes`: its growth at the last reading. */
static void note_rise(struct job_sentinel *sentinel, uint64_t before_bytes)
{
    bool was_rising = sentinel->is_rising;

    sentinel->is_rising = sub_floor0(sentinel->grown_bytes, before_bytes) >= SENTINEL_BYTES;
    sentinel->has_settled = !sentinel->is_rising && (was_rising || sentinel->has_settled);
}

/* Restarts the measurement of growth, and of the page faults that explain it. */
static void reset_sentinel(struct job *job)
{
    struct job_sentinel *sentinel = &job->sentinel;

    sentinel->least_bytes += sentinel->grown_bytes;
    sentinel->grown_bytes = 0;
    sentinel->has_grown = false;
    for (size_t i = 0; i < job->roster.count; i++)
        job->roster.list[i].reading.before_faults = job->roster.list[i].reading.faults;
}

bool job_watch_memory(struct job *job)
{
    struct job_sentinel *sentinel = &job->sentinel;
    uint64_t bytes = cgroup_bytes(job), cpu_ns = UNKNOWN, before_bytes = sentinel->grown_bytes;
    bool is_small = job->activity.resident_bytes < SAME_SHARE * SENTINEL_BYTES;

    /* For many processes, reading CPU time takes longer than reading the machine's memory. */
    if (!is_known(bytes) && (is_small || job->roster.count <= FEW))
        cpu_ns = ran_ns(job);
    if (cpu_ns >= SENTINEL_CPU_NS) /* also true for UNKNOWN */
        read_sentinel(job, bytes);
    note_rise(sentinel, before_bytes);
    job_note_huge_pages(job);
    /* Memory changes of other programs may hide the growth of a small job. */
    sentinel->is_raised = sentinel->has_grown ||
                          (is_small && is_known(cpu_ns) && cpu_ns >= SENTINEL_CPU_NS) ||
                          job->meters.huge_used_bytes != job->meters.huge_read_bytes;
    return sentinel->is_raised;
}

uint64_t job_gpu_space_bytes(struct job *job)
{
    uint64_t sum_bytes = 0;

    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];

        if (is_known(member->notes.gpu_peak_bytes) && !member->account.has_left &&
            !member->reading.is_zombie)
            sum_bytes = sum_u64(sum_bytes, member_space_bytes(member, job->root));
    }
    return sum_bytes;
}

uint64_t job_cap_swap(const struct job *job, uint64_t sum_bytes)
{
    return smaller(sum_bytes, swap_in_use_bytes(job->root));
}

/* Reads the resident sizes of all processes, and swapped sizes if they may have changed. */
static void read_sizes(struct job *job, const struct look *look)
{
    uint64_t swap_bytes = 0, process_count = 0, resident_bytes = 0,
             threads[GROUP_COUNT] = { 0 };

    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];

        if (member->account.has_left || (member->reading.is_zombie && look->uses_clocks))
            continue;
        if (look->uses_clocks)
            member_glance(member, look);
        else /* the ticks are in a file that disappears when the process exits */
            member_look(member, look);
        if (look->uses_clocks && look->reads_status)
            member_read_status(member, look->root);
        swap_bytes += member->reading.swap_bytes;
        if (member->group == GROUP_MAIN)
            job_check_program(job, member, look);
        if (cgroup_escape_is_due(&job->meters.escape, member))
            cgroup_escape_check(&job->meters.escape, job->root, member);
        job_remember(job, member);
        if (member->account.has_left || member->reading.rss_bytes == 0)
            continue;
        process_count++;
        resident_bytes += member->reading.rss_bytes + member->reading.hugetlb_bytes;
        threads[member->group] += member->reading.threads;
    }
    raise_to(&job->peaks.swap_bytes, job_cap_swap(job, swap_bytes));
    job_note_status_read(job);
    job_raise_threads(job, threads);
    /* Accounts for all exited processes, zombies too: if a parent were accounted for before
     * its child, the child's usage would seem lost. */
    job_account_exits(job);
    raise_to(&job->peaks.process_count, process_count);
    job_cgroup_raise_memory(&job->meters.job_cgroup, &job->peaks.job_cgroup);
    activity_note_memory(&job->activity, resident_bytes, process_count);
}

/* Whether the memory of the job may have changed. While the job grows, its memory is always
 * read, and a few times afterwards, to get the details of the new size. */
static bool may_have_changed(struct job *job)
{
    uint64_t before_bytes = job->glanced_memory_bytes;
    uint64_t bytes = job_cgroup_read_memory_bytes(&job->meters.job_cgroup);

    if (activity_state(&job->activity) != JOB_GROWS && is_known(bytes) &&
        !job_left_cgroup(job, CGROUP_MEMORY) &&
        abs_diff(bytes, before_bytes) <= larger(SAME_BYTES, before_bytes / SAME_SHARE))
        return false;
    job->glanced_memory_bytes = bytes;
    return true;
}

/* Reads growth that only page faults show: pages copied on write. */
static void read_copies(struct job *job, uint64_t resident_before)
{
    uint64_t grown = sub_floor0(job->activity.resident_bytes, resident_before);
    uint64_t unexplained = sub_floor0(job->sentinel.grown_bytes, grown);
    uint64_t faults = 0;

    if (job->roster.count < 2 || unexplained < SENTINEL_BYTES)
        return;
    for (size_t i = 0; i < job->roster.count; i++) {
        struct member *member = &job->roster.list[i];

        faults +=
            sub_floor0(member_read_faults(member, job->root), member->reading.before_faults);
    }
    unexplained = smaller(unexplained, sub_floor0(faults * job->root->page_bytes, grown));
    job->sharing.copied_bytes += unexplained;
    if (unexplained >= SENTINEL_BYTES)
        activity_note_growth(&job->activity);
}

/* Reads the events of new processes, or searches for them. If the job has settled, reads all files
 * as a sample does: the page faults that show copies on write are in the slower ones. */
static void find_processes(struct job *job, const struct look *look, bool is_settled)
{
    if (is_settled)
        job_refresh(job, look->now_ns, false);
    else if (job->process_events.source)
        job_take_events(job, look->now_ns, false);
    else
        job_search(job, look);
}

void job_glance(struct job *job, uint64_t now_ns)
{
    uint64_t resident_before = job->activity.resident_bytes;
    struct job_sentinel *sentinel = &job->sentinel;
    bool is_raised, is_settled, is_urgent;
    struct memory_estimate estimate;
    struct look look;

    read_sentinel(job, cgroup_bytes(job));
    is_raised = sentinel->is_raised || sentinel->has_grown;
    job->meters.swap_used_bytes =
        first_known(swap_in_use_bytes(job->root), job->meters.swap_used_bytes);
    job_note_huge_pages(job);
    look = job_look(job, now_ns, false);
    job_note_cpu(job, now_ns, job_quick_cpu_ns(job));
    is_settled = job->activity.has_come_to_rest || sentinel->has_settled;
    is_urgent = is_settled || is_raised || look.reads_status;
    job_note_newborn(job);
    if (job->activity.is_at_rest && !is_urgent) {
        reset_sentinel(job); /* other programs have grown */
        return;
    }
    find_processes(job, &look, is_settled);
    if (!may_have_changed(job) && !is_urgent) {
        activity_note_memory(&job->activity, job->activity.resident_bytes,
                             job->activity.process_count);
        return;
    }
    job->sum_holds = false;
    read_sizes(job, &look);
    if (is_raised)
        read_copies(job, resident_before);
    /* Otherwise keep the minimum: growth in small steps adds up. */
    if (sentinel->has_grown || job->activity.is_at_rest)
        reset_sentinel(job);
    /* If memory sharing is read at every sample, it is not read more often. */
    job_read_memory(job, !is_settled || job->sharing.mode == SPOOR_DETAIL_ALWAYS, &estimate);
    sentinel->is_raised = sentinel->has_settled = false;
}
