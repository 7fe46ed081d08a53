/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_columns.h - the columns of a sample for each GPU of the job. */
#ifndef SAMPLE_GPU_COLUMNS_H
#define SAMPLE_GPU_COLUMNS_H

#include <stddef.h>

#include "job/gpu/gpu_view.h"

/* The GPUs that a stream of samples has columns for. Each has GPU_MEASURE_COUNT of them, named by
 * gpu_measure_row(). */
enum { GPU_COLUMNS_MAX = 256 };
struct gpu_columns {
    size_t count;
    struct gpu_place places[GPU_COLUMNS_MAX];
};

/* Those of the GPUs that are the job's. */
struct gpu_columns gpu_columns_of(const struct gpu_view *view);

/* What is known about a GPU at the moment, in the units of the names; NaN: unknown. */
void gpu_columns_read(const struct gpu_view *view, struct gpu_place place,
                      double ret[GPU_MEASURE_COUNT]);

#endif
