/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - reduces all samples to the first, last and peak value and the highest rate of
 * every metric. Its size does not depend on the length of the run.
 *
 * There is one summary for the run and one for each phase.
 */
#pragma once

#include <stdint.h>

#include "sample/sample.h"

/* A rate is measured over at least this many times the error of its counter. */
enum { SUMMARY_RESOLUTIONS = 10 };

/*
 * Rates are measured over consecutive windows without gaps. A window ends at the first sample
 * that is far enough from its start, so an increase found after a counter was unknown for a
 * while is spread over that time. Counts are as of the times of the samples: a counter that was
 * read later is interpolated.
 */
struct tally {
    uint64_t first; /* first known value */
    uint64_t last;  /* last known value */
    uint64_t max;
    /* The largest value from the second sample on: it is of this run or phase only. */
    uint64_t later_max;
    uint64_t first_ns, last_ns; /* times of reading, as sample_read_ns() */
    bool is_lost;               /* the value was known earlier, but not in the latest sample */

    /* counters only */
    uint64_t count;  /* as `last`, without missed usage; see only_rises() */
    bool has_fallen; /* see metric_row.may_fall */
    uint64_t offset; /* difference between `count` and the counter, which was reset */
    uint64_t missed, first_missed; /* usage at an unknown time: see struct sample */
    uint64_t start, start_ns;      /* count at the start of the first window */
    uint64_t end_ns;               /* sample.elapsed_ns of `count` */
    uint64_t resolution_ns;        /* resolution of `count` */
    uint64_t anchor, anchor_ns;    /* count at the start of the open window */
    uint64_t anchor_resolution_ns;
    uint64_t before_ns; /* start of the previous window, if any */
    double rate;        /* rate of the previous window, base units per second; NaN: none */
    double max_rate;    /* maximum of all windows before the open one; NaN: none */

    bool first_is_exact;      /* the first known value is exact */
    struct origin origin;     /* origin of the latest value, or why it is unknown */
    struct origin max_origin; /* origin of the largest value */
};

/* A stretch of time and the rate of a counter in it, in base units per second. */
struct rate_window {
    uint64_t start_ns, end_ns;
    double rate;
};

/* Returns the increase of a counter. UNKNOWN if either end is; 0 if the counter stepped back,
 * which is a reset or a race and never usage. */
static inline uint64_t tally_growth(const struct tally *tally)
{
    return sub_known(tally->last, tally->first);
}

/* Returns the origin of the increase from first to last: exact if both ends are. */
struct origin tally_growth_origin(const struct tally *tally);

struct summary {
    uint64_t started_ns, ended_ns; /* sample.elapsed_ns of the first and last sample */
    uint64_t started_realtime_ns, ended_realtime_ns;
    uint64_t sample_count;
    uint64_t window_ns;          /* shortest span over which a rate is taken */
    struct memory_split at_peak; /* memory of the job at its highest total of all samples */
    bool storage_is_local;       /* as in the latest sample */
    double grams_per_joule;      /* grams of CO2 equivalent, set by the caller; 0: unknown */
    struct tally tally[METRIC_COUNT];
};

/* Initializes a summary. A window is at least half an interval long, so that the two samples at
 * the end of a run, a moment apart, do not make a peak out of noise. It is also at least ten
 * times as long as the error of the counter's time. */
void summary_init(struct summary *summary, uint64_t interval_ns);

/* Starts a phase: counters that are unknown at its first sample continue from the run's. */
void summary_continue(struct summary *phase, const struct summary *run);

/* Continues an ended phase at the run's latest sample: usage in between is not the phase's. */
void summary_resume(struct summary *phase, const struct summary *run);

/* Makes a metric unknown if all its values are an unmeasured 0. */
void summary_forget_zero(struct summary *summary, enum metric metric);

/* Raises the maximum of a gauge to a value that `source` reported at the end. */
void summary_raise(struct summary *summary, enum metric metric, uint64_t value,
                   const char *source);
void summary_add(struct summary *summary, const struct sample *sample);

/* Returns the open window, up to the last known value. If it is too short, it is extended into
 * the window before it, with a proportional part of that window's increase: together the
 * windows contain the whole increase. False: there is none. */
bool summary_open_window(const struct summary *summary, enum metric metric,
                         struct rate_window *ret);

/* Returns the rate at which CPU time used at an unknown time is spread evenly. */
double summary_missed_rate(const struct summary *summary, enum metric metric);

/* Returns the highest rate of all windows; NaN: there is none. */
double summary_max_rate(const struct summary *summary, enum metric metric);
