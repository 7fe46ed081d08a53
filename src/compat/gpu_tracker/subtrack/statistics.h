/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.h - smallest, largest, mean and spread of numbers that come one by one. */
#ifndef COMPAT_GPU_TRACKER_SUBTRACK_STATISTICS_H
#define COMPAT_GPU_TRACKER_SUBTRACK_STATISTICS_H

#include <stddef.h>

enum statistic { STATISTIC_MIN, STATISTIC_MAX, STATISTIC_MEAN, STATISTIC_STD, STATISTICS };

extern const char *const statistic_names[STATISTICS];

/* Zeroed is "nothing seen". Equal numbers have a spread of exactly 0. */
struct tally {
    size_t count;
    double min, max;
    long double mean;
    long double squares; /* the sum of the squared distances from the mean */
    long double total;
};

void tally_add(struct tally *tally, double value);

/* Of all values added; the standard deviation is that of a population. NaN: none was added. */
void tally_get(const struct tally *tally, double ret[STATISTICS]);

/* 0 if none was added. */
double tally_total(const struct tally *tally);

#endif
