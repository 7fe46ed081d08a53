/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_tracker_output.h - where gpu-tracker writes its results: the screen, or the file of -o. */
#ifndef CLI_GPU_TRACKER_OUTPUT_H
#define CLI_GPU_TRACKER_OUTPUT_H

#include "spoor/spoor.h"

/* Can this file be written, or made? Fails with the message for the user. Changes nothing. */
int gpu_tracker_output_check(const char *path, struct spoor_error *err);

/* Writes a text to a file, as it is, or with a newline to stdout where `path` is NULL. */
int gpu_tracker_output_write(const char *path, const char *text, struct spoor_error *err);

#endif
