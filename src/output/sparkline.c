/* SPDX-License-Identifier: Apache-2.0 */
#include "output/sparkline.h"

#include <math.h>

#include "base/compiler.h"

/* NaN is smaller than any number. fmax() would do, but valgrind gets it wrong on ARM. */
static double larger(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

/* The time at which a column starts. */
static double border(double start, double end, size_t column, size_t columns)
{
    if (column == columns)
        return end; /* not a rounding error short of it */
    return start + (end - start) * (double)column / (double)columns;
}

static double length_of_overlap(double start, double end, double from, double until)
{
    double length = fmin(end, until) - fmax(start, from);

    return length > 0 ? length : 0;
}

void sparkline_cpu(const struct record *record, double *ret_curve, size_t columns)
{
    const struct record_curve *curve = &record->curve;
    const struct curve_column *cpu = curve_find(curve, "job_cpu_seconds");
    size_t index = 0;

    for (size_t i = 0; i < columns; i++) {
        double from = border(0, record->elapsed_seconds, i, columns);
        double until = border(0, record->elapsed_seconds, i + 1, columns);
        double used = 0, known = 0;

        for (; cpu && index < curve->count && curve_start(curve, index) < until; index++) {
            double length = length_of_overlap(curve_start(curve, index), curve->seconds[index],
                                              from, until);

            if (!isnan(cpu->mean[index])) {
                used += (double)cpu->mean[index] * length;
                known += length;
            }
            if (curve->seconds[index] > until)
                break; /* its rest is in the next column */
        }
        ret_curve[i] = known > 0 ? used / known : (double)NAN;
    }
}

void sparkline_memory(const struct record *record, double *ret_curve, size_t columns)
{
    const struct record_curve *curve = &record->curve;
    const struct curve_column *memory = curve_find(curve, "job_rss_bytes");

    if (memory)
        curve_highest(curve, memory, ret_curve, columns);
    for (size_t i = 0; !memory && i < columns; i++)
        ret_curve[i] = (double)NAN;
}

double sparkline_max(const double *curve, size_t columns)
{
    double max = nan("");

    for (size_t i = 0; i < columns; i++)
        max = larger(max, curve[i]);
    return max;
}

void sparkline_write(const double *curve, size_t columns, bool has_unicode, struct buffer *out)
{
    static const char *const heights[][8] = {
        { "_", ".", ",", "-", "~", "=", "*", "#" },
        { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
    };
    const char *const *blocks = heights[has_unicode];
    double max = sparkline_max(curve, columns);

    for (size_t i = 0; i < columns; i++) {
        size_t height = 0;

        if (isnan(curve[i])) {
            buffer_add(out, " ", 1);
            continue;
        }
        if (max > 0)
            height = (size_t)(curve[i] / max * (double)(ARRAY_SIZE(heights[0]) - 1) + 0.5);
        buffer_add_text(out, blocks[height]);
    }
}
