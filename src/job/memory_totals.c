/* SPDX-License-Identifier: Apache-2.0 */
/* memory_totals.c - the current memory of the job, and its maximum since the last reading. */
#include "base/amount.h"
#include "job/job.h"

static void forget(struct memory_split *split)
{
    *split = (struct memory_split)MEMORY_SPLIT_UNKNOWN;
}

/* Makes the memory of processes that exited before they were seen unknown instead of 0, unless
 * there were no such processes. */
void job_forget_unseen(const struct job *job, struct memory_estimate *memory)
{
    bool has_descendants = job->started_count > 1 || job->ledger.has_waited;
    const bool *has_seen = job->marks.has_seen;
    struct memory_split *descendants = &memory->of[GROUP_DESCENDANTS];

    if (!has_seen[GROUP_MAIN])
        forget(&memory->of[GROUP_MAIN]);
    if (has_descendants && !has_seen[GROUP_DESCENDANTS])
        forget(descendants);
    else if (!has_descendants && descendants->total_bytes == 0)
        *descendants = (struct memory_split){ 0 };
    if (!has_seen[GROUP_MAIN] && !has_seen[GROUP_DESCENDANTS])
        forget(&memory->of[GROUP_JOB]);
}

/* Records by how much resident sizes may exceed the memory in use: merged pages, pages that one
 * process maps twice, and guessed sizes of processes that were not read. */
static void note_discount(struct job *job)
{
    const struct memory_sharing *sharing = &job->sharing;
    const struct memory_estimate *found = &sharing->estimate;
    struct double_mapping *doubled = job->marks.doubled;
    uint64_t *discount = job->marks.discount;

    if (sharing->is_denied || sharing->mode == SPOOR_DETAIL_NEVER)
        return;
    if (sharing->was_read) {
        for (enum member_group i = GROUP_MAIN; i < GROUP_JOB; i++) {
            double_mapping_read(&doubled[i], found->mapped_max[i], found->doubled[i]);
            double_mapping_seen(&doubled[i], sharing->base.of[i].mapped_max);
            raise_to(&discount[i], memory_estimate_discount(found, i));
        }
        raise_to(&discount[GROUP_DESCENDANTS], sharing->guessed_bytes);
        raise_to(&discount[GROUP_JOB], sharing->guessed_bytes);
    } else if (sharing->delta.of[GROUP_JOB].count == 1) {
        double_mapping_seen(&doubled[GROUP_MAIN], sharing->delta.of[GROUP_MAIN].mapped);
    }
}

void job_read_discount(const struct job *job, uint64_t ret[GROUP_COUNT])
{
    ret[GROUP_JOB] = job->marks.discount[GROUP_JOB];
    for (int i = 0; i < GROUP_JOB; i++) {
        ret[i] = larger(job->marks.discount[i], double_mapping_bytes(&job->marks.doubled[i]));
        raise_to(&ret[GROUP_JOB], ret[i]);
    }
}

/* Keeps the split of the highest total with known parts. */
static void keep_highest(struct memory_split *highest, const struct memory_split *seen)
{
    struct memory_split split = *seen;

    if (is_known(split.private_bytes))
        split.total_bytes = split.private_bytes + split.shared_bytes;
    memory_split_keep_higher(highest, &split);
}

/* Adds huge pages, which resident sizes do not include. Processes of a group may share them:
 * they have at most what the machine uses, and pages counted more than once are shared, as are
 * those that a process shares with any other. */
static void count_huge_pages(struct job *job, struct memory_estimate *estimate)
{
    uint64_t all[GROUP_COUNT] = { 0 };
    uint64_t most[GROUP_COUNT] = { 0 }, most_shared[GROUP_COUNT] = { 0 }; /* of one process */

    for (size_t i = 0; i < job->roster.count && job->marks.hugetlb_bytes > 0; i++) {
        const struct member *member = &job->roster.list[i];

        if (member->account.has_left || member->reading.rss_bytes == 0 ||
            member->reading.borrows_memory)
            continue;
        all[member->group] += member->reading.hugetlb_bytes;
        raise_to(&most[member->group], member->reading.hugetlb_bytes);
        raise_to(&most_shared[member->group],
                 smaller(member->survey.shared_huge_bytes, member->reading.hugetlb_bytes));
    }
    all[GROUP_JOB] = all[GROUP_MAIN] + all[GROUP_DESCENDANTS];
    most[GROUP_JOB] = larger(most[GROUP_MAIN], most[GROUP_DESCENDANTS]);
    most_shared[GROUP_JOB] = larger(most_shared[GROUP_MAIN], most_shared[GROUP_DESCENDANTS]);
    for (int i = 0; i < GROUP_COUNT; i++) {
        uint64_t total = smaller(all[i], larger(most[i], job->meters.huge_used_bytes));
        uint64_t shared = smaller(larger(all[i] - total, most_shared[i]), total);
        struct memory_split *split = &estimate->of[i];

        split->total_bytes += total;
        if (is_known(split->private_bytes)) {
            split->private_bytes += total - shared;
            split->shared_bytes += shared;
        }
        /* Only the pages of one process are certain: the rest may belong to another program. */
        raise_to(&job->marks.discount[i], total - most[i]);
        if (i == GROUP_JOB && is_known(estimate->pss_bytes))
            estimate->pss_bytes += total;
    }
}

