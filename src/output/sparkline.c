/* SPDX-License-Identifier: Apache-2.0 */
#include "output/sparkline.h"

#include <assert.h>
#include <math.h>

#include "base/compiler.h"
#include "series/rate.h"

/* The time at which a column starts. */
static uint64_t border_ns(uint64_t start_ns, uint64_t end_ns, size_t column, size_t columns)
{
    if (column == columns)
        return end_ns; /* not a rounding error short of it */
    return start_ns +
           (uint64_t)((double)(end_ns - start_ns) * (double)column / (double)columns);
}

/* A counter at one moment. */
struct mark {
    uint64_t ns;
    uint64_t value;
};

/* The next point that knows the counter, or `after` itself at the end. */
static struct mark next_mark(const struct series *series, enum metric metric, size_t *index,
                             struct mark after)
{
    for (; *index < series->count; (*index)++) {
        const struct sample *point = &series->points[*index];

        if (is_known(point->value[metric]) && point->elapsed_ns > after.ns)
            return (struct mark){ point->elapsed_ns, point->value[metric] };
    }
    return after;
}

static uint64_t between(struct mark from, struct mark to, uint64_t ns)
{
    if (ns < from.ns)
        return UNKNOWN;
    if (to.ns <= from.ns)
        return ns == from.ns ? from.value : UNKNOWN;
    return from.value + (uint64_t)((double)counter_delta(from.value, to.value) *
                                   ((double)(ns - from.ns) / (double)(to.ns - from.ns)));
}

void sparkline_rate(const struct series *series, const struct summary *summary,
                    enum metric metric, double *ret_curve, size_t columns)
{
    const struct tally *tally = &summary->tally[metric];
    uint64_t start_ns = summary->started_ns;
    uint64_t end_ns = summary->ended_ns;
    /* The first point of a series that was halved lies behind the first sample. */
    struct mark from = { tally->first_ns, tally->first };
    size_t index = 0;
    struct mark to = next_mark(series, metric, &index, from);
    uint64_t before_ns = start_ns;
    uint64_t before = is_known(from.value) ? between(from, to, start_ns) : UNKNOWN;

    assert(columns > 0 && columns <= SPARKLINE_COLUMNS_MAX);
    for (size_t i = 0; i < columns; i++) {
        uint64_t now_ns = border_ns(start_ns, end_ns, i + 1, columns);
        uint64_t now;

        while (to.ns > from.ns && to.ns < now_ns) {
            from = to;
            to = next_mark(series, metric, &index, from);
        }
        now = is_known(from.value) ? between(from, to, now_ns) : UNKNOWN;
        ret_curve[i] = counter_rate(metric, before, now, now_ns - before_ns);
        before = now;
        before_ns = now_ns;
    }
}

void sparkline_gauge(const struct series *series, enum metric metric, double *ret_curve,
                     size_t columns)
{
    uint64_t start_ns = series->count ? series->points[0].elapsed_ns : 0;
    uint64_t end_ns = series->count ? series->points[series->count - 1].elapsed_ns : 0;
    uint64_t latest = UNKNOWN;
    size_t index = 0;

    assert(columns > 0 && columns <= SPARKLINE_COLUMNS_MAX);
    for (size_t i = 0; i < columns; i++) {
        uint64_t now_ns = border_ns(start_ns, end_ns, i + 1, columns);
        uint64_t max = latest;

        for (; index < series->count && series->points[index].elapsed_ns <= now_ns; index++) {
            latest = series->points[index].value[metric];
            if (is_known(latest) && (!is_known(max) || latest > max))
                max = latest;
        }
        ret_curve[i] = metric_value(metric, max);
    }
}

double sparkline_max(const double *curve, size_t columns)
{
    double max = nan("");

    for (size_t i = 0; i < columns; i++)
        max = fmax(max, curve[i]); /* passes over NaN */
    return max;
}

void sparkline_write(const double *curve, size_t columns, struct buffer *out)
{
    static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    double max = sparkline_max(curve, columns);

    for (size_t i = 0; i < columns; i++) {
        size_t height = 0;

        if (isnan(curve[i])) {
            buffer_add(out, " ", 1);
            continue;
        }
        if (max > 0)
            height = (size_t)(curve[i] / max * (double)(ARRAY_SIZE(blocks) - 1) + 0.5);
        buffer_add_text(out, blocks[height]);
    }
}
