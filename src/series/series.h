/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.h - the run's curve in bounded memory: what its charts show.
 *
 * Each point keeps the highest, the lowest and the mean value of every charted metric, and of each
 * GPU. When all points are in use, neighbours are merged and from then on a point covers twice as many
 * samples: a week at 10 ms fits as well as a minute at 1 s, and no peak is lost, of a rate neither.
 *
 * Of a counter a point keeps its count at the end of the point. The mean rate is the growth of that
 * count over the time of the point, so the integral of the curve is the growth of the counter, however
 * points are merged. The highest and lowest rates are those of the windows of the summary.
 *
 * The last sample is usually taken just after the end of the job. That its gauges are 0 then says
 * nothing about the time since the sample before: they are unknown. If there is another sample, the job
 * was only without processes for a while, as a cgroup can be, and they were 0.
 */
#ifndef SERIES_SERIES_H
#define SERIES_SERIES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/gpu/gpu_view.h"
#include "sample/metric.h"
#include "sample/sample.h"
#include "series/summary.h"

/* ---- The only place where counters are subtracted and divided -------------- */

/* How far a counter has come. UNKNOWN where either end is; 0 where it stepped
 * back, which is a reset or a race and never growth. */
uint64_t counter_delta(uint64_t from, uint64_t to);

/* Base units of a metric per second over a span; NaN if it is unknown or no time has passed. For CPU
 * seconds the result is cores. */
double counter_rate(enum metric metric, uint64_t from, uint64_t to, uint64_t span_ns);

enum { SERIES_POINTS = 1024, SERIES_GPUS_MAX = 8, SERIES_GPU_MEASURES = 6 };

/* A part of memory that is unknown where the whole is known. It stays so if points are merged: the known
 * rest of its time is not that of the whole. */
#define SERIES_MISSING_PART ((float)INFINITY)

/* In base units, of a rate per second; NaN: unknown; all SERIES_MISSING_PART: likewise. */
struct series_value {
    float high, low, mean;
};

/* A counter at a point. */
struct series_count {
    double
        count; /* at the end of the point, in base units since the start; NaN: not known (yet) */
    float high, low; /* rates; NaN: none yet */
};

/* What a sample says about each GPU. */
struct series_gpus {
    size_t count;
    struct gpu_place places[SERIES_GPUS_MAX];
    float values[SERIES_GPUS_MAX][SERIES_GPU_MEASURES];
};

/* A row of the table of metrics, as the loop over all of them needs it. */
struct series_metric {
    uint8_t metric;
    uint8_t place; /* among the gauges or counters of a point */
    bool is_rate;
    bool ends_with_job; /* a gauge that is 0 after the end of the job */
    bool is_withheld;   /* it was, in the last sample, see above */
    double unit;        /* of the raw value, in base units */
};

/* How a value enters a point: it begins it, or is merged with what is there. */
struct series_entry {
    bool is_first;
    double before, after; /* time that the point has covered, and that of the value */
};

struct series {
    uint64_t samples;
    size_t count;          /* finished points, and the open one if it holds samples */
    size_t capacity;       /* even */
    uint64_t stride;       /* samples a point covers */
    uint64_t open_samples; /* samples in the last point while it is open; 0: it is finished */
    bool has_withheld;     /* in the last sample the job had ended; it entered as: */
    struct series_entry withheld;
    uint64_t *ends_ns;           /* sample.elapsed_ns of the last sample of each point; owned */
    struct series_value *gauges; /* of each point: gauge_count of them; owned */
    struct series_count *counts; /* likewise */
    size_t gauge_count, counter_count;
    size_t metric_count;
    struct series_metric metrics[METRIC_COUNT]; /* those that are charted */
    struct series_value *gpu_values; /* of each point: SERIES_GPU_MEASURES for each GPU; owned;
                                        NULL: no GPU was seen yet */
    size_t gpu_count;
    struct gpu_place gpus[SERIES_GPUS_MAX];
};

/* `points`: how many it keeps at most, an even number. */
int series_init(struct series *series, size_t points);
void series_done(struct series *series);

/* Takes a sample that was added to the summary just before. The GPUs are those of the first sample
 * that has any. */
void series_append(struct series *series, const struct sample *sample,
                   const struct summary *summary, const struct series_gpus *gpus);

/* The job's GPUs at the moment. */
struct series_gpus series_gpus_of(const struct gpu_view *view);
enum gpu_measure series_gpu_measure(size_t index);

/* The start of the time that a point covers. */
uint64_t series_start_ns(const struct series *series, size_t point);

/* The value of a charted metric at a point. What was counted since the last window of a rate was closed
 * is part of it: see summary_open_window(). */
struct series_value series_get(const struct series *series, const struct summary *summary,
                               size_t metric_index, size_t point);

#endif
