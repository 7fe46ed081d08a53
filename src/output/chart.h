/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart.h - the curves of a run as charts of text, one below the other on one time axis.
 *
 * A column of a chart shows the highest value in its part of the run. Charts of what is unknown, or
 * was 0 all the time, are left out.
 */
#ifndef OUTPUT_CHART_H
#define OUTPUT_CHART_H

#include "output/format.h"

void chart_write(const struct record *record, const struct format_style *style,
                 struct buffer *out);

#endif
