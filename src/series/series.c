/* SPDX-License-Identifier: Apache-2.0 */
#include "series/series.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/compiler.h"
#include "series/rate.h"

static const enum gpu_measure gpu_measures[SERIES_GPU_MEASURES] = {
    GPU_MEMORY,          GPU_JOB_MEMORY, GPU_UTILIZATION,
    GPU_JOB_UTILIZATION, GPU_POWER,      GPU_TEMPERATURE,
};

static const enum metric ending_gauges[] = {
    METRIC_MAIN_RSS,    METRIC_DESCENDANTS_RSS, METRIC_JOB_RSS,  METRIC_JOB_PRIVATE,
    METRIC_JOB_SHARED,  METRIC_JOB_SWAP,        METRIC_JOB_ANON, METRIC_JOB_PAGE_CACHE,
    METRIC_JOB_THREADS, METRIC_JOB_PROCESSES,
};

static bool ends_with_job(int metric)
{
    for (size_t i = 0; i < ARRAY_SIZE(ending_gauges); i++) {
        if ((int)ending_gauges[i] == metric)
            return true;
    }
    return false;
}

/* A counter whose growth is part of the next rate, because the time is too short for its own. */
#define PENDING (-FLT_MAX)

static bool is_pending(struct series_value value)
{
    return value.high < -FLT_MAX / 2;
}

static struct series_value one(float value)
{
    return (struct series_value){ value, value, value };
}

int series_init(struct series *series, size_t points)
{
    struct series new = { .capacity = points, .stride = 1 };

    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct metric_row *row = metric_row((enum metric)i);

        if (row->is_charted)
            new.metrics[new.metric_count++] = (struct series_metric){
                .metric = (uint8_t)i,
                .clock = (uint8_t)row->clock,
                .is_rate = row->published.kind == SPOOR_COUNTER,
                .ends_with_job = ends_with_job(i),
                .unit = (float)metric_value((enum metric)i, 1),
            };
    }
    new.ends_ns = calloc(points, sizeof(*new.ends_ns));
    new.values = calloc(points, new.metric_count * sizeof(*new.values));
    if (!new.ends_ns || !new.values) {
        series_done(&new);
        return -ENOMEM;
    }
    *series = new;
    return 0;
}

void series_done(struct series *series)
{
    free(series->ends_ns);
    free(series->values);
    free(series->gpu_values);
    *series = (struct series){ 0 };
}

uint64_t series_start_ns(const struct series *series, size_t point)
{
    return point > 0 ? series->ends_ns[point - 1] : 0;
}

struct series_value series_merge(struct series_value earlier, struct series_value later,
                                 double before, double after)
{
    double time = before + after;

    if (isnan(later.high) || (is_pending(later) && !isnan(earlier.high)))
        return earlier;
    if (isnan(earlier.high) || is_pending(earlier))
        return later;
    return (struct series_value){
        .high = later.high > earlier.high ? later.high : earlier.high,
        .low = later.low < earlier.low ? later.low : earlier.low,
        .mean =
            time > 0
                ? (float)(((double)earlier.mean * before + (double)later.mean * after) / time)
                : later.mean,
    };
}

/* ---- merging points ------------------------------------------------------- */

static void halve_values(struct series_value *values, size_t columns, size_t point,
                         double before, double after)
{
    const struct series_value *from = &values[2 * point * columns];

    for (size_t i = 0; i < columns; i++)
        values[point * columns + i] = series_merge(from[i], from[columns + i], before, after);
}

static void halve(struct series *series)
{
    uint64_t start_ns = 0;

    for (size_t i = 0; i < series->count / 2; i++) {
        uint64_t middle_ns = series->ends_ns[2 * i], end_ns = series->ends_ns[2 * i + 1];
        double before = (double)(middle_ns - start_ns), after = (double)(end_ns - middle_ns);

        halve_values(series->values, series->metric_count, i, before, after);
        if (series->gpu_values)
            halve_values(series->gpu_values, series->gpu_count * SERIES_GPU_MEASURES, i, before,
                         after);
        series->ends_ns[i] = start_ns = end_ns;
    }
    series->count /= 2;
    series->stride *= 2;
}

/* ---- samples -------------------------------------------------------------- */

/* Every sample takes this for every metric, so it looks nothing up. */
static inline float metric_now(const struct series_metric *column, const struct sample *sample,
                               const struct summary *summary)
{
    const struct tally *tally = &summary->tally[column->metric];
    uint64_t raw = sample->value[column->metric];

    if (!column->is_rate)
        return is_known(raw) ? (float)raw * column->unit : (float)NAN;
    if (!is_known(tally->first))
        return (float)NAN;
    if (!is_known(raw) ||
        tally->anchor_ns != sample->elapsed_ns + sample->clocks[column->clock].late_ns)
        return PENDING;
    return (float)tally->rate;
}

struct series_gpus series_gpus_of(const struct gpu_view *view)
{
    struct series_gpus gpus = { 0 };

