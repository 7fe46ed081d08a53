/* SPDX-License-Identifier: Apache-2.0 */
/* memory_totals.c - the memory of the job: what it has, and the most it had since the last reading. */
#include "base/arithmetic.h"
#include "base/unknown.h"
#include "job/job.h"

static void forget(struct memory_split *split)
{
    *split = (struct memory_split)MEMORY_SPLIT_UNKNOWN;
}

/* Processes that exited before they were seen had memory, too: it is unknown, not 0. If there were none,
 * it is 0. */
void job_forget_unseen(const struct job *job, struct memory_estimate *memory)
{
    bool has_descendants = job->started_count > 1 || job->ledger.has_waited;

    if (!job->marks.saw_main)
        forget(&memory->main);
    if (has_descendants && !job->marks.saw_descendant)
        forget(&memory->descendants);
    else if (!has_descendants && memory->descendants.total_bytes == 0)
        memory->descendants = (struct memory_split){ 0 };
    if (!job->marks.saw_main && !job->marks.saw_descendant)
        forget(&memory->combined);
}

/* What a read found, and what was mapped until its end. */
static void note_doubled(struct double_mapping *mapping, uint64_t read_bytes,
                         uint64_t doubled_bytes, uint64_t mapped_bytes)
{
    double_mapping_read(mapping, read_bytes, doubled_bytes);
    double_mapping_seen(mapping, mapped_bytes);
}

/* How far resident sizes may be above the pages there are: by pages that were merged, and by those that
 * a process may map twice. */
static void note_discount(struct job *job)
{
    const struct memory_sharing *sharing = &job->sharing;
    const struct rss_bases *bases = &sharing->bases;
    const struct memory_estimate *found = &sharing->estimate;

    if (sharing->is_denied || sharing->mode == SPOOR_DETAIL_NEVER)
        return;
    if (sharing->was_read) {
        note_doubled(&job->marks.main_doubled, found->mapped_max.main, found->doubled.main,
                     bases->main.mapped_max);
        note_doubled(&job->marks.descendants_doubled, found->mapped_max.descendants,
                     found->doubled.descendants, bases->descendants.mapped_max);
        raise_to(&job->marks.discount.main, bases->main.discount);
        raise_to(&job->marks.discount.descendants, bases->descendants.discount);
    } else if (sharing->delta.job.count == 1) {
        double_mapping_seen(&job->marks.main_doubled, sharing->delta.main.mapped);
    }
}

void job_read_discount(const struct job *job, struct group_bytes *ret)
{
    *ret = job->marks.discount;
    raise_to(&ret->main, double_mapping_bytes(&job->marks.main_doubled));
    raise_to(&ret->descendants, double_mapping_bytes(&job->marks.descendants_doubled));
    ret->combined = larger(ret->main, ret->descendants);
}

static void raise_split(struct memory_split *peak, const struct memory_split *seen)
{
    raise_to(&peak->total_bytes, seen->total_bytes);
    raise_to(&peak->private_bytes, seen->private_bytes);
    raise_to(&peak->shared_bytes, seen->shared_bytes);
}

static void raise_estimate(struct memory_estimate *peak, const struct memory_estimate *seen)
{
    raise_split(&peak->main, &seen->main);
    raise_split(&peak->descendants, &seen->descendants);
    raise_split(&peak->combined, &seen->combined);
    raise_to(&peak->pss_bytes, seen->pss_bytes);
}

/* Keeps the split of the highest total that is known to its parts. */
static void note_at_peak(struct job *job, const struct memory_split *seen)
{
    struct memory_split split = *seen;

    if (is_known(split.private_bytes))
        split.total_bytes = split.private_bytes + split.shared_bytes;
    memory_split_keep_higher(&job->peaks.at_peak, &split);
}

void job_read_memory(struct job *job, bool is_glance, struct memory_estimate *ret)
{
    struct memory_estimate *peaks = &job->peaks.memory;

    job->sharing.activity = activity_state(&job->activity);
    memory_sharing_update(&job->sharing, &job->roster, job->main_pid, is_glance, ret);
    note_at_peak(job, &ret->combined);
    raise_estimate(peaks, ret);
    memory_estimate_order(peaks);
    note_discount(job);
}

/* A part that this reading does not know (no rights) stays unknown. */
static void raise_known(struct memory_estimate *memory, const struct memory_estimate *peaks)
{
    bool has_parts = is_known(memory->combined.private_bytes);
    struct memory_estimate seen = *peaks;

    if (!has_parts) {
        seen.main.private_bytes = seen.main.shared_bytes = UNKNOWN;
        seen.descendants.private_bytes = seen.descendants.shared_bytes = UNKNOWN;
        seen.combined.private_bytes = seen.combined.shared_bytes = UNKNOWN;
        seen.pss_bytes = UNKNOWN;
    }
    raise_estimate(memory, &seen);
}

void job_raise_to_peaks(struct job *job, struct job_reading *reading)
{
    const struct job_peaks *peaks = &job->peaks;

    note_at_peak(job, &reading->memory.combined);
    reading->at_peak = peaks->at_peak;
    raise_known(&reading->memory, &peaks->memory);
    if (is_known(reading->job_cgroup.memory.anon_bytes)) {
        raise_to(&reading->job_cgroup.memory.anon_bytes, peaks->job_cgroup.anon_bytes);
        raise_to(&reading->job_cgroup.memory.shmem_bytes, peaks->job_cgroup.shmem_bytes);
        raise_to(&reading->job_cgroup.memory.page_cache_bytes,
                 peaks->job_cgroup.page_cache_bytes);
        /* What no file backs is mapped by somebody of the job, or it would be free. */
        raise_to(&reading->memory.combined.total_bytes, reading->job_cgroup.memory.anon_bytes);
    }
    memory_estimate_order(&reading->memory);
    raise_to(&reading->process_count, peaks->process_count);
    /* A look takes a while: it may see one that ends, and then another that has just begun. */
    if (job->process_events.is_exact)
        reading->process_count = smaller(reading->process_count, reading->process_bound);
    job->peaks = (struct job_peaks){ .at_peak = MEMORY_SPLIT_UNKNOWN };
    activity_begin_interval(&job->activity);
}
