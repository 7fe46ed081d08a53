/* SPDX-License-Identifier: Apache-2.0 */
#include "series/series.h"

#include <errno.h>
#include <stdlib.h>

#include "base/amount.h"

/* ---- rate ------------------------------------------------------------------ */

double counter_rate(enum metric metric, uint64_t from, uint64_t to, uint64_t span_ns)
{
    uint64_t delta = sub_known(to, from);

    if (!is_known(delta) || span_ns == 0)
        return nan("");
    return metric_value(metric, delta) / ((double)span_ns / 1e9);
}

/* ---- series ---------------------------------------------------------------- */

static const enum gpu_measure gpu_measures[SERIES_GPU_MEASURES] = {
    GPU_MEMORY,
    GPU_JOB_MEMORY,
    GPU_UTILIZATION,
    GPU_JOB_UTILIZATION,
    GPU_POWER,
    GPU_TEMPERATURE,
    GPU_WORK + GPU_WORK_SM,
    GPU_WORK + GPU_WORK_TENSOR,
    GPU_WORK + GPU_WORK_DRAM,
};

static struct series_value one(float value)
{
    return (struct series_value){ value, value, value };
}

int series_init(struct series *series, size_t points)
{
    struct series new = { .capacity = points, .stride = 1 };

    for (int i = 0; i < METRIC_COUNT; i++) {
        const struct metric_row *row = metric_row((enum metric)i);
        bool is_rate = row->published.kind == SPOOR_COUNTER;

        if (row->is_charted)
            new.metrics[new.metric_count++] = (struct series_metric){
                .metric = (uint8_t)i,
                .place = (uint8_t)(is_rate ? new.counter_count++ : new.gauge_count++),
                .is_rate = is_rate,
                .ends_with_job = row->ends_with_job,
                .unit = metric_value((enum metric)i, 1),
            };
    }
    new.ends_ns = calloc(points, sizeof(*new.ends_ns));
    new.gauges = calloc(points, new.gauge_count * sizeof(*new.gauges));
    new.counts = calloc(points, new.counter_count * sizeof(*new.counts));
    if (!new.ends_ns || !new.gauges || !new.counts) {
        series_done(&new);
        return -ENOMEM;
    }
    *series = new;
    return 0;
}

void series_done(struct series *series)
{
    free(series->ends_ns);
    free(series->gauges);
    free(series->counts);
    free(series->gpu_values);
    *series = (struct series){ 0 };
}

uint64_t series_start_ns(const struct series *series, size_t point)
{
    return point > 0 ? series->ends_ns[point - 1] : 0;
}

/* Merges neighbours, which cover the times `before` and `after`. A known value replaces NaN. */
static struct series_value series_merge(struct series_value earlier, struct series_value later,
                                        double before, double after)
{
    double time = before + after;

    if (isnan(later.high) || isinf(earlier.high))
        return earlier;
    if (isnan(earlier.high) || isinf(later.high))
        return later;
    return (struct series_value){
        .high = later.high > earlier.high ? later.high : earlier.high,
        .low = later.low < earlier.low ? later.low : earlier.low,
        .mean =
            time > 0
                ? (float)(((double)earlier.mean * before + (double)later.mean * after) / time)
                : later.mean,
    };
}

/* ---- merging points ------------------------------------------------------- */

static void halve_values(struct series_value *values, size_t columns, size_t point,
                         double before, double after)
{
    const struct series_value *from = &values[2 * point * columns];

    for (size_t i = 0; i < columns; i++)
        values[point * columns + i] = series_merge(from[i], from[columns + i], before, after);
}

static void add_rate(struct series_count *at, float high, float low)
{
    if (!(high <= at->high)) /* also true if at->high is NaN */
        at->high = isnan(high) ? at->high : high;
    if (!(low >= at->low))
        at->low = isnan(low) ? at->low : low;
}

