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

/* A counter at one moment. */
struct mark {
    double seconds, value;
};

/* The next point that knows the CPU time, or `after` itself at the end. */
static struct mark next_mark(const struct record *record, size_t *index, struct mark after)
{
    for (; *index < record->point_count; (*index)++) {
        const struct record_point *point = &record->points[*index];

        if (!isnan(point->cpu_seconds) && !(point->seconds <= after.seconds))
            return (struct mark){ point->seconds, point->cpu_seconds };
    }
    return after;
}

static double between(struct mark from, struct mark to, double seconds)
{
    if (!(seconds >= from.seconds))
        return (double)NAN;
    if (to.seconds <= from.seconds)
        return seconds > from.seconds ? (double)NAN : from.value;
    return from.value + fmax(to.value - from.value, 0) * (seconds - from.seconds) /
                            (to.seconds - from.seconds);
}

void sparkline_cpu(const struct record *record, double *ret_curve, size_t columns)
{
    static const struct mark none = { (double)NAN, (double)NAN };
    size_t index = 0;
    struct mark from = next_mark(record, &index, none);
    struct mark to = next_mark(record, &index, from);
    double before_seconds = 0;
    double before = between(from, to, 0);

    for (size_t i = 0; i < columns; i++) {
        double now_seconds = border(0, record->elapsed_seconds, i + 1, columns);
        double now;

        while (to.seconds > from.seconds && to.seconds < now_seconds) {
            from = to;
            to = next_mark(record, &index, from);
        }
        now = between(from, to, now_seconds);
        ret_curve[i] = now_seconds > before_seconds
                           ? (now - before) / (now_seconds - before_seconds)
                           : (double)NAN;
        before = now;
        before_seconds = now_seconds;
    }
}

void sparkline_memory(const struct record *record, double *ret_curve, size_t columns)
{
    size_t count = record->point_count;
    double start = count > 0 ? record->points[0].seconds : 0;
    double end = count > 0 ? record->points[count - 1].seconds : 0;
    double latest = (double)NAN;
    size_t index = 0;

    for (size_t i = 0; i < columns; i++) {
        double now = border(start, end, i + 1, columns);
        double max = latest;

        for (; index < count && record->points[index].seconds <= now; index++) {
            latest = record->points[index].rss_bytes;
            max = larger(max, latest);
        }
        ret_curve[i] = max;
    }
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
