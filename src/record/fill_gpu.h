/* SPDX-License-Identifier: Apache-2.0 */
/* fill_gpu.h - the GPUs of a record, from what is known of them at the moment. */
#ifndef RECORD_FILL_GPU_H
#define RECORD_FILL_GPU_H

#include "job/gpu/gpu_view.h"
#include "record/record.h"

void fill_gpus(struct record *record, const struct gpu_view *view);

#endif
