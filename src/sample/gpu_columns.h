/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_columns.h - the columns of a sample for each GPU of the job. */
#ifndef SAMPLE_GPU_COLUMNS_H
#define SAMPLE_GPU_COLUMNS_H

#include <stddef.h>

#include "job/gpu/gpu_view.h"

/* The GPUs with columns in a stream of samples. Each has GPU_MEASURE_COUNT columns, named by
 * gpu_measure_row(). */
enum { GPU_COLUMNS_MAX = 256 };
struct gpu_columns {
    size_t count;
    struct gpu_place places[GPU_COLUMNS_MAX];
};

/* The columns for the job's GPUs. */
struct gpu_columns gpu_columns_of(const struct gpu_view *view);

/* The current values of a GPU in the units of the column names; NaN: unknown. */
void gpu_columns_read(const struct gpu_view *view, struct gpu_place place,
                      double ret[GPU_MEASURE_COUNT]);

#endif
