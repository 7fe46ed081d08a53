/* SPDX-License-Identifier: Apache-2.0 */
#include "series/summary.h"

#include <math.h>

#include "base/arithmetic.h"
#include "series/rate.h"

static void tally_clear(struct tally *tally)
{
    *tally = (struct tally){
        .first = UNKNOWN,
        .last = UNKNOWN,
        .max = UNKNOWN,
        .later_max = UNKNOWN,
        .anchor = UNKNOWN,
        .max_rate = nan(""),
        .rate = nan(""),
    };
}

void summary_init(struct summary *summary, uint64_t interval_ns)
{
    *summary = (struct summary){
        .window_ns = interval_ns / 2,
        .at_peak = MEMORY_SPLIT_UNKNOWN,
    };
    for (int i = 0; i < METRIC_COUNT; i++)
        tally_clear(&summary->tally[i]);
}

void summary_forget_zero(struct summary *summary, enum metric metric)
{
    if (summary->tally[metric].max == 0)
        tally_clear(&summary->tally[metric]);
}

static void tally_rate(struct tally *tally, enum metric metric, uint64_t value, uint64_t now_ns,
                       uint64_t resolution_ns, uint64_t window_ns)
{
    uint64_t span_ns = sub_floor0(now_ns, tally->anchor_ns);
    double rate;

    if (span_ns == 0 || span_ns < window_ns ||
        span_ns < SUMMARY_RESOLUTIONS * larger(resolution_ns, tally->anchor_resolution_ns))
        return;
    rate = counter_rate(metric, tally->anchor, value, span_ns);
    if (!isnan(rate) && !(rate <= tally->max_rate)) /* also when max_rate is NaN */
        tally->max_rate = rate;
    tally->rate = rate;
    tally->anchor = value;
    tally->anchor_ns = now_ns;
    tally->anchor_resolution_ns = resolution_ns;
}

void summary_continue(struct summary *phase, const struct summary *run)
{
    for (int i = 0; i < METRIC_COUNT; i++) {
        struct tally *tally = &phase->tally[i];

        if (!metric_row((enum metric)i)->starts_at_zero || is_known(tally->first) ||
            !is_known(run->tally[i].last))
            continue;
        tally->first = tally->last = tally->anchor = run->tally[i].last;
        tally->first_ns = tally->last_ns = tally->anchor_ns = phase->started_ns;
    }
}

/* Moves the start of the phase by what it has missed. */
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
        tally->last = tally->anchor = now;
        tally->last_ns = tally->anchor_ns = run->tally[i].last_ns;
    }
}

static void tally_begin(struct tally *tally, uint64_t value, uint64_t now_ns)
{
    tally->first = tally->anchor = value;
    tally->first_ns = tally->anchor_ns = now_ns;
}

static void tally_add(struct summary *summary, enum metric metric, const struct sample *sample)
{
    struct tally *tally = &summary->tally[metric];
    uint64_t value = sample->value[metric];
    uint64_t missed = sample_missed(sample, metric); /* it counts for totals, not for rates */
    uint64_t now_ns = sample_read_ns(sample, metric);
    uint64_t resolution_ns = sample->clocks[metric_row(metric)->clock].resolution_ns;

    if (!is_known(value)) {
        tally->is_lost = is_known(tally->first);
        return;
    }
    tally->is_lost = false;
    if (!is_known(tally->first)) {
        if (metric_row(metric)->starts_at_zero && summary->sample_count > 1)
            tally_begin(tally, 0, summary->started_ns);
        else
            tally_begin(tally, value, now_ns);
        tally->first += missed;
        tally->anchor_resolution_ns = resolution_ns;
    } else if (metric_row(metric)->published.kind == SPOOR_COUNTER) {
        tally_rate(tally, metric, value, now_ns, resolution_ns, summary->window_ns);
    }
    raise_to(&tally->max, value);
    if (summary->sample_count > 1)
        raise_to(&tally->later_max, value);
    tally->last = value + missed;
    tally->last_ns = now_ns;
}

void summary_raise(struct summary *summary, enum metric metric, uint64_t value)
{
    raise_to(&summary->tally[metric].max, value);
    raise_to(&summary->tally[metric].later_max, value);
}

void summary_add(struct summary *summary, const struct sample *sample)
{
    if (summary->sample_count == 0) {
        summary->started_ns = sample->elapsed_ns;
        summary->started_realtime_ns = sample->realtime_ns;
    }
    summary->ended_ns = sample->elapsed_ns;
    summary->ended_realtime_ns = sample->realtime_ns;
    summary->sample_count++;
    memory_split_keep_higher(&summary->at_peak, &sample->at_peak);
    summary->storage_is_local = sample->storage_is_local;
    for (int i = 0; i < METRIC_COUNT; i++)
        tally_add(summary, (enum metric)i, sample);
}
