/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric.h - the one table of metrics: what a sample holds.
 *
 * Every output, docs/METRICS.md and the names in other languages come from it.
 * A new metric is a line here, a row in metric.c, and the line of the sampler
 * that fills it.
 *
 * Scopes: main is the job's first process, descendants is everything it started,
 * job is both together, host is the machine.
 */
#ifndef SAMPLE_METRIC_H
#define SAMPLE_METRIC_H

#include <stdint.h>

#include "spoor/spoor.h"

enum metric {
    METRIC_MAIN_CPU,
    METRIC_MAIN_RSS,
    METRIC_MAIN_PRIVATE,
    METRIC_MAIN_SHARED,
    METRIC_MAIN_RSS_PEAK,
    METRIC_MAIN_RSS_BOUND,
    METRIC_MAIN_RSS_DISCOUNT,
    METRIC_MAIN_THREADS,
    METRIC_MAIN_THREADS_PEAK,
    METRIC_MAIN_GPU_MEMORY,

    METRIC_DESCENDANTS_CPU,
    METRIC_DESCENDANTS_RSS,
    METRIC_DESCENDANTS_PRIVATE,
    METRIC_DESCENDANTS_SHARED,
    METRIC_DESCENDANTS_RSS_PEAK,
    METRIC_DESCENDANTS_RSS_BOUND,
    METRIC_DESCENDANTS_RSS_DISCOUNT,
    METRIC_DESCENDANTS_THREADS,
    METRIC_DESCENDANTS_THREADS_PEAK,
    METRIC_DESCENDANTS_GPU_MEMORY,

    METRIC_JOB_CPU,
    METRIC_JOB_USER,
    METRIC_JOB_SYSTEM,
    METRIC_JOB_MAJOR_FAULTS,
    METRIC_JOB_MINOR_FAULTS,
    METRIC_JOB_VOLUNTARY_SWITCHES,
    METRIC_JOB_INVOLUNTARY_SWITCHES,
    METRIC_JOB_RSS,
    METRIC_JOB_PRIVATE,
    METRIC_JOB_SHARED,
    METRIC_JOB_PSS,
    METRIC_JOB_SWAP,
    METRIC_JOB_RSS_PEAK,
    METRIC_JOB_RSS_BOUND,
    METRIC_JOB_RSS_DISCOUNT,
    METRIC_JOB_MEMORY_PEAK,
    METRIC_JOB_ANON,
    METRIC_JOB_PAGE_CACHE,
    METRIC_JOB_THREADS,
    METRIC_JOB_THREADS_PEAK,
    METRIC_JOB_PROCESSES,
    METRIC_JOB_PROCESSES_PEAK,
    METRIC_JOB_STARTED,
    METRIC_JOB_READ,
    METRIC_JOB_WRITTEN,
    METRIC_JOB_READ_CHARS,
    METRIC_JOB_WRITTEN_CHARS,
    METRIC_JOB_OOM_KILLS,
    METRIC_JOB_THROTTLED,
    METRIC_JOB_CPU_PRESSURE, /* these three in the order of source/host/host.h */
    METRIC_JOB_MEMORY_PRESSURE,
    METRIC_JOB_IO_PRESSURE,
    METRIC_JOB_GPU_MEMORY,
    METRIC_JOB_GPU_BUSY,
    METRIC_JOB_GPU_UTILIZATION,

    METRIC_HOST_CPU,
    METRIC_HOST_CPU_USER,
    METRIC_HOST_CPU_SYSTEM,
    METRIC_HOST_CPU_IOWAIT,
    METRIC_HOST_CPU_STEAL,
    METRIC_HOST_MEMORY_USED,
    METRIC_HOST_MEMORY_AVAILABLE,
    METRIC_HOST_MEMORY_CACHED,
    METRIC_HOST_SWAP_USED,
    METRIC_HOST_DIRTY,
    METRIC_HOST_DISK_READ,
    METRIC_HOST_DISK_WRITTEN,
    METRIC_HOST_DISK_SPACE_USED,
    METRIC_HOST_DISK_SPACE_FREE,
    METRIC_HOST_NETWORK_RECEIVED,
    METRIC_HOST_NETWORK_SENT,
    METRIC_HOST_CPU_PRESSURE,
    METRIC_HOST_MEMORY_PRESSURE,
    METRIC_HOST_IO_PRESSURE,
    METRIC_HOST_GPU_MEMORY,
    METRIC_HOST_GPU_BUSY,
    METRIC_HOST_GPU_UTILIZATION,
    METRIC_HOST_GPU_ENERGY,

    METRIC_COUNT,
    METRIC_NONE = METRIC_COUNT,
};

/* What the raw value of a metric is in. */
enum metric_unit {
    UNIT_NANOSECONDS, /* written as seconds */
    UNIT_BYTES,
    UNIT_COUNT,
    UNIT_MILLIONTHS,  /* of one */
    UNIT_MICROJOULES, /* written as joules */
};

struct metric_row {
    struct spoor_metric published;
    enum metric_unit unit;
};

const struct metric_row *metric_row(enum metric metric);

/* Counters that change while a sample is taken, and so have times of their own (sample.h). */
enum metric_clock {
    CLOCK_SAMPLE, /* all others */
    CLOCK_MAIN_CPU,
    CLOCK_DESCENDANTS_CPU,
    CLOCK_JOB_CPU,
    CLOCK_HOST_CPU,
    METRIC_CLOCK_COUNT,
};

enum metric_clock metric_clock(enum metric metric);

/* Is it a counter that stands at 0 when the run begins, though it may be known only later? */
bool metric_starts_at_zero(enum metric metric);

/* A raw value in the base unit of its metric; NaN for UNKNOWN. */
double metric_value(enum metric metric, uint64_t raw);

/* Where a metric comes from in this run: chosen at the start, and changed when a
 * source is lost. Strings are static. */
struct origin {
    const char *source; /* as "procfs.statm"; NULL: not measured */
    const char *reason; /* why it is not measured, or NULL */
    bool is_exact;      /* a count kept by the kernel, not a look now and then */
};

#endif
