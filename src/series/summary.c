/* SPDX-License-Identifier: Apache-2.0 */
#include "series/summary.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/amount.h"
#include "series/series.h"

static const struct tally tally_unknown = {
    .first = UNKNOWN,
    .last = UNKNOWN,
    .max = UNKNOWN,
    .later_max = UNKNOWN,
    .count = UNKNOWN,
    .anchor = UNKNOWN,
    .max_rate = (double)NAN,
    .rate = (double)NAN,
};

void summary_init(struct summary *summary, uint64_t interval_ns)
{
    memset(summary, 0, offsetof(struct summary, tally));
    summary->window_ns = interval_ns / 2;
    summary->at_peak = (struct memory_split)MEMORY_SPLIT_UNKNOWN;
    for (int i = 0; i < METRIC_COUNT; i++)
        summary->tally[i] = tally_unknown;
}

void summary_forget_zero(struct summary *summary, enum metric metric)
{
    if (summary->tally[metric].max == 0)
        summary->tally[metric] = tally_unknown;
}

/* ---- windows of rates ----------------------------------------------------- */

/* Whether the curve of a counter never falls. */
static bool only_rises(enum metric metric)
{
    const struct metric_row *row = metric_row(metric);

    return row->is_charted && row->published.kind == SPOOR_COUNTER && !row->may_fall;
}

/* Whether a counter was reset. A counter that falls below half of its value was reset. A
 * smaller step back comes from different times of reading: the count stays until the counter
 * has caught up. */
static bool was_reset(const struct tally *tally, uint64_t value)
{
    return value < (tally->count - tally->offset) / 2;
}

static uint64_t next_count(const struct tally *tally, enum metric metric, uint64_t value)
{
    return only_rises(metric) ? larger(value + tally->offset, tally->count) : value;
}

/* Interpolates the count at the time of a sample whose counter was read later. */
static uint64_t count_at_sample(const struct tally *tally, enum metric metric,
                                const struct sample *sample)
{
    uint64_t count = next_count(tally, metric, sample->value[metric]);
    uint64_t read_ns = sample_read_ns(sample, metric), at_ns = sample->elapsed_ns;

    if (at_ns >= read_ns || read_ns <= tally->last_ns || count <= tally->count)
        return count;
    return tally->count + (uint64_t)((double)(count - tally->count) *
                                     (double)sub_floor0(at_ns, tally->last_ns) /
                                     (double)(read_ns - tally->last_ns));
}

/* Whether counts are interpolated back to the time of the sample. This is right for counters of the
 * machine, which keeps running. Counts of the job are used as read: the job may have ended, and its
 * last count is its total. */
static bool is_dated_back(enum metric metric)
{
    return metric_row(metric)->clock == CLOCK_HOST_CPU;
}

/* Dates the first count back to its sample, at the rate up to the second count. */
static void date_back_first(struct tally *tally, uint64_t count, uint64_t read_ns)
{
    uint64_t span_ns =
        larger(sub_floor0(read_ns, tally->first_ns), tally->anchor_resolution_ns);

    if (tally->first_ns <= tally->start_ns || span_ns == 0)
        return;
    tally->first =
        sub_floor0(tally->first,
                   (uint64_t)((double)sub_floor0(count, tally->first) *
                              (double)(tally->first_ns - tally->start_ns) / (double)span_ns));
    tally->start = tally->anchor = tally->first;
    tally->first_ns = tally->start_ns;
}

static uint64_t shortest_window_ns(const struct summary *summary, const struct tally *tally,
                                   uint64_t resolution_ns)
{
    return larger(larger(summary->window_ns, 1),
                  SUMMARY_RESOLUTIONS * larger(resolution_ns, tally->anchor_resolution_ns));
}

static void close_window(struct tally *tally, enum metric metric, uint64_t count,
                         const struct sample *sample)
{
    uint64_t now_ns = sample->elapsed_ns;
    double rate = counter_rate(metric, tally->anchor, count, now_ns - tally->anchor_ns);

    if (!(rate <= tally->max_rate)) /* also true if max_rate is NaN */
        tally->max_rate = rate;
    tally->rate = rate;
    tally->before_ns = tally->anchor_ns;
    tally->anchor = count;
    tally->anchor_ns = now_ns;
    tally->anchor_resolution_ns = sample->clocks[metric_row(metric)->clock].resolution_ns;
}

/* Whether a metric has windows of its own. Main and descendants use the windows of the job. */
static bool has_own_windows(const struct summary *summary, enum metric metric)
{
    return (metric != METRIC_MAIN_CPU && metric != METRIC_DESCENDANTS_CPU) ||
           !is_known(summary->tally[METRIC_JOB_CPU].first);
}

/* Closes the windows of main and descendants. `main_count`: value at the time of the sample;
 * UNKNOWN if it was unknown before. */
