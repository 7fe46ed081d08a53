/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - where gpu-tracker writes its results, and in which format. */
#ifndef FRONT_GPU_TRACKER_OUTPUT_H
#define FRONT_GPU_TRACKER_OUTPUT_H

#include "spoor/spoor.h"

enum gpu_tracker_format { GPU_TRACKER_TEXT, GPU_TRACKER_JSON };

/* Which one --format says; NULL: it was not given. -EINVAL: there is no such format. */
int gpu_tracker_format_parse(const char *text, enum gpu_tracker_format *ret,
                             struct spoor_error *err);

/* Can this file be written, or made? Fails with the message for the user. Changes nothing. */
int gpu_tracker_output_check(const char *path, struct spoor_error *err);

/* Writes a text to a file, as it is, or with a newline to stdout where `path` is NULL. */
int gpu_tracker_output_write(const char *path, const char *text, struct spoor_error *err);

#endif
