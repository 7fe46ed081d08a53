/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - how gpu-tracker speaks on stderr: "WARNING:root:..." and "ERROR:root:...". */
#ifndef CLI_LOG_H
#define CLI_LOG_H

#include "base/compiler.h"

/* One line, in one piece. Control characters are shown as '?'. */
void log_warning(const char *fmt, ...) PRINTF_LIKE(1, 2);

/* The same for an error. Returns gpu-tracker's exit code for it: 1. */
int log_error(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
