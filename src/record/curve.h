/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curve.h - how a run went: points over time, each with the highest, lowest and mean value of every
 * column.
 *
 * A column is a metric of docs/METRICS.md, or a measure of one GPU ("gpu0_utilization"). A counter is
 * a rate here: what it grew by per second.
 */
#ifndef RECORD_CURVE_H
#define RECORD_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many points a JSON report has at most, and how many a page. */
enum { CURVE_JSON_POINTS = 256, CURVE_PAGE_POINTS = 2000 };

/* NaN: unknown. In a column, infinite: a part that is unknown where its whole is known, as in
 * series/series.h. */
struct curve_value {
    double high, low, mean;
};

struct curve_column {
    const char *name;
    bool is_rate;
    float *high, *low, *mean; /* one of each per point; may be the same array */
};

/* The memory is that of the record. */
struct record_curve {
    uint64_t samples; /* that it was made of */
    size_t count;     /* points; 0: there is no curve */
    double *seconds;  /* the end of each point; it covers the time since the one before */
    struct curve_column *columns;
    size_t column_count;
};

/* NULL: there is no such column. */
const struct curve_column *curve_find(const struct record_curve *curve, const char *name);

/* The start of the time that a point covers. */
double curve_start(const struct record_curve *curve, size_t point);

/* What a column was in several points, from `first` to before `end`. Means are weighted by time; that of
 * a rate is over all of it, also if it is unknown in some points: its integral stays the same. */
struct curve_value curve_get(const struct record_curve *curve,
                             const struct curve_column *column, size_t first, size_t end);

/* The highest values of a column in `cells` parts of the run that have the same length. A point counts in
 * all cells that it covers a part of; NaN: unknown. */
void curve_highest(const struct record_curve *curve, const struct curve_column *column,
                   double *ret_cells, size_t cells);

/* How many points become one, so that no more than `max_points` are left. */
size_t curve_step(const struct record_curve *curve, size_t max_points);

#endif