void job_read_memory(struct job *job, bool is_glance, struct memory_estimate *ret)
{
    struct memory_estimate *peaks = &job->peaks.memory;

    job->sharing.activity = activity_state(&job->activity);
    if (job->sharing.activity == JOB_GROWS && job->sentinel.has_settled)
        job->sharing.activity = JOB_RUNS;
    memory_sharing_update(&job->sharing, &job->roster, is_glance, ret);
    count_huge_pages(job, ret);
    keep_highest(&job->peaks.at_peak, &ret->of[GROUP_JOB]);
    memory_estimate_raise(peaks, ret);
    memory_estimate_order(peaks);
    note_discount(job);
}

/* Raises the values. Private and shared memory stay unknown if we may not read them. */
static void raise_known(const struct job *job, struct memory_estimate *memory,
                        const struct memory_estimate *peaks)
{
    struct memory_estimate seen = *peaks;

    if (job->sharing.is_denied || job->sharing.mode == SPOOR_DETAIL_NEVER)
        memory_estimate_forget_parts(&seen);
    memory_estimate_raise(memory, &seen);
}

/* Stack, page tables and structures: 76 kB were measured for small processes on Linux 6.18. */
#define KERNEL_BYTES_PER_PROCESS ((uint64_t)80 * 1024)

/* Returns an upper bound of the part of the cgroup's peak that no process maps: kernel memory
 * and page cache. Page cache is at most the larger of two numbers: the most seen, and all bytes
 * read and written. UNKNOWN: no bound. */
static uint64_t not_resident_bytes(const struct job *job, const struct job_reading *reading)
{
    const struct cgroup_memory *memory = &reading->job_cgroup.memory;
    uint64_t current_bytes = reading->cgroup_memory_bytes;
    uint64_t backed_bytes =
        sum_u64(sum_u64(memory->anon_bytes, memory->shmem_bytes), memory->page_cache_bytes);
    uint64_t cache_bytes = sum_u64(reading->usage.counter[USAGE_READ_CHARS],
                                   reading->usage.counter[USAGE_WRITTEN_CHARS]);
    uint64_t processes = job->peaks.process_count;

    if (!is_known(current_bytes) || !is_known(backed_bytes) ||
        (reading->evidence.has_unwaited &&
         !count_is_exact(&reading->evidence, COUNTED_BY_EXIT_RECORDS)))
        return UNKNOWN;
    raise_to(&processes, reading->process_bound);
    return sum_u64(
        larger(sub_floor0(current_bytes, backed_bytes), processes * KERNEL_BYTES_PER_PROCESS),
        larger(cache_bytes, job->marks.page_cache_bytes));
}

/* Reads the I/O of processes now: it is otherwise read once a second, and page cache may be
 * newer. */
static void read_io_now(struct job *job, uint64_t now_ns)
{
    struct look look = job_look(job, now_ns, true);

    for (size_t i = 0; i < job->roster.count; i++) {
        if (!job->roster.list[i].account.has_left)
            member_look(&job->roster.list[i], &look);
    }
}

bool job_missed_cgroup_peak(struct job *job, uint64_t now_ns,
                            const struct job_cgroup_reading *cgroup)
{
    enum { NEAR = 32 };
    uint64_t peak_bytes = cgroup->memory_peak_bytes,
             seen_bytes = job->peaks.memory.of[GROUP_JOB].total_bytes;

    if (!is_known(peak_bytes) || cgroup->memory_peak_is_sampled || cgroup->is_gone ||
        job->root->proc_fault || peak_bytes <= job->marks.cgroup_peak_bytes)
        return false;
    job->marks.cgroup_peak_bytes = peak_bytes;
    if (!job->main.has_program || peak_bytes <= seen_bytes + seen_bytes / NEAR)
        return false;
    read_io_now(job, now_ns);
    return true;
}

void job_collect_cgroup_memory(struct job *job)
{
    if (!job->sum.missed_cgroup_peak)
        return;
    job->sum.cgroup_memory_bytes = job_cgroup_read_memory_bytes(&job->meters.job_cgroup);
    raise_to(&job->marks.page_cache_bytes, job->sum.job_cgroup.memory.page_cache_bytes);
    raise_to(&job->marks.page_cache_bytes, job->peaks.job_cgroup.page_cache_bytes);
}