static void halve_counts(struct series *series, size_t point)
{
    const struct series_count *from = &series->counts[2 * point * series->counter_count];
    struct series_count *to = &series->counts[point * series->counter_count];

    for (size_t i = 0; i < series->counter_count; i++) {
        const struct series_count earlier = from[i];

        to[i] = from[series->counter_count + i];
        add_rate(&to[i], earlier.high, earlier.low);
    }
}

static void halve(struct series *series)
{
    uint64_t start_ns = 0;

    for (size_t i = 0; i < series->count / 2; i++) {
        uint64_t middle_ns = series->ends_ns[2 * i], end_ns = series->ends_ns[2 * i + 1];
        double before = (double)(middle_ns - start_ns), after = (double)(end_ns - middle_ns);

        halve_values(series->gauges, series->gauge_count, i, before, after);
        halve_counts(series, i);
        if (series->gpu_values)
            halve_values(series->gpu_values, series->gpu_count * SERIES_GPU_MEASURES, i, before,
                         after);
        series->ends_ns[i] = start_ns = end_ns;
    }
    series->count /= 2;
    series->stride *= 2;
}

/* ---- samples -------------------------------------------------------------- */

/* Adds the window that the latest sample closed to all points it overlaps. The points since the
 * start of that window have no count yet. */
static void spread(struct series *series, const struct series_metric *column,
                   const struct tally *tally)
{
    double count = (double)(tally->anchor - tally->start) * column->unit;

    for (size_t i = series->count; i > 0 && series->ends_ns[i - 1] > tally->before_ns; i--) {
        struct series_count *at =
            &series->counts[(i - 1) * series->counter_count + column->place];
        uint64_t after_ns = tally->anchor_ns - series->ends_ns[i - 1];

        at->count = count - tally->rate * (double)after_ns / 1e9;
        if (series_start_ns(series, i - 1) < tally->anchor_ns)
            add_rate(at, (float)tally->rate, (float)tally->rate);
    }
}

/* Called for every counter of every sample, so it does no lookups. */
static void enter_count(struct series *series, const struct series_entry *entry,
                        const struct series_metric *column, const struct sample *sample,
                        const struct summary *summary)
{
    const struct tally *tally = &summary->tally[column->metric];
    struct series_count *at =
        &series->counts[(series->count - 1) * series->counter_count + column->place];

    if (entry->is_first)
        *at = (struct series_count){ .high = (float)NAN, .low = (float)NAN };
    at->count = (double)NAN;
    if (!is_known(tally->first) || tally->anchor_ns != sample->elapsed_ns)
        return;
    if (isnan(tally->rate)) /* first value */
        at->count = 0;
    else
        spread(series, column, tally);
}

struct series_gpus series_gpus_of(const struct gpu_view *view)
{
    struct series_gpus gpus = { 0 };

    for (size_t i = 0; view->units && i < view->count && gpus.count < SERIES_GPUS_MAX; i++) {
        double values[GPU_MEASURE_COUNT];

        if (!view->units[i].is_selected)
            continue;
        gpu_columns_read(view, view->units[i].place, values);
        for (size_t k = 0; k < SERIES_GPU_MEASURES; k++)
            gpus.values[gpus.count][k] = (float)values[gpu_measures[k]];
        gpus.places[gpus.count++] = view->units[i].place;
    }
    return gpus;
}

enum gpu_measure series_gpu_measure(size_t index)
{
    return gpu_measures[index];
}

/* Adds the GPUs to the series. If memory runs out, they are left out. */
static void add_gpus(struct series *series, const struct series_gpus *gpus)
{
    size_t columns = gpus->count * SERIES_GPU_MEASURES;

    if (series->gpu_values || columns == 0)
        return;
    series->gpu_values = calloc(series->capacity, columns * sizeof(*series->gpu_values));
    if (!series->gpu_values)
        return;
    series->gpu_count = gpus->count;
    for (size_t i = 0; i < gpus->count; i++)
        series->gpus[i] = gpus->places[i];
    for (size_t i = 0; i < series->count * columns; i++)
        series->gpu_values[i] = one((float)NAN);
}

