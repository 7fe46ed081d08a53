/* SPDX-License-Identifier: Apache-2.0 */
#include "series/figure.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/compiler.h"
#include "base/parse.h"
#include "series/series.h"

enum derivation {
    TOTAL,      /* growth of a counter from the first to the last sample */
    GROWTH,     /* the same, of one that never stands still: not known where it did */
    SPAN,       /* the same, of one that few samples know: not known from one of them alone */
    MEAN_RATE,  /* that growth over the time */
    MAX_RATE,   /* the largest growth over one interval */
    PEAK,       /* the largest value of a gauge */
    AT_PEAK,    /* the value of a memory gauge when that of the whole job was largest */
    LATER_PEAK, /* the largest value that speaks of the time after the first sample */
    SEEN,       /* processes at the first sample, and those that came since */
    NOT_YET,    /* kept in the report's shape; nothing measures it */
};

struct row {
    const char *path;
    enum derivation derivation;
    enum metric metric;
    enum metric raised_by;  /* a peak that the kernel keeps, or METRIC_NONE */
    enum metric bounded_by; /* what the peak cannot have passed, or METRIC_NONE */
    const char *reason;     /* of NOT_YET */
};

/* A bound that is below a peak by more than this is no bound: each CPU may keep some pages that the kernel's
 * count does not have yet. */
#define SAME_SHARE 0.01
#define SAME_BYTES 1048576.0

#define NO_ENERGY "CPU energy is not measured yet"

