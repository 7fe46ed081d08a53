/* SPDX-License-Identifier: Apache-2.0 */
#include "job/gpu/gpu_measure.h"

#include <math.h>

#include "base/unknown.h"

/* clang-format off */
static const struct gpu_measure_row rows[GPU_MEASURE_COUNT] = {
[GPU_MEMORY] =              { "memory_bytes",        "memory in use on the device by all processes, peak since the previous sample", 1 },
[GPU_JOB_MEMORY] =          { "job_memory_bytes",    "the part of it used by the job, peak since the previous sample", 1 },
[GPU_UTILIZATION] =         { "utilization",         "share of time the device was busy, 0 to 1, over about the last second", 1e-6 },
[GPU_JOB_UTILIZATION] =     { "job_utilization",     "the part of it spent on the job", 1e-6 },
[GPU_ENCODER_UTILIZATION] = { "encoder_utilization", "share of time the video encoder was busy", 1e-6 },
[GPU_DECODER_UTILIZATION] = { "decoder_utilization", "share of time the video decoder was busy", 1e-6 },
[GPU_POWER] =               { "power_watts",         "power draw of the device", 1e-3 },
[GPU_TEMPERATURE] =         { "temperature_celsius", "temperature of the device", 1 },
[GPU_CLOCK] =               { "clock_hertz",         "clock rate of its compute cores", 1e6 },
[GPU_ENERGY] =              { "energy_joules",       "energy used by the device since the start of the run, as of the last counter reading", 1e-6 },
};
/* clang-format on */

const struct gpu_measure_row *gpu_measure_row(enum gpu_measure measure)
{
    return &rows[measure];
}

double gpu_measure_value(enum gpu_measure measure, uint64_t raw)
{
    return is_known(raw) ? (double)raw * rows[measure].scale : (double)NAN;
}
