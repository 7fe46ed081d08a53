/* SPDX-License-Identifier: Apache-2.0 */
/* text_gpu.h - the GPU rows of the text report. */
#ifndef OUTPUT_TEXT_GPU_H
#define OUTPUT_TEXT_GPU_H

#include "output/page.h"
#include "output/report.h"

/* What the job used of its GPUs, and a row for each that it used. Nothing where it has none. */
void text_gpu_write(const struct report *report, struct page *page);

/* Did the job use one, as far as is known? Else there is no row of GPU use. */
bool text_gpu_has_used(const struct gpu_view *view);

#endif