    for (size_t i = 0; view->units && i < view->count && gpus.count < SERIES_GPUS_MAX; i++) {
        if (!view->units[i].is_selected)
            continue;
        for (size_t k = 0; k < SERIES_GPU_MEASURES; k++) {
            uint64_t raw =
                view->state == GPU_READY ? view->devices[i].value[gpu_measures[k]] : UNKNOWN;

            gpus.values[gpus.count][k] = (float)gpu_measure_value(gpu_measures[k], raw);
        }
        gpus.places[gpus.count++] = view->units[i].place;
    }
    return gpus;
}

enum gpu_measure series_gpu_measure(size_t index)
{
    return gpu_measures[index];
}

/* Without memory for them, there are none. */
static void add_gpus(struct series *series, const struct series_gpus *gpus)
{
    size_t columns = gpus->count * SERIES_GPU_MEASURES;

    if (series->gpu_values || columns == 0)
        return;
    series->gpu_values = calloc(series->capacity, columns * sizeof(*series->gpu_values));
    if (!series->gpu_values)
        return;
    series->gpu_count = gpus->count;
    for (size_t i = 0; i < gpus->count; i++)
        series->gpus[i] = gpus->places[i];
    for (size_t i = 0; i < series->count * columns; i++)
        series->gpu_values[i] = one((float)NAN);
}

static const float *find_gpu(const struct series_gpus *gpus, struct gpu_place place)
{
    for (size_t i = 0; i < gpus->count; i++) {
        if (gpus->places[i].index == place.index && gpus->places[i].part == place.part)
            return gpus->values[i];
    }
    return NULL;
}

static void enter(const struct series_entry *entry, struct series_value *at, float value)
{
    *at = entry->is_first ? one(value)
                          : series_merge(*at, one(value), entry->before, entry->after);
}

static void enter_gpus(struct series *series, size_t point, const struct series_entry *entry,
                       const struct series_gpus *gpus)
{
    struct series_value *at =
        &series->gpu_values[point * series->gpu_count * SERIES_GPU_MEASURES];

    for (size_t i = 0; i < series->gpu_count; i++) {
        const float *values = find_gpu(gpus, series->gpus[i]);

        for (size_t k = 0; k < SERIES_GPU_MEASURES; k++)
            enter(entry, at++, values ? values[k] : (float)NAN);
    }
}

static struct series_value *last_point(const struct series *series)
{
    return &series->values[(series->count - 1) * series->metric_count];
}

/* There is another sample: the job had not ended. */
static void enter_withheld(struct series *series)
{
    struct series_value *values = last_point(series);

    for (size_t i = 0; i < series->metric_count; i++) {
        if (series->metrics[i].is_withheld)
            enter(&series->withheld, &values[i], 0);
    }
    series->has_withheld = false;
}

static void enter_metrics(struct series *series, const struct series_entry *entry,
                          const struct sample *sample, const struct summary *summary)
{
    bool has_ended = sample->value[METRIC_JOB_THREADS] == 0 && series->samples > 0;
    struct series_value *values = last_point(series);

    for (size_t i = 0; i < series->metric_count; i++) {
        struct series_metric *column = &series->metrics[i];

        column->is_withheld =
            has_ended && column->ends_with_job && sample->value[column->metric] == 0;
        enter(entry, &values[i],
              column->is_withheld ? (float)NAN : metric_now(column, sample, summary));
    }
    series->has_withheld = has_ended;
    series->withheld = *entry;
}

void series_append(struct series *series, const struct sample *sample,
                   const struct summary *summary, const struct series_gpus *gpus)
{
    struct series_entry entry = { .is_first = series->open_samples == 0 };
    size_t point;

    if (series->has_withheld)
        enter_withheld(series);
    if (entry.is_first && series->count == series->capacity)
        halve(series);
    add_gpus(series, gpus);
    point = entry.is_first ? series->count++ : series->count - 1;
    if (!entry.is_first) {
        entry.before = (double)(series->ends_ns[point] - series_start_ns(series, point));
        entry.after = (double)sub_floor0(sample->elapsed_ns, series->ends_ns[point]);
    }
    series->ends_ns[point] = larger(sample->elapsed_ns, series_start_ns(series, point));
    enter_metrics(series, &entry, sample, summary);
    if (series->gpu_values)
        enter_gpus(series, point, &entry, gpus);
    series->samples++;
    series->open_samples = (series->open_samples + 1) % series->stride;
}

/* ---- reading -------------------------------------------------------------- */

/* Growth since the last rate was measured, up to the last sample. */
static struct series_value last_rate(const struct tally *tally, enum metric metric)
{
    double rate = counter_rate(metric, tally->anchor, tally->last,
                               sub_floor0(tally->last_ns, tally->anchor_ns));

    if (isnan(rate) || rate > tally->max_rate)
        rate = tally->rate;
    return one((float)rate);
}

struct series_value series_get(const struct series *series, const struct summary *summary,
                               size_t metric_index, size_t point)
{
    enum metric metric = (enum metric)series->metrics[metric_index].metric;

    for (size_t i = point; i < series->count; i++) {
        struct series_value value = series->values[i * series->metric_count + metric_index];

        if (!is_pending(value))
            return value;
    }
    return last_rate(&summary->tally[metric], metric);
}
