/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - one reading of the job and its machine. */
#pragma once

#include <stdint.h>

#include "base/amount.h"
#include "base/clock.h"
#include "job/memory/shared_memory.h"
#include "sample/metric.h"
#include "source/host/host.h"

/* The time at which a counter was read, and the error of that time. A rate needs two readings
 * that are many times this error apart. */
struct sample_clock {
    uint64_t late_ns; /* delay after the time of the sample */
    uint64_t resolution_ns;
};

/* The kernel counts the machine's time in ticks of 10 ms, in several columns. */
#define HOST_CPU_ERROR_NS (30 * NS_PER_MS)

struct sample {
    uint64_t elapsed_ns;           /* time since the first sample */
    uint64_t realtime_ns;          /* since 1970, UTC */
    uint64_t value[METRIC_COUNT];  /* gauges: some hold the maximum since the previous sample */
    uint64_t moment[METRIC_COUNT]; /* like `value`, but with all gauges as of this time */
    /* Highest since the previous sample, if `value` is from another moment; else UNKNOWN. */
    uint64_t highest[METRIC_COUNT];
    /* Origin of each value; its strings outlive the session. */
    struct origin origin[METRIC_COUNT];
    struct sample_clock clocks[METRIC_CLOCK_COUNT];
    /* Memory of the job when METRIC_JOB_RSS was highest since the previous sample. */
    struct memory_split at_peak;
    bool storage_is_local;      /* METRIC_HOST_DISK_WRITTEN covers all storage */
    struct host_reading host;   /* includes values that are not metrics */
    uint64_t missed_cpu_ns;     /* CPU time used at an unknown time, not in its metric */
    uint64_t job_cgroup_cpu_ns; /* CPU time of the job's own cgroup; UNKNOWN: no such cgroup */
    bool job_is_over;           /* the job has no thread, and none can start */
};

static inline void sample_clear(struct sample *sample)
{
    *sample = (struct sample){
        .at_peak = MEMORY_SPLIT_UNKNOWN,
        .job_cgroup_cpu_ns = UNKNOWN,
    };
    for (int i = 0; i < METRIC_COUNT; i++)
        sample->value[i] = sample->moment[i] = sample->highest[i] = UNKNOWN;
    host_reading_clear(&sample->host);
}

/* Whether the job has ended or is ending. Memory left in its cgroup is not the job's. */
static inline bool sample_job_is_gone(const struct sample *sample)
{
    return sample->moment[METRIC_JOB_PROCESSES] == 0 || sample->moment[METRIC_JOB_PSS] == 0;
}

/* Returns the part of missed_cpu_ns that belongs to a metric, so that user and system time
 * still add up to the total. */
static inline uint64_t sample_missed(const struct sample *sample, enum metric metric)
{
    uint64_t missed_ns = sample->missed_cpu_ns, user_ns = sample->value[METRIC_JOB_USER];
    uint64_t cpu_ns = sample->value[METRIC_JOB_CPU];

    if (metric == METRIC_JOB_CPU || metric == METRIC_DESCENDANTS_CPU)
        return missed_ns;
    if (missed_ns == 0 || (metric != METRIC_JOB_USER && metric != METRIC_JOB_SYSTEM))
        return 0;
    if (is_known(user_ns) && is_known(cpu_ns) && cpu_ns > 0)
        user_ns = (uint64_t)((double)missed_ns * ((double)user_ns / (double)cpu_ns));
    return metric == METRIC_JOB_USER ? user_ns : missed_ns - user_ns;
}

/* Returns the time at which a metric was read, as elapsed_ns. */
static inline uint64_t sample_read_ns(const struct sample *sample, enum metric metric)
{
    return sample->elapsed_ns + sample->clocks[metric_row(metric)->clock].late_ns;
}
