/* SPDX-License-Identifier: Apache-2.0 */
/* rate.h - the only place where counters are subtracted and divided. */
#ifndef SERIES_RATE_H
#define SERIES_RATE_H

#include <stdint.h>

#include "sample/metric.h"

/* How far a counter has come. UNKNOWN where either end is; 0 where it stepped
 * back, which is a reset or a race and never growth. */
uint64_t counter_delta(uint64_t from, uint64_t to);

/* Base units of a metric per second over a span; NaN if it is unknown or no time has passed. For CPU
 * seconds the result is cores. */
double counter_rate(enum metric metric, uint64_t from, uint64_t to, uint64_t span_ns);

#endif
