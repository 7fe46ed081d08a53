/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.h - the curve of a run in bounded memory, for charts.
 *
 * Each point keeps the highest, the lowest and the mean value of every charted metric, and of
 * each GPU. When all points are in use, neighbours are merged and a point covers twice as many
 * samples from then on. A week at 10 ms fits just like a minute at 1 s, and peaks of values and
 * rates are kept.
 *
 * For a counter, a point keeps the count at the end of the point. The mean rate is the increase
 * of that count divided by the time of the point, so the integral of the curve is the increase
 * of the counter, however points are merged. The highest and lowest rates are taken from the
 * summary's windows.
 *
 * The last sample is usually taken just after the end of the job. Its gauges are 0, but that
 * does not describe the time since the previous sample: they are stored as unknown. If another
 * sample follows, the job was only without processes for a while, as a cgroup can be, and the
 * gauges were 0.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/gpu/gpu_view.h"
#include "sample/metric.h"
#include "sample/sample.h"
#include "series/summary.h"

/* Returns the base units of a metric per second over a span; NaN if the metric is unknown or no
 * time has passed. For CPU seconds the result is cores. */
double counter_rate(enum metric metric, uint64_t from, uint64_t to, uint64_t span_ns);

enum { SERIES_POINTS = 1024, SERIES_GPUS_MAX = 8, SERIES_GPU_MEASURES = 9 };

/* Marks a part of memory that is unknown while the whole is known. Merged points keep the
 * mark: a partial value would not add up to the whole. */
#define SERIES_MISSING_PART ((float)INFINITY)

/* In base units (rates: per second). If unknown, all three are NaN or SERIES_MISSING_PART. */
struct series_value {
    float high, low, mean;
};

struct series_count {
    /* Count at the end of the point, in base units since the start; NaN: unknown. */
    double count;
    float high, low; /* rates; NaN: none yet */
};

/* GPU values of a sample. */
struct series_gpus {
    size_t count;
    struct gpu_place places[SERIES_GPUS_MAX];
    float values[SERIES_GPUS_MAX][SERIES_GPU_MEASURES];
};

/* A row of the metric table, prepared for the loop over all metrics. */
struct series_metric {
    uint8_t metric;
    uint8_t place; /* index among the gauges or counters of a point */
    bool is_rate;
    bool ends_with_job; /* a gauge that is 0 after the end of the job */
    bool is_withheld;   /* the gauge was 0 in the last sample and is withheld, see above */
    double unit;        /* base units per raw unit */
};

/* How a value enters a point: as its first value, or merged. */
struct series_entry {
    bool is_first;
    double before, after; /* time covered by the point so far, and by the value */
};

struct series {
    uint64_t samples;
    size_t count;          /* finished points, and the open one if it has samples */
    size_t capacity;       /* even */
    uint64_t stride;       /* samples a point covers */
    uint64_t open_samples; /* samples in the last point while it is open; 0: it is finished */
    bool has_withheld;     /* the job had ended in the last sample, entered as `withheld` */
    struct series_entry withheld;
    uint64_t *ends_ns;           /* sample.elapsed_ns of the last sample of each point; owned */
    struct series_value *gauges; /* gauge_count values of each point; owned */
    struct series_count *counts; /* counter_count values of each point; owned */
    size_t gauge_count, counter_count;
    size_t metric_count;
    struct series_metric metrics[METRIC_COUNT]; /* charted metrics */
    /* SERIES_GPU_MEASURES values per GPU and point; owned; NULL: no GPU was seen yet. */
    struct series_value *gpu_values;
    size_t gpu_count;
    struct gpu_place gpus[SERIES_GPUS_MAX];
};

/* Initializes a series. `points`: maximum number of points, even. */
int series_init(struct series *series, size_t points);
void series_done(struct series *series);

/* Adds a sample, which must be in the summary already. The first sample with GPUs determines
 * the GPUs of the series. */
void series_append(struct series *series, const struct sample *sample,
                   const struct summary *summary, const struct series_gpus *gpus);

/* Returns the current values of the job's GPUs. */
struct series_gpus series_gpus_of(const struct gpu_view *view);
enum gpu_measure series_gpu_measure(size_t index);

/* Returns the start of the time that a point covers. */
uint64_t series_start_ns(const struct series *series, size_t point);

/* Returns the value of a charted metric at a point, including the increase in the open window
 * of its rate: see summary_open_window(). */
struct series_value series_get(const struct series *series, const struct summary *summary,
                               size_t metric_index, size_t point);