static void close_parts(struct summary *summary, const struct sample *sample,
                        uint64_t main_count)
{
    const struct tally *job = &summary->tally[METRIC_JOB_CPU];
    struct tally *main = &summary->tally[METRIC_MAIN_CPU];
    struct tally *descendants = &summary->tally[METRIC_DESCENDANTS_CPU];

    if (!is_known(main_count) || !is_known(job->first) || job->anchor_ns != sample->elapsed_ns)
        return;
    if (sample->elapsed_ns > main->anchor_ns)
        close_window(main, METRIC_MAIN_CPU, main_count, sample);
    if (is_known(sample->value[METRIC_DESCENDANTS_CPU]) &&
        sample->elapsed_ns > descendants->anchor_ns)
        close_window(descendants, METRIC_DESCENDANTS_CPU,
                     larger(sub_floor0(job->anchor, main_count), descendants->anchor), sample);
}

bool summary_open_window(const struct summary *summary, enum metric metric,
                         struct rate_window *ret)
{
    const struct tally *tally = &summary->tally[metric];
    uint64_t count = tally->count, open_ns, span_ns, taken_ns = 0;
    double grown;

    if (!is_known(tally->first) || !is_known(count))
        return false;
    open_ns = sub_floor0(tally->end_ns, tally->anchor_ns);
    if (!isnan(tally->rate))
        taken_ns = smaller(
            sub_floor0(shortest_window_ns(summary, tally, tally->resolution_ns), open_ns),
            tally->anchor_ns - tally->before_ns);
    span_ns = open_ns + taken_ns;
    if (span_ns == 0 || (open_ns == 0 && count <= tally->anchor))
        return false;
    if (is_dated_back(
            metric)) /* a whole tick counts at once, most of it possibly from before */
        span_ns = larger(span_ns, tally->anchor_resolution_ns);
    grown = metric_value(metric, sub_known(count, tally->anchor));
    if (taken_ns > 0)
        grown += tally->rate * (double)taken_ns / 1e9;
    *ret = (struct rate_window){
        .start_ns = tally->anchor_ns - taken_ns,
        .end_ns = tally->anchor_ns + open_ns,
        .rate = grown / ((double)span_ns / 1e9),
    };
    return true;
}

double summary_missed_rate(const struct summary *summary, enum metric metric)
{
    const struct tally *tally = &summary->tally[metric];
    double rate = counter_rate(metric, tally->first_missed, tally->missed,
                               sub_floor0(tally->end_ns, tally->start_ns));

    return isnan(rate) ? 0 : rate;
}

double summary_max_rate(const struct summary *summary, enum metric metric)
{
    double max = summary->tally[metric].max_rate;
    struct rate_window window;

    if (summary_open_window(summary, metric, &window) && !(window.rate <= max))
        max = window.rate;
    return max + summary_missed_rate(summary, metric);
}

/* ---- phases --------------------------------------------------------------- */

static void tally_begin(struct tally *tally, uint64_t value, uint64_t now_ns,
                        uint64_t sample_ns)
{
    tally->first = tally->start = tally->anchor = value;
    tally->first_ns = now_ns;
    tally->start_ns = tally->anchor_ns = sample_ns;
}

void summary_continue(struct summary *phase, const struct summary *run)
{
    for (int i = 0; i < METRIC_COUNT; i++) {
        struct tally *tally = &phase->tally[i];

        if (!metric_row((enum metric)i)->starts_at_zero || is_known(tally->first) ||
            !is_known(run->tally[i].last))
            continue;
        tally_begin(tally, run->tally[i].last, phase->started_ns, phase->started_ns);
        tally->last = tally->count = tally->first;
        tally->last_ns = tally->end_ns = phase->started_ns;
        tally->first_is_exact = run->tally[i].origin.is_exact;
    }
}

/* Continues the windows from the current state of the run. */
static void resume_count(struct tally *tally, const struct tally *run)
{
    tally->start += run->count - tally->count;
    tally->start_ns += run->end_ns - tally->end_ns;
    tally->first_missed += run->missed - tally->missed;
    tally->missed = run->missed;
    tally->count = tally->anchor = run->count;
    tally->offset = run->offset;
    tally->end_ns = tally->anchor_ns = run->end_ns;
    tally->rate = nan("");
}

/* Moves the start of the phase forward by the usage it missed. */
void summary_resume(struct summary *phase, const struct summary *run)
{
    uint64_t missed_ns = run->ended_ns - phase->ended_ns;

    phase->started_ns += missed_ns;
    phase->ended_ns = run->ended_ns;
    for (int i = 0; i < METRIC_COUNT; i++) {
        struct tally *tally = &phase->tally[i];
        uint64_t now = run->tally[i].last;

        if (!is_known(tally->first) || !is_known(now))
            continue;
        if (metric_row((enum metric)i)->published.kind == SPOOR_COUNTER)
            tally->first += now - tally->last;
        else
            raise_to(&tally->max, now);
        tally->first_ns += run->tally[i].last_ns - tally->last_ns;
        tally->first_is_exact &= tally->origin.is_exact && run->tally[i].origin.is_exact;
        tally->last = now;
        tally->last_ns = run->tally[i].last_ns;
        resume_count(tally, &run->tally[i]);
    }
}

