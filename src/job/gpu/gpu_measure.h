/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_measure.h - the one table of what a sample says of each GPU.
 *
 * Columns of samples files and docs/METRICS.md come from it.
 */
#ifndef JOB_GPU_GPU_MEASURE_H
#define JOB_GPU_GPU_MEASURE_H

#include <stdint.h>

enum gpu_measure {
    GPU_MEMORY,
    GPU_JOB_MEMORY,
    GPU_UTILIZATION,
    GPU_JOB_UTILIZATION,
    GPU_ENCODER_UTILIZATION,
    GPU_DECODER_UTILIZATION,
    GPU_POWER,
    GPU_TEMPERATURE,
    GPU_CLOCK,
    GPU_ENERGY,
    GPU_MEASURE_COUNT,
};

struct gpu_measure_row {
    const char *name; /* with its unit: "memory_bytes" */
    const char *help;
    double scale; /* from the raw value to the unit of the name */
};

const struct gpu_measure_row *gpu_measure_row(enum gpu_measure measure);

/* A raw value in the unit of its name; NaN for UNKNOWN. */
double gpu_measure_value(enum gpu_measure measure, uint64_t raw);

#endif
