/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - the format and the destination of the results of gpu-tracker. */
#ifndef COMPAT_GPU_TRACKER_OUTPUT_H
#define COMPAT_GPU_TRACKER_OUTPUT_H

#include "spoor/spoor.h"

enum gpu_tracker_format { GPU_TRACKER_TEXT, GPU_TRACKER_JSON };

/* The value of --format; NULL: not given. -EINVAL: there is no such format. */
int gpu_tracker_format_parse(const char *text, enum gpu_tracker_format *ret,
                             struct spoor_error *err);

/* Checks that a file can be written or created. Changes nothing. */
int gpu_tracker_output_check(const char *path, struct spoor_error *err);

/* Writes a text to a file as it is; or, if `path` is NULL, to stdout with a newline. */
int gpu_tracker_output_write(const char *path, const char *text, struct spoor_error *err);

#endif