struct origin tally_growth_origin(const struct tally *tally)
{
    struct origin origin = tally->origin;

    origin.is_exact &= tally->first_is_exact;
    return origin;
}

/* ---- samples -------------------------------------------------------------- */

static void add_count(struct summary *summary, enum metric metric, const struct sample *sample)
{
    struct tally *tally = &summary->tally[metric];
    uint64_t value = sample->value[metric], at_sample = count_at_sample(tally, metric, sample);

    if (is_dated_back(metric))
        date_back_first(tally, value, sample_read_ns(sample, metric));
    tally->resolution_ns = sample->clocks[metric_row(metric)->clock].resolution_ns;
    if (metric_row(metric)->may_fall && value < tally->anchor) {
        tally->anchor = value; /* the job never used what was removed from the count */
        tally->start = smaller(tally->start, value);
        tally->rate = nan("");
    }
    if (has_own_windows(summary, metric) &&
        sub_floor0(sample->elapsed_ns, tally->anchor_ns) >=
            shortest_window_ns(summary, tally, tally->resolution_ns))
        close_window(tally, metric, at_sample, sample);
    if (was_reset(tally, value) && only_rises(metric))
        tally->offset = tally->count - value;
    tally->has_fallen |= value < tally->count;
    tally->count = is_dated_back(metric) ? at_sample : next_count(tally, metric, value);
}

static void tally_add(struct summary *summary, enum metric metric, const struct sample *sample)
{
    struct tally *tally = &summary->tally[metric];
    uint64_t value = first_known(sample->highest[metric], sample->value[metric]);
    uint64_t now_ns = is_dated_back(metric) && is_known(tally->first)
                          ? sample->elapsed_ns
                          : sample_read_ns(sample, metric);

    tally->origin = sample->origin[metric];
    if (!is_known(value)) {
        tally->is_lost = is_known(tally->first);
        return;
    }
    tally->is_lost = false;
    tally->missed = sample_missed(sample, metric);
    if (!is_known(tally->first)) {
        if (metric_row(metric)->starts_at_zero && summary->sample_count > 1)
            tally_begin(tally, 0, summary->started_ns, summary->started_ns);
        else
            tally_begin(tally, value, now_ns, sample->elapsed_ns);
        tally->first_is_exact = tally->origin.is_exact || tally->first < value;
        tally->count = value;
        tally->first_missed = tally->missed;
        tally->first += tally->missed;
        tally->resolution_ns = tally->anchor_resolution_ns =
            sample->clocks[metric_row(metric)->clock].resolution_ns;
    } else if (metric_row(metric)->published.kind == SPOOR_COUNTER) {
        add_count(summary, metric, sample);
        value = tally->count;
    }
    raise_to(&tally->max, value);
    if (tally->max == value) /* a mark keeps its value while its origin improves */
        tally->max_origin = tally->origin;
    if (summary->sample_count > 1)
        raise_to(&tally->later_max, value);
    tally->last = value + tally->missed;
    tally->last_ns = now_ns;
    tally->end_ns = sample->elapsed_ns;
}

void summary_raise(struct summary *summary, enum metric metric, uint64_t value,
                   const char *source)
{
    struct tally *tally = &summary->tally[metric];

    raise_to(&tally->max, value);
    raise_to(&tally->later_max, value);
    tally->origin.source = tally->max_origin.source = source;
}

void summary_add(struct summary *summary, const struct sample *sample)
{
    const struct tally *main = &summary->tally[METRIC_MAIN_CPU];
    uint64_t main_count = UNKNOWN;

    if (summary->sample_count == 0) {
        summary->started_ns = sample->elapsed_ns;
        summary->started_realtime_ns = sample->realtime_ns;
    }
    summary->ended_ns = sample->elapsed_ns;
    summary->ended_realtime_ns = sample->realtime_ns;
    summary->sample_count++;
    memory_split_keep_higher(&summary->at_peak, &sample->at_peak);
    summary->storage_is_local = sample->storage_is_local;
    if (is_known(main->first) && is_known(sample->value[METRIC_MAIN_CPU]))
        main_count = count_at_sample(main, METRIC_MAIN_CPU, sample);
    for (int i = 0; i < METRIC_COUNT; i++)
        tally_add(summary, (enum metric)i, sample);
    close_parts(summary, sample, main_count);
}