/* clang-format off */
static const struct row rows[] = {
    { "cpu.total_seconds",                   TOTAL,     METRIC_JOB_CPU,              METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.user_seconds",                    TOTAL,     METRIC_JOB_USER,             METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.system_seconds",                  TOTAL,     METRIC_JOB_SYSTEM,           METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.mean_cores",                      MEAN_RATE, METRIC_JOB_CPU,              METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.max_cores",                       MAX_RATE,  METRIC_JOB_CPU,              METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.main.mean_cores",                 MEAN_RATE, METRIC_MAIN_CPU,             METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.main.max_cores",                  MAX_RATE,  METRIC_MAIN_CPU,             METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.descendants.mean_cores",          MEAN_RATE, METRIC_DESCENDANTS_CPU,      METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.descendants.max_cores",           MAX_RATE,  METRIC_DESCENDANTS_CPU,      METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.system.mean_cores",               MEAN_RATE, METRIC_HOST_CPU,             METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.system.max_cores",                MAX_RATE,  METRIC_HOST_CPU,             METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.threads.main",                    PEAK,      METRIC_MAIN_THREADS,         METRIC_MAIN_THREADS_PEAK, METRIC_JOB_THREADS_PEAK, NULL },
    { "cpu.threads.descendants",             PEAK,      METRIC_DESCENDANTS_THREADS,  METRIC_DESCENDANTS_THREADS_PEAK, METRIC_JOB_THREADS_PEAK, NULL },
    { "cpu.threads.combined",                PEAK,      METRIC_JOB_THREADS,          METRIC_JOB_THREADS_PEAK, METRIC_NONE, NULL },
    { "cpu.page_faults.major",               TOTAL,     METRIC_JOB_MAJOR_FAULTS,     METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.page_faults.minor",               TOTAL,     METRIC_JOB_MINOR_FAULTS,     METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.context_switches.voluntary",      SPAN,      METRIC_JOB_VOLUNTARY_SWITCHES, METRIC_NONE, METRIC_NONE, NULL },
    { "cpu.context_switches.involuntary",    SPAN,      METRIC_JOB_INVOLUNTARY_SWITCHES, METRIC_NONE, METRIC_NONE, NULL },

    { "memory.main.total_rss_bytes",         PEAK,      METRIC_MAIN_RSS,             METRIC_MAIN_RSS_PEAK, METRIC_MAIN_RSS_BOUND, NULL },
    { "memory.main.private_rss_bytes",       PEAK,      METRIC_MAIN_PRIVATE,         METRIC_NONE, METRIC_MAIN_RSS_BOUND, NULL },
    { "memory.main.shared_rss_bytes",        PEAK,      METRIC_MAIN_SHARED,          METRIC_NONE, METRIC_MAIN_RSS_BOUND, NULL },
    { "memory.descendants.total_rss_bytes",  PEAK,      METRIC_DESCENDANTS_RSS,      METRIC_DESCENDANTS_RSS_PEAK, METRIC_DESCENDANTS_RSS_BOUND, NULL },
    { "memory.descendants.private_rss_bytes", PEAK,     METRIC_DESCENDANTS_PRIVATE,  METRIC_NONE, METRIC_DESCENDANTS_RSS_BOUND, NULL },
    { "memory.descendants.shared_rss_bytes", PEAK,      METRIC_DESCENDANTS_SHARED,   METRIC_NONE, METRIC_DESCENDANTS_RSS_BOUND, NULL },
    { "memory.combined.total_rss_bytes",     PEAK,      METRIC_JOB_RSS,              METRIC_JOB_RSS_PEAK, METRIC_JOB_RSS_BOUND, NULL },
    { "memory.combined.private_rss_bytes",   PEAK,      METRIC_JOB_PRIVATE,          METRIC_NONE, METRIC_JOB_RSS_BOUND, NULL },
    { "memory.combined.shared_rss_bytes",    PEAK,      METRIC_JOB_SHARED,           METRIC_NONE, METRIC_JOB_RSS_BOUND, NULL },
    { "memory.combined.pss_bytes",           PEAK,      METRIC_JOB_PSS,              METRIC_NONE, METRIC_JOB_RSS_BOUND, NULL },
    { "memory.at_peak.total_rss_bytes",      AT_PEAK,   METRIC_JOB_RSS,              METRIC_NONE, METRIC_NONE, NULL },
    { "memory.at_peak.private_rss_bytes",    AT_PEAK,   METRIC_JOB_PRIVATE,          METRIC_NONE, METRIC_NONE, NULL },
    { "memory.at_peak.shared_rss_bytes",     AT_PEAK,   METRIC_JOB_SHARED,           METRIC_NONE, METRIC_NONE, NULL },
    { "memory.job_peak_bytes",               PEAK,      METRIC_JOB_MEMORY_PEAK,      METRIC_NONE, METRIC_NONE, NULL },
    { "memory.anon_peak_bytes",              PEAK,      METRIC_JOB_ANON,             METRIC_NONE, METRIC_JOB_MEMORY_PEAK, NULL },
    { "memory.page_cache_peak_bytes",        PEAK,      METRIC_JOB_PAGE_CACHE,       METRIC_NONE, METRIC_JOB_MEMORY_PEAK, NULL },
    { "memory.swap_peak_bytes",              PEAK,      METRIC_JOB_SWAP,             METRIC_NONE, METRIC_NONE, NULL },
    { "memory.system_peak_bytes",            PEAK,      METRIC_HOST_MEMORY_USED,     METRIC_NONE, METRIC_NONE, NULL },

    { "gpu.memory.main_bytes",               LATER_PEAK, METRIC_MAIN_GPU_MEMORY,      METRIC_NONE, METRIC_NONE, NULL },
    { "gpu.memory.descendants_bytes",        LATER_PEAK, METRIC_DESCENDANTS_GPU_MEMORY, METRIC_NONE, METRIC_NONE, NULL },
    { "gpu.memory.combined_bytes",           LATER_PEAK, METRIC_JOB_GPU_MEMORY,       METRIC_NONE, METRIC_NONE, NULL },
    { "gpu.memory.system_bytes",             LATER_PEAK, METRIC_HOST_GPU_MEMORY,      METRIC_NONE, METRIC_NONE, NULL },
    { "gpu.utilization.mean_gpus",           MEAN_RATE, METRIC_HOST_GPU_BUSY,        METRIC_NONE, METRIC_NONE, NULL },
    { "gpu.utilization.max_gpus",            LATER_PEAK, METRIC_HOST_GPU_UTILIZATION, METRIC_NONE, METRIC_NONE, NULL },
    { "gpu.job_utilization.mean_gpus",       MEAN_RATE, METRIC_JOB_GPU_BUSY,         METRIC_NONE, METRIC_NONE, NULL },
    { "gpu.job_utilization.max_gpus",        LATER_PEAK, METRIC_JOB_GPU_UTILIZATION,  METRIC_NONE, METRIC_NONE, NULL },

    { "io.read_bytes",                       TOTAL,     METRIC_JOB_READ,             METRIC_NONE, METRIC_NONE, NULL },
    { "io.written_bytes",                    TOTAL,     METRIC_JOB_WRITTEN,          METRIC_NONE, METRIC_NONE, NULL },
    { "io.read_chars",                       TOTAL,     METRIC_JOB_READ_CHARS,       METRIC_NONE, METRIC_NONE, NULL },
    { "io.written_chars",                    TOTAL,     METRIC_JOB_WRITTEN_CHARS,    METRIC_NONE, METRIC_NONE, NULL },

    { "network.received_bytes",              TOTAL,     METRIC_HOST_NETWORK_RECEIVED, METRIC_NONE, METRIC_NONE, NULL },
    { "network.sent_bytes",                  TOTAL,     METRIC_HOST_NETWORK_SENT,    METRIC_NONE, METRIC_NONE, NULL },

    { "energy.cpu_joules",                   NOT_YET,   METRIC_NONE, METRIC_NONE, METRIC_NONE, NO_ENERGY },
    { "energy.gpu_joules",                   GROWTH,    METRIC_HOST_GPU_ENERGY,      METRIC_NONE, METRIC_NONE, NULL },

    { "processes.max_concurrent",            PEAK,      METRIC_JOB_PROCESSES,        METRIC_JOB_PROCESSES_PEAK, METRIC_NONE, NULL },
    { "processes.started",                   SEEN,      METRIC_JOB_STARTED,          METRIC_NONE, METRIC_NONE, NULL },

    { "pressure.cpu_seconds",                TOTAL,     METRIC_JOB_CPU_PRESSURE,    METRIC_NONE, METRIC_NONE, NULL },
    { "pressure.memory_seconds",             TOTAL,     METRIC_JOB_MEMORY_PRESSURE, METRIC_NONE, METRIC_NONE, NULL },
    { "pressure.io_seconds",                 TOTAL,     METRIC_JOB_IO_PRESSURE,     METRIC_NONE, METRIC_NONE, NULL },

    { "events.oom_kills",                    TOTAL,     METRIC_JOB_OOM_KILLS,        METRIC_NONE, METRIC_NONE, NULL },
    { "events.throttled_seconds",            TOTAL,     METRIC_JOB_THROTTLED,        METRIC_NONE, METRIC_NONE, NULL },
};
/* clang-format on */

static struct spoor_figure not_measured(const char *reason)
{
    return (struct spoor_figure){
        .value = nan(""),
        .low = nan(""),
        .high = nan(""),
        .reason = reason ? reason : "no sample contains it",
    };
}

/* A high-water mark speaks of the time before us too. Only one that rose while we
 * looked is known to belong to this run or phase. */
static uint64_t risen(const struct summary *summary, enum metric metric)
{
    const struct tally *tally;

    if (metric == METRIC_NONE)
        return UNKNOWN;
    tally = &summary->tally[metric];
    return is_known(tally->max) && tally->max > tally->first ? tally->max : UNKNOWN;
}

/* A count that was seen to be as high as it ever was: that was its peak, although the mark may be
 * of the time before. */
static bool is_count_at_peak(const struct row *row, const struct summary *summary)
{
    uint64_t mark;

    if (row->raised_by == METRIC_NONE || metric_row(row->raised_by)->unit != UNIT_COUNT)
        return false;
    mark = summary->tally[row->raised_by].max;
    return is_known(mark) && mark == summary->tally[row->metric].max;
}

/* A peak that the kernel kept stands above what we saw, and where both are the same
 * it is the better source. It may be known where no sample is. */
static void raise_peak(struct spoor_figure *figure, const struct row *row,
                       const struct summary *summary)
{
    double kernel_peak = metric_value(row->metric, risen(summary, row->raised_by));

    if (is_count_at_peak(row, summary))
        kernel_peak = figure->value;
    if (isnan(kernel_peak) || kernel_peak < figure->value)
        return;
    figure->value = kernel_peak;
    figure->source = summary->tally[row->raised_by].max_origin.source;
    /* A mark that is bounded is final only if the bound is known, at the end of the run. */
    figure->is_exact =
        summary->tally[row->raised_by].max_origin.is_exact &&
        (row->bounded_by == METRIC_NONE || is_known(summary->tally[row->bounded_by].max));
}

/* How far a peak may be above the pages there were: the kernel counts a page once for each time it
 * is mapped, and of many processes that look alike only some are read. */
static double discount(const struct summary *summary, enum metric peak)
{
    static const enum metric discounts[METRIC_COUNT] = {
        [METRIC_MAIN_RSS] = METRIC_MAIN_RSS_DISCOUNT,
        [METRIC_MAIN_SHARED] = METRIC_MAIN_RSS_DISCOUNT,
        [METRIC_DESCENDANTS_RSS] = METRIC_DESCENDANTS_RSS_DISCOUNT,
        [METRIC_DESCENDANTS_PRIVATE] = METRIC_DESCENDANTS_RSS_DISCOUNT,
        [METRIC_DESCENDANTS_SHARED] = METRIC_DESCENDANTS_RSS_DISCOUNT,
        [METRIC_JOB_RSS] = METRIC_JOB_RSS_DISCOUNT,
        [METRIC_JOB_PRIVATE] = METRIC_JOB_RSS_DISCOUNT,
        [METRIC_JOB_SHARED] = METRIC_JOB_RSS_DISCOUNT,
        [METRIC_JOB_PSS] = METRIC_JOB_RSS_DISCOUNT,
    };
    uint64_t bytes = discounts[peak] ? summary->tally[discounts[peak]].max : 0;

    return is_known(bytes) ? (double)bytes : 0;
}

/* A bound that is below the peak, since the kernel's counts are a few pages apart: what is no mark of the kernel
 * may be as high as the mark of the whole. */
static double near_bound(const struct row *row, const struct summary *summary, double peak,
                         double bound)
{
    enum metric mark = row->bounded_by == METRIC_MAIN_RSS_BOUND  ? METRIC_MAIN_RSS_PEAK
                       : row->bounded_by == METRIC_JOB_RSS_BOUND ? METRIC_JOB_RSS_PEAK
                                                                 : METRIC_DESCENDANTS_RSS_PEAK;

    if (bound < peak - fmax(peak * SAME_SHARE, SAME_BYTES))
        return nan("");
    if (row->raised_by != METRIC_NONE)
        return peak;
    return fmax(peak, metric_value(row->metric, summary->tally[mark].max)); /* of NaN: peak */
}

/* What a sampled peak may have been between the samples: at least what was seen, at most what
 * something else bounds it by. */
static void bound_peak(struct spoor_figure *figure, const struct row *row,
                       const struct summary *summary)
{
    double bound = nan("");

    if (figure->is_exact || row->bounded_by == METRIC_NONE)
        return;
    if (summary->tally[row->bounded_by].max_origin.is_exact)
        bound = metric_value(row->metric, summary->tally[row->bounded_by].max);
    figure->low = fmax(figure->value - discount(summary, row->metric), 0);
    if (bound < figure->value)
        bound = near_bound(row, summary, figure->value, bound);
    figure->high = bound;
}

/* A peak that was neither more nor less. */
static void note_certain(struct spoor_figure *figure)
{
    if (isnan(figure->high) || figure->low < figure->high)
        return;
    figure->is_exact = true;
    figure->low = figure->high = nan("");
}

/* The kernel charges a process for a whole folio, which may be of megabytes, whenever it writes to a
 * clean one. No job wrote more than all disks did, and what is still to be written, unless a disk
 * that was plugged in or removed has written more than was seen. */
static void bound_written(struct spoor_figure *figure, const struct row *row,
                          const struct summary *summary)
{
    const struct tally *disks = &summary->tally[METRIC_HOST_DISK_WRITTEN];
    uint64_t bound = sum_u64(counter_delta(disks->first, disks->last),
                             summary->tally[METRIC_HOST_DIRTY].last);

    if (row->metric != METRIC_JOB_WRITTEN || row->derivation != TOTAL ||
        !summary->storage_is_local || disks->is_lost || !tally_growth_origin(disks).is_exact ||
        !is_known(bound) || figure->value <= (double)bound)
        return;
    figure->value = (double)bound;
    figure->source = disks->origin.source;
    figure->is_exact = false;
}

/* Those there at the first sample, and those that came since. */
static double derive_seen(const struct summary *summary, enum metric metric)
{
    const struct tally *tally = &summary->tally[metric];
    uint64_t there = summary->tally[METRIC_JOB_PROCESSES].first;

    if (!is_known(there))
        there = tally->first;
    return metric_value(metric, sum_u64(there, counter_delta(tally->first, tally->last)));
}

/* Where the parts of the job's memory are known at a moment near its peak: within a sixteenth, pages
 * that the kernel's mark may hold twice apart. */
static bool has_split_near_peak(const struct summary *summary)
{
    enum { NEAR = 16 };
    uint64_t peak = summary->tally[METRIC_JOB_RSS].max;
    double least;

    raise_to(&peak, risen(summary, METRIC_JOB_RSS_PEAK));
    least = metric_value(METRIC_JOB_RSS, sub_floor0(peak, peak / NEAR)) -
            discount(summary, METRIC_JOB_RSS);
    return metric_value(METRIC_JOB_RSS, summary->at_peak.total_bytes) >= least; /* not if NaN */
}

static double derive_at_peak(const struct summary *summary, enum metric metric)
{
    const struct memory_split *at_peak = &summary->at_peak;

    if (!has_split_near_peak(summary))
        return nan("");
    if (metric == METRIC_JOB_PRIVATE)
        return metric_value(metric, at_peak->private_bytes);
    if (metric == METRIC_JOB_SHARED)
        return metric_value(metric, at_peak->shared_bytes);
    return metric_value(metric, at_peak->total_bytes);
}

/* The moment of the highest total may show more of a part than any sample does. */
static double derive_peak(const struct summary *summary, enum metric metric)
{
    const struct tally *tally = &summary->tally[metric];
    double peak = metric_value(metric, tally->max);
    bool has_moment =
        metric == METRIC_JOB_RSS || metric == METRIC_JOB_PRIVATE || metric == METRIC_JOB_SHARED;

    if (tally->max == 0 && tally->is_lost) /* there was some later, of unknown size */
        return nan("");
    return has_moment && !isnan(peak) ? fmax(peak, derive_at_peak(summary, metric)) : peak;
}

/* A single known value says nothing of the time before it. */
static double derive_span(const struct tally *tally, enum metric metric)
{
    return tally->last_ns > tally->first_ns
               ? metric_value(metric, counter_delta(tally->first, tally->last))
               : nan("");
}

/* One that stands still was not read anew. */
static double derive_growth(const struct tally *tally, enum metric metric)
{
    uint64_t delta = counter_delta(tally->first, tally->last);

    return delta > 0 ? metric_value(metric, delta) : nan("");
}

/* The time that a mean is over: that between the readings, but no less than the counter resolves.
 * The job used nothing before its start and after its end, however late that was read: its mean is
 * its total over the time of the run or phase. */
static uint64_t mean_span_ns(const struct summary *summary, enum metric metric)
{
    const struct tally *tally = &summary->tally[metric];
    uint64_t read_ns = tally->last_ns - tally->first_ns;

    switch (metric_row(metric)->clock) {
    case CLOCK_JOB_CPU:
        return larger(read_ns, summary->ended_ns - summary->started_ns);
    case CLOCK_HOST_CPU:
        return read_ns > 0 ? larger(read_ns, tally->anchor_resolution_ns) : 0;
    case CLOCK_SAMPLE:
    case METRIC_CLOCK_COUNT:
        break;
    }
    return read_ns;
}

/* A mean over so short a time that the counter hardly moves says little. */
static bool is_resolved(const struct row *row, const struct summary *summary)
{
    const struct tally *tally = &summary->tally[row->metric];

    return row->derivation != MEAN_RATE || metric_row(row->metric)->clock != CLOCK_HOST_CPU ||
           tally->last_ns - tally->first_ns >=
               SUMMARY_RESOLUTIONS * tally->anchor_resolution_ns;
}

static double derive(const struct row *row, const struct summary *summary)
{
    const struct tally *tally = &summary->tally[row->metric];
    double mean = counter_rate(row->metric, tally->first, tally->last,
                               mean_span_ns(summary, row->metric));
    double max;

    switch (row->derivation) {
    case TOTAL:
        return tally->is_lost
                   ? nan("")
                   : metric_value(row->metric, counter_delta(tally->first, tally->last));
    case GROWTH:
        return derive_growth(tally, row->metric);
    case SPAN:
        return derive_span(tally, row->metric);
    case SEEN:
        return derive_seen(summary, row->metric);
    case MEAN_RATE:
        return mean;
    case MAX_RATE:
        max = summary_max_rate(summary, row->metric);
        return max >= mean ? max : mean;
    case PEAK:
        return derive_peak(summary, row->metric);
    case AT_PEAK:
        return derive_at_peak(summary, row->metric);
    case LATER_PEAK:
        return metric_value(row->metric,
                            is_known(tally->later_max) ? tally->later_max : tally->max);
    case NOT_YET:
        break;
    }
    return nan("");
}

/* Why a figure has no value, though its metric may have some. */
static const char *missing_reason(const struct row *row, const struct summary *summary)
{
    bool is_rate = row->derivation == MEAN_RATE || row->derivation == MAX_RATE;

    if (is_rate && is_known(summary->tally[row->metric].first))
        return "a rate needs at least two samples";
    if (row->derivation == AT_PEAK && is_known(summary->tally[row->metric].max))
        return "memory was not read near its peak";
    return summary->tally[row->metric].origin.reason;
}

/* Peaks of memory that cannot be above another. They come from different sources, some from the
 * kernel's marks, and their lower bounds are found in different ways. */
static const struct {
    enum metric part, whole;
} parts[] = {
    { METRIC_MAIN_PRIVATE, METRIC_MAIN_RSS },
    { METRIC_MAIN_SHARED, METRIC_MAIN_RSS },
    { METRIC_DESCENDANTS_PRIVATE, METRIC_DESCENDANTS_RSS },
    { METRIC_DESCENDANTS_SHARED, METRIC_DESCENDANTS_RSS },
    { METRIC_MAIN_PRIVATE, METRIC_JOB_PRIVATE },
    { METRIC_DESCENDANTS_PRIVATE, METRIC_JOB_PRIVATE },
    { METRIC_JOB_PRIVATE, METRIC_JOB_PSS },
    { METRIC_JOB_PSS, METRIC_JOB_RSS },
    { METRIC_JOB_SHARED, METRIC_JOB_RSS },
    { METRIC_MAIN_RSS, METRIC_JOB_RSS },
    { METRIC_DESCENDANTS_RSS, METRIC_JOB_RSS },
};

static size_t find_peak(enum metric metric)
{
    size_t i = 0;

    while (rows[i].derivation != PEAK || rows[i].metric != metric)
        i++;
    return i;
}

/* A whole is at least what its part was, and surely had what the part surely had. */
static void include_part(struct spoor_figure *whole, const struct spoor_figure *part)
{
    double low = isnan(part->low) ? part->value : part->low;
    double high =
        isnan(part->high) && !isnan(part->low) ? nan("") : fmax(part->value, part->high);

    if (isnan(part->value))
        return;
    if (part->value > whole->value) {
        whole->value = part->value;
        whole->source = part->source;
        if (whole->is_exact) /* by a mark that is off by a few pages */
            whole->low = whole->high = part->value;
        whole->is_exact = false;
    }
    if (isnan(whole->low))
        return;
    whole->low = fmin(fmax(whole->low, low), whole->value);
    if (!isnan(whole->high))
        whole->high = isnan(high) ? nan("") : fmax(whole->high, high);
}

static void include_parts(struct spoor_figure *figure, const struct row *row,
                          const struct summary *summary)
{
    if (row->derivation != PEAK || isnan(figure->value))
        return;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        struct spoor_figure part;

        if (parts[i].whole != row->metric)
            continue;
        part = figure_get(find_peak(parts[i].part), summary);
        include_part(figure, &part);
    }
}

