/* SPDX-License-Identifier: Apache-2.0 */
#include "series/figure.h"

#include <errno.h>
#include <math.h>

#include "base/amount.h"
#include "base/compiler.h"
#include "series/series.h"
#include "text/find.h"

enum derivation {
    TOTAL,  /* increase of a counter from the first to the last sample */
    GROWTH, /* as TOTAL, for counters that always rise: unknown if unchanged, so not updated */
    SPAN, /* as TOTAL, for counters missing in most samples: unknown if only one has a value */
    MEAN_RATE,  /* TOTAL divided by the time */
    MAX_RATE,   /* the largest increase over one interval */
    PEAK,       /* the largest value of a gauge */
    AT_PEAK,    /* the value of a memory gauge when the job's memory was largest */
    LATER_PEAK, /* the largest value after the first sample */
    SEEN,       /* processes at the first sample plus processes started since */
    PER_CYCLE,  /* TOTAL divided by the cycles */
    CARBON,     /* CO2 equivalent of all energy */
};

struct row {
    const char *path;
    enum derivation derivation;
    enum metric metric;
    enum metric raised_by;  /* high-water mark of the kernel, or METRIC_NONE */
    enum metric bounded_by; /* upper bound of the peak, or METRIC_NONE */
    enum figure_merge merge;
};

/* Short names for the table. */
#define ADD FIGURE_ADD
#define MEAN FIGURE_MEAN
#define ALIGN FIGURE_ALIGN
#define PER_NODE FIGURE_PER_NODE
#define HOST FIGURE_HOST
#define HOST_PEAK FIGURE_HOST_PEAK
#define GPUS FIGURE_GPUS
#define NO_MERGE FIGURE_NO_MERGE

/* A bound that is lower than a peak by more than this is ignored. Smaller differences are
 * normal: each CPU may hold some pages that are not in the kernel's count yet. */
#define SAME_SHARE 0.01
#define SAME_BYTES 1048576.0

