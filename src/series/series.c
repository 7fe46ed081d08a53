/* SPDX-License-Identifier: Apache-2.0 */
#include "series/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int series_init(struct series *series)
{
    struct sample *points = calloc(SERIES_POINTS, sizeof(*points));

    if (!points)
        return -ENOMEM;
    *series = (struct series){ .points = points, .stride = 1 };
    return 0;
}

void series_done(struct series *series)
{
    free(series->points);
    *series = (struct series){ 0 };
}

static uint64_t merge_value(enum metric metric, uint64_t earlier, uint64_t later)
{
    if (!is_known(earlier))
        return later;
    if (!is_known(later))
        return earlier;
    if (metric_row(metric)->published.kind == SPOOR_COUNTER)
        return later;
    return earlier > later ? earlier : later;
}

/* The merged point stands at the time of the later one. */
static void merge(struct sample *into, const struct sample *later)
{
    into->elapsed_ns = later->elapsed_ns;
    into->realtime_ns = later->realtime_ns;
    memcpy(into->clocks, later->clocks, sizeof(into->clocks));
    for (int i = 0; i < METRIC_COUNT; i++)
        into->value[i] = merge_value((enum metric)i, into->value[i], later->value[i]);
}

static void halve(struct series *series)
{
    for (size_t i = 0; i < SERIES_POINTS / 2; i++) {
        if (i > 0) /* valgrind on ARM takes a copy onto itself for an overlap */
            series->points[i] = series->points[2 * i];
        merge(&series->points[i], &series->points[2 * i + 1]);
    }
    series->count = SERIES_POINTS / 2;
    series->stride *= 2;
}

void series_append(struct series *series, const struct sample *sample)
{
    if (series->open_samples > 0) {
        merge(&series->points[series->count - 1], sample);
    } else {
        if (series->count == SERIES_POINTS)
            halve(series);
        series->points[series->count++] = *sample;
    }
    series->open_samples = (series->open_samples + 1) % series->stride;
}
