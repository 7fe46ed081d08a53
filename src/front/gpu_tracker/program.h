/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the program gpu-tracker: its usage, its help, and where it starts. */
#ifndef FRONT_GPU_TRACKER_PROGRAM_H
#define FRONT_GPU_TRACKER_PROGRAM_H

#include <stdio.h>

/* Returns the exit code. */
int gpu_tracker_main(int argc, char **argv);

/* "Usage:" and a line for each way to call it. */
void gpu_tracker_usage(FILE *out);

#endif
