/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statistics.h - statistics of one figure over several runs (pure).
 *
 * Nothing here assumes a normal distribution: times have a long tail, and peaks of memory come in steps.
 * Values are finite; the caller drops unknown ones.
 */
#ifndef RUNS_STATISTICS_H
#define RUNS_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* NaN: unknown, such as the interval of the median of fewer than six values. */
struct statistics {
    size_t count;
    double min, max, mean, median;
    double low, high; /* the 95 % interval of the median, by order statistics */
    double spread; /* 1.4826 x the median absolute deviation: a standard deviation, if normal */
    size_t outliers; /* values that differ from the median by more than OUTLIER_SPREADS */
};

#define OUTLIER_SPREADS 4.0

/* Sorts the values. */
void statistics_of(double *values, size_t count, struct statistics *ret);

/* Returns the value at a quantile from 0 to 1 of sorted values, by nearest rank: a value
 * that occurred. NaN without values. */
double statistics_quantile(const double *sorted, size_t count, double quantile);

/* Smaller differences are ignored, however exact the figures are: half a percent. */
#define STATISTICS_SHARE_MIN 0.005

/* Returns how far a value may be from the median of earlier ones: OUTLIER_SPREADS spreads,
 * where a spread is at least STATISTICS_SHARE_MIN of the median. Otherwise, after twenty
 * equal runs, a single page more would be an alarm. */
double statistics_tolerance(const struct statistics *statistics);

/* Two sets of values, sorted. */
struct comparison {
    double p;     /* p of the two-sided Mann-Whitney test; NaN: too few values for p < 0.05 */
    double ratio; /* b / a, the Hodges-Lehmann estimate; NaN: a value is not positive */
    double low, high;    /* its 95 % interval; NaN: too few values */
    bool is_significant; /* p < 0.05 */
};

/* Fails with -ENOMEM. If there are more than STATISTICS_PAIRED_MAX values, the ratio uses
 * values at equal ranks. */
enum { STATISTICS_PAIRED_MAX = 1000 };
int statistics_compare(const double *a, size_t a_count, const double *b, size_t b_count,
                       struct comparison *ret);

#endif
