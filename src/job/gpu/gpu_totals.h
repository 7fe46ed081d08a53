/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_totals.h - what is said of the job's GPUs together, and of each: the result of a look,
 * and how several looks become what one sample says. Pure.
 *
 * Levels are the largest since they were last taken, so that what came and went between two
 * samples is kept.
 */
#ifndef JOB_GPU_GPU_TOTALS_H
#define JOB_GPU_GPU_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/gpu/gpu_measure.h"

/* Over the GPUs that are the job's; memory of the host over all. UNKNOWN: not measured. */
struct gpu_levels {
    uint64_t main_memory_bytes, descendants_memory_bytes, job_memory_bytes;
    uint64_t host_memory_bytes;
    uint64_t utilization, job_utilization; /* millionths of a GPU; of the last windows */
};

#define GPU_LEVELS_UNKNOWN                                   \
    {                                                        \
        UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN \
    }

struct gpu_totals {
    struct gpu_levels levels;
    uint64_t busy_ns, job_busy_ns; /* counters since the start of the run */
    uint64_t energy_microjoules;   /* counter */
    /* A process of the job does not tell its memory or busy time: where the level is 0 it was
     * not measured. As levels, at any look since they were taken. */
    bool is_memory_unreported, is_busy_unreported;
    /* Nor did one before, of what will not be told any more: the same of the whole run. */
    bool has_unreported_memory, has_unreported_busy;
    bool
        is_busy_attributed; /* busy time of the job was concluded at least once, not reported */
    /* Others were there on a busy GPU of the job's, and the driver cannot tell them apart. */
    bool is_busy_mixed;
    /* Why a figure is not known: text that lasts as long as the GPUs are watched, or NULL. */
    const char *memory_reason, *host_memory_reason;
    const char *busy_reason, *job_busy_reason, *energy_reason;
};

/* One GPU: for samples what it is, for the report what it was at most and on average. */
struct gpu_device_view {
    uint64_t value[GPU_MEASURE_COUNT]; /* memory: the largest since taken */
    uint64_t memory_now_bytes, job_memory_now_bytes;
    uint64_t memory_peak_bytes, job_memory_peak_bytes;
    uint64_t utilization_mean, utilization_max; /* millionths */
    uint64_t job_utilization_mean, job_utilization_max;
    uint64_t energy_microjoules; /* the last that was known */
    uint64_t power_max_milliwatts, temperature_max_celsius;
    uint64_t throttle_reasons; /* all that were seen: bits of enum gpu_throttle */
    bool is_busy_attributed;
    bool was_lost;    /* by its driver, at least for a while */
    bool has_had_job; /* a process of the job was on itself, not on a part of it */
    const char *memory_reason, *job_memory_reason;
    const char *busy_reason, *job_busy_reason;
    const char *energy_reason;
    const char *busy_source; /* NULL: the vendor's */
};

void gpu_totals_clear(struct gpu_totals *totals);
void gpu_totals_forget_levels(struct gpu_totals *totals);
void gpu_totals_forget_counters(struct gpu_totals *totals);
void gpu_device_view_clear(struct gpu_device_view *view);

/* Sets the reason of all that is not known of a GPU: static text. */
void gpu_device_view_explain(struct gpu_device_view *view, const char *reason);

/* A newer look takes the place of an older one that nobody has taken: levels stay the
 * largest. */
void gpu_totals_renew(struct gpu_totals *totals, const struct gpu_totals *newer);
void gpu_device_view_renew(struct gpu_device_view *view, const struct gpu_device_view *newer);

#endif