static const float *find_gpu(const struct series_gpus *gpus, struct gpu_place place)
{
    for (size_t i = 0; i < gpus->count; i++) {
        if (gpus->places[i].index == place.index && gpus->places[i].part == place.part)
            return gpus->values[i];
    }
    return NULL;
}

static void enter(const struct series_entry *entry, struct series_value *at, float value)
{
    *at = entry->is_first ? one(value)
                          : series_merge(*at, one(value), entry->before, entry->after);
}

static void enter_gpus(struct series *series, size_t point, const struct series_entry *entry,
                       const struct series_gpus *gpus)
{
    struct series_value *at =
        &series->gpu_values[point * series->gpu_count * SERIES_GPU_MEASURES];

    for (size_t i = 0; i < series->gpu_count; i++) {
        const float *values = find_gpu(gpus, series->gpus[i]);

        for (size_t k = 0; k < SERIES_GPU_MEASURES; k++)
            enter(entry, at++, values ? values[k] : (float)NAN);
    }
}

static struct series_value *last_gauges(const struct series *series)
{
    return &series->gauges[(series->count - 1) * series->gauge_count];
}

/* Enters withheld gauges: called when another sample follows, so the job had not ended. */
static void enter_withheld(struct series *series)
{
    struct series_value *values = last_gauges(series);

    for (size_t i = 0; i < series->metric_count; i++) {
        if (series->metrics[i].is_withheld)
            enter(&series->withheld, &values[series->metrics[i].place], 0);
    }
    series->has_withheld = false;
}

/* Whether a part is missing: in every point the parts add up to the total, or are unknown. */
static bool is_missing_part(const struct series_metric *column, const struct sample *sample)
{
    return (column->metric == METRIC_JOB_PRIVATE || column->metric == METRIC_JOB_SHARED) &&
           !is_known(sample->value[column->metric]) && is_known(sample->value[METRIC_JOB_RSS]);
}

static void enter_metrics(struct series *series, const struct series_entry *entry,
                          const struct sample *sample, const struct summary *summary)
{
    bool has_ended = sample->value[METRIC_JOB_THREADS] == 0 && series->samples > 0;
    struct series_value *gauges = last_gauges(series);

    for (size_t i = 0; i < series->metric_count; i++) {
        struct series_metric *column = &series->metrics[i];
        uint64_t raw = sample->value[column->metric];

        if (column->is_rate) {
            enter_count(series, entry, column, sample, summary);
            continue;
        }
        column->is_withheld = has_ended && column->ends_with_job && raw == 0;
        if (column->is_withheld || !is_known(raw))
            enter(entry, &gauges[column->place],
                  is_missing_part(column, sample) ? SERIES_MISSING_PART : (float)NAN);
        else
            enter(entry, &gauges[column->place], (float)((double)raw * column->unit));
    }
    series->has_withheld = has_ended;
    series->withheld = *entry;
}

void series_append(struct series *series, const struct sample *sample,
                   const struct summary *summary, const struct series_gpus *gpus)
{
    struct series_entry entry = { .is_first = series->open_samples == 0 };
    size_t point;

    if (series->has_withheld && !sample->job_is_over)
        enter_withheld(series);
    if (entry.is_first && series->count == series->capacity)
        halve(series);
    add_gpus(series, gpus);
    point = entry.is_first ? series->count++ : series->count - 1;
    if (!entry.is_first) {
        entry.before = (double)(series->ends_ns[point] - series_start_ns(series, point));
        entry.after = (double)sub_floor0(sample->elapsed_ns, series->ends_ns[point]);
    }
    series->ends_ns[point] = larger(sample->elapsed_ns, series_start_ns(series, point));
    enter_metrics(series, &entry, sample, summary);
    if (series->gpu_values)
        enter_gpus(series, point, &entry, gpus);
    series->samples++;
    series->open_samples = (series->open_samples + 1) % series->stride;
}

/* ---- reading -------------------------------------------------------------- */

