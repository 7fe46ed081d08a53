/* SPDX-License-Identifier: Apache-2.0 */
#include "series/rate.h"

#include <math.h>

#include "base/unknown.h"

uint64_t counter_delta(uint64_t from, uint64_t to)
{
    if (!is_known(from) || !is_known(to))
        return UNKNOWN;
    return to > from ? to - from : 0;
}

double counter_rate(enum metric metric, uint64_t from, uint64_t to, uint64_t span_ns)
{
    uint64_t delta = counter_delta(from, to);

    if (!is_known(delta) || span_ns == 0)
        return nan("");
    return metric_value(metric, delta) / ((double)span_ns / 1e9);
}