/* Raises a value to a higher one that no look has seen, without raising the lower bound. */
static void raise_unseen(uint64_t *value, uint64_t *discount, uint64_t bytes)
{
    if (!is_known(*value) || bytes <= *value)
        return;
    raise_to(discount, bytes - *value);
    *value = bytes;
}

/* Raises memory to a peak that no look has seen. Not used for a job of one process, whose peak
 * the kernel keeps. */
static void raise_to_unseen_peak(const struct job *job, struct job_reading *reading,
                                 uint64_t peak_bytes, const char *source)
{
    struct memory_split *of = reading->memory.of, *all = &of[GROUP_JOB],
                        *descendants = &of[GROUP_DESCENDANTS];
    uint64_t *discount = reading->discount;
    uint64_t added_bytes = sub_floor0(peak_bytes, all->total_bytes);
    uint64_t others_bytes = sub_floor0(peak_bytes, job->marks.rss_peak_bytes[GROUP_MAIN]);

    if (reading->evidence.is_alone || added_bytes == 0)
        return;
    raise_unseen(&all->total_bytes, &discount[GROUP_JOB], peak_bytes);
    raise_unseen(&reading->memory.pss_bytes, &discount[GROUP_JOB],
                 sum_u64(reading->memory.pss_bytes, added_bytes));
    reading->origin[METRIC_JOB_RSS].source = source;
    if (!is_known(descendants->total_bytes) || others_bytes <= descendants->total_bytes)
        return;
    raise_unseen(&descendants->total_bytes, &discount[GROUP_DESCENDANTS], others_bytes);
    reading->origin[METRIC_DESCENDANTS_RSS].source = source;
}

/* Raises the memory to the part of the cgroup's peak that can only be memory of processes. This
 * catches bursts between looks. */
static void raise_to_cgroup_peak(const struct job *job, struct job_reading *reading)
{
    uint64_t peak_bytes =
        sub_floor0(reading->job_cgroup.memory_peak_bytes, not_resident_bytes(job, reading));

    if (job_cgroup_is_exact(job, reading, CGROUP_MEMORY))
        raise_to_unseen_peak(job, reading, peak_bytes, "cgroup.memory.peak");
}

/* Whether all anonymous memory of the cgroup is the job's. It is if the cgroup is the job's
 * own, because the kernel frees anonymous memory once no process maps it. A surrounding cgroup
 * may also count a process that has just entered. */
bool job_anon_is_certain(const struct job *job, const struct job_reading *reading)
{
    return is_known(reading->job_cgroup.memory.anon_bytes) &&
           !job->meters.job_cgroup.is_surrounding;
}

void job_raise_to_peaks(const struct job *job, struct job_reading *reading)
{
    const struct job_peaks *peaks = &job->peaks;

    reading->at_peak = peaks->at_peak;
    keep_highest(&reading->at_peak, &reading->memory.of[GROUP_JOB]);
    raise_known(job, &reading->memory, &peaks->memory);
    /* Copies on write of forks that were not read again. */
    raise_to_unseen_peak(
        job, reading,
        smaller(job->sharing.unread_peak_bytes, reading->job_cgroup.memory_peak_bytes),
        "procfs.stat");
    if (is_known(reading->job_cgroup.memory.anon_bytes)) {
        raise_to(&reading->job_cgroup.memory.anon_bytes, peaks->job_cgroup.anon_bytes);
        raise_to(&reading->job_cgroup.memory.shmem_bytes, peaks->job_cgroup.shmem_bytes);
        raise_to(&reading->job_cgroup.memory.page_cache_bytes,
                 peaks->job_cgroup.page_cache_bytes);
    }
    if (job_anon_is_certain(job, reading)) {
        raise_to(&reading->memory.of[GROUP_JOB].total_bytes,
                 reading->job_cgroup.memory.anon_bytes);
        if (is_known(reading->memory.pss_bytes))
            raise_to(&reading->memory.pss_bytes, reading->job_cgroup.memory.anon_bytes);
    }
    memory_estimate_order(&reading->memory);
    if (reading->missed_cgroup_peak)
        raise_to_cgroup_peak(job, reading);
    raise_to(&reading->process_count, peaks->process_count);
    /* A look takes a while: it may see a process that exits, and its successor. */
    if (job->process_events.is_exact)
        reading->process_count = smaller(reading->process_count, reading->process_bound);
}

/* ---- bounds -------------------------------------------------------------------- */

/*
 * Upper bounds of memory peaks.
 *
 * They are known when the job has ended, every process was waited for or left an exit record,
 * and process events show how many processes there were at once. ru_maxrss covers all processes
 * that were waited for: none was larger. With exit records the lifetime and the peak of each
 * process are known (lives.h).
 */