/* clang-format off */
static const struct row rows[] = {
    { "cpu.total_seconds",                   TOTAL,     METRIC_JOB_CPU,              METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.user_seconds",                    TOTAL,     METRIC_JOB_USER,             METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.system_seconds",                  TOTAL,     METRIC_JOB_SYSTEM,           METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.mean_cores",                      MEAN_RATE, METRIC_JOB_CPU,              METRIC_NONE, METRIC_NONE, MEAN },
    { "cpu.max_cores",                       MAX_RATE,  METRIC_JOB_CPU,              METRIC_NONE, METRIC_NONE, ALIGN },
    { "cpu.main.mean_cores",                 MEAN_RATE, METRIC_MAIN_CPU,             METRIC_NONE, METRIC_NONE, MEAN },
    { "cpu.main.max_cores",                  MAX_RATE,  METRIC_MAIN_CPU,             METRIC_NONE, METRIC_NONE, ALIGN },
    { "cpu.descendants.mean_cores",          MEAN_RATE, METRIC_DESCENDANTS_CPU,      METRIC_NONE, METRIC_NONE, MEAN },
    { "cpu.descendants.max_cores",           MAX_RATE,  METRIC_DESCENDANTS_CPU,      METRIC_NONE, METRIC_NONE, ALIGN },
    { "cpu.system.mean_cores",               MEAN_RATE, METRIC_HOST_CPU,             METRIC_NONE, METRIC_NONE, HOST },
    { "cpu.system.max_cores",                MAX_RATE,  METRIC_HOST_CPU,             METRIC_NONE, METRIC_NONE, HOST },
    { "cpu.threads.main",                    PEAK,      METRIC_MAIN_THREADS,         METRIC_MAIN_THREADS_PEAK, METRIC_JOB_THREADS_PEAK, ALIGN },
    { "cpu.threads.descendants",             PEAK,      METRIC_DESCENDANTS_THREADS,  METRIC_DESCENDANTS_THREADS_PEAK, METRIC_JOB_THREADS_PEAK, ALIGN },
    { "cpu.threads.combined",                PEAK,      METRIC_JOB_THREADS,          METRIC_JOB_THREADS_PEAK, METRIC_NONE, ALIGN },
    { "cpu.page_faults.major",               TOTAL,     METRIC_JOB_MAJOR_FAULTS,     METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.page_faults.minor",               TOTAL,     METRIC_JOB_MINOR_FAULTS,     METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.context_switches.voluntary",      SPAN,      METRIC_JOB_VOLUNTARY_SWITCHES, METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.context_switches.involuntary",    SPAN,      METRIC_JOB_INVOLUNTARY_SWITCHES, METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.wait_seconds",                    SPAN,      METRIC_JOB_CPU_WAIT,         METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.counters.cycles",                TOTAL,     METRIC_JOB_CYCLES,            METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.counters.instructions",          TOTAL,     METRIC_JOB_INSTRUCTIONS,      METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.counters.cache_misses",          TOTAL,     METRIC_JOB_CACHE_MISSES,      METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.counters.branch_misses",         TOTAL,     METRIC_JOB_BRANCH_MISSES,     METRIC_NONE, METRIC_NONE, ADD },
    { "cpu.counters.instructions_per_cycle", PER_CYCLE, METRIC_JOB_INSTRUCTIONS,     METRIC_NONE, METRIC_NONE, NO_MERGE },

    { "memory.main.total_rss_bytes",         PEAK,      METRIC_MAIN_RSS,             METRIC_MAIN_RSS_PEAK, METRIC_MAIN_RSS_BOUND, PER_NODE },
    { "memory.main.private_rss_bytes",       PEAK,      METRIC_MAIN_PRIVATE,         METRIC_NONE, METRIC_MAIN_RSS_BOUND, PER_NODE },
    { "memory.main.shared_rss_bytes",        PEAK,      METRIC_MAIN_SHARED,          METRIC_NONE, METRIC_MAIN_RSS_BOUND, PER_NODE },
    { "memory.descendants.total_rss_bytes",  PEAK,      METRIC_DESCENDANTS_RSS,      METRIC_DESCENDANTS_RSS_PEAK, METRIC_DESCENDANTS_RSS_BOUND, PER_NODE },
    { "memory.descendants.private_rss_bytes", PEAK,     METRIC_DESCENDANTS_PRIVATE,  METRIC_NONE, METRIC_DESCENDANTS_RSS_BOUND, PER_NODE },
    { "memory.descendants.shared_rss_bytes", PEAK,      METRIC_DESCENDANTS_SHARED,   METRIC_NONE, METRIC_DESCENDANTS_RSS_BOUND, PER_NODE },
    { "memory.combined.total_rss_bytes",     PEAK,      METRIC_JOB_RSS,              METRIC_JOB_RSS_PEAK, METRIC_JOB_RSS_BOUND, PER_NODE },
    { "memory.combined.private_rss_bytes",   PEAK,      METRIC_JOB_PRIVATE,          METRIC_NONE, METRIC_JOB_RSS_BOUND, PER_NODE },
    { "memory.combined.shared_rss_bytes",    PEAK,      METRIC_JOB_SHARED,           METRIC_NONE, METRIC_JOB_RSS_BOUND, PER_NODE },
    { "memory.combined.pss_bytes",           PEAK,      METRIC_JOB_PSS,              METRIC_NONE, METRIC_JOB_RSS_BOUND, PER_NODE },
    { "memory.at_peak.total_rss_bytes",      AT_PEAK,   METRIC_JOB_RSS,              METRIC_NONE, METRIC_NONE, NO_MERGE },
    { "memory.at_peak.private_rss_bytes",    AT_PEAK,   METRIC_JOB_PRIVATE,          METRIC_NONE, METRIC_NONE, NO_MERGE },
    { "memory.at_peak.shared_rss_bytes",     AT_PEAK,   METRIC_JOB_SHARED,           METRIC_NONE, METRIC_NONE, NO_MERGE },
    { "memory.job_peak_bytes",               PEAK,      METRIC_JOB_MEMORY_PEAK,      METRIC_NONE, METRIC_JOB_MEMORY_BOUND, PER_NODE },
    { "memory.anon_peak_bytes",              PEAK,      METRIC_JOB_ANON,             METRIC_NONE, METRIC_JOB_MEMORY_PEAK, PER_NODE },
    { "memory.page_cache_peak_bytes",        PEAK,      METRIC_JOB_PAGE_CACHE,       METRIC_NONE, METRIC_JOB_MEMORY_PEAK, PER_NODE },
    { "memory.refaulted_bytes",              TOTAL,     METRIC_JOB_REFAULTED,        METRIC_NONE, METRIC_NONE, ADD },
    { "memory.swap_peak_bytes",              PEAK,      METRIC_JOB_SWAP,             METRIC_NONE, METRIC_NONE, PER_NODE },
    { "memory.system_peak_bytes",            PEAK,      METRIC_HOST_MEMORY_USED,     METRIC_NONE, METRIC_NONE, HOST_PEAK },

    { "gpu.memory.main_bytes",               LATER_PEAK, METRIC_MAIN_GPU_MEMORY,      METRIC_NONE, METRIC_NONE, ALIGN },
    { "gpu.memory.descendants_bytes",        LATER_PEAK, METRIC_DESCENDANTS_GPU_MEMORY, METRIC_NONE, METRIC_NONE, ALIGN },
    { "gpu.memory.combined_bytes",           LATER_PEAK, METRIC_JOB_GPU_MEMORY,       METRIC_NONE, METRIC_NONE, ALIGN },
    { "gpu.memory.system_bytes",             LATER_PEAK, METRIC_HOST_GPU_MEMORY,      METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.utilization.mean_gpus",           MEAN_RATE, METRIC_HOST_GPU_BUSY,        METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.utilization.max_gpus",            LATER_PEAK, METRIC_HOST_GPU_UTILIZATION, METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.job_utilization.mean_gpus",       MEAN_RATE, METRIC_JOB_GPU_BUSY,         METRIC_NONE, METRIC_NONE, MEAN },
    { "gpu.job_utilization.max_gpus",        LATER_PEAK, METRIC_JOB_GPU_UTILIZATION,  METRIC_NONE, METRIC_NONE, ALIGN },
    { "gpu.work.sm_gpus",                    MEAN_RATE, METRIC_HOST_GPU_SM,                    METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.occupancy_gpus",             MEAN_RATE, METRIC_HOST_GPU_OCCUPANCY,             METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.tensor_gpus",                MEAN_RATE, METRIC_HOST_GPU_TENSOR,                METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.fp64_gpus",                  MEAN_RATE, METRIC_HOST_GPU_FP64,                  METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.fp32_gpus",                  MEAN_RATE, METRIC_HOST_GPU_FP32,                  METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.fp16_gpus",                  MEAN_RATE, METRIC_HOST_GPU_FP16,                  METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.dram_gpus",                  MEAN_RATE, METRIC_HOST_GPU_DRAM,                  METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.pcie_sent_bytes",            TOTAL,     METRIC_HOST_GPU_PCIE_SENT,             METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.pcie_received_bytes",        TOTAL,     METRIC_HOST_GPU_PCIE_RECEIVED,         METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.nvlink_sent_bytes",          TOTAL,     METRIC_HOST_GPU_NVLINK_SENT,           METRIC_NONE, METRIC_NONE, GPUS },
    { "gpu.work.nvlink_received_bytes",      TOTAL,     METRIC_HOST_GPU_NVLINK_RECEIVED,       METRIC_NONE, METRIC_NONE, GPUS },

    { "io.read_bytes",                       TOTAL,     METRIC_JOB_READ,             METRIC_NONE, METRIC_NONE, ADD },
    { "io.written_bytes",                    TOTAL,     METRIC_JOB_WRITTEN,          METRIC_NONE, METRIC_NONE, ADD },
    { "io.read_chars",                       TOTAL,     METRIC_JOB_READ_CHARS,       METRIC_NONE, METRIC_NONE, ADD },
    { "io.written_chars",                    TOTAL,     METRIC_JOB_WRITTEN_CHARS,    METRIC_NONE, METRIC_NONE, ADD },
    { "io.wait_seconds",                     SPAN,      METRIC_JOB_IO_WAIT,          METRIC_NONE, METRIC_NONE, ADD },

    { "network.received_bytes",              TOTAL,     METRIC_HOST_NETWORK_RECEIVED, METRIC_NONE, METRIC_NONE, HOST },
    { "network.sent_bytes",                  TOTAL,     METRIC_HOST_NETWORK_SENT,    METRIC_NONE, METRIC_NONE, HOST },
    { "network.rdma.received_bytes",         TOTAL,     METRIC_HOST_RDMA_RECEIVED,   METRIC_NONE, METRIC_NONE, HOST },
    { "network.rdma.sent_bytes",             TOTAL,     METRIC_HOST_RDMA_SENT,       METRIC_NONE, METRIC_NONE, HOST },
    { "network.nfs.read_bytes",              TOTAL,     METRIC_HOST_NFS_READ,        METRIC_NONE, METRIC_NONE, HOST },
    { "network.nfs.written_bytes",           TOTAL,     METRIC_HOST_NFS_WRITTEN,     METRIC_NONE, METRIC_NONE, HOST },
    { "network.job.received_bytes",          TOTAL,     METRIC_JOB_NETWORK_RECEIVED, METRIC_NONE, METRIC_JOB_NETWORK_RECEIVED_BOUND, ADD },
    { "network.job.sent_bytes",              TOTAL,     METRIC_JOB_NETWORK_SENT, METRIC_NONE, METRIC_JOB_NETWORK_SENT_BOUND, ADD },
    { "network.job.loopback_received_bytes", TOTAL,     METRIC_JOB_LOOPBACK_RECEIVED, METRIC_NONE, METRIC_JOB_LOOPBACK_RECEIVED_BOUND, ADD },
    { "network.job.loopback_sent_bytes",     TOTAL,     METRIC_JOB_LOOPBACK_SENT, METRIC_NONE, METRIC_JOB_LOOPBACK_SENT_BOUND, ADD },
    { "network.job.connections",             TOTAL,     METRIC_JOB_CONNECTIONS,      METRIC_NONE, METRIC_NONE, ADD },

    { "energy.cpu_joules",                   SPAN,      METRIC_JOB_CPU_ENERGY,       METRIC_NONE, METRIC_NONE, ADD },
    { "energy.gpu_joules",                   GROWTH,    METRIC_HOST_GPU_ENERGY,      METRIC_NONE, METRIC_NONE, GPUS },
    { "energy.co2e_grams",                   CARBON,    METRIC_JOB_CPU_ENERGY,       METRIC_NONE, METRIC_NONE, ADD },

    { "processes.max_concurrent",            PEAK,      METRIC_JOB_PROCESSES,        METRIC_JOB_PROCESSES_PEAK, METRIC_NONE, ALIGN },
    { "processes.started",                   SEEN,      METRIC_JOB_STARTED,          METRIC_NONE, METRIC_NONE, ADD },

    { "pressure.cpu_seconds",                TOTAL,     METRIC_JOB_CPU_PRESSURE,    METRIC_NONE, METRIC_NONE, ADD },
    { "pressure.memory_seconds",             TOTAL,     METRIC_JOB_MEMORY_PRESSURE, METRIC_NONE, METRIC_NONE, ADD },
    { "pressure.io_seconds",                 TOTAL,     METRIC_JOB_IO_PRESSURE,     METRIC_NONE, METRIC_NONE, ADD },

    { "events.oom_kills",                    TOTAL,     METRIC_JOB_OOM_KILLS,        METRIC_NONE, METRIC_NONE, ADD },
    { "events.throttled_seconds",            TOTAL,     METRIC_JOB_THROTTLED,        METRIC_NONE, METRIC_NONE, ADD },
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

/* Returns a high-water mark if it has risen since the first sample; an older mark may not
 * belong to this run or phase. Otherwise returns UNKNOWN. */
static uint64_t risen(const struct summary *summary, enum metric metric)
{
    const struct tally *tally;

    if (metric == METRIC_NONE)
        return UNKNOWN;
    tally = &summary->tally[metric];
    return is_known(tally->max) && tally->max > tally->first ? tally->max : UNKNOWN;
}

/* Whether a sampled count equals the kernel's mark: then it is the peak, even if the mark
 * itself may be older than the run. */
static bool is_count_at_peak(const struct row *row, const struct summary *summary)
{
    uint64_t mark;

    if (row->raised_by == METRIC_NONE || metric_row(row->raised_by)->unit != UNIT_COUNT)
        return false;
    mark = summary->tally[row->raised_by].max;
    return is_known(mark) && mark == summary->tally[row->metric].max;
}

/* Raises a sampled peak to the kernel's mark. If both are equal, the mark is the better
 * source. The mark may exist without any sample. */
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
    /* A bounded mark is exact only after the bound is read at the end of the run. */
    figure->is_exact =
        summary->tally[row->raised_by].max_origin.is_exact &&
        (row->bounded_by == METRIC_NONE || is_known(summary->tally[row->bounded_by].max));
}

/* Returns by how much a peak may exceed the memory in use: the kernel counts a page once per
 * mapping, and only some of many similar processes are read. */
static double discount(const struct summary *summary, enum metric peak)
{
    enum metric metric = metric_row(peak)->discount;

    return metric ? (double)known_or_0(summary->tally[metric].max) : 0;
}

/* Returns the bound to use instead of one that is below the sampled peak. NaN: there is none, since
 * the bound is of the surrounding cgroup or too far below. Small differences between the kernel's
 * counts are tolerated: then the peak itself is the bound. For a part (private, shared, PSS) it is
 * the mark of its group's resident size, if that is higher. */
static double near_bound(const struct row *row, enum metric bounded_by,
                         const struct summary *summary, double peak, double bound)
{
    enum metric mark = bounded_by == METRIC_MAIN_RSS_BOUND  ? METRIC_MAIN_RSS_PEAK
                       : bounded_by == METRIC_JOB_RSS_BOUND ? METRIC_JOB_RSS_PEAK
                       : bounded_by == METRIC_DESCENDANTS_RSS_BOUND
                           ? METRIC_DESCENDANTS_RSS_PEAK
                           : METRIC_NONE;

    if (bounded_by == METRIC_JOB_MEMORY_BOUND ||
        bound < peak - fmax(peak * SAME_SHARE, SAME_BYTES))
        return nan("");
    if (row->raised_by != METRIC_NONE || mark == METRIC_NONE)
        return peak;
    /* fmax() ignores NaN. */
    return fmax(peak, metric_value(row->metric, summary->tally[mark].max));
}

/* Sets the bounds of a sampled peak between samples: at least the sampled value, at most the
 * bounding metric. */
static void bound_peak(struct spoor_figure *figure, const struct row *row,
                       const struct summary *summary)
{
    bool shares_cgroup = is_known(summary->tally[METRIC_JOB_MEMORY_BOUND].max);
    enum metric bounded_by = row->bounded_by;
    double bound = nan("");

    if (figure->is_exact || row->derivation != PEAK || bounded_by == METRIC_NONE)
        return;
    if (bounded_by == METRIC_JOB_MEMORY_PEAK && !summary->tally[bounded_by].max_origin.is_exact)
        bounded_by = METRIC_JOB_MEMORY_BOUND;
    if (summary->tally[bounded_by].max_origin.is_exact)
        bound = metric_value(row->metric, summary->tally[bounded_by].max);
    figure->low = fmax(figure->value - discount(summary, row->metric), 0);
    /* The anonymous memory of the job's own cgroup belongs to the job. */
    if (row->metric == METRIC_JOB_RSS && !shares_cgroup)
        figure->low = fmin(fmax(figure->low, metric_value(METRIC_JOB_ANON,
                                                          summary->tally[METRIC_JOB_ANON].max)),
                           figure->value);
    if (bound < figure->value)
        bound = near_bound(row, bounded_by, summary, figure->value, bound);
    figure->high = bound;
}

/* Sets the bounds of a total. Its bounding metric is known at the start and the end of a run: the true value
 * lies between the metric and its bound there. */
static void bound_total(struct spoor_figure *figure, const struct row *row,
                        const struct summary *summary)
{
    const struct tally *value = &summary->tally[row->metric], *bound;

    if (figure->is_exact || row->derivation != TOTAL || row->bounded_by == METRIC_NONE)
        return;
    bound = &summary->tally[row->bounded_by];
    figure->low = is_known(bound->first)
                      ? metric_value(row->metric, sub_floor0(value->last, bound->first))
                      : nan("");
    figure->high = bound->is_lost
                       ? nan("")
                       : metric_value(row->metric, sub_known(bound->last, value->first));
}

/* Marks the figure as exact if both bounds are equal. */
static void note_certain(struct spoor_figure *figure)
{
    if (isnan(figure->high) || figure->low < figure->high)
        return;
    figure->is_exact = true;
    figure->low = figure->high = nan("");
}

/* Bounds the bytes written. The kernel charges a process for a whole folio, which may be
 * megabytes, whenever it writes to a clean one. So the bytes written are limited to the bytes
 * written by all disks plus dirty pages, unless a disk was added or removed. */
static void bound_written(struct spoor_figure *figure, const struct row *row,
                          const struct summary *summary)
{
    const struct tally *disks = &summary->tally[METRIC_HOST_DISK_WRITTEN];
    uint64_t bound = sum_u64(tally_growth(disks), summary->tally[METRIC_HOST_DIRTY].last);

    if (row->metric != METRIC_JOB_WRITTEN || row->derivation != TOTAL ||
        !summary->storage_is_local || disks->is_lost || !tally_growth_origin(disks).is_exact ||
        !is_known(bound) || figure->value <= (double)bound)
        return;
    figure->value = (double)bound;
    figure->source = disks->origin.source;
    figure->is_exact = false;
}

/* Sets the bounds of the waiting time. The sum is a lower bound, because it covers only threads
 * that were alive when their process was read. For the upper bound, all threads that did not
 * run are assumed to have waited. */
static void bound_wait(struct spoor_figure *figure, const struct row *row,
                       const struct summary *summary)
{
    const struct tally *threads = &summary->tally[METRIC_JOB_THREADS_PEAK];
    const struct tally *cpu = &summary->tally[METRIC_JOB_CPU];
    uint64_t room_ns = product_u64(threads->max, summary->ended_ns - summary->started_ns);

    if (row->metric != METRIC_JOB_CPU_WAIT || figure->is_exact)
        return;
    figure->low = figure->value;
    if (threads->max_origin.is_exact && is_known(cpu->last))
        figure->high = fmax(figure->value,
                            metric_value(row->metric, sub_floor0(room_ns, tally_growth(cpu))));
}

/* Sets the bounds of the energy: at most all energy of the packages, and at least the energy
 * beyond their energy at rest, which the job may not have caused. */
static void bound_energy(struct spoor_figure *figure, const struct row *row,
                         const struct summary *summary)
{
    const struct tally *low = &summary->tally[METRIC_JOB_CPU_ENERGY_LOW];
    const struct tally *all = &summary->tally[METRIC_HOST_CPU_ENERGY];

    if (row->metric != METRIC_JOB_CPU_ENERGY)
        return;
    figure->low = 0;
    if (is_known(low->first) && low->last > low->first)
        figure->low = fmin(figure->value, metric_value(row->metric, low->last - low->first));
    if (tally_growth_origin(all).is_exact)
        figure->high = fmax(figure->value, metric_value(row->metric, tally_growth(all)));
}

static double derive_seen(const struct summary *summary, enum metric metric)
{
    const struct tally *tally = &summary->tally[metric];
    uint64_t there = summary->tally[METRIC_JOB_PROCESSES].first;

    if (!is_known(there))
        there = tally->first;
    return metric_value(metric, sum_u64(there, tally_growth(tally)));
}

/* Whether the parts of the job's memory were read near its peak: within 1/16, not counting
 * pages that the kernel's mark may hold twice. */
static bool has_split_near_peak(const struct summary *summary)
{
    enum { NEAR = 16 };
    uint64_t peak = summary->tally[METRIC_JOB_RSS].max;
    double least;

    raise_to(&peak, risen(summary, METRIC_JOB_RSS_PEAK));
    least = metric_value(METRIC_JOB_RSS, sub_floor0(peak, peak / NEAR)) -
            discount(summary, METRIC_JOB_RSS);
    /* False if NaN. */
    return metric_value(METRIC_JOB_RSS, summary->at_peak.total_bytes) >= least;
}

static double derive_at_peak(const struct summary *summary, enum metric metric)
{
    const struct memory_split *at_peak = &summary->at_peak;
    uint64_t bytes = metric == METRIC_JOB_PRIVATE  ? at_peak->private_bytes
                     : metric == METRIC_JOB_SHARED ? at_peak->shared_bytes
                                                   : at_peak->total_bytes;

    return has_split_near_peak(summary) ? metric_value(metric, bytes) : nan("");
}

/* Whether processes had memory, but its parts were not read near the peak. */
static bool was_read_too_early(const struct summary *summary, enum metric part)
{
    enum metric total = metric_row(part)->total;

    return total && known_or_0(summary->tally[total].max) > 0 && !has_split_near_peak(summary);
}

/* Returns the peak of a gauge. A part may be larger at the highest total than in any sample. */
static double derive_peak(const struct summary *summary, enum metric metric)
{
    const struct tally *tally = &summary->tally[metric];
    double peak = metric_value(metric, tally->max);
    bool has_moment =
        metric == METRIC_JOB_RSS || metric == METRIC_JOB_PRIVATE || metric == METRIC_JOB_SHARED;

    /* A maximum of 0 is no peak if the size was lost, or read only while the job was small. */
    if (tally->max == 0 && (tally->is_lost || was_read_too_early(summary, metric)))
        return nan("");
    return has_moment && !isnan(peak) ? fmax(peak, derive_at_peak(summary, metric)) : peak;
}

/* Returns the time over which a mean is taken: from the first to the last reading, but at least
 * the counter's resolution. The job used nothing before its start or after its end, so its mean
 * is its total over the time of the run or phase. */
static uint64_t mean_span_ns(const struct summary *summary, enum metric metric)
{
    const struct tally *tally = &summary->tally[metric];
    const struct tally *busy = &summary->tally[METRIC_HOST_CPU];
    uint64_t read_ns = tally->last_ns - tally->first_ns;
    enum metric_clock clock = metric_row(metric)->clock;

    if (clock == CLOCK_JOB_CPU)
        return larger(read_ns, summary->ended_ns - summary->started_ns);
    if (clock != CLOCK_HOST_CPU || read_ns == 0)
        return read_ns;
    if (read_ns < tally->anchor_resolution_ns && busy->first == busy->last)
        return 0; /* shorter than a tick of the counter: not known to be idle */
    return larger(read_ns, tally->anchor_resolution_ns);
}

/* Whether the time is long enough for the counter's resolution. */
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
    const struct tally *cycles = &summary->tally[METRIC_JOB_CYCLES];
    double total = metric_value(row->metric, tally_growth(tally));
    double mean = counter_rate(row->metric, tally->first, tally->last,
                               mean_span_ns(summary, row->metric));
    double max;

    switch (row->derivation) {
    case TOTAL:
        return tally->is_lost ? nan("") : total;
    case GROWTH:
        return total > 0 ? total : nan("");
    case SPAN:
        return tally->last_ns > tally->first_ns ? total : nan("");
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
    case PER_CYCLE:
        return total / metric_value(row->metric, tally_growth(cycles));
    case CARBON:
        break;
    }
    return nan("");
}

static const char *missing_reason(const struct row *row, const struct summary *summary)
{
    const struct tally *tally = &summary->tally[row->metric];
    bool is_rate = row->derivation == MEAN_RATE || row->derivation == MAX_RATE;

    if (is_rate && is_known(tally->first))
        return summary->sample_count > 1 && metric_row(row->metric)->clock == CLOCK_HOST_CPU
                   ? "the run was shorter than a tick of the counter"
                   : "a rate needs at least two samples";
    if (is_known(tally->max) &&
        (row->derivation == AT_PEAK || (row->derivation == PEAK && !tally->is_lost)))
        return "memory was not read near its peak";
    return tally->origin.reason;
}

/* Pairs of memory peaks where the first cannot exceed the second. Their values come from
 * different sources and may contradict each other. */
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

/* Raises a whole to its part, and its lower bound to the part's lower bound. */
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
        if (whole->is_exact) /* a mark may be off by a few pages */
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

/* Returns the origin of a value: an increase is exact if both ends are, a peak if its sample
 * is. */
static struct origin value_origin(const struct row *row, const struct summary *summary)
{
    const struct tally *tally = &summary->tally[row->metric];
    struct origin origin = tally->origin;

    if (row->derivation == AT_PEAK)
        return origin;
    if (row->derivation == PEAK)
        return is_known(tally->max) ? tally->max_origin : origin;
    if (row->derivation == LATER_PEAK)
        origin.is_exact &= summary->started_ns == 0; /* a phase has only samples */
    else
        origin.is_exact &= tally->first_is_exact && row->derivation != MAX_RATE;
    return origin;
}

static struct spoor_figure find_figure(const char *path, const struct summary *summary)
{
    return figure_get((size_t)figure_index(path), summary);
}

/* Returns the CO2 equivalent of the energy. Unknown energy of CPUs or GPUs is missing from the
 * sum, which is then a lower bound. */
static struct spoor_figure make_carbon(const struct summary *summary)
{
    struct spoor_figure cpu = find_figure("energy.cpu_joules", summary);
    struct spoor_figure gpu = find_figure("energy.gpu_joules", summary);
    double factor = summary->grams_per_joule;
    double of_gpu = isnan(gpu.value) ? 0 : gpu.value * factor;
    bool has_cpu = !isnan(cpu.value);

    if (!(factor > 0))
        return not_measured("requires --carbon-intensity");
    if (!has_cpu && isnan(gpu.value))
        return not_measured(cpu.reason);
    return (struct spoor_figure){
        .value = of_gpu + (has_cpu ? cpu.value * factor : 0),
        .low = of_gpu + (has_cpu ? cpu.low * factor : 0),
        .high = has_cpu ? of_gpu + cpu.high * factor : nan(""),
        .source = has_cpu ? cpu.source : gpu.source,
    };
}

static struct spoor_figure make_figure(const struct row *row, const struct summary *summary)
{
    struct spoor_figure figure = { .low = nan(""), .high = nan("") };
    struct origin origin;

    if (row->derivation == CARBON)
        return make_carbon(summary);
    figure.value = derive(row, summary);
    origin = value_origin(row, summary);
    figure.source = origin.source;
    figure.is_exact = origin.is_exact && is_resolved(row, summary);
    raise_peak(&figure, row, summary);
    if (isnan(figure.value)) {
        figure = not_measured(missing_reason(row, summary));
        if (row->metric == METRIC_JOB_MEMORY_PEAK) /* other processes are in the cgroup */
            figure.high =
                metric_value(row->metric, summary->tally[METRIC_JOB_MEMORY_BOUND].max);
        return figure;
    }
    bound_peak(&figure, row, summary);
    bound_total(&figure, row, summary);
    bound_written(&figure, row, summary);
    bound_wait(&figure, row, summary);
    bound_energy(&figure, row, summary);
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
    const struct row row = { NULL, MEAN_RATE, metric, METRIC_NONE, METRIC_NONE, FIGURE_MEAN };

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

enum figure_merge figure_merge(size_t index)
{
    return rows[index].merge;
}

const char *figure_derivation(size_t index)
{
    static const char *const texts[] = {
        [TOTAL] = "increase from the first to the last sample",
        [GROWTH] = "increase from the first to the last sample, if any",
        [SPAN] = "increase from the first to the last sample that contains it",
        [MEAN_RATE] = "that increase per second",
        [MAX_RATE] = "largest increase per second in the curve",
        [PEAK] = "largest value",
        [AT_PEAK] = "value when `job_rss_bytes` was largest",
        [LATER_PEAK] = "largest value after the first sample",
        [SEEN] = "those at the first sample and all later ones",
        [PER_CYCLE] = "that increase per cycle of `job_cycles`",
        [CARBON] = "CO2 equivalent of CPU and GPU energy",
    };

    return texts[rows[index].derivation];
}

ssize_t figure_index(const char *path)
{
    const struct row *row = FIND_ROW(rows, path, path);

    return row ? row - rows : -ENOENT;
}