/* Returns a counter at the end of a point: 0 before its first value, unknown after its last. */
static double counted_at_end(const struct series *series, const struct series_metric *column,
                             const struct tally *tally, const struct rate_window *open,
                             size_t point)
{
    uint64_t end_ns = series->ends_ns[point];
    double since_open = (double)sub_floor0(smaller(end_ns, open->end_ns), open->start_ns) / 1e9;
    double at_anchor = (double)(tally->anchor - tally->start) * column->unit;

    if (end_ns <= tally->start_ns)
        return 0;
    if (end_ns <= open->start_ns)
        return series->counts[point * series->counter_count + column->place].count;
    if (open->start_ns < tally->anchor_ns)
        at_anchor -= tally->rate * (double)(tally->anchor_ns - open->start_ns) / 1e9;
    return at_anchor + open->rate * since_open;
}

/* Like counted_at_end(), but without usage found later to be foreign. */
static double count_at_end(const struct series *series, const struct series_metric *column,
                           const struct tally *tally, const struct rate_window *open,
                           size_t point)
{
    double count = counted_at_end(series, column, tally, open, point);

    if (!metric_row((enum metric)column->metric)->may_fall || !tally->has_fallen)
        return count;
    for (size_t i = point + 1; i < series->count; i++)
        count = fmin(count, counted_at_end(series, column, tally, open, i));
    return count;
}

/* Returns the increase of a counter in a point, including CPU time used at an unknown time. */
static double growth_in(const struct series *series, const struct summary *summary,
                        const struct series_metric *column, const struct rate_window *open,
                        size_t point)
{
    const struct tally *tally = &summary->tally[column->metric];
    uint64_t from_ns = larger(series_start_ns(series, point), tally->start_ns);
    uint64_t until_ns = smaller(series->ends_ns[point], tally->end_ns);
    double missed = summary_missed_rate(summary, (enum metric)column->metric) *
                    (double)sub_floor0(until_ns, from_ns) / 1e9;
    double before = point > 0 ? count_at_end(series, column, tally, open, point - 1) : 0;

    return count_at_end(series, column, tally, open, point) - before + missed;
}

/* Returns rates and their mean. A mean that differs from the rate of a single window only by
 * rounding is replaced by that rate. If the counter was unknown for part of a point, the mean
 * may be below the rates. */
static struct series_value rates_with_mean(const struct series_count *rates, double missed,
                                           double mean)
{
    struct series_value value = {
        .high = (float)((double)rates->high + missed),
        .low = (float)((double)rates->low + missed),
        .mean = (float)mean,
    };

    if ((double)(value.high - value.mean) <= 1e-6 * (double)value.high)
        value.mean = value.high;
    if (value.mean < value.low)
        value.low = value.mean;
    return value;
}

static struct series_value rate_at(const struct series *series, const struct summary *summary,
                                   const struct series_metric *column, size_t point)
{
    enum metric metric = (enum metric)column->metric;
    const struct tally *tally = &summary->tally[metric];
    struct series_count rates = series->counts[point * series->counter_count + column->place];
    uint64_t start_ns = series_start_ns(series, point), end_ns = series->ends_ns[point];
    struct rate_window open = { tally->anchor_ns, tally->anchor_ns, 0 };

    if (!is_known(tally->first) || start_ns == end_ns || end_ns <= tally->start_ns ||
        start_ns >= tally->end_ns)
        return one((float)NAN);
    if (summary_open_window(summary, metric, &open) && start_ns < open.end_ns &&
        end_ns > open.start_ns)
        add_rate(&rates, (float)open.rate, (float)open.rate);
    return rates_with_mean(&rates, summary_missed_rate(summary, metric),
                           growth_in(series, summary, column, &open, point) /
                               ((double)(end_ns - start_ns) / 1e9));
}

struct series_value series_get(const struct series *series, const struct summary *summary,
                               size_t metric_index, size_t point)
{
    const struct series_metric *column = &series->metrics[metric_index];

    return column->is_rate ? rate_at(series, summary, column, point)
                           : series->gauges[point * series->gauge_count + column->place];
}
