/* SPDX-License-Identifier: Apache-2.0 */
#include "source/gpu/nvidia_busy.h"

#define GAP_MIN_US 10000ull
#define GAP_MAX_US 1000000ull
#define NS_PER_US_PERCENT 10.0 /* 1000 ns / 100 % */

uint64_t busy_cover_us(uint64_t last_us, uint64_t stamp_us, uint64_t period_us,
                       uint64_t hole_us)
{
    uint64_t gap_us = stamp_us - last_us;

    if (last_us != 0 && gap_us <= hole_us)
        return gap_us;
    return period_us != 0 ? period_us : BUSY_PERIOD_DEFAULT_US;
}

uint64_t busy_learn_period(uint64_t period_us, uint64_t gap_us)
{
    if (gap_us < GAP_MIN_US || gap_us > GAP_MAX_US)
        return period_us;
    return period_us == 0 || gap_us < period_us ? gap_us : period_us;
}

bool busy_is_plausible(uint64_t last_us, uint64_t stamp_us, double percent, uint64_t now_us)
{
    /* Written so that NaN fails too. */
    if (!(percent >= 0 && percent <= 100))
        return false;
    return stamp_us > last_us && stamp_us < now_us + BUSY_FUTURE_US;
}

bool busy_meter_add(struct busy_meter *meter, uint64_t stamp_us, double percent,
                    uint64_t now_us)
{
    uint64_t cover_us;

    if (!busy_is_plausible(meter->last_us, stamp_us, percent, now_us))
        return false;
    cover_us = busy_cover_us(meter->last_us, stamp_us, meter->period_us, BUSY_HOLE_US);
    if (meter->has_sample)
        meter->period_us = busy_learn_period(meter->period_us, stamp_us - meter->last_us);
    meter->last_us = stamp_us;
    meter->has_sample = true;
    meter->covered_ns += cover_us * 1000;
    meter->busy_ns += (uint64_t)(percent * (double)cover_us * NS_PER_US_PERCENT);
    return true;
}

void busy_meter_add_span(struct busy_meter *meter, uint64_t span_ns, double percent)
{
    if (!(percent >= 0 && percent <= 100))
        return;
    meter->covered_ns += span_ns;
    meter->busy_ns += (uint64_t)(percent / 100 * (double)span_ns);
}

void busy_meter_add_idle(struct busy_meter *meter, uint64_t until_us)
{
    if (until_us <= meter->last_us)
        return;
    meter->covered_ns += (until_us - meter->last_us) * 1000;
    busy_meter_begin(meter, until_us);
}

void busy_meter_begin(struct busy_meter *meter, uint64_t stamp_us)
{
    meter->last_us = stamp_us;
    meter->has_sample = false;
}

void busy_meter_heed_clock(struct busy_meter *meter, uint64_t now_us)
{
    if (meter->last_us >= now_us + BUSY_FUTURE_US)
        busy_meter_begin(meter, now_us);
}
