/* SPDX-License-Identifier: Apache-2.0 */
/* program.h - the program gpu-tracker. */
#ifndef COMPAT_GPU_TRACKER_PROGRAM_H
#define COMPAT_GPU_TRACKER_PROGRAM_H

#include "front/program.h"

extern const struct program gpu_tracker_program;

/* Messages in the form of the predecessor's log. The first returns 1, the exit code. */
#define gpu_tracker_error(...) program_complain(&gpu_tracker_program, __VA_ARGS__)
#define gpu_tracker_warning(...) program_warn(&gpu_tracker_program, __VA_ARGS__)

#endif
