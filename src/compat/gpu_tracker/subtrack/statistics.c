/* SPDX-License-Identifier: Apache-2.0 */
#include "compat/gpu_tracker/subtrack/statistics.h"

#include <math.h>

const char *const statistic_names[STATISTICS] = {
    [STATISTIC_MIN] = "min",
    [STATISTIC_MAX] = "max",
    [STATISTIC_MEAN] = "mean",
    [STATISTIC_STD] = "std",
};

/* Welford's recurrence: no large sums, no second pass. */
void tally_add(struct tally *tally, double value)
{
    long double exact = (long double)value;
    long double distance = exact - tally->mean;

    tally->min = tally->count == 0 || value < tally->min ? value : tally->min;
    tally->max = tally->count == 0 || value > tally->max ? value : tally->max;
    tally->count++;
    tally->mean += distance / (long double)tally->count;
    tally->squares += distance * (exact - tally->mean);
    tally->total += exact;
}

void tally_get(const struct tally *tally, double ret[STATISTICS])
{
    if (tally->count == 0) {
        for (size_t i = 0; i < STATISTICS; i++)
            ret[i] = (double)NAN;
        return;
    }
    ret[STATISTIC_MIN] = tally->min;
    ret[STATISTIC_MAX] = tally->max;
    ret[STATISTIC_MEAN] = (double)tally->mean;
    ret[STATISTIC_STD] = (double)sqrtl(tally->squares / (long double)tally->count);
}

double tally_total(const struct tally *tally)
{
    return (double)tally->total;
}
