/* SPDX-License-Identifier: Apache-2.0 */
/* subtrack.h - gpu-tracker sub-track combine|analyze|compare. */
#ifndef FRONT_GPU_TRACKER_SUBTRACK_H
#define FRONT_GPU_TRACKER_SUBTRACK_H

#include <stdio.h>

#include "front/common/option.h"

extern const struct option_table gpu_tracker_subtrack_table;

/* argv[0] is the word after "sub-track". Returns the exit code: 0, or 1. */
int gpu_tracker_subtrack(int argc, char **argv);

/* A line of usage for each command. */
void gpu_tracker_subtrack_usage(FILE *out);

#endif
