/* SPDX-License-Identifier: Apache-2.0 */
#include "record/fill_curve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct source {
    const struct series *series;
    const struct summary *summary;
};

/* Columns are numbered: the charted metrics, then those of each GPU. */
static size_t column_count(const struct series *series)
{
    return series->metric_count + series->gpu_count * SERIES_GPU_MEASURES;
}

static struct series_value get(const struct source *source, size_t column, size_t point)
{
    const struct series *series = source->series;
    size_t gpu_columns = series->gpu_count * SERIES_GPU_MEASURES;

    if (column < series->metric_count)
        return series_get(series, source->summary, column, point);
    return series->gpu_values[point * gpu_columns + column - series->metric_count];
}

static const char *gpu_name(struct record *record, const struct series *series, size_t index)
{
    enum { NAME_SIZE = 64 };
    struct gpu_place place = series->gpus[index / SERIES_GPU_MEASURES];
    char *name = record_alloc(record, NAME_SIZE, 1);

    if (name)
        (void)snprintf(name, NAME_SIZE, "gpu%s_%s", gpu_place_text(place, '_').text,
                       gpu_measure_row(series_gpu_measure(index % SERIES_GPU_MEASURES))->name);
    return name;
}

static struct curve_column describe(struct record *record, const struct series *series,
                                    size_t column)
{
    const struct spoor_metric *metric;

    if (column >= series->metric_count)
        return (struct curve_column){ .name = gpu_name(record, series,
                                                       column - series->metric_count) };
    metric = &metric_row((enum metric)series->metrics[column].metric)->published;
    return (struct curve_column){ .name = record_text(record, metric->name),
                                  .is_rate = metric->kind == SPOOR_COUNTER };
}

static bool is_ever_known(const struct source *source, size_t column)
{
    for (size_t i = 0; i < source->series->count; i++) {
        if (isfinite(get(source, column, i).high))
            return true;
    }
    return false;
}

/* Whether a column of the job holds what was measured of the whole host, for want of a cgroup. */
static bool is_of_host(const struct source *source, size_t column)
{
    enum metric metric;
    const char *origin;

    if (column >= source->series->metric_count)
        return false;
    metric = (enum metric)source->series->metrics[column].metric;
    origin = source->summary->tally[metric].origin.source;
    return origin && strncmp(origin, "host.", strlen("host.")) == 0 &&
           strncmp(metric_row(metric)->published.name, "job_", strlen("job_")) == 0;
}

/* As long as a point is one sample, all three are the same, but for rates. */
static void fill_column(struct record *record, const struct source *source, size_t column)
{
    const struct series *series = source->series;
    struct record_curve *curve = &record->curve;
    struct curve_column to = describe(record, series, column);
    size_t arrays = series->stride > 1 || to.is_rate ? 3 : 1;
    float *values = record_alloc(record, arrays * series->count, sizeof(*values));

    if (!values || !to.name)
        return;
    to.high = values;
    to.low = arrays > 1 ? values + series->count : values;
    to.mean = arrays > 1 ? values + 2 * series->count : values;
    for (size_t i = 0; i < series->count; i++) {
        struct series_value value = get(source, column, i);

        to.high[i] = value.high;
        to.low[i] = value.low;
        to.mean[i] = value.mean;
    }
    curve->columns[curve->column_count++] = to;
}

void fill_curve(struct record *record, const struct series *series,
                const struct summary *summary)
{
    const struct source source = { series, summary };
    struct record_curve *curve = &record->curve;

    if (series->count == 0)
        return;
    curve->samples = series->samples;
    curve->seconds = record_alloc(record, series->count, sizeof(*curve->seconds));
    curve->columns = record_alloc(record, column_count(series), sizeof(*curve->columns));
    if (!curve->seconds || !curve->columns)
        return;
    curve->count = series->count;
    for (size_t i = 0; i < series->count; i++)
        curve->seconds[i] = (double)series->ends_ns[i] / 1e9;
    for (size_t i = 0; i < column_count(series); i++) {
        if (!is_of_host(&source, i) && is_ever_known(&source, i))
            fill_column(record, &source, i);
    }
}
