/* SPDX-License-Identifier: Apache-2.0 */
/* text_gpu.h - the GPU rows of the text report. */
#ifndef OUTPUT_TEXT_GPU_H
#define OUTPUT_TEXT_GPU_H

#include "output/text_layout.h"
#include "record/record.h"

/* Writes the usage of the job's GPUs, and a row for each GPU that it used. Writes nothing if
 * it has none. */
void text_gpu_write(const struct record *record, struct page *page);

/* Whether the job used a GPU, as far as known. Otherwise there is no row of GPU usage. */
bool text_gpu_has_used(const struct record *record);

/* The name of a GPU, as in --gpus: "GPU 1", "GPU 0:1" for a part. */
struct gpu_label {
    char text[48];
} gpu_label(const struct record_gpu *gpu);

#endif
