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
    double sum = 0, time = 0;

    for (size_t i = first; i < end; i++) {
        double span = curve->seconds[i] - curve_start(curve, i);

        if (isnan(column->high[i]))
            continue;
        if (!((double)column->high[i] <= value.high)) /* also if that is NaN */
            value.high = (double)column->high[i];
        if (!((double)column->low[i] >= value.low))
            value.low = (double)column->low[i];
        sum += (double)column->mean[i] * span;
        time += span;
        value.mean = time > 0 ? sum / time : (double)column->mean[i];
    }
    return value;
}

size_t curve_step(const struct record_curve *curve, size_t max_points)
{
    return curve->count > max_points ? (curve->count + max_points - 1) / max_points : 1;
}
