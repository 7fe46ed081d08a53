/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_view.h - the current GPU figures, for samples and reports. Pure.
 *
 * docs/ARCHITECTURE.md shows the path of a figure from its driver to here. Each value has its
 * source, and a reason if it is unknown (base/measure.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/measure.h"
#include "job/gpu/gpu_inventory.h"

/* The figures of one GPU. Columns of samples files and docs/METRICS.md come from their table. */
enum gpu_measure {
    GPU_MEMORY,
    GPU_JOB_MEMORY,
    GPU_UTILIZATION,
    GPU_JOB_UTILIZATION,
    GPU_ENCODER_UTILIZATION,
    GPU_DECODER_UTILIZATION,
    GPU_POWER,
    GPU_TEMPERATURE,
    GPU_CLOCK,
    GPU_ENERGY,
    GPU_WORK, /* one for each enum gpu_work_kind, in that order */
    GPU_MEASURE_COUNT = GPU_WORK + GPU_WORK_KINDS,
};

struct gpu_measure_row {
    const char *name; /* name with its unit: "memory_bytes" */
    const char *help;
    double scale;                 /* factor from the raw value to the unit in the name */
    const char *otel, *attribute; /* as in struct metric_row */
    bool is_counter;
    size_t sample_offset; /* of its member of struct spoor_gpu_sample, a double */
};

const struct gpu_measure_row *gpu_measure_row(enum gpu_measure measure);

/* Returns a raw value in the unit of the measure's name; NaN for UNKNOWN. */
double gpu_measure_value(enum gpu_measure measure, uint64_t raw);

struct gpu_figure {
    struct measure measure; /* for memory: the largest since the last sample */
    uint64_t peak;          /* peak of the run; for energy: the last known value */
    uint64_t mean;          /* mean of the run; for utilizations and work only */
};

struct gpu_device_view {
    struct gpu_figure figures[GPU_MEASURE_COUNT];
    uint64_t throttle_reasons; /* all reasons seen: bits of enum gpu_throttle; or UNKNOWN */
    bool is_energy_estimated;  /* as in gpu_reading */
    bool is_job_memory_exact;  /* its peak was counted by the kernel */
    bool was_lost;             /* the driver lost the device, at least for a while */
    bool has_had_job; /* a process of the job was on the device itself, not on a part of it */
};

/* Sets all figures to unknown, with these sources. */
void gpu_device_view_init(struct gpu_device_view *view, const struct gpu_sources *sources);

/* Replaces a look that no sample has used with a newer one; memory keeps the larger value. */
void gpu_device_view_renew(struct gpu_device_view *view, const struct gpu_device_view *newer);

/* Totals over the job's GPUs; the host's memory is over all GPUs. */
enum gpu_total {
    GPU_TOTAL_MAIN_MEMORY,
    GPU_TOTAL_DESCENDANTS_MEMORY,
    GPU_TOTAL_JOB_MEMORY,
    GPU_TOTAL_HOST_MEMORY,
    GPU_TOTAL_UTILIZATION, /* millionths of a GPU in the last windows */
    GPU_TOTAL_JOB_UTILIZATION,
    GPU_TOTAL_LEVELS, /* the totals above are gauges */
    /* The totals below are counters since the start of the run. */
    GPU_TOTAL_BUSY = GPU_TOTAL_LEVELS,
    GPU_TOTAL_JOB_BUSY,
    GPU_TOTAL_ENERGY, /* microjoules */
    GPU_TOTAL_WORK,   /* one for each enum gpu_work_kind, in that order */
    GPU_TOTAL_COUNT = GPU_TOTAL_WORK + GPU_WORK_KINDS,
};

/* The metric of a total in a sample, and the figure of each GPU that it sums up. */
enum metric gpu_total_metric(enum gpu_total total);
enum gpu_measure gpu_total_measure(enum gpu_total total);

struct gpu_totals {
    /* The value of a gauge is the largest since the last sample, so that peaks between samples
     * are kept; `now` is the value of the last look. Reasons live as long as the watch. */
    struct measure measures[GPU_TOTAL_COUNT];
    /* A process of the job does not report its memory or busy time: a gauge of 0 was not
     * measured. Like gauges, these cover all looks since the last sample. */
    bool is_memory_unreported, is_busy_unreported;
    /* The same over the whole run, including processes that have exited. */
    bool has_unreported_memory, has_unreported_busy;
    bool is_energy_estimated; /* the energy of one of the job's GPUs is estimated */
    /* Other processes were on a busy GPU of the job, and the driver does not separate them. */
    bool is_busy_mixed;
};

/* Sets everything to unknown. */
void gpu_totals_clear(struct gpu_totals *totals);

/* Like gpu_device_view_renew(), for totals. */
void gpu_totals_renew(struct gpu_totals *totals, const struct gpu_totals *newer);

enum gpu_state {
    GPU_PENDING, /* the drivers have not responded yet */
    GPU_NONE,    /* there is no GPU, or none is to be read */
    GPU_READY,
    GPU_SILENT, /* a driver has stopped responding: only gauges it reported since the last sample are known */
};

struct gpu_view {
    enum gpu_state state;
    /* Why `state` is not GPU_READY, or in `info` why some GPU is missing: static text; or
     * NULL. */
    const char *reason;
    const struct gpu_unit *units; /* borrowed; NULL while unknown */
    size_t count;
    struct gpu_device_view *devices; /* one per unit; borrowed */
    struct gpu_totals totals;
};

/* The GPUs with columns in a stream of samples. Each has GPU_MEASURE_COUNT columns, named by
 * gpu_measure_row(). */
enum { GPU_COLUMNS_MAX = 256 };
struct gpu_columns {
    size_t count;
    struct gpu_place places[GPU_COLUMNS_MAX];
};

/* Returns the columns for the job's GPUs. */
struct gpu_columns gpu_columns_of(const struct gpu_view *view);

/* Finds the GPU of a place. NULL: there is no such GPU. */
const struct gpu_unit *gpu_view_find(const struct gpu_view *view, struct gpu_place place);

/* Reads the current values of a GPU, in the units of the column names; NaN: unknown. */
void gpu_columns_read(const struct gpu_view *view, struct gpu_place place,
                      double ret[GPU_MEASURE_COUNT]);
