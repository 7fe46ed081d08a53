/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparkline.h - a curve in one line of text.
 *
 * The run is cut into columns of the same length of time. What happened between
 * two points of the series is not known: a counter is taken to have grown evenly,
 * a gauge to have kept its value until the next point.
 */
#ifndef OUTPUT_SPARKLINE_H
#define OUTPUT_SPARKLINE_H

#include <stddef.h>

#include "series/series.h"
#include "series/summary.h"
#include "text/buffer.h"

enum { SPARKLINE_COLUMNS_MAX = 128 };

/* A curve has `columns` values, SPARKLINE_COLUMNS_MAX at most; NaN: not known. */

/* Growth of a counter per second, in base units. */
void sparkline_rate(const struct series *series, const struct summary *summary,
                    enum metric metric, double *ret_curve, size_t columns);

/* The largest value of a gauge in each column, in base units. */
void sparkline_gauge(const struct series *series, enum metric metric, double *ret_curve,
                     size_t columns);

/* The largest value of a curve; NaN where none is known. */
double sparkline_max(const double *curve, size_t columns);

/* Eight heights from 0 to the largest value; a blank where it is not known. */
void sparkline_write(const double *curve, size_t columns, struct buffer *out);

#endif