/* Growth is as exact as both of its ends, a peak as the sample that had it. */
static struct origin value_origin(const struct row *row, const struct summary *summary)
{
    const struct tally *tally = &summary->tally[row->metric];
    struct origin origin = tally_growth_origin(tally);

    switch (row->derivation) {
    case PEAK:
        return is_known(tally->max) ? tally->max_origin : tally->origin;
    case MAX_RATE:
        origin.is_exact = false;
        break;
    case AT_PEAK:
    case LATER_PEAK:
        return tally->origin;
    case TOTAL:
    case GROWTH:
    case SPAN:
    case MEAN_RATE:
    case SEEN:
    case NOT_YET:
        break;
    }
    return origin;
}

static struct spoor_figure make_figure(const struct row *row, const struct summary *summary)
{
    struct spoor_figure figure = { .low = nan(""), .high = nan("") };
    struct origin origin;

    if (row->derivation == NOT_YET)
        return not_measured(row->reason);
    figure.value = derive(row, summary);
    origin = value_origin(row, summary);
    figure.source = origin.source;
    figure.is_exact = origin.is_exact && is_resolved(row, summary);
    raise_peak(&figure, row, summary);
    if (isnan(figure.value))
        return not_measured(missing_reason(row, summary));
    bound_peak(&figure, row, summary);
    bound_written(&figure, row, summary);
    include_parts(&figure, row, summary);
    note_certain(&figure);
    return figure;
}

