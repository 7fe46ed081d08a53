/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - resource usage as gpu-tracker writes it, to the letter: keys, labels,
 * order, indentation, numbers. No newline at the end.
 */
#ifndef COMPAT_GPU_TRACKER_REPORT_H
#define COMPAT_GPU_TRACKER_REPORT_H

#include <stdbool.h>

#include "compat/gpu_tracker/output.h"
#include "compat/gpu_tracker/usage.h"
#include "text/buffer.h"

struct report_style {
    enum gpu_tracker_format format;
    bool is_descendents; /* spelt as in versions 1.2 to 3 */
};

void report_write(const struct resource_usage *usage, struct report_style style,
                  struct buffer *out);

#endif
