/* SPDX-License-Identifier: Apache-2.0 */
#include "group/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* The start of a point of a curve; the event after the last point is the end of the rank. */
struct sweep_event {
    double at;
    size_t curve, point;
};

static int compare_events(const void *a, const void *b)
{
    const struct sweep_event *first = a, *second = b;

    if (first->at < second->at || first->at > second->at)
        return first->at < second->at ? -1 : 1;
    if (first->curve != second->curve)
        return first->curve < second->curve ? -1 : 1;
    return (first->point > second->point) - (first->point < second->point);
}

int sweep_init(struct sweep *sweep, struct rank_curve **curves, size_t count)
{
    size_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += curves[i]->curve->count + 1;
    *sweep = (struct sweep){ curves, calloc(total + 1, sizeof(*sweep->events)), 0 };
    if (!sweep->events)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct record_curve *curve = curves[i]->curve;

        for (size_t point = 0; curve->count > 0 && point <= curve->count; point++)
            sweep->events[sweep->count++] =
                (struct sweep_event){ curves[i]->start + curve_start(curve, point), i, point };
    }
    qsort(sweep->events, sweep->count, sizeof(*sweep->events), compare_events);
    return 0;
}

void sweep_done(struct sweep *sweep)
{
    free(sweep->events);
    *sweep = (struct sweep){ 0 };
}

static double known(double value)
{
    return isfinite(value) ? value : 0;
}

static void replace(struct curve_value *sum, struct rank_curve *curve, size_t column,
                    size_t point)
{
    struct curve_value next = { 0, 0, 0 };

    if (point < curve->curve->count && curve->columns[column])
        next = curve_get(curve->curve, curve->columns[column], point, point + 1);
    next = (struct curve_value){ known(next.high), known(next.low), known(next.mean) };
    sum->high += next.high - curve->now.high;
    sum->low += next.low - curve->now.low;
    sum->mean += next.mean - curve->now.mean;
    curve->now = next;
}

typedef void segment_see(void *data, double from, double to, const struct curve_value *sum);

/* Calls see() for each period between two events, with the sums during it. */
static void run(const struct sweep *sweep, size_t column, segment_see *see, void *data)
{
    struct curve_value sum = { 0, 0, 0 };

    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_event *event = &sweep->events[i];
        struct rank_curve *curve = sweep->curves[event->curve];

        if (event->point == 0)
            curve->now = (struct curve_value){ 0, 0, 0 };
        replace(&sum, curve, column, event->point);
        if (i + 1 < sweep->count && sweep->events[i + 1].at > event->at)
            see(data, event->at, sweep->events[i + 1].at, &sum);
    }
}

static void see_peak(void *data, UNUSED double from, UNUSED double to,
                     const struct curve_value *sum)
{
    struct curve_value *peak = data;

    peak->high = fmax(peak->high, sum->high);
    peak->low = fmax(peak->low, sum->low);
    peak->mean = fmax(peak->mean, sum->mean);
}

struct curve_value sweep_peak(const struct sweep *sweep, size_t column)
{
    struct curve_value peak = { (double)NAN, (double)NAN, (double)NAN };
    bool any = false;

    for (size_t i = 0; i < sweep->count && !any; i++)
        any = sweep->curves[sweep->events[i].curve]->columns[column] != NULL;
    if (any) {
        peak = (struct curve_value){ 0, 0, 0 };
        run(sweep, column, see_peak, &peak);
    }
    return peak;
}

struct cells {
    struct curve_column *column;
    double width;
    size_t count;
};

static void see_cells(void *data, double from, double to, const struct curve_value *sum)
{
    const struct cells *cells = data;
    struct curve_column *column = cells->column;

    for (size_t i = (size_t)(from / cells->width); i < cells->count; i++) {
        double start = (double)i * cells->width;
        double overlap = fmin(to, start + cells->width) - fmax(from, start);

        if (!(overlap > 0)) {
            if (start >= to)
                break;
            continue;
        }
        column->high[i] = fmaxf(column->high[i], (float)sum->high);
        column->low[i] = fminf(column->low[i], (float)sum->low);
        column->mean[i] += (float)(sum->mean * overlap / cells->width);
    }
}

void sweep_fill(const struct sweep *sweep, size_t column, double seconds, size_t cells,
                struct curve_column *ret)
{
    struct cells all = { ret, seconds / (double)cells, cells };

    for (size_t i = 0; i < cells; i++) {
        ret->high[i] = ret->mean[i] = 0;
        ret->low[i] = INFINITY;
    }
    run(sweep, column, see_cells, &all);
    for (size_t i = 0; i < cells; i++) { /* rounding errors of the sums */
        ret->mean[i] = fmaxf(ret->mean[i], 0);
        ret->low[i] = fminf(fmaxf(ret->low[i], 0), ret->mean[i]);
        ret->high[i] = fmaxf(ret->high[i], ret->mean[i]);
    }
}
