/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_tracker.h - the program gpu-tracker: its usage, its help, and where it starts. */
#ifndef CLI_GPU_TRACKER_H
#define CLI_GPU_TRACKER_H

#include <stdio.h>

/* Returns the exit code. */
int gpu_tracker_main(int argc, char **argv);

/* "Usage:" and a line for each way to call it. */
void gpu_tracker_usage(FILE *out);

#endif