/* Whether the exit records explain the largest ru_maxrss. A record has the peak of the last
 * program that a process ran, ru_maxrss the peak of all of them: if a program with much memory
 * has called exec, records are no upper bound. */
static bool records_hold(const struct job *job)
{
    enum { LEEWAY = 1 << 20 }; /* the kernel's page counts lag a little on each CPU */
    const struct process_events *events = &job->process_events;
    uint64_t largest = larger(job->marks.largest_bound_bytes, job->marks.main_bound_bytes);
    uint64_t recorded = larger(known_or_0(events->peak_bytes[GROUP_MAIN]),
                               known_or_0(events->peak_bytes[GROUP_DESCENDANTS]));

    return events->has_peaks && (largest <= job->marks.spawn_rss_bytes ||
                                 largest <= recorded + recorded / 64 + LEEWAY);
}

/* Returns an upper bound of main's peak; without an exit record it may be a child's peak. */
static uint64_t main_bound(const struct job *job)
{
    return records_hold(job) ? smaller(job->process_events.peak_bytes[GROUP_MAIN],
                                       job->marks.main_bound_bytes)
                             : job->marks.main_bound_bytes;
}

/* Returns an upper bound of the memory of all descendants, from their lifetimes and peaks;
 * UNKNOWN, which is the largest number, if some are missing. */
static uint64_t lives_bound(const struct job *job)
{
    /* The peak of a living process is still unknown. */
    return records_hold(job) && job->process_events.now.processes == 0
               ? lives_bound_bytes(job->process_events.lives)
               : UNKNOWN;
}

/* Labels the peak of the main process with its source. After its exit, the peak is known from
 * its exit record, or from wait4 unless that may be a child's peak. */
static void note_main_peak(const struct job *job, struct job_reading *reading)
{
    const struct job_marks *marks = &job->marks;
    struct origin *origin = &reading->origin[METRIC_MAIN_RSS_PEAK];
    uint64_t peak_bytes = marks->rss_peak_bytes[GROUP_MAIN];
    bool is_certain = reading->discount[GROUP_MAIN] <= peak_bytes / 100;
    bool is_waited = marks->main_bound_bytes > 0 && peak_bytes == marks->main_bound_bytes;

    if (is_certain && !marks->main_peak_is_exact && records_hold(job) &&
        is_known(job->process_events.peak_bytes[GROUP_MAIN]) && job->is_spawned)
        *origin = (struct origin){ "taskstats.hiwater_rss", NULL, true };
    else if (marks->main_peak_is_exact || is_waited)
        *origin =
            (struct origin){ "wait4.ru_maxrss", NULL, is_certain && marks->main_peak_is_exact };
    /* The kernel's peak does not include huge pages. */
    origin->is_exact &= marks->hugetlb_bytes == 0;
}

static void read_resident_bounds(const struct job *job, struct job_reading *reading)
{
    const struct process_events *events = &job->process_events;
    uint64_t others = is_known(reading->process_bound) ? reading->process_bound - 1 : 0;
    bool has_records = reading->evidence.has_all_records && records_hold(job);
    uint64_t largest = job->marks.largest_bound_bytes, together = lives_bound(job);
    uint64_t *bound = reading->rss_bound_bytes;

    for (int i = 0; i < GROUP_COUNT; i++)
        bound[i] = UNKNOWN;
    if (job->main.has_ended)
        note_main_peak(job, reading);
    if (!job->main.has_ended || !job->is_spawned)
        return;
    bound[GROUP_MAIN] = main_bound(job);
    if (!(reading->processes_are_exact || has_records) || !events->is_exact)
        return;
    if (has_records) /* ru_maxrss covers only processes that were waited for */
        raise_to(&largest, events->peak_bytes[GROUP_DESCENDANTS]);
    /* If main exited first, all processes at the peak may have been descendants. */
    bound[GROUP_DESCENDANTS] =
        smaller(product_u64(others + job->marks.outlived_main, largest), together);
    bound[GROUP_JOB] = smaller(sum_u64(product_u64(others, largest),
                                       job->marks.outlived_main ? largest : main_bound(job)),
                               sum_u64(together, main_bound(job)));
}

/* Sets the upper bounds. The kernel keeps no peak of huge pages: the job may have used the
 * whole pool of the machine. */
void job_read_bounds(const struct job *job, struct job_reading *reading)
{
    uint64_t *bound = reading->rss_bound_bytes;

    read_resident_bounds(job, reading);
    for (int i = 0; i < GROUP_COUNT && job->marks.hugetlb_bytes > 0; i++)
        bound[i] = sum_u64(bound[i], job->meters.huge_pool_bytes);
}
