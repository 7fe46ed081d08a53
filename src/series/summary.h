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

/*
 * The rate of a counter is taken over windows that follow each other without gaps. A window ends at
 * the first sample that is far enough from its start, so the growth that a counter shows after it was
 * unknown for a while is spread over that time. Counts are those at the times of the samples:
 * a counter that was read later is interpolated.
 */
struct tally {
    uint64_t first; /* first known value */
    uint64_t last;  /* last known value */
    uint64_t max;
    uint64_t later_max; /* the largest but for the first sample: what a sample says of the time
                           before it is of this run or phase from the second on */
    uint64_t first_ns, last_ns; /* when they were read, as sample_read_ns() */
    bool is_lost;               /* it was known, but not to the latest sample */

    /* of counters */
    uint64_t count;                /* as `last`, without what was missed; see only_rises() */
    bool has_fallen;               /* see metric_row.may_fall */
    uint64_t offset;               /* of it to the counter, which was reset */
    uint64_t missed, first_missed; /* used besides, not known when: see struct sample */
    uint64_t start, start_ns;      /* count at the start of the first window */
    uint64_t end_ns;               /* sample.elapsed_ns of `count` */
    uint64_t resolution_ns;        /* of it */
    uint64_t anchor, anchor_ns;    /* count at the start of the open window */
    uint64_t anchor_resolution_ns;
    uint64_t before_ns; /* start of the window before it, if there was one: */
    double rate;        /* its rate, in base units per second; NaN: there was none */
    double max_rate;    /* of all windows before the open one; NaN likewise */

    bool first_is_exact;      /* the first known value was */
    struct origin origin;     /* of the latest value, or why it is unknown */
    struct origin max_origin; /* of the largest */
};

/* A stretch of time and the rate of a counter in it, in base units per second. */
struct rate_window {
    uint64_t start_ns, end_ns;
    double rate;
};

/* The origin of the growth from the first to the last value: exact if both ends are. */
struct origin tally_growth_origin(const struct tally *tally);

struct summary {
    uint64_t started_ns, ended_ns; /* sample.elapsed_ns of the first and last sample */
    uint64_t started_realtime_ns, ended_realtime_ns;
    uint64_t sample_count;
    uint64_t window_ns; /* shortest span over which a rate is taken */
    struct tally tally[METRIC_COUNT];
    struct memory_split at_peak; /* of the job, when its memory was highest in all samples */
    bool storage_is_local;       /* as of the latest sample */
};

/* Windows of rates are half an interval long at least, so that the two samples at the end of a run, a
 * moment apart, do not make a peak out of noise; and ten times what a counter may be off. */
void summary_init(struct summary *summary, uint64_t interval_ns);

/* A phase of a run has its first sample: counters from the start of the run that are not known
 * just now go on from where the run has them. */
void summary_continue(struct summary *phase, const struct summary *run);

/* A phase that had ended goes on now, at the latest sample of the run: what was used in between
 * is not its own. */
void summary_resume(struct summary *phase, const struct summary *run);

/* All that is known of a metric is 0, and that was not measured: forgets it. */
void summary_forget_zero(struct summary *summary, enum metric metric);

/* A level was that high, as `source` tells at the end. */
void summary_raise(struct summary *summary, enum metric metric, uint64_t value,
                   const char *source);
void summary_add(struct summary *summary, const struct sample *sample);

/* The window that is still open, up to the last known value. If it is too short, it starts earlier, in
 * the window before it, and has that part of its growth: all windows together hold all growth. False:
 * there is none. */
bool summary_open_window(const struct summary *summary, enum metric metric,
                         struct rate_window *ret);

/* CPU time that was used at an unknown time counts as used evenly, at this rate. */
double summary_missed_rate(const struct summary *summary, enum metric metric);

/* The highest rate of all windows; NaN: there is none. */
double summary_max_rate(const struct summary *summary, enum metric metric);

#endif
