/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bounds.c - what the peaks of memory cannot have been above.
 *
 * Known when the job has ended, every process was waited for or left an exit record, and process
 * events say how many there were at once. ru_maxrss is the largest of all that were waited for, so
 * no process was larger. With exit records the life and the peak of each process are known (lives.h).
 */
#include "base/arithmetic.h"
#include "base/compiler.h"
#include "base/unknown.h"
#include "job/job.h"

bool job_records_hold(const struct job *job)
{
    enum {
        LEEWAY = 1 << 20
    }; /* the kernel's counts of pages are a little behind on each CPU */
    const struct process_events *events = &job->process_events;
    uint64_t largest = larger(job->marks.largest_bound_bytes, job->marks.main_bound_bytes);
    uint64_t recorded = 0;

    if (is_known(events->main_peak_bytes))
        raise_to(&recorded, events->main_peak_bytes);
    if (is_known(events->largest_peak_bytes))
        raise_to(&recorded, events->largest_peak_bytes);
    return events->has_peaks && (largest <= job->marks.spawn_rss_bytes ||
                                 largest <= recorded + recorded / 64 + LEEWAY);
}

/* The main process's own peak; or, without an exit record of it, that or a child's. */
static uint64_t main_bound(const struct job *job)
{
    if (job_records_hold(job) && is_known(job->process_events.main_peak_bytes))
        return smaller(job->process_events.main_peak_bytes, job->marks.main_bound_bytes);
    return job->marks.main_bound_bytes;
}

/* All descendants, by the life and peak of each; UNKNOWN, the largest number, without. */
static uint64_t lives_bound(const struct job *job)
{
    /* One that has not ended has no peak yet. */
    return job_records_hold(job) && job->process_events.now.processes == 0
               ? lives_bound_bytes(&job->process_events.lives)
               : UNKNOWN;
}

/* Once the main process has ended, its peak is known from wait4, unless it may be a child's, or from
 * its exit record. */
static void note_main_peak(const struct job *job, struct job_reading *reading)
{
    const struct job_marks *marks = &job->marks;
    struct origin *origin = &reading->origin[METRIC_MAIN_RSS_PEAK];
    bool is_certain = reading->discount.main <= marks->main_rss_peak_bytes / 100;
    bool is_waited =
        marks->main_bound_bytes > 0 && marks->main_rss_peak_bytes == marks->main_bound_bytes;

    if (is_certain && !marks->main_peak_is_exact && job_records_hold(job) &&
        is_known(job->process_events.main_peak_bytes) && job->is_spawned)
        *origin = (struct origin){ "taskstats.hiwater_rss", NULL, true };
    else if (marks->main_peak_is_exact || is_waited)
        *origin =
            (struct origin){ "wait4.ru_maxrss", NULL, is_certain && marks->main_peak_is_exact };
    origin->is_exact &= marks->hugetlb_bytes == 0; /* a mark does not include huge pages */
}

static void read_resident_bounds(struct job *job, struct job_reading *reading)
{
    const struct process_events *events = &job->process_events;
    uint64_t others = is_known(reading->process_bound) ? reading->process_bound - 1 : 0;
    bool has_records = reading->evidence.has_all_records && job_records_hold(job);
    uint64_t largest = job->marks.largest_bound_bytes, together = lives_bound(job);

    reading->main_rss_bound_bytes = reading->descendants_rss_bound_bytes = UNKNOWN;
    reading->rss_bound_bytes = UNKNOWN;
    if (job->main.has_ended)
        note_main_peak(job, reading);
    if (!job->main.has_ended || !job->is_spawned)
        return;
    reading->main_rss_bound_bytes = main_bound(job);
    if (!(reading->all_waited || has_records) || !events->is_exact)
        return;
    if (has_records) /* ru_maxrss has none that was not waited for */
        raise_to(&largest, events->largest_peak_bytes);
    /* Without its parent a descendant may have taken main's place among the processes. */
    reading->descendants_rss_bound_bytes =
        smaller(product_u64(others + job->marks.outlived_main, largest), together);
    reading->rss_bound_bytes =
        smaller(sum_u64(product_u64(others, largest),
                        job->marks.outlived_main ? largest : main_bound(job)),
                sum_u64(together, main_bound(job)));
}

/* The kernel keeps no mark of huge pages: the job may have had all of the machine. */
void job_read_bounds(struct job *job, struct job_reading *reading)
{
    uint64_t *bounds[] = { &reading->main_rss_bound_bytes,
                           &reading->descendants_rss_bound_bytes, &reading->rss_bound_bytes };

    read_resident_bounds(job, reading);
    for (size_t i = 0; i < ARRAY_SIZE(bounds) && job->marks.hugetlb_bytes > 0; i++)
        *bounds[i] = sum_u64(*bounds[i], job->meters.huge_pool_bytes);
}
