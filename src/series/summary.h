/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - what is left of all samples: first, last, peak and fastest rate of
 * every metric. Its size does not depend on the length of the run.
 *
 * There is one for the run and one for each phase.
 */
#ifndef SERIES_SUMMARY_H
#define SERIES_SUMMARY_H

#include <stdint.h>

#include "sample/sample.h"

/* How many times what a counter may be off a rate is taken over, at least. */
enum { SUMMARY_RESOLUTIONS = 10 };

struct tally {
    uint64_t first; /* first known value */
    uint64_t last;  /* last known value */
    uint64_t max;
    uint64_t later_max; /* the largest but for the first sample: what a sample says of the time
                           before it is of this run or phase from the second on */
    double max_rate;    /* base units per second; NaN: no window yet */
    double rate;        /* of the last window, which ended at anchor_ns; NaN likewise */
    uint64_t anchor;    /* value at the start of the open rate window */
    uint64_t anchor_ns; /* when that was read, as sample_read_ns() */
    uint64_t anchor_resolution_ns;
    uint64_t first_ns, last_ns;
    bool is_lost; /* it was known, but not to the latest sample */
};

struct summary {
    uint64_t started_ns, ended_ns; /* sample.elapsed_ns of the first and last sample */
    uint64_t started_realtime_ns, ended_realtime_ns;
    uint64_t sample_count;
    uint64_t window_ns; /* shortest span over which a rate is taken */
    struct tally tally[METRIC_COUNT];
    struct memory_split at_peak; /* of the job, when its memory was highest in all samples */
    bool storage_is_local;       /* as of the latest sample */
};

/* Rates are taken over half an interval at least, so that the two samples at the end of a run, a
 * moment apart, do not make a peak out of noise; and over ten times what a counter may be off. */
void summary_init(struct summary *summary, uint64_t interval_ns);

/* A phase of a run has its first sample: counters from the start of the run that are not known
 * just now go on from where the run has them. */
void summary_continue(struct summary *phase, const struct summary *run);

/* A phase that had ended goes on now, at the latest sample of the run: what was used in between
 * is not its own. */
void summary_resume(struct summary *phase, const struct summary *run);

/* All that is known of a metric is 0, and that was not measured: forgets it. */
void summary_forget_zero(struct summary *summary, enum metric metric);

/* A level was that high, as something tells at the end. */
void summary_raise(struct summary *summary, enum metric metric, uint64_t value);
void summary_add(struct summary *summary, const struct sample *sample);

#endif
