/* SPDX-License-Identifier: Apache-2.0 */
#include "record/curve.h"

#include <math.h>
#include <string.h>

const struct curve_column *curve_find(const struct record_curve *curve, const char *name)
{
    for (size_t i = 0; i < curve->column_count; i++) {
        if (strcmp(curve->columns[i].name, name) == 0)
            return &curve->columns[i];
    }
    return NULL;
}

double curve_start(const struct record_curve *curve, size_t point)
{
    return point > 0 ? curve->seconds[point - 1] : 0;
}

struct curve_value curve_get(const struct record_curve *curve,
                             const struct curve_column *column, size_t first, size_t end)
{
    struct curve_value value = { (double)NAN, (double)NAN, (double)NAN };
    const struct curve_value unknown = value;
    double sum = 0, time = 0;

    for (size_t i = first; i < end; i++) {
        double span = curve->seconds[i] - curve_start(curve, i);

        if (isinf(column->high[i]))
            return unknown;
        if (isnan(column->high[i])) {
            time += column->is_rate ? span : 0;
            continue;
        }
        if (!((double)column->high[i] <= value.high)) /* also if that is NaN */
            value.high = (double)column->high[i];
        if (!((double)column->low[i] >= value.low))
            value.low = (double)column->low[i];
        sum += (double)column->mean[i] * span;
        time += span;
        value.mean = (double)column->mean[i];
    }
    if (!isnan(value.mean) && time > 0)
        value.mean = sum / time;
    if (value.mean < value.low)
        value.low = value.mean;
    return value;
}

size_t curve_step(const struct record_curve *curve, size_t max_points)
{
    return curve->count > max_points ? (curve->count + max_points - 1) / max_points : 1;
}

void curve_highest(const struct record_curve *curve, const struct curve_column *column,
                   double *ret_cells, size_t cells)
{
    double end = curve->count > 0 ? curve->seconds[curve->count - 1] : 0;

    for (size_t i = 0; i < cells; i++)
        ret_cells[i] = (double)NAN;
    for (size_t i = 0; i < curve->count && end > 0 && cells > 0; i++) {
        double first = curve_start(curve, i) / end * (double)cells;
        double last = curve->seconds[i] / end * (double)cells;
        size_t cell = (size_t)first;

        if (!isfinite(column->high[i]))
            continue;
        do {
            double *at = &ret_cells[cell < cells ? cell : cells - 1];

            if (!((double)column->high[i] <= *at)) /* also if that is NaN */
                *at = (double)column->high[i];
        } while (++cell < cells && (double)cell < last);
    }
}
