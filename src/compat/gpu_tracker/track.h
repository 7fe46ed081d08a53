/* SPDX-License-Identifier: Apache-2.0 */
/* track.h - gpu-tracker -e: run a command, report what it used. */
#ifndef COMPAT_GPU_TRACKER_TRACK_H
#define COMPAT_GPU_TRACKER_TRACK_H

#include "compat/gpu_tracker/options.h"

/* Returns the exit code. If the command was killed by a signal that was sent to us, we kill
 * ourselves with it too, after the report. */
int gpu_tracker_track(const struct gpu_tracker_settings *settings);

#endif