struct spoor_figure figure_get(size_t index, const struct summary *summary)
{
    return make_figure(&rows[index], summary);
}

struct spoor_figure figure_mean_rate(enum metric metric, const struct summary *summary)
{
    const struct row row = { NULL, MEAN_RATE, metric, METRIC_NONE, METRIC_NONE, NULL };

    return make_figure(&row, summary);
}

size_t figure_count(void)
{
    return ARRAY_SIZE(rows);
}

const char *figure_path(size_t index)
{
    return rows[index].path;
}

enum metric figure_metric(size_t index)
{
    return rows[index].metric;
}

const char *figure_derivation(size_t index)
{
    static const char *const texts[] = {
        [TOTAL] = "increase from the first to the last sample",
        [GROWTH] = "increase from the first to the last sample, if any",
        [SPAN] = "increase from the first to the last sample that knows it",
        [MEAN_RATE] = "that increase per second",
        [MAX_RATE] = "largest increase per second in the curve",
        [PEAK] = "largest value",
        [AT_PEAK] = "value when `job_rss_bytes` was largest",
        [LATER_PEAK] = "largest value after the first sample",
        [SEEN] = "those at the first sample and all later ones",
        [NOT_YET] = "not measured yet",
    };

    return texts[rows[index].derivation];
}

ssize_t figure_index(const char *path)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (strcmp(rows[i].path, path) == 0)
            return (ssize_t)i;
    }
    return -ENOENT;
}
