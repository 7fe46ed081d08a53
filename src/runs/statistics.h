/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statistics.h - statistics of one figure over several runs. Does no I/O.
 *
 * Nothing here assumes a normal distribution: times have a long tail, and memory peaks come in
 * steps. Values are finite; the caller drops unknown ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* NaN: unknown. The interval of the median needs at least six values. */
struct statistics {
    size_t count;
    double min, max, mean, median;
    double low, high; /* the 95 % interval of the median, by order statistics */
    double spread;   /* 1.4826 x median absolute deviation: the standard deviation, if normal */
    size_t outliers; /* values that differ from the median by more than OUTLIER_SPREADS */
};

#define OUTLIER_SPREADS 4.0

/* Computes statistics; sorts the values. */
void statistics_of(double *values, size_t count, struct statistics *ret);

/* Returns a quantile (0 to 1) of sorted values by nearest rank, so it is one of the values.
 * NaN: there are no values. */
double statistics_quantile(const double *sorted, size_t count, double quantile);

/* Differences below half a percent are ignored, however exact the figures are. */
#define STATISTICS_SHARE_MIN 0.005

/* Returns how far a value may be from the median of earlier values: OUTLIER_SPREADS spreads,
 * where a spread is at least STATISTICS_SHARE_MIN of the median. Without that minimum, one
 * more page after twenty equal runs would be an outlier. */
double statistics_tolerance(const struct statistics *statistics);

/* The result of comparing two sets of values. */
struct comparison {
    double p;            /* two-sided Mann-Whitney test; NaN: too few values for p < 0.05 */
    double ratio;        /* b / a, the Hodges-Lehmann estimate; NaN: a value is not positive */
    double low, high;    /* 95 % interval of the ratio; NaN: too few values */
    bool is_significant; /* p < 0.05 */
};

/* Compares two sets of sorted values. Fails with -ENOMEM. If a set has more than
 * STATISTICS_PAIRED_MAX values, the ratio uses only that many, at equally spaced ranks. */
enum { STATISTICS_PAIRED_MAX = 1000 };
int statistics_compare(const double *a, size_t a_count, const double *b, size_t b_count,
                       struct comparison *ret);
