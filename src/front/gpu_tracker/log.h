/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - messages in the shape in which the predecessor logs them. */
#ifndef FRONT_GPU_TRACKER_LOG_H
#define FRONT_GPU_TRACKER_LOG_H

#include "base/compiler.h"

/* Writes "ERROR:root:...\n" or "WARNING:root:...\n" to stderr in one piece; control characters
 * are shown as '?'. */
int gpu_tracker_error(const char *fmt, ...) PRINTF_LIKE(1, 2); /* returns 1, the exit code */
void gpu_tracker_warning(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
