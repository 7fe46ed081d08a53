/* SPDX-License-Identifier: Apache-2.0 */
/* distribution.c - quantiles of usage over time, computed from the curve of a run: they
 * distinguish a spike from constant use. */
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/unknown.h"
#include "record/record.h"
#include "text/number.h"

#define NEAR_LIMIT 0.9

/* A value, and how long it lasted. */
struct span {
    double value, seconds;
};

static int compare_spans(const void *a, const void *b)
{
    const struct span *first = a, *second = b;

    return (first->value > second->value) - (first->value < second->value);
}

/* Returns the smallest value that the usage did not exceed for the share `quantile` of the
 * time. */
static double quantile_of(const struct span *sorted, size_t count, double total,
                          double quantile)
{
    double seconds = 0;

    for (size_t i = 0; i < count; i++) {
        seconds += sorted[i].seconds;
        if (seconds >= quantile * total * (1 - 1e-9)) /* sums are inexact */
            return decimal_round(sorted[i].value, 6); /* the curve stores floats */
    }
    return (double)NAN;
}

static void fill_quantiles(const struct record *record, const char *name,
                           struct record_quantiles *ret)
{
    const struct record_curve *curve = &record->curve;
    const struct curve_column *column = curve_find(curve, name);
    AUTO_FREE struct span *spans = calloc(curve->count + 1, sizeof(*spans));
    double total = 0;
    size_t count = 0;

    for (size_t i = 0; column && spans && i < curve->count; i++) {
        double seconds = curve->seconds[i] - curve_start(curve, i);
        double value = curve_get(curve, column, i, i + 1).mean;

        if (!isfinite(value) || !(seconds > 0))
            continue;
        spans[count++] = (struct span){ value, seconds };
        total += seconds;
    }
    if (count == 0)
        return;
    qsort(spans, count, sizeof(*spans), compare_spans);
    ret->p50 = quantile_of(spans, count, total, 0.50);
    ret->p95 = quantile_of(spans, count, total, 0.95);
    for (size_t i = 0; i < count && is_known(record->memory_limit_bytes); i++) {
        if (spans[i].value >= NEAR_LIMIT * (double)record->memory_limit_bytes)
            ret->near_limit_seconds += spans[i].seconds;
    }
}

void record_fill_distribution(struct record *record)
{
    struct record_quantiles cores = { (double)NAN, (double)NAN, 0 };
    struct record_quantiles memory = cores;

    fill_quantiles(record, "job_cpu_seconds", &cores);
    fill_quantiles(record, "job_rss_bytes", &memory);
    if (isnan(memory.p50) || !is_known(record->memory_limit_bytes))
        memory.near_limit_seconds = (double)NAN;
    record->cores = cores;
    record->memory = memory;
}
