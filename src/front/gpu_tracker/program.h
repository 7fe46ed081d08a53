/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the program gpu-tracker. */
#ifndef FRONT_GPU_TRACKER_PROGRAM_H
#define FRONT_GPU_TRACKER_PROGRAM_H

#include "front/common/program.h"

extern const struct program gpu_tracker_program;

#endif
