/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart.h - the curves of a run as text charts, one below the other on one time axis.
 *
 * A column of a chart shows the highest value in its part of the run. Charts of figures that
 * are unknown or always 0 are left out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "output/format.h"
#include "record/record.h"
#include "text/buffer.h"
#include "text/number.h"

/* A curve in one line of text.
 *
 * The run is divided into columns of equal duration. A point has one value for all the time
 * that it covers, as in the charts of a page and of `spoor report --text`. */

/* Each curve has `columns` values, at least one; NaN: unknown. */

/* Computes the curve of CPU time per second, in cores. */
void sparkline_cpu(const struct record *record, double *ret_curve, size_t columns);

/* Computes the largest memory in each column. */
void sparkline_memory(const struct record *record, double *ret_curve, size_t columns);

/* Returns the largest value of a curve; NaN if none is known. */
double sparkline_max(const double *curve, size_t columns);

/* Draws eight heights from 0 to the largest value, as blocks or as ASCII characters; unknown
 * values are blanks. */
void sparkline_write(const double *curve, size_t columns, bool has_unicode, struct buffer *out);

/* The unit of a curve, for its values as people read them. */
enum chart_unit {
    CHART_CORES,
    CHART_BYTES,
    CHART_BYTES_PER_SECOND,
    CHART_GPUS,
    CHART_COUNT,
    CHART_SHARE,
};
struct number chart_value(double value, enum chart_unit unit);
const char *chart_unit_text(enum chart_unit unit); /* " cores"; "" if chart_value() adds one */

record_write chart_write;
