/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - the streams of samples there are, and what they share. */
#ifndef OUTPUT_STREAM_H
#define OUTPUT_STREAM_H

#include "output/output.h"

extern const struct stream stream_csv;
extern const struct stream stream_jsonl;

/* A counter's growth per second since the sample before. NaN where it is not known
 * or there is none before. */
double stream_rate(enum metric metric, const struct sample *sample,
                   const struct sample *previous);

/* What is known of a GPU at the moment; NULL where that is nothing. */
const struct gpu_device_view *stream_gpu(const struct gpu_view *view, struct gpu_place place);

#endif
